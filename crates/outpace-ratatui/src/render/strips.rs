//! Draws the columns of scrollbars, and the edges of boxes, from top to bottom.
//!
//! Drawn with its row, a cell that stands alone costs the motion to it, and mostly a change of style and a change back. Drawn below
//! the same cell of the row above, it costs a step down and to the left, of two bytes.

use super::Renderer;
use super::plan::{Change, price_of_change};
use crate::model::{Cell, Screen, Style, first_difference, is_narrow};

/// The bytes of a step to the cell below.
const STEP_PRICE: u32 = 2;
/// The bytes of coming to the first cell of a strip.
const START_PRICE: u32 = 8;
/// The same in the last column, behind which the cursor's place is uncertain.
const STEP_PRICE_AT_EDGE: u32 = 8;
/// A row of more runs, or with a picture, is drawn by itself, and not searched to its end.
const MOST_RUNS: usize = 24;
/// Fewer rows are not worth a search.
const FEWEST: usize = 3;

/// A part of a column whose cells have one style and have to be drawn.
#[derive(Clone, Copy, Debug)]
struct Strip {
    x: u16,
    top: u16,
    bottom: u16,
    style: Style,
    /// The bytes that it saves, without those of beginning it.
    gain: u32,
}

/// A cell that stands alone, and the bytes that it takes more with its row than in a strip.
#[derive(Clone, Copy, Debug)]
struct Single {
    x: u16,
    style: Style,
    gain: u32,
}

/// Finds strips; keeps the memory for it.
#[derive(Debug, Default)]
pub(super) struct Strips {
    runs: Vec<Run>,
    singles: Vec<Single>,
    /// Strips that end with the row above the present one.
    open: Vec<Strip>,
    /// The strips that are drawn in this frame.
    found: Vec<Strip>,
}

impl Strips {
    /// Finds the strips that are worth it. `change`: the part of a row that differs, if one does.
    fn find(&mut self, shown: &Screen, wanted: &Screen, change: impl Fn(u16) -> Option<Change>) {
        self.open.clear();
        for y in 0..wanted.height() {
            self.singles.clear();
            if let Some(change) = change(y) {
                self.find_singles(shown.row(y), wanted.row(y), change);
            }
            self.extend(y);
        }
        self.singles.clear();
        self.extend(wanted.height());
    }

    /// The columns of the strips in a row.
    fn columns(&self, y: u16) -> impl Iterator<Item = u16> {
        let strips = self.found.iter();
        let crosses = move |strip: &&Strip| (strip.top..strip.bottom).contains(&y);
        strips.filter(crosses).map(|strip| strip.x)
    }

    /// Extends the strips by the singles of row `y`. Strips without one end.
    fn extend(&mut self, y: u16) {
        let (singles, found) = (&mut self.singles, &mut self.found);
        self.open.retain_mut(|strip| {
            let goes_on = |single: &Single| (single.x, single.style) == (strip.x, strip.style);
            match singles.iter().position(goes_on) {
                Some(at) => {
                    strip.gain += singles.swap_remove(at).gain;
                    strip.bottom = y + 1;
                    true
                }
                None => {
                    if strip.gain > START_PRICE + price_of_change(None, strip.style, false) {
                        found.push(*strip);
                    }
                    false
                }
            }
        });
        self.open.extend(singles.iter().map(|single| Strip {
            x: single.x,
            top: y,
            bottom: y + 1,
            style: single.style,
            gain: single.gain,
        }));
    }

    /// Finds the cells that stand alone in a row, of which a part differs.
    fn find_singles(&mut self, shown: &[Cell], wanted: &[Cell], change: Change) {
        let width = wanted.len();
        let runs = Runs {
            shown,
            wanted,
            x: change.first.into(),
            end: change.end.into(),
        };
        self.runs.clear();
        for run in runs {
            if self.runs.len() == MOST_RUNS || wanted[run.start].is_two_colors() {
                return;
            }
            self.runs.push(run);
        }
        if !self.take_all(width) {
            self.take_some(width);
        }
    }

