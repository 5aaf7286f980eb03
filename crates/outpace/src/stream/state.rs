//! A stream's state: the policy in force, and the bytes that are pending.
//!
//! The fields are private to this folder. [`State::assert_consistent`] states their invariants, and debug builds check
//! them at each unlock. Only [`queue`](super::queue) moves the bytes.

use super::buffering::{Buffering, Overflow};
use super::gap::GapMarker;
use super::parts::{Counts, Deferred, Helper, Sharing, Spill};
use super::patience::Patience;
use super::segment::Segment;
use crate::sys::{self, Destination, FileIdentity, Moment};
use std::collections::VecDeque;
use std::time::Duration;

/// Which stream this is: errors and defaults differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Stdout,
    Stderr,
    Other,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Role::Stdout => "stdout",
            Role::Stderr => "stderr",
            Role::Other => "stream",
        }
    }
}

/// The policy in force, with all defaults resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Unbuffered,
    Line,
    Block,
    Prompt { max_delay: Duration },
    Background,
}

impl Mode {
    /// Whether a helper drains pending bytes.
    pub(super) fn has_helper(self) -> bool {
        matches!(self, Mode::Prompt { .. } | Mode::Background)
    }
}

/// A stream's state: the policy in force, and the bytes that are pending.
pub(crate) struct State {
    // The policy: the choices, in the order of precedence, and the one in force.
    pub(super) chosen: Option<Buffering>,
    pub(super) environment: Option<Option<Buffering>>,
    pub(super) preferred: Option<Buffering>,
    pub(super) destination: Option<(Destination, Option<FileIdentity>)>,
    /// How often a redetection was asked for.
    pub(super) redetections: u32,
    /// The policy in force has to be worked out again, at the next message boundary.
    pub(super) stale: bool,
    pub(super) mode: Mode,
    /// The capacity in force: of the tail, or of the whole queue in the background.
    pub(super) capacity: usize,
    /// How a full background queue treats a message.
    pub(super) overflow: Overflow,
    pub(super) gap_marker: GapMarker,
    /// How long the exit drain waits without progress where messages may be dropped.
    pub(super) exit_timeout: Duration,

    // The bytes.
    pub(super) closed: VecDeque<Segment>,
    pub(super) tail: Segment,
    /// The stream offset of the tail's first byte.
    pub(super) tail_start: u64,
    /// Bytes that do not fit into memory.
    pub(super) spill: Spill,
    /// Whether the last byte that was written ended a line.
    pub(super) at_line_start: bool,
    /// Bytes handed to the kernel, or given up, since the stream began.
    pub(super) drained: u64,
    /// How far `Line` has searched the tail for newlines.
    pub(super) looked: usize,
    /// When the last message was written at once; `None` if that is longer ago than the delay.
    pub(super) last: Option<Moment>,

    // The drain.
    /// The thread that drains, or 0.
    pub(super) drainer: u64,
    /// How many closed segments have bytes in the joined line that is being written.
    pub(super) joined: usize,
    /// Threads, or tasks, have begun to wait for progress since the last one.
    pub(super) threads_wait: bool,
    #[cfg(feature = "tokio")]
    pub(super) tasks_wait: bool,
    /// The drain is making the text for a gap.
    pub(super) marking: bool,
    /// How far the stream was drained when a fork gave up on its reader.
    #[cfg_attr(
        any(not(unix), outpace_portable),
        expect(dead_code, reason = "there is no fork")
    )]
    pub(super) given_up_at: Option<u64>,
    pub(super) failure: Option<Failure>,
    /// The last error that made the stream fail, cleared or not.
    pub(super) last_error: sys::OsError,
    pub(super) on_broken_pipe: BrokenPipe,
    /// No more writes: the descriptor is about to be closed.
    pub(super) closed_for_good: bool,
    /// The exit drain is over: every message is written at once.
    pub(super) exiting: bool,

    pub(super) helper: Helper,
    pub(super) sharing: Sharing,
    pub(super) counts: Counts,
    pub(super) deferred: Deferred,
}

