//! Makes text from outside, such as names of files and processes, safe to show on a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The same text without characters that a terminal obeys or that reorder text: control characters and marks of
/// direction are shown by their numbers.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut inert = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_active(c) {
            // Writing to a string cannot fail.
            let _ = write!(inert, "{}", c.escape_default());
        } else {
            inert.push(c);
        }
    }
    Cow::Owned(inert)
}

fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A command for a shell to run, as safe to show. `None` where a word is not known byte for byte, as one that is no UTF-8.
pub(crate) fn command<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let words: Option<Vec<_>> = words.into_iter().map(quoted).collect();
    Some(words?.join(" "))
}

fn quoted(word: &str) -> Option<Cow<'_, str>> {
    if word.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    } else if !word.contains(is_active) {
        return shlex::try_quote(word).ok();
    }
    // What bash, ksh, zsh and POSIX 2024 know, with bytes in octal, which is as long for all.
    let mut quoted = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            _ if is_active(c) => {
                let bytes = c.to_string().into_bytes();
                quoted.extend(bytes.iter().map(|byte| format!("\\{byte:03o}")));
            }
            _ => quoted.push(c),
        }
    }
    Some(Cow::Owned(quoted + "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(inert("a näme"), "a näme");
        assert_eq!(inert("\u{1b}]0;x\u{7}"), r"\u{1b}]0;x\u{7}");
        assert_eq!(inert("\u{9b}31m\r\n\u{202e}"), r"\u{9b}31m\r\n\u{202e}");
    }

    #[test]
    fn a_shell_reads_the_words_of_a_command_as_they_were() {
        let words = [
            "a",
            "two words",
            "it's",
            "e\u{1b}]0;\u{7}1",
            "\u{202e}'\\\n\t2",
            "",
        ];
        let command = command(words).unwrap();
        assert_eq!(inert(&command), command);
        let script = format!("printf '%s\\0' {command}");
        match std::process::Command::new("bash")
            .args(["-c", &script])
            .output()
        {
            Ok(output) => assert_eq!(
                output.stdout,
                (words.join("\0") + "\0").as_bytes(),
                "{command}"
            ),
            Err(error) => eprintln!("skipped: bash: {error}"),
        }
        // It stands for bytes that are no text.
        assert_eq!(super::command(["a", "\u{fffd}"]), None);
    }
}
