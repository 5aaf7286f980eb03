//! The remedy of flush.rs.
use std::io::Write;

fn main() {
    let lines = std::env::args().nth(1).map_or(20_000, |n| n.parse().unwrap());
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for n in 0..lines {
        write!(out, "{n}").unwrap();
        writeln!(out, ": {}", n * 3).unwrap();
    }
    out.flush().unwrap();
}