    /// Takes all cells of a row, if they all are singles and that is shorter: it saves the changes between their styles.
    fn take_all(&mut self, width: usize) -> bool {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else {
            return false;
        };
        if first.style == last.style || !self.runs.iter().all(|run| run.is_single) {
            return false;
        }
        let pairs = self.runs.windows(2);
        let inner: u32 = pairs.map(|pair| price(Some(pair[0]), Some(pair[1]))).sum();
        let in_row = price(None, Some(*first)) + change(last.style, first.style) + inner;
        let down: u32 = self.runs.iter().map(|run| run.step(width)).sum();
        let gain = in_row.saturating_sub(down) / self.runs.len() as u32;
        if gain > 0 {
            let singles = self.runs.iter().map(|run| run.single(gain));
            self.singles.extend(singles);
        }
        gain > 0
    }

    /// Takes the singles that are shorter by themselves.
    fn take_some(&mut self, width: usize) {
        let mut before: Option<Run> = None;
        for (at, &run) in self.runs.iter().enumerate() {
            let next = self.runs.get(at + 1).copied();
            let stands_alone = before.is_none_or(|before| before.end < run.start)
                || next.is_none_or(|next| run.end < next.start);
            let in_row = price(before, Some(run)) + price(Some(run), next);
            let without = price(before, next) + run.step(width);
            if run.is_single && stands_alone && in_row > without {
                self.singles.push(run.single(in_row - without));
            } else {
                before = Some(run);
            }
        }
    }
}

/// Cells of one style that differ, one after another.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    end: usize,
    style: Style,
    /// It is a cell that can be drawn by itself.
    is_single: bool,
}

impl Run {
    /// The bytes of coming to it from the same cell of the row above.
    const fn step(&self, width: usize) -> u32 {
        if self.end == width {
            STEP_PRICE_AT_EDGE
        } else {
            STEP_PRICE
        }
    }

    const fn single(&self, gain: u32) -> Single {
        Single {
            x: self.start as u16,
            style: self.style,
            gain,
        }
    }
}

struct Runs<'a> {
    shown: &'a [Cell],
    wanted: &'a [Cell],
    x: usize,
    end: usize,
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        let cell = loop {
            let rest = self.x..self.end;
            self.x += first_difference(&self.shown[rest.clone()], &self.wanted[rest])?;
            let cell = self.wanted[self.x];
            if !cell.is_unknown() {
                break cell;
            }
            self.x += 1;
        };
        let (start, style) = (self.x, cell.style());
        let goes_on = |(new, old): &(&Cell, &Cell)| new != old && new.style() == style;
        let rest = start..self.end;
        let pairs = self.wanted[rest.clone()].iter().zip(&self.shown[rest]);
        self.x += pairs.take_while(goes_on).count().max(1);
        let is_wide =
            |row: &[Cell], x| row.get(x).is_some_and(|cell: &Cell| cell.is_continuation());
        let is_single = self.x == start + 1
            && cell.as_char().is_some_and(is_narrow)
            && !is_wide(self.wanted, self.x)
            && !is_wide(self.shown, self.x)
            && !is_wide(self.shown, start);
        Some(Run {
            start,
            end: self.x,
            style,
            is_single,
        })
    }
}

/// The bytes between two runs: motion and change of style. `None` is the end of the row above, or the beginning of the row below.
fn price(from: Option<Run>, to: Option<Run>) -> u32 {
    let Some(to) = to else { return 0 };
    let Some(from) = from else {
        return if to.start == 0 { 2 } else { 7 };
    };
    let motion = match to.start - from.end {
        gap @ 0..=4 => gap as u32,
        _ => 5,
    };
    motion + change(from.style, to.style)
}

/// The bytes of a change of style.
fn change(from: Style, to: Style) -> u32 {
    match from == to {
        true => 0,
        false => 3 + price_of_change(Some(from), to, false),
    }
}

