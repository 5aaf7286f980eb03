//! One position of a screen: a symbol, its colours and its attributes, in 16 bytes.

/// A colour of the foreground, the background or the underline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Color(u32);

const INDEXED: u32 = 1 << 24;
const RGB: u32 = 2 << 24;

impl Color {
    /// The terminal's default colour.
    pub const DEFAULT: Self = Self(0);

    /// A colour of the 256-colour palette. 0 to 15 are the terminal's own sixteen.
    pub const fn indexed(index: u8) -> Self {
        Self(INDEXED | index as u32)
    }

    /// A 24-bit colour.
    pub const fn rgb(red: u8, green: u8, blue: u8) -> Self {
        Self(RGB | (red as u32) << 16 | (green as u32) << 8 | blue as u32)
    }

    /// The way in which the colour is named.
    pub const fn kind(self) -> ColorKind {
        let [blue, green, red, tag] = self.0.to_le_bytes();
        match tag {
            0 => ColorKind::Default,
            1 => ColorKind::Indexed(blue),
            _ => ColorKind::Rgb(red, green, blue),
        }
    }

    /// Red, green and blue of a 24-bit colour.
    #[inline]
    pub(crate) const fn parts(self) -> [u8; 3] {
        debug_assert!(matches!(self.kind(), ColorKind::Rgb(..)));
        let [blue, green, red, _] = self.0.to_le_bytes();
        [red, green, blue]
    }

    /// The colour as a number below 2^26.
    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Whether this colour was chosen, rather than left to the terminal. Only chosen colours can move
    /// between foreground and background.
    pub const fn is_explicit(self) -> bool {
        self.0 != 0
    }
}

/// The three ways to name a colour; see [`Color::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorKind {
    /// The terminal's default.
    Default,
    /// An entry of the 256-colour palette.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// Attributes of a cell, a set of bits. The bits are those of ratatui's `Modifier`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attributes(u16);

impl Attributes {
    /// No attribute.
    pub const NONE: Self = Self(0);
    /// Bold (SGR 1).
    pub const BOLD: Self = Self(1);
    /// Dim (SGR 2).
    pub const DIM: Self = Self(1 << 1);
    /// Italic (SGR 3).
    pub const ITALIC: Self = Self(1 << 2);
    /// Underlined (SGR 4).
    pub const UNDERLINED: Self = Self(1 << 3);
    /// Blinking slowly (SGR 5).
    pub const SLOW_BLINK: Self = Self(1 << 4);
    /// Blinking fast (SGR 6).
    pub const RAPID_BLINK: Self = Self(1 << 5);
    /// Foreground and background exchanged (SGR 7).
    pub const REVERSED: Self = Self(1 << 6);
    /// Invisible (SGR 8).
    pub const HIDDEN: Self = Self(1 << 7);
    /// Crossed out (SGR 9).
    pub const CROSSED_OUT: Self = Self(1 << 8);
    /// The attributes that show on a blank.
    pub(crate) const VISIBLE_ON_BLANK: Self =
        Self(Self::UNDERLINED.0 | Self::REVERSED.0 | Self::CROSSED_OUT.0);

    const ALL: u16 = (1 << 9) - 1;

    /// The set with these bits; others are dropped.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & Self::ALL)
    }

    /// The bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether any attribute is in both sets.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The attributes of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The attributes of both sets.
    #[must_use]
    pub(crate) const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The attributes that do not show on a blank, in 6 bits.
    const fn hidden_on_blank(self) -> u32 {
        let bits = self.0 as u32;
        bits & 0b111 | bits >> 1 & 0b1_1000 | bits >> 2 & 0b10_0000
    }

    const fn of_hidden(bits: u32) -> Self {
        Self((bits & 0b111 | (bits & 0b1_1000) << 1 | (bits & 0b10_0000) << 2) as u16)
    }

    /// The attributes of this set that are not in the other.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// Everything about a cell but its symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// The foreground.
    pub fg: Color,
    /// The background.
    pub bg: Color,
    /// The colour of the underline; default is that of the foreground.
    pub underline: Color,
    /// Bold, italic and so on.
    pub attributes: Attributes,
}

/// The bits of a [`Color`].
const COLOR_BITS: u32 = 26;

impl Style {
    /// The part of a style that a blank hides: the foreground, and the attributes that do not show on it.
    #[inline]
    pub(crate) const fn hidden_on_blank(self) -> u32 {
        self.fg.0 | self.attributes.hidden_on_blank() << COLOR_BITS
    }

    /// A style of this hidden part alone.
    pub(crate) fn of_hidden(hidden: u32) -> Self {
        Self {
            fg: Color(hidden & ((1 << COLOR_BITS) - 1)),
            attributes: Attributes::of_hidden(hidden >> COLOR_BITS),
            ..Self::default()
        }
    }
}

