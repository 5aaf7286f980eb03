//! Arguments of the macros, their types erased.
//!
//! A program has many messages, and each kind that is compiled by itself takes its builder time. So an argument is a
//! pointer to a value and a pointer to a function, as in `core::fmt`, and one piece of code puts all messages of such
//! arguments together: [`MessageArgs`](super::message::MessageArgs). Short messages of integers and the like, for which
//! these pointers would cost more than the text itself, have their values in registers:
//! [`SmallMessage`](super::message::SmallMessage) and [`WordMessage`](super::message::WordMessage).

#![allow(unsafe_code)]

use super::classify::{Classified, ErasedRef, Kind, classify, erase_text, text_at};
use super::dispatch;
use super::piece::Piece;
use super::scratch::Scratch;
use super::spec::PackedSpec;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The room of a fallback argument: more than any stream has.
pub(super) const NO_ROOM: usize = usize::MAX;

/// Puts the value's text at a place and returns its length. Of a fallback argument: has `core::fmt` append it to the
/// [`Scratch`] there, and returns 0, or 1 if that has failed.
pub(crate) type PutFn = unsafe fn(ErasedRef, PackedSpec, *mut ()) -> usize;

/// An argument, its type erased. It is *inline* if outpace writes its text by itself, else a *fallback* argument, which
/// its own trait formats.
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
    /// so much room.
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
        // SAFETY: the room says that it is called with scratch memory.
        unsafe { Self::new(value, spec, put, NO_ROOM) }
    }

    /// A text with an empty specification.
    #[inline(always)]
    pub(crate) fn text(text: &'a str) -> Self {
        /// # Safety
        /// The value is a text, and there is room for it at `dst`.
        unsafe fn put(value: ErasedRef, _: PackedSpec, dst: *mut ()) -> usize {
            // SAFETY: the caller's promise.
            unsafe { Piece::put(&text_at(value), dst.cast()) }
        }
        // SAFETY: the function is for texts, and the room is the length.
        unsafe { Self::new(erase_text(text), PackedSpec::EMPTY_TEXT, put, text.len()) }
    }

    /// A fallback argument of a message that `format_args!` gets as a whole, too. It cannot be formatted alone.
    #[inline(always)]
    pub(crate) fn left_to_std() -> Self {
        unsafe fn fail(_: ErasedRef, _: PackedSpec, _: *mut ()) -> usize {
            1
        }
        // SAFETY: the function uses none of its parameters.
        unsafe { Self::fallback(ErasedRef::of(&()), PackedSpec::EMPTY, fail) }
    }

    /// Whether code other than outpace's makes the text.
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
    /// The argument is inline, and there is its [`room`](Self::room) at `dst`.
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
        // SAFETY: there is the room; so many bytes of text have been written there.
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
        // SAFETY: there is the room; what is written is text.
        let text = unsafe {
            let length = self.put(space);
            str::from_utf8_unchecked(std::slice::from_raw_parts(space, length))
        };
        sink.write_str(text)
    }
}

/// A value with an empty specification, in a small message.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// An unsigned integer of at most 64 bits.
    Unsigned(u64),
    /// A signed one.
    Signed(i64),
    /// An `f64`
    Double(f64),
    /// An `f32`
    Single(f32),
    /// A `bool`
    Bool(bool),
    /// A `char`
    Char(char),
    /// All else.
    Other(Argument<'a>),
}

/// Runs the same on the piece that a value is.
macro_rules! on_piece {
    ($value:expr, |$piece:ident| $run:expr, $argument:pat => $other:expr) => {
        match $value {
            Value::Unsigned($piece) => $run,
            Value::Signed($piece) => $run,
            Value::Double($piece) => $run,
            Value::Single($piece) => $run,
            Value::Bool($piece) => $run,
            Value::Char($piece) => $run,
            Value::Other($argument) => $other,
        }
    };
}

impl<'a> Value<'a> {
    /// There are few kinds of integers, so that there are few kinds of small messages. `other` makes an argument of all
    /// else.
    #[inline(always)]
    pub(crate) fn of<T: ?Sized>(value: &'a T, other: impl FnOnce(&'a T) -> Argument<'a>) -> Self {
        let Classified {
            kind,
            value: erased,
        } = classify(value);
        // SAFETY: it refers to a value of this kind.
        unsafe {
            match kind {
                Kind::U8 => Value::Unsigned((*erased.get_sized::<u8>()).into()),
                Kind::U16 => Value::Unsigned((*erased.get_sized::<u16>()).into()),
                Kind::U32 => Value::Unsigned((*erased.get_sized::<u32>()).into()),
                Kind::U64 => Value::Unsigned(*erased.get_sized()),
                Kind::USIZE => Value::Unsigned(*erased.get_sized::<usize>() as u64),
                Kind::I8 => Value::Signed((*erased.get_sized::<i8>()).into()),
                Kind::I16 => Value::Signed((*erased.get_sized::<i16>()).into()),
                Kind::I32 => Value::Signed((*erased.get_sized::<i32>()).into()),
                Kind::I64 => Value::Signed(*erased.get_sized()),
                Kind::ISIZE => Value::Signed(*erased.get_sized::<isize>() as i64),
                Kind::F32 => Value::Single(*erased.get_sized()),
                Kind::F64 => Value::Double(*erased.get_sized()),
                Kind::BOOL => Value::Bool(*erased.get_sized()),
                Kind::CHAR => Value::Char(*erased.get_sized()),
                _ => Value::Other(other(value)),
            }
        }
    }
}

