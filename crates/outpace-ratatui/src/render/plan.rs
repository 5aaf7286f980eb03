//! Finds cells that can be moved instead of drawn: groups of rows that went up or down, parts of rows that went left or right.
//!
//! Both searches work alike. Pieces of the shown screen are hashed, with their colours. Pieces of the wanted screen that occur there
//! exactly once vote for the distance they moved. The distances with the most votes are then priced in bytes, cell by cell,
//! against drawing in place. So a wrong vote costs time, never a wrong picture and never a longer one.

use std::ops::Range;

use super::sgr::color_price;
use super::stamped::StampedTable;
use super::touched::Touched;
use crate::model::{Cell, Screen, Style, first_difference, freed_rows, is_narrow, same_cells};

/// Moves rows `top..bottom` by so many rows, up if positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scroll {
    pub(crate) top: u16,
    pub(crate) bottom: u16,
    pub(crate) by: i32,
}

impl Scroll {
    /// Brings the rows that are so many below, or above, to these.
    fn to(rows: Range<i32>, by: i32) -> Self {
        Self {
            top: rows.start.min(rows.start + by) as u16,
            bottom: rows.end.max(rows.end + by) as u16,
            by,
        }
    }

    fn freed(self) -> Range<u16> {
        freed_rows(self.top, self.bottom, self.by)
    }
}

/// Moves columns `from..to` of a row by so many columns, left if positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) by: i32,
}

#[derive(Debug, Default)]
pub(crate) struct Planner {
    /// The part of each row that differs, if it does.
    changes: Vec<Option<Change>>,
    /// The price of drawing each row in place.
    prices: Vec<u32>,
    /// The rows that must not move: they have cells that are to be left as they are, or symbols that stick out.
    fixed: Vec<bool>,
    bands: Vec<(u64, u16)>,
    votes: Vec<u32>,
    grams: Grams,
    /// How many rows, one after another, had no shift.
    fruitless: u32,
    /// The shown screen is blank: no text can have moved.
    all_blank: bool,
}

/// A part of a row: its first cell differs, and the cells from `end` on do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) first: u16,
    pub(super) end: u16,
}

impl Change {
    pub(super) fn columns(self) -> Range<usize> {
        usize::from(self.first)..usize::from(self.end)
    }
}

/// A frame that costs less than this is not worth a search.
const WORTHWHILE: u32 = 48;
/// The distances of scrolls that are tried without votes.
const PLAIN_DISTANCES: [i32; 6] = [1, -1, 2, -2, 3, -3];
/// The price of selecting a region, moving there and scrolling, roughly.
const SCROLL_PRICE: u32 = 16;

/// The longer this frame's searches have been in vain, the rarer they are.
pub(crate) const fn is_worth_searching(fruitless: u32) -> bool {
    fruitless.is_multiple_of(match fruitless {
        0..4 => 1,
        4..16 => 4,
        16..64 => 8,
        _ => 16,
    })
}

/// Estimates the bytes it takes to turn one run of cells into another. `from` may be shorter: the rest
/// is unknown.
fn price(from: &[Cell], to: &[Cell]) -> u32 {
    let mut total = 0;
    // The style of the last cell that changed.
    let mut pen: Option<Style> = None;
    let mut previous_changed = false;
    let mut blanks = 0;
    for (x, &cell) in to.iter().enumerate() {
        if from.get(x) == Some(&cell) || cell.is_unknown() {
            previous_changed = false;
            continue;
        }
        if !previous_changed {
            total += 4;
            blanks = 0;
        }
        previous_changed = true;
        let style = cell.style();
        if pen != Some(style) {
            total += price_of_change(pen, style, cell.is_blank());
            pen = Some(style);
        }
        // A long run of blanks is erased.
        if cell.is_blank() {
            blanks += 1;
            total += u32::from(blanks < 6);
        } else {
            blanks = 0;
            total += cell.as_char().map_or(4, |c| c.len_utf8() as u32);
        }
    }
    total
}

