//! The order of streams that write to the same place.

use crate::support::{
    Program, Reader, To, assert_same, events, fill_the_pipe, list, pipe, wait_until,
};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

list! {
    portable: [
        stdout_before_stderr_on_the_same_file_keeps_the_programs_order,
        so_it_does_after_the_destination_was_to_be_asked_again,
        a_flush_keeps_the_order_with_std,
        a_flush_keeps_the_order_with_children,
    ],
    native: [
        stderr_elsewhere_leaves_stdout_alone,
        stderr_does_not_wait_for_a_stuck_stdout,
        on_one_slow_pipe_stdout_comes_before_stderr,
        a_flush_keeps_the_order_with_c,
        a_flush_before_raw_mode_keeps_the_ends_of_lines,
        raw_handles_write_at_once,
        line_buffering_keeps_the_order_with_children,
    ],
    programs: [
        alternate, alternate_and_redetect, alternate_with_std, alternate_with_children, alternate_with_c, stuck, crowded, raw,
        lines_and_children, stdout_then_stderr, enter_raw_mode,
    ],
}

fn alternate() {
    for i in 0..200 {
        writeln!(outpace::stdout(), "out {i}").unwrap();
        if i % 3 == 0 {
            writeln!(outpace::stderr(), "err {i}").unwrap();
        }
        if i % 7 == 0 {
            outpace::stderr().lock().str("err ").int(i).char('\n');
        }
    }
}

fn stdout_before_stderr_on_the_same_file_keeps_the_programs_order() {
    let mut expected = String::new();
    for i in 0..200 {
        expected += &format!("out {i}\n");
        for n in [3, 7] {
            if i % n == 0 {
                expected += &format!("err {i}\n");
            }
        }
    }
    // With a delay so long that the helper does not drain at the same moment: for that, stderr waits a few
    // milliseconds, which is enough on any machine that has nothing else to do.
    for buffering in ["unbuffered", "line", "block", "prompt:60s"] {
        for to in [To::Pipe, To::Terminal, To::File] {
            if cfg!(outpace_portable) && to != To::Terminal {
                // std cannot tell whether two pipes or files are the same.
                continue;
            }
            let program = Program::new(alternate)
                .buffering(buffering)
                .stderr_to_stdout();
            assert_same(&program.run(to).succeeded().stdout, expected.as_bytes());
        }
    }
}

fn stdout_then_stderr() {
    outpace::stdout().lock().str("buffered");
    outpace::stderr().lock().str("reported");
    crate::support::wait_to_go_on();
}

fn stderr_elsewhere_leaves_stdout_alone() {
    let mut running = Program::new(stdout_then_stderr)
        .buffering("block")
        .start(To::Pipe);
    running.stderr.wait_for("reported");
    assert_eq!(running.stdout().so_far(), b"");
    running.go_on();
    assert_eq!(running.finish().stdout, b"buffered");
}

fn stuck() {
    fill_the_pipe();
    for i in 0..100 {
        writeln!(outpace::stderr(), "{i}").unwrap();
    }
    std::process::abort();
}

fn stderr_does_not_wait_for_a_stuck_stdout() {
    for buffering in ["unbuffered", "block", "prompt", "background:100000"] {
        let (running, reader) = Program::new(stuck).buffering(buffering).start_unread();
        running.stderr.wait_for("98\n99\n");
        reader.resume();
        reader.all();
    }
}

/// More than a pipe of one page takes, then a message for which there would be room.
#[allow(unsafe_code)]
fn crowded() {
    // SAFETY: only numbers are handed over.
    let size = unsafe { libc::fcntl(1, libc::F_SETPIPE_SZ, sys_page()) };
    assert_eq!(size, sys_page());
    for i in 0..30 {
        writeln!(outpace::stdout(), "{i:>600}").unwrap();
    }
    writeln!(outpace::stderr(), "reported").unwrap();
}

