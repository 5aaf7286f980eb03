//! The types that outpace writes by itself, found by their [identity].

#![allow(unsafe_code)]

use super::identity::{self, Identity};
use std::borrow::Cow;
use std::mem::{self, MaybeUninit};
use std::num::NonZero;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

/// Where a value is, its type forgotten: a reference's words.
#[derive(Clone, Copy)]
pub struct Place {
    address: *const (),
    /// The length of a text, the table of a trait object's functions, or nothing.
    beside: MaybeUninit<*const ()>,
}

impl Place {
    #[inline(always)]
    pub(crate) fn of<T: ?Sized>(value: &T) -> Place {
        let words = (&raw const value).cast::<*const ()>();
        // SAFETY: a reference is an address, followed by one more word if it is wide.
        unsafe {
            Place {
                address: words.read(),
                beside: match is_wide::<T>() {
                    true => MaybeUninit::new(words.add(1).read()),
                    false => MaybeUninit::uninit(),
                },
            }
        }
    }

    /// # Safety
    /// The place is [of](Place::of) such a value, which lives for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn get<'a, T: ?Sized>(self) -> &'a T {
        let words = [MaybeUninit::new(self.address), self.beside];
        // SAFETY: the reference was taken apart into these words.
        unsafe { mem::transmute_copy(&words) }
    }

    /// The place of what is behind the reference at this place.
    ///
    /// # Safety
    /// There is a reference of one word.
    #[inline(always)]
    unsafe fn behind(self) -> Place {
        Place {
            // SAFETY: a reference is an address.
            address: unsafe { self.address.cast::<*const ()>().read() },
            beside: MaybeUninit::uninit(),
        }
    }

    /// The text behind the pointer at this place.
    ///
    /// # Safety
    /// There is a `&str`, a `&mut str` or a `Box<str>`, which are alike, and the text lives for `'a`.
    #[inline(always)]
    unsafe fn read<'a>(self) -> &'a str {
        // SAFETY: as demanded.
        unsafe { self.address.cast::<&str>().read() }
    }

    /// The value at this place.
    ///
    /// # Safety
    /// The place is of such a value, lifetimes aside, which lives for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn read_ref<'a, U>(self) -> &'a U {
        // SAFETY: as demanded.
        unsafe { &*self.address.cast::<U>() }
    }
}

/// Whether references to `T` have two words.
#[inline(always)]
const fn is_wide<T: ?Sized>() -> bool {
    // There are none of more than two.
    size_of::<&T>() > size_of::<usize>()
}

/// What outpace writes by itself: as a number, and not as a variant with the value in it, so that the compiler knows it
/// as soon as it has compared [identities](identity), and all that depends on it is gone before it is compiled.
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
    FOREIGN = 0;
    U8 = 1; U16 = 2; U32 = 3; U64 = 4; U128 = 5; USIZE = 6;
    I8 = 7; I16 = 8; I32 = 9; I64 = 10; I128 = 11; ISIZE = 12;
    F32 = 13; F64 = 14; BOOL = 15; CHAR = 16;
    TEXT = 17; PIECES = 18;
    // How a text is found. They become `TEXT`.
    POINTER = 19; STRING = 20; COW = 21; RC = 22; ARC = 23;
}

impl Kind {
    /// Those that have a number of their own: where in a table.
    pub(crate) const SCALARS: usize = 17;

    /// The kind's number.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A kind, behind so many references.
#[derive(Clone, Copy)]
struct Found(u8);

impl Found {
    const DEPTH: u32 = 6;
    const NOT: Found = Found(Kind::FOREIGN.0);

    #[inline(always)]
    const fn new(kind: Kind, depth: u8) -> Found {
        Found(kind.0 | depth << Self::DEPTH)
    }
}

/// A value, and what outpace knows it as.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) kind: Kind,
    /// [Of the value](Place::of) that is of this kind, or [that of the text](text_at).
    pub(crate) place: Place,
}

