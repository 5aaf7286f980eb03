//! Turns a transcript that grows, and a live region below it, into bytes.
//!
//! Between two frames the terminal's cursor is hidden and stays at the *anchor*: the row behind the last line that is
//! finished. When a terminal reflows its lines, it carries the cursor along with the text it is at. So every frame starts at
//! the anchor, however the terminal was resized, and no position has to be asked for. The cursor is in the second column:
//! wezterm moves one in the first column to the end of the row before. Terminals that lose it if there is text below
//! ([`Reflow::AboveCursor`]) get it parked in a row of its own below the live region: its way back is known as long as the terminal's width is.
//!
//! A resize overtakes frames that are on their way: the terminal may have another width than the frame was made for. So what
//! cannot be repaired does not depend on the width. A finished line is printed from the anchor on, once all below is erased,
//! and the terminal finds out how many rows that takes. What lies below the anchor, the *open* line that still grows and
//! the live region, is drawn row by row without wrapping (`DECAWM` is off). The cursor goes down by vertical tabs, each of which leads a
//! row down in every terminal, and returns by as many rows. The next frame overwrites what one of another width left there.
//!
//! tmux reflows a while before it tells the program of its new width ([`Reflow::Ahead`]), so there nothing at all may depend on the width,
//! and nothing may lie below the cursor that matters: rows that a narrower width adds push the first ones into the scrollback, past
//! the cursor if there are few above it. A line that grows is printed there at once, and the cursor rests *on its last symbol*. That is
//! printed again before what extends it, so that the terminal wraps as if nothing had happened between.
//!
//! An open line is printed again when it is finished. It is finished, too, when nothing extends it for a while, so that
//! nothing but the live region is below the cursor of a program that waits, or was killed; and when it takes so many rows that a
//! narrower terminal would push some of them into its scrollback. What extends a printed line opens it again, or,
//! if it is too long for that, is printed behind its end, for which the width has to be right.

use super::encode::Encoder;
use super::{BEGIN_SYNCHRONIZED, END_SYNCHRONIZED, HIDE_CURSOR, MAX_SYNCHRONIZED, SHOW_CURSOR};
use crate::model::{Attributes, Cell, Screen, Stats, Style, same_cells};

/// A symbol of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) text: String,
    pub(crate) columns: u16,
    pub(crate) style: Style,
}

impl Glyph {
    /// Whether it looks different from no symbol.
    fn shows(&self) -> bool {
        let Style { bg, attributes, .. } = self.style;
        self.text != " " || bg.is_explicit() || attributes.intersects(Attributes::VISIBLE_ON_BLANK)
    }
}

/// What a terminal does with its lines, and its cursor, when its width changes.
///
/// It is known by the terminal's name, or else taken to be `All`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reflow {
    /// Nothing: rows are cut or padded (xterm, the console).
    Never,
    /// It wraps all lines anew, but finds its cursor again only if nothing is below (kitty 0.26, xterm.js).
    AboveCursor,
    /// It wraps all lines anew and carries its cursor along (alacritty, wezterm).
    #[default]
    All,
    /// The same, but the program is told of a new width only a while later (tmux).
    Ahead,
}

/// What is done to the transcript.
#[derive(Clone, Debug)]
pub(crate) enum Addition {
    /// A line of its own.
    Line(Vec<Glyph>),
    /// The beginning of a line that goes on.
    Open(Vec<Glyph>),
    /// Continues the last line.
    Extend(Vec<Glyph>),
}

/// Frames that write less are shown whole without being synchronized.
const SMALL: usize = 256;
/// Printed lines of more symbols are not opened again, nor are all their symbols kept.
const MOST_GLYPHS: usize = 1 << 14;

const WRAP: &str = "\x1b[?7h";
const NO_WRAP: &str = "\x1b[?7l";

/// Erases what is below the anchor, and leaves the cursor in its second column. tmux moves what is erased into its scrollback if
/// that begins at the first column of the first row.
const ERASE_BELOW: &str = "\r\x1b[K\x1b[C\x1b[J";

