//! A BufWriter that is flushed after every ten lines; told `rarely`, at the end alone: the remedy.
use std::io::{BufWriter, Write};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lines: u64 = words.last().map_or(20_000, |n| n.parse().unwrap());
    let rarely = words[0] == "rarely";
    let mut out = BufWriter::new(std::io::stdout().lock());
    for n in 1..=lines {
        writeln!(out, "{n} {}", n * n % 9973).unwrap();
        if n % 10 == 0 && !rarely {
            out.flush().unwrap();
        }
    }
    out.flush().unwrap();
}
