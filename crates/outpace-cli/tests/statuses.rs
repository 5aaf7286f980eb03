//! One rule for the exit status of every subcommand: 2 where the command line alone shows the mistake, 1 where something
//! failed or is not there.

mod scripted;

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use scripted::{installed, open_terminal, text};

/// Runs a command line without a terminal.
fn run(line: &str, stdout: Stdio) -> Output {
    let mut command = Command::new("setsid");
    command
        .args(["--wait", env!("CARGO_BIN_EXE_outpace")])
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped());
    command.output().unwrap()
}

/// Checks the status, and that the first line names the object; below it there may be a remedy, and no more.
fn check(line: &str, stdout: Stdio, status: i32, object: &str) {
    let output = run(line, stdout);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{line}: {said}");
    let start = format!("outpace: {object}: ");
    assert!(said.starts_with(&start), "{line}: {said}");
    assert!(said.lines().count() <= 2, "{line}: {said}");
    assert_eq!(text(&output.stdout), "", "{line}");
}

#[test]
fn a_mistake_that_the_command_line_alone_shows_is_2() {
    for (line, object) in [
        ("nosuch", "nosuch"),
        ("--nosuch", "--nosuch"),
        ("bench nosuch", "nosuch"),
        ("bench --runs x", "--runs x"),
        ("bench lines --to nosuch", "--to nosuch"),
        ("bench lines --slow", "--slow"),
        ("report", "report"),
        ("report --nosuch", "--nosuch"),
        ("rung lines/nosuch", "lines/nosuch"),
        ("rung", "rung"),
        ("fps --seconds x", "--seconds x"),
        ("run", "run"),
        ("run --memory x true", "--memory x"),
        ("run --pipe --terminal true", "--pipe"),
        ("trace", "trace"),
        ("trace -p x", "--pid x"),
        ("contest nosuch", "nosuch"),
        ("completions nosuch", "nosuch"),
        ("man nosuch", "nosuch"),
    ] {
        check(line, Stdio::piped(), 2, object);
    }
}

#[test]
fn what_failed_or_is_not_there_is_1() {
    for (line, object) in [
        ("bench lines --export-json /proc/no/a", "/proc/no/a"),
        ("bench lines --export-markdown /proc/no/a", "/proc/no/a"),
        ("bench lines --export-html /proc/no/a", "/proc/no/a"),
        ("bench calls --profile /proc/no", "/proc/no"),
        ("bench lines --to tty", "--to tty"),
        ("bench lines --to pipe:64GiB", "--to pipe:64GiB"),
        ("report /proc/no", "/proc/no"),
        ("report /proc/version", "/proc/version"),
        ("rung calls/stdout", "calls/stdout"),
        ("fps", "stdout"),
        ("fps --stream stderr", "stderr"),
        ("run --tee /proc/no/a true", "/proc/no/a"),
        ("run --stats /proc/no/a true", "/proc/no/a"),
        ("run --spill-dir /proc/no true", "--spill-dir /proc/no"),
        ("trace --json /proc/no/a true", "/proc/no/a"),
        ("trace --profile /proc/no/a true", "/proc/no/a"),
        ("trace -p 2147483647", "process 2147483647"),
    ] {
        check(line, Stdio::piped(), 1, object);
    }
}

#[test]
fn a_command_that_cannot_be_started_has_the_statuses_of_a_shell() {
    for command in ["run", "trace"] {
        for (program, status) in [("/proc/no", 127), ("/proc/version", 126), ("/", 126)] {
            check(
                &format!("{command} {program}"),
                Stdio::piped(),
                status,
                program,
            );
        }
    }
}

#[test]
fn a_stdout_that_takes_no_more_is_1() {
    for line in [
        "--help",
        "--version",
        "bench --list",
        "bench --hyperfine",
        "contest",
        "completions bash",
        "man",
        // std's println!, one on another thread, outpace's, an error that is returned, C, and C++.
        "rung lines/println",
        "rung threads/println-8",
        "rung lines/outpace",
        "rung lines/bufwriter",
        "rung ladder/turbo-c",
        "rung endl/newline",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let compiled = line.contains("turbo-c") || line.contains("endl");
        let probe = run(&format!("{line} --messages 1"), Stdio::null());
        if compiled && !probe.status.success() {
            eprintln!("skipped: {line}: {}", text(&probe.stderr));
            continue;
        }
        check(line, full.into(), 1, "stdout");
    }
}

#[test]
fn a_terminal_that_takes_no_escape_sequence_is_refused_with_the_remedy() {
    for (line, object) in [("fps", "stdout"), ("bench lines --to tty", "--to tty")] {
        let (_ours, theirs) = open_terminal(80, 24);
        let side = || Stdio::from(theirs.try_clone().unwrap());
        let output = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_outpace")])
            .args(line.split_whitespace())
            .env("TERM", "dumb")
            .stdin(side())
            .stdout(side())
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.starts_with(&format!("outpace: {object}: ")), "{said}");
        assert!(said.contains("set TERM to your terminal's name"), "{said}");
    }
}

#[test]
fn a_script_without_its_interpreter_is_said_to_be_there() {
    use std::os::unix::fs::OpenOptionsExt;
    let path = scripted::scratch("no-interpreter");
    let mut script = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o755)
        .open(&path)
        .unwrap();
    script.write_all(b"#!/no/such/interpreter\n").unwrap();
    drop(script);
    for command in ["run", "trace"] {
        let refused = scripted::outpace(command).arg(&path).output().unwrap();
        assert_eq!(refused.status.code(), Some(127));
        let message = text(&refused.stderr);
        assert!(message.contains("the file is there"), "{message}");
    }
}

/// `outpace` as a user with so many processes and threads.
fn with_few_threads(most: u32, arguments: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65431", "--regid=65431", "--clear-groups"])
        .args(["prlimit", &format!("--nproc={most}:{most}")])
        .arg(env!("CARGO_BIN_EXE_outpace"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn where_no_thread_can_be_started_the_limit_is_named() {
    if !installed("setpriv") || !installed("prlimit") {
        return;
    }
    let alone = with_few_threads(9, &["--version"]);
    if !alone.status.success() {
        return eprintln!("skipped: {}", text(&alone.stderr));
    }
    for arguments in [
        &["trace", "true"][..],
        &["trace", "--exact", "true"],
        &["run", "true"],
        &["run", "--pipe", "true"],
    ] {
        for most in 1..6 {
            let output = with_few_threads(most, arguments);
            let said = text(&output.stderr);
            assert!(!said.contains("panicked"), "{arguments:?}, {most}: {said}");
            let names_it = said.contains("ulimit -u");
            // With one there is none for the program.
            let is_trace =
                arguments[0] == "trace" && (most == 1 || output.status.code() != Some(0));
            assert!(names_it || !is_trace, "{arguments:?}, {most}: {said}");
            if is_trace {
                assert_eq!(output.status.code(), Some(126), "{said}");
            }
        }
    }
}

#[test]
fn where_too_few_files_may_be_open_the_limit_is_named() {
    let few = [
        "--nofile=8:8",
        env!("CARGO_BIN_EXE_outpace"),
        "trace",
        "true",
    ];
    let Ok(output) = Command::new("prlimit").args(few).output() else {
        return eprintln!("skipped: no prlimit");
    };
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("outpace: files: 8 may be open"), "{said}");
    assert!(said.contains("ulimit -n"), "{said}");
}
