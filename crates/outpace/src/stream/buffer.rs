//! A piece of memory that one thread appends to while others read its published part.
//!
//! It hands out raw pointers, because the two sides must not hold references to overlapping memory. Bytes at and after
//! the published offset belong to the guard's holder. Those before it are read-only until all of them have been
//! drained.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A program without memory for so few bytes cannot go on.
const SMALLEST: usize = 64;

pub(crate) struct Buffer {
    start: *mut u8,
    capacity: usize,
    /// Freed when the last alias is dropped.
    memory: ManuallyDrop<Option<Arc<Memory>>>,
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        /// Not inlined and not unwinding, so that functions that drop buffers need no cleanup.
        #[inline(never)]
        extern "C" fn release(memory: &mut ManuallyDrop<Option<Arc<Memory>>>) {
            // SAFETY: called once, by `drop`.
            unsafe { ManuallyDrop::drop(memory) };
        }
        if self.memory.is_some() {
            release(&mut self.memory);
        }
    }
}

// SAFETY: the bytes are accessed only through raw pointers, and each of these accesses states why it is sound.
unsafe impl Send for Buffer {}

impl Buffer {
    /// No memory and no capacity.
    pub(crate) const EMPTY: Buffer = Buffer {
        start: ptr::dangling_mut(),
        capacity: 0,
        memory: ManuallyDrop::new(None),
    };

    /// As large as this, or where memory is short, half or a quarter of that and so on, but not smaller than `least`.
    pub(crate) fn with_room(mut capacity: usize, least: usize) -> Self {
        if capacity == 0 {
            return Self::EMPTY;
        }
        let memory = loop {
            match Memory::with_capacity(capacity) {
                Ok(memory) => break memory,
                Err(layout) if capacity <= least.max(SMALLEST) => handle_alloc_error(layout),
                Err(_) => capacity = (capacity / 2).max(least),
            }
        };
        Buffer {
            start: memory.start.as_ptr(),
            capacity,
            memory: ManuallyDrop::new(Some(Arc::new(memory))),
        }
    }

    /// The same memory, to read its published part.
    pub(crate) fn alias(&self) -> Self {
        Buffer {
            start: self.start,
            capacity: self.capacity,
            memory: self.memory.clone(),
        }
    }

    /// Whether no other buffer shares the memory, so that it can be filled anew.
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
    /// They have been published; the caller holds the guard, and no other thread reads from the memory.
    pub(crate) unsafe fn move_to_start(&self, from: usize, to: usize) {
        debug_assert!(from <= to && to <= self.capacity);
        // SAFETY: in bounds; no other thread touches the bytes, by the caller's promise.
        unsafe { self.start().copy_from(self.start().add(from), to - from) };
    }

    /// Copies `bytes` to `at`. For the slow path only: the inlined [`copy`](crate::text::copy::copy) would make it
    /// longer.
    ///
    /// # Safety
    ///
    /// The caller holds the guard, `at` is not below the published offset, and the bytes fit.
    pub(crate) unsafe fn put(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.capacity);
        // SAFETY: in bounds, and no other thread touches unpublished bytes.
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

// SAFETY: the bytes are not accessed through this.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn with_capacity(capacity: usize) -> Result<Self, Layout> {
        // A page, so that the kernel's copy starts aligned; a cache line for the small ones.
        let align = if capacity >= 4096 { 4096 } else { 64 };
        let Ok(layout) = Layout::from_size_align(capacity, align) else {
            panic!("a capacity is at most 1 GiB");
        };
        assert!(capacity > 0);
        // SAFETY: the layout's size is not 0.
        let start = unsafe { alloc(layout) };
        match NonNull::new(start) {
            Some(start) => Ok(Memory { start, layout }),
            None => Err(layout),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
