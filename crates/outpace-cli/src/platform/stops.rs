//! A child that is stopped, by Ctrl-Z or by itself: this process stops, too, and goes on with it. Otherwise the shell, which sees this
//! process alone, would wait.

use super::{clock, ending, interrupts, signals, waker};

/// Stops this process as its child was stopped; returns for how long, and whether the child has to be continued.
pub(crate) fn stop_with(child: i32, signal: i32) -> (u64, bool) {
    let began_ns = clock::now_ns();
    let is_continued = interrupts::stop_with(child, signal);
    (clock::now_ns() - began_ns, is_continued)
}

/// Stops this process if its child was stopped, and as often; returns for how long.
pub(crate) fn follow(child: i32) -> u64 {
    let (mut stopped_ns, mut is_continued) = (0, false);
    loop {
        // Looked at before: of a child that was continued right after it had been stopped, wait(2) may tell nothing for a while.
        let is_waiting = is_continued && waker::may_be_stopped(child);
        let Some(signal) = ending::stop_of(child).ok().flatten() else {
            if is_waiting {
                signals::continue_job(child);
            }
            return stopped_ns;
        };
        let (now_ns, by_another) = stop_with(child, signal);
        (stopped_ns, is_continued) = (stopped_ns + now_ns, by_another);
    }
}
