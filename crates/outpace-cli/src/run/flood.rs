//! Keeping out of the way of a program that writes as fast as it can.

use crate::platform::scheduling::{Manners, Scheduling};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Tells a flood from answers to keys, and in a flood keeps out of the program's way: whatever it writes would
/// wake us, and that costs it its processor. See `bench/results/2026-11-20-run-and-trace.md`.
pub(super) struct FloodPace {
    last: Instant,
    /// Reads that have followed one another closely.
    streak: u32,
    scheduling: Scheduling,
    /// What the program's pipe holds; nothing for a terminal, which holds so little that the program would wait
    /// for us to wake up.
    capacity: usize,
}

/// Reads that follow one another this closely may be a flood,
const CLOSE: Duration = Duration::from_micros(500);
/// and so may those that bring as much as this
const MUCH: usize = 1 << 10;
/// and follow one another this closely.
const LESS_CLOSE: Duration = Duration::from_millis(5);
/// So many of them in a row are one.
const FLOOD_READS: u32 = 8;
/// Between two reads of a pipe in a flood. Writing to a pipe that no thread waits for wakes none.
const NAP: Duration = Duration::from_millis(1);
/// The part of a pipe that a nap may fill, by what came in the time before.
const NAP_SHARE: usize = 16;

impl FloodPace {
    /// That of the calling thread, which reads from there.
    pub(super) fn new(source: impl AsFd) -> Self {
        Self {
            last: Instant::now(),
            streak: 0,
            scheduling: Scheduling::current(),
            capacity: rustix::pipe::fcntl_getpipe_size(source).unwrap_or(0),
        }
    }

    /// Whether so many bytes, read just now, belong to a flood.
    pub(super) fn is_flood(&mut self, read: usize) -> bool {
        let now = Instant::now();
        let gap = now - std::mem::replace(&mut self.last, now);
        let is_close = gap < CLOSE || (gap < LESS_CLOSE && read >= MUCH);
        self.streak = if is_close { self.streak + 1 } else { 0 };
        self.streak >= FLOOD_READS
    }

    /// The program and another wait for us.
    pub(super) fn come_first(&mut self) {
        self.scheduling.change(Manners::ComeFirst);
    }

    /// Keys came in between: this is talk, however fast.
    pub(super) fn answers(&mut self) {
        self.streak = 0;
    }

    /// Lets the program go on for a while, if this is a flood.
    pub(super) fn keep(&mut self, read: usize) {
        let is_flood = self.streak >= FLOOD_READS;
        self.scheduling.change(match is_flood {
            true => Manners::WaitTurn,
            false => Manners::Usual,
        });
        if is_flood && read < self.capacity / NAP_SHARE {
            std::thread::sleep(NAP);
            self.last = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_to_keys_are_no_flood_however_fast_they_come() {
        let (source, _writer) = std::io::pipe().unwrap();
        let mut pace = FloodPace::new(&source);
        for _ in 0..100 {
            pace.last = Instant::now();
            pace.answers();
            assert!(!pace.is_flood(12));
        }
    }
}
