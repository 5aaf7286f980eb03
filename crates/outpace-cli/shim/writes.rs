//! `write` and `writev`: through the ring where possible, else to the kernel, after the bytes in the ring.

use crate::descriptors::destination;
use crate::family::{self, is_ours};
use crate::machine::{__errno_location, PASS};
use crate::membership::{count, me};
use crate::originals::ensure_resolved;
use crate::ring::{self, Header, Put};
use crate::settle::{
    FOREVER, FUTEX_WAIT, look_for_run, ring, settle_before_stderr, settle_for, wait, wake,
};
use crate::system::{self, FUTEX, Leads, O_NONBLOCK, SCHED_YIELD, call, can_be_read, flags};
use crate::text;
use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

/// `struct iovec`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Part {
    start: *const u8,
    length: usize,
}

/// Copies into the ring, from `at` on, past its end to its beginning.
///
/// # Safety
///
/// The bytes can be read, fit, and the caller has the ring's lock.
unsafe fn copy(ring: &Header, at: u64, from: *const u8, length: usize) {
    // SAFETY: the data follow the header; both pieces lie within the ring's capacity, and no reader looks at them yet.
    unsafe {
        let data = ptr::from_ref(ring).cast_mut().cast::<u8>().add(ring::DATA);
        let first = length.min((ring::CAPACITY - at) as usize);
        ptr::copy_nonoverlapping(from, data.add(at as usize), first);
        ptr::copy_nonoverlapping(from.add(first), data, length - first);
    }
}

