//! Which streams were written to, by which programs, how they are buffered and what that took.

use super::estimate::{self, Cost};
use crate::platform::readers::{self, Observed, Readers, Slow};
use crate::trace::collect::exact::LedgerEntry;
use crate::trace::collect::watched::{SampledWrites, Watched, unseen};
use crate::trace::model::{
    Buffering, Descriptors, Elsewhere, FEWEST, Interval, Kind, Language, Recording, Stream, Target,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::{Add, RangeInclusive};
use std::rc::Rc;

/// The streams of the default mode.
pub(crate) fn sampled(processes: &[Watched], run: &Recording) -> Vec<Stream> {
    let mut streams: Vec<Stream> = Vec::new();
    let is_outlived = outlived(processes, run.wall_ns / 10);
    let converse = conversing(processes);
    // By place, in the order of their beginnings.
    let mut written: HashMap<(u64, u64), Vec<&Watched>> = HashMap::new();
    for process in processes {
        for mut stream in of_process(process) {
            stream.is_outlived = is_outlived(process);
            stream.is_answered = converse.contains(&process.process);
            let place = written.entry(stream.slept_in.identity).or_default();
            place.extend(Some(process).filter(|_| stream.calls >= FEWEST));
            let twin = streams.iter_mut().find(|other| {
                other.program == stream.program
                    && other.descriptors == stream.descriptors
                    && other.target.identity == stream.target.identity
            });
            match twin {
                Some(twin) => merge(twin, &stream),
                None => streams.push(stream),
            }
        }
    }
    let mut places = Places(run, HashMap::new());
    for stream in &mut streams {
        let beside = |pair: &[&Watched]| {
            let [calls, others] = [pair[0], pair[1]].map(|process| process.own().write_calls);
            let at_once = pair[1].first_ns < pair[0].last_ns && pair[0].process != pair[1].process;
            at_once && calls.min(others) * 10 >= calls.max(others)
        };
        let writers = written.entry(stream.slept_in.identity).or_default();
        stream.is_mixed |= writers.windows(2).any(beside);
        let of_it = writers.iter().filter(|it| it.program == stream.program);
        estimate::share_clock(stream, &Vec::from_iter(of_it.copied()));
        let opens_it = |process: &Watched, descriptors: RangeInclusive<i32>| {
            let mut targets = process.targets.range(descriptors);
            targets.any(|(_, target)| target.identity == stream.slept_in.identity)
        };
        let writes_it = |one: &&Watched| one.own().write_calls > 0 && opens_it(one, 1..=i32::MAX);
        let is_pipe = stream.slept_in.kind == Kind::Pipe;
        let is_read_within = is_pipe && processes.iter().any(|process| opens_it(process, 0..=0));
        let writers = processes.iter().filter(writes_it);
        let threads = writers.map(|process| process.threads.that_write().count().max(1));
        if places.are_no_wait(stream, threads.sum(), is_read_within) {
            stream.awaited_ns = stream.waiting_ns * u64::from(is_read_within);
            (stream.waiting_ns, stream.overlapped_ns, stream.syncing_ns) = (0, 0, 0);
        }
    }
    // Of a stream whose calls are counted with another one's, nothing is left where its sleeps were no wait.
    streams.retain(|stream| stream.calls > 0 || stream.waiting_ns + stream.awaited_ns > 0);
    streams
}

/// Processes that wait for input between their writes, to one who may wait for the answer: a co-process, a filter between two pipes
/// of whoever asks it. And those that have started one of them, and ask it.
fn conversing(processes: &[Watched]) -> HashSet<i32> {
    let writes = |process: &Watched| process.own().write_calls;
    // It may read byte by byte, and an answer may have 16 lines.
    let talks = |process: &&Watched| {
        let waits = process.own().read_calls.min(process.turns);
        process.waits_elsewhere() && waits >= FEWEST && waits * 16 >= writes(process)
    };
    let talking: Vec<&Watched> = processes.iter().filter(talks).collect();
    let mut conversing = HashSet::new();
    for answering in &talking {
        let ends = answering.targets.range(0..=1);
        let ways = ends.filter(|(_, target)| matches!(target.kind, Kind::Pipe | Kind::Socket));
        // What a server with a socket reads comes from there.
        if ways.count() < 2 || !answering.sockets.is_empty() {
            continue;
        }
        // It may write as often elsewhere.
        let asks = |other: &&&Watched| {
            other.process == answering.started_by && writes(other) <= 4 * writes(answering)
        };
        let asking = talking.iter().filter(asks).map(|asking| asking.process);
        conversing.extend(asking.chain([answering.process]));
    }
    conversing
}

/// Tells of each process whether one that does not wait for it ran beside it, and for so long after it.
fn outlived(processes: &[Watched], long_ns: u64) -> impl Fn(&Watched) -> bool {
    // Of thousands of short ones, few are looked through for each.
    let lived_long = |process: &&Watched| process.last_ns - process.first_ns > long_ns;
    let long: Vec<&Watched> = processes.iter().filter(lived_long).collect();
    let parent = |process: &Watched| (process.process, process.stat.parent);
    let parents: HashMap<i32, i32> = processes.iter().map(parent).collect();
    move |process| {
        let parent = |child: &i32| parents.get(child).copied();
        let waiting = || std::iter::successors(Some(process.process), parent);
        long.iter().any(|other| {
            let is_beside = other.first_ns < process.last_ns;
            let waits = || (waiting().take(parents.len() + 1)).any(|id| id == other.process);
            is_beside && other.last_ns > process.last_ns + long_ns && !waits()
        })
    }
}

/// The places that were written to, with the readers of each, which are looked for once.
struct Places<'a>(&'a Recording, HashMap<(u64, u64), Option<Readers>>);

