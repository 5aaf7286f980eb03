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
mod procfs;
mod profile;
mod report;
mod tally;
mod target;
mod timeline;
mod verdict;
mod watch;

use crate::commands::Action;
use crate::failure::{Failure, Outcome};
use crate::process::ending::Ending;
use crate::process::{clock, interrupts, signals};
use clap::Args;
use exact::{Ledger, ptrace, tracepoints};
use findings::{Calibrations, Elsewhere, Findings, Mode};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use timeline::Timeline;
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
    /// ptrace it stops at every system call. Writes through io_uring are not seen.
    #[arg(long)]
    exact: bool,

    /// Write the findings to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write a profile for the Firefox Profiler (profiler.firefox.com) to this file
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Watch this process, until it ends or Ctrl-C
    #[arg(short, long, value_name = "PID", conflicts_with = "command", value_parser = clap::value_parser!(i32).range(1..))]
    pid: Option<i32>,

    /// The command and its arguments
    #[arg(last = true, value_name = "CMD", required_unless_present = "pid")]
    command: Vec<OsString>,
}

impl Action for Trace {
    const NAME: &'static str = "trace";

    fn run(self) -> Outcome {
        // Opened before the program runs: a name that cannot be written to should not cost a run.
        let json = self.json.as_deref().map(create).transpose()?;
        let profile = self.profile.as_deref().map(create).transpose()?;
        let timeline = if profile.is_some() {
            Timeline::recording()
        } else {
            Timeline::default()
        };
        interrupts::install();
        let (findings, timeline) = self.observe(timeline)?;
        let verdict = Verdict::on(&findings);
        if let (Some(file), Some(path)) = (json, &self.json) {
            store(file, path, &json::value(&findings, &verdict))?;
        }
        if let (Some(file), Some(path)) = (profile, &self.profile) {
            store(file, path, &profile::build(&findings, &timeline))?;
        }
        io::stderr()
            .write_all(report::text(&findings, &verdict).as_bytes())
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

/// What one of the mechanisms gave, before it is judged.
struct Observed {
    root: i32,
    mode: Mode,
    ending: Option<Ending>,
    streams: Vec<findings::Stream>,
    elsewhere: Elsewhere,
    overhead_ns: u64,
    tree: Option<procfs::IoCounters>,
    notes: Vec<String>,
    timeline: Timeline,
}

impl Trace {
    fn observe(&self, timeline: Timeline) -> Result<(Findings, Timeline), Failure> {
        if let Some(process) = self.pid {
            procfs::IoCounters::of(&process.to_string()).map_err(|error| {
                Failure::failed(format!("process {process}"), error)
                    .remedy("give the number of a running process of yours (or trace as root)")
            })?;
        }
        let processor_before = processor_time(self.pid);
        let began_ns = clock::now_ns();
        let mut wall_ns = None;
        let observed = if self.exact {
            self.observe_exactly(timeline, &mut wall_ns)
        } else {
            self.observe_lightly(timeline, &mut wall_ns)
        };
        let observed = observed.map_err(|error| self.cannot_start(&error))?;
        let wall_ns = wall_ns.unwrap_or_else(|| clock::now_ns() - began_ns);
        let processor = processor_time(self.pid);
        let findings = Findings {
            command: match self.pid {
                Some(process) => vec![procfs::name(process).unwrap_or_default()],
                None => self
                    .command
                    .iter()
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect(),
            },
            root: observed.root,
            mode: observed.mode,
            ending: observed.ending,
            wall_ns,
            overhead_ns: observed.overhead_ns.min(wall_ns),
            user_ns: processor.0.saturating_sub(processor_before.0),
            system_ns: processor.1.saturating_sub(processor_before.1),
            streams: observed.streams,
            elsewhere: observed.elsewhere,
            tree: observed.tree,
            notes: observed.notes,
        };
        Ok((findings, observed.timeline))
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        match (self.pid, self.command.first()) {
            (None, Some(program)) => Failure::failed(program.display(), error).remedy(match error.kind() {
                io::ErrorKind::NotFound => "check the name, or give the program's path",
                io::ErrorKind::PermissionDenied => "make it executable",
                _ => "run the command by itself to see whether it starts",
            }),
            (process, _) => Failure::failed(format!("process {}", process.unwrap_or(0)), error)
                .remedy("trace it as the user it belongs to, or as root; only one tracer may be attached"),
        }
    }

    fn child(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        signals::pass_mask_on(&mut command);
        command
    }

    fn observe_lightly(
        &self,
        timeline: Timeline,
        wall_ns: &mut Option<u64>,
    ) -> io::Result<Observed> {
        let found = match self.pid {
            Some(process) => watch::other(process, timeline)?,
            None => {
                rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
                let root = self.child().spawn()?.id() as i32;
                watch::child(root, timeline)?
            }
        };
        *wall_ns = Some(found.wall_ns);
        let mut notes = Vec::new();
        let seen: u64 = found
            .processes
            .iter()
            .map(|process| process.own.write_calls)
            .sum();
        if let Some(tree) = found
            .tree
            .filter(|tree| tree.write_calls > seen + seen / 100 + 1)
        {
            notes.push(format!(
                "{} of {} write calls were made by processes that ended before they were looked at",
                tree.write_calls - seen,
                tree.write_calls
            ));
        }
        Ok(Observed {
            root: found.root,
            mode: Mode::Sampled { looks: found.looks },
            ending: found.ending,
            streams: findings::sampled(&found, &mut Calibrations::default()),
            elsewhere: Elsewhere::default(),
            overhead_ns: 0,
            tree: found.tree,
            notes,
            timeline: found.timeline,
        })
    }

    fn observe_exactly(
        &self,
        timeline: Timeline,
        wall_ns: &mut Option<u64>,
    ) -> io::Result<Observed> {
        let mut ledger = Ledger::with_timeline(timeline);
        let began_ns = clock::now_ns();
        let mut notes = vec!["writes through io_uring are not seen".to_owned()];
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        let permission = tracepoints::Permission::check();
        let (root, mode, ending, stopped_ns) = match &permission {
            Ok(permission) => {
                let outcome = match self.pid {
                    Some(process) => tracepoints::attach(*permission, process, &mut ledger)?,
                    None => tracepoints::run(*permission, self.child(), &mut ledger)?,
                };
                (
                    outcome.root,
                    Mode::Tracepoints { lost: outcome.lost },
                    outcome.ending,
                    0,
                )
            }
            Err(refusal) => {
                notes.push(format!(
                    "tracepoints are not available here ({refusal}); as root, or with the capability CAP_PERFMON \
                     and a readable /sys/kernel/tracing, tracing costs a hundredth of this"
                ));
                let outcome = match self.pid {
                    Some(process) => ptrace::attach(process, &mut ledger)?,
                    None => {
                        notes.push(
                            "setuid programs run without their privileges under ptrace".to_owned(),
                        );
                        ptrace::run(self.child(), &mut ledger)?
                    }
                };
                (
                    outcome.root,
                    Mode::Ptrace,
                    outcome.ending,
                    outcome.stopped_ns,
                )
            }
        };
        let took_ns = clock::now_ns() - began_ns;
        *wall_ns = Some(took_ns);
        let (entries, timeline) = ledger.into_entries();
        let calls: u64 = entries.iter().map(|entry| entry.tally.calls).sum();
        let in_calls_ns: u64 = entries
            .iter()
            .map(|entry| entry.tally.durations_ns.sum())
            .sum();
        let call_ns = permission
            .as_ref()
            .map_or(0, |permission| permission.cost_of_a_call().unwrap_or(0));
        let (streams, elsewhere) =
            findings::exact(entries, mode, call_ns / 2, &mut Calibrations::default());
        let overhead_ns = match mode {
            Mode::Tracepoints { .. } => calls * call_ns,
            // Half of a stop's cost lies inside the measured durations, as much again outside.
            _ => {
                2 * in_calls_ns
                    .saturating_sub(streams.iter().map(findings::Stream::writing_ns).sum())
                    + stopped_ns
            }
        };
        // Never so much that less is left than the program needs by itself.
        let own_ns = streams
            .iter()
            .map(findings::Stream::writing_ns)
            .sum::<u64>()
            + procfs::children_time().0;
        Ok(Observed {
            root,
            mode,
            ending,
            streams,
            elsewhere,
            overhead_ns: overhead_ns.min(took_ns.saturating_sub(own_ns)),
            tree: None,
            notes,
            timeline,
        })
    }
}

/// User and system time, in nanoseconds: of a process, or of the children that have been reaped.
fn processor_time(process: Option<i32>) -> (u64, u64) {
    match process {
        Some(process) => {
            procfs::Usage::of(process).map_or((0, 0), |usage| (usage.user_ns, usage.system_ns))
        }
        None => procfs::children_time(),
    }
}
