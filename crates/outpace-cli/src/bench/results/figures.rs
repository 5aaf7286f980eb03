//! The figures that conclusions are computed from.

use std::cmp::Ordering;

use super::rows::Row;
use super::stats::ConfidenceInterval;
use crate::user::quantity::times;

/// The rows of one experiment.
pub(crate) struct Figures<'a> {
    rows: &'a [Row],
    experiment: &'a str,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(experiment: &'a str, rows: &'a [Row]) -> Self {
        Self { rows, experiment }
    }

    /// The rows of this experiment that ran.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        let experiment = self.experiment;
        self.rows.iter().filter(move |row| {
            row.experiment == experiment && row.skipped.is_none() && row.failed.is_none()
        })
    }

    /// The destinations that have rows, in their order.
    pub(crate) fn destinations(&self) -> Vec<&'a str> {
        let mut destinations: Vec<&str> = Vec::new();
        for row in self.rows() {
            if !destinations.contains(&row.to.as_str()) {
                destinations.push(&row.to);
            }
        }
        destinations
    }

    /// Sentences on each destination that has rows, in their order.
    pub(crate) fn at_each<S: IntoIterator<Item = String>>(
        &self,
        say: impl FnMut(&'a str) -> S,
    ) -> Vec<String> {
        self.destinations().into_iter().flat_map(say).collect()
    }

    /// The row of a rung at a destination: of several compilers' the fastest.
    pub(crate) fn row(&self, rung: &str, to: &str) -> Option<&'a Row> {
        self.rows()
            .filter(|row| row.to == to && base_name(&row.rung) == rung)
            .min_by(|one, other| rank(one).total_cmp(&rank(other)))
    }

    /// The wall time a message costs, in nanoseconds.
    pub(crate) fn wall(&self, rung: &str, to: &str) -> Option<f64> {
        self.row(rung, to)?.wall_per_message()
    }

    /// Write calls for a thousand messages.
    pub(crate) fn writes(&self, rung: &str, to: &str) -> Option<f64> {
        Some(self.row(rung, to)?.writes_per_message()? * 1_000.0)
    }

    /// How many times as long one rung takes as another.
    pub(crate) fn compare(&self, rung: &str, against: &str, to: &str) -> Option<Compared> {
        Some(Compared::of(self.row(rung, to)?, self.row(against, to)?))
    }

    /// The same as a sentence; `None` where one of them has no row.
    pub(crate) fn sentence(
        &self,
        rung: &str,
        against: &str,
        to: &str,
        say: impl FnOnce(Ordering, f64) -> String,
    ) -> Option<String> {
        let compared = self.compare(rung, against, to)?;
        Some(compared.sentence(rung, against, to, say))
    }

    /// The rungs at a destination, the fastest first, each with the time of a message.
    pub(crate) fn ranked(
        &self,
        to: &str,
        takes_part: impl Fn(&Row) -> bool,
    ) -> Vec<(f64, &'a Row)> {
        let mut ranked: Vec<(f64, &Row)> = self
            .rows()
            .filter(|row| row.to == to && takes_part(row))
            .filter_map(|row| Some((row.wall_per_message()?, row)))
            .collect();
        ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        ranked
    }

    /// The rungs that draw at a destination, the most frames a second first.
    pub(crate) fn by_frames(&self, to: &str, takes_part: impl Fn(&Row) -> bool) -> Vec<&'a Row> {
        let rows = self.rows().filter(|row| row.to == to && takes_part(row));
        let mut drawn: Vec<(f64, &Row)> = rows.filter_map(|row| Some((row.fps()?, row))).collect();
        drawn.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        drawn.into_iter().map(|(_, row)| row).collect()
    }
}

/// The outcome of comparing the runs of two rungs. A difference needs intervals of the two times that are apart, and an
/// interval of their ratio without 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Compared {
    /// The first takes less time, by this factor, which is below 1.
    Less(f64),
    /// Neither is faster by a tenth.
    Same,
    /// The first takes more time, by this factor.
    More(f64),
    /// The noise is larger than the difference. `None`: there was one run only.
    Open(Option<ConfidenceInterval>),
}

impl Compared {
    /// Two rungs are equal within this factor.
    const EQUAL: f64 = 1.1;