/// Whether the [price](price) is at least so much. Each symbol takes a byte, so a count of symbols mostly answers it.
fn costs_at_least(least: u32, from: &[Cell], to: &[Cell]) -> bool {
    prints_at_least(least, from.iter().zip(to)) || price(from, to) >= least
}

/// Whether so many symbols are printed to turn some cells into others.
fn prints_at_least<'a>(least: u32, pairs: impl Iterator<Item = (&'a Cell, &'a Cell)>) -> bool {
    let is_printed =
        |(old, new): &(&Cell, &Cell)| old != new && !new.is_blank() && !new.is_unknown();
    let some = least as usize;
    pairs.filter(is_printed).take(some).count() == some
}

/// Whether a row must not move: it has cells that are to be left as they are, or symbols that stick out.
fn is_fixed(wanted: &Screen, overhung: &[bool], y: u16) -> bool {
    overhung.get(usize::from(y)) == Some(&true)
        || wanted.row(y).iter().any(|cell| cell.is_unknown())
}

pub(super) fn price_of_change(pen: Option<Style>, style: Style, is_blank: bool) -> u32 {
    let Some(pen) = pen else {
        return color_price(style.fg) + color_price(style.bg);
    };
    let color = |old, new| if old == new { 0 } else { color_price(new) };
    let fg = if is_blank { 0 } else { color(pen.fg, style.fg) };
    let attributes = if pen.attributes == style.attributes {
        0
    } else {
        3
    };
    fg + color(pen.bg, style.bg) + attributes
}

impl Planner {
    /// Starts a frame. `all_blank`: the shown screen is blank.
    pub(crate) fn begin(&mut self, all_blank: bool) {
        self.fruitless = 0;
        self.all_blank = all_blank;
    }

    /// Whether the shown screen is blank. A first frame is not worth a search for a better order: the searches would take longer than all
    /// else, as their code is not in the processor's memory yet.
    pub(super) const fn is_all_blank(&self) -> bool {
        self.all_blank
    }

    /// Finds out which rows differ.
    pub(crate) fn compare(&mut self, shown: &Screen, wanted: &Screen, touched: &Touched) {
        let change = |y| {
            let Range { start, end } = touched.columns(y, wanted.width());
            if start == end {
                return None;
            }
            let ahead = first_difference(&shown.row(y)[start..end], &wanted.row(y)[start..end]);
            ahead.map(|ahead| Change {
                first: (start + ahead) as u16,
                end: end as u16,
            })
        };
        self.changes.clear();
        self.changes.extend((0..wanted.height()).map(change));
    }

    /// Takes the cells that are drawn already to be the same.
    pub(super) fn pass_over(
        &mut self,
        shown: &Screen,
        wanted: &Screen,
        is_drawn: impl Fn(u16, u16) -> bool,
    ) {
        for (change, y) in self.changes.iter_mut().zip(0..) {
            while let Some(Change { first, end }) =
                change.filter(|change| is_drawn(change.first, y))
            {
                let rest = usize::from(first) + 1..usize::from(end);
                let ahead = first_difference(&shown.row(y)[rest.clone()], &wanted.row(y)[rest]);
                *change = ahead.map(|ahead| Change {
                    first: first + 1 + ahead as u16,
                    end,
                });
            }
        }
    }

    /// The part of a row that differed when they were [compared](Self::compare), if one did.
    pub(super) fn change(&self, y: u16) -> Option<Change> {
        self.changes[usize::from(y)]
    }

    /// How many rows differed.
    pub(crate) fn changed_count(&self) -> usize {
        self.changes.iter().flatten().count()
    }

    /// Whether any row differed.
    pub(crate) fn has_changes(&self) -> bool {
        self.changes.iter().any(Option::is_some)
    }

    /// How many rows differed, and whether the first changes of some are in another style than those of others.
    pub(crate) fn changed_rows(&self, wanted: &Screen) -> (usize, bool) {
        let changes = self.changes.iter().zip(0..);
        let mut styles =
            changes.filter_map(|(x, y)| Some(wanted.row(y)[usize::from((*x)?.first)].style()));
        let Some(first) = styles.next() else {
            return (0, false);
        };
        styles.fold((1, false), |(rows, differ), style| {
            (rows + 1, differ || style != first)
        })
    }

