//! A stream, whatever is done with it, is a queue of bytes: see `model/mod.rs`.

#![cfg(all(target_os = "linux", not(outpace_portable), not(loom)))]

mod common;
mod model;

use common::Random;
use model::Choices;

/// `OUTPACE_MODEL_SEEDS=100000..200000` runs others than the fixed ones.
fn seeds(fixed: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let Ok(text) = std::env::var("OUTPACE_MODEL_SEEDS") else {
        return fixed;
    };
    let range = text.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.expect("OUTPACE_MODEL_SEEDS is a range, as 0..1000")
}

#[test]
fn a_stream_is_a_queue_of_bytes_whatever_is_done_with_it() {
    for seed in seeds(0..200) {
        // Shown if it fails.
        println!("OUTPACE_MODEL_SEEDS={seed}..{}", seed + 1);
        let mut random = Random::new(seed);
        let bytes: Vec<u8> = (0..600).map(|_| random.below(256) as u8).collect();
        model::run(&mut Choices(&bytes));
    }
}
