//! Takes the terminal over and gives it back: raw mode, alternate screen, panics, Ctrl-Z.
//!
//! One session at a time is remembered for the whole process, so that [`restore`] needs no terminal in
//! hand: it is called from the panic hook, when the one that draws may be anywhere up the stack.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use ratatui_core::terminal::{Terminal, TerminalOptions};

use crate::backend::OutpaceBackend;
use crate::options::Options;
use crate::present::Closer;
use crate::probe;
use crate::sys;

/// The terminal that [`init`] makes.
pub type DefaultTerminal = Terminal<OutpaceBackend>;

const ENTER: &str = "\x1b[?1049h";
/// Ends margins, style and hiding of the cursor, whatever was on. A synchronized update that was cut off
/// ends by itself, after a moment; kitty logs a complaint about ending one that is not on.
const LEAVE: &str = "\x1b[r\x1b[m\x1b[?25h\x1b[?1049l";
/// The same for the main screen, where resetting the margins would move the cursor.
const LEAVE_INLINE: &str = "\x1b[m\x1b[?25h";

/// How long giving the terminal back may wait for it to read.
const PATIENCE: Duration = Duration::from_millis(500);

struct Session {
    terminal: File,
    modes: sys::Modes,
    alternate_screen: bool,
    closer: Option<Closer>,
}

static SESSION: Mutex<Option<Session>> = Mutex::new(None);

fn session() -> MutexGuard<'static, Option<Session>> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes over the terminal on standard output: raw mode, alternate screen, and a panic hook that gives
/// both back before the message is printed. Ctrl-Z from outside (`SIGTSTP`) and coming back work too.
///
/// Mirrors `ratatui::init`.
///
/// # Panics
/// If there is no terminal; [`try_init`] returns the error instead.
///
/// ```no_run
/// let mut terminal = outpace_ratatui::init();
/// let result = terminal.draw(|frame| frame.render_widget("hello", frame.area())).map(|_| ());
/// outpace_ratatui::restore();
/// # result.unwrap();
/// ```
pub fn init() -> DefaultTerminal {
    try_init().expect("the terminal can be initialised")
}

/// As [`init`], with the error instead of a panic.
///
/// # Errors
/// If standard output is no terminal, or `OUTPACE_DRAW_OFF` names an optimisation that does not exist.
pub fn try_init() -> io::Result<DefaultTerminal> {
    Options::default().init()
}

/// Takes over the terminal for another viewport, without the alternate screen. Mirrors
/// `ratatui::init_with_options`.
///
/// # Panics
/// If there is no terminal; [`try_init_with_options`] returns the error instead.
pub fn init_with_options(options: TerminalOptions) -> DefaultTerminal {
    try_init_with_options(options).expect("the terminal can be initialised")
}

/// As [`init_with_options`], with the error instead of a panic.
///
/// # Errors
/// As for [`try_init`].
pub fn try_init_with_options(options: TerminalOptions) -> io::Result<DefaultTerminal> {
    Options::default().init_with(options)
}

/// Gives the terminal back, as it was before [`init`]. Without a session it does nothing.
///
/// What was drawn last is shown first. From then on a backend that is still in use writes nothing. A terminal that does not read is given
/// up after half a second, with its modes restored all the same. An error is printed on standard error.
pub fn restore() {
    if let Err(error) = try_restore() {
        eprintln!("outpace-ratatui: the terminal could not be restored: {error}");
    }
}

/// As [`restore`], with the error instead of a message.
///
/// # Errors
/// If the terminal is gone.
pub fn try_restore() -> io::Result<()> {
    let Some(session) = session().take() else {
        return Ok(());
    };
    session.end()
}

/// Runs an application between [`init`] and [`restore`]. Mirrors `ratatui::run`.
///
/// ```no_run
/// outpace_ratatui::run(|terminal| {
///     terminal.draw(|frame| frame.render_widget("hello", frame.area())).map(|_| ())
/// })?;
/// # std::io::Result::Ok(())
/// ```
///
/// # Panics
/// As [`init`].
pub fn run<F, R>(f: F) -> R
where
    F: FnOnce(&mut DefaultTerminal) -> R,
{
    let mut terminal = init();
    let result = f(&mut terminal);
    drop(terminal);
    restore();
    result
}

