//! Turns the screen that is wanted into the bytes that make the terminal show it.
//!
//! The [`Renderer`] keeps a copy of the screen that the terminal shows. A frame blanks rows of unknown content, scrolls and shifts
//! text that only moved, and then prints the cells that still differ, row by row. The copy follows every sequence as it is
//! written. So a step that saves no bytes costs time alone, and a wrong step is found by comparing the copy with real emulators
//! (`tests/emulators`).

mod colour_order;
mod encode;
mod motion;
mod plan;
mod row;
mod rows;
mod sgr;
mod stamped;
mod strips;
mod touched;
mod transcript;

use crate::model::{Capabilities, Cell, Color, Cursor, Screen, Stats, Style};
use colour_order::ColourOrder;
use encode::{At, Encoder};
pub(crate) use motion::overflow;
use plan::Planner;
use strips::Strips;
pub(crate) use touched::Touched;
pub use transcript::Reflow;
pub(crate) use transcript::{Addition, Glyph, Glyphs, JOINER, TranscriptRenderer};

const BEGIN_SYNCHRONIZED: &str = "\x1b[?2026h";
const END_SYNCHRONIZED: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
pub(crate) const SHOW_CURSOR: &str = "\x1b[?25h";
/// Some terminals give up on a synchronized update that is longer than this.
const MAX_SYNCHRONIZED: usize = (2 << 20) - 64;
/// Terminals read at least this many bytes at a time, so a frame that only prints needs no synchronizing.
const SMALL_FRAME: usize = 512;

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
/// assert_eq!(renderer.render(&screen), b"\x1b[?25l\x1b[;5H\x1b[mp!");
/// ```
#[derive(Debug)]
pub struct Renderer {
    capabilities: Capabilities,
    /// The screen that the terminal shows.
    shown: Screen,
    /// All cells of the terminal are unknown, whatever `shown` holds.
    nothing_known: bool,
    /// All cells of `shown` are blank.
    is_shown_blank: bool,
    /// The last frame's cursor, the style beneath it, and whether it is behind the last column. `None`: other output may have moved it.
    placed: Option<(Cursor, Option<Style>, bool)>,
    encoder: Encoder,
    planner: Planner,
    colour_order: ColourOrder,
    /// Memory for rows that wait for others of their style.
    pending_rows: Vec<rows::Pending>,
    strips: Strips,
    /// Cells of the next frame that are drawn after all others, if there are images.
    newest: Vec<(usize, usize)>,
    /// The cells that may differ: those of the wanted screen that were touched, and those of the shown one that became unknown.
    touched: Touched,
    /// Bytes are dearer than the time it takes to save them.
    thorough: bool,
    /// This frame has erased or moved cells: half drawn, it would look broken.
    destructive: bool,
    /// Cells that are right stay untouched: they may be covered by a picture of the application's.
    careful: bool,
    /// Nothing is erased to an edge nor moved over it: the terminal may have grown.
    is_part: bool,
    /// The rows with cells that symbols stick out into, or did so at any time since everything was erased. Empty: none.
    overhung: Vec<bool>,
    written: Option<Vec<bool>>,
    stats: Stats,
    /// Draws without shortcuts: tests compare the bytes.
    #[cfg(test)]
    naive: bool,
}

