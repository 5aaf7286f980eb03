//! Moves text that only moved: rows by scrolling, parts of rows by inserting and deleting characters. And scrolls for an
//! application that asks for it.

use super::Renderer;
use super::encode::At;
use super::plan::{Change, Scroll, Shift};
use crate::model::{Cell, Color, Screen};

/// The most scrolls in a frame.
const MAX_SCROLLS: usize = 8;

/// The number of rows that `lines` line feeds from the cursor on push into the scrollback.
pub(crate) fn overflow(screen: &Screen, lines: u16) -> u16 {
    let last = screen.height().saturating_sub(1);
    let down = screen.cursor.y.saturating_add(lines);
    down.saturating_sub(last).min(screen.height())
}

impl Renderer {
    /// Scrolls rows that only moved. The planner then knows which rows still differ. Not on the main screen, where foot takes lines out of its
    /// scrollback for rows that are inserted, and puts those into it that are deleted.
    pub(super) fn scroll_rows(&mut self, wanted: &Screen) {
        self.planner.compare(&self.shown, wanted, &self.touched);
        self.find_overhangs(wanted);
        if !self.capabilities.scroll || !self.capabilities.alternate_screen || self.careful {
            return;
        }
        for _ in 0..MAX_SCROLLS {
            let Some(scroll) = self
                .planner
                .find_scroll(&self.shown, wanted, &self.overhung)
            else {
                break;
            };
            self.scroll(scroll);
            self.touched.all();
            self.planner.compare(&self.shown, wanted, &self.touched);
        }
    }

    /// Finds the rows whose cells symbols stick out into when this frame is drawn.
    fn find_overhangs(&mut self, wanted: &Screen) {
        if self.capabilities.have_overhangs() && self.planner.has_changes() {
            self.overhung.resize(wanted.height().into(), false);
            wanted.mark_overhangs(&mut self.overhung);
        }
    }

    /// Whether symbols stick out into cells of this row, or did so.
    pub(super) fn is_overhung(&self, y: u16) -> bool {
        self.overhung.get(usize::from(y)) == Some(&true)
    }

    /// Moves rows by deleting lines at one end and inserting them at the other. Within margins unless the
    /// rows reach the bottom.
    fn scroll(&mut self, scroll: Scroll) {
        let Scroll { top, bottom, by } = scroll;
        self.encoder.set_erasing_pen(Color::DEFAULT);
        self.destructive = true;
        let margins = self.is_part || bottom < self.shown.height();
        if margins {
            self.set_margins(top, bottom);
        }
        self.encoder.move_to(0, top);
        self.encoder
            .csi(by.unsigned_abs() as u16, if by > 0 { b'M' } else { b'L' });
        if margins {
            self.encoder.text("\x1b[r");
            self.encoder.at = At::Unknown;
        }
        self.shown.scroll(top, bottom, by, Cell::BLANK);
        self.stats.scrolls += 1;
    }

    /// DECSTBM: only rows `top..bottom` scroll from here on. The cursor's place is unknown then.
    fn set_margins(&mut self, top: u16, bottom: u16) {
        self.encoder.text(&format!("\x1b[{};{bottom}r", top + 1));
        self.encoder.at = At::Unknown;
    }

    /// Draws `screen`, then scrolls rows `top..bottom` of it and of the terminal, by line feeds at the
    /// bottom or reverse line feeds at the top, so that rows that leave at the top of the terminal reach
    /// its scrollback. `drawn` is drawn instead of `screen` if there is one.
    pub(crate) fn scroll_region(
        &mut self,
        screen: &mut Screen,
        drawn: Option<&Screen>,
        top: u16,
        bottom: u16,
        by: i32,
    ) -> &[u8] {
        let mut bytes = self.render(drawn.unwrap_or(screen)).to_vec();
        self.touched.all();
        let height = screen.height();
        let bottom = bottom.min(height);
        if top >= bottom || by == 0 {
            self.encoder.out = bytes;
            return &self.encoder.out;
        }
        let by = by.clamp(-i32::from(bottom - top), i32::from(bottom - top));
        // Terminals ignore a region of one row. At the top of the terminal it is scrolled together with the row below, for the scrollback;
        // elsewhere it becomes blank. The next frame draws the cells that are wrong then.
        let region = match bottom - top {
            1 if top > 0 => {
                screen.scroll(top, bottom, by, Cell::BLANK);
                self.encoder.out = bytes;
                return &self.encoder.out;
            }
            1 => height.min(2),
            _ => bottom,
        };
        self.encoder.out.clear();
        self.encoder.set_erasing_pen(Color::DEFAULT);
        self.set_margins(top, region);
        if by > 0 {
            self.encoder.move_to(0, region - 1);
            (0..by).for_each(|_| self.encoder.text("\n"));
        } else {
            self.encoder.move_to(0, top);
            (by..0).for_each(|_| self.encoder.text("\x1bM"));
        }
        self.encoder.text("\x1b[r");
        self.forget_pen();
        self.shown.scroll(top, region, by, Cell::BLANK);
        screen.scroll(top, bottom, by, Cell::BLANK);
        bytes.append(&mut self.encoder.out);
        self.encoder.out = bytes;
        &self.encoder.out
    }