/// One position of a [`Screen`](crate::Screen): a symbol and its style, in 16 bytes.
#[derive(Clone, Copy, Debug, Eq)]
#[repr(C, align(16))]
pub struct Cell {
    /// The symbol in the low 22 bits, the attributes in the 9 bits above, [`EXACT`] in the last.
    pub(super) glyph: u32,
    pub(crate) fg: Color,
    pub(crate) bg: Color,
    pub(crate) underline: Color,
}

const SYMBOL_BITS: u32 = 22;
pub(super) const SYMBOL_MASK: u32 = (1 << SYMBOL_BITS) - 1;
/// Set in a symbol that is an index into [`Symbols`] rather than a `char`.
pub(super) const INTERNED: u32 = 1 << 21;
/// Two values that no `char` has (they are surrogates), for cells without a symbol of their own.
pub(super) const CONTINUATION: u32 = 0xD800;
const UNKNOWN: u32 = 0xD801;
/// A space that is printed in its own style, like any other symbol.
const EXACT: u32 = 1 << 31;

impl PartialEq for Cell {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.differences(*other) == 0
    }
}

/// Whether both are the same cells: as `==`, but eight at a time.
#[inline]
pub(crate) fn same_cells(one: &[Cell], other: &[Cell]) -> bool {
    one.len() == other.len() && first_difference(one, other).is_none()
}

/// The index of the first cells that differ, within the shorter length. Compares eight cells at a time, and none of a row that two
/// screens have in common.
#[inline]
pub(crate) fn first_difference(one: &[Cell], other: &[Cell]) -> Option<usize> {
    if std::ptr::eq(one, other) {
        return None;
    }
    if one.first()? != other.first()? {
        return Some(0);
    }
    let (eights, _) = one.as_chunks::<8>();
    let (other_eights, _) = other.as_chunks::<8>();
    let differ = |(one, other): (&[Cell; 8], &[Cell; 8])| {
        let pairs = one.iter().zip(other);
        pairs.fold(0, |bits, (one, other)| bits | one.differences(*other)) != 0
    };
    let mut pairs = eights.iter().zip(other_eights);
    let start = 8 * pairs
        .position(differ)
        .unwrap_or(eights.len().min(other_eights.len()));
    let mut pairs = one[start..].iter().zip(&other[start..]);
    pairs
        .position(|(one, other)| one != other)
        .map(|at| start + at)
}

impl Cell {
    /// Zero if both cells are the same.
    #[inline]
    const fn differences(self, other: Self) -> u32 {
        (self.glyph ^ other.glyph)
            | (self.fg.0 ^ other.fg.0)
            | (self.bg.0 ^ other.bg.0)
            | (self.underline.0 ^ other.underline.0)
    }

    /// A space in the terminal's default colours.
    pub const BLANK: Self = Self {
        glyph: ' ' as u32,
        fg: Color::DEFAULT,
        bg: Color::DEFAULT,
        underline: Color::DEFAULT,
    };
    /// In a screen that is wanted: leave the cell alone. In a screen that is shown: unknown.
    pub(crate) const UNKNOWN: Self = Self {
        glyph: UNKNOWN,
        ..Self::BLANK
    };

    #[inline]
    pub(super) fn new(symbol: u32, style: Style) -> Self {
        debug_assert!(symbol <= SYMBOL_MASK);
        Self {
            glyph: symbol | u32::from(style.attributes.0) << SYMBOL_BITS,
            fg: style.fg,
            bg: style.bg,
            underline: style.underline,
        }
    }

    /// A blank as an erasing sequence leaves it behind.
    pub(crate) const fn blank_on(bg: Color) -> Self {
        Self { bg, ..Self::BLANK }
    }

    /// A space whose style is printed with it, though it hides the style.
    pub(super) fn exact_space(style: Style) -> Self {
        let cell = Self::new(' ' as u32, style);
        Self {
            glyph: cell.glyph | EXACT,
            ..cell
        }
    }

    #[inline]
    pub(crate) const fn symbol(self) -> u32 {
        self.glyph & SYMBOL_MASK
    }

    #[inline]
    pub(crate) const fn attributes(self) -> Attributes {
        Attributes::from_bits((self.glyph >> SYMBOL_BITS) as u16)
    }

    #[inline]
    pub(crate) const fn style(self) -> Style {
        Style {
            fg: self.fg,
            bg: self.bg,
            underline: self.underline,
            attributes: self.attributes(),
        }
    }

    #[inline]
    pub(crate) const fn is_unknown(self) -> bool {
        self.symbol() == UNKNOWN
    }

    /// Whether this is the second (or later) column of a wide symbol.
    #[inline]
    pub(crate) const fn is_continuation(self) -> bool {
        self.symbol() == CONTINUATION
    }

    /// Whether the symbol is one of [`Symbols`](super::symbols::Symbols).
    #[inline]
    pub(super) const fn is_interned(self) -> bool {
        self.glyph & INTERNED != 0
    }

    /// Whether this is a space of which only the background shows.
    #[inline]
    pub(crate) const fn is_blank(self) -> bool {
        self.glyph == ' ' as u32
    }

    /// The symbol, if it is a single `char`.
    #[inline]
    pub(crate) const fn as_char(self) -> Option<char> {
        // Interned symbols lie above the last `char`, the two special ones among the surrogates.
        char::from_u32(self.symbol())
    }

