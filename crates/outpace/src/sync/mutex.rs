//! Mutual exclusion of a few instructions, and waiting for what others do meanwhile.
//!
//! std's have guards of three words and remember panics; these fit into a word and forget nothing, because the
//! state they protect is one that a panic leaves as good as any. On Linux both are [futexes](crate::sync::futex),
//! elsewhere they are made of std's.
#![allow(unsafe_code)]

#[cfg(not(loom))]
use std::cell::UnsafeCell;
#[cfg(not(loom))]
use std::panic::RefUnwindSafe;

#[cfg(not(loom))]
pub(crate) use imp::Condition;
pub(crate) use imp::RawMutex;

/// A value, and the mutex that a thread has locked that touches it.
#[cfg(not(loom))]
pub(crate) struct Mutex<T> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the thread that has locked it has the value to itself.
#[cfg(not(loom))]
unsafe impl<T: Send> Sync for Mutex<T> {}
#[cfg(not(loom))]
impl<T> RefUnwindSafe for Mutex<T> {}

#[cfg(not(loom))]
impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex {
            raw: RawMutex::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// The value. Use of it demands that the mutex is locked.
    #[inline(always)]
    pub(crate) fn value(&self) -> *mut T {
        self.value.get()
    }
}

#[cfg(not(loom))]
impl<T> std::ops::Deref for Mutex<T> {
    type Target = RawMutex;

    #[inline(always)]
    fn deref(&self) -> &RawMutex {
        &self.raw
    }
}

#[cfg(all(target_os = "linux", not(any(loom, outpace_portable))))]
use super::futex as imp;

#[cfg(any(loom, outpace_portable, not(target_os = "linux")))]
mod imp {
    #[cfg(not(loom))]
    use crate::sync::Condvar;
    use crate::sync::{Mutex, MutexGuard, const_fn};
    use std::cell::UnsafeCell;
    use std::mem::transmute;
    use std::sync::{PoisonError, TryLockError};
    #[cfg(not(loom))]
    use std::time::Duration;

    type Guard = MutexGuard<'static, ()>;

    /// A mutex whose guard is kept in it.
    pub(crate) struct RawMutex {
        mutex: UnsafeCell<Mutex<()>>,
        /// The guard of the thread that has locked it.
        guard: UnsafeCell<Option<Guard>>,
    }

    // SAFETY: the guard is touched only by the thread that has locked the mutex; the mutex is replaced only
    // in a process that has no other thread.
    unsafe impl Sync for RawMutex {}
    // SAFETY: no thread has a mutex locked that is moved.
    unsafe impl Send for RawMutex {}

    impl RawMutex {
        const_fn! {
            pub(crate) fn new() -> Self {
                RawMutex { mutex: UnsafeCell::new(Mutex::new(())), guard: UnsafeCell::new(None) }
            }
        }

        fn mutex(&self) -> &Mutex<()> {
            // SAFETY: shared by all.
            unsafe { &*self.mutex.get() }
        }

        fn keep(&self, guard: MutexGuard<'_, ()>) {
            // SAFETY: the mutex is locked by this thread. The guard does not outlive it: a thread that locks it
            // unlocks it.
            unsafe { *self.guard.get() = Some(transmute::<MutexGuard<'_, ()>, Guard>(guard)) };
        }

        fn take(&self) -> Option<Guard> {
            // SAFETY: the mutex is locked by this thread.
            unsafe { (*self.guard.get()).take() }
        }

        pub(crate) fn try_lock(&self) -> bool {
            match self.mutex().try_lock() {
                Ok(guard) => self.keep(guard),
                Err(TryLockError::Poisoned(poisoned)) => self.keep(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => return false,
            }
            true
        }

        pub(crate) fn lock(&self) {
            let guard = self.mutex().lock();
            self.keep(guard.unwrap_or_else(PoisonError::into_inner));
        }

        pub(crate) fn unlock(&self) {
            drop(self.take());
        }

        #[cfg(not(loom))]
        pub(crate) fn is_contended(&self) -> bool {
            false
        }

        #[cfg(all(unix, not(any(loom, outpace_portable))))]
        pub(crate) fn reset_after_fork(&self, locked: bool) {
            // SAFETY: there is no other thread. What the old one held in the parent is leaked.
            unsafe {
                std::mem::forget(self.take());
                self.mutex.get().write(Mutex::new(()));
            }
            if locked {
                self.lock();
            }
        }
    }

    /// Something that threads wait for.
    #[cfg(not(loom))]
    pub(crate) struct Condition(Condvar);

    #[cfg(not(loom))]
    impl Condition {
        pub(crate) const fn new() -> Self {
            Condition(Condvar::new())
        }

        /// Waits, unlocked, until the condition is told, or for so long; may return for no reason.
        pub(crate) fn wait(&self, mutex: &RawMutex, limit: Option<Duration>) {
            let guard = mutex.take().expect("the mutex is locked");
            mutex.keep(match limit {
                None => self.0.wait(guard).unwrap_or_else(PoisonError::into_inner),
                Some(limit) => {
                    let waited = self.0.wait_timeout(guard, limit);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            });
        }

        /// Wakes one thread that waits.
        pub(crate) fn tell_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all threads that wait.
        pub(crate) fn tell_all(&self) {
            self.0.notify_all();
        }
    }
}
