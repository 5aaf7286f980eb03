//! Handles to streams.

use super::guard::Guard;
use super::send::send_formatted;
use crate::stream::buffering::Buffering;
use crate::stream::engine::{Engine, STDERR, STDOUT};
use crate::stream::gap::GapMarker;
use crate::stream::policy::assert_valid;
use crate::stream::state::BrokenPipe;
use crate::stream::stats::Stats;
use crate::sys::Output;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A handle to the process's standard output. Copies are the same stream; see [`stdout()`].
#[derive(Clone, Copy)]
pub struct Stdout(());

/// A handle to the process's standard error. Copies are the same stream; see [`stderr()`].
#[derive(Clone, Copy)]
pub struct Stderr(());

/// The process's standard output.
///
/// By default it is buffered by [`Buffering::Prompt`], with a delay of 4 ms, or of 100 ms in a regular file. Costs nothing to
/// call.
///
/// ```
/// use std::io::Write;
///
/// let mut out = outpace::stdout();
/// for i in 0..1000 {
///     writeln!(out, "line {i}")?;
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
pub const fn stdout() -> Stdout {
    Stdout(())
}

/// The process's standard error: unbuffered by default, one system call a message.
///
/// ```
/// use std::io::Write;
///
/// writeln!(outpace::stderr(), "one write(2), however many {} there are", "arguments")?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
pub const fn stderr() -> Stderr {
    Stderr(())
}

/// Any descriptor as a stream.
///
/// Dropping it drains it; [`close`](Stream::close) does that and reports errors. Streams that still
/// exist at exit are drained then.
///
/// ```
/// use outpace::{Buffering, Stream};
/// use std::io::Write;
///
/// # let path = std::env::temp_dir().join(format!("outpace-doc-{}", std::process::id()));
/// let mut log = Stream::new(std::fs::File::create(&path)?, Buffering::prompt())?;
/// log.write_all(b"started\n")?;
/// log.close()?;
/// assert_eq!(std::fs::read(&path)?, b"started\n");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Stream<F> {
    engine: Arc<Engine>,
    /// Keeps the descriptor open. Taken by `close`.
    file: Option<F>,
}

macro_rules! handle {
    ([$($generics:tt)*] $handle:ty) => {
        impl<$($generics)*> $handle {
            /// Returns once the kernel has accepted every byte written before the call.
            ///
            /// # Errors
            ///
            /// The error that made the stream fail, if it has.
            pub fn flush(&self) -> io::Result<()> {
                self.engine().flush()
            }

            /// The same, but gives up at `deadline`; the rest stays queued.
            ///
            /// # Errors
            ///
            /// [`TimedOut`](io::ErrorKind::TimedOut), or the error that made the stream fail.
            pub fn flush_until(&self, deadline: Instant) -> io::Result<()> {
                self.engine().flush_until(deadline)
            }

            /// Chooses the text in place of dropped messages.
            pub fn gap_marker(&self, marker: GapMarker) {
                self.engine().set_gap_marker(marker);
            }

            /// Chooses how long the drain at exit waits for a stalled reader, if messages may be dropped (otherwise it
            /// waits for as long as the reader lives). It is also how long a `fork` waits for a stalled reader, once,
            /// whatever the buffering. By default 5 s.
            pub fn exit_timeout(&self, timeout: Duration) {
                self.engine().set_exit_timeout(timeout);
            }

            /// Chooses the buffering, with priority over all other sources. Takes effect at the next message boundary,
            /// after the bytes before it; never waits for another thread's guard.
            ///
            /// # Panics
            ///
            /// If a capacity is more than 1 GiB, that of `Background` is 0, or a delay is 0.
            pub fn set_buffering(&self, buffering: Buffering) {
                self.engine().set_buffering(buffering, true);
            }

            /// Chooses the buffering that holds where neither [`set_buffering`](Self::set_buffering)
            /// nor the environment says otherwise.
            ///
            /// # Panics
            ///
            /// As `set_buffering`.
            pub fn set_default_buffering(&self, buffering: Buffering) {
                self.engine().set_buffering(buffering, false);
            }

            /// The buffering in force.
            pub fn buffering(&self) -> Buffering {
                self.engine().buffering()
            }

            /// Finds out anew what the descriptor is connected to: call it after a `dup2` onto it.
            pub fn redetect(&self) {
                self.engine().redetect();
            }

            /// Whether this is a terminal, as the system says now.
            pub fn is_terminal(&self) -> bool {
                self.engine().output.is_terminal()
            }

            /// Counters of this stream.
            pub fn stats(&self) -> Stats {
                self.engine().stats()
            }

            /// Forgets the error that made the stream fail. Messages from now on are written again; those
            /// given up stay lost.
            pub fn clear_error(&self) {
                self.engine().clear_error();
            }

            /// Chooses how the stream treats a closed pipe, whose reader has gone.
            pub fn broken_pipe(&self, choice: BrokenPipe) {
                self.engine().set_broken_pipe(choice);
            }
        }

        impl<$($generics)*> Write for &$handle {
            #[inline]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Guard::within(self.engine(), |guard| guard.write(bytes))
            }

            fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
                self.lock().write_vectored(parts)
            }

            #[inline]
            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                Guard::within(self.engine(), |guard| guard.write_all(bytes))
            }

            #[inline]
            fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
                if let Some(text) = arguments.as_str() {
                    return self.write_all(text.as_bytes());
                }
                let engine = self.engine();
                engine.result(send_formatted(engine, arguments))
            }

            fn flush(&mut self) -> io::Result<()> {
                self.engine().flush()
            }
        }

        impl<$($generics)*> Write for $handle {
            #[inline]
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                (&*self).write(bytes)
            }

            fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
                (&*self).write_vectored(parts)
            }

            #[inline]
            fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
                (&*self).write_all(bytes)
            }

            fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
                (&*self).write_fmt(arguments)
            }

            fn flush(&mut self) -> io::Result<()> {
                self.engine().flush()
            }
        }

        impl<$($generics)*> fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let engine = self.engine();
                f.debug_struct(engine.role.name()).field("buffering", &engine.buffering()).finish()
            }
        }
    };
}

