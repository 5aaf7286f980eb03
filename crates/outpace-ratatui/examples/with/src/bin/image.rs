//! A picture by ratatui-image, in the best way that the terminal has: `cargo run --bin image`. It is asked once the terminal
//! is in raw mode, as its answer would be echoed before. `+` and `-` change the picture's size, `q` quits.
//!
//! Where the terminal does not answer within two seconds, as in a detached tmux, ratatui-image 11's thread goes on reading, and takes the first key, with any backend.

use std::io;

use crossterm::event::{self, KeyCode};
use image::{DynamicImage, Rgb, RgbImage};
use outpace_ratatui::DefaultTerminal;
use ratatui::layout::Rect;
use ratatui::widgets::Block;
use ratatui_image::picker::Picker;
use ratatui_image::protocol::StatefulProtocol;
use ratatui_image::{Resize, StatefulImage};

fn main() -> io::Result<()> {
    outpace_ratatui::run(|terminal| {
        // A terminal that does not answer gets half blocks.
        let picker = Picker::from_query_stdio().unwrap_or_else(|_| Picker::halfblocks());
        let mut picture = picker.new_resize_protocol(DynamicImage::ImageRgb8(paint()));
        show(terminal, &mut picture)
    })
}

fn paint() -> RgbImage {
    RgbImage::from_fn(320, 240, |x, y| {
        let ring = (x.abs_diff(160).pow(2) + y.abs_diff(120).pow(2)) / 40 % 256;
        Rgb([(x * 255 / 320) as u8, (y * 255 / 240) as u8, ring as u8])
    })
}

fn show(terminal: &mut DefaultTerminal, picture: &mut StatefulProtocol) -> io::Result<()> {
    let mut columns = 40;
    loop {
        terminal.draw(|frame| {
            let area = frame.area();
            let block = Block::bordered().title("ratatui-image: + - q");
            let inside = block.inner(area);
            frame.render_widget(block, area);
            let size = Rect::new(inside.x, inside.y, columns, columns / 2).intersection(inside);
            let widget = StatefulImage::default().resize(Resize::Fit(None));
            frame.render_stateful_widget(widget, size, picture);
        })?;
        if let Some(key) = event::read()?.as_key_press_event() {
            match key.code {
                KeyCode::Char('+') => columns = (columns + 4).min(200),
                KeyCode::Char('-') => columns = (columns - 4).max(4),
                KeyCode::Char('q') => return Ok(()),
                _ => {}
            }
        }
    }
}
