//! The ways in which outpace writes the types that it [knows](super::known).
//!
//! The functions for types without parameters are compiled here, and not once more in each program.

#![allow(unsafe_code)]

use super::fields::Write;
use super::float::{self, Layout};
use super::integer::Integer;
use super::known::{Place, text_at};
use super::piece::Piece;
use super::radix::Radix;
use super::spec::{Braces, InLayout, InRadix, Padded, PaddedChar, PaddedStr, Quoted, QuotedChar};

/// Types that outpace can write by itself in the way `W`, with anything in the braces.
pub(super) trait In<W> {
    const HOW: How;
}

/// How a value is written: what a field is made of beside the value and its braces.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// A function that is compiled here.
    pub(super) write: Write,
    /// An upper bound of the room that it needs, without what the braces add, and, if it is a text, its length:
    /// together they fold to a number where a macro stands.
    pub(super) room: usize,
}

/// `{}`, with nothing more in the braces
pub(super) enum Bare {}
/// `{}`
pub(super) enum Display {}
/// `{:?}`
pub(super) enum Debug {}
/// `{:x}`
pub(super) enum LowerHex {}
/// `{:X}`
pub(super) enum UpperHex {}
/// `{:o}`
pub(super) enum Octal {}
/// `{:b}`
pub(super) enum Binary {}
/// `{:e}`
pub(super) enum LowerExp {}

macro_rules! ways {
    ($($way:ident for $type:ty, $room:expr, |$self:ident, $spec:ident| $piece:expr;)*) => {$(
        impl In<$way> for $type {
            const HOW: How = {
                /// # Safety
                /// The place is of a value; there is the room at `dst`.
                unsafe fn put(place: Place, braces: Braces, dst: *mut ()) -> usize {
                    // SAFETY: as demanded.
                    let $self = unsafe { place.get::<$type>() };
                    let $spec = braces.spec();
                    let piece = $piece;
                    debug_assert!(Piece::room(&piece) <= $room + braces.room());
                    // SAFETY: the same is demanded.
                    unsafe { Piece::put(&piece, dst.cast()) }
                }
                How { write: put, room: $room }
            };
        }
    )*};
}

/// What stands before a number's digits: a sign, and `0x` or the like.
const HEAD: usize = 3;

/// Pieces, the room of which does not depend on the value.
macro_rules! bare {
    ($($type:ident, $room:expr;)*) => {$(
        impl In<Bare> for $type {
            const HOW: How = How { write: <$type as Piece>::put_piece, room: $room };
        }
    )*};
}
bare! {
    bool, 8;
    char, 4;
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        bare! { $integer, $integer::MAX_LEN; }
        ways! {
            Display for $integer, HEAD + $integer::MAX_LEN, |value, spec| Padded { number: *value, spec };
            Debug for $integer, HEAD + $integer::MAX_LEN, |value, spec| Padded { number: *value, spec };
        }
        radixes! { $integer: LowerHex UpperHex Octal Binary }
    )*};
}

macro_rules! radixes {
    ($integer:ident: $($radix:ident)*) => {
        ways! {$(
            $radix for $integer, HEAD + Radix::$radix.room($integer::BITS),
                |value, spec| Padded { number: InRadix { value: *value, radix: Radix::$radix }, spec };
        )*}
    };
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! floats {
    ($($float:ident: $($way:ident in $layout:ident)*;)*) => {$(
        ways! {$(
            $way for $float, HEAD + float::MOST_ROOM,
                |value, spec| Padded { number: InLayout { value: *value, layout: Layout::$layout }, spec };
        )*}
    )*};
}
floats! {
    f32: Display in Display Debug in Debug LowerExp in Exponent;
    f64: Display in Display Debug in Debug LowerExp in Exponent;
}

fn name(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

ways! {
    Display for bool, 5, |value, spec| PaddedStr { text: name(*value), spec };
    Debug for bool, 5, |value, spec| PaddedStr { text: name(*value), spec };
    Display for char, 4, |value, spec| PaddedChar::new(*value, spec);
    Debug for char, QuotedChar::ROOM, |value, _spec| QuotedChar(*value);
}

/// Strings: a byte's longest text, what is around, and how they are written.
macro_rules! strings {
    ($($way:ident, $longest:expr, $around:expr, |$text:ident, $spec:ident| $piece:expr;)*) => {$(
        impl In<$way> for str {
            const HOW: How = {
                /// # Safety
                /// The place is of a text; there is the room at `dst`.
                unsafe fn put(place: Place, braces: Braces, dst: *mut ()) -> usize {
                    // SAFETY: as demanded.
                    let ($text, $spec) = (unsafe { text_at(place) }, braces.spec());
                    // SAFETY: the same is demanded.
                    unsafe { Piece::put(&$piece, dst.cast()) }
                }
                How { write: put, room: $around }
            };
        }

        impl $way {
            /// A byte's longest text.
            pub(super) const LONGEST: usize = $longest;
        }
    )*};
}
strings! {
    Display, 1, 0, |text, spec| PaddedStr { text, spec };
    Debug, Quoted::LONGEST, Quoted::AROUND, |text, _spec| Quoted::new(text);
}
