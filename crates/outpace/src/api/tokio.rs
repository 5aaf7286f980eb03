//! Streams as asynchronous writers, with the feature `tokio`.
//!
//! Tokio's own standard output hands each write to a thread of the blocking pool: `write_all` returns before the bytes
//! are written, and they are lost if the program ends then. Here the bytes are in the stream's queue, which the exit
//! drains, and a task waits only while the queue is full.
//!
//! ```
//! use tokio::io::AsyncWriteExt;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let mut out = outpace::tokio::stdout();
//! out.write_all(b"in the queue, and on the screen within milliseconds\n").await?;
//! out.flush().await?; // the kernel has it
//! # std::io::Result::Ok(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Standard output and error are separate queues, with a thread each: output of a task to one may appear before its
//! earlier output to the other, unless the task awaits a flush in between. A program that needs the order should use
//! only one of the two.
//!
//! Any descriptor:
//!
//! ```
//! use outpace::{Buffering, Stream, tokio::AsyncWriter};
//! use std::sync::Arc;
//! use tokio::io::AsyncWriteExt;
//!
//! # let path = std::env::temp_dir().join(format!("outpace-tokio-{}", std::process::id()));
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let file = std::fs::File::create(&path)?;
//! let log = Arc::new(Stream::new(file, Buffering::background(1 << 20))?);
//! let tasks = (0..3).map(|task| {
//!     let mut log = AsyncWriter::new(log.clone());
//!     async move { log.write_all(format!("task {task}\n").as_bytes()).await }
//! });
//! for task in tasks {
//!     task.await?;
//! }
//! log.flush()?;
//! # assert_eq!(std::fs::read(&path)?.len(), 21);
//! # std::fs::remove_file(&path)
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

use super::handles::{self, Stderr, Stdout, Stream};
use crate::stream::buffering::Buffering;
use crate::stream::engine::Engine;
use crate::stream::segment::SEGMENT;
use crate::stream::tasks::Attempt;
use ::tokio::io::AsyncWrite;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A stream whose writers are tasks: an [`AsyncWrite`] that never blocks the thread it is polled on.
///
/// The stream is in [`Background`](Buffering::Background): its own thread writes queued bytes. The bytes of one
/// `poll_write` are one message, in order, never interleaved with another's; `write_all` of bytes that fit into the
/// queue is one `poll_write`.
///
/// | | |
/// |---|---|
/// | `poll_write` | takes all of the bytes, or is pending while the queue has no room for them; with [`Overflow::DropNewest`](crate::Overflow) and `DropOldest` it is never pending for that. Takes more than half of the queue's capacity in parts |
/// | `poll_flush` | resolves when the kernel has accepted every byte that was written before it, by any writer |
/// | `poll_shutdown` | the same; the descriptor stays open |
/// | drop | does not drain or discard: the stream keeps the bytes |
/// | exit, or the end of the runtime | no bytes are lost: the exit drains the stream |
///
/// `poll_write` is also pending once in 128 writes, so that timeouts and other tasks have their turn, and while another
/// thread holds the stream's guard. It returns the stream's errors, as [`Write`](std::io::Write) does.
pub struct AsyncWriter<S> {
    stream: S,
    /// The stream offset that a flush in progress waits for.
    flushes: Option<u64>,
    /// How often in a row another thread had the guard.
    refused: u32,
    /// Writes since other tasks last had a turn.
    in_a_row: u32,
}

/// The process's standard output for tasks: see [`AsyncWriter::new`].
pub fn stdout() -> AsyncWriter<Stdout> {
    AsyncWriter::new(handles::stdout())
}

/// The process's standard error for tasks: see [`AsyncWriter::new`].
pub fn stderr() -> AsyncWriter<Stderr> {
    AsyncWriter::new(handles::stderr())
}

