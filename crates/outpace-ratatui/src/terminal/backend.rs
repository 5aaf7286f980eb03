//! ratatui's `Backend` over the renderer and the presenter.
//!
//! ratatui tells a backend which cells changed. They are put into a [`Screen`], which is what is
//! wanted; `flush` hands that screen to the presenter, which compares it with what the terminal shows.

use std::io::{self, Write};
use std::ops::Range;
#[cfg(all(unix, not(outpace_portable)))]
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::{self, CellDiffOption, CellWidth};
use ratatui_core::layout::{Position, Size};

use super::blanks::Blanks;
use super::cells::{apart, colors_are_off, narrow, style_of};
use super::foreign::Foreign;
use super::options::{Options, Target};
use super::probe;
use super::report::Report;
use super::session;
use crate::model::{Capabilities, Cursor, Screen, Stats};
use crate::present::{Closer, Damage, Failure, Output, Presenter, Scrolling, Stream};
use crate::render::Renderer;
use crate::sys;

/// A ratatui backend that draws with the fewest bytes and, unless told otherwise, never waits for the
/// terminal.
///
/// It takes the place of `CrosstermBackend` in one line, and input stays crossterm's:
///
/// ```no_run
/// use outpace_ratatui::OutpaceBackend;
/// use ratatui::Terminal;
///
/// let mut terminal = Terminal::new(OutpaceBackend::stdout()?)?;
/// terminal.draw(|frame| frame.render_widget("hello", frame.area()))?;
/// # std::io::Result::Ok(())
/// ```
///
/// Raw mode and the alternate screen are the application's business, as with any backend;
/// [`init`](crate::init) and [`run`](crate::run) see to them.
///
/// `flush` writes what the terminal takes at once. If it is busy, or the picture large, `flush` leaves the newest screen to a
/// thread of its own, which starts when it is first needed, and returns ([`Options::direct`] does without, and waits). While the
/// terminal is busy, newer screens replace older ones, so the application draws as often as it likes and the terminal shows as much as it can. The
/// difference is always taken to what was really written. [`flush_and_wait`](Self::flush_and_wait)
/// waits until the terminal has accepted everything. `insert_before` and other calls that scroll do so
/// too, since what they write must not be skipped.
///
/// It is a writer, too, for crossterm's commands: `execute!(terminal.backend_mut(), LeaveAlternateScreen)`.
///
/// If the terminal goes away, the next call reports it. Dropping the backend shows the cursor again and
/// gives the pen back; it waits no longer than half a second for a terminal that does not read.
pub struct OutpaceBackend {
    presenter: Presenter,
    /// What a session uses to silence the presenter.
    closer: Closer,
    /// What ratatui wants to be shown. Cells that it never drew are left alone.
    screen: Screen,
    blanks: Blanks,
    damage: Damage,
    foreign: Foreign,
    terminal: Surface,
    capabilities: Capabilities,
    /// Between `draw` and `flush`, cursor calls wait for the flush.
    in_frame: bool,
    changed: bool,
    presented_cursor: Option<Cursor>,
    cursor_known: bool,
    /// The cursor's place was known at some time.
    ever_placed: bool,
    colors_off: bool,
    /// What ratatui has drawn so far, outside of which nothing is known to be ours.
    claimed: Claimed,
    /// The viewport seems to be an inline one, since its first call was for the cursor.
    guessed_inline: bool,
    /// Whether the alternate screen was taken to be on at first.
    configured_alternate: bool,
    /// Whether the size was asked for since the last draw call.
    size_asked: AtomicBool,
    /// Whether it was before every draw call, as it is for a fullscreen viewport.
    size_always_asked: bool,
    /// Cells beyond the edges of the terminal: of a viewport that a smaller terminal has cut.
    beyond: Option<Screen>,
    /// The size has changed since the last flush: ratatui clears, and draws everything again.
    resized: bool,
    /// Some cell held escape sequences, perhaps a picture: what ratatui sends is drawn, changed or not.
    opaque_seen: bool,
    frames_drawn: u64,
    time_in_draw: Duration,
    longest_draw: Duration,
    report: Option<Report>,
}

