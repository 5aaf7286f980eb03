//! `outpace run --shim`: what a program writes through memory is what it writes to a terminal, or to a pipe.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod scripted;

use rustix::process::{Pid, Signal, kill_process};
use scripted::{
    Terminal, installed, interactive_shell, of_each_thread, outpace, parent_of, process_of,
    scratch, stat_field, switches, text, wait_until,
};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

/// The program of `shim/writer.c`: with libraries, and static. `None` without a compiler. `OUTPACE_CC` sets another compiler, for
/// another version of the C library, say: docs/shim.md has the commands.
fn writers() -> Option<(&'static str, &'static str)> {
    static WRITERS: OnceLock<Option<(String, String)>> = OnceLock::new();
    let writers = WRITERS.get_or_init(|| {
        if !installed("cc") {
            return None;
        }
        let compiler = std::env::var("OUTPACE_CC").unwrap_or_else(|_| "cc".to_owned());
        let dynamic = build("writer", &compiler, &[]).expect("the compiler works");
        let other = build("writer-static", "cc", &["-static"]).unwrap_or_else(|| dynamic.clone());
        Some((dynamic, other))
    });
    let (dynamic, other) = writers.as_ref()?;
    Some((dynamic, other))
}

fn build(name: &str, compiler: &str, options: &[&str]) -> Option<String> {
    build_from("writer.c", name, compiler, options)
}

fn build_from(source: &str, name: &str, compiler: &str, options: &[&str]) -> Option<String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shim");
    let (program, source) = (scratch(name), sources.join(source));
    let mut words = compiler.split_whitespace();
    let built = Command::new(words.next().unwrap())
        .args(words)
        .args(["-O1", "-w", "-pthread"])
        .args(options)
        .arg("-o")
        .args([&program, &source])
        .arg("-ldl")
        .status();
    built
        .is_ok_and(|status| status.success())
        .then(|| text(program.as_os_str().as_encoded_bytes()))
}

fn uses_musl(program: &str) -> bool {
    memchr::memmem::find(&fs::read(program).unwrap(), b"/ld-musl-").is_some()
}

/// Where the program's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Terminal,
    Pipe,
}

const PLACES: [To; 2] = [To::Terminal, To::Pipe];

/// What comes on a terminal, with the shim as said.
fn shown(shim: &str, words: &[&str]) -> Vec<u8> {
    shown_on(To::Terminal, shim, words)
}

/// What comes there, with lines that end as on a terminal.
fn shown_on(to: To, shim: &str, words: &[&str]) -> Vec<u8> {
    let words = [&["--shim", shim, "--"], words].concat();
    match to {
        To::Terminal => Terminal::run(&words).whole(),
        To::Pipe => {
            // One pipe for stdout and stderr, which is so served by one pipe of `run`.
            let (mut reader, pipe) = std::io::pipe().unwrap();
            let mut command = outpace("run");
            command
                .args(words)
                .stdout(pipe.try_clone().unwrap())
                .stderr(pipe);
            let mut outer = command.spawn().unwrap();
            drop(command);
            let mut whole = Vec::new();
            reader.read_to_end(&mut whole).unwrap();
            outer.wait().unwrap();
            text(&whole).replace('\n', "\r\n").into()
        }
    }
}

/// The same bytes come with the shim as without, on a terminal and through a pipe; returns the terminal's. With `always` they go through
/// memory from the first one on, with `auto` after some writes.
fn same(words: &[&str]) -> String {
    let [terminal, _] = PLACES.map(|to| {
        let without = text(&shown_on(to, "never", words));
        for shim in ["auto", "always"] {
            assert_same(words, &text(&shown_on(to, shim, words)), &without);
        }
        without
    });
    terminal
}

fn assert_same(words: &[&str], with: &str, without: &str) {
    if with != without {
        let place = with
            .bytes()
            .zip(without.bytes())
            .position(|(one, other)| one != other);
        let place = place
            .unwrap_or(with.len().min(without.len()))
            .saturating_sub(60);
        let part = |text: &str| {
            text.get(place..(place + 200).min(text.len()))
                .map(str::to_owned)
        };
        panic!("{words:?}: {:?} instead of {:?}", part(with), part(without));
    }
}

#[test]
fn all_ways_to_write_to_one_terminal_keep_their_order() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "streams"]);
    assert!(
        shown.contains("again 199\r\nwritev\r\ndprintf 199\r\nsyscall\r\nputs\r\nbeginning\r\nmiddle\r\nend\r\nmode c 199\r\n")
    );
}

#[test]
fn children_of_every_kind_write_after_what_came_before_them() {
    let Some((writer, other)) = writers() else {
        return;
    };
    for child in [other, writer] {
        let shown = same(&[writer, "children", child]);
        assert!(shown.contains("from a pipe"));
    }
}

#[test]
fn a_descriptor_that_leads_elsewhere_is_not_the_terminal() {
    let Some((writer, _)) = writers() else { return };
    let file = scratch("file");
    let shown = same(&[writer, "files", file.to_str().unwrap()]);
    let expected: String = (0..20).map(|n| format!("burst {n}\n")).collect();
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert!(shown.contains("read only: -1 9"), "{shown}");
}

#[test]
fn memory_that_cannot_be_read_is_an_error_as_without_it() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "faults"]);
    assert!(shown.contains("write 0: -1 14"), "{shown}");
}

#[test]
fn what_becomes_of_the_terminal_finds_its_output_there() {
    let Some((writer, _)) = writers() else { return };
    same(&[writer, "settings"]);
    same(&[writer, "flow"]);
}

/// Keys are the pseudo-terminal's: what the program writes goes around it, but not while it takes no output.
#[test]
fn output_that_a_key_has_stopped_stays_until_another_lets_it_go_on() {
    const STOP: &str = "\x13";
    const GO_ON: &str = "\x11";
    let Some((writer, _)) = writers() else { return };
    let (file, done) = (scratch("demand"), scratch("demand.done"));
    let words = [writer, "on demand", file.to_str().unwrap()];
    let mut terminal = Terminal::run(&[&["--shim", "always", "--"], &words[..]].concat());
    terminal.wait_for("ready 0");
    let program = process_of(&words).unwrap();
    let path = format!("/proc/{program}/fd/1");
    let its_terminal = fs::File::options().write(true).open(path).unwrap();
    terminal.type_keys(STOP);
    wait_until("a terminal that takes no output", || {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut room = [PollFd::new(&its_terminal, PollFlags::OUT)];
        poll(&mut room, Some(&Default::default())).unwrap() == 0
    });
    drop(its_terminal);
    fs::write(&file, "").unwrap();
    wait_until("writes that have returned", || done.exists());
    let outer = process_of(&[&[OUTPACE, "run", "--shim", "always", "--"], &words[..]].concat());
    wait_until("a write of `run` that waits", || {
        // proc(5): the number of the system call comes first.
        of_each_thread(outer.unwrap(), "syscall").any(|call| call.starts_with("1 "))
    });
    let shown = text(&terminal.so_far());
    assert!(!shown.contains("burst 29"), "{shown}");
    terminal.type_keys(GO_ON);
    terminal.wait_for("held 0");
    let shown = text(&terminal.whole());
    assert!(shown.contains("burst 29\r\nheld 0\r\n"), "{shown}");
}

#[test]
fn the_environment_is_as_it_was() {
    let script = "import os,sys; os.execve(sys.argv[1], sys.argv[1:], {'Z': '1', 'B': '2', 'A': '3', 'TERM': 'dumb'})";
    if !installed("python3") {
        println!("skipped: python3 is not installed");
        return;
    }
    let shown = |shim: &str| {
        let words = [
            "-c",
            script,
            OUTPACE,
            "run",
            "--shim",
            shim,
            "--",
            "/usr/bin/env",
        ];
        text(&Terminal::start("python3", &words, false).whole())
    };
    assert!(
        shown("never").starts_with("Z=1\r\nB=2\r\nA=3\r\n"),
        "{}",
        shown("never")
    );
    assert_eq!(shown("auto"), shown("never"));
}