/// Goes a row down: the vertical tab. Terminals take it for a line feed (DEC STD 070; VT510 manual, table 4-1; `console_codes(4)`; Windows
/// Terminal since its change 3271): asked for their cursor, xterm 379, alacritty, kitty 0.26, foot and tmux 3.3 answered alike after both,
/// on the last row, too. No line discipline changes it, so that it keeps the column in raw mode and where a return is added to a line feed
/// (`ONLCR`); and there Linux hands over what comes before a line feed by itself, so that the terminal may change its size in the middle of
/// a frame. In new-line mode (`CSI 20 h`) it returns in some terminals, as a line feed does: no column is relied on behind it, but in
/// tmux, which does not have that mode.
const DOWN: &str = "\x0b";
const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";

/// The last line.
#[derive(Debug, Default)]
struct Last {
    /// All of it, or only the last symbol if they are too many.
    glyphs: Vec<Glyph>,
    /// The columns of each symbol.
    columns: Vec<u16>,
    /// Blanks at its end that have not been printed. Some terminals forget blanks at the end of a line when they reflow it,
    /// others do not; so they are printed with what follows them.
    held: Vec<Glyph>,
    /// How many of its symbols are drawn below the anchor; none if it is printed above.
    open: Option<usize>,
    /// How many rows it takes.
    rows: u16,
    /// Behind its end, in its last row. The width if that row is full.
    column: u16,
}

impl Last {
    fn push(&mut self, glyphs: Vec<Glyph>, width: u16) {
        self.held.extend(glyphs);
        let end = self.held.iter().rposition(Glyph::shows);
        let end = end.map_or(0, |last| last + 1);
        for glyph in self.held.drain(..end) {
            let (column, wrapped) = after(self.column, glyph.columns, width);
            self.column = column;
            self.rows = self.rows.saturating_add(wrapped.into());
            self.columns.push(glyph.columns);
            self.glyphs.push(glyph);
        }
    }

    /// Wraps it anew.
    fn lay_out(&mut self, width: u16) {
        (self.rows, self.column) = (1, 0);
        for &columns in &self.columns {
            let (column, wrapped) = after(self.column, columns, width);
            self.column = column;
            self.rows = self.rows.saturating_add(wrapped.into());
        }
    }

    const fn is_whole(&self) -> bool {
        self.glyphs.len() == self.columns.len()
    }

    const fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

#[derive(Debug)]
pub(crate) struct TranscriptRenderer {
    encoder: Encoder,
    reflow: Reflow,
    synchronized: bool,
    width: u16,
    rows: u16,
    /// What the terminal shows from the anchor on. Cells of the open line are unknown.
    shown: Screen,
    /// How many rows there may be, at most, between the anchor and the end of the screen or of what was drawn.
    below: u16,
    last: Option<Last>,
    begun: bool,
    /// How many rows below the anchor the cursor is parked.
    parked: u16,
    /// The cursor is in the first column of the anchor, not in the second.
    home: bool,
    /// The cursor is not at the anchor but in the row above, on the last symbol of the last line (`Reflow::Ahead`).
    on_last: bool,
    /// Below the last line something was drawn since all behind its end was erased (`Reflow::Ahead`). In a window that has become narrower
    /// the line may wrap into it, so that a part stays behind its end when what was drawn goes.
    drawn_below: bool,
    /// This frame has erased what it draws again.
    destructive: bool,
    stats: Stats,
}

impl TranscriptRenderer {
    pub(crate) fn new(reflow: Reflow, synchronized: bool) -> Self {
        Self {
            encoder: Encoder::new(false),
            reflow,
            synchronized,
            width: 0,
            rows: 0,
            shown: Screen::new(0, 0),
            below: 1,
            last: None,
            begun: false,
            parked: 0,
            home: false,
            on_last: false,
            drawn_below: false,
            destructive: false,
            stats: Stats::default(),
        }
    }

    /// Says what the terminal does, before anything is drawn.
    pub(crate) fn set_reflow(&mut self, reflow: Reflow) {
        self.reflow = reflow;
    }

