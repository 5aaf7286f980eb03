//! Puts ratatui's cells into the screen that is wanted.

use std::ops::Range;

use ratatui_core::buffer::{self, CellDiffOption, CellWidth};
use ratatui_core::layout::Size;

use super::OutpaceBackend;
use crate::model::{Cell, Screen, Style};
use crate::terminal::cells::{narrow, style_of};

/// The cells that belong to the application although ratatui never sent them. ratatui takes a viewport to be blank at first, and does
/// not send those blanks. It does not tell the viewport's place either. But all cells that it sends lie in the viewport, and so does
/// the rectangle around them.
pub(super) enum Claimed {
    /// The whole screen was cleared.
    Everything,
    /// Columns and rows, each from the first to behind the last.
    Rectangle {
        columns: Range<u16>,
        rows: Range<u16>,
    },
    /// None: an inline viewport clears its rows.
    Nothing,
}

impl Claimed {
    /// No cell has been drawn yet.
    pub(super) const EMPTY_RECTANGLE: Self = Self::Rectangle {
        columns: 0..0,
        rows: 0..0,
    };
}

impl OutpaceBackend {
    /// Keeps cells that no longer fit: ratatui does not draw a fixed viewport again when the terminal grows.
    pub(super) fn change_size(&mut self, size: Size) {
        let (width, height) = (self.screen.width(), self.screen.height());
        let mut canvas = self
            .beyond
            .take()
            .unwrap_or_else(|| Screen::untouched(0, 0));
        canvas.exchange_half_blocks(self.capabilities.half_blocks);
        canvas.resize(canvas.width().max(width), canvas.height().max(height));
        canvas.overlay(&self.screen);
        self.screen.resize(size.width, size.height);
        if size.width > width || size.height > height {
            self.screen.overlay(&canvas);
        }
        if canvas.width() > size.width || canvas.height() > size.height {
            self.beyond = Some(canvas);
        }
    }

    /// Blanks the untouched cells within the rectangle around all cells that were drawn. Once an image was drawn, they may be covered
    /// by one, and are taken to be blank already.
    pub(super) fn claim(&mut self, drawn_columns: &Range<u16>, drawn_rows: &Range<u16>) {
        let Claimed::Rectangle { columns, rows } = &mut self.claimed else {
            return;
        };
        let wider = (around(columns, drawn_columns), around(rows, drawn_rows));
        if wider != (columns.clone(), rows.clone()) {
            self.damage.touch_all();
            self.screen.claim(wider.0.clone(), wider.1.clone());
            if self.opaque_seen {
                for y in wider.1.start..wider.1.end.min(self.screen.height()) {
                    let end = wider.0.end.min(self.screen.width());
                    let row = self.screen.index(wider.0.start, y)..self.screen.index(end, y);
                    self.damage.assume_blank(row.start, row.end);
                }
            }
            (*columns, *rows) = wider;
        }
    }

    /// Keeps a cell that lies beyond the edges, for when the terminal grows.
    #[cold]
    pub(super) fn put_beyond(&mut self, x: u16, y: u16, cell: &buffer::Cell) {
        let beyond = self.beyond.get_or_insert_with(|| {
            let mut beyond = Screen::untouched(0, 0);
            beyond.exchange_half_blocks(self.capabilities.half_blocks);
            beyond
        });
        let width = cell.cell_width().max(1);
        let columns = beyond.width().max(x.saturating_add(width));
        beyond.resize(columns, beyond.height().max(y.saturating_add(1)));
        beyond.put_symbol(x, y, cell.symbol(), width, style_of(cell, self.colors_off));
    }

    /// Puts a cell that lies on the screen, and returns its width. Inlined into the loop over all cells of a frame: the call would
    /// take a quarter of its time.
    #[inline(always)]
    pub(super) fn put(&mut self, x: u16, y: u16, cell: &buffer::Cell, symbol: &str) -> u16 {
        let plain = matches!(cell.diff_option, CellDiffOption::None) && !self.opaque_seen;
        match narrow(symbol).filter(|_| plain) {
            Some(c) => {
                let style = style_of(cell, self.colors_off);
                let (now, was_there) = self.screen.put_char(x, y, c, style);
                if was_there && c != ' ' {
                    self.sent_again(x, y);
                }
                let size = (self.screen.width(), self.screen.height());
                self.blanks.put(size, (x, y), c == ' ', style);
                if self.overhangs {
                    self.put_overhang(x, y, now, c == ' ', style);
                }
                1
            }
            None => self.put_symbol(x, y, cell, symbol),
        }
    }

    /// Notes that columns of a row were drawn.
    pub(super) fn touch(&mut self, (y, columns): (u16, (u16, u16))) {
        let columns = match self.screen.take_broken_wide() {
            true => (0, u16::MAX),
            false => columns,
        };
        self.damage.touch(y, columns);
    }

