//! Signals as events: blocked in every thread and read from a descriptor (`signalfd(2)`).
#![allow(unsafe_code)]

use super::procfs::Stat;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) number: i32,
    /// Sent by a process, to this process alone; else by the kernel, to the terminal's whole process group.
    pub(crate) by_process: bool,
}

/// Signals that are blocked, and read from a descriptor. Threads inherit the block: make this before the first is started.
pub(crate) struct Signals {
    descriptor: OwnedFd,
}

pub(super) fn set_of(signals: &[i32]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), *signal);
        }
        set.assume_init()
    }
}

/// The signals that were blocked when this program was started.
static BEFORE: OnceLock<libc::sigset_t> = OnceLock::new();

/// Changes this thread's mask; returns that from before.
fn change_mask(how: i32, signals: &[i32]) -> libc::sigset_t {
    let set = set_of(signals);
    let mut before = set_of(&[]);
    // SAFETY: the sets are valid; with a valid `how` this cannot fail.
    unsafe { libc::pthread_sigmask(how, &raw const set, &raw mut before) };
    BEFORE.get_or_init(|| before);
    before
}

/// Gives this thread a mask that it, or the program, had before.
fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is valid; with it this cannot fail.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Blocks signals in this thread and those it starts.
pub(crate) fn block(signals: &[i32]) {
    change_mask(libc::SIG_BLOCK, signals);
}

/// Signals that are blocked in this thread, and those it starts meanwhile, until this is dropped.
#[must_use]
pub(crate) struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub(crate) fn begin(signals: &[i32]) -> Self {
        Self {
            before: change_mask(libc::SIG_BLOCK, signals),
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        set_mask(&self.before);
    }
}

/// This thread's mask.
fn mask() -> libc::sigset_t {
    let mut now = set_of(&[]);
    // SAFETY: without a new set the mask is only read.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut now) };
    now
}

/// Whether this thread blocks a signal.
pub(super) fn is_blocked(signal: i32) -> bool {
    let now = mask();
    // SAFETY: the set is valid.
    unsafe { libc::sigismember(&raw const now, signal) == 1 }
}

/// Blocks in this thread, and those it starts, what was blocked when this program was started.
pub(crate) fn unblock() {
    if let Some(before) = BEFORE.get() {
        set_mask(before);
    }
}

/// Whether SIGPIPE was ignored when this program was started: Rust's runtime ignores it before `main`.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn look_at_pipe_signal() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

/// The C library calls the functions of this section before `main`, and before Rust's runtime changes signals.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_PIPE_SIGNAL: extern "C" fn() = look_at_pipe_signal;

/// Whether SIGXFSZ is ignored by this program alone.
static FILE_LIMIT_IS_AN_ERROR: AtomicBool = AtomicBool::new(false);

/// A file of this process that meets `ulimit -f` gets an error from now on, where a signal would kill the process.
pub(crate) fn make_file_limit_an_error() {
    if !is_ignored(libc::SIGXFSZ) {
        // SAFETY: no handler is involved.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        FILE_LIMIT_IS_AN_ERROR.store(true, Ordering::Relaxed);
    }
}

