//! The table of one experiment at one destination: fastest first, with bars and ratios.

use super::{frames, requests};
use crate::bench::catalogue::{Experiment, Method, Origin};
use crate::bench::runner::figures::base_name;
use crate::bench::runner::rows::Row;
use crate::user::quantity::{duration, grouped, significant, times};
use crate::user::screen::Screen;

/// A table before it is decided how it is shown.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) headings: Vec<Heading>,
    pub(crate) lines: Vec<Line>,
    /// What could not be put into the table: rungs that were skipped, failed or broke as published.
    pub(crate) notes: Vec<Note>,
}

impl Table {
    /// One that gets its title and notes later.
    pub(super) fn untitled(headings: Vec<Heading>, lines: Vec<Line>) -> Self {
        Self {
            title: String::new(),
            headings,
            lines,
            notes: Vec::new(),
        }
    }
}

/// A column's heading.
pub(crate) struct Heading {
    pub(crate) text: String,
    /// On a narrow screen the columns with the highest number go first; 0 stays.
    expendable: u8,
}

impl Heading {
    /// A column that may be left out, the more easily the higher the number.
    pub(super) fn expendable(text: &str, expendable: u8) -> Self {
        Self {
            text: text.to_owned(),
            expendable,
        }
    }

    /// A column that is always shown.
    pub(crate) fn fixed(text: &str) -> Self {
        Self::expendable(text, 0)
    }
}

/// A line of a table.
pub(crate) struct Line {
    pub(crate) cells: Vec<String>,
    /// The length of its bar against the longest.
    pub(super) share: Option<f64>,
    pub(super) ours: bool,
}

impl Line {
    /// A line without a bar.
    pub(crate) fn plain(cells: Vec<String>) -> Self {
        Self {
            cells,
            share: None,
            ours: false,
        }
    }
}

/// A line below a table.
pub(crate) struct Note {
    pub(crate) text: String,
    pub(super) wrong: bool,
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
    let mut table = match method {
        Method::Arrival => arrivals(experiment, &rows),
        Method::Work | Method::Process => {
            times_table(experiment, &rows, &figures(experiment, &rows))
        }
        Method::Timed => times_table(experiment, &rows, &timed_figures(experiment)),
        Method::Requests => requests::table(experiment, &rows),
        Method::Frames => frames::table(experiment, &rows),
    };
    table.title = title(experiment, method, to, &rows);
    table.notes = notes(&rows);
    table
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
        if method == Method::Work {
            let unit = plural(experiment.unit, row.messages);
            let each = row.bytes as f64 / row.messages.max(1) as f64;
            title += &format!(
                ", {} {unit} of {} bytes",
                grouped(row.messages),
                significant(each)
            );
        }
        let runs = rows.iter().map(|row| row.runs).max().unwrap_or(0);
        title += &format!(", median of {runs} {}", plural("run", runs));
    }
    title
}

