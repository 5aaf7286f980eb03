//! What outpace writes by itself, and in which ways: the types behind [`Arg`](super::dispatch::Arg).
//!
//! The functions for types without parameters are compiled here, and not once more in each program.

#![allow(unsafe_code)]

use super::float::{self, Layout};
use super::integer::Integer;
use super::piece::Piece;
use super::radix::Radix;
use super::spec::{Braces, InLayout, InRadix, Padded, PaddedChar, PaddedStr, Quoted, QuotedChar};
use std::borrow::Cow;
use std::num::NonZero;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// Types that outpace can write by itself, as `{}`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to have fast text",
    note = "if the type was not known yet where it was printed, annotate it there: outpace's macros \
            choose by type",
    note = "print it by std's macros, or implement `outpace::text::Text` for it"
)]
pub trait Own {
    #[doc(hidden)]
    type Piece<'a>: Piece
    where
        Self: 'a;

    #[doc(hidden)]
    fn own<'a>(&'a self) -> Self::Piece<'a>;

    /// What [`put_own`](Self::put_own) takes: a pointer to the value, or to the reference if that is not a
    /// pointer alone.
    #[doc(hidden)]
    fn pointer(reference: &&Self) -> *const ();

    /// Writes the text of the value, returns its length.
    ///
    /// # Safety
    /// The value is a [`pointer`](Self::pointer) to it; there is the room at `dst` that its piece asks for.
    #[doc(hidden)]
    unsafe fn put_own(value: *const (), braces: Braces, dst: *mut ()) -> usize;
}

macro_rules! own {
    ($([$($generics:tt)*] $type:ty, $piece:ty, |$self:ident| $own:expr;)*) => {$(
        // The pieces of strings borrow from them, those of numbers do not.
        #[allow(clippy::needless_lifetimes)]
        impl<$($generics)*> Own for $type {
            type Piece<'a> = $piece where Self: 'a;

            #[inline(always)]
            fn own<'a>(&'a $self) -> $piece {
                $own
            }

            #[inline(always)]
            fn pointer(reference: &&Self) -> *const () {
                (&raw const **reference).cast()
            }

            unsafe fn put_own(value: *const (), _: Braces, dst: *mut ()) -> usize {
                // SAFETY: as demanded.
                unsafe { Piece::put(&(*value.cast::<$type>()).own(), dst.cast()) }
            }
        }
    )*};
}
own! {
    [] bool, bool, |self| *self;
    [] char, char, |self| *self;
    [] f32, f32, |self| *self;
    [] f64, f64, |self| *self;
    [] String, &'a str, |self| self;
    [] Cow<'_, str>, &'a str, |self| self;
    [T: Own + ?Sized] &T, T::Piece<'a>, |self| (**self).own();
    [T: Own + ?Sized] &mut T, T::Piece<'a>, |self| (**self).own();
    [T: Own + ?Sized] Box<T>, T::Piece<'a>, |self| (**self).own();
    [T: Own + ?Sized] Rc<T>, T::Piece<'a>, |self| (**self).own();
    [T: Own + ?Sized] Arc<T>, T::Piece<'a>, |self| (**self).own();
}

impl Own for str {
    type Piece<'a> = &'a str;

    #[inline(always)]
    fn own(&self) -> &str {
        self
    }

    #[inline(always)]
    fn pointer(reference: &&str) -> *const () {
        (&raw const *reference).cast()
    }

    unsafe fn put_own(value: *const (), _: Braces, dst: *mut ()) -> usize {
        // SAFETY: as demanded.
        unsafe { Piece::put(&*value.cast::<&str>(), dst.cast()) }
    }
}

/// In messages there are few kinds of integers, so that there are few kinds of short messages to compile.
macro_rules! own_integers {
    ($($integer:ident as $widest:ident;)*) => {$(
        own! {
            [] $integer, $widest, |self| *self as $widest;
            [] NonZero<$integer>, $widest, |self| self.get() as $widest;
        }
    )*};
}
own_integers! {
    u8 as u64; u16 as u64; u32 as u64; u64 as u64; usize as u64; u128 as u128;
    i8 as i64; i16 as i64; i32 as i64; i64 as i64; isize as i64; i128 as i128;
}

/// Types that outpace can write by itself in the way `W`, with anything in the braces.
pub trait In<W> {
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
pub enum Display {}
/// `{:?}`
pub enum Debug {}
/// `{:x}`
pub enum LowerHex {}
/// `{:X}`
pub enum UpperHex {}
/// `{:o}`
pub enum Octal {}
/// `{:b}`
pub enum Binary {}
/// `{:e}`
pub enum LowerExp {}

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
            Display for NonZero<$integer>, HEAD + $integer::MAX_LEN,
                |self, spec| Padded { number: self.get(), spec };
            Debug for NonZero<$integer>, HEAD + $integer::MAX_LEN,
                |self, spec| Padded { number: self.get(), spec };
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
type Target<T> = <T as Deref>::Target;

/// What leads to a value is written as the value, where std does so, too.
macro_rules! forwards {
    ($([$($generics:tt)*] $way:ty, $type:ty;)*) => {$(
        impl<$($generics)*> In<$way> for $type {
            const ROOM: usize = <Target<Self> as In<$way>>::ROOM;

            #[inline(always)]
            fn length(&self) -> usize {
                In::<$way>::length(&**self)
            }

            #[inline]
            unsafe fn put(&self, braces: Braces, dst: *mut u8) -> usize {
                // SAFETY: the same is demanded.
                unsafe { In::<$way>::put(&**self, braces, dst) }
            }
        }
    )*};
}
forwards! {
    [] Display, String;
    [] Debug, String;
    [] Display, Cow<'_, str>;
    [] Debug, Cow<'_, str>;
    [W, T: In<W> + ?Sized] W, &T;
    [W, T: In<W> + ?Sized] W, &mut T;
    [T: In<Display> + ?Sized] Display, Box<T>;
    [T: In<Debug> + ?Sized] Debug, Box<T>;
    [T: In<Display> + ?Sized] Display, Rc<T>;
    [T: In<Debug> + ?Sized] Debug, Rc<T>;
    [T: In<Display> + ?Sized] Display, Arc<T>;
    [T: In<Debug> + ?Sized] Debug, Arc<T>;
}
