//! What `run` and `trace` share: how a child ended, signals to this program, the clock, the processor.

pub(crate) mod clock;
pub(crate) mod ending;
pub(crate) mod interrupts;
pub(crate) mod pty;
pub(crate) mod scheduling;
pub(crate) mod signals;

use crate::failure::Failure;
use std::path::Path;

/// Says so where the kernel's file system of processes is missing, as in a bare chroot: what needs it would find nothing,
/// or wait for it.
pub(crate) fn require_proc() -> Result<(), Failure> {
    if Path::new("/proc/self/stat").exists() {
        return Ok(());
    }
    Err(Failure::failed(
        "/proc",
        "not mounted here, and only it tells what a process does",
    )
    .remedy("mount it (mount -t proc proc /proc), or work where it is"))
}
