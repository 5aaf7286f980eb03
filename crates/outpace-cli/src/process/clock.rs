//! The monotonic clock as a number, comparable with the kernel's time stamps.

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the calling thread, in nanoseconds.
pub(crate) fn thread_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
