//! Measures a series: the contestants of one experiment at one destination. [`run`] verifies each contestant, then runs all
//! of them in rounds: so a disturbance of the machine reaches all alike. Four measurements define a run and its figures: of
//! programs that clock themselves, of programs clocked from outside, of servers under load, and of pictures.

mod arrivals;
mod child;
pub(crate) mod contestant;
mod drawing;
mod load;
mod programs;
mod serving;
mod shown;
pub(crate) mod timetable;
mod writing;

pub(crate) use child::ignore_settings;
pub(crate) use serving::{CONNECTIONS, runs_within};

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::size::Size;
use crate::bench::destination::{Destination, ReadPace};
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::base_name;
use crate::bench::results::rows::{Latency, Row, RowKind, ServerFigures};
use crate::bench::results::stats::{self, Ratio, Spread, median};
use crate::platform::{interrupts, scratch};
use child::{Stopped, Trial};
use contestant::Contestant;

/// The extent of a measurement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) warmup: usize,
    /// The time that one series should take; it decides the number of messages.
    pub(crate) budget: Duration,
    /// That number itself, when the user gives it.
    pub(crate) messages: Option<u64>,
    /// The numbers of connections from which a server is under load: a row each.
    pub(crate) connections: Vec<u16>,
    /// The pause between the steps of a program, in the experiment about when text appears.
    pub(crate) pause: Duration,
    /// The length of a run that works for a time.
    pub(crate) time: Duration,
    pub(crate) size: Size,
    /// Whether to be short rather than exact.
    pub(crate) brief: bool,
    /// The time to stop at, even if the destination is slow.
    pub(crate) until: Option<Instant>,
}

impl Plan {
    /// Whether the limit comes within `time` from now.
    fn is_over_in(&self, time: Duration) -> bool {
        self.until
            .is_some_and(|until| Instant::now() + time > until)
    }
}

/// The results of a series.
pub(crate) struct SeriesResult {
    pub(crate) rows: Vec<Row>,
    pub(crate) warnings: Vec<String>,
    /// Why the destination is not available on this machine.
    pub(crate) unavailable: Option<String>,
}

/// Runs a series of contestants that are measured alike. `progress` gets the current task and the share that is done.
pub(crate) fn run(
    experiment: &'static Experiment,
    contestants: &[Contestant],
    to: &Destination,
    plan: &Plan,
    progress: &mut dyn FnMut(&str, f64),
) -> SeriesResult {
    let method = contestants
        .first()
        .map_or(experiment.method, |first| experiment.method_of(first.rung));
    let connections: Vec<Option<u16>> = match method {
        Method::Requests(_) => plan.connections.iter().copied().map(Some).collect(),
        _ => vec![None],
    };
    let mut entries: Vec<Entry<'_>> = connections
        .into_iter()
        .flat_map(|connections| {
            let entry = move |contestant| Entry::new(contestant, connections);
            contestants.iter().map(entry)
        })
        .collect();
    let series = match Series::open(experiment, method, to, plan) {
        Ok(series) => series,
        Err(reason) => {
            for entry in &mut entries {
                entry.skipped.get_or_insert_with(|| reason.clone());
            }
            return SeriesResult {
                rows: (entries.iter())
                    .map(|entry| entry.row(experiment, to))
                    .collect(),
                warnings: Vec::new(),
                unavailable: Some(reason),
            };
        }
    };
    let mut measurement = series.measurement(method);
    measure(&mut *measurement, &mut entries, progress);
    // After an interruption, contestants without a trial and without a failure have no row.
    let known = entries
        .iter()
        .filter(|entry| !entry.competes() || !entry.trials.is_empty());
    let rows = known.map(|entry| {
        let mut row = entry.row(experiment, to);
        (row.terminal).clone_from(&measurement.series().destination.terminal);
        if !entry.trials.is_empty() {
            measurement.fill(entry, &mut row);
        }
        compare(&*measurement, &entries, entry, &mut row);
        row
    });
    SeriesResult {
        rows: rows.collect(),
        warnings: measurement.warnings(&entries),
        unavailable: None,
    }
}

/// A series: the experiment, the open destination and the plan.
struct Series<'a> {
    experiment: &'static Experiment,
    to: &'a Destination,
    plan: Plan,
    destination: OpenDestination,
    /// The destination at which the output is verified, and its kind.
    proof: OpenDestination,
    proof_to: Destination,
    /// The file that a rung reports to.
    report: PathBuf,
    _scratch: TempDir,
}

