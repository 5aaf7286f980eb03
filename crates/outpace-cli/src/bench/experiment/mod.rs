//! An experiment: a question, the rungs that compete, their measurement, the published figures, and a conclusion computed from
//! the figures. The catalogue has the experiments, the runner runs any of them, and neither imports the other.

pub(crate) mod calls;
pub(crate) mod clock;

use std::fmt;
use std::io;
use std::time::Duration;

use outpace_ratatui::workloads::{Scene, Workload};

use crate::bench::destination::check::{Generator, Order};
use crate::bench::destination::size::Size;
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::Row;
use crate::bench::toolchain::Source;
use crate::fps::canvas::StandardStream;
use clock::Span;

/// One question about output, and all that is needed to answer it.
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) question: &'static str,
    /// The published figures and claims.
    pub(crate) published: &'static str,
    /// Where it was published; none where the question is ours.
    pub(crate) sources: &'static [Publication],
    /// The kinds of destination that the published figures are of.
    pub(crate) published_to: &'static [&'static str],
    /// The name of one message in a table.
    pub(crate) unit: &'static str,
    /// Generates the bytes that a rung has to write, in the plainest way. Some rungs have a generator of their own.
    pub(crate) message: Generator,
    /// The messages of a full run, as published.
    pub(crate) messages: u64,
    /// The destinations by default.
    pub(crate) to: &'static [&'static str],
    /// The rung that ratios are taken against: the published best, by the best of several compilers.
    pub(crate) baseline: &'static str,
    pub(crate) method: Method,
    pub(crate) rungs: &'static [Rung],
    /// Answers the question in sentences, from the figures and nothing else.
    pub(crate) conclusion: fn(&Figures<'_>) -> Vec<String>,
}

/// A publication, as a reader finds it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Publication {
    pub(crate) author: &'static str,
    pub(crate) title: &'static str,
    /// `None` of a publication without a date.
    pub(crate) year: Option<u16>,
    pub(crate) link: Option<&'static str>,
}

impl fmt::Display for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            author,
            title,
            year,
            link,
        } = self;
        write!(f, "{author}, {title}")?;
        if let Some(year) = year {
            write!(f, " ({year})")?;
        }
        match link {
            Some(link) => write!(f, ", {link}"),
            None => Ok(()),
        }
    }
}

/// How an experiment is measured, with the facts that the measurement needs.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    /// Each rung clocks its own work, from before the first message to the end of the final flush.
    Work,
    /// The whole process is clocked from outside, from its start to its end; a message is one
    /// process.
    Process,
    /// Each rung is an ordinary program. It is clocked from outside, less the time of a run that prints no line, and its write
    /// calls are counted.
    Programs,
    /// The reader clocks when these texts arrive.
    Arrival(&'static [Passage]),
    /// Each rung is a server under load; a message is a request.
    Requests(&'static Server),
    /// Each rung works for a time, and counts its messages and its time in write calls.
    Timed(&'static Timed),
    /// Not the rung is measured but the terminal: the bytes a second that it works through. The clock stops at its answer to
    /// a question behind the last byte.
    Terminal,
    /// Each rung draws pictures; a message is a frame. The final picture is compared, not the
    /// bytes, and each rung draws as many frames as take the time.
    Frames,
}

/// A text whose arrival is clocked.
pub(crate) struct Passage {
    pub(crate) name: &'static str,
    /// The step of the rung that writes it.
    pub(crate) written_at: &'static str,
    pub(crate) bytes: &'static [u8],
}

/// Servers that log. The experiment's baseline is the rung without a log.
pub(crate) struct Server {
    /// The control for terminals that compete for the processor: it has no log either, and another process
    /// feeds the terminal.
    pub(crate) fed: &'static str,
    /// The rung whose bytes the control's terminal is fed, at their rate. It neither waits for the terminal nor drops lines.
    pub(crate) fed_like: &'static str,
    /// Published requests/s, with one connection, by rung and destination.
    pub(crate) published: &'static [(&'static str, &'static str, u64)],
    /// The number of the request that a line is about.
    pub(crate) request_of: fn(&str) -> Option<u64>,
}

impl Server {
    /// The path of the last request: the server answers, and ends.
    pub(crate) const STOP: &'static str = "/outpace/stop";
    /// The path of the request after which the server clocks its log calls.
    pub(crate) const CLOCK: &'static str = "/outpace/clock";
}

/// Rungs that work for a time.
pub(crate) struct Timed {
    /// The published time.
    pub(crate) time: Duration,
    /// A profiler's samples in the published time, from the processor time and the wall time of any run.
    pub(crate) samples: fn(cpu_ns: u64, wall_ns: u64) -> u64,
    /// The published samples, by rung.
    pub(crate) published: &'static [(&'static str, u64)],
    /// The bytes of a number of messages on a terminal of a size.
    pub(crate) expected: fn(Size, u64) -> io::Result<Vec<u8>>,
}

