//! A stream's state, locked for a moment.
//!
//! A thread that has it locked may be preempted while others wait. So slow work is deferred until the state is
//! unlocked: waking a thread, which is a system call and may hand the processor over to that thread, and freeing
//! memory, which may be one.
#![allow(unsafe_code)]

use super::engine::Engine;
use super::parts::Deferred;
use super::patience::Patience;
use super::registry::standard_streams;
use super::settings::report;
use super::state::State;
use crate::sync::mutex::Condition;
use crate::sync::thread::work;
use crate::sys::{self, Moment};
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

impl Deferred {
    /// Called with the state unlocked.
    #[cold]
    extern "C" fn run(self, engine: &Engine) {
        self.notify(engine);
        #[cfg(feature = "tokio")]
        if self.tasks {
            engine.tasks.notify_progress();
        }
        for message in &self.reports {
            report(format_args!("{message}"));
        }
    }

    fn notify(&self, engine: &Engine) {
        if self.progress {
            engine.progress.notify_all();
        }
        if self.helper {
            engine.wake.notify_one();
        }
        if self.spiller {
            engine.spilled.notify_one();
        }
    }
}

/// The right to the state of the stream, which this thread has locked.
pub(crate) struct StateGuard<'a> {
    engine: &'a Engine,
    not_send: PhantomData<*mut State>,
}

impl Deref for StateGuard<'_> {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        // SAFETY: this thread has the state locked for as long as it has a guard.
        unsafe { &*self.engine.state.value() }
    }
}

impl DerefMut for StateGuard<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State {
        // SAFETY: the same.
        unsafe { &mut *self.engine.state.value() }
    }
}

impl Drop for StateGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.unlock();
    }
}

/// The same in a signal handler, which must neither free memory nor print: unlocking only wakes threads. The next
/// unlocking elsewhere does the rest.
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) struct StateGuardInHandler<'a>(mem::ManuallyDrop<StateGuard<'a>>);

#[cfg(all(unix, not(outpace_portable)))]
impl Deref for StateGuardInHandler<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

#[cfg(all(unix, not(outpace_portable)))]
impl DerefMut for StateGuardInHandler<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0
    }
}

#[cfg(all(unix, not(outpace_portable)))]
impl Drop for StateGuardInHandler<'_> {
    fn drop(&mut self) {
        let wakes = self.deferred.take_wakes();
        let engine = self.0.engine;
        engine.state.unlock();
        work::end();
        wakes.notify(engine);
    }
}

impl<'a> StateGuard<'a> {
    #[inline(never)]
    extern "C" fn unlock(&mut self) {
        self.assert_consistent();
        if self.deferred.is_empty() {
            self.engine.state.unlock();
            work::end();
        } else {
            let deferred = mem::replace(&mut self.deferred, Deferred::EMPTY);
            self.engine.state.unlock();
            work::end();
            deferred.run(self.engine);
        }
        if work::take_owed() {
            drain_owed();
        }
    }

    #[inline(always)]
    fn assert_consistent(&self) {
        #[cfg(debug_assertions)]
        State::assert_consistent(self, self.engine.offset(self));
    }

    /// Unlocks the state to do deferred work, and locks it again.
    pub(crate) fn catch_up(self) -> Self {
        if self.deferred.is_empty() {
            return self;
        }
        let engine = self.engine;
        drop(self);
        engine.lock_state()
    }

    /// Waits for the condition, or for `limit`; may return early.
    #[inline(never)]
    pub(crate) extern "C" fn wait_for(
        mut self,
        condition: &Condition,
        limit: Option<Duration>,
    ) -> Self {
        if self.deferred.wakes_tasks() {
            return self.catch_up();
        }
        self.assert_consistent();
        // Other work stays deferred.
        self.deferred.take_wakes().notify(self.engine);
        work::end();
        condition.wait(&self.engine.state, limit);
        work::begin();
        self
    }
}

/// Drains the messages that an allocator printed in the middle of a stream's work.
#[cold]
fn drain_owed() {
    for engine in standard_streams() {
        engine.drain_all(Patience::None);
    }
}

impl Engine {
    /// Locks the state.
    #[inline(never)]
    pub(crate) extern "C" fn lock_state(&self) -> StateGuard<'_> {
        self.state.lock();
        work::begin();
        // SAFETY: just locked.
        unsafe { self.locked_state() }
    }

    /// The same, for a thread that must not make others wait. It yields first, because a system call may have used up
    /// its time slice: so it locks at the beginning of a slice, and is not preempted with the state locked.
    pub(crate) fn lock_state_politely(&self) -> StateGuard<'_> {
        std::thread::yield_now();
        self.lock_state()
    }

    /// Locks the state, unless a thread has it locked.
    pub(crate) fn try_lock_state(&self) -> Option<StateGuard<'_>> {
        if !self.state.try_lock() {
            return None;
        }
        work::begin();
        // SAFETY: just locked.
        Some(unsafe { self.locked_state() })
    }

    /// The same, in a signal handler.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn try_lock_state_in_handler(&self) -> Option<StateGuardInHandler<'_>> {
        let state = self.try_lock_state()?;
        Some(StateGuardInHandler(mem::ManuallyDrop::new(state)))
    }

    /// Locks the state, unless that takes longer than `limit`.
    pub(crate) fn lock_state_within(&self, limit: Duration) -> Option<StateGuard<'_>> {
        let begun = Moment::now();
        loop {
            let state = self.try_lock_state();
            if state.is_some() || begun.elapsed() > limit {
                return state;
            }
            sys::pause();
        }
    }

    /// A guard for a thread that has the state locked.
    ///
    /// # Safety
    ///
    /// The thread has it locked, and has no other guard of it.
    pub(crate) unsafe fn locked_state(&self) -> StateGuard<'_> {
        StateGuard {
            engine: self,
            not_send: PhantomData,
        }
    }
}

#[cfg(all(test, unix, not(outpace_portable)))]
mod tests {
    use super::*;
    use crate::stream::buffer::Buffer;
    use crate::stream::state::Role;
    use crate::sys::Output;
    use std::os::fd::AsFd;

    #[test]
    fn a_signal_handler_frees_no_memory() {
        let null = std::fs::File::options()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let output = Output::new(null.as_fd()).unwrap();
        let engine = Engine::new(Role::Other, output, None);
        let buffer = Buffer::with_room(4096, 4096);
        let freed = buffer.alias();
        let mut state = engine.lock_state();
        state.deferred.free(buffer);
        // As while a thread waits: the buffer stays deferred.
        mem::forget(state);
        engine.state.unlock();
        work::end();
        engine.drain_in_handler(Duration::from_secs(60));
        assert!(!freed.is_alone());
        drop(engine.lock_state());
        assert!(freed.is_alone());
    }
}
