//! A program under test: how it is started, what it is doing, how it ended.
#![allow(unsafe_code)]

use super::terminal::{Terminal, pipe};
use super::{LIMIT, PROGRAM, Reader, wait_until};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The destination of a program's standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    Pipe,
    /// A pipe that keeps writes apart (`O_DIRECT`), so that the reader sees each `write(2)` of up to a
    /// page as one read.
    Packets,
    Terminal,
    File,
}

/// A program that is yet to be started.
pub(crate) struct Program {
    command: Command,
    /// Standard error goes where standard output goes.
    together: bool,
    /// Another file than this executable, until it is started.
    copy: Option<Copied>,
}

/// A file that is removed.
struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Program {
    /// The function, which is in its module's list, as a program.
    pub(crate) fn new<F: Fn() + Copy + 'static>(program: F) -> Self {
        let _ = program;
        Self::named(std::any::type_name::<F>())
    }

    fn named(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("the path of this test"));
        for variable in ["OUTPACE_STDOUT", "OUTPACE_STDERR", "_STDBUF_O", "_STDBUF_E"] {
            command.env_remove(variable);
        }
        command.env(PROGRAM, name).stdin(Stdio::piped());
        Program {
            command,
            together: false,
            copy: None,
        }
    }

    pub(crate) fn env(mut self, variable: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(variable, value);
        self
    }

    pub(crate) fn buffering(self, buffering: &str) -> Self {
        self.env("OUTPACE_STDOUT", buffering)
    }

    pub(crate) fn argument(mut self, argument: impl ToString) -> Self {
        self.command.arg(argument.to_string());
        self
    }

    /// Starts it by another program.
    pub(crate) fn under(mut self, launcher: &[&str]) -> Self {
        let mut command = Command::new(launcher[0]);
        command
            .args(&launcher[1..])
            .arg(self.command.get_program())
            .args(self.command.get_args());
        for (variable, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        command.stdin(Stdio::piped());
        self.command = command;
        self
    }

    /// Makes it a set-user-ID program of root's, started by an unprivileged user. `None` if this user is not root.
    pub(crate) fn set_user_id(mut self) -> Option<Self> {
        use std::os::unix::fs::{PermissionsExt, chown};
        use std::os::unix::process::CommandExt;
        /// With the user and the group `nobody`.
        const NOBODY: u32 = 65_534;
        // SAFETY: only asks.
        if unsafe { libc::geteuid() } != 0 {
            return None;
        }
        let name = format!("outpace-test-set-user-id-{}", std::process::id());
        let copy = Copied(std::env::temp_dir().join(name));
        let path = &copy.0;
        fs::copy(self.command.get_program(), path).expect("room for a copy");
        // No other process may start it in the meantime.
        chown(path, None, Some(NOBODY)).expect("this is root");
        fs::set_permissions(path, fs::Permissions::from_mode(0o4710)).expect("this is root");
        let original = std::mem::replace(&mut self.command, Command::new(path));
        for (variable, value) in original.get_envs() {
            match value {
                Some(value) => self.command.env(variable, value),
                None => self.command.env_remove(variable),
            };
        }
        self.command.uid(NOBODY).gid(NOBODY).stdin(Stdio::piped());
        self.copy = Some(copy);
        Some(self)
    }

    /// Connects standard error to what standard output is connected to.
    pub(crate) fn stderr_to_stdout(mut self) -> Self {
        self.together = true;
        self
    }

    pub(crate) fn start(self, to: To) -> Running {
        match to {
            To::Pipe => self.start_on_pipe(0),
            To::Packets => self.start_on_pipe(libc::O_DIRECT),
            To::Terminal => {
                let terminal = Terminal::open();
                self.start_with(terminal.slave, Output::Reader(Reader::new(terminal.master)))
            }
            To::File => {
                let file = temporary_file();
                let copy = file.try_clone().expect("a second descriptor");
                self.start_with(copy.into(), Output::File(file))
            }
        }
    }

    fn start_on_pipe(self, flags: libc::c_int) -> Running {
        let (read, write) = pipe(flags);
        self.start_with(write, Output::Reader(Reader::new(read)))
    }

    /// Starts it with a descriptor as its standard output, which `reader` reads.
    pub(crate) fn start_on(self, stdout: OwnedFd, reader: Reader) -> Running {
        self.start_with(stdout, Output::Reader(reader))
    }

    /// Starts it on a pipe whose reader reads nothing until it is told to.
    pub(crate) fn start_unread(self) -> (Running, Reader) {
        let (read, write) = pipe(0);
        let reader = Reader::paused(read);
        (self.start_on(write, reader.clone()), reader)
    }

    /// Starts it with a copy of a descriptor as its standard output, and as its standard error.
    pub(crate) fn spawn_on(mut self, stdout: &OwnedFd) -> Child {
        let copy = || stdout.try_clone().expect("another descriptor");
        let command = self.command.stdin(Stdio::null());
        let started = command.stdout(copy()).stderr(copy()).spawn();
        started.expect("this executable starts")
    }

    fn start_with(mut self, stdout: OwnedFd, output: Output) -> Running {
        let (stderr_reader, stderr_writer) = pipe(0);
        let stderr = if self.together {
            stdout.try_clone().expect("a second descriptor")
        } else {
            stderr_writer
        };
        let mut child = self
            .command
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .expect("this executable starts");
        Running {
            stdin: child.stdin.take(),
            child,
            output,
            stderr: Reader::new(stderr_reader),
        }
    }

    /// Starts it and waits for its end.
    pub(crate) fn run(self, to: To) -> Finished {
        self.start(to).finish()
    }
}

