//! The cost of a stream's writes, and the part of it that large writes save: intervals, because neither can be measured
//! without disturbing the program.
//!
//! Known are the count of the writes, their bytes, the processor time to the nanosecond, and by clock ticks its parts in the
//! kernel and in the program. The kernel's part is the measure of the rest: in blocks a part of it is left ([`Cost`]), and a write costs
//! in the program's own code about as much again at most, or a part of what that code takes ([`saved_by_blocks`]).

use crate::platform::procfs;
use crate::trace::collect::watched::Watched;
use crate::trace::model::{Buffering, Descriptors, Interval, Kind, Language, Stream};

/// The cost of a write to a destination of a kind, on any machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Nanoseconds in the kernel, at most: of an average call, and those that each byte adds.
    call_ns: f64,
    byte_ns: f64,
    /// The number of bytes that cost as much as a call, at least and at most: the part of a write that is left in a large one.
    bytes: (f64, f64),
    /// The number of bytes that cost as much as the end of a line, which a terminal passes on by itself.
    line_bytes: (f64, f64),
    /// The part of a write's time in the kernel that tells of its time in the program: a terminal takes more of the kernel's than others,
    /// the null device less, and both take as much of the program's.
    around: f64,
}

impl Cost {
    pub(crate) fn of(kind: Kind) -> Self {
        let (call_ns, byte_ns, bytes, around) = match kind {
            Kind::Null => (1_500.0, 0.0, (1e6, 1e9), 2.0),
            Kind::Pipe => (8_000.0, 2.0, (800.0, 8_000.0), 1.0),
            Kind::Socket => (12_000.0, 2.0, (800.0, 8_000.0), 1.0),
            Kind::File => (8_000.0, 3.0, (400.0, 4_000.0), 1.0),
            Kind::Terminal => (12_000.0, 60.0, (170.0, 400.0), 0.5),
            Kind::Device | Kind::Other | Kind::Unknown => (20_000.0, 60.0, (20.0, 1e6), 1.0),
        };
        Self {
            call_ns,
            byte_ns,
            bytes,
            around,
            line_bytes: [(0.0, 0.0), (10.0, 80.0)][usize::from(kind == Kind::Terminal)],
        }
    }

    /// The time that so many calls of so many bytes take in the kernel, at most.
    pub(crate) fn most_ns(&self, calls: u64, bytes: u64) -> f64 {
        calls as f64 * self.call_ns + bytes as f64 * self.byte_ns
    }

    /// The part of the time of a stream's writes that is left in large ones, at least and at most.
    fn left(&self, stream: &Stream) -> (f64, f64) {
        let size = stream.bytes as f64 / stream.calls.max(1) as f64;
        let lines = f64::from(stream.buffering == Buffering::Line);
        let (least, most) = (size + lines * self.line_bytes.0, size + self.line_bytes.1);
        (least / (least + self.bytes.1), most / (most + self.bytes.0))
    }

    /// The likely time of so many other calls, in that of a write: of those that do work, of slight ones, and of reads.
    fn others(&self, stream: &Stream, [work, slight, reads]: [f64; 3]) -> [f64; 3] {
        let others_ns = [work * self.call_ns, slight * SLIGHT_NS, reads * READ_NS];
        others_ns.map(|ns| ns / self.call_ns * self.of_calls(stream))
    }

    /// The likely part of that time that goes with the number of the writes, and not with their bytes.
    fn of_calls(&self, stream: &Stream) -> f64 {
        let size = stream.bytes as f64 / stream.calls.max(1) as f64;
        let [least, most] = [self.bytes.1, self.bytes.0].map(|bytes| size / (size + bytes));
        1.0 - least.midpoint(most)
    }
}

/// The unit in which the kernel tells the parts of processor time.
const UNIT_NS: f64 = procfs::UNIT_NS as f64;
/// Other work of the kernel, at least, most likely and at most: a byte that it reads, and a page that is touched for the first time.
const READ_BYTE_NS: [f64; 3] = [0.02, 0.06, 0.3];
const FAULT_NS: [f64; 3] = [200.0, 1000.0, 2500.0];
/// A slight call and one that reads, at most.
const SLIGHT_NS: f64 = 1_700.0;
const READ_NS: f64 = 4_000.0;
/// Other calls take as long as is likely, or up to this many times as long, or as short.
const LONGER: f64 = 1.7;
/// An error that more samples do not lessen: where the kernel lets no interrupt in, a sample comes late.
const SYSTEMATIC: f64 = 0.035;

