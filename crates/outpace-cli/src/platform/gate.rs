//! Starting a program only when everything that watches it is in place.
#![allow(unsafe_code)]

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Forks the child, holds it before its `exec`, and calls `watch` with its id on this thread, and with the gate: a byte there lets the
/// child become the program, and if it is dropped, the child never does. The start itself runs on another thread, because it ends only
/// when the program has been let through.
pub(crate) fn start<T>(
    mut command: Command,
    watch: impl FnOnce(i32, UnixStream) -> io::Result<T>,
) -> io::Result<T> {
    let (mut outside, inside) = UnixStream::pair()?;
    hold(&mut command, inside.into(), outside.as_raw_fd());
    std::thread::scope(|scope| {
        let starting = std::thread::Builder::new().spawn_scoped(scope, move || command.spawn())?;
        let mut process = [0; 4];
        let announced = outside.read_exact(&mut process);
        let watched = announced.and_then(|()| watch(i32::from_ne_bytes(process), outside));
        match starting.join() {
            // The error of the start says more than its absence.
            Ok(Err(error)) if error.raw_os_error() != Some(libc::ECANCELED) => Err(error),
            Ok(_) => watched,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// A child that waits to become a program. Without that it ends.
pub(crate) struct Held {
    process: i32,
    gate: UnixStream,
}

impl Held {
    /// Forks it.
    ///
    /// # Safety
    ///
    /// This process has one thread.
    pub(crate) unsafe fn fork(mut command: Command) -> io::Result<Self> {
        let (outside, mut inside) = UnixStream::pair()?;
        // SAFETY: the caller's, so the child may do anything.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // Otherwise the end of the parent would not be seen.
                drop(outside);
                if inside.read_exact(&mut [0]).is_ok() {
                    let code = command.exec().raw_os_error().unwrap_or(libc::EIO);
                    let _ = inside.write_all(&code.to_ne_bytes());
                }
                // SAFETY: no memory is involved. `exit` would run the parent's work at exit.
                unsafe { libc::_exit(1) }
            }
            process => Ok(Self {
                process,
                gate: outside,
            }),
        }
    }

    /// Lets it become the program, and returns its number.
    pub(crate) fn let_go(mut self) -> io::Result<i32> {
        let mut code = [0; 4];
        // A child that was killed has written no error either: it is reaped as the program.
        let failed = self.gate.write_all(b"!").is_ok() && self.gate.read_exact(&mut code).is_ok();
        if failed {
            return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(code)));
        }
        Ok(std::mem::take(&mut self.process))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.gate.shutdown(std::net::Shutdown::Both);
        if self.process != 0 {
            // SAFETY: a child of ours; no place for the status is given.
            unsafe { libc::waitpid(self.process, std::ptr::null_mut(), 0) };
        }
    }
}

/// Makes the child announce itself on the socket `inside` and wait there for a byte before it becomes the program. The end of this
/// process ends the wait: the child closes its copy of `outside`, the other end.
fn hold(command: &mut Command, inside: OwnedFd, outside: RawFd) {
    let announce_and_wait = move || {
        let process = std::process::id().to_ne_bytes();
        let mut byte = 0_u8;
        let sent = process.as_ptr().cast();
        // SAFETY: both descriptors are open (owned by this closure) and the buffers are valid; `outside` is used by the parent alone;
        // `close`, `send` and `read` may be called between fork and exec. The kernel does not count `send` among the writes.
        let waited = unsafe {
            libc::close(outside);
            libc::send(inside.as_raw_fd(), sent, process.len(), libc::MSG_NOSIGNAL) == 4
                && libc::read(inside.as_raw_fd(), (&raw mut byte).cast(), 1) == 1
        };
        let refused = || io::Error::from_raw_os_error(libc::ECANCELED);
        waited.then_some(()).ok_or_else(refused)
    };
    // SAFETY: the closure allocates nothing and calls async-signal-safe functions only.
    unsafe { command.pre_exec(announce_and_wait) };
}
