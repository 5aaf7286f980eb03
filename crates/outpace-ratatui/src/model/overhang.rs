//! Symbols that stick out of their cells.
//!
//! xterm draws lines by itself where its font has none, a pixel too long: to the right, and downwards. What sticks out stays in the
//! neighbouring cell until that is drawn again, and comes back when the line is drawn again. So in such cells a picture depends on
//! what was drawn last, and it is crossterm's only if the same cells are drawn, in the same order.

use super::cell::Cell;
use super::screen::Screen;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const UP: u8 = 4;
const DOWN: u8 = 8;

impl Cell {
    /// The edges of the cell that a line reaches, of the lines that xterm draws by itself.
    #[inline]
    const fn lines(self) -> u8 {
        let symbol = self.symbol();
        if symbol < '⎺' as u32 || symbol > '┼' as u32 {
            return 0;
        }
        match self.as_char() {
            Some('⎺'..='⎽') => RIGHT,
            Some('─') => LEFT | RIGHT,
            Some('│') => UP | DOWN,
            Some('┌') => RIGHT | DOWN,
            Some('┐') => LEFT | DOWN,
            Some('└') => RIGHT | UP,
            Some('┘') => LEFT | UP,
            Some('├') => UP | DOWN | RIGHT,
            Some('┤') => UP | DOWN | LEFT,
            Some('┬') => LEFT | RIGHT | DOWN,
            Some('┴') => LEFT | RIGHT | UP,
            Some('┼') => LEFT | RIGHT | UP | DOWN,
            _ => 0,
        }
    }

    /// Whether the symbol sticks out into the cell to its right.
    #[inline]
    pub(crate) const fn sticks_out_right(self) -> bool {
        self.lines() & RIGHT != 0 || self.may_stick_out()
    }

    /// Whether the symbol sticks out into the cell below.
    #[inline]
    pub(crate) const fn sticks_out_below(self) -> bool {
        self.lines() & DOWN != 0
    }

    /// Whether the symbol sticks out into a cell to its right, and the line there does not cover it.
    fn shows_in_right(self, right: Self) -> bool {
        let covered = self.lines() & RIGHT != 0 && right.lines() & LEFT != 0 && right.fg == self.fg;
        self.sticks_out_right() && !covered
    }

    /// As [`shows_in_right`](Self::shows_in_right), of a cell below.
    pub(crate) fn shows_in_below(self, below: Self) -> bool {
        self.sticks_out_below() && !(below.lines() & UP != 0 && below.fg == self.fg)
    }
}

impl Screen {
    /// Marks the rows in which symbols stick out into cells to the right or below, and those rows below.
    pub(crate) fn mark_overhangs(&self, rows: &mut [bool]) {
        for y in 0..self.height() {
            let row = self.row(y);
            let mut pairs = row.iter().zip(&row[1.min(row.len())..]);
            let at = usize::from(y);
            rows[at] |= pairs.any(|(cell, right)| cell.shows_in_right(*right));
            if y + 1 < self.height() {
                let mut pairs = row.iter().zip(self.row(y + 1));
                if pairs.any(|(cell, below)| cell.shows_in_below(*below)) {
                    rows[at..=at + 1].fill(true);
                }
            }
        }
    }
}
