//! This process as a member: its own state, and how it leaves the ring, for a moment or for good.

use crate::ring::{self, Header, Member};
use crate::settle::{RING, close_and_settle, ring};
use crate::system::{self, thread};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// A process's own state. The kernel zeroes this page in a child made by fork(2).
#[repr(C)]
pub(crate) struct Own {
    pub(crate) standing: AtomicU32,
    pub(crate) process: AtomicU32,
    pub(crate) member: AtomicPtr<Member>,
    /// Its number among the members, from 1 on.
    pub(crate) number: AtomicU64,
    /// Counts direct writes beside the closed ring.
    pub(crate) direct: AtomicU32,
    /// Not 0 if the loader has started this process: it is no copy of another one.
    is_loaded: AtomicU32,
}

/// `standing`: not registered, being registered by a thread, registered, without a place among the members.
pub(crate) const NEW: u32 = 0;
pub(crate) const REGISTERING: u32 = 1;
pub(crate) const OURS: u32 = 2;
pub(crate) const OUTSIDE: u32 = 3;

static OWN: AtomicPtr<Own> = AtomicPtr::new(ptr::null_mut());

/// The state before there is a ring.
static UNREGISTERED: Own = Own {
    standing: AtomicU32::new(OUTSIDE),
    process: AtomicU32::new(0),
    member: AtomicPtr::new(ptr::null_mut()),
    number: AtomicU64::new(0),
    direct: AtomicU32::new(0),
    is_loaded: AtomicU32::new(0),
};

pub(crate) fn own() -> &'static Own {
    // SAFETY: null, or a page that stays for as long as the process; zeroes are valid for it.
    unsafe { OWN.load(Ordering::Relaxed).as_ref() }.unwrap_or(&UNREGISTERED)
}

/// The calling thread, as the holder of the lock.
pub(crate) fn me() -> u64 {
    ring::holder(own().process.load(Ordering::Relaxed), thread())
}

/// The calling process, if it is registered.
pub(crate) fn member() -> Option<&'static Member> {
    let own = own();
    let is_ours = own.standing.load(Ordering::Acquire) == OURS;
    // SAFETY: in the shared memory, once it is registered.
    unsafe { own.member.load(Ordering::Relaxed).as_ref() }.filter(|_| is_ours)
}

/// Maps the page of [`Own`]; false if the kernel would not zero it in a child.
pub(crate) fn prepare() -> bool {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const WIPEONFORK: usize = 18;
    // SAFETY: a mapping of our own, at a place that the kernel chooses.
    unsafe {
        let page = system::call(
            system::MMAP,
            0,
            4096,
            READ_WRITE,
            PRIVATE_ANONYMOUS,
            usize::MAX,
            0,
        );
        if page <= 0 || system::call(system::MADVISE, page as usize, 4096, WIPEONFORK, 0, 0, 0) != 0
        {
            return false;
        }
        OWN.store(page as *mut Own, Ordering::Release);
    }
    own().is_loaded.store(1, Ordering::Relaxed);
    true
}

pub(crate) fn members(ring: &Header) -> &[Member] {
    // SAFETY: the shared memory has so many behind the header, and all of them are atomics.
    unsafe {
        let first = ptr::from_ref(ring).cast::<u8>().add(ring::MEMBERS);
        core::slice::from_raw_parts(first.cast(), ring::MOST_MEMBERS)
    }
}

/// Counts bytes just written through the ring. The caller holds its lock.
pub(crate) fn count(ring: &Header, length: usize) {
    let number = own().number.load(Ordering::Relaxed);
    let author = &ring.head.1;
    let before = author.member.load(Ordering::Relaxed);
    if before == number {
        return;
    }
    let from = ring.published() - length as u64;
    if let Some(member) = members(ring).get(before.wrapping_sub(1) as usize) {
        let more = from.wrapping_sub(author.from.load(Ordering::Relaxed));
        let bytes = member.bytes.load(Ordering::Relaxed).wrapping_add(more);
        member.bytes.store(bytes, Ordering::Relaxed);
    }
    author.from.store(from, Ordering::Relaxed);
    author.member.store(number, Ordering::Relaxed);
}

/// Closes the ring before another program is started, or takes this process's place. It stays closed until [`come_back`], or
/// until `run` finds that program among the members.
pub(crate) fn go_away(ring: &Header, reason: u32) -> Option<&'static Member> {
    // A child made by vfork(2) shares its parent's memory, but is not registered.
    let is_itself = |_: &&Member| own().process.load(Ordering::Relaxed) == system::process();
    let member = member().filter(is_itself);
    if let Some(member) = member {
        member.away.fetch_add(1, Ordering::SeqCst);
    }
    close_and_settle(ring, reason);
    member
}

/// Whether this process is a copy of another one, made by fork(2), or by vfork(2), after which it shares that one's memory.
pub(crate) fn is_copy() -> bool {
    let process = own().process.load(Ordering::Relaxed);
    own().is_loaded.load(Ordering::Relaxed) == 0 || process != 0 && process != system::process()
}

pub(crate) fn come_back(member: Option<&Member>) {
    if let Some(member) = member {
        member.away.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Gives the ring up in this process: from now on the shim makes no system calls for it.
pub(crate) fn retire(reason: u32) {
    if let Some(ring) = ring() {
        if let Some(member) = go_away(ring, reason) {
            member.reason.store(reason, Ordering::Relaxed);
        }
        RING.store(ptr::null_mut(), Ordering::Release);
    }
}
