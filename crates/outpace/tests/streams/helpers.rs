//! The helper threads, among what a system does with threads: policies, stops, stacks.
#![allow(unsafe_code)]

use crate::support::{
    LIMIT, Program, Reader, Terminal, assert_same, list, skip, wait_to_go_on, wait_until,
};
use outpace::{Buffering, GapMarker, Overflow};
use std::io::{self, Write};
use std::mem::{MaybeUninit, zeroed};
use std::process::exit;
use std::time::{Duration, Instant};

list! {
    portable: [a_marker_may_take_as_much_stack_as_a_function_usually_does],
    native: [
        a_real_time_thread_that_spins_does_not_starve_the_helper,
        a_background_job_stops_where_the_terminal_says_so,
        a_background_job_that_is_told_to_end_does_not_stop_instead,
    ],
    programs: [spin_in_real_time, mark_with_much_stack, print_in_background, end_in_background],
}

const LINES: usize = 100;

fn print_lines() {
    for i in 0..LINES {
        writeln!(outpace::stdout(), "line {i}").unwrap();
    }
}

fn lines() -> String {
    (0..LINES).map(|i| format!("line {i}\n")).collect()
}

/// The status of a program that could not be what it was to be.
const CANNOT: i32 = 77;

#[cfg(target_os = "linux")]
fn spin_in_real_time() {
    // Longer than a processor is ever kept from all other threads.
    const SPIN: Duration = Duration::from_secs(20);
    // SAFETY: plain calls with values that live until they return.
    let real_time = unsafe {
        let mut first = zeroed();
        libc::CPU_SET(0, &mut first);
        let pinned = libc::sched_setaffinity(0, size_of_val(&first), &first);
        let mut parameters: libc::sched_param = zeroed();
        parameters.sched_priority = 1;
        // Not by the C library, for musl's does not know the call.
        let asked = libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO,
            &parameters,
        );
        pinned == 0 && asked == 0
    };
    if !real_time {
        exit(CANNOT);
    }
    print_lines();
    let begun = Instant::now();
    // Never waits.
    while begun.elapsed() < SPIN && crate::support::events(0, libc::POLLIN) == 0 {}
    crate::support::exit_at_once(0);
}

#[cfg(not(target_os = "linux"))]
fn spin_in_real_time() {
    exit(CANNOT);
}

fn a_real_time_thread_that_spins_does_not_starve_the_helper() {
    let (read, write) = crate::support::pipe(0);
    let reader = Reader::new(read);
    let program = Program::new(spin_in_real_time).buffering("prompt");
    let mut running = program.start_on(write, reader.clone());
    // Goes on as soon as everything has arrived, and else ends without it.
    wait_until("it prints", || {
        reader.so_far().ends_with(b"line 99\n") || running.has_ended()
    });
    if !running.has_ended() {
        running.go_on();
    }
    match running.ended() {
        CANNOT => skip("the program may not have a real-time policy"),
        status => assert_eq!(status, 0),
    }
    assert_same(&reader.all(), lines().as_bytes());
}

fn mark_with_much_stack() {
    #[inline(never)]
    fn text(gap: outpace::Gap) -> String {
        let mut much = MaybeUninit::<[u8; 700 << 10]>::uninit();
        // SAFETY: in place, for there is no room for a second one; any bytes are an array of bytes.
        let bytes = unsafe {
            much.as_mut_ptr().write_bytes(b'x', 1);
            std::hint::black_box(much.assume_init_ref())
        };
        let text = std::str::from_utf8(bytes).unwrap();
        format!("{} {}", gap.messages > 0, &text[..3])
    }
    let out = outpace::stdout();
    out.gap_marker(GapMarker::with(text));
    let overflow = Overflow::DropNewest;
    out.set_buffering(Buffering::Background {
        capacity: 1000,
        overflow,
    });
    // On the helper's stack: this thread only waits.
    for _ in 0..10_000 {
        out.lock().str("0123456789\n");
    }
    eprint!("printed");
    wait_to_go_on();
}

fn a_marker_may_take_as_much_stack_as_a_function_usually_does() {
    let (running, reader) = Program::new(mark_with_much_stack).start_unread();
    running.stderr.wait_for("printed");
    reader.resume();
    let finished = running.finish();
    assert_eq!((finished.code(), &*finished.stderr), (0, "printed"));
    let text = String::from_utf8(finished.stdout).unwrap();
    assert!(text.contains("true xxx\n"), "{text}");
}

