//! Rungs that show a transcript: 500 messages, then tokens that are streamed below them, or keys that are typed. The last three
//! rows show a status.

use std::io::{self, Write};

use outpace_ratatui::Transcript;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::{Color, Style};
use ratatui::text::Text;
use ratatui::widgets::{Paragraph, Widget};
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::pictures::size_of;
use crate::bench::experiment::clock::Span;
use crate::fps::canvas::StandardStream;

const MESSAGES: u64 = 500;
const TOKENS_A_LINE: u64 = 10;

/// One message of the experiment: a token that arrives, or a key that is typed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Talk {
    Token,
    Key,
}

fn message(number: u64) -> String {
    format!("message {number}: some words of it")
}

fn token(number: u64) -> &'static str {
    const TOKENS: [&str; 7] = ["a", " stream", " of", " tokens", " that", " grows", ","];
    TOKENS[(number % 7) as usize]
}

fn letter(number: u64) -> char {
    char::from(b'a' + (number % 26) as u8)
}

/// The lines that tokens make.
pub(super) fn token_lines(tokens: u64) -> Vec<String> {
    let mut lines: Vec<String> = (0..MESSAGES).map(message).collect();
    for number in 0..tokens {
        if number % TOKENS_A_LINE == 0 {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            last.push_str(token(number));
        }
    }
    lines
}

/// The lines that stay when keys are typed.
pub(super) fn key_lines(_: u64) -> Vec<String> {
    token_lines(0)
}

/// The rows of status.
fn status(buffer: &mut Buffer, area: Rect, typed: &str) {
    let rule = "\u{2500}".repeat(area.width.into());
    buffer.set_string(area.x, area.y, rule, Style::new().fg(Color::DarkGray));
    buffer.set_string(area.x, area.y + 1, format!("> {typed}"), Style::new());
    buffer.set_string(area.x, area.y + 2, "? for help", Style::new());
}

/// Typed text, which begins again before it is as long as a row.
fn type_key(typed: &mut String, number: u64) {
    if typed.len() >= 40 {
        typed.clear();
    }
    typed.push(letter(number));
}

/// By outpace's transcript. Each token and each key is shown before the next.
pub(super) fn outpace(span: &mut Span, talk: Talk) -> io::Result<()> {
    let mut transcript = Transcript::stdout()?;
    let mut typed = String::new();
    let show = |transcript: &mut Transcript, typed: &str| {
        transcript.live(3, |live| {
            let area = live.area();
            status(live.buffer_mut(), area, typed);
        })?;
        transcript.flush_and_wait(None).map(|_| ())
    };
    for number in 0..MESSAGES {
        transcript.append(message(number))?;
    }
    show(&mut transcript, &typed)?;
    span.begin();
    for number in 0..span.messages {
        match talk {
            Talk::Token if number % TOKENS_A_LINE == 0 => {
                transcript.append("")?;
                transcript.extend(token(number))?;
            }
            Talk::Token => transcript.extend(token(number))?,
            Talk::Key => type_key(&mut typed, number),
        }
        show(&mut transcript, &typed)?;
    }
    span.done_calling();
    transcript.finish()?;
    span.end();
    Ok(())
}

/// By ratatui's `insert_before` on crossterm's backend: the growing line is the first row of an inline viewport, until
/// it is inserted before the viewport.
pub(super) fn insert_before(span: &mut Span, talk: Talk) -> io::Result<()> {
    let backend = Placed(CrosstermBackend::new(io::stdout()));
    let viewport = Viewport::Inline(4);
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    let (mut typed, mut open) = (String::new(), String::new());
    let show = |terminal: &mut Terminal<_>, open: &str, typed: &str| {
        terminal
            .draw(|frame| {
                let area = frame.area();
                Paragraph::new(open).render(Rect { height: 1, ..area }, frame.buffer_mut());
                let below = Rect {
                    y: area.y + 1,
                    height: 3,
                    ..area
                };
                status(frame.buffer_mut(), below, typed);
            })
            .map(|_| ())
    };
    let insert = |terminal: &mut Terminal<Placed<io::Stdout>>, line: &str| {
        terminal.insert_before(1, |buffer| Text::from(line).render(buffer.area, buffer))
    };
    for number in 0..MESSAGES {
        insert(&mut terminal, &message(number))?;
    }
    show(&mut terminal, &open, &typed)?;
    span.begin();
    for number in 0..span.messages {
        match talk {
            Talk::Token => {
                if number % TOKENS_A_LINE == 0 && number > 0 {
                    insert(&mut terminal, &std::mem::take(&mut open))?;
                }
                open.push_str(token(number));
            }
            Talk::Key => type_key(&mut typed, number),
        }
        show(&mut terminal, &open, &typed)?;
    }
    if talk == Talk::Token {
        insert(&mut terminal, &open)?;
    }
    span.done_calling();
    drop(terminal);
    span.end();
    Ok(())
}

/// A backend that knows where the cursor of an empty terminal is, and takes the size of the terminal that it draws on.
/// crossterm asks the terminal that the process was started from, which may have no size; then ratatui's `insert_before` never
/// ends.
struct Placed<W: Write>(CrosstermBackend<W>);

impl<W: Write> Backend for Placed<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn append_lines(&mut self, n: u16) -> io::Result<()> {
        self.0.append_lines(n)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        let size = size_of(StandardStream::Stdout)?;
        Ok(Size::new(size.ws_col, size.ws_row))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}