    /// Draws `screen`, or `drawn` if there is that, then writes line feeds from the cursor on: it goes down, and at the bottom everything
    /// goes up.
    pub(crate) fn append_lines(
        &mut self,
        screen: &mut Screen,
        drawn: Option<&Screen>,
        lines: u16,
    ) -> &[u8] {
        let mut bytes = self.render(drawn.unwrap_or(screen)).to_vec();
        self.touched.all();
        self.encoder.out.clear();
        self.encoder.set_erasing_pen(Color::DEFAULT);
        let height = screen.height();
        let cursor = screen.cursor;
        self.encoder.move_to(cursor.x, cursor.y);
        (0..lines).for_each(|_| self.encoder.text("\n"));
        self.forget_pen();
        let down = u32::from(cursor.y) + u32::from(lines);
        let overflow = i32::from(overflow(screen, lines));
        self.shown.scroll(0, height, overflow, Cell::BLANK);
        screen.scroll(0, height, overflow, Cell::BLANK);
        screen.cursor.y = down.min(u32::from(height.saturating_sub(1))) as u16;
        bytes.append(&mut self.encoder.out);
        self.encoder.out = bytes;
        &self.encoder.out
    }

    /// Shifts a part of a row if that saves anything; returns the distance, a hint for the row below.
    pub(super) fn shift_row(&mut self, wanted: &Screen, y: u16, change: Change, hint: i32) -> i32 {
        if !self.capabilities.shift || self.careful || self.is_overhung(y) {
            return 0;
        }
        let found = self
            .planner
            .find_shift(self.shown.row(y), wanted.row(y), change, hint);
        let Some(shift) = found else { return hint };
        let Shift { from, to, by } = shift;
        // What a line that has just been drawn above sticks out with would move with the cell below it.
        if self.capabilities.have_overhangs() && y > 0 {
            let above = &wanted.row(y - 1)[from..to];
            let mut pairs = above.iter().zip(&self.shown.row(y)[from..to]);
            if pairs.any(|(cell, below)| cell.shows_in_below(*below)) {
                return 0;
            }
        }
        let distance = by.unsigned_abs() as usize;
        let inner = self.is_part || to < usize::from(wanted.width());
        self.destructive = true;
        let (first, second) = if by > 0 { (b'P', b'@') } else { (b'@', b'P') };
        // Inside a row, deleting comes first, so that no cell is pushed over the edge.
        if inner && by < 0 {
            self.encoder.move_to((to - distance) as u16, y);
            self.encoder.csi(distance as u16, second);
        }
        self.encoder.move_to(from as u16, y);
        self.encoder.csi(distance as u16, first);
        if inner && by > 0 {
            self.encoder.move_to((to - distance) as u16, y);
            self.encoder.csi(distance as u16, second);
        }
        let erased = self.encoder.erased();
        let row = &mut self.shown.row_mut(y)[from..to];
        if by > 0 {
            row.copy_within(distance.., 0);
            let kept = row.len() - distance;
            row[kept..].fill(erased);
        } else {
            row.copy_within(..row.len() - distance, distance);
            row[..distance].fill(erased);
        }
        self.stats.rows_shifted += 1;
        by
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Capabilities;
    use crate::model::Style;
    use crate::render::tests::Xorshift;

    #[test]
    fn what_an_application_scrolls_is_what_an_emulator_shows() {
        let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
        for _ in 0..200 {
            let (width, height) = (4, 1 + random.below(6) as u16);
            let size = |n: u16| n.try_into().expect("not zero");
            let mut emulator = vt100::Parser::new(size(height), size(width), 0);
            let mut renderer = Renderer::new(Capabilities::full());
            let mut screen = Screen::new(width, height);
            for step in 0..40 {
                let y = random.below(height.into()) as u16;
                screen.put(0, y, &format!("{step:4}"), Style::default());
                let top = random.below(height.into()) as u16;
                let bottom = top + random.below(u64::from(height - top) + 2) as u16;
                let by = random.below(9) as i32 - 4;
                emulator.process(renderer.scroll_region(&mut screen, None, top, bottom, by));
                emulator.process(renderer.render(&screen));
                let rows = 0..height;
                let wanted = rows.map(|y| (0..width).map(|x| screen.text(x, y)).collect());
                let wanted: Vec<String> = wanted.collect();
                let shown: Vec<String> = emulator.screen().rows(0, width).collect();
                let shown: Vec<String> = shown.iter().map(|row| format!("{row:4}")).collect();
                assert_eq!(shown, wanted, "{top}..{bottom} of {height} by {by}");
            }
        }
    }
    /// Rows that moved are moved on the alternate screen, and drawn again on the main screen.
    #[test]
    fn no_row_of_the_main_screen_is_moved() {
        for alternate_screen in [true, false] {
            let mut renderer = Renderer::new(Capabilities {
                alternate_screen,
                ..Capabilities::full()
            });
            let mut moved = String::new();
            for first in 0..4_u16 {
                let mut screen = Screen::new(60, 8);
                for y in 0..8 {
                    let text = format!("row {} of a text", first + y).repeat(4);
                    for (x, symbol) in (0..60).zip(text.chars()) {
                        screen.put(x, y, symbol.encode_utf8(&mut [0; 4]), Style::default());
                    }
                }
                moved.push_str(&String::from_utf8_lossy(renderer.render(&screen)));
            }
            let command = |rest: &str| {
                rest.trim_start_matches(|c: char| c.is_ascii_digit())
                    .chars()
                    .next()
            };
            let moves = moved.split("\x1b[").filter_map(command);
            assert_eq!(
                moves.filter(|c| "LMST".contains(*c)).count() > 0,
                alternate_screen
            );
        }
    }
}
