//! A message whose decimal digits are incremented in place.

use std::io::{self, Write};

use crate::bench::experiment::clock::Span;

const FRONT: &[u8] = b"Hello, ";
/// Room for the front, twenty digits and the tab.
pub(super) const LONGEST: usize = 28;

/// `Hello, N` and a tab, as bytes.
pub(super) struct Greeting {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Greeting {
    /// The message of number 0.
    pub(super) fn first() -> Self {
        let mut bytes = [0; LONGEST];
        bytes[..FRONT.len()].copy_from_slice(FRONT);
        bytes[FRONT.len()] = b'0';
        bytes[FRONT.len() + 1] = b'\t';
        Self {
            bytes,
            length: FRONT.len() + 2,
        }
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The message of the next number.
    #[inline]
    pub(super) fn advance(&mut self) {
        let mut at = self.length - 2;
        loop {
            if self.bytes[at] < b'9' {
                self.bytes[at] += 1;
                return;
            }
            self.bytes[at] = b'0';
            if at == FRONT.len() {
                return self.lengthen();
            }
            at -= 1;
        }
    }

    /// From all nines, which are zeros by now, to a one and zeros.
    #[cold]
    fn lengthen(&mut self) {
        self.bytes[FRONT.len()] = b'1';
        self.bytes[self.length - 1] = b'0';
        self.bytes[self.length] = b'\t';
        self.length += 1;
    }
}

/// Each greeting by one call.
pub(super) fn greetings(span: &mut Span, mut out: impl Write) -> io::Result<()> {
    let mut greeting = Greeting::first();
    for _ in 0..span.messages {
        out.write_all(greeting.bytes())?;
        greeting.advance();
    }
    span.done_calling();
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_in_place_are_the_naive_ones() {
        let mut greeting = Greeting::first();
        let mut expected = Vec::new();
        for index in 0..123_456 {
            expected.clear();
            crate::bench::catalogue::ladder::message(index, &mut expected);
            assert_eq!(greeting.bytes(), expected);
            greeting.advance();
        }
    }
}
