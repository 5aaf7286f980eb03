//! The backend of the animation: crossterm's over some buffering, or outpace's.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, LineWriter, Write};
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use outpace_ratatui::{Options, OutpaceBackend, Target};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::os::fd::BorrowedFd;

use crate::user::quantity;

/// A stream of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StandardStream {
    /// Standard output
    Stdout,
    /// Standard error
    Stderr,
}

impl StandardStream {
    /// The other one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Stdout => Self::Stderr,
            Self::Stderr => Self::Stdout,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }

    pub(crate) fn target(self) -> Target {
        match self {
            Self::Stdout => Target::Stdout,
            Self::Stderr => Target::Stderr,
        }
    }

    /// Its descriptor, which stays open for as long as the process lives.
    fn descriptor(self) -> BorrowedFd<'static> {
        match self {
            Self::Stdout => rustix::stdio::stdout(),
            Self::Stderr => rustix::stdio::stderr(),
        }
    }

    /// A duplicate of the descriptor, without a buffer.
    pub(crate) fn open(self) -> io::Result<File> {
        Ok(self.descriptor().try_clone_to_owned()?.into())
    }
}

/// How drawing reaches the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameBuffering {
    /// crossterm's backend, a system call for every piece.
    Unbuffered,
    /// crossterm's backend over a line buffer, as standard output has.
    Line,
    /// crossterm's backend over a buffer of this many bytes.
    Block(usize),
    /// outpace's backend, with its presenter thread or without.
    Outpace { direct: bool },
}

/// The default of std's `BufWriter`, which the published variant took.
const BLOCK: usize = 8 << 10;

impl FromStr for FrameBuffering {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unbuffered" => Ok(Self::Unbuffered),
            "line" => Ok(Self::Line),
            "block" => Ok(Self::Block(BLOCK)),
            "outpace" => Ok(Self::Outpace { direct: false }),
            "outpace:direct" => Ok(Self::Outpace { direct: true }),
            _ => match text.strip_prefix("block:").map(quantity::parse_bytes) {
                Some(Ok(0)) => Err("a buffer needs room for at least one byte".to_owned()),
                Some(Ok(size)) => usize::try_from(size)
                    .map(Self::Block)
                    .map_err(|error| error.to_string()),
                Some(Err(error)) => Err(error),
                None => {
                    Err("not unbuffered, line, block[:SIZE], outpace or outpace:direct".to_owned())
                }
            },
        }
    }
}

impl std::fmt::Display for FrameBuffering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unbuffered => f.write_str("unbuffered"),
            Self::Line => f.write_str("line"),
            Self::Block(size) => write!(f, "block:{}", quantity::binary_bytes(*size as u64)),
            Self::Outpace { direct: false } => f.write_str("outpace"),
            Self::Outpace { direct: true } => f.write_str("outpace:direct"),
        }
    }
}

/// The cost of drawing so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DrawCost {
    pub(crate) bytes: u64,
    pub(crate) writes: u64,
    pub(crate) skipped: u64,
    /// The time in write calls. Unknown for outpace's backend, whose thread makes them.
    pub(crate) in_write: Duration,
}

/// The end of every buffer: counts, and sleeps after a write if there is a delay.
struct Drain {
    stream: BorrowedFd<'static>,
    delay: Duration,
    cost: Rc<Cell<DrawCost>>,
}

