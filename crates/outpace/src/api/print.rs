//! What the macros call: messages are put together and handed over to their stream.

#![allow(unsafe_code)]

use super::capture;
use super::guard::Guard;
use super::handles::{Stderr, Stdout, Stream};
use super::share::{std_first, std_next};
use crate::stream::buffering::MAX_CAPACITY;
use crate::stream::cursor::Answer;
use crate::stream::engine::{Engine, STDERR, STDOUT};
use crate::stream::hot::{
    Drafted, Outcome, append_text, ask_and_leave, by_bias, enter, enter_stdout_to_print,
    enter_to_print, format_draft, format_in_place, get_unstuck, in_place, learn_slot,
    place_by_bias, printing_slot, printing_thread, publish_by_bias,
};
use crate::sync::lock::{Draft, Entrance, Entry, Lock};
use crate::sync::thread::{known_thread_id, thread_id};
use crate::text::copy;
use crate::text::dispatch;
use crate::text::fields::{
    Argument, Field, Message, OneForeign, Short, Swift, Value, Whole, Words, word,
};
use crate::text::literal::Literal;
use crate::text::scratch::{Format, Memory, Scratch};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

/// `format!`
#[inline(never)]
pub fn format(texts: &'static [u8], fields: &[Argument<'_>]) -> String {
    let mut memory = Memory::new();
    let mut scratch = memory.scratch();
    let message = Message { texts, fields };
    if message.append_fields(&mut scratch).is_err() {
        format_failed();
    }
    scratch.into_string()
}

/// The words of std's `format!`.
#[cold]
#[inline(never)]
fn format_failed() -> ! {
    panic!(
        "a formatting trait implementation returned an error when the underlying stream did not: {:?}",
        fmt::Error
    );
}

/// What `format!` has made, and what is to be used.
#[must_use]
#[inline(always)]
pub fn must_use(text: String) -> String {
    text
}

/// A message, and nothing that a user's trait has a method for.
pub struct Parcel<M>(pub M);

impl<M: Whole> Parcel<M> {
    /// For a destination that is not outpace's: all of it as one argument of theirs.
    #[inline(always)]
    pub fn __outpace_together(&self) -> impl fmt::Display {
        self.0.together()
    }
}

/// What outpace's own destinations are given: a message, and what `format_args!` makes of it.
pub struct Choice<'a, M>(&'a Parcel<M>, fmt::Arguments<'a>);

/// The type of what `write!` writes to. Its method has a name that no trait of a user's has.
pub struct Destination<T: ?Sized>(AnyDestination<T>);

/// A destination that is not outpace's.
pub struct AnyDestination<T: ?Sized>(PhantomData<fn(*const T)>);

/// The type is found out by `__outpace_is`.
#[inline]
pub fn destination<T: ?Sized>() -> Destination<T> {
    Destination(AnyDestination(PhantomData))
}

impl<T: ?Sized> Destination<T> {
    /// Says what the type is.
    #[inline]
    pub fn __outpace_is(&self, _: &T) {}
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
    pub fn __outpace_choose<'a, M: Whole>(
        &self,
        own: &'a Parcel<M>,
        parcel: fmt::Arguments<'a>,
        arguments: fmt::Arguments<'a>,
    ) -> fmt::Arguments<'a> {
        // Of one text `core::fmt` makes as little as there is to be made.
        if own.0.is_foreign() || own.0.is_one_text() {
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

impl<M: Whole> Writable for Choice<'_, M> {
    #[inline(always)]
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        let Choice(&Parcel(message), arguments) = self;
        if message.is_foreign() {
            return arguments.write_to(guard);
        }
        if append(guard, message) {
            Ok(())
        } else {
            Err(guard.engine.error().into())
        }
    }

    #[inline(always)]
    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        let Choice(&Parcel(message), arguments) = self;
        if message.is_foreign() {
            return arguments.write_unlocked(engine);
        }
        let intact = match message.of_one_unsigned() {
            Some(short) => send_whole(engine, short),
            None => send_whole(engine, message),
        };
        if intact {
            Ok(())
        } else {
            Err(engine.error().into())
        }
    }
}

