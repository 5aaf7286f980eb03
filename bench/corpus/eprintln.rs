//! eprintln!: a write for every fragment of every message.

fn main() {
    let lines: u64 = std::env::args().nth(1).map_or(20_000, |n| n.parse().unwrap());
    for n in 0..lines {
        eprintln!("line {n}");
    }
}
