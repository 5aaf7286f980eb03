//! Messages that are built in place, in the stream's own buffer.
#![allow(unsafe_code)]

use super::guard::Guard;
use crate::stream::buffering::MAX_CAPACITY;
use crate::stream::cursor::Answer;
use crate::stream::engine::Engine;
use crate::sync::lock::Entry;
use crate::text::float::{self, Notation, ORDINARY_LEN};
use crate::text::{Float, Integer, copy};
use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::slice;

/// A message that is being built in place, from [`Guard::str`] and the like.
///
/// Dropping it makes it part of the stream, all at once.
pub struct Message<'g, 'a> {
    guard: &'g mut Guard<'a>,
    start: *mut u8,
    filled: usize,
    /// The size of the memory at `start` if the message owns it, or 0 if it is in the stream's tail.
    own_room: usize,
}

impl<'a> Guard<'a> {
    /// Begins a message with text. The chain's calls add to it, and the end of the statement makes it
    /// part of the stream.
    #[inline(always)]
    pub fn str(&mut self, text: &str) -> Message<'_, 'a> {
        self.bytes(text.as_bytes())
    }

    /// Begins a message with bytes.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> Message<'_, 'a> {
        let mut message = self.message();
        message.bytes(bytes);
        message
    }

    /// Begins a message with a character, as UTF-8.
    #[inline(always)]
    pub fn char(&mut self, c: char) -> Message<'_, 'a> {
        let mut message = self.message();
        message.char(c);
        message
    }

    /// Begins a message with an integer in decimal.
    #[inline(always)]
    pub fn int<I: Integer>(&mut self, n: I) -> Message<'_, 'a> {
        let mut message = self.message();
        message.int(n);
        message
    }

    /// Begins a message with a floating-point number, as `{}` does.
    ///
    /// ```
    /// let mut out = outpace::stdout().lock();
    /// out.float(0.1 + 0.2).str(" is not ").float(0.3_f32).char('\n');
    /// ```
    #[inline(always)]
    pub fn float<F: Float>(&mut self, x: F) -> Message<'_, 'a> {
        let mut message = self.message();
        message.float(x);
        message
    }

    /// Begins an empty message.
    #[inline(always)]
    pub(crate) fn message(&mut self) -> Message<'_, 'a> {
        if !self.cursor.admits(HEADROOM) {
            // Asks even if the tail has room by now: a switch of policy may have replaced it.
            self.accept(headroom(self.engine, self.entry));
            // The budget of a queue may end before the memory does.
            if !self.cursor.admits(HEADROOM) {
                let OwnMemory { start, room } = own_memory(HEADROOM);
                return Message {
                    guard: self,
                    start,
                    filled: 0,
                    own_room: room,
                };
            }
        }
        let start = self.cursor.next;
        Message {
            guard: self,
            start,
            filled: 0,
            own_room: 0,
        }
    }

    /// Begins a message with room for `bytes` bytes, which appears only if it is
    /// [committed](Reserved::commit).
    ///
    /// ```
    /// let mut out = outpace::stdout().lock();
    /// let mut message = out.reserve(64);
    /// message.str("x = ").int(-17).char('\n');
    /// message.commit();
    /// ```
    ///
    /// # Panics
    ///
    /// If `bytes` is more than 1 GiB.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Reserved<'_, 'a> {
        let mut message = self.message();
        message.reserve(bytes);
        Reserved {
            message: ManuallyDrop::new(message),
        }
    }
}

/// Each message begins with this much room, so that short ones are checked at compile time.
const HEADROOM: usize = 64;

impl Message<'_, '_> {
    /// Makes room for the next `bytes` bytes, and returns their place.
    #[inline(always)]
    pub(crate) fn space(&mut self, bytes: usize) -> *mut u8 {
        if self.filled + bytes > HEADROOM && bytes > self.room() - self.filled {
            let own = outgrow(self.start, self.filled, self.own_room, bytes);
            (self.start, self.own_room) = (own.start, own.room);
        }
        // SAFETY: within the room.
        unsafe { self.start.add(self.filled) }
    }

