//! The guard's lock: reentrant, and free for the thread that held it last.
//!
//! An ordinary lock costs two atomic read-modify-writes a message, 10 ns, which is more than the message itself. Most
//! streams are written by one thread for a long time. So the lock is *biased* towards the thread that took it several
//! times in a row, its *owner*: the owner enters and leaves with plain stores to its slot. Another thread, the *taker*,
//! locks the mutex and takes the bias away.
//!
//! ```text
//! the owner                                      the taker
//!
//! enter:  depth = 1                              lock the mutex
//!         light fence                            bias = none
//!         if bias is not mine:                   heavy fence
//!             depth = 0, wake the taker,         wait while the owner's depth is not 0   (acquire)
//!             enter by the mutex                 …
//! …                                              unlock the mutex
//! leave:  depth = 0          (release)
//!         light fence
//!         if bias is not mine: wake the taker
//! ```
//!
//! *Why that excludes.* Each side stores, fences, and loads the word that the other side stores. So one of them sees
//! the other: either the owner sees that it has lost the bias and retreats, or the taker sees the owner inside and
//! waits. If the system refuses the fence from some moment on, [`barrier`] outwaits the owner, and the bias is not
//! given again.
//!
//! *Why each owner has a slot.* Between its look at `bias` and its store to `depth` an owner may be preempted for any
//! length of time; the bias may be another thread's when the store lands. It lands in the old owner's slot, which no
//! thread looks at any more. A slot goes to another thread only when its owner no longer exists. A thread that knows its
//! slot need not look at `bias` before it tries: `print!` does not.
//!
//! A third kind of entry, a [draft](super::draft), keeps no thread waiting.
//!
//! The bias moves only after a streak of entries by one thread. The streak it takes doubles with every take-over in
//! quick succession: threads that alternate end up with the ordinary lock. Without an asymmetric fence (and in tests of
//! the portable path) the bias is never given, and this is an ordinary reentrant lock.
//!
//! All state is in the lock and not in thread-local storage, and thread identities are never reused: a thread may end
//! while it has the bias, and the next thread takes it.
#![allow(unsafe_code)]

use super::barrier;
use super::linked::Linked;
use super::mutex::RawMutex;
use super::platform::{BIASED, task, task_exists, wait_while, wake};
use super::thread::{ThreadId, work};
use super::{AtomicU32, AtomicU64, AtomicUsize, Ordering, const_fn};
use crate::sys;

/// Whether an entry is a thread's first or one inside another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Outermost,
    Nested,
}

pub(crate) struct Lock {
    /// The offset in `slots` of the slot whose owner enters and leaves with plain stores, in bytes, or
    /// [`NO_SLOT`].
    pub(super) bias: AtomicUsize,
    slots: [Slot; SLOTS],
    mutex: RawMutex,
    /// The thread that is inside by the mutex, or 0. A thread reads its own identity here only while it is inside.
    holder: AtomicU64,
    /// How often the holder is inside.
    depth: AtomicU32,
    // The rest is read and written by the holder only.
    last: AtomicU64,
    /// Entries in a row by `last`.
    streak: AtomicU32,
    /// The streak that earns the bias.
    price: AtomicU32,
    /// When the bias was last taken away, in [`sys::coarse_millis`].
    taken: AtomicU64,
    /// The offset in `slots` of the slot with a draft beside which others enter, or [`NO_SLOT`]. Read and written by
    /// the holder of the mutex only.
    pub(super) draft: AtomicUsize,
    /// The functions around each outermost entry. Once they are set, no thread gets the bias.
    around: Linked<Around>,
}

/// Functions that a thread calls around its outermost entry, while it is outside. They may wait, also for a thread that waits
/// for the lock.
#[cfg_attr(loom, allow(dead_code))]
pub(crate) struct Around {
    pub(crate) before: fn(),
    pub(crate) after: fn(),
}

/// A thread that has, or had, the bias.
pub(super) struct Slot {
    pub(super) owner: AtomicU64,
    /// The owner's system thread ID, to find out whether it has ended.
    owner_task: AtomicU32,
    /// How often the owner is inside by the bias, and [`DRAFT`]. Only the owner writes it.
    pub(super) depth: AtomicU32,
}

