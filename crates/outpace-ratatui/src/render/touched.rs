//! The rows that may differ. An application mostly draws in a few rows of a frame, and the others need not be compared.

use crate::model::Screen;

/// The rows in which the wanted screen may differ from the shown one. All of them, until some are [reported](Self::report).
#[derive(Debug, Default)]
pub(crate) struct Touched {
    all: bool,
    rows: Vec<bool>,
    /// The rows were reported. Otherwise any may differ.
    reported: bool,
}

impl Touched {
    pub(crate) fn all(&mut self) {
        self.all = true;
    }

    #[inline]
    pub(crate) fn row(&mut self, y: u16) {
        match self.rows.get_mut(usize::from(y)) {
            Some(row) => *row = true,
            None => self.row_beyond(y),
        }
    }

    #[cold]
    fn row_beyond(&mut self, y: u16) {
        self.rows.resize(usize::from(y) + 1, false);
        self.rows[usize::from(y)] = true;
    }

    /// Takes over those of another one, and leaves that empty.
    pub(crate) fn absorb(&mut self, newer: &mut Self) {
        self.all |= std::mem::take(&mut newer.all);
        for (y, row) in newer.rows.iter_mut().enumerate() {
            if std::mem::take(row) {
                self.row(y as u16);
            }
        }
    }

    /// Takes over the rows in which the next frame may differ. From now on all others are taken to be the same.
    pub(super) fn report(&mut self, rows: &mut Self) {
        self.absorb(rows);
        self.reported = true;
    }

    pub(super) fn may_differ(&self, y: u16) -> bool {
        !self.reported || self.all || self.rows.get(usize::from(y)).is_some_and(|row| *row)
    }

    /// Whether the other rows really are the same.
    pub(super) fn holds(&self, shown: &Screen, wanted: &Screen) -> bool {
        let differs = |y: u16| {
            let mut pairs = shown.row(y).iter().zip(wanted.row(y));
            pairs.any(|(old, new)| old != new && !new.is_unknown())
        };
        (0..wanted.height()).all(|y| self.may_differ(y) || !differs(y))
    }

    /// Begins again after a frame: no row differs, and none was reported.
    pub(super) fn begin(&mut self) {
        self.all = false;
        self.rows.fill(false);
        self.reported = false;
    }
}
