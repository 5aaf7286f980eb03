//! `outpace trace`: is this program slowed by its output, and why?
//!
//! The default mode ([`watch`]) reads the kernel's counters and looks at the threads now and then;
//! `--exact` ([`exact`]) sees every write call. Both give [`findings::Findings`], on which
//! [`verdict::Verdict`] speaks; [`report`], [`json`] and [`profile`] show them.

mod calibrate;
mod calls;
mod exact;
mod findings;
mod json;
mod language;
mod memory;
mod observe;
mod pace;
mod printing;
mod procfs;
mod profile;
mod report;
mod stacks;
mod tally;
mod target;
mod timeline;
mod verdict;
mod watch;
mod windows;

use crate::platform::ending::Ending;
use crate::platform::{clock, interrupts, signals};
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, require_proc};
use crate::user::screen::Screen;
use clap::Args;
use findings::Findings;
use fxprof_processed_profile::Profile;
use observe::Subject;
use procfs::IoCounters;
use stacks::Sample;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use timeline::{MOST_SPANS, Timeline};
use verdict::Verdict;

/// Tell whether a program is slowed by its output, and what would help
///
/// Runs the command, or watches a running process, and says how much of the time went into writing
/// its streams, how each is buffered, what each is connected to, whether the reader or the number of
/// system calls is the limit, and what to do about it, in the program's language.
///
/// The default mode needs no privileges and costs the program next to nothing: the kernel's own
/// counters (/proc/PID/io) and regular looks at /proc/PID/task/*/syscall. --exact sees every write
/// call.
///
/// The report goes to stderr. The exit status is the command's.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    /// See every write call: counts, sizes, durations
    ///
    /// Through the kernel's tracepoints where this user may use them (about half a microsecond a
    /// call), else through ptrace with a seccomp filter that stops the program at the write family
    /// only (tens of microseconds a call; setuid programs run without their privileges). With -p and
    /// ptrace it stops at every system call. Under ptrace there is no verdict: a stop takes longer than
    /// most writes. Writes through io_uring are not seen.
    #[arg(long)]
    exact: bool,

    /// Write the findings to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a profile for the Firefox Profiler (profiler.firefox.com) to this file
    ///
    /// A track for each stream with a marker for each write, byte counters, and call stacks where perf
    /// is installed and allowed.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Watch this process, until it ends or Ctrl-C
    #[arg(short, long, value_name = "PID", conflicts_with = "command", value_parser = process_id)]
    pid: Option<i32>,

    /// The command; everything after it is its own
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        required_unless_present = "pid"
    )]
    command: Vec<OsString>,
}

fn process_id(text: &str) -> Result<i32, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| "a process ID is a whole number above 0, as ps shows it".to_owned())
}

impl Action for Trace {
    const NAME: &'static str = "trace";

    fn run(self) -> Outcome {
        require_proc()?;
        // Opened before the program runs: a name that cannot be written to should not cost a run.
        let json = self.json.as_deref().map(create).transpose()?;
        let profile = self.profile.as_deref().map(create).transpose()?;
        let timeline = if profile.is_some() {
            Timeline::recording(MOST_SPANS)
        } else {
            Timeline::default()
        };
        interrupts::install();
        let (findings, recorded) = self.observe(timeline)?;
        let verdict = Verdict::on(&findings);
        if let (Some(file), Some(path)) = (json, &self.json) {
            store(file, path, &json::value(&findings, &verdict))?;
        }
        if let (Some(file), Some(path)) = (profile, &self.profile) {
            store(file, path, &recorded.profile(&findings))?;
        }
        io::stderr()
            .write_all(report::text(&findings, &verdict, Screen::of(&io::stderr())).as_bytes())
            .map_err(|error| Failure::failed("stderr", error))?;
        Ok(findings.ending.map_or(ExitCode::SUCCESS, Ending::repeat))
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::failed(path.display(), error).remedy("choose a file that can be written")
    })
}

