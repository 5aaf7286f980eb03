//! The rungs on std's own writers.

use std::io::{self, Write};

use crate::bench::experiment::clock::Span;

pub(super) fn print(span: &mut Span) -> io::Result<()> {
    for index in 0..span.messages {
        print!("Hello, {index}\t");
    }
    span.done_calling();
    io::stdout().flush()
}

/// A message by the formatting machinery, which writes it in three fragments.
pub(super) fn formatted(span: &mut Span, mut out: impl Write) -> io::Result<()> {
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
