//! The user's terminal while a program runs on a pseudoterminal: raw, so that every key goes through,
//! and as it was before whenever the program is stopped or has ended.

use rustix::termios::{self, OptionalActions, Termios};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Time for a write that has got room to use it, and how often it gets some.
const LAST_WRITE: Duration = Duration::from_millis(5);
const DISCARDS: u32 = 200;

/// The terminal that keys come from.
pub(super) struct Terminal {
    descriptor: OwnedFd,
    /// How it was, while it is raw.
    before: Option<Termios>,
}

impl Terminal {
    /// The terminal that is our output: through stdin when that is one, else by its name.
    pub(super) fn open() -> io::Result<Self> {
        let stdin = rustix::stdio::stdin();
        let descriptor = if termios::isatty(stdin) {
            stdin.try_clone_to_owned()?
        } else {
            std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/tty")?
                .into()
        };
        Ok(Self {
            descriptor,
            before: None,
        })
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Whether our process group is the one that the terminal is for at the moment.
    pub(super) fn is_ours(&self) -> bool {
        termios::tcgetpgrp(&self.descriptor).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Whether keys go through.
    pub(super) fn is_raw(&self) -> bool {
        self.before.is_some()
    }

    /// Lets every key through, if the terminal is ours.
    pub(super) fn make_raw(&mut self) -> io::Result<()> {
        if self.before.is_none() && self.is_ours() {
            let before = termios::tcgetattr(&self.descriptor)?;
            let mut raw = before.clone();
            raw.make_raw();
            // Not "drain": what is still to be shown must not hold up the first key.
            termios::tcsetattr(&self.descriptor, OptionalActions::Now, &raw)?;
            self.before = Some(before);
        }
        Ok(())
    }

    /// Forgets what the terminal has not shown yet, until nothing more is on its way, and ends what may
    /// have been cut off in the middle.
    pub(super) fn discard_output(&self, is_over: impl Fn() -> bool) {
        for _ in 0..DISCARDS {
            // The room lets a waiting write go on; it is told so not when room is made, but when output
            // that was stopped goes on.
            let _ = termios::tcflush(&self.descriptor, termios::QueueSelector::OFlush);
            let _ = termios::tcflow(&self.descriptor, termios::Action::OOff);
            let _ = termios::tcflow(&self.descriptor, termios::Action::OOn);
            std::thread::sleep(LAST_WRITE);
            if is_over() {
                break;
            }
        }
        let _ = termios::tcflush(&self.descriptor, termios::QueueSelector::OFlush);
        // CAN ends an escape sequence, SGR 0 resets colours, DECSET 25 shows the cursor.
        let _ = rustix::io::write(&self.descriptor, b"\x18\x1b[0m\x1b[?25h");
    }

    /// Makes it as it was.
    pub(super) fn restore(&mut self) {
        if let Some(before) = self.before.take() {
            // A terminal that has gone needs no restoring.
            let _ = termios::tcsetattr(&self.descriptor, OptionalActions::Now, &before);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}
