//! The functions that expansions of `print!`, `eprint!` and `format!` call.

#![allow(unsafe_code)]

use super::capture;
use super::send::{send, send_in_place, send_text};
use super::share::std_first;
use crate::stream::engine::{Engine, STDERR, STDOUT};
use crate::stream::hot::{
    Drafted, Outcome, ask_and_leave, enter_stdout_to_print, enter_to_print, format_draft,
    learn_slot, place_by_bias, printing_slot, printing_thread, send_by_bias, withdraw,
};
use crate::sync::draft::Draft;
use crate::sync::thread::thread_id;
use crate::text::argument::Argument;
use crate::text::copy;
use crate::text::dispatch;
use crate::text::message::{
    MacroMessage, MessageArgs, OneFallback, PutInline, SmallMessage, WordMessage,
};
use crate::text::scratch::{AppendTo, Scratch, StackBuffer};
use crate::text::value::{SmallArgument, Value, word};
use std::fmt;

/// `format!`
#[inline(never)]
pub fn format(texts: &'static [u8], arguments: &[Argument<'_>]) -> String {
    let mut buffer = StackBuffer::new();
    let mut scratch = buffer.scratch();
    let message = MessageArgs { texts, arguments };
    if message.append_to_scratch(&mut scratch).is_err() {
        format_failed();
    }
    scratch.into_string()
}

/// Panics with the words of std's `format!`.
#[cold]
#[inline(never)]
fn format_failed() -> ! {
    panic!(
        "a formatting trait implementation returned an error when the underlying stream did not: {:?}",
        fmt::Error
    );
}

/// `format!` of a text
#[inline]
pub fn format_literal(text: &'static str) -> String {
    String::from(text)
}

/// Warns about an unused `format!`.
#[must_use]
#[inline(always)]
pub fn must_use(text: String) -> String {
    text
}

/// `print!`
#[inline(never)]
pub fn print(texts: &'static [u8], arguments: &[Argument<'_>]) {
    let (engine, message) = (&STDOUT, MessageArgs { texts, arguments });
    match send_in_place(engine, message, enter_stdout_to_print) {
        Outcome::Sent => {}
        Outcome::Ask => ask_after_print(engine),
        _ => print_formatted(texts, arguments),
    }
}

/// `eprint!`
#[inline(never)]
pub fn eprint(texts: &'static [u8], arguments: &[Argument<'_>]) {
    print_message(&STDERR, MessageArgs { texts, arguments });
}

/// `print!` of a message with fallback arguments, or that does not fit
#[inline(never)]
fn print_formatted(texts: &'static [u8], arguments: &[Argument<'_>]) {
    let (engine, message) = (&STDOUT, MessageArgs { texts, arguments });
    let draft = engine.lock.draft_by_slot(printing_slot(), thread_id);
    if let Drafted::NotBegun = print_draft(engine, draft, message) {
        print_aside(engine, message);
    }
}

/// `print!` of one fallback argument
#[inline(never)]
fn print_fallback(texts: &'static [u8], argument: fmt::Arguments<'_>) {
    let engine = &STDOUT;
    let draft = engine.lock.draft_by_slot(printing_slot(), thread_id);
    if let Drafted::NotBegun = print_draft(engine, draft, OneFallback { texts, argument }) {
        print_fallback_aside(texts, argument);
    }
}

/// Takes the parts, so that the message needs no address in the caller.
#[cold]
#[inline(never)]
fn print_fallback_aside(texts: &'static [u8], argument: fmt::Arguments<'_>) {
    print_aside(&STDOUT, OneFallback { texts, argument });
}

/// Prints a message to standard output by the fast path. `Some`: the slow path is next, by a call with the message's
/// parts, which are still in registers.
#[inline(always)]
fn print_inline(message: impl PutInline) -> Option<Outcome> {
    let engine = &STDOUT;
    match send(engine, message, enter_stdout_to_print) {
        Outcome::Sent => None,
        Outcome::Ask => {
            ask_after_print(engine);
            None
        }
        outcome => Some(outcome),
    }
}

/// A function for each kind of small message. Those of the most common kinds are compiled in each program: if it has a
/// single such message, the texts are constants.
macro_rules! small_messages {
    ($($print:ident $slowly:ident [$($generic:ident)*] $($name:ident $type:ident),*;)*) => {$(
        #[inline(never)]
        fn $print<$($generic: SmallArgument),*>(texts: &'static [u8], $($name: $type),*) {
            if let Some(outcome) = print_inline(SmallMessage(texts, ($($name,)*))) {
                $slowly(texts, $($name,)* outcome);
            }
        }

        // Cold, so that the call is out of the way.
        #[cold]
        #[inline(never)]
        fn $slowly<$($generic: SmallArgument),*>(texts: &'static [u8], $($name: $type,)* outcome: Outcome) {
            SmallMessage(texts, ($($name,)*)).with_args(|message| print_slowly(message, outcome));
        }
    )*};
}
small_messages! {
    print_piece slowly_piece [A] a A;
    print_single slowly_single [] a f32;
    print_pieces2 slowly_pieces2 [A B] a A, b B;
    print_unsigned3 slowly_unsigned3 [] a u64, b u64, c u64;
    print_unsigned4 slowly_unsigned4 [] a u64, b u64, c u64, d u64;
}

