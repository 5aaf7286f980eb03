//! A series: the contestants of one experiment at one destination, verified first, then run in
//! rounds so that whatever disturbs the machine disturbs all of them alike.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::arrivals::arrivals;
use super::check::{Check, length};
use super::child::{self, Sample, Stopped};
use super::contestant::Contestant;
use super::rows::{ProfilerSamples, Published, Row};
use super::stats::{self, Ratio, Spread};
use super::{figures, frames, requests};
use crate::bench::catalogue::{Experiment, Method, Origin, Rung, calls};
use crate::bench::destination::reader::Wanted;
use crate::bench::destination::venue::{Size, Venue, scratch};
use crate::bench::destination::{Destination, Pace};
use crate::fps::canvas::Stream;
use crate::platform::interrupts;
use crate::trace;

/// How much to measure.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) runs: usize,
    pub(crate) warmup: usize,
    /// The time that one series should take; it decides the number of messages.
    pub(crate) budget: Duration,
    /// That number itself, when the user gives it.
    pub(crate) messages: Option<u64>,
    /// How many at once a server is under load from: a row each.
    pub(crate) connections: Vec<u16>,
    /// Between the steps of an experiment about when text appears.
    pub(crate) pause: Duration,
    /// How long a run is when the time decides.
    pub(crate) time: Duration,
    pub(crate) size: Size,
    /// As short as makes sense.
    pub(crate) brief: bool,
}

/// What a series gave.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    pub(crate) warnings: Vec<String>,
}

/// Runs a series of contestants that are measured alike. `progress` is told what is being done and how much of it is done.
pub(crate) fn run(
    experiment: &'static Experiment,
    contestants: &[Contestant],
    to: &Destination,
    plan: &Plan,
    progress: &mut dyn FnMut(&str, f64),
) -> Outcome {
    let method = contestants
        .first()
        .map(|first| experiment.method_of(first.rung));
    match method {
        Some(Method::Requests) => {
            return requests::run(experiment, contestants, to, plan, progress);
        }
        Some(Method::Frames) => return frames::run(experiment, contestants, to, plan, progress),
        _ => {}
    }
    let mut entries: Vec<Entry<'_>> = contestants.iter().map(Entry::new).collect();
    let result = scratch()
        .map_err(|error| error.to_string())
        .and_then(|scratch| {
            let venue = Venue::open(to, plan.size, &scratch)?;
            let proof = match Venue::proof(to) {
                same if same == *to => None,
                other => Some(Venue::open(&other, plan.size, &scratch)?),
            };
            let report = scratch.path().join("report");
            let mut series = Series {
                experiment,
                to,
                plan,
                venue,
                proof,
                report,
                messages: 0,
            };
            series.all(&mut entries, progress);
            Ok((series.messages, series.venue.terminal.take()))
        });
    let (messages, terminal) = match result {
        Ok(done) => done,
        Err(reason) => {
            for entry in &mut entries {
                entry.skipped.get_or_insert_with(|| reason.clone());
            }
            (0, None)
        }
    };
    let mut rows: Vec<Row> = entries
        .iter()
        .filter_map(|entry| {
            let mut row = entry.row(experiment, to, messages)?;
            row.terminal.clone_from(&terminal);
            Some(row)
        })
        .collect();
    for baseline in baselines(experiment, &entries) {
        compare(&mut rows, experiment, baseline);
    }
    Outcome {
        rows,
        warnings: warnings(experiment, to, &entries),
    }
}

/// A contestant and what it has done so far.
struct Entry<'a> {
    contestant: &'a Contestant,
    samples: Vec<Sample>,
    bytes: u64,
    verified: bool,
    skipped: Option<String>,
    failed: Option<String>,
    fails_as_published: Option<String>,
}

impl<'a> Entry<'a> {
    fn new(contestant: &'a Contestant) -> Self {
        Self {
            contestant,
            samples: Vec::new(),
            bytes: 0,
            verified: false,
            skipped: contestant.obstacle().map(str::to_owned),
            failed: None,
            fails_as_published: None,
        }
    }

    fn competes(&self) -> bool {
        self.skipped.is_none() && self.failed.is_none() && self.fails_as_published.is_none()
    }

