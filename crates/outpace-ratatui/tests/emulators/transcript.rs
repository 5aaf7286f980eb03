//! Random sessions of a transcript: whatever is appended, streamed, drawn and resized, every line is in the emulator's
//! scrollback once, and in order. A sample runs by default; for more, in release mode:
//!
//! ```text
//! OUTPACE_SESSIONS=100000 cargo test --release -p outpace-ratatui --test emulators transcript -- --nocapture
//! ```

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use outpace_ratatui::Transcript;
use ratatui::layout::Size;
use ratatui::style::{Color, Style};
use ratatui::text::Span;

use crate::emulator::Alacritty;
use crate::frames::{Choices, Random};

#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<u8>>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An emulator that keeps what scrolls away.
trait Scrollback {
    fn name(&self) -> &'static str;
    fn feed(&mut self, bytes: &[u8]);
    /// False if it does not wrap its lines anew.
    fn resize(&mut self, size: Size) -> bool;
    /// All lines, rows that were wrapped put together, without the blank ones at the end.
    fn lines(&mut self) -> Vec<String>;
}

fn without_blank_end(mut lines: Vec<String>) -> Vec<String> {
    while lines.last().is_some_and(|line| line.trim_end().is_empty()) {
        lines.pop();
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

impl Scrollback for Alacritty {
    fn name(&self) -> &'static str {
        "alacritty_terminal"
    }

    fn feed(&mut self, bytes: &[u8]) {
        crate::emulator::Emulator::feed(self, bytes);
    }

    fn resize(&mut self, size: Size) -> bool {
        crate::emulator::Emulator::resize(self, size.width, size.height);
        true
    }

    fn lines(&mut self) -> Vec<String> {
        let grid = self.term().grid();
        let mut lines = vec![String::new()];
        for line in grid.topmost_line().0..=grid.bottommost_line().0 {
            let row = &grid[Line(line)];
            let mut wrapped = false;
            for column in 0..grid.columns() {
                let cell = &row[Column(column)];
                wrapped = cell.flags.contains(Flags::WRAPLINE);
                if cell
                    .flags
                    .intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER)
                {
                    continue;
                }
                let line = lines.last_mut().unwrap();
                line.push(cell.c);
                line.extend(cell.zerowidth().into_iter().flatten());
            }
            if !wrapped {
                lines.push(String::new());
            }
        }
        without_blank_end(lines)
    }
}

struct Vt100(vt100::Parser);

impl Scrollback for Vt100 {
    fn name(&self) -> &'static str {
        "vt100"
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.process(bytes);
    }

    fn resize(&mut self, _: Size) -> bool {
        false
    }

    fn lines(&mut self) -> Vec<String> {
        let (height, width) = self.0.screen().size();
        self.0.screen_mut().set_scrollback(usize::MAX);
        let kept = self.0.screen().scrollback();
        let mut lines = vec![String::new()];
        for back in (0..=kept).rev() {
            self.0.screen_mut().set_scrollback(back);
            let screen = self.0.screen();
            let rows = if back == 0 { height.get() } else { 1 };
            for row in 0..rows {
                for column in 0..width.get() {
                    let cell = screen.cell(row, column).unwrap();
                    match cell.contents() {
                        "" if cell.is_wide_continuation() => {}
                        "" => lines.last_mut().unwrap().push(' '),
                        text => lines.last_mut().unwrap().push_str(text),
                    }
                }
                if !screen.row_wrapped(row) {
                    lines.push(String::new());
                }
            }
        }
        without_blank_end(lines)
    }
}

/// vt100 does not tell that a row was wrapped before a wide symbol.
fn word(choices: &mut impl Choices, wide: bool) -> String {
    let letters = ["a", "b", "c", " ", "x", "-", "é", "─", "日", "語"];
    let letters = &letters[..if wide { 10 } else { 8 }];
    let length = [1, 3, 12, 40][choices.below(4) as usize];
    (0..1 + choices.below(length))
        .map(|_| letters[choices.below(letters.len() as u32) as usize])
        .collect()
}

fn style(choices: &mut impl Choices) -> Style {
    match choices.below(4) {
        0 => Style::new().fg(Color::Red),
        1 => Style::new().bg(Color::Indexed(200)),
        _ => Style::new(),
    }
}

