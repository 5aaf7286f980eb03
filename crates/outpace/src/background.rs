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

use crate::buffering::Overflow;
use crate::drain::Patience;
use crate::engine::{Engine, Mode, State};
use crate::locked::Locked;
use crate::sys::Moment;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

/// The capacity of a segment.
pub(crate) const SEGMENT: usize = 64 << 10;

/// However large the queue is, its helper does not let more gather.
const FILLING: usize = 4 << 20;

/// A segment that may be dropped or spilled is such a part of the queue at most.
const SMALL_PART: usize = 16;

/// What is missing at one place of a stream: see [`GapMarker`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// Messages that were dropped here.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Gap {
    pub(crate) fn add(&mut self, other: Gap) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

/// The text that takes the place of dropped messages, on a line of its own.
///
/// ```
/// use outpace::{Buffering, GapMarker, Overflow};
///
/// let out = outpace::stdout();
/// out.set_buffering(Buffering::Background { capacity: 1 << 20, overflow: Overflow::DropOldest });
/// out.gap_marker(GapMarker::with(|gap| format!(r#"{{"dropped":{}}}"#, gap.messages)));
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum GapMarker {
    /// `[outpace: 1,234 messages (56.7 kB) dropped here]`
    #[default]
    Standard,
    /// This text, whatever is missing.
    Text(String),
    /// What the function returns. It runs on the thread that drains, often a helper with a stack of 1 MiB; if it
    /// panics, the standard text is taken. It must not write to the stream itself, whose drain waits for it.
    With(Arc<dyn Fn(Gap) -> String + Send + Sync>),
    /// Nothing: drops are only counted.
    Off,
}

impl GapMarker {
    /// A marker made by a function, for logs in a format of their own.
    pub fn with(text: impl Fn(Gap) -> String + Send + Sync + 'static) -> Self {
        GapMarker::With(Arc::new(text))
    }

    /// The line for a gap, with its newline; empty for `Off`.
    pub(crate) fn line(&self, gap: Gap) -> String {
        let mut line = match self {
            GapMarker::Off => return String::new(),
            GapMarker::Text(text) => text.clone(),
            GapMarker::With(text) => {
                // The thread that drains goes on, whatever happens to it in there.
                match panic::catch_unwind(AssertUnwindSafe(|| text(gap))) {
                    Ok(line) => line,
                    Err(_) => return GapMarker::Standard.line(gap),
                }
            }
            GapMarker::Standard => {
                let plural = if gap.messages == 1 { "" } else { "s" };
                let messages = Thousands(gap.messages);
                format!(
                    "[outpace: {messages} message{plural} ({}) dropped here]",
                    Size(gap.bytes)
                )
            }
        };
        line.push('\n');
        line
    }
}

impl fmt::Debug for GapMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapMarker::Standard => f.write_str("Standard"),
            GapMarker::Text(text) => f.debug_tuple("Text").field(text).finish(),
            GapMarker::With(_) => f.write_str("With(..)"),
            GapMarker::Off => f.write_str("Off"),
        }
    }
}

/// A number with commas between groups of three digits.
struct Thousands(u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (i, digit) in digits.char_indices() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number of bytes to a tenth of a decimal unit.
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
        let Size(bytes) = *self;
        if bytes < 1000 {
            return write!(f, "{bytes} B");
        }
        // In tenths of the unit, rounded.
        let tenths_of = |scale: u64| bytes / scale + u64::from(bytes % scale >= scale / 2);
        let (mut unit, mut scale) = (0, 100);
        while tenths_of(scale) >= 10_000 {
            unit += 1;
            scale *= 1000;
        }
        let tenths = tenths_of(scale);
        write!(f, "{}.{} {}", tenths / 10, tenths % 10, units[unit])
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_marker_reads_well() {
        let line = |messages, bytes| GapMarker::Standard.line(Gap { messages, bytes });
        assert_eq!(
            line(1234, 56_700),
            "[outpace: 1,234 messages (56.7 kB) dropped here]\n"
        );
        assert_eq!(line(1, 18), "[outpace: 1 message (18 B) dropped here]\n");
        assert_eq!(
            line(12_345_678, 999_999),
            "[outpace: 12,345,678 messages (1.0 MB) dropped here]\n"
        );
        assert_eq!(GapMarker::Off.line(Gap::default()), "");
        assert_eq!(GapMarker::Text("…".into()).line(Gap::default()), "…\n");
    }

    #[test]
    fn sizes_have_decimal_units() {
        let size = |bytes| Size(bytes).to_string();
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1000), "1.0 kB");
        assert_eq!(size(999_949), "999.9 kB");
        assert_eq!(size(999_950), "1.0 MB");
        assert_eq!(size(2_500_000_000), "2.5 GB");
        assert_eq!(size(u64::MAX), "18.4 EB");
    }
}
