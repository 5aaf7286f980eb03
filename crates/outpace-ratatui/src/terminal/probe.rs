//! The terminal's capabilities, known by its name and the variables it sets; an unknown terminal has the least. Asks for its
//! cursor, too.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use super::options::Options;
use crate::model::{Capabilities, Repeat};
use crate::sys;

/// How long to wait for a terminal that must answer or read before we can go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long a command waits for a terminal that keeps up.
pub(crate) const MOMENT: Duration = Duration::from_millis(1);
/// How long to wait for a terminal to read before it is left.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_millis(450);

/// Finds the terminal's capabilities by its name and the variables it sets. It is not asked: answers come through the input, whose
/// keys belong to the application, and bytes that are read there cannot be given back.
pub(crate) fn find_capabilities(is_terminal: bool, options: &Options) -> Capabilities {
    options.capabilities.unwrap_or_else(|| {
        let found = by_environment(|name| std::env::var(name).unwrap_or_default());
        Capabilities {
            synchronized: found.synchronized && is_terminal,
            alternate_screen: !options.main_screen,
            ..found
        }
    })
}

/// The capabilities of terminals by the variables they set.
fn by_environment(variable: impl Fn(&str) -> String) -> Capabilities {
    let is_set = |name: &str| !variable(name).is_empty();
    let term = variable("TERM");
    let multiplexed = is_set("TMUX") || is_set("ZELLIJ") || term.starts_with("screen");
    let mut found = by_name(&term, is_set("TMUX"), is_set("ZELLIJ"));
    // Terminals that do not know synchronized output ignore it, as they do all private modes they do not know.
    found.synchronized = !matches!(term.as_str(), "" | "dumb" | "linux");
    // VTE, of gnome-terminal and others, repeats since 0.40 as xterm does.
    let vte = variable("VTE_VERSION").parse().unwrap_or(0);
    let repeats = is_set("XTERM_VERSION") || vte >= 4000;
    if repeats && !multiplexed && found.repeat == Repeat::Nothing {
        found.repeat = Repeat::Ascii;
    }
    found
}

/// The capabilities of terminals by their names.
fn by_name(term: &str, tmux: bool, zellij: bool) -> Capabilities {
    let basic = Capabilities::basic();
    let starts = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
    if zellij {
        return basic;
    }
    if tmux || starts(&["tmux"]) {
        return Capabilities {
            erase_to_background: true,
            ..basic
        };
    }
    if starts(&[
        "alacritty",
        "xterm-kitty",
        "foot",
        "wezterm",
        "xterm-ghostty",
        "ghostty",
    ]) {
        return Capabilities {
            erase_to_background: true,
            repeat: Repeat::Anything,
            ..basic
        };
    }
    if starts(&[
        "xterm", "linux", "konsole", "vte", "gnome", "rxvt", "st-", "contour", "mintty",
    ]) {
        return Capabilities {
            erase_to_background: true,
            ..basic
        };
    }
    if starts(&["dumb"]) || term.is_empty() {
        return Capabilities::least();
    }
    basic
}

/// An optimisation's name, and the function that turns it off.
type Optimisation = (&'static str, fn(&mut Capabilities));

/// The optimisations that `OUTPACE_DRAW_OFF` can turn off.
const OPTIMISATIONS: [Optimisation; 8] = [
    ("sync", |c| c.synchronized = false),
    ("repeat", |c| c.repeat = Repeat::Nothing),
    ("scroll", |c| c.scroll = false),
    ("shift", |c| c.shift = false),
    ("erase", |c| c.erase_characters = false),
    ("background", |c| c.erase_to_background = false),
    ("blocks", |c| c.half_blocks = false),
    ("order", |c| c.any_order = false),
];

/// The capabilities without those that the user does not want used.
pub(crate) fn without_disabled(capabilities: Capabilities) -> io::Result<Capabilities> {
    match sys::variable("OUTPACE_DRAW_OFF") {
        Some(list) => without(capabilities, &list.to_string_lossy()).map_err(io::Error::other),
        None => Ok(capabilities),
    }
}

fn without(mut capabilities: Capabilities, list: &str) -> Result<Capabilities, String> {
    for word in list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        let known = OPTIMISATIONS.iter().find(|(name, _)| *name == word);
        let Some((_, turn_off)) = known else {
            let names: Vec<_> = OPTIMISATIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "OUTPACE_DRAW_OFF: there is no optimisation `{word}`; it takes a list of: {}",
                names.join(",")
            ));
        };
        turn_off(&mut capabilities);
    }
    Ok(capabilities)
}

