//! How threads synchronise: the asymmetric lock, its fence, a mutex of one word.
//!
//! The primitives that these are made of come from here, too, so that the model checker can take the place of std's under
//! `--cfg loom`: tests/loom.rs takes in this folder as it is.

/// `right`, but `wrong` if a model has that fault: so tests/loom.rs breaks a protocol in one place, and its models notice.
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
#[cfg(any(loom, all(target_os = "linux", not(outpace_portable))))]
pub(crate) mod futex;
pub(crate) mod linked;
pub(crate) mod lock;
pub(crate) mod mutex;
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
        // The checker runs all threads of a model on one thread of the system, the test's own.
        static FAULT: Cell<&'static str> = const { Cell::new("") };
    }

    pub(crate) fn set(fault: &'static str) {
        FAULT.set(fault);
    }

    pub(crate) fn is(fault: &str) -> bool {
        FAULT.get() == fault
    }
}
