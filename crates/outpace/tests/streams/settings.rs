//! The buffering in force: by code, by the environment, by the destination.

use crate::support::{Finished, Program, Reader, To, assert_same, list, skip, socket_pair};
use outpace::Buffering;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

list! {
    portable: [
        the_environment_chooses_a_policy,
        what_stdbuf_sets_is_honoured,
        code_comes_before_the_environment,
        the_environment_comes_before_a_default_in_code,
        a_default_in_code_comes_before_that_of_the_destination,
        a_bad_value_is_reported_once_and_the_next_source_holds,
        stderr_has_a_policy_of_its_own,
        an_empty_value_is_none,
        a_wrong_capacity_panics_where_it_is_set,
    ],
    native: [
        the_default_follows_the_destination,
        where_a_write_is_a_message_each_line_is_one,
        a_setting_of_the_kernel_gets_line_after_line,
        the_buffer_is_smaller_than_the_pipe,
        stdbuf_works,
        line_buffering_writes_lines,
        block_buffering_writes_blocks,
        unbuffered_is_one_write_a_message,
        stderr_is_one_write_a_message,
        a_set_user_id_program_takes_no_advice_from_its_environment,
    ],
    programs: [
        tell, tell_if_privileged, count_into_a_setting, count, choose_in_code, prefer_in_code, tell_of_stderr, wrong_capacity, lines, blocks,
        fragments, fragments_to_stderr,
    ],
}

/// Says on standard error which buffering standard output has.
fn tell() {
    outpace::stdout().write_all(b"x").unwrap();
    eprint!("{}", outpace::stdout().buffering());
}

fn choose_in_code() {
    outpace::stdout().set_default_buffering(Buffering::Unbuffered);
    outpace::stdout().set_buffering(Buffering::Line);
    tell();
}

fn prefer_in_code() {
    outpace::stdout().set_default_buffering(Buffering::Line);
    tell();
}

fn tell_of_stderr() {
    outpace::stderr().write_all(b"x").unwrap();
    print!("{}", outpace::stderr().buffering());
}

#[track_caller]
fn assert_buffering(program: Program, to: To, buffering: &str) -> Finished {
    let finished = program.run(to);
    assert!(finished.status.success());
    assert_eq!(finished.stdout, b"x");
    assert_eq!(finished.stderr, buffering);
    finished
}

fn the_environment_chooses_a_policy() {
    for buffering in [
        "unbuffered",
        "line",
        "block:1KiB",
        "block:12345",
        "prompt:9ms",
        "background:3MiB",
    ] {
        assert_buffering(Program::new(tell).buffering(buffering), To::Pipe, buffering);
    }
}

fn the_default_follows_the_destination() {
    assert_buffering(Program::new(tell), To::Pipe, "prompt");
    assert_buffering(Program::new(tell), To::Terminal, "prompt");
    assert_buffering(Program::new(tell), To::File, "prompt:100ms");
}

fn count() {
    (0..1000).for_each(|i| writeln!(outpace::stdout(), "{i}").unwrap());
}

fn where_a_write_is_a_message_each_line_is_one() {
    for kind in [libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
        let (read, write) = socket_pair(kind);
        let reader = Reader::new(read.into());
        let running = Program::new(count).start_on(write, reader);
        // A socket for datagrams has no end.
        let all = running.stdout().wait_for("999\n");
        let expected: String = (0..1000).map(|i| format!("{i}\n")).collect();
        assert_same(&all, expected.as_bytes());
        if kind == libc::SOCK_SEQPACKET {
            assert_eq!(running.stdout().reads().len(), 1000);
        }
        running.ended();
    }
}

/// Prints into the name of its thread: the kernel takes the first 15 bytes of each write.
#[allow(unsafe_code)]
fn count_into_a_setting() {
    let setting = "/proc/self/comm";
    let file = std::fs::File::options().write(true).open(setting).unwrap();
    // SAFETY: both are open.
    unsafe { libc::dup2(file.as_raw_fd(), 1) };
    count();
    outpace::stdout().flush().unwrap();
    assert_eq!(std::fs::read_to_string(setting).unwrap().trim(), "999");
}

