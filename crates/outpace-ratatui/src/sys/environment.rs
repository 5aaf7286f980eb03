//! Variables of the environment, for a program that has no more rights than its caller.
#![allow(unsafe_code)]

use std::env;
use std::ffi::OsString;

/// A variable of this crate's own. `None` in a set-user-ID program and the like: its caller could have another user's
/// file written.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|_| !is_privileged())
}

/// Whether the process has rights that its caller may not have.
fn is_privileged() -> bool {
    // SAFETY: only asks.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    // SAFETY: only asks.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    return unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() };
}