    /// The scroll that saves most, if one is worth it, of rows that have been compared. Rows that are `overhung` take no part.
    pub(crate) fn find_scroll(
        &mut self,
        shown: &Screen,
        wanted: &Screen,
        overhung: &[bool],
    ) -> Option<Scroll> {
        let height = wanted.height();
        if height < 2 || self.all_blank {
            return None;
        }
        if self.changed_count() < 2 {
            return None;
        }
        if let Some(scroll) = self.find_plain_scroll(shown, wanted, overhung) {
            return Some(scroll);
        }
        // The votes are counted first: they are cheap, and mostly there are none.
        self.vote_for_scrolls(shown, wanted);
        if self.votes.iter().all(|votes| *votes < 2) {
            return None;
        }
        self.prices.clear();
        self.prices
            .extend((0..height).map(|y| match self.changes[usize::from(y)] {
                Some(_) => price(shown.row(y), wanted.row(y)),
                None => 0,
            }));
        if self.prices.iter().sum::<u32>() < WORTHWHILE {
            return None;
        }
        self.fixed.clear();
        self.fixed
            .extend((0..height).map(|y| is_fixed(wanted, overhung, y)));
        let mut best = None;
        for _ in 0..3 {
            let (index, &votes) = self
                .votes
                .iter()
                .enumerate()
                .max_by_key(|(_, votes)| **votes)?;
            if votes < 2 {
                break;
            }
            self.votes[index] = 0;
            let by = index as i32 - i32::from(height);
            if let Some((scroll, saved)) = self.price_scroll(shown, wanted, by)
                && best.is_none_or(|(_, most)| saved > most)
            {
                best = Some((scroll, saved));
            }
        }
        best.map(|(scroll, _)| scroll)
    }

    /// The scroll by a row or a few of which most rows that differ become right as a whole, as in a log that goes on: found without
    /// votes and prices, and so in a fraction of the time.
    fn find_plain_scroll(
        &self,
        shown: &Screen,
        wanted: &Screen,
        overhung: &[bool],
    ) -> Option<Scroll> {
        let changed = |y: i32| self.changes[y as usize].is_some();
        let height = i32::from(wanted.height());
        let most = self.changed_count();
        let first = (0..height).find(|y| changed(*y))?;
        let end = (first..height).rfind(|y| changed(*y))? + 1;
        // More than half of the rows that differ, one after another, have the middle one among them.
        let middle = (first..end).filter(|y| changed(*y)).nth(most / 2)?;
        let is_moved = |y: i32, by: i32| {
            (0..height).contains(&(y + by))
                && same_cells(wanted.row(y as u16), shown.row((y + by) as u16))
        };
        for by in PLAIN_DISTANCES {
            if !is_moved(middle, by) {
                continue;
            }
            // The longest run of rows that only moved.
            let (mut best, mut from) = (0..0, first);
            for y in first..=end {
                if y < end && is_moved(y, by) {
                    continue;
                }
                if y - from > best.len() as i32 {
                    best = from..y;
                }
                from = y + 1;
                if ((end - from) as usize) < best.len() {
                    break;
                }
            }
            if best.clone().filter(|y| changed(*y)).count() * 2 <= most {
                continue;
            }
            let scroll = Scroll::to(best, by);
            let mut rows = scroll.top..scroll.bottom;
            let freed = scroll.freed().map(|y| price_from_blank(wanted.row(y)));
            let least = SCROLL_PRICE + WORTHWHILE + freed.sum::<u32>();
            let pairs = rows
                .clone()
                .flat_map(|y| shown.row(y).iter().zip(wanted.row(y)));
            let may_move =
                prints_at_least(least, pairs) && !rows.any(|y| is_fixed(wanted, overhung, y));
            return may_move.then_some(scroll);
        }
        None
    }

