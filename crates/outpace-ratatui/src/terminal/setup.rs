//! Takes the terminal over and gives it back, in one call each, as ratatui's own functions of these names do.

use std::io;

use ratatui_core::terminal::{Terminal, TerminalOptions};

use super::backend::OutpaceBackend;
use super::options::Options;
use super::{panic, session};
use crate::sys;

/// The terminal that [`init`] makes.
pub type DefaultTerminal = Terminal<OutpaceBackend>;

/// Takes over the terminal on standard output: raw mode, alternate screen, and a panic hook that gives
/// both back before the message is printed. Ctrl-Z from outside (`SIGTSTP`) and coming back work too.
///
/// Mirrors `ratatui::init`. On a terminal that does not read it waits only for text that the program has printed before. The
/// alternate screen is turned on when the terminal reads again, before the first frame.
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
/// `ratatui::init_with_options`. An inline viewport has to ask the terminal where its cursor is: it waits a second for a terminal that
/// does not read, and two for an answer.
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

/// Gives the terminal back, as it was before [`init`], and ends crossterm's raw mode. Without a session it returns at once.
///
/// Shows the last frame first. From then on drawing with a backend that is still in use is an error, and it writes no bytes. A terminal
/// that does not read is given up after half a second, with its modes restored all the same. An error is printed on standard error,
/// if that can be written to without waiting.
pub fn restore() {
    if let Err(error) = try_restore()
        && sys::stderr_is_ready()
    {
        eprintln!("outpace-ratatui: the terminal could not be restored: {error}");
    }
}

/// As [`restore`], with the error instead of a message.
///
/// # Errors
/// If the terminal is gone, or does not read. The error names the frames and bytes that were given up.
pub fn try_restore() -> io::Result<()> {
    let result = session::end(
        "the terminal was given back by outpace_ratatui::restore; init takes it over again",
    );
    panic::wait_for_reports();
    result
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
    // The last frame is shown, and the cursor with it. Afterwards the terminal has nothing to write by itself.
    restore();
    drop(terminal);
    result
}

/// Stops the process as Ctrl-Z does outside raw mode: the shell gets its terminal back, and after `fg`
/// everything is drawn again. For applications that bind a key to it.
///
/// # Errors
/// If there is no session.
pub fn suspend() -> io::Result<()> {
    session::suspend()
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
        panic::give_back_first();
        try_restore()?;
        let terminal = self.target.open()?;
        session::begin(terminal.clone(), options.is_none())?;
        self.owns_screen = options.is_none();
        self.main_screen = options.is_some();
        let made = OutpaceBackend::on(terminal, self).and_then(|mut backend| {
            session::set_closer(backend.closer());
            if options.is_none() {
                backend.write_before(session::ENTER)?;
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
