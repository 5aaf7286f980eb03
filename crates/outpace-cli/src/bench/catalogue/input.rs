//! `input`: integers, floats, words and lines from a file and through a pipe.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::{self, BufRead, Read, Write};

use outpace::input::Input;

use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method, Rung};
use crate::bench::results::figures::Figures;
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::times;

pub(crate) const INPUT: Experiment = Experiment {
    name: "input",
    question: "How fast can a program read numbers, words and lines?",
    published: "10^6 integers by USACO Guide's judge: C++ cin with endl 5.8 s, Java's Scanner 16.7, Python 18.9. Rivals: std; \
                proconio 0.5 (crates.io); scanf, cin, fread, fgets, getline, strtod, from_chars (glibc, libstdc++); mapped and \
                eight digits at a time, after Kholdstare (2020); a vector register at a time, after Lemire's AVX-512 (2023) and Mu\u{142}a. \
                Sources with addresses: bench/input.",
    sources: &[
        sources::FAST_IO,
        sources::EIGHT_DIGITS,
        sources::WITH_AVX_512,
    ],
    published_to: &[],
    unit: "value",
    message: sums_of_integers,
    messages: 10_000_000,
    to: &["null"],
    baseline: "mapped",
    method: Method::Work,
    rungs: rungs! {
        added "read-line": Here(read_line), "read_line and parse" .reads_file(integer);
        added "read-to-string": Here(read_to_string), "read_to_string, split and parse" .reads_file(integer);
        added "bytes": Here(bytes), "a BufReader's bytes, by hand" .reads_file(integer);
        added "proconio": Here(by_proconio), "proconio's input! macro, value by value" .reads_file(integer);
        added "scanf": Source(&SCANF), "scanf" .reads_file(integer);
        added "cin-tied": Source(&CIN_TIED), "cin" .reads_file(integer);
        added "cin": Source(&CIN), "cin, untied and without sync" .reads_file(integer);
        added "fread": Source(&FREAD), "fread, by hand" .reads_file(integer);
        added "mapped": Source(&MAPPED), "mapped, eight digits at a time" .reads_file(integer);
        added "simd": Source(&SIMD), "mapped, a vector register at a time" .reads_file(integer);
        outpace "outpace": Here(integers), "outpace::input" .reads_file(integer);
        outpace "outpace-contest": Here(edition_integers), "the single-file edition" .reads_file(integer);
        added "read-line-pipe": Here(read_line), "read_line and parse" .piped();
        added "scanf-pipe": Source(&SCANF), "scanf" .piped();
        added "cin-pipe": Source(&CIN), "cin, untied and without sync" .piped();
        added "fread-pipe": Source(&FREAD), "fread, by hand" .piped();
        added "mapped-pipe": Source(&MAPPED), "read whole, eight digits at a time" .piped();
        outpace "outpace-pipe": Here(integers), "outpace::input" .piped();
        outpace "outpace-contest-pipe": Here(edition_integers), "the single-file edition" .piped();
        added "floats-read-line": Here(read_line_floats), "read_line and parse" .floats();
        added "floats-strtod": Source(&STRTOD), "fgets and strtod" .floats();
        added "floats-cin": Source(&CIN_FLOAT), "cin, untied and without sync" .floats();
        added "floats-from-chars": Source(&FROM_CHARS), "mapped, std::from_chars" .floats();
        outpace "floats-outpace": Here(floats), "outpace::input" .floats();
        outpace "floats-outpace-contest": Here(edition_floats), "the single-file edition" .floats();
        added "words-split": Here(memchr_words), "read_to_end, found by memchr" .words();
        added "words-scanf": Source(&SCANF_WORD), "scanf" .words();
        added "words-cin": Source(&CIN_WORD), "cin, untied and without sync" .words();
        outpace "words-outpace": Here(words), "outpace::input" .words();
        added "lines-read-until": Here(read_until), "read_until, which finds by memchr" .lines();
        added "lines-fgets": Source(&FGETS), "fgets" .lines();
        added "lines-getline": Source(&GETLINE), "getline" .lines();
        outpace "lines-outpace": Here(lines), "outpace::input" .lines();
    },
    conclusion,
};

