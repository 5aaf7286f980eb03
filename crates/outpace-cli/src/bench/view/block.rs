//! Blocks of a report, before they are rendered on a screen, in Markdown or in HTML.

use super::table::Table;
use crate::bench::experiment::Experiment;
use crate::user::screen::Screen;

/// A piece of a report.
pub(crate) enum Block {
    /// Where the figures come from.
    Origin(String),
    /// An experiment's question, and the publications about it.
    Heading(&'static Experiment),
    Table(Table),
    Warning(String),
    Conclusion(String),
    /// The conclusion from the whole report.
    Closing(String),
    /// A line each.
    Summary(Vec<String>),
}

impl Block {
    /// The piece for a terminal.
    pub(crate) fn to_screen(&self, screen: Screen) -> String {
        match self {
            Self::Origin(text) => screen.faint(&screen.paragraph(text, 0)),
            Self::Heading(experiment) => {
                let title = format!("{}: {}", experiment.name, experiment.question);
                let mut text = screen.paragraph(experiment.published, 2);
                for source in experiment.sources {
                    text += &screen.paragraph(&source.to_string(), 2);
                }
                format!(
                    "\n{}\n{}",
                    screen.strong(screen.paragraph(&title, 0).trim_end()),
                    screen.faint(&text)
                )
            }
            Self::Table(table) => format!("\n{}", table.to_screen(screen)),
            Self::Warning(text) => screen.wrong(&screen.paragraph(&format!("warning: {text}"), 0)),
            Self::Conclusion(text) | Self::Closing(text) if text.is_empty() => String::new(),
            Self::Conclusion(text) | Self::Closing(text) => {
                format!("\n{}", screen.paragraph(text, 0))
            }
            Self::Summary(lines) => format!("\n{}\n", lines.join("\n")),
        }
    }
}
