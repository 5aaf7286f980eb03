//! How a child was stopped or ended, and ending in the same way.
#![allow(unsafe_code)]

use super::{clock, signals};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, wait, waitid};
use serde::Serialize;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Ended(Ending),
    /// This signal stopped it.
    Stopped(i32),
    Continued,
}

impl Change {
    /// Decodes a wait status.
    pub(crate) fn from_status(status: i32) -> Self {
        match Ending::from_status(status) {
            Some(ending) => Self::Ended(ending),
            None if libc::WIFSTOPPED(status) => Self::Stopped(libc::WSTOPSIG(status)),
            None => Self::Continued,
        }
    }

    /// Reaps every child that has ended. Returns the state of `child`, if that has changed since it was returned last.
    pub(crate) fn reap(child: i32) -> io::Result<Option<Self>> {
        Ok(reap(child, libc::WUNTRACED | libc::WCONTINUED)?.map(Self::from_status))
    }
}

/// Reaps every child that has ended; the last wait status of `child`.
fn reap(child: i32, flags: i32) -> io::Result<Option<i32>> {
    let mut found = None;
    loop {
        let mut status = 0;
        let flags = flags | libc::WNOHANG | libc::__WALL;
        // SAFETY: `status` is a valid place for the result.
        match unsafe { libc::waitpid(-1, &raw mut status, flags) } {
            0 => return Ok(found),
            -1 => {
                let error = io::Error::last_os_error();
                return match error.raw_os_error() {
                    Some(libc::ECHILD) => Ok(found),
                    Some(libc::EINTR) => continue,
                    _ => Err(error),
                };
            }
            changed if changed == child => found = Some(status),
            _ => {}
        }
    }
}

fn next_of(thread: i32, events: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    let all = WaitIdOptions::from_bits_retain(libc::__WALL as u32);
    let thread = Pid::from_raw(thread).ok_or(io::ErrorKind::NotFound)?;
    Ok(retry_on_intr(|| waitid(WaitId::Pid(thread), events | all))?)
}

