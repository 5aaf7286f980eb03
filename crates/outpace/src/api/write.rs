//! `write!`: messages of the macros to any destination, and without a macro to handles.

#![allow(unsafe_code)]

use super::guard::Guard;
use super::handles::{Stderr, Stdout, Stream};
use super::send::{send, send_formatted, send_slowly};
use crate::stream::cursor::Answer;
use crate::stream::engine::Engine;
use crate::stream::hot::{Outcome, ask_and_leave, enter, format_in_place, in_place};
use crate::sync::lock::Entry;
use crate::text::message::{Literal, MacroMessage, MessageArgs};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

/// A message without methods that a user's trait could shadow.
pub struct Opaque<M>(pub M);

impl<M: MacroMessage> Opaque<M> {
    /// For a destination that is not outpace's: the whole message as one argument of `core::fmt`.
    #[inline(always)]
    pub fn __outpace_fmt_adapter(&self) -> impl fmt::Display {
        self.0.fmt_adapter()
    }
}

/// A message for outpace's own destinations, and the same as `fmt::Arguments`.
pub struct BothForms<'a, M>(&'a Opaque<M>, fmt::Arguments<'a>);

/// The type of a `write!`'s destination. Its methods have names that no user's trait has.
pub struct WriteTarget<T: ?Sized>(AnyTarget<T>);

/// A destination that is not outpace's.
pub struct AnyTarget<T: ?Sized>(PhantomData<fn(*const T)>);

/// `__outpace_is` infers the type.
#[inline]
pub fn write_target<T: ?Sized>() -> WriteTarget<T> {
    WriteTarget(AnyTarget(PhantomData))
}

impl<T: ?Sized> WriteTarget<T> {
    /// Fixes the type.
    #[inline]
    pub fn __outpace_is(&self, _: &T) {}
}

impl<T: ?Sized> Deref for WriteTarget<T> {
    type Target = AnyTarget<T>;

    #[inline]
    fn deref(&self) -> &AnyTarget<T> {
        &self.0
    }
}

impl<T: ?Sized> AnyTarget<T> {
    /// Chooses the argument of the destination's `write_fmt`.
    #[inline]
    pub fn __outpace_choose<'a, M: MacroMessage>(
        &self,
        message: &'a Opaque<M>,
        adapter: fmt::Arguments<'a>,
        arguments: fmt::Arguments<'a>,
    ) -> fmt::Arguments<'a> {
        // For one text, std's form is as short.
        if message.0.is_fallback() || message.0.is_one_text() {
            arguments
        } else {
            adapter
        }
    }
}

/// An argument of `write_fmt` of outpace's own destinations: as std's macros make it, or as outpace's do.
pub trait Writable {
    /// Writes it as one message.
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()>;
    /// Writes it as one message, without a guard.
    #[allow(private_interfaces, reason = "called by this crate alone")]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()>;
}

impl<M: MacroMessage> Writable for BothForms<'_, M> {
    #[inline(always)]
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        let BothForms(&Opaque(message), arguments) = self;
        if message.is_fallback() {
            return arguments.write_to(guard);
        }
        let intact = append(guard, message);
        guard.engine.result(intact)
    }

    #[inline(always)]
    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        let BothForms(&Opaque(message), arguments) = self;
        if message.is_fallback() {
            return arguments.write_unlocked(engine);
        }
        let intact = match message.as_one_unsigned() {
            Some(small) => send_message(engine, small),
            None => send_message(engine, message),
        };
        engine.result(intact)
    }
}

impl Writable for fmt::Arguments<'_> {
    #[inline(always)]
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        io::Write::write_fmt(guard, self)
    }

    #[inline(always)]
    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        let intact = match self.as_str() {
            Some(text) => send_message(engine, Literal(text)),
            None => send_formatted(engine, self),
        };
        engine.result(intact)
    }
}

macro_rules! own_targets {
    ($([$($generics:tt)*] $target:ty, |$self:ident, $message:ident| $write:expr;)*) => {$(
        impl<$($generics)*> $target {
            /// Writes an argument that outpace's `write!` has made, which is fastest, or std's.
            ///
            /// # Errors
            ///
            /// The error that made the stream fail, if it has.
            #[inline(always)]
            pub fn write_fmt(&mut $self, $message: impl Writable) -> io::Result<()> {
                $write
            }
        }

        own_targets! { @ [$($generics)*] $target }
        own_targets! { @ [$($generics)*] &mut $target }
    )*};
    (@ [$($generics:tt)*] $target:ty) => {
        impl<$($generics)*> WriteTarget<$target> {
            /// Makes the argument of the destination's `write_fmt`.
            #[inline]
            pub fn __outpace_choose<'p, M: MacroMessage>(
                &self,
                message: &'p Opaque<M>,
                _: fmt::Arguments<'p>,
                arguments: fmt::Arguments<'p>,
            ) -> BothForms<'p, M> {
                BothForms(message, arguments)
            }
        }
    };
}
own_targets! {
    ['a] Guard<'a>, |self, message| message.write_to(self);
    [] Stdout, |self, message| message.write_unlocked(self.engine());
    [] Stderr, |self, message| message.write_unlocked(self.engine());
    [F] Stream<F>, |self, message| message.write_unlocked(self.engine());
}

/// Appends a message for a guard's holder; returns false if the stream has failed.
#[inline(always)]
fn append<M: MacroMessage>(guard: &mut Guard<'_>, message: M) -> bool {
    if message.is_inline() && guard.cursor.admits(message.room()) {
        // SAFETY: the cursor admits the message's room, and the message is inline.
        let end = unsafe { message.put_inline(guard.cursor.next) };
        return guard.publish(end);
    }
    let (engine, entry) = (guard.engine, guard.entry);
    // A copy: so the message itself has no address, and stays in registers above.
    let copy = { message };
    let answer = copy.with_args(|message| append_message(engine, entry, &message));
    guard.accept(answer)
}

/// Appends any message for a guard's holder. Takes parts of the guard, so that its cursor needs no address. Takes a
/// reference: by value, the C calling convention copies the message, and the copy waits for the stores just before.
#[inline(never)]
extern "C-unwind" fn append_message(
    engine: &Engine,
    entry: Entry,
    message: &MessageArgs<'_>,
) -> Answer {
    // SAFETY: called with the message's room, which no stream has for fallback arguments.
    let put = |space| unsafe { message.put(space) };
    // SAFETY: a message writes at most its room; the guard is held.
    if let Some(answer) = unsafe { in_place(engine, entry, message.room(), put) } {
        return answer;
    }
    format_in_place(engine, entry, *message)
}

/// Writes a message without a guard; returns false if the stream has failed.
#[inline(always)]
fn send_message(engine: &Engine, message: impl MacroMessage) -> bool {
    match send(engine, message, enter) {
        Outcome::Sent => true,
        Outcome::Ask => ask_and_leave(engine),
        outcome => {
            // A copy: so the message itself has no address, and stays in registers above.
            let copy = { message };
            copy.with_args(|message| send_slowly(engine, message, outcome))
        }
    }
}
