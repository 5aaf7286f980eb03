//! Bytes, write calls and processor time a frame, of this backend and of crossterm's, on every
//! workload. `cargo run --release --example draw --features workloads -- [COLUMNSxROWS [FRAMES]]`

use std::cell::Cell;
use std::io::{self, LineWriter, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use outpace_ratatui::workloads::{Scene, Workload};
use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Position, Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};

/// Counts the bytes that are written to it.
#[derive(Clone, Default)]
struct Counter(Arc<(AtomicU64, AtomicU64)>);

impl Counter {
    fn get(&self) -> (u64, u64) {
        (
            self.0.0.load(Ordering::Relaxed),
            self.0.1.load(Ordering::Relaxed),
        )
    }
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.1.fetch_add(1, Ordering::Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Cost {
    bytes: f64,
    writes: f64,
    time: Duration,
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn measure<B: Backend>(
    mut terminal: Terminal<B>,
    counter: &Counter,
    workload: Workload,
    size: Size,
    frames: u32,
) -> Cost
where
    B::Error: std::fmt::Debug,
{
    let mut scene = Scene::new(workload);
    let spent = Rc::new(Cell::new(Duration::ZERO));
    let mut start = (0, 0);
    for frame in 0..=frames {
        if frame == 1 {
            start = counter.get();
            spent.set(Duration::ZERO);
        }
        let before = processor_time();
        let drawing = Cell::new(Duration::ZERO);
        terminal
            .draw(|frame| {
                let before = processor_time();
                scene.draw(frame.buffer_mut());
                if workload == Workload::Editor {
                    frame.set_cursor_position(Position::new(20, size.height / 2));
                }
                drawing.set(processor_time() - before);
            })
            .unwrap();
        spent.set(spent.get() + (processor_time() - before).saturating_sub(drawing.get()));
    }
    let (bytes, writes) = counter.get();
    Cost {
        bytes: (bytes - start.0) as f64 / f64::from(frames),
        writes: (writes - start.1) as f64 / f64::from(frames),
        time: spent.get() / frames,
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let size = arguments.next().unwrap_or("200x60".into());
    let (columns, rows) = size.split_once('x').expect("COLUMNSxROWS");
    let size = Size::new(
        columns.parse().expect("columns"),
        rows.parse().expect("rows"),
    );
    let frames = arguments
        .next()
        .map_or(100, |frames| frames.parse().expect("frames"));
    println!("{}x{}, {frames} frames, a frame:", size.width, size.height);
    println!(
        "{:<10} {:>32} {:>32} {:>7} {:>7}",
        "", "crossterm on stdout's buffer", "outpace", "bytes", "time"
    );
    for (workload, name) in Workload::ALL {
        let counter = Counter::default();
        let writer = LineWriter::new(counter.clone());
        // Its size would be that of the real terminal, so it gets a viewport of its own.
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.width, size.height));
        let backend = CrosstermBackend::new(writer);
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        let theirs = measure(terminal, &counter, workload, size, frames);
        let counter = Counter::default();
        let options = Options::default().capabilities(Capabilities::full());
        let backend = OutpaceBackend::writer(counter.clone(), size, options)?;
        let ours = measure(Terminal::new(backend)?, &counter, workload, size, frames);
        let show = |cost: &Cost| {
            format!(
                "{:>9.0} B {:>6.1} writes {:>6.0} µs",
                cost.bytes,
                cost.writes,
                cost.time.as_secs_f64() * 1e6
            )
        };
        println!(
            "{name:<10} {:>32} {:>32} {:>7.4} {:>7.3}",
            show(&theirs),
            show(&ours),
            ours.bytes / theirs.bytes,
            ours.time.as_secs_f64() / theirs.time.as_secs_f64()
        );
    }
    Ok(())
}
