//! The grid of cells that a terminal shows, or should show.
//!
//! A [`Screen`] holds one 16-byte [`Cell`] a position, so that comparing two cells is comparing two
//! 128-bit numbers. Its copies have the rows in common with it that neither has changed ([`Row`]). A symbol of one `char` is stored in the cell
//! itself; longer ones (combining sequences, emoji, escape sequences that an application smuggles
//! through a cell) are interned in [`Symbols`].
//!
//! Cells are *canonical*: two cells that look the same are the same. A blank has no foreground, since
//! it is invisible; the foreground that shows beneath the cursor is kept beside the cells. (An exception are blanks in
//! bold text that xterm draws otherwise if they are not printed with it.) Where half blocks may be exchanged, `▄` is a `▀` with its
//! colours exchanged, and `█` a space on another background.
//! The encoder chooses among the cells of one canonical form by price.

use std::ops::Range;
use std::sync::Arc;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::cell::{Attributes, CONTINUATION, Cell, INTERNED, SYMBOL_MASK, Style};
use super::row::{Row, Spare};
use super::symbols::Symbols;

/// Where the cursor is to be, and whether it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The column, from 0.
    pub x: u16,
    /// The row, from 0.
    pub y: u16,
    /// Whether it shows.
    pub visible: bool,
}

/// A grid of cells and a cursor.
///
/// ```
/// use outpace_ratatui::{Color, Screen, Style};
///
/// let mut screen = Screen::new(20, 4);
/// screen.put(3, 1, "héllo", Style { fg: Color::indexed(2), ..Style::default() });
/// assert_eq!(screen.text(4, 1), "é");
/// assert_eq!(screen.text(8, 1), " ");
/// ```
#[derive(Clone, Debug)]
pub struct Screen {
    width: u16,
    height: u16,
    rows: Vec<Row>,
    spare: Spare,
    symbols: Arc<Symbols>,
    half_blocks: bool,
    /// `true`: no cell is untouched, except perhaps among escape sequences. `false`: unknown.
    complete: bool,
    /// Putting a symbol has changed cells beside it, the rest of a wide one.
    has_broken_wide: bool,
    /// The cursor that the terminal shall show.
    pub cursor: Cursor,
    /// The hidden style of a blank beneath the cursor, if it was put. Many terminals draw a cursor in the foreground of its cell.
    pub(crate) beneath_cursor: Option<Style>,
    /// The cursor is behind the symbol in the last column, where the next symbol wraps. A place there has no name: it is left so where
    /// that symbol was printed last.
    pub(crate) is_cursor_behind: bool,
    /// Of a fixed viewport. What is beyond the edges, if the terminal has grown meanwhile, is not the application's and not drawn again.
    pub(crate) is_part: bool,
}

impl Screen {
    /// A blank screen.
    pub fn new(width: u16, height: u16) -> Self {
        Self::filled(width, height, Cell::BLANK)
    }

    /// A screen that leaves every cell of the terminal as it is until something is put there.
    pub fn untouched(width: u16, height: u16) -> Self {
        Self::filled(width, height, Cell::UNKNOWN)
    }

    fn filled(width: u16, height: u16, cell: Cell) -> Self {
        Self {
            width,
            height,
            rows: vec![Row::filled(width.into(), cell); height.into()],
            spare: Spare::default(),
            symbols: Arc::default(),
            half_blocks: false,
            complete: !cell.is_unknown(),
            has_broken_wide: false,
            cursor: Cursor::default(),
            beneath_cursor: None,
            is_cursor_behind: false,
            is_part: false,
        }
    }

    /// Columns.
    pub const fn width(&self) -> u16 {
        self.width
    }

    /// Rows.
    pub const fn height(&self) -> u16 {
        self.height
    }

