//! `outpace run` where something is missing: the controlling terminal, memory, the outer process.

mod scripted;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use rustix::termios::{LocalModes, OutputModes, Termios};
use scripted::{
    DEFAULT_SIGNALS, Terminal, installed, interactive_shell, open_terminal, outpace, parent_of,
    process_of, scratch, stat_field, text, wait_until,
};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

/// `outpace run` on a terminal that is not its controlling one, as under `su -c`; and our side of the terminal.
fn without_controlling_terminal(arguments: &[&str]) -> (std::process::Child, File) {
    let (ours, theirs) = open_terminal(80, 24);
    let side = || Stdio::from(theirs.try_clone().unwrap());
    let child = Command::new("env")
        .args([DEFAULT_SIGNALS, "setsid", "--wait", OUTPACE, "run", "--"])
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

/// timeout(1) makes a group of its own, which is in the background. The program is stopped where it reads, and `run` with it. SIGTERM and
/// SIGCONT come close together.
#[test]
fn a_program_that_is_stopped_ends_by_the_sigterm_before_a_sigcont() {
    if !installed("timeout") {
        return;
    }
    for options in ["--shim auto", "--shim never"] {
        for _ in 0..3 {
            let script = format!("timeout 0.5 {OUTPACE} run {options} -- cat; echo $?");
            let shown = Terminal::start("sh", &["-c", &script], false).whole();
            assert_eq!(text(&shown), "124\r\n", "{options}");
        }
    }
}

/// A worker that runs as another user opens `/dev/stdout` after a `chmod 666` of what that is.
#[test]
fn who_may_open_the_terminal_or_pipe_may_open_the_programs() {
    let look = "stat -Lc %a:%u /dev/stdout";
    for options in ["--shim auto", "--shim never", "--pipe"] {
        let script = format!("chmod 646 /dev/stdout; {look}; {OUTPACE} run {options} -- {look}");
        let on_a_terminal = Terminal::start("sh", &["-c", &script], false).whole();
        let in_a_pipe = Command::new("sh").args(["-c", &script]).output().unwrap();
        for shown in [on_a_terminal, in_a_pipe.stdout] {
            let shown = text(&shown);
            let [without, with] = shown.lines().collect::<Vec<_>>()[..] else {
                panic!("{shown}");
            };
            assert!(without.starts_with("646:"), "{shown}");
            assert_eq!(without, with, "{options}");
        }
    }
}

/// `pkill -STOP` by the program's name stops all three of them, and the shell continues only the one that it knows.
#[test]
fn a_program_that_was_stopped_with_its_leader_goes_on_with_outpace() {
    // Another run of this test may be under way.
    let duration = format!("1017.{}", std::process::id());
    let script = format!("echo ready; exec sleep {duration}");
    let mut terminal = Terminal::run(&["sh", "-c", &script]);
    // From then on `outpace` knows that the program runs.
    terminal.wait_for("ready");
    let mut program = None;
    wait_until("the program", || {
        program = process_of(&["sleep", &duration])
            .filter(|it| parent_of(parent_of(*it)) == terminal.process());
        program.is_some()
    });
    let program = program.unwrap();
    let all = [parent_of(program), program, terminal.process()];
    let send =
        |process: i32, signal| kill_process(Pid::from_raw(process).unwrap(), signal).unwrap();
    let is_stopped = |process: i32| stat_field(process, 0).as_deref() == Some("T");
    for process in all {
        send(process, Signal::STOP);
        wait_until("a stop", || is_stopped(process));
    }
    send(terminal.process(), Signal::CONT);
    wait_until("all to go on", || !all.into_iter().any(is_stopped));
    send(program, Signal::KILL);
    terminal.whole();
}

/// No session has it, as in a container, or one has whose foreground waits for us, as with `su -c`.
#[test]
fn keys_of_a_terminal_that_is_not_the_controlling_one_reach_the_program() {
    let script = "echo ready; read x; echo got $x";
    let (mut child, mut ours) = without_controlling_terminal(&["sh", "-c", script]);
    read_until(&mut ours, "ready");
    ours.write_all(b"abc\r").unwrap();
    read_until(&mut ours, "got abc");
    child.wait().unwrap();

    let run = format!("setsid --wait {OUTPACE} run sh -c '{script}'; echo $?");
    let mut terminal = Terminal::start("sh", &["-c", &run], false);
    terminal.wait_for("ready");
    terminal.type_keys("abc\r");
    let shown = text(&terminal.whole());
    assert!(shown.ends_with("abc\r\ngot abc\r\n0\r\n"), "{shown:?}");
}

/// A shell has the terminal.
#[test]
fn a_program_in_another_session_takes_no_keys_from_the_foreground() {
    if !installed("bash") {
        return;
    }
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
    terminal.wait_for("$ ");
    let go = scratch("another-session");
    let waits = format!("while ! test -e {}; do sleep 0.01; done", go.display());
    terminal.type_keys(&format!(
        "setsid {OUTPACE} run sh -c 'echo rea\"\"dy; {waits}; echo en\"\"d'\r"
    ));
    terminal.wait_for("ready");
    for n in 0..20 {
        terminal.type_keys(&format!("echo n\"\"umber {n}\r"));
        terminal.wait_for(&format!("number {n}\r\n"));
    }
    fs::write(&go, "").unwrap();
    terminal.wait_for("end");
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// A shell gives a command in its background the null device to read, and reads keys itself. Another `outpace run` may take the terminal.
#[test]
fn a_script_reads_keys_beside_a_program_in_its_background() {
    let script = format!(
        "{OUTPACE} run sh -c 'echo ready; while ! test -e {0}; do sleep 0.01; done; echo end' & read x; flock --nonblock $(tty) echo free; echo got $x; : >{0}; wait",
        scratch("background-go").display()
    );
    let mut terminal = Terminal::start("sh", &["-c", &script], false);
    terminal.wait_for("ready\r\n");
    terminal.type_keys("abc\r");
    let shown = text(&terminal.whole());
    assert!(
        shown.ends_with("abc\r\nfree\r\ngot abc\r\nend\r\n"),
        "{shown:?}"
    );
}

/// As ssh and sudo ask for a password.
#[test]
fn a_program_without_stdin_reads_keys_from_the_terminal_by_name() {
    for reads in [
        "read x </dev/tty",
        "read x <&2",
        "exec 3<$(tty <&2); stty -echo <&3; read x <&3; stty echo <&3",
    ] {
        let script =
            format!("{OUTPACE} run sh -c 'echo ready; {reads}; echo \"got <$x>\"' </dev/null");
        let mut terminal = Terminal::start("sh", &["-c", &script], false);
        terminal.wait_for("ready\r\n");
        wait_until("the program's keys", || {
            terminal.settings() != terminal.first_settings()
        });
        terminal.type_keys("abc\r");
        let shown = text(&terminal.whole());
        assert!(shown.ends_with("got <abc>\r\n"), "{shown:?}");
    }
    if installed("less") {
        let run = format!("yes | head -n 1000 | {OUTPACE} run less");
        let mut terminal = Terminal::start("sh", &["-c", &run], false);
        wait_until("the program's keys", || {
            terminal.settings() != terminal.first_settings()
        });
        terminal.type_keys("q");
        terminal.whole();
    }
}

/// Each of them takes the terminal's settings for those to restore.
#[test]
fn a_terminal_of_several_runs_is_as_it_was_and_its_lines_are_whole() {
    for run in ["run", "run --shim never"] {
        let job =
            |n: u32| format!("{OUTPACE} {run} sh -c 'echo {n} one; sleep 0.{n}; echo {n} two' &");
        let jobs: String = (1..5).map(job).collect();
        let mut terminal = Terminal::start("sh", &["-c", &format!("{jobs} wait")], false);
        terminal.wait();
        assert_eq!(terminal.settings(), terminal.first_settings());
        // A line may have been on its way when another one's end restored the terminal, which then adds a carriage return.
        let shown = text(&terminal.whole()).replace("\r\r", "\r");
        for line in (1..5).flat_map(|n| ["one", "two"].map(|word| format!("{n} {word}\r\n"))) {
            assert_eq!(shown.matches(&line).count(), 1, "{line:?} in {shown:?}");
        }
    }
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
fn a_file_takes_what_a_program_writes_that_outlives_its_terminal() {
    let (go, tee) = (scratch("tee-go"), scratch("tee"));
    let script = format!(
        "trap '' HUP; echo ready; while test ! -e {}; do sleep 0.01; done; seq 20000",
        go.display()
    );
    let expected: String = (1..=20_000).map(|n| format!("{n}\r\n")).collect();
    let small = ["--overflow", "block", "--memory", "64KiB"];
    for options in [
        &[&["--shim", "never"][..], &small].concat(),
        &[&["--shim", "auto"][..], &small].concat(),
        &["--overflow", "drop", "--memory", "64KiB"][..],
        &["--timestamps", "--rate"],
    ] {
        let _ = fs::remove_file(&go);
        let file = ["--tee", tee.to_str().unwrap(), "--", "sh", "-c", &script];
        let mut terminal = Terminal::run(&[options, &file].concat());
        terminal.wait_for("ready");
        terminal.close();
        fs::write(&go, "").unwrap();
        assert!(terminal.wait().success(), "{options:?}");
        let taken = fs::read_to_string(&tee).unwrap();
        assert!(taken == format!("ready\r\n{expected}"), "{options:?}");
    }
}

#[test]
fn what_a_pipe_has_not_taken_yet_arrives_although_the_terminal_has_gone() {
    let (done, pipe) = (scratch("gone-done"), scratch("gone-pipe"));
    // The rest is in the pipe to `outpace` when the program has ended.
    let script = format!(
        "trap '' HUP; mkfifo {0}; exec {OUTPACE} run --overflow block --memory 64KiB -- \
         sh -c 'head -c 800000 /dev/zero >&2; : > {1}' 2> {0}",
        pipe.display(),
        done.display()
    );
    let (ours, theirs) = open_terminal(80, 24);
    let mut child = Command::new("setsid")
        .args(["--ctty", "--wait", "sh", "-c", &script])
        .stdin(Stdio::from(theirs.try_clone().unwrap()))
        .stdout(Stdio::from(theirs))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the pipe", || pipe.exists());
    let mut reader = File::open(&pipe).unwrap();
    wait_until("the end of the program", || done.exists());
    drop(ours);
    let mut received = Vec::new();
    reader.read_to_end(&mut received).unwrap();
    assert_eq!(received.len(), 800_000);
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
fn a_device_that_is_no_terminal_is_the_program_s_own_and_so_are_its_errors() {
    for arguments in ["", "--pipe", "--shim never"] {
        let script = format!("{OUTPACE} run {arguments} seq 10 >/dev/full");
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.starts_with("seq: write error"), "{message}");
    }
}

#[test]
fn signals_that_a_caller_on_a_terminal_ignores_are_ignored_by_the_program() {
    if !installed("bash") {
        return;
    }
    let masks = [format!("{OUTPACE} run"), String::new()].map(|run| {
        let script = format!(
            "trap '' PIPE TTOU TTIN TSTP USR1 HUP QUIT; {run} grep SigIgn /proc/self/status"
        );
        text(&Terminal::start("bash", &["-c", &script], false).whole())
    });
    assert_eq!(masks[0], masks[1]);
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
                std::thread::sleep(Duration::from_millis(2));
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

/// There it has what it would have without `run`: its place, and its descriptors.
#[test]
fn where_run_cannot_stand_between_the_program_writes_by_itself() {
    const SAYS: &str = "(os error 24): readlink writes by itself";
    let limited =
        |then: &str| format!("ulimit -n 12; {OUTPACE} run {then} readlink /proc/self/fd/1");
    let (mut reader, pipe) = std::io::pipe().unwrap();
    let own = format!("/proc/{}/fd/{}", std::process::id(), pipe.as_raw_fd());
    let own = fs::read_link(own).unwrap();
    let piped = Command::new("sh")
        .args(["-c", &limited("")])
        .stdout(pipe)
        .output();
    let piped = piped.unwrap();
    assert!(
        text(&piped.stderr).contains(SAYS),
        "{}",
        text(&piped.stderr)
    );
    let mut shown = String::new();
    reader.read_to_string(&mut shown).unwrap();
    assert_eq!(shown.trim_end(), own.to_str().unwrap());

    let on_terminal = Terminal::start("sh", &["-c", &format!("tty; {}", limited(""))], false);
    let shown = text(&on_terminal.whole());
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() == 3 && lines[1].contains(SAYS), "{shown}");
    assert_eq!(lines[0], lines[2]);

    // What was asked for besides cannot be had.
    let asks = Command::new("sh")
        .args(["-c", &limited("--timestamps")])
        .output()
        .unwrap();
    assert_eq!(
        (asks.status.code(), text(&asks.stdout)),
        (Some(1), String::new())
    );
}

#[test]
fn a_limit_of_files_is_for_the_program_s_files() {
    let script = format!(
        "ulimit -f 8; {OUTPACE} run sh -c 'seq 100000; grep SigIgn /proc/self/status; head -c 100000 /dev/zero >{}'; echo $?",
        scratch("limited").display()
    );
    let without = script.replace(&format!("{OUTPACE} run "), "");
    for end in ["", " | cat"] {
        let [with, without] = [&script, &without].map(|script| {
            let script = format!("{{ {script}; }} 2>/dev/null{end}");
            Terminal::start("sh", &["-c", &script], false).whole()
        });
        assert_eq!(text(&with), text(&without));
    }
}

/// The error may come with the last bytes, when the program has ended.
#[test]
fn output_that_a_full_disk_does_not_take_is_an_error() {
    for _ in 0..10 {
        let script = format!("ulimit -f 1; {OUTPACE} run --timestamps head -c 5000 /dev/zero");
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command.stdout(File::create(scratch("full-disk")).unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let message = text(&output.stderr);
        assert!(message.contains("File too large"), "{message}");
        assert!(!output.status.success(), "{:?}", output.status);
    }
}

/// gpg's pinentry opens the terminal that GPG_TTY names.
#[test]
fn variables_that_name_the_user_s_terminal_name_the_program_s() {
    let script = format!(
        "export GPG_TTY=$(tty) OTHER=/dev/null; {OUTPACE} run sh -c 'test \"$GPG_TTY\" = $(tty) && echo $OTHER, not '$(tty); tty"
    );
    let terminal = Terminal::start("sh", &["-c", &script], false);
    let shown = text(&terminal.whole());
    let (named, own) = shown.trim_end().split_once("\r\n").unwrap();
    assert_eq!(named, format!("/dev/null, not {own}"));
}

/// The process of `outpace run` itself.
fn outer(terminal: &Terminal) -> Pid {
    Pid::from_raw(terminal.process()).unwrap()
}

#[test]
fn a_terminal_whose_outpace_is_killed_is_as_it_was() {
    let script = "echo ready; exec sleep 1000";
    let mut terminal = Terminal::run(&["--", "sh", "-c", script]);
    let before = terminal.first_settings();
    terminal.wait_for("ready");
    wait_until("a raw terminal", || terminal.settings() != before);
    kill_process(outer(&terminal), Signal::KILL).unwrap();
    wait_until("the terminal as it was", || terminal.settings() == before);
}

#[test]
fn a_terminal_whose_outpace_is_killed_while_it_shows_the_rest_is_as_it_was() {
    let done = scratch("killed-late");
    let script = format!(
        "head -c 3000000 /dev/zero | tr '\\0' x; : > {}",
        done.display()
    );
    let mut terminal = Terminal::start(OUTPACE, &["run", "--", "sh", "-c", &script], true);
    let before = terminal.first_settings();
    wait_until("the end of the program", || done.exists());
    let outer = terminal.process();
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

/// That key empties the terminal's queue, and the kernel tells no writer that waits for room there.
#[test]
fn ctrl_z_while_the_rest_is_shown_does_not_hold_it_up() {
    for _ in 0..6 {
        let (ours, theirs) = open_terminal(80, 24);
        let side = || Stdio::from(theirs.try_clone().unwrap());
        let mut child = Command::new("env")
            .args([DEFAULT_SIGNALS, "setsid", "--ctty", "--wait", OUTPACE])
            .args(["run", "--", "seq", "300000"])
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        drop(theirs);
        let mut terminal = File::from(ours);
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let mut shown = Vec::new();
        let mut piece = [0; 4096];
        // The leader has gone when the rest is all that is left.
        let mut read_slowly = |shown: &mut Vec<u8>| {
            let read = terminal.read(&mut piece).unwrap();
            shown.extend_from_slice(&piece[..read]);
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        wait_until("the last phase", || {
            read_slowly(&mut shown);
            let has_begun = !shown.is_empty();
            has_begun && fs::read_to_string(&children).is_ok_and(|children| children.is_empty())
        });
        (0..5).for_each(|_| read_slowly(&mut shown));
        assert!(!shown.ends_with(b"300000\r\n"));
        terminal.write_all(b"\x1a").unwrap();
        let rest = std::thread::spawn(move || {
            let mut rest = Vec::new();
            // A terminal that is closed answers EIO.
            let _ = terminal.read_to_end(&mut rest);
            rest
        });
        wait_until("the end", || child.try_wait().unwrap().is_some());
        assert!(rest.join().unwrap().ends_with(b"\r\n300000\r\n"));
    }
}

/// What `outpace run` makes of a terminal while it runs a program, and while it shows the rest: others do so, too.
fn made_by_others() -> [fn(&mut Termios); 2] {
    [Termios::make_raw, |settings| {
        settings.output_modes.remove(OutputModes::OPOST);
        settings.local_modes.remove(LocalModes::ECHO);
    }]
}

fn has_ended(process: Pid) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline"));
    line.is_ok_and(|line| line.is_empty()) || test_kill_process(process).is_err()
}

#[test]
fn what_the_next_program_makes_of_the_terminal_stays() {
    for by_others in made_by_others() {
        let left = scratch("next-program");
        let script = format!(
            "head -c 3000000 /dev/zero | tr '\\0' x; echo $PPID > {}",
            left.display()
        );
        let mut terminal = Terminal::start(OUTPACE, &["run", "--", "sh", "-c", &script], true);
        let before = terminal.first_settings();
        // The program's parent is the leader, and the keeper is what is left of its session.
        let leader = process_in(&left);
        wait_until("the end of the leader", || has_ended(leader));
        let keeper = last_of_session(leader);
        // Later than the next program.
        kill_process(keeper, Signal::STOP).unwrap();
        terminal.unstall();
        terminal.wait();
        assert_eq!(terminal.settings(), before);
        terminal.set(by_others);
        let next = terminal.settings();
        kill_process(keeper, Signal::CONT).unwrap();
        wait_until("the end of the keeper", || has_ended(keeper));
        assert_eq!(terminal.settings(), next);
    }
}

#[test]
fn what_others_make_of_the_terminal_stays_when_a_stopped_outpace_is_killed() {
    if !installed("bash") {
        return;
    }
    for by_others in made_by_others() {
        let left = scratch("killed-stopped");
        let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
        terminal.wait_for("$ ");
        let script = format!("stty sane; echo $PPID > {}; kill -STOP $$", left.display());
        terminal.type_keys(&format!("stty sane; {OUTPACE} run -- sh -c '{script}'\r"));
        terminal.wait_for("Stopped");
        terminal.wait_for("$ ");
        // A program that takes no keys: the shell has the terminal as it was for `outpace`.
        terminal.type_keys("stty sane; echo rea\"\"dy; sleep 1000\r");
        terminal.wait_for("ready");
        terminal.set(by_others);
        let next = terminal.settings();
        let leader = process_in(&left);
        let outer = Pid::from_raw(parent_of(leader.as_raw_pid())).unwrap();
        kill_process(outer, Signal::KILL).unwrap();
        wait_until("the end of the leader", || has_ended(leader));
        assert_eq!(terminal.settings(), next);
    }
}

/// The process whose number a program leaves in a file.
fn process_in(file: &Path) -> Pid {
    let mut number = None;
    wait_until("the number of a process", || {
        let text = fs::read_to_string(file).unwrap_or_default();
        number = text.strip_suffix('\n').map(|text| text.parse().unwrap());
        number.is_some()
    });
    number.and_then(Pid::from_raw).unwrap()
}

fn last_of_session(session: Pid) -> Pid {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_of_it = |process: &i32| {
        stat_field(*process, 3) == Some(session.to_string()) && *process != session.as_raw_pid()
    };
    numbers.find(is_of_it).and_then(Pid::from_raw).unwrap()
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
            message.starts_with(&format!("outpace: --pid {bad}: not a whole number")),
            "{message}"
        );
    }
}

#[test]
fn sighup_from_a_process_is_for_the_program_and_keys_go_on() {
    let script = "trap '' HUP; echo ready; exec cat";
    let mut terminal = Terminal::run(&["--", "sh", "-c", script]);
    terminal.wait_for("ready");
    kill_process(outer(&terminal), Signal::HUP).unwrap();
    terminal.type_keys("abc\r");
    terminal.wait_for("abc\r\nabc\r\n");
    terminal.type_keys("\x04");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn sighup_reaches_the_job_in_front_of_a_shell() {
    if !installed("dash") {
        return;
    }
    let mut terminal = Terminal::run(&["--", "dash", "-i"]);
    terminal.wait_for("$ ");
    // Of this test's process: others may run the same.
    let seconds = format!("1000.{}", std::process::id());
    terminal.type_keys(&format!("sh -c 'echo rea\"\"dy; exec sleep {seconds}'\r"));
    terminal.wait_for("ready");
    kill_process(outer(&terminal), Signal::HUP).unwrap();
    let status = terminal.wait();
    assert!(!status.success(), "{status:?}");
    wait_until("the end of the job", || {
        process_of(&["sleep", &seconds]).is_none()
    });
    // The leader of the session has the terminal no more, either.
    terminal.whole();
}

/// A job in the background has no terminal whose end the kernel would tell it.
#[test]
fn a_job_in_the_background_whose_outpace_is_killed_ends() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let number = scratch("background-killed");
    let script = format!("echo $$ > {}; exec sleep 1000", number.display());
    terminal.type_keys(&format!("$OUTPACE run -- sh -c '{script}' &\r"));
    let program = process_in(&number);
    terminal.type_keys("kill -9 %1\r");
    wait_until("the end of the program", || has_ended(program));
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// `kill %1` is for the whole job, of which `run` alone is told.
#[test]
fn what_ends_a_job_ends_the_children_of_its_program() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    for signal in ["TERM", "HUP"] {
        let number = scratch(&format!("child-{signal}"));
        let starts = format!("sleep 1000 & echo $! > {}; wait", number.display());
        terminal.type_keys(&format!("$OUTPACE run -- sh -c '{starts}' &\r"));
        let child = process_in(&number);
        terminal.type_keys(&format!("kill -{signal} %%\r"));
        wait_until("the end of the child", || has_ended(child));
        terminal.wait_for("$ ");
    }
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// On a terminal and through a pipe.
#[test]
fn signals_that_mean_something_to_a_program_reach_it() {
    if !installed("bash") {
        return;
    }
    const SIGNALS: [&str; 7] = ["WINCH", "URG", "IO", "PWR", "PROF", "ABRT", "RTMIN+3"];
    let traps: Vec<String> = SIGNALS
        .iter()
        .map(|signal| format!("trap \"echo got {signal}\" {signal}"))
        .collect();
    let script = format!(
        "{}; echo rea\"\"dy; while :; do sleep 0.05; done",
        traps.join("; ")
    );
    let words = [OUTPACE, "run", "--", "bash", "-c", &script];
    for end in ["", " | cat"] {
        let run = format!("{OUTPACE} run -- bash -c '{script}'{end}");
        let mut terminal = Terminal::start("sh", &["-c", &run], false);
        terminal.wait_for("ready");
        let outer = process_of(&words).unwrap();
        let send = |signal: &str| {
            let kill = format!("kill -s {signal} {outer}");
            let sent = Command::new("bash").args(["-c", &kill]).status();
            assert!(sent.unwrap().success(), "{signal}");
        };
        for signal in SIGNALS {
            send(signal);
            terminal.wait_for(&format!("got {signal}\r\n"));
        }
        send("TERM");
        terminal.whole();
    }
}

/// Without `run`, a program that waits for something else learns it from the pipe itself (poll(2)).
#[test]
fn a_program_that_does_not_write_sees_that_the_reader_has_gone() {
    if !installed("tail") {
        println!("skipped: tail is not installed");
        return;
    }
    for shim in ["auto", "never"] {
        let mut command = outpace("run");
        command.args(["--shim", shim, "tail", "-f", "/dev/null"]);
        let mut outer = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(outer.stdout.take());
        wait_until("the end of a program without a reader", || {
            outer.try_wait().unwrap().is_some()
        });
    }
}

#[test]
fn the_program_s_terminal_has_no_flag_that_it_did_not_ask_for() {
    if !installed("perl") {
        println!("skipped: perl is not installed");
        return;
    }
    let asks = "printf \"close on exec: %d\\n\", (fcntl(STDOUT, F_GETFL, 0) & 02000000) != 0";
    let mut terminal = Terminal::run(&["perl", "-MFcntl", "-e", asks]);
    terminal.wait_for("close on exec: 0");
    terminal.whole();
}

/// `read line < fifo` in a loop opens and closes the pipe for each line.
#[test]
fn a_named_pipe_gets_another_reader_while_the_program_does_not_write() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::fs::OpenOptionsExt;
    let pipe = scratch("named-pipe");
    let _ = fs::remove_file(&pipe);
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader = || {
        let flags = libc::O_NONBLOCK;
        let reader = File::options().read(true).custom_flags(flags).open(&pipe);
        BufReader::new(reader.unwrap())
    };
    for options in [
        &["--shim", "auto"][..],
        &["--shim", "never"],
        &["--terminal"],
    ] {
        let mut first = reader();
        let mut command = outpace("run");
        let echoes = ["sh", "-c", "while read -r line; do echo $line; done"];
        command.args(options).args(echoes);
        command.stdout(File::options().write(true).open(&pipe).unwrap());
        let mut outer = command.stdin(Stdio::piped()).spawn().unwrap();
        drop(command);
        let mut keys = outer.stdin.take().unwrap();
        let is_asleep = |thread: std::io::Result<fs::DirEntry>| {
            let stat = fs::read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default();
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('S'))
        };
        for n in 0..5 {
            writeln!(keys, "{n}").unwrap();
            let mut line = String::new();
            wait_until("a line", || {
                first
                    .read_line(&mut line)
                    .is_ok_and(|_| line.ends_with('\n'))
            });
            assert_eq!(line, format!("{n}\n"));
            drop(first);
            // Until each thread has seen that there is no reader.
            wait_until("sleep", || {
                let threads = fs::read_dir(format!("/proc/{}/task", outer.id()));
                threads.unwrap().all(is_asleep)
            });
            first = reader();
        }
        drop(keys);
        assert_eq!(outer.wait().unwrap().code(), Some(0), "{options:?}");
    }
}

/// The terminal of `--terminal` goes with what it leads to: otherwise the program would wait for it for ever.
#[test]
fn a_program_on_a_terminal_of_its_own_ends_when_its_output_is_refused() {
    for arguments in [&["yes"][..], &["sh", "-c", "trap '' HUP; yes"]] {
        let mut command = outpace("run");
        command.arg("--terminal").args(arguments);
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let ended = command.stderr(Stdio::piped()).output().unwrap();
        assert!(!ended.status.success(), "{ended:?}");
        let said = text(&ended.stderr);
        assert!(said.contains("No space left on device"), "{said}");
    }
}

#[test]
fn a_socket_that_keeps_messages_apart_or_is_stdin_as_well_is_the_program_s_own() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let mut command = outpace("run");
    command.args(["sh", "-c", "echo one; echo two"]);
    assert!(
        command
            .stdout(OwnedFd::from(theirs))
            .status()
            .unwrap()
            .success()
    );
    for message in [&b"one\n"[..], b"two\n"] {
        let mut buffer = [0; 64];
        let length = ours.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], message);
    }
    let own = |is_stdin: bool| {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut command = outpace("run");
        command.args(["readlink", "/proc/self/fd/1"]);
        if is_stdin {
            command.stdin(OwnedFd::from(theirs.try_clone().unwrap()));
        }
        command.stdout(OwnedFd::from(theirs));
        assert!(command.status().unwrap().success());
        drop(command);
        let mut shown = String::new();
        ours.read_to_string(&mut shown).unwrap();
        shown
    };
    assert!(own(true).starts_with("socket:"), "{}", own(true));
    assert!(own(false).starts_with("pipe:"), "{}", own(false));
}

