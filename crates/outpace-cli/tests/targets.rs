//! What `run` and `trace` promise in figures, measured: one row of a table each, beside its target.
//!
//! ```text
//! cargo test --release -p outpace-cli --test targets -- --ignored --nocapture --test-threads=1
//! ```
//!
//! The contestants of a row are interleaved, and what counts is the median of the ratios of the rounds;
//! `OUTPACE_ROUNDS` sets how many there are (5; 3 where a round takes long), `OUTPACE_STALL` for how many seconds
//! no output is read (10; a promise is about 60), `OUTPACE_KILLS` how often a process is killed (50), `OUTPACE_TARGETS`
//! names a file that gets the rows as JSON, a line each. With these defaults it takes less than 8 minutes. No test here
//! passes or fails by a time: the reader judges the rows, which need a machine without other work.

mod corpus;
mod scripted;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use scripted::{
    Terminal, installed, open_terminal, outpace, parent_of, process_of, scratch, wait_until,
};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn setting(name: &str, usual: usize) -> usize {
    let set = std::env::var(name).ok();
    set.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn rounds() -> usize {
    setting("OUTPACE_ROUNDS", 5)
}

/// Where a round takes seconds.
fn few_rounds() -> usize {
    setting("OUTPACE_ROUNDS", 3)
}

fn stall() -> u64 {
    setting("OUTPACE_STALL", 10) as u64
}

/// The side of its target on which a figure should be.
#[derive(Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// A control, which shows the best that the row above it could be.
    None,
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Prints a row: the median of the figures, their extremes, and the target.
fn row(what: &str, figures: &[f64], target: Target) {
    let figure = median(figures);
    let (met, wanted) = match target {
        Target::AtMost(most) => (Some(figure <= most), format!("at most {most}")),
        Target::AtLeast(least) => (Some(figure >= least), format!("at least {least}")),
        Target::None => (None, "control".to_owned()),
    };
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The name of the test is on the line before.
    println!(
        "\n| {what} | {figure:.3} ({least:.3} to {most:.3}) | {wanted} | {} |",
        met.map_or("", |met| if met { "met" } else { "missed" })
    );
    if let Some(path) = std::env::var_os("OUTPACE_TARGETS") {
        let row = json!({ "row": what, "median": figure, "rounds": figures, "target": wanted, "met": met });
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        writeln!(file, "{row}").unwrap();
    }
}

/// The ratios of two measurements, taken in turn; the order changes every round.
fn ratios(ours: impl FnMut() -> f64, theirs: impl FnMut() -> f64) -> Vec<f64> {
    ratios_of(rounds(), ours, theirs)
}

fn ratios_of(
    rounds: usize,
    mut ours: impl FnMut() -> f64,
    mut theirs: impl FnMut() -> f64,
) -> Vec<f64> {
    (0..rounds)
        .map(|round| {
            if round % 2 == 0 {
                let ours = ours();
                ours / theirs()
            } else {
                let theirs = theirs();
                ours() / theirs
            }
        })
        .collect()
}

fn seconds_of(command: &mut Command) -> f64 {
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).status().unwrap();
    assert!(status.success(), "{command:?}");
    began.elapsed().as_secs_f64()
}

