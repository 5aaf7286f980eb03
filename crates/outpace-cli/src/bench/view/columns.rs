//! The table of one experiment at one destination: a line a rung, the best first, with the columns that its kind
//! of measurement has.

use std::cmp::Ordering::Equal;

use super::charts::{self, charts, is_default, percent};
use super::table::{Heading, Note, Table, TableLine};
use crate::bench::experiment::{Experiment, Method, Passage};
use crate::bench::results::figures::{Figures, base_name};
use crate::bench::results::rows::{Latency, Row};
use crate::user::quantity::{counted, duration, grouped, significant, times};

/// A column: its heading, how easily it is left out, and a row's cell, given its baseline's row.
struct FigureColumn {
    heading: String,
    expendable: u8,
    cell: Cell,
}

type Cell = fn(&Row, Option<&Row>) -> Option<String>;

/// Columns, a line each.
macro_rules! columns {
    ($($heading:expr, $expendable:literal => $cell:expr;)*) => {
        vec![$(FigureColumn { heading: $heading.into(), expendable: $expendable, cell: $cell }),*]
    };
}

/// The table of an experiment's rows at one destination.
pub(crate) fn table(experiment: &Experiment, to: &str, rows: &[Row]) -> Table {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.experiment == experiment.name && row.to == to)
        .collect();
    let method = rows
        .first()
        .and_then(|row| experiment.rung(base_name(&row.rung)))
        .map_or(experiment.method, |rung| experiment.method_of(rung));
    let (headings, lines) = match method {
        Method::Arrival(texts) => arrivals(texts, &rows),
        Method::Programs => programs(&rows),
        _ => ranked(experiment, &columns(experiment, method, &rows), &rows),
    };
    Table {
        title: title(experiment, method, to, &rows),
        headings,
        lines,
        notes: notes(&rows),
        charts: charts(experiment, method, to, &rows),
    }
}

fn title(experiment: &Experiment, method: Method, to: &str, rows: &[&Row]) -> String {
    let mut title = format!("{} to {to}", experiment.name);
    if let Some(row) = rows.iter().find(|row| row.runs > 0) {
        if let Some(terminal) = &row.terminal {
            title += &format!(" of {}x{}", terminal.columns, terminal.rows);
            if let Some(version) = &terminal.version {
                title += &format!(" ({version})");
            }
        }
        if let Method::Work = method {
            let each = row.bytes as f64 / row.messages.max(1) as f64;
            title += &format!(
                ", {} of {} bytes",
                counted(row.messages, experiment.unit),
                significant(each)
            );
        }
        let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
        title += &format!(", median of {}", counted(runs, "run"));
    }
    title
}

fn columns(experiment: &Experiment, method: Method, rows: &[&Row]) -> Vec<FigureColumn> {
    match method {
        Method::Timed(_) => timed(experiment.unit),
        Method::Requests(_) => requests(),
        Method::Frames => frames(),
        Method::Terminal => terminal(),
        Method::Work | Method::Process | Method::Programs | Method::Arrival(_) => {
            work(experiment.unit, rows)
        }
    }
}

