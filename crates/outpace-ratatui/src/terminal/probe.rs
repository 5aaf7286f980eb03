//! What the terminal can do: asked where it can be asked, known by name where it cannot, and otherwise
//! taken to be no more than every terminal does.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::options::Options;
use crate::model::{Capabilities, Repeat};
use crate::sys;

/// How long to wait for the terminal's answers before going on without.
const ANSWER_LIMIT: Duration = Duration::from_millis(100);
/// How long to wait for a terminal that must answer or read before we can go on.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait for a terminal to read before it is left.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_millis(450);

/// When a terminal was asked that has not answered in time. What it says then must not become key presses:
/// crossterm takes it for one unknown reply, and before a shell reads it, it is waited for.
static UNANSWERED: Mutex<Option<Instant>> = Mutex::new(None);

/// Before the terminal is given back: waits for answers that are late, but no longer than a terminal may take
/// for them. Nothing to wait for is the rule.
pub(crate) fn await_late_answers(terminal: &File) {
    let asked = UNANSWERED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let Some(left) = asked.and_then(|asked| PATIENCE.checked_sub(asked.elapsed())) else {
        return;
    };
    if let (Ok(input), Ok(output)) = (sys::readable_twin(terminal), terminal.try_clone())
        && sys::is_raw(&input)
    {
        let mut conversation = Conversation {
            output,
            input,
            modes: None,
        };
        // Where it cannot be read there is nothing to keep from the shell.
        let _ = conversation.listen(left, |answers| answers.complete);
    }
}

/// What was found out about a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Findings {
    pub(crate) capabilities: Capabilities,
    /// Column and row.
    pub(crate) cursor: Option<(u16, u16)>,
}

/// Finds out what the terminal can do: by its name, and by asking it.
pub(crate) fn find_out(terminal: &File, options: &Options) -> io::Result<Findings> {
    let by_name = options.capabilities.unwrap_or_else(|| {
        let variable = |name| std::env::var(name).unwrap_or_default();
        by_name(
            &variable("TERM"),
            !variable("TMUX").is_empty(),
            !variable("ZELLIJ").is_empty(),
        )
    });
    let mut findings = Findings {
        capabilities: by_name,
        cursor: None,
    };
    if options.capabilities.is_some() || !terminal.is_terminal() {
        return Ok(findings);
    }
    if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        return Ok(findings);
    }
    let Ok(mut conversation) = Conversation::start(terminal) else {
        return Ok(findings);
    };
    if sys::wait_readable(&conversation.input, Duration::ZERO)? {
        // Keys were pressed ahead. They are the application's, and the answers would come after them.
        conversation.end()?;
        return Ok(findings);
    }
    let test_repeat = options.owns_screen && by_name.repeat == Repeat::Nothing;
    let asked = Instant::now();
    let answers = conversation.ask(test_repeat)?;
    conversation.end()?;
    *UNANSWERED.lock().unwrap_or_else(PoisonError::into_inner) =
        (!answers.complete).then_some(asked);
    findings.cursor = answers
        .cursor
        .map(|(x, y)| if test_repeat { (0, y) } else { (x, y) });
    findings.capabilities.synchronized = answers.synchronized;
    if let Some(alternate) = answers.alternate_screen {
        findings.capabilities.alternate_screen = alternate;
    }
    if test_repeat && answers.cursor.is_some_and(|(x, _)| x == 4) {
        findings.capabilities.repeat = Repeat::Ascii;
    }
    Ok(findings)
}

/// What is known of terminals by their names.
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

/// An optimisation's name, and what turns it off.
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

/// What a terminal answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Answers {
    synchronized: bool,
    alternate_screen: Option<bool>,
    cursor: Option<(u16, u16)>,
    /// The reply to the last question has come.
    complete: bool,
}