#[test]
fn other_programs_are_given_it_and_see_nothing_of_it() {
    let Some((writer, _)) = writers() else { return };
    let starts =
        format!("{writer} burst; cat /proc/self/environ; {writer} burst; exec {writer} burst");
    let words = ["sh", "-c", &starts];
    let with = text(&shown("auto", &words));
    assert_same(&words, &with, &text(&shown("never", &words)));
    assert!(
        with.contains("PATH=") && !with.contains("OUTPACE_RING"),
        "{with}"
    );
}

/// Says on how many mappings the shim is in its own process.
const LOOK: &str = "grep -c memfd:outpace-shim /proc/self/maps";

/// Which processes are given the shim by one that has it.
#[test]
fn a_program_is_given_it_unless_that_would_show() {
    let Some((writer, _)) = writers() else { return };
    let has_it = |script: &str| {
        let script = format!("{script}; exit 0");
        let shown = text(&shown("auto", &["sh", "-c", &script]));
        let count = shown.trim_end().rsplit("\r\n").next().unwrap();
        let count: u32 = count
            .parse()
            .unwrap_or_else(|_| panic!("{script}: {shown}"));
        count > 0
    };
    assert!(has_it(LOOK));
    assert!(has_it(&format!("LD_PRELOAD= env -i PATH=$PATH {LOOK}")));
    assert!(has_it(&format!("nice setsid {LOOK}")));
    let traced = format!("{writer} traced {LOOK}");
    let under_limit = format!("ulimit -v 4000000; {LOOK}");
    for script in [
        &traced,
        &under_limit,
        &format!("LD_PRELOAD=libm.so.6 {LOOK}"),
        &format!("LD_BIND_NOW=1 LD_AUDIT=libm.so.6 {LOOK}"),
    ] {
        assert!(!has_it(script), "{script}");
    }
    if installed("python3") && Path::new("/usr/bin/grep").exists() {
        let spawns = |actions: &str| {
            let words = "['grep', '-c', 'memfd:outpace-shim', '/proc/self/maps']";
            let call = format!(
                "os.posix_spawn('usr/bin/grep', {words}, os.environ, file_actions={actions})"
            );
            format!("cd /; python3 -c \"import os; os.waitpid({call}, 0)\"")
        };
        assert!(has_it(&spawns("None")));
        // One of the actions may be another working directory.
        assert!(!has_it(&spawns("[(os.POSIX_SPAWN_CLOSE, 9)]")));
    }
    if rustix::process::geteuid().is_root() && installed("setpriv") {
        assert!(has_it(&format!("setpriv --groups 5 {LOOK}")));
        for dropped in [
            "--reuid 65534",
            "--regid 65534 --clear-groups --reuid 65534",
            "--bounding-set -net_raw",
            "--euid 65534",
        ] {
            let script = format!("setpriv {dropped} {LOOK}");
            assert!(!has_it(&script), "{script}");
        }
    }
}

/// What short commands would pay for it is more than they gain.
#[test]
fn a_loop_gives_it_to_some_of_its_commands_only() {
    let Some((_, _)) = writers() else { return };
    let script = format!("for i in $(seq 200); do {LOOK}; done");
    let shown = text(&shown("auto", &["sh", "-c", &script]));
    let counts: Vec<&str> = shown.split_terminator("\r\n").collect();
    assert_eq!(counts.len(), 200, "{shown}");
    let given = counts.iter().take_while(|count| **count != "0").count();
    assert!((16..100).contains(&given), "{given}");
}

/// Some programs would not start with another library before theirs, or without a C library, or would say what they found.
#[test]
fn programs_that_could_not_start_with_it_start() {
    let compilers: [(&str, &str, &[&str]); 5] = [
        ("asan", "cc", &["-fsanitize=address"]),
        ("ubsan", "cc", &["-fsanitize=undefined"]),
        ("tsan", "cc", &["-fsanitize=thread"]),
        ("clang-asan", "clang", &["-fsanitize=address"]),
        (
            "clang-asan-shared",
            "clang",
            &["-fsanitize=address", "-shared-libasan"],
        ),
    ];
    for (name, compiler, options) in compilers {
        let built = installed(compiler)
            .then(|| build(name, compiler, options))
            .flatten();
        let Some(program) = built else {
            println!("skipped: {compiler} {options:?} does not work here");
            continue;
        };
        // Not each sanitizer finds its memory under each kernel.
        let plain = Command::new(&program).arg("burst").output().unwrap();
        if !plain.status.success() {
            println!("skipped: a program built by {compiler} {options:?} does not run here");
            continue;
        }
        let script = format!("{program} burst; {program} burst; echo end");
        let shown = same(&["sh", "-c", &script]);
        assert!(shown.ends_with("burst 29\r\nend\r\n"), "{name}: {shown}");
    }
    const BARE: [&str; 5] = [
        "-nostdlib",
        "-static-libgcc",
        "-fPIE",
        "-pie",
        "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2",
    ];
    if let Some(bare) = installed("cc")
        .then(|| build_from("bare.c", "bare", "cc", &BARE))
        .flatten()
    {
        let shown = same(&["sh", "-c", &format!("{bare}; {bare}; echo end")]);
        assert_eq!(shown, "bare\r\nbare\r\nend\r\n");
    }
}

/// The order of variables, an empty one, and the room that there is for them.
#[test]
fn an_environment_is_handed_on_as_it_is() {
    let Some((writer, _)) = writers() else { return };
    let script = "Z=1 LD_PRELOAD= A=2 env; Y=3 env; unset LD_PRELOAD; X=4 env";
    for others in ["libm.so.6", ""] {
        let shown = |shim: &str| {
            let preload = format!("LD_PRELOAD={others}");
            let words = [
                &preload, "LATER=1", OUTPACE, "run", "--shim", shim, "--", "sh", "-c", script,
            ];
            text(&Terminal::start("env", &words, false).whole())
        };
        assert_eq!(shown("auto"), shown("never"), "{others}");
    }
    same(&[writer, "fills"]);
}

/// A constructor may keep a copy of the environment, as it is before the shim takes its variables out. Linked so that it comes first
/// (`initfirst`, of which a process has one), it comes before the shim's in each version of the C library.
#[test]
fn a_program_that_is_started_with_a_copy_of_the_environment_sees_nothing_of_it() {
    if !installed("cc") {
        return;
    }
    let compiler = std::env::var("OUTPACE_CC").unwrap_or_else(|_| "cc".to_owned());
    let shows = build_from("copies.c", "copies-shows", &compiler, &["-DSHOWS"]).unwrap();
    let mut others = vec![shows];
    others.extend(build_from(
        "copies.c",
        "copies-static",
        "cc",
        &["-DSHOWS", "-static"],
    ));
    others.extend(build_from(
        "copies.c",
        "copies-asan",
        "cc",
        &["-DSHOWS", "-fsanitize=address"],
    ));
    for first in ["", "-Wl,-z,initfirst"] {
        let name = format!("copies{}", first.len());
        let library = ["-DLIBRARY", "-shared", "-fPIC", first];
        let library: Vec<&str> = library
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let library = build_from("copies.c", &format!("{name}.so"), &compiler, &library).unwrap();
        let options = ["-Wl,--no-as-needed", &library];
        let program = build_from("copies.c", &name, &compiler, &options).unwrap();
        for how in ["execve", "fexecve", "spawn", "spawnp", "vfork"] {
            for other in &others {
                for preload in ["LD_PRELOAD=", "LD_PRELOAD=libm.so.6", "OTHER=1"] {
                    let script = format!("exec {program} {how} {other} 2>/dev/null");
                    let shown = |shim: &str| {
                        let run = ["run", "--shim", shim, "--", "sh", "-c", &script];
                        let words = [&[preload, OUTPACE], &run[..]].concat();
                        text(&Terminal::start("env", &words, false).whole())
                    };
                    let without = shown("never");
                    // A sanitizer wants no other library before its own.
                    let starts = without.contains("PATH=") || preload.ends_with(".so.6");
                    assert!(without.starts_with("before\r\n") && starts, "{without}");
                    assert_same(&[how, other, preload, first], &shown("auto"), &without);
                }
            }
        }
        // More variables than a small table holds.
        let many: Vec<String> = (0..1000)
            .map(|number| format!("V{number}={number}"))
            .collect();
        for how in ["execve", "spawn", "vfork"] {
            let [with, without] = ["always", "never"].map(|shim| {
                let many = many.iter().map(String::as_str);
                let run = [
                    OUTPACE, "run", "--shim", shim, "--", &program, how, &others[0],
                ];
                let words: Vec<&str> = many.chain(run).collect();
                let shown = text(&Terminal::start("env", &words, false).whole());
                let (ours, rest) = shown.split_once("\r\n").unwrap();
                (ours == "1", rest.to_owned())
            });
            assert!(with.0 || first.is_empty() || uses_musl(&program));
            assert!(without.1.contains("V999=999"), "{}", without.1);
            assert_same(&[how, first], &with.1, &without.1);
        }
        if !first.is_empty() && !uses_musl(&program) {
            let words = ["--shim", "always", "--", &program, "execve", "/bin/true"];
            assert!(text(&Terminal::run(&words).whole()).starts_with("1\r\n"));
        }
    }
}

