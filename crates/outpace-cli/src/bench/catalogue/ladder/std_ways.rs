//! The rungs on std's own writers.

use std::io::{self, BufWriter, Write};

use crate::bench::catalogue::lines::bare_stdout;
use crate::bench::experiment::clock::Span;

pub(super) fn glacial(span: &mut Span) -> io::Result<()> {
    let mut stdout = io::stdout();
    for index in 0..span.messages {
        write!(stdout, "Hello, {index}\t")?;
    }
    span.done_calling();
    stdout.flush()
}

pub(super) fn print(span: &mut Span) -> io::Result<()> {
    for index in 0..span.messages {
        print!("Hello, {index}\t");
    }
    span.done_calling();
    io::stdout().flush()
}

pub(super) fn slow(span: &mut Span) -> io::Result<()> {
    formatted(span, io::stdout().lock())
}

pub(super) fn fast(span: &mut Span) -> io::Result<()> {
    formatted(span, BufWriter::new(io::stdout().lock()))
}

pub(super) fn fast_itoa(span: &mut Span) -> io::Result<()> {
    fast_integers(span, BufWriter::new(io::stdout().lock()))
}

pub(super) fn speedy(span: &mut Span) -> io::Result<()> {
    fast_integers(span, BufWriter::new(bare_stdout()?))
}

fn formatted(span: &mut Span, mut out: impl Write) -> io::Result<()> {
    for index in 0..span.messages {
        write!(out, "Hello, {index}\t")?;
    }
    span.done_calling();
    out.flush()
}

/// A message's number by a fast crate, a call for each part.
pub(in crate::bench::catalogue) fn fast_integers(
    span: &mut Span,
    mut out: impl Write,
) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    for index in 0..span.messages {
        out.write_all(b"Hello, ")?;
        out.write_all(digits.format(index).as_bytes())?;
        out.write_all(b"\t")?;
    }
    span.done_calling();
    out.flush()
}
