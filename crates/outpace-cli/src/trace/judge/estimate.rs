//! What the writes of a stream cost, and how much of that goes when they become large: intervals, as neither can be
//! measured without disturbing the program.
//!
//! Known are the count of the writes, their bytes, the processor time to the nanosecond, and, by clock ticks, its parts
//! in the kernel and in the program. The rest are three tables of ranges, wide enough for the machines and kernels of
//! today: what a write can cost in the kernel ([`Cost::of`]), how many bytes cost as much as a call ([`Cost::left`]),
//! and what a call costs in the program's own code ([`Language::printing`]).

use crate::trace::collect::threads::Processor;
use crate::trace::collect::watch::Watched;
use crate::trace::model::findings::Stream;
use crate::trace::model::interval::Interval;
use crate::trace::model::language::{Language, Printing};
use crate::trace::model::target::Kind;

/// What a write costs on a destination of a kind, whatever the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Nanoseconds in the kernel: of no call less, and of no call on average more, with these for each byte.
    least_ns: f64,
    most_ns: f64,
    byte_ns: f64,
    /// So many bytes cost as much as a call, at least and at most: what is left of a write when its bytes go with many
    /// others.
    bytes: (f64, f64),
    /// What a byte among many costs, at least and at most, where that is more.
    block_byte_ns: (f64, f64),
}

impl Cost {
    const fn new(least_ns: f64, most_ns: f64, byte_ns: f64, bytes: (f64, f64)) -> Self {
        Self {
            least_ns,
            most_ns,
            byte_ns,
            bytes,
            block_byte_ns: (0.0, 0.0),
        }
    }

    pub(crate) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Null => Self::new(40.0, 1_500.0, 0.0, (1e6, 1e9)),
            Kind::Pipe => Self::new(100.0, 8_000.0, 2.0, (800.0, 8_000.0)),
            Kind::Socket => Self::new(200.0, 12_000.0, 2.0, (800.0, 8_000.0)),
            Kind::File => Self::new(100.0, 8_000.0, 3.0, (400.0, 4_000.0)),
            Kind::Terminal => Self {
                block_byte_ns: (13.0, 32.0),
                ..Self::new(250.0, 12_000.0, 60.0, (25.0, 70.0))
            },
            Kind::Device | Kind::Other | Kind::Unknown => {
                Self::new(40.0, 20_000.0, 60.0, (20.0, 1e6))
            }
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
        let size = mean_size as f64;
        (size / (size + self.bytes.1), size / (size + self.bytes.0))
    }
}

/// The kernel's clock tick, of which the parts of processor time are made, and the unit in which it tells them.
const TICK_NS: f64 = 4e6;
const UNIT_NS: f64 = 10e6;
/// Chance is allowed for by so many standard deviations.
const CHANCE: f64 = 1.5;
/// A system call that reads, a page fault: what the kernel's time is spent on besides writing.
const READ_NS: f64 = 200.0;
const FAULT_NS: f64 = 400.0;

/// What the writes of a process took.
pub(super) struct Times {
    pub(super) busy_ns: f64,
    pub(super) in_kernel_ns: Interval,
    pub(super) own_ns: Interval,
}

