//! The session of a program that runs on a pseudoterminal, and its leader.
//!
//! The leader is a process of ours between `outpace` and the program: it has the pseudoterminal as its
//! controlling terminal and starts the program in a process group of its own, in the foreground. So
//! the program can be stopped and continued as a shell's job can (the kernel ignores stop signals in
//! a group whose parent is in another session), and Ctrl-C reaches the program alone. The leader
//! reports the program's state over a socket, and ends when that is closed. Until then it keeps the
//! terminal open: a program may close its descriptors and open `/dev/tty` later.
//!
//! Processes that outlive the program are not hung up: the leader then stays, in the background, and passes on their output until
//! no process has the terminal open any more.
//!
//! If the socket ends without a [dismissal](DISMISSED), `outpace` was killed. The leader then restores the user's terminal, unless
//! that has been done, and shows there the output left in the shared memory. After its dismissal, a [`keeper`](keep) restores the
//! terminal in its place.
#![allow(unsafe_code)]

use super::are_same;
use super::lines::Returns;
use super::shim::Shim;
use super::terminal::{self, Settings};
use super::variables;
use crate::platform::descriptors;
use crate::platform::ending::{Change, Ending};
use crate::platform::procfs;
use crate::platform::signals::{self, Signals};
use crate::platform::waker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Pid;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Reports of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// This process is about to become the program. It reports that itself, so it is known even if the leader is killed.
    Starting(i32),
    /// The program runs, as this process and process group.
    Started(i32),
    /// The program could not be started: the error number.
    Failed(i32),
    /// This signal stopped the program.
    Stopped(i32),
    /// The program has ended: the wait status.
    Ended(i32),
    /// After the dismissal: 1 if processes are left that have the terminal open, else 0.
    Left(i32),
    /// The program goes on, as [ordered](Monitor::go_on).
    Continued,
}

impl News {
    fn to_bytes(self) -> [u8; 8] {
        let (kind, value) = match self {
            Self::Started(value) => (0, value),
            Self::Failed(value) => (1, value),
            Self::Stopped(value) => (2, value),
            Self::Ended(value) => (3, value),
            Self::Starting(value) => (4, value),
            Self::Left(value) => (5, value),
            Self::Continued => (6, 0),
        };
        let mut bytes = [kind; 8];
        bytes[4..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; 8]) -> Option<Self> {
        let [kind, _, _, _, value @ ..] = bytes;
        let value = i32::from_ne_bytes(value);
        Some(match kind {
            0 => Self::Started(value),
            1 => Self::Failed(value),
            2 => Self::Stopped(value),
            3 => Self::Ended(value),
            4 => Self::Starting(value),
            5 => Self::Left(value),
            6 => Self::Continued,
            _ => return None,
        })
    }
}

/// Orders to the leader: one byte, and behind `SET` the settings to restore, and those that the terminal has now.
const SET: u8 = 1;
const DISMISSED: u8 = 2;
const FOREGROUND: u8 = 3;
const BACKGROUND: u8 = 4;
const CONTINUE: u8 = 5;
const HUNG_UP: u8 = 6;
const RESTORED: u8 = 7;
const BEGIN: u8 = 8;

/// Where the program's descriptors 0 to 2 lead; `None` keeps ours.
pub(super) struct Standard {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

impl Standard {
    pub(super) const OURS: Self = Self {
        stdin: None,
        stdout: None,
        stderr: None,
    };
}

/// What the leader has to start.
pub(super) struct Start<'a> {
    pub(super) words: &'a [OsString],
    pub(super) standard: Standard,
    pub(super) shim: Option<Arc<Shim>>,
    /// We are in the background of the user's terminal: the program starts in the background of its own, until it is
    /// [given](Monitor::give_terminal) that.
    pub(super) in_background: bool,
    /// As in [`terminal_is_set`](Monitor::terminal_is_set).
    pub(super) settings: Option<(Settings, Settings)>,
}

