//! Floats to text: the shortest digits that read back as the same number, laid out as std does.
//!
//! [`shortest`] writes most floats of ordinary size, in one go, and [zmij] the others of that size, almost as std does: where a
//! number is exactly half way between two shortest texts, std takes the upper one and [zmij] does not, see [`tie`]. Numbers
//! below 1e-5 or from 1e16 (`f32`: 1e13), and those with an exponent, are std's. A fixed number of decimals is exact integer
//! arithmetic where 128 bits suffice, and std's elsewhere.

#![allow(unsafe_code)]

use super::integer::{Integer, put_eight_digits, put_sixteen_digits};
use super::scratch::Scratch;
use super::shortest;
use std::fmt;
use std::mem::{align_of, size_of};

/// How a float is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// `{}`: never an exponent, no point where there is no fraction.
    Display,
    /// `{:?}`: an exponent below 1e-4 and from 1e16, else at least one decimal.
    Debug,
    /// `{:e}`: always an exponent.
    Exponent,
}

/// The room for any float in any [`Notation`]: `-0.` and the 323 zeros before the digits of the smallest.
const MAX_LEN: usize = 3 + 323 + 17;
const ZMIJ_LEN: usize = size_of::<zmij::Buffer>();
const _: () = assert!(align_of::<zmij::Buffer>() == 1);

/// The room for a number in zmij's notation, whichever code writes it.
pub(crate) const ORDINARY_LEN: usize = if shortest::ROOM > ZMIJ_LEN {
    shortest::ROOM
} else {
    ZMIJ_LEN
};

/// The most decimals that [`put_decimals`] makes by itself.
const MAX_DECIMALS: usize = 16;

pub(super) mod sealed {
    use super::Notation;
    use std::fmt;

    pub trait Sealed: Copy + zmij::Float + fmt::Display + fmt::Debug + fmt::LowerExp {
        /// zmij writes numbers from the first up to the second without exponent.
        const FIXED: (Self, Self);
        /// `{:?}` writes numbers from the first up to the second without exponent.
        const DEBUG_FIXED: (Self, Self);
        fn within(self, range: (Self, Self)) -> bool;
        fn negative(self) -> bool;
        fn magnitude(self) -> Self;
        fn not_a_number(self) -> bool;
        /// `(m, e)` so that the magnitude is `m * 2^e`.
        fn parts(self) -> (u64, i32);
        /// [`put`](super::put), compiled for each type once.
        ///
        /// # Safety
        /// As there.
        unsafe extern "C" fn put(self, notation: Notation, dst: *mut u8) -> usize;
        /// [`put_ordinary`](super::put_ordinary), compiled for each type once.
        ///
        /// # Safety
        /// As there.
        unsafe extern "C" fn put_ordinary(self, dst: *mut u8) -> usize;
        /// [`shortest::put`](super::shortest::put) for the type's mantissas.
        ///
        /// # Safety
        /// As there.
        unsafe fn put_shortest(
            mantissa: u64,
            exponent: i32,
            point_zero: bool,
            dst: *mut u8,
        ) -> usize;
    }
}

/// A floating-point number that can be written as text: `f32` and `f64`.
pub trait Float: sealed::Sealed {}