impl Places<'_> {
    /// Finds the readers of a stream that so many threads write, and says whether sleeps in its writes have other causes than its
    /// destination: memory takes each write at once, and the time of a reader that is traced, too, is not a matter of output. A
    /// reader that ended with the program was part of it, even if its input was not seen.
    fn are_no_wait(&mut self, stream: &mut Stream, threads: usize, is_read_within: bool) -> bool {
        if stream.slept_in.kind == Kind::File && threads > 1 {
            // They wait for each other: the kernel lets one in, whose time is in its write already.
            stream.slept_in = Target::default();
            stream.waiting_ns = stream.waiting_ns.saturating_sub(stream.overlapped_ns);
            stream.overlapped_ns = 0;
        }
        let place = &stream.slept_in;
        let known = self.1.entry(place.identity);
        let found = known.or_insert_with(|| place.end().and_then(|end| end.readers()));
        stream.readers = found.clone().unwrap_or_default();
        let observed = self.0.readers.get(&place.identity);
        let slow = |all: &Observed| all.slow(stream.waiting_ns, &stream.readers);
        stream.by_readers = observed.and_then(slow);
        // Larger writes do not make a slow reader faster.
        let readers = stream.readers.iter().filter(|_| place.kind == Kind::Pipe);
        let computed_ns = readers.filter_map(|reader| readers::computed_ns(reader.0, stream.calls));
        let taken_ns = stream.by_readers.iter().map(Slow::taken_ns);
        let taken_ns = taken_ns.chain(computed_ns);
        let spare_ns = taken_ns.map(|ns| Interval::of(ns).taken_from(self.0.now_ns() as f64));
        stream.spare_ns = spare_ns.reduce(Interval::at_most);
        let ended_with_it = || self.0.ending.is_some() && found.is_none() && !place.is_ours();
        match place.kind {
            Kind::Pipe => is_read_within || ended_with_it(),
            _ => place.is_memory(),
        }
    }
}

/// Adds the same stream of another process.
fn merge(stream: &mut Stream, other: &Stream) {
    if stream.slept_in.identity != other.slept_in.identity {
        stream.slept_in = Target::default();
    }
    // A few writes do not outweigh many.
    if matches!(stream.buffering, Buffering::TooFew | Buffering::Nothing) {
        stream.buffering = other.buffering;
    } else if !matches!(other.buffering, Buffering::TooFew | Buffering::Nothing)
        && stream.buffering != other.buffering
    {
        stream.buffering = Buffering::Unknown;
    }
    stream.processes += 1;
    macro_rules! add {
        ($($field:ident)*) => { $(stream.$field = stream.$field.add(other.$field);)* };
    }
    add!(calls bytes own_ns in_kernel_ns waiting_ns waits overlapped_ns syncing_ns reading_ns handed_ns);
    stream.is_reopened |= other.is_reopened;
    stream.is_outlived &= other.is_outlived;
    stream.is_answered &= other.is_answered;
    stream.is_mixed |= other.is_mixed;
    stream.tally.merge(&other.tally);
}