#[test]
fn another_program_in_its_place_writes_after_it() {
    let Some((writer, other)) = writers() else {
        return;
    };
    for next in [other, writer] {
        same(&[writer, "becomes", next]);
    }
}

#[test]
fn what_the_user_has_loaded_before_each_program_stays_and_children_see_just_that() {
    let script =
        "echo own $LD_PRELOAD $OUTPACE_RING; env | grep -e LD_PRELOAD -e OUTPACE_RING; echo end";
    let words = [
        "LD_PRELOAD=libm.so.6",
        OUTPACE,
        "run",
        "-v",
        "--shim",
        "always",
        "--",
        "sh",
        "-c",
        script,
    ];
    let shown = text(&Terminal::start("env", &words, false).whole());
    let (shown, said) = shown
        .split_once("outpace: sh: shim: ")
        .unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(shown, "own libm.so.6\r\nLD_PRELOAD=libm.so.6\r\nend\r\n");
    assert!(!said.starts_with("0 bytes"), "{said}");
    // One that does not exist, or makes system calls of its own, is refused.
    let words = [
        "LD_PRELOAD=libnowhere.so",
        OUTPACE,
        "run",
        "--shim",
        "always",
        "true",
    ];
    let mut terminal = Terminal::start("env", &words, false);
    terminal.wait_for("--shim always: LD_PRELOAD has libnowhere.so: not found");
    assert_eq!(terminal.wait().code(), Some(1));
}

/// What `-v` says went through memory, of all processes, and everything that was shown before it.
fn verbose(words: &[&str]) -> (u64, String) {
    verbose_on(To::Terminal, words)
}

fn verbose_on(to: To, words: &[&str]) -> (u64, String) {
    let words = &[&["-v", "--shim", "always", "--"], words].concat();
    let (status, whole) = match to {
        To::Terminal => {
            let mut terminal = Terminal::run(words);
            (terminal.wait(), text(&terminal.whole()))
        }
        To::Pipe => {
            let output = outpace("run").args(words).output().unwrap();
            let whole = text(&[output.stdout, output.stderr].concat());
            (output.status, whole.replace('\n', "\r\n"))
        }
    };
    let end = || &whole[whole.len().saturating_sub(500)..];
    let (shown, said) = whole
        .split_once("outpace: ")
        .unwrap_or_else(|| panic!("{status}, and no report at the end of {:?}", end()));
    assert!(status.success(), "{status} after {:?}", end());
    let (_, said) = said.split_once("shim: ").unwrap();
    let bytes = said.split_once(" bytes through memory").unwrap().0;
    (bytes.parse().unwrap(), shown.to_owned())
}

fn assert_in_order(shown: &str, lines: usize) {
    let mut count = 0;
    for line in shown.split_terminator("\r\n") {
        assert_eq!(line, format!("n {count}"));
        count += 1;
    }
    assert_eq!(count, lines);
}

#[test]
fn processes_of_all_kinds_keep_the_order_that_they_know() {
    let Some((writer, other)) = writers() else {
        return;
    };
    let rounds = PLACES.map(|to| [(to, other), (to, writer)]);
    for (round, (to, child)) in rounds.into_iter().flatten().enumerate() {
        let file = scratch(&format!("family-{round}"));
        let (_, shown) = verbose_on(to, &[writer, "family", file.to_str().unwrap(), child]);
        let each = 2 * 2000 + 500 + 3000 + 2000 + 3000 + 5000;
        assert_in_order(&shown, 500 + 3 * each + 2 * 100);
    }
}

