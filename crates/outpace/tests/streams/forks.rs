//! `fork`: what was pending is written once, by the parent, and the child finds everything in order.

use crate::support::{
    Program, Reader, To, assert_same, fill_the_pipe, list, pipe, spawn_until_it_waits,
    wait_to_go_on,
};
use outpace::CommandExt;
use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

list! {
    portable: [],
    native: [
        what_was_pending_at_a_fork_is_written_once,
        a_burst_of_a_child_appears_while_it_spins,
        a_burst_of_the_parent_appears_after_a_fork,
        a_child_prints_although_another_thread_held_the_guard,
        a_child_prints_although_another_thread_began_to_print_during_the_fork,
        a_child_of_a_thread_with_a_guard_has_that_guard,
        a_fork_gives_up_on_a_stuck_reader_and_does_so_once,
        what_a_daemon_printed_before_it_became_one_arrives_however_late_the_reader,
        forks_among_printing_threads_lose_and_double_nothing,
        streams_of_ones_own_survive_a_fork,
        parent_and_children_print_in_program_order_with_flush_first,
    ],
    programs: [
        pending, burst_in_child, burst_in_parent, guard_of_another_thread, guard_since_the_fork_began, guard_of_its_own,
        stuck, late_daemon, among_threads, own_streams, children,
    ],
}

/// Runs `child` in a forked process, which then ends as by a return from `main`.
#[allow(unsafe_code)]
fn fork(child: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses outpace, which takes care of itself, and ends.
    match unsafe { libc::fork() } {
        -1 => panic!("{}", std::io::Error::last_os_error()),
        0 => {
            child();
            std::process::exit(0)
        }
        id => id,
    }
}

#[allow(unsafe_code)]
fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: fills `status`.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
}

const POLICIES: [&str; 6] = [
    "unbuffered",
    "line",
    "block",
    "prompt",
    "prompt:60s",
    "background",
];

fn lines(author: &str, count: usize) -> String {
    (0..count).map(|i| format!("{author} {i}\n")).collect()
}

fn print_lines(author: &str, count: usize) {
    for i in 0..count {
        writeln!(outpace::stdout(), "{author} {i}").unwrap();
    }
}

/// Compares the lines; under policies whose helper may be draining at the moment of the fork, without
/// their order, which depends on how long that takes.
#[track_caller]
fn assert_lines(found: &[u8], expected: &str, buffering: &str) {
    if !["prompt", "background"].contains(&buffering) {
        return assert_same(found, expected.as_bytes());
    }
    let sorted = |text: &[u8]| {
        let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        lines.sort();
        lines.concat()
    };
    assert_same(&sorted(found), &sorted(expected.as_bytes()));
}

fn pending() {
    print_lines("before", 100);
    wait_for(fork(|| print_lines("child", 100)));
    print_lines("parent", 100);
}

fn what_was_pending_at_a_fork_is_written_once() {
    for buffering in POLICIES {
        for to in [To::Pipe, To::Terminal, To::File] {
            let output = Program::new(pending)
                .buffering(buffering)
                .run(to)
                .succeeded()
                .stdout;
            // There was room for it all, so it precedes what the child prints.
            let expected = lines("before", 100) + &lines("child", 100) + &lines("parent", 100);
            assert_lines(&output, &expected, buffering);
        }
    }
}

fn burst_in_child() {
    print_lines("parent", 100);
    wait_for(fork(|| {
        print_lines("child", 100);
        loop {
            std::hint::spin_loop();
        }
    }));
}

fn a_burst_of_a_child_appears_while_it_spins() {
    for buffering in ["prompt", "background"] {
        let running = Program::new(burst_in_child)
            .buffering(buffering)
            .start(To::Pipe);
        running.stdout().wait_for("child 99\n");
        running.kill_children();
    }
}

fn burst_in_parent() {
    print_lines("before", 100);
    wait_for(fork(|| ()));
    print_lines("after", 100);
    wait_to_go_on();
}

fn a_burst_of_the_parent_appears_after_a_fork() {
    for buffering in ["prompt", "background"] {
        let running = Program::new(burst_in_parent)
            .buffering(buffering)
            .start(To::Pipe);
        running.stdout().wait_for("after 99\n");
        running.finish().succeeded();
    }
}

