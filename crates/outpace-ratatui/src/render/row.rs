//! Prints the cells that still differ in a row, each the cheapest way.

use super::Renderer;
use super::encode::At;
use super::plan::Change;
use crate::model::{
    Attributes, Cell, Repeat, Screen, Style, UPPER_HALF, first_difference, has_only_marks, is_flag,
    is_narrow, is_placeholder, trusted_width,
};

/// Where bytes are cheap, one row in this many is drawn in colour order: a part of the gain for a part of the time.
const SAMPLE: u16 = 5;

impl Renderer {
    /// Prints the cells that differ in a row, which lie in this part of it. Cells that are right stay untouched if symbols stick out into
    /// some.
    pub(super) fn draw_row(&mut self, wanted: &Screen, y: u16, change: Change) {
        let careful = self.careful;
        self.careful |= self.is_overhung(y);
        if self.draw_cells(wanted, y, change) {
            self.shown.share_row(y, wanted);
        }
        self.careful = careful;
    }

    /// Returns whether the row then shows all of the wanted one: no cell of that is to be left alone.
    fn draw_cells(&mut self, wanted: &Screen, y: u16, change: Change) -> bool {
        let mut is_whole = true;
        let width = usize::from(wanted.width());
        let target = wanted.row(y);
        let tail = blank_tail(target);
        let drawn = self.draw_in_colour_order(wanted, y, change);
        let (mut x, end) = (usize::from(change.first), usize::from(change.end));
        self.stats.cells_unchanged += x as u64;
        loop {
            let shown = self.shown.row(y);
            if x < end {
                let ahead = first_difference(&shown[x..end], &target[x..end]);
                let unchanged = ahead.unwrap_or(end - x);
                self.stats.cells_unchanged += unchanged as u64;
                x += unchanged;
            }
            // A symbol may have left unknown cells behind it, and behind the part.
            if x >= end && shown.get(x) == target.get(x) {
                self.stats.cells_unchanged += width.saturating_sub(x) as u64;
                break;
            }
            let cell = target[x];
            if cell.is_unknown() {
                self.stats.cells_unchanged += 1;
                is_whole = false;
                x += 1;
                continue;
            }
            if x >= tail && self.erase_tail(cell, x, y) {
                break;
            }
            if self.takes_shortcuts() {
                let drawn = match cell.is_two_colors() {
                    true => self.draw_picture(target, x, y),
                    false => self.draw_text(&target[..tail], x, y),
                };
                if drawn > 0 {
                    x += drawn;
                    continue;
                }
            }
            x = match cell.as_char() {
                Some(c) if trusted_width(c) == columns_of(target, x) => {
                    self.draw_char(wanted, x, y, cell, c)
                }
                _ => {
                    // A part of a symbol whose head is to be left alone is not drawn either.
                    is_whole &= !cell.is_continuation();
                    self.draw_cluster(wanted, x, y, cell)
                }
            };
        }
        // The loop found the cells that were drawn in colour order as they should be; they were not so before.
        self.stats.cells_unchanged -= drawn as u64;
        is_whole
    }

    /// Draws the cells of pictures in colour order, where that saves bytes. Returns how many.
    fn draw_in_colour_order(&mut self, wanted: &Screen, y: u16, change: Change) -> usize {
        let order_matters = !self.capabilities.any_order || self.is_overhung(y);
        if !(self.thorough || y % SAMPLE == SAMPLE - 1) || order_matters {
            return 0;
        }
        let pen = match self.encoder.pen() {
            // The first cells of this frame.
            None => Style::default(),
            Some(_) => match self.encoder.picture_pen() {
                Some(pen) => pen,
                None => return 0,
            },
        };
        let target = wanted.row(y);
        let mut order = std::mem::take(&mut self.colour_order);
        let columns = order.find(
            self.shown.row(y),
            target,
            change.columns(),
            pen,
            self.capabilities.half_blocks,
        );
        if columns.is_empty() {
            self.colour_order = order;
            return 0;
        }
        let shown = self.shown.row_mut(y);
        self.encoder.set_pen(pen);
        for &x in columns {
            let cell = target[usize::from(x)];
            let symbol = if cell.is_blank() { ' ' } else { UPPER_HALF };
            self.encoder.move_to(x, y);
            self.encoder.print(cell, symbol, 1, &mut self.stats);
            shown[usize::from(x)] = cell;
        }
        let drawn = columns.len();
        self.stats.cells_written += drawn as u64;
        self.stats.cells_out_of_order += drawn as u64;
        if let Some(written) = &mut self.written {
            let start = wanted.index(0, y);
            for &x in columns {
                written[start + usize::from(x)] = true;
            }
        }
        self.colour_order = order;
        drawn
    }