impl Answers {
    /// Reads the sequences in the input so far; keys pressed meanwhile are passed over.
    fn parse(input: &[u8]) -> Self {
        let mut answers = Self::default();
        for piece in input.split(|byte| *byte == 0x1b).skip(1) {
            let Some(body) = piece.strip_prefix(b"[") else {
                continue;
            };
            let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                continue;
            };
            let Ok(text) = std::str::from_utf8(&body[..end]) else {
                continue;
            };
            let mut numbers = text
                .trim_start_matches('?')
                .trim_end_matches('$')
                .split(';');
            let mut next = || numbers.next().and_then(|number| number.parse::<u16>().ok());
            match (text.starts_with('?'), body[end]) {
                (true, b'c') => answers.complete = true,
                (true, b'y') => match (next(), next()) {
                    (Some(2026), Some(state)) => answers.synchronized = matches!(state, 1..=3),
                    (Some(1049), Some(state)) if state > 0 => {
                        answers.alternate_screen = Some(state % 2 == 1);
                    }
                    _ => {}
                },
                (false, b'R') => {
                    if let (Some(row), Some(column)) = (next(), next()) {
                        answers.cursor = Some((column.saturating_sub(1), row.saturating_sub(1)));
                    }
                }
                _ => {}
            }
        }
        answers
    }
}

/// Questions and answers, with the terminal in raw mode meanwhile.
struct Conversation {
    output: File,
    input: File,
    modes: Option<sys::Modes>,
}

impl Conversation {
    fn start(terminal: &File) -> io::Result<Self> {
        let input = sys::readable_twin(terminal)?;
        let modes = if sys::is_raw(&input) {
            None
        } else {
            Some(sys::make_raw(&input)?)
        };
        Ok(Self {
            output: terminal.try_clone()?,
            input,
            modes,
        })
    }

    /// Asks for synchronized output, the screen in use and the cursor, and, last, for what every
    /// terminal knows (DA1), so that a terminal that answers only that does not keep us waiting. The
    /// order matters for answers that come too late: crossterm takes all of it for one unknown reply.
    fn ask(&mut self, test_repeat: bool) -> io::Result<Answers> {
        if !sys::wait_writable(&self.output, Some(ANSWER_LIMIT))? {
            return Ok(Answers::default());
        }
        let repeat = if test_repeat { "\r \x1b[3b" } else { "" };
        let undo = if test_repeat { "\r\x1b[K" } else { "" };
        write!(
            self.output,
            "{repeat}\x1b[6n{undo}\x1b[?1049$p\x1b[?2026$p\x1b[c"
        )?;
        self.listen(ANSWER_LIMIT, |answers| answers.complete)
    }

    fn listen(&mut self, limit: Duration, done: impl Fn(&Answers) -> bool) -> io::Result<Answers> {
        let start = Instant::now();
        let mut input = Vec::new();
        loop {
            let answers = Answers::parse(&input);
            let left = limit.saturating_sub(start.elapsed());
            if done(&answers) || left.is_zero() || !sys::wait_readable(&self.input, left)? {
                return Ok(answers);
            }
            let mut chunk = [0; 256];
            match self.input.read(&mut chunk) {
                Ok(0) => return Ok(answers),
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
        // Only after an error, which is what gets reported.
        let _ = self.end();
    }
}

/// Where the cursor is: column and row.
pub(crate) fn ask_for_cursor(terminal: &File) -> io::Result<(u16, u16)> {
    #[cfg(feature = "crossterm")]
    if io::stdout().is_terminal() && sys::is_same_file(terminal, io::stdout()) {
        // crossterm keeps the keys that are pressed while it waits.
        return crossterm::cursor::position();
    }
    let mut conversation = Conversation::start(terminal)?;
    conversation.output.write_all(b"\x1b[6n")?;
    let answers = conversation.listen(PATIENCE, |answers| answers.cursor.is_some())?;
    conversation.end()?;
    answers.cursor.ok_or_else(|| {
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
    fn answers_are_found_among_key_presses() {
        let input = b"q\x1b[A\x1b[12;5R\x1b[?1049;1$y\x1bOP\x1b[?2026;2$yx\x1b[?62;22c";
        let expected = Answers {
            synchronized: true,
            alternate_screen: Some(true),
            cursor: Some((4, 11)),
            complete: true,
        };
        assert_eq!(Answers::parse(input), expected);
        assert_eq!(
            Answers::parse(b"\x1b[?2026;0$y\x1b[?1049;0$y").alternate_screen,
            None
        );
        assert_eq!(
            Answers::parse(b"\x1b[\x1b\x1b[;;R\x1b[?c\xff"),
            Answers {
                complete: true,
                ..Answers::default()
            }
        );
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
