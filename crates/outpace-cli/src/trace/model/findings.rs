//! The findings of a trace, in one form for every mode: the run, the streams, their calls and their time.

use super::interval::Interval;
use super::language::Language;
use super::tally::{Buffering, CallTally, FEWEST};
use super::target::{Kind, Target};
use super::timeline::{Sample, Timeline};
use crate::platform::ending::Ending;
use crate::platform::procfs::{IoCounters, Processor};
use crate::platform::readers::{Observed, Readers, Slow};
use serde::Serialize;
use std::collections::HashMap;
use std::rc::Rc;

/// How the calls were observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// Kernel counters and looks at `/proc`.
    Sampled,
    /// Every call, by tracepoints.
    Tracepoints,
    /// Every call, by stopping the program at it.
    #[default]
    Ptrace,
}

/// Which descriptors a stream stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Descriptors {
    One(i32),
    /// Both of 1 and 2, which are the same file.
    Both,
    /// 1 or 2: this mode cannot tell.
    Either,
    /// Any: the program has other files open for writing, and this mode cannot tell.
    #[default]
    Any,
}

impl Descriptors {
    pub(crate) fn name(self) -> String {
        match self {
            Self::One(0) => "stdin".to_owned(),
            Self::One(1) => "stdout".to_owned(),
            Self::One(2) => "stderr".to_owned(),
            Self::One(other) => format!("descriptor {other}"),
            Self::Both => "stdout and stderr".to_owned(),
            Self::Either => "stdout or stderr".to_owned(),
            Self::Any => "stdout, stderr or a file".to_owned(),
        }
    }
}

/// One stream of one program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) program: Rc<str>,
    pub(crate) language: Language,
    pub(crate) processes: usize,
    pub(crate) descriptors: Descriptors,
    pub(crate) target: Target,
    /// Where those of the writes went in which it was asleep. Unknown for a file that several threads write: they wait for each other.
    pub(crate) slept_in: Target,
    pub(crate) readers: Readers,
    /// The time that the program took beyond what its readers computed meanwhile: no more can be saved.
    pub(crate) spare_ns: Option<Interval>,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// Every call in the exact modes, those that were seen otherwise.
    pub(crate) tally: CallTally,
    pub(crate) buffering: Buffering,
    /// The program's own processor time from the first of these writes on.
    pub(crate) own_ns: Interval,
    /// Time in write calls, on a processor.
    pub(crate) in_kernel_ns: Interval,
    /// Time in write calls, asleep: until the reader made room, say.
    pub(crate) waiting_ns: u64,
    /// What of it is the doing of its readers, where that is known.
    pub(crate) by_readers: Option<Slow>,
    /// How often it was seen so.
    pub(crate) waits: u64,
    /// Such time that is not counted, as the reader is a process that is traced, too.
    pub(crate) awaited_ns: u64,
    /// Of the waiting, while another thread of the program ran, or may have run.
    pub(crate) overlapped_ns: u64,
    /// Time asleep in calls after them, until a device had the bytes (fsync(2)).
    pub(crate) syncing_ns: u64,
    /// Time in reads that become fewer with the writes.
    pub(crate) reading_ns: f64,
    /// Time in which threads hand the writes over to another, and which readers that they wake take from them on the same processor.
    pub(crate) handed_ns: Interval,
    /// Most of its writes are to a file that is opened once more for each.
    pub(crate) is_reopened: bool,
    /// Another process ran beside it and long after it: what it saves may shorten nothing.
    pub(crate) is_outlived: bool,
    /// They go to stdout and to stderr, which lead to one place, or another process writes there, too.
    pub(crate) is_mixed: bool,
    /// They come after waits for input: questions to another process, or answers.
    pub(crate) is_answered: bool,
}

impl Stream {
    /// The most likely time in write calls, and in the calls that sync what was written.
    pub(crate) fn writing_ns(&self) -> u64 {
        self.in_kernel_ns.likely as u64 + self.asleep_ns()
    }

    /// Time asleep for what was written.
    pub(crate) fn asleep_ns(&self) -> u64 {
        self.waiting_ns + self.syncing_ns
    }

    /// Whether it mostly waits for a reader that is traced, too.
    pub(crate) fn is_awaited(&self) -> bool {
        self.awaited_ns > self.writing_ns()
    }