    /// Prints an unbroken run of cells of two colours each, as [`draw_char`](Self::draw_char) would, without its checks. Returns how
    /// many.
    fn draw_picture(&mut self, target: &[Cell], from: usize, y: u16) -> usize {
        let Some(mut pen) = self.encoder.picture_pen() else {
            return 0;
        };
        if self.encoder.at != At::Known(from as u16, y) {
            return 0;
        }
        let half_blocks = self.capabilities.half_blocks;
        let shown = &mut self.shown.row_mut(y)[..target.len()];
        let mut x = from;
        // The two behind a cell have to be looked at, too; the last of a row take the long way.
        while let Some(&[cell, next, after]) = target.get(x..).and_then(<[_]>::first_chunk) {
            if !cell.is_two_colors()
                || cell == shown[x]
                || cell == next
                || shown[x + 1].is_continuation()
            {
                break;
            }
            let fits = |cell: Cell| cell.shares_color(pen.fg, pen.bg);
            if half_blocks && !fits(cell) && (fits(next) || fits(after)) {
                // Perhaps one of those is better drawn first.
                break;
            }
            self.encoder
                .print_two_colors(cell, &mut pen, &mut self.stats);
            shown[x] = cell;
            x += 1;
        }
        let drawn = x - from;
        if drawn > 0 {
            self.encoder.end_picture(pen, drawn as u16);
            self.record(from, y, drawn);
        }
        drawn
    }

