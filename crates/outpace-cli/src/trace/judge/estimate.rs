//! The cost of a stream's writes, and the part of it that large writes save: intervals, because neither can be measured
//! without disturbing the program.
//!
//! Known are the count of the writes, their bytes, the processor time to the nanosecond, and by clock ticks its parts in the
//! kernel and in the program. Assumed are ranges, wide enough for the machines and kernels of today: what a write can cost in
//! the kernel and what of that is left in blocks ([`Cost`]), and what a call costs in the program's own code
//! ([`Language::call_ns`]).

use crate::platform::procfs::{self, Processor};
use crate::trace::collect::watched::Watched;
use crate::trace::model::findings::Stream;
use crate::trace::model::interval::Interval;
use crate::trace::model::language::Language;
use crate::trace::model::target::{Kind, Target};

/// The cost of a write to a destination of a kind, on any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Nanoseconds in the kernel: the least of a call, the most of an average one, and those that each byte adds.
    least_ns: f64,
    most_ns: f64,
    byte_ns: f64,
    /// The number of bytes that cost as much as a call, at least and at most: the part of a write that is left in a large one.
    bytes: (f64, f64),
    /// The number of bytes that cost as much as the end of a line, which a terminal passes on by itself, at most.
    line_bytes: f64,
}

impl Cost {
    pub(crate) fn of(kind: Kind) -> Self {
        let (least_ns, most_ns, byte_ns, bytes) = match kind {
            Kind::Null => (40.0, 1_500.0, 0.0, (1e6, 1e9)),
            Kind::Pipe => (100.0, 8_000.0, 2.0, (800.0, 8_000.0)),
            Kind::Socket => (200.0, 12_000.0, 2.0, (800.0, 8_000.0)),
            Kind::File => (100.0, 8_000.0, 3.0, (400.0, 4_000.0)),
            Kind::Terminal => (250.0, 12_000.0, 60.0, (28.0, 120.0)),
            Kind::Device | Kind::Other | Kind::Unknown => (40.0, 20_000.0, 60.0, (20.0, 1e6)),
        };
        Self {
            least_ns,
            most_ns,
            byte_ns,
            bytes,
            line_bytes: 6.0 * f64::from(kind == Kind::Terminal),
        }
    }

    /// The range of the time that so many calls of so many bytes take in the kernel.
    pub(crate) fn bounds(&self, calls: u64, bytes: u64) -> (f64, f64) {
        let (calls, bytes) = (calls as f64, bytes as f64);
        (
            calls * self.least_ns,
            calls * self.most_ns + bytes * self.byte_ns,
        )
    }

    /// The part of the time of writes of so many bytes that is left in large ones, at least and at most.
    fn left(&self, mean_size: u64) -> (f64, f64) {
        let (size, of_line) = (mean_size as f64, mean_size as f64 + self.line_bytes);
        (
            size / (size + self.bytes.1),
            of_line / (of_line + self.bytes.0),
        )
    }
}

/// The kernel's clock tick, by which it splits processor time, and the unit in which it tells the parts.
const TICK_NS: f64 = procfs::TICK_NS as f64;
const UNIT_NS: f64 = procfs::UNIT_NS as f64;
/// Standard deviations allowed for chance.
const CHANCE: f64 = 1.0;
/// Other work of the kernel: a system call that reads, a page fault.
const READ_NS: f64 = 200.0;
const FAULT_NS: f64 = 400.0;

/// The processor time of a process from its first write on: in the calls, and its own between them.
pub(super) fn times(process: &Watched, target: &Target) -> (Interval, Interval) {
    let (io, processor) = (process.own(), process.processor());
    let (start, unseen) = match process.start {
        // Assumes the same time for each write before the process was first seen as after that.
        Some((calls, start)) if calls < io.write_calls => {
            let since = processor.since(start);
            (
                start,
                since.total_ns as f64 * calls as f64 / (io.write_calls - calls) as f64,
            )
        }
        _ => (Processor::default(), 0.0),
    };
    let start_ns = (start.total_ns as f64 - unseen).max(0.0);
    let (least_ns, most_ns) = Cost::of(target.kind).bounds(io.write_calls, io.bytes_written);
    let read_ns = (processor.total_ns as f64 - start_ns).max(0.0);
    let unread = process.unread();
    let total = total(read_ns, unread, io.write_calls, least_ns);
    let total_ns = total.likely;
    let (user, system) = (processor.user_ns as f64, processor.system_ns as f64);
    // The parts of the start are known in coarse units only.
    let coarse_ns = UNIT_NS.min(start_ns / 2.0) + UNIT_NS / 2.0 * f64::from(process.is_rounded());
    let start_user = if start.user_ns + start.system_ns > 0 {
        start_ns * start.user_ns as f64 / (start.user_ns + start.system_ns) as f64
    } else {
        start_ns / 2.0
    };
    let user = (user - start_user).max(0.0);
    let system = (system - (start_ns - start_user)).max(0.0);
    // Adds one tick to each: few ticks prove little.
    let ticks = (user + system) / TICK_NS;
    let part = (user / TICK_NS + 1.0) / (ticks + 2.0);
    let chance_ns = CHANCE * (part * (1.0 - part) / (ticks + 2.0)).sqrt() * total_ns;
    let error = chance_ns.hypot(coarse_ns);
    let faults = process.faults() as f64 * (total_ns / (total_ns + start_ns).max(1.0));
    let other_ns = (io.read_calls as f64 * READ_NS + faults * FAULT_NS).min(total_ns / 2.0);
    let busy_ns = total_ns - other_ns;
    let in_program = Interval {
        low: part * total_ns - error,
        likely: part * total_ns,
        high: part * total_ns + error,
    }
    .within(0.0, busy_ns);
    // Time in no reading may be either's.
    let unknown = Interval {
        low: total.low - total_ns,
        likely: 0.0,
        high: total.high - total_ns,
    };
    let in_kernel_ns = (in_program.taken_from(busy_ns) + unknown)
        .within(least_ns, most_ns)
        .within(0.0, busy_ns + unknown.high);
    let own_ns = (in_program + unknown).within(0.0, busy_ns + unknown.high - in_kernel_ns.low);
    (in_kernel_ns, own_ns)
}

