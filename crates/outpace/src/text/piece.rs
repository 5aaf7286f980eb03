//! Pieces: what messages are made of.

#![allow(unsafe_code)]

use super::float::{self, Layout};
use super::integer::Integer;
use super::scratch::Scratch;
use crate::buffer;
use std::borrow::Cow;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

pub(super) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A value, or several in a row, that outpace can write without asking anybody: an integer, a float,
/// a `bool`, a `char`, a `&str`, a reference to one of these, and what is put together from pieces:
/// tuples (of up to 12) and slices (one after the other), and `Option` (`None` is nothing).
///
/// It is known beforehand how much room a piece needs, and no code but outpace's runs while it is
/// written; so it can be written straight into a stream's buffer. The trait is sealed: types of your
/// own say by [`Text`] of what pieces they are made.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a piece of text that outpace can write by itself",
    note = "pieces are numbers, `bool`, `char`, `&str`, references to these, and tuples, slices and \
            `Option`s of pieces",
    note = "of a value whose type implements `outpace::text::Text`, take `.pieces()`"
)]
pub trait Piece: Sealed + Copy {
    /// Whether [`append`](Self::append) must be used, because it runs code that is not outpace's.
    #[doc(hidden)]
    const FOREIGN: bool = false;

    /// An upper bound of the room that `put` needs, in bytes; sums of it saturate.
    #[doc(hidden)]
    fn room(&self) -> usize;

    /// Writes the text at `dst`, returns its length.
    ///
    /// # Safety
    /// As many bytes as `room` says are valid for writes at `dst`; the piece is not foreign.
    #[doc(hidden)]
    unsafe fn put(&self, dst: *mut u8) -> usize;

    /// Writes the text at the end of what is already there.
    #[doc(hidden)]
    #[inline]
    fn append(&self, scratch: &mut Scratch) {
        const { assert!(!Self::FOREIGN) };
        // SAFETY: the piece is not foreign, and the room is what it asks for.
        unsafe {
            let length = self.put(scratch.space(self.room()));
            scratch.advance(length);
        }
    }
}

/// A type that says what pieces its text is made of, and so has a part in the fast paths of
/// [`print!`](crate::print) and its family.
///
/// The pieces must make the same text as the type's `Display` does for `{}`; where there is anything
/// in the braces (`{:>10}`), and in std's macros, `Display` is used.
///
/// ```
/// use outpace::text::{Piece, Text};
/// use std::fmt;
///
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// impl fmt::Display for Point {
///     fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
///         write!(f, "({}, {})", self.x, self.y)
///     }
/// }
///
/// impl Text for Point {
///     fn pieces(&self) -> impl Piece {
///         ("(", self.x, ", ", self.y, ")")
///     }
/// }
///
/// assert_eq!(outpace::format!("at {}", Point { x: 3, y: -4 }), "at (3, -4)");
/// ```
///
/// `pieces` is called before the stream is touched: it may compute, and even print.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to have fast text",
    note = "if the type was not known yet where it was printed, annotate it there: outpace's macros \
            choose by type",
    note = "implement `outpace::text::Text` for it, or print it by std's macros"
)]
pub trait Text: std::fmt::Display {
    /// The pieces, whose texts one after the other are the text.
    fn pieces(&self) -> impl Piece;
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Sealed for $integer {}
        impl Piece for $integer {
            #[inline(always)]
            fn room(&self) -> usize {
                Self::MAX_LEN
            }

            #[inline(always)]
            unsafe fn put(&self, dst: *mut u8) -> usize {
                // SAFETY: the room is what the integer asks for.
                unsafe { self.write_to(dst) }
            }
        }

        impl Text for $integer {
            #[inline]
            fn pieces(&self) -> impl Piece {
                *self
            }
        }

        impl Text for NonZero<$integer> {
            #[inline]
            fn pieces(&self) -> impl Piece {
                self.get()
            }
        }
    )*};
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Sealed for $float {}
        impl Piece for $float {
            #[inline(always)]
            fn room(&self) -> usize {
                float::room(*self, Layout::Display)
            }

            #[inline(always)]
            unsafe fn put(&self, dst: *mut u8) -> usize {
                // SAFETY: the room is what the float asks for.
                unsafe { float::put(*self, Layout::Display, dst) }
            }
        }

        impl Text for $float {
            #[inline]
            fn pieces(&self) -> impl Piece {
                *self
            }
        }
    )*};
}
floats!(f32 f64);

impl Sealed for &str {}
impl Piece for &str {
    #[inline(always)]
    fn room(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the room is the length.
        unsafe { buffer::copy(self.as_bytes(), dst) };
        self.len()
    }
}

impl Text for str {
    #[inline]
    fn pieces(&self) -> impl Piece {
        self
    }
}

