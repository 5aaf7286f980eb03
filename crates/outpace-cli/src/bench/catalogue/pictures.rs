//! Rungs that draw: frames of a workload, through a backend of ratatui's over some writer.
//!
//! The first frame, in which every cell is new, is drawn before the clock starts. At a terminal that does not read it is
//! clocked, too, since it waits there.

use std::fs::File;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::Duration;

use outpace_ratatui::workloads::{Scene, Workload};
use outpace_ratatui::{Options, OutpaceBackend};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Position, Rect};
use ratatui::{Terminal, TerminalOptions, Viewport};
use ratatui_termina::TerminaBackend;
use ratatui_termina::termina::PlatformTerminal;
use ratatui_termion::TermionBackend;
use rustix::termios::{Winsize, tcgetwinsize};

use super::lines::bare_stdout;
use crate::bench::experiment::bare_scene;
use crate::bench::experiment::calls::CallTimes;
use crate::bench::experiment::clock::Span;
use crate::fps::canvas::StandardStream;
use crate::platform::clock::thread_ns;
use crate::platform::procfs;

/// More than a frame has.
pub(super) const WHOLE_FRAME: usize = 16 << 20;
/// The longest time to watch the machine after a frame.
const A_FRAME_NS: u64 = 16_000_000;
/// How long the terminal may take for the last frame of a rung that does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Shows the terminal's alternate screen, which has no scrollback.
fn enter_alternate_screen(stream: StandardStream) -> io::Result<()> {
    stream.open()?.write_all(b"\x1b[?1049h\x1b[H")
}

/// The terminal's size; ENOTTY where the stream is no terminal.
pub(super) fn size_of(stream: StandardStream) -> io::Result<Winsize> {
    Ok(tcgetwinsize(stream.open()?)?)
}

/// A viewport as large as the terminal on a stream: some backends would ask another terminal for its size.
fn all_of(stream: StandardStream) -> io::Result<Viewport> {
    let size = size_of(stream)?;
    enter_alternate_screen(stream)?;
    Ok(Viewport::Fixed(Rect::new(0, 0, size.ws_col, size.ws_row)))
}

/// Draws by crossterm's backend over a writer on stdout.
pub(super) fn crossterm(span: &mut Span, workload: Workload, out: impl Write) -> io::Result<()> {
    crossterm_on(StandardStream::Stdout, span, workload, out)
}

/// Draws by crossterm's backend over a writer on either stream.
pub(super) fn crossterm_on(
    stream: StandardStream,
    span: &mut Span,
    workload: Workload,
    out: impl Write,
) -> io::Result<()> {
    rival(stream, span, workload, CrosstermBackend::new(out))
}

/// Draws by termion's backend over a writer.
pub(super) fn termion(span: &mut Span, workload: Workload, out: impl Write) -> io::Result<()> {
    let backend = TermionBackend::new(out);
    rival(StandardStream::Stdout, span, workload, backend)
}

/// Draws by termina's backend. Where stdin is no terminal it would look for one elsewhere.
pub(super) fn termina(span: &mut Span, workload: Workload) -> io::Result<()> {
    rustix::stdio::dup2_stdin(bare_stdout()?)?;
    let backend = TerminaBackend::new(PlatformTerminal::new()?);
    rival(StandardStream::Stdout, span, workload, backend)
}

/// Draws by a backend that shows every frame in its turn.
fn rival(
    stream: StandardStream,
    span: &mut Span,
    workload: Workload,
    backend: impl Backend<Error = io::Error>,
) -> io::Result<()> {
    play(span, workload, backend, all_of(stream)?, |_| Ok(0))
}

/// Draws by outpace's backend, which skips frames that the terminal has no time for.
pub(super) fn presenter(span: &mut Span, workload: Workload) -> io::Result<()> {
    outpace(span, workload, Options::default())
}

/// Draws by outpace's backend, which waits for the terminal and shows every frame.
pub(super) fn direct(span: &mut Span, workload: Workload) -> io::Result<()> {
    outpace(span, workload, Options::default().direct())
}

fn outpace(span: &mut Span, workload: Workload, options: Options) -> io::Result<()> {
    enter_alternate_screen(StandardStream::Stdout)?;
    let backend = OutpaceBackend::new(options)?;
    play(span, workload, backend, Viewport::Fullscreen, |terminal| {
        let backend = terminal.backend_mut();
        backend.flush_and_wait(Some(PATIENCE))?;
        Ok(backend.stats().frames_skipped)
    })
}