    /// Whether `▀`, `▄`, `█` and space may stand for one another (not at first). To be set before
    /// anything is drawn, and to what the renderer's capabilities say.
    pub fn exchange_half_blocks(&mut self, allowed: bool) {
        self.half_blocks = allowed;
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.width) * usize::from(self.height)
    }

    /// All cells, in reading order.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.rows.iter().flat_map(Row::cells)
    }

    /// Changes the cells from one position up to another, in reading order.
    pub(crate) fn change(&mut self, cells: Range<usize>, mut change: impl FnMut(&mut [Cell])) {
        self.complete = false;
        let width = usize::from(self.width);
        let mut from = cells.start;
        let end = cells.end.min(self.len());
        while from < end {
            let (y, x) = (from / width, from % width);
            let to = end.min((y + 1) * width);
            change(&mut self.rows[y].cells_mut(&mut self.spare)[x..x + to - from]);
            from = to;
        }
    }

    /// Fills rows with one cell.
    pub(crate) fn fill_rows(&mut self, rows: Range<u16>, cell: Cell) {
        self.complete &= !cell.is_unknown();
        let rows = usize::from(rows.start)..usize::from(rows.end);
        self.rows[rows].fill(Row::filled(self.width.into(), cell));
    }

    /// Has its rows from `top` on show the first rows of another screen, as wide and with the same symbols.
    pub(crate) fn copy_rows(&mut self, top: u16, other: &Self, rows: u16) {
        debug_assert_eq!(self.width, other.width);
        self.complete = false;
        let top = usize::from(top);
        let rows = usize::from(rows);
        self.rows[top..top + rows].clone_from_slice(&other.rows[..rows]);
    }

    /// Lets other screens have new rows in common with this one.
    pub(crate) fn share(&mut self) {
        self.rows.iter_mut().for_each(Row::share);
    }

    /// Has a row in common with another screen, which shows the same there, if that allows it.
    pub(crate) fn share_row(&mut self, y: u16, other: &Self) {
        let y = usize::from(y);
        self.rows[y].share_with(&other.rows[y], &mut self.spare);
    }

    /// `true`: every cell has been put or blanked. `false`: not known, without counting.
    pub(crate) fn is_complete(&self) -> bool {
        let complete = self.complete && !self.symbols.has_opaque();
        debug_assert!(!complete || !self.cells().any(|cell| cell.is_unknown()));
        complete
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    #[inline]
    pub(crate) fn row(&self, y: u16) -> &[Cell] {
        self.rows[usize::from(y)].cells()
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, y: u16) -> &mut [Cell] {
        self.complete = false;
        self.rows[usize::from(y)].cells_mut(&mut self.spare)
    }

    pub(crate) fn index(&self, x: u16, y: u16) -> usize {
        usize::from(y) * usize::from(self.width) + usize::from(x)
    }

    /// The text of a cell: its symbol; empty for the later columns of a wide symbol and for a cell that was never touched; a space
    /// beyond the edges.
    pub fn text(&self, x: u16, y: u16) -> String {
        if x >= self.width || y >= self.height {
            return " ".into();
        }
        let cell = self.row(y)[usize::from(x)];
        match cell.as_char() {
            Some(c) => c.into(),
            None => self.symbols.text(cell).unwrap_or_default().into(),
        }
    }

    /// Puts text into a row, a character a cell (two for wide ones), cutting it off at the right edge.
    /// Characters without a width join the one before them.
    pub fn put(&mut self, x: u16, y: u16, text: &str, style: Style) {
        let mut x = x;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let after = rest[first.len_utf8()..]
                .char_indices()
                .find(|(_, c)| c.width() != Some(0))
                .map_or(rest.len(), |(at, _)| first.len_utf8() + at);
            let (symbol, tail) = rest.split_at(after);
            let width = symbol.width() as u16;
            self.put_symbol(x, y, symbol, width, style);
            x = x.saturating_add(width.max(1));
            rest = tail;
        }
    }

    /// Puts one symbol of `width` columns into a cell, and ignores a cell outside the screen. A wide symbol
    /// that does not fit, and a symbol without a width, become a space. Wide symbols that lose a
    /// half become blanks, as in a terminal.
    #[inline]
    pub fn put_symbol(&mut self, x: u16, y: u16, symbol: &str, width: u16, style: Style) {
        if x >= self.width || y >= self.height {
            return;
        }
        let fits = width >= 1 && width <= self.width - x;
        let id = if fits {
            self.symbol_id(symbol)
        } else {
            ' ' as u32
        };
        let width = if fits { usize::from(width) } else { 1 };
        let cell = Cell::new(id, style).canonical(self.half_blocks);
        let x = usize::from(x);
        if self.row(y)[x].is_continuation() {
            self.break_wide_before(x, y);
        }
        self.break_wide_after(x + width, y);
        let row = self.rows[usize::from(y)].cells_mut(&mut self.spare);
        row[x] = cell;
        if width > 1 {
            let tail = Cell::new(CONTINUATION, cell.style());
            row[x + 1..x + width].fill(tail);
        }
    }

    /// Puts a character that takes one column for sure into a cell of the screen. Returns the cell, and whether it was there before.
    #[inline(always)]
    pub(crate) fn put_char(&mut self, x: u16, y: u16, c: char, style: Style) -> (Cell, bool) {
        debug_assert!(x < self.width && y < self.height && !c.is_control());
        let x = usize::from(x);
        let cell = Cell::new(c as u32, style).canonical(self.half_blocks);
        let row = self.rows[usize::from(y)].cells_mut(&mut self.spare);
        let before = row[x];
        let cuts_next = row.get(x + 1).is_some_and(|next| next.is_continuation());
        if cuts_next || before.is_continuation() {
            self.break_wide_around(x, y);
            self.rows[usize::from(y)].cells_mut(&mut self.spare)[x] = cell;
        } else {
            row[x] = cell;
        }
        (cell, before == cell)
    }

    /// Whether putting a symbol has changed cells beside it, in its row, since the last call.
    #[inline]
    pub(crate) fn take_broken_wide(&mut self) -> bool {
        std::mem::take(&mut self.has_broken_wide)
    }

    /// Gives blanks among these cells of a row a style that does not show on them.
    pub(crate) fn dress_blanks(&mut self, y: u16, columns: Range<usize>, style: Style) {
        let cells = self.rows[usize::from(y)].cells_mut(&mut self.spare)[columns].iter_mut();
        let blanks = cells.filter(|cell| cell.is_blank());
        blanks.for_each(|cell| *cell = Cell::exact_space(style));
    }

    /// Blanks the rests of wide symbols around a cell of one column.
    #[cold]
    fn break_wide_around(&mut self, x: usize, y: u16) {
        if self.row(y)[x].is_continuation() {
            self.break_wide_before(x, y);
        }
        self.break_wide_after(x + 1, y);
    }

    #[inline]
    fn symbol_id(&mut self, symbol: &str) -> u32 {
        if let [byte @ b' '..=b'~'] = symbol.as_bytes() {
            return u32::from(*byte);
        }
        let mut chars = symbol.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_control() => c as u32,
            _ => self.intern(symbol),
        }
    }

    #[cold]
    fn intern(&mut self, symbol: &str) -> u32 {
        if !symbol.contains('\x1b') && symbol.chars().any(char::is_control) {
            // A stray control character would move the cursor behind our back.
            return match symbol
                .chars()
                .filter(|c| !c.is_control())
                .collect::<String>()
            {
                clean if clean.is_empty() => ' ' as u32,
                clean => self.symbol_id(&clean),
            };
        }
        if self.symbols.entries.len() >= Symbols::LIMIT {
            self.rebuild_symbols();
        }
        Symbols::intern(&mut self.symbols, symbol)
    }

    /// Forgets the symbols that no cell refers to.
    fn rebuild_symbols(&mut self) {
        // Cells that were cut from among escape sequences stay untouched, though the sequences may be gone.
        self.complete &= !self.symbols.has_opaque();
        let old = std::mem::take(&mut self.symbols);
        self.adopt(&old);
    }

    /// Makes interned symbols, which `old` explains, refer to this screen's own table.
    fn adopt(&mut self, old: &Symbols) {
        let (columns, spare) = (0..usize::from(self.width), &mut self.spare);
        for row in &mut self.rows {
            row.change_those(columns.clone(), spare, Cell::is_interned, |cell| {
                if let Some(text) = old.text(*cell) {
                    let id = Symbols::intern(&mut self.symbols, text);
                    cell.glyph = cell.glyph & !SYMBOL_MASK | id;
                }
            });
        }
    }

    /// Takes over another screen's table of symbols, so that cells of both can be compared. Returns whether that has changed any.
    pub(crate) fn share_symbols(&mut self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.symbols, &other.symbols) {
            return false;
        }
        let same = self.symbols.entries.len() <= other.symbols.entries.len()
            && self
                .symbols
                .entries
                .iter()
                .zip(&other.symbols.entries)
                .all(|(mine, theirs)| mine.text == theirs.text);
        let old = std::mem::replace(&mut self.symbols, other.symbols.clone());
        if same {
            return false;
        }
        self.complete = false;
        let (columns, spare) = (0..usize::from(self.width), &mut self.spare);
        for row in &mut self.rows {
            row.change_those(columns.clone(), spare, Cell::is_interned, |cell| {
                if let Some(text) = old.text(*cell) {
                    match self.symbols.indices.get(text) {
                        Some(id) => cell.glyph = cell.glyph & !SYMBOL_MASK | INTERNED | id,
                        None => *cell = Cell::UNKNOWN,
                    }
                }
            });
        }
        true
    }

    /// Makes this screen a copy of another, reusing its memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.width = other.width;
        self.height = other.height;
        self.rows.clone_from(&other.rows);
        self.symbols.clone_from(&other.symbols);
        self.half_blocks = other.half_blocks;
        self.complete = other.complete;
        self.cursor = other.cursor;
        self.beneath_cursor = other.beneath_cursor;
        self.is_cursor_behind = other.is_cursor_behind;
        self.is_part = other.is_part;
    }

    /// The cell that replaces the rest of a wide symbol. Beneath an image it must not be drawn.
    fn left_over(&self, style: Style) -> Cell {
        match self.symbols.has_opaque() {
            true => Cell::UNKNOWN,
            false => Cell::new(' ' as u32, style).canonical(self.half_blocks),
        }
    }

    #[cold]
    fn break_wide_before(&mut self, x: usize, y: u16) {
        self.has_broken_wide = true;
        let left_over = self.left_over(self.row(y)[x].style());
        let row = self.rows[usize::from(y)].cells_mut(&mut self.spare);
        let mut head = x;
        while row[head].is_continuation() && head > 0 {
            row[head] = left_over;
            head -= 1;
        }
        row[head] = left_over;
        self.break_wide_after(x + 1, y);
    }

    #[inline]
    fn break_wide_after(&mut self, x: usize, y: u16) {
        if self
            .row(y)
            .get(x)
            .is_some_and(|cell| cell.is_continuation())
        {
            self.blank_continuations(x, y);
        }
    }

    /// Blanks the rest of a wide symbol, for which ratatui sends no cell. In a highlighted row it gets the highlight (a background,
    /// underlined, reversed), which then goes on to the right; elsewhere it gets the default style.
    #[cold]
    fn blank_continuations(&mut self, from: usize, y: u16) {
        self.has_broken_wide = true;
        let row = self.row(y);
        let columns = row[from..].iter().take_while(|cell| cell.is_continuation());
        let end = from + columns.count();
        let highlight = |cell: Cell| {
            let (bg, attributes) = (cell.bg, cell.attributes());
            (bg, attributes.common(Attributes::VISIBLE_ON_BLANK))
        };
        let rest = row[from];
        let next = row.get(end);
        let goes_on = next.is_some_and(|next| highlight(*next) == highlight(rest));
        let style = if goes_on {
            rest.style()
        } else {
            Style::default()
        };
        let left_over = self.left_over(style);
        self.rows[usize::from(y)].cells_mut(&mut self.spare)[from..end].fill(left_over);
    }

    /// Blanks cells from one position up to another, in reading order.
    pub(crate) fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.len());
        if from >= to {
            return;
        }
        if (from, to) == (0, self.len()) {
            return self.clear();
        }
        let width = usize::from(self.width);
        for at in [from, to] {
            let (x, y) = (at % width, (at / width) as u16);
            if at < self.len() && self.row(y)[x].is_continuation() {
                self.break_wide_before(x, y);
            }
        }
        let complete = self.complete;
        self.change(from..to, |part| part.fill(Cell::BLANK));
        self.complete = complete;
    }

    /// Blanks the whole screen.
    pub fn clear(&mut self) {
        self.fill_rows(0..self.height, Cell::BLANK);
        self.complete = true;
    }

    /// Blanks the cells of a rectangle that were never touched.
    pub(crate) fn claim(&mut self, columns: Range<u16>, rows: Range<u16>) {
        let columns = columns.start..columns.end.min(self.width);
        let rows = rows.start..rows.end.min(self.height);
        self.complete |= columns == (0..self.width) && rows == (0..self.height);
        let columns = usize::from(columns.start)..usize::from(columns.end);
        for row in &mut self.rows[usize::from(rows.start)..usize::from(rows.end)] {
            row.change_those(columns.clone(), &mut self.spare, Cell::is_unknown, |cell| {
                *cell = Cell::BLANK;
            });
        }
    }

    /// Leaves the terminal as it is from a row on.
    pub(crate) fn leave_alone(&mut self, from: u16) {
        self.fill_rows(from.min(self.height)..self.height, Cell::UNKNOWN);
        self.complete = false;
    }

    /// The first column of the wide symbol whose later columns include this one; otherwise this one.
    fn head_of(&self, x: u16, y: u16) -> u16 {
        let row = self.row(y);
        let tail = |&x: &u16| x < self.width && row[usize::from(x)].is_continuation();
        let tails = (0..=x).rev().take_while(tail).count();
        x - tails as u16
    }

    /// Puts the touched cells of another screen that lie in both. A wide symbol that the other's edge has cut
    /// stays whole here.
    pub(crate) fn overlay(&mut self, other: &Self) {
        for y in 0..self.height.min(other.height) {
            let cut = self.head_of(other.width, y)..other.width;
            for x in 0..self.width.min(other.width) {
                let row = other.row(y);
                let cell = row[usize::from(x)];
                let left_by_cut = cut.contains(&x) && cell.is_blank();
                if cell.is_unknown() || cell.is_continuation() || left_by_cut {
                    continue;
                }
                let next = row.get(usize::from(x) + 1);
                let is_wide = next.is_some_and(|next| next.is_continuation());
                if let Some(c) = cell.as_char().filter(|c| !is_wide && !c.is_control()) {
                    self.put_char(x, y, c, cell.style());
                    continue;
                }
                let end =
                    (x + 1..other.width).find(|&after| !row[usize::from(after)].is_continuation());
                let width = end.unwrap_or(other.width) - x;
                self.put_symbol(x, y, &other.text(x, y), width, cell.style());
            }
        }
    }

    /// Changes the size and keeps the cells that lie in both sizes. New cells are untouched.
    pub fn resize(&mut self, width: u16, height: u16) {
        if (width, height) == (self.width, self.height) {
            return;
        }
        let columns = usize::from(width.min(self.width));
        let blank = Row::filled(width.into(), Cell::UNKNOWN);
        self.rows.resize(height.into(), blank.clone());
        for row in &mut self.rows[..usize::from(height.min(self.height))] {
            if width == self.width {
                break;
            }
            let from = std::mem::replace(row, blank.clone());
            let (from, to) = (from.cells(), row.cells_mut(&mut self.spare));
            to[..columns].copy_from_slice(&from[..columns]);
            if columns < from.len() && from[columns].is_continuation() {
                break_cut_wide(&mut to[..columns]);
            }
        }
        self.complete = false;
        self.width = width;
        self.height = height;
        self.is_cursor_behind = false;
        self.cursor.x = self.cursor.x.min(width.saturating_sub(1));
        self.cursor.y = self.cursor.y.min(height.saturating_sub(1));
    }

    /// Moves rows `top..bottom` up (`by > 0`) or down (`by < 0`); `blank` fills those that become free.
    pub(crate) fn scroll(&mut self, top: u16, bottom: u16, by: i32, blank: Cell) {
        let bottom = bottom.min(self.height);
        if top >= bottom {
            return;
        }
        let freed = freed_rows(top, bottom, by);
        let rows = &mut self.rows[usize::from(top)..usize::from(bottom)];
        match by > 0 {
            true => rows.rotate_left(freed.len()),
            false => rows.rotate_right(freed.len()),
        }
        self.fill_rows(freed, blank);
    }
}