fn of_process(process: &Watched) -> Vec<Stream> {
    let io = process.own();
    if io.write_calls == 0 && process.seen.is_empty() {
        return Vec::new();
    }
    let seen_ns: u64 = process.seen.values().map(|seen| seen.waiting_ns).sum();
    let waiting_ns = process.waiting_ns();
    let part = |ns: u64| (waiting_ns as f64 * ns as f64 / seen_ns.max(1) as f64) as u64;
    let (descriptors, main) = attribute(process);
    let target = |descriptor| process.targets.get(&descriptor);
    let place = process.reopened().or(main.and_then(target));
    let slept_in = place.cloned().unwrap_or_default();
    let target = match (descriptors, target(1), target(2)) {
        (Descriptors::Either, Some(out), Some(err)) => out.or(err),
        _ => slept_in.clone(),
    };
    let of_program = Stream {
        program: Rc::clone(&process.program),
        language: process.language,
        processes: 1,
        ..Stream::default()
    };
    let mut stream = Stream {
        descriptors,
        target,
        slept_in,
        calls: io.write_calls,
        bytes: io.bytes_written,
        waiting_ns,
        waits: process.seen.values().map(|seen| seen.looks).sum(),
        ..of_program.clone()
    };
    let (mut others, mut credited) = (Vec::new(), 0.0);
    for (&descriptor, seen) in &process.seen {
        let is_err = descriptors == Descriptors::Both && descriptor == 2;
        if main == Some(descriptor) || is_err {
            stream.is_mixed = is_err && seen.peeked > 0;
            // Its samples stand for the counted calls.
            stream.tally.merge(&seen.tally);
            credited += seen.credited;
            stream.syncing_ns += part(seen.syncing_ns);
            stream.overlapped_ns += part(seen.overlapped_ns);
        } else if let Some(other) = process.targets.get(&descriptor) {
            // A thread waited for another stream, too: its time is known, its calls are not.
            let others_ns = part(seen.waiting_ns);
            stream.waiting_ns = stream.waiting_ns.saturating_sub(others_ns);
            let other = Stream {
                descriptors: Descriptors::One(descriptor),
                target: other.clone(),
                slept_in: other.clone(),
                tally: seen.tally.clone(),
                waiting_ns: others_ns,
                waits: seen.looks,
                overlapped_ns: part(seen.overlapped_ns),
                ..of_program.clone()
            };
            let counts = |other: &_| others_ns * 20 >= waiting_ns.max(1) && is_output(other);
            others.extend(Some(other).filter(counts));
        }
    }
    stream.waiting_ns = stream.waiting_ns.saturating_sub(stream.syncing_ns);
    // Node.js joins messages, so that some of its own are large.
    let may_differ = !process.has_one_place() && process.language != Language::NODE;
    let is_shown = credited * 2.0 >= io.write_calls as f64 && may_differ;
    let seen_mean = stream.tally.mean_size().filter(|_| is_shown);
    if let Some(mean) = seen_mean.filter(|mean| mean * 2 < stream.mean_size())
        && matches!(descriptors, Descriptors::One(_) | Descriptors::Both)
    {
        // A few large writes, which are not of this stream, have most of the bytes.
        stream.bytes = stream.calls * mean;
    }
    stream.buffering = sampled_buffering(&stream);
    estimate::times(process, &mut stream);
    if descriptors == Descriptors::Any {
        // The likely one, which it may not have written to.
        stream.target = Target::default();
    }
    others.insert(0, stream);
    others
}

fn is_output(stream: &Stream) -> bool {
    matches!(stream.descriptors, Descriptors::One(0..=2)) || stream.target.kind == Kind::Terminal
}

/// The descriptors to which the counted calls went, and the one to judge them by. An exact look decides, else the sampled waiting, else
/// the open descriptors.
fn attribute(process: &Watched) -> (Descriptors, Option<i32>) {
    let target = |descriptor| process.targets.get(&descriptor);
    let both = target(1).zip(target(2));
    let is_reopened = process.reopened().is_some();
    let same = !is_reopened && both.is_some_and(|(out, err)| out.identity == err.identity);
    let seen = || process.seen.iter();
    let calls = process.own().write_calls;
    let credited = seen().map(|(_, seen)| seen.credited).sum::<f64>() as u64;
    let is_all =
        process.is_listened_to || process.has_one_place() || calls <= credited + unseen(calls);
    let all_peeked: u64 = seen().map(|(_, seen)| seen.peeked).sum();
    let is_peeked = is_all && all_peeked >= FEWEST;
    let weight = |seen: &SampledWrites| [seen.looks, seen.credited as u64][usize::from(is_peeked)];
    let all: u64 = seen().map(|(_, seen)| weight(seen)).sum();
    let written = seen().filter(|(_, seen)| weight(seen) > 0);
    let most = written.max_by_key(|(_, seen)| weight(seen));
    // Between looks it may have written elsewhere, and where no write sleeps.
    let is_open = (process.is_redirected && !is_reopened)
        || (process.is_split && process.is_listened_to)
        || (process.writes_elsewhere && (!is_peeked || process.is_half_heard));
    // A few short looks may all have found the same one of two in turn: the writes that were seen tell that.
    if let Some((&descriptor, most)) = most
        && all >= FEWEST
        && weight(most) * 10 >= all * 9
        && (!is_peeked || most.peeked * 10 >= all_peeked * 9)
        && !is_open
    {
        // A message to itself is no output.
        let is_private = target(descriptor).is_some_and(|target| target.kind == Kind::Other);
        let renames = [Language::NODE, Language::SHELL].contains(&process.language);
        let is_both = same && (renames || process.seen.get(&2).is_some_and(|err| err.peeked > 0));
        return match descriptor {
            _ if is_private => (Descriptors::Any, Some(1)),
            1 if is_both => (Descriptors::Both, Some(1)),
            _ => (Descriptors::One(descriptor), Some(descriptor)),
        };
    }
    let most = most.map(|(&descriptor, _)| descriptor);
    if process.writes_elsewhere || process.writes_to_itself() || process.is_redirected {
        return (Descriptors::Any, most.or(Some(1)));
    }
    let open = || (1..=2).find(|&stream| target(stream).is_some());
    let only = both.map_or_else(open, |_| process.filled());
    let only = only.filter(|only| most.is_none_or(|most| most == *only));
    match only {
        _ if same => (Descriptors::Both, Some(1)),
        Some(stream) => (Descriptors::One(stream), only),
        None if both.is_some() => (Descriptors::Either, most.or(Some(1))),
        None => (Descriptors::Any, None),
    }
}

