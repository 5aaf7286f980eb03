//! A terminal with a program on it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use rustix::termios::{LocalModes, tcgetattr};

use super::programs::{DRAWS_ON, PRESSED_WHILE_ASKED};
use super::{LONG, PROGRAM, PROGRAMS, SHELL, nonzero, pty};

/// A terminal with a program on it.
pub(crate) struct Session {
    emulator: File,
    pub(crate) program: File,
    pub(crate) screen: Arc<(Mutex<vt100::Parser>, Condvar)>,
    /// How often the terminal was asked for its cursor or its kind.
    questions: Arc<AtomicUsize>,
    child: Child,
}

impl Session {
    /// Starts a program on a terminal, by a shell.
    pub(crate) fn start(program: &str) -> Self {
        Self::start_after("", program)
    }

    /// The same, after these keys have been pressed.
    pub(crate) fn start_after(keys: &str, program: &str) -> Self {
        let shell = ["sh", "-c", "\"$@\"; exit $?", "sh"];
        // The job moves itself to the foreground.
        let job = [
            "env",
            // They may be ignored: by `nohup`, or a script.
            "--default-signal=HUP,INT,QUIT,TERM",
            "--ignore-signal=TTOU",
        ];
        let by_shell = format!("{SHELL}=1");
        Self::start_by(
            &[&shell[..], &job, &[by_shell.as_str()]].concat(),
            keys,
            program,
        )
    }

    /// The same, by a command whose arguments end with the program's.
    pub(crate) fn start_by(launcher: &[&str], keys: &str, program: &str) -> Self {
        let this = std::env::current_exe().unwrap();
        Self::start_file(&this, launcher, keys, program)
    }

    /// The same, of a copy of this executable.
    pub(crate) fn start_file(file: &Path, launcher: &[&str], keys: &str, program: &str) -> Self {
        let (mut emulator, theirs) = pty::open(60, 10);
        emulator.write_all(keys.as_bytes()).unwrap();
        let side = || Stdio::from(theirs.try_clone().unwrap());
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .args(launcher)
            .arg(file)
            .args(PROGRAMS)
            .env(PROGRAM, program)
            .env("TERM", "xterm-256color")
            .env("RUST_BACKTRACE", "0")
            .env_remove("TMUX")
            .env_remove("ZELLIJ")
            .env_remove("OUTPACE_DRAW_OFF")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("setsid, of util-linux, is installed");
        let screen = Arc::new((
            Mutex::new(vt100::Parser::new(nonzero(10), nonzero(60), 1000)),
            Condvar::new(),
        ));
        let (ours, theirs_too) = (emulator.try_clone().unwrap(), screen.clone());
        let questions = Arc::new(AtomicUsize::new(0));
        let (asked, types) = (questions.clone(), program == PRESSED_WHILE_ASKED);
        let pause = Duration::from_millis(if program == DRAWS_ON { 10 } else { 0 });
        std::thread::spawn(move || emulate(ours, &theirs_too, &asked, types, pause));
        Self {
            emulator,
            program: theirs,
            screen,
            questions,
            child,
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.emulator.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until the screen is as it should be, and gives its text.
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&vt100::Screen) -> bool) -> String {
        let (screen, changed) = &*self.screen;
        let start = Instant::now();
        let mut now = screen.lock().unwrap();
        loop {
            if holds(now.screen()) {
                return now.screen().contents();
            }
            assert!(
                start.elapsed() < LONG,
                "never {what}; the screen:\n{}",
                now.screen().contents()
            );
            let step = Duration::from_millis(50);
            now = changed.wait_timeout(now, step).unwrap().0;
        }
    }

    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contents().contains(text))
    }

    /// The process id that the program `keys` shows.
    pub(crate) fn pid(&self) -> Pid {
        let shown = self.wait_for(" keys [");
        let number = shown.split("pid ").nth(1).unwrap();
        let number = number.split(' ').next().unwrap();
        Pid::from_raw(number.parse().unwrap()).unwrap()
    }

    pub(crate) fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.program).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn() -> bool) {
        let start = Instant::now();
        while !holds() {
            assert!(start.elapsed() < LONG, "never {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn wait_for_end(&mut self) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < LONG, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The terminal as a shell wants it.
    pub(crate) fn assert_given_back(&self) {
        self.wait("given back", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        assert!(!self.is_raw(), "still raw");
    }

    /// How often the terminal was asked for its cursor or its kind.
    pub(crate) fn questions(&self) -> usize {
        self.questions.load(Ordering::Acquire)
    }

    /// How many bytes a shell would read now.
    pub(crate) fn unread(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.program).unwrap()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process is stopped (`proc_pid_stat(5)`).
pub(crate) fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let (_, state) = stat.rsplit_once(") ").unwrap();
    state.starts_with('T')
}

/// Shows the bytes that are written, and answers questions for the cursor and the terminal's kind; `types`: behind a key that is
/// pressed just then.
fn emulate(
    mut terminal: File,
    screen: &(Mutex<vt100::Parser>, Condvar),
    questions: &AtomicUsize,
    types: bool,
    pause: Duration,
) {
    let (screen, changed) = screen;
    let mut chunk = [0; 65536];
    let mut written = Vec::new();
    loop {
        let read = terminal.read(&mut chunk).unwrap_or(0);
        if read == 0 {
            return;
        }
        for byte in &chunk[..read] {
            let mut now = screen.lock().unwrap();
            now.process(&[*byte]);
            let (row, column) = now.screen().cursor_position();
            drop(now);
            written.push(*byte);
            let answer = match &*written {
                [.., 0x1b, b'[', b'6', b'n'] => format!("\x1b[{};{}R", row + 1, column + 1),
                [.., 0x1b, b'[', b'c'] => "\x1b[?62;22c".into(),
                _ => continue,
            };
            questions.fetch_add(1, Ordering::Release);
            let key = if types { "k" } else { "" };
            terminal
                .write_all(format!("{key}{answer}").as_bytes())
                .unwrap();
        }
        // The bytes so far may end with the beginning of a question.
        written.drain(..written.len().saturating_sub(8));
        changed.notify_all();
        std::thread::sleep(pause);
    }
}