/// Writes a message when no guard is held; returns whether the stream has not failed.
#[inline(always)]
fn send_whole(engine: &Engine, message: impl Whole) -> bool {
    match send(engine, message, enter) {
        Outcome::Sent => true,
        Outcome::Asks => ask_and_leave(engine),
        outcome => {
            // A copy, so that the message itself has no address, and is in registers above.
            let (copy, is_stuck) = ({ message }, matches!(outcome, Outcome::Stuck));
            copy.with(|message| send_message(engine, message, is_stuck))
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
            return if send_whole(engine, Literal(text)) {
                Ok(())
            } else {
                Err(engine.error().into())
            };
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
            pub fn __outpace_choose<'p, M: Whole>(
                &self,
                parcel: &'p Parcel<M>,
                _: fmt::Arguments<'p>,
                arguments: fmt::Arguments<'p>,
            ) -> Choice<'p, M> {
                Choice(parcel, arguments)
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
    if message.is_swift() && guard.cursor.admits(message.room()) {
        // SAFETY: there is as much room as the message asks for, and it is swift.
        let end = unsafe { message.put_swiftly(guard.cursor.next) };
        return guard.publish(end);
    }
    let (engine, entry) = (guard.engine, guard.entry);
    // A copy, so that the message itself has no address, and is in registers above.
    let copy = { message };
    let answer = copy.with(|message| append_message(engine, entry, &message));
    guard.accept(answer)
}

/// Appends any message for a guard's holder, whose cursor so never has to have an address. By reference: by value, the
/// C calling convention copies it, and the copy has to wait for what was just stored.
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
    format_in_place(engine, entry, *message)
}

/// `print!`
#[inline(never)]
pub fn print(texts: &'static [u8], fields: &[Argument<'_>]) {
    let (engine, message) = (&STDOUT, Message { texts, fields });
    match send_in_place(engine, message, enter_stdout_to_print) {
        Outcome::Sent => {}
        Outcome::Asks => ask_after_print(engine),
        _ => print_formatted(texts, fields),
    }
}

/// `eprint!`
#[inline(never)]
pub fn eprint(texts: &'static [u8], fields: &[Argument<'_>]) {
    print_message(&STDERR, Message { texts, fields });
}

/// `print!` of a message that is foreign, or for which there is no room
#[inline(never)]
fn print_formatted(texts: &'static [u8], fields: &[Argument<'_>]) {
    let (engine, message) = (&STDOUT, Message { texts, fields });
    let draft = engine.lock.draft_by_slot(printing_slot(), thread_id);
    if let Drafted::NotBegun = print_draft(engine, draft, message) {
        print_message_aside(engine, message);
    }
}

/// `print!` of one foreign field
#[inline(never)]
fn print_foreign(texts: &'static [u8], field: fmt::Arguments<'_>) {
    let (engine, message) = (&STDOUT, OneForeign { texts, field });
    let draft = engine.lock.draft_by_slot(printing_slot(), thread_id);
    if let Drafted::NotBegun = print_draft(engine, draft, message) {
        print_foreign_aside(texts, field);
    }
}

/// As [`print_foreign`], in memory of its own.
#[cold]
#[inline(never)]
fn print_foreign_aside(texts: &'static [u8], field: fmt::Arguments<'_>) {
    print_aside(&STDOUT, OneForeign { texts, field });
}

/// Prints to standard output what can mostly be put without calling a function. `Some`: it has to be printed that
/// way, by a call with the message in registers, where it is until then.
#[inline(always)]
fn print_whole(message: impl Swift) -> Option<Way> {
    let engine = &STDOUT;
    match send(engine, message, enter_stdout_to_print) {
        Outcome::Sent => None,
        Outcome::Asks => {
            ask_after_print(engine);
            None
        }
        Outcome::Nothing => Some(Way::Stdout),
        Outcome::Stuck => Some(Way::StuckInStdout),
    }
}

