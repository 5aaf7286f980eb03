//! What does not fit into the queue's memory, in a file.
//!
//! The order of a stream's bytes while it spills: the closed segments in memory, then the file, then the
//! segments that wait to be put into the file (`incoming`), then the tail. So once anything is in the file,
//! every new segment goes behind it, until the file is empty.
//!
//! A thread of its own puts segments into the file, because the helper may be stuck in a write to the
//! terminal, and the program's threads are not to wait for a disk either. The file has no name: nobody
//! else sees it, and it is gone when the process is, however that ends.

use super::buffering::Overflow;
use super::engine::{Engine, Mode, Segment, State};
use super::state_guard::Locked;
use crate::sys;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long segments are gathered before they are put into the file, unless the queue fills up meanwhile: who
/// fills it need not make a system call for each.
const GATHER: Duration = Duration::from_millis(4);

/// So many intervals without a segment, and the thread sleeps until it is woken.
const QUIET_INTERVALS: u32 = 4;

/// So many segments at most are put into the file at once: the queue has room again after each time.
const BATCH: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleep {
    Awake,
    /// It looks again by itself.
    Nap,
    UntilWoken,
}

/// The state of a stream's spilling.
pub(crate) struct Spill {
    file: Option<Arc<File>>,
    /// Where the file is made, once it is needed.
    directory: Option<PathBuf>,
    /// The span of the file that has been written and not yet read back.
    from: u64,
    to: u64,
    /// Segments that wait to be put into the file.
    incoming: VecDeque<Segment>,
    /// The thread is there.
    alive: bool,
    /// It sleeps until it is woken, or for an interval.
    asleep: Sleep,
    /// The thread is putting so many of `incoming` into the file, from the first on.
    writing: usize,
    /// They have been given up meanwhile.
    abandoned: bool,
    /// The file cannot take more, until it is empty; said once.
    full: bool,
    said: bool,
    pub(crate) stop: bool,
}

impl Spill {
    pub(crate) const NONE: Spill = Spill {
        file: None,
        directory: None,
        from: 0,
        to: 0,
        incoming: VecDeque::new(),
        alive: false,
        asleep: Sleep::Awake,
        writing: 0,
        abandoned: false,
        full: false,
        said: false,
        stop: false,
    };

    /// Whether new segments go behind the file.
    pub(crate) fn is_active(&self) -> bool {
        self.to > self.from || !self.incoming.is_empty()
    }

    /// Whether the next that comes back is a gap.
    pub(crate) fn next_is_gap(&self) -> bool {
        let next = self.incoming.front();
        self.from == self.to && next.is_some_and(|next| next.gap.is_some())
    }

    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn forget_after_fork(&mut self) {
        // The file's offset is not used, but its bytes are the parent's to write.
        *self = Spill {
            stop: self.stop,
            ..Spill::NONE
        };
    }
}

impl State {
    /// Bytes that are pending in the file.
    pub(crate) fn in_file(&self) -> u64 {
        self.spill.to - self.spill.from
    }

    /// Whether the queue's memory has come to an end that only the file, or what waits for it, follows.
    pub(crate) fn closed_is_followed_by_file(&self) -> bool {
        self.closed.is_empty() && self.spill.is_active()
    }

    /// Gives all of it up.
    pub(crate) fn clear_spill(&mut self) {
        self.spill.from = self.spill.to;
        // Those that are being put into the file go when that is done.
        self.spill.abandoned = self.spill.writing > 0;
        self.spill.incoming.truncate(self.spill.writing);
    }

    /// The last segment before the tail, if more may be put behind its end.
    pub(crate) fn last_segment(&mut self) -> Option<&mut Segment> {
        if self.spill.incoming.len() > self.spill.writing {
            return self.spill.incoming.back_mut();
        }
        if self.spill.is_active() {
            None
        } else {
            self.closed.back_mut()
        }
    }

    /// Where what comes behind all segments goes.
    pub(crate) fn last_queue(&mut self) -> &mut VecDeque<Segment> {
        if self.spill.is_active() {
            &mut self.spill.incoming
        } else {
            &mut self.closed
        }
    }

    /// How many bytes of the segment that waits at `index` can be put into the file, behind `ahead` others.
    fn can_spill(&self, index: usize, ahead: u64) -> Option<u64> {
        let limit = match &self.overflow {
            Overflow::Spill { limit, .. } => *limit,
            _ => u64::MAX,
        };
        let next = self.spill.incoming.get(index)?;
        let bytes = (next.end - next.drained) as u64;
        // After a switch to a policy that drops there may be gaps, which come back from memory.
        let can = !self.spill.full && next.gap.is_none() && self.in_file() + ahead + bytes <= limit;
        can.then_some(bytes)
    }

    /// Has the thread that spills look, if it sleeps and can do anything: at once, or when its nap is over.
    fn wake_spiller(&mut self, at_once: bool) {
        let sleeps = match self.spill.asleep {
            Sleep::Awake => false,
            Sleep::Nap => at_once,
            Sleep::UntilWoken => true,
        };
        if sleeps && self.can_spill(0, 0).is_some() {
            self.spill.asleep = Sleep::Awake;
            self.put_off.wake_spiller();
        }
    }

