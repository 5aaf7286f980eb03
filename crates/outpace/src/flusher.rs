//! A stream's helper thread: it keeps the promise of `Prompt`, and does the writing of `Background`.
//!
//! It is started by the second message of the first burst. While there is a burst it looks at the
//! stream every `max_delay` and drains what is published, so that no byte waits longer; the messages
//! themselves tell it nothing. When nothing has come for a whole interval it closes the stream's limit
//! and sleeps until the next burst wakes it: nothing ever wakes while nothing is pending.
//!
//! A thread belongs to one stream, so that a stalled stdout cannot delay stderr.

use crate::barrier;
use crate::buffer::Buffer;
use crate::drain::Patience;
use crate::engine::{Engine, EngineRef, Locked, Mode, State};
use crate::sys;
use std::time::{Duration, Instant};

/// In the background, how long messages are gathered into one write.
const GATHER: Duration = Duration::from_millis(1);

/// In the background, how many intervals without a message end a burst.
const QUIET_INTERVALS: u32 = 4;

/// Finished segments that are kept for the next ones.
const SPARES: usize = 16;

/// What a stream knows of its helper.
pub(crate) struct Helper {
    /// The thread is there.
    pub(crate) alive: bool,
    /// It looks at the stream in intervals; else it sleeps until woken.
    pub(crate) active: bool,
    /// It is to end.
    pub(crate) stop: bool,
    /// When it looks next.
    deadline: Option<Instant>,
    /// The stream offset up to which it drains even if the policy no longer asks for it.
    pub(crate) promised: u64,
    pub(crate) spare: Vec<Buffer>,
}

impl Helper {
    pub(crate) const NONE: Helper = Helper {
        alive: false,
        active: false,
        stop: false,
        deadline: None,
        promised: 0,
        spare: Vec::new(),
    };

    /// The child of a fork has no helper yet.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&mut self) {
        *self = Helper {
            stop: self.stop,
            ..Helper::NONE
        };
    }

    pub(crate) fn keep_spare(&mut self, buffer: Buffer) {
        if self.spare.len() < SPARES && buffer.is_alone() {
            self.spare.push(buffer);
        }
    }
}

impl Engine {
    /// Has the helper look at the stream; returns false if there is no helper to be had.
    pub(crate) fn wake_helper(&self, state: &mut State) -> bool {
        if state.helper.active {
            // In its interval, or busy with a drain.
            if state.mode == Mode::Background && state.helper.deadline.is_some() {
                self.hurry_helper(state);
            }
            return true;
        }
        if state.helper.stop {
            return false;
        }
        state.helper.deadline = match state.mode {
            Mode::Prompt { max_delay } => Some(Instant::now() + max_delay),
            _ => None,
        };
        if state.helper.alive {
            self.wake.notify_one();
        } else {
            let Some(engine) = self.keep_alive() else {
                return false;
            };
            // Now, because it takes 3 µs while the process has one thread, and 12 ms with two.
            barrier::prepare();
            let name = format!("outpace-{}", self.role.name());
            if sys::spawn(&name, move || run(engine)).is_err() {
                return false;
            }
            state.helper.alive = true;
        }
        state.helper.active = true;
        true
    }

    /// Has an active helper look at the stream now.
    pub(crate) fn hurry_helper(&self, state: &mut State) {
        state.helper.deadline = None;
        self.wake.notify_one();
    }

    /// Goes to sleep, unless a message came meanwhile that the policy wants looked after.
    fn end_burst(&self, state: &mut State) {
        state.helper.active = false;
        // Every author of a message that is published after this look has to ask.
        let published = self.flow.close_and_look();
        let pending = state.tail_start + published.offset() as u64 > state.drained;
        if pending && state.mode.has_helper() {
            state.helper.active = true;
        } else {
            state.forget_last();
            state.helper.spare.clear();
        }
    }

    /// Sleeps until the deadline, if there is one.
    fn sleep<'a>(&'a self, state: Locked<'a>) -> Locked<'a> {
        let Some(deadline) = state.helper.deadline else {
            return state;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return state;
        }
        self.wake
            .wait_timeout(state, left)
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .0
    }
}

fn run(engine: EngineRef) {
    let engine = &*engine;
    let mut state = engine.lock_state();
    // The stream's length when last looked at, and how often it has not grown since.
    let (mut seen, mut quiet) = (u64::MAX, 0);
    while !state.helper.stop {
        if !state.helper.active {
            state = engine
                .wake
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            (seen, quiet) = (u64::MAX, 0);
            continue;
        }
        state = engine.sleep(state);
        let now = Instant::now();
        if state.helper.deadline.is_some_and(|deadline| now < deadline) {
            continue;
        }
        let all = engine.accepted(&state);
        if state.drained < all || state.has_gap() {
            state = engine.stdout_first(state);
            state = engine.drain(state, all, Patience::Forever);
        }
        quiet = if all == seen { quiet + 1 } else { 0 };
        seen = all;
        // Not before the drain, during which the policy may have been switched.
        let (interval, over) = match state.mode {
            Mode::Prompt { max_delay } => (max_delay, quiet >= 1),
            Mode::Background => (GATHER, quiet >= QUIET_INTERVALS),
            // What was promised before the switch is kept, and that is all.
            _ => (Duration::ZERO, state.drained >= state.helper.promised),
        };
        if over && (!state.mode.has_helper() || engine.accepted(&state) == state.drained) {
            engine.end_burst(&mut state);
        }
        state.helper.deadline = Some(match state.mode {
            // Measured from the look, not from the end of the drain: bytes that came during a slow
            // drain have waited already.
            Mode::Prompt { .. } => now + interval,
            _ => Instant::now() + interval,
        });
    }
    state.helper.alive = false;
}
