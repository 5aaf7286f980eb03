//! Which descriptors lead to the ring's terminal, or to its pipe.
//!
//! The kernel is asked once. Its answer, yes or no, holds until a call is made that may change the descriptor
//! ([`known`](crate::known)). A write that begins after the call has returned goes where the descriptor leads then.
//!
//! This requires that all such calls are seen. The C library's are ([`watch`](crate::watch)); `run` looks whether other code in the
//! process makes system calls ([`is_plain`]). Until it has looked, after each library that is loaded, and where there is such
//! code, each write asks the kernel where its descriptor leads. The first write after each look of `run` asks as well, every few
//! milliseconds in a burst, because a debugger can change a process's descriptors.

use crate::known::{CallCounter, Known};
use crate::membership::member;
use crate::originals::{Index, original};
use crate::ring::Header;
use crate::settle::LAST_SERVED;
use crate::system::{Leads, is_writable, leads, still_leads};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const DESCRIPTORS: usize = 64;
/// Calls that may change one descriptor, any descriptor, or one beyond [`DESCRIPTORS`].
static CALLS: [CallCounter; DESCRIPTORS] = [const { CallCounter(AtomicU64::new(0)) }; DESCRIPTORS];
static CALLS_OF_ALL: CallCounter = CallCounter(AtomicU64::new(0));
static CALLS_OF_OTHERS: CallCounter = CallCounter(AtomicU64::new(0));

const fn nothing_known() -> Known {
    Known {
        since: AtomicU64::new(Known::NEVER),
        taken: AtomicU64::new(0),
    }
}

/// The descriptors that lead to the terminal, and those that lead elsewhere. A closed one is neither: `open` may give its number to
/// the terminal, and is not seen.
static HERE: [Known; DESCRIPTORS] = [const { nothing_known() }; DESCRIPTORS];
static ELSEWHERE: [Known; DESCRIPTORS] = [const { nothing_known() }; DESCRIPTORS];

/// Begins a call that may change this descriptor; returns the argument of [`end`].
pub(crate) extern "C" fn begin(descriptor: c_int) -> &'static CallCounter {
    let calls = CALLS.get(descriptor as usize).unwrap_or(&CALLS_OF_OTHERS);
    calls.begin();
    calls
}

/// Begins a call that may change any descriptor.
pub(crate) fn begin_all() -> &'static CallCounter {
    CALLS_OF_ALL.begin();
    &CALLS_OF_ALL
}

pub(crate) extern "C" fn end(calls: &CallCounter) {
    calls.end();
}

/// Forgets all answers: any descriptor may lead elsewhere now.
pub(crate) fn forget() {
    CALLS_OF_ALL.forget();
}

/// Where the bytes written to a descriptor go: `Here`, to the ring's terminal; `Elsewhere`, if this process is sure of that; else
/// `Perhaps`, and the kernel decides.
#[inline]
pub(crate) fn destination(descriptor: c_int, ring: &Header) -> Leads {
    let index = descriptor as usize;
    let Some((here, calls)) = HERE.get(index).zip(CALLS.get(index)) else {
        return if is_here(descriptor, ring) {
            Leads::Here
        } else {
            Leads::Perhaps
        };
    };
    let count = calls.count(&CALLS_OF_ALL);
    let taken = ring.taken.0.load(Ordering::Relaxed);
    if here.is_sure(count, taken) {
        return Leads::Here;
    }
    ask(descriptor, ring, here, calls, [count, taken])
}

#[cold]
fn ask(descriptor: c_int, ring: &Header, here: &Known, calls: &CallCounter, at: [u64; 2]) -> Leads {
    let [count, taken] = at;
    let elsewhere = &ELSEWHERE[descriptor as usize % DESCRIPTORS];
    if elsewhere.is_sure(count, taken) {
        return Leads::Elsewhere;
    }
    let was_known = here.holds(count);
    if was_known && still_leads(descriptor, ring) {
        here.note(count, is_plain(ring), taken);
        return Leads::Here;
    }
    let leads = leads(descriptor, ring);
    if leads == Leads::Here && is_writable(descriptor) {
        LAST_SERVED.store(descriptor, Ordering::Relaxed);
        here.note(count, is_plain(ring), taken);
        return Leads::Here;
    }
    if was_known && calls.count(&CALLS_OF_ALL) == count {
        // A call that is not seen has changed the descriptor.
        mistrust();
    }
    if leads == Leads::Elsewhere && is_plain(ring) {
        elsewhere.note(count, true, taken);
    }
    Leads::Perhaps
}

fn is_here(descriptor: c_int, ring: &Header) -> bool {
    leads(descriptor, ring) == Leads::Here && is_writable(descriptor)
}

// ---- The process's code.

/// The version of the mapped code. It changes before and after a library is loaded; its upper half is unique to the process.
static CODE: AtomicU64 = AtomicU64::new(MISTRUSTED);
/// A library is being loaded.
const LOADING: u64 = 1;
/// Some calls may not be seen.
const MISTRUSTED: u64 = 2;
const VERSION: u64 = 4;
const PROCESS: u64 = 1 << 32;

/// The loader's function that announces libraries to debuggers.
pub(crate) static LOADER: AtomicU64 = AtomicU64::new(0);

/// After this many writes that asked the kernel, a process asks `run` to look at its code.
const ASK_AFTER: u32 = 64;

/// From now on all calls of the C library, and all libraries that are loaded, are seen.
pub(crate) fn trust(ring: &Header, is_loading: bool) {
    CODE.store(VERSION | u64::from(is_loading), Ordering::SeqCst);
    begin_process(ring);
}

/// Begins a new process: a copy, or another program.
pub(crate) fn begin_process(ring: &Header) {
    let number = u64::from(ring.codes.fetch_add(1, Ordering::Relaxed)) + 1;
    let next = |code| Some(code % PROCESS + number * PROCESS);
    let _ = CODE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next);
    // The parent's threads may have changed descriptors between the copying of these and of the memory.
    forget();
}

/// From now on each write asks the kernel: changes of descriptors may not be seen.
pub(crate) fn mistrust() {
    CODE.fetch_or(MISTRUSTED, Ordering::SeqCst);
    forget();
}

/// Called before the mapped code changes.
pub(crate) fn code_changes() {
    CODE.fetch_add(VERSION, Ordering::SeqCst);
    // In this order: an answer noted before is one for the old code.
    forget();
}

/// Libraries are about to come or go (`is_loading`), or have done so.
pub(crate) fn libraries_change(is_loading: bool) {
    let next = |code| Some(code & !LOADING | u64::from(is_loading));
    let _ = CODE.fetch_update(Ordering::SeqCst, Ordering::Relaxed, next);
    code_changes();
}

/// Whether `run` has found that all code in this process makes its system calls through the C library. After [`ASK_AFTER`] writes
/// without a result, `run` is asked to look.
fn is_plain(ring: &Header) -> bool {
    static WRITES: AtomicU32 = AtomicU32::new(0);
    let code = CODE.load(Ordering::SeqCst);
    let Some(member) = member().filter(|_| code & (LOADING | MISTRUSTED) == 0) else {
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
        // `run` sees this at its next look, which the write in progress causes.
        ring.unseen.store(1, Ordering::Release);
    }
    false
}
