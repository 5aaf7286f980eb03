#!/usr/bin/env -S cargo +nightly -Zscript
---
[package]
edition = "2024"

[dependencies]
crossterm = "0.29"
outpace-ratatui = { path = ".." }
ratatui = "0.30"
---
//! `examples/simple.rs` as a script of one file.

use std::io;

use crossterm::event::{self, Event, KeyCode};
use outpace_ratatui::{Options, Target};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::widgets::{Block, Paragraph};

fn main() -> io::Result<()> {
    let stderr = std::env::args().any(|argument| argument == "--stderr");
    let target = if stderr {
        Target::Stderr
    } else {
        Target::Stdout
    };
    let mut terminal = Options::default().target(target).init()?;
    let result = loop {
        if let Err(error) = terminal.draw(|frame| draw(frame, target)) {
            break Err(error);
        }
        match event::read() {
            Ok(Event::Key(key)) if key.code == KeyCode::Char('q') => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    drop(terminal);
    outpace_ratatui::restore();
    result
}

fn draw(frame: &mut Frame, target: Target) {
    let block = Block::bordered().title("outpace");
    let inner = block.inner(frame.area());
    frame.render_widget(block, frame.area());
    let [middle] = Layout::vertical([Constraint::Length(1)])
        .flex(ratatui::layout::Flex::Center)
        .areas(inner);
    let text = format!("Drawn on {target:?}. Press q to quit.");
    frame.render_widget(Paragraph::new(text).centered(), middle);
}
