//! Messages without a guard.

#![allow(unsafe_code)]

use crate::stream::buffering::MAX_CAPACITY;
use crate::stream::engine::Engine;
use crate::stream::hot::{
    Drafted, Outcome, append_text, ask_and_leave, enter, format_draft, place_by_bias,
    publish_by_bias, send_by_bias, withdraw,
};
use crate::sync::lock::{Entrance, Lock};
use crate::sync::thread::{known_thread_id, thread_id};
use crate::text::message::{MessageArgs, PutInline};
use crate::text::scratch::{AppendTo, Scratch, StackBuffer};
use std::fmt;

/// Appends an inline message without a guard, in place; returns the next step.
#[inline(always)]
pub(super) fn send<'a, M: PutInline>(
    engine: &'a Engine,
    message: M,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    if !message.is_inline() {
        return Outcome::NotTaken;
    }
    match place_by_bias(engine, enter(&engine.lock), message.room()) {
        Ok((inside, place)) => {
            // SAFETY: the place has the message's room, and the message is inline.
            let end = unsafe { message.put_inline(place) };
            publish_by_bias(engine, inside, end)
        }
        Err(outcome) => outcome,
    }
}

/// Appends any message without fallback arguments, without a guard, in place; returns the next step.
#[inline(always)]
pub(super) fn send_in_place<'a>(
    engine: &'a Engine,
    message: MessageArgs<'_>,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    let room = message.room();
    if room > MAX_CAPACITY {
        return Outcome::NotTaken;
    }
    // SAFETY: called with a place for `room` bytes, which is less than that of fallback arguments.
    let put = |space| unsafe { message.put(space) };
    // SAFETY: a message writes at most its room, and runs only outpace's code.
    unsafe { send_by_bias(engine, enter(&engine.lock), room, put) }.withdrawn(engine)
}

/// Writes a message by the slow path; returns false if the stream has failed.
#[inline(never)]
pub(super) fn send_slowly(engine: &Engine, message: MessageArgs<'_>, outcome: Outcome) -> bool {
    if let Outcome::Withdraw = outcome {
        withdraw(engine);
    }
    match send_in_place(engine, message, enter) {
        Outcome::Sent => true,
        Outcome::Ask => ask_and_leave(engine),
        _ => send_draft(engine, message),
    }
}

/// Formats a message without a guard; returns false if the stream has failed.
#[inline(never)]
pub(super) fn send_formatted(engine: &Engine, arguments: fmt::Arguments<'_>) -> bool {
    send_draft(engine, arguments)
}

#[inline(always)]
fn send_draft(engine: &Engine, message: impl AppendTo) -> bool {
    let mut intact = true;
    let otherwise = |text: &Scratch<'_>| intact = send_text(engine, text.as_bytes());
    let draft = engine.lock.draft(known_thread_id());
    match format_draft(engine, draft, message, otherwise) {
        Drafted::Sent => true,
        Drafted::Moved => intact,
        Drafted::Ask => ask_and_leave(engine),
        Drafted::NotBegun => send_aside(engine, message),
    }
}

/// As [`send_draft`], in scratch memory.
#[cold]
#[inline(never)]
fn send_aside(engine: &Engine, message: impl AppendTo) -> bool {
    let mut buffer = StackBuffer::new();
    let mut scratch = buffer.scratch();
    message.append_to(&mut scratch);
    send_text(engine, scratch.as_bytes())
}

/// Appends a complete text.
#[inline(never)]
pub(super) fn send_text(engine: &Engine, text: &[u8]) -> bool {
    let me = thread_id();
    let entry = engine.lock.enter(me);
    let answer = append_text(engine, entry, text);
    engine.lock.leave(me);
    !answer.failed
}
