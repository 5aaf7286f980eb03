//! Rungs with numbers of random length, whose digits cannot be incremented from message to message.

use std::io::{self, BufWriter, Write};

use super::line::begin_line;
use crate::bench::catalogue::input::number;
use crate::bench::catalogue::lines::bare_stdout;
use crate::bench::experiment::clock::Span;

pub(super) fn message(index: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("Hello, {}\t", number(index)).as_bytes());
}

/// As large as the others' buffers.
const CAPACITY: usize = 64 << 10;

pub(super) fn bufwriter(span: &mut Span) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(CAPACITY, bare_stdout()?);
    for index in 0..span.messages {
        write!(out, "Hello, {}\t", number(index))?;
    }
    span.done_calling();
    out.flush()
}

pub(super) fn by_itoa(span: &mut Span) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(CAPACITY, bare_stdout()?);
    let mut digits = itoa::Buffer::new();
    for index in 0..span.messages {
        out.write_all(b"Hello, ")?;
        out.write_all(digits.format(number(index)).as_bytes())?;
        out.write_all(b"\t")?;
    }
    span.done_calling();
    out.flush()
}

pub(super) fn outpace(span: &mut Span) -> io::Result<()> {
    let mut out = outpace::stdout().lock();
    begin_line();
    for index in 0..span.messages {
        out.str("Hello, ").int(number(index)).char('\t');
    }
    span.done_calling();
    out.flush()
}
