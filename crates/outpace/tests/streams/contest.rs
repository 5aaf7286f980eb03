//! Programs with the single-file edition: what they print arrives however they end, and before they wait.

use crate::support::{Program, To, list};

list! {
    portable: [
        what_was_printed_arrives_however_the_program_ends,
        a_question_appears_before_the_program_waits,
        bad_input_ends_the_program_with_a_message,
        a_second_io_is_refused,
    ],
    native: [],
    programs: [returns, panics, exits, exits_by_io, exits_within_a_call, asks, twice],
}

#[rustfmt::skip]
#[allow(unreachable_pub, unsafe_code, unused)]
mod edition {
    include!("../../../../contest/outpace.rs");
    pub(super) use self::outpace::io;

    pub(super) fn print(io: &mut Io) {
        for i in 0..20_000 {
            out!(io, "line", i);
        }
        write!(io, "the end");
    }

    pub(super) fn ask(io: &mut Io) {
        for round in 0..3 {
            write!(io, "question {round}?");
            let answer: i64 = io.read();
            out!(io, "answer", answer);
        }
    }
}

use edition::io;

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

fn a_second_io_is_refused() {
    let finished = Program::new(twice).run(To::Pipe);
    assert_eq!(finished.code(), 101);
    assert!(
        finished.stderr.contains("io() is for one call"),
        "{}",
        finished.stderr
    );
}
