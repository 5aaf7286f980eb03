//! A mutex for sections of a few instructions, and a condition to wait for.
//!
//! std's guards have three words, and its mutexes are poisoned by panics. These have no guards and no poisoning: a
//! panic leaves the state that they protect consistent. On Linux both are [futexes](crate::sync::futex) of one word,
//! elsewhere they are made of std's.
#![allow(unsafe_code)]

#[cfg(not(loom))]
use std::cell::UnsafeCell;
#[cfg(not(loom))]
use std::panic::RefUnwindSafe;

#[cfg(not(loom))]
pub(crate) use imp::Condition;
pub(crate) use imp::RawMutex;

/// A value, and the mutex that a thread locks before it touches the value.
#[cfg(not(loom))]
pub(crate) struct Mutex<T> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that has locked the mutex uses the value.
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

    /// The value. Access it only with the mutex locked.
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
    use crate::sync::{Condvar, Mutex, MutexGuard, const_fn};
    use std::cell::UnsafeCell;
    use std::sync::PoisonError;
    #[cfg(not(loom))]
    use std::time::Duration;

    /// A value that the child of a fork replaces, since another thread of the parent may have been using it.
    struct ForkCell<T>(UnsafeCell<T>);

    // SAFETY: shared references, as those to `T`; `replace` is called only where there is no other thread.
    unsafe impl<T: Sync> Sync for ForkCell<T> {}

    impl<T> ForkCell<T> {
        fn get(&self) -> &T {
            // SAFETY: `replace` runs only while the process has one thread, between two uses.
            unsafe { &*self.0.get() }
        }

        /// The old value is leaked.
        #[cfg(all(unix, not(any(loom, outpace_portable))))]
        fn replace(&self, value: T) {
            // SAFETY: the child of a fork has no other thread, and this one is not using the value.
            unsafe { self.0.get().write(value) };
        }
    }

    /// Whether the mutex is locked, and a condition variable for waiters.
    struct Flag {
        locked: Mutex<bool>,
        unlocked: Condvar,
    }

    impl Flag {
        const_fn! {
            fn new(locked: bool) -> Self {
                Flag { locked: Mutex::new(locked), unlocked: Condvar::new() }
            }
        }

        fn look(&self) -> MutexGuard<'_, bool> {
            self.locked.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn lock(&self, mut locked: MutexGuard<'_, bool>) {
            while *locked {
                let waited = self.unlocked.wait(locked);
                locked = waited.unwrap_or_else(PoisonError::into_inner);
            }
            *locked = true;
        }
    }

    /// A mutex without a guard.
    pub(crate) struct RawMutex(ForkCell<Flag>);

    impl RawMutex {
        const_fn! {
            pub(crate) fn new() -> Self {
                RawMutex(ForkCell(UnsafeCell::new(Flag::new(false))))
            }
        }

        pub(crate) fn try_lock(&self) -> bool {
            // Called by a signal handler, too, which may have interrupted the thread in `look`.
            let locked = self.0.get().locked.try_lock();
            locked.is_ok_and(|mut locked| !std::mem::replace(&mut *locked, true))
        }

        pub(crate) fn lock(&self) {
            let flag = self.0.get();
            flag.lock(flag.look());
        }

        pub(crate) fn unlock(&self) {
            let flag = self.0.get();
            *flag.look() = false;
            flag.unlocked.notify_one();
        }

        #[cfg(not(loom))]
        pub(crate) fn is_contended(&self) -> bool {
            false
        }

        #[cfg(all(unix, not(any(loom, outpace_portable))))]
        pub(crate) fn reset_after_fork(&self, locked: bool) {
            self.0.replace(Flag::new(locked));
        }
    }

    /// A condition to wait for.
    #[cfg(not(loom))]
    pub(crate) struct Condition(ForkCell<Condvar>);

    #[cfg(not(loom))]
    impl Condition {
        pub(crate) const fn new() -> Self {
            Condition(ForkCell(UnsafeCell::new(Condvar::new())))
        }

        /// Waits, with the mutex unlocked, until notified or for `limit`; may return early.
        pub(crate) fn wait(&self, mutex: &RawMutex, limit: Option<Duration>) {
            let (condition, flag) = (self.0.get(), mutex.0.get());
            let mut locked = flag.look();
            *locked = false;
            flag.unlocked.notify_one();
            let locked = match limit {
                None => condition
                    .wait(locked)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(limit) => {
                    let waited = condition.wait_timeout(locked, limit);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            flag.lock(locked);
        }

        /// Wakes one thread that waits.
        pub(crate) fn notify_one(&self) {
            self.0.get().notify_one();
        }

        /// Wakes all threads that wait.
        pub(crate) fn notify_all(&self) {
            self.0.get().notify_all();
        }

        #[cfg(all(unix, not(outpace_portable)))]
        pub(crate) fn reset_after_fork(&self) {
            self.0.replace(Condvar::new());
        }
    }
}
