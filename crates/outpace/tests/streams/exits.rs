//! At exit: what is waited for, what is reported, and what may follow.

use crate::support::{Program, Reader, Terminal, To, assert_same, list, pipe, wait_to_go_on};
use outpace::{Buffering, Overflow};
use std::cell::RefCell;
use std::fs::File;
use std::time::Duration;

list! {
    portable: [
        exit_waits_for_a_slow_reader,
        what_is_printed_by_thread_locals_at_their_end_arrives,
        messages_of_threads_that_still_print_at_exit_are_whole,
    ],
    native: [
        ctrl_c_ends_an_exit_that_waits,
        ctrl_c_ends_an_exit_that_waits_after_init,
        an_error_at_exit_keeps_a_status_of_failure,
        an_error_at_exit_keeps_what_c_has_buffered,
        what_is_printed_after_the_exit_drain_arrives,
        an_exit_in_a_forked_child_leaves_the_parents_bytes_alone,
        an_exit_in_the_middle_of_a_streams_own_work_says_what_it_leaves_behind,
        what_may_be_dropped_does_not_keep_a_program_at_a_reader_that_stands_still,
    ],
    programs: [
        fill_and_return, fill_after_init, fail_and_exit, fail_with_c, print_after_exit, print_from_thread_locals,
        print_on, exit_in_the_middle, exit_in_child, drop_and_return,
    ],
}

const LINES: usize = 20_000;

fn fill_and_return() {
    for i in 0..LINES {
        outpace::stdout().lock().int(i).char('\n');
        if i == 100 {
            eprint!("ready");
        }
    }
}

fn fill_after_init() {
    outpace::init();
    fill_and_return();
}

fn filling() -> String {
    (0..LINES).map(|i| format!("{i}\n")).collect()
}

const POLICIES: [&str; 5] = ["unbuffered", "line", "block:200KiB", "prompt", "background"];

fn exit_waits_for_a_slow_reader() {
    for buffering in POLICIES {
        let program = Program::new(fill_and_return).buffering(buffering);
        let (running, reader) = program.start_unread();
        running.stderr.wait_for("ready");
        running.wait_until_asleep();
        reader.resume();
        let finished = running.finish();
        assert_eq!(finished.code(), 0);
        assert_same(&finished.stdout, filling().as_bytes());
    }
}

/// Checks that SIGINT ends a program that waits for a stalled reader.
fn ctrl_c_ends(program: fn() -> Program) {
    for buffering in POLICIES {
        let (running, reader) = program().buffering(buffering).start_unread();
        running.stderr.wait_for("ready");
        running.wait_until_asleep();
        running.signal(libc::SIGINT);
        assert_eq!(running.ended(), 128 + libc::SIGINT);
        reader.resume();
        let found = reader.all();
        // It was waiting in a write.
        assert!(!found.is_empty());
        assert!(filling().as_bytes().starts_with(&found), "an exact prefix");
    }
}

fn ctrl_c_ends_an_exit_that_waits() {
    ctrl_c_ends(|| Program::new(fill_and_return));
}

fn ctrl_c_ends_an_exit_that_waits_after_init() {
    ctrl_c_ends(|| Program::new(fill_after_init));
}

/// The standard output of a program that cannot write there.
fn full() -> (std::os::fd::OwnedFd, Reader) {
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("it is there on Linux");
    (
        full.into(),
        Reader::new(File::open("/dev/null").expect("it is there")),
    )
}

const ERROR: &str = "outpace: stdout: No space left on device (os error 28)\n";

fn fail_and_exit() {
    outpace::stdout().lock().str("nowhere to go");
    std::process::exit(3);
}

fn an_error_at_exit_keeps_a_status_of_failure() {
    for buffering in POLICIES {
        let (full, no_reader) = full();
        let program = Program::new(fail_and_exit).buffering(buffering);
        let finished = program.start_on(full, no_reader).finish();
        // Only glibc tells an exit handler what the status is.
        let status = if cfg!(target_env = "gnu") { 3 } else { 1 };
        assert_eq!((finished.code(), &*finished.stderr), (status, ERROR));
    }
}

#[allow(unsafe_code)]
fn fail_with_c() {
    outpace::stdout().lock().str("nowhere to go");
    // SAFETY: plain calls of C's stdio, on a stream that is there until the end.
    unsafe {
        let stream = libc::fdopen(2, c"w".as_ptr());
        libc::setvbuf(stream, std::ptr::null_mut(), libc::_IOFBF, 4096);
        libc::fputs(c"buffered by C".as_ptr(), stream);
    }
}

fn an_error_at_exit_keeps_what_c_has_buffered() {
    if !cfg!(target_env = "gnu") {
        crate::support::skip("only glibc lets an exit handler change the status and go on");
    }
    for buffering in POLICIES {
        let (full, no_reader) = full();
        let program = Program::new(fail_with_c).buffering(buffering);
        let finished = program.start_on(full, no_reader).finish();
        assert_eq!(finished.code(), 1);
        assert_eq!(finished.stderr, ERROR.to_owned() + "buffered by C");
    }
}

#[allow(unsafe_code)]
fn print_after_exit() {
    extern "C" fn print() {
        for i in 0..50 {
            writeln!(outpace::stdout(), "after {i}").expect("it can be written");
        }
    }
    // SAFETY: registered before outpace's own, so that it runs after that.
    unsafe { libc::atexit(print) };
    for i in 0..50 {
        writeln!(outpace::stdout(), "before {i}").expect("it can be written");
    }
}

