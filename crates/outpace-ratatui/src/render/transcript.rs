//! Turns a transcript that grows, and a live region below it, into bytes.
//!
//! Between two frames the terminal's cursor is hidden and stays at the first column of the live region's first row. When a
//! terminal reflows its lines, it carries the cursor along with the text it is at. So every frame starts where the live
//! region starts, however the terminal was resized, and no position has to be asked for: all motion is relative.
//!
//! Lines of the transcript are printed unwrapped over the live region's rows; the terminal wraps them, scrolls, and keeps
//! them in its scrollback. What remains of the live region then lies as many rows higher, which the next comparison
//! takes into account.

use super::encode::{At, Encoder};
use super::{BEGIN_SYNCHRONIZED, END_SYNCHRONIZED, HIDE_CURSOR, MAX_SYNCHRONIZED, SHOW_CURSOR};
use crate::model::{Attributes, Cell, Color, Screen, Stats, Style, same_cells};

/// A symbol of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) text: String,
    pub(crate) columns: u16,
    pub(crate) style: Style,
}

/// What is done to the transcript.
#[derive(Clone, Debug)]
pub(crate) enum Addition {
    Line(Vec<Glyph>),
    /// Continues the last line.
    Extend(Vec<Glyph>),
}

/// Frames that write less are shown whole without being synchronized.
const SMALL: usize = 256;

#[derive(Debug)]
pub(crate) struct TranscriptRenderer {
    encoder: Encoder,
    /// Whether the terminal wraps its lines anew when its width changes.
    reflows: bool,
    synchronized: bool,
    width: u16,
    rows: u16,
    /// What the terminal shows from the cursor's row on; nothing is known if it has another width.
    live: Screen,
    /// The last line, as far as its columns go.
    last: Vec<u16>,
    last_glyph: Option<Glyph>,
    /// Blanks at its end that have not been printed. Some terminals forget blanks at the end of a line when they reflow it,
    /// others do not; so they are printed with what follows them.
    held: Vec<Glyph>,
    /// Behind the last line, in its last row. The width if that row is full.
    column: u16,
    begun: bool,
    stats: Stats,
}

impl TranscriptRenderer {
    pub(crate) fn new(reflows: bool, synchronized: bool) -> Self {
        Self {
            encoder: Encoder::new(false),
            reflows,
            synchronized,
            width: 0,
            rows: 0,
            live: Screen::untouched(0, 0),
            last: Vec::new(),
            last_glyph: None,
            held: Vec::new(),
            column: 0,
            begun: false,
            stats: Stats::default(),
        }
    }

    /// The bytes that add to the transcript and show this live region below it, in a terminal of so many rows.
    pub(crate) fn render(&mut self, additions: &[Addition], wanted: &Screen, rows: u16) -> &[u8] {
        self.encoder.out.clear();
        self.encoder.forget();
        self.encoder.text(BEGIN_SYNCHRONIZED);
        let start = self.encoder.out.len();
        self.adopt_size(wanted.width(), rows);
        let mut used = 0;
        for addition in additions {
            used += match addition {
                Addition::Extend(glyphs) if self.last_glyph.is_some() => {
                    self.extend_line(glyphs, used)
                }
                Addition::Line(glyphs) | Addition::Extend(glyphs) => self.print_line(glyphs, used),
            };
        }
        let moved = used.min(self.live.height());
        self.live
            .scroll(0, self.live.height(), moved.into(), Cell::BLANK);
        self.draw_live(wanted);
        let length = self.encoder.out.len() - start;
        if length > SMALL && length < MAX_SYNCHRONIZED && self.synchronized {
            self.encoder.text(END_SYNCHRONIZED);
            return &self.encoder.out;
        }
        &self.encoder.out[start..]
    }

    /// The bytes that take the live region away, and leave the cursor below the transcript.
    pub(crate) fn farewell(&mut self) -> &[u8] {
        self.encoder.out.clear();
        if self.begun {
            self.encoder.text("\r\x1b[m\x1b[J");
            self.encoder.text(SHOW_CURSOR);
        }
        self.begun = false;
        self.live = Screen::untouched(0, 0);
        &self.encoder.out
    }