/// The inputs of rungs other than integers from a file, and the rungs that those are compared with.
impl Rung {
    const fn piped(self) -> Self {
        self.reads_pipe(integer).against("fread-pipe")
    }

    const fn floats(self) -> Self {
        self.reads_file(float)
            .writes(sums_of_floats)
            .against("floats-from-chars")
    }

    const fn words(self) -> Self {
        self.reads_file(word)
            .writes(sums_of_words)
            .against("words-split")
    }

    const fn lines(self) -> Self {
        self.reads_file(line)
            .writes(sums_of_lines)
            .against("lines-getline")
    }
}

programs_of!("input/reader.cpp" by "READER":
    SCANF CIN_TIED CIN FREAD MAPPED SIMD STRTOD FROM_CHARS CIN_FLOAT FGETS GETLINE SCANF_WORD CIN_WORD);

/// A number without a pattern for each index (Vigna's splitmix64).
pub(super) fn random(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Of 1 to 18 digits, each length as often as the others.
pub(super) fn number(index: u64) -> u64 {
    let least = 10_u64.pow((random(index) % 18) as u32);
    least + random(!index) % (9 * least)
}

fn integer(index: u64, into: &mut Vec<u8>) {
    let _ = writeln!(into, "{}", number(index));
}

/// Up to a million, with up to nine places.
fn float_text(index: u64) -> String {
    let magnitude = (random(index) % 2_000_000_000_000) as f64 / 1e6 - 1e6;
    format!("{magnitude:.*}", (random(!index) % 10) as usize)
}

fn float(index: u64, into: &mut Vec<u8>) {
    let _ = writeln!(into, "{}", float_text(index));
}

fn word(index: u64, into: &mut Vec<u8>) {
    let length = 1 + random(index) % 10;
    into.extend((0..length).map(|place| b'a' + (random(index ^ place << 40) % 26) as u8));
    into.push(if index % 8 == 7 { b'\n' } else { b' ' });
}

fn line(index: u64, into: &mut Vec<u8>) {
    let length = 59 + random(index) % 3;
    into.extend((0..length).map(|place| b' ' + ((index + place * 7) % 95) as u8));
    into.push(b'\n');
}

/// At the end of each thousand, the sum of its values.
fn sums(index: u64, into: &mut Vec<u8>, value: impl Fn(u64) -> u64) {
    if index % 1000 == 999 {
        let sum = (index - 999..=index).map(value).fold(0, u64::wrapping_add);
        let _ = writeln!(into, "{sum}");
    }
}

fn sums_of_integers(index: u64, into: &mut Vec<u8>) {
    sums(index, into, number);
}

fn sums_of_floats(index: u64, into: &mut Vec<u8>) {
    let value = |index| float_text(index).parse::<f64>().map_or(0, f64::to_bits);
    sums(index, into, value);
}

/// The sum of a text: its length and its first byte.
fn of_text(text: &[u8]) -> u64 {
    text.len() as u64 + text.first().map_or(0, |&first| u64::from(first))
}

fn sums_of(index: u64, into: &mut Vec<u8>, text: fn(u64, &mut Vec<u8>)) {
    sums(index, into, |index| {
        let mut bytes = Vec::new();
        text(index, &mut bytes);
        of_text(&bytes[..bytes.len() - 1])
    });
}

fn sums_of_words(index: u64, into: &mut Vec<u8>) {
    sums_of(index, into, word);
}

fn sums_of_lines(index: u64, into: &mut Vec<u8>) {
    sums_of(index, into, line);
}

/// Reads as many values as there are messages, and prints the sum of each thousand.
#[inline(always)]
fn add_up(span: &mut Span, mut next: impl FnMut() -> io::Result<u64>) -> io::Result<()> {
    let mut sum = 0_u64;
    for index in 0..span.messages {
        sum = sum.wrapping_add(next()?);
        if index % 1000 == 999 {
            outpace::println!("{sum}");
            sum = 0;
        }
    }
    span.done_calling();
    outpace::stdout().flush()
}

fn wrong<E: Into<Box<dyn std::error::Error + Send + Sync>>>(error: E) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn integers(span: &mut Span) -> io::Result<()> {
    let mut input = outpace::input::stdin();
    add_up(span, || Ok(input.read()?))
}

fn floats(span: &mut Span) -> io::Result<()> {
    let mut input = outpace::input::stdin();
    add_up(span, || Ok(input.read::<f64>()?.to_bits()))
}

fn words(span: &mut Span) -> io::Result<()> {
    let mut input = outpace::input::stdin();
    add_up(span, || Ok(of_text(input.token()?)))
}

fn lines(span: &mut Span) -> io::Result<()> {
    let mut input: Input<_> = outpace::input::stdin();
    add_up(span, || {
        Ok(of_text(input.line_bytes()?.unwrap_or_default()))
    })
}

fn edition_integers(span: &mut Span) -> io::Result<()> {
    let io = &mut super::edition::io();
    add_up(span, || Ok(io.read()))
}

fn edition_floats(span: &mut Span) -> io::Result<()> {
    let io = &mut super::edition::io();
    add_up(span, || Ok(io.read::<f64>().to_bits()))
}

fn read_line(span: &mut Span) -> io::Result<()> {
    let (mut stdin, mut line) = (io::stdin().lock(), String::new());
    add_up(span, || {
        line.clear();
        stdin.read_line(&mut line)?;
        line.trim_end().parse().map_err(wrong)
    })
}

fn read_line_floats(span: &mut Span) -> io::Result<()> {
    let (mut stdin, mut line) = (io::stdin().lock(), String::new());
    add_up(span, || {
        line.clear();
        stdin.read_line(&mut line)?;
        line.trim_end().parse().map(f64::to_bits).map_err(wrong)
    })
}

fn read_to_string(span: &mut Span) -> io::Result<()> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    let mut tokens = text.split_ascii_whitespace();
    add_up(span, || {
        tokens.next().unwrap_or_default().parse().map_err(wrong)
    })
}

