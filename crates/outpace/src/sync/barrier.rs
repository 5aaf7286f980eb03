//! The asymmetric fence: free for the side that runs on every message, expensive for the side that
//! runs a few times a second.
//!
//! Two threads that each store to their own variable and then load the other's need a full fence
//! between the two, or both may miss the other's store. Here one of them is on the hot path. On
//! Linux the hot side issues [`light`], which only keeps the compiler from reordering, and the cold
//! side issues [`heavy`], `membarrier(2)`, which makes every running thread of the process execute a
//! full fence at some point during the call. So one of the two sees the other's store, as if both
//! had fenced.
//!
//! `membarrier` needs a registration, which costs 3 µs while the process has one thread and 12 to 18 ms once it has
//! more (the kernel waits for a grace period). [`prepare`] therefore registers at once when alone and on a transient
//! thread otherwise; until [`ready`] returns true, no thread may rely on [`light`]. Elsewhere both sides are a
//! sequentially consistent fence, and always ready.
//!
//! A sandbox that is entered later may refuse the call. From then on the fence is not [`ready`], and no further thread
//! relies on [`light`]. The cold side outwaits threads that already do: it sleeps, once for each lock and each stream,
//! until no processor can still hold back a store. A processor does so for some hundred nanoseconds: stores leave its
//! store buffer as fast as the caches take them, whatever the thread does next, and an interrupt or a switch of threads
//! empties it. `OUTWAITED` is 100,000 times as long.

#[cfg(any(loom, outpace_portable, not(target_os = "linux")))]
mod imp {
    use crate::sync::{Ordering, fence};

    #[inline(always)]
    pub(crate) fn light() {
        unless!("no light fence", fence(Ordering::SeqCst), ());
    }

    pub(crate) fn heavy() {
        unless!("no heavy fence", fence(Ordering::SeqCst), ());
    }

    pub(crate) fn ready() -> bool {
        unless!("the system refuses the fence", true, false)
    }

    #[cfg_attr(loom, expect(dead_code, reason = "the models start ready"))]
    pub(crate) fn prepare() -> bool {
        true
    }
}

#[cfg(all(target_os = "linux", not(any(loom, outpace_portable))))]
mod imp {
    use crate::sys::{self, Moment};
    use std::sync::atomic::{AtomicU8, AtomicU32, Ordering, compiler_fence, fence};
    use std::time::Duration;

    /// How long the cold side waits when `membarrier(2)` is refused.
    const OUTWAITED: Duration = Duration::from_millis(20);

    const UNKNOWN: u8 = 0;
    const REGISTERING: u8 = 1;
    const READY: u8 = 2;
    const UNAVAILABLE: u8 = 3;

    static STATUS: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// The hot side's fence. Counts as one only while [`ready`].
    #[inline(always)]
    pub(crate) fn light() {
        compiler_fence(Ordering::SeqCst);
    }

    /// The cold side's fence: a full fence in every thread of the process. Only after the fence was [`ready`].
    pub(crate) fn heavy() {
        if STATUS.load(Ordering::Relaxed) != READY || !sys::membarrier() {
            outwait();
        }
    }

    /// In place of the fence, where the system refuses it: see above.
    #[cold]
    fn outwait() {
        STATUS.store(UNAVAILABLE, Ordering::Release);
        fence(Ordering::SeqCst);
        let end = Moment::now() + OUTWAITED;
        while let Some(left) = end.left() {
            // A sandbox is most likely to allow this call.
            sys::futex_wait(&AtomicU32::new(0), 0, Some(left));
        }
        fence(Ordering::SeqCst);
    }

    /// Whether [`light`] pairs with [`heavy`] yet.
    #[inline]
    pub(crate) fn ready() -> bool {
        STATUS.load(Ordering::Acquire) == READY
    }

    /// Registers the process, once; returns whether the fence may be used now.
    pub(crate) fn prepare() -> bool {
        match STATUS.load(Ordering::Acquire) {
            READY => return true,
            UNKNOWN => {}
            _ => return false,
        }
        if STATUS
            .compare_exchange(UNKNOWN, REGISTERING, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            return ready();
        }
        if sys::is_single_threaded() {
            register();
        } else if sys::spawn(c"outpace-setup", register).is_err() {
            // Without a thread to wait in, try again at the next burst.
            STATUS.store(UNKNOWN, Ordering::Release);
        }
        ready()
    }

    fn register() {
        let status = if sys::register_membarrier() {
            READY
        } else {
            UNAVAILABLE
        };
        STATUS.store(status, Ordering::Release);
    }

    /// The child of a fork has one thread: it registers anew, for 3 µs, at its first burst.
    pub(crate) fn forget_after_fork() {
        STATUS.store(UNKNOWN, Ordering::Release);
    }
}

pub(crate) use imp::*;
