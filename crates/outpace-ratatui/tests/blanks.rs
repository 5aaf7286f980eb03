//! The styles of blanks where they matter: beneath the cursor, and in bold text.

#[path = "support/wire.rs"]
mod wire;

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use outpace_ratatui::{Capabilities, Options, OutpaceBackend, Repeat};
use ratatui::Terminal;
use ratatui::buffer::CellDiffOption;
use ratatui::layout::Size;
use ratatui::style::{Color, Style};
use wire::Wire;

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

/// A terminal of what xterm can do: it repeats printable characters of ASCII.
fn on_xterm(size: Size) -> (Wire, Terminal<OutpaceBackend>) {
    let wire = Wire::default();
    let mut capabilities = Capabilities::full();
    capabilities.repeat = Repeat::Ascii;
    let options = Options::default().capabilities(capabilities);
    let backend = OutpaceBackend::writer(wire.clone(), size, options).unwrap();
    (wire, Terminal::new(backend).unwrap())
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
            // xterm does so only if the pen has no foreground: found by the screenshots of serie.
            let is_blank = screen.cell(1, x).unwrap().contents().trim().is_empty();
            assert!(!is_blank || screen.fgcolor() == vt100::Color::Default);
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
    // The foreground of blanks alone changes, beneath a cursor that stays.
    foreground("", Color::Indexed(1), 5, true);
    assert_eq!(foreground("", Color::Indexed(2), 5, true), green);
    // The terminal's own foreground, where another was used to draw the blank.
    foreground("ab cd", Color::Indexed(2), 2, false);
    let default = vt100::Color::Default;
    assert_eq!(foreground("ab cd", Color::Reset, 2, true), default);
    assert_eq!(foreground("ab cd", Color::Indexed(1), 1, true), red);
}

/// A terminal that is drawn pictures and text.
struct Pictures {
    emulator: Emulator,
    terminal: Terminal<OutpaceBackend>,
}

impl Pictures {
    fn new() -> Self {
        let [rows, columns] = [4, 40].map(|number| NonZeroU16::new(number).unwrap());
        let emulator = Emulator(Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0))));
        let options = Options::default().capabilities(Capabilities::full());
        let backend = OutpaceBackend::writer(emulator.clone(), Size::new(40, 4), options).unwrap();
        let terminal = Terminal::new(backend).unwrap();
        Self { emulator, terminal }
    }

    /// Draws a picture into the first row, green text into the second, and blanks of a colour behind that and in the third. Returns the
    /// third row and the foreground beneath the cursor.
    fn draw(&mut self, picture: &str, color: Color, (x, y): (u16, u16)) -> (String, vt100::Color) {
        self.terminal
            .draw(|frame| {
                let buffer = frame.buffer_mut();
                if !picture.is_empty() {
                    let two = CellDiffOption::ForcedWidth(NonZeroU16::new(2).unwrap());
                    buffer[(0, 0)].set_symbol(picture).set_diff_option(two);
                }
                let style = Style::new().fg(color);
                buffer.set_string(0, 1, " ".repeat(40), style);
                buffer.set_string(0, 1, "find:", Style::new().fg(Color::Green));
                buffer.set_string(0, 2, " ".repeat(40), style);
                frame.set_cursor_position((x, y));
            })
            .unwrap();
        let emulator = self.emulator.0.lock().unwrap();
        let screen = emulator.screen();
        assert_eq!(screen.cursor_position(), (y, x));
        let row = screen.rows(0, 40).nth(2).unwrap().trim_end().to_owned();
        (row, screen.cell(y, x).unwrap().fgcolor())
    }
}

/// Found by the screenshots of serie, whose commits each have a picture of one row.
#[test]
fn a_blank_beneath_the_cursor_has_its_foreground_among_pictures_that_do_not_reach_it() {
    let red = vt100::Color::Idx(1);
    for picture in [
        "\x1b]1337;File=size=4;width=2;height=1;inline=1:AAAA\x07",
        "\x1b_Ga=T,f=100;AAAA\x1b\\",
    ] {
        let mut pictures = Pictures::new();
        let row = (String::new(), red);
        assert_eq!(pictures.draw(picture, Color::Indexed(1), (5, 1)), row);
        // The picture is drawn again, the blank is not.
        pictures.draw("", Color::Indexed(1), (0, 0));
        assert_eq!(pictures.draw(picture, Color::Indexed(1), (6, 1)), row);
    }
    // In the terminal's own foreground, too.
    let mut pictures = Pictures::new();
    let own = pictures.draw("\x1b_Ga=T;\x1b\\", Color::Reset, (5, 1)).1;
    assert_eq!(own, vt100::Color::Default);
}

