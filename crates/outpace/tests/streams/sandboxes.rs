//! Sandboxes that allow a program less from some moment on: seccomp filters (`seccomp(2)`).
#![allow(unsafe_code)]

use crate::support::{
    Program, Reader, To, assert_same, events, in_parallel, list, skip, socket_pair, wait_until,
    wait_until_helpers_sleep,
};
use outpace::Buffering;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

list! {
    portable: [],
    native: [
        a_fence_that_is_refused_from_some_moment_on_loses_nothing,
        a_fence_that_is_refused_from_the_start_loses_nothing,
        a_signal_ends_a_program_whose_fence_is_refused,
        a_file_server_that_does_not_answer_holds_up_only_the_thread_that_asks,
        what_the_table_says_may_be_refused_costs_no_output,
        what_the_table_has_is_all_that_is_called,
    ],
    programs: [refused_any, killed_otherwise, stalled_server, refused_midway, refused_from_the_start, refused_and_switched],
}

const POLICIES: [&str; 6] = [
    "unbuffered",
    "line",
    "block",
    "prompt",
    "prompt:1ms",
    "background",
];

/// The filter's answers to `membarrier(2)`.
const REFUSALS: [libc::c_int; 2] = [libc::EPERM, libc::ENOSYS];

/// Has a filter apply to all threads of this process.
fn install(filter: &mut [libc::sock_filter]) {
    assert_eq!(install_with(libc::SECCOMP_FILTER_FLAG_TSYNC, filter), 0);
}

/// Has a filter apply as the flags say; returns what the system says.
fn install_with(flags: libc::c_ulong, filter: &mut [libc::sock_filter]) -> libc::c_long {
    let program = libc::sock_fprog {
        len: filter.len() as libc::c_ushort,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program and its filter live until the calls return.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        let installed = libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program);
        assert!(installed >= 0, "{}", io::Error::last_os_error());
        installed
    }
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    // SAFETY: makes a value.
    unsafe { libc::BPF_STMT(code as libc::c_ushort, k) }
}

/// Skips `otherwise` instructions unless the number is this one.
fn is_call(number: libc::c_long, otherwise: u8) -> libc::sock_filter {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    // SAFETY: makes a value.
    unsafe { libc::BPF_JUMP(code as libc::c_ushort, number as u32, 0, otherwise) }
}

/// The number of the system call, which comes first in `seccomp_data`.
fn load_number() -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)
}

fn returns(action: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action)
}

/// Refuses `membarrier(2)` from now on, as the program's argument says.
fn refuse_the_fence() {
    let errno: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    install(&mut [
        load_number(),
        is_call(libc::SYS_membarrier, 1),
        returns(libc::SECCOMP_RET_ERRNO | errno),
        returns(libc::SECCOMP_RET_ALLOW),
    ]);
}

const AUTHORS: [&str; 3] = ["a", "b", "c"];
const ROUNDS: usize = 4;
const LINES: usize = 500;

/// Bursts of several threads, one at a time and all together, with pauses in which helpers go to sleep.
fn print_bursts() {
    let print = |author: &str, round: usize| {
        for i in 0..LINES {
            writeln!(outpace::stdout(), "{author} {}", round * LINES + i).unwrap();
        }
    };
    for round in 0..ROUNDS {
        for author in AUTHORS {
            std::thread::scope(|scope| {
                scope.spawn(|| print(author, 2 * round));
            });
        }
        std::thread::scope(|scope| {
            for author in AUTHORS {
                scope.spawn(move || print(author, 2 * round + 1));
            }
        });
        wait_until_helpers_sleep();
    }
}

fn refused_midway() {
    for i in 0..LINES {
        writeln!(outpace::stdout(), "main {i}").unwrap();
    }
    refuse_the_fence();
    print_bursts();
    for i in LINES..2 * LINES {
        writeln!(outpace::stdout(), "main {i}").unwrap();
    }
}

