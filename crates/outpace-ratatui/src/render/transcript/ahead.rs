//! A line that grows in a terminal that reflows before it tells of its new width ([`Reflow::Ahead`](super::Reflow::Ahead), tmux): it is
//! printed at once, and the cursor stays on its last symbol.

use unicode_width::UnicodeWidthChar;

use super::{DOWN, ERASE_BELOW, Glyph, Last, SAVE_CURSOR, TranscriptRenderer};
use crate::model::trusted_width;

impl TranscriptRenderer {
    /// Prints a line that may grow, below the one before, and moves onto its last symbol.
    pub(super) fn print_line(&mut self, glyphs: &[Glyph]) {
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
        last.push(glyphs.to_vec(), self.width);
        self.print(&last.glyphs);
        self.forget_long(&mut last);
        self.last = Some(last);
        self.move_onto_last();
    }

    /// Prints the continuation of the last line, at any width of the terminal.
    pub(super) fn continue_last(&mut self, last: Last, glyphs: &[Glyph]) {
        let (rows, column, already) = (last.rows, last.column, last.glyphs.len());
        let mut grown = last;
        grown.push(glyphs.to_vec(), self.width);
        let wraps = grown.rows > rows;
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
        let mut chars = symbol.iter().flat_map(|glyph| glyph.text.chars());
        let width = chars.next().map_or(0, width_in_tmux);
        let is_trusted = width == usize::from(symbol[0].columns) && chars.all(is_mark);
        is_trusted.then_some(symbol)
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

/// The columns of a character on which terminals without shaped text agree, as tmux is one, 0 for others: also of letters that terminals
/// with shaped text may join.
fn width_in_tmux(c: char) -> usize {
    match c {
        '\u{590}'..='\u{10ff}' if c.is_alphabetic() => c.width().unwrap_or(0),
        _ => trusted_width(c),
    }
}

/// Whether a character is put onto the one before it in every terminal, and takes no column. Joiners and variation selectors may change
/// that one's width.
fn is_mark(c: char) -> bool {
    c.width() == Some(0) && !matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}
