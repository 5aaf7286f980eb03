//! The base of the C interface: a guard whose cursor another language moves.
//!
//! `include/outpace.h` has the same structure as [`Appender`], and inline functions that do the same as `Message` and
//! `SharedCursor::publish`: append at `at`; when a message is complete, count it, store its end, and look at the limit.
//! They call these functions if bytes do not fit, and to ask.
#![allow(unsafe_code)]

use super::guard::Guard;
use crate::stream::buffering;
use crate::stream::cursor::SharedCursor;
use crate::sync::lock::Entry;
use std::mem::ManuallyDrop;
use std::{ptr, slice};

/// A guard, and where its holder appends. It must not be moved, because it may point to itself.
#[repr(C)]
pub struct Appender {
    /// The place of the message's next byte.
    at: *mut u8,
    /// The end of the room.
    end: *mut u8,
    /// The message's first byte.
    start: *mut u8,
    /// The stream's cursor, or `idle`, so that the holder asks about each message.
    cursor: *const SharedCursor,
    idle: Idle,
    /// Memory of its own for messages that do not fit, or that must not be built in the stream: the parts of a `Vec`.
    own: *mut u8,
    own_room: usize,
    guard: Storage,
}

/// Memory for a guard, of a fixed size.
#[repr(C, align(8))]
union Storage {
    guard: ManuallyDrop<Guard<'static>>,
    words: [u64; GUARD_WORDS],
}

/// The first words of a [`SharedCursor`], with a limit that is always null.
#[repr(C)]
struct Idle {
    published: *mut u8,
    limit: *mut u8,
    messages: u64,
}

const GUARD_WORDS: usize = 8;

