//! Programs that write: each clocks its own work, or is clocked as a process, or by the arrival of its bytes.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use super::arrivals::arrivals;
use super::child::{self, Stopped, Trial};
use super::{Entry, Measurement, Series, compared};
use crate::bench::destination::check::{Check, length};
use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::reader::Wanted;
use crate::bench::destination::{Destination, ReadPace};
use crate::bench::experiment::{Method, Origin, Timed, calls};
use crate::bench::results::rows::{
    ArrivalFigures, Latency, ProfilerSamples, Published, Row, RowKind, TerminalFigures,
    TimedFigures, WorkFigures,
};
use crate::bench::results::stats::{self, Spread};
use crate::platform::interrupts;
use crate::user::quantity::duration;

pub(super) struct Writing<'a> {
    series: Series<'a>,
    method: Method,
}

/// The frames of an animation that are compared.
const PROVED_FRAMES: u64 = 3;

/// The messages for a terminal that does not read: more than the buffers on the way hold.
const STALLED_MESSAGES: u64 = 100_000;

impl Measurement for Writing<'_> {
    fn series(&self) -> &Series<'_> {
        &self.series
    }

    fn plan(&mut self, entries: &mut [Entry<'_>]) {
        let messages = self.suitable_messages(entries);
        entries
            .iter_mut()
            .for_each(|entry| entry.messages = messages);
    }

    /// Compares a contestant's bytes with the expected ones, at as many messages as will be timed.
    /// One that is published as broken has to be: it is run once, and its failure is its result.
    fn verify(&self, entry: &mut Entry<'_>) -> Result<(), Stopped> {
        let rung = entry.contestant.rung;
        let (messages, check) = match self.method {
            Method::Timed(timed) => {
                let expected = (timed.expected)(self.series.plan.size, PROVED_FRAMES)?;
                (PROVED_FRAMES, Check::of(expected))
            }
            _ => {
                let messages = if self.is_process() { 1 } else { entry.messages };
                let message = self.series.experiment.message_of(rung);
                let terminal = self.series.proof_to.is_terminal();
                let check = Check::new(message, messages, rung.order, terminal);
                (messages, check)
            }
        };
        let wanted = Wanted {
            check: Some(check),
            ..Wanted::default()
        };
        let result = match self.run(entry, &self.series.proof, messages, wanted) {
            Err(Stopped::Interrupted) => return Err(Stopped::Interrupted),
            Err(Stopped::Failed(reason)) => Err(reason),
            Ok(trial) => compared(trial),
        };
        match (result, rung.fails) {
            (Ok(()), None) => {}
            (Err(reason), None) => entry.failed = Some(reason),
            (Err(reason), Some(_)) => entry.fails_as_published = Some(reason),
            (Ok(()), Some(why)) => {
                entry.failed = Some(format!("published as broken ({why}), but it works here"));
            }
        }
        Ok(())
    }

    fn once(&self, entries: &[Entry<'_>], index: usize) -> Result<Trial, Stopped> {
        let entry = &entries[index];
        let wanted = Wanted {
            arrivals: matches!(self.method, Method::Arrival(_)),
            ..Wanted::default()
        };
        self.run(entry, &self.series.destination, entry.messages, wanted)
    }

    fn fill(&self, entry: &Entry<'_>, row: &mut Row) {
        let Series { experiment, to, .. } = &self.series;
        row.bytes = self.bytes(entry);
        row.writes = entry.writes();
        row.published = match entry.contestant.rung.origin {
            Origin::Published(Some(seconds)) if experiment.published_to.contains(&to.kind()) => {
                Some(Published {
                    seconds,
                    messages: experiment.messages,
                })
            }
            _ => None,
        };
        match self.method {
            Method::Timed(timed) => return Self::fill_timed(entry, timed, row),
            Method::Arrival(texts) => {
                row.kind = RowKind::Arrivals(ArrivalFigures {
                    arrivals: arrivals(texts, to.is_terminal(), &entry.trials),
                });
                return;
            }
            _ => {}
        }
        let spread = |value: fn(&Trial) -> u64| {
            let delayed = |trial: &Trial| (value(trial), trial.report.delay_ns);
            Spread::with_delays(&entry.trials.iter().map(delayed).collect::<Vec<_>>())
        };
        row.wall_ns = spread(|trial| trial.report.wall_ns);
        row.caller_ns = spread(|trial| trial.report.caller_ns);
        // Processor time does not include the wait for a processor.
        row.cpu_ns = entry.spread(|trial| trial.report.cpu_ns);
        row.delivered_ns = Spread::of(entry.trials.iter().filter_map(Trial::delivered_ns));
        if let Method::Terminal = self.method {
            return Self::fill_terminal(entry, row);
        }
        row.samples = entry.walls();
        row.kind = RowKind::Work(WorkFigures {
            torn_per_1000: Self::torn(entry),
            call_ns: Self::calls(entry),
        });
    }

    fn rates(&self, entry: &Entry<'_>) -> Vec<f64> {
        if let Method::Arrival(_) = self.method {
            return Vec::new();
        }
        if let Method::Terminal = self.method {
            // Rungs write messages of different lengths.
            let bytes = self.bytes(entry).max(1) as f64;
            let time = |trial: &Trial| trial.delivered_or_written_ns() as f64 / bytes;
            return entry.trials.iter().map(time).collect();
        }
        let time =
            |trial: &Trial| trial.report.wall_ns as f64 / self.messages(entry, trial).max(1) as f64;
        entry.trials.iter().map(time).collect()
    }

    fn warnings(&self, entries: &[Entry<'_>]) -> Vec<String> {
        let Series { experiment, to, .. } = &self.series;
        let runs: usize = entries.iter().map(|entry| entry.trials.len()).sum();
        let disturbed: Vec<(usize, &str)> = entries
            .iter()
            .map(|entry| {
                (
                    stats::outliers(&entry.walls()),
                    entry.contestant.name.as_str(),
                )
            })
            .filter(|&(outliers, _)| outliers > 0)
            .collect();
        let outliers: usize = disturbed.iter().map(|(outliers, _)| outliers).sum();
        // The median tolerates a few.
        if outliers * 10 <= runs {
            return Vec::new();
        }
        let names: Vec<&str> = disturbed.iter().map(|&(_, name)| name).take(4).collect();
        vec![format!(
            "{} to {to}: {outliers} of {runs} runs took much longer than the others of their rung \
             ({}); end other programs, or use more --runs",
            experiment.name,
            names.join(", ")
        )]
    }
}

impl<'a> Writing<'a> {
    pub(super) fn new(series: Series<'a>, method: Method) -> Self {
        Self { series, method }
    }

    fn is_process(&self) -> bool {
        matches!(self.method, Method::Process)
    }

    /// One run.
    fn run(
        &self,
        entry: &Entry<'_>,
        destination: &OpenDestination,
        messages: u64,
        wanted: Wanted,
    ) -> Result<Trial, Stopped> {
        let pause = match self.method {
            Method::Arrival(_) => self.series.plan.pause,
            // Verified by the number of messages, not by the time.
            Method::Timed(_) if wanted.check.is_none() => self.series.plan.time,
            _ => Duration::ZERO,
        };
        let wanted = Wanted {
            reports: matches!(self.method, Method::Terminal),
            ..wanted
        };
        let each = if self.is_process() { 1 } else { messages };
        let contestant = entry.contestant;
        let mut command = contestant.command(each, pause).map_err(Stopped::Failed)?;
        let sink = destination.sink(wanted)?;
        if !self.is_process() {
            let report = &self.series.report;
            let trial = child::run(&mut command, contestant.rung.stream, sink, report)?;
            return Ok(match self.method {
                Method::Work => by_calls(trial, messages),
                _ => trial,
            });
        }
        let mut sum = child::run_clocked_outside(&mut command, contestant.rung.stream, sink)?;
        for _ in 1..messages {
            let sink = destination.sink(Wanted::default())?;
            let next = child::run_clocked_outside(&mut command, contestant.rung.stream, sink)?;
            sum.report.wall_ns += next.report.wall_ns;
            sum.report.caller_ns += next.report.caller_ns;
            sum.report.cpu_ns += next.report.cpu_ns;
            sum.received.last_at = None;
        }
        Ok(sum)
    }

    /// The number of messages that fills the series' time, the same for every contestant. Found by a few short runs of
    /// increasing length.
    fn suitable_messages(&self, entries: &mut [Entry<'_>]) -> u64 {
        let plan = &self.series.plan;
        if plan.until.is_some() && !self.series.destination.tells_when_read() {
            // The terminal may need minutes to read what its buffers take immediately.
            let reason = "it does not answer, so that it is not known when it has read everything";
            for entry in entries {
                entry.skipped.get_or_insert_with(|| reason.to_owned());
            }
            return 1;
        }
        let published = self.series.experiment.messages;
        let most = match (self.method, self.series.to) {
            (Method::Arrival(_), _) => return 1,
            (Method::Timed(_), _) => return plan.messages.unwrap_or(published),
            (Method::Process, _) => 20,
            // Every run waits for the end of the stall.
            (_, Destination::Pty(ReadPace::Stalled)) => {
                return plan.messages.unwrap_or(STALLED_MESSAGES);
            }
            _ => published,
        };
        if let Some(messages) = plan.messages {
            return messages.max(1);
        }
        let rounds = (plan.warmup + plan.runs + 1) as f64;
        let round = plan.budget.as_secs_f64() / rounds;
        // The time of starting the processes.
        let overhead = self.short_round(entries, 1);
        if self.is_process() {
            return rounded(round / overhead.max(1e-6)).clamp(1, most);
        }
        let round = (round - overhead).max(round / 4.0);
        let first = if plan.until.is_some() { 200 } else { 1_000 };
        let least = least_messages(self.series.to).min(most);
        messages_within(round, least..=most, first, |messages| {
            let took = (self.short_round(entries, messages) - overhead).max(1e-6);
            let is_too_slow = self.is_too_slow(entries, took / messages as f64);
            (!is_too_slow).then_some(took)
        })
    }

    /// Skips all contestants if two rounds of the least useful number of messages would not end in time.
    fn is_too_slow(&self, entries: &mut [Entry<'_>], seconds_a_message: f64) -> bool {
        const ROUNDS: f64 = 2.0;
        let least = least_messages(self.series.to) as f64;
        let needed = Duration::from_secs_f64(seconds_a_message * least * ROUNDS);
        // At other destinations most of this time goes into starting processes.
        if *self.series.to != Destination::Tty || !self.series.plan.is_over_in(needed) {
            return false;
        }
        let each = seconds_a_message * 1e9 / entries.len().max(1) as f64;
        let reason = format!(
            "it reads a {} in {}, whatever prints it: too slow to compare anything in this time",
            self.series.experiment.unit,
            duration(each)
        );
        for entry in entries {
            entry.skipped.get_or_insert_with(|| reason.clone());
        }
        true
    }

    /// The seconds that one run of every contestant takes.
    fn short_round(&self, entries: &mut [Entry<'_>], messages: u64) -> f64 {
        let started = Instant::now();
        for entry in entries.iter_mut() {
            let broken = entry.contestant.rung.fails.is_some();
            if !interrupts::came() && !broken && entry.competes() {
                let result = self.run(entry, &self.series.destination, messages, Wanted::default());
                entry.note(result);
            }
        }
        started.elapsed().as_secs_f64()
    }

    /// The messages of a run. Runs that last for a time have numbers of their own.
    fn messages(&self, entry: &Entry<'_>, trial: &Trial) -> u64 {
        match self.method {
            Method::Timed(_) => trial.noted("messages"),
            _ => entry.messages,
        }
    }

    /// How often, in a thousand messages, the reader saw one torn; `None` where it saw no reads.
    fn torn(entry: &Entry<'_>) -> Option<f64> {
        let sum = |count: fn(&Trial) -> u64| entry.trials.iter().map(count).sum::<u64>() as f64;
        let thousands = entry.messages as f64 * entry.trials.len() as f64 / 1_000.0;
        let seen = sum(|trial| trial.received.reads) > 0.0 && thousands > 0.0;
        seen.then(|| sum(|trial| trial.received.torn) / thousands)
    }

    /// Where each call was clocked: the medians of the runs, and the longest call of all.
    fn calls(entry: &Entry<'_>) -> Option<Latency> {
        let noted: Option<Vec<Latency>> = entry
            .trials
            .iter()
            .map(|trial| calls::noted(&trial.report))
            .collect();
        let noted = noted.filter(|noted| !noted.is_empty())?;
        let middle = |value: &dyn Fn(&Latency) -> u64| {
            stats::median(&noted.iter().map(value).collect::<Vec<_>>())
        };
        Some(Latency {
            median: middle(&|calls| calls.median),
            p99: middle(&|calls| calls.p99),
            p99_9: noted[0]
                .p99_9
                .map(|_| middle(&|calls| calls.p99_9.unwrap_or(calls.max))),
            max: noted.iter().map(|calls| calls.max).max()?,
            ..Latency::default()
        })
    }

    /// The bytes of one of its runs.
    fn bytes(&self, entry: &Entry<'_>) -> u64 {
        let message = self.series.experiment.message_of(entry.contestant.rung);
        match self.method {
            Method::Process => length(message, 1) * entry.messages,
            _ => length(message, entry.messages),
        }
    }

    /// The times of runs are until the terminal had worked through everything.
    fn fill_terminal(entry: &Entry<'_>, row: &mut Row) {
        let all = entry.trials.iter();
        row.samples = all.map(Trial::delivered_or_written_ns).collect();
        let (Some(wall), Some(done)) = (row.wall_ns, Spread::of(row.samples.iter().copied()))
        else {
            return;
        };
        let a_second = |ns: u64| row.bytes as f64 * 1e9 / ns.max(1) as f64;
        // The report with the middle median.
        let mut reports: Vec<_> = entry
            .trials
            .iter()
            .filter_map(|trial| calls::noted(&trial.report))
            .collect();
        reports.sort_unstable_by_key(|report| report.median);
        let report_ns = reports.get(reports.len() / 2).copied();
        row.kind = RowKind::Terminal(TerminalFigures {
            written_per_second: a_second(wall.median),
            consumed_per_second: report_ns.is_none().then(|| a_second(done.median)),
            report_ns,
        });
    }

    /// The times are of as many messages as the median run had.
    fn fill_timed(entry: &Entry<'_>, timed: &Timed, row: &mut Row) {
        row.messages = entry.median(|trial| trial.noted("messages"));
        let scaled = |value: &dyn Fn(&Trial) -> u64| -> Vec<u64> {
            let of_median = |trial: &Trial| {
                let own = trial.noted("messages").max(1);
                (value(trial) as f64 * row.messages as f64 / own as f64) as u64
            };
            entry.trials.iter().map(of_median).collect()
        };
        let noted = |name: &'static str| move |trial: &Trial| trial.noted(name);
        row.bytes = stats::median(&scaled(&noted("bytes")));
        row.samples = scaled(&|trial| trial.report.wall_ns);
        row.wall_ns = Spread::of(row.samples.iter().copied());
        row.caller_ns = row.wall_ns;
        row.cpu_ns = Spread::of(scaled(&|trial| trial.report.cpu_ns));
        let Some(write_ns) = Spread::of(scaled(&noted("write_ns"))) else {
            return;
        };
        row.writes = Some(stats::median(&scaled(&noted("write_calls"))));
        let mut published = timed.published.iter();
        row.kind = RowKind::Timed(TimedFigures {
            write_ns,
            profiler_samples: ProfilerSamples {
                measured: entry
                    .median(|trial| (timed.samples)(trial.report.cpu_ns, trial.report.wall_ns)),
                published: published
                    .find(|(name, _)| *name == entry.rung())
                    .map(|&(_, samples)| samples),
            },
        });
    }
}

/// If a rung clocks its calls one by one, the time of a message is their median, without the time between them.
fn by_calls(mut trial: Trial, messages: u64) -> Trial {
    if let Some(calls) = calls::noted(&trial.report) {
        let report = &mut trial.report;
        report.wall_ns = calls.median * messages;
        report.caller_ns = report.wall_ns;
        report.delay_ns = None;
        trial.received.last_at = None;
    }
    trial
}

/// Fewer would measure the first write and the start of a thread rather than messages.
fn least_messages(to: &Destination) -> u64 {
    match to {
        Destination::Pty(ReadPace::PerSecond(_)) => 1_000,
        to if to.is_terminal() => 5_000,
        _ => 50_000,
    }
}

/// The number of messages that takes `round` seconds, within bounds. Found by runs of increasing length, whose seconds
/// `took` returns; 1 if it returns `None`.
fn messages_within(
    round: f64,
    bounds: RangeInclusive<u64>,
    first: u64,
    mut took: impl FnMut(u64) -> Option<f64>,
) -> u64 {
    let (least, most) = (*bounds.start(), *bounds.end());
    let mut messages = most.min(first);
    loop {
        let Some(seconds) = took(messages) else {
            return 1;
        };
        if seconds >= round * 0.1 || messages == most || interrupts::came() {
            return rounded(messages as f64 * round / seconds).clamp(least, most);
        }
        let factor = (round * 0.2 / seconds).clamp(2.0, 16.0);
        messages = ((messages as f64 * factor) as u64).min(most);
    }
}

/// A number that reads well: two digits and zeros.
fn rounded(value: f64) -> u64 {
    let value = value.max(1.0) as u64;
    let scale = 10_u64.pow(value.ilog10().saturating_sub(1));
    value / scale * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_messages_are_found_as_fill_the_time() {
        // Nanoseconds a message, and the messages of a second.
        for (cost, expected) in [(2, 490_000_000), (300, 3_300_000), (50_000, 50_000)] {
            let mut runs = Vec::new();
            let found = messages_within(1.0, 50_000..=500_000_000, 1_000, |messages| {
                runs.push(messages);
                Some(messages as f64 * f64::from(cost) / 1e9)
            });
            assert!(
                found.abs_diff(expected) <= expected / 40,
                "{found} for {expected}"
            );
            assert!(runs.is_sorted() && runs.len() <= 6, "{runs:?}");
            // The runs themselves take a part of the time.
            assert!(runs.iter().sum::<u64>() < expected, "{runs:?}");
        }
    }

    #[test]
    fn the_number_of_messages_keeps_to_its_bounds() {
        let free = messages_within(1.0, 10..=2_000, 1_000, |_| Some(1e-6));
        assert_eq!(free, 2_000);
        let dear = messages_within(1.0, 10..=2_000, 1_000, |messages| Some(messages as f64));
        assert_eq!(dear, 10);
        let mut asked = 0;
        let refused = messages_within(1.0, 10..=2_000, 1_000, |_| {
            asked += 1;
            None
        });
        assert_eq!((refused, asked), (1, 1));
    }

    #[test]
    fn a_number_of_messages_has_two_digits_and_zeros() {
        assert_eq!(rounded(123_456.0), 120_000);
        assert_eq!((rounded(0.0), rounded(9.9), rounded(99.9)), (1, 9, 99));
    }
}
