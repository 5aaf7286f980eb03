//! All calls to the operating system, with the same functions on all platforms.
//!
//! `unix.rs` is POSIX. `linux.rs` adds futexes, `membarrier(2)`, the capacity of a pipe and the like. `portable.rs`
//! uses only std: for Windows, and with `--cfg outpace_portable`, for tests, on any system. `windows.rs` adds what std has no call for.

use std::fmt;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Add;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

mod input;
#[cfg(all(target_os = "linux", not(outpace_portable)))]
mod linux;
#[cfg(any(not(unix), outpace_portable))]
mod portable;
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) mod signal;
#[cfg(all(unix, not(outpace_portable)))]
mod unix;
#[cfg(windows)]
mod windows;

pub(crate) use input::*;
#[cfg(all(target_os = "linux", not(outpace_portable)))]
pub(crate) use linux::*;
#[cfg(any(not(unix), outpace_portable))]
pub(crate) use portable::*;
#[cfg(all(unix, not(any(target_os = "linux", outpace_portable))))]
pub(crate) use unix::*;
#[cfg(windows)]
pub(crate) use windows::at_console_event;

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It owns no memory, so it needs no drop.
        ManuallyDrop::new(io::Error::from(*self)).fmt(f)
    }
}

/// Whether the program uses the C interface.
static SERVES_C: AtomicBool = AtomicBool::new(false);

/// From now on a closed standard output is an error, as in C's stdio, and pthread_cancel(3) is expected.
pub(crate) fn serve_c() {
    // Repeated calls do not write to a cache line that other threads read.
    if !serves_c() {
        SERVES_C.store(true, Ordering::Relaxed);
    }
}

pub(crate) fn serves_c() -> bool {
    SERVES_C.load(Ordering::Relaxed)
}

/// The kind of file that a descriptor is connected to, as far as it matters to buffering.
#[cfg_attr(
    any(not(unix), outpace_portable),
    expect(dead_code, reason = "std cannot tell all of them apart")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    Terminal,
    /// A pipe or FIFO, with its capacity in bytes where the system tells.
    Pipe(Option<usize>),
    Socket,
    /// A regular file.
    File,
    /// Each write is a message or a command: a socket for datagrams, a file of the kernel's, a device.
    Messages,
    /// The null device.
    Null,
}

/// The stack of a helper thread. The thread needs little of it, but a user's function for gap markers may run there.
/// Only touched pages take memory, but a larger stack might get a whole huge page.
const STACK: usize = 1 << 20;

/// The bytes that fit whenever `poll(2)` reports a pipe as writable (`PIPE_BUF`).
pub(crate) const POLLED_WRITE: usize = 4096;

/// The kernel keeps a write of at most this many bytes to a pipe together.
pub(crate) const PIPE_BUF: usize = if cfg!(any(target_os = "linux", windows)) {
    4096
} else {
    // The least that POSIX allows, and what macOS and the BSDs have.
    512
};

/// How many bytes a terminal takes at once when `poll(2)` reports it as writable. It handles each control character
/// that moves the cursor separately, and blocks the writer if it has no room for that.
const POLLED_BY_TERMINAL: usize = 1024;

/// The first of these bytes, as many as can be written without waiting after `poll(2)`.
#[inline(never)]
pub(crate) fn polled(bytes: &[u8], is_terminal: bool) -> &[u8] {
    if !is_terminal {
        return bytes.get(..POLLED_WRITE).unwrap_or(bytes);
    }
    let bytes = bytes.get(..POLLED_BY_TERMINAL).unwrap_or(bytes);
    let moves_cursor = |byte: &u8| (b'\x08'..=b'\r').contains(byte);
    let end = bytes.iter().position(moves_cursor).unwrap_or(bytes.len());
    bytes.get(..end.max(1)).unwrap_or(bytes)
}

/// The identity of a file: equal identities are the same terminal, pipe or file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FileIdentity(pub(crate) [u64; 3]);

/// A moment, in nanoseconds of a monotonic clock.
///
/// Not `Instant`: it checks each operation, and its messages would be linked into small programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const NEVER: Moment = Moment(u64::MAX);

    pub(crate) fn now() -> Self {
        Moment(monotonic_nanos())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }

    /// The time since `earlier`; zero if that is later.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(crate) fn has_come(self) -> bool {
        self.nanos_left() == 0
    }

    fn nanos_left(self) -> u64 {
        self.0.saturating_sub(monotonic_nanos())
    }

    /// `None`, if it has come.
    pub(crate) fn left(self) -> Option<Duration> {
        Some(Duration::from_nanos(self.nanos_left())).filter(|left| !left.is_zero())
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, duration: Duration) -> Moment {
        let nanos = duration.as_secs().saturating_mul(1_000_000_000);
        let nanos = nanos.saturating_add(duration.subsec_nanos().into());
        Moment(self.0.saturating_add(nanos))
    }
}

/// Milliseconds on a clock that is monotonic and coarse. Never 0.
pub(crate) fn coarse_millis() -> u64 {
    monotonic_nanos() / 1_000_000 + 1
}

/// `poll`'s timeout argument: whole milliseconds, rounded up; -1 is without end.
#[cfg_attr(
    any(not(unix), outpace_portable),
    expect(dead_code, reason = "for poll(2)")
)]
fn poll_millis(until: Moment) -> i32 {
    if until.0 == Moment::NEVER.0 {
        return -1;
    }
    i32::try_from(until.nanos_left().div_ceil(1_000_000)).unwrap_or(i32::MAX)
}

/// Reads all of `bytes` at the offset `at`, independent of the file's own offset.
pub(crate) fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    #[cfg(not(unix))]
    {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = file;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}

/// Writes all of `bytes` at the offset `at`.
pub(crate) fn write_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, at);
    #[cfg(not(unix))]
    {
        use std::io::{Seek, SeekFrom, Write};
        let mut file = file;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }
}

/// A file for reading and writing, whose name is removed at once.
pub(crate) fn unlinked_file(directory: &Path) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    // Until it is unlinked, another user might open it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".outpace-{}-{number}", std::process::id()));
        match options.open(&path) {
            Ok(file) => {
                // Some systems cannot unlink an open file: its name stays.
                let _ = std::fs::remove_file(&path);
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
