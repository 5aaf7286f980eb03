//! State that two threads share.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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
}