/// Has the processor fetch the memory of later writes: `run` has read it on another processor, and the instruction that publishes
/// a write would wait for it.
fn fetch_ahead(ring: &Header, length: usize) {
    const AHEAD: u64 = 512;
    const LINE: u64 = 64;
    const MOST: u64 = 4;
    let from = ring.head.0.load(Ordering::Relaxed) + AHEAD;
    for index in 0..(length as u64).div_ceil(LINE).min(MOST) {
        let at = (from + index * LINE) % ring::CAPACITY;
        let place = ptr::from_ref(ring)
            .cast::<u8>()
            .wrapping_add(ring::DATA + at as usize);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, which changes nothing, whatever the address.
        unsafe {
            core::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: the same.
        unsafe {
            core::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
        }
    }
}

/// Two threads have met in a write. From then on no memory is fetched ahead: the other thread would have to fetch it back.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

const EAGAIN: isize = 11;
/// A thread that waits for the lock spins for `SPINS` looks, gives way up to look `YIELDS`, then naps between looks up to
/// `PATIENCE`. A holder that has lost its processor gets it back in that time; one that has not is taken for one that never
/// lets go.
const SPINS: u32 = 64;
const YIELDS: u32 = 1_000;
const PATIENCE: u32 = YIELDS + 100;
const NAP: [i64; 2] = [0, 1_000_000];

fn give_way() {
    // SAFETY: no memory is involved.
    unsafe { call(SCHED_YIELD, 0, 0, 0, 0, 0, 0) };
}

/// Waits for another thread's write, which takes less than a microsecond unless that thread is preempted or killed.
fn wait_for_lock(ring: &Header, looks: u32) {
    if looks <= SPINS {
        core::hint::spin_loop();
    } else if looks <= YIELDS {
        give_way();
    } else {
        let holder = ring.lock.0.load(Ordering::Relaxed);
        if holder == 0 {
            return;
        }
        if system::is_dead(ring::process_of(holder)) {
            ring.take_over(holder);
            return;
        }
        let (word, limit) = (&raw const ring.lock.0 as usize, NAP.as_ptr() as usize);
        // SAFETY: the word, the first half of the lock, is in the shared memory; the time is a constant. No thread wakes this one.
        unsafe { call(FUTEX, word, FUTEX_WAIT, holder as u32 as usize, limit, 0, 0) };
    }
}

/// A write that completes a block of this many bytes looks whether `run` still runs, if `run` has not taken as many. So hardly
/// more is lost than a pipe holds.
const BLOCK: u64 = 64 << 10;

/// Whether a write of this length, published just now, completes a block that has not been taken. Two threads that publish at the same
/// moment may both miss the end of a block; then the end of the next one is seen.
fn fills_block(ring: &Header, length: usize) -> bool {
    let end = ring.published();
    end % BLOCK < length as u64 && end - ring.tail.0.load(Ordering::Relaxed).min(end) >= BLOCK
}

enum Through {
    /// This many bytes are written.
    Ring(usize),
    /// The kernel has to write them.
    Kernel,
    /// The kernel has to write them, and they do not go to the terminal.
    Elsewhere,
    /// There is no room, and the descriptor does not wait.
    NoRoom,
}

/// Writes the parts through the ring if possible.
fn through_ring(ring: &Header, descriptor: c_int, parts: &[Part]) -> Through {
    let lengths = parts.iter().map(|part| part.length);
    let length = lengths.fold(0_usize, usize::saturating_add);
    let is_readable = |part: &Part| part.length == 0 || can_be_read(part.start, part.length);
    if length == 0 || length > ring::LONGEST {
        return Through::Kernel;
    }
    if !ring.is_open() {
        family::ask_for_ring(ring, descriptor);
        return Through::Kernel;
    }
    if !is_ours(ring) {
        return Through::Kernel;
    }
    match destination(descriptor, ring) {
        Leads::Here => {}
        Leads::Elsewhere => return Through::Elsewhere,
        Leads::Perhaps | Leads::Nowhere => return Through::Kernel,
    }
    if !IS_SHARED.load(Ordering::Relaxed) {
        fetch_ahead(ring, length);
    }
    if text::is_postponed() && !text::search_on(ring) || !parts.iter().all(is_readable) {
        return Through::Kernel;
    }
    let mut looks = 0;
    loop {
        let copy_all = |mut at| {
            for part in parts {
                // SAFETY: checked above; `put` has the lock and has found room for all.
                unsafe { copy(ring, at, part.start, part.length) };
                at = (at + part.length as u64) % ring::CAPACITY;
            }
        };
        let put = ring.put(me(), length as u64, copy_all, || count(ring, length));
        match put {
            Put::Done { wake: asleep } => {
                if asleep {
                    wake(ring);
                } else if fills_block(ring, length) {
                    look_for_run(ring);
                }
                return Through::Ring(length);
            }
            Put::Closed | Put::Nested => return Through::Kernel,
            Put::Busy if looks < PATIENCE => {
                looks += 1;
                IS_SHARED.store(true, Ordering::Relaxed);
                wait_for_lock(ring, looks);
            }
            Put::Busy => {
                ring.close(ring::BY_LOCK);
                return Through::Kernel;
            }
            Put::Full => {
                let has_room = || {
                    let tail = ring.tail.0.load(Ordering::Acquire);
                    let used = ring.published().saturating_sub(tail);
                    used + length as u64 <= ring::CAPACITY
                };
                // A full ring means that `run` cannot pass on: the terminal is full as well, and poll(2) agrees.
                let does_not_wait = flags(descriptor) & O_NONBLOCK != 0;
                let looks = if does_not_wait { 1 } else { FOREVER };
                if !wait(ring, looks, has_room) && does_not_wait {
                    return Through::NoRoom;
                }
            }
        }
    }
}

/// The system call's result, or [`PASS`].
fn answer(ring: &Header, descriptor: c_int, through: Through) -> isize {
    match through {
        Through::Ring(written) => written as isize,
        Through::NoRoom => -EAGAIN,
        Through::Elsewhere | Through::Kernel => {
            if matches!(through, Through::Kernel) {
                settle_for(ring, descriptor);
            }
            if descriptor == STDERR && !ring.is_drained() {
                settle_before_stderr(ring, descriptor);
            }
            PASS
        }
    }
}

const STDERR: c_int = 2;

/// The C library function's result, or [`PASS`].
fn with_errno(answer: isize) -> isize {
    if answer != -EAGAIN {
        return answer;
    }
    // SAFETY: the C library's errno of this thread.
    unsafe { *__errno_location() = EAGAIN as c_int };
    -1
}

pub(crate) extern "C" fn before_write(descriptor: c_int, bytes: *const u8, length: usize) -> isize {
    let Some(ring) = ring() else {
        ensure_resolved();
        return PASS;
    };
    let part = Part {
        start: bytes,
        length,
    };
    with_errno(answer(
        ring,
        descriptor,
        through_ring(ring, descriptor, &[part]),
    ))
}

/// The most parts that go through the ring.
const PARTS: usize = 16;

pub(crate) extern "C" fn before_writev(
    descriptor: c_int,
    parts: *const Part,
    count: c_int,
) -> isize {
    ensure_resolved();
    with_errno(before_raw_writev(descriptor, parts, count))
}

/// Called in place of a system call of the C library's.
pub(crate) extern "C" fn before_raw_writev(
    descriptor: c_int,
    parts: *const Part,
    count: c_int,
) -> isize {
    let Some(ring) = ring() else {
        return PASS;
    };
    let fits = count > 0 && count as usize <= PARTS && parts.is_aligned();
    let through = if fits && can_be_read(parts.cast(), count as usize * size_of::<Part>()) {
        // SAFETY: `count` parts can be read.
        let parts = unsafe { core::slice::from_raw_parts(parts, count as usize) };
        through_ring(ring, descriptor, parts)
    } else {
        Through::Kernel
    };
    answer(ring, descriptor, through)
}