    /// Prints an unbroken run of cells in the pen's style, as [`draw_char`](Self::draw_char) would, without its checks. Returns how
    /// many.
    fn draw_text(&mut self, target: &[Cell], from: usize, y: u16) -> usize {
        let Some(pen) = self.encoder.pen() else {
            return 0;
        };
        if self.encoder.at != At::Known(from as u16, y) {
            return 0;
        }
        let blanks_show = pen.attributes.intersects(Attributes::VISIBLE_ON_BLANK);
        let repeats = self.capabilities.repeat != Repeat::Nothing;
        let shown = &mut self.shown.row_mut(y)[..target.len()];
        let mut x = from;
        // The one behind a cell has to be looked at, too; the last of a row takes the long way.
        while let Some(&[cell, next]) = target.get(x..).and_then(<[_]>::first_chunk) {
            let fits = match cell.is_blank() {
                true => cell.bg == pen.bg && !blanks_show,
                false => cell.style() == pen && !cell.is_two_colors(),
            };
            let wide = next.is_continuation() || shown[x + 1].is_continuation();
            // A run of them is perhaps repeated, or erased.
            let run = cell == next && (repeats || cell.is_blank());
            if !fits || wide || run || cell == shown[x] {
                break;
            }
            let Some(c) = cell.as_char().filter(|c| is_narrow(*c)) else {
                break;
            };
            self.encoder.symbol(c);
            shown[x] = cell;
            x += 1;
        }
        let drawn = x - from;
        if drawn > 0 {
            self.encoder.advance(drawn as u16);
            self.record(from, y, drawn);
        }
        drawn
    }

    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        reason = "tests compare with what it does without"
    )]
    pub(super) const fn takes_shortcuts(&self) -> bool {
        true
    }

    #[cfg(test)]
    pub(super) const fn takes_shortcuts(&self) -> bool {
        !self.naive
    }

    fn record(&mut self, x: usize, y: u16, columns: usize) {
        self.stats.cells_written += columns as u64;
        if let Some(written) = &mut self.written {
            let start = self.shown.index(x as u16, y);
            written[start..start + columns].fill(true);
        }
    }

    /// Erases to the end of the row if that is shorter than printing blanks.
    fn erase_tail(&mut self, blank: Cell, x: usize, y: u16) -> bool {
        let row = &self.shown.row(y)[x..];
        let to_print = row
            .iter()
            .rposition(|cell| *cell != blank)
            .map_or(0, |last| last + 1);
        let untouchable = || self.careful && row.contains(&blank);
        if self.is_part || to_print <= 3 || !self.may_erase_to(blank) || untouchable() {
            return false;
        }
        self.reach(x, y);
        self.encoder.set_erasing_pen(blank.bg);
        self.encoder.text("\x1b[K");
        let erased = &mut self.shown.row_mut(y)[x..];
        erased.fill(blank);
        self.stats.cells_erased += erased.len() as u64;
        true
    }

    fn may_erase_to(&self, blank: Cell) -> bool {
        self.capabilities.erase_to_background || !blank.bg.is_explicit()
    }

    /// Prints a cell of one `char`, with the cells after it if they are the same; returns the column behind.
    #[inline]
    fn draw_char(&mut self, wanted: &Screen, x: usize, y: u16, cell: Cell, c: char) -> usize {
        let target = wanted.row(y);
        let columns = columns_of(target, x);
        if columns > 1 {
            self.reach(x, y);
            self.encoder.print(cell, c, columns as u16, &mut self.stats);
            self.mark_shown(wanted, x, y, columns);
            return x + columns;
        }
        if let Some(ahead) = self.better_first(target, x, y) {
            let next = target[x + ahead];
            self.reach(x + ahead, y);
            self.encoder.print(next, c, 1, &mut self.stats);
            self.mark_shown(wanted, x + ahead, y, 1);
        }
        let repeats = self.capabilities.repeat != Repeat::Nothing;
        let run = match repeats || cell.is_blank() {
            true => self.run_to_draw(target, x, y),
            // One by one.
            false => 1,
        };
        if run > 8 && cell.is_blank() && self.erase_run(cell, x, y, run) {
            return x + run;
        }
        self.reach(x, y);
        let printed = self.encoder.print(cell, c, 1, &mut self.stats);
        self.mark_shown(wanted, x, y, 1);
        let repeatable = match self.capabilities.repeat {
            Repeat::Nothing => false,
            Repeat::Ascii => printed.is_ascii(),
            Repeat::Anything => true,
        };
        // Some terminals (wezterm) wrap at once when repeating reaches the edge, so it stops before.
        let more = (run - 1).min(usize::from(wanted.width()).saturating_sub(x + 2));
        // CSI n b takes 4 bytes, or 5 from 10 repetitions on.
        if repeatable && more * printed.len_utf8() > 5 && !self.has_to_be_one_run(target, x) {
            self.encoder.csi(more as u16, b'b');
            self.encoder.advance(more as u16);
            self.mark_shown(wanted, x + 1, y, more);
            self.stats.cells_repeated += more as u64;
            return x + 1 + more;
        }
        x + 1
    }

    /// Whether a cell belongs to a run of bold text that xterm draws by another font if it is not printed at once: because of a symbol
    /// that the bold font lacks.
    fn has_to_be_one_run(&self, target: &[Cell], x: usize) -> bool {
        let style = target[x].style();
        let alike = |cell: &&Cell| cell.style() == style || cell.is_continuation();
        let before = target[..x].iter().rev().take_while(alike);
        let mut run = before.chain(target[x..].iter().take_while(alike));
        self.capabilities.have_overhangs() && run.any(|cell| cell.may_stick_out())
    }

    /// In pictures made of half blocks most of the bytes are colours. If the pen has none of the next cell's
    /// but one of those of a cell just behind it, that one is drawn first: a few bytes of motion against
    /// up to sixteen of colour. Returns how far ahead it is.
    #[inline]
    fn better_first(&self, target: &[Cell], x: usize, y: u16) -> Option<usize> {
        let cell = target[x];
        if !cell.is_two_colors() || !self.capabilities.half_blocks {
            return None;
        }
        let pen = self.encoder.pen()?;
        if cell.shares_color(pen.fg, pen.bg) {
            return None;
        }
        (1..=2).find(|&ahead| {
            target.get(x + ahead).is_some_and(|&next| {
                next.is_two_colors()
                    && next.shares_color(pen.fg, pen.bg)
                    && !next.shares_color(cell.fg, cell.bg)
                    && self.shown.row(y)[x + ahead] != next
            })
        })
    }

    /// How many cells from `x` on are alike, up to the last that has to be drawn.
    #[inline]
    fn run_to_draw(&self, target: &[Cell], x: usize, y: u16) -> usize {
        let cell = target[x];
        if target.get(x + 1) != Some(&cell) {
            return 1;
        }
        let alike = target[x..].iter().take_while(|next| **next == cell).count();
        let shown = &self.shown.row(y)[x..x + alike];
        if self.careful {
            return shown.iter().take_while(|old| **old != cell).count();
        }
        shown
            .iter()
            .rposition(|old| *old != cell)
            .map_or(1, |last| last + 1)
    }

    /// Erases a run of blanks in the middle of a row (ECH), if the terminal cannot repeat them.
    fn erase_run(&mut self, blank: Cell, x: usize, y: u16, run: usize) -> bool {
        if self.capabilities.repeat != Repeat::Nothing
            || !self.capabilities.erase_characters
            || !self.may_erase_to(blank)
        {
            return false;
        }
        self.reach(x, y);
        self.encoder.set_erasing_pen(blank.bg);
        self.encoder.csi(run as u16, b'X');
        self.shown.row_mut(y)[x..x + run].fill(blank);
        self.stats.cells_erased += run as u64;
        true
    }

    /// Notes that cells now show the wanted ones.
    #[inline]
    pub(super) fn mark_shown(&mut self, wanted: &Screen, x: usize, y: u16, columns: usize) {
        let shown = self.shown.row_mut(y);
        let end = x + columns;
        // A wide symbol whose first column was overwritten leaves unknown cells behind.
        if shown.get(end).is_some_and(|next| next.is_continuation()) {
            for cell in &mut shown[end..] {
                if !cell.is_continuation() {
                    break;
                }
                *cell = Cell::UNKNOWN;
            }
        }
        let target = wanted.row(y);
        match columns {
            1 => shown[x] = target[x],
            _ => shown[x..end].copy_from_slice(&target[x..end]),
        }
        self.record(x, y, columns);
    }

    /// Prints a symbol on whose width or effect terminals may disagree, so that the picture is right in all of them: blanks, then the
    /// symbol, then the cells again that it may have overwritten.
    fn draw_cluster(&mut self, wanted: &Screen, x: usize, y: u16, cell: Cell) -> usize {
        let target = wanted.row(y);
        let width = target.len();
        if cell.is_continuation() {
            // Its head shows already, but this part of it is unknown: draw the whole again.
            let head = (0..x)
                .rev()
                .find(|&at| !target[at].is_continuation())
                .unwrap_or(0);
            return if target[head].is_unknown() || target[head].is_continuation() {
                x + 1
            } else {
                self.shown.row_mut(y)[head] = Cell::UNKNOWN;
                head
            };
        }
        let symbols = wanted.symbols();
        let columns = columns_of(target, x);
        let mut utf8 = [0; 4];
        let text: &str = match cell.as_char() {
            Some(c) => c.encode_utf8(&mut utf8),
            None => symbols.text(cell).unwrap_or(" "),
        };
        if is_flag(text)
            && let Some(end) = self.draw_flags(wanted, x, y)
        {
            return end;
        }
        self.reach(x, y);
        if columns == 1 && is_placeholder(text) && x + 1 < width {
            self.encoder.set_pen(cell.style());
            self.encoder.text(text);
            self.encoder.advance(1);
            self.mark_shown(wanted, x, y, 1);
            return x + 1;
        }
        let opaque = symbols.is_opaque(cell);
        let widest = usize::from(symbols.widest(cell)).max(columns);
        // A terminal may draw no symbol, since it does not know it or takes it to have no width: the text before must not be left.
        let before = self.shown.row(y)[x];
        let plain =
            cell.bg == before.bg && !cell.attributes().intersects(Attributes::VISIBLE_ON_BLANK);
        let blank = before.is_blank() && plain;
        if !opaque && (columns > 1 || !blank) {
            self.encoder.set_pen(cell.style());
            self.encoder.text(&" ".repeat(columns));
            self.encoder.advance(columns as u16);
            self.encoder.move_to(x as u16, y);
        }
        let at_edge = x + widest >= width && !opaque;
        // A symbol that a terminal takes to be wider must not wrap. Where lines do not wrap, tmux stays on the last column, and would join
        // a mark with the cell before; so the character before a mark may wrap.
        let certain = match text.chars().next() {
            Some(first) if at_edge && has_only_marks(text) => first.len_utf8(),
            _ => 0,
        };
        let (certain, rest) = text.split_at(certain);
        self.encoder.set_pen(cell.style());
        self.encoder.text(certain);
        if at_edge {
            self.encoder.text("\x1b[?7l");
        }
        self.encoder.print_uncertain(rest, cell.style(), opaque);
        if at_edge {
            self.encoder.text("\x1b[?7h");
        }
        self.mark_shown(wanted, x, y, columns);
        if !opaque {
            let end = (x + widest).min(width);
            self.shown.row_mut(y)[x + columns..end].fill(Cell::UNKNOWN);
        }
        x + columns
    }

    /// Draws flags that follow one another, or halves of them. Whatever was printed since, foot joins such a symbol with the one left of it, and counts
    /// halves from the last other symbol on. So all of them are printed, one after the other, once their cells are blank. `None`: it stands alone.
    fn draw_flags(&mut self, wanted: &Screen, x: usize, y: u16) -> Option<usize> {
        let target = wanted.row(y);
        let is_part = |x: usize| target[x].is_continuation() || is_flag(&wanted.text(x as u16, y));
        let mut start = x - (0..x).rev().take_while(|&x| is_part(x)).count();
        while target[start].is_continuation() {
            start += 1;
        }
        let end = (x..target.len()).find(|&x| !is_part(x));
        let end = end.unwrap_or(target.len());
        let heads = || (start..end).filter(|&x| !target[x].is_continuation());
        if heads().count() < 2 || target[start..end].iter().any(|cell| cell.is_unknown()) {
            return None;
        }
        self.reach(start, y);
        for head in heads() {
            let columns = columns_of(target, head);
            self.encoder.set_pen(target[head].style());
            self.encoder.text(&" ".repeat(columns));
            self.encoder.advance(columns as u16);
        }
        // One that a terminal takes to be wider must not wrap.
        self.encoder.text("\x1b[?7l");
        for head in heads() {
            self.encoder.move_to(head as u16, y);
            let text = wanted.text(head as u16, y);
            self.encoder
                .print_uncertain(&text, target[head].style(), false);
        }
        self.encoder.text("\x1b[?7h");
        self.mark_shown(wanted, start, y, end - start);
        // As many as a half may have more.
        let behind = end..(end + 2).min(target.len());
        self.shown.row_mut(y)[behind].fill(Cell::UNKNOWN);
        Some(end)
    }

    /// Brings the cursor to a column: by motion, or by printing the cells between again if that is
    /// shorter.
    #[inline]
    fn reach(&mut self, x: usize, y: u16) {
        if self.encoder.at != At::Known(x as u16, y) {
            self.travel(x, y);
        }
    }

    fn travel(&mut self, x: usize, y: u16) {
        if let At::Known(from, row) = self.encoder.at
            && row == y
            && usize::from(from) < x
            && x - usize::from(from) <= 8
            && !self.careful
            && let Some(pen) = self.encoder.pen()
        {
            let price = self.encoder.price_ahead(x as u16, y) as usize;
            let gap = usize::from(from)..x;
            // Some symbols stick out of their cells by a pixel in xterm. A bold one that the bold font lacks changes the font of the text
            // that is printed with it. So this moves over the gap, as crossterm's backend does.
            let row = self.shown.row(y);
            let before = usize::from(from).checked_sub(1);
            let sticks_out = self.capabilities.may_have_overhangs()
                && (before.is_some_and(|before| row[before].sticks_out_right())
                    || pen.attributes.intersects(Attributes::BOLD)
                        && row.iter().any(|cell| cell.may_stick_out()));
            let mut length = 0;
            let printable = !sticks_out
                && row[gap.clone()].iter().all(|&cell| {
                    length += cell.as_char().map_or(usize::MAX / 16, char::len_utf8);
                    let plain = if cell.is_blank() {
                        self.encoder.erases_to(cell)
                    } else {
                        cell.style() == pen
                    };
                    plain && cell.as_char().is_some_and(is_narrow)
                });
            let whole = row.get(x).is_none_or(|cell| !cell.is_continuation());
            if printable && whole && length <= price {
                for cell in &row[gap.clone()] {
                    self.encoder.symbol(cell.as_char().unwrap_or(' '));
                }
                self.encoder.advance(gap.len() as u16);
                self.stats.cells_rewritten += gap.len() as u64;
                return;
            }
        }
        self.encoder.move_to(x as u16, y);
    }
}