macro_rules! float {
    ($float:ident, $bits:ident, $fixed:expr) => {
        impl Float for $float {}

        impl sealed::Sealed for $float {
            const FIXED: (Self, Self) = $fixed;
            const DEBUG_FIXED: (Self, Self) = (1e-4, 1e16);

            #[inline(always)]
            fn within(self, range: (Self, Self)) -> bool {
                let magnitude = self.abs();
                (range.0 <= magnitude && magnitude < range.1) || magnitude == 0.0
            }

            #[inline(always)]
            fn negative(self) -> bool {
                self.is_sign_negative()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn not_a_number(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn parts(self) -> (u64, i32) {
                const FRACTION: u32 = $float::MANTISSA_DIGITS - 1;
                const EXPONENTS: $bits = $bits::MAX >> (FRACTION + 1);
                const LOWEST: i32 = $float::MIN_EXP - $float::MANTISSA_DIGITS as i32;
                let fraction = self.to_bits() & ((1 << FRACTION) - 1);
                match (self.to_bits() >> FRACTION) & EXPONENTS {
                    0 => (u64::from(fraction), LOWEST),
                    exponent => (
                        u64::from(fraction | (1 << FRACTION)),
                        LOWEST - 1 + exponent as i32,
                    ),
                }
            }

            #[inline(never)]
            unsafe extern "C" fn put(self, notation: Notation, dst: *mut u8) -> usize {
                // SAFETY: the caller's promise.
                unsafe { put(self, notation, dst) }
            }

            #[inline(never)]
            unsafe extern "C" fn put_ordinary(self, dst: *mut u8) -> usize {
                // SAFETY: the caller's promise.
                unsafe { put_ordinary(self, Notation::Display, dst) }
            }

            #[inline(always)]
            unsafe fn put_shortest(
                mantissa: u64,
                exponent: i32,
                point_zero: bool,
                dst: *mut u8,
            ) -> usize {
                const FRACTION: u32 = $float::MANTISSA_DIGITS - 1;
                // SAFETY: the caller's promise.
                unsafe { shortest::put::<FRACTION>(mantissa, exponent, point_zero, dst) }
            }
        }
    };
}

float!(f32, u32, (1e-5, 1e13));
float!(f64, u64, (1e-5, 1e16));

/// Whether zmij writes the number in this notation, but for little things.
#[inline(always)]
fn as_zmij<F: Float>(value: F, notation: Notation) -> bool {
    match notation {
        Notation::Display => value.within(F::FIXED),
        Notation::Debug => value.within(F::FIXED) && value.within(F::DEBUG_FIXED),
        Notation::Exponent => false,
    }
}

/// The room that [`put`] needs for this number.
#[inline(always)]
pub(crate) fn room<F: Float>(value: F, notation: Notation) -> usize {
    match notation {
        Notation::Display if as_zmij(value, notation) => ORDINARY_LEN,
        Notation::Display => MAX_LEN,
        // At most 17 digits, which zmij's buffer has room for, and what stands around them.
        Notation::Debug | Notation::Exponent => 2 * ZMIJ_LEN,
    }
}

/// Whether a number's `{}` is of the ordinary kind, and so short.
#[inline(always)]
pub(crate) fn is_ordinary<F: Float>(value: F) -> bool {
    as_zmij(value, Notation::Display)
}

/// Writes a float at `dst`, returns the length.
///
/// # Safety
/// There is room for [`room`] bytes at `dst`.
#[inline(always)]
unsafe fn put<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        if as_zmij(value, notation) {
            put_ordinary(value, notation, dst)
        } else {
            put_any(value, notation, dst)
        }
    }
}

/// Writes a float that is laid out as zmij does it.
///
/// # Safety
/// There is room for [`ORDINARY_LEN`] bytes at `dst`; zmij writes the number in this notation.
#[inline(always)]
unsafe fn put_ordinary<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    let (mantissa, exponent) = value.parts();
    if shortest::covers(mantissa, exponent) {
        let sign = usize::from(value.negative());
        // SAFETY: the room is what it needs; zmij writes without exponent only from 1e-5 on.
        return unsafe {
            *dst = b'-';
            sign + F::put_shortest(
                mantissa,
                exponent,
                notation == Notation::Debug,
                dst.add(sign),
            )
        };
    }
    // SAFETY: the caller's promise.
    unsafe { put_ordinary_by_zmij(value, notation, dst) }
}

/// # Safety
/// As [`put_ordinary`].
#[cold]
#[inline(never)]
unsafe fn put_ordinary_by_zmij<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    // SAFETY: the room is what zmij needs, and no text is shorter than 3 bytes.
    unsafe {
        let length = put_shortest(value, dst);
        if let Some(decimals) = tie(value)
            && decimals + 1 < length
            && *dst.add(length - 1 - decimals) == b'.'
        {
            *dst.add(length - 1) = upper(*dst.add(length - 1));
        }
        // Whole numbers end in ".0", which `{}` does not show.
        let end = dst.add(length - 2).cast::<[u8; 2]>().read();
        match notation {
            Notation::Display => length - 2 * usize::from(end == *b".0"),
            _ => length,
        }
    }
}

/// If the shortest text of a finite number has so many decimals, the number is exactly half way between
/// two of them.
///
/// A number `n / 2^k` with odd `n` has exactly `k` decimals, and they end in 25 or 75 (if `k` is at least 2;
/// otherwise there is nothing shorter). So it is half way between the two numbers of `k - 1` decimals
/// next to it, which end in 2 and 3, or 7 and 8. With `k` beyond 25, `n / 2^k = n * 5^k / 10^k` has more
/// than 18 digits, and no text of one digit less is a shortest one.
#[inline(always)]
fn tie<F: Float>(value: F) -> Option<usize> {
    let (mantissa, exponent) = value.parts();
    let k = -(exponent + mantissa.trailing_zeros() as i32);
    (2..=25).contains(&k).then(|| k as usize - 1)
}

/// The last digit of the upper one of two shortest texts, given either's.
#[inline(always)]
fn upper(last: u8) -> u8 {
    last + u8::from(matches!(last, b'2' | b'7'))
}

