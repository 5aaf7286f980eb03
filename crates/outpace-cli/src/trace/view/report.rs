//! The report on a terminal: the verdict in plain words, the figures below it.

use crate::platform::ending::Ending;
use crate::platform::histogram::Bucket;
use crate::trace::judge::verdict::{Limit, Verdict};
use crate::trace::model::findings::{Findings, Mode, Stream};
use crate::trace::model::tally::Histogram;
use crate::user::inert::inert;
use crate::user::quantity::{duration, grouped};
use crate::user::screen::{Screen, broken};
use std::fmt::Write;

/// Widest bar of a histogram, in characters.
const BAR: u64 = 32;

/// The whole report, for a terminal like this one, if it is for one.
pub(crate) fn text(findings: &Findings, verdict: &Verdict, screen: Option<Screen>) -> String {
    let mut text = Page::new(screen);
    for (i, sentence) in verdict.sentences.iter().enumerate() {
        let style = match (i, verdict.limit) {
            (0, Limit::Calls | Limit::Reader) => Style::Problem,
            (0, _) => Style::Strong,
            _ => Style::Plain,
        };
        text.line(style, 0, sentence);
    }
    if !verdict.remedies.is_empty() {
        text.line(Style::Plain, 0, "What to do:");
        for remedy in &verdict.remedies {
            text.line(Style::Strong, 2, remedy);
        }
    }
    text.gap();
    let (shown, rest): (Vec<&Stream>, Vec<&Stream>) = findings
        .streams
        .iter()
        .partition(|stream| matters(stream, findings));
    for stream in shown {
        stream_figures(&mut text, stream, findings);
    }
    if !rest.is_empty() {
        text.faint(0, &in_sum(&rest));
    }
    let sampled: u64 = findings.stacks.iter().map(|stack| stack.samples).sum();
    if sampled > 0 {
        text.faint(0, "where it writes:");
    }
    for stack in &findings.stacks {
        let percent = (stack.samples * 100).div_ceil(sampled);
        let line = format!("{percent:>3} % {}", called(&stack.frames));
        text.faint(2, &line);
    }
    if findings.elsewhere.calls > 0 {
        let elsewhere = findings.elsewhere;
        text.faint(
            0,
            &format!(
                "other files: {} write calls, {} bytes, {}",
                grouped(elsewhere.calls),
                grouped(elsewhere.bytes),
                duration(elsewhere.writing_ns as f64)
            ),
        );
    }
    let processor = format!(
        "{} wall, {} user, {} system",
        duration(findings.run.wall_ns as f64),
        ticks(findings.run.user_ns),
        ticks(findings.run.system_ns)
    );
    text.faint(0, &format!("{processor}; {}", mode_line(findings)));
    if let Some(ending) = findings
        .run
        .ending
        .filter(|ending| *ending != Ending::Exited(0))
    {
        text.faint(0, &format!("the program ended with {}", ending.describe()));
    }
    for note in &findings.run.notes {
        text.faint(0, &format!("note: {note}"));
    }
    text.text
}

/// The inner functions of a stack.
fn called(frames: &[String]) -> String {
    const INNER: usize = 6;
    let inner = &frames[frames.len().saturating_sub(INNER)..];
    let outer = if inner.len() < frames.len() {
        "… > "
    } else {
        ""
    };
    format!("{outer}{}", inner.join(" > "))
}

/// Whether a stream is worth lines of its own: a hundredth of the time, a tenth of the calls, or most of
/// them.
fn matters(stream: &Stream, findings: &Findings) -> bool {
    let calls: u64 = findings.streams.iter().map(|stream| stream.calls).sum();
    let most = findings.streams.iter().map(|stream| stream.calls).max();
    stream.writing_ns() * 100 >= findings.run.wall_ns
        || stream.calls * 10 >= calls
        || Some(stream.calls) == most
}

/// One line for the streams that do not matter.
fn in_sum(streams: &[&Stream]) -> String {
    let mut programs: Vec<&str> = streams.iter().map(|stream| &*stream.program).collect();
    programs.sort_unstable();
    programs.dedup();
    let sum = |part: fn(&Stream) -> u64| streams.iter().map(|stream| part(stream)).sum::<u64>();
    format!(
        "{} more stream{} ({}): {} write calls, {} bytes, {}; --json lists them",
        streams.len(),
        if streams.len() == 1 { "" } else { "s" },
        programs.join(", "),
        grouped(sum(|stream| stream.calls)),
        grouped(sum(|stream| stream.bytes)),
        time(sum(Stream::writing_ns)),
    )
}

/// A time, or that there was none.
fn time(ns: u64) -> String {
    if ns == 0 {
        "no measurable time".to_owned()
    } else {
        duration(ns as f64)
    }
}

