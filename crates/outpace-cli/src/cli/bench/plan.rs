//! How much of each experiment a bench measures, and how long that takes.

use std::time::{Duration, Instant};

use super::Bench;
use super::choice::Choice;
use crate::bench::destination::size::Size;
use crate::bench::destination::{Destination, ReadPace};
use crate::bench::experiment::{Experiment, Method, Rung};
use crate::bench::runner::timetable::Timetable;
use crate::bench::runner::{self, Plan};
use crate::fps::canvas::StandardStream;

/// The time for a quick bench.
const QUICK: Duration = Duration::from_secs(50);
/// The part of it for compiling.
pub(super) const COMPILING: Duration = Duration::from_secs(8);
/// After this time a quick bench begins no more series.
const LAST: Duration = Duration::from_secs(57);

impl Bench {
    /// How much to measure of one experiment at one destination, in about the time of the budget.
    pub(super) fn plan(
        &self,
        choice: &Choice,
        method: Method,
        budget: Duration,
        until: Option<Instant>,
    ) -> Plan {
        let connections = match (&self.connections[..], self.quick) {
            ([], true) => runner::CONNECTIONS[..1].to_vec(),
            ([], false) => runner::CONNECTIONS.to_vec(),
            (given, _) => given.to_vec(),
        };
        let servers = choice.rungs.len() * connections.len();
        let runs = match (method, self.quick) {
            (Method::Programs | Method::Timed(_), true) => 2,
            (Method::Programs | Method::Timed(_), false) | (Method::Arrival(_), _) => 3,
            (Method::Requests(_), quick) => runner::runs_within(budget, servers, quick),
            (Method::Frames, true) => 3,
            (Method::Work | Method::Process | Method::Terminal, true) => 5,
            (_, false) => 10,
        };
        // Verifying warms the others up.
        let warms_up = matches!(method, Method::Work | Method::Process | Method::Terminal);
        let pause = match (self.slow, self.quick) {
            (true, _) => 1_000,
            (false, true) => 12,
            (false, false) => 100,
        };
        let size = match method {
            Method::Frames if !self.quick => Size {
                columns: 200,
                rows: 60,
            },
            _ => Size::default(),
        };
        Plan {
            runs: self.runs.map_or(runs, usize::from),
            warmup: (self.warmup).map_or(usize::from(warms_up && !self.quick), usize::from),
            budget,
            messages: self.messages,
            connections,
            pause: Duration::from_millis(pause),
            time: match method {
                Method::Timed(timed) if !self.quick => timed.time,
                _ => Duration::from_millis(400),
            },
            size: self.size.unwrap_or(size),
            brief: self.quick,
            until,
        }
    }

    /// Divides the time for everything among the series, each of which has a limit.
    pub(super) fn timetable(&self, chosen: &[Choice], began: Instant) -> Timetable {
        let weight = chosen
            .iter()
            .map(|choice| {
                let series = self.destinations(choice.experiment).len() as u32;
                series * self.weight(choice.experiment.method)
            })
            .sum();
        if self.quick {
            let left = QUICK.saturating_sub(began.elapsed());
            Timetable::new(left, weight, Duration::from_millis(1_200))
        } else {
            Timetable::new(
                Duration::from_secs(18 * 60),
                weight,
                Duration::from_secs(50),
            )
        }
    }

    /// The time after which no run begins; `None` if the user has chosen how much to measure.
    pub(super) fn end(&self, began: Instant) -> Option<Instant> {
        let decides = self.runs.is_none() && self.messages.is_none();
        (self.quick && decides).then_some(began + LAST)
    }

    pub(super) fn destinations(&self, experiment: &Experiment) -> Vec<Destination> {
        if !self.to.is_empty() {
            return self.to.clone();
        }
        let read = |name: &&str| {
            name.parse()
                .expect("an experiment's destinations are valid")
        };
        let all = experiment.to.iter().map(read);
        // Opening a real terminal takes longer than measuring all other destinations. One that does not read costs a second
        // a rung.
        let stalled = Destination::Pty(ReadPace::Stalled);
        let slow = |to: &Destination| {
            to.kind() == "terminal"
                || (matches!(experiment.method, Method::Frames) && *to == stalled)
        };
        let most = match experiment.method {
            // Each run starts a language twice, and starting takes most of the time.
            Method::Programs if self.quick => 1,
            _ => usize::MAX,
        };
        all.filter(|to| !self.quick || !slow(to))
            .take(most)
            .collect()
    }

    /// Whether a quick bench leaves a rung out, unless the user has named it.
    pub(super) fn leaves_out(&self, experiment: &Experiment, rung: &Rung) -> bool {
        let is_repeated = matches!(experiment.method, Method::Programs)
            && (rung.is_relayed || matches!(rung.stream, StandardStream::Stderr));
        // Rungs with bytes and a baseline of their own answer a further question.
        let is_aside = rung.message.is_some() && rung.baseline.is_some();
        self.quick && (is_repeated || is_aside || rung.takes_long)
    }

    /// The length of a series that is measured this way, as a multiple of most others'.
    pub(super) fn weight(&self, method: Method) -> u32 {
        match method {
            // Dozens of programs, each started a dozen times, however short the time is.
            Method::Programs if self.quick => 8,
            Method::Requests(_) | Method::Frames => 3,
            _ => 1,
        }
    }
}
