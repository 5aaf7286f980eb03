//! The wakers of tasks that wait for a stream.
#![allow(unsafe_code)]

use crate::sync::mutex::Mutex;
use crate::sync::thread::work;
use std::mem;
use std::task::Waker;

/// The tasks that wait for a stream. They have their own lock, because wakers are users' code and must not run with the
/// state locked.
pub(crate) struct Tasks(Mutex<TaskLists>);

pub(super) struct TaskLists {
    /// For room in the queue, or for the end of a flush.
    pub(super) progress: Vec<Waker>,
    /// For the guard.
    pub(super) guard: Vec<Waker>,
    /// A thread waits for the guard in their place.
    pub(super) guard_is_awaited: bool,
    /// A thread drains in their place.
    pub(super) is_flushing: bool,
}

impl TaskLists {
    const EMPTY: TaskLists = TaskLists {
        progress: Vec::new(),
        guard: Vec::new(),
        guard_is_awaited: false,
        is_flushing: false,
    };
}

impl Tasks {
    pub(crate) const fn new() -> Self {
        Tasks(Mutex::new(TaskLists::EMPTY))
    }

    pub(super) fn with<T>(&self, use_them: impl FnOnce(&mut TaskLists) -> T) -> T {
        // An allocator that prints must not wait meanwhile.
        work::begin();
        self.0.lock();
        // SAFETY: locked.
        let result = use_them(unsafe { &mut *self.0.value() });
        self.0.unlock();
        work::end();
        result
    }

    /// Wakes those that wait for progress.
    pub(crate) fn notify_progress(&self) {
        let tasks = self.with(|waiting| mem::take(&mut waiting.progress));
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Forgets the parent's tasks in the child of a fork. Leaks them: dropping a waker runs users' code, and a thread
    /// of the parent may have been changing the list.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&self) {
        self.0.reset_after_fork(false);
        // SAFETY: the child has no other thread.
        unsafe { self.0.value().write(TaskLists::EMPTY) };
    }
}

/// Adds a waker to the list, or returns it if the list has one for the same task.
pub(super) fn add(tasks: &mut Vec<Waker>, waker: Waker) -> Option<Waker> {
    if tasks.iter().any(|task| task.will_wake(&waker)) {
        // The caller drops it with the list unlocked.
        return Some(waker);
    }
    tasks.push(waker);
    None
}
