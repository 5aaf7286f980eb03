//! Colours the cells that a frame sends to the terminal, or those it does not.

use std::io;

use clap::ValueEnum;
use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;
use ratatui::style::Color;

use super::canvas::FrameBuffering;

/// Which cells to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Highlight {
    /// Those that were not sent
    Unchanged,
    /// Those that were
    Written,
}

/// Knows which cells a backend sends. crossterm's sends those that differ from the frame before. For outpace's it takes a second
/// terminal, which is never shown: the colours change the cells that the first one is sent.
pub(crate) enum Witness {
    Crossterm(Buffer),
    Outpace(Box<Terminal<OutpaceBackend>>),
}

impl Witness {
    pub(crate) fn new(drawing: FrameBuffering, size: Size) -> io::Result<Self> {
        if !matches!(drawing, FrameBuffering::Outpace { .. }) {
            return Ok(Self::Crossterm(Buffer::default()));
        }
        let options = Options::default()
            .capabilities(Capabilities::full())
            .record_written();
        let backend = OutpaceBackend::writer(io::sink(), size, options)?;
        Ok(Self::Outpace(Box::new(Terminal::new(backend)?)))
    }

    /// Colours a frame that is about to be drawn.
    pub(crate) fn color(&mut self, buffer: &mut Buffer, highlight: Highlight) -> io::Result<()> {
        let plain = buffer.clone();
        if let Self::Outpace(terminal) = self {
            terminal.backend_mut().set_size(plain.area.as_size());
            terminal.draw(|frame| frame.buffer_mut().clone_from(&plain))?;
        }
        for position in plain.area.positions() {
            let written = match self {
                Self::Crossterm(before) => before.cell(position) != plain.cell(position),
                Self::Outpace(terminal) => terminal.backend().was_written(position.x, position.y),
            };
            if written == (highlight == Highlight::Written) {
                let cell = &mut buffer[position];
                cell.set_bg(Color::Red);
                // Text stays to be read.
                if cell.symbol() == "▀" {
                    cell.set_fg(Color::Red);
                }
            }
        }
        if let Self::Crossterm(before) = self {
            *before = plain;
        }
        Ok(())
    }
}