/// A function for each kind of short message, of which a few are enough. Those of the most common kinds are compiled
/// in each program: in one that has a single such message its texts are constants.
macro_rules! kinds {
    ($($print:ident $slowly:ident $($name:ident $type:ident),*;)*) => {$(
        #[inline(never)]
        fn $print<$($type: Field),*>(texts: &'static [u8], $($name: $type),*) {
            if let Some(way) = print_whole(Short(texts, ($($name,)*))) {
                $slowly(texts, $($name,)* way);
            }
        }

        // Cold, so that it is called out of the way.
        #[cold]
        #[inline(never)]
        fn $slowly<$($type: Field),*>(texts: &'static [u8], $($name: $type,)* way: Way) {
            Short(texts, ($($name,)*)).with(|message| print_by(way, message));
        }
    )*};
}
kinds! {
    print_piece slowly_piece a A;
    print_pieces2 slowly_pieces2 a A, b B;
    print_pieces3 slowly_pieces3 a A, b B, c C;
    print_pieces4 slowly_pieces4 a A, b B, c C, d D;
}

#[inline(never)]
fn print_single(texts: &'static [u8], a: f32) {
    print_piece(texts, a);
}

#[inline(never)]
fn print_unsigned3(texts: &'static [u8], a: u64, b: u64, c: u64) {
    print_pieces3(texts, a, b, c);
}

#[inline(never)]
fn print_unsigned4(texts: &'static [u8], a: u64, b: u64, c: u64, d: u64) {
    print_pieces4(texts, a, b, c, d);
}

/// Functions for all others, compiled once.
macro_rules! words {
    ($($print:ident $($name:ident)*;)*) => {$(
        #[inline(never)]
        fn $print(texts: &'static [u8], kinds: u32, $($name: u64),*) {
            #[cold]
            #[inline(never)]
            fn slowly(texts: &'static [u8], kinds: u32, $($name: u64,)* way: Way) {
                let words = Words { texts, kinds, words: [$($name),*] };
                words.with(|message| print_by(way, message));
            }
            if let Some(way) = print_whole(Words { texts, kinds, words: [$($name),*] }) {
                slowly(texts, kinds, $($name,)* way);
            }
        }
    )*};
}
words! {
    print_word a;
    print_words2 a b;
    print_words3 a b c;
    print_words4 a b c d;
}

/// `print!` of a short message: the values in registers if they are numbers or the like.
pub fn print1<A: fmt::Display + ?Sized>(texts: &'static [u8], a: &A) {
    match Value::of(a, dispatch::display) {
        Value::Unsigned(a) => print_piece(texts, a),
        Value::Signed(a) => print_piece(texts, a),
        Value::Double(a) => print_piece(texts, a),
        Value::Single(a) => print_single(texts, a),
        Value::Other(_) => print_other(texts, a),
        Value::Bool(_) | Value::Char(_) => {
            if let Some((word, kind)) = word(a) {
                print_word(texts, kind, word);
            }
        }
    }
}

/// As [`print1`], once for each type, and not where it is printed.
#[inline(never)]
fn print_other<A: fmt::Display + ?Sized>(texts: &'static [u8], a: &A) {
    let field = dispatch::if_display(a);
    match field.is_foreign() {
        true => print_foreign(texts, format_args!("{a}")),
        false => print(texts, &[field]),
    }
}

macro_rules! short {
    ($($print:ident $others:ident $unsigned:ident $words:ident $($name:ident $type:ident $word:ident $kind:ident $at:literal),*;)*) => {$(
        /// As [`print1`].
        pub fn $print<$($type: fmt::Display + ?Sized),*>(texts: &'static [u8], $($name: &$type),*) {
            if let ($(Some(($word, $kind)),)*) = ($(word($name),)*) {
                match 0 $(| $kind << (2 * $at))* {
                    0 => $unsigned(texts, $($word),*),
                    kinds => $words(texts, kinds, $($word),*),
                }
            } else {
                $others(texts, $($name),*);
            }
        }

        /// Once for each kind of message, and not where it is printed.
        #[inline(never)]
        fn $others<$($type: fmt::Display + ?Sized),*>(texts: &'static [u8], $($name: &$type),*) {
            let fields = [$(dispatch::display($name)),*];
            match fields.iter().any(Argument::is_foreign) {
                true => print_formatted(texts, &fields),
                false => print(texts, &fields),
            }
        }
    )*};
}
short! {
    print2 print_others2 print_pieces2 print_words2 a A aw ak 0, b B bw bk 1;
    print3 print_others3 print_unsigned3 print_words3 a A aw ak 0, b B bw bk 1, c C cw ck 2;
    print4 print_others4 print_unsigned4 print_words4 a A aw ak 0, b B bw bk 1, c C cw ck 2, d D dw dk 3;
}

