// The kernel's answer about a descriptor holds until a call is made that may change the descriptor.
//
// Such a call is counted before it is made, and when it has returned. An answer is noted for the count from before the
// question, if no call was under way, and holds while the count stays. An answer that was asked for during a call, or before
// it, and noted later, is therefore noted for a count that has passed.
//
// The shim and the model checker compile this same file; each brings the atomics under the name of `sync`.

use super::sync::{AtomicU64, Ordering};

/// The lower bits count calls under way, the upper ones all calls begun. The first bit is left for [`SURE`].
const UNDER_WAY: u64 = 2;
const BEGUN: u64 = 1 << 24;

/// In [`Known`]: the kernel need not be asked again.
const SURE: u64 = 1;

/// The calls that may change one descriptor, or any.
pub struct CallCounter(pub AtomicU64);

impl CallCounter {
    /// A call begins.
    pub fn begin(&self) {
        self.0.fetch_add(BEGUN + UNDER_WAY, Ordering::SeqCst);
    }

    /// It has returned.
    pub fn end(&self) {
        self.0.fetch_sub(UNDER_WAY, Ordering::SeqCst);
    }

    /// Invalidates all answers.
    pub fn forget(&self) {
        self.0.fetch_add(BEGUN, Ordering::SeqCst);
    }

    /// The sum of two counters. It differs after each call of either, since the end of a call subtracts less than its beginning
    /// has added.
    pub fn count(&self, all: &Self) -> u64 {
        let own = self.0.load(Ordering::Acquire);
        own.wrapping_add(all.0.load(Ordering::Acquire))
    }
}

/// An answer of the kernel about a descriptor: that it leads to the terminal and can be written to, or that it leads elsewhere.
pub struct Known {
    /// The [count](CallCounter::count) for which the answer was noted; at first [`NEVER`](Self::NEVER).
    pub since: AtomicU64,
    /// `taken` of the ring when the kernel was asked last.
    pub taken: AtomicU64,
}

impl Known {
    pub const NEVER: u64 = u64::MAX;

    /// Whether the answer holds, and `run` has taken no bytes since.
    pub fn is_sure(&self, count: u64, taken: u64) -> bool {
        self.since.load(Ordering::Relaxed) == count | SURE
            && self.taken.load(Ordering::Relaxed) == taken
    }

    /// Whether the answer holds as far as calls were seen.
    pub fn holds(&self, count: u64) -> bool {
        self.since.load(Ordering::Relaxed) & !SURE == count
    }

    /// Notes the kernel's answer to a question asked after `count` was read.
    pub fn note(&self, count: u64, is_sure: bool, taken: u64) {
        const CALLS_UNDER_WAY: u64 = BEGUN - UNDER_WAY;
        if count & CALLS_UNDER_WAY != 0 {
            return;
        }
        if is_sure {
            self.taken.store(taken, Ordering::Relaxed);
        }
        let since = count | if is_sure { SURE } else { 0 };
        // A needless store would take the cache line from other writers.
        if self.since.load(Ordering::Relaxed) != since {
            self.since.store(since, Ordering::Relaxed);
        }
    }
}
