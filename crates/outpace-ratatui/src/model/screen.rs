//! The grid of cells that a terminal shows, or should show.
//!
//! A [`Screen`] holds one 16-byte [`Cell`] a position, so that comparing two cells is comparing two
//! 128-bit numbers and copying a screen is one `memcpy`. A symbol of one `char` is stored in the cell
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
    cells: Vec<Cell>,
    symbols: Arc<Symbols>,
    half_blocks: bool,
    /// `true`: no cell is untouched, except perhaps among escape sequences. `false`: unknown.
    complete: bool,
    /// The cursor that the terminal shall show.
    pub cursor: Cursor,
    /// The hidden style of a blank beneath the cursor, if it was put. Many terminals draw a cursor in the foreground of its cell.
    pub(crate) beneath_cursor: Option<Style>,
    /// The cursor is behind the symbol in the last column, where the next symbol wraps. A place there has no name: it is left so where
    /// that symbol was printed last.
    pub(crate) is_cursor_behind: bool,
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
            cells: vec![cell; usize::from(width) * usize::from(height)],
            symbols: Arc::default(),
            half_blocks: false,
            complete: !cell.is_unknown(),
            cursor: Cursor::default(),
            beneath_cursor: None,
            is_cursor_behind: false,
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

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [Cell] {
        self.complete = false;
        &mut self.cells
    }

    /// `true`: every cell has been put or blanked. `false`: not known, without counting.
    pub(crate) fn is_complete(&self) -> bool {
        let complete = self.complete && !self.symbols.has_opaque();
        debug_assert!(!complete || !self.cells.iter().any(|cell| cell.is_unknown()));
        complete
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    pub(crate) fn row(&self, y: u16) -> &[Cell] {
        let start = usize::from(y) * usize::from(self.width);
        &self.cells[start..start + usize::from(self.width)]
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
        let cell = self.cells[self.index(x, y)];
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
        let at = self.index(x, y);
        if self.cells[at].is_continuation() {
            self.break_wide_before(at);
        }
        self.break_wide_after(at + width, y);
        self.cells[at] = cell;
        if width > 1 {
            let tail = Cell::new(CONTINUATION, cell.style());
            self.cells[at + 1..at + width].fill(tail);
        }
    }

    /// Puts a character that takes one column for sure into a cell of the screen. Returns the cell's index.
    #[inline(always)]
    pub(crate) fn put_char(&mut self, x: u16, y: u16, c: char, style: Style) -> usize {
        debug_assert!(x < self.width && y < self.height && !c.is_control());
        let at = self.index(x, y);
        let cell = Cell::new(c as u32, style).canonical(self.half_blocks);
        let cuts_next = x + 1 < self.width && self.cells[at + 1].is_continuation();
        if cuts_next || self.cells[at].is_continuation() {
            self.break_wide_around(at, y);
        }
        self.cells[at] = cell;
        at
    }

    /// Gives blanks among these cells a style that does not show on them.
    pub(crate) fn dress_blanks(&mut self, cells: Range<usize>, style: Style) {
        let blanks = self.cells[cells].iter_mut().filter(|cell| cell.is_blank());
        blanks.for_each(|cell| *cell = Cell::exact_space(style));
    }

    /// Blanks the rests of wide symbols around a cell of one column.
    #[cold]
    fn break_wide_around(&mut self, at: usize, y: u16) {
        if self.cells[at].is_continuation() {
            self.break_wide_before(at);
        }
        self.break_wide_after(at + 1, y);
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
        for cell in &mut self.cells {
            if let Some(text) = old.text(*cell) {
                let id = Symbols::intern(&mut self.symbols, text);
                cell.glyph = cell.glyph & !SYMBOL_MASK | id;
            }
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
        for cell in &mut self.cells {
            if let Some(text) = old.text(*cell) {
                match self.symbols.indices.get(text) {
                    Some(id) => cell.glyph = cell.glyph & !SYMBOL_MASK | INTERNED | id,
                    None => *cell = Cell::UNKNOWN,
                }
            }
        }
        true
    }

    /// Makes this screen a copy of another, reusing its memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.width = other.width;
        self.height = other.height;
        self.cells.clear();
        self.cells.extend_from_slice(&other.cells);
        self.symbols.clone_from(&other.symbols);
        self.half_blocks = other.half_blocks;
        self.complete = other.complete;
        self.cursor = other.cursor;
        self.beneath_cursor = other.beneath_cursor;
        self.is_cursor_behind = other.is_cursor_behind;
    }

    /// The cell that replaces the rest of a wide symbol. Beneath an image it must not be drawn.
    fn left_over(&self, style: Style) -> Cell {
        match self.symbols.has_opaque() {
            true => Cell::UNKNOWN,
            false => Cell::new(' ' as u32, style).canonical(self.half_blocks),
        }
    }

    #[cold]
    fn break_wide_before(&mut self, at: usize) {
        let left_over = self.left_over(self.cells[at].style());
        let mut head = at;
        while self.cells[head].is_continuation() && head > 0 {
            self.cells[head] = left_over;
            head -= 1;
        }
        self.cells[head] = left_over;
        let row_end = (at / usize::from(self.width) + 1) * usize::from(self.width);
        if at + 1 < row_end {
            self.blank_continuations(at + 1, row_end);
        }
    }

    #[inline]
    fn break_wide_after(&mut self, from: usize, y: u16) {
        let row_end = (usize::from(y) + 1) * usize::from(self.width);
        if from < row_end && self.cells[from].is_continuation() {
            self.blank_continuations(from, row_end);
        }
    }

    /// Blanks the rest of a wide symbol, for which ratatui sends no cell. In a highlighted row it gets the highlight (a background,
    /// underlined, reversed), which then goes on to the right; elsewhere it gets the default style.
    #[cold]
    fn blank_continuations(&mut self, from: usize, row_end: usize) {
        let columns = self.cells[from..row_end]
            .iter()
            .take_while(|cell| cell.is_continuation());
        let end = from + columns.count();
        let highlight = |cell: Cell| {
            let (bg, attributes) = (cell.bg, cell.attributes());
            (bg, attributes.common(Attributes::VISIBLE_ON_BLANK))
        };
        let rest = self.cells[from];
        let goes_on = end < row_end && highlight(self.cells[end]) == highlight(rest);
        let style = if goes_on {
            rest.style()
        } else {
            Style::default()
        };
        let left_over = self.left_over(style);
        self.cells[from..end].fill(left_over);
    }

    /// Blanks cells from one position up to another, in reading order.
    pub(crate) fn blank(&mut self, from: usize, to: usize) {
        let to = to.min(self.cells.len());
        if from >= to {
            return;
        }
        if self.cells[from].is_continuation() {
            self.break_wide_before(from);
        }
        if to < self.cells.len() && self.cells[to].is_continuation() {
            self.break_wide_before(to);
        }
        self.cells[from..to].fill(Cell::BLANK);
        self.complete |= (from, to) == (0, self.cells.len());
    }

    /// Blanks the whole screen.
    pub fn clear(&mut self) {
        self.cells.fill(Cell::BLANK);
        self.complete = true;
    }

    /// Blanks the cells of a rectangle that were never touched.
    pub(crate) fn claim(&mut self, columns: Range<u16>, rows: Range<u16>) {
        let columns = columns.start..columns.end.min(self.width);
        let rows = rows.start..rows.end.min(self.height);
        self.complete |= columns == (0..self.width) && rows == (0..self.height);
        for y in rows {
            let row = self.index(columns.start, y)..self.index(columns.end, y);
            for cell in self.cells[row].iter_mut().filter(|cell| cell.is_unknown()) {
                *cell = Cell::BLANK;
            }
        }
    }

    /// Leaves the terminal as it is from a row on.
    pub(crate) fn leave_alone(&mut self, from: u16) {
        let start = self.index(0, from.min(self.height));
        self.cells[start..].fill(Cell::UNKNOWN);
        self.complete = false;
    }

    /// The first column of the wide symbol whose later columns include this one; otherwise this one.
    fn head_of(&self, x: u16, y: u16) -> u16 {
        let tail = |&x: &u16| x < self.width && self.cells[self.index(x, y)].is_continuation();
        let tails = (0..=x).rev().take_while(tail).count();
        x - tails as u16
    }

    /// Puts the touched cells of another screen that lie in both. A wide symbol that the other's edge has cut
    /// stays whole here.
    pub(crate) fn overlay(&mut self, other: &Self) {
        for y in 0..self.height.min(other.height) {
            let cut = self.head_of(other.width, y)..other.width;
            for x in 0..self.width.min(other.width) {
                let cell = other.cells[other.index(x, y)];
                let left_by_cut = cut.contains(&x) && cell.is_blank();
                if cell.is_unknown() || cell.is_continuation() || left_by_cut {
                    continue;
                }
                let is_wide =
                    x + 1 < other.width && other.cells[other.index(x + 1, y)].is_continuation();
                if let Some(c) = cell.as_char().filter(|c| !is_wide && !c.is_control()) {
                    self.put_char(x, y, c, cell.style());
                    continue;
                }
                let end = (x + 1..other.width)
                    .find(|&after| !other.cells[other.index(after, y)].is_continuation());
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
        let mut next = Self::untouched(width, height);
        for y in 0..height.min(self.height) {
            let (from, to) = (self.row(y), next.index(0, y));
            let columns = usize::from(width.min(self.width));
            next.cells[to..to + columns].copy_from_slice(&from[..columns]);
            if columns < from.len() && from[columns].is_continuation() {
                next.break_cut_wide(to, to + columns);
            }
        }
        self.cells = next.cells;
        self.complete = false;
        self.width = width;
        self.height = height;
        self.is_cursor_behind = false;
        self.cursor.x = self.cursor.x.min(width.saturating_sub(1));
        self.cursor.y = self.cursor.y.min(height.saturating_sub(1));
    }

    /// Blanks a wide symbol that the right edge at `end` cut in two.
    fn break_cut_wide(&mut self, start: usize, end: usize) {
        for at in (start..end).rev() {
            let tail = self.cells[at].is_continuation();
            self.cells[at] = Cell::blank_on(self.cells[at].bg);
            if !tail {
                break;
            }
        }
    }

    /// Moves rows `top..bottom` up (`by > 0`) or down (`by < 0`); `blank` fills those that become free.
    pub(crate) fn scroll(&mut self, top: u16, bottom: u16, by: i32, blank: Cell) {
        let bottom = bottom.min(self.height);
        if top >= bottom {
            return;
        }
        self.complete &= !blank.is_unknown();
        let (start, end) = (
            self.index(0, top),
            usize::from(bottom) * usize::from(self.width),
        );
        let rows = i32::from(bottom - top);
        let distance =
            by.unsigned_abs().min(rows.unsigned_abs()) as usize * usize::from(self.width);
        if by > 0 {
            self.cells.copy_within(start + distance..end, start);
            self.cells[end - distance..end].fill(blank);
        } else {
            self.cells
                .copy_within(start..end - distance, start + distance);
            self.cells[start..start + distance].fill(blank);
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
                assert_eq!(screen.cells()[2], blank);
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
        let cells = screen.cells();
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
                    let at = one.index(x, y);
                    assert_eq!(one.cells[at].style(), naive.cells[at].style());
                }
            }
        }
    }

    #[test]
    fn two_tables_of_symbols_become_one() {
        let mut one = Screen::new(2, 1);
        one.put(0, 0, "e\u{301}o\u{302}", Style::default());
        let mut two = Screen::new(2, 1);
        two.put(0, 0, "o\u{302}", Style::default());
        one.share_symbols(&two);
        assert!(one.cells()[0].is_unknown());
        assert_eq!(one.cells()[1], two.cells()[0]);
    }
}