/// The program as a command.
pub(super) fn command(words: &[OsString], standard: Standard) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let kept = [&standard.stdin, &standard.stdout, &standard.stderr].map(Option::is_none);
    let stdio = |descriptor: Option<OwnedFd>| descriptor.map_or_else(Stdio::inherit, Stdio::from);
    command
        .stdin(stdio(standard.stdin))
        .stdout(stdio(standard.stdout))
        .stderr(stdio(standard.stderr));
    signals::pass_on_to(&mut command);
    descriptors::close_as_before(&mut command, kept);
    let aliases = aliases(kept);
    let replace = move || {
        for &(stream, alias) in &aliases {
            // SAFETY: no memory is involved, and dup2(2) may be called between fork and exec. `Command` has replaced the stream.
            unsafe { libc::dup2(stream, alias) };
        }
        Ok(())
    };
    // SAFETY: the closure allocates no memory.
    unsafe { command.pre_exec(replace) };
    command
}

/// The further descriptors that a program inherits of our stdout and stderr, as after a script's `exec 3>&1`, each behind the number of
/// its stream. Where the program gets another stream, it gets that there, too: what it writes to both keeps its order.
fn aliases(kept: [bool; 3]) -> Vec<(i32, i32)> {
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let replaced = [(1, stdout), (2, stderr)].into_iter();
    let replaced = replaced.filter(|(number, _)| !kept[*number as usize]);
    let others = procfs::descriptors(std::process::id() as i32).into_iter();
    let others = others.filter(|number| *number > 2 && is_inherited_to_write(*number));
    let others = others.filter_map(|number| {
        // SAFETY: it is open, and no other thread closes it meanwhile: this process has one.
        let other = unsafe { BorrowedFd::borrow_raw(number) };
        let mut streams = replaced.clone();
        let (stream, _) = streams.find(|(_, stream)| are_same(stream, other))?;
        Some((stream, number))
    });
    others.collect()
}

/// Whether a number is that of a descriptor that programs inherit, and write to.
fn is_inherited_to_write(number: i32) -> bool {
    // SAFETY: no memory is involved. They fail where the descriptor is not open any more.
    let (flags, access) = unsafe {
        let flags = libc::fcntl(number, libc::F_GETFD);
        (flags, libc::fcntl(number, libc::F_GETFL))
    };
    flags != -1
        && flags & libc::FD_CLOEXEC == 0
        && access != -1
        && access & libc::O_ACCMODE != libc::O_RDONLY
}

/// The leader, seen from `outpace`.
pub(super) struct Monitor {
    news: UnixStream,
    process: i32,
}

