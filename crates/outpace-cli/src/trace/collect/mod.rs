//! Running the program under one of the mechanisms, or attaching one to it.

mod breakpoints;
pub(super) mod exact;
mod peek;
mod stacks;
pub(super) mod threads;
mod watch;
pub(super) mod watched;

use crate::platform::ending::Ending;
use crate::platform::procfs::{self, Processor, Stat};
use crate::platform::{clock, gate};
use crate::trace::model::{Recording, Unseen};
use crate::user::quantity::counted;
use exact::ptrace::Tracer;
use exact::tracepoints::{self, Rings};
use exact::{Ledger, LedgerEntry};
use rustix::process::{getpid, set_child_subreaper};
use stacks::Recorder;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use watch::Watcher;
use watched::Watched;

/// The subject of a trace.
pub(super) enum Subject {
    /// A program that is started for it.
    Program(Command),
    /// A process that is running already.
    Process(i32),
}

/// A run, with the writes that were seen: processes, with the kernel's counts of their writes; or every call, by program and stream.
type Recorded = io::Result<(Recording, Vec<Watched>, Vec<LedgerEntry>)>;

/// Traces it to its end: every call (`exact`), or by counters and samples. For a profile with at most so many spans, if any.
pub(super) fn record(subject: Subject, exact: bool, most_spans: usize) -> Recorded {
    let mut run = Recording::default();
    run.timeline.most = most_spans;
    let process = match subject {
        Subject::Process(process) => Some(process),
        Subject::Program(_) => None,
    };
    let (mut recorder, mut held) = (None, None);
    // Called with the process while it certainly exists and, if it is ours, has not begun.
    let mut ready = |process| {
        held = procfs::status(process, "TracerPid").filter(|tracer| tracer != "0");
        if exact || most_spans > 0 {
            // The shell that starts perf ends first: perf must not become our child.
            let _ = set_child_subreaper(None);
            recorder = Some(Recorder::start(process));
        }
        // From now on the program's orphans become our children, and their counts belong to the trace.
        let _ = set_child_subreaper(Some(getpid()));
    };
    // Others are not the program's.
    let _ = procfs::own_children();
    process.into_iter().for_each(&mut ready);
    let before = processor_time(process, Processor::default());
    let mechanism = if exact { exactly } else { lightly };
    let (mut run, processes, calls) = mechanism(subject, run, &mut ready)?;
    // It may have been killed before it began. One that was running already is no child of ours.
    let ending = run.ending.or_else(|| Ending::of(run.root).ok().flatten());
    run.ending = ending.filter(|_| process.is_none());
    // Those that nobody has waited for have become ours.
    let mut left = process.map_or_else(procfs::own_children, |_| Vec::new());
    // As process 1 we are the parent of perf, too.
    let perf = recorder.iter().flatten().map(|recorder| recorder.group);
    perf.for_each(|group| left.retain(|&child| Stat::of(child).is_none_or(|it| it.group != group)));
    let times = left.iter().filter_map(|&child| Stat::of(child));
    let apart = before.plus(Processor::of(0, run.stops_ns));
    let used = processor_time(process, run.last).since(apart);
    let used = times.map(Stat::with_children).fold(used, Processor::plus);
    // Of children that the kernel reaped itself, only what was seen is known.
    if used.user_ns + used.system_ns > run.user_ns + run.system_ns {
        (run.user_ns, run.system_ns) = (used.user_ns, used.system_ns);
    }
    // Threads are held or wait for a processor at the same time, and after their end: both together take no more than the time in
    // which they did not run. Tracepoints take processor time.
    let ran_ns = (run.user_ns + run.system_ns).saturating_sub(run.beside_ns);
    let mut not_running_ns = run.wall_ns.saturating_sub(ran_ns);
    if !exact {
        run.overhead_ns = run.overhead_ns.min(not_running_ns);
        not_running_ns -= run.overhead_ns;
    }
    run.delayed_ns = run.delayed_ns.min(not_running_ns);
    for child in left {
        let name = procfs::name(child).unwrap_or_default();
        let state = match Stat::of(child).is_some_and(Stat::is_over) {
            true => "has ended after it: its last writes may not be counted".to_owned(),
            false => format!("goes on: `outpace trace -p {child}` watches it"),
        };
        let left = format!("process {child} ({name}), which the program left behind, {state}");
        run.notes.push(left);
    }
    run.unseen = run.unseen.max(held.map(|_| Unseen::Held));
    match recorder.map(|recorder| recorder.and_then(Recorder::finish)) {
        None => {}
        Some(Ok(samples)) => run.samples = samples,
        Some(Err(error)) => run.notes.push(format!("no call stacks: perf: {error}")),
    }
    Ok((run, processes, calls))
}

