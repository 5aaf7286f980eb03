//! The order in which the cells of a picture are drawn, so that the pen changes one colour at a time.
//!
//! A `▀` takes two colours, 17 bytes each. A `▀` that has a colour in common with the cell drawn before takes one. Coming to it
//! costs 4 to 6 bytes, anywhere in the row. So where neighbours have no colour in common, as in noise, the row is drawn in colour
//! order: colours are the nodes of a graph, cells its edges, and each cell is chosen to share a node with the one before. The order
//! is not the best: it is found at a few nanoseconds a cell, and taken if it is shorter than from left to right.

use std::ops::Range;

use super::plan::is_worth_searching;
use super::row::blank_tail;
use super::sgr::color_price;
use super::stamped::StampedTable;
use crate::model::{Cell, Color, Style};

/// Fewer cells are not worth a search.
const FEWEST: usize = 8;
/// More than so many blanks alike are better repeated or erased.
const MOST_BLANKS: usize = 3;
/// How many cells with one of the pen's colours are searched for one that has both.
const LOOKED_AT: usize = 4;
/// The bytes that begin and end a change of colour, beside the colours.
const CHANGE_PRICE: u32 = 2;
/// The bytes of coming to a column, about.
const MOTION_PRICE: u32 = 5;

/// No entry, or no node.
const NONE: u16 = u16::MAX;
/// Entries are counted in 16 bits, two a cell.
const MOST_CELLS: usize = NONE as usize / 2;

/// Finds orders; keeps the memory for it.
#[derive(Debug, Default)]
pub(super) struct ColourOrder {
    /// The columns of the cells that are to be drawn, from left to right.
    columns: Vec<u16>,
    /// The nodes of each cell, one entry a colour: foreground and background.
    ends: Vec<u16>,
    /// The next entry with the same node, further to the right.
    next: Vec<u16>,
    /// The first entry with each node, and the price of its colour.
    heads: Vec<u16>,
    prices: Vec<u32>,
    done: Vec<bool>,
    nodes: Nodes,
    order: Vec<u16>,
    /// How many rows, one after another, were not worth it.
    fruitless: u32,
}

/// The nodes of the pen's colours.
#[derive(Clone, Copy)]
struct Pen {
    fg: u16,
    bg: u16,
}

impl ColourOrder {
    /// Starts a frame.
    pub(super) fn begin(&mut self) {
        self.fruitless = 0;
    }

    /// The columns of those cells of a row that are better drawn in this order, before all others; none if from
    /// left to right is as good. `exchange` says whether foreground and background may be exchanged.
    pub(super) fn find(
        &mut self,
        shown: &[Cell],
        wanted: &[Cell],
        change: Range<usize>,
        pen: Style,
        exchange: bool,
    ) -> &[u16] {
        self.order.clear();
        if self.collect(shown, wanted, change) {
            if is_worth_searching(self.fruitless) {
                self.link(wanted, exchange);
                let pen = Pen {
                    fg: self.nodes.find(key(pen.fg, false, exchange)),
                    bg: self.nodes.find(key(pen.bg, true, exchange)),
                };
                let in_order = self.price_in_order(pen);
                if self.least_price() >= in_order || self.walk(pen) >= in_order {
                    self.order.clear();
                }
            }
            self.fruitless = if self.order.is_empty() {
                self.fruitless + 1
            } else {
                0
            };
        }
        &self.order
    }

    /// Gathers the cells to be drawn. Says whether so many of them have no colour in common with the one before
    /// that it may be worth coming to them in another order.
    fn collect(&mut self, shown: &[Cell], wanted: &[Cell], change: Range<usize>) -> bool {
        self.columns.clear();
        // Mostly there is text alone.
        let differing = |(old, new): &(&Cell, &Cell)| is_picture(**new) && old != new;
        let pairs = shown[change.clone()].iter().zip(&wanted[change]);
        let pictures = pairs.filter(differing);
        if pictures.take(FEWEST).count() < FEWEST {
            return false;
        }
        let mut apart = 0;
        let mut previous = Cell::UNKNOWN;
        let mut alike = 0;
        for (x, &cell) in wanted[..blank_tail(wanted)].iter().enumerate() {
            alike = if cell == previous { alike + 1 } else { 1 };
            let before = std::mem::replace(&mut previous, cell);
            let continued = || shown.get(x + 1).is_some_and(|cell| cell.is_continuation());
            if cell == shown[x] || !is_picture(cell) || continued() {
                continue;
            }
            if cell.is_blank() && alike >= MOST_BLANKS {
                // Neither are the blanks before it drawn in another order.
                while self
                    .columns
                    .last()
                    .is_some_and(|&last| usize::from(last) + alike > x)
                {
                    self.columns.pop();
                }
                continue;
            }
            let (fg, bg) = colors(before);
            apart += usize::from(!cell.shares_color(fg, bg));
            self.columns.push(x as u16);
        }
        let cells = self.columns.len();
        (FEWEST..=MOST_CELLS).contains(&cells) && apart * 3 > cells
    }

