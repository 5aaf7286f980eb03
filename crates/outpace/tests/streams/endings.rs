//! Every ending under every policy: the table in the documentation, one test for each of its cells.

use crate::support::{List, Named, Program, To, exit_at_once, show, wait_to_go_on};
use libtest_mimic::Trial;
use outpace::CommandExt as _;
use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, exit};

const TABLE: &str = include_str!("../../docs/endings.md");

/// The policies, as the table heads its columns, and how a program is told.
const COLUMNS: [(&str, &str); 5] = [
    ("Unbuffered", "unbuffered"),
    ("Line", "line"),
    ("Block", "block:1000"),
    ("Prompt", "prompt"),
    ("Background", "background"),
];

/// The endings, by their names in the table.
const ENDINGS: [(&str, fn()); 44] = [
    ("return from `main`", || {}),
    ("`process::exit(3)` in `main`", || exit(3)),
    ("`process::exit(3)` in another thread", || {
        let ended = std::thread::spawn(|| exit(3)).join();
        unreachable!("{ended:?}")
    }),
    ("`process::exit(3)` while a guard is held", || {
        let _guard = outpace::stdout().lock();
        exit(3)
    }),
    ("return from `main`, a guard leaked", || {
        std::mem::forget(outpace::stdout().lock());
    }),
    ("return from `main`, a thread ended with a guard", || {
        let leak = || std::mem::forget(outpace::stdout().lock());
        std::thread::spawn(leak).join().unwrap();
    }),
    ("panic in `main`", || panic!("of the test")),
    ("panic in another thread, return from `main`", || {
        let panics = || panic!("of the test");
        std::thread::spawn(panics).join().unwrap_err();
    }),
    ("panic that aborts", panic_and_abort),
    ("panic that aborts, `init()`", panic_and_abort),
    (
        "panic that aborts, after a hook of the program's, `init()`",
        || {
            std::panic::set_hook(Box::new(|_| ()));
            panic_and_abort();
        },
    ),
    ("`abort`", || std::process::abort()),
    ("`abort`, `fatal_faults()`", || std::process::abort()),
    ("fault (SIGSEGV)", fault),
    ("fault (SIGSEGV), `fatal_faults()`", fault),
    ("breakpoint (SIGTRAP)", breakpoint),
    ("breakpoint (SIGTRAP), `fatal_faults()`", breakpoint),
    ("SIGINT", || kill_myself(libc::SIGINT)),
    ("SIGINT, `init()`", || kill_myself(libc::SIGINT)),
    ("SIGTERM", || kill_myself(libc::SIGTERM)),
    ("SIGTERM, `init()`", || kill_myself(libc::SIGTERM)),
    ("SIGHUP", || kill_myself(libc::SIGHUP)),
    ("SIGHUP, `init()`", || kill_myself(libc::SIGHUP)),
    ("SIGQUIT", || kill_myself(libc::SIGQUIT)),
    ("SIGQUIT, `init()`", || kill_myself(libc::SIGQUIT)),
    ("SIGALRM", || kill_myself(libc::SIGALRM)),
    ("SIGALRM, `init()`", || kill_myself(libc::SIGALRM)),
    ("SIGUSR1", || kill_myself(libc::SIGUSR1)),
    ("SIGUSR1, `init()`", || kill_myself(libc::SIGUSR1)),
    ("a limit of file sizes (SIGXFSZ)", break_a_limit),
    ("a limit of file sizes (SIGXFSZ), `init()`", break_a_limit),
    ("SIGPIPE (of another pipe), reset", || {
        end_by_default(libc::SIGPIPE);
        let (reader, mut writer) = std::io::pipe().unwrap();
        drop(reader);
        let _ = writer.write(b"x");
    }),
    ("SIGKILL", || kill_myself(libc::SIGKILL)),
    ("`_exit(3)`", || exit_at_once(3)),
    ("`quick_exit(3)`", quick_exit),
    ("`exec`", || {
        panic!("{}", Command::new("true").exec());
    }),
    ("`exec` after `flush_first`", || {
        let mut command = Command::new("true");
        panic!("{}", command.flush_first().unwrap().exec());
    }),
    ("`fork`; the child exits, then the parent", || {
        forked(|_| exit(0), wait_for_child);
    }),
    ("`fork`; the parent exits, then the child", || {
        forked(wait_for_parent, || ());
    }),
    ("`fork`; the child calls `_exit`", || {
        forked(|_| exit_at_once(0), wait_for_child);
    }),
    (
        "`fork`; the parent calls `_exit`, the child returns",
        || {
            forked(wait_for_parent, || exit_at_once(0));
        },
    ),
    ("`daemon`", become_a_daemon),
    ("a child with inherited stdout, then return", || {
        Command::new("echo").arg(CHILD).status().unwrap();
    }),
    ("a child with inherited stdout after `flush_first`", || {
        let mut command = Command::new("echo");
        command.arg(CHILD).flush_first().unwrap().status().unwrap();
    }),
];