/// Text that is known when the program is compiled.
#[derive(Clone, Copy)]
pub struct Literal(pub &'static str);

impl Sealed for Literal {}
impl Piece for Literal {
    #[inline(always)]
    fn room(&self) -> usize {
        self.0.len().max(8)
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        let bytes = self.0.as_bytes();
        // SAFETY: the room is the length, and at least 8 bytes.
        unsafe {
            match bytes.len() {
                ..=8 => buffer::copy_word(bytes, dst),
                _ => buffer::copy(bytes, dst),
            }
        }
        bytes.len()
    }
}

impl Sealed for bool {}
impl Piece for bool {
    #[inline(always)]
    fn room(&self) -> usize {
        8
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        let word = if *self { *b"true    " } else { *b"false   " };
        // SAFETY: the room is 8 bytes.
        unsafe { dst.cast::<[u8; 8]>().write_unaligned(word) };
        5 - usize::from(*self)
    }
}

impl Text for bool {
    #[inline]
    fn pieces(&self) -> impl Piece {
        *self
    }
}

impl Sealed for char {}
impl Piece for char {
    #[inline(always)]
    fn room(&self) -> usize {
        4
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        if self.is_ascii() {
            // SAFETY: there is room for 4 bytes.
            unsafe { *dst = *self as u8 };
            return 1;
        }
        let mut bytes = [0; 4];
        let length = self.encode_utf8(&mut bytes).len();
        // SAFETY: there is room for 4 bytes.
        unsafe { dst.cast::<[u8; 4]>().write_unaligned(bytes) };
        length
    }
}

impl Text for char {
    #[inline]
    fn pieces(&self) -> impl Piece {
        *self
    }
}

impl Text for String {
    #[inline]
    fn pieces(&self) -> impl Piece {
        self.as_str()
    }
}

impl Text for Cow<'_, str> {
    #[inline]
    fn pieces(&self) -> impl Piece {
        &**self
    }
}

macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<T: Text + ?Sized> Text for $pointer {
            #[inline]
            fn pieces(&self) -> impl Piece {
                (**self).pieces()
            }
        }
    )*};
}
pointers!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<P: Piece> Sealed for &P {}
impl<P: Piece> Piece for &P {
    const FOREIGN: bool = P::FOREIGN;

    #[inline(always)]
    fn room(&self) -> usize {
        (**self).room()
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the same is demanded.
        unsafe { (**self).put(dst) }
    }

    #[inline]
    fn append(&self, scratch: &mut Scratch) {
        (**self).append(scratch);
    }
}

impl<P: Piece> Sealed for Option<P> {}
impl<P: Piece> Piece for Option<P> {
    const FOREIGN: bool = P::FOREIGN;

    #[inline(always)]
    fn room(&self) -> usize {
        self.as_ref().map_or(0, P::room)
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the same is demanded.
        self.as_ref().map_or(0, |piece| unsafe { piece.put(dst) })
    }

    #[inline]
    fn append(&self, scratch: &mut Scratch) {
        if let Some(piece) = self {
            piece.append(scratch);
        }
    }
}

impl<P: Piece> Sealed for &[P] {}
impl<P: Piece> Piece for &[P] {
    const FOREIGN: bool = P::FOREIGN;

    #[inline]
    fn room(&self) -> usize {
        self.iter()
            .fold(0, |sum: usize, piece| sum.saturating_add(piece.room()))
    }

    #[inline]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        let mut length = 0;
        for piece in *self {
            // SAFETY: the room is for all of them.
            length += unsafe { piece.put(dst.add(length)) };
        }
        length
    }

    #[inline]
    fn append(&self, scratch: &mut Scratch) {
        self.iter().for_each(|piece| piece.append(scratch));
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Piece),*> Sealed for ($($name,)*) {}

        #[allow(non_snake_case)]
        impl<$($name: Piece),*> Piece for ($($name,)*) {
            const FOREIGN: bool = false $(|| $name::FOREIGN)*;

            #[inline(always)]
            fn room(&self) -> usize {
                let ($($name,)*) = self;
                0_usize $(.saturating_add($name.room()))*
            }

            #[inline(always)]
            unsafe fn put(&self, dst: *mut u8) -> usize {
                let ($($name,)*) = self;
                let length = 0;
                // SAFETY: the room is for all of them.
                $(let length = length + unsafe { $name.put(dst.add(length)) };)*
                length
            }

            #[inline]
            fn append(&self, scratch: &mut Scratch) {
                let ($($name,)*) = self;
                $($name.append(scratch);)*
            }
        }
    };
}
tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
tuples!(A B C D E F G H I);
tuples!(A B C D E F G H I J);
tuples!(A B C D E F G H I J K);
tuples!(A B C D E F G H I J K L);
