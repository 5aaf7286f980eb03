//! Lines in a stream of bytes, in whatever pieces the bytes come.

use std::io;

/// Lines are dropped this many bytes at a time, and longer ones as a whole.
const MOST_AT_A_TIME: usize = 4 << 10;
/// Longer lines than this, or than a part of the memory, are dropped in pieces.
const LONGEST_LINE: usize = 1 << 20;
const MEMORY_SHARE: u64 = 8;

/// The longest line that stays whole, with so much memory for the queue.
pub(super) fn longest_line(memory: u64) -> usize {
    let share = usize::try_from(memory / MEMORY_SHARE).unwrap_or(LONGEST_LINE);
    share.clamp(MOST_AT_A_TIME, LONGEST_LINE)
}

/// Takes out the carriage returns that a pseudo-terminal has put before newlines.
#[derive(Default)]
pub(super) struct Returns {
    /// The last byte was a carriage return: the next byte decides whether it goes.
    held: bool,
    rest: Vec<u8>,
}

impl Returns {
    /// Whether the last byte is held back.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// At the end: the byte held back.
    pub(super) fn finish(&mut self) -> &'static [u8] {
        if std::mem::take(&mut self.held) {
            b"\r"
        } else {
            b""
        }
    }

    pub(super) fn without(&mut self, bytes: &[u8]) -> &[u8] {
        self.rest.clear();
        for &byte in bytes {
            if std::mem::take(&mut self.held) && byte != b'\n' {
                self.rest.push(b'\r');
            }
            match byte {
                b'\r' => self.held = true,
                byte => self.rest.push(byte),
            }
        }
        &self.rest
    }
}

/// Cuts a stream into messages of whole lines.
#[derive(Default)]
pub(super) struct Lines {
    unfinished: Vec<u8>,
}

impl Lines {
    /// Whether no unfinished line is held.
    pub(super) fn are_whole(&self) -> bool {
        self.unfinished.is_empty()
    }

    /// Whether the held line is short enough for a question, whose answer is awaited on the same line.
    pub(super) fn may_be_prompt(&self) -> bool {
        self.unfinished.len() < MOST_AT_A_TIME
    }

    pub(super) fn split(
        &mut self,
        bytes: &[u8],
        longest: usize,
        mut send: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.unfinished.extend_from_slice(bytes);
        let mut rest = &self.unfinished[..];
        loop {
            let reach = &rest[..rest.len().min(MOST_AT_A_TIME)];
            let end = match memchr::memrchr(b'\n', reach) {
                Some(newline) => newline + 1,
                None if reach.len() < MOST_AT_A_TIME => break,
                None => match memchr::memchr(b'\n', &rest[..rest.len().min(longest)]) {
                    Some(newline) => newline + 1,
                    None if rest.len() >= longest => longest,
                    None => break,
                },
            };
            send(&rest[..end])?;
            rest = &rest[end..];
        }
        let left = rest.len();
        self.unfinished.drain(..self.unfinished.len() - left);
        Ok(())
    }

    /// At the end: passes on the unfinished line, followed by these bytes.
    pub(super) fn finish(
        &mut self,
        last: &[u8],
        send: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.unfinished.extend_from_slice(last);
        if self.unfinished.is_empty() {
            return Ok(());
        }
        send(&std::mem::take(&mut self.unfinished))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_whole_lines_however_the_bytes_come() {
        let text: Vec<u8> = (0..3000)
            .flat_map(|n| format!("line {n}\n").into_bytes())
            .chain(*b"rest")
            .collect();
        for step in [1, 7, 4096, text.len()] {
            let (mut lines, mut messages) = (Lines::default(), Vec::new());
            for part in text.chunks(step) {
                let keep = |line: &[u8]| {
                    messages.push(line.to_vec());
                    Ok(())
                };
                lines.split(part, 8 << 10, keep).unwrap();
            }
            assert!(
                messages.iter().all(|message| message.ends_with(b"\n")),
                "in steps of {step}"
            );
            assert!(
                messages
                    .iter()
                    .all(|message| message.len() <= MOST_AT_A_TIME)
            );
            lines
                .finish(b"", |rest| {
                    messages.push(rest.to_vec());
                    Ok(())
                })
                .unwrap();
            assert_eq!(messages.concat(), text);
        }
    }

    #[test]
    fn a_carriage_return_before_a_newline_goes_wherever_the_bytes_are_cut() {
        let text = b"one\r\ntwo\r\r\nth\rree\r\n\r\n\r";
        for step in 1..=text.len() {
            let (mut returns, mut passed) = (Returns::default(), Vec::new());
            for part in text.chunks(step) {
                passed.extend_from_slice(returns.without(part));
            }
            assert_eq!(passed, b"one\ntwo\r\nth\rree\n\n", "in steps of {step}");
            assert!(returns.held);
        }
    }

    #[test]
    fn a_long_line_is_one_message_and_one_without_an_end_comes_in_pieces() {
        let (mut lines, mut pieces) = (Lines::default(), Vec::new());
        let long = [&[b'x'; 7000][..], b"\nshort\n"].concat();
        for part in [&long[..100], &long[100..], &[b'x'; 20_000]] {
            let keep = |piece: &[u8]| {
                pieces.push(piece.len());
                Ok(())
            };
            lines.split(part, 8 << 10, keep).unwrap();
        }
        assert_eq!(pieces, [7001, 6, 8192, 8192]);
        assert_eq!(lines.unfinished.len(), 20_000 - 2 * 8192);
    }

    #[test]
    fn the_longest_line_is_a_part_of_the_memory() {
        assert_eq!(longest_line(64 << 20), 1 << 20);
        assert_eq!(longest_line(1 << 20), 128 << 10);
        assert_eq!(longest_line(1), 4 << 10);
    }
}
