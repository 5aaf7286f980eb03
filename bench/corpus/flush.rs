//! Two messages a line, each with a flush.
use std::io::Write;

fn main() {
    let lines = std::env::args().nth(1).map_or(20_000, |n| n.parse().unwrap());
    let mut out = std::io::stdout().lock();
    for n in 0..lines {
        write!(out, "{n}").unwrap();
        out.flush().unwrap();
        writeln!(out, ": {}", n * 3).unwrap();
    }
}