fn a_setting_of_the_kernel_gets_line_after_line() {
    Program::new(count_into_a_setting).run(To::Pipe).succeeded();
}

fn what_stdbuf_sets_is_honoured() {
    for (value, buffering) in [("L", "line"), ("0", "unbuffered"), ("8192", "block:8KiB")] {
        let program = Program::new(tell).env("_STDBUF_O", value);
        assert_buffering(program, To::Pipe, buffering);
    }
    let program = Program::new(tell)
        .env("_STDBUF_O", "L")
        .buffering("unbuffered");
    assert_buffering(program, To::Pipe, "unbuffered");
}

fn code_comes_before_the_environment() {
    let program = Program::new(choose_in_code).buffering("unbuffered");
    assert_buffering(program, To::Pipe, "line");
}

fn the_environment_comes_before_a_default_in_code() {
    let program = Program::new(prefer_in_code).buffering("unbuffered");
    assert_buffering(program, To::Pipe, "unbuffered");
    let program = Program::new(prefer_in_code).env("_STDBUF_O", "0");
    assert_buffering(program, To::Pipe, "unbuffered");
}

fn a_default_in_code_comes_before_that_of_the_destination() {
    assert_buffering(Program::new(prefer_in_code), To::File, "line");
}

fn a_bad_value_is_reported_once_and_the_next_source_holds() {
    let program = Program::new(tell)
        .buffering("sometimes")
        .env("_STDBUF_O", "L");
    let finished = program.run(To::Pipe);
    let report = "outpace: OUTPACE_STDOUT: \"sometimes\" is not a buffering; use unbuffered, line, \
                  block[:64KiB], prompt[:4ms] or background[:16MiB]\n";
    assert_eq!(finished.stderr, format!("{report}line"));

    let finished = Program::new(tell)
        .env("_STDBUF_O", "most")
        .run(To::Terminal);
    let report = "outpace: _STDBUF_O: \"most\" is not a buffering; use L, 0 or a number of bytes\n";
    // The next source: the destination.
    assert!(finished.stderr.starts_with(report), "{}", finished.stderr);
    assert_eq!(finished.stderr.lines().count(), 2);
}

fn an_empty_value_is_none() {
    let program = Program::new(tell).buffering("").env("_STDBUF_O", "L");
    assert_buffering(program, To::Pipe, "line");
}

fn stderr_has_a_policy_of_its_own() {
    let tells = |program: Program| program.run(To::Pipe).stdout;
    assert_eq!(tells(Program::new(tell_of_stderr)), b"unbuffered");
    let program = Program::new(tell_of_stderr).env("OUTPACE_STDERR", "prompt:7ms");
    assert_eq!(tells(program.buffering("line")), b"prompt:7ms");
    let program = Program::new(tell_of_stderr).env("_STDBUF_E", "L");
    assert_eq!(tells(program), b"line");
}

fn stdbuf_works() {
    if std::process::Command::new("stdbuf")
        .arg("--version")
        .output()
        .is_err()
    {
        crate::support::skip("stdbuf is not installed");
    }
    let program = |option: &str| Program::new(tell).under(&["stdbuf", option]);
    // The library that stdbuf has loaded reports no error, and consumes no variable.
    assert_buffering(program("-oL"), To::Pipe, "line");
    assert_buffering(program("-o0"), To::Pipe, "unbuffered");
    assert_buffering(program("-o4K"), To::Pipe, "block:4KiB");
}

fn the_buffer_is_smaller_than_the_pipe() {
    // Linux's pipes hold 64 KiB.
    let program = || Program::new(tell).buffering("block");
    assert_buffering(program(), To::Pipe, "block:32KiB");
    assert_buffering(program(), To::Terminal, "block:64KiB");
}

