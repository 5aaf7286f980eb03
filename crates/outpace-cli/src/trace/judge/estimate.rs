//! The cost of a stream's writes, and the part of it that large writes save: intervals, because neither can be measured
//! without disturbing the program.
//!
//! Known are the count of the writes, their bytes, the processor time to the nanosecond, and by clock ticks its parts in the
//! kernel and in the program. Assumed are ranges, wide enough for the machines and kernels of today: what a write can cost in
//! the kernel and what of that is left in blocks ([`Cost`]), and what a call costs in the program's own code
//! ([`Language::call_ns`]).

use crate::platform::procfs;
use crate::trace::collect::watched::Watched;
use crate::trace::model::findings::Stream;
use crate::trace::model::interval::Interval;
use crate::trace::model::language::Language;
use crate::trace::model::target::{Kind, Target};

/// The cost of a write to a destination of a kind, on any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Nanoseconds in the kernel, at most: of an average call, and those that each byte adds.
    call_ns: f64,
    byte_ns: f64,
    /// The number of bytes that cost as much as a call, at least and at most: the part of a write that is left in a large one.
    bytes: (f64, f64),
    /// The number of bytes that cost as much as the end of a line, which a terminal passes on by itself, at most.
    line_bytes: f64,
}

impl Cost {
    pub(crate) fn of(kind: Kind) -> Self {
        let (call_ns, byte_ns, bytes) = match kind {
            Kind::Null => (1_500.0, 0.0, (1e6, 1e9)),
            Kind::Pipe => (8_000.0, 2.0, (800.0, 8_000.0)),
            Kind::Socket => (12_000.0, 2.0, (800.0, 8_000.0)),
            Kind::File => (8_000.0, 3.0, (400.0, 4_000.0)),
            Kind::Terminal => (12_000.0, 60.0, (28.0, 120.0)),
            Kind::Device | Kind::Other | Kind::Unknown => (20_000.0, 60.0, (20.0, 1e6)),
        };
        Self {
            call_ns,
            byte_ns,
            bytes,
            line_bytes: 6.0 * f64::from(kind == Kind::Terminal),
        }
    }

