//! A piece of memory that one thread appends to while others read what is published of it.
//!
//! It hands out raw pointers, because the two sides must not hold references to overlapping memory.
//! Who may touch which bytes: those at and after the published offset belong to the guard's holder,
//! those before it are read-only until all of them have been drained.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

pub(crate) struct Buffer {
    start: *mut u8,
    capacity: usize,
    /// What is freed when the last alias is gone.
    memory: ManuallyDrop<Option<Arc<Memory>>>,
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        /// A call that does not unwind, for the sake of those who drop buffers.
        #[inline(never)]
        extern "C" fn let_go(memory: &mut ManuallyDrop<Option<Arc<Memory>>>) {
            // SAFETY: by the drop alone.
            unsafe { ManuallyDrop::drop(memory) };
        }
        if self.memory.is_some() {
            let_go(&mut self.memory);
        }
    }
}

// SAFETY: access to the bytes is by raw pointers, whose users state their case.
unsafe impl Send for Buffer {}

impl Buffer {
    /// No memory and no capacity.
    pub(crate) const EMPTY: Buffer = Buffer {
        start: ptr::dangling_mut(),
        capacity: 0,
        memory: ManuallyDrop::new(None),
    };

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        if capacity == 0 {
            return Self::EMPTY;
        }
        let memory = Memory::with_capacity(capacity);
        Buffer {
            start: memory.start.as_ptr(),
            capacity,
            memory: ManuallyDrop::new(Some(Arc::new(memory))),
        }
    }

    /// The same memory, to read what is published of it.
    pub(crate) fn alias(&self) -> Self {
        Buffer {
            start: self.start,
            capacity: self.capacity,
            memory: self.memory.clone(),
        }
    }

    /// Whether nobody else reads from the memory: then it can be filled anew.
    pub(crate) fn is_alone(&self) -> bool {
        self.memory
            .as_ref()
            .is_some_and(|memory| Arc::strong_count(memory) == 1)
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes from `from` to `to`.
    ///
    /// # Safety
    ///
    /// They have been published, and the result is not used after they have been counted as drained.
    pub(crate) unsafe fn published<'a>(&self, from: usize, to: usize) -> &'a [u8] {
        debug_assert!(from <= to && to <= self.capacity);
        // SAFETY: in bounds; initialised and unchanging by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.start().add(from), to - from) }
    }

    /// Moves the bytes from `from` to `to`, which are still to be drained, to the beginning.
    ///
    /// # Safety
    ///
    /// They have been published; the caller holds the guard, and nobody else reads from the memory.
    pub(crate) unsafe fn move_to_start(&self, from: usize, to: usize) {
        debug_assert!(from <= to && to <= self.capacity);
        // SAFETY: in bounds; nobody else touches the bytes, by the caller's promise.
        unsafe { self.start().copy_from(self.start().add(from), to - from) };
    }

    /// Copies `bytes` to `at`: where a message takes the long way, which [`copy`] would make longer for all.
    ///
    /// # Safety
    ///
    /// The caller holds the guard, `at` is not below the published offset, and the bytes fit.
    pub(crate) unsafe fn put(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.capacity);
        // SAFETY: in bounds, and nobody else touches unpublished bytes.
        unsafe {
            let to = self.start().add(at);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }
}

struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: nobody accesses the bytes through this.
unsafe impl Send for Memory {}
// SAFETY: the same.
unsafe impl Sync for Memory {}

