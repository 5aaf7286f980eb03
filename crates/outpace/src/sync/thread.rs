//! The calling thread's identity, and whether it is at work for a stream.

use std::cell::Cell;

/// A thread's identity: never 0, never reused within a process.
pub(crate) type ThreadId = u64;

thread_local! {
    /// 0 until it is assigned.
    static ID: Cell<ThreadId> = const { Cell::new(0) };
}

/// The calling thread's identity.
#[inline(always)]
pub(crate) fn thread_id() -> ThreadId {
    #[cold]
    fn assign() -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        ID.set(id);
        id
    }

    let id = ID.get();
    if id != 0 { id } else { assign() }
}

/// The same, or 0 if none was assigned yet.
#[inline(always)]
pub(crate) fn known_thread_id() -> ThreadId {
    ID.get()
}

/// How many streams' states the calling thread has locked. While there is one, the thread is *at work*; the only users'
/// code that can run then is an allocator. If that prints, it must not wait, because other threads may wait for this
/// one.
pub(crate) mod work {
    use std::cell::Cell;

    thread_local! {
        static STATES: Cell<u32> = const { Cell::new(0) };

        /// A message was published at work, where its author could not ask.
        static OWED: Cell<bool> = const { Cell::new(false) };
    }

    pub(crate) fn begin() {
        STATES.set(STATES.get() + 1);
    }

    pub(crate) fn end() {
        STATES.set(STATES.get() - 1);
    }

    /// Whether the calling thread is at work.
    #[inline]
    pub(crate) fn is_under_way() -> bool {
        STATES.get() > 0
    }

    /// Notes a message that was published without asking.
    pub(crate) fn owe() {
        OWED.set(true);
    }

    /// Whether there was one, and the thread may ask now.
    #[inline]
    pub(crate) fn take_owed() -> bool {
        OWED.get() && !is_under_way() && OWED.take()
    }
}
