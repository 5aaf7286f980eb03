//! The same rungs in several files of results: changes beyond the noise.

use std::path::Path;

use super::chart::{Axis, Chart, Lane, Mark, Shape, Tone, count, time};
use super::charts::with_noise;
use super::summary::Card;
use super::table::{Heading, Table, TableLine};
use crate::bench::results::figures::{base_name, into, joined};
use crate::bench::results::rows::{Results, Row};
use crate::bench::results::stats::{self, ConfidenceInterval};
use crate::user::inert::inert;
use crate::user::quantity::{counted, duration, times};

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
            .to_string_lossy();
        let name = inert(&name).into_owned();
        Self { name, results }
    }
}

/// The measure by which figures of different files may be compared.
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
        Some(with_noise(figure, row.interval()))
    }

    /// The same, short.
    fn cell(self, row: &Row) -> Option<String> {
        let is_noise = row.interval().is_some_and(ConfidenceInterval::is_noise);
        let shown = self.show(row)?;
        Some(if is_noise {
            "only noise".to_owned()
        } else {
            shown
        })
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

    /// The factor from the first row to the second, if it is beyond the noise: over three times the noise of both
    /// together, and over 5 %.
    fn change(self, before: &Row, after: &Row) -> Option<f64> {
        let ((old, old_noise), (new, new_noise)) = (self.figure(before)?, self.figure(after)?);
        let apart = (new - old).abs();
        let beyond = apart > 3.0 * old_noise.hypot(new_noise) && apart > 0.05 * old;
        (beyond && old > 0.0).then(|| new / old)
    }
}

/// The experiments and destinations of these rows, in their order.
pub(crate) fn series_of(rows: &[Row]) -> Vec<(&str, &str)> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let series = (row.experiment.as_str(), row.to.as_str());
        if !all.contains(&series) {
            all.push(series);
        }
    }
    all
}

/// Whether a file has figures of one experiment and destination.
fn has_figures(file: &Named, series: (&str, &str), yardstick: Yardstick) -> bool {
    let mut rows = file.results.rows.iter();
    rows.any(|row| {
        (row.experiment.as_str(), row.to.as_str()) == series && yardstick.show(row).is_some()
    })
}

/// The experiments and destinations of which the first file alone has figures.
pub(crate) fn alone(files: &[Named], yardstick: Yardstick) -> Vec<String> {
    let Some((first, others)) = files.split_first() else {
        return Vec::new();
    };
    let all = series_of(&first.results.rows).into_iter();
    all.filter(|&series| {
        let has = |file: &Named| has_figures(file, series, yardstick);
        has(first) && !others.iter().any(has)
    })
    .map(|(experiment, to)| format!("{experiment} to {to}"))
    .collect()
}

/// The table of one experiment and destination, if the first file has figures of it, and another has, too.
pub(crate) fn table_of(
    files: &[Named],
    series: (&str, &str),
    yardstick: Yardstick,
) -> Option<Table> {
    let (first, others) = files.split_first()?;
    let has = |file: &Named| has_figures(file, series, yardstick);
    if !others.iter().any(has) {
        return None;
    }
    let rows = first.results.rows.iter();
    let lines: Vec<TableLine> = rows
        .filter(|row| (row.experiment.as_str(), row.to.as_str()) == series)
        .filter_map(|row| line(row, others, yardstick))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut headings = vec![Heading::fixed("rung"), Heading::fixed(&first.name)];
    for file in others {
        headings.push(Heading::fixed(&file.name));
        headings.push(Heading::fixed("change"));
    }
    let what = match yardstick {
        Yardstick::Times => "time a message",
        Yardstick::Ratios => "ratio to the baseline",
    };
    Some(Table {
        title: format!("{} to {}, {what}", series.0, series.1),
        headings,
        lines,
        notes: Vec::new(),
        charts: chart(series, files, what, yardstick).into_iter().collect(),
    })
}

