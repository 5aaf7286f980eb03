//! A series of servers under load: how many requests a second each way to log leaves, how long the
//! answers take, and how long the log calls.
//!
//! A server is a rung's process. Its standard input is the listening socket, its standard output the
//! destination; the load and the terminal's reader are ours. Requests/s and answers are of runs in which
//! nothing is clocked within the server; the log calls are of one more run, in which each is.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::calls;
use super::check::{Generator, length};
use super::child::{self, Stopped};
use super::clock::Report;
use super::contestant::Contestant;
use super::load::{self, Answers, CLOCK, STOP, Source};
use super::rows::{Latency, Published, Row};
use super::series::{Outcome, Plan, order};
use super::stats;
use super::stats::{Ratio, Spread};
use crate::bench::catalogue::Experiment;
use crate::bench::catalogue::server::{FED, FED_LIKE, PUBLISHED, SILENT, request_of};
use crate::bench::destination::Destination;
use crate::bench::destination::reader::{Received, Release, Wanted};
use crate::bench::destination::venue::{Venue, scratch};
use crate::fps::canvas::Stream;
use crate::platform::interrupts;

/// With one connection the figure measures how fast an idle processor wakes; so it comes second.
pub(crate) const CONNECTIONS: [u16; 2] = [8, 1];

/// Runs a series. `progress` is told what is being done and how much of it is done.
pub(crate) fn run(
    experiment: &'static Experiment,
    contestants: &[Contestant],
    to: &Destination,
    plan: &Plan,
    progress: &mut dyn FnMut(&str, f64),
) -> Outcome {
    let mut entries: Vec<Entry<'_>> = plan
        .connections
        .iter()
        .flat_map(|&connections| {
            let entry = move |contestant| Entry::new(contestant, usize::from(connections));
            contestants.iter().map(entry)
        })
        .collect();
    let mut terminal = None;
    let mut warnings = Vec::new();
    let prepared = scratch()
        .map_err(|error| error.to_string())
        .and_then(|scratch| Ok((Venue::open(to, plan.size, &scratch)?, scratch)));
    match prepared {
        Err(reason) => {
            for entry in &mut entries {
                entry.skipped.get_or_insert_with(|| reason.clone());
            }
        }
        Ok((venue, scratch)) => {
            let time = load_time(plan.brief);
            terminal.clone_from(&venue.terminal);
            let source = Source::for_loads_of(time);
            if !plan.brief && source == Source::BuiltIn {
                warnings.push(
                    "wrk is not installed: the load comes from the built-in generator".to_owned(),
                );
            }
            let series = Series {
                message: experiment.message,
                to,
                plan,
                time,
                source,
                venue,
                report: scratch.path().join("report"),
            };
            if let Err(reason) = series.all(&mut entries, &scratch, progress) {
                warnings.push(reason);
            }
        }
    }
    let mut rows: Vec<Row> = entries
        .iter()
        .filter(|entry| !entry.competes() || !entry.samples.is_empty())
        .map(|entry| entry.row(experiment, to))
        .collect();
    for row in &mut rows {
        row.terminal.clone_from(&terminal);
    }
    compare(&mut rows, &entries, baseline(to));
    Outcome { rows, warnings }
}

/// How long a server is under load in a run; wrk counts in whole seconds.
fn load_time(brief: bool) -> Duration {
    if brief {
        Duration::from_millis(25)
    } else {
        Duration::from_secs(1)
    }
}

/// How many runs of so many servers fit a time, within reason: enough for a median, and no more than
/// other experiments have.
pub(crate) fn runs_within(budget: Duration, servers: usize, brief: bool) -> usize {
    let starting = Duration::from_millis(100);
    let round = (load_time(brief) + starting) * servers as u32;
    let rounds = (budget.as_secs_f64() / round.as_secs_f64().max(1e-3)) as usize;
    // One round clocks the log calls.
    rounds
        .saturating_sub(1)
        .clamp(if brief { 1 } else { 3 }, 10)
}

/// A contestant with a number of connections, and what it has done so far.
struct Entry<'a> {
    contestant: &'a Contestant,
    connections: usize,
    samples: Vec<Sample>,
    log_calls: Option<Latency>,
    verified: bool,
    skipped: Option<String>,
    failed: Option<String>,
}

/// What one run gave.
struct Sample {
    answers: Answers,
    report: Report,
    received: Received,
}

impl Sample {
    fn requests(&self) -> u64 {
        self.noted("requests")
    }

    fn noted(&self, name: &str) -> u64 {
        self.report.notes.get(name).copied().unwrap_or(0)
    }

