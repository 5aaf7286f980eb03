//! The answer: is this program slowed by its output, by what, and what would change it.

use super::estimate::{self, Change};
use crate::trace::model::findings::{Findings, Mode, Stream};
use crate::trace::model::interval::Interval;
use crate::trace::model::target::Kind;
use crate::user::quantity::{duration, grouped};

/// What stands in the way of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing that a change would gain much from.
    Nothing,
    /// The number of system calls.
    Calls,
    /// The reader: it takes the bytes more slowly than they are written.
    Reader,
    /// The times that were measured are the tracer's own.
    Unknown,
}

impl Limit {
    /// The word for JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Calls => "calls",
            Self::Reader => "reader",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict on a trace.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) limit: Limit,
    /// The part of the wall time spent in writes to streams.
    pub(crate) share: f64,
    /// The time without tracing, with a processor whenever it is wanted.
    pub(crate) now_ns: u64,
    /// The time if the streams written in small pieces were block-buffered.
    pub(crate) with_blocks_ns: Interval,
    /// The time if no reader ever made a write wait.
    pub(crate) with_fast_reader_ns: Interval,
    pub(crate) sentences: Vec<String>,
    pub(crate) remedies: Vec<String>,
}

/// A change that gains less than this share of the time is not worth it; one that gains less than the other is a
/// small one.
const WORTH_IT: f64 = 0.10;
const SMALL: f64 = 0.25;
/// Of several things to do, one that gains less than this is not named.
const NAMED: f64 = 0.05;
/// The time in which threads were seen waiting is an estimate: so much of it at least.
const WAITED: f64 = 0.75;
/// No program takes less than this part of its time once its output is cheap, as far as a trace can tell.
const LEAST_LEFT: f64 = 0.02;
/// What the time of a program differs by from run to run.
const RUN_TO_RUN: f64 = 0.07;
/// Ends of an interval that are as near as this are one figure.
const SAME: f64 = 1.2;

impl Verdict {
    pub(crate) fn on(findings: &Findings) -> Self {
        let run = &findings.run;
        let now_ns = run
            .wall_ns
            .saturating_sub(run.overhead_ns)
            .saturating_sub(run.delayed_ns)
            .max(1);
        let sum = |part: fn(&Stream) -> u64| findings.streams.iter().map(part).sum::<u64>();
        let writing_ns = sum(Stream::writing_ns).min(now_ns);
        let waiting_ns = sum(|stream| stream.waiting_ns).min(writing_ns) as f64;
        let share = writing_ns as f64 / now_ns as f64;
        let now = now_ns as f64;
        let changes: Vec<Change> = findings.streams.iter().map(estimate::in_blocks).collect();
        let saved: Interval = changes.iter().map(|change| change.saved_ns).sum();
        // Programs that write beside each other save no more together than the one that saves most, at worst; and what is
        // left of one is left of all.
        let most = |part: fn(&Change) -> f64| changes.iter().map(part).fold(0.0, f64::max);
        let saved = Interval {
            low: most(|change| change.saved_ns.low),
            ..saved
        };
        let left = saved.taken_from(now);
        let with_blocks_ns = Interval {
            low: left
                .low
                .max(most(|change| change.left_ns.low))
                .max(now * LEAST_LEFT),
            likely: left.likely.max(most(|change| change.left_ns.likely)),
            high: left.high.max(most(|change| change.left_ns.high)),
        }
        .within(0.0, now);
        let with_blocks_ns = Interval {
            low: with_blocks_ns.low * (1.0 - RUN_TO_RUN),
            high: with_blocks_ns.high * (1.0 + RUN_TO_RUN),
            ..with_blocks_ns
        };
        let with_fast_reader_ns = Interval {
            low: now - waiting_ns,
            likely: now - waiting_ns,
            high: now - WAITED * waiting_ns,
        };
        let worst = findings
            .streams
            .iter()
            .max_by_key(|stream| stream.writing_ns())
            .filter(|stream| stream.calls > 0 || stream.waiting_ns > 0);
        let mut verdict = Self {
            limit: Limit::Nothing,
            share,
            now_ns,
            with_blocks_ns,
            with_fast_reader_ns,
            sentences: Vec::new(),
            remedies: Vec::new(),
        };
        match worst {
            Some(_) if findings.run.mode == Mode::Ptrace => verdict.leave_open(),
            Some(worst) => {
                if share >= WORTH_IT && verdict.best_gain() >= WORTH_IT {
                    verdict.limit = limit_of(worst);
                }
                verdict.explain(findings, worst);
            }
            None => verdict.explain_silence(findings),
        }
        if findings.run.ending.is_some() {
            // It was started here, so that its command is known.
            let command = as_typed(&findings.command);
            for remedy in &mut verdict.remedies {
                *remedy = remedy.replace("CMD…", &command);
            }
        }
        verdict
    }

    /// The part of the time that a change gains which leaves so much of it.
    fn gain(&self, then_ns: Interval) -> f64 {
        1.0 - then_ns.likely / self.now_ns as f64
    }