/// Waits until a program that writes `n 0`, `n 1` and so on makes no system calls for that, and ends it.
fn end_when_it_writes_through_memory(terminal: &mut Terminal, words: &[&str]) {
    let mut program = None;
    wait_until("the program", || {
        program = process_of(words);
        program.is_some()
    });
    let program = program.unwrap();
    let mut line = 0;
    wait_until("a hundred lines without a system call", || {
        let before = written_by_calls(program);
        line += 1000;
        terminal.wait_for(&format!("n {line}\r\n"));
        terminal.wait_for(&format!("n {}\r\n", line + 100));
        written_by_calls(program) == before
    });
    kill_process(Pid::from_raw(program).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_program_that_another_becomes_or_starts_has_it_too() {
    let Some((writer, _)) = writers() else { return };
    let becomes = format!("exec {writer} endless");
    let starts = format!("{writer} endless; true");
    let ways: [&[&str]; 3] = [
        &["sh", "-c", &becomes],
        &["sh", "-c", &starts],
        &["env", "A=b", "nice", writer, "endless"],
    ];
    for (words, to) in ways
        .into_iter()
        .flat_map(|words| PLACES.map(|to| (words, to)))
    {
        if !installed(words[0]) || !installed("nice") {
            continue;
        }
        let words = [&[OUTPACE, "run", "--shim", "always", "--"], words].concat();
        let mut terminal = match to {
            To::Terminal => Terminal::start(OUTPACE, &words[1..], false),
            To::Pipe => {
                let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
                let script = format!("{} | cat", quoted.join(" "));
                Terminal::start("sh", &["-c", &script], false)
            }
        };
        terminal.wait_for("n 0\r\n");
        end_when_it_writes_through_memory(&mut terminal, &[writer, "endless"]);
        let shown = text(&terminal.whole());
        let lines: Vec<&str> = shown
            .split_terminator("\r\n")
            .filter(|line| line.starts_with("n "))
            .collect();
        let expected: Vec<String> = (0..lines.len()).map(|line| format!("n {line}")).collect();
        assert!(lines.len() > 1000 && lines == expected, "{words:?} {to:?}");
    }
}

/// How many system calls of a process have written, by what the kernel counts.
fn written_by_calls(process: i32) -> u64 {
    let counts = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let count = counts.lines().find_map(|line| line.strip_prefix("syscw: "));
    count.unwrap().parse().unwrap()
}

/// The loader would complain of a file that it does not find, on the terminal or in a daemon's log.
#[test]
fn programs_that_are_started_while_the_first_one_ends_have_no_words_of_the_loader_s() {
    let log = scratch("daemons.log");
    fs::write(&log, "").unwrap();
    let log_name = log.to_str().unwrap();
    let commands = "sh -c '/bin/echo a; /bin/echo b; /bin/echo c'";
    let mut lines = 0;
    for pause in (0..10).cycle().take(60) {
        let script = format!(
            "trap '' HUP; for i in 1 2 3; do {commands} & setsid {commands} </dev/null >>{log_name} 2>&1 & done; sleep 0.00{pause}"
        );
        let shown = text(&shown("auto", &["sh", "-c", &script]));
        lines += shown.lines().count();
        assert!(!shown.contains("ld.so"), "{shown}");
    }
    assert!(lines > 60 * 9 / 2, "{lines}");
    wait_until("the daemons", || {
        fs::read_to_string(&log).unwrap().lines().count() >= 60 * 9
    });
    let logged = fs::read_to_string(&log).unwrap();
    assert!(!logged.contains("ld.so"), "{logged}");
}

#[test]
fn when_a_child_without_it_has_ended_its_parent_uses_it_again() {
    let Some((writer, other)) = writers() else {
        return;
    };
    let words = [writer, "back", other];
    let mut terminal = Terminal::run(&[&["--shim", "always", "--"], &words[..]].concat());
    // That child's own.
    terminal.wait_for("burst 29\r\nn 0\r\n");
    end_when_it_writes_through_memory(&mut terminal, &words);
    terminal.whole();
}

/// Kills one of several processes that write, at a random moment: the others go on, and no bytes are lost.
fn one_of_many_killed_at_random(rounds: u64) {
    const SIZE: usize = 3;
    let Some((writer, _)) = writers() else { return };
    for round in 0..rounds {
        let file = scratch("brood");
        let path = file.to_str().unwrap();
        let files: Vec<PathBuf> = (0..SIZE)
            .map(|child| scratch(&format!("brood.{child}")))
            .collect();
        let words = [writer, "brood", path, "3"];
        let terminal = Terminal::run(&[&["--shim", "always", "--"], &words[..]].concat());
        let number = |file: &Path, at: usize| {
            let bytes = fs::read(file).unwrap_or_default();
            bytes
                .get(8 * at..8 * at + 8)
                .map_or(0, |bytes| u64::from_ne_bytes(bytes.try_into().unwrap()))
        };
        let all = || files.iter().chain([&file]);
        wait_until("all processes", || all().all(|file| number(file, 0) > 0));
        let pause = (round * 7919 + u64::from(std::process::id())) % 9000;
        std::thread::sleep(std::time::Duration::from_micros(pause));
        let kill = |process: u64| {
            let _ = kill_process(Pid::from_raw(process as i32).unwrap(), Signal::KILL);
        };
        let victim = round as usize % SIZE;
        kill(number(&files[victim], 1));
        let before: Vec<u64> = all().map(|file| number(file, 0)).collect();
        wait_until("the others", || {
            let mut others = all().zip(&before).enumerate();
            others.all(|(child, (file, before))| child == victim || number(file, 0) > before + 1000)
        });
        for file in &files {
            kill(number(file, 1));
        }
        let mut found = None;
        wait_until("the parent alone", || {
            found = process_of(&words);
            found.is_some_and(|process| files.iter().all(|file| number(file, 1) != process as u64))
        });
        kill(found.unwrap() as u64);
        let shown = text(&terminal.whole());
        let mut came = vec![0; SIZE + 1];
        for line in shown.split_terminator("\r\n") {
            let (name, count) = line.split_once(' ').unwrap_or_else(|| panic!("{line:?}"));
            let place = name
                .strip_prefix('c')
                .map_or(SIZE, |child| child.parse().unwrap());
            assert_eq!(count.parse(), Ok(came[place]), "{name}");
            came[place] += 1;
        }
        for (file, came) in all().zip(&came) {
            let count = number(file, 0);
            assert!(
                *came == count || *came == count + 1,
                "round {round}: {came} of {count}"
            );
        }
    }
}

#[test]
fn a_process_that_is_killed_in_a_write_holds_nobody_up() {
    one_of_many_killed_at_random(10);
}

/// `cargo test -p outpace-cli --test run_shim -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn a_process_that_is_killed_holds_nobody_up_in_a_thousand_rounds() {
    one_of_many_killed_at_random(1000);
}

#[test]
fn the_program_sees_nothing_of_it() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "sees"]);
    assert!(
        shown.starts_with("1 1\r\n") && shown.ends_with("\r\n0\r\n"),
        "{shown}"
    );
}

#[test]
fn a_program_that_may_only_write_from_now_on_writes() {
    let Some((writer, _)) = writers() else { return };
    same(&[writer, "confined"]);
}

#[test]
fn what_the_kernel_writes_from_its_own_queue_keeps_its_order() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "submitted"]);
    assert!(
        shown.contains("before 199\r\norder\r\nburst 0\r\n"),
        "{shown}"
    );
}

#[test]
fn the_last_words_of_the_c_library_come_last() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "aborts"]);
    // musl has none.
    assert!(
        uses_musl(writer) || shown.contains("burst 29\r\nfree(): double free"),
        "{shown}"
    );
}

#[test]
fn a_program_that_uses_musl_writes_the_same_and_its_streams_through_memory() {
    if !installed("musl-gcc") {
        println!("skipped: musl-gcc is not installed");
        return;
    }
    let Some((glibc, other)) = writers() else {
        return;
    };
    let writer = build("writer-musl", "musl-gcc", &[]).expect("the compiler works");
    let writer = writer.as_str();
    let file = scratch("file-musl");
    let chain = scratch("chain-musl");
    let words: &[&[&str]] = &[
        &["streams"],
        &["children", other],
        &["children", writer],
        &["children", glibc],
        &["files", file.to_str().unwrap()],
        &["faults"],
        &["settings"],
        &["flow"],
        &["sees"],
        &["confined"],
        &["becomes", glibc],
        &["aborts"],
    ];
    for words in words {
        same(&[&[writer], *words].concat());
    }
    let (bytes, _) = verbose(&[writer, "streams"]);
    assert_eq!(bytes, verbose(&[glibc, "streams"]).0);
    // Started by one that uses glibc, it is given the shim, too.
    let starts = format!("{writer} ordered {} 20000; true", chain.to_str().unwrap());
    let (_, shown) = verbose(&["sh", "-c", &starts]);
    assert_in_order(&shown, 20_000);
}

#[test]
fn lines_of_threads_are_whole_and_each_thread_s_in_order() {
    let Some((writer, _)) = writers() else { return };
    let shown = text(&shown("always", &[writer, "threads"]));
    let mut next: HashMap<&str, u32> = HashMap::new();
    for line in shown.split_terminator("\r\n") {
        let (name, number) = line.split_once(' ').unwrap();
        let expected = next.entry(name).or_default();
        assert_eq!(number.parse(), Ok(*expected), "{name}");
        *expected += 1;
    }
    assert_eq!(next.len(), 4);
    assert!(next.values().all(|count| *count == 5000), "{next:?}");
}

#[test]
fn the_code_of_a_process_that_forks_again_and_again_is_moved_under_its_threads() {
    let Some((writer, _)) = writers() else { return };
    let shown = text(&shown("always", &[writer, "forks"]));
    for (name, count) in [("t", 10_000), ("child", 30)] {
        let lines = shown.split_terminator("\r\n");
        let lines = lines.filter(|line| line.split(' ').next() == Some(name));
        assert!(lines.eq(numbered(name, count)), "{name}");
    }
    assert!(shown.ends_with("moved 1\r\n"));
}

#[test]
fn a_thread_is_no_other_process_however_the_c_library_makes_it() {
    let Some((writer, _)) = writers() else { return };
    let words = [
        "without-clone3",
        OUTPACE,
        "run",
        "-v",
        "--shim",
        "always",
        "--",
        writer,
        "threads",
    ];
    let shown = text(&Terminal::start(writer, &words, false).whole());
    let (lines, said) = shown.split_once("outpace: ").unwrap();
    let bytes = lines.len() - lines.matches("\r\n").count();
    assert!(
        said.contains(&format!("shim: {bytes} bytes through memory")),
        "{bytes} written: {said}"
    );
}

/// Foreign function interfaces look functions up in the C library itself.
#[test]
fn functions_that_are_found_by_a_handle_of_the_c_library_keep_the_order() {
    let Some((writer, _)) = writers() else { return };
    let shown = same(&[writer, "by handle"]);
    assert_eq!(
        shown.matches("name").count(),
        shown.matches("handle\r\n").count()
    );
}