/// How a stream treats a closed pipe, whose reader has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BrokenPipe {
    /// The process ends quietly, as SIGPIPE would end it, at the next `print!` or at exit: the default
    /// of standard output. `write!` and `write_all` report the error, and the caller decides.
    End,
    /// It is an error like any other.
    Error,
    /// The bytes are discarded: the default of standard error.
    Ignore,
}

/// The failure of a stream.
pub(crate) struct Failure {
    pub(crate) error: sys::OsError,
    pub(super) on_broken_pipe: BrokenPipe,
    /// Whether a caller has got the error.
    pub(crate) reported: bool,
}

impl Failure {
    /// Whether the process ends because the reader has gone.
    pub(super) fn ends_process(&self) -> bool {
        self.error.is_broken_pipe() && self.on_broken_pipe == BrokenPipe::End
    }
}

/// How long the exit drain waits without progress where messages may be dropped.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// A local socket takes a write of this size whole, into one of its buffers (`unix_stream_sendmsg` of Linux: 32 KiB and
/// the rest of a page).
const SOCKET_WRITE: usize = 32 << 10;

impl State {
    pub(super) const fn new(role: Role, chosen: Option<Buffering>) -> Self {
        State {
            chosen,
            environment: None,
            preferred: None,
            destination: None,
            redetections: 0,
            stale: true,
            mode: Mode::Unbuffered,
            capacity: 0,
            overflow: Overflow::Block,
            gap_marker: GapMarker::Standard,
            exit_timeout: EXIT_TIMEOUT,
            closed: VecDeque::new(),
            tail: Segment::EMPTY,
            tail_start: 0,
            spill: Spill::NONE,
            at_line_start: true,
            drained: 0,
            looked: 0,
            last: None,
            drainer: 0,
            joined: 0,
            threads_wait: false,
            #[cfg(feature = "tokio")]
            tasks_wait: false,
            marking: false,
            given_up_at: None,
            failure: None,
            last_error: sys::OsError::WRITE_ZERO,
            on_broken_pipe: match role {
                Role::Stdout => BrokenPipe::End,
                Role::Stderr => BrokenPipe::Ignore,
                Role::Other => BrokenPipe::Error,
            },
            closed_for_good: false,
            exiting: false,
            helper: Helper::NONE,
            sharing: Sharing::OFF,
            counts: Counts::NONE,
            deferred: Deferred::EMPTY,
        }
    }

    /// The destination, once it is known (`Engine::know_destination`).
    pub(super) fn known_destination(&self) -> Destination {
        debug_assert!(self.destination.is_some());
        let destination = self.destination.map(|(destination, _)| destination);
        destination.unwrap_or(Destination::File)
    }

    /// The failure as a result, which the caller reports.
    pub(super) fn report_failure(&mut self) -> Result<(), sys::OsError> {
        let Some(failure) = self.failure.as_mut() else {
            return Ok(());
        };
        failure.reported = true;
        Err(failure.error)
    }

    /// Whether a thread or a task waits for a drain to make progress. One that has been notified and has not run yet no longer does.
    pub(super) fn is_waited_for(&self) -> bool {
        #[cfg(feature = "tokio")]
        if self.tasks_wait {
            return true;
        }
        self.threads_wait
    }

    /// A drain has made progress, or ended.
    pub(super) fn notify_progress(&mut self) {
        self.deferred.progress |= std::mem::take(&mut self.threads_wait);
        #[cfg(feature = "tokio")]
        if std::mem::take(&mut self.tasks_wait) {
            self.deferred.tasks = true;
        }
    }

