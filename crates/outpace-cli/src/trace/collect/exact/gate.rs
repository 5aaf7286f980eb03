//! Starting a program only when everything that watches it is in place.

use crate::trace::kernel::sys;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

/// The subject of a trace.
pub(in crate::trace) enum Subject {
    /// A program that is started for it.
    Program(Command),
    /// A process that is running already.
    Process(i32),
}

/// Forks the child, holds it before its `exec`, and calls `watch` with its id on this thread, and with the gate: a byte there lets the
/// child become the program, and if it is dropped, the child never does. The start itself runs on another thread, because it ends only
/// when the program has been let through.
pub(in crate::trace) fn start<T>(
    mut command: Command,
    watch: impl FnOnce(i32, UnixStream) -> io::Result<T>,
) -> io::Result<T> {
    let (mut outside, inside) = UnixStream::pair()?;
    sys::hold_at_gate(&mut command, inside.into(), outside.as_raw_fd());
    std::thread::scope(|scope| {
        let starting = scope.spawn(move || command.spawn());
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
