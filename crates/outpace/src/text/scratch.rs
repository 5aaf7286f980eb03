//! Where a message is put together that cannot be written straight into its stream, because code
//! runs meanwhile that is not outpace's: a `Display` that prints, panics or takes a lock.

#![allow(unsafe_code)]

use super::copy;
use super::piece::Piece;
use std::cell::Cell;
use std::fmt;
use std::mem::MaybeUninit;

/// Messages up to this length need no memory but the stack.
const INLINE: usize = 256;

/// The most that a thread keeps for its next long message, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Where a text is put together.
pub(crate) struct Memory {
    inline: [MaybeUninit<u8>; INLINE],
    heap: Vec<u8>,
}

impl Memory {
    #[inline(always)]
    pub(crate) fn new() -> Memory {
        Memory {
            inline: [MaybeUninit::uninit(); INLINE],
            heap: Vec::new(),
        }
    }

    /// An empty text.
    #[inline(always)]
    pub(crate) fn scratch(&mut self) -> Scratch<'_> {
        let start: *mut u8 = self.inline.as_mut_ptr().cast();
        Scratch {
            next: start,
            // SAFETY: the end of the same memory.
            end: unsafe { start.add(INLINE) },
            start,
            // Apart from the memory that the pointers are to.
            heap: &mut self.heap,
        }
    }

    /// An empty text that begins in memory of the caller's, for as long as that suffices.
    ///
    /// # Safety
    ///
    /// Both pointers are into one piece of memory, which is writable between them and touched by nobody else as
    /// long as the text is used.
    #[inline(always)]
    pub(crate) unsafe fn scratch_between(&mut self, start: *mut u8, end: *mut u8) -> Scratch<'_> {
        debug_assert!(start <= end);
        Scratch {
            next: start,
            end,
            start,
            heap: &mut self.heap,
        }
    }
}

impl Drop for Memory {
    #[inline(always)]
    fn drop(&mut self) {
        #[cold]
        #[inline(never)]
        fn keep(heap: &mut Vec<u8>) {
            let heap = std::mem::take(heap);
            if heap.capacity() <= KEPT {
                // A thread that is ending keeps nothing.
                let _ = SPARE.try_with(|spare| spare.set(heap));
            }
        }
        if self.heap.capacity() > 0 {
            keep(&mut self.heap);
        }
    }
}

/// A growing text: where it was begun first, on the stack or [elsewhere](Memory::scratch_between), then in a buffer
/// that the thread keeps.
pub(crate) struct Scratch<'a> {
    /// Where the text goes on, and the end of the room for it.
    next: *mut u8,
    end: *mut u8,
    start: *mut u8,
    /// Its length is not used.
    heap: &'a mut Vec<u8>,
}

impl Scratch<'_> {
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
        // SAFETY: so many bytes have been written there.
        unsafe { std::slice::from_raw_parts(self.start, self.len()) }
    }

    /// The text so far.
    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        // SAFETY: all pieces are text, and so is what `core::fmt` writes.
        unsafe { std::str::from_utf8_unchecked(self.as_bytes()) }
    }

    /// The text as a string of its own.
    #[inline]
    pub(crate) fn into_string(self) -> String {
        if self.heap.capacity() == 0 {
            return self.as_str().to_owned();
        }
        let length = self.len();
        let mut text = std::mem::take(self.heap);
        // SAFETY: so many bytes have been written there; as in `as_str`.
        unsafe {
            text.set_len(length);
            String::from_utf8_unchecked(text)
        }
    }

    /// The end of the text, if that is still where it was [begun](Memory::scratch_between).
    #[inline(always)]
    pub(crate) fn end_at(&self, start: *mut u8) -> Option<*mut u8> {
        (self.start == start).then_some(self.next)
    }

    /// Moves the text to memory of its own, so that what it was begun in is free.
    #[cold]
    pub(crate) fn move_away(&mut self) {
        self.grow(1);
    }

    /// Where the next `room` bytes may be put, for [`advance`](Self::advance).
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
    /// They have been written where the last call of [`space`](Self::space) said, whose room was enough,
    /// and they are UTF-8.
    #[inline(always)]
    pub(crate) unsafe fn advance(&mut self, length: usize) {
        debug_assert!(length <= self.room());
        // SAFETY: within the room, as demanded.
        self.next = unsafe { self.next.add(length) };
    }

    /// Room for as many more bytes on the heap.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: usize) {
        let length = self.len();
        if self.heap.capacity() == 0 {
            let mut heap = SPARE.try_with(Cell::take).unwrap_or_default();
            heap.clear();
            heap.reserve(length.saturating_add(room).max(2 * INLINE));
            heap.extend_from_slice(self.as_bytes());
            *self.heap = heap;
        }
        // SAFETY: so many bytes have been written there.
        unsafe { self.heap.set_len(length) };
        self.heap.reserve(room);
        self.start = self.heap.as_mut_ptr();
        // SAFETY: the length is at most the capacity.
        unsafe {
            self.next = self.start.add(length);
            self.end = self.start.add(self.heap.capacity());
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

    /// Adds a piece.
    #[inline]
    pub(crate) fn append_piece<P: Piece>(&mut self, piece: &P) {
        // SAFETY: the room is what the piece asks for.
        unsafe {
            let length = piece.put(self.space(piece.room()));
            self.advance(length);
        }
    }

    /// Formats foreign values; panics as std does when one of them says that it cannot be formatted.
    #[inline]
    pub(crate) fn append_formatted(&mut self, arguments: fmt::Arguments<'_>) {
        if fmt::write(self, arguments).is_err() {
            formatting_failed();
        }
    }
}

#[cold]
#[track_caller]
pub(super) fn formatting_failed() -> ! {
    panic!(
        "a formatting trait implementation returned an error when the underlying stream did not"
    );
}

// All of it is compiled here, and nothing of it in the programs.
impl fmt::Write for Scratch<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // What needs no call has no registers to save.
        if text.len() > self.room().min(copy::SHORT) {
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
        self.append_piece(&c);
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
            let mut memory = Memory::new();
            let mut scratch = memory.scratch();
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
    fn texts_within_one_another_keep_apart() {
        let mut memory = Memory::new();
        let mut outer = memory.scratch();
        outer.append_formatted(format_args!("{:1000}", 1));
        {
            let mut memory = Memory::new();
            let mut inner = memory.scratch();
            inner.append_formatted(format_args!("{:2000}", 2));
            assert_eq!(inner.as_bytes().len(), 2000);
        }
        outer.append_formatted(format_args!("{:1000}", 3));
        assert_eq!(outer.as_bytes(), format!("{:1000}{:1000}", 1, 3).as_bytes());
    }
}
