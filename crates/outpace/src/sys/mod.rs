//! Every call to the operating system, one function list for all platforms.
//!
//! `unix.rs` is POSIX. `linux.rs` adds what only Linux has: futexes, `membarrier(2)`, the capacity of a
//! pipe. `portable.rs` makes do with `std::io`; it serves Windows, and with `--cfg outpace_portable`
//! any system, which is how it is tested.

use std::fs::File;
use std::io;
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

/// Milliseconds on a clock that is cheap, monotonic and coarse. Never 0.
pub(crate) fn coarse_millis() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

/// `poll`'s timeout argument: whole milliseconds, rounded up, -1 for ever.
#[cfg_attr(
    any(not(unix), outpace_portable),
    expect(dead_code, reason = "for poll(2)")
)]
fn poll_millis(timeout: Option<Duration>) -> i32 {
    match timeout {
        None => -1,
        Some(timeout) => i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX),
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
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!(".outpace-{}-{number}", std::process::id()));
        match File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
        {
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
