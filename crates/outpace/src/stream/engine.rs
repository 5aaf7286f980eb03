//! A stream's machinery: a queue of bytes with a drain.
//!
//! Messages are appended to the *tail* buffer by whoever holds the guard ([`lock`](crate::sync::lock)), and
//! published through [`flow`](crate::stream::cursor). The tail may have *closed* segments before it. Drains take
//! published bytes only, oldest first, one drain at a time, and never need the guard. All that is
//! decided (rather than done on every message) is decided with `state` locked, which is never held
//! across a system call that can wait.
//!
//! What the machinery does is in [`append`](crate::stream::append) (messages in), [`policy`](crate::stream::policy) (when to
//! drain), [`drain`](crate::stream::drain) (bytes out) and [`flusher`](crate::stream::helper) (on whose thread).
//!
//! Lock order: guard, then state of stdout, then state of stderr, then of other streams.
#![allow(unsafe_code)]

use super::buffer::Buffer;
use super::buffering::{Buffering, Overflow};
use super::cursor::Flow;
use super::drain::{Failure, Patience};
use super::exit;
use super::gap::{Gap, GapMarker};
use super::helper::Helper;
use super::overflow::{RELIEF, Relief};
use super::policy::Sharing;
use super::registry::register;
use super::spill::Spill;
use super::state_guard::PutOff;
use crate::sync::lock::Lock;
use crate::sync::mutex::{Condition, Mutex};
use crate::sync::thread::{thread_id, work};
use crate::sys::{self, Destination, Identity, Moment, Output};
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Which stream this is, for what the table of errors treats differently.
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

#[repr(C)]
pub(crate) struct Engine {
    // What a message touches, first and together.
    pub(crate) flow: Flow,
    pub(crate) lock: Lock,
    pub(crate) state: Mutex<State>,
    /// A drain has made progress, or ended.
    pub(crate) progress: Condition,
    /// There is something for the helper to do.
    pub(crate) wake: Condition,
    /// There is something for the thread that spills to do.
    pub(crate) spilled: Condition,
    #[cfg(feature = "tokio")]
    pub(crate) tasks: super::tasks::Tasks,
    pub(crate) output: Output,
    pub(crate) role: Role,
    /// Nothing for the standard streams, which live for ever.
    counted: Option<Counted>,
}

pub(crate) static STDOUT: Engine = Engine::new(Role::Stdout, Output::STDOUT, None);
pub(crate) static STDERR: Engine = Engine::new(Role::Stderr, Output::STDERR, None);

/// How a stream is kept alive by who uses it. By pointers to functions, so that a program whose only streams
/// are the standard ones has no code to take one apart.
struct Counted {
    this: Weak<Engine>,
    keep_alive: fn(&Weak<Engine>) -> Option<EngineRef>,
    let_go: unsafe fn(*const Engine),
}

/// The policy in force, with everything decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Unbuffered,
    Line,
    Block,
    Prompt { max_delay: Duration },
    Background,
}

impl Mode {
    /// Whether a helper looks after what is pending.
    pub(crate) fn has_helper(self) -> bool {
        matches!(self, Mode::Prompt { .. } | Mode::Background)
    }
}

/// What is decided about a stream, and what is to be drained.
pub(crate) struct State {
    // The policy: what was asked for, in the order of precedence, and what is in force.
    pub(crate) chosen: Option<Buffering>,
    pub(crate) environment: Option<Option<Buffering>>,
    pub(crate) preferred: Option<Buffering>,
    pub(crate) destination: Option<(Destination, Option<Identity>)>,
    /// How often that is to be asked again.
    pub(crate) redetections: u32,
    /// The policy in force has to be worked out again, at the next message boundary.
    pub(crate) stale: bool,
    pub(crate) mode: Mode,
    /// The capacity in force: of the tail, or of the whole queue in the background.
    pub(crate) capacity: usize,
    /// What happens when a background queue is full.
    pub(crate) overflow: Overflow,
    /// What does it, other than waiting; nothing until a buffering is chosen in code.
    pub(crate) relief: Option<&'static dyn Relief>,
    pub(crate) gap_marker: GapMarker,
    /// How long the exit drain waits without progress where messages may be dropped.
    pub(crate) exit_timeout: Duration,

