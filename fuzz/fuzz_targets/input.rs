//! For any input, each call returns the same as its naive twin: the comparison of `cargo test`, with text, calls and
//! portions from the fuzzer.
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
    // Numbers take the fast path only with some 80 bytes behind them, so half of the texts are repeated.
    let times = match text.first() {
        Some(first) if first % 2 == 0 => 1 + 200 / text.len(),
        _ => 1,
    };
    model::run(&text.repeat(times), choices, sizes);
});
