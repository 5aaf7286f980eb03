//! Type-erased arguments of the macros.
//!
//! A program has many messages, and compiling code for each kind of them takes time. So an argument is a pointer to a
//! value and a pointer to a function, as in `core::fmt`, and one piece of code writes all messages of such arguments:
//! [`MessageArgs`](super::message::MessageArgs). Short messages of integers and the like, for which these pointers
//! would cost more than the text itself, have their values in registers: [`value`](super::value).

#![allow(unsafe_code)]

use super::erased::{ErasedRef, erase_text, text_at};
use super::piece::Piece;
use super::scratch::Scratch;
use super::spec::PackedSpec;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The room that a fallback argument asks for: more than any stream has.
pub(super) const NO_ROOM: usize = usize::MAX;

/// Writes the value's text at a place and returns its length. For a fallback argument: has `core::fmt` append it to the
/// [`Scratch`] there, and returns 0, or 1 if that fails.
pub(crate) type PutFn = unsafe fn(ErasedRef, PackedSpec, *mut ()) -> usize;

/// A type-erased argument. It is *inline* if outpace writes its text by itself, else a *fallback*, which its own trait
/// formats.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    value: ErasedRef,
    spec: PackedSpec,
    put: PutFn,
    room: usize,
    of: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// # Safety
    /// For as long as the argument lives, `put` may be called with the value, the specification, and a pointer to
    /// `room` writable bytes.
    #[inline(always)]
    pub(crate) unsafe fn new(value: ErasedRef, spec: PackedSpec, put: PutFn, room: usize) -> Self {
        Argument {
            value,
            spec,
            put,
            room,
            of: PhantomData,
        }
    }

    /// # Safety
    /// As [`new`](Self::new), with a pointer to a [`Scratch`].
    #[inline(always)]
    pub(crate) unsafe fn fallback(value: ErasedRef, spec: PackedSpec, put: PutFn) -> Self {
        // SAFETY: an argument with this room is called with scratch memory only.
        unsafe { Self::new(value, spec, put, NO_ROOM) }
    }

    /// A piece with an empty specification.
    #[inline(always)]
    pub(super) fn piece<P: Piece>(piece: &'a P) -> Self {
        let (value, room) = (ErasedRef::of(piece), piece.room());
        // SAFETY: the function is for pieces of this type, and needs this room.
        unsafe { Self::new(value, PackedSpec::EMPTY, P::put_piece, room) }
    }

    /// A text with an empty specification.
    #[inline(always)]
    pub(crate) fn text(text: &'a str) -> Self {
        /// # Safety
        /// The value is a text, and `dst` has room for it.
        unsafe fn put(value: ErasedRef, _: PackedSpec, dst: *mut ()) -> usize {
            // SAFETY: the caller's promise.
            unsafe { Piece::put(&text_at(value), dst.cast()) }
        }
        // SAFETY: the function is for texts, and the room is the length.
        unsafe { Self::new(erase_text(text), PackedSpec::EMPTY_TEXT, put, text.len()) }
    }

    /// A fallback argument that cannot be formatted alone: std formats the whole message instead.
    #[inline(always)]
    pub(crate) fn left_to_std() -> Self {
        unsafe fn fail(_: ErasedRef, _: PackedSpec, _: *mut ()) -> usize {
            1
        }
        // SAFETY: the function uses none of its parameters.
        unsafe { Self::fallback(ErasedRef::of(&()), PackedSpec::EMPTY, fail) }
    }

    /// Whether code other than outpace's formats it.
    #[inline(always)]
    pub(crate) fn is_fallback(&self) -> bool {
        self.room == NO_ROOM
    }

    /// Whether it is a text with an empty specification.
    #[inline(always)]
    pub(super) fn is_plain_text(&self) -> bool {
        self.spec == PackedSpec::EMPTY_TEXT
    }

    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Writes the text of an inline argument at `dst`; returns its length.
    ///
    /// # Safety
    /// The argument is inline, and `dst` has its [`room`](Self::room).
    #[inline(always)]
    pub(super) unsafe fn put(&self, dst: *mut u8) -> usize {
        debug_assert!(!self.is_fallback());
        // SAFETY: `new` promises that it may be called so; the caller provides the room.
        unsafe { (self.put)(self.value, self.spec, dst.cast()) }
    }

    /// Appends the text.
    #[inline(always)]
    pub(super) fn append_to(&self, scratch: &mut Scratch<'_>) -> fmt::Result {
        if self.is_fallback() {
            // SAFETY: `fallback` promises that it may be called with scratch memory.
            let failed = unsafe { (self.put)(self.value, self.spec, (&raw mut *scratch).cast()) };
            return if failed == 0 { Ok(()) } else { Err(fmt::Error) };
        }
        // SAFETY: `space` makes the room; `length` bytes of text have been written there.
        unsafe {
            let length = self.put(scratch.space(self.room));
            scratch.advance(length);
        }
        Ok(())
    }

    /// Writes the text of an inline argument to a sink, through memory on the stack if it is short.
    pub(super) fn write_to(&self, sink: &mut dyn fmt::Write) -> fmt::Result {
        const SMALL: usize = 128;
        let mut small = [MaybeUninit::<u8>::uninit(); SMALL];
        let mut large = Vec::<u8>::new();
        let space: *mut u8 = if self.room <= SMALL {
            small.as_mut_ptr().cast()
        } else {
            large.reserve(self.room);
            large.as_mut_ptr()
        };
        // SAFETY: `space` has the room; `put` writes UTF-8.
        let text = unsafe {
            let length = self.put(space);
            str::from_utf8_unchecked(std::slice::from_raw_parts(space, length))
        };
        sink.write_str(text)
    }
}
