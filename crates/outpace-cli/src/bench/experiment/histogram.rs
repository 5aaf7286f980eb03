//! Times by their frequency, in constant memory, to about 1.6 %.

/// Each power of two is divided into so many parts, as a power of two.
const PART_BITS: u32 = 6;
const PARTS: usize = 1 << PART_BITS;

/// Counts of values, in buckets that grow with them; the extremes exactly.
#[derive(Clone)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; (64 - PART_BITS as usize + 1) * PARTS],
            count: 0,
            max: 0,
        }
    }

    pub(crate) fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.count += 1;
        self.max = self.max.max(value);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The greatest value exactly; 0 of none.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The value that so large a share of the values do not exceed, rounded up by less than a part;
    /// 0 of none.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return last_of(index).min(self.max);
            }
        }
        self.max
    }
}

/// Small values have a bucket each; then every power of two has `PARTS`.
fn bucket(value: u64) -> usize {
    if value < PARTS as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - PART_BITS;
    let part = (value >> shift) as usize - PARTS;
    (shift as usize + 1) * PARTS + part
}

/// The last value of a bucket.
fn last_of(bucket: usize) -> u64 {
    if bucket < PARTS {
        return bucket as u64;
    }
    let shift = (bucket / PARTS - 1) as u32;
    let first = ((bucket % PARTS + PARTS) as u64) << shift;
    first + ((1_u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_have_no_gaps() {
        for value in (0..5_000).chain((0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + power / 3]
        })) {
            let index = bucket(value);
            assert!(value <= last_of(index), "{value}");
            assert!(index == 0 || value > last_of(index - 1), "{value}");
        }
        assert_eq!(last_of(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut histogram = Histogram::new();
        let mut values: Vec<u64> = (0..10_000_u64).map(|n| n * n % 1_000_003).collect();
        values.iter().for_each(|&value| histogram.record(value));
        values.sort_unstable();
        for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let exact = values[(values.len() as f64 * share).ceil() as usize - 1];
            let found = histogram.quantile(share);
            assert!(found >= exact && found as f64 <= exact as f64 * 1.016 + 1.0);
        }
        assert_eq!(histogram.max(), *values.last().unwrap());
        assert_eq!(Histogram::new().quantile(0.5), 0);
    }
}
