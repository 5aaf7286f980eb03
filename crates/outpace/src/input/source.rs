//! Where an input's bytes come from, and where they are while they are looked at.

use super::digits::CHUNK;
use crate::api::raw;
use crate::stream::buffering::Buffering;
use crate::stream::engine::STDOUT;
use crate::stream::patience::Patience;
use crate::sys;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// Where an [`Input`](super::Input)'s bytes come from: a reader with a buffer, a slice of bytes, or a file that is
/// mapped. Sealed: `Input`'s constructors make them.
pub trait Source: sealed::Sealed {}

impl<S: sealed::Sealed> Source for S {}

pub(super) mod sealed {
    use std::io;

    /// A window of bytes that moves along the input.
    pub trait Sealed {
        /// Where the window begins to have bytes of the input.
        const START: usize;

        /// The bytes that can be looked at.
        fn window(&self) -> &[u8];

        /// Forgets what is far before `keep`; returns what the place `keep` is then.
        fn forget(&mut self, keep: usize) -> usize;

        /// Adds bytes to the window's end, at least one but at the end of the input; returns how many.
        fn extend(&mut self) -> io::Result<usize>;
    }
}

/// A reader and its buffer.
pub struct Buffered<R> {
    reader: R,
    /// What has been read is in front of `end`.
    bytes: Vec<u8>,
    end: usize,
}

/// What is read at a time, at most: twice what a pipe holds, and a small part of a second-level cache.
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
    /// So that there is a chunk before each place.
    const START: usize = CHUNK;

    #[inline(always)]
    fn window(&self) -> &[u8] {
        // Never out of range; said so that no panic need be kept for it.
        self.bytes.get(..self.end).unwrap_or_default()
    }

    fn forget(&mut self, keep: usize) -> usize {
        if keep <= CHUNK {
            return keep;
        }
        self.bytes.copy_within(keep - CHUNK..self.end, 0);
        self.end -= keep - CHUNK;
        CHUNK
    }

    fn extend(&mut self) -> io::Result<usize> {
        if self.end == self.bytes.len() {
            self.bytes.resize(2 * self.bytes.len(), 0);
        }
        loop {
            match self.reader.read(&mut self.bytes[self.end..]) {
                Ok(read) => {
                    // A reader of somebody else's may say anything.
                    self.end = self.bytes.len().min(self.end + read);
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Bytes that are all there.
pub struct Bytes<'a>(pub(super) &'a [u8]);

impl sealed::Sealed for Bytes<'_> {
    const START: usize = 0;

    #[inline(always)]
    fn window(&self) -> &[u8] {
        self.0
    }

    fn forget(&mut self, keep: usize) -> usize {
        keep
    }

    fn extend(&mut self) -> io::Result<usize> {
        Ok(0)
    }
}

/// A file in the process's memory: see [`Input::map`](super::Input::map).
pub struct Mapped(pub(super) sys::Mapping);

impl sealed::Sealed for Mapped {
    const START: usize = 0;

    #[inline(always)]
    fn window(&self) -> &[u8] {
        self.0.bytes()
    }

    fn forget(&mut self, keep: usize) -> usize {
        keep
    }

    fn extend(&mut self) -> io::Result<usize> {
        Ok(0)
    }
}

/// A reader for whose bytes the program may have to wait: before it does, standard output is drained, so that
/// what the program asks for, or answers, can be seen.
///
/// On Unix that is asked of the system (`poll(2)`), so that a file, or a pipe that is full, costs no drain; a
/// descriptor that somebody made non-blocking is waited for. Elsewhere standard output is drained before each read.
/// Under [`Buffering::Background`] the drain is on its way anyway, and is not waited
/// for.
pub struct Waiting<R> {
    reader: R,
}

impl<R> Waiting<R> {
    pub(super) fn new(reader: R) -> Self {
        Waiting { reader }
    }
}

/// Shows what the program has printed, before it waits.
fn drain_stdout() {
    if !matches!(STDOUT.buffering(), Buffering::Background { .. }) {
        // An error is told by the next call on the stream, or at exit.
        STDOUT.drain_all(Patience::Forever);
    }
}

#[cfg(all(unix, not(outpace_portable)))]
impl<R: Read + std::os::fd::AsFd> Read for Waiting<R> {
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
impl<R: Read> Read for Waiting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        drain_stdout();
        self.reader.read(buffer)
    }
}

/// What [`stdin`](super::stdin) reads.
pub type Stdin = Buffered<Waiting<raw::Stdin>>;

/// What [`Input::open`](super::Input::open) reads.
pub type OpenFile = Buffered<Waiting<File>>;

impl<R> fmt::Debug for Buffered<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Buffered")
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bytes")
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mapped")
    }
}

impl<R> fmt::Debug for Waiting<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
}
