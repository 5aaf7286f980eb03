//! Draws sequences of frames that the fuzzer chooses, and after each compares the screens of four terminal emulators
//! with the expected one. `cargo +nightly fuzz run frames --features terminals`

#![no_main]

#[path = "../../crates/outpace-ratatui/tests/emulators/emulator.rs"]
mod emulator;
#[path = "../../crates/outpace-ratatui/tests/emulators/frames.rs"]
mod frames;
#[path = "../../crates/outpace-ratatui/tests/support/wire.rs"]
mod wire;

use frames::Choices;
use libfuzzer_sys::fuzz_target;

/// Choices from the fuzzer's bytes; without bytes, always the first.
struct Bytes<'a>(&'a [u8]);

impl Choices for Bytes<'_> {
    fn below(&mut self, n: u32) -> u32 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u32::from(*first) % n
    }
}

fuzz_target!(|data: &[u8]| {
    let frames = 1 + data.len() as u32 / 32;
    if let Err(problem) = frames::play(&mut Bytes(data), frames, emulator::all) {
        panic!("{problem}");
    }
});