    fn ns_per_request(&self) -> u64 {
        (1e9 / self.answers.per_second.max(1e-3)) as u64
    }
}

impl<'a> Entry<'a> {
    fn new(contestant: &'a Contestant, connections: usize) -> Self {
        Self {
            contestant,
            connections,
            samples: Vec::new(),
            log_calls: None,
            verified: false,
            skipped: contestant.obstacle().map(str::to_owned),
            failed: None,
        }
    }

    fn competes(&self) -> bool {
        self.skipped.is_none() && self.failed.is_none()
    }

    fn rung(&self) -> &'static str {
        self.contestant.rung.name
    }

    /// The times are of so many requests as the median run answered.
    fn row(&self, experiment: &Experiment, to: &Destination) -> Row {
        let to = to.to_string();
        let median = |value: &dyn Fn(&Sample) -> u64| {
            stats::median(&self.samples.iter().map(value).collect::<Vec<_>>())
        };
        let spread = |value: &dyn Fn(&Sample) -> u64| Spread::of(self.samples.iter().map(value));
        let requests = median(&Sample::requests);
        let per_run = |ns: u64| ns.saturating_mul(requests);
        let known_backlog = self
            .samples
            .iter()
            .any(|sample| sample.report.notes.contains_key("backlog"));
        let published = PUBLISHED
            .iter()
            .find(|(rung, at, _)| *rung == self.rung() && *at == to);
        let ran = !self.samples.is_empty();
        Row {
            experiment: experiment.name.to_owned(),
            rung: self.contestant.name.clone(),
            to,
            connections: Some(self.connections as u64),
            messages: requests,
            bytes: length(experiment.message, requests),
            runs: self.samples.len() as u64,
            wall_ns: spread(&|sample| per_run(sample.ns_per_request())),
            cpu_ns: spread(&|sample| per_run(sample.report.cpu_ns / sample.requests().max(1))),
            samples: self
                .samples
                .iter()
                .map(|sample| per_run(sample.ns_per_request()))
                .collect(),
            writes: None,
            verified: self.verified,
            requests_per_second: spread(&|sample| sample.answers.per_second as u64),
            answer_ns: ran.then(|| Latency {
                median: median(&|sample| sample.answers.median_ns),
                p99: median(&|sample| sample.answers.p99_ns),
                max: self
                    .samples
                    .iter()
                    .map(|sample| sample.answers.max_ns)
                    .max()
                    .unwrap_or(0),
                max_less_delay: None,
                machine_max: None,
            }),
            log_call_ns: self.log_calls.filter(|_| !is_silent(self.rung())),
            dropped_bytes: ran.then(|| median(&|sample| sample.noted("dropped_bytes"))),
            backlog_bytes: known_backlog.then(|| median(&|sample| sample.noted("backlog"))),
            published: published.map(|&(_, _, messages)| Published {
                seconds: 1.0,
                messages,
            }),
            skipped: self.skipped.clone(),
            failed: self.failed.clone(),
            ..Row::default()
        }
    }
}

/// Whether a rung writes nothing.
fn is_silent(rung: &str) -> bool {
    rung == SILENT || rung == FED
}

struct Series<'a> {
    message: Generator,
    to: &'a Destination,
    plan: &'a Plan,
    time: Duration,
    source: Source,
    venue: Venue,
    report: PathBuf,
}

