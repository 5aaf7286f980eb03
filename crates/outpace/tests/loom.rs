//! The lock and the two words through which authors and drains meet, in every order that the memory model
//! allows.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p outpace --test loom --release
//! ```
//!
//! The modules under test are the library's own files; what they take from `crate::` stands here. A model
//! proves something only if it fails when the protocol is broken: each fault that a step can have (`unless!` in the
//! sources, by its name) is tried by a test at the end.
//!
//! In the lock's own models a waiter looks again until it sees what it waits for.

#![cfg(loom)]

// The files are the library's; not all of each is needed here.
#[allow(dead_code)]
#[path = "../src/stream/cursor.rs"]
mod cursor;
#[allow(dead_code, unused_imports)]
#[path = "../src/sync/mod.rs"]
mod sync;

mod sys {
    use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};
    use std::time::Duration;

    loom::lazy_static! {
        /// The words that a thread has waited for or woken, and for each the condition that its waiters sleep on.
        static ref BEDS: (Mutex<Vec<usize>>, [Condvar; 2]) =
            (Mutex::new(Vec::new()), [Condvar::new(), Condvar::new()]);
    }

    fn bed(words: &mut Vec<usize>, word: &AtomicU32) -> &'static Condvar {
        let word = std::ptr::from_ref(word).addr();
        let index = words.iter().position(|&other| other == word);
        let index = index.unwrap_or_else(|| {
            words.push(word);
            words.len() - 1
        });
        &BEDS.1[index]
    }

    /// futex(2): to the thread that wakes others, comparing and falling asleep are one step. No thread wakes for no reason, or
    /// by the clock: that would hide a wake that is missing.
    pub(crate) fn futex_wait(word: &AtomicU32, value: u32, _: Option<Duration>) {
        let mut words = BEDS.0.lock().unwrap();
        if word.load(Ordering::Relaxed) == value {
            let bed = bed(&mut words, word);
            drop(bed.wait(words).unwrap());
        }
    }

    pub(crate) fn futex_wake_one(word: &AtomicU32) {
        bed(&mut BEDS.0.lock().unwrap(), word).notify_one();
    }

    pub(crate) fn futex_wake_all(word: &AtomicU32) {
        bed(&mut BEDS.0.lock().unwrap(), word).notify_all();
    }

    /// A stopped clock, long after the start: the first take-over is not "soon", later ones are.
    pub(crate) fn coarse_millis() -> u64 {
        1_000_000
    }
}

use cursor::SharedCursor;
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::process::Command;
use sync::futex::{Condition, RawMutex};
use sync::lock::{Entrance, Entry, Lock};
use sync::thread::ThreadId;
use sync::{fault, unless};

const OWNER: ThreadId = 1;
const OTHER: ThreadId = 2;
const THIRD: ThreadId = 3;

