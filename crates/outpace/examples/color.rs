//! Colours where they are wanted: `anstream` in front of a stream.
//!
//! ```text
//! cargo run -p outpace --example color
//! cargo run -p outpace --example color | cat
//! CLICOLOR_FORCE=1 cargo run -p outpace --example color | cat
//! NO_COLOR=1 cargo run -p outpace --example color
//! ```
//!
//! `anstream` knows std's handles and `dyn Write`: it checks the first for a terminal, and writes to the second. With a
//! guard in it, no other output comes between the pieces that it writes.

use anstream::AutoStream;
use std::io::{self, Write};

const GREEN: &str = "\x1b[32m";
const PLAIN: &str = "\x1b[0m";

fn main() -> io::Result<()> {
    // By the terminal, NO_COLOR, CLICOLOR and CLICOLOR_FORCE.
    let choice = AutoStream::choice(&io::stdout());
    let guard: Box<dyn Write> = Box::new(outpace::stdout().lock());
    let mut out = AutoStream::new(guard, choice);
    for i in 0..1000 {
        outpace::writeln!(out, "{GREEN}{i:>4}{PLAIN} passed")?;
    }
    out.flush()
}
