//! Real answers of the kernel to a write: in each case an exact prefix arrives, the caller or the exit report gets the
//! error once, the process neither spins nor hangs, and its exit status shows the failure.

use crate::macros::ours;
use crate::support::{
    Finished, Program, Reader, Running, Terminal, To, assert_same, events, list, pipe,
    set_nonblocking, skip, wait_to_go_on, wait_until,
};
use outpace::{BrokenPipe, Buffering, Overflow};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Duration;

list! {
    portable: [
        a_full_device_fails_the_process_and_says_so,
        write_all_reports_a_full_device,
        write_all_reports_a_reader_that_has_gone,
    ],
    native: [
        a_stream_that_failed_says_so_until_the_error_is_cleared,
        a_macro_that_panicked_with_the_error_has_cleared_it,
        a_reader_that_has_gone_ends_the_process_quietly,
        a_reader_that_has_gone_while_the_program_waits_ends_it_at_exit,
        a_broken_pipe_may_be_an_error,
        a_broken_pipe_may_be_ignored,
        a_reader_of_stderr_that_has_gone_is_ignored,
        other_streams_are_drained_before_a_quiet_end,
        a_non_blocking_pipe_loses_nothing_and_does_not_spin,
        a_non_blocking_terminal_loses_nothing_and_does_not_spin,
        a_storm_of_signals_loses_nothing,
        an_exit_in_a_signal_handler_is_an_exit,
        a_file_that_may_grow_no_further_is_an_error,
        a_file_that_may_grow_no_further_ends_the_process_whichever_thread_writes,
        a_file_for_spilling_that_may_grow_no_further_is_no_end,
        a_file_that_may_grow_no_further_does_not_hold_up_an_end_by_a_signal,
        what_is_printed_while_a_write_fails_is_gone_and_nothing_after_it,
        a_device_that_fills_up_midway_keeps_an_exact_prefix,
        a_closed_descriptor_swallows_everything,
        a_descriptor_closed_midway_swallows_the_rest,
        a_terminal_that_hangs_up_is_an_error_and_no_hang,
    ],
    programs: [
        reach_the_limit_in_the_background, spill_over_the_limit, end_over_the_limit, print_and_end, exit_in_handler, report_errors, clear_errors, panic_and_go_on, print_forever, print_then_wait,
        broken_pipe_error, broken_pipe_ignored, last_words, fill, storm, fill_over_the_limit,
        fail_while_it_prints,
        close_and_print, close_midway, report_broken_pipe, stderr_gone,
    ],
}

const POLICIES: [&str; 5] = ["unbuffered", "line", "block", "prompt", "background:100000"];

fn fill() {
    let mut out = outpace::stdout().lock();
    for i in 0..LINES {
        out.str("line ").int(i).char('\n');
    }
}

const LINES: usize = 50_000;

/// The output of [`fill`].
fn filling() -> Vec<u8> {
    let lines = (0..LINES).map(|i| format!("line {i}\n"));
    lines.collect::<String>().into_bytes()
}

fn print_and_end() {
    outpace::stdout().lock().str("nowhere to go\n");
    wait_to_go_on();
}

/// The device that is always full.
fn full() -> OwnedFd {
    match File::options().write(true).open("/dev/full") {
        Ok(file) => file.into(),
        Err(error) => skip(format!("/dev/full: {error}")),
    }
}

/// A reader that gets no bytes: those of such a destination cannot be read.
fn no_reader() -> Reader {
    Reader::new(File::open("/dev/null").unwrap())
}

fn a_full_device_fails_the_process_and_says_so() {
    for program in [|| Program::new(print_and_end), || Program::new(fill)] {
        for buffering in POLICIES {
            let program = program().buffering(buffering);
            let finished = program.start_on(full(), no_reader()).finish();
            assert_eq!(finished.code(), 1, "under {buffering}");
            assert_eq!(
                finished.stderr,
                "outpace: stdout: No space left on device (os error 28)\n"
            );
        }
    }
}

