//! The mechanism that works for everybody: `ptrace`, stopping the program only at the calls of the
//! write family by a seccomp filter, or at every call when it was running already.

use super::Ledger;
use crate::platform::ending::Ending;
use crate::platform::{clock, interrupts};
use crate::trace::kernel::calls::{Call, WRITE_FAMILY, WriteCall};
use crate::trace::kernel::sys;
use crate::trace::kernel::{memory, procfs};
use crate::trace::model::findings::Mode;
use crate::trace::model::findings::Recording;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::process::Command;
use std::time::Duration;

/// A call that has been entered and not left.
struct Entered {
    kind: &'static WriteCall,
    descriptor: i32,
    asked: Option<u64>,
    ends_line: Option<bool>,
    began_ns: u64,
}

struct Thread {
    process: i32,
    entered: Option<Entered>,
}

impl Thread {
    fn of(process: i32) -> Self {
        let entered = None;
        Self { process, entered }
    }
}

/// Traces by `ptrace`; only the thread that made it may use it.
struct Tracer<'a> {
    ledger: &'a mut Ledger,
    threads: HashMap<i32, Thread>,
    /// Whether the filter stops the program at the calls of interest, and only there.
    filtered: bool,
    root: i32,
    /// Calls are counted once the program has been started.
    started: bool,
    ending: Option<Ending>,
    began_ns: u64,
    /// When the program, without those it leaves behind, had ended.
    ended_ns: Option<u64>,
    stopped_ns: u64,
}

/// How long to ask for the next stop before sleeping.
const SPIN: Duration = Duration::from_micros(50);

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESECCOMP;

#[cfg(target_arch = "x86_64")]
const NATIVE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const NATIVE: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
const NATIVE: u32 = 0xC000_00F3;

/// A filter that stops at the write family and lets every other call pass. Calls through another
/// architecture's interface (32-bit programs) pass too.
fn filter() -> Vec<libc::sock_filter> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let calls = WRITE_FAMILY.len() as u8;
    let mut program = vec![
        step(LOAD, 4, 0, 0), // seccomp_data.arch
        step(IF_EQUAL, NATIVE, 0, calls + 1),
        step(LOAD, 0, 0, 0), // seccomp_data.nr
    ];
    for (before, call) in (0..).zip(WRITE_FAMILY) {
        program.push(step(IF_EQUAL, call.number as u32, calls - before, 0));
    }
    program.push(step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    program.push(step(RETURN, libc::SECCOMP_RET_TRACE, 0, 0));
    program
}

/// Runs a command under the tracer until it and its descendants have ended.
pub(crate) fn run(
    command: Command,
    ledger: &mut Ledger,
    ready: &mut dyn FnMut(i32),
) -> io::Result<Recording> {
    super::gate::start(command, Some(filter()), |root, gate| {
        sys::seize(root, OPTIONS)?;
        let mut tracer = Tracer::new(root, ledger, true);
        ready(root);
        tracer.began_ns = clock::now_ns();
        gate.open()?;
        tracer.run()?;
        Ok(tracer.recording())
    })
}

/// Traces a process that is running already, until it ends or the user interrupts.
pub(crate) fn attach(root: i32, ledger: &mut Ledger) -> io::Result<Recording> {
    let mut tracer = Tracer::new(root, ledger, false);
    tracer.started = true;
    for thread in procfs::threads(root) {
        sys::seize(thread, OPTIONS)?;
        sys::interrupt(thread)?;
        tracer.threads.insert(thread, Thread::of(root));
    }
    tracer.run()?;
    // The kernel detaches what this thread still traces when the thread ends.
    Ok(tracer.recording())
}

impl<'a> Tracer<'a> {
    fn new(root: i32, ledger: &'a mut Ledger, filtered: bool) -> Self {
        let threads = HashMap::from([(root, Thread::of(root))]);
        Self {
            ledger,
            threads,
            filtered,
            root,
            started: false,
            ending: None,
            began_ns: clock::now_ns(),
            ended_ns: None,
            stopped_ns: 0,
        }
    }

    /// The time without a processor is left out: most of it would be ours, as every stop ends with some.
    fn recording(&self) -> Recording {
        let ended_ns = self.ended_ns.unwrap_or_else(clock::now_ns);
        Recording {
            ending: self.ending,
            wall_ns: ended_ns - self.began_ns,
            overhead_ns: self.stopped_ns,
            ..Recording::of(self.root, Mode::Ptrace)
        }
    }

    /// How a thread goes on when it is in no call of interest.
    fn onward(&self) -> sys::Resume {
        if self.filtered {
            sys::Resume::Run
        } else {
            sys::Resume::ToCall
        }
    }