    /// The bytes that add to the transcript and show this live region below it, in a terminal of so many rows.
    pub(crate) fn render(&mut self, additions: &[Addition], wanted: &Screen, rows: u16) -> &[u8] {
        let parked = self.parked;
        let begun_at = self.begin(wanted.width());
        self.adopt_size(wanted.width(), rows);
        for addition in additions {
            match addition {
                Addition::Line(glyphs) => {
                    self.begin_line(glyphs);
                    self.finish_line();
                    self.leave_last();
                }
                Addition::Open(glyphs) => self.begin_line(glyphs),
                Addition::Extend(glyphs) => self.extend(glyphs, wanted.height()),
            }
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.is_open())
            && self.is_tall(last.rows, wanted.height())
        {
            self.finish_line();
        }
        self.draw(wanted);
        if self.encoder.out.len() == begun_at {
            self.parked = parked;
            return &[];
        }
        self.rest();
        self.park();
        self.end()
    }

    /// The bytes that print the open line, if there is one, since nothing has extended it for a while.
    pub(crate) fn settle(&mut self, wanted: &Screen, rows: u16) -> &[u8] {
        self.begin(wanted.width());
        self.adopt_size(wanted.width(), rows);
        self.finish_line();
        self.draw(wanted);
        self.rest();
        self.park();
        self.end()
    }

    /// Whether the live region is not to be drawn as often as possible.
    pub(crate) fn is_paced(&self) -> bool {
        self.reflow == Reflow::Ahead
    }

    /// Whether the last line is drawn, not printed.
    pub(crate) fn is_open(&self) -> bool {
        self.last.as_ref().is_some_and(Last::is_open)
    }

    /// The bytes that take the live region away, and leave the cursor below the transcript.
    pub(crate) fn farewell(&mut self, width: u16) -> &[u8] {
        self.begin(width);
        if self.begun {
            self.erase_all();
            self.shown = Screen::new(self.width, 0);
            self.finish_line();
            self.leave_last();
            self.go_home();
            self.encoder.text(SHOW_CURSOR);
        }
        // Whatever others write then lies between that line and what extends it.
        self.last = None;
        self.begun = false;
        self.end()
    }

    /// Leads to the anchor, in a terminal of this width. Returns where the frame begins behind that.
    fn begin(&mut self, width: u16) -> usize {
        self.encoder.out.clear();
        self.encoder.forget();
        self.encoder.text(BEGIN_SYNCHRONIZED);
        self.destructive = false;
        if self.parked > 0 {
            if width != self.width {
                self.parked = self.reflowed(width, self.parked);
            }
            self.encoder.csi(self.parked, b'A');
            self.parked = 0;
        }
        self.encoder.out.len()
    }

    /// Leaves the cursor in a row of its own below all that is drawn, where it has to be.
    fn park(&mut self) {
        if self.reflow == Reflow::AboveCursor && self.shown.height() > 0 {
            let rows = self.shown.height().min(self.rows.saturating_sub(1));
            self.go_down(&mut 0, rows);
            self.parked = rows;
            self.below = self.below.max(rows + 1);
        }
    }

    fn end(&mut self) -> &[u8] {
        let start = BEGIN_SYNCHRONIZED.len();
        let length = self.encoder.out.len() - start;
        let wrap = length > SMALL || self.destructive;
        if wrap && length < MAX_SYNCHRONIZED && self.synchronized {
            self.encoder.text(END_SYNCHRONIZED);
            return &self.encoder.out;
        }
        &self.encoder.out[start..]
    }

    /// Follows a change of size, or begins. Erases the rows below, whose contents are unknown after it.
    fn adopt_size(&mut self, width: u16, rows: u16) {
        if self.begun && (width, rows) == (self.width, self.rows) {
            return;
        }
        if !self.begun {
            self.encoder.text(HIDE_CURSOR);
            self.begun = true;
        }
        self.below = self.below.max(self.reflowed(width, self.shown.height()));
        self.erase_all();
        self.destructive = true;
        self.shown = Screen::new(width, 0);
        // kitty forgets blank lines before its cursor.
        let forgotten = |last: &Last| last.columns.is_empty() && !last.is_open();
        if self.reflow == Reflow::AboveCursor && self.last.as_ref().is_some_and(forgotten) {
            self.last = None;
        }
        if let Some(last) = &mut self.last {
            if width != self.width && (self.reflow != Reflow::Never || last.is_open()) {
                last.lay_out(width);
            }
            last.column = last.column.min(width);
            if let Some(drawn) = &mut last.open {
                *drawn = 0;
            }
        }
        self.width = width;
        self.rows = rows;
    }

