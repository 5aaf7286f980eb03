//! The parts of `std` that exist everywhere: no futex, no fork, no signals, no asymmetric fence.
#![allow(unsafe_code)]

use super::{Destination, FileIdentity, Moment};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// The destination of bytes. A standard stream uses std's handle, which can write text to the Windows console.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout,
    Stderr,
    File(File),
}

impl Output {
    pub(crate) const STDOUT: Output = Output::Stdout;
    pub(crate) const STDERR: Output = Output::Stderr;

    #[cfg(unix)]
    pub(crate) fn new(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Output::File(File::from(fd.try_clone_to_owned()?)))
    }

    #[cfg(windows)]
    pub(crate) fn new(handle: std::os::windows::io::BorrowedHandle<'_>) -> io::Result<Self> {
        Ok(Output::File(File::from(handle.try_clone_to_owned()?)))
    }

    #[cfg(unix)]
    pub(crate) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
        let standard = match self {
            Output::Stdout => io::stdout().as_raw_fd(),
            Output::Stderr => io::stderr().as_raw_fd(),
            Output::File(file) => return file.as_fd(),
        };
        // SAFETY: the standard descriptors belong to the process.
        unsafe { BorrowedFd::borrow_raw(standard) }
    }

    #[cfg(windows)]
    pub(crate) fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
        use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
        let standard = match self {
            Output::Stdout => io::stdout().as_raw_handle(),
            Output::Stderr => io::stderr().as_raw_handle(),
            Output::File(file) => return file.as_handle(),
        };
        // SAFETY: the standard handles belong to the process.
        unsafe { BorrowedHandle::borrow_raw(standard) }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, OsError> {
        match self {
            Output::Stdout => {
                // std's handle buffers lines: either all of the bytes leave it, or the call fails.
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()?;
                Ok(bytes.len())
            }
            Output::Stderr => Ok(io::stderr().write(bytes)?),
            Output::File(file) => Ok((&*file).write(bytes)?),
        }
    }

    /// May wait: std has no call that does not.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> Result<usize, OsError> {
        self.write(super::polled(bytes, self.is_terminal()))
    }

    /// std has no call that waits for the reader: sleeps for a moment.
    pub(crate) fn wait_writable(&self, until: Moment) -> bool {
        let moment = Duration::from_millis(1);
        std::thread::sleep(until.left().unwrap_or_default().min(moment));
        true
    }

    pub(crate) fn is_terminal(&self) -> bool {
        match self {
            Output::Stdout => io::stdout().is_terminal(),
            Output::Stderr => io::stderr().is_terminal(),
            Output::File(file) => file.is_terminal(),
        }
    }

    pub(crate) fn destination(&self) -> (Destination, Option<FileIdentity>) {
        let terminal = self.is_terminal();
        let destination = match self {
            _ if terminal => Destination::Terminal,
            Output::File(file) if file.metadata().is_ok_and(|status| status.is_file()) => {
                Destination::File
            }
            // Most likely a pipe, and the safe guess: it keeps text prompt.
            _ => Destination::Pipe(None),
        };
        // Two terminals count as the same one: that may cost a drain, and never the order.
        (destination, terminal.then_some(FileIdentity([0; 3])))
    }
}

/// The parts of an [`io::Error`] that can be copied.
#[derive(Clone, Copy)]
pub(crate) struct OsError {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl OsError {
    /// `write` returned 0, without a reason.
    pub(crate) const WRITE_ZERO: OsError = OsError {
        kind: io::ErrorKind::WriteZero,
        code: None,
    };

    pub(crate) fn is_interruption(self) -> bool {
        self.kind == io::ErrorKind::Interrupted
    }

    pub(crate) fn would_block(self) -> bool {
        self.kind == io::ErrorKind::WouldBlock
    }

    pub(crate) fn is_broken_pipe(self) -> bool {
        self.kind == io::ErrorKind::BrokenPipe
    }

    /// std's handles already ignore the error.
    pub(crate) fn is_closed_descriptor(self) -> bool {
        false
    }
}

impl From<io::Error> for OsError {
    fn from(error: io::Error) -> Self {
        OsError {
            kind: error.kind(),
            code: error.raw_os_error(),
        }
    }
}

impl From<OsError> for io::Error {
    fn from(OsError { kind, code }: OsError) -> Self {
        code.map_or_else(|| kind.into(), io::Error::from_raw_os_error)
    }
}

pub(crate) fn spawn(
    name: &'static CStr,
    run: impl FnOnce() + Send + 'static,
) -> Result<(), OsError> {
    let thread = std::thread::Builder::new()
        .name(name.to_string_lossy().into_owned())
        .stack_size(super::STACK)
        .spawn(run);
    thread.map(drop).map_err(OsError::from)
}

/// Unknown to std. Systems with set-user-ID programs use `unix.rs`.
pub(crate) fn is_privileged() -> bool {
    false
}

/// Unknown to std.
pub(crate) fn processor_time(_task: u32) -> Option<Duration> {
    None
}

pub(crate) fn is_runnable(_task: u32) -> bool {
    false
}

/// Nanoseconds since the first call.
pub(super) fn monotonic_nanos() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Sleeps for a moment, so that other threads can continue.
pub(crate) fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}

/// Calls `run` at exit. The C runtime of every platform with std has `atexit`; on Windows, `std::process::exit` does not come by it.
pub(crate) fn at_exit(run: fn(Option<i32>)) {
    use std::sync::OnceLock;
    static RUN: OnceLock<fn(Option<i32>)> = OnceLock::new();

    extern "C" fn call() {
        if let Some(run) = RUN.get() {
            run(None);
        }
    }
    unsafe extern "C" {
        fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
    }
    let _ = RUN.set(run);
    // SAFETY: `call` lives as long as the process.
    unsafe { atexit(call) };
    #[cfg(windows)]
    super::windows::at_exit_process(run);
}

/// Ends a process that is already exiting with another status.
pub(crate) fn exit_with(status: i32) -> ! {
    unsafe extern "C" {
        fn _exit(status: std::ffi::c_int) -> !;
    }
    // SAFETY: always sound; part of every C runtime with std.
    unsafe { _exit(status) }
}

/// Ends the process with the status that a shell shows for one ended by SIGPIPE.
pub(crate) fn end_by_sigpipe() -> ! {
    exit_with(141)
}

pub(crate) use super::unlinked_file as unnamed_file;

/// Does nothing: the space stays allocated until the file is gone.
pub(crate) fn forget_range(_file: &File, _at: u64, _length: u64) {}