enum Output {
    Reader(Reader),
    File(File),
}

/// A program that has been started. It is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<std::process::ChildStdin>,
    output: Output,
    pub(crate) stderr: Reader,
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Finished {
    /// Checks that it succeeded, with an empty standard error.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert!(self.status.success(), "{}: {}", self.status, self.stderr);
        assert_eq!(self.stderr, "");
        self
    }

    /// The status as a shell shows it.
    pub(crate) fn code(&self) -> i32 {
        code(self.status)
    }
}

fn code(status: ExitStatus) -> i32 {
    let signal = || status.signal().map(|signal| 128 + signal);
    status.code().or_else(signal).expect("it has ended")
}

impl Running {
    pub(crate) fn stdout(&self) -> &Reader {
        match &self.output {
            Output::Reader(reader) => reader,
            Output::File(_) => panic!("a file is read at the end"),
        }
    }

    /// Its standard error so far.
    #[cfg(all(target_os = "linux", target_arch = "x86_64", not(outpace_portable)))]
    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr.so_far()).into_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets a program go on that [waits](wait_to_go_on).
    pub(crate) fn go_on(&mut self) {
        self.send(b"\n");
    }

    /// Writes to its input.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("its input is open");
        stdin.write_all(bytes).expect("it reads this");
    }

    pub(crate) fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so the number is its.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }

    /// Kills the processes that it has forked.
    #[cfg(not(outpace_portable))]
    pub(crate) fn kill_children(&self) {
        let path = format!("/proc/{0}/task/{0}/children", self.id());
        let children = fs::read_to_string(path).expect("it runs");
        for child in children.split_whitespace() {
            let child = child.parse().expect("a number");
            // SAFETY: its parent has not ended, so the number is that child's, ended or not.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
    }

    #[track_caller]
    fn wait(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status;
            }
            let doing = || fs::read_to_string(format!("/proc/{}/stack", self.id()));
            assert!(begun.elapsed() < LIMIT, "it does not end: {:?}", doing());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether it has ended by now.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end, and returns the status as a shell shows it.
    #[track_caller]
    pub(crate) fn ended(mut self) -> i32 {
        code(self.wait())
    }

    /// Closes its input, waits for its end and for the end of its output.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        self.stdin = None;
        let status = self.wait();
        let stdout = match &mut self.output {
            Output::Reader(reader) => reader.all(),
            Output::File(file) => {
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(0)).expect("a regular file");
                file.read_to_end(&mut bytes).expect("a regular file");
                bytes
            }
        };
        Finished {
            status,
            stdout,
            stderr: String::from_utf8_lossy(&self.stderr.all()).into_owned(),
        }
    }

    /// How many system calls that write it has made.
    pub(crate) fn write_calls(&self) -> u64 {
        write_calls_of(&self.id().to_string())
    }

    /// Waits until no signal is on its way to it.
    #[track_caller]
    pub(crate) fn wait_until_signals_have_come(&self) {
        wait_until("no signal is pending", || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
            let status = status.expect("it runs");
            let mut pending = status.lines().filter_map(|line| line.split_once("Pnd:\t"));
            assert_eq!(
                pending.clone().count(),
                2,
                "the thread's, and the process's"
            );
            pending.all(|(_, signals)| signals.bytes().all(|digit| digit == b'0'))
        });
    }

    /// Waits until every thread of it sleeps.
    #[track_caller]
    pub(crate) fn wait_until_asleep(&self) {
        wait_until("all of its threads sleep", || {
            self.each_thread("stat").iter().all(|stat| sleeps(stat))
        });
    }

    /// Waits until every thread of it sleeps without an end: in a call that has no time limit, or is no `futex(2)`.
    #[track_caller]
    pub(crate) fn wait_until_asleep_for_good(&self) {
        wait_until("all of its threads sleep until they are woken", || {
            let calls = self.each_thread("syscall");
            calls.iter().all(|call| sleeps_until_woken(call))
        });
    }

    /// A file of `/proc` of each of its threads.
    fn each_thread(&self, file: &str) -> Vec<String> {
        let tasks = tasks(&self.id().to_string());
        tasks.map(|task| read(&task.join(file))).collect()
    }
}

