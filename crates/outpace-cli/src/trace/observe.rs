//! Running the program under one of the mechanisms, or attaching one to it.

use super::exact::{Ledger, gate, ptrace, tracepoints};
use super::findings::{self, Calibrations, Elsewhere, Mode};
use super::procfs::IoCounters;
use super::stacks::{Recorder, Sample};
use super::timeline::Timeline;
use super::watch;
use crate::platform::clock;
use crate::platform::ending::Ending;
use rustix::process::{getpid, set_child_subreaper};
use std::io;
use std::process::Command;

/// What is traced.
pub(super) enum Subject {
    /// A program that is started for it.
    Program(Command),
    /// A process that is running already.
    Process(i32),
}

/// What one of the mechanisms gave, before it is judged.
pub(super) struct Observed {
    pub(super) root: i32,
    pub(super) mode: Mode,
    pub(super) ending: Option<Ending>,
    pub(super) streams: Vec<findings::Stream>,
    pub(super) elsewhere: Elsewhere,
    pub(super) wall_ns: u64,
    pub(super) overhead_ns: u64,
    pub(super) delayed_ns: u64,
    pub(super) tree: Option<IoCounters>,
    pub(super) notes: Vec<String>,
    pub(super) timeline: Timeline,
    pub(super) samples: Vec<Sample>,
}

/// The stacks, when they are wanted.
struct Stacks {
    wanted: bool,
    recorder: Option<io::Result<Recorder>>,
}

impl Stacks {
    fn wanted(wanted: bool) -> Self {
        Self {
            wanted,
            recorder: None,
        }
    }

    /// Called with the process while it is certainly there and, if it is ours, does nothing yet.
    fn ready(&mut self, process: i32) {
        if self.wanted {
            // What is left behind by it is not to become ours.
            let _ = set_child_subreaper(None);
            self.recorder = Some(Recorder::start(process));
        }
        // From now on we get the orphans of the program, whose counts are its own.
        let _ = set_child_subreaper(Some(getpid()));
    }

    fn finish(self, notes: &mut Vec<String>) -> Vec<Sample> {
        let samples = self
            .recorder
            .map(|recorder| recorder.and_then(Recorder::finish));
        match samples {
            None => Vec::new(),
            Some(Ok(samples)) => samples,
            Some(Err(error)) => {
                notes.push(format!("the profile has no call stacks: perf: {error}"));
                Vec::new()
            }
        }
    }
}

/// By the kernel's counters and looks now and then.
pub(super) fn lightly(
    subject: Subject,
    timeline: Timeline,
    with_stacks: bool,
) -> io::Result<Observed> {
    let mut stacks = Stacks::wanted(with_stacks);
    let found = match subject {
        Subject::Process(process) => {
            stacks.ready(process);
            watch::other(process, timeline)?
        }
        Subject::Program(command) if with_stacks => {
            let root = gate::start(command, None, |root, gate| {
                stacks.ready(root);
                gate.open()?;
                Ok(root)
            })?;
            watch::child(root, timeline)?
        }
        Subject::Program(mut command) => {
            set_child_subreaper(Some(getpid()))?;
            let root = command.spawn()?.id() as i32;
            watch::child(root, timeline)?
        }
    };
    let mut notes = Vec::new();
    let seen: u64 = found
        .processes
        .iter()
        .map(|process| process.own().write_calls)
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
        wall_ns: found.wall_ns,
        overhead_ns: 0,
        delayed_ns: found.delayed_ns,
        tree: found.tree,
        samples: stacks.finish(&mut notes),
        notes,
        timeline: found.timeline,
    })
}

/// Every call, by the cheapest mechanism that is allowed.
pub(super) fn exactly(
    subject: Subject,
    timeline: Timeline,
    with_stacks: bool,
) -> io::Result<Observed> {
    let mut ledger = Ledger::with_timeline(timeline);
    let mut stacks = Stacks::wanted(with_stacks);
    let mut notes = vec!["writes through io_uring are not seen".to_owned()];
    let permission = tracepoints::Permission::check();
    if let Subject::Process(process) = subject {
        stacks.ready(process);
    }
    let mut ready = |root| stacks.ready(root);
    let outcome = match (&permission, subject) {
        (Ok(permission), Subject::Process(process)) => {
            tracepoints::attach(permission, process, &mut ledger)?
        }
        (Ok(permission), Subject::Program(command)) => {
            tracepoints::run(permission, command, &mut ledger, &mut ready)?
        }
        (Err(refusal), subject) => {
            notes.push(format!(
                "tracepoints are not available here ({refusal}); as root, or with the capability CAP_PERFMON \
                 and a readable /sys/kernel/tracing, tracing costs a hundredth of this"
            ));
            match subject {
                Subject::Process(process) => ptrace::attach(process, &mut ledger)?,
                Subject::Program(command) => {
                    notes.push(
                        "setuid programs run without their privileges under ptrace".to_owned(),
                    );
                    ptrace::run(command, &mut ledger, &mut ready)?
                }
            }
        }
    };
    let samples = stacks.finish(&mut notes);
    let (entries, timeline) = ledger.into_entries();
    let calls: u64 = entries.iter().map(|entry| entry.tally.calls).sum();
    let in_calls_ns: u64 = entries
        .iter()
        .map(|entry| entry.tally.durations_ns.sum())
        .sum();
    let call_ns = permission
        .as_ref()
        .map_or(0, |permission| permission.cost_of_a_call().unwrap_or(0));
    if let Ok(permission) = permission {
        permission.release();
    }
    let mode = outcome.mode;
    let (streams, elsewhere) =
        findings::exact(entries, mode, call_ns / 2, &mut Calibrations::default());
    let writing_ns = streams.iter().map(findings::Stream::writing_ns).sum();
    let overhead_ns = match mode {
        Mode::Tracepoints { .. } => calls * call_ns,
        // Half of a stop's cost lies inside the measured durations, as much again outside.
        _ => 2 * in_calls_ns.saturating_sub(writing_ns) + outcome.stopped_ns,
    };
    // Never so much that less is left than the program needs by itself.
    let own_ns = writing_ns + clock::children_ns().0;
    Ok(Observed {
        root: outcome.root,
        mode,
        ending: outcome.ending,
        streams,
        elsewhere,
        wall_ns: outcome.wall_ns,
        overhead_ns: overhead_ns.min(outcome.wall_ns.saturating_sub(own_ns)),
        delayed_ns: outcome.delayed_ns,
        tree: None,
        notes,
        timeline,
        samples,
    })
}
