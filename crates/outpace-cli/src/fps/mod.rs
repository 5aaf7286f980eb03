//! `outpace fps`: the published animation, live, through every way of drawing it.

pub(crate) mod canvas;
mod highlight;

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use outpace_ratatui::Options;
use outpace_ratatui::workloads::{Scene, Workload};
use ratatui::layout::Size;

use crate::platform::answer;
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome};
use crate::user::output;
use crate::user::quantity::{grouped, significant};
use crate::user::screen::{Screen, takes_escapes};
use canvas::{Canvas, DrawCost, FrameBuffering, StandardStream};
use highlight::{Highlight, Witness};

/// Show the published animation and how many frames a second the terminal takes
///
/// Every cell has two grey levels of its own, and each frame the picture moves one column to the left.
/// Space changes the stream, q quits. The figures at the end are of frames that the terminal has
/// confirmed: the clock stops when it has answered where its cursor is.
#[derive(Args, Debug)]
pub(crate) struct Fps {
    /// Draw on this stream
    #[arg(long, value_enum, env = "STREAM", default_value = "stdout")]
    stream: StandardStream,

    /// Draw by crossterm over such a buffer, or by outpace's own backend: unbuffered, line,
    /// block, block:SIZE, outpace (skips frames the terminal has no time for), outpace:direct (skips none)
    #[arg(long, value_name = "HOW", default_value = "outpace")]
    buffering: FrameBuffering,

    /// Stop after N seconds [default: on q; with --bare $DURATION, or 5]
    #[arg(long, value_name = "N", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Sleep for MS milliseconds after every write call, to see a frame being drawn in pieces
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    delay: Duration,

    /// Colour the cells that were not sent, or those that were
    #[arg(long, value_enum, value_name = "WHICH")]
    highlight: Option<Highlight>,

    /// Draw the picture alone, for a profiler
    #[arg(long)]
    bare: bool,

    /// Wait MS milliseconds for a key after every frame; the published program waited 16
    #[arg(long, value_name = "MS", default_value = "0", value_parser = milliseconds)]
    poll: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(seconds).map_err(|_| "not a number of seconds".to_owned())
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    let milliseconds: u64 = text.parse().map_err(|_| "not a number of milliseconds")?;
    Ok(Duration::from_millis(milliseconds))
}

/// How long a bare run lasts if no time is given.
const BARE: Duration = Duration::from_secs(5);
/// How long the terminal may take to answer after the last frame.
const ANSWER: Duration = Duration::from_secs(30);

impl Action for Fps {
    const NAME: &'static str = "fps";

