//! The answer: is this program slowed by its output, by what, and what would change it.

use super::findings::{Findings, Stream};
use super::printing;
use super::tally::Buffering;
use super::target::Kind;
use crate::present::quantity::{duration, grouped};

/// What stands in the way of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Nothing worth mentioning.
    Nothing,
    /// The number of system calls.
    Calls,
    /// The reader: it takes the bytes more slowly than they are written.
    Reader,
}

impl Limit {
    /// The word for JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Calls => "calls",
            Self::Reader => "reader",
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
    pub(crate) with_blocks_ns: u64,
    /// The time if no reader ever made a write wait.
    pub(crate) with_fast_reader_ns: u64,
    pub(crate) sentences: Vec<String>,
    pub(crate) remedies: Vec<String>,
}

/// Less than this share of the time is not worth a change.
const WORTH_IT: f64 = 0.10;
/// A copy into a buffer and out of it.
const COPY_BYTE_NS: f64 = 0.1;

/// Time the writing of a stream would take after the change that its language allows (large blocks, but for a
/// shell), in the program's own time.
fn in_blocks_ns(stream: &Stream) -> f64 {
    if let Some(detour) = stream.detour {
        return (stream.calls as f64 * detour.call_ns).min(stream.writing_ns() as f64);
    }
    let byte_ns = stream
        .costs
        .map_or(COPY_BYTE_NS, |costs| costs.byte_ns + COPY_BYTE_NS);
    let blocks = stream.bytes as f64 * byte_ns;
    if stream.reader_keeps_up() {
        blocks.min(stream.writing_ns() as f64)
    } else {
        // The reader is busy as long as it was; only the calls are saved.
        (stream.waiting_ns as f64 + blocks).min(stream.writing_ns() as f64)
    }
}

impl Verdict {
    pub(crate) fn on(findings: &Findings) -> Self {
        let now_ns = findings
            .wall_ns
            .saturating_sub(findings.overhead_ns)
            .saturating_sub(findings.delayed_ns)
            .max(1);
        let sum = |part: fn(&Stream) -> u64| findings.streams.iter().map(part).sum::<u64>();
        let writing_ns = sum(Stream::writing_ns).min(now_ns);
        let waiting_ns = sum(|stream| stream.waiting_ns).min(writing_ns);
        let share = writing_ns as f64 / now_ns as f64;
        let rest_ns = (now_ns - writing_ns) as f64;
        let (mut saved_ns, mut left_ns) = (0.0, 0.0);
        for stream in findings.streams.iter().filter(|it| it.could_be_larger()) {
            saved_ns += stream.writing_ns() as f64 - in_blocks_ns(stream);
            saved_ns += printing::gone_ns(stream, rest_ns);
            left_ns += in_blocks_ns(stream);
        }
        // What the clock ticks gave to writing may be more than there was.
        let with_blocks_ns = now_ns
            .saturating_sub(saved_ns as u64)
            .max(left_ns as u64)
            .min(now_ns);
        let with_fast_reader_ns = now_ns - waiting_ns;
        let worst = findings
            .streams
            .iter()
            .max_by_key(|stream| stream.writing_ns());
        let limit = match worst {
            Some(worst) if share >= WORTH_IT => limit_of(worst),
            _ => Limit::Nothing,
        };
        let mut verdict = Self {
            limit,
            share,
            now_ns,
            with_blocks_ns,
            with_fast_reader_ns,
            sentences: Vec::new(),
            remedies: Vec::new(),
        };
        verdict.explain(findings, worst);
        if findings.ending.is_some() {
            // It was started here, so that its command is known.
            let command = as_typed(&findings.command);
            for remedy in &mut verdict.remedies {
                *remedy = remedy.replace("CMD…", &command);
            }
        }
        verdict
    }

    fn explain(&mut self, findings: &Findings, worst: Option<&Stream>) {
        let percent = |part: u64| format!("{:.0} %", 100.0 * part as f64 / self.now_ns as f64);
        let total = duration(self.now_ns as f64);
        let Some(worst) = worst.filter(|stream| stream.calls > 0 || stream.waiting_ns > 0) else {
            self.sentences.push(match findings.tree.filter(|tree| tree.write_calls > 0) {
                Some(tree) => format!(
                    "The program ended too soon to be looked at; the kernel counted {} write calls, {} bytes.",
                    grouped(tree.write_calls),
                    grouped(tree.bytes_written)
                ),
                None => "Output is not the problem: the program wrote nothing to its streams.".to_owned(),
            });
            return;
        };
        if self.limit == Limit::Nothing {
            self.sentences.push(format!(
                "Output is not the problem: {} of {total} went into writing.",
                percent((self.share * self.now_ns as f64) as u64)
            ));
            return;
        }
        let in_kernel = worst.in_kernel_ns.min(self.now_ns);
        let waiting = worst.waiting_ns.min(self.now_ns);
        let all = percent((self.share * self.now_ns as f64) as u64);
        let of_worst = percent(worst.writing_ns().min(self.now_ns));
        let others = if all == of_worst {
            String::new()
        } else {
            format!(", {of_worst} into")
        };
        self.sentences.push(format!(
            "Output is the problem: {all} of {total} went into writing{others} {} ({} in the kernel, {} waiting for the reader).",
            worst.descriptors.name(),
            percent(in_kernel),
            percent(waiting),
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

    fn suggest(&mut self, worst: &Stream) {
        let saves = |then: u64| then < self.now_ns - self.now_ns / 20;
        if worst.could_be_larger() && saves(self.with_blocks_ns) {
            self.sentences.push(format!(
                "With block buffering it would take about {}.",
                duration(self.with_blocks_ns as f64)
            ));
            self.remedies.push(
                worst
                    .language
                    .remedy_for_calls(worst.buffering, worst.target.kind),
            );
        }
        if saves(self.with_fast_reader_ns) {
            self.sentences.push(format!(
                "With a reader that never makes it wait it would take about {}.",
                duration(self.with_fast_reader_ns as f64)
            ));
            self.remedies.push(match worst.target.kind {
                Kind::Terminal | Kind::Pipe | Kind::Socket => {
                    "unchanged: `outpace run -- CMD…` takes its output off its hands at once"
                        .to_owned()
                }
                _ => "write less, or to a faster device".to_owned(),
            });
        }
        if self.remedies.is_empty() {
            self.remedies.push(match worst.buffering {
                Buffering::Block { .. } | Buffering::Large => {
                    "write less: the calls are large already, what costs is the bytes".to_owned()
                }
                _ => "`outpace trace --exact` tells which writes they are".to_owned(),
            });
        }
    }
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
    if stream.waiting_ns > stream.in_kernel_ns
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

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["sh", "-c", "echo 'a b' $x", ""].map(str::to_owned);
        assert_eq!(as_typed(&words), r"sh -c 'echo '\''a b'\'' $x' ''");
        assert_eq!(as_typed(&["seq".to_owned(), "10".to_owned()]), "seq 10");
    }
}
