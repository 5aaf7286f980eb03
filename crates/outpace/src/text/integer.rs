//! Integers to decimal text.
//!
//! Digits are made eight at a time, in a [word](super::word): by [arithmetic](by_arithmetic), or from the [table] once
//! that pays for its memory.

#![allow(unsafe_code)]

use super::table;
use super::word::{ASCII, first, put_word};

pub(super) const EIGHT_DIGITS: u64 = table::EIGHT_DIGITS as u64;
const SIXTEEN_DIGITS: u64 = EIGHT_DIGITS * EIGHT_DIGITS;

pub(super) mod sealed {
    pub trait Sealed: Copy {
        /// Whether two lookups in the table are enough for the text.
        fn is_short(self) -> bool;

        /// The text of a short magnitude as a word, and its length.
        ///
        /// # Safety
        /// The number is short.
        unsafe fn short_word(self) -> (u64, usize);
    }
}

/// An integer that can be written as decimal text: all of Rust's integer types.
///
/// ```
/// use outpace::text::Integer;
///
/// let mut text = [0; i64::MAX_LEN];
/// // SAFETY: the array has the room that `write_to` asks for.
/// let length = unsafe { (-1234_i64).write_to(text.as_mut_ptr()) };
/// assert_eq!(&text[..length], b"-1234");
/// ```
pub trait Integer: sealed::Sealed + Copy {
    /// The room, in bytes, that [`write_to`](Self::write_to) needs: for the longest text, or a
    /// little more where the encoder stores whole words.
    const MAX_LEN: usize;

    /// Writes the number's decimal digits, with a minus sign if it is negative, at `dst`; returns
    /// the length of the text.
    ///
    /// # Safety
    /// `MAX_LEN` bytes at `dst` are valid for writes. Those behind the text are unspecified afterwards.
    unsafe fn write_to(self, dst: *mut u8) -> usize;
}

macro_rules! integers {
    ($($unsigned:ident $signed:ident = $wide:ident $write:ident, $room:literal;)*) => {$(
        impl sealed::Sealed for $unsigned {
            #[inline(always)]
            fn is_short(self) -> bool {
                Self::BITS <= 64 && (self as u64) < table::reach() as u64
            }

            #[inline(always)]
            unsafe fn short_word(self) -> (u64, usize) {
                // SAFETY: the number is below the reach; digits are ASCII.
                unsafe { first(table::eight_digits(self as u64)) }
            }
        }

        impl Integer for $unsigned {
            const MAX_LEN: usize = $room;

            #[inline(always)]
            unsafe fn write_to(self, dst: *mut u8) -> usize {
                // SAFETY: the caller has room for `MAX_LEN` bytes, which this width needs.
                unsafe { $write(self as $wide, dst) }
            }
        }

        impl sealed::Sealed for $signed {
            #[inline(always)]
            fn is_short(self) -> bool {
                self.unsigned_abs().is_short()
            }

            #[inline(always)]
            unsafe fn short_word(self) -> (u64, usize) {
                // SAFETY: the caller's promise.
                unsafe { self.unsigned_abs().short_word() }
            }
        }

        impl Integer for $signed {
            const MAX_LEN: usize = 1 + $room;

            #[inline(always)]
            unsafe fn write_to(self, dst: *mut u8) -> usize {
                // SAFETY: the caller has room for `MAX_LEN` bytes: for the sign and the magnitude.
                unsafe { with_sign(self < 0, dst, |dst| self.unsigned_abs().write_to(dst)) }
            }
        }
    )*};
}

// The room that a magnitude needs: a whole word for the first digits, or the longest text.
integers! {
    u8 i8 = u64 write_u64, 8;
    u16 i16 = u64 write_u64, 8;
    u32 i32 = u64 write_u64, 10;
    u64 i64 = u64 write_u64, 20;
    usize isize = u64 write_u64, 20;
    u128 i128 = u128 write_u128, 39;
}

