//! A stream's helper thread: it keeps the promise of `Prompt`, and does the writing of `Background`.
//!
//! The second message of the first burst starts it. During a burst it looks at the stream twice every `max_delay` and
//! drains the published lines; no message notifies it. A line that two looks in a row find unfinished is drained
//! unfinished, so no byte waits longer than the delay. After two intervals without a message it closes the stream's
//! limit and sleeps until the next burst wakes it: it never wakes while no bytes are pending.
//!
//! Each stream has its own, so that a stalled stdout cannot delay stderr.

use super::engine::Engine;
use super::patience::Patience;
use super::state::{Mode, Role, State};
use super::state_guard::StateGuard;
use super::worker::{Rest, SelectWorker};
use crate::sync::barrier;
use crate::sync::platform::task;
use crate::sync::thread::thread_id;
use crate::sys::{self, Moment};
use std::mem;
use std::time::Duration;

/// In the background, how long messages are gathered into one write. Each look takes the processor from another thread
/// for some microseconds, so more frequent looks would be measurable. A queue that fills up faster makes the helper
/// look at once.
const GATHER: Duration = Duration::from_millis(4);

/// Looks per `max_delay` of `Prompt`. A line that one look finds unfinished waits for the next one.
const LOOKS_PER_DELAY: u32 = 2;

/// In the background, how many intervals without a message end a burst.
const QUIET_INTERVALS: u32 = 4;

impl Engine {
    /// Makes the helper look at the stream; returns false if it cannot be started.
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
            // Before the thread starts: it takes 3 µs while the process has one thread, and 12 ms with two.
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

    /// Ends a burst, unless a message came meanwhile that needs the helper.
    extern "C" fn end_burst<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        state.helper.active = false;
        let closed = self.cursor.close_for_all();
        // The fence waits for other processors, so the state is unlocked meanwhile. A holder that asks in that time
        // finds the helper inactive: it does not open the limit, and activates the helper if necessary.
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
            // In the background the memory is kept: the program has chosen the queue's size.
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

struct UnfinishedLine {
    start: u64,
    since: Moment,
    /// The thread that printed it, if known, and the processor time of that thread at the first look at the line.
    author: Option<(u32, Duration)>,
}

impl UnfinishedLine {
    /// How long it waits at most, if its author gets no processor.
    const LONGEST_WAIT: Duration = Duration::from_secs(1);

    /// An author that has had this much processor time is not about to finish the line.
    const ENOUGH_TIME: Duration = Duration::from_micros(500);

    fn seen(engine: &Engine, state: &State) -> Self {
        let task = engine.lock.last_task(state.helper.begun_by);
        UnfinishedLine {
            start: state.drained,
            since: Moment::now(),
            author: task.and_then(|task| Some((task, sys::processor_time(task)?))),
        }
    }

    /// Whether the author could not finish the line because it waits for a processor or for the stream's state. On a
    /// busy machine a thread may wait for a processor for many times the delay.
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
    // The stream's length at the last look, and for how many looks it has not grown.
    let (mut seen, mut quiet) = (u64::MAX, 0);
    // The line that was unfinished at the last look.
    let mut unfinished: Option<UnfinishedLine> = None;
    // Before the last nap. A clock that has not moved during a nap stands still, by libfaketime for example, and the deadline would
    // never come.
    let mut before_nap = Moment::NEVER;
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
            && before_nap != now
        {
            before_nap = now;
            return (state, Rest::Until(deadline));
        }
        before_nap = Moment::NEVER;
        let hurried = mem::replace(&mut state.helper.hurried, false);
        let all = engine.accepted(&state);
        if state.drained < all || state.has_gap() {
            state = engine.stdout_first(state);
            let before = state.drained;
            state = engine.drain_lines(state);
            let known = unfinished.take();
            if state.drained < all {
                // A caller waits for the line, or for its room in the queue.
                let is_asked_for = hurried && state.is_waited_for() && state.drained == before;
                let mut goes = is_asked_for || !state.mode.has_helper();
                match known.filter(|line| line.start == state.drained) {
                    _ if goes => {}
                    None => unfinished = Some(UnfinishedLine::seen(engine, &state)),
                    Some(line) => {
                        // The waiting thread may be about to finish the line.
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
        // After the drain, because the policy may have been switched during it.
        let (interval, over) = match state.mode {
            Mode::Prompt { max_delay } => (max_delay / LOOKS_PER_DELAY, quiet >= LOOKS_PER_DELAY),
            Mode::Background => (GATHER, quiet >= QUIET_INTERVALS),
            // After a switch of policy: drains only bytes promised before it.
            _ => (Duration::ZERO, state.drained >= state.helper.promised),
        };
        if over && (!state.mode.has_helper() || engine.accepted(&state) == state.drained) {
            state = engine.end_burst(state);
        }
        state.helper.deadline = Some(match state.mode {
            // From the look on, not from the end of the drain: bytes that came during a slow drain have waited already.
            Mode::Prompt { .. } => now + interval,
            _ => Moment::now() + interval,
        });
        state.helper.hurried |= engine.is_filling(&state);
        (state, Rest::None)
    });
}
