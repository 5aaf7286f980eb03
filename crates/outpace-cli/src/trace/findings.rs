//! What a trace found, in one form for every mode: the streams, their calls and their time.

use super::calibrate::{self, Costs, Shape};
use super::exact::Entry;
use super::language::Language;
use super::printing::Small;
use super::procfs::IoCounters;
use super::tally::{Buffering, CallTally};
use super::target::{Kind, Target};
use super::watch::{Found, Watched};
use super::windows;
use crate::platform::ending::Ending;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// How the calls were observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Kernel counters and looks at `/proc`.
    Sampled { looks: u64 },
    /// Every call, by tracepoints; records lost for want of room.
    Tracepoints { lost: u64 },
    /// Every call, by stopping the program at it.
    Ptrace,
}

impl Mode {
    /// The word for it in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sampled { .. } => "sampled",
            Self::Tracepoints { .. } => "tracepoints",
            Self::Ptrace => "ptrace",
        }
    }
}

/// Which descriptors a stream stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Descriptors {
    One(i32),
    /// Both of 1 and 2, which are the same file.
    Both,
    /// 1 or 2: this mode cannot tell.
    Either,
    /// Any: the program has other files open for writing, and this mode cannot tell.
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
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) program: Rc<str>,
    pub(crate) language: Language,
    pub(crate) processes: usize,
    pub(crate) descriptors: Descriptors,
    pub(crate) target: Target,
    pub(crate) readers: Vec<(i32, String)>,
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    /// The lines that these are, or what stands for them.
    pub(crate) messages: u64,
    /// Every call in the exact modes, those somebody waited in otherwise.
    pub(crate) tally: CallTally,
    pub(crate) buffering: Buffering,
    /// The program's own processor time between these writes, where it could be sampled.
    pub(crate) own_ns: Option<u64>,
    /// Time in write calls, on a processor.
    pub(crate) in_kernel_ns: u64,
    /// Time in write calls, asleep until the reader made room.
    pub(crate) waiting_ns: u64,
    /// What a write costs on a destination of this kind with a reader that keeps up.
    pub(crate) costs: Option<Costs>,
    /// The same for where it is to write instead, when its language cannot write larger blocks there.
    pub(crate) detour: Option<Costs>,
}

impl Stream {
    pub(crate) fn writing_ns(&self) -> u64 {
        self.in_kernel_ns + self.waiting_ns
    }

    pub(crate) fn mean_size(&self) -> u64 {
        self.bytes / self.calls.max(1)
    }

    /// Its small writes, and what printing them costs.
    pub(crate) fn small(&self) -> Small {
        let kind = self.target.kind;
        Small::new(
            self.language,
            self.buffering,
            kind,
            self.calls,
            self.messages,
        )
    }

    /// Whether it would be written in larger blocks by a program that follows the advice for its language: it is written
    /// in messages, or in something small that is not known to be blocks.
    pub(crate) fn could_be_larger(&self) -> bool {
        let is_unknown = matches!(self.buffering, Buffering::Unknown | Buffering::TooFew)
            && !matches!(self.descriptors, Descriptors::Any);
        self.buffering.is_fine_grained()
            || (is_unknown && self.calls > 0 && self.mean_size() < LEAST_MEAN_OF_BLOCKS)
    }

    /// Whether the reader takes what is written as fast as a reader can that does nothing else.
    pub(crate) fn reader_keeps_up(&self) -> bool {
        let per_call = self.writing_ns() as f64 / self.calls.max(1) as f64;
        match self.costs {
            Some(costs) => {
                per_call <= KEEPS_UP * costs.call_ns.max(costs.byte_ns * self.mean_size() as f64)
            }
            None => self.waiting_ns * 2 <= self.writing_ns(),
        }
    }
}

/// Shorter writes, on average, are messages rather than blocks.
const LEAST_MEAN_OF_BLOCKS: u64 = 1024;