/// The part of the kernel's time that is that of writes, where other calls are likely to take so many times as long, and up to `longer`
/// times that.
fn in_writes(others: f64, longer: f64) -> [f64; 3] {
    [longer, 1.0, 1.0 / LONGER].map(|longer| 1.0 / (1.0 + others * longer))
}

/// Sets the processor time of a process from its first write on: in the calls, and its own between them; and that in reads, where a
/// program reads byte by byte for the same reason for which its writes are small.
pub(super) fn times(process: &Watched, stream: &mut Stream) {
    let (io, processor) = (process.own(), process.threads.writers().processor);
    let start = Some(process.start)
        .filter(|start| start.io.write_calls < io.write_calls)
        .unwrap_or_default();
    // Assumes the same time for each write before the process was first seen as after that.
    let calls = (io.write_calls as f64).max(1.0);
    let seen = calls - start.io.write_calls as f64;
    let since_ns = processor.since(start.processor).total_ns as f64 * calls / seen;
    let read_ns = since_ns.min(processor.total_ns as f64);
    // The time of a few milliseconds may be in no reading.
    let unread = [(0, process.last_ns - process.first_ns), process.unread()];
    let total = total(read_ns, unread[usize::from(read_ns > 0.0)], io.write_calls);
    // One that was found late has run for longer than it was seen.
    let lived_ns = (process.last_ns - process.first_ns).max(1) as f64;
    let writers = process.threads.that_write().count().max(1) as f64;
    let threads = process.threads.own();
    let most_calls = threads.map(|(_, own)| own.io.write_calls).max();
    let longest = most_calls.unwrap_or(0) as f64 / calls;
    let total = total.times(on_clock(total.low / lived_ns, writers, longest));
    // The kernel tells its own parts in coarse units only.
    let start_ns = processor.total_ns as f64 - read_ns;
    let coarse_ns = UNIT_NS.min(start_ns / 2.0) + UNIT_NS / 2.0;
    let coarse_ns = coarse_ns * f64::from(!process.threads.are_sampled());
    let written = processor.since(start.processor);
    let written_ns = written.user_ns + written.system_ns;
    let tick_ns = process.threads.between_samples_ns(written_ns);
    // Adds one tick to each: few ticks prove little.
    let ticks = written_ns as f64 / tick_ns + 2.0;
    let part = (written.user_ns as f64 / tick_ns + 1.0) / ticks;
    // One standard deviation is allowed for chance, and more where ticks are too few to tell how large that is.
    let chance = (part * (1.0 - part) / ticks).sqrt() * (1.0 + ticks.sqrt().recip());
    let error = chance.hypot(SYSTEMATIC);
    let error = error.hypot(coarse_ns / total.likely.max(1.0));
    let of_total = |part: f64| total.times([part - error, part, part + error]);
    let since = process.threads.writers().io.since(start.io);
    let (read_bytes, faults) = (since.bytes_read as f64, written.faults as f64);
    let other_ns = |at: usize| read_bytes * READ_BYTE_NS[at] + faults * FAULT_NS[at];
    let other_ns = Interval::of([0, 1, 2].map(other_ns));
    let in_kernel_ns = of_total(1.0 - part).independent(other_ns.taken_from(0.0));
    let in_kernel_ns = in_kernel_ns.within(0.0, total.high - other_ns.low);
    let [work, slight, _] = process.other_calls();
    // Then the other calls are for the write.
    stream.is_reopened = process.reopened().is_some();
    let [work, slight] = [work, slight].map(|calls| calls * f64::from(!stream.is_reopened));
    // Calls that wait take longer than others. What it sends besides may take most of the time.
    let waits = process.waits_elsewhere() && process.threads.is_one();
    let work = work + f64::from(waits) * process.turns as f64 / calls;
    let hides_work = process.hides_other_calls() && process.sockets.len() > 1;
    let reads = since.read_calls as f64 / since.write_calls.max(1) as f64;
    let cost = Cost::of(stream.target.kind);
    let others = cost.others(stream, [work, slight, reads]);
    let longer = [LONGER, f64::INFINITY][usize::from(hides_work)];
    let in_kernel_ns = in_kernel_ns.times(in_writes(others.iter().sum(), longer));
    // fsync(2) takes more than a write.
    let is_synced = usize::from(stream.syncing_ns > 0);
    let most_ns = [cost.most_ns(stream.calls, stream.bytes), in_kernel_ns.high][is_synced];
    stream.in_kernel_ns = in_kernel_ns.within(0.0, most_ns);
    stream.own_ns = of_total(part).within(0.0, total.high - stream.in_kernel_ns.low);
    let handing_ns = process.threads.handing_over_ns(io.write_calls) as f64;
    let most_ns = calls * HANDED_NS * f64::from(handing_ns > 0.0);
    let handed_ns = Interval::of([0.0, handing_ns / 2.0, lived_ns]).within(0.0, most_ns);
    // Larger writes wake the readers more rarely. Several writers also take turns.
    let taken_ns = processor.taken_ns() as f64 * cost.of_calls(stream) * f64::from(writers < 2.0);
    stream.handed_ns = handed_ns + Interval::between(taken_ns / 2.0, taken_ns);
    let reads_bytes = f64::from(process.language.reads_bytes());
    stream.reading_ns = reads_bytes * others[2] * stream.in_kernel_ns.likely;
}

