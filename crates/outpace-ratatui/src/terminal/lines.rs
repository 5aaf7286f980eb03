//! The lines of a transcript: from text to symbols, piece by piece.

use ratatui_core::buffer::{Cell, CellWidth};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::cells::{colors_are_off, style_of};
use crate::render::{Glyph, Glyphs, JOINER};

/// Terminals have a tab stop in every eighth column.
const TAB: usize = 8;

/// Of more characters a symbol is several: it is printed again with each that it grows by. Terminals keep fewer (24 of them kitty, one and
/// 32 marks PuTTY), Unicode's Stream-Safe Text Format has 31 (UAX #15), and the longest emoji 10.
const MOST_CHARACTERS: usize = 32;

/// The end of a transcript's last line, as far as the text that continues it depends on it.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The lines go into a pipe or a file, as they are.
    is_plain: bool,
    /// The last symbol, which the next text may continue.
    end: String,
    /// The columns of the line, from which tabs are counted.
    column: usize,
    escape: Escape,
}

impl Lines {
    pub(super) fn new(is_plain: bool) -> Self {
        Self {
            is_plain,
            ..Self::default()
        }
    }

    pub(super) const fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Begins another line.
    pub(super) fn begin(&mut self) {
        *self = Self::new(self.is_plain);
    }

    /// The symbols of a line of its own.
    pub(super) fn line(&mut self, line: &Line<'_>, style: Style) -> Glyphs {
        self.begin();
        let style = style.patch(line.style);
        let mut glyphs = Vec::new();
        for span in &line.spans {
            self.push(&span.content, style.patch(span.style), &mut glyphs);
        }
        Glyphs::from(&*glyphs)
    }

    /// The symbols of a text that continues the line. The first of them may continue its last symbol.
    pub(super) fn more(&mut self, text: &str, style: Style) -> Glyphs {
        let mut glyphs = Vec::new();
        self.push(text, style, &mut glyphs);
        Glyphs::from(&*glyphs)
    }

    fn push(&mut self, text: &str, style: Style, glyphs: &mut Vec<Glyph>) {
        let is_text = |c: &char| *c == '\t' || !c.is_control();
        let shown = text.chars().filter(|c| !self.escape.takes(*c));
        let shown: String = shown.filter(is_text).collect();
        let mut cell = Cell::default();
        cell.set_style(style);
        let style = style_of(&cell, colors_are_off());
        let mut add = |this: &mut Self, text: &str, columns: u16, joins: bool| {
            this.column += usize::from(columns);
            glyphs.push(Glyph {
                text: text.to_owned(),
                columns,
                style,
                joins,
            });
        };
        if self.is_plain {
            return add(self, &shown, 0, false);
        }
        for (at, piece) in shown.split('\t').enumerate() {
            if at > 0 {
                self.end.clear();
                let blanks = TAB - self.column % TAB;
                (0..blanks).for_each(|_| add(self, " ", 1, false));
            }
            let whole = format!("{}{piece}", self.end);
            let whole = Span::raw(&whole);
            for (at, grapheme) in whole.styled_graphemes(Style::new()).enumerate() {
                let mut rest = grapheme.symbol;
                if at == 0 && !self.end.is_empty() {
                    // The last symbol of the line, with what continues it.
                    let (symbol, behind) = cut(rest);
                    let more = &symbol[self.end.len()..];
                    if !more.is_empty() {
                        let columns = symbol.cell_width().saturating_sub(self.end.cell_width());
                        add(self, more, columns, true);
                        self.end.push_str(more);
                    }
                    rest = behind;
                }
                while !rest.is_empty() {
                    let (part, behind) = cut(rest);
                    // By itself, a part of a symbol may be several.
                    for part in Span::raw(part).styled_graphemes(Style::new()) {
                        let columns = part.symbol.cell_width();
                        if columns > 0 {
                            add(self, part.symbol, columns, false);
                            part.symbol.clone_into(&mut self.end);
                        }
                    }
                    rest = behind;
                }
            }
        }
    }
}

/// The first characters of a symbol, as many as it may have, and the rest. A joiner between both is left out: with it a terminal would join them.
fn cut(symbol: &str) -> (&str, &str) {
    let Some((last, c)) = symbol.char_indices().nth(MOST_CHARACTERS - 1) else {
        return (symbol, "");
    };
    let behind = &symbol[last + c.len_utf8()..];
    match c {
        JOINER => (&symbol[..last], behind),
        _ => (&symbol[..last + c.len_utf8()], behind),
    }
}

/// The part of an escape sequence that has been read (ECMA-48, 5.3 to 5.6; xterm ends a string by BEL, too). A sequence may come in several
/// pieces, as a stream of tokens has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Escape {
    #[default]
    Outside,
    /// ESC.
    Begun,
    /// ESC and intermediate bytes.
    Short,
    /// ESC `[`: parameters, up to a letter or another final byte.
    Control,
    /// ESC `]` and others: a text up to BEL or ESC `\`.
    Text,
    /// ESC within such a text.
    TextEnd,
}

