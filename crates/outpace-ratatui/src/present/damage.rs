//! The cells that the terminal may not show any more.

use crate::model::Screen;
use crate::render::{Renderer, Touched};

/// Cells that the terminal may not show any more, in reading order: to be drawn again.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    all: bool,
    ranges: Vec<(usize, usize)>,
    /// Those of the newest of several frames.
    newest: Vec<(usize, usize)>,
    /// Cells that are taken to be blank if they are unknown.
    blank: Vec<(usize, usize)>,
    /// The cells in which the wanted screen may have changed.
    touched: Touched,
}

impl Damage {
    const MAX_RANGES: usize = 4096;
    /// So many cells take a millisecond or two to draw.
    const LARGE: usize = 8192;

    /// Notes that the wanted screen may have changed in a row, from one column up to another.
    pub(crate) fn touch(&mut self, y: u16, columns: (u16, u16)) {
        self.touched.cells(y, columns);
    }

    /// Notes that it may have changed anywhere.
    pub(crate) fn touch_all(&mut self) {
        self.touched.all();
    }

    pub(crate) fn everything(&mut self) {
        self.all = true;
        self.touched.all();
        self.ranges.clear();
        self.newest.clear();
        self.blank.clear();
    }

    /// Takes cells to be blank if they are unknown.
    pub(crate) fn assume_blank(&mut self, from: usize, to: usize) {
        if !self.all {
            self.blank.push((from, to));
        }
    }

    pub(crate) fn cells(&mut self, from: usize, to: usize) {
        if self.all {
            return;
        }
        if let Some(last) = self.ranges.last_mut()
            && last.1 == from
        {
            last.1 = to;
        } else if self.ranges.len() == Self::MAX_RANGES {
            self.everything();
        } else {
            self.ranges.push((from, to));
        }
    }

    /// Whether drawing the screen may take so long that the application should not wait for it.
    pub(super) fn is_large(&self, screen: &Screen) -> bool {
        self.touched.count(screen) > Self::LARGE
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.ranges.is_empty() && self.blank.is_empty()
    }

    /// Takes over another one's damage, and leaves that empty.
    pub(super) fn absorb(&mut self, newer: &mut Self) {
        self.touched.absorb(&mut newer.touched);
        if newer.all {
            self.everything();
        }
        self.newest.clone_from(&newer.ranges);
        newer
            .ranges
            .drain(..)
            .for_each(|(from, to)| self.cells(from, to));
        newer
            .blank
            .drain(..)
            .for_each(|(from, to)| self.assume_blank(from, to));
        newer.all = false;
    }

    /// Has the renderer follow the size of the next screen, and forget the cells of the damage, which is empty afterwards.
    pub(super) fn apply(&mut self, renderer: &mut Renderer, screen: &Screen) {
        renderer.adopt_size(screen);
        renderer.take_touched(&mut self.touched);
        if self.all {
            renderer.forget();
        }
        for (from, to) in self.blank.drain(..) {
            renderer.assume_blank(from, to);
        }
        for (from, to) in self.ranges.drain(..) {
            renderer.forget_cells(from, to);
        }
        renderer.draw_last(&mut self.newest);
        self.all = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Capabilities, Style};

    /// Of two frames of which the terminal gets the second alone, the first had text where an image is now.
    #[test]
    fn an_image_comes_behind_the_text_of_a_frame_that_was_replaced() {
        let mut renderer = Renderer::new(Capabilities::full());
        let mut screen = Screen::new(10, 3);
        renderer.render(&screen);
        let mut damage = Damage::default();
        screen.put(0, 1, "older", Style::default());
        damage.touch(1, (0, 5));
        let mut newer = Damage::default();
        screen.put_symbol(0, 0, "\x1b_image", 1, Style::default());
        screen.put(0, 2, "on it", Style::default());
        newer.cells(0, 1);
        newer.cells(20, 25);
        newer.touch_all();
        damage.absorb(&mut newer);
        damage.apply(&mut renderer, &screen);
        let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
        let place = |text| bytes.find(text).expect(text);
        assert!(place("older") < place("\x1b_image"), "{bytes:?}");
        assert!(place("\x1b_image") < place("on it"), "{bytes:?}");
        assert!(renderer.render(&screen).is_empty());
    }
}
