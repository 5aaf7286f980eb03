//! Helpers of several test programs.
#![allow(dead_code, reason = "none of them needs all of it")]

use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what has to happen. Far more than it takes on any machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Waits until a condition holds; its absence fails the test, not its lateness.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "still waiting until {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Numbers that look random and are the same in every run: Vigna's splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in `of` times.
    pub(crate) fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}