    // The bytes.
    pub(crate) closed: VecDeque<Segment>,
    pub(crate) tail: Segment,
    /// The stream offset of the tail's first byte.
    pub(crate) tail_start: u64,
    /// What does not fit into memory.
    pub(crate) spill: Spill,
    /// Whether the last byte that was written ended a line.
    pub(crate) at_line_start: bool,
    /// Bytes handed to the kernel, or given up, since the stream began.
    pub(crate) drained: u64,
    /// Where `Line` goes on looking for newlines, in the tail.
    pub(crate) looked: usize,
    /// When the last message was written at once, if that may have been less than the delay ago.
    pub(crate) last: Option<Moment>,

    // The drain.
    /// The thread that drains, or 0.
    pub(crate) drainer: u64,
    /// So many closed segments have bytes in the line that is being written, if it was put together from several.
    pub(crate) joined: usize,
    /// Threads that wait for `progress`.
    pub(crate) waiters: u32,
    /// So do tasks.
    #[cfg(feature = "tokio")]
    pub(crate) tasks_wait: bool,
    /// The one that drains is making the text for a gap.
    pub(crate) marking: bool,
    /// How far the stream was drained when a fork gave up on its reader.
    #[cfg_attr(
        any(not(unix), outpace_portable),
        expect(dead_code, reason = "there is no fork")
    )]
    pub(crate) given_up_at: Option<u64>,
    pub(crate) failure: Option<Failure>,
    /// Why the stream failed last, whether or not that has been cleared.
    pub(crate) last_error: sys::Error,
    pub(crate) on_broken_pipe: OnBrokenPipe,
    /// Nothing may be written any more: the descriptor is about to go.
    pub(crate) closed_for_good: bool,
    /// The exit drain is over: every message is written at once.
    pub(crate) exiting: bool,

    pub(crate) helper: Helper,
    pub(crate) sharing: Sharing,
    pub(crate) counts: Counts,
    pub(crate) put_off: PutOff,
}

/// What a drain does when the reader has gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnBrokenPipe {
    /// End the process as SIGPIPE would, at the next `print!` or at exit.
    End,
    /// Treat it as any other error.
    Error,
    /// Nobody reads: nobody minds.
    Ignore,
}

/// A stretch of the stream's bytes in memory.
pub(crate) struct Segment {
    pub(crate) buffer: Buffer,
    /// How far it is drained.
    pub(crate) drained: usize,
    /// How far it is filled, once closed; the tail's is in `flow`.
    pub(crate) end: usize,
    /// Whether further messages may be put behind its end.
    pub(crate) appendable: bool,
    /// Whether it has whole messages only, and its memory to itself: then it may be dropped.
    pub(crate) whole: bool,
    /// How many messages it has, once closed, if `whole`.
    pub(crate) messages: u64,
    /// Its bytes mark a gap, and are not part of the stream's length.
    pub(crate) marker: bool,
    /// It has no bytes, but stands for messages that were dropped here.
    pub(crate) gap: Option<Gap>,
}

impl State {
    /// What the bytes go to, once that is [known](Engine::know_destination).
    pub(crate) fn known_destination(&self) -> Destination {
        debug_assert!(self.destination.is_some());
        let destination = self.destination.map(|(destination, _)| destination);
        destination.unwrap_or(Destination::File)
    }

    /// What is written next follows a pause.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }
}

