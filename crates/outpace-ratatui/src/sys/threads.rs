//! Counts the threads of the process. That needs `unsafe`.
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU8, Ordering};

use super::unix::HAS_PROC;

/// Counts the threads of the process.
pub(crate) struct Threads {
    /// Not 0: the process has one thread. `None`: the C library does not say.
    only_one: Option<&'static AtomicU8>,
    /// The directory of threads, opened when there are several. It is kept open: to find it again takes longer than all else that a
    /// small frame asks the kernel.
    all: OnceCell<File>,
}

impl Threads {
    /// `None`: the system does not say how many there are.
    pub(crate) fn new() -> Option<Self> {
        HAS_PROC.then(|| Self {
            only_one: only_one(),
            all: OnceCell::new(),
        })
    }

    pub(crate) fn count(&self) -> Option<u64> {
        let only_one = |only_one: &AtomicU8| only_one.load(Ordering::Relaxed) != 0;
        if self.only_one.is_some_and(only_one) {
            return Some(1);
        }
        if self.all.get().is_none() {
            let _ = self.all.set(File::open("/proc/self/task").ok()?);
        }
        // A link for the directory of each thread, and two for this one (proc_pid_task(5)).
        self.all.get()?.metadata().ok()?.nlink().checked_sub(2)
    }
}

/// `__libc_single_threaded` of glibc 2.32 and later (<sys/single_threaded.h>): to read it takes no system call.
fn only_one() -> Option<&'static AtomicU8> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the name ends in NUL, and a symbol of that name is a `char` of the C library, which stays loaded. Only the thread that
    // starts the second one changes it while there is one thread.
    return unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__libc_single_threaded".as_ptr());
        symbol.cast::<AtomicU8>().as_ref()
    };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    None
}
