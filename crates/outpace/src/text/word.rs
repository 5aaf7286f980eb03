//! Eight characters in a machine word, the unit in which digits are stored.
//!
//! A word holds one digit a byte, the first in the lowest, so that the number of leading zeros is
//! the number of trailing zero bytes: one count and one shift drop them all, without a branch.

#![allow(unsafe_code)]

use std::num::NonZero;

/// Eight times '0': decimal digits become characters by or-ing this.
pub(super) const ASCII: u64 = 0x3030_3030_3030_3030;

/// Eight digits, given as characters, without the leading zeros (zero keeps one digit), and how many are left.
///
/// # Safety
/// They are ASCII.
#[inline(always)]
pub(super) unsafe fn first(characters: u64) -> (u64, usize) {
    /// Clears zeros, except the highest bit, which stops the count at the last digit.
    const ZEROS: u64 = ASCII | 1 << 63;
    debug_assert!(characters >> 63 == 0);
    // SAFETY: the highest bit is set in `ZEROS` and clear in ASCII characters.
    let digits = unsafe { NonZero::new_unchecked(characters ^ ZEROS) };
    let leading_zeros = digits.trailing_zeros() / 8;
    (
        characters >> (leading_zeros * 8),
        8 - leading_zeros as usize,
    )
}

/// Writes eight characters.
///
/// # Safety
/// There is room for 8 bytes at `dst`.
#[inline(always)]
pub(super) unsafe fn put_word(characters: u64, dst: *mut u8) {
    // SAFETY: 8 bytes of room are demanded; the store may be unaligned.
    unsafe { dst.cast::<u64>().write_unaligned(characters.to_le()) };
}
