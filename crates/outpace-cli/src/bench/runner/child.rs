//! One run of one contestant: a child process that writes to a sink and reports its times.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::load::Answers;
use crate::bench::destination::open::Sink;
use crate::bench::destination::reader::Received;
use crate::bench::experiment::clock::{self, RungReport};
use crate::fps::canvas::StandardStream;
use crate::platform::clock::{children, now_ns};
use crate::platform::{interrupts, quiet};

/// The figures of one run.
pub(super) struct Trial {
    pub(super) report: RungReport,
    pub(super) received: Received,
    /// Of a server: the answers to its load.
    pub(super) answers: Option<Answers>,
}

impl Trial {
    pub(super) fn new(report: RungReport, received: Received) -> Self {
        Self {
            report,
            received,
            answers: None,
        }
    }

    /// A count by the rung itself; 0 where it kept none.
    pub(super) fn noted(&self, name: &str) -> u64 {
        self.report.notes.get(name).copied().unwrap_or(0)
    }

    /// From the first message to the arrival of the last byte, where that was seen.
    pub(super) fn delivered_ns(&self) -> Option<u64> {
        let last_at = self.received.last_at?;
        Some(last_at.saturating_sub(self.report.started_ns))
    }

    /// Until the terminal had everything, or until the last write where that is not known.
    pub(super) fn delivered_or_written_ns(&self) -> u64 {
        self.delivered_ns().unwrap_or(self.report.wall_ns)
    }
}

/// Why a run gave no figures.
#[derive(Debug)]
pub(super) enum Stopped {
    Interrupted,
    Failed(String),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs a command into a sink; it reports to the file `report`.
pub(super) fn run(
    command: &mut Command,
    stream: StandardStream,
    sink: Sink<'_>,
    report: &Path,
) -> Result<Trial, Stopped> {
    match fs::remove_file(report) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    command.env(clock::REPORT, report);
    let (received, _) = to_the_end_at(command, stream, sink)?;
    let text = fs::read_to_string(report)
        .map_err(|_| Stopped::Failed("it ended without a report".to_owned()))?;
    let report = RungReport::parse(&text).map_err(Stopped::Failed)?;
    Ok(Trial::new(report, received))
}

/// Runs a command into a sink and clocks the whole process from outside.
pub(super) fn run_clocked_outside(
    command: &mut Command,
    stream: StandardStream,
    sink: Sink<'_>,
) -> Result<Trial, Stopped> {
    command.env_remove(clock::REPORT);
    let before = children();
    let started_ns = now_ns();
    let (received, ended_ns) = to_the_end_at(command, stream, sink)?;
    let wall_ns = ended_ns.saturating_sub(started_ns);
    let report = RungReport {
        started_ns,
        caller_ns: wall_ns,
        wall_ns,
        cpu_ns: children().since(before).total_ns,
        ..RungReport::default()
    };
    Ok(Trial::new(report, received))
}

/// The user's settings for other programs must not change a measurement.
pub(crate) fn ignore_settings(command: &mut Command) {
    for name in ["OUTPACE_STDOUT", "OUTPACE_STDERR", "_STDBUF_O", "_STDBUF_E"] {
        command.env_remove(name);
    }
}

/// Runs a command with one of its streams connected to the sink. Also returns the time at which it ended.
fn to_the_end_at(
    command: &mut Command,
    stream: StandardStream,
    sink: Sink<'_>,
) -> Result<(Received, u64), Stopped> {
    let (measured, end) = sink.split();
    match stream {
        StandardStream::Stdout => command.stdout(measured).stderr(Stdio::piped()),
        StandardStream::Stderr => command.stderr(measured).stdout(Stdio::piped()),
    };
    ignore_settings(command);
    let mut child = command.spawn()?;
    // Closes our copies, which the command holds. The reader waits until the last writing end is closed, and clients wait
    // for as long as a listening socket is open.
    quiet(command);
    let output = wait(&mut child);
    if output.is_err() {
        // It may have ended meanwhile.
        let _ = child.kill();
    }
    let status = child.wait()?;
    let ended_ns = now_ns();
    // Ctrl-C goes to the child, too, which may end before the signal arrives here.
    if status.signal() == Some(libc::SIGINT) {
        interrupts::note(libc::SIGINT);
    }
    let received = end.finish();
    let output = output?;
    if interrupts::came() {
        return Err(Stopped::Interrupted);
    }
    if !status.success() {
        let last = output.lines().rfind(|line| !line.trim().is_empty());
        return Err(Stopped::Failed(
            last.map_or_else(|| status.to_string(), cause),
        ));
    }
    Ok((received?, ended_ns))
}

/// The cause in the last line of a child: the part behind program and object, if the error is our own.
fn cause(line: &str) -> String {
    let own = line
        .strip_prefix("outpace: ")
        .and_then(|rest| rest.split_once(": "));
    own.map_or(line, |(_, cause)| cause).to_owned()
}

/// Waits until the child has closed the stream that is not measured, as it does when it ends, and returns the text from
/// there. A wait for the descriptor, unlike one for the process, ends at an interruption.
fn wait(child: &mut Child) -> Result<String, Stopped> {
    let stderr = child.stderr.take().map(OwnedFd::from);
    let Some(other) = stderr.or_else(|| child.stdout.take().map(OwnedFd::from)) else {
        return Ok(String::new());
    };
    let started = Instant::now();
    let mut output = Vec::new();
    let mut buffer = [0; 4096];
    let tick = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    loop {
        if interrupts::came() {
            return Err(Stopped::Interrupted);
        }
        if started.elapsed() > LIMIT {
            return Err(Stopped::Failed(format!(
                "it did not end within {} s",
                LIMIT.as_secs()
            )));
        }
        match poll(&mut [PollFd::new(&other, PollFlags::IN)], Some(&tick)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        match rustix::io::read(&other, &mut buffer).map_err(io::Error::from)? {
            0 => return Ok(String::from_utf8_lossy(&output).into_owned()),
            length => output.extend_from_slice(&buffer[..length]),
        }
    }
}
