//! A writer for loggers that flush after every record.

use std::fmt;
use std::io::{self, IoSlice, Write};

/// A writer whose [`flush`](Write::flush) returns at once, for loggers that flush after every record.
///
/// A [`flush`](crate::Stdout::flush) returns only after the kernel has accepted all bytes, so a logger that flushes
/// after each record waits for the terminal each time, whatever the buffering. Under
/// [`Prompt`](crate::Buffering::Prompt) and [`Background`](crate::Buffering::Background) a record needs no flush: a
/// helper thread writes it within milliseconds, and the exit writes the rest.
///
/// ```
/// use outpace::{Buffering, Stream, Unflushed};
/// use std::io::Write;
///
/// # #[cfg(unix)] {
/// let (_reader, writer) = std::io::pipe()?;
/// let stream = Stream::new(writer, Buffering::block())?;
/// let mut log = Unflushed(&stream);
/// log.write_all(b"a record\n")?;
/// log.flush()?;
/// assert_eq!(stream.stats().bytes_queued, 9);
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Unflushed<W>(pub W);

impl<W: Write> Write for Unflushed<W> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(parts)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
        self.0.write_fmt(arguments)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
