//! What a program leaves behind on its terminal is there as without `outpace run`: settings, keys that it has not read,
//! processes; and what it is given: streams that are closed, a terminal that is for others.

mod scripted;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scripted::{Terminal, interactive_shell, process_of, scratch, stat_field, text, wait_until};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

/// A shell that does this with `RUN` in front of commands or without.
fn shell(script: &str, with_run: bool) -> Terminal {
    let run = format!("{OUTPACE} run --");
    let script = script.replace("RUN", if with_run { &run } else { "" });
    Terminal::start("sh", &["-c", &script], false)
}

#[test]
fn settings_that_the_program_leaves_are_the_terminal_s() {
    for settings in [
        "-echo",
        "raw -echo",
        "-isig eof ^A tab3 -onlcr",
        "rows 30 columns 90",
        "sane",
    ] {
        let [without, with] = [false, true].map(|with_run| {
            let script = format!("RUN stty {settings}; stty -a; stty sane; echo shown");
            let mut terminal = shell(&script, with_run);
            terminal.wait_for("shown");
            text(&terminal.whole())
        });
        assert_eq!(with, without, "{settings}");
    }
}

#[test]
fn a_program_that_is_stopped_leaves_its_settings_and_finds_those_of_the_shell() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let script = "stty -echo susp ^X; echo rea\"\"dy; read x; stty -a; read y";
    terminal.type_keys(&format!("$OUTPACE run -- sh -c '{script}'\r"));
    terminal.wait_for("ready");
    terminal.type_keys("\x18");
    terminal.wait_for("Stopped");
    terminal.wait_for("$ ");
    // What bash gives a job: the settings from before, with what was changed since.
    terminal.type_keys("stty quit ^Y; fg\r");
    terminal.wait_for("run -- sh");
    terminal.type_keys("x\r");
    terminal.wait_for("quit = ^Y");
    terminal.type_keys("y\r");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn what_a_program_has_written_is_shown_before_it_is_seen_to_be_stopped() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let script = "echo rea\"\"dy; while read x; do echo last words $x; kill -STOP $$; done";
    terminal.type_keys(&format!("$OUTPACE run --shim never -- sh -c '{script}'\r"));
    terminal.wait_for("ready");
    for round in 0..10 {
        terminal.type_keys(&format!("{round}\r"));
        terminal.wait_for(&format!("last words {round}\r\n"));
        terminal.wait_for("Stopped");
        terminal.wait_for("$ ");
        terminal.type_keys("fg\r");
        terminal.wait_for("run --");
    }
    // At once: before the terminal is raw, or after, or between.
    terminal.type_keys("\x04");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn keys_that_are_signals_are_for_the_whole_job() {
    for with_run in [false, true] {
        let mut terminal = shell(
            "RUN sh -c 'echo ready; exec sleep 1000'; echo after",
            with_run,
        );
        terminal.wait_for("ready");
        terminal.type_keys("\x03");
        let status = terminal.wait();
        assert!(!status.success(), "{status:?}");
        let shown = text(&terminal.whole());
        assert!(!shown.contains("after"), "{shown}");
    }
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let script = format!("{OUTPACE} run -- sh -c \"echo rea\"\"dy; exec cat\"; echo after");
    terminal.type_keys(&format!("sh -c '{script}'\r"));
    terminal.wait_for("ready");
    terminal.type_keys("\x1a");
    terminal.wait_for("Stopped");
    terminal.wait_for("$ ");
    terminal.bring_cat_to_the_front();
    terminal.wait_for("after\r\n");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// Whether keys can be put back into a terminal.
fn takes_keys_back() -> bool {
    let refuses = fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti");
    refuses.map_or(true, |setting| setting.trim() != "0")
}

#[test]
fn keys_that_the_program_has_not_read_are_for_the_next_reader() {
    if !takes_keys_back() {
        eprintln!("skipped: the kernel takes no keys back (dev.tty.legacy_tiocsti)");
        return;
    }
    for with_run in [false, true] {
        let go = scratch("go");
        let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
        let script = format!(
            "RUN sh -c 'echo ready; read a; echo \"a <$a>\"; {waits}'; read b; echo \"b <$b>\"; read c; echo \"c <$c>\"; \
             read d; echo \"d <$d>\"; read e || echo \"end of input <$e>\""
        );
        let mut terminal = shell(&script, with_run);
        terminal.wait_for("ready");
        // The last line is not finished yet, and one is deleted again.
        terminal.type_keys("one\r");
        terminal.wait_for("a <one>");
        terminal.type_keys("two\rthreX\x7fe\rwrong\x15fo");
        terminal.wait_for("fo");
        fs::write(&go, "").unwrap();
        terminal.wait_for("b <two>");
        terminal.wait_for("c <three>");
        terminal.type_keys("ur\r\x04");
        terminal.wait_for("d <four>");
        terminal.wait_for("end of input <>");
        assert_eq!(terminal.wait().code(), Some(0));
    }
}

#[test]
fn keys_that_are_typed_while_the_rest_is_shown_are_for_the_next_reader() {
    let done = scratch("rest-done");
    let script = format!(
        "{OUTPACE} run -- sh -c 'head -c 3000000 /dev/zero | tr \"\\0\" x; : > {}'; read line; echo \"<$line>\"",
        done.display()
    );
    let mut terminal = Terminal::start("sh", &["-c", &script], true);
    let before = terminal.first_settings();
    wait_until("the end of the program", || done.exists());
    // Keys are signals again then, and output is not yet as it was.
    wait_until("the last phase", || {
        let now = terminal.settings();
        now != before && now.contains("ISIG")
    });
    terminal.type_keys("next\r");
    terminal.unstall();
    terminal.wait_for("<next>");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn lines_and_an_end_of_input_that_were_typed_before_the_program_are_for_it_and_echoed_once() {
    let [without, with] = [false, true].map(|with_run| {
        let go = scratch("typed-before");
        let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
        let script = format!("echo ready; {waits}; exec RUN sh -c 'cat; echo end of input'");
        let mut terminal = shell(&script, with_run);
        terminal.wait_for("ready");
        terminal.type_keys("typed\rbefore\x04\x04");
        terminal.wait_for("before");
        fs::write(&go, "").unwrap();
        terminal.wait_for("end of input");
        assert_eq!(terminal.wait().code(), Some(0));
        text(&terminal.whole())
    });
    assert_eq!(with, without);
}

/// A key that stands for itself (Ctrl-V Ctrl-D), and a line that fills the terminal.
#[test]
fn a_line_that_was_typed_before_the_program_is_as_it_was_typed() {
    let longest = "x".repeat(4094);
    for (typed, echoed, read) in [
        ("abc\x16\x04", "^D", "abc^D"),
        (&longest, &longest, &longest),
    ] {
        let [without, with] = [false, true].map(|with_run| {
            let go = scratch("typed-line");
            let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
            let script = format!(
                "echo ready; {waits}; exec RUN sh -c 'head -n 1 | cat -v; read next; echo \"<$next>\"'"
            );
            let mut terminal = shell(&script, with_run);
            terminal.wait_for("ready");
            terminal.type_keys(&format!("{typed}\r"));
            terminal.wait_for(&format!("{echoed}\r\n"));
            fs::write(&go, "").unwrap();
            terminal.wait_for(&format!("{read}\r\n"));
            terminal.type_keys("next\r");
            terminal.wait_for("<next>");
            assert_eq!(terminal.wait().code(), Some(0));
            text(&terminal.whole())
        });
        assert_eq!(with, without);
    }
}

#[test]
fn what_was_typed_before_a_program_that_cannot_start_is_for_the_next_reader() {
    if !takes_keys_back() {
        eprintln!("skipped: the kernel takes no keys back (dev.tty.legacy_tiocsti)");
        return;
    }
    let go = scratch("typed-before-none");
    let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
    let script = format!("echo ready; {waits}; RUN ./there-is-none; read line; echo \"<$line>\"");
    let mut terminal = shell(&script, true);
    terminal.wait_for("ready");
    terminal.type_keys("typed\r");
    terminal.wait_for("typed");
    fs::write(&go, "").unwrap();
    terminal.wait_for("<typed>");
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn keys_behind_ctrl_z_are_for_the_shell() {
    if !takes_keys_back() {
        eprintln!("skipped: the kernel takes no keys back (dev.tty.legacy_tiocsti)");
        return;
    }
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    // One that reads could have read them before it is stopped; and one that starts a child by vfork is not stopped before
    // that runs.
    let pipe = scratch("never-written");
    let script = "exec 3<>$PIPE; trap 'echo contin\"\"ued' CONT; echo rea\"\"dy; while :; do read x <&3; done";
    terminal.type_keys(&format!("PIPE={0}; mkfifo $PIPE\r", pipe.display()));
    terminal.wait_for("$ ");
    let script = script.replace('"', "\\\"");
    terminal.type_keys(&format!("$OUTPACE run -- sh -c \"{script}\"\r"));
    terminal.wait_for("ready");
    for round in 0..5 {
        terminal.type_keys(&format!("\x1aecho shell \"\"{round}\r"));
        terminal.wait_for("Stopped");
        terminal.wait_for(&format!("\nshell {round}\r\n"));
        terminal.type_keys("fg\r");
        terminal.wait_for("continued\r\n");
    }
    terminal.type_keys("\x03");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// How many processes have this word among theirs.
fn processes_with(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            line.split(|byte| *byte == 0)
                .any(|one| one == word.as_bytes())
        })
        .count()
}

#[test]
fn what_the_program_leaves_running_keeps_the_terminal() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let go = scratch("left-go");
    let waits = format!("while test ! -e {}; do sleep 0.01; done", go.display());
    let script = format!(
        "({waits}; echo la\"\"te; read x </dev/tty || echo no in\"\"put; echo end of \"\"it) & echo no\"\"w"
    );
    // Of this test's process: others may run the same.
    let word = format!("left-running-{}", std::process::id());
    terminal.type_keys(&format!("run -- sh -c '{script}' {word}\r"));
    terminal.wait_for("now\r\n");
    terminal.wait_for("$ ");
    terminal.type_keys("echo 'a shell'\" again\"\r");
    terminal.wait_for("a shell again");
    fs::write(&go, "").unwrap();
    terminal.wait_for("late\r\n");
    terminal.wait_for("no input\r\n");
    terminal.wait_for("end of it\r\n");
    wait_until("the end of the last process", || processes_with(&word) == 0);
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn a_process_that_writes_for_ever_does_not_keep_the_program_from_ending() {
    let stop = scratch("stop");
    let script = format!(
        "{OUTPACE} run -- sh -c '(while test ! -e {}; do echo flood; done) & echo now'; echo the next",
        stop.display()
    );
    let mut terminal = Terminal::start("sh", &["-c", &script], false);
    terminal.wait_for("now");
    terminal.wait_for("the next");
    // It is shown still.
    terminal.wait_for("flood");
    fs::write(&stop, "").unwrap();
    terminal.wait();
}

#[test]
fn a_stream_that_is_closed_is_closed_in_the_program() {
    let script = "for n in 0 1 2; do test -e /proc/self/fd/$n || echo $n >> ";
    for closed in [">&-", "<&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"] {
        let [without, with] = ["", "RUN"].map(|run| {
            let file = scratch("closed");
            fs::write(&file, "").unwrap();
            let script = format!("{script}{}; done", file.display());
            let mut terminal = shell(&format!("{run} sh -c '{script}' {closed}"), true);
            terminal.wait();
            fs::read_to_string(&file).unwrap()
        });
        assert_ne!(without, "", "{closed}");
        assert_eq!(with, without, "{closed}");
    }
    // Without a terminal, too.
    let output = Command::new("sh")
        .args([
            "-c",
            &format!("{OUTPACE} run -- sh -c 'echo a || echo failed >&2' >&-"),
        ])
        .output()
        .unwrap();
    assert!(text(&output.stderr).contains("failed"), "{output:?}");
}

#[test]
fn a_job_in_the_background_that_reads_is_stopped_until_it_is_in_the_foreground() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let script = "echo rea\"\"dy; read x; echo \"got <$x>\"";
    terminal.type_keys(&format!("$OUTPACE run -- sh -c '{script}' &\r"));
    terminal.wait_for("ready");
    // A shell tells of it before a prompt.
    let began = std::time::Instant::now();
    while !text(&terminal.so_far()).contains("Stopped") {
        assert!(
            began.elapsed().as_secs() < 60,
            "{}",
            text(&terminal.so_far())
        );
        terminal.type_keys("\r");
        terminal.wait_for("$ ");
    }
    terminal.type_keys("fg\r");
    terminal.wait_for("run -- sh");
    terminal.type_keys("abc\r");
    terminal.wait_for("got <abc>");
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn ctrl_s_stops_what_is_queued_as_well_and_ctrl_q_lets_it_go_on() {
    const LENGTH: usize = 20_000_000;
    let file = scratch("written");
    let script = format!(
        "head -c {LENGTH} /dev/zero | tr '\\0' x; : > {}; sleep 1000; true",
        file.display()
    );
    let mut terminal = Terminal::start(OUTPACE, &["run", "--", "sh", "-c", &script], true);
    wait_until("the program's output", || file.exists());
    let program = process_of(&["sh", "-c", &script]).unwrap();
    let path = format!("/proc/{program}/fd/2");
    let its_terminal = fs::File::options().write(true).open(path).unwrap();
    let takes_output = || {
        let mut room = [PollFd::new(&its_terminal, PollFlags::OUT)];
        poll(&mut room, Some(&Timespec::default())).unwrap() == 1
    };
    wait_until("all of it is queued", takes_output);
    terminal.type_keys("\x13");
    wait_until("a terminal that takes no output", || !takes_output());
    drop(its_terminal);
    terminal.unstall();
    let mut before = 0;
    wait_until("silence", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = terminal.so_far().len();
        std::mem::replace(&mut before, now) == now
    });
    // The kernel's own buffers.
    assert!(before < 1 << 20, "{before}");
    terminal.type_keys("\x11");
    wait_until("the rest", || terminal.so_far().len() >= LENGTH);
    terminal.type_keys("\x03");
    terminal.whole();
}

/// With IXANY any other key lets output go on, and Ctrl-S stops it also where it is stopped already.
#[test]
fn a_second_ctrl_s_stops_output_as_the_first_one_did() {
    let script = "stty ixany; echo ready; read a; echo one; read b; echo two";
    let mut terminal = Terminal::run(&["--", "sh", "-c", script]);
    terminal.wait_for("ready\r\n");
    let stopped = |terminal: &Terminal| !terminal.takes_output();
    terminal.type_keys("\x13");
    wait_until("a stop", || stopped(&terminal));
    terminal.type_keys("\x13");
    terminal.type_keys("a");
    wait_until("output that goes on", || !stopped(&terminal));
    terminal.type_keys("\x13");
    wait_until("a second stop", || stopped(&terminal));
    terminal.type_keys("\x13\r");
    terminal.wait_for("one\r\n");
    terminal.type_keys("\r");
    terminal.wait_for("two\r\n");
    assert_eq!(terminal.wait().code(), Some(0));
}

/// The terminal's own settings are in force then, and its keys send signals.
#[test]
fn ctrl_z_stops_the_rest_of_a_program_that_has_ended_and_fg_shows_it() {
    ctrl_z_stops_the_rest(&[], 300_000, |outer| {
        let children = format!("/proc/{outer}/task/{outer}/children");
        wait_until("the last phase, without the leader of the session", || {
            fs::read_to_string(&children).is_ok_and(|children| children.is_empty())
        });
    });
}

/// The terminal is raw, as long as the rest is not in the queue.
#[test]
fn ctrl_z_stops_the_rest_also_while_memory_is_full() {
    let options = [
        "--shim",
        "always",
        "--overflow",
        "block",
        "--memory",
        "64KiB",
    ];
    ctrl_z_stops_the_rest(&options, 100_000, |_| ());
}

fn ctrl_z_stops_the_rest(options: &[&str], lines: usize, wait: impl Fn(i32)) {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    // A terminal that does not read: the rest is shown for as long as it does not.
    terminal.stall();
    let lines = lines.to_string();
    let program = ["seq", &lines];
    let words = [&["run"], options, &["--"], &program].concat();
    terminal.type_keys(&format!("$OUTPACE {}\r", words.join(" ")));
    let words = [&[OUTPACE], &words[..]].concat();
    let mut outer = None;
    wait_until("outpace", || {
        outer = process_of(&words);
        outer.is_some()
    });
    let outer = outer.unwrap();
    let threads = format!("/proc/{outer}/task");
    wait_until("the program's start, and its end", || {
        let count = fs::read_dir(&threads).unwrap().count();
        count > 1 && process_of(&program).is_none()
    });
    wait(outer);
    // `run` may not have been told of the program's end yet. A second key would discard what the shell says of the first.
    let is_stopped = || stat_field(outer, 0).is_some_and(|state| state == "T");
    wait_until("the stop", || {
        terminal.type_keys("\x1a");
        let typed = Instant::now();
        while !is_stopped() && typed.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(5));
        }
        is_stopped()
    });
    terminal.unstall();
    terminal.wait_for("Stopped");
    terminal.type_keys("fg\r");
    terminal.wait_for(&format!("\n{lines}\r"));
    terminal.wait_for("$ ");
    terminal.type_keys("exit\r");
    terminal.whole();
}

#[test]
fn a_program_is_told_once_that_its_terminal_has_gone() {
    for with_run in [false, true] {
        let told = scratch("told");
        let name = told.display();
        let script = format!(
            "RUN sh -c 'trap \"echo hup >> {name}\" HUP; echo ready; while ! test -s {name}; do sleep 0.01; done; \
             for turn in 1 2 3 4 5 6 7 8 9; do sleep 0.05; done; echo end >> {name}'; true"
        );
        let mut terminal = shell(&script, with_run);
        terminal.wait_for("ready");
        terminal.close();
        let text = || fs::read_to_string(&told).unwrap_or_default();
        wait_until("the program's end", || text().contains("end"));
        assert_eq!(text(), "hup\nend\n", "{with_run}");
    }
}
