//! A table, and its form on a terminal: with bars, and without the columns that do not fit. Columns that must stay and
//! do not fit are continued below.

use super::chart::Chart;
use crate::user::screen::Screen;

/// A table, for a screen, Markdown or HTML.
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) headings: Vec<Heading>,
    pub(crate) lines: Vec<TableLine>,
    /// Rungs that are not in the table, since they were skipped, failed or broke as published.
    pub(crate) notes: Vec<Note>,
    /// The same as pictures, for HTML.
    pub(crate) charts: Vec<Chart>,
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
pub(crate) struct TableLine {
    pub(crate) cells: Vec<String>,
    /// The length of its bar against the longest.
    pub(super) share: Option<f64>,
    pub(super) ours: bool,
}

impl TableLine {
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
        let mut line =
            |block: &[usize], cells: &[&str], tail: &str, style: &dyn Fn(&str) -> String| {
                let padded: Vec<String> = block
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
        for (at, block) in blocks_of(&columns, &widths, screen.columns)
            .iter()
            .enumerate()
        {
            if at > 0 {
                line(&[], &[], "", &str::to_owned);
            }
            if !self.lines.is_empty() {
                line(block, &headings, "", &|cell| screen.faint(cell));
            }
            for entry in &self.lines {
                let cells: Vec<&str> = entry.cells.iter().map(String::as_str).collect();
                let tail = match entry.share {
                    Some(share) if bar >= SHORTEST_BAR => format!("  {}", blocks(share, bar)),
                    _ => String::new(),
                };
                line(block, &cells, &tail, &|cell| {
                    if entry.ours {
                        screen.ours(cell)
                    } else {
                        cell.to_owned()
                    }
                });
            }
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

/// The columns in blocks as wide as the screen, one below the other, each with the first column.
fn blocks_of(columns: &[usize], widths: &[usize], available: usize) -> Vec<Vec<usize>> {
    let Some((&name, figures)) = columns.split_first() else {
        return vec![Vec::new()];
    };
    let mut blocks = vec![vec![name]];
    let mut used = widths[name];
    for &column in figures {
        let block = blocks.last_mut().expect("there is a first");
        if block.len() > 1 && used + GAP + widths[column] > available {
            blocks.push(vec![name, column]);
            used = widths[name] + GAP + widths[column];
        } else {
            block.push(column);
            used += GAP + widths[column];
        }
    }
    blocks
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
    use crate::bench::results::figures::rows_of;
    use crate::bench::results::rows::Row;
    use crate::bench::view::columns::table;

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
    fn columns_that_stay_and_do_not_fit_are_continued_below() {
        let cell = |text: &str| text.repeat(15);
        let table = Table {
            title: "when".to_owned(),
            headings: ["text", "one", "two", "three"].map(Heading::fixed).into(),
            lines: vec![TableLine::plain(vec![
                "half".to_owned(),
                cell("a"),
                cell("b"),
                cell("c"),
            ])],
            notes: Vec::new(),
            charts: Vec::new(),
        };
        let text = table.to_screen(Screen {
            columns: 40,
            colour: false,
        });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "when",
                "text              one              two",
                "half  aaaaaaaaaaaaaaa  bbbbbbbbbbbbbbb",
                "",
                "text            three",
                "half  ccccccccccccccc",
            ]
        );
        assert_eq!(
            table
                .to_screen(Screen {
                    columns: 80,
                    colour: false,
                })
                .lines()
                .count(),
            3
        );
    }

    #[test]
    fn bars_are_proportional() {
        assert_eq!(blocks(1.0, 4), "████");
        assert_eq!(blocks(0.5, 4), "██");
        assert_eq!(blocks(0.0, 4), "▏");
    }
}
