//! Cursor motion, styles and symbols to bytes, each the cheapest way.
//!
//! The [`Encoder`] knows what the terminal's pen and cursor are like, as far as anybody can, and every
//! method leaves that knowledge true. It does not know what is on the screen: that is the renderer's.

use crate::screen::{
    Attributes, Cell, Color, ColorKind, FULL_BLOCK, LOWER_HALF, Style, UPPER_HALF,
};
use crate::stats::Stats;

/// Where the terminal's cursor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    Unknown,
    /// Column and row. A column equal to the width means that the last column was printed and the wrap
    /// is pending; only carriage return and absolute motion are sure from there.
    Known(u16, u16),
}

#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) out: Vec<u8>,
    pub(crate) at: At,
    pen: Option<Style>,
    width: u16,
    half_blocks: bool,
}

/// Decimal digits and their number, for 0 to 255.
static DECIMAL: [[u8; 4]; 256] = decimal_table();

const fn decimal_table() -> [[u8; 4]; 256] {
    let mut table = [[0; 4]; 256];
    let mut n = 0;
    while n < 256 {
        let (hundreds, tens, ones) = (n / 100, n / 10 % 10, n % 10);
        let mut len = 0;
        if n >= 100 {
            table[n][len] = b'0' + hundreds as u8;
            len += 1;
        }
        if n >= 10 {
            table[n][len] = b'0' + tens as u8;
            len += 1;
        }
        table[n][len] = b'0' + ones as u8;
        table[n][3] = len as u8 + 1;
        n += 1;
    }
    table
}

/// A sequence under construction, on the stack: the longest (every attribute, two colours) has 58 bytes.
struct Short {
    bytes: [u8; 96],
    len: usize,
}

