//! Pseudoterminals.

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::io;
use std::os::fd::OwnedFd;

/// A pseudoterminal: the side of the terminal, the side of the program.
pub(crate) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let terminal = openpt(flags | OpenptFlags::CLOEXEC)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    // Set afterwards: the program would see that flag of ioctl_tty(2) in its descriptors (F_GETFL).
    let program = ioctl_tiocgptpeer(&terminal, flags)?;
    fcntl_setfd(&program, FdFlags::CLOEXEC)?;
    Ok((terminal, program))
}
