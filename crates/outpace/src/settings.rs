//! What the environment says about the buffering of the standard streams.
// Where a function is `extern "C"`, that says to the compiler that it does not unwind.
#![allow(improper_ctypes_definitions)]

use crate::buffering::{Buffering, FORMS};
use crate::engine::Role;
use crate::init::LAST_WORDS;
use crate::locked::PutOff;
use crate::sys::Output;
use std::env;

/// A variable, how it is read, and the forms that it has.
type Source = (&'static str, fn(&str) -> Option<Buffering>, &'static str);

const STDBUF: &str = "L, 0 or a number of bytes";

/// In the order of precedence.
static OF_STDOUT: [Source; 2] = [
    ("OUTPACE_STDOUT", Buffering::from_text, FORMS),
    ("_STDBUF_O", Buffering::from_stdbuf, STDBUF),
];
static OF_STDERR: [Source; 2] = [
    ("OUTPACE_STDERR", Buffering::from_text, FORMS),
    ("_STDBUF_E", Buffering::from_stdbuf, STDBUF),
];

/// The buffering that the environment asks for: `OUTPACE_STDOUT` and `OUTPACE_STDERR`, then the
/// variables that `stdbuf` sets. A value that cannot be read is reported on stderr, and the next
/// source holds.
pub(crate) extern "C" fn from_environment(role: Role, put_off: &mut PutOff) -> Option<Buffering> {
    let sources = match role {
        Role::Stdout => &OF_STDOUT,
        Role::Stderr => &OF_STDERR,
        Role::Other => return None,
    };
    for (variable, read, forms) in sources {
        let Some(value) = env::var_os(variable) else {
            continue;
        };
        let value = value.to_string_lossy();
        let buffering = read(&value);
        if buffering.is_some() {
            return buffering;
        }
        if !value.is_empty() {
            put_off.report(format!(
                "{variable}: {value:?} is not a buffering; use {forms}"
            ));
        }
    }
    None
}

/// Tells the user something that no caller can be told, in one write to standard error.
pub(crate) extern "C" fn report(message: &str) {
    // Standard error may be on the very terminal that stands still, and nobody is to be held up by this.
    if Output::STDERR.wait_writable(Some(LAST_WORDS)) {
        // If even this cannot be written there is nobody left to tell.
        let _ = Output::STDERR.write(format!("outpace: {message}\n").as_bytes());
    }
}