/// What a process needs for its first write is done before there is a second thread, which would come upon it half done.
#[test]
fn all_that_is_to_be_done_once_is_done_when_a_thread_begins() {
    let Some((writer, _)) = writers() else { return };
    let (bytes, shown) = verbose(&[writer, "thread at the limit"]);
    assert_in_order(&shown, 5000);
    assert_eq!(bytes as usize, shown.len() - 5000);
}

/// A signal that lets the program go on does not undo a stop that comes after it.
#[test]
fn ctrl_z_that_comes_right_behind_a_sigcont_stops_the_program() {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Stdio};
    let Some((writer, _)) = writers() else { return };
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let file = scratch("ctrl-z-leader");
    let script = format!("echo $PPID > {}; echo rea\"\"dy; exec cat", file.display());
    terminal.type_keys(&format!("{OUTPACE} run -- sh -c '{script}'\r"));
    terminal.wait_for("ready");
    let leader: i32 = fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let outer = parent_of(leader);
    let hold = |process: i32| {
        let mut holder = Command::new(writer)
            .args(["holds", &process.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(holder.stdout.take().unwrap());
        let is_held = said.read_line(&mut line).unwrap() > 0;
        (holder, is_held)
    };
    let let_go = |mut holder: Child| {
        drop(holder.stdin.take());
        holder.wait().unwrap();
    };
    // What lets the program go on again is late.
    let (holder_of_leader, is_held) = hold(leader);
    if !is_held {
        let_go(holder_of_leader);
        println!("skipped: no process may be traced here");
        return;
    }
    let (holder_of_outer, _) = hold(outer);
    // It finds both at once.
    kill_process(Pid::from_raw(outer).unwrap(), Signal::CONT).unwrap();
    terminal.type_keys("\x1a");
    let_go(holder_of_outer);
    wait_until("a wait for the leader", || {
        stat_field(outer, 0).unwrap() == "S"
    });
    let_go(holder_of_leader);
    terminal.wait_for("Stopped");
    terminal.wait_for("$ ");
    terminal.bring_cat_to_the_front();
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// What a signal has cut of a write, the program writes again.
#[test]
fn writes_that_signals_cut_short_are_whole_in_the_end() {
    let Some((writer, _)) = writers() else { return };
    for shim in ["always", "never"] {
        let counter = scratch("interrupted");
        let full = scratch("interrupted.full");
        let options = ["--overflow", "block", "--memory", "64KiB", "--"];
        let words = [writer, "interrupted", counter.to_str().unwrap()];
        let arguments = [&["run", "--shim", shim], &options[..], &words].concat();
        let mut terminal = Terminal::start(OUTPACE, &arguments, true);
        wait_until("a write that waits for room, or the end", || {
            full.exists() || counter.exists() && process_of(&words).is_none()
        });
        terminal.unstall();
        let status = terminal.wait();
        let shown = text(&terminal.whole());
        assert!(status.success(), "{shim}: {status}");
        assert_in_order(&shown, 20_000);
    }
}

#[test]
fn a_signal_s_handler_writes_in_the_middle_of_a_write() {
    let Some((writer, _)) = writers() else { return };
    for (what, leaps) in [("signals", false), ("leaps", true)] {
        let mut terminal = Terminal::run(&["--shim", "always", "--", writer, what]);
        let status = terminal.wait();
        let mut shown = text(&terminal.whole());
        assert!(status.success(), "{status} after {shown:?}");
        if leaps {
            // A leap out of a write that the kernel has begun leaves a part of the line, as it does without the shim.
            shown = shown.replace("tick ", "\r\ntick ");
        }
        let (mut main, mut ticks) = (0, 0);
        for line in shown.split_terminator("\r\n") {
            let expected = (format!("main {main}"), format!("tick {ticks}"));
            if line == expected.0 {
                main += 1;
            } else if line == expected.1 {
                ticks += 1;
            } else {
                // After a leap the same line is written again.
                let again =
                    leaps && (expected.0.starts_with(line) || line == format!("main {}", main - 1));
                assert!(again || line == "end 1", "{line:?} after {expected:?}");
            }
        }
        assert_eq!(main, 20_000);
        assert!(ticks > 0);
    }
}

#[test]
fn a_thread_is_cancelled_where_it_writes() {
    let Some((writer, _)) = writers() else { return };
    let shown = text(&shown("always", &[writer, "cancelled"]));
    let lines: Vec<&str> = shown.split_terminator("\r\n").collect();
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(*last, "cancelled 1");
    assert!(before.len() >= 1000, "{}", before.len());
    assert!(before.iter().all(|line| *line == "still"));
}

/// Kills a program at a random moment, so many times. What its writes had returned for is there, and at most one more.
/// Kills the program at a random moment, so many times, on a terminal and behind a pipe in turn.
fn killed_at_random(rounds: u64) {
    let Some((writer, _)) = writers() else { return };
    for round in 0..rounds {
        let counter = scratch(&format!("counter-{round}"));
        let words = [writer, "counted", counter.to_str().unwrap()];
        let to = PLACES[round as usize % 2];
        let whole = {
            let words = words.map(str::to_owned);
            std::thread::spawn(move || {
                shown_on(to, "always", &words.each_ref().map(String::as_str))
            })
        };
        let mut found = None;
        wait_until("the program", || {
            found = process_of(&words).filter(|_| counter.exists());
            found.is_some()
        });
        let pause = (round * 7919 + u64::from(std::process::id())) % 9000;
        std::thread::sleep(std::time::Duration::from_micros(pause));
        let _ = kill_process(Pid::from_raw(found.unwrap()).unwrap(), Signal::KILL);
        let shown = text(&whole.join().unwrap());
        let mapped = fs::read(&counter).unwrap_or_default();
        let count = mapped
            .first_chunk::<8>()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let lines: Vec<&str> = shown.split_terminator("\r\n").collect();
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(*line, format!("n {number}"), "round {round}");
        }
        let came = lines.len() as u64;
        assert!(
            came == count || came == count + 1,
            "round {round}: {came} of {count}"
        );
        let _ = fs::remove_file(&counter);
    }
}

#[test]
fn nothing_is_lost_of_what_a_killed_program_had_written() {
    killed_at_random(20);
}

#[test]
fn a_child_writes_after_what_it_knows_of_another_thread_s_writes() {
    let Some((writer, other)) = writers() else {
        return;
    };
    for round in 0..30 {
        let counter = scratch(&format!("crowd-{round}"));
        let (to, child) = (PLACES[round / 2 % 2], [other, writer][round % 2]);
        let words = [writer, "crowd", counter.to_str().unwrap(), child];
        let shown = text(&shown_on(to, "always", &words));
        let (mut written, mut children) = (0, 0);
        for line in shown.split_terminator("\r\n") {
            if let Some(known) = line.strip_prefix("knows ") {
                let known: u64 = known.parse().unwrap();
                assert!(
                    known <= written,
                    "round {round}: {known} known, {written} written"
                );
                children += 1;
            } else if line == format!("n {written}") {
                written += 1;
            } else {
                // The end of the process cuts a write that the kernel has begun.
                assert!(children >= 3, "{line:?} after {written}");
            }
        }
        assert_eq!(children, 4, "round {round}");
        let _ = fs::remove_file(&counter);
    }
}

/// A write that is held up in its copy does not return before its bytes are where a program without the shim comes after
/// them.
#[test]
fn a_child_writes_after_what_it_knows_of_a_write_that_was_held_up() {
    let Some((writer, other)) = writers() else {
        return;
    };
    let rounds = PLACES.map(|to| [(to, other), (to, writer)]);
    for (round, (to, child)) in rounds.into_iter().flatten().enumerate() {
        let counter = scratch(&format!("held-up-{round}"));
        let words = [writer, "held up", counter.to_str().unwrap(), child];
        let shown = text(&shown_on(to, "always", &words));
        let (mut written, mut children) = (0_u64, 0);
        for line in shown.split_terminator("\r\n") {
            if let Some(known) = line.strip_prefix("knows ") {
                let known: u64 = known.parse().unwrap();
                assert!(known <= written, "{known} known, {written} written");
                children += 1;
            } else {
                assert_eq!(line, format!("n {written}"));
                written += 1;
            }
        }
        assert_eq!(children, 5);
    }
}

/// The process whose parent this one is.
fn child_of(parent: i32) -> Option<i32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok()
}

