//! Messages on their way: where the macros' pieces are put together and handed over.

#![allow(unsafe_code)]
// Where a function is `extern "C-unwind"`, its answer comes in registers.
#![allow(improper_ctypes_definitions)]

use super::fields::{Argument, Field, Message, Short, Whole};
use super::literal::Literal;
use super::scratch::{Memory, Scratch, with_text};
use crate::append::Answer;
use crate::buffer;
use crate::buffering::MAX_CAPACITY;
use crate::capture;
use crate::engine::Engine;
use crate::guard::{
    Guard, Outcome, append_text, ask_and_leave, by_bias, enter, enter_stdout_to_print,
    enter_to_print, format_in_place, get_unstuck, in_place, learn_slot,
};
use crate::lock::{Entrance, Entry, Lock, thread_id};
use crate::stream::{Stderr, Stdout, Stream};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

/// `format!`
#[inline(never)]
pub fn format(texts: &'static [u8], fields: &[Argument<'_>]) -> String {
    let mut memory = Memory::new();
    let mut scratch = memory.scratch();
    Message { texts, fields }.append(&mut scratch);
    scratch.into_string()
}

/// A message for a destination that is not outpace's: all of it is one argument of theirs.
pub struct Parcel<M>(pub M);

impl<M: Whole> fmt::Display for Parcel<M> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .with(|message| aside(message, |text| f.write_str(text.as_str())))
    }
}

/// The type of what `write!` writes to.
pub struct Destination<T: ?Sized>(AnyDestination<T>);

/// A destination that is not outpace's.
pub struct AnyDestination<T: ?Sized>(PhantomData<fn(*const T)>);

/// The type is found out by `is`.
#[inline]
pub fn destination<T: ?Sized>() -> Destination<T> {
    Destination(AnyDestination(PhantomData))
}

impl<T: ?Sized> Destination<T> {
    /// Says what the type is.
    #[inline]
    pub fn is(&self, _: &T) {}
}

impl<T: ?Sized> Deref for Destination<T> {
    type Target = AnyDestination<T>;

    #[inline]
    fn deref(&self) -> &AnyDestination<T> {
        &self.0
    }
}

impl<T: ?Sized> AnyDestination<T> {
    /// What is given to the destination's `write_fmt`.
    #[inline]
    pub fn choose<'a, M: Whole>(
        &self,
        own: &'a Parcel<M>,
        parcel: fmt::Arguments<'a>,
        arguments: fmt::Arguments<'a>,
    ) -> fmt::Arguments<'a> {
        if own.0.is_foreign() {
            arguments
        } else {
            parcel
        }
    }
}

/// What `write_fmt` of outpace's own destinations takes: what std's macros make, and what outpace's do.
pub trait Writable {
    /// Writes it as one message.
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()>;
    /// Writes it as one message, when no guard is held.
    #[allow(private_interfaces, reason = "called by this crate alone")]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()>;
}

impl<M: Whole> Writable for &Parcel<M> {
    #[inline(always)]
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        if append(guard, self.0) {
            Ok(())
        } else {
            Err(guard.engine.error().into())
        }
    }

    #[inline(always)]
    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        let intact = match send(engine, self.0, enter) {
            Outcome::Sent => true,
            Outcome::Asks => ask_and_leave(engine),
            outcome => {
                // A copy, so that the message itself has no address, and is in registers above.
                let (copy, is_stuck) = ({ self.0 }, matches!(outcome, Outcome::Stuck));
                copy.with(|message| send_message(engine, message, is_stuck))
            }
        };
        if intact {
            Ok(())
        } else {
            Err(engine.error().into())
        }
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
        if let Some(text) = self.as_str() {
            return (&Parcel(Literal(text))).write_unlocked(engine);
        }
        if send_formatted(engine, self) {
            Ok(())
        } else {
            Err(engine.error().into())
        }
    }
}

macro_rules! chooses_own {
    ([$($generics:tt)*] $destination:ty) => {
        impl<$($generics)*> Destination<$destination> {
            /// What is given to the destination's `write_fmt`.
            #[inline]
            pub fn choose<'p, M: Whole>(
                &self,
                parcel: &'p Parcel<M>,
                _: fmt::Arguments<'_>,
                _: fmt::Arguments<'_>,
            ) -> &'p Parcel<M> {
                parcel
            }
        }
    };
}