/// The rows that come free when rows `top..bottom` move up (`by > 0`) or down (`by < 0`).
pub(crate) fn freed_rows(top: u16, bottom: u16, by: i32) -> Range<u16> {
    let distance = by.unsigned_abs().min((bottom - top).into()) as u16;
    match by > 0 {
        true => bottom - distance..bottom,
        false => top..top + distance,
    }
}

/// Blanks a wide symbol that the right edge, behind these cells, cut in two.
fn break_cut_wide(row: &mut [Cell]) {
    for cell in row.iter_mut().rev() {
        let tail = cell.is_continuation();
        *cell = Cell::blank_on(cell.bg);
        if !tail {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Color;

    fn style(fg: Color, bg: Color) -> Style {
        Style {
            fg,
            bg,
            ..Style::default()
        }
    }

    /// ratatui sends no cell for the second half of a wide symbol: found in a selected row of a table.
    #[test]
    fn what_a_wide_symbol_leaves_behind_is_highlighted_as_its_row_is() {
        let plain = Style::default();
        let underlined = Style {
            attributes: Attributes::UNDERLINED.union(Attributes::BOLD),
            ..plain
        };
        let reversed = Style {
            fg: Color::indexed(3),
            attributes: Attributes::REVERSED,
            ..plain
        };
        for highlight in [
            underlined,
            reversed,
            style(Color::DEFAULT, Color::indexed(4)),
        ] {
            for (next, expected) in [(highlight, highlight), (plain, plain)] {
                let mut screen = Screen::new(8, 1);
                screen.put(0, 0, "a日", highlight);
                screen.put(3, 0, "b", next);
                // The symbol moves to the left by a column.
                screen.put(0, 0, "日", highlight);
                assert_eq!(screen.text(2, 0), " ");
                let blank = Cell::new(' ' as u32, expected).canonical(false);
                assert_eq!(screen.row(0)[2], blank);
            }
        }
    }

    #[test]
    fn cells_that_look_the_same_are_the_same() {
        let (red, blue) = (Color::rgb(200, 0, 0), Color::indexed(4));
        let mut screen = Screen::new(8, 1);
        screen.exchange_half_blocks(true);
        screen.put(0, 0, "▀", style(red, blue));
        screen.put(1, 0, "▄", style(blue, red));
        screen.put(2, 0, "█", style(red, blue));
        screen.put(3, 0, " ", style(blue, red));
        screen.put(4, 0, "▄", style(red, red));
        screen.put(5, 0, "▄", style(red, Color::DEFAULT));
        let cells = screen.row(0);
        assert_eq!(cells[0], cells[1]);
        assert_eq!(cells[2], cells[3]);
        assert_eq!(cells[3], cells[4]);
        assert_eq!(
            screen.text(5, 0),
            "▄",
            "the default colours cannot change places"
        );
    }

    #[test]
    fn half_blocks_stay_when_they_may_not_be_exchanged() {
        let mut screen = Screen::new(2, 1);
        screen.exchange_half_blocks(false);
        screen.put(0, 0, "▄█", style(Color::indexed(1), Color::indexed(2)));
        assert_eq!(
            (screen.text(0, 0), screen.text(1, 0)),
            ("▄".into(), "█".into())
        );
    }

    #[test]
    fn overwriting_half_of_a_wide_symbol_blanks_the_other() {
        let mut screen = Screen::new(6, 1);
        screen.put(0, 0, "日本語", Style::default());
        screen.put(1, 0, "x", Style::default());
        screen.put(4, 0, "y", Style::default());
        let row: Vec<String> = (0..6).map(|x| screen.text(x, 0)).collect();
        assert_eq!(row, [" ", "x", "本", "", "y", " "]);
    }

    #[test]
    fn a_wide_symbol_that_does_not_fit_is_a_blank() {
        let mut screen = Screen::new(3, 1);
        screen.put(2, 0, "日", Style::default());
        assert_eq!(screen.text(2, 0), " ");
        screen.put(1, 0, "日", Style::default());
        screen.resize(2, 1);
        assert_eq!(screen.text(1, 0), " ", "cut in two by the edge");
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        let mut screen = Screen::new(3, 1);
        screen.put_symbol(0, 0, "\n", 1, Style::default());
        screen.put_symbol(1, 0, "a\t", 1, Style::default());
        assert_eq!(
            (screen.text(0, 0), screen.text(1, 0)),
            (" ".into(), "a".into())
        );
    }

    #[test]
    fn symbols_survive_the_rebuilding_of_their_table() {
        let mut screen = Screen::new(4, 1);
        for n in 0..Symbols::LIMIT + 10 {
            let letter = char::from_u32(0x4e00 + (n / 100) as u32).unwrap();
            let mark = char::from_u32(0x300 + (n % 100) as u32).unwrap();
            screen.put_symbol(
                (n % 2) as u16,
                0,
                &format!("{letter}{mark}"),
                1,
                Style::default(),
            );
            screen.put_symbol(3, 0, "e\u{301}", 1, Style::default());
        }
        assert!(screen.symbols.entries.len() < 20);
        assert_eq!(screen.text(3, 0), "e\u{301}");
    }

    #[test]
    fn an_overlay_is_what_was_touched_put_again() {
        let mut state = 0x9E37_79B9_u32;
        let mut below = |n: u16| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as u16 % n
        };
        for _ in 0..300 {
            let sizes: [_; 2] = std::array::from_fn(|_| (1 + below(9), 1 + below(4)));
            let mut screens = sizes.map(|(width, height)| {
                let mut screen = Screen::untouched(width, height);
                screen.exchange_half_blocks(below(2) == 0);
                for _ in 0..below(20) {
                    let text = [" ", "a", "▄", "日", "e\u{301}"][usize::from(below(5))];
                    let (x, y) = (below(width), below(height));
                    screen.put(x, y, text, style(Color::indexed(1), Color::indexed(2)));
                }
                screen
            });
            let [one, other] = &mut screens;
            one.half_blocks = other.half_blocks;
            let mut naive = one.clone();
            for y in 0..other.height.min(one.height) {
                let cut = one.head_of(other.width, y)..other.width;
                for x in 0..other.width.min(one.width) {
                    let cell = other.row(y)[usize::from(x)];
                    let left_by_cut = cut.contains(&x) && cell.is_blank();
                    if !cell.is_unknown() && !cell.is_continuation() && !left_by_cut {
                        let tails = other.row(y)[usize::from(x) + 1..].iter();
                        let tails = tails.take_while(|cell| cell.is_continuation()).count();
                        let text = other.text(x, y);
                        naive.put_symbol(x, y, &text, tails as u16 + 1, cell.style());
                    }
                }
            }
            one.overlay(other);
            for y in 0..one.height {
                for x in 0..one.width {
                    assert_eq!(one.text(x, y), naive.text(x, y));
                    let style = |screen: &Screen| screen.row(y)[usize::from(x)].style();
                    assert_eq!(style(one), style(&naive));
                }
            }
        }
    }

    #[test]
    fn a_row_that_screens_have_in_common_is_changed_in_one_alone() {
        let at = |screen: &Screen, y| screen.row(y).as_ptr();
        let mut wanted = Screen::new(4, 3);
        assert_eq!(at(&wanted, 0), at(&wanted, 2), "blank rows are one");
        wanted.put(0, 1, "ab", Style::default());
        assert_eq!(wanted.text(0, 0), " ");
        wanted.share();
        let mut shown = wanted.clone();
        assert_eq!(at(&wanted, 1), at(&shown, 1));
        wanted.put(1, 1, "c", Style::default());
        assert_eq!(
            (shown.text(1, 1), wanted.text(1, 1)),
            ("b".into(), "c".into())
        );
        // Not shared again: from now on each has memory of its own.
        wanted.share();
        shown.put(1, 1, "c", Style::default());
        shown.share_row(1, &wanted);
        assert_ne!(at(&wanted, 1), at(&shown, 1));
        let before = at(&shown, 1);
        wanted.put(0, 1, "d", Style::default());
        shown.copy_from(&wanted);
        assert_eq!((at(&shown, 1), shown.text(0, 1)), (before, "d".into()));
    }

    #[test]
    fn two_tables_of_symbols_become_one() {
        let mut one = Screen::new(2, 1);
        one.put(0, 0, "e\u{301}o\u{302}", Style::default());
        let mut two = Screen::new(2, 1);
        two.put(0, 0, "o\u{302}", Style::default());
        one.share_symbols(&two);
        assert!(one.row(0)[0].is_unknown());
        assert_eq!(one.row(0)[1], two.row(0)[0]);
    }
}
