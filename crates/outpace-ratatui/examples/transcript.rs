//! Streams Markdown into the terminal's scrollback at 1,000 tokens a second, with a live region below it that shows progress and the
//! keys that are typed. F2 opens `$EDITOR`. `q` ends it, and so does the end of the text; the transcript stays.
//! `cargo run -p outpace-ratatui --example transcript`

use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode};
use outpace_ratatui::Transcript;
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

const TEXT: &str = "# A transcript\n\nIt grows in the terminal's **own** scrollback: scroll up while it does, select it, \
resize the window.\n\n- A *token* costs its own bytes and some ten more.\n- The line below is drawn again only where it changed.\n\n\
Code is `styled` as it comes, before the end of its line has.\n\n";

/// The style of the next word: Markdown that is only looked at as far as it has come.
#[derive(Default)]
struct Markdown {
    heading: bool,
    bold: bool,
    italic: bool,
    code: bool,
}

impl Markdown {
    /// The spans of a token.
    fn style(&mut self, token: &str) -> Vec<Span<'static>> {
        let mut spans: Vec<Span> = Vec::new();
        let mut rest = token;
        while let Some(c) = rest.chars().next() {
            let (length, marker) = match c {
                '#' if rest.starts_with("# ") => (2, Some(&mut self.heading)),
                '*' if rest.starts_with("**") => (2, Some(&mut self.bold)),
                '*' => (1, Some(&mut self.italic)),
                '`' => (1, Some(&mut self.code)),
                c => (c.len_utf8(), None),
            };
            match marker {
                Some(on) => *on = !*on,
                None => {
                    let (text, style) = (&rest[..length], self.current());
                    match spans.last_mut().filter(|last| last.style == style) {
                        Some(last) => last.content.to_mut().push_str(text),
                        None => spans.push(Span::styled(text.to_owned(), style)),
                    }
                }
            }
            if c == '\n' {
                *self = Self::default();
            }
            rest = &rest[length..];
        }
        spans
    }

    fn current(&self) -> Style {
        let mut style = Style::new();
        if self.heading {
            style = style.bold().cyan();
        }
        if self.bold {
            style = style.bold();
        }
        if self.italic {
            style = style.italic();
        }
        if self.code {
            style = style.yellow();
        }
        style
    }
}

fn main() -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    let result = talk();
    crossterm::terminal::disable_raw_mode()?;
    result
}

fn talk() -> io::Result<()> {
    let mut transcript = Transcript::stdout()?;
    transcript.append(Line::from("> tell me about transcripts").bold())?;
    transcript.append("")?;
    let mut markdown = Markdown::default();
    let text = TEXT.repeat(20);
    let (begun, mut typed) = (Instant::now(), String::new());
    for (number, token) in text.split_inclusive(' ').enumerate() {
        for span in markdown.style(token) {
            transcript.extend(span)?;
        }
        let next = begun + Duration::from_millis(1) * number as u32;
        transcript.live(2, |live| {
            let [status, input] = [0, 1].map(|y| ratatui::layout::Rect {
                y,
                height: 1,
                ..live.area()
            });
            let spent = begun.elapsed().as_secs_f32();
            live.render_widget(
                Paragraph::new(format!("{number} tokens, {spent:.1} s")).dim(),
                status,
            );
            live.render_widget(Paragraph::new(format!("> {typed}")), input);
            live.set_cursor_position((2 + typed.chars().count() as u16, 1));
        })?;
        while event::poll(next.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Key(key) if key.code == KeyCode::Char('q') => return transcript.finish(),
                Event::Key(key) if key.code == KeyCode::F(2) => edit(&mut transcript)?,
                Event::Key(key) => typed.extend(key.code.as_char()),
                _ => {}
            }
        }
    }
    transcript.finish()
}

/// Lets the editor have the terminal. The text that it leaves there belongs to the transcript.
fn edit(transcript: &mut Transcript) -> io::Result<()> {
    let editor = std::env::var("EDITOR").unwrap_or_else(|_| "vi".into());
    crossterm::terminal::disable_raw_mode()?;
    let status = transcript.suspend(|| Command::new(editor).status())?;
    crossterm::terminal::enable_raw_mode()?;
    status.map(|_| ())
}
