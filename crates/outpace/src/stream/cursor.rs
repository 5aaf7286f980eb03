//! The shared words between the thread that appends and the threads that drain.
//!
//! `published` says how far the tail buffer holds finished messages; only the guard's holder moves it. `limit` says how
//! far the holder may append without asking. To *ask* is the slow path: it locks the stream's state, where everything
//! else is decided (a drain, a switch of policy, waking the helper). While `limit` is null, the holder asks about every
//! message.
//!
//! ```text
//! the guard's holder, a message of n bytes      the thread that lowers the limit: the helper before
//!                                               it sleeps, a switch of policy, the exit
//! ask, if published + n > limit
//! copy the bytes behind published               limit = null
//! published += n               (release)        heavy fence
//! light fence                                   look at published    (acquire)
//! ask, if limit is null
//! ```
//!
//! The fences order each side's store before its load. So one of the two sees the other's store: either the right side
//! sees the message, or the left side sees the lowered limit and asks. So the helper can go to sleep without leaving a
//! message behind, at the cost of one store and one load a message.
//!
//! The heavy fence is skipped if the limit was not raised since the last fence: no holder can be past the check then.

use crate::sync::barrier;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, const_fn, unless};
use std::ptr;

/// `published` and `limit` point into the tail buffer.
#[repr(C)]
pub(crate) struct SharedCursor {
    published: AtomicPtr<u8>,
    limit: AtomicPtr<u8>,
    /// Messages in the tail buffer.
    messages: AtomicU64,
    /// How often the limit was raised. Changed with the stream's state locked.
    opened: AtomicU64,
    /// The value of `opened` at the last lowering of the limit that a completed fence covers.
    seen: AtomicU64,
}

/// Proof that the limit has been lowered: see [`SharedCursor::close_for_all`].
#[must_use]
pub(crate) struct Closed {
    opened: u64,
}

impl SharedCursor {
    const_fn! {
        /// In a tail buffer without memory.
        pub(crate) fn new() -> Self {
            SharedCursor {
                published: AtomicPtr::new(ptr::dangling_mut()),
                limit: AtomicPtr::new(ptr::null_mut()),
                messages: AtomicU64::new(0),
                opened: AtomicU64::new(0),
                seen: AtomicU64::new(0),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn published(&self) -> *mut u8 {
        self.published.load(Ordering::Acquire)
    }

    /// Messages published in the tail buffer.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Up to here the guard's holder may append without asking.
    #[inline(always)]
    pub(crate) fn limit(&self) -> *mut u8 {
        self.limit.load(Ordering::Relaxed)
    }

    /// The place at which the guard's holder appends.
    #[inline(always)]
    pub(crate) fn get(&self) -> Cursor {
        Cursor {
            next: self.published(),
            end: self.limit(),
        }
    }

    /// The answer to a holder that need not ask.
    #[inline(always)]
    pub(crate) fn unasked(&self) -> Answer {
        let Cursor { next, end } = self.get();
        Answer {
            next,
            room: end.addr().saturating_sub(next.addr()) as u32,
            failed: false,
        }
    }

    /// Publishes a message that ends at `end`; returns false if its author has to ask.
    #[inline(always)]
    #[must_use]
    pub(crate) fn publish(&self, end: *mut u8) -> bool {
        self.count_message();
        #[cfg(loom)]
        let before = self.limit();
        self.publish_piece(end);
        barrier::light();
        let limit = unless!("an author looks at the limit first", self.limit(), before);
        // The message did not exceed it, so it is unchanged or null.
        !limit.is_null()
    }

    /// Counts a message. Called by the guard's holder.
    #[inline(always)]
    pub(crate) fn count_message(&self) {
        // One instruction.
        let messages = self.messages.load(Ordering::Relaxed) + 1;
        self.messages.store(messages, Ordering::Relaxed);
    }

    /// Publishes the bytes up to `end` without a look at the limit. Called with the stream's state locked.
    #[inline(always)]
    pub(crate) fn publish_piece(&self, end: *mut u8) {
        self.published.store(end, Ordering::Release);
    }

    /// Begins the tail buffer anew, in the memory at `start`. Called by the guard's holder, with the stream's
    /// state locked.
    pub(crate) fn begin(&self, start: *mut u8) {
        self.messages.store(0, Ordering::Relaxed);
        self.publish_piece(start);
    }

    /// Lets the guard's holder append up to `limit` without asking. Called by the guard's holder, with
    /// the stream's state locked.
    pub(crate) fn open(&self, limit: *mut u8) {
        let opened = self.opened.load(Ordering::Relaxed) + 1;
        self.opened.store(opened, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Makes the guard's holder ask from its next message on.
    pub(crate) fn close(&self) {
        self.limit.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Makes the guard's holder ask from the message on that it is appending now. Called with the stream's state
    /// locked.
    pub(crate) fn close_at_once(&self) {
        let closed = self.close_for_all();
        self.make_seen(closed);
    }

    /// The first half of [`close_at_once`](Self::close_at_once). Called with the stream's state locked.
    pub(crate) fn close_for_all(&self) -> Closed {
        self.close();
        Closed {
            opened: self.opened.load(Ordering::Relaxed),
        }
    }

    /// The second half, which may run with the state unlocked. Once it returns, every message is either visible or its
    /// author asks.
    pub(crate) fn make_seen(&self, Closed { opened }: Closed) {
        // If equal, the limit was not raised since the last fence. Before a stream's first burst it never was.
        if self.seen.load(Ordering::Acquire) != opened {
            unless!(
                "seen is said too early",
                (),
                self.seen.store(opened, Ordering::Release)
            );
            barrier::heavy();
            self.seen.store(opened, Ordering::Release);
        }
    }

    /// Closes it in the child of a fork. That needs no fence: there is no other thread.
    #[cfg(all(unix, not(any(loom, outpace_portable))))]
    pub(crate) fn reset_after_fork(&self) {
        self.close();
        let opened = self.opened.load(Ordering::Relaxed);
        self.seen.store(opened, Ordering::Relaxed);
    }
}

/// The position of the guard's holder, which may keep it in registers between messages.
#[derive(Clone, Copy)]
pub(crate) struct Cursor {
    /// The next message's first byte.
    pub(crate) next: *mut u8,
    /// The end of what may be appended without asking.
    pub(crate) end: *mut u8,
}

/// The answer to a guard's holder that asked: where it appends next. It fits into two registers, so that a cursor never
/// needs an address.
#[repr(C)]
pub(crate) struct Answer {
    /// Null if there is no room in the tail.
    pub(crate) next: *mut u8,
    /// How many bytes it may append there without asking.
    pub(crate) room: u32,
    /// The stream has failed; `Engine::error` says why.
    pub(crate) failed: bool,
}

impl Answer {
    /// For a guard inside another one.
    pub(crate) const NO_ROOM: Answer = Answer {
        next: ptr::null_mut(),
        room: 0,
        failed: false,
    };
}

impl Cursor {
    /// The cursor of a nested guard, which always takes the slow path, even for an empty message: only the outer guard
    /// publishes.
    pub(crate) const NOWHERE: Cursor = Cursor {
        next: ptr::dangling_mut(),
        end: ptr::null_mut(),
    };

    /// Whether `bytes` bytes fit.
    #[inline(always)]
    pub(crate) fn admits(&self, bytes: usize) -> bool {
        // Neither an address nor a length has all 64 bits.
        self.next.addr() as u64 + bytes as u64 <= self.end.addr() as u64
    }

    /// How many bytes fit.
    #[inline(always)]
    pub(crate) fn room(&self) -> usize {
        self.end.addr() - self.next.addr()
    }
}
