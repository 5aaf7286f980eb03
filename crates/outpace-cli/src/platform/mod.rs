//! The operating system, for all commands: processes, terminals, signals, clocks.

pub(crate) mod answer;
pub(crate) mod clock;
pub(crate) mod descriptors;
pub(crate) mod doing;
pub(crate) mod ending;
pub(crate) mod gate;
pub(crate) mod histogram;
pub(crate) mod interrupts;
pub(crate) mod mappings;
pub(crate) mod procfs;
pub(crate) mod pty;
pub(crate) mod readers;
pub(crate) mod samples;
pub(crate) mod scheduling;
pub(crate) mod signals;
pub(crate) mod stops;
pub(crate) mod waker;
pub(crate) mod worker;

use std::io;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Whether the kernel's file system of processes is there, which a bare chroot does not have, and numbers processes as this process
/// sees them: after `unshare --fork --pid` it still has the numbers of another namespace.
pub(crate) fn has_proc() -> bool {
    let this = std::process::id().to_string();
    std::fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == &*this)
}

/// Connects a command with the null device only.
pub(crate) fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

/// A directory of this process's own, under a name that cannot be foreseen; it and its files end with it.
pub(crate) fn scratch() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("outpace-").tempdir()
}
