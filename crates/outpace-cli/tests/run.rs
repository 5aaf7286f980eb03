//! `outpace run`, through pipes and on scripted terminals.

mod scripted;

use scripted::{Terminal, installed, scratch, wait_until, wait_until_full};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `outpace run` with its output in pipes.
fn outpace(arguments: &[&str]) -> Command {
    let mut command = scripted::outpace("run");
    command
        .args(arguments)
        .stderr(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Bytes without a pattern, the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    });
    words.flat_map(u64::to_ne_bytes).take(length).collect()
}

#[test]
fn the_status_of_the_program_is_ours() {
    assert_eq!(
        outpace(&["--", "sh", "-c", "exit 7"])
            .status()
            .unwrap()
            .code(),
        Some(7)
    );
    assert_eq!(
        outpace(&["--", "sh", "-c", "kill -9 $$"])
            .status()
            .unwrap()
            .signal(),
        Some(9)
    );
    assert_eq!(
        outpace(&["--", "sh", "-c", "kill -TERM $$"])
            .status()
            .unwrap()
            .signal(),
        Some(15)
    );
}

#[test]
fn a_caller_that_ignores_the_end_of_its_children_hides_that_of_the_program_from_nobody() {
    let program = env!("CARGO_BIN_EXE_outpace");
    let arguments = ["--ignore-signal=CHLD", program, "run", "--", "sh", "-c"];
    let through_pipes = Command::new("env")
        .args(arguments)
        .arg("echo said; exit 3")
        .output()
        .unwrap();
    assert_eq!(through_pipes.status.code(), Some(3), "{through_pipes:?}");
    assert_eq!(through_pipes.stdout, b"said\n");
    let mut terminal = Terminal::start("env", &[&arguments[..], &["exit 3"]].concat(), false);
    assert_eq!(terminal.wait().code(), Some(3));
}

#[test]
fn a_program_that_cannot_start_is_named_with_the_reason_and_the_status_that_shells_give() {
    let text = scratch("not-executable");
    std::fs::write(&text, "true\n").unwrap();
    for (program, reason, status) in [
        ("no-such-program", "No such file", 127),
        ("/", "Permission denied", 126),
        (text.to_str().unwrap(), "Permission denied", 126),
    ] {
        let reason = format!("outpace: {program}: {reason}");
        let output = outpace(&["--", program]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{message}");
        assert!(message.starts_with(&reason), "{message}");
        let mut terminal = Terminal::run(&["--", program]);
        terminal.wait_for(&reason);
        assert_eq!(terminal.wait().code(), Some(status));
    }
}

#[test]
fn arguments_environment_and_stdin_reach_the_program_untouched() {
    let mut command = outpace(&[
        "--",
        "sh",
        "-c",
        "printf '[%s]' \"$@\" \"$ODD\"; cat",
        "sh",
        "a b",
        "--",
        "-x",
        "",
    ]);
    let mut child = command
        .env("ODD", "ü\n=")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"from stdin")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "[a b][--][-x][][ü\n=]from stdin"
    );
}

