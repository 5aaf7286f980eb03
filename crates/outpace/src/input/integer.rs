//! Integers.
//!
//! The fast path reads up to 19 digits (16 for types of less than 64 bits), with one branch that depends on the number:
//! whether it has more than 16. It compares the bytes with digits, takes the first non-digit for the number's end, loads
//! the sixteen bytes in front of that, and masks bytes before the number. So numbers of mixed lengths and signs cost few
//! mispredictions. A number's start depends on the end of the one before; to break that chain, [`Lookahead`] finds the ends
//! of about fifty numbers at once, and the processor works on several numbers at a time. The slow path parses a token digit
//! by digit, and finds overflow exactly.

use super::digits::{BLOCK, CHUNK, View, chunk, non_digits, non_digits_in, value, view};
use super::{Error, ErrorKind, FromInput, Input, OneBased, Source};

/// A type that is read as an integer.
pub(super) trait ReadInteger: Sized {
    /// The expected value in an error.
    const NAME: &'static str;
    const SIGNED: bool;

    /// From the absolute value and the sign; `None` if out of range.
    fn narrow(magnitude: u64, negative: bool) -> Option<Self>;

    /// The same, from 128 bits.
    fn wide(magnitude: u128, negative: bool) -> Option<Self>;
}

/// An integer: its absolute value, its sign, and the place behind it and its space.
type Parsed = (u64, bool, usize);

