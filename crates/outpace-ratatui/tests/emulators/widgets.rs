//! ratatui's own widgets look the same, drawn through crossterm's backend and through this one.

use outpace_ratatui::{Capabilities, Options, OutpaceBackend};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Constraint, Layout, Rect, Size};
use ratatui::style::{Color, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Bar, BarChart, BarGroup, Block, BorderType, Chart, Dataset, Gauge, LineGauge, List,
    Paragraph, Row, Scrollbar, ScrollbarOrientation, ScrollbarState, Sparkline, Table, Tabs, Wrap,
};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use crate::emulator;
use crate::frames::normal;
use crate::wire::Wire;

pub const SIZE: Size = Size {
    width: 100,
    height: 40,
};

pub fn draw(frame: &mut Frame, tick: u64) {
    let rows = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(8),
        Constraint::Min(8),
    ])
    .split(frame.area());
    let tabs = Tabs::new(["one", "two", "three"])
        .select(Some(tick as usize % 3))
        .block(
            Block::bordered()
                .border_type(BorderType::Rounded)
                .title("tabs"),
        );
    frame.render_widget(tabs, rows[0]);
    let columns = Layout::horizontal([Constraint::Fill(1); 3]).split(rows[1]);
    let [gauge, line] = Layout::vertical([Constraint::Fill(1); 2]).areas(columns[0]);
    let ratio = tick as f64 / 30.0 % 1.0;
    let style = Style::new().green().on_black();
    frame.render_widget(
        Gauge::default()
            .ratio(ratio)
            .gauge_style(style)
            .use_unicode(true),
        gauge,
    );
    frame.render_widget(
        LineGauge::default().ratio(ratio).filled_style(style.bold()),
        line,
    );
    let data: Vec<u64> = (0..60).map(|x| (x * 7 + tick * 3) % 23).collect();
    frame.render_widget(Sparkline::default().data(&data).red(), columns[1]);
    let bars: Vec<Bar> = (0..6)
        .map(|n| Bar::new((n * 5 + tick) % 17).label(Line::from(format!("b{n}"))))
        .collect();
    let chart = BarChart::default()
        .data(BarGroup::default().bars(&bars))
        .bar_width(4);
    frame.render_widget(chart, columns[2]);
    let columns = Layout::horizontal([Constraint::Fill(1); 3]).split(rows[2]);
    let items = (0..30).map(|n| format!("item {} 日本語", n + tick / 3));
    let list = List::new(items).block(Block::bordered().title("list".bold()));
    frame.render_widget(list, columns[0]);
    let mut state = ScrollbarState::new(100).position(tick as usize % 100);
    let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight);
    frame.render_stateful_widget(bar, columns[0], &mut state);
    let [upper, lower] = Layout::vertical([Constraint::Fill(1); 2]).areas(columns[1]);
    chart_of(frame, upper, tick);
    let words = "the quick brown fox jumps over the lazy dog ".repeat(6);
    let shift = tick as usize % 20;
    let text = Line::from(vec![
        Span::raw(&words[shift..]),
        "end".italic().underlined(),
    ]);
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), lower);
    let lines = (0..20).map(|n| {
        let bg = Color::Indexed(if n % 2 == 0 { 236 } else { 238 });
        Row::new([
            format!("row {n}"),
            format!("{}", (n * 37 + tick * 11) % 1000),
        ])
        .style(Style::new().bg(bg))
    });
    let table = Table::new(lines, [Constraint::Length(10), Constraint::Fill(1)])
        .header(Row::new(["name", "value"]).reversed());
    frame.render_widget(table, columns[2]);
}

fn chart_of(frame: &mut Frame, area: Rect, tick: u64) {
    let points: Vec<(f64, f64)> = (0..100)
        .map(|x| f64::from(x) / 10.0)
        .map(|x| (x, (x + tick as f64 / 5.0).sin()))
        .collect();
    let data = Dataset::default()
        .marker(Marker::Braille)
        .cyan()
        .data(&points);
    let chart = Chart::new(vec![data])
        .x_axis(Axis::default().bounds([0.0, 10.0]).labels(["0", "10"]))
        .y_axis(Axis::default().bounds([-1.0, 1.0]).labels(["-1", "1"]));
    frame.render_widget(chart, area);
}

