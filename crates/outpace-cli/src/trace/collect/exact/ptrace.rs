//! The mechanism without privileges: `ptrace`, stopping the program only at the calls of the
//! write family by a seccomp filter, or at every call when it was running already.

use super::Ledger;
use crate::platform::ending::Ending;
use crate::platform::procfs;
use crate::platform::{clock, interrupts};
use crate::trace::kernel::calls::{Call, WRITE_FAMILY};
use crate::trace::kernel::{memory, sys};
use crate::trace::model::findings::{Mode, Recording, Unseen};
use std::collections::HashMap;
use std::io;
use std::process::Command;
use std::time::Duration;

struct Tracee {
    process: i32,
    /// The call that it has entered and not left.
    entered: Option<Call>,
}

/// Traces by `ptrace`; only the thread that made it may use it.
struct Tracer<'a> {
    ledger: &'a mut Ledger,
    threads: HashMap<i32, Tracee>,
    /// Whether the filter stops the program at the calls of interest, and only there.
    filtered: bool,
    /// Calls are counted once the program has been started.
    started: bool,
    began_ns: u64,
    /// Of the program, without the processes it leaves behind. Time without a processor is not counted: every stop causes
    /// some.
    run: Recording,
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
    let numbers = WRITE_FAMILY.iter().map(|call| call.number);
    let numbers = numbers.chain([libc::SYS_io_uring_setup]);
    let calls = WRITE_FAMILY.len() as u8 + 1;
    let mut program = vec![
        step(LOAD, 4, 0, 0), // seccomp_data.arch
        step(IF_EQUAL, NATIVE, 0, calls + 1),
        step(LOAD, 0, 0, 0), // seccomp_data.nr
    ];
    for (before, number) in (0..).zip(numbers) {
        program.push(step(IF_EQUAL, number as u32, calls - before, 0));
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
        tracer.run()
    })
}

/// Traces a process that is running already, until it ends or the user interrupts.
pub(crate) fn attach(root: i32, ledger: &mut Ledger) -> io::Result<Recording> {
    procfs::name(root).ok_or(io::ErrorKind::NotFound)?;
    let mut tracer = Tracer::new(root, ledger, false);
    for thread in procfs::running_threads(root) {
        sys::seize(thread, OPTIONS)?;
        sys::interrupt(thread)?;
        tracer.know(thread, root);
    }
    // The kernel detaches what this thread still traces when the thread ends.
    tracer.run()
}

impl<'a> Tracer<'a> {
    fn new(root: i32, ledger: &'a mut Ledger, filtered: bool) -> Self {
        let mut tracer = Self {
            ledger,
            threads: HashMap::new(),
            filtered,
            started: !filtered,
            began_ns: clock::now_ns(),
            run: Recording::of(root, Mode::Ptrace),
        };
        tracer.know(root, root);
        tracer
    }

    /// A thread that is traced from now on, and its process; or one that has become another program.
    fn know(&mut self, thread: i32, process: i32) {
        let entered = None;
        self.threads.insert(thread, Tracee { process, entered });
    }

    fn run(mut self) -> io::Result<Recording> {
        while !self.threads.is_empty() {
            if !self.started && sys::has_ended(self.run.root)? {
                // It could not be started; the starting thread reaps it.
                break;
            }
            match sys::wait_any(SPIN) {
                Ok((thread, status)) => self.event(thread, status)?,
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if interrupts::end_watching(self.run.root, self.filtered) {
                break;
            }
        }
        if self.run.ending.is_none() {
            self.run.wall_ns = clock::now_ns() - self.began_ns;
        }
        Ok(self.run)
    }

    fn event(&mut self, thread: i32, status: i32) -> io::Result<()> {
        if let Some(ending) = Ending::from_status(status) {
            self.threads.remove(&thread);
            if thread == self.run.root {
                self.run.ending = Some(ending);
                self.run.wall_ns = clock::now_ns() - self.began_ns;
            }
            return Ok(());
        }
        let resumed = match (libc::WSTOPSIG(status), status >> 16) {
            (_, libc::PTRACE_EVENT_SECCOMP) | (sys::AT_CALL, 0) => self.at_call(thread),
            (signal, 0) => self.go_on(thread, signal),
            (_, libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK) => {
                if let Ok(child) = sys::event_message(thread) {
                    self.adopt(child as i32, Some(thread));
                }
                self.go_on(thread, 0)
            }
            (_, libc::PTRACE_EVENT_EXEC) => {
                let former = sys::event_message(thread).unwrap_or(0) as i32;
                if former != thread {
                    self.threads.remove(&former);
                }
                self.started = true;
                let name = procfs::name(thread).unwrap_or_default();
                self.ledger.executed(thread, &name);
                self.know(thread, thread);
                self.go_on(thread, 0)
            }
            // Another process stopped it: it stays stopped.
            (
                libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU,
                libc::PTRACE_EVENT_STOP,
            ) if self.threads.contains_key(&thread) => sys::resume(thread, libc::PTRACE_LISTEN, 0),
            (_, libc::PTRACE_EVENT_STOP) => {
                self.adopt(thread, None);
                self.go_on(thread, 0)
            }
            _ => self.go_on(thread, 0),
        };
        match resumed {
            // It was killed while it was stopped; its end is reported next.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// Lets a thread go on with a signal, if there is one: inside a call of interest to its exit.
    fn go_on(&self, thread: i32, signal: i32) -> io::Result<()> {
        let state = self.threads.get(&thread);
        let is_inside = state.is_some_and(|state| state.entered.is_some());
        let to_next_call = !self.filtered || is_inside;
        let how = [libc::PTRACE_CONT, libc::PTRACE_SYSCALL][usize::from(to_next_call)];
        sys::resume(thread, how, signal)
    }

    /// A thread that is traced from now on.
    fn adopt(&mut self, thread: i32, parent: Option<i32>) {
        if self.threads.contains_key(&thread) {
            return;
        }
        let process = procfs::status(thread, "Tgid").and_then(|process| process.parse().ok());
        let process = process.unwrap_or(thread);
        if let Some(parent) = parent.and_then(|parent| self.threads.get(&parent)) {
            self.ledger.forked(parent.process, process);
        }
        self.know(thread, process);
    }

    fn at_call(&mut self, thread: i32) -> io::Result<()> {
        let now_ns = clock::now_ns();
        let at = sys::at_call(thread)?;
        if let Some(state) = self.threads.get_mut(&thread) {
            match at {
                sys::AtCall::Entry { number, .. } if number == libc::SYS_io_uring_setup => {
                    self.ledger.unseen = Some(Unseen::Ring);
                }
                sys::AtCall::Entry { number, arguments } if self.started => {
                    let process = state.process;
                    state.entered = memory::begun((process, thread), now_ns, number, &arguments);
                }
                sys::AtCall::Exit { result } => {
                    if let Some(call) = state.entered.take() {
                        let call = call.returned(now_ns, result);
                        self.ledger.verify(call.process, call.descriptor);
                        self.ledger.add(&call);
                    }
                }
                _ => {}
            }
        }
        let before_ns = clock::now_ns();
        self.run.overhead_ns += before_ns.saturating_sub(now_ns);
        let state = self.threads.get_mut(&thread);
        if let Some(call) = state.and_then(|state| state.entered.as_mut()) {
            call.began_ns = before_ns;
        }
        self.go_on(thread, 0)
    }
}
