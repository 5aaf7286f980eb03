//! Rungs that draw: frames a second, and the cost of a frame.
//!
//! Backends differ by a factor of a thousand, so each rung draws as many frames as fit its time. The clock
//! stops when the terminal has answered that it has worked through all of them, or when the last byte was
//! read. At a terminal that does not read, frames come at the pace of an application, and the figure is how long
//! drawing one holds the application up; the terminal stalls for as long as all frames should take.

use std::time::Duration;

use super::child::{self, Stopped, Trial};
use super::{Entry, Measurement, Series, shown};
use crate::bench::destination::open::OpenDestination;
use crate::bench::destination::reader::Wanted;
use crate::bench::destination::{Destination, ReadPace};
use crate::bench::experiment::{Drawn, calls};
use crate::bench::results::rows::{FrameFigures, Row, RowKind};
use crate::bench::results::stats;

/// Between frames, where they are paced: 60 a second.
const PAUSE: Duration = Duration::from_millis(16);

/// The time a rung needs to begin at a terminal that does not answer.
const BEGINNING: Duration = Duration::from_millis(300);

/// A run has no more frames than this.
const MOST_FRAMES: u64 = 100_000;

pub(super) struct Drawing<'a> {
    series: Series<'a>,
    stalled: bool,
    /// How long a run should take.
    time: Duration,
}

