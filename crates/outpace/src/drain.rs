//! Handing bytes to the kernel: all of them, in order, once, whatever `write(2)` answers.
//!
//! | answer | what happens |
//! |---|---|
//! | fewer bytes than offered, `EINTR` | goes on from there |
//! | `EAGAIN` (somebody made the descriptor non-blocking) | polls, and goes on from there |
//! | `EPIPE` | as the stream's [`OnBrokenPipe`] says |
//! | `EBADF` on a standard stream | as if written: there is no such stream |
//! | any other error | the stream has failed: what arrived is a prefix, and nothing more is written |
#![allow(unsafe_code)]
// Where a function is `extern "C"`, that says to the compiler that it does not unwind.
#![allow(improper_ctypes_definitions)]

use crate::append::Finish;
use crate::engine::{Engine, OnBrokenPipe, Role, State};
use crate::lock::thread_id;
use crate::locked::Locked;
use crate::sys::{self, Destination, Moment};
use std::time::Duration;

/// How long a drain may take.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// Until everything has been written.
    Forever,
    /// Not for the reader: what cannot be written without waiting stays (as far as `poll(2)` knows; to be sure
    /// takes too long to be done for each message). A drain that another thread has
    /// begun is given the time that one takes which does not wait for the reader either: what was to be
    /// first would else come second only because both set out at the same moment.
    None,
    /// Until nothing has moved for so long.
    Stalled(Duration),
}

/// Whether the first `length` bytes end a line.
fn ends_line(bytes: &[u8], length: usize) -> bool {
    bytes.get(length.wrapping_sub(1)) == Some(&b'\n')
}

impl Patience {
    /// When it is over, if nothing moves from now on; `least` is how long it lasts in any case.
    extern "C" fn end(self, least: Duration) -> Moment {
        match self {
            Patience::Forever => Moment::NEVER,
            Patience::None => Moment::now() + least,
            Patience::Stalled(limit) => Moment::now() + limit,
        }
    }

    /// Whether another thread's drain, which has come to `drained`, has been waited for long enough. `seen` is how
    /// far it had come before, and until when it had to come further.
    #[inline(never)]
    fn is_over(self, seen: &mut Option<(u64, Moment)>, drained: u64) -> bool {
        let end = match *seen {
            Some((before, end)) if drained == before || matches!(self, Patience::None) => end,
            _ => self.end(DRAIN_IN_PROGRESS),
        };
        *seen = Some((drained, end));
        end.has_come()
    }
}

/// How long a drain takes that does not wait for the reader.
const DRAIN_IN_PROGRESS: Duration = Duration::from_millis(5);

/// Why a stream has failed.
pub(crate) struct Failure {
    pub(crate) error: sys::Error,
    on_broken_pipe: OnBrokenPipe,
    /// Whether a caller has been given the error.
    pub(crate) told: bool,
}

impl Failure {
    /// Whether the reader has gone and the process is to end because of it.
    pub(crate) fn ends_process(&self) -> bool {
        self.error.is_broken_pipe() && self.on_broken_pipe == OnBrokenPipe::End
    }
}

impl State {
    /// Gives up what is in memory, but for the tail.
    #[inline(never)]
    pub(crate) extern "C" fn forget_closed(&mut self) {
        while self.closed.pop_front().is_some() {}
    }

    /// The failure, for a caller who now knows of it.
    pub(crate) fn tell_failure(&mut self) -> Result<(), sys::Error> {
        let Some(failure) = self.failure.as_mut() else {
            return Ok(());
        };
        failure.told = true;
        Err(failure.error)
    }

    /// A drain has made progress, or ended.
    pub(crate) fn tell_progress(&mut self) {
        if self.waiters > 0 {
            self.put_off.tell_progress();
        }
        #[cfg(feature = "tokio")]
        if std::mem::take(&mut self.tasks_wait) {
            self.put_off.wake_tasks();
        }
    }

    /// Memory cannot be given back in a signal handler.
    #[cfg(all(unix, not(outpace_portable)))]
    extern "C" fn leak(&mut self, buffer: crate::buffer::Buffer) {
        std::mem::forget(buffer);
    }

    /// Counts `bytes` at the front of the queue as drained, and hands over the memory that is then free.
    #[inline(never)]
    extern "C" fn advance(&mut self, bytes: usize, finish: Finish) {
        match self.closed.front_mut() {
            Some(front) => {
                front.drained += bytes;
                if !front.marker {
                    self.drained += bytes as u64;
                }
                self.pop_drained_with(finish);
            }
            None => {
                self.drained += bytes as u64;
                self.tail.drained += bytes;
            }
        }
    }
}

