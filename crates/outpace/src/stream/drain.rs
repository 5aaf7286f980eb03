//! Handing bytes to the kernel: all of them, in order, once, whatever `write(2)` answers.
//!
//! | answer | what happens |
//! |---|---|
//! | fewer bytes than offered, `EINTR` | goes on from there |
//! | `EAGAIN` (a descriptor made non-blocking) | polls, and goes on from there |
//! | `EPIPE` | as the stream's [`BrokenPipe`] says |
//! | `EBADF` on a standard stream | counts as written, because the stream is closed; on stdout of C programs an error |
//! | any other error | the stream has failed: the bytes that arrived are a prefix, and no more are written |
#![allow(unsafe_code)]

use super::engine::Engine;
use super::lines::{self, LONGEST, Unfinished, ends_line};
use super::patience::{DRAIN_IN_PROGRESS, Patience};
use super::state::{BrokenPipe, Failure, Mode, Role, State};
use super::state_guard::StateGuard;
use crate::sync::thread::{thread_id, work};
use crate::sys::{self, Destination};
use std::io;
use std::time::{Duration, Instant};

/// The next step of a drain.
enum Next<'b> {
    /// Writes these bytes.
    Write(&'b [u8]),
    /// Writes a line that is spread over several segments.
    Join,
    /// Fetches the bytes behind the unfinished line from the file.
    FromFile,
    /// Ends: at most an unfinished line is left, which waits.
    Done,
}

/// The end of a drain that takes all there is.
const NO_END: u64 = u64::MAX;

