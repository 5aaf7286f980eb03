//! Servers under load: the requests a second that each way to log leaves, the time of an answer, and that of a
//! log call.
//!
//! A server is a rung's process. Its standard input is the listening socket, its standard output the
//! destination; the load and the terminal's reader are ours. Requests/s and answers are of runs without a
//! clock in the server; the log calls are of one more run, in which each is clocked.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::child::{self, Stopped, Trial};
use super::load::{self, Answers, LoadSource};
use super::{Entry, Measurement, Series};
use crate::bench::destination::Destination;
use crate::bench::destination::check::{Generator, length};
use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::reader::{Release, Wanted};
use crate::bench::experiment::{Server, calls};
use crate::bench::results::rows::{Latency, Published, Row, RowKind, ServerFigures};
use crate::bench::results::stats::{self, Spread};
use crate::fps::canvas::StandardStream;

/// With one connection the figure measures how fast an idle processor wakes: so it comes second.
pub(crate) const CONNECTIONS: [u16; 2] = [8, 1];

/// How long a server is under load in a run; wrk counts in whole seconds.
fn load_time(brief: bool) -> Duration {
    if brief {
        Duration::from_millis(25)
    } else {
        Duration::from_secs(1)
    }
}

/// The number of runs of `servers` servers that fit a time: at least enough for a median, at most as many as other
/// experiments have.
pub(crate) fn runs_within(budget: Duration, servers: usize, brief: bool) -> usize {
    let starting = Duration::from_millis(100);
    let round = (load_time(brief) + starting) * servers as u32;
    let rounds = (budget.as_secs_f64() / round.as_secs_f64().max(1e-3)) as usize;
    // One round clocks the log calls.
    rounds
        .saturating_sub(1)
        .clamp(if brief { 2 } else { 3 }, 10)
}

pub(super) struct Serving<'a> {
    series: Series<'a>,
    server: &'static Server,
    time: Duration,
    source: LoadSource,
}

/// Longer than any load: a stalling reader stalls until it is released.
const UNTIL_RELEASED: Duration = Duration::from_secs(3_600);