/// Escape sequences may draw anywhere. These draw two rows below, over blanks that were drawn before.
#[test]
fn a_picture_beneath_the_cursor_stays() {
    let picture = "\x1b7\x1b[2Bpicture\x1b8";
    let red = Color::Indexed(1);
    let mut pictures = Pictures::new();
    pictures.draw("", red, (5, 1));
    for x in [3, 4] {
        assert_eq!(pictures.draw(picture, red, (x, 2)).0, "picture");
    }
    // The application draws there again.
    let drawn = pictures.draw(picture, Color::Indexed(2), (3, 2));
    assert_eq!(drawn, (String::new(), vt100::Color::Idx(2)));
}

/// xterm draws a run of bold text by its usual font if the bold font lacks one of its symbols, so the run has to be the one that
/// crossterm's backend prints: found by the screenshots of bottom.
#[test]
fn bold_words_around_a_symbol_that_bold_fonts_lack_are_printed_with_the_blanks_between_them() {
    for (symbol, is_one) in [("▲", true), ("^", false)] {
        let (wire, mut terminal) = on_xterm(Size::new(80, 3));
        let mut draw = |last: &str, color: Color| {
            let text = format!("Disk{symbol}          Mount   {last}");
            let style = Style::new().fg(color).bold();
            terminal
                .draw(|frame| {
                    frame
                        .buffer_mut()
                        .set_string(0, 1, format!("{text:<80}"), style);
                })
                .unwrap();
            let bytes = String::from_utf8(wire.take()).unwrap();
            (bytes.contains(&text), bytes)
        };
        // At first, and when the foreground changes, which a blank does not show.
        for color in [Color::Red, Color::Green] {
            let (is_whole, bytes) = draw("Name", color);
            assert_eq!(is_whole, is_one, "{bytes:?}");
            assert!(bytes.len() < 80, "blanks behind the text: {bytes:?}");
        }
        let (_, bytes) = draw("Total", Color::Green);
        assert!(
            bytes.ends_with("Total\x1b[m") && !bytes.contains("Mount"),
            "{bytes:?}"
        );
    }
}

/// xterm draws lines a pixel longer than their cells, so that the cells beside them depend on which was drawn last: found by the
/// screenshots of flex.
#[test]
fn blanks_that_a_line_sticks_out_into_are_printed_as_crossterm_prints_them() {
    for (repeat, is_printed) in [(Repeat::Ascii, true), (Repeat::Anything, false)] {
        let wire = Wire::default();
        let mut capabilities = Capabilities::full();
        capabilities.repeat = repeat;
        let options = Options::default().capabilities(capabilities);
        let backend = OutpaceBackend::writer(wire.clone(), Size::new(40, 3), options).unwrap();
        let mut terminal = Terminal::new(backend).unwrap();
        let mut draw = |lines: [&str; 3], blanks: Color| {
            terminal
                .draw(|frame| {
                    for (y, line) in (0..).zip(lines) {
                        let line = format!("{line:<40}");
                        let buffer = frame.buffer_mut();
                        buffer.set_string(0, y, &line, Style::new().fg(blanks));
                        let text = line.trim_end();
                        buffer.set_string(0, y, text, Style::new().fg(Color::Indexed(9)));
                    }
                })
                .unwrap();
            String::from_utf8(wire.take()).unwrap()
        };
        // To the right and below: each in a style of its own, after the lines.
        let bytes = draw(["", "       ┌", ""], Color::Indexed(203));
        assert_eq!(bytes.contains("┌\x1b[38;5;203m "), is_printed, "{bytes:?}");
        assert_eq!(bytes.matches(' ').count(), 2 * usize::from(is_printed));
        // Their foreground alone changes.
        let bytes = draw(["", "       ┌", ""], Color::Indexed(204));
        assert_eq!(bytes.contains("38;5;204m"), is_printed, "{bytes:?}");
        assert!(!bytes.contains('┌'), "{bytes:?}");
        assert_eq!(bytes.matches(' ').count(), 2 * usize::from(is_printed));
        // The line goes, and leaves its pixels behind in the blanks: no more than its own cell is drawn.
        draw(["", "ab     ┌", ""], Color::Indexed(204));
        let bytes = draw(["", "", ""], Color::Indexed(204));
        assert_eq!(bytes.contains("\x1b[K"), !is_printed, "{bytes:?}");
        // Where it was, a blank is printed still.
        let bytes = draw(["", "", ""], Color::Indexed(205));
        assert_eq!(bytes.matches(' ').count(), 2 * usize::from(is_printed));
    }
}

