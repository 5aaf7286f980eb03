//! The functions that the macros call for each argument.
//!
//! A function is named after the trait in the braces and demands only that trait, as `core::fmt` does: so errors are
//! the same as std's, and a type may be inferred later. Inside, the value is [classified](super::classify): outpace
//! writes it by itself, or it becomes a fallback argument, which its own trait formats.
//!
//! The functions here are small, because they are compiled for each type that a program prints.

#![allow(unsafe_code)]

use super::argument::Argument;
use super::classify::{Classified, Kind, classify};
use super::erased::{ErasedRef, text_at};
use super::formats::{self, Format, Formats, TextFormat};
use super::pieces::Pieces;
use super::scratch::Scratch;
use super::spec::{Align, PackedSpec};
use std::fmt;

/// An argument that its own trait formats: `$format` appends it to `$scratch`.
macro_rules! fallback {
    ($value:expr, $spec:expr, $type:ident: $bound:path, |$referent:ident, $given:ident, $scratch:ident| $format:expr) => {{
        /// # Safety
        /// `value` refers to a value of this type, and `scratch` to a [`Scratch`].
        unsafe fn format<$type: $bound>(
            value: ErasedRef,
            $given: PackedSpec,
            scratch: *mut (),
        ) -> usize {
            // SAFETY: the caller's promise.
            let $referent = unsafe { value.get::<$type>() };
            // SAFETY: as above.
            let $scratch = unsafe { &mut *scratch.cast::<Scratch<'_>>() };
            usize::from($format.is_err())
        }
        // SAFETY: the function is for values of this type.
        unsafe { Argument::fallback(ErasedRef::of($value), $spec, format::<$type>) }
    }};
}

/// `{}`
pub fn display<T: fmt::Display>(value: &T) -> Argument<'_> {
    bare(classify(value)).unwrap_or_else(|| {
        fallback!(value, PackedSpec::EMPTY, T: fmt::Display, |value, _spec, scratch| {
            fmt::write(scratch, format_args!("{value}"))
        })
    })
}

/// `{:?}`
pub fn debug<T: fmt::Debug>(value: &T) -> Argument<'_> {
    as_debug(classify(value), PackedSpec::EMPTY).unwrap_or_else(|| {
        fallback!(value, PackedSpec::EMPTY, T: fmt::Debug, |value, _spec, scratch| {
            fmt::write(scratch, format_args!("{value:?}"))
        })
    })
}

/// `{:#?}`, which is `{:?}` for all types that outpace writes
pub fn pretty<T: fmt::Debug>(value: &T) -> Argument<'_> {
    as_debug(classify(value), PackedSpec::EMPTY).unwrap_or_else(|| {
        fallback!(value, PackedSpec::EMPTY, T: fmt::Debug, |value, _spec, scratch| {
            fmt::write(scratch, format_args!("{value:#?}"))
        })
    })
}

/// `{:…}` that `format_simple` supports
pub fn display_simple<T: fmt::Display>(value: &T, spec: PackedSpec) -> Argument<'_> {
    as_display(classify(value), spec).unwrap_or_else(|| {
        fallback!(value, spec, T: fmt::Display, |value, spec, scratch| {
            format_simple(&value, spec, scratch)
        })
    })
}

/// Any specification. The fallback, [`formatted`] or [`left_to_std`], demands the trait.
macro_rules! any_spec {
    ($($doc:literal $function:ident $classified:ident $formats:ident $text:expr;)*) => {$(
        #[doc = $doc]
        pub fn $function<'a, T>(
            value: &'a T,
            spec: PackedSpec,
            fallback: Argument<'a>,
        ) -> Argument<'a> {
            $classified(classify(value), spec).unwrap_or(fallback)
        }

        #[inline(always)]
        fn $classified<'a>(value: Classified, spec: PackedSpec) -> Option<Argument<'a>> {
            by_table(value, spec, &formats::$formats, $text)
        }
    )*};
}
any_spec! {
    "`{:…}`" display_as as_display DISPLAY Some(formats::DISPLAY_TEXT);
    "`{:…?}`" debug_as as_debug DEBUG Some(formats::DEBUG_TEXT);
    "`{:…x}`" lower_hex_as as_lower_hex LOWER_HEX None;
    "`{:…X}`" upper_hex_as as_upper_hex UPPER_HEX None;
    "`{:…o}`" octal_as as_octal OCTAL None;
    "`{:…b}`" binary_as as_binary BINARY None;
    "`{:…e}`, without precision" lower_exp_as as_lower_exp LOWER_EXP None;
}

