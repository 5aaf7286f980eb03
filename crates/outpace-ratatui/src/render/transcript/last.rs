//! The last line of a transcript, which may still grow.

use super::Glyph;

/// The last line, laid out at the terminal's width.
#[derive(Debug, Default)]
pub(super) struct Last {
    /// All of its symbols, or the last one alone if there are too many.
    pub(super) glyphs: Vec<Glyph>,
    /// The columns of each symbol.
    pub(super) columns: Vec<u16>,
    /// Blanks at its end that have not been printed. Some terminals forget blanks at the end of a line when they reflow it,
    /// others keep them; so they are printed together with the next symbol.
    pub(super) held: Vec<Glyph>,
    /// How many of its symbols are drawn below the anchor. `None`: the line is printed, above the anchor.
    pub(super) open: Option<usize>,
    /// How many of its first rows were left out when it was drawn.
    pub(super) hidden: u16,
    /// The rows it takes.
    pub(super) rows: u16,
    /// The column behind its end, in its last row. The width if that row is full.
    pub(super) column: u16,
    /// tmux may have other columns for it.
    pub(super) is_unsure: bool,
}

impl Last {
    pub(super) fn push(&mut self, glyphs: Vec<Glyph>, width: u16) {
        self.held.extend(glyphs);
        let end = self.held.iter().rposition(Glyph::shows);
        let end = end.map_or(0, |last| last + 1);
        let from = self.columns.len();
        let shown = self.held.drain(..end);
        self.columns
            .extend(shown.as_slice().iter().map(|glyph| glyph.columns));
        self.glyphs.extend(shown);
        self.wrap(from, width);
    }

    /// Lays out all of the line at another width.
    pub(super) fn lay_out(&mut self, width: u16) {
        (self.rows, self.column) = (1, 0);
        self.wrap(0, width);
    }

    /// Follows the symbols from this one on.
    fn wrap(&mut self, from: usize, width: u16) {
        for &columns in &self.columns[from..] {
            let (column, wrapped) = after(self.column, columns, width);
            self.column = column;
            self.rows = self.rows.saturating_add(wrapped.into());
        }
    }

    /// Whether all of its symbols are kept.
    pub(super) const fn is_whole(&self) -> bool {
        self.glyphs.len() == self.columns.len()
    }

    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

/// The column behind a symbol of so many columns, and whether the terminal wrapped before it.
pub(super) const fn after(column: u16, columns: u16, width: u16) -> (u16, bool) {
    if column + columns > width && column > 0 {
        (columns, true)
    } else {
        (column + columns, false)
    }
}
