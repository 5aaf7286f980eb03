//! A transcript that grows and a live region below it, for programs that talk.

use std::ffi::OsString;
#[cfg(all(unix, not(outpace_portable)))]
use std::io::IsTerminal;
use std::io::{self, Write};
#[cfg(all(unix, not(outpace_portable)))]
use std::os::fd::AsFd;
use std::time::Duration;

use ratatui_core::buffer::{Buffer, CellWidth};
use ratatui_core::layout::{Position, Rect, Size};
use ratatui_core::text::{Span, Text};
use ratatui_core::widgets::Widget;

use super::backend::Surface;
use super::cells::{colors_are_off, style_of};
use super::lines::Lines;
use super::options::Target;
use super::probe::{self, LEAVE_LIMIT};
use crate::model::{Capabilities, Cursor, Screen, Stats};
use crate::present::{Feed, Output, fit};
use crate::render::{Addition, Glyphs, Reflow, TranscriptRenderer};
use crate::sys;

/// A transcript in the terminal's own scrollback, and a live region of a few rows below it: for chats, agents, build tools
/// and other programs that talk while something moves.
///
/// Lines that are [appended](Self::append) are printed unwrapped and belong to the terminal from then on, which keeps them
/// in its scrollback, reflows them when it is resized, and lets them be selected, searched and copied. A stream of tokens
/// may [extend](Self::extend) the last of them. The [live region](Self::live) is drawn below. Each call names its height, and only
/// changed cells are written.
///
/// A transcript never erases the scrollback, never uses the alternate screen, and never waits for the terminal: a thread of its own
/// writes. A slow terminal shows fewer live regions, and every line: those that wait for it take memory, some 250 bytes and their text each.
///
/// A token costs its own bytes and 7 to 15 more (2 in tmux), and its line is printed once more when it is finished (not in tmux). The live
/// region then goes down a row: it is moved in alacritty, wezterm and kitty where `TERM` names them, and in xterm where `COLORTERM` is not set; in
/// other terminals, below wide symbols, and while the size changes it is drawn again. kitty takes 35 bytes more for each line. Additions that
/// follow one another within 4 ms (16 in tmux and xterm.js) are written together.
///
/// ```
/// use outpace_ratatui::Transcript;
/// use ratatui::layout::Size;
/// use ratatui::widgets::Paragraph;
///
/// # let terminal = std::io::sink();
/// let mut transcript = Transcript::writer(terminal, Size::new(80, 24))?;
/// transcript.append("> how are you?")?;
/// transcript.append("")?;
/// for token in ["I ", "am ", "fine."] {
///     transcript.extend(token)?;
///     transcript.live(1, |live| live.render_widget(Paragraph::new("thinking…"), live.area()))?;
/// }
/// transcript.finish()?;
/// # std::io::Result::Ok(())
/// ```
///
/// # How it works, and its limits
///
/// Raw mode is the program's business. Where the terminal echoes keys, a key is printed into the live region or into the line that is streamed,
/// where it stays in tmux, and each Enter leaves a row of them in the transcript and moves the live region, of which only what changes is drawn
/// again: a program that does not read keys turns `ECHO` off for the time.
///
/// The terminal's cursor stays hidden below the last finished line, since terminals carry it along when they reflow; a cursor in
/// the live region is a cell in reverse ([`Live::set_cursor_position`]). Other output would move it, is cut at the right edge while a
/// line is streamed, and belongs into [`suspend`](Self::suspend).
///
/// It begins in a row of its own, also after a suspension. If other output has ended within a row (`print!("Connecting… ")`), blanks fill the
/// rest of that: the terminal is not asked for its cursor, since keys would be read with the answer. A terminal that reflows takes that row and
/// the next line for one from then on. What stands below the cursor is erased, as where a child has ended with its cursor above its last row.
///
/// A terminal may change its size at any time, also while lines are on their way to it. So the terminal itself wraps finished lines.
/// A line that is being streamed is drawn with the live region until it is finished (by another line, or after a quarter of a second
/// without an extension), and then printed. These effects of the terminal itself are left:
///
/// - When it becomes narrower, the rows below the finished lines may need more space than it has. It moves the first of them into its
///   scrollback, where they cannot be erased. Of a line that is being streamed, the last rows are drawn, as many as take half of the screen
///   together with the live region; all of it is printed when it is finished. So this needs a live region of half
///   of the screen or more, or a terminal that becomes less than half as wide or high at once. In tmux each frame then leaves rows of the live
///   region, until tmux tells of the new size.
/// - Behind the end of a longer line that was finished before, text is printed at a column: a change of width that is
///   on its way just then misplaces it. In tmux, which tells of a new width a while later, a line that is being streamed is printed as it
///   grows, however wide the terminal is; there the prompt after `kill -9` comes at its end.
/// - In tmux, rows that a narrower width adds below the cursor push as many out at the top, and the cursor with them if there are fewer above
///   it: in a window that is almost empty, a line that is streamed just then gets a gap. A dozen lines above are enough for a live region of
///   three.
/// - In tmux 3.4 and later a narrow symbol that a selector makes wide (❤ and U+FE0F) cannot be printed in the last column: tmux puts its second half
///   beyond the edge, and the next symbol over it. So it is with text that is just printed.
/// - In tmux, a wide symbol that wraps into a row of the live region, in a window that has become narrower for the first time in a while,
///   leaves a cell of that row, or a blank, before itself: tmux takes a cell for a part of the line if it was written since its row was erased
///   as a whole. (Some widths break a line before a wide symbol that wraps there; so they do with lines that are just printed.)
/// - kitty keeps the rows from a shell's prompt on, and the cursor with them. So the live region is marked as a prompt there (`OSC 133;A;k=s`), and
///   `redraw=0` ends that when it is taken away. When the window changes its size, kitty before 0.34 takes the live region away until it is drawn again.
///   After `kill -9` the prompt of a shell without kitty's integration counts as a part of the region, until `reset`.
/// - xterm.js does not carry its cursor along if there is text below it, so it is parked below the live region, and the
///   way back is known for one width only. After a change of size, frames and lines wait there until the size has been the same for a
///   quarter of a second. A change of width that overtakes a frame misplaces that frame, which may lose a line, break or double it:
///   the first change of several while lines are streamed.
///   When it becomes narrower, the rows above its cursor go up, also where blank rows are below it. So after several such changes without a
///   finished line between them the first rows of the live region, and of a line that is being streamed, get into its scrollback.
/// - A change of width between two halves of a frame misplaces the second half. Linux hands over up to 2 kB of a frame in one
///   piece, so this needs a longer frame, or a terminal that is more than 4 kB behind, as much as it reads at a time.
/// - xterm does not reflow: when it becomes narrower, it cuts the rows of its screen.
/// - wezterm keeps an erased row as wide as it was: after `x`, CR, `CSI K` at ten columns, `abcdefg` at five is `abcde`, five blanks and `fg` at
///   ten again. A line that was wrapped there takes more rows than its text from the next change of width on; where it is extended then,
///   its first rows are there twice.
/// - Symbols on whose width terminals disagree may be off by a row where they are wrapped. kitty 0.26 keeps the gap before a wide symbol that
///   it wrapped as a space, and puts blanks into a long line that several changes of width have wrapped again: `abcdefghijklmno` and `abcdef`
///   at 7x3, 17x2, then 16x5 are `abcdefghijklmn o`.
///
/// On drop, in a panic too, the live region goes, the transcript stays, and the cursor is below it. So it is when a signal ends or stops
/// the process (Ctrl-C, Ctrl-Z where the terminal is not raw, `kill`), unless the application handles that signal itself, and at
/// `process::exit`, which waits for a fifth of a second at most: call [`finish`](Self::finish) before, if the terminal may be slow. After Ctrl-Z and
/// `fg` the live region is there again. A key that sends a signal has the kernel discard what the terminal has not read yet, unless the terminal's
/// mode `NOFLSH` is set: then lines may be missing. `kill -9`, an abort and `exec` leave the lines that were finished, or not extended for a
/// quarter of a second: the shell's prompt comes behind them, over the live region. They leave the cursor hidden, and in the middle of a streamed
/// line wrapping off, until `reset`. In a child of a fork, waiting for the terminal is an error.
///
/// # Text
///
/// A tab becomes blanks up to the next column that is a multiple of eight, counted from the line's beginning. Characters that take no column by themselves
/// (U+00AD, U+200B, controls of direction) are left out. A symbol of more than 32 characters, as of endless joined ones, is several: the joiner
/// between those is left out, as are marks behind 32 characters. Into a pipe or a file all these are written as they are, tabs too.
///
/// Escape sequences in a text are left out, also where they come in several pieces. For output of other programs with colours, `ansi-to-tui`
/// turns them into styles. Of a hyperlink (`OSC 8`) its text is left. An address that is printed as text is a link in most terminals, also
/// where it is wrapped.
pub struct Transcript {
    feed: Feed,
    surface: Surface,
    live: Screen,
    /// The size that the live region was fitted into.
    shown_at: Size,
    lines: Lines,
    /// The bytes of an unfinished line that were written by [`Write`].
    written: Vec<u8>,
    /// The last line came by [`Write`], and is not continued.
    was_written: bool,
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// The live region while it is drawn; see [`Transcript::live`].
#[derive(Debug)]
pub struct Live {
    buffer: Buffer,
    cursor: Option<Position>,
}

impl Live {
    /// All of the region.
    pub const fn area(&self) -> Rect {
        self.buffer.area
    }

