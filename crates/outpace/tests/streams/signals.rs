//! The parts of `init()` that are about signals: requests to end, closed pipes, faults.

use crate::macros::ours;
use crate::panics::POLICIES;
use crate::support::{
    Program, Reader, Terminal, To, exit_at_once, fill_the_pipe, list, pipe, skip, wait_to_go_on,
};
use outpace::Buffering;
use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

list! {
    portable: [],
    native: [
        a_signal_does_not_wait_for_a_stuck_reader,
        nothing_that_gives_up_is_held_by_a_terminal_that_takes_a_part,
        a_second_signal_ends_the_process_at_once,
        an_ignored_signal_stays_ignored,
        a_handler_of_the_program_is_left_alone,
        a_later_handler_that_calls_the_one_before_decides,
        a_signal_ends_a_forked_child_and_drains_it,
        a_signal_does_not_disturb_the_program_before_it_ends,
        process_1_exits_with_the_signals_status,
        a_closed_pipe_is_noticed_although_sigpipe_would_kill,
        children_get_sigpipe_back,
        a_fault_does_not_wait_for_a_stuck_reader,
        a_fault_in_a_drain_ends_the_process,
        a_handler_that_prints_in_a_drain_does_not_wait_for_it,
        a_stack_overflow_is_still_reported,
        an_abort_reaches_the_programs_own_handler,
        a_breakpoint_that_the_program_handles_is_its_own,
    ],
    programs: [
        wait_forever, terminate_myself, wait_when_stuck, pending_on_a_terminal, with_a_handler, with_a_later_handler, fork_and_wait,
        wait_and_write, sigpipe, sigpipe_of_children, abort_when_stuck, abort_in_a_drain, print_in_a_drain, overflow,
        abort_with_a_handler, handle_breakpoints,
    ],
}

fn wait_forever() {
    outpace::init();
    eprint!("ready");
    loop {
        std::thread::park();
    }
}

fn wait_when_stuck() {
    outpace::init();
    fill_the_pipe();
    eprint!("ready");
    loop {
        std::thread::park();
    }
}

fn a_signal_does_not_wait_for_a_stuck_reader() {
    for buffering in POLICIES {
        let (running, reader) = Program::new(wait_when_stuck)
            .buffering(buffering)
            .start_unread();
        running.stderr.wait_for("ready");
        running.signal(libc::SIGTERM);
        assert_eq!(running.ended(), 128 + libc::SIGTERM);
        reader.resume();
        assert!(reader.all().starts_with(b"fill the pipe\nfill"));
    }
}

const ENDS: [&str; 4] = ["signal", "fault", "fork", "panic"];

/// Has more pending than a terminal takes at once, in the buffer, and then something comes that does not wait for
/// the reader.
#[allow(unsafe_code)]
fn pending_on_a_terminal() {
    outpace::init();
    outpace::init::fatal_faults().unwrap();
    for number in 0..6000 {
        writeln!(outpace::stdout(), "line {number}").unwrap();
    }
    let end = std::env::args().nth(1).unwrap();
    match &*end {
        // SAFETY: always sound.
        "signal" => unsafe { libc::raise(libc::SIGTERM) },
        "fault" => std::process::abort(),
        // SAFETY: the child does nothing but end.
        "fork" if unsafe { libc::fork() } == 0 => exit_at_once(0),
        "panic" => {
            let _ = std::panic::catch_unwind(|| panic!("on purpose"));
            0
        }
        _ => 0,
    };
    if end != "signal" {
        exit_at_once(0);
    }
    loop {
        std::thread::park();
    }
}

/// If poll(2) reports a terminal as writable, it has room for some bytes, and blocks the writer of more.
fn nothing_that_gives_up_is_held_by_a_terminal_that_takes_a_part() {
    for end in ENDS {
        let terminal = Terminal::open();
        let reader = Reader::paused(terminal.master);
        let program = Program::new(pending_on_a_terminal).buffering("block:64KiB");
        let running = program
            .argument(end)
            .start_on(terminal.slave, reader.clone());
        let status = match end {
            "signal" => 128 + libc::SIGTERM,
            "fault" => 128 + libc::SIGABRT,
            _ => 0,
        };
        assert_eq!(running.ended(), status, "{end}");
        reader.resume();
        let found = reader.all();
        assert!(found.starts_with(b"line 0"), "{end}");
    }
}