impl Monitor {
    /// Forks the leader, which will [start](Self::begin) the program on the pseudoterminal `terminal`; returns that as well. The
    /// process must have one thread: the threads for the program's output come after the fork, and before the program.
    pub(super) fn start(
        start: Start<'_>,
        ours: &OwnedFd,
        terminal: OwnedFd,
        keys: Option<OwnedFd>,
    ) -> io::Result<(Self, OwnedFd)> {
        let (news, telling) = UnixStream::pair()?;
        // SAFETY: this process has one thread, so the child may do anything.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(news);
                // SAFETY: open, and owned only here: the other owner is a copy of the parent's, which this process never drops.
                let ours = unsafe { OwnedFd::from_raw_fd(ours.as_raw_fd()) };
                lead(start, ours, terminal, telling, keys);
            }
            process => {
                news.set_nonblocking(true)?;
                Ok((Self { news, process }, terminal))
            }
        }
    }

    /// Lets the leader start the program.
    pub(super) fn begin(&mut self) {
        self.order(&[BEGIN]);
    }

    /// Ends a leader that has started no program.
    pub(super) fn end(&mut self) {
        let _ = self.news.shutdown(std::net::Shutdown::Both);
        self.reap();
    }

    /// The next report; `None` when there is none yet, an error when the leader has ended.
    pub(super) fn next(&mut self) -> io::Result<Option<News>> {
        let mut bytes = [0; 8];
        // A report is written by one call, and is small enough to arrive whole.
        match self.news.read(&mut bytes) {
            Ok(8) => Ok(News::from_bytes(bytes)),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The process of the leader.
    pub(super) fn leader(&self) -> i32 {
        self.process
    }

    pub(super) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.news.as_fd()
    }

    /// Announces new settings of the user's terminal. If we are killed, the leader restores those from before.
    pub(super) fn terminal_is_set(&mut self, before: &Settings, now: &Settings) {
        self.order(&[&[SET], &before.to_bytes()[..], &now.to_bytes()].concat());
    }

    /// The user's terminal has its own settings again: the leader has to restore none.
    pub(super) fn terminal_is_restored(&mut self) {
        self.order(&[RESTORED]);
    }

    /// Moves the program's terminal to the foreground group that the program has chosen, or to the background.
    pub(super) fn give_terminal(&mut self, is_in_foreground: bool) {
        self.order(&[if is_in_foreground {
            FOREGROUND
        } else {
            BACKGROUND
        }]);
    }

    /// Lets the program go on, after the orders before this one. Until the leader [reports](News::Continued) that, a signal or a
    /// key that stops the program would be undone. A leader that was stopped as well (`pkill -STOP`) goes on, too: no other process
    /// would continue it.
    pub(super) fn go_on(&mut self) {
        signals::send(self.process, libc::SIGCONT);
        self.order(&[CONTINUE]);
    }

    /// The user's terminal has gone: soon no process has the other side of the program's.
    pub(super) fn hang_up(&mut self) {
        self.order(&[HUNG_UP]);
    }

    fn order(&mut self, order: &[u8]) {
        // Fails when the leader has ended, and then no order is needed.
        let _ = (&self.news).write_all(order);
    }

    /// Reaps orphans of which this process has become the parent.
    pub(super) fn reap_others(&self) {
        let ours = std::process::id() as i32;
        for child in signals::ended(procfs::children(ours, ours)) {
            if child != self.process {
                let _ = Ending::of(child);
            }
        }
    }

    /// Lets the leader end, and with it the session, when no process is left that has the terminal open. Otherwise the leader
    /// passes on the output of those, after the result is dropped. Until then it watches over the user's terminal.
    pub(super) fn dismiss(mut self) -> Keeper {
        let _ = self.news.set_nonblocking(false);
        self.order(&[DISMISSED]);
        let is_left = loop {
            match self.next() {
                Ok(Some(News::Left(left))) => break left == 1,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        if !is_left {
            self.reap();
        }
        Keeper(self.news)
    }

    fn reap(&self) {
        // SAFETY: no place for the status is given.
        unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
    }
}

/// The process that restores the user's terminal if `outpace` is killed after it has dismissed the leader. A socket that ends
/// without an order tells it so.
pub(super) struct Keeper(UnixStream);

impl Keeper {
    /// The terminal has been restored: another program may use it by the time the keeper sees the socket's end.
    pub(super) fn terminal_is_restored(self) {
        // Fails where there is no keeper, because the terminal was never changed.
        let _ = (&self.0).write_all(&[RESTORED]);
    }
}

/// The life of the leader.
fn lead(
    start: Start<'_>,
    ours: OwnedFd,
    terminal: OwnedFd,
    mut telling: UnixStream,
    keys: Option<OwnedFd>,
) -> ! {
    let outer = rustix::process::getppid();
    let signals = Signals::collect(&[libc::SIGCHLD, libc::SIGHUP]);
    let shim = start.shim.clone();
    if let Some(shim) = &shim {
        shim.has_leader();
    }
    let settings = start.settings.clone();
    let settings = settings.map(|(before, now)| (before, vec![now]));
    // For output left in the shared memory if `outpace` is killed, and for processes that outlive the program.
    let output = rustix::stdio::stdout().try_clone_to_owned().ok();
    let mut orders = Orders {
        program: 0,
        ours: None,
        terminal: None,
        foreground: None,
        settings,
        is_stopped: false,
    };
    match start_in_session(start, &terminal, &mut telling, &mut orders) {
        Err(error) => {
            // Fails if `outpace` has ended as well, and then no process waits for it.
            let code = error.raw_os_error().unwrap_or(libc::EIO);
            let _ = telling.write_all(&News::Failed(code).to_bytes());
            while orders.next(&mut telling).is_none() {}
            orders.restore(keys.as_ref());
        }
        Ok(program) => {
            let _ = telling.write_all(&News::Started(program).to_bytes());
            let shim = shim.filter(|shim| shim.is_given());
            // The session ends with its leader, which must not happen before `outpace` has read everything.
            orders.program = program;
            orders.foreground = Pid::from_raw(program);
            orders.ours = Some(ours);
            orders.terminal = Some(terminal);
            let end = signals.map(|signals| watch(&signals, &mut telling, &mut orders, outer));
            if let Ok(Turn::Dismissed) = end {
                if let Some(shim) = &shim {
                    shim.wait_for_starts();
                }
                orders.terminal = None;
                relieve(telling, orders, keys, output);
            } else {
                // `outpace` was killed. If no other process has this side open, closing it hangs the foreground up; what has the
                // program in the background has to be told otherwise.
                let foreground = orders.terminal.as_ref();
                let foreground = foreground.and_then(|it| rustix::termios::tcgetpgrp(it).ok());
                if foreground != Pid::from_raw(program) && signals::is_there(program) {
                    signals::send(-program, libc::SIGHUP);
                    signals::send(-program, libc::SIGCONT);
                }
                orders.ours = None;
                orders.restore(keys.as_ref());
                if let (Some(shim), Some(terminal)) = (&shim, &orders.terminal) {
                    // Until the hangup, writes through the pseudo-terminal would succeed unread; the memory keeps them.
                    wait_for_hangup(terminal, outer);
                    shim.is_dead();
                }
                if let (Some(shim), Some(output)) = (&shim, &output) {
                    shim.deliver_rest(output);
                }
            }
        }
    }
    // SAFETY: no memory is involved. `exit` would run `outpace`'s own work at exit, which is not the leader's.
    unsafe { libc::_exit(0) }
}

/// `outpace` has read everything. Processes that still have the pseudo-terminal open keep it, in the background, and their output
/// is shown when `outpace` has ended.
fn relieve(
    mut telling: UnixStream,
    mut orders: Orders,
    keys: Option<OwnedFd>,
    output: Option<OwnedFd>,
) {
    let ours = orders.ours.take();
    let left = ours.filter(|ours| !descriptors::has_gone(ours.as_fd()));
    let _ = telling.write_all(&News::Left(i32::from(left.is_some())).to_bytes());
    if let Some(ours) = left {
        give_terminal_to(&ours, rustix::process::getpgrp());
        while orders.next(&mut telling).is_none() {}
        orders.restore(keys.as_ref());
        drop((telling, keys));
        if let Some(output) = output {
            // Inherited descriptors would keep other processes waiting for an end of file.
            descriptors::close_all_but(vec![ours.as_raw_fd(), output.as_raw_fd()]);
            pass_on_what_is_left(&ours, &output);
        }
    } else if let Some(keys) = keys {
        drop(output);
        keep(&keys, telling, orders);
    }
}

/// Passes on the output on a pseudo-terminal, at the pace of the user's terminal, until one of the two has gone.
fn pass_on_what_is_left(ours: &OwnedFd, output: &OwnedFd) {
    let mut returns = Returns::default();
    let mut buffer = [0; 4096];
    loop {
        let mut waiting = [
            PollFd::new(ours, PollFlags::IN),
            PollFd::new(output, PollFlags::empty()),
        ];
        if poll(&mut waiting, None).is_err() || !waiting[1].revents().is_empty() {
            return;
        }
        let read = match rustix::io::read(ours, &mut buffer) {
            Ok(0) | Err(Errno::IO) => return,
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return,
        };
        let adds_returns = terminal::adds_returns(output) && terminal::adds_returns(ours);
        let bytes = if returns.is_held() || adds_returns {
            returns.without(&buffer[..read])
        } else {
            &buffer[..read]
        };
        if write_whole(output, bytes).is_err() {
            return;
        }
    }
}

fn write_whole(output: &OwnedFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(output, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(output, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The longest wait for a process other than `outpace` that has a copy of the other side of the pseudo-terminal.
const LAST_COPY: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

/// Waits until no process has the other side of the pseudo-terminal. `outpace`, the parent of this process, was killed. It closes its
/// descriptors one after the other, on a busy machine with long pauses in between.
fn wait_for_hangup(terminal: &OwnedFd, outer: Option<Pid>) {
    use rustix::process::{PidfdFlags, getppid, pidfd_open};
    let ending = outer.and_then(|outer| pidfd_open(outer, PidfdFlags::empty()).ok());
    // Otherwise it has ended, and another process may have its number.
    let ending = ending.filter(|_| getppid() == outer);
    // poll(2) reports a hangup unasked.
    let hangup = PollFd::new(terminal, PollFlags::empty());
    if let Some(ending) = &ending {
        let _ = poll(
            &mut [hangup.clone(), PollFd::new(ending, PollFlags::IN)],
            None,
        );
    }
    let _ = poll(&mut [hangup], Some(&LAST_COPY));
}

/// A turn in the leader's work.
enum Turn {
    /// The program is to be started.
    Begin,
    /// The work is over.
    Dismissed,
    /// `outpace` was killed.
    Killed,
}

/// The state that `outpace`'s orders change.
struct Orders {
    /// The program's process.
    program: i32,
    /// Our side of the program's terminal, kept for processes that outlive the program.
    ours: Option<OwnedFd>,
    /// The program's terminal, which the leader keeps open until it is dismissed.
    terminal: Option<OwnedFd>,
    /// The foreground group of that terminal while we are in the foreground of ours.
    foreground: Option<Pid>,
    /// Of the user's terminal, unless it is restored: the settings to restore, and those set since.
    settings: Option<(Settings, Vec<Settings>)>,
    /// The program was stopped, and no order to go on has come since.
    is_stopped: bool,
}

impl Orders {
    /// Carries out the next order.
    fn next(&mut self, from: &mut UnixStream) -> Option<Turn> {
        let mut kind = [0];
        match from.read_exact(&mut kind).map(|()| kind[0]) {
            Ok(BEGIN) => return Some(Turn::Begin),
            Ok(DISMISSED) => return Some(Turn::Dismissed),
            Ok(SET) => match (read_settings(from), read_settings(from)) {
                // The order comes before the change: until then the terminal has the settings set last.
                (Ok(before), Ok(next)) => {
                    let (_, mut made) =
                        self.settings.take().unwrap_or((before.clone(), Vec::new()));
                    made.drain(..made.len().saturating_sub(1));
                    made.push(next);
                    self.settings = Some((before, made));
                }
                _ => return Some(Turn::Killed),
            },
            Ok(BACKGROUND) => self.take_terminal_away(),
            Ok(FOREGROUND) => {
                if let (Some(terminal), Some(group)) = (&self.terminal, self.foreground) {
                    give_terminal_to(terminal, group);
                }
            }
            Ok(HUNG_UP) => self.ours = None,
            Ok(RESTORED) => self.settings = None,
            Ok(CONTINUE) => {
                self.is_stopped = false;
                signals::send(-self.program, libc::SIGCONT);
                if from.write_all(&News::Continued.to_bytes()).is_err() {
                    return Some(Turn::Killed);
                }
            }
            _ => return Some(Turn::Killed),
        }
        None
    }

    /// Moves the program's terminal to the background: the kernel stops a process that reads from it.
    fn take_terminal_away(&mut self) {
        let Some(terminal) = &self.terminal else {
            return;
        };
        let own = rustix::process::getpgrp();
        if let Ok(group) = rustix::termios::tcgetpgrp(terminal)
            && group != own
        {
            self.foreground = Some(group);
        }
        give_terminal_to(terminal, own);
    }

    /// Restores the user's terminal, if its settings are `outpace`'s.
    fn restore(&self, keys: Option<&OwnedFd>) {
        if let (Some((before, made)), Some(keys)) = (&self.settings, keys) {
            terminal::undo(keys, before, made);
        }
    }
}

fn read_settings(from: &mut UnixStream) -> io::Result<Settings> {
    let mut settings = [0; Settings::SIZE];
    from.read_exact(&mut settings)?;
    Ok(Settings::from_bytes(settings))
}

/// Makes a process group the foreground group of the program's terminal. The leader ignores SIGTTOU.
fn give_terminal_to(terminal: &OwnedFd, group: Pid) {
    // Fails if the group has ended.
    let _ = rustix::termios::tcsetpgrp(terminal, group);
}

/// Reports the program's state until `outpace` has dismissed the leader, or was killed. `outer` is the process of `outpace`.
fn watch(
    signals: &Signals,
    telling: &mut UnixStream,
    orders: &mut Orders,
    outer: Option<Pid>,
) -> Turn {
    const LOOK_AGAIN: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 10_000_000,
    };
    let program = orders.program;
    let mut is_there = true;
    // Another process has continued the program, while `outpace` is stopped or about to stop.
    let mut wakes = false;
    loop {
        while is_there {
            let mut status = 0;
            let flags = libc::WUNTRACED | libc::WCONTINUED | libc::WNOHANG;
            // SAFETY: `status` is a valid place for the result.
            let waited = unsafe { libc::waitpid(program, &raw mut status, flags) };
            if waited <= 0 {
                break;
            }
            let news = match Change::from_status(status) {
                Change::Ended(_) => News::Ended(status),
                Change::Stopped(signal) => News::Stopped(signal),
                Change::Continued => {
                    wakes = orders.is_stopped;
                    continue;
                }
            };
            // A further stop comes after a continuation.
            wakes |= orders.is_stopped;
            orders.is_stopped = true;
            if telling.write_all(&news.to_bytes()).is_err() {
                return Turn::Killed;
            }
            is_there = Ending::from_status(status).is_none();
        }
        let mut waiting = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(telling.as_fd(), PollFlags::IN),
        ];
        wakes &= orders.is_stopped;
        let _ = poll(&mut waiting, wakes.then_some(&LOOK_AGAIN));
        if wakes && let Some(outer) = outer {
            wakes = !waker::continue_if_stopped(outer.as_raw_pid());
        }
        let is_told = !waiting[1].revents().is_empty();
        while signals.next().is_some() {}
        if is_told && let Some(turn) = orders.next(telling) {
            return turn;
        }
    }
}

/// Leaves a child in the leader's place until `outpace` has ended. If that was by `kill -9`, the child restores the terminal.
fn keep(keys: &OwnedFd, mut telling: UnixStream, mut orders: Orders) {
    if orders.settings.is_none() {
        return;
    }
    // SAFETY: this process has one thread, so the child may do anything.
    if unsafe { libc::fork() } == 0 {
        while orders.next(&mut telling).is_none() {}
        orders.restore(Some(keys));
    }
}

/// Starts the program in a session of this process's own, when it is told to.
fn start_in_session(
    start: Start<'_>,
    terminal: &OwnedFd,
    telling: &mut UnixStream,
    orders: &mut Orders,
) -> io::Result<i32> {
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(terminal)?;
    // SAFETY: this process has one thread.
    unsafe { variables::name_terminal(rustix::stdio::stdout(), terminal) };
    let mut command = command(start.words, start.standard);
    command.process_group(0);
    let descriptor = terminal.as_raw_fd();
    let to_foreground = move || {
        // SAFETY: all of these may be called between fork and exec, and no memory is involved. A process in the
        // background that asks for the foreground is stopped by SIGTTOU, unless it ignores that.
        unsafe {
            let before = libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            let moved = libc::tcsetpgrp(descriptor, libc::getpid());
            libc::signal(libc::SIGTTOU, before);
            let error = io::Error::last_os_error();
            if moved == -1 && error.raw_os_error() == Some(libc::ENOTTY) {
                // The leader was killed: there is nobody to tell, and std would abort, with a message on the user's terminal.
                libc::_exit(1);
            }
            if moved == -1 { Err(error) } else { Ok(()) }
        }
    };
    if !start.in_background {
        // SAFETY: see the closure; it allocates no memory.
        unsafe { command.pre_exec(to_foreground) };
    }
    let socket = telling.as_raw_fd();
    let tell = move || {
        // SAFETY: both may be called between fork and exec; the bytes are valid for the call, and few enough to be written at
        // once. It fails if `outpace` has ended, and then no process waits for it.
        unsafe {
            let news = News::Starting(libc::getpid()).to_bytes();
            libc::send(socket, news.as_ptr().cast(), news.len(), libc::MSG_NOSIGNAL);
        }
        Ok(())
    };
    // SAFETY: the same.
    unsafe { command.pre_exec(tell) };
    if let Some(shim) = start.shim {
        // SAFETY: this process has one thread.
        unsafe { shim.give_to(&mut command) };
    }
    if let Some(outpace) = rustix::process::getppid() {
        // SAFETY: the same.
        unsafe { variables::name_process(outpace.as_raw_pid(), &mut command) };
    }
    let turn = std::iter::repeat_with(|| orders.next(telling)).find_map(|turn| turn);
    if !matches!(turn, Some(Turn::Begin)) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let program = command.spawn()?.id() as i32;
    drop(command);
    // The leader also moves the terminal while it is in the background itself.
    // SAFETY: no handler is involved.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    // The reader of a pipe that the program has closed must not wait for the leader to close it.
    let nowhere = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR,
        rustix::fs::Mode::empty(),
    )?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_survive_the_socket() {
        for news in [
            News::Starting(4711),
            News::Started(4711),
            News::Failed(2),
            News::Stopped(20),
            News::Ended(139),
            News::Left(1),
            News::Continued,
        ] {
            assert_eq!(News::from_bytes(news.to_bytes()), Some(news));
        }
        assert_eq!(News::from_bytes([9; 8]), None);
    }

    /// When keys are given back, the settings to restore are the program's own: they are announced before any change of the
    /// terminal.
    #[test]
    fn a_terminal_is_restored_though_it_is_still_what_it_was_given_before() {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let (_pty, terminal) = crate::platform::pty::open().unwrap();
        let (news, telling) = UnixStream::pair().unwrap();
        let mut monitor = Monitor { news, process: 0 };
        let settings = |make: fn(&mut rustix::termios::Termios)| {
            let mut settings = tcgetattr(&terminal).unwrap();
            make(&mut settings);
            tcsetattr(&terminal, OptionalActions::Now, &settings).unwrap();
            Settings::of(&terminal).unwrap()
        };
        let first = settings(|_| {});
        let left_by_program = settings(|it| it.local_modes.remove(LocalModes::ECHOE));
        first.apply(&terminal).unwrap();
        let raw = settings(rustix::termios::Termios::make_raw);
        let mut orders = Orders {
            program: 0,
            ours: None,
            terminal: None,
            foreground: None,
            settings: None,
            is_stopped: false,
        };
        monitor.terminal_is_set(&first, &raw);
        monitor.terminal_is_set(&left_by_program, &first);
        drop(monitor);
        let mut telling = telling;
        while orders.next(&mut telling).is_none() {}
        orders.restore(Some(&terminal));
        let left = tcgetattr(&terminal).unwrap().local_modes;
        assert!(left.contains(LocalModes::ICANON) && !left.contains(LocalModes::ECHOE));
    }
}