/// Makes this process the leader of a session whose terminal is its standard output, and stops what prints in
/// the background there.
fn own_the_terminal() {
    // SAFETY: plain calls with values that live until they return.
    unsafe {
        // The tests' parent may ignore it, as tmux does, and programs inherit that.
        libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        assert!(libc::setsid() > 0, "{}", io::Error::last_os_error());
        assert_eq!(
            libc::ioctl(1, libc::TIOCSCTTY as _, 0),
            0,
            "{}",
            io::Error::last_os_error()
        );
        let mut modes = zeroed();
        libc::tcgetattr(1, &mut modes);
        modes.c_lflag |= libc::TOSTOP;
        let is_set = libc::tcsetattr(1, libc::TCSANOW, &modes);
        assert_eq!(is_set, 0, "{}", io::Error::last_os_error());
    }
}

/// Forks a job in the background, which then does that. Returns its process.
fn in_background(job: fn()) -> libc::pid_t {
    // SAFETY: the child is the only thread's, and ends without coming back.
    unsafe {
        match libc::fork() {
            0 => {
                libc::setpgid(0, 0);
                job();
                exit(0)
            }
            child => {
                assert!(child > 0, "{}", io::Error::last_os_error());
                libc::setpgid(child, child);
                child
            }
        }
    }
}

/// Waits until the job has stopped or ended; returns the status as a shell shows it, negative if it has stopped.
fn stopped_or_ended(job: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: fills `status`.
    let found = unsafe { libc::waitpid(job, &mut status, libc::WUNTRACED) };
    assert_eq!(found, job, "{}", io::Error::last_os_error());
    if libc::WIFSTOPPED(status) {
        -libc::WSTOPSIG(status)
    } else if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    }
}

fn print_in_background() {
    own_the_terminal();
    let job = in_background(|| {
        print_lines();
        // Longer than the test waits: only the helper can write the pending lines.
        std::thread::sleep(2 * LIMIT);
    });
    assert_eq!(stopped_or_ended(job), -libc::SIGTTOU);
    outpace::raw::stderr().write_all(b"stopped").unwrap();
    wait_to_go_on();
    // SAFETY: the job is this process's child; a process in the background must not be stopped when it gives the terminal away.
    unsafe {
        libc::signal(libc::SIGTTOU, libc::SIG_IGN);
        libc::tcsetpgrp(1, job);
        libc::kill(-job, libc::SIGCONT);
    }
    wait_to_go_on();
    // SAFETY: the same.
    unsafe { libc::kill(job, libc::SIGKILL) };
}

fn a_background_job_stops_where_the_terminal_says_so() {
    let Terminal { master, slave } = Terminal::open();
    let reader = Reader::new(master);
    let program = Program::new(print_in_background).buffering("background");
    let mut running = program.start_on(slave, reader.clone());
    running.stderr.wait_for("stopped");
    assert_same(&reader.so_far(), b"");
    running.go_on();
    reader.wait_for("line 99\n");
    running.go_on();
    assert_eq!(running.ended(), 0);
    assert_same(&reader.all(), lines().as_bytes());
}

fn end_in_background() {
    outpace::stdout().set_buffering(Buffering::block());
    own_the_terminal();
    let job = in_background(|| {
        outpace::init();
        print_lines();
        // SAFETY: always sound.
        unsafe { libc::raise(libc::SIGTERM) };
        std::thread::sleep(2 * LIMIT);
    });
    let status = stopped_or_ended(job);
    // SAFETY: the job is this process's child.
    unsafe { libc::kill(job, libc::SIGKILL) };
    exit(status);
}

fn a_background_job_that_is_told_to_end_does_not_stop_instead() {
    let Terminal { master, slave } = Terminal::open();
    let reader = Reader::new(master);
    let finished = Program::new(end_in_background)
        .start_on(slave, reader)
        .finish();
    assert_eq!(finished.code(), 128 + libc::SIGTERM, "{}", finished.stderr);
    assert_same(&finished.stdout, lines().as_bytes());
}
