//! Parts of a stream's [state](super::state) beside the bytes: its threads, its spill file, its counters, and deferred
//! work.

use super::buffer::Buffer;
use super::gap::Gap;
use super::segment::Segment;
use crate::sync::thread::ThreadId;
use crate::sys::Moment;
use std::collections::VecDeque;
use std::fs::File;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// One of a stream's threads.
pub(super) struct Worker {
    pub(super) alive: bool,
    pub(super) sleep: Sleep,
    /// The stream is closed: the thread ends, and no other is started.
    pub(super) stop: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleep {
    Awake,
    /// It looks again by itself.
    Nap,
    UntilWoken,
}

impl Worker {
    pub(super) const NONE: Worker = Worker {
        alive: false,
        sleep: Sleep::Awake,
        stop: false,
    };

    /// Ends its sleep, a nap only if `now`; returns whether the caller has to wake the thread. Only the first of
    /// several calls returns true, because waking is a system call.
    pub(super) fn rouse(&mut self, now: bool) -> bool {
        let sleeps = match self.sleep {
            Sleep::Awake => false,
            Sleep::Nap => now,
            Sleep::UntilWoken => true,
        };
        if sleeps {
            self.sleep = Sleep::Awake;
        }
        sleeps
    }

    /// The child of a fork has no such thread yet.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) fn after_fork(&self) -> Worker {
        Worker {
            stop: self.stop,
            ..Worker::NONE
        }
    }
}

/// A stream's helper.
pub(crate) struct Helper {
    pub(super) worker: Worker,
    /// It looks at the stream in intervals; otherwise it sleeps until woken.
    pub(super) active: bool,
    /// The thread that began the burst, and its system thread ID.
    pub(super) begun_by: (ThreadId, u32),
    /// It looks again at once.
    pub(super) hurried: bool,
    /// When it looks next; `None`: at once.
    pub(super) deadline: Option<Moment>,
    /// The stream offset up to which it drains even if the policy no longer asks for it.
    pub(super) promised: u64,
    pub(super) spare: Vec<Buffer>,
}

impl Helper {
    pub(super) const NONE: Helper = Helper {
        worker: Worker::NONE,
        active: false,
        begun_by: (0, 0),
        hurried: false,
        deadline: None,
        promised: 0,
        spare: Vec::new(),
    };

    /// The child of a fork has no helper yet.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(super) fn reset_after_fork(&mut self) {
        // The spare memory is kept.
        *self = Helper {
            worker: self.worker.after_fork(),
            spare: mem::take(&mut self.spare),
            ..Helper::NONE
        };
    }
}

/// The state of a stream's spilling.
pub(crate) struct Spill {
    pub(super) file: Option<Arc<File>>,
    /// The directory of the file, which is made once it is needed.
    pub(super) directory: Option<PathBuf>,
    /// The span of the file that has been written and not yet read back.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Segments that wait to be put into the file.
    pub(super) incoming: VecDeque<Segment>,
    pub(super) worker: Worker,
    /// How many of `incoming`, from the first on, the thread is writing to the file.
    pub(super) writing: usize,
    /// The segments being written have been given up.
    pub(super) abandoned: bool,
    /// The file cannot take more until it is empty.
    pub(super) full: bool,
    /// Whether that has been reported.
    pub(super) reported: bool,
}

impl Spill {
    pub(crate) const NONE: Spill = Spill {
        file: None,
        directory: None,
        from: 0,
        to: 0,
        incoming: VecDeque::new(),
        worker: Worker::NONE,
        writing: 0,
        abandoned: false,
        full: false,
        reported: false,
    };

    /// Whether new segments go behind the file.
    pub(crate) fn is_active(&self) -> bool {
        self.to > self.from || !self.incoming.is_empty()
    }

    /// Whether a gap is next, with the file empty.
    pub(crate) fn next_is_gap(&self) -> bool {
        let next = self.incoming.front();
        self.from == self.to && next.is_some_and(|next| next.gap.is_some())
    }

    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn forget_after_fork(&mut self) {
        // The parent writes the bytes in the file.
        *self = Spill {
            worker: self.worker.after_fork(),
            ..Spill::NONE
        };
    }
}

/// A stream that is [shared](crate::share()).
pub(super) struct Sharing {
    /// Whether dropping a guard drains all pending bytes.
    pub(super) active: bool,
    /// The number of messages when the last guard was dropped.
    pub(super) messages: u64,
}

impl Sharing {
    pub(super) const OFF: Sharing = Sharing {
        active: false,
        messages: 0,
    };

    /// Whether message number `messages` is the first of its guard. A message without a guard always is, and does not
    /// need the helper.
    pub(super) fn is_first(&self, messages: u64) -> bool {
        self.active && messages == self.messages + 1
    }
}

/// A stream's counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    /// Messages before those that `cursor` counts.
    pub(super) messages: u64,
    pub(super) writes: u64,
    pub(super) longest_wait: Duration,
    pub(super) dropped: Gap,
    /// Dropped messages that were never in the queue.
    pub(super) refused: u64,
    /// Bytes that went through the file.
    pub(super) spilled: u64,
}

impl Counts {
    pub(super) const NONE: Counts = Counts {
        messages: 0,
        writes: 0,
        longest_wait: Duration::ZERO,
        dropped: Gap {
            messages: 0,
            bytes: 0,
        },
        refused: 0,
        spilled: 0,
    };
}

/// Work to do once the state is unlocked.
pub(crate) struct Deferred {
    /// A thread waits for progress, and there is some.
    pub(super) progress: bool,
    /// The helper is to look at the stream.
    pub(super) helper: bool,
    /// The thread that spills is to look at the stream.
    pub(super) spiller: bool,
    /// Tasks wait for progress, and there is some. Their wakers are users' code.
    #[cfg(feature = "tokio")]
    pub(super) tasks: bool,
    pub(super) garbage: Vec<Buffer>,
    /// Reports to the user; writing them may wait for standard error.
    pub(super) reports: Vec<String>,
}

impl Deferred {
    pub(crate) const EMPTY: Deferred = Deferred {
        progress: false,
        helper: false,
        spiller: false,
        #[cfg(feature = "tokio")]
        tasks: false,
        garbage: Vec::new(),
        reports: Vec::new(),
    };

    pub(crate) fn free(&mut self, buffer: Buffer) {
        if buffer.capacity() > 0 {
            self.garbage.push(buffer);
        }
    }

    /// Takes the wake-ups only.
    pub(super) fn take_wakes(&mut self) -> Deferred {
        Deferred {
            progress: mem::take(&mut self.progress),
            helper: mem::take(&mut self.helper),
            spiller: mem::take(&mut self.spiller),
            ..Deferred::EMPTY
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        let wakes = self.progress || self.helper || self.spiller || self.wakes_tasks();
        !wakes && self.garbage.is_empty() && self.reports.is_empty()
    }

    #[inline(always)]
    pub(super) fn wakes_tasks(&self) -> bool {
        #[cfg(feature = "tokio")]
        return self.tasks;
        #[cfg(not(feature = "tokio"))]
        false
    }
}
