//! The times of a rung's calls, with and without the scheduler's delay.

use std::fs::File;

use super::clock::{RungReport, Span};
use crate::bench::results::rows::Latency;
use crate::platform::clock::{delay_in, now_ns};
use crate::platform::histogram::Histogram;
use crate::platform::procfs::read_again;

/// The times of the calls of one thread.
pub(crate) struct CallTimes {
    times: Histogram<6>,
    /// The longest less the time the thread was ready to run and had no processor. It need not be the
    /// same call as the longest.
    longest_less_delay: u64,
    /// The longest time between two readings of the clock in [`CallTimes::watch`], less delay.
    machine: Option<u64>,
    /// `/proc/thread-self/schedstat`, where the kernel keeps it (proc(5)).
    schedstat: Option<File>,
}

impl CallTimes {
    pub(crate) fn new() -> Self {
        Self {
            times: Histogram::default(),
            longest_less_delay: 0,
            machine: None,
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    /// Clocks one call. Returns its time in nanoseconds, too.
    pub(crate) fn clock<T>(&mut self, call: impl FnOnce() -> T) -> (T, u64) {
        let delay_before = self.delay_ns();
        let begun = now_ns();
        let value = call();
        let took = now_ns().saturating_sub(begun);
        self.times.add(took);
        // Reading the delay costs a system call, and a shorter call cannot become the longest.
        if took > self.longest_less_delay {
            let delay = self.delay_ns().saturating_sub(delay_before);
            let less = took.saturating_sub(delay);
            self.longest_less_delay = self.longest_less_delay.max(less);
        }
        (value, took)
    }

    /// Only reads the clock, for `time_ns`. The longest gap between two readings is the machine's own: a hypervisor may
    /// take the processor away unseen, also during a call.
    pub(crate) fn watch(&mut self, time_ns: u64) {
        let delay_before = self.delay_ns();
        let begun = now_ns();
        let (mut last, mut longest) = (begun, 0);
        while last.saturating_sub(begun) < time_ns {
            let now = now_ns();
            longest = longest.max(now.saturating_sub(last));
            last = now;
        }
        let delay = self.delay_ns().saturating_sub(delay_before);
        let less = longest.saturating_sub(delay);
        self.machine = self.machine.max(Some(less));
    }

    /// Time this thread has waited for a processor so far.
    fn delay_ns(&self) -> u64 {
        let text = self.schedstat.as_ref().map(read_again);
        let text = text.and_then(Result::ok).unwrap_or_default();
        delay_in(&text).unwrap_or(0)
    }

    pub(crate) fn note(&self, span: &mut Span) {
        note_quantiles(span, &self.times);
        if self.schedstat.is_some() {
            span.note("call_max_less_delay_ns", self.longest_less_delay);
            if let Some(machine) = self.machine {
                span.note("machine_max_ns", machine);
            }
        }
    }
}

/// Notes how long calls took.
pub(crate) fn note_quantiles(span: &mut Span, times: &Histogram<6>) {
    span.note("call_median_ns", times.quantile(0.5));
    span.note("call_p99_ns", times.quantile(0.99));
    span.note("call_p99_9_ns", times.quantile(0.999));
    span.note("call_max_ns", times.max());
}

/// Reads the notes of [`note_quantiles`] and [`CallTimes::note`], if there are any.
pub(crate) fn noted(report: &RungReport) -> Option<Latency> {
    let notes = &report.notes;
    Some(Latency {
        median: *notes.get("call_median_ns")?,
        p99: *notes.get("call_p99_ns")?,
        p99_9: notes.get("call_p99_9_ns").copied(),
        max: *notes.get("call_max_ns")?,
        max_less_delay: notes.get("call_max_less_delay_ns").copied(),
        machine_max: notes.get("machine_max_ns").copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_counted_and_the_longest_is_kept() {
        let mut calls = CallTimes::new();
        for _ in 0..10 {
            calls.clock(|| ());
        }
        calls.clock(|| std::thread::sleep(std::time::Duration::from_millis(2)));
        assert_eq!(calls.times.count(), 11);
        assert!(calls.times.max() >= 2_000_000);
        assert!(calls.longest_less_delay <= calls.times.max());
    }

    #[test]
    fn the_clock_is_watched_for_as_long_as_asked() {
        let mut calls = CallTimes::new();
        assert_eq!(calls.machine, None);
        let begun = now_ns();
        calls.watch(100_000);
        assert!(now_ns() - begun >= 100_000);
        // Nothing is left of a gap in which this thread lacked a processor.
        while calls.machine == Some(0) {
            calls.watch(100_000);
        }
        let took = now_ns() - begun;
        assert!(calls.machine.is_some_and(|longest| longest <= took));
    }
}
