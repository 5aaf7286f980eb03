//! The queue of a stream's bytes: closed segments, bytes in a file, and the tail. Everything here is called with the
//! state locked, takes no lock, and neither reads nor writes.
#![allow(unsafe_code)]

use super::buffer::Buffer;
use super::buffering::Overflow;
use super::engine::Engine;
use super::gap::Gap;
use super::lines::LONGEST;
use super::parts::Deferred;
use super::segment::{SEGMENT, Segment};
use super::state::{Mode, State};
use std::collections::VecDeque;
use std::mem;

/// How many bytes gather at most before the helper looks, however large the queue is.
const FILLING: usize = 4 << 20;

/// A segment that may be dropped or spilled is at most the queue's capacity divided by this.
const SMALL_PART: usize = 16;

/// How many bytes of drained segments are kept for reuse: touching new memory takes longer than the messages in it.
const SPARES: usize = 1 << 20;

/// A function that takes memory that is no longer needed.
pub(crate) type Finish = extern "C" fn(&mut State, Buffer);

/// Gives up all but the first `length` segments. Their memory is freed once the state is unlocked.
#[inline(never)]
extern "C" fn truncate(segments: &mut VecDeque<Segment>, length: usize, deferred: &mut Deferred) {
    while segments.len() > length
        && let Some(segment) = segments.pop_back()
    {
        deferred.free(segment.buffer);
    }
}

impl State {
    /// Appends bytes behind the closed segments: to the last one, if it is appendable and has room.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        if let Some(last) = self.last_segment()
            && last.appendable
            && bytes.len() <= last.buffer.capacity() - last.end
        {
            // SAFETY: with the state locked no other thread appends to it, and a closed segment is published up to
            // `end` only.
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

    /// Removes drained segments from the front.
    pub(super) fn pop_drained(&mut self) {
        self.pop_drained_with(State::keep_spare);
    }

    /// The same; `finish` gets their memory.
    #[inline(never)]
    pub(super) extern "C" fn pop_drained_with(&mut self, finish: Finish) {
        while let Some(front) = self.closed.front()
            && front.is_drained()
            && let Some(done) = self.closed.pop_front()
        {
            finish(self, done.buffer);
        }
    }

    /// Gives up the bytes in memory, except for the tail.
    pub(super) fn forget_closed(&mut self) {
        truncate(&mut self.closed, 0, &mut self.deferred);
    }

    /// Counts bytes that were written past the queue.
    pub(super) fn pass_by(&mut self, bytes: usize) {
        self.drained += bytes as u64;
        self.tail_start += bytes as u64;
    }

    /// As a [`Finish`] in a signal handler, where memory cannot be freed.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) extern "C" fn leak(&mut self, buffer: Buffer) {
        mem::forget(buffer);
    }

    /// Counts `bytes` at the front of the queue as drained; `finish` gets memory that is no longer needed.
    #[inline(never)]
    pub(super) extern "C" fn advance(&mut self, mut bytes: usize, finish: Finish) {
        while let Some(front) = self.closed.front_mut() {
            let here = bytes.min(front.end - front.drained);
            front.drained += here;
            if !front.marker {
                self.drained += here as u64;
            }
            bytes -= here;
            self.pop_drained_with(finish);
            if bytes == 0 {
                return;
            }
        }
        self.drained += bytes as u64;
        self.tail.drained += bytes;
    }

    /// Bytes that are pending in the file.
    pub(super) fn in_file(&self) -> u64 {
        self.spill.to - self.spill.from
    }

    /// Whether the next bytes are in the file, or in segments on their way there.
    pub(super) fn closed_is_followed_by_file(&self) -> bool {
        self.closed.is_empty() && self.spill.is_active()
    }

    /// Gives up the bytes in the file and on their way there.
    pub(super) fn clear_spill(&mut self) {
        self.spill.from = self.spill.to;
        // The thread that spills drops the segments that it is writing.
        self.spill.abandoned = self.spill.writing > 0;
        truncate(
            &mut self.spill.incoming,
            self.spill.writing,
            &mut self.deferred,
        );
    }

    /// The last segment before the tail, if it is in memory and not being written to the file.
    pub(super) fn last_segment(&mut self) -> Option<&mut Segment> {
        if self.spill.incoming.len() > self.spill.writing {
            return self.spill.incoming.back_mut();
        }
        if self.spill.is_active() {
            None
        } else {
            self.closed.back_mut()
        }
    }

    /// The queue that new segments join.
    pub(super) fn last_queue(&mut self) -> &mut VecDeque<Segment> {
        if self.spill.is_active() {
            &mut self.spill.incoming
        } else {
            &mut self.closed
        }
    }