fn bytes(span: &mut Span) -> io::Result<()> {
    let mut bytes = io::BufReader::with_capacity(64 << 10, io::stdin().lock()).bytes();
    add_up(span, || {
        let mut number = 0_u64;
        for byte in bytes.by_ref() {
            match byte? {
                digit @ b'0'..=b'9' => number = 10 * number + u64::from(digit - b'0'),
                _ => break,
            }
        }
        Ok(number)
    })
}

fn by_proconio(span: &mut Span) -> io::Result<()> {
    let stdin = io::stdin().lock();
    let mut source =
        proconio::source::line::LineSource::new(io::BufReader::with_capacity(64 << 10, stdin));
    add_up(span, || {
        proconio::input! { from &mut source, number: u64 }
        Ok(number)
    })
}

fn memchr_words(span: &mut Span) -> io::Result<()> {
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    let (mut ends, mut from) = (memchr::memchr2_iter(b' ', b'\n', &text), 0);
    add_up(span, || {
        let end = ends.next().unwrap_or(text.len());
        let word = of_text(text.get(from..end).unwrap_or_default());
        from = end + 1;
        Ok(word)
    })
}

fn read_until(span: &mut Span) -> io::Result<()> {
    let mut stdin = io::BufReader::with_capacity(64 << 10, io::stdin().lock());
    let mut line = Vec::new();
    add_up(span, || {
        line.clear();
        stdin.read_until(b'\n', &mut line)?;
        Ok(of_text(line.strip_suffix(b"\n").unwrap_or(&line)))
    })
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for (what, ours, rival) in [
        ("integers from a file", "outpace", "mapped"),
        ("integers from a file", "outpace", "simd"),
        ("integers through a pipe", "outpace-pipe", "fread-pipe"),
        ("floats", "floats-outpace", "floats-from-chars"),
        ("words", "words-outpace", "words-split"),
        ("lines", "lines-outpace", "lines-getline"),
    ] {
        for to in figures.destinations() {
            sentences.extend(figures.sentence(ours, rival, to, |time, ratio| match time {
                Equal => format!("For {what} {ours} and {rival} are equal."),
                Less | Greater => format!("For {what} {ours} takes {} of {rival}.", times(ratio)),
            }));
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_every_length_up_to_18() {
        let mut lengths = [0; 19];
        for index in 0..10_000 {
            lengths[number(index).to_string().len()] += 1;
        }
        assert!(
            lengths[0] == 0 && lengths[1..].iter().all(|&count| count > 300),
            "{lengths:?}"
        );
    }
}
