//! The guard's lock.

use crate::sync::fault;
use crate::sync::lock::{Entrance, Entry, Lock};
use crate::sync::thread::ThreadId;
use crate::{OTHER, OWNER, THIRD, model};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Something that only one thread may touch at a time, and that each has to see as the last one left it.
pub(crate) struct Guarded {
    pub(crate) lock: Lock,
    entries: UnsafeCell<u32>,
    /// The memory behind the published bytes: it belongs to the draft, or without one to the thread inside.
    tail: UnsafeCell<u32>,
}

impl Guarded {
    fn new() -> Self {
        Guarded {
            lock: Lock::new(),
            entries: UnsafeCell::new(0),
            tail: UnsafeCell::new(0),
        }
    }

    /// With the lock biased towards [`OWNER`], after three entries.
    pub(crate) fn owned() -> Self {
        let this = Self::new();
        for _ in 0..3 {
            this.enter(OWNER);
        }
        this
    }

    #[allow(unsafe_code)]
    pub(crate) fn touch(&self) {
        self.entries.with_mut(|entries| {
            // SAFETY: the checker ends a model at any access that could be concurrent.
            unsafe { *entries += 1 };
        });
    }

    fn enter(&self, me: ThreadId) {
        assert_eq!(self.lock.enter(me), Entry::Outermost);
        self.touch();
        self.lock.leave(me);
    }

    #[allow(unsafe_code)]
    fn touch_tail(&self) {
        // SAFETY: as in `touch`.
        self.tail.with_mut(|tail| unsafe { *tail += 1 });
    }

    /// Enters where there may be a draft: a thread beside one leaves the tail alone.
    fn enter_perhaps_beside(&self, me: ThreadId) {
        let entry = self.lock.enter(me);
        self.touch();
        if entry == Entry::Outermost {
            self.touch_tail();
        }
        self.lock.leave(me);
    }

    /// As a message does that is formatted by foreign code, which does this meanwhile; it is told how it enters.
    fn draft(&self, me: ThreadId, meanwhile: impl FnOnce(Entry)) {
        let Some(draft) = self.lock.draft(me) else {
            meanwhile(Entry::Outermost);
            return self.enter_perhaps_beside(me);
        };
        self.touch_tail();
        meanwhile(Entry::Nested);
        self.touch_tail();
        match draft.enter() {
            Ok(inside) => {
                self.touch();
                self.touch_tail();
                inside.leave();
            }
            Err(draft) => {
                self.touch_tail();
                drop(draft);
                self.enter_perhaps_beside(me);
            }
        }
    }

    /// As `print!` does. Returns whether it got in.
    fn enter_by_slot(&self, me: ThreadId) -> bool {
        match self.lock.enter_by_slot(self.lock.slot_of(me)) {
            Entrance::Entered(inside) => {
                self.touch();
                inside.leave();
                return true;
            }
            Entrance::Lost => self.lock.withdraw(me),
            Entrance::None => {}
        }
        false
    }

    fn enter_twice(&self, me: ThreadId) {
        assert_eq!(self.lock.enter(me), Entry::Outermost);
        self.touch();
        assert_eq!(self.lock.enter(me), Entry::Nested);
        self.touch();
        self.lock.leave(me);
        self.touch();
        self.lock.leave(me);
    }

    /// Returns whether it got in.
    fn try_enter(&self, me: ThreadId) -> bool {
        let entry = self.lock.try_enter(me);
        if entry.is_some() {
            assert_eq!(entry, Some(Entry::Outermost));
            self.touch();
            self.lock.leave(me);
        }
        entry.is_some()
    }

    /// How often it was touched.
    #[allow(unsafe_code)]
    fn entries(&self) -> u32 {
        self.enter(OWNER);
        // SAFETY: as in `touch`.
        self.entries.with(|entries| unsafe { *entries }) - 1
    }
}

pub(crate) fn one_takes_the_lock_from_its_owner() {
    let guarded = Arc::new(Guarded::owned());
    let other = thread::spawn({
        let guarded = guarded.clone();
        move || guarded.enter(OTHER)
    });
    guarded.enter(OWNER);
    guarded.enter(OWNER);
    other.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 3);
}

