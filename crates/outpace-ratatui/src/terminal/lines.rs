//! The lines of a transcript: from text to symbols, piece by piece.

use ratatui_core::buffer::{Cell, CellWidth};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::cells::{colors_are_off, style_of};
use crate::render::{Glyph, Glyphs};

/// Terminals have a tab stop in every eighth column.
const TAB: usize = 8;

/// The end of a transcript's last line, as far as the text that continues it depends on it.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The lines go into a pipe or a file: tabs and characters without a column stay as they are.
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
        let shown: String = text.chars().filter(|c| !self.escape.takes(*c)).collect();
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
        for (at, piece) in shown.split('\t').enumerate() {
            if at > 0 {
                self.end.clear();
                match self.is_plain {
                    true => add(self, "\t", 1, false),
                    false => {
                        let blanks = TAB - self.column % TAB;
                        (0..blanks).for_each(|_| add(self, " ", 1, false));
                    }
                }
            }
            let whole = format!("{}{piece}", self.end);
            let whole = Span::raw(&whole);
            for (at, grapheme) in whole.styled_graphemes(Style::new()).enumerate() {
                let symbol = grapheme.symbol;
                if at == 0 && !self.end.is_empty() {
                    // The last symbol of the line, with what continues it.
                    let more = &symbol[self.end.len()..];
                    if !more.is_empty() {
                        let columns = symbol.cell_width().saturating_sub(self.end.cell_width());
                        add(self, more, columns, true);
                        self.end.push_str(more);
                    }
                } else {
                    let columns = symbol.cell_width();
                    if columns > 0 || self.is_plain {
                        add(self, symbol, columns, false);
                        symbol.clone_into(&mut self.end);
                    }
                }
            }
        }
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