#[allow(unsafe_code)]
fn sys_page() -> libc::c_int {
    // SAFETY: only asks.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as libc::c_int }
}

fn on_one_slow_pipe_stdout_comes_before_stderr() {
    let mut expected: String = (0..30).map(|i| format!("{i:>600}\n")).collect();
    expected += "reported\n";
    for buffering in ["unbuffered", "line", "block", "prompt", "prompt:60s"] {
        let (read, write) = pipe(0);
        let reader = Reader::paused(read.try_clone().expect("another descriptor"));
        let program = Program::new(crowded).buffering(buffering);
        let running = program.stderr_to_stdout().start_on(write, reader.clone());
        wait_until("it prints", || events(read.as_raw_fd(), libc::POLLIN) != 0);
        // Not only for the few milliseconds for which stderr waits for a drain in any case.
        for _ in 0..5 {
            std::thread::sleep(Duration::from_millis(5));
            running.wait_until_asleep();
        }
        reader.resume();
        assert_same(&reader.all(), expected.as_bytes());
    }
}

/// With the guard held, so that the destination is asked only when it is needed.
fn alternate_and_redetect() {
    for i in 0..100 {
        let mut out = outpace::stdout().lock();
        writeln!(out, "out {i}").unwrap();
        outpace::stdout().redetect();
        writeln!(outpace::stderr(), "err {i}").unwrap();
    }
}

fn so_it_does_after_the_destination_was_to_be_asked_again() {
    for buffering in ["block", "prompt:60s"] {
        let program = Program::new(alternate_and_redetect).buffering(buffering);
        let program = program.stderr_to_stdout();
        let output = program.run(To::Terminal).succeeded().stdout;
        assert_same(&output, lines_of("out", "err").as_bytes());
    }
}

fn alternate_with_std() {
    for i in 0..100 {
        writeln!(outpace::stdout(), "outpace {i}").unwrap();
        outpace::stdout().flush().unwrap();
        println!("std {i}");
    }
}

fn lines_of(first: &str, second: &str) -> String {
    (0..100)
        .map(|i| format!("{first} {i}\n{second} {i}\n"))
        .collect()
}

fn a_flush_keeps_the_order_with_std() {
    for to in [To::Pipe, To::Terminal, To::File] {
        let output = Program::new(alternate_with_std).run(to).succeeded().stdout;
        assert_same(&output, lines_of("outpace", "std").as_bytes());
    }
}

fn alternate_with_children() {
    for i in 0..100 {
        writeln!(outpace::stdout(), "outpace {i}").unwrap();
        outpace::stdout().flush().unwrap();
        echo(i);
    }
}

fn echo(i: i32) {
    let echoed = Command::new("echo").arg(format!("child {i}")).status();
    assert!(echoed.unwrap().success());
}

fn a_flush_keeps_the_order_with_children() {
    for to in [To::Pipe, To::Terminal, To::File] {
        let output = Program::new(alternate_with_children)
            .run(to)
            .succeeded()
            .stdout;
        assert_same(&output, lines_of("outpace", "child").as_bytes());
    }
}

fn lines_and_children() {
    for i in 0..100 {
        writeln!(outpace::stdout(), "outpace {i}").unwrap();
        echo(i);
    }
}

fn line_buffering_keeps_the_order_with_children() {
    let program = Program::new(lines_and_children).buffering("line");
    let output = program.run(To::Pipe).succeeded().stdout;
    assert_same(&output, lines_of("outpace", "child").as_bytes());
}

#[allow(unsafe_code)]
fn alternate_with_c() {
    for i in 0..100 {
        writeln!(outpace::stdout(), "outpace {i}").unwrap();
        outpace::stdout().flush().unwrap();
        // SAFETY: the format takes one int; a null stream means all of them.
        unsafe {
            libc::printf(c"c %d\n".as_ptr(), i);
            libc::fflush(std::ptr::null_mut());
        }
    }
    // C writes its own buffers at exit, after outpace.
    writeln!(outpace::stdout(), "outpace at exit").unwrap();
    // SAFETY: as above.
    unsafe { libc::printf(c"c at exit\n".as_ptr()) };
}

