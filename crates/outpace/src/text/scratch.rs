//! Memory for messages with fallback arguments: formatting them runs users' code, which may print, panic or take a
//! lock.

#![allow(unsafe_code)]

use super::copy;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Messages up to this length need only the stack.
const INLINE: usize = 256;

/// How much memory a thread keeps for its next long message, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Memory for a short text.
pub(crate) struct StackBuffer([MaybeUninit<u8>; INLINE]);

impl StackBuffer {
    #[inline(always)]
    pub(crate) fn new() -> StackBuffer {
        StackBuffer([MaybeUninit::uninit(); INLINE])
    }

    /// An empty text.
    #[inline(always)]
    pub(crate) fn scratch(&mut self) -> Scratch<'_> {
        let start: *mut u8 = self.0.as_mut_ptr().cast();
        // SAFETY: both are of this memory, which is borrowed.
        unsafe { Scratch::between(start, start.add(INLINE)) }
    }
}

/// A message that can be formatted into a text.
pub(crate) trait AppendTo: Copy {
    /// Panics as std does when a trait's implementation returns an error.
    fn append_to(self, scratch: &mut Scratch<'_>);
}

impl AppendTo for fmt::Arguments<'_> {
    #[inline(always)]
    fn append_to(self, scratch: &mut Scratch<'_>) {
        if fmt::write(scratch, self).is_err() {
            formatting_failed();
        }
    }
}

/// A growing text: first in memory of the caller's, on the stack or [elsewhere](Scratch::between), then in a buffer
/// that the thread keeps.
pub(crate) struct Scratch<'a> {
    /// The end of the text, and the end of the room.
    next: *mut u8,
    end: *mut u8,
    start: *mut u8,
    /// Whether the text owns its memory: that of a `Vec<u8>` whose capacity ends at `end`.
    is_own: bool,
    of: PhantomData<&'a mut [u8]>,
}

impl Drop for Scratch<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn keep(text: &mut Scratch<'_>) {
            let heap = text.take_heap();
            if heap.capacity() <= KEPT {
                // A thread that is ending does not keep it.
                let _ = SPARE.try_with(|spare| spare.set(heap));
            }
        }
        if self.is_own {
            keep(self);
        }
    }
}

impl Scratch<'_> {
    /// An empty text in memory of the caller's, for as long as that suffices.
    ///
    /// # Safety
    ///
    /// The memory between both pointers is one allocation's, writable, and not used by other code while the text is.
    #[inline(always)]
    pub(crate) unsafe fn between(start: *mut u8, end: *mut u8) -> Self {
        debug_assert!(start <= end);
        Scratch {
            next: start,
            end,
            start,
            is_own: false,
            of: PhantomData,
        }
    }

    /// Formats values of std's own types by `core::fmt` at `dst`; returns the length.
    ///
    /// # Safety
    ///
    /// `dst` has room for `room` bytes, and the text is not longer.
    pub(crate) unsafe fn format_at(dst: *mut u8, room: usize, value: fmt::Arguments<'_>) -> usize {
        // SAFETY: the caller's promise.
        let mut scratch = unsafe { Self::between(dst, dst.add(room)) };
        value.append_to(&mut scratch);
        match scratch.end_in_place() {
            Ok(end) => end.addr() - dst.addr(),
            Err(_) => unreachable!("the room was measured for this"),
        }
    }

    /// The text in its own memory. This text is empty afterwards.
    fn take_heap(&mut self) -> Vec<u8> {
        debug_assert!(self.is_own);
        let (length, capacity) = (self.len(), self.end.addr() - self.start.addr());
        self.is_own = false;
        // SAFETY: the memory of a `Vec` with this capacity, of which `length` bytes have been written. The text no
        // longer owns it.
        let heap = unsafe { Vec::from_raw_parts(self.start, length, capacity) };
        (self.next, self.end) = (self.start, self.start);
        heap
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.next.addr() - self.start.addr()
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.end.addr() - self.next.addr()
    }

    /// The text so far.
    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: these bytes have been written.
        unsafe { std::slice::from_raw_parts(self.start, self.len()) }
    }

    /// The text so far.
    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: pieces and `core::fmt` write UTF-8.
        unsafe { std::str::from_utf8_unchecked(self.as_bytes()) }
    }

    /// The text as a string of its own.
    #[inline]
    pub(crate) fn into_string(mut self) -> String {
        if !self.is_own {
            return self.as_str().to_owned();
        }
        // SAFETY: as in `as_str`.
        unsafe { String::from_utf8_unchecked(self.take_heap()) }
    }

    /// The end of the text, if that is still in the memory where it was [begun](Scratch::between).
    #[inline(always)]
    pub(crate) fn end_in_place(self) -> Result<*mut u8, Self> {
        if self.is_own {
            return Err(self);
        }
        // The text owns no memory, so skips the drop.
        Ok(ManuallyDrop::new(self).next)
    }

    /// Moves a text that [ended](Self::end_in_place) in the memory in which it was begun to memory of its own.
    ///
    /// # Safety
    ///
    /// It was begun at `start` and ended at `end`, and the bytes are unchanged.
    #[cold]
    pub(crate) unsafe fn moved_away(start: *mut u8, end: *mut u8) -> Self {
        // SAFETY: the caller's promise.
        let mut scratch = unsafe { Self::between(start, end) };
        scratch.next = end;
        scratch.grow(1);
        scratch
    }

    /// The place of the next `room` bytes, for [`advance`](Self::advance).
    #[inline(always)]
    pub(crate) fn space(&mut self, room: usize) -> *mut u8 {
        if room > self.room() {
            self.grow(room);
        }
        self.next
    }

    /// Makes the next `length` bytes part of the text.
    ///
    /// # Safety
    /// They have been written at the place from the last call of [`space`](Self::space), within its room, and are
    /// UTF-8.
    #[inline(always)]
    pub(crate) unsafe fn advance(&mut self, length: usize) {
        debug_assert!(length <= self.room());
        // SAFETY: within the room, as the caller promises.
        self.next = unsafe { self.next.add(length) };
    }

    /// Makes room for `room` more bytes on the heap.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: usize) {
        let mut heap = if self.is_own {
            self.take_heap()
        } else {
            let mut heap = SPARE.try_with(Cell::take).unwrap_or_default();
            heap.clear();
            heap.reserve(self.len().saturating_add(room).max(2 * INLINE));
            heap.extend_from_slice(self.as_bytes());
            heap
        };
        heap.reserve(room);
        let (length, capacity) = (heap.len(), heap.capacity());
        self.start = ManuallyDrop::new(heap).as_mut_ptr();
        self.is_own = true;
        // SAFETY: the length is at most the capacity.
        unsafe {
            self.next = self.start.add(length);
            self.end = self.start.add(capacity);
        }
    }

    /// Adds a text that may be long.
    #[inline(never)]
    fn append_long(&mut self, text: &[u8]) -> fmt::Result {
        // SAFETY: the room is the length.
        unsafe {
            let space = self.space(text.len());
            space.copy_from_nonoverlapping(text.as_ptr(), text.len());
            self.advance(text.len());
        }
        Ok(())
    }
}

