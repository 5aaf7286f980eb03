//! Plays sessions of a transcript that the fuzzer chooses, and compares the scrollback of the terminal emulators of this process with the text.
//! `cargo +nightly fuzz run transcript --features terminals`

#![no_main]
#![allow(dead_code, unused_imports, reason = "the tests compare in other emulators, too")]

mod bytes;
#[path = "../../crates/outpace-ratatui/tests/emulators/emulator.rs"]
mod emulator;
#[path = "../../crates/outpace-ratatui/tests/emulators/frames.rs"]
mod frames;
#[path = "../../crates/outpace-ratatui/tests/emulators/prompt.rs"]
mod prompt;
#[path = "../../crates/outpace-ratatui/tests/emulators/scrollback.rs"]
mod scrollback;
#[path = "../../crates/outpace-ratatui/tests/emulators/transcript.rs"]
mod transcript;
#[path = "../../crates/outpace-ratatui/tests/support/transcripts.rs"]
mod transcripts;
#[path = "../../crates/outpace-ratatui/tests/support/wire.rs"]
mod wire;

use bytes::Bytes;
use frames::Choices;
use libfuzzer_sys::fuzz_target;
use transcript::KINDS;

fuzz_target!(|data: &[u8]| {
    let mut choices = Bytes(data);
    let kind = KINDS[choices.below(KINDS.len() as u32) as usize];
    for outcome in transcript::play(&choices, kind, &mut scrollback::in_process()) {
        if let Err(problem) = outcome {
            panic!("{problem}");
        }
    }
});
