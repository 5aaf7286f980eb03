//! How a thread of ours and the program share a processor.
#![allow(unsafe_code)]

/// Whether the calling thread waits its turn when it is woken (`SCHED_BATCH`, sched(7)) or takes the processor from
/// whoever has it. A thread that was started with another policy than the normal one keeps that.
#[derive(Debug)]
pub(crate) struct Manners {
    may_change: bool,
    waits_its_turn: bool,
}

impl Manners {
    /// Those of the calling thread.
    pub(crate) fn current() -> Self {
        // SAFETY: a call without pointers; 0 is the calling thread.
        let policy = unsafe { libc::sched_getscheduler(0) };
        Self {
            may_change: policy == libc::SCHED_OTHER,
            waits_its_turn: false,
        }
    }

    /// Changes them, for the calling thread: the one that they are of.
    pub(crate) fn wait_turn(&mut self, waits: bool) {
        if !self.may_change || self.waits_its_turn == waits {
            return;
        }
        let policy = match waits {
            true => libc::SCHED_BATCH,
            false => libc::SCHED_OTHER,
        };
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the parameters live for the call, which reads them; 0 is the calling thread. A sandbox may
        // refuse it, and then nothing has changed.
        self.may_change = unsafe { libc::sched_setscheduler(0, policy, &parameters) } == 0;
        self.waits_its_turn = waits;
    }
}
