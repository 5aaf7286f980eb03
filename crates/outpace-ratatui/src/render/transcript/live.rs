//! The rows below the anchor, drawn one by one without wrapping: the open line and the live region.

use super::{Column, Last, RESTORE_CURSOR, Reflow, TranscriptRenderer, after};
use crate::model::{Attributes, Cell, Screen, Style, same_cells, trusted_width};
use crate::render::row::{blank_tail, columns_of};

impl TranscriptRenderer {
    /// Makes the terminal show the open line and the live region from the anchor on.
    pub(super) fn draw(&mut self, wanted: &Screen) {
        let mut last = self.last.take_if(|last| last.is_open());
        let most = self.most_open_rows(wanted.height());
        let open = last.as_ref().map_or(0, |last| last.rows.min(most));
        let elsewhere = match self.reflow {
            Reflow::AboveCursor => open.max(1) + 1,
            _ => open + u16::from(self.on_last),
        };
        let wanted_rows = wanted.height().min(self.rows.saturating_sub(elsewhere));
        let height = open + wanted_rows;
        let moved = last
            .as_mut()
            .is_some_and(|last| self.hide_rows(last, last.rows - open));
        let moves_down = self.can_move_rows()
            && (self.open_rows..self.shown.height()).any(|y| self.is_left_over(y, 0));
        if moves_down && self.shown.height() + open.saturating_sub(self.open_rows) <= height {
            self.make_room(open);
        }
        self.open_rows = open;
        let old = self.shown.height();
        if height > old {
            self.shown.resize(self.width, height);
            self.shown.claim(0..self.width, old..height);
        }
        self.shown.share_symbols(wanted);
        let start = self.encoder.out.len();
        if self.on_last {
            let differs = |y: &u16| match *y < height {
                true => !same_cells(self.shown.row(*y), wanted.row(*y)),
                false => self.is_left_over(*y, 0),
            };
            if let Some(lowest) = (0..height.max(old)).rev().find(differs) {
                self.save_and_move_below(lowest + 1);
            }
        }
        let wraps = self.wraps;
        self.set_wrapping(false);
        let empty = self.encoder.out.len();
        if let Some(last) = &mut last {
            self.draw_open(last, moved);
        }
        for y in 0..wanted_rows {
            let shown = self.shown.row(open + y);
            if same_cells(shown, wanted.row(y)) {
                self.stats.cells_unchanged += u64::from(self.width);
                continue;
            }
            let shown = shown.to_vec();
            self.go_to_row(open + y);
            self.draw_row(&shown, wanted, y);
        }
        // Rows of a region that was higher.
        let mut left = (height..old).filter(|&y| self.is_left_over(y, 0));
        if let Some(first) = left.next() {
            self.go_to_row(first);
            self.erase_from_row(false);
        }
        if self.encoder.out.len() == empty {
            self.encoder.out.truncate(start);
            self.wraps = wraps;
        } else {
            // Not while a line grows: the next token would turn it off again.
            if last.is_none() {
                self.set_wrapping(true);
            }
            self.drawn_below = true;
            if self.on_last {
                self.encoder.text(RESTORE_CURSOR);
                self.encoder.assume_pen(Style::default());
                self.row = 0;
            }
        }
        self.shown.resize(self.width, height);
        self.shown.copy_rows(open, wanted, wanted_rows);
        if last.is_some() {
            self.last = last;
        }
    }

    /// Leaves out so many rows of the open line. Returns whether the other rows that are drawn could be moved, all but the first: terminals take
    /// a row that is deleted at the top of the screen into their scrollback, and alacritty 0.11 takes any.
    fn hide_rows(&mut self, last: &mut Last, rows: u16) -> bool {
        let more = rows.saturating_sub(last.hidden);
        let is_steady = last.rows - rows == self.open_rows;
        if std::mem::replace(&mut last.hidden, rows) == rows {
            return false;
        }
        let can_delete = self.can_move_rows() && self.reflow != Reflow::All;
        if !is_steady || !(1..self.open_rows).contains(&more) || !can_delete {
            last.open = Some(0);
            return false;
        }
        let (height, end) = (self.shown.height(), self.open_rows - more);
        self.set_plain_pen();
        self.go_to_row(1);
        self.encoder.csi(more, b'M');
        self.go_to_row(end);
        self.encoder.csi(more, b'L');
        self.column = Column::Unknown;
        self.shown.scroll(1, height, more.into(), Cell::BLANK);
        self.shown
            .scroll(end, height, -i32::from(more), Cell::BLANK);
        true
    }