/// From the first write of a process on: in the calls, on a processor, and its own between them.
pub(super) fn times(process: &Watched, kind: Kind) -> Times {
    let (io, processor) = (process.own(), process.processor());
    let (start, unseen) = match process.start {
        // It took as long for each write before it was first seen as after that.
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
    let total_ns = (processor.total_ns as f64 - start_ns).max(0.0);
    let (user, system) = (processor.user_ns as f64, processor.system_ns as f64);
    // The parts of a start are known in coarse units only.
    let coarse_ns = UNIT_NS.min(start_ns / 2.0)
        + if process.is_rounded() {
            UNIT_NS / 2.0
        } else {
            0.0
        };
    let start_user = if start.user_ns + start.system_ns > 0 {
        start_ns * start.user_ns as f64 / (start.user_ns + start.system_ns) as f64
    } else {
        start_ns / 2.0
    };
    let user = (user - start_user).max(0.0);
    let system = (system - (start_ns - start_user)).max(0.0);
    // As if one more tick had been seen of each: of few ticks not much follows.
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
    let (least_ns, most_ns) = Cost::of(kind).bounds(io.write_calls, io.bytes_written);
    let in_kernel_ns = in_program
        .taken_from(busy_ns)
        .within(least_ns, most_ns)
        .within(0.0, busy_ns);
    Times {
        busy_ns,
        in_kernel_ns,
        own_ns: in_program.within(0.0, busy_ns - in_kernel_ns.low),
    }
}

/// What a call costs beside its bytes, at most, where they are many.
const BLOCK_CALL_NS: f64 = 3_000.0;

/// What becomes of the time of a stream when the program follows the advice for its language.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    pub(super) saved_ns: Interval,
    /// What stays, as far as it is the stream's.
    pub(super) left_ns: Interval,
}

pub(super) fn in_blocks(stream: &Stream) -> Change {
    let kind = stream.target.kind;
    let (calls, waiting) = (stream.calls as f64, stream.waiting_ns as f64);
    let in_kernel = stream.in_kernel_ns;
    let at_most = |most| Change {
        saved_ns: Interval::between(0.0, most),
        ..Change::default()
    };
    if !stream.could_be_larger() {
        // Even larger blocks would save calls, but hardly time.
        return Change {
            saved_ns: Interval {
                high: (calls * BLOCK_CALL_NS).min(in_kernel.high),
                ..Interval::default()
            },
            ..Change::default()
        };
    }
    if stream.language == Language::Shell {
        // Its writes stay as many; another process makes them where they are dear.
        return match kind {
            Kind::Terminal => at_most(in_kernel.high * 0.7 + waiting),
            _ => at_most(in_kernel.high),
        };
    }
    let cost = Cost::of(kind);
    let (least_left, most_left) = cost.left(stream.mean_size());
    let bytes = stream.bytes as f64;
    let kernel_left = Interval {
        low: (in_kernel.low * least_left).max(bytes * cost.block_byte_ns.0),
        likely: in_kernel.likely * least_left.midpoint(most_left),
        high: (in_kernel.high * most_left).max(bytes * cost.block_byte_ns.1),
    }
    .within(0.0, in_kernel.high);
    // A reader that is the limit takes as long for large writes as for small ones, or not: it reads larger ones, too.
    let waiting_left = if stream.reader_keeps_up() { 0.4 } else { 1.0 };
    let waiting_left = Interval::between(0.0, waiting_left * waiting);
    let (own_left, own_saved) = match stream.busy_ns {
        Some(busy_ns) => {
            let left = own_left(stream);
            (left, left.taken_from(busy_ns - in_kernel.likely))
        }
        None => {
            let printing = stream.language.printing(kind);
            let (least, most) = printing.map_or(UNKNOWN_CALL_NS, |printing| printing.call_ns);
            let most = (most * calls).min(stream.own_ns.high);
            let saved = Interval::between((least * calls).min(most), most);
            (Interval::default(), saved)
        }
    };
    // Where the sum is known, more in the kernel is less of the program's own.
    let kernel = match stream.busy_ns {
        Some(_) => Interval::exactly(in_kernel.likely),
        None => in_kernel,
    };
    let kernel_saved = Interval {
        low: kernel.low - kernel_left.high,
        likely: kernel.likely - kernel_left.likely,
        high: kernel.high - kernel_left.low,
    };
    let saved = own_saved + kernel_saved + waiting_left.taken_from(waiting);
    Change {
        saved_ns: saved.within(0.0, f64::INFINITY),
        left_ns: own_left + kernel_left + waiting_left,
    }
}

/// What a call costs in the code of a program in an unknown language.
const UNKNOWN_CALL_NS: (f64, f64) = (30.0, 300.0);
const UNKNOWN_LINE_NS: f64 = 15.0;

/// What differs from printing alone by more than this part of an interval is more than chance.
const BY_CHANCE: f64 = 1.2;