/// Writes that are shorter on average are small. Blocks are longer.
const SMALL_WRITES: u64 = 256;

/// The buffering that the kernel's counts and the sampled writes show.
fn sampled_buffering(stream: &Stream) -> Buffering {
    let (language, tally) = (stream.language, &stream.tally);
    let mean = stream.mean_size();
    let is_of_stream = matches!(stream.descriptors, Descriptors::One(_) | Descriptors::Both);
    if let Some(seen_mean) = tally.mean_size().filter(|_| is_of_stream) {
        let agrees = mean > 0 && (mean / 2..=mean * 2).contains(&seen_mean);
        let shown = in_language(tally.buffering(), language);
        // Any small write can show that not all of them are lines.
        if agrees || (shown == Buffering::Unbuffered && mean < SMALL_WRITES) {
            return shown;
        }
    }
    // Rust's `BufWriter` may write the rest of each block by itself: then the mean of 8192 and such rests is 4096.
    let sums = Buffering::of_sums(stream.calls, stream.bytes)
        .filter(|sums| language.name() != "Rust" || *sums != Buffering::Block { capacity: 4096 });
    match stream.calls {
        0 if stream.waiting_ns == 0 => Buffering::Nothing,
        0 => Buffering::Unknown,
        1..FEWEST => Buffering::TooFew,
        _ if stream.descriptors == Descriptors::Any || stream.hardly_writes() => Buffering::Unknown,
        _ if mean < SMALL_WRITES => in_language(Buffering::Small, language),
        _ => sums.unwrap_or_default(),
    }
}

/// A print of a line and a line buffer make the same calls: the language tells them apart. It also tells blocks from equal
/// messages of no customary capacity.
fn in_language(buffering: Buffering, language: Language) -> Buffering {
    let prints = language.prints_unbuffered();
    match buffering {
        Buffering::Line | Buffering::Small if prints => Buffering::Unbuffered,
        Buffering::Block { capacity } if prints && !capacity.is_power_of_two() => Buffering::Large,
        other => other,
    }
}

/// Shorter calls have not slept.
const WAIT_NS: u64 = 10_000;

