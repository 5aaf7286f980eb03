//! The figures a verdict is computed from, and nothing else.

use super::rows::Row;
use super::stats::Ratio;

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

    /// The time a message costs its caller, in nanoseconds.
    pub(crate) fn caller(&self, rung: &str, to: &str) -> Option<f64> {
        let row = self.row(rung, to)?;
        row.per_message(row.caller_ns)
    }

    /// Write calls for a thousand messages.
    pub(crate) fn writes(&self, rung: &str, to: &str) -> Option<f64> {
        let row = self.row(rung, to)?;
        Some(row.writes? as f64 * 1_000.0 / row.messages.max(1) as f64)
    }

    /// Frames a second.
    pub(crate) fn fps(&self, rung: &str, to: &str) -> Option<f64> {
        self.row(rung, to)?.fps()
    }

    /// How many times as long one rung takes as another: by pairs of the same round where there
    /// are such, so that what slowed the machine in one round does not count.
    pub(crate) fn ratio(&self, rung: &str, against: &str, to: &str) -> Option<f64> {
        let (row, against) = (self.row(rung, to)?, self.row(against, to)?);
        match Ratio::paired(&row.times(), &against.times()) {
            Some(ratio) => Some(ratio.median),
            None => Some(row.wall_per_message()? / against.wall_per_message()?),
        }
    }
}

fn rank(row: &Row) -> f64 {
    row.wall_per_message().unwrap_or(f64::INFINITY)
}

/// A rung's name without the compiler that built it.
pub(crate) fn base_name(rung: &str) -> &str {
    rung.split_once('.').map_or(rung, |(name, _)| name)
}

/// Rows with the given wall times a message, for the tests of verdicts.
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
    fn the_best_of_several_compilers_stands_for_the_rung() {
        let rows = rows_of(
            "ladder",
            &[("turbo-c.gcc", "null", 6), ("turbo-c.clang", "null", 4)],
        );
        let figures = Figures::new("ladder", &rows);
        assert_eq!(figures.wall("turbo-c", "null"), Some(4.0));
        assert_eq!(figures.wall("turbo-c", "pipe"), None);
    }
}