    /// How many bytes the waiting segment at `index` adds to the file, behind `ahead` others; `None` if it cannot be
    /// spilled.
    pub(super) fn can_spill(&self, index: usize, ahead: u64) -> Option<u64> {
        let limit = match &self.overflow {
            Overflow::Spill { limit, .. } => *limit,
            _ => u64::MAX,
        };
        let next = self.spill.incoming.get(index)?;
        let bytes = (next.end - next.drained) as u64;
        // Gaps, which a switch to a policy that drops leaves, are not written to the file.
        let can = !self.spill.full && next.gap.is_none() && self.in_file() + ahead + bytes <= limit;
        can.then_some(bytes)
    }

    /// Appends a segment to the closed ones: in memory, or on the way to the file.
    #[inline(never)]
    pub(super) fn close_segment(&mut self, segment: Segment, pending: usize) {
        // The first one stays, because a drain may be writing it, and so do others that the drain joins.
        let spills = matches!(self.overflow, Overflow::Spill { .. })
            && self.mode == Mode::Background
            && self.closed.len() >= self.joined.max(1)
            && !self.spill.full
            // The other half is for messages that come before the thread that spills gets a processor.
            && pending > self.capacity / 2;
        if spills {
            self.spill.incoming.push_back(segment);
        } else {
            self.last_queue().push_back(segment);
        }
    }

    /// The capacity of a new tail in the background. Under `Block` a full queue waits; otherwise the segment in flight,
    /// which stays, must be a small part of the queue.
    pub(super) fn segment_capacity(&self) -> usize {
        match self.overflow {
            Overflow::Block => self.capacity.min(SEGMENT),
            _ => (self.capacity / SMALL_PART).clamp(1, SEGMENT),
        }
    }

    /// With more bytes pending than this, the helper looks at once.
    pub(super) fn filling(&self) -> usize {
        (self.capacity / 4).min(FILLING)
    }

    /// Whether a gap, or its marker, is at the front of the queue.
    #[inline(never)]
    pub(super) fn has_gap(&self) -> bool {
        self.marking
            || match self.closed.front() {
                Some(front) => front.gap.is_some() || front.marker,
                None => self.spill.next_is_gap(),
            }
    }

    /// Removes a gap at the front without a marker.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) fn forget_gap(&mut self) {
        if self.closed.front().is_some_and(|front| front.gap.is_some()) {
            self.closed.pop_front();
        }
    }

    /// Counts a message as missing behind the closed segments.
    pub(super) fn refuse(&mut self, bytes: usize) {
        let gap = Gap {
            messages: 1,
            bytes: bytes as u64,
        };
        self.counts.dropped.add(gap);
        self.counts.refused += 1;
        let last = self.last_queue();
        match last.back_mut().and_then(|last| last.gap.as_mut()) {
            Some(last) => last.add(gap),
            None => last.push_back(Segment::gap(gap)),
        }
    }

    /// Drops the closed segment at `index`, which is whole.
    pub(super) fn drop_segment(&mut self, index: usize) {
        let segment = self.closed.remove(index).expect("the index is valid");
        let bytes = segment.end - segment.drained;
        let gap = Gap {
            messages: segment.messages,
            bytes: bytes as u64,
        };
        self.tail_start -= bytes as u64;
        self.counts.dropped.add(gap);
        self.keep_spare(segment.buffer);
        // Neighbouring gaps become one.
        let mut joined = gap;
        if let Some(after) = self.closed.get(index).and_then(|next| next.gap) {
            joined.add(after);
            self.closed.remove(index);
        }
        match index
            .checked_sub(1)
            .and_then(|before| self.closed[before].gap.as_mut())
        {
            Some(before) => before.add(joined),
            None => self.closed.insert(index, Segment::gap(joined)),
        }
    }

    /// Keeps the memory of a drained segment for reuse, or frees it.
    pub(super) extern "C" fn keep_spare(&mut self, buffer: Buffer) {
        // In the background, as much as is filled before the helper is woken.
        let limit = match self.mode {
            Mode::Background => self.filling(),
            _ => SPARES,
        };
        let kept = self.helper.spare.len() * buffer.capacity();
        if kept < limit && buffer.is_alone() {
            self.helper.spare.push(buffer);
        } else {
            self.deferred.free(buffer);
        }
    }
}

impl Engine {
    /// How far the tail buffer is published.
    pub(super) fn offset(&self, state: &State) -> usize {
        self.cursor.published().addr() - state.tail.buffer.start().addr()
    }

    /// Bytes accepted since the stream began.
    pub(super) fn accepted(&self, state: &State) -> u64 {
        state.tail_start + self.offset(state) as u64
    }

    /// Counts the published part of the tail as drained. No bytes are pending before it.
    pub(super) fn pass_over_published(&self, state: &mut State) {
        // Read once: the guard's holder may publish more at any moment.
        let published = self.offset(state);
        state.tail.drained = published;
        state.drained = state.tail_start + published as u64;
    }

    /// Messages accepted since the stream began.
    pub(super) fn messages(&self, state: &State) -> u64 {
        state.counts.messages + self.cursor.messages()
    }