impl Series<'_> {
    fn all(
        &self,
        entries: &mut [Entry<'_>],
        scratch: &TempDir,
        progress: &mut dyn FnMut(&str, f64),
    ) -> Result<(), String> {
        let other = Venue::proof(self.to);
        let proof = if other == *self.to {
            None
        } else {
            Some(Venue::open(&other, self.plan.size, scratch)?)
        };
        let rounds = self.plan.warmup + self.plan.runs;
        let steps = (entries.len() * (rounds + 2)).max(1) as f64;
        let mut step = 0.0;
        let mut begin = |entry: &Entry<'_>, what: &str| {
            let plural = if entry.connections == 1 { "" } else { "s" };
            let name = &entry.contestant.name;
            let text = format!("{what} {name}, {} connection{plural}", entry.connections);
            progress(&text, step / steps);
            step += 1.0;
        };
        let is_modelled = entries
            .iter()
            .any(|entry| entry.rung() == FED_LIKE && entry.competes());
        for entry in entries.iter_mut() {
            if entry.rung() == FED && !is_modelled {
                let reason = format!("it does what {FED_LIKE} did, which does not run");
                entry.skipped.get_or_insert(reason);
            }
            if entry.rung() == FED && !self.to.is_terminal() {
                let reason = "only a terminal competes for the processor";
                entry.skipped.get_or_insert_with(|| reason.to_owned());
            }
            begin(entry, "verifying");
            self.verify(entry, proof.as_ref().unwrap_or(&self.venue));
        }
        for round in 0..rounds {
            for index in order(entries.len(), round, self.plan.warmup) {
                begin(
                    &entries[index],
                    &format!("round {} of {rounds},", round + 1),
                );
                let feed = self.feed(entries, index);
                let sample = self.once(
                    &mut entries[index],
                    &self.venue,
                    self.time,
                    feed,
                    Run::Timed,
                );
                if let Some(sample) = sample
                    && round >= self.plan.warmup
                {
                    entries[index].samples.push(sample);
                }
            }
        }
        for entry in entries {
            begin(entry, "log calls of");
            if !is_silent(entry.rung()) {
                let sample = self.once(entry, &self.venue, self.time, None, Run::Clocked);
                entry.log_calls = sample
                    .as_ref()
                    .and_then(|sample| calls::noted(&sample.report));
            }
        }
        Ok(())
    }

    /// The bytes a second that the control's terminal is fed: what its model wrote in its last run.
    fn feed(&self, entries: &[Entry<'_>], index: usize) -> Option<u64> {
        let entry = &entries[index];
        if entry.rung() != FED {
            return None;
        }
        let model = entries
            .iter()
            .find(|other| other.rung() == FED_LIKE && other.connections == entry.connections)?;
        let sample = model.samples.last()?;
        // The log of a request may wait whose answer came too late to count.
        let written =
            length(self.message, sample.requests()).saturating_sub(sample.noted("backlog"));
        Some((written as f64 / self.time.as_secs_f64()) as u64)
    }

    /// Compares the lines that arrive with the requests that were answered.
    fn verify(&self, entry: &mut Entry<'_>, venue: &Venue) {
        let time = Duration::from_millis(15);
        let Some(sample) = self.once(entry, venue, time, None, Run::Verified) else {
            return;
        };
        let requests = if is_silent(entry.rung()) {
            0
        } else {
            sample.requests()
        };
        match verdict_on(&sample.received.kept, requests, sample.noted("dropped")) {
            Ok(()) => entry.verified = true,
            Err(wrong) => entry.failed = Some(format!("wrong bytes: {wrong}")),
        }
    }

    /// One run; `None` when it gave nothing.
    fn once(
        &self,
        entry: &mut Entry<'_>,
        venue: &Venue,
        time: Duration,
        feed: Option<u64>,
        run: Run,
    ) -> Option<Sample> {
        if !entry.competes() || interrupts::came() {
            return None;
        }
        Stopped::note(
            self.try_once(entry, venue, time, feed, run),
            &mut entry.failed,
        )
    }

    fn try_once(
        &self,
        entry: &Entry<'_>,
        venue: &Venue,
        time: Duration,
        feed: Option<u64>,
        run: Run,
    ) -> Result<Sample, Stopped> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let release = Arc::new(Release::default());
        let sink = venue.sink(Wanted {
            keep: run == Run::Verified,
            release: Some(release.clone()),
            ..Wanted::default()
        })?;
        let mut command = entry
            .contestant
            .command(1, Duration::ZERO)
            .map_err(Stopped::Failed)?;
        command.stdin(Stdio::from(OwnedFd::from(listener)));
        let feeder = match feed {
            Some(rate) => Some((sink.writer()?, rate)),
            None => None,
        };
        let source = if run == Run::Verified {
            Source::BuiltIn
        } else {
            self.source
        };
        std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                let feeding = feeder.map(|(mut terminal, rate)| {
                    scope.spawn(move || feed_at(&mut terminal, rate, time, self.message))
                });
                let answers = under_load(source, address, entry.connections, time, run);
                // A feeder may be waiting for a reader that stands still, too.
                release.now();
                if let Some(feeding) = feeding {
                    // A terminal that is gone is the measured server's affair.
                    let _ = feeding.join();
                }
                let stopped = load::ask(address, STOP).map_err(|error| error.to_string());
                answers.and_then(|answers| stopped.map(|()| answers))
            });
            let child = child::run(&mut command, Stream::Stdout, sink, &self.report);
            let answers = load
                .join()
                .unwrap_or_else(|_| Err("the load panicked".to_owned()));
            // What the server says of a failure is nearer to the cause.
            let child::Sample { report, received } = child?;
            Ok(Sample {
                answers: answers.map_err(Stopped::Failed)?,
                report,
                received,
            })
        })
    }
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Verified,
    Timed,
    Clocked,
}

