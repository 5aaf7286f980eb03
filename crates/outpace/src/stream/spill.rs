//! Spilling: bytes that do not fit into the queue's memory, in a file.
//!
//! The order of a stream's bytes while it spills: the closed segments in memory, then the file, then the segments that
//! wait to be put into the file (`incoming`), then the tail. So once bytes are in the file, every new segment goes
//! behind them, until the file is empty.
//!
//! A separate thread puts segments into the file, because the helper may be stuck in a write to the terminal, and the
//! program's threads must not wait for a disk. The file has no name: no other process sees it, and it disappears with
//! the process, however that ends.
#![allow(unsafe_code)]

use super::buffering::Overflow;
use super::engine::Engine;
use super::segment::Segment;
use super::state::State;
use super::state_guard::StateGuard;
use super::worker::{Rest, SelectWorker};
use crate::sys::{self, Moment};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long segments are gathered before they are put into the file, unless the queue fills up meanwhile. So not each
/// segment costs a wake-up.
const GATHER: Duration = Duration::from_millis(4);

/// After this many intervals without a segment the thread sleeps until it is woken.
const QUIET_INTERVALS: u32 = 4;

/// At most this many segments are put into the file at a time: after each time the queue has room again.
const BATCH: usize = 16;

impl Engine {
    /// Has waiting segments put into the file: soon, or now if the queue is nearly full.
    pub(crate) fn spill_incoming(&self, state: &mut State) {
        let Overflow::Spill { directory, .. } = &state.overflow else {
            return;
        };
        if state.spill.incoming.is_empty() || state.spill.full {
            return;
        }
        if state.spill.worker.alive {
            let nearly_full = self.pending(state) > state.capacity / 4 * 3;
            state.wake_spiller(nearly_full);
            return;
        }
        state.spill.directory = Some(directory.clone());
        let started = self.start_worker(
            state,
            |state| &mut state.spill.worker,
            c"outpace-spill",
            run,
        );
        if let Err(error) = started {
            self.spill_failed(state, &error.into());
        }
    }

    /// From now on a full queue blocks.
    fn spill_failed(&self, state: &mut State, error: &io::Error) {
        state.spill.full = true;
        if !state.spill.reported {
            state.spill.reported = true;
            let name = self.role.name();
            let directory = state.spill.directory.clone().unwrap_or_default();
            let directory = directory.display();
            state.deferred.reports.push(format!(
                "{name}: cannot spill to {directory}: {error}; waiting for the reader instead"
            ));
        }
    }

    /// Brings the bytes behind the closed segments back into memory: from the file, or, if that is empty, from the
    /// segments on their way there. Called by the thread that drains.
    pub(crate) fn read_back<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        let (from, to) = (state.spill.from, state.spill.to);
        if from == to {
            if state.spill.writing > 0 {
                return self.wait(state, None);
            }
            state.spill.full = false;
            if let Some(segment) = state.spill.incoming.pop_front() {
                state.closed.push_back(segment);
                state.pop_drained();
            }
            return state;
        }
        let file = state.spill.file.clone().expect("bytes are in it");
        // In pieces of a segment's size, for the same reason.
        let length = (to - from).min(state.segment_capacity() as u64);
        drop(state);
        let mut bytes = vec![0; length as usize];
        let result = sys::read_at(&file, &mut bytes, from);
        sys::forget_range(&file, from, length);
        // It may begin and end within a message, so a later policy must not drop it.
        let segment = Segment {
            whole: false,
            ..Segment::of(&bytes)
        };
        let mut state = self.lock_state_politely();
        if let Err(error) = result {
            // The bytes are lost, so the stream fails: the bytes that have arrived stay a prefix.
            self.fail(&mut state, error.into());
            return state;
        }
        state.spill.from += length;
        if state.spill.from == state.spill.to && state.spill.writing == 0 {
            // From the beginning again, so that the file does not grow forever.
            (state.spill.from, state.spill.to) = (0, 0);
        }
        state.wake_spiller(true);
        state.closed.push_back(segment);
        state
    }
}

/// Puts incoming segments into the file.
fn run(engine: &Engine) {
    // A full queue blocks where the file may grow no further.
    #[cfg(all(unix, not(outpace_portable)))]
    sys::signal::write_without_signals();
    let mut batch: Vec<&[u8]> = Vec::with_capacity(BATCH);
    let mut quiet = 0;
    let select: SelectWorker = |state| &mut state.spill.worker;
    engine.work(select, &engine.spilled, |mut state| {
        let mut length = 0;
        batch.clear();
        while batch.len() < BATCH
            && let Some(bytes) = state.can_spill(batch.len(), length)
        {
            let next = &state.spill.incoming[batch.len()];
            // SAFETY: only this thread counts them, after it has written them.
            batch.push(unsafe { next.pending_bytes() });
            length += bytes;
        }
        if batch.is_empty() {
            quiet += 1;
            let rest = match quiet <= QUIET_INTERVALS {
                true => Rest::Until(Moment::now() + GATHER),
                false => Rest::UntilWoken,
            };
            return (state, rest);
        }
        quiet = 0;
        state.spill.writing = batch.len();
        let at = state.spill.to;
        let file = state.spill.file.clone();
        let directory = state.spill.directory.clone().unwrap_or_default();
        drop(state);
        let file = file.map_or_else(|| sys::unnamed_file(&directory).map(Arc::new), Ok);
        let (written, result) = match &file {
            Ok(file) => put_all(&batch, file, at),
            // The error is reported below.
            Err(_) => (0, Ok(())),
        };
        state = engine.lock_state_politely();
        let gone = if state.spill.abandoned {
            state.spill.writing
        } else {
            written
        };
        for _ in 0..gone {
            let done = state.spill.incoming.pop_front();
            let done = done.expect("only this thread removes segments that it writes");
            let length = (done.end - done.drained) as u64;
            if !state.spill.abandoned {
                state.spill.to += length;
                state.counts.spilled += length;
            }
            state.keep_spare(done.buffer);
        }
        let result = file.and_then(|file| {
            state.spill.file = Some(file);
            result
        });
        if let Err(error) = result {
            // The segment stays in the queue: its bytes in the file are overwritten later.
            engine.spill_failed(&mut state, &error);
        }
        state.spill.writing = 0;
        state.spill.abandoned = false;
        state.notify_progress();
        (state, Rest::None)
    });
}

/// Writes the segments to the file, from `at` on; returns how many were written completely.
fn put_all(batch: &[&[u8]], file: &File, mut at: u64) -> (usize, io::Result<()>) {
    for (index, bytes) in batch.iter().enumerate() {
        if let Err(error) = sys::write_at(file, bytes, at) {
            return (index, Err(error));
        }
        at += bytes.len() as u64;
    }
    (batch.len(), Ok(()))
}