    /// Gives each colour its node, and each node its cells.
    fn link(&mut self, wanted: &[Cell], exchange: bool) {
        let cells = self.columns.len();
        self.nodes.begin(cells * 2);
        self.ends.clear();
        self.prices.clear();
        for &x in &self.columns {
            let cell = wanted[usize::from(x)];
            let (fg, bg) = colors(cell);
            let background = self.nodes.insert(key(bg, true, exchange));
            if usize::from(background) == self.prices.len() {
                self.prices.push(color_price(bg));
            }
            let foreground = if fg == bg && cell.is_blank() {
                background
            } else {
                self.nodes.insert(key(fg, false, exchange))
            };
            if usize::from(foreground) == self.prices.len() {
                self.prices.push(color_price(fg));
            }
            self.ends.extend([foreground, background]);
        }
        self.heads.clear();
        self.heads.resize(self.prices.len(), NONE);
        self.next.clear();
        self.next.resize(self.ends.len(), NONE);
        for (entry, &node) in self.ends.iter().enumerate().rev() {
            // A blank is in one list only, once.
            if entry & 1 == 1 && self.ends[entry ^ 1] == node {
                continue;
            }
            self.next[entry] = std::mem::replace(&mut self.heads[usize::from(node)], entry as u16);
        }
        self.done.clear();
        self.done.resize(cells, false);
    }

    fn ends_of(&self, index: usize) -> (u16, u16) {
        (self.ends[index * 2], self.ends[index * 2 + 1])
    }

    /// The bytes of its colours, and the pen afterwards: just as the encoder does it.
    fn visit(&self, pen: Pen, index: usize) -> (u32, Pen) {
        let (fg, bg) = self.ends_of(index);
        let price = |node: u16, old: u16| match node == old {
            true => 0,
            false => self.prices[usize::from(node)],
        };
        if fg == bg {
            // A blank, or a full block.
            return match fg == pen.fg {
                true => (0, pen),
                false => (price(bg, pen.bg), Pen { bg, ..pen }),
            };
        }
        let straight = price(fg, pen.fg) + price(bg, pen.bg);
        let exchanged = price(bg, pen.fg) + price(fg, pen.bg);
        // Where exchanging is not allowed, the nodes of foreground and background are different ones.
        match exchanged < straight {
            true => (exchanged, Pen { fg: bg, bg: fg }),
            false => (straight, Pen { fg, bg }),
        }
    }

    /// The price of drawing from left to right.
    fn price_in_order(&self, mut pen: Pen) -> u32 {
        let mut total = 0;
        let mut at = self.columns[0];
        for (index, &x) in self.columns.iter().enumerate() {
            let (price, next) = self.visit(pen, index);
            total += price_with(price, x != at);
            (pen, at) = (next, x + 1);
        }
        total
    }

    /// The least price of any order: each colour is chosen once, except the pen's.
    fn least_price(&self) -> u32 {
        let colors: u32 = self.prices.iter().sum();
        let dearest = self.prices.iter().max().copied().unwrap_or(0);
        colors.saturating_sub(dearest * 2)
    }

    /// Goes from cell to cell; returns the price.
    fn walk(&mut self, mut pen: Pen) -> u32 {
        let mut total = 0;
        let mut first = 0;
        let mut near = None;
        for _ in 0..self.columns.len() {
            let index = self.choose(pen, near).unwrap_or_else(|| {
                while self.done[first] {
                    first += 1;
                }
                first
            });
            self.done[index] = true;
            let (price, next) = self.visit(pen, index);
            total += price_with(price, near != Some(index));
            pen = next;
            let x = self.columns[index];
            self.order.push(x);
            near = (self.columns.get(index + 1) == Some(&(x + 1))).then_some(index + 1);
        }
        total
    }

