//! Streams as asynchronous writers, with the feature `tokio`.
//!
//! Tokio's own standard output hands each write to a thread of the blocking pool: `write_all` returns before the bytes are
//! written, and they are lost if the program ends then. Here they are in the stream's queue, which the exit drains, and a
//! task waits only while the queue is full.
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
//! Standard output and error are queues of their own, with a thread each: what a task writes to one may appear before what it
//! wrote to the other, unless it awaits a flush of both in between. Give a program that needs them in order one of the two.
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
#![allow(unsafe_code)]

use crate::append::Answer;
use crate::background::SEGMENT;
use crate::buffer;
use crate::buffering::Buffering;
use crate::drain::Patience;
use crate::engine::{Engine, Mode, State};
use crate::guard::in_place;
use crate::lock::{Entrance, Entry, thread_id, work};
use crate::mutex::Mutex;
use crate::{Stderr, Stdout, Stream, sys};
use ::tokio::io::AsyncWrite;
use std::fmt;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A stream whose writers are tasks: an [`AsyncWrite`] that never blocks the thread it is polled on.
///
/// The stream is in [`Background`](Buffering::Background): a thread of its own writes what is queued. What one
/// `poll_write` takes is one message, in order, never interleaved with another's; `write_all` of bytes that fit into the
/// queue is one `poll_write`.
///
/// | | |
/// |---|---|
/// | `poll_write` | takes all of the bytes, or is pending while there is no room for them; with [`Overflow::DropNewest`](crate::Overflow) and `DropOldest` it is never pending for that. Of more than half of the queue's capacity it takes a part at a time |
/// | `poll_flush` | resolves when the kernel has accepted every byte that was written before it, by any writer |
/// | `poll_shutdown` | the same; the descriptor stays open |
/// | dropped | nothing happens: what was written is written |
/// | exit, or a runtime that ends | nothing is lost: the stream drains as it does for all writers |
///
/// It is also pending once in 128 writes, so that timeouts and other tasks have their turn, and while another thread holds
/// the stream's guard. Errors are the stream's, as for
/// [`Write`](std::io::Write).
pub struct AsyncWriter<S> {
    stream: S,
    /// The stream offset that a flush in progress waits for.
    flushes: Option<u64>,
    /// How often in a row the guard was another thread's.
    refused: u32,
    /// How often it has written since it last gave other tasks a turn.
    in_a_row: u32,
}

/// The process's standard output for tasks: see [`AsyncWriter::new`].
pub fn stdout() -> AsyncWriter<Stdout> {
    AsyncWriter::new(crate::stdout())
}

/// The process's standard error for tasks: see [`AsyncWriter::new`].
pub fn stderr() -> AsyncWriter<Stderr> {
    AsyncWriter::new(crate::stderr())
}

impl<S: AsyncStream> AsyncWriter<S> {
    /// A writer to the stream, which is put into [`Background`](Buffering::Background) with a queue of 16 MiB that loses
    /// nothing, unless it is in `Background` already. Give it another queue before, or after, by
    /// [`set_buffering`](Stdout::set_buffering); with another policy, the thread of the task waits as that says.
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

