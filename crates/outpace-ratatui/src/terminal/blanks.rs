//! The styles of blanks, of which a [`Screen`] keeps the background alone. The rest shows beneath the cursor, and xterm draws bold
//! text by it.

use std::ops::Range;

use crate::model::{Attributes, Cell, Screen, Style};
use crate::present::Damage;

/// The styles of the blanks that the application has put.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    columns: usize,
    /// By rows, for each cell, the hidden part of its blank's style. [`NONE`]: it has no blank that was put, or a picture may cover it. Empty:
    /// none of the row has a hidden part.
    hidden: Vec<Vec<u32>>,
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
    pub(super) fn put(
        &mut self,
        size: (u16, u16),
        (x, y): (u16, u16),
        is_blank: bool,
        style: Style,
    ) {
        let hidden = style.fg.is_explicit() || style.attributes != Attributes::NONE;
        if is_blank && hidden {
            return self.note(size, (x, y), style);
        }
        let row = self.hidden.get_mut(usize::from(y));
        if let Some(noted) = row.and_then(|row| row.get_mut(usize::from(x))) {
            *noted = if is_blank {
                Style::default().hidden_on_blank()
            } else {
                NONE
            };
        }
    }

    /// Follows the screen's size.
    fn fit(&mut self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        if (columns, rows) != (self.columns, self.hidden.len()) {
            self.columns = columns;
            self.hidden.clear();
            self.hidden.resize(rows, Vec::new());
            self.overhung.clear();
        }
    }

    /// Notes that a symbol sticks out into a cell, if the screen has it.
    pub(super) fn overhang(&mut self, size: (u16, u16), at: usize) {
        self.fit(size);
        self.overhung
            .resize(self.columns * self.hidden.len(), false);
        if let Some(overhung) = self.overhung.get_mut(at) {
            *overhung = true;
        }
    }

    /// Whether a symbol sticks out into a cell, or did so.
    pub(super) fn is_overhung(&self, at: usize) -> bool {
        self.overhung.get(at) == Some(&true)
    }

    /// Notes that a blank was put.
    pub(super) fn note(&mut self, size: (u16, u16), (x, y): (u16, u16), style: Style) {
        self.fit(size);
        let row = &mut self.hidden[usize::from(y)];
        if row.is_empty() {
            row.resize(self.columns, NONE);
        }
        row[usize::from(x)] = style.hidden_on_blank();
        if style.attributes.intersects(Attributes::BOLD) && self.bold_rows.last() != Some(&y) {
            self.bold_rows.push(y);
        }
    }

    /// Gives blanks between bold words their whole style, where xterm draws words and blanks by the same font only if they are
    /// printed at once: of a run of bold text with a symbol that its bold font lacks, it draws everything by its usual font, twice.
    /// `joins`: the terminal may be xterm.
    pub(super) fn join_bold(&mut self, screen: &mut Screen, damage: &mut Damage, joins: bool) {
        let mut rows = std::mem::take(&mut self.bold_rows);
        for y in rows.drain(..) {
            if joins && screen.row(y).iter().any(|cell| cell.may_stick_out()) {
                self.join_bold_in(screen, y);
                damage.touch(y, (0, u16::MAX));
            }
        }
        self.bold_rows = rows;
    }

    fn join_bold_in(&self, screen: &mut Screen, y: u16) {
        let mut styles: Vec<Style> = Vec::new();
        for (x, cell) in (0..).zip(screen.row(y)) {
            let style = match styles.last() {
                Some(&style) if cell.is_continuation() => style,
                _ if cell.is_blank() => Style {
                    bg: cell.bg,
                    ..self.style_at(screen.width(), (x, y)).unwrap_or_default()
                },
                _ => cell.style(),
            };
            styles.push(style);
        }
        let mut x = 0;
        for run in styles.chunk_by(PartialEq::eq) {
            let cells = &screen.row(y)[x..x + run.len()];
            let is_text = |cell: &Cell| !cell.is_blank();
            let is_bold = run[0].attributes.intersects(Attributes::BOLD);
            if is_bold
                && cells.iter().any(|cell| cell.may_stick_out())
                && let Some(first) = cells.iter().position(is_text)
                && let Some(last) = cells.iter().rposition(is_text)
            {
                screen.dress_blanks(y, x + first..x + last, run[0]);
            }
            x += run.len();
        }
    }

    /// Notes that a picture may cover so many rows from this cell on, and all columns to its right.
    pub(super) fn cover(&mut self, columns: u16, (x, y): (u16, u16), rows: u16) {
        if self.columns != usize::from(columns) {
            return;
        }
        for row in self.hidden.iter_mut().skip(y.into()).take(rows.into()) {
            row.iter_mut()
                .skip(x.into())
                .for_each(|noted| *noted = NONE);
        }
    }

    /// Notes that cells are blank, without a style.
    pub(super) fn clear(&mut self, cells: Range<usize>) {
        let all = self.columns * self.hidden.len();
        if cells.start == 0 && cells.end >= all {
            self.overhung.clear();
        }
        let noted = self.hidden.iter_mut().zip(0..);
        for (row, y) in noted.filter(|(row, _)| !row.is_empty()) {
            let column = |at: usize| at.saturating_sub(y * self.columns).min(self.columns);
            row[column(cells.start)..column(cells.end)].fill(NONE);
        }
    }

    /// The hidden part of a cell's style, if it is a blank that was put.
    pub(super) fn style_at(&self, columns: u16, (x, y): (u16, u16)) -> Option<Style> {
        let known = self.columns == usize::from(columns);
        let row = self.hidden.get(usize::from(y)).filter(|_| known)?;
        let hidden = row.get(usize::from(x)).filter(|hidden| **hidden != NONE)?;
        Some(Style::of_hidden(*hidden))
    }
}
