//! `contest`: pairs of numbers in, their sums out, as a judge's problem.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::{self, BufRead, BufWriter, Write};

use super::edition;
use super::input::number;
use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::Figures;
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::times;

pub(crate) const CONTEST: Experiment = Experiment {
    name: "contest",
    question: "How fast is a solution that does nothing but read and print?",
    published: "Ours: no publication compares std, crates, C and C++ in one run. Rivals: std; proconio 0.5; scanf and printf; cin and cout; mapped \
                input a word at a time with a table for output, after Nyaan's library for library-checker; a vector register \
                at a time, after Lemire's AVX-512 (2022, 2023). Sources with addresses: bench/input.",
    sources: &[
        sources::LIBRARY_CHECKER,
        sources::TO_DECIMAL,
        sources::WITH_AVX_512,
    ],
    published_to: &[],
    unit: "pair",
    message,
    messages: 1_000_000,
    to: &["null", "file", "pipe"],
    baseline: "mapped",
    method: Method::Work,
    rungs: rungs! {
        added "std": Here(by_std), "read_line and parse, a BufWriter and writeln!" .reads_file(pair);
        added "proconio": Here(by_proconio), "proconio's input! macro, a BufWriter and writeln!" .reads_file(pair);
        added "scanf": Source(&SCANF), "scanf and printf" .reads_file(pair);
        added "cin": Source(&CIN), "cin and cout without sync" .reads_file(pair);
        added "mapped": Source(&MAPPED), "mapped, eight digits at a time; four at a time from a table" .reads_file(pair);
        added "simd": Source(&SIMD), "mapped, a vector register at a time, in and out" .reads_file(pair);
        outpace "outpace": Here(library), "outpace::input, typed calls on the guard" .reads_file(pair);
        outpace "outpace-contest": Here(single_file), "the single-file edition" .reads_file(pair);
    },
    conclusion,
};

programs_of!("input/sums.cpp" by "WAY": SCANF CIN MAPPED SIMD);

fn pair_of(index: u64) -> (u64, u64) {
    (number(2 * index), number(2 * index + 1))
}

fn pair(index: u64, into: &mut Vec<u8>) {
    let (a, b) = pair_of(index);
    let _ = writeln!(into, "{a} {b}");
}

fn message(index: u64, into: &mut Vec<u8>) {
    let (a, b) = pair_of(index);
    let _ = writeln!(into, "{}", a + b);
}

fn wrong(_: impl std::error::Error) -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn by_std(span: &mut Span) -> io::Result<()> {
    let (mut stdin, mut line) = (io::stdin().lock(), String::new());
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    for _ in 0..span.messages {
        line.clear();
        stdin.read_line(&mut line)?;
        let mut numbers = line
            .split_ascii_whitespace()
            .map(|token| token.parse::<u64>().map_err(wrong));
        let mut next = || numbers.next().unwrap_or(Ok(0));
        let (a, b) = (next()?, next()?);
        writeln!(out, "{}", a + b)?;
    }
    span.done_calling();
    out.flush()
}

fn by_proconio(span: &mut Span) -> io::Result<()> {
    let stdin = io::stdin().lock();
    let mut source =
        proconio::source::line::LineSource::new(io::BufReader::with_capacity(64 << 10, stdin));
    let mut out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    for _ in 0..span.messages {
        proconio::input! { from &mut source, a: u64, b: u64 }
        writeln!(out, "{}", a + b)?;
    }
    span.done_calling();
    out.flush()
}

fn library(span: &mut Span) -> io::Result<()> {
    let mut input = outpace::input::stdin();
    let mut out = outpace::stdout().lock();
    for _ in 0..span.messages {
        let (a, b): (u64, u64) = input.read()?;
        out.int(a + b).char('\n');
    }
    span.done_calling();
    out.flush()
}

fn single_file(span: &mut Span) -> io::Result<()> {
    let io = &mut edition::io();
    edition::sums(io, span.messages);
    span.done_calling();
    io.flush();
    Ok(())
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let pairs = ["outpace", "outpace-contest"]
        .into_iter()
        .flat_map(|ours| ["mapped", "simd"].map(|rival| (ours, rival)));
    figures.at_each(|to| {
        pairs.clone().filter_map(move |(ours, rival)| {
            figures.sentence(ours, rival, to, |time, ratio| match time {
                Equal => format!("To {to} {ours} and {rival} are equal."),
                Less | Greater => format!("To {to} {ours} takes {} of {rival}.", times(ratio)),
            })
        })
    })
}
