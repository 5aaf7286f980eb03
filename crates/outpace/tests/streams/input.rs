//! Programs that read what they ask for: standard output is drained before they wait for input, and only then.
#![allow(unsafe_code)]

use crate::support::{Program, To, list, set_nonblocking, temporary_file, write_calls};
use outpace::Buffering;
use outpace::input::{ErrorKind, Input};
use std::io::{Seek, Write};

list! {
    portable: [
        what_was_printed_appears_before_the_program_waits,
        what_a_guard_has_published_appears_before_its_holder_waits,
        what_is_wrong_with_the_input_is_an_error_by_value,
    ],
    native: [
        reading_a_file_costs_no_drain,
        a_terminal_that_does_not_read_is_not_waited_for_in_the_background,
        a_read_of_a_non_blocking_input_waits,
        a_closed_input_is_an_error_by_value,
    ],
    programs: [guess, guess_within_a_guard, expect_numbers, read_a_file, in_background, nonblocking, closed],
}

/// More than a message at a time, so that it is not by chance that the question is seen.
fn ask(out: &mut impl Write, question: &str) {
    for i in 0..100 {
        writeln!(out, "line {i}").unwrap();
    }
    write!(out, "{question}").unwrap();
}

fn guess() {
    let mut input = outpace::input::stdin();
    for round in 0..3 {
        ask(&mut outpace::stdout(), &format!("question {round}?"));
        let answer: i64 = input.read().unwrap();
        writeln!(outpace::stdout(), "answer {answer}").unwrap();
    }
}

fn guess_within_a_guard() {
    let mut input = outpace::input::stdin();
    let mut out = outpace::stdout().lock();
    for round in 0..3 {
        ask(&mut out, &format!("question {round}?"));
        let answer: i64 = input.read().unwrap();
        writeln!(out, "answer {answer}").unwrap();
    }
}

fn is_answered(program: fn() -> Program) {
    for to in [To::Pipe, To::Terminal] {
        for buffering in ["block:1MiB", "prompt:1000s", "line"] {
            let mut running = program().buffering(buffering).start(to);
            for round in 0..3 {
                running.stdout().wait_for(format!("question {round}?"));
                running.send(format!("{round}7\n").as_bytes());
            }
            let finished = running.finish().succeeded();
            assert!(finished.stdout.windows(9).any(|text| text == b"answer 27"));
        }
    }
}

fn what_was_printed_appears_before_the_program_waits() {
    is_answered(|| Program::new(guess));
}

fn what_a_guard_has_published_appears_before_its_holder_waits() {
    is_answered(|| Program::new(guess_within_a_guard));
}

fn expect_numbers() {
    let mut input = outpace::input::stdin();
    while let Some(result) = input.try_read::<(u8, u8)>().transpose() {
        match result {
            Ok((a, b)) => writeln!(outpace::stdout(), "{a} {b}").unwrap(),
            Err(error) => writeln!(outpace::stdout(), "{error}").unwrap(),
        }
    }
}

fn what_is_wrong_with_the_input_is_an_error_by_value() {
    let mut running = Program::new(expect_numbers).start(To::Pipe);
    running.send(b"1 2\n3 256\n12a\n4 5\r\n\xff 6 7 \0 8");
    let finished = running.finish().succeeded();
    let expected = "1 2\n\
                    line 2, column 3: expected u8, found \"256\", which is out of range\n\
                    line 3, column 1: expected u8, found \"12a\"\n\
                    4 5\n\
                    line 5, column 1: expected u8, found \"\\xff\"\n\
                    6 7\n\
                    line 5, column 7: expected u8, found \"\\x00\"\n\
                    line 5, column 10: expected u8, found the end of the input\n";
    assert_eq!(String::from_utf8(finished.stdout).unwrap(), expected);
}

fn read_a_file() {
    let mut file = temporary_file();
    let text: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    file.write_all(text.as_bytes()).unwrap();
    file.rewind().unwrap();
    outpace::stdout().set_buffering(Buffering::Block { capacity: 1 << 20 });
    let mut input = Input::of_descriptor(file);
    let before = write_calls();
    while let Some(number) = input.try_read::<u32>().unwrap() {
        writeln!(outpace::stdout(), "{number}").unwrap();
    }
    assert_eq!(write_calls(), before);
}

fn reading_a_file_costs_no_drain() {
    let finished = Program::new(read_a_file).run(To::Pipe).succeeded();
    assert!(finished.stdout.ends_with(b"\n99999\n"));
}

fn in_background() {
    outpace::stdout().set_buffering(Buffering::background(16 << 20));
    for i in 0..100_000 {
        writeln!(outpace::stdout(), "line {i}").unwrap();
    }
    let answer: i32 = outpace::input::stdin().read().unwrap();
    eprintln!("answer {answer}");
}

fn a_terminal_that_does_not_read_is_not_waited_for_in_the_background() {
    let (mut running, reader) = Program::new(in_background).start_unread();
    running.send(b"5\n");
    running.stderr.wait_for("answer 5\n");
    reader.resume();
    assert!(running.finish().stdout.ends_with(b"line 99999\n"));
}

fn nonblocking() {
    set_nonblocking(&std::io::stdin());
    let mut input = outpace::input::stdin();
    write!(outpace::stdout(), "question?").unwrap();
    let answer: (i32, i32) = input.read().unwrap();
    writeln!(outpace::stdout(), "answer {answer:?}").unwrap();
}

fn a_read_of_a_non_blocking_input_waits() {
    let mut running = Program::new(nonblocking).start(To::Pipe);
    running.stdout().wait_for("question?");
    running.wait_until_asleep();
    running.send(b"1");
    running.wait_until_asleep();
    running.send(b"2 3\n");
    assert_eq!(
        running.finish().succeeded().stdout,
        b"question?answer (12, 3)\n"
    );
}

fn closed() {
    // SAFETY: no code here uses it.
    unsafe { libc::close(0) };
    let error = outpace::input::stdin().read::<i32>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    writeln!(outpace::stdout(), "{error}").unwrap();
}

fn a_closed_input_is_an_error_by_value() {
    let finished = Program::new(closed).run(To::Pipe).succeeded();
    let said = String::from_utf8(finished.stdout).unwrap();
    assert!(
        said.starts_with("line 1, column 1: cannot read: Bad file descriptor"),
        "{said}"
    );
}
