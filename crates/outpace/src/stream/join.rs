//! Joining: one write for a line that is spread over several segments.
#![allow(unsafe_code)]

use super::engine::Engine;
use super::lines::{self, LONGEST, Unfinished};
use super::patience::Patience;
use super::state::State;
use super::state_guard::StateGuard;

/// A line that has been put together from several segments.
#[derive(Clone, Copy)]
struct Joined {
    length: usize,
    /// How many of the bytes come from the queue; the others are of the message that bypasses it.
    queued: usize,
    /// The closed segments before this one have bytes in it.
    segments: usize,
    /// The bytes behind it are in a file.
    file: bool,
}

impl Engine {
    /// Writes a line that is spread over several segments, or begins there and ends in `behind`, whose written bytes it
    /// removes. Returns false if the line has to wait, or if patience ran out.
    #[inline(never)]
    pub(super) fn write_joined<'a>(
        &'a self,
        mut state: StateGuard<'a>,
        until: u64,
        unfinished: Unfinished,
        patience: Patience,
        behind: &mut &[u8],
    ) -> (StateGuard<'a>, bool) {
        let mut line = [0; LONGEST];
        let limit = state.write_limit(patience).min(LONGEST);
        let joined = self.join(&state, until, unfinished, behind, &mut line[..limit]);
        let Joined {
            length,
            queued,
            segments,
            file,
        } = joined;
        if length == 0 && file {
            return (self.back_from_file(state), true);
        }
        if length == 0 {
            return (state, false);
        }
        state.joined = segments;
        let Some((mut state, result)) = self.write_some(state, &line[..length], patience) else {
            let mut state = self.lock_state();
            state.joined = 0;
            return (state, false);
        };
        state.joined = 0;
        self.count_write(&mut state, &line, queued, behind, result);
        (state, true)
    }

    /// Copies the front of the queue, and `behind`, which follows it, into `line`, up to the last newline that fits.
    fn join(
        &self,
        state: &State,
        until: u64,
        unfinished: Unfinished,
        behind: &[u8],
        line: &mut [u8],
    ) -> Joined {
        let mut length = 0;
        let mut segments = 0;
        let mut take = |bytes: &[u8]| {
            let free = &mut line[length..];
            let taken = bytes.len().min(free.len());
            free[..taken].copy_from_slice(&bytes[..taken]);
            length += taken;
            taken == bytes.len()
        };
        // Whether a gap, or bytes in a file, follow the copied bytes.
        let (mut gap, mut file) = (false, false);
        let mut more = true;
        for segment in &state.closed {
            gap = segment.gap.is_some() || segment.marker;
            if gap {
                break;
            }
            segments += 1;
            // SAFETY: copied at once, with the state locked.
            more = take(unsafe { segment.pending_bytes() });
            if !more {
                break;
            }
        }
        if more && !gap {
            file = state.spill.is_active();
            if !file {
                // SAFETY: published; only this thread, which drains, frees undrained bytes.
                let tail = unsafe {
                    state
                        .tail
                        .buffer
                        .published(state.tail.drained, self.offset(state))
                };
                segments += 1;
                more = take(tail);
            }
        }
        let queued = length;
        if more && !gap && !file {
            let free = &mut line[length..];
            let taken = behind.len().min(free.len());
            free[..taken].copy_from_slice(&behind[..taken]);
            length += taken;
        }
        let goes = unfinished == Unfinished::Goes || !state.at_line_start;
        let length = match lines::last_end(&line[..length]) {
            Some(end) => end,
            // It is too long, or its end cannot come, or it need not wait.
            None if length == line.len() || gap => length,
            None if goes && state.drained + queued as u64 >= until => length,
            None => 0,
        };
        Joined {
            length,
            queued: queued.min(length),
            segments,
            file,
        }
    }
}