    /// Draws a cell again that ratatui has sent before. ratatui sends a cell again only after the application had it forget its last
    /// frame, by `Terminal::swap_buffers` or `clear`: as after output of other programs.
    #[cold]
    fn sent_again(&mut self, x: u16, y: u16) {
        let at = self.screen.index(x, y);
        self.damage.cells(at, at + 1);
        self.forgotten |= self.is_each_change_visible();
    }

    /// Whether cells that differ for ratatui differ on the screen, too: not without colours, nor where half blocks are exchanged.
    const fn is_each_change_visible(&self) -> bool {
        !self.colors_off && !self.capabilities.half_blocks
    }

    /// Draws the blanks of a frame again that ratatui has forgotten. They do not show it by themselves: ratatui also sends a blank again
    /// whose hidden foreground has changed.
    #[cold]
    pub(super) fn draw_blanks_again(&mut self) {
        for (at, cell) in self.screen.cells().enumerate() {
            if *cell != Cell::BLANK && cell.as_char() == Some(' ') {
                self.damage.cells(at, at + 1);
            }
        }
    }

    /// Notes which cells the symbol of a cell sticks out into. A blank in such a cell is printed whenever it is put, and in its own
    /// style, as by crossterm's backend.
    #[inline]
    fn put_overhang(&mut self, x: u16, y: u16, cell: Cell, is_space: bool, style: Style) {
        let at = self.screen.index(x, y);
        if cell.is_blank() {
            if is_space && self.blanks.is_overhung(at) {
                let x = usize::from(x);
                self.screen.dress_blanks(y, x..x + 1, style);
                self.damage.cells(at, at + 1);
            }
            return;
        }
        let size = (self.screen.width(), self.screen.height());
        if cell.sticks_out_right() {
            self.blanks.overhang(size, at + 1);
        }
        if cell.sticks_out_below() {
            self.blanks.overhang(size, at + usize::from(size.0));
        }
    }

    #[cold]
    pub(super) fn put_symbol(&mut self, x: u16, y: u16, cell: &buffer::Cell, symbol: &str) -> u16 {
        let mut width = match cell.diff_option {
            CellDiffOption::ForcedWidth(width) => width.get(),
            _ => symbol.cell_width(),
        };
        if symbol.len() > 4 && symbol.contains('\x1b') {
            self.opaque_seen = true;
            // The sequences take no columns, but their characters count as if they did.
            width = width.min(self.screen.width() - x);
            self.blanks
                .cover(self.screen.width(), (x, y), rows_of_picture(symbol));
        }
        let style = style_of(cell, self.colors_off);
        let at = self.screen.index(x, y);
        let before = self.screen.row(y)[usize::from(x)];
        self.screen.put_symbol(x, y, symbol, width, style);
        let size = (self.screen.width(), self.screen.height());
        match symbol {
            // Among pictures only a cell that was put is known to be blank.
            " " if self.opaque_seen => self.blanks.note(size, (x, y), style),
            _ => self.blanks.put(size, (x, y), symbol == " ", style),
        }
        let is_same = before == self.screen.row(y)[usize::from(x)] && symbol != " ";
        let always = self.opaque_seen || matches!(cell.diff_option, CellDiffOption::AlwaysUpdate);
        if always || is_same {
            let columns = usize::from(width.clamp(1, self.screen.width().saturating_sub(x).max(1)));
            self.damage.cells(at, at + columns);
        }
        self.forgotten |= is_same && !always && self.is_each_change_visible();
        if self.overhangs && narrow(symbol).is_some() {
            let now = self.screen.row(y)[usize::from(x)];
            self.put_overhang(x, y, now, symbol == " ", style);
        }
        width
    }
}

/// The rows, from its own on, in which text may erase the picture of a symbol of escape sequences: as many as it names, else all.
fn rows_of_picture(symbol: &str) -> u16 {
    // kitty's protocol: pictures lie in a layer of their own, which text leaves alone.
    if symbol.contains("\x1b_G") && !symbol.contains("\x1bP") {
        return 0;
    }
    // iTerm2's: a single sequence, whose height counts cells if it has no unit.
    let file = symbol
        .strip_prefix("\x1b]1337;File=")
        .filter(|rest| !rest.contains('\x1b'));
    let arguments = file.and_then(|file| file.split_once(':'));
    let height = arguments.and_then(|(arguments, _)| {
        let mut arguments = arguments.split(';');
        arguments.find_map(|argument| argument.strip_prefix("height=")?.parse().ok())
    });
    height.unwrap_or(u16::MAX)
}

/// The range around both.
fn around(one: &Range<u16>, other: &Range<u16>) -> Range<u16> {
    match one.is_empty() {
        true => other.clone(),
        false => one.start.min(other.start)..one.end.max(other.end),
    }
}
