//! What can be wrong with an input, and where.

use std::fmt;
use std::io;

/// What is wrong with the input, where it is, and what was expected there.
///
/// ```
/// use outpace::input::{ErrorKind, Input};
///
/// let mut input = Input::new("1 2\n3 12a\n".as_bytes());
/// let row: (i32, i32) = input.read()?;
/// let error = input.read::<(i32, i32)>().unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 3: expected i32, found \"12a\"");
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// # Ok::<(), outpace::input::Error>(())
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    line: u64,
    column: u64,
    expected: &'static str,
    found: Box<[u8]>,
    cause: Option<io::Error>,
}

/// What kind of thing is wrong with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input has ended.
    End,
    /// The token is not of the expected form.
    Invalid,
    /// The token is a number, but not one that the expected type can hold.
    OutOfRange,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The token or line is longer than the [limit](super::Input::set_limit).
    TooLong,
    /// The input cannot be read.
    Io,
}

/// How many bytes of what was found an error shows.
const SHOWN: usize = 40;

impl Error {
    pub(super) fn new(
        kind: ErrorKind,
        (line, column): (u64, u64),
        expected: &'static str,
        found: &[u8],
    ) -> Self {
        Error(Box::new(Inner {
            kind,
            line,
            column,
            expected,
            found: found.get(..=SHOWN).unwrap_or(found).into(),
            cause: None,
        }))
    }

    pub(super) fn io(cause: io::Error, place: (u64, u64)) -> Self {
        let mut error = Error::new(ErrorKind::Io, place, "", b"");
        error.0.cause = Some(cause);
        error
    }

    /// What kind of thing is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The line of the token, from 1.
    pub fn line(&self) -> u64 {
        self.0.line
    }

    /// The place of the token in its line, in bytes, from 1.
    pub fn column(&self) -> u64 {
        self.0.column
    }

    /// What was expected there: the name of a type, mostly.
    pub fn expected(&self) -> &str {
        self.0.expected
    }

    /// What the token begins with, at most 41 bytes; empty at the end of the input.
    pub fn found(&self) -> &[u8] {
        &self.0.found
    }
}

/// Bytes in quotes, so that none of them is lost, and cut short.
struct Quoted<'a>(&'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.get(..SHOWN).unwrap_or(self.0);
        write!(f, "\"{}", shown.escape_ascii())?;
        f.write_str(if shown.len() < self.0.len() {
            "…\""
        } else {
            "\""
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            line,
            column,
            expected,
            found,
            cause,
        } = &*self.0;
        write!(f, "line {line}, column {column}: ")?;
        let found = Quoted(found);
        match kind {
            ErrorKind::End => write!(f, "expected {expected}, found the end of the input"),
            ErrorKind::Invalid => write!(f, "expected {expected}, found {found}"),
            ErrorKind::OutOfRange => {
                write!(
                    f,
                    "expected {expected}, found {found}, which is out of range"
                )
            }
            ErrorKind::NotUtf8 => write!(f, "expected UTF-8, found {found}"),
            ErrorKind::TooLong => {
                write!(f, "expected {expected}, found {found}, which is too long")
            }
            ErrorKind::Io => match cause {
                Some(cause) => write!(f, "cannot read: {cause}"),
                None => f.write_str("cannot read"),
            },
        }
    }
}

impl fmt::Debug for Error {
    /// As for people: what `main` returns is shown by this.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_ref().map(|cause| cause as _)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match (error.0.kind, &error.0.cause) {
            (_, Some(cause)) => cause.kind(),
            (ErrorKind::End, _) => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