impl Measurement for Drawing<'_> {
    fn series(&self) -> &Series<'_> {
        &self.series
    }

    fn plan(&mut self, entries: &mut [Entry<'_>]) {
        let runs = entries.len() * (self.series.plan.warmup + self.series.plan.runs);
        self.time = self.series.plan.budget.div_f64(runs.max(1) as f64);
    }

    /// Compares the picture on a terminal after a few frames with the expected one.
    fn verify(&self, entry: &mut Entry<'_>) -> Result<(), Stopped> {
        let plan = &self.series.plan;
        let frames = if plan.brief { 2 } else { 5 };
        let trial = self.run(entry, &self.series.proof, frames, true)?;
        let bytes = &trial.received.kept;
        let wrong = match entry.contestant.rung.draws {
            Some(Drawn::Picture(workload)) => shown::verify(bytes, workload, frames, plan.size)
                .map_err(|wrong| format!("wrong picture: {wrong}")),
            Some(Drawn::Lines(lines)) => shown::verify_lines(bytes, &lines(frames), plan.size),
            None => Err("it draws nothing".to_owned()),
        };
        wrong.map_err(Stopped::Failed)?;
        let guess = Duration::from_nanos(trial.delivered_or_written_ns() / frames);
        entry.messages = self.suitable_frames(entry, guess)?;
        Ok(())
    }

    /// Rungs with the same baseline draw the same number of frames: later frames of a workload may cost more than the first.
    fn begin(&self, entries: &mut [Entry<'_>]) {
        let group = |entry: &Entry<'_>| entry.contestant.rung.baseline;
        let drawn: Vec<_> = entries
            .iter()
            .filter(|entry| entry.competes())
            .map(|entry| (group(entry), entry.messages))
            .collect();
        for entry in entries.iter_mut().filter(|entry| group(entry).is_some()) {
            let own = group(entry);
            let same = drawn.iter().filter(|(other, _)| *other == own);
            let least = same.map(|&(_, frames)| frames).min();
            entry.messages = least.unwrap_or(entry.messages);
        }
    }

    fn once(&self, entries: &[Entry<'_>], index: usize) -> Result<Trial, Stopped> {
        let entry = &entries[index];
        self.run(entry, &self.series.destination, entry.messages, false)
    }

    fn fill(&self, entry: &Entry<'_>, row: &mut Row) {
        row.bytes = entry.median(|trial| trial.report.written.unwrap_or(0));
        row.writes = Some(entry.median(|trial| trial.report.writes.unwrap_or(0)));
        if !self.stalled {
            row.wall_ns = entry.spread(|trial| trial.report.wall_ns);
            row.caller_ns = entry.spread(|trial| trial.report.caller_ns);
            row.cpu_ns = entry.spread(|trial| {
                // Making the pictures is not the backend's work.
                let pictures = trial.noted("pictures_ns");
                trial.report.cpu_ns.saturating_sub(pictures)
            });
            row.delivered_ns = entry.spread(Trial::delivered_or_written_ns);
            row.samples = frame_times(entry);
        }
        let presented = entry.median(|trial| presented(entry, trial));
        let grown = |trial: &Trial| trial.report.notes.get("grown_bytes").copied();
        let mut trials = entry.trials.iter();
        row.kind = RowKind::Frames(FrameFigures {
            fps: (!self.stalled).then(|| 1e9 / stats::median(&row.samples).max(1) as f64),
            frames_presented: presented,
            frames_skipped: entry.median(|trial| trial.noted("skipped")),
            bytes_per_frame: row.bytes as f64 / presented.max(1) as f64,
            draw_call_ns: trials.find_map(|trial| calls::noted(&trial.report)),
            memory_bytes: entry.trials.iter().filter_map(grown).max(),
        });
    }

    /// Paced frames have none: they take as long as the pace.
    fn rates(&self, entry: &Entry<'_>) -> Vec<f64> {
        let times = frame_times(entry).into_iter().filter(|_| !self.stalled);
        times.map(|time| time as f64).collect()
    }
}

impl<'a> Drawing<'a> {
    pub(super) fn new(series: Series<'a>) -> Self {
        Self {
            stalled: *series.to == Destination::Pty(ReadPace::Stalled),
            series,
            time: Duration::ZERO,
        }
    }

    /// One run.
    fn run(
        &self,
        entry: &Entry<'_>,
        destination: &OpenDestination,
        frames: u64,
        keep: bool,
    ) -> Result<Trial, Stopped> {
        let paced = self.stalled && !keep;
        let pause = if paced { PAUSE } else { Duration::ZERO };
        let mut command = entry
            .contestant
            .command(frames, pause)
            .map_err(Stopped::Failed)?;
        if let Some(term) = destination.term() {
            // Backends choose sequences by it.
            command
                .env("TERM", term)
                .env_remove("TMUX")
                .env_remove("ZELLIJ");
        }
        let sink = destination.sink(Wanted {
            keep,
            answers: true,
            stall: paced.then(|| BEGINNING + PAUSE * u32::try_from(frames).unwrap_or(u32::MAX)),
            ..Wanted::default()
        })?;
        let stream = entry.contestant.rung.stream;
        child::run(&mut command, stream, sink, &self.series.report)
    }

    /// The number of frames that fills a run's time: a guess and, if there is time for them, runs that come nearer.
    fn suitable_frames(&self, entry: &Entry<'_>, guess: Duration) -> Result<u64, Stopped> {
        let plan = &self.series.plan;
        if let Some(frames) = plan.messages {
            return Ok(frames.max(1));
        }
        if self.stalled {
            return Ok(60);
        }
        let within = |each: Duration| {
            let frames = self.time.as_secs_f64() / each.as_secs_f64().max(1e-6);
            (frames as u64).clamp(1, MOST_FRAMES)
        };
        let mut frames = within(guess);
        if plan.brief {
            return Ok(frames);
        }
        loop {
            let trial = self.run(entry, &self.series.destination, frames, false)?;
            // Ending the process takes a moment, too.
            let took = Duration::from_nanos(trial.delivered_or_written_ns());
            let better = within(took.div_f64(frames as f64));
            if took * 2 >= self.time || better <= frames {
                return Ok(better);
            }
            frames = better.min(frames * 16);
        }
    }
}

/// The frames of a run that the terminal was given.
fn presented(entry: &Entry<'_>, trial: &Trial) -> u64 {
    entry.messages.saturating_sub(trial.noted("skipped"))
}

fn frame_times(entry: &Entry<'_>) -> Vec<u64> {
    let time = |trial: &Trial| trial.delivered_or_written_ns() / presented(entry, trial).max(1);
    entry.trials.iter().map(time).collect()
}