    /// How many rows a terminal of another width makes of so many below the anchor.
    fn reflowed(&self, width: u16, rows: u16) -> u16 {
        let rows = (0..rows.min(self.shown.height())).map(|y| {
            let row = self.shown.row(y);
            let end = row.iter().rposition(|cell| *cell != Cell::BLANK);
            end.map_or(1, |last| last / usize::from(width.max(1)) + 1)
        });
        rows.sum::<usize>().min(usize::from(u16::MAX)) as u16
    }

    /// Whether a line of so many rows had better be printed: a terminal that becomes half as wide needs twice the rows.
    fn is_tall(&self, rows: u16, live: u16) -> bool {
        rows > 1 && u32::from(rows) + u32::from(live) > u32::from(self.rows / 2)
    }

    fn begin_line(&mut self, glyphs: &[Glyph]) {
        self.finish_line();
        if self.reflow == Reflow::Ahead {
            return self.print_line(glyphs);
        }
        let mut last = Last {
            open: Some(0),
            rows: 1,
            ..Last::default()
        };
        last.push(glyphs.to_vec(), self.width);
        self.last = Some(last);
    }

    /// Prints the open line, if there is one, and moves the anchor behind it: right at every width.
    fn finish_line(&mut self) {
        let Some(mut last) = self.last.take_if(|last| last.is_open()) else {
            return;
        };
        self.erase_below();
        let colored = last
            .glyphs
            .iter()
            .any(|glyph| glyph.style != Style::default());
        if colored && (2..=self.rows).contains(&last.rows) {
            self.set_plain_pen();
            self.go_home();
            (1..last.rows).for_each(|_| self.encoder.text(DOWN));
            self.encoder.csi(last.rows - 1, b'A');
        }
        self.go_home();
        self.print(&last.glyphs);
        if colored && last.rows > self.rows && last.column < self.width {
            self.set_plain_pen();
            self.encoder.text("\x1b[K");
        }
        self.end_row();
        self.below = 1;
        last.open = None;
        self.forget_long(&mut last);
        self.last = Some(last);
    }

    fn forget_long(&self, last: &mut Last) {
        if last.glyphs.len() > MOST_GLYPHS || !last.is_whole() {
            last.glyphs.drain(..last.glyphs.len() - 1);
        }
    }

    /// Erases what is below the anchor, where the cursor is.
    fn erase_below(&mut self) {
        if self.is_any_shown() {
            self.set_plain_pen();
            self.encoder.text(ERASE_BELOW);
            self.home = false;
            self.destructive = true;
        }
        self.shown = Screen::new(self.width, 0);
        self.drawn_below = false;
    }

    /// Erases it whatever is there, with whichever pen.
    fn erase_all(&mut self) {
        self.encoder.forget();
        if self.on_last {
            self.take_up_last(true);
            return self.put_down_last();
        }
        self.set_plain_pen();
        self.encoder.text(ERASE_BELOW);
        self.home = false;
    }

    /// Goes from the second column of the anchor to the first.
    fn go_home(&mut self) {
        if !self.home {
            self.encoder.text("\r");
        }
        self.home = true;
    }

    /// Goes from the first column of the anchor to the second.
    fn rest(&mut self) {
        if self.home && !self.on_last {
            self.encoder.text("\x1b[C");
        }
        self.home = false;
    }

    fn extend(&mut self, glyphs: &[Glyph], live: u16) {
        let Some(mut last) = self.last.take() else {
            return self.begin_line(glyphs);
        };
        if !last.is_open() && !glyphs.iter().any(Glyph::shows) {
            last.held.extend_from_slice(glyphs);
            self.last = Some(last);
            return;
        }
        if self.reflow == Reflow::Ahead {
            return match self.on_last || self.below < self.rows {
                true => self.continue_last(last, glyphs),
                // It may be in the scrollback.
                false => self.begin_line(glyphs),
            };
        }
        if !last.is_open() {
            let rows = last.rows;
            let in_reach = |rows: u16| u32::from(rows) + u32::from(self.below) <= self.rows.into();
            if last.is_whole() && in_reach(rows) && !self.is_tall(rows, live) {
                self.open_again(&mut last);
            } else if in_reach(1) {
                self.print_behind(&mut last, glyphs);
                self.last = Some(last);
                return;
            } else {
                // Its end may be in the scrollback.
                return self.begin_line(glyphs);
            }
        }
        last.push(glyphs.to_vec(), self.width);
        self.last = Some(last);
    }

