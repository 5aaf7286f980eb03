//! Styles to bytes: the parameters of "select graphic rendition" (SGR, ECMA-48), which take most bytes of a picture.
//!
//! Numbers come from a table and are copied as words of a fixed size. The length counts only a part of
//! each: the next word overwrites the rest.

use crate::model::{Attributes, Color, ColorKind, Style};

/// Decimal digits and a semicolon, for 0 to 255.
static DECIMAL: [[u8; 4]; 256] = decimal_table();
/// How many bytes of each entry are used.
static LENGTH: [u8; 256] = length_table();

const fn length_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        table[n] = 2 + (n > 9) as u8 + (n > 99) as u8;
        n += 1;
    }
    table
}

const fn decimal_table() -> [[u8; 4]; 256] {
    let mut table = [[0; 4]; 256];
    let mut n = 0;
    while n < 256 {
        let digits = [n / 100, n / 10 % 10, n % 10];
        let mut at = 3 - (length_table()[n] as usize - 1);
        let mut len = 0;
        while at < 3 {
            table[n][len] = b'0' + digits[at] as u8;
            at += 1;
            len += 1;
        }
        table[n][len] = b';';
        n += 1;
    }
    table
}

/// The digits of a small number.
#[inline]
pub(super) fn digits(n: u8) -> &'static [u8] {
    &DECIMAL[usize::from(n)][..usize::from(LENGTH[usize::from(n)] - 1)]
}

/// Room for the longest style (a reset, every attribute, two colours, cut in two sequences), which
/// has 62 bytes.
const ROOM: usize = 80;

/// Parameters under construction: at most 16 in one sequence, since some terminals ignore the rest.
pub(super) struct Parameters {
    bytes: [u8; ROOM],
    len: usize,
    count: u8,
}

const MAX_PARAMETERS: u8 = 16;

impl Parameters {
    #[inline]
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; ROOM],
            len: 0,
            count: 0,
        }
    }

    /// The sequence that ends all attributes and colours and needs no parameter.
    pub(super) fn plain_reset() -> Self {
        let mut parameters = Self::new();
        parameters.text(b"\x1b[;");
        parameters.count = 1;
        parameters
    }

    /// How many bytes it will take.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn text<const N: usize>(&mut self, text: &[u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(text);
        self.len += N;
    }

    /// A number and a semicolon.
    #[inline]
    fn number(&mut self, n: u8) {
        self.bytes[self.len..self.len + 4].copy_from_slice(&DECIMAL[usize::from(n)]);
        self.len += usize::from(LENGTH[usize::from(n)]);
    }

    /// Makes room for a group of parameters that belong together.
    #[inline]
    fn group(&mut self, size: u8) {
        if self.count == 0 {
            self.text(b"\x1b[");
        } else if self.count + size > MAX_PARAMETERS {
            self.close();
            self.text(b"\x1b[");
            self.count = 0;
        }
        self.count += size;
    }

    #[inline]
    pub(super) fn one(&mut self, n: u8) {
        self.group(1);
        self.number(n);
    }

    /// `base` is 30 for the foreground, 40 for the background. `by_index` says not to use the short forms of the first
    /// sixteen colours.
    #[inline]
    fn color(&mut self, color: Color, base: u8, by_index: bool) {
        match color.kind() {
            ColorKind::Default => self.one(base + 9),
            ColorKind::Indexed(n @ 0..=7) if !by_index => self.one(base + n),
            ColorKind::Indexed(n @ 8..=15) if !by_index => self.one(base + 60 + n - 8),
            ColorKind::Indexed(n) => {
                self.group(3);
                self.text(if base == 30 { b"38;5;" } else { b"48;5;" });
                self.number(n);
            }
            ColorKind::Rgb(red, green, blue) => {
                self.group(5);
                self.text(if base == 30 { b"38;2;" } else { b"48;2;" });
                self.number(red);
                self.number(green);
                self.number(blue);
            }
        }
    }

    /// Adds the parameters that lead from one style to another, but for the colour of the underline.
    /// Says whether the foreground is one of them and ends up in its short form; `short` says whether it is in `from`.
    #[inline]
    pub(super) fn add_changes(&mut self, from: Style, to: Style, short: bool) -> bool {
        let by_index = wants_index(to);
        if from.attributes != to.attributes {
            self.add_attributes(from.attributes, to.attributes);
        }
        let rewritten = from.fg != to.fg || (by_index && short);
        if rewritten {
            self.color(to.fg, 30, by_index);
        }
        if from.bg != to.bg {
            self.color(to.bg, 40, false);
        }
        if rewritten { !by_index } else { short }
    }

    fn add_attributes(&mut self, from: Attributes, to: Attributes) {
        let gone = from.difference(to);
        for (end, family, members) in FAMILIES {
            let mut has = from;
            if gone.intersects(family) {
                self.one(end);
                has = has.difference(family);
            }
            for &(attribute, code) in members {
                if to.intersects(attribute) && !has.intersects(attribute) {
                    self.one(code);
                }
            }
        }
    }

    /// Turns the last semicolon into the end of the sequence.
    #[inline]
    fn close(&mut self) {
        self.bytes[self.len - 1] = b'm';
    }

    /// Appends the sequence, if there is any.
    #[inline]
    pub(super) fn write(mut self, out: &mut Vec<u8>) {
        if self.count > 0 {
            self.close();
            append(out, &self.bytes, self.len);
        }
    }
}

