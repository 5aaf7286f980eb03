//! The table of all groups of four digits, and the decision to use it.
//!
//! Two lookups make eight digits almost twice as fast as arithmetic does. But the table is 40 kB:
//! for a program that prints a hundred numbers, fetching it would cost more than it saves. So it is
//! neither in the executable nor in memory at first. Numbers are made by arithmetic until there
//! have been [`WORTH_IT`] of them, which is about when the table, had it been there, would have
//! saved what making it costs (some 5 µs). Then the caller who wrote the last of them makes it. No
//! sequence of numbers thus costs more than about twice what it would under the best choice for it.
//!
//! The hot path pays nothing for having the choice: it has to check that a number has at most eight
//! digits anyway, and [`reach`], against which it checks, is 0 until the table is ready.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const GROUPS: usize = 10_000;

/// The numbers below this have at most eight digits, two groups.
pub(super) const EIGHT_DIGITS: usize = 100_000_000;

/// How many numbers are made by arithmetic before the table is made.
pub(super) const WORTH_IT: u32 = 4_096;

/// One object, so that the hot path needs one address.
struct Table {
    /// 0 until the entries are complete, then [`EIGHT_DIGITS`].
    reach: AtomicUsize,
    /// Entry `n` has the four digits of `n`, as characters, the first in the lowest byte.
    entries: UnsafeCell<[u32; GROUPS]>,
}

// SAFETY: `make` lets exactly one thread write the entries, before it publishes the reach; all
// others read only what is published (`eight_digits` demands it).
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    reach: AtomicUsize::new(0),
    entries: UnsafeCell::new([0; GROUPS]),
};

/// Numbers made without the table so far. Not exact between threads, nor need it be.
static MADE: AtomicU32 = AtomicU32::new(0);

/// What [`eight_digits`] may be asked for: any number below this.
#[inline(always)]
pub(super) fn reach() -> usize {
    // Pairs with the release in `make`: who sees the reach sees the entries.
    TABLE.reach.load(Ordering::Acquire)
}

/// The digits of `n` as characters, leading zeros included, the first in the lowest byte.
///
/// # Safety
/// `n` is less than a value that [`reach`] has returned to this thread.
#[inline(always)]
pub(super) unsafe fn eight_digits(n: u64) -> u64 {
    debug_assert!(n < EIGHT_DIGITS as u64 && reach() == EIGHT_DIGITS);
    // n / 10,000 for eight digits: exact, for 109,951,163 * 10,000 is 2^40 + 2,224, and
    // n * 2,224 < 2^40.
    let high = (n * 109_951_163) >> 40;
    let low = n - high * GROUPS as u64;
    let entries = TABLE.entries.get().cast::<u32>();
    // SAFETY: n < 10^8, so both indices are less than 10,000; the reach was seen with acquire, so
    // the entries are complete and nobody writes to them again.
    let (high, low) = unsafe { (*entries.add(high as usize), *entries.add(low as usize)) };
    u64::from(high) | (u64::from(low) << 32)
}

/// Counts a number that was made by arithmetic, and makes the table when that was one too many.
#[inline]
pub(super) fn count_one() {
    // A plain addition: a lost count does no harm, and a locked instruction would cost more than
    // the number itself.
    let made = MADE.load(Ordering::Relaxed);
    if made < WORTH_IT {
        MADE.store(made + 1, Ordering::Relaxed);
    } else if made == WORTH_IT {
        MADE.store(made + 1, Ordering::Relaxed);
        make();
    }
}

#[cold]
#[inline(never)]
fn make() {
    // Two threads may arrive here, because counting is not exact: the first makes it.
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the swap lets one thread in, once; the reach is still 0, so nobody reads.
    let entries = unsafe { &mut *TABLE.entries.get() };
    for (hundreds, block) in entries.as_chunks_mut::<100>().0.iter_mut().enumerate() {
        let hundreds = two_digits(hundreds as u32);
        for (n, entry) in block.iter_mut().enumerate() {
            *entry = hundreds | (two_digits(n as u32) << 16);
        }
    }
    TABLE.reach.store(EIGHT_DIGITS, Ordering::Release);
}

fn two_digits(n: u32) -> u32 {
    let digit = |n| n + u32::from(b'0');
    digit(n / 10) | (digit(n % 10) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_digits_of_every_number_below_a_hundred_million() {
        make();
        assert_eq!(reach(), EIGHT_DIGITS);
        for group in 0..GROUPS as u64 {
            for n in [
                group,
                group * 10_000,
                group * 10_001,
                group * 10_000 + 9_999,
            ] {
                // SAFETY: the reach was just seen to be above n.
                let digits = unsafe { eight_digits(n) };
                assert_eq!(digits.to_le_bytes(), format!("{n:08}").as_bytes());
            }
        }
    }
}