/// Plays a session; returns what differs.
fn play(choices: &mut impl Choices, may_resize: bool) -> Result<(), String> {
    let size = |choices: &mut dyn Choices| {
        match may_resize {
            // A terminal that becomes narrower wraps the rows of the live region, and what has no room above that is lost to
            // its scrollback. So there is room.
            true => Size::new(10 + choices.below(30) as u16, 20 + choices.below(10) as u16),
            false => Size::new(4 + choices.below(30) as u16, 3 + choices.below(10) as u16),
        }
    };
    let first = size(choices);
    let mut emulator: Box<dyn Scrollback> = match may_resize {
        true => Box::new(Alacritty::with_history(first.width, first.height, 10_000)),
        false => {
            let nonzero = |n: u16| n.try_into().unwrap();
            let parser = vt100::Parser::new(nonzero(first.height), nonzero(first.width), 10_000);
            Box::new(Vt100(parser))
        }
    };
    let wire = Wire::default();
    let fail = |error: io::Error| error.to_string();
    let mut transcript = Transcript::writer(wire.clone(), first).map_err(fail)?;
    let mut wanted: Vec<String> = Vec::new();
    let mut history = Vec::new();
    for number in 0..if may_resize { 30 } else { 0 } {
        let line = format!("{number} before");
        transcript.append(line.as_str()).map_err(fail)?;
        wanted.push(line);
    }
    for step in 0..1 + choices.below(40) {
        match choices.below(8) {
            0 | 1 => {
                let line = word(choices, may_resize);
                transcript
                    .append(Span::styled(line.clone(), style(choices)))
                    .map_err(fail)?;
                history.push(format!("append {line:?}"));
                wanted.push(line);
            }
            2..=4 => {
                let token = word(choices, may_resize);
                transcript
                    .extend(Span::styled(token.clone(), style(choices)))
                    .map_err(fail)?;
                history.push(format!("extend {token:?}"));
                match wanted.last_mut() {
                    Some(last) => last.push_str(&token),
                    None => wanted.push(token),
                }
            }
            5 if may_resize => {
                transcript.flush_and_wait(None).map_err(fail)?;
                emulator.feed(&std::mem::take(&mut *wire.0.lock().unwrap()));
                let next = size(choices);
                history.push(format!("resize {next}"));
                if emulator.resize(next) {
                    transcript.set_size(next);
                }
            }
            _ => {
                let rows = choices.below(5) as u16;
                history.push(format!("live {rows}"));
                let style = style(choices);
                transcript
                    .live(rows, |live| {
                        let area = live.area();
                        for y in 0..area.height {
                            let text = format!("[live {step} {y}]").repeat(1 + step as usize % 4);
                            live.buffer_mut()
                                .set_stringn(0, y, &text, area.width.into(), style);
                        }
                        live.set_cursor_position((step as u16 % area.width.max(1), 0));
                    })
                    .map_err(fail)?;
            }
        }
        if choices.below(3) > 0 {
            transcript.flush_and_wait(None).map_err(fail)?;
        }
    }
    transcript.finish().map_err(fail)?;
    emulator.feed(&wire.0.lock().unwrap());
    let wanted = without_blank_end(wanted);
    let shown = emulator.lines();
    if shown == wanted {
        return Ok(());
    }
    Err(format!(
        "{} of {first} shows\n  {shown:?}, but wanted is\n  {wanted:?}\nafter {history:?}",
        emulator.name()
    ))
}

#[test]
fn every_line_is_in_the_scrollback_once() {
    let sessions = crate::number("OUTPACE_SESSIONS", 600);
    let first = crate::number("OUTPACE_SEED", 1);
    for seed in first..first + sessions {
        for may_resize in [false, true] {
            if let Err(problem) = play(&mut Random::new(seed), may_resize) {
                panic!("OUTPACE_SEED={seed}: {problem}");
            }
        }
    }
}

#[test]
fn a_keystroke_below_a_long_transcript_takes_at_most_40_bytes_and_a_token_little_more_than_itself()
{
    let wire = Wire::default();
    let mut transcript = Transcript::writer(wire.clone(), Size::new(80, 24)).unwrap();
    for number in 0..500 {
        transcript
            .append(format!("message {number}: some words of it"))
            .unwrap();
    }
    let mut input = String::new();
    let cost = |transcript: &mut Transcript, input: &str, token: &str| {
        if !token.is_empty() {
            transcript.extend(token).unwrap();
        }
        transcript
            .live(3, |live| {
                let line = "─".repeat(80);
                live.buffer_mut()
                    .set_string(0, 0, &line, Style::new().fg(Color::DarkGray));
                live.buffer_mut()
                    .set_string(0, 1, format!("> {input}"), Style::new());
                live.buffer_mut()
                    .set_string(0, 2, "? for help", Style::new());
                live.set_cursor_position((2 + input.len() as u16, 1));
            })
            .unwrap();
        transcript.flush_and_wait(None).unwrap();
        std::mem::take(&mut *wire.0.lock().unwrap()).len()
    };
    cost(&mut transcript, &input, "");
    for letter in "what does it cost?".chars() {
        input.push(letter);
        let bytes = cost(&mut transcript, &input, "");
        assert!(bytes <= 40, "{bytes} bytes for {letter:?}");
    }
    for token in ["streamed", "text", "comes", "here"] {
        let bytes = cost(&mut transcript, &input, token);
        assert!(bytes <= token.len() + 32, "{bytes} bytes for {token:?}");
    }
}
