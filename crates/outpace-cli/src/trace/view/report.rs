//! The report on a terminal: the verdict in plain words, the figures below it.

use crate::platform::ending::Ending;
use crate::platform::histogram::Bucket;
use crate::trace::judge::verdict::{Limit, Verdict};
use crate::trace::model::{Findings, Kind, Log2Histogram, Mode, Recording, Stream};
use crate::user::inert::inert;
use crate::user::quantity::{counted, duration, grouped};
use crate::user::screen::{PLAIN, Screen, Style, columns_of};
use std::collections::BTreeSet;

/// The longest bar of a histogram, in characters.
const BAR: u64 = 32;

/// The whole report, for a screen like this one.
pub(crate) fn text(findings: &Findings, verdict: &Verdict, screen: Screen) -> String {
    let mut page = Page {
        text: String::new(),
        screen,
    };
    for (i, sentence) in verdict.sentences.iter().enumerate() {
        let style: Style = match (i, verdict.limit) {
            (0, Limit::Calls | Limit::Reader) => Screen::wrong,
            (0, _) => Screen::strong,
            _ => PLAIN,
        };
        page.line(style, 0, sentence);
    }
    if !verdict.remedies.is_empty() {
        page.line(PLAIN, 0, "What to do:");
    }
    (verdict.remedies.iter()).for_each(|remedy| page.line(Screen::strong, 2, remedy));
    page.text.push('\n');
    let streams = findings.streams.iter();
    let (shown, rest): (Vec<&Stream>, Vec<&Stream>) =
        streams.partition(|stream| matters(stream, findings));
    for stream in shown {
        stream_figures(&mut page, stream, findings.run.mode);
    }
    if !rest.is_empty() {
        page.faint(0, &in_sum(&rest));
    }
    let sampled: u64 = findings.stacks.iter().map(|stack| stack.samples).sum();
    if sampled > 0 {
        // A stack does not tell to which file.
        let others = ["", " (to other files, too)"][usize::from(findings.elsewhere.calls > 0)];
        page.faint(0, &format!("where it writes{others}:"));
    }
    for stack in &findings.stacks {
        let percent = stack.samples * 100 / sampled;
        page.faint(2, &format!("{percent:>3} % {}", called(&stack.frames)));
    }
    let elsewhere = findings.elsewhere;
    if elsewhere.calls > 0 {
        let written = written(elsewhere.calls, elsewhere.bytes);
        let took = duration(elsewhere.writing_ns as f64);
        page.faint(0, &format!("other files: {written}, {took}"));
    }
    let run = &findings.run;
    let [wall, user, system] =
        [run.wall_ns, run.user_ns, run.system_ns].map(|ns| time(ns, "hardly any"));
    let used = match (run.user_ns + run.system_ns, run.mode, run.ending) {
        // It is gone, or hardly ran.
        (0, Mode::Ptrace, None) => "unknown processor time".to_owned(),
        _ => format!("{user} user, {system} system"),
    };
    let times = format!("{wall} wall, {used}; {}", mode_line(run));
    page.faint(0, &times);
    if let Some(ending) = run.ending.filter(|ending| *ending != Ending::Exited(0)) {
        page.faint(0, &format!("the program ended with {}", ending.describe()));
    }
    (run.notes.iter()).for_each(|note| page.faint(0, &format!("note: {note}")));
    page.text
}

/// The inner functions of a stack.
fn called(frames: &[String]) -> String {
    const INNER: usize = 6;
    let inner = &frames[frames.len().saturating_sub(INNER)..];
    let outer = ["", "… > "][usize::from(inner.len() < frames.len())];
    format!("{outer}{}", inner.join(" > "))
}

/// Whether a stream is worth lines of its own: a hundredth of the time, a tenth of the calls, or most of
/// them.
fn matters(stream: &Stream, findings: &Findings) -> bool {
    let calls = || findings.streams.iter().map(|stream| stream.calls);
    stream.writing_ns() * 100 >= findings.run.wall_ns
        || stream.calls * 10 >= calls().sum()
        || Some(stream.calls) == calls().max()
}

/// One line for the streams that do not matter.
fn in_sum(streams: &[&Stream]) -> String {
    let programs = BTreeSet::from_iter(streams.iter().map(|stream| &*stream.program));
    let sum = |part: fn(&Stream) -> u64| streams.iter().map(|stream| part(stream)).sum::<u64>();
    format!(
        "{} ({}): {}, {}; --json lists them",
        counted(streams.len() as u64, "more stream"),
        Vec::from_iter(programs).join(", "),
        written(sum(|stream| stream.calls), sum(|stream| stream.bytes)),
        time(sum(Stream::writing_ns), NO_TIME),
    )
}

