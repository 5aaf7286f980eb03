//! Messages that are one text: a macro's literal, without arguments.

#![allow(unsafe_code)]

use super::fields::{Argument, Swift, TEXT, Together, Whole};

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

/// `format!` of a text.
#[inline]
pub fn format_literal(text: &'static str) -> String {
    String::from(text)
}