impl<'a> Series<'a> {
    fn open(
        experiment: &'static Experiment,
        method: Method,
        to: &'a Destination,
        plan: &Plan,
    ) -> Result<Self, String> {
        let scratch = scratch().map_err(|error| error.to_string())?;
        let mut plan = plan.clone();
        let proof_to = match method {
            Method::Frames if !to.is_terminal() => {
                return Err("it draws, and this is no terminal".to_owned());
            }
            Method::Terminal if !to.is_terminal() => {
                return Err("it measures terminals, and this is none".to_owned());
            }
            Method::Frames => Destination::Pty(ReadPace::AtOnce),
            _ => OpenDestination::proof(to),
        };
        if matches!(method, Method::Frames) && *to == Destination::Pty(ReadPace::Stalled) {
            // Further runs at a terminal that does not read would show the same.
            (plan.warmup, plan.runs) = (0, 1);
        }
        let mut destination = OpenDestination::open(to, plan.size, &scratch)?;
        if matches!(method, Method::Terminal) {
            destination.ask_abilities();
        }
        Ok(Self {
            experiment,
            to,
            destination,
            proof: OpenDestination::open(&proof_to, plan.size, &scratch)?,
            proof_to,
            plan,
            report: scratch.path().join("report"),
            _scratch: scratch,
        })
    }

    fn measurement(self, method: Method) -> Box<dyn Measurement + 'a> {
        match method {
            Method::Requests(server) => Box::new(serving::Serving::new(self, server)),
            Method::Frames => Box::new(drawing::Drawing::new(self)),
            Method::Programs => Box::new(programs::Programs::new(self)),
            _ => Box::new(writing::Writing::new(self, method)),
        }
    }
}

/// Plans, verifies and runs all contestants; notes their trials and failures.
fn measure(
    measurement: &mut dyn Measurement,
    entries: &mut [Entry<'_>],
    progress: &mut dyn FnMut(&str, f64),
) {
    let plan = &measurement.series().plan;
    let (warmup, rounds) = (plan.warmup, plan.warmup + plan.runs);
    let steps = (entries.len() * (rounds + 2)).max(1) as f64;
    let mut step = 0.0;
    let mut begin = |entry: &Entry<'_>, what: &str| {
        progress(&format!("{what} {}", entry.label()), step / steps);
        step += 1.0;
        entry.competes() && !interrupts::came()
    };
    if let Some(first) = entries.first() {
        begin(first, "finding out how much to write, by");
    }
    measurement.plan(entries);
    for entry in entries.iter_mut() {
        if begin(entry, "verifying") {
            let verified = measurement.verify(entry);
            entry.verified = entry.note(verified).is_some() && entry.competes();
        }
    }
    measurement.begin(entries);
    for round in 0..rounds {
        if measurement.series().plan.is_over_in(Duration::ZERO) {
            break;
        }
        for index in order(entries.len(), round, warmup) {
            let what = format!("round {} of {rounds},", round + 1);
            if begin(&entries[index], &what) {
                let trial = measurement.once(entries, index);
                let trial = entries[index].note(trial);
                entries[index]
                    .trials
                    .extend(trial.filter(|_| round >= warmup));
            }
        }
    }
    for entry in entries {
        if begin(entry, "clocking the calls of") {
            measurement.end(entry);
        }
    }
}

/// The order of contestants in a round. Every other counted round is reversed, so that the same contestant does not
/// always follow a slow one.
fn order(contestants: usize, round: usize, warmup: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contestants).collect();
    if round >= warmup && (round - warmup) % 2 == 1 {
        order.reverse();
    }
    order
}

/// One kind of run, with its figures. [`run`] calls the methods in this order.
trait Measurement {
    fn series(&self) -> &Series<'_>;

