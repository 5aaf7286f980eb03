//! Cursor motion, styles and symbols to bytes, each the cheapest way.
//!
//! The [`Encoder`] knows the terminal's pen and cursor, as far as they can be known, and every method keeps that knowledge true.
//! The renderer knows the screen.

use super::sgr::{self, Parameters, color_price};
use crate::model::{
    Attributes, Cell, Color, ColorKind, FULL_BLOCK, LOWER_HALF, Stats, Style, UPPER_HALF,
};

/// The place of the terminal's cursor.
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
    /// Whether the pen's foreground was named in the short form of the first sixteen colours.
    short_foreground: bool,
    width: u16,
    half_blocks: bool,
}

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
            short_foreground: false,
            width: 0,
            half_blocks,
        }
    }

    pub(crate) fn set_width(&mut self, width: u16) {
        self.width = width;
    }

    /// Takes the terminal's pen and cursor to be unknown.
    pub(crate) fn forget(&mut self) {
        self.at = At::Unknown;
        self.pen = None;
    }

    /// Takes the terminal's pen to be this one.
    pub(crate) fn assume_pen(&mut self, style: Style) {
        self.pen = Some(style);
    }

    /// Whether the terminal's pen is this one.
    pub(crate) fn has_pen(&self, style: Style) -> bool {
        self.pen == Some(style)
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn decimal(&mut self, n: u16) {
        if let Ok(small) = u8::try_from(n) {
            self.out.extend_from_slice(sgr::digits(small));
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

    /// `CSI row ; column H`, without numbers that are 1.
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

    /// The bytes that [`move_to`](Self::move_to) would take within the row.
    pub(crate) fn price_ahead(&self, x: u16, y: u16) -> u32 {
        match self.at {
            At::Known(at, row) if row == y && at <= x && at < self.width => csi_len(x - at),
            _ => Self::absolute_price(x, y),
        }
    }

    /// Moves the cursor, by the cheapest of absolute and relative motions, CR, LF, VT and backspace.
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
        if let Some(lines) = y.checked_sub(from_y) {
            let right = if x == 0 { 0 } else { csi_len(x) };
            offer(1 + u32::from(lines) + right, Motion::Return { lines });
        }
        if !pending {
            let (price, across) = Across::cheapest(from_x, x);
            offer(vertical_price(from_y, y) + price, Motion::Relative(across));
        } else if y == from_y && x > 0 {
            offer(csi_len(x + 1), Motion::Relative(Across::Column));
        }
        match how {
            Motion::Absolute => self.absolute(x, y),
            Motion::Return { lines } => {
                self.out.push(b'\r');
                self.out.resize(self.out.len() + usize::from(lines), b'\n');
                if x > 0 {
                    self.csi(x, b'C');
                }
            }
            Motion::Relative(across) => {
                self.go_vertically(from_y, y);
                match across {
                    Across::Nowhere => {}
                    Across::Column => self.csi(x + 1, b'G'),
                    Across::Right(n) => self.csi(n, b'C'),
                    Across::Left(n) => self.csi(n, b'D'),
                    Across::Backspace(n) => self.out.resize(self.out.len() + usize::from(n), 8),
                }
            }
        }
    }

    /// Moves to another row, and stays in the column: LF does not where the system turns it into CR and LF.
    fn go_vertically(&mut self, from: u16, to: u16) {
        let lines = from.abs_diff(to);
        match lines {
            0 => {}
            _ if to < from => self.csi(lines, b'A'),
            1..=MOST_TABS => self
                .out
                .resize(self.out.len() + usize::from(lines), VERTICAL_TAB),
            _ => self.csi(lines, b'B'),
        }
    }

    /// The parameters that lead to a style by way of a reset.
    fn reset_to(to: Style) -> (Parameters, bool) {
        let plain = Style {
            underline: Color::DEFAULT,
            ..to
        };
        if plain == Style::default() {
            return (Parameters::plain_reset(), false);
        }
        let mut parameters = Parameters::new();
        parameters.one(0);
        let short = parameters.add_changes(Style::default(), to, false);
        (parameters, short)
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
            let pen = self.pen.unwrap_or_default();
            self.short_foreground = parameters.add_changes(pen, to, self.short_foreground);
            parameters.write(&mut self.out);
            self.pen = Some(to);
        } else {
            self.change_pen(to);
        }
    }

    fn change_pen(&mut self, to: Style) {
        let (mut chosen, mut short) = Self::reset_to(to);
        let mut underline = Color::DEFAULT;
        if let Some(pen) = self.pen {
            let mut delta = Parameters::new();
            let short_by_delta = delta.add_changes(pen, to, self.short_foreground);
            let ends_underline = pen.underline != to.underline && !to.underline.is_explicit();
            let price = delta.len() + if ends_underline { 5 } else { 0 };
            if price <= chosen.len() {
                chosen = delta;
                short = short_by_delta;
                underline = pen.underline;
            }
        }
        chosen.write(&mut self.out);
        self.short_foreground = short;
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

    /// Gives the pen the terminal's own style, if it has another.
    pub(crate) fn reset_pen(&mut self) {
        if self.pen.is_some() {
            self.set_pen(Style::default());
        }
    }

    /// Whether erasing with this pen leaves cells that look like `blank`.
    pub(crate) fn erases_to(&self, blank: Cell) -> bool {
        self.pen.is_some_and(|pen| {
            pen.bg == blank.bg && !pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK)
        })
    }

    /// The cell that the terminal leaves behind when it erases: known for the default background alone.
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

    /// The pen without attributes that show on a blank. Others may stay.
    fn without_visible(&self) -> Style {
        match self.pen {
            Some(pen) if !pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK) => pen,
            _ => Style::default(),
        }
    }

    /// Prints a cell of one `char` and moves on by `columns`. Returns the `char` that was printed.
    #[inline]
    pub(crate) fn print(&mut self, cell: Cell, c: char, columns: u16, stats: &mut Stats) -> char {
        if cell.is_two_colors()
            && let Some(mut pen) = self.picture_pen()
        {
            let c = self.print_two_colors(cell, &mut pen, stats);
            self.end_picture(pen, columns);
            return c;
        }
        let (style, c) = self.dress(cell, c, stats);
        self.set_pen(style);
        self.symbol(c);
        self.advance(columns);
        c
    }

    /// Prints a `char` as it is, with the pen as it is.
    #[inline(always)]
    pub(crate) fn symbol(&mut self, c: char) {
        match c {
            '\0'..='\x7f' => self.out.push(c as u8),
            // Lines, blocks and most else: copied as words of a fixed size.
            '\u{800}'..='\u{ffff}' => self.out.extend_from_slice(&utf8_of(c)),
            _ => self.rarer_symbol(c),
        }
    }

    #[cold]
    fn rarer_symbol(&mut self, c: char) {
        let mut utf8 = [0; 4];
        self.text(c.encode_utf8(&mut utf8));
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
            // A full block looks like a blank only if no attribute alters the foreground.
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
        if swappable && is_cheaper_swapped(pen, cell) {
            stats.exchanged_blocks += 1;
            let (fg, bg) = (cell.bg, cell.fg);
            return (Style { fg, bg, ..style }, LOWER_HALF);
        }
        (style, c)
    }

    /// The pen, if only its colours have to change for a picture.
    #[inline]
    pub(crate) fn picture_pen(&self) -> Option<Style> {
        self.pen
            .filter(|pen| pen.attributes == Attributes::NONE && !pen.underline.is_explicit())
    }

    /// Prints a `▀` of two 24-bit colours with a [`picture_pen`](Self::picture_pen). The caller keeps the pen, and hands it back by
    /// [`end_picture`](Self::end_picture).
    #[inline]
    pub(crate) fn print_two_colors(
        &mut self,
        cell: Cell,
        pen: &mut Style,
        stats: &mut Stats,
    ) -> char {
        let swapped = self.half_blocks && is_cheaper_swapped(*pen, cell);
        let (fg, bg, c) = match swapped {
            false => (cell.fg, cell.bg, UPPER_HALF),
            true => (cell.bg, cell.fg, LOWER_HALF),
        };
        stats.exchanged_blocks += u64::from(swapped);
        let new = |color: Color, old| (color != old).then(|| color.parts());
        let symbol = if swapped {
            const { utf8_of(LOWER_HALF) }
        } else {
            const { utf8_of(UPPER_HALF) }
        };
        sgr::write_picture_cell(&mut self.out, new(fg, pen.fg), new(bg, pen.bg), symbol);
        (pen.fg, pen.bg) = (fg, bg);
        c
    }

    /// Notes that so many columns have been drawn, and the pen that the last of them has left.
    pub(crate) fn end_picture(&mut self, pen: Style, columns: u16) {
        self.pen = Some(pen);
        self.advance(columns);
    }

    /// The terminal's pen, if known.
    pub(crate) fn pen(&self) -> Option<Style> {
        self.pen
    }

    /// Notes that the cursor has moved on.
    #[inline]
    pub(crate) fn advance(&mut self, columns: u16) {
        if let At::Known(x, _) = &mut self.at {
            *x += columns;
        }
    }

    /// Prints a symbol whose effect on the cursor is not known.
    pub(crate) fn print_uncertain(&mut self, text: &str, style: Style, opaque: bool) {
        self.set_pen(style);
        self.text(text);
        self.at = At::Unknown;
        if opaque {
            self.pen = None;
        }
    }
}