/// Writes a minus sign, which the magnitude of a positive number overwrites, and the magnitude.
///
/// # Safety
/// `dst` has room for a byte, and behind it for the bytes that `magnitude` writes.
#[inline(always)]
pub(super) unsafe fn with_sign(
    negative: bool,
    dst: *mut u8,
    magnitude: impl FnOnce(*mut u8) -> usize,
) -> usize {
    let sign = usize::from(negative);
    // SAFETY: the caller's promise.
    unsafe {
        *dst = b'-';
        sign + magnitude(dst.add(sign))
    }
}

/// Writes `n` at `dst`, returns the length.
///
/// # Safety
/// There is room for a word, and for the longest text that `n`'s type can have.
#[inline(always)]
unsafe fn write_u64(n: u64, dst: *mut u8) -> usize {
    // SAFETY: the caller's promise; `put_short` gets only numbers below the reach.
    unsafe {
        if n < table::reach() as u64 {
            table::put_short(n, dst)
        } else {
            write_u64_long(n, dst)
        }
    }
}

/// Numbers of more than eight digits, and all numbers before the table is ready.
///
/// # Safety
/// As [`write_u64`].
#[cold]
#[inline(never)]
unsafe extern "C" fn write_u64_long(n: u64, dst: *mut u8) -> usize {
    if table::reach() == 0 {
        table::count_one();
        // SAFETY: the caller's promise.
        unsafe { write_u64_by(by_arithmetic, n, dst) }
    } else {
        // SAFETY: `write_u64_by` asks for eight digits, which are below the reach, if it is not 0.
        unsafe { write_u64_by(|n| table::eight_digits(n), n, dst) }
    }
}

/// # Safety
/// As [`write_u64`]. `eight_digits` is called with numbers below 10^8.
#[inline(always)]
unsafe fn write_u64_by(eight_digits: impl Fn(u64) -> u64, n: u64, dst: *mut u8) -> usize {
    // SAFETY: at most 20 digits are put, in words of 8; the first word always fits, and each
    // further one follows the digits before it, so it ends where the text ends.
    unsafe {
        if n < EIGHT_DIGITS {
            return put_first_digits(eight_digits(n), dst);
        }
        let (high, low) = (n / EIGHT_DIGITS, n % EIGHT_DIGITS);
        let mut length = if high < EIGHT_DIGITS {
            put_first_digits(eight_digits(high), dst)
        } else {
            let (high, middle) = (high / EIGHT_DIGITS, high % EIGHT_DIGITS);
            let length = put_first_digits(eight_digits(high), dst);
            put_word(eight_digits(middle), dst.add(length));
            length + 8
        };
        put_word(eight_digits(low), dst.add(length));
        length += 8;
        length
    }
}

/// # Safety
/// There is room for 39 bytes at `dst`.
#[inline(never)]
unsafe extern "C" fn write_u128(n: u128, dst: *mut u8) -> usize {
    // SAFETY: at most 39 digits are put, each word after the digits before it.
    unsafe {
        if let Ok(n) = u64::try_from(n) {
            return write_u64(n, dst);
        }
        let (high, low) = split_sixteen_digits(n);
        let length = if let Ok(high) = u64::try_from(high) {
            write_u64(high, dst)
        } else {
            let (high, middle) = split_sixteen_digits(high);
            // 2^128 / 10^32 has seven digits.
            let length = write_u64(high as u64, dst);
            put_sixteen_digits(middle, dst.add(length));
            length + 16
        };
        put_sixteen_digits(low, dst.add(length));
        length + 16
    }
}

