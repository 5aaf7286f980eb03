//! Four terminal emulators, written by four teams, behind one interface.

use std::num::NonZeroU16;
use std::sync::Arc;

use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi;
use ratatui::style::{Color, Modifier};

/// How a cell looks, as far as an emulator can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Empty for the later columns of a wide symbol.
    pub text: String,
    pub fg: Color,
    pub bg: Color,
    pub modifier: Modifier,
}

pub trait Emulator {
    fn name(&self) -> &'static str;
    /// The modifiers it keeps track of.
    fn modifiers(&self) -> Modifier;
    fn feed(&mut self, bytes: &[u8]);
    fn resize(&mut self, width: u16, height: u16);
    fn look(&mut self, x: u16, y: u16) -> Look;
    fn cursor(&mut self) -> (u16, u16);
    /// Whether the cursor shows, if it can tell.
    fn cursor_visible(&mut self) -> Option<bool>;
}

pub fn all(width: u16, height: u16) -> Vec<Box<dyn Emulator>> {
    vec![
        Box::new(Alacritty::new(width, height)),
        Box::new(Avt::new(width, height)),
        Box::new(Vt100::new(width, height)),
        Box::new(Wezterm::new(width, height)),
    ]
}

const fn flag(set: bool, modifier: Modifier) -> Modifier {
    if set { modifier } else { Modifier::empty() }
}

pub struct Alacritty {
    term: alacritty_terminal::Term<alacritty_terminal::event::VoidListener>,
    parser: ansi::Processor<Immediate>,
    size: AlacrittySize,
}

/// Synchronized updates without a clock: the emulator applies one when it ends.
#[derive(Default)]
struct Immediate(bool);

impl ansi::Timeout for Immediate {
    fn set_timeout(&mut self, _: std::time::Duration) {
        self.0 = true;
    }
    fn clear_timeout(&mut self) {
        self.0 = false;
    }
    fn pending_timeout(&self) -> bool {
        self.0
    }
}

#[derive(Clone, Copy)]
struct AlacrittySize(u16, u16);

impl Dimensions for AlacrittySize {
    fn total_lines(&self) -> usize {
        self.1.into()
    }
    fn screen_lines(&self) -> usize {
        self.1.into()
    }
    fn columns(&self) -> usize {
        self.0.into()
    }
}

impl Alacritty {
    fn new(width: u16, height: u16) -> Self {
        Self::with_history(width, height, 0)
    }

    pub fn with_history(width: u16, height: u16, scrolling_history: usize) -> Self {
        let size = AlacrittySize(width, height);
        let config = alacritty_terminal::term::Config {
            scrolling_history,
            ..Default::default()
        };
        let listener = alacritty_terminal::event::VoidListener;
        Self {
            term: alacritty_terminal::Term::new(config, &size, listener),
            parser: ansi::Processor::new(),
            size,
        }
    }
}

impl Alacritty {
    pub const fn term(&self) -> &alacritty_terminal::Term<alacritty_terminal::event::VoidListener> {
        &self.term
    }
}