fn a_second_signal_ends_the_process_at_once() {
    // The reader takes a little now and then, so that the drain goes on for minutes.
    let (read, write) = pipe(0);
    let reader = Reader::slow(read, Duration::from_millis(50));
    let program = Program::new(wait_when_stuck).buffering("background:100MiB");
    let running = program.start_on(write, reader);
    running.stderr.wait_for("ready");
    running.signal(libc::SIGTERM);
    running.signal(libc::SIGINT);
    let code = running.ended();
    assert!(
        [128 + libc::SIGTERM, 128 + libc::SIGINT].contains(&code),
        "{code}"
    );
}

fn an_ignored_signal_stays_ignored() {
    let program = Program::new(wait_forever).under(&["nohup"]);
    let running = program.start(To::Pipe);
    running.stderr.wait_for("ready");
    running.signal(libc::SIGHUP);
    running.wait_until_signals_have_come();
    running.signal(libc::SIGTERM);
    assert_eq!(running.ended(), 128 + libc::SIGTERM);
}

#[allow(unsafe_code)]
fn on(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handlers here make one system call.
    unsafe { libc::signal(signal, handler as *const () as usize) };
}

#[allow(unsafe_code)]
extern "C" fn say_and_exit(_: libc::c_int) {
    // SAFETY: both are allowed in a handler.
    unsafe {
        libc::write(2, c", handled".as_ptr().cast(), 9);
        libc::_exit(9);
    }
}

fn with_a_handler() {
    on(libc::SIGINT, say_and_exit);
    wait_forever();
}

fn a_handler_of_the_program_is_left_alone() {
    let running = Program::new(with_a_handler).start(To::Pipe);
    running.stderr.wait_for("ready");
    running.signal(libc::SIGINT);
    running.stderr.wait_for("ready, handled");
    assert_eq!(running.ended(), 9);
}

/// The actions before those that `call_the_one_before` has replaced.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static CALLED: AtomicBool = AtomicBool::new(false);

/// As signal-hook and tokio do.
#[allow(unsafe_code)]
extern "C" fn call_the_one_before(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    let before = BEFORE.get().unwrap().sa_sigaction;
    // SAFETY: the action of `init()`, whose handler has three arguments.
    unsafe { std::mem::transmute::<usize, Handler>(before)(signal, info, context) };
    CALLED.store(true, Ordering::Release);
}

#[allow(unsafe_code)]
fn with_a_later_handler() {
    outpace::init();
    // SAFETY: zeroes are a valid action; the handler calls the one before it and stores to an atomic.
    unsafe {
        let mut ours: libc::sigaction = std::mem::zeroed();
        let mut before = ours;
        ours.sa_sigaction = call_the_one_before as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTERM, std::ptr::null(), &mut before);
        assert!(BEFORE.set(before).is_ok());
        libc::sigaction(libc::SIGTERM, &ours, std::ptr::null_mut());
        for _ in 0..2000 {
            ours!(println "a line");
        }
        libc::kill(libc::getpid(), libc::SIGTERM);
    }
    while !CALLED.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    wait_to_go_on();
    ours!(println "clean");
}

fn a_later_handler_that_calls_the_one_before_decides() {
    let mut running = Program::new(with_a_later_handler).start(To::Pipe);
    // By then outpace's own thread would have ended the process.
    running.wait_until_asleep_for_good();
    running.go_on();
    let finished = running.finish().succeeded();
    assert!(finished.stdout.ends_with(b"clean\n"));
}

#[allow(unsafe_code)]
fn fork_and_wait() {
    outpace::init();
    outpace::stdout().set_buffering(Buffering::block());
    // SAFETY: the child uses outpace, which takes care of itself.
    let child = unsafe { libc::fork() };
    if child == 0 {
        write!(outpace::stdout(), "of the child").unwrap();
        // SAFETY: always sound.
        unsafe { libc::kill(libc::getpid(), libc::SIGINT) };
        unreachable!("the signal ends it");
    }
    let mut status = 0;
    // SAFETY: fills `status`.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(libc::WTERMSIG(status), libc::SIGINT);
    write!(outpace::stdout(), ", of the parent").unwrap();
}

