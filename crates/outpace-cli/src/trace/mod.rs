//! `outpace trace`: is this program slowed by its output, and why?
//!
//! Its folders are layers, from the kernel up: [`kernel`] asks, [`model`] names, [`collect`] records a run,
//! [`judge`] finds the answer, [`view`] shows it. The default mode ([`collect::watched`]) reads the kernel's counters
//! and samples the threads; `--exact` ([`collect::exact`]) sees every write call. Both end in
//! [`model::Findings`], on which [`judge::verdict::Verdict`] speaks.

mod collect;
mod judge;
mod kernel;
mod model;
mod view;

use crate::platform::ending::Ending;
use crate::platform::procfs::{self, IoCounters};
use crate::platform::{descriptors, interrupts, signals};
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, require_files, require_proc};
use crate::user::output::{self, Reserved};
use crate::user::quantity::whole;
use crate::user::screen::Screen;
use clap::Args;
use collect::Subject;
use fxprof_processed_profile::Profile;
use judge::verdict::Verdict;
use judge::{stacks, streams};
use model::{Findings, MOST_SPANS};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use view::{json, profile, report};

/// Tell whether a program is slowed by its output, and what would help
///
/// Runs the command, or watches a running process, and says how much of the time went into writing
/// its streams, how each is buffered, what each is connected to, whether the reader or the number of
/// system calls is the limit, and what to do about it, in the program's language.
///
/// The default mode needs no privileges and costs the program next to nothing: it reads the kernel's
/// counters (/proc/PID/io), samples /proc/PID/task/*/syscall, and looks at how some of the writes end:
/// it stops the program at sixteen of them, and now and then at two more, or, where that could cut one in two (on terminals and
/// sockets), has the kernel note them for a moment or samples faster. --exact sees every write call.
///
/// The report goes to stderr. The exit status is the command's; where that is 0 and the report or a file of it could not be
/// written, it is 1. Signals are passed on to it. When it is stopped, so is `trace`, and both
/// go on together. A signal to the whole process group (kill %1) may reach it twice.
#[derive(Args, Debug)]
pub(crate) struct Trace {
    /// See every write call: counts, sizes, durations, and the call stacks that lead to them
    ///
    /// Through the kernel's tracepoints where this user may use them (one to two microseconds a
    /// call), else through ptrace, which stops the program at every system call (tens of microseconds
    /// each; setuid programs run without their privileges, and programs that trace others fail). There
    /// is no verdict where seeing a write takes about as long as the write, as under ptrace. Writes
    /// through io_uring are not seen, nor are waits for room in poll(2) and its like, after writes that
    /// found none (EAGAIN): the default mode counts these. Call stacks are sampled where perf is installed and allowed.
    #[arg(long)]
    exact: bool,

    /// Write the findings to this file as JSON
    ///
    /// docs/trace.schema.json describes it, as a JSON Schema. A file that is there is replaced at the end: a run that does not
    /// take place leaves it as it is. /dev/stdout is written behind what the command wrote.
    #[arg(long, value_name = "FILE", value_parser = output::file())]
    json: Option<PathBuf>,

    /// Write a profile for the Firefox Profiler (profiler.firefox.com) to this file
    ///
    /// A track for each stream, with a marker for each write that was seen to wait, or, with --exact, for
    /// each write and counters of bytes; and call stacks where perf is installed and allowed.
    #[arg(long, value_name = "FILE", value_parser = output::file())]
    profile: Option<PathBuf>,

    /// Watch this process, until it ends or Ctrl-C
    #[arg(short, long, value_name = "PID", conflicts_with = "command", value_parser = whole::<i32>(1..=i32::MAX as u64))]
    pid: Option<i32>,

    /// The command; everything after it is its own
    #[arg(
        trailing_var_arg = true,
        value_name = "CMD",
        required_unless_present = "pid"
    )]
    command: Vec<OsString>,
}

impl Action for Trace {
    const NAME: &'static str = "trace";

