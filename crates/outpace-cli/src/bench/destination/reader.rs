//! The other end of a pipe or of a pseudo-terminal.

use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use memchr::memmem;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read};

use super::{ReadPace, STALL};
use crate::bench::destination::check::Check;
use crate::platform::answer::WHERE_IS_THE_CURSOR;
use crate::platform::clock::now_ns;
use crate::platform::interrupts;

/// A reader's tasks besides touching every byte.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Compare the bytes.
    pub(crate) check: Option<Check>,
    /// Keep when each piece arrived.
    pub(crate) arrivals: bool,
    /// Keep the bytes themselves.
    pub(crate) keep: bool,
    /// Answer a program's first questions, as terminals do.
    pub(crate) answers: bool,
    /// Answer where the cursor is.
    pub(crate) reports: bool,
    /// How long a stalling reader waits; by default [`STALL`].
    pub(crate) stall: Option<Duration>,
    /// Ends a stall, and every other wait of the reader's.
    pub(crate) release: Arc<Release>,
}

/// Ends the waits of a reader, as an interruption of the bench does.
#[derive(Debug, Default)]
pub(crate) struct Release(AtomicBool);

impl Release {
    /// Ends them now.
    pub(crate) fn now(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Sleeps for `time` or until they end; returns whether they have ended.
    fn sleep(&self, time: Duration) -> bool {
        !interrupts::pause_unless(time, || self.0.load(Ordering::Acquire))
    }
}

/// The bytes that arrived.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: u64,
    /// How many reads it took, and how many of them ended within a line.
    pub(crate) reads: u64,
    pub(crate) torn: u64,
    /// When the last byte arrived, by the monotonic clock; `None` when none did, or unseen.
    pub(crate) last_at: Option<u64>,
    /// Whether the bytes were the expected ones, if that was wanted.
    pub(crate) verified: Option<Result<(), String>>,
    /// When each piece arrived and how many bytes there were by then.
    pub(crate) arrivals: Vec<(u64, u64)>,
    /// The bytes, if they were wanted.
    pub(crate) kept: Vec<u8>,
}

/// The last of a program's first questions (DA1), which every terminal answers.
const QUESTION: &[u8] = b"\x1b[c";
/// The answers: the alternate screen is on, synchronized output is known, and the identity of a terminal.
const ANSWER: &[u8] = b"\x1b[?1049;1$y\x1b[?2026;2$y\x1b[?62;22c";
/// Behind this many bytes no program asks its first question.
const PREAMBLE: u64 = 4 << 10;

/// As much as a pipe of the usual capacity holds.
const CHUNK: usize = 64 << 10;

/// Reads to the end at a pace, or until the bench is interrupted.
pub(crate) fn read_to_end(
    from: &OwnedFd,
    mut pace: ReadPace,
    wanted: Wanted,
) -> io::Result<Received> {
    let mut received = Received::default();
    let mut check = wanted.check;
    let mut buffer = vec![0; CHUNK];
    let mut limit = CHUNK;
    let mut started = Instant::now();
    match pace {
        ReadPace::AtOnce => {}
        ReadPace::PerSecond(rate) => {
            // Two hundred small reads a second.
            limit = usize::try_from(rate / 200).unwrap_or(CHUNK).clamp(1, CHUNK);
        }
        ReadPace::Stalled => {
            let mut readable = [PollFd::new(from, PollFlags::IN)];
            while poll(&mut readable, None) == Err(Errno::INTR) {}
            wanted.release.sleep(wanted.stall.unwrap_or(STALL));
        }
    }
    let mut touched = 0_u64;
    while !interrupts::came() {
        let length = match read(from, &mut buffer[..limit]) {
            Ok(length) => length,
            Err(Errno::INTR) => continue,
            // A pseudo-terminal whose last writer is gone.
            Err(Errno::IO) => 0,
            Err(error) => return Err(error.into()),
        };
        if length == 0 {
            break;
        }
        if received.bytes == 0 {
            started = Instant::now();
        }
        let arrived = &buffer[..length];
        received.bytes += length as u64;
        received.reads += 1;
        received.torn += u64::from(!arrived.ends_with(b"\n"));
        // Some write more behind it before they wait for the answer.
        let asked = wanted.answers
            && received.bytes < PREAMBLE
            && memmem::find(arrived, QUESTION).is_some();
        if asked {
            // A program that does not wait for it ignores it.
            let _ = rustix::io::write(from, ANSWER);
        }
        if wanted.reports && arrived.ends_with(WHERE_IS_THE_CURSOR) {
            let _ = rustix::io::write(from, b"\x1b[1;1R");
        }
        match &mut check {
            Some(check) => check.feed(arrived),
            None => touched += arrived.iter().map(|&byte| u64::from(byte)).sum::<u64>(),
        }
        if wanted.arrivals {
            received.arrivals.push((now_ns(), received.bytes));
        }
        if wanted.keep {
            received.kept.extend_from_slice(arrived);
        }
        if let ReadPace::PerSecond(rate) = pace {
            let due = Duration::from_secs_f64(received.bytes as f64 / rate as f64);
            let left = due.saturating_sub(started.elapsed());
            if wanted.release.sleep(left) {
                (pace, limit) = (ReadPace::AtOnce, CHUNK);
            }
        }
    }
    black_box(touched);
    // Read once: a reading for each chunk would slow the reader, and the end follows the last byte immediately.
    received.last_at = (received.bytes > 0).then(now_ns);
    if let Some(&(at, _)) = received.arrivals.last() {
        received.last_at = Some(at);
    }
    received.verified = check.map(|check| check.finish().map(drop));
    Ok(received)
}
