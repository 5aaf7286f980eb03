//! ratatui's `Backend` over the renderer and the presenter.
//!
//! ratatui sends a backend the cells that changed. They are put into a [`Screen`], the wanted one. `flush` hands it to the presenter,
//! which compares it with the screen that the terminal shows.

mod calls;
mod put;

use std::io::{self, Write};
#[cfg(all(unix, not(outpace_portable)))]
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratatui_core::backend::Backend;
use ratatui_core::layout::Size;

use super::blanks::Blanks;
use super::cells::colors_are_off;
use super::options::{Options, Target};
use super::passthrough::Passthrough;
use super::probe;
use super::report::Report;
use super::session;
use crate::model::{Capabilities, Cursor, Screen, Stats};
use crate::present::{Closer, Damage, Failure, Output, Presenter, Scrolling, Stream};
use crate::render::Renderer;
use crate::sys;
use put::Claimed;

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
/// `flush` writes as much as the terminal takes at once. If the terminal is busy, or the picture large, `flush` leaves the newest
/// screen to the presenter's thread, which starts when it is first needed, and returns ([`Options::direct`] has no thread, and waits).
/// While the terminal is busy, newer screens replace older ones, so the application draws as often as it likes and the terminal shows
/// as much as it can. Every frame is compared with the one that was really written.
/// [`flush_and_wait`](Self::flush_and_wait) waits until the terminal has accepted everything. Lines of `insert_before`, and
/// other scrolling, are never skipped: they wait in order.
///
/// It is a writer, too, for crossterm's commands: `execute!(terminal.backend_mut(), LeaveAlternateScreen)`.
///
/// If the terminal goes away, the next call reports it. Dropping the backend shows the cursor again and
/// gives the pen back; it waits no longer than half a second for a terminal that does not read.
pub struct OutpaceBackend {
    presenter: Presenter,
    /// A session silences the presenter with it.
    closer: Closer,
    /// The screen that ratatui wants to be shown. Cells that it never drew are left alone.
    screen: Screen,
    blanks: Blanks,
    damage: Damage,
    passthrough: Passthrough,
    /// A command has left the alternate screen since the last flush.
    is_leaving: bool,
    terminal: Surface,
    capabilities: Capabilities,
    /// Between `draw` and `flush`, cursor calls wait for the flush.
    in_frame: bool,
    /// The cursor was neither shown nor hidden since the last draw call.
    drawn_alone: bool,
    changed: bool,
    presented_cursor: Option<Cursor>,
    cursor_known: bool,
    /// The cursor's place has been known before.
    ever_placed: bool,
    colors_off: bool,
    /// Symbols may stick out into blanks, which are then printed whenever they are sent, in their own style.
    overhangs: bool,
    /// The cells that belong to the application.
    claimed: Claimed,
    /// The viewport seems to be an inline one, since its first call was for the cursor.
    guessed_inline: bool,
    /// Whether the alternate screen was taken to be on at first.
    configured_alternate: bool,
    /// Whether the size was asked for since the last draw call.
    size_asked: AskedSize,
    /// Whether it was asked for before every draw call, as it is for a fullscreen viewport.
    size_always_asked: bool,
    /// Cells beyond the edges of the terminal: of a viewport that a smaller terminal has cut.
    beyond: Option<Screen>,
    /// The size has changed since the last flush: ratatui clears, and draws everything again.
    resized: bool,
    /// Some cell held escape sequences, perhaps a picture: all cells that ratatui sends are drawn, changed or not.
    opaque_seen: bool,
    /// ratatui has forgotten the frame before the present one.
    forgotten: bool,
    frames_drawn: u64,
    time_in_draw: Duration,
    longest_draw: Duration,
    report: Option<Report>,
}

/// The size that was asked for last, since the last draw call: a frame of a fullscreen viewport is of that size, and asking again would
/// take longer than drawing a cell. Columns and rows, or 0.
#[derive(Default)]
struct AskedSize(AtomicU32);

impl AskedSize {
    fn put(&self, size: Size) {
        let bits = u32::from(size.width) << 16 | u32::from(size.height);
        self.0.store(bits, Ordering::Relaxed);
    }