/// The streams of the exact modes, and the writes to other files.
pub(crate) fn exact(entries: &[LedgerEntry], run: &Recording) -> (Vec<Stream>, Elsewhere) {
    let mut streams = Vec::new();
    let (mut elsewhere, mut places) = (Elsewhere::default(), Places(run, HashMap::new()));
    for entry in entries {
        let (mut stream, is_read_within) = (entry.stream.clone(), entry.is_read_within);
        let durations_ns = &entry.stream.tally.durations_ns;
        if !is_output(&stream) {
            elsewhere.calls += stream.calls;
            elsewhere.bytes += stream.bytes;
            elsewhere.writing_ns += durations_ns.sum();
            continue;
        }
        // The time in long calls beyond that of a call that has not slept.
        let calls = stream.calls as f64;
        let most_ns = Cost::of(stream.target.kind).most_ns(stream.calls, stream.bytes);
        let typical_ns = run.call_ns + most_ns / calls.max(1.0);
        let long_ns = durations_ns.excess(WAIT_NS, typical_ns as u64);
        let measured_ns = (durations_ns.sum() - long_ns) as f64;
        let added_ns = (calls * run.call_ns).min(measured_ns);
        let place = stream.target.identity;
        let of_it = (entries.iter()).filter(|of| of.stream.target.identity == place);
        let threads = of_it.map(|of| of.threads.len()).sum();
        stream.is_mixed = entry.turns * 10 >= stream.calls;
        let is_no_wait = places.are_no_wait(&mut stream, threads, is_read_within);
        let is_of_root = entry.threads.iter().eq([&run.root]);
        // A process that ends before it can be looked at is part of a pipeline whose reader is traced, too.
        let is_unseen = stream.target.kind == Kind::Unknown && !is_of_root;
        // In a long call, its thread may have lacked a processor instead.
        let asleep_ns = run.asleep_ns.filter(|_| is_of_root).unwrap_or(u64::MAX);
        let delayed_ns = run.delayed_ns * u64::from(is_of_root);
        let slept_ns = long_ns.saturating_sub(delayed_ns).min(asleep_ns)
            * u64::from(!is_no_wait && !is_unseen);
        let waiting_ns = slept_ns * u64::from(!stream.target.is_synced);
        let processes: BTreeSet<i32> = entry.used.iter().map(|used| used.0).collect();
        // The first thread of a process has its number.
        let are_first = entry.threads.is_subset(&processes);
        stream.overlapped_ns = waiting_ns * u64::from(!are_first);
        stream.buffering = in_language(stream.tally.buffering(), stream.language);
        stream.processes = processes.len();
        stream.own_ns = Interval::between(0.0, run.user_ns as f64);
        let in_kernel_ns = Interval::between(measured_ns - added_ns, measured_ns);
        stream.in_kernel_ns = in_kernel_ns.within(0.0, most_ns);
        (stream.waiting_ns, stream.waits) = (waiting_ns, stream.calls);
        stream.awaited_ns = long_ns * u64::from(is_read_within);
        // Both are of one sleep.
        stream.syncing_ns = asleep_ns.min(slept_ns + stream.syncing_ns) - waiting_ns;
        streams.push(stream);
    }
    (streams, elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::collect::exact::Ledger;
    use crate::trace::kernel::calls::{Call, WriteCall};
    use crate::trace::model::Mode;

    fn target(inode: u64) -> Target {
        Target {
            kind: Kind::Pipe,
            identity: (1, inode),
            ..Target::default()
        }
    }

    /// A process with these descriptors open, to files with these numbers.
    fn process(open: &[(i32, u64)]) -> Watched {
        let mut process = Watched::for_test(1000, 12_000);
        for &(descriptor, inode) in open {
            process.targets.insert(descriptor, target(inode));
        }
        process
    }

    fn seen(looks: u64, peeked: u64) -> SampledWrites {
        let mut seen = SampledWrites {
            looks,
            peeked,
            credited: peeked as f64,
            ..SampledWrites::default()
        };
        (0..looks + peeked).for_each(|_| seen.tally.sample(12, Some(true)));
        seen
    }

    #[test]
    fn what_is_open_says_which_stream_was_written_to_when_no_write_was_seen() {
        let descriptors = |open: &[(i32, u64)]| attribute(&process(open)).0;
        assert_eq!(descriptors(&[(1, 5)]), Descriptors::One(1));
        assert_eq!(descriptors(&[(2, 5)]), Descriptors::One(2));
        assert_eq!(descriptors(&[(1, 5), (2, 5)]), Descriptors::Both);
        assert_eq!(descriptors(&[(1, 5), (2, 6)]), Descriptors::Either);
        assert_eq!(descriptors(&[]), Descriptors::Any);
    }

    #[test]
    fn of_two_streams_whose_writes_were_not_told_apart_both_places_are_named() {
        let mut process = process(&[(1, 5), (2, 6)]);
        for (descriptor, path) in [(1, "pipe:[5]"), (2, "pipe:[6]")] {
            process.targets.get_mut(&descriptor).unwrap().path = path.to_owned();
        }
        process.seen.insert(1, seen(0, 18));
        process.seen.insert(2, seen(0, 6));
        let streams = sampled(&[process], &Recording::default());
        assert_eq!(streams[0].descriptors, Descriptors::Either);
        assert_eq!(streams[0].target.path, "pipe:[5] or pipe:[6]");
    }

    #[test]
    fn of_two_streams_whose_calls_were_not_told_apart_one_stands_alone_only_with_a_wait() {
        let names = |kind| {
            let mut process = process(&[(0, 6), (1, 5), (2, 6)]);
            process.targets.get_mut(&2).unwrap().kind = kind;
            process.seen.insert(1, seen(0, 18));
            let slept = SampledWrites {
                waiting_ns: 5_000_000,
                ..seen(3, 6)
            };
            process.seen.insert(2, slept);
            let streams = sampled(&[process], &Recording::default());
            Vec::from_iter(streams.iter().map(|stream| stream.descriptors))
        };
        assert_eq!(names(Kind::Null), [Descriptors::Either]);
        let waited = [Descriptors::Either, Descriptors::One(2)];
        assert_eq!(names(Kind::Terminal), waited);
    }

    #[test]
    fn lines_of_both_streams_in_one_place_are_mixed() {
        for (errors, is_mixed) in [(6, true), (1, true), (0, false)] {
            let mut process = process(&[(1, 5), (2, 5)]);
            process.seen.insert(1, seen(0, 80));
            process.seen.insert(2, seen(0, errors));
            let stream = sampled(&[process], &Recording::default()).remove(0);
            assert_eq!(stream.is_mixed, is_mixed, "{stream:?}");
        }
    }

    #[test]
    fn the_position_in_a_file_tells_two_streams_apart() {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.filled = Some(2);
        assert_eq!(attribute(&process), (Descriptors::One(2), Some(2)));
        // Not where many writes came after that was seen.
        process.io.write_calls += 20_000;
        assert_eq!(attribute(&process).0, Descriptors::Either);
        process.io.write_calls -= 20_000;
        // Then a few looks are enough, unless one found a write elsewhere.
        assert!(process.has_one_place());
        process.seen.insert(2, seen(0, 24));
        assert!(process.has_one_place());
        process.seen.insert(1, seen(0, 1));
        assert!(!process.has_one_place());
    }

    #[test]
    fn a_process_is_outlived_by_one_that_runs_beside_it_and_does_not_wait_for_it() {
        // A shell, of which two processes are children; the times are in ms.
        let lived = |id, parent, from: u64, to: u64| {
            let mut process = process(&[(1, 5)]);
            (process.process, process.stat.parent) = (id, parent);
            (process.first_ns, process.last_ns) = (from, to);
            process
        };
        let is_outlived = |other: Watched| {
            let all = [lived(1, 0, 0, 100), lived(2, 1, 10, 50), other];
            outlived(&all, 10)(&all[1])
        };
        assert!(is_outlived(lived(3, 1, 20, 90)));
        // It begins later, or ends at the same time.
        assert!(!is_outlived(lived(3, 1, 50, 90)));
        assert!(!is_outlived(lived(3, 1, 20, 55)));
        // It is a child of the one that is judged, which has ended before it.
        assert!(is_outlived(lived(3, 2, 20, 90)));
        let alone = [lived(1, 0, 0, 100), lived(2, 1, 10, 50)];
        assert!(!outlived(&alone, 10)(&alone[1]));
    }

    #[test]
    fn a_process_that_waits_before_each_answer_saves_nothing_nor_does_the_one_that_asks_it() {
        // Who started it, its stdin and stdout, and how often it read and was woken.
        let process = |id, started_by, [from, to]: [u64; 2], [reads, turns]: [u64; 2]| {
            let mut process = process(&[(0, from), (1, to)]);
            (process.process, process.started_by) = (id, started_by);
            (process.io.read_calls, process.turns) = (reads, turns);
            process.asleep = [0, turns];
            process
        };
        let conversing = |processes: &[Watched]| {
            let mut conversing = Vec::from_iter(conversing(processes));
            conversing.sort_unstable();
            conversing
        };
        let asking = || {
            let mut asking = process(1, 0, [5, 5], [1000; 2]);
            let terminal = asking.targets.get_mut(&0).unwrap();
            terminal.kind = Kind::Terminal;
            asking
        };
        let answering = |waits| process(2, 1, [6, 7], waits);
        assert_eq!(conversing(&[asking(), answering([1000; 2])]), [1, 2]);
        // Who asks it is not traced.
        assert_eq!(conversing(&[answering([1000; 2])]), [2]);
        // Each answer has several lines.
        assert_eq!(conversing(&[answering([100; 2])]), [2]);
        // It has all that it needs at once, or in large pieces.
        assert!(conversing(&[asking(), answering([1000, 9])]).is_empty());
        assert!(conversing(&[asking(), answering([9, 1000])]).is_empty());
        // What it reads may come from elsewhere.
        assert!(conversing(&[asking()]).is_empty());
        let mut server = answering([1000; 2]);
        server.sockets.insert(3);
        assert!(conversing(&[server]).is_empty());
        // A shell has started it, and hardly writes.
        let shell = process(1, 0, [5, 5], [9, 9]);
        assert_eq!(conversing(&[shell, answering([1000; 2])]), [2]);
    }

    #[test]
    fn lines_of_processes_that_write_to_one_place_at_once_are_mixed() {
        let lived = |id, place, [from, to]: [u64; 2]| {
            let mut process = process(&[(1, place)]);
            (process.process, process.first_ns, process.last_ns) = (id, from, to);
            process
        };
        let are_mixed = |other: Watched| {
            let processes = [lived(1, 5, [0, 50]), other];
            let streams = sampled(&processes, &Recording::default());
            streams.iter().any(|stream| stream.is_mixed)
        };
        assert!(are_mixed(lived(2, 5, [10, 60])));
        // One after the other, elsewhere, another program of the same process, a few warnings.
        assert!(!are_mixed(lived(2, 5, [60, 90])));
        assert!(!are_mixed(lived(2, 6, [10, 60])));
        assert!(!are_mixed(lived(1, 5, [10, 60])));
        let mut few = lived(2, 5, [10, 60]);
        few.io.write_calls = 20;
        assert!(!are_mixed(few));
    }

    #[test]
    fn bytes_of_a_few_large_writes_elsewhere_are_not_the_streams() {
        let sizes = |open: &[(i32, u64)], writes_elsewhere| {
            let mut process = process(open);
            process.io.bytes_written = 1_000_000;
            process.writes_elsewhere = writes_elsewhere;
            process.seen.insert(1, seen(0, 48));
            let lines = process.seen.get_mut(&1).unwrap();
            lines.credited = 800.0;
            (0..48).for_each(|_| lines.tally.sample(12, Some(true)));
            let stream = sampled(&[process], &Recording::default()).remove(0);
            assert_eq!(stream.descriptors, Descriptors::One(1));
            (stream.bytes, stream.buffering)
        };
        // A file of its own, or the other stream.
        assert_eq!(sizes(&[(1, 5)], true), (12_000, Buffering::Line));
        assert_eq!(sizes(&[(1, 5), (2, 6)], false), (12_000, Buffering::Line));
        assert_eq!(sizes(&[(1, 5)], false).0, 1_000_000);
    }

    #[test]
    fn writes_that_looks_saw_say_it_before_the_position_in_a_file() {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.filled = Some(2);
        process.seen.insert(1, seen(0, 18));
        process.seen.insert(2, seen(0, 6));
        assert_eq!(attribute(&process).0, Descriptors::Either);
    }

    #[test]
    fn what_was_heard_of_one_stream_is_not_all_where_a_file_has_a_part_of_the_bytes() {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.seen.insert(1, seen(0, 48));
        process.is_listened_to = true;
        assert_eq!(attribute(&process).0, Descriptors::One(1));
        process.is_split = true;
        assert_eq!(attribute(&process).0, Descriptors::Either);
    }

    #[test]
    fn a_file_in_memory_is_not_waited_for() {
        let waited_ns = |driver: &str| {
            let mut process = process(&[(1, 5)]);
            let target = process.targets.get_mut(&1).unwrap();
            (target.kind, target.driver) = (Kind::File, Some(driver.to_owned()));
            let slept = SampledWrites {
                waiting_ns: 5_000_000,
                ..seen(20, 0)
            };
            process.seen.insert(1, slept);
            sampled(&[process], &Recording::default())[0].waiting_ns
        };
        assert_eq!([waited_ns("ext4"), waited_ns("tmpfs")], [5_000_000, 0]);
    }

    #[test]
    fn processes_that_write_one_file_wait_for_each_other_and_not_for_its_device() {
        let slept = |places: &[u64]| {
            let process = |&inode: &u64| {
                let mut process = process(&[(1, inode)]);
                process.targets.get_mut(&1).unwrap().kind = Kind::File;
                let slept = SampledWrites {
                    waiting_ns: 5_000_000,
                    ..seen(20, 0)
                };
                process.seen.insert(1, slept);
                process
            };
            let processes: Vec<Watched> = places.iter().map(process).collect();
            let streams = sampled(&processes, &Recording::default());
            (streams[0].waiting_ns, streams[0].waiting())
        };
        assert_eq!(
            slept(&[5]),
            (5_000_000, "waiting for the device".to_owned())
        );
        assert_eq!(
            slept(&[5, 6]),
            (5_000_000, "waiting for the device".to_owned())
        );
        assert_eq!(slept(&[5, 5]), (10_000_000, "waiting".to_owned()));
    }

    #[test]
    fn of_two_places_the_one_that_was_waited_for_is_known() {
        let mut process = process(&[(1, 5), (2, 6)]);
        let file = process.targets.get_mut(&1).unwrap();
        (file.kind, file.driver) = (Kind::File, Some("tmpfs".to_owned()));
        let slept = SampledWrites {
            waiting_ns: 5_000_000,
            ..seen(FEWEST - 1, 0)
        };
        process.seen.insert(1, slept);
        let stream = sampled(&[process], &Recording::default()).remove(0);
        assert_eq!(
            (stream.descriptors, stream.waiting_ns),
            (Descriptors::Either, 0)
        );
        assert_eq!(stream.waiting(), "waiting for the device");
    }

    #[test]
    fn writes_that_were_seen_say_it_before_what_is_open() {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.seen.insert(2, seen(50, 0));
        assert_eq!(attribute(&process), (Descriptors::One(2), Some(2)));
        // Of several places, samples of waiting show the slow one: `tee` on a terminal.
        process.writes_elsewhere = true;
        assert_eq!(attribute(&process), (Descriptors::Any, Some(2)));
        // An exact look outweighs them.
        process.seen.insert(1, seen(0, 48));
        assert_eq!(attribute(&process), (Descriptors::One(1), Some(1)));
        // Writes to both are neither's.
        process.seen.insert(2, seen(50, 40));
        assert_eq!(attribute(&process).0, Descriptors::Any);
    }

    #[test]
    fn writes_that_were_not_seen_may_have_gone_to_a_pipe_of_its_own() {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.has_own_pipe = true;
        assert_eq!(attribute(&process).0, Descriptors::Any);
        process.seen.insert(1, seen(0, 48));
        assert_eq!(attribute(&process).0, Descriptors::One(1));
    }

    #[test]
    fn a_process_that_wrote_nothing_and_waited_for_nothing_has_no_stream() {
        let mut silent = Watched::for_test(0, 0);
        assert!(of_process(&silent).is_empty());
        silent.targets.insert(1, target(5));
        silent.seen.insert(1, seen(12, 0));
        assert_eq!(of_process(&silent).len(), 1);
    }

    #[test]
    fn the_writes_of_a_process_are_one_stream_with_their_buffering_and_a_second_one_that_it_waited_for()
     {
        let mut process = process(&[(1, 5), (2, 6)]);
        process.seen.insert(1, seen(0, 48));
        process.seen.insert(
            2,
            SampledWrites {
                waiting_ns: 5_000_000,
                ..seen(3, 0)
            },
        );
        let streams = of_process(&process);
        assert_eq!(streams.len(), 2);
        assert_eq!((streams[0].calls, streams[0].bytes), (1000, 12_000));
        assert_eq!(streams[0].buffering, Buffering::Line);
        assert_eq!(streams[0].waiting_ns, 0);
        assert_eq!(streams[1].descriptors, Descriptors::One(2));
        assert_eq!((streams[1].calls, streams[1].waiting_ns), (0, 5_000_000));
    }

    #[test]
    fn a_thread_that_was_not_asleep_waited_for_no_reader() {
        const ROOT: i32 = i32::MAX;
        let waited = |asleep_ns, delayed_ns| {
            let mut ledger = Ledger::default();
            for i in 0..1000 {
                ledger.add(&Call {
                    process: ROOT,
                    thread: ROOT,
                    began_ns: i * 2_000_000,
                    // Every tenth lost its processor for a millisecond.
                    took_ns: if i % 10 == 0 { 1_000_000 } else { 500 },
                    kind: WriteCall::with_number(libc::SYS_write).unwrap(),
                    descriptor: 1,
                    asked: Some(6),
                    result: 6,
                    ends_line: None,
                    stack: Vec::new(),
                });
            }
            let run = Recording {
                asleep_ns,
                delayed_ns,
                root: ROOT,
                mode: Mode::Tracepoints,
                ..Recording::default()
            };
            let (streams, _) = exact(&ledger.into_entries(), &run);
            assert!(streams[0].in_kernel_ns.high < 2_000_000.0);
            streams[0].waiting_ns
        };
        assert!(waited(None, 0) > 90_000_000);
        assert_eq!(waited(Some(7), 0), 7);
        // It was asleep elsewhere.
        assert_eq!(waited(Some(u64::MAX), 200_000_000), 0);
    }

    #[test]
    fn small_writes_of_a_language_that_never_buffers_are_messages() {
        let of = |language| {
            sampled_buffering(&Stream {
                language,
                descriptors: Descriptors::One(1),
                calls: 1000,
                bytes: 12_000,
                ..Stream::default()
            })
        };
        assert_eq!(of(Language::GO), Buffering::Unbuffered);
        assert_eq!(of(Language::C), Buffering::Small);
    }

    #[test]
    fn sums_name_blocks_and_leave_lines_open() {
        let of_language = |language, calls: u64, bytes: u64| {
            sampled_buffering(&Stream {
                language,
                descriptors: Descriptors::Both,
                calls,
                bytes,
                ..Stream::default()
            })
        };
        let of = |calls, bytes| of_language(Language::C, calls, bytes);
        assert_eq!(
            of(560, 559 * 4096 + 17),
            Buffering::Block { capacity: 4096 }
        );
        let rust = of_language(Language::RUST, 560, 559 * 4096 + 17);
        assert_eq!(rust, Buffering::Unknown);
        assert_eq!(of(280, 280 * 8188), Buffering::Block { capacity: 8192 });
        assert_eq!(of(20_000, 240_000), Buffering::Small);
        assert_eq!(of(1000, 5_000_000), Buffering::Unknown);
        assert_eq!(of(7, 7 * 4096), Buffering::TooFew);
        assert_eq!(of(0, 0), Buffering::Nothing);
    }
}
