//! What does not fit into the queue's memory, in a file.
//!
//! The order of a stream's bytes while it spills: the closed segments in memory, then the file, then the
//! segments that wait to be put into the file (`incoming`), then the tail. So once anything is in the file,
//! every new segment goes behind it, until the file is empty.
//!
//! A thread of its own puts segments into the file, because the helper may be stuck in a write to the
//! terminal, and the program's threads are not to wait for a disk either. The file has no name: nobody
//! else sees it, and it is gone when the process is, however that ends.

use crate::buffering::Overflow;
use crate::engine::{Engine, EngineRef, Locked, Mode, Segment, State};
use crate::settings::report;
use crate::sys;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// The thread is putting the first of `incoming` into the file.
    writing: bool,
    /// That one has been given up meanwhile.
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
        writing: false,
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
        // The one that is being put into the file goes when that is done.
        let keep = usize::from(self.spill.writing);
        self.spill.abandoned = self.spill.writing;
        self.spill.incoming.truncate(keep);
    }

    /// The last segment before the tail, if more may be put behind its end.
    pub(crate) fn last_segment(&mut self) -> Option<&mut Segment> {
        if self.spill.incoming.len() > usize::from(self.spill.writing) {
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

    /// Puts a segment behind the closed ones: in memory, or on its way to the file.
    pub(crate) fn close_segment(&mut self, segment: Segment, pending: usize) {
        // The first one stays: a drain may be writing it.
        let spills = matches!(self.overflow, Overflow::Spill { .. })
            && self.mode == Mode::Background
            && !self.closed.is_empty()
            && !self.spill.full
            && pending > self.capacity / 4 * 3;
        if spills {
            self.spill.incoming.push_back(segment);
        } else {
            self.last_queue().push_back(segment);
        }
    }
}

impl Engine {
    /// Starts the thread that puts segments into the file, if there are any and it is not there.
    pub(crate) fn spill_incoming(&self, state: &mut State) {
        let Overflow::Spill { directory, .. } = &state.overflow else {
            return;
        };
        if state.spill.incoming.is_empty() || state.spill.full {
            return;
        }
        if state.spill.alive {
            self.spilled.notify_one();
            return;
        }
        state.spill.directory = Some(directory.clone());
        let Some(engine) = self.keep_alive() else {
            return;
        };
        let name = format!("outpace-{}-spill", self.role.name());
        match sys::spawn(&name, move || run(&engine)) {
            Ok(()) => state.spill.alive = true,
            Err(error) => self.spill_failed(state, &error),
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
            report(&format!(
                "{name}: cannot spill to {directory}: {error}; waiting for the reader instead"
            ));
        }
    }

    /// Brings what follows the closed segments back into memory: from the file, or, when that is empty,
    /// straight from what waits for it. The caller is the one that drains.
    pub(crate) fn read_back<'a>(&'a self, mut state: Locked<'a>) -> Locked<'a> {
        let (from, to) = (state.spill.from, state.spill.to);
        if from == to {
            if state.spill.writing {
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
        let mut state = self.lock_state();
        if let Err(error) = result {
            // The bytes are lost, and the stream with them: what arrived stays a prefix.
            self.fail(&mut state, error);
            return state;
        }
        state.spill.from += length;
        if state.spill.from == state.spill.to && !state.spill.writing {
            // From the beginning again: the file does not grow for ever.
            (state.spill.from, state.spill.to) = (0, 0);
        }
        self.spilled.notify_one();
        // It begins and ends anywhere, so it is not to be dropped under a later policy.
        state.closed.push_back(Segment {
            whole: false,
            ..Segment::of(&bytes)
        });
        state
    }
}

/// Puts incoming segments into the file.
fn run(engine: &EngineRef) {
    let mut state = engine.lock_state();
    loop {
        if state.spill.stop {
            break;
        }
        let limit = match &state.overflow {
            Overflow::Spill { limit, .. } => *limit,
            _ => u64::MAX,
        };
        let room = limit.saturating_sub(state.in_file());
        let next = state
            .spill
            .incoming
            .front()
            // After a switch to a policy that drops; it comes back from memory.
            .filter(|next| next.gap.is_none())
            .map(|next| (next.end - next.drained) as u64);
        let ready = next.is_some_and(|bytes| bytes <= room) && !state.spill.full;
        if !ready {
            state = engine
                .spilled
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            continue;
        }
        state.spill.writing = true;
        let at = state.spill.to;
        let file = state.spill.file.clone();
        let directory = state.spill.directory.clone().unwrap_or_default();
        let bytes = state
            .spill
            .incoming
            .front()
            .expect("it is ready")
            .pending_bytes();
        drop(state);
        let result = file.map_or_else(|| sys::unnamed_file(&directory).map(Arc::new), Ok);
        let result = result.and_then(|file| sys::write_at(&file, bytes, at).map(|()| file));
        state = engine.lock_state();
        state.spill.writing = false;
        match result {
            Ok(file) => {
                let done = state
                    .spill
                    .incoming
                    .pop_front()
                    .expect("only this thread takes it");
                let length = (done.end - done.drained) as u64;
                state.spill.file = Some(file);
                if !state.spill.abandoned {
                    state.spill.to += length;
                    state.counts.spilled += length;
                }
                state.helper.keep_spare(done.buffer);
            }
            Err(error) => {
                // The segment stays where it is: what was written of it is written over.
                if state.spill.abandoned {
                    state.spill.incoming.pop_front();
                }
                engine.spill_failed(&mut state, &error);
            }
        }
        state.spill.abandoned = false;
        engine.tell_progress(&state);
    }
    state.spill.alive = false;
}
