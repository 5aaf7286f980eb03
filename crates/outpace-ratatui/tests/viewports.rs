//! The cells that a viewport leaves alone, and those that come back when a terminal grows.

#[path = "support/transcripts.rs"]
mod transcripts;
#[path = "support/wire.rs"]
mod wire;

use outpace_ratatui::{Capabilities, Live, Options, OutpaceBackend, Reflow};
use ratatui::backend::Backend;
use ratatui::layout::{Rect, Size};
use ratatui::style::Style;
use ratatui::text::Text;
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};
use transcripts::REFLOWS;
use wire::Wire;

struct Session {
    terminal: Terminal<OutpaceBackend>,
    wire: Wire,
    emulator: vt100::Parser,
}

impl Session {
    fn new(size: Size, viewport: Viewport) -> Self {
        Self::of(Capabilities::full(), size, viewport)
    }

    fn of(capabilities: Capabilities, size: Size, viewport: Viewport) -> Self {
        let wire = Wire::default();
        let options = Options::default().capabilities(capabilities);
        let backend = OutpaceBackend::writer(wire.clone(), size, options).unwrap();
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let nonzero = |n: u16| n.try_into().unwrap();
        let emulator = vt100::Parser::new(nonzero(size.height), nonzero(size.width), 0);
        Self {
            terminal,
            wire,
            emulator,
        }
    }

    fn draw(&mut self, text: &str) {
        self.draw_styled(text, Style::new());
    }

    fn draw_styled(&mut self, text: &str, style: Style) {
        let text = Text::from(text.to_owned()).style(style);
        self.terminal
            .draw(|frame| frame.render_widget(text, frame.area()))
            .unwrap();
        self.take();
    }

    fn take(&mut self) {
        self.emulator.process(&self.wire.take());
    }

    fn resize_known(&mut self, size: Size) {
        self.terminal.backend_mut().set_size(size);
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.resize_known(Size::new(width, height));
        self.emulator
            .screen_mut()
            .set_size(height.try_into().unwrap(), width.try_into().unwrap());
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.emulator.screen();
        let rows = screen.rows(0, screen.size().1.get());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }
}

#[test]
fn a_fixed_viewport_leaves_the_rest_alone_however_often_the_size_was_asked_for() {
    for asked in 0..5 {
        let viewport = Viewport::Fixed(Rect::new(4, 1, 10, 2));
        let mut session = Session::new(Size::new(20, 4), viewport);
        session
            .emulator
            .process(b"one of the shell's\r\ntwo of the shell's\r\nthr\r\nfour of the shell's");
        for _ in 0..asked {
            session.terminal.size().unwrap();
        }
        // Inside the viewport the rectangle around the drawn cells is blanked, as ratatui takes it to be.
        session.draw("AB\nCDEFGHIJKL");
        assert_eq!(
            session.rows(),
            [
                "one of the shell's",
                "two AB        ll's",
                "thr CDEFGHIJKL",
                "four of the shell's"
            ],
            "asked {asked} times"
        );
        session.terminal.size().unwrap();
        session.draw("AB\n");
        assert_eq!(session.rows()[0], "one of the shell's");
        assert_eq!(session.rows()[2], "thr");
    }
}

#[test]
fn a_size_that_was_asked_for_before_the_terminal_grew_cuts_no_frame() {
    for clears in [false, true] {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 12, 2));
        let mut session = Session::new(Size::new(6, 2), viewport);
        for text in ["first", "from edge to", "edge to edge"] {
            session.terminal.size().unwrap();
            session.resize(12, 2);
            if clears {
                session.terminal.clear().unwrap();
            }
            session.draw(text);
            assert_eq!(session.rows()[0], text);
            session.terminal.size().unwrap();
        }
    }
}

#[test]
fn clearing_shows_at_once_in_every_viewport() {
    let size = Size::new(20, 4);
    for viewport in [
        Viewport::Fullscreen,
        Viewport::Inline(2),
        Viewport::Fixed(Rect::new(0, 1, 20, 3)),
        Viewport::Fixed(Rect::new(0, 1, 20, 2)),
        Viewport::Fixed(Rect::new(4, 1, 10, 2)),
    ] {
        let mut session = Session::new(size, viewport.clone());
        session.draw("AB\nCDEFGHIJKL");
        assert!(session.rows().concat().contains("AB"), "{viewport:?}");
        session.terminal.clear().unwrap();
        session.take();
        assert_eq!(session.rows().concat(), "", "{viewport:?}");
        session.draw("AB\nCD");
        assert!(session.rows().concat().contains("AB"), "{viewport:?}");
    }
}

