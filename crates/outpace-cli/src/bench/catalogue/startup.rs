//! `startup`: a whole process that prints a line.

use std::io;

use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures, first_of, leaders};
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::user::quantity::{duration, times_in_words};

pub(crate) const STARTUP: Experiment = Experiment {
    name: "startup",
    question: "What does a small program pay before its first line of output?",
    published: "Ours: hello-world as a whole process, from its start to its end. The rungs std and \
                outpace start this program, which is larger than a hello-world; rustc is one.",
    sources: &[],
    published_to: &[],
    unit: "process",
    message: |_, into| into.extend_from_slice(b"Hello, world!\n"),
    messages: 1,
    to: &["pipe"],
    baseline: "std",
    method: Method::Process,
    rungs: rungs! {
        added "std": Here(std), "println!";
        outpace "outpace": Here(outpace), "outpace::println!";
        added "rustc": Source(&RUST), "println!, compiled alone";
        added "c": Source(&C), "puts";
        added "cpp": Source(&CPP), "std::cout";
        added "go": Source(&GO), "fmt.Println";
        added "java": Source(&JAVA), "System.out.println";
        added "node": Source(&NODE), "console.log";
        added "python": Source(&PYTHON), "print";
        added "zig": Source(&ZIG), "write";
    },
    conclusion,
};

// To add a language: a source file, a line here, and a line in the list of rungs.
sources! {
    "startup";
    RUST: Rust, "hello.rs";
    C: C, "hello.c";
    CPP: Cpp, "hello.cpp";
    GO: Go, "hello.go";
    JAVA: Java, "Rung.java";
    NODE: JavaScript, "hello.mjs";
    PYTHON: Python, "hello.py";
    ZIG: Zig, "hello.zig";
}

#[allow(clippy::unnecessary_wraps)] // the type of every rung
fn std(_: &mut Span) -> io::Result<()> {
    println!("Hello, world!");
    Ok(())
}

#[allow(clippy::unnecessary_wraps)] // the type of every rung
fn outpace(_: &mut Span) -> io::Result<()> {
    outpace::println!("Hello, world!");
    Ok(())
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let destinations = figures.destinations();
    let first = destinations.first();
    let ranked = first.map_or_else(Vec::new, |to| figures.ranked(to, |_| true));
    let (Some((time, first)), Some((_, last))) = (ranked.first(), ranked.last()) else {
        return Vec::new();
    };
    let best = leaders(&ranked);
    let says = if best.len() > 1 { "say" } else { "says" };
    let mut text = format!(
        "{} {says} hello first, after {}",
        first_of(&best),
        duration(*time)
    );
    text += &match Compared::of(last, first).factor() {
        Some(ratio) => format!("; {} takes {} as long.", last.rung, times_in_words(ratio)),
        None => ".".to_owned(),
    };
    vec![text]
}