    /// The cells of the region.
    pub const fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    /// Draws a widget (one with a state of its own by [`buffer_mut`](Self::buffer_mut)), into as much of the area as is there: in a terminal of a few rows the region is lower than was asked for.
    pub fn render_widget(&mut self, widget: impl Widget, area: Rect) {
        let area = area.intersection(self.area());
        if !area.is_empty() {
            widget.render(area, &mut self.buffer);
        }
    }

    /// Shows a cursor, as a cell in reverse.
    pub fn set_cursor_position(&mut self, position: impl Into<Position>) {
        self.cursor = Some(position.into());
    }
}

impl Transcript {
    /// A transcript on standard output. Into a pipe or a file, and where `TERM` is `dumb`, it writes the lines as text, without colours and live region.
    ///
    /// # Errors
    /// If the descriptor is closed, no thread can be started, or `OUTPACE_DRAW_OFF` names an optimisation that does not exist.
    pub fn stdout() -> io::Result<Self> {
        Self::on(Target::Stdout)
    }

    /// A transcript on standard output, standard error or the terminal the program was started from.
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    pub fn on(target: Target) -> io::Result<Self> {
        Self::on_terminal(target.open()?)
    }

    /// A transcript on any descriptor, which is duplicated.
    ///
    /// # Errors
    /// As for [`stdout`](Self::stdout).
    #[cfg(all(unix, not(outpace_portable)))]
    pub fn open(terminal: impl AsFd) -> io::Result<Self> {
        Self::on_terminal(sys::open(terminal)?)
    }

