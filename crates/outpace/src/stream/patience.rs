//! How long a drain may take.

use crate::sys::Moment;
use std::time::Duration;

/// How long a drain waits, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// Until everything has been written.
    Forever,
    /// Does not wait for the reader: leaves bytes that cannot be written without waiting, as far as `poll(2)` knows
    /// (certainty would cost too much a message). Waits up to 5 ms for another thread's drain, to keep the order.
    None,
    /// The same, for a caller that writes to the same file next while this stream is in the background. Waits for a
    /// terminal that is stalled at this moment, so that lines stay whole.
    SameFile,
    /// Until the reader has taken no bytes for so long.
    Stalled(Duration),
}

impl Patience {
    /// When it ends, if the reader takes no bytes from now on; `least` is the time of a drain that does not wait for the
    /// reader.
    pub(super) extern "C" fn end(self, least: Duration) -> Moment {
        match self {
            Patience::Forever => Moment::NEVER,
            Patience::None | Patience::SameFile => Moment::now() + least,
            Patience::Stalled(limit) => Moment::now() + limit,
        }
    }

    /// Whether the drain does not wait for the reader.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Patience::None | Patience::SameFile)
    }

    /// Whether the caller has waited long enough for another thread's drain, which is at `drained`. `seen` is its
    /// position at the last look, and the deadline for progress.
    #[inline(never)]
    pub(super) fn is_over(self, seen: &mut Option<(u64, Moment)>, drained: u64) -> bool {
        let end = match *seen {
            Some((before, end)) if drained == before || self.is_short() => end,
            _ => self.end(DRAIN_IN_PROGRESS),
        };
        *seen = Some((drained, end));
        end.has_come()
    }
}

/// The time for a drain that does not wait for the reader.
pub(super) const DRAIN_IN_PROGRESS: Duration = Duration::from_millis(5);
