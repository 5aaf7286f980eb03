//! The cells that the terminal may not show any more.

use crate::model::Screen;
use crate::render::{Renderer, Touched};

/// Cells that the terminal may not show any more, in reading order: to be drawn again.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    all: bool,
    ranges: Vec<(usize, usize)>,
    /// Cells that are taken to be blank if they are unknown.
    blank: Vec<(usize, usize)>,
    /// The rows in which the wanted screen may have changed.
    touched: Touched,
}

impl Damage {
    const MAX_RANGES: usize = 4096;

    /// Notes that the wanted screen may have changed in a row.
    #[inline]
    pub(crate) fn touch_row(&mut self, y: u16) {
        self.touched.row(y);
    }

    /// Notes that it may have changed in any row.
    pub(crate) fn touch_all(&mut self) {
        self.touched.all();
    }

    pub(crate) fn everything(&mut self) {
        self.all = true;
        self.touched.all();
        self.ranges.clear();
        self.blank.clear();
    }

    /// Takes cells to be blank if they are unknown.
    pub(crate) fn assume_blank(&mut self, from: usize, to: usize) {
        if !self.all {
            self.blank.push((from, to));
        }
    }

    pub(crate) fn cells(&mut self, from: usize, to: usize) {
        if self.all {
            return;
        }
        if let Some(last) = self.ranges.last_mut()
            && last.1 == from
        {
            last.1 = to;
        } else if self.ranges.len() == Self::MAX_RANGES {
            self.everything();
        } else {
            self.ranges.push((from, to));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.ranges.is_empty() && self.blank.is_empty()
    }

    /// Takes over another one's damage, and leaves that empty.
    pub(super) fn absorb(&mut self, newer: &mut Self) {
        self.touched.absorb(&mut newer.touched);
        if newer.all {
            self.everything();
        }
        newer
            .ranges
            .drain(..)
            .for_each(|(from, to)| self.cells(from, to));
        newer
            .blank
            .drain(..)
            .for_each(|(from, to)| self.assume_blank(from, to));
        newer.all = false;
    }

    /// Has the renderer follow the size of the next screen, and forget the cells of the damage, which is empty afterwards.
    pub(super) fn apply(&mut self, renderer: &mut Renderer, screen: &Screen) {
        renderer.adopt_size(screen);
        renderer.take_touched(&mut self.touched);
        if self.all {
            renderer.forget();
        }
        for (from, to) in self.blank.drain(..) {
            renderer.assume_blank(from, to);
        }
        for (from, to) in self.ranges.drain(..) {
            renderer.forget_cells(from, to);
        }
        self.all = false;
    }
}
