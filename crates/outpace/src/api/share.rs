//! The order of output in programs that print in more than one way.
//!
//! std shows neither the bytes in its buffer nor its writes. So each statement pays for the order: before a thread enters
//! standard output it flushes std's handle, and after leaving a stream it drains the pending bytes. Both happen outside
//! the stream's lock, because a thread may print here while it holds std's lock.

use crate::stream::engine::{Engine, STDERR, STDOUT};
use crate::stream::registry::standard_streams;
use crate::stream::state::Role;
use crate::sync::thread::{thread_id, work};
use std::io::{self, Write};

/// Keeps output in order with everything else that writes to the same place: std's handles and macros, also in
/// dependencies, C's stdio once it flushes, child processes, progress bars, `tcsetattr`.
///
/// From now on, the kernel has the output of a statement when the statement ends: a macro's message when the macro
/// returns, messages of a guard when the guard is dropped. Bytes in the buffer of std's standard output come before.
/// That applies to standard output and error, with every [`Buffering`](crate::Buffering) except `Background`, whose
/// callers do not wait for the reader.
///
/// ```
/// outpace::share(); // first in `main`
///
/// outpace::print!("This is ");
/// std::println!("one line.");
/// ```
///
/// # Cost
///
/// About what std's `println!` costs: a system call a statement, and 1,070 instructions for `Hello, {i}`, where std
/// takes 890. A fragment of a line costs as much as a line, and lines of other processes may come between. To print
/// much, hold a guard: its messages stay as fast as without `share` (58 instructions).
///
/// ```
/// outpace::share();
///
/// let mut out = outpace::stdout().lock();
/// for i in 0..100_000 {
///     out.str("line ").int(i).char('\n');
/// }
/// drop(out); // written by now, all of it
/// println!("and then std's");
/// ```
///
/// While a guard is held, other output may come before the messages that it still has buffered: `Prompt` writes these
/// within its delay, `Block` when it is full.
///
/// Without it, the order holds between standard output and error, if they are the same file or terminal, and with other
/// output after a [`flush`](crate::Stdout::flush). See [Before you switch](crate#before-you-switch).
///
/// Best called first in `main`. Called later, it waits for guards that other threads hold. It cannot be undone.
pub fn share() {
    for engine in standard_streams() {
        engine.begin_sharing();
    }
    STDOUT.surround(flush_std, || STDOUT.after_leaving());
    STDERR.surround(|| (), || STDERR.after_leaving());
    // Otherwise bytes that are pending now would wait for the next message.
    for engine in standard_streams() {
        engine.after_leaving();
    }
}

/// std's handle returns errors to its own callers.
fn flush_std() {
    let _ = io::stdout().flush();
}

/// Flushes std's handle of standard output before a message of a macro, outside of bursts, where the message costs a
/// system call anyway. So a program that writes to `std::io::stdout()` and ends the line by a macro keeps its order.
///
/// Not in the background, where no caller waits for the reader. Not while the thread holds the guard: a thread with std's
/// lock may wait for that.
pub(crate) fn std_first(engine: &Engine) {
    let in_burst = !engine.cursor.limit().is_null();
    let is_inside = || engine.lock.is_inside(thread_id()) || work::is_under_way();
    // Under `share` each entry does it.
    let is_done = || engine.lock.is_surrounded();
    if engine.role != Role::Stdout || in_burst || is_done() || is_inside() {
        return;
    }
    if !engine.is_in_background() {
        flush_std();
    }
}
