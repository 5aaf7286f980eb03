//! A quantity with known bounds and a most likely value between them.

use std::ops::Add;

/// The part of the error of a sum that counts, as the ranges of its parts are wide.
const TOGETHER: f64 = 0.87;

/// From `low` to `high`, most likely `likely`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) likely: f64,
    pub(crate) high: f64,
}

impl Interval {
    pub(crate) fn of([low, likely, high]: [f64; 3]) -> Self {
        Self { low, likely, high }
    }

    /// Only the bounds are known.
    pub(crate) fn between(low: f64, high: f64) -> Self {
        debug_assert!(low <= high, "{low} to {high}");
        Self::of([low, low.midpoint(high), high])
    }

    /// Clamps all three to bounds that hold as well.
    pub(crate) fn within(self, low: f64, high: f64) -> Self {
        let bound = |value: f64| value.max(low).min(high.max(low));
        Self::of([self.low, self.likely, self.high].map(bound))
    }

    /// Clamps each to an upper bound that is itself known within bounds.
    pub(crate) fn at_most(self, most: Self) -> Self {
        let [low, likely, high] = [most.low, most.likely, most.high];
        Self::of([
            self.low.min(low),
            self.likely.min(likely),
            self.high.min(high),
        ])
    }

    /// A part of it that is itself known within bounds.
    pub(crate) fn times(self, [low, likely, high]: [f64; 3]) -> Self {
        Self::of([self.low * low, self.likely * likely, self.high * high])
    }

    /// The sum of two quantities with independent errors, which add up by their squares.
    pub(crate) fn independent(self, other: Self) -> Self {
        let sum = self + other;
        let error = |of: fn(Self) -> f64| TOGETHER * of(self).hypot(of(other));
        Self {
            low: sum.likely - error(|one| one.likely - one.low),
            high: sum.likely + error(|one| one.high - one.likely),
            ..sum
        }
    }

    /// The rest of a known quantity without this one.
    pub(crate) fn taken_from(self, whole: f64) -> Self {
        Self::of([self.high, self.likely, self.low].map(|part| whole - part))
    }
}

impl Add for Interval {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self::of([a.low + b.low, a.likely + b.likely, a.high + b.high])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_what_is_left_change_places() {
        let left = Interval {
            low: 10.0,
            likely: 20.0,
            high: 40.0,
        }
        .taken_from(100.0);
        assert_eq!((left.low, left.likely, left.high), (60.0, 80.0, 90.0));
    }

    #[test]
    fn independent_errors_add_up_by_their_squares() {
        let parts = [(0.0, 6.0), (10.0, 18.0)];
        let [one, other] = parts.map(|(low, high)| Interval::between(low, high));
        let sum = one.independent(other);
        assert_eq!((sum.low, sum.likely, sum.high), (12.65, 17.0, 21.35));
    }

    #[test]
    fn bounds_that_contradict_each_other_leave_the_lower_one() {
        assert_eq!(
            Interval::between(5.0, 9.0).within(20.0, 10.0),
            Interval::between(20.0, 20.0)
        );
    }
}
