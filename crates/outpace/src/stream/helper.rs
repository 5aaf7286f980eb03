//! A stream's helper thread: it keeps the promise of `Prompt`, and does the writing of `Background`.
//!
//! It is started by the second message of the first burst. While there is a burst it looks at the
//! stream twice every `max_delay` and drains the lines that are published; the messages themselves tell
//! it nothing. A line that is found unfinished by two looks in a row is drained as it is, so no byte waits
//! for longer than the delay. When nothing has come for two intervals it closes the stream's limit
//! and sleeps until the next burst wakes it: nothing ever wakes while nothing is pending.
//!
//! A thread belongs to one stream, so that a stalled stdout cannot delay stderr.

use super::engine::Engine;
use super::patience::Patience;
use super::state::{Mode, Role, State};
use super::state_guard::StateGuard;
use super::worker::{Rest, SelectWorker};
use crate::sync::barrier;
use crate::sync::lock::task;
use crate::sync::thread::thread_id;
use crate::sys::{self, Moment};
use std::mem;
use std::time::Duration;

/// In the background, how long messages are gathered into one write. Every look takes the processor from
/// another thread for some microseconds, so that more of them would be felt; a queue that fills up faster has the
/// helper look at once.
const GATHER: Duration = Duration::from_millis(4);

/// Looks per `max_delay` of `Prompt`. A line that one look finds unfinished waits for the next one.
const LOOKS_PER_DELAY: u32 = 2;

/// In the background, how many intervals without a message end a burst.
const QUIET_INTERVALS: u32 = 4;

impl Engine {
    /// Has the helper look at the stream; returns false if there is no helper to be had.
    pub(super) extern "C" fn wake_helper(&self, state: &mut State) -> bool {
        if state.helper.active {
            // In its interval, or busy with a drain.
            if state.mode == Mode::Background {
                state.hurry_helper();
            }
            return true;
        }
        if state.helper.worker.stop {
            return false;
        }
        state.helper.deadline = match state.mode {
            Mode::Prompt { max_delay } => Some(Moment::now() + max_delay / LOOKS_PER_DELAY),
            _ => None,
        };
        if state.helper.worker.alive {
            state.notify_helper();
        } else {
            // Now: it takes 3 µs while the process has one thread, and 12 ms with two.
            barrier::prepare();
            let name = match self.role {
                Role::Stdout => c"outpace-stdout",
                Role::Stderr => c"outpace-stderr",
                Role::Other => c"outpace-stream",
            };
            if self
                .start_worker(state, |state| &mut state.helper.worker, name, run)
                .is_err()
            {
                return false;
            }
        }
        state.helper.active = true;
        state.helper.begun_by = (thread_id(), task());
        true
    }

    /// Goes to sleep, unless a message came meanwhile that the policy wants looked after.
    extern "C" fn end_burst<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        state.helper.active = false;
        let closed = self.cursor.close_for_all();
        // The fence takes effect on other processors, which may be slow to answer, so the lock is open
        // meanwhile. A holder that asks in that time finds the helper inactive: it does not open the limit, and if there
        // is something to do, it activates the helper.
        drop(state);
        self.cursor.make_seen(closed);
        let mut state = self.lock_state();
        if state.helper.active {
            return state;
        }
        // Every author of a message that is published after this look has to ask.
        if self.accepted(&state) > state.drained && state.mode.has_helper() {
            state.helper.active = true;
        } else {
            // The next message follows a pause.
            state.last = None;
            // A program that asked for a queue of that size may use it.
            if state.mode != Mode::Background {
                let State {
                    helper, deferred, ..
                } = &mut *state;
                deferred.garbage.append(&mut helper.spare);
            }
        }
        state
    }
}

/// An unfinished line.
struct Line {
    start: u64,
    since: Moment,
    /// The thread that has printed it, as far as that is known, and the processor time it had had when the line was
    /// seen.
    author: Option<(u32, Duration)>,
}