/// Kills the leader of the session, so many times: at a random moment, and every other time when it has just started the
/// program, and was stopped before it could tell of that.
fn leader_killed_at_random(rounds: u64) {
    let Some((writer, _)) = writers() else { return };
    for round in 0..rounds {
        let shim = ["always", "never"][round as usize / 2 % 2];
        let counter = scratch(&format!("counter-leader-{shim}"));
        let words = [writer, "counted", counter.to_str().unwrap()];
        let outer = [&[OUTPACE, "run", "--shim", shim, "--"], &words[..]].concat();
        let terminal = Terminal::run(&outer[2..]);
        let mut found = None;
        let soon = |what: &str, found: &mut Option<i32>, find: &dyn Fn() -> Option<i32>| {
            let began = std::time::Instant::now();
            while found.is_none() {
                assert!(began.elapsed().as_secs() < 60, "{what} never came");
                *found = find();
            }
        };
        soon("the outer process", &mut found, &|| process_of(&outer));
        let mut leader = None;
        soon("the leader", &mut leader, &|| found.and_then(child_of));
        let process = Pid::from_raw(leader.unwrap()).unwrap();
        if round % 2 == 0 {
            let mut program = None;
            soon("its child", &mut program, &|| leader.and_then(child_of));
            kill_process(process, Signal::STOP).unwrap();
            wait_until("lines of the program", || {
                fs::read(&counter).is_ok_and(|bytes| bytes.iter().take(8).any(|byte| *byte > 0))
            });
        } else {
            let pause = (round * 7919 + u64::from(std::process::id())) % 6000;
            std::thread::sleep(std::time::Duration::from_micros(pause));
        }
        let _ = kill_process(process, Signal::KILL);
        let shown = text(&terminal.whole());
        let mapped = fs::read(&counter).unwrap_or_default();
        let count = mapped
            .first_chunk::<8>()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let (output, _) = shown
            .split_once("outpace: monitor process: ")
            .expect("it is said");
        // A write that the signal has cut is a part of a line.
        let lines = output.rsplit_once("\r\n").map_or("", |(lines, _cut)| lines);
        let mut came = 0;
        for line in lines.split_terminator("\r\n") {
            assert_eq!(line, format!("n {came}"), "{shim}, round {round}");
            came += 1;
        }
        assert!(
            came == count || came == count + 1,
            "{shim}, round {round}: {came} of {count}"
        );
    }
}

#[test]
fn nothing_is_lost_when_the_leader_of_the_session_is_killed() {
    leader_killed_at_random(12);
}

/// Whether all threads of a process are stopped.
fn is_stopped(process: i32) -> bool {
    of_each_thread(process, "stat").all(|stat| {
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_none_or(|state| state.starts_with('T'))
    })
}

#[test]
fn what_lies_in_memory_when_outpace_is_killed_is_shown() {
    what_lies_in_memory_is_shown(false);
}

/// A process that is killed closes what it has open one after the other, on a busy machine with pauses in between.
#[test]
fn what_is_written_while_outpace_goes_is_shown() {
    what_lies_in_memory_is_shown(true);
}

/// Its side of the program's terminal, from a process.
fn share_of_terminal(process: i32) -> OwnedFd {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    let pidfd = pidfd_open(Pid::from_raw(process).unwrap(), PidfdFlags::empty()).unwrap();
    let descriptors = fs::read_dir(format!("/proc/{process}/fd"))
        .unwrap()
        .flatten();
    let mut ours = descriptors
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|path| path.ends_with("ptmx")));
    let number = ours.next().unwrap().file_name();
    let number = number.to_str().unwrap().parse().unwrap();
    pidfd_getfd(&pidfd, number, PidfdGetfdFlags::empty()).unwrap()
}

fn what_lies_in_memory_is_shown(stays_open: bool) {
    let Some((writer, _)) = writers() else { return };
    let counter = scratch(&format!("counter-outer-{stays_open}"));
    let words = [writer, "counted", counter.to_str().unwrap()];
    let outer = [&[OUTPACE, "run", "--shim", "always", "--"], &words[..]].concat();
    let mut terminal = Terminal::run(&outer[2..]);
    let count = || {
        let bytes = fs::read(&counter).unwrap_or_default();
        bytes
            .first_chunk::<8>()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    wait_until("lines", || count() > 100);
    let process = process_of(&outer).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::STOP).unwrap();
    wait_until("the outer process to stop", || is_stopped(process));
    // What is written from now on lies in memory.
    let before = count();
    wait_until("more lines", || count() > before + 1000);
    let stays = stays_open.then(|| share_of_terminal(process));
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
    if stays_open {
        // Its number is no process's any more.
        wait_until("its end", || terminal.has_ended());
        let gone = count();
        let mut last = gone;
        // More than the program writes without a look whether `outpace` is there.
        wait_until("many lines more, or no room for them", || {
            let before = std::mem::replace(&mut last, count());
            last > gone + 50_000 || last == before
        });
    }
    drop(stays);
    let shown = text(&terminal.whole());
    let after = count();
    let lines: Vec<u64> = shown
        .split_terminator("\r\n")
        .filter_map(|line| line.strip_prefix("n ")?.parse().ok())
        .collect();
    let place = lines.iter().rposition(|number| *number == before + 1);
    let rest = &lines[place.expect("the first line that lay there")..];
    let expected: Vec<u64> = (before + 1..).take(rest.len()).collect();
    assert_eq!(rest, expected);
    // The last write may not have returned.
    let last = *rest.last().unwrap();
    assert!(last + 1 == after || last == after, "{last} of {after}");
}

/// `cargo test -p outpace-cli --test run_shim -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn nothing_is_lost_when_leaders_are_killed_in_a_thousand_rounds() {
    leader_killed_at_random(1000);
}

/// `cargo test -p outpace-cli --test run_shim -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn nothing_is_lost_in_a_thousand_rounds() {
    killed_at_random(1000);
}

/// Of a program that writes 4,000 lines and does not wait: all came, and poll(2) agreed with its writes.
fn assert_none_was_lost(shown: &str, line_end: &str) {
    let lines = shown.split_terminator(line_end);
    assert_eq!(lines.filter(|line| line.len() == 999).count(), 4000);
    let last = format!("written 4000000 refused 1 quarrels 0{line_end}");
    assert!(shown.ends_with(&last), "{}", &shown[shown.len() - 80..]);
}

#[test]
fn a_descriptor_that_does_not_wait_agrees_with_poll() {
    let Some((writer, _)) = writers() else { return };
    let refused = scratch("refused");
    let arguments = [
        "run",
        "--shim",
        "always",
        "--overflow",
        "block",
        "--memory",
        "64KiB",
        "--",
    ];
    let words = [writer, "nonblocking", refused.to_str().unwrap()];
    let terminal = Terminal::start(OUTPACE, &[&arguments[..], &words].concat(), true);
    wait_until("a terminal that is full", || refused.exists());
    terminal.unstall();
    let shown = text(&terminal.whole());
    assert_none_was_lost(&shown, "\r\n");
}