/// Stops the process as Ctrl-Z does outside raw mode: the shell gets its terminal back, and after `fg`
/// everything is drawn again. For applications that bind a key to it.
///
/// # Errors
/// If there is no session.
pub fn suspend() -> io::Result<()> {
    let closer = match &*session() {
        Some(session) => session.closer.clone(),
        None => {
            return Err(io::Error::other(
                "nothing to suspend: call outpace_ratatui::init first",
            ));
        }
    };
    if let Some(closer) = closer {
        closer.settle(PATIENCE);
    }
    sys::stop();
    Ok(())
}

impl Session {
    fn begin(terminal: File, alternate_screen: bool) -> io::Result<Self> {
        let input = sys::readable_twin(&terminal)?;
        let leave = if alternate_screen {
            LEAVE
        } else {
            LEAVE_INLINE
        };
        let no_terminal = |error: io::Error| {
            let advice = "draw on Target::Tty to reach the one the program was started from";
            io::Error::new(
                error.kind(),
                format!("this is no terminal ({error}); {advice}"),
            )
        };
        sys::catch_stops(&terminal, leave).map_err(no_terminal)?;
        let modes = sys::make_raw(&input).map_err(no_terminal)?;
        let session = Self {
            terminal,
            modes,
            alternate_screen,
            closer: None,
        };
        session.enter()?;
        Ok(session)
    }

    fn enter(&self) -> io::Result<()> {
        if self.alternate_screen {
            (&self.terminal).write_all(ENTER.as_bytes())?;
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        if let Some(closer) = &self.closer {
            closer.close(PATIENCE);
        }
        sys::ignore_stops();
        let leave = if self.alternate_screen {
            LEAVE
        } else {
            LEAVE_INLINE
        };
        let mut written = Ok(());
        if sys::wait_writable(&self.terminal, Some(PATIENCE))? {
            written = (&self.terminal).write_all(leave.as_bytes());
        }
        probe::await_late_answers(&self.terminal);
        sys::restore_modes(sys::readable_twin(&self.terminal)?, &self.modes)?;
        written
    }
}

/// If the process was stopped since the last call, takes the terminal over again. Returns whether.
pub(crate) fn resume() -> io::Result<bool> {
    if !sys::was_stopped() {
        return Ok(false);
    }
    if let Some(session) = &*session() {
        sys::make_raw(sys::readable_twin(&session.terminal)?)?;
        session.enter()?;
    }
    Ok(true)
}

impl Options {
    /// Takes over the terminal as [`init`](crate::init) does, but with these options.
    ///
    /// ```no_run
    /// use outpace_ratatui::{Options, Target};
    ///
    /// let terminal = Options::default().target(Target::Stderr).init()?;
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`try_init`](crate::try_init).
    pub fn init(self) -> io::Result<DefaultTerminal> {
        self.take_over(None)
    }

    /// Takes over the terminal for another viewport, without the alternate screen.
    ///
    /// # Errors
    /// As for [`try_init`](crate::try_init).
    pub fn init_with(self, options: TerminalOptions) -> io::Result<DefaultTerminal> {
        self.take_over(Some(options))
    }

    fn take_over(mut self, options: Option<TerminalOptions>) -> io::Result<DefaultTerminal> {
        restore_on_panic();
        try_restore()?;
        let terminal = self.target.open()?;
        *session() = Some(Session::begin(terminal.try_clone()?, options.is_none())?);
        self.owns_screen = options.is_none();
        let made = OutpaceBackend::open(terminal, self).and_then(|backend| {
            if let Some(session) = &mut *session() {
                session.closer = Some(backend.closer());
            }
            match options {
                None => Terminal::new(backend),
                Some(options) => Terminal::with_options(backend, options),
            }
        });
        if made.is_err() {
            // The first error is the one worth reporting.
            let _ = try_restore();
        }
        made
    }
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
    });
}
