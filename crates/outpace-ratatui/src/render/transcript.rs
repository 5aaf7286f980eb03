//! Turns a transcript that grows, and a live region below it, into bytes.
//!
//! Between two frames the terminal's cursor is hidden and stays at the *anchor*: the row below the last finished line. A terminal
//! that reflows its lines carries the cursor along with the text. So every frame starts at the anchor, at any width, without asking
//! for a position. The cursor is in the second column: wezterm moves a cursor in the first column to the end of the row before. In
//! terminals that lose the cursor if there is text below it ([`Reflow::AboveCursor`]), it is parked in a row of its own below the live
//! region. The way back is known while the width stays the same. kitty loses it, too, but does not reflow the rows of a shell's prompt. So
//! there the rows from the anchor on are marked as one ([`Reflow::AbovePrompt`]).
//!
//! A resize overtakes frames on their way: the terminal may have another width than the one the frame was made for. So output that
//! cannot be repaired does not depend on the width. A finished line is printed from the anchor on, and the terminal wraps it. All below is
//! erased before, unless it can stay as it is ([`stays_below`](TranscriptRenderer::stays_below)). The rows below the anchor hold the *open* line, which still grows, and the live region. They are drawn
//! one by one without wrapping (`DECAWM` is off): the cursor goes down by vertical tabs, each of which leads one row down in every
//! terminal, and returns by as many rows. The next frame overwrites rows that were drawn for another width. While a line is open,
//! wrapping stays off between frames, and the pen is taken to be as it was left: so a token costs a motion to its column and the way back.
//!
//! tmux reflows a while before it tells the program of its new width ([`Reflow::Ahead`]). There no output may depend on the width,
//! and the rows below the cursor may be lost: rows that a narrower width adds push the first rows into the scrollback, past the
//! cursor if there are few above it. So a line that grows is printed at once, and the cursor stays *on its last symbol*. That symbol
//! is printed again before the next one, so that the terminal wraps as if both had come together.
//!
//! An open line is printed when it is finished: by the next line, or after a quarter of a second without an extension, so that
//! a program that waits, or was killed, has the live region alone below its cursor. Until then its last rows are drawn, no more of them than
//! a narrower terminal has room for: it would push others into its scrollback. An extension of a printed line opens it again. If it is too
//! long for that, the extension is printed behind its end, at a column that is right for one width only.

mod ahead;
mod cursor;
mod last;
mod live;
mod plain;
mod waiting;

pub(crate) use ahead::JOINER;
use cursor::Column;
use last::{Last, after};
use plain::Plain;
pub(crate) use waiting::Glyphs;

use super::encode::Encoder;
use super::{BEGIN_SYNCHRONIZED, END_SYNCHRONIZED, HIDE_CURSOR, MAX_SYNCHRONIZED, SHOW_CURSOR};
use crate::model::{Attributes, Capabilities, Cell, Screen, Stats, Style};

/// A symbol of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Glyph {
    pub(crate) text: String,
    pub(crate) columns: u16,
    pub(crate) style: Style,
    /// It continues the symbol before it, as a combining mark does: the terminal joins both if they are printed one after the other.
    pub(crate) joins: bool,
}

impl Glyph {
    /// Whether it looks different from an empty cell.
    fn shows(&self) -> bool {
        let Style { bg, attributes, .. } = self.style;
        // One at the end of a line joins nothing.
        let is_joiner = self.text.chars().eq([JOINER]);
        let is_styled = bg.is_explicit() || attributes.intersects(Attributes::VISIBLE_ON_BLANK);
        !is_joiner && (self.text != " " || is_styled)
    }
}

