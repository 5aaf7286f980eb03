//! The styles of blanks, which a [`Screen`](crate::Screen) leaves out but for the background: they show beneath the cursor.

use std::ops::Range;

use crate::model::{Attributes, Style};

/// A style a cell; those of blanks are right.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    columns: usize,
    styles: Vec<Style>,
}

impl Blanks {
    /// Takes note of what was put into a cell of a screen of so many columns and rows.
    #[inline]
    pub(super) fn put(&mut self, size: (u16, u16), at: usize, is_blank: bool, style: Style) {
        let hidden = style.fg.is_explicit() || style.attributes != Attributes::NONE;
        if is_blank && hidden {
            return self.note(size, at, style);
        }
        // What becomes blank without having been put is in no style.
        if let Some(style) = self.styles.get_mut(at) {
            *style = Style::default();
        }
    }

    fn note(&mut self, (columns, rows): (u16, u16), at: usize, style: Style) {
        let (columns, cells) = (
            usize::from(columns),
            usize::from(columns) * usize::from(rows),
        );
        if columns != self.columns || cells != self.styles.len() {
            self.columns = columns;
            self.styles.clear();
            self.styles.resize(cells, Style::default());
        }
        self.styles[at] = style;
    }

    /// These cells are blank now, without a style.
    pub(super) fn clear(&mut self, cells: Range<usize>) {
        let end = cells.end.min(self.styles.len());
        if cells.start < end {
            self.styles[cells.start..end].fill(Style::default());
        }
    }

    /// The style of a cell, if it is a blank.
    pub(super) fn style_at(&self, columns: u16, at: usize) -> Style {
        let known = self.columns == usize::from(columns);
        let style = self.styles.get(at).filter(|_| known);
        style.copied().unwrap_or_default()
    }
}
