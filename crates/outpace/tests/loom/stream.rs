//! The cursor: authors, the helper and switches of policy.

use crate::cursor::SharedCursor;
use crate::lock::Guarded;
use crate::sync::thread::ThreadId;
use crate::sync::unless;
use crate::{OTHER, OWNER, model};
use loom::sync::{Arc, Mutex};
use loom::thread;

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

pub(crate) fn a_helper_goes_idle_while_a_message_comes() {
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
pub(crate) fn two_close() {
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