fn what_is_printed_after_the_exit_drain_arrives() {
    let lines = |when| -> String { (0..50).map(|i| format!("{when} {i}\n")).collect() };
    for buffering in POLICIES {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(print_after_exit).buffering(buffering);
            let found = program.run(to).succeeded().stdout;
            assert_same(&found, (lines("before") + &lines("after")).as_bytes());
        }
    }
}

struct Prints(&'static str);

impl Drop for Prints {
    fn drop(&mut self) {
        writeln!(outpace::stdout(), "{} {}", self.0, 1).expect("it can be written");
        outpace::stdout().lock().str(self.0).int(2).char('\n');
    }
}

fn print_from_thread_locals() {
    thread_local!(static AT_END: RefCell<Option<Prints>> = const { RefCell::new(None) });
    let leave = |name| {
        AT_END.set(Some(Prints(name)));
        writeln!(outpace::stdout(), "{name}").expect("it can be written");
    };
    for _ in 0..20 {
        let ended = std::thread::spawn(move || leave("thread")).join();
        ended.expect("it does not panic");
    }
    leave("main");
}

fn what_is_printed_by_thread_locals_at_their_end_arrives() {
    let thread = "thread\nthread 1\nthread2\n".repeat(20);
    for buffering in POLICIES {
        let program = Program::new(print_from_thread_locals).buffering(buffering);
        let found = program.run(To::Pipe).succeeded().stdout;
        // Whether those of the main thread are dropped is the platform's choice.
        let found = String::from_utf8(found).expect("text");
        let rest = found.strip_prefix(&*thread).expect("those of the threads");
        assert!(
            ["main\n", "main\nmain 1\nmain2\n"].contains(&rest),
            "{rest}"
        );
    }
}

fn print_on() {
    for thread in 0..3 {
        std::thread::spawn(move || {
            let mut number = 0;
            loop {
                writeln!(outpace::stdout(), "{thread} {number} whole").expect("it can be written");
                number += 1;
            }
        });
    }
    while outpace::stdout().stats().messages_accepted < 1000 {
        std::thread::yield_now();
    }
}

fn messages_of_threads_that_still_print_at_exit_are_whole() {
    for buffering in POLICIES {
        let found = Program::new(print_on).buffering(buffering).run(To::Pipe);
        assert_eq!(found.code(), 0);
        let text = String::from_utf8(found.stdout).expect("text");
        let mut next = [0; 3];
        // The process may have ended in the middle of the last write.
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let mut fields = line.split(' ').map(str::parse::<usize>);
            let (Some(Ok(thread)), Some(Ok(number))) = (fields.next(), fields.next()) else {
                panic!("{line:?}");
            };
            assert_eq!(number, next[thread], "a thread's messages are in order");
            assert_eq!(line, format!("{thread} {number} whole\n"));
            next[thread] += 1;
        }
        assert!(next.iter().sum::<usize>() >= 1000);
    }
}

#[allow(unsafe_code)]
fn exit_in_child() {
    outpace::stdout().lock().str("of the parent\n");
    wait_to_go_on();
    let (read, write) = pipe(0);
    // SAFETY: the child does nothing but end.
    if unsafe { libc::fork() } == 0 {
        drop(write);
        std::process::exit(0);
    }
    drop(write);
    // Until the child has ended.
    assert_eq!(Reader::new(read).all(), b"");
    outpace::stdout().lock().str("still of the parent\n");
}

fn an_exit_in_a_forked_child_leaves_the_parents_bytes_alone() {
    for buffering in POLICIES {
        let mut running = Program::new(exit_in_child)
            .buffering(buffering)
            .start(To::Pipe);
        running.go_on();
        let finished = running.finish().succeeded();
        assert_eq!(finished.stdout, b"of the parent\nstill of the parent\n");
    }
}

fn drop_and_return() {
    let (out, err) = (outpace::stdout(), outpace::stderr());
    let dropping = |overflow| Buffering::Background {
        capacity: 10_000,
        overflow,
    };
    out.set_buffering(dropping(Overflow::DropOldest));
    err.set_buffering(dropping(Overflow::DropNewest));
    out.exit_timeout(Duration::from_millis(50));
    err.exit_timeout(Duration::from_millis(50));
    for i in 0..LINES {
        out.lock().int(i).char('\n');
        err.lock().int(i).char('\n');
    }
}

/// Not even by what is to be told of it on standard error, which is just as stuck.
fn what_may_be_dropped_does_not_keep_a_program_at_a_reader_that_stands_still() {
    let program = || Program::new(drop_and_return).stderr_to_stdout();
    let (on_a_pipe, _unread) = program().start_unread();
    assert_eq!(on_a_pipe.ended(), 0);
    let terminal = Terminal::open();
    let unread = Reader::paused(terminal.master);
    let on_a_terminal = program().start_on(terminal.slave, unread);
    assert_eq!(on_a_terminal.ended(), 0);
}

fn exit_in_the_middle() {
    for _ in 0..100 {
        outpace::stdout().lock().str("pending\n");
    }
    // As a signal handler might. The memory for the next buffer is asked for in the middle of the switch.
    crate::support::watch_allocations(|| std::process::exit(0));
    let capacity = 123_456;
    outpace::stdout().set_buffering(Buffering::Block { capacity });
    unreachable!("it takes memory");
}

fn an_exit_in_the_middle_of_a_streams_own_work_says_what_it_leaves_behind() {
    let program = Program::new(exit_in_the_middle).buffering("block");
    let finished = program.run(To::Pipe);
    let message = "outpace: stdout: not drained: exit was called in the middle of its work\n";
    assert_eq!((finished.code(), &*finished.stderr), (1, message));
}
