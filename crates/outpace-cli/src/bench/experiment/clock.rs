//! The clocks and counters of a rung, read by the rung's own process around its work.
//!
//! The same protocol serves every language: the environment variable [`REPORT`] names a file, and
//! the rung writes one `name value` a line into it when its work is over, never into the measured
//! stream. Rungs in other languages do the same (`bench/rung.h` for C and C++).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use crate::platform::clock::{delay_ns, now_ns, process_ns};
use crate::platform::procfs::IoCounters;

/// The environment variable that names the file a rung reports to.
pub(crate) const REPORT: &str = "OUTPACE_RUNG_REPORT";

/// One reading of everything a rung measures about itself.
#[derive(Clone, Copy)]
struct Counters {
    monotonic_ns: u64,
    cpu_ns: u64,
    written: Option<IoCounters>,
    delay_ns: Option<u64>,
}

impl Counters {
    /// Reads the clocks last, right before the work.
    fn before() -> Self {
        let written = written();
        let delay_ns = thread_delay_ns();
        let cpu_ns = process_ns();
        Self {
            written,
            delay_ns,
            cpu_ns,
            monotonic_ns: now_ns(),
        }
    }

    /// Reads the clocks first, right after the work.
    fn after() -> Self {
        let monotonic_ns = now_ns();
        let cpu_ns = process_ns();
        Self {
            monotonic_ns,
            cpu_ns,
            written: written(),
            delay_ns: thread_delay_ns(),
        }
    }
}

/// The threads that did the work.
#[derive(Clone, Copy)]
enum WorkedIn {
    ThisOne,
    /// A thread that was started for it, with its delay; this one waited.
    AnotherOne(u64),
    Several,
}

