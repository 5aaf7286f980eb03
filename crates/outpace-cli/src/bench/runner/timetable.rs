//! The time for each series, so that all of them end in time.

use std::time::{Duration, Instant};

/// A time, divided among series by their weights as they come. A series that takes longer than its share shortens all
/// later ones alike.
pub(crate) struct Timetable {
    ends: Instant,
    weight_left: u32,
    /// For one of weight 1.
    longest: Duration,
}

impl Timetable {
    /// `weight` is that of all series together; `longest` is the limit of a series of weight 1.
    pub(crate) fn new(total: Duration, weight: u32, longest: Duration) -> Self {
        Self {
            ends: Instant::now() + total,
            weight_left: weight,
            longest,
        }
    }

    /// The share of the next series.
    pub(crate) fn share(&mut self, weight: u32) -> Duration {
        let left = self.ends.saturating_duration_since(Instant::now());
        let each = left / self.weight_left.max(1);
        self.weight_left = self.weight_left.saturating_sub(weight);
        each.min(self.longest) * weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_one_series_leaves_goes_to_the_others() {
        let hour = Duration::from_secs(3_600);
        let mut timetable = Timetable::new(hour, 4, hour);
        let (first, second, last) = (timetable.share(1), timetable.share(2), timetable.share(1));
        // None of them took any time.
        assert!(first <= hour / 4 && first > hour / 5, "{first:?}");
        assert!(second <= hour * 2 / 3 && second > hour / 2, "{second:?}");
        assert!(last <= hour && last > hour * 3 / 4, "{last:?}");
    }

    #[test]
    fn a_share_lies_between_zero_and_the_longest() {
        let second = Duration::from_secs(1);
        let mut timetable = Timetable::new(second * 3_600, 2, second);
        assert_eq!(timetable.share(2), second * 2);
        assert_eq!(timetable.share(1), second, "one more than was announced");
        assert_eq!(
            Timetable::new(Duration::ZERO, 1, second).share(1),
            Duration::ZERO
        );
    }
}