#[test]
fn a_biased_lock_excludes_and_is_handed_over() {
    model(3, one_takes_the_lock_from_its_owner);
}

#[test]
fn an_owner_inside_twice_is_waited_for() {
    model(3, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || guarded.enter(OTHER)
        });
        guarded.enter_twice(OWNER);
        other.join().unwrap();
        assert_eq!(guarded.entries(), 3 + 4);
    });
}

#[test]
fn two_takers_get_the_owners_lock_one_after_the_other() {
    model(2, || {
        let guarded = Arc::new(Guarded::owned());
        let others = [OTHER, THIRD].map(|me| {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.enter(me))
        });
        guarded.enter(OWNER);
        guarded.enter(OWNER);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(guarded.entries(), 3 + 4);
    });
}

pub(crate) fn the_bias_moves() {
    let guarded = Arc::new(Guarded::owned());
    let other = thread::spawn({
        let guarded = guarded.clone();
        move || {
            // Earns the bias with the third, enters by it with the fourth.
            for _ in 0..4 {
                guarded.enter(OTHER);
            }
        }
    });
    guarded.enter(OWNER);
    guarded.enter(OWNER);
    other.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 6);
}

#[test]
fn the_bias_moves_to_a_thread_with_a_streak_while_the_last_owner_retreats() {
    model(2, the_bias_moves);
}

pub(crate) fn one_takes_the_lock_from_an_owner_by_its_slot() {
    let guarded = Arc::new(Guarded::owned());
    let other = thread::spawn({
        let guarded = guarded.clone();
        move || guarded.enter(OTHER)
    });
    let mut entries = 0;
    for _ in 0..2 {
        entries += u32::from(guarded.enter_by_slot(OWNER));
    }
    other.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 1 + entries);
}

#[test]
fn an_owner_is_excluded_once_its_bias_is_taken() {
    model(3, one_takes_the_lock_from_an_owner_by_its_slot);
}

#[test]
fn a_thread_without_an_id_does_not_enter_while_another_gets_the_bias() {
    model(3, || {
        let guarded = Arc::new(Guarded::new());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || assert!(matches!(guarded.lock.enter_by_bias(0), Entrance::None))
        });
        for _ in 0..3 {
            guarded.enter(OWNER);
        }
        other.join().unwrap();
    });
}

#[test]
fn an_owner_inside_by_the_mutex_does_not_leave_it_by_trying_its_slot() {
    model(2, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || guarded.enter(OTHER)
        });
        guarded.lock.enter(OWNER);
        guarded.touch();
        guarded.enter_by_slot(OWNER);
        guarded.touch();
        guarded.lock.leave(OWNER);
        other.join().unwrap();
        assert_eq!(guarded.entries(), 3 + 3);
    });
}

pub(crate) fn one_comes_during_a_draft() {
    let guarded = Arc::new(Guarded::owned());
    let other = thread::spawn({
        let guarded = guarded.clone();
        move || guarded.enter_perhaps_beside(OTHER)
    });
    guarded.draft(OWNER, |_| ());
    guarded.enter_perhaps_beside(OWNER);
    other.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 3);
}

#[test]
fn a_thread_goes_in_beside_a_draft() {
    model(3, one_comes_during_a_draft);
}

#[test]
fn a_draft_may_wait_for_a_thread_that_comes_meanwhile() {
    model(3, || {
        let guarded = Arc::new(Guarded::owned());
        guarded.draft(OWNER, {
            let guarded = guarded.clone();
            move |_| {
                let other = move || guarded.enter_perhaps_beside(OTHER);
                thread::spawn(other).join().unwrap();
            }
        });
        guarded.draft(OWNER, |_| ());
        assert_eq!(guarded.entries(), 3 + 3);
    });
}

