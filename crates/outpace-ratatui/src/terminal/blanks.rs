//! The styles of blanks, of which a [`Screen`] keeps the background alone. The rest shows beneath the cursor, and xterm draws bold
//! text by it.

use std::ops::Range;

use crate::model::{Attributes, Cell, Screen, Style};

/// The styles of the blanks that the application has put.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    columns: usize,
    /// For each cell, the hidden part of its blank's style. [`NONE`]: it has no blank that was put, or a picture may cover it.
    hidden: Vec<u32>,
    /// Rows in which bold blanks were put since they were last [joined](Self::join_bold).
    bold_rows: Vec<u16>,
    /// The cells that symbols stick out into, or did so since everything was erased.
    overhung: Vec<bool>,
}

/// Not the hidden part of any style: its colour is of no kind.
const NONE: u32 = u32::MAX;

impl Blanks {
    /// Notes that a symbol was put into a cell of a screen of so many columns and rows.
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

    /// Follows the screen's size.
    fn fit(&mut self, (columns, rows): (u16, u16)) {
        let columns = usize::from(columns);
        let cells = columns * usize::from(rows);
        if columns != self.columns || cells != self.hidden.len() {
            self.columns = columns;
            self.hidden.clear();
            self.hidden.resize(cells, NONE);
            self.overhung.clear();
        }
    }

    /// Notes that a symbol sticks out into a cell, if the screen has it.
    pub(super) fn overhang(&mut self, size: (u16, u16), at: usize) {
        self.fit(size);
        self.overhung.resize(self.hidden.len(), false);
        if let Some(overhung) = self.overhung.get_mut(at) {
            *overhung = true;
        }
    }

    /// Whether a symbol sticks out into a cell, or did so.
    pub(super) fn is_overhung(&self, at: usize) -> bool {
        self.overhung.get(at) == Some(&true)
    }

    /// Notes that a blank was put.
    pub(super) fn note(&mut self, size: (u16, u16), at: usize, style: Style) {
        self.fit(size);
        self.hidden[at] = style.hidden_on_blank();
        if style.attributes.intersects(Attributes::BOLD) {
            let y = (at / self.columns) as u16;
            if self.bold_rows.last() != Some(&y) {
                self.bold_rows.push(y);
            }
        }
    }

    /// Gives blanks between bold words their whole style, where xterm draws words and blanks by the same font only if they are
    /// printed at once: of a run of bold text with a symbol that its bold font lacks, it draws everything by its usual font, twice.
    /// `joins`: the terminal may be xterm.
    pub(super) fn join_bold(&mut self, screen: &mut Screen, joins: bool) {
        let mut rows = std::mem::take(&mut self.bold_rows);
        for y in rows.drain(..) {
            if joins && screen.row(y).iter().any(|cell| cell.may_stick_out()) {
                self.join_bold_in(screen, y);
            }
        }
        self.bold_rows = rows;
    }

    fn join_bold_in(&self, screen: &mut Screen, y: u16) {
        let start = screen.index(0, y);
        let mut styles: Vec<Style> = Vec::new();
        for (at, cell) in (start..).zip(screen.row(y)) {
            let style = match styles.last() {
                Some(&style) if cell.is_continuation() => style,
                _ if cell.is_blank() => Style {
                    bg: cell.bg,
                    ..self.style_at(screen.width(), at).unwrap_or_default()
                },
                _ => cell.style(),
            };
            styles.push(style);
        }
        let mut at = start;
        for run in styles.chunk_by(PartialEq::eq) {
            let cells = &screen.cells()[at..at + run.len()];
            let is_text = |cell: &Cell| !cell.is_blank();
            let is_bold = run[0].attributes.intersects(Attributes::BOLD);
            if is_bold
                && cells.iter().any(|cell| cell.may_stick_out())
                && let Some(first) = cells.iter().position(is_text)
                && let Some(last) = cells.iter().rposition(is_text)
            {
                screen.dress_blanks(at + first..at + last, run[0]);
            }
            at += run.len();
        }
    }

    /// Notes that a picture may cover so many rows from this cell on, and all columns to its right.
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

    /// Notes that cells are blank, without a style.
    pub(super) fn clear(&mut self, cells: Range<usize>) {
        let end = cells.end.min(self.hidden.len());
        if cells.start == 0 && end == self.hidden.len() {
            self.overhung.clear();
        }
        if cells.start < end {
            self.hidden[cells.start..end].fill(NONE);
        }
    }

    /// The hidden part of a cell's style, if it is a blank that was put.
    pub(super) fn style_at(&self, columns: u16, at: usize) -> Option<Style> {
        let known = self.columns == usize::from(columns);
        let hidden = self
            .hidden
            .get(at)
            .filter(|hidden| known && **hidden != NONE)?;
        Some(Style::of_hidden(*hidden))
    }
}
