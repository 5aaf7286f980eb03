//! What `run` and `trace` share: how a child ended, signals to this program, the clock, the processor.

pub(crate) mod clock;
pub(crate) mod ending;
pub(crate) mod interrupts;
pub(crate) mod pty;
pub(crate) mod scheduling;
pub(crate) mod signals;

use std::path::Path;

/// Whether the kernel's file system of processes is there, which a bare chroot does not have.
pub(crate) fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}
