//! The answer: is this program slowed by its output, by what, and what would change it.

use super::estimate::{self, Cost};
use crate::trace::model::{
    Descriptors, Findings, Interval, Kind, Language, Mode, Stream, Target, Unseen,
};
use crate::user::inert;
use crate::user::quantity::{counted, duration, grouped};
use serde::Serialize;
use std::fmt::Display;

/// The limit of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Limit {
    /// No change would gain much.
    #[serde(rename = "none")]
    Nothing,
    /// The number of system calls.
    Calls,
    /// The reader: it takes the bytes more slowly than they are written.
    Reader,
    /// The measured times are the tracer's own, or what they allow is too wide for an answer.
    Unknown,
}

/// The verdict on a trace.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) limit: Limit,
    /// The part of the wall time spent in writes to streams.
    pub(crate) share: f64,
    /// The time without tracing and without waits for a processor.
    pub(crate) now_ns: u64,
    /// The part of `now_ns` that block buffering of the streams with small writes would save.
    pub(crate) blocks_save_ns: Interval,
    /// The part that would be saved if no reader ever made a write wait.
    pub(crate) fast_reader_saves_ns: Interval,
    pub(crate) sentences: Vec<String>,
    pub(crate) remedies: Vec<String>,
}

/// A change that gains less than the first share of the time is not worth it; one that gains less than the second is small.
const WORTH_IT: f64 = 0.10;
const SMALL: f64 = 0.25;
/// Of several things to do, one that gains less than this is not named.
const NAMED: f64 = 0.05;
/// The time that threads waited is an estimate: at least this part of it is real.
const WAITED: f64 = 0.75;
/// The least part of a program's time that is left once its output is cheap.
const LEAST_LEFT: f64 = 0.005;
/// Where tracepoints take more than one part in this many of the time, on the clock or on processors, times say little.
const DISTORTED: u64 = 4;
/// Where more than this part of the calls was missed, and could make a change worth it, nobody knows that they are no problem.
const MISSED: f64 = 0.1;
/// The difference between two runs of a program, in parts of its time, below and above the likely one: a narrow lower end tells a user
/// more. And in parts of its waits for a processor, as what takes that also evicts caches, delays readers and slows the other thread of a
/// core.
const RUN_TO_RUN: [f64; 2] = [0.042, 0.08];
const CROWDED: f64 = 0.1;
/// Threads that write less may wait for the others instead: for workers, compilers, collectors. A part of the others' time, most
/// likely and at most.
const BESIDE: [f64; 2] = [0.1, 0.25];
/// An interval with ends this near is shown as one figure; with ends this far apart only the upper end is shown.
const SAME: f64 = 1.15;
const NOTHING: f64 = 50.0;
/// What a program without output did.
const NO_WRITES: &str = "made no write calls that the kernel counts";
const NO_STREAMS: &str = "wrote to neither stdout nor stderr";
/// The remedy for a shell that redirects each line.
const OPEN_ONCE: &str = "shell: redirect the whole loop (`done >>FILE`) or group (`{ …; } >>FILE`), which opens the file once, and not each line";
/// Begins the part of a language's remedy that names `run`.
const BY_RUN: &str = ", or, if it flushes by itself, ";

