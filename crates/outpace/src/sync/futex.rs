//! The mutex and the condition of [`mutex`](crate::sync::mutex) where there are futexes.
//!
//! tests/loom includes them, with a futex made of the model checker's primitives.

use super::{AtomicU32, Ordering, const_fn};
use crate::sys;
use std::time::Duration;

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// How often a waiting thread looks whether the mutex is free before it sleeps. One look keeps the models small.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 100 };

/// A mutex without a guard, of three states, as in Drepper's "Futexes are tricky".
pub(crate) struct RawMutex(AtomicU32);

impl RawMutex {
    const_fn! {
        pub(crate) fn new() -> Self {
            RawMutex(AtomicU32::new(FREE))
        }
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.0
            .compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    #[inline]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[cold]
    extern "C" fn lock_contended(&self) {
        // Usually it is held for some ten nanoseconds: a few looks take less time than a sleep.
        for _ in 0..LOOKS {
            if self.0.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
            std::hint::spin_loop();
        }
        let locked = unless!("a waiter locks as if alone", CONTENDED, LOCKED);
        while self.0.swap(locked, Ordering::Acquire) != FREE {
            sys::futex_wait(&self.0, CONTENDED, None);
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        let order = unless!("unlocking is relaxed", Ordering::Release, Ordering::Relaxed);
        let contended = self.0.swap(FREE, order) == CONTENDED;
        if unless!("unlocking wakes no thread", contended, false) {
            sys::futex_wake_one(&self.0);
        }
    }

    /// Whether a thread may be waiting for it.
    #[cfg(not(loom))]
    pub(crate) fn is_contended(&self) -> bool {
        self.0.load(Ordering::Relaxed) == CONTENDED
    }

    #[cfg(not(loom))]
    pub(crate) fn reset_after_fork(&self, locked: bool) {
        self.0
            .store(if locked { LOCKED } else { FREE }, Ordering::Relaxed);
    }
}

/// A condition to wait for: the number of notifications.
pub(crate) struct Condition(AtomicU32);

impl Condition {
    const_fn! {
        pub(crate) fn new() -> Self {
            Condition(AtomicU32::new(0))
        }
    }

    /// Waits, with the mutex unlocked, until notified or for `limit`; may return early.
    pub(crate) fn wait(&self, mutex: &RawMutex, limit: Option<Duration>) {
        // A later notification changes the number, so that the wait ends at once.
        let seen = self.0.load(Ordering::Relaxed);
        mutex.unlock();
        let seen = unless!(
            "a waiter looks too late",
            seen,
            self.0.load(Ordering::Relaxed)
        );
        sys::futex_wait(&self.0, seen, limit);
        mutex.lock();
    }

    /// Wakes one thread that waits.
    pub(crate) fn notify_one(&self) {
        let one = unless!("notifying leaves the number alone", 1, 0);
        self.0.fetch_add(one, Ordering::Relaxed);
        sys::futex_wake_one(&self.0);
    }

    /// Wakes all threads that wait.
    pub(crate) fn notify_all(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        sys::futex_wake_all(&self.0);
    }

    /// No thread of the child waits, whatever the number.
    #[cfg(not(loom))]
    pub(crate) fn reset_after_fork(&self) {}
}
