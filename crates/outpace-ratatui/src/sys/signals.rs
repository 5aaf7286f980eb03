//! The one corner that needs `unsafe`: signals.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Runs `f` with every signal blocked in this thread.
pub(super) fn blocked<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set was filled by `pthread_sigmask` below, and a null pointer is allowed for
            // what nobody asks for.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
        }
    }
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: `sigfillset` initialises the set it is given; `pthread_sigmask` reads that and fills the
    // other one. Neither fails with valid pointers and SIG_SETMASK.
    let restore = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        Restore(before.assume_init())
    };
    let result = f();
    drop(restore);
    result
}
