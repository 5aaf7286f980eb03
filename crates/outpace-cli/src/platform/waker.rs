//! A process that continues this one. This process has stopped because its child was stopped; another process may continue the child
//! alone, and a process that is stopped does not notice that.
#![allow(unsafe_code)]

use super::{ending, signals};
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

/// The waker's process, which ends with this value.
pub(crate) struct Waker(i32);

/// The time between two looks, which grows from the first to the last.
const NAPS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(256)];

fn status_of(process: i32) -> Option<File> {
    File::open(format!("/proc/{process}/status")).ok()
}

impl Waker {
    /// From now on this process, while it is stopped, is continued when `child` runs, or has run meanwhile. `None` where that cannot be
    /// watched, without `/proc`. Called by the main thread.
    pub(crate) fn start(child: i32) -> Option<Self> {
        let own = std::process::id() as i32;
        let (status, child) = (status_of(own)?, status_of(child)?);
        let first = Look::at(child.as_fd());
        // By the number: fork(3) would drain the streams and lock the allocator. No flags, and no signal at its end.
        // SAFETY: the child has one thread. Another thread may have held any lock: the child calls the kernel only, and allocates no memory.
        match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
            -1 => None,
            0 => watch(own, status.as_fd(), child.as_fd(), &first),
            process => Some(Self(process as i32)),
        }
    }

    /// Its process.
    pub(crate) fn process(&self) -> i32 {
        self.0
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        signals::send(self.0, libc::SIGKILL);
        // SAFETY: without a place the status is not stored.
        unsafe { libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL) };
    }
}

/// Stops this process as its child was stopped. Returns whether it was continued, but not because the child had been. As for
/// [`signals::stop_here`].
pub(crate) fn stop_with(child: i32, signal: i32) -> bool {
    loop {
        let waker = Waker::start(child);
        let waker_process = waker.as_ref().map(Waker::process);
        let Some(continued_by) = signals::stop_here(signal) else {
            return false;
        };
        if Some(continued_by) != waker_process {
            return true;
        }
        // The kernel counts a child's switch after it has told of the stop: a first look in between takes it for a run.
        if !(is_stopped(child) && ending::is_told(child)) {
            return false;
        }
    }
}

fn is_stopped(process: i32) -> bool {
    status_of(process).is_some_and(|status| Look::at(status.as_fd()).state == State::Stopped)
}

/// Continues a process if it is stopped; returns whether it was.
pub(crate) fn continue_if_stopped(process: i32) -> bool {
    let is_stopped = is_stopped(process);
    if is_stopped {
        signals::send(process, libc::SIGCONT);
    }
    is_stopped
}

/// Whether a process is not known to run.
pub(crate) fn may_be_stopped(process: i32) -> bool {
    status_of(process).is_none_or(|status| Look::at(status.as_fd()).state != State::Running)
}

/// The life of the waker.
fn watch(parent: i32, status: BorrowedFd<'_>, child: BorrowedFd<'_>, first: &Look) -> ! {
    // What stops the group must not stop this process.
    let _ = setsid();
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let mut nap = NAPS[0];
    while getppid().is_some_and(|now| now.as_raw_pid() == parent) {
        thread::sleep(nap);
        nap = (nap * 2).min(NAPS[1]);
        let now = Look::at(child);
        let has_run = match now.state {
            State::Stopped => now.switches() != first.switches(),
            State::Running => true,
            State::Unknown => false,
        };
        if has_run && Look::at(status).state == State::Stopped {
            signals::send(parent, libc::SIGCONT);
        }
    }
    // SAFETY: no memory is involved.
    unsafe { libc::_exit(0) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// By a signal or a tracer.
    Stopped,
    /// It is not stopped, or has ended.
    Running,
    /// Its first thread has ended.
    Unknown,
}

/// A look at `/proc/PID/status`, which allocates no memory.
struct Look {
    state: State,
    text: [u8; 4096],
    length: usize,
}

impl Look {
    fn at(status: BorrowedFd<'_>) -> Self {
        let mut text = [0; 4096];
        // It fails when the process has ended.
        let length = rustix::io::pread(status, &mut text, 0).unwrap_or(0);
        let threads = value(&text[..length], b"\nThreads:\t");
        let state = match value(&text[..length], b"\nState:\t").first() {
            Some(b'T' | b't') => State::Stopped,
            Some(b'Z') if !matches!(threads, b"0" | b"1") => State::Unknown,
            _ => State::Running,
        };
        Self {
            state,
            text,
            length,
        }
    }

    /// How often the first thread has given up the processor: it does when it is stopped.
    fn switches(&self) -> &[u8] {
        value(&self.text[..self.length], b"\nvoluntary_ctxt_switches:\t")
    }
}

/// The line's rest; empty if there is no such line.
fn value<'a>(text: &'a [u8], name: &[u8]) -> &'a [u8] {
    let Some(place) = memchr::memmem::find(text, name) else {
        return &[];
    };
    let rest = &text[place + name.len()..];
    let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_value_is_the_rest_of_its_line() {
        let text = b"Name:\tState:\nState:\tT (stopped)\nThreads:\t1\nlast:\t7";
        assert_eq!(value(text, b"\nState:\t"), b"T (stopped)");
        assert_eq!(value(text, b"\nThreads:\t"), b"1");
        assert_eq!(value(text, b"\nlast:\t"), b"7");
        assert_eq!(value(text, b"\nnone:\t"), b"");
    }
}