#[test]
fn binary_data_passes_byte_for_byte_through_a_reader_that_stalls() {
    let data = noise(96 << 20);
    let file = scratch("noise");
    std::fs::write(&file, &data).unwrap();
    for (overflow, memory) in [("block", "1MiB"), ("spill", "1MiB"), ("spill", "64MiB")] {
        let arguments = [
            "--overflow",
            overflow,
            "--memory",
            memory,
            "--",
            "cat",
            file.to_str().unwrap(),
        ];
        let mut child = outpace(&arguments).spawn().unwrap();
        let mut reader = child.stdout.take().unwrap();
        let mut received = Vec::new();
        while received.len() < data.len() {
            if received.len() % (16 << 20) < 4096 && data.len() - received.len() > 8 << 20 {
                wait_until_full(&reader);
            }
            let mut part = [0; 4096];
            let read = reader.read(&mut part).unwrap();
            assert!(read > 0, "it ends after {} bytes", received.len());
            received.extend_from_slice(&part[..read]);
        }
        assert!(received == data, "other bytes arrived");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn stdout_and_stderr_on_one_pipe_keep_their_order() {
    let script = format!(
        "{} run -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo $i >&2; done' 2>&1",
        env!("CARGO_BIN_EXE_outpace")
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let expected: String = (1..=9)
        .flat_map(|n| [format!("{n}\n"), format!("{n}\n")])
        .collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

/// TAP harnesses and bats give their commands such a descriptor 3.
#[test]
fn a_further_descriptor_of_stdout_or_stderr_keeps_the_order() {
    let expected: String = (0..200)
        .map(|number| format!("one{number}\ntwo{number}\n"))
        .collect();
    for options in [
        "",
        "--shim never",
        "--pipe",
        "--overflow drop",
        "--timestamps",
    ] {
        let script = format!(
            "exec 3>&1 4>&2; {} run {options} -- sh -c \
             'i=0; while test $i -lt 200; do echo one$i; echo two$i >&3; i=$((i + 1)); done; echo a >&2; echo b >&4; echo c >&2'",
            env!("CARGO_BIN_EXE_outpace")
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let last_word = |line: &str| line.rsplit(' ').next().unwrap().to_owned() + "\n";
        let words = |bytes: &[u8]| {
            scripted::text(bytes)
                .lines()
                .map(last_word)
                .collect::<String>()
        };
        assert_eq!(words(&output.stdout), expected, "{options}");
        assert_eq!(words(&output.stderr), "a\nb\nc\n", "{options}");
        let shown = Terminal::start("sh", &["-c", &script], false).whole();
        assert_eq!(words(&shown), format!("{expected}a\nb\nc\n"), "{options}");
    }
}

#[test]
fn all_that_a_killed_program_has_written_arrives() {
    let written = scratch("killed");
    let script = format!(
        "head -c 500000 /dev/zero; echo end; : >{}; kill -9 $$",
        written.display()
    );
    let mut child = outpace(&["--", "sh", "-c", &script]).spawn().unwrap();
    // All of it has been taken before anything is read.
    wait_until("the last word of the program", || written.exists());
    let mut received = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut received)
        .unwrap();
    assert_eq!(received.len(), 500_004);
    assert!(received.ends_with(b"end\n"));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_reader_that_goes_away_ends_the_program_as_without_us() {
    let mut child = outpace(&["--", "yes"]).spawn().unwrap();
    let mut line = [0; 2];
    child.stdout.take().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(13));
}

#[test]
fn sigterm_is_passed_on_and_what_was_written_still_arrives() {
    let script = "trap 'echo terminated; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut child = outpace(&["--", "sh", "-c", script]).spawn().unwrap();
    let mut reader = child.stdout.take().unwrap();
    let mut ready = [0; 6];
    reader.read_exact(&mut ready).unwrap();
    let kill = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "terminated\n");
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// Waits until a process has stopped growing; the private memory it then has, in KiB.
fn settled_memory_of(process: u32) -> u64 {
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let mut before = 0;
    wait_until("a full queue", || {
        std::thread::sleep(Duration::from_millis(200));
        let now = resident();
        std::mem::replace(&mut before, now) == now
    });
    before
}

#[test]
fn memory_stays_within_its_bound_when_nothing_is_read() {
    for overflow in ["block", "spill"] {
        let limits = ["--overflow", overflow, "--memory", "4MiB"];
        let command = ["--", "head", "-c", "200000000", "/dev/zero"];
        let mut child = outpace(&[&limits[..], &command].concat()).spawn().unwrap();
        let private_kib = settled_memory_of(child.id());
        let mut received = 0;
        let mut reader = child.stdout.take().unwrap();
        let mut buffer = vec![0; 1 << 20];
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            received += read;
        }
        assert_eq!(received, 200_000_000);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(private_kib < (4 + 8) << 10, "{overflow}: {private_kib} KiB");
    }
}

/// The output of a shell's command that is read only after the command has ended.
fn read_after_the_end(name: &str, options: &[&str], command: &str) -> Vec<u8> {
    let done = scratch(name);
    let script = format!("{command}; : > {}", done.display());
    let mut child = outpace(&[options, &["--", "sh", "-c", &script]].concat())
        .spawn()
        .unwrap();
    wait_until("the end of the program", || done.exists());
    let mut received = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_to_end(&mut received).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    received
}

#[test]
fn a_program_ends_although_nothing_is_read_when_the_file_has_room() {
    let received = read_after_the_end(
        "spilled",
        &["--memory", "1MiB"],
        "head -c 50000000 /dev/zero",
    );
    assert!(received == vec![0; 50_000_000]);
}

#[test]
fn dropped_lines_leave_a_line_that_says_so_and_whole_lines_around_it() {
    let limits = ["--overflow", "drop", "--memory", "64KiB"];
    let received =
        String::from_utf8(read_after_the_end("dropped", &limits, "seq 1000000")).unwrap();
    let (gaps, lines): (Vec<&str>, Vec<&str>) = received
        .lines()
        .partition(|line| line.starts_with("[outpace: "));
    assert!(!gaps.is_empty());
    let numbers: Vec<u32> = lines.iter().map(|line| line.parse().unwrap()).collect();
    assert!(numbers.is_sorted());
    assert_eq!(numbers.last(), Some(&1_000_000));
}

#[test]
fn run_ends_with_its_program_and_what_that_leaves_running_is_read_to_its_end() {
    for options in [
        &[][..],
        &["--shim", "never"],
        &["--overflow", "drop"],
        &["--timestamps"],
    ] {
        let (go, script) = (scratch("go"), |go: &str| {
            format!(
                "(while ! test -e {go}; do sleep 0.01; done; echo behind; seq 100000) & echo before"
            )
        });
        let script = script(go.to_str().unwrap());
        let words = [options, &["--", "sh", "-c", &script]].concat();
        let mut child = outpace(&words).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().ends_with("before"));
        // That process waits for the file.
        assert!(child.wait().unwrap().success());
        // And what stays keeps no other pipe: not ours, which that process has not, either.
        wait_until("a stdin without a reader", || {
            stdin.write_all(b"x").is_err()
        });
        std::fs::write(&go, "").unwrap();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(rest[0].ends_with("behind"), "{options:?}: {}", rest[0]);
        assert!(rest[0].contains(':') == options.contains(&"--timestamps"));
        let numbers = rest[1..]
            .iter()
            .map(|line| line.rsplit(' ').next().unwrap());
        assert!(
            numbers.eq((1..=100_000).map(|number| number.to_string())),
            "{options:?}"
        );
    }
}

/// With the file of `--tee`, counters, and a stderr that is another pipe; also beside a terminal.
#[test]
fn what_stays_does_all_that_run_did() {
    let [go, tee, stats] = ["stay-go", "stay-tee", "stay-stats"].map(scratch);
    let script = format!(
        "(while ! test -e {}; do sleep 0.01; done; echo out; echo error >&2) & echo before; echo first >&2",
        go.display()
    );
    let options = [
        "--tee",
        tee.to_str().unwrap(),
        "--stats",
        stats.to_str().unwrap(),
    ];
    let mut child = outpace(&[&options[..], &["--", "sh", "-c", &script]].concat())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(child.wait().unwrap().success());
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"before\nout\n");
    assert_eq!(output.stderr, b"first\nerror\n");
    let tee = std::fs::read_to_string(tee).unwrap();
    let mut lines: Vec<&str> = tee.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["before", "error", "first", "out"]);
    wait_until("the last counters", || {
        let stats = std::fs::read_to_string(&stats).unwrap();
        stats.contains("outpace_written_bytes_total 23\n")
    });
    // Two processes stay, one for each destination: which passes on its line first is open.
    let [errors, all_errors] = ["stay-errors", "stay-all-errors"].map(scratch);
    let _ = std::fs::remove_file(&go);
    let command = format!(
        "{{ {} run -- sh -c '{script}' 2>&3; echo ended; }} 3>&1 >/dev/tty | cat > {}; mv {1} {}",
        env!("CARGO_BIN_EXE_outpace"),
        errors.display(),
        all_errors.display()
    );
    let mut terminal = Terminal::start("sh", &["-c", &command], false);
    terminal.wait_for("before\r\n");
    terminal.wait_for("ended\r\n");
    std::fs::write(&go, "").unwrap();
    terminal.wait_for("out\r\n");
    wait_until("the end of stderr", || all_errors.exists());
    assert_eq!(
        std::fs::read_to_string(all_errors).unwrap(),
        "first\nerror\n"
    );
}