    /// Notes a size that is newer, if one was asked for.
    fn renew(&mut self, size: Size) {
        if *self.0.get_mut() != 0 {
            self.put(size);
        }
    }

    fn take(&mut self) -> Option<Size> {
        let bits = std::mem::take(self.0.get_mut());
        (bits != 0).then(|| Size::new((bits >> 16) as u16, bits as u16))
    }
}

/// The terminal, or a writer in its place.
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
        let own_size = own_size(&file)?;
        let capabilities = probe::find_capabilities(own_size.is_some(), &options);
        let output = Output::Terminal(file.clone());
        let size = match own_size {
            Some(size) => size,
            None => size_elsewhere()?.unwrap_or(Size::new(80, 24)),
        };
        let mut backend = Self::assemble(
            output,
            Surface::Terminal(file),
            size,
            &options,
            capabilities,
        )?;
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
        let capabilities = options.capabilities.unwrap_or(Capabilities::basic());
        let output = Output::Writer(Box::new(writer));
        Self::assemble(
            output,
            Surface::Fixed(size),
            size,
            &options.direct(),
            capabilities,
        )
    }

    fn assemble(
        output: Output,
        terminal: Surface,
        size: Size,
        options: &Options,
        mut capabilities: Capabilities,
    ) -> io::Result<Self> {
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
            let screen = Screen::untouched(size.width, size.height);
            (screen, Claimed::EMPTY_RECTANGLE)
        };
        screen.exchange_half_blocks(capabilities.half_blocks);
        // A writer's cursor is shown, in the corner. Another terminal's is not known.
        let cursor_known = matches!(terminal, Surface::Fixed(_));
        screen.cursor.visible = cursor_known;
        Ok(Self {
            presenter,
            closer,
            screen,
            blanks: Blanks::default(),
            damage: Damage::default(),
            passthrough: Passthrough::default(),
            is_leaving: false,
            terminal,
            capabilities,
            in_frame: false,
            drawn_alone: false,
            changed: false,
            presented_cursor: None,
            cursor_known,
            ever_placed: cursor_known,
            colors_off: colors_are_off(),
            overhangs: capabilities.have_overhangs(),
            claimed,
            guessed_inline: false,
            configured_alternate: capabilities.alternate_screen,
            size_asked: AskedSize::default(),
            size_always_asked: true,
            beyond: None,
            resized: false,
            opaque_seen: false,
            forgotten: false,
            frames_drawn: 0,
            time_in_draw: Duration::ZERO,
            longest_draw: Duration::ZERO,
            report: None,
        })
    }

    /// The terminal's capabilities, as far as they are used.
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
    /// when an event says that the size has changed: some terminals (kitty, while its window opens) lose their
    /// contents even if the size is the same in the end.
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
            self.size_asked.renew(size);
        }
    }

    pub(crate) fn closer(&self) -> Closer {
        self.closer.clone()
    }

    /// Writes bytes of a session, before the next frame.
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
        if let Ok(size) = self.current_size() {
            self.size_asked.renew(size);
            self.take_size(size);
        }
    }

    fn take_size(&mut self, size: Size) {
        if (size.width, size.height) != (self.screen.width(), self.screen.height()) {
            self.change_size(size);
            self.damage.everything();
            self.changed = true;
            self.resized = true;
            self.cursor_known &= self.capabilities.alternate_screen || self.is_fixed();
        }
    }

    const fn is_fixed(&self) -> bool {
        matches!(self.terminal, Surface::Fixed(_))
    }

    fn present(&mut self) -> io::Result<()> {
        let is_drawn = self.changed || !self.damage.is_empty();
        if !is_drawn && self.presented_cursor == Some(self.screen.cursor) {
            return self.presenter.wait(Some(Duration::ZERO)).map(|_| ());
        }
        let at = (self.screen.cursor.x, self.screen.cursor.y);
        self.screen.beneath_cursor = self.blanks.style_at(self.screen.width(), at);
        self.screen.is_part =
            !self.size_always_asked && matches!(self.claimed, Claimed::Rectangle { .. });
        self.screen.share();
        let terminal = &self.terminal;
        self.presenter
            .present(&self.screen, &mut self.damage, is_drawn, || {
                terminal.is_raw()
            })?;
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
            self.is_leaving = !alternate;
        }
        self.presenter.pass(bytes, screen_switch)?;
        self.presented_cursor = None;
        Ok(())
    }

    /// Follows a switch to another screen, on which no cell belongs to the application yet.
    fn enter_screen(&mut self, alternate: bool) {
        self.capabilities.alternate_screen = alternate;
        self.blanks = Blanks::default();
        self.screen = Screen::untouched(self.screen.width(), self.screen.height());
        self.screen
            .exchange_half_blocks(self.capabilities.half_blocks);
        self.beyond = None;
        self.claimed = Claimed::EMPTY_RECTANGLE;
        self.damage.everything();
        self.changed = false;
        self.cursor_known = false;
    }

    /// Takes the other screen to be on, and so does the renderer.
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
        // ratatui draws scrolled rows again, with the styles of their blanks.
        self.blanks = Blanks::default();
        self.screen.is_cursor_behind = false;
        self.screen.share();
        self.presenter
            .perform(&mut self.screen, &mut self.damage, scrolling)?;
        self.changed = true;
        self.presented_cursor = Some(self.screen.cursor);
        Ok(())
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
    match own_size(file)? {
        Some(size) => Ok(Some(size)),
        None => size_elsewhere(),
    }
}