/// Whether a `▀` takes fewer bytes as a `▄` with its colours exchanged.
#[inline]
fn is_cheaper_swapped(pen: Style, cell: Cell) -> bool {
    // Without a colour in common both take the same.
    if pen.fg != cell.bg && pen.bg != cell.fg {
        return false;
    }
    let price = |fg: Color, bg: Color| {
        (if pen.fg == fg { 0 } else { color_price(fg) })
            + (if pen.bg == bg { 0 } else { color_price(bg) })
    };
    price(cell.bg, cell.fg) < price(cell.fg, cell.bg)
}

/// The UTF-8 of a symbol that has three bytes.
const fn utf8_of(symbol: char) -> [u8; 3] {
    let bits = symbol as u32;
    debug_assert!(symbol.len_utf8() == 3);
    [
        0xe0 | (bits >> 12) as u8,
        0x80 | (bits >> 6 & 0x3f) as u8,
        0x80 | (bits & 0x3f) as u8,
    ]
}

/// VT, which terminals take for a line feed.
const VERTICAL_TAB: u8 = 0x0b;
/// More rows down take fewer bytes by a sequence.
const MOST_TABS: u16 = 4;

/// The bytes that moving to another row takes, if the cursor stays in its column.
fn vertical_price(from: u16, to: u16) -> u32 {
    let lines = from.abs_diff(to);
    match lines {
        0..=MOST_TABS if to >= from => lines.into(),
        _ => csi_len(lines),
    }
}