fn written(calls: u64, bytes: u64) -> String {
    let (calls, bytes) = (counted(calls, "write call"), counted(bytes, "byte"));
    format!("{calls}, {bytes}")
}

const NO_TIME: &str = "no measurable time";

/// A time, or what to say where there was none.
fn time(ns: u64, none: &str) -> String {
    match ns {
        0 => none.to_owned(),
        ns => duration(ns as f64),
    }
}

/// Extra indentation of a continued line.
const CONTINUED: usize = 2;

/// Lines for a screen: no longer than it is wide, and without control characters other than their own colours.
struct Page {
    text: String,
    screen: Screen,
}

impl Page {
    fn line(&mut self, style: Style, indent: usize, content: &str) {
        let margins = [indent, indent + CONTINUED];
        self.text += &self.screen.hanging(&inert(content), margins, style);
    }

    fn faint(&mut self, indent: usize, content: &str) {
        self.line(Screen::faint, indent, content);
    }
}

fn mode_line(run: &Recording) -> String {
    let (by, added) = match run.mode {
        Mode::Sampled => return counted(run.looks, "sample") + "; counts of whole processes",
        Mode::Tracepoints => ("tracepoints", "about"),
        // The switches to this process and back are not in it.
        Mode::Ptrace => ("ptrace", "more than"),
    };
    let every = ["every write call", "write calls"][usize::from(run.lost > 0)];
    let overhead = time(run.overhead_ns, NO_TIME);
    format!("{every}, by {by} (which added {added} {overhead})")
}

fn stream_figures(page: &mut Page, stream: &Stream, mode: Mode) {
    let of = match stream.processes {
        0..=1 => String::new(),
        several => format!(" ({several} processes)"),
    };
    let (program, name) = (&stream.program, stream.descriptors.name());
    let target = stream.target.describe();
    page.line(PLAIN, 0, &format!("{program}{of}: {name} -> {target}"));
    let is_known = stream.target.kind != Kind::Unknown;
    for (process, reader) in stream.readers.iter().filter(|_| is_known) {
        page.faint(2, &format!("read by {reader} (process {process})"));
    }
    if stream.calls > 0 {
        let (written, mean) = (written(stream.calls, stream.bytes), stream.mean_size());
        let (mean, how) = (counted(mean, "byte"), stream.buffering.describe());
        page.faint(2, &format!("{written}, {mean} per call; {how}"));
    }
    let tally = &stream.tally;
    if tally.errors + tally.partial > 0 {
        let (errors, partial) = (counted(tally.errors, "call"), grouped(tally.partial));
        let of = ["", "of those seen, "][usize::from(mode == Mode::Sampled)];
        page.faint(2, &format!("{of}{errors} failed, {partial} wrote a part"));
    }
    let took = time(stream.writing_ns(), NO_TIME);
    let waiting = time(stream.asleep_ns(), "none");
    let calls = ["write calls", "write calls and fsync"][usize::from(stream.syncing_ns > 0)];
    let mut times = format!("{took} in {calls}, {waiting} of it {}", stream.waiting());
    if stream.awaited_ns > 0 {
        let awaited = duration(stream.awaited_ns as f64);
        times += &format!("; not counted: {awaited} for a reader that is traced, too");
    }
    page.faint(2, &times);
    if mode != Mode::Sampled {
        histogram(page, "sizes of the write calls", &tally.sizes, grouped);
        let time = |ns| duration(ns as f64);
        let durations = "durations of the write calls, with what tracing adds";
        histogram(page, durations, &tally.durations_ns, time);
    }
}

fn histogram(page: &mut Page, what: &str, histogram: &Log2Histogram, unit: impl Fn(u64) -> String) {
    let buckets: Vec<Bucket> = histogram.buckets().collect();
    let Some(most) = buckets.iter().map(|bucket| bucket.count).max() else {
        return;
    };
    page.faint(2, what);
    let range = |bucket: &Bucket| format!("{} to {}", unit(bucket.least), unit(bucket.most));
    let ranges = buckets.iter().map(|bucket| columns_of(&range(bucket)));
    let (ranges, counts) = (ranges.max().unwrap_or(0), grouped(most).len());
    // A screen that is too narrow has none.
    let longest = (page.screen.columns.saturating_sub(4 + ranges + counts + 3) as u64).min(BAR);
    for bucket in buckets {
        let bar = "#".repeat((bucket.count * longest).div_ceil(most) as usize);
        let (range, count) = (range(&bucket), grouped(bucket.count));
        page.faint(4, &format!("{range:<ranges$} {count:>counts$}  {bar}"));
    }
}
