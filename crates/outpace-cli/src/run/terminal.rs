//! The user's terminal while a program runs on a pseudoterminal: raw, so that every key goes through,
//! and as it was before whenever the program is stopped or has ended.

#![allow(unsafe_code)]

use rustix::termios::{self, OptionalActions, OutputModes, Termios};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Time for a write that has got room to use it, and how often it gets some.
const LAST_WRITE: Duration = Duration::from_millis(5);
const DISCARDS: u32 = 200;

/// A terminal's settings, in a form that another process can be sent.
pub(super) struct Settings(libc::termios);

impl Settings {
    /// Four words of flags, the line discipline, the special characters, two speeds.
    pub(super) const SIZE: usize = 4 * 4 + 1 + libc::NCCS + 2 * 4;

    fn of(descriptor: impl AsFd) -> io::Result<Self> {
        // SAFETY: zeroes are valid for its numbers; the call fills it in, or fails, which is checked.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            match libc::tcgetattr(descriptor.as_fd().as_raw_fd(), &raw mut settings) {
                0 => Ok(Self(settings)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let it = &self.0;
        let flags = [it.c_iflag, it.c_oflag, it.c_cflag, it.c_lflag];
        // SAFETY: the structure is valid for both calls.
        let speeds = unsafe { [libc::cfgetispeed(it), libc::cfgetospeed(it)] };
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (flags, speeds): (Vec<u8>, Vec<u8>) = (words(&flags), words(&speeds));
        [&flags[..], &[it.c_line], &it.c_cc, &speeds].concat()
    }

    pub(super) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        // SAFETY: zeroes are valid for its numbers, and the structure is valid for both calls.
        unsafe {
            let mut it: libc::termios = std::mem::zeroed();
            (it.c_iflag, it.c_oflag) = (word(0), word(4));
            (it.c_cflag, it.c_lflag) = (word(8), word(12));
            it.c_line = bytes[16];
            it.c_cc.copy_from_slice(&bytes[17..17 + libc::NCCS]);
            libc::cfsetispeed(&raw mut it, word(Self::SIZE - 8));
            libc::cfsetospeed(&raw mut it, word(Self::SIZE - 4));
            Self(it)
        }
    }
}

/// Makes a terminal what it was, if it is still as [`Terminal::make_raw`] left it.
pub(super) fn undo_raw(descriptor: impl AsFd, before: &Settings) {
    let Ok(now) = Settings::of(&descriptor) else {
        return;
    };
    // SAFETY: zeroes and copies of the numbers are valid; both calls get valid structures.
    unsafe {
        let mut raw = before.0;
        libc::cfmakeraw(&raw mut raw);
        let same = now.0.c_lflag == raw.c_lflag
            && now.0.c_oflag == raw.c_oflag
            && now.0.c_iflag == raw.c_iflag;
        if same {
            libc::tcsetattr(
                descriptor.as_fd().as_raw_fd(),
                libc::TCSANOW,
                &raw const before.0,
            );
        }
    }
}

/// Whether a terminal begins a new line with a carriage return of its own.
pub(super) fn adds_returns(descriptor: impl AsFd) -> bool {
    termios::tcgetattr(descriptor).is_ok_and(|settings| {
        settings
            .output_modes
            .contains(OutputModes::OPOST | OutputModes::ONLCR)
    })
}

/// What a terminal makes of output, if that is nothing (`Some(false)`) or CR LF of LF (`Some(true)`), and not something
/// that depends on the cursor's column, say.
pub(super) fn only_adds_returns(descriptor: impl AsFd) -> Option<bool> {
    let modes = termios::tcgetattr(descriptor).ok()?.output_modes;
    if !modes.contains(OutputModes::OPOST) {
        return Some(false);
    }
    let others = OutputModes::OLCUC
        | OutputModes::OCRNL
        | OutputModes::ONOCR
        | OutputModes::ONLRET
        | OutputModes::TABDLY;
    let adds_returns = modes.contains(OutputModes::ONLCR) && !modes.intersects(others);
    adds_returns.then_some(true)
}

/// Passes on, of the keys that were typed, those that stop output and let it go on.
pub(super) fn type_flow_control(pty: impl AsFd, typed: &[u8]) {
    use termios::{InputModes, SpecialCodeIndex};
    let pty = pty.as_fd();
    let Ok(settings) = termios::tcgetattr(pty) else {
        return;
    };
    let codes = [SpecialCodeIndex::VSTART, SpecialCodeIndex::VSTOP];
    let codes = codes.map(|index| settings.special_codes[index]);
    let keys: Vec<u8> = typed
        .iter()
        .copied()
        .filter(|key| codes.contains(key))
        .collect();
    if settings.input_modes.contains(InputModes::IXON) && !keys.is_empty() {
        // A pseudo-terminal that takes no keys has stopped nothing.
        let _ = rustix::io::write(pty, &keys);
    }
}

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

    /// Another descriptor of it.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }

    /// Whether our process group is the one that the terminal is for at the moment.
    pub(super) fn is_ours(&self) -> bool {
        termios::tcgetpgrp(&self.descriptor).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Whether keys go through.
    pub(super) fn is_raw(&self) -> bool {
        self.before.is_some()
    }

    /// Lets every key through, if the terminal is ours. Just before it does, `tell` gets the settings to go back to.
    pub(super) fn make_raw(&mut self, tell: impl FnOnce(&Settings)) -> io::Result<()> {
        if self.before.is_none() && self.is_ours() {
            tell(&Settings::of(&self.descriptor)?);
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