/// Draws `span.messages` frames, one after another; if there is a pause, sleeps between them and clocks each.
fn play<B: Backend<Error = io::Error>>(
    span: &mut Span,
    workload: Workload,
    backend: B,
    viewport: Viewport,
    finish: impl Fn(&mut Terminal<B>) -> io::Result<u64>,
) -> io::Result<()> {
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let mut frames = Frames::new(workload);
    let mut calls = CallTimes::new();
    let memory = PeakMemory::now();
    let paced = !span.pause.is_zero();
    if paced {
        span.begin();
        calls.clock(|| frames.draw(&mut terminal)).0?;
    } else {
        frames.draw(&mut terminal)?;
        finish(&mut terminal)?;
        span.begin();
    }
    frames.spent_ns = 0;
    for _ in 0..span.messages {
        if paced {
            sleep(span.pause);
            let (drawn, took) = calls.clock(|| frames.draw(&mut terminal));
            drawn?;
            calls.watch(took.min(A_FRAME_NS));
        } else {
            frames.draw(&mut terminal)?;
        }
    }
    span.done_calling();
    let grown = memory.and_then(PeakMemory::grown);
    let skipped = finish(&mut terminal)?;
    // Dropping the terminal shows its cursor again.
    span.end();
    span.note("skipped", skipped);
    span.note("pictures_ns", frames.spent_ns);
    if paced {
        calls.note(span);
        if let Some(grown) = grown {
            span.note("grown_bytes", grown);
        }
    }
    Ok(())
}

/// A workload's frames, and the processor time that making them took.
struct Frames {
    scene: Scene,
    workload: Workload,
    spent_ns: u64,
}

impl Frames {
    fn new(workload: Workload) -> Self {
        Self {
            scene: bare_scene(workload),
            workload,
            spent_ns: 0,
        }
    }

    fn draw<B: Backend<Error = io::Error>>(
        &mut self,
        terminal: &mut Terminal<B>,
    ) -> io::Result<()> {
        let (scene, spent_ns) = (&mut self.scene, &mut self.spent_ns);
        let typed_into = self.workload == Workload::Editor;
        terminal.draw(|frame| {
            let before = thread_ns();
            scene.draw(frame.buffer_mut());
            *spent_ns += thread_ns().saturating_sub(before);
            if typed_into {
                frame.set_cursor_position(Position::new(20, frame.area().height / 2));
            }
        })?;
        Ok(())
    }
}

/// The memory of the process at some time.
struct PeakMemory(u64);

impl PeakMemory {
    fn now() -> Option<Self> {
        Self::read("VmRSS").map(Self)
    }

    /// The growth up to the process's peak since then.
    fn grown(self) -> Option<u64> {
        Some(Self::read("VmHWM")?.saturating_sub(self.0))
    }

    /// In bytes, from `/proc/self/status` (proc(5)); `None` where there is none.
    fn read(name: &str) -> Option<u64> {
        let size = procfs::status("self", name)?;
        let kibibytes: u64 = size.strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    }
}

/// Drains after each row of the animation: after `columns` of its symbols.
pub(super) struct Rows<W: Write> {
    out: W,
    row: Vec<u8>,
    columns: u16,
    printed: u16,
}

impl Rows<File> {
    /// Rows as wide as the terminal on stdout.
    pub(super) fn of_stdout() -> io::Result<Self> {
        let out = bare_stdout()?;
        Ok(Self::new(out, size_of(StandardStream::Stdout)?.ws_col))
    }
}

impl<W: Write> Rows<W> {
    fn new(out: W, columns: u16) -> Self {
        Self {
            out,
            row: Vec::new(),
            columns,
            printed: 0,
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        self.printed = 0;
        self.out.write_all(&self.row)?;
        self.row.clear();
        Ok(())
    }
}

impl<W: Write> Write for Rows<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.row.extend_from_slice(bytes);
        // crossterm's backend hands on each symbol by itself.
        self.printed += u16::from(bytes == "▀".as_bytes());
        if self.printed == self.columns {
            self.drain()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps each write by itself.
    #[derive(Default)]
    struct Pieces(Vec<Vec<u8>>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_row_is_drained_when_it_is_complete() {
        let mut rows = Rows::new(Pieces::default(), 7);
        let viewport = Viewport::Fixed(Rect::new(0, 0, 7, 3));
        let backend = CrosstermBackend::new(&mut rows);
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        Frames::new(Workload::Animation)
            .draw(&mut terminal)
            .unwrap();
        drop(terminal);
        let symbols = |piece: &Vec<u8>| String::from_utf8_lossy(piece).matches('▀').count();
        let counts: Vec<usize> = rows.out.0.iter().map(symbols).filter(|&n| n > 0).collect();
        assert_eq!(counts, [7, 7, 7]);
    }
}