fn a_signal_ends_a_forked_child_and_drains_it() {
    let finished = Program::new(fork_and_wait).run(To::Pipe).succeeded();
    assert_eq!(finished.stdout, b"of the child, of the parent");
}

#[allow(unsafe_code)]
fn wait_and_write() {
    outpace::init();
    // SAFETY: blocked, the signal waits until the program is ready for it.
    unsafe {
        let mut only = std::mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, libc::SIGTERM);
        libc::pthread_sigmask(libc::SIG_BLOCK, &only, std::ptr::null_mut());
        libc::kill(libc::getpid(), libc::SIGTERM);
        write!(outpace::stdout(), "still here").unwrap();
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &only, std::ptr::null_mut());
    }
    wait_forever();
}

fn a_signal_does_not_disturb_the_program_before_it_ends() {
    let running = Program::new(wait_and_write)
        .buffering("block")
        .start(To::Pipe);
    running.stdout().wait_for("still here");
    assert_eq!(running.ended(), 128 + libc::SIGTERM);
}

fn process_1_exits_with_the_signals_status() {
    let unshare = ["unshare", "--pid", "--fork", "--kill-child"];
    let works = Command::new(unshare[0])
        .args(&unshare[1..])
        .arg("true")
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        skip("a process namespace needs unshare and root");
    }
    // unshare passes the status of its child on.
    let finished = Program::new(terminate_myself)
        .under(&unshare)
        .buffering("block")
        .run(To::Pipe);
    assert_eq!(finished.code(), 128 + libc::SIGTERM);
    assert_eq!(finished.stdout, b"last words of process 1");
}

#[allow(unsafe_code)]
fn terminate_myself() {
    outpace::init();
    write!(
        outpace::stdout(),
        "last words of process {}",
        std::process::id()
    )
    .unwrap();
    // SAFETY: always sound.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
    loop {
        std::thread::park();
    }
}

#[allow(unsafe_code)]
fn reset_sigpipe() {
    // SAFETY: always sound.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

fn sigpipe() {
    reset_sigpipe();
    outpace::init();
    outpace::stderr().set_buffering(Buffering::block());
    outpace::stderr().lock().str("last words");
    wait_to_go_on();
    loop {
        outpace::stdout().lock().str("there is no reader\n");
    }
}

fn a_closed_pipe_is_noticed_although_sigpipe_would_kill() {
    let (read, write) = pipe(0);
    drop(read);
    let none = Reader::new(File::open("/dev/null").unwrap());
    let finished = Program::new(sigpipe).start_on(write, none).finish();
    assert_eq!(finished.code(), 128 + libc::SIGPIPE);
    assert_eq!(finished.stderr, "last words");
}

fn sigpipe_of_children() {
    reset_sigpipe();
    outpace::init();
    // The shell would say that it cannot write.
    let status = Command::new("sh")
        .args(["-c", "kill -PIPE $$; echo alive"])
        .status();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status.unwrap()),
        Some(libc::SIGPIPE)
    );
}

fn children_get_sigpipe_back() {
    assert_eq!(
        Program::new(sigpipe_of_children)
            .run(To::Pipe)
            .succeeded()
            .stdout,
        b""
    );
}

fn abort_when_stuck() {
    outpace::init::fatal_faults().unwrap();
    fill_the_pipe();
    std::process::abort();
}

fn a_fault_does_not_wait_for_a_stuck_reader() {
    for buffering in POLICIES {
        let (running, reader) = Program::new(abort_when_stuck)
            .buffering(buffering)
            .start_unread();
        assert_eq!(running.ended(), 128 + libc::SIGABRT);
        reader.resume();
        assert!(reader.all().starts_with(b"fill the pipe\nfill"));
    }
}

fn abort_in_a_drain() {
    outpace::init::fatal_faults().unwrap();
    eprint!("ready");
    for _ in 0..20_000 {
        outpace::stdout().write_all(b"fill the pipe\n").unwrap();
    }
}