    /// Compares by pairs of the same round, so that a disturbance in one round does not count.
    pub(crate) fn of(row: &Row, against: &Row) -> Self {
        let ratio = ConfidenceInterval::of_ratio(&row.times(), &against.times());
        let (Some(ratio), Some(own), Some(other)) = (ratio, row.interval(), against.interval())
        else {
            return Self::Open(None);
        };
        let apart = own.is_apart_from(other);
        if ratio.low >= 1.0 / Self::EQUAL && ratio.high <= Self::EQUAL {
            Self::Same
        } else if apart && ratio.low > 1.0 {
            Self::More(ratio.middle)
        } else if apart && ratio.high < 1.0 {
            Self::Less(ratio.middle)
        } else {
            Self::Open(Some(ratio))
        }
    }

    /// The factor, where there is a difference.
    pub(crate) fn factor(self) -> Option<f64> {
        match self {
            Self::Less(factor) | Self::More(factor) => Some(factor),
            Self::Same | Self::Open(_) => None,
        }
    }

    /// The sentence that `say` makes of the order of the two times and their ratio, or that the noise hides the order.
    pub(crate) fn sentence(
        self,
        rung: &str,
        against: &str,
        to: &str,
        say: impl FnOnce(Ordering, f64) -> String,
    ) -> String {
        match self {
            Self::Less(factor) => say(Ordering::Less, factor),
            Self::Same => say(Ordering::Equal, 1.0),
            Self::More(factor) => say(Ordering::Greater, factor),
            Self::Open(_) => self.unsettled(rung, against, to).unwrap_or_default(),
        }
    }

    /// The sentence that the noise hides the order of the two, else `None`.
    pub(crate) fn unsettled(self, rung: &str, against: &str, to: &str) -> Option<String> {
        match self {
            Self::Open(None) => Some(format!(
                "To {to} {rung} and {against} ran once only: one run tells nothing."
            )),
            Self::Open(Some(ratio)) => {
                let range = if ratio.low > 1.0 || ratio.high < 1.0 {
                    // Round by round there was a difference; no run of the one is beyond those of the other.
                    "their times overlap".to_owned()
                } else if ratio.low <= 0.0 {
                    format!("up to {}", times(ratio.high))
                } else {
                    format!("{} to {}", times(ratio.low), times(ratio.high))
                };
                Some(format!(
                    "To {to} the noise hides whether {rung} or {against} is faster ({range})."
                ))
            }
            _ => None,
        }
    }
}

/// The names of the best row and of those behind it, as far as the noise hides a difference.
pub(crate) fn leaders<'a>(ranked: &[(f64, &'a Row)]) -> Vec<&'a str> {
    let Some((_, best)) = ranked.first() else {
        return Vec::new();
    };
    let also = ranked[1..]
        .iter()
        .take_while(|(_, row)| !matches!(Compared::of(row, best), Compared::More(_)));
    let others = also.map(|(_, row)| row.rung.as_str());
    [best.rung.as_str()].into_iter().chain(others).collect()
}

/// Names in a sentence.
pub(crate) fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Names in a sentence: of many the first.
pub(crate) fn first_of(names: &[&str]) -> String {
    const MOST: usize = 5;
    if names.len() <= MOST + 1 {
        return joined(names);
    }
    let more = format!("{} more", names.len() - MOST);
    joined(&[&names[..MOST], &[&more]].concat())
}

fn rank(row: &Row) -> f64 {
    row.wall_per_message().unwrap_or(f64::INFINITY)
}

/// A destination in a sentence.
pub(crate) fn into(to: &str) -> String {
    match to {
        "null" => "into the null device".to_owned(),
        "pipe" => "into a pipe".to_owned(),
        "file" => "into a file".to_owned(),
        "tmpfs" => "into a file in memory".to_owned(),
        "pty" => "to a terminal that reads at once".to_owned(),
        "pty:stalled" => "to a terminal that stands still".to_owned(),
        "tty" => "to this terminal".to_owned(),
        other => format!("to {other}"),
    }
}

/// A rung's name without the compiler that built it.
pub(crate) fn base_name(rung: &str) -> &str {
    rung.split_once('.').map_or(rung, |(name, _)| name)
}