    /// Moves the anchor back to the beginning of a line that was printed.
    fn open_again(&mut self, last: &mut Last) {
        let rows = last.rows;
        self.encoder.csi(rows, b'A');
        last.open = Some(last.columns.len());
        let mut shown = Screen::new(self.width, self.shown.height() + rows);
        let start = usize::from(rows) * usize::from(self.width);
        shown.share_symbols(&self.shown);
        shown.cells_mut()[start..].copy_from_slice(self.shown.cells());
        shown.cells_mut()[..start].fill(Cell::UNKNOWN);
        self.shown = shown;
        self.blank_behind(rows - 1, last.column);
        self.below += rows;
    }

    /// Nothing is shown behind a column of a row.
    fn blank_behind(&mut self, row: u16, column: u16) {
        let start = self.shown.index(column.min(self.width), row);
        let end = self.shown.index(0, row + 1);
        self.shown.cells_mut()[start..end].fill(Cell::BLANK);
    }

    fn go_to_column(&mut self, column: u16) {
        match column {
            0 => self.encoder.text("\r"),
            _ => self.encoder.csi(column + 1, b'G'),
        }
    }

    /// Continues a line that is printed: from its last row on, which is above the anchor. The terminal wraps.
    fn print_behind(&mut self, last: &mut Last, glyphs: &[Glyph]) {
        let (mut column, old) = (last.column, last.columns.len());
        let before = last.glyphs.last().cloned();
        let already = last.glyphs.len();
        last.push(glyphs.to_vec(), self.width);
        if last.columns.len() == old {
            return;
        }
        self.encoder.text("\x1b[A");
        if let Some(before) = before.filter(|_| column >= self.width) {
            // The row is full. Its last symbol, printed again, has the terminal wrap before the next.
            self.go_to_column(self.width.saturating_sub(before.columns));
            self.encoder.set_pen(before.style);
            self.encoder.text(&before.text);
        } else {
            self.go_to_column(column);
        }
        let mut wraps = 0;
        let mut colored_wrap = false;
        for glyph in &last.glyphs[already..] {
            let (next, wrapped) = after(column, glyph.columns, self.width);
            if wrapped && column < self.width && wraps > 0 && self.is_left_over(wraps - 1, column) {
                // A wide symbol does not fit into the last column.
                self.set_plain_pen();
                self.encoder.text("\x1b[K");
            }
            column = next;
            wraps += u16::from(wrapped);
            colored_wrap |= wrapped && glyph.style.bg.is_explicit();
            self.encoder.set_pen(glyph.style);
            self.encoder.text(&glyph.text);
        }
        // What the live region left in this row goes. At the edge the cursor is still on the last symbol: there is nothing
        // left to erase, and that must not be.
        let left_over = wraps > 0 && self.is_left_over(wraps - 1, column);
        if (left_over || colored_wrap) && column < self.width {
            self.set_plain_pen();
            self.encoder.text("\x1b[K");
        }
        self.end_row();
        let moved = wraps.min(self.shown.height());
        self.shown
            .scroll(0, self.shown.height(), moved.into(), Cell::BLANK);
        self.forget_long(last);
    }

    /// Prints a line that may grow, behind the one before, and rests on its last symbol.
    fn print_line(&mut self, glyphs: &[Glyph]) {
        if self.on_last {
            self.take_up_last(self.drawn_below);
            self.end_row();
            self.on_last = false;
        } else {
            self.erase_below();
            self.go_home();
        }
        self.below = 1;
        let mut last = Last {
            rows: 1,
            ..Last::default()
        };
        last.push(glyphs.to_vec(), self.width);
        self.print(&last.glyphs);
        self.forget_long(&mut last);
        self.last = Some(last);
        self.put_down_last();
    }

