//! Arguments of small messages, by value: in registers, because a pointer to the value would cost more than its text.

#![allow(unsafe_code)]

use super::argument::{Argument, NO_ROOM};
use super::classify::{Classified, Kind, classify};
use super::dispatch::if_display;
use super::float::{ORDINARY_LEN, is_ordinary, sealed::Sealed as _};
use super::integer::{Integer, sealed::Sealed as _, with_sign};
use super::piece::Piece;
use super::table::put_short;

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

/// Runs the same on the piece in a value.
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
    /// Integers have few kinds, so that small messages have few. `other` makes an argument of any other value.
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

/// `{}` in a small message that `format_args!` also gets as a whole, which demands the trait
pub fn value<T>(value: &T) -> Value<'_> {
    Value::of(value, if_display)
}

/// A word is an unsigned integer.
pub(crate) const UNSIGNED: u32 = 0;
/// A word is a signed integer.
pub(crate) const SIGNED: u32 = 1;
/// A word is the bits of an `f64`.
pub(crate) const DOUBLE: u32 = 2;
/// A word is a [packed text](packed).
pub(crate) const PACKED: u32 = 3;

impl Value<'_> {
    /// The value as a word, and the word's kind. `None` if it does not fit.
    #[inline(always)]
    pub(crate) fn word(self) -> Option<(u64, u32)> {
        Some(match self {
            Value::Unsigned(n) => (n, UNSIGNED),
            Value::Signed(n) => (n as u64, SIGNED),
            Value::Double(x) => (x.to_bits(), DOUBLE),
            Value::Bool(b) => (packed_bool(b), PACKED),
            Value::Char(c) => (packed_char(c), PACKED),
            Value::Single(_) | Value::Other(_) => return None,
        })
    }
}

/// As [`Value::word`], of any value. Not `inline(always)`: a build without optimizations would compile it for each
/// argument instead of each type.
#[inline]
pub(crate) fn word<T: ?Sized>(value: &T) -> Option<(u64, u32)> {
    Value::of(value, |_| Argument::left_to_std()).word()
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

/// An argument of a [`SmallMessage`](super::message::SmallMessage): a [`Value`], or the piece in one.
pub trait SmallArgument: Copy {
    /// Whether its text can be written without a call.
    fn is_inline(&self) -> bool;

    /// The room that [`put_inline`](Self::put_inline) needs.
    fn inline_room(&self) -> usize;

    /// Writes the text at `dst`; returns its length.
    ///
    /// # Safety
    /// `dst` has the room; the argument is inline.
    unsafe fn put_inline(&self, dst: *mut u8) -> usize;

    /// The type-erased argument.
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

/// `SmallArgument` of a piece: its room, whether a value is inline, and how it is written then.
macro_rules! small_pieces {
    ($($type:ident, $room:expr, |$value:ident, $dst:ident| $is_inline:expr, $put:expr;)*) => {$(
        impl SmallArgument for $type {
            #[inline(always)]
            fn is_inline(&self) -> bool {
                let $value = *self;
                $is_inline
            }

            #[inline(always)]
            fn inline_room(&self) -> usize {
                $room
            }

            #[inline(always)]
            unsafe fn put_inline(&self, $dst: *mut u8) -> usize {
                let $value = *self;
                // SAFETY: the caller's promise.
                unsafe { $put }
            }

            #[inline(always)]
            fn erased(&self) -> Argument<'_> {
                Argument::piece(self)
            }
        }
    )*};
}
small_pieces! {
    u64, Self::MAX_LEN, |n, dst| n.is_short(), put_short(n, dst);
    i64, Self::MAX_LEN, |n, dst| n.is_short(), with_sign(n < 0, dst, |dst| put_short(n.unsigned_abs(), dst));
    f64, ORDINARY_LEN, |x, dst| is_ordinary(x), x.put_ordinary(dst);
    f32, ORDINARY_LEN, |x, dst| is_ordinary(x), x.put_ordinary(dst);
    bool, 8, |_value, dst| true, Piece::put(&_value, dst);
    char, 4, |c, dst| c.is_ascii(), { dst.write(c as u8); 1 };
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
        on_piece!(self, |piece| Argument::piece(piece), argument => *argument)
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
