//! Shared by the tests that run the program: the program, files of their own, waiting, and a terminal that a test types on
//! and reads from, which is a pseudoterminal with `outpace` on it.
// Several test programs share this, and none uses all of it.
#![allow(dead_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, LazyLock, Mutex};
use std::time::{Duration, Instant};

/// Longer than any condition takes that a test waits for, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// For `env`: `nohup`, tmux, or a shell that runs the tests in the background, may have taken these from them.
pub(crate) const DEFAULT_SIGNALS: &str = "--default-signal=INT,QUIT,HUP,TSTP,TTIN,TTOU";

/// A subcommand of the program under test.
pub(crate) fn outpace(subcommand: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outpace"));
    command.arg(subcommand).stdin(Stdio::null());
    command
}

/// The words before a command that is to run without the privileges of the superuser.
pub(crate) const WITHOUT_PRIVILEGES: [&str; 3] =
    ["setpriv", "--bounding-set=-all", "--inh-caps=-all"];

/// The same without the privileges of the superuser.
pub(crate) fn without_privileges(subcommand: &str) -> Command {
    let mut command = Command::new(WITHOUT_PRIVILEGES[0]);
    command
        .args(&WITHOUT_PRIVILEGES[1..])
        .args([env!("CARGO_BIN_EXE_outpace"), subcommand])
        .stdin(Stdio::null());
    command
}

/// A file of this process's own: two runs of the same tests share none. A later run removes files that are left there.
pub(crate) fn scratch(name: &str) -> PathBuf {
    // What is there is removed.
    assert!(Path::new(name).is_relative(), "{name}");
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = std::env::current_exe().unwrap();
        let runs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(program.file_stem().unwrap());
        let own = std::process::id().to_string();
        for run in fs::read_dir(&runs).into_iter().flatten().flatten() {
            let process = run.file_name();
            if process == *own || !Path::new("/proc").join(process).exists() {
                let _ = fs::remove_dir_all(run.path());
            }
        }
        let directory = runs.join(own);
        fs::create_dir_all(&directory).unwrap();
        directory
    });
    let file = DIRECTORY.join(name);
    let _ = fs::remove_file(&file);
    file
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a pipe takes no more, and its writer has to wait.
pub(crate) fn wait_until_full(reader: &ChildStdout) {
    let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
    let writer = File::options().write(true).open(path).unwrap();
    wait_until("a full pipe", || {
        let mut room = [PollFd::new(&writer, PollFlags::OUT)];
        poll(&mut room, Some(&Timespec::default())).unwrap() == 0
    });
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A pseudoterminal: our side, the program's side.
pub(crate) fn open_terminal(columns: u16, rows: u16) -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
    tcsetwinsize(&ours, size(columns, rows)).unwrap();
    (ours, theirs)
}