    /// How many bytes one write takes at most, unless a single line is longer.
    pub(super) fn write_limit(&self, patience: Patience) -> usize {
        let limit = match (self.mode, self.destination) {
            // A datagram has a limit: larger blocks would be errors.
            (
                Mode::Block | Mode::Prompt { .. } | Mode::Background,
                Some((Destination::Messages, _)),
            ) => SOCKET_WRITE,
            // A message, or a block, is one write, as the user has chosen.
            (Mode::Unbuffered | Mode::Block, _) => usize::MAX,
            (_, Some((Destination::Socket, _))) => SOCKET_WRITE,
            (_, Some((Destination::Pipe(_), _)) | None) => sys::PIPE_BUF,
            _ => usize::MAX,
        };
        if patience.is_short() {
            limit.min(sys::POLLED_WRITE)
        } else {
            limit
        }
    }

    pub(super) fn drops(&self) -> bool {
        self.mode == Mode::Background
            && matches!(self.overflow, Overflow::DropOldest | Overflow::DropNewest)
    }

    /// Whether callers never wait for a drain.
    pub(super) fn never_waits(&self) -> bool {
        self.mode == Mode::Background && !matches!(self.overflow, Overflow::Block)
    }

    /// Makes an active helper look at the stream now.
    pub(super) fn hurry_helper(&mut self) {
        if !self.helper.hurried {
            self.helper.hurried = true;
            self.notify_helper();
        }
    }

    pub(super) fn notify_helper(&mut self) {
        if self.helper.worker.rouse(true) {
            self.deferred.helper = true;
        }
    }

    /// Wakes the thread that spills, if there are segments to spill: now, or only from a sleep without an end.
    pub(super) fn wake_spiller(&mut self, at_once: bool) {
        if self.can_spill(0, 0).is_some() && self.spill.worker.rouse(at_once) {
            self.deferred.spiller = true;
        }
    }

    /// The invariants, which hold whenever the state is unlocked. The tail is published up to `published`.
    #[cfg(debug_assertions)]
    pub(super) fn assert_consistent(&self, published: usize) {
        /// Longer queues are not checked, because each message would take as long.
        const LOOKED_THROUGH: usize = 64;

        // Within the published part of the tail.
        assert!(self.tail.drained <= published && published <= self.tail.buffer.capacity());
        assert!(self.looked <= published);
        let spill = &self.spill;
        // Without a file there is no span in it. The thread that spills writes segments that are in the queue.
        assert!(spill.from <= spill.to && (spill.from == spill.to || spill.file.is_some()));
        assert!(spill.writing <= spill.incoming.len());
        // Only the thread that drains joins a line or marks a gap.
        assert!(self.drainer != 0 || (self.joined == 0 && !self.marking));
        if self.closed.len() + spill.incoming.len() > LOOKED_THROUGH {
            return;
        }
        // Pending bytes are in closed segments, in the file, in segments on their way there, or in the tail. Not
        // counted: segments given up on their way to the file, and markers of gaps.
        let given_up = if spill.abandoned { spill.writing } else { 0 };
        let segments = self
            .closed
            .iter()
            .chain(spill.incoming.iter().skip(given_up));
        let in_segments: usize = segments
            .filter(|segment| !segment.marker)
            .map(|segment| {
                assert!(segment.drained <= segment.end);
                assert!(segment.end <= segment.buffer.capacity());
                assert!(segment.gap.is_none() || segment.end == 0);
                segment.end - segment.drained
            })
            .sum();
        let in_memory = (in_segments + published - self.tail.drained) as u64;
        let accepted = self.tail_start + published as u64;
        assert_eq!(accepted - self.drained, in_memory + self.in_file());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_notified_no_longer_waits() {
        let mut state = State::new(Role::Other, None);
        state.threads_wait = true;
        assert!(state.is_waited_for());
        state.notify_progress();
        // It has not run yet: an unfinished line need not go for it.
        assert!(!state.is_waited_for() && state.deferred.progress);
        state.deferred.progress = false;
        state.notify_progress();
        assert!(!state.deferred.progress);
    }
}
