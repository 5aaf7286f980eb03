//! Guards in all shapes: one inside another, leaked, never dropped.

use crate::support::{Program, To, list, spawn_until_it_waits};
use outpace::{Buffering, Stream};
use std::io::{Read, Write};

list! {
    portable: [
        what_is_printed_while_a_message_is_built_comes_before_it,
        a_display_that_prints_does_not_deadlock,
        what_a_leaked_guard_wrote_appears_and_arrives,
        a_leaked_guard_keeps_other_threads_out_but_not_the_exit,
        what_a_guard_of_an_ended_thread_wrote_arrives,
        a_discarded_reservation_never_appears,
        a_reservation_may_be_outgrown,
        a_panic_in_the_middle_of_a_message_leaves_the_stream_whole,
        dropping_a_stream_drains_it,
        closing_a_stream_drains_it_and_gives_the_file_back,
        closing_a_stream_reports_its_error,
        a_stream_that_is_never_dropped_is_drained_at_exit,
        empty_messages_are_nothing,
    ],
    native: [],
    programs: [
        print_while_building, display_that_prints, leak, leak_and_exit, leak_in_a_thread,
        discard, outgrow, panic_in_a_message, drop_streams, leak_a_stream, empty,
    ],
}

const POLICIES: [&str; 6] = [
    "unbuffered",
    "line",
    "block",
    "block:20",
    "prompt",
    "background:50",
];

/// Under every policy, after a burst and at the start.
#[track_caller]
fn prints(program: fn() -> Program, expected: &str) {
    for buffering in POLICIES {
        for warm in ["", "warm"] {
            let program = program().buffering(buffering).argument(warm);
            let output = program.run(To::Pipe).succeeded().stdout;
            let text = String::from_utf8(output).unwrap();
            let rest = text.trim_start_matches('.');
            assert_eq!(rest, expected, "under {buffering} {warm}");
        }
    }
}

/// A burst of dots, if the argument says so.
fn perhaps_a_burst() {
    if std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == "warm")
    {
        for _ in 0..50 {
            outpace::stdout().write_all(b".").unwrap();
        }
    }
}

fn print_while_building() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    let mut message = out.str("a");
    outpace::stdout().lock().str("1").int(2).char('\n');
    message.char('b');
    write!(outpace::stdout(), "3{}\n", 4).unwrap();
    {
        let mut inner = outpace::stdout().lock();
        let mut inner_message = inner.reserve(200);
        inner_message.str("5").bytes(&[b'-'; 100]);
        let mut innermost = outpace::stdout().lock();
        innermost.str("6\n");
        drop(innermost);
        inner_message.char('\n');
        inner_message.commit();
    }
    message.bytes(&[b'c'; 300]);
    outpace::stdout().flush().unwrap();
    outpace::stdout().write_all(b"7\n").unwrap();
    message.char('\n');
    drop(message);
    out.str("end");
}

fn what_is_printed_while_a_message_is_built_comes_before_it() {
    let expected = format!(
        "12\n34\n6\n5{}\n7\nab{}\nend",
        "-".repeat(100),
        "c".repeat(300)
    );
    prints(|| Program::new(print_while_building), &expected);
}

struct Prints(u32);

impl std::fmt::Display for Prints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let printed = std::thread::scope(|scope| {
            let inner = || writeln!(outpace::stdout(), "thread {}", self.0);
            scope.spawn(inner).join().unwrap()
        });
        printed.unwrap();
        writeln!(outpace::stdout(), "inner {}", self.0).unwrap();
        write!(f, "outer {}", self.0)
    }
}

fn display_that_prints() {
    perhaps_a_burst();
    writeln!(outpace::stdout(), "{}", Prints(1)).unwrap();
}

fn a_display_that_prints_does_not_deadlock() {
    prints(
        || Program::new(display_that_prints),
        "thread 1\ninner 1\nouter 1\n",
    );
}

fn leak() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    out.str("leaked");
    std::mem::forget(out);
    // Reentrant, so this thread is let in.
    outpace::stdout().write_all(b" and inside").unwrap();
}

fn what_a_leaked_guard_wrote_appears_and_arrives() {
    prints(|| Program::new(leak), "leaked and inside");
}

fn leak_and_exit() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    out.str("leaked");
    std::mem::forget(out);
    // It waits for the guard, and the exit for neither.
    spawn_until_it_waits(|| outpace::stdout().write_all(b"never").unwrap());
}

fn a_leaked_guard_keeps_other_threads_out_but_not_the_exit() {
    prints(|| Program::new(leak_and_exit), "leaked");
}

fn leak_in_a_thread() {
    perhaps_a_burst();
    let leak = || {
        let mut out = outpace::stdout().lock();
        out.str("of a thread ");
        out.str("that has ended");
        std::mem::forget(out);
    };
    std::thread::spawn(leak).join().unwrap();
}