/// The place behind the space at `end`; `None` unless that is a space, a newline or a CRLF.
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
fn short(window: &[u8], at: usize, signed: bool) -> Option<Parsed> {
    let view = view(window, at)?;
    let negative = signed && view[CHUNK] == b'-';
    let others = non_digits(chunk(view, CHUNK)) & !u32::from(negative);
    // A sentinel bit behind the chunk.
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
fn long(window: &[u8], at: usize, signed: bool) -> Option<Parsed> {
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
    let high = value_of_3(view, end.max(CHUNK), digits.saturating_sub(CHUNK));
    Some((high * 10_u64.pow(16) + low, negative, at + next))
}

/// The value of the last `digits` bytes in front of `end`, at most 3.
#[inline(always)]
fn value_of_3(view: &View, end: usize, digits: usize) -> u64 {
    let word = view[end - 4..].first_chunk().expect("a view is longer");
    let mask = !(u64::from(u32::MAX) >> (8 * digits)) as u32;
    let masked = u32::from_le_bytes(*word) & mask;
    let digit = |at: u32| (masked >> (8 * at)) & 0x0f;
    u64::from(digit(1) * 100 + digit(2) * 10 + digit(3))
}

/// How many bytes are searched for non-digits at a time.
const SPAN: usize = 8 * BLOCK;

/// The places of the next non-digits in the window.
pub(super) struct Lookahead {
    /// Relative to `base`, followed by [`SENTINELS`](Self::SENTINELS).
    places: [u16; SPAN + BLOCK + Self::SENTINELS.len()],
    base: usize,
    /// The index of the first place not yet consumed.
    next: usize,
}

impl Lookahead {
    /// As many as one number consumes. 0 cannot be a number's end, because ends are behind `base`.
    const SENTINELS: [u16; 3] = [0; 3];

    pub(super) const EMPTY: Self = Lookahead {
        places: [0; SPAN + BLOCK + Self::SENTINELS.len()],
        base: 0,
        next: 0,
    };

    /// Forgets all places: the window has moved.
    pub(super) fn clear(&mut self) {
        self.terminate(0);
        (self.base, self.next) = (0, 0);
    }

    /// Writes the sentinels behind `count` places.
    fn terminate(&mut self, count: usize) {
        self.places[count..][..Self::SENTINELS.len()].copy_from_slice(&Self::SENTINELS);
    }

    /// Finds places from `at` on, where a number begins; returns false near the window's end, where it finds none.
    fn scan(&mut self, window: &[u8], at: usize) -> bool {
        // Places found before still hold.
        while let Some(&place) = self.places.get(self.next)
            && place > 0
        {
            if self.base + usize::from(place) >= at {
                return true;
            }
            self.next += 1;
        }
        let mut count = 0;
        let blocks = window.get(at..).unwrap_or_default().chunks_exact(BLOCK);
        for (start, block) in (0..SPAN as u16).step_by(BLOCK).zip(blocks) {
            let (Ok(block), Some(places)) =
                (block.try_into(), self.places[count..].first_chunk_mut())
            else {
                break;
            };
            count += store_places(non_digits_in(block), start, places);
        }
        self.terminate(count);
        (self.base, self.next) = (at, 0);
        count > 0
    }

    /// The number that begins at `at`, if its end has been found.
    #[inline(always)]
    fn read<T: ReadInteger>(&mut self, window: &[u8], at: usize) -> Option<(T, usize)> {
        let negative = T::SIGNED && window.get(at) == Some(&b'-');
        let place = self.next + usize::from(negative);
        let end = self.base + usize::from(*self.places.get(place)?);
        // A sentinel is not behind `at`: too many digits.
        let digits = end.wrapping_sub(at + usize::from(negative));
        let most = if size_of::<T>() < 8 {
            CHUNK
        } else {
            MOST_DIGITS
        };
        if digits.wrapping_sub(1) >= most {
            return None;
        }
        debug_assert!(window[end - digits..end].iter().all(u8::is_ascii_digit));
        // A chunk, and two bytes for the space.
        let view: &[u8; CHUNK + 2] = window.get(end.wrapping_sub(CHUNK)..)?.first_chunk()?;
        let spaces = behind(view, CHUNK)? - CHUNK;
        let magnitude = if digits <= CHUNK {
            value(chunk(view, 0), digits)
        } else {
            let before = window.get(end.wrapping_sub(2 * CHUNK)..)?.first_chunk()?;
            let high = value(before, digits - CHUNK);
            high * 10_u64.pow(16) + value(chunk(view, 0), CHUNK)
        };
        let number = T::narrow(magnitude, negative)?;
        self.next = place + spaces;
        Some((number, end + spaces))
    }
}

/// Stores the places of a block's set bits, counted from `start`; returns how many there are. Entries behind them are
/// overwritten, too.
#[inline(always)]
fn store_places(mut bits: u64, start: u16, places: &mut [u16; BLOCK]) -> usize {
    let count = bits.count_ones() as usize;
    let mut store = |from: usize, to: usize| {
        for place in &mut places[from..to] {
            *place = start + bits.trailing_zeros() as u16;
            bits &= bits.wrapping_sub(1);
        }
    };
    // Eight unconditionally, about as many as a block has numbers of mixed lengths.
    store(0, 8);
    if count > 8 {
        store(8, 16);
        if count > 16 {
            store(16, count);
        }
    }
    count
}

/// All numbers of this many digits fit 64 bits.
const MOST_DIGITS: usize = 19;

/// The fast path, near the window's end.
#[inline(always)]
fn fast<T: ReadInteger>(window: &[u8], at: usize) -> Option<(T, usize)> {
    let (magnitude, negative, next) = if size_of::<T>() < 8 {
        short(window, at, T::SIGNED)?
    } else {
        long(window, at, T::SIGNED)?
    };
    Some((T::narrow(magnitude, negative)?, next))
}

/// Parses a token digit by digit.
fn parse<T: ReadInteger>(token: &[u8]) -> Result<T, ErrorKind> {
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
fn read<T: ReadInteger, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    if let Some((number, next)) = input.lookahead.read(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    read_cold(input)
}

#[inline(never)]
fn read_cold<T: ReadInteger, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    input.skip_spaces()?;
    let (window, at) = (input.source.window(), input.at);
    if input.lookahead.scan(window, at)
        && let Some((number, next)) = input.lookahead.read(window, at)
    {
        input.at = next;
        return Ok(number);
    }
    if let Some((number, next)) = fast(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    let (from, to) = input.next_token(T::NAME)?;
    parse(&input.source.window()[from..to]).map_err(|kind| input.error_at(from, to, kind, T::NAME))
}

macro_rules! integers {
    ($($signed:literal: $($type:ident)*;)*) => {
        $($(impl ReadInteger for $type {
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
                // `MIN` is its own negative.
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

impl ReadInteger for OneBased {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_bits() {
        for bits in [0, 1, 1 << 63, 0x8421_8421, 0xaaaa_aaaa_aaaa_aaaa, u64::MAX] {
            let mut places = [0; BLOCK];
            let count = store_places(bits, 128, &mut places);
            let naive = (0..64).filter(|bit| bits >> bit & 1 == 1);
            let naive: Vec<u16> = naive.map(|bit| 128 + bit).collect();
            assert_eq!(places[..count], naive[..], "{bits:x}");
        }
    }

    /// Numbers of each length, sign and space, each across the border of a block and of a span.
    #[test]
    fn numbers_are_read_wherever_a_block_ends() {
        let number = |index: u64| {
            let magnitude = i64::MAX / 10_i64.pow((index % 19) as u32);
            if index.is_multiple_of(3) {
                -magnitude
            } else {
                magnitude
            }
        };
        let has_word = |index: u64| index % 4 == 3;
        for space in [" ", "\n", "\r\n", "  ", "\t"] {
            for shift in 1..=BLOCK {
                let mut text = "x".repeat(shift) + " ";
                for index in 0..200 {
                    text += &number(index).to_string();
                    text += space;
                    text += if has_word(index) { "word-1 " } else { "" };
                }
                let mut input = Input::of_bytes(text.as_bytes());
                assert_eq!(input.token().unwrap().len(), shift);
                for index in 0..200 {
                    assert_eq!(
                        input.read::<i64>().unwrap(),
                        number(index),
                        "{space:?} {shift}"
                    );
                    if has_word(index) {
                        assert_eq!(input.token().unwrap(), b"word-1");
                    }
                }
                assert!(input.is_at_end().unwrap());
            }
        }
    }
}
