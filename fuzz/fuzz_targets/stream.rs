//! A stream, whatever is done with it, is a queue of bytes: the same model as `cargo test`'s, driven by the
//! fuzzer.
//!
//! ```sh
//! cargo +nightly fuzz run stream -- -max_total_time=600 -max_len=2000
//! ```

#![no_main]

#[path = "../../crates/outpace/tests/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: {
        // libFuzzer's `main` leaves it at its default, Rust's does not. A reader that has gone is an error.
        // SAFETY: no other thread is there yet.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    },
    |choices: &[u8]| model::run(&mut model::Choices(choices))
);
