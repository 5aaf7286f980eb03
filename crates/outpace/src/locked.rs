//! A stream's state, locked for a moment.
//!
//! Who has it locked may be preempted, and a thread of the program may be waiting for it. So what takes
//! longer than deciding is put off until the lock is open again: waking somebody, which is a system call that
//! may hand the processor over to who was woken, and giving memory back, which may be another.

use crate::buffer::Buffer;
use crate::engine::{Engine, State};
use crate::settings::report;
use crate::sync::{Condvar, MutexGuard};
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::TryLockError;
use std::time::{Duration, Instant};

/// What is to be done when the lock is open.
pub(crate) struct PutOff {
    /// Somebody waits for progress, and there is some.
    progress: bool,
    /// The helper is to look at the stream.
    helper: bool,
    /// So is the thread that spills.
    spiller: bool,
    garbage: Vec<Buffer>,
    /// What the user is to be told: standard error may be stuck.
    reports: Vec<String>,
}

impl PutOff {
    pub(crate) const NOTHING: PutOff = PutOff {
        progress: false,
        helper: false,
        spiller: false,
        garbage: Vec::new(),
        reports: Vec::new(),
    };

    pub(crate) fn tell_progress(&mut self) {
        self.progress = true;
    }

    pub(crate) fn wake_helper(&mut self) {
        self.helper = true;
    }

    pub(crate) fn wake_spiller(&mut self) {
        self.spiller = true;
    }

    pub(crate) fn free(&mut self, buffer: Buffer) {
        if buffer.capacity() > 0 {
            self.garbage.push(buffer);
        }
    }

    pub(crate) fn report(&mut self, message: String) {
        self.reports.push(message);
    }

    #[inline]
    fn is_nothing(&self) -> bool {
        let nobody = !(self.progress || self.helper || self.spiller);
        nobody && self.garbage.is_empty() && self.reports.is_empty()
    }

    #[inline]
    fn take(&mut self) -> Option<PutOff> {
        (!self.is_nothing()).then(|| mem::replace(self, PutOff::NOTHING))
    }

    /// With the lock open.
    #[cold]
    fn make_up(self, engine: &Engine) {
        self.notify(engine);
        self.reports.iter().for_each(|message| report(message));
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

pub(crate) struct Locked<'a> {
    engine: &'a Engine,
    /// Taken while waiting, and by the drop.
    state: Option<MutexGuard<'a, State>>,
}

impl Deref for Locked<'_> {
    type Target = State;

    #[inline]
    fn deref(&self) -> &State {
        self.state.as_ref().expect(LOCKED)
    }
}

impl DerefMut for Locked<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_mut().expect(LOCKED)
    }
}

const LOCKED: &str = "a state is taken out only to wait and to be unlocked";

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else {
            return;
        };
        if let Some(put_off) = state.put_off.take() {
            drop(state);
            put_off.make_up(self.engine);
        }
    }
}

impl<'a> Locked<'a> {
    /// Does what was put off, for which it opens the lock.
    pub(crate) fn catch_up(self) -> Self {
        if self.put_off.is_nothing() {
            return self;
        }
        let engine = self.engine;
        drop(self);
        engine.lock_state()
    }

    /// Waits to be notified, or for so long; may return for no reason.
    pub(crate) fn wait_for(
        mut self,
        notified: impl FnOnce(&Engine) -> &Condvar,
        limit: Option<Duration>,
    ) -> Self {
        let mut state = self.state.take().expect(LOCKED);
        // The rest can wait for longer.
        state.put_off.notify(self.engine);
        (state.put_off.progress, state.put_off.helper) = (false, false);
        state.put_off.spiller = false;
        let condition = notified(self.engine);
        let state = match limit {
            None => condition
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
            Some(limit) => {
                condition
                    .wait_timeout(state, limit)
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .0
            }
        };
        self.state = Some(state);
        self
    }
}

impl Engine {
    /// The state, for a moment.
    pub(crate) fn lock_state(&self) -> Locked<'_> {
        // No user code runs under this lock, so a panic inside it is a bug of ours; the state is then
        // still the best there is to drain at exit.
        let state = self.state.lock();
        self.locked(state.unwrap_or_else(|poisoned| poisoned.into_inner()))
    }

    /// The same, for a thread for which nobody is to wait, after a system call that may have used up its share of
    /// the processor: it gives way first. It then has the lock at the beginning of a share, not at the end of one,
    /// where it would be preempted with the lock in its hands.
    pub(crate) fn lock_state_politely(&self) -> Locked<'_> {
        std::thread::yield_now();
        self.lock_state()
    }

    /// The state, if nobody has it locked.
    pub(crate) fn try_lock_state(&self) -> Option<Locked<'_>> {
        match self.state.try_lock() {
            Ok(state) => Some(self.locked(state)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.locked(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The state, if it can be had in that time.
    pub(crate) fn lock_state_within(&self, limit: Duration) -> Option<Locked<'_>> {
        let begun = Instant::now();
        loop {
            let state = self.try_lock_state();
            if state.is_some() || begun.elapsed() > limit {
                return state;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn locked<'a>(&'a self, state: MutexGuard<'a, State>) -> Locked<'a> {
        Locked {
            engine: self,
            state: Some(state),
        }
    }
}