    /// What it does meanwhile.
    pub(crate) fn waiting(&self) -> String {
        let awaited = self.slept_in.kind.awaited();
        let awaited = awaited.map(|awaited| format!(" for the {awaited}"));
        format!("waiting{}", awaited.unwrap_or_default())
    }

    /// Whether fsync(2) and its like take more than half of the time in writes.
    pub(crate) fn is_synced(&self) -> bool {
        self.syncing_ns * 2 > self.writing_ns()
    }

    /// Whether most of the calls that were seen failed, or most of all wrote nothing: there are fewer bytes than calls, and these are the bytes
    /// of less than half as many calls of the size that was seen.
    pub(crate) fn hardly_writes(&self) -> bool {
        let (failed, written) = (self.tally.errors, self.tally.sizes.count());
        let size = self.tally.mean_size().unwrap_or(1).max(1);
        let are_few = self.calls >= FEWEST && self.bytes < self.calls.min(self.calls * size / 2);
        are_few || (failed > written && failed + written >= FEWEST)
    }

    pub(crate) fn mean_size(&self) -> u64 {
        self.bytes / self.calls.max(1)
    }

    /// Whether its writes went to no known place.
    pub(crate) fn is_unplaced(&self) -> bool {
        self.descriptors == Descriptors::Any && self.calls > 0
    }

    /// Whether a program that follows the advice for its language would write it in larger blocks: it is written in messages,
    /// or in small writes that are not known to be blocks.
    pub(crate) fn could_be_larger(&self) -> bool {
        match self.buffering {
            _ if self.is_answered => false,
            Buffering::Unknown | Buffering::TooFew => {
                let is_small = self.calls > 0 && self.mean_size() < LEAST_MEAN_OF_BLOCKS;
                is_small && self.descriptors != Descriptors::Any
            }
            Buffering::Large => self.mean_size() < LEAST_BUFFER,
            Buffering::Block { capacity } => capacity < LEAST_BUFFER,
            Buffering::Unbuffered | Buffering::Line | Buffering::Small => true,
            Buffering::Nothing => false,
        }
    }

    /// Whether it could be, or is written in blocks as small as that, of which larger ones may save something.
    pub(crate) fn may_be_larger(&self) -> bool {
        let is_small = !self.is_unplaced() && self.mean_size() <= LEAST_BUFFER;
        self.could_be_larger() || (is_small && !self.is_answered)
    }

    /// Whether it may be made of many messages: the runtime of Node.js joins those that a full pipe does not take.
    pub(crate) fn may_be_joined(&self) -> bool {
        let joins = self.language == Language::NODE
            && matches!(self.target.kind, Kind::Pipe | Kind::Socket)
            && !self.could_be_larger();
        let sampled = self.tally.sizes.sum() / self.tally.sizes.count().max(1);
        joins && self.bytes / sampled.max(SHORT_MESSAGE) > self.calls
    }

    /// Whether its reader is not known to be slow: it takes the bytes at once, or too few waits were seen to tell.
    pub(crate) fn reader_keeps_up(&self) -> bool {
        self.is_taken_at_once() || self.waits < FEWEST_WAITS
    }

    /// Whether the reader takes the bytes about as fast as a reader without other work does, if it is not known what it does meanwhile.
    pub(crate) fn is_taken_at_once(&self) -> bool {
        let per_call = self.writing_ns() as f64 / self.calls.max(1) as f64;
        let (call_ns, byte_ns) = match self.slept_in.kind {
            Kind::Terminal => (4_000.0, 30.0),
            Kind::Pipe | Kind::Socket => (3_000.0, 1.0),
            _ => return self.waiting_ns * 2 <= self.writing_ns() - self.syncing_ns,
        };
        let is_fast = per_call <= call_ns + byte_ns * self.mean_size() as f64;
        is_fast && self.by_readers.is_none()
    }
}

/// Shorter writes, on average, are messages rather than blocks.
const LEAST_MEAN_OF_BLOCKS: u64 = 1152;
/// Languages' own buffers hold at least as much, but for musl's. Smaller ones could be larger.
const LEAST_BUFFER: u64 = 4096;
/// A program of a few milliseconds is looked at a few times.
const FEWEST_WAITS: u64 = 4;
/// No message is counted as shorter than this.
const SHORT_MESSAGE: u64 = 16;

