//! The results of a bench: the machine it ran on, and a row for each rung and destination.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine::Machine;
use super::stats::{ConfidenceInterval, Ratio, Spread};
use crate::user::failure::Failure;
use crate::user::inert::inert;
use crate::user::output::not_written;

/// The object that `--export-json` writes and `report` reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The command that made them.
    #[serde(default)]
    pub(crate) command: String,
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

/// One rung at one destination. Times are of a whole run, in nanoseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) experiment: String,
    pub(crate) rung: String,
    pub(crate) to: String,
    pub(crate) terminal: Option<TerminalInfo>,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) runs: u64,
    /// To the end of the final flush.
    pub(crate) wall_ns: Option<Spread>,
    /// The program's own time, without the final flush.
    pub(crate) caller_ns: Option<Spread>,
    /// Processor time of the rung's process.
    pub(crate) cpu_ns: Option<Spread>,
    /// From the first message to the arrival of the last byte at the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delivered_ns: Option<Spread>,
    /// System calls that write, in the middle one of the runs.
    pub(crate) writes: Option<u64>,
    /// Whether the bytes were compared with the expected ones before any time was reported.
    pub(crate) verified: bool,
    /// The wall time of each run, in the order of the rounds: comparisons pair runs of one round. Of pictures the time of a
    /// frame.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<u64>,
    /// Figures that only rows of its kind have.
    #[serde(flatten)]
    pub(crate) kind: RowKind,
    /// The figure from the literature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) published: Option<Published>,
    /// The rung that `ratio` is against, in pairs of runs of the same round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<Ratio>,
    /// Why it did not run here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skipped: Option<String>,
    /// The failure of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
    /// The failure that was published: the rung is there to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fails_as_published: Option<String>,
}

/// The figures that only one kind of experiment has. In JSON they stand beside the others, and their names tell
/// the kind; a row that did not run has none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum RowKind {
    Server(ServerFigures),
    Frames(FrameFigures),
    Timed(TimedFigures),
    Terminal(TerminalFigures),
    Arrivals(ArrivalFigures),
    Work(WorkFigures),
}

impl Default for RowKind {
    fn default() -> Self {
        Self::Work(WorkFigures::default())
    }
}

/// The figures of programs that write.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct WorkFigures {
    /// The reads that ended within a line, for a thousand messages: a terminal may have shown a torn line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) torn_per_1000: Option<f64>,
    /// The time that each call took its caller, if calls are clocked one by one. Then a message takes the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) call_ns: Option<Latency>,
}

/// The figures of programs whose text is clocked at its arrival.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ArrivalFigures {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) arrivals: Vec<Arrival>,
}

/// The figures of programs that work for a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TimedFigures {
    /// Time in the system calls that write.
    pub(crate) write_ns: Spread,
    /// A sampling profiler's count in the published time.
    pub(crate) profiler_samples: ProfilerSamples,
}

/// The figures of servers under load.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ServerFigures {
    /// How many connections the load came from.
    pub(crate) connections: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_second: Option<Spread>,
    /// From a request to the end of its answer; median and p99 are the medians of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer_ns: Option<Latency>,
    /// How long a log call held its caller up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_call_ns: Option<Latency>,
    /// Bytes that the log dropped, and bytes still to be written when the load was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dropped_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) backlog_bytes: Option<u64>,
}

impl ServerFigures {
    /// The figures of a server that did not run.
    pub(crate) fn of(connections: u16) -> Self {
        Self {
            connections: connections.into(),
            ..Self::default()
        }
    }
}

/// The figures of rungs that draw.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FrameFigures {
    /// Frames a second that the terminal was given, up to its answer that it had them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fps: Option<f64>,
    /// Frames of one run that were given to it, and frames that newer ones replaced before.
    pub(crate) frames_presented: u64,
    pub(crate) frames_skipped: u64,
    pub(crate) bytes_per_frame: f64,
    /// How long drawing a frame held its caller up, where frames come at a pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) draw_call_ns: Option<Latency>,
    /// The growth of the process's memory since its work began, at its peak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
}

/// The figures of terminals.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TerminalFigures {
    /// Bytes a second, until the program had written them.
    pub(crate) written_per_second: f64,
    /// Bytes a second, until the terminal had worked through them; `None` of a rung that asks instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) consumed_per_second: Option<f64>,
    /// From a question to its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report_ns: Option<Latency>,
}

/// The terminal a row was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TerminalInfo {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    /// Its abilities, where it was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) supports: Vec<String>,
}

/// The times of many calls, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) median: u64,
    pub(crate) p99: u64,
    /// One in a thousand takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p99_9: Option<u64>,
    pub(crate) max: u64,
    /// The maximum of the times, each less the thread's wait for a processor in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_less_delay: Option<u64>,
    /// The control: the longest gap, less delay, of the same thread reading the clock for as long as the calls took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) machine_max: Option<u64>,
}

/// A figure from the literature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Published {
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
}

impl Published {
    pub(crate) fn ns_per_message(self) -> f64 {
        self.seconds * 1e9 / self.messages.max(1) as f64
    }

    pub(crate) fn per_second(self) -> f64 {
        self.messages as f64 / self.seconds
    }
}

/// Samples that a profiler takes of a thread while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProfilerSamples {
    pub(crate) measured: u64,
    pub(crate) published: Option<u64>,
}

/// When a text reached the reader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Arrival {
    /// The text's name.
    pub(crate) text: String,
    /// The step that wrote it.
    pub(crate) written_at: String,
    /// The last step that had begun when it arrived.
    pub(crate) arrived_at: String,
    /// From the write to the arrival; the median of the runs.
    pub(crate) after_ns: u64,
    /// The spread over all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spread_ns: Option<Spread>,
}

