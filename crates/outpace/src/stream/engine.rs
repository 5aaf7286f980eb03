//! A stream as its users share it: the cursor, the guard's lock, the state, and what they wait with.
//!
//! The guard's holder appends messages to the *tail* buffer and publishes them through the [`cursor`](super::cursor). The
//! tail may have *closed* segments before it. A drain takes published bytes only, oldest first; one drain runs at a time,
//! and none needs the guard. Whatever is decided (rather than done on every message) is decided with the
//! [state](super::state) locked, which it never is across a system call that can wait.
//!
//! Lock order: guard, then state of stdout, then state of stderr, then the registry, then states of other streams.

use super::buffering::Buffering;
use super::cursor::SharedCursor;
use super::drain::Patience;
use super::exit;
use super::gap::GapMarker;
use super::overflow;
use super::registry::register;
use super::state::{BrokenPipe, Failure, State};
use crate::sync::lock::Lock;
use crate::sync::mutex::{Condition, Mutex};
use crate::sync::thread::{thread_id, work};
use crate::sys::{self, Output};
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
    pub(crate) cursor: SharedCursor,
    pub(crate) lock: Lock,
    pub(super) state: Mutex<State>,
    /// A drain has made progress, or ended.
    pub(super) progress: Condition,
    /// There is something for the helper to do.
    pub(super) wake: Condition,
    /// There is something for the thread that spills to do.
    pub(super) spilled: Condition,
    #[cfg(feature = "tokio")]
    pub(super) tasks: super::tasks::Tasks,
    pub(crate) output: Output,
    pub(crate) role: Role,
    /// Nothing for the standard streams, which live for ever.
    pub(super) this: Option<Weak<Engine>>,
}

pub(crate) static STDOUT: Engine = Engine::new(Role::Stdout, Output::STDOUT, None);
pub(crate) static STDERR: Engine = Engine::new(Role::Stderr, Output::STDERR, None);

impl Engine {
    pub(crate) const fn new(role: Role, output: Output, chosen: Option<Buffering>) -> Self {
        Engine {
            cursor: SharedCursor::new(),
            lock: Lock::new(),
            state: Mutex::new(State::new(role, chosen)),
            progress: Condition::new(),
            wake: Condition::new(),
            spilled: Condition::new(),
            #[cfg(feature = "tokio")]
            tasks: super::tasks::Tasks::new(),
            output,
            role,
            this: None,
        }
    }

    /// A stream of its own, known to the exit drain.
    pub(crate) fn shared(output: Output, buffering: Buffering) -> Arc<Self> {
        let engine = Arc::new_cyclic(|this: &Weak<Engine>| Engine {
            this: Some(this.clone()),
            ..Engine::new(Role::Other, output, Some(buffering))
        });
        overflow::link();
        exit::install();
        register(&engine);
        engine
    }

    /// Why the stream has failed, for a caller whose message it has not taken. Another thread may have cleared the
    /// error since then, which does not bring the message back.
    #[cold]
    pub(crate) fn error(&self) -> sys::Error {
        let mut state = self.lock_state();
        state.tell_failure().err().unwrap_or(state.last_error)
    }

    /// For a caller that cannot be told: ends the process, quietly, if its output has no reader any more
    /// and the stream wants that. Other errors are told by `flush`, or at exit.
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

    pub(crate) fn set_broken_pipe(&self, choice: BrokenPipe) {
        self.lock_state().on_broken_pipe = choice;
    }

    pub(crate) fn set_exit_timeout(&self, timeout: Duration) {
        self.lock_state().exit_timeout = timeout;
    }

    /// Drains and lets go of the descriptor: nothing is written to it after this.
    pub(crate) fn close(&self) -> io::Result<()> {
        let result = self.flush();
        let mut state = self.lock_state();
        state.closed_for_good = true;
        // A drain that is about to write must not find another file there.
        while state.drainer != 0 && state.drainer != thread_id() {
            state = self.wait(state, None);
        }
        self.cursor.close();
        self.dismiss_workers(&mut state);
        result
    }

    /// In the child of a fork: what the parent had pending is the parent's to write.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&self, state: &mut State) {
        let end = self.offset(state);
        state.forget_closed();
        self.forget_spill_after_fork(state);
        state.tail.drained = end;
        state.looked = end;
        state.drained = self.accepted(state);
        state.drainer = 0;
        state.joined = 0;
        state.waiters = 0;
        state.marking = false;
        state.given_up_at = None;
        state.helper.reset_after_fork();
        self.cursor.reset_after_fork();
        self.lock.reset_after_fork(thread_id());
        for condition in [&self.progress, &self.wake, &self.spilled] {
            condition.reset_after_fork();
        }
        #[cfg(feature = "tokio")]
        self.tasks.reset_after_fork();
        super::hot::forget_slot();
    }
}
