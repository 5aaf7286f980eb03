//! Raw mode of a session. With the feature `crossterm` it is crossterm's, so that an application's `disable_raw_mode` ends it, as around
//! an editor, and its `enable_raw_mode` begins it again.

use std::io;

use crate::sys;

/// Raw mode that was begun, and that [`end`](Self::end) ends.
pub(super) struct RawMode {
    /// The session's terminal had these modes. `None`: crossterm made it raw. Otherwise crossterm reads keys from another terminal, or
    /// from none.
    own: Option<sys::Modes>,
}

impl RawMode {
    /// `terminal`: that of the session, for reading.
    pub(super) fn begin(terminal: &sys::Terminal) -> io::Result<Self> {
        let own = match enable() && sys::is_raw(terminal) {
            true => None,
            false => Some(sys::make_raw(terminal).inspect_err(|_| {
                // The first error is the one worth reporting.
                let _ = disable();
            })?),
        };
        Ok(Self { own })
    }

    /// Makes the terminal raw again after a stop, unless the application has ended raw mode. The stop restored the modes.
    pub(super) fn resume(&self, terminal: &sys::Terminal) -> io::Result<()> {
        if self.own.is_some() || is_enabled() {
            sys::make_raw(terminal)?;
        }
        Ok(())
    }

    /// Gives the terminal of the session the modes that it had before raw mode.
    pub(super) fn end(self, terminal: &sys::Terminal) -> io::Result<()> {
        let disabled = disable();
        if let Some(modes) = self.own {
            sys::restore_modes(&sys::readable_twin(terminal)?, &modes)?;
        }
        disabled
    }
}

/// Has crossterm make its terminal raw. `false`: it has none.
#[cfg(feature = "crossterm")]
fn enable() -> bool {
    crossterm::terminal::enable_raw_mode().is_ok()
}

#[cfg(feature = "crossterm")]
fn is_enabled() -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}

#[cfg(feature = "crossterm")]
fn disable() -> io::Result<()> {
    crossterm::terminal::disable_raw_mode()
}

#[cfg(not(feature = "crossterm"))]
const fn enable() -> bool {
    false
}

#[cfg(not(feature = "crossterm"))]
const fn is_enabled() -> bool {
    false
}

#[cfg(not(feature = "crossterm"))]
#[expect(clippy::unnecessary_wraps, reason = "as with crossterm")]
const fn disable() -> io::Result<()> {
    Ok(())
}