/// The work of one rung: how much of it there is, and when its parts happened.
pub(crate) struct Span {
    /// How many messages to write.
    pub(crate) messages: u64,
    /// How long to wait between the steps of a rung that has them.
    pub(crate) pause: std::time::Duration,
    begun: Option<Counters>,
    ended: Option<Counters>,
    called_at: Option<u64>,
    threads: WorkedIn,
    steps: Vec<(&'static str, u64)>,
    notes: Vec<(&'static str, u64)>,
}

impl Span {
    pub(crate) fn new(messages: u64, pause: std::time::Duration) -> Self {
        Self {
            messages,
            pause,
            begun: None,
            ended: None,
            called_at: None,
            threads: WorkedIn::ThisOne,
            steps: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Called by a rung that has to prepare something first: its work up to here does not count.
    pub(crate) fn begin(&mut self) {
        self.begun = Some(Counters::before());
    }

    /// Called by a rung that has to clean up afterwards: its work from here on does not count.
    pub(crate) fn end(&mut self) {
        self.ended = Some(Counters::after());
    }

    /// Called by a rung when it has written its last message and only the final flush is left:
    /// the time until here is the program's own.
    #[inline]
    pub(crate) fn done_calling(&mut self) {
        self.called_at = Some(now_ns());
    }

    /// Called by a rung whose threads did its work, with the [`thread_delay_ns`] of each at its end. Several threads
    /// also wait for one another's processors: the share of other programs is then unknown, and the run has no delay.
    pub(crate) fn worked_in(&mut self, delays_ns: &[Option<u64>]) {
        self.threads = match delays_ns {
            &[Some(delay)] => WorkedIn::AnotherOne(delay),
            _ => WorkedIn::Several,
        };
    }

    /// Called by a rung before each of its steps.
    pub(crate) fn step(&mut self, name: &'static str) {
        self.steps.push((name, now_ns()));
    }

    /// Called by a rung to report a count of its own.
    pub(crate) fn note(&mut self, name: &'static str, value: u64) {
        self.notes.push((name, value));
    }

    /// Does a rung's work, and returns the report.
    pub(crate) fn clocked(
        mut self,
        work: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<String> {
        let started = Counters::before();
        work(&mut self)?;
        let after = self.ended.unwrap_or_else(Counters::after);
        let before = self.begun.unwrap_or(started);

        let mut report = String::new();
        let mut line = |name: &str, value: u64| {
            let _ = writeln!(report, "{name} {value}");
        };
        line("started_ns", before.monotonic_ns);
        let called_at = self.called_at.unwrap_or(after.monotonic_ns);
        // On a virtual machine that was moved or paused, times that the kernel keeps for each processor
        // have been seen to go back.
        let since = u64::saturating_sub;
        line("caller_ns", since(called_at, before.monotonic_ns));
        line("wall_ns", since(after.monotonic_ns, before.monotonic_ns));
        line("cpu_ns", since(after.cpu_ns, before.cpu_ns));
        if let (Some(before), Some(after)) = (before.written, after.written) {
            line("writes", since(after.write_calls, before.write_calls));
            line("written", since(after.bytes_written, before.bytes_written));
        }
        let others = match self.threads {
            WorkedIn::ThisOne => Some(0),
            WorkedIn::AnotherOne(delay) => Some(delay),
            WorkedIn::Several => None,
        };
        if let (Some(before), Some(after), Some(others)) = (before.delay_ns, after.delay_ns, others)
        {
            line("delay_ns", since(after, before) + others);
        }
        for (name, at) in self.steps {
            let _ = writeln!(report, "step {at} {name}");
        }
        for (name, value) in self.notes {
            let _ = writeln!(report, "note {value} {name}");
        }
        Ok(report)
    }
}

/// A rung's report about one run of its work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RungReport {
    /// When the work began, by the monotonic clock.
    pub(crate) started_ns: u64,
    /// Until the last message was written, without the final flush.
    pub(crate) caller_ns: u64,
    /// To the end of the final flush.
    pub(crate) wall_ns: u64,
    /// Processor time of the whole process over the same span.
    pub(crate) cpu_ns: u64,
    /// System calls that write, over the same span.
    pub(crate) writes: Option<u64>,
    /// The bytes that they wrote.
    pub(crate) written: Option<u64>,
    /// How long the working thread was ready to run without a processor; `None` of several threads.
    pub(crate) delay_ns: Option<u64>,
    /// Each step and when it began, by the monotonic clock.
    pub(crate) steps: Vec<(String, u64)>,
    /// The rung's own counts, by name.
    pub(crate) notes: BTreeMap<String, u64>,
}

impl RungReport {
    /// Reads a rung's report; the error names the line that is unreadable or missing.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut report = Self::default();
        let mut wall_ns = None;
        for line in text.lines() {
            let unreadable = || format!("its report has an unreadable line: {line:?}");
            let (name, rest) = line.trim().split_once(' ').ok_or_else(unreadable)?;
            let (value, what) = rest.split_once(' ').unwrap_or((rest, ""));
            let value = value.parse::<u64>().map_err(|_| unreadable())?;
            match (name, what) {
                ("started_ns", "") => report.started_ns = value,
                ("caller_ns", "") => report.caller_ns = value,
                ("wall_ns", "") => wall_ns = Some(value),
                ("cpu_ns", "") => report.cpu_ns = value,
                ("writes", "") => report.writes = Some(value),
                ("written", "") => report.written = Some(value),
                ("delay_ns", "") => report.delay_ns = Some(value),
                ("step", what) => report.steps.push((what.to_owned(), value)),
                ("note", what) => drop(report.notes.insert(what.to_owned(), value)),
                _ => return Err(unreadable()),
            }
        }
        report.wall_ns = wall_ns.ok_or("it reported no time")?;
        Ok(report)
    }
}

/// The bytes and calls of this process so far: all threads, all descriptors. `None` where the kernel does not count.
fn written() -> Option<IoCounters> {
    IoCounters::of("self").ok()
}

/// Time the calling thread has spent ready to run but waiting for a processor.
pub(crate) fn thread_delay_ns() -> Option<u64> {
    delay_ns("thread-self")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_reads_the_report_of_a_span() {
        let text = Span::new(3, std::time::Duration::ZERO)
            .clocked(|span| {
                span.step("a partial line");
                span.note("requests", 7);
                span.done_calling();
                Ok(())
            })
            .unwrap();
        let report = RungReport::parse(&text).unwrap();
        assert!(report.caller_ns <= report.wall_ns);
        assert_eq!(report.steps.len(), 1);
        assert_eq!(report.steps[0].0, "a partial line");
        assert_eq!(report.notes["requests"], 7);
    }

    #[test]
    fn preparing_and_cleaning_up_do_not_count() {
        let text = Span::new(1, std::time::Duration::ZERO)
            .clocked(|span| {
                span.note("begun", now_ns());
                span.begin();
                span.end();
                let ended = now_ns();
                span.note("ended", ended);
                while now_ns() == ended {}
                Ok(())
            })
            .unwrap();
        let report = RungReport::parse(&text).unwrap();
        assert!(report.started_ns >= report.notes["begun"]);
        assert!(report.started_ns + report.wall_ns <= report.notes["ended"]);
    }

    #[test]
    fn the_delay_is_that_of_the_thread_that_did_the_work_and_of_several_unknown() {
        let delay = |delays: &[Option<u64>]| {
            let text = Span::new(1, std::time::Duration::ZERO)
                .clocked(|span| {
                    span.worked_in(delays);
                    Ok(())
                })
                .unwrap();
            RungReport::parse(&text).unwrap().delay_ns
        };
        if thread_delay_ns().is_some() {
            assert!(delay(&[Some(1 << 40)]).is_some_and(|delay| delay >= 1 << 40));
        }
        assert_eq!(delay(&[Some(5), Some(7)]), None);
        assert_eq!(delay(&[None]), None);
    }

    #[test]
    fn a_report_without_a_time_is_an_error() {
        assert!(RungReport::parse("").unwrap_err().contains("no time"));
        assert!(
            RungReport::parse("wall_ns soon")
                .unwrap_err()
                .contains("wall_ns soon")
        );
    }
}
