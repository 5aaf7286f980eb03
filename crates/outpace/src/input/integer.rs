//! Integers.
//!
//! Up to 19 digits (16 for types that hold fewer) the way is without a branch that depends on the number, but one for
//! those of more than 16: the bytes are compared with digits, the first that is none ends the number, the sixteen bytes
//! in front of that are read once more, and what is not of the number is masked. So numbers of mixed lengths and signs
//! cost few mispredictions. Where the next number begins is known only when this one's end is; so the comparison is of 64
//! bytes at once, as a mask that serves three numbers ([`Ahead`]), and the processor works on several of them at a time.
//! Whatever else there may be takes the token as a whole, digit by digit, with overflow found exactly.

use super::digits::{CHUNK, View, chunk, non_digits, non_digits_ahead, value, view, wide};
use super::{Error, ErrorKind, FromInput, Input, OneBased, Source};

/// What is read as an integer.
pub(super) trait Integer: Sized {
    /// What an error says was expected.
    const NAME: &'static str;
    const SIGNED: bool;

    /// From the absolute value and the sign, if it can be held.
    fn narrow(magnitude: u64, negative: bool) -> Option<Self>;

    /// The same, from any number.
    fn wide(magnitude: u128, negative: bool) -> Option<Self>;
}

/// An integer that was read: its absolute value, its sign, and where what is next begins.
type Found = (u64, bool, usize);

/// The place behind the space at `end`, if it is one of the usual ones.
#[inline(always)]
pub(super) fn behind(window: &[u8], end: usize) -> Option<usize> {
    match window.get(end)? {
        b' ' | b'\n' => Some(end + 1),
        b'\r' if window.get(end + 1) == Some(&b'\n') => Some(end + 2),
        _ => None,
    }
}

/// A number of at most 16 characters that begins at `at`.
#[inline(always)]
fn short(window: &[u8], at: usize, signed: bool) -> Option<Found> {
    let view = view(window, at)?;
    let negative = signed && view[CHUNK] == b'-';
    let others = non_digits(chunk(view, CHUNK)) & !u32::from(negative);
    // A bit behind the chunk, so that there is one.
    let end = (others | 1 << CHUNK).trailing_zeros() as usize;
    let digits = end - usize::from(negative);
    if digits == 0 {
        return None;
    }
    let next = behind(&view[CHUNK..], end)?;
    Some((value(chunk(view, end), digits), negative, at + next))
}

/// A number of at most 19 digits that begins at `at`: less than 2^64.
#[inline(always)]
fn long(window: &[u8], at: usize, signed: bool) -> Option<Found> {
    let view = view(window, at)?;
    let negative = signed && view[CHUNK] == b'-';
    let others = non_digits(chunk(view, CHUNK)) | non_digits(chunk(view, 2 * CHUNK)) << CHUNK;
    let end = (others & !u32::from(negative) | 1 << 21).trailing_zeros() as usize;
    let digits = end - usize::from(negative);
    if digits == 0 || digits > CHUNK + 3 {
        return None;
    }
    let next = behind(&view[CHUNK..], end)?;
    let low = value(chunk(view, end), digits.min(CHUNK));
    let high = upto3(view, end.max(CHUNK), digits.saturating_sub(CHUNK));
    Some((high * 10_u64.pow(16) + low, negative, at + next))
}

/// What the last `digits` bytes in front of `end` come to, at most 3.
#[inline(always)]
fn upto3(view: &View, end: usize, digits: usize) -> u64 {
    let word = view[end - 4..].first_chunk().expect("a view is longer");
    let mask = !(u64::from(u32::MAX) >> (8 * digits)) as u32;
    let masked = u32::from_le_bytes(*word) & mask;
    let digit = |at: u32| (masked >> (8 * at)) & 0x0f;
    u64::from(digit(1) * 100 + digit(2) * 10 + digit(3))
}

/// Which of the next bytes are digits.
pub(super) struct Ahead {
    /// A bit for each byte that is none, from `at` on.
    others: u64,
    at: usize,
    /// For so many numbers more the mask is long enough. 0 once the window has moved.
    numbers: u8,
}

impl Ahead {
    pub(super) const NOTHING: Self = Ahead {
        others: 0,
        at: 0,
        numbers: 0,
    };

    /// So many numbers, each with a minus before it and a space behind it, are within 64 bytes. After two that end
    /// with CRLF instead, the mask may end before the third does: no bit is set, and the third is read as a token.
    const NUMBERS: u8 = 64 / (1 + MOST_DIGITS as u8 + 1);