/// The time of a message, and its parts.
fn work(unit: &str, rows: &[&Row]) -> Vec<FigureColumn> {
    let baseline = rows.iter().find_map(|row| row.baseline.clone());
    let mixed = rows
        .iter()
        .any(|row| row.baseline.is_some() && row.baseline != baseline);
    let (heading, ratio): (String, Cell) = match baseline {
        Some(name) if !mixed => (format!("of {}", base_name(&name)), |row, _| {
            row.ratio.map(|ratio| times(ratio.median))
        }),
        _ => ("ratio".to_owned(), |row, _| {
            let baseline = row.baseline.as_deref().map(base_name)?;
            row.ratio
                .map(|ratio| format!("{} of {baseline}", times(ratio.median)))
        }),
    };
    columns! {
        format!("a {unit}"), 0 => |row, _| row.wall_per_message().map(duration);
        "spread", 0 => spread;
        "lower quartile", 3 => |row, _| Some(duration(row.wall_ns?.lower_quartile? as f64 / row.messages.max(1) as f64));
        heading, 1 => ratio;
        "caller", 2 => |row, _| {
            let (wall, caller) = (row.wall_ns?.median, row.caller_ns?.median);
            // Only if it is much less than the wall time.
            (caller < wall / 2).then(|| row.per_message(row.caller_ns).map(duration))?
        };
        "p99", 3 => |row, _| time(row.calls()?.p99);
        "p99.9", 1 => |row, _| time(row.calls()?.p99_9?);
        "longest", 2 => |row, _| time(row.calls()?.max);
        "delivered", 4 => |row, _| {
            let (wall, delivered) = (row.wall_ns?.median, row.delivered_ns?.median);
            (delivered > wall + wall / 4)
                .then(|| row.per_message(row.delivered_ns).map(duration))?
        };
        "processor", 2 => |row, _| processor(row).map(duration);
        "writes/1,000", 3 => |row, _| row.writes_per_message().map(|writes| significant(writes * 1_000.0));
        "published", 5 => |row, _| row.published.map(|it| duration(it.ns_per_message()));
    }
}

/// A profiler's view of rungs that work for a time.
fn timed(unit: &str) -> Vec<FigureColumn> {
    columns! {
        format!("{unit}s"), 4 => |row, _| Some(grouped(row.messages));
        format!("a {unit}"), 0 => |row, _| row.wall_per_message().map(duration);
        "spread", 0 => spread;
        "in write", 0 => |row, _| row.per_message(Some(row.timed()?.write_ns)).map(duration);
        format!("writes/{unit}"), 0 => |row, _| row.writes_per_message().map(significant);
        "writes", 3 => |row, _| row.writes.map(grouped);
        format!("bytes/{unit}"), 2 => |row, _| Some(grouped(row.bytes / row.messages.max(1)));
        "samples in 5 s", 1 => |row, _| Some(grouped(row.timed()?.profiler_samples.measured));
        "published", 5 => |row, _| row.timed()?.profiler_samples.published.map(grouped);
    }
}

/// Requests/s, answers, and the log calls.
fn requests() -> Vec<FigureColumn> {
    fn answer(row: &Row) -> Option<Latency> {
        row.server()?.answer_ns
    }
    fn log_call(row: &Row) -> Option<Latency> {
        row.server()?.log_call_ns
    }
    fn bytes(count: Option<u64>) -> Option<String> {
        let count = count.filter(|&count| count > 0)?;
        Some(format!("{} kB", significant(count as f64 / 1e3)))
    }
    columns! {
        "conns", 1 => |row, _| Some(grouped(row.server()?.connections));
        "requests/s", 0 => |row, _| Some(grouped(row.server()?.requests_per_second?.median));
        "spread", 0 => spread;
        "share", 0 => |row, _| Some(times(row.ratio?.median));
        "processor", 1 => |row, _| time(row.cpu_ns?.median);
        "answer", 2 => |row, _| time(answer(row)?.median);
        "p99", 3 => |row, _| time(answer(row)?.p99);
        "max", 3 => |row, _| time(answer(row)?.max);
        "log call", 0 => |row, _| time(log_call(row)?.median);
        "p99", 3 => |row, _| time(log_call(row)?.p99);
        "max", 1 => |row, _| time(log_call(row)?.max);
        "less delay", 2 => |row, _| time(log_call(row)?.max_less_delay?);
        "dropped", 3 => |row, _| bytes(row.server()?.dropped_bytes);
        "backlog", 3 => |row, _| bytes(row.server()?.backlog_bytes);
        "published", 5 => |row, _| row.published.map(|it| grouped(it.per_second() as u64));
    }
}

