//! Any system: std's streams, and crossterm's knowledge of the terminal. It cannot tell whether a terminal reads, so leaving one
//! that does not may wait, and there is no stop by a signal.

use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

#[cfg(not(feature = "crossterm"))]
compile_error!("elsewhere than on Unix outpace-ratatui needs its feature `crossterm`");

/// A terminal that is drawn on: one of the standard streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    Stdout,
    Stderr,
}

impl Terminal {
    pub(crate) fn is_terminal(&self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }
}

impl Write for &Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Terminal::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()?;
            }
            Terminal::Stderr => io::stderr().lock().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// At its end at once: crossterm reads the input.
impl Read for Terminal {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}

/// Frames go through [`io::stdout`], and its lock.
pub(crate) const OWN_DESCRIPTOR: bool = false;

pub(crate) const fn open_stdout() -> io::Result<Terminal> {
    Ok(Terminal::Stdout)
}

pub(crate) const fn open_stderr() -> io::Result<Terminal> {
    Ok(Terminal::Stderr)
}

/// There is no other way to the terminal than standard output.
pub(crate) const fn controlling_terminal() -> io::Result<Terminal> {
    Ok(Terminal::Stdout)
}

pub(crate) fn is_stdout(terminal: &Terminal) -> bool {
    *terminal == Terminal::Stdout
}

pub(crate) fn is_stderr(terminal: &Terminal) -> bool {
    *terminal == Terminal::Stderr
}

/// Columns, rows and their pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
    pub(crate) pixels: (u16, u16),
}

/// The size of the terminal. `None`: there is no terminal.
pub(crate) fn terminal_size(terminal: &Terminal) -> io::Result<Option<TerminalSize>> {
    if !terminal.is_terminal() {
        return Ok(None);
    }
    let (columns, rows) = crossterm::terminal::size()?;
    Ok(Some(TerminalSize {
        columns,
        rows,
        pixels: (0, 0),
    }))
}

/// Whether a terminal takes bytes cannot be told; it is taken to.
pub(crate) const fn wait_writable(_: &Terminal, _: Option<Duration>) -> io::Result<bool> {
    Ok(true)
}

/// No descriptor can be opened again here.
pub(crate) const fn reopen_nonblocking(_: &Terminal) -> Option<Terminal> {
    None
}

/// The system does not say how many there are.
pub(crate) struct Threads(std::convert::Infallible);

impl Threads {
    pub(crate) const fn new() -> Option<Self> {
        None
    }

    pub(crate) const fn count(&self) -> Option<u64> {
        match self.0 {}
    }
}

/// The system does not tell of threads.
pub(crate) struct Thread(std::convert::Infallible);

impl Thread {
    pub(crate) const fn current() -> Option<Self> {
        None
    }

    pub(crate) const fn is_runnable(&self) -> bool {
        match self.0 {}
    }

    pub(crate) const fn run_time(&self) -> Duration {
        match self.0 {}
    }
}

pub(crate) const fn wait_stdout_writable(_: Duration) -> bool {
    true
}

pub(crate) const fn stderr_is_ready() -> bool {
    true
}

pub(crate) const fn wait_readable(_: &Terminal, _: Duration) -> io::Result<bool> {
    Ok(false)
}

/// The modes of a terminal before it was made raw.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    was_raw: bool,
}

/// Makes the terminal raw.
pub(crate) fn make_raw(_: &Terminal) -> io::Result<Modes> {
    let was_raw = crossterm::terminal::is_raw_mode_enabled()?;
    crossterm::terminal::enable_raw_mode()?;
    Ok(Modes { was_raw })
}

/// Gives the terminal its modes back.
pub(crate) fn restore_modes(_: &Terminal, modes: &Modes) -> io::Result<()> {
    match modes.was_raw {
        true => Ok(()),
        false => crossterm::terminal::disable_raw_mode(),
    }
}

/// Whether keys are delivered as they are pressed.
pub(crate) fn is_raw(_: &Terminal) -> bool {
    crossterm::terminal::is_raw_mode_enabled().unwrap_or(false)
}

#[expect(clippy::unnecessary_wraps, reason = "as that of a file")]
pub(crate) fn readable_twin(terminal: &Terminal) -> io::Result<Terminal> {
    Ok(terminal.clone())
}

pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    f()
}

#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(crate) const fn catch_stops(_: &Terminal, _: &'static str) -> io::Result<()> {
    Ok(())
}

pub(crate) const fn ignore_stops() {}

pub(crate) const fn was_stopped() -> bool {
    false
}

pub(crate) const fn stop() {}

/// The effect of a signal. Here there are no signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "as on Unix")]
pub(crate) enum Ending {
    End,
    Stop,
    Continue,
}

#[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
pub(crate) const fn watch_endings(_: fn(Ending)) -> io::Result<()> {
    Ok(())
}

pub(crate) const fn ignore_endings() {}

/// Says, while it lives, that its thread writes to a terminal.
pub(crate) struct Writing(());

impl Writing {
    pub(crate) const fn begin() -> Self {
        Self(())
    }

    pub(crate) const fn end(self) {}
}