    fn vote_for_scrolls(&mut self, shown: &Screen, wanted: &Screen) {
        let (width, height) = (usize::from(wanted.width()), wanted.height());
        self.votes.clear();
        self.votes.resize(usize::from(height) * 2 + 1, 0);
        let columns = width.div_ceil(if width >= 48 { 4 } else { 1 });
        for start in (0..width).step_by(columns) {
            let band = start..(start + columns).min(width);
            self.bands.clear();
            // A row that is still right has not moved.
            let changed = |y: &u16| self.changes[usize::from(*y)].is_some();
            for y in (0..height).filter(changed) {
                if let Some(digest) = digest_of(&shown.row(y)[band.clone()]) {
                    self.bands.push((digest, y));
                }
            }
            if self.bands.is_empty() {
                continue;
            }
            self.bands.sort_unstable();
            for y in (0..height).filter(changed) {
                let Some(digest) = digest_of(&wanted.row(y)[band.clone()]) else {
                    continue;
                };
                let at = self.bands.partition_point(|entry| entry.0 < digest);
                let Some(&(found, from)) = self.bands.get(at) else {
                    continue;
                };
                let unique = self.bands.get(at + 1).is_none_or(|next| next.0 != digest);
                if found == digest && unique && from != y {
                    let index = i32::from(from) - i32::from(y) + i32::from(height);
                    self.votes[index as usize] += 1;
                }
            }
        }
    }

    /// The rows that gain most by a scroll of this distance, and how much they gain.
    fn price_scroll(&self, shown: &Screen, wanted: &Screen, by: i32) -> Option<(Scroll, u32)> {
        let height = i32::from(wanted.height());
        // The best run of rows by Kadane's algorithm: a row without gain ends no run, a row with a loss may.
        let (mut start, mut sum) = (None, 0_i64);
        let mut best: Option<(i32, i32, i64)> = None;
        for y in 0.max(-by)..height.min(height - by) {
            let to = wanted.row(y as u16);
            let from = shown.row((y + by) as u16);
            let in_place = i64::from(self.prices[y as usize]);
            let moved = match same_cells(from, to) {
                true => 0,
                false => i64::from(price(from, to)),
            };
            sum += in_place - moved;
            if self.fixed[y as usize] || sum < 0 {
                (start, sum) = (None, 0);
                continue;
            }
            let start = *start.get_or_insert(y);
            if best.is_none_or(|(_, _, most)| sum > most) {
                best = Some((start, y + 1, sum));
            }
        }
        let (start, end, gain) = best?;
        let scroll = Scroll::to(start..end, by);
        let mut gain = gain - i64::from(SCROLL_PRICE);
        for y in scroll.freed() {
            let to = wanted.row(y);
            gain += i64::from(self.prices[usize::from(y)]) - i64::from(price_from_blank(to));
        }
        let rows = usize::from(scroll.top)..usize::from(scroll.bottom);
        if self.fixed[rows].contains(&true) {
            return None;
        }
        (gain > 0).then_some((scroll, gain as u32))
    }

    /// The shift that saves most in a row, of which a part differs, if one is worth it. `hint` is the distance of the row above.
    pub(crate) fn find_shift(
        &mut self,
        shown: &[Cell],
        wanted: &[Cell],
        change: Change,
        hint: i32,
    ) -> Option<Shift> {
        if self.all_blank {
            return None;
        }
        let (first, end) = (usize::from(change.first), usize::from(change.end));
        let last = (first..end).rev().find(|&x| shown[x] != wanted[x])?;
        // From cells that are all alike no distance can be told.
        if last - first < 8 || shown[first..].iter().all(|cell| *cell == shown[first]) {
            return None;
        }
        let search = is_worth_searching(self.fruitless);
        if hint == 0 && !search {
            self.fruitless += 1;
            return None;
        }
        let range = first..last + 1;
        let (from, to) = (&shown[range.clone()], &wanted[range.clone()]);
        if !costs_at_least(WORTHWHILE / 2, from, to) {
            return None;
        }
        let shift = |by: i32| best_shift(shown, wanted, range.clone(), by, price(from, to));
        let mut best = if hint == 0 { None } else { shift(hint) };
        if best.is_none() {
            self.fruitless += 1;
            if search {
                best = shift(self.grams.vote(shown, wanted, range.clone())?);
            }
        }
        let shift = best?;
        self.fruitless = 0;
        let narrow = |cell: &Cell| cell.as_char().is_some_and(is_narrow);
        let simple = shown[first..].iter().all(narrow) && wanted[first..].iter().all(narrow);
        simple.then_some(shift)
    }
}

