//! The promises of `Prompt`: text appears while the program does something else, and neither small programs nor bursts
//! pay for it.

use crate::macros::ours;
use crate::support::{Program, To, list, skip, wait_to_go_on, write_calls};
use std::io::Write;

list! {
    portable: [
        a_partial_line_appears_while_the_program_spins,
        a_partial_line_appears_while_the_program_sleeps,
        a_partial_line_appears_while_the_program_holds_the_guard,
        a_message_appears_while_the_next_one_is_being_built,
        a_line_appears_while_the_program_waits_for_input,
        every_message_of_a_slow_program_appears_before_the_next_one,
        what_follows_a_burst_after_a_pause_appears_too,
        background_appears_while_the_program_spins,
    ],
    native: [
        what_a_slow_program_prints_into_a_file_appears_there,
        hello_world_is_one_write_and_one_thread,
        twelve_messages_are_twelve_writes_and_one_thread,
        a_line_now_and_then_is_written_by_its_caller,
        a_burst_makes_hardly_any_system_calls,
        the_helper_sleeps_when_nothing_is_pending,
        under_a_clock_that_stands_still_a_question_appears,
    ],
    programs: [
        spin, sleep, hold_the_guard, build_a_message, ask, count_slowly, burst_pause_burst, watch_own_file,
        hello_world, twelve, now_and_then, many, burst_then_nothing, question_after_a_burst,
    ],
}

/// Enough messages that the next one is in a burst.
fn burst() {
    let mut out = outpace::stdout().lock();
    for i in 0..100 {
        out.str("line ").int(i).char('\n');
    }
}

fn spin() {
    burst();
    outpace::stdout().write_all(b"partial").unwrap();
    loop {
        std::hint::spin_loop();
    }
}

fn sleep() {
    burst();
    outpace::stdout().lock().str("partial");
    std::thread::sleep(std::time::Duration::from_secs(3600));
}

fn hold_the_guard() {
    burst();
    let mut out = outpace::stdout().lock();
    write!(out, "partial").unwrap();
    loop {
        std::hint::spin_loop();
    }
}

fn build_a_message() {
    burst();
    let mut out = outpace::stdout().lock();
    out.str("partial");
    let mut message = out.reserve(100);
    message.str("never seen");
    loop {
        std::hint::spin_loop();
    }
}

/// Checks that the text appears although the program does nothing more.
fn appears(program: fn() -> Program, buffering: &str) {
    for to in [To::Pipe, To::Terminal] {
        let running = program().buffering(buffering).start(to);
        let all = running.stdout().wait_for("partial");
        assert!(all.starts_with(b"line 0\nline 1\n"), "on {to:?}");
    }
}

fn a_partial_line_appears_while_the_program_spins() {
    appears(|| Program::new(spin), "prompt");
}

fn a_partial_line_appears_while_the_program_sleeps() {
    appears(|| Program::new(sleep), "prompt");
}

fn a_partial_line_appears_while_the_program_holds_the_guard() {
    appears(|| Program::new(hold_the_guard), "prompt");
}

fn a_message_appears_while_the_next_one_is_being_built() {
    appears(|| Program::new(build_a_message), "prompt");
}

fn background_appears_while_the_program_spins() {
    appears(|| Program::new(spin), "background");
    appears(|| Program::new(hold_the_guard), "background");
    appears(|| Program::new(build_a_message), "background");
}

fn ask() {
    let mut out = outpace::stdout();
    for i in 0..100 {
        write!(out, "question {i}? ").unwrap();
        wait_to_go_on();
    }
}

fn a_line_appears_while_the_program_waits_for_input() {
    for to in [To::Pipe, To::Terminal] {
        let mut running = Program::new(ask).start(to);
        for i in 0..100 {
            running.stdout().wait_for(format!("question {i}? "));
            running.go_on();
        }
        running.finish().succeeded();
    }
}

fn count_slowly() {
    let mut out = outpace::stdout().lock();
    for i in 0..100 {
        out.int(i).char('\n');
        wait_to_go_on();
    }
}

fn every_message_of_a_slow_program_appears_before_the_next_one() {
    for buffering in ["prompt", "prompt:20ms", "background", "line", "unbuffered"] {
        let mut running = Program::new(count_slowly)
            .buffering(buffering)
            .start(To::Pipe);
        for i in 0..100 {
            running.stdout().wait_for(format!("{i}\n"));
            running.go_on();
        }
        running.finish().succeeded();
    }
}

