//! outpace's own rungs.

use std::io::{self, Write};

use outpace::Buffering;

use super::line::begin_line;
use crate::bench::experiment::clock::Span;

pub(super) fn typed(span: &mut Span) -> io::Result<()> {
    let mut out = outpace::stdout().lock();
    begin_line();
    for index in 0..span.messages {
        out.str("Hello, ").int(index).char('\t');
    }
    span.done_calling();
    out.flush()
}

pub(super) fn with_buffering(span: &mut Span, buffering: Buffering) -> io::Result<()> {
    outpace::stdout().set_buffering(buffering);
    typed(span)
}

pub(super) fn write(span: &mut Span) -> io::Result<()> {
    let mut out = outpace::stdout().lock();
    begin_line();
    for index in 0..span.messages {
        outpace::write!(out, "Hello, {index}\t")?;
    }
    span.done_calling();
    out.flush()
}

pub(super) fn print(span: &mut Span) -> io::Result<()> {
    let messages = span.messages;
    begin_line();
    for index in 0..messages {
        outpace::print!("Hello, {index}\t");
    }
    span.done_calling();
    outpace::stdout().flush()
}
