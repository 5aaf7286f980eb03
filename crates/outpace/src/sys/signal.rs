//! POSIX signals: installing handlers, waking a thread from one, ending the process by one.
#![allow(unsafe_code)]

use super::OsError;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{MaybeUninit, zeroed};
use std::ptr;

/// A handler of the three-argument form.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// A process's reaction to a signal.
#[derive(Clone, Copy)]
pub(crate) struct Action(libc::sigaction);

impl Action {
    /// The system's default.
    pub(crate) fn default_action() -> Self {
        // SAFETY: a `sigaction` of zeros is valid, and `SIG_DFL` uses no other field.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = libc::SIG_DFL;
        Action(action)
    }

    /// Calls `handler`, on the thread's alternative stack if it has one; interrupted system calls restart.
    pub(crate) fn call(handler: Handler) -> Self {
        super::stay_loaded();
        let mut action = Self::default_action();
        action.0.sa_sigaction = handler as *const () as usize;
        action.0.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        // A write of the handler's own that breaks a limit fails, and is not interrupted. SAFETY: zeros are an empty set.
        unsafe { libc::sigaddset(&mut action.0.sa_mask, libc::SIGXFSZ) };
        action
    }

    /// The reaction to `signal` that is in force.
    pub(crate) fn of(signal: c_int) -> Result<Self, OsError> {
        let mut action = Self::default_action();
        // SAFETY: only fills `action`.
        match unsafe { libc::sigaction(signal, ptr::null(), &mut action.0) } {
            0 => Ok(action),
            _ => Err(OsError::last()),
        }
    }

    pub(crate) fn is_default(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_DFL
    }

    pub(crate) fn calls(&self, handler: Handler) -> bool {
        self.0.sa_sigaction == handler as *const () as usize
    }

    /// Puts this reaction to `signal` in force. May be called from a handler.
    pub(crate) fn install(&self, signal: c_int) -> Result<(), OsError> {
        // SAFETY: the action is a default, one the system gave, or calls a function that lives as long as
        // the process.
        match unsafe { libc::sigaction(signal, &self.0, ptr::null_mut()) } {
            0 => Ok(()),
            _ => Err(OsError::last()),
        }
    }
}

/// Whether the signal was sent, for example by `kill(2)` or `abort(3)`, and not caused by an instruction of the thread,
/// which would raise it again.
///
/// # Safety
///
/// `info` is the handler's argument.
pub(crate) unsafe fn was_sent(info: *const libc::siginfo_t) -> bool {
    // SAFETY: valid, as the caller promises. Codes of faults are positive (sigaction(2)).
    unsafe { (*info).si_code <= 0 }
}

/// Sends `signal` to the calling thread. In a handler it takes effect when that returns.
pub(crate) fn raise(signal: c_int) {
    // SAFETY: always sound.
    unsafe { libc::raise(signal) };
}

/// The signals that a write may cause in the thread that makes it. SIGPIPE is not among them: a closed pipe is each stream's matter.
pub(super) const OF_WRITES: [c_int; 2] = [libc::SIGTTOU, libc::SIGXFSZ];

/// Lets the calling thread write without them: to the terminal from a background job, and with an error at a limit.
pub(crate) fn write_without_signals() {
    for signal in OF_WRITES {
        change_mask(libc::SIG_BLOCK, signal);
    }
}

/// Blocks or unblocks one signal in the calling thread.
fn change_mask(how: c_int, signal: c_int) {
    let mut only = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: plain POSIX calls; the mask is initialised by `sigemptyset`.
    unsafe {
        libc::sigemptyset(only.as_mut_ptr());
        libc::sigaddset(only.as_mut_ptr(), signal);
        libc::pthread_sigmask(how, only.as_ptr(), ptr::null_mut());
    }
}

/// The calling process. May be called from a handler.
pub(crate) fn process() -> u32 {
    std::process::id()
}

/// Ends the process as the unhandled signal would.
pub(crate) fn end_by(signal: c_int) -> ! {
    // If it cannot be installed, the exit below ends the process.
    let _ = Action::default_action().install(signal);
    change_mask(libc::SIG_UNBLOCK, signal);
    raise(signal);
    // Process 1 ignores its own default signals. SAFETY: always sound.
    unsafe { libc::_exit(128 + signal) }
}

/// Runs `handle` and restores `errno` for the interrupted code.
pub(crate) fn keeping_errno(handle: impl FnOnce()) {
    // SAFETY: the location belongs to this thread for as long as it lives.
    unsafe {
        let errno = errno();
        let before = *errno;
        handle();
        *errno = before;
    }
}

/// The location of this thread's `errno`.
pub(super) unsafe fn errno() -> *mut c_int {
    // SAFETY: always sound.
    unsafe {
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(any(target_os = "android", target_os = "netbsd", target_os = "openbsd"))]
        return libc::__errno();
        #[cfg(any(target_os = "solaris", target_os = "illumos"))]
        return libc::___errno();
        #[cfg(not(any(
            target_vendor = "apple",
            target_os = "freebsd",
            target_os = "android",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "solaris",
            target_os = "illumos",
        )))]
        return libc::__errno_location();
    }
}

/// Lets a thread sleep until a handler rings.
#[cfg(target_os = "linux")]
pub(crate) struct Bell(std::sync::atomic::AtomicU32);

#[cfg(target_os = "linux")]
impl Bell {
    pub(crate) const fn new() -> Self {
        Bell(std::sync::atomic::AtomicU32::new(0))
    }

    pub(crate) fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    /// May be called from a handler.
    pub(crate) fn ring(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Release);
        super::futex_wake_one(&self.0);
    }

    /// Returns when it has rung, or early.
    pub(crate) fn wait(&self) {
        use std::sync::atomic::Ordering;
        if self.0.swap(0, Ordering::Acquire) == 0 {
            super::futex_wait(&self.0, 0, None);
        }
    }
}

/// Lets a thread sleep until a handler rings: a pipe.
#[cfg(not(target_os = "linux"))]
pub(crate) struct Bell(std::sync::OnceLock<(io::PipeReader, io::PipeWriter)>);

#[cfg(not(target_os = "linux"))]
impl Bell {
    pub(crate) const fn new() -> Self {
        Bell(std::sync::OnceLock::new())
    }

    pub(crate) fn prepare(&self) -> io::Result<()> {
        if self.0.get().is_none() {
            let _ = self.0.set(io::pipe()?);
        }
        Ok(())
    }

    /// May be called from a handler.
    pub(crate) fn ring(&self) {
        if let Some((_, write)) = self.0.get() {
            let _ = io::Write::write(&mut &*write, &[0]);
        }
    }

    /// Returns when it has rung, or early.
    pub(crate) fn wait(&self) {
        if let Some((read, _)) = self.0.get() {
            let _ = io::Read::read(&mut &*read, &mut [0]);
        }
    }
}
