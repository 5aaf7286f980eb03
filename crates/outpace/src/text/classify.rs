//! The types that outpace writes by itself, found by comparing [type keys](TypeKey).

#![allow(unsafe_code)]

use super::erased::{ErasedRef, erase_text, is_wide};
use super::pieces::Pieces;
use super::type_key::TypeKey;
use std::borrow::Cow;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

/// The kind of a value. A number, not an enum with the value in its variants: the compiler knows it as soon as it has
/// compared type keys, and then removes the code for other kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind(u8);

macro_rules! kinds {
    ($($kind:ident = $number:literal;)*) => {
        impl Kind {
            $(pub(crate) const $kind: Kind = Kind($number);)*
        }
    };
}
kinds! {
    FALLBACK = 0;
    U8 = 1; U16 = 2; U32 = 3; U64 = 4; U128 = 5; USIZE = 6;
    I8 = 7; I16 = 8; I32 = 9; I64 = 10; I128 = 11; ISIZE = 12;
    F32 = 13; F64 = 14; BOOL = 15; CHAR = 16;
    TEXT = 17; PIECES = 18;
    // Owners of texts. `classify` makes them `TEXT`.
    POINTER = 19; STRING = 20; COW = 21; RC = 22; ARC = 23;
}

impl Kind {
    /// The number of entries in a table of scalars.
    pub(crate) const SCALARS: usize = 17;

    /// The kind's number: its index in such a table.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A kind, and the number of references in front of it.
#[derive(Clone, Copy)]
struct Match(u8);

impl Match {
    const DEPTH: u32 = 6;
    const NOT: Match = Match(Kind::FALLBACK.0);

    #[inline(always)]
    const fn new(kind: Kind, depth: u8) -> Match {
        Match(kind.0 | depth << Self::DEPTH)
    }
}

/// A value and its kind.
#[derive(Clone, Copy)]
pub(crate) struct Classified {
    pub(crate) kind: Kind,
    /// Refers to a value of this kind; for a text it is made by [`erase_text`].
    pub(crate) value: ErasedRef,
}

/// Classifies a value: whether its type, or the type behind its references, is one that outpace writes by itself.
#[inline]
pub(crate) fn classify<T: ?Sized>(value: &T) -> Classified {
    let found = find(is_wide::<T>(), size_of_val(value), TypeKey::of::<T>());
    let kind = Kind(found.0 & ((1 << Match::DEPTH) - 1));
    let mut value = ErasedRef::of(value);
    // SAFETY: `find` has found the type, lifetimes aside: this number of references to a value of this kind.
    unsafe {
        if found.0 >> Match::DEPTH > 0 {
            value = value.pointee();
        }
        if found.0 >> Match::DEPTH > 1 {
            value = value.pointee();
        }
        match kind {
            Kind::POINTER => Classified::text(value.text()),
            Kind::STRING => Classified::text(value.get_sized::<String>()),
            Kind::COW => Classified::text(value.get_sized::<Cow<'_, str>>()),
            Kind::RC => Classified::text(value.get_sized::<Rc<str>>()),
            Kind::ARC => Classified::text(value.get_sized::<Arc<str>>()),
            kind => Classified { kind, value },
        }
    }
}

impl Classified {
    #[inline(always)]
    fn text(text: &str) -> Classified {
        Classified {
            kind: Kind::TEXT,
            value: erase_text(text),
        }
    }
}

/// Compares with the types of one kind.
macro_rules! is {
    ($size:ident $key:ident: $($type:ty, $kind:ident $depth:literal;)*) => {$(
        if $size == size_of::<$type>() && $key.is::<$type>() {
            return Match::new(Kind::$kind, $depth);
        }
    )*};
}

/// As [`is`], for scalars: by themselves, and behind references.
macro_rules! scalars {
    ($size:ident $key:ident: $($type:ident $kind:ident)*) => {
        is! { $size $key: $($type, $kind 0;)* }
        if $size == size_of::<usize>() {
            is! { $size $key: $(
                &'static $type, $kind 1;
                &'static &'static $type, $kind 2;
                &'static mut $type, $kind 1;
            )* }
        }
    };
}

/// As [`scalars`]; a `NonZero` has its integer's layout and text.
macro_rules! non_zero {
    ($size:ident $key:ident: $($type:ident $kind:ident)*) => {
        is! { $size $key: $(NonZero<$type>, $kind 0;)* }
        if $size == size_of::<usize>() {
            is! { $size $key: $(&'static NonZero<$type>, $kind 1;)* }
        }
    };
}

/// Compares type keys. In a release build it is inlined into [`classify`], and only the result remains. Not `always`:
/// the compiler would inline it before it knows that the key is a constant, which makes it slow.
#[inline]
fn find(wide: bool, size: usize, key: TypeKey) -> Match {
    if !TypeKey::KNOWN {
        return Match::NOT;
    }
    if wide {
        if key.is::<str>() {
            return Match::new(Kind::TEXT, 0);
        }
        return Match::NOT;
    }
    is! { size key:
        &'static str, POINTER 0;
        String, STRING 0;
        Cow<'static, str>, COW 0;
        &'static mut str, POINTER 0;
        Box<str>, POINTER 0;
        Rc<str>, RC 0;
        Arc<str>, ARC 0;
        Pieces<'static>, PIECES 0;
    }
    if size == size_of::<usize>() {
        is! { size key:
            &'static &'static str, POINTER 1;
            &'static String, STRING 1;
            &'static Cow<'static, str>, COW 1;
            &'static &'static &'static str, POINTER 2;
            &'static &'static String, STRING 2;
            &'static mut String, STRING 1;
            &'static Box<str>, POINTER 1;
            &'static Rc<str>, RC 1;
            &'static Arc<str>, ARC 1;
            &'static Pieces<'static>, PIECES 1;
        }
    }
    scalars! { size key:
        usize USIZE u64 U64 i32 I32 u32 U32 i64 I64 f64 F64 u8 U8 isize ISIZE bool BOOL char CHAR f32 F32
        u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    non_zero! { size key:
        usize USIZE u64 U64 u32 U32 i32 I32 i64 I64 u8 U8 isize ISIZE u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    Match::NOT
}
