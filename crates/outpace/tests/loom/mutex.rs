//! The mutex and the condition.

use crate::model;
use crate::sync::futex::{Condition, RawMutex};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// The mutex and the condition of a stream's state.
struct Waited {
    mutex: RawMutex,
    condition: Condition,
    value: UnsafeCell<u32>,
}

impl Waited {
    fn new() -> Self {
        Waited {
            mutex: RawMutex::new(),
            condition: Condition::new(),
            value: UnsafeCell::new(0),
        }
    }

    #[allow(unsafe_code)]
    fn add(&self, number: u32) -> u32 {
        self.value.with_mut(|value| {
            // SAFETY: the checker ends a model at any access that could be concurrent.
            unsafe {
                *value += number;
                *value
            }
        })
    }

    fn locked(&self, number: u32) -> u32 {
        self.mutex.lock();
        let value = self.add(number);
        self.mutex.unlock();
        value
    }

    /// Waits until the value is so large.
    fn wait_for(&self, enough: u32) {
        self.mutex.lock();
        while self.add(0) < enough {
            self.condition.wait(&self.mutex, None);
        }
        self.mutex.unlock();
    }
}

pub(crate) fn three_lock() {
    let waited = Arc::new(Waited::new());
    let others = [(); 2].map(|()| {
        let waited = waited.clone();
        thread::spawn(move || waited.locked(1))
    });
    waited.locked(1);
    waited.locked(1);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(waited.locked(0), 4);
}

#[test]
fn the_mutex_excludes_and_no_thread_is_left_asleep() {
    model(3, three_lock);
}

#[test]
fn a_failed_try_to_lock_disturbs_no_thread() {
    model(3, || {
        let waited = Arc::new(Waited::new());
        let tries = thread::spawn({
            let waited = waited.clone();
            move || {
                let locked = waited.mutex.try_lock();
                if locked {
                    waited.add(1);
                    waited.mutex.unlock();
                }
                u32::from(locked)
            }
        });
        let locks = thread::spawn({
            let waited = waited.clone();
            move || waited.locked(1)
        });
        waited.locked(1);
        let tried = tries.join().unwrap();
        locks.join().unwrap();
        assert_eq!(waited.locked(0), 2 + tried);
    });
}

pub(crate) fn one_waits() {
    let waited = Arc::new(Waited::new());
    let waits = thread::spawn({
        let waited = waited.clone();
        move || waited.wait_for(2)
    });
    for _ in 0..2 {
        waited.locked(1);
        // After the unlock, as all notifications.
        waited.condition.notify_one();
    }
    waits.join().unwrap();
}

#[test]
fn a_waiter_is_woken_by_a_notification_after_the_unlock() {
    model(4, one_waits);
}

#[test]
fn all_waiting_threads_are_woken() {
    model(2, || {
        let waited = Arc::new(Waited::new());
        let others = [(); 2].map(|()| {
            let waited = waited.clone();
            thread::spawn(move || waited.wait_for(1))
        });
        waited.locked(1);
        waited.condition.notify_all();
        for other in others {
            other.join().unwrap();
        }
    });
}