/// The processor time of all writes, where that of some, and the last moments of the others, are in no reading: each of those
/// took about as long as a write that was read, and all together took at least `least_ns`.
fn total(read_ns: f64, unread: (u64, u64), calls: u64, least_ns: f64) -> Interval {
    let (unread_calls, unread_ns) = (unread.0.min(calls) as f64, unread.1 as f64);
    let read_calls = (calls as f64 - unread_calls).max(1.0);
    let most_ns = read_ns + unread_ns;
    Interval {
        low: read_ns,
        likely: read_ns * (1.0 + unread_calls / read_calls) + unread_ns.min(TICK_NS) / 2.0,
        high: most_ns,
    }
    .within(least_ns.clamp(read_ns, most_ns), most_ns)
}

/// The cost of a write outside of the kernel and the library, at most: the kernel's work evicts caches and branch predictions,
/// and wakes a processor. The second figure is a part of the kernel's time, because machines differ by several times.
const BESIDE_NS: f64 = 70.0;
const BESIDE: f64 = 0.1;

/// A reader that each write wakes works beside the program for one or two microseconds, on a processor that may share its caches
/// or its core: this part, at most, of what the program does meanwhile is lost.
const READER: f64 = 0.15;
const READER_NS: f64 = 1_500.0;

/// The least cost of the calls is no more than this part of the program's own time.
const MOST_OF_OWN: f64 = 0.5;

