//! The stream's side of [`share`](crate::share()): dropping a guard drains pending bytes.

use super::engine::Engine;
use super::patience::Patience;
use super::state::Mode;
use crate::sync::lock::Around;
use crate::sync::thread::{thread_id, work};

impl Engine {
    pub(crate) fn begin_sharing(&self) {
        self.lock_state().sharing.active = true;
    }

    /// Makes each thread call `before` and `after` around its outermost entries.
    pub(crate) fn surround(&self, before: fn(), after: fn()) {
        self.lock.surround(thread_id(), Around { before, after });
    }

    /// Whether callers leave the draining to the helper.
    pub(crate) fn is_in_background(&self) -> bool {
        self.lock_state().mode == Mode::Background
    }

    /// Drains the messages of the guard that was left. The next call returns an error.
    pub(crate) fn after_leaving(&self) {
        if work::is_under_way() {
            return;
        }
        let mut state = self.lock_state();
        state.sharing.messages = self.messages(&state);
        if state.mode == Mode::Background || state.failure.is_some() {
            return;
        }
        let all = self.accepted(&state);
        if state.drained < all {
            state = self.stdout_first(state);
            drop(self.drain(state, all, Patience::Forever));
        }
    }
}