macro_rules! own_destinations {
    ($([$($generics:tt)*] $destination:ty, |$self:ident, $message:ident| $write:expr;)*) => {$(
        impl<$($generics)*> $destination {
            /// Writes what `write!` has made: outpace's, which is fastest, or std's.
            ///
            /// # Errors
            ///
            /// The error that made the stream fail, if it has.
            #[inline(always)]
            pub fn write_fmt(&mut $self, $message: impl Writable) -> io::Result<()> {
                $write
            }
        }

        chooses_own! { [$($generics)*] $destination }
        chooses_own! { [$($generics)*] &mut $destination }
    )*};
}
own_destinations! {
    ['a] Guard<'a>, |self, message| message.write_to(self);
    [] Stdout, |self, message| message.write_unlocked(self.engine());
    [] Stderr, |self, message| message.write_unlocked(self.engine());
    [F] Stream<F>, |self, message| message.write_unlocked(self.engine());
}

/// Appends a message; returns whether the stream has not failed.
#[inline(always)]
fn append<M: Whole>(guard: &mut Guard<'_>, message: M) -> bool {
    if M::SWIFT && message.is_swift() && guard.cursor.admits(message.room()) {
        // SAFETY: there is as much room as the message asks for, and it is swift.
        let end = unsafe { message.put_swiftly(guard.cursor.next) };
        return guard.publish(end);
    }
    let (engine, entry) = (guard.engine, guard.entry);
    // A copy, so that the message itself has no address, and is in registers above.
    let copy = { message };
    let answer = if M::FOREIGN {
        copy.with(|message| append_foreign(engine, entry, &message))
    } else {
        copy.with(|message| append_message(engine, entry, &message))
    };
    guard.accept(answer)
}

/// Appends any message for a guard's holder, whose cursor so never has to have an address.
#[inline(never)]
extern "C-unwind" fn append_message(
    engine: &Engine,
    entry: Entry,
    message: &Message<'_>,
) -> Answer {
    // SAFETY: there is as much room as the message asks for, which is never there for a foreign one.
    let put = |space| unsafe { message.put(space) };
    // SAFETY: a message writes no more than it asks for; the guard is held.
    if let Some(answer) = unsafe { in_place(engine, entry, message.room(), put) } {
        return answer;
    }
    append_foreign(engine, entry, message)
}

/// As [`append_message`], if the message is foreign, or there is no room for it. Both take it by reference: by
/// value, the C calling convention copies it, and the copy has to wait for what was just stored.
#[inline(never)]
extern "C-unwind" fn append_foreign(
    engine: &Engine,
    entry: Entry,
    message: &Message<'_>,
) -> Answer {
    format_in_place(engine, entry, |scratch| message.append_fields(scratch))
}

/// `print!`
#[inline(never)]
pub fn print(texts: &'static [u8], fields: &[Argument<'_>]) {
    print_message(crate::stdout().engine(), Message { texts, fields });
}

/// `eprint!`
#[inline(never)]
pub fn eprint(texts: &'static [u8], fields: &[Argument<'_>]) {
    print_message(crate::stderr().engine(), Message { texts, fields });
}

macro_rules! short {
    ($($print:ident $eprint:ident $any:ident $($name:ident $field:ident)*;)*) => {$(
        /// `print!` of a short message: one function for each kind, however many macros write such ones.
        #[inline(never)]
        pub fn $print<$($field: Field),*>(texts: &'static [u8], $($name: $field),*) {
            let engine = crate::stdout().engine();
            if false $(|| $field::FOREIGN)* {
                return print_foreign(engine, Message { texts, fields: &[$($name.argument()),*] });
            }
            match send(engine, Short(texts, ($($name,)*)), enter_stdout_to_print) {
                Outcome::Sent => {}
                Outcome::Asks => ask_after_print(engine),
                Outcome::Nothing => $any(texts, $($name,)* Way::Stdout),
                Outcome::Stuck => $any(texts, $($name,)* Way::StuckInStdout),
            }
        }

        /// `eprint!` of a short message, which is not worth so much code
        pub fn $eprint<$($field: Field),*>(texts: &'static [u8], $($name: $field),*) {
            $any(texts, $($name,)* Way::Stderr);
        }

        /// Takes the message in registers, where it is until here. Cold, so that it is called out of the way.
        #[cold]
        #[inline(never)]
        fn $any<$($field: Field),*>(texts: &'static [u8], $($name: $field,)* way: Way) {
            print_by(way, Message { texts, fields: &[$($name.argument()),*] });
        }
    )*};
}
short! {
    print1 eprint1 any1 a A;
    print2 eprint2 any2 a A b B;
    print3 eprint3 any3 a A b B c C;
    print4 eprint4 any4 a A b B c C d D;
}

/// What `print!` and `eprint!` of short messages have in common, in a register.
#[derive(Clone, Copy)]
enum Way {
    Stdout,
    /// After [`Outcome::Stuck`].
    StuckInStdout,
    Stderr,
}

/// `print!` of what is not compiled for itself.
pub(super) fn print_to_stdout(message: Message<'_>, is_stuck: bool) {
    print_by(
        [Way::Stdout, Way::StuckInStdout][usize::from(is_stuck)],
        message,
    );
}

/// `eprint!` of such.
pub(super) fn print_to_stderr(message: Message<'_>) {
    print_by(Way::Stderr, message);
}

#[inline(never)]
fn print_by(way: Way, message: Message<'_>) {
    let engine = match way {
        Way::Stdout | Way::StuckInStdout => crate::stdout().engine(),
        Way::Stderr => crate::stderr().engine(),
    };
    if let Way::StuckInStdout = way {
        get_unstuck(engine);
    }
    print_message(engine, message);
    if let Way::Stdout | Way::StuckInStdout = way {
        learn_slot();
    }
}

