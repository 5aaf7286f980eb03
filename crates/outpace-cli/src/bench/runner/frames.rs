//! A series of rungs that draw: how many frames a second the terminal takes, and what a frame costs.
//!
//! Backends differ by a factor of a thousand, so each rung draws as many frames as take its time. The clock
//! stops when the terminal has answered that it has worked through all of them, or when the last byte was
//! read. At a terminal that does not read, frames come at the pace of an application, and what counts is how
//! long drawing one holds it up; the terminal stalls for as long as all of them should take.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::child::{self, Sample, Stopped};
use super::contestant::Contestant;
use super::rows::Row;
use super::series::{Outcome, Plan, order};
use super::stats::{Ratio, Spread};
use super::{calls, shown, stats};
use crate::bench::catalogue::Experiment;
use crate::bench::destination::reader::{Release, Wanted};
use crate::bench::destination::venue::{Venue, scratch};
use crate::bench::destination::{Destination, Pace};
use crate::platform::interrupts;

/// Between frames, where they are paced: 60 a second.
const PAUSE: Duration = Duration::from_millis(16);

/// What a rung needs to begin at a terminal that does not answer.
const BEGINNING: Duration = Duration::from_millis(300);

/// Runs a series. `progress` is told what is being done and how much of it is done.
pub(crate) fn run(
    experiment: &'static Experiment,
    contestants: &[Contestant],
    to: &Destination,
    plan: &Plan,
    progress: &mut dyn FnMut(&str, f64),
) -> Outcome {
    let mut entries: Vec<Entry<'_>> = contestants.iter().map(Entry::new).collect();
    let prepared = scratch()
        .map_err(|error| error.to_string())
        .and_then(|scratch| {
            if !to.is_terminal() {
                return Err("it draws, and this is no terminal".to_owned());
            }
            let venue = Venue::open(to, plan.size, &scratch)?;
            let proof = Venue::open(&Destination::Pty(Pace::AtOnce), plan.size, &scratch)?;
            Ok((venue, proof, scratch))
        });
    let mut terminal = None;
    match prepared {
        Err(reason) => {
            for entry in &mut entries {
                entry.skipped.get_or_insert_with(|| reason.clone());
            }
        }
        Ok((venue, proof, scratch)) => {
            terminal.clone_from(&venue.terminal);
            let series = Series {
                stalled: *to == Destination::Pty(Pace::Stalled),
                plan,
                venue,
                proof,
                report: scratch.path().join("report"),
            };
            series.all(&mut entries, progress);
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
    compare(experiment, &mut rows);
    Outcome {
        rows,
        warnings: Vec::new(),
    }
}

/// A contestant and what it has done so far.
struct Entry<'a> {
    contestant: &'a Contestant,
    /// How many a run draws.
    frames: u64,
    samples: Vec<Sample>,
    verified: bool,
    skipped: Option<String>,
    failed: Option<String>,
}

impl<'a> Entry<'a> {
    fn new(contestant: &'a Contestant) -> Self {
        Self {
            contestant,
            frames: 1,
            samples: Vec::new(),
            verified: false,
            skipped: contestant.obstacle().map(str::to_owned),
            failed: None,
        }
    }

    fn competes(&self) -> bool {
        self.skipped.is_none() && self.failed.is_none()
    }

    fn row(&self, experiment: &Experiment, to: &Destination) -> Row {
        let median = |value: &dyn Fn(&Sample) -> u64| {
            stats::median(&self.samples.iter().map(value).collect::<Vec<_>>())
        };
        let spread = |value: fn(&Sample) -> u64| Spread::of(self.samples.iter().map(value));
        let ran = !self.samples.is_empty();
        let presented = median(&|sample| self.presented(sample));
        let frame_times: Vec<u64> = self
            .samples
            .iter()
            .map(|sample| delivered_ns(sample) / self.presented(sample).max(1))
            .collect();
        let bytes = median(&|sample| sample.report.written.unwrap_or(0));
        let calls = self
            .samples
            .iter()
            .find_map(|sample| calls::noted(&sample.report));
        let unpaced = ran && calls.is_none();
        let rate = 1e9 / stats::median(&frame_times).max(1) as f64;
        let grown = |sample: &Sample| sample.report.notes.get("grown_bytes").copied();
        Row {
            experiment: experiment.name.to_owned(),
            rung: self.contestant.name.clone(),
            to: to.to_string(),
            messages: self.frames,
            bytes,
            runs: self.samples.len() as u64,
            wall_ns: spread(|sample| sample.report.wall_ns).filter(|_| unpaced),
            caller_ns: spread(|sample| sample.report.caller_ns).filter(|_| unpaced),
            cpu_ns: spread(|sample| {
                // What it took to make the pictures is not the backend's.
                let pictures = noted(sample, "pictures_ns");
                sample.report.cpu_ns.saturating_sub(pictures)
            })
            .filter(|_| unpaced),
            delivered_ns: spread(delivered_ns).filter(|_| unpaced),
            writes: ran.then(|| median(&|sample| sample.report.writes.unwrap_or(0))),
            verified: self.verified,
            samples: if unpaced { frame_times } else { Vec::new() },
            fps: unpaced.then_some(rate),
            frames_presented: ran.then_some(presented),
            frames_skipped: ran.then(|| median(&|sample| noted(sample, "skipped"))),
            bytes_per_frame: ran.then(|| bytes as f64 / presented.max(1) as f64),
            draw_call_ns: calls,
            memory_bytes: self.samples.iter().filter_map(grown).max(),
            skipped: self.skipped.clone(),
            failed: self.failed.clone(),
            ..Row::default()
        }
    }

    /// The frames of a run that the terminal was given.
    fn presented(&self, sample: &Sample) -> u64 {
        self.frames.saturating_sub(noted(sample, "skipped"))
    }
}

fn noted(sample: &Sample, name: &str) -> u64 {
    sample.report.notes.get(name).copied().unwrap_or(0)
}

/// Until the terminal had everything, or until the last write where nobody can tell.
fn delivered_ns(sample: &Sample) -> u64 {
    sample.delivered_ns().unwrap_or(sample.report.wall_ns)
}

/// The ratio of each row's time a frame to its baseline's, in pairs of the same round.
fn compare(experiment: &Experiment, rows: &mut [Row]) {
    let times: Vec<(String, Vec<u64>)> = rows
        .iter()
        .map(|row| (row.rung.clone(), row.samples.clone()))
        .collect();
    for row in rows {
        let Some(rung) = experiment.rung(&row.rung) else {
            continue;
        };
        let baseline = experiment.baseline_of(rung);
        if let Some((_, samples)) = times.iter().find(|(name, _)| name == baseline) {
            row.ratio = Ratio::paired(&row.samples, samples);
            row.baseline = Some(baseline.to_owned());
        }
    }
}

/// The state of a series while it runs.
struct Series<'a> {
    stalled: bool,
    plan: &'a Plan,
    venue: Venue,
    /// Where the pictures are verified.
    proof: Venue,
    report: PathBuf,
}

