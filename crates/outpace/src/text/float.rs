//! Floats to text: the shortest digits that read back as the same number, in std's layout.
//!
//! [`shortest`] writes most floats of ordinary size. [zmij] makes the digits of all others: it writes numbers of
//! ordinary size almost as std does, and others in scientific form, which is parsed and laid out anew. Where a number
//! is exactly half way between two shortest texts, std takes the upper one and [zmij] does not: see [`tie`]. A fixed
//! number of decimals is made by exact integer arithmetic where 128 bits suffice, and by std elsewhere.

#![allow(unsafe_code)]

use super::integer::{Integer, put_eight_digits, put_sixteen_digits};
use super::scratch::Scratch;
use super::shortest;
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

/// The room for any float in any [`Notation`]: `-0.` and the 323 zeros before the digits of the
/// smallest, and the words that [zmij] stores.
const MAX_LEN: usize = 3 + 323 + 17 + ZMIJ_LEN;
const ZMIJ_LEN: usize = size_of::<zmij::Buffer>();
const _: () = assert!(align_of::<zmij::Buffer>() == 1);

/// The room for a number in zmij's notation, by zmij or by [`shortest`].
pub(crate) const ORDINARY_LEN: usize = if shortest::ROOM > ZMIJ_LEN {
    shortest::ROOM
} else {
    ZMIJ_LEN
};

/// The most decimals that [`put_decimals`] makes by itself.
const MAX_DECIMALS: usize = 16;

pub(super) mod sealed {
    use super::Notation;