impl Line {
    /// If its author is kept from running, an unfinished line waits for so long.
    const LONGEST_WAIT: Duration = Duration::from_secs(1);

    /// The processor time in which it would have finished the line.
    const ENOUGH_TIME: Duration = Duration::from_micros(500);

    fn seen(engine: &Engine, state: &State) -> Self {
        let task = engine.lock.last_task(state.helper.begun_by);
        Line {
            start: state.drained,
            since: Moment::now(),
            author: task.and_then(|task| Some((task, sys::processor_time(task)?))),
        }
    }

    /// Whether the author could not finish the line because other processes have the processors, or because it waits for the
    /// stream's state. On a busy machine a thread may wait for a processor for many times the delay.
    #[cold]
    fn is_kept_from_its_end(&self, state_is_wanted: bool) -> bool {
        if self.since.elapsed() >= Self::LONGEST_WAIT {
            return false;
        }
        let Some((task, before)) = self.author else {
            return state_is_wanted;
        };
        let too_little = |now: Duration| now.saturating_sub(before) < Self::ENOUGH_TIME;
        sys::processor_time(task).is_some_and(too_little)
            && (state_is_wanted || sys::is_runnable(task))
    }
}

fn run(engine: &Engine) {
    // The stream's length when last looked at, and how often it has not grown since.
    let (mut seen, mut quiet) = (u64::MAX, 0);
    // The line that was unfinished then.
    let mut unfinished: Option<Line> = None;
    let select: SelectWorker = |state| &mut state.helper.worker;
    engine.work(select, &engine.wake, |mut state| {
        if !state.helper.active {
            state.helper.hurried = false;
            (seen, quiet) = (u64::MAX, 0);
            unfinished = None;
            return (state, Rest::UntilWoken);
        }
        let now = Moment::now();
        if let Some(deadline) = state.helper.deadline
            && deadline.left().is_some()
            && !state.helper.hurried
        {
            return (state, Rest::Until(deadline));
        }
        let hurried = mem::replace(&mut state.helper.hurried, false);
        let all = engine.accepted(&state);
        if state.drained < all || state.has_gap() {
            state = engine.stdout_first(state);
            let before = state.drained;
            state = engine.drain_lines(state);
            let known = unfinished.take();
            if state.drained < all {
                // A caller waits for it, or for the room that it takes.
                let is_asked_for = hurried && state.is_waited_for() && state.drained == before;
                let mut goes = is_asked_for || !state.mode.has_helper();
                match known.filter(|line| line.start == state.drained) {
                    _ if goes => {}
                    None => unfinished = Some(Line::seen(engine, &state)),
                    Some(line) => {
                        // A thread that wants to print is about to end it, perhaps.
                        let wanted = engine.state.is_contended();
                        drop(state);
                        goes = !line.is_kept_from_its_end(wanted);
                        unfinished = (!goes).then_some(line);
                        state = engine.lock_state();
                    }
                }
                if goes {
                    state = engine.drain(state, all, Patience::Forever);
                }
            }
        }
        quiet = if all == seen { quiet + 1 } else { 0 };
        seen = all;
        // Not before the drain, during which the policy may have been switched.
        let (interval, over) = match state.mode {
            Mode::Prompt { max_delay } => (max_delay / LOOKS_PER_DELAY, quiet >= LOOKS_PER_DELAY),
            Mode::Background => (GATHER, quiet >= QUIET_INTERVALS),
            // Only what was promised before the switch is kept.
            _ => (Duration::ZERO, state.drained >= state.helper.promised),
        };
        if over && (!state.mode.has_helper() || engine.accepted(&state) == state.drained) {
            state = engine.end_burst(state);
        }
        state.helper.deadline = Some(match state.mode {
            // Measured from the look, not from the end of the drain: bytes that came during a slow
            // drain have waited already.
            Mode::Prompt { .. } => now + interval,
            _ => Moment::now() + interval,
        });
        state.helper.hurried |= engine.is_filling(&state);
        (state, Rest::None)
    });
}
