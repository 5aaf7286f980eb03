//! Copies short texts, for which a call of `memcpy` would take longer than the copy.
#![allow(unsafe_code)]

use std::ptr;

/// Copies `bytes` to `to`; up to 32, which most messages have at most, without a call.
///
/// # Safety
///
/// `to` is writable for that many bytes, which do not overlap `bytes`.
#[inline(always)]
pub(crate) unsafe fn copy(bytes: &[u8], to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes.len() {
            0..=32 => copy_short(bytes, to),
            len => ptr::copy_nonoverlapping(bytes.as_ptr(), to, len),
        }
    }
}

/// The most bytes that [`copy_short`] copies.
pub(crate) const SHORT: usize = 64;

/// As [`copy`], without a call up to 64 bytes.
///
/// # Safety
///
/// As there; there are at most [`SHORT`] bytes.
#[inline(always)]
pub(crate) unsafe fn copy_short(bytes: &[u8], to: *mut u8) {
    /// Two copies of `N` bytes that overlap in the middle, for lengths of `N` to `2 * N`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(bytes: &[u8], to: *mut u8) {
        debug_assert!((N..=2 * N).contains(&bytes.len()));
        let last = bytes.len() - N;
        // SAFETY: both spans lie within the caller's `bytes.len()` bytes.
        unsafe {
            let head = bytes.as_ptr().cast::<[u8; N]>().read();
            let tail = bytes.as_ptr().add(last).cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write(head);
            to.add(last).cast::<[u8; N]>().write(tail);
        }
    }
    debug_assert!(bytes.len() <= SHORT);
    // SAFETY: the caller's promise; each arm's length is in the range of its call.
    unsafe {
        // As a binary search: for ranges in sequence, the compiler generates three instructions each.
        let len = bytes.len();
        if len >= 8 {
            if len <= 16 {
                ends::<8>(bytes, to);
            } else if len <= 32 {
                ends::<16>(bytes, to);
            } else {
                ends::<32>(bytes, to);
            }
        } else if len >= 4 {
            ends::<4>(bytes, to);
        } else if len == 1 {
            to.write(bytes[0]);
        } else if len != 0 {
            ends::<2>(bytes, to);
        }
    }
}

/// Copies at most eight bytes with one store of a word, whose bytes behind `bytes` are unspecified.
///
/// # Safety
///
/// `to` is writable for eight bytes, and `bytes` are at most eight.
#[inline(always)]
pub(crate) unsafe fn copy_word(bytes: &[u8], to: *mut u8) {
    debug_assert!(bytes.len() <= 8);
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let word = match bytes.len() {
        8.. => u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes")),
        len @ 4.. => {
            let (low, high) = (u64::from(half(0)), u64::from(half(len - 4)));
            let shift = 8 * (len - 4);
            if cfg!(target_endian = "little") {
                low | high << shift
            } else {
                low << 32 | high << (32 - shift)
            }
        }
        _ => {
            let mut word = [0; 8];
            let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
            [word[0], word[1], word[2]] = [at(0), at(1), at(2)];
            u64::from_ne_bytes(word)
        }
    };
    // SAFETY: writable by the caller's promise.
    unsafe { to.cast::<u64>().write_unaligned(word) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_copied_at_every_length() {
        for len in 0..=8 {
            let source = &b"abcdefgh"[..len];
            let mut target = [0xAA; 10];
            // SAFETY: there are eight bytes behind the first.
            unsafe { copy_word(source, target.as_mut_ptr().add(1)) };
            assert_eq!(&target[1..=len], source);
            assert_eq!(
                (target[0], target[9]),
                (0xAA, 0xAA),
                "wrote outside at {len}"
            );
        }
    }

    #[test]
    fn a_copy_is_a_copy_at_every_length() {
        let source: Vec<u8> = (0..200).map(|i| i as u8).collect();
        for len in 0..=source.len() {
            let mut target = vec![0xAA; len + 2];
            // SAFETY: `target` has room for `len` bytes after its first.
            unsafe { copy(&source[..len], target.as_mut_ptr().add(1)) };
            assert_eq!(target[1..=len], source[..len]);
            assert_eq!(
                (target[0], target[len + 1]),
                (0xAA, 0xAA),
                "wrote outside at {len}"
            );
        }
    }
}
