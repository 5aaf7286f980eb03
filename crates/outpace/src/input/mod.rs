//! Fast input: tokens, numbers, characters and lines, from standard input or anything else.
//!
//! ```
//! use outpace::input::Input;
//!
//! let text = "3 2\n1 -5 20\n0.5 x\nthe last line";
//! let mut input = Input::new(text.as_bytes());
//! let (n, _): (usize, u8) = input.read()?;
//! let numbers: Vec<i64> = input.vec(n)?;
//! assert_eq!(numbers, [1, -5, 20]);
//! let (half, letter): (f64, char) = input.read()?;
//! assert_eq!((half, letter), (0.5, 'x'));
//! assert_eq!(input.line()?, Some(""));
//! assert_eq!(input.line()?, Some("the last line"));
//! assert_eq!(input.line()?, None);
//! # Ok::<(), outpace::input::Error>(())
//! ```
//!
//! [`stdin`] reads standard input. Before the program waits for more of it, standard output is drained, so a question
//! appears before its answer is awaited. [`Input::new`] takes any reader, [`Input::open`] a file, [`Input::of_bytes`]
//! bytes in memory. [`Input::map`] maps a file; it is unsafe, because another process may shorten the file.
//!
//! # Tokens
//!
//! A *token* is a run of bytes between spaces: space, tab, newline, vertical tab, form feed, carriage return.
//! [`read`](Input::read) reads one as a value: all integer types, `f32` and `f64`, `char`, `String`, `Vec<u8>`, tuples
//! and arrays of them, [`OneBased`] indices, and types of your own by [`FromInput`]. [`token`](Input::token) and
//! [`word`](Input::word) are views of one, without a copy. Only `String` and `Vec<u8>` allocate.
//!
//! Reading a token also consumes one space behind it (a CRLF counts as one), so the next line follows the last token
//! of a line. Further spaces before the newline still belong to the line: [`skip_line`](Input::skip_line)
//! skips them. Reading a `char` consumes that character only.
//!
//! Numbers have the syntax and the value of std's [`parse`](str::parse): floats are exactly rounded.
//!
//! # What can be wrong
//!
//! An [`Error`] has the line, the column and the expected value. An error also consumes the refused token, so the next
//! call reads the next token. A number out of range, a letter or a NUL in a number, the end of the input in the middle
//! of a value, a directory, a closed descriptor: each is an error, never a wrong number. A stdin that was closed when
//! the program started is empty and not an error, because std's runtime opens the null device in its place. The end of
//! the input is remembered: at a terminal one Ctrl-D is enough.
//!
//! # Cost
//!
//! Input is read 128 KiB at a time into one buffer, which grows only for a token or line that does not fit.
//! Digits, spaces and newlines are found sixteen bytes at a time. Counting lines costs a few hundredths of a cycle a
//! byte.

mod digits;
mod error;
mod float;
mod integer;
mod scan;
mod source;
mod value;

pub use error::{Error, ErrorKind};
pub use source::{Buffered, Bytes, Mapped, OpenFile, Source, Stdin, Tied};
pub use value::{FromInput, OneBased};

use crate::api::raw;
use crate::sys;
use digits::{count_newlines, find_newline, is_space};
use integer::Lookahead;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Standard input, with a buffer of its own. Make one and pass it on: neither a second one nor [`std::io::stdin`] sees
/// the bytes in its buffer.
///
/// Before the program waits for input, standard output is drained: see [`Tied`].
///
/// ```no_run
/// let mut input = outpace::input::stdin();
/// let name = input.word()?.to_owned();
/// let age: u8 = input.read()?;
/// # Ok::<(), outpace::input::Error>(())
/// ```
pub fn stdin() -> Input<Stdin> {
    Input::from_source(Buffered::new(Tied::new(raw::stdin())))
}

/// An input, read token by token or line by line: see the [module](self).
pub struct Input<S> {
    source: S,
    /// The next byte's place in the window.
    at: usize,
    lookahead: Lookahead,
    position: Position,
    /// The source has reported its end.
    ended: bool,
    /// The longest token or line, in bytes.
    limit: usize,
}

/// Turns places in the window into lines and columns. Updated only when the window moves or a place is asked for.
struct Position {
    /// The offset of the window's first byte in the input; wraps around for a source that does not start at 0.
    offset: u64,
    /// The earliest place that can still be asked for.
    first: Lines,
    /// The place asked for last: counting goes on from there. A mutex, because [`Input::position`] takes `&self`.
    last: Mutex<Lines>,
    /// The offset behind a CR that ended a token: an LF there belongs to it.
    after_cr: u64,
}