#[derive(Clone, Copy)]
enum Motion {
    Absolute,
    Return {
        lines: u16,
    },
    /// To another row, if need be, and then within it.
    Relative(Across),
}

/// A motion within a row.
#[derive(Clone, Copy)]
enum Across {
    Nowhere,
    Column,
    Right(u16),
    Left(u16),
    Backspace(u16),
}

impl Across {
    /// The cheapest from one column to another, and its bytes.
    fn cheapest(from: u16, to: u16) -> (u32, Self) {
        let column = (csi_len(to + 1), Self::Column);
        let relative = match from.abs_diff(to) {
            0 => (0, Self::Nowhere),
            n if to > from => (csi_len(n), Self::Right(n)),
            n if u32::from(n) <= csi_len(n) => (n.into(), Self::Backspace(n)),
            n => (csi_len(n), Self::Left(n)),
        };
        if column.0 < relative.0 {
            column
        } else {
            relative
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pen_sequence(encoder: &mut Encoder, fg: u8, attributes: Attributes) -> String {
        encoder.out.clear();
        encoder.set_pen(Style {
            fg: Color::indexed(fg),
            attributes,
            ..Style::default()
        });
        String::from_utf8_lossy(&encoder.out).into_owned()
    }

    #[test]
    fn a_symbol_is_written_as_the_standard_library_encodes_it() {
        let mut encoder = Encoder::new(false);
        for c in '\0'..=char::MAX {
            encoder.out.clear();
            encoder.symbol(c);
            assert_eq!(encoder.out, c.to_string().as_bytes(), "{c:?}");
        }
    }

    #[test]
    fn bold_and_dim_text_names_its_colour_by_index_as_crossterm_does() {
        let (plain, bold, dim) = (Attributes::NONE, Attributes::BOLD, Attributes::DIM);
        let mut encoder = Encoder::new(false);
        assert_eq!(pen_sequence(&mut encoder, 1, plain), "\x1b[0;31m");
        // The colour is the same, but its name is not.
        assert_eq!(pen_sequence(&mut encoder, 1, bold), "\x1b[1;38;5;1m");
        assert_eq!(pen_sequence(&mut encoder, 9, dim), "\x1b[0;2;38;5;9m");
        // A name that is right for bold text is right for any.
        assert_eq!(pen_sequence(&mut encoder, 9, plain), "\x1b[22m");
        assert_eq!(pen_sequence(&mut encoder, 9, bold), "\x1b[1m");
        assert_eq!(pen_sequence(&mut encoder, 2, plain), "\x1b[0;32m");
        assert_eq!(pen_sequence(&mut encoder, 200, bold), "\x1b[1;38;5;200m");
    }
}