impl Series<'_> {
    fn all(&self, entries: &mut [Entry<'_>], progress: &mut dyn FnMut(&str, f64)) {
        // At a terminal that does not read one run says it all.
        let (warmup, runs) = match self.stalled {
            true => (0, 1),
            false => (self.plan.warmup, self.plan.runs),
        };
        let rounds = warmup + runs;
        let time = self
            .plan
            .budget
            .div_f64((entries.len() * rounds).max(1) as f64);
        let steps = (entries.len() * (rounds + 1)).max(1) as f64;
        let mut step = 0.0;
        let mut begin = |entry: &Entry<'_>, what: &str| {
            progress(&format!("{what} {}", entry.contestant.name), step / steps);
            step += 1.0;
        };
        for entry in entries.iter_mut() {
            begin(entry, "verifying");
            if let Some(guess) = self.verify(entry) {
                entry.frames = self.suitable_frames(entry, guess, time);
            }
        }
        draw_the_same(entries);
        for round in 0..rounds {
            for index in order(entries.len(), round, warmup) {
                let entry = &mut entries[index];
                begin(entry, &format!("round {} of {rounds},", round + 1));
                let frames = entry.frames;
                if let Some(sample) = self.once(entry, &self.venue, frames, false)
                    && round >= warmup
                {
                    entry.samples.push(sample);
                }
            }
        }
    }

    /// One run; `None` when it gave nothing.
    fn once(
        &self,
        entry: &mut Entry<'_>,
        venue: &Venue,
        frames: u64,
        keep: bool,
    ) -> Option<Sample> {
        if !entry.competes() || interrupts::came() {
            return None;
        }
        Stopped::note(self.try_once(entry, venue, frames, keep), &mut entry.failed)
    }

    fn try_once(
        &self,
        entry: &Entry<'_>,
        venue: &Venue,
        frames: u64,
        keep: bool,
    ) -> Result<Sample, Stopped> {
        let paced = self.stalled && !keep;
        let pause = if paced { PAUSE } else { Duration::ZERO };
        let mut command = entry
            .contestant
            .command(frames, pause)
            .map_err(Stopped::Failed)?;
        if let Some(term) = venue.term() {
            // What a backend may send depends on it.
            command
                .env("TERM", term)
                .env_remove("TMUX")
                .env_remove("ZELLIJ");
        }
        let stream = entry.contestant.rung.stream;
        let release = Arc::new(Release::default());
        let sink = venue.sink(Wanted {
            keep,
            answers: true,
            release: paced.then(|| release.clone()),
            ..Wanted::default()
        })?;
        std::thread::scope(|scope| {
            if paced {
                let stall = BEGINNING + PAUSE * u32::try_from(frames).unwrap_or(u32::MAX);
                scope.spawn(move || {
                    std::thread::sleep(stall);
                    release.now();
                });
            }
            child::run(&mut command, stream, sink, &self.report)
        })
    }

    /// Compares what a terminal shows after a few frames with what it should. Gives how long a frame took.
    fn verify(&self, entry: &mut Entry<'_>) -> Option<Duration> {
        let frames = if self.plan.brief { 2 } else { 5 };
        let sample = self.once(entry, &self.proof, frames, true)?;
        let Some(workload) = entry.contestant.rung.draws else {
            entry.failed = Some("it draws nothing".to_owned());
            return None;
        };
        match shown::verify(&sample.received.kept, workload, frames, self.plan.size) {
            Ok(()) => entry.verified = true,
            Err(wrong) => entry.failed = Some(format!("wrong picture: {wrong}")),
        }
        Some(Duration::from_nanos(delivered_ns(&sample) / frames))
    }

    /// So many frames that a run takes about so long: a guess, and where there is time for it, runs that
    /// come nearer.
    fn suitable_frames(&self, entry: &mut Entry<'_>, guess: Duration, time: Duration) -> u64 {
        if let Some(frames) = self.plan.messages {
            return frames.max(1);
        }
        if self.stalled {
            return 60;
        }
        let within = |each: Duration| {
            let frames = time.as_secs_f64() / each.as_secs_f64().max(1e-6);
            (frames as u64).clamp(1, MOST_FRAMES)
        };
        let mut frames = within(guess);
        if self.plan.brief {
            return frames;
        }
        loop {
            let Some(sample) = self.once(entry, &self.venue, frames, false) else {
                return frames;
            };
            // Ending the process takes a moment, too.
            let took = Duration::from_nanos(delivered_ns(&sample));
            let better = within(took.div_f64(frames as f64));
            if took * 2 >= time || better <= frames {
                return better;
            }
            frames = better.min(frames * 16);
        }
    }
}