/// The output of the child with an inherited stdout.
const CHILD: &str = "the child";

/// The hook is called, and then the process aborts: as with `panic = "abort"`.
fn panic_and_abort() {
    extern "C" fn cannot_unwind() {
        panic!("of the test")
    }
    cannot_unwind();
}

#[allow(unsafe_code)]
fn fault() {
    // Not null, for which there is a check in builds for debugging.
    let nowhere = std::ptr::without_provenance_mut::<u8>(8);
    // SAFETY: none. That is what is tested.
    unsafe { nowhere.write_volatile(0) };
}

#[allow(unsafe_code)]
fn end_by_default(signal: libc::c_int) {
    // SAFETY: no handler of the program is in use.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Makes a file too large, and would exit after that.
#[allow(unsafe_code)]
fn break_a_limit() {
    const LIMIT: u64 = 1 << 20;
    let limit = libc::rlimit {
        rlim_cur: LIMIT as libc::rlim_t,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
    let name = format!("outpace-limit-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = std::fs::File::create_new(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let _ = file.set_len(LIMIT + 1);
    exit_at_once(3);
}

#[allow(unsafe_code)]
fn breakpoint() {
    // SAFETY: raises SIGTRAP, which ends the process, and does nothing else.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("int3")
    };
    #[cfg(not(target_arch = "x86_64"))]
    kill_myself(libc::SIGTRAP);
}

#[allow(unsafe_code)]
fn kill_myself(signal: libc::c_int) {
    // SAFETY: always sound.
    unsafe { libc::kill(libc::getpid(), signal) };
    loop {
        std::thread::park();
    }
}

#[allow(unsafe_code)]
fn forked(child: fn(u32), parent: fn()) {
    let id = std::process::id();
    // SAFETY: the child uses what is safe after a fork, and outpace, which takes care of itself.
    match unsafe { libc::fork() } {
        0 => child(id),
        -1 => panic!("{}", std::io::Error::last_os_error()),
        _ => parent(),
    }
}

#[allow(unsafe_code)]
fn wait_for_child() {
    // SAFETY: takes a null pointer for no status.
    unsafe { libc::wait(std::ptr::null_mut()) };
}

/// Apple's systems have none.
#[cfg(target_vendor = "apple")]
fn quick_exit() {
    exit_at_once(3)
}

#[cfg(not(target_vendor = "apple"))]
#[allow(unsafe_code)]
fn quick_exit() {
    unsafe extern "C" {
        fn quick_exit(status: libc::c_int) -> !;
    }
    // SAFETY: always sound.
    unsafe { quick_exit(3) }
}

#[allow(unsafe_code, deprecated)]
fn become_a_daemon() {
    // SAFETY: there is no other thread that the child would need. Keeps the directory and the descriptors.
    assert_eq!(unsafe { libc::daemon(1, 1) }, 0);
}

/// Until another process has become the parent.
fn wait_for_parent(parent: u32) {
    while std::os::unix::process::parent_id() == parent {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The output of each program long before its end.
fn early() -> String {
    (0..40).map(|i| format!("early line {i}\n")).collect()
}

/// The output of each program right before its end: more lines, and the beginning of another.
fn late() -> String {
    let lines = (0..100).map(|i| format!("late line {i}\n"));
    lines.collect::<String>() + "the unfinished last line"
}

fn end() {
    let ending = std::env::args().nth(1).unwrap();
    if ending.ends_with("`init()`") {
        outpace::init();
    }
    if ending.ends_with("`fatal_faults()`") {
        outpace::init::fatal_faults().unwrap();
    }
    for message in early().split_inclusive('\n') {
        outpace::stdout().write_all(message.as_bytes()).unwrap();
    }
    wait_to_go_on();
    for message in late().split_inclusive('\n') {
        outpace::stdout().write_all(message.as_bytes()).unwrap();
    }
    let (_, end) = ENDINGS.iter().find(|(name, _)| *name == ending).unwrap();
    end();
}

/// A row of the table: the ending, the status, and a word for each policy.
fn rows() -> impl Iterator<Item = (&'static str, i32, Vec<&'static str>)> {
    let rows = TABLE.lines().filter(|line| line.starts_with('|'));
    let fields = rows.map(|row| row.trim_matches('|').split(" | ").map(str::trim));
    fields.filter_map(|mut fields| {
        let ending = fields.next()?;
        let status = fields.next()?.parse().ok()?;
        Some((ending, status, fields.collect()))
    })
}

pub(crate) fn list() -> List {
    List {
        portable: Vec::new(),
        native: Vec::new(),
        programs: vec![Named::new(end, end)],
    }
}

/// A test for each cell.
pub(crate) fn trials() -> Vec<Trial> {
    let head = TABLE
        .lines()
        .find(|line| line.starts_with("| what ends"))
        .unwrap();
    let columns = COLUMNS.map(|(name, _)| name).join(" | ");
    assert!(head.ends_with(&format!("{columns} |")), "{head}");
    let untested = |&(name, _): &(&str, fn())| rows().all(|(ending, ..)| ending != name);
    let untested = ENDINGS.iter().find(|ending| untested(ending));
    assert!(
        untested.is_none(),
        "not in the table: {}",
        untested.unwrap().0
    );

    let mut trials = Vec::new();
    for (ending, status, words) in rows() {
        assert_eq!(
            words.len(),
            COLUMNS.len(),
            "a word for each policy: {ending}"
        );
        for ((column, policy), word) in COLUMNS.into_iter().zip(words) {
            trials.push(Trial::test(
                format!("endings::{ending}, under {column}"),
                move || {
                    for to in [To::Pipe, To::File, To::Terminal] {
                        check(ending, status, policy, word, to)
                            .map_err(|found| format!("on {to:?} not {word}: {found}"))?;
                    }
                    Ok(())
                },
            ));
        }
    }
    trials
}

/// Runs a program to that end, and compares what has arrived with what the word says.
fn check(ending: &str, status: i32, policy: &str, word: &str, to: To) -> Result<(), String> {
    let mut running = Program::new(end)
        .argument(ending)
        .buffering(policy)
        .start(to);
    if to != To::File && policy != "block:1000" {
        // Prompt and background have this promise, too: it appears without a flush.
        running.stdout().wait_for(early());
    }
    running.go_on();
    let finished = running.finish();
    if finished.code() != status {
        return Err(format!("status {}: {}", finished.code(), finished.stderr));
    }
    let found = String::from_utf8(finished.stdout).map_err(|error| error.to_string())?;
    let (early, all) = (early(), early() + &late());
    let is_prefix = all.starts_with(&found);
    let echoed = format!("{CHILD}\n");
    let holds = match word {
        "all" if ending.starts_with("a child") => found == format!("{all}{echoed}"),
        "all" => found == all,
        "late" => found.contains(&echoed) && found.replacen(&echoed, "", 1) == all,
        "lines" => found == all[..all.rfind('\n').unwrap() + 1],
        // Whole messages of less than 20 bytes fill a buffer.
        "blocks" => is_prefix && found.ends_with('\n') && (all.len() - found.len()) < 1000 + 20,
        "delay" | "queue" => is_prefix && (to == To::File || found.len() >= early.len()),
        _ => false,
    };
    if holds {
        Ok(())
    } else {
        Err(show(found.as_bytes()))
    }
}