/// Frames a second, and the cost of a frame.
fn frames() -> Vec<FigureColumn> {
    fn draw_call(row: &Row) -> Option<Latency> {
        row.frames()?.draw_call_ns
    }
    fn bytes(row: &Row) -> Option<f64> {
        Some(row.frames()?.bytes_per_frame)
    }
    /// A figure as a share of the baseline's; the baseline itself needs none.
    fn share(row: &Row, baseline: Option<&Row>, figure: fn(&Row) -> Option<f64>) -> Option<String> {
        let baseline = baseline.filter(|baseline| baseline.rung != row.rung)?;
        Some(times(
            figure(row)? / figure(baseline)?.max(f64::MIN_POSITIVE),
        ))
    }
    columns! {
        "frames/s", 0 => |row, _| row.fps().map(significant);
        "spread", 0 => spread;
        "ratio", 1 => |row, _| Some(times(1.0 / row.ratio?.median.max(f64::MIN_POSITIVE)));
        "bytes a frame", 1 => |row, _| Some(grouped(bytes(row)?.round() as u64));
        "ratio", 2 => |row, baseline| share(row, baseline, bytes);
        "writes", 2 => |row, _| Some(significant(row.writes? as f64 / row.frames()?.frames_presented.max(1) as f64));
        "processor", 1 => |row, _| processor(row).map(duration);
        "ratio", 2 => |row, baseline| share(row, baseline, processor);
        "draw call", 3 => |row, _| time(draw_call(row)?.median);
        "max", 0 => |row, _| time(draw_call(row)?.max);
        "less delay", 1 => |row, _| time(draw_call(row)?.max_less_delay?);
        "machine", 2 => |row, _| time(draw_call(row)?.machine_max?);
        "memory", 2 => |row, _| Some(format!("{} KiB", grouped(row.frames()?.memory_bytes? >> 10)));
        "skipped", 3 => |row, _| Some(row.frames()?.frames_skipped).filter(|&skipped| skipped > 0).map(grouped);
    }
}

/// How many bytes a second go in and are worked through, and how long an answer takes.
fn terminal() -> Vec<FigureColumn> {
    columns! {
        "worked through", 0 => |row, _| row.terminal_figures()?.consumed_per_second.map(rate);
        "spread", 0 => spread;
        "of text", 1 => |row, _| row.terminal_figures()?.consumed_per_second.and(row.ratio).map(|ratio| times(ratio.median));
        "as written", 2 => |row, _| {
            let figures = row.terminal_figures().filter(|it| it.consumed_per_second.is_some())?;
            Some(rate(figures.written_per_second))
        };
        "an answer", 0 => |row, _| time(row.terminal_figures()?.report_ns?.median);
        "max", 2 => |row, _| time(row.terminal_figures()?.report_ns?.max);
        "processor", 3 => |row, _| processor(row).map(duration);
    }
}

/// A time of a latency.
fn time(ns: u64) -> Option<String> {
    Some(duration(ns as f64))
}

/// Bytes a second.
fn rate(bytes: f64) -> String {
    format!("{} MB/s", significant(bytes / 1e6))
}

/// If terminals are measured: all of them in one table, a line each, the fastest at text first.
pub(crate) fn together(experiment: &Experiment, rows: &[Row]) -> Option<Table> {
    if !matches!(experiment.method, Method::Terminal) {
        return None;
    }
    let figures = Figures::new(experiment.name, rows);
    let names = experiment.rungs.iter().map(|rung| rung.name);
    let text = |to: &str| {
        let row = figures.row(experiment.baseline, to)?;
        row.terminal_figures()?.consumed_per_second
    };
    let mut terminals = figures.destinations();
    if terminals.is_empty() {
        return None;
    }
    terminals.sort_by(|one, other| text(other).partial_cmp(&text(one)).unwrap_or(Equal));
    let best = terminals
        .iter()
        .filter_map(|to| text(to))
        .fold(0.0, f64::max);
    let lines: Vec<TableLine> = terminals
        .iter()
        .map(|to| {
            let cell = |rung| {
                let row = figures.row(rung, to)?;
                let figures = row.terminal_figures()?;
                let answer = figures
                    .report_ns
                    .map(|report| duration(report.median as f64));
                answer.or_else(|| Some(significant(figures.consumed_per_second? / 1e6)))
            };
            let cells = names.clone().map(|rung| cell(rung).unwrap_or_default());
            TableLine {
                cells: [(*to).to_owned()].into_iter().chain(cells).collect(),
                share: text(to).map(|rate| rate / best.max(f64::MIN_POSITIVE)),
                ours: false,
            }
        })
        .collect();
    let supports = terminals.iter().filter_map(|to| {
        let mut rows = figures.rows().filter(|row| row.to == *to);
        let terminal = rows.find_map(|row| row.terminal.as_ref())?;
        (!terminal.supports.is_empty()).then(|| Note {
            text: format!("{to} supports {}", terminal.supports.join(", ")),
            wrong: false,
        })
    });
    let notes = supports.collect();
    let headings = [Heading::fixed("terminal")]
        .into_iter()
        .chain(names.map(|name| Heading::expendable(name, u8::from(name != experiment.baseline))));
    Some(Table {
        title: format!(
            "{}: MB/s worked through, and how long an answer takes",
            experiment.name
        ),
        headings: headings.collect(),
        lines,
        notes,
        charts: charts::terminals(experiment, rows).into_iter().collect(),
    })
}