fn refused_from_the_start() {
    refuse_the_fence();
    print_bursts();
    for i in 0..2 * LINES {
        writeln!(outpace::stdout(), "main {i}").unwrap();
    }
}

fn loses_nothing(program: fn() -> Program) {
    for errno in REFUSALS {
        for buffering in POLICIES {
            let running = program().argument(errno).buffering(buffering);
            let output = running.run(To::Pipe).succeeded().stdout;
            let text = String::from_utf8(output).unwrap();
            let counts = [("main", 2 * LINES)].into_iter();
            for (author, count) in counts.chain(AUTHORS.map(|author| (author, 2 * ROUNDS * LINES)))
            {
                let of_author = |line: &&str| line.starts_with(&format!("{author} "));
                let found: String = text.split_inclusive('\n').filter(of_author).collect();
                let expected: String = (0..count).map(|i| format!("{author} {i}\n")).collect();
                assert_same(found.as_bytes(), expected.as_bytes());
            }
        }
    }
}

fn a_fence_that_is_refused_from_some_moment_on_loses_nothing() {
    loses_nothing(|| Program::new(refused_midway));
}

fn a_fence_that_is_refused_from_the_start_loses_nothing() {
    loses_nothing(|| Program::new(refused_from_the_start));
}

fn refused_and_switched() {
    outpace::init();
    for i in 0..LINES {
        writeln!(outpace::stdout(), "main {i}").unwrap();
        if i == LINES / 2 {
            // With a second thread, another one registers for the fence, and ends then.
            wait_until("the fence is ready", || {
                let tasks = std::fs::read_dir("/proc/self/task").unwrap();
                let names = tasks
                    .flatten()
                    .map(|task| std::fs::read_to_string(task.path().join("comm")));
                !names.flatten().any(|name| name == "outpace-setup\n")
            });
        }
    }
    refuse_the_fence();
    outpace::stdout().set_buffering(Buffering::Line);
    writeln!(outpace::stdout(), "switched").unwrap();
    outpace::stdout().set_buffering(Buffering::block());
    let mut out = outpace::stdout().lock();
    out.str("pending\n");
    out.flush().unwrap();
    out.str("pending, too\n");
    drop(out);
    outpace::stderr().write_all(b"ready").unwrap();
    loop {
        std::thread::park();
    }
}

fn a_signal_ends_a_program_whose_fence_is_refused() {
    for errno in REFUSALS {
        for buffering in POLICIES {
            let program = Program::new(refused_and_switched).argument(errno);
            let running = program.buffering(buffering).start(To::Pipe);
            running.stderr.wait_for("ready");
            running.signal(libc::SIGTERM);
            let finished = running.finish();
            assert_eq!(finished.code(), 128 + libc::SIGTERM, "{}", finished.stderr);
            let lines: String = (0..LINES).map(|i| format!("main {i}\n")).collect();
            let expected = lines + "switched\npending\npending, too\n";
            assert_same(&finished.stdout, expected.as_bytes());
        }
    }
}

/// A file server that does not answer is one that lets `fstat(2)` wait.
fn stalled_server() {
    static LISTENER: AtomicI32 = AtomicI32::new(-1);
    let asks = std::thread::spawn(|| {
        // No thread answers these notifications.
        let listener = install_with(
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &mut [
                load_number(),
                is_call(libc::SYS_fstat, 1),
                returns(libc::SECCOMP_RET_USER_NOTIF),
                is_call(libc::SYS_newfstatat, 1),
                returns(libc::SECCOMP_RET_USER_NOTIF),
                returns(libc::SECCOMP_RET_ALLOW),
            ],
        );
        LISTENER.store(listener as i32, Ordering::Release);
        outpace::stdout().write_all(b"never").unwrap();
    });
    wait_until("it asks where its output goes", || {
        let listener = LISTENER.load(Ordering::Acquire);
        listener >= 0 && events(listener, libc::POLLIN) != 0
    });
    // All of these take the state of the stream.
    let stats = outpace::stdout().stats();
    outpace::stdout().set_buffering(Buffering::Line);
    writeln!(outpace::stderr(), "{} messages", stats.messages_accepted).unwrap();
    assert!(!asks.is_finished());
    // And so does the end of the process.
}