    /// Puts a segment behind the closed ones: in memory, or on its way to the file.
    #[inline(never)]
    pub(crate) fn close_segment(&mut self, segment: Segment, pending: usize) {
        // The first one stays: a drain may be writing it, and more, if it joins them.
        let spills = matches!(self.overflow, Overflow::Spill { .. })
            && self.mode == Mode::Background
            && self.closed.len() >= self.joined.max(1)
            && !self.spill.full
            // The other half is for what comes until the thread that spills gets a processor.
            && pending > self.capacity / 2;
        if spills {
            self.spill.incoming.push_back(segment);
        } else {
            self.last_queue().push_back(segment);
        }
    }
}

impl Engine {
    /// Sees to it that what waits is put into the file, soon, or now if the queue is nearly full.
    pub(crate) fn spill_incoming(&self, state: &mut State) {
        let Overflow::Spill { directory, .. } = &state.overflow else {
            return;
        };
        if state.spill.incoming.is_empty() || state.spill.full {
            return;
        }
        if state.spill.alive {
            let nearly_full = self.pending(state) > state.capacity / 4 * 3;
            state.wake_spiller(nearly_full);
            return;
        }
        state.spill.directory = Some(directory.clone());
        let Some(engine) = self.keep_alive() else {
            return;
        };
        match sys::spawn(c"outpace-spill", Box::new(move || run(&engine))) {
            Ok(()) => state.spill.alive = true,
            Err(error) => self.spill_failed(state, &error.into()),
        }
    }

    /// From now on the queue blocks when it is full.
    fn spill_failed(&self, state: &mut State, error: &io::Error) {
        state.spill.full = true;
        if !state.spill.said {
            state.spill.said = true;
            let name = self.role.name();
            let directory = state.spill.directory.clone().unwrap_or_default();
            let directory = directory.display();
            state.put_off.report(format!(
                "{name}: cannot spill to {directory}: {error}; waiting for the reader instead"
            ));
        }
    }

    /// Brings what follows the closed segments back into memory: from the file, or, when that is empty,
    /// straight from what waits for it. The caller is the one that drains.
    pub(crate) fn read_back<'a>(&'a self, mut state: Locked<'a>) -> Locked<'a> {
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
        // In pieces as small as segments, for the same reason.
        let length = (to - from).min(state.segment_capacity() as u64);
        drop(state);
        let mut bytes = vec![0; length as usize];
        let result = sys::read_at(&file, &mut bytes, from);
        sys::forget_range(&file, from, length);
        // It begins and ends anywhere, so it is not to be dropped under a later policy.
        let segment = Segment {
            whole: false,
            ..Segment::of(&bytes)
        };
        let mut state = self.lock_state_politely();
        if let Err(error) = result {
            // The bytes are lost, and the stream with them: what arrived stays a prefix.
            self.fail(&mut state, error.into());
            return state;
        }
        state.spill.from += length;
        if state.spill.from == state.spill.to && state.spill.writing == 0 {
            // From the beginning again: the file does not grow for ever.
            (state.spill.from, state.spill.to) = (0, 0);
        }
        state.wake_spiller(true);
        state.closed.push_back(segment);
        state
    }
}

/// Puts incoming segments into the file.
fn run(engine: &Engine) {
    let mut batch: Vec<&[u8]> = Vec::with_capacity(BATCH);
    let mut quiet = 0;
    let mut state = engine.lock_state();
    while !state.spill.stop {
        let mut length = 0;
        batch.clear();
        while batch.len() < BATCH
            && let Some(bytes) = state.can_spill(batch.len(), length)
        {
            batch.push(state.spill.incoming[batch.len()].pending_bytes());
            length += bytes;
        }
        if batch.is_empty() {
            let (asleep, limit) = if quiet < QUIET_INTERVALS {
                (Sleep::Nap, Some(GATHER))
            } else {
                (Sleep::UntilWoken, None)
            };
            state.spill.asleep = asleep;
            state = state.wait_for(&engine.spilled, limit);
            state.spill.asleep = Sleep::Awake;
            quiet += 1;
            continue;
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
            // The error is that there is no file.
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
            let done = done.expect("only this thread takes what it is writing");
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
            // The segment stays where it is: what was written of it is written over.
            engine.spill_failed(&mut state, &error);
        }
        state.spill.writing = 0;
        state.spill.abandoned = false;
        state.tell_progress();
        state = state.catch_up();
    }
    state.spill.alive = false;
}

/// Puts one segment behind the other into the file, from `at` on; returns how many are there as a whole.
fn put_all(batch: &[&[u8]], file: &File, mut at: u64) -> (usize, io::Result<()>) {
    for (index, bytes) in batch.iter().enumerate() {
        if let Err(error) = sys::write_at(file, bytes, at) {
            return (index, Err(error));
        }
        at += bytes.len() as u64;
    }
    (batch.len(), Ok(()))
}