fn report_errors() {
    let mut out = outpace::stdout();
    let mut errors = 0;
    for _ in 0..100 {
        errors += i32::from(out.write_all(b"nowhere to go\n").is_err());
    }
    errors += i32::from(out.flush().is_err());
    let error = out.flush().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(errors > 0);
    // The program has got the error and goes on: no report at exit.
}

fn write_all_reports_a_full_device() {
    for buffering in POLICIES {
        let program = Program::new(report_errors).buffering(buffering);
        program.start_on(full(), no_reader()).finish().succeeded();
    }
}

#[allow(unsafe_code)]
fn clear_errors() {
    let mut out = outpace::stdout();
    for round in 0..2 {
        let _ = out.write_all(b"lost");
        assert!(out.flush().is_err());
        assert!(out.write_all(b"lost too").is_err());
        assert!(out.lock().write_all(b"and this").is_err());
        assert!(write!(out, "and {}", "this").is_err());
        if round == 0 {
            out.clear_error();
        }
    }
    // SAFETY: both are open.
    unsafe { libc::dup2(2, 1) };
    out.clear_error();
    out.write_all(b"arrives").unwrap();
    out.flush().unwrap();
}

fn a_stream_that_failed_says_so_until_the_error_is_cleared() {
    for buffering in POLICIES {
        let program = Program::new(clear_errors).buffering(buffering);
        let finished = program.start_on(full(), no_reader()).finish();
        assert_eq!((finished.code(), &*finished.stderr), (0, "arrives"));
    }
}

#[allow(unsafe_code)]
fn panic_and_go_on() {
    for i in 0..3 {
        assert!(std::panic::catch_unwind(|| ours!(println "lost {i}")).is_err());
    }
    // SAFETY: both are open.
    unsafe { libc::dup2(2, 1) };
    ours!(println "arrives");
}

fn a_macro_that_panicked_with_the_error_has_cleared_it() {
    for buffering in ["unbuffered", "line", "prompt"] {
        let program = Program::new(panic_and_go_on).buffering(buffering);
        let finished = program.start_on(full(), no_reader()).finish();
        assert_eq!(finished.code(), 0, "{}", finished.stderr);
        assert!(
            finished.stderr.ends_with("\narrives\n"),
            "{}",
            finished.stderr
        );
    }
}

fn print_forever() {
    let mut i = 0u64;
    loop {
        outpace::stdout().lock().int(i).char('\n');
        i += 1;
    }
}

/// Starts a program on a pipe whose reader leaves after a few bytes.
fn until_the_reader_goes(program: Program) -> Finished {
    use std::io::Read;
    let (mut read, write) = pipe(0);
    let running = program.start_on(write, no_reader());
    read.read_exact(&mut [0; 100]).unwrap();
    drop(read);
    running.finish()
}

/// The status of a process that SIGPIPE has ended.
const SIGPIPE: i32 = 128 + libc::SIGPIPE;

fn a_reader_that_has_gone_ends_the_process_quietly() {
    for buffering in POLICIES {
        let finished = until_the_reader_goes(Program::new(print_forever).buffering(buffering));
        assert_eq!((finished.code(), &*finished.stderr), (SIGPIPE, ""));
    }
}

fn print_then_wait() {
    for i in 0..100 {
        outpace::stdout().lock().int(i).char('\n');
    }
    outpace::stdout().flush().unwrap();
    wait_to_go_on();
    wait_until("the reader has gone", reader_has_gone);
    // One at the very end, which may be buffered: found out at exit.
    outpace::stdout().lock().str("last\n");
}

fn a_reader_that_has_gone_while_the_program_waits_ends_it_at_exit() {
    for buffering in POLICIES {
        let (read, write) = pipe(0);
        let program = Program::new(print_then_wait).buffering(buffering);
        let mut running = program.start_on(write, no_reader());
        wait_until("everything is written", || {
            fs::read_link(format!("/proc/{}/fd/1", running.id())).is_ok() && pending(&read) == 290
        });
        drop(read);
        running.go_on();
        let finished = running.finish();
        assert_eq!((finished.code(), &*finished.stderr), (SIGPIPE, ""));
    }
}

