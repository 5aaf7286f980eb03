//! Which way an argument of the macros takes: chosen by its type, when the program is compiled.
//!
//! The macros wrap each argument in an [`Arg`] and call a method that is named after the trait in
//! the braces. `Arg` has that method for the types that outpace can write by itself. For all others
//! the compiler goes on looking behind `Arg`'s `Deref`, and finds in [`Foreign`] a method of the same
//! name that goes through `core::fmt`. So no trait has to be in scope where a macro is used, and what
//! `core::fmt` would not accept fails with its own error.

use super::float::Layout;
use super::piece::{Piece, Text, sealed::Sealed};
use super::radix::Radix;
use super::scratch::Scratch;
use super::spec::{InLayout, InRadix, Padded, PaddedChar, PaddedStr, Quoted, QuotedChar, Spec};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZero;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

/// An argument.
pub struct Arg<'a, T: ?Sized>(Foreign<'a, T>);

/// An argument of a type that outpace cannot write by itself.
pub struct Foreign<'a, T: ?Sized>(&'a T);

/// Wraps an argument.
#[inline]
pub fn arg<T: ?Sized>(value: &T) -> Arg<'_, T> {
    Arg(Foreign(value))
}

impl<'a, T: ?Sized> Deref for Arg<'a, T> {
    type Target = Foreign<'a, T>;

    #[inline]
    fn deref(&self) -> &Foreign<'a, T> {
        &self.0
    }
}

impl<'a, T: Text + ?Sized> Arg<'a, T> {
    /// `{}`
    #[inline]
    pub fn display(&self) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0.0;
        value.pieces()
    }
}

impl<'a, T: Debugged + ?Sized> Arg<'a, T> {
    /// `{:?}`
    #[inline]
    pub fn debug(&self) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0.0;
        value.debugged(const { Spec::NONE })
    }

    /// `{:…?}`
    #[inline]
    pub fn debug_as(&self, spec: Spec, _: fmt::Arguments<'_>) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0.0;
        value.debugged(spec)
    }
}

impl<'a, T: Displayed + ?Sized> Arg<'a, T> {
    /// `{:…}`
    #[inline]
    pub fn display_as(&self, spec: Spec, _: fmt::Arguments<'_>) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0.0;
        value.displayed(spec)
    }
}

impl<'a, T: InExponent + ?Sized> Arg<'a, T> {
    /// `{:e}`, without precision
    #[inline]
    pub fn lower_exp_as(&self, spec: Spec, _: fmt::Arguments<'_>) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0.0;
        value.in_exponent(spec)
    }
}

macro_rules! radixes {
    ($($method:ident $radix:ident $braces:literal;)*) => {
        impl<'a, T: InRadixes + ?Sized> Arg<'a, T> {
            $(
                #[doc = $braces]
                #[inline]
                pub fn $method(&self, spec: Spec, _: fmt::Arguments<'_>) -> impl Piece + use<'a, T> {
                    let value: &'a T = self.0.0;
                    value.in_radix(Radix::$radix, spec)
                }
            )*
        }

        impl<'a, T: ?Sized> Foreign<'a, T> {
            $(
                #[doc = $braces]
                #[inline]
                pub fn $method<'f>(&self, _: Spec, arguments: fmt::Arguments<'f>) -> Formatted<'f> {
                    Formatted(arguments)
                }
            )*
        }
    };
}
radixes! {
    lower_hex_as LowerHex "`{:x}`";
    upper_hex_as UpperHex "`{:X}`";
    octal_as Octal "`{:o}`";
    binary_as Binary "`{:b}`";
}

impl<'a, T: ?Sized> Foreign<'a, T> {
    /// `{}`
    #[inline]
    pub fn display(&self) -> ForeignDisplay<'a, T>
    where
        T: fmt::Display,
    {
        ForeignDisplay(self.0)
    }

    /// `{:?}`
    #[inline]
    pub fn debug(&self) -> ForeignDebug<'a, T>
    where
        T: fmt::Debug,
    {
        ForeignDebug(self.0)
    }

    /// `{:…}`
    #[inline]
    pub fn display_as<'f>(&self, _: Spec, arguments: fmt::Arguments<'f>) -> Formatted<'f> {
        Formatted(arguments)
    }

    /// `{:e}`, without precision
    #[inline]
    pub fn lower_exp_as<'f>(&self, _: Spec, arguments: fmt::Arguments<'f>) -> Formatted<'f> {
        Formatted(arguments)
    }

    /// `{:…?}`
    #[inline]
    pub fn debug_as<'f>(&self, _: Spec, arguments: fmt::Arguments<'f>) -> Formatted<'f> {
        Formatted(arguments)
    }
}

macro_rules! foreign {
    ($([$($generics:tt)*] $piece:ty, |$self:ident| $arguments:expr;)*) => {$(
        impl<$($generics)*> Sealed for $piece {}
        impl<$($generics)*> Piece for $piece {
            const FOREIGN: bool = true;

            fn room(&self) -> usize {
                unreachable!("foreign values are appended")
            }

            #[allow(unsafe_code)]
            unsafe fn put(&self, _: *mut u8) -> usize {
                unreachable!("foreign values are appended")
            }

            #[inline]
            fn append(&$self, scratch: &mut Scratch) {
                scratch.append_formatted($arguments);
            }
        }
    )*};
}

/// A value of a foreign type, for `{}`.
pub struct ForeignDisplay<'a, T: ?Sized>(&'a T);
/// A value of a foreign type, for `{:?}`.
pub struct ForeignDebug<'a, T: ?Sized>(&'a T);
/// Anything that `format_args!` can express.
#[derive(Clone, Copy)]
pub struct Formatted<'a>(pub fmt::Arguments<'a>);