/// Whether a foreground among the first sixteen colours has to be named by its index, `38;5;n`, as crossterm does always. For
/// bold text xterm brightens colours that are named `3n`, and alacritty dims them for text that is bold and dim.
#[inline]
fn wants_index(style: Style) -> bool {
    style
        .attributes
        .intersects(Attributes::BOLD.union(Attributes::DIM))
        && matches!(style.fg.kind(), ColorKind::Indexed(0..=15))
}

/// Appends the first `len` of `bytes`, by a copy whose size the compiler knows.
#[inline]
fn append<const N: usize>(out: &mut Vec<u8>, bytes: &[u8; N], len: usize) {
    debug_assert!(len <= N);
    let start = out.len();
    out.extend_from_slice(bytes);
    out.truncate(start + len);
}

/// Appends a cell of a picture in half blocks: up to two 24-bit colours, `None` where the pen has the right one, and a symbol of
/// three bytes.
#[inline]
pub(super) fn write_picture_cell(
    out: &mut Vec<u8>,
    fg: Option<[u8; 3]>,
    bg: Option<[u8; 3]>,
    symbol: [u8; 3],
) {
    // ESC [ 38;2;255;255;255;48;2;255;255;255m and the symbol make 39. Written in place: to copy what was
    // just put together in small pieces, the processor would have to wait for it.
    const ROOM: usize = 48;
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    let Some(bytes) = out[start..].first_chunk_mut::<ROOM>() else {
        return;
    };
    let mut at = 0;
    if fg.is_some() || bg.is_some() {
        bytes[..2].copy_from_slice(b"\x1b[");
        at = 2;
        for (color, introducer) in [(fg, b"38;2;"), (bg, b"48;2;")] {
            let Some(parts) = color else { continue };
            bytes[at..at + 5].copy_from_slice(introducer);
            at += 5;
            for part in parts {
                bytes[at..at + 4].copy_from_slice(&DECIMAL[usize::from(part)]);
                at += usize::from(LENGTH[usize::from(part)]);
            }
        }
        bytes[at - 1] = b'm';
    }
    bytes[at..at + 3].copy_from_slice(&symbol);
    out.truncate(start + at + 3);
}

/// How many bytes the parameter of a colour takes, with its semicolon.
#[inline]
pub(crate) fn color_price(color: Color) -> u32 {
    match color.kind() {
        ColorKind::Default | ColorKind::Indexed(0..=15) => 3,
        ColorKind::Indexed(n) => 5 + u32::from(LENGTH[usize::from(n)]),
        ColorKind::Rgb(r, g, b) => {
            let length = |n: u8| u32::from(LENGTH[usize::from(n)]);
            5 + length(r) + length(g) + length(b)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_format_writes_them() {
        for n in 0..=255 {
            assert_eq!(digits(n), n.to_string().as_bytes());
        }
    }

    #[test]
    fn colours_are_as_format_writes_them_by_either_way() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // All lengths of numbers alike.
            (state >> 24 >> (state >> 8 & 7)) as u8
        };
        for number in 0..20_000 {
            let mut color = |wanted: bool| wanted.then(|| [next(), next(), next()]);
            let (fg, bg) = (color(number & 1 == 0), color(number & 2 == 0));
            let parameters: Vec<String> = [(fg, 38), (bg, 48)]
                .into_iter()
                .filter_map(|(color, code)| {
                    let [red, green, blue] = color?;
                    Some(format!("{code};2;{red};{green};{blue}"))
                })
                .collect();
            let sequence = match parameters.is_empty() {
                true => String::new(),
                false => format!("\x1b[{}m", parameters.join(";")),
            };
            let wanted = format!("before{sequence}▀");
            let mut out = b"before".to_vec();
            write_picture_cell(&mut out, fg, bg, [0xE2, 0x96, 0x80]);
            assert_eq!(String::from_utf8(out).unwrap(), wanted);

            let rgb = |color: Option<[u8; 3]>| {
                color.map_or(Color::DEFAULT, |[red, green, blue]| {
                    Color::rgb(red, green, blue)
                })
            };
            let style = Style {
                fg: rgb(fg),
                bg: rgb(bg),
                ..Style::default()
            };
            let mut parameters = Parameters::new();
            parameters.add_changes(Style::default(), style, false);
            let price = |color: Option<_>| color.map_or(0, |_| 1);
            let prices = price(fg) * color_price(style.fg) + price(bg) * color_price(style.bg);
            assert_eq!(prices as usize, parameters.len().saturating_sub(2));
            let mut out = b"before".to_vec();
            parameters.write(&mut out);
            out.extend_from_slice("▀".as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), wanted);
        }
    }

    #[test]
    fn the_longest_style_has_room() {
        let every = Style {
            fg: Color::rgb(255, 255, 255),
            bg: Color::rgb(255, 255, 255),
            attributes: Attributes::from_bits(u16::MAX),
            ..Style::default()
        };
        let mut parameters = Parameters::new();
        parameters.one(0);
        parameters.add_changes(Style::default(), every, false);
        let mut out = Vec::new();
        parameters.write(&mut out);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "\x1b[0;1;2;3;4;5;6;7;8;9;38;2;255;255;255m\x1b[48;2;255;255;255m"
        );
    }
}
