//! The same rungs in several files of results: what changed beyond the noise.

use std::path::Path;

use super::table::{Heading, Line, Table};
use crate::bench::results::figures::base_name;
use crate::bench::results::rows::{Results, Row};
use crate::bench::results::stats;
use crate::user::quantity::{duration, times};

/// Results with the name they are shown under.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) results: Results,
}

impl Named {
    pub(crate) fn new(path: &Path, results: Results) -> Self {
        let name = path
            .file_stem()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        Self { name, results }
    }
}

/// What the figures of different files may be compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yardstick {
    /// Times, as the machine is the same.
    Times,
    /// Ratios to the baseline of the same run, as the machines differ.
    Ratios,
}

impl Yardstick {
    pub(crate) fn of(files: &[Named]) -> Self {
        let hardware = |file: &Named| {
            let machine = &file.results.machine;
            (machine.cpu.clone(), machine.cores)
        };
        let same = files
            .windows(2)
            .all(|pair| hardware(&pair[0]) == hardware(&pair[1]));
        if same { Self::Times } else { Self::Ratios }
    }

    /// With the noise, where several runs tell it.
    fn show(self, row: &Row) -> Option<String> {
        let figure = match self {
            Self::Times => row.wall_per_message().map(duration),
            Self::Ratios => row.ratio.map(|ratio| times(ratio.median)),
        }?;
        let noise = row.interval().map(|all| all.noise() * 100.0);
        Some(noise.map_or(figure.clone(), |noise| format!("{figure} ±{noise:.0} %")))
    }

    /// The figure and the half-width of its noise.
    fn figure(self, row: &Row) -> Option<(f64, f64)> {
        match self {
            Self::Times => {
                let messages = row.messages.max(1) as f64;
                Some((
                    row.wall_per_message()?,
                    stats::noise(&row.samples) / messages,
                ))
            }
            Self::Ratios => {
                let ratio = row.ratio?;
                let wall = row.wall_ns?.median.max(1) as f64;
                Some((
                    ratio.median,
                    ratio.median * stats::noise(&row.samples) / wall,
                ))
            }
        }
    }

    /// How many times as much the second row has, if that is more than noise: over three times
    /// the noise of both together, and over 5 %.
    fn change(self, before: &Row, after: &Row) -> Option<f64> {
        let ((old, old_noise), (new, new_noise)) = (self.figure(before)?, self.figure(after)?);
        let apart = (new - old).abs();
        let beyond = apart > 3.0 * old_noise.hypot(new_noise) && apart > 0.05 * old;
        (beyond && old > 0.0).then(|| new / old)
    }
}

