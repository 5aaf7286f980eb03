//! A program that is stopped: what started `outpace run` or `outpace trace` sees that of these, and when one of the two is continued,
//! the other goes on.

mod scripted;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};
use scripted::{
    DEFAULT_SIGNALS, WITHOUT_PRIVILEGES, installed, interactive_shell, parent_of, process_of,
    scratch, stat_field, text, wait_until,
};
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdout, Command, Stdio};

const OUTPACE: &str = env!("CARGO_BIN_EXE_outpace");

/// A command as a job of its own, whose output is a pipe, and which is killed at the end.
struct Job {
    child: Child,
    output: ChildStdout,
}

impl Job {
    fn start(words: &[&str], command: &[&str]) -> Self {
        let mut child = Command::new("env")
            .arg(DEFAULT_SIGNALS)
            .args(words)
            .arg("--")
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        Self { child, output }
    }

    fn process(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).unwrap();
    }

    /// Waits until it is stopped; returns the signal.
    fn stopped(&self) -> i32 {
        let mut signal = None;
        wait_until("a stop", || {
            let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
            let changed = waitpid(Some(self.process()), options).unwrap();
            signal = changed.map(|(_, status)| status.stopping_signal().expect("it has ended"));
            signal.is_some()
        });
        signal.unwrap()
    }

    /// What has come by now.
    fn come(&mut self) -> String {
        let mut come = Vec::new();
        let has_come = |output: &ChildStdout| {
            let mut ready = [PollFd::new(output, PollFlags::IN)];
            poll(&mut ready, Some(&Timespec::default())).unwrap() > 0
        };
        while has_come(&self.output) {
            let mut part = [0; 4096];
            match self.output.read(&mut part).unwrap() {
                0 => break,
                read => come.extend_from_slice(&part[..read]),
            }
        }
        text(&come)
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            let mut byte = [0];
            assert_eq!(self.output.read(&mut byte).unwrap(), 1, "{}", text(&line));
            line.extend_from_slice(&byte);
        }
        text(&line)
    }

    /// The rest of its output, and how it ended.
    fn end(mut self) -> (String, std::process::ExitStatus) {
        let mut rest = Vec::new();
        self.output.read_to_end(&mut rest).unwrap();
        (text(&rest), self.child.wait().unwrap())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = kill_process_group(self.process(), Signal::KILL);
        let _ = self.child.wait();
    }
}

const RUN: &[&str] = &[OUTPACE, "run"];

/// Commands that run another: `run` in its ways, `trace` in its modes, the last of which is ptrace(2).
fn all() -> Vec<Vec<&'static str>> {
    let mut all = vec![
        RUN.to_vec(),
        vec![OUTPACE, "run", "--shim", "never"],
        vec![OUTPACE, "run", "--overflow", "drop"],
        vec![OUTPACE, "trace"],
        vec![OUTPACE, "trace", "--exact"],
    ];
    if installed(WITHOUT_PRIVILEGES[0]) {
        all.push([&WITHOUT_PRIVILEGES[..], &all[4]].concat());
    }
    all
}

#[test]
fn a_program_that_stops_itself_stops_what_runs_it_after_its_last_words() {
    const SIGNALS: [(&str, Signal); 6] = [
        ("STOP", Signal::STOP),
        ("TSTP", Signal::TSTP),
        ("TTIN", Signal::TTIN),
        ("TTOU", Signal::TTOU),
        ("STOP", Signal::STOP),
        ("STOP", Signal::STOP),
    ];
    let names = SIGNALS.map(|(name, _)| name).join(" ");
    let script = format!(
        "for signal in {names}; do head -c 10000 /dev/zero | tr '\\0' x; echo $signal; kill -$signal $$; done; echo end"
    );
    for words in all() {
        let mut job = Job::start(&words, &["sh", "-c", &script]);
        for (name, signal) in SIGNALS {
            assert_eq!(job.stopped(), signal.as_raw(), "{words:?}");
            let come = job.come();
            assert_eq!(come.len(), 10_001 + name.len(), "{words:?}");
            assert!(come.ends_with(&format!("x{name}\n")), "{words:?}");
            job.signal(Signal::CONT);
        }
        let (rest, status) = job.end();
        assert_eq!((&*rest, status.code()), ("end\n", Some(0)), "{words:?}");
    }
}

/// A shell continues a job's whole group: the program may have stopped itself again by the time `run` goes on.
#[test]
fn no_stop_is_undone_when_the_whole_job_is_continued() {
    const ROUNDS: usize = 200;
    let script =
        format!("i=0; while test $i -lt {ROUNDS}; do i=$((i + 1)); kill -STOP $$; echo $i; done");
    for words in all() {
        let mut job = Job::start(&words, &["sh", "-c", &script]);
        for round in 1..=ROUNDS {
            job.stopped();
            assert_eq!(job.come().lines().count(), usize::from(round > 1));
            kill_process_group(job.process(), Signal::CONT).unwrap();
        }
        let (rest, status) = job.end();
        assert_eq!((&*rest, status.code()), (&*format!("{ROUNDS}\n"), Some(0)));
    }
}

