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
use super::formats::{self, Format, Formats, TextFormat};
use super::known::{Kind, Known, Place, known, text_at};
use super::piece::{Piece, Pieces};
use super::spec::{Align, Braces};
use std::fmt::{self, Formatter};

/// A piece as a field with nothing in the braces.
#[inline(always)]
pub(crate) fn piece<P: Piece>(piece: &P) -> Argument<'_> {
    // SAFETY: the function is for what the place is of.
    unsafe { Argument::new(Place::of(piece), Braces::NONE, P::put_piece, piece.room()) }
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

/// The functions of one trait each, for the values that it knows.
macro_rules! in_format {
    ($($function:ident $formats:ident $text:expr;)*) => {$(
        #[inline(always)]
        fn $function<'a>(value: Known, braces: Braces) -> Option<Argument<'a>> {
            in_format(value, braces, &formats::$formats, $text)
        }
    )*};
}
in_format! {
    known_display_in DISPLAY Some(formats::DISPLAY_TEXT);
    debug_in DEBUG Some(formats::DEBUG_TEXT);
    lower_hex_in LOWER_HEX None;
    upper_hex_in UPPER_HEX None;
    octal_in OCTAL None;
    binary_in BINARY None;
    lower_exp_in LOWER_EXP None;
}

/// A known value, if outpace writes it so.
#[inline(always)]
fn in_format<'a>(
    Known { kind, place }: Known,
    braces: Braces,
    formats: &Formats,
    text: Option<TextFormat>,
) -> Option<Argument<'a>> {
    let (Format { write, room }, length) = if kind == Kind::TEXT {
        let (format, longest) = text?;
        // SAFETY: it is the place of a text.
        (
            format,
            unsafe { text_at(place) }.len().saturating_mul(longest),
        )
    } else {
        ((*formats.get(kind.index())?)?, 0)
    };
    let room = length.saturating_add(room + braces.room());
    // SAFETY: the place is of a value of this kind, and the function is for such values, in so much room.
    Some(unsafe { Argument::new(place, braces, write, room) })
}

/// A known value with nothing in the braces.
#[inline(always)]
fn bare<'a>(Known { kind, place }: Known) -> Option<Argument<'a>> {
    // SAFETY: the place is of a value of this kind, and the function from the table is for such values, in so much room.
    unsafe {
        Some(match kind {
            Kind::TEXT => Argument::text(text_at(place)),
            Kind::PIECES => place.read_ref::<Pieces<'_>>().argument(),
            Kind::F32 => piece(place.read_ref::<f32>()),
            Kind::F64 => piece(place.read_ref::<f64>()),
            _ => {
                let Format { write, room } = (*formats::BARE.get(kind.index())?)?;
                Argument::new(place, Braces::NONE, write, room)
            }
        })
    }
}

/// Any braces. The fallback asks for the trait: it is what `format_args!` makes of the value, or [`elsewhere`].
macro_rules! in_any_braces {
    ($($function:ident by $known:ident $doc:literal;)*) => {$(
        #[doc = $doc]
        pub fn $function<'a, T: ?Sized>(
            value: &'a T,
            braces: Braces,
            fallback: Argument<'a>,
        ) -> Argument<'a> {
            $known(known(value), braces).unwrap_or(fallback)
        }
    )*};
}
in_any_braces! {
    display_as by known_display_in "`{:…}`";
    debug_as by debug_in "`{:…?}`";
    lower_hex_as by lower_hex_in "`{:…x}`";
    upper_hex_as by upper_hex_in "`{:…X}`";
    octal_as by octal_in "`{:…o}`";
    binary_as by binary_in "`{:…b}`";
    lower_exp_as by lower_exp_in "`{:…e}`, without precision";
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