macro_rules! standard {
    ($handle:ident, $engine:ident) => {
        handle!([] $handle);

        impl $handle {
            #[inline(always)]
            pub(crate) fn engine(&self) -> &'static Engine {
                &$engine
            }

            /// Keeps other threads' messages out until the guard is dropped. Reentrant; drains go on.
            ///
            /// A guard that is held for long is fine for this thread's messages, which appear as promptly
            /// as ever; other threads wait.
            #[inline(always)]
            pub fn lock(&self) -> Guard<'static> {
                Guard::new(self.engine())
            }
        }
    };
}

standard!(Stdout, STDOUT);
standard!(Stderr, STDERR);
handle!([F] Stream<F>);

#[cfg(unix)]
use std::os::fd::AsFd as AsHandle;
#[cfg(windows)]
use std::os::windows::io::AsHandle;

impl<F: AsHandle + 'static> Stream<F> {
    /// Wraps a file, socket, pipe end or other descriptor, owned or borrowed for `'static`: a stream that
    /// is leaked still writes at exit, and must not find another file under its number then.
    ///
    /// ```compile_fail,E0597
    /// # use outpace::{Buffering, Stream};
    /// let file = std::fs::File::create("log")?;
    /// let leaked = std::mem::ManuallyDrop::new(Stream::new(&file, Buffering::block())?);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// On the portable path, which duplicates the handle, that this failed.
    ///
    /// # Panics
    ///
    /// If a capacity is more than 1 GiB, that of `Background` is 0, or a delay is 0.
    pub fn new(file: F, buffering: Buffering) -> io::Result<Self> {
        assert_valid(&buffering);
        #[cfg(unix)]
        let output = Output::new(file.as_fd())?;
        #[cfg(windows)]
        let output = Output::new(file.as_handle())?;
        Ok(Stream {
            engine: Engine::shared(output, buffering),
            file: Some(file),
        })
    }
}

impl<F> Stream<F> {
    #[inline(always)]
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Keeps other threads' messages out until the guard is dropped. Reentrant; drains go on.
    ///
    /// A guard that is held for long is fine for this thread's messages, which appear as promptly
    /// as ever; other threads wait.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_> {
        Guard::new(self.engine())
    }

    /// The file that was wrapped.
    pub fn get_ref(&self) -> &F {
        self.file
            .as_ref()
            .expect("taken by `close` alone, which consumes the stream")
    }

    /// Drains the stream and gives the file back.
    ///
    /// # Errors
    ///
    /// The error that made the stream fail, if it has. The file is then closed.
    pub fn close(mut self) -> io::Result<F> {
        self.engine.close()?;
        Ok(self.file.take().expect("only taken here"))
    }
}

impl<F> Drop for Stream<F> {
    fn drop(&mut self) {
        if self.file.is_some() {
            // `close` reports errors.
            let _ = self.engine.close();
        }
    }
}