/// The cheapest shift by this distance, to the right edge or only as far as anything changed, if it is
/// cheaper than drawing in place.
fn best_shift(
    shown: &[Cell],
    wanted: &[Cell],
    changed: Range<usize>,
    by: i32,
    in_place: u32,
) -> Option<Shift> {
    let distance = by.unsigned_abs() as usize;
    let mut best = None;
    let mut least = in_place;
    for to in [wanted.len(), changed.end] {
        if by == 0 || distance * 2 > to - changed.start {
            continue;
        }
        let shift = Shift {
            from: changed.start,
            to,
            by,
        };
        let price = price_shift(shown, wanted, shift);
        if price < least {
            (best, least) = (Some(shift), price);
        }
    }
    best
}

/// The price of a shift and of the cells that are left to draw after it.
fn price_shift(shown: &[Cell], wanted: &[Cell], shift: Shift) -> u32 {
    let Shift { from, to, by } = shift;
    let distance = by.unsigned_abs() as usize;
    let sequences = if to == wanted.len() { 8 } else { 18 };
    let (moved, freed) = if by > 0 {
        let kept = to - distance;
        (
            price(&shown[from + distance..to], &wanted[from..kept]),
            &wanted[kept..to],
        )
    } else {
        let start = from + distance;
        (
            price(&shown[from..to - distance], &wanted[start..to]),
            &wanted[from..start],
        )
    };
    sequences + moved + price(&[], freed)
}

fn price_from_blank(to: &[Cell]) -> u32 {
    let last = to
        .iter()
        .rposition(|cell| *cell != Cell::BLANK)
        .map_or(0, |x| x + 1);
    price(&[], &to[..last])
}

/// An odd number without a pattern: the golden ratio's fraction.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A digest of some cells. `None`: they are all alike, so no distance can be told from them.
fn digest_of(cells: &[Cell]) -> Option<u64> {
    let first = *cells.first()?;
    if cells.iter().all(|cell| *cell == first) {
        return None;
    }
    // A sum of products, each of a cell and of where it is, that do not wait for one another.
    let (mut key, mut digest) = (STEP, 0_u64);
    for &cell in cells {
        let (one, other) = cell.halves();
        let product = one
            .wrapping_add(key)
            .wrapping_mul(other ^ key.rotate_left(32));
        digest = digest.wrapping_add(product ^ product >> 29);
        key = key.wrapping_add(STEP);
    }
    Some(digest)
}

/// Runs of three cells and where in the row they occur.
#[derive(Debug, Default)]
struct Grams {
    /// The position of each run, or [`REPEATED`].
    positions: StampedTable<u64, u32>,
    digests: Vec<u64>,
    votes: Vec<u32>,
}

const GRAM: usize = 3;
/// So many runs have to have moved by the same distance.
const FEWEST_VOTES: usize = 3;
const REPEATED: u32 = u32::MAX;

fn gram(digests: &[u64]) -> u64 {
    digests.iter().fold(0, |sum: u64, &digest| {
        (sum.rotate_left(21) ^ digest).wrapping_mul(0x2545_F491_4F6C_DD1D)
    })
}

/// The hash of a digest, for [`StampedTable`].
const fn spread(digest: u64) -> usize {
    (digest >> 32) as usize
}

