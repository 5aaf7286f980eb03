//! Programs with the single-file edition: what they print arrives however they end, and before they wait.

use crate::support::{Program, To, list};

list! {
    portable: [
        what_was_printed_arrives_however_the_program_ends,
        a_question_appears_before_the_program_waits,
        bad_input_ends_the_program_with_a_message,
        bad_input_of_any_kind_is_never_a_wrong_number,
        a_closed_input_and_a_directory_are_told_of,
        a_second_io_is_refused,
    ],
    native: [
        output_that_cannot_be_written_is_told_of,
        output_that_exit_cannot_write_is_told_of,
        exit_in_another_thread_writes_what_was_flushed,
    ],
    programs: [
        returns, panics, exits, exits_with_a_little, exits_elsewhere, exits_by_io, exits_within_a_call, asks, adds_up,
        reads_words, twice,
    ],
}

#[rustfmt::skip]
#[allow(unreachable_pub, unsafe_code, unused)]
mod edition {
    include!("../../../../contest/outpace.rs");
    pub(super) use self::outpace::{Io, io};

    pub(super) fn answer(io: &mut Io) {
        out!(io, "answer", 42,);
    }

    pub(super) fn print(io: &mut Io) {
        for i in 0..20_000 {
            out!(io, "line", i);
        }
        write!(io, "the end");
    }

    pub(super) fn add_up(io: &mut Io) {
        let n: usize = io.read();
        let numbers: Vec<i64> = io.vec(n);
        out!(io, numbers.iter().sum::<i64>());
    }

    pub(super) fn words(io: &mut Io) {
        let _: char = io.read();
        let _: String = io.read();
        let _ = io.line();
    }

    pub(super) fn ask(io: &mut Io) {
        for round in 0..3 {
            write!(io, "question {round}?");
            let answer: i64 = io.read();
            out!(io, "answer", answer);
        }
    }
}

use edition::{Io, io};

fn returns() {
    edition::print(&mut io());
}

fn panics() {
    let io = &mut io();
    edition::print(io);
    panic!("wrong");
}

fn exits() {
    let io = &mut io();
    edition::print(io);
    std::process::exit(3);
}

fn exits_with_a_little() {
    edition::add_up(&mut Io::over(&b"2 40 2"[..], std::io::sink()));
    let io = &mut io();
    edition::answer(io);
    std::process::exit(0);
}

fn exits_elsewhere() {
    let io = &mut io();
    edition::answer(io);
    io.flush();
    edition::answer(io);
    std::thread::spawn(|| std::process::exit(6)).join().unwrap();
}

fn exits_by_io() {
    let io = &mut io();
    edition::print(io);
    io.exit(4);
}

fn exits_within_a_call() {
    struct Exits;
    impl std::fmt::Display for Exits {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            std::process::exit(5);
        }
    }
    let io = &mut io();
    edition::print(io);
    io.write_fmt(format_args!("{Exits}"));
}

fn asks() {
    edition::ask(&mut io());
}

fn adds_up() {
    edition::add_up(&mut io());
}

fn reads_words() {
    edition::words(&mut io());
}

fn twice() {
    let _one = io();
    let _two = io();
}

fn what_was_printed_arrives_however_the_program_ends() {
    let lines: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
    let expected = lines + "the end";
    let arrives = |program: fn() -> Program, status: i32| {
        for to in [To::Pipe, To::File] {
            let finished = program().run(to);
            assert_eq!(finished.code(), status, "{}", finished.stderr);
            assert!(finished.stdout == expected.as_bytes());
        }
    };
    arrives(|| Program::new(returns), 0);
    arrives(|| Program::new(panics), 101);
    arrives(|| Program::new(exits), 3);
    arrives(|| Program::new(exits_by_io), 4);
    arrives(|| Program::new(exits_within_a_call), 5);
}

fn a_question_appears_before_the_program_waits() {
    for to in [To::Pipe, To::Terminal] {
        let mut running = Program::new(asks).start(to);
        for round in 0..3 {
            running.stdout().wait_for(format!("question {round}?"));
            running.send(format!("{round}7\n").as_bytes());
        }
        let finished = running.finish().succeeded();
        assert!(
            finished.stdout.ends_with(b"answer 27\n")
                || finished.stdout.ends_with(b"answer 27\r\n")
        );
    }
}

