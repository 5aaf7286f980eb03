//! The mechanism without privileges: `ptrace`, which stops the program at every call.

use super::Ledger;
use crate::platform::ending::{self, Ending};
use crate::platform::procfs;
use crate::platform::{clock, interrupts, signals, stops};
use crate::trace::kernel::{memory, sys};
use crate::trace::model::{Mode, Unseen};
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Traces by `ptrace`; only the thread that made it may use it.
pub(crate) struct Tracer<'a> {
    ledger: &'a mut Ledger,
    /// The traced threads, with their processes.
    threads: HashMap<i32, i32>,
    /// Those of them that are stopped, until another process continues them.
    stopped: HashSet<i32>,
    launched: bool,
    /// The program has ended, or the user interrupts: each thread is let go at its next stop.
    is_over: bool,
}

/// How long to ask for the next stop before sleeping, and how long to sleep at most.
const SPIN: Duration = Duration::from_micros(50);
const PAUSE: Duration = Duration::from_millis(100);

/// How long to wait for the stops of the program's other processes.
const PATIENCE_NS: u64 = 500_000_000;

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;

impl<'a> Tracer<'a> {
    /// Traces a process and its descendants, of which each thread stops now. The ledger's run is that of the program, without the
    /// processes it leaves behind. Time without a processor is not counted: every stop causes some.
    pub(crate) fn attach(ledger: &'a mut Ledger, launched: bool) -> io::Result<Self> {
        let root = ledger.run.root;
        (ledger.run.mode, ledger.run.call_ns) = (Mode::Ptrace, f64::INFINITY);
        // Calls are counted from then on.
        ledger.started = !launched;
        let mut tracer = Self {
            ledger,
            threads: HashMap::from([(root, root)]),
            stopped: HashSet::new(),
            launched,
            is_over: false,
        };
        let mut seen = HashSet::new();
        loop {
            // Those that are not traced yet may start others.
            let mut new = procfs::tree_threads(root);
            new.retain(|&(_, thread)| seen.insert(thread) && !is_ours(thread));
            if new.is_empty() {
                return Ok(tracer);
            }
            for (process, thread) in new {
                let seized = sys::seize(thread, OPTIONS).and_then(|()| sys::interrupt(thread));
                match seized {
                    Ok(()) => drop(tracer.threads.insert(thread, process)),
                    // It has ended meanwhile.
                    Err(_) if !procfs::running_threads(process).contains(&thread) => {}
                    Err(error) if process == root => return Err(error),
                    Err(_) => tracer.ledger.run.unseen = Some(Unseen::Refused),
                }
            }
        }
    }

    /// Traces it until it has ended, or, if there is no gate, the user interrupts.
    pub(crate) fn run(mut self, gate: Option<UnixStream>) -> io::Result<()> {
        let began_ns = clock::now_ns();
        // Should the program be gone, its end is the next event.
        let _ = gate.map(|mut gate| gate.write_all(b"!"));
        while !self.threads.is_empty() {
            if !self.ledger.started && ending::has_exited(self.ledger.run.root)? {
                // It could not be started; the starting thread reaps it.
                break;
            }
            match ending::next_change(SPIN) {
                Ok(Some(event)) => self.event(event)?,
                // A stop sends SIGCHLD. A signal for us may have come before this sleeps.
                Ok(None) => drop(interrupts::sleep(PAUSE)),
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => self.threads.clear(),
                Err(error) => return Err(error),
            }
            let is_interrupted = interrupts::end_watching(self.ledger.run.root, self.launched);
            let is_gone = self.ledger.run.ending.is_some() || self.threads.is_empty();
            if !self.is_over && (is_gone || is_interrupted) {
                self.is_over = true;
                self.ledger.run.wall_ns = clock::now_ns() - began_ns;
                // One that has ended is reported next.
                let threads = self.threads.keys();
                threads.for_each(|&thread| drop(sys::interrupt(thread)));
            }
        }
        Ok(())
    }

