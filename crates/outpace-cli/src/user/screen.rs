//! The abilities of the terminal that shows the results.

use std::env;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How results are shown: how wide, and whether in colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) columns: usize,
    pub(crate) colour: bool,
}

/// How a line looks in colour.
pub(crate) type Style = fn(Screen, &str) -> String;

pub(crate) const PLAIN: Style = |_, line| line.to_owned();

impl Screen {
    /// The screen that stdout writes to; 80 columns without colour when that is not a terminal.
    pub(crate) fn of_stdout() -> Self {
        Self::of_or(&io::stdout(), 80)
    }

    /// The same, but with lines of any length if stdout is no terminal: then a program reads them.
    pub(crate) fn of_stdout_or_endless() -> Self {
        Self::of_or_endless(&io::stdout())
    }

    pub(crate) fn of_or_endless(stream: &(impl AsFd + IsTerminal)) -> Self {
        Self::of_or(stream, usize::MAX)
    }

    fn of_or(stream: &(impl AsFd + IsTerminal), columns: usize) -> Self {
        let colour = false;
        Self::of(stream).unwrap_or(Self { columns, colour })
    }

    /// The screen that a stream writes to, if it is a terminal.
    pub(crate) fn of(stream: &(impl AsFd + IsTerminal)) -> Option<Self> {
        if !stream.is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(stream).ok();
        let columns = size.map(|size| size.ws_col.into());
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        Some(Self {
            columns: columns.filter(|&columns| columns > 0).unwrap_or(80),
            colour: !set("NO_COLOR") && takes_escapes(),
        })
    }

    /// Text that stands out.
    pub(crate) fn strong(self, text: &str) -> String {
        self.sgr("1", text)
    }

    /// Text that stands back.
    pub(crate) fn faint(self, text: &str) -> String {
        self.sgr("2", text)
    }

    /// Text about outpace itself.
    pub(crate) fn ours(self, text: &str) -> String {
        self.sgr("32", text)
    }

    /// Text about something that went wrong.
    pub(crate) fn wrong(self, text: &str) -> String {
        self.sgr("31", text)
    }

    /// `SGR` parameters around a text (ECMA-48), if there is any.
    fn sgr(self, parameters: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{parameters}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// A name in a column of a width, and its description beside it, or below it where the screen is narrow.
    pub(crate) fn item(self, name: &str, width: usize, about: &str, indent: usize) -> String {
        const LEAST: usize = 30;
        let margin = " ".repeat(indent);
        let hanging = indent + width + 2;
        if self.columns == usize::MAX {
            return format!("{margin}{name:width$}  {about}\n");
        }
        if self.columns.min(100) < hanging + LEAST {
            return self.paragraph(name, indent) + &self.paragraph(about, indent + 4);
        }
        let text = self.paragraph(about, hanging);
        format!("{margin}{name:width$}  {}", text.trim_start_matches(' '))
    }

    /// A paragraph broken at spaces to the width of the screen, each line indented.
    pub(crate) fn paragraph(self, text: &str, indent: usize) -> String {
        let width = self.columns.min(100).saturating_sub(indent + 1);
        self.lines(broken(text, width), [indent; 2], PLAIN)
    }

    /// The same in a style, over the whole width, and with other margins of the first line and of the others. A text that fits on a line keeps
    /// its spaces.
    pub(crate) fn hanging(self, text: &str, margins: [usize; 2], style: Style) -> String {
        // Where it is narrow, the text needs them.
        let [first, others] = margins.map(|margin| margin.min(self.columns / 6));
        if columns_of(text) <= self.columns - first {
            return self.lines([text.to_owned()], [first, others], style);
        }
        let lines = broken(text, self.columns - others);
        self.lines(lines, [first, others], style)
    }

    fn lines(
        self,
        lines: impl IntoIterator<Item = String>,
        [first, others]: [usize; 2],
        style: Style,
    ) -> String {
        let margins = std::iter::once(first).chain(std::iter::repeat(others));
        let lines = lines.into_iter().zip(margins);
        let line =
            |(line, margin): (String, usize)| " ".repeat(margin) + &style(self, &line) + "\n";
        lines.map(line).collect()
    }
}

/// Whether the terminal takes escape sequences, by the environment.
pub(crate) fn takes_escapes() -> bool {
    env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// The number of columns that a terminal gives a text.
pub(crate) fn columns_of(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Text in lines of at most `width` columns, broken at spaces, or within a word that is longer.
pub(crate) fn broken(text: &str, width: usize) -> impl Iterator<Item = String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest = word;
        loop {
            let last = lines.last_mut().expect("there is always a line");
            let (filled, length) = (columns_of(last), columns_of(rest));
            if filled > 0 && filled + 1 + length <= width {
                last.push(' ');
                last.push_str(rest);
                break;
            }
            if filled > 0 {
                lines.push(String::new());
                continue;
            }
            let mut filled = 0;
            let fits = |&(_, c): &(usize, char)| {
                filled += c.width().unwrap_or(0);
                filled <= width
            };
            let fitting = rest.char_indices().take_while(fits).last();
            // One at least, however narrow it is.
            let first = || rest.chars().next().map_or(0, char::len_utf8);
            let end = fitting.map_or_else(first, |(at, c)| at + c.len_utf8());
            last.push_str(&rest[..end]);
            rest = &rest[end..];
            if rest.is_empty() {
                break;
            }
        }
    }
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_keeps_to_the_width() {
        let screen = Screen {
            columns: 40,
            colour: false,
        };
        let text = screen.paragraph(&"word ".repeat(30), 2);
        assert!(
            text.lines()
                .all(|line| line.starts_with("  word") && line.len() < 40),
            "{text}"
        );
        assert_eq!(text.matches("word").count(), 30);
        let long = screen.paragraph(&format!("a {} z", "x".repeat(100)), 2);
        assert!(long.lines().all(|line| line.len() < 40), "{long}");
        assert_eq!(long.matches('x').count(), 100);
        // Letters of two columns each.
        let wide = screen.paragraph(&"日".repeat(50), 2);
        assert!(wide.lines().all(|line| columns_of(line) < 40), "{wide}");
        assert_eq!(wide.matches('日').count(), 50);
        // However narrow it is.
        for width in 1..20 {
            let lines: Vec<String> = broken("wide 日本 words and narrow ones", width).collect();
            let most = lines.iter().map(|line| columns_of(line)).max();
            assert!(most <= Some(width.max(2)), "{lines:?}");
            assert_eq!(lines.concat().matches('日').count(), 1);
        }
    }

    #[test]
    fn without_colour_there_is_no_escape_sequence() {
        let screen = Screen {
            columns: 80,
            colour: false,
        };
        assert_eq!(screen.strong("plain"), "plain");
        let coloured = Screen {
            colour: true,
            ..screen
        };
        assert!(coloured.strong("bold").starts_with('\x1b'));
        assert_eq!(coloured.wrong(""), "");
    }
}