    /// Follows a change of size, or begins. What lies below is erased then: nobody knows what a terminal made of it.
    fn adopt_size(&mut self, width: u16, rows: u16) {
        if self.begun && (width, rows) == (self.width, self.rows) {
            return;
        }
        if !self.begun {
            self.encoder.text(HIDE_CURSOR);
            self.begun = true;
        }
        self.encoder.text("\r\x1b[m\x1b[J");
        self.encoder.forget();
        self.live = Screen::new(width, 0);
        if width != self.width && self.reflows {
            self.column = 0;
            for &columns in &self.last {
                self.column = after(self.column, columns, width).0;
            }
        }
        self.column = self.column.min(width);
        self.width = width;
        self.rows = rows;
    }

    /// Prints a line from the cursor's row on; returns how many rows it took.
    fn print_line(&mut self, glyphs: &[Glyph], row: u16) -> u16 {
        self.last.clear();
        self.last_glyph = None;
        self.held.clear();
        self.column = 0;
        let printed = self.hold_blanks(glyphs.to_vec());
        self.print_from(&printed, i32::from(row)) + 1
    }

    /// Goes on behind the last line; returns how many rows more it took.
    fn extend_line(&mut self, glyphs: &[Glyph], row: u16) -> u16 {
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(glyphs);
        let printed = self.hold_blanks(all);
        if printed.is_empty() {
            return 0;
        }
        self.encoder.text("\x1b[A");
        let last = self.last_glyph.take().filter(|_| self.column >= self.width);
        if let Some(last) = last {
            // The row is full. Its last symbol, printed again, has the terminal wrap before the next.
            self.go_to_column(self.width.saturating_sub(last.columns));
            self.encoder.set_pen(last.style);
            self.encoder.text(&last.text);
        } else {
            self.go_to_column(self.column);
        }
        self.print_from(&printed, i32::from(row) - 1)
    }

    /// Keeps the blanks at the end for later, and returns the rest.
    fn hold_blanks(&mut self, mut glyphs: Vec<Glyph>) -> Vec<Glyph> {
        let shows = |glyph: &Glyph| {
            glyph.text != " "
                || glyph.style.bg.is_explicit()
                || glyph
                    .style
                    .attributes
                    .intersects(Attributes::VISIBLE_ON_BLANK)
        };
        let end = glyphs.iter().rposition(shows).map_or(0, |last| last + 1);
        self.held = glyphs.split_off(end);
        glyphs
    }

    fn go_to_column(&mut self, column: u16) {
        if column > 0 {
            self.encoder.csi(column + 1, b'G');
        }
    }

    /// Prints from the end of the last line on, which is in a row counted from the first of the live region; ends the
    /// line. Returns how often the terminal wrapped.
    fn print_from(&mut self, glyphs: &[Glyph], row: i32) -> u16 {
        let mut wraps = 0;
        let mut colored_wrap = false;
        for glyph in glyphs {
            let (column, wrapped) = after(self.column, glyph.columns, self.width);
            if wrapped && self.column < self.width && self.is_left_over(row + i32::from(wraps)) {
                // A wide symbol does not fit into the last column.
                self.encoder.set_erasing_pen(Color::DEFAULT);
                self.encoder.text("\x1b[K");
            }
            self.column = column;
            wraps += u16::from(wrapped);
            colored_wrap |= wrapped && glyph.style.bg.is_explicit();
            self.encoder.set_pen(glyph.style);
            self.encoder.text(&glyph.text);
            self.last.push(glyph.columns);
        }
        if let Some(last) = glyphs.last() {
            self.last_glyph = Some(last.clone());
        } else if self.last_glyph.is_none() {
            // An empty line can be extended, too.
            self.last_glyph = Some(Glyph {
                text: String::new(),
                columns: 0,
                style: Style::default(),
            });
        }
        // What the live region left in this row goes. At the edge the cursor is still on the last symbol: there is nothing
        // left to erase, and that must not be.
        let left_over = self.is_left_over(row + i32::from(wraps));
        if (left_over || colored_wrap) && self.column < self.width {
            self.encoder.set_erasing_pen(Color::DEFAULT);
            self.encoder.text("\x1b[K");
        }
        self.end_row();
        wraps
    }

    /// Whether the live region shows anything in a row from the current column on.
    fn is_left_over(&self, row: i32) -> bool {
        u16::try_from(row).is_ok_and(|row| {
            row < self.live.height()
                && self.live.row(row)[usize::from(self.column.min(self.width))..]
                    .iter()
                    .any(|cell| *cell != Cell::BLANK)
        })
    }