/// Functions for all other kinds, compiled once.
macro_rules! word_messages {
    ($($print:ident $($name:ident)*;)*) => {$(
        #[inline(never)]
        fn $print(texts: &'static [u8], kinds: u32, $($name: u64),*) {
            #[cold]
            #[inline(never)]
            fn slowly(texts: &'static [u8], kinds: u32, $($name: u64,)* outcome: Outcome) {
                let message = WordMessage { texts, kinds, words: [$($name),*] };
                message.with_args(|message| print_slowly(message, outcome));
            }
            let message = WordMessage { texts, kinds, words: [$($name),*] };
            if let Some(outcome) = print_inline(message) {
                slowly(texts, kinds, $($name,)* outcome);
            }
        }
    )*};
}
word_messages! {
    print_word a;
    print_words2 a b;
    print_words3 a b c;
    print_words4 a b c d;
}

/// `print!` of a small message: the values in registers if they are numbers or the like
pub fn print1<A: fmt::Display>(texts: &'static [u8], a: &A) {
    match Value::of(a, dispatch::if_display) {
        Value::Unsigned(a) => print_piece(texts, a),
        Value::Signed(a) => print_piece(texts, a),
        Value::Double(a) => print_piece(texts, a),
        Value::Single(a) => print_single(texts, a),
        Value::Other(_) => print_other(texts, a),
        value @ (Value::Bool(_) | Value::Char(_)) => {
            if let Some((word, kind)) = value.word() {
                print_word(texts, kind, word);
            }
        }
    }
}

/// As [`print1`], compiled once for each type, and not at each call.
#[inline(never)]
fn print_other<A: fmt::Display>(texts: &'static [u8], a: &A) {
    print_or_format(texts, dispatch::if_display(a), format_args!("{a}"));
}

/// `print!` of a small message with one `{:?}`
#[inline(never)]
pub fn print_debug1<A: fmt::Debug>(texts: &'static [u8], a: &A) {
    print_or_format(texts, dispatch::if_debug(a), format_args!("{a:?}"));
}

#[inline(always)]
fn print_or_format(texts: &'static [u8], argument: Argument<'_>, formatted: fmt::Arguments<'_>) {
    match argument.is_fallback() {
        true => print_fallback(texts, formatted),
        false => print(texts, &[argument]),
    }
}

macro_rules! small {
    ($($print:ident $others:ident $unsigned:ident $words:ident $($name:ident $type:ident $word:ident $kind:ident $at:literal),*;)*) => {$(
        /// As [`print1`].
        pub fn $print<$($type: fmt::Display),*>(texts: &'static [u8], $($name: &$type),*) {
            if let ($(Some(($word, $kind)),)*) = ($(word($name),)*) {
                match 0 $(| $kind << (2 * $at))* {
                    0 => $unsigned(texts, $($word),*),
                    kinds => $words(texts, kinds, $($word),*),
                }
            } else {
                $others(texts, $($name),*);
            }
        }

        /// Compiled once for each combination of types, and not at each call.
        #[inline(never)]
        fn $others<$($type: fmt::Display),*>(texts: &'static [u8], $($name: &$type),*) {
            let arguments = [$(dispatch::display($name)),*];
            match arguments.iter().any(Argument::is_fallback) {
                true => print_formatted(texts, &arguments),
                false => print(texts, &arguments),
            }
        }
    )*};
}
small! {
    print2 print_others2 print_pieces2 print_words2 a A aw ak 0, b B bw bk 1;
    print3 print_others3 print_unsigned3 print_words3 a A aw ak 0, b B bw bk 1, c C cw ck 2;
    print4 print_others4 print_unsigned4 print_words4 a A aw ak 0, b B bw bk 1, c C cw ck 2, d D dw dk 3;
}

#[inline(never)]
fn print_slowly(message: MessageArgs<'_>, outcome: Outcome) {
    let engine = &STDOUT;
    if let Outcome::Withdraw = outcome {
        withdraw(engine);
    }
    print_message(engine, message);
    learn_slot();
}