/// The lines in front of a place in the window.
#[derive(Clone, Copy)]
struct Lines {
    at: usize,
    newlines: u64,
    /// The offset behind the last of them, where a line begins.
    start: u64,
}

impl Position {
    /// The lines in front of `at`.
    fn lines(&self, window: &[u8], at: usize) -> Lines {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let from = if last.at <= at { *last } else { self.first };
        let new = window.get(from.at..at).unwrap_or_default();
        *last = Lines {
            at,
            newlines: from.newlines + count_newlines(new),
            start: match new.iter().rposition(|&byte| byte == b'\n') {
                Some(newline) => self.offset.wrapping_add((from.at + newline + 1) as u64),
                None => from.start,
            },
        };
        *last
    }

    /// Notes that the window has moved by `moved` bytes and begins at `first`.
    fn moved_to(&mut self, first: Lines, moved: usize) {
        self.first = first;
        self.last = Mutex::new(first);
        self.offset = self.offset.wrapping_add(moved as u64);
    }
}

impl Input<Bytes<'static>> {
    /// Reads bytes in memory, without copying them.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let sum: i64 = Input::of_bytes(b"1 2 3").values::<i64>().sum::<Result<_, _>>()?;
    /// assert_eq!(sum, 6);
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    pub fn of_bytes(bytes: &[u8]) -> Input<Bytes<'_>> {
        Input::from_source(Bytes(bytes))
    }
}

impl Input<Mapped> {
    /// Maps a file into the process's memory, without copying it. Systems without mappings read it whole.
    ///
    /// [`open`](Input::open) is as fast for most files, and safe.
    ///
    /// # Safety
    ///
    /// For as long as the input lives, no process writes to the file or shortens it. A program cannot promise that for
    /// files of others. If it happens, SIGBUS ends the process, or bytes change behind a shared reference.
    ///
    /// # Errors
    ///
    /// The system's error of the mapping; [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a file with a
    /// length.
    ///
    /// ```
    /// use outpace::input::Input;
    /// use std::fs::File;
    ///
    /// # let path = std::env::temp_dir().join(format!("outpace-doc-map-{}", std::process::id()));
    /// # std::fs::write(&path, "17 4")?;
    /// // SAFETY: this example's own file.
    /// let mut input = unsafe { Input::map(&File::open(&path)?)? };
    /// assert_eq!(input.read::<(u32, u32)>()?, (17, 4));
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the caller's promise.
        let mapping = unsafe { sys::Mapping::new(file)? };
        Ok(Input::from_source(Mapped(mapping)))
    }
}

impl Input<OpenFile> {
    /// Opens a file of any kind. Before the program waits for it, standard output is drained, as with [`stdin`].
    ///
    /// # Errors
    ///
    /// The system's error of opening it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Input::of_descriptor(File::open(path)?))
    }
}

impl<R: Read> Input<Buffered<R>> {
    /// Reads from any reader. Standard output is not drained before it waits: for that see
    /// [`of_descriptor`](Input::of_descriptor).
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let mut input = Input::new(std::io::Cursor::new("7 apples"));
    /// assert_eq!(input.read::<u8>()?, 7);
    /// assert_eq!(input.word()?, "apples");
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    pub fn new(reader: R) -> Self {
        Input::from_source(Buffered::new(reader))
    }

    /// The reader. Bytes that are read from it directly are missing here.
    pub fn get_ref(&self) -> &R {
        self.source.reader()
    }
}

impl<R> Input<Buffered<Tied<R>>>
where
    Tied<R>: Read,
{
    /// Reads from a descriptor (a file, a socket, a pipe). Before the program waits for it, standard output is drained.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let (reader, mut writer) = std::io::pipe()?;
    /// std::io::Write::write_all(&mut writer, b"10 20\n")?;
    /// let mut input = Input::of_descriptor(reader);
    /// assert_eq!(input.read::<(i32, i32)>()?, (10, 20));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_descriptor(reader: R) -> Self {
        Input::from_source(Buffered::new(Tied::new(reader)))
    }
}

