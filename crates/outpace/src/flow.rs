//! The two words through which the thread that appends and the threads that drain meet.
//!
//! `published` says how far the tail buffer holds finished messages; the guard's holder moves it with
//! one release store a message. `limit` says how far it may append without asking; 0 means that it
//! has to ask about every message, before it and after it. Asking is the cold path, where the
//! stream's state is locked and anything can be decided: a drain, a switch of policy, a helper thread
//! to be woken.
//!
//! The protocol of a message: append it, store `published`, fence lightly, load `limit`, and ask if it has
//! been lowered. Whoever lowers `limit` fences heavily and then loads `published`. So either the message
//! is seen by the one who lowered the limit, or its author sees the lowered limit: a helper thread can go
//! to sleep without a message being left behind, and a message pays a store and a load for it.

use crate::barrier;
use crate::sync::{AtomicU32, AtomicU64, Ordering, const_fn};

/// How far messages are published: an offset into the tail buffer in the low half, the number of
/// messages since that buffer was begun in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Published(u64);

impl Published {
    pub(crate) const START: Published = Published(0);

    /// Behind every limit: not even an empty message fits there.
    pub(crate) const NOWHERE: Published = Published(u32::MAX as u64);

    #[inline(always)]
    pub(crate) fn offset(self) -> usize {
        self.0 as u32 as usize
    }

    pub(crate) fn messages(self) -> u64 {
        self.0 >> 32
    }

    /// One message of `bytes` bytes more.
    #[inline(always)]
    pub(crate) fn message(self, bytes: usize) -> Self {
        debug_assert!(self.offset() + bytes <= u32::MAX as usize);
        Published(self.0.wrapping_add((1 << 32) + bytes as u64))
    }

    /// A piece of a message: more bytes, not yet another message.
    pub(crate) fn piece(self, bytes: usize) -> Self {
        debug_assert!(self.offset() + bytes <= u32::MAX as usize);
        Published(self.0 + bytes as u64)
    }
}

pub(crate) struct Flow {
    published: AtomicU64,
    limit: AtomicU32,
}

impl Flow {
    const_fn! {
        pub(crate) fn new() -> Self {
            Flow { published: AtomicU64::new(0), limit: AtomicU32::new(0) }
        }
    }

    #[inline(always)]
    pub(crate) fn published(&self) -> Published {
        Published(self.published.load(Ordering::Acquire))
    }

    /// How far the guard's holder may append without asking.
    #[inline(always)]
    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed) as usize
    }

    /// Publishes up to `to`; returns whether the author of the message need not ask.
    #[inline(always)]
    #[must_use]
    pub(crate) fn publish(&self, to: Published) -> bool {
        self.set_published(to);
        barrier::light();
        to.offset() <= self.limit()
    }

    /// Publishes without looking at the limit, for callers that hold the stream's state.
    #[inline(always)]
    pub(crate) fn set_published(&self, to: Published) {
        self.published.store(to.0, Ordering::Release);
    }

    /// Lets the guard's holder append up to `limit` without asking. Called by the guard's holder, with
    /// the stream's state locked.
    pub(crate) fn open(&self, limit: usize) {
        debug_assert!(u32::try_from(limit).is_ok());
        self.limit.store(limit as u32, Ordering::Relaxed);
    }

    /// Makes the guard's holder ask from its next message on.
    pub(crate) fn close(&self) {
        self.limit.store(0, Ordering::Relaxed);
    }

    /// Makes the guard's holder ask from the message on that it is appending now, and returns how far
    /// it has published: what comes after that will be asked about.
    pub(crate) fn close_and_look(&self) -> Published {
        self.close();
        self.make_seen();
        self.published()
    }

    /// After a [`close`](Self::close): once this returns, what was published by authors who did not see it
    /// can be looked at, and all others ask.
    pub(crate) fn make_seen(&self) {
        // Until the fence is ready every message asks anyway.
        if barrier::ready() {
            barrier::heavy();
        }
    }
}
