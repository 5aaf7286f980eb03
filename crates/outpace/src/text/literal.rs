//! Messages that are one text: a macro's literal, without arguments.

#![allow(unsafe_code)]

use super::fields::{Argument, Swift, TEXT, Together, Whole};
use super::message::{ask_after_print, print_str};
use crate::stream::engine::{STDERR, STDOUT};
use crate::stream::hot::{
    Outcome, enter_stdout_to_print, get_unstuck, learn_slot, place_by_bias, printing_slot,
};

/// A message that is one text.
#[derive(Clone, Copy)]
pub struct Literal(pub &'static str);

/// A longer one is copied by a call.
const COPIED_INLINE: usize = 64;

impl Swift for Literal {
    // The length is known when the program is compiled, and so is what follows from it.
    #[inline(always)]
    fn is_swift(&self) -> bool {
        self.0.len() <= COPIED_INLINE
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn put_swiftly(&self, dst: *mut u8) -> *mut u8 {
        let text = self.0.as_bytes();
        // SAFETY: there is the room.
        unsafe {
            dst.copy_from_nonoverlapping(text.as_ptr(), text.len());
            dst.add(text.len())
        }
    }
}

impl Whole for Literal {
    #[inline(always)]
    fn is_foreign(&self) -> bool {
        false
    }

    /// So that destinations which are not outpace's are given what std's macros would give them, which is as short as
    /// can be.
    #[inline(always)]
    fn is_one_text(&self) -> bool {
        true
    }

    #[inline(always)]
    fn together(&self) -> Together<impl AsRef<[Argument<'_>]>> {
        Together {
            // Nothing, and nothing behind the text.
            texts: &[0; 2 * (1 + TEXT)],
            fields: [Argument::text(self.0)],
        }
    }
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

/// `format!` of a text.
#[inline]
pub fn format_literal(text: &'static str) -> String {
    String::from(text)
}
