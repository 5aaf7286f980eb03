//! Four independent terminal emulators show the backend's picture, cell by cell, after every frame. A sample runs by default; for more,
//! in release mode:
//!
//! ```text
//! OUTPACE_FRAMES=1000000 cargo test --release -p outpace-ratatui --test emulators -- --nocapture
//! ```

#![allow(
    unreachable_pub,
    reason = "the modules are shared with the fuzz target"
)]

mod emulator;
mod frames;
mod inline;
mod prompt;
mod scrollback;
mod tmux;
mod transcript;
#[path = "../support/transcripts.rs"]
mod transcripts;
mod widgets;
#[path = "../support/wire.rs"]
mod wire;

use frames::{Random, play};

const FRAMES_A_GAME: u32 = 200;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}: `{text}` is no number")),
        Err(_) => default,
    }
}

#[test]
fn every_emulator_shows_every_frame() {
    let games = number("OUTPACE_FRAMES", 6_000).div_ceil(FRAMES_A_GAME.into());
    let first = number("OUTPACE_SEED", 1);
    let (mut bytes, mut out_of_order) = (0, 0);
    for seed in first..first + games {
        match play(&mut Random::new(seed), FRAMES_A_GAME, emulator::all) {
            Ok(stats) => {
                bytes += stats.bytes;
                out_of_order += stats.cells_out_of_order;
            }
            Err(problem) => panic!("OUTPACE_SEED={seed}: {problem}"),
        }
    }
    println!(
        "{} frames, {bytes} bytes, {out_of_order} cells out of order, seeds from {first}",
        games * u64::from(FRAMES_A_GAME)
    );
}