    /// Prints what continues the last line, wherever that ends and however wide the terminal is.
    fn continue_last(&mut self, last: Last, glyphs: &[Glyph]) {
        let (rows, column, already) = (last.rows, last.column, last.glyphs.len());
        let mut grown = last;
        grown.push(glyphs.to_vec(), self.width);
        let wraps = grown.rows > rows;
        let added = grown.glyphs.split_off(already);
        self.last = Some(grown);
        if added.is_empty() {
            return;
        }
        if !self.on_last {
            self.encoder.text("\x1b[A");
            let on_it = u16::from(self.resting_place().is_some());
            self.go_to_column(column.saturating_sub(on_it));
        }
        self.take_up_last(wraps && self.drawn_below);
        self.print(&added);
        if let Some(mut last) = self.last.take() {
            last.glyphs.extend(added);
            self.forget_long(&mut last);
            self.last = Some(last);
        }
        self.put_down_last();
    }

    fn print(&mut self, glyphs: &[Glyph]) {
        for glyph in glyphs {
            self.encoder.set_pen(glyph.style);
            self.encoder.text(&glyph.text);
        }
    }

    fn is_any_shown(&self) -> bool {
        self.shown.cells().iter().any(|cell| *cell != Cell::BLANK)
    }

    /// The symbol that the cursor rests on, unless the line is empty or terminals may not agree on how wide its last symbol is: then
    /// the cursor rests behind it.
    fn resting_place(&self) -> Option<&Glyph> {
        let last = self.last.as_ref()?.glyphs.last()?;
        let mut chars = last.text.chars();
        let width = chars.next().map_or(0, crate::model::trusted_width);
        (chars.next().is_none() && width == usize::from(last.columns)).then_some(last)
    }

    fn is_last_empty(&self) -> bool {
        let last = self.last.as_ref();
        last.is_none_or(|last| last.glyphs.is_empty())
    }

    /// Goes from the last symbol to behind it, by printing it again, so that the terminal wraps if it has to. There it may erase
    /// what is behind: tmux forgets that a row was wrapped if it erases all of the next.
    fn take_up_last(&mut self, erases: bool) {
        if let Some(glyph) = self.resting_place().cloned() {
            if glyph.columns > 1 {
                self.encoder.text("\x08");
            }
            self.print(&[glyph]);
        }
        let is_empty = self.is_last_empty();
        if erases {
            self.set_plain_pen();
            self.encoder
                .text(if is_empty { ERASE_BELOW } else { "\x1b[J" });
            self.destructive = true;
            self.shown = Screen::new(self.width, 0);
            self.drawn_below = false;
        }
        if is_empty {
            self.encoder.text("\r");
        }
    }

    /// Goes from behind the last symbol to on it: in tmux, one to the left also where the row is full.
    fn put_down_last(&mut self) {
        if self.resting_place().is_some() {
            self.encoder.text("\x08");
        }
        self.home = false;
        self.on_last = true;
    }

    /// Goes to the anchor, in the row below the last one.
    fn leave_last(&mut self) {
        if self.on_last {
            self.end_row();
            self.on_last = false;
        }
    }

    /// Whether anything is shown in a row from a column on.
    fn is_left_over(&self, row: u16, column: u16) -> bool {
        row < self.shown.height()
            && self.shown.row(row)[usize::from(column.min(self.width))..]
                .iter()
                .any(|cell| *cell != Cell::BLANK)
    }

    /// What is erased or scrolled in has the pen's background, in avt its foreground, too: and then it counts as text when a line
    /// is reflowed.
    fn set_plain_pen(&mut self) {
        self.encoder.set_pen(Style::default());
    }

    /// Goes to the first column of the next row, which may have to be made by scrolling: of the default background.
    fn end_row(&mut self) {
        self.set_plain_pen();
        self.encoder.text("\r\n");
        self.home = true;
    }