impl Verdict {
    pub(crate) fn on(findings: &Findings) -> Self {
        let (run, streams) = (&findings.run, &findings.streams);
        let now_ns = run.now_ns();
        let sum = |part: fn(&Stream) -> u64| streams.iter().map(part).sum::<u64>();
        // The whole of what was used and waited for, where it is known.
        let used_ns =
            run.user_ns + run.system_ns + sum(|it| it.asleep_ns() + it.handed_ns.high as u64);
        let most_ns = [u64::MAX, used_ns][usize::from(run.ending.is_some())].min(now_ns);
        let writing_ns = sum(Stream::writing_ns).min(most_ns);
        let now = now_ns as f64;
        let savings = streams.iter().map(estimate::saved_by_blocks);
        let most_saved_ns = (now - run.busiest_other_ns as f64).min(now * (1.0 - LEAST_LEFT));
        // Short waits are in no sample, and runs differ.
        let most_saved_ns = most_saved_ns.min(most_ns as f64 + RUN_TO_RUN[1] * now);
        let join = |sum: Interval, more| (sum + more).within(f64::MIN, most_saved_ns);
        let together = savings.clone().fold(Interval::default(), join);
        let chance_ns = |part: f64| (part * now).hypot(CROWDED * run.delayed_ns as f64);
        let chances = RUN_TO_RUN.map(|part| chance_ns(part) * f64::from(together.high > 0.0));
        // At worst, programs that run at the same time save together no more than the one that saves most.
        let lows = savings.map(|saved| saved.low);
        let least_ns = lows.fold(0.0, f64::max).min(together.likely);
        let [hidden_ns, most_hidden_ns] = BESIDE.map(|part| part * run.beside_ns as f64);
        let error = |chance: f64, error: f64, other: f64| chance.hypot(error).hypot(other);
        let [seen, missed] = [sum(|stream| stream.calls), run.missed].map(|calls| calls as f64);
        let written = run.tree.unwrap_or_default().bytes_written;
        let missed_bytes = written.saturating_sub(sum(|stream| stream.bytes));
        // As long as the others on average, and no longer than their number and bytes allow.
        let missed_ns = (missed * sum(Stream::writing_ns) as f64 / seen.max(1.0))
            .min(Cost::of(Kind::Terminal).most_ns(run.missed, missed_bytes));
        // What fewer calls save may go into more waiting for a reader that is traced, too.
        let awaited_ns = sum(|stream| stream.awaited_ns) as f64;
        let likely_ns = together.likely - hidden_ns;
        let [below, above] = [together.likely - least_ns, together.high - together.likely];
        let blocks_save_ns = Interval {
            low: likely_ns - awaited_ns - error(chances[0], below, most_hidden_ns - hidden_ns),
            likely: (likely_ns - awaited_ns).max(0.0),
            // Those that were missed may save all of their time.
            high: likely_ns + missed_ns + error(chances[1], above, hidden_ns),
        }
        .within(0.0, most_saved_ns);
        let waits: [fn(&Stream) -> u64; 2] = [|it| slow_ns(it)[0], |it| slow_ns(it)[1]];
        let [waiting, most_waiting] = waits.map(|part| sum(part).min(writing_ns) as f64);
        // Where other threads ran meanwhile, the wait may have delayed nothing.
        let overlapped = sum(|stream| stream.overlapped_ns.min(slow_ns(stream)[0])) as f64;
        let alone = (waiting - overlapped).max(0.0);
        let by_readers = Interval::of([WAITED * alone, alone.midpoint(waiting), most_waiting]);
        let mut verdict = Self {
            limit: Limit::Nothing,
            share: writing_ns as f64 / now,
            now_ns,
            blocks_save_ns,
            fast_reader_saves_ns: by_readers
                .within(0.0, now_ns.saturating_sub(run.busiest_ns) as f64),
            sentences: Vec::new(),
            remedies: Vec::new(),
        };
        let [blocks, reader] = verdict.gains();
        let likely = [Limit::Calls, Limit::Reader][usize::from(reader > blocks)];
        let gain = blocks.max(reader);
        if likely == Limit::Reader {
            // The same beside a reader that is not traced.
            (verdict.blocks_save_ns.low, verdict.blocks_save_ns.likely) = (0.0, 0.0);
        }
        let larger = streams.iter().filter(|stream| stream.may_be_larger());
        let may_save = larger.map(estimate::saved_by_blocks);
        let may_save = may_save.fold(Interval::default(), join);
        // Both sides of the edge have the same words: from run to run a program may be on either.
        let most = streams.iter().max_by_key(|stream| stream.writing_ns());
        let named = match gain {
            // What they could gain is unknown, and may be more.
            ..WORTH_IT if most.is_some_and(|most| most.is_unplaced() || most.is_awaited()) => {
                Limit::Nothing
            }
            NAMED.. => likely,
            // Writes wait long for a reader that hardly works: it may wait for another.
            _ if verdict.fast_reader_saves_ns.high >= SMALL * now => Limit::Reader,
            _ if may_save.high >= WORTH_IT * now => Limit::Calls,
            _ => Limit::Nothing,
        };
        // Neither a limit nor none is said where it may be untrue.
        let allows_much = named != Limit::Nothing && verdict.saved(named).high >= SMALL * now;
        verdict.limit = match gain {
            ..WORTH_IT if !allows_much => Limit::Nothing,
            WORTH_IT.. if verdict.saved(likely).low > 0.0 => likely,
            _ => Limit::Unknown,
        };
        // The stream that the sentences are about.
        let weight = |stream: &&Stream| match named {
            Limit::Calls => {
                // Of a shell's writes, none may be likely to be saved.
                let saved = estimate::saved_by_blocks(stream);
                (saved.likely + saved.high) as u64
            }
            Limit::Reader => slow_ns(stream)[1],
            _ => stream.writing_ns(),
        };
        let ran_ns = run.wall_ns.saturating_sub(run.delayed_ns);
        let least_ns = ran_ns.min(run.user_ns + run.system_ns);
        let is_distorted = run.mode == Mode::Tracepoints && run.overhead_ns * DISTORTED > least_ns;
        let may_be_long = missed > MISSED * seen && missed_ns >= (WORTH_IT - gain) * now;
        // Small writes that take long do so beside others, and so do waits for a slow reader.
        let is_calls = verdict.limit == Limit::Calls;
        let may_change_it = |&it: &Unseen| it == Unseen::Held || (it == Unseen::Sent && !is_calls);
        let doubt = if let Some(unseen) = run.unseen.filter(may_change_it) {
            format!("but {}", unseen.describe())
        } else if may_be_long && [Limit::Nothing, Limit::Unknown].contains(&verdict.limit) {
            let missed = counted(run.missed, "write call");
            format!("without {missed} that no look at the processes saw; --exact does")
        } else if gain >= WORTH_IT && likely == Limit::Calls && most_hidden_ns >= together.likely {
            let beside = duration(run.beside_ns as f64);
            format!("but threads run beside it for {beside}, and may take up what is saved")
        } else {
            String::new()
        };
        // Those that a slow reader had no room for were tried again.
        let may_not_write = run.mode == Mode::Sampled && verdict.limit != Limit::Reader;
        let written = streams.iter();
        let written = written.filter(|stream| stream.calls > 0 || stream.asleep_ns() > 0);
        match written.max_by_key(weight) {
            // Stops also change which of the writes wait.
            Some(_) if run.mode == Mode::Ptrace || is_distorted => verdict.give_up(
                "seeing a write takes about as long as the write, or longer. For times, leave --exact out",
            ),
            Some(worst) if worst.hardly_writes() && may_not_write => verdict.give_up(
                "most of the write calls failed, or had nothing to write; --exact counts failed and successful ones",
            ),
            Some(_) if !doubt.is_empty() => {
                verdict.give_up(format!("{}, {doubt}", verdict.writing_took("")));
                verdict.explain_now(findings);
            }
            Some(worst) => verdict.explain(findings, worst, named),
            None => match (run.unseen, run.tree.filter(|tree| tree.write_calls > 0)) {
                (Some(unseen), _) => verdict.give_up(unseen.describe()),
                (None, Some(tree)) => verdict.give_up(format!(
                    "the program ended before it could be observed, or does not let this user observe it. The kernel counted {}, {}",
                    counted(tree.write_calls, "write call"),
                    counted(tree.bytes_written, "byte"),
                )),
                _ => {
                    let wrote = [NO_WRITES, NO_STREAMS][usize::from(findings.elsewhere.calls > 0)];
                    let none = format!("Output is not the problem: the program {wrote}.");
                    verdict.sentences.push(none);
                    verdict.tell_of_others(findings);
                }
            },
        }
        let words = findings.command.iter().map(String::as_str);
        // With -p only its name is known.
        if let Some(command) = inert::command(words).filter(|_| run.ending.is_some()) {
            let remedies = verdict.remedies.iter_mut();
            remedies.for_each(|remedy| *remedy = remedy.replace("CMD…", &command));
        }
        verdict
    }

    /// The parts of the time that blocks gain, and a fast reader.
    fn gains(&self) -> [f64; 2] {
        let saved = [self.blocks_save_ns, self.fast_reader_saves_ns];
        saved.map(|saved| saved.likely / self.now_ns as f64)
    }

    /// What is saved where this is the limit.
    fn saved(&self, named: Limit) -> Interval {
        [self.blocks_save_ns, self.fast_reader_saves_ns][usize::from(named == Limit::Reader)]
    }

    /// There is no verdict, for this reason.
    fn give_up(&mut self, why: impl Display) {
        self.limit = Limit::Unknown;
        self.sentences.push(format!("No verdict: {why}."));
    }

    /// The part of the time, with the name of a stream where it is all of that stream.
    fn writing_took(&self, to_name: &str) -> String {
        let now = duration(self.now_ns as f64);
        format!("writing{to_name} took {} of {now}", percent(self.share))
    }

    /// Says why no change would gain much.
    fn explain_nothing(&mut self, findings: &Findings, worst: &Stream) {
        let took = self.writing_took("");
        let [hides_much, hides_calls] = [estimate::saved_by_blocks(worst), worst.in_kernel_ns]
            .map(|ns| ns.high >= WORTH_IT * self.now_ns as f64);
        let is_lost = worst.is_unplaced() && (hides_much || !worst.reader_keeps_up());
        let why = if let Some(unseen) = findings.run.unseen {
            return self.give_up(format!("{took} in write calls, but {}", unseen.describe()));
        } else if hides_much && worst.may_be_joined() {
            return self.give_up(format!(
                "{took} in large writes, but Node.js may have joined messages, whose cost could not be seen"
            ));
        } else if worst.is_awaited() {
            ", and its reader, which is traced, too, takes longer".to_owned()
        } else if self.share < WORTH_IT && !(hides_calls && is_lost) {
            String::new()
        } else if worst.overlapped_ns * 2 > worst.writing_ns() {
            ", but mostly while other threads or processes of it ran".to_owned()
        } else if worst.is_answered {
            ", but it waits for input between its writes".to_owned()
        } else if is_lost {
            let opens = ["", " (it opens a file for each)"][usize::from(worst.is_reopened)];
            return self.give_up(format!(
                "{took}, but where its writes went could not be seen{opens}; --exact shows it"
            ));
        } else if worst.could_be_larger() || worst.is_unplaced() {
            ", and larger writes would hardly save any of it".to_owned()
        } else {
            let may_wait = self.fast_reader_saves_ns.high >= WORTH_IT * self.now_ns as f64;
            let awaited = worst.slept_in.kind.awaited().filter(|_| !may_wait);
            let keeps_up = awaited.map(|awaited| format!(" and the {awaited} keeps up"));
            format!(", but the writes are large{}", keeps_up.unwrap_or_default())
        };
        let answer =
            ["Nothing to gain", "Output is not the problem"][usize::from(self.share < SMALL)];
        self.sentences.push(format!("{answer}: {took}{why}."));
        self.tell_of_others(findings);
    }