fn settings_of(terminal: &OwnedFd) -> String {
    format!("{:?}", tcgetattr(terminal).unwrap())
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// The output of the terminal so far, and whether more may come.
#[derive(Default)]
struct Shown {
    bytes: Vec<u8>,
    closed: bool,
    stalled: bool,
    unplugged: bool,
}

impl Shown {
    /// What came after so many bytes, as text.
    fn after(&self, seen: usize) -> String {
        String::from_utf8_lossy(&self.bytes[seen.min(self.bytes.len())..]).into_owned()
    }
}

/// The terminal, and the program started on it in a session of its own.
pub(crate) struct Terminal {
    keyboard: Option<File>,
    program_side: OwnedFd,
    /// Those that the program found.
    first_settings: String,
    shown: Arc<(Mutex<Shown>, Condvar)>,
    seen: usize,
    child: Child,
}

impl Terminal {
    /// Starts a command, 80 columns by 24 rows; a stalled terminal does not read until told to.
    pub(crate) fn start(program: &str, arguments: &[&str], stalled: bool) -> Self {
        let (ours, theirs) = open_terminal(80, 24);
        let first_settings = settings_of(&theirs);
        let side = || Stdio::from(theirs.try_clone().unwrap());
        // `setsid --ctty` makes its stdin the controlling terminal of a new session.
        let child = Command::new("env")
            .args([DEFAULT_SIGNALS, "setsid", "--ctty", "--wait", program])
            .args(arguments)
            .env("TERM", "xterm")
            .env("PS1", "$ ")
            .env_remove("COLUMNS")
            .env_remove("LINES")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .unwrap();
        let keyboard = File::from(ours);
        let shown = Arc::new((
            Mutex::new(Shown {
                stalled,
                ..Shown::default()
            }),
            Condvar::new(),
        ));
        let (mut screen, theirs_too) = (keyboard.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let (shown, changed) = &*theirs_too;
            let mut buffer = vec![0; 64 << 10];
            loop {
                let state = shown.lock().unwrap();
                if changed
                    .wait_while(state, |shown| shown.stalled)
                    .unwrap()
                    .unplugged
                {
                    return;
                }
                let mut ready = [PollFd::new(&screen, PollFlags::IN)];
                let patience = Timespec {
                    tv_sec: 0,
                    tv_nsec: 20_000_000,
                };
                if poll(&mut ready, Some(&patience)).unwrap_or(0) == 0 {
                    continue;
                }
                let read = screen.read(&mut buffer).unwrap_or(0);
                let mut shown = shown.lock().unwrap();
                shown.bytes.extend_from_slice(&buffer[..read]);
                shown.closed = read == 0;
                changed.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self {
            keyboard: Some(keyboard),
            program_side: theirs,
            first_settings,
            shown,
            seen: 0,
            child,
        }
    }

    /// `outpace run` with these arguments.
    pub(crate) fn run(arguments: &[&str]) -> Self {
        Self::start(
            env!("CARGO_BIN_EXE_outpace"),
            &[&["run"], arguments].concat(),
            false,
        )
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keyboard
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Returns when the program has read them, so that others come by a later read.
    pub(crate) fn type_keys_to_be_read(&self, keys: &str) {
        use rustix::process::{Pid, Signal, kill_process};
        let program = Pid::from_raw(self.process()).unwrap();
        let wait = |is_so: fn(u64) -> bool| {
            let began = Instant::now();
            while !is_so(rustix::io::ioctl_fionread(&self.program_side).unwrap()) {
                assert!(began.elapsed() < LIMIT, "keys do not come, or stay");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        kill_process(program, Signal::STOP).unwrap();
        self.keyboard
            .as_ref()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
        wait(|unread| unread > 0);
        kill_process(program, Signal::CONT).unwrap();
        wait(|unread| unread == 0);
    }

    /// Waits until a text has appeared after the one waited for before.
    pub(crate) fn wait_for(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let (shown, changed) = &*self.shown;
        let find = |shown: &Shown| {
            let from = self.seen.min(shown.bytes.len());
            let place = shown.bytes[from..]
                .windows(text.len())
                .position(|part| part == text.as_bytes());
            place.map(|place| from + place + text.len())
        };
        let began = Instant::now();
        let mut now = shown.lock().unwrap();
        loop {
            if let Some(seen) = find(&now) {
                self.seen = seen;
                return;
            }
            assert!(
                !now.closed && began.elapsed() < LIMIT,
                "no {text:?} in {:?}",
                now.after(self.seen)
            );
            now = changed
                .wait_timeout(now, Duration::from_millis(100))
                .unwrap()
                .0;
        }
    }

    /// Types `fg` at a shell whose stopped job is `run -- sh`, which is `cat` by now: it reads a line, shows it, and its input ends.
    pub(crate) fn bring_cat_to_the_front(&mut self) {
        self.type_keys("fg\r");
        self.wait_for("run -- sh");
        self.type_keys("abc\r");
        self.wait_for("abc\r\nabc\r\n");
        self.type_keys("\x04");
    }

    /// Everything shown so far.
    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.shown.0.lock().unwrap().bytes.clone()
    }

    /// The terminal does not read until told to.
    pub(crate) fn stall(&self) {
        self.shown.0.lock().unwrap().stalled = true;
    }

    /// The terminal begins to read.
    pub(crate) fn unstall(&self) {
        self.shown.0.lock().unwrap().stalled = false;
        self.shown.1.notify_all();
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        tcsetwinsize(&self.program_side, size(columns, rows)).unwrap();
    }

    /// The terminal's settings, in words.
    pub(crate) fn settings(&self) -> String {
        settings_of(&self.program_side)
    }

    /// Those from before the program was started, which changes them as soon as it runs.
    pub(crate) fn first_settings(&self) -> String {
        self.first_settings.clone()
    }

    /// Sets the terminal, as a program on it would.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Termios)) {
        let mut settings = tcgetattr(&self.program_side).unwrap();
        change(&mut settings);
        tcsetattr(&self.program_side, OptionalActions::Now, &settings).unwrap();
    }

    /// The process that was started on it.
    pub(crate) fn process(&self) -> i32 {
        self.child.id() as i32
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                began.elapsed() < LIMIT,
                "it does not end after {:?}",
                self.shown.0.lock().unwrap().after(self.seen)
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Everything shown until the program has ended and the terminal's end is read.
    pub(crate) fn whole(mut self) -> Vec<u8> {
        self.wait();
        drop(std::mem::replace(
            &mut self.program_side,
            File::open("/dev/null").unwrap().into(),
        ));
        let (shown, changed) = &*self.shown;
        let (mut shown, end) = changed
            .wait_timeout_while(shown.lock().unwrap(), LIMIT, |shown| !shown.closed)
            .unwrap();
        assert!(!end.timed_out(), "the terminal stays open");
        std::mem::take(&mut shown.bytes)
    }

    /// Whether a program's write would not wait.
    pub(crate) fn takes_output(&self) -> bool {
        let mut room = [PollFd::new(&self.program_side, PollFlags::OUT)];
        poll(&mut room, Some(&Timespec::default())).unwrap() > 0
    }

    /// Closes the terminal, as when its window is closed.
    pub(crate) fn close(&mut self) {
        self.shown.0.lock().unwrap().unplugged = true;
        self.unstall();
        self.keyboard = None;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `outpace` with these arguments on a terminal of a size; returns the bytes that the terminal gets, and the
/// exit status. The terminal reads at a rate, if it is slow, and answers where its cursor is.
pub(crate) fn on_a_terminal(
    arguments: &[&str],
    term: &str,
    (columns, rows): (u16, u16),
    bytes_a_second: Option<u32>,
) -> (String, Option<i32>) {
    let (ours, theirs) = open_terminal(columns, rows);
    let side = || Stdio::from(theirs.try_clone().unwrap());
    let mut command = Command::new("setsid");
    command
        .args(["--ctty", "--wait", "timeout", "--foreground", "300"])
        .arg(env!("CARGO_BIN_EXE_outpace"))
        .args(arguments)
        .env("TERM", term)
        // Programs take it for a sign that colours are shown.
        .env("CI", "true")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .stdin(side())
        .stdout(side())
        .stderr(side());
    let mut child = command.spawn().unwrap();
    drop((command, theirs));
    let mut terminal = File::from(ours);
    let mut shown = Vec::new();
    let mut buffer = vec![0; bytes_a_second.map_or(64 << 10, |rate| rate as usize / 20)];
    // It fails when the last program that has the other side has ended.
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        if let Some(rate) = bytes_a_second {
            std::thread::sleep(Duration::from_secs(1) * length as u32 / rate);
        }
        shown.extend_from_slice(&buffer[..length]);
        for _ in 0..text(&buffer[..length]).matches("\x1b[6n").count() {
            terminal.write_all(b"\x1b[1;1R").unwrap();
        }
    }
    (text(&shown), child.wait().unwrap().code())
}

/// Whether a program is installed; tests that need one say so when they are skipped.
pub(crate) fn installed(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
    });
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// A shell that a test types at. There, `run` and `$OUTPACE` start the program under test.
pub(crate) fn interactive_shell() -> Option<Terminal> {
    if !installed("bash") {
        return None;
    }
    let mut terminal = Terminal::start("bash", &["--norc", "--noprofile", "-i"], false);
    terminal.wait_for("$ ");
    terminal.type_keys(
        "bind 'set enable-bracketed-paste off'; run() { command \"$OUTPACE\" run \"$@\"; }\r",
    );
    terminal.wait_for("$ ");
    terminal.type_keys(&format!("OUTPACE={}\r", env!("CARGO_BIN_EXE_outpace")));
    terminal.wait_for("$ ");
    Some(terminal)
}

/// A field of `/proc/PID/stat`, counted from 0 behind the name: state, parent, group, session (proc(5)).
pub(crate) fn stat_field(process: i32, index: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split(' ').nth(index).map(str::to_owned)
}

pub(crate) fn parent_of(process: i32) -> i32 {
    stat_field(process, 1).unwrap().parse().unwrap()
}

/// The process whose command line is these words and no more; not one that such a process has forked, which may have a lower number.
pub(crate) fn process_of(words: &[&str]) -> Option<i32> {
    let expected: Vec<u8> = words
        .iter()
        .flat_map(|word| [word.as_bytes(), b"\0"].concat())
        .collect();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |process: i32| {
        fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| line == expected)
    };
    let parent = |process| stat_field(process, 1)?.parse().ok();
    let mut found = numbers.filter(|process| is_it(*process));
    found.find(|process| !parent(*process).is_some_and(is_it))
}

/// A file of proc(5), of each thread of a process.
pub(crate) fn of_each_thread(process: i32, name: &str) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks
        .flatten()
        .map(move |task| fs::read_to_string(task.path().join(name)).unwrap_or_default())
}

/// How often the threads of a process have gone to sleep.
pub(crate) fn switches(process: i32) -> u64 {
    let of = |status: String| -> u64 {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.map_or(0, |count| count.trim().parse().unwrap())
    };
    of_each_thread(process, "status").map(of).sum()
}
