//! The queue of [`Buffering::Background`](crate::Buffering::Background): its budget, and what happens to
//! a message that finds it full.
//!
//! The queue is the stream's closed segments and its tail, as everywhere; here there may be many of them,
//! and the helper thread does all the draining. The budget is in bytes, and exact: what is pending in
//! memory never exceeds the capacity (but for a message larger than that under `Block` and `Spill`, which
//! passes alone).
//!
//! Drops are of whole messages, and leave a *gap*: an empty segment that counts what is missing there, and
//! becomes a line of text when the drain reaches it. The oldest messages are dropped a segment at a time,
//! so segments are small under that policy; the one in flight stays, and so does one that is partly
//! written.
// Where a function is `extern "C"`, that says to the compiler that it does not unwind.
#![allow(improper_ctypes_definitions)]

use super::buffering::Overflow;
use super::drain::Patience;
use super::engine::{Engine, Mode, State};
use super::state_guard::Locked;
use crate::sys::Moment;

/// The capacity of a segment.
pub(crate) const SEGMENT: usize = 64 << 10;

/// However large the queue is, its helper does not let more gather.
const FILLING: usize = 4 << 20;

/// A segment that may be dropped or spilled is such a part of the queue at most.
const SMALL_PART: usize = 16;

impl State {
    /// The capacity of a new tail in the background. Unless all that can be done with a full queue is to
    /// wait, the segment in flight must be a small part of it.
    pub(crate) fn segment_capacity(&self) -> usize {
        match self.overflow {
            Overflow::Block => self.capacity.min(SEGMENT),
            _ => (self.capacity / SMALL_PART).clamp(1, SEGMENT),
        }
    }

    /// With more bytes pending, the helper looks at once.
    pub(crate) fn filling(&self) -> usize {
        (self.capacity / 4).min(FILLING)
    }

    pub(crate) fn drops(&self) -> bool {
        self.mode == Mode::Background
            && matches!(self.overflow, Overflow::DropOldest | Overflow::DropNewest)
    }

    /// Whether callers are not to wait for the one that drains, whatever happens.
    pub(crate) fn never_waits(&self) -> bool {
        self.mode == Mode::Background && !matches!(self.overflow, Overflow::Block)
    }

    /// Whether the next that a drain comes to is a gap, or the text that marks it.
    #[inline(never)]
    pub(crate) fn has_gap(&self) -> bool {
        self.marking
            || match self.closed.front() {
                Some(front) => front.gap.is_some() || front.marker,
                None => self.spill.next_is_gap(),
            }
    }

    /// Lets a gap at the front go unmarked.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn forget_gap(&mut self) {
        if self.closed.front().is_some_and(|front| front.gap.is_some()) {
            self.closed.pop_front();
        }
    }
}

impl Engine {
    /// Bytes that are pending in memory.
    pub(crate) fn pending(&self, state: &State) -> usize {
        (self.accepted(state) - state.drained - state.in_file()) as usize
    }

    /// Whether so much is pending that the helper is not to wait for its interval to end.
    pub(crate) fn is_filling(&self, state: &State) -> bool {
        state.mode == Mode::Background && self.pending(state) > state.filling()
    }

    /// Makes room for a message in the background, or drops it, or drops others for it; returns whether
    /// there is room. Called by the guard's holder.
    pub(crate) extern "C" fn admit<'a>(
        &'a self,
        mut state: Locked<'a>,
        bytes: usize,
    ) -> (Locked<'a>, bool) {
        loop {
            let pending = self.pending(&state);
            let over = pending + bytes > state.capacity;
            // A message larger than the queue passes alone, if nothing may be lost.
            if !over || (pending == 0 && !state.drops()) {
                return (state, true);
            }
            if let Some(relief) = state.relief {
                let (relieved, admitted) = relief.relieve(self, state, bytes);
                state = relieved;
                if let Some(admitted) = admitted {
                    return (state, admitted);
                }
            }
            state = self.wait_for_progress(state);
        }
    }

    /// Gives the gap at the front of the queue, if there is one, its text.
    pub(crate) extern "C" fn mark_gap<'a>(&'a self, state: Locked<'a>) -> Locked<'a> {
        match state.relief {
            Some(relief) => relief.mark_gap(self, state),
            None => state,
        }
    }

    /// Brings what follows the closed segments back into memory: from the file, or from what waits for it.
    pub(crate) extern "C" fn back_from_file<'a>(&'a self, state: Locked<'a>) -> Locked<'a> {
        match state.relief {
            Some(relief) => relief.read_back(self, state),
            None => state,
        }
    }

    /// Sees to it that what waits is put into the file.
    pub(crate) extern "C" fn spill(&self, state: &mut State) {
        if let Some(relief) = state.relief {
            relief.spill(self, state);
        }
    }

    /// Waits, in the background mode, until the helper has made progress.
    pub(crate) extern "C" fn wait_for_progress<'a>(&'a self, mut state: Locked<'a>) -> Locked<'a> {
        if !self.wake_helper(&mut state) {
            let all = self.accepted(&state);
            return self.drain(state, all, Patience::Forever);
        }
        let begun = Moment::now();
        let mut state = self.wait(state, None);
        state.counts.longest_wait = state.counts.longest_wait.max(begun.elapsed());
        state
    }
}
