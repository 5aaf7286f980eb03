//! How long a drain may take.

use crate::sys::Moment;
use std::time::Duration;

/// How long a drain waits, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// Until everything has been written.
    Forever,
    /// Not for the reader: bytes that cannot be written without waiting stay, as far as `poll(2)` knows (to be sure would
    /// take too long for each message). Waits up to 5 ms for another thread's drain, to keep the order.
    None,
    /// The same, for a caller that writes to the same file next while this stream is in the background. A terminal that
    /// stands still at this moment is waited for, so that lines stay whole.
    SameFile,
    /// Until nothing has moved for so long.
    Stalled(Duration),
}

impl Patience {
    /// When it ends, if nothing moves from now on; `least` is how long it lasts in any case.
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

    /// Whether the caller has waited long enough for another thread's drain, which is at `drained`. `seen` is where that was
    /// at the last look, and the time by which it had to move.
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
