//! Numbers and texts with sign, prefix, padding or quotes, by a specification.

#![allow(unsafe_code)]

use super::float::{self, Float, Notation};
use super::integer::{Integer, sealed::Sealed as _};
use super::piece::Piece;
use super::radix::{self, Radix};
use super::scratch::Scratch;
use super::spec::{Align, MOVED, Spec};
use super::word::put_word;
use std::mem::MaybeUninit;

/// A number's sign and prefix and its digits, before padding.
pub(crate) trait Number: Copy {
    /// The sign and prefix, without zero padding.
    fn head(self, spec: &Spec) -> &'static str;
    /// The digits as a word, and their number, if they are short.
    #[inline(always)]
    fn word(self) -> Option<(u64, usize)> {
        None
    }
    /// Writes the digits, returns their number.
    ///
    /// # Safety
    /// `dst` has the room of the number's format.
    unsafe fn put_digits(self, spec: &Spec, dst: *mut u8) -> usize;
}

#[inline(always)]
fn sign(negative: bool, spec: &Spec) -> &'static str {
    match (negative, spec.plus) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    }
}

macro_rules! integers {
    ($($integer:ident $unsigned:ident;)*) => {$(
        impl Number for $integer {
            #[inline(always)]
            fn head(self, spec: &Spec) -> &'static str {
                #[allow(unused_comparisons)]
                sign(self < 0, spec)
            }

            #[inline(always)]
            fn word(self) -> Option<(u64, usize)> {
                // SAFETY: `is_short` is checked first.
                self.is_short().then(|| unsafe { self.short_word() })
            }

            #[inline(always)]
            unsafe fn put_digits(self, _: &Spec, dst: *mut u8) -> usize {
                #[allow(unused_comparisons)]
                let magnitude = match self < 0 {
                    true => (self as $unsigned).wrapping_neg(),
                    false => self as $unsigned,
                };
                // SAFETY: the caller has the room that the integer asks for.
                unsafe { magnitude.write_to(dst) }
            }
        }

        impl Number for InRadix<$integer> {
            #[inline(always)]
            fn head(self, spec: &Spec) -> &'static str {
                match (spec.plus, spec.alternate, self.radix) {
                    (false, false, _) => "",
                    (true, false, _) => "+",
                    (false, true, Radix::Binary) => "0b",
                    (false, true, Radix::Octal) => "0o",
                    (false, true, Radix::LowerHex | Radix::UpperHex) => "0x",
                    (true, true, Radix::Binary) => "+0b",
                    (true, true, Radix::Octal) => "+0o",
                    (true, true, Radix::LowerHex | Radix::UpperHex) => "+0x",
                }
            }

            #[inline(always)]
            unsafe fn put_digits(self, _: &Spec, dst: *mut u8) -> usize {
                // SAFETY: the room is for as many bits.
                unsafe { radix::put(self.value as $unsigned as u128, self.radix, dst) }
            }
        }
    )*};
}
integers! {
    u8 u8; u16 u16; u32 u32; u64 u64; u128 u128; usize usize;
    i8 u8; i16 u16; i32 u32; i64 u64; i128 u128; isize usize;
}

/// An integer in hexadecimal, octal or binary.
#[derive(Clone, Copy)]
pub(crate) struct InRadix<I> {
    pub(super) value: I,
    pub(super) radix: Radix,
}

/// A float in one of its notations.
#[derive(Clone, Copy)]
pub(crate) struct InNotation<F> {
    pub(super) value: F,
    pub(super) notation: Notation,
}

impl<F: Float> Number for InNotation<F> {
    #[inline(always)]
    fn head(self, spec: &Spec) -> &'static str {
        if self.value.not_a_number() {
            ""
        } else {
            sign(self.value.negative(), spec)
        }
    }

    #[inline(always)]
    unsafe fn put_digits(self, spec: &Spec, dst: *mut u8) -> usize {
        let magnitude = self.value.magnitude();
        // SAFETY: the caller has the room that these ask for.
        unsafe {
            match spec.precision {
                Some(decimals) => float::put_decimals(magnitude, decimals, dst),
                None => magnitude.put(self.notation, dst),
            }
        }
    }
}

/// A padded number.
pub(crate) struct Padded<N> {
    pub(super) number: N,
    pub(super) spec: Spec,
}

impl<N: Number> Padded<N> {
    /// Writes the number, returns the length.
    ///
    /// # Safety
    /// `dst` has the room of the format and of the specification.
    #[inline(always)]
    pub(super) unsafe fn put(&self, dst: *mut u8) -> usize {
        let Padded { number, spec } = self;
        let head = number.head(spec);
        if spec.width <= MOVED
            && (spec.zero || spec.is_right_with_ascii())
            && let Some((word, length)) = number.word()
        {
            // SAFETY: the room is for the head, a word, and `MOVED` bytes more if there is a width.
            return unsafe { put_right(spec, head, word, length, dst) };
        }
        // SAFETY: the room is for the head, the digits, and what `pad` asks for.
        unsafe {
            head.put(dst);
            let length = head.len() + number.put_digits(spec, dst.add(head.len()));
            if length < spec.width {
                pad(spec, head.len(), length, dst)
            } else {
                length
            }
        }
    }
}

