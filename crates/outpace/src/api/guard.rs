//! The guard: keeps other threads' messages out of a stream, and appends this thread's.
#![allow(unsafe_code)]

use crate::stream::buffering::MAX_CAPACITY;
use crate::stream::cursor::{Answer, Cursor};
use crate::stream::engine::Engine;
use crate::stream::hot::append_formatted;
use crate::sync::lock::{Entry, Lock};
use crate::sync::thread::{ThreadId, thread_id};
use crate::text::copy;
use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// A stream that is locked by this thread: see [`Stdout::lock`](crate::Stdout::lock).
///
/// Besides [`io::Write`] it has typed calls. A chain of them is one message, which becomes part of the stream at the
/// end of the statement. They do not return errors: the next [`flush`](Write::flush), or the exit, reports them; and if
/// standard output's reader has gone, the process ends quietly.
///
/// ```
/// let mut out = outpace::stdout().lock();
/// for i in 0..1000 {
///     out.str("Hello, ").int(i).char('\n');
/// }
/// ```
pub struct Guard<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) cursor: Cursor,
    pub(crate) entry: Entry,
    inside: Inside<'a>,
}

/// Leaves when dropped, on the thread that entered. Separate from the cursor, so that the drop does not force that into
/// memory.
struct Inside<'a> {
    lock: &'a Lock,
    me: ThreadId,
    not_send: PhantomData<*const ()>,
}

impl Drop for Inside<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        leave(self.lock, self.me);
    }
}

/// Not inlined: a call is small enough for the caller's cleanup, too, and does not need the guard there.
#[inline(never)]
extern "C" fn leave(lock: &Lock, me: ThreadId) {
    lock.leave(me);
}

impl<'a> Guard<'a> {
    #[inline(always)]
    pub(crate) fn new(engine: &'a Engine) -> Self {
        let me = thread_id();
        let entry = engine.lock.enter(me);
        let cursor = match entry {
            Entry::Outermost => engine.cursor.get(),
            Entry::Nested => Cursor::NOWHERE,
        };
        let inside = Inside {
            lock: &engine.lock,
            me,
            not_send: PhantomData,
        };
        Guard {
            engine,
            cursor,
            entry,
            inside,
        }
    }

    /// Runs `message` inside the lock, all of it inlined: one message of a handle. `message` does not unwind.
    #[inline(always)]
    pub(crate) fn within<T>(engine: &Engine, message: impl FnOnce(&mut Guard<'_>) -> T) -> T {
        let mut guard = ManuallyDrop::new(Guard::new(engine));
        let result = message(&mut guard);
        ManuallyDrop::into_inner(guard).leave();
        result
    }

    /// Leaves, all of it inlined.
    #[inline(always)]
    pub(crate) fn leave(self) {
        let guard = ManuallyDrop::new(self);
        guard.inside.lock.leave(guard.inside.me);
    }

    /// Takes over the answer's cursor; returns false if the stream has failed.
    #[inline(always)]
    pub(crate) fn accept(&mut self, answer: Answer) -> bool {
        self.cursor = if answer.next.is_null() {
            Cursor::NOWHERE
        } else {
            Cursor {
                next: answer.next,
                end: answer.next.wrapping_add(answer.room as usize),
            }
        };
        !answer.failed
    }

    /// Appends a message; returns false if the stream has failed.
    #[inline(always)]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> bool {
        if !self.cursor.admits(bytes.len()) {
            let answer = self.engine.append_by(self.entry, bytes);
            return self.accept(answer);
        }
        // SAFETY: the bytes fit behind the cursor, where no other thread writes while the guard is held.
        unsafe { copy::copy(bytes, self.cursor.next) };
        self.publish(self.cursor.next.wrapping_add(bytes.len()))
    }

    /// Publishes the bytes between the cursor and `end`; returns false if the stream has failed.
    #[inline(always)]
    pub(crate) fn publish(&mut self, end: *mut u8) -> bool {
        self.cursor.next = end;
        if self.engine.cursor.publish(end) {
            return true;
        }
        let answer = self.engine.after_message();
        self.accept(answer)
    }
}

impl Write for Guard<'_> {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    #[inline(always)]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let intact = self.append(bytes);
        self.engine.result(intact)
    }

    /// All of the parts as one message. Only the first ones, if they are more than 1 GiB together.
    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        if let [part] = parts {
            return self.write(part);
        }
        let mut whole = Vec::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            if whole.len() + part.len() > MAX_CAPACITY {
                if whole.is_empty() {
                    return self.write(part);
                }
                break;
            }
            whole.extend_from_slice(part);
        }
        self.write(&whole)
    }

    #[inline(always)]
    fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> io::Result<()> {
        if let Some(text) = arguments.as_str() {
            return self.write_all(text.as_bytes());
        }
        let answer = append_formatted(self.engine, self.entry, arguments);
        let intact = self.accept(answer);
        self.engine.result(intact)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.engine.flush()
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("stream", &self.engine.role.name())
            .finish_non_exhaustive()
    }
}