    fn on_terminal(file: sys::Terminal) -> io::Result<Self> {
        // Terminals that do not know synchronized output ignore it.
        let capabilities = probe::without_disabled(Capabilities::full())?;
        // By that name a terminal moves no cursor: Emacs' shell, for example.
        let is_dumb = sys::variable("TERM").is_some_and(|name| name == "dumb");
        let shows = file.is_terminal() && !is_dumb;
        let renderer = match shows {
            true => {
                let (reflow, is_sure) = kind_by_name(sys::variable);
                let mut renderer = TranscriptRenderer::new(reflow, capabilities);
                renderer.set_sure(is_sure);
                renderer.set_newer_tmux(is_newer_tmux(sys::variable));
                renderer
            }
            false => TranscriptRenderer::plain(),
        };
        let feed = Feed::start(renderer, Output::Terminal(file.clone()))?;
        feed.leave_at_endings()?;
        let lines = Lines::new(!shows);
        Ok(Self::with(feed, Surface::Terminal(file), lines))
    }

    /// A transcript that is written into anything, as if that were a terminal of this size: for tests.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn writer(writer: impl Write + Send + 'static, size: Size) -> io::Result<Self> {
        let renderer = TranscriptRenderer::new(Reflow::default(), Capabilities::full());
        let feed = Feed::start(renderer, Output::Writer(Box::new(writer)))?;
        let lines = Lines::new(false);
        Ok(Self::with(feed, Surface::Fixed(size), lines))
    }

    fn with(feed: Feed, surface: Surface, lines: Lines) -> Self {
        Self {
            feed,
            surface,
            live: Screen::new(0, 0),
            shown_at: Size::ZERO,
            lines,
            written: Vec::new(),
            was_written: false,
        }
    }

