//! `outpace run` where something is missing: the controlling terminal, memory, the outer process.

mod scripted;

use rustix::process::{Pid, Signal, kill_process};
use scripted::{Terminal, installed, open_terminal, outpace, scratch, text, wait_until};
use std::fs::{self, File};
use std::io::Read;
use std::process::{Command, Stdio};

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

/// `outpace run` on a terminal that is not its controlling one, as under `su -c`; and our side of the terminal.
fn without_controlling_terminal(arguments: &[&str]) -> (std::process::Child, File) {
    let (ours, theirs) = open_terminal(80, 24);
    let side = || Stdio::from(theirs.try_clone().unwrap());
    let child = Command::new("setsid")
        .args(["--wait", OUTPACE, "run", "--"])
        .args(arguments)
        .stdin(side())
        .stdout(side())
        .stderr(side())
        .spawn()
        .unwrap();
    (child, File::from(ours))
}

/// Reads until a text has come.
fn read_until(from: &mut impl Read, end: &str) -> String {
    let mut shown = Vec::new();
    while !text(&shown).contains(end) {
        let mut part = [0; 4096];
        let read = from.read(&mut part).unwrap();
        assert!(read > 0, "it ends without {end:?}: {:?}", text(&shown));
        shown.extend_from_slice(&part[..read]);
    }
    text(&shown)
}

#[test]
fn a_terminal_that_goes_takes_its_program_along_also_without_a_controlling_terminal() {
    let (mut child, mut ours) =
        without_controlling_terminal(&["sh", "-c", "echo ready; exec sleep 1000"]);
    read_until(&mut ours, "ready");
    drop(ours);
    wait_until("the end", || child.try_wait().unwrap().is_some());
}

#[test]
fn a_program_that_outlives_its_terminal_gets_an_error_when_it_writes() {
    let told = scratch("told");
    let script = format!(
        "trap '' HUP; echo ready; while :; do echo more 2>/dev/null || {{ echo failed > {}; exit; }}; sleep 0.01; done",
        told.display()
    );
    let (mut child, mut ours) = without_controlling_terminal(&["sh", "-c", &script]);
    read_until(&mut ours, "ready");
    drop(ours);
    wait_until("the error", || {
        fs::read_to_string(&told).is_ok_and(|text| text == "failed\n")
    });
    wait_until("the end", || child.try_wait().unwrap().is_some());
}

#[test]
fn a_program_that_outlives_its_terminal_reads_its_end() {
    let (mut child, mut ours) =
        without_controlling_terminal(&["sh", "-c", "trap '' HUP; echo ready; exec cat"]);
    read_until(&mut ours, "ready");
    drop(ours);
    wait_until("the end", || child.try_wait().unwrap().is_some());
}

#[test]
fn lines_for_a_terminal_that_is_not_ours_have_one_carriage_return() {
    let script = "printf 'one\\ntwo\\r\\nthree\\n'; echo end";
    let (mut child, mut ours) = without_controlling_terminal(&["sh", "-c", script]);
    let shown = read_until(&mut ours, "end\r\n");
    assert_eq!(shown, "one\r\ntwo\r\r\nthree\r\nend\r\n");
    child.wait().unwrap();
}

#[test]
fn a_job_in_the_background_writes_lines_as_without_us() {
    if !installed("bash") {
        return;
    }
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
    terminal.wait_for("$ ");
    let script = "i=0; while test $i -lt 3; do echo li\"\"ne $i; i=$((i+1)); done";
    terminal.type_keys(&format!("{OUTPACE} run -- sh -c '{script}' & wait; exit\r"));
    let shown = text(&terminal.whole());
    assert!(
        shown.contains("line 0\r\nline 1\r\nline 2\r\n"),
        "{shown:?}"
    );
}

