//! What the environment says about the buffering of the standard streams.

use crate::buffering::{Buffering, FORMS, ParseBufferingError};
use crate::engine::Role;
use crate::init::LAST_WORDS;
use crate::locked::PutOff;
use crate::sys::Output;
use std::env;

/// The buffering that the environment asks for: `OUTPACE_STDOUT` and `OUTPACE_STDERR`, then the
/// variables that `stdbuf` sets. A value that cannot be read is reported on stderr, and the next
/// source holds.
pub(crate) fn from_environment(role: Role, put_off: &mut PutOff) -> Option<Buffering> {
    let (own, stdbuf) = match role {
        Role::Stdout => ("OUTPACE_STDOUT", "_STDBUF_O"),
        Role::Stderr => ("OUTPACE_STDERR", "_STDBUF_E"),
        Role::Other => return None,
    };
    read(own, FORMS, |text| text.parse(), put_off).or_else(|| {
        let forms = "L, 0 or a number of bytes";
        read(stdbuf, forms, Buffering::from_stdbuf, put_off)
    })
}

fn read(
    variable: &str,
    forms: &str,
    parse: impl Fn(&str) -> Result<Buffering, ParseBufferingError>,
    put_off: &mut PutOff,
) -> Option<Buffering> {
    let value = env::var_os(variable)?;
    if let Some(Ok(buffering)) = value.to_str().map(parse) {
        return Some(buffering);
    }
    if !value.is_empty() {
        put_off.report(format!(
            "{variable}: {value:?} is not a buffering; use {forms}"
        ));
    }
    None
}

/// Tells the user something that no caller can be told, in one write to standard error.
pub(crate) fn report(message: &str) {
    // Standard error may be on the very terminal that stands still, and nobody is to be held up by this.
    if Output::STDERR.wait_writable(Some(LAST_WORDS)) {
        // If even this cannot be written there is nobody left to tell.
        let _ = Output::STDERR.write(format!("outpace: {message}\n").as_bytes());
    }
}