/// `cpulimit`, or `kill` at another shell, knows the program's process only.
#[test]
fn it_goes_on_when_a_process_continues_the_program() {
    for words in all() {
        let script = "echo $$; read line </dev/null; while :; do kill -STOP $$; echo again; done";
        let mut job = Job::start(&words, &["sh", "-c", script]);
        let program: i32 = job.line().trim().parse().unwrap();
        let program = Pid::from_raw(program).unwrap();
        for _ in 0..5 {
            job.stopped();
            assert_eq!(job.come(), "");
            kill_process(program, Signal::CONT).unwrap();
            assert_eq!(job.line(), "again\n", "{words:?}");
        }
        job.stopped();
        kill_process(program, Signal::KILL).unwrap();
        let (rest, status) = job.end();
        assert_eq!(rest, "");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "{words:?}");
    }
}

#[test]
fn a_signal_for_one_that_is_stopped_reaches_the_program_before_it_goes_on() {
    let script = "trap 'echo term' TERM; kill -STOP $$; echo on";
    for words in all() {
        let mut job = Job::start(&words, &["sh", "-c", script]);
        job.stopped();
        job.signal(Signal::TERM);
        job.signal(Signal::CONT);
        assert_eq!(job.line(), "term\n", "{words:?}");
        assert_eq!(job.line(), "on\n", "{words:?}");
        assert_eq!(job.end().1.code(), Some(0), "{words:?}");
    }
}

#[test]
fn a_program_that_catches_sigtstp_and_goes_on_is_not_held_up() {
    for (words, whole_job) in all()
        .iter()
        .flat_map(|words| [(words, false), (words, true)])
    {
        // A shell that waits for a command would wait for one that is stopped.
        let script = "trap 'echo caught; exit 3' TSTP; echo ready; while :; do :; done";
        let mut job = Job::start(words, &["sh", "-c", script]);
        assert_eq!(job.line(), "ready\n");
        if whole_job {
            kill_process_group(job.process(), Signal::TSTP).unwrap();
        } else {
            job.signal(Signal::TSTP);
        }
        assert_eq!(job.line(), "caught\n", "{words:?} {whole_job}");
        assert_eq!(job.end().1.code(), Some(3), "{words:?} {whole_job}");
    }
}

#[test]
fn a_shell_has_its_prompt_back_from_a_program_that_stops_itself() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    for command in [
        "$OUTPACE run --pipe -- sh -c 'kill -STOP $$; echo back'",
        "$OUTPACE run -- sh -c 'kill -TSTP $$; echo back' > >(cat)",
        "$OUTPACE run -- sh -c 'kill -STOP $$; echo back' | cat",
        "$OUTPACE trace -- sh -c 'kill -STOP $$; echo back'",
        "$OUTPACE trace --exact -- sh -c 'kill -TSTP $$; echo back'",
    ] {
        terminal.type_keys(&format!("{command}\r"));
        if command.ends_with("| cat") {
            // A job is stopped when all of it is.
            let run = [OUTPACE, "run", "--", "sh", "-c", "kill -STOP $$; echo back"];
            wait_until("the stop of run", || {
                let run = process_of(&run).and_then(|run| stat_field(run, 0));
                run.as_deref() == Some("T")
            });
            terminal.type_keys("\x1a");
        }
        terminal.wait_for("Stopped");
        terminal.wait_for("$ ");
        terminal.type_keys("fg\r");
        // The shell does not wait for `cat` before its prompt.
        terminal.wait_for("back\r\n");
        terminal.type_keys("echo ne\"\"xt\r");
        terminal.wait_for("next\r\n");
        terminal.wait_for("$ ");
    }
    // Ctrl-Z.
    for command in ["run --pipe", "trace", "trace --exact"] {
        terminal.type_keys(&format!(
            "$OUTPACE {command} -- sh -c 'echo rea\"\"dy; exec cat'\r"
        ));
        terminal.wait_for("ready\r\n");
        terminal.type_keys("\x1a");
        terminal.wait_for("Stopped");
        terminal.wait_for("$ ");
        terminal.type_keys("fg\r");
        terminal.wait_for(command);
        terminal.type_keys("abc\r");
        terminal.wait_for("abc\r\nabc\r\n");
        terminal.type_keys("\x04");
        terminal.wait_for("$ ");
    }
    terminal.type_keys("exit\r");
    terminal.whole();
}

/// Without `run` a job goes on in the background when another process continues it.
#[test]
fn on_a_terminal_a_run_goes_on_when_a_process_continues_the_program() {
    let Some(mut terminal) = interactive_shell() else {
        return;
    };
    let process = scratch("process");
    let script = format!(
        "echo $$ > {}; kill -STOP $$; echo fi\"\"rst; kill -STOP $$; echo sec\"\"ond",
        process.display()
    );
    terminal.type_keys(&format!("$OUTPACE run -- sh -c '{script}'\r"));
    terminal.wait_for("Stopped");
    terminal.wait_for("$ ");
    let program: i32 = fs::read_to_string(&process)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let run = parent_of(parent_of(program));
    for word in ["first", "second"] {
        wait_until("a stop", || stat_field(program, 0).as_deref() == Some("T"));
        kill_process(Pid::from_raw(program).unwrap(), Signal::CONT).unwrap();
        terminal.wait_for(word);
    }
    // A shell does not end while it has jobs.
    wait_until("the end of the job", || stat_field(run, 0).is_none());
    terminal.type_keys("exit\r");
    terminal.whole();
}
