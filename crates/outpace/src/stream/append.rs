//! Appending messages: what the guard's holder does when a message does not fit, or when it has to ask.
#![allow(unsafe_code)]
// Where a function is `extern "C"`, that says to the compiler that it does not unwind.
#![allow(improper_ctypes_definitions)]

use super::background::SEGMENT;
use super::buffer::Buffer;
use super::buffering::MAX_CAPACITY;
use super::cursor::{Answer, Cursor};
use super::drain::Patience;
use super::engine::{Engine, Mode, Segment, State};
use super::exit;
use super::gap::Gap;
use super::lines::LONGEST;
use super::state_guard::Locked;
use crate::sync::thread::work;
use crate::sys::Moment;
use std::mem;
use std::ptr;

impl Engine {
    /// Where the guard's holder appends.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor {
            next: self.flow.published(),
            end: self.flow.limit(),
        }
    }

    /// Where a message goes that needs at most `room` bytes, if there is room; called by the guard's holder, who
    /// keeps no cursor.
    #[inline(always)]
    pub(crate) fn place(&self, room: usize) -> Option<*mut u8> {
        let cursor = self.cursor();
        // The first is for sums that saturated.
        (room <= MAX_CAPACITY && cursor.admits(room)).then_some(cursor.next)
    }

    /// For a holder who keeps a cursor, and need not ask.
    #[inline(always)]
    pub(crate) fn unasked(&self) -> Answer {
        let Cursor { next, end } = self.cursor();
        Answer {
            next,
            room: end.addr().saturating_sub(next.addr()) as u32,
            failed: false,
        }
    }

    /// Lets the guard's holder append to the tail without asking.
    pub(crate) fn open(&self, state: &State) {
        let room = self.tail_room(state);
        self.flow.open(self.flow.published().wrapping_add(room));
    }

    /// How many bytes may be appended to the tail.
    fn tail_room(&self, state: &State) -> usize {
        let room = state.tail.buffer.capacity() - self.offset(state);
        room.min(self.budget(state))
    }

    /// For a holder who has just asked, and needs not ask before the next message that fits.
    fn answer(&self, state: &State) -> Answer {
        Answer {
            next: self.flow.published(),
            room: self.tail_room(state) as u32,
            failed: state.failure.is_some(),
        }
    }

    /// Room for `bytes` bytes in place, which the guard's holder found missing. Nothing if the buffer is
    /// so small that the room would cost a drain.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn make_room(&self, bytes: usize) -> Answer {
        if work::is_under_way() {
            return Answer::NO_ROOM;
        }
        exit::install();
        let mut state = self.settle(self.lock_state());
        let small = state.capacity < 64 * bytes;
        let over = state.mode == Mode::Background && self.pending(&state) + bytes > state.capacity;
        if (small && !self.fits(&state, bytes)) || (over && state.drops()) {
            return Answer {
                next: ptr::null_mut(),
                ..self.answer(&state)
            };
        }
        state = self.room(state, bytes);
        self.reopen(&state);
        self.answer(&state)
    }

    /// Appends a message for the guard's holder, which found that it does not fit.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn append_cold(&self, bytes: &[u8]) -> Answer {
        if work::is_under_way() {
            return self.write_aside(bytes);
        }
        exit::install();
        let mut state = self.settle(self.lock_state());
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
            self.append_behind_lines(state, bytes)
        };
        self.finish(state)
    }

    /// Appends a message where the caller drains: directly to the destination, together with the unfinished line that
    /// it ends, if both are too long for the buffer.
    extern "C" fn append_behind_lines<'a>(
        &'a self,
        mut state: Locked<'a>,
        bytes: &[u8],
    ) -> Locked<'a> {
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

    /// Appends a message of a guard inside another guard of the same thread. The outer one may be building
    /// a message in the tail, and keeps its cursor in registers, so the tail must not be touched: what is
    /// published of it is queued as it is, and the message behind that, in memory of its own.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn append_nested(&self, bytes: &[u8]) -> Answer {
        if work::is_under_way() {
            return self.write_aside(bytes);
        }
        exit::install();
        let mut state = self.lock_state();
        if state.failure.is_none() {
            state.counts.messages += 1;
        }
        if state.failure.is_none() && !bytes.is_empty() {
            if !state.drops() {
                while self.pending(&state) + bytes.len() > self.nested_capacity(&state)
                    && self.pending(&state) > 0
                {
                    self.queue_tail(&mut state);
                    self.spill(&mut state);
                    state = self.make_progress(state);
                }
            }
            self.queue_tail(&mut state);
            let start = self.accepted(&state);
            let full = state.drops() && self.pending(&state) + bytes.len() > state.capacity;
            if full && let Some(relief) = state.relief {
                state.counts.messages -= 1;
                relief.refuse(&mut state, bytes.len());
            } else {
                state.queue(bytes);
                state.tail_start += bytes.len() as u64;
            }
            state = self.dispatch(state);
            // `Line` looks for newlines in the tail only.
            if state.mode == Mode::Line
                && let Some(newline) = bytes.iter().rposition(|&byte| byte == b'\n')
            {
                state = self.drain(state, start + newline as u64 + 1, Patience::Forever);
            }
        }
        Answer {
            next: ptr::null_mut(),
            ..self.answer(&state)
        }
    }

    /// What is to be done about the messages just published. The guard's holder asks when it has to.
    #[cold]
    #[inline(never)]
    pub(crate) extern "C" fn after_message(&self) -> Answer {
        if work::is_under_way() {
            work::owe();
            return Answer::NO_ROOM;
        }
        let state = self.settle(self.lock_state());
        self.finish(state)
    }

    /// Writes a message of an allocator that prints while this thread is at a stream's work: at once, past what is pending,
    /// and without the state. What cannot be written is given up.
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

    /// What follows a message about which the guard's holder asked.
    #[inline(never)]
    extern "C" fn finish<'a>(&'a self, mut state: Locked<'a>) -> Answer {
        state = self.dispatch(state);
        self.reopen(&state);
        self.answer(&state)
    }

    /// How much may be pending after a message of an inner guard.
    fn nested_capacity(&self, state: &State) -> usize {
        if state.stale {
            0
        } else {
            state.capacity.max(state.tail.buffer.capacity())
        }
    }

    fn fits(&self, state: &State, bytes: usize) -> bool {
        self.offset(state) + bytes <= state.tail.buffer.capacity()
    }

    /// Copies bytes for which there is room to the tail, and publishes them.
    fn put(&self, state: &State, bytes: &[u8]) {
        // SAFETY: the guard's holder calls this, after making room.
        unsafe { state.tail.buffer.put(self.offset(state), bytes) };
        let end = self.flow.published().wrapping_add(bytes.len());
        self.flow.publish_piece(end);
    }

    /// Makes room for a message and appends it.
    fn append_whole<'a>(&'a self, state: Locked<'a>, bytes: &[u8]) -> Locked<'a> {
        let state = self.room(state, bytes.len());
        self.flow.count_message();
        self.put(&state, bytes);
        state
    }

    /// Appends to the queue, in pieces if need be; they stay together, because the guard is held.
    extern "C" fn append_pieces<'a>(&'a self, mut state: Locked<'a>, bytes: &[u8]) -> Locked<'a> {
        let mut rest = bytes;
        loop {
            let piece = rest.len().min(SEGMENT).min(state.capacity);
            state = self.room(state, piece);
            let (now, later) = rest.split_at(piece);
            // Under a later policy a segment with a part of a message must not be dropped.
            state.tail.whole &= now.len() == bytes.len();
            if later.is_empty() {
                self.flow.count_message();
            }
            self.put(&state, now);
            if later.is_empty() {
                return state;
            }
            state = self.dispatch(state);
            rest = later;
        }
    }

    /// Moves what is published of the tail to the closed segments, and leaves the rest where it is.
    #[inline(never)]
    extern "C" fn queue_tail(&self, state: &mut State) {
        let end = self.offset(state);
        if state.tail.drained < end {
            let published = Segment {
                buffer: state.tail.buffer.alias(),
                drained: state.tail.drained,
                end,
                whole: false,
                ..Segment::EMPTY
            };
            let pending = self.pending(state);
            state.close_segment(published, pending);
            state.tail.drained = end;
            state.tail.whole = false;
            state.looked = end;
        }
    }

    /// Makes room for `bytes` bytes at the end of the tail. Called by the guard's holder.
    extern "C" fn room<'a>(&'a self, mut state: Locked<'a>, bytes: usize) -> Locked<'a> {
        loop {
            if state.failure.is_some() {
                // What is appended now goes nowhere, and needs no more room than this.
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

    /// Begins the tail anew with the unfinished line that is all that is pending, and room for `bytes` bytes behind
    /// it, if the capacity has so much; returns whether it has. Called by the guard's holder.
    pub(crate) extern "C" fn carry_over(&self, state: &mut State, bytes: usize) -> bool {
        let (from, end) = (state.tail.drained, self.offset(state));
        let (line, capacity) = (end - from, state.capacity);
        let elsewhere = !state.closed.is_empty() || state.spill.is_active();
        if elsewhere || state.drainer != 0 || line > LONGEST || line + bytes > capacity {
            return false;
        }
        state.counts.messages += self.flow.messages();
        state.tail_start += from as u64;
        if state.tail.buffer.capacity() == capacity && state.tail.buffer.is_alone() {
            // SAFETY: the guard's holder calls this, nobody drains, and there is no alias.
            unsafe { state.tail.buffer.move_to_start(from, end) };
            self.flow.begin(state.tail.buffer.start());
        } else {
            // SAFETY: published, and not counted as drained before it is copied.
            let bytes = unsafe { state.tail.buffer.published(from, end) };
            let buffer = Buffer::with_capacity(capacity);
            // SAFETY: nobody else knows of the buffer yet.
            unsafe { buffer.put(0, bytes) };
            let before = mem::replace(&mut state.tail.buffer, buffer);
            state.put_off.free(before);
            self.flow.begin(state.tail.buffer.start());
        }
        self.flow
            .publish_piece(self.flow.published().wrapping_add(line));
        state.tail.drained = 0;
        // It may begin in the middle of a message.
        state.tail.whole = false;
        state.looked = line;
        true
    }

    /// The stream offset of the last newline since this was asked last, if there is one.
    pub(crate) fn last_new_newline(&self, state: &mut State) -> Option<u64> {
        let (from, to) = (state.looked, self.offset(state));
        state.looked = to;
        // SAFETY: published, and the guard's holder, who asks, alone begins the tail anew.
        let new = unsafe { state.tail.buffer.published(from, to) };
        let newline = new.iter().rposition(|&byte| byte == b'\n')?;
        Some(state.tail_start + (from + newline) as u64)
    }

    /// Has some of what is pending drained, by whoever does that.
    fn make_progress<'a>(&'a self, state: Locked<'a>) -> Locked<'a> {
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

    /// Begins the tail anew, with room for `bytes` bytes: in the same memory, if all of it is drained
    /// and it is of the right size, else in another one, behind it. Called by the guard's holder.
    pub(crate) extern "C" fn begin_tail(&self, state: &mut State, bytes: usize) {
        let capacity = match state.mode {
            Mode::Background => state.segment_capacity(),
            _ => state.capacity,
        };
        let capacity = capacity.max(bytes);
        self.close_tail(state);
        if state.tail.buffer.capacity() != capacity {
            self.replace_tail(state, Buffer::with_capacity(capacity));
        }
    }

    /// Moves what is in the tail to the closed segments and leaves it empty.
    pub(crate) extern "C" fn close_tail(&self, state: &mut State) {
        let (end, messages) = (self.offset(state), self.flow.messages());
        state.counts.messages += messages;
        state.looked = 0;
        let pending = self.pending(state);
        state.tail_start += end as u64;
        if state.tail.drained < end {
            state.tail.end = end;
            state.tail.messages = messages;
            let full = mem::replace(&mut state.tail, Segment::EMPTY);
            state.close_segment(full, pending);
            state.pop_drained();
            let spare = state.helper.spare.pop().unwrap_or(Buffer::EMPTY);
            self.replace_tail(state, spare);
        }
        if state.tail.drained > 0 && !state.tail.buffer.is_alone() {
            // An alias of it is still to be drained.
            self.replace_tail(state, Buffer::EMPTY);
        }
        state.tail.drained = 0;
        state.tail.whole = true;
        self.flow.begin(state.tail.buffer.start());
        if state.mode == Mode::Background {
            self.spill(state);
            if self.is_filling(state) {
                self.wake_helper(state);
            }
        }
    }

    #[inline(never)]
    extern "C" fn replace_tail(&self, state: &mut State, buffer: Buffer) {
        self.flow.begin(buffer.start());
        state.tail.buffer = buffer;
    }

    /// How many bytes there may be before the queue is full.
    pub(crate) fn budget(&self, state: &State) -> usize {
        if state.mode != Mode::Background {
            return usize::MAX;
        }
        state.capacity.saturating_sub(self.pending(state))
    }
}

/// What is done with memory that is not needed any more.
pub(crate) type Finish = extern "C" fn(&mut State, Buffer);

impl State {
    /// Appends bytes behind the closed segments: to the last of them, if it is its own and has room.
    fn queue(&mut self, bytes: &[u8]) {
        if let Some(last) = self.last_segment()
            && last.appendable
            && bytes.len() <= last.buffer.capacity() - last.end
        {
            // SAFETY: with the state locked nobody else appends to it, and what is published of a
            // closed segment ends at `end`.
            unsafe { last.buffer.put(last.end, bytes) };
            last.end += bytes.len();
            last.messages += 1;
            return;
        }
        let segment = Segment {
            appendable: true,
            messages: 1,
            ..Segment::of(bytes)
        };
        self.close_segment(segment, 0);
    }

    /// Lets go of the segments at the front that are drained.
    pub(crate) fn pop_drained(&mut self) {
        self.pop_drained_with(State::keep_spare);
    }

    /// The same, but `finish` gets their memory.
    #[inline(never)]
    pub(crate) extern "C" fn pop_drained_with(&mut self, finish: Finish) {
        while let Some(front) = self.closed.front()
            && front.is_drained()
            && let Some(done) = self.closed.pop_front()
        {
            finish(self, done.buffer);
        }
    }
}

impl Segment {
    /// A segment with a copy of the bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let buffer = Buffer::with_capacity(bytes.len().max(4096));
        // SAFETY: nobody else knows of the buffer yet.
        unsafe { buffer.put(0, bytes) };
        Segment {
            buffer,
            end: bytes.len(),
            ..Segment::EMPTY
        }
    }

    pub(crate) fn gap(gap: Gap) -> Self {
        Segment {
            gap: Some(gap),
            ..Segment::EMPTY
        }
    }

    fn is_drained(&self) -> bool {
        self.drained == self.end && self.gap.is_none()
    }

    /// What is still to be drained of a closed segment. It stays until it is counted as drained, which
    /// only the one does who asks for it.
    pub(crate) fn pending_bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: published; see above.
        unsafe { self.buffer.published(self.drained, self.end) }
    }
}
