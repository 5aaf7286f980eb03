//! The formats of the types that outpace writes by itself, for each trait in the braces.
//!
//! The functions are compiled here, and not again in each program.

#![allow(unsafe_code)]

use super::argument::PutFn;
use super::classify::Kind;
use super::erased::{ErasedRef, text_at};
use super::float::{self, Notation};
use super::integer::Integer;
use super::padded::{InNotation, InRadix, Padded, PaddedStr, Quoted, QuotedChar};
use super::piece::Piece;
use super::radix::Radix;
use super::spec::PackedSpec;

/// How a value is written: the parts of an argument besides the value and its specification.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) put: PutFn,
    /// An upper bound of the room, without that of the specification, and for a text without its bytes: in an expansion
    /// the sum folds to a number.
    pub(super) room: usize,
}

/// How texts are written, and the longest output of a byte.
pub(super) type TextFormat = (Format, usize);

/// How values of each scalar kind are written, by the kind's number; `None` if outpace does not write them.
pub(super) type Formats = [Option<Format>; Kind::SCALARS];

/// The room before a number's digits: for a sign, and `0x` or the like.
const HEAD: usize = 3;

macro_rules! format {
    (|$value:ident = $get:expr, $spec:ident| $piece:expr, $room:expr) => {{
        /// # Safety
        /// `value` refers to a value of the format's type; `dst` has the room.
        unsafe fn put(value: ErasedRef, spec: PackedSpec, dst: *mut ()) -> usize {
            // SAFETY: the caller's promise about the value.
            let $value = unsafe { $get(value) };
            let $spec = spec.unpack();
            // SAFETY: the caller's promise about the room.
            unsafe { $piece.put(dst.cast()) }
        }
        Format { put, room: $room }
    }};
}

macro_rules! bare {
    ($type:ident $room:expr) => {
        Some(Format {
            put: <$type as Piece>::put_piece,
            room: $room,
        })
    };
}

/// How an integer is written: as [`BARE`], in decimal or in a radix, with a specification, or not at all.
macro_rules! integer {
    (bare $integer:ident) => {
        bare!($integer $integer::MAX_LEN)
    };
    (decimal $integer:ident) => {
        Some(format!(
            |value = ErasedRef::get::<$integer>, spec| Padded { number: *value, spec },
            HEAD + $integer::MAX_LEN
        ))
    };
    (none $integer:ident) => {
        None
    };
    ($radix:ident $integer:ident) => {
        Some(format!(
            |value = ErasedRef::get::<$integer>, spec| Padded {
                number: InRadix { value: *value, radix: Radix::$radix },
                spec,
            },
            HEAD + Radix::$radix.room($integer::BITS)
        ))
    };
}

macro_rules! float {
    ($notation:ident $float:ident) => {
        Some(format!(
            |value = ErasedRef::get::<$float>, spec| Padded {
                number: InNotation { value: *value, notation: Notation::$notation },
                spec,
            },
            HEAD + float::MOST_ROOM
        ))
    };
}

macro_rules! name {
    () => {
        Some(format!(
            |value = ErasedRef::get::<bool>, spec| PaddedStr {
                text: if *value { "true" } else { "false" },
                spec,
            },
            5
        ))
    };
}

/// A table: how integers are written, `f32`, `f64`, `bool` and `char`.
macro_rules! table {
    ($integers:ident, $($other:expr),*) => {
        table!(@ $integers [u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize] $($other),*)
    };
    (@ $integers:ident [$($type:ident)*] $($other:expr),*) => {
        [None, $(integer!($integers $type),)* $($other),*]
    };
}

/// `{}` with an empty specification. Without floats, whose room depends on their value.
pub(super) const BARE: Formats = table!(bare, None, None, bare!(bool 8), bare!(char 4));
/// `{}`
pub(super) const DISPLAY: Formats = table!(
    decimal,
    float!(Display f32),
    float!(Display f64),
    name!(),
    Some(format!(
        |value = ErasedRef::get::<char>, spec| PaddedStr { text: value.encode_utf8(&mut [0; 4]), spec },
        4
    ))
);
/// `{:?}`
pub(super) const DEBUG: Formats = table!(
    decimal,
    float!(Debug f32),
    float!(Debug f64),
    name!(),
    Some(format!(|value = ErasedRef::get::<char>, _spec| QuotedChar(*value), QuotedChar::ROOM))
);
/// `{:x}`
pub(super) const LOWER_HEX: Formats = table!(LowerHex, None, None, None, None);
/// `{:X}`
pub(super) const UPPER_HEX: Formats = table!(UpperHex, None, None, None, None);
/// `{:o}`
pub(super) const OCTAL: Formats = table!(Octal, None, None, None, None);
/// `{:b}`
pub(super) const BINARY: Formats = table!(Binary, None, None, None, None);
/// `{:e}`
pub(super) const LOWER_EXP: Formats =
    table!(none, float!(Exponent f32), float!(Exponent f64), None, None);

/// `{}` of a text
pub(super) const DISPLAY_TEXT: TextFormat = (
    format!(|text = text_at, spec| PaddedStr { text, spec }, 0),
    1,
);
/// `{:?}` of a text
pub(super) const DEBUG_TEXT: TextFormat = (
    format!(|text = text_at, _spec| Quoted(text), Quoted::AROUND),
    Quoted::LONGEST,
);
