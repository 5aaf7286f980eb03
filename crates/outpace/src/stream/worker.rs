//! The loop of a stream's threads. A worker looks at the stream in intervals while it has work, and otherwise sleeps until
//! it is woken. There are two, started when first needed: the [helper](super::helper) drains, the other
//! [spills](super::spill).

use super::engine::Engine;
#[cfg(all(unix, not(outpace_portable)))]
use super::lifecycle::main_thread;
use super::parts::{Sleep, Worker};
use super::state::State;
use super::state_guard::StateGuard;
use crate::sync::mutex::Condition;
use crate::sys::{self, Moment};
use std::ffi::CStr;

/// The pause after a look.
pub(super) enum Rest {
    /// It looks again.
    None,
    Until(Moment),
    UntilWoken,
}

/// Which of the state's workers.
pub(super) type SelectWorker = fn(&mut State) -> &mut Worker;

impl Engine {
    /// Starts a thread that keeps the stream alive.
    pub(super) fn spawn(&self, name: &'static CStr, run: fn(&Engine)) -> Result<(), sys::OsError> {
        let engine = self.keep_alive();
        sys::spawn(name, move || run(&engine))
    }

    /// Starts a worker that is not alive.
    pub(super) fn start_worker(
        &self,
        state: &mut State,
        select: SelectWorker,
        name: &'static CStr,
        run: fn(&Engine),
    ) -> Result<(), sys::OsError> {
        self.spawn(name, run)?;
        select(state).alive = true;
        Ok(())
    }

    /// The loop of a worker's thread: looks, until it is dismissed.
    pub(super) fn work<'a>(
        &'a self,
        select: SelectWorker,
        woken: &Condition,
        mut look: impl FnMut(StateGuard<'a>) -> (StateGuard<'a>, Rest),
    ) {
        let mut state = self.lock_state();
        while !select(&mut state).stop {
            let rest;
            (state, rest) = look(state);
            let (sleep, limit) = match rest {
                Rest::None => {
                    state = state.catch_up();
                    continue;
                }
                Rest::Until(moment) => match moment.left() {
                    None => continue,
                    left => (Sleep::Nap, left),
                },
                #[cfg(all(unix, not(outpace_portable)))]
                Rest::UntilWoken if main_thread::has_ended() => break,
                Rest::UntilWoken => (Sleep::UntilWoken, None),
            };
            select(&mut state).sleep = sleep;
            state = state.wait_for(woken, limit);
            select(&mut state).sleep = Sleep::Awake;
        }
        select(&mut state).alive = false;
    }

    /// Makes the stream's threads end.
    pub(super) fn dismiss_workers(&self, state: &mut State) {
        state.helper.worker.stop = true;
        state.spill.worker.stop = true;
        self.wake.notify_all();
        self.spilled.notify_all();
    }
}
