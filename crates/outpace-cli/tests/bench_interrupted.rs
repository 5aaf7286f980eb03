//! `bench` interrupted by a signal: it ends soon, with the figures so far, and leaves no file.

mod bench_support;
mod scripted;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench_support::{Scratch, programs, undisturbed};
use rustix::process::{Pid, Signal, kill_process};
use scripted::wait_until;

/// Starts a bench with the directory `scratch` for its files, and sends it a signal once `is_time`; returns its status and its
/// stderr.
fn interrupted(
    signal: Signal,
    arguments: &[&str],
    scratch: &Scratch,
    is_time: impl Fn(&Child) -> bool,
) -> (Option<i32>, String) {
    // A shell that runs the tests in the background may have taken Ctrl-C from them.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=INT,HUP", env!("CARGO_BIN_EXE_outpace")])
        .args(arguments)
        .env("TMPDIR", &scratch.0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = undisturbed(command).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains(": ") || line.starts_with("outpace") {
        line.clear();
        assert!(
            stdout.read_line(&mut line).unwrap() > 0,
            "it ended by itself"
        );
    }
    wait_until("the time of the signal", || is_time(&child));
    kill_process(Pid::from_child(&child), signal).unwrap();
    let mut status = None;
    wait_until("the end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    (status.unwrap().code(), said)
}

#[test]
fn a_signal_ends_it_with_what_there_is_and_the_status_of_that_signal() {
    let scratch = Scratch::new("interrupted");
    let arguments = ["bench", "lines", "--to", "pipe", "--runs", "10000"];
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let (status, said) = interrupted(signal, &arguments, &scratch, |_| true);
        assert_eq!(status, Some(128 + signal.as_raw()));
        assert!(said.contains("interrupted"), "{said}");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    }
}

/// One terminal does not read for days, the other takes hours to read its buffers.
#[test]
fn ctrl_c_is_not_kept_waiting_by_a_slow_terminal() {
    let scratch = Scratch::new("interrupted-slow");
    let days = [
        "draw/idle-outpace",
        "--to",
        "pty:stalled",
        "--messages",
        "10000000",
    ];
    let hours = ["lines/outpace", "--to", "pty:1B/s", "--messages", "2000"];
    // The first rung goes on while its terminal does not read; the other ends, with a report, while its terminal still has to read.
    let goes_on = |bench: &Child| {
        let children = format!("/proc/{0}/task/{0}/children", bench.id());
        !fs::read_to_string(children).unwrap().is_empty()
    };
    let has_ended = || {
        let entries = fs::read_dir(&scratch.0).unwrap().flatten();
        let mut reports = entries.map(|entry| entry.path().join("report"));
        reports.any(|report| fs::metadata(report).is_ok_and(|report| report.len() > 0))
    };
    for what in [days, hours] {
        let arguments: Vec<&str> = ["bench"].into_iter().chain(what).collect();
        let (status, said) = interrupted(Signal::INT, &arguments, &scratch, |bench| {
            if what == days {
                goes_on(bench)
            } else {
                has_ended()
            }
        });
        assert_eq!(status, Some(130), "{what:?}");
        assert!(said.contains("interrupted"), "{what:?}: {said}");
        assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0, "{what:?}");
    }
}

#[test]
fn nothing_more_is_compiled_after_ctrl_c() {
    let scratch = Scratch::new("interrupted-compiling");
    let (log, go) = (scratch.path("log"), scratch.path("go"));
    // They get no Ctrl-C themselves, and go on when it has come.
    let script = format!(
        "[ \"$1\" = --version ] && echo 1 && exit\necho call >>{}\nwhile ! test -e {}; do sleep 0.01; done",
        log.display(),
        go.display()
    );
    let programs = programs(&scratch, &[("gcc", &script), ("g++", &script)]);
    symlink_to_path(&programs, "sleep");
    let mut child = Command::new("/usr/bin/env")
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_outpace")])
        .args(["bench", "ladder", "--to", "pipe", "--runs", "1"])
        .env("PATH", &programs)
        .env("XDG_CACHE_HOME", scratch.path("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let calls = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    wait_until("a compiler", || calls() > 0);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    wait_until("the signal", || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let pending = |line: &str| line.starts_with("ShdPnd:") && line.ends_with("0000");
        status.lines().any(pending)
    });
    fs::write(&go, "").unwrap();
    child.wait().unwrap();
    // One for each worker, and one more each that began before the signal came.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    assert!((1..=2 * workers).contains(&calls()), "{} calls", calls());
}

/// Links a program of this machine into a directory.
fn symlink_to_path(directory: &Path, name: &str) {
    let path = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&path).map(|place| place.join(name));
    let found = places.find(|place| place.is_file()).unwrap();
    std::os::unix::fs::symlink(found, directory.join(name)).unwrap();
}