    fn best_gain(&self) -> f64 {
        self.gain(self.with_blocks_ns)
            .max(self.gain(self.with_fast_reader_ns))
    }

    /// Stopping a program at each write takes longer than most writes, and changes which of them wait.
    fn leave_open(&mut self) {
        self.limit = Limit::Unknown;
        self.sentences.push(
            "No verdict: ptrace sees every write, but takes longer than most of them. `outpace trace` \
             without --exact, or with it as root, measures their time."
                .to_owned(),
        );
    }

    fn explain_silence(&mut self, findings: &Findings) {
        let tree = findings.run.tree.filter(|tree| tree.write_calls > 0);
        self.sentences.push(match tree {
            Some(tree) => format!(
                "No verdict: the program ended too soon to be looked at. The kernel counted {} write calls, {} bytes.",
                grouped(tree.write_calls),
                grouped(tree.bytes_written)
            ),
            None => "Output is not the problem: the program wrote nothing to its streams.".to_owned(),
        });
    }

    fn explain(&mut self, findings: &Findings, worst: &Stream) {
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        let total = self.total(findings);
        let all = percent(self.share);
        if self.limit == Limit::Nothing {
            self.sentences.push(if self.share < WORTH_IT {
                format!("Output is not the problem: {all} of {total} went into writing.")
            } else {
                format!(
                    "Nothing is to be gained: {all} of {total} went into writing, but in {} of {} bytes on average to a reader that \
                     keeps up.",
                    plural(worst.calls, "write"),
                    grouped(worst.mean_size())
                )
            });
            return;
        }
        let of_worst = (worst.writing_ns() as f64 / self.now_ns as f64).min(self.share);
        let waiting = (worst.waiting_ns as f64 / self.now_ns as f64).min(of_worst);
        let others = if percent(of_worst) == all {
            String::new()
        } else {
            format!(", {} into", percent(of_worst))
        };
        let part = if self.best_gain() < SMALL {
            "a small part of the time"
        } else {
            "the problem"
        };
        // What is shown is to add up.
        let waiting = (100.0 * waiting).round() as u64;
        self.sentences.push(format!(
            "Output is {part}: {all} of {total} went into writing{others} {} ({} % in the kernel, {waiting} % waiting for the \
             reader).",
            worst.descriptors.name(),
            ((100.0 * of_worst).round() as u64).saturating_sub(waiting),
        ));
        let reader = match &worst.readers[..] {
            [] => "the reader".to_owned(),
            [(process, name)] => format!("the reader, {name} (process {process})"),
            [(process, name), others @ ..] => {
                format!(
                    "the readers, {name} (process {process}) and {} more",
                    others.len()
                )
            }
        };
        self.sentences.push(match self.limit {
            Limit::Reader => {
                format!("The limit is {reader}: it takes the bytes more slowly than they come.")
            }
            _ => format!(
                "The limit is the number of system calls: {} of {} bytes each on average.",
                grouped(worst.calls),
                grouped(worst.mean_size())
            ),
        });
        self.suggest(worst);
    }

    /// The time that is judged, and why it is not what a clock on the wall shows.
    fn total(&self, findings: &Findings) -> String {
        let now = duration(self.now_ns as f64);
        let left_out = findings.run.wall_ns.saturating_sub(self.now_ns);
        if left_out * 50 < findings.run.wall_ns {
            return now;
        }
        let why = if findings.run.overhead_ns > findings.run.delayed_ns {
            "tracing"
        } else {
            "waiting for a processor"
        };
        format!(
            "{now} ({} less {} of {why})",
            duration(findings.run.wall_ns as f64),
            duration(left_out as f64)
        )
    }

    fn suggest(&mut self, worst: &Stream) {
        let about = |then_ns: Interval| format!("it would take {}.", range(then_ns));
        let blocks = worst.could_be_larger() && self.gain(self.with_blocks_ns) >= NAMED;
        let blocks = blocks.then(|| {
            let remedy = worst
                .language
                .remedy_for_calls(worst.buffering, worst.target.kind);
            let sentence = format!("With block buffering {}", about(self.with_blocks_ns));
            (sentence, remedy.unwrap_or_else(|| unrecognised(worst)))
        });
        let reader = (self.gain(self.with_fast_reader_ns) >= NAMED).then(|| {
            let sentence = "With a reader that never makes it wait ".to_owned();
            let remedy = match worst.target.kind {
                Kind::Terminal | Kind::Pipe | Kind::Socket => {
                    "unchanged: `outpace run -- CMD…` reads its output immediately"
                }
                _ => "write less, or to a faster device",
            };
            (
                sentence + &about(self.with_fast_reader_ns),
                remedy.to_owned(),
            )
        });
        let in_order = match self.limit {
            Limit::Reader => [reader, blocks],
            _ => [blocks, reader],
        };
        for (sentence, remedy) in in_order.into_iter().flatten() {
            self.sentences.push(sentence);
            self.remedies.push(remedy);
        }
    }
}

/// An interval of time for people.
fn range(time_ns: Interval) -> String {
    if time_ns.high <= time_ns.low * SAME {
        format!("about {}", duration(time_ns.likely))
    } else {
        format!("{} to {}", duration(time_ns.low), duration(time_ns.high))
    }
}

