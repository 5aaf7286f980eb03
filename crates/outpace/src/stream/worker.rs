//! A stream's threads: each looks at the stream in intervals while there is something to do, and sleeps until it is woken
//! else. There are two, started when first needed: one [drains](super::helper), one [spills](super::spill).

use super::engine::Engine;
use super::state::State;
use super::state_guard::StateGuard;
use crate::sync::mutex::Condition;
use crate::sys::{self, Moment};
use std::ffi::CStr;

/// What a stream knows of one of its threads.
pub(super) struct Worker {
    pub(super) alive: bool,
    sleep: Sleep,
    /// The stream is closed: the thread ends, and none is started any more.
    pub(super) stop: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleep {
    Awake,
    /// It looks again by itself.
    Nap,
    UntilWoken,
}

/// What a worker does when it has looked.
pub(super) enum Rest {
    /// It looks again.
    None,
    Until(Moment),
    UntilWoken,
}

impl Worker {
    pub(super) const NONE: Worker = Worker {
        alive: false,
        sleep: Sleep::Awake,
        stop: false,
    };

    /// Ends its sleep, a nap only if it is to look `now`; returns whether the thread has to be told. Once is enough: telling
    /// it is a system call.
    pub(super) fn rouse(&mut self, now: bool) -> bool {
        let sleeps = match self.sleep {
            Sleep::Awake => false,
            Sleep::Nap => now,
            Sleep::UntilWoken => true,
        };
        if sleeps {
            self.sleep = Sleep::Awake;
        }
        sleeps
    }

    /// The child of a fork has no such thread yet.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) fn after_fork(&self) -> Worker {
        Worker {
            stop: self.stop,
            ..Worker::NONE
        }
    }
}

/// Where the state has a worker.
pub(super) type Place = fn(&mut State) -> &mut Worker;

impl Engine {
    /// Starts a thread that keeps the stream alive.
    pub(super) fn spawn(&self, name: &'static CStr, run: fn(&Engine)) -> Result<(), sys::Error> {
        let engine = self.keep_alive();
        sys::spawn(name, Box::new(move || run(&engine)))
    }

    /// Starts a worker, unless it is there.
    pub(super) fn start_worker(
        &self,
        state: &mut State,
        place: Place,
        name: &'static CStr,
        run: fn(&Engine),
    ) -> Result<(), sys::Error> {
        if !place(state).alive {
            self.spawn(name, run)?;
            place(state).alive = true;
        }
        Ok(())
    }

    /// What a worker's thread does: it looks, until it is dismissed.
    pub(super) fn work<'a>(
        &'a self,
        place: Place,
        bell: &Condition,
        mut look: impl FnMut(StateGuard<'a>) -> (StateGuard<'a>, Rest),
    ) {
        let mut state = self.lock_state();
        while !place(&mut state).stop {
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
                Rest::UntilWoken => (Sleep::UntilWoken, None),
            };
            place(&mut state).sleep = sleep;
            state = state.wait_for(bell, limit);
            place(&mut state).sleep = Sleep::Awake;
        }
        place(&mut state).alive = false;
    }

    /// Has the stream's threads end.
    pub(super) fn dismiss_workers(&self, state: &mut State) {
        state.helper.worker.stop = true;
        state.spill.worker.stop = true;
        self.wake.tell_all();
        self.spilled.tell_all();
    }
}