    /// Gives the stream back. What was written is in its queue.
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

/// What an [`AsyncWriter`] writes to: [`Stdout`], [`Stderr`], a [`Stream`], and references and `Arc`s of that.
pub trait AsyncStream: sealed::Stream + Unpin {}

mod sealed {
    #[allow(private_interfaces, reason = "called by this crate alone")]
    pub trait Stream {
        fn engine(&self) -> &crate::engine::Engine;
    }
}

macro_rules! streams {
    ($([$($generics:tt)*] $stream:ty;)*) => {$(
        #[allow(private_interfaces)]
        impl<$($generics)*> sealed::Stream for $stream {
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
impl<S: sealed::Stream + ?Sized> sealed::Stream for &S {
    fn engine(&self) -> &Engine {
        (**self).engine()
    }
}

#[allow(private_interfaces)]
impl<S: sealed::Stream + ?Sized> sealed::Stream for Arc<S> {
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
                if this.refused < PATIENCE || !engine.wake_when_free(context.waker()) {
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

/// So often a writer takes what it is given before the other tasks have their turn, as with tokio's own budget: else
/// a task that only writes would keep its worker for as long as there is room, and no timeout would end it.
const TURN: u32 = 128;

/// So often a task that finds the guard taken is polled again before a thread waits for it.
const PATIENCE: u32 = 4;

/// What has become of a task's message.
enum Attempt {
    Written(usize),
    /// There is no room, and the task is woken when there may be.
    Full,
    /// Another thread has the guard.
    Refused,
    Failed,
}

/// The tasks that wait for something of a stream. With a lock of their own, because wakers are foreign code, for which
/// the state must not be locked.
pub(crate) struct Tasks(Mutex<Waiting>);

struct Waiting {
    /// For room in the queue, or for the end of a flush.
    progress: Vec<Waker>,
    /// For the guard.
    guard: Vec<Waker>,
    /// A thread waits for the guard in their place.
    guard_is_awaited: bool,
    /// A thread drains in their place.
    is_flushing: bool,
}

impl Waiting {
    const NOBODY: Waiting = Waiting {
        progress: Vec::new(),
        guard: Vec::new(),
        guard_is_awaited: false,
        is_flushing: false,
    };
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Tasks(Mutex::new(Waiting::NOBODY))
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut Waiting) -> T) -> T {
        // An allocator that prints waits for nobody meanwhile.
        work::begin();
        self.0.lock();
        // SAFETY: locked.
        let result = use_them(unsafe { &mut *self.0.value() });
        self.0.unlock();
        work::end();
        result
    }

    /// Wakes those that wait for progress.
    pub(crate) fn tell_progress(&self) {
        let tasks = self.with(|waiting| mem::take(&mut waiting.progress));
        tasks.into_iter().for_each(Waker::wake);
    }

    /// In the child of a fork they are the parent's. What a waker does when it is dropped is its own affair, and one may
    /// have been half-way in the list: they are leaked.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&self) {
        self.0.reset_after_fork();
        // SAFETY: there is no other thread.
        unsafe { self.0.value().write(Waiting::NOBODY) };
    }
}

/// A waker for the list, unless it is there.
fn add(tasks: &mut Vec<Waker>, waker: Waker) -> Option<Waker> {
    if tasks.iter().any(|task| task.will_wake(&waker)) {
        // Dropped when the list is unlocked.
        return Some(waker);
    }
    tasks.push(waker);
    None
}

impl Engine {
    /// Appends a message if that needs no waiting.
    fn write_in_task(&self, bytes: &[u8], waker: &Waker) -> Attempt {
        let me = thread_id();
        let entrance = self.lock.enter_by_bias(me);
        let entry = match entrance {
            Entrance::Entered(_) => Some(Entry::Outermost),
            Entrance::Lost => {
                self.lock.withdraw(me);
                self.lock.try_enter(me)
            }
            Entrance::None => self.lock.try_enter(me),
        };
        let Some(entry) = entry else {
            return Attempt::Refused;
        };
        let attempt = self.append_in_task(entry, bytes, waker);
        self.lock.leave(me);
        attempt
    }

    /// The same for the guard's holder.
    fn append_in_task(&self, entry: Entry, bytes: &[u8], waker: &Waker) -> Attempt {
        // SAFETY: it is asked for as much room as the bytes need.
        let put = |space: *mut u8| unsafe {
            buffer::copy(bytes, space);
            space.add(bytes.len())
        };
        // SAFETY: as above; the guard is held by an entry of this kind.
        if let Some(answer) = unsafe { in_place(self, entry, bytes.len(), put) } {
            return Self::attempt(answer, bytes.len());
        }
        let Some(now) = self.room_in_task(entry, bytes.len(), waker) else {
            return Attempt::Full;
        };
        let answer = match entry {
            Entry::Outermost => self.append_cold(&bytes[..now]),
            Entry::Nested => self.append_nested(&bytes[..now]),
        };
        Self::attempt(answer, now)
    }

    fn attempt(answer: Answer, length: usize) -> Attempt {
        if answer.failed {
            Attempt::Failed
        } else {
            Attempt::Written(length)
        }
    }

    /// How many of so many bytes can be appended without waiting. Nothing, if there is to be waited, for which the task
    /// is then woken. Called by the guard's holder.
    fn room_in_task(&self, entry: Entry, bytes: usize, waker: &Waker) -> Option<usize> {
        let mut registered = false;
        loop {
            let mut state = self.lock_state();
            if entry == Entry::Outermost {
                state = self.settle(state);
            }
            let waits = state.mode == Mode::Background && !state.drops() && state.failure.is_none();
            if !waits {
                return Some(bytes);
            }
            let now = bytes.min((state.capacity / 2).max(1));
            if self.pending(&state) + now > state.capacity {
                // Into the file, if there is one.
                self.spill(&mut state);
            }
            if self.pending(&state) + now <= state.capacity {
                return Some(now);
            }
            if registered {
                state.wake_tasks_at_progress();
                // Whatever is pending is to make room, however little it is.
                self.wake_helper(&mut state);
                return None;
            }
            drop(state);
            self.register(waker);
            registered = true;
        }
    }

    /// Has the task woken at the next progress after [`State::wake_tasks_at_progress`].
    fn register(&self, waker: &Waker) {
        let waker = waker.clone();
        drop(self.tasks.with(|waiting| add(&mut waiting.progress, waker)));
    }

    /// Has a thread wait for the guard and wake the task; returns false if there is none to be had.
    fn wake_when_free(&self, waker: &Waker) -> bool {
        let waker = waker.clone();
        let (awaited, twice) = self.tasks.with(|waiting| {
            let twice = add(&mut waiting.guard, waker);
            (mem::replace(&mut waiting.guard_is_awaited, true), twice)
        });
        drop(twice);
        if awaited {
            return true;
        }
        let thread = self.keep_alive().and_then(|engine| {
            let wait = move || {
                let me = thread_id();
                engine.lock.enter(me);
                engine.lock.leave(me);
                engine.guard_was_free();
            };
            sys::spawn(c"outpace-guard", Box::new(wait)).ok()
        });
        if thread.is_none() {
            self.guard_was_free();
        }
        thread.is_some()
    }

    fn guard_was_free(&self) {
        let tasks = self.tasks.with(|waiting| {
            waiting.guard_is_awaited = false;
            mem::take(&mut waiting.guard)
        });
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Whether the kernel has everything up to the offset, which is set if it is not yet.
    fn flush_in_task(&self, until: &mut Option<u64>, waker: &Waker) -> Poll<io::Result<()>> {
        let mut registered = false;
        loop {
            let mut state = self.lock_state();
            let all = self.accepted(&state);
            let until = *until.get_or_insert(all);
            // Dropped messages are not waited for.
            if state.drained >= until.min(all) || state.failure.is_some() {
                return Poll::Ready(state.tell_failure().map_err(io::Error::from));
            }
            if registered {
                state.wake_tasks_at_progress();
                if state.mode.has_helper() && self.wake_helper(&mut state) {
                    state.hurry_helper();
                    return Poll::Pending;
                }
                break;
            }
            drop(state);
            self.register(waker);
            registered = true;
        }
        self.flush_by_thread()
    }

    /// Where nobody but the callers drains: a thread does it in the tasks' place.
    fn flush_by_thread(&self) -> Poll<io::Result<()>> {
        let is_flushing = |now| {
            self.tasks
                .with(|waiting| mem::replace(&mut waiting.is_flushing, now))
        };
        if is_flushing(true) {
            return Poll::Pending;
        }
        let thread = self.keep_alive().and_then(|engine| {
            let flush = move || {
                // The tasks ask for the result.
                engine.drain_all(Patience::Forever);
                engine.tasks.with(|waiting| waiting.is_flushing = false);
                // One may have found it flushing just now, and there be nothing left.
                engine.tasks.tell_progress();
            };
            sys::spawn(c"outpace-flush", Box::new(flush)).ok()
        });
        match thread {
            Some(()) => Poll::Pending,
            None => {
                is_flushing(false);
                Poll::Ready(self.flush())
            }
        }
    }
}

impl State {
    fn wake_tasks_at_progress(&mut self) {
        self.tasks_wait = true;
    }
}
