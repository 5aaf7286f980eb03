//! The hot path: one message, written in place and published, with plain stores.
//!
//! ```text
//! enter:    depth = 1; light fence; bias still mine?     `Lock::enter_by_slot`     else withdraw, slow path
//! place:    published + room <= limit?                   `place`                   else slow path
//! put:      digits and text, straight into the tail      `text`
//! publish:  published = end; light fence; limit null?    `SharedCursor::publish`   then ask
//! leave:    depth = 0; light fence; bias still mine?     `ByBias::leave`           else wake the taker
//! ```
//!
//! No locked instruction, no clock, no system call. The slow path of each step is [`Engine::append_cold`] or
//! [`Engine::after_message`], always as a tail call, so that the hot path spills no registers.
#![allow(unsafe_code)]

use super::buffering::MAX_CAPACITY;
use super::cursor::Answer;
use super::engine::{Engine, STDOUT};
use crate::sync::draft::Draft;
use crate::sync::lock::{ByBias, Entrance, Entry, Lock};
use crate::sync::thread::{ThreadId, known_thread_id, thread_id};
use crate::text::copy;
use crate::text::scratch::{AppendTo, Scratch, StackBuffer};
use std::cell::Cell;
use std::fmt;

/// The place for a message of at most `room` bytes, if there is room. Called by a guard's holder without a cursor of its own.
#[inline(always)]
fn place(engine: &Engine, room: usize) -> Option<*mut u8> {
    let cursor = engine.cursor.get();
    // Sums of rooms saturate.
    (room <= MAX_CAPACITY && cursor.admits(room)).then_some(cursor.next)
}

/// One message of a guard's holder without a cursor of its own: writes at most `room` bytes in place, if there is room.
///
/// # Safety
///
/// The guard is held, by an entry of this kind. `put` writes at most `room` bytes at the place that it gets, and
/// returns their end.
#[inline(always)]
pub(crate) unsafe fn in_place(
    engine: &Engine,
    entry: Entry,
    room: usize,
    put: impl FnOnce(*mut u8) -> *mut u8,
) -> Option<Answer> {
    if entry == Entry::Nested {
        return None;
    }
    Some(published(engine, put(place(engine, room)?)))
}

/// With less room, a formatted message most likely does not fit.
const FORMATTED: usize = 64;