/// Lets a program start with the signals blocked that were blocked when this program was started, and with
/// SIGPIPE and SIGXFSZ ignored if they were. Until it starts, those that this program remembers end it.
pub(crate) fn pass_on_to(command: &mut Command) {
    let before = *BEFORE.get_or_init(mask);
    let pipe_was_ignored = PIPE_WAS_IGNORED.load(Ordering::Relaxed);
    let file_limit_was_a_signal = FILE_LIMIT_IS_AN_ERROR.load(Ordering::Relaxed);
    let mut remembered = passed_on();
    remembered.extend([libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP]);
    let restore = move || {
        for &signal in &remembered {
            if !is_ignored(signal) {
                set_default(signal);
            }
        }
        // SAFETY: the set is valid; all may be called between fork and exec.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            // `Command` has given it its default action just now.
            if pipe_was_ignored {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            }
            if file_limit_was_a_signal {
                libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing.
    unsafe { command.pre_exec(restore) };
}

/// Children leave a status. Where a parent has SIGCHLD ignored, which is inherited, they would vanish without one.
/// To be called before the signal is collected: one that is ignored would stay so.
pub(crate) fn tell_of_children() {
    set_default(libc::SIGCHLD);
}

/// Gives a signal its default action.
pub(crate) fn set_default(signal: i32) {
    // SAFETY: no handler is involved.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Whether a signal is ignored, as `nohup` and shells' background jobs have it.
fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call initialises the structure, or fails, which is checked.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Those of our children that have ended and have not been waited for.
pub(crate) fn ended(mut children: Vec<i32>) -> Vec<i32> {
    children.retain(|&child| Stat::of(child).is_some_and(Stat::is_over));
    children
}

/// Signals that mean something to a program only: not those that a fault or a limit of a process's own causes.
pub(crate) fn meant_for_programs() -> impl Iterator<Item = i32> {
    const NAMED: [i32; 8] = [
        libc::SIGWINCH,
        libc::SIGURG,
        libc::SIGIO,
        libc::SIGPWR,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGSYS,
        libc::SIGABRT,
    ];
    NAMED.into_iter().chain(libc::SIGRTMIN()..=libc::SIGRTMAX())
}

/// Those that are passed on to a child, beside the ones that interrupt.
pub(super) fn passed_on() -> Vec<i32> {
    let named = [libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM];
    named.into_iter().chain(meant_for_programs()).collect()
}

impl Signals {
    /// Collects these signals from now on; those that are ignored stay ignored.
    pub(crate) fn collect(signals: &[i32]) -> io::Result<Self> {
        Self::collect_with(signals, [])
    }

    /// The same, with others that are to be passed on: one that is ignored is so in the program, too, unless that has a use for it.
    pub(crate) fn collect_with(
        signals: &[i32],
        others: impl IntoIterator<Item = i32>,
    ) -> io::Result<Self> {
        let wanted = signals.iter().copied();
        let wanted = wanted.filter(|signal| !is_ignored(*signal));
        let wanted: Vec<i32> = wanted.chain(others).collect();
        let set = set_of(&wanted);
        block(&wanted);
        // SAFETY: the set is valid, and the descriptor is ours when it is there.
        unsafe {
            let descriptor =
                libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            if descriptor == -1 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self {
                descriptor: OwnedFd::from_raw_fd(descriptor),
            })
        }
    }

    /// The next one that has arrived, without those that this process has sent to its own group.
    pub(crate) fn next(&self) -> Option<Arrived> {
        loop {
            let (arrived, sender) = self.read()?;
            if !(arrived.by_process && sender == std::process::id()) {
                return Some(arrived);
            }
        }
    }

    /// The next one, and the process that has sent it.
    fn read(&self) -> Option<(Arrived, u32)> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer is as large as the size says; zeroes are valid for it, and the kernel
        // fills in all of it or leaves it.
        let info = unsafe {
            let read = libc::read(self.descriptor.as_raw_fd(), info.as_mut_ptr().cast(), size);
            (read == size as isize).then(|| info.assume_init())?
        };
        let arrived = Arrived {
            number: info.ssi_signo as i32,
            by_process: info.ssi_code <= 0,
        };
        Some((arrived, info.ssi_pid))
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Stops this process by a signal, and returns when it is continued. Returns the process that has continued it, if SIGCONT is
/// collected. `None`: it was not stopped. The kernel stops neither process 1 nor, but by SIGSTOP, an orphaned process group, which no
/// process could continue. The SIGCONT that has continued it does not arrive again. Called by the main thread, to which the kernel gives
/// the signal if it does not block it.
pub(crate) fn stop_here(signal: i32) -> Option<i32> {
    stop_by(std::process::id() as i32, signal)
}

/// The same for this process and its job, as a terminal does. No terminal sends SIGSTOP: it is for this process alone.
pub(crate) fn stop_job(signal: i32) -> Option<i32> {
    match signal {
        libc::SIGSTOP => stop_here(signal),
        _ => stop_by(0, signal),
    }
}

/// Sends a signal that stops this process, to it or to its group (0).
fn stop_by(receiver: i32, signal: i32) -> Option<i32> {
    set_default(signal);
    send(receiver, signal);
    // A signal that is collected has been pending until now.
    set_mask(&change_mask(libc::SIG_UNBLOCK, &[signal]));
    wait_for_group();
    let continued = set_of(&[libc::SIGCONT]);
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the set, the place and the time are valid for the call. A SIGCONT has a sender.
    unsafe {
        let taken = libc::sigtimedwait(&raw const continued, info.as_mut_ptr(), &raw const at_once);
        (taken == libc::SIGCONT).then(|| info.assume_init().si_pid())
    }
}

/// Waits until a SIGCONT for the whole group that has continued this process has reached the others. The kernel sends it with its
/// list of processes locked, and this call, which changes nothing, locks that as well.
fn wait_for_group() {
    // SAFETY: no memory is involved. It fails for the leader of a session, when it has had the lock.
    unsafe {
        let group = libc::getpgrp();
        // 0: the group is of another process namespace.
        if group > 0 {
            libc::setpgid(0, group);
        }
    }
}

/// Continues a process, and its group if that is another than ours.
pub(crate) fn continue_job(process: i32) {
    // SAFETY: no memory is involved.
    let (group, own) = unsafe { (libc::getpgid(process), libc::getpgrp()) };
    let is_other = group > 0 && group != own;
    send(if is_other { -group } else { process }, libc::SIGCONT);
}

/// Whether there is such a process.
pub(crate) fn is_there(process: i32) -> bool {
    // SAFETY: no memory is involved; signal 0 is none.
    unsafe { libc::kill(process, 0) == 0 }
}

/// Sends a signal to a process, or with a negative number to a process group. A process that has ended meanwhile is no error.
pub(crate) fn send(process: i32, signal: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(process, signal) };
}

/// Sends a signal to each process of this one's group.
pub(crate) fn send_to_job(signal: i32) {
    send(0, signal);
}