/// A reader that makes writes this much slower than the idle one of the calibration is slow.
const KEEPS_UP: f64 = 2.0;

/// Everything found.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) command: Vec<String>,
    pub(crate) root: i32,
    pub(crate) mode: Mode,
    pub(crate) ending: Option<Ending>,
    pub(crate) wall_ns: u64,
    /// The part of `wall_ns` that is the tracing's own.
    pub(crate) overhead_ns: u64,
    /// The part of it that the program was ready to run and had no processor, which is nobody's writing.
    pub(crate) delayed_ns: u64,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) streams: Vec<Stream>,
    /// Write calls and bytes to other files, and the time in them.
    pub(crate) elsewhere: Elsewhere,
    /// Of the whole tree, by the kernel's accounting; covers processes too short-lived to be seen.
    pub(crate) tree: Option<IoCounters>,
    /// What this mode could not see.
    pub(crate) notes: Vec<String>,
}

/// Writes that went to no stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elsewhere {
    pub(crate) calls: u64,
    pub(crate) bytes: u64,
    pub(crate) writing_ns: u64,
}

/// Calibrations, one for each kind of destination and size.
#[derive(Default)]
pub(crate) struct Calibrations {
    costs: HashMap<(Kind, Shape), Option<Costs>>,
    entry_ns: OnceCell<f64>,
    sample_ns: OnceCell<f64>,
}

/// Lines of fragments whose ends were not seen: few are shorter.
const SHORT_LINE: f64 = 12.0;

impl Calibrations {
    /// Of the writes that were made, and of the blocks that a program of this language would write instead.
    fn of(&mut self, target: &Target, shape: Shape) -> Option<Costs> {
        self.at(target.kind, Path::new(&target.path), shape)
    }

    /// What a shell's writes would cost if another process wrote them to the terminal.
    fn of_detour(&mut self, language: Language, target: &Target, shape: Shape) -> Option<Costs> {
        let has_one = language == Language::Shell && target.kind == Kind::Terminal;
        has_one.then(|| self.at(Kind::Pipe, Path::new(""), shape))?
    }

    fn entry_ns(&self) -> f64 {
        *self.entry_ns.get_or_init(calibrate::entry_ns)
    }

    fn sample_ns(&self) -> f64 {
        *self.sample_ns.get_or_init(windows::sample_ns)
    }

    fn at(&mut self, kind: Kind, path: &Path, shape: Shape) -> Option<Costs> {
        let rounded = Shape {
            size: shape.size.next_power_of_two(),
            line: shape.line.next_power_of_two(),
            ..shape
        };
        let entry = self.costs.entry((kind, rounded));
        *entry.or_insert_with(|| calibrate::costs(kind, path, shape).ok())
    }
}

/// What a program of this language wrote, of which some writes were seen to end, and some of these a line.
fn shape(language: Language, calls: u64, bytes: u64, tails: (u64, u64)) -> Shape {
    let size = bytes as f64 / calls.max(1) as f64;
    let line = match tails {
        (seen @ ENOUGH_LOOKS.., ends @ 1..) => size * seen as f64 / ends as f64,
        _ => size.max(SHORT_LINE),
    };
    Shape {
        size: size as usize,
        line: line as usize,
        large: language.block_size(),
    }
}

/// A system call that reads, a page fault: what the kernel's time is spent on besides writing.
const READ_NS: u64 = 200;
const FAULT_NS: u64 = 400;
/// Processor time is counted in ticks of this length.
const TICK_NS: u64 = 10_000_000;