/// A program that makes this many small writes.
fn small_writes() -> Option<String> {
    if !installed("cc") {
        return None;
    }
    let (source, program) = (scratch("small.c"), scratch("small"));
    let text = "#include <stdlib.h>\n#include <unistd.h>\n\
                int main(int n, char **a) { for (long i = atol(a[n - 1]); i > 0; i--) if (write(1, \"x\\n\", 2) != 2) return 1; }\n";
    fs::write(&source, text).unwrap();
    let built = Command::new("cc")
        .args(["-O2", "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(built.success());
    Some(program.to_str().unwrap().to_owned())
}

#[test]
#[ignore = "measures"]
fn trace_in_the_default_mode_costs_next_to_nothing() {
    let Some(program) = small_writes() else {
        return;
    };
    let plain = |to: fn() -> Stdio| seconds_of(Command::new(&program).arg("1000000").stdout(to()));
    let report = scratch("report.json");
    let traced = |to: fn() -> Stdio| {
        let mut command = outpace("trace");
        command
            .arg("--json")
            .arg(&report)
            .args(["--", &program, "1000000"]);
        let mut child = command.stdout(to()).stderr(Stdio::null()).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let found: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        found["wall_ns"].as_f64().unwrap() / 1e9
    };
    for (name, to) in [
        ("the null device", Stdio::null as fn() -> Stdio),
        ("a pipe", drained_pipe),
        ("a terminal that reads at once", drained_terminal),
    ] {
        let what = format!("`trace`, default mode, slowdown of 10^6 small writes to {name}");
        let ratios = ratios(|| traced(to), || plain(to));
        row(&what, &ratios, Target::AtMost(1.05));
    }
}

/// A pipe that is read to its end.
fn drained_pipe() -> Stdio {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    drain(File::from(reader));
    writer.into()
}

fn drained_terminal() -> Stdio {
    let (ours, program) = open_terminal(80, 24);
    drain(File::from(ours));
    program.into()
}

fn drain(mut from: File) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while from.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
}

#[test]
#[ignore = "measures"]
fn trace_exact_costs_a_part_of_what_strace_costs() {
    let Some(program) = small_writes().filter(|_| installed("strace")) else {
        return;
    };
    const WRITES: &str = "200000";
    let strace = || {
        let mut command = Command::new("strace");
        command
            .args(["-c", "-f", "--seccomp-bpf", "-e", "trace=write"])
            .args([&program, WRITES])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        seconds_of(&mut command)
    };
    let report = scratch("report.json");
    let arguments = |command: &mut Command| {
        command
            .args(["--exact", "--json"])
            .arg(&report)
            .args(["--", &program, WRITES])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
    };
    let mode = || {
        let found: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(found["streams"][0]["calls"].as_u64(), WRITES.parse().ok());
        found["mode"].as_str().unwrap().to_owned()
    };
    let mut command = outpace("trace");
    arguments(&mut command);
    seconds_of(&mut command);
    if mode() == "tracepoints" {
        let ratios = ratios(|| seconds_of(&mut command), strace);
        let what = "`trace --exact` with tracepoints, time against strace's";
        row(what, &ratios, Target::AtMost(0.1));
    } else {
        eprintln!("skipped: tracepoints are not available here");
    }
    let mut command = scripted::without_privileges("trace");
    arguments(&mut command);
    seconds_of(&mut command);
    assert_eq!(mode(), "ptrace");
    let ratios = ratios(|| seconds_of(&mut command), strace);
    let what = "`trace --exact` with ptrace, time against strace's";
    row(what, &ratios, Target::AtMost(1.1));
}

/// Bytes a second that a flood brings through a pipe, read for so long.
fn flood(command: &mut Command) -> f64 {
    const TIME: Duration = Duration::from_secs(1);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 20];
    let (began, mut bytes, mut touched) = (Instant::now(), 0_u64, 0_u64);
    while began.elapsed() < TIME {
        let read = reader.read(&mut buffer).unwrap();
        assert!(read > 0);
        bytes += read as u64;
        // A real reader looks at the bytes.
        touched += buffer[..read]
            .iter()
            .map(|byte| u64::from(*byte))
            .sum::<u64>();
    }
    let rate = bytes as f64 / began.elapsed().as_secs_f64();
    assert!(touched > 0);
    drop(reader);
    child.wait().unwrap();
    rate
}

#[test]
#[ignore = "measures"]
fn a_flood_through_run_is_nearly_as_fast_as_without() {
    let ratios = ratios(
        || flood(outpace("run").args(["--", "yes"])),
        || flood(&mut Command::new("yes")),
    );
    let what = "`yes` into a pipe, throughput through `run` / without";
    row(what, &ratios, Target::AtLeast(0.8));
}

