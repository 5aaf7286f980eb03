//! `lines`: numbers, a line each.

mod values;

use std::fs::File;
use std::io::{self, BufWriter, LineWriter, Write};
use std::os::fd::AsFd;

use outpace::Buffering;

use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures, into};
use crate::user::quantity::{duration, times_in_words};

pub(crate) const LINES: Experiment = Experiment {
    name: "lines",
    question: "What does a line of output cost, and what makes it cheaper?",
    published: "1,000,000 lines in a terminal: println! 1.08 s, BufWriter 0.41 s, by a clock that stopped before the \
                final flush; here it does not (Parmaksız). 500,000 lines: 17.6 s against 3.7 s (Park).",
    sources: &[sources::STDOUT_AND_STDERR, sources::BUFFERING_BY_BLOCK],
    published_to: &["pty", "tty", "terminal"],
    unit: "line",
    message,
    messages: 1_000_000,
    to: &[
        "null",
        "pipe",
        "file",
        "tmpfs",
        "pty",
        "xterm",
        "alacritty",
        "kitty",
    ],
    baseline: "bufwriter",
    method: Method::Work,
    rungs: rungs! {
        published "println" 1.08 s: Here(println), "println! for each line";
        published "bufwriter" 0.41 s: Here(|span| write_lines(span, BufWriter::new(io::stdout().lock()))),
            "writeln! to a BufWriter above std's stdout";
        added "println-lock": Here(|span| write_lines(span, io::stdout().lock())), "writeln! to std's locked stdout";
        added "linewriter-file": Here(|span| write_lines(span, LineWriter::new(bare_stdout()?))),
            "writeln! to a LineWriter above the bare descriptor";
        added "bufwriter-file": Here(|span| write_lines(span, BufWriter::new(bare_stdout()?))),
            "writeln! to a BufWriter above the bare descriptor";
        outpace "outpace": Here(outpace_println), "outpace::println! for each line";
        outpace "outpace-guard": Here(typed_lines), "typed calls on the guard";
        outpace "outpace-line": Here(|span| with_buffering(span, Buffering::Line)), "the same, Line";
        outpace "outpace-block": Here(|span| with_buffering(span, Buffering::block())), "the same, Block";
        outpace "outpace-background": Here(|span| with_buffering(span, Buffering::background(16 << 20))),
            "the same, Background with a queue of 16 MiB";
        added "random-bufwriter": Here(values::integer_bufwriter), "writeln! of numbers of random length to a BufWriter"
            .writes(values::integer_line).against("random-bufwriter");
        outpace "outpace-random": Here(values::integer_outpace), "outpace::println! of numbers of random length"
            .writes(values::integer_line).against("random-bufwriter");
        added "f64-zmij": Here(values::float_zmij), "random floats by the crate zmij to a BufWriter"
            .writes(values::float_line).against("f64-bufwriter");
        added "f64-bufwriter": Here(values::float_bufwriter), "writeln! of random floats to a BufWriter"
            .writes(values::float_line).against("f64-bufwriter");
        outpace "outpace-f64": Here(values::float_outpace), "outpace::println! of random floats"
            .writes(values::float_line).against("f64-bufwriter");
        added "csv-bufwriter": Here(values::row_bufwriter), "writeln! of a row of 8 mixed fields to a BufWriter"
            .writes(values::row_line).against("csv-bufwriter");
        outpace "outpace-csv": Here(values::row_outpace), "outpace::println! of such a row"
            .writes(values::row_line).against("csv-bufwriter");
        added "display-bufwriter": Here(values::size_bufwriter), "writeln! of a type with a Display of its own to a BufWriter"
            .writes(values::size_line).against("display-bufwriter");
        outpace "outpace-display": Here(values::size_outpace), "outpace::println! of such a type"
            .writes(values::size_line).against("display-bufwriter");
    },
    conclusion,
};

/// The bytes of line `index`.
pub(crate) fn message(index: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(index.to_string().as_bytes());
    into.push(b'\n');
}

fn println(span: &mut Span) -> io::Result<()> {
    for index in 0..span.messages {
        println!("{index}");
    }
    span.done_calling();
    io::stdout().flush()
}

fn write_lines(span: &mut Span, mut out: impl Write) -> io::Result<()> {
    for index in 0..span.messages {
        writeln!(out, "{index}")?;
    }
    span.done_calling();
    out.flush()
}

fn outpace_println(span: &mut Span) -> io::Result<()> {
    for index in 0..span.messages {
        outpace::println!("{index}");
    }
    span.done_calling();
    outpace::stdout().flush()
}

fn with_buffering(span: &mut Span, buffering: Buffering) -> io::Result<()> {
    outpace::stdout().set_buffering(buffering);
    typed_lines(span)
}

fn typed_lines(span: &mut Span) -> io::Result<()> {
    let mut out = outpace::stdout().lock();
    for index in 0..span.messages {
        out.int(index).char('\n');
    }
    span.done_calling();
    out.flush()
}

/// Standard output without std's LineWriter: a file of its own on the same destination.
pub(crate) fn bare_stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Destinations whose own speed is the limit, so that only another thread helps.
const TERMINALS: [&str; 2] = ["pty", "tty"];

/// How much cheaper than by std's `println!` a line is by a rung, at each destination.
fn gains(figures: &Figures<'_>, rung: &str, name: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    // One sentence for all destinations with a gain, which are most often all.
    let mut gains = Vec::new();
    for to in figures.destinations() {
        let Some(compared) = figures.compare("println", rung, to) else {
            continue;
        };
        match compared {
            Compared::More(ratio) => gains.push(format!("{} {}", times_in_words(ratio), into(to))),
            Compared::Less(ratio) => sentences.push(format!(
                "To {to} std's println! is {} cheaper than {name}.",
                times_in_words(1.0 / ratio)
            )),
            Compared::Same => {
                sentences.push(format!("To {to} {name} gains nothing over std's println!."));
            }
            Compared::Open(_) => sentences.extend(compared.unsettled("std's println!", name, to)),
        }
    }
    if !gains.is_empty() {
        let gains = gains.join(", ");
        sentences.insert(
            0,
            format!("With {name} a line is cheaper than with std's println!: {gains}."),
        );
    }
    sentences
}

/// How little time the program itself spends with Background.
fn own_time(figures: &Figures<'_>, to: &str) -> Option<String> {
    let println = figures.row("println", to)?;
    let background = figures.row("outpace-background", to)?;
    let (all, own) = (println.wall_ns?, background.caller_ns?);
    let println = println.wall_per_message()?;
    let caller = background.per_message(Some(own))?;
    (own.max < all.min && caller < println / 2.0).then(|| {
        format!(
            "To {to} the program itself spends {} with outpace's Background, 1/{:.0} of println!.",
            duration(caller),
            println / caller
        )
    })
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = gains(figures, "outpace", "outpace's println!");
    sentences.extend(gains(figures, "bufwriter", "a BufWriter"));
    sentences.extend(TERMINALS.into_iter().filter_map(|to| own_time(figures, to)));
    let mut destinations = figures.destinations().into_iter();
    let measured = destinations.find_map(|to| {
        Some((
            figures.writes("println", to)?,
            figures.writes("bufwriter", to)?,
        ))
    });
    if let Some((println, bufwriter)) = measured {
        sentences.push(if bufwriter < println / 10.0 {
            "A BufWriter above std's LineWriter does not write every line: the write calls show \
             whole buffers."
                .to_owned()
        } else {
            "A BufWriter above std's LineWriter still makes nearly a write call a line.".to_owned()
        });
    }
    sentences
}