/// `n` divided by 10^16: quotient and remainder. The compiler would call a division routine.
#[inline]
fn split_sixteen_digits(n: u128) -> (u128, u64) {
    /// 10^16 is 2^16 * 5^16; dividing by the former is a shift, by the latter a multiplication with its inverse, 2^149
    /// / 5^16, rounded up. The product is too large by less than one, for all of the 112 bits that are left to divide,
    /// because of the assertion below.
    const INVERSE: u128 = 0xe695_94be_c44d_e15b_4c2e_be68_798a;
    const _: () = {
        let fives = 5_u128.pow(16);
        assert!(
            high_half(fives, INVERSE) == 1 << (149 - 128)
                && fives.wrapping_mul(INVERSE) <= 1 << (149 - 112)
        );
    };
    let quotient = high_half(n >> 16, INVERSE) >> (149 - 128);
    (quotient, (n - quotient * SIXTEEN_DIGITS as u128) as u64)
}

/// The upper 128 bits of the 256-bit product.
const fn high_half(a: u128, b: u128) -> u128 {
    const fn halves(n: u128) -> (u128, u128) {
        (n >> 64, n as u64 as u128)
    }
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (low1, _) = halves(a0 * b0);
    let (mid1, mid0) = halves(a1 * b0 + low1);
    let (cross1, _) = halves(a0 * b1 + mid0);
    a1 * b1 + mid1 + cross1
}

/// The eight digits of `n`, which is below 10^8, as characters, with leading zeros, the first in the lowest byte.
#[inline(always)]
pub(super) fn eight_digits(n: u64) -> u64 {
    if table::reach() == 0 {
        return by_counted_arithmetic(n);
    }
    // SAFETY: it is below 10^8, which is the reach if it is not 0.
    unsafe { table::eight_digits(n) }
}

#[cold]
#[inline(never)]
extern "C" fn by_counted_arithmetic(n: u64) -> u64 {
    table::count_one();
    by_arithmetic(n)
}

/// Writes exactly 8 digits, leading zeros included.
///
/// # Safety
/// There is room for 8 bytes at `dst`; `n` is below 10^8.
#[inline(always)]
pub(super) unsafe fn put_eight_digits(n: u64, dst: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { put_word(eight_digits(n), dst) };
}

/// Writes exactly 16 digits, leading zeros included.
///
/// # Safety
/// There is room for 16 bytes at `dst`; `n` is below 10^16.
#[inline(always)]
pub(super) unsafe fn put_sixteen_digits(n: u64, dst: *mut u8) {
    // SAFETY: two words of 8 bytes in the room of 16 that is demanded.
    unsafe {
        put_eight_digits(n / EIGHT_DIGITS, dst);
        put_eight_digits(n % EIGHT_DIGITS, dst.add(8));
    }
}

/// # Safety
/// The digits are ASCII; there is room for 8 bytes at `dst`.
#[inline(always)]
unsafe fn put_first_digits(digits: u64, dst: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let (word, length) = first(digits);
        put_word(word, dst);
        length
    }
}

