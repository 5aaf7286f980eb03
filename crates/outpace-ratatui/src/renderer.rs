//! Turns the screen that is wanted into the bytes that make the terminal show it.
//!
//! The [`Renderer`] keeps a copy of what the terminal shows. Drawing a frame means: blank what nobody
//! knows, scroll and shift what only moved, then go through the rows and print what still differs. The
//! copy follows every sequence as it is written, so a step that saves nothing costs nothing but time,
//! and a step that is wrong is caught by comparing the copy with real emulators (`tests/emulators.rs`).

use crate::encode::{At, Encoder};
use crate::plan::{Planner, Scroll, Shift};
use crate::probe::{Capabilities, Repeat};
use crate::screen::{Cell, Color, Screen, trusted_width};
use crate::stats::Stats;

const BEGIN_SYNCHRONIZED: &str = "\x1b[?2026h";
const END_SYNCHRONIZED: &str = "\x1b[?2026l";
/// Some terminals give up on a synchronized update that is longer than this.
const MAX_SYNCHRONIZED: usize = (2 << 20) - 64;
/// Terminals read at least so much at a time, so a frame that only prints needs no synchronizing.
const SMALL_FRAME: usize = 512;
/// Scrolls a frame, at most.
const MAX_SCROLLS: usize = 8;

/// Draws screens with the fewest bytes it can find. Needs no terminal and no ratatui: it returns bytes.
///
/// ```
/// use outpace_ratatui::{Capabilities, Renderer, Screen, Style};
///
/// let mut renderer = Renderer::new(Capabilities::basic());
/// let mut screen = Screen::new(10, 3);
/// screen.put(0, 0, "hello", Style::default());
/// assert!(!renderer.render(&screen).is_empty());
/// assert!(renderer.render(&screen).is_empty(), "nothing changed");
/// screen.put(4, 0, "p!", Style::default());
/// assert_eq!(renderer.render(&screen), b"\x08p!");
/// ```
#[derive(Debug)]
pub struct Renderer {
    capabilities: Capabilities,
    /// What the terminal shows.
    shown: Screen,
    cursor_visible: Option<bool>,
    encoder: Encoder,
    planner: Planner,
    /// Whether this frame has erased or moved anything: half drawn, it would look broken.
    destructive: bool,
    written: Option<Vec<bool>>,
    stats: Stats,
}

