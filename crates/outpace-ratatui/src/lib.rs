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
//! # What it does
//!
//! - **Few bytes.** The difference is taken to what the terminal really shows. What moved is moved
//!   there, by rows or within them, colours included; what is blank is erased; only attributes that
//!   change are sent, both colours in one sequence; the cursor takes the cheapest way. If nothing changed,
//!   nothing is written.
//! - **One write a frame**, wrapped in synchronized output where the terminal has it.
//! - **No waiting.** A thread of its own writes. While the terminal is busy, frames it had no time for
//!   are replaced by newer ones. [`Options::direct`] draws every frame instead, on the caller's thread;
//!   [`Options::max_lag`] bounds how stale the picture may be; [`OutpaceBackend::flush_and_wait`] waits.
//! - **The same on standard error** ([`OutpaceBackend::stderr`]) and on any other terminal
//!   ([`OutpaceBackend::open`]).
//!
//! What it did is counted: [`OutpaceBackend::stats`]. Without ratatui, [`Renderer`] turns one [`Screen`]
//! after another into bytes.
//!
//! # Terminals
//!
//! What a terminal can do is asked (with a limit of 100 ms, before the first event is read) or known from
//! `TERM`; what is neither is not used. `OUTPACE_DRAW_OFF` turns optimisations off, a list of `sync`,
//! `repeat`, `scroll`, `shift`, `erase`, `background`, `blocks` and `order`; `OUTPACE_DRAW_REPORT` names a
//! file (or `-`, standard error) that gets a report of what was detected and done when the backend is
//! dropped.
//!
//! # Without this crate
//!
//! For an older ratatui, or another library, the half measure is `CrosstermBackend::new(…)` over a
//! stream that drains once a frame, as `outpace::Stream` with `Buffering::block()`; on standard error too. It
//! saves the system calls, not the bytes.
//!
//! # Features
//!
//! `crossterm` and `underline-color` are on. `scrolling-regions` must be on exactly if ratatui's feature of
//! that name is. `workloads` adds the pictures that backends are measured with.
//!
//! # Platforms
//!
//! Unix. A program that runs elsewhere, too, depends on this crate under `[target.'cfg(unix)'.dependencies]`, and
//! on other systems uses ratatui's own backend.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(unix))]
compile_error!(
    "outpace-ratatui is for Unix: depend on it under [target.'cfg(unix)'.dependencies], and use ratatui's own backend elsewhere"
);

mod backend;
mod encode;
mod options;
mod plan;
mod present;
mod probe;
mod renderer;
mod screen;
mod setup;
mod stats;
mod sys;
#[cfg(feature = "workloads")]
pub mod workloads;

pub use backend::OutpaceBackend;
pub use options::{Options, Target};
pub use probe::{Capabilities, Repeat};
pub use renderer::Renderer;
pub use screen::{Attributes, Cell, Color, ColorKind, Cursor, Screen, Style};
pub use setup::{
    DefaultTerminal, init, init_with_options, restore, run, suspend, try_init,
    try_init_with_options, try_restore,
};
pub use stats::Stats;