    /// A number that begins at `at`, unless the window ends soon.
    #[inline(always)]
    fn read<T: Integer>(&mut self, window: &[u8], at: usize) -> Option<(T, usize)> {
        let view = wide(window, at)?;
        if self.numbers == 0 || self.at != at {
            *self = Ahead {
                others: non_digits_ahead(view),
                at,
                numbers: Self::NUMBERS,
            };
        }
        let negative = T::SIGNED && view[CHUNK] == b'-';
        // 32 digits would be none, which is refused, too.
        let end = (self.others & !u64::from(negative)).trailing_zeros() as usize & 31;
        let digits = end.wrapping_sub(usize::from(negative));
        let most = if size_of::<T>() < 8 {
            CHUNK
        } else {
            MOST_DIGITS
        };
        if digits.wrapping_sub(1) >= most {
            return None;
        }
        let next = behind(&view[CHUNK..], end)?;
        let mut magnitude = value(chunk(view, end), digits.min(CHUNK));
        if digits > CHUNK {
            magnitude += value(chunk(view, end - CHUNK), digits - CHUNK) * 10_u64.pow(16);
        }
        let number = T::narrow(magnitude, negative)?;
        *self = Ahead {
            others: self.others >> next,
            at: at + next,
            numbers: self.numbers - 1,
        };
        Some((number, at + next))
    }
}

/// As many as fit 64 bits, whatever they are.
const MOST_DIGITS: usize = 19;

/// Without the token as a whole.
#[inline(always)]
fn fast<T: Integer>(window: &[u8], at: usize) -> Option<(T, usize)> {
    let (magnitude, negative, next) = if size_of::<T>() < 8 {
        short(window, at, T::SIGNED)?
    } else {
        long(window, at, T::SIGNED)?
    };
    Some((T::narrow(magnitude, negative)?, next))
}

/// A token, digit by digit.
fn parse<T: Integer>(token: &[u8]) -> Result<T, ErrorKind> {
    let (negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        _ => (false, token),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(ErrorKind::Invalid);
    }
    if negative && !T::SIGNED {
        return Err(ErrorKind::OutOfRange);
    }
    let magnitude = digits.iter().try_fold(0_u128, |magnitude, digit| {
        magnitude
            .checked_mul(10)?
            .checked_add(u128::from(digit - b'0'))
    });
    magnitude
        .and_then(|magnitude| T::wide(magnitude, negative))
        .ok_or(ErrorKind::OutOfRange)
}

#[inline(always)]
fn read<T: Integer, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    if let Some((number, next)) = input.ahead.read(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    read_cold(input)
}

#[inline(never)]
fn read_cold<T: Integer, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    input.skip_spaces()?;
    if let Some((number, next)) = fast(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    let (from, to) = input.next_token(T::NAME)?;
    parse(&input.source.window()[from..to]).map_err(|kind| input.error_at(from, to, kind, T::NAME))
}

macro_rules! integers {
    ($($signed:literal: $($type:ident)*;)*) => {
        $($(impl Integer for $type {
            const NAME: &'static str = stringify!($type);
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn narrow(magnitude: u64, negative: bool) -> Option<Self> {
                if size_of::<$type>() > 8 {
                    return Self::wide(magnitude.into(), negative);
                }
                let most = $type::MAX as u64 + u64::from(negative);
                if magnitude > most {
                    return None;
                }
                let number = magnitude as $type;
                // The least one is its own negative.
                Some(if negative { (0 as $type).wrapping_sub(number) } else { number })
            }

            #[inline]
            fn wide(magnitude: u128, negative: bool) -> Option<Self> {
                let most = $type::MAX as u128 + u128::from(negative);
                if magnitude > most {
                    return None;
                }
                let number = magnitude as $type;
                Some(if negative { (0 as $type).wrapping_sub(number) } else { number })
            }
        }

        impl FromInput for $type {
            #[inline]
            fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
                read(input)
            }
        })*)*
    };
}

integers! {
    false: u8 u16 u32 u64 u128 usize;
    true: i8 i16 i32 i64 i128 isize;
}

impl Integer for OneBased {
    const NAME: &'static str = "an index from 1";
    const SIGNED: bool = false;

    #[inline(always)]
    fn narrow(magnitude: u64, _: bool) -> Option<Self> {
        let index = usize::try_from(magnitude).ok()?.checked_sub(1)?;
        Some(OneBased(index))
    }

    fn wide(magnitude: u128, negative: bool) -> Option<Self> {
        Self::narrow(u64::try_from(magnitude).ok()?, negative)
    }
}

impl FromInput for OneBased {
    #[inline]
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
        read(input)
    }
}
