//! print! of parts and a flush after each, with long lines; with `large` through a BufWriter: the remedy.
use std::io::{BufWriter, Write, stdout};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_large = words[0] == "large";
    let lines: usize = words[words.len() - 1].parse().unwrap();
    let mut large = BufWriter::with_capacity(1 << 16, stdout().lock());
    for n in 0..lines / 2 {
        if is_large {
            write!(large, "{n:>300}").unwrap();
            writeln!(large, "{:?}", [n, n * 7]).unwrap();
        } else {
            write!(large.get_mut(), "{n:>300}").unwrap();
            large.get_mut().flush().unwrap();
            writeln!(large.get_mut(), "{:?}", [n, n * 7]).unwrap();
        }
    }
}