#[test]
fn a_fixed_viewport_that_was_cut_by_a_smaller_terminal_comes_back_when_it_grows() {
    let viewport = Viewport::Fixed(Rect::new(0, 0, 12, 3));
    let mut session = Session::new(Size::new(12, 3), viewport);
    let text = "left   right\nsecond 日本é\nthird  row!!";
    session.draw(text);
    session.resize(8, 2);
    session.draw(text);
    // One that the smaller terminal does not show changes meanwhile.
    let text = "left   right\nsecond 日本é\nthird  ROW!!";
    session.draw(text);
    session.resize(12, 3);
    session.draw(text);
    let wanted: Vec<&str> = text.lines().collect();
    assert_eq!(session.rows(), wanted);
}

#[test]
fn a_fixed_viewport_that_never_fitted_is_complete_when_the_terminal_has_grown() {
    let viewport = Viewport::Fixed(Rect::new(0, 0, 12, 3));
    let mut session = Session::new(Size::new(6, 2), viewport);
    session.draw("left   right\nsecond row\nthird row");
    session.resize(20, 5);
    session.draw("left   right\nsecond row\nthird row");
    let rows = session.rows();
    assert_eq!(rows[..3], ["left   right", "second row", "third row"]);
}

#[test]
fn a_frame_of_a_fixed_viewport_that_a_larger_terminal_gets_late_draws_on_nothing_beside_it() {
    let (bar, size) = (Style::new().on_blue(), Size::new(30, 5));
    let viewport = Viewport::Fixed(Rect::new(0, 0, 12, 4));
    let mut session = Session::new(Size::new(10, 3), viewport);
    // It has grown before the first frame arrives.
    let screen = session.emulator.screen_mut();
    screen.set_size(
        size.height.try_into().unwrap(),
        size.width.try_into().unwrap(),
    );
    session.emulator.process(b"\x1b[1;20Hone\x1b[5;1Htwo");
    for known in [Size::new(10, 3), size] {
        session.resize_known(known);
        session.draw_styled("bar", bar);
    }
    assert_eq!(
        session.rows(),
        ["bar                one", "", "", "", "two"]
    );
    let screen = session.emulator.screen();
    let colors = |x: u16| screen.cell(0, x).unwrap().bgcolor();
    assert_eq!(colors(11), vt100::Color::Idx(4));
    assert_eq!(colors(12), vt100::Color::Default);
}

#[test]
fn a_frame_of_a_fixed_viewport_that_a_larger_terminal_gets_late_moves_nothing_out_of_it() {
    let letters: String = ('a'..='z').chain('A'..='Z').collect();
    let row = |number: usize| format!("{}{}", &letters[number * 3..], &letters[..number * 3]);
    let lines = (0..6).map(row).collect::<Vec<_>>();
    let above = ["new".to_owned(), "newer".to_owned()];
    // The second frame has the rows of the first two rows further down, or its first row further to the right.
    let down = [&above, &lines[..4]].concat();
    let mut right = lines.clone();
    right[0].insert_str(0, "----- ");
    for (what, later) in [("down", down), ("right", right)] {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 42, 6));
        let mut session = Session::new(Size::new(40, 5), viewport);
        session.draw(&lines.join("\n"));
        let (height, width) = (9.try_into().unwrap(), 60.try_into().unwrap());
        session.emulator.screen_mut().set_size(height, width);
        for known in [Size::new(40, 5), Size::new(60, 9)] {
            session.resize_known(known);
            session.draw(&later.join("\n"));
        }
        let mut wanted: Vec<&str> = later.iter().map(|row| &row[..row.len().min(42)]).collect();
        wanted.resize(9, "");
        assert_eq!(session.rows(), wanted, "{what}");
    }
}

#[test]
fn a_fullscreen_viewport_is_cleared_by_its_resize_whatever_lay_beyond_the_edge() {
    let mut session = Session::new(Size::new(12, 3), Viewport::Fullscreen);
    session.draw("left   right\nsecond row\nthird row");
    session.resize(6, 2);
    session.draw("small");
    session.resize(12, 3);
    session.draw("large");
    assert_eq!(session.rows(), ["large", "", ""]);
    assert_eq!(session.terminal.backend().size().unwrap().width, 12);
}