#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn formatting_failed() -> ! {
    panic!(
        "a formatting trait implementation returned an error when the underlying stream did not"
    );
}

// Compiled here, and not again in each program.
impl fmt::Write for Scratch<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The short case makes no calls, so it saves no registers.
        if text.len() > copy::SHORT || text.len() > self.room() {
            return self.append_long(text.as_bytes());
        }
        // SAFETY: it is short, and there is room for it.
        unsafe {
            copy::copy_short(text.as_bytes(), self.next);
            self.advance(text.len());
        }
        Ok(())
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        if !c.is_ascii() {
            return self.write_str(c.encode_utf8(&mut [0; 4]));
        }
        // Exactly the room that it needs, for `format_at`.
        let space = self.space(1);
        // SAFETY: `space` has made room, and the byte is ASCII.
        unsafe {
            space.write(c as u8);
            self.advance(1);
        }
        Ok(())
    }

    fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) -> fmt::Result {
        fmt::write(self, arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write;

    #[test]
    fn a_text_is_whole_however_it_grows() {
        for step in [1, 7, INLINE - 1, INLINE, INLINE + 1, 3 * INLINE, KEPT] {
            let mut buffer = StackBuffer::new();
            let mut scratch = buffer.scratch();
            let mut expected = String::new();
            while expected.len() < 4 * INLINE + step {
                let piece: String = ('a'..='z')
                    .cycle()
                    .skip(expected.len() % 26)
                    .take(step)
                    .collect();
                scratch.write_str(&piece).unwrap();
                expected.push_str(&piece);
                assert_eq!(scratch.as_bytes(), expected.as_bytes());
            }
        }
    }

    #[test]
    fn what_core_makes_of_a_value_may_take_all_of_its_room() {
        for c in ['\u{301}', '\u{10ffff}', '\'', 'a', '\u{200b}', '…'] {
            let expected = format!("{c:?}{c}");
            let mut memory = [0_u8; 32];
            // SAFETY: the text is as long as the room.
            let length = unsafe {
                let room = expected.len();
                Scratch::format_at(memory.as_mut_ptr(), room, format_args!("{c:?}{c}"))
            };
            assert_eq!(&memory[..length], expected.as_bytes());
            assert!(memory[length..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn texts_within_one_another_keep_apart() {
        let mut buffer = StackBuffer::new();
        let mut outer = buffer.scratch();
        format_args!("{:1000}", 1).append_to(&mut outer);
        {
            let mut buffer = StackBuffer::new();
            let mut inner = buffer.scratch();
            format_args!("{:2000}", 2).append_to(&mut inner);
            assert_eq!(inner.as_bytes().len(), 2000);
        }
        format_args!("{:1000}", 3).append_to(&mut outer);
        assert_eq!(outer.as_bytes(), format!("{:1000}{:1000}", 1, 3).as_bytes());
    }
}