/// A word is an unsigned integer.
pub(crate) const UNSIGNED: u32 = 0;
/// A word is a signed integer.
pub(crate) const SIGNED: u32 = 1;
/// A word is the bits of an `f64`.
pub(crate) const DOUBLE: u32 = 2;
/// A word is a [packed text](packed).
pub(crate) const PACKED: u32 = 3;

/// A value as a word, and which of the four kinds of words it is. `None` for all that does not fit.
#[inline(always)]
pub(crate) fn word<T: ?Sized>(value: &T) -> Option<(u64, u32)> {
    let Classified { kind, value } = classify(value);
    // SAFETY: it refers to a value of this kind.
    unsafe {
        Some(match kind {
            Kind::U8 => ((*value.get_sized::<u8>()).into(), UNSIGNED),
            Kind::U16 => ((*value.get_sized::<u16>()).into(), UNSIGNED),
            Kind::U32 => ((*value.get_sized::<u32>()).into(), UNSIGNED),
            Kind::U64 => (*value.get_sized(), UNSIGNED),
            Kind::USIZE => (*value.get_sized::<usize>() as u64, UNSIGNED),
            Kind::I8 => (*value.get_sized::<i8>() as u64, SIGNED),
            Kind::I16 => (*value.get_sized::<i16>() as u64, SIGNED),
            Kind::I32 => (*value.get_sized::<i32>() as u64, SIGNED),
            Kind::I64 => (*value.get_sized::<i64>() as u64, SIGNED),
            Kind::ISIZE => (*value.get_sized::<isize>() as u64, SIGNED),
            Kind::F64 => (value.get_sized::<f64>().to_bits(), DOUBLE),
            Kind::BOOL => (packed_bool(*value.get_sized()), PACKED),
            Kind::CHAR => (packed_char(*value.get_sized()), PACKED),
            _ => return None,
        })
    }
}

/// A text of at most seven bytes as a word: the text from the lowest byte on, and its length in the highest.
const fn packed(text: &[u8]) -> u64 {
    let (mut word, mut i) = ((text.len() as u64) << 56, 0);
    while i < text.len() {
        word |= (text[i] as u64) << (8 * i);
        i += 1;
    }
    word
}

#[inline(always)]
fn packed_bool(value: bool) -> u64 {
    const TEXTS: [u64; 2] = [packed(b"false"), packed(b"true")];
    if value { TEXTS[1] } else { TEXTS[0] }
}

#[inline(always)]
fn packed_char(c: char) -> u64 {
    #[cold]
    #[inline(never)]
    fn encoded(c: char) -> u64 {
        packed(c.encode_utf8(&mut [0; 4]).as_bytes())
    }
    if c.is_ascii() {
        u64::from(u32::from(c)) | 1 << 56
    } else {
        encoded(c)
    }
}

/// An argument of a [`SmallMessage`](super::message::SmallMessage): a [`Piece`] or a [`Value`].
pub trait SmallArgument: Copy {
    /// Whether its text can be put without calling a function.
    fn is_inline(&self) -> bool;

    /// The room that [`put_inline`](Self::put_inline) needs.
    fn inline_room(&self) -> usize;

    /// Writes the text at `dst`; returns its length.
    ///
    /// # Safety
    /// There is the room; the argument is inline.
    unsafe fn put_inline(&self, dst: *mut u8) -> usize;

    /// The argument, its type erased.
    fn erased(&self) -> Argument<'_>;

    /// The number, if the compiler knows it to be unsigned.
    #[inline(always)]
    fn as_unsigned(&self) -> Option<u64> {
        None
    }

    /// As [`Argument::is_plain_text`].
    #[inline(always)]
    fn is_plain_text(&self) -> bool {
        false
    }

    /// As [`Argument::is_fallback`].
    #[inline(always)]
    fn is_fallback(&self) -> bool {
        false
    }
}

impl<P: Piece> SmallArgument for P {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        P::INLINE && P::is_inline(self)
    }

    #[inline(always)]
    fn inline_room(&self) -> usize {
        P::inline_room(self)
    }

    #[inline(always)]
    unsafe fn put_inline(&self, dst: *mut u8) -> usize {
        // SAFETY: the caller's promise.
        unsafe { P::put_inline(self, dst) }
    }

    #[inline(always)]
    fn erased(&self) -> Argument<'_> {
        dispatch::piece(self)
    }
}

impl SmallArgument for Value<'_> {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        on_piece!(self, |piece| SmallArgument::is_inline(piece), _ => false)
    }

    #[inline(always)]
    fn inline_room(&self) -> usize {
        on_piece!(self, |piece| SmallArgument::inline_room(piece), _ => NO_ROOM)
    }

    #[inline(always)]
    unsafe fn put_inline(&self, dst: *mut u8) -> usize {
        debug_assert!(self.is_inline());
        // SAFETY: the caller's promise; `Other` is never inline.
        unsafe { on_piece!(self, |piece| SmallArgument::put_inline(piece, dst), _ => 0) }
    }

    #[inline(always)]
    fn erased(&self) -> Argument<'_> {
        on_piece!(self, |piece| dispatch::piece(piece), argument => *argument)
    }

    #[inline(always)]
    fn as_unsigned(&self) -> Option<u64> {
        match *self {
            Value::Unsigned(n) => Some(n),
            _ => None,
        }
    }

    #[inline(always)]
    fn is_plain_text(&self) -> bool {
        matches!(self, Value::Other(argument) if argument.is_plain_text())
    }

    #[inline(always)]
    fn is_fallback(&self) -> bool {
        matches!(self, Value::Other(argument) if argument.is_fallback())
    }
}
