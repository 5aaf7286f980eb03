//! The cells that may differ. An application mostly draws in a few rows of a frame, and in a part of them; the others need not be
//! compared.

use std::ops::Range;

use crate::model::Screen;

/// The columns of each row in which the wanted screen may differ from the shown one. All of them, until some are
/// [reported](Self::report).
#[derive(Debug, Default)]
pub(crate) struct Touched {
    all: bool,
    /// For each row the first column, and the one behind the last.
    rows: Vec<(u16, u16)>,
    /// The columns were reported. Otherwise any may differ.
    reported: bool,
}

/// No columns.
const NONE: (u16, u16) = (u16::MAX, 0);

impl Touched {
    pub(crate) fn all(&mut self) {
        self.all = true;
    }

    pub(crate) fn cells(&mut self, y: u16, (from, to): (u16, u16)) {
        if from >= to {
            return;
        }
        let y = usize::from(y);
        if self.rows.len() <= y {
            self.rows.resize(y + 1, NONE);
        }
        let row = &mut self.rows[y];
        *row = (row.0.min(from), row.1.max(to));
    }

    /// How many cells of the screen these are.
    pub(crate) fn count(&self, screen: &Screen) -> usize {
        if self.all {
            return screen.len();
        }
        let rows = self.rows.iter().take(screen.height().into());
        rows.map(|row| usize::from(row.1.min(screen.width()).saturating_sub(row.0)))
            .sum()
    }

    /// Takes over those of another one, and leaves that empty.
    pub(crate) fn absorb(&mut self, newer: &mut Self) {
        self.all |= std::mem::take(&mut newer.all);
        for (y, row) in newer.rows.iter_mut().enumerate() {
            self.cells(y as u16, std::mem::replace(row, NONE));
        }
    }

    /// Takes over the columns in which the next frame may differ. From now on all others are taken to be the same.
    pub(super) fn report(&mut self, rows: &mut Self) {
        self.absorb(rows);
        self.reported = true;
    }

    /// The columns of a row that may differ, of a screen of so many.
    pub(super) fn columns(&self, y: u16, width: u16) -> Range<usize> {
        let (from, to) = match self.rows.get(usize::from(y)) {
            _ if !self.reported || self.all => (0, width),
            Some(&(from, to)) => (from, to.min(width)),
            None => NONE,
        };
        usize::from(from.min(to))..usize::from(to)
    }

    /// Whether the other cells really are the same.
    pub(super) fn holds(&self, shown: &Screen, wanted: &Screen) -> bool {
        let differs = |y: u16| {
            let columns = self.columns(y, wanted.width());
            let pairs = shown.row(y).iter().zip(wanted.row(y)).enumerate();
            let mut others = pairs.filter(|(x, _)| !columns.contains(x));
            others.any(|(_, (old, new))| old != new && !new.is_unknown())
        };
        (0..wanted.height()).all(|y| !differs(y))
    }

    /// Begins again after a frame: no cell differs, and none was reported.
    pub(super) fn begin(&mut self) {
        self.all = false;
        self.rows.fill(NONE);
        self.reported = false;
    }
}