fn a_flush_keeps_the_order_with_c() {
    for to in [To::Pipe, To::Terminal, To::File] {
        let output = Program::new(alternate_with_c).run(to).succeeded().stdout;
        let expected = lines_of("outpace", "c") + "outpace at exit\nc at exit\n";
        let swapped = lines_of("outpace", "c") + "c at exit\noutpace at exit\n";
        // To a terminal C writes its line at once.
        assert_same(
            &output,
            if to == To::Terminal && output == swapped.as_bytes() {
                swapped.as_bytes()
            } else {
                expected.as_bytes()
            },
        );
    }
}

fn raw() {
    use std::os::fd::AsFd;
    for i in 0..3 {
        write!(outpace::raw::stdout(), "one").unwrap();
        outpace::raw::stdout().write_all(b"two").unwrap();
        #[cfg(not(outpace_portable))]
        let file = outpace::raw::stdout();
        #[cfg(outpace_portable)]
        let file = std::io::stdout();
        let copy = file.as_fd().try_clone_to_owned().unwrap();
        std::fs::File::from(copy).write_all(b"three").unwrap();
        write!(outpace::raw::stderr(), "{}", i).unwrap();
    }
    let mut line = [0; 100];
    let read = std::io::Read::read(&mut outpace::raw::stdin(), &mut line).unwrap();
    outpace::raw::stdout().write_all(&line[..read]).unwrap();
    // Descriptor 1 is still open.
    outpace::stdout().write_all(b"open").unwrap();
}

fn raw_handles_write_at_once() {
    let mut running = Program::new(raw).start(To::Packets);
    running.go_on();
    let writes = running.stdout().reads();
    let round: [&[u8]; 3] = [b"one", b"two", b"three"];
    let mut expected = [round, round, round].concat();
    expected.extend([&b"\n"[..], b"open"]);
    assert_eq!(writes, expected);
    assert_eq!(running.finish().stderr, "012");
}

const LINES_BEFORE_RAW_MODE: usize = 40;

#[allow(unsafe_code)]
fn enter_raw_mode() {
    // SAFETY: plain calls with modes that the first one fills.
    let raw = unsafe {
        let mut modes = std::mem::zeroed();
        libc::tcgetattr(1, &mut modes);
        let raw = modes;
        modes.c_oflag |= libc::OPOST | libc::ONLCR;
        libc::tcsetattr(1, libc::TCSANOW, &modes);
        raw
    };
    for i in 0..LINES_BEFORE_RAW_MODE {
        writeln!(outpace::stdout(), "line {i}").unwrap();
    }
    match &*std::env::args().nth(1).unwrap() {
        "flush" => outpace::stdout().flush().unwrap(),
        "share" => outpace::share(),
        _ => {}
    }
    // SAFETY: the same.
    unsafe { libc::tcsetattr(1, libc::TCSADRAIN, &raw) };
    writeln!(outpace::stdout(), "raw").unwrap();
}

fn a_flush_before_raw_mode_keeps_the_ends_of_lines() {
    let lines: String = (0..LINES_BEFORE_RAW_MODE)
        .map(|i| format!("line {i}\r\n"))
        .collect();
    for care in ["flush", "share"] {
        for buffering in ["line", "block", "prompt", "background"] {
            if (care, buffering) == ("share", "background") {
                // Whose callers do not wait for the reader.
                continue;
            }
            let program = Program::new(enter_raw_mode)
                .argument(care)
                .buffering(buffering);
            let output = program.run(To::Terminal).succeeded().stdout;
            assert_same(&output, (lines.clone() + "raw\n").as_bytes());
        }
    }
}