    fn run(mut self) -> Outcome {
        self.check()?;
        let name = self.stream.name();
        // The session takes over the terminal; each way of drawing then makes its own.
        let session = Options::default().target(self.stream.target()).init();
        drop(session.map_err(|error| Failure::failed(name, error))?);
        let shown = self.show();
        let restored = outpace_ratatui::try_restore();
        let summary = shown.map_err(|error| Failure::failed(self.stream.name(), error))?;
        restored.map_err(|error| Failure::failed(name, error))?;
        output::print(&match Screen::of(&io::stdout()) {
            Some(screen) => {
                let lines = summary.lines().map(|line| screen.paragraph(line, 0));
                lines.collect()
            }
            None => summary,
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Fps {
    fn check(&mut self) -> Result<(), Failure> {
        let is_terminal = |stream| match stream {
            StandardStream::Stdout => io::stdout().is_terminal(),
            StandardStream::Stderr => io::stderr().is_terminal(),
        };
        if !is_terminal(self.stream) {
            let other = self.stream.other();
            let remedy = if is_terminal(other) {
                format!("try --stream {}", other.name())
            } else {
                "run it in a terminal".to_owned()
            };
            return Err(Failure::failed(self.stream.name(), "not a terminal").remedy(remedy));
        }
        if !takes_escapes() {
            return Err(
                Failure::failed(self.stream.name(), "by TERM it takes no escape sequence")
                    .remedy("set TERM to your terminal's name, such as TERM=xterm-256color"),
            );
        }
        if matches!(self.buffering, FrameBuffering::Outpace { .. }) && !self.delay.is_zero() {
            return Err(
                Failure::usage("--delay", "outpace draws a frame in one piece")
                    .remedy("try --buffering block:100"),
            );
        }
        if self.bare && self.seconds.is_none() {
            self.seconds = Some(match std::env::var("DURATION") {
                Ok(text) => seconds(&text).map_err(|cause| Failure::usage("DURATION", cause))?,
                Err(_) => BARE,
            });
        }
        Ok(())
    }

    /// Draws until it is over; returns the summary.
    fn show(&mut self) -> io::Result<String> {
        let mut canvas = Canvas::new(self.stream, self.buffering, self.delay)?;
        let mut scene = Scene::new(Workload::Animation);
        let mut witness = Witness::new(self.buffering, Size::default())?;
        let mut meter = Meter::start();
        if self.bare {
            scene.set_header(Vec::new());
        }
        loop {
            if !self.bare && meter.is_due() {
                let title = format!(
                    "{}, {}; space changes the stream, q quits",
                    self.stream.name(),
                    self.buffering
                );
                scene.set_header(vec![title, meter.recent(canvas.cost())]);
            }
            let mut drawn = Ok(());
            canvas.draw(|frame| {
                scene.draw(frame.buffer_mut());
                if let Some(highlight) = self.highlight {
                    drawn = witness.color(frame.buffer_mut(), highlight);
                }
            })?;
            drawn?;
            meter.frames += 1;
            match self.input()? {
                Some(UserInput::Quit) => break,
                Some(UserInput::Resized) => canvas.repaint()?,
                Some(UserInput::OtherStream) => {
                    canvas.finish()?;
                    drop(canvas);
                    self.stream = self.stream.other();
                    canvas = Canvas::new(self.stream, self.buffering, self.delay)?;
                    meter = Meter::start();
                }
                None => {}
            }
            if self
                .seconds
                .is_some_and(|limit| meter.start.elapsed() >= limit)
            {
                break;
            }
        }
        canvas.finish()?;
        confirm(self.stream)?;
        let figures = meter.total(canvas.cost());
        Ok(format!(
            "{}, {}: {figures}\n",
            self.stream.name(),
            self.buffering
        ))
    }

    fn input(&self) -> io::Result<Option<UserInput>> {
        if !event::poll(self.poll)? {
            return Ok(None);
        }
        Ok(match event::read()? {
            Event::Key(key) => match key.code {
                KeyCode::Char('q') | KeyCode::Esc => Some(UserInput::Quit),
                KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => {
                    Some(UserInput::Quit)
                }
                KeyCode::Char(' ') => Some(UserInput::OtherStream),
                _ => None,
            },
            Event::Resize(..) => Some(UserInput::Resized),
            _ => None,
        })
    }
}

enum UserInput {
    Quit,
    /// Not pressed: the window has another size.
    Resized,
    OtherStream,
}

/// Waits until the terminal has worked through everything, or the user gives it up by Ctrl-C. Other keys may be repetitions of
/// the one that has ended the animation.
fn confirm(stream: StandardStream) -> io::Result<()> {
    stream.open()?.write_all(answer::WHERE_IS_THE_CURSOR)?;
    // The stream itself may be open for writing only.
    let input = File::open("/dev/tty")?;
    let mut is_confirmed = false;
    answer::read_answer(&input, ANSWER, |answer| {
        const CTRL_C: u8 = 3;
        is_confirmed = answer.contains(&b'R');
        is_confirmed || answer.contains(&CTRL_C)
    })?;
    if is_confirmed {
        return Ok(());
    }
    let text = "the terminal never confirmed the last frame";
    Err(io::Error::new(io::ErrorKind::TimedOut, text))
}

/// Frames and their cost, since the start and lately.
struct Meter {
    start: Instant,
    frames: u64,
    /// When the figures were last shown, and the counts at that time.
    shown: Instant,
    shown_frames: u64,
    shown_cost: DrawCost,
}

impl Meter {
    fn start() -> Self {
        let now = Instant::now();
        Self {
            start: now,
            frames: 0,
            shown: now,
            shown_frames: 0,
            shown_cost: DrawCost::default(),
        }
    }

    fn is_due(&self) -> bool {
        self.frames < 2 || self.shown.elapsed() >= Duration::from_millis(500)
    }

    /// The figures since they were last asked for.
    fn recent(&mut self, cost: DrawCost) -> String {
        let since = DrawCost {
            bytes: cost.bytes - self.shown_cost.bytes,
            writes: cost.writes - self.shown_cost.writes,
            skipped: cost.skipped - self.shown_cost.skipped,
            in_write: cost.in_write - self.shown_cost.in_write,
        };
        let text = figures(self.frames - self.shown_frames, self.shown.elapsed(), since);
        self.shown = Instant::now();
        self.shown_frames = self.frames;
        self.shown_cost = cost;
        text
    }

    fn total(&self, cost: DrawCost) -> String {
        figures(self.frames, self.start.elapsed(), cost)
    }
}

/// Frames a second that were shown, and the price of one.
fn figures(frames: u64, time: Duration, cost: DrawCost) -> String {
    let shown = frames.saturating_sub(cost.skipped);
    let per_frame = |n: u64| n as f64 / shown.max(1) as f64;
    let mut text = format!(
        "{} frames/s, a frame: {} bytes, {} writes",
        significant(shown as f64 / time.as_secs_f64().max(1e-9)),
        significant(per_frame(cost.bytes)),
        significant(per_frame(cost.writes)),
    );
    if cost.skipped > 0 {
        let drawn = frames as f64 / time.as_secs_f64().max(1e-9);
        text.push_str(&format!(
            "; {} drawn/s, {} skipped",
            significant(drawn),
            grouped(cost.skipped)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_frames_are_not_counted_as_shown() {
        let cost = DrawCost {
            bytes: 1000,
            writes: 10,
            skipped: 90,
            ..DrawCost::default()
        };
        let text = figures(100, Duration::from_secs(1), cost);
        assert_eq!(
            text,
            "10.0 frames/s, a frame: 100 bytes, 1.00 writes; 100 drawn/s, 90 skipped"
        );
    }
}
