//! `--rate`: bytes written a second, and bytes queued, as the terminal's title.

use super::counts::Counts;
use crate::user::quantity;
use std::time::Instant;

/// Computes the rate between two looks.
pub(super) struct Rate {
    looked: Instant,
    written: u64,
}

impl Rate {
    pub(super) fn new() -> Self {
        Self {
            looked: Instant::now(),
            written: 0,
        }
    }

    /// Bytes a second since the last look.
    pub(super) fn look(&mut self, counts: Counts) -> f64 {
        let elapsed = self.looked.elapsed().as_secs_f64().max(1e-9);
        let written = counts.written.saturating_sub(self.written);
        (self.looked, self.written) = (Instant::now(), counts.written);
        written as f64 / elapsed
    }

    /// The escape sequence that sets the title (xterm's OSC 2).
    pub(super) fn title(&mut self, counts: Counts) -> String {
        let rate = quantity::bytes(self.look(counts) as u64);
        format!(
            "\x1b]2;outpace: {rate}/s, {} waiting, {} written\x07",
            quantity::bytes(counts.queued),
            quantity::bytes(counts.written)
        )
    }
}

/// Follows lines and escape sequences: between them a title can be inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EscapeState {
    #[default]
    LineStart,
    Line,
    /// After ESC.
    Escape,
    /// In a control string (DCS, OSC, SOS, PM, APC; ECMA-48), ended by ST or BEL; `true` after an ESC in it.
    String(bool),
}

impl EscapeState {
    pub(super) fn follow(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            *self = match (*self, byte) {
                (Self::String(true), b'\\') | (Self::String(_), 0x07 | 0x18 | 0x1a) => Self::Line,
                (Self::String(_), byte) => Self::String(byte == 0x1b),
                (Self::Escape, b'P' | b']' | b'X' | b'^' | b'_') => Self::String(false),
                (_, 0x1b) => Self::Escape,
                (_, b'\n') => Self::LineStart,
                _ => Self::Line,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_with_newlines_in_it_is_not_cut() {
        let after = |bytes: &[u8]| {
            let mut place = EscapeState::default();
            place.follow(bytes);
            place
        };
        assert_eq!(after(b"a line\n"), EscapeState::LineStart);
        assert_eq!(after(b"\x1b[1mbold\x1b[m\n"), EscapeState::LineStart);
        assert_eq!(after(b"\x1bPq#0\n"), EscapeState::String(false));
        assert_eq!(after(b"\x1bPq#0\n\x1b\\\n"), EscapeState::LineStart);
        assert_eq!(after(b"\x1b]2;title\x07\n"), EscapeState::LineStart);
        assert_eq!(after(b"no end"), EscapeState::Line);
    }
}
