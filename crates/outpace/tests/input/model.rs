//! The naive twin of `outpace::input`: a text that is all there, std's `parse`, and a byte at a time. What both say
//! of any text is compared, call by call: values, errors, and the places of errors.

use outpace::input::{Error, ErrorKind, FromInput, Input, OneBased, Source};
use std::fmt::Debug;
use std::io::{self, Read};
use std::str::FromStr;

/// An error of the naive twin: kind, line, column, the expected value.
type Wrong = (ErrorKind, u64, u64, &'static str);

pub(crate) struct Naive<'a> {
    text: &'a [u8],
    at: usize,
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

impl<'a> Naive<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Naive { text, at: 0 }
    }

    fn wrong(&self, at: usize, kind: ErrorKind, expected: &'static str) -> Wrong {
        let before = &self.text[..at];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n');
        let column = 1 + at - start.map_or(0, |newline| newline + 1);
        (kind, line as u64, column as u64, expected)
    }

    fn skip_spaces(&mut self) -> bool {
        while self.text.get(self.at).is_some_and(|&byte| is_space(byte)) {
            self.at += 1;
        }
        self.at < self.text.len()
    }

    fn token(&mut self, expected: &'static str) -> Result<(usize, &'a [u8]), Wrong> {
        if !self.skip_spaces() {
            return Err(self.wrong(self.at, ErrorKind::End, expected));
        }
        let from = self.at;
        while self.text.get(self.at).is_some_and(|&byte| !is_space(byte)) {
            self.at += 1;
        }
        let token = &self.text[from..self.at];
        self.at += match &self.text[self.at..] {
            [b'\r', b'\n', ..] => 2,
            [_, ..] => 1,
            [] => 0,
        };
        Ok((from, token))
    }

    fn parse<T: FromStr>(
        &mut self,
        expected: &'static str,
        kind: impl FnOnce(&T::Err) -> ErrorKind,
    ) -> Result<T, Wrong> {
        let (from, token) = self.token(expected)?;
        let Ok(text) = str::from_utf8(token) else {
            return Err(self.wrong(from, ErrorKind::Invalid, expected));
        };
        text.parse()
            .map_err(|error| self.wrong(from, kind(&error), expected))
    }

    fn word(&mut self, expected: &'static str) -> Result<String, Wrong> {
        let (from, token) = self.token(expected)?;
        match str::from_utf8(token) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(self.wrong(from + error.valid_up_to(), ErrorKind::NotUtf8, "UTF-8")),
        }
    }

    fn line_bytes(&mut self) -> Option<(usize, &'a [u8])> {
        let from = self.at;
        let rest = &self.text[from..];
        if rest.is_empty() {
            return None;
        }
        let Some(length) = rest.iter().position(|&byte| byte == b'\n') else {
            self.at = self.text.len();
            return Some((from, rest));
        };
        self.at += length + 1;
        let line = &rest[..length];
        Some((from, line.strip_suffix(b"\r").unwrap_or(line)))
    }

    fn line(&mut self) -> Result<Option<String>, Wrong> {
        let Some((from, line)) = self.line_bytes() else {
            return Ok(None);
        };
        match str::from_utf8(line) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(self.wrong(from + error.valid_up_to(), ErrorKind::NotUtf8, "UTF-8")),
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = self.text.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }

    fn char(&mut self) -> Result<Option<char>, Wrong> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let (valid, bad) = match rest.utf8_chunks().next() {
            Some(chunk) => (chunk.valid(), chunk.invalid().len()),
            None => ("", 0),
        };
        match valid.chars().next() {
            Some(c) => {
                self.at += c.len_utf8();
                Ok(Some(c))
            }
            None => {
                let wrong = self.wrong(self.at, ErrorKind::NotUtf8, "UTF-8");
                self.at += bad;
                Err(wrong)
            }
        }
    }

    fn rest(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        self.at = self.text.len();
        rest
    }
}

/// A type whose values both can read.
trait Value: FromInput + PartialEq + Debug {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong>;

    /// Floats too: bit by bit.
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

macro_rules! integers {
    ($($type:ident)*) => {
        $(impl Value for $type {
            fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
                let begin = naive.at;
                let parsed = naive.parse(stringify!($type), |_| ErrorKind::Invalid);
                // A number that parse refuses is one that the type cannot hold, a negative one too.
                parsed.map_err(|(kind, line, column, expected)| {
                    let mut again = Naive { text: naive.text, at: begin };
                    let (_, token) = again.token("").unwrap_or((0, b""));
                    let digits = token.strip_prefix(b"-").or(token.strip_prefix(b"+")).unwrap_or(token);
                    let number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
                    let kind = if number { ErrorKind::OutOfRange } else { kind };
                    (kind, line, column, expected)
                })
            }
        })*
    };
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! floats {
    ($($type:ident)*) => {
        $(impl Value for $type {
            fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
                naive.parse(stringify!($type), |_| ErrorKind::Invalid)
            }

            fn same(&self, other: &Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        })*
    };
}

floats!(f32 f64);

impl Value for OneBased {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
        const EXPECTED: &str = "an index from 1";
        let as_index = |(kind, line, column, _): Wrong| (kind, line, column, EXPECTED);
        let mut again = Naive { ..*naive };
        let number = usize::naive(naive).map_err(as_index)?;
        again.skip_spaces();
        let zero = again.wrong(again.at, ErrorKind::OutOfRange, EXPECTED);
        number.checked_sub(1).map(OneBased).ok_or(zero)
    }
}