/// A run as one of the mechanisms recorded it, before it is judged.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) root: i32,
    pub(crate) mode: Mode,
    /// Looks at `/proc`, and records of tracepoints that found no room.
    pub(crate) looks: u64,
    pub(crate) lost: u64,
    pub(crate) ending: Option<Ending>,
    pub(crate) wall_ns: u64,
    /// The part of `wall_ns` that is the tracing's own.
    pub(crate) overhead_ns: u64,
    /// The processor time of the program in exact looks, which is in none of the other times.
    pub(crate) stops_ns: u64,
    /// What tracing adds to each call, at most; of a stop, more than most writes take.
    pub(crate) call_ns: f64,
    /// The part of it that the program was ready to run without a processor, which is no writing.
    pub(crate) delayed_ns: u64,
    /// Processor time of threads that ran beside those that were ready to run, and of the one that took most.
    pub(crate) beside_ns: u64,
    pub(crate) busiest_ns: u64,
    /// The same of the processes that hardly wrote: what the others save does not make these shorter.
    pub(crate) busiest_other_ns: u64,
    /// The part of it that the program's first thread was asleep, where that is known.
    pub(crate) asleep_ns: Option<u64>,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    /// Of the root and its children, when it was last seen.
    pub(crate) last: Processor,
    /// Of the whole tree, by the kernel's accounting; covers processes too short-lived to be seen.
    pub(crate) tree: Option<IoCounters>,
    /// Those of its write calls that no look at a process saw.
    pub(crate) missed: u64,
    /// A way in which it may have written that this mode does not see.
    pub(crate) unseen: Option<Unseen>,
    /// The processes that may read a place, since a write was first seen to wait for it.
    pub(crate) readers: HashMap<(u64, u64), Observed>,
    /// Limits of this mode that matter here.
    pub(crate) notes: Vec<String>,
    pub(crate) timeline: Timeline,
    pub(crate) samples: Vec<Sample>,
}

impl Recording {
    /// Its time without tracing and without waits for a processor.
    pub(crate) fn now_ns(&self) -> u64 {
        let now_ns = (self.wall_ns).saturating_sub(self.overhead_ns + self.delayed_ns);
        now_ns.max(self.busiest_ns.min(self.wall_ns)).max(1)
    }
}

/// What a mode does not see, or not as time in writes. Of several, the last here is told: it leaves the fewest verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unseen {
    /// Calls that wait for files, without a write, for a tenth of the time or longer.
    Files,
    /// Through an io_uring or by io_submit(2): a request in memory, for which no mode has a count.
    Request,
    /// In a process that this user may not trace.
    Refused,
    /// By calls of another kind of processor, in the exact modes.
    Foreign,
    /// After a wait for room outside of the write calls, in the exact modes.
    Polled,
    /// By send(2), splice(2) and their like, or to a descriptor that is closed: the kernel does not count these as writes.
    Sent,
    /// While another process held it.
    Held,
}

impl Unseen {
    /// What could not be seen.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Request => "what it wrote through io_uring or by io_submit could not be seen",
            Self::Sent => "sends, splices and writes to closed files are seen by --exact only",
            Self::Refused => "some of its processes do not let this user trace them",
            Self::Held => "another process traces it (ptrace): its stops are in these times",
            Self::Polled => "its waits for room after EAGAIN are seen without --exact only",
            Self::Foreign => "the calls of a 32-bit program are seen without --exact only",
            Self::Files => "it waits for files that are opened, renamed or stored: do that rarely",
        }
    }
}

/// Everything found.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) command: Vec<String>,
    pub(crate) run: Recording,
    pub(crate) streams: Vec<Stream>,
    /// Where in the program writes were made, where that could be seen.
    pub(crate) stacks: Vec<Stack>,
    /// Write calls and bytes to other files, and the time in them.
    pub(crate) elsewhere: Elsewhere,
}

/// Functions that call each other, the outermost first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Stack {
    pub(crate) frames: Vec<String>,
    pub(crate) samples: u64,
}

/// Writes that went to no stream.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Elsewhere {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) writing_ns: u64,
}
