//! How a backend is to be made.

use std::time::Duration;

use crate::probe::Capabilities;

/// How a backend is to be made. The default draws by a thread of its own, finds out what the terminal
/// can do, and lets the picture be as stale as the terminal is slow.
///
/// ```
/// use std::time::Duration;
/// use outpace_ratatui::Options;
///
/// let frame_by_frame = Options::default().direct();
/// let bounded = Options::default().max_lag(Duration::from_millis(500));
/// # let _ = (frame_by_frame, bounded);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) direct: bool,
    pub(crate) max_lag: Option<Duration>,
    pub(crate) capabilities: Option<Capabilities>,
    /// The terminal shows an empty alternate screen of ours, which may be scribbled on.
    pub(crate) owns_screen: bool,
}

impl Options {
    /// Writes in `flush`, without a thread: every frame reaches the terminal, and the application waits
    /// for it.
    #[must_use]
    pub fn direct(mut self) -> Self {
        self.direct = true;
        self
    }

    /// Bounds how stale the picture may be: when the terminal has been busy with one frame for longer,
    /// `flush` waits for it. Without it (the default) `flush` never waits.
    #[must_use]
    pub fn max_lag(mut self, limit: Duration) -> Self {
        self.max_lag = Some(limit);
        self
    }

    /// Takes the terminal to be capable of this, and asks it nothing.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }
}