/// Counts once what the processes that wrote to a stream did at the same time.
pub(super) fn share_clock(stream: &mut Stream, processes: &[&Watched]) {
    let began_ns = processes.iter().map(|it| it.first_ns).min().unwrap_or(0);
    let ended_ns = processes.iter().map(|it| it.last_ns).max().unwrap_or(0);
    let calls = processes.iter().map(|it| it.own().write_calls);
    let used = |it: &&Watched| it.threads.writers().processor.total_ns;
    let used_ns: u64 = processes.iter().map(used).sum();
    let at_once = used_ns as f64 / (ended_ns - began_ns).max(1) as f64;
    let longest = calls.max().unwrap_or(0) as f64 / stream.calls.max(1) as f64;
    let parts = on_clock(at_once, processes.len().max(1) as f64, longest);
    stream.own_ns = stream.own_ns.times(parts);
    stream.in_kernel_ns = stream.in_kernel_ns.times(parts);
}

/// The parts of the writers' time that count on the clock, at least, likely and at most: what the one takes that writes most, and more if they
/// take turns. `at_once` of the writers had a processor at the same time, and that one made the part `longest` of the writes.
fn on_clock(at_once: f64, writers: f64, longest: f64) -> [f64; 3] {
    let at_once = at_once.clamp(1.0, writers);
    let longest = longest.clamp(1.0 / at_once, 1.0);
    let in_turns = (writers - at_once) / (writers - 1.0).max(1.0);
    [1.0 / at_once, longest, (longest + in_turns).min(1.0)]
}

/// The processor time of all writes, where that of some, and the last moments of the others, are in no reading: each of those
/// took about as long as a write that was read.
fn total(read_ns: f64, (unread_calls, unread_ns): (u64, u64), calls: u64) -> Interval {
    let read_calls = calls.saturating_sub(unread_calls).max(1);
    let more_ns = read_ns * unread_calls.min(calls) as f64 / read_calls as f64;
    Interval::between(read_ns, read_ns + 2.0 * more_ns + unread_ns as f64)
}

/// The part of the program's own time that is around the calls at the very most where it writes lines, as caches are cold after a call.
const COLD: f64 = 0.5;

/// To hand a write over to another thread and wait for it, at most: each may wake the other on another processor.
const HANDED_NS: f64 = 60_000.0;

/// Each small write to a terminal wakes a thread of the kernel, which passes it on and slows the program. Up to so many times as much
/// is saved.
const WOKEN: f64 = 1.08;

/// Where joining lines costs more than calls do, it takes a part of the program's own time, too, however cheap the calls are.
const JOINING: f64 = 0.3;

