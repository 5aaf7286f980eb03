//! The synchronisation primitives, in one place, so that the model checker can take the place of
//! std's under `--cfg loom`.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
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
