//! The macros that print, as programs have them: in tests they are std's.

use crate::common::Random;
use crate::macros::{print, println};
use crate::support::{Program, To, assert_same, list};
use outpace::Buffering;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

list! {
    portable: [
        messages_of_threads_are_whole_and_in_order_whatever_the_policy_becomes,
        what_is_captured_is_that_threads_and_nothing_else,
        a_thread_that_has_captured_prints_at_its_end_while_another_captures,
    ],
    native: [
        a_child_of_a_thread_that_prints_most_prints_on,
    ],
    programs: [in_threads, captures, print_at_the_end, print_and_fork],
}

const THREADS: usize = 4;
const MESSAGES: u64 = 20_000;

/// Formatted by `core::fmt`.
struct Foreign(u64);

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        std::write!(f, "{}", self.0)
    }
}

/// In streaks, so that the bias of the lock comes and goes.
fn print_in_streaks(thread: usize) {
    let mut random = Random::new(thread as u64);
    let mut number = 0;
    while number < MESSAGES {
        for _ in 0..random.below(300) {
            match random.below(40) {
                0 => print!("{thread} {}\n", Foreign(number)),
                1 => print!("{thread:1} {number:01}\n"),
                2 => {
                    let mut guard = outpace::stdout().lock();
                    guard.int(thread).char(' ').int(number).char('\n');
                    number += 1;
                    println!("{thread} {number}");
                }
                _ => println!("{thread} {number}"),
            }
            number += 1;
        }
        std::thread::yield_now();
    }
}

/// While the policy changes.
fn in_threads() {
    let done = AtomicBool::new(false);
    let switch = || {
        let mut random = Random::new(17);
        while !done.load(Ordering::Relaxed) {
            let capacity = 64 + random.below(8000);
            outpace::stdout().set_buffering(match random.below(4) {
                0 => Buffering::Line,
                1 => Buffering::Block { capacity },
                2 => Buffering::background(capacity),
                _ => Buffering::Prompt {
                    capacity,
                    max_delay: Duration::from_micros(100),
                },
            });
            std::thread::sleep(Duration::from_micros(random.below(5000) as u64));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(switch);
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                scope.spawn(move || print_in_streaks(thread));
            }
        });
        done.store(true, Ordering::Relaxed);
    });
}

fn messages_of_threads_are_whole_and_in_order_whatever_the_policy_becomes() {
    let output = Program::new(in_threads).run(To::Pipe).succeeded().stdout;
    let mut next = [0; THREADS];
    for line in std::str::from_utf8(&output).expect("text").lines() {
        let whole = line
            .split_once(' ')
            .and_then(|(thread, number)| Some((thread.parse().ok()?, number.parse().ok()?)));
        let (thread, number): (usize, u64) = whole.unwrap_or_else(|| panic!("broken: {line:?}"));
        assert_eq!(number, next[thread], "of thread {thread}");
        next[thread] += 1;
    }
    assert!(next.into_iter().all(|next| next >= MESSAGES), "{next:?}");
}

/// One thread captures now and then, and another prints.
fn captures() {
    std::thread::scope(|scope| {
        scope.spawn(|| (0..MESSAGES).for_each(|number| println!("other {number}")));
        for number in 0..MESSAGES / 10 {
            let captured = outpace::capture(|| println!("captured {number}"));
            assert_eq!(captured.stdout, format!("captured {number}\n"));
            println!("printed {number}");
        }
    });
}

fn what_is_captured_is_that_threads_and_nothing_else() {
    let output = Program::new(captures).run(To::Pipe).succeeded().stdout;
    let output = String::from_utf8(output).expect("text");
    let of = |author: &str| -> String {
        let lines = output.split_inclusive('\n');
        lines.filter(|line| line.starts_with(author)).collect()
    };
    let expected = |author: &str, count: u64| -> String {
        (0..count).map(|n| format!("{author} {n}\n")).collect()
    };
    assert_same(
        of("other").as_bytes(),
        expected("other", MESSAGES).as_bytes(),
    );
    let printed = expected("printed", MESSAGES / 10);
    assert_same(of("printed").as_bytes(), printed.as_bytes());
    assert_eq!(of("captured"), "");
}

/// By a thread that has something left of its capture, which is dropped before that.
fn print_at_the_end() {
    struct AtTheEnd;
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            println!("at the end");
        }
    }
    thread_local!(static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) });
    let thread = || {
        AT_THE_END.set(Some(AtTheEnd));
        outpace::capture(|| print!("captured"));
    };
    let captured = outpace::capture(|| std::thread::spawn(thread).join().expect("no panic"));
    assert_eq!(captured.stdout, "");
}

fn a_thread_that_has_captured_prints_at_its_end_while_another_captures() {
    let finished = Program::new(print_at_the_end).run(To::Pipe).succeeded();
    assert_same(&finished.stdout, b"at the end\n");
}

#[cfg(not(outpace_portable))]
#[allow(unsafe_code)]
fn print_and_fork() {
    let print_lines = |author: &str| (0..1000_u64).for_each(|n| println!("{author} {n}"));
    print_lines("before");
    // SAFETY: the child uses outpace, which takes care of itself, and ends.
    let child = unsafe { libc::fork() };
    if child != 0 {
        let mut status = 0;
        // SAFETY: fills `status`.
        let ended = unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!((ended, status), (child, 0));
    }
    print_lines(if child == 0 { "child" } else { "parent" });
}

#[cfg(outpace_portable)]
fn print_and_fork() {}

fn a_child_of_a_thread_that_prints_most_prints_on() {
    let lines = |author| -> String { (0..1000).map(|n| format!("{author} {n}\n")).collect() };
    let expected = lines("before") + &lines("child") + &lines("parent");
    for buffering in ["line", "block", "prompt:60s"] {
        let program = Program::new(print_and_fork).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        assert_same(&output, expected.as_bytes());
    }
}