    #[inline(always)]
    fn room(&self) -> usize {
        match self.own_room {
            0 => self.guard.cursor.room(),
            own => own,
        }
    }

    /// Counts the next `bytes` bytes, which have been written, as part of the message.
    #[inline(always)]
    pub(crate) fn filled(&mut self, bytes: usize) {
        self.filled += bytes;
        debug_assert!(self.filled <= self.room());
    }

    /// Adds text.
    #[inline(always)]
    pub fn str(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// Adds bytes.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        // SAFETY: `space` makes the room that each call needs.
        unsafe {
            if bytes.len() <= 8 {
                copy::copy_word(bytes, self.space(8));
            } else {
                copy::copy(bytes, self.space(bytes.len()));
            }
        }
        self.filled(bytes.len());
        self
    }

    /// Adds a character, as UTF-8.
    #[inline(always)]
    pub fn char(&mut self, c: char) -> &mut Self {
        if c.is_ascii() {
            let space = self.space(1);
            // SAFETY: `space` made room for it.
            unsafe { space.write(c as u8) };
            self.filled(1);
            return self;
        }
        let mut utf8 = [0; 4];
        self.bytes(c.encode_utf8(&mut utf8).as_bytes())
    }

    /// Adds an integer in decimal.
    #[inline(always)]
    pub fn int<I: Integer>(&mut self, n: I) -> &mut Self {
        let space = self.space(I::MAX_LEN);
        // SAFETY: `space` made room for the longest text, which is not longer than that.
        let length = unsafe { n.write_to(space) };
        debug_assert!(length <= I::MAX_LEN);
        // SAFETY: a promise of `write_to`, which lets the compiler fold later checks.
        unsafe { std::hint::assert_unchecked(length <= I::MAX_LEN) };
        self.filled(length);
        self
    }

    /// Adds a floating-point number, as `{}` does: the shortest digits that read back as the same number, never an
    /// exponent.
    #[inline(always)]
    pub fn float<F: Float>(&mut self, x: F) -> &mut Self {
        let length = if float::is_ordinary(x) {
            let space = self.space(ORDINARY_LEN);
            // SAFETY: `space` made room; the number is ordinary.
            unsafe { x.put_ordinary(space) }
        } else {
            let space = self.space(float::room(x));
            // SAFETY: `space` made as much room as the number needs.
            unsafe { x.put(Notation::Display, space) }
        };
        self.filled(length);
        self
    }

    /// Makes room for `bytes` more bytes at once.
    ///
    /// # Panics
    ///
    /// If `bytes` is more than 1 GiB.
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> &mut Self {
        assert!(bytes <= MAX_CAPACITY, "room for {bytes} bytes in place");
        self.space(bytes);
        self
    }

    /// The room that is left, for an encoder of your own; pass the number of filled bytes to
    /// [`advance`](Message::advance).
    pub fn spare_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the bytes from there to the end of the room belong to this message alone.
        unsafe {
            slice::from_raw_parts_mut(
                self.start.add(self.filled).cast(),
                self.room() - self.filled,
            )
        }
    }

    /// Counts the next `bytes` bytes as part of the message.
    ///
    /// # Panics
    ///
    /// If the room is smaller.
    ///
    /// # Safety
    ///
    /// The bytes have been written, through [`spare_mut`](Message::spare_mut).
    pub unsafe fn advance(&mut self, bytes: usize) {
        assert!(
            bytes <= self.room() - self.filled,
            "a message of more bytes than were reserved for it"
        );
        self.filled(bytes);
    }

    /// How many bytes the message has so far.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the message has no bytes yet.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }
}

impl Drop for Message<'_, '_> {
    // Small, because the compiler decides whether drops are inlined.
    #[inline(always)]
    fn drop(&mut self) {
        let guard = &mut *self.guard;
        if self.own_room == 0 {
            guard.cursor.next = guard.cursor.next.wrapping_add(self.filled);
            if !guard.engine.cursor.publish(guard.cursor.next) {
                guard.accept(after_typed(guard.engine));
            }
        } else {
            guard.accept(append_own_memory(
                guard.engine,
                guard.entry,
                self.start,
                self.filled,
                self.own_room,
            ));
        }
    }
}

