//! The table of rungs that draw.

use super::table::{Heading, Line, Table, is_ours};
use crate::bench::catalogue::{Experiment, Rung};
use crate::bench::runner::rows::{Latency, Row};
use crate::user::quantity::{duration, grouped, significant, times};

/// A column: its heading, how easily it is left out, and a row's cell, given its baseline's row.
struct Column {
    heading: &'static str,
    expendable: u8,
    cell: fn(&Row, Option<&Row>) -> Option<String>,
}

const COLUMNS: &[Column] = &[
    Column {
        heading: "frames/s",
        expendable: 0,
        cell: |row, _| row.fps.map(significant),
    },
    Column {
        heading: "ratio",
        expendable: 1,
        cell: |row, _| Some(times(1.0 / row.ratio?.median.max(f64::MIN_POSITIVE))),
    },
    Column {
        heading: "bytes a frame",
        expendable: 1,
        cell: |row, _| Some(grouped(row.bytes_per_frame?.round() as u64)),
    },
    Column {
        heading: "ratio",
        expendable: 2,
        cell: |row, baseline| share(row, baseline, |row| row.bytes_per_frame),
    },
    Column {
        heading: "writes",
        expendable: 2,
        cell: |row, _| per_frame(row, Some(row.writes? as f64)).map(significant),
    },
    Column {
        heading: "processor",
        expendable: 1,
        cell: |row, _| processor(row).map(duration),
    },
    Column {
        heading: "ratio",
        expendable: 2,
        cell: |row, baseline| share(row, baseline, processor),
    },
    Column {
        heading: "draw call",
        expendable: 3,
        cell: |row, _| Some(duration(row.draw_call_ns?.median as f64)),
    },
    Column {
        heading: "max",
        expendable: 0,
        cell: |row, _| Some(duration(row.draw_call_ns?.max as f64)),
    },
    Column {
        heading: "less delay",
        expendable: 1,
        cell: |row, _| {
            let Latency { max_less_delay, .. } = row.draw_call_ns?;
            Some(duration(max_less_delay? as f64))
        },
    },
    Column {
        heading: "machine",
        expendable: 2,
        cell: |row, _| Some(duration(row.draw_call_ns?.machine_max? as f64)),
    },
    Column {
        heading: "memory",
        expendable: 2,
        cell: |row, _| Some(format!("{} KiB", grouped(row.memory_bytes? >> 10))),
    },
    Column {
        heading: "skipped",
        expendable: 3,
        cell: |row, _| row.frames_skipped.filter(|&count| count > 0).map(grouped),
    },
];

fn per_frame(row: &Row, whole: Option<f64>) -> Option<f64> {
    let drawn = row.frames_presented?.max(1);
    Some(whole? / drawn as f64)
}

/// Processor time of one frame that was drawn, presented or not.
fn processor(row: &Row) -> Option<f64> {
    row.per_message(row.cpu_ns)
}

/// A figure as a share of the baseline's; the baseline itself needs none.
fn share(row: &Row, baseline: Option<&Row>, figure: fn(&Row) -> Option<f64>) -> Option<String> {
    let baseline = baseline.filter(|baseline| baseline.rung != row.rung)?;
    Some(times(
        figure(row)? / figure(baseline)?.max(f64::MIN_POSITIVE),
    ))
}

/// One line a rung: the most frames first, but rungs that are not all compared with the same one stay together
/// with theirs.
pub(super) fn table(experiment: &Experiment, rows: &[&Row]) -> Table {
    let mut ranked: Vec<&&Row> = rows
        .iter()
        .filter(|row| row.runs > 0 && row.failed.is_none())
        .collect();
    let place = |row: &Row| {
        let rung = experiment
            .rung(&row.rung)
            .map(|rung| experiment.baseline_of(rung));
        experiment
            .rungs
            .iter()
            .position(|other: &Rung| Some(other.name) == rung)
    };
    ranked.sort_by(|one, other| {
        let fps = |row: &Row| row.fps.unwrap_or_default();
        place(one)
            .cmp(&place(other))
            .then_with(|| fps(other).total_cmp(&fps(one)))
    });
    let baseline = |row: &Row| {
        let name = row.baseline.as_deref()?;
        rows.iter().copied().find(|other| other.rung == name)
    };
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| {
            let shown = |row: &&&Row| (column.cell)(row, baseline(row)).is_some();
            ranked.iter().any(shown)
        })
        .collect();
    let mut headings = vec![Heading::fixed("rung")];
    headings.extend(
        columns
            .iter()
            .map(|column| Heading::expendable(column.heading, column.expendable)),
    );
    let most = ranked.iter().filter_map(|row| row.fps).fold(0.0, f64::max);
    let lines = ranked.iter().map(|row| {
        let mut cells = vec![row.rung.clone()];
        cells.extend(
            columns
                .iter()
                .map(|column| (column.cell)(row, baseline(row)).unwrap_or_default()),
        );
        Line {
            cells,
            share: row.fps.map(|fps| fps / most.max(f64::MIN_POSITIVE)),
            ours: is_ours(experiment, row),
        }
    });
    let lines = lines.collect();
    Table::untitled(headings, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::find;
    use crate::bench::runner::figures::rows_of;

    #[test]
    fn workloads_stay_together_with_the_most_frames_first() {
        let names = [
            ("log-crossterm", "pty", 1),
            ("noise-crossterm", "pty", 1),
            ("log-outpace", "pty", 1),
            ("noise-outpace", "pty", 1),
        ];
        let mut rows = rows_of("draw", &names);
        for (row, (fps, bytes)) in
            rows.iter_mut()
                .zip([(9.0, 100.0), (3.0, 8.0), (90.0, 25.0), (4.0, 7.0)])
        {
            (row.fps, row.bytes_per_frame) = (Some(fps), Some(bytes));
            row.frames_presented = Some(1_000);
            row.baseline = Some(row.rung.replace("outpace", "crossterm"));
        }
        let rows: Vec<&Row> = rows.iter().collect();
        let table = table(find("draw").unwrap(), &rows);
        let names: Vec<&str> = table
            .lines
            .iter()
            .map(|line| line.cells[0].as_str())
            .collect();
        assert_eq!(
            names,
            [
                "noise-outpace",
                "noise-crossterm",
                "log-outpace",
                "log-crossterm"
            ]
        );
        let headings: Vec<&str> = table
            .headings
            .iter()
            .map(|heading| heading.text.as_str())
            .collect();
        let ratio = headings
            .iter()
            .position(|heading| *heading == "bytes a frame")
            .unwrap()
            + 1;
        assert_eq!(table.lines[2].cells[ratio], "0.25x");
    }
}