/// Of an application that has drawn a picture, too, on a terminal that was cleared for its new size: found by the screenshots of serie.
#[test]
fn such_blanks_are_printed_among_pictures_after_a_change_of_size() {
    let (wire, mut terminal) = on_xterm(Size::new(40, 3));
    for width in [60, 50] {
        terminal.backend_mut().set_size(Size::new(width, 3));
        wire.take();
        terminal
            .draw(|frame| {
                let buffer = frame.buffer_mut();
                let picture = "\x1b]1337;File=inline=1;height=1:AAAA\x07";
                buffer[(0, 0)].set_symbol(picture);
                let grey = Style::new().fg(Color::DarkGray);
                buffer.set_string(2, 1, "────  ", grey);
            })
            .unwrap();
        let bytes = String::from_utf8(wire.take()).unwrap();
        assert!(bytes.contains("──── "), "{width} columns: {bytes:?}");
    }
}

/// A row with such lines is not scrolled, which would move what sticks out.
#[test]
fn rows_that_lines_stick_out_of_do_not_scroll() {
    let (wire, mut terminal) = on_xterm(Size::new(40, 20));
    let mut scrolls = |start: u16, frame: [&str; 3]| {
        terminal
            .draw(|area| {
                let buffer = area.buffer_mut();
                buffer.set_string(0, 0, frame[0], Style::new());
                for y in 1..19 {
                    let number = u64::from(start + y) * 0x9E37_79B9_7F4A;
                    let line = format!("{number:x} {number:o} {number:<40}");
                    buffer.set_string(0, y, frame[1], Style::new());
                    buffer.set_string(2, y, line, Style::new());
                }
                buffer.set_string(0, 19, frame[2], Style::new());
            })
            .unwrap();
        let bytes = wire.take();
        bytes.ends_with(b"M") || bytes.windows(2).any(|two| two == b"M\x1b")
    };
    // Within a box each line covers what sticks out of the one before it.
    let closed = ["┌────────", "│", "└────────"];
    let open = ["┌────────", "─", "└────────"];
    assert!(!scrolls(0, closed));
    assert!(scrolls(1, closed));
    assert!(!scrolls(100, open));
    assert!(!scrolls(101, open));
    // What stuck out may still be there.
    assert!(!scrolls(200, closed));
    assert!(!scrolls(201, closed));
}

/// Nor is a row shifted below a line that comes, though the line goes on in it: the cell that the line sticks out into at first would take
/// the pixel along. Found by the screenshots of ratatui-image's demo.
#[test]
fn a_row_below_a_line_that_comes_is_not_shifted() {
    for (repeat, shifts) in [(Repeat::Ascii, false), (Repeat::Anything, true)] {
        let wire = Wire::default();
        let mut capabilities = Capabilities::full();
        capabilities.repeat = repeat;
        let options = Options::default().capabilities(capabilities);
        let backend = OutpaceBackend::writer(wire.clone(), Size::new(80, 3), options).unwrap();
        let mut terminal = Terminal::new(backend).unwrap();
        terminal.clear().unwrap();
        let mut draw = |line: &str| {
            terminal
                .draw(|frame| {
                    let text: String = ('0'..'{').collect();
                    let (start, end) = text.split_at(9);
                    let buffer = frame.buffer_mut();
                    buffer.set_string(9, 0, line, Style::new());
                    buffer.set_string(0, 1, format!("{start}{line}{end}"), Style::new());
                    buffer.set_string(9, 2, line, Style::new());
                })
                .unwrap();
            String::from_utf8(wire.take()).unwrap()
        };
        assert!(!draw("").contains("\x1b[@"));
        let bytes = draw("│");
        assert_eq!(bytes.contains("\x1b[@"), shifts, "{bytes:?}");
    }
}