/// Whether standard output has no reader any more: a process that another test is just
/// starting may have a copy of it for a moment.
fn reader_has_gone() -> bool {
    events(1, 0) & libc::POLLERR != 0
}

/// How many bytes wait in a pipe.
#[allow(unsafe_code)]
fn pending(pipe: &File) -> i32 {
    use std::os::fd::AsRawFd;
    let mut bytes = 0;
    // SAFETY: FIONREAD stores one int.
    unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
    bytes
}

fn report_broken_pipe() {
    let mut out = outpace::stdout();
    loop {
        if let Err(error) = out.write_all(b"a line\n") {
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            break;
        }
    }
    assert!(out.flush().is_err());
    std::process::exit(7);
}

fn write_all_reports_a_reader_that_has_gone() {
    for buffering in POLICIES {
        let program = Program::new(report_broken_pipe).buffering(buffering);
        let finished = until_the_reader_goes(program);
        assert_eq!((finished.code(), &*finished.stderr), (7, ""));
    }
}

fn broken_pipe_error() {
    outpace::stdout().broken_pipe(BrokenPipe::Error);
    for i in 0..100_000 {
        outpace::stdout().lock().int(i).char('\n');
    }
}

fn a_broken_pipe_may_be_an_error() {
    for buffering in POLICIES {
        let program = Program::new(broken_pipe_error).buffering(buffering);
        let finished = until_the_reader_goes(program);
        assert_eq!(
            (finished.code(), &*finished.stderr),
            (1, "outpace: stdout: Broken pipe (os error 32)\n")
        );
    }
}

fn broken_pipe_ignored() {
    outpace::stdout().broken_pipe(BrokenPipe::Ignore);
    for _ in 0..100_000 {
        outpace::stdout().write_all(b"a line\n").unwrap();
    }
    outpace::stdout().flush().unwrap();
}

fn a_broken_pipe_may_be_ignored() {
    for buffering in POLICIES {
        let program = Program::new(broken_pipe_ignored).buffering(buffering);
        until_the_reader_goes(program).succeeded();
    }
}

#[allow(unsafe_code)]
fn stderr_gone() {
    // SAFETY: both are open; the reader of the first has gone.
    unsafe { libc::dup2(1, 2) };
    for i in 0..1000 {
        writeln!(outpace::stderr(), "{i}").unwrap();
    }
    outpace::stderr().flush().unwrap();
}

fn a_reader_of_stderr_that_has_gone_is_ignored() {
    for buffering in POLICIES {
        let (read, write) = pipe(0);
        drop(read);
        let program = Program::new(stderr_gone).env("OUTPACE_STDERR", buffering);
        program.start_on(write, no_reader()).finish().succeeded();
    }
}

fn last_words() {
    outpace::stderr().set_buffering(outpace::Buffering::block());
    outpace::stderr().lock().str("last words\n");
    print_forever();
}

fn other_streams_are_drained_before_a_quiet_end() {
    for buffering in POLICIES {
        let finished = until_the_reader_goes(Program::new(last_words).buffering(buffering));
        let found = (finished.code(), &*finished.stderr);
        assert_eq!(found, (SIGPIPE, "last words\n"));
    }
}