    /// Names the terminal's treatment of lines when its width changes, where it is not known by the terminal's name. Call it first. Rows of the
    /// screen are moved then where that treatment permits it.
    ///
    /// ```
    /// use outpace_ratatui::{Reflow, Transcript};
    /// use ratatui::layout::Size;
    ///
    /// let mut transcript = Transcript::writer(std::io::sink(), Size::new(80, 24))?;
    /// transcript.set_reflow(Reflow::AboveCursor);
    /// transcript.append("hello")?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn set_reflow(&mut self, reflow: Reflow) {
        self.feed.set_reflow(reflow);
    }

    /// Changes the size of one made by [`writer`](Self::writer); others ask their terminal.
    pub fn set_size(&mut self, size: Size) {
        if let Surface::Fixed(fixed) = &mut self.surface {
            *fixed = size;
        }
    }

    /// The size of the terminal; 80 columns and 24 rows if there is none.
    pub fn size(&self) -> Size {
        match &self.surface {
            Surface::Fixed(size) => *size,
            Surface::Terminal(file) => match sys::terminal_size(file) {
                Ok(Some(size)) => Size::new(size.columns, size.rows),
                _ => Size::new(80, 24),
            },
        }
    }

    /// Adds lines to the transcript, for ever. Blanks at their ends and their alignment are left out. Does not wait.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn append<'a>(&mut self, text: impl Into<Text<'a>>) -> io::Result<()> {
        let text = text.into();
        self.follow_size()?;
        self.was_written = false;
        let line = |line| Addition::Line(self.lines.line(line, text.style));
        let mut lines: Vec<Addition> = text.lines.iter().map(line).collect();
        if lines.is_empty() {
            self.lines.begin();
            lines.push(Addition::Line(Glyphs::default()));
        }
        self.feed.add(lines)
    }

    /// Continues the last line of the transcript, or begins the first; a line feed in the text begins another one, as `append("")` does. Does not wait. A text may begin within a
    /// symbol: with a combining mark, or behind a joiner.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn extend<'a>(&mut self, text: impl Into<Span<'a>>) -> io::Result<()> {
        let span = text.into();
        self.follow_size()?;
        let mut additions = Vec::new();
        let mut begins = std::mem::take(&mut self.was_written);
        for part in span.content.split('\n') {
            if begins {
                self.lines.begin();
            }
            let glyphs = self.lines.more(part, span.style);
            additions.push(match begins {
                false => Addition::Extend(glyphs),
                true => Addition::Open(glyphs),
            });
            begins = true;
        }
        self.feed.add(additions)
    }

    /// Draws the live region, of so many rows; fewer if the terminal does not have them (none in one of a single row). Drawing has to keep
    /// to the region's [area](Live::area). 0 rows take the region away; until then it is there, below
    /// the lines that are added. Does not wait: while the terminal is busy, a newer region replaces
    /// this one. Into a pipe or a file it runs `draw`, and that is all.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn live(&mut self, rows: u16, draw: impl FnOnce(&mut Live)) -> io::Result<()> {
        let size = self.size();
        let rows = rows.min(size.height.saturating_sub(1));
        let mut live = Live {
            buffer: Buffer::empty(Rect::new(0, 0, size.width, rows)),
            cursor: None,
        };
        draw(&mut live);
        if self.lines.is_plain() {
            return self.feed.check();
        }
        let colors_off = colors_are_off();
        let mut screen = Screen::new(size.width, rows);
        for y in 0..rows {
            let mut x = 0;
            while x < size.width {
                let cell = &live.buffer[(x, y)];
                let columns = cell.cell_width().max(1);
                screen.put_symbol(x, y, cell.symbol(), columns, style_of(cell, colors_off));
                x += columns;
            }
        }
        if let Some(Position { x, y }) = live.cursor {
            screen.cursor = Cursor {
                x,
                y,
                visible: true,
            };
            TranscriptRenderer::with_cursor(&mut screen);
        }
        self.live = screen.clone();
        self.shown_at = size;
        self.feed.show(screen, size.height)
    }

    /// Takes the live region away while something else writes to the terminal or reads from it: a child process, an
    /// editor, a stop by Ctrl-Z. Then it is shown again, below the other's output, where an [extension](Self::extend) of the last line
    /// begins another one. Waits for the terminal to take what is there before, and reads no key: a program asks for a line in here, by a prompt
    /// and `stdin().read_line(…)`.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn suspend<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        self.follow_size()?;
        self.feed.take_away()?;
        self.feed.wait(None)?;
        self.lines.begin();
        let is_shared = matches!(self.surface, Surface::Terminal(_));
        let suspended = is_shared.then(|| self.feed.suspend());
        let result = work();
        drop(suspended);
        self.show_again(self.size())?;
        Ok(result)
    }

    /// Waits until the terminal has accepted everything, or the limit is over. Returns whether it has.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn flush_and_wait(&mut self, limit: Option<Duration>) -> io::Result<bool> {
        self.feed.wait(limit)
    }

    /// Takes the live region away for good and waits until every line is written, however slow the terminal is. Dropping waits no
    /// longer than half a second. Other output may follow, and further lines: they come below it.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub fn finish(&mut self) -> io::Result<()> {
        self.end_written_line()?;
        self.live(0, |_| ())?;
        self.suspend(|| ())
    }

    /// Appends what was written by [`Write`] behind the last line feed.
    fn end_written_line(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.written) {
            line if line.is_empty() => Ok(()),
            line => self.append_written(&line),
        }
    }

    fn append_written(&mut self, line: &[u8]) -> io::Result<()> {
        self.append(String::from_utf8_lossy(line).as_ref())?;
        self.was_written = true;
        Ok(())
    }

    /// Counters of frames, bytes and writes.
    pub fn stats(&self) -> Stats {
        self.feed.stats()
    }

    /// Fits the live region into a new size, so that lines are wrapped as the terminal wraps them. Its widgets draw again
    /// in the next call of `live`.
    fn follow_size(&mut self) -> io::Result<()> {
        let size = self.size();
        match self.shown_at == size {
            true => Ok(()),
            false => self.show_again(size),
        }
    }

    fn show_again(&mut self, size: Size) -> io::Result<()> {
        self.shown_at = size;
        if self.lines.is_plain() {
            return Ok(());
        }
        fit(&mut self.live, (size.width, size.height));
        self.feed.show(self.live.clone(), size.height)
    }
}

