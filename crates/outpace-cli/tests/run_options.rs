//! `outpace run`: how it is asked, and what it tells.

mod scripted;

use rustix::process::{Pid, Signal, kill_process};
use scripted::{Terminal, installed, outpace, scratch, text, wait_until, wait_until_full};
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

fn run(arguments: &[&str]) -> Output {
    outpace("run").args(arguments).output().unwrap()
}

#[test]
fn everything_after_the_command_is_its_own() {
    const COMMAND: [&str; 9] = [
        "sh",
        "-c",
        "printf '[%s]' \"$@\"",
        "sh",
        "--port",
        "1",
        "--",
        "-x",
        "--pipe",
    ];
    for options in [&[][..], &["--"], &["--overflow", "block"]] {
        let arguments = [options, &COMMAND].concat();
        let output = run(&arguments);
        assert_eq!(
            text(&output.stdout),
            "[--port][1][--][-x][--pipe]",
            "{output:?}"
        );
        let traced = outpace("trace").args(COMMAND).output().unwrap();
        assert_eq!(
            text(&traced.stdout),
            "[--port][1][--][-x][--pipe]",
            "{traced:?}"
        );
    }
    let mistyped = run(&["--pip", "--no-such-option", "sh"]);
    assert_eq!(mistyped.status.code(), Some(2));
}

#[test]
fn a_program_where_a_command_is_expected_brings_both_commands_to_mind() {
    for program in ["/bin/sh", "sh"] {
        let output = Command::new(OUTPACE)
            .args([program, "-c", "true"])
            .output()
            .unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        let remedy = format!(
            "to run it: outpace run {program} -c true; to look at it: outpace trace {program} -c true"
        );
        assert!(message.contains(&remedy), "{message}");
    }
}

#[test]
fn verbose_has_the_last_word_however_the_program_ends() {
    for (end, signal) in [("exit 7", None), ("kill -ABRT $$", Some(Signal::ABORT))] {
        let script = format!("echo shown; {end}");
        let words = ["-v", "--shim", "never", "--", "sh", "-c", &script];
        let mut terminal = Terminal::run(&words);
        let status = terminal.wait();
        let shown = text(&terminal.whole());
        let (output, said) = shown.split_once("shown\r\n").unwrap();
        assert!(
            output.is_empty() && said.contains("outpace: sh: no shim: --shim never"),
            "{shown:?}"
        );
        let signal = signal.map(Signal::as_raw);
        assert_eq!(status.signal(), signal, "{status}");
        assert_eq!(status.code(), signal.is_none().then_some(7));
    }
}

#[test]
fn with_timestamps_every_line_has_its_time() {
    let output = run(&[
        "--timestamps",
        "sh",
        "-c",
        "printf 'one\\ntwo'; sleep 0.1; printf ' 2\\n\\n'",
    ]);
    let shown = text(&output.stdout);
    let lines: Vec<(&str, &str)> = shown.lines().map(|line| line.split_at(16)).collect();
    let rests: Vec<&str> = lines.iter().map(|(_, rest)| *rest).collect();
    assert_eq!(rests, ["one", "two 2", ""], "{shown:?}");
    if installed("date") {
        let today = Command::new("date")
            .args(["+%b %d"])
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        assert!(
            lines[0].0.starts_with(text(&today.stdout).trim_end()),
            "{shown:?}"
        );
    }
}

#[test]
fn with_timestamps_lines_of_a_file_have_their_times() {
    let [out, err] = ["stamped-out", "stamped-err"].map(scratch);
    let create = |path: &Path| fs::File::create(path).unwrap();
    let mut command = outpace("run");
    command.args(["--timestamps", "sh", "-c", "echo one; echo two >&2"]);
    command.stdout(create(&out)).stderr(create(&err));
    assert!(command.status().unwrap().success());
    for (path, line) in [(out, "one\n"), (err, "two\n")] {
        let written = fs::read_to_string(path).unwrap();
        assert_eq!(written.split_at(16).1, line, "{written:?}");
    }
}

