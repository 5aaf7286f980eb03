//! Compares the texts of numbers with std's: all values of 8 and 16 bits and of `f32`, and random ones of the other
//! types.
//!
//! ```text
//! cargo run --release -p outpace --example compare-numbers -- [MILLIONS] [TYPE…]
//! ```
//!
//! `MILLIONS` is the number of values of each type that is not compared exhaustively, 1000 by default. Floats are
//! compared as `{}`, and every 16th also as `{:?}`, `{:e}` and `{:.N}`. Ends with status 1 at the first difference.

use std::fmt::Write;
use std::process::exit;
use std::thread;
use std::time::Instant;

/// Two texts of the same value, in buffers that are used again.
#[derive(Default)]
struct Pair {
    ours: String,
    theirs: String,
}

impl Pair {
    fn agree(&mut self, value: &dyn std::fmt::Debug) {
        if self.ours != self.theirs {
            eprintln!(
                "{value:?}: ours is {:?}, std's {:?}",
                self.ours, self.theirs
            );
            exit(1);
        }
        self.ours.clear();
        self.theirs.clear();
    }
}

macro_rules! compare {
    ($pair:ident, $value:ident, $format:literal $($argument:tt)*) => {
        outpace::write!($pair.ours, $format $($argument)*).expect("strings take everything");
        write!($pair.theirs, $format $($argument)*).expect("strings take everything");
        $pair.agree(&$value);
    };
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// All lengths are equally likely.
    fn of_any_length(&mut self) -> u64 {
        let bits = self.next();
        bits >> (bits % 64)
    }

    /// Any bits, a number from 0 to 1, one with few decimals, and one with few binary ones, in turn.
    fn double(&mut self, turn: u64) -> f64 {
        let bits = self.next();
        match turn % 4 {
            0 => f64::from_bits(bits),
            1 => (bits >> 11) as f64 / (1_u64 << 53) as f64,
            2 => (bits >> (10 + bits % 50)) as i64 as f64 / 10_f64.powi((bits % 19) as i32),
            _ => (bits >> (bits % 64)) as f64 / (1_u64 << (bits % 40)) as f64,
        }
    }
}

macro_rules! float {
    ($pair:ident, $value:ident, $turn:ident) => {
        compare!($pair, $value, "{}", $value);
        if $turn % 16 == 0 {
            let decimals = ($turn / 16 % 20) as usize;
            compare!($pair, $value, "{:?}", $value);
            compare!($pair, $value, "{:e}", $value);
            compare!($pair, $value, "{:.1$}", $value, decimals);
        }
    };
}

/// Compares the values of a type from number `from` to number `to`.
fn compare(name: &str, from: u64, to: u64) {
    let mut pair = Pair::default();
    let mut random = Random(from);
    macro_rules! all {
        ($type:ident) => {
            for bits in from..to {
                let value = bits as $type;
                compare!(pair, value, "{}", value);
                compare!(
                    pair,
                    value,
                    "{:x} {:b} {:o} {:+05}",
                    value,
                    value,
                    value,
                    value
                );
            }
        };
    }
    macro_rules! random {
        ($type:ident) => {
            for _ in from..to {
                let value = random.of_any_length() as $type;
                compare!(pair, value, "{}", value);
            }
        };
    }
    match name {
        "u8" => all!(u8),
        "i8" => all!(i8),
        "u16" => all!(u16),
        "i16" => all!(i16),
        "f32" => {
            for bits in from..to {
                let value = f32::from_bits(bits as u32);
                float!(pair, value, bits);
            }
        }
        "u32" => random!(u32),
        "u64" => random!(u64),
        "i64" => {
            for turn in from..to {
                let magnitude = random.of_any_length() as i64;
                let value = if turn % 2 == 0 {
                    magnitude
                } else {
                    magnitude.wrapping_neg()
                };
                compare!(pair, value, "{}", value);
            }
        }
        "u128" => {
            for _ in from..to {
                let wide = (u128::from(random.next()) << 64) | u128::from(random.next());
                let value = wide >> (random.next() % 128);
                compare!(pair, value, "{}", value);
            }
        }
        "f64" => {
            for turn in from..to {
                let value = random.double(turn);
                float!(pair, value, turn);
            }
        }
        other => {
            eprintln!("{other}: not one of u8 i8 u16 i16 f32 u32 u64 i64 u128 f64");
            exit(2);
        }
    }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let millions = match arguments
        .first()
        .and_then(|first| first.parse::<u64>().ok())
    {
        Some(millions) => {
            arguments.remove(0);
            millions
        }
        None => 1000,
    };
    if arguments.is_empty() {
        let all = [
            "u8", "i8", "u16", "i16", "f32", "u32", "u64", "i64", "u128", "f64",
        ];
        arguments = all.map(String::from).to_vec();
    }
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    for name in &arguments {
        let (count, how) = match name.as_str() {
            "u8" | "i8" => (1 << 8, "all"),
            "u16" | "i16" => (1 << 16, "all"),
            "f32" => (1 << 32, "all"),
            _ => (millions * 1_000_000, "random"),
        };
        let start = Instant::now();
        thread::scope(|scope| {
            for i in 0..threads {
                scope.spawn(move || compare(name, count * i / threads, count * (i + 1) / threads));
            }
        });
        println!(
            "{name}: {count} values ({how}) agree, {:.0} s",
            start.elapsed().as_secs_f64()
        );
    }
}