/// A lane a rung, with a mark a file.
fn chart(series: (&str, &str), files: &[Named], what: &str, yardstick: Yardstick) -> Option<Chart> {
    const TONES: [Tone; 3] = [Tone::Plain, Tone::Second, Tone::Third];
    let (first, others) = files.split_first()?;
    let mut values = Vec::new();
    let mut lanes = Vec::new();
    let rows = first.results.rows.iter();
    for row in rows.filter(|row| (row.experiment.as_str(), row.to.as_str()) == series) {
        let mut mark = |of: &Row, tone: Tone, said: &str| {
            let (value, _) = yardstick.figure(of)?;
            values.push(value);
            let interval = of.interval().map(|interval| {
                let share = value / interval.middle.max(f64::MIN_POSITIVE);
                interval.times(share)
            });
            let label = format!("{}{said}", yardstick.show(of)?);
            let shape = Shape::amount(value, interval);
            Some(Mark { shape, tone, label })
        };
        let mut marks: Vec<Mark> = mark(row, Tone::Plain, "").into_iter().collect();
        for (file, tone) in others.iter().zip(TONES[1..].iter().cycle()) {
            if let Some(other) = same_row(file, row) {
                let change = match yardstick.change(row, other) {
                    Some(change) => format!(", {}", changed(change)),
                    None => ", same".to_owned(),
                };
                marks.extend(mark(other, *tone, &change));
            }
        }
        // A rung of one file only is in the table.
        if marks.len() > 1 {
            lanes.push(Lane::plain(&row.rung, marks));
        }
    }
    if lanes.is_empty() {
        return None;
    }
    let show = match yardstick {
        Yardstick::Times => time,
        Yardstick::Ratios => count,
    };
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let axis = Axis::of(&values, show);
    let scale = if axis.has_zero() {
        ""
    } else {
        "Logarithmic scale."
    };
    let title = format!("{} to {}", series.0, series.1);
    let reading = format!("From above: {}. Less is better. {scale}", joined(&names));
    Some(Chart::of_lanes(title, reading, what, axis, lanes))
}

/// The significant changes of some rows.
struct Changes<'a> {
    /// The rungs that both files have.
    rungs: usize,
    slower: usize,
    faster: usize,
    /// The greatest change, its row, and the figures before and after.
    greatest: Option<(f64, &'a Row, [String; 2])>,
}

impl<'a> Changes<'a> {
    fn of(rows: impl Iterator<Item = &'a Row>, file: &Named, yardstick: Yardstick) -> Self {
        let mut changes = Self {
            rungs: 0,
            slower: 0,
            faster: 0,
            greatest: None,
        };
        let size = |change: f64| change.ln().abs();
        for (row, other) in rows.filter_map(|row| Some((row, same_row(file, row)?))) {
            let has_figures = |row| yardstick.figure(row).is_some();
            changes.rungs += usize::from(has_figures(row) && has_figures(other));
            if let Some(change) = yardstick.change(row, other) {
                changes.slower += usize::from(change > 1.0);
                changes.faster += usize::from(change <= 1.0);
                let known = changes.greatest.as_ref();
                let known = known.map_or(0.0, |(known, ..)| size(*known));
                let figures = [row, other].map(|row| yardstick.cell(row).unwrap_or_default());
                if size(change) > known {
                    changes.greatest = Some((change, row, figures));
                }
            }
        }
        changes
    }

    fn counts(&self) -> String {
        match (self.slower, self.faster) {
            (0, 0) => "no significant change".to_owned(),
            (0, faster) => format!("{faster} faster"),
            (slower, 0) => format!("{slower} slower"),
            (slower, faster) => format!("{slower} slower, {faster} faster"),
        }
    }

    /// The rest, behind the counts.
    fn rest(&self, called: fn(&Row) -> String) -> String {
        let greatest = self
            .greatest
            .as_ref()
            .map(|(change, row, [before, after])| {
                let (row, change) = (called(row), changed(*change));
                format!("; most of all {row}: {before}, then {after}, {change}")
            });
        format!(
            "of {}{}",
            counted(self.rungs as u64, "rung"),
            greatest.unwrap_or_default()
        )
    }
}

/// How many rungs changed, of each experiment; of one alone, at each destination.
pub(crate) fn cards(files: &[Named], yardstick: Yardstick) -> Vec<Card> {
    let Some((first, others)) = files.split_first() else {
        return Vec::new();
    };
    let is_measured = |row: &&Row| others.iter().any(|file| same_row(file, row).is_some());
    let rows: Vec<Row> = first
        .results
        .rows
        .iter()
        .filter(is_measured)
        .cloned()
        .collect();
    let mut all = series_of(&rows);
    let experiment = all.first().map(|(name, _)| *name);
    let is_alone = all.iter().all(|(name, _)| Some(*name) == experiment);
    if !is_alone {
        all.dedup_by_key(|(name, _)| *name);
    }
    let cards = others.iter().flat_map(|file| {
        all.iter().filter_map(|&(name, to)| {
            let is_of_it = |row: &&Row| row.experiment == name && (!is_alone || row.to == to);
            let changes = Changes::of(rows.iter().filter(is_of_it), file, yardstick);
            let place = if is_alone { into(to) } else { String::new() };
            (changes.rungs > 0).then(|| Card {
                section: name.to_owned(),
                what: format!("{name} {place}, from {} to {}", first.name, file.name)
                    .replace(" ,", ","),
                figure: changes.counts(),
                rest: changes.rest(|row| format!("{} {}", row.rung, into(&row.to))),
                question: String::new(),
            })
        })
    });
    cards.collect()
}

