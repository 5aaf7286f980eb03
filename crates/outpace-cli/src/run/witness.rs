//! Tells a signal to our whole process group from one to us alone.
//!
//! On pipes the program is of our process group. A signal that a process sends to the group (`kill %1` of a shell, `kill 0`, a service
//! manager that signals each process) has reached the program as well, and must not be passed on; one to us alone must. The kernel does
//! not say which it was. The *witness* is a process of the group that blocks all signals: those of the group are pending there.
#![allow(unsafe_code)]

use crate::platform::signals;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::time::Duration;

/// The witness, which shares our memory, so that making it copies none. It ends with the thread that has made it.
pub(super) struct Witness {
    stack: Vec<u8>,
    process: Option<i32>,
}

const STACK: usize = 16 << 10;

/// Descriptors are shared as well: copies would keep pipes open that we close.
const SHARED: c_int = libc::CLONE_VM | libc::CLONE_FILES | libc::CLONE_FS;

/// The longest that the kernel takes from the first process of a group to the last, and a service manager from one to the next.
const ALL_SIGNALLED: Duration = Duration::from_millis(5);

impl Witness {
    /// Without one, each signal counts as one to us alone.
    pub(super) fn new() -> Self {
        let mut witness = Self {
            stack: vec![0; STACK],
            process: None,
        };
        witness.stand();
        witness
    }

    fn stand(&mut self) {
        let top = self.stack.as_mut_ptr_range().end;
        let top = top.wrapping_sub(top.addr() % 16);
        // SAFETY: the new process runs `waits` on a stack of its own, which no one else uses while it is there, and begins with the mask
        // of this thread: all signals are blocked.
        let process = signals::with_all_blocked(|| unsafe {
            libc::clone(waits, top.cast::<c_void>(), SHARED, ptr::null_mut())
        });
        self.process = Some(process).filter(|process| *process > 0);
    }

    /// Whether a signal that has arrived here has reached the program as well.
    pub(super) fn has_seen(&mut self, signal: i32) -> bool {
        let Some(process) = self.process else {
            return false;
        };
        std::thread::sleep(ALL_SIGNALLED);
        let has_seen = signals::has_in(process, ["ShdPnd", "SigPnd"], signal);
        if has_seen {
            // A signal cannot be taken from it, and the next one may be to us alone.
            self.leave();
            self.stand();
        }
        has_seen
    }

    fn leave(&mut self) {
        if let Some(process) = self.process.take() {
            signals::send(process, libc::SIGKILL);
            // SAFETY: no status is asked for. It fails if another wait has reaped it; then it has ended, too.
            unsafe { libc::waitpid(process, ptr::null_mut(), libc::__WALL) };
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The life of the witness. It shares the thread-local variables of the thread that has made it, so it makes system calls that
/// do not fail, and nothing else.
extern "C" fn waits(_: *mut c_void) -> c_int {
    let none = ptr::null::<c_void>();
    // SAFETY: no memory is involved.
    unsafe {
        libc::syscall(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        loop {
            libc::syscall(libc::SYS_ppoll, none, 0, none, none, 0);
        }
    }
}
