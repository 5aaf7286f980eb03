//! Whatever an input consists of, each call says what its naive twin says: the same comparison as
//! `cargo test`'s, with the fuzzer's text, calls and portions.
//!
//! ```sh
//! cargo +nightly fuzz run input -- -max_total_time=600 -max_len=400
//! ```

#![no_main]

#[path = "../../crates/outpace/tests/input/model.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|parts: (&[u8], &[u8], &[u8])| {
    let (text, choices, sizes) = parts;
    // A number is read the fast way only where some 80 bytes are behind it: every other text is repeated.
    let times = match text.first() {
        Some(first) if first % 2 == 0 => 1 + 200 / text.len(),
        _ => 1,
    };
    model::run(&text.repeat(times), choices, sizes);
});
