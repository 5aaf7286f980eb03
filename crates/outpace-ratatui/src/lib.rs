//! A [ratatui](https://docs.rs/ratatui) backend that draws with the fewest bytes and never holds the
//! application back.
//!
//! It replaces `CrosstermBackend` in one line; widgets, events and the rest of the program stay as they
//! are:
//!
//! ```no_run
//! # use ratatui::Terminal;
//! # use outpace_ratatui::OutpaceBackend;
//! let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
//! # std::io::Result::Ok(())
//! ```
//!
//! or, with raw mode, the alternate screen and a panic hook, as `ratatui::run` does:
//!
//! ```no_run
//! outpace_ratatui::run(|terminal| {
//!     loop {
//!         terminal.draw(|frame| frame.render_widget("press any key", frame.area()))?;
//!         if crossterm::event::read()?.is_key_press() {
//!             return Ok(());
//!         }
//!     }
//! })
//! # as std::io::Result<()>;
//! ```
//!
//! # Properties
//!
//! - **Few bytes.** Each frame is compared with the screen that the terminal really shows. Text that moved is moved
//!   there, by rows or within them, colours included; blanks are erased; only attributes that
//!   change are sent, both colours in one sequence; the cursor takes the cheapest way. A frame without a change takes no bytes.
//! - **One write a frame**, wrapped in synchronized output where the terminal has it.
//! - **No waiting.** Bytes that the terminal does not take at once are written by a thread, which starts when it
//!   is first needed. While the terminal is busy, frames it had no time for are replaced by newer ones. [`Options::direct`] draws every
//!   frame instead, on the caller's thread; [`Options::max_lag`] bounds how stale the picture may be;
//!   [`OutpaceBackend::flush_and_wait`] waits. A draw waits, too, for a terminal that has stalled with less room than the program has
//!   printed without a flush (under 1 KiB).
//! - **The same on standard error** ([`OutpaceBackend::stderr`]) and on any other terminal
//!   ([`OutpaceBackend::open`]).
//!
//! [`OutpaceBackend::stats`] counts frames, bytes and savings. Without ratatui, [`Renderer`] turns one [`Screen`]
//! after another into bytes.
//!
//! # Terminals
//!
//! A terminal's capabilities are known by its name and the variables it sets; only known ones are used. It is not asked, so
//! no key is lost that is pressed while a program starts. `OUTPACE_DRAW_OFF` turns optimisations off, a list of `sync`,
//! `repeat`, `scroll`, `shift`, `erase`, `background`, `blocks` and `order` (of a [`Transcript`], `sync` and `scroll`). `OUTPACE_DRAW_REPORT` names a
//! file (or `-`, standard error) that gets a report of capabilities and counters when the backend is
//! dropped.
//!
//! `NO_COLOR`, unless it is empty, takes the colours and leaves bold, underlined and so on, as crossterm's backend does;
//! crossterm's `force_color_output` overrides it.
//!
//! # In an existing application
//!
//! Replace the line that makes the backend, and `Terminal<CrosstermBackend<…>>` where it is named. Raw mode, the
//! alternate screen and crossterm's other commands stay as they are. Commands sent through the backend are queued behind the
//! frames before them and wait for no terminal, but for half a second at most where they leave the alternate screen:
//!
//! ```no_run
//! # use crossterm::{execute, terminal::{LeaveAlternateScreen, disable_raw_mode}};
//! # use outpace_ratatui::OutpaceBackend;
//! # use ratatui::Terminal;
//! # let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
//! execute!(terminal.backend_mut(), LeaveAlternateScreen)?;
//! disable_raw_mode()?;
//! # std::io::Result::Ok(())
//! ```
//!
//! Commands and text sent through [`std::io::stdout`] come behind the frames before them, too: while frames are on
//! their way, a thread of the backend holds the lock of standard output. That needs the lock to be free: a program that keeps a `StdoutLock`, or writes to
//! the descriptor in another way, calls [`OutpaceBackend::flush_and_wait`] first. A frame that still waits when raw mode
//! ends, on the alternate screen, is not drawn any more.
//!
//! With the feature `crossterm`, the raw mode of [`init`] is that of crossterm 0.29: `disable_raw_mode` before an editor and
//! `enable_raw_mode` behind it work as with ratatui's `init`. With another version, or without the feature, give the terminal back
//! around the editor, which works always:
//!
//! ```no_run
//! # use std::process::Command;
//! # let mut terminal = outpace_ratatui::init();
//! outpace_ratatui::restore();
//! Command::new("vi").status()?;
//! terminal = outpace_ratatui::init();
//! # let _ = terminal;
//! # std::io::Result::Ok(())
//! ```
//!
//! A panic in any thread gives the terminal back; from then on drawing is an error that names the thread.
//!
//! Escape sequences in a cell, as of `ratatui-image` or for links, are passed on. From the first one on, cells that they may have
//! drawn on are neither moved nor erased, which takes more bytes.
//!
//! # Programs that talk
//!
//! A chat, an agent or a build tool writes a transcript that grows and repaints a few rows below it. [`Transcript`] does that
//! in the terminal's own scrollback: lines are appended unwrapped, streamed token by token, and not written again once they are finished.
//!
//! # Without this crate
//!
//! For an older ratatui, or another library, the half measure is `CrosstermBackend` over a stream that drains once
//! a frame (and when it is full); on standard error too. It saves the system calls, not the bytes:
//!
//! ```no_run
//! use outpace::{Buffering, Stream};
//! use ratatui::{Terminal, backend::CrosstermBackend};
//!
//! let stream = Stream::new(std::io::stderr(), Buffering::Block { capacity: 1 << 20 })?;
//! let mut terminal = Terminal::new(CrosstermBackend::new(stream))?;
//! # terminal.clear()?;
//! # std::io::Result::Ok(())
//! ```
//!
//! # Features
//!
//! `crossterm`, `outpace` and `underline-color` are on. With `outpace`, [`init`] and [`run`] first write the text that was printed
//! by that crate; an application that enters raw mode by itself calls `outpace::stdout().flush()` before. `scrolling-regions` must be
//! on exactly if ratatui's feature of that name is. `workloads` adds the pictures that backends are measured with.
//!
//! # Platforms
//!
//! Unix, and all others that crossterm runs on, such as Windows: there the same bytes are drawn through std's streams, but commands on
//! standard output are not held back behind frames, leaving a terminal that does not read may wait, and
//! [`OutpaceBackend::open`] does not exist.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod model;
mod present;
mod render;
mod sys;
mod terminal;
#[cfg(feature = "workloads")]
pub mod workloads;

pub use model::{
    Attributes, Capabilities, Cell, Color, ColorKind, Cursor, Repeat, Screen, Stats, Style,
};
pub use render::{Reflow, Renderer};

pub use terminal::{
    DefaultTerminal, Live, Options, OutpaceBackend, Target, Transcript, init, init_with_options,
    restore, run, suspend, try_init, try_init_with_options, try_restore,
};

/// The examples of the README are compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