const TINY: [Size; 6] = [
    Size::new(1, 1),
    Size::new(2, 1),
    Size::new(1, 2),
    Size::new(1, 24),
    Size::new(80, 1),
    Size::new(3, 3),
];

/// Sizes that follow one another: each tiny one alone, and between two of the usual ones.
fn tiny_and_back() -> impl Iterator<Item = (Size, Size)> {
    let usual = Size::new(20, 4);
    TINY.into_iter()
        .flat_map(move |tiny| [(tiny, tiny), (tiny, usual), (usual, tiny)])
}

#[test]
fn a_terminal_of_one_cell_shows_its_part_of_the_picture() {
    // A wide symbol in a single column must not stop the program; its picture is not compared.
    let texts = ["abcdefgh\nijkl\nm", "x\n\nyz", "日本é語\nb日", ""];
    for (first, second) in tiny_and_back() {
        for (at, text) in texts.iter().enumerate() {
            let mut session = Session::new(first, Viewport::Fullscreen);
            for size in [first, second, first, second] {
                session.resize(size.width, size.height);
                session.draw(texts[(at + 1) % texts.len()]);
                session.terminal.clear().unwrap();
                session.draw(text);
                if !text.is_ascii() {
                    continue;
                }
                let mut wanted: Vec<String> = text
                    .lines()
                    .map(|line| line.chars().take(size.width.into()).collect())
                    .collect();
                wanted.resize(size.height.into(), String::new());
                assert_eq!(session.rows(), wanted, "{text:?} at {first}, {second}");
            }
        }
    }
}

#[test]
fn inline_viewports_outlive_a_terminal_of_one_cell() {
    for (first, second) in tiny_and_back() {
        for rows in [1, 3] {
            let mut session = Session::new(first, Viewport::Inline(rows));
            for size in [first, second, first, second] {
                session.resize(size.width, size.height);
                session.draw("live 日 text\nmore");
                let line = |buffer: &mut ratatui::buffer::Buffer| {
                    Text::from("line 日").render(buffer.area, buffer);
                };
                session.terminal.insert_before(2, line).unwrap();
                session.take();
                session.draw("a");
            }
            let shown = session.rows();
            assert!(shown.iter().any(|row| row == "a"), "{shown:?}");
        }
    }
}

#[test]
fn a_transcript_outlives_a_terminal_of_one_cell() {
    for (first, second) in tiny_and_back() {
        for reflow in REFLOWS {
            let (mut transcript, wire) = transcripts::transcript(first, reflow);
            let mut printed = Vec::new();
            for (at, size) in [first, second, first, second].into_iter().enumerate() {
                transcript.set_size(size);
                transcript.append(format!("line <{at}> 日本")).unwrap();
                transcript.extend("streamed").unwrap();
                let draw = |live: &mut Live| {
                    live.render_widget("live 日", live.area());
                    live.set_cursor_position((0, 0));
                };
                transcript.live(3, draw).unwrap();
                transcript.flush_and_wait(None).unwrap();
                printed.extend(wire.take());
            }
            transcript.finish().unwrap();
            printed.extend(wire.take());
            // Of each line at least the column that fits.
            let letters = printed.iter().filter(|byte| **byte == b'<').count();
            assert!(
                letters >= 4,
                "{first}, {second}, {reflow:?}: {letters} lines"
            );
        }
    }
}

/// dua does so when it is continued after Ctrl-Z.
#[test]
fn an_application_that_has_ratatui_forget_its_last_frame_gets_everything_drawn_again() {
    for text in ["some words", "日本 ☂️ e\u{301}"] {
        let mut session = Session::new(Size::new(20, 3), Viewport::Fullscreen);
        let draw = |session: &mut Session| {
            session
                .terminal
                .draw(|frame| {
                    frame.render_widget(text, frame.area());
                    // A highlighted row, and blanks that are seen otherwise.
                    let buffer = frame.buffer_mut();
                    buffer.set_style(Rect::new(0, 1, 20, 1), Style::new().on_blue());
                    buffer.set_style(Rect::new(0, 2, 9, 1), Style::new().underlined());
                    buffer.set_style(Rect::new(9, 2, 9, 1), Style::new().reversed());
                })
                .unwrap();
            session.take();
            session.emulator.screen().contents_formatted()
        };
        let before = draw(&mut session);
        // Another program has used the screen, and erased it with the colours that the frame left behind.
        session.emulator.process(b"\x1b[H\x1b[J");
        assert_ne!(draw(&mut session), before, "nothing has changed");
        session.terminal.swap_buffers();
        assert_eq!(draw(&mut session), before);
    }
}

