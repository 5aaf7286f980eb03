//! A stream's counters.

use super::engine::Engine;
use super::parts::Counts;
use std::time::Duration;

/// Counters of a stream since it began.
///
/// Each accepted byte is written, queued, dropped, or (after an error) given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Messages that callers have written.
    pub messages_accepted: u64,
    /// Bytes that callers have written.
    pub bytes_accepted: u64,
    /// Bytes that the kernel has accepted (or that were given up after an error), gap markers not
    /// counted.
    pub bytes_written: u64,
    /// Bytes that wait to be handed to the kernel, in memory and in the spill file.
    pub bytes_queued: u64,
    /// Messages that [`Overflow::DropNewest`](crate::Overflow) and `DropOldest` have dropped.
    pub messages_dropped: u64,
    /// Bytes of these messages.
    pub bytes_dropped: u64,
    /// Bytes that went through the spill file.
    pub bytes_spilled: u64,
    /// System calls that wrote.
    pub write_calls: u64,
    /// The longest that a caller waited for room in a background queue.
    pub longest_wait: Duration,
}

impl Engine {
    /// The stream's counters.
    pub(crate) fn stats(&self) -> Stats {
        let state = self.lock_state();
        let Counts {
            dropped,
            spilled,
            writes,
            longest_wait,
            ..
        } = state.counts;
        let (written, queued) = (state.drained, self.accepted(&state) - state.drained);
        Stats {
            messages_accepted: self.messages(&state) + state.counts.refused,
            bytes_accepted: written + queued + dropped.bytes,
            bytes_written: written,
            bytes_queued: queued,
            messages_dropped: dropped.messages,
            bytes_dropped: dropped.bytes,
            bytes_spilled: spilled,
            write_calls: writes,
            longest_wait,
        }
    }
}