/// One contestant: a way to write the bytes of its experiment.
pub(crate) struct Rung {
    pub(crate) name: &'static str,
    /// How it writes, in a line.
    pub(crate) about: &'static str,
    pub(crate) origin: Origin,
    pub(crate) work: Work,
    /// In which order its messages have to arrive.
    pub(crate) order: Order,
    /// The stream it writes to.
    pub(crate) stream: StandardStream,
    /// Why it has to fail: a form that was published, and does not work.
    pub(crate) fails: Option<&'static str>,
    /// The pictures or lines that it draws, if it draws.
    pub(crate) draws: Option<Drawn>,
    /// The rung that ratios are taken against, where it is not its experiment's.
    pub(crate) baseline: Option<&'static str>,
    /// The generator of its bytes, where these are not its experiment's.
    pub(crate) message: Option<Generator>,
    /// Its standard input, if it reads one.
    pub(crate) reads: Option<Reads>,
    /// Variables of its environment.
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Whether it runs under `outpace run`.
    pub(crate) is_relayed: bool,
    /// Whether it is left out of a quick bench.
    pub(crate) takes_long: bool,
}

/// The standard input of a rung.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    /// The part of the input that each message needs.
    pub(crate) text: Generator,
    /// From a pipe, else from a file.
    pub(crate) pipe: bool,
}

/// Where a rung comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Origin {
    /// Published, with its published figure in seconds for the published number of messages, where
    /// there is one.
    Published(Option<f64>),
    /// outpace itself.
    Outpace,
    /// Added for comparison.
    Added,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(Some(seconds)) => write!(f, "published, {seconds} s"),
            Self::Published(None) => f.write_str("published"),
            Self::Outpace => f.write_str("outpace"),
            Self::Added => f.write_str("for comparison"),
        }
    }
}

/// The code of a rung.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// A function of this program, called in a child process of its own.
    Here(fn(&mut Span) -> io::Result<()>),
    /// A source file, compiled or interpreted.
    Source(&'static Source),
}

impl Rung {
    /// A rung that has none of the properties that the methods below give.
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        origin: Origin,
        work: Work,
    ) -> Self {
        Self {
            name,
            about,
            origin,
            work,
            order: Order::Exact,
            stream: StandardStream::Stdout,
            fails: None,
            draws: None,
            baseline: None,
            message: None,
            reads: None,
            environment: &[],
            is_relayed: false,
            takes_long: false,
        }
    }
}

variants! { Rung:
    /// The same, written by `threads` threads.
    threads(threads: u64) order = Order::PerThread(threads);
    /// The same, on standard error.
    on_stderr() stream = StandardStream::Stderr;
    /// The same, expected to fail.
    fails(why: &'static str) fails = Some(why);
    /// The same, drawing pictures.
    draws(workload: Workload) draws = Some(Drawn::Picture(workload));
    /// The same, leaving in the terminal's scrollback the lines that belong to a number of messages.
    prints(lines: fn(u64) -> Vec<String>) draws = Some(Drawn::Lines(lines));
    /// The same, with a file as its standard input.
    reads_file(text: Generator) reads = Some(Reads { text, pipe: false });
    /// The same, with a pipe as its standard input.
    reads_pipe(text: Generator) reads = Some(Reads { text, pipe: true });
    /// The same, with this in its environment.
    told(environment: &'static [(&'static str, &'static str)]) environment = environment;
    /// The same, under `outpace run`.
    relayed() is_relayed = true;
    /// The same, left out of a quick bench.
    takes_long() takes_long = true;
    /// The same, writing other bytes than its experiment's others do.
    writes(message: Generator) message = Some(message);
    /// The same, compared with another rung than its experiment's others are.
    against(baseline: &'static str) baseline = Some(baseline);
}

impl Experiment {
    /// How a rung of it is measured: rungs that draw may stand beside others.
    pub(crate) fn method_of(&self, rung: &Rung) -> Method {
        match rung.draws {
            Some(_) => Method::Frames,
            None => self.method,
        }
    }

    /// The answer to its question, from its rows; empty without figures for it.
    pub(crate) fn conclude(&self, rows: &[Row]) -> String {
        (self.conclusion)(&Figures::new(self.name, rows)).join(" ")
    }

    /// The rung that a rung's ratios are taken against.
    pub(crate) fn baseline_of(&self, rung: &Rung) -> &'static str {
        rung.baseline.unwrap_or(self.baseline)
    }

    /// The bytes that a rung has to write.
    pub(crate) fn message_of(&self, rung: &Rung) -> Generator {
        rung.message.unwrap_or(self.message)
    }

    /// Whether the rung of that name is one of outpace's.
    pub(crate) fn is_ours(&self, name: &str) -> bool {
        let rung = self.rung(name);
        rung.is_some_and(|rung| matches!(rung.origin, Origin::Outpace))
    }

    /// The rung of that name.
    pub(crate) fn rung(&self, name: &str) -> Option<&Rung> {
        self.rungs.iter().find(|rung| rung.name == name)
    }
}

/// The expected screen at the end.
#[derive(Clone, Copy)]
pub(crate) enum Drawn {
    Picture(Workload),
    /// Lines in its scrollback and on its screen, by the number of messages.
    Lines(fn(u64) -> Vec<String>),
}

/// The frames that rungs draw.
pub(crate) fn bare_scene(workload: Workload) -> Scene {
    let mut scene = Scene::new(workload);
    scene.set_header(Vec::new());
    scene
}

/// The generator of experiments in which each rung has bytes of its own.
pub(crate) fn no_bytes(_: u64, _: &mut Vec<u8>) {}
