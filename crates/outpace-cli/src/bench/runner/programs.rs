//! Ordinary programs: the cost of a line is the time of a run that prints, less that of an empty run.

use std::time::Duration;

use super::child::{self, Stopped, Trial};
use super::{Entry, Measurement, Series, compared};
use crate::bench::destination::check::{Check, length};
use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::reader::Wanted;
use crate::bench::results::rows::Row;
use crate::fps::canvas::StandardStream;
use crate::platform::interrupts;
use crate::platform::procfs::IoCounters;

pub(super) struct Programs<'a> {
    series: Series<'a>,
}

/// The time that printing should take, to stand out from starting.
const LONG_ENOUGH: Duration = Duration::from_millis(100);
/// The same in a quick bench.
const BRIEFLY: Duration = Duration::from_millis(20);
/// The least and the most that a run prints.
const LINES: (u64, u64) = (1_000, 4_000_000);

/// The note with a run's write calls.
const WRITES: &str = "write_calls";

impl Measurement for Programs<'_> {
    fn series(&self) -> &Series<'_> {
        &self.series
    }

    /// As many lines for each as take long enough: a line costs 100x more in one language than in another.
    fn plan(&mut self, entries: &mut [Entry<'_>]) {
        let plan = &self.series.plan;
        let long_enough = if plan.brief { BRIEFLY } else { LONG_ENOUGH };
        for entry in entries {
            entry.messages = plan.messages.unwrap_or(LINES.0).max(1);
            if plan.messages.is_some() || !entry.competes() || plan.is_over_in(Duration::ZERO) {
                continue;
            }
            let empty = self.empty_run(entry);
            let Some(empty) = entry.note(empty) else {
                continue;
            };
            let start = Duration::from_nanos(empty.report.wall_ns);
            let wanted = long_enough.max(start);
            while !interrupts::came() {
                let trial = self.beyond(&empty, entry, entry.messages);
                let Some(trial) = entry.note(trial) else {
                    break;
                };
                let took = Duration::from_nanos(trial.report.wall_ns);
                if took >= wanted || entry.messages >= LINES.1 {
                    break;
                }
                entry.messages = more(entry.messages, took, wanted);
            }
        }
    }

    fn verify(&self, entry: &mut Entry<'_>) -> Result<(), Stopped> {
        let rung = entry.contestant.rung;
        let message = self.series.experiment.message_of(rung);
        let terminal = self.series.proof_to.is_terminal();
        let messages = LINES.0.min(entry.messages);
        let wanted = Wanted {
            check: Some(Check::new(message, messages, rung.order, terminal)),
            ..Wanted::default()
        };
        let trial = Self::process(entry, &self.series.proof, messages, wanted)?;
        compared(trial).map_err(Stopped::Failed)
    }

    fn once(&self, entries: &[Entry<'_>], index: usize) -> Result<Trial, Stopped> {
        let entry = &entries[index];
        let empty = self.empty_run(entry)?;
        self.beyond(&empty, entry, entry.messages)
    }

    fn end(&self, entry: &mut Entry<'_>) {
        if !entry.trials.is_empty() && entry.median(|trial| trial.report.wall_ns) == 0 {
            let reason = "printing takes less time than the start of the program varies by: end other programs, or use more --messages";
            entry.failed = Some(reason.to_owned());
        }
    }

    fn fill(&self, entry: &Entry<'_>, row: &mut Row) {
        let message = self.series.experiment.message_of(entry.contestant.rung);
        row.bytes = length(message, entry.messages);
        row.wall_ns = entry.spread(|trial| trial.report.wall_ns);
        row.caller_ns = row.wall_ns;
        row.cpu_ns = entry.spread(|trial| trial.report.cpu_ns);
        row.writes = entry.writes();
        row.samples = entry.walls();
    }
}

impl<'a> Programs<'a> {
    pub(super) fn new(series: Series<'a>) -> Self {
        Self { series }
    }

    /// Runs a whole process that prints `messages` lines.
    fn process(
        entry: &Entry<'_>,
        destination: &OpenDestination,
        messages: u64,
        wanted: Wanted,
    ) -> Result<Trial, Stopped> {
        let contestant = entry.contestant;
        let command = contestant.command(messages, Duration::ZERO);
        let mut command = command.map_err(Stopped::Failed)?;
        if let StandardStream::Stderr = contestant.rung.stream {
            command.env("STREAM", "stderr");
        }
        let sink = destination.sink(wanted)?;
        let before = write_calls();
        let stream = contestant.rung.stream;
        let mut trial = child::run_clocked_outside(&mut command, stream, sink)?;
        if let (Some(before), Some(after)) = (before, write_calls()) {
            let calls = after.saturating_sub(before);
            trial.report.notes.insert(WRITES.to_owned(), calls);
        }
        Ok(trial)
    }

    /// Runs a process that prints no line.
    fn empty_run(&self, entry: &Entry<'_>) -> Result<Trial, Stopped> {
        Self::process(entry, &self.series.destination, 0, Wanted::default())
    }

    /// Runs a process that prints `messages` lines, and takes the time of an empty run from its own.
    fn beyond(&self, empty: &Trial, entry: &Entry<'_>, messages: u64) -> Result<Trial, Stopped> {
        let destination = &self.series.destination;
        let mut all = Self::process(entry, destination, messages, Wanted::default())?;
        let report = &mut all.report;
        report.wall_ns = report.wall_ns.saturating_sub(empty.report.wall_ns);
        report.cpu_ns = report.cpu_ns.saturating_sub(empty.report.cpu_ns);
        report.caller_ns = report.wall_ns;
        let calls = report.notes.get(WRITES).copied();
        report.writes = calls.map(|calls| calls.saturating_sub(empty.noted(WRITES)));
        all.received.last_at = None;
        Ok(all)
    }
}

/// The number of lines to try next, after `messages` took too little time: as many as needed, and at least twice as many,
/// since the time of a start varies.
fn more(messages: u64, took: Duration, wanted: Duration) -> u64 {
    let factor = wanted.as_secs_f64() * 1.2 / took.as_secs_f64().max(1e-9);
    let factor = factor.clamp(2.0, 16.0);
    ((messages as f64 * factor) as u64).min(LINES.1)
}

/// The write calls of the children that have been waited for, and of this program.
fn write_calls() -> Option<u64> {
    Some(IoCounters::of("self").ok()?.write_calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_lines_as_take_long_enough_are_found_in_few_steps() {
        let nanoseconds = Duration::from_nanos;
        for cost in [20, 400, 10_000] {
            let (mut messages, mut steps) = (LINES.0, 1);
            while nanoseconds(messages * cost) < BRIEFLY && messages < LINES.1 {
                messages = more(messages, nanoseconds(messages * cost), BRIEFLY);
                steps += 1;
            }
            assert!(steps <= 4, "{cost} ns a line: {steps} steps");
            // The empty run took longer than the one that printed: no cost is known.
            assert_eq!(more(1_000, Duration::ZERO, BRIEFLY), 16_000);
            assert!(messages * cost < 2 * BRIEFLY.as_nanos() as u64);
        }
        assert_eq!(more(LINES.1, nanoseconds(1), BRIEFLY), LINES.1);
    }
}
