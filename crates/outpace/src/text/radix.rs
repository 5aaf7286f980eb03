//! Integers in hexadecimal, octal and binary.

#![allow(unsafe_code)]

use super::word::{ASCII, first, put_word};

/// A base that is a power of two, and the case of its letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Radix {
    /// `{:b}`
    Binary,
    /// `{:o}`
    Octal,
    /// `{:x}`
    LowerHex,
    /// `{:X}`
    UpperHex,
}

impl Radix {
    /// How many bits of a number eight digits show.
    #[inline(always)]
    const fn bits_a_word(self) -> u32 {
        match self {
            Radix::Binary => 8,
            Radix::Octal => 24,
            Radix::LowerHex | Radix::UpperHex => 32,
        }
    }

    /// The room that [`put`] needs for a number of `bits` bits: whole words.
    #[inline(always)]
    pub(super) const fn room(self, bits: u32) -> usize {
        bits.div_ceil(self.bits_a_word()) as usize * 8
    }

    /// The lowest eight digits of `n`, as values, the first in the lowest byte.
    #[inline(always)]
    fn digits(self, n: u64) -> u64 {
        match self {
            Radix::Binary => spread(n & 0xff, [(28, 0xf), (14, 0x3), (7, 0x1)]),
            Radix::Octal => spread(n & 0xff_ffff, [(20, 0xfff), (10, 0x3f), (5, 0x7)]),
            Radix::LowerHex | Radix::UpperHex => {
                spread(n & 0xffff_ffff, [(16, 0xffff), (8, 0xff), (4, 0xf)])
            }
        }
        .swap_bytes()
    }

    /// The characters of eight digits.
    #[inline(always)]
    fn characters(self, digits: u64) -> u64 {
        let letters = ((digits + EACH * 6) >> 4) & EACH;
        match self {
            Radix::Binary | Radix::Octal => digits | ASCII,
            Radix::LowerHex => (digits | ASCII) + letters * u64::from(b'a' - b'9' - 1),
            Radix::UpperHex => (digits | ASCII) + letters * u64::from(b'A' - b'9' - 1),
        }
    }
}

/// 1 in each byte.
const EACH: u64 = 0x0101_0101_0101_0101;

/// Moves the upper half of each bit field to a field of its own, so that eight adjacent digits get a byte each: in
/// three steps, given as the shift and the mask of the lowest field.
#[inline(always)]
fn spread(n: u64, steps: [(u32, u64); 3]) -> u64 {
    let [(a, fields_of_4), (b, fields_of_2), (c, fields_of_1)] = steps;
    let n = (n | n << a) & (fields_of_4 * 0x0000_0001_0000_0001);
    let n = (n | n << b) & (fields_of_2 * 0x0001_0001_0001_0001);
    (n | n << c) & (fields_of_1 * EACH)
}

/// Writes the digits of `n`, no prefix, at `dst`; returns the length.
///
/// # Safety
/// `dst` has room for [`Radix::room`] bytes, for the bits of `n`'s type.
#[inline]
pub(super) unsafe fn put(mut n: u128, radix: Radix, dst: *mut u8) -> usize {
    let bits = radix.bits_a_word();
    // Words are made from the last to the first.
    let mut words = [0; 16];
    let mut count = 0;
    loop {
        words[count] = radix.digits(n as u64);
        count += 1;
        n >>= bits;
        if n == 0 {
            break;
        }
    }
    // SAFETY: at most as many words as the bits of `n`'s type need; each follows the digits before it. All of them are
    // ASCII.
    unsafe {
        let word = words[count - 1];
        let (characters, mut length) = first(radix.characters(word));
        put_word(characters, dst);
        for &word in words[..count - 1].iter().rev() {
            put_word(radix.characters(word), dst.add(length));
            length += 8;
        }
        length
    }
}
