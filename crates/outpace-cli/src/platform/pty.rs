//! Pseudoterminals.

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use std::io;
use std::os::fd::OwnedFd;

/// A pseudoterminal: the side of the terminal, the side of the program.
pub(crate) fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    let program = ioctl_tiocgptpeer(&terminal, flags)?;
    Ok((terminal, program))
}
