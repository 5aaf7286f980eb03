//! Which way an argument of the macros takes.
//!
//! The macros hand each argument to a function that is named after the trait in the braces, and asks for nothing
//! but that trait, as `core::fmt` does: what it would not accept fails with the same error, and a type that the
//! compiler learns only later is learned in time. Inside, the type's [identity](super::identity) is compared with
//! those of the types that outpace can write by itself; all others go through `core::fmt`.
//!
//! What a function here does for one type is little, because it is compiled for each type that a program prints.

#![allow(unsafe_code)]

use super::fields::{Argument, Value};
use super::known::{Known, Place, known};
use super::piece::Piece;
use super::spec::{Align, Braces};
use super::ways::{self, In};
use std::fmt::{self, Formatter};

/// A piece as a field with nothing in the braces.
#[inline(always)]
pub(super) fn piece<P: Piece>(piece: &P) -> Argument<'_> {
    // SAFETY: the function is for what the place is of.
    unsafe { Argument::new(Place::of(piece), Braces::NONE, P::put_piece, piece.room()) }
}

/// An argument in the way `W`.
#[inline(always)]
fn in_way<W, T: In<W> + ?Sized>(value: &T, braces: Braces) -> Argument<'_> {
    /// # Safety
    /// The place is of a value; there is the room at `dst` that it asks for.
    unsafe fn put<W, T: In<W> + ?Sized>(place: Place, braces: Braces, dst: *mut ()) -> usize {
        // SAFETY: as demanded.
        unsafe { place.get::<T>().put(braces, dst.cast()) }
    }
    let room = ways::room::<W, T>(value, braces);
    // SAFETY: the function is for what the place is of.
    unsafe { Argument::new(Place::of(value), braces, put::<W, T>, room) }
}

/// An argument whose text its own trait makes.
macro_rules! foreign {
    ($value:expr, $given:expr, $type:ident: $bound:path, |$referent:ident, $braces:ident, $f:ident| $format:expr) => {{
        /// # Safety
        /// The place is of a value; there is a [`Formatter`] for `{}`.
        unsafe fn format<$type: $bound + ?Sized>(
            place: Place,
            $braces: Braces,
            f: *mut (),
        ) -> usize {
            // SAFETY: as demanded.
            let $referent = unsafe { place.get::<$type>() };
            // SAFETY: as demanded.
            let $f = unsafe { &mut *f.cast::<Formatter<'_>>() };
            usize::from($format.is_err())
        }
        // SAFETY: the function is for what the place is of.
        unsafe { Argument::foreign(Place::of($value), $given, format::<$type>) }
    }};
}

/// `{}`
pub fn display<T: fmt::Display + ?Sized>(value: &T) -> Argument<'_> {
    bare(known(value)).unwrap_or_else(|| {
        foreign!(value, Braces::NONE, T: fmt::Display, |value, _braces, f| fmt::Display::fmt(value, f))
    })
}

/// `{:?}`
pub fn debug<T: fmt::Debug + ?Sized>(value: &T) -> Argument<'_> {
    debug_in(known(value), Braces::NONE).unwrap_or_else(|| {
        foreign!(value, Braces::NONE, T: fmt::Debug, |value, _braces, f| fmt::Debug::fmt(value, f))
    })
}

/// `{:#?}`, which in no type that outpace writes is any different
pub fn pretty<T: fmt::Debug + ?Sized>(value: &T) -> Argument<'_> {
    debug_in(known(value), Braces::NONE).unwrap_or_else(|| {
        foreign!(value, Braces::NONE, T: fmt::Debug, |value, _braces, f| {
            f.write_fmt(format_args!("{value:#?}"))
        })
    })
}

/// `{:…}` if there is no more in it than `format_in` knows
pub fn display_in<T: fmt::Display + ?Sized>(value: &T, braces: Braces) -> Argument<'_> {
    known_display_in(known(value), braces).unwrap_or_else(|| {
        foreign!(value, braces, T: fmt::Display, |value, braces, f| {
            format_in(&value, braces, f)
        })
    })
}

/// A known value with nothing in the braces.
#[inline(always)]
fn bare(value: Known<'_>) -> Option<Argument<'_>> {
    Some(match value {
        Known::U8(n) => piece(n),
        Known::U16(n) => piece(n),
        Known::U32(n) => piece(n),
        Known::U64(n) => piece(n),
        Known::U128(n) => piece(n),
        Known::Usize(n) => piece(n),
        Known::I8(n) => piece(n),
        Known::I16(n) => piece(n),
        Known::I32(n) => piece(n),
        Known::I64(n) => piece(n),
        Known::I128(n) => piece(n),
        Known::Isize(n) => piece(n),
        Known::F32(x) => piece(x),
        Known::F64(x) => piece(x),
        Known::Bool(is) => piece(is),
        Known::Char(c) => piece(c),
        Known::Text(text) => Argument::text(text),
        Known::Pieces(pieces) => pieces.argument(),
        Known::Foreign => return None,
    })
}

/// The functions of one way each, for the values that it knows.
macro_rules! ways {
    ($($way:ident $function:ident [$($variant:ident)*];)*) => {$(
        #[inline(always)]
        fn $function(value: Known<'_>, braces: Braces) -> Option<Argument<'_>> {
            Some(match value {
                $(Known::$variant(value) => in_way::<ways::$way, _>(value, braces),)*
                _ => return None,
            })
        }
    )*};
}
ways! {
    Display known_display_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize F32 F64 Bool Char Text];
    Debug debug_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize F32 F64 Bool Char Text];
    LowerHex lower_hex_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize];
    UpperHex upper_hex_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize];
    Octal octal_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize];
    Binary binary_in [U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize];
    LowerExp lower_exp_in [F32 F64];
}

