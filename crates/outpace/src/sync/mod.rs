//! Synchronisation of threads: the asymmetric lock, its fence, a mutex of one word.
//!
//! Re-exports the primitives that these are made of, so that the model checker's replace std's under `--cfg loom`:
//! tests/loom includes this folder unchanged.

/// `right`, or `wrong` if a model has that fault: tests/loom breaks a protocol in one place, and a model has to
/// fail.
macro_rules! unless {
    ($fault:literal, $right:expr, $wrong:expr) => {{
        #[cfg(loom)]
        let value = if crate::sync::fault::is($fault) {
            $wrong
        } else {
            $right
        };
        #[cfg(not(loom))]
        let value = $right;
        value
    }};
}
pub(crate) use unless;

pub(crate) mod barrier;
pub(crate) mod draft;
#[cfg(any(loom, all(target_os = "linux", not(outpace_portable))))]
pub(crate) mod futex;
pub(crate) mod linked;
pub(crate) mod lock;
pub(crate) mod mutex;
pub(crate) mod platform;
pub(crate) mod thread;

#[cfg(loom)]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(all(not(loom), any(outpace_portable, not(target_os = "linux"))))]
pub(crate) use std::sync::atomic::fence;
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
#[cfg(all(not(loom), any(outpace_portable, not(target_os = "linux"))))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// `const fn` everywhere but under the model checker, whose types are made at run time.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])* $vis const fn $($rest)*
        #[cfg(loom)]
        $(#[$meta])* $vis fn $($rest)*
    };
}
pub(crate) use const_fn;

/// The fault of a model.
#[cfg(loom)]
pub(crate) mod fault {
    use std::cell::Cell;

    thread_local! {
        // The checker runs all threads of a model on the test's own thread.
        static FAULT: Cell<&'static str> = const { Cell::new("") };
    }

    pub(crate) fn set(fault: &'static str) {
        FAULT.set(fault);
    }

    pub(crate) fn is(fault: &str) -> bool {
        FAULT.get() == fault
    }
}