impl Renderer {
    /// A renderer for a terminal whose screen is unknown.
    pub fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            shown: Screen::untouched(0, 0),
            nothing_known: true,
            is_shown_blank: false,
            placed: None,
            encoder: Encoder::new(capabilities.half_blocks),
            planner: Planner::default(),
            colour_order: ColourOrder::default(),
            pending_rows: Vec::new(),
            strips: Strips::default(),
            newest: Vec::new(),
            touched: Touched::default(),
            thorough: true,
            destructive: false,
            careful: false,
            is_part: false,
            overhung: Vec::new(),
            written: None,
            stats: Stats::default(),
            #[cfg(test)]
            naive: false,
        }
    }

    /// The terminal's capabilities, as far as they are used.
    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Counters of cells and sequences; those of writes stay 0.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Forgets the terminal's screen: the next frame draws everything.
    pub fn forget(&mut self) {
        self.nothing_known = true;
        self.touched.all();
        self.forget_pen();
    }

    /// Marks all cells of `shown` as unknown, if those of the terminal are.
    fn mark_unknown(&mut self) {
        if std::mem::take(&mut self.nothing_known) {
            self.shown.leave_alone(0);
            self.is_shown_blank = false;
        }
    }

    /// Forgets pen and cursor, but not the terminal's screen.
    pub(crate) fn forget_pen(&mut self) {
        self.placed = None;
        self.encoder.forget();
    }

    /// Takes note of bytes of the application's own, after which pen and cursor are unknown. After a switch between main and alternate
    /// screen, the whole screen is.
    pub(crate) fn after_passthrough(&mut self, screen_switch: Option<bool>) {
        self.forget_pen();
        if let Some(alternate) = screen_switch {
            self.capabilities.alternate_screen = alternate;
            self.forget();
        }
    }

    /// Forgets cells from one position up to another, in reading order.
    pub(crate) fn forget_cells(&mut self, from: usize, to: usize) {
        self.touched.all();
        if !self.nothing_known {
            self.shown.change(from..to, |part| part.fill(Cell::UNKNOWN));
        }
    }

    /// Takes unknown cells to be blank.
    pub(crate) fn assume_blank(&mut self, from: usize, to: usize) {
        self.touched.all();
        if from < to.min(self.shown.len()) {
            self.mark_unknown();
            self.shown.change(from..to, |part| {
                let unknown = part.iter_mut().filter(|cell| cell.is_unknown());
                unknown.for_each(|cell| *cell = Cell::BLANK);
            });
        }
    }

    /// Follows a change of size, after which the terminal's contents are unknown.
    pub(crate) fn adopt_size(&mut self, wanted: &Screen) {
        if (self.shown.width(), self.shown.height()) != (wanted.width(), wanted.height()) {
            // A first screen has changed in the rows that are reported alone.
            if self.shown.len() > 0 {
                self.touched.all();
            }
            // Blank, as it mostly is when all is erased.
            self.shown = Screen::new(wanted.width(), wanted.height());
            self.is_shown_blank = true;
            self.nothing_known = true;
            self.forget_pen();
            self.encoder.set_width(wanted.width());
        }
    }

    /// Takes over the cells in which the next screen has changed, and leaves `cells` empty.
    pub(crate) fn take_touched(&mut self, cells: &mut Touched) {
        self.touched.report(cells);
    }

    /// Has the next frame draw these cells after all others, if there are images. `cells` is empty afterwards.
    pub(crate) fn draw_last(&mut self, cells: &mut Vec<(usize, usize)>) {
        self.newest.clear();
        self.newest.append(cells);
    }

    /// Says whether to save bytes also where that takes more time than encoding them. At first it does.
    pub(crate) fn be_thorough(&mut self, thorough: bool) {
        self.thorough = thorough;
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

    /// The bytes that make the terminal show `wanted`; none if it shows that already.
    pub fn render(&mut self, wanted: &Screen) -> &[u8] {
        self.adopt_size(wanted);
        if self.shown.share_symbols(wanted) {
            self.touched.all();
        }
        debug_assert!(
            self.touched.holds(&self.shown, wanted),
            "a cell was changed and not touched"
        );
        if let Some(written) = &mut self.written {
            written.clear();
            written.resize(wanted.len(), false);
        }
        self.destructive = false;
        self.careful = wanted.symbols().has_opaque();
        self.is_part = wanted.is_part;
        self.encoder.out.clear();
        // Other output may have come since the last frame (a warning on standard error, another library's command). So every frame
        // sets position, style and the cursor's visibility by itself.
        self.encoder.forget();
        self.encoder.text(BEGIN_SYNCHRONIZED);
        if !wanted.cursor.visible {
            self.encoder.text(HIDE_CURSOR);
        }
        let start = self.encoder.out.len();
        self.colour_order.begin();
        let erased = self.blank_unknown_rows(wanted);
        self.planner.begin(erased == wanted.height());
        self.scroll_rows(wanted);
        self.draw_older(wanted);
        self.draw_rows(wanted);
        self.touched.begin();
        self.place_cursor(wanted, start);
        self.finish()
    }

    /// Draws the cells of frames that the newest one has replaced. An image of the newest may cover them: the application does not draw
    /// there any more, and does not say so either.
    fn draw_older(&mut self, wanted: &Screen) {
        let mut newest = std::mem::take(&mut self.newest);
        if self.careful && !newest.is_empty() {
            let mut older = wanted.clone();
            for &(from, to) in &newest {
                older.change(from..to, |part| part.fill(Cell::UNKNOWN));
            }
            self.planner.compare(&self.shown, &older, &self.touched);
            self.draw_rows(&older);
            self.planner.compare(&self.shown, wanted, &self.touched);
        }
        newest.clear();
        self.newest = newest;
    }

    /// Ends the frame, and wraps it in synchronized output where that is of use.
    fn finish(&mut self) -> &[u8] {
        let out = &mut self.encoder.out;
        let length = out.len().saturating_sub(BEGIN_SYNCHRONIZED.len());
        if length == 0 {
            return &[];
        }
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

    /// Leaves the cursor as it is wanted. If the frame has no bytes since `start`, and the cursor is so already, the frame stays empty.
    fn place_cursor(&mut self, wanted: &Screen, start: usize) {
        let cursor = wanted.cursor;
        let on_screen = cursor.x < wanted.width() && cursor.y < wanted.height();
        // A hidden cursor stays where it is. But where only a part of the terminal is drawn on, other programs go on writing at the cursor.
        let park = !self.capabilities.alternate_screen
            || wanted.cells().next().is_some_and(|cell| cell.is_unknown());
        let place = match cursor.visible || park {
            true => cursor,
            false => Cursor::default(),
        };
        // Among pictures, a blank that was not put may be a part of one.
        let beneath = wanted
            .beneath_cursor
            .or_else(|| (!self.careful).then(Style::default));
        // It is left there, as crossterm's backend leaves it: what another program prints next goes on in the next row.
        let is_empty = self.encoder.out.len() == start;
        let was_behind = self.placed.is_some_and(|(_, _, is_behind)| is_behind);
        let is_behind = wanted.is_cursor_behind
            && (self.encoder.at == At::Known(wanted.width(), cursor.y) || is_empty && was_behind);
        let placed = Some((place, beneath, is_behind));
        if is_empty && self.placed == placed {
            self.encoder.out.clear();
            return;
        }
        self.placed = placed;
        let is_placed = on_screen && !is_behind;
        if is_placed && (cursor.visible || park) {
            self.encoder.move_to(cursor.x, cursor.y);
        }
        if let Some(beneath) = beneath.filter(|_| is_placed && cursor.visible) {
            self.dress_beneath_cursor(wanted, beneath);
        }
        // What the application erases or prints by itself then has the terminal's own colours, as through crossterm's backend. xterm also
        // draws a cursor by the pen: on a blank that has a foreground and no background, in its own colours if the pen is like that, too.
        self.encoder.reset_pen();
        if cursor.visible {
            self.encoder.text(SHOW_CURSOR);
        }
    }

    /// Prints a blank beneath a visible cursor in the style that was asked for, foreground and all: many terminals (alacritty,
    /// foot, VTE) show the cursor in its colours. Elsewhere a blank is drawn with whatever foreground is the cheapest.
    fn dress_beneath_cursor(&mut self, wanted: &Screen, beneath: Style) {
        let Cursor { x, y, .. } = wanted.cursor;
        let cell = wanted.row(y)[usize::from(x)];
        if !cell.is_blank() {
            return;
        }
        self.encoder.set_pen(Style {
            bg: cell.bg,
            ..beneath
        });
        self.encoder.symbol(' ');
        self.encoder.advance(1);
        self.encoder.move_to(x, y);
    }

    /// Erases the unknown rows at the bottom, so that their blanks need not be drawn. Returns how many.
    fn blank_unknown_rows(&mut self, wanted: &Screen) -> u16 {
        let (width, height) = (usize::from(wanted.width()), wanted.height());
        if width == 0 {
            return 0;
        }
        // A first frame, and one after a change of size, need no count.
        let everything = self.nothing_known && wanted.is_complete() && !self.is_part;
        let is_blank = std::mem::take(&mut self.is_shown_blank) && everything;
        let rows = if everything {
            self.nothing_known = false;
            height
        } else {
            self.mark_unknown();
            if self.is_part {
                0
            } else {
                self.unknown_rows(wanted)
            }
        };
        if rows == height {
            self.overhung.clear();
        }
        if rows == 0 {
            return 0;
        }
        let top = height - rows;
        self.destructive = true;
        self.encoder.set_erasing_pen(Color::DEFAULT);
        self.encoder.move_to(0, top);
        self.encoder.text("\x1b[J");
        if !is_blank {
            self.shown.fill_rows(top..height, Cell::BLANK);
        }
        self.stats.cells_erased += u64::from(rows) * width as u64;
        rows
    }

    /// How many rows at the bottom are unknown, and wanted whole.
    fn unknown_rows(&self, wanted: &Screen) -> u16 {
        let width = usize::from(wanted.width());
        let unknown = |y: &u16| {
            // All are counted: with an early end, an unknown screen would take longer.
            let unknown = |cells: &[Cell]| cells.iter().filter(|cell| cell.is_unknown()).count();
            unknown(self.shown.row(*y)) == width && unknown(wanted.row(*y)) == 0
        };
        let rows = (0..wanted.height()).rev();
        let may_differ = |y: &u16| self.touched.columns(*y, wanted.width()).len() == width;
        let rows = rows.take_while(|y| may_differ(y) && unknown(y));
        rows.count() as u16
    }

    /// The bytes that leave the terminal with the default pen and a visible cursor.
    pub(crate) fn farewell(&mut self) -> &[u8] {
        self.encoder.out.clear();
        self.encoder.text("\x1b[m\x1b[?25h");
        self.forget_pen();
        &self.encoder.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Attributes;
    use crate::model::Repeat;

    pub(super) struct Xorshift(pub(super) u64);

    impl Xorshift {
        pub(super) fn below(&mut self, n: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 16) % n
        }
    }

    /// Changes cells of a picture whose colours are often alike, with some text and wide symbols in it.
    fn scribble(random: &mut Xorshift, screen: &mut Screen) {
        let (width, height) = (u64::from(screen.width()), u64::from(screen.height()));
        let few = 2 + random.below(40);
        for _ in 0..random.below(width * height) {
            let mut color = || Color::rgb(random.below(few) as u8 * 5, 100, random.below(2) as u8);
            let style = Style {
                fg: color(),
                bg: color(),
                ..Style::default()
            };
            let symbol = ["▀", "▀", "▀", "▀", "▄", "█", "a", "日"][random.below(8) as usize];
            let (x, y) = (random.below(width) as u16, random.below(height) as u16);
            screen.put(x, y, symbol, style);
        }
        for _ in 0..random.below(4) {
            let text = ["some words", "a  b", "aaaa", "────", "日本 x"][random.below(5) as usize];
            let kinds = [Attributes::NONE, Attributes::BOLD, Attributes::REVERSED];
            let style = Style {
                bg: Color::indexed(random.below(2) as u8),
                attributes: kinds[random.below(3) as usize],
                ..Style::default()
            };
            let (x, y) = (random.below(width) as u16, random.below(height) as u16);
            screen.put(x, y, text, style);
        }
    }

    /// The first column in which a row differs, and the one behind the last.
    fn columns_that_differ(shown: &Screen, wanted: &Screen, y: u16) -> (u16, u16) {
        if shown.len() != wanted.len() {
            return (0, wanted.width());
        }
        let differs = |x: &u16| shown.row(y)[usize::from(*x)] != wanted.row(y)[usize::from(*x)];
        let first = (0..wanted.width()).find(differs);
        let last = (0..wanted.width()).rfind(differs);
        first
            .zip(last)
            .map_or((0, 0), |(first, last)| (first, last + 1))
    }

    fn without_common_rows(screen: &Screen) -> Screen {
        let mut copy = Screen::new(screen.width(), screen.height());
        copy.share_symbols(screen);
        for y in 0..screen.height() {
            copy.row_mut(y).copy_from_slice(screen.row(y));
        }
        copy.cursor = screen.cursor;
        copy
    }

    #[test]
    fn shortcuts_give_the_bytes_of_the_long_way() {
        let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
        for game in 0..60 {
            let capabilities = Capabilities {
                half_blocks: game % 4 > 0,
                repeat: [Repeat::Nothing, Repeat::Ascii, Repeat::Anything][game % 3],
                ..Capabilities::full()
            };
            let mut quick = Renderer::new(capabilities);
            let mut naive = Renderer::new(capabilities);
            naive.naive = true;
            let mut screen = Screen::new(1 + random.below(50) as u16, 1 + random.below(6) as u16);
            screen.exchange_half_blocks(capabilities.half_blocks);
            let mut touched = Touched::default();
            for _ in 0..20 {
                scribble(&mut random, &mut screen);
                // Its rows in common with what is shown, and the columns that differ known.
                screen.share();
                for y in 0..screen.height() {
                    touched.cells(y, columns_that_differ(&naive.shown, &screen, y));
                }
                quick.adopt_size(&screen);
                quick.take_touched(&mut touched);
                assert_eq!(
                    String::from_utf8_lossy(quick.render(&screen)),
                    String::from_utf8_lossy(naive.render(&without_common_rows(&screen)))
                );
            }
            assert_eq!(quick.stats(), naive.stats());
        }
    }
}
