//! ratatui's cells, as a [`Screen`](crate::Screen) has them.

use ratatui_core::buffer;
use unicode_width::UnicodeWidthChar;

use crate::model::{Attributes, Color, Style, trusted_width};

/// The character of a symbol, if it is a single one that takes one column in every terminal. Most are, and looking up the width
/// takes longer.
#[inline]
pub(super) fn narrow(symbol: &str) -> Option<char> {
    match symbol.as_bytes() {
        [byte @ b' '..=b'~'] => Some(char::from(*byte)),
        // Lines (U+2500 to U+257F) and Braille, of which borders and charts are made.
        &[0xe2, second @ (0x94 | 0x95 | 0xa0..=0xa3), third] => {
            char::from_u32(0x2000 | u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f))
        }
        // Blocks (U+2580 to U+259F), of which pictures, gauges and bars are made.
        &[0xe2, 0x96, third @ 0x80..=0x9f] => char::from_u32(0x2580 | u32::from(third & 0x1f)),
        _ => narrow_beyond_ascii(symbol),
    }
}

fn narrow_beyond_ascii(symbol: &str) -> Option<char> {
    let mut chars = symbol.chars();
    let first = chars.next().filter(|c| trusted_width(*c) == 1)?;
    chars.next().is_none().then_some(first)
}

/// The columns that the characters of a symbol take, each by itself; none if they are escape sequences.
#[cold]
pub(super) fn apart(symbol: &str) -> u16 {
    if symbol.contains('\x1b') {
        return 0;
    }
    let columns = symbol.chars().map(|c| c.width().unwrap_or(0).max(1));
    columns.sum::<usize>().clamp(2, 64) as u16
}

/// Whether the user wants no colours: the variable `NO_COLOR` says so unless it is empty, and crossterm's
/// `force_color_output` overrides it.
pub(super) fn colors_are_off() -> bool {
    #[cfg(feature = "crossterm")]
    return crossterm::style::Colored::ansi_color_disabled_memoized();
    #[cfg(not(feature = "crossterm"))]
    return std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
}

/// The style of a cell; without colours, its attributes alone. Inlined: converting it takes less time than comparing it with that of the
/// cell before.
#[inline(always)]
pub(super) fn style_of(cell: &buffer::Cell, colors_off: bool) -> Style {
    if colors_off {
        return Style {
            attributes: Attributes::from_bits(cell.modifier.bits()),
            ..Style::default()
        };
    }
    Style {
        fg: color_of(cell.fg),
        bg: color_of(cell.bg),
        #[cfg(feature = "underline-color")]
        underline: color_of(cell.underline_color),
        #[cfg(not(feature = "underline-color"))]
        underline: Color::DEFAULT,
        attributes: Attributes::from_bits(cell.modifier.bits()),
    }
}

#[inline(always)]
const fn color_of(color: ratatui_core::style::Color) -> Color {
    use ratatui_core::style::Color as Theirs;
    match color {
        Theirs::Reset => Color::DEFAULT,
        Theirs::Rgb(red, green, blue) => Color::rgb(red, green, blue),
        _ => any_color(color),
    }
}

/// Converts every colour. Out of line: the two above are the most frequent.
const fn any_color(color: ratatui_core::style::Color) -> Color {
    use ratatui_core::style::Color as Theirs;
    match color {
        Theirs::Reset => Color::DEFAULT,
        Theirs::Black => Color::indexed(0),
        Theirs::Red => Color::indexed(1),
        Theirs::Green => Color::indexed(2),
        Theirs::Yellow => Color::indexed(3),
        Theirs::Blue => Color::indexed(4),
        Theirs::Magenta => Color::indexed(5),
        Theirs::Cyan => Color::indexed(6),
        Theirs::Gray => Color::indexed(7),
        Theirs::DarkGray => Color::indexed(8),
        Theirs::LightRed => Color::indexed(9),
        Theirs::LightGreen => Color::indexed(10),
        Theirs::LightYellow => Color::indexed(11),
        Theirs::LightBlue => Color::indexed(12),
        Theirs::LightMagenta => Color::indexed(13),
        Theirs::LightCyan => Color::indexed(14),
        Theirs::White => Color::indexed(15),
        Theirs::Indexed(index) => Color::indexed(index),
        Theirs::Rgb(red, green, blue) => Color::rgb(red, green, blue),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_symbol_is_found_the_short_way_and_the_long_way() {
        for c in '\0'..=char::MAX {
            let symbol = c.to_string();
            assert_eq!(narrow(&symbol), narrow_beyond_ascii(&symbol), "{c:?}");
        }
        assert_eq!(narrow("─│"), None);
        assert_eq!(narrow("─\u{301}"), None);
    }
}