    /// Its row; `None` when an interruption came before anything was known of it.
    fn row(&self, experiment: &Experiment, to: &Destination, messages: u64) -> Option<Row> {
        if self.competes() && self.samples.is_empty() {
            return None;
        }
        let spread = |value: fn(&Sample) -> u64| {
            let delayed = |sample: &Sample| (value(sample), sample.report.delay_ns);
            Spread::with_delays(&self.samples.iter().map(delayed).collect::<Vec<_>>())
        };
        let writes: Vec<u64> = self
            .samples
            .iter()
            .filter_map(|sample| sample.report.writes)
            .collect();
        let figure = match self.contestant.rung.origin {
            Origin::Published(figure) if experiment.published_to.contains(&to.kind()) => figure,
            _ => None,
        };
        let clocked = experiment.method != Method::Arrival;
        if experiment.method == Method::Timed {
            return Some(self.timed_row(experiment, to));
        }
        Some(Row {
            experiment: experiment.name.to_owned(),
            rung: self.contestant.name.clone(),
            to: to.to_string(),
            messages,
            bytes: self.bytes,
            runs: self.samples.len() as u64,
            wall_ns: spread(|sample| sample.report.wall_ns).filter(|_| clocked),
            caller_ns: spread(|sample| sample.report.caller_ns).filter(|_| clocked),
            // A processor that others had is not in it.
            cpu_ns: Spread::of(self.samples.iter().map(|sample| sample.report.cpu_ns))
                .filter(|_| clocked),
            delivered_ns: Spread::of(self.samples.iter().filter_map(Sample::delivered_ns))
                .filter(|_| clocked),
            writes: (!writes.is_empty()).then(|| stats::median(&writes)),
            torn_per_1000: self.torn(messages).filter(|_| clocked),
            verified: self.verified,
            samples: if clocked { self.walls() } else { Vec::new() },
            arrivals: arrivals(experiment.texts, to.is_terminal(), &self.samples),
            published: figure.map(|seconds| Published {
                seconds,
                messages: experiment.messages,
            }),
            skipped: self.skipped.clone(),
            failed: self.failed.clone(),
            fails_as_published: self.fails_as_published.clone(),
            ..Row::default()
        })
    }

    /// Every run has as many messages as there was time for; the times are of as many as the median run
    /// had.
    fn timed_row(&self, experiment: &Experiment, to: &Destination) -> Row {
        let noted = |name: &'static str| {
            move |sample: &Sample| sample.report.notes.get(name).copied().unwrap_or(0)
        };
        let median = |value: &dyn Fn(&Sample) -> u64| {
            stats::median(&self.samples.iter().map(value).collect::<Vec<_>>())
        };
        let messages = median(&noted("messages"));
        let scaled = |value: &dyn Fn(&Sample) -> u64| -> Vec<u64> {
            let of_median = |sample: &Sample| {
                let own = noted("messages")(sample).max(1);
                (value(sample) as f64 * messages as f64 / own as f64) as u64
            };
            self.samples.iter().map(of_median).collect()
        };
        let walls = scaled(&|sample| sample.report.wall_ns);
        let ran = !self.samples.is_empty();
        Row {
            experiment: experiment.name.to_owned(),
            rung: self.contestant.name.clone(),
            to: to.to_string(),
            messages,
            bytes: stats::median(&scaled(&noted("bytes"))),
            runs: self.samples.len() as u64,
            wall_ns: Spread::of(walls.iter().copied()),
            caller_ns: Spread::of(walls.iter().copied()),
            cpu_ns: Spread::of(scaled(&|sample| sample.report.cpu_ns)),
            write_ns: Spread::of(scaled(&noted("write_ns"))),
            writes: ran.then(|| stats::median(&scaled(&noted("write_calls")))),
            profiler_samples: ran.then(|| ProfilerSamples {
                measured: median(&|sample| {
                    calls::samples(sample.report.cpu_ns, sample.report.wall_ns)
                }),
                published: calls::published_samples(self.contestant.rung.name),
            }),
            verified: self.verified,
            samples: walls,
            skipped: self.skipped.clone(),
            failed: self.failed.clone(),
            ..Row::default()
        }
    }

    /// In a thousand messages; `None` where nobody saw the reads.
    fn torn(&self, messages: u64) -> Option<f64> {
        let sum = |count: fn(&Sample) -> u64| self.samples.iter().map(count).sum::<u64>() as f64;
        let thousands = messages as f64 * self.samples.len() as f64 / 1_000.0;
        let seen = sum(|sample| sample.received.reads) > 0.0 && thousands > 0.0;
        seen.then(|| sum(|sample| sample.received.torn) / thousands)
    }

    fn walls(&self) -> Vec<u64> {
        self.samples
            .iter()
            .map(|sample| sample.report.wall_ns)
            .collect()
    }
}

