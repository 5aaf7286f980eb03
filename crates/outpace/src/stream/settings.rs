//! The buffering of the standard streams that the environment asks for.

use super::buffering::{Buffering, FORMS};
use super::state::Role;
use crate::sys::{self, Moment, Output};
use std::time::Duration;
use std::{env, fmt};

/// How long the reader may stand still when the process is about to end.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(200);

/// The buffering that the environment asks for: `OUTPACE_STDOUT` and `OUTPACE_STDERR`, then the
/// variables that `stdbuf` sets. A value that cannot be read is reported on stderr, and the next
/// source holds. A program that runs with more rights than its caller's takes no advice from that.
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

/// Reports to the user what no caller can be told, in one write to standard error.
pub(crate) extern "C" fn report(message: fmt::Arguments<'_>) {
    report_bytes(format!("outpace: {message}\n").as_bytes());
}

/// The same with the whole line.
pub(crate) extern "C" fn report_bytes(line: &[u8]) {
    // Standard error may be on the terminal that stands still, and no thread may be held up by this.
    if Output::STDERR.wait_writable(Moment::now() + LAST_WORDS) {
        // An error here cannot be reported anywhere.
        let _ = Output::STDERR.write_now(line);
    }
}