/// Rows with the given wall times a message, for the tests of conclusions.
#[cfg(test)]
pub(crate) fn rows_of(experiment: &str, figures: &[(&str, &str, u64)]) -> Vec<Row> {
    use super::stats::Spread;
    let row = |&(rung, to, ns): &(&str, &str, u64)| Row {
        experiment: experiment.to_owned(),
        rung: rung.to_owned(),
        to: to.to_owned(),
        messages: 1_000,
        bytes: 7_000,
        runs: 10,
        wall_ns: Spread::of([ns * 1_000]),
        caller_ns: Spread::of([ns * 1_000]),
        cpu_ns: Spread::of([ns * 1_000]),
        writes: Some(1_000),
        samples: vec![ns * 1_000; 10],
        verified: true,
        ..Row::default()
    };
    figures.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_beside_the_word_noise_never_excludes_that_they_are_equal() {
        let range = |low, high| {
            let middle = f64::midpoint(low, high);
            Compared::Open(Some(ConfidenceInterval { low, middle, high }))
                .unsettled("a", "b", "pty")
        };
        let said = |range: &str| {
            Some(format!(
                "To pty the noise hides whether a or b is faster ({range})."
            ))
        };
        assert_eq!(range(0.5, 2.0), said("0.50x to 2.00x"));
        assert_eq!(range(-3.0, 2.0), said("up to 2.00x"));
        assert_eq!(range(1.24, 4.17), said("their times overlap"));
        assert_eq!(range(0.2, 0.9), said("their times overlap"));
    }

    #[test]
    fn the_best_of_several_compilers_stands_for_the_rung() {
        let rows = rows_of(
            "ladder",
            &[("turbo-c.gcc", "null", 6), ("turbo-c.clang", "null", 4)],
        );
        let figures = Figures::new("ladder", &rows);
        assert_eq!(figures.wall("turbo-c", "null"), Some(4.0));
        assert_eq!(figures.wall("turbo-c", "pipe"), None);
    }

    fn compared(one: &[u64], other: &[u64]) -> Compared {
        let mut rows = rows_of("lines", &[("a", "pipe", 1), ("b", "pipe", 1)]);
        (rows[0].samples, rows[1].samples) = (one.to_vec(), other.to_vec());
        Compared::of(&rows[0], &rows[1])
    }

    #[test]
    fn a_difference_needs_intervals_that_are_apart() {
        assert_eq!(compared(&[50; 10], &[100; 10]), Compared::Less(0.5));
        assert_eq!(compared(&[200; 10], &[100; 10]), Compared::More(2.0));
        assert_eq!(compared(&[105; 10], &[100; 10]), Compared::Same);
        let noisy = [40, 160, 45, 150, 170, 50, 300, 60, 155, 44];
        assert!(matches!(
            compared(&noisy, &[100; 10]),
            Compared::Open(Some(_))
        ));
        assert_eq!(compared(&[50], &[100]), Compared::Open(None), "one run");
        // Each pair is a half, but the machine wandered so far that the rows overlap.
        let wandering: Vec<u64> = (1..=10).map(|n| n * n * 10).collect();
        let doubled: Vec<u64> = wandering.iter().map(|time| time * 2).collect();
        assert!(matches!(
            compared(&wandering, &doubled),
            Compared::Open(Some(_))
        ));
    }

    #[test]
    fn rows_within_the_noise_of_the_best_share_its_place() {
        let mut rows = rows_of(
            "lines",
            &[("a", "pipe", 10), ("b", "pipe", 11), ("c", "pipe", 40)],
        );
        rows[1].samples = vec![8_000, 14_000, 9_000, 15_000, 11_000];
        let figures = Figures::new("lines", &rows);
        let best = leaders(&figures.ranked("pipe", |_| true));
        assert_eq!(joined(&best), "a and b");
        assert_eq!(
            first_of(&["a", "b", "c", "d", "e", "f"]),
            "a, b, c, d, e and f"
        );
        assert_eq!(
            first_of(&["a", "b", "c", "d", "e", "f", "g"]),
            "a, b, c, d, e and 2 more"
        );
    }
}