fn a_file_server_that_does_not_answer_holds_up_only_the_thread_that_asks() {
    let finished = Program::new(stalled_server).run(To::Pipe);
    assert_eq!((finished.code(), &*finished.stderr), (0, "0 messages\n"));
    assert_same(&finished.stdout, b"");
}

/// The calls that the documentation lists.
const TABLE: &str = include_str!("../../docs/sandboxes.md");

/// The names of a row of the table, and what its last column says.
fn rows() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    let rows = TABLE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let fields: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [calls, _, refused] = fields[..] else {
            panic!("three columns: {row}");
        };
        let names = calls
            .split(", ")
            .map(|name| name.trim_matches('`'))
            .collect();
        (names, refused)
    })
}

/// The number of a call; `None` where it does not exist.
#[cfg(target_arch = "x86_64")]
fn number(name: &str) -> Option<libc::c_long> {
    macro_rules! numbers {
        ($($name:ident $number:ident,)*) => {
            match name {
                $(stringify!($name) => Some(libc::$number),)*
                _ => panic!("{name} is not in the list of this test"),
            }
        };
    }
    numbers! {
        write SYS_write, read SYS_read, writev SYS_writev, futex SYS_futex, mmap SYS_mmap, munmap SYS_munmap, mremap SYS_mremap,
        mprotect SYS_mprotect, brk SYS_brk, poll SYS_poll, madvise SYS_madvise, clone3 SYS_clone3, clone SYS_clone,
        set_robust_list SYS_set_robust_list, rseq SYS_rseq, rt_sigprocmask SYS_rt_sigprocmask, exit SYS_exit,
        prctl SYS_prctl, sched_getscheduler SYS_sched_getscheduler, sched_setscheduler SYS_sched_setscheduler,
        sched_yield SYS_sched_yield, membarrier SYS_membarrier, getpid SYS_getpid, gettid SYS_gettid, tgkill SYS_tgkill, fstat SYS_fstat,
        newfstatat SYS_newfstatat, stat SYS_stat, tkill SYS_tkill, fcntl SYS_fcntl, ioctl SYS_ioctl, clock_gettime SYS_clock_gettime,
        openat SYS_openat, close SYS_close, rt_sigaction SYS_rt_sigaction, pread64 SYS_pread64,
        pwrite64 SYS_pwrite64, getsockopt SYS_getsockopt, fstatfs SYS_fstatfs, fallocate SYS_fallocate, unlink SYS_unlink,
    }
}

/// The names are those of x86-64.
#[cfg(not(target_arch = "x86_64"))]
fn number(_: &str) -> Option<libc::c_long> {
    None
}

