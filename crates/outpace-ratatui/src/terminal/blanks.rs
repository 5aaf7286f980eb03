//! The styles of blanks, which a [`Screen`](crate::Screen) leaves out but for the background: they show beneath the cursor.

use std::ops::Range;

use crate::model::{Attributes, Style};

/// A style a cell that the application has made blank; none where it has not, or where a picture may cover the blank.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    columns: usize,
    styles: Vec<Option<Style>>,
}

impl Blanks {
    /// Takes note of what was put into a cell of a screen of so many columns and rows.
    #[inline]
    pub(super) fn put(&mut self, size: (u16, u16), at: usize, is_blank: bool, style: Style) {
        let hidden = style.fg.is_explicit() || style.attributes != Attributes::NONE;
        if is_blank && hidden {
            return self.note(size, at, style);
        }
        if let Some(noted) = self.styles.get_mut(at) {
            *noted = is_blank.then(Style::default);
        }
    }

    /// Takes note of a blank that was put.
    pub(super) fn note(&mut self, (columns, rows): (u16, u16), at: usize, style: Style) {
        let (columns, cells) = (
            usize::from(columns),
            usize::from(columns) * usize::from(rows),
        );
        if columns != self.columns || cells != self.styles.len() {
            self.columns = columns;
            self.styles.clear();
            self.styles.resize(cells, None);
        }
        self.styles[at] = Some(style);
    }

    /// A picture may cover so many rows from this cell on, and all columns to its right.
    pub(super) fn cover(&mut self, columns: u16, at: usize, rows: u16) {
        let columns = usize::from(columns);
        if columns != self.columns {
            return;
        }
        let covered = self.styles.chunks_mut(columns).skip(at / columns);
        for row in covered.take(rows.into()) {
            row[at % columns..].fill(None);
        }
    }

    /// These cells are blank now, without a style.
    pub(super) fn clear(&mut self, cells: Range<usize>) {
        let end = cells.end.min(self.styles.len());
        if cells.start < end {
            self.styles[cells.start..end].fill(None);
        }
    }

    /// The style of a cell, if it is a blank that was put.
    pub(super) fn style_at(&self, columns: u16, at: usize) -> Option<Style> {
        let known = self.columns == usize::from(columns);
        self.styles.get(at).filter(|_| known).copied().flatten()
    }
}