/// The column at which the run of equal blanks at the end of a row begins.
pub(super) fn blank_tail(row: &[Cell]) -> usize {
    match row.last() {
        Some(&last) if last.is_blank() => row
            .iter()
            .rposition(|cell| *cell != last)
            .map_or(0, |x| x + 1),
        _ => row.len(),
    }
}

/// How many columns the symbol at `x` takes.
pub(super) fn columns_of(row: &[Cell], x: usize) -> usize {
    1 + row[x + 1..]
        .iter()
        .take_while(|cell| cell.is_continuation())
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Capabilities;

    #[test]
    fn a_symbol_that_a_terminal_may_not_draw_comes_after_a_blank_where_anything_was() {
        let mut renderer = Renderer::new(Capabilities::basic());
        let mut screen = Screen::new(8, 1);
        screen.put(0, 0, "abxd", Style::default());
        renderer.render(&screen);
        screen.put_symbol(2, 0, "\u{2028}", 1, Style::default());
        let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
        assert!(bytes.contains(" \x08\u{2028}"), "{bytes:?}");
        screen.put_symbol(6, 0, "\u{2028}", 1, Style::default());
        let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
        assert!(
            !bytes.contains('\x08'),
            "there is a blank already: {bytes:?}"
        );
    }

    #[test]
    fn flags_side_by_side_are_printed_one_after_the_other_with_no_blank_between() {
        let mut renderer = Renderer::new(Capabilities::basic());
        let mut screen = Screen::new(12, 1);
        let flags = [(2, "🇩🇩", 2), (4, "🇪", 1), (5, "🇯🇵", 2)];
        for (x, symbol, columns) in flags {
            screen.put_symbol(x, 0, symbol, columns, Style::default());
        }
        renderer.render(&screen);
        for (x, symbol, columns) in flags {
            // Whichever is drawn, all are.
            screen.put(x, 0, &"x".repeat(columns.into()), Style::default());
            renderer.render(&screen);
            screen.put_symbol(x, 0, symbol, columns, Style::default());
            let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
            let order = flags.map(|(_, symbol, _)| bytes.find(symbol).expect(symbol));
            assert!(order.is_sorted(), "{bytes:?}");
            assert!(!bytes[order[0]..order[2]].contains(' '), "{bytes:?}");
        }
    }

    #[test]
    fn placeholders_of_an_image_follow_one_another_without_motions() {
        let mut wanted = Screen::new(10, 2);
        for y in 0..2 {
            for x in 2..6 {
                wanted.put_symbol(x, y, "\u{10eeee}\u{305}\u{30d}", 1, Style::default());
            }
        }
        let mut renderer = Renderer::new(Capabilities::basic());
        renderer.render(&Screen::new(10, 2));
        let text = String::from_utf8(renderer.render(&wanted).to_vec()).unwrap();
        assert!(
            text.contains(&"\u{10eeee}\u{305}\u{30d}".repeat(4)),
            "{text:?}"
        );
    }

    #[test]
    fn a_placeholder_that_the_application_takes_to_be_wide_is_drawn_once() {
        let mut wanted = Screen::new(10, 1);
        wanted.put_symbol(2, 0, "\u{10eeee}\u{305}", 2, Style::default());
        wanted.put(4, 0, "text", Style::default());
        let mut renderer = Renderer::new(Capabilities::basic());
        renderer.render(&Screen::new(10, 1));
        let text = String::from_utf8(renderer.render(&wanted).to_vec()).unwrap();
        assert_eq!(text.matches('\u{10eeee}').count(), 1, "{text:?}");
    }

    #[test]
    fn what_sticks_out_of_a_symbol_is_not_printed_over() {
        let (bold, usual) = (Attributes::BOLD, Attributes::NONE);
        let cases = [
            (Repeat::Nothing, "─", bold, false),
            (Repeat::Nothing, "─", usual, false),
            (Repeat::Nothing, "█", bold, false),
            // xterm draws lines too long, and no other symbols.
            (Repeat::Nothing, "█", usual, true),
            (Repeat::Nothing, "a", bold, true),
            // Known not to be xterm.
            (Repeat::Anything, "─", bold, true),
        ];
        for (repeat, symbol, attributes, over) in cases {
            let style = Style {
                attributes,
                ..Style::default()
            };
            let mut renderer = Renderer::new(Capabilities {
                repeat,
                ..Capabilities::basic()
            });
            let mut screen = Screen::new(8, 1);
            renderer.render(&screen);
            screen.put(0, 0, symbol, style);
            screen.put(2, 0, "b", style);
            let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
            assert_eq!(bytes.contains(&format!("{symbol} b")), over, "{bytes:?}");
        }
    }
}