/// As [`table::eight_digits`], by arithmetic: puts the halves of the number side by side in one word, then the halves
/// of these, then of those. Each of the three steps needs two multiplications for all of its quotients and remainders.
#[inline(always)]
fn by_arithmetic(n: u64) -> u64 {
    debug_assert!(n < EIGHT_DIGITS);
    // Each step takes lanes of numbers below 100^k; q is the upper half of each, and
    // `lane << width | lane - q * 10^k` is built as `(lane << width) - q * ((10^k << width) - 1)`.
    // The inverses are exact for lanes of this size.
    let fours = (n * 109_951_163) >> 40;
    let lanes = (n << 32) - fours * ((10_000 << 32) - 1);
    let twos = ((lanes * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let lanes = (lanes << 16) - twos * ((100 << 16) - 1);
    let ones = ((lanes * 103) >> 10) & 0x000f_000f_000f_000f;
    ASCII | ((lanes << 8) - ones * ((10 << 8) - 1))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fmt::Display;

    /// The text, checked not to exceed the room.
    fn text<I: Integer>(n: I) -> String {
        let mut bytes = [0xaa_u8; 64];
        // SAFETY: 64 bytes are more than any integer's MAX_LEN.
        let length = unsafe { n.write_to(bytes.as_mut_ptr().add(8)) };
        assert!(length <= I::MAX_LEN);
        assert_eq!(&bytes[..8], [0xaa; 8]);
        assert!(bytes[8 + I::MAX_LEN..].iter().all(|&byte| byte == 0xaa));
        String::from_utf8(bytes[8..8 + length].to_vec()).unwrap()
    }

    fn agrees<I: Integer + Display>(n: I) {
        assert_eq!(text(n), n.to_string());
    }

    /// xorshift: different bits each call, the same sequence each run.
    pub(crate) fn bits(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    macro_rules! neighbours {
        ($($type:ident)*) => {$({
            agrees($type::MIN);
            agrees($type::MAX);
            agrees($type::MAX - 1);
            agrees($type::MIN + 1);
            for base in [2, 10] {
                let mut power: $type = 1;
                loop {
                    for n in [power - 1, power, power + 1] {
                        agrees(n);
                        agrees((0 as $type).wrapping_sub(n));
                    }
                    let Some(next) = power.checked_mul(base) else { break };
                    power = next;
                }
            }
        })*};
    }

    #[test]
    fn every_integer_of_8_and_16_bits_agrees_with_std() {
        (u8::MIN..=u8::MAX).for_each(agrees);
        (i8::MIN..=i8::MAX).for_each(agrees);
        (u16::MIN..=u16::MAX).for_each(agrees);
        (i16::MIN..=i16::MAX).for_each(agrees);
    }

    #[test]
    fn the_powers_of_two_and_ten_and_their_neighbours_agree_with_std() {
        neighbours!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);
    }

    #[test]
    fn random_integers_of_every_length_agree_with_std() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..200_000 {
            let wide = (u128::from(bits(&mut state)) << 64) | u128::from(bits(&mut state));
            let n = wide >> (bits(&mut state) % 128);
            agrees(n);
            agrees(n as i128);
            agrees((n as i128).wrapping_neg());
            agrees(n as u64);
            agrees(n as i64);
            agrees(n as u32);
            agrees(n as i32);
            agrees(n as usize);
            agrees(n as isize);
        }
    }

    #[test]
    fn arithmetic_and_table_make_the_same_digits() {
        while table::reach() == 0 {
            table::count_one();
        }
        let mut state = 1;
        let near = (0..8).flat_map(|power| (0..1000).map(move |i| i * 10_u64.pow(power)));
        for n in near.chain((0..1_000_000).map(|_| bits(&mut state))) {
            let n = n % EIGHT_DIGITS;
            // SAFETY: n is below the reach.
            assert_eq!(by_arithmetic(n), unsafe { table::eight_digits(n) }, "{n}");
        }
    }

    #[test]
    fn both_ways_to_the_digits_write_the_same_text() {
        let mut state = 7;
        for _ in 0..200_000 {
            let n = bits(&mut state) >> (bits(&mut state) % 64);
            let mut bytes = [0; 20];
            // SAFETY: a u64 needs 20 bytes.
            let length = unsafe { write_u64_by(by_arithmetic, n, bytes.as_mut_ptr()) };
            assert_eq!(&bytes[..length], n.to_string().as_bytes());
        }
    }

    #[test]
    fn dividing_by_ten_to_the_sixteenth_is_exact_at_every_edge() {
        let divisor = u128::from(SIXTEEN_DIGITS);
        let check = |n: u128| {
            assert_eq!(
                split_sixteen_digits(n),
                (n / divisor, (n % divisor) as u64),
                "{n}"
            );
        };
        let mut state = 3;
        for _ in 0..200_000 {
            let wide = (u128::from(bits(&mut state)) << 64) | u128::from(bits(&mut state));
            let multiple = wide / divisor * divisor;
            [wide, multiple, multiple - 1, multiple + 1]
                .into_iter()
                .for_each(check);
        }
        let last = u128::MAX / divisor * divisor;
        [0, 1, divisor - 1, divisor, last - 1, last, u128::MAX]
            .into_iter()
            .for_each(check);
    }
}