impl Engine {
    /// Drains up to the stream offset `until`, or until another thread has. On return the state is locked again;
    /// `drained` and `failure` tell how far the drain got.
    pub(crate) extern "C" fn drain<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        until: u64,
        patience: Patience,
    ) -> StateGuard<'a> {
        // SAFETY: this thread becomes the one that drains, and counts the bytes only after writing them.
        let single = || unsafe { self.single_write(&state, until) };
        if matches!(patience, Patience::Forever)
            && let Some(bytes) = single()
        {
            state = self.drain_by_single_write(state, bytes);
            if state.drained >= until {
                return state;
            }
        }
        let drained = self.drain_up_to(state, until, Unfinished::Goes, patience, &mut &[][..]);
        drained.unwrap_or_else(|state| state)
    }

    /// The bytes pending up to `until`, if all of them are in the tail and one write takes them. The choice of
    /// [`next_write`](Self::next_write) in the usual case where callers drain each message.
    ///
    /// # Safety
    ///
    /// As for [`front`](Self::front): the caller becomes the one that drains before it unlocks the state.
    unsafe fn single_write<'b>(&self, state: &State, until: u64) -> Option<&'b [u8]> {
        let blocked = state.drainer != 0 || state.failure.is_some() || state.closed_for_good;
        if blocked || !state.closed.is_empty() || state.spill.is_active() {
            return None;
        }
        let (from, published) = (state.tail.drained, self.offset(state));
        let to = usize::try_from(until.checked_sub(state.tail_start)?).ok()?;
        if to <= from || to > published || to - from > state.write_limit(Patience::Forever) {
            return None;
        }
        // SAFETY: published; the caller's promise.
        let bytes = unsafe { state.tail.buffer.published(from, to) };
        (to == published || ends_line(bytes, bytes.len())).then_some(bytes)
    }

    /// Drains these bytes, or the first of them.
    fn drain_by_single_write<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        bytes: &[u8],
    ) -> StateGuard<'a> {
        state.drainer = thread_id();
        let Some((mut state, result)) = self.write_some(state, bytes, Patience::Forever) else {
            return self.end_drain(self.lock_state());
        };
        self.count_write(&mut state, bytes, bytes.len(), &mut &[][..], result);
        self.end_drain(state)
    }

    /// Counts what a write has done with `bytes`, of which the first `queued` are from the queue and the others are the
    /// beginning of `behind`.
    #[inline(never)]
    pub(super) extern "C" fn count_write(
        &self,
        state: &mut State,
        bytes: &[u8],
        queued: usize,
        behind: &mut &[u8],
        result: Result<usize, sys::OsError>,
    ) {
        match result {
            Ok(written) => {
                state.at_line_start = ends_line(bytes, written);
                let of_queue = written.min(queued);
                let direct = written - of_queue;
                state.advance(of_queue, State::keep_spare);
                state.pass_by(direct);
                *behind = behind.get(direct..).unwrap_or_default();
            }
            Err(error) => self.fail(state, error),
        }
        state.notify_progress();
    }

    /// Drains all pending lines. An unfinished one at their end may stay; it then begins at `drained`.
    pub(crate) extern "C" fn drain_lines<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        let all = self.accepted(&state);
        let (waits, patience) = (Unfinished::Waits, Patience::Forever);
        let drained = self.drain_up_to(state, all, waits, patience, &mut &[][..]);
        drained.unwrap_or_else(|state| state)
    }

    /// As [`drain`](Self::drain). With [`NO_END`], drains all pending bytes and then `behind`, which follows them;
    /// leaves an unfinished line in it that waits.
    extern "C" fn drain_up_to<'a>(
        &'a self,
        state: StateGuard<'a>,
        mut until: u64,
        unfinished: Unfinished,
        patience: Patience,
        behind: &mut &[u8],
    ) -> Result<StateGuard<'a>, StateGuard<'a>> {
        let has_end = until != NO_END;
        let Ok(mut state) = self.begin_drain(state, until, patience) else {
            return Err(self.lock_state());
        };
        loop {
            state = self.mark_gap(state);
            let all = self.accepted(&state);
            // Dropped messages are not waited for.
            until = if has_end { until.min(all) } else { all };
            let queued = state.drained < until || state.has_gap();
            let done = !queued && behind.is_empty();
            if done || state.failure.is_some() || state.closed_for_good {
                break;
            }
            if state.closed_is_followed_by_file() {
                state = self.back_from_file(state);
                continue;
            }
            // SAFETY: this thread is the one that drains, and counts bytes only after writing them.
            let next = unsafe { self.next_write(&state, until, unfinished, patience, behind) };
            let mut bytes = match next {
                Next::Write(bytes) => bytes,
                Next::Join => {
                    let more;
                    (state, more) = self.write_joined(state, until, unfinished, patience, behind);
                    if !more {
                        break;
                    }
                    continue;
                }
                Next::FromFile => {
                    state = self.back_from_file(state);
                    continue;
                }
                Next::Done => break,
            };
            if matches!(patience, Patience::None) {
                let is_terminal = matches!(state.destination, Some((Destination::Terminal, _)));
                bytes = sys::polled(bytes, is_terminal);
            }
            let Some((next, result)) = self.write_some(state, bytes, patience) else {
                state = self.lock_state();
                break;
            };
            state = next;
            let queued = if queued { bytes.len() } else { 0 };
            self.count_write(&mut state, bytes, queued, behind, result);
        }
        Ok(self.end_drain(state))
    }

    /// Drains all bytes accepted so far.
    pub(crate) fn drain_all(&self, patience: Patience) {
        if work::is_under_way() {
            return;
        }
        let state = self.lock_state();
        let all = self.accepted(&state);
        drop(self.drain(state, all, patience));
    }

    /// Drains from a signal handler, once no thread is in the middle of a drain or an update. Waits for that no longer
    /// than for the reader. Allocates and frees no memory.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn drain_in_handler(&self, limit: Duration) {
        let mut moved = sys::Moment::now();
        let mut drained = 0;
        let mut state = loop {
            match self.try_lock_state_in_handler() {
                Some(state) if state.drainer == 0 => break state,
                // The handler interrupted this thread's own drain: how much it has written is unknown.
                Some(state) if state.drainer == thread_id() => return,
                Some(state) if state.drained != drained => {
                    (drained, moved) = (state.drained, sys::Moment::now());
                }
                _ => {}
            }
            if moved.elapsed() >= limit {
                return;
            }
            sys::pause();
        };
        let all = self.accepted(&state);
        let mut until = sys::Moment::now() + limit;
        while state.drained < all && state.failure.is_none() && !state.closed_for_good {
            // A marker needs memory, and so does reading back from a file.
            state.forget_gap();
            if state.closed_is_followed_by_file() {
                return;
            }
            let goes = Unfinished::Goes;
            // SAFETY: no thread drains, nor can one begin while the state is locked; bytes are counted only after they
            // are written.
            let front = unsafe {
                match self.next_write(&state, all, goes, Patience::None, &[]) {
                    Next::Write(front) => front,
                    // The stack of a handler may be small.
                    _ => self.front(&state, all),
                }
            };
            if until.has_come() || !self.output.wait_writable(until) {
                return;
            }
            match self.output.write_now(front) {
                Ok(written) => {
                    state.advance(written, State::leak);
                    state.notify_progress();
                    until = sys::Moment::now() + limit;
                }
                Err(error) if error.is_interruption() || error.would_block() => sys::pause(),
                Err(_) => return,
            }
        }
    }

    /// Drains everything and then writes `bytes` as the next message, without copying them. Returns an unfinished line
    /// at their end that has to wait. Called by the guard's holder.
    pub(crate) extern "C" fn write_through<'a, 'b>(
        &'a self,
        state: StateGuard<'a>,
        bytes: &'b [u8],
    ) -> (StateGuard<'a>, &'b [u8]) {
        let unfinished = match state.mode {
            Mode::Unbuffered => Unfinished::Goes,
            _ => Unfinished::Waits,
        };
        let mut rest = bytes;
        match self.drain_up_to(state, NO_END, unfinished, Patience::Forever, &mut rest) {
            Ok(mut state) => {
                state.counts.messages += 1;
                let rest = if state.failure.is_some() { &[] } else { rest };
                (state, rest)
            }
            Err(state) => (state, &[]),
        }
    }

    /// Chooses the bytes of the next write of a drain up to the stream offset `until`. `behind` follows all that is pending.
    /// The rule is in [`lines`].
    ///
    /// # Safety
    ///
    /// As for [`front`](Self::front).
    #[inline(never)]
    unsafe fn next_write<'b>(
        &self,
        state: &State,
        until: u64,
        unfinished: Unfinished,
        patience: Patience,
        behind: &'b [u8],
    ) -> Next<'b> {
        let is_marker = state.closed.front().is_some_and(|front| front.marker);
        // SAFETY: the caller's promise.
        let front: &'b [u8] = unsafe { self.front(state, until) };
        if is_marker {
            return Next::Write(front);
        }
        let limit = state.write_limit(patience);
        let goes = unfinished == Unfinished::Goes || !state.at_line_start;
        if front.is_empty() && state.closed.is_empty() {
            // Only the message that bypasses the queue is left.
            return match lines::cut(behind, limit) {
                _ if goes && behind.len() <= limit => Next::Write(behind),
                Some(length) => Next::Write(&behind[..length]),
                None if goes || behind.len() > state.capacity => Next::Write(behind),
                None => Next::Done,
            };
        }
        let reached = state.drained + front.len() as u64 >= until;
        if goes && reached && front.len() <= limit && behind.is_empty() {
            return Next::Write(front);
        }
        if let Some(length) = lines::cut(front, limit) {
            return Next::Write(&front[..length]);
        }
        // An unfinished line, at the end of the first segment.
        let is_tail = state.closed.is_empty();
        let tail_pends = self.offset(state) > state.tail.drained;
        match state.closed.get(1) {
            _ if goes && reached && behind.is_empty() => Next::Write(front),
            Some(next) if next.gap.is_some() => Next::Write(front),
            Some(_) => Next::Join,
            None if state.spill.is_active() => Next::FromFile,
            None if !is_tail && tail_pends || !behind.is_empty() => Next::Join,
            None => Next::Done,
        }
    }

    /// Becomes the thread that drains. Fails, with the state unlocked, if all is drained or patience runs out.
    extern "C" fn begin_drain<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        until: u64,
        patience: Patience,
    ) -> Result<StateGuard<'a>, ()> {
        let me = thread_id();
        let limit = match patience {
            Patience::Forever => None,
            Patience::None | Patience::SameFile => Some(DRAIN_IN_PROGRESS),
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

    fn end_drain<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        state.drainer = 0;
        state.notify_progress();
        state
    }

    /// Waits until another thread's drain has made progress or ended.
    #[inline(never)]
    pub(crate) extern "C" fn wait<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        limit: Option<Duration>,
    ) -> StateGuard<'a> {
        state.threads_wait = true;
        state.wait_for(&self.progress, limit)
    }

    /// The oldest pending bytes in one piece, up to the stream offset `until`, or up to the end of the line there if
    /// that is published.
    ///
    /// # Safety
    ///
    /// The caller is the thread that drains, and does not use them after counting them as drained: until then they stay
    /// in place and unchanged.
    #[inline(never)]
    unsafe fn front<'b>(&self, state: &State, until: u64) -> &'b [u8] {
        let (segment, end) = match state.closed.front() {
            // SAFETY: the caller's promise.
            Some(marker) if marker.marker => return unsafe { marker.pending_bytes() },
            Some(segment) => (segment, segment.end),
            None => (&state.tail, self.offset(state)),
        };
        // SAFETY: published; only this thread, which drains, frees undrained bytes.
        let pending = unsafe { segment.buffer.published(segment.drained, end) };
        let wanted = usize::try_from(until - state.drained).unwrap_or(usize::MAX);
        let Some((wanted, rest)) = pending.split_at_checked(wanted) else {
            return pending;
        };
        if wanted.is_empty() || ends_line(wanted, wanted.len()) {
            return wanted;
        }
        let rest = rest.get(..LONGEST).unwrap_or(rest);
        &pending[..wanted.len() + lines::first_end(rest).unwrap_or(0)]
    }

    /// Writes some of `bytes` with the state unlocked, and locks it again. `None`, unlocked, if patience ran out first.
    pub(super) extern "C" fn write_some<'a>(
        &'a self,
        state: StateGuard<'a>,
        bytes: &[u8],
        patience: Patience,
    ) -> Option<(StateGuard<'a>, Result<usize, sys::OsError>)> {
        let is_waited_for = !state.never_waits();
        drop(state);
        let result = self.write_once(bytes, patience)?;
        let mut state = if is_waited_for {
            self.lock_state()
        } else {
            self.lock_state_politely()
        };
        state.counts.writes += 1;
        Some((state, result))
    }

    fn write_once(&self, bytes: &[u8], patience: Patience) -> Option<Result<usize, sys::OsError>> {
        let until = patience.end(Duration::ZERO);
        let mut polls = !matches!(patience, Patience::Forever);
        loop {
            if polls && !self.output.wait_writable(until) {
                return None;
            }
            let result = if matches!(patience, Patience::Stalled(_)) {
                self.output.write_now(bytes)
            } else {
                self.output.write(bytes)
            };
            match result {
                Ok(0) => return Some(Err(sys::OsError::WRITE_ZERO)),
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
                    return Some(Ok(bytes.len()));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Whether bytes that cannot be written count as written.
    fn swallows(&self, error: sys::OsError) -> bool {
        if error.is_broken_pipe() {
            return self.lock_state().on_broken_pipe == BrokenPipe::Ignore;
        }
        error.is_closed_descriptor()
            && match self.role {
                Role::Stdout => !sys::serves_c(),
                Role::Stderr => true,
                Role::Other => false,
            }
    }

    /// Stops writing after an error, and gives up pending bytes.
    pub(crate) fn fail(&self, state: &mut State, error: sys::OsError) {
        state.last_error = error;
        state.failure = Some(Failure {
            error,
            on_broken_pipe: state.on_broken_pipe,
            reported: false,
        });
        self.cursor.close();
        self.give_up(state);
    }

    /// Gives up pending bytes of a stream that has failed.
    #[inline(never)]
    pub(crate) extern "C" fn give_up(&self, state: &mut State) {
        // No thread writes from the memory: a failed stream has no drain but the one that failed.
        debug_assert!(state.failure.is_some());
        state.forget_closed();
        state.clear_spill();
        self.pass_over_published(state);
    }

    /// Returns once the kernel has accepted every byte written before the call.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if work::is_under_way() {
            return Ok(());
        }
        let state = self.lock_state();
        let all = self.accepted(&state);
        let mut state = self.drain(state, all, Patience::Forever);
        Ok(state.report_failure()?)
    }

    /// The same, until `deadline`; the helper drains, if there is one.
    pub(crate) fn flush_until(&self, deadline: Instant) -> io::Result<()> {
        let mut state = self.lock_state();
        let all = self.accepted(&state);
        while state.drained < all.min(self.accepted(&state)) && state.failure.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            state = if state.mode.has_helper() && self.wake_helper(&mut state) {
                state.hurry_helper();
                self.wait(state, Some(left))
            } else {
                // In small steps: progress of a slow reader does not move the deadline.
                let next = all.min(state.drained + sys::POLLED_WRITE as u64);
                self.drain(state, next, Patience::Stalled(left))
            };
        }
        Ok(state.report_failure()?)
    }

    /// Forgets a failure: messages from now on are written again.
    pub(crate) fn clear_error(&self) {
        let mut state = self.lock_state();
        if state.failure.is_some() {
            self.give_up(&mut state);
            state.failure = None;
        }
    }
}