fn guard_of_another_thread() {
    let (held, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = outpace::stdout().lock();
            guard.str("held\n");
            held.store(true, Ordering::Release);
            while !done.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        });
        while !held.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        wait_for(fork(|| print_lines("child", 50)));
        done.store(true, Ordering::Release);
    });
    print_lines("parent", 50);
}

fn a_child_prints_although_another_thread_held_the_guard() {
    for buffering in POLICIES {
        let program = Program::new(guard_of_another_thread).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        let expected = "held\n".to_string() + &lines("child", 50) + &lines("parent", 50);
        assert_lines(&output, &expected, buffering);
    }
}

/// The first use of a stream is in another thread, when the fork is under way.
#[allow(unsafe_code)]
fn guard_since_the_fork_began() {
    static FORKING: AtomicBool = AtomicBool::new(false);
    static HELD: AtomicBool = AtomicBool::new(false);
    static DONE: AtomicBool = AtomicBool::new(false);

    fn wait_for_it(flag: &AtomicBool) {
        while !flag.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }

    extern "C" fn before_fork() {
        FORKING.store(true, Ordering::Release);
        wait_for_it(&HELD);
    }

    let other = std::thread::spawn(|| {
        wait_for_it(&FORKING);
        let mut guard = outpace::stdout().lock();
        guard.str("held\n");
        HELD.store(true, Ordering::Release);
        wait_for_it(&DONE);
    });
    // SAFETY: the function lives as long as the process.
    let installed = unsafe { libc::pthread_atfork(Some(before_fork), None, None) };
    assert_eq!(installed, 0);
    wait_for(fork(|| print_lines("child", 50)));
    DONE.store(true, Ordering::Release);
    other.join().unwrap();
    print_lines("parent", 50);
}

fn a_child_prints_although_another_thread_began_to_print_during_the_fork() {
    for buffering in POLICIES {
        let program = Program::new(guard_since_the_fork_began).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        let expected = "held\n".to_string() + &lines("child", 50) + &lines("parent", 50);
        assert_lines(&output, &expected, buffering);
    }
}

fn guard_of_its_own() {
    print_lines("before", 50);
    let mut guard = outpace::stdout().lock();
    guard.str("held\n");
    wait_for(fork(|| {
        outpace::stdout().write_all(b"child inside\n").unwrap();
        spawn_until_it_waits(|| outpace::stdout().write_all(b"never\n").unwrap());
    }));
    guard.str("parent\n");
}

fn a_child_of_a_thread_with_a_guard_has_that_guard() {
    for buffering in POLICIES {
        let program = Program::new(guard_of_its_own).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        let expected = lines("before", 50) + "held\nchild inside\nparent\n";
        assert_lines(&output, &expected, buffering);
    }
}

fn stuck() {
    const HOUR: Duration = Duration::from_secs(3600);
    fill_the_pipe();
    for timeout in [Duration::from_millis(50), HOUR, HOUR] {
        outpace::stdout().exit_timeout(timeout);
        let child = fork(|| {
            eprint!("child, ");
            crate::support::exit_at_once(0);
        });
        wait_for(child);
    }
    eprint!("parent");
    crate::support::exit_at_once(0);
}

fn a_fork_gives_up_on_a_stuck_reader_and_does_so_once() {
    for buffering in ["unbuffered", "block", "prompt", "background:100000"] {
        let (running, reader) = Program::new(stuck).buffering(buffering).start_unread();
        running.stderr.wait_for("child, child, child, parent");
        assert_eq!(running.ended(), 0);
        reader.resume();
        let found = reader.all();
        assert!(b"fill the pipe\n".repeat(20_000).starts_with(&found));
    }
}

/// More than a pipe takes, and little enough that most policies let the program go on.
const BEFORE_THE_DAEMON: usize = 8000;

#[allow(unsafe_code, deprecated)]
fn late_daemon() {
    outpace::stdout().exit_timeout(Duration::from_secs(3600));
    eprint!("begun");
    print_lines("before", BEFORE_THE_DAEMON);
    // SAFETY: the child uses outpace, which takes care of itself. Keeps the directory and the descriptors.
    assert_eq!(unsafe { libc::daemon(1, 1) }, 0);
    print_lines("daemon", 100);
}

