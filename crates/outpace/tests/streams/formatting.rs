//! The program's own code runs while one of its messages is formatted: the message stays whole, in its order, and
//! appears only if it is finished; on a guard it is put together in the stream's own buffer.

use crate::common::Random;
use crate::macros::{print, println};
use crate::support::{Program, To, list, spawn_until_it_waits, wait_until_helpers_sleep};
use outpace::Buffering;
use std::fmt::{self, Display};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

list! {
    portable: [
        what_a_display_prints_comes_before_its_message,
        a_message_whose_display_panics_is_taken_back,
        a_message_whose_display_fails_is_taken_back,
        a_display_may_flush_choose_the_buffering_and_ask_for_it,
        another_thread_drains_and_chooses_while_a_message_is_formatted,
        a_message_may_outgrow_the_room_anywhere,
        what_a_thread_captures_while_a_message_is_formatted,
        an_exit_within_a_message_drops_that_message_alone,
        literals_are_messages_as_others_are,
        a_stream_of_ones_own_is_written_to_as_standard_output_is,
        a_guard_that_outlives_the_message_it_was_taken_in_keeps_others_out,
        threads_whose_messages_are_slow_to_format_keep_them_whole_and_in_order,
    ],
    native: [a_display_may_fork],
    programs: [
        print_within, panic_within, fail_within, choose_within, disturbed, outgrow, capture_within, exit_within, literals,
        own_stream, fork_within, slow_threads, keep_a_guard,
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

/// Writes a line in which the value is formatted.
type Way = fn(&dyn Display);

/// All ways to write a line in which something is formatted.
const WAYS: [(&str, Way); 7] = [
    ("println!", |value| println!("({})", value)),
    ("println! of much", |value| {
        println!("{}({:.60000}){:?}", "", value, Nothing);
    }),
    ("outpace's on a handle", |value| {
        outpace::writeln!(outpace::stdout(), "({})", value).unwrap();
    }),
    ("std's on a handle", |value| {
        std::writeln!(outpace::stdout(), "({})", value).unwrap();
    }),
    ("outpace's on a guard", |value| {
        let mut guard = outpace::stdout().lock();
        outpace::writeln!(guard, "({})", value).unwrap();
    }),
    ("std's on a guard", |value| {
        let mut guard = outpace::stdout().lock();
        std::writeln!(guard, "({})", value).unwrap();
    }),
    ("on a guard within a guard", |value| {
        let _outer = outpace::stdout().lock();
        let mut guard = outpace::stdout().lock();
        outpace::writeln!(guard, "({})", value).unwrap();
    }),
];

#[derive(Clone, Copy)]
struct Nothing;

impl fmt::Debug for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// A value that does something while it is formatted.
struct Does<F>(F);

impl<F: Fn()> Display for Does<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        (self.0)();
        f.write_str("]")
    }
}

/// Under every policy, by every way, after a burst and at the start, a program prints this and then `end`.
#[track_caller]
fn prints(program: fn() -> Program, expected: &str) {
    for buffering in POLICIES {
        for (way, (name, _)) in WAYS.iter().enumerate() {
            for warm in ["", "warm"] {
                let program = program().buffering(buffering).argument(way).argument(warm);
                let output = program.run(To::Pipe).succeeded().stdout;
                let text = String::from_utf8(output).unwrap();
                let rest = text.trim_start_matches('.');
                assert_eq!(
                    rest,
                    format!("{expected}end\n"),
                    "{buffering}, {name}, {warm}"
                );
            }
        }
    }
}

/// The way that the program is to take, after a burst, if it is to have one.
fn way() -> Way {
    let mut arguments = std::env::args().skip(1);
    let way = arguments
        .next()
        .expect("a way")
        .parse::<usize>()
        .expect("a number");
    if arguments.next().is_some_and(|warm| warm == "warm") {
        for _ in 0..50 {
            outpace::stdout().write_all(b".").unwrap();
            print!(".");
            outpace::stdout().lock().str(".");
        }
    }
    WAYS[way].1
}

/// The line's other half is by a thread of its own, so that it comes only if the lock has been left.
fn end() {
    let print = || outpace::stdout().write_all(b"end\n").unwrap();
    std::thread::spawn(print).join().unwrap();
}

