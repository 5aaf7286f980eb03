//! Options of a backend.

use std::io::{self, Write};
use std::time::Duration;

use crate::model::Capabilities;
use crate::sys;

/// Options of a backend. By default it never waits for the terminal, knows the terminal's capabilities by its name, and lets the picture
/// be as stale as the terminal is slow.
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
    pub(crate) target: Target,
    pub(crate) record_written: bool,
    pub(crate) fewest_bytes: bool,
    pub(crate) exchange_half_blocks: bool,
    /// The alternate screen is on and empty, and all of it may be drawn on.
    pub(crate) owns_screen: bool,
    /// The main screen is on.
    pub(crate) main_screen: bool,
}

/// The terminal to draw on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error, for programs whose output goes into a pipe or a file.
    Stderr,
    /// The terminal that the process was started from (`/dev/tty`), wherever its output goes.
    Tty,
}

impl Target {
    /// Opens the terminal by a descriptor of our own.
    pub(crate) fn open(self) -> io::Result<sys::Terminal> {
        match self {
            Self::Stdout => {
                // Text that was printed before comes first.
                io::stdout().flush()?;
                sys::open_stdout()
            }
            Self::Stderr => sys::open_stderr(),
            Self::Tty => sys::controlling_terminal(),
        }
    }
}

impl Options {
    /// Names the terminal to draw on; by default standard output.
    #[must_use]
    pub fn target(mut self, target: Target) -> Self {
        self.target = target;
        self
    }

    /// Writes in `flush`, without a thread: every frame reaches the terminal, and the application waits
    /// for it. While the terminal does not read, `flush`, commands and lines that are inserted wait, however long that lasts; leaving
    /// gives up after half a second.
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

    /// Always takes the time to find the fewest bytes. Without it (the default) the cells of a picture are drawn in another order, which
    /// saves bytes for processor time, only while the terminal takes longer for those bytes than it takes to save them.
    #[must_use]
    pub fn fewest_bytes(mut self) -> Self {
        self.fewest_bytes = true;
        self
    }

    /// Draws `▄` as `▀` with its colours exchanged, `█` as a space on another background, and the other way round, where
    /// that saves bytes: 6% of those of a picture in half blocks. Without it (the default) each cell is drawn by the
    /// symbol that was asked for. In a terminal whose font divides the two halves elsewhere (xterm) seams shift by a
    /// pixel, and text that is copied from such cells is another.
    ///
    /// ```
    /// use outpace_ratatui::Options;
    ///
    /// let for_pictures = Options::default().exchange_half_blocks();
    /// # let _ = for_pictures;
    /// ```
    #[must_use]
    pub fn exchange_half_blocks(mut self) -> Self {
        self.exchange_half_blocks = true;
        self
    }

    /// Records which cells each frame prints, for [`OutpaceBackend::was_written`]; draws directly.
    ///
    /// [`OutpaceBackend::was_written`]: crate::OutpaceBackend::was_written
    #[must_use]
    pub fn record_written(mut self) -> Self {
        self.record_written = true;
        self.direct()
    }

    /// Takes the terminal to be capable of this, whatever its name.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = Some(capabilities);
        self
    }
}
