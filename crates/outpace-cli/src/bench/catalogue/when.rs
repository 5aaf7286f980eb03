//! `when`: at which step of a program does its text reach the reader?

use std::fs::File;
use std::io::{self, BufWriter, LineWriter, Write};
use std::thread::sleep;

use outpace::{Buffering, Stream};

use super::lines::bare_stdout;
use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method, Passage};
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::Arrival;
use crate::user::quantity::duration;

pub(crate) const WHEN: Experiment = Experiment {
    name: "when",
    question: "When does text appear?",
    published: "Line-buffered: at each newline, the last partial line at the flush or the drop. \
                Block-buffered: all of it at the flush.",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "text",
    message: |_, into| {
        TEXTS
            .iter()
            .for_each(|text| into.extend_from_slice(text.bytes))
    },
    messages: 1,
    to: &["pipe", "pty"],
    baseline: "raw",
    method: Method::Arrival(TEXTS),
    rungs: rungs! {
        described "linewriter": Here(|span| steps(span, LineWriter::new(bare_stdout()?))), "std's LineWriter";
        described "bufwriter": Here(|span| steps(span, BufWriter::new(bare_stdout()?))), "std's BufWriter";
        described "raw": Here(|span| steps(span, bare_stdout()?)), "a write call each time";
        outpace "prompt": Here(|span| steps(span, prompt()?)), "outpace's Prompt";
        outpace "prompt-bytes": Here(|span| steps(span, Bytewise(prompt()?))), "the same, each byte a message of its own";
    },
    conclusion,
};

const TEXTS: &[Passage] = &[
    Passage {
        name: "half a line",
        written_at: "half a line",
        bytes: b"half a line",
    },
    Passage {
        name: "its newline",
        written_at: "its newline",
        bytes: b"\n",
    },
    Passage {
        name: "three lines",
        written_at: "four lines",
        bytes: b"one\ntwo\nthree\n",
    },
    Passage {
        name: "a fourth, unfinished",
        written_at: "four lines",
        bytes: b"four",
    },
    Passage {
        name: "a last word",
        written_at: "a last word",
        bytes: b", and five",
    },
];

fn prompt() -> io::Result<Stream<File>> {
    Stream::new(bare_stdout()?, Buffering::prompt())
}

/// Hands on each byte as a message. In such a burst the caller does not write each at once: the helper thread keeps the promise.
struct Bytewise<W>(W);

impl<W: Write> Write for Bytewise<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0.write_all(std::slice::from_ref(byte))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A partial line, its newline, four lines of which the last is unfinished, a flush, one more word
/// and the drop.
fn steps(span: &mut Span, mut out: impl Write) -> io::Result<()> {
    let pause = span.pause;
    span.step("half a line");
    out.write_all(TEXTS[0].bytes)?;
    sleep(pause);
    span.step("its newline");
    out.write_all(TEXTS[1].bytes)?;
    sleep(pause);
    span.step("four lines");
    out.write_all(&[TEXTS[2].bytes, TEXTS[3].bytes].concat())?;
    sleep(pause);
    span.step("the flush");
    out.flush()?;
    sleep(pause);
    span.step("a last word");
    out.write_all(TEXTS[4].bytes)?;
    sleep(pause);
    span.step("the drop");
    drop(out);
    sleep(pause);
    Ok(())
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for (rung, called) in [
        ("linewriter", "A LineWriter"),
        ("bufwriter", "A BufWriter"),
        ("raw", "A raw handle"),
        ("prompt", "outpace's Prompt"),
        ("prompt-bytes", "Prompt in a burst"),
    ] {
        let mut destinations = figures.destinations().into_iter();
        let Some(row) = destinations.find_map(|to| figures.row(rung, to)) else {
            continue;
        };
        let arrivals = row.arrivals().iter();
        let (prompt, late): (Vec<&Arrival>, Vec<&Arrival>) =
            arrivals.partition(|arrival| arrival.written_at == arrival.arrived_at);
        sentences.push(if late.is_empty() {
            let slowest = prompt.iter().map(|arrival| arrival.after_ns).max();
            let within = slowest.map(|ns| duration(ns as f64)).unwrap_or_default();
            format!("{called} shows every text by itself, within {within} of its write.")
        } else if prompt.is_empty() {
            format!("{called} shows nothing before the flush or the drop.")
        } else {
            let late: Vec<&str> = late.iter().map(|arrival| arrival.text.as_str()).collect();
            format!("{called} holds back {}.", late.join(", "))
        });
    }
    sentences
}
