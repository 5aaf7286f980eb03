//! A line that grows in a terminal that reflows before it tells of its new width ([`Reflow::Ahead`](super::Reflow::Ahead), tmux): it is
//! printed at once, and the cursor stays on its last symbol.

use unicode_width::UnicodeWidthChar;

use super::{DOWN, ERASE_BELOW, Glyph, Last, SAVE_CURSOR, TranscriptRenderer};
use crate::model::trusted_width;

impl TranscriptRenderer {
    /// Prints a line that may grow, below the one before, and moves onto its last symbol.
    pub(super) fn print_line(&mut self, glyphs: Vec<Glyph>) {
        if self.on_last {
            self.move_behind_last(self.drawn_below);
            self.end_row();
            self.on_last = false;
        } else {
            self.erase_below(false);
            self.go_home();
        }
        self.below = 1;
        let mut last = Last {
            rows: 1,
            ..Last::default()
        };
        last.is_unsure = !self.is_sure_of(&glyphs);
        last.push(glyphs, self.width);
        self.print(&last.glyphs);
        self.forget_long(&mut last);
        self.last = Some(last);
        self.move_onto_last();
    }

    /// Prints the continuation of the last line, at any width of the terminal.
    pub(super) fn continue_last(&mut self, last: Last, glyphs: Vec<Glyph>) {
        let (rows, column, already) = (last.rows, last.column, last.glyphs.len());
        let mut grown = last;
        grown.is_unsure |= !self.is_sure_of(&glyphs);
        grown.push(glyphs, self.width);
        let wraps = grown.rows > rows || grown.is_unsure;
        let added = grown.glyphs.split_off(already);
        self.last = Some(grown);
        if added.is_empty() {
            return;
        }
        if !self.on_last {
            self.encoder.text("\x1b[A");
            let on_it = match self.last_symbol() {
                Some(_) => column.saturating_sub(1),
                // The blank behind it.
                None => column % self.width.max(1),
            };
            self.go_to_column(on_it);
        }
        // A wide symbol that does not fit into the last column leaves that cell as it was, and tmux takes a cell for a part of the line if it was
        // ever written since its row was erased. So a row that such a symbol may wrap in is erased as a whole before.
        let leaves_gaps = self.unsteady > 0 && added.iter().any(|glyph| glyph.columns > 1);
        self.move_behind_last((wraps || leaves_gaps) && self.drawn_below);
        self.print(&added);
        if let Some(mut last) = self.last.take() {
            last.glyphs.extend(added);
            self.forget_long(&mut last);
            self.last = Some(last);
        }
        self.move_onto_last();
    }

    /// The symbol that the cursor stays on, with what joins it. `None` where the line is empty, or where terminals may disagree on the
    /// width of its last symbol: there the cursor stays on a blank behind it.
    fn last_symbol(&self) -> Option<&[Glyph]> {
        let glyphs = &self.last.as_ref()?.glyphs;
        let symbol = &glyphs[glyphs.iter().rposition(|glyph| !glyph.joins)?..];
        self.is_sure_of(symbol).then_some(symbol)
    }

    /// Whether tmux has these symbols in as many columns as is known.
    fn is_sure_of(&self, symbols: &[Glyph]) -> bool {
        symbols.iter().all(|Glyph { text, joins, .. }| {
            let first = text.chars().next().unwrap_or(' ');
            let may_join = self.is_newer_tmux && (text.contains(PICTURE) || is_joined_later(first));
            !may_join && (*joins || is_sure_in_tmux(first, self.is_newer_tmux))
        })
    }

    fn is_last_empty(&self) -> bool {
        let last = self.last.as_ref();
        last.is_none_or(|last| last.glyphs.is_empty())
    }

    /// Goes behind the last symbol by printing it again, so that the terminal wraps if it has to. `erases`: erases all that follows.
    /// That begins there, not in the next row: tmux forgets that a row was wrapped when all of the next is erased.
    pub(super) fn move_behind_last(&mut self, erases: bool) {
        let is_empty = self.is_last_empty();
        if let Some(symbol) = self.last_symbol().map(<[_]>::to_vec) {
            if symbol[0].columns > 1 {
                self.encoder.text("\x08");
            }
            self.print(&symbol);
        } else if erases && !is_empty {
            self.print_blank();
        }
        if erases {
            self.set_plain_pen();
            self.encoder
                .text(if is_empty { ERASE_BELOW } else { "\x1b[J" });
            self.destructive = true;
            self.forget_rows(self.width);
            self.drawn_below = false;
            if !is_empty && self.last_symbol().is_none() {
                self.encoder.text("\x08");
            }
        }
        if is_empty {
            self.encoder.text("\r");
        }
    }

    /// Goes back onto the last symbol: in tmux one column to the left, where the row is full, too. Or onto a blank that is printed behind it
    /// and replaced by what follows: on the edge itself the cursor cannot stay, as a cursor that is restored there overwrites the symbol.
    pub(super) fn move_onto_last(&mut self) {
        if !self.is_last_empty() {
            if self.last_symbol().is_none() {
                self.print_blank();
            }
            self.encoder.text("\x08");
        }
        self.on_last = true;
    }