/// The reply to the question for the cursor, if it is in the input: column and row.
fn cursor_reply(input: &[u8]) -> Option<(u16, u16)> {
    let replies = input.split(|byte| *byte == 0x1b).skip(1);
    let place = |reply: &[u8]| {
        let body = reply.strip_prefix(b"[")?;
        let end = body.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
        let text = std::str::from_utf8(&body[..end]).ok()?;
        let (row, column) = text.split_once(';').filter(|_| body[end] == b'R')?;
        let number = |text: &str| text.parse::<u16>().ok()?.checked_sub(1);
        Some((number(column)?, number(row)?))
    };
    replies.filter_map(place).last()
}

/// A question to a terminal that crossterm does not read from. Raw mode is on meanwhile.
struct Conversation {
    output: sys::Terminal,
    input: sys::Terminal,
    modes: Option<sys::Modes>,
}

impl Conversation {
    fn start(terminal: &sys::Terminal) -> io::Result<Self> {
        let input = sys::readable_twin(terminal)?;
        let modes = if sys::is_raw(&input) {
            None
        } else {
            Some(sys::make_raw(&input)?)
        };
        Ok(Self {
            output: terminal.clone(),
            input,
            modes,
        })
    }

    fn ask(&mut self) -> io::Result<Option<(u16, u16)>> {
        self.output.write_all(b"\x1b[6n")?;
        let start = Instant::now();
        let mut input = Vec::new();
        loop {
            let reply = cursor_reply(&input);
            let left = PATIENCE.saturating_sub(start.elapsed());
            if reply.is_some() || left.is_zero() || !sys::wait_readable(&self.input, left)? {
                return Ok(reply);
            }
            let mut chunk = [0; 256];
            match self.input.read(&mut chunk) {
                Ok(0) => return Ok(reply),
                Ok(n) => input.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match self.modes.take() {
            Some(modes) => sys::restore_modes(&self.input, &modes),
            None => Ok(()),
        }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // The modes are left to restore only after an error, which is reported already.
        let _ = self.end();
    }
}

/// Asks for the cursor's column and row. Waits a second for a terminal that does not read, and one or two for its answer.
pub(crate) fn ask_for_cursor(terminal: &sys::Terminal) -> io::Result<(u16, u16)> {
    if !terminal.is_terminal() {
        return Err(io::Error::other("this is no terminal, so it has no cursor"));
    }
    if !sys::wait_writable(terminal, Some(PATIENCE))? {
        let text = "the terminal does not read, so it cannot be asked where its cursor is";
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    }
    #[cfg(feature = "crossterm")]
    if io::stdout().is_terminal() && sys::is_stdout(terminal) {
        // crossterm keeps the keys that are pressed while it waits.
        return crossterm::cursor::position();
    }
    let mut conversation = Conversation::start(terminal)?;
    let cursor = conversation.ask()?;
    conversation.end()?;
    cursor.ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::TimedOut,
            "the terminal did not say where its cursor is; an inline viewport needs to know, a \
             fullscreen one does not",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_found_among_key_presses() {
        let input = b"q\x1b[A\x1b[12;5R\x1bOP\x1b[?2026;2$yx";
        assert_eq!(cursor_reply(input), Some((4, 11)));
        assert_eq!(cursor_reply(b"\x1b[\x1b\x1b[;;R\x1b[0;0R\xff"), None);
    }

    #[test]
    fn what_a_terminal_repeats_is_known_by_what_it_sets() {
        let found = |set: &[(&str, &str)]| {
            by_environment(|name| {
                let value = set.iter().find(|(known, _)| *known == name);
                value
                    .map(|(_, value)| (*value).to_owned())
                    .unwrap_or_default()
            })
        };
        let term = ("TERM", "xterm-256color");
        assert_eq!(found(&[term]).repeat, Repeat::Nothing);
        assert_eq!(
            found(&[term, ("XTERM_VERSION", "XTerm(379)")]).repeat,
            Repeat::Ascii
        );
        assert_eq!(
            found(&[term, ("VTE_VERSION", "7200")]).repeat,
            Repeat::Ascii
        );
        // A multiplexer in between inherits the variables and sets none.
        let inherited = [("TERM", "screen"), ("VTE_VERSION", "7200")];
        assert_eq!(found(&inherited).repeat, Repeat::Nothing);
        assert!(found(&[term]).synchronized && !found(&[]).synchronized);
    }

    #[test]
    fn optimisations_are_turned_off_one_by_one() {
        let off = without(Capabilities::full(), " shift, repeat,").unwrap();
        assert!(!off.shift && off.scroll && off.repeat == Repeat::Nothing);
        let error = without(Capabilities::full(), "shfit").unwrap_err();
        assert!(
            error.contains("`shfit`") && error.contains("sync,repeat,scroll"),
            "{error}"
        );
    }

    #[test]
    fn a_terminal_without_a_name_is_sent_the_least() {
        assert_eq!(by_name("", false, false), Capabilities::least());
        assert!(!by_name("screen", false, false).erase_to_background);
        assert!(by_name("screen-256color", true, false).erase_to_background);
    }
}
