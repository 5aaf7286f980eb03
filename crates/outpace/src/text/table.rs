//! The tables of all groups of four digits, and the decision to use them.
//!
//! Two lookups make eight digits two to three times as fast as arithmetic does. One table is for a number's first
//! group, the other for the second: entries of the first also have their number of digits, so that leading zeros need
//! neither counting nor shifting. But the tables are 80 kB: for a program that prints a hundred numbers, fetching them
//! would cost more than it saves. So they are neither in the executable nor in memory at first. Numbers are made by
//! arithmetic until there have been [`WORTH_IT`] of them. That is about when existing tables would have saved the cost
//! of making them (some 30 µs, mostly for touching new memory). Then the thread that wrote the last number makes them.
//! So no sequence of numbers costs more than about twice the cost under the best choice for it.
//!
//! The choice is free on the hot path: it checks anyway that a number has at most eight digits, and [`reach`], the
//! limit in that check, is 0 until the tables are ready.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

const GROUPS: usize = 10_000;

/// The numbers below this have at most eight digits, two groups.
pub(super) const EIGHT_DIGITS: usize = 100_000_000;

/// How many numbers are made by arithmetic before the table is made.
pub(super) const WORTH_IT: u32 = 8_192;

/// One object, so that the hot path needs one address.
struct Table {
    /// 0 until the entries are complete, then [`EIGHT_DIGITS`].
    reach: AtomicUsize,
    entries: UnsafeCell<Entries>,
}

/// The characters of each group of four digits, the first in the lowest byte.
struct Entries {
    /// Without leading zeros (zero has one digit). The highest four bits are the number of digits less one: with four
    /// digits these bits are the last character's, and each digit's character begins with 3.
    first: [u32; GROUPS],
    /// All four.
    next: [u32; GROUPS],
}

// SAFETY: `make` lets exactly one thread write the entries, before it publishes the reach; other threads read the
// entries only after seeing the reach, as `entries` demands.
unsafe impl Sync for Table {}

static TABLE: Table = Table {
    reach: AtomicUsize::new(0),
    entries: UnsafeCell::new(Entries {
        first: [0; GROUPS],
        next: [0; GROUPS],
    }),
};

/// Numbers made without the table so far. Approximate, because threads count without synchronisation.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The limit of the numbers that [`put_short`] and [`eight_digits`] accept.
#[inline(always)]
pub(super) fn reach() -> usize {
    // Pairs with the release in `make`: a thread that sees the reach sees the entries.
    TABLE.reach.load(Ordering::Acquire)
}

/// The entries of two groups.
///
/// # Safety
/// Both are below 10,000, and [`reach`] has not returned 0 to this thread.
#[inline(always)]
unsafe fn entries(first: u64, next: u64) -> (u32, u32) {
    debug_assert!(first.max(next) < GROUPS as u64 && reach() == EIGHT_DIGITS);
    // SAFETY: in bounds; the reach was seen with acquire, so the entries are complete and no thread
    // writes to them again.
    unsafe {
        let entries = TABLE.entries.get();
        let first = *(&raw const (*entries).first)
            .cast::<u32>()
            .add(first as usize);
        let next = *(&raw const (*entries).next)
            .cast::<u32>()
            .add(next as usize);
        (first, next)
    }
}

/// The two groups of eight digits.
#[inline(always)]
fn groups(n: u64) -> (u64, u64) {
    debug_assert!(n < EIGHT_DIGITS as u64);
    // n / 10,000 for eight digits: exact, for 109,951,163 * 10,000 is 2^40 + 2,224, and
    // n * 2,224 < 2^40.
    let high = (n * 109_951_163) >> 40;
    (high, n - high * GROUPS as u64)
}

/// The digits of `n` as characters, leading zeros included, the first in the lowest byte.
///
/// # Safety
/// `n` is less than a value that [`reach`] has returned to this thread.
#[inline(always)]
pub(super) unsafe fn eight_digits(n: u64) -> u64 {
    let (high, low) = groups(n);
    // SAFETY: n < 10^8, so both groups are less than 10,000; the reach is demanded.
    let (high, low) = unsafe { (entries(0, high).1, entries(0, low).1) };
    u64::from(high) | (u64::from(low) << 32)
}

/// Writes the digits of `n` without leading zeros, returns how many there are.
///
/// # Safety
/// As [`eight_digits`]; there is room for 8 bytes at `dst`.
#[inline(always)]
pub(super) unsafe fn put_short(n: u64, dst: *mut u8) -> usize {
    let put = |group: u32, at: usize| {
        // SAFETY: `at` is at most 4, and there is room for 8 bytes.
        unsafe { dst.add(at).cast::<u32>().write_unaligned(group.to_le()) };
    };
    let digits = |first: u32| 1 + (first >> 28) as usize;
    // SAFETY: the numbers are groups, below 10,000; the reach is demanded.
    unsafe {
        if n < GROUPS as u64 {
            let (first, _) = entries(n, 0);
            put(first, 0);
            return digits(first);
        }
        let (high, low) = groups(n);
        let (first, next) = entries(high, low);
        put(first, 0);
        put(next, digits(first));
        4 + digits(first)
    }
}

/// Counts a number that was made by arithmetic, and makes the table after [`WORTH_IT`] of them.
#[inline]
pub(super) fn count_one() {
    // A plain addition: lost counts are harmless, and a locked instruction would cost more than the number itself.
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
    // Two threads may get here, because counts are approximate: the first makes the table.
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the swap lets one thread in, once; the reach is still 0, so no thread reads.
    let entries = unsafe { &mut *TABLE.entries.get() };
    for (hundreds, block) in entries.next.as_chunks_mut::<100>().0.iter_mut().enumerate() {
        let hundreds = two_digits(hundreds as u32);
        for (n, entry) in block.iter_mut().enumerate() {
            *entry = hundreds | (two_digits(n as u32) << 16);
        }
    }
    entries.first = entries.next;
    for (from, to, digits) in [(0, 10, 1), (10, 100, 2), (100, 1000, 3)] {
        for entry in &mut entries.first[from..to] {
            *entry = *entry >> (8 * (4 - digits)) | (digits - 1) << 28;
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
    fn the_tables_have_the_digits_of_every_number_below_a_hundred_million() {
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
                let mut text = [0; 8];
                // SAFETY: the same, and there is room.
                let length = unsafe { put_short(n, text.as_mut_ptr()) };
                assert_eq!(&text[..length], n.to_string().as_bytes());
            }
        }
    }
}
