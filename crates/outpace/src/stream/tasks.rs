//! Tasks that wait for a stream, for the feature `tokio`.
#![allow(unsafe_code)]

use super::cursor::Answer;
use super::engine::Engine;
use super::hot::in_place;
use super::patience::Patience;
use super::state::Mode;
use super::wakers::add;
use crate::sync::lock::{Entrance, Entry};
use crate::sync::thread::thread_id;
use crate::text::copy;
use std::io;
use std::mem;
use std::task::{Poll, Waker};

/// The outcome of a task's attempt to write.
pub(crate) enum Attempt {
    Written(usize),
    /// The queue is full. The task is woken when it may have room.
    Full,
    /// Another thread has the guard.
    Refused,
    Failed,
}

impl Engine {
    /// Appends a message if that needs no waiting.
    pub(crate) fn write_in_task(&self, bytes: &[u8], waker: &Waker) -> Attempt {
        let me = thread_id();
        let entrance = self.lock.enter_by_bias(me);
        let entry = match entrance {
            Entrance::Entered(_) => Some(Entry::Outermost),
            Entrance::Lost => {
                self.lock.withdraw(me);
                self.lock.try_enter(me)
            }
            Entrance::None => self.lock.try_enter(me),
        };
        let Some(entry) = entry else {
            return Attempt::Refused;
        };
        let attempt = self.append_in_task(entry, bytes, waker);
        self.lock.leave(me);
        attempt
    }

    /// The same, with the guard held.
    fn append_in_task(&self, entry: Entry, bytes: &[u8], waker: &Waker) -> Attempt {
        // SAFETY: called with the room that the bytes need.
        let put = |space: *mut u8| unsafe {
            copy::copy(bytes, space);
            space.add(bytes.len())
        };
        // SAFETY: as above; the guard is held by an entry of this kind.
        if let Some(answer) = unsafe { in_place(self, entry, bytes.len(), put) } {
            return Self::attempt(answer, bytes.len());
        }
        let Some(now) = self.room_in_task(entry, bytes.len(), waker) else {
            return Attempt::Full;
        };
        Self::attempt(self.append_by(entry, &bytes[..now]), now)
    }

    fn attempt(answer: Answer, length: usize) -> Attempt {
        if answer.failed {
            Attempt::Failed
        } else {
            Attempt::Written(length)
        }
    }

    /// How many of the `bytes` bytes can be appended without waiting. `None`: the task has to wait, and is woken when
    /// the queue may have room. Called by the guard's holder.
    fn room_in_task(&self, entry: Entry, bytes: usize, waker: &Waker) -> Option<usize> {
        let mut registered = false;
        loop {
            let mut state = self.lock_state();
            if entry == Entry::Outermost {
                state = self.apply_policy(state);
            }
            let waits = state.mode == Mode::Background && !state.drops() && state.failure.is_none();
            if !waits {
                return Some(bytes);
            }
            let now = bytes.min((state.capacity / 2).max(1));
            if self.pending(&state) + now > state.capacity {
                // Makes room if the stream spills.
                self.spill(&mut state);
            }
            if self.pending(&state) + now <= state.capacity {
                return Some(now);
            }
            if registered {
                state.tasks_wait = true;
                // Drains even a few pending bytes, to make room.
                self.wake_helper(&mut state);
                return None;
            }
            drop(state);
            self.register(waker);
            registered = true;
        }
    }

    /// Registers the task, to be woken at the next progress once `tasks_wait` is set.
    fn register(&self, waker: &Waker) {
        let waker = waker.clone();
        drop(self.tasks.with(|waiting| add(&mut waiting.progress, waker)));
    }

    /// Has a thread wait for the guard and wake the task; returns false if no thread can be started.
    pub(crate) fn wake_when_free(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let (awaited, twice) = self.tasks.with(|waiting| {
            let twice = add(&mut waiting.guard, waker);
            (mem::replace(&mut waiting.guard_is_awaited, true), twice)
        });
        drop(twice);
        if awaited {
            return true;
        }
        let thread = self.spawn(c"outpace-guard", |engine| {
            let me = thread_id();
            engine.lock.enter(me);
            engine.lock.leave(me);
            engine.guard_was_free();
        });
        if thread.is_err() {
            self.guard_was_free();
        }
        thread.is_ok()
    }

    fn guard_was_free(&self) {
        let tasks = self.tasks.with(|waiting| {
            waiting.guard_is_awaited = false;
            mem::take(&mut waiting.guard)
        });
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Ready once the kernel has all bytes up to the offset, which the first call sets.
    pub(crate) fn flush_in_task(
        &self,
        until: &mut Option<u64>,
        waker: &Waker,
    ) -> Poll<io::Result<()>> {
        let mut registered = false;
        loop {
            let mut state = self.lock_state();
            let all = self.accepted(&state);
            let until = *until.get_or_insert(all);
            // Dropped messages are not waited for.
            if state.drained >= until.min(all) || state.failure.is_some() {
                return Poll::Ready(state.report_failure().map_err(io::Error::from));
            }
            if registered {
                state.tasks_wait = true;
                if state.mode.has_helper() && self.wake_helper(&mut state) {
                    state.hurry_helper();
                    return Poll::Pending;
                }
                break;
            }
            drop(state);
            self.register(waker);
            registered = true;
        }
        self.flush_by_thread()
    }

    /// Has a thread drain for the tasks, where otherwise only callers drain.
    fn flush_by_thread(&self) -> Poll<io::Result<()>> {
        let is_flushing = |now| {
            self.tasks
                .with(|waiting| mem::replace(&mut waiting.is_flushing, now))
        };
        if is_flushing(true) {
            return Poll::Pending;
        }
        let thread = self.spawn(c"outpace-flush", |engine| {
            // The tasks get the result from their next poll.
            engine.drain_all(Patience::Forever);
            engine.tasks.with(|waiting| waiting.is_flushing = false);
            // A task may have seen `is_flushing` after the drain.
            engine.tasks.notify_progress();
        });
        match thread {
            Ok(()) => Poll::Pending,
            Err(_) => {
                is_flushing(false);
                Poll::Ready(self.flush())
            }
        }
    }
}
