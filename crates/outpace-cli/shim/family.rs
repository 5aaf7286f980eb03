//! The processes that share the ring: the program, and its children. Each registers itself, and announces when another program
//! is about to take its place or to be started by it, because that program may not have the shim.
//!
//! A child made by fork(2) inherits the shim with its parent's memory. Another program is given the shim by its environment,
//! where it can have it, and joins when the loader has started it.

use crate::descriptors;
use crate::membership::{
    NEW, OURS, OUTSIDE, REGISTERING, go_away, is_copy, me, members, own, retire,
};
use crate::originals::{Index, ensure_resolved, original};
use crate::ring::{self, Header, Member};
use crate::settle::{ring, wake};
use crate::system::{self, Leads, PRCTL, leads};
use crate::text;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};

/// Registers this process if it is not registered yet; returns whether it is.
pub(crate) fn is_ours(ring: &Header) -> bool {
    match own().standing.load(Ordering::Acquire) {
        OURS => true,
        NEW => register(ring),
        _ => false,
    }
}

/// Registers the calling process.
#[cold]
pub(crate) fn register(ring: &Header) -> bool {
    let own = own();
    let standing = &own.standing;
    let claimed = standing.compare_exchange(NEW, REGISTERING, Ordering::Acquire, Ordering::Relaxed);
    if claimed.is_err() {
        return false;
    }
    let process = system::process();
    let Some(member) = place(ring, process) else {
        standing.store(OUTSIDE, Ordering::Release);
        return false;
    };
    own.process.store(process, Ordering::Relaxed);
    own.member
        .store(ptr::from_ref(member).cast_mut(), Ordering::Relaxed);
    let distance = ptr::from_ref(member).addr() - members(ring).as_ptr().addr();
    let number = (distance / size_of::<Member>() + 1) as u64;
    own.number.store(number, Ordering::Relaxed);
    descriptors::begin_process(ring);
    // The bytes of the process that had this place before are not this one's.
    let author = &ring.head.1.member;
    let _ = author.compare_exchange(number, 0, Ordering::Relaxed, Ordering::Relaxed);
    standing.store(OURS, Ordering::Release);
    true
}

/// Takes a place among the members.
fn place(ring: &Header, process: u32) -> Option<&Member> {
    let members = members(ring);
    let used = ring.places.load(Ordering::Relaxed) as usize;
    if !is_copy() {
        // The place of the program that this process was before.
        for old in members.iter().take(used) {
            let is_ours = old.process.load(Ordering::Relaxed) == process;
            if is_ours && old.standing.load(Ordering::Acquire) == ring::MEMBER {
                old.standing.store(ring::FREE, Ordering::Release);
            }
        }
    }
    let claim = |member: &&Member, from: u32| {
        let (to, order) = (ring::CLAIMED, Ordering::Acquire);
        let standing = &member.standing;
        standing.load(Ordering::Acquire) == from
            && standing
                .compare_exchange(from, to, order, Ordering::Relaxed)
                .is_ok()
    };
    // Unused places come first: `-v` reports on the processes in the others.
    let (next, order) = (
        |used| (used < ring::MOST_MEMBERS as u32).then_some(used + 1),
        Ordering::Relaxed,
    );
    let unused = ring.places.fetch_update(order, order, next);
    let unused = unused.ok().and_then(|used| members.get(used as usize));
    let member = unused.filter(|member| claim(member, ring::FREE));
    let member = member.or_else(|| {
        // Each process begins elsewhere: the last process that began there has mostly ended, and a look at those that have not
        // takes time.
        let (behind, front) = members.split_at(process as usize % members.len());
        let is_dead = |member: &&Member| system::is_dead(member.process.load(Ordering::Relaxed));
        front.iter().chain(behind).find(|member| {
            claim(member, ring::FREE)
                || member.standing.load(Ordering::Acquire) == ring::MEMBER
                    && is_dead(member)
                    && claim(member, ring::MEMBER)
        })
    })?;
    const PR_GET_NAME: usize = 16;
    let mut name = [0_u64; 2];
    // SAFETY: the kernel writes 16 bytes.
    unsafe { system::call(PRCTL, PR_GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0, 0) };
    for (place, part) in member.name.iter().zip(name) {
        place.store(part, Ordering::Relaxed);
    }
    member.process.store(process, Ordering::Relaxed);
    member.registered.store(system::now(), Ordering::Relaxed);
    member.away.store(0, Ordering::Relaxed);
    member.fitness.store(ring::UNSEEN, Ordering::Relaxed);
    member.bytes.store(0, Ordering::Relaxed);
    member.reason.store(0, Ordering::Relaxed);
    member.code.store(0, Ordering::Relaxed);
    member.plain.store(0, Ordering::Relaxed);
    member.standing.store(ring::MEMBER, Ordering::Release);
    Some(member)
}