impl Measurement for Serving<'_> {
    fn series(&self) -> &Series<'_> {
        &self.series
    }

    fn plan(&mut self, entries: &mut [Entry<'_>]) {
        let fed_like = self.server.fed_like;
        let is_modelled = entries
            .iter()
            .any(|entry| entry.rung() == fed_like && entry.competes());
        for entry in entries.iter_mut().filter(|entry| self.is_fed(entry)) {
            if !is_modelled {
                let reason = format!("it repeats {fed_like}, which does not run");
                entry.skipped.get_or_insert(reason);
            }
            if !self.series.to.is_terminal() {
                let reason = "only a terminal competes for the processor";
                entry.skipped.get_or_insert_with(|| reason.to_owned());
            }
        }
    }

    /// Compares the lines that arrive with the requests that were answered.
    fn verify(&self, entry: &mut Entry<'_>) -> Result<(), Stopped> {
        let time = Duration::from_millis(15);
        let trial = self.run(entry, &self.series.proof, time, None, Purpose::Verified)?;
        let requests = match self.is_silent(entry) {
            true => 0,
            false => trial.noted("requests"),
        };
        let dropped = trial.noted("dropped");
        check_lines(
            &trial.received.kept,
            requests,
            dropped,
            self.server.request_of,
        )
        .map_err(|wrong| Stopped::Failed(format!("wrong bytes: {wrong}")))
    }

    fn once(&self, entries: &[Entry<'_>], index: usize) -> Result<Trial, Stopped> {
        let entry = &entries[index];
        let feed = self.feed(entries, entry);
        self.run(
            entry,
            &self.series.destination,
            self.time,
            feed,
            Purpose::Timed,
        )
    }

    fn end(&self, entry: &mut Entry<'_>) {
        if !self.is_silent(entry) {
            let result = self.run(
                entry,
                &self.series.destination,
                self.time,
                None,
                Purpose::Clocked,
            );
            let trial = entry.note(result);
            entry.clocked = trial.and_then(|trial| calls::noted(&trial.report));
        }
    }

    /// The times are of as many requests as the median run answered.
    fn fill(&self, entry: &Entry<'_>, row: &mut Row) {
        let Some(connections) = entry.connections else {
            return;
        };
        let requests = entry.median(|trial| trial.noted("requests"));
        row.messages = requests;
        row.bytes = length(self.series.experiment.message, requests);
        let published = &self.server.published;
        row.published = published
            .iter()
            .find(|(rung, at, _)| *rung == entry.rung() && *at == row.to)
            .map(|&(_, _, messages)| Published {
                seconds: 1.0,
                messages,
            });
        let answers: Vec<Answers> = entry
            .trials
            .iter()
            .filter_map(|trial| trial.answers)
            .collect();
        if answers.is_empty() {
            return;
        }
        row.samples = answers
            .iter()
            .map(|answers| (1e9 / answers.per_second.max(1e-3)) as u64)
            .map(|ns_per_request| ns_per_request.saturating_mul(requests))
            .collect();
        row.wall_ns = Spread::of(row.samples.iter().copied());
        row.cpu_ns = Spread::of(entry.trials.iter().map(|trial| {
            let each = trial.report.cpu_ns / trial.noted("requests").max(1);
            each.saturating_mul(requests)
        }));
        let of = |value: fn(&Answers) -> u64| answers.iter().map(value).collect::<Vec<_>>();
        let knows_backlog = |trial: &Trial| trial.report.notes.contains_key("backlog");
        row.kind = RowKind::Server(ServerFigures {
            requests_per_second: Spread::of(of(|answers| answers.per_second as u64)),
            answer_ns: Some(Latency {
                median: stats::median(&of(|answers| answers.median_ns)),
                p99: stats::median(&of(|answers| answers.p99_ns)),
                max: of(|answers| answers.max_ns).into_iter().max().unwrap_or(0),
                ..Latency::default()
            }),
            log_call_ns: entry.clocked,
            dropped_bytes: Some(entry.median(|trial| trial.noted("dropped_bytes"))),
            backlog_bytes: (entry.trials.iter())
                .any(knows_backlog)
                .then(|| entry.median(|trial| trial.noted("backlog"))),
            ..ServerFigures::of(connections)
        });
    }

    /// A terminal emulator competes with the server for the processor, whichever process writes to it: there, the baseline is
    /// a silent server beside another process that writes as much.
    fn baseline(&self, _: &Entry<'_>) -> &'static str {
        match self.series.to {
            Destination::Tty | Destination::Emulator(_) => self.server.fed,
            _ => self.series.experiment.baseline,
        }
    }

    fn rates(&self, entry: &Entry<'_>) -> Vec<f64> {
        let rate = |trial: &Trial| Some(trial.answers?.per_second);
        entry.trials.iter().filter_map(rate).collect()
    }

    fn warnings(&self, _: &[Entry<'_>]) -> Vec<String> {
        let missing = !self.series.plan.brief && self.source == LoadSource::BuiltIn;
        let warning = "wrk is not installed: the load comes from the built-in generator";
        missing.then(|| warning.to_owned()).into_iter().collect()
    }
}

impl<'a> Serving<'a> {
    pub(super) fn new(series: Series<'a>, server: &'static Server) -> Self {
        let time = load_time(series.plan.brief);
        Self {
            series,
            server,
            time,
            source: LoadSource::for_loads_of(time),
        }
    }

    /// Whether a rung is without a log.
    fn is_silent(&self, entry: &Entry<'_>) -> bool {
        entry.rung() == self.series.experiment.baseline || self.is_fed(entry)
    }

    fn is_fed(&self, entry: &Entry<'_>) -> bool {
        entry.rung() == self.server.fed
    }

    /// The bytes a second that the control's terminal is fed: the rate of its model's last run.
    fn feed(&self, entries: &[Entry<'_>], entry: &Entry<'_>) -> Option<u64> {
        let models = entries.iter().filter(|_| self.is_fed(entry));
        let trial = models
            .filter(|other| other.rung() == self.server.fed_like)
            .find(|other| other.connections == entry.connections)?
            .trials
            .last()?;
        let message = self.series.experiment.message;
        // The backlog may hold lines of requests whose answer came too late to count.
        let written =
            length(message, trial.noted("requests")).saturating_sub(trial.noted("backlog"));
        Some((written as f64 / self.time.as_secs_f64()) as u64)
    }

    /// One run.
    fn run(
        &self,
        entry: &Entry<'_>,
        destination: &OpenDestination,
        time: Duration,
        feed: Option<u64>,
        run: Purpose,
    ) -> Result<Trial, Stopped> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let release = Arc::new(Release::default());
        let sink = destination.sink(Wanted {
            keep: run == Purpose::Verified,
            stall: Some(UNTIL_RELEASED),
            release: release.clone(),
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
        let source = if run == Purpose::Verified {
            LoadSource::BuiltIn
        } else {
            self.source
        };
        let message = self.series.experiment.message;
        let connections = entry.connections.map_or(1, usize::from);
        thread::scope(|scope| {
            let load = thread::Builder::new().spawn_scoped(scope, || {
                let feeding = feeder.map(|(mut terminal, rate)| {
                    let feed = move || feed_at(&mut terminal, rate, time, message);
                    thread::Builder::new().spawn_scoped(scope, feed)
                });
                let (feeding, fed) = match feeding.transpose() {
                    Ok(feeding) => (feeding, Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let clocked = fed.and_then(|()| match run {
                    Purpose::Clocked => load::ask(address, Server::CLOCK),
                    _ => Ok(()),
                });
                let answers = clocked
                    .map_err(|error| error.to_string())
                    .and_then(|()| source.run(address, connections, time));
                // The feeder, too, may be waiting for a stalled reader.
                release.now();
                if let Some(feeding) = feeding {
                    // The server reports a terminal that is gone.
                    let _ = feeding.join();
                }
                let stopped = load::ask(address, Server::STOP).map_err(|error| error.to_string());
                answers.and_then(|answers| stopped.map(|()| answers))
            })?;
            let child = child::run(
                &mut command,
                StandardStream::Stdout,
                sink,
                &self.series.report,
            );
            let answers = load
                .join()
                .unwrap_or_else(|_| Err("the load panicked".to_owned()));
            // Prefer the server's own error, which is nearer to the cause.
            let trial = child?;
            Ok(Trial {
                answers: Some(answers.map_err(Stopped::Failed)?),
                ..trial
            })
        })
    }
}

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Verified,
    Timed,
    Clocked,
}

/// As often as a helper thread writes.
const FEED_EVERY: Duration = Duration::from_millis(4);

/// Writes messages to a terminal at a rate, in bytes a second; the last of them when the time is over.
fn feed_at(
    terminal: &mut impl Write,
    rate: u64,
    time: Duration,
    message: Generator,
) -> std::io::Result<()> {
    let begun = Instant::now();
    let mut text = Vec::new();
    let (mut index, mut fed) = (0, 0.0);
    loop {
        let elapsed = begun.elapsed().min(time);
        let due = rate as f64 * elapsed.as_secs_f64();
        text.clear();
        while fed + (text.len() as f64) < due {
            message(index, &mut text);
            index += 1;
        }
        terminal.write_all(&text)?;
        fed += text.len() as f64;
        if elapsed == time {
            return Ok(());
        }
        thread::sleep(FEED_EVERY);
    }
}

/// Every request has its line, once and in order, or is counted as dropped.
fn check_lines(
    kept: &[u8],
    requests: u64,
    dropped: u64,
    request_of: fn(&str) -> Option<u64>,
) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_a_line_or_is_counted() {
        let line = |n| format!("request {n}: answered 200\r\n");
        let check = |kept: &[u8], requests, dropped| {
            check_lines(kept, requests, dropped, |line| {
                line.strip_prefix("request ")?
                    .split_once(':')?
                    .0
                    .parse()
                    .ok()
            })
        };
        let text = line(1) + "[outpace: 2 messages (120 B) dropped here]\r\n" + &line(4);
        assert_eq!(check(text.as_bytes(), 4, 2), Ok(()));
        assert!(
            check(text.as_bytes(), 5, 2)
                .unwrap_err()
                .contains("2 lines and 2 counted")
        );
        assert!(
            check((line(2) + &line(1)).as_bytes(), 2, 0)
                .unwrap_err()
                .contains("after 2")
        );
        assert!(
            check(b"request x", 1, 0)
                .unwrap_err()
                .contains("unknown line")
        );
    }

    #[test]
    fn a_series_has_as_many_runs_as_its_time_allows() {
        let minutes = |minutes: u64| runs_within(Duration::from_secs(60 * minutes), 20, false);
        assert_eq!((minutes(0), minutes(2), minutes(60)), (3, 4, 10));
        assert_eq!(runs_within(Duration::ZERO, 10, true), 2);
    }

    /// A terminal that never gets more than is due at a million bytes a second, by one message of 7 bytes at most.
    struct Metered {
        begun: Instant,
        fed: usize,
    }

    impl Write for Metered {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.fed += bytes.len();
            let due = self.begun.elapsed().as_secs_f64() * 1e6;
            assert!(self.fed as f64 <= due + 7.0, "{} of {due}", self.fed);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_control_is_fed_at_the_rate_of_its_model() {
        let message: Generator = |_, into| into.extend_from_slice(b"a line\n");
        let mut terminal = Metered {
            begun: Instant::now(),
            fed: 0,
        };
        feed_at(&mut terminal, 1_000_000, Duration::from_millis(20), message).unwrap();
        // All of it, in whole messages.
        assert_eq!(terminal.fed, 20_000_usize.next_multiple_of(7));
    }
}
