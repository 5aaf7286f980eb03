//! A newcomer's first minute: bare `outpace` on terminals of all kinds, lists at their width, and completions in real
//! shells.

mod scripted;

use std::fs;
use std::process::Command;

use scripted::{Terminal, installed, on_a_terminal, scratch, text};

#[test]
fn a_slow_terminal_is_told_of_and_not_waited_for() {
    const RATE: u32 = 20_000;
    let (shown, status) = on_a_terminal(&[], "xterm", (80, 24), Some(RATE));
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.contains("Prints lines for up to 10 s"), "{shown}");
    assert!(shown.contains("this terminal  "), "{shown}");
    assert!(shown.contains("too slow to compare"), "{shown}");
    // Ten runs of three rungs with the least number of lines would be twice as much.
    assert!(shown.len() < 450_000, "{} bytes", shown.len());
}

#[test]
fn a_terminal_that_takes_no_escape_sequence_gets_none() {
    for arguments in [
        &[][..],
        &["--help"],
        &["bench", "raw", "--to", "pipe,tty", "--messages", "100"],
        &["bench", "frob"],
        &["completions", "tcsh"],
    ] {
        let (shown, _) = on_a_terminal(arguments, "dumb", (80, 24), None);
        assert!(!shown.is_empty(), "{arguments:?}");
        assert!(!shown.contains('\x1b'), "{arguments:?}: {shown:?}");
    }
}

#[test]
fn a_terminal_that_cannot_be_measured_is_refused_before_anything_is_compiled() {
    // Each of its rungs is compiled.
    let arguments = ["bench", "endl", "--to", "tty"];
    let (shown, status) = on_a_terminal(&arguments, "dumb", (80, 24), None);
    assert_eq!(status, Some(1), "{shown}");
    assert!(
        shown.contains("--to tty: this terminal cannot be opened: by TERM"),
        "{shown}"
    );
    assert!(!shown.contains("endl: What"), "{shown}");
}

#[test]
fn no_line_is_longer_than_the_terminal_is_wide() {
    let commands = [
        "",
        "bench",
        "report",
        "rung",
        "fps",
        "run",
        "trace",
        "contest",
        "completions",
        "man",
    ];
    let helps = commands.map(|command| (80, vec![command, "--help"]));
    let lists = [40, 80].map(|columns| (columns, vec!["bench", "--list"]));
    for (columns, arguments) in helps.into_iter().chain(lists) {
        let words = arguments.into_iter().filter(|word| !word.is_empty());
        let arguments: Vec<&str> = words.collect();
        let (shown, status) = on_a_terminal(&arguments, "dumb", (columns, 24), None);
        assert_eq!(status, Some(0), "{arguments:?}");
        assert!(shown.lines().count() > 5, "{arguments:?}: {shown}");
        for line in shown.lines() {
            let length = line.trim_end().chars().count();
            assert!(length <= usize::from(columns), "{arguments:?}: {line:?}");
        }
    }
}

#[test]
fn the_figures_of_the_animation_fit_the_terminal() {
    // So slow that frames are skipped, which makes the line longer.
    let (shown, status) =
        on_a_terminal(&["fps", "--seconds", "1"], "xterm", (80, 24), Some(400_000));
    assert_eq!(status, Some(0), "{shown:?}");
    let (_, last) = shown
        .rsplit_once("\x1b[?1049l")
        .expect("it leaves the other screen");
    assert!(last.contains("skipped"), "{last:?}");
    for line in last.lines() {
        let text = line.rsplit('\x1b').next().unwrap_or_default();
        assert!(text.trim_end().chars().count() <= 80, "{line:?}");
    }
}

#[test]
fn a_key_pressed_again_does_not_end_the_wait_for_the_last_frame() {
    for (key, answer, status) in [("q", "\x1b[1;1R", 0), ("q", "\x03", 1)] {
        let program = ["TERM=xterm", env!("CARGO_BIN_EXE_outpace"), "fps", "--bare"];
        let mut terminal = Terminal::start("env", &program, false);
        terminal.wait_for("\x1b[?1049h");
        terminal.type_keys(key);
        terminal.wait_for("\x1b[6n");
        terminal.type_keys_to_be_read(key);
        terminal.type_keys(answer);
        assert_eq!(terminal.wait().code(), Some(status));
    }
}

/// The completion script of a shell, in a file.
fn script(shell: &str) -> String {
    let path = scratch(&format!("completions-{shell}"));
    let output = scripted::outpace("completions")
        .arg(shell)
        .output()
        .unwrap();
    fs::write(&path, output.stdout).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs a command in a shell; returns its lines.
fn said_by(shell: &str, words: &str) -> Vec<String> {
    let output = Command::new(shell).args(["-c", words]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_experiments_rungs_destinations_and_policies() {
    let cases = [
        (["bench", "ladd"], "ladder"),
        (["bench", "lines/outpace-b"], "lines/outpace-background"),
        (["rung", "endl/newl"], "endl/newline"),
        (["--to", "alac"], "alacritty"),
        (["--overflow", "sp"], "spill"),
    ];
    for shell in ["bash", "fish"] {
        if !installed(shell) {
            continue;
        }
        let script = script(shell);
        for ([before, typed], wanted) in cases {
            let command = match before {
                "--to" => "bench --to",
                "--overflow" => "run --overflow",
                other => other,
            };
            let words = if shell == "bash" {
                format!(
                    "source '{script}'; COMP_WORDS=(outpace {command} {typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
                     _outpace outpace '{typed}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
                )
            } else {
                format!("source '{script}'; complete -C 'outpace {command} {typed}'")
            };
            let said = said_by(shell, &words);
            let found = said
                .iter()
                .any(|line| line.split('\t').next() == Some(wanted));
            assert!(found, "{shell}: {command} {typed}: {said:?}");
            assert!(said.len() < 30, "{shell}: {command} {typed}: {said:?}");
        }
    }
}
