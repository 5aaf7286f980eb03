//! What a [`Screen`](crate::Screen) leaves out of the styles of blanks, since it shows beneath the cursor alone.

use std::ops::Range;

use crate::model::{Attributes, Style};

/// What a cell that the application has made blank hides of its style; [`NONE`] where it has not, or where a picture may cover the blank.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    columns: usize,
    hidden: Vec<u32>,
}

/// No style hides that: its colour is of no kind.
const NONE: u32 = u32::MAX;

impl Blanks {
    /// Takes note of what was put into a cell of a screen of so many columns and rows.
    #[inline]
    pub(super) fn put(&mut self, size: (u16, u16), at: usize, is_blank: bool, style: Style) {
        let hidden = style.fg.is_explicit() || style.attributes != Attributes::NONE;
        if is_blank && hidden {
            return self.note(size, at, style);
        }
        if let Some(noted) = self.hidden.get_mut(at) {
            *noted = if is_blank {
                Style::default().hidden_on_blank()
            } else {
                NONE
            };
        }
    }

    /// Takes note of a blank that was put.
    pub(super) fn note(&mut self, (columns, rows): (u16, u16), at: usize, style: Style) {
        let (columns, cells) = (
            usize::from(columns),
            usize::from(columns) * usize::from(rows),
        );
        if columns != self.columns || cells != self.hidden.len() {
            self.columns = columns;
            self.hidden.clear();
            self.hidden.resize(cells, NONE);
        }
        self.hidden[at] = style.hidden_on_blank();
    }

    /// A picture may cover so many rows from this cell on, and all columns to its right.
    pub(super) fn cover(&mut self, columns: u16, at: usize, rows: u16) {
        let columns = usize::from(columns);
        if columns != self.columns {
            return;
        }
        let covered = self.hidden.chunks_mut(columns).skip(at / columns);
        for row in covered.take(rows.into()) {
            row[at % columns..].fill(NONE);
        }
    }

    /// These cells are blank now, without a style.
    pub(super) fn clear(&mut self, cells: Range<usize>) {
        let end = cells.end.min(self.hidden.len());
        if cells.start < end {
            self.hidden[cells.start..end].fill(NONE);
        }
    }

    /// What a cell hides of its style, if it is a blank that was put.
    pub(super) fn style_at(&self, columns: u16, at: usize) -> Option<Style> {
        let known = self.columns == usize::from(columns);
        let hidden = self
            .hidden
            .get(at)
            .filter(|hidden| known && **hidden != NONE)?;
        Some(Style::of_hidden(*hidden))
    }
}
