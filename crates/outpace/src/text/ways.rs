//! The ways in which outpace writes the types that it [knows](super::known).
//!
//! The functions for types without parameters are compiled here, and not once more in each program.

#![allow(unsafe_code)]

use super::float::{self, Layout};
use super::integer::Integer;
use super::piece::Piece;
use super::radix::Radix;
use super::spec::{Braces, InLayout, InRadix, Padded, PaddedChar, PaddedStr, Quoted, QuotedChar};

/// Types that outpace can write by itself in the way `W`, with anything in the braces.
pub(super) trait In<W> {
    /// An upper bound of the room that [`put`](Self::put) needs, without what the braces and
    /// [`length`](Self::length) add to it: together they fold to a number where a macro stands.
    #[doc(hidden)]
    const ROOM: usize;

    /// The room that the value adds, if it is a text.
    #[doc(hidden)]
    #[inline(always)]
    fn length(&self) -> usize {
        0
    }

    /// Writes the text at `dst`, returns its length.
    ///
    /// # Safety
    /// There is the room at `dst`.
    #[doc(hidden)]
    unsafe fn put(&self, braces: Braces, dst: *mut u8) -> usize;
}

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

/// The room that a value in such braces needs.
#[inline(always)]
pub(super) fn room<W, T: In<W> + ?Sized>(value: &T, braces: Braces) -> usize {
    value.length().saturating_add(T::ROOM + braces.room())
}

macro_rules! ways {
    ($($way:ident for $type:ty, $room:expr, |$self:ident, $spec:ident| $piece:expr;)*) => {$(
        impl In<$way> for $type {
            const ROOM: usize = $room;

            unsafe fn put(&$self, braces: Braces, dst: *mut u8) -> usize {
                let $spec = braces.spec();
                let piece = $piece;
                debug_assert!(Piece::room(&piece) <= room::<$way, Self>($self, braces));
                // SAFETY: the same is demanded.
                unsafe { Piece::put(&piece, dst) }
            }
        }
    )*};
}

/// What stands before a number's digits: a sign, and `0x` or the like.
const HEAD: usize = 3;

macro_rules! integers {
    ($($integer:ident)*) => {$(
        ways! {
            Display for $integer, HEAD + $integer::MAX_LEN, |self, spec| Padded { number: *self, spec };
            Debug for $integer, HEAD + $integer::MAX_LEN, |self, spec| Padded { number: *self, spec };
        }
        radixes! { $integer: LowerHex UpperHex Octal Binary }
    )*};
}

macro_rules! radixes {
    ($integer:ident: $($radix:ident)*) => {
        ways! {$(
            $radix for $integer, HEAD + Radix::$radix.room($integer::BITS),
                |self, spec| Padded { number: InRadix { value: *self, radix: Radix::$radix }, spec };
        )*}
    };
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! floats {
    ($($float:ident: $($way:ident in $layout:ident)*;)*) => {$(
        ways! {$(
            $way for $float, HEAD + float::MOST_ROOM,
                |self, spec| Padded { number: InLayout { value: *self, layout: Layout::$layout }, spec };
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
    Display for bool, 5, |self, spec| PaddedStr { text: name(*self), spec };
    Debug for bool, 5, |self, spec| PaddedStr { text: name(*self), spec };
    Display for char, 4, |self, spec| PaddedChar::new(*self, spec);
    Debug for char, QuotedChar::ROOM, |self, _spec| QuotedChar(*self);
}

/// Strings: a byte's longest text, what is around, and how they are written.
macro_rules! strings {
    ($($way:ident, $longest:expr, $around:expr, |$text:ident, $spec:ident| $piece:expr;)*) => {$(
        impl In<$way> for str {
            const ROOM: usize = $around;

            #[inline(always)]
            fn length(&self) -> usize {
                self.len().saturating_mul($longest)
            }

            unsafe fn put(&self, braces: Braces, dst: *mut u8) -> usize {
                let ($text, $spec) = (self, braces.spec());
                // SAFETY: the same is demanded.
                unsafe { Piece::put(&$piece, dst) }
            }
        }
    )*};
}
strings! {
    Display, 1, 0, |text, spec| PaddedStr { text, spec };
    Debug, Quoted::LONGEST, Quoted::AROUND, |text, _spec| Quoted::new(text);
}