fn alacritty_color(color: ansi::Color) -> Color {
    match color {
        ansi::Color::Named(ansi::NamedColor::Foreground | ansi::NamedColor::Background) => {
            Color::Reset
        }
        ansi::Color::Named(named) => Color::Indexed(named as u8),
        ansi::Color::Indexed(index) => Color::Indexed(index),
        ansi::Color::Spec(rgb) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

impl Emulator for Alacritty {
    fn name(&self) -> &'static str {
        "alacritty_terminal"
    }

    fn modifiers(&self) -> Modifier {
        Modifier::all() - Modifier::SLOW_BLINK - Modifier::RAPID_BLINK
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.size = AlacrittySize(width, height);
        self.term.resize(self.size);
    }

    fn look(&mut self, x: u16, y: u16) -> Look {
        let cell = &self.term.grid()[Line(y.into())][Column(x.into())];
        let spacer = cell.flags.contains(Flags::WIDE_CHAR_SPACER);
        let mut text = if spacer {
            String::new()
        } else {
            String::from(cell.c)
        };
        text.extend(cell.zerowidth().into_iter().flatten());
        let has = |flags| cell.flags.contains(flags);
        Look {
            text,
            fg: alacritty_color(cell.fg),
            bg: alacritty_color(cell.bg),
            modifier: flag(has(Flags::BOLD), Modifier::BOLD)
                | flag(has(Flags::DIM), Modifier::DIM)
                | flag(has(Flags::ITALIC), Modifier::ITALIC)
                | flag(has(Flags::UNDERLINE), Modifier::UNDERLINED)
                | flag(has(Flags::INVERSE), Modifier::REVERSED)
                | flag(has(Flags::HIDDEN), Modifier::HIDDEN)
                | flag(has(Flags::STRIKEOUT), Modifier::CROSSED_OUT),
        }
    }

    fn cursor(&mut self) -> (u16, u16) {
        let point = self.term.grid().cursor.point;
        (point.column.0 as u16, point.line.0 as u16)
    }

    fn cursor_visible(&mut self) -> Option<bool> {
        Some(
            self.term
                .mode()
                .contains(alacritty_terminal::term::TermMode::SHOW_CURSOR),
        )
    }
}

struct Avt(avt::Terminal);

impl Avt {
    fn new(width: u16, height: u16) -> Self {
        Self(avt::Terminal::new(width.into(), height.into()).expect("not empty"))
    }
}

fn avt_color(color: Option<avt::Color>) -> Color {
    match color {
        None => Color::Reset,
        Some(avt::Color::Indexed(index)) => Color::Indexed(index),
        Some(avt::Color::RGB(rgb)) => Color::Rgb(rgb.r, rgb.g, rgb.b),
    }
}

impl Emulator for Avt {
    fn name(&self) -> &'static str {
        "avt"
    }

    fn modifiers(&self) -> Modifier {
        Modifier::all() - Modifier::HIDDEN - Modifier::RAPID_BLINK - Modifier::SLOW_BLINK
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0
            .feed(std::str::from_utf8(bytes).expect("whole characters"));
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.0.resize(width.into(), height.into());
    }

    fn look(&mut self, x: u16, y: u16) -> Look {
        let screen = self.0.screen();
        let cell = &screen.line(y.into()).expect("in range").cells()[usize::from(x)];
        let pen = cell.pen();
        Look {
            text: if cell.width() == 0 {
                String::new()
            } else {
                cell.char().into()
            },
            fg: avt_color(pen.foreground()),
            bg: avt_color(pen.background()),
            modifier: flag(pen.is_bold(), Modifier::BOLD)
                | flag(pen.is_faint(), Modifier::DIM)
                | flag(pen.is_italic(), Modifier::ITALIC)
                | flag(pen.is_underline(), Modifier::UNDERLINED)
                | flag(pen.is_inverse(), Modifier::REVERSED)
                | flag(pen.is_strikethrough(), Modifier::CROSSED_OUT),
        }
    }

    fn cursor(&mut self) -> (u16, u16) {
        let position = self.0.cursor_position();
        (position.col as u16, position.row as u16)
    }

    fn cursor_visible(&mut self) -> Option<bool> {
        Some(self.0.cursor().position().is_some())
    }
}

struct Vt100(vt100::Parser);

fn non_zero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("not empty")
}

impl Vt100 {
    fn new(width: u16, height: u16) -> Self {
        Self(vt100::Parser::new(non_zero(height), non_zero(width), 0))
    }
}