    /// Goes to the first column of the next row, which may have to be made by scrolling: of the default background.
    fn end_row(&mut self) {
        if !self.encoder.erases_to(Cell::BLANK) {
            self.encoder.set_pen(Style::default());
        }
        self.encoder.text("\r\n");
    }

    /// Makes the terminal show the live region from the cursor's row on, and returns there.
    fn draw_live(&mut self, wanted: &Screen) {
        self.live.share_symbols(wanted);
        let (width, height) = (wanted.width(), wanted.height());
        let mut at = 0;
        for y in 0..height {
            let known = y < self.live.height();
            let blank;
            let shown = if known {
                self.live.row(y)
            } else {
                blank = vec![Cell::BLANK; usize::from(width)];
                &blank[..]
            };
            if same_cells(shown, wanted.row(y)) {
                self.stats.cells_unchanged += u64::from(width);
                continue;
            }
            let shown = shown.to_vec();
            while at < y {
                self.end_row();
                at += 1;
            }
            self.draw_row(&shown, wanted, y);
        }
        // What is left of a higher region.
        let below = height..self.live.height();
        let mut left = below.filter(|&y| self.live.row(y).iter().any(|cell| *cell != Cell::BLANK));
        if let Some(first) = left.next() {
            while at < first {
                self.end_row();
                at += 1;
            }
            self.encoder.set_erasing_pen(Color::DEFAULT);
            self.encoder.text("\r\x1b[J");
        }
        if at > 0 {
            self.encoder.csi(at, b'A');
        }
        let drawn = self.encoder.out.len() > BEGIN_SYNCHRONIZED.len();
        if drawn && self.encoder.at != At::Known(0, 0) {
            self.encoder.text("\r");
        }
        self.live.copy_from(wanted);
    }

    /// Draws what differs in a row that the cursor is in. It ends up anywhere in that row.
    fn draw_row(&mut self, shown: &[Cell], wanted: &Screen, y: u16) {
        let target = wanted.row(y);
        let tail = super::row::blank_tail(target);
        let mut x = 0;
        // Where the cursor is, if that is sure.
        let mut cursor = None;
        while x < target.len() {
            let cell = target[x];
            let columns = 1 + target[x + 1..]
                .iter()
                .take_while(|cell| cell.is_continuation())
                .count();
            if shown[x..x + columns] == target[x..x + columns] || cell.is_continuation() {
                x += columns;
                continue;
            }
            if cursor != Some(x) {
                self.encoder.text("\r");
                self.go_to_column(x as u16);
            }
            if x >= tail && cell == Cell::BLANK {
                self.encoder.set_erasing_pen(Color::DEFAULT);
                self.encoder.text("\x1b[K");
                self.stats.cells_erased += (target.len() - x) as u64;
                return;
            }
            self.encoder.set_pen(cell.style());
            self.encoder.text(&wanted.text(x as u16, y));
            self.stats.cells_written += columns as u64;
            let sure = cell
                .as_char()
                .is_some_and(|c| crate::model::trusted_width(c) == columns);
            x += columns;
            // At the right edge the cursor stays on the last column.
            cursor = (sure && x < target.len()).then_some(x);
        }
    }

    /// The same region with its cursor drawn into it: the terminal's own stays at the region's beginning.
    pub(crate) fn with_cursor(screen: &mut Screen) {
        let cursor = screen.cursor;
        if cursor.visible && cursor.x < screen.width() && cursor.y < screen.height() {
            let at = screen.index(cursor.x, cursor.y);
            let cell = screen.cells()[at];
            let style = cell.style();
            let text = screen.text(cursor.x, cursor.y);
            let columns = screen.cells()[at + 1..]
                .iter()
                .take_while(|cell| cell.is_continuation())
                .count();
            let attributes = match style.attributes.intersects(Attributes::REVERSED) {
                true => style.attributes.difference(Attributes::REVERSED),
                false => style.attributes.union(Attributes::REVERSED),
            };
            let symbol = if text.is_empty() { " " } else { &text };
            let style = Style {
                attributes,
                ..style
            };
            screen.put_symbol(cursor.x, cursor.y, symbol, columns as u16 + 1, style);
        }
    }
}

/// Where the cursor is behind a symbol, and whether the terminal wrapped before it.
const fn after(column: u16, columns: u16, width: u16) -> (u16, bool) {
    if column + columns > width && column > 0 {
        (columns, true)
    } else {
        (column + columns, false)
    }
}
