//! Which descriptors lead to the ring's terminal.
//!
//! The kernel is asked once, and its answer holds until a call is made that may change it. Each such call counts twice: before
//! it is made, and when it has returned ([`begin`], [`end`]). What a thread learns in between, or has asked before and
//! notes later, is noted for a count that has passed, and is asked again. So a write that begins after the call has returned
//! goes where the descriptor leads now.
//!
//! That holds if all such calls are seen. They are if they are the C library's ([`watch`](crate::watch)), and no other code
//! in the process makes system calls, which `run` looks at ([`is_plain`]): before that, after each library that is loaded,
//! and where there is such code, the kernel is asked at each write, by the terminal's number. It is asked in the same
//! way by the first write after each look of `run`, every few milliseconds in a burst: a debugger can change a process's descriptors, too.

use crate::family;
use crate::hooks::{Index, original};
use crate::ring::Header;
use crate::system::{Leads, is_writable, leads, terminal_of};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Calls under way are counted in the lower bits; the upper ones count those that were begun. Entries of [`KNOWN`] have the first bit.
const UNDER_WAY: u64 = 2;
const BEGUN: u64 = 1 << 24;
/// In an entry: the process's code is plain.
const SURE: u64 = 1;

const DESCRIPTORS: usize = 64;
/// The calls that may change one descriptor, and those that may change any.
static CALLS: [AtomicU64; DESCRIPTORS] = [const { AtomicU64::new(0) }; DESCRIPTORS];
static CALLS_OF_ALL: AtomicU64 = AtomicU64::new(0);
/// Those of descriptors that are never known.
static CALLS_OF_OTHERS: AtomicU64 = AtomicU64::new(0);

/// A descriptor that leads to the terminal, and can be written to.
struct Known {
    /// The [calls](calls) that there were when the kernel was asked, none of them under way; [`SURE`] or not.
    since: AtomicU64,
    /// What `run` had taken when it was asked last.
    taken: AtomicU64,
}

static KNOWN: [Known; DESCRIPTORS] = [const {
    Known {
        since: AtomicU64::new(u64::MAX),
        taken: AtomicU64::new(0),
    }
}; DESCRIPTORS];

/// What has been counted for a descriptor. Each call changes it for good, as both counts of calls begun only grow, and one that
/// ends takes less away.
fn calls(descriptor: usize) -> Option<u64> {
    let own = CALLS.get(descriptor)?.load(Ordering::Acquire);
    Some(own.wrapping_add(CALLS_OF_ALL.load(Ordering::Acquire)))
}

/// A call begins that may change this descriptor. What comes back is for [`end`].
pub(crate) extern "C" fn begin(descriptor: c_int) -> &'static AtomicU64 {
    let calls = CALLS.get(descriptor as usize).unwrap_or(&CALLS_OF_OTHERS);
    calls.fetch_add(BEGUN + UNDER_WAY, Ordering::SeqCst);
    calls
}

/// One that may change any.
pub(crate) fn begin_all() -> &'static AtomicU64 {
    CALLS_OF_ALL.fetch_add(BEGUN + UNDER_WAY, Ordering::SeqCst);
    &CALLS_OF_ALL
}

pub(crate) extern "C" fn end(calls: &AtomicU64) {
    calls.fetch_sub(UNDER_WAY, Ordering::SeqCst);
}

/// Any descriptor may have become another one.
pub(crate) fn forget() {
    CALLS_OF_ALL.fetch_add(BEGUN, Ordering::SeqCst);
}

/// Whether what is written to a descriptor goes to the ring's terminal.
#[inline]
pub(crate) fn takes_output(descriptor: c_int, ring: &Header) -> bool {
    let known = KNOWN
        .get(descriptor as usize)
        .zip(calls(descriptor as usize));
    let Some((known, calls)) = known else {
        return leads(descriptor, ring) == Leads::Here && is_writable(descriptor);
    };
    let taken = ring.taken.0.load(Ordering::Relaxed);
    known.since.load(Ordering::Relaxed) == calls | SURE
        && known.taken.load(Ordering::Relaxed) == taken
        || ask(descriptor, ring, known, calls, taken)
}

