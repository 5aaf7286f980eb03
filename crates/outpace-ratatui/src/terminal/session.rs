//! The terminal while it is taken over: raw mode, alternate screen, Ctrl-Z.
//!
//! The process remembers its session, one at a time, so that the panic hook can end it: the hook has no access to the `Terminal`, which
//! may be anywhere up the stack.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::probe::LEAVE_LIMIT;
use super::raw_mode::RawMode;
use crate::present::Closer;
use crate::sys;

/// Turns the alternate screen on. The presenter writes it before the first frame, so that opening waits for no terminal.
pub(super) const ENTER: &[u8] = b"\x1b[?1049h";
/// Ends margins, style and hiding of the cursor, whatever was on. A synchronized update that was cut off
/// ends by itself, after a moment; kitty logs a complaint about ending one that is not on.
const LEAVE: &str = "\x1b[r\x1b[m\x1b[?25h\x1b[?1049l";
/// The same for the main screen, where resetting the margins would move the cursor.
const LEAVE_INLINE: &str = "\x1b[m\x1b[?25h";

/// The bytes that leave a session's screen.
const fn leave(alternate_screen: bool) -> &'static str {
    match alternate_screen {
        true => LEAVE,
        false => LEAVE_INLINE,
    }
}

struct Session {
    terminal: sys::Terminal,
    raw_mode: RawMode,
    alternate_screen: bool,
    closer: Option<Closer>,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the terminal over, but for [`ENTER`].
pub(super) fn begin(terminal: sys::Terminal, alternate_screen: bool) -> io::Result<()> {
    *session() = Some(Session::begin(terminal, alternate_screen)?);
    Ok(())
}

/// Names the presenter to be silenced at the end.
pub(super) fn set_closer(closer: Closer) {
    if let Some(session) = &mut *session() {
        session.closer = Some(closer);
    }
}

/// Whether the present session is that of this presenter: its end shows the cursor and resets the pen.
pub(super) fn will_end(presenter: &Closer) -> bool {
    let session = session();
    let closer = session.as_ref().and_then(|session| session.closer.as_ref());
    closer.is_some_and(|closer| closer.is_same(presenter))
}

/// Gives the terminal back, if there is a session.
pub(super) fn end(reason: &str) -> io::Result<()> {
    // In a statement of its own: the session is not locked while it ends.
    let ended = session().take();
    ended.map_or(Ok(()), |session| session.end(reason))
}

/// Stops the process, once the newest frame is shown.
pub(super) fn suspend() -> io::Result<()> {
    let closer = match &*session() {
        Some(session) => session.closer.clone(),
        None => {
            return Err(io::Error::other(
                "nothing to suspend: call outpace_ratatui::init first",
            ));
        }
    };
    if let Some(closer) = closer {
        closer.wait_until_shown(LEAVE_LIMIT);
    }
    sys::stop();
    Ok(())
}

/// Writes text that was printed before. To be called outside of raw mode, in which a line feed does not return to the first column.
fn flush_printed() {
    // An error is reported by the next print.
    let _ = io::stdout().flush();
    #[cfg(feature = "outpace")]
    for flushed in [outpace::stdout().flush(), outpace::stderr().flush()] {
        let _ = flushed;
    }
}

impl Session {
    fn begin(terminal: sys::Terminal, alternate_screen: bool) -> io::Result<Self> {
        let input = sys::readable_twin(&terminal)?;
        let no_terminal = |error: io::Error| {
            let advice = "draw on Target::Tty to reach the one the program was started from";
            io::Error::new(
                error.kind(),
                format!("this is no terminal ({error}); {advice}"),
            )
        };
        sys::catch_stops(&terminal, leave(alternate_screen)).map_err(no_terminal)?;
        flush_printed();
        let raw_mode = RawMode::begin(&input).map_err(no_terminal)?;
        Ok(Self {
            terminal,
            raw_mode,
            alternate_screen,
            closer: None,
        })
    }

    fn end(mut self, reason: &str) -> io::Result<()> {
        let given_up = self
            .closer
            .as_ref()
            .and_then(|closer| closer.close(LEAVE_LIMIT, reason.to_owned()));
        sys::ignore_stops();
        let stalled = given_up.is_some() || !sys::wait_writable(&self.terminal, Some(LEAVE_LIMIT))?;
        let written = if stalled {
            let what = given_up.unwrap_or_else(|| "leaving its screen".into());
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the terminal does not read; given up: {what}"),
            ))
        } else {
            self.terminal
                .write_all(leave(self.alternate_screen).as_bytes())
        };
        self.raw_mode.end(&self.terminal)?;
        written
    }
}

/// If the process was stopped since the last call, takes the terminal over again. Returns the bytes that have to be written before
/// everything is drawn again.
pub(super) fn resume() -> io::Result<Option<&'static [u8]>> {
    if !sys::was_stopped() {
        return Ok(None);
    }
    let mut enter = &[][..];
    if let Some(session) = &*session() {
        let input = sys::readable_twin(&session.terminal)?;
        session.raw_mode.resume(&input)?;
        if session.alternate_screen {
            enter = ENTER;
        }
    }
    Ok(Some(enter))
}