/// An argument that outpace writes by itself, if a table has a format for its kind.
#[inline(always)]
fn by_table<'a>(
    Classified { kind, value }: Classified,
    spec: PackedSpec,
    formats: &Formats,
    text: Option<TextFormat>,
) -> Option<Argument<'a>> {
    let (Format { put, room }, length) = if kind == Kind::TEXT {
        let (format, longest) = text?;
        // SAFETY: it is a text.
        let length = unsafe { text_at(value) }.len();
        (format, length.saturating_mul(longest))
    } else {
        ((*formats.get(kind.index())?)?, 0)
    };
    let room = length.saturating_add(room + spec.room());
    // SAFETY: the value is of this kind, and the function is for such values, in so much room.
    Some(unsafe { Argument::new(value, spec, put, room) })
}

/// The same with an empty specification.
#[inline(always)]
fn bare<'a>(Classified { kind, value }: Classified) -> Option<Argument<'a>> {
    // SAFETY: the value is of this kind, and the function in the table is for such values, in so much room.
    unsafe {
        Some(match kind {
            Kind::TEXT => Argument::text(text_at(value)),
            Kind::PIECES => value.get_sized::<Pieces<'_>>().argument(),
            Kind::F32 => Argument::piece(value.get_sized::<f32>()),
            Kind::F64 => Argument::piece(value.get_sized::<f64>()),
            _ => {
                let Format { put, room } = (*formats::BARE.get(kind.index())?)?;
                Argument::new(value, PackedSpec::EMPTY, put, room)
            }
        })
    }
}

/// `{}`, in a message that `format_args!` also gets as a whole, which demands the trait
pub fn if_display<T>(value: &T) -> Argument<'_> {
    bare(classify(value)).unwrap_or_else(left_to_std)
}

/// The same with `{:?}` or `{:#?}`
pub fn if_debug<T>(value: &T) -> Argument<'_> {
    as_debug(classify(value), PackedSpec::EMPTY).unwrap_or_else(left_to_std)
}

/// A fallback argument in such a message
#[inline]
pub fn left_to_std<'a>() -> Argument<'a> {
    Argument::left_to_std()
}

/// Anything that `format_args!` can express
#[inline]
pub fn formatted<'a>(arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
    /// # Safety
    /// `arguments` refers to arguments, and `scratch` to a [`Scratch`].
    unsafe fn format(arguments: ErasedRef, _: PackedSpec, scratch: *mut ()) -> usize {
        // SAFETY: the caller's promise.
        let (arguments, scratch) = unsafe {
            let arguments = arguments.get::<fmt::Arguments<'_>>();
            (arguments, &mut *scratch.cast::<Scratch<'_>>())
        };
        usize::from(fmt::write(scratch, *arguments).is_err())
    }
    // SAFETY: the function is for arguments.
    unsafe { Argument::fallback(ErasedRef::of(arguments), PackedSpec::EMPTY, format) }
}

/// Formats a value by a simple specification: an alignment or a `0`, a width, a precision. Compiled once for all types,
/// so that expansions do not have to contain the `format_args!`.
#[inline(never)]
fn format_simple(
    value: &dyn fmt::Display,
    spec: PackedSpec,
    scratch: &mut Scratch<'_>,
) -> fmt::Result {
    macro_rules! aligned {
        ($zero:literal $unknown:literal $left:literal $right:literal $center:literal $($counts:tt)*) => {
            match spec.align() {
                _ if spec.zero() => fmt::write(scratch, format_args!($zero, value $($counts)*)),
                Align::Unknown => fmt::write(scratch, format_args!($unknown, value $($counts)*)),
                Align::Left => fmt::write(scratch, format_args!($left, value $($counts)*)),
                Align::Right => fmt::write(scratch, format_args!($right, value $($counts)*)),
                Align::Center => fmt::write(scratch, format_args!($center, value $($counts)*)),
            }
        };
    }
    match (spec.given_width(), spec.given_precision()) {
        (None, None) => aligned!("{:0}" "{}" "{:<}" "{:>}" "{:^}"),
        (Some(w), None) => aligned!("{:0w$}" "{:w$}" "{:<w$}" "{:>w$}" "{:^w$}", w = w),
        (None, Some(p)) => aligned!("{:0.p$}" "{:.p$}" "{:<.p$}" "{:>.p$}" "{:^.p$}", p = p),
        (Some(w), Some(p)) => {
            aligned!("{:0w$.p$}" "{:w$.p$}" "{:<w$.p$}" "{:>w$.p$}" "{:^w$.p$}", w = w, p = p)
        }
    }
}