    fn run(self) -> Outcome {
        output::distinct(&[("--json", &self.json), ("--profile", &self.profile)])?;
        require_proc()?;
        require_files()?;
        signals::make_file_limit_an_error();
        let json = self.json.as_deref().map(Reserved::at).transpose()?;
        let profile = self.profile.as_deref().map(Reserved::at).transpose()?;
        let most_spans = MOST_SPANS * usize::from(profile.is_some());
        interrupts::install(self.pid.is_none());
        let mut findings = self.observe(most_spans)?;
        if self.profile.is_some() && !self.exact {
            let note = "the profile shows only writes that were seen to wait; --exact shows all";
            findings.run.notes.push(note.to_owned());
        }
        let shown = Self::show(&findings, [json, profile]);
        let ending = findings.run.ending.unwrap_or(Ending::Exited(0));
        // A command that fails itself says more by its status.
        match shown {
            Err(failure) if ending != Ending::Exited(0) => _ = failure.report(),
            shown => shown?,
        }
        Ok(ending.repeat())
    }
}

impl Trace {
    /// Writes what was found to the files that are wanted, and to stderr.
    fn show(findings: &Findings, [json, profile]: [Option<Reserved>; 2]) -> Result<(), Failure> {
        let verdict = Verdict::on(findings);
        let value = || json::value(findings, &verdict);
        let json = json.map_or(Ok(()), |file| file.fill_json(&value()));
        let profile = profile.map_or(Ok(()), |file| file.fill_json(&profile::build(findings)));
        let screen = Screen::of_or_endless(&io::stderr());
        let shown = io::stderr()
            .write_all(report::text(findings, &verdict, screen).as_bytes())
            .map_err(|error| Failure::failed("stderr", error));
        json.and(profile).and(shown)
    }

    /// Traces what the command line names.
    fn observe(&self, most_spans: usize) -> Result<Findings, Failure> {
        let subject = match self.pid {
            Some(process) => {
                let running = procfs::running_threads(process);
                IoCounters::of(process)
                    .and_then(|_| running.first().ok_or(io::ErrorKind::NotFound.into()))
                    .map_err(|error| self.cannot_start(&error))?;
                Subject::Process(process)
            }
            None => {
                let mut command = Command::new(&self.command[0]);
                command.args(&self.command[1..]);
                signals::pass_on_to(&mut command);
                descriptors::limit_as_before(&mut command);
                descriptors::close_as_before(&mut command, [true; 3]);
                Subject::Program(command)
            }
        };
        findings_of(subject, self.exact, most_spans).map_err(|error| self.cannot_start(&error))
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        match (self.pid, self.command.first()) {
            (None, _) if error.kind() == io::ErrorKind::Unsupported => {
                Failure::failed("--exact is not permitted here", error)
                    .remedy("run it without --exact")
            }
            (None, Some(program)) => Failure::cannot_start(program, error),
            (process, _) => Failure::cannot_watch(process.unwrap_or(0), error),
        }
    }
}

/// Traces the subject to its end, and names its streams.
fn findings_of(subject: Subject, exact: bool, most_spans: usize) -> io::Result<Findings> {
    let command = match &subject {
        Subject::Process(process) => vec![procfs::name(*process).unwrap_or_default()],
        Subject::Program(command) => {
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|it| it.to_string_lossy().into_owned()).collect()
        }
    };
    let (mut run, processes, calls) = collect::record(subject, exact, most_spans)?;
    let (mut streams, elsewhere) = streams::exact(&calls, &run);
    streams.extend(streams::sampled(&processes, &run));
    let (stacks, is_lost) = stacks::at_writes(&run.samples);
    if is_lost {
        run.notes.push("most call stacks at the writes end in the C library, which keeps no frame pointers here; `perf record --call-graph dwarf` follows them".to_owned());
    }
    Ok(Findings {
        command,
        stacks,
        run,
        streams,
        elsewhere,
    })
}

/// Runs a program to its end and gives a profile of all its writes, of at most `most_spans` markers.
pub(crate) fn profile_of(command: Command, most_spans: usize) -> io::Result<Profile> {
    let program = Path::new(command.get_program()).file_name();
    let program = program.map(|program| program.to_string_lossy().into_owned());
    let mut findings = findings_of(Subject::Program(command), true, most_spans)?;
    // Where it is, is of no interest.
    findings.command.splice(..1, program);
    match findings.run.ending {
        Some(Ending::Exited(0)) => Ok(profile::build(&findings)),
        Some(ending) => Err(io::Error::other(ending.describe())),
        None => Err(io::Error::other("it could not be watched")),
    }
}
