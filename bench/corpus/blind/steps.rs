//! The longest Collatz sequence below each number, by println!; told `large`, into a BufWriter: the remedy.
use std::io::Write;

fn steps(mut n: u64) -> u32 {
    let mut steps = 0;
    while n > 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let lines: u64 = words.last().unwrap().parse().unwrap();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for n in 1..=lines {
        if words[0] == "large" {
            writeln!(out, "{n}: {}", steps(n)).unwrap();
        } else {
            writeln!(out.get_mut(), "{n}: {}", steps(n)).unwrap();
        }
    }
    out.flush().unwrap();
}