/// A table for each experiment and destination that several files have.
pub(crate) fn tables(files: &[Named], yardstick: Yardstick) -> Vec<Table> {
    let Some((first, others)) = files.split_first() else {
        return Vec::new();
    };
    let mut places: Vec<(&str, &str)> = Vec::new();
    for row in &first.results.rows {
        let place = (row.experiment.as_str(), row.to.as_str());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
        .into_iter()
        .filter_map(|place| {
            let lines: Vec<Line> = first
                .results
                .rows
                .iter()
                .filter(|row| (row.experiment.as_str(), row.to.as_str()) == place)
                .filter_map(|row| line(row, others, yardstick))
                .collect();
            (!lines.is_empty()).then(|| table(place, files, lines, yardstick))
        })
        .collect()
}

fn table(place: (&str, &str), files: &[Named], lines: Vec<Line>, yardstick: Yardstick) -> Table {
    let mut headings = vec![Heading::fixed("rung"), Heading::fixed(&files[0].name)];
    for file in &files[1..] {
        headings.push(Heading::fixed(&file.name));
        headings.push(Heading::fixed("change"));
    }
    let what = match yardstick {
        Yardstick::Times => "time a message",
        Yardstick::Ratios => "ratio to the baseline",
    };
    Table {
        title: format!("{} to {}, {what}", place.0, place.1),
        headings,
        lines,
        notes: Vec::new(),
    }
}

fn line(row: &Row, others: &[Named], yardstick: Yardstick) -> Option<Line> {
    let mut cells = vec![row.rung.clone(), yardstick.show(row)?];
    for file in others {
        let other = file.results.rows.iter().find(|other| {
            (&other.experiment, &other.to) == (&row.experiment, &row.to) && other.rung == row.rung
        });
        let other = other.filter(|other| yardstick.show(other).is_some());
        cells.push(
            other
                .and_then(|other| yardstick.show(other))
                .unwrap_or_default(),
        );
        cells.push(match other {
            None => "absent".to_owned(),
            Some(other) => yardstick
                .change(row, other)
                .map_or_else(|| "same".to_owned(), times),
        });
    }
    Some(Line::plain(cells))
}

/// How many rungs changed, in a sentence.
pub(crate) fn verdict(files: &[Named], yardstick: Yardstick) -> String {
    let Some((first, others)) = files.split_first() else {
        return String::new();
    };
    let sentences = others.iter().map(|file| {
        let changes: Vec<(f64, String)> = first
            .results
            .rows
            .iter()
            .filter_map(|row| {
                let other = file.results.rows.iter().find(|other| {
                    (&other.experiment, &other.to) == (&row.experiment, &row.to)
                        && other.rung == row.rung
                })?;
                let change = yardstick.change(row, other)?;
                Some((change, format!("{}/{} to {}", row.experiment, base_name(&row.rung), row.to)))
            })
            .collect();
        let slower = changes.iter().filter(|(change, _)| *change > 1.0).count();
        let worst = changes.iter().max_by(|one, other| one.0.total_cmp(&other.0));
        match worst {
            None => format!("Nothing changed beyond the noise from {} to {}.", first.name, file.name),
            Some((change, rung)) if *change > 1.0 => format!(
                "From {} to {}, {slower} of {} changes beyond the noise are for the slower, most of \
                 all {rung} with {}.",
                first.name,
                file.name,
                changes.len(),
                times(*change)
            ),
            Some(_) => format!(
                "From {} to {}, all {} changes beyond the noise are for the faster.",
                first.name,
                file.name,
                changes.len()
            ),
        }
    });
    sentences.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::figures::rows_of;
    use crate::bench::results::machine::Machine;
    use crate::bench::results::stats::Spread;

    fn named(name: &str, samples: &[u64]) -> Named {
        let mut rows = rows_of("lines", &[("println", "pipe", 1)]);
        rows[0].wall_ns = Spread::of(samples.iter().copied());
        rows[0].samples = samples.to_vec();
        let results = Results {
            command: String::new(),
            machine: Machine::this(),
            rows,
        };
        Named {
            name: name.to_owned(),
            results,
        }
    }

    #[test]
    fn the_verdict_turns_round_with_the_figures() {
        let (fast, slow) = (
            named("a", &[1000, 1010, 990]),
            named("b", &[2000, 2010, 1990]),
        );
        let worse = [fast, slow];
        assert!(
            verdict(&worse, Yardstick::Times).contains("with 2.0"),
            "slower"
        );
        let [fast, slow] = worse;
        assert!(verdict(&[slow, fast], Yardstick::Times).contains("for the faster"));
    }

    #[test]
    fn what_lies_within_the_noise_has_not_changed() {
        let files = [
            named("a", &[1000, 1200, 800]),
            named("b", &[1100, 1300, 900]),
        ];
        assert!(verdict(&files, Yardstick::Times).contains("Nothing changed"));
        let table = &tables(&files, Yardstick::Times)[0];
        assert_eq!(table.lines[0].cells[3], "same");
    }

    #[test]
    fn different_machines_are_compared_by_ratios() {
        let (one, mut other) = (named("a", &[1]), named("b", &[1]));
        other.results.machine.cpu = "another".to_owned();
        assert_eq!(Yardstick::of(&[one, other]), Yardstick::Ratios);
    }
}
