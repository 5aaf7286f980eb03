//! The types that outpace writes by itself, found by their [identity].

#![allow(unsafe_code)]

use super::identity::{self, Identity};
use std::borrow::Cow;
use std::marker::PhantomData;
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
    pub(super) fn of<T: ?Sized>(value: &T) -> Place {
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
    pub(super) unsafe fn get<'a, T: ?Sized>(self) -> &'a T {
        let words = [MaybeUninit::new(self.address), self.beside];
        // SAFETY: the reference was taken apart into these words.
        unsafe { mem::transmute_copy(&words) }
    }

    /// The same value by a pointer, if that is one word.
    #[inline(always)]
    fn address<U>(self) -> *const U {
        self.address.cast()
    }
}

/// Whether references to `T` have two words.
#[inline(always)]
const fn is_wide<T: ?Sized>() -> bool {
    // There are none of more than two.
    size_of::<&T>() > size_of::<usize>()
}

/// A value that outpace writes by itself.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    U8(&'a u8),
    U16(&'a u16),
    U32(&'a u32),
    U64(&'a u64),
    U128(&'a u128),
    Usize(&'a usize),
    I8(&'a i8),
    I16(&'a i16),
    I32(&'a i32),
    I64(&'a i64),
    I128(&'a i128),
    Isize(&'a isize),
    F32(&'a f32),
    F64(&'a f64),
    Bool(&'a bool),
    Char(&'a char),
    Text(&'a str),
    Pieces(&'a super::piece::Pieces<'a>),
    /// No such value.
    Foreign,
}

/// The value behind the reference, if it is of a type that outpace writes by itself, or a reference to one.
#[inline]
pub(super) fn known<T: ?Sized>(value: &T) -> Known<'_> {
    // SAFETY: size, width and identity are those of the place's type.
    unsafe {
        find(
            Place::of(value),
            is_wide::<T>(),
            size_of_val(value),
            identity::of::<T>(),
            PhantomData,
        )
    }
}

/// What is compared for one type: with a reference to the value, the variant that it becomes.
macro_rules! is {
    ($place:ident $size:ident $id:ident: $($type:ty, |$value:ident| $known:expr;)*) => {$(
        if $size == size_of::<$type>() && $id == Identity::of_static::<$type>() {
            // SAFETY: lifetimes aside, the place is of such a value. What is borrowed from it lives no longer than
            // the caller says.
            let $value = unsafe { &*$place.address::<$type>() };
            return $known;
        }
    )*};
}

/// As [`is`], for numbers and the like: by themselves, and behind references.
macro_rules! scalars {
    ($place:ident $size:ident $id:ident: $($type:ident $variant:ident)*) => {
        is! { $place $size $id: $($type, |value| Known::$variant(value);)* }
        if $size == size_of::<usize>() {
            is! { $place $size $id: $(
                &'static $type, |value| Known::$variant(value);
                &'static &'static $type, |value| Known::$variant(value);
                &'static mut $type, |value| Known::$variant(value);
            )* }
        }
    };
}

/// As [`scalars`]; a `NonZero` has its integer's layout, and is written as it.
macro_rules! non_zero {
    ($place:ident $size:ident $id:ident: $($type:ident $variant:ident)*) => {
        is! { $place $size $id: $(
            // SAFETY: a `NonZero` has its integer's layout.
            NonZero<$type>, |value| Known::$variant(unsafe { &*(&raw const *value).cast() });
        )* }
        if $size == size_of::<usize>() {
            is! { $place $size $id: $(
                // SAFETY: as above.
                &'static NonZero<$type>, |value| Known::$variant(unsafe { &*(&raw const **value).cast() });
            )* }
        }
    };
}

/// Compares identities. In a release build it is compiled into [`known`] and leaves nothing but the answer: not
/// `always`, because that would be done before the identity is found to be a constant, and take the compiler its time.
///
/// # Safety
/// The place is of a value that lives for `'a`, of the type of this identity; `size` is the value's, and `wide`
/// is what [`is_wide`] says of it.
#[inline]
unsafe fn find<'a>(
    place: Place,
    wide: bool,
    size: usize,
    id: Identity,
    _: PhantomData<&'a ()>,
) -> Known<'a> {
    if !Identity::KNOWN {
        return Known::Foreign;
    }
    if wide {
        if id == Identity::of_static::<str>() {
            // SAFETY: it is one.
            return Known::Text(unsafe { place.get() });
        }
        return Known::Foreign;
    }
    is! { place size id:
        &'static str, |text| Known::Text(text);
        String, |text| Known::Text(text);
        Cow<'static, str>, |text| Known::Text(text);
        &'static mut str, |text| Known::Text(text);
        Box<str>, |text| Known::Text(text);
        Rc<str>, |text| Known::Text(text);
        Arc<str>, |text| Known::Text(text);
        super::piece::Pieces<'static>, |pieces| Known::Pieces(pieces);
    }
    if size == size_of::<usize>() {
        is! { place size id:
            &'static &'static str, |text| Known::Text(text);
            &'static String, |text| Known::Text(text);
            &'static Cow<'static, str>, |text| Known::Text(text);
            &'static &'static &'static str, |text| Known::Text(text);
            &'static &'static String, |text| Known::Text(text);
            &'static mut String, |text| Known::Text(text);
            &'static Box<str>, |text| Known::Text(text);
            &'static Rc<str>, |text| Known::Text(text);
            &'static Arc<str>, |text| Known::Text(text);
            &'static super::piece::Pieces<'static>, |pieces| Known::Pieces(pieces);
        }
    }
    scalars! { place size id:
        usize Usize u64 U64 i32 I32 u32 U32 i64 I64 f64 F64 u8 U8 isize Isize bool Bool char Char f32 F32
        u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    non_zero! { place size id:
        usize Usize u64 U64 u32 U32 i32 I32 i64 I64 u8 U8 isize Isize u16 U16 i16 I16 i8 I8 u128 U128 i128 I128
    }
    Known::Foreign
}

/// The place of a text, as its first byte and its length.
#[inline(always)]
pub(super) fn place_of_text(text: &str) -> Place {
    Place {
        address: text.as_ptr().cast(),
        beside: MaybeUninit::new(ptr::without_provenance(text.len())),
    }
}

/// # Safety
/// The place is [that of a text](place_of_text), which lives for `'a`.
#[inline(always)]
pub(super) unsafe fn text_at<'a>(place: Place) -> &'a str {
    // SAFETY: address and length are those of a text.
    unsafe {
        let length = place.beside.assume_init().addr();
        str::from_utf8_unchecked(std::slice::from_raw_parts(place.address.cast(), length))
    }
}
