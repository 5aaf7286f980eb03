//! What `run` and `trace` promise in figures, measured: one row of a table each, beside its target.
//!
//! ```text
//! cargo test --release -p outpace-cli --test targets -- --ignored --nocapture --test-threads=1
//! ```
//!
//! The contestants of a row are interleaved, and what counts is the median of the ratios of the rounds;
//! `OUTPACE_ROUNDS` sets how many there are (5), `OUTPACE_TARGETS` names a file that gets the rows as
//! JSON, a line each. Nothing here passes or fails by a time: that is for the reader to judge, on a
//! machine that does nothing else.

mod corpus;
mod scripted;

use rustix::pipe::{PipeFlags, pipe_with};
use scripted::{Terminal, installed, open_terminal, outpace, scratch, wait_until};
use serde_json::json;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn rounds() -> usize {
    let rounds = std::env::var("OUTPACE_ROUNDS").ok();
    rounds.and_then(|text| text.parse().ok()).unwrap_or(5)
}

/// Which side of its target a figure should be on.
#[derive(Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// A control, which says what the row above it could be.
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
    let most = figures.iter().copied().fold(0.0, f64::max);
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

/// The ratios of two measurements, taken in turn; who is first changes every round.
fn ratios(mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) -> Vec<f64> {
    (0..rounds())
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

/// A program of nothing but small writes, so many of them.
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

/// A pipe that somebody reads to its end.
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
    const TIME: Duration = Duration::from_secs(3);
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
        // A reader that does nothing with what it reads is nobody's.
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
#[ignore = "measures, for a minute"]
fn memory_is_bounded_while_nothing_is_read() {
    let seconds = std::env::var("OUTPACE_STALL").map_or(60, |text| text.parse().unwrap());
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

#[test]
#[ignore = "measures"]
fn programs_in_xterm_do_not_wait_for_it_under_run() {
    let Some((mut server, display)) = display().filter(|_| installed("xterm")) else {
        return;
    };
    let (script, from, to, end) = (
        scratch("script"),
        scratch("from"),
        scratch("to"),
        scratch("end"),
    );
    // The program's own time: until it has ended, not until the terminal has shown everything.
    let own_time = |prefix: &str, program: &str| -> f64 {
        let _ = fs::remove_file(&end);
        let timed = format!(
            "date +%s%N > {}; {program} 500000; date +%s%N > {}",
            from.display(),
            to.display()
        );
        let text = format!("{prefix} sh -c '{timed}'\n: > {}\n", end.display());
        fs::write(&script, text).unwrap();
        let mut xterm = Command::new("xterm")
            .args(["-geometry", "80x24", "-e", "sh"])
            .arg(&script)
            .env("DISPLAY", &display)
            .env_remove("PYTHONUNBUFFERED")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the end of the program", || end.exists());
        xterm.wait().unwrap();
        let time =
            |path: &Path| -> f64 { fs::read_to_string(path).unwrap().trim().parse().unwrap() };
        (time(&to) - time(&from)) / 1e9
    };
    let run = format!("{} run --", env!("CARGO_BIN_EXE_outpace"));
    for name in ["rust-println", "python-print", "cpp-endl"] {
        let programs = corpus::programs();
        let program = programs
            .iter()
            .find(|program| program.name == name)
            .unwrap();
        if !program.is_ready() {
            continue;
        }
        let command = program.run.join(" ");
        let ratios = ratios(|| own_time(&run, &command), || own_time("", &command));
        let what = format!("500,000 short lines in xterm, own time under `run` / without, {name}");
        row(&what, &ratios, Target::AtMost(0.4));
        // What it needs where nobody is slow: its own work, and the kernel's for a terminal.
        let at_once = || {
            let mut alone = Command::new("sh");
            alone.args(["-c", &format!("exec {command} 500000")]);
            alone.env_remove("PYTHONUNBUFFERED");
            seconds_of(alone.stdout(drained_terminal()))
        };
        let ratios = self::ratios(at_once, || own_time("", &command));
        let what = format!("the same on a terminal that reads at once / in xterm, {name}");
        row(&what, &ratios, Target::None);
    }
    if let Some(server) = &mut server {
        server.kill().unwrap();
        server.wait().unwrap();
    }
}

/// How a terminal takes what a server logs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    BytesPerSecond(u64),
    Stalled,
    AtOnce,
}

/// Requests a second that a server answers, with 8 connections, while it logs to a terminal.
fn requests_per_second(command: &mut Command, pace: Pace) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (ours, program) = open_terminal(80, 24);
    let mut child = command
        .stdin(OwnedFd::from(listener))
        .stdout(program)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Our copies would keep the socket and the terminal open.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let reader = match pace {
        Pace::Stalled => Err(ours),
        Pace::AtOnce => {
            drain(File::from(ours));
            Ok(())
        }
        Pace::BytesPerSecond(rate) => {
            let mut terminal = File::from(ours);
            std::thread::spawn(move || {
                let mut meal = vec![0; (rate / 200) as usize];
                while terminal.read(&mut meal).is_ok_and(|read| read > 0) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            Ok(())
        }
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
    // What is still queued for the terminal is of no interest any more.
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reader);
    // A server that `run` left behind on a pipe ends when it finds that nobody reads.
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

#[test]
#[ignore = "measures"]
fn a_server_that_prints_does_not_wait_for_its_terminal_under_run() {
    if !installed("wrk") {
        return;
    }
    let server = |rung: &str| {
        let mut command = outpace("rung");
        command.arg(rung);
        command
    };
    let mut silent = server("server/silent");
    let mut printing = server("server/println");
    for options in [&[][..], &["--pipe"]] {
        let mut under_run = outpace("run");
        under_run.args(options).args([
            "--",
            env!("CARGO_BIN_EXE_outpace"),
            "rung",
            "server/println",
        ]);
        for (name, pace) in [
            ("pty:1MB/s", Pace::BytesPerSecond(1_000_000)),
            ("pty:stalled", Pace::Stalled),
        ] {
            let ratios = ratios(
                || requests_per_second(&mut under_run, pace),
                || requests_per_second(&mut silent, pace),
            );
            let command = [&["run"], options].concat().join(" ");
            let what =
                format!("HTTP server with println! under `{command}` / without logging, {name}");
            row(&what, &ratios, Target::AtLeast(0.85));
        }
    }
    let ratios = ratios(
        || requests_per_second(&mut printing, Pace::AtOnce),
        || requests_per_second(&mut silent, Pace::AtOnce),
    );
    let what = "the same without `run`, on a terminal that reads at once";
    row(what, &ratios, Target::None);
}