/// Where few rungs are compared with one of their own, they draw as many frames: later frames of a workload
/// may be dearer than the first.
fn draw_the_same(entries: &mut [Entry<'_>]) {
    let group = |entry: &Entry<'_>| entry.contestant.rung.baseline;
    let drawn: Vec<_> = entries
        .iter()
        .filter(|entry| entry.competes())
        .map(|entry| (group(entry), entry.frames))
        .collect();
    for entry in entries.iter_mut().filter(|entry| group(entry).is_some()) {
        let own = group(entry);
        let same = drawn.iter().filter(|(other, _)| *other == own);
        let least = same.map(|&(_, frames)| frames).min();
        entry.frames = least.unwrap_or(entry.frames);
    }
}

/// A run has no more frames than this.
const MOST_FRAMES: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::find;
    use crate::bench::runner::figures::rows_of;

    #[test]
    fn each_row_is_compared_with_its_own_baseline() {
        let names = [
            ("log-crossterm", "pty", 1),
            ("log-outpace", "pty", 1),
            ("idle-crossterm", "pty", 1),
            ("idle-outpace", "pty", 1),
        ];
        let mut rows = rows_of("draw", &names);
        for (row, time) in rows.iter_mut().zip([100, 50, 10, 40]) {
            row.samples = vec![time; 3];
        }
        compare(find("draw").unwrap(), &mut rows);
        let ratios: Vec<f64> = rows
            .iter()
            .filter_map(|row| Some(row.ratio?.median))
            .collect();
        assert_eq!(ratios, [1.0, 0.5, 1.0, 4.0]);
        assert_eq!(rows[3].baseline.as_deref(), Some("idle-crossterm"));
    }
}