fn print_within() {
    let write = way();
    write(&Does(|| {
        println!("a {}", 1);
        outpace::stdout().lock().str("b ").int(2).char('\n');
        outpace::writeln!(outpace::stdout(), "c {}", Does(|| println!("before c"))).unwrap();
        let mut guard = outpace::stdout().lock();
        std::writeln!(guard, "d {}", Does(|| println!("before d"))).unwrap();
        println!("e");
    }));
    write(&"next");
    end();
}

fn what_a_display_prints_comes_before_its_message() {
    prints(
        || Program::new(print_within),
        "a 1\nb 2\nbefore c\nc []\nbefore d\nd []\ne\n([])\n(next)\n",
    );
}

fn panic_within() {
    std::panic::set_hook(Box::new(|_| {}));
    let write = way();
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            write(&Does(|| {
                println!("whole");
                outpace::stdout().flush().unwrap();
                panic!("half-way")
            }));
        }));
        assert!(panicked.is_err());
    }
    // While a guard is held, too.
    let mut guard = outpace::stdout().lock();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        outpace::write!(guard, "not {}", Does(|| panic!("half-way"))).unwrap();
    }));
    assert!(panicked.is_err());
    guard.str("after\n");
    drop(guard);
    write(&"next");
    end();
}

fn a_message_whose_display_panics_is_taken_back() {
    prints(
        || Program::new(panic_within),
        "whole\nwhole\nwhole\nafter\n(next)\n",
    );
}

struct Fails;

impl Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half of it")?;
        Err(fmt::Error)
    }
}

fn fail_within() {
    std::panic::set_hook(Box::new(|_| {}));
    let write = way();
    let payload = catch_unwind(|| write(&Fails)).expect_err("as std does");
    let message = payload.downcast::<&str>().expect("a text");
    assert!(message.starts_with("a formatting trait implementation returned an error"));
    write(&"next");
    end();
}

fn a_message_whose_display_fails_is_taken_back() {
    prints(|| Program::new(fail_within), "(next)\n");
}

fn policies() -> [Buffering; 6] {
    [
        Buffering::Unbuffered,
        Buffering::Line,
        Buffering::block(),
        Buffering::Block { capacity: 10 },
        Buffering::prompt(),
        Buffering::background(100),
    ]
}

fn choose_within() {
    let write = way();
    for buffering in policies() {
        write(&Does(|| {
            outpace::stdout().set_buffering(buffering.clone());
            outpace::stdout().flush().unwrap();
            println!("then");
            outpace::stdout().redetect();
            let _ = outpace::stdout().buffering();
            let _ = outpace::stdout().stats();
        }));
    }
    end();
}

fn a_display_may_flush_choose_the_buffering_and_ask_for_it() {
    prints(|| Program::new(choose_within), &"then\n([])\n".repeat(6));
}

/// Another thread drains, and chooses, while each message is in the middle; it does not print, because on a guard it
/// would wait for it.
fn disturbed() {
    let write = way();
    for buffering in policies() {
        write(&Does(|| {
            let disturb = || {
                outpace::stdout().flush().unwrap();
                outpace::stdout().set_buffering(buffering.clone());
                outpace::stdout().flush().unwrap();
                outpace::stdout().redetect();
            };
            std::thread::scope(|scope| scope.spawn(disturb).join().unwrap());
            wait_until_helpers_sleep();
        }));
        write(&"next");
    }
    end();
}

fn another_thread_drains_and_chooses_while_a_message_is_formatted() {
    prints(|| Program::new(disturbed), &"([])\n(next)\n".repeat(6));
}

/// A text in many pieces.
struct Long(usize, usize);

impl Display for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        while left > 0 {
            let piece = left.min(self.1);
            f.write_str(&"x".repeat(piece))?;
            left -= piece;
        }
        Ok(())
    }
}

const LENGTHS: [(usize, usize); 7] = [
    (63, 5),
    (64, 64),
    (300, 7),
    (5000, 31),
    (70_000, 33),
    (200_000, 4096),
    (300_000, 300_000),
];

fn outgrow() {
    let write = way();
    // With all kinds of room left.
    for fill in 0..3 {
        for (length, piece) in LENGTHS {
            write(&Long(length + fill, piece));
        }
    }
    end();
}