/// Processor time, which the kernel counts in ticks.
fn ticks(ns: u64) -> String {
    if ns == 0 {
        "under 10 ms".to_owned()
    } else {
        duration(ns as f64)
    }
}

/// How much further in a line stands that continues another.
const CONTINUED: usize = 2;

/// How a line looks in colour.
#[derive(Clone, Copy)]
enum Style {
    Plain,
    Strong,
    Problem,
    Faint,
}

/// Lines for a screen: not longer than it is wide, and nothing in them that it would obey but their own colours.
struct Page {
    text: String,
    screen: Option<Screen>,
}

impl Page {
    fn new(screen: Option<Screen>) -> Self {
        Self {
            text: String::new(),
            screen,
        }
    }

    fn line(&mut self, style: Style, indent: usize, content: &str) {
        let content = inert(content);
        let Some(screen) = self.screen else {
            return self.push(indent, &content);
        };
        let width = screen.columns.saturating_sub(indent);
        let lines: Vec<String> = if content.chars().count() <= width {
            // With its own spaces.
            vec![content.into_owned()]
        } else {
            broken(&content, width.saturating_sub(CONTINUED)).collect()
        };
        for (i, line) in lines.into_iter().enumerate() {
            let line = match style {
                Style::Plain => line,
                Style::Strong => screen.strong(&line),
                Style::Problem => screen.wrong(&line),
                Style::Faint => screen.faint(&line),
            };
            self.push(indent + if i > 0 { CONTINUED } else { 0 }, &line);
        }
    }

    fn faint(&mut self, indent: usize, content: &str) {
        self.line(Style::Faint, indent, content);
    }

    fn push(&mut self, indent: usize, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:indent$}{line}", "");
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }
}

fn mode_line(findings: &Findings) -> String {
    match findings.run.mode {
        Mode::Sampled { looks } => format!("{} samples, counts from the kernel", grouped(looks)),
        Mode::Tracepoints { lost: 0 } => {
            format!(
                "every write call, by tracepoints (which added about {})",
                time(findings.run.overhead_ns)
            )
        }
        Mode::Tracepoints { lost } => {
            format!(
                "write calls by tracepoints; {} records were lost: too little locked memory",
                grouped(lost)
            )
        }
        Mode::Ptrace => format!(
            "every write call, by ptrace (which added about {})",
            time(findings.run.overhead_ns)
        ),
    }
}

fn stream_figures(text: &mut Page, stream: &Stream, findings: &Findings) {
    let of = if stream.processes > 1 {
        format!(" ({} processes)", stream.processes)
    } else {
        String::new()
    };
    let name = stream.descriptors.name();
    text.line(
        Style::Plain,
        0,
        &format!(
            "{}{of}: {name} -> {}",
            stream.program,
            stream.target.describe()
        ),
    );
    for (process, reader) in &stream.readers {
        text.faint(2, &format!("read by {reader} (process {process})"));
    }
    if stream.calls > 0 {
        text.faint(
            2,
            &format!(
                "{} write calls, {} bytes, {} bytes per call; {}",
                grouped(stream.calls),
                grouped(stream.bytes),
                grouped(stream.mean_size()),
                stream.buffering.describe()
            ),
        );
    }
    if stream.tally.errors + stream.tally.partial > 0 {
        let (errors, partial) = (grouped(stream.tally.errors), grouped(stream.tally.partial));
        text.faint(
            2,
            &format!("{errors} calls failed, {partial} wrote only a part"),
        );
    }
    let waiting = match stream.waiting_ns {
        0 => "none".to_owned(),
        some => duration(some as f64),
    };
    text.faint(
        2,
        &format!(
            "{} in write calls, {waiting} of it waiting for the {}",
            time(stream.writing_ns()),
            stream.target.kind.awaited()
        ),
    );
    if !matches!(findings.run.mode, Mode::Sampled { .. }) {
        histogram(
            text,
            "sizes of the write calls",
            &stream.tally.sizes,
            grouped,
        );
        histogram(
            text,
            "durations of the write calls",
            &stream.tally.durations_ns,
            |ns| duration(ns as f64),
        );
    }
}

fn histogram(text: &mut Page, title: &str, histogram: &Histogram, unit: impl Fn(u64) -> String) {
    let buckets: Vec<Bucket> = histogram.buckets().collect();
    let Some(most) = buckets.iter().map(|bucket| bucket.count).max() else {
        return;
    };
    text.faint(2, title);
    for bucket in buckets {
        let bar = "#".repeat((bucket.count * BAR).div_ceil(most) as usize);
        let range = format!("{} to {}", unit(bucket.least), unit(bucket.most));
        text.faint(
            4,
            &format!("{range:<24} {:>12}  {bar}", grouped(bucket.count)),
        );
    }
}