impl<S: Source> Input<S> {
    fn from_source(source: S) -> Self {
        let start = S::START;
        let first = Lines {
            at: start,
            newlines: 0,
            start: 0,
        };
        Input {
            source,
            at: start,
            lookahead: Lookahead::EMPTY,
            position: Position {
                offset: 0_u64.wrapping_sub(start as u64),
                first,
                last: Mutex::new(first),
                after_cr: u64::MAX,
            },
            ended: false,
            limit: Self::DEFAULT_LIMIT,
        }
    }

    /// The longest token or line, if [`set_limit`](Self::set_limit) has not chosen: 1 GiB.
    pub const DEFAULT_LIMIT: usize = 1 << 30;

    /// Chooses how long a token or line may be, in bytes. A longer one is an error
    /// ([`TooLong`](ErrorKind::TooLong)), which consumes it whole. The buffer takes at most twice as much memory, whatever
    /// the input.
    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Reads a value: a number, a character, a string, several of them.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let mut input = Input::of_bytes(b"-7 0.25 abc x 1 2 3");
    /// let (a, b, c): (i8, f32, String) = input.read()?;
    /// assert_eq!((a, b, c.as_str()), (-7, 0.25, "abc"));
    /// let (letter, three): (char, [u16; 3]) = input.read()?;
    /// assert_eq!((letter, three), ('x', [1, 2, 3]));
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`End`](ErrorKind::End) where there is no token, and whatever else can be [wrong](self#what-can-be-wrong).
    #[inline]
    pub fn read<T: FromInput>(&mut self) -> Result<T, Error> {
        T::from_input(self)
    }

    /// The same, but `None` where there are no more tokens.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let mut input = Input::of_bytes(b"1 2 3 4\n");
    /// while let Some((a, b)) = input.try_read::<(i32, i32)>()? {
    ///     println!("{}", a + b);
    /// }
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As `read`. A value that only begins before the end of the input is an error, too.
    #[inline]
    pub fn try_read<T: FromInput>(&mut self) -> Result<Option<T>, Error> {
        if self.is_at_end()? {
            return Ok(None);
        }
        self.read().map(Some)
    }

    /// Reads values up to the end of the input or the first error, so a loop over an unreadable input ends. After an
    /// error, another call continues behind the refused token.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let all: Result<Vec<u32>, _> = Input::of_bytes(b"1 2\n3").values().collect();
    /// assert_eq!(all?, [1, 2, 3]);
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    pub fn values<T: FromInput>(&mut self) -> Values<'_, S, T> {
        Values {
            input: self,
            ended: false,
            values: PhantomData,
        }
    }

    /// Reads `count` values.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn vec<T: FromInput>(&mut self, count: usize) -> Result<Vec<T>, Error> {
        // The count often comes from the input: reserve 1 MiB at most before there are values.
        let mut values = Vec::with_capacity(count.min((1 << 20) / size_of::<T>().max(1)));
        for _ in 0..count {
            values.push(self.read()?);
        }
        Ok(values)
    }

    /// Reads `rows` tokens, as the rows of a grid of characters.
    ///
    /// ```
    /// use outpace::input::Input;
    ///
    /// let grid = Input::of_bytes(b"#.#\n..#\n").grid(2)?;
    /// assert_eq!(grid[1][2], b'#');
    /// # Ok::<(), outpace::input::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn grid(&mut self, rows: usize) -> Result<Vec<Vec<u8>>, Error> {
        self.vec(rows)
    }

    /// Reads an index that counts from 1; returns it counted from 0.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), and [`OutOfRange`](ErrorKind::OutOfRange) for 0.
    #[inline]
    pub fn index(&mut self) -> Result<usize, Error> {
        self.read().map(|OneBased(index)| index)
    }

    /// Reads a token: a view of its bytes.
    ///
    /// # Errors
    ///
    /// [`End`](ErrorKind::End), [`TooLong`](ErrorKind::TooLong), [`Io`](ErrorKind::Io).
    #[inline]
    pub fn token(&mut self) -> Result<&[u8], Error> {
        let (from, to) = self.next_token("a token")?;
        Ok(&self.source.window()[from..to])
    }

    /// Reads a token: a view of its text.
    ///
    /// # Errors
    ///
    /// As [`token`](Self::token), and [`NotUtf8`](ErrorKind::NotUtf8).
    #[inline]
    pub fn word(&mut self) -> Result<&str, Error> {
        let (from, to) = self.next_token("a word")?;
        self.text(from, to)
    }

    /// Reads up to the end of the line; `None` at the end of the input. The line's end (LF or CRLF) is not part
    /// of it, and need not be there on the last one.
    ///
    /// # Errors
    ///
    /// [`NotUtf8`](ErrorKind::NotUtf8), [`TooLong`](ErrorKind::TooLong), [`Io`](ErrorKind::Io).
    #[inline]
    pub fn line(&mut self) -> Result<Option<&str>, Error> {
        match self.next_line()? {
            Some((from, to)) => self.text(from, to).map(Some),
            None => Ok(None),
        }
    }

    /// The same, of bytes.
    ///
    /// # Errors
    ///
    /// [`TooLong`](ErrorKind::TooLong), [`Io`](ErrorKind::Io).
    #[inline]
    pub fn line_bytes(&mut self) -> Result<Option<&[u8]>, Error> {
        let line = self.next_line()?;
        Ok(line.map(|(from, to)| &self.source.window()[from..to]))
    }

    /// Skips the rest of the line, however long it is. Returns false only at the end of the input.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io).
    pub fn skip_line(&mut self) -> Result<bool, Error> {
        self.finish_crlf()?;
        let mut any = false;
        loop {
            let window = self.source.window();
            any |= self.at < window.len();
            if let Some(newline) = find_newline(window, self.at) {
                self.at = newline + 1;
                return Ok(true);
            }
            self.at = window.len();
            if !self.more(&mut [])? {
                return Ok(any);
            }
        }
    }

    /// Reads a byte, spaces too; `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io).
    #[inline]
    pub fn byte(&mut self) -> Result<Option<u8>, Error> {
        self.finish_crlf()?;
        if self.at == self.source.window().len() && !self.more(&mut [])? {
            return Ok(None);
        }
        let byte = self.source.window()[self.at];
        self.at += 1;
        Ok(Some(byte))
    }

    /// Reads a character, spaces too; `None` at the end of the input. [`read::<char>`](Self::read) skips spaces first.
    ///
    /// # Errors
    ///
    /// [`NotUtf8`](ErrorKind::NotUtf8), [`Io`](ErrorKind::Io).
    #[inline]
    pub fn char(&mut self) -> Result<Option<char>, Error> {
        self.finish_crlf()?;
        if self.at == self.source.window().len() && !self.more(&mut [])? {
            return Ok(None);
        }
        self.next_char().map(Some)
    }

    /// Reads all that is left: a view of its bytes.
    ///
    /// # Errors
    ///
    /// [`TooLong`](ErrorKind::TooLong), [`Io`](ErrorKind::Io).
    pub fn rest(&mut self) -> Result<&[u8], Error> {
        self.finish_crlf()?;
        let mut from = self.at;
        while self.more(&mut [&mut from])? {
            if self.source.window().len() - from > self.limit {
                let error = self.error_at(from, from, ErrorKind::TooLong, "the rest of the input");
                self.at = self.source.window().len();
                return Err(error);
            }
        }
        self.at = self.source.window().len();
        Ok(&self.source.window()[from..])
    }

    /// Skips spaces; returns whether the input ends there.
    ///
    /// # Errors
    ///
    /// [`Io`](ErrorKind::Io).
    #[inline]
    pub fn is_at_end(&mut self) -> Result<bool, Error> {
        match self.source.window().get(self.at) {
            Some(&byte) if !is_space(byte) => Ok(false),
            _ => Ok(!self.skip_spaces()?),
        }
    }

    /// The line and column of the next byte, from 1. Columns count bytes.
    pub fn position(&self) -> (u64, u64) {
        self.position_of(self.at)
    }
}

/// An iterator over values, from [`Input::values`]. An error is the last item.
pub struct Values<'a, S, T> {
    input: &'a mut Input<S>,
    ended: bool,
    values: PhantomData<T>,
}

impl<S: Source, T: FromInput> Iterator for Values<'_, S, T> {
    type Item = Result<T, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let value = self.input.try_read().transpose();
        self.ended = !matches!(value, Some(Ok(_)));
        value
    }
}

impl<S: Source, T: FromInput> std::iter::FusedIterator for Values<'_, S, T> {}

impl<S> fmt::Debug for Input<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").finish_non_exhaustive()
    }
}

impl<S, T> fmt::Debug for Values<'_, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Values").finish_non_exhaustive()
    }
}