/// systemd's variable tells a service by device and inode that a descriptor leads to the journal.
#[test]
fn a_service_still_sees_that_it_writes_to_the_journal() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let journal = OwnedFd::from(theirs);
    let stat = rustix::fs::fstat(&journal).unwrap();
    let mut command = outpace("run");
    let script =
        "test $JOURNAL_STREAM = $(stat -Lc %d:%i /proc/self/fd/2) && readlink /proc/self/fd/2";
    command.args(["sh", "-c", script]);
    command.env("JOURNAL_STREAM", format!("{}:{}", stat.st_dev, stat.st_ino));
    command.stdout(journal.try_clone().unwrap()).stderr(journal);
    assert!(command.status().unwrap().success());
    drop(command);
    let mut shown = String::new();
    ours.read_to_string(&mut shown).unwrap();
    assert!(shown.starts_with("pipe:"), "{shown}");
}

/// systemd's variables tell a service by its process that sockets and a watchdog are for it.
#[test]
fn a_service_sees_that_sockets_and_watchdog_are_for_it() {
    for shim in ["auto", "never"] {
        let script = format!(
            "LISTEN_PID=$$ WATCHDOG_PID=1 exec {} run --shim {shim} sh -c 'echo $$ $LISTEN_PID $WATCHDOG_PID'",
            env!("CARGO_BIN_EXE_outpace")
        );
        let on_pipe = Command::new("sh").args(["-c", &script]).output().unwrap();
        let on_pipe = String::from_utf8(on_pipe.stdout).unwrap();
        let on_terminal = Command::new("script")
            .args(["-qec", &script, "/dev/null"])
            .output();
        for shown in [
            Some(on_pipe),
            on_terminal
                .ok()
                .map(|it| String::from_utf8(it.stdout).unwrap()),
        ] {
            let Some(shown) = shown else {
                eprintln!("skipped: script is missing");
                continue;
            };
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert_eq!((words[0], words[2]), (words[1], "1"), "{shown}");
        }
    }
}

