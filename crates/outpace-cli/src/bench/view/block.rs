//! What is said, before it is decided whether on a screen, in Markdown or in HTML.

use super::table::Table;
use crate::user::screen::Screen;

/// A piece of a report.
pub(crate) enum Block {
    /// Where the figures come from.
    Origin(String),
    Heading {
        title: String,
        published: String,
    },
    Table(Table),
    Warning(String),
    Verdict(String),
}

impl Block {
    /// The piece for a terminal.
    pub(crate) fn to_screen(&self, screen: Screen) -> String {
        match self {
            Self::Origin(text) => screen.faint(&screen.paragraph(text, 0)),
            Self::Heading { title, published } => format!(
                "\n{}\n{}",
                screen.strong(screen.paragraph(title, 0).trim_end()),
                screen.faint(&screen.paragraph(published, 2))
            ),
            Self::Table(table) => format!("\n{}", table.to_screen(screen)),
            Self::Warning(text) => screen.wrong(&screen.paragraph(&format!("warning: {text}"), 0)),
            Self::Verdict(text) if text.is_empty() => String::new(),
            Self::Verdict(text) => format!("\n{}", screen.paragraph(text, 0)),
        }
    }
}
