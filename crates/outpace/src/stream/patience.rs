//! How long a drain may take.

use crate::sys::Moment;
use std::time::Duration;

/// How long a drain waits, and for what.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// Until everything has been written.
    Forever,
    /// Not for the reader: what cannot be written without waiting stays (as far as `poll(2)` knows; to be sure
    /// takes too long to be done for each message). A drain that another thread has
    /// begun is given the time that one takes which does not wait for the reader either: what was to be
    /// first would else come second only because both set out at the same moment.
    None,
    /// The same, for a caller that writes to the same file next while this stream is in the background: if that file is a
    /// terminal that stands still at this very moment, it is waited for anyway, so that lines stay whole.
    SameFile,
    /// Until nothing has moved for so long.
    Stalled(Duration),
}

impl Patience {
    /// When it is over, if nothing moves from now on; `least` is how long it lasts in any case.
    pub(super) extern "C" fn end(self, least: Duration) -> Moment {
        match self {
            Patience::Forever => Moment::NEVER,
            Patience::None | Patience::SameFile => Moment::now() + least,
            Patience::Stalled(limit) => Moment::now() + limit,
        }
    }

    /// Whether it is not for the reader.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Patience::None | Patience::SameFile)
    }

    /// Whether another thread's drain, which has come to `drained`, has been waited for long enough. `seen` is how
    /// far it had come before, and until when it had to come further.
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

/// How long a drain takes that does not wait for the reader.
pub(super) const DRAIN_IN_PROGRESS: Duration = Duration::from_millis(5);
