//! Makes text from outside, such as names of files and processes, safe to show on a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The same text without characters that a terminal obeys or that reorder text: control characters and marks of
/// direction are shown by their numbers.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    let is_active = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(inert("a näme"), "a näme");
        assert_eq!(inert("\u{1b}]0;x\u{7}"), r"\u{1b}]0;x\u{7}");
        assert_eq!(inert("\u{9b}31m\r\n\u{202e}"), r"\u{9b}31m\r\n\u{202e}");
    }
}