/// Any braces: beside the value what `format_args!` makes of it, which asks for the trait.
macro_rules! in_any_braces {
    ($($function:ident $if_known:ident by $known:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $function<'a, T: ?Sized>(
            value: &'a T,
            braces: Braces,
            arguments: &'a fmt::Arguments<'_>,
        ) -> Argument<'a> {
            $known(known(value), braces).unwrap_or_else(|| formatted(arguments))
        }

        #[doc = $doc]
        ///
        /// In a message that `format_args!` gets as a whole, too, and asks for the trait.
        pub fn $if_known<T: ?Sized>(value: &T, braces: Braces) -> Argument<'_> {
            $known(known(value), braces).unwrap_or_else(Argument::elsewhere)
        }
    )*};
}
in_any_braces! {
    display_as if_display_as by known_display_in "`{:…}`";
    debug_as if_debug_as by debug_in "`{:…?}`";
    lower_hex_as if_lower_hex_as by lower_hex_in "`{:…x}`";
    upper_hex_as if_upper_hex_as by upper_hex_in "`{:…X}`";
    octal_as if_octal_as by octal_in "`{:…o}`";
    binary_as if_binary_as by binary_in "`{:…b}`";
    lower_exp_as if_lower_exp_as by lower_exp_in "`{:…e}`, without precision";
}

/// `{}`, in a message that `format_args!` gets as a whole, too, and asks for the trait.
pub fn if_display<T: ?Sized>(value: &T) -> Argument<'_> {
    bare(known(value)).unwrap_or_else(Argument::elsewhere)
}

/// The same with `{:?}`, or `{:#?}`.
pub fn if_debug<T: ?Sized>(value: &T) -> Argument<'_> {
    debug_in(known(value), Braces::NONE).unwrap_or_else(Argument::elsewhere)
}

/// What outpace never writes by itself, in such a message.
#[inline]
pub fn elsewhere() -> Argument<'static> {
    Argument::elsewhere()
}

/// `{}` in a short one.
pub fn value<T: ?Sized>(value: &T) -> Value<'_> {
    Value::of(value, if_display)
}

/// Anything that `format_args!` can express.
#[inline]
pub fn formatted<'a>(arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
    /// # Safety
    /// The place is of arguments; there is a [`Formatter`].
    unsafe fn format(place: Place, _: Braces, f: *mut ()) -> usize {
        // SAFETY: as demanded.
        let (arguments, f) = unsafe {
            (
                place.get::<fmt::Arguments<'_>>(),
                &mut *f.cast::<Formatter<'_>>(),
            )
        };
        usize::from(f.write_fmt(*arguments).is_err())
    }
    // SAFETY: the function is for what the place is of.
    unsafe { Argument::foreign(Place::of(arguments), Braces::NONE, format) }
}

/// Has a value formatted in simple braces, which the macros so need not write out once more: an alignment,
/// or a `0`, and a width and a precision. Compiled once, for all types.
#[inline(never)]
fn format_in(value: &dyn fmt::Display, braces: Braces, f: &mut Formatter<'_>) -> fmt::Result {
    macro_rules! aligned {
        ($zero:literal $unsaid:literal $left:literal $right:literal $center:literal $($counts:tt)*) => {
            match braces.align() {
                _ if braces.zero() => f.write_fmt(format_args!($zero, value $($counts)*)),
                Align::Unsaid => f.write_fmt(format_args!($unsaid, value $($counts)*)),
                Align::Left => f.write_fmt(format_args!($left, value $($counts)*)),
                Align::Right => f.write_fmt(format_args!($right, value $($counts)*)),
                Align::Center => f.write_fmt(format_args!($center, value $($counts)*)),
            }
        };
    }
    match (braces.given_width(), braces.given_precision()) {
        (None, None) => aligned!("{:0}" "{}" "{:<}" "{:>}" "{:^}"),
        (Some(w), None) => aligned!("{:0w$}" "{:w$}" "{:<w$}" "{:>w$}" "{:^w$}", w = w),
        (None, Some(p)) => aligned!("{:0.p$}" "{:.p$}" "{:<.p$}" "{:>.p$}" "{:^.p$}", p = p),
        (Some(w), Some(p)) => {
            aligned!("{:0w$.p$}" "{:w$.p$}" "{:<w$.p$}" "{:>w$.p$}" "{:^w$.p$}", w = w, p = p)
        }
    }
}
