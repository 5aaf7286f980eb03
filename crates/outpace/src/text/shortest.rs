//! The shortest digits of floats of ordinary size, by exact arithmetic.
//!
//! A float is `m * 2^e`, and every number nearer to it than half of `2^e` reads back as it; of those with the
//! fewest digits the nearest is its text. For floats from 1e-5 up to those whose `e` is 0 all of that fits into
//! 128 bits: with the `n` for which `2^e * 10^n` is from 1 up to 10,
//!
//! ```text
//! m * 2^e * 10^n = m * 5^n / 2^s     where s = -e - n, n <= 21, m * 5^n < 2^102
//! ```
//!
//! So the scaled number, its distance to the nearest multiples of 10, and half of the scaled `2^e` are whole multiples
//! of a power of two: all of it is exact. The interval is shorter than 10, so at most one multiple of 10 is inside. If
//! one is, it is the shortest text; otherwise the interval is at least 1 long, and the nearest whole number is inside.
//!
//! General algorithms ([zmij]'s among them, which is faster than others) need tables of 128-bit powers, and branches
//! where these are inexact. They are used for all other floats, and for powers of two, where the interval is
//! asymmetric.

#![allow(unsafe_code)]

use super::integer::{EIGHT_DIGITS, eight_digits};
use super::word::{ASCII, put_word};

/// The room that [`put`] needs: a sign, up to 16 digits before the point, the point, and two words.
pub(super) const ROOM: usize = 1 + 16 + 1 + 16;

/// The largest `n` for which `2^e * 10^n` is from 1 up to 10: `e` is at least -69 from 1e-5 on.
const MOST_FIVES: usize = 21;

const POWERS_OF_FIVE: [u64; MOST_FIVES + 1] = {
    let mut powers = [1; MOST_FIVES + 1];
    let mut i = 1;
    while i <= MOST_FIVES {
        powers[i] = powers[i - 1] * 5;
        i += 1;
    }
    powers
};

/// The digits that are written, zeros at the end included.
const DIGITS: u32 = 17;
const LOWEST: u64 = 10_u64.pow(DIGITS - 1);

/// Whether [`put`] can write `mantissa * 2^exponent`, which is at least 1e-5.
#[inline(always)]
pub(super) fn covers(mantissa: u64, exponent: i32) -> bool {
    exponent <= 0 && !mantissa.is_power_of_two() && mantissa > 0
}

/// The shortest number that reads back as `mantissa * 2^exponent`, filled up with zeros to 17 digits, and how many of
/// these are behind the point.
///
/// The mantissa of an f64 has its highest bit at 52, that of an f32 at 23. [`covers`] is true.
#[inline(always)]
fn digits<const FRACTION: u32>(mantissa: u64, exponent: i32) -> (u64, i32) {
    // Rounded up, with 22 fractional bits of log10(2): exact for exponents up to 1650.
    let n = (exponent.unsigned_abs() * 1_262_611 + (1 << 22) - 1) >> 22;
    let fives = POWERS_OF_FIVE[n as usize];
    // In halves, so that half of the interval is whole.
    let scaled = u128::from(mantissa) * u128::from(fives) * 2;
    let shift = exponent.unsigned_abs() - n + 1;
    let whole = (scaled >> shift) as u64;
    let fraction = scaled as u64 & ((1 << shift) - 1);
    let tens = whole / 10 * 10;
    // At most 10 * 2^49.
    let above = ((whole - tens) << shift) + fraction;
    let below = (10 << shift) - above;
    // The interval's ends belong to it if the mantissa is even.
    let half = fives - (mantissa & 1);
    // Without branches, which might be mispredicted. If two are equally near, std takes the upper one.
    let nearest = whole + (fraction >> (shift - 1));
    let digits = if below <= half { tens + 10 } else { nearest };
    let digits = if above <= half { tens } else { digits };
    // At least 4.5 * 10^15 for an f64, and 8.3 * 10^6 for an f32.
    if FRACTION == 52 {
        filled_up(digits, n as i32)
    } else {
        let (digits, decimals) = filled_up(digits * EIGHT_DIGITS, n as i32 + 8);
        filled_up(digits, decimals)
    }
}

/// Adds a zero, if the digits are fewer than 17.
#[inline(always)]
fn filled_up(digits: u64, decimals: i32) -> (u64, i32) {
    let few = digits < LOWEST;
    let filled = if few { digits * 10 } else { digits };
    (filled, decimals + i32::from(few))
}

