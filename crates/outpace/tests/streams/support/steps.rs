//! Every instruction that a piece of a program executes, one by one, by `ptrace(2)`.
#![allow(unsafe_code)]

use super::{Running, skip};
use std::io;
use std::ptr;

/// A request of `ptrace(2)`.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// Instructions that a message in a burst must not contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Costly {
    /// An atomic read-modify-write.
    Locked,
    SystemCall,
    /// The clock, as the kernel's shared page reads it.
    Clock,
}

const BREAKPOINT: u8 = 0xCC;

/// Called by a program: lets its parent trace it, and stops.
pub(crate) fn allow_steps() {
    let nothing = ptr::null_mut::<libc::c_void>();
    // SAFETY: only says that the parent may.
    let allowed = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing) };
    assert_eq!(allowed, 0, "{}", io::Error::last_os_error());
    breakpoint();
}

/// Called by a program: where the tracing begins, and where it ends.
#[inline(always)]
pub(crate) fn breakpoint() {
    // SAFETY: stops a traced program.
    unsafe { std::arch::asm!("int3") };
}

impl Running {
    /// Runs the program up to its next [`breakpoint`] at full speed, and from there to the one after it step
    /// by step; returns how many steps that took, and the costly ones.
    pub(crate) fn steps(&self) -> (usize, Vec<Costly>) {
        let id = self.id() as libc::pid_t;
        self.resume_until_stopped(id, libc::PTRACE_CONT);
        let (mut steps, mut costly) = (0, Vec::new());
        loop {
            let code = code_at(id, instruction_pointer(id));
            if code[0] == BREAKPOINT {
                self.resume_until_stopped(id, libc::PTRACE_SINGLESTEP);
                return (steps, costly);
            }
            costly.extend(cost(&code));
            steps += 1;
            self.resume_until_stopped(id, libc::PTRACE_SINGLESTEP);
        }
    }

    /// Waits until it stops: first in [`allow_steps`].
    pub(crate) fn wait_until_stopped(&self) {
        let mut status = 0;
        // SAFETY: fills `status`.
        unsafe { libc::waitpid(self.id() as libc::pid_t, &mut status, 0) };
        if !libc::WIFSTOPPED(status) {
            skip(format!(
                "the program cannot be traced: {}",
                self.stderr_text()
            ));
        }
    }

    fn resume_until_stopped(&self, id: libc::pid_t, how: Request) {
        let nothing = ptr::null_mut::<libc::c_void>();
        // SAFETY: the child is stopped and traced by this thread.
        let resumed = unsafe { libc::ptrace(how, id, nothing, nothing) };
        assert_eq!(resumed, 0, "{}", io::Error::last_os_error());
        self.wait_until_stopped();
    }

    /// Lets a traced program go its way.
    pub(crate) fn stop_tracing(&self) {
        let nothing = ptr::null_mut::<libc::c_void>();
        // SAFETY: the child is stopped and traced by this thread.
        unsafe {
            libc::ptrace(
                libc::PTRACE_DETACH,
                self.id() as libc::pid_t,
                nothing,
                nothing,
            )
        };
    }
}

fn instruction_pointer(id: libc::pid_t) -> u64 {
    // SAFETY: the child is stopped, and `registers` has the size that the kernel fills.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        libc::ptrace(libc::PTRACE_GETREGS, id, 0, &mut registers);
        registers.rip
    }
}

/// The bytes of the instruction there, and some of those behind it.
fn code_at(id: libc::pid_t, address: u64) -> [u8; 16] {
    let mut code = [0; 16];
    for (index, word) in code.chunks_exact_mut(8).enumerate() {
        // SAFETY: reads the child's memory, and fails where there is none.
        let found =
            unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, id, address + 8 * index as u64, 0) };
        word.copy_from_slice(&found.to_ne_bytes());
    }
    code
}

/// Whether an instruction of x86-64 is costly (Intel's manual, volume 2).
fn cost(code: &[u8]) -> Option<Costly> {
    let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2E | 0x36 | 0x3E | 0x64..=0x67 | 0xF0 | 0xF2 | 0xF3 | 0x40..=0x4F);
    let prefixes = code.iter().take_while(|byte| is_prefix(byte)).count();
    let (prefixes, rest) = code.split_at(prefixes);
    match rest {
        _ if prefixes.contains(&0xF0) => Some(Costly::Locked),
        // An exchange with memory is locked without saying so.
        [0x86 | 0x87, operands, ..] if *operands < 0xC0 => Some(Costly::Locked),
        [0x0F, 0x05 | 0x34, ..] | [0xCD, 0x80, ..] => Some(Costly::SystemCall),
        [0x0F, 0x31, ..] | [0x0F, 0x01, 0xF9, ..] => Some(Costly::Clock),
        _ => None,
    }
}
