//! Which rows may differ: those that an application draws in a frame are mostly few, and the others need not be compared.

use crate::model::Screen;

/// Rows of the screen that is wanted in which it may differ from what is shown. All of them, as long as nothing else is [told](Self::tell).
#[derive(Debug, Default)]
pub(crate) struct Touched {
    all: bool,
    rows: Vec<bool>,
    /// Whether that is to be believed.
    told: bool,
}

impl Touched {
    pub(crate) fn all(&mut self) {
        self.all = true;
    }

    #[inline]
    pub(crate) fn row(&mut self, y: u16) {
        match self.rows.get_mut(usize::from(y)) {
            Some(row) => *row = true,
            None => self.first(y),
        }
    }

    #[cold]
    fn first(&mut self, y: u16) {
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

    /// The same, which from now on says what may differ in the next frame.
    pub(super) fn tell(&mut self, rows: &mut Self) {
        self.absorb(rows);
        self.told = true;
    }

    pub(super) fn may_differ(&self, y: u16) -> bool {
        !self.told || self.all || self.rows.get(usize::from(y)).is_some_and(|row| *row)
    }

    /// Whether the other rows are as they should be.
    pub(super) fn holds(&self, shown: &Screen, wanted: &Screen) -> bool {
        let differs = |y: u16| {
            let mut pairs = shown.row(y).iter().zip(wanted.row(y));
            pairs.any(|(old, new)| old != new && !new.is_unknown())
        };
        (0..wanted.height()).all(|y| self.may_differ(y) || !differs(y))
    }

    /// Nothing differs, and nothing is told of the next frame.
    pub(super) fn begin(&mut self) {
        self.all = false;
        self.rows.fill(false);
        self.told = false;
    }
}