fn what_a_guard_of_an_ended_thread_wrote_arrives() {
    prints(
        || Program::new(leak_in_a_thread),
        "of a thread that has ended",
    );
}

fn discard() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    out.reserve(10).str("discarded");
    out.reserve(10_000).bytes(&[b'x'; 20_000]);
    out.reserve(0);
    let mut message = out.reserve(10);
    message.str("kept");
    message.commit();
    let mut message = out.reserve(10);
    message.str("discarded");
    drop(message);
}

fn a_discarded_reservation_never_appears() {
    prints(|| Program::new(discard), "kept");
}

fn outgrow() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    let mut message = out.reserve(3);
    for i in 0..1000 {
        message.int(i).char(' ');
    }
    message.commit();
}

fn a_reservation_may_be_outgrown() {
    let expected: String = (0..1000).map(|i| format!("{i} ")).collect();
    prints(|| Program::new(outgrow), &expected);
}

fn panic_in_a_message() {
    perhaps_a_burst();
    std::panic::set_hook(Box::new(|_| {}));
    let _ = std::panic::catch_unwind(|| {
        let mut out = outpace::stdout().lock();
        out.str("whole\n");
        let mut message = out.reserve(20);
        message.str("not whole");
        panic!("in the middle");
    });
    let _ = std::panic::catch_unwind(|| {
        struct Panics;
        impl std::fmt::Display for Panics {
            fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                panic!("while formatting")
            }
        }
        write!(outpace::stdout(), "never {}", Panics).unwrap();
    });
    let other = || outpace::stdout().write_all(b"by another thread\n").unwrap();
    std::thread::spawn(other).join().unwrap();
    outpace::stdout().write_all(b"after\n").unwrap();
}

fn a_panic_in_the_middle_of_a_message_leaves_the_stream_whole() {
    prints(
        || Program::new(panic_in_a_message),
        "whole\nby another thread\nafter\n",
    );
}

fn empty() {
    perhaps_a_burst();
    let mut out = outpace::stdout().lock();
    for _ in 0..10 {
        out.str("");
        out.write_all(b"").unwrap();
        outpace::stdout().write_all(b"").unwrap();
        assert_eq!(out.write_vectored(&[]).unwrap(), 0);
        out.reserve(0).commit();
        outpace::stdout().flush().unwrap();
    }
    out.str("something");
}

fn empty_messages_are_nothing() {
    prints(|| Program::new(empty), "something");
}

fn policies() -> [Buffering; 5] {
    [
        Buffering::Unbuffered,
        Buffering::Line,
        Buffering::block(),
        Buffering::prompt(),
        Buffering::background(100),
    ]
}

fn drop_streams() {
    for buffering in policies() {
        let copy = crate::support::temporary_file();
        let file = copy.try_clone().unwrap();
        let mut stream = Stream::new(file, buffering).unwrap();
        for i in 0..100 {
            writeln!(stream, "line {i}").unwrap();
        }
        drop(stream);
        print!("{}", contents(copy));
    }
}

/// All that is in a file.
fn contents(mut file: std::fs::File) -> String {
    use std::io::Seek;
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}

fn hundred_lines() -> String {
    (0..100).map(|i| format!("line {i}\n")).collect()
}

fn dropping_a_stream_drains_it() {
    let output = Program::new(drop_streams).run(To::Pipe).succeeded().stdout;
    assert_eq!(
        String::from_utf8(output).unwrap(),
        hundred_lines().repeat(policies().len())
    );
}

fn closing_a_stream_drains_it_and_gives_the_file_back() {
    for buffering in policies() {
        let file = crate::support::temporary_file();
        let mut stream = Stream::new(file, buffering).unwrap();
        for i in 0..100 {
            writeln!(stream, "line {i}").unwrap();
        }
        assert_eq!(contents(stream.close().unwrap()), hundred_lines());
    }
}

fn closing_a_stream_reports_its_error() {
    for buffering in policies() {
        let read_only = std::fs::File::open("/dev/null").unwrap();
        let mut stream = Stream::new(read_only, buffering).unwrap();
        let _ = stream.write_all(b"nowhere to go\n");
        assert!(stream.close().is_err());
    }
}

fn leak_a_stream() {
    let file = std::fs::File::from(
        std::os::fd::AsFd::as_fd(&std::io::stdout())
            .try_clone_to_owned()
            .unwrap(),
    );
    let mut stream = Stream::new(file, Buffering::block()).unwrap();
    write!(stream, "arrives").unwrap();
    std::mem::forget(stream);
}

fn a_stream_that_is_never_dropped_is_drained_at_exit() {
    let output = Program::new(leak_a_stream).run(To::Pipe).succeeded().stdout;
    assert_eq!(output, b"arrives");
}
