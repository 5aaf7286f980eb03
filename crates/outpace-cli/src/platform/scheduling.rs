//! How a thread of this process and the user's program share a processor.
#![allow(unsafe_code)]

use libc::sched_attr;
use std::time::Duration;

/// What happens to the running thread when this one is woken. The share of the processors is the same with
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manners {
    /// As usual.
    Usual,
    /// It goes on (`SCHED_BATCH`, sched(7)).
    WaitTurn,
    /// It is interrupted, since we have little to do: slices of [`SHORT`] (Linux 6.12, `sched_runtime` in
    /// sched_setattr(2); before that, as usual).
    ComeFirst,
}

/// The shortest slice that there is.
const SHORT: Duration = Duration::from_micros(100);

/// The manners of the thread that made this. A thread that was started with another policy than the normal one keeps
/// it, and so does one in a sandbox that refuses changes.
#[derive(Debug)]
pub(crate) struct Scheduling {
    /// As they were, if they may be changed.
    usual: Option<sched_attr>,
    now: Manners,
}

impl Scheduling {
    /// The manners of the calling thread.
    pub(crate) fn current() -> Self {
        let mut usual = sched_attr {
            size: 0,
            sched_policy: 0,
            sched_flags: 0,
            sched_nice: 0,
            sched_priority: 0,
            sched_runtime: 0,
            sched_deadline: 0,
            sched_period: 0,
        };
        let size = size_of::<sched_attr>();
        // SAFETY: the kernel fills in at most `size` bytes of the struct, of which any are valid; 0 is the
        // calling thread.
        let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut usual, size, 0) };
        let is_normal = result == 0 && usual.sched_policy == libc::SCHED_OTHER as u32;
        Self {
            usual: is_normal.then_some(usual),
            now: Manners::Usual,
        }
    }

    /// Changes the manners, of the calling thread: the one that these are of.
    pub(crate) fn change(&mut self, manners: Manners) {
        let Some(mut attributes) = self.usual.filter(|_| self.now != manners) else {
            return;
        };
        match manners {
            Manners::Usual => {}
            Manners::WaitTurn => attributes.sched_policy = libc::SCHED_BATCH as u32,
            Manners::ComeFirst => attributes.sched_runtime = SHORT.as_nanos() as u64,
        }
        // SAFETY: the kernel reads the struct, which says how large it is; 0 is the calling thread.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
        if result == 0 {
            self.now = manners;
        } else {
            self.usual = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manners_can_be_changed_and_changed_back() {
        let mut scheduling = Scheduling::current();
        let Some(usual) = scheduling.usual else {
            eprintln!("skipped: the tests have another policy than the normal one");
            return;
        };
        for (manners, policy) in [
            (Manners::WaitTurn, libc::SCHED_BATCH),
            (Manners::ComeFirst, libc::SCHED_OTHER),
            (Manners::Usual, libc::SCHED_OTHER),
        ] {
            scheduling.change(manners);
            // SAFETY: a call without pointers.
            assert_eq!(unsafe { libc::sched_getscheduler(0) }, policy);
            assert_eq!(scheduling.now, manners);
        }
        let after = Scheduling::current().usual.unwrap();
        assert_eq!(after.sched_nice, usual.sched_nice);
        assert_eq!(after.sched_runtime, usual.sched_runtime);
    }
}
