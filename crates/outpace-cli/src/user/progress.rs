//! One line of progress on stderr, when that is a terminal and there is something to wait for.
//!
//! A thread shows it: a long task calls `show` once.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::screen::takes_escapes;

/// Shows the current task; erased when it is dropped.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    /// `None` when stderr is no terminal.
    shower: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<ProgressState>,
    ended: Condvar,
}

#[derive(Default)]
struct ProgressState {
    /// The current task, and the time of the first report.
    text: Option<(String, Instant)>,
    /// The text of the line on the screen.
    shown: Option<String>,
    ended: bool,
}

/// Progress is shown only of tasks that take longer.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// Not more often than it can be read.
const INTERVAL: Duration = Duration::from_millis(200);

impl Progress {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            ended: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        // Without a thread to show it there is no progress to be seen.
        let shower = (io::stderr().is_terminal() && takes_escapes())
            .then(|| std::thread::Builder::new().spawn(move || theirs.run()))
            .and_then(Result::ok);
        Self { shared, shower }
    }

    /// Sets the current task and the share of the whole that is done.
    pub(crate) fn show(&self, text: &str, done: f64) {
        let mut state = self.shared.state();
        let since = state
            .text
            .take()
            .map_or_else(Instant::now, |(_, since)| since);
        state.text = Some((format!("{:3.0} %  {text}", done * 100.0), since));
    }

    /// Leaves the line empty for other output.
    pub(crate) fn erase(&self) {
        let mut state = self.shared.state();
        state.text = None;
        if state.shown.take().is_some() {
            // EL: erase the line (ECMA-48).
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.erase();
        self.shared.state().ended = true;
        self.shared.ended.notify_one();
        if let Some(shower) = self.shower.take() {
            // It only fails by a panic, which has been reported.
            let _ = shower.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.state();
        while !state.ended {
            state.refresh();
            let waited = self.ended.wait_timeout(state, INTERVAL);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl ProgressState {
    fn refresh(&mut self) {
        let Some((text, since)) = &self.text else {
            return;
        };
        if since.elapsed() < SHOWN_AFTER || self.shown.as_ref() == Some(text) {
            return;
        }
        let columns = rustix::termios::tcgetwinsize(io::stderr()).map_or(80, |size| size.ws_col);
        let line: String = text
            .chars()
            .take(usize::from(columns).saturating_sub(1))
            .collect();
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
        self.shown = Some(text.clone());
    }
}