    /// The time that so many calls of so many bytes take in the kernel, at most.
    pub(crate) fn most_ns(&self, calls: u64, bytes: u64) -> f64 {
        calls as f64 * self.call_ns + bytes as f64 * self.byte_ns
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
/// Other work of the kernel: a system call that reads, a page fault.
const READ_NS: f64 = 200.0;
const FAULT_NS: f64 = 400.0;

/// The processor time of a process from its first write on: in the calls, and its own between them.
pub(super) fn times(process: &Watched, target: &Target) -> (Interval, Interval) {
    let (io, processor) = (process.own(), process.processor());
    let start = process.start.filter(|start| start.0 < io.write_calls);
    let (unseen, start) = start.unwrap_or_default();
    // Assumes the same time for each write before the process was first seen as after that.
    let calls = (io.write_calls as f64).max(1.0);
    let since_ns = processor.since(start).total_ns as f64 * calls / (calls - unseen as f64);
    let read_ns = since_ns.min(processor.total_ns as f64);
    let start_ns = processor.total_ns as f64 - read_ns;
    let total = total(read_ns, process.unread(), io.write_calls);
    // The parts of the start are known in coarse units only.
    let coarse_ns = UNIT_NS.min(start_ns / 2.0) + UNIT_NS / 2.0 * f64::from(process.is_rounded());
    let start_part = (start.user_ns + 1) as f64 / (start.user_ns + start.system_ns + 2) as f64;
    let user = (processor.user_ns as f64 - start_ns * start_part).max(0.0);
    let system = (processor.system_ns as f64 - start_ns * (1.0 - start_part)).max(0.0);
    // Adds one tick to each: few ticks prove little.
    let ticks = (user + system) / TICK_NS + 2.0;
    let part = (user / TICK_NS + 1.0) / ticks;
    // One standard deviation is allowed for chance.
    let error = (part * (1.0 - part) / ticks).sqrt();
    let error = error.hypot(coarse_ns / total.likely.max(1.0));
    let of_total = |part: f64| Interval {
        low: (part - error) * total.low,
        likely: part * total.likely,
        high: (part + error) * total.high,
    };
    let faults = process.faults() as f64 * total.likely / (total.likely + start_ns).max(1.0);
    let other_ns = (io.read_calls as f64 * READ_NS + faults * FAULT_NS).min(total.likely / 2.0);
    let most_ns = Cost::of(target.kind).most_ns(io.write_calls, io.bytes_written);
    let in_kernel_ns = of_total(1.0 - part) + Interval::between(-other_ns, -other_ns);
    let in_kernel_ns = in_kernel_ns.within(0.0, most_ns.min(total.high - other_ns));
    let own_ns = of_total(part).within(0.0, total.high - other_ns - in_kernel_ns.low);
    (in_kernel_ns, own_ns)
}

/// The time in reads, where a program reads byte by byte for the same reason for which its writes are small.
pub(super) fn reading_ns(process: &Watched) -> f64 {
    let reads = process.own().read_calls * u64::from(process.language.reads_bytes());
    reads as f64 * READ_NS
}

/// The processor time of all writes, where that of some, and the last moments of the others, are in no reading: each of those
/// took about as long as a write that was read.
fn total(read_ns: f64, unread: (u64, u64), calls: u64) -> Interval {
    let (unread_calls, unread_ns) = (unread.0.min(calls) as f64, unread.1 as f64);
    let read_calls = (calls as f64 - unread_calls).max(1.0);
    let likely = read_ns * (1.0 + unread_calls / read_calls) + unread_ns.min(TICK_NS) / 2.0;
    Interval {
        likely: likely.min(read_ns + unread_ns),
        ..Interval::between(read_ns, read_ns + unread_ns)
    }
}

/// The cost of a write outside of the kernel and the library, at most: the kernel's work evicts caches and branch predictions,
/// wakes a processor, and the reader that works there takes its part of what both share. The second figure is a part of the
/// kernel's time, because machines differ by several times.
const BESIDE_NS: f64 = 70.0;
const BESIDE: f64 = 0.25;

/// The cost of the calls in the program's own time is no more than the first part of it at least, and than the second at most.
const OWN: (f64, f64) = (0.5, 0.95);

/// The time saved when the program follows the advice for its language.
pub(super) fn saved_by_blocks(stream: &Stream) -> Interval {
    let kind = stream.target.kind;
    let (in_kernel, own) = (stream.in_kernel_ns, stream.own_ns);
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
    let least_ns = (stream.calls as f64 * least_ns).min(OWN.0 * own.low);
    let most_ns = stream.most_messages() as f64 * (most_ns + BESIDE_NS);
    if !stream.could_be_larger() {
        // Even larger blocks would save calls, but hardly time; or the destination of small writes is unknown.
        return Interval {
            high: in_kernel.high + most_ns.min(own.high),
            ..Interval::default()
        };
    }
    // The kernel's time of large writes is that of their bytes.
    let most_ns = (most_ns + BESIDE * in_kernel.high).min(OWN.1 * own.high);
    let around = Interval {
        high: most_ns.max(formatting * own.high).max(least_ns),
        ..Interval::between(least_ns, most_ns.max(least_ns))
    };
    // A reader that is the limit may take as long for large writes as for small ones, or may gain as well.
    let waiting = stream.waiting_ns as f64;
    let least_waiting = if stream.reader_keeps_up() { 0.6 } else { 0.0 } * waiting;
    // Larger writes may be synced more rarely, or as often.
    let syncing = Interval {
        low: 0.0,
        ..Interval::between(stream.syncing_ns as f64, stream.syncing_ns as f64)
    };
    Interval::independent([in_kernel, around])
        + Interval::between(stream.reading_ns, stream.reading_ns)
        + Interval::between(least_waiting, waiting)
        + syncing
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
            reading_ns: 0.0,
        }
    }

    #[test]
    fn a_call_saves_its_time_in_the_kernel_and_its_part_of_the_programs_own() {
        for own_ns in [90.0, 1090.0] {
            let saved = saved_by_blocks(&lines(Language::C, 250.0, own_ns));
            let (low, high) = (saved.low / CALLS, saved.high / CALLS);
            let beside = 300.0 * BESIDE + BESIDE_NS;
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
        let exact = total(8e6, (0, 0), 4000);
        assert_eq!((exact.low, exact.likely, exact.high), (8e6, 8e6, 8e6));
        // A program that ended before the kernel's first tick.
        let short = total(0.0, (0, 4_000_000), 4000);
        assert_eq!((short.low, short.likely, short.high), (0.0, 2e6, 4e6));
        // Half of the writes are of last moments.
        let last = total(20e6, (2000, 30_000_000), 4000);
        assert_eq!((last.low, last.high), (20e6, 50e6));
        assert!((40e6..45e6).contains(&last.likely), "{last:?}");
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
