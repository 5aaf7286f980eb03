//! The operating system: sizes, modes, readiness and signals of a terminal. On Unix a terminal is a descriptor; elsewhere, and
//! on Unix with `--cfg outpace_portable`, it is standard output by way of std and crossterm.

#[cfg(unix)]
mod environment;
#[cfg(any(not(unix), outpace_portable))]
mod portable;
#[cfg(all(unix, not(outpace_portable)))]
mod signals;
#[cfg(all(unix, not(outpace_portable)))]
mod threads;
#[cfg(all(unix, not(outpace_portable)))]
mod unix;

#[cfg(unix)]
pub(crate) use environment::variable;
#[cfg(any(not(unix), outpace_portable))]
pub(crate) use portable::*;
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) use signals::{
    Ending, Writing, catch_stops, ignore_endings, ignore_stops, stop, was_stopped, watch_endings,
    without_signals,
};
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) use threads::Threads;
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) use unix::*;

/// A variable of this crate's own.
#[cfg(not(unix))]
pub(crate) fn variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}
