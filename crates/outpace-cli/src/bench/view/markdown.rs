//! A report in Markdown.

use super::block::Block;
use super::table::Table;
use crate::bench::experiment::Publication;

/// The whole report.
pub(crate) fn document(blocks: &[Block]) -> String {
    blocks.iter().map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Origin(text) => format!("{}\n\n", escaped(text)),
        Block::Heading(experiment) => {
            let source = |source: &Publication| {
                let mut title = escaped(source.title);
                if let Some(link) = source.link {
                    title = format!("[{title}]({link})");
                }
                let year = source
                    .year
                    .map_or_else(String::new, |year| format!(" ({year})"));
                format!("- {}, {title}{year}\n", escaped(source.author))
            };
            let list = match experiment.sources.iter().map(source).collect::<String>() {
                none if none.is_empty() => none,
                items => items + "\n",
            };
            format!(
                "## {}: {}\n\n{}\n\n{list}",
                experiment.name,
                escaped(experiment.question),
                escaped(experiment.published)
            )
        }
        Block::Table(of) => table(of),
        Block::Warning(text) => format!("> warning: {}\n\n", escaped(text)),
        Block::Conclusion(text) | Block::Closing(text) if text.is_empty() => String::new(),
        Block::Conclusion(text) | Block::Closing(text) => format!("{}\n\n", escaped(text)),
        Block::Summary(lines) => {
            let item = |line: &String| format!("- {}\n", escaped(line));
            format!(
                "## Summary\n\n{}\n",
                lines.iter().map(item).collect::<String>()
            )
        }
    }
}

/// A table with its title and its notes.
fn table(table: &Table) -> String {
    let mut text = format!("### {}\n\n", escaped(&table.title));
    if !table.lines.is_empty() {
        let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        text += &row(table
            .headings
            .iter()
            .map(|heading| escaped(&heading.text))
            .collect());
        let rules =
            (0..table.headings.len()).map(|column| if column == 0 { "---" } else { "---:" });
        text += &row(rules.map(str::to_owned).collect());
        for line in &table.lines {
            text += &row(line.cells.iter().map(|cell| escaped(cell)).collect());
        }
        text.push('\n');
    }
    for note in &table.notes {
        text += &format!("- {}\n", escaped(&note.text));
    }
    if !table.notes.is_empty() {
        text.push('\n');
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('|', "\\|")
        .replace('[', "\\[")
        .replace('*', "\\*")
        .replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::view::columns::lines_table;

    #[test]
    fn a_table_has_as_many_columns_in_every_row() {
        let table = lines_table(&[("println", "pipe", 417), ("bufwriter", "pipe", 15)]);
        let text = document(&[Block::Table(table)]);
        let bars: Vec<usize> = text
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(|line| line.matches('|').count())
            .collect();
        assert_eq!(bars.len(), 4, "{text}");
        assert!(bars.iter().all(|&count| count == bars[0]), "{text}");
    }
}
