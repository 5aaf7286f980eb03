//! Eight characters in a machine word: how all digits reach their place.
//!
//! A word holds one digit a byte, the first in the lowest, so that the number of leading zeros is
//! the number of trailing zero bytes: one count and one shift drop them all, without a branch.

#![allow(unsafe_code)]

/// Eight times '0': decimal digits become characters by or-ing this.
pub(super) const ASCII: u64 = 0x3030_3030_3030_3030;

/// Eight digits, given as values and as characters: the characters without the leading zeros (of zero, one
/// remains), and how many are left.
#[inline(always)]
pub(super) fn first(digits: u64, characters: u64) -> (u64, usize) {
    // The bit stops the count before the last digit.
    let leading_zeros = (digits | 1 << 56).trailing_zeros() / 8;
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