/// Formats a message with fallback arguments, without a guard: as a [draft](Lock::draft) in the stream's own buffer, if the
/// thread has the bias and there is room. If the draft cannot stay there, `otherwise` gets the text.
///
/// No thread waits for a draft, because a `Display` may wait for a thread that prints.
#[inline(always)]
pub(crate) fn format_draft(
    engine: &Engine,
    draft: Option<Draft<'_>>,
    message: impl AppendTo,
    otherwise: impl FnOnce(&Scratch<'_>),
) -> Drafted {
    let Some(draft) = draft else {
        return Drafted::NotBegun;
    };
    let cursor = engine.cursor.get();
    if !cursor.admits(FORMATTED) {
        return Drafted::NotBegun;
    }
    // SAFETY: the memory between cursor and limit is the draft's.
    let mut scratch = unsafe { Scratch::between(cursor.next, cursor.end) };
    message.append_to(&mut scratch);
    let text = match scratch.end_in_place() {
        Ok(end) => match draft.enter() {
            Ok(inside) => {
                debug_assert_eq!(engine.cursor.published(), cursor.next);
                if engine.cursor.publish(end) {
                    inside.leave();
                    return Drafted::Sent;
                }
                return Drafted::Ask;
            }
            // SAFETY: the memory belongs to the draft until that is dropped.
            Err(_draft) => unsafe { Scratch::moved_away(cursor.next, end) },
        },
        Err(text) => {
            drop(draft);
            text
        }
    };
    otherwise(&text);
    Drafted::Moved
}

/// The state of a message after [`format_draft`].
pub(crate) enum Drafted {
    /// It is not formatted yet.
    NotBegun,
    /// It was formatted, but could not stay where it was.
    Moved,
    Sent,
    /// It is in the stream. [`ask_and_leave`] is next.
    Ask,
}

/// Formats a message with fallback arguments for a guard's holder: in the stream's own buffer, if it has room, behind
/// the published bytes.
///
/// Unpublished text is invisible to other threads, and drains take only what is before it. A message that the
/// formatting code itself prints is [queued](Engine::append_nested) without touching the tail. So a panic, an exit or a
/// fork in that code needs no cleanup: the next message overwrites the text. The tail stays where it is until the guard
/// is dropped, or asks by [`Engine::after_message`]; a policy that is chosen meanwhile takes effect then.
#[inline(always)]
pub(crate) fn format_in_place(engine: &Engine, entry: Entry, message: impl AppendTo) -> Answer {
    let cursor = engine.cursor.get();
    if entry == Entry::Nested || !cursor.admits(FORMATTED) {
        return format_aside(engine, entry, message);
    }
    // SAFETY: no other thread writes behind the cursor while the guard is held.
    let mut scratch = unsafe { Scratch::between(cursor.next, cursor.end) };
    message.append_to(&mut scratch);
    match scratch.end_in_place() {
        Ok(end) => {
            debug_assert_eq!(engine.cursor.published(), cursor.next);
            if engine.cursor.publish(end) {
                // The limit is unchanged.
                return Answer {
                    next: end,
                    room: (cursor.end.addr() - end.addr()) as u32,
                    failed: false,
                };
            }
            engine.after_message()
        }
        Err(text) => append_text(engine, entry, text.as_bytes()),
    }
}

/// As [`format_in_place`], in scratch memory.
#[cold]
#[inline(never)]
extern "C-unwind" fn format_aside(engine: &Engine, entry: Entry, message: impl AppendTo) -> Answer {
    let mut buffer = StackBuffer::new();
    let mut scratch = buffer.scratch();
    message.append_to(&mut scratch);
    append_text(engine, entry, scratch.as_bytes())
}

/// Formats a message of a guard's holder.
#[inline(never)]
pub(crate) extern "C-unwind" fn append_formatted(
    engine: &Engine,
    entry: Entry,
    arguments: fmt::Arguments<'_>,
) -> Answer {
    format_in_place(engine, entry, arguments)
}

/// Appends a complete text for a guard's holder.
#[inline(never)]
pub(crate) extern "C-unwind" fn append_text(engine: &Engine, entry: Entry, text: &[u8]) -> Answer {
    // SAFETY: called with the room that the text needs.
    let put = |space| unsafe {
        copy::copy(text, space);
        space.add(text.len())
    };
    // SAFETY: as above; the guard is held.
    let answer = unsafe { in_place(engine, entry, text.len(), put) };
    answer.unwrap_or_else(|| engine.append_by(entry, text))
}

/// Publishes a message that ends at `end`, for a guard's holder without a cursor of its own.
#[inline(always)]
fn published(engine: &Engine, end: *mut u8) -> Answer {
    if engine.cursor.publish(end) {
        engine.cursor.unasked()
    } else {
        engine.after_message()
    }
}

thread_local! {
    /// The thread's identity; 0 while a capture may catch its messages.
    static PRINTING: Cell<ThreadId> = const { Cell::new(0) };

    /// The thread's slot in standard output's lock; 0 while that is unknown, or while a capture may catch its messages.
    static SLOT: Cell<usize> = const { Cell::new(0) };
}

/// The thread's identity, if its messages may go directly into the stream; 0 if a capture may catch them.
#[inline(always)]
pub(crate) fn printing_thread() -> ThreadId {
    PRINTING.get()
}

/// The same for standard output alone, and faster: the thread's slot in its lock.
#[inline(always)]
pub(crate) fn printing_slot() -> usize {
    SLOT.get()
}

/// Notes that no capture catches the thread's messages.
#[inline]
pub(crate) fn learn_thread() {
    PRINTING.set(thread_id());
}

/// Caches [`printing_slot`], unless it is cached.
pub(crate) fn learn_slot() {
    let me = printing_thread();
    if me != 0 && printing_slot() == 0 {
        SLOT.set(STDOUT.lock.slot_of(me));
    }
}

/// Notes that a capture catches the thread's messages.
pub(crate) fn forget_thread() {
    PRINTING.set(0);
    SLOT.set(0);
}

/// After a fork no thread has a slot.
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) fn forget_slot() {
    SLOT.set(0);
}

