//! Lines of other values: numbers of random length, floats, rows of a table, a type with a `Display` of its own.

use std::fmt;
use std::io::{self, BufWriter, Write};

use crate::bench::catalogue::input::{number, random};
use crate::bench::experiment::clock::Span;

/// The number of different values, which are used in turn: too many for a processor to learn their branches.
const COUNT: u64 = 1 << 16;

/// From 0 to 1, with as many bits as there can be.
fn float(index: u64) -> f64 {
    (random(index) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A row of a table, eight fields of all kinds.
struct MixedRow {
    id: u64,
    name: &'static str,
    price: f64,
    count: i32,
    ratio: f64,
    code: u32,
    tag: &'static str,
    done: bool,
}

fn row(index: u64) -> MixedRow {
    let bits = random(index + 1);
    MixedRow {
        id: random(index + 2) % 10_000_000,
        name: &"abcdefghijklmnop"[..bits as usize % 16],
        price: (bits >> 8) as f64 / 100.0 % 10_000.0,
        count: (bits >> 16) as i32 % 1_000,
        ratio: float(index),
        code: (bits >> 24) as u32 % 100_000,
        tag: ["red", "green", "blue", "ultraviolet"][(bits >> 32) as usize % 4],
        done: bits >> 40 & 1 == 1,
    }
}

/// A type that only its own `Display` knows.
struct Dimensions {
    columns: u32,
    rows: u32,
}

impl fmt::Display for Dimensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.columns, self.rows)
    }
}

fn size(index: u64) -> Dimensions {
    Dimensions {
        columns: random(index) as u32 % 1_000,
        rows: index as u32,
    }
}

/// All the values, made before the clock starts.
fn all<T>(value: fn(u64) -> T) -> Vec<T> {
    (0..COUNT).map(value).collect()
}

/// A kind of value: the bytes of its lines, and the two rungs that write them.
macro_rules! lines {
    ($message:ident $bufwriter:ident $outpace:ident: $make:ident, $pattern:pat, $format:literal) => {
        pub(super) fn $message(index: u64, into: &mut Vec<u8>) {
            let $pattern = &$make(index % COUNT);
            writeln!(into, $format).expect("memory takes everything");
        }

        pub(super) fn $bufwriter(span: &mut Span) -> io::Result<()> {
            let values = all($make);
            let mut out = BufWriter::new(io::stdout().lock());
            span.begin();
            for index in 0..span.messages {
                let $pattern = &values[(index % COUNT) as usize];
                writeln!(out, $format)?;
            }
            span.done_calling();
            out.flush()
        }

        pub(super) fn $outpace(span: &mut Span) -> io::Result<()> {
            let values = all($make);
            span.begin();
            for index in 0..span.messages {
                let $pattern = &values[(index % COUNT) as usize];
                outpace::println!($format);
            }
            span.done_calling();
            outpace::stdout().flush()
        }
    };
}
lines! { integer_line integer_bufwriter integer_outpace: number, value, "Line {value}" }
lines! { float_line float_bufwriter float_outpace: float, value, "{value}" }
lines! { size_line size_bufwriter size_outpace: size, value, "{value}" }
lines! {
    row_line row_bufwriter row_outpace: row,
    MixedRow { id, name, price, count, ratio, code, tag, done },
    "{id},{name},{price:.2},{count:>6},{ratio},{code:05},{tag:<8},{done}"
}

/// The same floats by the crate zmij, which writes some of them otherwise than std does: 0 and those below 10^-5.
pub(super) fn float_zmij(span: &mut Span) -> io::Result<()> {
    let values = all(float);
    let mut out = BufWriter::new(io::stdout().lock());
    let mut digits = zmij::Buffer::new();
    span.begin();
    for index in 0..span.messages {
        let value = values[(index % COUNT) as usize];
        if value >= 1e-4 {
            out.write_all(digits.format_finite(value).as_bytes())?;
            out.write_all(b"\n")?;
        } else {
            writeln!(out, "{value}")?;
        }
    }
    span.done_calling();
    out.flush()
}