fn wrong_capacity() {
    let background = Buffering::background(0);
    let prompt = Buffering::Prompt {
        capacity: 0,
        max_delay: Duration::ZERO,
    };
    let block = Buffering::Block {
        capacity: usize::MAX,
    };
    std::panic::set_hook(Box::new(|_| {}));
    for buffering in [background, prompt, block] {
        let set = || outpace::stdout().set_buffering(buffering);
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(set)).unwrap_err();
        println!(
            "{}",
            payload.downcast_ref::<String>().map_or_else(
                || payload.downcast_ref::<&str>().unwrap().to_string(),
                String::clone,
            )
        );
    }
    outpace::stdout().write_all(b"unharmed\n").unwrap();
}

fn a_wrong_capacity_panics_where_it_is_set() {
    let stdout = Program::new(wrong_capacity)
        .run(To::Pipe)
        .succeeded()
        .stdout;
    let text = String::from_utf8(stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("a capacity of 0 bytes"), "{text}");
    assert!(lines[1].contains("use Buffering::Unbuffered"), "{text}");
    assert!(lines[2].contains("1 byte to 1 GiB"), "{text}");
    assert_eq!(lines[3], "unharmed");
}

fn lines() {
    let mut out = outpace::stdout().lock();
    out.str("partial ");
    out.str("line\nsecond\nthi");
    out.str("rd\n");
    out.str("last");
}

fn line_buffering_writes_lines() {
    let running = Program::new(lines).buffering("line").start(To::Packets);
    let writes = running.stdout().reads();
    let expected: [&[u8]; 3] = [b"partial line\nsecond\n", b"third\n", b"last"];
    assert_eq!(writes, expected);
}

fn blocks() {
    for i in 0..10_000 {
        writeln!(outpace::stdout(), "line {i:08}").unwrap();
    }
}

fn block_buffering_writes_blocks() {
    let running = Program::new(blocks)
        .buffering("block:1400")
        .start(To::Packets);
    let writes = running.stdout().reads();
    // Whole messages, as many as fit.
    assert!(writes.iter().all(|write| write.ends_with(b"\n")));
    assert!(writes.iter().rev().skip(1).all(|write| write.len() == 1400));
    let expected: String = (0..10_000).map(|i| format!("line {i:08}\n")).collect();
    assert_same(&writes.concat(), expected.as_bytes());
}

fn fragments() {
    for i in 0..10 {
        writeln!(outpace::stdout(), "{i} {} {:?} {}", "a", "b", 'c').unwrap();
    }
}

fn unbuffered_is_one_write_a_message() {
    let running = Program::new(fragments)
        .buffering("unbuffered")
        .start(To::Packets);
    assert_eq!(running.stdout().reads().len(), 10);
}

fn fragments_to_stderr() {
    for i in 0..10 {
        writeln!(outpace::stderr(), "{i} {} {:?} {}", "a", "b", 'c').unwrap();
    }
}

fn stderr_is_one_write_a_message() {
    let running = Program::new(fragments_to_stderr)
        .stderr_to_stdout()
        .start(To::Packets);
    assert_eq!(running.stdout().reads().len(), 10);
}

/// The same as `tell`, in a program that has more rights than its caller.
#[allow(unsafe_code)]
fn tell_if_privileged() {
    // SAFETY: only asks.
    if unsafe { libc::getuid() != libc::geteuid() } {
        tell();
    }
}

fn a_set_user_id_program_takes_no_advice_from_its_environment() {
    for (variable, value, buffering) in [
        ("OUTPACE_STDOUT", "block:12345", "block:12345"),
        ("_STDBUF_O", "0", "unbuffered"),
    ] {
        assert_buffering(Program::new(tell).env(variable, value), To::Pipe, buffering);
        let program = Program::new(tell_if_privileged).env(variable, value);
        let Some(program) = program.set_user_id() else {
            skip("only root can give a program the rights of root");
        };
        let finished = program.run(To::Pipe);
        if finished.stdout.is_empty() {
            skip("this file system gives no program the rights of its owner");
        }
        assert_eq!((finished.code(), &*finished.stderr), (0, "prompt"));
    }
}
