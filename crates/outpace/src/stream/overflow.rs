//! What a full queue does other than wait: it drops messages, and marks the gaps, or spills them.
//!
//! Such a queue has to be asked for in code. So all of this is reached through a pointer that
//! [`set_buffering`](crate::Stdout::set_buffering) and its like set, and a program that calls none of them,
//! whatever its environment says, is smaller by this and by [`spill`](crate::stream::spill).

use super::buffering::{Buffering, Overflow};
use super::engine::{Engine, Segment, State};
use super::gap::{Gap, Size};
use super::state_guard::Locked;

/// See the [module](self).
pub(crate) trait Relief: Sync {
    /// The buffering that has come into force is a queue.
    fn adopt(&self, engine: &Engine, state: &mut State);

    /// A message finds the queue full: whether there is room for it now, or there will be none. Nothing, if it
    /// has to wait.
    fn relieve<'a>(
        &self,
        engine: &'a Engine,
        state: Locked<'a>,
        bytes: usize,
    ) -> (Locked<'a>, Option<bool>);

    /// Counts a message as missing behind the closed segments.
    fn refuse(&self, state: &mut State, bytes: usize);

    /// Gives the gap at the front of the queue, if there is one, its text.
    fn mark_gap<'a>(&self, engine: &'a Engine, state: Locked<'a>) -> Locked<'a>;

    /// Says that so many bytes did not reach the reader by the end of the process.
    fn report_lost(&self, engine: &Engine, state: &mut State, bytes: u64);

    /// Sees to it that what waits is put into the file, soon, or now if the queue is nearly full.
    fn spill(&self, engine: &Engine, state: &mut State);

    /// Brings what follows the closed segments back into memory. The caller is the one that drains.
    fn read_back<'a>(&self, engine: &'a Engine, state: Locked<'a>) -> Locked<'a>;

    /// Gives up what has been spilled.
    fn clear(&self, state: &mut State);

    /// In the child of a fork: it is the parent's to write.
    #[cfg(all(unix, not(outpace_portable)))]
    fn forget_after_fork(&self, state: &mut State);
}

/// Every relief there is, as the [`Overflow`] in force demands.
pub(crate) static RELIEF: &dyn Relief = &AsOverflowSays;

struct AsOverflowSays;

impl Relief for AsOverflowSays {
    fn adopt(&self, engine: &Engine, state: &mut State) {
        if let Buffering::Background { overflow, .. } = engine.buffering_in_force(state) {
            state.overflow = overflow.clone();
        }
    }

    fn relieve<'a>(
        &self,
        engine: &'a Engine,
        mut state: Locked<'a>,
        bytes: usize,
    ) -> (Locked<'a>, Option<bool>) {
        match state.overflow {
            Overflow::Block => (state, None),
            Overflow::DropNewest => {
                engine.close_tail(&mut state);
                self.refuse(&mut state, bytes);
                (state, Some(false))
            }
            Overflow::DropOldest => {
                let fits = bytes <= state.capacity && engine.drop_oldest(&mut state, bytes);
                if !fits {
                    engine.close_tail(&mut state);
                    self.refuse(&mut state, bytes);
                }
                (state, Some(fits))
            }
            Overflow::Spill { .. } => {
                engine.close_tail(&mut state);
                engine.spill_incoming(&mut state);
                (state, None)
            }
        }
    }

    fn refuse(&self, state: &mut State, bytes: usize) {
        let gap = Gap {
            messages: 1,
            bytes: bytes as u64,
        };
        state.counts.dropped.add(gap);
        state.counts.refused += 1;
        let last = state.last_queue();
        match last.back_mut().and_then(|last| last.gap.as_mut()) {
            Some(last) => last.add(gap),
            None => last.push_back(Segment::gap(gap)),
        }
    }

    /// The text is nobody's message and not part of the stream's length. Made without the state, because the
    /// user's function may take its time.
    fn mark_gap<'a>(&self, engine: &'a Engine, mut state: Locked<'a>) -> Locked<'a> {
        while let Some(gap) = state.closed.front().and_then(|front| front.gap) {
            state.closed.pop_front();
            state.marking = true;
            let marker = state.gap_marker.clone();
            let line_begun = !state.at_line_start;
            drop(state);
            let mut line = marker.line(gap);
            // It may have been replaced meanwhile, and this be the last of it.
            drop(marker);
            if line_begun && !line.is_empty() {
                line.insert(0, '\n');
            }
            let text = (!line.is_empty()).then(|| Segment {
                marker: true,
                whole: false,
                ..Segment::of(line.as_bytes())
            });
            state = engine.lock_state();
            state.marking = false;
            if let Some(text) = text {
                state.closed.push_front(text);
            }
            state.pop_drained();
        }
        state
    }

    fn report_lost(&self, engine: &Engine, state: &mut State, bytes: u64) {
        let (name, lost) = (engine.role.name(), Size(bytes));
        state.put_off.report(format!(
            "{name}: {lost} were not written: the reader stands still"
        ));
    }

    fn spill(&self, engine: &Engine, state: &mut State) {
        engine.spill_incoming(state);
    }

    fn read_back<'a>(&self, engine: &'a Engine, state: Locked<'a>) -> Locked<'a> {
        engine.read_back(state)
    }

    fn clear(&self, state: &mut State) {
        state.clear_spill();
    }

    #[cfg(all(unix, not(outpace_portable)))]
    fn forget_after_fork(&self, state: &mut State) {
        state.spill.forget_after_fork();
    }
}

impl State {
    /// Drops the segment at `index`, which is closed, owned and whole.
    fn drop_segment(&mut self, index: usize) {
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
}

impl Engine {
    /// Drops the oldest messages until `bytes` bytes fit; returns whether they do.
    fn drop_oldest(&self, state: &mut State, bytes: usize) -> bool {
        while self.pending(state) + bytes > state.capacity {
            let in_flight = state.drainer != 0;
            let droppable = |(index, segment): (usize, &Segment)| {
                segment.gap.is_none()
                    && segment.whole
                    && segment.drained == 0
                    && segment.end > 0
                    && !(in_flight && index < state.joined.max(1))
            };
            match state.closed.iter().enumerate().position(droppable) {
                Some(index) => state.drop_segment(index),
                None if self.offset(state) > state.tail.drained => {
                    self.close_tail(state);
                }
                None => return false,
            }
        }
        true
    }
}
