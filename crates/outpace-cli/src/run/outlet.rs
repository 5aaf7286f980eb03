//! A queue in front of a destination: a stream of the library whose drain runs in the background.

use super::counts::Counts;
use crate::user::quantity::grouped;
use outpace::{Buffering, GapMarker, Stream};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A queue of bytes in front of a destination.
pub(super) struct Outlet {
    stream: Stream<OwnedFd>,
    /// Bytes that have gone past the queue, from pipe to pipe.
    handed_over: AtomicU64,
    /// The queue's capacity in bytes.
    capacity: u64,
}

impl Outlet {
    /// Takes output as far as the policy allows, and writes it at the destination's pace.
    pub(super) fn new(destination: OwnedFd, buffering: Buffering) -> io::Result<Self> {
        let capacity = match &buffering {
            Buffering::Background { capacity, .. } => *capacity as u64,
            _ => 0,
        };
        let stream = Stream::new(destination, buffering)?;
        // A message is a write of several lines here: only the bytes mean something to the reader.
        stream.gap_marker(GapMarker::with(|gap| {
            let bytes = grouped(gap.bytes);
            format!("[outpace: {bytes} bytes of lines dropped here]")
        }));
        Ok(Self {
            stream,
            handed_over: AtomicU64::new(0),
            capacity,
        })
    }

    /// Takes output as far as this policy allows from now on: the child of a fork has forgotten the file of the parent's.
    pub(super) fn set_buffering(&self, buffering: Buffering) {
        self.stream.set_buffering(buffering);
    }

    /// Queues bytes.
    pub(super) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(bytes)
    }

    /// Counts bytes moved to the destination past the queue.
    pub(super) fn handed_over(&self, bytes: u64) {
        self.handed_over.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        let stats = self.stream.stats();
        Counts {
            written: stats.bytes_written + self.handed_over.load(Ordering::Relaxed),
            queued: stats.bytes_queued,
            spilled: stats.bytes_spilled,
            dropped: stats.bytes_dropped,
            dropped_messages: stats.messages_dropped,
        }
    }

    /// Bytes queued and not yet accepted by the destination.
    pub(super) fn pending(&self) -> u64 {
        self.stream.stats().bytes_queued
    }

    /// The bytes missing until half of the queue is full.
    pub(super) fn room(&self) -> usize {
        (self.capacity / 2).saturating_sub(self.pending()) as usize
    }

    /// Waits until the destination has accepted everything queued, at most for this time; returns whether it has.
    pub(super) fn empties_within(&self, time: Duration) -> io::Result<bool> {
        match self.stream.flush_until(Instant::now() + time) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until the destination has accepted everything queued.
    pub(super) fn flush(&self) -> io::Result<()> {
        self.stream.flush()
    }

    /// Discards what is queued, and all later output.
    #[allow(unsafe_code)]
    pub(super) fn divert(&self) -> io::Result<()> {
        let nowhere = File::options().write(true).open("/dev/null")?;
        // SAFETY: both descriptors are open for the whole call; the stream's stays its own, and leads
        // elsewhere from its next write on.
        match unsafe {
            libc::dup3(
                nowhere.as_raw_fd(),
                self.as_fd().as_raw_fd(),
                libc::O_CLOEXEC,
            )
        } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl AsFd for Outlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