/// In which order contestants run in a round: every other counted one is reversed, so that whoever runs
/// after a slow one is not always the same.
pub(super) fn order(contestants: usize, round: usize, warmup: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contestants).collect();
    if round >= warmup && (round - warmup) % 2 == 1 {
        order.reverse();
    }
    order
}

/// The state of a series while it runs.
struct Series<'a> {
    experiment: &'static Experiment,
    plan: &'a Plan,
    to: &'a Destination,
    venue: Venue,
    /// Where the bytes are verified when they cannot be here.
    proof: Option<Venue>,
    report: PathBuf,
    messages: u64,
}

impl Series<'_> {
    /// How much a rung writes.
    fn bytes(&self, rung: &Rung) -> u64 {
        let message = self.experiment.message_of(rung);
        match self.experiment.method {
            Method::Process => length(message, 1) * self.messages,
            Method::Work | Method::Requests | Method::Frames => length(message, self.messages),
            // As many as were written.
            Method::Timed => 0,
            Method::Arrival => length(message, 1),
        }
    }

    fn all(&mut self, entries: &mut [Entry<'_>], progress: &mut dyn FnMut(&str, f64)) {
        let rounds = self.plan.warmup + self.plan.runs;
        progress("finding out how much to write", 0.0);
        self.messages = self.suitable_messages(entries);
        let steps = (entries.len() * (rounds + 1)).max(1) as f64;
        let mut step = 0.0;
        for entry in entries.iter_mut() {
            progress(
                &format!("verifying {}", entry.contestant.name),
                step / steps,
            );
            step += 1.0;
            entry.bytes = self.bytes(entry.contestant.rung);
            self.verify(entry);
        }
        for round in 0..rounds {
            for index in order(entries.len(), round, self.plan.warmup) {
                if interrupts::came() {
                    return;
                }
                let entry = &mut entries[index];
                step += 1.0;
                if !entry.competes() {
                    continue;
                }
                progress(
                    &format!("round {} of {rounds}, {}", round + 1, entry.contestant.name),
                    step / steps,
                );
                let wanted = Wanted {
                    arrivals: self.experiment.method == Method::Arrival,
                    ..Wanted::default()
                };
                match self.once(entry.contestant, &self.venue, self.messages, wanted) {
                    Ok(_) if round < self.plan.warmup => {}
                    Ok(sample) => entry.samples.push(sample),
                    Err(Stopped::Interrupted) => return,
                    Err(Stopped::Failed(reason)) => entry.failed = Some(reason),
                }
            }
        }
    }

    /// One run.
    fn once(
        &self,
        contestant: &Contestant,
        venue: &Venue,
        messages: u64,
        wanted: Wanted,
    ) -> Result<Sample, Stopped> {
        let pause = match self.experiment.method {
            Method::Arrival => self.plan.pause,
            // To verify it, so many messages count, however long they take.
            Method::Timed if wanted.check.is_none() => self.plan.time,
            _ => Duration::ZERO,
        };
        let each = if self.experiment.method == Method::Process {
            1
        } else {
            messages
        };
        let mut command = contestant.command(each, pause).map_err(Stopped::Failed)?;
        let sink = venue.sink(wanted)?;
        if self.experiment.method != Method::Process {
            return child::run(&mut command, contestant.rung.stream, sink, &self.report);
        }
        let mut sum = child::run_clocked_outside(&mut command, sink)?;
        for _ in 1..messages {
            let sink = venue.sink(Wanted::default())?;
            let next = child::run_clocked_outside(&mut command, sink)?;
            sum.report.wall_ns += next.report.wall_ns;
            sum.report.caller_ns += next.report.caller_ns;
            sum.report.cpu_ns += next.report.cpu_ns;
            sum.received.last_at = None;
        }
        Ok(sum)
    }

    /// Compares a contestant's bytes with the expected ones, at as many messages as will be timed.
    /// One that is published as broken has to be: it is run once, and its failure is its result.
    fn verify(&self, entry: &mut Entry<'_>) {
        if !entry.competes() {
            return;
        }
        let messages = if self.experiment.method == Method::Process {
            1
        } else {
            self.messages
        };
        let (to, venue) = match &self.proof {
            Some(proof) => (Venue::proof(self.to), proof),
            None => (self.to.clone(), &self.venue),
        };
        let order = entry.contestant.rung.order;
        let (messages, check) = if self.experiment.method == Method::Timed {
            match calls::expected(self.plan.size, PROVED_FRAMES) {
                Ok(expected) => (PROVED_FRAMES, Check::of(expected)),
                Err(error) => {
                    entry.failed = Some(error.to_string());
                    return;
                }
            }
        } else {
            let message = self.experiment.message_of(entry.contestant.rung);
            let check = Check::new(message, messages, order, to.is_terminal());
            (messages, check)
        };
        let wanted = Wanted {
            check: Some(check),
            ..Wanted::default()
        };
        let result = self.once(entry.contestant, venue, messages, wanted);
        let result = match result {
            Err(Stopped::Interrupted) => return,
            Err(Stopped::Failed(reason)) => Err(reason),
            Ok(sample) => sample
                .received
                .verified
                .unwrap_or_else(|| Err("nothing read its bytes".to_owned()))
                .map_err(|wrong| format!("wrong bytes: {wrong}")),
        };
        match (result, entry.contestant.rung.fails) {
            (Ok(()), None) => entry.verified = true,
            (Err(reason), None) => entry.failed = Some(reason),
            (Err(reason), Some(_)) => entry.fails_as_published = Some(reason),
            (Ok(()), Some(why)) => {
                entry.failed = Some(format!("published as broken ({why}), but it works here"));
            }
        }
    }

    /// So many messages that the whole series takes about the time it should: the same number for
    /// every contestant, found by a few short runs of increasing length.
    fn suitable_messages(&self, entries: &mut [Entry<'_>]) -> u64 {
        if self.experiment.method == Method::Arrival {
            return 1;
        }
        if self.experiment.method == Method::Timed {
            return self.plan.messages.unwrap_or(self.experiment.messages);
        }
        let most = match (self.experiment.method, self.to) {
            (Method::Process, _) => 20,
            // Every run waits for the stall, whatever it writes.
            (_, Destination::Pty(Pace::Stalled)) => {
                return self.plan.messages.unwrap_or(STALLED_MESSAGES);
            }
            _ => self.experiment.messages,
        };
        if let Some(messages) = self.plan.messages {
            return messages.max(1);
        }
        let rounds = (self.plan.warmup + self.plan.runs + 1) as f64;
        let round = self.plan.budget.as_secs_f64() / rounds;
        // Starting processes takes time whatever they write.
        let overhead = self.short_round(entries, 1);
        if self.experiment.method == Method::Process {
            return rounded(round / overhead.max(1e-6)).clamp(1, most);
        }
        let round = (round - overhead).max(round / 4.0);
        let mut messages = most.min(1_000);
        loop {
            let took = (self.short_round(entries, messages) - overhead).max(1e-6);
            if took >= round * 0.1 || messages == most || interrupts::came() {
                let least = least_messages(self.to).min(most);
                return rounded(messages as f64 * round / took).clamp(least, most);
            }
            let factor = (round * 0.2 / took).clamp(2.0, 16.0);
            messages = ((messages as f64 * factor) as u64).min(most);
        }
    }

    /// The seconds that one run of every contestant takes.
    fn short_round(&self, entries: &mut [Entry<'_>], messages: u64) -> f64 {
        let started = Instant::now();
        for entry in entries.iter_mut() {
            let broken = entry.contestant.rung.fails.is_some();
            if interrupts::came() || broken || !entry.competes() {
                continue;
            }
            let result = self.once(entry.contestant, &self.venue, messages, Wanted::default());
            if let Err(Stopped::Failed(reason)) = result {
                entry.failed = Some(reason);
            }
        }
        started.elapsed().as_secs_f64()
    }
}

/// A recording of one run, as a profile. It has as many markers as a megabyte holds.
pub(crate) fn profile(
    contestant: &Contestant,
    to: &Destination,
    plan: &Plan,
) -> Result<String, String> {
    const MARKERS: usize = 6_000;
    let said = |error: std::io::Error| error.to_string();
    let scratch = scratch().map_err(said)?;
    let venue = Venue::open(to, plan.size, &scratch)?;
    let sink = venue.sink(Wanted::default()).map_err(said)?;
    let mut command = contestant.command(plan.messages.unwrap_or(0), plan.time)?;
    child::ignore_wishes(&mut command);
    let (measured, end) = sink.split();
    match contestant.rung.stream {
        Stream::Stdout => command.stdout(measured),
        Stream::Stderr => command.stderr(measured).stdout(Stdio::null()),
    };
    let profile = trace::profile_of(command, MARKERS).map_err(said)?;
    end.finish().map_err(said)?;
    serde_json::to_string(&profile).map_err(|error| error.to_string())
}

/// So many frames of an animation are compared.
const PROVED_FRAMES: u64 = 3;

/// Fewer would measure the first write and the start of a thread rather than messages.
fn least_messages(to: &Destination) -> u64 {
    match to {
        Destination::Pty(Pace::PerSecond(_)) => 1_000,
        to if to.is_terminal() => 5_000,
        _ => 50_000,
    }
}

/// What a terminal that does not read is given: more than any buffer on the way holds.
const STALLED_MESSAGES: u64 = 100_000;

/// A number that reads well: two digits and zeros.
fn rounded(value: f64) -> u64 {
    let value = value.max(1.0) as u64;
    let scale = 10_u64.pow(value.ilog10().saturating_sub(1));
    value / scale * scale
}

/// The rungs that others are compared with.
fn baselines(experiment: &Experiment, entries: &[Entry<'_>]) -> Vec<&'static str> {
    let mut all = Vec::new();
    for entry in entries {
        let baseline = experiment.baseline_of(entry.contestant.rung);
        if !all.contains(&baseline) {
            all.push(baseline);
        }
    }
    all
}

/// The ratio to the baseline's of each row that has this baseline, in pairs of the same round. Of a baseline
/// that several compilers built, the fastest is taken.
fn compare(rows: &mut [Row], experiment: &Experiment, baseline: &str) {
    let best = rows
        .iter()
        .filter(|row| figures::base_name(&row.rung) == baseline && !row.samples.is_empty())
        .min_by_key(|row| row.wall_ns.map(|wall| wall.median))
        .map(|row| (row.rung.clone(), row.samples.clone(), row.messages));
    let Some((name, samples, messages)) = best else {
        return;
    };
    let compared = |row: &&mut Row| {
        let rung = experiment.rung(figures::base_name(&row.rung));
        let own = rung.map_or(experiment.baseline, |rung| experiment.baseline_of(rung));
        own == baseline && !row.samples.is_empty()
    };
    for row in rows.iter_mut().filter(compared) {
        // Where the time decides, not all have had the same number of messages.
        let of_as_many = |wall: &u64| (*wall as f64 * messages as f64 / row.messages as f64) as u64;
        let own: Vec<u64> = if row.messages == messages {
            row.samples.clone()
        } else {
            row.samples.iter().map(of_as_many).collect()
        };
        row.ratio = Ratio::paired(&own, &samples);
        row.baseline = Some(name.clone());
    }
}

/// What disturbed the measurement, with what to do about it.
fn warnings(experiment: &Experiment, to: &Destination, entries: &[Entry<'_>]) -> Vec<String> {
    let runs: usize = entries.iter().map(|entry| entry.samples.len()).sum();
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
    // A few are what medians are for.
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
