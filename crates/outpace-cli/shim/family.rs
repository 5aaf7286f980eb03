//! The processes that share the ring: the program, and its children. Each registers itself, and announces when another program
//! is about to take its place or to be started by it, because that program may not have the shim.
//!
//! A child made by fork(2) inherits the shim with its parent's memory. Another program is given the shim by its environment,
//! where it can have it, and joins when the loader has started it.

use crate::descriptors;
use crate::hooks::{Index, original};
use crate::ring::{self, Header, Member};
use crate::system::{self, Leads, PRCTL, leads, thread};
use crate::writes::{RING, close_and_settle, ring, wake};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// A process's own state. The kernel zeroes this page in a child made by fork(2).
#[repr(C)]
struct Own {
    standing: AtomicU32,
    process: AtomicU32,
    member: AtomicPtr<Member>,
    /// Its number among the members, from 1 on.
    number: AtomicU64,
    /// Counts direct writes beside the closed ring.
    direct: AtomicU32,
    /// Not 0 if the loader has started this process: it is no copy of another one.
    is_loaded: AtomicU32,
}

/// `standing`: not registered, being registered by a thread, registered, without a place among the members.
const NEW: u32 = 0;
const REGISTERING: u32 = 1;
const OURS: u32 = 2;
const OUTSIDE: u32 = 3;

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

fn own() -> &'static Own {
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

/// Registers this process if it is not registered yet; returns whether it is.
pub(crate) fn is_ours(ring: &Header) -> bool {
    match own().standing.load(Ordering::Acquire) {
        OURS => true,
        NEW => register(ring),
        _ => false,
    }
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

fn members(ring: &Header) -> &[Member] {
    // SAFETY: the shared memory has so many behind the header, and all of them are atomics.
    unsafe {
        let first = ptr::from_ref(ring).cast::<u8>().add(ring::MEMBERS);
        core::slice::from_raw_parts(first.cast(), ring::MOST_MEMBERS)
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
    for old in members {
        // The place of the program that this process was before.
        let is_ours = old.process.load(Ordering::Relaxed) == process;
        if is_ours && old.standing.load(Ordering::Acquire) == ring::MEMBER {
            old.standing.store(ring::FREE, Ordering::Release);
        }
    }
    let claim = |member: &&Member, from: u32| {
        let (to, order) = (ring::CLAIMED, Ordering::Acquire);
        member
            .standing
            .compare_exchange(from, to, order, Ordering::Relaxed)
            .is_ok()
    };
    let has_ended = |member: &&Member| {
        member.standing.load(Ordering::Acquire) == ring::MEMBER
            && system::is_dead(member.process.load(Ordering::Relaxed))
            && claim(member, ring::MEMBER)
    };
    // Each process begins elsewhere: the last process that began there has mostly ended, and a look at those that have not takes
    // time.
    let (behind, front) = members.split_at(process as usize % members.len());
    let mut all = front.iter().chain(behind);
    // Unused places come first: `-v` reports on the processes in the others.
    let is_fresh = |member: &&Member| member.process.load(Ordering::Relaxed) == 0;
    let member = all
        .clone()
        .find(|member| is_fresh(member) && claim(member, ring::FREE))
        .or_else(|| all.clone().find(|member| claim(member, ring::FREE)))
        .or_else(|| all.find(has_ended))?;
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

/// After so many direct writes beside the closed ring, `run` is asked to open it.
const ASK_AFTER: u32 = 64;

/// Called when a short write goes to the terminal because the ring is closed.
#[cold]
pub(crate) fn ask_for_ring(ring: &Header, descriptor: c_int) {
    if ring.state() != ring::CLOSED || !is_ours(ring) {
        return;
    }
    let direct = own().direct.load(Ordering::Relaxed).wrapping_add(1);
    own().direct.store(direct, Ordering::Relaxed);
    if direct % ASK_AFTER == 0 && leads(descriptor, ring) == Leads::Here {
        ring.ask();
        wake(ring);
    }
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

/// Called before the calling process starts or becomes another program.
pub(crate) fn before_program(ring: &Header) -> Option<&'static Member> {
    // This process must not overtake what that program leaves in the ring.
    crate::text::complete_if_postponed();
    go_away(ring, ring::BY_EXEC)
}

pub(crate) fn come_back(member: Option<&Member>) {
    if let Some(member) = member {
        member.away.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Gives the ring up in this process, which makes no system calls for it any more.
pub(crate) fn retire(reason: u32) {
    if let Some(ring) = ring() {
        if let Some(member) = go_away(ring, reason) {
            member.reason.store(reason, Ordering::Relaxed);
        }
        RING.store(ptr::null_mut(), Ordering::Release);
    }
}

/// Called before another thread is made. Does what has to be done once, because a thread that finds it half done writes to the
/// terminal.
pub(crate) fn before_thread() {
    crate::text::complete_if_postponed();
    if let Some(ring) = ring() {
        is_ours(ring);
    }
}

/// Called before this process is copied. The copy would also finish a write that the calling thread has interrupted.
pub(crate) extern "C" fn before_fork() {
    crate::hooks::ensure_resolved();
    let Some(ring) = ring() else {
        EARLY.store(1, Ordering::Relaxed);
        return;
    };
    crate::text::complete_if_postponed();
    // Registers the parent now: a child made by vfork(2) must not do so in its place.
    is_ours(ring);
    if ring.lock.0.load(Ordering::Relaxed) == me() {
        retire(ring::BY_LOCK);
    }
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