impl Short {
    #[inline]
    fn new() -> Self {
        Self {
            bytes: [0; 96],
            len: 0,
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// A number and a semicolon.
    #[inline]
    fn parameter(&mut self, n: u8) {
        let digits = DECIMAL[usize::from(n)];
        // All four bytes at once; what is past the digits is overwritten next.
        self.bytes[self.len..self.len + 4].copy_from_slice(&digits);
        self.len += usize::from(digits[3]);
        self.byte(b';');
    }
}

/// SGR parameters: at most 16 in one sequence, since some terminals ignore the rest.
struct Parameters {
    short: Short,
    count: u8,
}

const MAX_PARAMETERS: u8 = 16;

impl Parameters {
    #[inline]
    fn new() -> Self {
        Self {
            short: Short::new(),
            count: 0,
        }
    }

    /// Makes room for a group of parameters that belong together.
    #[inline]
    fn group(&mut self, size: u8) {
        if self.count == 0 {
            self.short.text(b"\x1b[");
        } else if self.count + size > MAX_PARAMETERS {
            self.close();
            self.short.text(b"\x1b[");
            self.count = 0;
        }
        self.count += size;
    }

    #[inline]
    fn one(&mut self, n: u8) {
        self.group(1);
        self.short.parameter(n);
    }

    /// `base` is 30 for the foreground, 40 for the background.
    #[inline]
    fn color(&mut self, color: Color, base: u8) {
        match color.kind() {
            ColorKind::Default => self.one(base + 9),
            ColorKind::Indexed(n @ 0..=7) => self.one(base + n),
            ColorKind::Indexed(n @ 8..=15) => self.one(base + 60 + n - 8),
            ColorKind::Indexed(n) => {
                self.group(3);
                self.short
                    .text(if base == 30 { b"38;5;" } else { b"48;5;" });
                self.short.parameter(n);
            }
            ColorKind::Rgb(red, green, blue) => {
                self.group(5);
                self.short
                    .text(if base == 30 { b"38;2;" } else { b"48;2;" });
                self.short.parameter(red);
                self.short.parameter(green);
                self.short.parameter(blue);
            }
        }
    }

    /// Turns the last semicolon into the end of the sequence.
    #[inline]
    fn close(&mut self) {
        self.short.bytes[self.short.len - 1] = b'm';
    }
}

/// How many bytes the parameter of a colour takes, with its semicolon.
#[inline]
pub(crate) fn color_price(color: Color) -> u32 {
    match color.kind() {
        ColorKind::Default | ColorKind::Indexed(0..=7) => 3,
        ColorKind::Indexed(8..=9) => 3,
        ColorKind::Indexed(n) => 6 + u32::from(n > 99) + 1,
        ColorKind::Rgb(r, g, b) => {
            let digits = |n: u8| u32::from(DECIMAL[usize::from(n)][3]);
            8 + digits(r) + digits(g) + digits(b)
        }
    }
}

/// An attribute and the SGR code that begins it.
type Begin = (Attributes, u8);

/// The attributes that one SGR code ends together.
const FAMILIES: [(u8, Attributes, &[Begin]); 7] = [
    (
        22,
        Attributes::BOLD.union(Attributes::DIM),
        &[(Attributes::BOLD, 1), (Attributes::DIM, 2)],
    ),
    (23, Attributes::ITALIC, &[(Attributes::ITALIC, 3)]),
    (24, Attributes::UNDERLINED, &[(Attributes::UNDERLINED, 4)]),
    (
        25,
        Attributes::SLOW_BLINK.union(Attributes::RAPID_BLINK),
        &[(Attributes::SLOW_BLINK, 5), (Attributes::RAPID_BLINK, 6)],
    ),
    (27, Attributes::REVERSED, &[(Attributes::REVERSED, 7)]),
    (28, Attributes::HIDDEN, &[(Attributes::HIDDEN, 8)]),
    (29, Attributes::CROSSED_OUT, &[(Attributes::CROSSED_OUT, 9)]),
];

fn decimal_len(n: u16) -> u32 {
    n.checked_ilog10().unwrap_or(0) + 1
}

/// The length of a CSI sequence with one parameter, 1 being left out.
fn csi_len(n: u16) -> u32 {
    if n == 1 { 3 } else { 3 + decimal_len(n) }
}

impl Encoder {
    pub(crate) fn new(half_blocks: bool) -> Self {
        Self {
            out: Vec::new(),
            at: At::Unknown,
            pen: None,
            width: 0,
            half_blocks,
        }
    }

    pub(crate) fn set_width(&mut self, width: u16) {
        self.width = width;
    }

    /// Assumes nothing of the terminal's pen and cursor any more.
    pub(crate) fn forget(&mut self) {
        self.at = At::Unknown;
        self.pen = None;
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn decimal(&mut self, n: u16) {
        if let Ok(small) = u8::try_from(n) {
            let digits = DECIMAL[usize::from(small)];
            self.out
                .extend_from_slice(&digits[..usize::from(digits[3])]);
        } else {
            self.decimal(n / 100);
            self.out
                .extend_from_slice(&[b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8]);
        }
    }

    /// `CSI n final`, without the number if it is 1.
    pub(crate) fn csi(&mut self, n: u16, last: u8) {
        self.text("\x1b[");
        if n != 1 {
            self.decimal(n);
        }
        self.out.push(last);
    }

    /// `CSI row ; column H`, leaving out what is 1.
    fn absolute(&mut self, x: u16, y: u16) {
        self.text("\x1b[");
        if y > 0 {
            self.decimal(y + 1);
        }
        if x > 0 {
            self.out.push(b';');
            self.decimal(x + 1);
        }
        self.out.push(b'H');
    }

    fn absolute_price(x: u16, y: u16) -> u32 {
        let row = if y > 0 { decimal_len(y + 1) } else { 0 };
        let column = if x > 0 { 1 + decimal_len(x + 1) } else { 0 };
        3 + row + column
    }

    /// What [`move_to`](Self::move_to) would cost within the row, in bytes.
    pub(crate) fn price_ahead(&self, x: u16, y: u16) -> u32 {
        match self.at {
            At::Known(at, row) if row == y && at <= x && at < self.width => csi_len(x - at),
            _ => Self::absolute_price(x, y),
        }
    }

    /// Moves the cursor, by the cheapest of absolute and relative motions, CR, LF and backspace.
    pub(crate) fn move_to(&mut self, x: u16, y: u16) {
        let At::Known(from_x, from_y) = self.at else {
            self.absolute(x, y);
            self.at = At::Known(x, y);
            return;
        };
        if (from_x, from_y) == (x, y) && x < self.width {
            return;
        }
        self.at = At::Known(x, y);
        let pending = from_x >= self.width;
        let mut best = Self::absolute_price(x, y);
        let mut how = Motion::Absolute;
        let mut offer = |price: u32, motion: Motion| {
            if price < best {
                (best, how) = (price, motion);
            }
        };
        let right = if x == 0 { 0 } else { csi_len(x) };
        if from_y == y {
            offer(1 + right, Motion::Return { lines: 0 });
            if x > 0 {
                offer(csi_len(x + 1), Motion::Column);
            }
            if !pending && x > from_x {
                offer(csi_len(x - from_x), Motion::Right(x - from_x));
            } else if !pending {
                offer(u32::from(from_x - x), Motion::Backspace(from_x - x));
                offer(csi_len(from_x - x), Motion::Left(from_x - x));
            }
        } else if y > from_y {
            let lines = y - from_y;
            offer(1 + u32::from(lines) + right, Motion::Return { lines });
            if !pending && x == from_x {
                offer(csi_len(lines), Motion::Down(lines));
            }
        } else if !pending && x == from_x {
            offer(csi_len(from_y - y), Motion::Up(from_y - y));
        }
        match how {
            Motion::Absolute => self.absolute(x, y),
            Motion::Column => self.csi(x + 1, b'G'),
            Motion::Right(n) => self.csi(n, b'C'),
            Motion::Left(n) => self.csi(n, b'D'),
            Motion::Up(n) => self.csi(n, b'A'),
            Motion::Down(n) => self.csi(n, b'B'),
            Motion::Backspace(n) => self.out.resize(self.out.len() + usize::from(n), 8),
            Motion::Return { lines } => {
                self.out.push(b'\r');
                self.out.resize(self.out.len() + usize::from(lines), b'\n');
                if x > 0 {
                    self.csi(x, b'C');
                }
            }
        }
    }

    /// Adds the parameters that lead from one style to another.
    fn add_changes(parameters: &mut Parameters, from: Style, to: Style) {
        if from.attributes != to.attributes {
            let gone = from.attributes.difference(to.attributes);
            for (end, family, members) in FAMILIES {
                let mut has = from.attributes;
                if gone.intersects(family) {
                    parameters.one(end);
                    has = has.difference(family);
                }
                for &(attribute, code) in members {
                    if to.attributes.intersects(attribute) && !has.intersects(attribute) {
                        parameters.one(code);
                    }
                }
            }
        }
        if from.fg != to.fg {
            parameters.color(to.fg, 30);
        }
        if from.bg != to.bg {
            parameters.color(to.bg, 40);
        }
    }

    /// The parameters that lead to a style by way of a reset.
    fn reset_to(to: Style) -> Parameters {
        let mut parameters = Parameters::new();
        let plain = Style {
            underline: Color::DEFAULT,
            ..to
        };
        if plain == Style::default() {
            parameters.short.text(b"\x1b[;");
            parameters.count = 1;
        } else {
            parameters.one(0);
            Self::add_changes(&mut parameters, Style::default(), to);
        }
        parameters
    }

    /// Makes the pen write in this style.
    #[inline]
    pub(crate) fn set_pen(&mut self, to: Style) {
        if self.pen == Some(to) {
            return;
        }
        let colors_only = self
            .pen
            .is_some_and(|pen| pen.attributes == to.attributes && pen.underline == to.underline);
        if colors_only && to.fg.is_explicit() & to.bg.is_explicit() {
            let mut parameters = Parameters::new();
            Self::add_changes(&mut parameters, self.pen.unwrap_or_default(), to);
            parameters.close();
            self.out
                .extend_from_slice(&parameters.short.bytes[..parameters.short.len]);
            self.pen = Some(to);
        } else {
            self.change_pen(to);
        }
    }

    fn change_pen(&mut self, to: Style) {
        let mut chosen = Self::reset_to(to);
        let mut underline = Color::DEFAULT;
        if let Some(pen) = self.pen {
            let mut delta = Parameters::new();
            Self::add_changes(&mut delta, pen, to);
            let ends_underline = pen.underline != to.underline && !to.underline.is_explicit();
            let price = delta.short.len + if ends_underline { 5 } else { 0 };
            if price <= chosen.short.len {
                chosen = delta;
                underline = pen.underline;
            }
        }
        if chosen.count > 0 {
            chosen.close();
            self.out
                .extend_from_slice(&chosen.short.bytes[..chosen.short.len]);
        }
        if underline != to.underline {
            // A sequence of its own, with colons: a terminal that does not know it ignores only this.
            match to.underline.kind() {
                ColorKind::Default => self.text("\x1b[59m"),
                ColorKind::Indexed(n) => {
                    self.text("\x1b[58:5:");
                    self.decimal(n.into());
                    self.text("m");
                }
                ColorKind::Rgb(red, green, blue) => {
                    self.text("\x1b[58:2:");
                    for part in [red, green, blue] {
                        self.text(":");
                        self.decimal(part.into());
                    }
                    self.text("m");
                }
            }
        }
        self.pen = Some(to);
    }

    /// Whether erasing with this pen leaves cells that look like `blank`.
    pub(crate) fn erases_to(&self, blank: Cell) -> bool {
        self.pen.is_some_and(|pen| {
            pen.bg == blank.bg && !pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK)
        })
    }

    /// What the terminal leaves behind when it erases: known only if it is the default background.
    pub(crate) fn erased(&self) -> Cell {
        if self.erases_to(Cell::BLANK) {
            Cell::BLANK
        } else {
            Cell::UNKNOWN
        }
    }

    /// Readies the pen for erasing to a background.
    pub(crate) fn set_erasing_pen(&mut self, bg: Color) {
        if !self.erases_to(Cell::blank_on(bg)) {
            self.set_pen(Style {
                bg,
                ..self.without_visible()
            });
        }
    }

    /// The pen without what would show on a blank; other attributes may stay.
    fn without_visible(&self) -> Style {
        match self.pen {
            Some(pen) if !pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK) => pen,
            _ => Style::default(),
        }
    }

    /// Prints a cell of one `char` and moves on by `columns`.
    #[inline]
    pub(crate) fn print(&mut self, cell: Cell, c: char, columns: u16, stats: &mut Stats) -> char {
        let (style, c) = self.dress(cell, c, stats);
        self.set_pen(style);
        self.symbol(c);
        self.advance(columns);
        c
    }

    /// Prints a `char` as it is, with the pen as it is.
    #[inline]
    pub(crate) fn symbol(&mut self, c: char) {
        if c.is_ascii() {
            self.out.push(c as u8);
        } else {
            let mut utf8 = [0; 4];
            self.out
                .extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        }
    }

    /// The style and symbol that draw a cell most cheaply, given the pen.
    #[inline]
    fn dress(&self, cell: Cell, c: char, stats: &mut Stats) -> (Style, char) {
        let style = cell.style();
        let Some(pen) = self.pen else {
            return (style, c);
        };
        if cell.is_blank() {
            if pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK) {
                return (style, c);
            }
            // A full block looks like a blank only if nothing alters the foreground.
            let fills = self.half_blocks && pen.fg == cell.bg && cell.bg.is_explicit();
            if fills && pen.bg != cell.bg && pen.attributes == Attributes::NONE {
                stats.exchanged_blocks += 1;
                return (pen, FULL_BLOCK);
            }
            return (Style { bg: cell.bg, ..pen }, c);
        }
        let swappable = self.half_blocks
            && c == UPPER_HALF
            && style.attributes == Attributes::NONE
            && cell.fg.is_explicit()
            && cell.bg.is_explicit();
        if swappable && (pen.fg != cell.fg || pen.bg != cell.bg) {
            let price = |fg: Color, bg: Color| {
                (if pen.fg == fg { 0 } else { color_price(fg) })
                    + (if pen.bg == bg { 0 } else { color_price(bg) })
            };
            if price(cell.bg, cell.fg) < price(cell.fg, cell.bg) {
                stats.exchanged_blocks += 1;
                return (
                    Style {
                        fg: cell.bg,
                        bg: cell.fg,
                        ..style
                    },
                    LOWER_HALF,
                );
            }
        }
        (style, c)
    }

    /// The pen as it is, if known.
    pub(crate) fn pen(&self) -> Option<Style> {
        self.pen
    }

    #[inline]
    pub(crate) fn advance(&mut self, columns: u16) {
        if let At::Known(x, _) = &mut self.at {
            *x += columns;
        }
    }

    /// Prints a symbol whose effect on the cursor nobody can tell.
    pub(crate) fn print_uncertain(&mut self, text: &str, style: Style, opaque: bool) {
        self.set_pen(style);
        self.text(text);
        self.at = At::Unknown;
        if opaque {
            self.pen = None;
        }
    }
}

#[derive(Clone, Copy)]
enum Motion {
    Absolute,
    Column,
    Right(u16),
    Left(u16),
    Up(u16),
    Down(u16),
    Backspace(u16),
    Return { lines: u16 },
}