#[test]
fn what_the_program_leaves_running_meets_the_end_of_its_reader() {
    let go = scratch("reader-go");
    let ended = scratch("reader-ended");
    let script = format!(
        "(trap '' PIPE; while ! test -e {}; do sleep 0.01; done; \
         while echo on 2>/dev/null; do sleep 0.01; done; : > {}) & echo before",
        go.display(),
        ended.display()
    );
    for goes_first in [false, true] {
        for file in [&go, &ended] {
            let _ = std::fs::remove_file(file);
        }
        let mut child = outpace(&["--", "sh", "-c", &script])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if goes_first {
            drop(reader);
            assert!(child.wait().unwrap().success());
        } else {
            assert!(child.wait().unwrap().success());
            drop(reader);
        }
        std::fs::write(&go, "").unwrap();
        wait_until("the end of what writes", || ended.exists());
    }
}

#[test]
fn a_directory_for_the_spill_that_is_none_is_a_failure() {
    let output = outpace(&["--spill-dir", "/dev/null", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .starts_with("outpace: --spill-dir /dev/null: not a directory")
    );
    // Not even the superuser can make files there.
    let output = outpace(&["--spill-dir", "/proc", "--", "true"])
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("outpace: --spill-dir /proc: "),
        "{message}"
    );
}

