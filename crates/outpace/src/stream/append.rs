//! Appending messages by the slow path: the guard's holder comes here when a message does not fit, or when it has to
//! ask.
#![allow(unsafe_code)]

use super::cursor::Answer;
use super::engine::Engine;
use super::lifecycle;
use super::patience::Patience;
use super::segment::SEGMENT;
use super::state::{Mode, State};
use super::state_guard::StateGuard;
use crate::sync::lock::Entry;
use crate::sync::thread::{thread_id, work};
use crate::sys::Moment;
use std::ptr;

impl Engine {
    /// Appends a message that the fast path does not take. Called by the guard's holder, inside by an entry of this kind.
    #[inline(always)]
    pub(crate) fn append_by(&self, entry: Entry, bytes: &[u8]) -> Answer {
        match entry {
            Entry::Outermost => self.append_cold(bytes),
            Entry::Nested => self.append_nested(bytes),
        }
    }

    /// The answer to a holder that has just asked.
    fn answer(&self, state: &State) -> Answer {
        Answer {
            next: self.cursor.published(),
            room: self.tail_room(state) as u32,
            failed: state.failure.is_some(),
        }
    }

    /// Makes room for `bytes` more bytes in the tail. Makes none where that would take a drain, because the buffer is
    /// small.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn make_room(&self, bytes: usize) -> Answer {
        if work::is_under_way() {
            return Answer::NO_ROOM;
        }
        lifecycle::install();
        let mut state = self.apply_policy(self.lock_state());
        let small = state.capacity / 64 < bytes;
        let over = state.mode == Mode::Background && self.pending(&state) + bytes > state.capacity;
        if (small && !self.fits(&state, bytes)) || (over && state.drops()) {
            return Answer {
                next: ptr::null_mut(),
                ..self.answer(&state)
            };
        }
        state = self.room(state, bytes);
        self.enable_fast_path(&state);
        self.answer(&state)
    }

    /// Appends a message that does not fit. Called by the guard's holder.
    #[cold]
    #[inline(never)]
    extern "C" fn append_cold(&self, bytes: &[u8]) -> Answer {
        if work::is_under_way() {
            return self.write_aside(bytes);
        }
        lifecycle::install();
        let mut state = self.apply_policy(self.lock_state());
        if state.failure.is_some() {
            return self.finish(state);
        }
        state = if state.drops() {
            let (state, admitted) = self.admit(state, bytes.len());
            if admitted {
                self.append_whole(state, bytes)
            } else {
                state
            }
        } else if state.mode == Mode::Background {
            self.append_pieces(state, bytes)
        } else {
            self.append_and_drain(state, bytes)
        };
        self.finish(state)
    }

    /// Appends a message where the caller drains. If the message and the unfinished line that it ends are too long for
    /// the buffer, writes both directly to the destination.
    extern "C" fn append_and_drain<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        bytes: &[u8],
    ) -> StateGuard<'a> {
        if !self.fits(&state, bytes.len()) {
            state = self.drain_lines(state);
            let unfinished = self.pending(&state);
            let capacity = state.tail.buffer.capacity().max(state.capacity);
            if unfinished + bytes.len() > capacity {
                let rest;
                (state, rest) = self.write_through(state, bytes);
                if !rest.is_empty() {
                    // Counted already.
                    state = self.room(state, rest.len());
                    self.put(&state, rest);
                }
                return state;
            }
        }
        self.append_whole(state, bytes)
    }

    /// Appends a message of a guard inside another guard of the same thread. The outer one may be building a message in
    /// the tail, and keeps its cursor in registers, so the tail must not be touched: its published part is queued, and
    /// then the message, in memory of its own.
    #[cold]
    #[inline(never)]
    extern "C" fn append_nested(&self, bytes: &[u8]) -> Answer {
        if work::is_under_way() {
            return self.write_aside(bytes);
        }
        lifecycle::install();
        let mut state = self.lock_state();
        if state.failure.is_none() {
            state.counts.messages += 1;
            if !bytes.is_empty() {
                state = self.queue_nested(state, bytes);
            }
        }
        Answer {
            next: ptr::null_mut(),
            ..self.answer(&state)
        }
    }

    /// Queues the message, which is counted, or drops it. Not if the stream has failed.
    fn queue_nested<'a>(&'a self, mut state: StateGuard<'a>, bytes: &[u8]) -> StateGuard<'a> {
        // The handler of a signal that has interrupted this thread's own drain waits for no room: it would wait for itself.
        while !state.drops()
            && state.drainer != thread_id()
            && self.pending(&state) > 0
            && self.pending(&state) + bytes.len() > self.nested_capacity(&state)
        {
            self.queue_tail(&mut state);
            self.spill(&mut state);
            state = self.make_progress(state);
        }
        self.queue_tail(&mut state);
        let start = self.accepted(&state);
        if state.drops() && self.pending(&state) + bytes.len() > state.capacity {
            state.counts.messages -= 1;
            state.refuse(bytes.len());
        } else {
            state.queue(bytes);
            state.tail_start += bytes.len() as u64;
        }
        state = self.after_publish(state);
        // `Line` looks for newlines in the tail only.
        if state.mode == Mode::Line
            && let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n')
        {
            state = self.drain(state, start + newline as u64 + 1, Patience::Forever);
        }
        state
    }

    /// Asks about the messages just published. Called by the guard's holder.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn after_message(&self) -> Answer {
        if work::is_under_way() {
            work::owe();
            return Answer::NO_ROOM;
        }
        let state = self.apply_policy(self.lock_state());
        self.finish(state)
    }

    /// Writes a message of an allocator that prints while this thread is at a stream's work: at once, past pending
    /// bytes, and without the state. Bytes that cannot be written are given up.
    #[cold]
    #[inline(never)]
    fn write_aside(&self, bytes: &[u8]) -> Answer {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.output.write(rest) {
                Ok(written @ 1..) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.is_interruption() => {}
                Err(error) if error.would_block() => {
                    self.output.wait_writable(Moment::NEVER);
                }
                _ => break,
            }
        }
        Answer::NO_ROOM
    }

    /// Applies the policy to the published messages, and answers the guard's holder.
    #[inline(never)]
    extern "C" fn finish<'a>(&'a self, mut state: StateGuard<'a>) -> Answer {
        state = self.after_publish(state);
        self.enable_fast_path(&state);
        self.answer(&state)
    }

    /// The most that may be pending after a message of an inner guard.
    fn nested_capacity(&self, state: &State) -> usize {
        if state.stale {
            0
        } else {
            state.capacity.max(state.tail.buffer.capacity())
        }
    }

    /// Makes room for a message and appends it.
    fn append_whole<'a>(&'a self, state: StateGuard<'a>, bytes: &[u8]) -> StateGuard<'a> {
        let state = self.room(state, bytes.len());
        self.cursor.count_message();
        self.put(&state, bytes);
        state
    }

    /// Appends to the queue, in pieces if necessary; they stay together, because the guard is held.
    extern "C" fn append_pieces<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        bytes: &[u8],
    ) -> StateGuard<'a> {
        let mut rest = bytes;
        loop {
            let piece = rest.len().min(SEGMENT).min(state.capacity);
            state = self.room(state, piece);
            let (now, later) = rest.split_at(piece);
            // Under a later policy a segment with a part of a message must not be dropped.
            state.tail.whole &= now.len() == bytes.len();
            if later.is_empty() {
                self.cursor.count_message();
            }
            self.put(&state, now);
            if later.is_empty() {
                return state;
            }
            state = self.after_publish(state);
            rest = later;
        }
    }

    /// Makes room for `bytes` bytes at the end of the tail. Called by the guard's holder.
    extern "C" fn room<'a>(&'a self, mut state: StateGuard<'a>, bytes: usize) -> StateGuard<'a> {
        loop {
            if state.failure.is_some() {
                // The message will be discarded, and needs no more room than this.
                self.give_up(&mut state);
            }
            let all = self.accepted(&state);
            if state.mode == Mode::Background && state.failure.is_none() {
                state = self.admit(state, bytes).0;
                if !self.fits(&state, bytes) {
                    self.begin_tail(&mut state, bytes);
                }
                return state;
            }
            if self.fits(&state, bytes) {
                return state;
            }
            if state.drained == all {
                self.begin_tail(&mut state, bytes);
                continue;
            }
            state = self.drain_lines(state);
            if state.drained < all && !self.carry_over(&mut state, bytes) {
                state = self.drain(state, all, Patience::Forever);
            }
        }
    }

    /// Has some pending bytes drained, by the caller or the helper.
    fn make_progress<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        if state.mode == Mode::Background {
            return self.wait_for_progress(state);
        }
        let before = state.drained;
        let state = self.drain_lines(state);
        if state.drained > before || state.failure.is_some() {
            return state;
        }
        let all = self.accepted(&state);
        self.drain(state, all, Patience::Forever)
    }
}
