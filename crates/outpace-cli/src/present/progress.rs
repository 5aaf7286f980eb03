//! One line of progress on stderr, when that is a terminal and there is something to wait for.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Shows what is being done; erased when it is dropped.
pub(crate) struct Progress {
    on: bool,
    started: Instant,
    shown: Option<Instant>,
}

/// Nobody waits for progress within this time.
const PATIENCE: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_millis(100);

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            on: io::stderr().is_terminal(),
            started: Instant::now(),
            shown: None,
        }
    }

    /// Shows a text and how much of the whole is done, but not more often than it can be read.
    pub(crate) fn show(&mut self, text: &str, done: f64) {
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= INTERVAL);
        if !self.on || !due || self.started.elapsed() < PATIENCE {
            return;
        }
        self.shown = Some(Instant::now());
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| size.ws_col);
        let line = format!("{:3.0} %  {text}", done * 100.0);
        let line: String = line
            .chars()
            .take(usize::from(columns).saturating_sub(1))
            .collect();
        // CR, the text, EL: erase what is left of the line before (ECMA-48).
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    /// Leaves the line empty for what is printed next.
    pub(crate) fn erase(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.erase();
    }
}