#[test]
#[ignore = "measures"]
fn run_adds_little_to_the_echo_of_a_key() {
    /// Milliseconds from a key to its echo, the median of many.
    fn echo(mut terminal: Terminal) -> f64 {
        terminal.wait_for("ready");
        let times: Vec<f64> = (0..200)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(3));
                let began = Instant::now();
                terminal.type_keys("k");
                terminal.wait_for("k");
                began.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        terminal.type_keys("\x03");
        terminal.wait();
        median(&times)
    }
    let command = ["sh", "-c", "stty raw isig -echo; echo ready; exec cat"];
    let added: Vec<f64> = (0..rounds())
        .map(|_| {
            let under_run = echo(Terminal::run(&[&["--"], &command[..]].concat()));
            under_run - echo(Terminal::start(command[0], &command[1..], false))
        })
        .collect();
    let what = "milliseconds that `run` adds to a key's echo, median";
    row(what, &added, Target::AtMost(1.0));
}

#[test]
#[ignore = "measures"]
fn run_adds_little_to_a_question_to_the_terminal() {
    let Some(program) = helper("asks") else {
        return;
    };
    let file = scratch("answers");
    let answered_in = |words: &[&str]| -> f64 {
        let (ours, theirs) = open_terminal(80, 24);
        let mut terminal = File::from(ours);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = terminal.read(&mut buffer) {
                let questions = buffer[..read].iter().filter(|byte| **byte == b'n').count();
                let _ = terminal.write_all("\x1b[1;1R".repeat(questions).as_bytes());
            }
        });
        let side = || Stdio::from(theirs.try_clone().unwrap());
        let status = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .args(words)
            .arg(&program)
            .arg(&file)
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .status();
        assert!(status.unwrap().success());
        fs::read_to_string(&file).unwrap().trim().parse().unwrap()
    };
    let run = [env!("CARGO_BIN_EXE_outpace"), "run", "--"];
    let added: Vec<f64> = (0..rounds())
        .map(|_| answered_in(&run) - answered_in(&[]))
        .collect();
    let what = "milliseconds that `run` adds to the answer of the terminal, 95 of 100";
    row(what, &added, Target::AtMost(1.0));
}

