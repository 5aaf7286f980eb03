//! What a bench leaves behind: the machine it ran on, and a row for each rung and destination.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::stats::{Ratio, Spread};
use crate::user::failure::Failure;

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
    pub(crate) terminal: Option<Terminal>,
    /// Of a server: how many connections the load came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connections: Option<u64>,
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
    /// Time in those system calls, where the rung clocks them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) write_ns: Option<Spread>,
    /// What a sampling profiler counts in the published time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) profiler_samples: Option<ProfilerSamples>,
    /// System calls that write, in the middle one of the runs.
    pub(crate) writes: Option<u64>,
    /// How often, in a thousand messages, the reader had to see one torn: reads that ended within
    /// a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) torn_per_1000: Option<f64>,
    /// Whether the bytes were compared with the expected ones before any time was reported.
    pub(crate) verified: bool,
    /// The wall time of each run in the order of the rounds, so that runs can be paired again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<u64>,
    /// When the text of each step arrived, for experiments about that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) arrivals: Vec<Arrival>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_second: Option<Spread>,
    /// From a request to the end of its answer; median and p99 are the medians of the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer_ns: Option<Latency>,
    /// How long a log call held its caller up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) log_call_ns: Option<Latency>,
    /// What a server's log dropped, and what was still to be written when the load was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dropped_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) backlog_bytes: Option<u64>,
    /// Of pictures: frames a second that the terminal was given, until it answered that it had them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fps: Option<f64>,
    /// Those frames of one run, and those that newer ones replaced before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frames_presented: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frames_skipped: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bytes_per_frame: Option<f64>,
    /// How long drawing a frame held its caller up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) draw_call_ns: Option<Latency>,
    /// How much more memory the process had at most than when its work began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
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
    /// What went wrong when it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<String>,
    /// What went wrong as published: the rung is there to show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fails_as_published: Option<String>,
}

/// The terminal a row was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terminal {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// How long something took that happens often, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Latency {
    pub(crate) median: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
    /// The maximum of the times less what of each the thread waited for a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_less_delay: Option<u64>,
    /// The longest, less delay, that the same thread was away while for as long as the calls took it did nothing
    /// but read the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) machine_max: Option<u64>,
}

/// A figure from the literature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Published {
    pub(crate) seconds: f64,
    pub(crate) messages: u64,
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
}

impl Row {
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

    /// Writes the results so that the file is complete whenever it is looked at.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let said = |error: std::io::Error| {
            Failure::failed(path.display(), error).remedy("name a file that can be written")
        };
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::failed(path.display(), error))?;
        text.push('\n');
        // Beside it and then over it; a device or a pipe cannot be replaced and is written to.
        if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            return fs::write(path, text).map_err(said);
        }
        let mut draft = path.as_os_str().to_owned();
        draft.push(".part");
        match fs::write(&draft, &text) {
            // The directory takes no new file, but this one may be written.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                fs::write(path, text).map_err(said)
            }
            written => written
                .and_then(|()| fs::rename(&draft, path))
                .map_err(|error| {
                    let _ = fs::remove_file(&draft);
                    said(error)
                }),
        }
    }

    /// Reads what `write` wrote.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let unusable = |cause: String| {
            Failure::usage(path.display(), cause)
                .remedy("make one with: outpace bench --export-json FILE")
        };
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        serde_json::from_str(&text)
            .map_err(|error| unusable(format!("not results of a bench: {error}")))
    }
}
