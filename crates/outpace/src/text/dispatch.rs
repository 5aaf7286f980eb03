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
use super::known::{Kind, Known, Place, known, text_at};
use super::piece::{Piece, Pieces};
use super::spec::{Align, Braces};
use super::ways::{self, How, In};
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

/// How values of each [kind](Kind) are written in a way, if they are.
type Hows = [Option<How>; Kind::SCALARS];

macro_rules! how {
    ($way:ident _) => {
        None
    };
    ($way:ident $type:ident) => {
        Some(<$type as In<ways::$way>>::HOW)
    };
}

/// The functions of one way each, for the values that it knows: their types, in the order of their kinds, and how texts are
/// written, and a byte's longest text.
macro_rules! ways {
    ($($way:ident $function:ident [$($type:tt)*] $text:expr;)*) => {$(
        #[inline(always)]
        fn $function<'a>(value: Known, braces: Braces) -> Option<Argument<'a>> {
            const HOWS: Hows = [$(how!($way $type)),*];
            in_way(value, braces, &HOWS, $text)
        }
    )*};
}
ways! {
    Display known_display_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char]
        Some((<str as In<ways::Display>>::HOW, ways::Display::LONGEST));
    Debug debug_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 bool char]
        Some((<str as In<ways::Debug>>::HOW, ways::Debug::LONGEST));
    LowerHex lower_hex_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize _ _ _ _] None;
    UpperHex upper_hex_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize _ _ _ _] None;
    Octal octal_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize _ _ _ _] None;
    Binary binary_in [_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize _ _ _ _] None;
    LowerExp lower_exp_in [_ _ _ _ _ _ _ _ _ _ _ _ _ f32 f64 _ _] None;
}

/// A known value, if it is written in this way.
#[inline(always)]
fn in_way<'a>(
    Known { kind, place }: Known,
    braces: Braces,
    hows: &Hows,
    text: Option<(How, usize)>,
) -> Option<Argument<'a>> {
    let (How { write, room }, length) = if kind == Kind::TEXT {
        let (how, longest) = text?;
        // SAFETY: it is the place of a text.
        (how, unsafe { text_at(place) }.len().saturating_mul(longest))
    } else {
        ((*hows.get(kind.index())?)?, 0)
    };
    let room = length.saturating_add(room + braces.room());
    // SAFETY: the place is of a value of this kind, and the function is for such values, in so much room.
    Some(unsafe { Argument::new(place, braces, write, room) })
}

/// A known value with nothing in the braces.
#[inline(always)]
fn bare<'a>(Known { kind, place }: Known) -> Option<Argument<'a>> {
    macro_rules! hows {
        ($($type:tt)*) => { [$(how!(Bare $type)),*] };
    }
    const HOWS: Hows = hows!(_ u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize _ _ bool char);

    // SAFETY: the place is of a value of this kind.
    unsafe {
        Some(match kind {
            Kind::TEXT => Argument::text(text_at(place)),
            Kind::PIECES => place.read_ref::<Pieces<'_>>().argument(),
            // Their room depends on the value.
            Kind::F32 => piece(place.read_ref::<f32>()),
            Kind::F64 => piece(place.read_ref::<f64>()),
            _ => {
                let How { write, room } = (*HOWS.get(kind.index())?)?;
                // SAFETY: the function is for such values, in so much room.
                Argument::new(place, Braces::NONE, write, room)
            }
        })
    }
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