impl Grams {
    /// The distance that most runs of changed cells moved, left if positive.
    fn vote(&mut self, shown: &[Cell], wanted: &[Cell], changed: Range<usize>) -> Option<i32> {
        let (shown_part, wanted_part) = (&shown[changed.start..], &wanted[changed]);
        // A row that only changed its style has few cells that were there before: it needs no search.
        let mut sieve = Sieve::default();
        for alike in shown_part.chunk_by(PartialEq::eq) {
            sieve.add(alike[0]);
        }
        let kept = wanted_part.chunk_by(PartialEq::eq);
        let kept = kept.filter(|alike| sieve.keeps(alike[0])).map(<[_]>::len);
        if kept.sum::<usize>() < GRAM + FEWEST_VOTES - 1 {
            return None;
        }
        self.positions.begin(shown.len());
        self.digests.clear();
        self.digests
            .extend(shown_part.iter().map(|cell| cell.digest()));
        for at in 0..self.digests.len().saturating_sub(GRAM - 1) {
            let digest = gram(&self.digests[at..at + GRAM]);
            if let Some(position) = self
                .positions
                .get_or_insert(spread(digest), digest, at as u32)
            {
                *position = REPEATED;
            }
        }
        self.digests.clear();
        self.digests
            .extend(wanted_part.iter().map(|cell| cell.digest()));
        self.votes.clear();
        self.votes.resize(shown.len() * 2 + 1, 0);
        for at in 0..self.digests.len().saturating_sub(GRAM - 1) {
            let digest = gram(&self.digests[at..at + GRAM]);
            let position = self.positions.get(spread(digest), digest);
            if let Some(position) = position.filter(|&position| position != REPEATED) {
                self.votes[position as usize + shown.len() - at] += 1;
            }
        }
        self.votes[shown.len()] = 0;
        let (index, &votes) = self
            .votes
            .iter()
            .enumerate()
            .max_by_key(|(_, votes)| **votes)?;
        (votes as usize >= FEWEST_VOTES).then(|| index as i32 - shown.len() as i32)
    }
}

/// Keeps all cells that were added, and few others (a Bloom filter of one bit a cell).
#[derive(Default)]
struct Sieve([u64; 8]);

impl Sieve {
    /// The word and the bit of a cell.
    fn place(cell: Cell) -> (usize, u64) {
        let (one, other) = cell.halves();
        let mixed = (one ^ other.rotate_left(17)).wrapping_mul(STEP);
        ((mixed >> 61) as usize, 1 << (mixed >> 55 & 63))
    }

    fn add(&mut self, cell: Cell) {
        let (word, bit) = Self::place(cell);
        self.0[word] |= bit;
    }

    fn keeps(&self, cell: Cell) -> bool {
        let (word, bit) = Self::place(cell);
        self.0[word] & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pane of a log from row 2 on, whose first row is this line.
    fn log(first: i32) -> Screen {
        let mut screen = Screen::new(40, 12);
        screen.put(0, 0, "title", Style::default());
        for y in 2..12 {
            let number = first + i32::from(y);
            let letter = char::from(b'a' + (number % 26) as u8);
            let line = format!("{number} {}", String::from(letter).repeat(30));
            screen.put(1, y, &line, Style::default());
        }
        screen
    }

    #[test]
    fn rows_that_only_moved_are_found_without_votes() {
        let mut planner = Planner::default();
        let shown = log(100);
        for by in [1, -1, 3, -3] {
            let wanted = log(100 + by);
            planner.compare(&shown, &wanted, &Touched::default());
            let found = planner.find_plain_scroll(&shown, &wanted, &[]);
            let (top, bottom) = (2, 12);
            assert_eq!(found, Some(Scroll { top, bottom, by }));
            planner.vote_for_scrolls(&shown, &wanted);
            let most = planner.votes.iter().max();
            assert_eq!(most, Some(&planner.votes[(by + 12) as usize]));
            // A line that symbols of other rows stick out into stays where it is.
            let mut overhung = [false; 12];
            overhung[5] = true;
            assert_eq!(planner.find_plain_scroll(&shown, &wanted, &overhung), None);
        }
        for wanted in [log(500), log(105)] {
            planner.compare(&shown, &wanted, &Touched::default());
            assert_eq!(planner.find_plain_scroll(&shown, &wanted, &[]), None);
        }
    }
}