/// Appends a swift message, when no guard is held, if it can be put where it belongs.
#[inline(always)]
fn send<'a, M: Whole>(
    engine: &'a Engine,
    message: M,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    if !M::SWIFT || !message.is_swift() {
        return Outcome::Nothing;
    }
    // SAFETY: there is as much room as the message asks for, and it is swift.
    let put = |space| unsafe { message.put_swiftly(space) };
    // SAFETY: a message writes no more than it asks for, and nobody else's code runs meanwhile.
    unsafe { by_bias(engine, enter(&engine.lock), message.room(), put) }
}

/// Appends any message that is not foreign and needs no more than so much room, if it can be put where it belongs.
#[inline(always)]
fn send_in_place<'a>(
    engine: &'a Engine,
    message: Message<'_>,
    room: usize,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    // SAFETY: there is as much room as the message asks for.
    let put = |space| unsafe { message.put(space) };
    // SAFETY: a message writes no more than it asks for, and nobody else's code runs meanwhile.
    unsafe { by_bias(engine, enter(&engine.lock), room, put) }.unstuck(engine)
}

/// Appends a message that has been put together, if it can be put where it belongs.
#[inline(always)]
fn send_text_in_place<'a>(
    engine: &'a Engine,
    text: &[u8],
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    // SAFETY: there is as much room as the text needs.
    let put = |space| unsafe {
        buffer::copy(text, space);
        space.add(text.len())
    };
    // SAFETY: nobody else's code runs meanwhile.
    unsafe { by_bias(engine, enter(&engine.lock), text.len(), put) }.unstuck(engine)
}

/// Puts a message together before the guard is taken.
#[inline(always)]
fn aside<R>(message: Message<'_>, then: impl FnOnce(&Scratch<'_>) -> R) -> R {
    let mut memory = Memory::new();
    let mut scratch = memory.scratch();
    message.append_fields(&mut scratch);
    then(&scratch)
}

/// Prints any message, when no guard is held.
#[inline(never)]
fn print_message(engine: &Engine, message: Message<'_>) {
    let room = message.room();
    if room > MAX_CAPACITY {
        return print_foreign(engine, message);
    }
    match send_in_place(engine, message, room, enter_to_print) {
        Outcome::Sent => {}
        Outcome::Asks => ask_after_print(engine),
        _ => print_foreign(engine, message),
    }
}

/// As [`print_message`], if the message is foreign, or there is no room for it.
#[inline(never)]
fn print_foreign(engine: &Engine, message: Message<'_>) {
    aside(message, |text| {
        match send_text_in_place(engine, text.as_bytes(), enter_to_print) {
            Outcome::Sent => {}
            Outcome::Asks => ask_after_print(engine),
            _ => print_text(engine, text),
        }
    });
}

/// Prints a message that has been put together, and does not go the shortest way.
#[inline(never)]
fn print_text(engine: &Engine, text: &Scratch<'_>) {
    if !capture::catches(engine.role, text) && !send_text(engine, text.as_bytes()) {
        printing_failed(engine);
    }
}

#[cold]
#[inline(never)]
pub(super) fn ask_after_print(engine: &Engine) {
    if !ask_and_leave(engine) {
        printing_failed(engine);
    }
}

/// Appends a message when no guard is held; returns whether the stream has not failed.
#[inline(never)]
fn send_message(engine: &Engine, message: Message<'_>, is_stuck: bool) -> bool {
    if is_stuck {
        get_unstuck(engine);
    }
    let room = message.room();
    if room > MAX_CAPACITY {
        return send_foreign(engine, message);
    }
    match send_in_place(engine, message, room, enter) {
        Outcome::Sent => true,
        Outcome::Asks => ask_and_leave(engine),
        _ => send_foreign(engine, message),
    }
}

/// As [`send_message`], if the message is foreign, or there is no room for it.
#[inline(never)]
fn send_foreign(engine: &Engine, message: Message<'_>) -> bool {
    aside(message, |text| send_bytes(engine, text.as_bytes()))
}

/// Formats a message when no guard is held, and before one is taken: a `Display` may print, or wait for a thread
/// that does. Returns whether the stream has not failed.
#[inline(never)]
pub(crate) fn send_formatted(engine: &Engine, arguments: fmt::Arguments<'_>) -> bool {
    with_text(arguments, |text| send_bytes(engine, text))
}

/// Appends a message that has been put together.
#[inline(always)]
fn send_bytes(engine: &Engine, text: &[u8]) -> bool {
    match send_text_in_place(engine, text, enter) {
        Outcome::Sent => true,
        Outcome::Asks => ask_and_leave(engine),
        _ => send_text(engine, text),
    }
}

/// The same where that is not short.
#[inline(never)]
fn send_text(engine: &Engine, text: &[u8]) -> bool {
    let me = thread_id();
    let entry = engine.lock.enter(me);
    let answer = append_text(engine, entry, text);
    engine.lock.leave(me);
    !answer.failed
}

/// Ends the process if nobody reads its output any more and it wants that, else panics as std does.
#[cold]
#[inline(never)]
fn printing_failed(engine: &Engine) -> ! {
    engine.end_if_reader_gone();
    let error = engine.error();
    panic!("failed printing to {}: {error}", engine.role.name());
}
