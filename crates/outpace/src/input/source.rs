//! Sources of bytes, and the window through which an input reads them.

use super::digits::CHUNK;
use crate::api::raw;
use crate::stream::buffering::Buffering;
use crate::stream::engine::STDOUT;
use crate::stream::patience::Patience;
use crate::sys;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// A source of bytes for an [`Input`](super::Input): a buffered reader, bytes in memory, or a mapped file. Sealed:
/// `Input`'s constructors make them.
pub trait Source: sealed::Sealed {}

impl<S: sealed::Sealed> Source for S {}

pub(super) mod sealed {
    use std::io;

    /// A window of bytes that moves along the input.
    pub trait Sealed {
        /// The place of the input's first byte in the window.
        const START: usize;

        /// The bytes in memory.
        fn window(&self) -> &[u8];

        /// Discards bytes far before `keep`; returns where the byte at `keep` is now.
        fn discard_before(&mut self, keep: usize) -> usize;

        /// Adds bytes to the window's end; returns how many, 0 at the end of the input.
        fn fill(&mut self) -> io::Result<usize>;
    }
}

/// A reader and its buffer.
pub struct Buffered<R> {
    reader: R,
    /// Filled up to `end`.
    bytes: Vec<u8>,
    end: usize,
}

/// The most that is read at a time: twice a pipe's usual capacity, and a small part of a second-level cache.
const CAPACITY: usize = 128 << 10;

impl<R> Buffered<R> {
    pub(super) fn new(reader: R) -> Self {
        Buffered {
            reader,
            bytes: vec![0; CHUNK + CAPACITY],
            end: CHUNK,
        }
    }

    pub(super) fn reader(&self) -> &R {
        &self.reader
    }
}

impl<R: Read> sealed::Sealed for Buffered<R> {
    /// A chunk can be read before every place.
    const START: usize = CHUNK;

    #[inline(always)]
    fn window(&self) -> &[u8] {
        // Never out of range; without code for a panic.
        self.bytes.get(..self.end).unwrap_or_default()
    }

    fn discard_before(&mut self, keep: usize) -> usize {
        if keep <= CHUNK {
            return keep;
        }
        self.bytes.copy_within(keep - CHUNK..self.end, 0);
        self.end -= keep - CHUNK;
        CHUNK
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.end == self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        loop {
            match self.reader.read(&mut self.bytes[self.end..]) {
                Ok(read) => {
                    // A reader outside this crate may return any number.
                    self.end = self.bytes.len().min(self.end + read);
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Bytes in memory.
pub struct Bytes<'a>(pub(super) &'a [u8]);

/// A mapped file: see [`Input::map`](super::Input::map).
pub struct Mapped(pub(super) sys::Mapping);

/// A source that is in memory as a whole.
macro_rules! in_memory {
    ($source:ty, |$this:ident| $bytes:expr) => {
        impl sealed::Sealed for $source {
            const START: usize = 0;

            #[inline(always)]
            fn window(&self) -> &[u8] {
                let $this = self;
                $bytes
            }

            fn discard_before(&mut self, keep: usize) -> usize {
                keep
            }

            fn fill(&mut self) -> io::Result<usize> {
                Ok(0)
            }
        }
    };
}
in_memory!(Bytes<'_>, |this| this.0);
in_memory!(Mapped, |this| this.0.bytes());

/// A reader that is tied to standard output, as C++ ties `cin` to `cout`: before the program waits for input, standard
/// output is drained, so that questions appear.
///
/// On Unix `poll(2)` tells whether a read would wait: reading a file or a full pipe costs no drain. A read of a
/// non-blocking descriptor waits. Elsewhere standard output is drained before each read. Under
/// [`Buffering::Background`] a read does not wait for the helper, which drains anyway.
pub struct Tied<R> {
    reader: R,
}

impl<R> Tied<R> {
    pub(super) fn new(reader: R) -> Self {
        Tied { reader }
    }
}

/// Drains standard output, before the program waits.
fn drain_stdout() {
    if !matches!(STDOUT.buffering(), Buffering::Background { .. }) {
        // The next call on the stream returns the error, or exit reports it.
        STDOUT.drain_all(Patience::Forever);
    }
}

#[cfg(all(unix, not(outpace_portable)))]
impl<R: Read + std::os::fd::AsFd> Read for Tied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !sys::is_readable(self.reader.as_fd()) {
                drain_stdout();
            }
            match self.reader.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    sys::wait_readable(self.reader.as_fd());
                }
                result => return result,
            }
        }
    }
}

#[cfg(not(all(unix, not(outpace_portable))))]
impl<R: Read> Read for Tied<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        drain_stdout();
        self.reader.read(buffer)
    }
}

/// The source of [`stdin`](super::stdin).
pub type Stdin = Buffered<Tied<raw::Stdin>>;

/// The source of [`Input::open`](super::Input::open).
pub type OpenFile = Buffered<Tied<File>>;

macro_rules! debug {
    ($($name:literal [$($generics:tt)*] $source:ty;)*) => {$(
        impl<$($generics)*> fmt::Debug for $source {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }
    )*};
}
debug! {
    "Buffered" [R] Buffered<R>;
    "Bytes" [] Bytes<'_>;
    "Mapped" [] Mapped;
    "Tied" [R] Tied<R>;
}