/// The beginning of a command that gives another user of its own so many processes and threads. A fresh user: the kernel may count a
/// process that has ended for a while.
fn with_few_threads(most: u32) -> (u32, String) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let user = 20_000 + (std::process::id() * 64 + count) % 40_000;
    let command = format!(
        "setpriv --reuid={user} --regid={user} --clear-groups prlimit --nproc={most}:{most} {OUTPACE}"
    );
    (user, command)
}

fn can_have_few_threads() -> bool {
    if !installed("setpriv") || !installed("prlimit") {
        return false;
    }
    let alone = sh(&format!("{} --version", with_few_threads(9).1));
    if !alone.status.success() {
        eprintln!("skipped: {}", text(&alone.stderr));
    }
    alone.status.success()
}

fn sh(script: &str) -> std::process::Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command.output().unwrap()
}

/// However many there are: the threads that pass the output on are there before the program begins.
#[test]
fn where_no_thread_can_be_made_nothing_is_lost() {
    if !can_have_few_threads() {
        return;
    }
    let whole = text(&sh("seq 3000").stdout);
    for (options, asks_for_more) in [("", false), ("--shim always", true), ("--rate", true)] {
        let (mut alone, mut between) = (0, 0);
        for most in 1..9 {
            let (_, few) = with_few_threads(most);
            let output = sh(&format!("{few} run {options} seq 3000"));
            let said = text(&output.stderr);
            let is_refused = said.contains("os error 11");
            let (shown, status) = (text(&output.stdout), output.status.code());
            let what = format!("{options} {most}: {said}");
            match is_refused && asks_for_more {
                true => assert_eq!((&*shown, status), ("", Some(1)), "{what}"),
                false => assert!(shown == whole && status == Some(0), "{what}"),
            }
            assert!(is_refused || said.is_empty(), "{what}");
            *(if is_refused { &mut alone } else { &mut between }) += 1;
        }
        assert!(alone > 0 && between > 0, "{options}: {alone}, {between}");
    }
}