/// The streams of the default mode.
pub(crate) fn sampled(found: &Found, calibrations: &mut Calibrations) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    for process in &found.processes {
        for stream in of_process(process, calibrations) {
            let twin = streams.iter_mut().find(|other| {
                other.program == stream.program
                    && other.descriptors == stream.descriptors
                    && other.target.identity == stream.target.identity
            });
            match twin {
                Some(twin) => {
                    twin.processes += 1;
                    twin.calls += stream.calls;
                    twin.bytes += stream.bytes;
                    twin.messages += stream.messages;
                    twin.own_ns = twin.own_ns.zip(stream.own_ns).map(|(a, b)| a + b);
                    twin.in_kernel_ns += stream.in_kernel_ns;
                    twin.waiting_ns += stream.waiting_ns;
                    twin.tally.merge(&stream.tally);
                    if twin.buffering != stream.buffering {
                        twin.buffering = Buffering::Unknown;
                    }
                }
                None => streams.push(stream),
            }
        }
    }
    for stream in &mut streams {
        stream.readers = stream.target.readers();
    }
    streams
}

fn of_process(process: &Watched, calibrations: &mut Calibrations) -> Vec<Stream> {
    let io = process.own();
    if io.write_calls == 0 && process.seen.is_empty() {
        return Vec::new();
    }
    let waiting_ns: u64 = process.seen.values().map(|seen| seen.waiting_ns).sum();
    let (descriptors, main) = attribute(process);
    let target = main
        .and_then(|descriptor| process.targets.get(&descriptor).cloned())
        .unwrap_or_else(Target::unknown);
    let tallies = process.seen.values().map(|seen| &seen.tally);
    let tails = tallies.fold((0, 0), |(seen, ends), tally| {
        (seen + tally.tails_seen, ends + tally.line_ends)
    });
    let shape = shape(process.language, io.write_calls, io.bytes_written, tails);
    let costs = calibrations.of(&target, shape);
    let detour = calibrations.of_detour(process.language, &target, shape);
    let usage = process.own_usage();
    let (reads_before, faults_before) = process.pace.before();
    let other_ns = io.read_calls.saturating_sub(reads_before) * READ_NS
        + usage.minor_faults.saturating_sub(faults_before) * FAULT_NS;
    let spent = process
        .pace
        .spent(io.write_calls, waiting_ns, calibrations.sample_ns());
    let calls = io.write_calls as f64;
    let expected_ns = costs.map_or(0.0, |costs| costs.call_ns * calls);
    let tally = merged(process, main, descriptors);
    let buffering = sampled_buffering(process, &tally, io, descriptors);
    let messages = shape.messages(io.write_calls, io.bytes_written);
    let own_ns = spent.map(|spent| {
        let own_ns = if buffering.is_fine_grained() {
            let calls = io.write_calls;
            Small::new(process.language, buffering, target.kind, calls, messages)
                .likely_ns(spent.own)
        } else {
            spent.own.per_call_ns * calls
        };
        (own_ns as u64).min(spent.busy_ns)
    });
    let in_kernel_ns = match spent.zip(own_ns) {
        Some((spent, own_ns)) => (spent.busy_ns - own_ns)
            .saturating_sub(other_ns + waiting_ns)
            .min(costs.map_or(0, |costs| (costs.at_worst_ns() * calls) as u64)),
        // The split of processor time between program and kernel comes from clock ticks, and a tick that falls
        // into the way in or out of the kernel counts for the program. And such writes cost no less than they are
        // known to.
        None => (usage.system_ns + (calibrations.entry_ns() * calls) as u64)
            .saturating_sub(other_ns)
            .clamp(expected_ns as u64, (expected_ns * 3.0) as u64)
            .min(usage.user_ns + usage.system_ns + TICK_NS),
    };
    let mut main_waiting_ns = waiting_ns;
    let mut streams = Vec::new();
    for (descriptor, seen) in &process.seen {
        if !is_main(*descriptor, main, descriptors)
            && let Some(other) = process.targets.get(descriptor)
        {
            // Another stream that somebody waited for: its time is known, its calls are not.
            main_waiting_ns = main_waiting_ns.saturating_sub(seen.waiting_ns);
            if seen.waiting_ns * 20 >= waiting_ns && is_stream(*descriptor, other) {
                streams.push(Stream {
                    program: Rc::clone(&process.program),
                    language: process.language,
                    processes: 1,
                    descriptors: Descriptors::One(*descriptor),
                    target: other.clone(),
                    readers: Vec::new(),
                    calls: 0,
                    bytes: 0,
                    messages: 0,
                    tally: seen.tally.clone(),
                    buffering: Buffering::Unknown,
                    own_ns: None,
                    in_kernel_ns: 0,
                    waiting_ns: seen.waiting_ns,
                    costs: None,
                    detour: None,
                });
            }
        }
    }
    streams.insert(
        0,
        Stream {
            program: Rc::clone(&process.program),
            language: process.language,
            processes: 1,
            descriptors,
            target,
            readers: Vec::new(),
            calls: io.write_calls,
            bytes: io.bytes_written,
            messages,
            tally,
            buffering,
            own_ns,
            in_kernel_ns,
            waiting_ns: main_waiting_ns,
            costs,
            detour,
        },
    );
    streams
}