impl Segment {
    pub(crate) const EMPTY: Segment = Segment {
        buffer: Buffer::EMPTY,
        drained: 0,
        end: 0,
        appendable: false,
        whole: true,
        messages: 0,
        marker: false,
        gap: None,
    };
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// Messages before those that `flow` counts.
    pub(crate) messages: u64,
    pub(crate) writes: u64,
    pub(crate) longest_wait: Duration,
    pub(crate) dropped: Gap,
    /// Dropped messages that were never in the queue.
    pub(crate) refused: u64,
    /// Bytes that went through the file.
    pub(crate) spilled: u64,
}

impl Counts {
    const NONE: Counts = Counts {
        messages: 0,
        writes: 0,
        longest_wait: Duration::ZERO,
        dropped: Gap {
            messages: 0,
            bytes: 0,
        },
        refused: 0,
        spilled: 0,
    };
}

/// How long the exit drain waits without progress where messages may be dropped.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

impl Engine {
    pub(crate) const fn new(role: Role, output: Output, chosen: Option<Buffering>) -> Self {
        Engine {
            flow: Flow::new(),
            lock: Lock::new(),
            state: Mutex::new(State {
                chosen,
                environment: None,
                preferred: None,
                destination: None,
                redetections: 0,
                stale: true,
                mode: Mode::Unbuffered,
                capacity: 0,
                overflow: Overflow::Block,
                relief: None,
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
                waiters: 0,
                #[cfg(feature = "tokio")]
                tasks_wait: false,
                marking: false,
                given_up_at: None,
                failure: None,
                last_error: sys::Error::WROTE_NOTHING,
                on_broken_pipe: match role {
                    Role::Stdout => OnBrokenPipe::End,
                    Role::Stderr => OnBrokenPipe::Ignore,
                    Role::Other => OnBrokenPipe::Error,
                },
                closed_for_good: false,
                exiting: false,
                helper: Helper::NONE,
                sharing: Sharing::OFF,
                counts: Counts::NONE,
                put_off: PutOff::NOTHING,
            }),
            progress: Condition::new(),
            wake: Condition::new(),
            spilled: Condition::new(),
            #[cfg(feature = "tokio")]
            tasks: super::tasks::Tasks::new(),
            output,
            role,
            counted: None,
        }
    }

    /// A stream of its own, known to the exit drain.
    pub(crate) fn shared(output: Output, buffering: Buffering) -> Arc<Self> {
        let engine = Arc::new_cyclic(|this: &Weak<Engine>| Engine {
            counted: Some(Counted {
                this: this.clone(),
                keep_alive: |this| this.upgrade().map(EngineRef::shared),
                // SAFETY: what an `EngineRef` lets go of was an `Arc` when it took hold.
                let_go: |engine| drop(unsafe { Arc::from_raw(engine) }),
            }),
            ..Engine::new(Role::Other, output, Some(buffering))
        });
        engine.lock_state().relief = Some(RELIEF);
        exit::install();
        register(&engine);
        engine
    }

    /// Something that keeps this alive for as long as a helper runs.
    pub(crate) fn keep_alive(&self) -> Option<EngineRef> {
        match &self.counted {
            Some(counted) => (counted.keep_alive)(&counted.this),
            None => Some(EngineRef(self)),
        }
    }

    /// How far the tail buffer is published.
    pub(crate) fn offset(&self, state: &State) -> usize {
        self.flow.published().addr() - state.tail.buffer.start().addr()
    }

    /// Bytes accepted since the stream began.
    pub(crate) fn accepted(&self, state: &State) -> u64 {
        state.tail_start + self.offset(state) as u64
    }

    /// Messages accepted since the stream began.
    pub(crate) fn messages(&self, state: &State) -> u64 {
        state.counts.messages + self.flow.messages()
    }

    /// Why the stream has failed, for a caller whose message it has not taken. Somebody else may have cleared the
    /// error since then, which does not bring the message back.
    #[cold]
    pub(crate) fn error(&self) -> sys::Error {
        let mut state = self.lock_state();
        state.tell_failure().err().unwrap_or(state.last_error)
    }

