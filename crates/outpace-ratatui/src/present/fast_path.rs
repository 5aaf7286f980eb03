//! The fast path: the thread that draws also writes, where that takes no waiting.
//!
//! Most frames are small, and most terminals read at once. Handing such a frame to a thread costs more than writing it: a copy of the
//! screen, and several switches between threads. So while no bytes are on their way, the calling thread writes in place of the
//! presenter's. Its descriptor does not block. Bytes that the terminal does not take within a moment are left to the presenter's thread.
//! Threads start when they are first needed: a program whose terminal keeps up has none.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::Output;
use super::gate::{Gate, Held, Stream};
use crate::sys;

/// How long a write may take, altogether, on a terminal that is about to read on.
const MOMENT: Duration = Duration::from_micros(500);
/// Frames of more bytes take so long to draw that handing them to the presenter's thread is worth it.
const SMALL: usize = 16 << 10;

/// A way to the terminal that does not block.
pub(crate) struct FastPath {
    terminal: sys::Terminal,
    /// The standard stream that is the same terminal.
    shared: Option<Stream>,
    /// `None`: the process has had threads beside the caller's and ours, or the system does not count them.
    alone: Option<sys::Threads>,
    /// The terminal took the last bytes at once.
    keeps_up: bool,
    pub(super) bytes: Vec<u8>,
}

/// The program's text is written, and other writers are held back if need be.
pub(super) struct Printed<'a>(Option<Held<'a>>);

impl Printed<'_> {
    /// Holds them back until the gate is opened.
    pub(super) fn keep(self) {
        if let Some(held) = self.0 {
            held.keep();
        }
    }
}

/// The result of a write.
pub(super) struct Written {
    /// How many were written.
    pub(super) bytes: usize,
    pub(super) calls: u64,
    pub(super) took: Duration,
}

impl FastPath {
    /// `None`: the system opens no such descriptor.
    pub(super) fn new(output: &Output, shared: Option<Stream>) -> Option<Self> {
        let Output::Terminal(terminal) = output else {
            return None;
        };
        Some(Self {
            terminal: sys::reopen_nonblocking(terminal)?,
            shared,
            alone: (shared == Some(Stream::Stdout))
                .then(sys::Threads::new)
                .flatten(),
            keeps_up: false,
            bytes: Vec::new(),
        })
    }

    /// Whether the terminal takes bytes. One that keeps up is not asked: if it has stalled meanwhile, it takes a part of the frame, or none.
    /// But where the program has no other threads, [`hold_back`](Self::hold_back) writes what the program has printed, by a call that waits.
    pub(super) fn is_ready(&self) -> bool {
        self.keeps_up && self.alone.is_none()
            || sys::wait_writable(&self.terminal, Some(Duration::ZERO)).unwrap_or(false)
    }

    pub(super) fn is_raw(&self) -> bool {
        sys::is_raw(&self.terminal)
    }

    /// Writes the text that the program has printed and not flushed: it comes before the frame. `our_threads`: how many threads of the
    /// process are the presenter's. Another thread might keep the lock of standard output for as long as it likes, so the gate takes the
    /// lock then. `None`: it did not get the lock within a moment.
    pub(super) fn hold_back<'a>(
        &mut self,
        gate: Option<&'a Gate>,
        our_threads: u64,
    ) -> io::Result<Option<Printed<'a>>> {
        let Some(gate) = gate.filter(|_| self.shared == Some(Stream::Stdout)) else {
            return Ok(Some(Printed(None)));
        };
        let is_ours = |threads: &sys::Threads| threads.count() == Some(1 + our_threads);
        self.alone = self.alone.take().filter(is_ours);
        if self.alone.is_none() {
            return Ok(gate.try_hold()?.map(|held| Printed(Some(held))));
        }
        if !gate.is_open() {
            return Ok(None);
        }
        // An error shows when the frame is written. This waits where the terminal takes fewer bytes than
        // were printed, and then stalls: std does not say how many those are, and has no call that writes them without waiting.
        let _ = Stream::Stdout.flush();
        Ok(Some(Printed(None)))
    }

    /// Writes as many of the bytes as the terminal takes within a moment.
    pub(super) fn write(&mut self) -> io::Result<Written> {
        let start = Instant::now();
        let (mut written, mut calls) = (0, 0);
        while written < self.bytes.len() {
            calls += 1;
            match self.terminal.write(&self.bytes[written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let left = MOMENT.saturating_sub(start.elapsed());
                    let is_long = self.bytes.len() - written > SMALL || left.is_zero();
                    if is_long || !sys::wait_writable(&self.terminal, Some(left))? {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if calls > 0 {
            self.keeps_up = calls == 1 && written == self.bytes.len();
        }
        Ok(Written {
            bytes: written,
            calls,
            took: start.elapsed(),
        })
    }
}

/// Whether the fast path suits the frame that follows one of so many bytes.
pub(super) fn suits(bytes: usize) -> bool {
    bytes <= SMALL
}

/// The same, if the presenter's thread took so long to write that one.
pub(super) fn suits_after(bytes: usize, took: Duration) -> bool {
    suits(bytes) && took < MOMENT
}
