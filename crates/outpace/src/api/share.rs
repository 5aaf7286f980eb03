//! Order among all that prints, for programs that print in more ways than one.
//!
//! std's lock hides what std has buffered, and its writes are invisible. So a program that wants the order pays for it with each
//! statement: before a thread enters one of the streams it flushes std's handle, and after it has left it drains what is
//! pending. Both happen outside the stream's lock, because a thread may print here while it holds std's.

use crate::stream::engine::{Engine, STDERR, STDOUT};
use crate::stream::policy::EARLY_MESSAGES;
use crate::stream::registry::standard_streams;
use crate::stream::state::Role;
use crate::sync::thread::{thread_id, work};
use std::io::{self, Write};

/// Keeps what is printed here in order with everything else that writes to the same place: std's handles and macros,
/// wherever they are called, C's stdio as far as it flushes, child processes, progress bars, `tcsetattr`.
///
/// From now on, what a statement has printed is with the kernel when the statement ends: a macro's message when the
/// macro returns, messages of a guard when the guard is dropped. Bytes in the buffer of std's standard output
/// come before. That holds for standard output and error, with every [`Buffering`](crate::Buffering) but
/// `Background`, whose callers do not wait for the reader.
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
/// About what std's `println!` costs: a system call a statement, and 1,070 instructions for `Hello, {i}`, where std takes
/// 890. A fragment of a line costs as much as a line, and lines of other processes may come between. To print much, hold
/// a guard: its messages cost what they cost otherwise (58 instructions).
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
/// While a guard is held, what others print may come before what the guard still has buffered: `Prompt` writes that
/// within 4 ms, `Block` when it is full.
///
/// A program without this has the order among its own two streams, if they are the same file or terminal, and with
/// whatever follows a [`flush`](crate::Stdout::flush). See [Before you switch](crate#before-you-switch).
///
/// It is best called first in `main`. Called later it waits for guards that other threads hold. There is no way back.
pub fn share() {
    for engine in standard_streams() {
        engine.begin_sharing();
    }
    STDOUT.surround(flush_std, || STDOUT.after_leaving());
    STDERR.surround(|| (), || STDERR.after_leaving());
    // Otherwise what is pending now would wait for the next message.
    for engine in standard_streams() {
        engine.after_leaving();
    }
}

/// Errors stay with std's handle, which reports them to its own caller.
fn flush_std() {
    let _ = io::stdout().flush();
}

/// Flushes std's handle of standard output before a message of a macro, outside of bursts, where the message takes a system
/// call anyway. So a program that writes to `std::io::stdout()` and ends the line by a macro keeps its order.
///
/// Not in the background, where no caller waits for the reader, nor while the thread holds the guard, for which a thread with
/// std's lock may wait.
pub(crate) fn std_first(engine: &Engine) {
    let in_burst = !engine.cursor.limit().is_null();
    let is_inside = || engine.lock.is_inside(thread_id()) || work::is_under_way();
    // With `share` each entry does it.
    let is_done = || engine.lock.is_surrounded();
    if engine.role != Role::Stdout || in_burst || is_done() || is_inside() {
        return;
    }
    if !engine.is_in_background() {
        flush_std();
    }
}

/// After a message of a macro: writes the first ones at once into a file, too, as far as they are whole lines, unless the
/// program has asked for [`Block`](crate::Buffering::Block). So a heading that was printed by a macro comes before what is
/// then written to `std::io::stdout()`.
pub(crate) fn std_next(engine: &Engine) {
    // First those in the tail alone, which is cheap, and then all of them.
    let late = engine.cursor.messages() > EARLY_MESSAGES;
    if engine.role != Role::Stdout || late || work::is_under_way() {
        return;
    }
    engine.drain_early_lines();
}