#[test]
fn a_draft_that_is_entered_from_excludes_other_threads() {
    model(3, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || guarded.enter_perhaps_beside(OTHER)
        });
        guarded.draft(OWNER, {
            let guarded = guarded.clone();
            move |entry| {
                assert_eq!(guarded.lock.enter(OWNER), entry);
                guarded.touch();
                assert_eq!(guarded.lock.enter(OWNER), Entry::Nested);
                guarded.touch();
                guarded.lock.leave(OWNER);
                guarded.lock.leave(OWNER);
            }
        });
        other.join().unwrap();
        assert_eq!(guarded.entries(), 3 + 4);
    });
}

#[test]
fn all_threads_that_come_during_a_draft_are_beside_it_until_its_end() {
    model(2, || {
        let guarded = Arc::new(Guarded::owned());
        let others = [OTHER, THIRD].map(|me| {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.enter_perhaps_beside(me))
        });
        guarded.draft(OWNER, |_| ());
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(guarded.entries(), 3 + 3);
    });
}

#[test]
fn the_bias_does_not_move_during_a_draft() {
    model(2, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || {
                for _ in 0..3 {
                    guarded.enter_perhaps_beside(OTHER);
                }
                guarded.draft(OTHER, |_| ());
            }
        });
        guarded.draft(OWNER, |_| ());
        guarded.draft(OWNER, |_| ());
        other.join().unwrap();
        assert_eq!(guarded.entries(), 3 + 6);
    });
}

#[test]
fn a_try_during_a_draft_goes_in_beside_it_or_gives_the_bias_back() {
    model(3, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || {
                let entry = guarded.lock.try_enter(OTHER);
                if let Some(entry) = entry {
                    guarded.touch();
                    if entry == Entry::Outermost {
                        guarded.touch_tail();
                    }
                    guarded.lock.leave(OTHER);
                }
                u32::from(entry.is_some())
            }
        });
        guarded.draft(OWNER, |_| ());
        guarded.draft(OWNER, |_| ());
        let tried = other.join().unwrap();
        assert_eq!(guarded.entries(), 3 + 2 + tried);
    });
}

pub(crate) fn one_tries() {
    let guarded = Arc::new(Guarded::owned());
    let other = thread::spawn({
        let guarded = guarded.clone();
        move || u32::from(guarded.try_enter(OTHER))
    });
    guarded.enter(OWNER);
    guarded.enter(OWNER);
    let tried = other.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 2 + tried);
}

#[test]
fn a_failed_try_gives_the_bias_back() {
    model(3, one_tries);
}

fn a_try_and_a_wait() {
    let guarded = Arc::new(Guarded::owned());
    let tries = thread::spawn({
        let guarded = guarded.clone();
        move || u32::from(guarded.try_enter(OTHER))
    });
    let waits = thread::spawn({
        let guarded = guarded.clone();
        move || guarded.enter(THIRD)
    });
    guarded.enter_twice(OWNER);
    let tried = tries.join().unwrap();
    waits.join().unwrap();
    assert_eq!(guarded.entries(), 3 + 3 + 1 + tried);
}

#[test]
fn a_try_and_a_wait_for_the_same_lock_do_not_disturb_each_other() {
    model(2, a_try_and_a_wait);
}

#[test]
fn a_try_succeeds_when_no_thread_is_inside() {
    model(3, || {
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || guarded.try_enter(OTHER)
        });
        assert!(other.join().unwrap());
    });
}

#[test]
fn a_fence_that_is_refused_while_the_bias_moves_leaves_an_ordinary_lock() {
    model(3, || {
        fault::set("");
        let guarded = Arc::new(Guarded::owned());
        let other = thread::spawn({
            let guarded = guarded.clone();
            move || {
                guarded.enter(OTHER);
                fault::set("the system refuses the fence");
                // Would earn the bias, if it has not got it already.
                guarded.enter(OTHER);
                guarded.enter(OTHER);
            }
        });
        guarded.enter(OWNER);
        guarded.enter(OWNER);
        other.join().unwrap();
        // After the next entry of another thread none has the bias, however often it enters.
        for me in [THIRD, OWNER, OWNER, OWNER, OWNER] {
            guarded.enter(me);
        }
        assert!(matches!(guarded.lock.enter_by_bias(OWNER), Entrance::None));
        fault::set("");
        assert_eq!(guarded.entries(), 3 + 10);
    });
}