/// Checks all orders with at most so many switches of threads that the program did not ask for.
fn model(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Something that only one thread may touch at a time, and that each has to see as the last one left it.
struct Guarded {
    lock: Lock,
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
    fn owned() -> Self {
        let this = Self::new();
        for _ in 0..3 {
            this.enter(OWNER);
        }
        this
    }

    #[allow(unsafe_code)]
    fn touch(&self) {
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

fn one_takes_the_lock_from_its_owner() {
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

fn the_bias_moves() {
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
fn the_bias_moves_to_who_enters_in_a_row_while_the_last_owner_retreats() {
    model(2, the_bias_moves);
}

fn one_takes_the_lock_from_who_enters_by_his_slot() {
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
    model(3, one_takes_the_lock_from_who_enters_by_his_slot);
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
fn an_owner_inside_by_the_mutex_does_not_leave_it_by_trying_his_slot() {
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

fn one_comes_during_a_draft() {
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
fn a_draft_may_wait_for_who_comes_meanwhile() {
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
fn a_draft_that_is_entered_from_excludes_who_comes() {
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
fn all_who_come_during_a_draft_are_beside_it_until_its_end() {
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

fn one_tries() {
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

/// A place in a tail buffer, whose bytes are never read.
fn at(offset: usize) -> *mut u8 {
    std::ptr::without_provenance_mut(4096 + offset)
}

fn offset(cursor: &SharedCursor) -> usize {
    cursor.published().addr() - at(0).addr()
}

/// A stream as far as its promises go: what is published, and what was decided about it.
struct Stream {
    guarded: Guarded,
    cursor: SharedCursor,
    state: Mutex<State>,
}

struct State {
    drained: usize,
    /// A helper looks at the stream until it has found it quiet.
    active: bool,
    /// The policy has been switched, and the switch is not in force yet.
    stale: bool,
}

impl Stream {
    /// In a burst: a helper is active, and its author need not ask.
    fn in_a_burst() -> Self {
        let stream = Stream {
            guarded: Guarded::owned(),
            cursor: SharedCursor::new(),
            state: Mutex::new(State {
                drained: 0,
                active: true,
                stale: false,
            }),
        };
        stream.cursor.begin(at(0));
        stream.cursor.open(at(100));
        stream
    }

    /// As `Guard::append` and `after_message`: a message of ten bytes. Returns whether it asked.
    fn message(&self, me: ThreadId) -> bool {
        self.guarded.lock.enter(me);
        let end = self.cursor.published().wrapping_add(10);
        let fits = end <= self.cursor.limit();
        self.guarded.touch();
        let free = self.cursor.publish(end) && fits;
        if !free {
            let mut state = self.state.lock().unwrap();
            state.active = true;
            self.apply_policy(&mut state);
        }
        self.guarded.lock.leave(me);
        !free
    }

    /// As `end_burst` of a helper that has found the stream quiet.
    fn end_burst(&self) {
        let mut state = self.state.lock().unwrap();
        state.active = false;
        let closed = self.cursor.close_for_all();
        drop(state);
        let before = unless!(
            "a helper looks before the fence",
            usize::MAX,
            offset(&self.cursor)
        );
        self.cursor.make_seen(closed);
        let mut state = self.state.lock().unwrap();
        if !state.active && offset(&self.cursor).min(before) > state.drained {
            state.active = true;
        }
    }

    /// As `set_buffering`. Returns whether it has put the switch into force itself.
    fn switch(&self, me: ThreadId) -> bool {
        let mut state = self.state.lock().unwrap();
        state.stale = true;
        self.cursor.close_at_once();
        drop(state);
        let entry = self.guarded.lock.try_enter(me);
        if entry.is_some() {
            // Changes the tail, which only the guard's holder may.
            self.guarded.touch();
            self.apply_policy(&mut self.state.lock().unwrap());
            self.guarded.lock.leave(me);
        }
        entry.is_some()
    }

    /// As `apply_policy` and `enable_fast_path`: no caller need ask while a helper looks.
    fn apply_policy(&self, state: &mut State) {
        state.stale = false;
        if offset(&self.cursor) > state.drained {
            state.active = true;
        }
        if state.active {
            self.cursor.open(at(100));
        } else {
            self.cursor.close();
        }
    }
}

fn a_helper_goes_idle_while_a_message_comes() {
    let stream = Arc::new(Stream::in_a_burst());
    let helper = thread::spawn({
        let stream = stream.clone();
        move || stream.end_burst()
    });
    // Just one: the next one would have to ask, and make good for it.
    stream.message(OWNER);
    helper.join().unwrap();
    let state = stream.state.lock().unwrap();
    assert_eq!(offset(&stream.cursor), 10);
    assert!(state.active, "a message was left behind");
}

#[test]
fn no_message_is_left_behind_when_the_helper_goes_idle() {
    model(4, a_helper_goes_idle_while_a_message_comes);
}

/// Two messages, and a switch at any moment. Returns whether the author asked after the second one.
fn a_switch_in_the_middle_of_messages() {
    let stream = Arc::new(Stream::in_a_burst());
    let switcher = thread::spawn({
        let stream = stream.clone();
        move || stream.switch(OTHER)
    });
    stream.message(OWNER);
    let second = stream.message(OWNER);
    let at_once = switcher.join().unwrap();
    let stale = stream.state.lock().unwrap().stale;
    if stale {
        // Then the second message was published before the switch, and the next one has to ask.
        assert!(!at_once);
        assert!(!second || stream.cursor.limit().is_null());
        assert!(stream.message(OWNER), "the switch was forgotten");
        assert!(!stream.state.lock().unwrap().stale);
    }
}

#[test]
fn a_switch_is_in_force_at_once_or_at_the_next_message() {
    model(3, a_switch_in_the_middle_of_messages);
}

#[test]
fn a_switch_a_helper_that_goes_idle_and_an_author_agree() {
    model(2, || {
        let stream = Arc::new(Stream::in_a_burst());
        let helper = thread::spawn({
            let stream = stream.clone();
            move || stream.end_burst()
        });
        let switcher = thread::spawn({
            let stream = stream.clone();
            move || stream.switch(OTHER)
        });
        stream.message(OWNER);
        helper.join().unwrap();
        switcher.join().unwrap();
        let state = stream.state.lock().unwrap();
        assert_eq!(offset(&stream.cursor), 10);
        assert_eq!(stream.cursor.messages(), 1);
        assert!(state.active, "a message was left behind");
        assert!(
            !state.stale || stream.cursor.limit().is_null(),
            "the switch was forgotten"
        );
    });
}

/// A fence is left out where the limit has not been raised since the last one: the second thread to close relies on the
/// fence of the first, but only once that is completed.
fn two_close() {
    let stream = Arc::new(Stream::in_a_burst());
    let helper = thread::spawn({
        let stream = stream.clone();
        move || stream.end_burst()
    });
    let exit = thread::spawn({
        let stream = stream.clone();
        move || {
            let state = stream.state.lock().unwrap();
            stream.cursor.close_at_once();
            let known = offset(&stream.cursor);
            drop(state);
            known
        }
    });
    let asked = stream.message(OWNER);
    helper.join().unwrap();
    assert!(
        asked || exit.join().unwrap() == 10,
        "a message was left behind"
    );
}

#[test]
fn the_second_to_close_knows_of_every_message_whose_author_does_not_ask() {
    model(3, two_close);
}

/// The mutex and the condition of a stream's state.
struct Waited {
    mutex: RawMutex,
    condition: Condition,
    value: UnsafeCell<u32>,
}

impl Waited {
    fn new() -> Self {
        Waited {
            mutex: RawMutex::new(),
            condition: Condition::new(),
            value: UnsafeCell::new(0),
        }
    }

    #[allow(unsafe_code)]
    fn add(&self, number: u32) -> u32 {
        self.value.with_mut(|value| {
            // SAFETY: the checker ends a model at any access that could be concurrent.
            unsafe {
                *value += number;
                *value
            }
        })
    }

    fn locked(&self, number: u32) -> u32 {
        self.mutex.lock();
        let value = self.add(number);
        self.mutex.unlock();
        value
    }

    /// Waits until the value is so large.
    fn wait_for(&self, enough: u32) {
        self.mutex.lock();
        while self.add(0) < enough {
            self.condition.wait(&self.mutex, None);
        }
        self.mutex.unlock();
    }
}

fn three_lock() {
    let waited = Arc::new(Waited::new());
    let others = [(); 2].map(|()| {
        let waited = waited.clone();
        thread::spawn(move || waited.locked(1))
    });
    waited.locked(1);
    waited.locked(1);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(waited.locked(0), 4);
}

#[test]
fn the_mutex_excludes_and_no_thread_is_left_asleep() {
    model(3, three_lock);
}

#[test]
fn a_failed_try_to_lock_disturbs_no_thread() {
    model(3, || {
        let waited = Arc::new(Waited::new());
        let tries = thread::spawn({
            let waited = waited.clone();
            move || {
                let locked = waited.mutex.try_lock();
                if locked {
                    waited.add(1);
                    waited.mutex.unlock();
                }
                u32::from(locked)
            }
        });
        let locks = thread::spawn({
            let waited = waited.clone();
            move || waited.locked(1)
        });
        waited.locked(1);
        let tried = tries.join().unwrap();
        locks.join().unwrap();
        assert_eq!(waited.locked(0), 2 + tried);
    });
}

fn one_waits() {
    let waited = Arc::new(Waited::new());
    let waits = thread::spawn({
        let waited = waited.clone();
        move || waited.wait_for(2)
    });
    for _ in 0..2 {
        waited.locked(1);
        // Put off, as all telling is.
        waited.condition.tell_one();
    }
    waits.join().unwrap();
}

#[test]
fn a_waiter_is_woken_although_it_is_told_when_the_mutex_is_open_again() {
    model(4, one_waits);
}

#[test]
fn all_who_wait_are_woken() {
    model(2, || {
        let waited = Arc::new(Waited::new());
        let others = [(); 2].map(|()| {
            let waited = waited.clone();
            thread::spawn(move || waited.wait_for(1))
        });
        waited.locked(1);
        waited.condition.tell_all();
        for other in others {
            other.join().unwrap();
        }
    });
}

/// Set where a test is to have its fault, and fail: in a process of its own, which a deadlock ends.
const IS_FAULTY: &str = "OUTPACE_MODEL_IS_FAULTY";

/// Runs a model with a fault, which it has to notice.
fn is_noticed(test: &str, fault: &'static str, preemptions: usize, run: fn()) {
    if std::env::var_os(IS_FAULTY).is_some() {
        fault::set(fault);
        return model(preemptions, run);
    }
    let this = std::env::current_exe().unwrap();
    let mut faulty = Command::new(this);
    let output = faulty.args([test, "--exact"]).env(IS_FAULTY, "").output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 1 test"), "{said}");
    assert!(!output.status.success(), "no model notices: {fault}");
}

/// A model each that notices a fault of the protocol.
macro_rules! noticed {
    ($($test:ident $fault:literal $preemptions:literal $model:ident;)*) => {$(
        #[test]
        fn $test() {
            is_noticed(stringify!($test), $fault, $preemptions, $model);
        }
    )*};
}
noticed! {
    an_owner_needs_its_fence "no light fence" 3 one_takes_the_lock_from_its_owner;
    a_taker_needs_its_fence "no heavy fence" 3 one_takes_the_lock_from_its_owner;
    an_owner_by_its_slot_needs_its_fence "no light fence" 3 one_takes_the_lock_from_who_enters_by_his_slot;
    a_draft_needs_its_fence "no light fence" 3 one_comes_during_a_draft;
    a_thread_beside_a_draft_needs_its_fence "no heavy fence" 3 one_comes_during_a_draft;
    an_author_needs_its_fence "no light fence" 4 a_helper_goes_idle_while_a_message_comes;
    a_helper_needs_its_fence "no heavy fence" 4 a_helper_goes_idle_while_a_message_comes;
    a_taker_has_to_look "the taker does not look" 3 one_takes_the_lock_from_its_owner;
    a_taker_looks_by_acquire "the taker's look is relaxed" 3 one_takes_the_lock_from_its_owner;
    an_owner_leaves_by_release "an owner leaves relaxed" 3 one_takes_the_lock_from_its_owner;
    an_owner_has_to_retreat "an owner does not retreat" 3 one_takes_the_lock_from_its_owner;
    each_owner_needs_a_slot "one slot for all" 2 the_bias_moves;
    a_try_that_gives_back_does_not_enter "a try gives the bias back and enters" 3 one_tries;
    a_helper_looks_after_the_fence "a helper looks before the fence" 4 a_helper_goes_idle_while_a_message_comes;
    seen_is_said_after_the_fence "seen is said too early" 3 two_close;
    an_author_publishes_before_it_looks "an author looks at the limit first" 4 a_helper_goes_idle_while_a_message_comes;
    unlocking_wakes "unlocking wakes no thread" 3 three_lock;
    unlocking_releases "unlocking is relaxed" 3 three_lock;
    a_waiter_leaves_word_of_others "a waiter locks as if alone" 3 three_lock;
    a_waiter_looks_before_it_unlocks "a waiter looks too late" 4 one_waits;
    telling_changes_the_number "telling leaves the number alone" 4 one_waits;
}