/// The directory of each thread of a process.
fn tasks(process: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    tasks.flatten().map(|task| task.path())
}

/// The text of a file of `/proc`; empty if the thread has ended.
#[track_caller]
fn read(path: &Path) -> String {
    match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if [Some(libc::ENOENT), Some(libc::ESRCH)].contains(&error.raw_os_error()) => {
            String::new()
        }
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

/// Whether a thread with this `/proc/PID/task/TID/syscall` sleeps without an end: in a call that has no time limit, or is no
/// `futex(2)`.
fn sleeps_until_woken(call: &str) -> bool {
    let is_futex = call.starts_with(&format!("{} ", libc::SYS_futex));
    // The number, and six arguments, the fourth of which is the limit of a `futex`.
    let limit = call.split(' ').nth(4);
    call != "running\n" && (!is_futex || limit == Some("0x0"))
}

/// Called by a program: waits until its helpers sleep until they are woken, or have ended.
#[track_caller]
pub(crate) fn wait_until_helpers_sleep() {
    let own = fs::read_link("/proc/thread-self").expect("a thread");
    let own = own.file_name().expect("its number");
    wait_until("the helpers sleep", || {
        let mut others = tasks("self").filter(|task| task.file_name() != Some(own));
        others.all(|task| sleeps_until_woken(&read(&task.join("syscall"))))
    });
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many system calls that write (`write`, `writev` and others) this process has made.
pub(crate) fn write_calls() -> u64 {
    write_calls_of("self")
}

fn write_calls_of(process: &str) -> u64 {
    let io = fs::read_to_string(format!("/proc/{process}/io")).expect("Linux accounts for them");
    io.lines()
        .find_map(|line| line.strip_prefix("syscw: "))
        .and_then(|count| count.parse().ok())
        .expect("a count")
}

/// Called by a program: starts a thread, and returns when that waits for something in `run`, or has ended.
pub(crate) fn spawn_until_it_waits(run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // SAFETY: always sound.
        tell.send(unsafe { libc::gettid() })
            .expect("it is waited for");
        run();
    });
    let task = told.recv().expect("it tells");
    let stat = format!("/proc/self/task/{task}/stat");
    let waits = || fs::read_to_string(&stat).is_ok_and(|stat| sleeps(&stat));
    wait_until("the thread waits", || thread.is_finished() || waits());
    thread
}

/// Whether a thread with such a `/proc/…/stat` sleeps.
fn sleeps(stat: &str) -> bool {
    let state = stat.rsplit(") ").next();
    state.is_some_and(|rest| rest.starts_with('S'))
}

/// Called by a program: waits for [`Running::go_on`].
pub(crate) fn wait_to_go_on() {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .expect("standard input");
}

/// Called by a program whose reader does not read: fills the pipe, and leaves more pending. What waits for
/// the reader then does so in other threads.
pub(crate) fn fill_the_pipe() {
    const LINE: &[u8] = b"fill the pipe\n";
    // To the last line that fits: a pipe that is full for poll(2) may still take what its last page has room for.
    // SAFETY: plain calls on an open descriptor, with bytes that are there.
    unsafe {
        let flags = libc::fcntl(1, libc::F_GETFL);
        assert_eq!(libc::fcntl(1, libc::F_SETFL, flags | libc::O_NONBLOCK), 0);
        while libc::write(1, LINE.as_ptr().cast(), LINE.len()) > 0 {}
        assert_eq!(libc::fcntl(1, libc::F_SETFL, flags), 0);
    }
    spawn_until_it_waits(|| {
        for _ in 0..20_000 {
            outpace::stdout()
                .write_all(LINE)
                .expect("the reader is there");
        }
    });
}

/// Called by a program: ends it without any cleaning up.
pub(crate) fn exit_at_once(status: libc::c_int) -> ! {
    // SAFETY: always sound.
    unsafe { libc::_exit(status) }
}

/// A file without a name.
pub(crate) fn temporary_file() -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("outpace-test-{}-{number}", std::process::id());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("a temporary file");
    fs::remove_file(path).expect("it was just made");
    file
}

/// Gives this process, and so the programs it starts, the default reactions to Ctrl-C and its like, which a shell or `nohup` takes
/// from what it starts in the background.
pub(crate) fn default_signals() {
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
        // SAFETY: no other thread depends on the reaction yet.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
