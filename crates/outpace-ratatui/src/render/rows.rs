//! Goes through the rows of a frame, in an order that saves changes of style.
//!
//! Motion is cheapest from top to bottom. But in a table whose rows have one of two backgrounds in turn, every
//! row would begin with another background, at up to 17 bytes. Drawing the rows of one style before those of another
//! costs a byte or two of motion a row.

use super::Renderer;
use super::plan::Change;
use super::sgr::color_price;
use crate::model::{Cell, Screen, Style, first_difference};

/// How many more bytes a move to any row takes than one to the next row.
const DETOUR_PRICE: u32 = 2;
/// The bytes of a change of style, beside the colours.
const CHANGE_PRICE: u32 = 3;
/// Fewer rows are not worth a search.
const FEWEST: usize = 4;

/// A row that is still to be drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    y: u16,
    /// The part that differs.
    change: Change,
    /// The style of all cells that differ.
    style: Style,
}

impl Renderer {
    /// Draws everything that differs.
    pub(super) fn draw_rows(&mut self, wanted: &Screen) {
        let drawn = self.draw_strips(wanted);
        let is_worth_it = || {
            let (rows, styles_differ) = self.planner.changed_rows(wanted);
            rows >= FEWEST && styles_differ
        };
        let may_wait = self.capabilities.any_order
            && !self.careful
            && !self.planner.is_all_blank()
            && (!self.takes_shortcuts() || is_worth_it());
        let mut pending = std::mem::take(&mut self.pending_rows);
        let mut hint = 0;
        for y in 0..wanted.height() {
            if drawn > 0 {
                self.mark_strips(wanted, y);
            }
            let Some(change) = self.planner.change(y) else {
                self.stats.cells_unchanged += u64::from(wanted.width());
                continue;
            };
            let shifted = self.stats.rows_shifted;
            hint = self.shift_row(wanted, y, change, hint);
            let in_place = self.stats.rows_shifted == shifted;
            let style = match may_wait && in_place && !self.is_overhung(y) {
                true => only_style(self.shown.row(y), wanted.row(y), change),
                false => None,
            };
            match style {
                Some(style) => pending.push(Pending { y, change, style }),
                None => {
                    self.draw_pending(wanted, &mut pending);
                    // Cells that were moved differ, too.
                    let whole = Change {
                        first: 0,
                        end: wanted.width(),
                    };
                    self.draw_row(wanted, y, if in_place { change } else { whole });
                }
            }
        }
        self.draw_pending(wanted, &mut pending);
        self.pending_rows = pending;
        // The rows found the cells of strips as they should be; they were not so before.
        self.stats.cells_unchanged -= drawn;
    }

    /// Draws the rows that wait, style by style if that is shorter.
    fn draw_pending(&mut self, wanted: &Screen, pending: &mut Vec<Pending>) {
        if pending.len() >= FEWEST {
            let pen = self.encoder.pen();
            let in_turn = price_of_styles(pen, pending.iter().map(|row| row.style));
            // Stable: within a style from top to bottom. The styles in the order in which they come up.
            let rank = |row: &Pending| pending.iter().position(|other| other.style == row.style);
            let mut grouped: Vec<(usize, Pending)> = pending
                .iter()
                .map(|row| (rank(row).unwrap_or(0), *row))
                .collect();
            grouped.sort_by_key(|(rank, _)| *rank);
            let by_style = price_of_styles(pen, grouped.iter().map(|(_, row)| row.style));
            if by_style + DETOUR_PRICE * (pending.len() as u32) < in_turn {
                pending.clear();
                pending.extend(grouped.into_iter().map(|(_, row)| row));
            }
        }
        for row in pending.drain(..) {
            self.draw_row(wanted, row.y, row.change);
        }
    }
}

/// The style of all cells that differ in a row, if it is the same. A blank counts by its background.
fn only_style(shown: &[Cell], wanted: &[Cell], change: Change) -> Option<Style> {
    let (mut x, end) = (usize::from(change.first), usize::from(change.end));
    let style = wanted[x].style();
    x += 1;
    while let Some(ahead) = first_difference(&shown[x..end], &wanted[x..end]) {
        let cell = wanted[x + ahead];
        if !cell.is_unknown() && cell.style() != style {
            return None;
        }
        x += ahead + 1;
    }
    Some(style)
}

/// The bytes of the changes of style along some rows, about.
fn price_of_styles(pen: Option<Style>, styles: impl Iterator<Item = Style>) -> u32 {
    let mut pen = pen;
    let mut total = 0;
    for style in styles {
        if let Some(pen) = pen.filter(|pen| *pen != style) {
            let color = |old, new| if old == new { 0 } else { color_price(new) };
            // The sequence for the default style has no parameters.
            total += match style == Style::default() {
                true => CHANGE_PRICE,
                false => CHANGE_PRICE + color(pen.fg, style.fg) + color(pen.bg, style.bg),
            };
        }
        pen = Some(style);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Capabilities, Color};

    #[test]
    fn rows_that_alternate_between_two_backgrounds_are_drawn_one_background_after_the_other() {
        let bytes = |any_order: bool| {
            let capabilities = Capabilities {
                any_order,
                ..Capabilities::full()
            };
            let mut renderer = Renderer::new(capabilities);
            let mut screen = Screen::new(40, 20);
            renderer.render(&screen);
            for y in 0..20 {
                let bg = Color::indexed(235 + (y % 2) as u8);
                let style = Style {
                    bg,
                    ..Style::default()
                };
                screen.put(3, y, &y.to_string(), style);
            }
            renderer.render(&screen).to_vec()
        };
        let (grouped, in_turn) = (bytes(true), bytes(false));
        let changes = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches("48;5;").count();
        assert_eq!((changes(&grouped), changes(&in_turn)), (2, 20));
        assert!(grouped.len() < in_turn.len());
    }
}
