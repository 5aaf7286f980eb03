//! ratatui's calls.

use std::io;
use std::time::Instant;

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer;
use ratatui_core::layout::{Position, Size};

use super::{Claimed, OutpaceBackend, Surface};
use crate::model::{Cursor, Screen};
use crate::present::Scrolling;
use crate::sys;
use crate::terminal::cells::{apart, colors_are_off, narrow};
use crate::terminal::{panic, probe, session};

/// The first column, and the one behind the last, of none.
const NO_COLUMNS: (u16, u16) = (u16::MAX, 0);

impl Backend for OutpaceBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a buffer::Cell)>,
    {
        let asked = self.size_asked.take();
        self.size_always_asked &= asked.is_some();
        match asked.filter(|_| self.size_always_asked) {
            Some(size) => self.take_size(size),
            None => self.follow_size(),
        }
        self.in_frame = true;
        self.drawn_alone = true;
        self.colors_off = colors_are_off();
        let claims = matches!(self.claimed, Claimed::Rectangle { .. });
        let mut last = None;
        // The edges of all that is drawn.
        let (mut left, mut right, mut top, mut bottom) = (u16::MAX, 0, u16::MAX, 0);
        // ratatui sends blanks for the later columns of some wide symbols. The renderer clears those columns itself, and a blank would
        // break the symbol in two.
        let mut covered = (0, 0..0);
        // A row, and the columns of it that were drawn.
        let mut drawn = (0, NO_COLUMNS);
        for (x, y, cell) in content {
            if x < covered.1.end && covered.0 == y && covered.1.start <= x {
                continue;
            }
            if x >= self.screen.width() || y >= self.screen.height() {
                self.put_beyond(x, y, cell);
                continue;
            }
            let symbol = cell.symbol();
            if y != drawn.0 {
                self.touch(drawn);
                drawn = (y, NO_COLUMNS);
            }
            let width = self.put(x, y, cell, symbol);
            let end = x.saturating_add(width.max(1));
            drawn.1 = (drawn.1.0.min(x), drawn.1.1.max(end));
            covered = (y, x + 1..end);
            last = Some((x, y));
            if claims {
                let mut reach = width.max(1);
                if self.size_always_asked && narrow(symbol).is_none() {
                    // Terminals that draw its characters one by one overwrite the cells that follow, which are then drawn again.
                    reach = reach.max(apart(symbol));
                }
                (left, right) = (left.min(x), right.max(x.saturating_add(reach)));
                (top, bottom) = (top.min(y), bottom.max(y + 1));
            }
        }
        self.touch(drawn);
        let joins = self.capabilities.may_have_overhangs();
        self.blanks
            .join_bold(&mut self.screen, &mut self.damage, joins);
        if std::mem::take(&mut self.forgotten) {
            self.draw_blanks_again();
        }
        if left < right {
            self.claim(&(left..right), &(top..bottom));
        }
        if let Some((x, y)) = last {
            // As if the cells had been printed. Inline viewports go by the cursor's row.
            self.changed = true;
            self.screen.is_cursor_behind = covered.1.end >= self.screen.width();
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
        self.drawn_alone = false;
        self.screen.cursor.visible = false;
        self.cursor_changed()
    }

    /// Shows it where it is: an application may have left the alternate screen by itself, and the shell's cursor
    /// is then where the shell wants it.
    fn show_cursor(&mut self) -> io::Result<()> {
        self.drawn_alone = false;
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
        // A terminal that has stalled would not answer: the cursor is taken to be where the last frame left it. On an alternate screen
        // that has been drawn on, the cursor's place does not matter.
        let matters = self.frames_drawn == 0 || !self.capabilities.alternate_screen;
        if !self.cursor_known
            && matters
            && let Surface::Terminal(file) = &self.terminal
            && (!self.ever_placed || self.presenter.wait_unless_stalled(probe::MOMENT)?)
        {
            // The contents of the screen are unknown. ratatui asks for the cursor, and draws everything again from there.
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
        if std::mem::take(&mut self.screen.is_cursor_behind) {
            self.presented_cursor = None;
        }
        self.cursor_known = true;
        // A frame shows or hides the cursor before it sets it. `Terminal::clear` of a fixed viewport draws blanks and then sets the
        // cursor alone: it takes effect at once.
        if std::mem::take(&mut self.drawn_alone) && self.in_frame {
            self.in_frame = false;
            return self.present();
        }
        self.cursor_changed()
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    /// Takes effect with the next flush, or at once outside a frame.
    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.follow_size();
        let (end, columns) = (self.screen.len(), usize::from(self.screen.width()));
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
        let size = self.current_size()?;
        self.size_asked.put(size);
        Ok(size)
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
                panic::wait_for_reports();
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