/// Writes the number as zmij does.
///
/// # Safety
/// There is room for `ZMIJ_LEN` bytes at `dst`; the value is finite.
#[inline(always)]
unsafe fn put_shortest<F: Float>(value: F, dst: *mut u8) -> usize {
    // zmij writes to a buffer type of its own, which is nothing but bytes: it is put where the text
    // shall stand, and nothing has to be copied.
    let buffer = dst.cast::<zmij::Buffer>();
    // SAFETY: there is room for the buffer's size, its alignment is 1, and it is initialised before
    // it is borrowed.
    let text = unsafe {
        buffer.write(zmij::Buffer::new());
        (*buffer).format_finite(value)
    };
    debug_assert!(
        std::ptr::eq(text.as_ptr(), dst),
        "zmij's text begins where its buffer does"
    );
    text.len()
}

/// A value that zmij writes otherwise, by std.
///
/// # Safety
/// There is [`room`] at `dst`.
#[inline(never)]
unsafe fn put_any<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    // SAFETY: the caller's promise.
    let put =
        |text: fmt::Arguments<'_>| unsafe { Scratch::format_at(dst, room(value, notation), text) };
    match notation {
        Notation::Display => put(format_args!("{value}")),
        Notation::Debug => put(format_args!("{value:?}")),
        Notation::Exponent => put(format_args!("{value:e}")),
    }
}

/// The room that [`put_decimals`] needs: the 309 digits that the largest number has before the
/// point, and the decimals.
#[inline(always)]
pub(super) fn decimals_room<F: Float>(value: F, decimals: usize) -> usize {
    let (_, exponent) = value.parts();
    // A u64 has 20 digits.
    let whole = if exponent <= 0 { 20 } else { 309 };
    // The sign, the point, and the words that the decimals are made in.
    2 + whole + decimals.max(MAX_DECIMALS)
}

/// An upper bound of the room for any number, besides as much as it is given decimals.
pub(super) const MOST_ROOM: usize = MAX_LEN;
const _: () = assert!(MOST_ROOM >= 2 + 309 + MAX_DECIMALS);

/// Writes a float with so many decimals, correctly rounded (ties to even), at `dst`; returns the
/// length.
///
/// # Safety
/// There is room for [`decimals_room`] bytes at `dst`.
#[inline(never)]
pub(super) unsafe fn put_decimals<F: Float>(value: F, decimals: usize, dst: *mut u8) -> usize {
    let (mantissa, exponent) = value.parts();
    // NaN and the infinities have the greatest exponent.
    if decimals > MAX_DECIMALS || exponent > 0 {
        // SAFETY: the caller's promise.
        return unsafe { put_decimals_by_std(value, decimals, dst) };
    }
    // The number is mantissa / 2^shift: whole, and a fraction of 2^shift.
    let shift = exponent.unsigned_abs();
    let (mut whole, fraction) = match mantissa.checked_shr(shift) {
        Some(whole) => (whole, mantissa - (whole << shift)),
        None => (0, mantissa),
    };
    // Exact: 53 bits and 54.
    let power = POWERS[decimals];
    let product = u128::from(fraction) * u128::from(power);
    // 2^107 / 2^127 is less than half.
    let mut scaled = product.checked_shr(shift).unwrap_or(0) as u64;
    if 0 < shift && shift < 127 {
        let half = 1 << (shift - 1);
        let rest = product & ((1 << shift) - 1);
        let odd = if decimals == 0 { whole } else { scaled } & 1 == 1;
        scaled += u64::from(rest > half || (rest == half && odd));
    }
    if scaled == power {
        whole += 1;
        scaled = 0;
    }
    let sign = usize::from(value.negative());
    // SAFETY: the sign, at most 20 digits, the point, and 16 decimals.
    unsafe {
        *dst = b'-';
        let length = sign + whole.write_to(dst.add(sign));
        if decimals == 0 {
            return length;
        }
        *dst.add(length) = b'.';
        let fraction = dst.add(length + 1);
        if decimals <= 8 {
            put_eight_digits(scaled * POWERS[8 - decimals], fraction);
        } else {
            put_sixteen_digits(scaled * POWERS[MAX_DECIMALS - decimals], fraction);
        }
        length + 1 + decimals
    }
}

/// # Safety
/// As [`put_decimals`].
#[cold]
#[inline(never)]
unsafe fn put_decimals_by_std<F: Float>(value: F, decimals: usize, dst: *mut u8) -> usize {
    let room = decimals_room(value, decimals);
    // SAFETY: the caller's promise.
    unsafe { Scratch::format_at(dst, room, format_args!("{value:.decimals$}")) }
}

const POWERS: [u64; MAX_DECIMALS + 1] = {
    let mut powers = [1; MAX_DECIMALS + 1];
    let mut i = 1;
    while i <= MAX_DECIMALS {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};
