//! Finds where tokens, lines and characters begin and end, for the methods of [`Input`].

use super::digits::{find_newline, find_space, is_space};
use super::{Error, ErrorKind, Input, Lines, Source};

impl<S: Source> Input<S> {
    pub(super) fn position_of(&self, at: usize) -> (u64, u64) {
        let lines = self.position.lines(self.source.window(), at);
        let offset = self.position.offset.wrapping_add(at as u64);
        (lines.newlines + 1, offset.wrapping_sub(lines.start) + 1)
    }

    /// An error about the bytes from `from` to `to`.
    #[cold]
    pub(super) fn error_at(
        &self,
        from: usize,
        to: usize,
        kind: ErrorKind,
        expected: &'static str,
    ) -> Error {
        let found = self.source.window().get(from..to).unwrap_or_default();
        Error::new(kind, self.position_of(from), expected, found)
    }

    /// Adds bytes to the window; returns false at the end of the input. Bytes before the next one and before all of
    /// `needed` are discarded; `needed` are adjusted to where they are now.
    #[cold]
    pub(super) fn more(&mut self, needed: &mut [&mut usize]) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        let keep = needed
            .iter()
            .fold(self.at, |first, place| first.min(**place));
        let lines = self.position.lines(self.source.window(), keep);
        let new = self.source.discard_before(keep);
        self.lookahead.clear();
        let moved = keep - new;
        self.position.moved_to(Lines { at: new, ..lines }, moved);
        self.at -= moved;
        for place in needed {
            **place -= moved;
        }
        let read = self.source.fill();
        let read = read.map_err(|cause| Error::io(cause, self.position()))?;
        self.ended = read == 0;
        Ok(read > 0)
    }

    /// Skips spaces; returns false at the end of the input.
    pub(super) fn skip_spaces(&mut self) -> Result<bool, Error> {
        loop {
            let window = self.source.window();
            while let Some(&byte) = window.get(self.at) {
                if !is_space(byte) {
                    return Ok(true);
                }
                self.at += 1;
            }
            if !self.more(&mut [])? {
                return Ok(false);
            }
        }
    }

    /// Consumes the next token; returns where it begins and ends.
    #[inline]
    pub(super) fn next_token(&mut self, expected: &'static str) -> Result<(usize, usize), Error> {
        let window = self.source.window();
        if let Some(&first) = window.get(self.at)
            && !is_space(first)
            && let Some(end) = find_space(window, self.at + 1)
            && end - self.at <= self.limit
        {
            let from = self.at;
            self.skip_past(end);
            return Ok((from, end));
        }
        self.next_token_cold(expected)
    }

    #[inline(never)]
    fn next_token_cold(&mut self, expected: &'static str) -> Result<(usize, usize), Error> {
        if !self.skip_spaces()? {
            return Err(self.error_at(self.at, self.at, ErrorKind::End, expected));
        }
        let mut from = self.at;
        let mut looked = from;
        loop {
            let window = self.source.window();
            let end = find_space(window, looked);
            looked = window.len();
            let to = end.unwrap_or(looked);
            if to - from > self.limit {
                let error = self.error_at(from, to, ErrorKind::TooLong, expected);
                self.skip_token(end)?;
                return Err(error);
            }
            if let Some(end) = end {
                self.skip_past(end);
                return Ok((from, end));
            }
            if !self.more(&mut [&mut from, &mut looked])? {
                let end = self.source.window().len();
                self.at = end;
                return Ok((from, end));
            }
        }
    }

    /// Skips the rest of a token that is too long.
    fn skip_token(&mut self, mut end: Option<usize>) -> Result<(), Error> {
        loop {
            let window = self.source.window();
            if let Some(end) = end {
                self.skip_past(end);
                return Ok(());
            }
            self.at = window.len();
            if !self.more(&mut [])? {
                return Ok(());
            }
            end = find_space(self.source.window(), self.at);
        }
    }

    /// Consumes a token and the space at `end` behind it.
    #[inline]
    pub(super) fn skip_past(&mut self, end: usize) {
        let window = self.source.window();
        self.at = end + 1;
        if window[end] == b'\r' {
            match window.get(end + 1) {
                Some(b'\n') => self.at = end + 2,
                Some(_) => {}
                // Reading an LF now might wait: the next call looks for it.
                None => self.position.after_cr = self.position.offset.wrapping_add(self.at as u64),
            }
        }
    }

    /// Skips the LF of a CRLF whose CR a token has consumed.
    #[inline]
    pub(super) fn finish_crlf(&mut self) -> Result<(), Error> {
        if self.position.after_cr == self.position.offset.wrapping_add(self.at as u64) {
            self.position.after_cr = u64::MAX;
            if self.at == self.source.window().len() {
                self.more(&mut [])?;
            }
            if self.source.window().get(self.at) == Some(&b'\n') {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Consumes the rest of the line; returns where it begins and ends.
    #[inline]
    pub(super) fn next_line(&mut self) -> Result<Option<(usize, usize)>, Error> {
        self.finish_crlf()?;
        let window = self.source.window();
        if let Some(newline) = find_newline(window, self.at)
            && newline - self.at <= self.limit
        {
            let (from, to) = (self.at, without_cr(window, self.at, newline));
            self.at = newline + 1;
            return Ok(Some((from, to)));
        }
        self.next_line_cold()
    }

    #[inline(never)]
    fn next_line_cold(&mut self) -> Result<Option<(usize, usize)>, Error> {
        let mut from = self.at;
        let mut looked = from;
        loop {
            let window = self.source.window();
            let newline = find_newline(window, looked);
            looked = window.len();
            let to = newline.unwrap_or(looked);
            if to - from > self.limit {
                let error = self.error_at(from, to, ErrorKind::TooLong, "a line");
                self.skip_line()?;
                return Err(error);
            }
            if let Some(newline) = newline {
                self.at = newline + 1;
                return Ok(Some((from, without_cr(window, from, newline))));
            }
            if !self.more(&mut [&mut from, &mut looked])? {
                let end = self.source.window().len();
                self.at = end;
                return Ok((from < end).then_some((from, end)));
            }
        }
    }

    /// The bytes from `from` to `to`, already consumed, as text.
    #[inline]
    pub(super) fn text(&self, from: usize, to: usize) -> Result<&str, Error> {
        let bytes = &self.source.window()[from..to];
        std::str::from_utf8(bytes).map_err(|error| {
            let from = from + error.valid_up_to();
            let to = error.error_len().map_or(to, |length| from + length);
            self.error_at(from, to, ErrorKind::NotUtf8, "UTF-8")
        })
    }

    /// Reads the character that begins with the next byte, which is in the window.
    pub(super) fn next_char(&mut self) -> Result<char, Error> {
        let first = self.source.window()[self.at];
        let length = match first {
            ..0x80 => 1,
            0x80..0xe0 => 2,
            0xe0..0xf0 => 3,
            0xf0.. => 4,
        };
        // An invalid first byte must not wait for more.
        let length = if (0xc2..0xf5).contains(&first) {
            length
        } else {
            1
        };
        let mut from = self.at;
        while self.source.window().len() - from < length && self.more(&mut [&mut from])? {}
        let window = self.source.window();
        let bytes = &window[from..window.len().min(from + length)];
        match std::str::from_utf8(bytes).map(|text| text.chars().next()) {
            Ok(Some(c)) => {
                self.at = from + length;
                Ok(c)
            }
            error => {
                // Consumes the longest part that could begin a character.
                let wrong = error.err().and_then(|error| error.error_len());
                let to = from + wrong.unwrap_or(bytes.len()).max(1);
                let error = self.error_at(from, to, ErrorKind::NotUtf8, "UTF-8");
                self.at = to;
                Err(error)
            }
        }
    }
}

/// The end of a line whose newline is at `newline`: before the CR, if there is one.
#[inline]
fn without_cr(window: &[u8], from: usize, newline: usize) -> usize {
    let cr = newline > from && window[newline - 1] == b'\r';
    newline - usize::from(cr)
}