#[test]
fn when_outpace_is_killed_the_program_is_told() {
    let Some((writer, _)) = writers() else { return };
    let told = scratch("told");
    let words = [writer, "forever", told.to_str().unwrap()];
    let arguments = [
        &[
            "run",
            "--shim",
            "always",
            "--",
            "env",
            "--ignore-signal=HUP",
        ],
        &words[..],
    ]
    .concat();
    // Without `env`, which would become the program: the shim is for the first.
    let arguments: Vec<&str> = arguments
        .into_iter()
        .filter(|word| !word.starts_with("env") && !word.starts_with("--ignore"))
        .collect();
    let script = format!("trap '' HUP; exec {OUTPACE} {}", arguments.join(" "));
    let mut terminal = Terminal::start("sh", &["-c", &script], false);
    terminal.wait_for("ready");
    let all = [&[OUTPACE], &arguments[..]].concat();
    let mut outer = None;
    wait_until("the outer process", || {
        outer = process_of(&all);
        outer.is_some()
    });
    kill_process(Pid::from_raw(outer.unwrap()).unwrap(), Signal::KILL).unwrap();
    wait_until("the error", || told.exists());
}

/// Behind a pipe there is no leader of a session, and no signal. A write finds that the pipe has no reader, as without the shim.
#[test]
fn when_outpace_is_killed_a_program_that_writes_to_a_pipe_meets_its_error() {
    let Some((writer, _)) = writers() else { return };
    for stays_zombie in [false, true] {
        let told = scratch(&format!("told-{stays_zombie}"));
        let words = [writer, "forever", told.to_str().unwrap()];
        let arguments = [&["run", "--shim", "always", "--"], &words[..]].concat();
        let script = format!("trap '' PIPE; exec {OUTPACE} {}", arguments.join(" "));
        let mut command = Command::new("sh");
        let mut outer = command
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = outer.stdout.take().unwrap();
        let mut whole = Vec::new();
        wait_until("the program", || {
            let mut some = [0; 4096];
            let read = output.read(&mut some).unwrap();
            whole.extend_from_slice(&some[..read]);
            memchr::memmem::find(&whole, b"ready").is_some()
        });
        outer.kill().unwrap();
        if !stays_zombie {
            outer.wait().unwrap();
        }
        wait_until("the error", || told.exists());
        outer.wait().unwrap();
    }
}

#[test]
fn a_pipe_that_does_not_wait_agrees_with_poll() {
    let Some((writer, _)) = writers() else { return };
    let refused = scratch("refused-pipe");
    let words = [writer, "nonblocking", refused.to_str().unwrap()];
    let mut outer = outpace("run")
        .args([
            "--shim",
            "always",
            "--overflow",
            "block",
            "--memory",
            "64KiB",
        ])
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("a pipe that is full", || refused.exists());
    let mut whole = String::new();
    outer
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut whole)
        .unwrap();
    assert!(outer.wait().unwrap().success());
    assert_none_was_lost(&whole, "\n");
}

/// The reader of a pipe answers, and the program waits for that: each line comes without another one behind it.
#[test]
fn a_program_and_its_reader_can_take_turns() {
    let Some((_, _)) = writers() else { return };
    let mut words = outpace("run");
    words.args(["-v", "--shim", "always", "sed", "-u", "s/x/y/"]);
    let mut outer = words
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keys, output) = (outer.stdin.take().unwrap(), outer.stdout.take().unwrap());
    let mut answers = std::io::BufReader::new(output).lines();
    for turn in 0..2000 {
        writeln!(keys, "x{turn}").unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), format!("y{turn}"));
    }
    drop(keys);
    let said = text(&outer.wait_with_output().unwrap().stderr);
    let bytes = (0..2000)
        .map(|turn| format!("y{turn}\n").len())
        .sum::<usize>();
    assert!(
        said.contains(&format!("shim: {bytes} bytes through memory")),
        "{said}"
    );
}

/// What outlives the program keeps the pipe open, and its output comes, too; with the program's own before it.
#[test]
fn a_process_that_outlives_the_program_writes_to_the_pipe_until_it_ends() {
    let Some((writer, _)) = writers() else { return };
    let file = scratch("later");
    let path = file.to_str().unwrap();
    let script = format!(
        "{writer} burst; (while ! test -e {path}; do sleep 0.01; done; {writer} burst; echo later) & {writer} burst; touch {path}"
    );
    let shown = text(&shown_on(To::Pipe, "always", &["sh", "-c", &script]));
    let burst: String = (0..30).map(|n| format!("burst {n}\r\n")).collect();
    assert_eq!(shown, [&burst, &burst, &burst, "later\r\n"].concat());
}

#[test]
fn idle_it_costs_nothing() {
    let Some((writer, _)) = writers() else { return };
    let mut terminal = Terminal::run(&["--shim", "always", "--", writer, "idle"]);
    terminal.wait_for("idle 0");
    let words = [OUTPACE, "run", "--shim", "always", "--", writer, "idle"];
    let outer = process_of(&words).unwrap();
    let mut before = 0;
    wait_until("rest", || {
        let now = switches(outer);
        std::thread::sleep(std::time::Duration::from_millis(300));
        std::mem::replace(&mut before, now) == now && switches(outer) == now
    });
}

#[test]
fn a_program_that_cannot_have_it_is_refused_with_the_reason_or_runs_without_it() {
    let Some((writer, other)) = writers() else {
        return;
    };
    let refusals: &[(&[&str], &str)] = &[(&[other, "burst"], "it is linked statically")];
    for (words, reason) in refusals {
        let mut terminal = Terminal::run(&[&["--shim", "always", "--"], *words].concat());
        terminal.wait_for(&format!("outpace: --shim always: {reason}"));
        assert_eq!(terminal.wait().code(), Some(1));
        let mut terminal = Terminal::run(&[&["-v", "--"], *words].concat());
        terminal.wait_for("burst 29");
        terminal.wait_for(&format!("no shim: {reason}"));
        assert_eq!(terminal.wait().code(), Some(0));
    }
    let mut terminal = Terminal::start(
        "env",
        &[
            "LD_AUDIT=libm.so.6",
            OUTPACE,
            "run",
            "--shim",
            "always",
            writer,
        ],
        false,
    );
    terminal.wait_for("--shim always: LD_AUDIT is set");
    assert_eq!(terminal.wait().code(), Some(1));
    let mut command = outpace("run");
    let file = fs::File::create(scratch("regular")).unwrap();
    command.args(["--shim", "always", "true"]).stdout(file);
    let error = scratch("regular.error");
    command.stderr(fs::File::create(&error).unwrap());
    assert_eq!(command.status().unwrap().code(), Some(1));
    let error = fs::read_to_string(error).unwrap();
    assert!(
        error.contains("the program writes to no terminal or pipe of ours"),
        "{error}"
    );
    let mut terminal = Terminal::run(&["-v", "--shim", "always", "--", writer, "burst"]);
    terminal.wait_for("bytes through memory");
    assert_eq!(terminal.wait().code(), Some(0));
}

/// The program of `shim/hostile.c`, and a library that it loads: one that makes system calls of its own, or by the C library.
struct Hostile {
    program: String,
    raw: String,
    deep: String,
}

impl Hostile {
    fn get() -> Option<&'static Self> {
        static HOSTILE: OnceLock<Option<Hostile>> = OnceLock::new();
        let make = || {
            if !installed("cc") {
                return None;
            }
            let compiler = std::env::var("OUTPACE_CC").unwrap_or_else(|_| "cc".to_owned());
            let make = |name, options: &[&str]| {
                build_from("hostile.c", name, &compiler, options).expect("the compiler works")
            };
            const LIBRARY: [&str; 3] = ["-shared", "-fPIC", "-DLIBRARY"];
            Some(Hostile {
                program: make("hostile", &[]),
                raw: make("hostile-raw.so", &[&LIBRARY[..], &["-DRAW"]].concat()),
                deep: make("hostile-deep.so", &LIBRARY),
            })
        };
        HOSTILE.get_or_init(make).as_ref()
    }

    /// Runs it, and returns its lines on the terminal and in the file, without those of before and those that may be at either.
    fn run(&self, shim: &str, words: &[&str]) -> [Vec<String>; 2] {
        // Tests run side by side.
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let file = scratch(&format!("hostile.{run}"));
        let path = file.to_str().unwrap();
        let words = [&[&self.program, words[0], path][..], &words[1..]].concat();
        let shown = text(&shown(shim, &words));
        let written = fs::read_to_string(&file).unwrap();
        let lines = |text: &str| {
            let lines = text.lines().map(str::trim_end);
            let told = lines.filter(|line| !line.starts_with("begins ") && *line != "x");
            told.map(str::to_owned).collect()
        };
        [lines(&shown), lines(&written)]
    }
}