/// The program's own time that is left. Programs that write much mostly do nothing else, and then it is what printing in
/// large blocks takes in their language; what chance does not explain so is other work, which stays.
fn own_left(stream: &Stream) -> Interval {
    let (own, calls, lines) = (stream.own_ns, stream.calls as f64, stream.lines());
    let printing = stream.language.printing(stream.target.kind);
    if let Some(Printing { call_ns, line_ns }) = printing
        && own.likely - BY_CHANCE * (own.likely - own.low)
            <= calls * call_ns.0.midpoint(call_ns.1) + lines * line_ns.0.midpoint(line_ns.1)
    {
        return Interval::between(lines * line_ns.0, lines * line_ns.1);
    }
    let Some(Printing { call_ns, line_ns }) = printing else {
        let least = (lines * UNKNOWN_LINE_NS).min(own.high);
        return Interval::between(least, (own.high - calls * UNKNOWN_CALL_NS.0).max(least));
    };
    let likely = own.likely - calls * call_ns.0.midpoint(call_ns.1);
    let error = ((own.high - own.low) / 2.0).hypot(calls * (call_ns.1 - call_ns.0) / 2.0);
    let least = (lines * line_ns.0).min(own.high);
    Interval {
        low: likely - error,
        likely,
        high: likely + error,
    }
    .within(least, own.high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::model::findings::Descriptors;
    use crate::trace::model::tally::{Buffering, CallTally};
    use crate::trace::model::target::Target;

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
                ..Target::unknown()
            },
            readers: Vec::new(),
            calls: CALLS as u64,
            bytes: 10 * CALLS as u64,
            tally: CallTally::default(),
            buffering: Buffering::Line,
            busy_ns: Some((kernel_ns + own_ns) * CALLS),
            own_ns: around(own_ns),
            in_kernel_ns: around(kernel_ns),
            waiting_ns: 0,
        }
    }

    /// What is left of each write, at least and at most.
    fn left_a_call(stream: &Stream) -> (f64, f64) {
        let left = in_blocks(stream)
            .saved_ns
            .taken_from(stream.busy_ns.unwrap());
        (left.low / CALLS, left.high / CALLS)
    }

    #[test]
    fn of_a_program_that_does_nothing_but_print_the_printing_of_its_language_is_left() {
        let (low, high) = left_a_call(&lines(Language::Rust, 250.0, 90.0));
        assert!(
            (14.0..17.0).contains(&low) && (30.0..45.0).contains(&high),
            "{low} to {high}"
        );
        assert!(high <= 3.0 * low);
    }

    #[test]
    fn other_work_stays() {
        let (low, high) = left_a_call(&lines(Language::Rust, 250.0, 1090.0));
        assert!(low > 750.0 && high < 1350.0, "{low} to {high}");
    }

    #[test]
    fn what_an_unknown_program_does_between_its_writes_is_left_open() {
        let (low, high) = left_a_call(&lines(Language::Unrecognised, 250.0, 90.0));
        assert!(low < 20.0 && high > 75.0, "{low} to {high}");
    }

    #[test]
    fn a_reader_that_is_the_limit_may_stay_it() {
        let waiting = 10_000.0 * CALLS;
        let stream = Stream {
            waiting_ns: waiting as u64,
            ..lines(Language::C, 250.0, 90.0)
        };
        let saved = in_blocks(&stream).saved_ns;
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
        let saved = in_blocks(&blocks).saved_ns;
        assert_eq!((saved.low, saved.likely), (0.0, 0.0));
        assert!(saved.high <= 1000.0 * BLOCK_CALL_NS);
    }

    #[test]
    fn large_writes_leave_little_of_small_ones_and_most_of_themselves() {
        let left = |kind, size| Cost::of(kind).left(size);
        assert!(left(Kind::Pipe, 10).1 < 0.02);
        assert!(left(Kind::Null, 4096).1 < 0.01);
        assert!(left(Kind::Terminal, 4096).0 > 0.9);
        let (least, most) = left(Kind::Terminal, 40);
        assert!(least < most && 2.0 * least > 0.6);
    }
}
