//! Destinations of a program's standard output.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// A pseudo-terminal that changes nothing on the way.
pub(crate) struct Terminal {
    /// The terminal's side.
    pub(crate) master: File,
    /// The program's side.
    pub(crate) slave: OwnedFd,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let (mut master, mut slave) = (-1, -1);
        // SAFETY: openpty fills both descriptors, which no other code owns; the attributes are
        // initialised by tcgetattr.
        unsafe {
            let opened = libc::openpty(
                &mut master,
                &mut slave,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            );
            assert_eq!(opened, 0, "{}", io::Error::last_os_error());
            let mut attributes = std::mem::zeroed();
            libc::tcgetattr(slave, &mut attributes);
            libc::cfmakeraw(&mut attributes);
            libc::tcsetattr(slave, libc::TCSANOW, &attributes);
            for fd in [master, slave] {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            Terminal {
                master: File::from_raw_fd(master),
                slave: OwnedFd::from_raw_fd(slave),
            }
        }
    }
}

/// A pipe: the reader's end and the program's.
pub(crate) fn pipe(flags: libc::c_int) -> (File, OwnedFd) {
    let mut ends = [-1; 2];
    // SAFETY: `pipe2` fills both descriptors, which no other code owns.
    unsafe {
        let made = libc::pipe2(ends.as_mut_ptr(), flags | libc::O_CLOEXEC);
        assert_eq!(made, 0, "{}", io::Error::last_os_error());
        (File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

/// Two sockets that are connected.
pub(crate) fn socket_pair(kind: libc::c_int) -> (OwnedFd, OwnedFd) {
    let mut ends = [-1; 2];
    // SAFETY: `socketpair` fills both descriptors, which no other code owns.
    unsafe {
        let made = libc::socketpair(
            libc::AF_UNIX,
            kind | libc::SOCK_CLOEXEC,
            0,
            ends.as_mut_ptr(),
        );
        assert_eq!(made, 0, "{}", io::Error::last_os_error());
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

/// Makes a descriptor, and everybody's copies of it, non-blocking.
pub(crate) fn set_nonblocking(fd: &impl AsRawFd) {
    // SAFETY: plain calls on an open descriptor.
    unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        let set = libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK);
        assert_eq!(set, 0, "{}", io::Error::last_os_error());
    }
}

/// The events of a descriptor now: of `wanted`, and those that `poll(2)` always reports.
pub(crate) fn events(fd: RawFd, wanted: libc::c_short) -> libc::c_short {
    let mut poll = libc::pollfd {
        fd,
        events: wanted,
        revents: 0,
    };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut poll, 1, 0) };
    poll.revents
}