/// Checks that all output arrives although the descriptor is non-blocking and the reader slow, and that the program
/// sleeps while it waits.
fn waits_without_spinning(mut open: impl FnMut() -> (File, OwnedFd)) {
    for buffering in POLICIES {
        let (read, write) = open();
        set_nonblocking(&write);
        let reader = Reader::paused(read.try_clone().expect("another descriptor"));
        let program = Program::new(fill).buffering(buffering);
        let running = program.start_on(write, reader.clone());
        wait_until("it prints", || events(read.as_raw_fd(), libc::POLLIN) != 0);
        running.wait_until_asleep();
        let before = running.write_calls();
        std::thread::sleep(Duration::from_millis(300));
        let tries = running.write_calls() - before;
        // One that spins tries some hundred thousand times, and some hundred on the busiest machine.
        assert!(tries < 20, "{tries} tries to write");
        reader.resume();
        let finished = running.finish().succeeded();
        assert_same(&finished.stdout, &filling());
    }
}

fn a_non_blocking_pipe_loses_nothing_and_does_not_spin() {
    waits_without_spinning(|| pipe(0));
    // A reader that takes a little now and then.
    let (read, write) = pipe(0);
    set_nonblocking(&write);
    let reader = Reader::slow(read, Duration::from_millis(2));
    let finished = Program::new(fill).start_on(write, reader).finish();
    assert_same(&finished.succeeded().stdout, &filling());
}

fn a_non_blocking_terminal_loses_nothing_and_does_not_spin() {
    waits_without_spinning(|| {
        let Terminal { master, slave } = Terminal::open();
        (master, slave)
    });
}

#[allow(unsafe_code)]
fn storm() {
    extern "C" fn ignore(_: libc::c_int) {}
    // SAFETY: a handler that does nothing, without SA_RESTART, so that system calls are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
    eprint!("ready");
    fill();
}

fn a_storm_of_signals_loses_nothing() {
    for buffering in POLICIES {
        let (running, reader) = Program::new(storm).buffering(buffering).start_unread();
        running.stderr.wait_for("ready");
        for round in 0..3000 {
            running.signal(libc::SIGUSR1);
            if round == 1000 {
                reader.resume();
            }
            if round % 10 == 0 {
                std::thread::yield_now();
            }
        }
        let finished = running.finish();
        assert_eq!(finished.code(), 0);
        assert_same(&finished.stdout, &filling());
    }
}

#[allow(unsafe_code)]
fn exit_in_handler() {
    extern "C" fn exit(_: libc::c_int) {
        std::process::exit(7);
    }
    // SAFETY: not sound by the letter of the law, and yet what programs do.
    unsafe { libc::signal(libc::SIGUSR1, exit as *const () as usize) };
    // Allocates everything now, because an exit in the middle of `malloc` is not supported.
    outpace::stdout().lock().str("x");
    eprint!("ready");
    loop {
        outpace::stdout().lock().str("x");
    }
}

fn an_exit_in_a_signal_handler_is_an_exit() {
    // The signal comes in the middle of anything, with the stream's state locked or not.
    for round in 0..8 {
        let null = File::options().write(true).open("/dev/null").unwrap();
        let program = Program::new(exit_in_handler).buffering("line");
        let running = program.start_on(null.into(), no_reader());
        running.stderr.wait_for("ready");
        std::thread::sleep(Duration::from_micros(round * 37));
        running.signal(libc::SIGUSR1);
        let finished = running.finish();
        assert_eq!(finished.code(), 7, "{}", finished.stderr);
    }
}

/// The largest file of [`fill_over_the_limit`].
const FILE_LIMIT: u64 = 100_000;

/// From now on a write that would make a file longer than this fails.
#[allow(unsafe_code)]
fn limit_files(length: u64) {
    // SAFETY: SIGXFSZ is ignored so that the write fails instead.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    limit_files_by_signal(length);
}

