//! An allocator that a program may look into: what it does to allocate is also what its own code does in between.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The most bytes of an allocation.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Called by a program: from now on there is no memory for more bytes than this at once.
pub(crate) fn limit_allocations(most: usize) {
    MOST.store(most, Ordering::Relaxed);
}

static WATCH: OnceLock<fn()> = OnceLock::new();

thread_local! {
    /// Whether the thread is in `WATCH`, which may itself allocate.
    static WATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Called by a program: from now on each allocation of any thread calls `watch` first.
pub(crate) fn watch_allocations(watch: fn()) {
    assert!(WATCH.set(watch).is_ok(), "once");
}

fn watch() {
    if let Some(watch) = WATCH.get()
        && !WATCHING.replace(true)
    {
        watch();
        WATCHING.set(false);
    }
}

// SAFETY: the system's allocator does it all, or there is no memory.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        watch();
        if layout.size() > MOST.load(Ordering::Relaxed) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        watch();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}