/// Lines of others, as those of a logger: each is [appended](Transcript::append) once its line feed is there, without its escape sequences. It ends a
/// line that is being streamed, which goes on in a row of its own. Nothing waits for the terminal, `flush` neither.
///
/// Threads share a transcript by `Arc<Mutex<Transcript>>`, and loggers by a type of the program's own that locks it:
///
/// ```
/// use std::io::{self, Write};
/// use std::sync::{Arc, Mutex};
///
/// use outpace_ratatui::Transcript;
/// use ratatui::layout::Size;
///
/// #[derive(Clone)]
/// struct Log(Arc<Mutex<Transcript>>);
///
/// impl Write for Log {
///     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
///         self.0.lock().unwrap().write(bytes)
///     }
///
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let transcript = Transcript::writer(io::sink(), Size::new(80, 24))?;
/// let transcript = Arc::new(Mutex::new(transcript));
/// let mut log = Log(transcript.clone());
/// // tracing_subscriber::fmt().with_writer(move || log.clone()).init();
/// // env_logger::builder().target(env_logger::Target::Pipe(Box::new(log))).init();
/// std::thread::spawn(move || writeln!(log, "connected")).join().unwrap()?;
/// transcript.lock().unwrap().extend("hello")?;
/// transcript.lock().unwrap().finish()?;
/// # io::Result::Ok(())
/// ```
impl Write for Transcript {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut lines = bytes.split(|&byte| byte == b'\n');
        let rest = lines.next_back().unwrap_or_default();
        for line in lines {
            self.written.extend_from_slice(line);
            let line = std::mem::take(&mut self.written);
            self.append_written(&line)?;
        }
        self.written.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Transcript {
    fn drop(&mut self) {
        let taken_away = |this: &mut Self| {
            this.end_written_line()?;
            this.follow_size()?;
            this.feed.take_away()
        };
        if taken_away(self).is_ok() {
            // A terminal that is gone cannot be told.
            let _ = self.feed.wait(Some(LEAVE_LIMIT));
        }
    }
}

/// The terminal's treatment of lines, by what it sets, and whether its rows may be moved: only where that names it beyond doubt. Programs pass
/// their variables on to terminals that they start, of which foot and others lose lines of the scrollback when rows are moved.
fn kind_by_name(variable: impl Fn(&str) -> Option<OsString>) -> (Reflow, bool) {
    let is = |name: &str, value: &str| variable(name).is_some_and(|text| text == value);
    let is_set = |name: &str| variable(name).is_some();
    // `TERM` before the others: each terminal sets its own.
    let by_term = [
        ("foot", Reflow::AllInPlace),
        ("foot-extra", Reflow::AllInPlace),
        ("alacritty", Reflow::All),
        ("wezterm", Reflow::All),
        ("xterm-kitty", Reflow::AbovePrompt),
        ("linux", Reflow::Never),
        ("tmux", Reflow::Ahead),
        ("tmux-256color", Reflow::Ahead),
    ];
    // Of terminals with this `TERM` xterm alone does not set `COLORTERM`.
    let is_xterm = ["xterm", "xterm-256color"]
        .iter()
        .any(|term| is("TERM", term));
    let is_xterm = is_xterm && is_set("XTERM_VERSION") && !is_set("COLORTERM");
    // Within tmux and others it is theirs that counts.
    match by_term.into_iter().find(|(name, _)| is("TERM", name)) {
        _ if is_set("TMUX") => (Reflow::Ahead, false),
        _ if is_set("STY") => (Reflow::AllInPlace, false),
        Some((_, reflow)) => (reflow, true),
        None if is_xterm => (Reflow::Never, true),
        None if is_set("XTERM_VERSION") => (Reflow::AllInPlace, false),
        None if is_set("KITTY_WINDOW_ID") => (Reflow::AbovePrompt, false),
        None if is("TERM_PROGRAM", "vscode") => (Reflow::AboveCursor, false),
        None => (Reflow::AllInPlace, false),
    }
}

/// Whether this is tmux 3.4 or later. It sets these variables since 3.2.
fn is_newer_tmux(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_tmux = variable("TERM_PROGRAM").is_some_and(|name| name == "tmux");
    let version = variable("TERM_PROGRAM_VERSION").filter(|_| is_tmux);
    version.is_some_and(|version| {
        let version = version.to_string_lossy();
        !["3.2", "3.3"].iter().any(|old| version.starts_with(old))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(unix, not(outpace_portable)))]
    #[test]
    fn a_live_region_is_not_laid_out_for_a_pipe() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut transcript = Transcript::open(&writer).unwrap();
        drop(writer);
        let mut drawn = 0;
        for line in ["one", "two"] {
            transcript.append(line).unwrap();
            let draw = |live: &mut Live| {
                live.render_widget("region", live.area());
                drawn += live.area().height;
            };
            transcript.live(3, draw).unwrap();
        }
        assert_eq!((drawn, transcript.stats().frames_drawn), (6, 0));
        drop(transcript);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn tmux_is_known_by_its_version() {
        for (program, version, is_newer) in [
            ("tmux", "3.2a", false),
            ("tmux", "3.3a", false),
            ("tmux", "3.4", true),
            ("tmux", "next-3.8", true),
            ("vscode", "3.4", false),
        ] {
            let found = is_newer_tmux(|name| match name {
                "TERM_PROGRAM" => Some(program.into()),
                _ => Some(version.into()),
            });
            assert_eq!(found, is_newer, "{program} {version}");
        }
        assert!(!is_newer_tmux(|_| None));
    }

    #[test]
    fn rows_are_moved_only_where_the_terminal_is_known_beyond_doubt() {
        let kind = |set: &[(&str, &str)]| {
            kind_by_name(|name| {
                let value = set.iter().find(|(known, _)| *known == name);
                value.map(|(_, value)| value.into())
            })
        };
        let any = ("TERM", "xterm-256color");
        let (xterm, kitty) = (("XTERM_VERSION", "XTerm(379)"), ("KITTY_WINDOW_ID", "1"));
        let wezterm = ("TERM_PROGRAM", "WezTerm");
        let color = ("COLORTERM", "truecolor");
        for inherited in [
            &[][..],
            &[xterm],
            &[kitty],
            &[wezterm],
            &[xterm, kitty, wezterm],
        ] {
            let with = |term| kind(&[&[("TERM", term), color], inherited].concat());
            assert_eq!(with("foot"), (Reflow::AllInPlace, true));
            assert_eq!(with("alacritty"), (Reflow::All, true));
            assert_eq!(with("xterm-kitty"), (Reflow::AbovePrompt, true));
            assert_eq!(with("tmux-256color"), (Reflow::Ahead, true));
            assert!(!with("xterm-256color").1 && !with("screen-256color").1);
        }
        assert_eq!(kind(&[any, xterm]), (Reflow::Never, true));
        assert_eq!(kind(&[any, xterm, color]), (Reflow::AllInPlace, false));
        assert_eq!(kind(&[any, kitty, color]), (Reflow::AbovePrompt, false));
        assert_eq!(kind(&[any, wezterm, color]), (Reflow::AllInPlace, false));
        assert_eq!(kind(&[any, ("TMUX", "x"), xterm]), (Reflow::Ahead, false));
        let vscode = ("TERM_PROGRAM", "vscode");
        assert_eq!(kind(&[any, vscode, color]), (Reflow::AboveCursor, false));
    }
}
