//! The buffering that the environment sets for the standard streams, and reports to the user.

use super::buffering::{Buffering, FORMS};
use super::state::Role;
use crate::sys::{self, Moment, Output};
use std::time::Duration;
use std::{env, fmt};

/// How long a reader may be stalled while the process is about to end.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(200);

/// The buffering that the environment sets: `OUTPACE_STDOUT` and `OUTPACE_STDERR`, then the variables of `stdbuf`. A
/// value that cannot be parsed is reported on stderr, and the next source counts. A program with more rights than its
/// caller ignores the environment.
pub(crate) extern "C" fn from_environment(role: Role) -> Option<Buffering> {
    let (own, stdbuf) = match role {
        Role::Stdout => ("OUTPACE_STDOUT", "_STDBUF_O"),
        Role::Stderr => ("OUTPACE_STDERR", "_STDBUF_E"),
        Role::Other => return None,
    };
    if sys::is_privileged() {
        return None;
    }
    read(own, Buffering::from_text, FORMS).or_else(|| {
        let forms = "L, 0 or a number of bytes";
        read(stdbuf, Buffering::from_stdbuf, forms)
    })
}

#[inline(never)]
fn read(variable: &str, parse: fn(&str) -> Option<Buffering>, forms: &str) -> Option<Buffering> {
    let value = env::var_os(variable)?;
    let value: &str = &value.to_string_lossy();
    let buffering = parse(value);
    if buffering.is_none() && !value.is_empty() {
        report(format_args!(
            "{variable}: {value:?} is not a buffering; use {forms}"
        ));
    }
    buffering
}

/// Reports a problem that cannot be returned to a caller, in one write to standard error.
pub(crate) extern "C" fn report(message: fmt::Arguments<'_>) {
    report_bytes(format!("outpace: {message}\n").as_bytes());
}

/// The same, with the complete line.
pub(crate) extern "C" fn report_bytes(line: &[u8]) {
    // Standard error may be on a stalled terminal, which must not hold up the thread.
    if Output::STDERR.wait_writable(Moment::now() + LAST_WORDS) {
        // An error here cannot be reported anywhere.
        let _ = Output::STDERR.write_now(line);
    }
}