fn under_load(
    source: Source,
    address: SocketAddr,
    connections: usize,
    time: Duration,
    run: Run,
) -> Result<Answers, String> {
    if run == Run::Clocked {
        load::ask(address, CLOCK).map_err(|error| error.to_string())?;
    }
    source.run(address, connections, time)
}

/// As often as a helper thread writes.
const FEED_EVERY: Duration = Duration::from_millis(4);

/// Writes messages to a terminal at a rate, in bytes a second.
fn feed_at(
    terminal: &mut impl Write,
    rate: u64,
    time: Duration,
    message: Generator,
) -> std::io::Result<()> {
    let begun = Instant::now();
    let mut text = Vec::new();
    let (mut index, mut fed) = (0, 0.0);
    while begun.elapsed() < time {
        let due = rate as f64 * begun.elapsed().as_secs_f64();
        text.clear();
        while fed + (text.len() as f64) < due {
            message(index, &mut text);
            index += 1;
        }
        terminal.write_all(&text)?;
        fed += text.len() as f64;
        std::thread::sleep(FEED_EVERY);
    }
    Ok(())
}

/// Every request has its line, once and in order, or is counted as dropped.
fn verdict_on(kept: &[u8], requests: u64, dropped: u64) -> Result<(), String> {
    let text = std::str::from_utf8(kept).map_err(|_| "not text".to_owned())?;
    let (mut seen, mut last) = (0, 0);
    for line in text.lines().filter(|line| !line.is_empty()) {
        match request_of(line) {
            Some(request) if request > last => {
                seen += 1;
                last = request;
            }
            Some(request) => return Err(format!("request {request} comes after {last}")),
            None if line.starts_with("[outpace: ") && line.ends_with("dropped here]") => {}
            None => return Err(format!("an unknown line {line:?}")),
        }
    }
    if seen + dropped == requests {
        Ok(())
    } else {
        Err(format!(
            "{requests} requests, but {seen} lines and {dropped} counted as dropped"
        ))
    }
}

/// A program that draws competes with the server for the processor, whoever writes to it: there, logging is
/// compared with another process that writes as much.
fn baseline(to: &Destination) -> &'static str {
    match to {
        Destination::Tty | Destination::Emulator(_) => FED,
        _ => SILENT,
    }
}

/// Requests/s against those of the baseline, in pairs of the same round.
fn compare(rows: &mut [Row], entries: &[Entry<'_>], baseline: &str) {
    let rates = |rung: &str, connections: Option<u64>| -> Vec<u64> {
        entries
            .iter()
            .filter(|entry| {
                entry.contestant.name == rung && Some(entry.connections as u64) == connections
            })
            .flat_map(|entry| &entry.samples)
            .map(|sample| sample.answers.per_second as u64)
            .collect()
    };
    for row in rows.iter_mut().filter(|row| row.runs > 0) {
        let own = rates(&row.rung, row.connections);
        let others = rates(baseline, row.connections);
        row.ratio = Ratio::paired(&own, &others);
        row.baseline = row.ratio.is_some().then(|| baseline.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_line_or_is_counted() {
        let line = |n| format!("request {n}: GET / HTTP/1.1 from 127.0.0.1, answered 200\r\n");
        let text = line(1) + "[outpace: 2 messages (120 B) dropped here]\r\n" + &line(4);
        assert_eq!(verdict_on(text.as_bytes(), 4, 2), Ok(()));
        assert!(
            verdict_on(text.as_bytes(), 5, 2)
                .unwrap_err()
                .contains("2 lines and 2 counted")
        );
        assert!(
            verdict_on((line(2) + &line(1)).as_bytes(), 2, 0)
                .unwrap_err()
                .contains("after 2")
        );
        assert!(
            verdict_on(b"request x", 1, 0)
                .unwrap_err()
                .contains("unknown line")
        );
    }

    #[test]
    fn a_series_has_as_many_runs_as_its_time_allows() {
        let minutes = |minutes: u64| runs_within(Duration::from_secs(60 * minutes), 20, false);
        assert_eq!((minutes(0), minutes(2), minutes(60)), (3, 4, 10));
        assert_eq!(runs_within(Duration::ZERO, 10, true), 1);
    }

    #[test]
    fn the_control_is_fed_at_the_rate_of_its_model() {
        let mut fed = Vec::new();
        let message: Generator = |_, into| into.extend_from_slice(b"a line\n");
        feed_at(&mut fed, 1_000_000, Duration::from_millis(20), message).unwrap();
        assert!(
            fed.ends_with(b"a line\n") && fed.len() < 200_000,
            "{}",
            fed.len()
        );
    }
}
