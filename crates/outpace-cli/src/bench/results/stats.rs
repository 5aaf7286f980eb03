//! Medians, spreads, paired ratios and outliers.

use serde::{Deserialize, Serialize};

/// The times of several runs of one rung, with the extremes and without an average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) min: u64,
    /// A quarter of the runs took less. Other programs move it less than the median, and a single lucky run does not move
    /// it at all. `None` of few runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lower_quartile: Option<u64>,
    pub(crate) median: u64,
    pub(crate) max: u64,
    /// The maximum less the time its run waited for a processor, where the kernel keeps that and one thread did the
    /// work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_less_delay: Option<u64>,
}

impl Spread {
    /// The spread of some values; `None` of none.
    pub(crate) fn of(values: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        Some(Self {
            min: *values.first()?,
            lower_quartile: (values.len() >= 4).then(|| values[values.len() / 4]),
            median: u64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]),
            max: *values.last()?,
            max_less_delay: None,
        })
    }

    /// The same for values that each come with the time the run waited for a processor.
    pub(crate) fn with_delays(values: &[(u64, Option<u64>)]) -> Option<Self> {
        let spread = Self::of(values.iter().map(|&(value, _)| value))?;
        let &(value, delay) = values.iter().max_by_key(|&&(value, _)| value)?;
        let max_less_delay = delay.map(|delay| value.saturating_sub(delay));
        Some(Self {
            max_less_delay,
            ..spread
        })
    }
}

/// The ratios of pairs of runs, each pair from the same round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ratio {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Ratio {
    /// The ratio of each value to its partner; `None` when no pair can be divided.
    pub(crate) fn paired(values: &[f64], baseline: &[f64]) -> Option<Self> {
        let pairs = values.iter().zip(baseline);
        let ratios = sorted(
            &pairs
                .map(|(value, other)| value / other)
                .collect::<Vec<_>>(),
        );
        Some(Self {
            min: *ratios.first()?,
            median: middle(&ratios)?,
            max: *ratios.last()?,
        })
    }
}

/// The confidence interval of a median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ConfidenceInterval {
    pub(crate) low: f64,
    pub(crate) middle: f64,
    pub(crate) high: f64,
}

impl ConfidenceInterval {
    /// By order statistics: between these ranks the median lies in about 95 of 100 cases, for any distribution
    /// (Conover, Practical Nonparametric Statistics, 3.2). Fewer than five values promise less: their extremes are
    /// moved apart by the distance between them. `None` of fewer than two, whose noise is unknown.
    pub(crate) fn of_median(values: &[f64]) -> Option<Self> {
        let values = sorted(values);
        let count = values.len();
        if count < 2 {
            return None;
        }
        let middle = middle(&values)?;
        let rank = ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).max(0.0) as usize;
        let (mut low, mut high) = (values[rank], values[count - 1 - rank]);
        if count < 5 {
            let apart = high - low;
            (low, high) = (low - apart, high + apart);
        }
        Some(Self { low, middle, high })
    }

    /// The interval of the ratios of pairs from the same round.
    pub(crate) fn of_ratio(values: &[f64], baseline: &[f64]) -> Option<Self> {
        let pairs = values.iter().zip(baseline);
        let ratios: Vec<f64> = pairs.map(|(value, baseline)| value / baseline).collect();
        Self::of_median(&ratios)
    }

    /// Whether no value lies in both.
    pub(crate) fn is_apart_from(self, other: Self) -> bool {
        self.high < other.low || other.high < self.low
    }

    /// The same in another unit.
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            middle: self.middle * factor,
            high: self.high * factor,
        }
    }

    /// Half its width as a share of the middle.
    pub(crate) fn noise(self) -> f64 {
        (self.high - self.low) / 2.0 / self.middle.abs().max(f64::MIN_POSITIVE)
    }

    /// Whether the noise is larger than the value, so that there is no figure.
    pub(crate) fn is_noise(self) -> bool {
        self.noise() > 1.0
    }
}

/// The finite ones of some values, in their order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The median of sorted values; `None` of none.
pub(crate) fn middle(sorted: &[f64]) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    Some(f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]))
}

/// The median of values in any order; 0 of none.
pub(crate) fn median(values: &[u64]) -> u64 {
    Spread::of(values.iter().copied()).map_or(0, |spread| spread.median)
}

/// The half-width of the noise around a median: the median distance from it, scaled so that it
/// compares with a standard deviation (Iglewicz and Hoaglin, 1993).
pub(crate) fn noise(values: &[u64]) -> f64 {
    let middle = median(values);
    let distances: Vec<u64> = values.iter().map(|value| value.abs_diff(middle)).collect();
    median(&distances) as f64 * 1.4826
}

/// The number of values that lie so far above the median that another program must have run: by more than 3.5
/// times the noise, and by at least a quarter of the median.
pub(crate) fn outliers(values: &[u64]) -> usize {
    let middle = median(values) as f64;
    let limit = middle + (3.5 * noise(values)).max(middle / 4.0);
    values.iter().filter(|&&value| value as f64 > limit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_middle_and_the_extremes() {
        let spread = Spread::of([5, 1, 9]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max), (1, 5, 9));
        assert_eq!(Spread::of([4, 2]).unwrap().median, 3);
        assert_eq!(Spread::of([4, 2]).unwrap().lower_quartile, None);
        let eight = Spread::of([8, 1, 7, 2, 6, 3, 5, 4]).unwrap();
        assert_eq!(eight.lower_quartile, Some(3));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn the_delay_is_taken_from_the_maximum_of_its_own_run() {
        let spread = Spread::with_delays(&[(10, Some(9)), (50, Some(30)), (20, Some(0))]).unwrap();
        assert_eq!(spread.max, 50);
        assert_eq!(spread.max_less_delay, Some(20));
        assert_eq!(
            Spread::with_delays(&[(5, None)]).unwrap().max_less_delay,
            None
        );
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine slows down threefold meanwhile: the ratio of each pair stays one half.
        let ratio = Ratio::paired(&[10.0, 20.0, 30.0], &[20.0, 40.0, 60.0]).unwrap();
        assert!((ratio.median - 0.5).abs() < 1e-9 && (ratio.max - 0.5).abs() < 1e-9);
        assert_eq!(Ratio::paired(&[1.0], &[0.0]), None);
        assert_eq!(Ratio::paired(&[], &[]), None);
    }

    #[test]
    fn an_interval_needs_two_values_and_narrows_with_their_number() {
        let of =
            |values: &[f64]| ConfidenceInterval::of_median(values).map(|all| (all.low, all.high));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[5.0]), None);
        assert_eq!(of(&[4.0, 6.0]), Some((2.0, 8.0)), "moved apart");
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some((1.0, 5.0)));
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(of(&ten), Some((2.0, 9.0)), "the second and the ninth");
        assert_eq!(ConfidenceInterval::of_ratio(&[1.0], &[0.0]), None);
    }

    #[test]
    fn one_run_that_took_twice_as_long_is_an_outlier_and_even_noise_is_not() {
        assert_eq!(outliers(&[100, 101, 99, 100, 200]), 1);
        assert_eq!(outliers(&[100, 110, 90, 105, 95]), 0);
        assert_eq!(outliers(&[]), 0);
    }
}