    /// Makes the terminal show the open line and the live region from the anchor on, and returns there.
    fn draw(&mut self, wanted: &Screen) {
        let mut last = self.last.take_if(|last| last.is_open());
        let open = last.as_ref().map_or(0, |last| last.rows);
        let elsewhere = match self.reflow {
            Reflow::AboveCursor => open.max(1) + 1,
            _ => open + u16::from(self.on_last),
        };
        let wanted_rows = wanted.height().min(self.rows.saturating_sub(elsewhere));
        let height = open + wanted_rows;
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
            let lowest = (0..height.max(old)).rev().find(differs);
            self.go_below_last(lowest.map_or(0, |y| y + 1));
        }
        self.encoder.text(NO_WRAP);
        let empty = self.encoder.out.len();
        let mut at = 0;
        if let Some(last) = &mut last {
            self.draw_open(last, &mut at);
        }
        for y in 0..wanted_rows {
            let shown = self.shown.row(open + y);
            if same_cells(shown, wanted.row(y)) {
                self.stats.cells_unchanged += u64::from(self.width);
                continue;
            }
            let shown = shown.to_vec();
            self.go_down(&mut at, open + y);
            self.draw_row(&shown, wanted, y);
        }
        // What is left of a higher region.
        let mut left = (height..old).filter(|&y| self.is_left_over(y, 0));
        if let Some(first) = left.next() {
            self.go_down(&mut at, first);
            self.set_plain_pen();
            self.encoder.text(ERASE_BELOW);
        }
        if self.encoder.out.len() == empty {
            self.encoder.out.truncate(start);
        } else {
            self.encoder.text(WRAP);
            self.drawn_below = true;
            if self.on_last {
                self.encoder.text(RESTORE_CURSOR);
                self.encoder.forget();
            } else {
                if at > 0 {
                    self.encoder.csi(at, b'A');
                }
                self.encoder.text("\x1b[2G");
            }
            self.home = false;
        }
        self.below = self.below.max(at + 1);
        self.shown.resize(self.width, height);
        let from = self.shown.index(0, open);
        let cells = &wanted.cells()[..usize::from(wanted_rows) * usize::from(self.width)];
        self.shown.cells_mut()[from..].copy_from_slice(cells);
        if last.is_some() {
            self.last = last;
        }
    }

    /// Goes from the last symbol to the anchor, once there are so many rows below for sure: so nothing scrolls until the cursor is
    /// restored.
    fn go_below_last(&mut self, rows: u16) {
        self.set_plain_pen();
        (0..rows).for_each(|_| self.encoder.text(DOWN));
        if rows > 0 {
            self.encoder.csi(rows, b'A');
        }
        self.encoder.text(SAVE_CURSOR);
        self.encoder.text("\r");
        self.encoder.text(DOWN);
    }

    /// Goes to a row below the anchor.
    fn go_down(&mut self, at: &mut u16, row: u16) {
        if row > *at {
            self.set_plain_pen();
        }
        (*at..row).for_each(|_| self.encoder.text(DOWN));
        *at = row;
    }

    /// Draws what the open line has grown by.
    fn draw_open(&mut self, last: &mut Last, at: &mut u16) {
        let drawn = last.open.replace(last.glyphs.len()).unwrap_or(0);
        if drawn == last.glyphs.len() {
            return;
        }
        let (mut row, mut column) = (0, 0);
        for &columns in &last.columns[..drawn] {
            let (next, wrapped) = after(column, columns, self.width);
            (row, column) = (row + u16::from(wrapped), next);
        }
        let mut begun = false;
        for glyph in &last.glyphs[drawn..] {
            let (next, wrapped) = after(column, glyph.columns, self.width);
            if wrapped {
                if begun {
                    self.end_open_row(row, column);
                }
                (row, column, begun) = (row + 1, 0, false);
            }
            if !begun {
                self.go_down(at, row);
                self.go_to_column(column);
                begun = true;
            }
            self.encoder.set_pen(glyph.style);
            self.encoder.text(&glyph.text);
            column = next;
        }
        self.end_open_row(row, column);
    }

    /// Erases what else a row shows behind the open line.
    fn end_open_row(&mut self, row: u16, column: u16) {
        if column < self.width && self.is_left_over(row, column) {
            self.set_plain_pen();
            self.encoder.text("\x1b[K");
        }
        self.mark_drawn(row, column);
    }

    /// A row shows the open line up to a column, and nothing behind it.
    fn mark_drawn(&mut self, row: u16, column: u16) {
        let (start, end) = (self.shown.index(0, row), self.shown.index(column, row));
        self.shown.cells_mut()[start..end].fill(Cell::UNKNOWN);
        self.blank_behind(row, column);
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
            if x >= tail && cell == Cell::BLANK {
                // Blanks before it, too: some may have been printed, and would count as text when the row is reflowed.
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