/// Tokens of models may be single code points.
#[test]
fn a_transcript_that_is_streamed_by_characters_has_every_mark_and_joiner() {
    let all = "e\u{301}x 👨\u{200d}👩 ❤\u{fe0f} नि\u{301}y";
    for (reflow, with_live) in REFLOWS
        .into_iter()
        .flat_map(|reflow| [(reflow, false), (reflow, true)])
    {
        let (mut transcript, wire) = transcripts::transcript(Size::new(40, 8), reflow);
        // tmux has the others in fewer columns than this emulator.
        let text = match reflow {
            Reflow::Ahead => "e\u{301}x नि\u{301}y".to_owned(),
            _ => all.to_owned(),
        };
        transcript.append("before").unwrap();
        transcript.append("").unwrap();
        for c in text.chars() {
            transcript.extend(c.to_string()).unwrap();
            if with_live {
                transcript
                    .live(1, |live| live.render_widget("live", live.area()))
                    .unwrap();
            }
            transcript.flush_and_wait(None).unwrap();
        }
        transcript.extend("\n").unwrap();
        // It begins a line, so there is no symbol that it continues.
        transcript.extend("\u{301}after").unwrap();
        transcript.finish().unwrap();
        let mut emulator = vt100::Parser::new(8.try_into().unwrap(), 40.try_into().unwrap(), 0);
        emulator.process(&wire.take());
        let contents = emulator.screen().contents();
        let lines: Vec<&str> = contents.lines().collect();
        assert_eq!(lines, ["before", &text, "after"], "{reflow:?}");
    }
}

#[test]
fn a_table_with_tabs_lines_up_in_a_transcript_as_when_it_is_printed() {
    let rows = [
        "name\tsize\tlast",
        "a\t1\t\tx",
        "日本語の表\t22\ty",
        "\tindented",
        "12345678\t.",
    ];
    let mut printed = vt100::Parser::new(8.try_into().unwrap(), 40.try_into().unwrap(), 0);
    printed.process(rows.join("\r\n").as_bytes());
    for reflow in REFLOWS {
        for streamed in [false, true] {
            let (mut transcript, wire) = transcripts::transcript(Size::new(40, 8), reflow);
            for row in rows {
                transcript.append(if streamed { "" } else { row }).unwrap();
                for c in row.chars().filter(|_| streamed) {
                    transcript.extend(c.to_string()).unwrap();
                    transcript.flush_and_wait(None).unwrap();
                }
            }
            transcript.finish().unwrap();
            let mut emulator = vt100::Parser::new(8.try_into().unwrap(), 40.try_into().unwrap(), 0);
            emulator.process(&wire.take());
            let (found, wanted) = (emulator.screen().contents(), printed.screen().contents());
            assert_eq!(found, wanted, "{reflow:?}, streamed: {streamed}");
        }
    }
}

#[cfg(all(unix, not(outpace_portable)))]
#[test]
fn a_transcript_into_a_pipe_is_its_lines() {
    use std::io::Read;
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut transcript = outpace_ratatui::Transcript::open(&writer).unwrap();
    drop(writer);
    let red = ratatui::style::Style::new().red();
    transcript.append(Text::styled("one\ntwo", red)).unwrap();
    transcript.append("").unwrap();
    for token in ["stre", "am", "ed é\n", "", "and\t日本\u{200b}"] {
        transcript.extend(token).unwrap();
        transcript
            .live(2, |live| live.render_widget("live", live.area()))
            .unwrap();
        transcript.flush_and_wait(None).unwrap();
    }
    transcript.suspend(|| ()).unwrap();
    transcript.append("last").unwrap();
    transcript.finish().unwrap();
    drop(transcript);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "one\ntwo\nstreamed é\nand\t日本\u{200b}\nlast\n");
}

