//! Descriptors: how many may be open, whether their other end is gone, and which standard streams were closed at the start. Before `main`, Rust's
//! runtime polls the standard streams, and opens the null device in the place of a closed one.
#![allow(unsafe_code)]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Whether descriptors 0 to 2 were closed when this program was started.
static WERE_CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Where those of them that are pipes are kept until `main`; -1: nowhere. From the first poll of a pipe on, each write to it wakes its
/// reader, whoever writes: a program that we start takes up to a quarter longer. In their place stands an eventfd(2): it is in no
/// file system, and the runtime ends the process where it finds a closed descriptor and no null device.
static KEPT: [AtomicI32; 3] = [const { AtomicI32::new(-1) }; 3];

extern "C" fn look_at_descriptors() {
    for (descriptor, (was_closed, kept)) in (0..).zip(WERE_CLOSED.iter().zip(&KEPT)) {
        // SAFETY: no memory is involved. The first one fails for a descriptor that is not open, the second one also for all but pipes, and
        // neither for another reason.
        let (flags, capacity) = unsafe {
            let flags = libc::fcntl(descriptor, libc::F_GETFD);
            (flags, libc::fcntl(descriptor, libc::F_GETPIPE_SZ))
        };
        was_closed.store(flags == -1, Ordering::Relaxed);
        // Tests have another `main`.
        if capacity != -1 && !cfg!(test) {
            // SAFETY: no memory is involved, and this process has one thread, which uses none of the descriptors.
            unsafe {
                let copy = libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3);
                let other = libc::eventfd(0, libc::EFD_CLOEXEC);
                if copy != -1 && other != -1 && libc::dup2(other, descriptor) != -1 {
                    kept.store(copy, Ordering::Relaxed);
                } else {
                    libc::close(copy);
                }
                libc::close(other);
            }
        }
    }
}

/// Brings the pipes back. Called at the beginning of `main`.
pub(crate) fn bring_pipes_back() {
    for (descriptor, kept) in (0..).zip(&KEPT) {
        let copy = kept.swap(-1, Ordering::Relaxed);
        if copy != -1 {
            // SAFETY: `descriptor` is the eventfd in its place, and only we know the copy's number.
            unsafe {
                libc::dup2(copy, descriptor);
                libc::close(copy);
            }
        }
    }
}

/// Polls the standard streams, as each program of Rust's has at its start.
pub(crate) fn poll_as_others() {
    has_gone(io::stdin().as_fd());
    has_gone(io::stdout().as_fd());
    has_gone(io::stderr().as_fd());
}

/// The C library calls the functions of this section before `main`, and before Rust's runtime opens a file.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_DESCRIPTORS: extern "C" fn() = look_at_descriptors;

/// The limit of open files that this program was started with, if it has another one now.
static LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Lets this process open as many files as it may allow itself, and returns how many (`None`: any number).
pub(crate) fn allow_most() -> Option<u64> {
    let before = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: before.maximum,
        ..before
    };
    if before.current == most.current || setrlimit(Resource::Nofile, most).is_err() {
        return before.current;
    }
    LIMIT.get_or_init(|| before);
    most.current
}

/// Lets a program start with the limit of open files that this program was started with.
pub(crate) fn limit_as_before(command: &mut Command) {
    if let Some(before) = LIMIT.get().copied() {
        let limit = move || Ok(setrlimit(Resource::Nofile, before)?);
        // SAFETY: the closure allocates nothing, and `setrlimit` is a system call.
        unsafe { command.pre_exec(limit) };
    }
}

/// Lets a program start with those of its standard streams closed that it inherits, and that were closed when this program
/// was started.
pub(crate) fn close_as_before(command: &mut Command, inherited: [bool; 3]) {
    let mut closed = [false; 3];
    for ((closed, inherited), was_closed) in closed.iter_mut().zip(inherited).zip(&WERE_CLOSED) {
        *closed = inherited && was_closed.load(Ordering::Relaxed);
    }
    if closed == [false; 3] {
        return;
    }
    let close = move || {
        for (descriptor, _) in (0..).zip(closed).filter(|(_, closed)| *closed) {
            // SAFETY: it is the null device, which this process does not use, and the process is about to become another program.
            unsafe { libc::close(descriptor) };
        }
        Ok(())
    };
    // SAFETY: the closure does not allocate, and `close` may be called between fork and exec.
    unsafe { command.pre_exec(close) };
}

/// Closes every descriptor of this process but the standard streams and these. The owners of the others must not use them
/// again.
pub(crate) fn close_all_but(mut kept: Vec<i32>) {
    kept.sort_unstable();
    let mut first = 3;
    for next in kept.into_iter().map(|kept| kept as u32).chain([u32::MAX]) {
        if first < next {
            // SAFETY: by the number, since older C libraries have no function for it; no memory is involved.
            unsafe { libc::syscall(libc::SYS_close_range, first, next - 1, 0) };
        }
        first = first.max(next.saturating_add(1));
    }
}

/// Whether a terminal has been closed, or a pipe's reader.
pub(crate) fn has_gone(descriptor: BorrowedFd<'_>) -> bool {
    // `poll` reports that without being asked.
    let mut gone = [PollFd::from_borrowed_fd(descriptor, PollFlags::empty())];
    poll(&mut gone, Some(&Timespec::default())).is_err() || !gone[0].revents().is_empty()
}