    fn print_blank(&mut self) {
        self.set_plain_pen();
        self.set_wrapping(true);
        self.encoder.text(" ");
    }

    /// Goes to the anchor, in the row below the last one.
    pub(super) fn move_to_anchor(&mut self) {
        if self.on_last {
            self.end_row();
            self.on_last = false;
        }
    }

    /// Goes from the last symbol to the anchor. First makes sure of so many rows below, so that the screen does not scroll before the
    /// cursor is restored.
    pub(super) fn save_and_move_below(&mut self, rows: u16) {
        self.set_plain_pen();
        (0..rows).for_each(|_| self.encoder.text(DOWN));
        if rows > 0 {
            self.encoder.csi(rows, b'A');
        }
        self.encoder.text(SAVE_CURSOR);
        self.encoder.text("\r");
        self.encoder.text(DOWN);
        self.row = 0;
    }
}

/// The symbols as tmux has them in its cells: a symbol of several characters may take several cells there. `joined`: a joiner stands before
/// them. One at the end is a symbol of its own, which waits for the next: tmux would join the blank behind it.
pub(super) fn cells(glyphs: &[Glyph], joined: bool) -> Vec<Glyph> {
    let (mut cells, mut joined): (Vec<Glyph>, _) = (Vec::new(), joined);
    for glyph in glyphs {
        let mut begun = false;
        for c in glyph.text.chars() {
            let columns = match joined {
                true => 0,
                false => columns_in_tmux(c),
            };
            match cells.last_mut().filter(|_| begun) {
                Some(cell) if columns == 0 && c != JOINER => cell.text.push(c),
                _ => cells.push(Glyph {
                    text: c.into(),
                    columns,
                    style: glyph.style,
                    joins: columns == 0,
                }),
            }
            (joined, begun) = (c == JOINER, true);
        }
    }
    cells
}

/// Makes the character after it a part of the symbol before.
pub(crate) const JOINER: char = '\u{200d}';

/// Makes the symbol before it a picture. Since 3.4 a narrow one becomes wide by that.
const PICTURE: char = '\u{fe0f}';

/// Whether newer versions may have the character as a part of the symbol before: halves of flags and tones of skin.
const fn is_joined_later(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// The columns of a character in tmux before 3.4, by glibc: 1 for vowel signs that take no column elsewhere.
fn columns_in_tmux(c: char) -> u16 {
    match c {
        '\u{9be}' | '\u{9d7}' | '\u{b3e}' | '\u{b57}' | '\u{bbe}' | '\u{bd7}' => 1,
        '\u{cc0}' | '\u{cc2}' | '\u{cc7}' | '\u{cc8}' | '\u{cca}' | '\u{ccb}' => 1,
        '\u{cd5}' | '\u{cd6}' | '\u{d3e}' | '\u{d57}' | '\u{dcf}' | '\u{ddf}' => 1,
        _ => c.width().unwrap_or(0) as u16,
    }
}

/// Whether a character's columns in tmux before 3.4, or since, are known: also of letters that terminals with shaped text may join, and of emoji
/// that are not the newest.
fn is_sure_in_tmux(c: char, is_newer: bool) -> bool {
    let columns = columns_in_tmux(c);
    match c {
        _ if trusted_width(c) > 0 => true,
        // Trigrams and hexagrams are wide since Unicode 16.
        '\u{2630}'..='\u{2637}' | '\u{268a}'..='\u{268f}' => false,
        // Since 3.6 some of the narrow ones are wide.
        '\u{2600}'..='\u{27bf}' | '\u{1f300}'..='\u{1f9ff}' => {
            columns == 2 || columns == 1 && !is_newer
        }
        '\u{590}'..='\u{10ff}' if c.is_alphabetic() => columns > 0,
        '\u{2190}'..='\u{2bff}' | '\u{1f1e6}'..='\u{1f1ff}' => columns > 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_is_as_many_as_tmux_has_cells_for_it() {
        let glyph = |text: &str| Glyph {
            text: text.into(),
            columns: 2,
            style: crate::model::Style::default(),
            joins: false,
        };
        for (text, wanted) in [
            ("👍🏽", &[("👍", 2), ("🏽", 2)][..]),
            ("❤\u{fe0f}", &[("❤\u{fe0f}", 1)]),
            ("👩\u{200d}👧", &[("👩", 2), ("\u{200d}👧", 0)]),
            ("👩\u{200d}", &[("👩", 2), ("\u{200d}", 0)]),
            ("🇯🇵", &[("🇯", 1), ("🇵", 1)]),
            ("ক\u{9be}", &[("ক", 1), ("\u{9be}", 1)]),
        ] {
            let found = cells(&[glyph(text)], false);
            let found: Vec<_> = found
                .iter()
                .map(|cell| (&*cell.text, cell.columns))
                .collect();
            assert_eq!(found, wanted);
        }
        let behind_a_joiner = &cells(&[glyph("👧")], true)[0];
        assert!(behind_a_joiner.joins && behind_a_joiner.columns == 0);
    }
}