fn a_fault_in_a_drain_ends_the_process() {
    for buffering in ["unbuffered", "line", "block", "prompt"] {
        let (running, reader) = Program::new(abort_in_a_drain)
            .buffering(buffering)
            .start_unread();
        running.stderr.wait_for("ready");
        running.wait_until_asleep();
        running.signal(libc::SIGABRT);
        assert_eq!(running.ended(), 128 + libc::SIGABRT);
        reader.resume();
        let found = reader.all();
        assert!(b"fill the pipe\n".repeat(20_000).starts_with(&found));
    }
}

extern "C" fn say(_: libc::c_int) {
    outpace::stdout().lock().str("from the handler\n");
}

fn print_in_a_drain() {
    on(libc::SIGUSR1, say);
    abort_in_a_drain();
}

fn a_handler_that_prints_in_a_drain_does_not_wait_for_it() {
    for buffering in ["unbuffered", "line", "block", "prompt"] {
        let (running, reader) = Program::new(print_in_a_drain)
            .buffering(buffering)
            .start_unread();
        running.stderr.wait_for("ready");
        running.wait_until_asleep();
        running.signal(libc::SIGUSR1);
        running.wait_until_signals_have_come();
        reader.resume();
        assert_eq!(running.ended(), 0);
        let found = String::from_utf8(reader.all()).unwrap();
        let (of_handler, others): (Vec<_>, Vec<_>) =
            found.lines().partition(|line| *line == "from the handler");
        assert_eq!(of_handler.len(), 1, "{buffering}");
        assert_eq!(others, ["fill the pipe"; 20_000], "{buffering}");
    }
}

fn overflow() {
    #[allow(unconditional_recursion)]
    fn deeper(n: u64) -> u64 {
        std::hint::black_box(n) + deeper(n + 1)
    }
    outpace::init::fatal_faults().unwrap();
    outpace::stdout().set_buffering(Buffering::block());
    write!(outpace::stdout(), "before").unwrap();
    println!("{}", deeper(0));
}

fn a_stack_overflow_is_still_reported() {
    let finished = Program::new(overflow).run(To::Pipe);
    assert_eq!(finished.stdout, b"before");
    if !cfg!(target_env = "gnu") {
        // There std does not know where the main thread's stack ends.
        return assert_eq!(finished.code(), 128 + libc::SIGSEGV);
    }
    assert_eq!(finished.code(), 128 + libc::SIGABRT);
    assert!(
        finished.stderr.contains("has overflowed its stack"),
        "{}",
        finished.stderr
    );
}

fn abort_with_a_handler() {
    on(libc::SIGABRT, say_and_exit);
    outpace::init::fatal_faults().unwrap();
    outpace::stdout().set_buffering(Buffering::block());
    write!(outpace::stdout(), "before").unwrap();
    std::process::abort();
}

fn an_abort_reaches_the_programs_own_handler() {
    let finished = Program::new(abort_with_a_handler).run(To::Pipe);
    assert_eq!(finished.code(), 9);
    assert_eq!(finished.stdout, b"before");
    assert_eq!(finished.stderr, ", handled");
}

static BREAKPOINTS: AtomicI32 = AtomicI32::new(0);

#[allow(unsafe_code)]
extern "C" fn count_breakpoint(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the handler's argument.
    let is_the_kernels = unsafe { (*info).si_code } > 0;
    BREAKPOINTS.fetch_add(if is_the_kernels { 1 } else { 100 }, Ordering::Relaxed);
}

#[allow(unsafe_code)]
fn handle_breakpoints() {
    // SAFETY: zeroes are a valid action; the handler adds to an atomic, and the program continues behind each breakpoint.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_breakpoint as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut());
        outpace::init::fatal_faults().unwrap();
        #[cfg(target_arch = "x86_64")]
        for _ in 0..2 {
            std::arch::asm!("int3");
        }
    }
    assert_eq!(BREAKPOINTS.load(Ordering::Relaxed), 2);
}

fn a_breakpoint_that_the_program_handles_is_its_own() {
    if cfg!(not(target_arch = "x86_64")) {
        skip("the instruction is x86's");
    }
    Program::new(handle_breakpoints).run(To::Pipe).succeeded();
}