#[cold]
fn ask(descriptor: c_int, ring: &Header, known: &Known, calls: u64, taken: u64) -> bool {
    let since = known.since.load(Ordering::Relaxed);
    let was_known = since & !SURE == calls;
    let is_same =
        was_known && terminal_of(descriptor) == Some(ring.terminal.load(Ordering::Relaxed));
    if !is_same {
        let is_here = leads(descriptor, ring) == Leads::Here && is_writable(descriptor);
        let is_quiet = calls & (BEGUN - UNDER_WAY) == 0;
        if !is_here && was_known && self::calls(descriptor as usize) == Some(calls) {
            // It has become another by something that is not seen.
            mistrust();
        }
        if !is_here || !is_quiet {
            return is_here;
        }
    }
    let sure = if is_plain(ring) { SURE } else { 0 };
    if sure != 0 {
        known.taken.store(taken, Ordering::Relaxed);
    }
    if since != calls | sure {
        known.since.store(calls | sure, Ordering::Relaxed);
    }
    true
}

// ---- The process's code.

/// The version of what is mapped: it changes before a library is loaded, and when it is.
static CODE: AtomicU32 = AtomicU32::new(MISTRUSTED);
/// A library is being loaded.
const LOADING: u32 = 1;
/// Not all calls are seen.
const MISTRUSTED: u32 = 2;
const VERSION: u32 = 4;

/// The loader's function that tells of libraries.
pub(crate) static LOADER: AtomicU64 = AtomicU64::new(0);

/// So many writes for which the kernel was asked, and `run` is to look at the code.
const ASK_AFTER: u32 = 64;

/// All of the C library's calls are seen from now on, and libraries that are loaded.
pub(crate) fn trust(is_loading: bool) {
    CODE.store(VERSION | u32::from(is_loading), Ordering::SeqCst);
    forget();
}

/// From now on the kernel is asked at each write: not all changes of descriptors will be seen.
pub(crate) fn mistrust() {
    CODE.fetch_or(MISTRUSTED, Ordering::SeqCst);
    forget();
}

/// There will be other code than before.
pub(crate) fn code_changes() {
    CODE.fetch_add(VERSION, Ordering::SeqCst);
    // After it: what was asked for before is for the code before.
    forget();
}

/// Libraries come or go, or have done so.
pub(crate) fn libraries_change(is_loading: bool) {
    let next = |code| Some(code & !LOADING | u32::from(is_loading));
    let _ = CODE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next);
    code_changes();
}

/// Whether all code in this process makes its system calls through the C library, as `run` has found. It is asked to look if it has
/// not, and there are writes enough for which that is worth while.
fn is_plain(ring: &Header) -> bool {
    static WRITES: AtomicU32 = AtomicU32::new(0);
    let code = CODE.load(Ordering::SeqCst);
    let Some(member) = family::member().filter(|_| code & (LOADING | MISTRUSTED) == 0) else {
        return false;
    };
    if member.plain.load(Ordering::Acquire) == code {
        return true;
    }
    let writes = WRITES.fetch_add(1, Ordering::Relaxed);
    if writes % ASK_AFTER == ASK_AFTER - 1 && member.code.load(Ordering::Relaxed) != code {
        let library = original(Index::write) as usize as u64;
        member.library.store(library, Ordering::Relaxed);
        let loader = LOADER.load(Ordering::Relaxed);
        member.loader.store(loader, Ordering::Relaxed);
        member.code.store(code, Ordering::Release);
        // It is met by the next look, for which what is about to be written is reason enough.
        ring.unseen.store(1, Ordering::Release);
    }
    false
}
