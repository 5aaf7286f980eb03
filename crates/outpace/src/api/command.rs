//! Child processes that print to the same place.

use crate::stream::registry::standard_streams;
use std::io;
use std::process::Command;

/// Makes [`Command`] respect buffered output.
pub trait CommandExt: sealed::Sealed {
    /// Flushes standard output and error, so that the program's output so far comes before the output of the child, or
    /// of the program that replaces this one (`exec`).
    ///
    /// Without it a child that inherits these streams may print first: buffered output follows later, or, after an
    /// `exec`, never.
    ///
    /// Later output is not flushed: call it right before the child is started.
    ///
    /// ```
    /// use outpace::CommandExt;
    /// use std::io::Write;
    /// use std::process::Command;
    ///
    /// writeln!(outpace::stdout(), "the child says:")?;
    /// Command::new("echo").arg("hello").flush_first()?.status()?;
    /// writeln!(outpace::stdout(), "and has ended")?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The error that made one of the streams fail, if it has.
    fn flush_first(&mut self) -> io::Result<&mut Self>;
}

impl CommandExt for Command {
    fn flush_first(&mut self) -> io::Result<&mut Self> {
        for engine in standard_streams() {
            engine.flush()?;
        }
        Ok(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for std::process::Command {}
}
