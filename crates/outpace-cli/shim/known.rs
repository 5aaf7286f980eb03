// How long an answer of the kernel's about a descriptor holds: until a call is made that may change it.
//
// Such a call is counted before it is made, and when it has returned. An answer is noted for the count that was there before the
// question, if no call was under way; it holds as long as the count is that one. So what a thread learns while a call is
// made, or has asked before and notes later, is noted for a count that has passed.
//
// The shim and the model checker compile this same file; each brings the atomics under the name of `sync`.

use super::sync::{AtomicU64, Ordering};

/// Calls under way are counted in the lower bits; the upper ones count those that were begun. The first bit is left for [`SURE`].
const UNDER_WAY: u64 = 2;
const BEGUN: u64 = 1 << 24;

/// In [`Known`]: it need not be asked again.
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

    /// Nothing that is known holds any more.
    pub fn forget(&self) {
        self.0.fetch_add(BEGUN, Ordering::SeqCst);
    }

    /// The count of two together, which is another one after each call of either: both only grow by a call, as its end takes less
    /// away than its beginning has added.
    pub fn count(&self, all: &Self) -> u64 {
        let own = self.0.load(Ordering::Acquire);
        own.wrapping_add(all.0.load(Ordering::Acquire))
    }
}

/// A descriptor that leads to the terminal, and can be written to.
pub struct Known {
    /// The [count](Calls::count) for which it is known; at first none.
    pub since: AtomicU64,
    /// What `run` had taken when it was asked last.
    pub taken: AtomicU64,
}

impl Known {
    pub const NEVER: u64 = u64::MAX;

    /// Whether it holds, and is to be asked again only when `run` has taken more.
    pub fn is_sure(&self, count: u64, taken: u64) -> bool {
        self.since.load(Ordering::Relaxed) == count | SURE
            && self.taken.load(Ordering::Relaxed) == taken
    }

    /// Whether it holds, if not all calls were missed.
    pub fn holds(&self, count: u64) -> bool {
        self.since.load(Ordering::Relaxed) & !SURE == count
    }

    /// The kernel has been asked since this count was read.
    pub fn note(&self, count: u64, is_sure: bool, taken: u64) {
        const CALLS_UNDER_WAY: u64 = BEGUN - UNDER_WAY;
        if count & CALLS_UNDER_WAY != 0 {
            return;
        }
        if is_sure {
            self.taken.store(taken, Ordering::Relaxed);
        }
        let since = count | if is_sure { SURE } else { 0 };
        // Other threads that write keep their cache line.
        if self.since.load(Ordering::Relaxed) != since {
            self.since.store(since, Ordering::Relaxed);
        }
    }
}
