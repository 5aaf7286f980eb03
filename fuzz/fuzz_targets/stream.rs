//! A stream is a queue of bytes under any sequence of calls: the model of `cargo test`, driven by the fuzzer.
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
        // libFuzzer's `main` leaves SIGPIPE at its default, unlike Rust's. In the model a closed pipe is an error.
        // SAFETY: no other thread has started yet.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    },
    |choices: &[u8]| model::run(&mut model::Choices(choices))
);