/// A change in words.
fn changed(change: f64) -> String {
    if change < 1.0 {
        format!("{} faster", times(1.0 / change.max(f64::MIN_POSITIVE)))
    } else {
        format!("{} slower", times(change))
    }
}

/// The same rung at the same destination, in another file.
fn same_row<'a>(file: &'a Named, row: &Row) -> Option<&'a Row> {
    file.results.rows.iter().find(|other| {
        (&other.experiment, &other.to) == (&row.experiment, &row.to)
            && other.rung == row.rung
            && other.server().map(|it| it.connections) == row.server().map(|it| it.connections)
    })
}

fn line(row: &Row, others: &[Named], yardstick: Yardstick) -> Option<TableLine> {
    let mut cells = vec![row.rung.clone(), yardstick.cell(row)?];
    for file in others {
        let other = same_row(file, row).filter(|other| yardstick.show(other).is_some());
        let shown = other.and_then(|other| yardstick.cell(other));
        cells.push(shown.unwrap_or_default());
        cells.push(match other {
            None => "absent".to_owned(),
            Some(other) => yardstick
                .change(row, other)
                .map_or_else(|| "same".to_owned(), times),
        });
    }
    Some(TableLine::plain(cells))
}

/// How many rungs changed, in a sentence.
pub(crate) fn conclusion(files: &[Named], yardstick: Yardstick) -> String {
    let Some((first, others)) = files.split_first() else {
        return String::new();
    };
    let sentences = others.iter().map(|file| {
        let changes = Changes::of(first.results.rows.iter(), file, yardstick);
        let called =
            |row: &Row| format!("{}/{} to {}", row.experiment, base_name(&row.rung), row.to);
        let (counts, rest) = (changes.counts(), changes.rest(called));
        format!("From {} to {}: {counts}, {rest}.", first.name, file.name)
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
    fn the_conclusion_turns_round_with_the_figures() {
        let (fast, slow) = (
            named("a", &[1000, 1010, 990]),
            named("b", &[2000, 2010, 1990]),
        );
        let worse = [fast, slow];
        assert_eq!(
            conclusion(&worse, Yardstick::Times),
            "From a to b: 1 slower, of 1 rung; most of all lines/println to pipe: 1.00 ns ±3 %, then 2.00 ns ±1 %, 2.00x slower."
        );
        let [fast, slow] = worse;
        assert_eq!(
            conclusion(&[slow, fast], Yardstick::Times),
            "From b to a: 1 faster, of 1 rung; most of all lines/println to pipe: 2.00 ns ±1 %, then 1.00 ns ±3 %, 2.00x faster."
        );
    }

    #[test]
    fn a_difference_within_the_noise_is_no_change() {
        let files = [
            named("a", &[1000, 1200, 800]),
            named("b", &[1100, 1300, 900]),
        ];
        assert_eq!(
            conclusion(&files, Yardstick::Times),
            "From a to b: no significant change, of 1 rung."
        );
        let table = table_of(&files, ("lines", "pipe"), Yardstick::Times).unwrap();
        assert_eq!(table.lines[0].cells[3], "same");
    }

    #[test]
    fn a_figure_that_is_only_noise_is_not_shown() {
        let files = [
            named("a", &[1000, 9000, 1, 8000, 2]),
            named("b", &[1000, 1010, 990]),
        ];
        let table = table_of(&files, ("lines", "pipe"), Yardstick::Times).unwrap();
        assert_eq!(table.lines[0].cells[1], "only noise");
        let marks = &table.charts[0].groups[0].lanes[0].marks;
        assert_eq!(
            marks[0].label,
            "no figure: the noise is larger than the time"
        );
        assert!(matches!(marks[0].shape, Shape::Hidden));
        assert!(matches!(marks[1].shape, Shape::Amount { .. }));
    }

    #[test]
    fn different_machines_are_compared_by_ratios() {
        let (one, mut other) = (named("a", &[1]), named("b", &[1]));
        other.results.machine.cpu = "another".to_owned();
        assert_eq!(Yardstick::of(&[one, other]), Yardstick::Ratios);
    }
}