impl Value for char {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
        if !naive.skip_spaces() {
            return Err(naive.wrong(naive.at, ErrorKind::End, "char"));
        }
        naive.char().map(|c| c.expect("there is something"))
    }
}

impl Value for String {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
        naive.word("a word")
    }
}

impl<A: Value, B: Value> Value for (A, B) {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
        Ok((A::naive(naive)?, B::naive(naive)?))
    }

    fn same(&self, other: &Self) -> bool {
        self.0.same(&other.0) && self.1.same(&other.1)
    }
}

impl Value for [u16; 3] {
    fn naive(naive: &mut Naive<'_>) -> Result<Self, Wrong> {
        Ok([u16::naive(naive)?, u16::naive(naive)?, u16::naive(naive)?])
    }
}

#[track_caller]
fn agree<T: Debug, U: Debug>(
    found: Result<T, Error>,
    expected: Result<U, Wrong>,
    same: impl FnOnce(&T, &U) -> bool,
    text: &[u8],
) {
    match (&found, &expected) {
        (Ok(value), Ok(other)) if same(value, other) => {}
        (Err(error), Err(wrong))
            if (error.kind(), error.line(), error.column(), error.expected()) == *wrong => {}
        _ => panic!(
            "{found:?} instead of {expected:?} in {:?}",
            text.escape_ascii().to_string()
        ),
    }
}

fn read<T: Value, S: Source>(input: &mut Input<S>, naive: &mut Naive<'_>) {
    let text = naive.text;
    agree(input.read::<T>(), T::naive(naive), T::same, text);
}

/// Makes the same calls of both, chosen by bytes, to the end of the text.
pub(crate) fn compare<S: Source>(mut input: Input<S>, text: &[u8], choices: &[u8]) {
    let mut naive = Naive::new(text);
    let (input, naive) = (&mut input, &mut naive);
    let mut choices = choices.iter().cycle();
    // Each call but a few takes something; those that do not are followed by others.
    for _ in 0..2 * text.len() + 30 {
        match choices.next().copied().unwrap_or(3) % 32 {
            0 => read::<i8, _>(input, naive),
            1 => read::<u8, _>(input, naive),
            2 => read::<i16, _>(input, naive),
            3 => read::<i64, _>(input, naive),
            4 => read::<i32, _>(input, naive),
            5 => read::<u32, _>(input, naive),
            6 => read::<u64, _>(input, naive),
            7 => read::<i128, _>(input, naive),
            8 => read::<u128, _>(input, naive),
            9 => read::<usize, _>(input, naive),
            10 => read::<isize, _>(input, naive),
            11 => read::<u16, _>(input, naive),
            12 | 13 => read::<f64, _>(input, naive),
            14 => read::<f32, _>(input, naive),
            15 => read::<char, _>(input, naive),
            16 => read::<String, _>(input, naive),
            17 => read::<OneBased, _>(input, naive),
            18 => read::<(i64, f64), _>(input, naive),
            19 => read::<[u16; 3], _>(input, naive),
            20 => {
                let expected = naive.token("a token").map(|(_, token)| token);
                agree(input.token(), expected, |a, b| a == b, text);
            }
            21 | 22 => agree(
                input.line(),
                naive.line(),
                |a, b| a.map(str::to_owned) == *b,
                text,
            ),
            23 | 24 => {
                let expected = naive.line_bytes().map(|(_, line)| line);
                agree(input.line_bytes(), Ok(expected), |a, b| a == b, text);
            }
            25 => agree(input.byte(), Ok(naive.byte()), |a, b| a == b, text),
            26 => agree(input.char(), naive.char(), |a, b| a == b, text),
            27 => {
                let any = naive.line_bytes().is_some();
                agree(input.skip_line(), Ok(any), |a, b| a == b, text);
            }
            28 => agree(
                input.is_at_end(),
                Ok(!naive.skip_spaces()),
                |a, b| a == b,
                text,
            ),
            29 => {
                let expected = match naive.skip_spaces() {
                    true => i32::naive(naive).map(Some),
                    false => Ok(None),
                };
                agree(input.try_read::<i32>(), expected, |a, b| a == b, text);
            }
            30 => {
                // The byte behind a CR at the end of the window is not known yet.
                if naive.at == 0 || text[naive.at - 1] != b'\n' {
                    let (_, line, column, _) = naive.wrong(naive.at, ErrorKind::End, "");
                    assert_eq!(input.position(), (line, column));
                }
            }
            _ => {
                if text.len() - naive.at < 20 {
                    agree(input.rest(), Ok(naive.rest()), |a, b| a == b, text);
                }
            }
        }
    }
}

/// A reader that gives its bytes in portions, the sizes of which follow from bytes.
pub(crate) struct Portions<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) sizes: &'a [u8],
    pub(crate) next: usize,
}

impl Read for Portions<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = match self.sizes {
            [] => usize::MAX,
            sizes => usize::from(sizes[self.next % sizes.len()]),
        };
        self.next += 1;
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let (now, later) = self
            .text
            .split_at(size.min(self.text.len()).min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.text = later;
        Ok(now.len())
    }
}

/// Compares one text by all sources that need no file.
pub(crate) fn run(text: &[u8], choices: &[u8], sizes: &[u8]) {
    compare(Input::of_bytes(text), text, choices);
    compare(Input::new(text), text, choices);
    // Some portion is not empty, so that there is an end.
    if sizes.iter().any(|&size| size > 0) {
        let portions = Portions {
            text,
            sizes,
            next: 0,
        };
        compare(Input::new(portions), text, choices);
    }
}
