//! Values by their frequency, in constant memory.

/// Counts and sums of values, in buckets that grow with them: small values have one each, and every power of two is
/// divided into as many parts as `PART_BITS` can number. With 0 bits a bucket holds the values from one power of two to the
/// next; with 6 bits, values are known to about 1.6 %. The greatest is known exactly.
#[derive(Clone, Debug)]
pub(crate) struct Histogram<const PART_BITS: u32> {
    buckets: Vec<(u64, u64)>,
    max: u64,
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Bucket {
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) count: u64,
    pub(crate) sum: u64,
}

impl<const PART_BITS: u32> Default for Histogram<PART_BITS> {
    fn default() -> Self {
        Self {
            buckets: vec![(0, 0); (64 - PART_BITS as usize + 1) * Self::PARTS],
            max: 0,
        }
    }
}

impl<const PART_BITS: u32> Histogram<PART_BITS> {
    const PARTS: usize = 1 << PART_BITS;

    pub(crate) fn add(&mut self, value: u64) {
        let bucket = &mut self.buckets[Self::bucket(value)];
        bucket.0 += 1;
        bucket.1 = bucket.1.saturating_add(value);
        self.max = self.max.max(value);
    }

    /// Adds another's values.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.0 += other.0;
            own.1 = own.1.saturating_add(other.1);
        }
        self.max = self.max.max(other.max);
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.0).sum()
    }

    pub(crate) fn sum(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.1).sum()
    }

    /// The greatest value exactly; 0 of none.
    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The buckets that are not empty, smallest values first.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        let all = self.buckets.iter().enumerate();
        all.filter(|(_, bucket)| bucket.0 > 0)
            .map(|(index, &(count, sum))| Bucket {
                least: index
                    .checked_sub(1)
                    .map_or(0, |before| Self::last_of(before) + 1),
                most: Self::last_of(index),
                count,
                sum,
            })
    }

    /// The bucket of the value that this share of all values do not exceed; `None` without values.
    pub(crate) fn reached(&self, share: f64) -> Option<Bucket> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets().find(|bucket| {
            seen += bucket.count;
            seen >= wanted
        })
    }

    /// The value that this share of all values do not exceed, rounded up by less than a part; 0 without values.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        self.reached(share)
            .map_or(0, |bucket| bucket.most.min(self.max))
    }

    fn bucket(value: u64) -> usize {
        if value < Self::PARTS as u64 {
            return value as usize;
        }
        let shift = value.ilog2() - PART_BITS;
        let part = (value >> shift) as usize - Self::PARTS;
        (shift as usize + 1) * Self::PARTS + part
    }

    /// The last value of a bucket.
    fn last_of(bucket: usize) -> u64 {
        if bucket < Self::PARTS {
            return bucket as u64;
        }
        let shift = (bucket / Self::PARTS - 1) as u32;
        let first = ((bucket % Self::PARTS + Self::PARTS) as u64) << shift;
        first + ((1_u64 << shift) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fine = Histogram<6>;

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_have_no_gaps() {
        for value in (0..5_000).chain((0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power - 1, power, power + power / 3]
        })) {
            let index = Fine::bucket(value);
            assert!(value <= Fine::last_of(index), "{value}");
            assert!(index == 0 || value > Fine::last_of(index - 1), "{value}");
        }
        assert_eq!(Fine::last_of(Fine::bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut histogram = Fine::default();
        let mut values: Vec<u64> = (0..10_000_u64).map(|n| n * n % 1_000_003).collect();
        values.iter().for_each(|&value| histogram.add(value));
        values.sort_unstable();
        for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
            let exact = values[(values.len() as f64 * share).ceil() as usize - 1];
            let found = histogram.quantile(share);
            assert!(found >= exact && found as f64 <= exact as f64 * 1.016 + 1.0);
        }
        assert_eq!(histogram.max(), *values.last().unwrap());
        assert_eq!(Fine::default().quantile(0.5), 0);
    }
}