/// How far the median of further runs may lie from this one.
fn spread(row: &Row, _: Option<&Row>) -> Option<String> {
    match row.times()[..] {
        [] => None,
        [_] => Some("one run".to_owned()),
        _ => row.interval().map(percent),
    }
}

/// Processor time of a message. Frames that were drawn and never presented count, too.
fn processor(row: &Row) -> Option<f64> {
    row.per_message(row.cpu_ns)
}

/// How long a bar is, and whether a longer one is better.
fn bar(row: &Row) -> Option<(f64, bool)> {
    if let Some(figures) = row.terminal_figures() {
        return figures.consumed_per_second.map(|rate| (rate, true));
    }
    let rate = match (row.frames(), row.server()) {
        (Some(frames), _) => frames.fps,
        (_, Some(server)) => server.requests_per_second.map(|rate| rate.median as f64),
        _ => return row.wall_per_message().map(|time| (time, false)),
    };
    rate.map(|rate| (rate, true))
}

/// The best first within a group: rungs that draw with the same baseline, or servers with as many connections.
fn ranked(
    experiment: &Experiment,
    columns: &[FigureColumn],
    rows: &[&Row],
) -> (Vec<Heading>, Vec<TableLine>) {
    let group = |row: &Row| {
        let own = experiment.rung(base_name(&row.rung));
        let baseline = own.filter(|rung| rung.draws.is_some());
        let baseline = baseline.map(|rung| experiment.baseline_of(rung));
        let place = experiment
            .rungs
            .iter()
            .position(|rung| Some(rung.name) == baseline);
        let connections = row.server().map(|server| server.connections);
        (place, std::cmp::Reverse(connections))
    };
    let mut ranked: Vec<&Row> = rows.iter().copied().filter(|row| row.ran()).collect();
    let badness = |row: &Row| match bar(row) {
        Some((rate, true)) => -rate,
        Some((time, false)) => time,
        None => 0.0,
    };
    ranked.sort_by(|one, other| {
        group(one)
            .cmp(&group(other))
            .then_with(|| badness(one).total_cmp(&badness(other)))
    });
    let baseline = |row: &Row| {
        let name = row.baseline.as_deref()?;
        rows.iter().copied().find(|other| other.rung == name)
    };
    let shown: Vec<&FigureColumn> = columns
        .iter()
        .filter(|column| {
            let mut rows = ranked.iter();
            rows.any(|row| (column.cell)(row, baseline(row)).is_some())
        })
        .collect();
    let mut headings = vec![Heading::fixed("rung")];
    headings.extend(
        shown
            .iter()
            .map(|column| Heading::expendable(&column.heading, column.expendable)),
    );
    let lengths = ranked.iter().filter_map(|row| bar(row));
    let longest = lengths.map(|(length, _)| length).fold(0.0, f64::max);
    let lines = ranked.iter().map(|row| {
        let mut cells = vec![row.rung.clone()];
        cells.extend(
            shown
                .iter()
                .map(|column| (column.cell)(row, baseline(row)).unwrap_or_default()),
        );
        TableLine {
            cells,
            share: bar(row).map(|(length, _)| length / longest.max(f64::MIN_POSITIVE)),
            ours: experiment.is_ours(base_name(&row.rung)),
        }
    });
    (headings, lines.collect())
}

