//! Six print! a line, of which the last ends it; told `large`, into a BufWriter: the remedy.
use std::io::Write;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lines: u64 = words.last().unwrap().parse().unwrap();
    if words[0] == "large" {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        for n in 0..lines {
            write!(out, "{n}").unwrap();
            for k in 1..5 {
                write!(out, ",{}", n * k % 1009).unwrap();
            }
            writeln!(out).unwrap();
        }
        out.flush().unwrap();
    } else {
        for n in 0..lines {
            print!("{n}");
            for k in 1..5 {
                print!(",{}", n * k % 1009);
            }
            println!();
        }
    }
}