#[test]
#[ignore = "measures"]
fn memory_is_bounded_while_nothing_is_read() {
    let seconds = stall();
    for overflow in ["spill", "block", "drop"] {
        let mut child = outpace("run")
            .args(["--overflow", overflow, "--spill-limit", "3GiB"])
            .args(["--", "head", "-c", "2000000000", "/dev/zero"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let (began, mut most_kib) = (Instant::now(), 0.0_f64);
        while began.elapsed() < Duration::from_secs(seconds) {
            let text = fs::read_to_string(&status).unwrap();
            let field = |name: &str| -> f64 {
                let line = text.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap()
                    .trim()
                    .trim_end_matches(" kB")
                    .parse()
                    .unwrap()
            };
            // Without the pages of the program's file, which it shares with every other.
            most_kib = most_kib.max(field("RssAnon:") + field("RssShmem:"));
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let what =
            format!("MiB of memory beyond --memory, 2 GB produced, nothing read, {overflow}");
        row(&what, &[most_kib / 1024.0 - 64.0], Target::AtMost(8.0));
    }
}

/// A display for terminals: the user's, or one of our own.
fn display() -> Option<(Option<Child>, String)> {
    if let Ok(display) = std::env::var("DISPLAY") {
        return Some((None, display));
    }
    if !installed("Xvfb") {
        return None;
    }
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1280x1024x24"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut number = String::new();
    let mut byte = [0];
    let mut output = server.stdout.take().unwrap();
    while output.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
        number.push(byte[0].into());
    }
    Some((Some(server), format!(":{number}")))
}

/// A program of `tests/shim`, built.
fn helper(name: &str) -> Option<String> {
    if !installed("cc") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/shim/{name}.c"));
    let program = scratch(name);
    let built = Command::new("cc")
        .args(["-O2", "-w", "-pthread", "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(built.success());
    Some(program.to_str().unwrap().to_owned())
}

/// The programs of the table, and the most of their own time that is left under `run`: in xterm, and on a terminal that
/// reads at once.
const PROGRAMS: [(&str, f64, f64); 7] = [
    ("rust-println", 0.08, 0.25),
    ("cpp-endl", 0.08, 0.25),
    ("c-stdio", 0.08, 0.25),
    ("perl-autoflush", 0.08, 0.25),
    ("java-println", 0.15, 0.3),
    ("python-print", 0.3, 0.45),
    ("node-log", 0.45, 0.6),
];

/// The command of a program that is installed, for 500,000 lines.
fn half_a_million(name: &str) -> Option<String> {
    let programs = corpus::programs();
    let program = programs.iter().find(|program| program.name == name)?;
    if !program.is_ready() {
        return None;
    }
    let mut words = program.run.clone();
    if words[0] == "python3" {
        // The program of this name may be a script that starts another (pyenv's).
        let asks = ["-c", "import sys; print(sys.executable)"];
        let output = Command::new("python3").args(asks).output().unwrap();
        words[0] = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    }
    Some(format!("{} 500000", words.join(" ")))
}

/// Nanoseconds from when this file got the time to the end of the program with these words. It is looked for from outside, as
/// a shell around it would be another program under `run`.
fn own_time(command: &str, from: &Path) -> f64 {
    let words: Vec<&str> = command.split_whitespace().collect();
    let began = Instant::now();
    let program = loop {
        if let Some(program) = process_of(&words) {
            break program;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{command} never came"
        );
    };
    let flags = rustix::process::PidfdFlags::empty();
    if let Ok(program) = rustix::process::pidfd_open(Pid::from_raw(program).unwrap(), flags) {
        let mut ended = [rustix::event::PollFd::new(
            &program,
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut ended, None).unwrap();
    }
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as f64;
    let from: f64 = fs::read_to_string(from).unwrap().trim().parse().unwrap();
    now - from
}

fn is_written(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.ends_with(b"\n"))
}

const RUN: &str = concat!(env!("CARGO_BIN_EXE_outpace"), " run -- ");

#[test]
#[ignore = "measures"]
fn programs_in_xterm_do_not_wait_for_it_under_run() {
    let Some((mut server, display)) = display().filter(|_| installed("xterm")) else {
        return;
    };
    let (script, from) = (scratch("script"), scratch("from"));
    // The program's own time: until it has ended, not until the terminal has shown everything.
    let time_of = |prefix: &str, command: &str| -> f64 {
        let text = format!("date +%s%N > {}\nexec {prefix}{command}\n", from.display());
        fs::write(&script, text).unwrap();
        let mut xterm = Command::new("xterm")
            .args(["-geometry", "80x24", "-e", "sh"])
            .arg(&script)
            .env("DISPLAY", &display)
            .env_remove("PYTHONUNBUFFERED")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let time = own_time(command, &from);
        // The rest of its output is of no interest.
        let _ = xterm.kill();
        xterm.wait().unwrap();
        time
    };
    for (name, target, _) in PROGRAMS {
        let Some(command) = half_a_million(name) else {
            continue;
        };
        let ours = || time_of(RUN, &command);
        let ratios = ratios_of(few_rounds(), ours, || time_of("", &command));
        let what = format!("500,000 short lines in xterm, own time under `run` / without, {name}");
        row(&what, &ratios, Target::AtMost(target));
    }
    if let Some(server) = &mut server {
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

#[test]
#[ignore = "measures"]
fn programs_on_a_terminal_that_reads_at_once_are_faster_under_run() {
    let from = scratch("from-at-once");
    let time_of = |prefix: &str, command: &str| -> f64 {
        let words = format!("date +%s%N > {}; exec {prefix}{command}", from.display());
        let mut shell = Command::new("sh")
            .args(["-c", &words])
            .env_remove("PYTHONUNBUFFERED")
            .stdin(Stdio::null())
            .stdout(drained_terminal())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let time = own_time(command, &from);
        assert!(shell.wait().unwrap().success());
        time
    };
    for (name, _, target) in PROGRAMS {
        let Some(command) = half_a_million(name) else {
            continue;
        };
        let ours = || time_of(RUN, &command);
        let ratios = ratios_of(few_rounds(), ours, || time_of("", &command));
        let what = format!("the same on a terminal that reads at once, {name}");
        row(&what, &ratios, Target::AtMost(target));
    }
}

#[test]
#[ignore = "measures"]
fn a_write_through_memory_costs_a_fraction_of_one_to_a_terminal() {
    let Some(program) = helper("cost") else {
        return;
    };
    let file = scratch("cost-result");
    for (threads, target) in [("1", 60.0), ("4", 250.0)] {
        let costs: Vec<f64> = (0..few_rounds())
            .map(|_| {
                let words = [
                    "--shim",
                    "always",
                    "--",
                    &program,
                    threads,
                    file.to_str().unwrap(),
                ];
                let status = outpace("run")
                    .args(words)
                    .stdout(drained_terminal())
                    .status();
                assert!(status.unwrap().success());
                fs::read_to_string(&file).unwrap().trim().parse().unwrap()
            })
            .collect();
        let what = format!("nanoseconds of a write of 60 bytes in a burst, threads: {threads}");
        row(&what, &costs, Target::AtMost(target));
    }
}

#[test]
#[ignore = "measures"]
fn a_small_program_starts_nearly_as_fast_with_the_shim() {
    const STARTS: usize = 30;
    let start = |shim: &str| {
        let began = Instant::now();
        for _ in 0..STARTS {
            let mut command = outpace("run");
            command.args(["--shim", shim, "--", "true"]);
            assert!(
                command
                    .stdout(drained_terminal())
                    .status()
                    .unwrap()
                    .success()
            );
        }
        began.elapsed().as_secs_f64()
    };
    let what = "start of a small program with the shim / without";
    row(
        what,
        &ratios(|| start("always"), || start("never")),
        Target::AtMost(1.1),
    );
}

/// The process that is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Program,
    Leader,
    Outer,
}

/// Lines that a program's writes had returned for, and that did not come, when this was killed at a random moment.
fn lines_lost(writer: &str, victim: Victim, round: usize) -> f64 {
    // Of another name in each round, as the program of the round before may still be ending.
    let counter = scratch(&format!("counter-{victim:?}-{round}"));
    let words = [writer, "counted", counter.to_str().unwrap()];
    let terminal = Terminal::run(&[&["--shim", "always", "--"], &words[..]].concat());
    let mut found = None;
    wait_until("the program", || {
        found =
            process_of(&words).filter(|_| fs::metadata(&counter).is_ok_and(|file| file.len() > 0));
        found.is_some()
    });
    let program = found.unwrap();
    let leader = parent_of(program);
    let victim = match victim {
        Victim::Program => program,
        Victim::Leader => leader,
        Victim::Outer => parent_of(leader),
    };
    std::thread::sleep(Duration::from_micros((round * 7919 % 9000) as u64));
    let _ = kill_process(Pid::from_raw(victim).unwrap(), Signal::KILL);
    let shown = terminal.whole();
    let count = fs::read(&counter).unwrap();
    fs::remove_file(&counter).unwrap();
    let count = u64::from_ne_bytes(*count.first_chunk().unwrap());
    // All of them: lost lines may lie in between.
    let text = scripted::text(&shown);
    let numbers = text
        .split_terminator("\r\n")
        .filter_map(|line| line.strip_prefix("n ")?.parse::<u64>().ok());
    let came: std::collections::BTreeSet<u64> = numbers.filter(|number| *number < count).collect();
    let lost: Vec<u64> = (0..count).filter(|number| !came.contains(number)).collect();
    // What the relay had taken out of the memory and not shown is one piece: what lay before and behind it came.
    let pieces: Vec<&[u64]> = lost.chunk_by(|one, next| one + 1 == *next).collect();
    for piece in &pieces {
        println!(
            "lost: {} to {} of {count}",
            piece[0],
            piece[piece.len() - 1]
        );
    }
    assert!(pieces.len() <= 1, "round {round}");
    lost.len() as f64
}

/// Lines lost in each of many rounds.
fn losses(victim: Victim) -> Vec<f64> {
    let kills = setting("OUTPACE_KILLS", 50);
    let Some(writer) = helper("writer") else {
        return Vec::new();
    };
    (0..kills)
        .map(|round| lines_lost(&writer, victim, round))
        .collect()
}

/// In no round may any be lost: the row is of the worst.
fn no_line_is_lost(victim: Victim, name: &str) {
    let lost = losses(victim);
    if let Some(most) = lost.iter().copied().reduce(f64::max) {
        let what = format!(
            "most lines lost in {} rounds of `kill -9` of {name}",
            lost.len()
        );
        row(&what, &[most], Target::AtMost(0.0));
    }
}

#[test]
#[ignore = "measures"]
fn nothing_is_lost_when_the_program_is_killed() {
    no_line_is_lost(Victim::Program, "the program");
}

#[test]
#[ignore = "measures"]
fn nothing_is_lost_when_the_leader_is_killed() {
    no_line_is_lost(Victim::Leader, "the leader of its session");
}

#[test]
#[ignore = "measures"]
fn little_is_lost_when_run_itself_is_killed() {
    let lost = losses(Victim::Outer);
    if !lost.is_empty() {
        let rounds = lost.len();
        let what = format!(
            "lines lost in {rounds} rounds of `kill -9` of the relay: what it held outside the shared memory"
        );
        row(&what, &lost, Target::None);
    }
}

/// A control group with half a processor; none, aloud, where that cannot be made.
struct HalfProcessor(std::path::PathBuf);

impl HalfProcessor {
    fn new() -> Option<Self> {
        let name = format!("outpace-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/cpu").join(&name);
        let second = Path::new("/sys/fs/cgroup").join(&name);
        let made = if Path::new("/sys/fs/cgroup/cpu").is_dir() {
            fs::create_dir(&first)
                .and_then(|()| fs::write(first.join("cpu.cfs_period_us"), "100000"))
                .and_then(|()| fs::write(first.join("cpu.cfs_quota_us"), "50000"))
                .map(|()| first)
        } else {
            fs::create_dir(&second)
                .and_then(|()| fs::write(second.join("cpu.max"), "50000 100000"))
                .map(|()| second)
        };
        match made {
            Ok(directory) => Some(Self(directory)),
            Err(error) => {
                eprintln!("skipped: a control group cannot be made: {error}");
                None
            }
        }
    }
}

impl Drop for HalfProcessor {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Milliseconds of the longest log call of a program in a group with half a processor, started by these words, whose log is not read:
/// as the clock has it, and without what a hypervisor takes (`shim/logger.c`).
fn longest_log_call(program: &str, words: &str, group: &HalfProcessor) -> [f64; 2] {
    let file = scratch("longest");
    let _ = fs::remove_file(&file);
    let joins = format!(
        "echo $$ > {}; exec {words} {program} {} {}",
        group.0.join("cgroup.procs").display(),
        stall(),
        file.display()
    );
    let mut child = Command::new("sh")
        .args(["-c", &joins])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(stall()));
    wait_until("the longest call", || is_written(&file));
    // The log was not read.
    drop(child.stdout.take());
    child.wait().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    println!("longest, own, calls, waits: {text}");
    let mut longest = text.split(' ').map(|ns| ns.parse::<f64>().unwrap() / 1e6);
    std::array::from_fn(|_| longest.next().unwrap())
}

/// `OUTPACE_STALL=60` is the promise's minute.
#[test]
#[ignore = "measures"]
fn a_log_call_is_short_while_the_collector_stands_still() {
    let (Some(program), Some(group)) = (helper("logger"), HalfProcessor::new()) else {
        return;
    };
    let run = format!("{} run --overflow drop --", env!("CARGO_BIN_EXE_outpace"));
    let seconds = stall();
    let under_run = "collector stopped, `--overflow drop`";
    let (mut ours, mut controls) = (Vec::new(), Vec::new());
    for _ in 0..few_rounds() {
        ours.push(longest_log_call(&program, &run, &group));
        controls.push(longest_log_call(&program, ">/dev/null", &group));
    }
    for (rounds, whose, target) in [
        (ours, under_run, Target::AtMost(1.0)),
        (controls, "to the null device", Target::None),
    ] {
        let kinds = [
            ("without what the hypervisor takes", target),
            ("as the clock has it", Target::None),
        ];
        for (at, (kind, target)) in [(1, kinds[0]), (0, kinds[1])] {
            let figures: Vec<f64> = rounds.iter().map(|round| round[at]).collect();
            let what = format!(
                "milliseconds of the longest log call, half a processor, {seconds} s, {whose}, {kind}"
            );
            row(&what, &figures, target);
        }
    }
}

/// How a terminal takes what a server logs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace<'a> {
    BytesPerSecond(u64),
    Stalled,
    AtOnce,
    /// It is the null device.
    Nowhere,
    /// It is kitty, on this display.
    Kitty(&'a str),
    /// It is kitty, but another process writes so many such lines a second there: what the terminal itself takes of the
    /// processors. The server's own lines go to the null device.
    KittyOfAnother(&'a str, u32),
}

/// The terminal that a terminal emulator has opened, for as long as that is there.
fn kitty(display: &str) -> (Child, OwnedFd) {
    let name = scratch("tty");
    let tell = format!("tty > {}; exec sleep 1000", name.display());
    let kitty = Command::new("kitty")
        .args(["-o", "confirm_os_window_close=0", "sh", "-c", &tell])
        .env("DISPLAY", display)
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("kitty's terminal", || is_written(&name));
    let name = fs::read_to_string(&name).unwrap();
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let terminal = rustix::fs::open(name.trim(), flags, rustix::fs::Mode::empty()).unwrap();
    (kitty, terminal)
}

fn nowhere() -> OwnedFd {
    let file = File::options().write(true).open("/dev/null");
    file.unwrap().into()
}

/// Writes so many lines a second, as a server logs them, all 4 ms, for as long as there is a terminal.
fn write_lines(terminal: &mut File, lines: u32) {
    const OFTEN: Duration = Duration::from_millis(4);
    let line = "request 123456: GET / answered with 200, 14 bytes\n";
    let some = line.repeat((lines / 250) as usize);
    let mut due = Instant::now();
    while terminal.write_all(some.as_bytes()).is_ok() {
        due = (due + OFTEN).max(Instant::now());
        std::thread::sleep(due - Instant::now());
    }
}

/// Requests a second that a server answers, with 8 connections, while it logs to a terminal.
fn requests_per_second(command: &mut Command, pace: Pace<'_>) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut others = Vec::new();
    let (program, ours) = match pace {
        Pace::Kitty(display) => {
            let (kitty, terminal) = kitty(display);
            others.push(kitty);
            (terminal, None)
        }
        Pace::KittyOfAnother(display, lines) => {
            let (kitty, terminal) = kitty(display);
            others.push(kitty);
            std::thread::spawn(move || write_lines(&mut File::from(terminal), lines));
            (nowhere(), None)
        }
        Pace::Nowhere => (nowhere(), None),
        _ => {
            let (ours, program) = open_terminal(80, 24);
            (program, Some(ours))
        }
    };
    let mut child = command
        .stdin(OwnedFd::from(listener))
        .stdout(program)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Our copies would keep the socket and the terminal open.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let reader = match (pace, ours) {
        (Pace::Stalled, ours) => ours,
        (Pace::AtOnce, Some(ours)) => {
            drain(File::from(ours));
            None
        }
        (Pace::BytesPerSecond(rate), Some(ours)) => {
            let mut terminal = File::from(ours);
            std::thread::spawn(move || {
                let mut meal = vec![0; (rate / 200) as usize];
                while terminal.read(&mut meal).is_ok_and(|read| read > 0) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            None
        }
        _ => None,
    };
    wait_until("the server", || ask(address, "/").is_some());
    let url = format!("http://{address}/");
    let wrk = Command::new("wrk")
        .args(["-t1", "-c8", "-d2s", &url])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&wrk.stdout).into_owned();
    let rate = said
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"))
        .unwrap_or_else(|| panic!("{said}"));
    // Output still queued for the terminal is discarded.
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    for other in &mut others {
        let _ = other.kill();
        other.wait().unwrap();
    }
    // A server left behind on a pipe ends when it finds that the pipe has no reader.
    wait_until("the end of the server", || ask(address, "/").is_none());
    rate.trim().parse().unwrap()
}

/// One request and the beginning of its answer.
fn ask(address: SocketAddr, path: &str) -> Option<()> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    (stream.read(&mut [0; 16]).ok()? > 0).then_some(())
}

/// The server of `shim/server.rs`, built.
fn server() -> Option<String> {
    if !installed("wrk") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shim/server.rs");
    let program = scratch("server");
    let built = Command::new("rustc")
        .args(["-O", "--edition", "2024", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success());
    Some(program.to_str().unwrap().to_owned())
}

/// A row of the requests a second that a command answers, against those of the server without logging; the median of the former.
fn requests_row(
    what: &str,
    server: &str,
    ours: (Command, Pace<'_>),
    without: Pace<'_>,
    target: Target,
) -> f64 {
    let (mut printing, pace) = ours;
    let mut silent = Command::new(server);
    silent.arg("silent");
    let mut rates = Vec::new();
    let ours = || {
        rates.push(requests_per_second(&mut printing, pace));
        *rates.last().unwrap()
    };
    let ratios = ratios_of(few_rounds(), ours, || {
        requests_per_second(&mut silent, without)
    });
    row(what, &ratios, target);
    median(&rates)
}

fn under_run(options: &[&str], server: &str) -> Command {
    let mut command = outpace("run");
    command.args(options).args(["--", server]);
    command
}

#[test]
#[ignore = "measures"]
fn a_server_that_prints_does_not_wait_for_its_terminal_under_run() {
    let Some(server) = server() else { return };
    for (options, name, pace) in [
        (&[][..], "pty:1MB/s", Pace::BytesPerSecond(1_000_000)),
        (&[], "pty:stalled", Pace::Stalled),
        (&["--pipe"], "pty:stalled", Pace::Stalled),
    ] {
        let command = [&["run"], options].concat().join(" ");
        let what = format!("HTTP server with println! under `{command}` / without logging, {name}");
        let ours = (under_run(options, &server), pace);
        requests_row(&what, &server, ours, pace, Target::AtLeast(0.95));
    }
    for (name, pace) in [
        ("the null device", Pace::Nowhere),
        ("a terminal that reads at once", Pace::AtOnce),
    ] {
        let what = format!("the same without `run`, to {name}");
        let ours = (Command::new(&server), pace);
        requests_row(&what, &server, ours, pace, Target::None);
    }
}

#[test]
#[ignore = "measures"]
fn a_server_that_prints_to_kitty_under_run_and_what_kitty_itself_takes() {
    let Some(server) = server() else { return };
    let Some((x_server, display)) = display().filter(|_| installed("kitty")) else {
        return;
    };
    let idle = Pace::Kitty(&display);
    let what = "HTTP server with println! under `run` / without logging, kitty";
    let ours = (under_run(&[], &server), idle);
    let rate = requests_row(what, &server, ours, idle, Target::AtLeast(0.9));
    let what = format!(
        "the same without logging, while another process writes {rate:.0} such lines a second to kitty"
    );
    let mut silent = Command::new(&server);
    silent.arg("silent");
    let ours = (silent, Pace::KittyOfAnother(&display, rate as u32));
    requests_row(&what, &server, ours, idle, Target::None);
    if let Some(mut server) = x_server {
        server.kill().unwrap();
        server.wait().unwrap();
    }
}
