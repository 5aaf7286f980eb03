//! The ways to log.

use std::io::{self, Write};

use outpace::{Buffering, Overflow};
use tracing_appender::non_blocking::NonBlockingBuilder;

use super::{LogEnd, serve};
use crate::bench::experiment::clock::Span;

/// So small that each policy takes effect.
const CAPACITY: usize = 256 << 10;

pub(super) fn silent(span: &mut Span) -> io::Result<()> {
    serve(span, |_| (), LogEnd::default)
}

pub(super) fn println(span: &mut Span) -> io::Result<()> {
    serve(
        span,
        |request| println!("request {request}: GET / HTTP/1.1 from 127.0.0.1, answered 200"),
        LogEnd::default,
    )?;
    io::stdout().flush()
}

/// As tracing-subscriber uses it: a record is formatted into a reused buffer, and written in one call.
pub(super) fn appender(span: &mut Span, lossy: bool) -> io::Result<()> {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(lossy)
        .finish(io::stdout());
    let counter = writer.error_counter();
    let mut writer = writer;
    let mut record = Vec::new();
    let dropped_bytes = std::cell::Cell::new(0);
    let mut dropped = 0;
    serve(
        span,
        |request| {
            record.clear();
            let written = writeln!(
                record,
                "request {request}: GET / HTTP/1.1 from 127.0.0.1, answered 200"
            )
            .and_then(|()| writer.write_all(&record));
            written.expect("it reports no errors");
            if counter.dropped_lines() != dropped {
                dropped = counter.dropped_lines();
                dropped_bytes.set(dropped_bytes.get() + record.len() as u64);
            }
        },
        || LogEnd {
            dropped: counter.dropped_lines() as u64,
            dropped_bytes: dropped_bytes.get(),
            backlog: None,
        },
    )?;
    drop(guard);
    Ok(())
}

pub(super) fn background(span: &mut Span, overflow: Overflow) -> io::Result<()> {
    let capacity = CAPACITY;
    outpace(span, Buffering::Background { capacity, overflow })
}

/// The overflow policy that writes to a file.
pub(super) fn to_a_file() -> Overflow {
    Overflow::Spill {
        directory: std::env::temp_dir(),
        limit: 4 << 30,
    }
}

pub(super) fn outpace(span: &mut Span, buffering: Buffering) -> io::Result<()> {
    let out = outpace::stdout();
    out.set_buffering(buffering);
    serve(
        span,
        |request| {
            outpace::println!("request {request}: GET / HTTP/1.1 from 127.0.0.1, answered 200");
        },
        || {
            let stats = out.stats();
            LogEnd {
                dropped: stats.messages_dropped,
                dropped_bytes: stats.bytes_dropped,
                backlog: Some(stats.bytes_queued),
            }
        },
    )?;
    out.flush()
}
