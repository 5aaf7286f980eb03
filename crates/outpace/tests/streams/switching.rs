//! Every policy, and every switch between them: the same bytes, in the same order.

use crate::common::Random;
use crate::support::{Program, To, assert_same, list};
use outpace::{Buffering, Overflow};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

list! {
    portable: [
        any_way_of_writing_under_any_policy_gives_the_same_bytes,
        switching_between_messages_loses_and_reorders_nothing,
        switching_from_other_threads_loses_and_reorders_nothing,
        switching_takes_effect_while_another_thread_holds_the_guard,
        redetecting_after_a_redirection_loses_nothing,
    ],
    native: [],
    programs: [
        write_in_any_way, switch_between_messages, switch_from_other_threads,
        switch_under_a_guard, redirect,
    ],
}

const POLICIES: [&str; 9] = [
    "unbuffered",
    "line",
    "block",
    "block:10",
    "prompt",
    "prompt:1us",
    "background",
    "background:100",
    "background:1000",
];

/// A policy with capacities small and large.
fn any_buffering(random: &mut Random) -> Buffering {
    let capacity = [1, 7, 64, 1000, 4096, 100_000][random.below(6)];
    match random.below(5) {
        0 => Buffering::Unbuffered,
        1 => Buffering::Line,
        2 => Buffering::Block { capacity },
        3 => Buffering::Prompt {
            capacity,
            max_delay: Duration::from_micros([1, 100, 4000][random.below(3)]),
        },
        _ => Buffering::Background {
            // A handful of bytes at a time through another thread would take minutes.
            capacity: capacity.max(100),
            overflow: Overflow::Block,
        },
    }
}

/// Mostly short messages, with and without newlines, and sometimes huge ones.
fn any_text(random: &mut Random) -> String {
    let length = match random.below(100) {
        0 => random.below(150_000),
        1..10 => random.below(5000),
        _ => random.below(40),
    };
    let alphabet = b"abcdefghijklmnopqrstuvwxyz\n";
    let bytes = (0..length).map(|_| alphabet[random.below(alphabet.len())]);
    bytes.map(char::from).collect()
}

/// Writes one message in a random way, and returns what it was: the naive twin of the stream.
fn write_somehow(random: &mut Random, expected: &mut Vec<u8>) {
    let text = any_text(random);
    let number = random.next() as i64;
    let mut out = outpace::stdout();
    match random.below(9) {
        0 => {
            out.write_all(text.as_bytes()).unwrap();
            expected.extend_from_slice(text.as_bytes());
        }
        1 => {
            write!(out, "{text}{number}").unwrap();
            write!(expected, "{text}{number}").unwrap();
        }
        2 => {
            out.lock().str(&text).int(number).char('ß');
            write!(expected, "{text}{number}ß").unwrap();
        }
        3 => {
            let mut guard = out.lock();
            for i in 0..random.below(50) {
                guard.int(i).char('\n');
                writeln!(expected, "{i}").unwrap();
            }
        }
        4 => {
            let mut guard = out.lock();
            let mut message = guard.reserve(random.below(2 * text.len() + 1));
            message.str(&text).str(&text);
            if number % 2 == 0 {
                message.commit();
                write!(expected, "{text}{text}").unwrap();
            }
        }
        5 => {
            // A message in the middle of another one comes before it.
            let mut guard = out.lock();
            let mut message = guard.str(&text);
            outpace::stdout().lock().int(number);
            write!(outpace::stdout(), "inner{number}\n").unwrap();
            message.char('.');
            drop(message);
            writeln!(guard).unwrap();
            write!(expected, "{number}inner{number}\n{text}.\n").unwrap();
        }
        6 => {
            let parts = [text.as_bytes(), b"", b"vectored\n"].map(std::io::IoSlice::new);
            let written = out.write_vectored(&parts).unwrap();
            assert_eq!(written, text.len() + 9);
            write!(expected, "{text}vectored\n").unwrap();
        }
        7 => out.flush().unwrap(),
        _ => {
            let mut guard = out.lock();
            guard.write_all(text.as_bytes()).unwrap();
            let mut inner = outpace::stdout().lock();
            inner.bytes(b"inner").char('\n');
            drop(inner);
            guard.write_all(b"outer\n").unwrap();
            write!(expected, "{text}inner\nouter\n").unwrap();
        }
    }
}