/// Bursts of one thread, with pauses in which the helper goes to sleep, to both streams.
fn print_alone(rounds: std::ops::Range<usize>) {
    for round in rounds {
        for i in 0..LINES {
            if i == LINES / 2 {
                // Until the helper wonders why the line is not finished.
                write!(outpace::stdout(), "main ").unwrap();
                std::thread::sleep(Duration::from_millis(20));
                writeln!(outpace::stdout(), "{}", round * LINES + i).unwrap();
                continue;
            }
            writeln!(outpace::stdout(), "main {}", round * LINES + i).unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn refused_any() {
    let mut arguments = std::env::args().skip(1);
    let number: libc::c_long = arguments.next().unwrap().parse().unwrap();
    let midway = arguments.next().unwrap() == "midway";
    let refuse = || {
        install(&mut [
            load_number(),
            is_call(number, 1),
            returns(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            returns(libc::SECCOMP_RET_ALLOW),
        ]);
    };
    if !midway {
        refuse();
    }
    print_alone(0..2);
    if midway {
        refuse();
    }
    print_alone(2..4);
}

fn expected_of_one() -> Vec<u8> {
    let lines = (0..4 * LINES).map(|i| format!("main {i}\n"));
    lines.collect::<String>().into_bytes()
}

fn what_the_table_says_may_be_refused_costs_no_output() {
    let mut cases = Vec::new();
    for (names, refused) in rows() {
        if refused.starts_with("not to be refused") || refused.starts_with("an error") {
            continue;
        }
        for number in names.into_iter().filter_map(number) {
            for moment in ["at the start", "midway"] {
                let case = |buffering| (number, moment, buffering);
                cases.extend(["line", "prompt", "background"].map(case));
            }
        }
    }
    if number("write").is_none() {
        skip("the table has the names of x86-64");
    }
    assert!(cases.len() > 20, "{cases:?}");
    in_parallel(cases, |(number, moment, buffering)| {
        let program = Program::new(refused_any).argument(number).argument(moment);
        let finished = program.buffering(buffering).run(To::Pipe);
        let what = format!("{number} {moment}, {buffering}: {}", finished.stderr);
        assert_eq!(finished.code(), 0, "{what}");
        assert_eq!(finished.stderr, "", "{what}");
        assert_same(&finished.stdout, &expected_of_one());
    });
}

fn killed_otherwise() {
    // Calls at the end of any Rust process.
    const ENDS: [libc::c_long; 2] = [libc::SYS_exit_group, libc::SYS_sigaltstack];
    // Calls of the test's own pauses.
    const PAUSES: [libc::c_long; 2] = [libc::SYS_clock_nanosleep, libc::SYS_nanosleep];
    let calls = rows().flat_map(|(names, _)| names).filter_map(number);
    let mut filter = vec![load_number()];
    for call in calls.chain(ENDS).chain(PAUSES) {
        filter.extend([is_call(call, 1), returns(libc::SECCOMP_RET_ALLOW)]);
    }
    filter.push(returns(libc::SECCOMP_RET_KILL_PROCESS));
    let with_init = std::env::args().nth(1).unwrap() == "true";
    install(&mut filter);
    if with_init {
        outpace::init();
    }
    print_alone(0..4);
    writeln!(outpace::stderr(), "done").unwrap();
}

fn what_the_table_has_is_all_that_is_called() {
    if number("write").is_none() {
        skip("the table has the names of x86-64");
    }
    let cases = [false, true].into_iter().flat_map(|with_init| {
        let destinations = [To::Pipe, To::File, To::Terminal];
        POLICIES.map(|buffering| destinations.map(|to| (with_init, buffering, to)))
    });
    in_parallel(cases.flatten(), |(with_init, buffering, to)| {
        let program = Program::new(killed_otherwise).argument(with_init);
        let finished = program.buffering(buffering).run(to);
        let ended = (finished.code(), &*finished.stderr);
        assert_eq!(ended, (0, "done\n"), "{buffering} to {to:?}");
        assert_same(&finished.stdout, &expected_of_one());
    });
    let program = || Program::new(killed_otherwise).argument(false);
    let (read, write) = socket_pair(libc::SOCK_STREAM);
    let finished = program().start_on(write, Reader::new(read.into())).finish();
    assert_eq!((finished.code(), &*finished.stderr), (0, "done\n"));
    assert_same(&finished.stdout, &expected_of_one());
    // A file on no disk.
    // SAFETY: the name ends in NUL; no other code owns the descriptor.
    let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"output".as_ptr(), 0)) };
    let status = program().spawn_on(&file).wait().unwrap();
    assert!(status.success(), "{status}");
    let (mut file, mut written) = (File::from(file), Vec::new());
    file.rewind().unwrap();
    file.read_to_end(&mut written).unwrap();
    assert_same(&written, &[&*expected_of_one(), b"done\n"].concat());
}
