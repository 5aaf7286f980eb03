//! Errors: kind, line, column, the expected value and the bytes found.

use std::fmt;
use std::io;

/// An error of the input: its kind and place, and the expected value.
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

/// The kinds of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input has ended.
    End,
    /// The token does not have the expected syntax.
    Invalid,
    /// The token is a number that the expected type cannot hold.
    OutOfRange,
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The token or line is longer than the [limit](super::Input::set_limit).
    TooLong,
    /// The input cannot be read.
    Io,
}

/// How many of the found bytes an error shows at most.
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

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The line of the token, from 1.
    pub fn line(&self) -> u64 {
        self.0.line
    }

    /// The column of the token, in bytes, from 1.
    pub fn column(&self) -> u64 {
        self.0.column
    }

    /// The expected value, most often the name of a type.
    pub fn expected(&self) -> &str {
        self.0.expected
    }

    /// The first bytes of the token, at most 41; empty at the end of the input.
    pub fn found(&self) -> &[u8] {
        &self.0.found
    }
}

/// The first of the found bytes, escaped and in quotes.
struct Snippet<'a>(&'a [u8]);

impl fmt::Display for Snippet<'_> {
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
        let found = Snippet(found);
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
    /// As `Display`, because an error that `main` returns is shown by `Debug`.
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
