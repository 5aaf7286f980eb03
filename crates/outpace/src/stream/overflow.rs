//! A full queue: the caller waits, or messages are dropped and the gaps marked, or segments are spilled.
//!
//! The queue of [`Buffering::Background`] is the stream's closed segments and its tail, as everywhere; here there may
//! be many of them, and the helper thread does all the draining. The budget is in bytes, and exact: the bytes pending
//! in memory never exceed the capacity (except for a message larger than that under `Block` and `Spill`, which passes
//! alone).
//!
//! Drops are of whole messages, and leave a *gap*: an empty segment that counts the missing messages, and becomes a
//! line of text when the drain reaches it. The oldest messages are dropped a segment at a time, so segments are small
//! under that policy; the one in flight stays, and so does one that is partly written.
//!
//! Only code can choose anything but waiting, not the environment. So [`set_buffering`](crate::Stdout::set_buffering)
//! and the like [link](Linked) this file, and a program that calls none of them is smaller by it and by
//! [`spill`](super::spill).

use super::buffering::{Buffering, Overflow};
use super::engine::Engine;
use super::gap::Size;
use super::patience::Patience;
use super::segment::Segment;
use super::state::State;
use super::state_guard::StateGuard;
use crate::sync::linked::Linked;
use crate::sys::Moment;

/// The functions of every [`Overflow`] but `Block`.
struct OverflowHooks {
    adopt: fn(&Engine, &mut State),
    on_full: for<'a> fn(&'a Engine, StateGuard<'a>, usize) -> (StateGuard<'a>, Option<bool>),
    mark_gaps: for<'a> fn(&'a Engine, StateGuard<'a>) -> StateGuard<'a>,
    report_lost: fn(&Engine, &mut State, u64),
    spill: fn(&Engine, &mut State),
    read_back: for<'a> fn(&'a Engine, StateGuard<'a>) -> StateGuard<'a>,
    #[cfg(all(unix, not(outpace_portable)))]
    forget_after_fork: fn(&mut State),
}

static LINKED: Linked<OverflowHooks> = Linked::new();

pub(super) fn link() {
    LINKED.link(OverflowHooks {
        adopt: |engine, state| {
            if let Buffering::Background { overflow, .. } = engine.buffering_in_force(state) {
                state.overflow = overflow.clone();
            }
        },
        on_full: Engine::on_full,
        mark_gaps: Engine::mark_gaps,
        report_lost: |engine, state, bytes| {
            let (name, lost) = (engine.role.name(), Size(bytes));
            state.deferred.reports.push(format!(
                "{name}: {lost} were not written: the reader is stalled"
            ));
        },
        spill: Engine::spill_incoming,
        read_back: Engine::read_back,
        #[cfg(all(unix, not(outpace_portable)))]
        forget_after_fork: |state| state.spill.forget_after_fork(),
    });
}

impl Engine {
    /// Makes room for a message in the background, or drops it, or drops others for it; returns whether the queue has
    /// room. Called by the guard's holder.
    pub(crate) extern "C" fn admit<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        bytes: usize,
    ) -> (StateGuard<'a>, bool) {
        loop {
            let pending = self.pending(&state);
            let over = pending + bytes > state.capacity;
            // If no message may be dropped, one larger than the queue passes alone.
            if !over || (pending == 0 && !state.drops()) {
                return (state, true);
            }
            if let Some(linked) = LINKED.get() {
                let admitted;
                (state, admitted) = (linked.on_full)(self, state, bytes);
                if let Some(admitted) = admitted {
                    return (state, admitted);
                }
            }
            state = self.wait_for_progress(state);
        }
    }

    /// Waits, in the background mode, until the helper has made progress.
    pub(crate) extern "C" fn wait_for_progress<'a>(
        &'a self,
        mut state: StateGuard<'a>,
    ) -> StateGuard<'a> {
        if !self.wake_helper(&mut state) {
            let all = self.accepted(&state);
            return self.drain(state, all, Patience::Forever);
        }
        let begun = Moment::now();
        let mut state = self.wait(state, None);
        state.counts.longest_wait = state.counts.longest_wait.max(begun.elapsed());
        state
    }

    /// Takes over the overflow of the buffering in force, which is `Background`.
    pub(super) fn adopt_overflow(&self, state: &mut State) {
        if let Some(linked) = LINKED.get() {
            (linked.adopt)(self, state);
        }
    }

    /// In the child of a fork: the parent writes the spilled bytes.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) fn forget_spill_after_fork(&self, state: &mut State) {
        if let Some(linked) = LINKED.get() {
            (linked.forget_after_fork)(state);
        }
    }

    /// As [`mark_gaps`](Self::mark_gaps), if that is linked.
    pub(super) extern "C" fn mark_gap<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        match LINKED.get() {
            Some(linked) => (linked.mark_gaps)(self, state),
            None => state,
        }
    }

    /// Reports that the process ends before the reader has taken `bytes` bytes.
    pub(super) fn report_lost(&self, state: &mut State, bytes: u64) {
        if let Some(linked) = LINKED.get() {
            (linked.report_lost)(self, state, bytes);
        }
    }

    /// As [`spill_incoming`](Self::spill_incoming), if that is linked.
    pub(super) extern "C" fn spill(&self, state: &mut State) {
        if let Some(linked) = LINKED.get() {
            (linked.spill)(self, state);
        }
    }

    /// As [`read_back`](Self::read_back), if that is linked.
    pub(super) extern "C" fn back_from_file<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        match LINKED.get() {
            Some(linked) => (linked.read_back)(self, state),
            None => state,
        }
    }

    /// A message finds the queue full. `Some(true)`: there is room for it now; `Some(false)`: it is dropped; `None`: it waits.
    fn on_full<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        bytes: usize,
    ) -> (StateGuard<'a>, Option<bool>) {
        let fits = match state.overflow {
            Overflow::Block => return (state, None),
            Overflow::Spill { .. } => {
                // Closing it also spills it.
                self.close_tail(&mut state);
                return (state, None);
            }
            Overflow::DropNewest => false,
            Overflow::DropOldest => bytes <= state.capacity && self.drop_oldest(&mut state, bytes),
        };
        if !fits {
            self.close_tail(&mut state);
            state.refuse(bytes);
        }
        (state, Some(fits))
    }

    /// Replaces gaps at the front of the queue by their markers. A marker is not a message and not part of the stream's
    /// length. Made with the state unlocked, because the user's function may be slow.
    fn mark_gaps<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        while let Some(gap) = state.closed.front().and_then(|front| front.gap) {
            state.closed.pop_front();
            state.marking = true;
            let marker = state.gap_marker.clone();
            let line_begun = !state.at_line_start;
            drop(state);
            let mut line = marker.line(gap);
            // This may be the last reference to the user's function.
            drop(marker);
            if line_begun && !line.is_empty() {
                line.insert(0, '\n');
            }
            let text = (!line.is_empty()).then(|| Segment {
                marker: true,
                whole: false,
                ..Segment::of(line.as_bytes())
            });
            state = self.lock_state();
            state.marking = false;
            if let Some(text) = text {
                state.closed.push_front(text);
            }
            state.pop_drained();
        }
        state
    }

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
