//! Child processes that print to the same place.

use crate::stream::registry::standard_streams;
use std::io;
use std::process::Command;

/// Makes [`Command`] respect buffered output.
pub trait CommandExt: sealed::Sealed {
    /// Flushes standard output and error, so that what the program has printed so far comes before what
    /// the child prints, or the program that takes this one's place (`exec`).
    ///
    /// Without it a child that inherits these streams may print first: what is buffered here follows later,
    /// or never, after an `exec`.
    ///
    /// Only what was printed before this call is flushed; call it right before the child is started.
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