fn bad_input_ends_the_program_with_a_message() {
    let mut running = Program::new(asks).start(To::Pipe);
    running.send(b"1\n 2x\n");
    let finished = running.finish();
    assert_eq!(finished.code(), 1);
    assert_eq!(
        finished.stderr,
        "input: line 2, column 2: expected i64, found \"2x\"\n"
    );
    assert_eq!(finished.stdout, b"question 0?answer 1\nquestion 1?");
}

/// Ends with status 1, a message and no output.
#[track_caller]
fn is_refused(program: Program, input: &[u8], message: &str) {
    let mut running = program.start(To::Pipe);
    running.send(input);
    let finished = running.finish();
    assert_eq!(finished.stderr, format!("input: {message}\n"));
    assert_eq!(finished.code(), 1);
    assert_eq!(finished.stdout, b"");
}

fn bad_input_of_any_kind_is_never_a_wrong_number() {
    // Once alone, and once with enough behind it to be read the fast way.
    for rest in ["", &" 1".repeat(100)] {
        for (token, found) in [
            ("12a", "\"12a\""),
            ("1\u{0}2", "\"1\\x002\""),
            ("-", "\"-\""),
            ("1.5", "\"1.5\""),
            (
                "9223372036854775808",
                "\"9223372036854775808\", which is out of range",
            ),
            (
                "-99999999999999999999",
                "\"-99999999999999999999\", which is out of range",
            ),
        ] {
            let input = format!("200\n1 2 3 4 5 6 7 8 9 10\n{token}{rest}\n");
            let message = format!("line 3, column 1: expected i64, found {found}");
            is_refused(Program::new(adds_up), input.as_bytes(), &message);
        }
    }
    let end = "line 3, column 1: expected i64, found the end of the input";
    is_refused(Program::new(adds_up), b"3\n1 2\n", end);
    // The input ends in the middle of a character: as one, in a word, in a line.
    for (input, column) in [
        (&b"\xe6\xbc"[..], 1),
        (b"a\xe6\xbc", 2),
        (b"a b\n\xe6\xbc", 1),
        (b"a b c\xe6\xbc", 6),
    ] {
        let line = 1 + u8::from(input.contains(&b'\n'));
        let message = format!("line {line}, column {column}: expected UTF-8, found \"\\xe6\\xbc\"");
        is_refused(Program::new(reads_words), input, &message);
    }
}

fn a_closed_input_and_a_directory_are_told_of() {
    let under = |redirection| {
        let script = format!("exec \"$@\" {redirection}");
        Program::new(adds_up).under(&["sh", "-c", &script, "sh"])
    };
    // The runtime puts the null device in the place of what is closed.
    let end = "line 1, column 1: expected usize, found the end of the input";
    is_refused(under("<&-"), b"", end);
    let directory = std::fs::read("/").unwrap_err();
    let message = format!("line 1, column 1: cannot read: {directory}");
    is_refused(under("</"), b"", &message);
}

fn output_that_cannot_be_written_is_told_of() {
    for program in [Program::new(returns), Program::new(exits_by_io)] {
        let program = program.under(&["sh", "-c", "exec \"$@\" >/dev/full", "sh"]);
        let finished = program.run(To::Pipe);
        assert!(
            finished
                .stderr
                .starts_with("output: No space left on device"),
            "{}",
            finished.stderr
        );
        assert_eq!(finished.code(), 1);
    }
}

fn output_that_exit_cannot_write_is_told_of() {
    // The end of the thread drains the rest, and cannot choose the status.
    for program in [Program::new(exits_with_a_little), Program::new(exits)] {
        let program = program.under(&["sh", "-c", "(\"$@\") >/dev/full; exit $?", "sh"]);
        let finished = program.run(To::Pipe);
        let message = "output: No space left on device";
        assert_eq!(
            finished.stderr.matches(message).count(),
            1,
            "{}",
            finished.stderr
        );
        assert_eq!(finished.code(), 134);
    }
}

/// As documented: std runs no code of other threads then.
fn exit_in_another_thread_writes_what_was_flushed() {
    let finished = Program::new(exits_elsewhere).run(To::Pipe);
    assert_eq!(finished.code(), 6);
    assert_eq!(finished.stdout, b"answer 42\n");
}

fn a_second_io_is_refused() {
    let finished = Program::new(twice).run(To::Pipe);
    assert_eq!(finished.code(), 101);
    assert!(
        finished.stderr.contains("io() is for one call"),
        "{}",
        finished.stderr
    );
}