/// Whether the counted calls are judged by what was seen of this descriptor.
fn is_main(descriptor: i32, main: Option<i32>, descriptors: Descriptors) -> bool {
    main == Some(descriptor) || descriptors == Descriptors::Both
}

/// What was seen of the descriptors that the counted calls are judged by.
fn merged(process: &Watched, main: Option<i32>, descriptors: Descriptors) -> CallTally {
    let mut tally = CallTally::default();
    for (descriptor, seen) in &process.seen {
        if is_main(*descriptor, main, descriptors) {
            tally.merge(&seen.tally);
        }
    }
    tally
}

fn is_stream(descriptor: i32, target: &Target) -> bool {
    (0..=2).contains(&descriptor) || matches!(target.kind, Kind::Terminal)
}

/// Looks at waiting threads needed before they say which descriptor is written to.
const ENOUGH_LOOKS: u64 = 10;

/// Which descriptors the counted calls went to, and the one to judge them by.
fn attribute(process: &Watched) -> (Descriptors, Option<i32>) {
    let looks: u64 = process.seen.values().map(|seen| seen.looks).sum();
    let target = |descriptor| process.targets.get(&descriptor);
    let same = target(1)
        .zip(target(2))
        .is_some_and(|(out, err)| out.identity == err.identity);
    let most_seen = process.seen.iter().max_by_key(|(_, seen)| seen.looks);
    if let Some((&descriptor, _)) =
        most_seen.filter(|(_, seen)| looks >= ENOUGH_LOOKS && seen.looks * 10 >= looks * 9)
    {
        return (Descriptors::One(descriptor), Some(descriptor));
    }
    if process.writes_elsewhere {
        return (
            Descriptors::Any,
            most_seen.map(|(descriptor, _)| *descriptor).or(Some(1)),
        );
    }
    match (target(1), target(2)) {
        (Some(_), Some(_)) if same => (Descriptors::Both, Some(1)),
        (Some(_), Some(_)) => (Descriptors::Either, Some(1)),
        (Some(_), None) => (Descriptors::One(1), Some(1)),
        (None, Some(_)) => (Descriptors::One(2), Some(2)),
        (None, None) => (Descriptors::Any, None),
    }
}

/// What the kernel's counts and the writes that were seen say about the buffering; anything that
/// rests on less than both is left open.
fn sampled_buffering(
    process: &Watched,
    tally: &CallTally,
    io: IoCounters,
    descriptors: Descriptors,
) -> Buffering {
    let mean = io.bytes_written / io.write_calls.max(1);
    let seen = tally.sizes.count();
    let seen_mean = tally.sizes.sum() / seen.max(1);
    let agrees = mean > 0 && (mean / 2..=mean * 2).contains(&seen_mean);
    let named = match tally.buffering() {
        Buffering::Block { .. } if seen < ENOUGH_LOOKS => None,
        other => Some(other),
    };
    if let (true, true, Descriptors::One(_), Some(named)) =
        (agrees, seen >= ENOUGH_LOOKS, descriptors, named)
    {
        return in_language(named, process.language);
    }
    match io.write_calls {
        0 => Buffering::Nothing,
        1..8 => Buffering::TooFew,
        _ if descriptors == Descriptors::Any => Buffering::Unknown,
        _ if mean < 256 => Buffering::Small,
        _ => Buffering::Unknown,
    }
}