fn vt100_color(color: vt100::Color) -> Color {
    match color {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

impl Emulator for Vt100 {
    fn name(&self) -> &'static str {
        "vt100"
    }

    fn modifiers(&self) -> Modifier {
        Modifier::BOLD
            | Modifier::DIM
            | Modifier::ITALIC
            | Modifier::UNDERLINED
            | Modifier::REVERSED
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.process(bytes);
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.0.set_size(non_zero(height), non_zero(width));
    }

    fn look(&mut self, x: u16, y: u16) -> Look {
        let cell = self.0.screen().cell(y, x).expect("in range");
        let text = match cell.contents() {
            "" if !cell.is_wide_continuation() => " ",
            text => text,
        };
        Look {
            text: text.into(),
            fg: vt100_color(cell.fgcolor()),
            bg: vt100_color(cell.bgcolor()),
            modifier: flag(cell.bold(), Modifier::BOLD)
                | flag(cell.dim(), Modifier::DIM)
                | flag(cell.italic(), Modifier::ITALIC)
                | flag(cell.underline(), Modifier::UNDERLINED)
                | flag(cell.inverse(), Modifier::REVERSED),
        }
    }

    fn cursor(&mut self) -> (u16, u16) {
        let (row, column) = self.0.screen().cursor_position();
        (column, row)
    }

    fn cursor_visible(&mut self) -> Option<bool> {
        Some(!self.0.screen().hide_cursor())
    }
}

pub struct Wezterm(tattoy_wezterm_term::Terminal);

#[derive(Debug)]
struct WeztermConfig {
    history: usize,
}

impl tattoy_wezterm_term::TerminalConfiguration for WeztermConfig {
    fn scrollback_size(&self) -> usize {
        self.history
    }
    fn color_palette(&self) -> tattoy_wezterm_term::color::ColorPalette {
        Default::default()
    }
}

fn wezterm_size(width: u16, height: u16) -> tattoy_wezterm_term::TerminalSize {
    tattoy_wezterm_term::TerminalSize {
        rows: height.into(),
        cols: width.into(),
        pixel_width: usize::from(width) * 8,
        pixel_height: usize::from(height) * 16,
        dpi: 0,
    }
}

impl Wezterm {
    fn new(width: u16, height: u16) -> Self {
        Self::with_history(width, height, 0)
    }

    pub fn with_history(width: u16, height: u16, history: usize) -> Self {
        Self(tattoy_wezterm_term::Terminal::new(
            wezterm_size(width, height),
            Arc::new(WeztermConfig { history }),
            "test",
            "0",
            Box::new(std::io::sink()),
        ))
    }

    pub fn width(&self) -> usize {
        self.0.screen().physical_cols
    }

    /// The text of all rows, and whether each goes on in the next.
    pub fn rows(&self) -> Vec<(String, bool)> {
        let screen = self.0.screen();
        let lines = screen.lines_in_phys_range(0..screen.scrollback_rows());
        let row = |line: &tattoy_wezterm_term::Line| {
            (line.as_str().into_owned(), line.last_cell_was_wrapped())
        };
        lines.iter().map(row).collect()
    }
}

fn wezterm_color(color: tattoy_wezterm_term::color::ColorAttribute) -> Color {
    use tattoy_wezterm_term::color::ColorAttribute as Theirs;
    match color {
        Theirs::Default => Color::Reset,
        Theirs::PaletteIndex(index) => Color::Indexed(index),
        Theirs::TrueColorWithDefaultFallback(color)
        | Theirs::TrueColorWithPaletteFallback(color, _) => {
            let (red, green, blue, _) = color.to_srgb_u8();
            Color::Rgb(red, green, blue)
        }
    }
}

impl Emulator for Wezterm {
    fn name(&self) -> &'static str {
        "tattoy-wezterm-term"
    }

    fn modifiers(&self) -> Modifier {
        // Bold and dim are one setting there, as are the two speeds of blinking.
        Modifier::all() - Modifier::SLOW_BLINK - Modifier::RAPID_BLINK
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.advance_bytes(bytes);
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.0.resize(wezterm_size(width, height));
    }

    fn look(&mut self, x: u16, y: u16) -> Look {
        use tattoy_wezterm_term::{Intensity, Underline};
        let previous_is_wide = x > 0
            && self
                .0
                .screen_mut()
                .get_cell((x - 1).into(), y.into())
                .is_some_and(|c| c.width() > 1);
        let Some(cell) = self.0.screen_mut().get_cell(x.into(), y.into()) else {
            return Look {
                text: if previous_is_wide { "" } else { " " }.into(),
                fg: Color::Reset,
                bg: Color::Reset,
                modifier: Modifier::empty(),
            };
        };
        let attributes = cell.attrs();
        Look {
            text: if previous_is_wide {
                String::new()
            } else {
                cell.str().into()
            },
            fg: wezterm_color(attributes.foreground()),
            bg: wezterm_color(attributes.background()),
            modifier: flag(attributes.intensity() == Intensity::Bold, Modifier::BOLD)
                | flag(attributes.intensity() == Intensity::Half, Modifier::DIM)
                | flag(attributes.italic(), Modifier::ITALIC)
                | flag(
                    attributes.underline() != Underline::None,
                    Modifier::UNDERLINED,
                )
                | flag(attributes.reverse(), Modifier::REVERSED)
                | flag(attributes.invisible(), Modifier::HIDDEN)
                | flag(attributes.strikethrough(), Modifier::CROSSED_OUT),
        }
    }

    fn cursor(&mut self) -> (u16, u16) {
        let position = self.0.cursor_pos();
        (position.x as u16, position.y as u16)
    }

    fn cursor_visible(&mut self) -> Option<bool> {
        None
    }
}