/// Goes on when its file has what it has printed.
fn watch_own_file() {
    let mut expected = String::new();
    for i in 0..60 {
        let line = format!("line {i}\n");
        ours!(print "{line}");
        expected += &line;
        // Bursts of ten, in which it does not wait.
        if i % 10 == 9 {
            while std::fs::read_to_string("/proc/self/fd/1").unwrap() != expected {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }
}

fn what_a_slow_program_prints_into_a_file_appears_there() {
    let finished = Program::new(watch_own_file).run(To::File).succeeded();
    assert_eq!(
        finished
            .stdout
            .iter()
            .filter(|byte| **byte == b'\n')
            .count(),
        60
    );
}

fn burst_pause_burst() {
    for i in 0..20 {
        burst();
        outpace::stdout().lock().str("end of ").int(i);
        wait_to_go_on();
    }
}

fn what_follows_a_burst_after_a_pause_appears_too() {
    for buffering in ["prompt", "prompt:1ms", "background"] {
        let mut running = Program::new(burst_pause_burst)
            .buffering(buffering)
            .start(To::Pipe);
        for i in 0..20 {
            running.stdout().wait_for(format!("end of {i}"));
            running.wait_until_asleep();
            running.go_on();
        }
        running.finish().succeeded();
    }
}

/// At the end of a program: that it has one thread.
fn assert_alone() {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().count();
    assert_eq!(threads, 1);
}

fn hello_world() {
    writeln!(outpace::stdout(), "Hello, {}!", "world").unwrap();
    assert_alone();
}

fn hello_world_is_one_write_and_one_thread() {
    for buffering in ["prompt", "block", "line", "unbuffered"] {
        let running = Program::new(hello_world)
            .buffering(buffering)
            .start(To::Packets);
        assert_eq!(running.stdout().reads(), [b"Hello, world!\n"]);
        running.finish().succeeded();
    }
}

fn twelve() {
    for i in 1..=11 {
        writeln!(outpace::stdout(), "{i}").unwrap();
    }
    outpace::stdout().lock().str("the twelfth\n");
    assert_alone();
}

fn twelve_messages_are_twelve_writes_and_one_thread() {
    let running = Program::new(twelve).start(To::Packets);
    let writes = running.stdout().reads();
    assert_eq!(writes.len(), 12);
    assert_eq!(writes[0], b"1\n");
    assert_eq!(writes[11], b"the twelfth\n");
    running.finish().succeeded();
    // A file is read afterwards, if ever, so its messages may be gathered.
    let finished = Program::new(twelve).run(To::File).succeeded();
    assert!(finished.stdout.ends_with(b"11\nthe twelfth\n"));
}

fn now_and_then() {
    let mut out = outpace::stdout();
    for i in 0..100 {
        let before = write_calls();
        writeln!(out, "{i}").unwrap();
        assert_eq!(write_calls() - before, 1, "in message {i}");
        wait_to_go_on();
    }
    assert_alone();
}

fn a_line_now_and_then_is_written_by_its_caller() {
    // The shortest delay, so that the time between two messages is a pause.
    let mut running = Program::new(now_and_then)
        .buffering("prompt:1us")
        .start(To::Packets);
    for i in 0..100 {
        running.stdout().wait_for(format!("{i}\n"));
        running.go_on();
    }
    running.finish().succeeded();
}

const MANY: u64 = 1_000_000;

fn many() {
    let mut out = outpace::stdout();
    for i in 0..100 {
        writeln!(out, "{i}").unwrap();
    }
    let calls = write_calls();
    for _ in 0..MANY {
        out.write_all(b"sixteen bytes..\n").unwrap();
    }
    eprint!("{}", write_calls() - calls);
}

fn a_burst_makes_hardly_any_system_calls() {
    for to in [To::Pipe, To::Terminal, To::File] {
        let finished = Program::new(many).buffering("prompt:20ms").run(to);
        let calls: u64 = finished.stderr.parse().expect("a number");
        // A terminal and a pipe may take less at a time than is offered.
        assert!(calls < MANY / 50, "{calls} calls on {to:?}");
        assert_eq!(finished.stdout.len(), 16 * MANY as usize + 290);
    }
}

fn burst_then_nothing() {
    burst();
    outpace::stdout().lock().str("done");
    wait_to_go_on();
    let context_switches = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let statuses = tasks
            .flatten()
            .map(|task| std::fs::read_to_string(task.path().join("status")).unwrap_or_default());
        let switches = |status: String| -> u64 {
            let lines = status
                .lines()
                .filter_map(|line| line.split_once("_switches:\t"));
            lines.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
        };
        statuses.map(switches).collect::<Vec<_>>()
    };
    let before = context_switches();
    assert!(before.len() > 1, "a helper");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(before[1..], context_switches()[1..], "the helper was woken");
}

fn the_helper_sleeps_when_nothing_is_pending() {
    for buffering in ["prompt", "background"] {
        let mut running = Program::new(burst_then_nothing)
            .buffering(buffering)
            .start(To::Pipe);
        running.stdout().wait_for("done");
        // The helper looks once more, finds nothing, and ends the burst.
        running.wait_until_asleep_for_good();
        running.go_on();
        running.finish().succeeded();
    }
}

fn question_after_a_burst() {
    burst();
    outpace::stdout().lock().str("name? ");
    wait_to_go_on();
}

fn under_a_clock_that_stands_still_a_question_appears() {
    let library = concat!(env!("CARGO_TARGET_TMPDIR"), "/clock.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams/support/clock.c");
    let compiler = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", library, source])
        .output();
    match compiler {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => skip(format!("cc: {error}")),
    }
    let mut running = Program::new(question_after_a_burst)
        .env("LD_PRELOAD", library)
        .start(To::Pipe);
    running.stdout().wait_for("name? ");
    running.go_on();
    running.finish().succeeded();
}