/// A print that writes a line and a line buffer that is full make the same calls; which of the two
/// it is follows from the language.
fn in_language(buffering: Buffering, language: Language) -> Buffering {
    match buffering {
        Buffering::Line if language.prints_unbuffered() => Buffering::Unbuffered,
        other => other,
    }
}

/// Calls that took less have not slept; under ptrace, where each takes two stops, much more is normal.
const WAIT_NS: u64 = 10_000;
const STOPPED_WAIT_NS: u64 = 250_000;

/// The streams of the exact modes, and what went elsewhere. `inside_ns` is the part of every
/// measured duration that is the measuring's own.
pub(crate) fn exact(
    entries: Vec<Entry>,
    mode: Mode,
    inside_ns: u64,
    calibrations: &mut Calibrations,
) -> (Vec<Stream>, Elsewhere) {
    let mut streams = Vec::new();
    let mut elsewhere = Elsewhere::default();
    let outputs: Vec<(u64, u64)> = entries
        .iter()
        .filter(|entry| (0..=2).contains(&entry.descriptor))
        .map(|entry| entry.target.identity)
        .collect();
    for entry in entries {
        let time_ns = entry.tally.durations_ns.sum();
        let duplicate =
            entry.target.kind != Kind::Unknown && outputs.contains(&entry.target.identity);
        if !is_stream(entry.descriptor, &entry.target) && !duplicate {
            elsewhere.calls += entry.tally.calls;
            elsewhere.bytes += entry.tally.bytes;
            elsewhere.writing_ns += time_ns;
            continue;
        }
        let tails = (entry.tally.tails_seen, entry.tally.line_ends);
        let (calls, bytes) = (entry.tally.calls, entry.tally.bytes);
        let shape = shape(entry.language, calls, bytes, tails);
        let costs = calibrations.of(&entry.target, shape);
        let shortest_wait_ns = if mode == Mode::Ptrace {
            STOPPED_WAIT_NS
        } else {
            WAIT_NS
        };
        let waiting_ns = match entry.target.kind {
            // There is nobody to wait for.
            Kind::Null => 0,
            _ => entry.tally.durations_ns.excess(shortest_wait_ns),
        };
        let calls = entry.tally.calls as f64;
        let in_kernel_ns = match (mode, costs) {
            // Stopping a thread takes longer than most writes: what they cost is known better.
            (Mode::Ptrace, Some(costs)) => (costs.call_ns * calls) as u64,
            _ => {
                let least_ns = costs.map_or(0.0, |costs| costs.call_ns * calls);
                (time_ns - waiting_ns)
                    .saturating_sub(inside_ns * entry.tally.calls)
                    .max(least_ns as u64)
            }
        };
        streams.push(Stream {
            buffering: in_language(entry.tally.buffering(), entry.language),
            readers: entry.target.readers(),
            program: entry.program,
            language: entry.language,
            processes: entry.processes.len(),
            descriptors: Descriptors::One(entry.descriptor),
            target: (*entry.target).clone(),
            calls: entry.tally.calls,
            bytes: entry.tally.bytes,
            messages: shape.messages(entry.tally.calls, entry.tally.bytes),
            own_ns: None,
            in_kernel_ns,
            waiting_ns,
            costs,
            detour: calibrations.of_detour(entry.language, &entry.target, shape),
            tally: entry.tally,
        });
    }
    (streams, elsewhere)
}