/// The stop of a child or of a traced thread, if there is one: the signal, and above it the event that a tracer sees. Does not reap the thread.
pub(crate) fn stop_of(thread: i32) -> io::Result<Option<i32>> {
    let stop = next_of(thread, WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
    Ok(stop.and_then(|stop| stop.trapping_signal().or(stop.stopping_signal())))
}

/// Most stops of a thread follow each other within this time, and waking a sleeping processor takes longer.
pub(crate) const SOON_NS: u64 = 50_000;

/// The next [stop](stop_of) of a traced thread; `None` when it has ended, or at this time.
pub(crate) fn next_stop(thread: i32, until_ns: u64) -> io::Result<Option<i32>> {
    const PAUSE: Duration = Duration::from_micros(20);
    let began_ns = clock::now_ns();
    loop {
        let now_ns = clock::now_ns();
        if now_ns >= until_ns {
            return Ok(None);
        }
        if let Some(stop) = stop_of(thread)? {
            return Ok(Some(stop));
        }
        if now_ns - began_ns < SOON_NS {
            std::thread::yield_now();
        } else {
            // It may lack the processor that this thread has.
            std::thread::sleep(PAUSE);
        }
    }
}

/// Asks for `spin` whether any child or tracee has changed its state: its thread id and raw status. The next stop is often a few
/// microseconds away, and waking a sleeping processor takes longer.
pub(crate) fn next_change(spin: Duration) -> io::Result<Option<(i32, i32)>> {
    let until = Instant::now() + spin;
    let all = WaitOptions::from_bits_retain(libc::__WALL as u32);
    loop {
        let spins = Instant::now() < until;
        // In whatever process group it is.
        let changed = wait(all | WaitOptions::NOHANG)?;
        if changed.is_some() || !spins {
            return Ok(changed.map(|(thread, status)| (thread.as_raw_pid(), status.as_raw())));
        }
    }
}

/// Whether wait(2) has told all of a child: its stop, if it is stopped, is the one that was told.
pub(crate) fn is_told(child: i32) -> bool {
    let any = WaitIdOptions::STOPPED | WaitIdOptions::EXITED;
    let next = next_of(child, any | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
    next.is_ok_and(|next| next.is_none())
}

/// Whether a child has ended. Does not reap it, and needs no file of /proc.
pub(crate) fn has_ended(child: i32) -> bool {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    // A tracer is told of stops, too, whether it asks for them or not.
    let is_end = |event: WaitIdStatus| event.exited() || event.killed() || event.dumped();
    next_of(child, ended).is_ok_and(|event| event.is_some_and(is_end))
}

/// Waits until a thread has stopped or ended, and says whether it has ended by itself. Does not reap it.
pub(crate) fn has_exited(thread: i32) -> io::Result<bool> {
    let any = WaitIdOptions::EXITED | WaitIdOptions::STOPPED;
    let event = next_of(thread, any | WaitIdOptions::NOWAIT)?;
    Ok(event.is_some_and(|event| event.exited()))
}

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Ending {
    /// It exited with this status.
    #[serde(rename = "status")]
    Exited(u8),
    /// This signal killed it.
    #[serde(rename = "signal")]
    Killed(i32),
}

impl Ending {
    /// Decodes a wait status, when it is that of a process that has ended.
    pub(crate) fn from_status(status: i32) -> Option<Self> {
        if libc::WIFEXITED(status) {
            Some(Self::Exited(libc::WEXITSTATUS(status) as u8))
        } else if libc::WIFSIGNALED(status) {
            Some(Self::Killed(libc::WTERMSIG(status)))
        } else {
            None
        }
    }

    /// Reaps this child when it has ended.
    pub(crate) fn of(child: i32) -> io::Result<Option<Self>> {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        match unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(None),
            _ => Ok(Self::from_status(status)),
        }
    }

    /// Reaps every child that has ended; the ending of `child` when it is among them.
    pub(crate) fn reap(child: i32) -> io::Result<Option<Self>> {
        Ok(reap(child, 0)?.and_then(Self::from_status))
    }

    /// Ends this process as the child ended: with its status, or by its signal (without a core dump
    /// of our own).
    pub(crate) fn repeat(self) -> ExitCode {
        match self {
            Self::Exited(status) => ExitCode::from(status),
            Self::Killed(signal) => {
                let no_core = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                // SAFETY: the structures are valid for the calls; no part of this process has to
                // work after the signal.
                unsafe {
                    libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
                    libc::signal(signal, libc::SIG_DFL);
                    let just_it = signals::set_of(&[signal]);
                    libc::pthread_sigmask(
                        libc::SIG_UNBLOCK,
                        &raw const just_it,
                        std::ptr::null_mut(),
                    );
                    libc::raise(signal);
                }
                // Still here: a signal that does not kill us (as process 1, say).
                ExitCode::from(128_u8.wrapping_add(signal as u8))
            }
        }
    }

    /// Ends this process immediately, as the child ended, without waiting for its other threads.
    pub(crate) fn leave(self) -> ! {
        let status = match self {
            Self::Exited(status) => i32::from(status),
            Self::Killed(signal) => {
                self.repeat();
                128 + signal
            }
        };
        // SAFETY: no part of this process is used any more.
        unsafe { libc::_exit(status) }
    }

    /// The words for reports.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Exited(status) => format!("exit status {status}"),
            Self::Killed(signal) => match NAMES.iter().find(|(number, _)| *number == signal) {
                Some((_, name)) => format!("signal {name}"),
                None => format!("signal {signal}"),
            },
        }
    }
}

macro_rules! named {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

const NAMES: &[(i32, &str)] = named!(
    SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE
    SIGALRM SIGTERM SIGXCPU SIGXFSZ SIGVTALRM SIGPROF SIGSYS
);
