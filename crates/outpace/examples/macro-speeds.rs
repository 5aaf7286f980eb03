//! What a message costs its caller, written by outpace's macros and by others: nanoseconds, to the null
//! device, contestants interleaved, the median of several rounds.
//!
//! ```text
//! cargo run --release -p outpace --example macro-speeds [-- ROUNDS]
//! ```

use outpace::{Buffering, Stream};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::time::Instant;

struct Foreign(u32, u32);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.0, self.1)
    }
}

/// The row that is written as CSV.
struct Row {
    id: u64,
    name: String,
    price: f64,
    count: i32,
    ratio: f64,
    code: u32,
    tag: &'static str,
    done: bool,
}

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

/// A contestant: its name, and what writes so many messages.
type Rung<'a> = (&'static str, usize, Box<dyn FnMut(usize) + 'a>);

macro_rules! rung {
    ($name:literal, $count:expr, $run:expr) => {
        ($name, $count, Box::new($run) as Box<dyn FnMut(usize)>)
    };
}

fn main() {
    let rounds = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(11);
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let floats: Vec<f64> = (0..4096)
        .map(|_| (random(&mut state) >> 11) as f64 / (1_u64 << 53) as f64)
        .collect();
    let any_floats: Vec<f64> = (0..4096)
        .map(|_| f64::from_bits(random(&mut state)))
        .collect();
    let numbers: Vec<u64> = (0..4096)
        .map(|_| {
            let bits = random(&mut state);
            bits >> (bits % 64)
        })
        .collect();
    let rows: Vec<Row> = (0..1024)
        .map(|i| Row {
            id: random(&mut state) % 10_000_000,
            name: "abcdefghijklmnop"[..random(&mut state) as usize % 16].to_string(),
            price: (random(&mut state) % 1_000_000) as f64 / 100.0,
            count: (random(&mut state) % 2_000) as i32 - 1_000,
            ratio: floats[i],
            code: (random(&mut state) % 100_000) as u32,
            tag: ["red", "green", "blue", "ultraviolet"][random(&mut state) as usize % 4],
            done: random(&mut state).is_multiple_of(2),
        })
        .collect();
    let stream = Stream::new(null(), Buffering::block()).expect("/dev/null makes a stream");
    let buffered = || BufWriter::with_capacity(64 << 10, null());
    let (mut a, mut b, mut c, mut d, mut e, mut f) = (
        buffered(),
        buffered(),
        buffered(),
        buffered(),
        buffered(),
        buffered(),
    );
    let ladder = 2_000_000;
    let some = 400_000;
    let name = black_box("name");

    let mut rungs: Vec<Rung<'_>> = vec![
        rung!("ladder: typed calls on the guard", ladder, |n: usize| {
            let mut out = stream.lock();
            for i in 0..n {
                out.str("Hello, ").int(i).char('\t');
            }
        }),
        rung!("ladder: write! on the guard", ladder, |n: usize| {
            let mut out = stream.lock();
            for i in 0..n {
                outpace::write!(out, "Hello, {i}\t").expect("null takes everything");
            }
        }),
        rung!("ladder: print!", ladder, |n: usize| {
            for i in 0..n {
                outpace::print!("Hello, {i}\t");
            }
        }),
        rung!("ladder: write! on a BufWriter", ladder, move |n: usize| {
            for i in 0..n {
                write!(a, "Hello, {i}\t").expect("null takes everything");
            }
        }),
        rung!("random u64: println!", some, |n: usize| {
            for i in 0..n {
                let x = numbers[i % 4096];
                outpace::println!("{x}");
            }
        }),
        rung!("random u64: writeln! on a BufWriter", some, |n: usize| {
            for i in 0..n {
                let x = numbers[i % 4096];
                writeln!(b, "{x}").expect("null takes everything");
            }
        }),
        rung!("random f64 in 0..1: println!", some, |n: usize| {
            for i in 0..n {
                let x = floats[i % 4096];
                outpace::println!("{x}");
            }
        }),
        rung!(
            "random f64 in 0..1: writeln! on a BufWriter",
            some,
            |n: usize| {
                for i in 0..n {
                    let x = floats[i % 4096];
                    writeln!(c, "{x}").expect("null takes everything");
                }
            }
        ),
        rung!("any f64: println!", some, |n: usize| {
            for i in 0..n {
                let x = any_floats[i % 4096];
                outpace::println!("{x}");
            }
        }),
        rung!("any f64: writeln! on a BufWriter", some, |n: usize| {
            for i in 0..n {
                let x = any_floats[i % 4096];
                writeln!(d, "{x}").expect("null takes everything");
            }
        }),
        rung!("CSV row: println!", some, |n: usize| {
            for i in 0..n {
                let Row {
                    id,
                    name,
                    price,
                    count,
                    ratio,
                    code,
                    tag,
                    done,
                } = &rows[i % 1024];
                outpace::println!(
                    "{id},{name},{price:.2},{count:>6},{ratio},{code:05},{tag:<8},{done}"
                );
            }
        }),
        rung!("CSV row: writeln! on a BufWriter", some, |n: usize| {
            for i in 0..n {
                let Row {
                    id,
                    name,
                    price,
                    count,
                    ratio,
                    code,
                    tag,
                    done,
                } = &rows[i % 1024];
                writeln!(
                    e,
                    "{id},{name},{price:.2},{count:>6},{ratio},{code:05},{tag:<8},{done}"
                )
                .expect("null takes everything");
            }
        }),
        rung!("a foreign Display: println!", some, |n: usize| {
            for i in 0..n {
                let value = black_box(Foreign(i as u32, 7));
                outpace::println!("{value}");
            }
        }),
        rung!(
            "a foreign Display: writeln! on a BufWriter",
            some,
            |n: usize| {
                for i in 0..n {
                    let value = black_box(Foreign(i as u32, 7));
                    writeln!(f, "{value}").expect("null takes everything");
                }
            }
        ),
        rung!("format!: outpace's", some, |n: usize| {
            for i in 0..n {
                black_box(outpace::format!("{i}: {name} of {}", i / 2));
            }
        }),
        rung!("format!: std's", some, |n: usize| {
            for i in 0..n {
                black_box(format!("{i}: {name} of {}", i / 2));
            }
        }),
        rung!("write! to a String: outpace's", some, |n: usize| {
            use std::fmt::Write;
            let mut text = String::new();
            for i in 0..n {
                if i % 100 == 0 {
                    text.clear();
                }
                outpace::writeln!(text, "{i}: {name} of {}", i / 2)
                    .expect("strings take everything");
            }
        }),
        rung!("write! to a String: std's", some, |n: usize| {
            use std::fmt::Write;
            let mut text = String::new();
            for i in 0..n {
                if i % 100 == 0 {
                    text.clear();
                }
                writeln!(text, "{i}: {name} of {}", i / 2).expect("strings take everything");
            }
        }),
    ];

    let mut times = vec![Vec::new(); rungs.len()];
    for _ in 0..rounds {
        for ((_, count, run), times) in rungs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run(*count);
            times.push(start.elapsed().as_nanos() as f64 / *count as f64);
        }
    }
    for ((name, ..), mut times) in rungs.into_iter().zip(times) {
        times.sort_by(f64::total_cmp);
        eprintln!(
            "{:>8.2} ns (at best {:.2})  {name}",
            times[times.len() / 2],
            times[0]
        );
    }
}