#[test]
fn where_no_thread_can_be_made_a_terminal_is_as_it_was_and_shows_everything() {
    if !can_have_few_threads() {
        return;
    }
    let whole = text(&sh("seq 3000 | sed 's/$/\\r/'").stdout);
    for most in 1..8 {
        let (user, few) = with_few_threads(most);
        let script = format!(
            "chown {user} $(tty); before=$(stty -g); {few} run seq 3000; echo $?; \
             [ $before = $(stty -g) ] && echo same"
        );
        let shown = text(&Terminal::start("sh", &["-c", &script], false).whole());
        let shown = match shown.split_once("by itself\r\n") {
            Some((_, shown)) => shown,
            None => &shown,
        };
        assert_eq!(shown, format!("{whole}0\r\nsame\r\n"), "{most}");
    }
}

/// Neither a thread nor a process can be made once the program runs.
#[test]
fn where_no_thread_can_be_made_at_the_end_the_output_of_processes_that_outlive_the_program_arrives()
{
    if !can_have_few_threads() {
        return;
    }
    let gates = ["ends", "goes-on"].map(|name| {
        let gate = scratch(&format!("few-threads-{name}"));
        let _ = fs::remove_file(&gate);
        rustix::fs::mkfifoat(rustix::fs::CWD, &gate, rustix::fs::Mode::empty()).unwrap();
        fs::set_permissions(&gate, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        gate
    });
    let [ends, goes_on] = gates.each_ref().map(|gate| gate.display());
    let outlives = format!("(read go <{goes_on}; echo later; echo wrong >&2) &");
    let (_, few) = with_few_threads(100);
    let script = format!(
        "exec {few} run --shim never sh -c '{outlives} \
         echo first; read go <{ends}; prlimit --pid=$PPID --nproc=1:1 && echo last'"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    let has_relay = || {
        let names = fs::read_dir(&tasks).into_iter().flatten().flatten();
        let mut names = names.flat_map(|task| fs::read_to_string(task.path().join("comm")));
        names.any(|name| name == "outpace-relay\n")
    };
    assert!(has_relay());
    fs::write(&gates[0], "go\n").unwrap();
    wait_until("the end of the relays", || !has_relay());
    fs::write(&gates[1], "go\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let seen = (&*rest, &*text(&output.stderr), output.status.code());
    assert_eq!(seen, ("last\nlater\n", "wrong\n", Some(0)));
}