    /// Bytes that are pending in memory.
    pub(super) fn pending(&self, state: &State) -> usize {
        (self.accepted(state) - state.drained - state.in_file()) as usize
    }

    /// Whether the helper has to look before its interval ends.
    pub(super) fn is_filling(&self, state: &State) -> bool {
        state.mode == Mode::Background && self.pending(state) > state.filling()
    }

    pub(super) fn fits(&self, state: &State, bytes: usize) -> bool {
        self.offset(state) + bytes <= state.tail.buffer.capacity()
    }

    /// Copies bytes to the tail, which has room for them, and publishes them.
    pub(super) fn put(&self, state: &State, bytes: &[u8]) {
        // SAFETY: the guard's holder calls this, after making room.
        unsafe { state.tail.buffer.put(self.offset(state), bytes) };
        let end = self.cursor.published().wrapping_add(bytes.len());
        self.cursor.publish_piece(end);
    }

    /// How many bytes may be appended to the tail: as many as its memory, and in the background the queue, takes.
    pub(super) fn tail_room(&self, state: &State) -> usize {
        let room = state.tail.buffer.capacity() - self.offset(state);
        match state.mode {
            Mode::Background => room.min(state.capacity.saturating_sub(self.pending(state))),
            _ => room,
        }
    }

    /// Moves the published part of the tail to the closed segments; the rest stays in place.
    #[inline(never)]
    pub(super) extern "C" fn queue_tail(&self, state: &mut State) {
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

    /// If only an unfinished line is pending, and `room` bytes behind it are within the capacity, begins the tail anew
    /// with that line; returns whether it did. Called by the guard's holder.
    pub(super) extern "C" fn carry_over(&self, state: &mut State, room: usize) -> bool {
        let (from, end) = (state.tail.drained, self.offset(state));
        let (line, capacity) = (end - from, state.capacity);
        let elsewhere = !state.closed.is_empty() || state.spill.is_active();
        if elsewhere || state.drainer != 0 || line > LONGEST || line + room > capacity {
            return false;
        }
        state.counts.messages += self.cursor.messages();
        state.tail_start += from as u64;
        if state.tail.buffer.capacity() == capacity && state.tail.buffer.is_alone() {
            // SAFETY: the guard's holder calls this, no thread drains, and there is no alias.
            unsafe { state.tail.buffer.move_to_start(from, end) };
            self.cursor.begin(state.tail.buffer.start());
        } else {
            // SAFETY: published, and not counted as drained before it is copied.
            let unfinished = unsafe { state.tail.buffer.published(from, end) };
            let buffer = Buffer::with_room(capacity, line + room);
            // SAFETY: no other thread knows of the buffer yet.
            unsafe { buffer.put(0, unfinished) };
            let before = mem::replace(&mut state.tail.buffer, buffer);
            state.deferred.free(before);
            self.cursor.begin(state.tail.buffer.start());
        }
        self.cursor
            .publish_piece(self.cursor.published().wrapping_add(line));
        state.tail.drained = 0;
        // It may begin in the middle of a message.
        state.tail.whole = false;
        state.looked = line;
        true
    }

    /// The stream offset of the last newline since the last call.
    pub(super) fn last_new_newline(&self, state: &mut State) -> Option<u64> {
        let (from, to) = (state.looked, self.offset(state));
        state.looked = to;
        // SAFETY: published, and only the guard's holder, the caller, begins the tail anew.
        let new = unsafe { state.tail.buffer.published(from, to) };
        let newline = new.iter().rposition(|&byte| byte == b'\n')?;
        Some(state.tail_start + (from + newline) as u64)
    }

    /// Begins the tail anew, with room for `bytes` bytes: in the same memory, if all of it is drained and of the right
    /// size. Called by the guard's holder.
    pub(super) extern "C" fn begin_tail(&self, state: &mut State, bytes: usize) {
        let capacity = match state.mode {
            Mode::Background => state.segment_capacity(),
            _ => state.capacity,
        };
        let capacity = capacity.max(bytes);
        self.close_tail(state);
        if state.tail.buffer.capacity() != capacity {
            self.replace_tail(state, Buffer::with_room(capacity, bytes));
        }
    }

    /// Moves the bytes of the tail to the closed segments.
    pub(super) extern "C" fn close_tail(&self, state: &mut State) {
        let (end, messages) = (self.offset(state), self.cursor.messages());
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
            // An alias of it is not drained yet.
            self.replace_tail(state, Buffer::EMPTY);
        }
        state.tail.drained = 0;
        state.tail.whole = true;
        self.cursor.begin(state.tail.buffer.start());
        if state.mode == Mode::Background {
            self.spill(state);
            if self.is_filling(state) {
                self.wake_helper(state);
            }
        }
    }

    #[inline(never)]
    pub(super) extern "C" fn replace_tail(&self, state: &mut State, buffer: Buffer) {
        self.cursor.begin(buffer.start());
        state.tail.buffer = buffer;
    }
}