const _: () = {
    assert!(size_of::<Guard<'static>>() <= 8 * GUARD_WORDS);
    assert!(align_of::<Guard<'static>>() <= align_of::<u64>());
    assert!(size_of::<Idle>() <= size_of::<SharedCursor>());
};

/// The least size of `own`, in bytes.
const OWN: usize = 1 << 10;

/// The default buffering of standard output for the file of `fd`.
#[cfg(unix)]
pub fn default_buffering(fd: std::os::fd::BorrowedFd<'_>) -> std::io::Result<buffering::Buffering> {
    let (destination, _) = crate::sys::Output::new(fd)?.destination();
    Ok(buffering::Buffering::for_destination(destination).clone())
}

/// The largest capacity.
pub const MAX_CAPACITY: usize = buffering::MAX_CAPACITY;

/// Makes writing to standard output an error if its descriptor is closed, as in C's stdio; in a Rust program such bytes
/// count as written, as in std. And keeps pthread_cancel(3) out of the calls that write.
pub fn serve_c() {
    crate::sys::serve_c();
}

impl Appender {
    /// # Safety
    ///
    /// It has been entered, and not left.
    unsafe fn guard(&mut self) -> &mut Guard<'static> {
        // SAFETY: `enter` put it there.
        unsafe { &mut self.guard.guard }
    }

    /// Takes over the guard's cursor.
    ///
    /// # Safety
    ///
    /// As `guard`; no message is begun.
    unsafe fn refresh(this: *mut Self) {
        // SAFETY: the caller's promise; the fields that are read have been written.
        unsafe {
            let guard = &*(&raw const (*this).guard).cast::<Guard<'static>>();
            let (next, end) = (guard.cursor.next, guard.cursor.end);
            // An inner guard has no room, and must not publish.
            let in_place = guard.entry == Entry::Outermost && next.addr() < end.addr();
            (&raw mut (*this).at).write(next);
            (&raw mut (*this).start).write(next);
            (&raw mut (*this).end).write(if in_place { end } else { next });
            (&raw mut (*this).cursor).write(if in_place {
                &raw const guard.engine.cursor
            } else {
                (&raw const (*this).idle).cast()
            });
        }
    }

    /// Whether the message is in memory of its own.
    fn is_apart(&self) -> bool {
        self.own_room > 0 && self.start == self.own
    }

    /// Its own memory, of which `filled` bytes have been written.
    ///
    /// # Safety
    ///
    /// The caller stores the parts again if the memory grows, and drops it at most once.
    unsafe fn own_memory(&self, filled: usize) -> ManuallyDrop<Vec<u8>> {
        // SAFETY: the parts of a `Vec`, an empty one at first.
        ManuallyDrop::new(unsafe { Vec::from_raw_parts(self.own, filled, self.own_room) })
    }
}

/// Begins an empty message of a locked stream.
///
/// # Safety
///
/// `this` is valid for writes, and stays where it is until it has been [left](leave), by the same thread. The stream
/// lives as long.
pub unsafe fn enter(guard: Guard<'_>, this: *mut Appender) {
    let idle = Idle {
        published: ptr::null_mut(),
        limit: ptr::null_mut(),
        messages: 0,
    };
    // SAFETY: the caller's promise; the memory has room for the guard, as asserted above. `refresh` writes the other
    // fields before they are read.
    unsafe {
        (&raw mut (*this).idle).write(idle);
        (&raw mut (*this).own).write(ptr::dangling_mut());
        (&raw mut (*this).own_room).write(0);
        (&raw mut (*this).guard).cast::<Guard<'_>>().write(guard);
        Appender::refresh(this);
    }
}

/// Makes room for `bytes` more bytes of the message.
///
/// # Safety
///
/// `this` has been entered, and not left; the bytes from its `start` to its `at` have been written.
pub unsafe fn room(this: &mut Appender, bytes: usize) {
    let filled = this.at.addr() - this.start.addr();
    if filled == 0 && !this.is_apart() && bytes <= MAX_CAPACITY {
        // SAFETY: entered, and the message is empty.
        unsafe {
            let guard = this.guard();
            if guard.entry == Entry::Outermost {
                let answer = guard.engine.make_room(bytes);
                guard.accept(answer);
                Appender::refresh(this);
                if this.end.addr() - this.at.addr() >= bytes {
                    return;
                }
            }
        }
    }
    // SAFETY: entered; the message's bytes have been written, and do not overlap the memory if they are not in it.
    unsafe {
        let apart = this.is_apart();
        let mut memory = this.own_memory(if apart { filled } else { 0 });
        if !apart {
            memory.reserve(filled.saturating_add(bytes).max(OWN));
            memory.extend_from_slice(slice::from_raw_parts(this.start, filled));
        }
        memory.reserve(bytes);
        (this.own, this.own_room) = (memory.as_mut_ptr(), memory.capacity());
    }
    this.start = this.own;
    this.at = this.own.wrapping_add(filled);
    this.end = this.own.wrapping_add(this.own_room);
    this.cursor = (&raw const this.idle).cast();
}

/// Asks about a published message, or appends one from memory of its own.
///
/// # Safety
///
/// As [`room`].
pub unsafe fn ask(this: &mut Appender) {
    let (start, at) = (this.start, this.at);
    let apart = this.is_apart();
    let in_place = !apart && !ptr::eq(this.cursor, (&raw const this.idle).cast());
    // SAFETY: entered; the bytes have been written.
    unsafe {
        let guard = this.guard();
        if guard.entry == Entry::Outermost {
            // The inline functions have moved it.
            guard.cursor.next = guard.engine.cursor.published();
        }
        if apart {
            let message = slice::from_raw_parts(start, at.addr() - start.addr());
            guard.append(message);
        } else if in_place {
            let answer = guard.engine.after_message();
            guard.accept(answer);
        }
        Appender::refresh(this);
    }
}

/// Unlocks the stream.
///
/// # Safety
///
/// `this` has been entered, by this thread, and not left. No message is begun.
pub unsafe fn leave(this: &mut Appender) {
    // SAFETY: entered; both are taken once.
    let (memory, guard) = unsafe {
        let memory = ManuallyDrop::into_inner(this.own_memory(0));
        (memory, ManuallyDrop::take(&mut this.guard.guard))
    };
    drop(memory);
    guard.leave();
}