/// Writes a short number aligned to the right, in place.
///
/// # Safety
/// `dst` has room for the head, the word, and, if a width is given, for `MOVED` bytes more. The width is at most that,
/// and the fill is one byte.
#[inline(always)]
unsafe fn put_right(spec: &Spec, head: &str, word: u64, length: usize, dst: *mut u8) -> usize {
    let missing = spec.width.saturating_sub(head.len() + length);
    let put_fill = |fill: char, at: usize| {
        if missing > 0 {
            // SAFETY: a width is given, so `dst` has room for `MOVED` bytes behind the head.
            unsafe { dst.add(at).cast::<[u8; MOVED]>().write([fill as u8; MOVED]) };
        }
    };
    // SAFETY: the padding ends at most at `MOVED`, and the head and the word have room behind it.
    unsafe {
        if spec.zero {
            head.put(dst);
            put_fill('0', head.len());
        } else {
            put_fill(spec.fill, 0);
            head.put(dst.add(missing));
        }
        put_word(word, dst.add(missing + head.len()));
    }
    missing + head.len() + length
}

/// Pads the number of `length` bytes at `dst`, of which the first `head` are sign and prefix; returns the new length.
///
/// # Safety
/// `dst` has room for `length`, for the width in fill characters, and for `MOVED` bytes.
#[inline(never)]
unsafe fn pad(spec: &Spec, head: usize, length: usize, dst: *mut u8) -> usize {
    let missing = spec.width - length;
    // `0` overrides fill and alignment, and zeros go after the sign.
    let (fill, align, head) = if spec.zero {
        ('0', Align::Right, head)
    } else {
        (spec.fill, spec.align, 0)
    };
    let before = match align {
        Align::Left => 0,
        Align::Right | Align::Unknown => missing,
        Align::Center => missing / 2,
    };
    let fill_length = fill.len_utf8();
    // SAFETY: moved and filled bytes end at `length + missing * fill_length` at most, or at `MOVED` behind that.
    unsafe {
        let from = dst.add(head);
        let to = from.add(before * fill_length);
        move_up(from, to, length - head);
        put_fill(fill, before, from);
        put_fill(fill, missing - before, to.add(length - head));
    }
    length + missing * fill_length
}

/// # Safety
/// `length.max(MOVED)` bytes are valid for reads at `from` and for writes at `to`.
#[inline(always)]
unsafe fn move_up(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise; bytes beyond the length may not have been written yet, which for
    // MaybeUninit does not matter.
    unsafe {
        if length <= MOVED {
            let bytes = from.cast::<[MaybeUninit<u8>; MOVED]>().read_unaligned();
            to.cast::<[MaybeUninit<u8>; MOVED]>().write_unaligned(bytes);
        } else {
            to.copy_from(from, length);
        }
    }
}

/// Writes a fill character `count` times.
///
/// # Safety
/// There is room for them at `dst`.
#[inline(always)]
unsafe fn put_fill(fill: char, count: usize, dst: *mut u8) {
    if fill.is_ascii() {
        // SAFETY: one byte each.
        unsafe { dst.write_bytes(fill as u8, count) };
        return;
    }
    let mut bytes = [0; 4];
    let fill: &str = fill.encode_utf8(&mut bytes);
    for i in 0..count {
        // SAFETY: there is room for the count of them.
        unsafe { fill.put(dst.add(i * fill.len())) };
    }
}

/// Padded text, cut after `precision` characters.
pub(crate) struct PaddedStr<'a> {
    pub(super) text: &'a str,
    pub(super) spec: Spec,
}

impl PaddedStr<'_> {
    /// Writes the text, returns the length.
    ///
    /// # Safety
    /// As of [`Padded::put`].
    #[inline]
    pub(super) unsafe fn put(&self, dst: *mut u8) -> usize {
        let PaddedStr { text, ref spec } = *self;
        let text = match spec.precision {
            None => text,
            Some(precision) => match text.char_indices().nth(precision) {
                Some((end, _)) => &text[..end],
                None => text,
            },
        };
        let missing = match spec.width {
            0 => 0,
            width => width.saturating_sub(text.chars().count()),
        };
        let before = match spec.align {
            Align::Left | Align::Unknown => 0,
            Align::Right => missing,
            Align::Center => missing / 2,
        };
        let fill_length = spec.fill.len_utf8();
        // SAFETY: the room is for the text and the missing fill characters.
        unsafe {
            let start = dst.add(before * fill_length);
            if missing > 0 {
                put_fill(spec.fill, before, dst);
                put_fill(spec.fill, missing - before, start.add(text.len()));
            }
            text.put(start);
        }
        text.len() + missing * fill_length
    }
}

/// A text as `{:?}` shows it: quoted and escaped.
pub(crate) struct Quoted<'a>(pub(super) &'a str);

impl Quoted<'_> {
    /// The longest escape of a byte: that of a control character, `\u{7f}`.
    pub(super) const LONGEST: usize = 6;
    /// The quotes.
    pub(super) const AROUND: usize = 2;

    /// Writes the text, returns the length.
    ///
    /// # Safety
    /// `dst` has room for the quotes and for the longest escape of each byte.
    #[inline(always)]
    pub(super) unsafe fn put(&self, dst: *mut u8) -> usize {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
        // SAFETY: the caller's promise.
        unsafe {
            if self.0.as_bytes().iter().all(is_plain) {
                ('"', self.0, '"').put(dst)
            } else {
                let room = Self::AROUND + self.0.len() * Self::LONGEST;
                Scratch::format_at(dst, room, format_args!("{:?}", self.0))
            }
        }
    }
}

/// A character as `{:?}` shows it.
pub(crate) struct QuotedChar(pub(super) char);

impl QuotedChar {
    /// The quotes, and `\u{10ffff}`.
    pub(super) const ROOM: usize = 12;

    /// Writes the character, returns the length.
    ///
    /// # Safety
    /// `dst` has room for [`ROOM`](Self::ROOM) bytes.
    #[inline(always)]
    pub(super) unsafe fn put(&self, dst: *mut u8) -> usize {
        // SAFETY: the caller's promise; no text is longer.
        unsafe { Scratch::format_at(dst, Self::ROOM, format_args!("{:?}", self.0)) }
    }
}