/// One line a text, one column a rung: the time until the text appears, or the step that it waits for.
fn arrivals(texts: &[Passage], rows: &[&Row]) -> (Vec<Heading>, Vec<TableLine>) {
    let rows: Vec<&&Row> = rows
        .iter()
        .filter(|row| !row.arrivals().is_empty())
        .collect();
    let mut headings = vec![Heading::fixed("text")];
    headings.extend(rows.iter().map(|row| Heading::fixed(&row.rung)));
    let lines = texts.iter().map(|text| {
        let mut cells = vec![text.name.to_owned()];
        cells.extend(rows.iter().map(|row| {
            let mut arrivals = row.arrivals().iter();
            match arrivals.find(|arrival| arrival.text == text.name) {
                None => "never".to_owned(),
                Some(arrival) if arrival.arrived_at == arrival.written_at => {
                    match arrival.spread_ns {
                        Some(all) if all.min < all.max => format!(
                            "{} ({} to {})",
                            duration(arrival.after_ns as f64),
                            duration(all.min as f64),
                            duration(all.max as f64)
                        ),
                        _ => duration(arrival.after_ns as f64),
                    }
                }
                Some(arrival) => format!("at {}", arrival.arrived_at),
            }
        }));
        TableLine::plain(cells)
    });
    (headings, lines.collect())
}

/// One line a language and way to print: its buffering, by its write calls, and the cost of a line: plain, fixed, under
/// `outpace run` and to stderr.
fn programs(rows: &[&Row]) -> (Vec<Heading>, Vec<TableLine>) {
    let ran = |name: &str| rows.iter().find(|row| row.rung == name && row.ran());
    let cost = |name: &str| ran(name).and_then(|row| row.wall_per_message());
    let writes = |name: &str| ran(name)?.writes_per_message();
    let headings = [
        ("rung", 0),
        ("buffer", 0),
        ("writes/line", 2),
        ("a line", 0),
        ("fixed", 0),
        ("of it", 1),
        ("outpace run", 1),
        ("on stderr", 1),
        ("a line", 3),
    ];
    let ways = rows
        .iter()
        .filter(|row| is_default(row))
        .filter_map(|row| Some((row.rung.as_str(), cost(&row.rung)?)));
    let ways: Vec<(&str, f64)> = ways.collect();
    let longest = ways.iter().map(|&(_, cost)| cost).fold(0.0, f64::max);
    let lines = ways.iter().map(|&(name, plain)| {
        let other = |which: &str| format!("{name}-{which}");
        let buffer = |name: &str| {
            let found = ran(name).and_then(|row| row.buffering());
            found.unwrap_or_default().to_owned()
        };
        let time = |name: &str| cost(name).map(duration).unwrap_or_default();
        let fixed = cost(&other("fixed"));
        let stderr = other("stderr");
        TableLine {
            cells: vec![
                name.to_owned(),
                buffer(name),
                writes(name).map(significant).unwrap_or_default(),
                duration(plain),
                fixed.map(duration).unwrap_or_default(),
                fixed.map(|fixed| times(fixed / plain)).unwrap_or_default(),
                time(&other("run")),
                buffer(&stderr),
                time(&stderr),
            ],
            share: Some(plain / longest.max(f64::MIN_POSITIVE)),
            ours: false,
        }
    });
    let lines = lines.collect();
    let heading = |&(text, expendable): &(&str, u8)| Heading::expendable(text, expendable);
    (headings.iter().map(heading).collect(), lines)
}

/// Rungs with the same trouble share a line.
fn notes(rows: &[&Row]) -> Vec<Note> {
    let mut notes: Vec<(String, bool, Vec<&str>)> = Vec::new();
    for row in rows {
        let trouble = [
            (row.failed.as_ref(), "failed", true),
            (
                row.fails_as_published.as_ref(),
                "breaks as published",
                false,
            ),
            (row.skipped.as_ref(), "skipped", false),
        ];
        for (reason, what, wrong) in trouble {
            let Some(reason) = reason else { continue };
            let text = format!("{what}: {reason}");
            match notes.iter_mut().find(|(other, _, _)| *other == text) {
                Some((_, _, rungs)) => rungs.push(&row.rung),
                None => notes.push((text, wrong, vec![&row.rung])),
            }
        }
    }
    notes
        .into_iter()
        .map(|(text, wrong, rungs)| Note {
            text: format!("{} {text}", rungs.join(", ")),
            wrong,
        })
        .collect()
}