fn a_message_may_outgrow_the_room_anywhere() {
    let lines = (0..3).flat_map(|fill| {
        let line = move |(length, _)| format!("({})\n", "x".repeat(length + fill));
        LENGTHS.into_iter().map(line)
    });
    prints(|| Program::new(outgrow), &lines.collect::<String>());
}

fn capture_within() {
    let write = way();
    let captured = outpace::capture(|| println!("({})", Does(|| println!("inner"))));
    assert_eq!(captured.stdout, "inner\n([])\n");
    write(&Does(|| {
        let captured = outpace::capture(|| println!("inner {}", Does(|| ())));
        assert_eq!(captured.stdout, "inner []\n");
    }));
    let captured = outpace::capture(|| {
        outpace::writeln!(outpace::stdout(), "{}", Does(|| println!("caught"))).unwrap();
        println!("a literal");
    });
    assert_eq!(captured.stdout, "caught\na literal\n");
    write(&"next");
    end();
}

fn what_a_thread_captures_while_a_message_is_formatted() {
    prints(|| Program::new(capture_within), "([])\n[]\n(next)\n");
}

fn exit_within() {
    let write = way();
    write(&"before");
    outpace::stdout().write_all(b"end\n").unwrap();
    write(&Does(|| std::process::exit(0)));
}

fn an_exit_within_a_message_drops_that_message_alone() {
    prints(|| Program::new(exit_within), "(before)\n");
}

const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123456789";

fn literals() {
    way();
    for _ in 0..20 {
        println!();
        println!("one");
        println!("exactly thirty-two bytes of text");
        println!("exactly thirty-one bytes a line");
        println!("0123456789012345678901234567890123456789012345678901234567890123456789");
        println!("{{é}}");
        outpace::writeln!(outpace::stdout(), "handle").unwrap();
        std::writeln!(outpace::stdout(), "handle").unwrap();
        let mut guard = outpace::stdout().lock();
        outpace::writeln!(guard, "guard").unwrap();
        std::writeln!(guard, "guard").unwrap();
        println!("nested");
        outpace::writeln!(
            guard,
            "0123456789012345678901234567890123456789012345678901234567890123456789"
        )
        .unwrap();
        outpace::write!(guard, "").unwrap();
    }
    end();
}

fn literals_are_messages_as_others_are() {
    let once = format!(
        "\none\nexactly thirty-two bytes of text\nexactly thirty-one bytes a line\n{LONG}\n{{é}}\n\
         handle\nhandle\nguard\nguard\nnested\n{LONG}\n"
    );
    prints(|| Program::new(literals), &once.repeat(20));
}

/// Threads that print in turns, by handles alone, so that the lock's bias comes and goes.
fn own_stream() {
    let write = way();
    let pipe = std::io::stdout();
    let stream = outpace::Stream::new(pipe, Buffering::Block { capacity: 1000 }).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let mut stream = &stream;
            scope.spawn(move || {
                for i in 0..3000 {
                    match i % 100 {
                        0 => std::writeln!(stream, "{}", thread).unwrap(),
                        1 => stream.write_all(b"4\n").unwrap(),
                        2 => std::writeln!(stream, "5").unwrap(),
                        _ => std::writeln!(stream, "{}", Long(6, 1)).unwrap(),
                    }
                }
            });
        }
    });
    let counts = stream.stats();
    assert_eq!(counts.messages_accepted, 9000);
    stream.close().unwrap();
    write(&"next");
    end();
}

fn a_stream_of_ones_own_is_written_to_as_standard_output_is() {
    for buffering in ["block", "prompt"] {
        let program = Program::new(own_stream)
            .buffering(buffering)
            .argument(3)
            .argument("");
        let output = program.run(To::Pipe).succeeded().stdout;
        let mut lines: Vec<&str> = std::str::from_utf8(&output).unwrap().lines().collect();
        assert_eq!(lines.split_off(9000), ["(next)", "end"]);
        let count = |line: &str| lines.iter().filter(|&&other| other == line).count();
        assert_eq!(["0", "1", "2", "4", "5"].map(count), [30, 30, 30, 90, 90]);
        assert_eq!(count("xxxxxx"), 9000 - 270);
    }
}

