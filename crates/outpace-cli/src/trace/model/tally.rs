//! Counting write calls: sizes, durations, newlines; and what they say about a stream's buffering.

use crate::platform::histogram;
use crate::trace::kernel::Call;
use std::collections::{BTreeMap, HashMap};

/// By power of two.
pub(crate) type Log2Histogram = histogram::Histogram<0>;

impl Log2Histogram {
    /// How much of the sum lies above what `count` typical values would have taken, counting only
    /// values of at least `least` that are far from typical: the part of the durations spent waiting. None above `most` is
    /// typical: where most calls wait, too.
    pub(crate) fn excess(&self, least: u64, most: u64) -> u64 {
        let quarter = self.reached(0.25);
        let typical = quarter.map_or(0, |bucket| (bucket.sum / bucket.count).min(most));
        let far = (typical * 8).max(least);
        let long = self.buckets().filter(|bucket| bucket.least >= far);
        long.map(|bucket| bucket.sum - bucket.count * typical).sum()
    }
}

/// Everything counted about the write calls of one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallTally {
    pub(crate) errors: u64,
    /// Calls that took fewer bytes than were offered.
    pub(crate) partial: u64,
    pub(crate) sizes: Log2Histogram,
    pub(crate) durations_ns: Log2Histogram,
    /// Calls by the name of the system call.
    pub(crate) by_name: HashMap<&'static str, u64>,
    /// Calls whose last byte was seen, and those among them where it was a newline.
    pub(crate) tails_seen: u64,
    pub(crate) line_ends: u64,
    exact_sizes: BTreeMap<u64, u64>,
}

impl CallTally {
    pub(crate) fn add(&mut self, call: &Call) {
        *self.by_name.entry(call.kind.name).or_default() += 1;
        self.durations_ns.add(call.took_ns);
        let Ok(written) = u64::try_from(call.result) else {
            self.errors += 1;
            return;
        };
        let asked = call.asked.unwrap_or(written);
        self.partial += u64::from(written < asked);
        self.sample(asked, call.ends_line);
    }

    /// Counts the size of a write and whether it ended a line, without counting a call.
    pub(crate) fn sample(&mut self, size: u64, ends_line: Option<bool>) {
        let size = size.min(LARGEST);
        // A full buffer ends where it is full.
        let ends_line = ends_line.filter(|ends| *ends || !size.is_multiple_of(SMALLEST_BLOCK));
        self.sizes.add(size);
        *self.exact_sizes.entry(size).or_default() += 1;
        self.tails_seen += u64::from(ends_line.is_some());
        self.line_ends += u64::from(ends_line == Some(true));
    }

    /// Adds the [samples](Self::sample) of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.errors += other.errors;
        self.tails_seen += other.tails_seen;
        self.line_ends += other.line_ends;
        self.sizes.merge(&other.sizes);
        for (size, count) in &other.exact_sizes {
            *self.exact_sizes.entry(*size).or_default() += count;
        }
    }

    /// The mean size of the writes, if they are enough to show that.
    pub(crate) fn mean_size(&self) -> Option<u64> {
        let writes = self.sizes.count();
        (writes >= FEWEST).then(|| self.sizes.sum() / writes)
    }

    /// The buffering that the writes show. Never a guess: two writers that make the same
    /// system calls get the same name, and too few writes get none.
    pub(crate) fn buffering(&self) -> Buffering {
        let writes = self.sizes.count();
        self.as_blocks(writes).unwrap_or_else(|| match writes {
            0 => Buffering::Nothing,
            1..FEWEST => Buffering::TooFew,
            // The middle: a few large ones beside small ones change the mean.
            _ if self.sizes.quantile(0.5) >= SMALLEST_BLOCK => Buffering::Large,
            _ if self.tails_seen < FEWEST => Buffering::Small,
            _ if self.end_lines() => Buffering::Line,
            _ => Buffering::Unbuffered,
        })
    }

    /// Whether nearly all of the writes end lines, as far as that was seen.
    fn end_lines(&self) -> bool {
        self.tails_seen >= FEWEST && self.line_ends as f64 >= self.tails_seen as f64 * NEARLY_ALL
    }

    /// A buffer that is written when full shows as writes of its size (C's stdio splits a message at
    /// the end of the buffer), or just below it (those that keep messages whole), but for the last.
    fn as_blocks(&self, writes: u64) -> Option<Buffering> {
        let sizes = self.exact_sizes.iter();
        let (&favourite, count) = sizes.max_by_key(|(size, count)| (**count, **size))?;
        if writes >= 3 && favourite >= SMALLEST_BLOCK && count * 2 >= writes {
            let capacity = customary(favourite);
            let is_near = capacity.abs_diff(favourite) <= APPENDED;
            // Whole lines of a size that no buffer has are messages.
            let is_block = is_near || !self.end_lines();
            let capacity = [favourite, capacity][usize::from(is_near)];
            return is_block.then_some(Buffering::Block { capacity });
        }
        let largest = *self.exact_sizes.last_key_value()?.0;
        // The rest at the end of a block may come as a small write of its own (Rust's
        // `BufWriter` above its `LineWriter`): so blocks are known by the bytes they carry.
        let large = self.exact_sizes.range(largest - largest / 8..);
        let (blocks, carried) = large.fold((0, 0), |(blocks, bytes), (size, count)| {
            (blocks + count, bytes + size * count)
        });
        // Of a few writes that were seen, the program's last one may be a large part.
        let rest = self.exact_sizes.range(..largest - largest / 8).next_back();
        let others = self.sizes.sum() - rest.map_or(0, |(size, _)| *size);
        let carries_all = carried as f64 >= others as f64 * CARRIED;
        let capacity = customary(largest);
        let is_full = largest >= SMALLEST_BLOCK && capacity.abs_diff(largest) <= capacity / 8;
        let are_blocks = blocks >= 3 && is_full && carries_all && blocks * 5 >= writes * 2;
        are_blocks.then_some(Buffering::Block { capacity })
    }
}