#[test]
fn a_program_on_a_terminal_sees_one_with_its_size_and_its_changes() {
    let script = "test -t 0 -a -t 1 -a -t 2 && stty size; trap 'stty size; exit' WINCH; echo ready; \
                  while :; do sleep 0.01; done";
    let mut terminal = Terminal::run(&["--", "sh", "-c", script]);
    terminal.wait_for("24 80");
    terminal.wait_for("ready");
    terminal.resize(132, 50);
    terminal.wait_for("50 132");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn what_a_program_writes_to_its_terminal_after_closing_its_streams_arrives() {
    let script = "echo early; exec <&- >&- 2>&-; sleep 0.2; echo late >/dev/tty";
    let terminal = Terminal::run(&["--", "sh", "-c", script]);
    assert_eq!(terminal.whole(), b"early\r\nlate\r\n");
}

#[test]
fn with_pipe_the_program_has_its_keys_but_no_terminal_to_write_to() {
    let script = "test -t 0 && ! test -t 1 && ! test -t 2 && echo ready; read line; \
                  i=0; while test $i -lt 5000; do echo $i; i=$((i + 1)); done; echo \"<$line>\" >&2";
    let mut terminal = Terminal::run(&["--pipe", "--", "sh", "-c", script]);
    terminal.wait_for("ready");
    terminal.type_keys("key\n");
    let whole = String::from_utf8(terminal.whole()).unwrap();
    let numbers: String = (0..5000).map(|number| format!("{number}\r\n")).collect();
    assert!(whole.ends_with(&format!("{numbers}<key>\r\n")), "{whole}");
}

#[test]
fn the_terminal_is_left_as_it_was() {
    let mut terminal = Terminal::run(&["--", "sh", "-c", "echo ready; exit 3"]);
    let before = terminal.first_settings();
    terminal.wait_for("ready");
    assert_eq!(terminal.wait().code(), Some(3));
    assert_eq!(terminal.settings(), before);
}

#[test]
fn ctrl_c_interrupts_the_program_and_its_death_is_ours() {
    let mut terminal = Terminal::run(&["--", "sh", "-c", "echo ready; exec sleep 1000"]);
    terminal.wait_for("ready");
    terminal.type_keys("\x03");
    // `setsid` reports the death by signal as a shell does.
    let status = terminal.wait();
    assert!(
        status.signal() == Some(2) || status.code() == Some(130),
        "{status:?}"
    );
}

#[test]
fn keys_reach_the_program_and_their_echo_comes_back() {
    let mut terminal = Terminal::run(&[
        "--",
        "sh",
        "-c",
        "echo ready; read line; echo \"<$line>\"; cat",
    ]);
    terminal.wait_for("ready");
    terminal.type_keys("some keys\r");
    terminal.wait_for("<some keys>");
    terminal.type_keys("\x04");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn a_program_does_not_wait_for_a_terminal_that_reads_nothing() {
    let done = scratch("done");
    let script = format!(
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo the end; : > {}",
        done.display()
    );
    let arguments = ["run", "--", "sh", "-c", &script];
    let terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &arguments, true);
    wait_until("the end of the program", || done.exists());
    terminal.unstall();
    let shown = terminal.whole();
    assert_eq!(
        shown.iter().filter(|byte| **byte == b'x').count(),
        3_000_000
    );
    assert!(shown.ends_with(b"x\r\nthe end\r\n"));
}

#[test]
fn ctrl_c_after_the_end_skips_what_is_left_and_says_where_all_of_it_is() {
    let (done, tee) = (scratch("done-too"), scratch("tee"));
    // A key that comes between its last command and its end does not end it.
    let script = format!(
        "trap '' INT; head -c 3000000 /dev/zero | tr '\\0' x; : > {}",
        done.display()
    );
    let arguments = [
        "run",
        "--tee",
        tee.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ];
    let mut terminal = Terminal::start(env!("CARGO_BIN_EXE_outpace"), &arguments, true);
    let before = terminal.first_settings();
    wait_until("the end of the program", || {
        done.exists() && std::fs::metadata(&tee).is_ok_and(|tee| tee.len() == 3_000_000)
    });
    // It is for the program until we know that that has ended, and then for us. One more, once the terminal is as it
    // was, would take what it still has to show: a skip, which takes a second at most, has its time.
    let mut typed: Option<Instant> = None;
    wait_until("the skip", || {
        if typed.is_none_or(|typed| typed.elapsed() > Duration::from_secs(3)) {
            terminal.type_keys("\x03");
            typed = Some(Instant::now());
        }
        terminal.has_ended() || terminal.settings() == before
    });
    terminal.unstall();
    terminal.wait_for("outpace: skipped ");
    terminal.wait_for("tee");
    assert_eq!(terminal.wait().code(), Some(0));
    let whole = std::fs::read(&tee).unwrap();
    let (output, rest) = whole.split_at(3_000_000);
    assert!(output.iter().all(|&byte| byte == b'x'));
    // A key that came before we knew of the end was echoed by the program's terminal.
    let rest = String::from_utf8_lossy(rest);
    assert!(rest.replace("^C", "").is_empty(), "{rest}");
}

#[test]
fn closing_the_terminal_ends_the_program_with_sighup() {
    let told = scratch("told");
    let script = format!(
        "trap 'echo hup > {}; exit' HUP; echo ready; while :; do sleep 0.01; done",
        told.display()
    );
    let mut terminal = Terminal::run(&["--", "sh", "-c", &script]);
    terminal.wait_for("ready");
    terminal.close();
    wait_until("the signal", || {
        std::fs::read_to_string(&told).is_ok_and(|text| text == "hup\n")
    });
}

#[test]
fn ctrl_z_stops_it_and_fg_goes_on() {
    if !installed("bash") {
        return;
    }
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
    terminal.wait_for("$ ");
    let outpace = env!("CARGO_BIN_EXE_outpace");
    terminal.type_keys(&format!(
        "{outpace} run -- sh -c 'echo rea\"\"dy; read x; echo \"<$x>\"'\r"
    ));
    terminal.wait_for("ready");
    terminal.type_keys("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("$ ");
    terminal.type_keys("echo 'a shell'\" again\"\r");
    terminal.wait_for("a shell again");
    terminal.type_keys("fg\r");
    terminal.wait_for("run --");
    terminal.type_keys("answer\r");
    terminal.wait_for("<answer>");
    terminal.wait_for("$ ");
    terminal.type_keys("exit 4\r");
    assert_eq!(terminal.wait().code(), Some(4));
}

/// Programs that take the whole screen, or every key.
#[test]
fn interactive_programs_work() {
    let text = scratch("text");
    let file = text.to_str().unwrap();
    std::fs::write(&text, "the first line\n").unwrap();
    let server = format!("outpace-run-{}", std::process::id());
    // What is typed, and what must appear after it; with `None` nothing is typed. Who edits lines is ready for keys
    // when it prompts, and not before: what comes earlier is edited by the kernel, in which Ctrl-D is no key.
    type Step = (Option<&'static str>, &'static str);
    let scripts: &[(&str, &[&str], &[Step])] = &[
        (
            "vim",
            &["-u", "NONE", "-N", file],
            &[
                (None, "the first line"),
                (Some("onew"), "new"),
                (Some("\x1b:wq\r"), ""),
            ],
        ),
        (
            "less",
            &[file],
            &[(None, "the first line"), (Some("q"), "")],
        ),
        ("htop", &[], &[(None, "CPU"), (Some("q"), "")]),
        (
            "python3",
            &[],
            &[
                (None, ">>> "),
                (Some("print(6*7)\r"), "42"),
                (None, ">>> "),
                (Some("\x04"), ""),
            ],
        ),
        (
            "bash",
            &["--norc", "-i"],
            &[
                (None, "$ "),
                (Some("echo $((6*7))\r"), "42"),
                (None, "$ "),
                (Some("exit\r"), ""),
            ],
        ),
        (
            "tmux",
            &[
                "-L",
                &server,
                "-f",
                "/dev/null",
                "new-session",
                "sh",
                "-c",
                "echo in tmux; read x",
            ],
            &[(None, "in tmux"), (Some("\r"), "[exited]")],
        ),
    ];
    for (program, arguments, steps) in scripts {
        if !installed(program) {
            continue;
        }
        let mut terminal = Terminal::run(&[&["--", program], *arguments].concat());
        for (keys, expected) in *steps {
            if let Some(keys) = keys {
                terminal.type_keys(keys);
            }
            terminal.wait_for(expected);
        }
        assert_eq!(terminal.wait().code(), Some(0), "{program}");
    }
    if installed("vim") {
        assert_eq!(
            std::fs::read_to_string(&text).unwrap(),
            "the first line\nnew\n"
        );
    }
}