impl Renderer {
    /// Draws the strips that are worth it. Returns how many cells. Each is [noted](Self::mark_strips) when its row is drawn: the copy of
    /// the row is short-lived then.
    pub(super) fn draw_strips(&mut self, wanted: &Screen) -> u64 {
        let mut strips = std::mem::take(&mut self.strips);
        strips.found.clear();
        let order_matters = !self.capabilities.any_order || self.capabilities.have_overhangs();
        if !order_matters
            && !self.careful
            && !self.planner.is_all_blank()
            && self.planner.changed_count() >= FEWEST
        {
            strips.find(&self.shown, wanted, |y| self.planner.change(y));
        }
        let mut drawn = 0;
        for strip in &strips.found {
            self.draw_strip(wanted, *strip);
            drawn += u64::from(strip.bottom - strip.top);
        }
        if drawn > 0 {
            let is_drawn = |x, y| strips.columns(y).any(|column| column == x);
            self.planner.pass_over(&self.shown, wanted, is_drawn);
        }
        self.strips = strips;
        drawn
    }

    fn draw_strip(&mut self, wanted: &Screen, strip: Strip) {
        let x = strip.x;
        for y in strip.top..strip.bottom {
            let cell = wanted.row(y)[usize::from(x)];
            let c = cell.as_char().unwrap_or(' ');
            self.encoder.move_to(x, y);
            self.encoder.print(cell, c, 1, &mut self.stats);
        }
    }

    /// Notes that a row shows the cells of strips.
    pub(super) fn mark_strips(&mut self, wanted: &Screen, y: u16) {
        let strips = std::mem::take(&mut self.strips);
        for x in strips.columns(y) {
            self.mark_shown(wanted, x.into(), y, 1);
        }
        self.strips = strips;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Capabilities, Color};

    /// Two frames: text, then the same with a bar at a column.
    fn bar(x: u16, any_order: bool) -> String {
        let mut renderer = Renderer::new(Capabilities {
            any_order,
            ..Capabilities::basic()
        });
        let mut screen = Screen::new(40, 12);
        for y in 0..12 {
            screen.put(3, y, "some text", Style::default());
        }
        renderer.render(&screen);
        let red = Style {
            fg: Color::indexed(1),
            ..Style::default()
        };
        for y in 1..11 {
            screen.put(3, y, "more text", Style::default());
            screen.put(x, y, "█", red);
        }
        let unchanged = renderer.stats().cells_unchanged;
        let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
        // "mo" and the bar differ in ten rows.
        assert_eq!(renderer.stats().cells_unchanged - unchanged, 40 * 12 - 30);
        bytes
    }

    #[test]
    fn a_bar_is_drawn_from_top_to_bottom() {
        let inner = bar(30, true);
        assert!(inner.contains(&"█\x0b\x08".repeat(9)), "{inner:?}");
        let at_edge = bar(39, true);
        assert_eq!(at_edge.matches("31m").count(), 1, "{at_edge:?}");
        for (bytes, in_rows) in [(inner, bar(30, false)), (at_edge, bar(39, false))] {
            assert!(bytes.len() + 40 < in_rows.len(), "{bytes:?}, {in_rows:?}");
        }
    }

    #[test]
    fn the_edges_of_two_panes_are_drawn_one_after_the_other() {
        let mut renderer = Renderer::new(Capabilities::basic());
        let mut screen = Screen::new(40, 12);
        renderer.render(&screen);
        let style = |fg| Style {
            fg: Color::indexed(fg),
            ..Style::default()
        };
        for y in 0..12 {
            for (x, fg) in [(0, 1), (18, 1), (19, 2), (38, 2)] {
                screen.put(x, y, "│", style(fg));
            }
        }
        let bytes = String::from_utf8_lossy(renderer.render(&screen)).into_owned();
        for fg in ["31m", "32m"] {
            assert_eq!(bytes.matches(fg).count(), 1, "{bytes:?}");
        }
    }
}