/// Prints a text. So what a program of nothing but literals has to be linked with is little.
#[inline(never)]
pub(super) fn print_str(engine: &Engine, text: &str) {
    // SAFETY: there is as much room as the text is long.
    let put = |space: *mut u8| unsafe {
        copy::copy(text.as_bytes(), space);
        space.add(text.len())
    };
    // SAFETY: it writes no more, and no foreign code runs meanwhile.
    let sent = unsafe { by_bias(engine, enter_to_print(&engine.lock), text.len(), put) };
    match sent.unstuck(engine) {
        Outcome::Sent => {}
        Outcome::Asks => ask_after_print(engine),
        _ => print_text(engine, text),
    }
}

/// How a message gets to standard output that did not by the shortest way.
#[derive(Clone, Copy)]
enum Way {
    Stdout,
    /// After [`Outcome::Stuck`].
    StuckInStdout,
}

#[inline(never)]
fn print_by(way: Way, message: Message<'_>) {
    let engine = &STDOUT;
    if let Way::StuckInStdout = way {
        get_unstuck(engine);
    }
    print_message(engine, message);
    learn_slot();
}

/// Appends a swift message, when no guard is held, if it can be put where it belongs.
#[inline(always)]
fn send<'a, M: Swift>(
    engine: &'a Engine,
    message: M,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    if !message.is_swift() {
        return Outcome::Nothing;
    }
    match place_by_bias(engine, enter(&engine.lock), message.room()) {
        Ok((inside, place)) => {
            // SAFETY: there is as much room as the message asks for, and it is swift.
            let end = unsafe { message.put_swiftly(place) };
            publish_by_bias(engine, inside, end)
        }
        Err(outcome) => outcome,
    }
}

/// Appends any message that is not foreign, if it can be put where it belongs.
#[inline(always)]
fn send_in_place<'a>(
    engine: &'a Engine,
    message: Message<'_>,
    enter: impl FnOnce(&'a Lock) -> Entrance<'a>,
) -> Outcome {
    let room = message.room();
    if room > MAX_CAPACITY {
        return Outcome::Nothing;
    }
    // SAFETY: there is as much room as the message asks for.
    let put = |space| unsafe { message.put(space) };
    // SAFETY: a message writes no more than it asks for, and no foreign code runs meanwhile.
    unsafe { by_bias(engine, enter(&engine.lock), room, put) }.unstuck(engine)
}

/// Prints any message, when no guard is held.
#[inline(never)]
fn print_message(engine: &Engine, message: Message<'_>) {
    match send_in_place(engine, message, enter_to_print) {
        Outcome::Sent => {}
        Outcome::Asks => ask_after_print(engine),
        _ => {
            let draft = engine.lock.draft(printing_thread());
            if let Drafted::NotBegun = print_draft(engine, draft, message) {
                print_message_aside(engine, message);
            }
        }
    }
}

/// Prints a message that is foreign, or for which there is no room, unless that is [not begun](Drafted::NotBegun).
#[inline(always)]
fn print_draft(engine: &Engine, draft: Option<Draft<'_>>, message: impl Format) -> Drafted {
    let otherwise = |text: &Scratch<'_>| print_text(engine, text.as_str());
    let drafted = format_draft(engine, draft, message, otherwise);
    if let Drafted::Asks = drafted {
        ask_after_print(engine);
    }
    drafted
}

/// As [`print_message`], in memory of its own.
#[cold]
#[inline(never)]
fn print_message_aside(engine: &Engine, message: Message<'_>) {
    print_aside(engine, message);
}

#[inline(always)]
fn print_aside(engine: &Engine, message: impl Format) {
    let mut memory = Memory::new();
    let mut scratch = memory.scratch();
    message.append_to(&mut scratch);
    print_text(engine, scratch.as_str());
    learn_slot();
}