fn keep_a_guard() {
    std::panic::set_hook(Box::new(|_| {}));
    let write = way();
    let guard = std::cell::RefCell::new(None);
    for _ in 0..2 {
        write(&Does(|| {
            let mut kept = outpace::stdout().lock();
            kept.str("within\n");
            guard.replace(Some(kept));
        }));
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| write(&Does(|| panic!("half-way")))));
    assert!(panicked.is_err());
    let other = spawn_until_it_waits(|| println!("other"));
    write(&"mine");
    guard.take();
    other.join().unwrap();
    write(&"next");
    end();
}

fn a_guard_that_outlives_the_message_it_was_taken_in_keeps_others_out() {
    prints(
        || Program::new(keep_a_guard),
        "within\n([])\nwithin\n([])\n(mine)\nother\n(next)\n",
    );
}

/// Streaks of one thread, so that the lock is its own, into which the others come while it is in the middle of a message.
fn slow_threads() {
    let print = |thread: u64| {
        let mut random = Random::new(thread);
        let mut number = 0;
        let next = |number: &mut u64| {
            *number += 1;
            *number - 1
        };
        while number < 10_000 {
            for _ in 0..random.below(400) {
                let what = random.below(100);
                let nested = if what < 3 { next(&mut number) } else { 0 };
                let within = Does(|| match what {
                    0 => println!("{thread} {nested} []"),
                    1 => {
                        let mut guard = outpace::stdout().lock();
                        guard.int(thread).char(' ').int(nested).str(" []\n");
                    }
                    2 => println!("{thread} {nested} {}", Does(std::thread::yield_now)),
                    3..10 => std::thread::yield_now(),
                    10 => std::thread::sleep(Duration::from_micros(50)),
                    11 => outpace::stdout().flush().unwrap(),
                    _ => {}
                });
                let this = next(&mut number);
                match random.below(10) {
                    0 => std::writeln!(outpace::stdout(), "{thread} {this} {within}").unwrap(),
                    1 => outpace::writeln!(outpace::stdout(), "{thread} {this} {within}").unwrap(),
                    2 => {
                        let mut guard = outpace::stdout().lock();
                        outpace::writeln!(guard, "{thread} {this} {within}").unwrap();
                        let this = next(&mut number);
                        outpace::writeln!(guard, "{thread} {this} []").unwrap();
                    }
                    _ => println!("{thread} {this} {within}"),
                }
            }
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || print(thread));
        }
    });
}

fn threads_whose_messages_are_slow_to_format_keep_them_whole_and_in_order() {
    for buffering in ["block", "block:300", "prompt", "background:2000", "line"] {
        let program = Program::new(slow_threads).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        let mut next = [0; 4];
        for line in std::str::from_utf8(&output).expect("text").lines() {
            let mut words = line.split(' ');
            let mut number = || words.next().and_then(|word| word.parse::<usize>().ok());
            let (Some(thread), Some(number), Some("[]")) = (number(), number(), words.next())
            else {
                panic!("broken under {buffering}: {line:?}");
            };
            assert_eq!(number, next[thread], "of thread {thread} under {buffering}");
            next[thread] += 1;
        }
        assert!(next.into_iter().all(|next| next >= 10_000), "{next:?}");
    }
}

/// The child goes on with the message, and to the end of the program; the parent waits for that.
#[allow(unsafe_code)]
fn fork_within() {
    let write = way();
    write(&Does(|| {
        // SAFETY: the child uses outpace, which takes care of itself, and ends.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child > 0 {
            let mut status = 0;
            // SAFETY: fills `status`.
            unsafe { libc::waitpid(child, &mut status, 0) };
            assert_eq!(status, 0);
            println!("parent");
        } else {
            println!("child");
        }
    }));
    write(&"next");
    end();
}

fn a_display_may_fork() {
    for buffering in POLICIES {
        for (way, (name, _)) in WAYS.iter().enumerate() {
            for warm in ["", "warm"] {
                let program = Program::new(fork_within);
                let program = program.buffering(buffering).argument(way).argument(warm);
                let output = program.run(To::Pipe).succeeded().stdout;
                let text = String::from_utf8(output).unwrap();
                // The parent writes its pending bytes, perhaps before the fork.
                let lines: Vec<&str> = text
                    .lines()
                    .map(|line| line.trim_start_matches('.'))
                    .collect();
                let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                let each = |author| [author, "([])", "(next)", "end"];
                let expected = [each("child"), each("parent")].concat();
                assert_eq!(lines, expected, "{buffering}, {name}, {warm}");
            }
        }
    }
}
