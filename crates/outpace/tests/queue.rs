//! A stream, whatever is done with it, is a queue of bytes: see `model/mod.rs`.

#![cfg(all(target_os = "linux", not(outpace_portable), not(loom)))]

mod model;

use model::Choices;

/// Bytes that look random, from a seed (Marsaglia's xorshift).
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut x = 0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD129_0D6C_49C5_2A6B);
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

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
        model::run(&mut Choices(&bytes(seed, 600)));
    }
}
