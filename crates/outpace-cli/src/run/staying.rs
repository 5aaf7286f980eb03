//! The process that stays when the program has ended and processes that outlive it still have its pipe: it passes on their output, as
//! `outpace` did, until none has the pipe any more. So `outpace` ends with the program, and a script goes on.
#![allow(unsafe_code)]

use super::finish::{Finished, Relays};
use super::relay::Relay;
use crate::platform::{descriptors, signals};
use outpace::Buffering;
use rustix::fs::{Mode, OFlags};
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// All output of the program has been passed on. Leaves a process for that of others, if there may be more and none was skipped.
pub(super) fn stay(finished: &mut Finished, buffering: impl Fn() -> Buffering) {
    let Some(relays) = finished.relays() else {
        return;
    };
    let left = relays.take_left();
    // As process 1 no process of ours would outlive us either.
    if left.is_empty() || std::process::id() == 1 {
        return;
    }
    // Otherwise another thread could have it locked, for ever in the child.
    let display = relays.display();
    let held = display.hold();
    // SAFETY: `outpace`'s streams are safe to use in the child, as is the allocator of the C library. No other lock that the child needs
    // is held by another thread: the relays are done.
    let process = unsafe { libc::fork() };
    drop(held);
    if process > 0 {
        return;
    }
    if process == 0 {
        detach(relays, &left);
        for relay in &left {
            relay.outlet.set_buffering(buffering());
        }
    }
    // Without another process, this one stays.
    relays.pass_on_the_rest(left);
    if process == 0 {
        // SAFETY: no memory is involved. `exit` would run `outpace`'s own work at exit, which is the parent's.
        unsafe { libc::_exit(0) }
    }
}

/// Takes this process out of the job, and closes all that it does not need: other processes wait for the end of a pipe.
fn detach(relays: &Relays, left: &[Arc<Relay>]) {
    let _ = rustix::process::setsid();
    signals::unblock();
    let mut kept: Vec<i32> = left.iter().flat_map(|relay| relay.descriptors()).collect();
    kept.push(relays.done_event().as_raw_fd());
    descriptors::close_all_but(kept);
    if let Ok(nowhere) = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&nowhere);
        let _ = rustix::stdio::dup2_stdout(&nowhere);
        let _ = rustix::stdio::dup2_stderr(&nowhere);
    }
}