impl fmt::Debug for Message<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("len", &self.filled)
            .finish_non_exhaustive()
    }
}

// A message that does not fit into the tail is built in memory of its own, and appended when it is finished. These
// functions take and return parts by value, so that in the common case a message stays in registers.
//
// Functions that are called while a message exists are `extern "C"`, so they do not unwind. Otherwise the compiler
// would keep each message in memory, for a drop while unwinding.

/// Room in the tail for the beginning of a message.
#[cold]
#[inline(never)]
extern "C" fn headroom(engine: &Engine, entry: Entry) -> Answer {
    match entry {
        Entry::Outermost => engine.make_room(HEADROOM),
        Entry::Nested => Answer::NO_ROOM,
    }
}

/// Memory that a message owns.
#[repr(C)]
struct OwnMemory {
    start: *mut u8,
    room: usize,
}

/// Memory for at least `bytes` bytes.
#[cold]
#[inline(never)]
extern "C" fn own_memory(bytes: usize) -> OwnMemory {
    let mut memory = ManuallyDrop::new(Vec::<u8>::with_capacity(bytes.max(4 * HEADROOM)));
    OwnMemory {
        start: memory.as_mut_ptr(),
        room: memory.capacity(),
    }
}

#[cold]
#[inline(never)]
extern "C" fn free_own_memory(start: *mut u8, room: usize) {
    // SAFETY: the parts of a `Vec` that `own_memory` took apart.
    drop(unsafe { Vec::from_raw_parts(start, 0, room) });
}

/// Moves a message to larger memory of its own.
#[cold]
#[inline(never)]
extern "C" fn outgrow(start: *mut u8, filled: usize, own_room: usize, bytes: usize) -> OwnMemory {
    let larger = own_memory((filled + bytes).max(2 * filled));
    // SAFETY: `filled` bytes have been written at `start`, and the new memory is larger.
    unsafe { larger.start.copy_from_nonoverlapping(start, filled) };
    if own_room > 0 {
        free_own_memory(start, own_room);
    }
    larger
}

/// Appends a message that was built there, and frees the memory.
#[cold]
#[inline(never)]
extern "C" fn append_own_memory(
    engine: &Engine,
    entry: Entry,
    start: *mut u8,
    filled: usize,
    room: usize,
) -> Answer {
    // SAFETY: `filled` bytes have been written there.
    let message = unsafe { slice::from_raw_parts(start, filled) };
    let answer = engine.append_by(entry, message);
    free_own_memory(start, room);
    if answer.failed {
        engine.end_if_reader_gone();
    }
    answer
}

#[cold]
#[inline(never)]
extern "C" fn after_typed(engine: &Engine) -> Answer {
    let answer = engine.after_message();
    if answer.failed {
        engine.end_if_reader_gone();
    }
    answer
}

/// A [`Message`] that becomes part of the stream only by [`commit`](Reserved::commit): see
/// [`Guard::reserve`]. Dropping it discards it.
#[derive(Debug)]
pub struct Reserved<'g, 'a> {
    message: ManuallyDrop<Message<'g, 'a>>,
}

impl Reserved<'_, '_> {
    /// Makes the message part of the stream.
    #[inline(always)]
    pub fn commit(self) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: dropped once: `this` is never dropped.
        unsafe { ManuallyDrop::drop(&mut this.message) };
    }
}

impl<'g, 'a> Deref for Reserved<'g, 'a> {
    type Target = Message<'g, 'a>;

    #[inline(always)]
    fn deref(&self) -> &Self::Target {
        &self.message
    }
}

impl DerefMut for Reserved<'_, '_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.message
    }
}

impl Drop for Reserved<'_, '_> {
    fn drop(&mut self) {
        if self.message.own_room > 0 {
            free_own_memory(self.message.start, self.message.own_room);
        }
    }
}