fn what_a_daemon_printed_before_it_became_one_arrives_however_late_the_reader() {
    for buffering in POLICIES.into_iter().chain(["block:200KiB"]) {
        let (running, reader) = Program::new(late_daemon)
            .buffering(buffering)
            .start_unread();
        running.stderr.wait_for("begun");
        running.wait_until_asleep();
        reader.resume();
        assert_eq!(running.ended(), 0);
        let expected = lines("before", BEFORE_THE_DAEMON) + &lines("daemon", 100);
        assert_same(&reader.all(), expected.as_bytes());
    }
}

fn among_threads() {
    const FORKS: usize = 60;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in ["a", "b"] {
            let done = &done;
            scope.spawn(move || {
                let mut number = 0;
                while !done.load(Ordering::Relaxed) || number < 1000 {
                    writeln!(outpace::stdout(), "{thread} {number}").unwrap();
                    number += 1;
                }
                writeln!(outpace::stderr(), "{thread} {number}").unwrap();
            });
        }
        for number in 0..FORKS {
            wait_for(fork(|| print_lines(&format!("child {number}"), 20)));
        }
        done.store(true, Ordering::Relaxed);
    });
}

fn forks_among_printing_threads_lose_and_double_nothing() {
    for buffering in ["unbuffered", "line", "prompt", "background"] {
        // A file, because the kernel itself mixes what two processes write to a pipe at a time.
        let program = Program::new(among_threads).buffering(buffering);
        let finished = program.run(To::File);
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        let text = String::from_utf8(finished.stdout).unwrap();
        let of = |author: &str| -> String {
            let lines = text.split_inclusive('\n');
            lines.filter(|line| line.starts_with(author)).collect()
        };
        assert_eq!(finished.stderr.lines().count(), 2, "a count of each thread");
        for line in finished.stderr.lines() {
            let (thread, count) = line.split_once(' ').unwrap();
            let expected = lines(thread, count.parse().unwrap());
            assert_same(of(thread).as_bytes(), expected.as_bytes());
        }
        for number in 0..60 {
            let child = format!("child {number}");
            assert_same(
                of(&format!("{child} ")).as_bytes(),
                lines(&child, 20).as_bytes(),
            );
        }
    }
}

fn own_streams() {
    let (read, write) = pipe(0);
    let reader = Reader::new(read);
    let buffering = std::env::var("OUTPACE_STDOUT").unwrap().parse().unwrap();
    let mut stream = outpace::Stream::new(write, buffering).unwrap();
    for i in 0..100 {
        writeln!(stream, "before {i}").unwrap();
    }
    wait_for(fork(|| writeln!(stream, "child").unwrap()));
    writeln!(stream, "parent").unwrap();
    drop(stream);
    outpace::stdout().write_all(&reader.all()).unwrap();
}

fn streams_of_ones_own_survive_a_fork() {
    for buffering in POLICIES {
        let program = Program::new(own_streams).buffering(buffering);
        let output = program.run(To::Pipe).succeeded().stdout;
        let expected = lines("before", 100) + "child\nparent\n";
        assert_lines(&output, &expected, buffering);
    }
}

fn children() {
    for i in 0..50 {
        writeln!(outpace::stdout(), "out {i}").unwrap();
        writeln!(outpace::stderr(), "err {i}").unwrap();
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("echo child {i}; echo child err {i} >&2"));
        assert!(command.flush_first().unwrap().status().unwrap().success());
        if i % 10 == 0 {
            let mut command = Command::new("echo");
            let output = command.arg("x").flush_first().unwrap().output().unwrap();
            assert_eq!(output.stdout, b"x\n");
        }
    }
}

fn parent_and_children_print_in_program_order_with_flush_first() {
    let round = |i| format!("out {i}\nerr {i}\nchild {i}\nchild err {i}\n");
    let expected: String = (0..50).map(round).collect();
    for buffering in ["unbuffered", "line", "block", "prompt:60s"] {
        for to in [To::Pipe, To::Terminal, To::File] {
            let program = Program::new(children)
                .buffering(buffering)
                .stderr_to_stdout();
            let text = String::from_utf8(program.run(to).succeeded().stdout).unwrap();
            assert_eq!(text, expected, "{buffering} {to:?}");
        }
    }
}
