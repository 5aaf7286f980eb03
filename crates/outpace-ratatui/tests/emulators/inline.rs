//! Inline viewports: the rows above them are left alone, and `insert_before` pushes lines there.

use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use ratatui::backend::Backend;
use ratatui::layout::Size;
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::emulator::{self, Emulator};
use crate::wire::Wire;

const WIDTH: u16 = 20;
const HEIGHT: u16 = 8;

fn rows(emulator: &mut dyn Emulator) -> Vec<String> {
    let row = |y| {
        (0..WIDTH)
            .map(|x| emulator.look(x, y).text)
            .collect::<String>()
    };
    let rows: Vec<String> = (0..HEIGHT).map(row).collect();
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn an_inline_viewport_leaves_the_shell_alone_and_lines_go_above_it() {
    let mut emulators = emulator::all(WIDTH, HEIGHT);
    for emulator in &mut emulators {
        emulator.feed(b"$ first\r\n$ second\r\n");
    }
    let wire = Wire::default();
    let options = Options::default().capabilities(Capabilities::full());
    let size = Size::new(WIDTH, HEIGHT);
    let mut backend = OutpaceBackend::writer(wire.clone(), size, options).unwrap();
    backend.set_cursor_position((0, 2)).unwrap();
    let viewport = Viewport::Inline(3);
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    let mut above = vec!["$ first".to_owned(), "$ second".to_owned()];
    for number in 0..12 {
        terminal
            .draw(|frame| {
                let text = format!("viewport {number}\n\nbottom");
                frame.render_widget(ratatui::text::Text::from(text), frame.area());
            })
            .unwrap();
        let written = wire.take();
        let mut expected = above[above.len().saturating_sub(usize::from(HEIGHT) - 3)..].to_vec();
        expected.extend([
            format!("viewport {number}"),
            String::new(),
            "bottom".to_owned(),
        ]);
        expected.resize(HEIGHT.into(), String::new());
        for emulator in &mut emulators {
            emulator.feed(&written);
            assert_eq!(
                rows(&mut **emulator),
                expected,
                "{} {number}",
                emulator.name()
            );
        }
        let line = format!("line {number}");
        terminal
            .insert_before(1, |buffer| line.as_str().render(buffer.area, buffer))
            .unwrap();
        above.push(line);
    }
}
