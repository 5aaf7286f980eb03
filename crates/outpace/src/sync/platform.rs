//! How threads wait for a word, and whether they exist: the parts of the lock that differ between systems.

#[cfg(all(target_os = "linux", not(any(loom, outpace_portable))))]
mod imp {
    use crate::sync::AtomicU32;
    use crate::sys;

    /// Whether the bias is ever given.
    pub(crate) const BIASED: bool = true;

    pub(crate) use crate::sys::task;
    pub(crate) use crate::sys::task_exists;

    pub(crate) fn wait_while(word: &AtomicU32, value: u32) {
        sys::futex_wait(word, value, None);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn wake(word: &AtomicU32) {
        sys::futex_wake_one(word);
    }
}

#[cfg(any(loom, outpace_portable, not(target_os = "linux")))]
mod imp {
    use crate::sync::AtomicU32;

    /// The models check the bias, too.
    pub(crate) const BIASED: bool = cfg!(loom);

    /// The same for every thread.
    pub(crate) fn task() -> u32 {
        1
    }

    pub(crate) fn task_exists(_task: u32) -> bool {
        true
    }

    pub(crate) fn wait_while(_word: &AtomicU32, _value: u32) {
        #[cfg(loom)]
        loom::thread::yield_now();
    }

    pub(crate) fn wake(_word: &AtomicU32) {}
}

pub(crate) use imp::*;