/// The time saved when the program follows the advice for its language.
pub(super) fn saved_by_blocks(stream: &Stream) -> Interval {
    let cost = Cost::of(stream.target.kind);
    let (all, own) = (stream.in_kernel_ns, stream.own_ns);
    let (least_left, most_left) = cost.left(stream);
    let left = [most_left, least_left.midpoint(most_left), least_left];
    let in_kernel = all.times(left.map(|left| 1.0 - left));
    let woken = [1.0, WOKEN][usize::from(stream.target.kind == Kind::Terminal)];
    let calls_ns = cost.around * cost.of_calls(stream) * all.likely;
    // To open a file once no lines need to be joined.
    let language = [stream.language, Language::UNRECOGNISED][usize::from(stream.is_reopened)];
    let [least, most, of_pieces] = language.around_calls();
    if !stream.could_be_larger() {
        // Even larger blocks would save calls, but hardly time. Nobody knows what joined writes cost before they were joined. Where it is
        // unknown where they went, each may cost as much again in the program.
        let high = match stream.descriptors {
            _ if stream.may_be_joined() => f64::INFINITY,
            Descriptors::Any => 2.0 * stream.calls as f64 * cost.call_ns,
            _ => in_kernel.high + most * calls_ns,
        };
        return Interval::of([0.0, 0.0, high.min(all.high + own.high)]);
    }
    let of_own = [1.0, JOINING][usize::from(least < 0.0)];
    let least_ns = (least * calls_ns).min(least * of_own * own.low);
    let usual_ns = (most * calls_ns).min(own.high);
    let most_ns = match stream.buffering {
        // Making pieces of lines and handing each on may be all that the program does.
        Buffering::Unbuffered => own.high.min(of_pieces * calls_ns),
        _ => calls_ns.min(COLD * own.likely),
    };
    let around = Interval::of([least_ns, least_ns.midpoint(usual_ns), most_ns.max(usual_ns)]);
    // Larger writes may be synced more rarely, or as often.
    let syncing_ns = stream.syncing_ns as f64;
    let saved = in_kernel.independent(around)
        + Interval::between(stream.reading_ns, stream.reading_ns)
        + stream.handed_ns
        // A reader that is the limit may take as long for large writes as for small ones, or may gain as well.
        + Interval::between(0.0, cost.of_calls(stream) * stream.waiting_ns as f64)
        + Interval::of([0.0, syncing_ns, syncing_ns]);
    let saved = saved.times([f64::from(!stream.is_outlived), 1.0, woken]);
    saved.at_most(stream.spare_ns.unwrap_or(saved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::model::{CallTally, Language, Target};

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
            slept_in: Target {
                kind: Kind::Pipe,
                ..Target::default()
            },
            readers: Vec::new(),
            spare_ns: None,
            by_readers: None,
            calls: CALLS as u64,
            bytes: 10 * CALLS as u64,
            tally: CallTally::default(),
            buffering: Buffering::Line,
            own_ns: around(own_ns),
            in_kernel_ns: around(kernel_ns),
            waiting_ns: 0,
            waits: 0,
            overlapped_ns: 0,
            awaited_ns: 0,
            syncing_ns: 0,
            reading_ns: 0.0,
            handed_ns: Interval::default(),
            is_reopened: false,
            is_outlived: false,
            is_answered: false,
            is_mixed: false,
        }
    }

    #[test]
    fn writers_at_once_save_on_the_clock_what_one_of_them_saves() {
        assert_eq!(on_clock(0.4, 1.0, 1.0), [1.0; 3]);
        // On two processors, and in turns on one.
        assert_eq!(on_clock(2.0, 2.0, 0.5), [0.5; 3]);
        assert_eq!(on_clock(0.9, 2.0, 0.5), [1.0; 3]);
        // One writes most; and one after the other, two at a time.
        assert_eq!(on_clock(2.0, 2.0, 0.9), [0.5, 0.9, 0.9]);
        let [low, likely, high] = on_clock(2.0, 1000.0, 0.001);
        assert_eq!([low, likely], [0.5; 2]);
        assert!(high > 0.99, "{high}");
    }

    #[test]
    fn the_kernels_part_of_a_write_says_more_of_the_programs_where_it_is_small() {
        let around = |kind| {
            let stream = Stream {
                target: Target {
                    kind,
                    ..Target::default()
                },
                ..lines(Language::C, 100.0, 900.0)
            };
            let cost = Cost::of(kind);
            saved_by_blocks(&stream).likely - cost.of_calls(&stream) * 100.0 * CALLS
        };
        let [terminal, pipe, null] = [Kind::Terminal, Kind::Pipe, Kind::Null].map(around);
        assert!(terminal < pipe && pipe < null, "{terminal} {pipe} {null}");
    }

    #[test]
    fn what_the_readers_compute_is_not_saved() {
        let mut stream = lines(Language::C, 500.0, 100.0);
        let all = saved_by_blocks(&stream);
        stream.spare_ns = Some(Interval::of([-1.0, all.low / 2.0, all.high + 1.0]));
        let saved = saved_by_blocks(&stream);
        assert_eq!((saved.low, saved.likely), (-1.0, all.low / 2.0));
        assert_eq!(saved.high, all.high);
    }

    #[test]
    fn a_call_saves_its_time_in_the_kernel_and_some_of_the_programs_own() {
        for (own_ns, least, most) in [(90.0, 230.0, 375.0), (1090.0, 255.0, 760.0)] {
            let saved = saved_by_blocks(&lines(Language::C, 250.0, own_ns));
            let (low, high) = (saved.low / CALLS, saved.high / CALLS);
            assert!(low > least && high < most, "{low} to {high}");
        }
    }

    #[test]
    fn the_kernels_time_is_divided_between_writes_and_other_calls_by_what_these_are() {
        // Measured: 30,000 or 50,000 lines into a file, and the part of the calls' time that was in the writes. Other calls for each
        // write: stat(2), lseek(2) or getppid(2), reads of a byte.
        let file = Stream {
            target: Target {
                kind: Kind::File,
                ..Target::default()
            },
            ..lines(Language::C, 0.0, 0.0)
        };
        for (calls, truth) in [
            ([0.0, 0.0, 5.8], 0.21),
            ([0.0, 2.0, 0.0], 0.66),
            ([0.0, 5.0, 0.0], 0.49),
            ([0.0, 20.0, 0.0], 0.20),
            ([0.0, 0.0, 1.0], 0.73),
            ([1.0, 0.0, 0.0], 0.41),
        ] {
            let others = Cost::of(Kind::File).others(&file, calls);
            let [low, likely, high] = in_writes(others.iter().sum(), LONGER);
            assert!(low < truth && truth < high, "{calls:?}: {low} to {high}");
            let times = likely / truth;
            assert!((0.7..1.4).contains(&times), "{calls:?}: {times}");
        }
        assert_eq!(in_writes(0.0, LONGER), [1.0; 3]);
        // Nobody knows what it sends.
        assert!(in_writes(1.0, f64::INFINITY)[0] <= 0.0);
    }

    #[test]
    fn reads_beside_large_writes_take_little() {
        let large = Stream {
            bytes: 65_536 * CALLS as u64,
            ..lines(Language::C, 0.0, 0.0)
        };
        let others = Cost::of(Kind::Pipe).others(&large, [0.0, 0.0, 1.0]);
        assert!(others[2] < 0.05, "{others:?}");
    }

    #[test]
    fn what_a_language_is_known_for_moves_the_lower_end() {
        let [c, shell, node] = [Language::C, Language::SHELL, Language::NODE]
            .map(|language| saved_by_blocks(&lines(language, 250.0, 1090.0)));
        assert!(shell.low <= 0.0 && c.low > 255.0 * CALLS, "{c:?} {shell:?}");
        assert!(node.low > c.low + 30.0 * CALLS, "{c:?} {node:?}");
        // A loop of bash that prints into a file: its joined lines take as long.
        let cheap = saved_by_blocks(&lines(Language::SHELL, 840.0, 3_900.0));
        assert!(cheap.likely < 0.1 * 4_740.0 * CALLS, "{cheap:?}");
    }

    #[test]
    fn of_pieces_all_of_the_programs_own_time_may_be_around_the_calls() {
        let lines = lines(Language::C, 250.0, 1090.0);
        let pieces = Stream {
            buffering: Buffering::Unbuffered,
            ..lines.clone()
        };
        let [lines, pieces] = [lines, pieces].map(|stream| saved_by_blocks(&stream));
        assert_eq!((pieces.low, pieces.likely), (lines.low, lines.likely));
        assert!(
            pieces.high > lines.high + 200.0 * CALLS,
            "{pieces:?} {lines:?}"
        );
    }

    #[test]
    fn what_hands_each_write_over_may_go_with_them() {
        let plain = lines(Language::RUST, 250.0, 90.0);
        let handed = Stream {
            handed_ns: Interval::of([0.0, 10_000.0 * CALLS, 50_000.0 * CALLS]),
            ..plain.clone()
        };
        let [plain, handed] = [plain, handed].map(|stream| saved_by_blocks(&stream));
        assert_eq!(plain.low, handed.low);
        assert!(handed.likely > plain.likely && handed.high > 50_000.0 * CALLS);
    }

    #[test]
    fn reads_of_single_bytes_go_with_the_writes() {
        let plain = lines(Language::UNRECOGNISED, 250.0, 90.0);
        let reads = Stream {
            reading_ns: 1_000.0 * CALLS,
            ..plain.clone()
        };
        let [less, more] = [plain, reads].map(|stream| saved_by_blocks(&stream).low / CALLS);
        assert!((more - less - 1_000.0).abs() < 1.0, "{less} {more}");
    }

    #[test]
    fn what_no_reading_shows_widens_the_time_of_the_writes() {
        let exact = total(8e6, (0, 0), 4000);
        assert_eq!((exact.low, exact.likely, exact.high), (8e6, 8e6, 8e6));
        // A program that ended before the kernel's first tick.
        let short = total(0.0, (0, 4_000_000), 4000);
        assert_eq!((short.low, short.likely, short.high), (0.0, 2e6, 4e6));
        // Half of the writes are of last moments.
        let last = total(20e6, (2000, 4_000_000), 4000);
        assert_eq!((last.low, last.likely, last.high), (20e6, 42e6, 64e6));
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
            buffering: Buffering::Block { capacity: 8192 },
            ..lines(Language::C, 25.0, 90.0)
        };
        let saved = saved_by_blocks(&blocks);
        assert_eq!((saved.low, saved.likely), (0.0, 0.0));
        let kernel_ns = blocks.in_kernel_ns.high;
        assert!(saved.high <= 0.8 * kernel_ns, "{saved:?}");
        let unseen = Stream {
            descriptors: Descriptors::Any,
            ..blocks
        };
        // They may be small ones beside larger ones.
        let saved = saved_by_blocks(&unseen);
        assert!(saved.high > kernel_ns, "{saved:?}");
    }

    #[test]
    fn writes_that_no_buffer_is_as_small_as_save_the_part_that_is_not_their_bytes() {
        let rows = |kind, waiting_ns| {
            let stream = Stream {
                bytes: 3_000 * CALLS as u64,
                buffering: Buffering::Large,
                waiting_ns,
                target: Target {
                    kind,
                    ..Target::default()
                },
                ..lines(Language::C, 3_000.0, 6_000.0)
            };
            saved_by_blocks(&stream)
        };
        let per_call = |saved: Interval| (saved.low / CALLS, saved.high / CALLS);
        let (low, high) = per_call(rows(Kind::Pipe, 0));
        assert!(low > 500.0 && high < 5_000.0, "{low} to {high}");
        let waiting_ns = 10_000 * CALLS as u64;
        let (_, high) = per_call(rows(Kind::Terminal, waiting_ns));
        assert!(
            high < 5_000.0,
            "a terminal takes its time for the bytes: {high}"
        );
    }

    #[test]
    fn large_writes_leave_little_of_small_ones_and_most_of_themselves() {
        let left = |kind, size| {
            let stream = Stream {
                bytes: size * CALLS as u64,
                ..lines(Language::C, 250.0, 90.0)
            };
            Cost::of(kind).left(&stream)
        };
        assert!(left(Kind::Pipe, 10).1 < 0.02);
        assert!(left(Kind::Null, 4096).1 < 0.01);
        assert!(left(Kind::Terminal, 4096).0 > 0.9);
        let (least, most) = left(Kind::Terminal, 40);
        assert!(least < 0.12 && most > 0.35, "{least} to {most}");
    }
}