/// The size of the terminal that the descriptor is on. `None`: it is on none.
fn own_size(file: &sys::Terminal) -> io::Result<Option<Size>> {
    let size = sys::terminal_size(file).map_err(|error| Failure::new(&error).report())?;
    Ok(size.map(|size| Size::new(size.columns, size.rows)))
}

/// The size of the terminal that the process was started from, if there is one.
fn size_elsewhere() -> io::Result<Option<Size>> {
    let Ok(terminal) = sys::controlling_terminal() else {
        return Ok(None);
    };
    own_size(&terminal)
}

/// Bytes of the application's own, as crossterm's commands are: `execute!(terminal.backend_mut(),
/// EnableMouseCapture)`. They reach the terminal in order with the frames, and the call does not wait for that: while the terminal
/// does not read, up to 16 MiB of them wait in memory. Call [`repaint`](OutpaceBackend::repaint), or `Terminal::clear`, if they
/// change the picture. Turning the alternate screen on or off is noticed. An escape sequence in several writes is passed on when it
/// is whole, or at `flush`.
impl Write for OutpaceBackend {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (whole, screen_switch) = self.passthrough.take(bytes);
        self.pass(&whole, screen_switch)?;
        Ok(bytes.len())
    }

    /// Waits a moment, a millisecond at most, for the terminal to accept everything; not at all where it has stalled. If the
    /// alternate screen was left since the last flush, it waits for up to half a second, since another program may write next.
    /// If that was too short, it is an error of kind [`TimedOut`](io::ErrorKind::TimedOut): what is left is written when the terminal reads
    /// on, unless the process has ended by then.
    fn flush(&mut self) -> io::Result<()> {
        let rest = self.passthrough.rest();
        self.pass(&rest, None)?;
        if !std::mem::take(&mut self.is_leaving) {
            return self
                .presenter
                .wait_unless_stalled(probe::MOMENT)
                .map(|_| ());
        }
        match self.presenter.wait(Some(probe::LEAVE_LIMIT))? {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the terminal does not read, and has not left the alternate screen yet",
            )),
        }
    }
}

impl Drop for OutpaceBackend {
    fn drop(&mut self) {
        // A terminal that is gone needs no farewell, and an error could be reported to no caller. The farewell shows the cursor.
        if self.changed {
            let _ = self.present();
        }
        let rest = self.passthrough.rest();
        let _ = self.pass(&rest, None);
        let is_left = session::will_end(&self.closer);
        self.presenter.close(probe::LEAVE_LIMIT, is_left);
        if let Some(report) = self.report.take() {
            report.write(self.capabilities, self.stats());
        }
    }
}
