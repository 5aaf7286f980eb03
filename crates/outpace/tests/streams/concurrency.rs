//! Messages of several threads: never interleaved, and each thread's in order.

use crate::common::Random;
use crate::support::{Program, To, list, wait_to_go_on};
use outpace::Buffering;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Barrier;

list! {
    portable: [
        messages_of_threads_are_whole_and_in_order_under_every_policy,
        messages_under_a_guard_stay_together,
        a_message_larger_than_the_buffer_stays_together,
        many_short_lived_threads_lose_nothing,
        a_thread_may_print_while_another_flushes,
        two_streams_and_many_threads_do_not_deadlock,
    ],
    native: [],
    programs: [threads, guards, large, short_lived, flush_and_print, both_streams],
}

const THREADS: usize = 4;
const MESSAGES: usize = 2000;

/// A message that says whose it is, its number, and how long it is.
fn message(thread: usize, number: usize, length: usize) -> String {
    let filler = char::from(b'a' + thread as u8).to_string().repeat(length);
    format!("{thread} {number} {length} {filler}\n")
}

/// Reads the messages back; panics at one that is broken. Returns the numbers of each thread, in order.
fn messages_of(output: &[u8]) -> HashMap<usize, Vec<usize>> {
    let mut messages: HashMap<usize, Vec<usize>> = HashMap::new();
    for line in std::str::from_utf8(output).unwrap().lines() {
        let mut fields = line.split(' ');
        let mut field = || fields.next().and_then(|field| field.parse::<usize>().ok());
        let (Some(thread), Some(number), Some(length)) = (field(), field(), field()) else {
            panic!("a broken message: {line:?}");
        };
        assert_eq!(format!("{line}\n"), message(thread, number, length));
        messages.entry(thread).or_default().push(number);
    }
    messages
}

#[track_caller]
fn assert_complete(output: &[u8], threads: usize, messages: usize) {
    let found = messages_of(output);
    assert_eq!(found.len(), threads);
    for (thread, numbers) in found {
        let all: Vec<usize> = (0..messages).collect();
        assert!(numbers == all, "thread {thread}: {numbers:?}");
    }
}

fn in_threads(run: impl Fn(usize) + Sync) {
    let together = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (run, together) = (&run, &together);
            scope.spawn(move || {
                together.wait();
                run(thread);
            });
        }
    });
}

fn threads() {
    in_threads(|thread| {
        let mut random = Random::new(thread as u64);
        let mut out = outpace::stdout();
        for number in 0..MESSAGES {
            let message = message(thread, number, random.below(60));
            match random.below(4) {
                0 => out.write_all(message.as_bytes()).unwrap(),
                1 => write!(out, "{message}").unwrap(),
                2 => drop(out.lock().str(&message[..3]).str(&message[3..])),
                _ => {
                    let mut guard = out.lock();
                    let mut place = guard.reserve(message.len());
                    place.str(&message);
                    place.commit();
                }
            }
            if random.below(1000) == 0 {
                std::thread::yield_now();
            }
        }
    });
}

fn messages_of_threads_are_whole_and_in_order_under_every_policy() {
    let policies = [
        "unbuffered",
        "line",
        "block",
        "block:100",
        "prompt",
        "prompt:1us",
        "background:1000",
        "background",
    ];
    for buffering in policies {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(threads).buffering(buffering);
            assert_complete(&program.run(to).succeeded().stdout, THREADS, MESSAGES);
        }
    }
}

fn guards() {
    in_threads(|thread| {
        let mut random = Random::new(thread as u64);
        for block in 0..MESSAGES / 10 {
            let mut out = outpace::stdout().lock();
            for number in 0..10 {
                let message = message(thread, 10 * block + number, random.below(60));
                // In pieces, with another guard inside.
                let (head, tail) = message.split_at(2);
                out.write_all(head.as_bytes()).unwrap();
                outpace::stdout().write_all(tail.as_bytes()).unwrap();
            }
        }
    });
}

fn messages_under_a_guard_stay_together() {
    for buffering in ["unbuffered", "prompt", "background:500"] {
        let program = Program::new(guards).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        assert_complete(&output, THREADS, MESSAGES);
        let text = String::from_utf8(output).unwrap();
        let authors: Vec<&str> = text.lines().map(|line| &line[..1]).collect();
        for block in authors.chunks(10) {
            assert!(block.iter().all(|author| author == &block[0]), "{block:?}");
        }
    }
}

fn large() {
    in_threads(|thread| {
        for number in 0..20 {
            let length = [10, 5000, 200_000][number % 3];
            let message = message(thread, number, length);
            outpace::stdout().write_all(message.as_bytes()).unwrap();
        }
    });
}

fn a_message_larger_than_the_buffer_stays_together() {
    let policies = [
        "unbuffered",
        "line",
        "block:1000",
        "prompt",
        "background:1000",
    ];
    for buffering in policies {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(large).buffering(buffering);
            assert_complete(&program.run(to).succeeded().stdout, THREADS, 20);
        }
    }
}

fn short_lived() {
    for number in 0..500 {
        let write = move || {
            for part in 0..4 {
                let message = message(0, 4 * number + part, 5);
                outpace::stdout().write_all(message.as_bytes()).unwrap();
            }
        };
        std::thread::spawn(write).join().unwrap();
    }
}

fn many_short_lived_threads_lose_nothing() {
    let output = Program::new(short_lived).run(To::Pipe).succeeded().stdout;
    assert_complete(&output, 1, 2000);
}

fn flush_and_print() {
    in_threads(|thread| {
        for number in 0..500 {
            let message = message(thread, number, 20);
            outpace::stdout().write_all(message.as_bytes()).unwrap();
            if thread % 2 == 0 {
                outpace::stdout().flush().unwrap();
            }
        }
    });
    let stats = outpace::stdout().stats();
    assert_eq!(stats.messages_accepted, 500 * THREADS as u64);
}

fn a_thread_may_print_while_another_flushes() {
    for buffering in ["line", "block", "prompt", "background"] {
        let program = Program::new(flush_and_print).buffering(buffering);
        assert_complete(&program.run(To::Pipe).succeeded().stdout, THREADS, 500);
    }
}

fn both_streams() {
    outpace::stderr().set_buffering(Buffering::prompt());
    in_threads(|thread| {
        for number in 0..500 {
            let message = message(thread, number, 20);
            // Either stream's guard may be taken inside the other's.
            if number % 2 == 0 {
                let mut out = outpace::stdout().lock();
                outpace::stderr().write_all(message.as_bytes()).unwrap();
                out.write_all(message.as_bytes()).unwrap();
            } else {
                outpace::stderr().write_all(message.as_bytes()).unwrap();
                outpace::stdout().write_all(message.as_bytes()).unwrap();
            }
        }
    });
    outpace::stdout().write_all(b"end").unwrap();
    wait_to_go_on();
}

fn two_streams_and_many_threads_do_not_deadlock() {
    let mut running = Program::new(both_streams)
        .stderr_to_stdout()
        .start(To::Terminal);
    running.go_on();
    let finished = running.finish().succeeded();
    let lines = finished.stdout.split(|&byte| byte == b'\n').count();
    assert_eq!(lines, 2 * 500 * THREADS + 1);
}