/// No call writes more, whatever it was asked for.
const LARGEST: u64 = 0x7fff_f000;
/// Fewer writes than this have no pattern.
pub(crate) const FEWEST: u64 = 8;
/// Smaller blocks look like messages.
const SMALLEST_BLOCK: u64 = 512;
/// As much as a short message that was appended to a full buffer.
const APPENDED: u64 = 32;
/// The share of the bytes that is in full blocks, when the stream is long enough to tell.
const CARRIED: f64 = 0.9;
/// All but a few stray writes.
const NEARLY_ALL: f64 = 0.95;

/// The capacity of a buffer that is written in sizes up to this one: a power of two. Some libraries
/// append the message that did not fit, so that writes are a little larger than the buffer.
fn customary(size: u64) -> u64 {
    let below = (size / 2 + 1).next_power_of_two();
    [size.next_power_of_two(), below][usize::from(size.abs_diff(below) <= below / 32)]
}

/// How a stream is buffered, as far as its system calls tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Buffering {
    /// A write for every message or fragment.
    Unbuffered,
    /// A write for every line, or for several whole ones.
    Line,
    /// A write for every `capacity` bytes, or a few more or fewer.
    Block { capacity: u64 },
    /// Small writes, of which this mode cannot tell whether they are lines.
    Small,
    /// Large writes, of no buffer's size.
    Large,
    /// Too few writes to tell.
    TooFew,
    /// Nothing was written.
    Nothing,
    /// This mode cannot tell.
    #[default]
    Unknown,
}

impl Buffering {
    /// The buffering that the sums alone show: full blocks and a rest, or blocks a little below a customary size, which keep
    /// messages whole. No other buffering has such a mean.
    pub(crate) fn of_sums(calls: u64, bytes: u64) -> Option<Self> {
        let mean = bytes / calls.max(1);
        let capacity = mean.next_power_of_two();
        if calls < FEWEST || capacity < 2 * SMALLEST_BLOCK {
            return None;
        }
        let is_full = bytes > capacity * (calls - 1);
        // Just below 4096 they may also be blocks of 8192 and rests of them, in turn.
        let is_nearly = capacity > 4096 && capacity - mean <= capacity / 50;
        (bytes <= capacity * calls && (is_full || is_nearly)).then_some(Self::Block { capacity })
    }