fn store(file: File, path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut file = BufWriter::new(file);
    serde_json::to_writer(&mut file, value)
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.flush())
        .map_err(|error| Failure::failed(path.display(), error))
}

impl Trace {
    fn observe(&self, timeline: Timeline) -> Result<(Findings, Recorded), Failure> {
        let (subject, command) = match self.pid {
            Some(process) => {
                IoCounters::of(&process.to_string()).map_err(|error| {
                    Failure::failed(format!("process {process}"), error)
                        .remedy("give the number of a running process of yours (or trace as root)")
                })?;
                let name = procfs::name(process).unwrap_or_default();
                (Subject::Process(process), vec![name])
            }
            None => {
                let words = self.command.iter();
                let words = words.map(|word| word.to_string_lossy().into_owned());
                (Subject::Program(self.child()), words.collect())
            }
        };
        let with_stacks = self.profile.is_some();
        observe(subject, command, self.exact, timeline, with_stacks)
            .map_err(|error| self.cannot_start(&error))
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        match (self.pid, self.command.first()) {
            (None, Some(program)) => Failure::cannot_start(program, error),
            (process, _) => Failure::failed(format!("process {}", process.unwrap_or(0)), error)
                .remedy("trace it as the user it belongs to, or as root; only one tracer may be attached"),
        }
    }

    fn child(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        signals::pass_on_to(&mut command);
        command
    }
}

/// What a profile is made of.
struct Recorded {
    timeline: Timeline,
    samples: Vec<Sample>,
}

fn observe(
    subject: Subject,
    command: Vec<String>,
    exact: bool,
    timeline: Timeline,
    with_stacks: bool,
) -> io::Result<(Findings, Recorded)> {
    let process = match subject {
        Subject::Process(process) => Some(process),
        Subject::Program(_) => None,
    };
    let before = processor_time(process);
    let observed = if exact {
        observe::exactly(subject, timeline, with_stacks)?
    } else {
        observe::lightly(subject, timeline, with_stacks)?
    };
    let after = processor_time(process);
    let user_ns = after.0.saturating_sub(before.0);
    let system_ns = after.1.saturating_sub(before.1);
    // Who gives its memory back waits for a processor after it has ended, too.
    let not_running_ns = observed.wall_ns.saturating_sub(user_ns + system_ns);
    let findings = Findings {
        command,
        root: observed.root,
        mode: observed.mode,
        ending: observed.ending,
        wall_ns: observed.wall_ns,
        overhead_ns: observed.overhead_ns.min(observed.wall_ns),
        delayed_ns: observed.delayed_ns.min(not_running_ns),
        user_ns,
        system_ns,
        streams: observed.streams,
        elsewhere: observed.elsewhere,
        tree: observed.tree,
        notes: observed.notes,
    };
    let recorded = Recorded {
        timeline: observed.timeline,
        samples: observed.samples,
    };
    Ok((findings, recorded))
}

/// Runs a program to its end and gives a profile of all its writes, of so many markers at most.
pub(crate) fn profile_of(command: Command, most_spans: usize) -> io::Result<Profile> {
    let program = Path::new(command.get_program()).file_name();
    let words = program.into_iter().chain(command.get_args());
    let words = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let timeline = Timeline::recording(most_spans);
    let subject = Subject::Program(command);
    let (findings, recorded) = observe(subject, words, true, timeline, true)?;
    match findings.ending {
        Some(Ending::Exited(0)) => Ok(recorded.profile(&findings)),
        ending => Err(io::Error::other(
            ending.map_or("it could not be watched".to_owned(), Ending::describe),
        )),
    }
}

impl Recorded {
    fn profile(&self, findings: &Findings) -> Profile {
        profile::build(findings, &self.timeline, &self.samples)
    }
}

/// User and system time, in nanoseconds: of a process, or of the children that have been reaped.
fn processor_time(process: Option<i32>) -> (u64, u64) {
    match process {
        Some(process) => {
            procfs::Usage::of(process).map_or((0, 0), |usage| (usage.user_ns, usage.system_ns))
        }
        None => clock::children_ns(),
    }
}