    /// Names writes to what is no stream, where they take long.
    fn tell_of_others(&mut self, findings: &Findings) {
        let (others, wall_ns) = (&findings.elsewhere, findings.run.wall_ns as f64);
        let took_ns = others.writing_ns as f64;
        if took_ns >= WORTH_IT * wall_ns {
            let [took, wall] = [took_ns, wall_ns].map(duration);
            self.sentences.push(format!(
                "Not judged: writes to other files, which took {took} of {wall} on the clock."
            ));
        }
    }

    fn explain(&mut self, findings: &Findings, worst: &Stream, named: Limit) {
        if named == Limit::Nothing {
            self.explain_nothing(findings, worst);
            return self.explain_now(findings);
        }
        let of_worst = (worst.writing_ns() as f64 / self.now_ns as f64).min(self.share);
        let mut name = worst.descriptors.name();
        if (findings.streams.iter()).any(|other| other.program != worst.program) {
            name += &format!(" of {}", worst.program);
        }
        let took = match percent(of_worst) {
            same if same == percent(self.share) => self.writing_took(&format!(" to {name}")),
            other => format!("{}, and to {name} {other}", self.writing_took("")),
        };
        let [blocks, reader] = self.gains();
        let part = match [of_worst, blocks.max(reader)].map(|part| part < SMALL) {
            is if is == [true; 2] || self.limit == Limit::Nothing => "a small part of the time",
            [false, false] => "the problem",
            _ => "a part of the problem",
        };
        // The shown percentages must add up.
        let whole = |part: f64| (100.0 * part).round() as u64;
        let waiting = whole((worst.asleep_ns() as f64 / self.now_ns as f64).min(of_worst));
        let kernel = whole(of_worst) - waiting;
        let waits = worst.waiting();
        let parts = || format!(" ({kernel} % in the kernel, {waiting} % {waits})");
        let parts = (waiting > 0).then(parts).unwrap_or_default();
        let is_sure = self.saved(named).low >= WORTH_IT * self.now_ns as f64;
        let is = ["may be", "is"][usize::from(is_sure)];
        self.sentences
            .push(format!("Output {is} {part}: {took}{parts}."));
        // Of a stream that several threads write, only the calls that sync count as slow.
        let all = findings.streams.iter();
        let slowest = all.max_by_key(|stream| slow_ns(stream)[1]);
        let awaited = slowest.and_then(|slowest| slowest.slept_in.kind.awaited());
        let awaited = awaited.unwrap_or("device");
        self.sentences.push(if named == Limit::Reader {
            let named = |(process, name): &(i32, String)| format!(", {name} (process {process})");
            let (reader, takes) = match &worst.readers[..] {
                [] => (awaited.to_owned(), "it takes"),
                [one] => (format!("reader{}", named(one)), "it takes"),
                [one, more @ ..] => (format!("readers{} and {} more", named(one), more.len()), "they take"),
            };
            format!("The limit {is} the {reader}: {takes} output more slowly than the program writes.")
        } else {
            let (calls, size) = (grouped(worst.calls), counted(worst.mean_size(), "byte"));
            let more = match (worst.is_synced(), worst.is_reopened) {
                (true, _) => ", and calls that wait until the device has them",
                (false, true) => ", each to a file that is opened for it",
                (false, false) => "",
            };
            format!("The limit {is} the number of system calls: {calls} writes of {size} on average{more}.")
        });
        self.suggest(findings, worst, named, awaited);
        self.explain_now(findings);
    }

    /// Says why the judged time differs from the time on the clock.
    fn explain_now(&mut self, findings: &Findings) {
        let run = &findings.run;
        let parts = [
            (run.overhead_ns, "of tracing"),
            (run.delayed_ns, "stopped or without a processor"),
        ];
        let parts = parts.into_iter().filter(|(ns, _)| ns * 50 >= run.wall_ns);
        let parts = parts.map(|(ns, what)| format!("{} {what}", duration(ns as f64)));
        let parts = parts.collect::<Vec<_>>().join(" and ");
        if !parts.is_empty() {
            let [now, wall] = [self.now_ns, run.wall_ns].map(|ns| duration(ns as f64));
            self.sentences
                .push(format!("{now} is {wall} on the clock, less {parts}."));
        }
    }

