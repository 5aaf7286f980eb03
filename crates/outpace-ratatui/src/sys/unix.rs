//! Unix: a terminal is a descriptor.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Columns, rows and their pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) pixels: (u16, u16),
}

/// The size of the terminal. `None`: this is no terminal. One without a size (a serial line) is taken to have 80 columns and 24
/// rows.
///
/// # Errors
/// If the terminal is gone.
pub(crate) fn terminal_size(terminal: impl AsFd) -> io::Result<Option<TerminalSize>> {
    let size = match tcgetwinsize(terminal) {
        Ok(size) => size,
        Err(rustix::io::Errno::NOTTY) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let known = |n: u16, otherwise| if n > 0 { n } else { otherwise };
    Ok(Some(TerminalSize {
        columns: known(size.ws_col, 80),
        rows: known(size.ws_row, 24),
        pixels: (size.ws_xpixel, size.ws_ypixel),
    }))
}

fn wait_for(fd: impl AsFd, flags: PollFlags, limit: Option<Duration>) -> io::Result<bool> {
    let start = std::time::Instant::now();
    loop {
        let left = limit.map(|limit| limit.saturating_sub(start.elapsed()));
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::new(&fd, flags)], timeout.as_ref()) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the descriptor takes bytes. `false`: it did not within the limit.
pub(crate) fn wait_writable(fd: impl AsFd, limit: Option<Duration>) -> io::Result<bool> {
    wait_for(fd, PollFlags::OUT, limit)
}

/// Waits until there are bytes to read. `false`: there were none within the limit.
pub(crate) fn wait_readable(fd: impl AsFd, limit: Duration) -> io::Result<bool> {
    wait_for(fd, PollFlags::IN, Some(limit))
}

/// The modes of a terminal before it was made raw.
#[derive(Clone, Debug)]
pub(crate) struct Modes(Termios);

/// Makes the terminal raw: keys are delivered as they are pressed, neither echoed nor interpreted.
pub(crate) fn make_raw(terminal: impl AsFd) -> io::Result<Modes> {
    let before = tcgetattr(&terminal)?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &raw)?;
    Ok(Modes(before))
}

/// Gives the terminal its modes back.
pub(crate) fn restore_modes(terminal: impl AsFd, modes: &Modes) -> io::Result<()> {
    Ok(tcsetattr(terminal, OptionalActions::Now, &modes.0)?)
}

/// Whether keys are delivered as they are pressed.
pub(crate) fn is_raw(terminal: impl AsFd) -> bool {
    tcgetattr(terminal).is_ok_and(|modes| {
        !modes
            .local_modes
            .intersects(LocalModes::ICANON | LocalModes::ECHO)
    })
}

/// The terminal of this process, for reading and writing.
pub(crate) fn controlling_terminal() -> io::Result<Terminal> {
    let file = File::options().read(true).write(true).open("/dev/tty")?;
    Ok(file.into())
}

/// Whether both are the same file.
pub(crate) fn is_same_file(one: impl AsFd, other: impl AsFd) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

/// A descriptor on the same terminal that can be read.
pub(crate) fn readable_twin(terminal: &Terminal) -> io::Result<Terminal> {
    use rustix::fs::{OFlags, fcntl_getfl};
    match fcntl_getfl(terminal)? & OFlags::ACCMODE {
        OFlags::RDWR | OFlags::RDONLY => Ok(terminal.clone()),
        _ => controlling_terminal(),
    }
}

/// A terminal that is drawn on: a descriptor of our own, which all its users share.
pub(crate) type Terminal = Arc<File>;

pub(super) const HAS_PROC: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Frames do not go through [`io::stdout`], nor its lock.
pub(crate) const OWN_DESCRIPTOR: bool = true;

pub(crate) fn open_stdout() -> io::Result<Terminal> {
    open(io::stdout())
}

pub(crate) fn open_stderr() -> io::Result<Terminal> {
    open(io::stderr())
}

/// A descriptor of our own on any terminal.
pub(crate) fn open(terminal: impl AsFd) -> io::Result<Terminal> {
    Ok(File::from(terminal.as_fd().try_clone_to_owned()?).into())
}

/// Opens the same terminal by a file description of its own, on which writes do not block; other descriptors of the terminal go on
/// blocking. `None`: the system cannot open one, or the process may not.
pub(crate) fn reopen_nonblocking(terminal: &Terminal) -> Option<Terminal> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let open = |path: &str| Some(Arc::new(File::from(open(path, flags, Mode::empty()).ok()?)));
    // Its name is found in a tenth of the time of the other's.
    if is_controlling(terminal)
        && let Some(opened) = open("/dev/tty")
    {
        return Some(opened);
    }
    // Elsewhere opening a name of a descriptor gives the same description.
    if !HAS_PROC || !terminal.is_terminal() {
        return None;
    }
    let opened = open(&format!("/proc/self/fd/{}", terminal.as_raw_fd()))?;
    is_same_file(&opened, terminal).then_some(opened)
}

/// Whether it is the process's controlling terminal: its session is told of that alone (tcgetsid(3)). 0 is an answer, too, that
/// `rustix` does not expect: the session's leader is outside of this process's namespace of processes.
#[allow(unsafe_code)]
fn is_controlling(terminal: &Terminal) -> bool {
    // SAFETY: only asks.
    unsafe { libc::tcgetsid(terminal.as_raw_fd()) >= 0 }
}

/// A thread of this process, as another sees it: its directory in /proc.
pub(crate) struct Thread(PathBuf);

impl Thread {
    /// `None`: the system does not tell of threads.
    pub(crate) fn current() -> Option<Self> {
        HAS_PROC.then_some(())?;
        let directory = std::fs::read_link("/proc/thread-self").ok()?;
        Some(Self(Path::new("/proc").join(directory)))
    }

    /// Whether it runs, or would if it had a processor (proc_pid_stat(5)). `false`, too, if it has ended.
    pub(crate) fn is_runnable(&self) -> bool {
        let stat = std::fs::read(self.0.join("stat")).unwrap_or_default();
        // Behind its name, which may have any characters.
        let name_end = stat.iter().rposition(|&byte| byte == b')');
        name_end.is_some_and(|end| stat[end..].starts_with(b") R"))
    }

    /// How long it has had a processor (`schedstat`, in sched-stats.rst of the kernel's documentation).
    pub(crate) fn run_time(&self) -> Duration {
        let text = std::fs::read_to_string(self.0.join("schedstat")).unwrap_or_default();
        let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
        Duration::from_nanos(nanoseconds.unwrap_or(0))
    }
}

pub(crate) fn is_stdout(terminal: &Terminal) -> bool {
    is_same_file(terminal, io::stdout())
}

pub(crate) fn is_stderr(terminal: &Terminal) -> bool {
    is_same_file(terminal, io::stderr())
}

/// Whether standard error can be written to without waiting.
pub(crate) fn stderr_is_ready() -> bool {
    wait_writable(io::stderr(), Some(Duration::ZERO)).unwrap_or(false)
}

/// Waits until standard output takes bytes. `false`: it did not within the limit.
pub(crate) fn wait_stdout_writable(limit: Duration) -> bool {
    // An error shows when something is written.
    wait_writable(io::stdout(), Some(limit)).unwrap_or(true)
}