/// After this many direct writes beside the closed ring, a process asks `run` to open it.
const ASK_AFTER: u32 = 64;

/// Called when a short write goes to the terminal because the ring is closed.
#[cold]
pub(crate) fn ask_for_ring(ring: &Header, descriptor: c_int) {
    if !matches!(ring.state(), ring::READY | ring::CLOSED) || !is_ours(ring) {
        return;
    }
    let direct = own().direct.load(Ordering::Relaxed).wrapping_add(1);
    own().direct.store(direct, Ordering::Relaxed);
    if direct % ASK_AFTER == 0 && leads(descriptor, ring) == Leads::Here {
        ring.ask();
        wake(ring);
    }
}

/// Called before the calling process starts or becomes another program.
pub(crate) fn before_program(ring: &Header) -> Option<&'static Member> {
    // This process must not overtake what that program leaves in the ring.
    text::complete_if_postponed();
    go_away(ring, ring::BY_EXEC)
}

/// Called before another thread is made. Completes the redirection of calls, and registers this process: a thread that finds either half
/// done writes to the terminal.
pub(crate) fn before_thread() {
    text::complete_if_postponed();
    if let Some(ring) = ring() {
        is_ours(ring);
    }
}

/// Called before this process is copied. The copy would also finish a write that the calling thread has interrupted.
pub(crate) extern "C" fn before_fork() {
    ensure_resolved();
    let Some(ring) = ring() else {
        EARLY.store(1, Ordering::Relaxed);
        return;
    };
    text::complete_if_postponed();
    // Registers the parent now: a child made by vfork(2) must not do so in its place.
    is_ours(ring);
    if ring.lock.0.load(Ordering::Relaxed) == me() {
        retire(ring::BY_LOCK);
    }
}

/// The same, for a copy with memory of its own.
pub(crate) extern "C" fn before_copy() {
    before_fork();
    text::before_copy();
}

/// Not 0 if a process was made before the ring was attached.
pub(crate) static EARLY: AtomicU8 = AtomicU8::new(0);

/// Called in a child made by fork(2).
unsafe extern "C" fn after_fork() {
    if let Some(ring) = ring() {
        is_ours(ring);
    }
}

/// Has children register themselves, whether they write or not.
pub(crate) fn watch_forks() {
    type Handler = Option<unsafe extern "C" fn()>;
    type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;
    let register = original(Index::register_atfork);
    if !register.is_null() {
        // SAFETY: the C library's function has this type (Linux Standard Base, __register_atfork).
        unsafe {
            let register = core::mem::transmute::<*mut c_void, Register>(register);
            register(None, None, Some(after_fork), ptr::null_mut());
        }
        return;
    }
    type Atfork = unsafe extern "C" fn(Handler, Handler, Handler) -> c_int;
    let atfork = original(Index::atfork);
    if !atfork.is_null() {
        // SAFETY: the function of that name has this type (POSIX); musl has it in its one library.
        unsafe {
            let atfork = core::mem::transmute::<*mut c_void, Atfork>(atfork);
            atfork(None, None, Some(after_fork));
        }
    }
}