    fn event(&mut self, (thread, status): (i32, i32)) -> io::Result<()> {
        self.stopped.remove(&thread);
        if let Some(ending) = Ending::from_status(status) {
            self.threads.remove(&thread);
            if thread == self.ledger.run.root {
                self.ledger.run.ending = Some(ending);
            }
            return Ok(());
        }
        let resumed = match (libc::WSTOPSIG(status), status >> 16) {
            (sys::AT_CALL, 0) => self.at_call(thread),
            (signal, 0) => self.go_on(thread, signal),
            (_, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => {
                if let Ok(child) = sys::event_message(thread) {
                    self.adopt(child as i32, Some(thread));
                }
                self.go_on(thread, 0)
            }
            (_, libc::PTRACE_EVENT_EXEC) => {
                let former = sys::event_message(thread).unwrap_or(0) as i32;
                self.threads.remove(&former);
                let name = procfs::name(thread).unwrap_or_default();
                self.ledger.executed(thread, &name);
                self.threads.insert(thread, thread);
                self.go_on(thread, 0)
            }
            (signal, libc::PTRACE_EVENT_STOP) => {
                self.adopt(thread, None);
                // With another signal, its process is stopped, and stays so.
                match signal == libc::SIGTRAP || self.is_over {
                    true => self.go_on(thread, 0),
                    false => self.stop(thread, signal),
                }
            }
            _ => self.go_on(thread, 0),
        };
        match resumed {
            // It was killed while it was stopped; its end is reported next.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// Leaves a thread stopped until its process is continued. This one stops with the program, and, as none of the other processes goes
    /// on then, after those that stop as well: `less` restores the terminal before.
    fn stop(&mut self, thread: i32, signal: i32) -> io::Result<()> {
        sys::resume(thread, libc::PTRACE_LISTEN, 0)?;
        self.stopped.insert(thread);
        if thread == self.ledger.run.root && self.launched {
            let until_ns = clock::now_ns() + PATIENCE_NS;
            while self.stopped.len() < self.threads.len() && clock::now_ns() < until_ns {
                match ending::next_change(SPIN)? {
                    Some(event) => self.event(event)?,
                    None => std::thread::sleep(SPIN),
                }
            }
            if self.stopped.contains(&thread) {
                let (stopped_ns, is_continued) = stops::stop_with(thread, signal);
                self.ledger.run.delayed_ns += stopped_ns;
                if is_continued {
                    signals::continue_job(thread);
                }
            }
        }
        Ok(())
    }

    /// A thread that is traced from now on, unless it has ended or was let go before its parent told of it.
    fn adopt(&mut self, thread: i32, parent: Option<i32>) {
        if self.threads.contains_key(&thread) || !is_ours(thread) {
            return;
        }
        let process = procfs::status(thread, "Tgid").and_then(|process| process.parse().ok());
        let process = process.unwrap_or(thread);
        if let Some(&parent) = parent.and_then(|parent| self.threads.get(&parent)) {
            self.ledger.forked(parent, process);
        }
        self.threads.insert(thread, process);
    }

    fn at_call(&mut self, thread: i32) -> io::Result<()> {
        let now_ns = clock::now_ns();
        let at = sys::at_call(thread)?;
        if let Some(&process) = self.threads.get(&thread).filter(|_| self.ledger.started) {
            let of = (process, thread);
            match at {
                sys::AtCall::Entry(number, arguments, _) => {
                    let write = memory::begun(of, number, &arguments);
                    (self.ledger).entered(of, clock::now_ns(), number, arguments, write);
                }
                sys::AtCall::Exit(result) => self.ledger.left(of, None, now_ns, result),
                sys::AtCall::No => {}
            }
        }
        self.ledger.run.overhead_ns += clock::now_ns() - now_ns;
        self.go_on(thread, 0)
    }

    /// Lets a thread go on to the next call, or go, with a signal, if there is one.
    fn go_on(&mut self, thread: i32, signal: i32) -> io::Result<()> {
        if self.is_over {
            self.threads.remove(&thread);
        }
        let how = match (self.is_over, self.ledger.started) {
            (true, _) => libc::PTRACE_DETACH,
            (false, true) => libc::PTRACE_SYSCALL,
            // A program that is not there: the thread that starts it waits for the child's end, and would take a stop for that.
            (false, false) => libc::PTRACE_CONT,
        };
        sys::resume(thread, how, signal)
    }
}

/// Whether this thread traces it.
fn is_ours(thread: i32) -> bool {
    procfs::status(thread, "TracerPid") == Some(rustix::thread::gettid().as_raw_pid().to_string())
}