/// So often does `shim/hostile.c` let a descriptor lead elsewhere.
const CHANGES: usize = 300;

fn numbered(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{name} {n}")).collect()
}

/// However a descriptor becomes another one, in the midst of a burst: the next write goes where it leads now.
#[test]
fn a_descriptor_that_becomes_another_takes_the_next_write_along() {
    let Some(hostile) = Hostile::get() else {
        return;
    };
    const WAYS: [&str; 15] = [
        "close",
        "__close",
        "mq_close",
        "close_range",
        "fclose",
        "freopen",
        "dup2",
        "__dup2",
        "dup3",
        "syscall",
        "syscall's address",
        "address",
        "deep",
        "raw",
        "raw, known",
    ];
    for way in WAYS {
        let library = if way.starts_with("raw") {
            &hostile.raw
        } else {
            &hostile.deep
        };
        let [shown, written] = hostile.run("auto", &[way, library]);
        assert_eq!(written, numbered("file", CHANGES), "{way}");
        assert_eq!(
            shown,
            [&numbered("terminal", 3)[..]; CHANGES].concat(),
            "{way}"
        );
    }
}

#[test]
fn a_child_that_shares_memory_or_a_thread_with_descriptors_of_its_own_is_not_mistaken() {
    let Some(hostile) = Hostile::get() else {
        return;
    };
    for shim in ["auto", "always"] {
        let [shown, written] = hostile.run(shim, &["vfork"]);
        assert_eq!(written, numbered("file", CHANGES), "{shim}");
        let terminal = shown.iter().filter(|line| line.starts_with("terminal "));
        assert_eq!(terminal.count(), 3 * CHANGES, "{shim}");
        assert_eq!(shown.len(), 4 * CHANGES, "{shim}");
        for what in ["unshare", "unsharing range"] {
            let [shown, written] = hostile.run(shim, &[what]);
            assert_eq!(written, numbered("file", CHANGES), "{what}, {shim}");
            assert_eq!(
                shown,
                [&numbered("terminal", CHANGES)[..]; 3].concat(),
                "{what}, {shim}"
            );
        }
        let [shown, written] = hostile.run(shim, &["daemon"]);
        assert_eq!(written, numbered("file", CHANGES), "daemon, {shim}");
        assert_eq!(shown, numbered("terminal", 3), "daemon, {shim}");
    }
}

/// One thread writes all the time; another one lets the descriptor lead to a file, and back, so many times.
fn descriptor_to_and_fro(rounds: usize) {
    let Some(hostile) = Hostile::get() else {
        return;
    };
    for what in ["race", "closing race"] {
        let [shown, written] = hostile.run("auto", &[what, &rounds.to_string()]);
        for (lines, name, rest) in [(shown, "terminal ", 1), (written, "file ", 0)] {
            let mut last = 0;
            for line in lines {
                let phase: usize = line
                    .strip_prefix(name)
                    .and_then(|number| number.parse().ok())
                    .unwrap_or_else(|| panic!("{what}: {line:?} after {name}{last}"));
                assert!(
                    phase % 2 == rest && phase >= last,
                    "{what}: {phase} after {last}"
                );
                last = phase;
            }
            assert_eq!(last, 2 * rounds - rest, "{what}");
        }
    }
}

#[test]
fn a_thread_that_writes_while_another_changes_the_descriptor_writes_to_one_or_the_other() {
    descriptor_to_and_fro(500);
}

/// `cargo test -p outpace-cli --test run_shim -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn a_descriptor_goes_to_and_fro_ten_thousand_times_under_a_thread_that_writes() {
    for _ in 0..20 {
        descriptor_to_and_fro(500);
    }
}

/// `-v` says why each write of a program is checked, if so.
#[test]
fn a_library_that_makes_system_calls_of_its_own_is_named() {
    let Some(hostile) = Hostile::get() else {
        return;
    };
    let file = scratch("hostile.named");
    let words = [
        &hostile.program,
        "raw, known",
        file.to_str().unwrap(),
        &hostile.raw,
    ];
    let mut terminal = Terminal::run(&[&["-v", "--"], &words[..]].concat());
    terminal.wait_for("each of its writes was checked first: ");
    terminal.wait_for("hostile-raw.so makes system calls of its own");
    terminal.whole();
}

#[test]
fn programs_of_many_languages_write_the_same() {
    let programs: &[(&str, &[&str])] = &[
        (
            "perl",
            &[
                "-e",
                "$|=1; for (1..3000) { print \"line $_\\n\" } print STDERR \"end\\n\"",
            ],
        ),
        (
            "sh",
            &[
                "-c",
                "i=0; while test $i -lt 500; do echo line $i; echo err $i >&2; i=$((i+1)); done; ls /dev/null; echo end",
            ],
        ),
        (
            "bash",
            &[
                "-c",
                "for i in {1..300}; do echo $i; done; (echo sub); cat /dev/null; exec echo last",
            ],
        ),
        ("seq", &["20000"]),
        (
            "awk",
            &[
                "BEGIN { for (i = 0; i < 5000; i++) print i; system(\"echo system\"); print \"end\" }",
            ],
        ),
        (
            "node",
            &[
                "-e",
                "for (let i = 0; i < 2000; i++) console.log('line ' + i); console.error('end')",
            ],
        ),
        (
            "python3",
            &[
                "-c",
                "import os,sys,subprocess\nfor i in range(3000): print('line', i)\nsys.stdout.flush(); subprocess.run(['echo','child']); os.system('echo shell'); print('end')",
            ],
        ),
    ];
    for (program, arguments) in programs {
        if installed(program) {
            let words = [&[*program], *arguments].concat();
            assert_eq!(
                text(&shown("auto", &words)),
                text(&shown("never", &words)),
                "{program}"
            );
        }
    }
}

#[test]
fn what_is_skipped_is_in_the_file_also_what_was_in_memory_still() {
    let mut probe = Terminal::run(&["--shim", "always", "--", "seq", "1"]);
    if !probe.wait().success() {
        eprintln!("skipped: there is no shim here");
        return;
    }
    let tee = scratch("skipped.tee");
    let limits = ["--overflow", "block", "--memory", "64KiB", "--tee"];
    let program = [tee.to_str().unwrap(), "--", "seq", "100000"];
    let arguments = [&["run"], &limits[..], &program].concat();
    let mut terminal = Terminal::start(OUTPACE, &arguments, true);
    let children = |process: i32| {
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let children = children.unwrap_or_default();
        let numbers = children.split_whitespace();
        numbers
            .map(|child| child.parse().unwrap())
            .collect::<Vec<i32>>()
    };
    wait_until("the end of the program", || {
        let has_written = fs::metadata(&tee).is_ok_and(|tee| tee.len() > 0);
        let leader = children(terminal.process());
        has_written
            && leader
                .first()
                .is_some_and(|leader| children(*leader).is_empty())
    });
    // Until that is known, the signal is for the program. One more would end what the first one began, which takes two seconds
    // at most, and has its time.
    let outer = Pid::from_raw(terminal.process()).unwrap();
    let mut sent: Option<Instant> = None;
    wait_until("the end", || {
        if sent.is_none_or(|sent| sent.elapsed() > Duration::from_secs(5)) {
            let _ = kill_process(outer, Signal::TERM);
            sent = Some(Instant::now());
        }
        terminal.has_ended()
    });
    terminal.unstall();
    let shown = text(&terminal.whole());
    assert!(shown.contains("all of it is in"), "{shown:?}");
    let whole = fs::read_to_string(&tee).unwrap().replace("\r\n", "\n");
    let expected: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert!(
        whole == expected,
        "{} of {} bytes",
        whole.len(),
        expected.len()
    );
}