impl<S: AsyncStream> AsyncWriter<S> {
    /// A writer to the stream. Sets the stream to [`Background`](Buffering::Background) with a lossless queue of 16
    /// MiB, unless it is in `Background` already. Choose another queue before or after by
    /// [`set_buffering`](Stdout::set_buffering); under another policy, the task's thread waits as the policy does.
    pub fn new(stream: S) -> Self {
        let engine = stream.engine();
        if !matches!(engine.buffering(), Buffering::Background { .. }) {
            let queue = Buffering::background(Buffering::DEFAULT_BACKGROUND_CAPACITY);
            engine.set_buffering(queue, true);
        }
        AsyncWriter {
            stream,
            flushes: None,
            refused: 0,
            in_a_row: 0,
        }
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Returns the stream, with all written bytes in its queue.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: Clone> Clone for AsyncWriter<S> {
    fn clone(&self) -> Self {
        AsyncWriter {
            stream: self.stream.clone(),
            flushes: None,
            refused: 0,
            in_a_row: 0,
        }
    }
}

impl<S> fmt::Debug for AsyncWriter<S>
where
    S: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncWriter").field(&self.stream).finish()
    }
}

/// A stream for an [`AsyncWriter`]: [`Stdout`], [`Stderr`], a [`Stream`], and references and `Arc`s of these.
pub trait AsyncStream: sealed::Sealed + Unpin {}

mod sealed {
    #[allow(private_interfaces, reason = "called by this crate alone")]
    pub trait Sealed {
        fn engine(&self) -> &crate::stream::engine::Engine;
    }
}

macro_rules! streams {
    ($([$($generics:tt)*] $stream:ty;)*) => {$(
        #[allow(private_interfaces)]
        impl<$($generics)*> sealed::Sealed for $stream {
            fn engine(&self) -> &Engine {
                <$stream>::engine(self)
            }
        }

        impl<$($generics)*> AsyncStream for $stream {}
    )*};
}
streams! {
    [] Stdout;
    [] Stderr;
    [F: Unpin] Stream<F>;
}

#[allow(private_interfaces)]
impl<S: sealed::Sealed + ?Sized> sealed::Sealed for &S {
    fn engine(&self) -> &Engine {
        (**self).engine()
    }
}

#[allow(private_interfaces)]
impl<S: sealed::Sealed + ?Sized> sealed::Sealed for Arc<S> {
    fn engine(&self) -> &Engine {
        (**self).engine()
    }
}

impl<S: AsyncStream> AsyncStream for &S {}
impl<S: AsyncStream> AsyncStream for Arc<S> {}

impl<S: AsyncStream> AsyncWrite for AsyncWriter<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.in_a_row >= TURN {
            this.in_a_row = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.in_a_row += 1;
        let engine = this.stream.engine();
        match engine.write_in_task(bytes, context.waker()) {
            Attempt::Written(length) => {
                this.refused = 0;
                Poll::Ready(Ok(length))
            }
            Attempt::Failed => Poll::Ready(Err(engine.error().into())),
            Attempt::Full => Poll::Pending,
            Attempt::Refused => {
                this.refused += 1;
                if this.refused < TRIES || !engine.wake_when_free(context.waker()) {
                    // Messages are short: the guard may be free by the time the others have had their turn.
                    context.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut parts = parts.iter().filter(|part| !part.is_empty());
        let Some(first) = parts.next() else {
            return Poll::Ready(Ok(0));
        };
        let mut whole = Vec::new();
        for part in parts {
            if whole.is_empty() {
                whole.extend_from_slice(first);
            }
            if whole.len() + part.len() > SEGMENT {
                break;
            }
            whole.extend_from_slice(part);
        }
        let bytes = if whole.is_empty() { first } else { &*whole };
        self.poll_write(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let result = this
            .stream
            .engine()
            .flush_in_task(&mut this.flushes, context.waker());
        if result.is_ready() {
            this.flushes = None;
        }
        result
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

/// How often a writer is ready before other tasks have their turn, as with tokio's own budget: otherwise a task that
/// only writes would keep its worker while the queue has room, and no timeout would end it.
const TURN: u32 = 128;

/// How often a task that finds the guard taken is polled again, before a thread waits for the guard.
const TRIES: u32 = 4;
