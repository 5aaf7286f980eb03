//! Pieces: values whose text outpace writes by itself.

#![allow(unsafe_code)]

use super::copy;
use super::erased::ErasedRef;
use super::float::{self, Notation, sealed::Sealed as _};
use super::integer::Integer;
use super::spec::PackedSpec;

pub(super) mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;

/// A value, or several in a row, that outpace writes by itself: an integer, a float, a `bool`, a `char`, a `&str`, or a
/// reference to one of these; and tuples (of up to 12), slices and `Option`s of pieces (one after the other; `None` is
/// empty).
///
/// A piece's room is known beforehand, and writing it runs only outpace's code. So it can be written directly into a
/// stream's buffer. The trait is sealed: combine pieces for a type of your own, as [`Pieces`](super::pieces::Pieces).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a piece of text that outpace can write by itself",
    note = "pieces are numbers, `bool`, `char`, `&str`, references to these, and tuples, slices and \
            `Option`s of pieces"
)]
pub trait Piece: Sealed + Copy {
    /// An upper bound of the room that `put` needs, in bytes; sums of it saturate.
    #[doc(hidden)]
    fn room(&self) -> usize;

    /// Writes the text at `dst`, returns its length.
    ///
    /// # Safety
    /// `room` bytes are valid for writes at `dst`.
    #[doc(hidden)]
    unsafe fn put(&self, dst: *mut u8) -> usize;

    /// Writes the text of the piece that `piece` refers to; returns its length. For the most common pieces it is
    /// compiled here, and not again in each program.
    ///
    /// # Safety
    /// As `put`.
    #[doc(hidden)]
    unsafe fn put_piece(piece: ErasedRef, _: PackedSpec, dst: *mut ()) -> usize {
        // SAFETY: the caller's promise.
        unsafe { Piece::put(piece.get::<Self>(), dst.cast()) }
    }
}

/// `put_piece` of a type without parameters.
macro_rules! compiled_here {
    () => {
        unsafe fn put_piece(piece: ErasedRef, _: PackedSpec, dst: *mut ()) -> usize {
            // SAFETY: the caller's promise.
            unsafe { Piece::put(piece.get::<Self>(), dst.cast()) }
        }
    };
}

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Sealed for $integer {}
        impl Piece for $integer {
            compiled_here!();

            #[inline(always)]
            fn room(&self) -> usize {
                Self::MAX_LEN
            }

            #[inline(always)]
            unsafe fn put(&self, dst: *mut u8) -> usize {
                // SAFETY: the caller has the integer's room.
                unsafe { self.write_to(dst) }
            }
        }
    )*};
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Sealed for $float {}
        impl Piece for $float {
            compiled_here!();

            fn room(&self) -> usize {
                float::room(*self)
            }

            #[inline(always)]
            unsafe fn put(&self, dst: *mut u8) -> usize {
                // SAFETY: the caller has the float's room.
                unsafe { (*self).put(Notation::Display, dst) }
            }
        }
    )*};
}
floats!(f32 f64);

impl Sealed for &str {}
impl Piece for &str {
    compiled_here!();

    #[inline(always)]
    fn room(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the room is the length.
        unsafe { copy::copy(self.as_bytes(), dst) };
        self.len()
    }
}

impl Sealed for bool {}
impl Piece for bool {
    compiled_here!();

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

impl Sealed for char {}
impl Piece for char {
    compiled_here!();

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

impl<P: Piece> Sealed for &P {}
impl<P: Piece> Piece for &P {
    #[inline(always)]
    fn room(&self) -> usize {
        (**self).room()
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the caller's promise.
        unsafe { (**self).put(dst) }
    }
}

impl<P: Piece> Sealed for Option<P> {}
impl<P: Piece> Piece for Option<P> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.as_ref().map_or(0, P::room)
    }

    #[inline(always)]
    unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the caller's promise.
        self.as_ref().map_or(0, |piece| unsafe { piece.put(dst) })
    }
}

impl<P: Piece> Sealed for &[P] {}
impl<P: Piece> Piece for &[P] {
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
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Piece),*> Sealed for ($($name,)*) {}

        #[allow(non_snake_case)]
        impl<$($name: Piece),*> Piece for ($($name,)*) {
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