/// The time saved when the program follows the advice for its language.
pub(super) fn saved_by_blocks(stream: &Stream) -> Interval {
    let kind = stream.target.kind;
    let (calls, waiting) = (stream.calls as f64, stream.waiting_ns as f64);
    let in_kernel = stream.in_kernel_ns;
    let (least_left, most_left) = Cost::of(kind).left(stream.mean_size());
    if stream.could_be_larger() && stream.language == Language::SHELL && kind != Kind::Terminal {
        // Its writes become fewer, but building the text takes time, too.
        return Interval::between(0.0, in_kernel.high);
    }
    let in_kernel = Interval {
        low: in_kernel.low * (1.0 - most_left),
        likely: in_kernel.likely * (1.0 - least_left.midpoint(most_left)),
        high: in_kernel.high * (1.0 - least_left),
    };
    let (least_ns, most_ns, formatting) = stream.language.call_ns(kind);
    // Formatting stays.
    let least_ns = (calls * least_ns).min(MOST_OF_OWN * stream.own_ns.low);
    let mut most_ns = stream.most_messages() as f64 * (most_ns + BESIDE_NS);
    if stream.could_be_larger() {
        // The kernel's time of large writes is that of their bytes, and they wake no reader.
        most_ns += BESIDE * in_kernel.high;
        if kind.has_reader() {
            most_ns += (READER * stream.own_ns.high).min(READER_NS * calls);
        }
    }
    let most_ns = most_ns.clamp(least_ns, stream.own_ns.high.max(least_ns));
    let mut own = Interval::between(least_ns, most_ns);
    own.high = most_ns.max(formatting * stream.own_ns.high);
    if !stream.could_be_larger() {
        // Even larger blocks would save calls, but hardly time; or the destination of small writes is unknown.
        return Interval {
            high: in_kernel.high + own.high,
            ..Interval::default()
        };
    }
    // A reader that is the limit may take as long for large writes as for small ones, or may gain as well.
    let waiting = Interval::between(
        if stream.reader_keeps_up() { 0.6 } else { 0.0 } * waiting,
        waiting,
    );
    // Larger writes may be synced more rarely, or as often.
    let syncing = Interval {
        high: stream.syncing_ns as f64,
        likely: stream.syncing_ns as f64,
        low: 0.0,
    };
    Interval::independent([in_kernel, own]) + waiting + syncing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::model::findings::Descriptors;
    use crate::trace::model::tally::{Buffering, CallTally};

    const CALLS: f64 = 100_000.0;

    /// A program that made 100,000 writes of a line of 10 bytes into a pipe: the time of each in the kernel, and its own.
    fn lines(language: Language, kernel_ns: f64, own_ns: f64) -> Stream {
        let around = |ns: f64| Interval {
            low: 0.8 * ns * CALLS,
            likely: ns * CALLS,
            high: 1.2 * ns * CALLS,
        };
        Stream {
            program: "program".into(),
            language,
            processes: 1,
            descriptors: Descriptors::One(1),
            target: Target {
                kind: Kind::Pipe,
                ..Target::default()
            },
            readers: Vec::new(),
            calls: CALLS as u64,
            bytes: 10 * CALLS as u64,
            tally: CallTally::default(),
            buffering: Buffering::Line,
            own_ns: around(own_ns),
            in_kernel_ns: around(kernel_ns),
            waiting_ns: 0,
            syncing_ns: 0,
        }
    }

    #[test]
    fn a_call_saves_its_time_in_the_kernel_and_its_part_of_the_programs_own() {
        for own_ns in [90.0, 1090.0] {
            let saved = saved_by_blocks(&lines(Language::C, 250.0, own_ns));
            let (low, high) = (saved.low / CALLS, saved.high / CALLS);
            let beside = 300.0 * BESIDE + BESIDE_NS + READER * 1.2 * own_ns;
            assert!(
                low > 200.0 && high <= 300.0 + 115.0 + beside,
                "{low} to {high}"
            );
            // The kernel's time is known to a fifth here.
            assert!(high < 2.25 * low);
        }
    }

    #[test]
    fn formatting_into_a_line_buffer_may_be_all_that_a_program_does_between_writes() {
        let [in_c, in_rust] = [Language::C, Language::RUST]
            .map(|language| saved_by_blocks(&lines(language, 250.0, 1090.0)));
        assert_eq!(in_c.low, in_rust.low);
        assert!(in_c.high < 700.0 * CALLS, "{in_c:?}");
        assert!(in_rust.high > 1000.0 * CALLS, "{in_rust:?}");
    }

    #[test]
    fn what_no_reading_shows_widens_the_time_of_the_writes() {
        let exact = total(8e6, (0, 0), 4000, 2e6);
        assert_eq!((exact.low, exact.likely, exact.high), (8e6, 8e6, 8e6));
        // A program that ended before the kernel's first tick: the writes took at least their least.
        let short = total(0.0, (0, 4_000_000), 4000, 1e6);
        assert_eq!((short.low, short.likely, short.high), (1e6, 2e6, 4e6));
        // Half of the writes are of last moments.
        let last = total(20e6, (2000, 30_000_000), 4000, 2e6);
        assert_eq!((last.low, last.high), (20e6, 50e6));
        assert!((40e6..45e6).contains(&last.likely), "{last:?}");
        // A complete reading outweighs the least cost elsewhere.
        let fast = total(1e6, (0, 0), 4000, 2e6);
        assert_eq!((fast.low, fast.high), (1e6, 1e6));
    }

    #[test]
    fn no_more_is_saved_of_the_programs_own_time_than_it_has() {
        let saved = saved_by_blocks(&lines(Language::PYTHON, 250.0, 20.0));
        assert!(saved.high <= 325.0 * CALLS, "{saved:?}");
    }

    #[test]
    fn a_reader_that_is_the_limit_may_stay_it() {
        let waiting = 10_000.0 * CALLS;
        let stream = Stream {
            waiting_ns: waiting as u64,
            ..lines(Language::C, 250.0, 90.0)
        };
        let saved = saved_by_blocks(&stream);
        assert!(
            saved.low < 400.0 * CALLS && saved.high > waiting,
            "{saved:?}"
        );
    }

    #[test]
    fn blocks_save_next_to_nothing() {
        let blocks = Stream {
            calls: 1000,
            bytes: 8_000_000,
            buffering: Buffering::Block {
                capacity: 8192,
                exact: true,
            },
            ..lines(Language::C, 25.0, 90.0)
        };
        let saved = saved_by_blocks(&blocks);
        assert_eq!((saved.low, saved.likely), (0.0, 0.0));
        assert!(saved.high <= 0.6 * blocks.in_kernel_ns.high, "{saved:?}");
    }

    #[test]
    fn large_writes_leave_little_of_small_ones_and_most_of_themselves() {
        let left = |kind, size| Cost::of(kind).left(size);
        assert!(left(Kind::Pipe, 10).1 < 0.02);
        assert!(left(Kind::Null, 4096).1 < 0.01);
        assert!(left(Kind::Terminal, 4096).0 > 0.9);
        let (least, most) = left(Kind::Terminal, 40);
        assert!(least < 0.3 && most > 0.55, "{least} to {most}");
    }
}