/// The value behind the reference, if it is of a type that outpace writes by itself, or a reference to one.
#[inline]
pub(crate) fn known<T: ?Sized>(value: &T) -> Known {
    let found = find(is_wide::<T>(), size_of_val(value), identity::of::<T>());
    let kind = Kind(found.0 & ((1 << Found::DEPTH) - 1));
    let mut place = Place::of(value);
    // SAFETY: `find` knows the type, lifetimes aside: so many references to a value of that kind.
    unsafe {
        if found.0 >> Found::DEPTH > 0 {
            place = place.behind();
        }
        if found.0 >> Found::DEPTH > 1 {
            place = place.behind();
        }
        match kind {
            Kind::POINTER => Known::text(place.read()),
            Kind::STRING => Known::text(place.read_ref::<String>()),
            Kind::COW => Known::text(place.read_ref::<Cow<'_, str>>()),
            Kind::RC => Known::text(place.read_ref::<Rc<str>>()),
            Kind::ARC => Known::text(place.read_ref::<Arc<str>>()),
            kind => Known { kind, place },
        }
    }
}

impl Known {
    #[inline(always)]
    fn text(text: &str) -> Known {
        Known {
            kind: Kind::TEXT,
            place: place_of_text(text),
        }
    }
}

/// What is compared for one kind.
macro_rules! is {
    ($size:ident $id:ident: $($type:ty, $kind:ident $depth:literal;)*) => {$(
        if $size == size_of::<$type>() && $id.is::<$type>() {
            return Found::new(Kind::$kind, $depth);
        }
    )*};
}

/// As [`is`], for numbers and the like: by themselves, and behind references.
macro_rules! scalars {
    ($size:ident $id:ident: $($type:ident $kind:ident)*) => {
        is! { $size $id: $($type, $kind 0;)* }
        if $size == size_of::<usize>() {
            is! { $size $id: $(
                &'static $type, $kind 1;
                &'static &'static $type, $kind 2;
                &'static mut $type, $kind 1;
            )* }
        }
    };
}

/// As [`scalars`]; a `NonZero` has its integer's layout, and is written as it.
macro_rules! non_zero {
    ($size:ident $id:ident: $($type:ident $kind:ident)*) => {
        is! { $size $id: $(NonZero<$type>, $kind 0;)* }
        if $size == size_of::<usize>() {
            is! { $size $id: $(&'static NonZero<$type>, $kind 1;)* }
        }
    };
}

/// Compares identities. In a release build it is compiled into [`known`] and leaves nothing but the answer: not
/// `always`, because that would be done before the identity is found to be a constant, and take the compiler its time.
#[inline]
fn find(wide: bool, size: usize, id: Identity) -> Found {
    if !Identity::KNOWN {
        return Found::NOT;
    }
    if wide {
        if id.is::<str>() {
            return Found::new(Kind::TEXT, 0);
        }
        return Found::NOT;
    }
    is! { size id:
        &'static str, POINTER 0;
        String, STRING 0;
        Cow<'static, str>, COW 0;
        &'static mut str, POINTER 0;
        Box<str>, POINTER 0;
        Rc<str>, RC 0;
        Arc<str>, ARC 0;
        super::piece::Pieces<'static>, PIECES 0;
    }
    if size == size_of::<usize>() {
        is! { size id:
            &'static &'static str, POINTER 1;
            &'static String, STRING 1;
            &'static Cow<'static, str>, COW 1;
            &'static &'static &'static str, POINTER 2;
            &'static &'static String, STRING 2;
            &'static mut String, STRING 1;
            &'static Box<str>, POINTER 1;
            &'static Rc<str>, RC 1;
            &'static Arc<str>, ARC 1;
            &'static super::piece::Pieces<'static>, PIECES 1;
        }
    }
    scalars! { size id:
        usize USIZE u64 U64 i32 I32 u32 U32 i64 I64 f64 F64 u8 U8 isize ISIZE bool BOOL char CHAR f32 F32
        u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    non_zero! { size id:
        usize USIZE u64 U64 u32 U32 i32 I32 i64 I64 u8 U8 isize ISIZE u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    Found::NOT
}

/// The place of a text, as its first byte and its length.
#[inline(always)]
pub(crate) fn place_of_text(text: &str) -> Place {
    Place {
        address: text.as_ptr().cast(),
        beside: MaybeUninit::new(ptr::without_provenance(text.len())),
    }
}

/// # Safety
/// The place is [that of a text](place_of_text), which lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn text_at<'a>(place: Place) -> &'a str {
    // SAFETY: address and length are those of a text.
    unsafe {
        let length = place.beside.assume_init().addr();
        str::from_utf8_unchecked(std::slice::from_raw_parts(place.address.cast(), length))
    }
}