    /// The cell to draw next: one that needs no colour, or the one at the cursor or another that needs one.
    fn choose(&mut self, pen: Pen, near: Option<usize>) -> Option<usize> {
        let mut found = None;
        for (node, other) in [(pen.fg, pen.bg), (pen.bg, pen.fg)] {
            if node == NONE {
                continue;
            }
            let mut before = NONE;
            let mut entry = self.heads[usize::from(node)];
            let mut looked_at = 0;
            while entry != NONE && looked_at < LOOKED_AT {
                let index = usize::from(entry) / 2;
                let after = self.next[usize::from(entry)];
                if self.done[index] {
                    match before {
                        NONE => self.heads[usize::from(node)] = after,
                        before => self.next[usize::from(before)] = after,
                    }
                } else {
                    let end = self.ends[usize::from(entry) ^ 1];
                    if end == other || end == node {
                        return Some(index);
                    }
                    found = found.or(Some(index));
                    before = entry;
                    looked_at += 1;
                }
                entry = after;
            }
        }
        let shares = |&index: &usize| {
            let (fg, bg) = self.ends_of(index);
            !self.done[index]
                && [pen.fg, pen.bg]
                    .iter()
                    .any(|&node| node == fg || node == bg)
        };
        near.filter(shares).or(found)
    }
}

const fn price_with(colors: u32, moves: bool) -> u32 {
    (if colors > 0 { colors + CHANGE_PRICE } else { 0 }) + (if moves { MOTION_PRICE } else { 0 })
}

/// Whether all there is to a cell are one or two 24-bit colours.
fn is_picture(cell: Cell) -> bool {
    cell.is_two_colors() || cell.is_blank_of_24_bits()
}

/// The two colours of a cell; a blank has one.
fn colors(cell: Cell) -> (Color, Color) {
    match cell.is_blank() {
        true => (cell.bg, cell.bg),
        false => (cell.fg, cell.bg),
    }
}

/// The key of a colour: the same on either side, if they may be exchanged.
fn key(color: Color, background: bool, exchange: bool) -> u32 {
    color.bits() | u32::from(background && !exchange) << 31
}

/// Numbers colours from 0 on.
#[derive(Debug, Default)]
struct Nodes {
    numbers: StampedTable<u32, u16>,
    count: u16,
}

/// The hash of a colour, for [`StampedTable`].
const fn spread(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B9) >> 12) as usize
}

impl Nodes {
    /// Starts anew, with room for so many.
    fn begin(&mut self, most: usize) {
        self.numbers.begin(most);
        self.count = 0;
    }

    /// The node of a colour, which may be new.
    fn insert(&mut self, key: u32) -> u16 {
        let number = self.count;
        if let Some(known) = self.numbers.get_or_insert(spread(key), key, number) {
            return *known;
        }
        self.count += 1;
        number
    }

