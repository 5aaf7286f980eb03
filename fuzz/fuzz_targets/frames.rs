//! Draws sequences of frames that the fuzzer chooses, and after each compares the screens of four terminal emulators
//! with the expected one. `cargo +nightly fuzz run frames --features terminals`

#![no_main]
#![allow(dead_code, reason = "the tests use more of these modules")]

mod bytes;
#[path = "../../crates/outpace-ratatui/tests/emulators/emulator.rs"]
mod emulator;
#[path = "../../crates/outpace-ratatui/tests/emulators/frames.rs"]
mod frames;
#[path = "../../crates/outpace-ratatui/tests/support/wire.rs"]
mod wire;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let frames = 1 + data.len() as u32 / 32;
    if let Err(problem) = frames::play(&mut Bytes(data), frames, emulator::all) {
        panic!("{problem}");
    }
});
