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
#[path = "../../src/stream/cursor.rs"]
mod cursor;
#[allow(dead_code, unused_imports)]
#[path = "../../src/sync/mod.rs"]
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

mod lock;
mod mutex;
mod stream;

use std::process::Command;
use sync::fault;
use sync::thread::ThreadId;

const OWNER: ThreadId = 1;
const OTHER: ThreadId = 2;
const THIRD: ThreadId = 3;

/// Checks all orders with at most so many switches of threads that the program did not ask for.
fn model(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
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
    ($($test:ident $fault:literal $preemptions:literal $model:path;)*) => {$(
        #[test]
        fn $test() {
            is_noticed(stringify!($test), $fault, $preemptions, $model);
        }
    )*};
}
noticed! {
    an_owner_needs_its_fence "no light fence" 3 lock::one_takes_the_lock_from_its_owner;
    a_taker_needs_its_fence "no heavy fence" 3 lock::one_takes_the_lock_from_its_owner;
    an_owner_by_its_slot_needs_its_fence "no light fence" 3 lock::one_takes_the_lock_from_an_owner_by_its_slot;
    a_draft_needs_its_fence "no light fence" 3 lock::one_comes_during_a_draft;
    a_thread_beside_a_draft_needs_its_fence "no heavy fence" 3 lock::one_comes_during_a_draft;
    an_author_needs_its_fence "no light fence" 4 stream::a_helper_goes_idle_while_a_message_comes;
    a_helper_needs_its_fence "no heavy fence" 4 stream::a_helper_goes_idle_while_a_message_comes;
    a_taker_has_to_look "the taker does not look" 3 lock::one_takes_the_lock_from_its_owner;
    a_taker_looks_by_acquire "the taker's look is relaxed" 3 lock::one_takes_the_lock_from_its_owner;
    an_owner_leaves_by_release "an owner leaves relaxed" 3 lock::one_takes_the_lock_from_its_owner;
    an_owner_has_to_retreat "an owner does not retreat" 3 lock::one_takes_the_lock_from_its_owner;
    each_owner_needs_a_slot "one slot for all" 2 lock::the_bias_moves;
    a_try_that_gives_back_does_not_enter "a try gives the bias back and enters" 3 lock::one_tries;
    a_helper_looks_after_the_fence "a helper looks before the fence" 4 stream::a_helper_goes_idle_while_a_message_comes;
    seen_is_said_after_the_fence "seen is said too early" 3 stream::two_close;
    an_author_publishes_before_it_looks "an author looks at the limit first" 4 stream::a_helper_goes_idle_while_a_message_comes;
    unlocking_wakes "unlocking wakes no thread" 3 mutex::three_lock;
    unlocking_releases "unlocking is relaxed" 3 mutex::three_lock;
    a_waiter_leaves_word_of_others "a waiter locks as if alone" 3 mutex::three_lock;
    a_waiter_looks_before_it_unlocks "a waiter looks too late" 4 mutex::one_waits;
    notifying_changes_the_number "notifying leaves the number alone" 4 mutex::one_waits;
}
