//! State that two threads share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A state, and a condition that it has changed.
#[derive(Default)]
pub(super) struct Shared<T> {
    state: Mutex<T>,
    pub(super) changed: Condvar,
}

impl<T> Shared<T> {
    pub(super) fn state(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the state has changed, or the limit is over.
    pub(super) fn wait_for_change<'a>(
        &'a self,
        state: MutexGuard<'a, T>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, T> {
        match limit {
            Some(limit) => {
                self.changed
                    .wait_timeout(state, limit)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner),
        }
    }
}
