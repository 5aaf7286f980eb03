//! The processor's own code, and its form that is common to all processors.

#[macro_use]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod processor;

pub(crate) use processor::*;

/// A replacement or an original, of which only the address is used.
pub(crate) type Code = unsafe extern "C" fn();

/// The answer that leaves a write to the original.
pub(crate) const PASS: isize = isize::MIN;

unsafe extern "C" {
    pub(crate) fn __errno_location() -> *mut core::ffi::c_int;
}

/// A place in the C library's code that will be redirected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// A call, or a jump, to this function.
    Call(usize),
    /// The system call of the library's last words.
    LastWords,
}

/// A system call, with the negated error as the result.
///
/// # Safety
///
/// As that of the system call.
pub(crate) unsafe fn call(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    // SAFETY: the caller's.
    unsafe { processor::call(number, [a, b, c, d, e, f]) }
}

/// Identifies the calling thread within the process, by the address of its thread-local storage. The kernel's number would
/// cost a system call.
pub(crate) fn thread() -> u64 {
    processor::thread()
}

/// Defines a replacement from the processor's code (`write_code`, `before_code`) and its operands.
macro_rules! naked {
    ($code:ident $name:ident ($($operand:tt)*)) => {
        /// As the C library's.
        ///
        /// # Safety
        ///
        /// As there.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $code!($($operand)*)
        }
    };
}
/// Replacements of write and writev. A thread that is cancelled there unwinds through this frame, and through none of Rust's.
macro_rules! writes {
    ($($name:ident $before:ident)*) => {
        const WRITES: &[(Index, Code)] = &[$((Index::$name, $name)),*];
        $(naked! { write_code $name (
            ring = sym $crate::settle::RING,
            originals = sym $crate::originals::ORIGINALS,
            before = sym $before,
            pass = const $crate::machine::PASS,
            testcancel = const Index::testcancel as usize * 8,
            original = const Index::$name as usize * 8,
        ) })*
    };
}
/// Replacements that call a function with their own arguments, and go on as the original.
macro_rules! before {
    ($($before:ident: $($name:ident $(= $index:ident)?),*;)*) => {
        const BEFORE: &[(Index, Code)] = &[$($((before!(@index $name $($index)?), $name)),*),*];
        $($(naked! { before_code $name (
            before = sym $before,
            originals = sym $crate::originals::ORIGINALS,
            original = const before!(@index $name $($index)?) as usize * 8,
        ) })*)*
    };
    (@index $name:ident $index:ident) => { Index::$index };
    (@index $name:ident) => { Index::$name };
}