foreign! {
    [T: fmt::Display + ?Sized] ForeignDisplay<'_, T>, |self| format_args!("{}", self.0);
    [T: fmt::Debug + ?Sized] ForeignDebug<'_, T>, |self| format_args!("{:?}", self.0);
    [] Formatted<'_>, |self| self.0;
}

impl<T: ?Sized> Clone for ForeignDisplay<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for ForeignDisplay<'_, T> {}

impl<T: ?Sized> Clone for ForeignDebug<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for ForeignDebug<'_, T> {}

/// Types that outpace can write with a specification for `Display`.
pub trait Displayed {
    #[doc(hidden)]
    fn displayed(&self, spec: Spec) -> impl Piece;
}

/// Types that outpace can write with a specification for `Debug`.
pub trait Debugged {
    #[doc(hidden)]
    fn debugged(&self, spec: Spec) -> impl Piece;
}

/// Types that outpace can write in hexadecimal, octal and binary.
pub trait InRadixes {
    #[doc(hidden)]
    fn in_radix(&self, radix: Radix, spec: Spec) -> impl Piece;
}

/// Types that outpace can write with an exponent.
pub trait InExponent {
    #[doc(hidden)]
    fn in_exponent(&self, spec: Spec) -> impl Piece;
}

macro_rules! displayed {
    ($([$($generics:tt)*] $type:ty, |$self:ident, $spec:ident| $piece:expr;)*) => {$(
        impl<$($generics)*> Displayed for $type {
            #[inline]
            fn displayed(&$self, $spec: Spec) -> impl Piece {
                $piece
            }
        }
    )*};
}

macro_rules! debugged {
    ($([$($generics:tt)*] $type:ty, |$self:ident, $spec:ident| $piece:expr;)*) => {$(
        impl<$($generics)*> Debugged for $type {
            #[inline]
            fn debugged(&$self, $spec: Spec) -> impl Piece {
                $piece
            }
        }
    )*};
}

macro_rules! numbers {
    (integers $($integer:ident)*; floats $($float:ident)*;) => {
        $(
            displayed! {
                [] $integer, |self, spec| Padded { number: *self, spec };
                [] NonZero<$integer>, |self, spec| Padded { number: self.get(), spec };
            }
            debugged! {
                [] $integer, |self, spec| Padded { number: *self, spec };
                [] NonZero<$integer>, |self, spec| Padded { number: self.get(), spec };
            }
            impl InRadixes for $integer {
                #[inline]
                fn in_radix(&self, radix: Radix, spec: Spec) -> impl Piece {
                    Padded { number: InRadix { value: *self, radix }, spec }
                }
            }
        )*
        $(
            displayed! {
                [] $float, |self, spec| in_layout(*self, Layout::Display, spec);
            }
            debugged! {
                [] $float, |self, spec| in_layout(*self, Layout::Debug, spec);
            }
            impl InExponent for $float {
                #[inline]
                fn in_exponent(&self, spec: Spec) -> impl Piece {
                    in_layout(*self, Layout::Exponent, spec)
                }
            }
        )*
    };
}
numbers! {
    integers u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize;
    floats f32 f64;
}

#[inline]
fn in_layout<F>(value: F, layout: Layout, spec: Spec) -> Padded<InLayout<F>> {
    Padded {
        number: InLayout { value, layout },
        spec,
    }
}

displayed! {
    [] bool, |self, spec| PaddedStr::new(if *self { "true" } else { "false" }, spec);
    [] char, |self, spec| PaddedChar::new(*self, spec);
    [] str, |self, spec| PaddedStr::new(self, spec);
    [] String, |self, spec| PaddedStr::new(self, spec);
    [] Cow<'_, str>, |self, spec| PaddedStr::new(self, spec);
    [T: Displayed + ?Sized] &T, |self, spec| (**self).displayed(spec);
    [T: Displayed + ?Sized] &mut T, |self, spec| (**self).displayed(spec);
    [T: Displayed + ?Sized] Box<T>, |self, spec| (**self).displayed(spec);
    [T: Displayed + ?Sized] Rc<T>, |self, spec| (**self).displayed(spec);
    [T: Displayed + ?Sized] Arc<T>, |self, spec| (**self).displayed(spec);
}

debugged! {
    [] bool, |self, spec| PaddedStr::new(if *self { "true" } else { "false" }, spec);
    [] char, |self, _spec| QuotedChar(*self);
    [] str, |self, _spec| Quoted::new(self);
    [] String, |self, _spec| Quoted::new(self);
    [] Cow<'_, str>, |self, _spec| Quoted::new(self);
    [T: Debugged + ?Sized] &T, |self, spec| (**self).debugged(spec);
    [T: Debugged + ?Sized] &mut T, |self, spec| (**self).debugged(spec);
    [T: Debugged + ?Sized] Box<T>, |self, spec| (**self).debugged(spec);
    [T: Debugged + ?Sized] Rc<T>, |self, spec| (**self).debugged(spec);
    [T: Debugged + ?Sized] Arc<T>, |self, spec| (**self).debugged(spec);
}

impl<T: InRadixes + ?Sized> InRadixes for &T {
    #[inline]
    fn in_radix(&self, radix: Radix, spec: Spec) -> impl Piece {
        (**self).in_radix(radix, spec)
    }
}

impl<T: InRadixes + ?Sized> InRadixes for &mut T {
    #[inline]
    fn in_radix(&self, radix: Radix, spec: Spec) -> impl Piece {
        (**self).in_radix(radix, spec)
    }
}

impl<T: InExponent + ?Sized> InExponent for &T {
    #[inline]
    fn in_exponent(&self, spec: Spec) -> impl Piece {
        (**self).in_exponent(spec)
    }
}