impl Write for Drain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        let written = rustix::io::write(self.stream, bytes)?;
        let mut cost = self.cost.get();
        cost.in_write += began.elapsed();
        cost.bytes += written as u64;
        cost.writes += 1;
        self.cost.set(cost);
        if !self.delay.is_zero() {
            std::thread::sleep(self.delay);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Theirs = Terminal<CrosstermBackend<Box<dyn Write>>>;

/// A terminal, and the cost of drawing on it.
pub(crate) enum Canvas {
    Crossterm(Box<Theirs>, Rc<Cell<DrawCost>>),
    Outpace(Box<Terminal<OutpaceBackend>>),
}

impl Canvas {
    pub(crate) fn new(
        stream: StandardStream,
        drawing: FrameBuffering,
        delay: Duration,
    ) -> io::Result<Self> {
        if let FrameBuffering::Outpace { direct } = drawing {
            let options = Options::default().target(stream.target());
            let options = if direct { options.direct() } else { options };
            let terminal = Terminal::new(OutpaceBackend::new(options)?)?;
            return Ok(Self::Outpace(Box::new(terminal)));
        }
        Self::crossterm(stream, drawing, delay, Viewport::Fullscreen)
    }

    /// crossterm's backend on an area, whatever the size of the terminal that this process belongs to.
    pub(crate) fn fixed(
        stream: StandardStream,
        drawing: FrameBuffering,
        area: Rect,
    ) -> io::Result<Self> {
        Self::crossterm(stream, drawing, Duration::ZERO, Viewport::Fixed(area))
    }

    fn crossterm(
        stream: StandardStream,
        drawing: FrameBuffering,
        delay: Duration,
        viewport: Viewport,
    ) -> io::Result<Self> {
        let cost = Rc::new(Cell::new(DrawCost::default()));
        let drain = Drain {
            stream: stream.descriptor(),
            delay,
            cost: cost.clone(),
        };
        let writer: Box<dyn Write> = match drawing {
            FrameBuffering::Unbuffered => Box::new(drain),
            FrameBuffering::Line => Box::new(LineWriter::new(drain)),
            FrameBuffering::Block(size) => Box::new(BufWriter::with_capacity(size, drain)),
            FrameBuffering::Outpace { .. } => unreachable!("it has a backend of its own"),
        };
        let options = TerminalOptions { viewport };
        let mut terminal = Terminal::with_options(CrosstermBackend::new(writer), options)?;
        // Not `Terminal::clear`: it would ask on stdout, whatever the stream, where the cursor is.
        terminal.backend_mut().clear()?;
        Ok(Self::Crossterm(Box::new(terminal), cost))
    }

    pub(crate) fn draw(&mut self, render: impl FnOnce(&mut Frame)) -> io::Result<()> {
        match self {
            Self::Crossterm(terminal, _) => terminal.draw(render).map(|_| ()),
            Self::Outpace(terminal) => terminal.draw(render).map(|_| ()),
        }
    }

    /// Draws all cells again with the next frame: a terminal may lose its contents when its size changes, even if the size is
    /// the same in the end.
    pub(crate) fn repaint(&mut self) -> io::Result<()> {
        match self {
            Self::Crossterm(terminal, _) => {
                terminal.backend_mut().clear()?;
                terminal.swap_buffers();
            }
            Self::Outpace(terminal) => terminal.backend_mut().repaint(),
        }
        Ok(())
    }

    /// Waits until the terminal has been given everything.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Crossterm(..) => Ok(()),
            Self::Outpace(terminal) => terminal.backend_mut().flush_and_wait(None).map(|_| ()),
        }
    }

    pub(crate) fn cost(&self) -> DrawCost {
        match self {
            Self::Crossterm(_, cost) => cost.get(),
            Self::Outpace(terminal) => {
                let stats = terminal.backend().stats();
                DrawCost {
                    bytes: stats.bytes,
                    writes: stats.writes,
                    skipped: stats.frames_skipped,
                    in_write: Duration::ZERO,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffering_of_frames_reads_as_it_is_written() {
        for text in [
            "unbuffered",
            "line",
            "block:100B",
            "outpace",
            "outpace:direct",
        ] {
            assert_eq!(text.parse::<FrameBuffering>().unwrap().to_string(), text);
        }
        assert_eq!("block".parse(), Ok(FrameBuffering::Block(8192)));
        assert_eq!("block:100".parse(), Ok(FrameBuffering::Block(100)));
        assert!("block:0".parse::<FrameBuffering>().is_err());
        assert!(
            "blocks"
                .parse::<FrameBuffering>()
                .unwrap_err()
                .contains("outpace:direct")
        );
    }
}
