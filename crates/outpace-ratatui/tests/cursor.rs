//! What shows beneath the cursor.

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use ratatui::Terminal;
use ratatui::layout::Size;
use ratatui::style::{Color, Style};

/// An emulator as a writer.
#[derive(Clone)]
struct Emulator(Arc<Mutex<vt100::Parser>>);

impl Write for Emulator {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().process(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// alacritty, foot and others draw the cursor in the foreground of the cell beneath it: found by the screenshots of csvlens.
#[test]
fn a_blank_beneath_the_cursor_has_the_foreground_that_was_asked_for() {
    let [rows, columns] = [3, 20].map(|number| NonZeroU16::new(number).unwrap());
    let emulator = Emulator(Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0))));
    let options = Options::default().capabilities(Capabilities::full());
    let backend = OutpaceBackend::writer(emulator.clone(), Size::new(20, 3), options).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    let mut foreground = |text: &str, color: Color, x: u16, visible: bool| {
        let style = Style::new().fg(color);
        terminal
            .draw(|frame| {
                frame
                    .buffer_mut()
                    .set_string(0, 1, format!("{text:<20}"), style);
                if visible {
                    frame.set_cursor_position((x, 1));
                }
            })
            .unwrap();
        let emulator = emulator.0.lock().unwrap();
        let screen = emulator.screen();
        assert_eq!(screen.hide_cursor(), !visible);
        if visible {
            assert_eq!(screen.cursor_position(), (1, x));
        }
        let contents = screen.contents();
        let row = contents.lines().nth(1).unwrap_or_default();
        assert_eq!(row.trim_end(), text);
        screen.cell(1, x).unwrap().fgcolor()
    };
    let (red, green) = (vt100::Color::Idx(1), vt100::Color::Idx(2));
    assert_eq!(foreground("find: a", Color::Indexed(1), 7, true), red);
    // It moves, within the same style, to the edge too.
    assert_eq!(foreground("find: ab", Color::Indexed(1), 8, true), red);
    assert_eq!(foreground("find: ab", Color::Indexed(1), 19, true), red);
    // Nothing but the foreground of blanks changes, beneath a cursor that stays.
    foreground("", Color::Indexed(1), 5, true);
    assert_eq!(foreground("", Color::Indexed(2), 5, true), green);
    // The terminal's own foreground, where another was used to draw the blank.
    foreground("ab cd", Color::Indexed(2), 2, false);
    let default = vt100::Color::Default;
    assert_eq!(foreground("ab cd", Color::Reset, 2, true), default);
    assert_eq!(foreground("ab cd", Color::Indexed(1), 1, true), red);
}