/// Methods that return the figures of one kind, if a row is of it.
macro_rules! kinds {
    ($($name:ident: $kind:ident($figures:ty);)*) => {
        impl Row {
            $(pub(crate) fn $name(&self) -> Option<&$figures> {
                match &self.kind {
                    RowKind::$kind(figures) => Some(figures),
                    _ => None,
                }
            })*
        }
    };
}

kinds! {
    server: Server(ServerFigures);
    frames: Frames(FrameFigures);
    terminal_figures: Terminal(TerminalFigures);
    timed: Timed(TimedFigures);
    work: Work(WorkFigures);
}

impl Row {
    /// Whether it has figures of its own.
    pub(crate) fn ran(&self) -> bool {
        self.runs > 0 && self.failed.is_none() && self.skipped.is_none()
    }

    /// Frames a second.
    pub(crate) fn fps(&self) -> Option<f64> {
        self.frames()?.fps
    }

    /// When the text of each step arrived, for experiments about that.
    pub(crate) fn arrivals(&self) -> &[Arrival] {
        match &self.kind {
            RowKind::Arrivals(figures) => &figures.arrivals,
            _ => &[],
        }
    }

    pub(crate) fn torn_per_1000(&self) -> Option<f64> {
        self.work()?.torn_per_1000
    }

    /// The times of its calls, where they are clocked one by one.
    pub(crate) fn calls(&self) -> Option<Latency> {
        self.work()?.call_ns
    }

    /// The time of a message, run by run; of terminals that of a byte, for messages differ in length.
    pub(crate) fn times(&self) -> Vec<f64> {
        let messages = match self.kind {
            RowKind::Frames(_) => 1,
            RowKind::Terminal(_) => self.bytes.max(1),
            _ => self.messages.max(1),
        };
        let each = |sample: &u64| *sample as f64 / messages as f64;
        self.samples.iter().map(each).collect()
    }

    /// Where the median of these lies; `None` of a single run.
    pub(crate) fn interval(&self) -> Option<ConfidenceInterval> {
        ConfidenceInterval::of_median(&self.times())
    }

    /// System calls that write, for a message.
    pub(crate) fn writes_per_message(&self) -> Option<f64> {
        Some(self.writes? as f64 / self.messages.max(1) as f64)
    }

    /// The buffering of a program that prints each message by two calls, by the number of its write calls.
    pub(crate) fn buffering(&self) -> Option<&'static str> {
        Some(match self.writes_per_message()? {
            0.0..0.5 => "block",
            0.5..1.5 => "line",
            _ => "none",
        })
    }

    /// A measured time divided by the number of messages.
    pub(crate) fn per_message(&self, time: Option<Spread>) -> Option<f64> {
        let time = time?;
        (self.messages > 0).then(|| time.median as f64 / self.messages as f64)
    }

    /// The time that ranks it.
    pub(crate) fn wall_per_message(&self) -> Option<f64> {
        self.per_message(self.wall_ns)
    }
}

impl Results {
    /// Where they come from, in a line.
    pub(crate) fn origin(&self) -> String {
        let Machine { date, outpace, .. } = &self.machine;
        format!(
            "{}, {date}, outpace {outpace}: {}",
            self.machine.summary(),
            self.command
        )
    }

    /// Writes the results. The file is complete at every moment.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let failure = |error: std::io::Error| not_written(path, error);
        let mut text =
            serde_json::to_string_pretty(self).map_err(|error| not_written(path, error))?;
        text.push('\n');
        // Beside it and then over it; a device or a pipe cannot be replaced and is written to.
        if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            return fs::write(path, text).map_err(failure);
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        match fs::write(&draft, &text) {
            // The directory takes no new file, but this one may be written.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                fs::write(path, text).map_err(failure)
            }
            written => written
                .and_then(|()| fs::rename(&draft, path))
                .map_err(|error| {
                    let _ = fs::remove_file(&draft);
                    failure(error)
                }),
        }
    }

    /// Reads what `write` wrote.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let unusable = |cause: String| {
            Failure::failed(path.display(), cause)
                .remedy("make one with: outpace bench --export-json FILE")
        };
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        serde_json::from_str(&text)
            .map(without_active_text)
            .and_then(serde_json::from_value)
            .map_err(|error| unusable(format!("not results of a bench: {error}")))
    }
}

/// The same value with every text made inert: the file may come from a stranger.
fn without_active_text(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(inert(&text).into_owned()),
        Value::Array(items) => items.into_iter().map(without_active_text).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_active_text(value)))
            .collect(),
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Results recorded when all kinds of rows were one read and write the same, field by field.
    #[test]
    fn the_recorded_rows_of_every_kind_read_and_write_the_same() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/results");
        let mut fields = BTreeSet::new();
        for entry in fs::read_dir(recorded).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let before: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let results: Results = serde_json::from_value(before.clone()).unwrap();
            let after = serde_json::to_value(&results).unwrap();
            let rows = |of: &Value| of["rows"].as_array().unwrap().clone();
            for (before, after) in rows(&before).into_iter().zip(rows(&after)) {
                assert_eq!(before, after, "{}", path.display());
                fields.extend(before.as_object().unwrap().keys().cloned());
            }
        }
        for (kind, field) in [
            ("work", "torn_per_1000"),
            ("arrivals", "arrivals"),
            ("timed", "profiler_samples"),
            ("server", "log_call_ns"),
            ("frames", "draw_call_ns"),
        ] {
            assert!(fields.contains(field), "no row of the kind {kind}");
        }
    }
}