/// The same, and causes SIGXFSZ.
#[allow(unsafe_code)]
fn limit_files_by_signal(length: u64) {
    let limit = libc::rlimit {
        rlim_cur: length,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: the limit is read only.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
}

fn fill_over_the_limit() {
    limit_files(FILE_LIMIT);
    fill();
}

#[track_caller]
fn assert_prefix_and_failure(finished: &Finished, length: u64, error: &str) {
    assert_eq!(finished.code(), 1, "{}", finished.stderr);
    assert_eq!(finished.stderr, format!("outpace: stdout: {error}\n"));
    assert_same(&finished.stdout, &filling()[..length as usize]);
}

fn a_file_that_may_grow_no_further_is_an_error() {
    for buffering in POLICIES {
        let finished = Program::new(fill_over_the_limit)
            .buffering(buffering)
            .run(To::File);
        assert_prefix_and_failure(&finished, FILE_LIMIT, "File too large (os error 27)");
    }
}

#[allow(unsafe_code)]
fn reach_the_limit_in_the_background() {
    match &*std::env::args().nth(1).unwrap() {
        "init" => outpace::init(),
        // SAFETY: the set is initialised; this is the only thread.
        "blocked" => unsafe {
            let mut set = std::mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGXFSZ);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        },
        _ => {}
    }
    limit_files_by_signal(FILE_LIMIT);
    // A burst that the buffer has room for: its helper writes it.
    let filling = String::from_utf8(filling()).unwrap();
    for line in filling[..FILE_LIMIT as usize * 3 / 2].split_inclusive('\n') {
        ours!(print "{line}");
    }
    loop {
        std::thread::sleep(Duration::from_millis(1));
        ours!(println);
    }
}

fn a_file_that_may_grow_no_further_ends_the_process_whichever_thread_writes() {
    // As std's `println!` would.
    for (how, status) in [
        ("", 128 + libc::SIGXFSZ),
        ("init", 128 + libc::SIGXFSZ),
        ("blocked", 101),
    ] {
        for buffering in ["prompt:100ms", "background"] {
            let program = Program::new(reach_the_limit_in_the_background);
            let program = program.argument(how).buffering(buffering);
            let finished = program.run(To::File);
            assert_eq!(
                finished.code(),
                status,
                "{how}, {buffering}: {}",
                finished.stderr
            );
            assert_same(&finished.stdout, &filling()[..FILE_LIMIT as usize]);
        }
    }
}

fn spill_over_the_limit() {
    limit_files_by_signal(FILE_LIMIT);
    outpace::stdout().set_buffering(Buffering::Background {
        capacity: 100_000,
        overflow: Overflow::Spill {
            directory: std::env::temp_dir(),
            limit: 1 << 30,
        },
    });
    fill();
}

fn a_file_for_spilling_that_may_grow_no_further_is_no_end() {
    let (running, reader) = Program::new(spill_over_the_limit).start_unread();
    running.stderr.wait_for("waiting for the reader instead\n");
    reader.resume();
    let finished = running.finish();
    assert_eq!(finished.code(), 0, "{}", finished.stderr);
    assert_same(&finished.stdout, &filling());
}

#[allow(unsafe_code)]
fn end_over_the_limit() {
    outpace::init();
    limit_files_by_signal(FILE_LIMIT);
    outpace::stdout()
        .lock()
        .str(&"x".repeat(FILE_LIMIT as usize + 1));
    // SAFETY: always sound.
    unsafe { libc::raise(libc::SIGTERM) };
    loop {
        std::thread::park();
    }
}

fn a_file_that_may_grow_no_further_does_not_hold_up_an_end_by_a_signal() {
    let program = Program::new(end_over_the_limit).buffering("block:1MiB");
    let finished = program.run(To::File);
    assert_eq!(finished.code(), 128 + libc::SIGTERM);
    assert_eq!(finished.stdout.len() as u64, FILE_LIMIT);
}

/// The rounds of [`fail_while_it_prints`], each of which waits for a helper: on a busy machine a thousand take a minute.
const FAILURES: usize = 200;

/// In each round a write fails, in the background while this thread prints, and then the stream is used again.
fn fail_while_it_prints() {
    let out = outpace::stdout();
    let file = File::from(io::stdout().as_fd().try_clone_to_owned().unwrap());
    for round in 0..FAILURES {
        limit_files(file.metadata().unwrap().len());
        let mut guard = out.lock();
        while guard.write_all(b"gone\n").is_ok() {}
        drop(guard);
        limit_files(libc::RLIM_INFINITY);
        out.clear_error();
        out.lock().str("kept ").int(round).char('\n');
        out.flush().unwrap();
    }
}