    fn run(&mut self) -> io::Result<()> {
        while !self.threads.is_empty() {
            if !self.started && sys::has_ended(self.root)? {
                // It could not be started; the thread that tried waits for it.
                break;
            }
            match sys::wait_any(SPIN) {
                Ok((thread, status)) => self.event(thread, status)?,
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if let Some(signal) = interrupts::take() {
                if !self.filtered {
                    break;
                }
                interrupts::pass_on(signal, self.root);
            }
        }
        Ok(())
    }

    fn event(&mut self, thread: i32, status: i32) -> io::Result<()> {
        if let Some(ending) = Ending::from_status(status) {
            self.threads.remove(&thread);
            if thread == self.root {
                self.ending = Some(ending);
                self.ended_ns = Some(clock::now_ns());
            }
            return Ok(());
        }
        let signal = libc::WSTOPSIG(status);
        let event = status >> 16;
        let resumed = match (signal, event) {
            (_, libc::PTRACE_EVENT_SECCOMP) => self.at_call(thread, clock::now_ns()),
            (signal, 0) if signal == libc::SIGTRAP | 0x80 => self.at_call(thread, clock::now_ns()),
            (_, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => {
                if let Ok(child) = sys::event_message(thread) {
                    self.adopt(child as i32, Some(thread));
                }
                sys::resume(thread, self.next(thread), 0)
            }
            (_, libc::PTRACE_EVENT_EXEC) => {
                let former = sys::event_message(thread).unwrap_or(0) as i32;
                if former != thread {
                    self.threads.remove(&former);
                }
                self.started = true;
                let name = procfs::name(thread).unwrap_or_default();
                self.ledger.executed(thread, &name);
                self.threads.insert(thread, Thread::of(thread));
                sys::resume(thread, self.onward(), 0)
            }
            (
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU,
                libc::PTRACE_EVENT_STOP,
            ) => {
                if self.threads.contains_key(&thread) {
                    sys::resume(thread, sys::Resume::Listen, 0)
                } else {
                    self.adopt(thread, None);
                    sys::resume(thread, self.onward(), 0)
                }
            }
            (_, libc::PTRACE_EVENT_STOP) => {
                self.adopt(thread, None);
                sys::resume(thread, self.next(thread), 0)
            }
            (signal, _) => sys::resume(thread, self.next(thread), signal),
        };
        match resumed {
            // It was killed while it stood still; its end is reported next.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// Inside a call of interest a thread must go on to its exit.
    fn next(&self, thread: i32) -> sys::Resume {
        let inside = self
            .threads
            .get(&thread)
            .is_some_and(|thread| thread.entered.is_some());
        if inside {
            sys::Resume::ToCall
        } else {
            self.onward()
        }
    }

    /// A thread that is traced from now on.
    fn adopt(&mut self, thread: i32, parent: Option<i32>) {
        if self.threads.contains_key(&thread) {
            return;
        }
        let process = fs::read_to_string(format!("/proc/{thread}/status"))
            .ok()
            .and_then(|status| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
            })
            .unwrap_or(thread);
        if let Some(parent) = parent.and_then(|parent| self.threads.get(&parent)) {
            self.ledger.forked(parent.process, process);
        }
        self.threads.insert(thread, Thread::of(process));
    }

    fn at_call(&mut self, thread: i32, now_ns: u64) -> io::Result<()> {
        let at = sys::at_call(thread)?;
        let started = self.started;
        let onward = self.onward();
        let Some(state) = self.threads.get_mut(&thread) else {
            return sys::resume(thread, onward, 0);
        };
        let how = match at {
            sys::AtCall::Entry { number, arguments } => {
                state.entered = WriteCall::with_number(number)
                    .filter(|_| started)
                    .map(|kind| Entered {
                        kind,
                        descriptor: kind.target(&arguments),
                        asked: kind.asked(&arguments),
                        ends_line: memory::ends_line(state.process, kind, &arguments),
                        began_ns: 0,
                    });
                if state.entered.is_some() {
                    sys::Resume::ToCall
                } else {
                    onward
                }
            }
            sys::AtCall::Exit { result } => {
                if let Some(entered) = state.entered.take() {
                    let call = Call {
                        process: state.process,
                        thread,
                        began_ns: entered.began_ns,
                        took_ns: now_ns.saturating_sub(entered.began_ns),
                        kind: entered.kind,
                        descriptor: entered.descriptor,
                        asked: entered.asked,
                        result,
                        ends_line: entered.ends_line,
                    };
                    self.ledger.verify(call.process, call.descriptor);
                    self.ledger.add(&call);
                }
                onward
            }
            sys::AtCall::No => onward,
        };
        let before_ns = clock::now_ns();
        self.stopped_ns += before_ns.saturating_sub(now_ns);
        if let Some(entered) = self
            .threads
            .get_mut(&thread)
            .and_then(|state| state.entered.as_mut())
        {
            entered.began_ns = before_ns;
        }
        sys::resume(thread, how, 0)
    }
}