/// What to do about many small writes of a program whose language has no remedy here.
fn unrecognised(worst: &Stream) -> String {
    let language = worst.language.name();
    match worst.target.kind {
        Kind::Terminal | Kind::Pipe | Kind::Socket => {
            format!("{language}: let it write larger blocks, or run it as `outpace run -- CMD…`")
        }
        _ => format!("{language}: let it write larger blocks"),
    }
}

/// `1 write`, `2 writes`.
fn plural(count: u64, word: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {word}{ending}", grouped(count))
}

/// A command as a shell would have to be told it.
fn as_typed(words: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%".contains(c);
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Whether the calls or the reader take the time of a stream.
fn limit_of(stream: &Stream) -> Limit {
    if stream.waiting_ns as f64 > stream.in_kernel_ns.likely
        && !(stream.reader_keeps_up() && stream.buffering.is_fine_grained())
    {
        Limit::Reader
    } else {
        Limit::Calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::ending::Ending;
    use crate::trace::model::findings::{Descriptors, Elsewhere, Recording};
    use crate::trace::model::language::Language;
    use crate::trace::model::tally::{Buffering, CallTally};
    use crate::trace::model::target::Target;

    const MS: u64 = 1_000_000;

    /// A stream of so many writes of 12 bytes.
    fn stream(calls: u64, in_kernel_ns: u64, waiting_ns: u64) -> Stream {
        Stream {
            program: "program".into(),
            language: Language::Rust,
            processes: 1,
            descriptors: Descriptors::One(1),
            target: Target {
                kind: Kind::Pipe,
                path: "pipe:[1]".to_owned(),
                ..Target::unknown()
            },
            readers: Vec::new(),
            calls,
            bytes: 12 * calls,
            tally: CallTally::default(),
            buffering: Buffering::Line,
            busy_ns: None,
            own_ns: Interval::default(),
            in_kernel_ns: Interval::exactly(in_kernel_ns as f64),
            waiting_ns,
        }
    }

    fn verdict(mode: Mode, wall_ns: u64, streams: Vec<Stream>) -> Verdict {
        Verdict::on(&Findings {
            command: vec!["program".to_owned()],
            run: Recording {
                ending: Some(Ending::Exited(0)),
                wall_ns,
                ..Recording::of(1, mode)
            },
            streams,
            stacks: Vec::new(),
            elsewhere: Elsewhere::default(),
        })
    }

    const SAMPLED: Mode = Mode::Sampled { looks: 100 };

    #[test]
    fn many_small_writes_are_named_as_the_limit_with_the_remedy_of_the_language() {
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(100_000, 80 * MS, 0)]);
        assert_eq!(verdict.limit, Limit::Calls);
        assert!(verdict.sentences[0].starts_with("Output is the problem: 80 % of 100 ms"));
        assert!(verdict.sentences[1].contains("number of system calls: 100,000 of 12 bytes"));
        assert!(verdict.remedies[0].starts_with("Rust: "), "{verdict:?}");
        assert!(
            verdict.with_blocks_ns.high < 25.0 * MS as f64,
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
    fn shares_of_more_than_the_time_add_up_to_it() {
        let verdict = verdict(SAMPLED, 100 * MS, vec![stream(1000, 74 * MS, 44 * MS)]);
        assert!(
            verdict.sentences[0].contains(": 100 % of 100 ms"),
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
            buffering: Buffering::Block {
                capacity: 8192,
                exact: false,
            },
            ..stream(11_950, 36 * MS, 0)
        };
        let verdict = verdict(SAMPLED, 100 * MS, vec![blocks]);
        assert_eq!(verdict.limit, Limit::Nothing);
        assert!(
            verdict.sentences[0].starts_with("Nothing is to be gained: 36 %"),
            "{verdict:?}"
        );
        assert!(verdict.remedies.is_empty());
    }

    #[test]
    fn little_output_is_not_the_problem_and_none_is_said_to_be_none() {
        let little = verdict(SAMPLED, 100 * MS, vec![stream(100, 2 * MS, 0)]);
        assert_eq!(little.limit, Limit::Nothing);
        assert!(little.sentences[0].starts_with("Output is not the problem: 2 %"));
        let none = verdict(SAMPLED, 100 * MS, Vec::new());
        assert!(none.sentences[0].contains("wrote nothing"), "{none:?}");
    }

    #[test]
    fn times_that_ptrace_distorted_lead_to_no_verdict() {
        let verdict = verdict(Mode::Ptrace, 100 * MS, vec![stream(1000, 80 * MS, 0)]);
        assert_eq!(verdict.limit, Limit::Unknown);
        assert!(verdict.sentences[0].starts_with("No verdict"));
        assert!(verdict.remedies.is_empty());
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["sh", "-c", "echo 'a b' $x", ""].map(str::to_owned);
        assert_eq!(as_typed(&words), r"sh -c 'echo '\''a b'\'' $x' ''");
        assert_eq!(as_typed(&["seq".to_owned(), "10".to_owned()]), "seq 10");
    }
}