/// Of a process and its descendants (`last` where it is gone), or of the children that have been reaped.
fn processor_time(process: Option<i32>, last: Processor) -> Processor {
    let of_tree = |process| {
        let stats = procfs::tree(vec![process]).into_keys().filter_map(Stat::of);
        stats.map(Stat::with_children).reduce(Processor::plus)
    };
    process.map_or_else(clock::children, |process| of_tree(process).unwrap_or(last))
}

/// By the kernel's counters and samples.
fn lightly(subject: Subject, run: Recording, ready: &mut dyn FnMut(i32)) -> Recorded {
    let (began_ns, watcher) = match subject {
        Subject::Process(process) => (clock::now_ns(), Watcher::new(run, process, false)),
        Subject::Program(command) => gate::start(command, |root, mut gate| {
            ready(root);
            let watcher = Watcher::new(run, root, true);
            // A short program may end before we run again.
            let began_ns = clock::now_ns();
            // Should it be gone, that is seen next.
            let _ = gate.write_all(b"!");
            Ok((began_ns, watcher))
        })?,
    };
    let (run, processes) = watcher.watch(began_ns)?;
    Ok((run, processes, Vec::new()))
}

/// Of a program at its gate, or of a process that is running already, with its descendants.
fn every_call(
    root: i32,
    gate: Option<UnixStream>,
    ledger: &mut Ledger,
    ready: &mut dyn FnMut(i32),
) -> io::Result<()> {
    let launched = gate.is_some();
    ledger.run.root = root;
    (procfs::tree(vec![root]).keys()).for_each(|&process| ledger.look_at(process));
    let rings = Rings::open(root, launched);
    if launched {
        // After the rings, as perf locks memory, too.
        ready(root);
    }
    match rings {
        Ok(rings) => tracepoints::watch(rings, gate, ledger),
        Err(refusal) => {
            let both = |error| format!("tracepoints: {refusal}; ptrace: {error}");
            let tracer = Tracer::attach(ledger, launched);
            let tracer =
                tracer.map_err(|error| io::Error::new(io::ErrorKind::Unsupported, both(error)));
            tracer?.run(gate)?;
            ledger.run.notes.push(format!(
                "tracepoints are not available here ({refusal}); as root, or with CAP_PERFMON, a readable tracefs (`mount -t \
                 tracefs tracefs /sys/kernel/tracing`) and enough locked memory, tracing costs a hundredth, and setuid programs keep their privileges"
            ));
            Ok(())
        }
    }
}

/// Every call, by the cheapest mechanism that is allowed.
fn exactly(subject: Subject, run: Recording, ready: &mut dyn FnMut(i32)) -> Recorded {
    let mut ledger = Ledger::default();
    ledger.run = run;
    match subject {
        Subject::Program(command) => gate::start(command, |root, gate| {
            every_call(root, Some(gate), &mut ledger, ready)
        }),
        Subject::Process(root) => every_call(root, None, &mut ledger, ready),
    }?;
    let mut run = std::mem::take(&mut ledger.run);
    if run.lost > 0 {
        let lost = counted(run.lost, "record") + " were lost: too little locked memory";
        run.notes.push(lost);
    }
    // Where it hardly slept, those waits were short.
    let sleeps = run.asleep_ns.is_none_or(|ns| ns > run.wall_ns / 10);
    run.unseen = (run.unseen).filter(|&way| sleeps || way != Unseen::Polled);
    // Leaves at least the program's own processor time.
    let most_ns = run.wall_ns.saturating_sub(clock::children().user_ns);
    run.overhead_ns = run.overhead_ns.min(most_ns);
    Ok((run, Vec::new(), ledger.into_entries()))
}
