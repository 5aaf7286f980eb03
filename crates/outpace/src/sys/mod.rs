//! Every call to the operating system, one function list for all platforms.
//!
//! `unix.rs` is POSIX. `linux.rs` adds what only Linux has: futexes, `membarrier(2)`, the capacity of a
//! pipe. `portable.rs` makes do with `std::io`; it serves Windows, and with `--cfg outpace_portable`
//! any system, which is how it is tested.

use std::fmt;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Add;
use std::path::Path;
use std::time::Duration;

#[cfg(all(target_os = "linux", not(outpace_portable)))]
mod linux;
#[cfg(any(not(unix), outpace_portable))]
mod portable;
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) mod signal;
#[cfg(all(unix, not(outpace_portable)))]
mod unix;

#[cfg(all(target_os = "linux", not(outpace_portable)))]
pub(crate) use linux::*;
#[cfg(any(not(unix), outpace_portable))]
pub(crate) use portable::*;
#[cfg(all(unix, not(any(target_os = "linux", outpace_portable))))]
pub(crate) use unix::*;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It has no memory of its own, so there is nothing to drop.
        ManuallyDrop::new(io::Error::from(*self)).fmt(f)
    }
}

/// What a stream's bytes go to, as far as it matters to buffering.
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
    /// A regular file, or anything else that neither waits nor is watched.
    File,
    /// The null device.
    Null,
}

/// Which file a descriptor refers to: equal identities are the same terminal, pipe or file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity(pub(crate) [u64; 3]);

/// A moment, in nanoseconds of a clock that only goes forward.
///
/// std's `Instant` checks each step and has words for what may go wrong, which a small program would carry.
#[derive(Clone, Copy)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn now() -> Self {
        Moment(monotonic_nanos())
    }

    pub(crate) fn elapsed(self) -> Duration {
        Self::now().since(self)
    }

    /// The time from `earlier` on; none if that is later.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Nothing, if it has come.
    pub(crate) fn left(self) -> Option<Duration> {
        Some(self.since(Self::now())).filter(|left| !left.is_zero())
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

/// `poll`'s timeout argument: whole milliseconds, rounded up, -1 for ever.
#[cfg_attr(
    any(not(unix), outpace_portable),
    expect(dead_code, reason = "for poll(2)")
)]
fn poll_millis(timeout: Option<Duration>) -> i32 {
    match timeout {
        None => -1,
        Some(timeout) => {
            let millis = timeout.as_secs().saturating_mul(1000);
            let rest = timeout.subsec_nanos().div_ceil(1_000_000);
            i32::try_from(millis.saturating_add(rest.into())).unwrap_or(i32::MAX)
        }
    }
}

/// Reads all of `bytes` at the offset `at`, whatever the file's own offset is.
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

/// A file for reading and writing that has no name, or loses it at once.
pub(crate) fn unlinked_file(directory: &Path) -> io::Result<File> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    // Until it is unlinked, somebody might open it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".outpace-{}-{number}", std::process::id()));
        match options.open(&path) {
            Ok(file) => {
                // Where an open file cannot be unlinked, its name stays.
                let _ = std::fs::remove_file(&path);
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