fn terminal<B: Backend>(backend: B) -> Terminal<B>
where
    B::Error: std::fmt::Debug,
{
    let viewport = Viewport::Fixed(Rect::from(((0, 0).into(), SIZE)));
    Terminal::with_options(backend, TerminalOptions { viewport }).unwrap()
}

#[test]
fn widgets_look_as_through_crossterm() {
    let (theirs, ours) = (Wire::default(), Wire::default());
    let options = Options::default().capabilities(Capabilities::full());
    let backend = OutpaceBackend::writer(ours.clone(), SIZE, options).unwrap();
    let mut our_terminal = terminal(backend);
    let mut their_terminal = terminal(CrosstermBackend::new(theirs.clone()));
    let mut our_emulators = emulator::all(SIZE.width, SIZE.height);
    let mut their_emulators = emulator::all(SIZE.width, SIZE.height);
    for tick in 0..40 {
        our_terminal.draw(|frame| draw(frame, tick)).unwrap();
        their_terminal.draw(|frame| draw(frame, tick)).unwrap();
        let our_bytes = ours.take();
        let their_bytes = theirs.take();
        for (ours, theirs) in our_emulators.iter_mut().zip(&mut their_emulators) {
            ours.feed(&our_bytes);
            theirs.feed(&their_bytes);
            for (x, y) in (0..SIZE.height).flat_map(|y| (0..SIZE.width).map(move |x| (x, y))) {
                let modifiers = ours.modifiers();
                let (our_look, their_look) = (ours.look(x, y), theirs.look(x, y));
                if our_look.text.is_empty() && their_look.text.is_empty() {
                    continue;
                }
                assert_eq!(
                    normal(our_look, modifiers),
                    normal(their_look, modifiers),
                    "{}, frame {tick}, column {x}, row {y}",
                    ours.name()
                );
            }
        }
    }
}

#[test]
fn a_warning_between_frames_misplaces_nothing_that_is_drawn_after_it() {
    let wire = Wire::default();
    let size = Size::new(40, 6);
    let options = Options::default().capabilities(Capabilities::full());
    let backend = OutpaceBackend::writer(wire.clone(), size, options).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    let mut emulators = emulator::all(size.width, size.height);
    for number in 0..20 {
        terminal
            .draw(|frame| {
                let lines: Vec<Line> = (0..6)
                    .map(|y| Line::from(format!("row {y}: {number}")))
                    .collect();
                frame.render_widget(Paragraph::new(lines), frame.area());
            })
            .unwrap();
        let bytes = wire.take();
        for emulator in &mut emulators {
            emulator.feed(&bytes);
            for y in 0..6 {
                let row: String = (0..30).map(|x| emulator.look(x, y).text).collect();
                let wanted = format!("row {y}: {number}");
                assert_eq!(
                    row.trim_end(),
                    wanted,
                    "{}, frame {number}",
                    emulator.name()
                );
            }
            assert_ne!(emulator.cursor_visible(), Some(true), "{}", emulator.name());
            // As `eprintln!`, crossterm's `MoveTo` and `Show` do; the text lies outside of all widgets.
            emulator.feed(b"\x1b[2;32H\x1b[?25h\x1b[33mwarn\x1b[0m\r\n");
        }
    }
}

#[test]
fn a_symbol_that_terminals_may_not_draw_leaves_no_letter_behind() {
    let wire = Wire::default();
    let size = Size::new(8, 1);
    let options = Options::default().capabilities(Capabilities::full());
    let backend = OutpaceBackend::writer(wire.clone(), size, options).unwrap();
    let mut terminal = Terminal::new(backend).unwrap();
    let mut emulators = emulator::all(size.width, size.height);
    for symbol in [
        "x", "\u{2028}", "x", "\u{2029}", "x", "\u{ad}", "x", "\u{61c}",
    ] {
        terminal
            .draw(|frame| {
                frame
                    .buffer_mut()
                    .set_string(0, 0, "abcdefgh", Style::new());
                frame.buffer_mut()[(3, 0)].set_symbol(symbol);
            })
            .unwrap();
        let bytes = wire.take();
        for emulator in &mut emulators {
            emulator.feed(&bytes);
            let row: String = (0..8).map(|x| emulator.look(x, 0).text).collect();
            assert_eq!(
                row.contains('x'),
                symbol == "x",
                "{}: {row:?}",
                emulator.name()
            );
            assert!(
                row.starts_with("abc") && row.ends_with("efgh"),
                "{}: {row:?}",
                emulator.name()
            );
        }
    }
}