/// Enters by plain stores, if the thread can, for a message that a capture may catch: a macro's.
#[inline(always)]
pub(crate) fn enter_to_print(lock: &Lock) -> Entrance<'_> {
    lock.enter_by_bias(printing_thread())
}

/// The same on standard output, and faster.
#[inline(always)]
pub(crate) fn enter_stdout_to_print(lock: &Lock) -> Entrance<'_> {
    lock.enter_by_slot(printing_slot())
}

/// Enters by plain stores, if the thread can, for a message of a handle.
#[inline(always)]
pub(crate) fn enter(lock: &Lock) -> Entrance<'_> {
    lock.enter_by_bias(known_thread_id())
}

/// The step after the [fast path](send_by_bias).
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    /// The message is not written. The slow path is next.
    NotTaken,
    /// [`withdraw`] is next, then the slow path. Returned, not handled here: with tail calls only, no callee-saved registers
    /// are spilled, which takes longer than the message.
    Withdraw,
    Sent,
    /// It is in the stream. [`ask_and_leave`] is next.
    Ask,
}

/// One message without a guard, all of it inlined: writes at most `room` bytes in place, if the thread has just entered
/// and there is room.
///
/// # Safety
///
/// `put` writes at most `room` bytes at the place that it gets, returns their end, and does not unwind.
#[inline(always)]
pub(crate) unsafe fn send_by_bias(
    engine: &Engine,
    entrance: Entrance<'_>,
    room: usize,
    put: impl FnOnce(*mut u8) -> *mut u8,
) -> Outcome {
    match place_by_bias(engine, entrance, room) {
        Ok((inside, place)) => publish_by_bias(engine, inside, put(place)),
        Err(outcome) => outcome,
    }
}

/// The first half of [`send_by_bias`]: the place for the message. For callers without a closure, which might not be inlined.
#[inline(always)]
pub(crate) fn place_by_bias<'a>(
    engine: &Engine,
    entrance: Entrance<'a>,
    room: usize,
) -> Result<(ByBias<'a>, *mut u8), Outcome> {
    match entrance {
        Entrance::Entered(inside) => match place(engine, room) {
            Some(place) => Ok((inside, place)),
            None => Err(Outcome::Withdraw),
        },
        Entrance::Lost => Err(Outcome::Withdraw),
        Entrance::None => Err(Outcome::NotTaken),
    }
}

/// The second half of [`send_by_bias`]: the message, which ends at `end`, becomes part of the stream.
#[inline(always)]
pub(crate) fn publish_by_bias(engine: &Engine, inside: ByBias<'_>, end: *mut u8) -> Outcome {
    if !engine.cursor.publish(end) {
        return Outcome::Ask;
    }
    inside.leave();
    Outcome::Sent
}

impl Outcome {
    /// Withdraws here, where the caller has registers to save anyway.
    #[inline(always)]
    pub(crate) fn withdrawn(self, engine: &Engine) -> Self {
        match self {
            Outcome::Withdraw => {
                withdraw(engine);
                Outcome::NotTaken
            }
            outcome => outcome,
        }
    }
}

/// After [`Outcome::Withdraw`].
#[cold]
#[inline(never)]
pub(crate) fn withdraw(engine: &Engine) {
    engine.lock.withdraw(thread_id());
}

/// After [`Outcome::Ask`]; returns false if the stream has failed.
#[cold]
#[inline(never)]
pub(crate) fn ask_and_leave(engine: &Engine) -> bool {
    let failed = engine.after_message().failed;
    engine.lock.leave(thread_id());
    !failed
}