/// The table of `lines` into a pipe with these rows, for the tests of how a table is shown.
#[cfg(test)]
pub(super) fn lines_table(figures: &[(&str, &str, u64)]) -> Table {
    use crate::bench::catalogue::find;
    use crate::bench::results::figures::rows_of;

    table(find("lines").unwrap(), "pipe", &rows_of("lines", figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::find;
    use crate::bench::results::figures::rows_of;
    use crate::bench::results::rows::{FrameFigures, RowKind, ServerFigures};
    use crate::bench::results::stats::Spread;

    fn cells(table: &Table, columns: &[usize]) -> Vec<Vec<String>> {
        let of = |line: &TableLine| columns.iter().map(|&at| line.cells[at].clone()).collect();
        table.lines.iter().map(of).collect()
    }

    #[test]
    fn the_most_requests_come_first_within_a_number_of_connections() {
        let rungs = [
            ("println", "pty", 1),
            ("silent", "pty", 1),
            ("silent", "pty", 1),
        ];
        let mut rows = rows_of("server", &rungs);
        for (row, (connections, rate)) in rows.iter_mut().zip([(8, 10), (8, 20), (1, 90)]) {
            row.kind = RowKind::Server(ServerFigures {
                requests_per_second: Spread::of([rate]),
                ..ServerFigures::of(connections)
            });
        }
        let table = table(find("server").unwrap(), "pty", &rows);
        assert_eq!(
            cells(&table, &[0, 1, 2]),
            [
                ["silent", "8", "20"],
                ["println", "8", "10"],
                ["silent", "1", "90"]
            ]
        );
    }

    #[test]
    fn a_language_is_a_line_with_its_fix_beside_it() {
        let rungs = [
            ("go", "pty", 900),
            ("go-fixed", "pty", 300),
            ("go-stderr", "pty", 950),
            ("c", "pty", 100),
        ];
        let mut rows = rows_of("languages", &rungs);
        for (row, writes) in rows.iter_mut().zip([2_000, 1, 2_000, 1_000]) {
            row.writes = Some(writes);
        }
        let table = table(find("languages").unwrap(), "pty", &rows);
        assert_eq!(
            cells(&table, &[0, 1, 3, 4, 5, 7, 8]),
            [
                ["go", "none", "900 ns", "300 ns", "0.33x", "none", "950 ns"],
                ["c", "line", "100 ns", "", "", "", ""]
            ]
        );
    }

    #[test]
    fn workloads_stay_together_with_the_most_frames_first() {
        let rungs = [
            ("log-crossterm", "pty", 1),
            ("noise-crossterm", "pty", 1),
            ("log-outpace", "pty", 1),
            ("noise-outpace", "pty", 1),
        ];
        let mut rows = rows_of("draw", &rungs);
        let figures = [(9.0, 100.0), (3.0, 8.0), (90.0, 25.0), (4.0, 7.0)];
        for (row, (fps, bytes_per_frame)) in rows.iter_mut().zip(figures) {
            row.kind = RowKind::Frames(FrameFigures {
                fps: Some(fps),
                bytes_per_frame,
                frames_presented: 1_000,
                ..FrameFigures::default()
            });
            row.baseline = Some(row.rung.replace("outpace", "crossterm"));
        }
        let table = table(find("draw").unwrap(), "pty", &rows);
        let headings: Vec<&str> = table.headings.iter().map(|one| one.text.as_str()).collect();
        let bytes = headings.iter().position(|text| *text == "bytes a frame");
        assert_eq!(
            cells(&table, &[0, bytes.unwrap() + 1]),
            [
                ["noise-outpace", "0.88x"],
                ["noise-crossterm", ""],
                ["log-outpace", "0.25x"],
                ["log-crossterm", ""]
            ]
        );
    }
}
