//! `slog` through outpace: a drain of your own is a dozen lines, and needs no `slog-async`.
//!
//! ```text
//! cargo run --release -p outpace --example slog [-- RECORDS]
//! ```
//!
//! The drains of `slog-term` and `slog-json` take any `Write`; as they flush after each record, give
//! them `outpace::Unflushed(outpace::stdout())`.

use outpace::Buffering;
use slog::{Drain, KV, Key, Logger, Never, OwnedKVList, Record, Serializer, info, o, warn};
use std::fmt::{self, Write as _};
use std::io::Write;

/// Writes records as text to any writer, each with one `write_all`, so that each is one message.
struct Text<W>(W);

/// Collects ` key=value` pairs.
struct Pairs(String);

impl Serializer for Pairs {
    fn emit_arguments(&mut self, key: Key, value: &fmt::Arguments<'_>) -> slog::Result {
        write!(self.0, " {key}={value}")?;
        Ok(())
    }
}

impl<W: Write + Copy> Drain for Text<W> {
    type Ok = ();
    type Err = Never;

    fn log(&self, record: &Record<'_>, logger: &OwnedKVList) -> Result<(), Never> {
        let mut pairs = Pairs(format!("{} {}", record.level(), record.msg()));
        // A value that cannot be shown is no reason to lose the record.
        let _ = record.kv().serialize(record, &mut pairs);
        let _ = logger.serialize(record, &mut pairs);
        pairs.0.push('\n');
        // The exit reports a failed write.
        let _ = { self.0 }.write_all(pairs.0.as_bytes());
        Ok(())
    }
}

fn main() {
    outpace::stdout().set_default_buffering(Buffering::background(16 << 20));
    let log = Logger::root(Text(outpace::stdout()), o!("service" => "example"));

    let records: u64 = std::env::args().nth(1).map_or(5, |text| {
        text.parse().expect("the argument is a number of records")
    });
    for number in 0..records {
        info!(log, "handled a request"; "number" => number);
    }
    let stats = outpace::stdout().stats();
    warn!(log, "the cost of the log"; "longest_wait" => ?stats.longest_wait);
}