/// The owner of a slot is not inside, but owns the memory behind the published bytes.
pub(super) const DRAFT: u32 = 1 << 31;

impl Slot {
    const_fn! {
        fn new(depth: u32) -> Self {
            Slot {
                owner: AtomicU64::new(NO_THREAD),
                owner_task: AtomicU32::new(0),
                depth: AtomicU32::new(depth),
            }
        }
    }
}

/// The owner of a slot that no thread has. Not 0: threads without an identity pass 0 and must not match, should they see a
/// slot's new place in `bias` before its new owner.
const NO_THREAD: ThreadId = ThreadId::MAX;

/// The place of no thread's slot. Sentinel: slot 0 has no owner and depth 1, so it never admits; a comparison with a
/// thread's own place needs no check for this one.
pub(super) const NO_SLOT: usize = 0;
const SLOTS: usize = 1 + 4;

/// An entry by the bias, for leaving.
#[derive(Clone, Copy)]
pub(crate) struct ByBias<'a> {
    pub(super) lock: &'a Lock,
    pub(super) bias: usize,
    pub(super) slot: &'a Slot,
}

/// Whether a thread has entered by the bias.
pub(crate) enum Entrance<'a> {
    Entered(ByBias<'a>),
    /// It tried, but does not have the bias (any more). [`Lock::withdraw`] is next.
    Lost,
    None,
}

impl ByBias<'_> {
    /// Leaves the lock, on the thread that entered. Nested entries have been left.
    #[inline(always)]
    pub(crate) fn leave(self) {
        if !self.step_out() {
            wake(&self.slot.depth);
        }
    }

    /// As [`leave`](Self::leave), but returns false where the caller has to call [`Lock::wake_slot`] next.
    #[inline(always)]
    #[must_use]
    pub(crate) fn step_out(self) -> bool {
        let left = unless!(
            "an owner leaves relaxed",
            Ordering::Release,
            Ordering::Relaxed
        );
        self.slot.depth.store(0, left);
        barrier::light();
        self.lock.bias.load(Ordering::Relaxed) == self.bias
    }
}

/// The first streak that earns the bias, and the longest.
const PRICE: u32 = 2;
const MAX_PRICE: u32 = 1 << 14;
/// Take-overs further apart than this do not raise the price.
const FORGIVEN_AFTER_MILLIS: u64 = 100;

impl Lock {
    const_fn! {
        pub(crate) fn new() -> Self {
            Lock {
                bias: AtomicUsize::new(NO_SLOT),
                slots: [
                    Slot::new(1),
                    Slot::new(0),
                    Slot::new(0),
                    Slot::new(0),
                    Slot::new(0),
                ],
                mutex: RawMutex::new(),
                holder: AtomicU64::new(0),
                depth: AtomicU32::new(0),
                last: AtomicU64::new(0),
                streak: AtomicU32::new(0),
                price: AtomicU32::new(PRICE),
                taken: AtomicU64::new(0),
                draft: AtomicUsize::new(NO_SLOT),
                around: Linked::new(),
            }
        }
    }

    #[inline(always)]
    pub(super) fn slot(&self, bias: usize) -> &Slot {
        debug_assert!(bias.is_multiple_of(size_of::<Slot>()) && bias < size_of_val(&self.slots));
        // SAFETY: `bias` is `NO_SLOT`, or was made by `slot_of` or `give_bias`: the offset of one of these slots.
        unsafe { &*self.slots.as_ptr().byte_add(bias) }
    }

    /// Enters, waiting for other threads. `me` is `thread_id`.
    #[inline(always)]
    pub(crate) fn enter(&self, me: ThreadId) -> Entry {
        match self.enter_by_bias(me) {
            Entrance::Entered(_) => return Entry::Outermost,
            Entrance::Lost => self.withdraw(me),
            Entrance::None => {}
        }
        self.enter_cold(me, true).expect("only a try can fail")
    }