/// A terminal's treatment of its lines and its cursor when its width changes.
///
/// It is known by the terminal's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reflow {
    /// It cuts or pads its rows (xterm, the console).
    Never,
    /// It wraps all lines anew, and keeps its cursor in place only if no text is below (xterm.js).
    AboveCursor,
    /// It wraps the lines above a shell's prompt anew, and leaves the rows from there on to the shell (kitty). The rows that a transcript
    /// draws again are marked as a prompt (`OSC 133`).
    AbovePrompt,
    /// It wraps all lines anew and carries its cursor along (alacritty, wezterm). Rows of the screen may be inserted, not deleted.
    All,
    /// The same, but rows of the screen have to stay in place: others that are inserted or deleted take lines of the scrollback along, or get
    /// into it (foot). Unknown terminals count as this.
    #[default]
    AllInPlace,
    /// As `All`, and it tells the program of its new width a while later (tmux).
    Ahead,
}

/// One addition to the transcript.
#[derive(Clone, Debug)]
pub(crate) enum Addition {
    /// A line of its own.
    Line(Glyphs),
    /// The beginning of a line that may grow.
    Open(Glyphs),
    /// Continues the last line.
    Extend(Glyphs),
}

/// Shorter frames are shown whole without synchronized output.
const SMALL: usize = 256;
/// Of more lines that come at once, each would have the live region moved down: it is erased and drawn again.
const FEW_LINES: usize = 4;
/// For so many frames after a change of size, another change is expected. A fast stream in tmux takes a second for them.
const UNSTEADY_FRAMES: u16 = 64;
/// A line of more symbols is printed, and not opened again: only its last symbol is kept.
const MOST_GLYPHS: usize = 1 << 14;

const WRAP: &str = "\x1b[?7h";
const NO_WRAP: &str = "\x1b[?7l";
/// Ends insert mode, in which another program may have left the terminal.
const REPLACE: &str = "\x1b[4l";

/// Erases everything from the anchor on, and leaves the cursor in its second column. tmux moves erased rows into its scrollback if
/// erasing begins at the first column of the first row.
const ERASE_BELOW: &str = "\r\x1b[K\x1b[C\x1b[J";

/// Goes one row down: the vertical tab. Terminals treat it as a line feed (DEC STD 070; VT510 manual, table 4-1; `console_codes(4)`;
/// Windows Terminal since its change 3271). Asked for their cursor after each, xterm 379, alacritty, kitty 0.26, foot and tmux 3.3
/// answered alike, on the last row, too. The line discipline leaves it alone: it keeps the column in raw mode and under `ONLCR`, which
/// adds a return to a line feed. Under `ONLCR` Linux also hands over the bytes before a line feed by themselves, so that the terminal
/// could change its size in the middle of a frame. In new-line mode (`CSI 20 h`) some terminals return the cursor, as after a line
/// feed: behind it no column is relied on, except in tmux, which does not have that mode.
const DOWN: &str = "\x0b";

/// Marks the cursor's row as the first of a prompt ([`Reflow::AbovePrompt`]). kitty before 0.34 blanks the rows from there on when its
/// size changes, newer ones keep them unwrapped; both keep the cursor as many rows below the mark as it was. It is a second prompt
/// (`k=s`): only first ones are places to scroll to and ends of a command's output.
const MARK_PROMPT: &str = "\x1b]133;A;k=s\x07";
/// The same, and from now on no prompt is treated so, until another is marked: as far as a mark stays in the transcript, it has no effect.
const UNMARK_PROMPT: &str = "\x1b]133;A;k=s;redraw=0\x07";
/// Ends a scrolling region, which another program may have left behind, and goes to the first row.
const NO_MARGINS: &str = "\x1b[r";
const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";

