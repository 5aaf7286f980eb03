//! A `BufWriter`: blocks of 8 KiB, wherever they go. The remedy.

use std::io::{BufWriter, Write};

fn main() -> std::io::Result<()> {
    let lines: u64 = std::env::args().nth(1).map_or(20_000, |n| n.parse().unwrap());
    let mut out = BufWriter::new(std::io::stdout().lock());
    for n in 0..lines {
        writeln!(out, "line {n}")?;
    }
    out.flush()
}