#[test]
fn a_job_that_comes_to_the_foreground_gets_what_is_typed() {
    if !installed("bash") {
        return;
    }
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
    terminal.wait_for("$ ");
    let go = scratch("foreground-go");
    // One that reads in the background is stopped.
    let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
    let script = format!("echo rea\"\"dy; {waits}; read x; echo \"got <$x>\"");
    terminal.type_keys(&format!("{OUTPACE} run -- sh -c '{script}' &\r"));
    terminal.wait_for("ready");
    // It runs all the time, so that no signal tells it.
    terminal.type_keys("fg\r");
    terminal.wait_for("run -- sh");
    fs::write(&go, "").unwrap();
    terminal.type_keys("abc\r");
    terminal.wait_for("got <abc>");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn a_caller_that_ignores_sigpipe_has_a_program_that_does() {
    let script = |subcommand: &str| {
        format!("trap '' PIPE; {OUTPACE} {subcommand} -- grep SigIgn /proc/self/status")
    };
    for subcommand in ["run", "trace"] {
        for (ignores, script) in [
            (true, script(subcommand)),
            (false, script(subcommand).replace("trap '' PIPE;", "")),
        ] {
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            let line = text(&output.stdout);
            let mask = line.split_whitespace().nth(1).expect("a mask");
            let mask = u64::from_str_radix(mask, 16).unwrap();
            assert_eq!(mask & 1 << 12 != 0, ignores, "{subcommand}: {line}");
        }
    }
}

#[test]
fn where_memory_is_short_everything_arrives_all_the_same() {
    let length = 60_000_000;
    for overflow in ["spill", "block"] {
        let script = format!(
            "ulimit -v 60000; exec {OUTPACE} run --overflow {overflow} -- head -c {length} /dev/zero"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let (mut received, mut buffer) = (0, vec![0; 1 << 20]);
        loop {
            if received < 20_000_000 {
                // A reader slow enough for the queue to fill.
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            match stdout.read(&mut buffer).unwrap() {
                0 => break,
                read => received += read,
            }
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stderr), "", "{overflow}");
        assert_eq!(
            (received, output.status.code()),
            (length, Some(0)),
            "{overflow}"
        );
    }
}

/// The process of `outpace run` itself, a child of `setsid`.
fn outer_process(marker: &str) -> i32 {
    let mut found = None;
    wait_until("the outer process", || {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        found = numbers
            .filter(|process| {
                let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
                let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
                words.first() == Some(&OUTPACE.as_bytes()) && words.contains(&marker.as_bytes())
            })
            // The leader, a fork, has the same words; its parent came first.
            .min();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_terminal_whose_outpace_is_killed_is_as_it_was() {
    let script = "echo ready; exec sleep 1000";
    let mut terminal = Terminal::run(&["--", "sh", "-c", script, "killed-outer"]);
    let before = terminal.settings();
    terminal.wait_for("ready");
    wait_until("a raw terminal", || terminal.settings() != before);
    let outer = Pid::from_raw(outer_process("killed-outer")).unwrap();
    kill_process(outer, Signal::KILL).unwrap();
    wait_until("the terminal as it was", || terminal.settings() == before);
}

#[test]
fn a_terminal_whose_outpace_is_killed_while_it_shows_the_rest_is_as_it_was() {
    let done = scratch("killed-late");
    let script = format!(
        "head -c 3000000 /dev/zero | tr '\\0' x; : > {}",
        done.display()
    );
    let arguments = ["run", "--", "sh", "-c", &script, "killed-late"];
    let mut terminal = Terminal::start(OUTPACE, &arguments, true);
    let before = terminal.settings();
    wait_until("the end of the program", || done.exists());
    let outer = outer_process("killed-late");
    // The leader has gone when the rest is all that is left.
    wait_until("the last phase", || {
        let children = format!("/proc/{outer}/task/{outer}/children");
        fs::read_to_string(children).is_ok_and(|children| children.is_empty())
    });
    assert_ne!(terminal.settings(), before);
    kill_process(Pid::from_raw(outer).unwrap(), Signal::KILL).unwrap();
    wait_until("the terminal as it was", || terminal.settings() == before);
    terminal.unstall();
    terminal.wait();
}

#[test]
fn a_process_id_that_is_none_is_said_to_be_none() {
    for bad in ["abc", "0", "-3"] {
        let output = outpace("trace")
            .arg(format!("--pid={bad}"))
            .output()
            .unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.starts_with(&format!(
                "outpace: --pid {bad}: a process ID is a whole number"
            )),
            "{message}"
        );
    }
}