fn what_is_printed_while_a_write_fails_is_gone_and_nothing_after_it() {
    let kept: String = (0..FAILURES).map(|i| format!("kept {i}\n")).collect();
    for buffering in POLICIES.into_iter().flat_map(|buffering| [buffering; 5]) {
        let finished = Program::new(fail_while_it_prints)
            .buffering(buffering)
            .run(To::File);
        let finished = finished.succeeded();
        assert_same(&finished.stdout, kept.as_bytes());
    }
}

/// A file system in memory, of a given size, that is unmounted in the end.
struct SmallDisk(std::path::PathBuf);

#[allow(unsafe_code)]
impl SmallDisk {
    fn mount(bytes: u64) -> Self {
        let name = format!("outpace-disk-{}", std::process::id());
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir(&path).unwrap();
        let target = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        let options = std::ffi::CString::new(format!("size={bytes}")).unwrap();
        let kind = c"tmpfs".as_ptr();
        // SAFETY: all of them are strings that end in NUL.
        let mounted =
            unsafe { libc::mount(kind, target.as_ptr(), kind, 0, options.as_ptr().cast()) };
        if mounted != 0 {
            let error = io::Error::last_os_error();
            fs::remove_dir(&path).unwrap();
            skip(format!("a tmpfs of its own cannot be mounted: {error}"));
        }
        SmallDisk(path)
    }
}

#[allow(unsafe_code)]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let target = std::ffi::CString::new(self.0.to_str().unwrap()).unwrap();
        // SAFETY: a string that ends in NUL.
        unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        let _ = fs::remove_dir(&self.0);
    }
}

fn a_device_that_fills_up_midway_keeps_an_exact_prefix() {
    let disk = SmallDisk::mount(128 << 10);
    for buffering in POLICIES {
        let path = disk.0.join("output");
        let file = File::create(&path).unwrap();
        let program = Program::new(fill).buffering(buffering);
        let mut finished = program.start_on(file.into(), no_reader()).finish();
        finished.stdout = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let error = "No space left on device (os error 28)";
        assert_prefix_and_failure(&finished, 128 << 10, error);
    }
}

#[allow(unsafe_code)]
fn close_and_print() {
    // SAFETY: no other code uses it here.
    unsafe { libc::close(1) };
    fill();
    write!(outpace::stdout(), "nowhere").unwrap();
    outpace::stdout().flush().unwrap();
}

fn a_closed_descriptor_swallows_everything() {
    for buffering in POLICIES {
        let finished = Program::new(close_and_print)
            .buffering(buffering)
            .run(To::Pipe);
        assert_eq!(finished.succeeded().stdout, b"");
    }
}

#[allow(unsafe_code)]
fn close_midway() {
    write!(outpace::stdout(), "before").unwrap();
    outpace::stdout().flush().unwrap();
    close_and_print();
}

fn a_descriptor_closed_midway_swallows_the_rest() {
    for buffering in POLICIES {
        let finished = Program::new(close_midway)
            .buffering(buffering)
            .run(To::Pipe);
        assert_eq!(finished.succeeded().stdout, b"before");
    }
}

fn a_terminal_that_hangs_up_is_an_error_and_no_hang() {
    for buffering in POLICIES {
        let Terminal { master, slave } = Terminal::open();
        let program = Program::new(fill).buffering(buffering);
        let running: Running = program.start_on(slave, no_reader());
        running.wait_until_asleep();
        drop(master);
        let finished = running.finish();
        assert_eq!(finished.code(), 1, "under {buffering}");
        let error = io::Error::from_raw_os_error(libc::EIO);
        assert_eq!(finished.stderr, format!("outpace: stdout: {error}\n"));
    }
}