/// Writes a positive number `mantissa * 2^exponent` at `dst`, a whole one with `.0` if `point_zero`; returns the
/// length.
///
/// # Safety
/// `dst` has room for [`ROOM`] bytes, less one for a sign. The number is at least 1e-5, and [`covers`] is true.
#[inline(always)]
pub(super) unsafe fn put<const FRACTION: u32>(
    mantissa: u64,
    exponent: i32,
    point_zero: bool,
    dst: *mut u8,
) -> usize {
    let (digits, decimals) = digits::<FRACTION>(mantissa, exponent);
    let (upper, lower) = (digits / EIGHT_DIGITS, digits % EIGHT_DIGITS);
    let (first, upper) = (upper / EIGHT_DIGITS, upper % EIGHT_DIGITS);
    let (high, low) = (eight_digits(upper), eight_digits(lower));
    let characters = u128::from(high) | u128::from(low) << 64;
    // Without the zeros at the end.
    let zeros = (characters ^ (u128::from(ASCII) | u128::from(ASCII) << 64)).leading_zeros() / 8;
    let length = (DIGITS - zeros) as usize;
    let first = b'0' + first as u8;
    let point = DIGITS as i32 - decimals;
    // SAFETY: 1e-5 has four zeros before its first digit, so its text ends at 6 + 17; other texts have at most 16
    // digits before the point.
    unsafe {
        if point <= 0 {
            let zeros = point.unsigned_abs() as usize;
            put_word(u64::from_le_bytes(*b"0.000000"), dst);
            let dst = dst.add(2 + zeros);
            *dst = first;
            put_word(high, dst.add(1));
            put_word(low, dst.add(9));
            return 2 + zeros + length;
        }
        let point = point as usize;
        *dst = first;
        put_word(high, dst.add(1));
        put_word(low, dst.add(9));
        let fraction = characters >> ((point - 1) * 8);
        *dst.add(point) = b'.';
        put_word(fraction as u64, dst.add(point + 1));
        put_word((fraction >> 64) as u64, dst.add(point + 9));
        if length > point {
            length + 1
        } else if point_zero {
            *dst.add(point + 1) = b'0';
            point + 2
        } else {
            point
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::integer::tests::bits;

    fn text<const FRACTION: u32>(mantissa: u64, exponent: i32, point_zero: bool) -> String {
        let mut bytes = [0xaa_u8; ROOM];
        // SAFETY: there is the room.
        let length = unsafe { put::<FRACTION>(mantissa, exponent, point_zero, bytes.as_mut_ptr()) };
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    /// The float is compared with std, if it is covered.
    fn agrees(value: f64) {
        let raw = value.to_bits();
        let (mantissa, exponent) = ((raw & ((1 << 52) - 1)) | 1 << 52, (raw >> 52) as i32 - 1075);
        if (1e-5..1e16).contains(&value) && covers(mantissa, exponent) {
            assert_eq!(text::<52>(mantissa, exponent, false), format!("{value}"));
            assert_eq!(text::<52>(mantissa, exponent, true), format!("{value:?}"));
        }
    }

    fn agrees_f32(value: f32) {
        let raw = value.to_bits();
        let mantissa = u64::from((raw & ((1 << 23) - 1)) | 1 << 23);
        let exponent = (raw >> 23) as i32 - 150;
        if (1e-5..1e13).contains(&value) && covers(mantissa, exponent) {
            assert_eq!(text::<23>(mantissa, exponent, false), format!("{value}"));
        }
    }

    #[test]
    fn floats_of_every_exponent_agree_with_std() {
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..400_000 {
            let random = bits(&mut state);
            let exponent = 1075 - 70 + (random >> 52) % 72;
            // Debug shows numbers below 1e-4 with an exponent.
            agrees(f64::from_bits((random & ((1 << 52) - 1)) | exponent << 52).max(1e-4));
            let exponent = 150 - 41 + (random as u32 >> 23) % 42;
            agrees_f32(f32::from_bits(
                (random as u32 & ((1 << 23) - 1)) | exponent << 23,
            ));
        }
    }

    #[test]
    fn floats_with_few_digits_and_their_neighbours_agree_with_std() {
        let mut state = 7;
        for _ in 0..200_000 {
            let random = bits(&mut state);
            let number = (random >> (11 + random % 52)) as f64;
            for value in [
                number / 10_f64.powi((random >> 8) as i32 % 20),
                number / (1_u64 << ((random >> 8) % 60)) as f64,
            ] {
                let value = value.max(1e-4);
                for near in [value.next_down(), value, value.next_up()] {
                    agrees(near.max(1e-4));
                    agrees_f32(near as f32);
                }
            }
        }
    }
}