    /// For a caller who cannot be told: ends the process, quietly, if nobody reads its output any more
    /// and it wants that. Other errors are told by `flush`, or at exit.
    #[cold]
    pub(crate) fn end_if_reader_gone(&self) {
        let ends = self
            .lock_state()
            .failure
            .as_ref()
            .is_some_and(Failure::ends_process);
        if ends {
            exit::end_by_broken_pipe(self);
        }
    }

    /// Returns once the kernel has accepted every byte written before the call.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if work::is_under_way() {
            return Ok(());
        }
        let state = self.lock_state();
        let all = self.accepted(&state);
        let mut state = self.drain(state, all, Patience::Forever);
        Ok(state.tell_failure()?)
    }

    /// The same, until `deadline`: on the helper's time.
    pub(crate) fn flush_until(&self, deadline: Instant) -> io::Result<()> {
        let mut state = self.lock_state();
        let all = self.accepted(&state);
        while state.drained < all.min(self.accepted(&state)) && state.failure.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            state = if state.mode.has_helper() && self.wake_helper(&mut state) {
                state.hurry_helper();
                self.wait(state, Some(left))
            } else {
                // Little by little: a reader that is merely slow does not move the deadline.
                let next = all.min(state.drained + sys::POLLED_WRITE as u64);
                self.drain(state, next, Patience::Stalled(left))
            };
        }
        Ok(state.tell_failure()?)
    }

    /// Forgets a failure: what is written from now on is written again.
    pub(crate) fn clear_error(&self) {
        let mut state = self.lock_state();
        if state.failure.is_some() {
            self.give_up(&mut state);
            state.failure = None;
        }
    }

    pub(crate) fn set_gap_marker(&self, marker: GapMarker) {
        let before = mem::replace(&mut self.lock_state().gap_marker, marker);
        // With the state unlocked, for it may hold what is the user's.
        drop(before);
    }

    pub(crate) fn set_on_broken_pipe(&self, on_broken_pipe: OnBrokenPipe) {
        self.lock_state().on_broken_pipe = on_broken_pipe;
    }

    /// Drains and lets go of the descriptor: nothing is written to it after this.
    pub(crate) fn close(&self) -> io::Result<()> {
        let result = self.flush();
        let mut state = self.lock_state();
        state.closed_for_good = true;
        // A drain that is about to write must not find somebody else's file there.
        while state.drainer != 0 && state.drainer != thread_id() {
            state = self.wait(state, None);
        }
        state.helper.stop = true;
        state.spill.stop = true;
        self.spilled.tell_all();
        self.flow.close();
        self.wake.tell_all();
        result
    }

    /// In the child of a fork: what the parent had pending is the parent's to write.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&self, state: &mut State) {
        let end = self.offset(state);
        state.forget_closed();
        if let Some(relief) = state.relief {
            relief.forget_after_fork(state);
        }
        state.tail.drained = end;
        state.looked = end;
        state.drained = self.accepted(state);
        state.drainer = 0;
        state.joined = 0;
        state.waiters = 0;
        state.marking = false;
        state.given_up_at = None;
        state.helper.reset_after_fork();
        self.flow.reset_after_fork();
        self.lock.reset_after_fork(thread_id());
        #[cfg(feature = "tokio")]
        self.tasks.reset_after_fork();
        super::hot::forget_slot();
    }
}

/// What a helper thread holds on to.
pub(crate) struct EngineRef(*const Engine);

// SAFETY: it is a shared reference to a stream, which may be used by any thread.
unsafe impl Send for EngineRef {}

impl EngineRef {
    fn shared(engine: Arc<Engine>) -> Self {
        EngineRef(Arc::into_raw(engine))
    }
}

impl std::ops::Deref for EngineRef {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        // SAFETY: it lives for ever, or is counted as used by this.
        unsafe { &*self.0 }
    }
}

impl Drop for EngineRef {
    fn drop(&mut self) {
        if let Some(counted) = &self.counted {
            // SAFETY: the count is this one's, and it is not used again.
            unsafe { (counted.let_go)(self.0) };
        }
    }
}