/// Prints a message that has been put together, and does not go the shortest way.
#[inline(never)]
fn print_text(engine: &Engine, text: &str) {
    if capture::catches(engine.role, text) {
        return;
    }
    std_first(engine);
    if !send_text(engine, text.as_bytes()) {
        printing_failed(engine);
    }
    std_next(engine);
}

#[cold]
#[inline(never)]
fn ask_after_print(engine: &Engine) {
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
    match send_in_place(engine, message, enter) {
        Outcome::Sent => true,
        Outcome::Asks => ask_and_leave(engine),
        _ => send_draft(engine, message),
    }
}

/// Formats a message when no guard is held. Returns whether the stream has not failed.
#[inline(never)]
pub(crate) fn send_formatted(engine: &Engine, arguments: fmt::Arguments<'_>) -> bool {
    send_draft(engine, arguments)
}

#[inline(always)]
fn send_draft(engine: &Engine, message: impl Format) -> bool {
    let mut intact = true;
    let otherwise = |text: &Scratch<'_>| intact = send_text(engine, text.as_bytes());
    let draft = engine.lock.draft(known_thread_id());
    match format_draft(engine, draft, message, otherwise) {
        Drafted::Sent => true,
        Drafted::Elsewhere => intact,
        Drafted::Asks => ask_and_leave(engine),
        Drafted::NotBegun => send_aside(engine, message),
    }
}

/// As [`send_draft`], in memory of its own.
#[cold]
#[inline(never)]
fn send_aside(engine: &Engine, message: impl Format) -> bool {
    let mut memory = Memory::new();
    let mut scratch = memory.scratch();
    message.append_to(&mut scratch);
    send_text(engine, scratch.as_bytes())
}

/// Appends a message that has been put together.
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

/// The bytes in which a literal is given that is not longer: so many are copied, whatever its length.
const SHORT: usize = 32;

/// `print!` of a short text: the first bytes of these.
///
/// Inlined where it is printed. So it is written with few branches, all of which lead to one call.
#[inline]
pub fn print_literal(text: &'static [u8; SHORT], length: usize) {
    debug_assert!(length <= SHORT);
    let engine = &STDOUT;
    let stage = match place_by_bias(engine, enter_stdout_to_print(&engine.lock), SHORT) {
        Ok((inside, place)) => {
            // SAFETY: there is the room.
            let end = unsafe {
                place.cast::<[u8; SHORT]>().write(*text);
                place.add(length)
            };
            if !engine.cursor.publish(end) {
                Stage::Asks
            } else if inside.step_out() {
                return;
            } else {
                Stage::Left
            }
        }
        Err(Outcome::Stuck) => Stage::Stuck,
        Err(_) => Stage::Nothing,
    };
    print_literal_anyhow(text, length, stage);
}

/// How far a literal has come by the shortest way.
#[derive(Clone, Copy)]
enum Stage {
    /// As [`Outcome::Nothing`].
    Nothing,
    /// As [`Outcome::Stuck`].
    Stuck,
    /// As [`Outcome::Asks`].
    Asks,
    /// All is done, but a thread waits to be woken.
    Left,
}

/// As [`print_literal`], which calls functions only last, and so saves no registers.
#[cold]
#[inline(never)]
fn print_literal_anyhow(text: &'static [u8; SHORT], length: usize, stage: Stage) {
    match stage {
        Stage::Nothing | Stage::Stuck => {}
        Stage::Asks => return ask_after_print(&STDOUT),
        Stage::Left => return STDOUT.lock.wake_slot(printing_slot()),
    }
    if let Stage::Stuck = stage {
        get_unstuck(&STDOUT);
    }
    // It always is: the macro has cut off nothing.
    if let Ok(text) = str::from_utf8(&text[..length]) {
        print_long_literal(text);
    }
}

/// `print!` of a text that is not short.
#[inline(never)]
pub fn print_long_literal(text: &'static str) {
    print_str(&STDOUT, text);
    learn_slot();
}

/// `eprint!` of a text.
#[inline(never)]
pub fn eprint_literal(text: &'static str) {
    print_str(&STDERR, text);
}
