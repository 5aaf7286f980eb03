//! tokio and crossterm's `EventStream`: `cargo run --bin tokio`. Drawing never waits for the terminal, so it needs no
//! `spawn_blocking`.

use std::io;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode};
use futures_util::StreamExt;
use outpace_ratatui::DefaultTerminal;
use ratatui::text::Line;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut terminal = outpace_ratatui::init();
    let result = run(&mut terminal).await;
    outpace_ratatui::restore();
    result
}

async fn run(terminal: &mut DefaultTerminal) -> io::Result<()> {
    let mut events = EventStream::new();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let (mut ticks, mut last) = (0_u64, String::from("no event yet"));
    loop {
        terminal.draw(|frame| {
            let lines = [
                Line::from(format!("{ticks} ticks")),
                Line::from(last.as_str()),
                Line::from("q quits"),
            ];
            frame.render_widget(ratatui::text::Text::from_iter(lines), frame.area());
        })?;
        tokio::select! {
            _ = tick.tick() => ticks += 1,
            event = events.next() => match event.transpose()? {
                None => return Ok(()),
                Some(Event::Key(key)) if key.code == KeyCode::Char('q') => return Ok(()),
                Some(event) => last = format!("{event:?}"),
            },
        }
    }
}