    /// Enters with plain stores, if the thread has the bias and is outside. `me` is `thread_id`, or 0,
    /// which never has it.
    #[inline(always)]
    pub(crate) fn enter_by_bias(&self, me: ThreadId) -> Entrance<'_> {
        let bias = self.bias.load(Ordering::Relaxed);
        // Only if the slot is this thread's is it certain not to change owners.
        if self.slot(bias).owner.load(Ordering::Relaxed) != me {
            return Entrance::None;
        }
        self.enter_by_slot(bias)
    }

    /// Enters with plain stores, if the thread, whose [slot](Self::slot_of) is there, has the bias and is outside.
    #[inline(always)]
    pub(crate) fn enter_by_slot(&self, place: usize) -> Entrance<'_> {
        self.enter_slot(place, 1)
    }

    #[inline(always)]
    pub(super) fn enter_slot(&self, place: usize, depth: u32) -> Entrance<'_> {
        let slot = self.slot(place);
        if slot.depth.load(Ordering::Relaxed) != 0 {
            return Entrance::None;
        }
        slot.depth.store(depth, Ordering::Relaxed);
        barrier::light();
        let lost = self.bias.load(Ordering::Relaxed) != place;
        if unless!("an owner does not retreat", lost, false) {
            return Entrance::Lost;
        }
        Entrance::Entered(ByBias {
            lock: self,
            bias: place,
            slot,
        })
    }

    /// Wakes a thread that waits for the owner of the slot to leave.
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn wake_slot(&self, place: usize) {
        wake(&self.slot(place).depth);
    }

    /// The offset of a thread's slot, which stays its own for as long as it lives, or until a fork; [`NO_SLOT`] if it has none.
    pub(crate) fn slot_of(&self, me: ThreadId) -> usize {
        let mut owners = self.slots.iter().map(|slot| &slot.owner);
        let index = owners.position(|owner| owner.load(Ordering::Relaxed) == me);
        index.map_or(NO_SLOT, |index| index * size_of::<Slot>())
    }

    /// The system thread ID of the thread that entered last, if it has, or had, the bias, or is `known`.
    #[cfg_attr(loom, allow(dead_code))]
    pub(crate) fn last_task(&self, known: (ThreadId, u32)) -> Option<u32> {
        let last = match self.bias.load(Ordering::Relaxed) {
            NO_SLOT => self.last.load(Ordering::Relaxed),
            bias => self.slot(bias).owner.load(Ordering::Relaxed),
        };
        if last == known.0 {
            return Some(known.1);
        }
        let mut slots = self.slots[1..].iter();
        let slot = slots.find(|slot| slot.owner.load(Ordering::Relaxed) == last)?;
        Some(slot.owner_task.load(Ordering::Relaxed))
    }

    /// Undoes an entry by the bias, or by the slot, whether or not it has succeeded.
    #[cold]
    #[inline(never)]
    pub(crate) fn withdraw(&self, me: ThreadId) {
        let bias = self.slot_of(me);
        let slot = self.slot(bias);
        debug_assert!(bias != NO_SLOT);
        ByBias {
            lock: self,
            bias,
            slot,
        }
        .leave();
    }

    /// Enters, unless another thread is inside.
    pub(crate) fn try_enter(&self, me: ThreadId) -> Option<Entry> {
        self.enter_cold(me, false)
    }

    #[cold]
    fn enter_cold(&self, me: ThreadId, wait: bool) -> Option<Entry> {
        if let Some(depth) = self.depth_of(me) {
            depth.store(depth.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            return Some(Entry::Nested);
        }
        if self.enter_from_draft(me) {
            return Some(Entry::Nested);
        }
        if wait && work::is_under_way() {
            // If another thread has the lock, goes on without it: messages are then written past the queue.
            return self.enter_cold(me, false).or(Some(Entry::Nested));
        }
        if let (true, Some(around)) = (wait, self.around.get()) {
            (around.before)();
        }
        if wait {
            self.mutex.lock();
        } else if !self.mutex.try_lock() {
            return None;
        }
        let bias = self.bias.load(Ordering::Relaxed);
        if bias != NO_SLOT && !self.take_bias(bias, me, wait) {
            self.mutex.unlock();
            return None;
        }
        let streak = if self.last.load(Ordering::Relaxed) == me {
            self.streak.load(Ordering::Relaxed).saturating_add(1)
        } else {
            self.last.store(me, Ordering::Relaxed);
            0
        };
        self.streak.store(streak, Ordering::Relaxed);
        self.depth.store(1, Ordering::Relaxed);
        self.holder.store(me, Ordering::Relaxed);
        Some(if self.is_beside_draft() {
            Entry::Nested
        } else {
            Entry::Outermost
        })
    }

    /// Whether functions are called [around](Self::surround) each entry.
    #[cfg(not(loom))]
    pub(crate) fn is_surrounded(&self) -> bool {
        self.around.get().is_some()
    }

    /// Whether the calling thread is inside. `me` is `thread_id`.
    #[cfg(not(loom))]
    pub(crate) fn is_inside(&self, me: ThreadId) -> bool {
        self.depth_of(me).is_some()
    }

    /// Where the calling thread counts how often it is inside, if it is inside.
    fn depth_of(&self, me: ThreadId) -> Option<&AtomicU32> {
        if self.holder.load(Ordering::Relaxed) == me {
            return Some(&self.depth);
        }
        let slot = self
            .slots
            .iter()
            .find(|slot| slot.owner.load(Ordering::Relaxed) == me)?;
        (slot.depth.load(Ordering::Relaxed) & !DRAFT > 0).then_some(&slot.depth)
    }

    /// Takes the bias from its owner and waits until the owner is outside. The caller holds the mutex.
    fn take_bias(&self, bias: usize, me: ThreadId, wait: bool) -> bool {
        let Slot { owner, depth, .. } = self.slot(bias);
        self.bias.store(NO_SLOT, Ordering::Relaxed);
        barrier::heavy();
        loop {
            let look = unless!(
                "the taker's look is relaxed",
                Ordering::Acquire,
                Ordering::Relaxed
            );
            let inside = unless!("the taker does not look", depth.load(look), {
                depth.load(look);
                0
            });
            if inside == DRAFT {
                self.draft.store(bias, Ordering::Relaxed);
                break;
            }
            if inside == 0 {
                break;
            }
            if !wait {
                // Give it back. An owner that has noticed the loss and waits for the mutex takes it from itself.
                self.bias.store(bias, Ordering::Relaxed);
                return unless!("a try gives the bias back and enters", false, true);
            }
            wait_while(depth, inside);
        }
        if owner.load(Ordering::Relaxed) != me {
            let now = sys::coarse_millis();
            // On some machines the clock goes backwards: that counts as `soon`.
            let since = now.saturating_sub(self.taken.swap(now, Ordering::Relaxed));
            let soon = since < FORGIVEN_AFTER_MILLIS;
            let price = if soon {
                self.price.load(Ordering::Relaxed) * 2
            } else {
                PRICE
            };
            self.price.store(price.min(MAX_PRICE), Ordering::Relaxed);
        }
        true
    }

    /// Leaves. The calling thread is inside, and `me` is its identity.
    #[inline(always)]
    pub(crate) fn leave(&self, me: ThreadId) {
        let bias = self.bias.load(Ordering::Relaxed);
        let slot = self.slot(bias);
        if slot.owner.load(Ordering::Relaxed) == me && slot.depth.load(Ordering::Relaxed) == 1 {
            ByBias {
                lock: self,
                bias,
                slot,
            }
            .leave();
        } else {
            self.leave_cold(me);
        }
    }

    #[cold]
    fn leave_cold(&self, me: ThreadId) {
        let Some(depth) = self.depth_of(me) else {
            debug_assert!(work::is_under_way(), "only a thread that is inside leaves");
            return;
        };
        let left = depth.load(Ordering::Relaxed) - 1;
        if left > 0 || !std::ptr::eq(depth, &self.depth) {
            // Nested; or inside by the bias and lost it meanwhile: the taker waits for this store.
            depth.store(left, Ordering::Release);
            if left & !DRAFT == 0 {
                wake(depth);
                self.after_leaving();
            }
            return;
        }
        if self.streak.load(Ordering::Relaxed) >= self.price.load(Ordering::Relaxed) {
            self.give_bias(me);
        }
        self.holder.store(0, Ordering::Relaxed);
        self.mutex.unlock();
        self.after_leaving();
    }

    fn after_leaving(&self) {
        if let Some(around) = self.around.get() {
            (around.after)();
        }
    }

    /// Makes each thread call functions around its outermost entries, from the next exit on. No thread keeps the bias,
    /// because an owner does not check for them. Waits for a guard of another thread. `me` is `thread_id`.
    #[cfg(not(loom))]
    pub(crate) fn surround(&self, me: ThreadId, around: Around) {
        self.around.link(around);
        let Some(inside) = self.depth_of(me) else {
            self.mutex.lock();
            let bias = self.bias.load(Ordering::Relaxed);
            if bias != NO_SLOT {
                self.take_bias(bias, me, true);
            }
            self.mutex.unlock();
            return;
        };
        // Inside by the bias: changes over to the mutex. If another thread has the mutex, that thread takes the bias.
        if !std::ptr::eq(inside, &self.depth) && self.mutex.try_lock() {
            let depth = inside.load(Ordering::Relaxed);
            self.depth.store(depth & !DRAFT, Ordering::Relaxed);
            self.holder.store(me, Ordering::Relaxed);
            self.bias.store(NO_SLOT, Ordering::Relaxed);
            if depth & DRAFT != 0 {
                self.draft.store(self.slot_of(me), Ordering::Relaxed);
            }
            inside.store(depth & DRAFT, Ordering::Release);
        }
    }

    /// Gives the calling thread, which holds the mutex, the bias, if there is a slot for it.
    fn give_bias(&self, me: ThreadId) {
        if !BIASED || !barrier::ready() || self.around.get().is_some() {
            return;
        }
        // The owner would write over the draft.
        if self.draft.load(Ordering::Relaxed) != NO_SLOT {
            return;
        }
        let find = |is: &dyn Fn(&Slot) -> bool| (1..SLOTS).find(|&i| is(&self.slots[i]));
        let owned_by = |owner| find(&|slot| slot.owner.load(Ordering::Relaxed) == owner);
        let owned_by = |owner| unless!("one slot for all", owned_by(owner), Some(1));
        let abandoned = || find(&|slot| !task_exists(slot.owner_task.load(Ordering::Relaxed)));
        let Some(index) = owned_by(me)
            .or_else(|| owned_by(NO_THREAD))
            .or_else(abandoned)
        else {
            // Try again after a longer streak.
            self.streak.store(0, Ordering::Relaxed);
            self.price.store(MAX_PRICE, Ordering::Relaxed);
            return;
        };
        let slot = &self.slots[index];
        slot.owner.store(me, Ordering::Relaxed);
        slot.owner_task.store(task(), Ordering::Relaxed);
        slot.depth.store(0, Ordering::Relaxed);
        self.bias
            .store(index * size_of::<Slot>(), Ordering::Relaxed);
    }

    /// In the child of a fork, which has only the forking thread: its entries stay, those of other threads are
    /// forgotten.
    #[cfg(all(unix, not(any(loom, outpace_portable))))]
    pub(crate) fn reset_after_fork(&self, me: ThreadId) {
        let inside = self
            .depth_of(me)
            .map_or(0, |depth| depth.load(Ordering::Relaxed) & !DRAFT);
        self.bias.store(NO_SLOT, Ordering::Relaxed);
        self.draft.store(NO_SLOT, Ordering::Relaxed);
        let own = self.slot_of(me);
        for (index, slot) in self.slots.iter().enumerate().skip(1) {
            let place = index * size_of::<Slot>();
            if place == own && slot.depth.load(Ordering::Relaxed) & DRAFT != 0 {
                // This thread's draft goes on.
                slot.depth.store(DRAFT, Ordering::Relaxed);
                self.draft.store(place, Ordering::Relaxed);
                continue;
            }
            slot.owner.store(NO_THREAD, Ordering::Relaxed);
            slot.depth.store(0, Ordering::Relaxed);
        }
        self.mutex.reset_after_fork(inside > 0);
        self.depth.store(inside, Ordering::Relaxed);
        self.holder
            .store(if inside > 0 { me } else { 0 }, Ordering::Relaxed);
    }
}