fn seed() -> u64 {
    std::env::args().nth(1).unwrap().parse().unwrap()
}

fn write_in_any_way() {
    let mut random = Random::new(seed());
    let mut expected = Vec::new();
    for _ in 0..300 {
        write_somehow(&mut random, &mut expected);
    }
    std::io::stderr().write_all(&expected).unwrap();
}

/// Checks the program's output against its own list.
fn assert_true_to_its_word(program: Program, to: To) {
    let finished = program.run(to);
    assert!(finished.status.success(), "{}", finished.status);
    assert_same(&finished.stdout, finished.stderr.as_bytes());
}

fn any_way_of_writing_under_any_policy_gives_the_same_bytes() {
    for (seed, buffering) in POLICIES.into_iter().enumerate() {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(write_in_any_way)
                .argument(seed)
                .buffering(buffering);
            assert_true_to_its_word(program, to);
        }
    }
}

fn switch_between_messages() {
    let mut random = Random::new(seed());
    let mut expected = Vec::new();
    for _ in 0..300 {
        if random.below(4) == 0 {
            outpace::stdout().set_buffering(any_buffering(&mut random));
        }
        write_somehow(&mut random, &mut expected);
    }
    std::io::stderr().write_all(&expected).unwrap();
}

fn switching_between_messages_loses_and_reorders_nothing() {
    for seed in 0..20 {
        let to = [To::Pipe, To::Terminal, To::File][seed % 3];
        let program = Program::new(switch_between_messages).argument(seed);
        assert_true_to_its_word(program, to);
    }
}

fn switch_from_other_threads() {
    let mut random = Random::new(seed());
    let mut expected = Vec::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let mut random = Random::new(seed() * 100 + thread);
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    outpace::stdout().set_buffering(any_buffering(&mut random));
                    if random.below(3) == 0 {
                        outpace::stdout().flush().unwrap();
                    }
                    std::thread::yield_now();
                }
            });
        }
        for _ in 0..500 {
            write_somehow(&mut random, &mut expected);
        }
        done.store(true, Ordering::Relaxed);
    });
    std::io::stderr().write_all(&expected).unwrap();
}

fn switching_from_other_threads_loses_and_reorders_nothing() {
    for seed in 0..12 {
        let to = [To::Pipe, To::Terminal, To::File][seed % 3];
        let program = Program::new(switch_from_other_threads).argument(seed);
        assert_true_to_its_word(program, to);
    }
}

fn switch_under_a_guard() {
    let mut guard = outpace::stdout().lock();
    guard.str("before\n");
    std::thread::scope(|scope| {
        // It does not wait for the guard.
        let switch = || outpace::stdout().set_buffering(Buffering::Unbuffered);
        scope.spawn(switch).join().unwrap();
    });
    guard.str("after");
    crate::support::wait_to_go_on();
}

fn switching_takes_effect_while_another_thread_holds_the_guard() {
    for buffering in POLICIES {
        let mut running = Program::new(switch_under_a_guard)
            .env("OUTPACE_STDOUT", buffering)
            .start(To::Pipe);
        running.stdout().wait_for("before\nafter");
        running.go_on();
        running.finish().succeeded();
    }
}

/// Writes, lets standard output be standard error, and writes on.
#[allow(unsafe_code)]
fn redirect() {
    let mut out = outpace::stdout();
    for i in 0..100 {
        writeln!(out, "{i}").unwrap();
    }
    out.flush().unwrap();
    // SAFETY: both are open.
    unsafe { libc::dup2(2, 1) };
    out.redetect();
    for i in 100..200 {
        writeln!(out, "{i}").unwrap();
    }
}

fn redetecting_after_a_redirection_loses_nothing() {
    for to in [To::Pipe, To::Terminal, To::File] {
        let finished = Program::new(redirect).run(to);
        assert!(finished.status.success());
        let lines =
            |range: std::ops::Range<i32>| -> String { range.map(|i| format!("{i}\n")).collect() };
        assert_same(&finished.stdout, lines(0..100).as_bytes());
        assert_same(finished.stderr.as_bytes(), lines(100..200).as_bytes());
    }
}