impl Escape {
    /// Whether a character belongs to an escape sequence.
    fn takes(&mut self, c: char) -> bool {
        let before = std::mem::take(self);
        *self = match (before, c) {
            (Self::Text, '\x07') => return true,
            (Self::Text, '\x1b') => Self::TextEnd,
            (Self::Text, _) => Self::Text,
            (_, '\x1b') => Self::Begun,
            (Self::Begun | Self::TextEnd, '[') => Self::Control,
            (Self::Begun | Self::TextEnd, ']' | 'P' | 'X' | '^' | '_') => Self::Text,
            (Self::Begun | Self::Short | Self::TextEnd, ' '..='/') => Self::Short,
            (Self::Begun | Self::Short | Self::TextEnd, '0'..='~') => return true,
            (Self::Control, ' '..='?') => Self::Control,
            (Self::Control, '@'..='~') => return true,
            // Outside of a sequence, or one that is broken off.
            _ => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(glyphs: &Glyphs) -> String {
        glyphs.text().to_owned()
    }

    #[test]
    fn a_tab_leads_to_the_next_stop_of_its_line() {
        let mut lines = Lines::new(false);
        let line = Line::from(vec![Span::raw("ab\tc"), Span::raw("\t日本\te\t")]);
        let wanted = "ab      c       日本    e       ";
        assert_eq!(text(&lines.line(&line, Style::new())), wanted);
        assert_eq!(text(&lines.more("x\ty", Style::new())), "x       y");
        lines.begin();
        let pieces = ["1234567", "\t", "e", "\u{301}\t", "12345678\t."];
        let found: String = pieces
            .iter()
            .map(|piece| text(&lines.more(piece, Style::new())))
            .collect();
        assert_eq!(found, "1234567 e\u{301}       12345678        .");
    }

    #[test]
    fn a_pipe_gets_tabs_and_characters_without_a_column() {
        let mut lines = Lines::new(true);
        let all = "all:\t\u{200b}x\u{ad}\n";
        assert_eq!(text(&lines.more(all, Style::new())), all.trim_end());
    }

    #[test]
    fn escape_sequences_are_left_out_in_any_pieces() {
        let all = "a\x1b[1;31mb\x1b[0m\x1b]8;;http://x/\x1b\\link\x1b]8;;\x07!\x1b(Bc\x1b7d\x1bPq#0\x1b\\e\x1b[31日\x1bé\x1b]x\x1b[1mf";
        let wanted = "ablink!cde日éf";
        for (first, _) in all.char_indices() {
            for (second, _) in all.char_indices().filter(|(at, _)| *at >= first) {
                let mut lines = Lines::new(false);
                let pieces = [&all[..first], &all[first..second], &all[second..]];
                let found: String = pieces
                    .iter()
                    .map(|piece| text(&lines.more(piece, Style::new())))
                    .collect();
                assert_eq!(found, wanted, "{pieces:?}");
            }
        }
        // A line ends one that is unfinished.
        let mut lines = Lines::new(false);
        lines.more("\x1b]8;;http", Style::new());
        assert_eq!(text(&lines.line(&Line::from("x"), Style::new())), "x");
    }

    #[test]
    fn a_symbol_without_an_end_is_many() {
        let (joined, marked) = ("👩\u{200d}".repeat(200), "\u{301}".repeat(200));
        let text = format!("a{joined}b{marked}c");
        let mut whole = Lines::new(false);
        let mut whole = whole.more(&text, Style::new()).each();
        for glyph in &whole {
            assert!(glyph.text.chars().count() <= MOST_CHARACTERS);
        }
        // The joiners between those of 31 characters are left out; marks without a column, too.
        let woman_alone = |glyph: &&Glyph| glyph.text.starts_with('👩') && !glyph.joins;
        assert_eq!(
            whole.iter().filter(woman_alone).count(),
            200_usize.div_ceil(16)
        );
        let found: String = whole.drain(..).map(|glyph| glyph.text).collect();
        assert_eq!(found.matches('👩').count(), 200);
        assert!(found.ends_with(&format!("b{}c", &marked[..2 * (MOST_CHARACTERS - 1)])));
        // In any pieces.
        let mut lines = Lines::new(false);
        let mut grown = (0, 0);
        let mut all = String::new();
        for c in text.chars() {
            for glyph in lines.more(c.encode_utf8(&mut [0; 4]), Style::new()).each() {
                grown = match glyph.joins {
                    true => (grown.0 + 1, grown.1.max(grown.0 + 1)),
                    false => (1, grown.1),
                };
                all.push_str(&glyph.text);
            }
        }
        assert_eq!((all, grown.1), (found, MOST_CHARACTERS));
        // A pipe gets all of them.
        let mut plain = Lines::new(true);
        assert_eq!(self::text(&plain.more(&text, Style::new())), text);
    }

    #[test]
    fn a_mark_in_a_span_of_its_own_is_on_the_symbol_before() {
        let mut lines = Lines::new(false);
        let line = Line::from(vec![Span::raw("e"), Span::raw("\u{301}x")]);
        let glyphs = lines.line(&line, Style::new()).each();
        let found: Vec<_> = glyphs
            .iter()
            .map(|glyph| (&*glyph.text, glyph.columns, glyph.joins))
            .collect();
        assert_eq!(
            found,
            [("e", 1, false), ("\u{301}", 0, true), ("x", 1, false)]
        );
    }
}
