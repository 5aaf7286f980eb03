//! Keeping out of the way of a program that writes as fast as it can.

use crate::platform::scheduling::{Manners, Scheduling};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Tells a flood from answers to keys. In a flood the relay naps between reads: each write would wake it otherwise,
/// and cost the program its processor. See `bench/results/2026-11-20-run-and-trace.md`.
pub(super) struct FloodPace {
    last: Instant,
    /// Counts reads that have followed one another closely.
    streak: u32,
    scheduling: Scheduling,
    /// The capacity of the program's pipe; 0 for a terminal, which holds so little that the program would wait for the end of a
    /// nap.
    capacity: usize,
}

/// The longest time between two reads of a flood.
const CLOSE: Duration = Duration::from_micros(500);
/// The same, if the second read brings at least [`MUCH`].
const LESS_CLOSE: Duration = Duration::from_millis(5);
const MUCH: usize = 1 << 10;
/// The number of such reads in a row that are a flood.
const FLOOD_READS: u32 = 8;
/// The time between two reads of a pipe in a flood. A write to a pipe without a waiting reader wakes no thread.
const NAP: Duration = Duration::from_millis(1);
/// The part of a pipe that may fill during a nap, by the rate before it.
const NAP_SHARE: usize = 16;

impl FloodPace {
    /// For the calling thread, which reads from `source`.
    pub(super) fn new(source: impl AsFd) -> Self {
        Self {
            last: Instant::now(),
            streak: 0,
            scheduling: Scheduling::current(),
            capacity: rustix::pipe::fcntl_getpipe_size(source).unwrap_or(0),
        }
    }

    /// Whether a read of this many bytes just now belongs to a flood.
    pub(super) fn is_flood(&mut self, read: usize) -> bool {
        let now = Instant::now();
        let gap = now - std::mem::replace(&mut self.last, now);
        let is_close = gap < CLOSE || (gap < LESS_CLOSE && read >= MUCH);
        self.streak = if is_close { self.streak + 1 } else { 0 };
        self.streak >= FLOOD_READS
    }

    /// The program and the reader both wait for this thread: raises its priority.
    pub(super) fn come_first(&mut self) {
        self.scheduling.change(Manners::ComeFirst);
    }

    /// Called when keys came since the last read: this read is an answer, however fast.
    pub(super) fn answers(&mut self) {
        self.streak = 0;
    }

    /// Naps, if this is a flood.
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