    /// The node of a colour, or [`NONE`].
    fn find(&self, key: u32) -> u16 {
        self.numbers.get(spread(key), key).unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::tests::Xorshift;

    fn two(fg: Color, bg: Color) -> Cell {
        let style = Style {
            fg,
            bg,
            ..Style::default()
        };
        let mut screen = crate::model::Screen::new(1, 1);
        screen.exchange_half_blocks(fg == bg);
        screen.put(0, 0, "▀", style);
        screen.row(0)[0]
    }

    /// The same rules without lists and tables: every cell is looked at in each step.
    fn naive_order(cells: &[(usize, Cell)], pen: Style, exchange: bool) -> Vec<u16> {
        let (mut fg, mut bg) = (pen.fg, pen.bg);
        let mut at = usize::MAX;
        let mut left = cells.to_vec();
        let mut order = Vec::new();
        while !left.is_empty() {
            let has =
                |cell: &Cell, color: Color, background: bool| match (exchange, cell.is_blank()) {
                    (true, true) => cell.bg == color,
                    (true, false) => cell.fg == color || cell.bg == color,
                    (false, true) => background && cell.bg == color,
                    (false, false) if background => cell.bg == color,
                    (false, false) => cell.fg == color,
                };
            let with = |color, background| {
                let found = left
                    .iter()
                    .filter(move |(_, cell)| has(cell, color, background));
                found.take(LOOKED_AT).copied().collect::<Vec<_>>()
            };
            let (first, second) = (with(fg, false), with(bg, true));
            let free = |(_, cell): &&(usize, Cell)| {
                cell.is_blank()
                    || (cell.fg, cell.bg) == (fg, bg)
                    || (exchange && (cell.bg, cell.fg) == (fg, bg))
            };
            let all = || first.iter().chain(&second);
            let here = || {
                let found = left.iter().find(|(x, _)| *x == at);
                found.filter(|(_, cell)| has(cell, fg, false) || has(cell, bg, true))
            };
            let (x, cell) = *all()
                .find(free)
                .or_else(here)
                .or(all().next())
                .unwrap_or(&left[0]);
            left.retain(|(other, _)| *other != x);
            order.push(x as u16);
            at = x + 1;
            if cell.is_blank() {
                if !(exchange && fg == cell.bg) {
                    bg = cell.bg;
                }
                continue;
            }
            let price = |new: Color, old: Color| if new == old { 0 } else { color_price(new) };
            let straight = price(cell.fg, fg) + price(cell.bg, bg);
            let exchanged = price(cell.bg, fg) + price(cell.fg, bg);
            (fg, bg) = match exchange && exchanged < straight {
                true => (cell.bg, cell.fg),
                false => (cell.fg, cell.bg),
            };
        }
        order
    }

    #[test]
    fn the_order_is_the_one_that_looking_at_every_cell_finds() {
        let mut random = Xorshift(0x2545_F491_4F6C_DD1D);
        let mut finder = ColourOrder::default();
        let mut found = 0;
        for round in 0..3_000 {
            let exchange = round % 3 > 0;
            let few = 2 + random.below(60);
            let color = |random: &mut Xorshift| {
                let level = (random.below(few) * 4) as u8;
                Color::rgb(level, level, 7)
            };
            let width = 1 + random.below(120) as usize;
            let wanted: Vec<Cell> = (0..width)
                .map(|_| match random.below(12) {
                    0 => Cell::BLANK,
                    1 => Cell::blank_on(color(&mut random)),
                    _ => loop {
                        let (fg, bg) = (color(&mut random), color(&mut random));
                        if fg != bg {
                            break two(fg, bg);
                        }
                    },
                })
                .collect();
            let mut shown = vec![Cell::UNKNOWN; width];
            for x in 0..width {
                if random.below(8) == 0 {
                    shown[x] = wanted[x];
                }
            }
            let pen = Style {
                fg: color(&mut random),
                bg: color(&mut random),
                ..Style::default()
            };
            finder.begin();
            let order = finder
                .find(&shown, &wanted, 0..width, pen, exchange)
                .to_vec();
            let cells: Vec<_> = finder
                .columns
                .iter()
                .map(|&x| (usize::from(x), wanted[usize::from(x)]))
                .collect();
            for &(x, cell) in &cells {
                assert!(is_picture(cell) && shown[x] != cell);
            }
            if !order.is_empty() {
                assert_eq!(order, naive_order(&cells, pen, exchange), "round {round}");
                found += 1;
            }
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn what_has_no_colours_in_common_is_drawn_from_left_to_right() {
        let row: Vec<Cell> = (0..100)
            .map(|x| two(Color::rgb(x, 1, 0), Color::rgb(x, 2, 0)))
            .collect();
        let shown = vec![Cell::BLANK; row.len()];
        let mut finder = ColourOrder::default();
        assert!(
            finder
                .find(&shown, &row, 0..100, Style::default(), true)
                .is_empty()
        );
    }

    #[test]
    fn a_row_is_not_longer_for_being_drawn_out_of_order() {
        use crate::model::Capabilities;
        use crate::model::Screen;
        use crate::render::Renderer;

        let mut random = Xorshift(0x9E37_79B9_7F4A_7C15);
        let (mut with, mut without) = (0, 0);
        for round in 0..200 {
            let capabilities = Capabilities {
                half_blocks: true,
                ..Capabilities::full()
            };
            let mut one = Renderer::new(capabilities);
            let mut other = Renderer::new(capabilities);
            other.be_thorough(false);
            let few = 2 + random.below(200);
            let mut screen = Screen::new(4 + random.below(100) as u16, 1 + random.below(4) as u16);
            screen.exchange_half_blocks(true);
            for _ in 0..4 {
                for y in 0..screen.height() {
                    for x in 0..screen.width() {
                        let mut color = || Color::rgb(random.below(few) as u8, 0, 0);
                        let style = Style {
                            fg: color(),
                            bg: color(),
                            ..Style::default()
                        };
                        screen.put(x, y, "▀", style);
                    }
                }
                let (ours, plain) = (one.render(&screen).len(), other.render(&screen).len());
                // The price of motion is an estimate, and from left to right there is a trick with the next two.
                assert!(ours <= plain + plain / 20, "{round}: {ours} for {plain}");
                (with, without) = (with + ours, without + plain);
            }
        }
        assert!(with * 10 < without * 9, "{with} for {without}");
    }
}