    pub trait Sealed: Copy + zmij::Float + std::fmt::Display {
        /// zmij writes numbers from the first up to the second without exponent.
        const FIXED: (Self, Self);
        /// `{:?}` writes numbers from the first up to the second without exponent.
        const DEBUG_FIXED: (Self, Self);
        fn within(self, range: (Self, Self)) -> bool;
        fn finite(self) -> bool;
        fn negative(self) -> bool;
        fn magnitude(self) -> Self;
        fn not_a_number(self) -> bool;
        /// `(m, e)` so that the magnitude is `m * 2^e`.
        fn parts(self) -> (u64, i32);
        /// [`put`](super::put), compiled once for each type.
        ///
        /// # Safety
        /// As there.
        unsafe extern "C" fn put(self, notation: Notation, dst: *mut u8) -> usize;
        /// [`put_ordinary`](super::put_ordinary), compiled once for each type.
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
            fn finite(self) -> bool {
                self.is_finite()
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

/// Whether zmij writes the number in this notation, apart from [`tie`] and `.0`.
#[inline(always)]
fn as_zmij<F: Float>(value: F, notation: Notation) -> bool {
    match notation {
        Notation::Display => value.within(F::FIXED),
        Notation::Debug => value.within(F::FIXED) && value.within(F::DEBUG_FIXED),
        Notation::Exponent => false,
    }
}

/// The room that a number's `{}` needs.
#[inline(always)]
pub(crate) fn room<F: Float>(value: F) -> usize {
    if is_ordinary(value) {
        ORDINARY_LEN
    } else {
        MAX_LEN
    }
}

/// Whether a number's `{}` is of ordinary size, and so short.
#[inline(always)]
pub(crate) fn is_ordinary<F: Float>(value: F) -> bool {
    as_zmij(value, Notation::Display)
}

/// Writes a float at `dst`, returns the length.
///
/// # Safety
/// `dst` has room for [`MAX_LEN`] bytes, or for [`ORDINARY_LEN`] if zmij writes the number in this notation.
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

/// Writes a float in zmij's layout.
///
/// # Safety
/// There is room for [`ORDINARY_LEN`] bytes at `dst`; zmij writes the number in this notation.
#[inline(always)]
unsafe fn put_ordinary<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    let (mantissa, exponent) = value.parts();
    if shortest::covers(mantissa, exponent) {
        let sign = usize::from(value.negative());
        // SAFETY: `dst` has the room; the number is at least 1e-5, where zmij's notation without exponent begins.
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
    // SAFETY: `dst` has the room that zmij needs, and no text is shorter than 3 bytes.
    unsafe {
        let length = put_by_zmij(value, dst);
        if let Some(decimals) = tie(value)
            && decimals + 1 < length
            && *dst.add(length - 1 - decimals) == b'.'
        {
            *dst.add(length - 1) = upper(*dst.add(length - 1));
        }
        // zmij ends whole numbers in ".0", which `{}` omits.
        let end = dst.add(length - 2).cast::<[u8; 2]>().read();
        match notation {
            Notation::Display => length - 2 * usize::from(end == *b".0"),
            _ => length,
        }
    }
}

/// If the shortest text of a finite number has exactly this many decimals, the number is half way between two such
/// texts.
///
/// A number `n / 2^k` with odd `n` has exactly `k` decimals, and they end in 25 or 75 (if `k` is at least 2; otherwise
/// no shorter text exists). So it is half way between its two neighbours with `k - 1` decimals, which end in 2 and 3,
/// or 7 and 8. With `k` beyond 25, `n / 2^k = n * 5^k / 10^k` has more than 18 digits, and the shortest text is more
/// than one digit shorter.
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
unsafe fn put_by_zmij<F: Float>(value: F, dst: *mut u8) -> usize {
    // zmij writes to its own buffer type, which consists of bytes: placed at `dst`, it saves a copy.
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

/// # Safety
/// As [`put`], but the room is [`MAX_LEN`].
#[inline(never)]
unsafe fn put_any<F: Float>(value: F, notation: Notation, dst: *mut u8) -> usize {
    if !value.finite() {
        // SAFETY: `dst` has more room than these texts need.
        return unsafe { put_bytes(not_finite(value), dst) };
    }
    let sign = usize::from(value.negative());
    let fixed = match notation {
        Notation::Display => true,
        Notation::Debug => value.within(F::DEBUG_FIXED),
        Notation::Exponent => false,
    };
    let digits = Decimal::of(value);
    // SAFETY: `MAX_LEN` is the room for the longest text.
    unsafe {
        *dst = b'-';
        let dst = dst.add(sign);
        sign + if fixed {
            digits.put_fixed(usize::from(notation == Notation::Debug), dst)
        } else {
            digits.put_exponent(dst)
        }
    }
}

fn not_finite<F: Float>(value: F) -> &'static [u8] {
    match (value.not_a_number(), value.negative()) {
        (true, _) => b"NaN",
        (_, true) => b"-inf",
        (_, false) => b"inf",
    }
}

/// The shortest digits of a finite number: `0.d1d2d3… * 10^point`.
struct Decimal {
    /// As characters, followed by zeros.
    digits: [u8; ZMIJ_LEN],
    /// How many of them count. The first and the last are not zeros, except for the digit of 0 itself.
    length: usize,
    point: i32,
}

impl Decimal {
    fn of<F: Float>(value: F) -> Decimal {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value).as_bytes();
        let number = Self::read(&text[usize::from(text[0] == b'-')..]);
        let mut digits = number.digits;
        if tie(value).is_some_and(|decimals| decimals as i32 == number.length as i32 - number.point)
        {
            digits[number.length - 1] = upper(digits[number.length - 1]);
        }
        Decimal { digits, ..number }
    }

    /// Parses zmij's text: `1.234e-30`, `1e+20`, `123.4`, `0.00012`.
    #[inline]
    fn read(text: &[u8]) -> Decimal {
        // The longest exponent is `e-324`.
        let tail = text.len().saturating_sub(5);
        let e = text[tail..]
            .iter()
            .position(|&byte| byte == b'e')
            .map(|at| tail + at);
        let number = &text[..e.unwrap_or(text.len())];
        let exponent = e.map_or(0, |e| {
            let (negative, digits) = match text[e + 1] {
                b'-' => (true, &text[e + 2..]),
                b'+' => (false, &text[e + 2..]),
                _ => (false, &text[e + 1..]),
            };
            let value = digits
                .iter()
                .fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
            if negative { -value } else { value }
        });
        // Scientific form, with one digit before the point, is the common case.
        let whole = match number.get(1) {
            None | Some(b'.') => 1,
            _ => number
                .iter()
                .position(|&byte| byte == b'.')
                .unwrap_or(number.len()),
        };
        let fraction = number.get(whole + 1..).unwrap_or_default();
        let mut digits = [b'0'; ZMIJ_LEN];
        digits[..whole].copy_from_slice(&number[..whole]);
        digits[whole..whole + fraction.len()].copy_from_slice(fraction);
        let mut end = whole + fraction.len();
        while end > 1 && digits[end - 1] == b'0' {
            end -= 1;
        }
        let start = digits[..end - 1]
            .iter()
            .take_while(|&&digit| digit == b'0')
            .count();
        if start > 0 {
            digits.copy_within(start.., 0);
        }
        Decimal {
            digits,
            length: end - start,
            point: exponent + whole as i32 - start as i32,
        }
    }

    fn is_zero(&self) -> bool {
        self.digits[0] == b'0'
    }

    /// Without exponent, with at least `decimals` (0 or 1) decimals.
    ///
    /// # Safety
    /// `dst` has room for `MAX_LEN - 1` bytes.
    unsafe fn put_fixed(&self, decimals: usize, dst: *mut u8) -> usize {
        // SAFETY: at most 309 digits, or 323 zeros and 17 digits after the point, and in either case
        // whole words for the digits; 17 and 4 in the smaller case.
        unsafe {
            if self.point <= 0 && !self.is_zero() {
                let zeros = self.point.unsigned_abs() as usize;
                put_bytes(b"0.", dst);
                dst.add(2).write_bytes(b'0', zeros);
                self.put_digits(dst.add(2 + zeros));
                return 2 + zeros + self.length;
            }
            let whole = self.point.max(1) as usize;
            self.put_digits(dst);
            if whole < self.length {
                let fraction = &self.digits[whole..self.length];
                *dst.add(whole) = b'.';
                return whole + 1 + put_bytes(fraction, dst.add(whole + 1));
            }
            if whole > ZMIJ_LEN {
                dst.add(ZMIJ_LEN).write_bytes(b'0', whole - ZMIJ_LEN);
            }
            if decimals == 0 {
                whole
            } else {
                whole + put_bytes(b".0", dst.add(whole))
            }
        }
    }

    /// With exponent.
    ///
    /// # Safety
    /// There is room for `2 * ZMIJ_LEN - 1` bytes at `dst`.
    unsafe fn put_exponent(&self, dst: *mut u8) -> usize {
        let exponent = if self.is_zero() { 0 } else { self.point - 1 };
        // SAFETY: a digit and a point, whole words for 17 digits, an `e` after the digits, and an i16's
        // room after that.
        unsafe {
            let mut length = 1;
            if self.length > 1 {
                self.put_digits(dst.add(1));
                *dst.add(1) = b'.';
                length = 1 + self.length;
            }
            *dst = self.digits[0];
            *dst.add(length) = b'e';
            length + 1 + (exponent as i16).write_to(dst.add(length + 1))
        }
    }

    /// The digits, and zeros after them.
    ///
    /// # Safety
    /// There is room for `ZMIJ_LEN` bytes at `dst`.
    #[inline(always)]
    unsafe fn put_digits(&self, dst: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { dst.cast::<[u8; ZMIJ_LEN]>().write(self.digits) };
    }
}

/// # Safety
/// `dst` has room for the bytes.
#[inline(always)]
unsafe fn put_bytes(bytes: &[u8], dst: *mut u8) -> usize {
    // SAFETY: the caller's promise; `dst` is not within the bytes, because they are borrowed.
    unsafe { dst.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    bytes.len()
}

/// The room that [`put_decimals`] needs: the 309 digits that the largest number has before the
/// point, and the decimals.
#[inline(always)]
pub(super) fn decimals_room<F: Float>(value: F, decimals: usize) -> usize {
    let (_, exponent) = value.parts();
    // A u64 has 20 digits.
    let whole = if exponent <= 0 { 20 } else { 309 };
    // The sign, the point, and whole words for the decimals.
    2 + whole + decimals.max(MAX_DECIMALS)
}

/// An upper bound of the room for any number, without the decimals of a precision.
pub(super) const MOST_ROOM: usize = MAX_LEN;
const _: () = assert!(MOST_ROOM >= 2 + 309 + MAX_DECIMALS);

/// Writes a float with `decimals` decimals, correctly rounded (ties to even), at `dst`; returns the length.
///
/// # Safety
/// There is room for [`decimals_room`] bytes at `dst`.
#[inline(never)]
pub(super) unsafe fn put_decimals<F: Float>(value: F, decimals: usize, dst: *mut u8) -> usize {
    let (mantissa, exponent) = value.parts();
    if !value.finite() {
        // SAFETY: `dst` has more room than these texts need.
        return unsafe { put_bytes(not_finite(value), dst) };
    }
    if decimals > MAX_DECIMALS || exponent > 0 {
        // SAFETY: the caller's promise.
        return unsafe { put_decimals_by_std(value, decimals, dst) };
    }
    // The number is mantissa / 2^shift: `whole + fraction / 2^shift`.
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
