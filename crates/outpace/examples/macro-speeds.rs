//! What the macros cost where `outpace bench ladder` and `lines` have no rung: beside std's, in nanoseconds
//! a message, contestants interleaved, the median of several rounds.
//!
//! ```text
//! cargo run --release -p outpace --example macro-speeds [-- ROUNDS]
//! ```

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::time::Instant;

const MESSAGES: usize = 400_000;
const VALUES: usize = 1 << 16;

fn null() -> File {
    OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .expect("/dev/null can be written to")
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn values<T>(mut value: impl FnMut(u64) -> T) -> Vec<T> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    (0..VALUES).map(|_| value(random(&mut state))).collect()
}

/// A contestant: its name, and what writes message `i`.
struct Rung<'a> {
    name: &'static str,
    message: Box<dyn FnMut(usize) + 'a>,
    times: Vec<f64>,
}

fn rung<'a>(name: &'static str, mut message: impl FnMut(usize) + 'a) -> Rung<'a> {
    let run = move |messages| (0..messages).for_each(&mut message);
    Rung {
        name,
        message: Box::new(run),
        times: Vec::new(),
    }
}

/// A rung for `println!` of values, and one for `writeln!` of them on a `BufWriter`.
fn lines<'a, T: std::fmt::Display>(
    names: [&'static str; 2],
    values: &'a [T],
    println: fn(&T),
) -> [Rung<'a>; 2] {
    let mut out = BufWriter::with_capacity(64 << 10, null());
    [
        rung(names[0], move |i| println(&values[i % VALUES])),
        rung(names[1], move |i| {
            writeln!(out, "{}", values[i % VALUES]).expect("null takes everything");
        }),
    ]
}

fn main() {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(11);
    let numbers = values(|bits| bits >> (bits % 64));
    let floats = values(f64::from_bits);
    let name = black_box("name");
    let mut ours = String::new();
    let mut theirs = String::new();

    let mut rungs = Vec::new();
    rungs.extend(lines(
        ["u64 of any length: println!", "… writeln! on a BufWriter"],
        &numbers,
        |x| outpace::println!("{x}"),
    ));
    rungs.extend(lines(
        ["f64 of any size: println!", "… writeln! on a BufWriter"],
        &floats,
        |x| outpace::println!("{x}"),
    ));
    rungs.extend([
        rung("format!: outpace's", |i| {
            black_box(outpace::format!("{i}: {name} of {}", i / 2));
        }),
        rung("… std's", |i| {
            black_box(format!("{i}: {name} of {}", i / 2));
        }),
        rung("writeln! to a String: outpace's", |i| {
            if i % 100 == 0 {
                ours.clear();
            }
            outpace::writeln!(ours, "{i}: {name} of {}", i / 2).expect("strings take everything");
        }),
        rung("… std's", |i| {
            if i % 100 == 0 {
                theirs.clear();
            }
            writeln!(theirs, "{i}: {name} of {}", i / 2).expect("strings take everything");
        }),
    ]);

    for _ in 0..rounds {
        for rung in &mut rungs {
            let start = Instant::now();
            (rung.message)(MESSAGES);
            let time = start.elapsed().as_nanos() as f64 / MESSAGES as f64;
            rung.times.push(time);
        }
    }
    for Rung {
        name, mut times, ..
    } in rungs
    {
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        eprintln!("{median:>8.2} ns (at best {:.2})  {name}", times[0]);
    }
}