/// Which cells are ours although ratatui never sent them. It takes a viewport to be blank at first, and never sends blanks
/// that it believes to be there. It does not say where the viewport is, but all that it sends lies in it: so the
/// rectangle around that does, too.
enum Claimed {
    /// The whole screen was cleared, by us or on its behalf.
    Everything,
    /// Columns and rows, each from the first to behind the last.
    Rectangle {
        columns: Range<u16>,
        rows: Range<u16>,
    },
    /// An inline viewport has its rows cleared.
    Nothing,
}

/// What is drawn on.
pub(super) enum Surface {
    Terminal(sys::Terminal),
    Fixed(Size),
}

impl Surface {
    fn is_raw(&self) -> bool {
        match self {
            Self::Terminal(file) => sys::is_raw(file),
            Self::Fixed(_) => false,
        }
    }
}

impl std::fmt::Debug for OutpaceBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutpaceBackend")
            .field("capabilities", &self.capabilities)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl OutpaceBackend {
    /// A backend on standard output.
    ///
    /// # Errors
    /// If the descriptor is closed, or `OUTPACE_DRAW_OFF` names an optimisation that does not exist.
    pub fn stdout() -> io::Result<Self> {
        Self::new(Options::default())
    }

    /// A backend on standard error, as fast as on standard output.
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    pub fn stderr() -> io::Result<Self> {
        Self::new(Options::default().target(Target::Stderr))
    }

    /// A backend on the terminal that the process was started from, wherever its output goes.
    ///
    /// # Errors
    /// If there is none, and as for [`stdout`](Self::stdout).
    pub fn tty() -> io::Result<Self> {
        Self::new(Options::default().target(Target::Tty))
    }

    /// A backend with options, which name the target too.
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    pub fn new(options: Options) -> io::Result<Self> {
        Self::on(options.target.open()?, options)
    }

    /// A backend on any descriptor. The descriptor is duplicated and never closed.
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    #[cfg(all(unix, not(outpace_portable)))]
    pub fn open(terminal: impl AsFd, options: Options) -> io::Result<Self> {
        Self::on(sys::open(terminal)?, options)
    }

    pub(super) fn on(file: sys::Terminal, options: Options) -> io::Result<Self> {
        let findings = probe::find_out(&file, &options);
        let output = Output::Terminal(file.try_clone()?);
        let size = surface_size(&file)?.unwrap_or(Size::new(80, 24));
        let mut backend =
            Self::assemble(output, Surface::Terminal(file), size, &options, findings)?;
        backend.report = Report::wanted();
        Ok(backend)
    }

    /// A backend that writes into anything, as if that were a terminal of a fixed size: for tests.
    /// It knows `basic` capabilities unless the options name others, and draws directly.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use outpace_ratatui::{OutpaceBackend, Options};
    /// use ratatui::{Terminal, layout::Size};
    ///
    /// # struct Chunks(mpsc::Sender<Vec<u8>>);
    /// # impl std::io::Write for Chunks {
    /// #     fn write(&mut self, b: &[u8]) -> std::io::Result<usize> { let _ = self.0.send(b.to_vec()); Ok(b.len()) }
    /// #     fn flush(&mut self) -> std::io::Result<()> { Ok(()) }
    /// # }
    /// let (sender, bytes) = mpsc::channel();
    /// let backend = OutpaceBackend::writer(Chunks(sender), Size::new(20, 2), Options::default())?;
    /// let mut terminal = Terminal::new(backend)?;
    /// terminal.draw(|frame| frame.render_widget("hello", frame.area()))?;
    /// assert!(bytes.recv().unwrap().ends_with(b"hello"));
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    pub fn writer(
        writer: impl Write + Send + 'static,
        size: Size,
        options: Options,
    ) -> io::Result<Self> {
        let findings = probe::Findings {
            capabilities: options.capabilities.unwrap_or(Capabilities::basic()),
            cursor: Some((0, 0)),
        };
        let output = Output::Writer(Box::new(writer));
        Self::assemble(
            output,
            Surface::Fixed(size),
            size,
            &options.direct(),
            findings,
        )
    }

    fn assemble(
        output: Output,
        terminal: Surface,
        size: Size,
        options: &Options,
        findings: probe::Findings,
    ) -> io::Result<Self> {
        let mut capabilities = findings.capabilities;
        capabilities.half_blocks |= options.exchange_half_blocks;
        let capabilities = probe::without_disabled(capabilities)?;
        let mut renderer = Renderer::new(capabilities);
        if options.record_written {
            renderer.record_written();
        }
        let fewest_bytes = options.fewest_bytes;
        let shared = match &terminal {
            Surface::Terminal(file) => shared_stream(file, options.target),
            Surface::Fixed(_) => None,
        };
        let presenter = if options.direct {
            Presenter::direct(renderer, output, fewest_bytes, shared)
        } else {
            Presenter::threaded(renderer, output, fewest_bytes, shared, options.max_lag)
        };
        let closer = presenter.closer();
        let (mut screen, claimed) = if options.owns_screen {
            (Screen::new(size.width, size.height), Claimed::Everything)
        } else {
            let nothing = Claimed::Rectangle {
                columns: 0..0,
                rows: 0..0,
            };
            (Screen::untouched(size.width, size.height), nothing)
        };
        screen.exchange_half_blocks(capabilities.half_blocks);
        if let Some((x, y)) = findings.cursor {
            screen.cursor = Cursor {
                x,
                y,
                visible: true,
            };
        }
        Ok(Self {
            presenter,
            closer,
            screen,
            blanks: Blanks::default(),
            damage: Damage::default(),
            foreign: Foreign::default(),
            terminal,
            capabilities,
            in_frame: false,
            changed: false,
            presented_cursor: None,
            cursor_known: findings.cursor.is_some(),
            ever_placed: findings.cursor.is_some(),
            colors_off: colors_are_off(),
            claimed,
            guessed_inline: false,
            configured_alternate: capabilities.alternate_screen,
            size_asked: AtomicBool::new(false),
            size_always_asked: true,
            beyond: None,
            resized: false,
            opaque_seen: false,
            frames_drawn: 0,
            time_in_draw: Duration::ZERO,
            longest_draw: Duration::ZERO,
            report: None,
        })
    }

    /// What the terminal is taken to understand.
    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Counters of everything drawn so far.
    pub fn stats(&self) -> Stats {
        Stats {
            frames_drawn: self.frames_drawn,
            time_in_draw: self.time_in_draw,
            longest_draw: self.longest_draw,
            ..self.presenter.stats()
        }
    }

    /// Whether the last frame printed this cell, if the [`Options`] say that this be recorded.
    pub fn was_written(&self, x: u16, y: u16) -> bool {
        self.presenter.was_written(x, y)
    }

    /// Draws everything again with the next flush: call it after another program wrote to the terminal, and
    /// when an event says that the size has changed: some terminals (kitty, while its window opens) lose what
    /// they show even if the size is the same in the end.
    ///
    /// A viewport that seems to be a fullscreen one, since the size was asked for before each frame, gets all of the
    /// screen blanked first.
    pub fn repaint(&mut self) {
        if self.size_always_asked && matches!(self.claimed, Claimed::Rectangle { .. }) {
            self.screen.claim(0..u16::MAX, 0..u16::MAX);
            self.claimed = Claimed::Everything;
        }
        self.damage.everything();
        self.changed = true;
    }

    /// Flushes, and waits until the terminal has accepted everything, or the limit is over. Returns
    /// whether it has.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn flush_and_wait(&mut self, limit: Option<Duration>) -> io::Result<bool> {
        Backend::flush(self)?;
        self.presenter.wait(limit)
    }

    /// Changes the size of a backend made by [`writer`](Self::writer); others ask their terminal.
    pub fn set_size(&mut self, size: Size) {
        if let Surface::Fixed(fixed) = &mut self.terminal {
            *fixed = size;
        }
    }

    pub(crate) fn closer(&self) -> Closer {
        self.closer.clone()
    }

    /// Writes bytes before the next frame, to a terminal that shows what it is taken to show.
    pub(super) fn write_before(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.presenter.pass(bytes, None)
    }

    fn current_size(&self) -> io::Result<Size> {
        match &self.terminal {
            Surface::Fixed(size) => Ok(*size),
            Surface::Terminal(file) => surface_size(file)?.ok_or_else(|| {
                io::Error::other(
                    "the size of the terminal is unknown: this descriptor is no terminal and there is \
                     no other; draw on one, or on OutpaceBackend::tty()",
                )
            }),
        }
    }

    /// Notices a new size, after which the terminal's contents are unknown.
    fn follow_size(&mut self) {
        let Ok(size) = self.current_size() else {
            return;
        };
        if (size.width, size.height) != (self.screen.width(), self.screen.height()) {
            self.change_size(size);
            self.damage.everything();
            self.changed = true;
            self.resized = true;
            self.cursor_known &= self.capabilities.alternate_screen || self.is_fixed();
        }
    }

    /// Cells that no longer fit are kept, since ratatui does not draw a fixed viewport again when they do.
    fn change_size(&mut self, size: Size) {
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

    /// Blanks what lies within the rectangle of all that was drawn. Where nothing was sent there may be an image, so from
    /// the first one on it is taken to be blank already.
    fn claim(&mut self, drawn_columns: &Range<u16>, drawn_rows: &Range<u16>) {
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
    fn put_beyond(&mut self, x: u16, y: u16, cell: &buffer::Cell) {
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

    const fn is_fixed(&self) -> bool {
        matches!(self.terminal, Surface::Fixed(_))
    }

    fn present(&mut self) -> io::Result<()> {
        if !self.changed
            && self.damage.is_empty()
            && self.presented_cursor == Some(self.screen.cursor)
        {
            return self.presenter.wait(Some(Duration::ZERO)).map(|_| ());
        }
        let at = self
            .screen
            .index(self.screen.cursor.x, self.screen.cursor.y);
        self.screen.beneath_cursor = self.blanks.style_at(self.screen.width(), at);
        let terminal = &self.terminal;
        self.presenter
            .present(&self.screen, &mut self.damage, || terminal.is_raw())?;
        self.changed = false;
        self.presented_cursor = Some(self.screen.cursor);
        Ok(())
    }

    /// Writes the application's own bytes, behind the frames before them.
    fn pass(&mut self, bytes: &[u8], screen_switch: Option<bool>) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(alternate) = screen_switch {
            self.enter_screen(alternate);
        }
        self.presenter.pass(bytes, screen_switch)?;
        self.presented_cursor = None;
        Ok(())
    }

    /// Another screen is shown from now on: nothing of it is ours yet, and what was drawn belongs to the one before.
    fn enter_screen(&mut self, alternate: bool) {
        self.capabilities.alternate_screen = alternate;
        self.blanks = Blanks::default();
        self.screen = Screen::untouched(self.screen.width(), self.screen.height());
        self.screen
            .exchange_half_blocks(self.capabilities.half_blocks);
        self.beyond = None;
        self.claimed = Claimed::Rectangle {
            columns: 0..0,
            rows: 0..0,
        };
        self.damage.everything();
        self.changed = false;
        self.cursor_known = false;
    }

    /// Has presenter and renderer take the other screen to be on.
    fn switch_screen(&mut self, alternate: bool) -> io::Result<()> {
        if self.capabilities.alternate_screen != alternate {
            self.capabilities.alternate_screen = alternate;
            self.presenter.pass(&[], Some(alternate))?;
        }
        Ok(())
    }

    /// Outside a frame, cursor calls take effect at once.
    fn cursor_changed(&mut self) -> io::Result<()> {
        if self.in_frame || self.presented_cursor == Some(self.screen.cursor) {
            return Ok(());
        }
        self.present()
    }

    fn perform(&mut self, scrolling: Scrolling) -> io::Result<()> {
        self.follow_size();
        // What scrolls is drawn again by ratatui, blanks in styles of their own as well.
        self.blanks = Blanks::default();
        self.presenter
            .perform(&mut self.screen, &mut self.damage, scrolling)?;
        self.changed = true;
        self.presented_cursor = Some(self.screen.cursor);
        Ok(())
    }

    /// Puts a cell that lies on the screen, and returns its width. Inlined into the loop over all cells of a frame: to call it
    /// takes a quarter of its time.
    #[inline(always)]
    fn put(&mut self, x: u16, y: u16, cell: &buffer::Cell, symbol: &str) -> u16 {
        let plain = matches!(cell.diff_option, CellDiffOption::None) && !self.opaque_seen;
        match narrow(symbol).filter(|_| plain) {
            Some(c) => {
                let style = style_of(cell, self.colors_off);
                let at = self.screen.put_char(x, y, c, style);
                let size = (self.screen.width(), self.screen.height());
                self.blanks.put(size, at, c == ' ', style);
                1
            }
            None => self.put_symbol(x, y, cell, symbol),
        }
    }

    #[cold]
    fn put_symbol(&mut self, x: u16, y: u16, cell: &buffer::Cell, symbol: &str) -> u16 {
        let mut width = match cell.diff_option {
            CellDiffOption::ForcedWidth(width) => width.get(),
            _ => symbol.cell_width(),
        };
        if symbol.len() > 4 && symbol.contains('\x1b') {
            self.opaque_seen = true;
            // They take no columns, but count as if they did.
            width = width.min(self.screen.width() - x);
            let at = self.screen.index(x, y);
            self.blanks
                .cover(self.screen.width(), at, rows_of_picture(symbol));
        }
        let style = style_of(cell, self.colors_off);
        self.screen.put_symbol(x, y, symbol, width, style);
        let size = (self.screen.width(), self.screen.height());
        let at = self.screen.index(x, y);
        match symbol {
            // Among pictures, only what was put is known to be a blank.
            " " if self.opaque_seen => self.blanks.note(size, at, style),
            _ => self.blanks.put(size, at, symbol == " ", style),
        }
        if self.opaque_seen || matches!(cell.diff_option, CellDiffOption::AlwaysUpdate) {
            let columns = usize::from(width.clamp(1, self.screen.width().saturating_sub(x).max(1)));
            self.damage.cells(at, at + columns);
        }
        width
    }
}

/// In how many rows, from its own on, text may erase what a symbol of escape sequences draws: as many as it says, or all.
fn rows_of_picture(symbol: &str) -> u16 {
    // kitty's protocol: its pictures lie in a layer of their own, which text leaves alone.
    if symbol.contains("\x1b_G") && !symbol.contains("\x1bP") {
        return 0;
    }
    // iTerm2's: nothing but one sequence, whose height without a unit counts cells.
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

/// The standard stream that commands are likely to be sent through to this terminal.
fn shared_stream(terminal: &sys::Terminal, target: Target) -> Option<Stream> {
    if !sys::OWN_DESCRIPTOR {
        return None;
    }
    match target {
        Target::Stderr => sys::is_stderr(terminal).then_some(Stream::Stderr),
        _ => sys::is_stdout(terminal).then_some(Stream::Stdout),
    }
}

/// The size of the terminal that the descriptor is on or, if it is on none, of the one that the process
/// was started from.
fn surface_size(file: &sys::Terminal) -> io::Result<Option<Size>> {
    let own = sys::terminal_size(file).map_err(|error| Failure::new(&error).report())?;
    let size = match own {
        Some(size) => Some(size),
        None => match sys::controlling_terminal() {
            Ok(terminal) => sys::terminal_size(&terminal)?,
            Err(_) => None,
        },
    };
    Ok(size.map(|size| Size::new(size.columns, size.rows)))
}

impl Backend for OutpaceBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a buffer::Cell)>,
    {
        self.follow_size();
        self.in_frame = true;
        self.colors_off = colors_are_off();
        self.size_always_asked &= self.size_asked.swap(false, Ordering::Relaxed);
        let claims = matches!(self.claimed, Claimed::Rectangle { .. });
        let mut last = None;
        // The edges of all that is drawn.
        let (mut left, mut right, mut top, mut bottom) = (u16::MAX, 0, u16::MAX, 0);
        // ratatui clears what lies under some wide symbols, for terminals that do not. The renderer sees
        // to that itself, and a blank here would break the symbol in two.
        let mut covered = (0, 0..0);
        for (x, y, cell) in content {
            if x < covered.1.end && covered.0 == y && covered.1.start <= x {
                continue;
            }
            if x >= self.screen.width() || y >= self.screen.height() {
                self.put_beyond(x, y, cell);
                continue;
            }
            let symbol = cell.symbol();
            if last.is_none_or(|(_, row)| row != y) {
                self.damage.touch_row(y);
            }
            let width = self.put(x, y, cell, symbol);
            covered = (y, x + 1..x.saturating_add(width));
            last = Some((x, y));
            if claims {
                let mut reach = width.max(1);
                if self.size_always_asked && narrow(symbol).is_none() {
                    // Terminals that draw its characters one by one run over what follows, which then has to be repaired.
                    reach = reach.max(apart(symbol));
                }
                (left, right) = (left.min(x), right.max(x.saturating_add(reach)));
                (top, bottom) = (top.min(y), bottom.max(y + 1));
            }
        }
        if left < right {
            self.claim(&(left..right), &(top..bottom));
        }
        if let Some((x, y)) = last {
            // Where the cursor would be had the cells been printed. Inline viewports go by its row.
            self.changed = true;
            self.screen.cursor.x = (x + 1).min(self.screen.width() - 1);
            self.screen.cursor.y = y;
        }
        Ok(())
    }

    fn append_lines(&mut self, n: u16) -> io::Result<()> {
        if n == 0 {
            return Ok(());
        }
        self.perform(Scrolling::AppendLines(n))
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.screen.cursor.visible = false;
        self.cursor_changed()
    }

    /// Shows it where it is: an application may have left the alternate screen by itself, and the shell's cursor
    /// is then where the shell wants it.
    fn show_cursor(&mut self) -> io::Result<()> {
        self.screen.cursor.visible = true;
        let shared = !self.capabilities.alternate_screen && self.cursor_known;
        if self.in_frame || shared {
            return self.cursor_changed();
        }
        if self.presented_cursor.is_some_and(|cursor| cursor.visible) {
            return Ok(());
        }
        let nowhere = Cursor {
            x: u16::MAX,
            y: u16::MAX,
            visible: true,
        };
        let cursor = std::mem::replace(&mut self.screen.cursor, nowhere);
        let result = self.present();
        self.screen.cursor = cursor;
        self.presented_cursor = Some(cursor);
        result
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.follow_size();
        if let Claimed::Rectangle { columns, .. } = &self.claimed {
            // An inline viewport asks before it is drawn, on the main screen. So does clearing a fullscreen one.
            if columns.is_empty() && self.capabilities.alternate_screen && !self.is_fixed() {
                self.switch_screen(false)?;
            }
            self.claimed = Claimed::Nothing;
            self.guessed_inline = true;
        }
        // A terminal that has stalled would not answer. Then the cursor is taken to be where the last frame left it.
        // On an alternate screen that has been drawn on, no output goes on from the cursor.
        let matters = self.frames_drawn == 0 || !self.capabilities.alternate_screen;
        if !self.cursor_known
            && matters
            && let Surface::Terminal(file) = &self.terminal
            && (!self.ever_placed || self.presenter.wait_a_moment()?)
        {
            // What lies where is unknown. ratatui asks for the cursor to find out, and draws all of it
            // again from there.
            self.screen = Screen::untouched(self.screen.width(), self.screen.height());
            self.screen
                .exchange_half_blocks(self.capabilities.half_blocks);
            self.presenter.wait(Some(probe::PATIENCE))?;
            self.ever_placed = true;
            let (x, y) = probe::ask_for_cursor(file)?;
            let visible = self.presented_cursor.is_none_or(|cursor| cursor.visible);
            self.screen.cursor = Cursor { x, y, visible };
            self.damage.everything();
            self.cursor_known = true;
        }
        Ok(Position {
            x: self.screen.cursor.x,
            y: self.screen.cursor.y,
        })
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        self.screen.cursor.x = x.min(self.screen.width().saturating_sub(1));
        self.screen.cursor.y = y.min(self.screen.height().saturating_sub(1));
        self.cursor_known = true;
        self.cursor_changed()
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    /// Takes effect with the next flush, or at once outside a frame.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.follow_size();
        let (end, columns) = (self.screen.cells().len(), usize::from(self.screen.width()));
        if end == 0 {
            return Ok(());
        }
        let row = usize::from(self.screen.cursor.y) * columns;
        let cursor = row + usize::from(self.screen.cursor.x);
        let (from, to) = match clear_type {
            ClearType::All => (0, end),
            ClearType::AfterCursor => (cursor, end),
            ClearType::BeforeCursor => (0, cursor + 1),
            ClearType::CurrentLine => (row, row + columns),
            ClearType::UntilNewLine => (cursor, row + columns),
        };
        self.screen.blank(from, to);
        self.blanks.clear(from..to);
        if clear_type == ClearType::All {
            if std::mem::take(&mut self.guessed_inline) && !self.is_fixed() {
                self.switch_screen(self.configured_alternate)?;
            }
            self.claimed = Claimed::Everything;
            self.beyond = None;
            self.damage.everything();
        } else {
            self.damage.cells(from, to);
        }
        self.changed = true;
        if clear_type == ClearType::All && !self.in_frame && !self.resized {
            self.present()?;
        }
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        self.size_asked.store(true, Ordering::Relaxed);
        self.current_size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let pixels = match &self.terminal {
            Surface::Terminal(file) => sys::terminal_size(file)?.map(|size| size.pixels),
            Surface::Fixed(_) => None,
        };
        let (width, height) = pixels.unwrap_or_default();
        Ok(WindowSize {
            columns_rows: self.current_size()?,
            pixels: Size { width, height },
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let start = Instant::now();
        if self.in_frame {
            self.in_frame = false;
            if let Some(reason) = self.closer.reason() {
                return Err(io::Error::new(io::ErrorKind::NotConnected, reason));
            }
            self.frames_drawn += 1;
        }
        self.resized = false;
        if let Some(enter) = session::resume()? {
            self.write_before(enter)?;
            self.repaint();
        }
        let result = self.present();
        let took = start.elapsed();
        self.time_in_draw += took;
        self.longest_draw = self.longest_draw.max(took);
        result
    }

    #[cfg(feature = "scrolling-regions")]
    fn scroll_region_up(&mut self, region: std::ops::Range<u16>, amount: u16) -> io::Result<()> {
        self.perform(Scrolling::Region {
            top: region.start,
            bottom: region.end,
            by: amount.into(),
        })
    }

    #[cfg(feature = "scrolling-regions")]
    fn scroll_region_down(&mut self, region: std::ops::Range<u16>, amount: u16) -> io::Result<()> {
        let by = -i32::from(amount);
        self.perform(Scrolling::Region {
            top: region.start,
            bottom: region.end,
            by,
        })
    }
}

/// Bytes of the application's own, as crossterm's commands are: `execute!(terminal.backend_mut(),
/// EnableMouseCapture)`. They reach the terminal in order with the frames, and nothing waits for that: where the terminal
/// does not read, they wait in memory, 16 MiB of them at most. Their effect on the picture is known to the application
/// alone: call [`repaint`](OutpaceBackend::repaint), or `Terminal::clear`, if they do anything to it. Turning the
/// alternate screen on or off is noticed. An escape sequence that comes in several writes goes on when it is whole, or at `flush`.
impl Write for OutpaceBackend {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (whole, screen_switch) = self.foreign.take(bytes);
        self.pass(&whole, screen_switch)?;
        Ok(bytes.len())
    }

    /// Waits a moment, a millisecond at most, for the terminal to have read everything; not at all where it has stalled.
    fn flush(&mut self) -> io::Result<()> {
        let rest = self.foreign.rest();
        self.pass(&rest, None)?;
        self.presenter.wait_a_moment().map(|_| ())
    }
}

impl Drop for OutpaceBackend {
    fn drop(&mut self) {
        // A terminal that is gone needs no farewell, and an error could be reported to no caller. The farewell shows the cursor.
        if self.changed {
            let _ = self.present();
        }
        let rest = self.foreign.rest();
        let _ = self.pass(&rest, None);
        self.presenter.close(probe::LEAVE_LIMIT);
        if let Some(report) = self.report.take() {
            report.write(self.capabilities, self.stats());
        }
    }
}
