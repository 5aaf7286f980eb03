//! Which descriptors lead to the ring's terminal.
//!
//! The kernel is asked once, and its answer holds until a call is made that may change it ([`known`](crate::known)). So a write that
//! begins after the call has returned goes where the descriptor leads now.
//!
//! That is so if all such calls are seen. They are if they are the C library's ([`watch`](crate::watch)), and no other code
//! in the process makes system calls, which `run` looks at ([`is_plain`]): before that, after each library that is loaded,
//! and where there is such code, the kernel is asked at each write, by the terminal's number. It is asked in the same
//! way by the first write after each look of `run`, every few milliseconds in a burst: a debugger can change a process's descriptors, too.

use crate::family;
use crate::hooks::{Index, original};
use crate::known::{CallCounter, Known};
use crate::ring::Header;
use crate::system::{Leads, is_writable, leads, terminal_of};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const DESCRIPTORS: usize = 64;
/// The calls that may change one descriptor, any, or those that are never known.
static CALLS: [CallCounter; DESCRIPTORS] = [const { CallCounter(AtomicU64::new(0)) }; DESCRIPTORS];
static CALLS_OF_ALL: CallCounter = CallCounter(AtomicU64::new(0));
static CALLS_OF_OTHERS: CallCounter = CallCounter(AtomicU64::new(0));

static KNOWN: [Known; DESCRIPTORS] = [const {
    Known {
        since: AtomicU64::new(Known::NEVER),
        taken: AtomicU64::new(0),
    }
}; DESCRIPTORS];

/// A call begins that may change this descriptor. What comes back is for [`end`].
pub(crate) extern "C" fn begin(descriptor: c_int) -> &'static CallCounter {
    let calls = CALLS.get(descriptor as usize).unwrap_or(&CALLS_OF_OTHERS);
    calls.begin();
    calls
}

/// One that may change any.
pub(crate) fn begin_all() -> &'static CallCounter {
    CALLS_OF_ALL.begin();
    &CALLS_OF_ALL
}

pub(crate) extern "C" fn end(calls: &CallCounter) {
    calls.end();
}

/// Any descriptor may have become another one.
pub(crate) fn forget() {
    CALLS_OF_ALL.forget();
}

/// Whether what is written to a descriptor goes to the ring's terminal.
#[inline]
pub(crate) fn takes_output(descriptor: c_int, ring: &Header) -> bool {
    let index = descriptor as usize;
    let Some((known, calls)) = KNOWN.get(index).zip(CALLS.get(index)) else {
        return is_here(descriptor, ring);
    };
    let count = calls.count(&CALLS_OF_ALL);
    let taken = ring.taken.0.load(Ordering::Relaxed);
    known.is_sure(count, taken) || ask(descriptor, ring, known, calls, [count, taken])
}

#[cold]
fn ask(descriptor: c_int, ring: &Header, known: &Known, calls: &CallCounter, at: [u64; 2]) -> bool {
    let [count, taken] = at;
    let was_known = known.holds(count);
    let is_right = was_known && has_number(descriptor, ring) || is_here(descriptor, ring);
    if is_right {
        known.note(count, is_plain(ring), taken);
    } else if was_known && calls.count(&CALLS_OF_ALL) == count {
        // It has become another one by something that is not seen.
        mistrust();
    }
    is_right
}

/// Whether a descriptor leads to a terminal of the number that the ring's has.
fn has_number(descriptor: c_int, ring: &Header) -> bool {
    terminal_of(descriptor) == Some(ring.terminal.load(Ordering::Relaxed))
}

fn is_here(descriptor: c_int, ring: &Header) -> bool {
    leads(descriptor, ring) == Leads::Here && is_writable(descriptor)
}

// ---- The process's code.

/// The version of what is mapped: it changes before a library is loaded, and when it is. Its upper half is no other process's.
static CODE: AtomicU64 = AtomicU64::new(MISTRUSTED);
/// A library is being loaded.
const LOADING: u64 = 1;
/// Not all calls are seen.
const MISTRUSTED: u64 = 2;
const VERSION: u64 = 4;
const PROCESS: u64 = 1 << 32;

/// The loader's function that tells of libraries.
pub(crate) static LOADER: AtomicU64 = AtomicU64::new(0);

/// So many writes for which the kernel was asked, and `run` is to look at the code.
const ASK_AFTER: u32 = 64;

/// All of the C library's calls are seen from now on, and libraries that are loaded.
pub(crate) fn trust(ring: &Header, is_loading: bool) {
    CODE.store(VERSION | u64::from(is_loading), Ordering::SeqCst);
    begin_process(ring);
}

/// This process is another one than before: a copy, or another program.
pub(crate) fn begin_process(ring: &Header) {
    let number = u64::from(ring.codes.fetch_add(1, Ordering::Relaxed)) + 1;
    let next = |code| Some(code % PROCESS + number * PROCESS);
    let _ = CODE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next);
    // The parent's threads may have changed their descriptors between the copies of these and of its memory.
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
    let next = |code| Some(code & !LOADING | u64::from(is_loading));
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
