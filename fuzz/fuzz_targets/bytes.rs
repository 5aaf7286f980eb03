//! A fuzzer's bytes as choices.

use crate::frames::Choices;

/// Choices from the fuzzer's bytes; without bytes, always the first.
#[derive(Clone)]
pub struct Bytes<'a>(pub &'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, n: u32) -> u32 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u32::from(*first) % n
    }
}