impl Renderer {
    /// A renderer for a terminal that shows nobody knows what.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            shown: Screen::untouched(0, 0),
            cursor_visible: None,
            encoder: Encoder::new(capabilities.half_blocks),
            planner: Planner::default(),
            destructive: false,
            written: None,
            stats: Stats::default(),
        }
    }

    /// What the terminal is taken to understand.
    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Counters of cells and elisions; the ones of writing stay 0.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Forgets what the terminal shows: the next frame draws everything.
    pub fn forget(&mut self) {
        self.shown.cells_mut().fill(Cell::UNKNOWN);
        self.cursor_visible = None;
        self.encoder.forget();
    }

    /// Forgets cells from one position up to another, in reading order.
    pub(crate) fn forget_cells(&mut self, from: usize, to: usize) {
        let cells = self.shown.cells_mut();
        let to = to.min(cells.len());
        if from < to {
            cells[from..to].fill(Cell::UNKNOWN);
        }
    }

    /// Records from now on which cells each frame prints; see [`was_written`](Self::was_written).
    pub fn record_written(&mut self) {
        self.written = Some(Vec::new());
    }

    /// Whether the last frame printed this cell, if that is recorded.
    pub fn was_written(&self, x: u16, y: u16) -> bool {
        let at = usize::from(y) * usize::from(self.shown.width()) + usize::from(x);
        self.written
            .as_ref()
            .is_some_and(|written| written.get(at) == Some(&true))
    }

    /// The bytes that turn what the terminal shows into `wanted`; none if it shows that already.
    pub fn render(&mut self, wanted: &Screen) -> &[u8] {
        if (self.shown.width(), self.shown.height()) != (wanted.width(), wanted.height()) {
            self.shown = Screen::untouched(wanted.width(), wanted.height());
            self.encoder.forget();
            self.encoder.set_width(wanted.width());
        }
        self.shown.share_symbols(wanted);
        if let Some(written) = &mut self.written {
            written.clear();
            written.resize(wanted.cells().len(), false);
        }
        self.destructive = false;
        self.encoder.out.clear();
        self.encoder.text(BEGIN_SYNCHRONIZED);
        if self.cursor_visible != Some(false) && !wanted.cursor.visible {
            self.encoder.text("\x1b[?25l");
            self.cursor_visible = Some(false);
        }
        self.planner.begin();
        self.blank_unknown_rows(wanted);
        self.scroll_rows(wanted);
        let mut hint = 0;
        for y in 0..wanted.height() {
            if self.shown.row(y) == wanted.row(y) {
                self.stats.cells_unchanged += u64::from(wanted.width());
            } else {
                hint = self.shift_row(wanted, y, hint);
                self.draw_row(wanted, y);
            }
        }
        self.place_cursor(wanted);
        self.finish()
    }

    /// Ends the frame, and wraps it in synchronized output where that is of use.
    fn finish(&mut self) -> &[u8] {
        let out = &mut self.encoder.out;
        let length = out.len() - BEGIN_SYNCHRONIZED.len();
        let wrap = self.capabilities.synchronized
            && (length > SMALL_FRAME || self.destructive)
            && length < MAX_SYNCHRONIZED;
        if wrap {
            out.extend_from_slice(END_SYNCHRONIZED.as_bytes());
            self.stats.synchronized += 1;
            out
        } else {
            &out[BEGIN_SYNCHRONIZED.len()..]
        }
    }

    fn place_cursor(&mut self, wanted: &Screen) {
        let cursor = wanted.cursor;
        let on_screen = cursor.x < wanted.width() && cursor.y < wanted.height();
        // A hidden cursor stays where it is, but where only a part of the terminal is ours others
        // will go on from it.
        let park = !self.capabilities.alternate_screen
            || wanted.cells().first().is_some_and(|cell| cell.is_unknown());
        if on_screen && (cursor.visible || park) {
            self.encoder.move_to(cursor.x, cursor.y);
        }
        if cursor.visible && self.cursor_visible != Some(true) {
            self.encoder.text("\x1b[?25h");
            self.cursor_visible = Some(true);
        }
    }

    /// Erases the rows at the bottom of which nothing is known, so that only what is not blank is drawn.
    fn blank_unknown_rows(&mut self, wanted: &Screen) {
        let (width, height) = (usize::from(wanted.width()), wanted.height());
        if width == 0 {
            return;
        }
        let unknown = |y: &u16| {
            let (shown, wanted) = (self.shown.row(*y), wanted.row(*y));
            shown.iter().all(|cell| cell.is_unknown())
                && !wanted.iter().any(|cell| cell.is_unknown())
        };
        let rows = (0..height).rev().take_while(unknown).count() as u16;
        if rows == 0 {
            return;
        }
        let top = height - rows;
        self.destructive = true;
        self.encoder.set_erasing_pen(Color::DEFAULT);
        self.encoder.move_to(0, top);
        self.encoder.text("\x1b[J");
        let from = self.shown.index(0, top);
        self.shown.cells_mut()[from..].fill(Cell::BLANK);
        self.stats.cells_erased += u64::from(rows) * width as u64;
    }

    fn scroll_rows(&mut self, wanted: &Screen) {
        if !self.capabilities.scroll {
            return;
        }
        for _ in 0..MAX_SCROLLS {
            let from_top = self.capabilities.alternate_screen;
            let Some(scroll) = self.planner.find_scroll(&self.shown, wanted, from_top) else {
                break;
            };
            self.scroll(scroll);
        }
    }

    /// Moves rows by deleting lines at one end and inserting them at the other. Within margins unless the
    /// rows reach the bottom. Deleting keeps the lines out of the scrollback.
    fn scroll(&mut self, scroll: Scroll) {
        let Scroll { top, bottom, by } = scroll;
        self.encoder.set_erasing_pen(Color::DEFAULT);
        self.destructive = true;
        let margins = bottom < self.shown.height();
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

    /// DECSTBM: only rows `top..bottom` scroll from here on. The cursor is somewhere then.
    fn set_margins(&mut self, top: u16, bottom: u16) {
        self.encoder.text(&format!("\x1b[{};{bottom}r", top + 1));
        self.encoder.at = At::Unknown;
    }

    /// Draws `screen`, then scrolls rows `top..bottom` of it and of the terminal, by line feeds at the
    /// bottom or reverse line feeds at the top, so that rows that leave at the top of the terminal reach
    /// its scrollback.
    pub(crate) fn scroll_region(
        &mut self,
        screen: &mut Screen,
        top: u16,
        bottom: u16,
        by: i32,
    ) -> &[u8] {
        let mut bytes = self.render(screen).to_vec();
        let height = screen.height();
        let bottom = bottom.min(height);
        if top >= bottom || by == 0 {
            self.encoder.out = bytes;
            return &self.encoder.out;
        }
        let by = by.clamp(-i32::from(bottom - top), i32::from(bottom - top));
        // Terminals ignore a region of one row. With the row below it does, and that is repaired by
        // the next frame.
        let region = if bottom - top == 1 {
            (bottom + 1).min(height)
        } else {
            bottom
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
        self.encoder.at = At::Unknown;
        self.shown.scroll(top, region, by, Cell::BLANK);
        screen.scroll(top, bottom, by, Cell::BLANK);
        bytes.append(&mut self.encoder.out);
        self.encoder.out = bytes;
        &self.encoder.out
    }

    /// Draws `screen`, then feeds lines from its cursor on: down, and at the bottom up with everything.
    pub(crate) fn append_lines(&mut self, screen: &mut Screen, lines: u16) -> &[u8] {
        let mut bytes = self.render(screen).to_vec();
        self.encoder.out.clear();
        self.encoder.set_erasing_pen(Color::DEFAULT);
        let height = screen.height();
        let cursor = screen.cursor;
        self.encoder.move_to(cursor.x, cursor.y);
        (0..lines).for_each(|_| self.encoder.text("\n"));
        self.encoder.at = At::Unknown;
        let down = u32::from(cursor.y) + u32::from(lines);
        let overflow = down.saturating_sub(u32::from(height.saturating_sub(1)));
        let overflow = overflow.min(u32::from(height)) as i32;
        self.shown.scroll(0, height, overflow, Cell::BLANK);
        screen.scroll(0, height, overflow, Cell::BLANK);
        screen.cursor.y = down.min(u32::from(height.saturating_sub(1))) as u16;
        bytes.append(&mut self.encoder.out);
        self.encoder.out = bytes;
        &self.encoder.out
    }

    /// Shifts a part of a row if that saves anything; returns the distance, a hint for the row below.
    fn shift_row(&mut self, wanted: &Screen, y: u16, hint: i32) -> i32 {
        if !self.capabilities.shift {
            return 0;
        }
        let found = self
            .planner
            .find_shift(self.shown.row(y), wanted.row(y), hint);
        let Some(shift) = found else { return hint };
        let Shift { from, to, by } = shift;
        let distance = by.unsigned_abs() as usize;
        let inner = to < usize::from(wanted.width());
        self.destructive = true;
        let (first, second) = if by > 0 { (b'P', b'@') } else { (b'@', b'P') };
        // Inside a row, deleting comes first, so that nothing is pushed over the edge.
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
        let start = self.shown.index(0, y);
        let row = &mut self.shown.cells_mut()[start + from..start + to];
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

    fn draw_row(&mut self, wanted: &Screen, y: u16) {
        let width = usize::from(wanted.width());
        let start = wanted.index(0, y);
        let target = &wanted.cells()[start..start + width];
        let tail = blank_tail(target);
        let mut x = 0;
        while x < width {
            let cell = target[x];
            if cell == self.shown.cells()[start + x] || cell.is_unknown() {
                self.stats.cells_unchanged += 1;
                x += 1;
                continue;
            }
            if x >= tail && self.erase_tail(cell, x, y) {
                break;
            }
            x = match cell.as_char() {
                Some(c) if trusted_width(c) == columns_of(target, x) => {
                    self.draw_char(wanted, x, y, cell, c)
                }
                _ => self.draw_cluster(wanted, x, y, cell),
            };
        }
    }

    fn record(&mut self, start: usize, columns: usize) {
        self.stats.cells_written += columns as u64;
        if let Some(written) = &mut self.written {
            written[start..start + columns].fill(true);
        }
    }

    /// Erases to the end of the row if that is shorter than printing blanks.
    fn erase_tail(&mut self, blank: Cell, x: usize, y: u16) -> bool {
        let start = self.shown.index(0, y);
        let row = &self.shown.cells()[start + x..start + usize::from(self.shown.width())];
        let to_print = row
            .iter()
            .rposition(|cell| *cell != blank)
            .map_or(0, |last| last + 1);
        if to_print <= 3 || !self.may_erase_to(blank) {
            return false;
        }
        let end = start + usize::from(self.shown.width());
        self.reach(x, y);
        self.encoder.set_erasing_pen(blank.bg);
        self.encoder.text("\x1b[K");
        self.shown.cells_mut()[start + x..end].fill(blank);
        self.stats.cells_erased += (end - start - x) as u64;
        true
    }

    fn may_erase_to(&self, blank: Cell) -> bool {
        self.capabilities.erase_to_background || !blank.bg.is_explicit()
    }

    /// Prints a cell of one `char`, with the cells after it if they are the same; returns the column behind.
    #[inline]
    fn draw_char(&mut self, wanted: &Screen, x: usize, y: u16, cell: Cell, c: char) -> usize {
        let start = wanted.index(0, y);
        let target = &wanted.cells()[start..start + usize::from(wanted.width())];
        let columns = columns_of(target, x);
        if columns > 1 {
            self.reach(x, y);
            self.encoder.print(cell, c, columns as u16, &mut self.stats);
            self.settle(wanted, x, y, columns);
            return x + columns;
        }
        if let Some(ahead) = self.better_first(target, start, x) {
            let next = target[x + ahead];
            self.reach(x + ahead, y);
            self.encoder.print(next, c, 1, &mut self.stats);
            self.settle(wanted, x + ahead, y, 1);
        }
        let run = self.run_to_draw(target, start, x);
        if run > 8 && cell.is_blank() && self.erase_run(cell, x, y, run) {
            return x + run;
        }
        self.reach(x, y);
        let printed = self.encoder.print(cell, c, 1, &mut self.stats);
        self.settle(wanted, x, y, 1);
        let repeatable = match self.capabilities.repeat {
            Repeat::Nothing => false,
            Repeat::Ascii => printed.is_ascii(),
            Repeat::Anything => true,
        };
        // Some terminals (wezterm) wrap at once when repeating reaches the edge, so it stops before.
        let more = (run - 1).min(usize::from(wanted.width()).saturating_sub(x + 2));
        // CSI n b takes 4 bytes, or 5 from 10 repetitions on.
        if repeatable && more * printed.len_utf8() > 5 {
            self.encoder.csi(more as u16, b'b');
            self.encoder.advance(more as u16);
            self.settle(wanted, x + 1, y, more);
            self.stats.cells_repeated += more as u64;
            return x + 1 + more;
        }
        x + 1
    }

    /// In pictures made of half blocks most of the bytes are colours. If the pen has none of the next cell's
    /// but one of those of a cell just behind it, that one is drawn first: a few bytes of motion against
    /// up to sixteen of colour. Returns how far ahead it is.
    #[inline]
    fn better_first(&self, target: &[Cell], start: usize, x: usize) -> Option<usize> {
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
                    && self.shown.cells()[start + x + ahead] != next
            })
        })
    }

    /// How many cells from `x` on are alike, up to the last that has to be drawn.
    #[inline]
    fn run_to_draw(&self, target: &[Cell], start: usize, x: usize) -> usize {
        let cell = target[x];
        if target.get(x + 1) != Some(&cell) {
            return 1;
        }
        let alike = target[x..].iter().take_while(|next| **next == cell).count();
        let shown = &self.shown.cells()[start + x..start + x + alike];
        shown
            .iter()
            .rposition(|old| *old != cell)
            .map_or(1, |last| last + 1)
    }

    /// Erases a run of blanks in the middle of a row (ECH), where repeating is not at hand or longer.
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
        let start = self.shown.index(x as u16, y);
        self.shown.cells_mut()[start..start + run].fill(blank);
        self.stats.cells_erased += run as u64;
        true
    }

    /// Notes that cells now show what is wanted.
    #[inline]
    fn settle(&mut self, wanted: &Screen, x: usize, y: u16, columns: usize) {
        let start = wanted.index(x as u16, y);
        let end = usize::from(y + 1) * usize::from(wanted.width());
        let shown = self.shown.cells_mut();
        // A wide symbol of which the last column was overwritten leaves who knows what behind.
        if start + columns < end && shown[start + columns].is_continuation() {
            for cell in &mut shown[start + columns..end] {
                if !cell.is_continuation() {
                    break;
                }
                *cell = Cell::UNKNOWN;
            }
        }
        shown[start..start + columns].copy_from_slice(&wanted.cells()[start..start + columns]);
        self.record(start, columns);
    }

    /// Prints a symbol on whose width or effect terminals may not agree, so that the outcome is right
    /// in all of them: blanks first, then the symbol, then everything it may have run over again.
    fn draw_cluster(&mut self, wanted: &Screen, x: usize, y: u16, cell: Cell) -> usize {
        let start = wanted.index(0, y);
        let width = usize::from(wanted.width());
        let target = &wanted.cells()[start..start + width];
        if cell.is_continuation() {
            // Its head shows already, but this part of it is unknown: draw the whole again.
            let head = (0..x)
                .rev()
                .find(|&at| !target[at].is_continuation())
                .unwrap_or(0);
            return if target[head].is_unknown() || target[head].is_continuation() {
                x + 1
            } else {
                self.shown.cells_mut()[start + head] = Cell::UNKNOWN;
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
        self.reach(x, y);
        let opaque = symbols.is_opaque(cell);
        let reach = usize::from(symbols.widest(cell)).max(columns);
        if columns > 1 && !opaque {
            self.encoder.set_pen(cell.style());
            self.encoder.text(&" ".repeat(columns));
            self.encoder.advance(columns as u16);
            self.encoder.move_to(x as u16, y);
        }
        let at_edge = x + reach >= width && !opaque;
        if at_edge {
            self.encoder.text("\x1b[?7l");
        }
        self.encoder.print_uncertain(text, cell.style(), opaque);
        if at_edge {
            self.encoder.text("\x1b[?7h");
        }
        self.settle(wanted, x, y, columns);
        if !opaque {
            let end = (x + reach).min(width);
            self.shown.cells_mut()[start + x + columns..start + end].fill(Cell::UNKNOWN);
        }
        x + columns
    }

    /// Brings the cursor to a column: by motion, or by printing again what lies between if that is
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
            && let Some(pen) = self.encoder.pen()
        {
            let price = self.encoder.price_ahead(x as u16, y) as usize;
            let start = self.shown.index(0, y);
            let gap = start + usize::from(from)..start + x;
            let mut length = 0;
            let printable = self.shown.cells()[gap.clone()].iter().all(|&cell| {
                length += cell.as_char().map_or(usize::MAX / 16, char::len_utf8);
                let plain = if cell.is_blank() {
                    self.encoder.erases_to(cell)
                } else {
                    cell.style() == pen
                };
                plain && cell.as_char().is_some_and(|c| trusted_width(c) == 1)
            });
            let whole = self.shown.cells()[start + x..]
                .first()
                .is_none_or(|cell| !cell.is_continuation());
            if printable && whole && length <= price {
                for at in gap.clone() {
                    let c = self.shown.cells()[at].as_char().unwrap_or(' ');
                    self.encoder.symbol(c);
                }
                self.encoder.advance(gap.len() as u16);
                self.stats.cells_rewritten += gap.len() as u64;
                return;
            }
        }
        self.encoder.move_to(x as u16, y);
    }

    /// The bytes that leave the terminal as a program should: the usual pen, the cursor to be seen.
    pub(crate) fn farewell(&mut self) -> &[u8] {
        self.encoder.out.clear();
        self.encoder.text("\x1b[m\x1b[?25h");
        self.encoder.forget();
        self.cursor_visible = Some(true);
        &self.encoder.out
    }
}

/// Where the run of equal blanks at the end of a row begins.
fn blank_tail(row: &[Cell]) -> usize {
    match row.last() {
        Some(&last) if last.is_blank() => row
            .iter()
            .rposition(|cell| *cell != last)
            .map_or(0, |x| x + 1),
        _ => row.len(),
    }
}

/// How many columns the symbol at `x` takes.
fn columns_of(row: &[Cell], x: usize) -> usize {
    1 + row[x + 1..]
        .iter()
        .take_while(|cell| cell.is_continuation())
        .count()
}
