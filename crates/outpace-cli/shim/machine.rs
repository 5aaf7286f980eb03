//! What each processor does in its own way, and the form that it has on all of them.

#[macro_use]
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
mod processor;

pub(crate) use processor::*;

/// A place in the C library's code that is to lead elsewhere.
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

/// Tells the threads of this process apart: where its C library keeps what is the thread's own. A number of the kernel's
/// would cost a system call.
pub(crate) fn thread() -> u64 {
    processor::thread()
}

/// Replacements in the code of the processor (`write_code`, `before_code`), which is given its operands.
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
/// A thread may be cancelled where it writes. It then unwinds through this frame, and through none of Rust's.
macro_rules! writes {
    ($($name:ident $before:ident)*) => {
        $(naked! { write_code $name (
            ring = sym $crate::writes::RING,
            originals = sym $crate::hooks::ORIGINALS,
            before = sym $before,
            pass = const $crate::writes::PASS,
            testcancel = const Index::testcancel as usize * 8,
            original = const Index::$name as usize * 8,
        ) })*
    };
}
/// Each calls what has to come before, with its own arguments, and goes on as the original, whatever that takes.
macro_rules! before {
    ($($before:ident: $($name:ident $(= $index:ident)?),*;)*) => {
        $($(naked! { before_code $name (
            before = sym $before,
            originals = sym $crate::hooks::ORIGINALS,
            original = const before!(@index $name $($index)?) as usize * 8,
        ) })*)*
    };
    (@index $name:ident $index:ident) => { Index::$index };
    (@index $name:ident) => { Index::$name };
}