    /// The word for JSON, and what a report says of it.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Unbuffered => ("unbuffered", "unbuffered: a write per message or fragment"),
            Self::Line => ("line", "line-buffered: every write ends a line"),
            Self::Block { .. } => ("block", "block-buffered: blocks of up to"),
            Self::Small => ("small writes", "small writes: lines or parts of lines"),
            Self::Large => ("large writes", "large writes, of no buffer's size"),
            Self::TooFew => ("too few writes", "too few writes to tell"),
            Self::Nothing => ("nothing written", "nothing was written"),
            Self::Unknown => ("unknown", "how it is buffered could not be seen"),
        }
    }

    /// The phrase for reports.
    pub(crate) fn describe(self) -> String {
        let phrase = self.words().1;
        match self {
            Self::Block { capacity } => format!("{phrase} {capacity} bytes"),
            _ => phrase.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sizes: impl IntoIterator<Item = u64>, ends_line: Option<bool>) -> Buffering {
        let mut tally = CallTally::default();
        sizes
            .into_iter()
            .for_each(|size| tally.sample(size, ends_line));
        tally.buffering()
    }

    #[test]
    fn writes_of_one_size_and_a_last_one_are_blocks_of_that_size() {
        let expected = Buffering::Block { capacity: 4096 };
        assert_eq!(of([4096, 4096, 4096, 17], Some(false)), expected);
    }

    #[test]
    fn writes_of_any_size_that_a_program_may_ask_for_are_counted() {
        assert_eq!(of([0; 40], None), Buffering::Small);
        assert_eq!(
            of([u64::MAX; 40], None),
            Buffering::Block { capacity: LARGEST }
        );
    }

    #[test]
    fn writes_just_below_a_power_of_two_are_blocks_that_keep_messages_whole() {
        let expected = Buffering::Block { capacity: 8192 };
        assert_eq!(
            of((0..100).map(|n| 8192 - n % 7).chain([40]), Some(true)),
            expected
        );
    }

    #[test]
    fn blocks_with_small_rests_between_them_are_blocks() {
        let expected = Buffering::Block { capacity: 8192 };
        assert_eq!(
            of(
                (0..100).flat_map(|n| [8192 - n % 11, 1 + n % 11]),
                Some(true)
            ),
            expected
        );
    }

    #[test]
    fn the_last_write_of_few_may_be_of_any_size() {
        let expected = Buffering::Block { capacity: 8192 };
        let sizes = [8190, 8184, 5, 8190, 8184, 5, 8190, 6561];
        assert_eq!(of(sizes, Some(true)), expected);
    }

    #[test]
    fn a_few_large_writes_among_lines_are_no_blocks() {
        let sizes = (0..1000).map(|n| if n % 300 == 0 { 60_000 } else { 10 });
        assert_eq!(of(sizes, Some(true)), Buffering::Line);
        // Even where these have nearly all of the bytes.
        let sizes = (0..1000).map(|n| if n % 26 == 0 { 65_536 } else { 9 });
        assert_eq!(of(sizes, Some(true)), Buffering::Line);
    }

    #[test]
    fn small_writes_are_lines_only_when_they_are_seen_to_end_them() {
        let sizes = || (0..1000).map(|n| 2 + n % 6);
        assert_eq!(of(sizes(), Some(true)), Buffering::Line);
        assert_eq!(of(sizes(), Some(false)), Buffering::Unbuffered);
        assert_eq!(of(sizes(), None), Buffering::Small);
    }

    #[test]
    fn large_messages_far_below_any_customary_capacity_are_no_blocks() {
        let sizes = [
            90_112, 90_112, 90_112, 96_608, 98_304, 98_304, 98_304, 40_704,
        ];
        assert_eq!(of(sizes, Some(true)), Buffering::Large);
    }

    #[test]
    fn frames_of_one_size_that_end_lines_are_no_blocks() {
        let frames = |size| vec![size; 100];
        assert_eq!(of(frames(2000), Some(true)), Buffering::Large);
        for (size, ends, capacity) in [
            (2000, None, 2000),
            (4096, Some(true), 4096),
            (1030, Some(true), 1024),
        ] {
            assert_eq!(of(frames(size), ends), Buffering::Block { capacity });
        }
    }

    #[test]
    fn a_line_buffer_that_is_full_is_written_where_it_ends() {
        let mut tally = CallTally::default();
        // As of `seq` on a terminal.
        for n in 0..200 {
            let (size, ends_line) = [(7, true), (1024, false)][usize::from(n % 10 == 0)];
            tally.sample(size, Some(ends_line));
        }
        assert_eq!(tally.buffering(), Buffering::Line);
    }

    #[test]
    fn two_writes_have_no_pattern() {
        assert_eq!(of([6, 6], Some(true)), Buffering::TooFew);
        assert_eq!(of([], None), Buffering::Nothing);
    }

    #[test]
    fn the_sum_and_count_of_a_histogram_are_those_of_its_values() {
        let mut histogram = Log2Histogram::default();
        let values = [0, 1, 2, 3, 4, 1000, u64::from(u32::MAX)];
        values.iter().for_each(|value| histogram.add(*value));
        assert_eq!(histogram.count(), values.len() as u64);
        assert_eq!(histogram.sum(), values.iter().sum::<u64>());
        for bucket in histogram.buckets() {
            let inside = values
                .iter()
                .filter(|v| (bucket.least..=bucket.most).contains(v));
            assert_eq!(inside.count() as u64, bucket.count, "{bucket:?}");
        }
    }

    #[test]
    fn only_durations_far_from_typical_count_as_waiting() {
        let mut histogram = Log2Histogram::default();
        (0..1000).for_each(|_| histogram.add(800));
        assert_eq!(histogram.excess(10_000, 1_000), 0);
        histogram.add(5_000_800);
        assert_eq!(histogram.excess(10_000, 1_000), 5_000_000);
        // All of them wait.
        let mut histogram = Log2Histogram::default();
        (0..10).for_each(|_| histogram.add(5_001_000));
        assert_eq!(histogram.excess(10_000, 1_000), 50_000_000);
    }
}