    fn suggest(&mut self, findings: &Findings, worst: &Stream, named: Limit, awaited: &str) {
        // `run` stands in for our own streams: not for a terminal or pipe that the program makes.
        let stands_in = |target: &Target| findings.run.ending.is_none() || target.is_ours();
        let (kind, is_ours) = (worst.target.kind, stands_in(&worst.target));
        let [blocks_gain, reader_gain] = self.gains();
        let is_named = blocks_gain >= NAMED || named == Limit::Calls;
        let blocks = (worst.may_be_larger() && is_named).then(|| {
            let err = worst.language.remedy_for_stderr();
            let out = worst.language.remedy_for_calls(worst.buffering, kind);
            let mut known = match worst.descriptors {
                _ if worst.is_reopened && worst.language == Language::SHELL => Some(OPEN_ONCE.to_owned()),
                // The known remedies are for streams, and for writes alone.
                Descriptors::Any | Descriptors::One(..=0 | 3..) => None,
                _ if kind == Kind::Unknown || worst.is_synced() || worst.is_reopened => None,
                _ if worst.is_mixed => None,
                Descriptors::One(2) => err,
                Descriptors::Either => out.zip(err).map(|(out, err)| out + "; and " + &err),
                _ => out,
            };
            if let Some(remedy) = known.as_mut().filter(|_| !is_ours) {
                remedy.truncate(remedy.find(BY_RUN).unwrap_or(remedy.len()));
            }
            let language = worst.language.name();
            // On a pipe `run` spares the calls of programs that print by the C library.
            let is_spared = (is_ours && worst.language != Language::CLOSED)
                && (kind == Kind::Terminal || (kind == Kind::Pipe && language == "C"));
            let more = match worst.descriptors {
                _ if worst.is_synced() => ", and fsync once for many (with O_SYNC each write does)",
                _ if worst.is_reopened => ", and open its file once for many",
                _ if worst.is_mixed => {
                    ", of all that is written there together: with a buffer each, lines change their order, and may be cut in two"
                }
                // R's files have no buffer.
                Descriptors::One(3..) if language != "R" => {
                    ": a larger buffer for that file, and no line buffering, autoflush or flush a line"
                }
                _ if is_spared => ", or run it as `outpace run -- CMD…`",
                _ => "",
            };
            let is_more = self.blocks_save_ns.likely > self.share * self.now_ns as f64;
            let around = if worst.reading_ns * 2.0 > self.blocks_save_ns.likely {
                ", most of it in reads of single bytes"
            } else {
                ["", ", in the calls and around them"][usize::from(is_more)]
            };
            let blocks = ["Larger blocks", "Block buffering"][usize::from(worst.could_be_larger())];
            let what = [blocks, "A file that stays open"][usize::from(worst.is_reopened)];
            let small = format!("{what} would save {}{around}.", range(self.blocks_save_ns));
            let unknown = || format!("{language}: let it write larger blocks{more}");
            (small, known.unwrap_or_else(unknown))
        });
        let reader = (reader_gain >= NAMED || named == Limit::Reader).then(|| {
            let saved = range(self.fast_reader_saves_ns);
            let is_read = worst.descriptors != Descriptors::Any && stands_in(&worst.slept_in);
            let remedy = match awaited {
                "reader" if !is_read => "its reader: larger reads",
                "reader" => "unchanged: `outpace run -- CMD…` reads its output immediately",
                _ => "write less, fsync it more rarely, or write to a faster device",
            };
            let slow = format!("A {awaited} that never makes it wait would save {saved}.");
            (slow, remedy.to_owned())
        });
        let in_order = match named {
            Limit::Reader => [reader, blocks],
            _ => [blocks, reader],
        };
        let (sentences, remedies): (Vec<_>, Vec<_>) = in_order.into_iter().flatten().unzip();
        self.sentences.extend(sentences);
        self.remedies.extend(remedies);
    }
}

/// The waiting that a faster reader or device would save, likely and at most: none where the reader keeps up already or is unknown, or where
/// larger writes save it.
fn slow_ns(stream: &Stream) -> [u64; 2] {
    let may_be_slow = stream.slept_in.kind != Kind::Unknown && !stream.is_taken_at_once();
    let waiting_ns = stream.waiting_ns * u64::from(may_be_slow);
    let syncing_ns = stream.syncing_ns * u64::from(!stream.could_be_larger());
    let by_readers = stream.by_readers.map(|slow| [slow.likely_ns, slow.most_ns]);
    let [likely_ns, most_ns] = by_readers.unwrap_or([waiting_ns; 2]);
    let likely_ns = likely_ns * u64::from(!stream.reader_keeps_up());
    [likely_ns, most_ns].map(|ns| ns.min(waiting_ns) + syncing_ns)
}

fn percent(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}

