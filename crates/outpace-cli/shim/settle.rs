//! The ring of this process, and waiting until what is in it is on the terminal.

use crate::ring::{self, Header};
use crate::system::{self, FUTEX, KILL, Leads, TIMED_OUT, call, leads};
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// The shared memory, once it is there.
pub(crate) static RING: AtomicPtr<Header> = AtomicPtr::new(ptr::null_mut());

/// The ring; `None` where this process does not use it, or has given it up.
pub(crate) fn ring() -> Option<&'static Header> {
    // SAFETY: null, or a mapping that stays for as long as the process.
    unsafe { RING.load(Ordering::Acquire).as_ref() }
}

pub(crate) const FUTEX_WAIT: usize = 0;
const FUTEX_WAKE: usize = 1;
/// A thread that waits looks this often whether `run` is still there.
const LOOK: [i64; 2] = [0, 50_000_000];
pub(crate) const FOREVER: u32 = u32::MAX;

pub(crate) fn wake(ring: &Header) {
    if ring.rouse() {
        let word = &raw const ring.doze.0 as usize;
        // SAFETY: the word is in the shared memory.
        let woken = unsafe { call(FUTEX, word, FUTEX_WAKE, 1, 0, 0, 0) };
        if woken == 0 {
            // `run` was about to sleep, or has ended.
            look_for_run(ring);
        }
    }
}

/// A descriptor that led to the ring's terminal or pipe when the kernel was asked last.
pub(crate) static LAST_SERVED: AtomicI32 = AtomicI32::new(-1);

/// Ends the use of the ring if no process delivers its bytes any more, or `run` reads no more. On a terminal the leader of the session
/// delivers them when `run` was killed: until then a write past the ring would succeed unread. A pipe without a reader shows that even
/// if `run` is a zombie, or another process has its number.
#[cold]
pub(crate) fn look_for_run(ring: &Header) {
    let descriptor = LAST_SERVED.load(Ordering::Relaxed);
    let has_hung_up = || {
        ring.is_pipe() && system::has_hung_up(descriptor) && leads(descriptor, ring) == Leads::Here
    };
    let is_gone = |process: &AtomicU32| {
        let process = process.load(Ordering::Relaxed) as usize;
        // SAFETY: signal 0 is none.
        unsafe { call(KILL, process, 0, 0, 0, 0, 0) == system::ESRCH }
    };
    if has_hung_up() || is_gone(&ring.run) && is_gone(&ring.leader) {
        ring.die();
    }
}

/// Waits until `holds` returns true. Gives up when `run` has ended, or after this many looks for it. Returns whether `holds` did.
pub(crate) fn wait(ring: &Header, looks: u32, holds: impl Fn() -> bool) -> bool {
    wait_with(ring, &LOOK, looks, holds)
}

fn wait_with(ring: &Header, look: &[i64; 2], looks: u32, holds: impl Fn() -> bool) -> bool {
    let mut left = looks;
    loop {
        let drained = ring.about_to_wait();
        if holds() {
            return true;
        }
        if ring.state() == ring::DEAD || left == 0 {
            return false;
        }
        wake(ring);
        let (word, limit) = (&raw const ring.drained.0 as usize, look.as_ptr() as usize);
        // SAFETY: the word is in the shared memory, the time a reference's.
        let waited = unsafe { call(FUTEX, word, FUTEX_WAIT, drained as usize, limit, 0, 0) };
        if waited == TIMED_OUT {
            left = left.saturating_sub(u32::from(looks != FOREVER));
            look_for_run(ring);
        }
    }
}

/// Returns when all earlier writes are on the terminal.
pub(crate) fn settle(ring: &Header) {
    if !ring.is_drained() {
        let published = ring.published();
        wait(ring, FOREVER, || {
            ring.tail.0.load(Ordering::Acquire) >= published
        });
    }
}

/// Called before a descriptor of the terminal is used directly.
pub(crate) fn settle_for(ring: &Header, descriptor: c_int) {
    if !ring.is_drained() && leads(descriptor, ring).may_be_here() {
        settle(ring);
    }
}

/// Called before a write to a stderr that leads elsewhere: waits a moment until the bytes that stdout has in the ring have left it.
/// No order between two pipes is promised, but a reader of both sees which bytes arrive first. A program that alternates between
/// the two waits for at most a ninth of its time.
#[cold]
pub(crate) fn settle_before_stderr(ring: &Header, stderr: c_int) {
    const A_MOMENT: [i64; 2] = [0, 1_000_000];
    const SHARE: u64 = 8;
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let began = system::now();
    if began < NEXT.load(Ordering::Relaxed) || !system::has_reader(stderr) {
        return;
    }
    let published = ring.published();
    wait_with(ring, &A_MOMENT, 1, || {
        ring.tail.0.load(Ordering::Acquire) >= published
    });
    let ended = system::now();
    NEXT.store(ended + SHARE * (ended - began), Ordering::Relaxed);
}

/// Called before another process, without the ring, may write.
pub(crate) fn close_and_settle(ring: &Header, reason: u32) {
    ring.close(reason);
    settle(ring);
}