    /// Whether the symbol is an ASCII character.
    #[inline]
    pub(crate) const fn is_ascii(self) -> bool {
        self.symbol() < 0x80
    }

    /// Whether the symbol may stick out of its cell: for a bold symbol that its bold font lacks, xterm draws the one of its usual font
    /// twice, a pixel apart. Bold fonts have ASCII.
    #[inline]
    pub(crate) const fn may_stick_out(self) -> bool {
        self.attributes().intersects(Attributes::BOLD) && !self.is_ascii()
    }

    /// Whether this is a `▀` of two 24-bit colours, which looks like a `▄` with the two exchanged.
    #[inline]
    pub(crate) const fn is_two_colors(self) -> bool {
        self.glyph == UPPER_HALF as u32 && self.fg.0 & self.bg.0 & RGB != 0
    }

    /// Whether this is a blank on a 24-bit colour.
    #[inline]
    pub(crate) const fn is_blank_of_24_bits(self) -> bool {
        self.is_blank() && self.bg.0 & RGB != 0
    }

    /// Whether the cell has one of these colours, on either side.
    #[inline]
    pub(crate) fn shares_color(self, one: Color, other: Color) -> bool {
        self.fg == one || self.fg == other || self.bg == one || self.bg == other
    }

    /// The whole cell in two numbers.
    #[inline]
    pub(crate) fn halves(self) -> (u64, u64) {
        let first = u64::from(self.glyph) | u64::from(self.fg.0) << 32;
        let second = u64::from(self.bg.0) | u64::from(self.underline.0) << 32;
        (first, second)
    }

    /// A 64-bit digest of the cell.
    #[inline]
    pub(crate) fn digest(self) -> u64 {
        let (first, second) = self.halves();
        (first.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ second.rotate_left(17))
            .wrapping_mul(0xD6E8_FEB8_6659_FD93)
    }

    /// The one form of all cells that look like this one.
    #[inline]
    pub(super) fn canonical(mut self, half_blocks: bool) -> Self {
        let attributes = self.attributes();
        if !attributes.intersects(Attributes::UNDERLINED) {
            self.underline = Color::DEFAULT;
        }
        let symbol = self.symbol();
        if symbol == ' ' as u32 {
            if !attributes.intersects(Attributes::VISIBLE_ON_BLANK) {
                return Self::blank_on(self.bg);
            }
        } else if half_blocks && (symbol & !0xF) == 0x2580 && attributes == Attributes::NONE {
            return self.canonical_block();
        }
        self
    }

    fn canonical_block(self) -> Self {
        let both = self.fg.is_explicit() && self.bg.is_explicit();
        match self.as_char() {
            Some(FULL_BLOCK) if self.fg.is_explicit() => Self::blank_on(self.fg),
            Some(UPPER_HALF | LOWER_HALF) if both && self.fg == self.bg => Self::blank_on(self.bg),
            Some(LOWER_HALF) if both => Self {
                glyph: UPPER_HALF as u32,
                fg: self.bg,
                bg: self.fg,
                ..self
            },
            _ => self,
        }
    }
}

pub(crate) const UPPER_HALF: char = '▀';
pub(crate) const LOWER_HALF: char = '▄';
pub(crate) const FULL_BLOCK: char = '█';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_blank_hides_of_a_style_comes_back() {
        for fg in [Color::DEFAULT, Color::indexed(255), Color::rgb(255, 1, 255)] {
            for bits in 0..=Attributes::ALL {
                let attributes = Attributes::from_bits(bits);
                let style = Style {
                    fg,
                    bg: Color::indexed(1),
                    underline: Color::indexed(2),
                    attributes,
                };
                let hidden = Style {
                    fg,
                    attributes: attributes.difference(Attributes::VISIBLE_ON_BLANK),
                    ..Style::default()
                };
                assert_eq!(Style::of_hidden(style.hidden_on_blank()), hidden);
                assert_ne!(style.hidden_on_blank(), u32::MAX);
            }
        }
    }

    #[test]
    fn comparing_eight_at_a_time_is_comparing() {
        for length in 0..40 {
            let cells = vec![Cell::BLANK; length];
            assert!(same_cells(&cells, &cells.clone()));
            assert!(!same_cells(&cells, &vec![Cell::BLANK; length + 1]));
            assert_eq!(first_difference(&cells, &[Cell::BLANK; 20]), None);
            for at in 0..length {
                for other in [
                    Cell::UNKNOWN,
                    Cell::blank_on(Color::indexed(1)),
                    Cell {
                        underline: Color::indexed(0),
                        ..Cell::BLANK
                    },
                ] {
                    let mut others = cells.clone();
                    others[at] = other;
                    assert!(!same_cells(&cells, &others), "{length} {at}");
                    assert_eq!(first_difference(&cells, &others), Some(at));
                    others[length - 1] = other;
                    assert_eq!(first_difference(&cells, &others), Some(at));
                }
            }
        }
    }
}