#[derive(Debug)]
pub(crate) struct TranscriptRenderer {
    encoder: Encoder,
    reflow: Reflow,
    /// The terminal is of that kind beyond doubt.
    is_sure: bool,
    /// It is tmux 3.4 or later, which joins more symbols than those before, and makes some of them wider.
    is_newer_tmux: bool,
    capabilities: Capabilities,
    /// Whether the terminal wraps lines (`DECAWM`), if that is known.
    wraps: Option<bool>,
    width: u16,
    rows: u16,
    /// The rows that the terminal shows from the anchor on. Cells of the open line are unknown.
    shown: Screen,
    /// How many of these, the first, are the open line's.
    open_rows: u16,
    /// The most rows that may have been in use from the anchor on, since the last line was printed.
    below: u16,
    last: Option<Last>,
    begun: bool,
    /// Where it begins, other output may stand in the cursor's row.
    shares_row: bool,
    /// The cursor's row, below the anchor, and its column. In new-line mode a column is sure only in the anchor's row.
    row: u16,
    column: Column,
    /// The anchor's row is marked as a prompt, as far as known (`Reflow::AbovePrompt`).
    marked: bool,
    /// The cursor is in the row above the anchor, on the last symbol of the last line (`Reflow::Ahead`).
    on_last: bool,
    /// A row below the last line was drawn since all behind its end was erased (`Reflow::Ahead`). In a window that has become narrower
    /// the line may wrap into that row, of which a part would then stay behind its end.
    drawn_below: bool,
    /// For so many frames the size is taken to change again at any moment, as while a window is dragged.
    unsteady: u16,
    /// This frame has erased rows that it draws again.
    destructive: bool,
    stats: Stats,
    /// There is no terminal: only text is written.
    plain: Option<Plain>,
}

impl TranscriptRenderer {
    /// Of the capabilities, scrolling and synchronized output count.
    pub(crate) fn new(reflow: Reflow, capabilities: Capabilities) -> Self {
        Self {
            encoder: Encoder::new(false),
            reflow,
            is_sure: true,
            is_newer_tmux: false,
            capabilities,
            wraps: None,
            width: 0,
            rows: 0,
            shown: Screen::new(0, 0),
            open_rows: 0,
            below: 1,
            last: None,
            begun: false,
            shares_row: true,
            row: 0,
            column: Column::Unknown,
            marked: false,
            on_last: false,
            drawn_below: false,
            unsteady: 0,
            destructive: false,
            stats: Stats::default(),
            plain: None,
        }
    }

    /// Writes text alone.
    pub(crate) fn plain() -> Self {
        Self {
            plain: Some(Plain::default()),
            ..Self::new(Reflow::Never, Capabilities::least())
        }
    }

    /// Names the terminal's kind, before the first frame.
    pub(crate) fn set_reflow(&mut self, reflow: Reflow) {
        self.reflow = reflow;
        self.is_sure = true;
    }

    /// Whether the terminal is of its kind beyond doubt. Rows of the screen are moved only then, where that kind permits it.
    pub(crate) fn set_sure(&mut self, is_sure: bool) {
        self.is_sure = is_sure;
    }

    pub(crate) fn set_newer_tmux(&mut self, is_newer: bool) {
        self.is_newer_tmux = is_newer;
    }

    /// Looks at the terminal's mode, if that matters to what is written.
    pub(crate) fn look_at_mode(&mut self, is_raw: impl FnOnce() -> bool) {
        if let Some(plain) = &mut self.plain {
            plain.set_raw(is_raw());
        }
    }

    /// Takes the terminal to have had other output since the last farewell.
    pub(crate) fn expect_others(&mut self) {
        self.shares_row = true;
    }

