//! Bytes that the application writes itself, between the frames. crossterm sends a command in several writes. It is passed on when
//! it is whole, so that no frame comes into the middle of it. A switch of the screen is noticed before.

/// The application's own bytes, until the sequence that they begin is whole.
#[derive(Default)]
pub(super) struct Passthrough {
    held: Vec<u8>,
    within: Within,
}

/// A longer sequence is passed on in pieces, as it comes.
const LONGEST: usize = 64 << 10;

const ESC: u8 = 0x1b;

/// The state of a terminal's parser behind the bytes so far (ECMA-48, and xterm's ctlseqs).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Text,
    Escape,
    EscapeIntermediate,
    ControlSequence,
    /// Within an operating system command, a device control string or the like.
    ControlString,
    ControlStringEscape,
}

impl Within {
    fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::ControlString, ESC) => Self::ControlStringEscape,
            (Self::ControlString, 0x07) => Self::Text,
            // An escape that a string holds is doubled (tmux).
            (Self::ControlStringEscape, ESC) => Self::ControlString,
            (Self::ControlStringEscape, _) => Self::Escape.next(byte),
            // CAN and SUB end the sequence that they are in.
            (_, 0x18 | 0x1a) => Self::Text,
            (Self::ControlString, _) => Self::ControlString,
            (_, ESC) => Self::Escape,
            (Self::Escape, b'[') => Self::ControlSequence,
            (Self::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Self::ControlString,
            (Self::Escape | Self::EscapeIntermediate, b' '..=b'/') => Self::EscapeIntermediate,
            (Self::ControlSequence, ..=b'?') => Self::ControlSequence,
            _ => Self::Text,
        }
    }
}

impl Passthrough {
    /// Takes bytes. Returns those that may be passed on, and the last switch of the alternate screen among them, if any.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<bool>) {
        let known = self.held.len();
        self.held.extend_from_slice(bytes);
        // The index at which the pending sequence begins.
        let mut start = 0;
        let mut switch = None;
        for (at, &byte) in self.held.iter().enumerate().skip(known) {
            let before = self.within;
            self.within = before.next(byte);
            match (before, self.within) {
                (Within::Text, Within::Escape) => start = at,
                (Within::ControlSequence, Within::Text) => {
                    // Another one before it may have had no end.
                    let sequences = &self.held[start..=at];
                    let last = sequences.iter().rposition(|&byte| byte == ESC);
                    let last = last.map(|last| &sequences[last..]);
                    switch = last.and_then(screen_switch).or(switch);
                }
                _ => {}
            }
        }
        let whole = match self.within {
            Within::Text => self.held.len(),
            _ if self.held.len() - start > LONGEST => self.held.len(),
            _ => start,
        };
        (self.held.drain(..whole).collect(), switch)
    }

    /// The bytes of a sequence that is not whole, for an application that does not continue it.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// Whether a sequence turns the alternate screen on or off.
fn screen_switch(sequence: &[u8]) -> Option<bool> {
    let (last, modes) = sequence.strip_prefix(b"\x1b[?")?.split_last()?;
    let on = match last {
        b'h' => true,
        b'l' => false,
        _ => return None,
    };
    modes
        .split(|&byte| byte == b';')
        .any(|mode| matches!(mode, b"47" | b"1047" | b"1049"))
        .then_some(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCES: [(&[u8], Option<bool>); 12] = [
        (b"\x1b[?1049h", Some(true)),
        (b"\x1b[?25;1049l", Some(false)),
        (b"\x1b[?47;25h", Some(true)),
        (b"\x1b[?1047h\x1b[?1049l\x1b[31m", Some(false)),
        (b"\x1b[1\x1b[?1047l", Some(false)),
        (b"\x1b[1049h", None),
        (b"\x1b[?10490h", None),
        (b"\x1b[?1049$p", None),
        (b"\x1b]0;\xe2\x80\xa6?1049h\x07", None),
        (b"\x1bPtmux;\x1b\x1b[?1049h\x1b\\text", None),
        (b"\x1b(B\x1b7\x1b c", None),
        (b"\x1b[12\x18text\x1b]52;c;\x1b[?1049h", Some(true)),
    ];

    #[test]
    fn a_sequence_goes_on_whole_however_it_is_cut() {
        for (bytes, wanted) in SEQUENCES {
            for cut in 0..=bytes.len() {
                let mut passthrough = Passthrough::default();
                let (mut passed, first) = passthrough.take(&bytes[..cut]);
                // The bytes that were passed on do not end within a sequence.
                let mut other = Passthrough::default();
                assert_eq!(other.take(&passed), (passed.clone(), first));
                let (more, second) = passthrough.take(&bytes[cut..]);
                passed.extend(more);
                assert_eq!((&*passed, second.or(first)), (bytes, wanted), "at {cut}");
                assert_eq!(passthrough.rest(), b"");
            }
        }
    }

    #[test]
    fn a_sequence_without_an_end_is_not_kept_for_ever() {
        let mut passthrough = Passthrough::default();
        assert_eq!(passthrough.take(b"text\x1b]52;c;").0, b"text");
        let long = vec![b'a'; LONGEST];
        assert_eq!(
            passthrough.take(&long).0.len(),
            LONGEST + b"\x1b]52;c;".len()
        );
        assert_eq!(passthrough.take(b"a").0, b"");
        assert_eq!(passthrough.rest(), b"a");
    }
}
