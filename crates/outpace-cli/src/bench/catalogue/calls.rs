//! `calls`: the published animation on stdout and on stderr, as a profiler shows it.

use std::io;
use std::time::{Duration, Instant};

use outpace_ratatui::workloads::Workload;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::pictures::size_of;
use super::sources;
use crate::bench::destination::size::Size;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method, Timed, bare_scene, no_bytes};
use crate::bench::results::figures::Figures;
use crate::bench::results::rows::{Row, TimedFigures};
use crate::fps::canvas::{Canvas, FrameBuffering, StandardStream};
use crate::user::quantity::{duration, grouped, significant};

pub(crate) const CALLS: Experiment = Experiment {
    name: "calls",
    question: "What does a profiler show in 5 s of the animation?",
    published: "stdout 708 samples, stderr 3,315; on almost every frame, write_all once in 5.2 ms \
                against five times in 66 ms (550x360 cells; samples at 1 kHz, of running threads).",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "frame",
    message: no_bytes,
    // The time decides.
    messages: 0,
    to: &["pty"],
    baseline: "stdout",
    method: Method::Timed(&Timed {
        time: PUBLISHED_TIME,
        samples,
        published: PUBLISHED_SAMPLES,
        expected,
    }),
    rungs: rungs! {
        described "stdout": Here(|span| animate(span, StandardStream::Stdout, FrameBuffering::Line)),
            "crossterm's backend over a line buffer, as stdout has";
        described "stderr": Here(|span| animate(span, StandardStream::Stderr, FrameBuffering::Unbuffered)),
            "the same without a buffer, as stderr is" .on_stderr();
    },
    conclusion,
};

/// Samples of the published profiles, by rung.
const PUBLISHED_SAMPLES: &[(&str, u64)] = &[("stdout", 708), ("stderr", 3_315)];

/// How often a second the profiler looked.
const SAMPLES_PER_SECOND: u64 = 1_000;

/// How long the published animation was profiled.
const PUBLISHED_TIME: Duration = Duration::from_secs(5);

/// The samples of a profiler of running threads in the published time, by the share of processor time in another
/// time.
fn samples(cpu_ns: u64, wall_ns: u64) -> u64 {
    let share = cpu_ns as f64 / wall_ns.max(1) as f64;
    (share * PUBLISHED_TIME.as_secs_f64() * SAMPLES_PER_SECOND as f64) as u64
}

/// Draws until the time is over, or `span.messages` frames, and notes the cost.
fn animate(span: &mut Span, stream: StandardStream, drawing: FrameBuffering) -> io::Result<()> {
    let size = size_of(stream)?;
    let area = Rect::new(0, 0, size.ws_col, size.ws_row);
    let mut canvas = Canvas::fixed(stream, drawing, area)?;
    let mut scene = bare_scene(Workload::Animation);
    let (started, mut frames) = (Instant::now(), 0);
    loop {
        canvas.draw(|frame| scene.draw(frame.buffer_mut()))?;
        frames += 1;
        let is_time = !span.pause.is_zero() && started.elapsed() >= span.pause;
        if is_time || frames == span.messages {
            break;
        }
    }
    span.done_calling();
    let cost = canvas.cost();
    span.note("messages", frames);
    span.note("bytes", cost.bytes);
    span.note("write_calls", cost.writes);
    span.note("write_ns", cost.in_write.as_nanos() as u64);
    Ok(())
}

/// The bytes of `frames` frames, drawn into memory.
fn expected(size: Size, frames: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let area = Rect::new(0, 0, size.columns, size.rows);
    let options = TerminalOptions {
        viewport: Viewport::Fixed(area),
    };
    let mut terminal = Terminal::with_options(CrosstermBackend::new(&mut bytes), options)?;
    terminal.backend_mut().clear()?;
    let mut scene = bare_scene(Workload::Animation);
    for _ in 0..frames {
        terminal.draw(|frame| scene.draw(frame.buffer_mut()))?;
    }
    drop(terminal);
    Ok(bytes)
}

/// The cost of one frame.
struct FrameCost {
    writes: f64,
    write_ns: f64,
    /// The least and the most that the runs give.
    range: (f64, f64),
    samples: u64,
}

impl FrameCost {
    fn of(row: &Row) -> Option<Self> {
        let frames = row.messages as f64;
        let TimedFigures {
            write_ns,
            profiler_samples,
        } = row.timed()?;
        (frames > 0.0).then_some(())?;
        Some(Self {
            writes: row.writes? as f64 / frames,
            write_ns: write_ns.median as f64 / frames,
            range: (write_ns.min as f64 / frames, write_ns.max as f64 / frames),
            samples: profiler_samples.measured,
        })
    }
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let frame = |rung| figures.row(rung, to).and_then(FrameCost::of);
        let (Some(out), Some(err)) = (frame("stdout"), frame("stderr")) else {
            continue;
        };
        let calls = err.writes / out.writes.max(1e-9);
        let time = err.write_ns / out.write_ns.max(1e-9);
        let each = |frame: &FrameCost| duration(frame.write_ns / frame.writes.max(1e-9));
        sentences.push(format!(
            "To {to} a frame takes {} in {} writes on stderr, {} in {} on stdout; a profiler sees \
             {} samples and {} (published: 3,315 and 708).",
            duration(err.write_ns),
            grouped(err.writes as u64),
            duration(out.write_ns),
            grouped(out.writes as u64),
            grouped(err.samples),
            grouped(out.samples),
        ));
        let overlap = err.range.0 <= out.range.1 && out.range.0 <= err.range.1;
        sentences.push(if overlap && err.range != out.range {
            "The times of their calls overlap: the noise hides which stream's take longer.".to_owned()
        } else if calls < 2.0 {
            format!(
                "Both make about as many calls; stderr's take {} times as long.",
                significant(time)
            )
        } else if time > 1.5 {
            format!(
                "It is the calls: {} times as many, of {} each instead of {}, make {} times the time.",
                significant(calls),
                each(&err),
                each(&out),
                significant(time)
            )
        } else {
            format!(
                "{} times as many calls take no more than {} times the time here: what costs is \
                 the bytes.",
                significant(calls),
                significant(time)
            )
        });
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_of_the_published_time_whatever_the_time_was() {
        assert_eq!(samples(500_000_000, 1_000_000_000), 2_500);
        assert_eq!(samples(0, 0), 0);
    }
}