    /// Whether the cursor is its own, and hidden.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begun
    }

    /// The bytes that add to the transcript and show this live region below it. `rows`: those of the terminal.
    pub(crate) fn render(&mut self, additions: &[Addition], wanted: &Screen, rows: u16) -> &[u8] {
        if let Some(plain) = &mut self.plain {
            self.encoder.out.clear();
            plain.render(additions, &mut self.encoder.out);
            return &self.encoder.out;
        }
        if !self.begun && self.shares_row && additions.is_empty() && wanted.height() == 0 {
            return &[];
        }
        self.begin(wanted.width());
        self.unsteady = self.unsteady.saturating_sub(1);
        let extends = |addition: &Addition| matches!(addition, Addition::Extend(_));
        if additions.is_empty() || !additions.iter().all(extends) {
            self.encoder.forget();
        }
        self.adopt_size(wanted.width(), rows);
        let lines = additions.iter().filter(|addition| !extends(addition));
        if lines.count() > FEW_LINES && self.can_move_rows() {
            self.erase_below(false);
        }
        for addition in additions {
            match addition {
                Addition::Line(glyphs) => {
                    self.begin_line(glyphs.each());
                    self.finish_line();
                    // Out of a single row it would leave into the scrollback, where it cannot be extended.
                    if rows > 1 {
                        self.move_to_anchor();
                    }
                }
                Addition::Open(glyphs) => self.begin_line(glyphs.each()),
                Addition::Extend(glyphs) => self.extend(glyphs.each(), wanted.height()),
            }
        }
        let is_long = |last: &Last| last.is_open() && last.glyphs.len() > MOST_GLYPHS;
        if self.last.as_ref().is_some_and(is_long) {
            self.finish_line();
        }
        self.draw(wanted);
        if self.encoder.out.len() == BEGIN_SYNCHRONIZED.len() {
            return &[];
        }
        self.park();
        self.end()
    }

    /// The bytes that print the open line, if there is one.
    pub(crate) fn print_open_line(&mut self, wanted: &Screen, rows: u16) -> &[u8] {
        if let Some(plain) = &mut self.plain {
            self.encoder.out.clear();
            plain.end_line(&mut self.encoder.out);
            return &self.encoder.out;
        }
        self.begin(wanted.width());
        self.encoder.forget();
        self.adopt_size(wanted.width(), rows);
        self.finish_line();
        self.draw(wanted);
        self.park();
        self.end()
    }

    /// Whether the way back from below the live region is known for one width only.
    pub(crate) fn is_parked(&self) -> bool {
        self.row > 0
    }

    /// Whether a change of size that overtakes a frame may misplace it.
    pub(crate) fn is_vulnerable(&self) -> bool {
        matches!(self.reflow, Reflow::Ahead | Reflow::AboveCursor)
    }

    /// Whether the last line is drawn, not printed; in a pipe, whether its line feed is not.
    pub(crate) fn is_open(&self) -> bool {
        match &self.plain {
            Some(plain) => plain.lacks_line_feed(),
            None => self.last.as_ref().is_some_and(Last::is_open),
        }
    }

    /// The bytes that take the live region away, and leave the cursor below the transcript.
    pub(crate) fn farewell(&mut self, width: u16) -> &[u8] {
        if let Some(plain) = &mut self.plain {
            self.encoder.out.clear();
            plain.end_line(&mut self.encoder.out);
            return &self.encoder.out;
        }
        self.begin(width);
        self.encoder.forget();
        if self.begun {
            self.erase_all();
            self.forget_rows(self.width);
            self.finish_line();
            self.move_to_anchor();
            self.go_home();
            self.set_marked(false);
            self.set_wrapping(true);
            self.encoder.text(SHOW_CURSOR);
        }
        self.wraps = None;
        // Output of others then lies between that line and its extension.
        self.last = None;
        self.begun = false;
        self.end()
    }

    /// Begins a frame, in a terminal of this width.
    fn begin(&mut self, width: u16) {
        self.encoder.out.clear();
        self.encoder.text(BEGIN_SYNCHRONIZED);
        self.destructive = false;
        if width != self.width {
            self.row = self.reflowed(width, self.row);
        }
    }

    fn end(&mut self) -> &[u8] {
        let start = BEGIN_SYNCHRONIZED.len();
        let length = self.encoder.out.len() - start;
        let wrap = length > SMALL || self.destructive;
        if wrap && length < MAX_SYNCHRONIZED && self.capabilities.synchronized {
            self.encoder.text(END_SYNCHRONIZED);
            return &self.encoder.out;
        }
        &self.encoder.out[start..]
    }

    /// Follows a change of size, or begins. Erases the rows below the anchor, whose contents are unknown then.
    fn adopt_size(&mut self, width: u16, rows: u16) {
        if self.begun && (width, rows) == (self.width, self.rows) {
            return;
        }
        if self.begun {
            self.unsteady = UNSTEADY_FRAMES;
        } else {
            self.encoder.text(HIDE_CURSOR);
            self.encoder.text(REPLACE);
            if std::mem::take(&mut self.shares_row) {
                self.leave_row_of_others(width);
            }
            self.begun = true;
        }
        self.below = self.below.max(self.reflowed(width, self.shown.height()));
        self.erase_all();
        self.destructive = true;
        self.forget_rows(width);
        // Such terminals forget blank lines before their cursor.
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

    /// Leaves a row in which other output has ended, without asking for the cursor: as many blanks as the terminal has columns fill the row
    /// from its first column, and wrap from any other. Before they wrap, all rows scroll again.
    fn leave_row_of_others(&mut self, width: u16) {
        self.encoder.forget();
        self.set_plain_pen();
        self.set_wrapping(true);
        for column in 0..width {
            self.encoder.text(" ");
            // Behind the first blank no wrap is pending that would be lost in some terminals. In one of two columns, the loss of the next is one.
            if column == 0 && width > 2 {
                self.encoder.text(SAVE_CURSOR);
                self.encoder.text(NO_MARGINS);
                self.encoder.text(RESTORE_CURSOR);
            }
        }
    }

    /// The rows that a terminal of another width makes of the first `rows` below the anchor.
    fn reflowed(&self, width: u16, rows: u16) -> u16 {
        let rows = (0..rows.min(self.shown.height())).map(|y| {
            let row = self.shown.row(y);
            let end = row.iter().rposition(|cell| *cell != Cell::BLANK);
            end.map_or(1, |last| last / usize::from(width.max(1)) + 1)
        });
        rows.sum::<usize>().min(usize::from(u16::MAX)) as u16
    }

    /// The most rows of an open line that are drawn above a live region of so many: a terminal that becomes half as wide needs twice the
    /// rows, and one that becomes half as high has half of them.
    fn most_open_rows(&self, live: u16) -> u16 {
        (self.rows / 2).saturating_sub(live).max(1)
    }

    fn begin_line(&mut self, glyphs: Vec<Glyph>) {
        self.finish_line();
        if self.reflow == Reflow::Ahead {
            return self.print_line(ahead::cells(&glyphs, false));
        }
        let mut last = Last {
            open: Some(0),
            rows: 1,
            ..Last::default()
        };
        last.push(glyphs, self.width);
        self.last = Some(last);
    }

    /// Prints the open line, if there is one, and moves the anchor below it: right at every width.
    fn finish_line(&mut self) {
        let Some(mut last) = self.last.take_if(|last| last.is_open()) else {
            return;
        };
        let stays = self.stays_below(&last);
        if stays {
            self.set_marked(false);
            self.make_room(last.rows);
        } else {
            self.erase_below(!last.glyphs.is_empty());
        }
        let colored = last
            .glyphs
            .iter()
            .any(|glyph| glyph.style != Style::default());
        if colored && !stays && (2..=self.rows).contains(&last.rows) {
            self.set_plain_pen();
            self.go_home();
            (1..last.rows).for_each(|_| self.encoder.text(DOWN));
            self.encoder.csi(last.rows - 1, b'A');
        }
        self.go_home();
        self.set_marked(false);
        self.print(&last.glyphs);
        if stays || colored && last.rows > self.rows && last.column < self.width {
            self.set_plain_pen();
            self.encoder.text("\x1b[K");
        }
        self.end_row();
        if stays {
            self.leave_rows(last.rows);
        } else {
            self.below = 1;
        }
        last.open = None;
        self.forget_long(&mut last);
        self.last = Some(last);
    }

    /// Whether the live region can stay below the open line, while that is printed over its rows. A terminal whose width has changed on the
    /// way may have other rows there: it is erased behind the line's end, and what is left below it with the next frame. So the end must not be at
    /// the edge, where erasing takes the last symbol along; nor may wide symbols wrap, which leave a cell as it was.
    fn stays_below(&self, last: &Last) -> bool {
        let added = last.rows.saturating_sub(self.open_rows);
        let in_use = u32::from(self.shown.height()) + u32::from(added);
        self.can_move_rows()
            && self.unsteady == 0
            && in_use < self.rows.into()
            && last.column < self.width
            && last.columns.iter().all(|&columns| columns == 1)
            && (self.open_rows..self.shown.height()).any(|y| self.is_left_over(y, 0))
    }

    /// Whether rows of the screen can be moved. Not where the terminal's cursor may be elsewhere than at the anchor: rows that are moved at the
    /// wrong place take lines of the transcript along.
    pub(super) const fn can_move_rows(&self) -> bool {
        let permits = matches!(
            self.reflow,
            Reflow::All | Reflow::AbovePrompt | Reflow::Never
        );
        permits && self.is_sure && self.capabilities.scroll
    }

    /// Moves the rows below those of the open line down, so that it has so many.
    fn make_room(&mut self, rows: u16) {
        let added = rows.saturating_sub(self.open_rows);
        if added == 0 {
            return;
        }
        let height = self.shown.height() + added;
        // So that none leaves the screen.
        self.go_to_row(height - 1);
        self.go_to_row(self.open_rows);
        self.set_plain_pen();
        self.encoder.csi(added, b'L');
        self.column = Column::Unknown;
        // The mark goes down with its row.
        self.marked &= self.open_rows > 0;
        self.shown.resize(self.width, height);
        let top = self.open_rows;
        self.shown
            .scroll(top, height, -i32::from(added), Cell::BLANK);
        self.open_rows = rows;
    }

    /// Follows the anchor, which goes down by so many rows.
    fn leave_rows(&mut self, rows: u16) {
        let height = self.shown.height();
        self.shown.scroll(0, height, rows.into(), Cell::BLANK);
        self.shown.resize(self.width, height - rows);
        self.open_rows = 0;
        self.below = self.below.saturating_sub(rows).max(1);
    }

    /// Drops all symbols but the last of a line that is too long to be opened again.
    fn forget_long(&self, last: &mut Last) {
        if last.glyphs.len() > MOST_GLYPHS || !last.is_whole() {
            last.glyphs.drain(..last.glyphs.len() - 1);
        }
    }

    /// Has the terminal wrap lines, or not.
    fn set_wrapping(&mut self, on: bool) {
        if self.wraps.replace(on) != Some(on) {
            self.encoder.text(if on { WRAP } else { NO_WRAP });
        }
    }

    /// Has the terminal leave the rows from the anchor on as they are when its width changes: while they are only drawn, not while one is
    /// printed. Goes to the first column, where a prompt begins: in others some terminals begin another row for it.
    fn set_marked(&mut self, on: bool) {
        if self.reflow == Reflow::AbovePrompt && std::mem::replace(&mut self.marked, on) != on {
            self.go_home();
            self.encoder
                .text(if on { MARK_PROMPT } else { UNMARK_PROMPT });
        }
    }

    /// Erases the rows from the anchor on, if any shows text. `overwrites`: text comes into the first column, which need not be erased.
    fn erase_below(&mut self, overwrites: bool) {
        if self.is_any_shown() {
            self.go_to_row(0);
            self.erase_from_row(overwrites && self.column == Column::Second);
            self.destructive = true;
        }
        self.forget_rows(self.width);
        self.drawn_below = false;
    }

    /// Takes all rows from the anchor on to be blank.
    fn forget_rows(&mut self, width: u16) {
        self.shown = Screen::new(width, 0);
        self.open_rows = 0;
    }

    /// Erases the rows from the anchor on, whose contents and pen are unknown.
    fn erase_all(&mut self) {
        self.encoder.forget();
        if self.on_last {
            self.move_behind_last(true);
            return self.move_onto_last();
        }
        self.go_to_row(0);
        self.erase_from_row(false);
    }

    /// Erases the rows from this one on; `without_first`: but for its first column, from the second.
    fn erase_from_row(&mut self, without_first: bool) {
        self.set_plain_pen();
        self.encoder
            .text(if without_first { "\x1b[J" } else { ERASE_BELOW });
        self.column = Column::Second;
    }

    fn extend(&mut self, mut glyphs: Vec<Glyph>, live: u16) {
        let Some(mut last) = self.last.take() else {
            return self.begin_line(glyphs);
        };
        if self.reflow == Reflow::Ahead {
            let before = last.held.last().or(last.glyphs.last());
            let joined = before.is_some_and(|glyph| glyph.text.ends_with(JOINER));
            glyphs = ahead::cells(&glyphs, joined);
        }
        if !last.is_open() && !glyphs.iter().any(Glyph::shows) {
            last.held.extend(glyphs);
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
            if last.is_whole() && in_reach(rows) && rows <= self.most_open_rows(live) {
                self.open_again(&mut last);
            } else if in_reach(1) {
                self.print_behind(&mut last, &glyphs);
                self.last = Some(last);
                return;
            } else {
                // Its end may be in the scrollback.
                return self.begin_line(glyphs);
            }
        }
        last.push(glyphs, self.width);
        self.last = Some(last);
    }

    /// Moves the anchor back to the beginning of a line that was printed.
    fn open_again(&mut self, last: &mut Last) {
        let rows = last.rows;
        self.set_marked(false);
        // The cursor goes down again through all of its rows: kitty then takes them for rows of their own, as those that are drawn.
        self.go_to_row(0);
        self.encoder.csi(rows, b'A');
        last.open = Some(last.columns.len());
        let mut shown = Screen::new(self.width, self.shown.height() + rows);
        shown.share_symbols(&self.shown);
        shown.fill_rows(0..rows, Cell::UNKNOWN);
        shown.copy_rows(rows, &self.shown, self.shown.height());
        self.shown = shown;
        self.open_rows = rows;
        self.blank_behind(rows - 1, last.column);
        self.below += rows;
    }

    /// Notes that a row is blank from a column on.
    fn blank_behind(&mut self, row: u16, column: u16) {
        let behind = usize::from(column.min(self.width))..;
        self.shown.row_mut(row)[behind].fill(Cell::BLANK);
    }

    /// Prints an extension behind the end of a printed line, whose last row is above the anchor. The terminal wraps.
    fn print_behind(&mut self, last: &mut Last, glyphs: &[Glyph]) {
        let (mut column, old) = (last.column, last.columns.len());
        let already = last.glyphs.len();
        let symbol = last.glyphs.iter().rposition(|glyph| !glyph.joins);
        let before = last.glyphs[symbol.unwrap_or(0)..].to_vec();
        last.push(glyphs.to_vec(), self.width);
        if last.columns.len() == old {
            return;
        }
        self.set_marked(false);
        self.go_to_row(0);
        self.encoder.text("\x1b[A");
        self.set_wrapping(true);
        if column >= self.width {
            // The row is full. Printing its last symbol again has the terminal wrap before the next.
            let columns = before.iter().map(|glyph| glyph.columns).sum();
            self.go_to_column(self.width.saturating_sub(columns));
            self.print(&before);
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
        // Erases the live region's rest of this row. At the edge the cursor is still on the last symbol, which must stay.
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

    /// Prints symbols that the terminal may wrap.
    fn print(&mut self, glyphs: &[Glyph]) {
        self.set_wrapping(true);
        for glyph in glyphs {
            self.encoder.set_pen(glyph.style);
            self.encoder.text(&glyph.text);
        }
    }

    fn is_any_shown(&self) -> bool {
        self.shown.cells().any(|cell| *cell != Cell::BLANK)
    }

    /// Whether a row shows text from a column on.
    fn is_left_over(&self, row: u16, column: u16) -> bool {
        row < self.shown.height()
            && self.shown.row(row)[usize::from(column.min(self.width))..]
                .iter()
                .any(|cell| *cell != Cell::BLANK)
    }

    /// Erased and scrolled-in cells take the pen's background, in avt its foreground, too, and then count as text when a line is
    /// reflowed.
    fn set_plain_pen(&mut self) {
        self.encoder.set_pen(Style::default());
    }

    /// Goes to the first column of the next row, which may be scrolled in, on the default background.
    fn end_row(&mut self) {
        self.set_plain_pen();
        self.encoder.text("\r\n");
        (self.row, self.column) = (0, Column::First);
    }
}