    /// Decides how much each contestant writes, and which cannot compete here.
    fn plan(&mut self, entries: &mut [Entry<'_>]);

    /// Runs a contestant once and compares its output with the expected one. It is verified if it still competes then.
    fn verify(&self, entry: &mut Entry<'_>) -> Result<(), Stopped>;

    /// Called when all are verified.
    fn begin(&self, _: &mut [Entry<'_>]) {}

    /// One run of the contestant at `index`.
    fn once(&self, entries: &[Entry<'_>], index: usize) -> Result<Trial, Stopped>;

    /// Called when all rounds are over.
    fn end(&self, _: &mut Entry<'_>) {}

    /// Adds its figures, of one trial at least, to a row.
    fn fill(&self, entry: &Entry<'_>, row: &mut Row);

    /// The rung that a contestant's ratios are against.
    fn baseline(&self, entry: &Entry<'_>) -> &'static str {
        self.series().experiment.baseline_of(entry.contestant.rung)
    }

    /// The figures that ratios are of, one a run: by default the time of a message.
    fn rates(&self, entry: &Entry<'_>) -> Vec<f64> {
        let messages = entry.messages.max(1) as f64;
        let walls = entry.walls().into_iter();
        walls.map(|wall| wall as f64 / messages).collect()
    }

    /// Disturbances, each with a remedy.
    fn warnings(&self, _: &[Entry<'_>]) -> Vec<String> {
        Vec::new()
    }
}

/// The ratio to the baseline's, in pairs of the same round. Of a baseline that several compilers built, the
/// fastest is taken.
fn compare(measurement: &dyn Measurement, entries: &[Entry<'_>], entry: &Entry<'_>, row: &mut Row) {
    let baseline = measurement.baseline(entry);
    let middle = |rates: &[f64]| stats::middle(&stats::sorted(rates));
    let best = entries
        .iter()
        .filter(|other| base_name(&other.contestant.name) == baseline)
        .filter(|other| other.connections == entry.connections)
        .map(|other| (&other.contestant.name, measurement.rates(other)))
        .filter_map(|(name, rates)| Some((middle(&rates)?, name, rates)))
        .min_by(|(one, ..), (other, ..)| one.total_cmp(other));
    let Some((_, name, rates)) = best else { return };
    row.ratio = Ratio::paired(&measurement.rates(entry), &rates);
    if row.ratio.is_some() {
        row.baseline = Some(name.clone());
    }
}

/// A contestant and its trials so far.
struct Entry<'a> {
    contestant: &'a Contestant,
    /// The number of connections that load a server.
    connections: Option<u16>,
    /// The number of messages or frames in a run.
    messages: u64,
    trials: Vec<Trial>,
    /// The times of calls in a further run that clocks each.
    clocked: Option<Latency>,
    verified: bool,
    skipped: Option<String>,
    failed: Option<String>,
    fails_as_published: Option<String>,
}

impl<'a> Entry<'a> {
    fn new(contestant: &'a Contestant, connections: Option<u16>) -> Self {
        Self {
            contestant,
            connections,
            messages: u64::from(contestant.rung.draws.is_some()),
            trials: Vec::new(),
            clocked: None,
            verified: false,
            skipped: contestant.obstacle().map(str::to_owned),
            failed: None,
            fails_as_published: None,
        }
    }

    fn competes(&self) -> bool {
        self.skipped.is_none() && self.failed.is_none() && self.fails_as_published.is_none()
    }

    fn rung(&self) -> &'static str {
        self.contestant.rung.name
    }

    /// Its name for the progress line.
    fn label(&self) -> String {
        let name = &self.contestant.name;
        match self.connections {
            None => name.clone(),
            Some(1) => format!("{name}, 1 connection"),
            Some(connections) => format!("{name}, {connections} connections"),
        }
    }

    /// Its row, without figures.
    fn row(&self, experiment: &Experiment, to: &Destination) -> Row {
        let rung = self.contestant.rung;
        let kind = self.connections.map(ServerFigures::of);
        // Bytes of pictures are compared even where their times are not.
        let baseline = rung.draws.map(|_| experiment.baseline_of(rung).to_owned());
        Row {
            experiment: experiment.name.to_owned(),
            rung: self.contestant.name.clone(),
            to: to.to_string(),
            messages: self.messages,
            runs: self.trials.len() as u64,
            verified: self.verified,
            kind: kind.map_or_else(RowKind::default, RowKind::Server),
            baseline,
            skipped: self.skipped.clone(),
            failed: self.failed.clone(),
            fails_as_published: self.fails_as_published.clone(),
            ..Row::default()
        }
    }

    /// The value of a result; notes a failure.
    fn note<T>(&mut self, result: Result<T, Stopped>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(Stopped::Interrupted) => None,
            Err(Stopped::Failed(reason)) => {
                self.failed = Some(reason);
                None
            }
        }
    }

    fn median(&self, value: impl Fn(&Trial) -> u64) -> u64 {
        median(&self.trials.iter().map(value).collect::<Vec<_>>())
    }

    fn spread(&self, value: impl Fn(&Trial) -> u64) -> Option<Spread> {
        Spread::of(self.trials.iter().map(value))
    }

    /// The wall time of each run.
    fn walls(&self) -> Vec<u64> {
        let walls = self.trials.iter().map(|trial| trial.report.wall_ns);
        walls.collect()
    }

    /// System calls that write, in the median run.
    fn writes(&self) -> Option<u64> {
        let writes = self.trials.iter().filter_map(|trial| trial.report.writes);
        Spread::of(writes).map(|writes| writes.median)
    }
}

/// Whether a run wrote the expected bytes, or how they differ.
fn compared(trial: Trial) -> Result<(), String> {
    let verified = trial.received.verified;
    verified
        .unwrap_or_else(|| Err("its bytes were not read".to_owned()))
        .map_err(|wrong| format!("wrong bytes: {wrong}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_counted_round_is_reversed() {
        assert_eq!(order(3, 0, 1), [0, 1, 2]);
        assert_eq!(order(3, 1, 1), [0, 1, 2]);
        assert_eq!(order(3, 2, 1), [2, 1, 0]);
    }
}