#[test]
fn with_terminal_a_program_in_a_pipeline_has_one_and_its_lines_are_as_in_a_pipe() {
    let output = run(&[
        "--terminal",
        "sh",
        "-c",
        "test -t 1 && stty size </dev/tty; printf 'a\\nb\\r\\n'; exit 3",
    ]);
    assert_eq!(text(&output.stdout), "24 80\na\nb\r\n");
    assert_eq!(output.status.code(), Some(3));
    let both = run(&["--terminal", "--pipe", "true"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn the_rate_is_the_title_of_a_terminal_and_cuts_nothing() {
    let script = "for i in 1 2 3 4 5 6 7 8; do printf 'line %d\\n' $i; sleep 0.15; done";
    let terminal = Terminal::run(&["--rate", "sh", "-c", script]);
    let shown = text(&terminal.whole());
    assert!(shown.contains("\x1b]2;outpace: "), "{shown:?}");
    let mut rest = shown.as_str();
    let mut lines = String::new();
    while let Some((before, after)) = rest.split_once("\x1b]2;") {
        lines += before;
        rest = after.split_once('\x07').unwrap().1;
    }
    lines += rest;
    let expected: String = (1..=8).map(|i| format!("line {i}\r\n")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn the_counters_are_in_a_file_that_is_always_whole() {
    let file = scratch("stats.prom");
    let go = scratch("stats-go");
    let script = format!(
        "head -c 100000 /dev/zero; while ! test -e {}; do sleep 0.01; done",
        go.display()
    );
    let mut child = outpace("run")
        .args(["--stats", file.to_str().unwrap(), "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100_000]).unwrap();
    wait_until("the counters", || {
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.ends_with('\n') && text.lines().count() == 15,
            "{text:?}"
        );
        text.contains("\noutpace_written_bytes_total 100000\n")
    });
    fs::write(&go, "").unwrap();
    assert!(child.wait().unwrap().success());
    let left = fs::read_dir(file.parent().unwrap()).unwrap().flatten();
    let left =
        left.filter(|entry| text(entry.file_name().as_encoded_bytes()).starts_with(".stats.prom"));
    assert_eq!(left.count(), 0);
    let refused = run(&["--stats", "/proc/no/such", "true"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).starts_with("outpace: /proc/no/such: "));
}

#[test]
fn the_file_of_the_counters_takes_the_place_of_a_regular_file_only() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let (fifo, file, link) = (scratch("fifo"), scratch("target.prom"), scratch("link"));
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let refused = run(&["--stats", fifo.to_str().unwrap(), "true"]);
    assert_eq!(refused.status.code(), Some(1));
    let message = text(&refused.stderr);
    assert!(message.contains("fifo: not a regular file"), "{message}");
    assert!(!fs::metadata(&fifo).unwrap().is_file());
    fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(
        run(&["--stats", link.to_str().unwrap(), "true"])
            .status
            .success()
    );
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("# HELP"));

    let output = fs::File::create(&file).unwrap();
    let mut command = outpace("run");
    command.args(["--stats", link.to_str().unwrap(), "echo", "output"]);
    let refused = command.stdout(output).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let message = text(&refused.stderr);
    assert!(
        message.contains("the program's output goes to this file"),
        "{message}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "");
}

/// A log that is a regular file is the program's own, but the counters are asked for all the same.
#[test]
fn with_counters_a_program_that_writes_to_files_is_not_ended_by_sigusr1() {
    let (log, errors) = (scratch("own-log"), scratch("own-errors"));
    let counters = scratch("own.prom");
    let mut child = outpace("run")
        .args(["--stats", counters.to_str().unwrap()])
        .args(["sh", "-c", "echo ready; exec sleep 1000"])
        .stdout(fs::File::create(&log).unwrap())
        .stderr(fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    wait_until("the program", || {
        fs::read(&log).is_ok_and(|text| text == b"ready\n")
    });
    kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
    wait_until("the counters", || {
        fs::read_to_string(&errors).is_ok_and(|text| text.ends_with(" pieces)\n"))
    });
    assert!(child.try_wait().unwrap().is_none());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn dropped_bytes_are_counted_and_shown_on_sigusr1() {
    let (file, done) = (scratch("dropped.prom"), scratch("dropped-done"));
    let script = format!("seq 100000; : > {}; exec sleep 1000", done.display());
    let arguments = [
        "--overflow",
        "drop",
        "--memory",
        "64KiB",
        "--stats",
        file.to_str().unwrap(),
    ];
    let mut child = outpace("run")
        .args(arguments)
        .args(["sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the end of the flood", || done.exists());
    let dropped = |text: &str| -> u64 {
        let line = text
            .lines()
            .find(|line| line.starts_with("outpace_dropped_bytes_total"))
            .unwrap();
        line.split_once(' ').unwrap().1.parse().unwrap()
    };
    wait_until("the counters", || {
        dropped(&fs::read_to_string(&file).unwrap()) > 100_000
    });
    // A program that does not catch it stays.
    kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0];
        stderr.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let line = text(&line);
    assert!(
        line.starts_with("outpace: ") && line.contains(" dropped ("),
        "{line:?}"
    );
    assert!(child.try_wait().unwrap().is_none());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
}

#[test]
fn a_program_that_catches_sigusr1_gets_it() {
    for terminal in [false, true] {
        let ready = scratch("usr1");
        let script = format!(
            "trap 'echo caught; exit 4' USR1; : > {}; while :; do sleep 0.01; done",
            ready.display()
        );
        let mode = if terminal { &["--terminal"][..] } else { &[] };
        let child = outpace("run")
            .args(mode)
            .args(["sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("the program", || ready.exists());
        kill_process(Pid::from_child(&child), Signal::USR1).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (text(&output.stdout), output.status.code()),
            ("caught\n".to_owned(), Some(4))
        );
        assert!(text(&output.stderr).starts_with("outpace: "), "{output:?}");
    }
}

#[test]
fn a_signal_that_comes_before_the_program_runs_reaches_it() {
    for _ in 0..20 {
        let mut child = outpace("run")
            .args(["--terminal", "sleep", "1000"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let status = format!("/proc/{}/status", child.id());
        let collects = |line: &str| {
            let blocked = line.strip_prefix("SigBlk:");
            let blocked = blocked.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
            blocked.is_some_and(|set| set & (1 << (Signal::TERM.as_raw() - 1)) != 0)
        };
        wait_until("its collecting signals", || {
            fs::read_to_string(&status).unwrap().lines().any(collects)
        });
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        wait_until("the end", || child.try_wait().unwrap().is_some());
    }
}

/// In a process namespace of its own; `None` where that is not allowed.
fn as_process_1(arguments: &[&str]) -> Option<Command> {
    let unshare = ["--pid", "--fork", "--mount-proc", "--kill-child"];
    let allowed = Command::new("unshare").args(unshare).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no process namespaces here");
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(unshare)
        .args([OUTPACE, "run"])
        .args(arguments)
        .stdin(Stdio::null());
    Some(command)
}

#[test]
fn as_process_1_it_passes_signals_on_reaps_orphans_and_ends_with_the_status() {
    // The orphan is a zombie for ever, if process 1 does not reap it.
    let script = "orphan=$(sh -c 'sleep 0.1 >&- 2>&- & echo $!'); \
                  while test -e /proc/$orphan; do sleep 0.02; done; echo reaped; \
                  trap 'echo told; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    for mode in [&[][..], &["--terminal"]] {
        let Some(mut command) = as_process_1(&[mode, &["sh", "-c", script]].concat()) else {
            return;
        };
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut start = [0; "reaped\nready\n".len()];
        stdout.read_exact(&mut start).unwrap();
        assert_eq!(text(&start), "reaped\nready\n");
        // Process 1 of the namespace, seen from here.
        let inner = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        let inner: i32 = inner.split_whitespace().next().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(inner).unwrap(), Signal::TERM).unwrap();
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "told\n");
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }
    // The kernel ends what is left with the first process, without `run`, too.
    for left in ["sleep 1000", "yes"] {
        let script = format!("{left} & echo first; exit 3");
        let Some(mut command) = as_process_1(&["sh", "-c", &script]) else {
            return;
        };
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{left}");
        assert!(text(&output.stdout).contains("first\n"), "{left}");
    }
    let Some(mut killed) = as_process_1(&["sh", "-c", "kill -TERM $$"]) else {
        return;
    };
    assert_eq!(
        killed.stdout(Stdio::piped()).status().unwrap().code(),
        Some(128 + 15)
    );
}

/// The kernel does not stop process 1, unless a process outside of the namespace asks for it.
#[test]
fn as_process_1_it_goes_on_while_its_program_is_stopped() {
    let script = "(until grep -q 'State:.T' /proc/$$/status; do sleep 0.01; done; echo stopped; kill -CONT $$) & \
                  kill -STOP $$; wait; echo back";
    let Some(mut command) = as_process_1(&["sh", "-c", script]) else {
        return;
    };
    let output = command.output().unwrap();
    assert_eq!(text(&output.stdout), "stopped\nback\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn without_a_place_for_files_output_waits_for_its_reader_and_nothing_is_lost() {
    // No file can be made there, as on a read-only root without /tmp.
    let mut child = outpace("run")
        .env("TMPDIR", "/proc/no-such-place")
        .args(["--memory", "64KiB", "head", "-c", "3000000", "/dev/zero"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    wait_until_full(&stdout);
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).unwrap();
    assert_eq!(received.len(), 3_000_000);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Puts a program and the libraries that it needs into a directory, at its top and where the loader looks for them.
fn install_into(root: &Path, program: &Path, name: &str) {
    fs::copy(program, root.join(name)).unwrap();
    let needed = Command::new("ldd").arg(program).output().unwrap();
    for word in text(&needed.stdout)
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
    {
        let place = root.join(word.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(word, place).unwrap();
    }
}

#[test]
fn in_an_image_with_nothing_but_programs_a_user_without_a_name_loses_nothing() {
    let root = scratch("root");
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    install_into(&root, Path::new(OUTPACE), "outpace");
    install_into(&root, Path::new("/bin/sh"), "sh");
    // No /tmp, no /dev, no /proc, and no place that this user may write to.
    let script = "i=0; while test $i -lt 20000; do echo line $i; i=$((i + 1)); done; exit 9";
    let command = |options: &[&str]| {
        let mut command = Command::new("chroot");
        command
            .args([
                "--userspec=12345:12345",
                root.to_str().unwrap(),
                "/outpace",
                "run",
            ])
            .args(options)
            .args(["/sh", "-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    };
    if !command(&[])
        .output()
        .is_ok_and(|output| output.status.code() == Some(9))
    {
        eprintln!("skipped: no other root directory here");
        return;
    }
    let expected: String = (0..20_000).map(|i| format!("line {i}\n")).collect();
    for options in [
        &["--memory", "64KiB"][..],
        &["--memory", "64KiB", "--overflow", "block"],
        &["--pipe"],
    ] {
        let mut child = command(options).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        // A collector that begins late.
        wait_until_full(&stdout);
        let mut received = String::new();
        stdout.read_to_string(&mut received).unwrap();
        assert!(
            received == expected,
            "{options:?}: {} bytes",
            received.len()
        );
        assert_eq!(child.wait().unwrap().code(), Some(9), "{options:?}");
    }
}

#[test]
fn a_collector_that_stops_stops_no_server_that_drops() {
    let done = scratch("collector-done");
    let script = format!("seq 300000; : > {}; seq 3", done.display());
    let mut child = outpace("run")
        .args([
            "--pipe",
            "--overflow",
            "drop",
            "--memory",
            "256KiB",
            "sh",
            "-c",
            &script,
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Nothing is read before the server has gone on.
    wait_until("the server", || done.exists());
    let mut received = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut received)
        .unwrap();
    assert!(
        received.contains(" bytes of lines dropped here]\n"),
        "{received:.200}"
    );
    assert!(received.ends_with("1\n2\n3\n"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn long_lines_are_dropped_as_a_whole() {
    if !installed("awk") {
        return;
    }
    let (stats, ended) = (scratch("long-lines"), scratch("long-lines-ended"));
    let program = format!(
        "BEGIN {{ for (i = 0; i < 300; i++) {{ printf \"%d \", i; for (j = 0; j < 10000; j++) printf \"0123456789\"; \
         print \" end\" }}; close(\"cat\"); printf \"\" > \"{}\" }}",
        ended.display()
    );
    let mut child = outpace("run")
        .args(["--overflow", "drop", "--memory", "2MiB", "--stats"])
        .arg(&stats)
        .args(["--", "awk", &program])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Nothing is read before lines were dropped.
    wait_until("the end of the program", || ended.exists());
    let mut output = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut output)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let output = text(&output);
    let (mut whole, mut gaps) = (0, 0);
    for line in output.lines() {
        if line.starts_with("[outpace: ") {
            gaps += 1;
            continue;
        }
        let (_, rest) = line.split_once(' ').unwrap();
        let digits = rest.strip_suffix(" end").expect("its end is there");
        assert_eq!(digits.len(), 100_000);
        whole += 1;
    }
    assert!(whole > 0 && gaps > 0, "{whole} lines, {gaps} gaps");
}