fn plural(word: &str, count: u64) -> String {
    match count {
        1 => word.to_owned(),
        _ if word.ends_with('s') => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

/// A column of figures: its heading, how easily it is left out, and a row's cell.
struct Figure {
    heading: String,
    expendable: u8,
    cell: fn(&Row) -> Option<String>,
}

/// The time of a message, and what it was spent on.
fn figures(experiment: &Experiment, rows: &[&Row]) -> [Figure; 8] {
    let baseline = rows.iter().find_map(|row| row.baseline.clone());
    let mixed = rows
        .iter()
        .any(|row| row.baseline.is_some() && row.baseline != baseline);
    [
        Figure {
            heading: format!("a {}", experiment.unit),
            expendable: 0,
            cell: |row| row.wall_per_message().map(duration),
        },
        Figure {
            heading: "lower quartile".to_owned(),
            expendable: 3,
            cell: |row| {
                let quartile = row.wall_ns?.lower_quartile? as f64;
                Some(duration(quartile / row.messages.max(1) as f64))
            },
        },
        Figure {
            heading: match baseline {
                Some(_) if mixed => "ratio".to_owned(),
                Some(name) => format!("of {}", base_name(&name)),
                None => String::new(),
            },
            expendable: 1,
            cell: if mixed {
                |row| {
                    let baseline = row.baseline.as_deref().map(base_name)?;
                    row.ratio
                        .map(|ratio| format!("{} of {baseline}", times(ratio.median)))
                }
            } else {
                |row| row.ratio.map(|ratio| times(ratio.median))
            },
        },
        Figure {
            heading: "caller".to_owned(),
            expendable: 2,
            cell: |row| {
                let (wall, caller) = (row.wall_ns?.median, row.caller_ns?.median);
                // Only where it says something that the wall time does not.
                (caller < wall / 2).then(|| row.per_message(row.caller_ns).map(duration))?
            },
        },
        Figure {
            heading: "delivered".to_owned(),
            expendable: 4,
            cell: |row| {
                let (wall, delivered) = (row.wall_ns?.median, row.delivered_ns?.median);
                (delivered > wall + wall / 4)
                    .then(|| row.per_message(row.delivered_ns).map(duration))?
            },
        },
        Figure {
            heading: "processor".to_owned(),
            expendable: 3,
            cell: |row| row.per_message(row.cpu_ns).map(duration),
        },
        Figure {
            heading: "writes/1,000".to_owned(),
            expendable: 2,
            cell: |row| {
                let writes = row.writes? as f64 * 1_000.0 / row.messages.max(1) as f64;
                Some(significant(writes))
            },
        },
        Figure {
            heading: "published".to_owned(),
            expendable: 5,
            cell: |row| {
                let published = row.published?;
                Some(duration(
                    published.seconds * 1e9 / published.messages as f64,
                ))
            },
        },
    ]
}

/// What a profiler shows of those that work for a time.
fn timed_figures(experiment: &Experiment) -> [Figure; 8] {
    let unit = experiment.unit;
    [
        Figure {
            heading: format!("{unit}s"),
            expendable: 4,
            cell: |row| Some(grouped(row.messages)),
        },
        Figure {
            heading: format!("a {unit}"),
            expendable: 0,
            cell: |row| row.wall_per_message().map(duration),
        },
        Figure {
            heading: "in write".to_owned(),
            expendable: 0,
            cell: |row| row.per_message(row.write_ns).map(duration),
        },
        Figure {
            heading: format!("writes/{unit}"),
            expendable: 0,
            cell: |row| Some(significant(row.writes? as f64 / row.messages.max(1) as f64)),
        },
        Figure {
            heading: "writes".to_owned(),
            expendable: 3,
            cell: |row| row.writes.map(grouped),
        },
        Figure {
            heading: format!("bytes/{unit}"),
            expendable: 2,
            cell: |row| Some(grouped(row.bytes / row.messages.max(1))),
        },
        Figure {
            heading: "samples in 5 s".to_owned(),
            expendable: 1,
            cell: |row| Some(grouped(row.profiler_samples?.measured)),
        },
        Figure {
            heading: "published".to_owned(),
            expendable: 5,
            cell: |row| row.profiler_samples?.published.map(grouped),
        },
    ]
}

fn times_table(experiment: &Experiment, rows: &[&Row], figures: &[Figure]) -> Table {
    let mut ranked: Vec<&&Row> = rows
        .iter()
        .filter(|row| row.wall_per_message().is_some() && row.failed.is_none())
        .collect();
    ranked.sort_by(|one, other| {
        f64::total_cmp(
            &one.wall_per_message().unwrap_or_default(),
            &other.wall_per_message().unwrap_or_default(),
        )
    });
    let figures: Vec<&Figure> = figures
        .iter()
        .filter(|figure| ranked.iter().any(|row| (figure.cell)(row).is_some()))
        .collect();
    let slowest = ranked
        .last()
        .and_then(|row| row.wall_per_message())
        .unwrap_or(1.0);
    let mut headings = vec![Heading::fixed("rung")];
    headings.extend(figures.iter().map(|figure| Heading {
        text: figure.heading.clone(),
        expendable: figure.expendable,
    }));
    let lines = ranked.iter().map(|row| {
        let mut cells = vec![row.rung.clone()];
        cells.extend(
            figures
                .iter()
                .map(|figure| (figure.cell)(row).unwrap_or_default()),
        );
        let share = row
            .wall_per_message()
            .map(|time| time / slowest.max(f64::MIN_POSITIVE));
        Line {
            cells,
            share,
            ours: is_ours(experiment, row),
        }
    });
    let lines = lines.collect();
    Table::untitled(headings, lines)
}

/// One line a text, one column a rung: what appears at once, and what waits for which step.
fn arrivals(experiment: &Experiment, rows: &[&Row]) -> Table {
    let rows: Vec<&&Row> = rows.iter().filter(|row| !row.arrivals.is_empty()).collect();
    let mut headings = vec![Heading::fixed("text")];
    headings.extend(rows.iter().map(|row| Heading::fixed(&row.rung)));
    let lines = experiment.texts.iter().map(|text| {
        let mut cells = vec![text.name.to_owned()];
        cells.extend(rows.iter().map(|row| {
            match row
                .arrivals
                .iter()
                .find(|arrival| arrival.text == text.name)
            {
                None => "never".to_owned(),
                Some(arrival) if arrival.arrived_at == arrival.written_at => {
                    duration(arrival.after_ns as f64)
                }
                Some(arrival) => format!("at {}", arrival.arrived_at),
            }
        }));
        Line::plain(cells)
    });
    let lines = lines.collect();
    Table::untitled(headings, lines)
}

pub(super) fn is_ours(experiment: &Experiment, row: &Row) -> bool {
    experiment
        .rung(base_name(&row.rung))
        .is_some_and(|rung| matches!(rung.origin, Origin::Outpace))
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

const GAP: usize = 2;
const SHORTEST_BAR: usize = 6;
const LONGEST_BAR: usize = 30;
/// Columns this expendable make room for bars.
const LESS_THAN_A_BAR: u8 = 4;

impl Table {
    /// The table for a terminal.
    pub(crate) fn to_screen(&self, screen: Screen) -> String {
        let mut text = screen.paragraph(&self.title, 0);
        text = format!("{}\n", screen.strong(text.trim_end()));
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|column| {
                let cells = self.lines.iter().map(|line| width(&line.cells[column]));
                cells
                    .chain([width(&self.headings[column].text)])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let columns = self.fitting(&widths, screen.columns);
        let used: usize = columns.iter().map(|&column| widths[column] + GAP).sum();
        let bar = screen.columns.saturating_sub(used + 1).min(LONGEST_BAR);
        let headings: Vec<&str> = self
            .headings
            .iter()
            .map(|heading| heading.text.as_str())
            .collect();
        let mut line = |cells: &[&str], tail: &str, style: &dyn Fn(&str) -> String| {
            let padded: Vec<String> = columns
                .iter()
                .map(|&column| {
                    let fill = " ".repeat(widths[column] - width(cells[column]));
                    // Names on the left, figures on the right.
                    if column == 0 {
                        format!("{}{fill}", style(cells[column]))
                    } else {
                        format!("{fill}{}", style(cells[column]))
                    }
                })
                .collect();
            text += format!("{}{tail}", padded.join(&" ".repeat(GAP))).trim_end();
            text.push('\n');
        };
        if !self.lines.is_empty() {
            line(&headings, "", &|cell| screen.faint(cell));
        }
        for entry in &self.lines {
            let cells: Vec<&str> = entry.cells.iter().map(String::as_str).collect();
            let tail = match entry.share {
                Some(share) if bar >= SHORTEST_BAR => format!("  {}", blocks(share, bar)),
                _ => String::new(),
            };
            line(&cells, &tail, &|cell| {
                if entry.ours {
                    screen.ours(cell)
                } else {
                    cell.to_owned()
                }
            });
        }
        for note in &self.notes {
            let paragraph = screen.paragraph(&note.text, 2);
            let lines = paragraph.lines().map(|line| {
                if note.wrong {
                    screen.wrong(line)
                } else {
                    screen.faint(line)
                }
            });
            text += &lines.map(|line| line + "\n").collect::<String>();
        }
        text
    }

    /// The columns that fit, the least important left out first.
    fn fitting(&self, widths: &[usize], available: usize) -> Vec<usize> {
        let mut columns: Vec<usize> = (0..widths.len()).collect();
        loop {
            let used: usize = columns.iter().map(|&column| widths[column] + GAP).sum();
            let expendable = columns
                .iter()
                .copied()
                .filter(|&column| self.headings[column].expendable > 0)
                .max_by_key(|&column| self.headings[column].expendable);
            match expendable {
                Some(column)
                    if used > available + GAP
                        || self.headings[column].expendable >= LESS_THAN_A_BAR
                            && used + SHORTEST_BAR >= available =>
                {
                    columns.retain(|&kept| kept != column);
                }
                _ => return columns,
            }
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A bar in eighths of a cell.
fn blocks(share: f64, longest: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * longest as f64 * 8.0)
        .round()
        .max(1.0) as usize;
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(['▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8 - 1]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::find;
    use crate::bench::runner::figures::rows_of;

    fn lines_table() -> Table {
        let mut rows = rows_of(
            "lines",
            &[("println", "pipe", 417), ("bufwriter", "pipe", 15)],
        );
        rows.push(Row {
            skipped: Some("no compiler".to_owned()),
            ..rows[0].clone()
        });
        rows[2].wall_ns = None;
        table(find("lines").unwrap(), "pipe", &rows)
    }

    #[test]
    fn the_fastest_comes_first_and_the_skipped_are_named() {
        let text = lines_table().to_screen(Screen {
            columns: 80,
            colour: false,
        });
        let place = |name: &str| {
            text.find(name)
                .unwrap_or_else(|| panic!("no {name} in\n{text}"))
        };
        assert!(place("bufwriter") < place("println  "), "{text}");
        assert!(text.contains("println skipped: no compiler"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for columns in [30, 40, 60, 80, 132] {
            let text = lines_table().to_screen(Screen {
                columns,
                colour: false,
            });
            for line in text.lines() {
                assert!(width(line) <= columns, "{columns} columns:\n{text}");
            }
        }
    }

    #[test]
    fn bars_are_proportional() {
        assert_eq!(blocks(1.0, 4), "████");
        assert_eq!(blocks(0.5, 4), "██");
        assert_eq!(blocks(0.0, 4), "▏");
    }
}