/// A logger on a thread of its own writes in pieces, while a line is streamed. After the end the program goes on.
#[test]
fn lines_of_a_logger_are_lines_of_their_own_and_the_transcript_goes_on_behind_its_end() {
    use std::io::Write;
    let size = Size::new(40, 12);
    for reflow in REFLOWS {
        let (mut transcript, wire) = transcripts::transcript(size, reflow);
        transcript.append("a").unwrap();
        transcript.extend(" stream").unwrap();
        let draw = |live: &mut Live| live.render_widget("live", live.area());
        transcript.live(1, draw).unwrap();
        transcript.flush_and_wait(None).unwrap();
        let shared = std::sync::Arc::new(std::sync::Mutex::new(transcript));
        let log = shared.clone();
        let logger = std::thread::spawn(move || {
            for piece in ["\x1b[31mwarning:\x1b[0m ", "日", "\nmore\n\nwithout an "] {
                let mut log = log.lock().unwrap();
                log.write_all(piece.as_bytes()).unwrap();
                log.flush_and_wait(None).unwrap();
            }
        });
        logger.join().unwrap();
        let mut transcript = shared.lock().unwrap();
        transcript.extend("goes on").unwrap();
        transcript.extend("!\n").unwrap();
        transcript.write_all(b"end").unwrap();
        transcript.finish().unwrap();
        transcript.append("behind").unwrap();
        transcript.finish().unwrap();
        let mut emulator = vt100::Parser::new(12.try_into().unwrap(), 40.try_into().unwrap(), 0);
        emulator.process(&wire.take());
        let shown = emulator.screen().contents();
        let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
        let wanted = [
            "a stream",
            "warning: 日",
            "more",
            "",
            "goes on!",
            "",
            "without an end",
            "behind",
        ];
        assert_eq!(shown[..], wanted, "{reflow:?}");
    }
}

#[test]
fn a_line_can_be_extended_in_a_terminal_of_one_row() {
    let (mut transcript, wire) = transcripts::transcript(Size::new(40, 1), Reflow::Ahead);
    let mut emulator = vt100::Parser::new(1.try_into().unwrap(), 40.try_into().unwrap(), 10);
    for number in 0..3 {
        transcript.append(format!("line {number}:")).unwrap();
        for piece in [" one", " two"] {
            transcript.flush_and_wait(None).unwrap();
            transcript.extend(piece).unwrap();
        }
    }
    transcript.finish().unwrap();
    emulator.process(&wire.take());
    let lines = (1..=3).rev().map(|back| {
        emulator.screen_mut().set_scrollback(back);
        emulator.screen().contents()
    });
    let expected = (0..3).map(|number| format!("line {number}: one two"));
    assert!(lines.eq(expected));
}

/// In tmux, erasing what follows erases the symbol in a last column, unless it is printed again before.
#[test]
fn a_symbol_with_marks_is_printed_again_before_what_extends_it() {
    for pieces in [&["abco\u{323}\u{302}"][..], &["abco", "\u{323}", "\u{302}"]] {
        let (mut transcript, wire) = transcripts::transcript(Size::new(4, 8), Reflow::Ahead);
        transcript.append("").unwrap();
        for piece in pieces {
            transcript.extend(*piece).unwrap();
            transcript
                .live(1, |live| live.render_widget("live", live.area()))
                .unwrap();
            transcript.flush_and_wait(None).unwrap();
        }
        wire.take();
        transcript.extend("d").unwrap();
        transcript.flush_and_wait(None).unwrap();
        let bytes = String::from_utf8(wire.take()).unwrap();
        assert!(bytes.contains("o\u{323}\u{302}"), "{bytes:?}");
        transcript.finish().unwrap();
    }
}

/// crossterm's backend leaves the cursor behind the last cell: found by a program that printed a line after its last frame.
#[test]
fn output_after_an_inline_viewport_goes_on_in_the_next_row() {
    let mut capabilities = Capabilities::full();
    capabilities.alternate_screen = false;
    for (shows_cursor, places_it) in [(false, false), (true, false), (false, true)] {
        let mut session = Session::of(capabilities, Size::new(10, 6), Viewport::Inline(2));
        session.draw("0123456789\nabcdefghij");
        if shows_cursor {
            session.terminal.show_cursor().unwrap();
        }
        if places_it {
            session.terminal.set_cursor_position((9, 1)).unwrap();
        }
        session.take();
        session.emulator.process(b"END");
        let expected = match places_it {
            true => ["abcdefghiE", "ND"],
            false => ["abcdefghij", "END"],
        };
        assert_eq!(session.rows()[1..3], expected, "{shows_cursor}");
    }
}
