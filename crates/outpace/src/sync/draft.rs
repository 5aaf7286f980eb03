//! Drafts: messages that are formatted while the thread is not inside the [lock](super::lock).
//!
//! Formatting runs users' code: it may print, panic, or wait for another thread that prints. So no thread may
//! have to wait for it, although its text goes directly behind the published bytes.
//!
//! ```text
//! the owner                                      the taker
//!
//! begin:  depth = DRAFT                          lock the mutex
//!         light fence                            bias = none
//!         if bias is not mine: withdraw          heavy fence
//! format, behind the published bytes             if depth is DRAFT: go in beside the draft,
//! end:    depth = 1                                  as if nested, and leave that memory alone;
//!         light fence                                so do all that enter until the draft has ended
//!         if bias is mine: inside, publish
//!         else: depth = DRAFT, copy the text,
//!               leave, enter like any thread
//! ```

use super::Ordering;
use super::barrier;
use super::lock::{ByBias, DRAFT, Entrance, Lock, NO_SLOT, Slot};
use super::platform::wake;
use super::thread::ThreadId;
use std::mem;

/// A draft in progress: see the top of this file. Dropping it gives the memory back.
pub(crate) struct Draft<'a>(ByBias<'a>);

impl<'a> Draft<'a> {
    /// Ends the draft by entering, if no thread can be inside beside it. Otherwise the text has to be copied before the
    /// draft is dropped.
    #[inline(always)]
    pub(crate) fn enter(self) -> Result<ByBias<'a>, Self> {
        let inside = self.0;
        if inside.slot.depth.load(Ordering::Relaxed) != DRAFT {
            // A guard that was taken within the draft is still held.
            return Err(self);
        }
        inside.slot.depth.store(1, Ordering::Relaxed);
        barrier::light();
        if inside.lock.bias.load(Ordering::Relaxed) != inside.bias {
            go_on(inside.slot);
            return Err(self);
        }
        mem::forget(self);
        Ok(inside)
    }
}

/// Lets in, beside the draft, a thread that has waited since the attempt to enter.
#[cold]
#[inline(never)]
extern "C" fn go_on(slot: &Slot) {
    slot.depth.store(DRAFT, Ordering::Release);
    wake(&slot.depth);
}

impl Drop for Draft<'_> {
    /// Calls a function that does not unwind. The function takes parts of the draft, so that this needs no address.
    #[inline(always)]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        extern "C" fn give_back(lock: &Lock, bias: usize) {
            let slot = lock.slot(bias);
            match slot.depth.load(Ordering::Relaxed) & !DRAFT {
                0 => ByBias { lock, bias, slot }.leave(),
                // Guards that outlive the draft keep the thread inside.
                inside => slot.depth.store(inside, Ordering::Release),
            }
        }
        give_back(self.0.lock, self.0.bias);
    }
}

impl Lock {
    /// Begins a draft with plain stores, if the thread has the bias and is outside. `me` is `thread_id`, or 0, which
    /// never has it.
    #[inline(always)]
    pub(crate) fn draft(&self, me: ThreadId) -> Option<Draft<'_>> {
        let place = self.bias.load(Ordering::Relaxed);
        if self.slot(place).owner.load(Ordering::Relaxed) != me {
            return None;
        }
        self.draft_by_slot(place, || me)
    }

    /// As [`draft`](Self::draft), for the thread whose [slot](Self::slot_of) is there.
    #[inline(always)]
    pub(crate) fn draft_by_slot(
        &self,
        place: usize,
        me: impl FnOnce() -> ThreadId,
    ) -> Option<Draft<'_>> {
        match self.enter_slot(place, DRAFT) {
            Entrance::Entered(outside) => Some(Draft(outside)),
            Entrance::Lost => {
                self.withdraw(me());
                None
            }
            Entrance::None => None,
        }
    }

    /// Enters by the bias a thread that is in the middle of a draft, if it still has the bias.
    pub(super) fn enter_from_draft(&self, me: ThreadId) -> bool {
        let place = self.slot_of(me);
        let depth = &self.slot(place).depth;
        if place == NO_SLOT || depth.load(Ordering::Relaxed) != DRAFT {
            return false;
        }
        depth.store(DRAFT + 1, Ordering::Relaxed);
        barrier::light();
        if self.bias.load(Ordering::Relaxed) == place {
            return true;
        }
        depth.store(DRAFT, Ordering::Release);
        wake(depth);
        false
    }

    /// Whether the calling thread, which has the mutex, enters beside a draft. Forgets a draft that is over.
    pub(super) fn is_beside_draft(&self) -> bool {
        let place = self.draft.load(Ordering::Relaxed);
        if place == NO_SLOT {
            return false;
        }
        // Its owner no longer has the bias, so other depths return to 0.
        let is_over = self.slot(place).depth.load(Ordering::Acquire) == 0;
        if is_over {
            self.draft.store(NO_SLOT, Ordering::Relaxed);
        }
        !is_over
    }
}