/// An interval of time for people.
fn range(saved_ns: Interval) -> String {
    let (low, high) = (duration(saved_ns.low), duration(saved_ns.high));
    if saved_ns.high <= saved_ns.low * SAME {
        format!("about {}", duration(saved_ns.likely))
    } else if saved_ns.low * NOTHING < saved_ns.high {
        format!("up to {high}")
    } else {
        format!("{low} to {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::ending::Ending;
    use crate::platform::readers::Slow;
    use crate::trace::model::{Buffering, CallTally, Elsewhere, Recording};

    const MS: u64 = 1_000_000;

    /// One of our own streams.
    fn ours(kind: Kind) -> Target {
        Target {
            kind,
            ..Target::of(std::process::id() as i32, 1).unwrap()
        }
    }

    /// A stream of so many writes of 12 bytes.
    fn stream(calls: u64, in_kernel_ns: u64, waiting_ns: u64) -> Stream {
        Stream {
            program: "program".into(),
            language: Language::RUST,
            processes: 1,
            descriptors: Descriptors::One(1),
            target: ours(Kind::Pipe),
            slept_in: ours(Kind::Pipe),
            readers: Vec::new(),
            spare_ns: None,
            by_readers: None,
            calls,
            bytes: 12 * calls,
            tally: CallTally::default(),
            buffering: Buffering::Line,
            own_ns: Interval::default(),
            in_kernel_ns: Interval::between(in_kernel_ns as f64, in_kernel_ns as f64),
            waiting_ns,
            waits: calls,
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

    fn verdict(mode: Mode, wall_ns: u64, streams: Vec<Stream>) -> Verdict {
        let run = Recording {
            ending: Some(Ending::Exited(0)),
            wall_ns,
            system_ns: wall_ns,
            root: 1,
            mode,
            ..Recording::default()
        };
        verdict_on(run, streams)
    }

    fn verdict_on(run: Recording, streams: Vec<Stream>) -> Verdict {
        Verdict::on(&Findings {
            command: vec!["program".to_owned()],
            run,
            streams,
            stacks: Vec::new(),
            elsewhere: Elsewhere::default(),
        })
    }

    const SAMPLED: Mode = Mode::Sampled;

    /// A run of 100 ms, as far as every test needs it.
    fn run_of_100_ms() -> Recording {
        Recording {
            wall_ns: 100 * MS,
            root: 1,
            mode: SAMPLED,
            ..Recording::default()
        }
    }

    #[test]
    fn many_small_writes_are_named_as_the_limit_with_the_remedy_of_the_language() {
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(100_000, 80 * MS, 0)]);
        assert_eq!(verdict.limit, Limit::Calls);
        assert!(
            verdict.sentences[0]
                .starts_with("Output is the problem: writing to stdout took 80 % of 100 ms")
        );
        assert!(
            verdict.sentences[1].contains("number of system calls: 100,000 writes of 12 bytes")
        );
        assert!(verdict.remedies[0].starts_with("Rust: "), "{verdict:?}");
        assert!(verdict.blocks_save_ns.low > 70.0 * MS as f64, "{verdict:?}");
        assert!(
            verdict.sentences[2].starts_with("Block buffering would save "),
            "{verdict:?}"
        );
    }

    #[test]
    fn of_several_programs_the_one_whose_stream_it_is_is_named() {
        let few = Stream {
            program: "shell".into(),
            ..stream(10, MS / 100, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![few, stream(100_000, 80 * MS, 0)]);
        let first = "Output is the problem: writing to stdout of program took 80 % of 100 ms";
        assert!(verdict.sentences[0].starts_with(first), "{verdict:?}");
    }

    #[test]
    fn what_helps_stdout_is_not_named_for_stderr() {
        for (language, remedy) in [
            (Language::RUST, "Rust: let it write larger blocks"),
            (Language::PYTHON, "Python: sys.stderr = open(2, "),
        ] {
            let errors = Stream {
                language,
                descriptors: Descriptors::One(2),
                ..stream(100_000, 80 * MS, 0)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![errors]);
            assert!(verdict.remedies[0].starts_with(remedy), "{verdict:?}");
        }
    }

    #[test]
    fn what_helps_stdout_is_not_named_where_its_lines_and_those_of_stderr_have_one_place() {
        let both = Stream {
            language: Language::PYTHON,
            descriptors: Descriptors::Both,
            is_mixed: true,
            ..stream(100_000, 80 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![both]);
        let together = "Python: let it write larger blocks, of all that is written there together";
        assert!(verdict.remedies[0].starts_with(together), "{verdict:?}");
    }

    #[test]
    fn what_helps_stdout_is_not_named_for_a_file_of_the_programs_own() {
        let file = Stream {
            descriptors: Descriptors::One(3),
            ..stream(100_000, 80 * MS, 0)
        };
        // R's files have no buffer.
        let of_r = Stream {
            language: Language::R,
            ..file.clone()
        };
        let [of_r, verdict] = [of_r, file].map(|file| verdict(SAMPLED, 100 * MS, vec![file]));
        assert_eq!(of_r.remedies[0], "R: let it write larger blocks");
        assert!(
            verdict.remedies[0].contains("a larger buffer for that file"),
            "{verdict:?}"
        );
    }

    #[test]
    fn what_waits_for_files_for_a_tenth_of_the_time_is_not_said_to_have_no_problem() {
        let unseen = |unseen| {
            let run = Recording {
                unseen,
                ..run_of_100_ms()
            };
            verdict_on(run, vec![stream(2000, MS, 0)])
        };
        assert_eq!(unseen(None).limit, Limit::Nothing);
        let verdict = unseen(Some(Unseen::Files));
        assert_eq!(verdict.limit, Limit::Unknown);
        let first = &verdict.sentences[0];
        let expected = "No verdict: writing took 1 % of 100 ms in write calls, but it waits for files that are opened";
        assert!(first.starts_with(expected), "{verdict:?}");
    }

    #[test]
    fn the_problem_is_one_whose_share_and_whose_gain_are_large() {
        let first = |in_kernel_ns, own_ns| {
            let mut stream = stream(100_000, in_kernel_ns, 0);
            stream.own_ns = Interval::between(own_ns, own_ns);
            verdict(SAMPLED, 100 * MS, vec![stream]).sentences.remove(0)
        };
        assert!(first(80 * MS, 0.0).starts_with("Output is the problem: "));
        assert!(first(15 * MS, 0.0).starts_with("Output is a small part of the time: "));
        let more_around_them = first(22 * MS, 60.0 * MS as f64);
        assert!(
            more_around_them.starts_with("Output is a part of the problem: "),
            "{more_around_them}"
        );
    }

    #[test]
    fn both_sides_of_the_edge_have_the_same_words() {
        let [below, above] =
            [9, 11].map(|ms| verdict(SAMPLED, 100 * MS, vec![stream(100_000, ms * MS, 0)]));
        assert_eq!([below.limit, above.limit], [Limit::Nothing, Limit::Calls]);
        let words = |verdict: &Verdict| -> String {
            let text = verdict.sentences.join(" ") + &verdict.remedies.join(" ");
            text.chars().filter(|c| c.is_alphabetic()).collect()
        };
        assert_eq!(words(&below), words(&above));
        let first = &below.sentences[0];
        assert!(
            first.starts_with("Output may be a small part of the time: "),
            "{first}"
        );
    }

    #[test]
    fn the_limit_is_said_of_small_writes_though_less_is_likely_of_them_than_of_large_ones() {
        let shell = Stream {
            program: "shell".into(),
            language: Language::SHELL,
            own_ns: Interval::between(84.0 * MS as f64, 88.0 * MS as f64),
            ..stream(30_000, 12 * MS, 0)
        };
        let large = Stream {
            buffering: Buffering::Block { capacity: 4096 },
            bytes: 31 * 4096,
            ..stream(31, MS / 20, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![shell, large]);
        let what = &verdict.sentences[1];
        assert!(what.contains("30,000 writes of 12 bytes"), "{verdict:?}");
    }

    #[test]
    fn what_is_written_beside_a_process_that_works_as_long_saves_nothing() {
        let lines = || vec![stream(100_000, 60 * MS, 0)];
        let beside = |busiest_other_ns| Recording {
            busiest_other_ns,
            system_ns: 60 * MS,
            user_ns: busiest_other_ns,
            ending: Some(Ending::Exited(0)),
            ..run_of_100_ms()
        };
        let [alone, long] = [0, 97 * MS].map(|ns| verdict_on(beside(ns), lines()));
        assert_eq!([alone.limit, long.limit], [Limit::Calls, Limit::Nothing]);
        assert!(long.blocks_save_ns.high <= 3.0 * MS as f64, "{long:?}");
    }

    #[test]
    fn a_few_small_writes_beside_those_that_were_not_seen_are_no_limit() {
        let unseen = Stream {
            descriptors: Descriptors::Any,
            buffering: Buffering::Unknown,
            bytes: 280 * 10_000,
            own_ns: Interval::between(80.0 * MS as f64, 90.0 * MS as f64),
            ..stream(10_000, 30 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(1, 1000, 0), unseen]);
        assert_eq!(verdict.limit, Limit::Unknown);
        assert!(
            verdict.sentences[0].starts_with("No verdict: "),
            "{verdict:?}"
        );
    }

    #[test]
    fn calls_that_went_to_an_unknown_place_are_no_problem_only_where_they_cannot_take_a_tenth() {
        for (most, limit) in [(5, Limit::Nothing), (15, Limit::Unknown)] {
            let most_ns = (most * MS) as f64;
            let unplaced = Stream {
                descriptors: Descriptors::Any,
                buffering: Buffering::Unknown,
                in_kernel_ns: Interval::of([0.0, most_ns / 4.0, most_ns]),
                ..stream(10_000, 0, 0)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![unplaced]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
        }
    }

    #[test]
    fn a_few_large_writes_have_nothing_to_gain_wherever_they_went() {
        let [little, hardly] = [
            "15 % of 100 ms, and larger writes would hardly",
            "5 % of 100 ms.",
        ];
        for (calls, in_kernel_ns, waiting_ns, waits, limit, why) in [
            (12, 15 * MS, 0, 0, Limit::Nothing, little),
            (12, MS, 14 * MS, 3, Limit::Nothing, little),
            (300, 5 * MS, 0, 0, Limit::Nothing, hardly),
            // Each may have cost what fewer would save.
            (300, 15 * MS, 0, 0, Limit::Unknown, "could not be seen"),
        ] {
            let unplaced = Stream {
                descriptors: Descriptors::Any,
                target: Target::default(),
                buffering: Buffering::Unknown,
                own_ns: Interval::between(80.0 * MS as f64, 85.0 * MS as f64),
                bytes: calls << 16,
                waits,
                ..stream(calls, in_kernel_ns, waiting_ns)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![unplaced]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
            assert!(verdict.sentences[0].contains(why), "{verdict:?}");
        }
    }

    #[test]
    fn a_command_that_reads_stdout_is_not_named_for_the_reader_of_another_descriptor() {
        for (descriptors, remedy) in [
            (Descriptors::One(1), "unchanged: `outpace run -- program`"),
            (Descriptors::Any, "its reader: "),
        ] {
            let slow = Stream {
                descriptors,
                buffering: Buffering::Large,
                bytes: 100 << 16,
                ..stream(100, MS, 80 * MS)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![slow]);
            assert_eq!(verdict.limit, Limit::Reader, "{verdict:?}");
            assert!(verdict.remedies[0].starts_with(remedy), "{verdict:?}");
        }
    }

    #[test]
    fn where_many_calls_were_missed_only_those_that_were_seen_may_be_the_limit() {
        for (calls, missed, limit) in [
            (10_000, 500, Limit::Calls),
            (100, 300, Limit::Nothing),
            (100, 5_000, Limit::Unknown),
            // Those that were seen take long as it is.
            (10_000, 2_000, Limit::Calls),
        ] {
            let run = Recording {
                missed,
                ..run_of_100_ms()
            };
            let verdict = verdict_on(run, vec![stream(calls, calls * 4_000, 0)]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
            let seen_ns = calls as f64 * 4_000.0;
            let most_ns = (seen_ns + missed as f64 * 4_000.0).min(99e6);
            assert!(verdict.blocks_save_ns.high >= most_ns, "{verdict:?}");
        }
        // A wrapper's, beside writes that wait for their reader, and beside a few long ones.
        for (calls, waiting_ns, limit) in
            [(100, 90 * MS, Limit::Reader), (2, 8 * MS, Limit::Nothing)]
        {
            let run = Recording {
                missed: 20,
                ..run_of_100_ms()
            };
            let verdict = verdict_on(run, vec![stream(calls, MS, waiting_ns)]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
        }
    }

    #[test]
    fn what_may_gain_a_tenth_is_not_said_to_be_no_problem() {
        let wide = Stream {
            own_ns: Interval::between(0.0, 90.0 * MS as f64),
            in_kernel_ns: Interval::of([0.0, 3.0, 12.0].map(|ms| ms * MS as f64)),
            ..stream(20_000, 0, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![wide]);
        assert_eq!(verdict.limit, Limit::Nothing);
        assert!(
            verdict.sentences[0].starts_with("Output may be a small part of the time: "),
            "{verdict:?}"
        );
        assert!(
            verdict.sentences[2].contains("would save up to"),
            "{verdict:?}"
        );
    }

    #[test]
    fn neither_limit_is_named_where_it_may_be_untrue() {
        let of = |in_kernel_ns: [f64; 3], buffering, size| {
            let wide = Stream {
                in_kernel_ns: Interval::of(in_kernel_ns.map(|ms| ms * MS as f64)),
                buffering,
                bytes: size * 1_000,
                ..stream(1_000, 0, 0)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![wide]);
            (verdict.limit, verdict.sentences[0].clone())
        };
        for (in_kernel_ns, limit) in [
            ([0.0, 4.0, 15.0], Limit::Nothing),
            ([0.0, 4.0, 40.0], Limit::Unknown),
            ([-10.0, 15.0, 20.0], Limit::Unknown),
            ([12.0, 15.0, 20.0], Limit::Calls),
        ] {
            let (found, text) = of(in_kernel_ns, Buffering::Line, 12);
            assert_eq!(found, limit, "{in_kernel_ns:?}: {text}");
        }
        for (size, limit, text) in [
            (
                4096,
                Limit::Unknown,
                "Output may be a small part of the time: ",
            ),
            (
                8192,
                Limit::Nothing,
                "Output is not the problem: writing took 18 %",
            ),
        ] {
            let block = Buffering::Block { capacity: size };
            let (found, said) = of([16.0, 18.0, 30.0], block, size);
            assert!(found == limit && said.starts_with(text), "{said}");
        }
    }

    #[test]
    fn what_writes_less_may_wait_for_threads_that_run_beside_it() {
        let judged = |beside_ns| {
            let run = Recording {
                beside_ns,
                ..run_of_100_ms()
            };
            verdict_on(run, vec![stream(100_000, 40 * MS, 0)])
        };
        let (alone, beside) = (judged(0), judged(200 * MS));
        let [sure, unsure] = [&alone, &beside].map(|verdict| verdict.blocks_save_ns);
        assert!(sure.low > 30.0 * MS as f64, "{sure:?}");
        assert!(
            unsure.low == 0.0 && unsure.likely < sure.likely,
            "{unsure:?}"
        );
        assert_eq!([alone.limit, beside.limit], [Limit::Calls, Limit::Unknown]);
        assert!(beside.sentences[0].starts_with("No verdict: writing took 40 % of"));
    }

    #[test]
    fn writes_that_fail_have_no_verdict() {
        let mut again = stream(100_000, 80 * MS, 0);
        again.tally.errors = 20;
        again.tally.sample(3000, Some(true));
        // Those of another stream have a few bytes.
        let unseen = Stream {
            bytes: 30_000,
            ..stream(110_000, 80 * MS, 0)
        };
        for failing in [again, unseen] {
            let verdict = verdict(SAMPLED, 100 * MS, vec![failing]);
            assert_eq!(verdict.limit, Limit::Unknown);
            assert!(verdict.sentences[0].contains("failed"), "{verdict:?}");
            assert!(verdict.remedies.is_empty());
        }
    }

    #[test]
    fn run_is_named_where_it_spares_calls() {
        let remedy = |language, target| {
            let printed = Stream {
                language,
                target,
                ..stream(100_000, 80 * MS, 0)
            };
            verdict(SAMPLED, 100 * MS, vec![printed]).remedies.remove(0)
        };
        let made_by_it = |kind| Target {
            kind,
            ..Target::default()
        };
        let run = "outpace run -- program";
        for (language, kind) in [
            (Language::C, Kind::Terminal),
            (Language::INSTALLED_C, Kind::Terminal),
            (Language::INSTALLED_C, Kind::Pipe),
            (Language::UNRECOGNISED, Kind::Terminal),
        ] {
            let remedy = |target| remedy(language, target);
            assert!(remedy(ours(kind)).contains(run), "{language:?} {kind:?}");
            let other = remedy(made_by_it(kind));
            assert!(
                !other.contains("outpace run") && other.len() > 20,
                "{other}"
            );
        }
        assert!(
            remedy(Language::C, made_by_it(Kind::Terminal)).ends_with("`stdbuf -o64K program`")
        );
        assert!(!remedy(Language::INSTALLED_C, ours(Kind::File)).contains(run));
        // It may be static.
        assert!(!remedy(Language::UNRECOGNISED, ours(Kind::Pipe)).contains(run));
    }

    #[test]
    fn a_terminal_that_the_program_made_is_read_by_the_program() {
        let slow = Stream {
            slept_in: Target {
                kind: Kind::Terminal,
                ..Target::default()
            },
            ..stream(1000, 10 * MS, 80 * MS)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![slow]);
        assert_eq!(verdict.limit, Limit::Reader);
        assert!(
            verdict.remedies[0].starts_with("its reader: "),
            "{verdict:?}"
        );
    }

    #[test]
    fn a_slow_reader_comes_before_the_number_of_calls() {
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(1000, 10 * MS, 80 * MS)]);
        assert_eq!(verdict.limit, Limit::Reader);
        assert!(
            verdict.remedies[0].contains("outpace run -- program"),
            "{verdict:?}"
        );
        assert!(verdict.sentences[0].contains("(10 % in the kernel, 80 % waiting"));
    }

    #[test]
    fn a_few_looks_that_found_it_waiting_name_no_reader() {
        for (waits, limit) in [(3, Limit::Unknown), (4, Limit::Reader)] {
            let blocks = Stream {
                buffering: Buffering::Block { capacity: 65_536 },
                bytes: 9 << 16,
                waits,
                ..stream(9, MS / 10, MS)
            };
            let verdict = verdict(SAMPLED, 4 * MS, vec![blocks]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
        }
    }

    #[test]
    fn where_there_is_no_limit_output_is_at_most_a_small_part() {
        let mut small = 0;
        for writing_ms in 0..90 {
            for waiting_ms in [0, writing_ms / 2, writing_ms] {
                let kernel_ns = (writing_ms - waiting_ms) * MS;
                let blocks = Stream {
                    buffering: Buffering::Block { capacity: 65_536 },
                    bytes: 65_536 * 100,
                    ..stream(100, kernel_ns, waiting_ms * MS)
                };
                let lines = stream(10_000, kernel_ns, waiting_ms * MS);
                for stream in [lines, blocks] {
                    let verdict = verdict(SAMPLED, 100 * MS, vec![stream]);
                    let says = |words| verdict.sentences[0].contains(words);
                    let is_none = verdict.limit == Limit::Nothing;
                    let is_small = says("Nothing to gain") || says("a small part of the time");
                    assert!(
                        !is_none || is_small || says("not the problem"),
                        "{verdict:?}"
                    );
                    small += u32::from(is_none && says("a small part of the time"));
                }
            }
        }
        assert!(small > 0);
    }

    #[test]
    fn two_that_each_save_nearly_all_save_it_less_what_runs_differ_by() {
        let writer = || stream(100_000, 98 * MS, 0);
        let saved = verdict(SAMPLED, 100 * MS, vec![writer(), writer()]).blocks_save_ns;
        let differ_ns = RUN_TO_RUN[0] * 100.0 * MS as f64;
        assert!(saved.low < saved.high - differ_ns, "{saved:?}");
        assert!(saved.low > 0.5 * saved.high, "{saved:?}");
    }

    #[test]
    fn what_a_writer_saves_beside_a_slower_reader_of_the_same_trace_may_be_nothing() {
        let judged = |awaited_ns| {
            let written = Stream {
                awaited_ns,
                ..stream(100_000, 20 * MS, 0)
            };
            verdict(SAMPLED, 100 * MS, vec![written])
        };
        assert!(judged(0).blocks_save_ns.low > 10.0 * MS as f64);
        let slow = judged(70 * MS);
        let saved = slow.blocks_save_ns;
        assert!(
            saved.low <= 0.0 && saved.likely <= 0.0 && saved.high > 10.0 * MS as f64,
            "{saved:?}"
        );
        assert!(
            slow.sentences[0].ends_with("its reader, which is traced, too, takes longer."),
            "{slow:?}"
        );
    }

    #[test]
    fn what_was_sent_besides_leaves_no_verdict_but_that_on_the_calls_that_were_seen() {
        for (unseen, kernel_ns, waiting_ns, limit) in [
            (Unseen::Sent, MS, 0, Limit::Unknown),
            (Unseen::Sent, 10 * MS, 80 * MS, Limit::Unknown),
            (Unseen::Sent, 80 * MS, 0, Limit::Calls),
            // What holds it for a moment at each call is no reader, and takes longer than the call.
            (Unseen::Held, 10 * MS, 80 * MS, Limit::Unknown),
            (Unseen::Held, 80 * MS, 0, Limit::Unknown),
        ] {
            let run = Recording {
                unseen: Some(unseen),
                ..run_of_100_ms()
            };
            let verdict = verdict_on(run, vec![stream(1000, kernel_ns, waiting_ns)]);
            assert_eq!(verdict.limit, limit, "{verdict:?}");
        }
    }

    #[test]
    fn shares_of_more_than_the_time_add_up_to_it() {
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(1000, 74 * MS, 44 * MS)]);
        assert!(
            verdict.sentences[0].contains(" took 100 % of 100 ms"),
            "{verdict:?}"
        );
        assert!(
            verdict.sentences[0].contains("(56 % in the kernel, 44 % waiting"),
            "{verdict:?}"
        );
    }

    #[test]
    fn blocks_have_nothing_to_gain() {
        let blocks = Stream {
            bytes: 8191 * 11_950,
            buffering: Buffering::Block { capacity: 8192 },
            ..stream(11_950, 36 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![blocks]);
        assert_eq!(verdict.limit, Limit::Nothing);
        assert!(
            verdict.sentences[0].starts_with("Nothing to gain: writing took 36 %"),
            "{verdict:?}"
        );
        assert!(verdict.remedies.is_empty());
    }

    #[test]
    fn small_writes_that_went_nobody_knows_where_have_no_verdict() {
        // Also where some of the time is a device's.
        for syncing_ns in [0, 6 * MS] {
            let unseen = Stream {
                descriptors: Descriptors::Any,
                buffering: Buffering::Unknown,
                syncing_ns,
                ..stream(100_000, 36 * MS - syncing_ns, 0)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![unseen]);
            assert_eq!(verdict.limit, Limit::Unknown);
            assert!(verdict.sentences[0].starts_with("No verdict: writing took 36 %"));
        }
    }

    #[test]
    fn times_that_tracepoints_distorted_lead_to_no_verdict() {
        let traced = |overhead_ns| {
            let run = Recording {
                wall_ns: 100 * MS,
                system_ns: 100 * MS,
                overhead_ns,
                root: 1,
                mode: Mode::Tracepoints,
                ..Recording::default()
            };
            verdict_on(run, vec![stream(100_000, 60 * MS, 0)]).limit
        };
        assert_eq!(traced(10 * MS), Limit::Calls);
        assert_eq!(traced(60 * MS), Limit::Unknown);
    }

    #[test]
    fn large_writes_of_node_into_a_pipe_may_be_joined_messages() {
        let joined = |kind, sampled_size| {
            let mut tally = CallTally::default();
            tally.sample(sampled_size, None);
            Stream {
                language: Language::NODE,
                target: Target {
                    kind,
                    ..Target::default()
                },
                buffering: Buffering::Unknown,
                tally,
                bytes: 65_536 * 200,
                own_ns: Interval::between(80.0 * MS as f64, 90.0 * MS as f64),
                ..stream(200, 5 * MS, 0)
            }
        };
        let limit = |kind, size| verdict(SAMPLED, 100 * MS, vec![joined(kind, size)]).limit;
        assert_eq!(limit(Kind::Pipe, 80), Limit::Unknown);
        assert_eq!(limit(Kind::File, 80), Limit::Nothing);
        // Its messages are large themselves.
        assert_eq!(limit(Kind::Pipe, 65_536), Limit::Nothing);
    }

    #[test]
    fn a_stream_of_which_only_the_waiting_is_known_is_not_said_to_have_small_writes() {
        let waited_for = Stream {
            descriptors: Descriptors::One(2),
            buffering: Buffering::Unknown,
            ..stream(0, 0, 9 * MS)
        };
        let of_blocks = Stream {
            bytes: 65_536 * 100,
            buffering: Buffering::Large,
            ..stream(100, 2 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![waited_for, of_blocks]);
        assert_eq!(verdict.limit, Limit::Nothing);
        assert!(!verdict.sentences[0].contains("small writes"));
    }

    #[test]
    fn of_small_blocks_it_is_said_what_larger_ones_could_save() {
        let blocks = Stream {
            bytes: 4096 * 20_000,
            buffering: Buffering::Block { capacity: 4096 },
            language: Language::INSTALLED_C,
            ..stream(20_000, 40 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![blocks]);
        assert_eq!(verdict.limit, Limit::Unknown);
        let text = verdict.sentences.join(" ");
        assert!(text.contains("Larger blocks would save up to "), "{text}");
        assert!(verdict.remedies[0].contains("larger blocks"), "{verdict:?}");
    }

    #[test]
    fn of_blocks_only_a_slow_reader_is_the_limit() {
        let blocks = |waiting_ns| Stream {
            bytes: 65_536 * 100,
            buffering: Buffering::Block { capacity: 65_536 },
            ..stream(100, 2 * MS, waiting_ns)
        };
        let limit = |waiting_ns| verdict(SAMPLED, 100 * MS, vec![blocks(waiting_ns)]).limit;
        assert_eq!(limit(80 * MS), Limit::Reader);
        // A pipe with a reader without other work takes 40 microseconds for 64 KiB.
        assert_eq!(limit(2 * MS), Limit::Nothing);
        let fast = verdict(SAMPLED, 5 * MS, vec![blocks(2 * MS)]);
        assert_eq!(fast.limit, Limit::Nothing, "{fast:?}");
    }

    #[test]
    fn a_reader_that_hardly_works_is_not_surely_the_limit() {
        let judged = |waiting_ns, worked_ns| {
            let blocks = Stream {
                bytes: 65_536 * 100,
                buffering: Buffering::Block { capacity: 65_536 },
                by_readers: Some(Slow {
                    likely_ns: worked_ns,
                    most_ns: waiting_ns,
                    asleep_ns: 0,
                }),
                ..stream(100, 2 * MS, waiting_ns)
            };
            verdict(SAMPLED, 100 * MS, vec![blocks])
        };
        let busy = judged(60 * MS, 40 * MS);
        assert_eq!(busy.limit, Limit::Reader, "{busy:?}");
        let idle = judged(60 * MS, MS);
        assert_eq!(idle.limit, Limit::Unknown);
        let sentences = idle.sentences.join(" ");
        assert!(
            sentences.contains("The limit may be the reader"),
            "{sentences}"
        );
        assert!(
            sentences.contains("would save up to 60.0 ms"),
            "{sentences}"
        );
        for (waiting_ms, end) in [(8, "the reader keeps up."), (20, "the writes are large.")] {
            let short = judged(waiting_ms * MS, 0);
            assert_eq!(short.limit, Limit::Nothing, "{short:?}");
            assert!(short.sentences[0].ends_with(end), "{short:?}");
        }
    }

    #[test]
    fn waiting_for_the_device_after_small_writes_is_a_matter_of_their_number() {
        let file = || Target {
            kind: Kind::File,
            ..Target::default()
        };
        let synced = |calls, bytes| Stream {
            bytes,
            buffering: if bytes > 1_000_000 {
                Buffering::Large
            } else {
                Buffering::Line
            },
            syncing_ns: 90 * MS,
            target: file(),
            slept_in: file(),
            ..stream(calls, 2 * MS, 0)
        };
        let small = verdict(SAMPLED, 100 * MS, vec![synced(1000, 8000)]);
        assert_eq!(small.limit, Limit::Calls);
        assert!(
            small.sentences[0].contains("(2 % in the kernel, 90 % waiting for the device)"),
            "{small:?}"
        );
        assert!(
            small.remedies[0].contains("fsync once for many"),
            "{small:?}"
        );
        assert!(small.blocks_save_ns.high > 90.0 * MS as f64);
        let large = verdict(SAMPLED, 100 * MS, vec![synced(100, 6_553_600)]);
        assert_eq!(large.limit, Limit::Reader);
        assert!(
            large.remedies[0].contains("fsync it more rarely"),
            "{large:?}"
        );
    }

    #[test]
    fn a_file_that_is_opened_for_each_write_is_to_be_opened_once() {
        for descriptors in [Descriptors::One(1), Descriptors::One(4), Descriptors::Any] {
            let reopened = Stream {
                descriptors,
                buffering: [Buffering::Line, Buffering::Unknown]
                    [usize::from(descriptors == Descriptors::Any)],
                is_reopened: true,
                ..stream(20_000, 60 * MS, 0)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![reopened]);
            let text = verdict.sentences.join(" ") + &verdict.remedies.join(" ");
            let says = [
                "and open its file once for many",
                "(it opens a file for each)",
            ];
            let is_said = says.map(|says| text.contains(says));
            let is_any = descriptors == Descriptors::Any;
            assert_eq!(is_said, [!is_any, is_any], "{text}");
        }
    }

    #[test]
    fn a_wait_of_unknown_cause_has_no_device_and_no_reader() {
        for (size, buffering) in [(12, Buffering::Line), (65_536, Buffering::Large)] {
            let shared = Stream {
                buffering,
                bytes: size * 1000,
                slept_in: Target::default(),
                ..stream(1000, 40 * MS, 40 * MS)
            };
            let verdict = verdict(SAMPLED, 100 * MS, vec![shared]);
            assert_ne!(verdict.limit, Limit::Reader);
            let text = verdict.sentences.join(" ") + &verdict.remedies.join(" ");
            assert!(
                !text.contains("reader") && !text.contains("device"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_awaited_is_that_of_the_stream_that_waits() {
        let file = Stream {
            slept_in: Target {
                kind: Kind::File,
                ..Target::default()
            },
            ..stream(100_000, 60 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![file, stream(10, 0, 30 * MS)]);
        let text = verdict.sentences.join(" ");
        assert!(text.contains("A reader that never makes it wait"), "{text}");
    }

    #[test]
    fn little_output_is_not_the_problem_and_none_is_said_to_be_none() {
        let little = verdict(SAMPLED, 100 * MS, vec![stream(100, 2 * MS, 0)]);
        assert_eq!(little.limit, Limit::Nothing);
        assert!(little.sentences[0].starts_with("Output is not the problem: writing took 2 %"));
        let none = verdict(SAMPLED, 100 * MS, Vec::new());
        assert!(
            none.sentences[0].contains("made no write calls"),
            "{none:?}"
        );
    }

    #[test]
    fn times_that_ptrace_distorted_lead_to_no_verdict() {
        let verdict = verdict(Mode::Ptrace, 100 * MS, vec![stream(1000, 80 * MS, 0)]);
        assert_eq!(verdict.limit, Limit::Unknown);
        assert!(verdict.sentences[0].starts_with("No verdict"));
        assert!(verdict.remedies.is_empty());
    }
}