    /// Draws the symbols that the open line has grown by, and the first row of those that are drawn if it shows another one.
    fn draw_open(&mut self, last: &mut Last, draws_first: bool) {
        let mut drawn = last.open.replace(last.glyphs.len()).unwrap_or(0);
        if drawn == last.glyphs.len() {
            return;
        }
        while drawn > 0 && last.glyphs[drawn].joins {
            drawn -= 1;
        }
        let (mut row, mut column, mut begun) = (0, 0, false);
        for (at, glyph) in last.glyphs.iter().enumerate() {
            let (next, wrapped) = after(column, glyph.columns, self.width);
            if wrapped {
                if begun {
                    self.end_open_row(row - last.hidden, column);
                }
                (row, column, begun) = (row + 1, 0, false);
            }
            if row >= last.hidden && (at >= drawn || draws_first && row == last.hidden) {
                if !begun {
                    self.go_to_row(row - last.hidden);
                    self.go_to_column(column);
                    begun = true;
                }
                self.encoder.set_pen(glyph.style);
                self.encoder.text(&glyph.text);
            }
            column = next;
        }
        self.end_open_row(row - last.hidden, column);
    }

    /// Erases the rest of a row behind the open line.
    fn end_open_row(&mut self, row: u16, column: u16) {
        if column < self.width && self.is_left_over(row, column) {
            self.set_plain_pen();
            self.encoder.text("\x1b[K");
        }
        self.mark_drawn(row, column);
    }

    /// Notes that a row shows the open line up to a column, and blanks behind it.
    fn mark_drawn(&mut self, row: u16, column: u16) {
        // A wide symbol in a terminal of one column ends behind it.
        let drawn = ..usize::from(column.min(self.width));
        self.shown.row_mut(row)[drawn].fill(Cell::UNKNOWN);
        self.blank_behind(row, column);
    }

    /// Draws the cells that differ in the cursor's row, and leaves the cursor anywhere in it.
    fn draw_row(&mut self, shown: &[Cell], wanted: &Screen, y: u16) {
        let target = wanted.row(y);
        let tail = blank_tail(target);
        let mut x = 0;
        // The cursor's column, if that is sure.
        let mut cursor = None;
        while x < target.len() {
            let cell = target[x];
            let columns = columns_of(target, x);
            if shown[x..x + columns] == target[x..x + columns] || cell.is_continuation() {
                x += columns;
                continue;
            }
            if x >= tail && cell == Cell::BLANK {
                // Erased from the first blank on: blanks that were printed would count as text when the row is reflowed.
                self.go_to_column(tail as u16);
                self.set_plain_pen();
                self.encoder.text("\x1b[K");
                self.stats.cells_erased += (target.len() - x) as u64;
                return;
            }
            if cursor != Some(x) {
                self.go_to_column(x as u16);
            }
            self.encoder.set_pen(cell.style());
            self.encoder.text(&wanted.text(x as u16, y));
            self.stats.cells_written += columns as u64;
            let sure = cell.as_char().is_some_and(|c| trusted_width(c) == columns);
            x += columns;
            // At the right edge the cursor stays on the last column.
            cursor = (sure && x < target.len()).then_some(x);
        }
    }

    /// Draws the region's cursor into it, as a cell in reverse: the terminal's own cursor stays at the anchor.
    pub(crate) fn with_cursor(screen: &mut Screen) {
        let cursor = screen.cursor;
        if cursor.visible && cursor.x < screen.width() && cursor.y < screen.height() {
            let style = screen.row(cursor.y)[usize::from(cursor.x)].style();
            let text = screen.text(cursor.x, cursor.y);
            let columns = columns_of(screen.row(cursor.y), usize::from(cursor.x));
            let attributes = match style.attributes.intersects(Attributes::REVERSED) {
                true => style.attributes.difference(Attributes::REVERSED),
                false => style.attributes.union(Attributes::REVERSED),
            };
            let symbol = if text.is_empty() { " " } else { &text };
            let style = Style {
                attributes,
                ..style
            };
            screen.put_symbol(cursor.x, cursor.y, symbol, columns as u16, style);
        }
    }
}