/// Prints any message, without a guard.
#[inline(never)]
fn print_message(engine: &Engine, message: MessageArgs<'_>) {
    match send_in_place(engine, message, enter_to_print) {
        Outcome::Sent => {}
        Outcome::Ask => ask_after_print(engine),
        _ => {
            let draft = engine.lock.draft(printing_thread());
            if let Drafted::NotBegun = print_draft(engine, draft, message) {
                print_aside(engine, message);
            }
        }
    }
}

/// Prints a message with fallback arguments, or that does not fit, unless its draft is [not begun](Drafted::NotBegun).
#[inline(always)]
fn print_draft(engine: &Engine, draft: Option<Draft<'_>>, message: impl AppendTo) -> Drafted {
    let otherwise = |text: &Scratch<'_>| print_text(engine, text.as_str());
    let drafted = format_draft(engine, draft, message, otherwise);
    if let Drafted::Ask = drafted {
        ask_after_print(engine);
    }
    drafted
}

/// Prints a message that is put together in scratch memory.
#[cold]
#[inline(never)]
fn print_aside(engine: &Engine, message: impl AppendTo) {
    let mut buffer = StackBuffer::new();
    let mut scratch = buffer.scratch();
    message.append_to(&mut scratch);
    print_text(engine, scratch.as_str());
    learn_slot();
}

/// Prints a complete text by the slow path.
#[inline(never)]
fn print_text(engine: &Engine, text: &str) {
    if capture::catches(engine.role, text) {
        return;
    }
    std_first(engine);
    if !send_text(engine, text.as_bytes()) {
        printing_failed(engine);
    }
}

#[cold]
#[inline(never)]
fn ask_after_print(engine: &Engine) {
    if !ask_and_leave(engine) {
        printing_failed(engine);
    }
}

/// Ends the process if the reader has gone and the stream is set to that, else panics as std does. The panic reports the error: the
/// next message is tried again, as std tries it, because a disk may have been full for a moment only.
#[cold]
#[inline(never)]
fn printing_failed(engine: &Engine) -> ! {
    engine.end_if_reader_gone();
    let error = engine.error();
    engine.clear_error();
    panic!("failed printing to {}: {error}", engine.role.name());
}

/// Prints a text. Few functions are linked into a program that prints only literals.
#[inline(never)]
fn print_str(engine: &Engine, text: &str) {
    // SAFETY: there is as much room as the text is long.
    let put = |space: *mut u8| unsafe {
        copy::copy(text.as_bytes(), space);
        space.add(text.len())
    };
    // SAFETY: `put` writes `text.len()` bytes, and runs only outpace's code.
    let sent = unsafe { send_by_bias(engine, enter_to_print(&engine.lock), text.len(), put) };
    match sent.withdrawn(engine) {
        Outcome::Sent => {}
        Outcome::Ask => ask_after_print(engine),
        _ => print_text(engine, text),
    }
}

/// A short literal is padded to this many bytes, all of which are always copied.
const SHORT: usize = 32;

/// `print!` of a short text: the first `length` bytes
///
/// Inlined at each call, so it has few branches, all of which lead to one call.
#[inline]
pub fn print_literal(text: &'static [u8; SHORT], length: usize) {
    debug_assert!(length <= SHORT);
    let engine = &STDOUT;
    let outcome = match place_by_bias(engine, enter_stdout_to_print(&engine.lock), SHORT) {
        Ok((inside, place)) => {
            // SAFETY: `place` has room for `SHORT` bytes.
            let end = unsafe {
                place.cast::<[u8; SHORT]>().write(*text);
                place.add(length)
            };
            if !engine.cursor.publish(end) {
                Outcome::Ask
            } else if inside.step_out() {
                return;
            } else {
                Outcome::Sent
            }
        }
        Err(outcome) => outcome,
    };
    finish_literal(text, length, outcome);
}

/// The rest of [`print_literal`]: the slow path, or waking a thread that waits.
#[cold]
#[inline(never)]
fn finish_literal(text: &'static [u8; SHORT], length: usize, outcome: Outcome) {
    match outcome {
        Outcome::NotTaken => {}
        Outcome::Withdraw => withdraw(&STDOUT),
        Outcome::Ask => return ask_after_print(&STDOUT),
        Outcome::Sent => return STDOUT.lock.wake_slot(printing_slot()),
    }
    // Always UTF-8, because the macro only pads the text.
    if let Ok(text) = str::from_utf8(&text[..length]) {
        print_long_literal(text);
    }
}

/// `print!` of a text that is not short
#[inline(never)]
pub fn print_long_literal(text: &'static str) {
    print_str(&STDOUT, text);
    learn_slot();
}

/// `eprint!` of a text
#[inline(never)]
pub fn eprint_literal(text: &'static str) {
    print_str(&STDERR, text);
}