impl Memory {
    fn with_capacity(capacity: usize) -> Self {
        // A page, so that the kernel's copy starts aligned; a cache line for the small ones.
        let align = if capacity >= 4096 { 4096 } else { 64 };
        let Ok(layout) = Layout::from_size_align(capacity, align) else {
            panic!("a capacity is at most 1 GiB");
        };
        assert!(capacity > 0);
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc(layout) };
        match NonNull::new(start) {
            Some(start) => Memory { start, layout },
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Copies `bytes` to `to`. Short ones, which messages mostly are, without a call.
///
/// # Safety
///
/// `to` is writable for that many bytes, which do not overlap `bytes`.
#[inline(always)]
pub(crate) unsafe fn copy(bytes: &[u8], to: *mut u8) {
    // SAFETY: the same is demanded.
    unsafe {
        match bytes.len() {
            0..=32 => copy_short(bytes, to),
            len => ptr::copy_nonoverlapping(bytes.as_ptr(), to, len),
        }
    }
}

/// The most bytes that [`copy_short`] copies.
pub(crate) const SHORT: usize = 64;

/// As [`copy`], without a call also for some that are longer.
///
/// # Safety
///
/// As there; there are at most [`SHORT`] bytes.
#[inline(always)]
pub(crate) unsafe fn copy_short(bytes: &[u8], to: *mut u8) {
    /// Two copies of `N` bytes that overlap in the middle, for lengths of `N` to `2 * N`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(bytes: &[u8], to: *mut u8) {
        debug_assert!((N..=2 * N).contains(&bytes.len()));
        let last = bytes.len() - N;
        // SAFETY: both spans lie within the caller's `bytes.len()` bytes.
        unsafe {
            let head = bytes.as_ptr().cast::<[u8; N]>().read();
            let tail = bytes.as_ptr().add(last).cast::<[u8; N]>().read();
            to.cast::<[u8; N]>().write(head);
            to.add(last).cast::<[u8; N]>().write(tail);
        }
    }
    debug_assert!(bytes.len() <= SHORT);
    // SAFETY: passed on from the caller; each arm's length is in its helper's range.
    unsafe {
        // Halved, and not one range after the other, of which the compiler makes three instructions each.
        let len = bytes.len();
        if len >= 8 {
            if len <= 16 {
                ends::<8>(bytes, to);
            } else if len <= 32 {
                ends::<16>(bytes, to);
            } else {
                ends::<32>(bytes, to);
            }
        } else if len >= 4 {
            ends::<4>(bytes, to);
        } else if len == 1 {
            to.write(bytes[0]);
        } else if len != 0 {
            ends::<2>(bytes, to);
        }
    }
}

/// Copies at most eight bytes as one word, of which those behind `bytes` are unspecified: one store
/// instead of two.
///
/// # Safety
///
/// `to` is writable for eight bytes, and `bytes` are at most eight.
#[inline(always)]
pub(crate) unsafe fn copy_word(bytes: &[u8], to: *mut u8) {
    debug_assert!(bytes.len() <= 8);
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let word = match bytes.len() {
        8.. => u64::from_ne_bytes(bytes[..8].try_into().expect("eight bytes")),
        len @ 4.. => {
            let (low, high) = (u64::from(half(0)), u64::from(half(len - 4)));
            let shift = 8 * (len - 4);
            if cfg!(target_endian = "little") {
                low | high << shift
            } else {
                low << 32 | high << (32 - shift)
            }
        }
        _ => {
            let mut word = [0; 8];
            let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
            [word[0], word[1], word[2]] = [at(0), at(1), at(2)];
            u64::from_ne_bytes(word)
        }
    };
    // SAFETY: writable by the caller's promise.
    unsafe { to.cast::<u64>().write_unaligned(word) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_copied_at_every_length() {
        for len in 0..=8 {
            let source = &b"abcdefgh"[..len];
            let mut target = [0xAA; 10];
            // SAFETY: there are eight bytes behind the first.
            unsafe { copy_word(source, target.as_mut_ptr().add(1)) };
            assert_eq!(&target[1..=len], source);
            assert_eq!(
                (target[0], target[9]),
                (0xAA, 0xAA),
                "wrote outside at {len}"
            );
        }
    }

    #[test]
    fn a_copy_is_a_copy_at_every_length() {
        let source: Vec<u8> = (0..200).map(|i| i as u8).collect();
        for len in 0..=source.len() {
            let mut target = vec![0xAA; len + 2];
            // SAFETY: `target` has room for `len` bytes after its first.
            unsafe { copy(&source[..len], target.as_mut_ptr().add(1)) };
            assert_eq!(target[1..=len], source[..len]);
            assert_eq!(
                (target[0], target[len + 1]),
                (0xAA, 0xAA),
                "wrote outside at {len}"
            );
        }
    }
}