impl Engine {
    /// Drains up to the stream offset `until`, or until somebody else has. On return the state is locked
    /// again; whether the drain got there is told by `drained` and `failure`.
    pub(crate) extern "C" fn drain<'a>(
        &'a self,
        state: Locked<'a>,
        mut until: u64,
        patience: Patience,
    ) -> Locked<'a> {
        let Ok(mut state) = self.begin_drain(state, until, patience) else {
            return self.lock_state();
        };
        loop {
            state = self.mark_gap(state);
            // Dropped messages are not waited for.
            until = until.min(self.accepted(&state));
            let done = state.drained >= until && !state.has_gap();
            if done || state.failure.is_some() || state.closed_for_good {
                break;
            }
            if state.closed_is_followed_by_file() {
                state = self.back_from_file(state);
                continue;
            }
            let mut front = self.front(&state, until);
            if matches!(patience, Patience::None) {
                let is_terminal = matches!(state.destination, Some((Destination::Terminal, _)));
                front = sys::polled(front, is_terminal);
            }
            let Some((next, result)) = self.write_some(state, front, &[], patience) else {
                state = self.lock_state();
                break;
            };
            state = next;
            match result {
                Ok(written) => {
                    state.at_line_start = ends_line(front, written);
                    state.advance(written, State::keep_spare);
                }
                Err(error) => self.fail(&mut state, error),
            }
            state.tell_progress();
        }
        self.end_drain(state)
    }

    /// Drains everything that has been accepted by now.
    pub(crate) fn drain_all(&self, patience: Patience) {
        let state = self.lock_state();
        let all = self.accepted(&state);
        drop(self.drain(state, all, patience));
    }

    /// Drains from a signal handler: only when nobody is in the middle of anything, for which it waits
    /// no longer than for the reader. Takes and frees no memory.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn drain_in_handler(&self, limit: Duration) {
        let mut moved = Moment::now();
        let mut drained = 0;
        let mut state = loop {
            match self.try_lock_state_in_handler() {
                Some(state) if state.drainer == 0 => break state,
                // The handler interrupted it: how much it has written is not known.
                Some(state) if state.drainer == thread_id() => return,
                Some(state) if state.drained != drained => {
                    (drained, moved) = (state.drained, Moment::now());
                }
                _ => {}
            }
            if moved.elapsed() >= limit {
                return;
            }
            sys::pause();
        };
        let all = self.accepted(&state);
        let mut until = Moment::now() + limit;
        while state.drained < all && state.failure.is_none() && !state.closed_for_good {
            // A marker takes memory, and so does the way back from a file.
            state.forget_gap();
            if state.closed_is_followed_by_file() {
                return;
            }
            let front = self.front(&state, all);
            if until.has_come() || !self.output.wait_writable(until) {
                return;
            }
            match self.output.write_now(front) {
                Ok(written) => {
                    state.advance(written, State::leak);
                    state.tell_progress();
                    until = Moment::now() + limit;
                }
                Err(error) if error.is_interruption() || error.would_block() => sys::pause(),
                Err(_) => return,
            }
        }
    }

    /// Drains everything and then writes `bytes`, which are not copied, as the next message.
    /// Called by the guard's holder.
    pub(crate) extern "C" fn write_through<'a>(
        &'a self,
        state: Locked<'a>,
        bytes: &[u8],
    ) -> Locked<'a> {
        let Ok(mut state) = self.begin_drain(state, u64::MAX, Patience::Forever) else {
            return self.lock_state();
        };
        let mut rest = bytes;
        loop {
            state = self.mark_gap(state);
            if state.closed_is_followed_by_file() && state.failure.is_none() {
                state = self.back_from_file(state);
                continue;
            }
            let all = self.accepted(&state);
            let pending = (all - state.drained) as usize;
            let done = pending == 0 && rest.is_empty() && !state.has_gap();
            if state.failure.is_some() || done {
                break;
            }
            let front = self.front(&state, all);
            // Gaps have no bytes, and yet come before the message.
            let is_last = front.len() == pending && state.is_followed_by_tail();
            let behind = if is_last { rest } else { &[] };
            let Some((next, result)) = self.write_some(state, front, behind, Patience::Forever)
            else {
                // Never: it has no end.
                return self.lock_state();
            };
            state = next;
            match result {
                Ok(written) => {
                    let buffered = written.min(front.len());
                    let direct = written - buffered;
                    state.at_line_start = if direct > 0 {
                        ends_line(rest, direct)
                    } else {
                        ends_line(front, buffered)
                    };
                    // Lets go of the memory.
                    state.advance(buffered, State::keep_spare);
                    rest = rest.get(direct..).unwrap_or_default();
                    state.drained += direct as u64;
                    state.tail_start += direct as u64;
                }
                Err(error) => self.fail(&mut state, error),
            }
            state.tell_progress();
        }
        state.counts.messages += 1;
        self.end_drain(state)
    }

    /// Becomes the one that drains. Gives up, unlocked, when there is nothing left to do, or no patience.
    extern "C" fn begin_drain<'a>(
        &'a self,
        mut state: Locked<'a>,
        until: u64,
        patience: Patience,
    ) -> Result<Locked<'a>, ()> {
        let me = thread_id();
        let limit = match patience {
            Patience::Forever => None,
            Patience::None => Some(DRAIN_IN_PROGRESS),
            Patience::Stalled(limit) => Some(limit),
        };
        let mut seen = None;
        while state.drainer != 0 {
            let done = state.drained >= until && !state.has_gap();
            if done || state.drainer == me || patience.is_over(&mut seen, state.drained) {
                return Err(());
            }
            state = self.wait(state, limit);
        }
        if state.failure.is_some() {
            self.give_up(&mut state);
        }
        let done = state.drained >= until && !state.has_gap();
        if done || state.failure.is_some() || state.closed_for_good {
            return Err(());
        }
        state.drainer = me;
        Ok(state)
    }

    fn end_drain<'a>(&'a self, mut state: Locked<'a>) -> Locked<'a> {
        state.drainer = 0;
        state.tell_progress();
        state
    }

    /// Waits until somebody's drain has made progress or ended.
    #[inline(never)]
    pub(crate) extern "C" fn wait<'a>(
        &'a self,
        mut state: Locked<'a>,
        limit: Option<Duration>,
    ) -> Locked<'a> {
        state.waiters += 1;
        let mut state = state.wait_for(&self.progress, limit);
        state.waiters = state.waiters.saturating_sub(1);
        state
    }

    /// The oldest published bytes that lie in one piece, up to the stream offset `until`.
    ///
    /// They stay where they are, and unchanged, until the caller, who is the one that drains, counts
    /// them as drained.
    #[inline(never)]
    fn front<'b>(&self, state: &State, until: u64) -> &'b [u8] {
        let (segment, end) = match state.closed.front() {
            Some(marker) if marker.marker => return marker.pending_bytes(),
            Some(segment) => (segment, segment.end),
            None => (&state.tail, self.offset(state)),
        };
        let wanted = usize::try_from(until - state.drained).unwrap_or(usize::MAX);
        let end = end.min(segment.drained.saturating_add(wanted));
        // SAFETY: published; only the drainer frees or lets go of what is not drained.
        unsafe { segment.buffer.published(segment.drained, end) }
    }

    /// Writes some of `first` and then `second` without the state, and locks it again. Nothing if
    /// patience ran out before anything could be written.
    extern "C" fn write_some<'a>(
        &'a self,
        state: Locked<'a>,
        first: &[u8],
        second: &[u8],
        patience: Patience,
    ) -> Option<(Locked<'a>, Result<usize, sys::Error>)> {
        let is_waited_for = !state.never_waits();
        drop(state);
        let result = self.write_once(first, second, patience)?;
        let mut state = if is_waited_for {
            self.lock_state()
        } else {
            self.lock_state_politely()
        };
        state.counts.writes += 1;
        Some((state, result))
    }

    fn write_once(
        &self,
        first: &[u8],
        second: &[u8],
        patience: Patience,
    ) -> Option<Result<usize, sys::Error>> {
        let until = patience.end(Duration::ZERO);
        let only = if first.is_empty() { second } else { first };
        let mut polls = !matches!(patience, Patience::Forever);
        loop {
            if polls && !self.output.wait_writable(until) {
                return None;
            }
            let result = if matches!(patience, Patience::Stalled(_)) {
                self.output.write_now(only)
            } else if first.is_empty() || second.is_empty() {
                self.output.write(only)
            } else {
                self.output.write_both(first, second)
            };
            match result {
                Ok(0) => return Some(Err(sys::Error::WROTE_NOTHING)),
                Ok(written) => return Some(Ok(written)),
                Err(error) if error.is_interruption() => {}
                Err(error) if error.would_block() => {
                    // Another writer may have come first.
                    if until.has_come() {
                        return None;
                    }
                    polls = true;
                }
                Err(error) if self.swallows(error) => {
                    return Some(Ok(first.len() + second.len()));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Whether what cannot be written is to be taken as written.
    fn swallows(&self, error: sys::Error) -> bool {
        if error.is_broken_pipe() {
            return self.lock_state().on_broken_pipe == OnBrokenPipe::Ignore;
        }
        self.role != Role::Other && error.is_closed_descriptor()
    }

    /// Nothing is written after an error; what is pending is given up.
    pub(crate) fn fail(&self, state: &mut State, error: sys::Error) {
        state.last_error = error;
        state.failure = Some(Failure {
            error,
            on_broken_pipe: state.on_broken_pipe,
            told: false,
        });
        self.flow.close();
        self.give_up(state);
    }

    /// Forgets what is pending on a stream that has failed.
    #[inline(never)]
    pub(crate) extern "C" fn give_up(&self, state: &mut State) {
        // Nobody is writing from the memory: a failed stream has no drain but the one that failed.
        debug_assert!(state.failure.is_some());
        state.forget_closed();
        if let Some(relief) = state.relief {
            relief.clear(state);
        }
        state.tail.drained = self.offset(state);
        state.drained = self.accepted(state);
    }
}
