//! The ring between a program and `outpace run`, model-checked: every order in which its threads can go, and every value
//! that the memory model allows them to read.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;
use ring::{ASLEEP, AWAKE, CLOSED, Header, Line, NAP, OPEN, Put};

/// What the ring is made of.
#[allow(unreachable_pub)]
mod sync {
    pub const CAPACITY: u64 = 4;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../shim/ring.rs"]
#[allow(dead_code, unreachable_pub)]
mod ring;

/// The memory: the header, and the bytes, which only the ring's order protects.
struct Memory {
    header: Header,
    bytes: [loom::cell::UnsafeCell<u8>; 4],
    /// What is on the terminal.
    terminal: loom::sync::Mutex<Vec<u8>>,
}

impl Memory {
    fn new() -> Arc<Self> {
        let (word, long) = (AtomicU32::new, AtomicU64::new);
        Arc::new(Self {
            header: Header {
                magic: long(ring::MAGIC),
                program: word(1),
                run: word(2),
                device: long(0),
                inode: long(0),
                terminal: long(0),
                reason: word(0),
                state: word(OPEN),
                lock: Line(long(0)),
                head: Line(long(0)),
                tail: Line(long(0)),
                doze: Line(word(AWAKE)),
                waiting: Line(word(0)),
                drained: Line(word(0)),
                writes: Line(long(0)),
            },
            bytes: std::array::from_fn(|_| loom::cell::UnsafeCell::new(0)),
            terminal: loom::sync::Mutex::new(Vec::new()),
        })
    }

    /// Writes through the ring.
    #[allow(unsafe_code)]
    fn put(&self, me: u64, text: &[u8]) -> Put {
        self.header.put(me, text.len() as u64, |at| {
            for (index, byte) in text.iter().enumerate() {
                // SAFETY: loom checks that nobody else uses the byte meanwhile.
                self.bytes[(at as usize + index) % 4].with_mut(|place| unsafe { *place = *byte });
            }
        })
    }

    /// `run`, once: passes on what there is. Returns whether there was anything.
    #[allow(unsafe_code)]
    fn pass_on(&self) -> bool {
        let Some((start, length)) = self.header.pending() else {
            return false;
        };
        let range = start as usize..(start + length) as usize;
        // SAFETY: loom checks that nobody changes the byte meanwhile.
        let text = self.bytes[range]
            .iter()
            .map(|byte| byte.with(|byte| unsafe { *byte }));
        self.terminal.lock().unwrap().extend(text);
        self.header.passed_on(length);
        true
    }

    /// Writes past the ring, after what is in it.
    fn directly(&self, text: &[u8]) {
        while !self.header.is_drained() {
            thread::yield_now();
        }
        self.terminal.lock().unwrap().extend(text);
    }

    fn write(&self, me: u64, text: &[u8]) {
        loop {
            match self.put(me, text) {
                Put::Done { .. } => return,
                Put::Closed | Put::Nested => return self.directly(text),
                Put::Full | Put::Busy => thread::yield_now(),
            }
        }
    }

    /// `run`, until so many bytes have come.
    fn pass_on_all(&self, length: usize) {
        while self.terminal.lock().unwrap().len() < length {
            if !self.pass_on() {
                thread::yield_now();
            }
        }
    }

    fn shown(&self) -> String {
        String::from_utf8(self.terminal.lock().unwrap().clone()).unwrap()
    }
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 50_000;
    builder.check(model);
}

#[test]
fn what_threads_write_comes_whole() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let other = thread::spawn(move || theirs.write(2, b"bb"));
        memory.write(1, b"aa");
        other.join().unwrap();
        memory.pass_on_all(4);
        let shown = memory.shown();
        assert!(["aabb", "bbaa"].contains(&shown.as_str()), "{shown}");
    });
}

#[test]
fn what_does_not_fit_waits_and_wraps() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(6));
        memory.write(1, b"abc");
        memory.write(1, b"def");
        run.join().unwrap();
        assert_eq!(memory.shown(), "abcdef");
    });
}

#[test]
fn who_closes_the_ring_writes_after_what_was_written_before() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(4));
        memory.write(1, b"aa");
        let theirs = Arc::clone(&memory);
        // A child, say: the ring is closed before it is there.
        memory.header.close(CLOSED, ring::BY_CHILD);
        let child = thread::spawn(move || theirs.directly(b"b"));
        child.join().unwrap();
        memory.write(1, b"c");
        run.join().unwrap();
        assert_eq!(memory.shown(), "aabc");
    });
}

#[test]
fn a_thread_that_was_writing_while_the_ring_was_closed_keeps_its_order() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(3));
        let theirs = Arc::clone(&memory);
        let other = thread::spawn(move || {
            theirs.write(2, b"a");
            theirs.write(2, b"b");
        });
        memory.header.close(CLOSED, ring::BY_CHILD);
        memory.write(1, b"c");
        other.join().unwrap();
        run.join().unwrap();
        let shown = memory.shown();
        assert!(
            shown.find('a') < shown.find('b') && shown.len() == 3,
            "{shown}"
        );
    });
}

#[test]
fn a_signal_handler_s_write_comes_before_the_one_that_it_interrupts() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(4));
        memory.write(1, b"a");
        let inner = Arc::clone(&memory);
        let put = memory.header.put(1, 0, move |_| {
            // In the middle of the copy.
            assert_eq!(inner.put(1, b"b"), Put::Nested);
            inner.directly(b"b");
        });
        assert!(matches!(put, Put::Done { .. }));
        memory.write(1, b"cc");
        run.join().unwrap();
        assert_eq!(memory.shown(), "abcc");
    });
}

#[test]
fn run_never_sleeps_while_there_is_something_to_pass_on() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || {
            let asleep = theirs.header.lie_down(ASLEEP);
            // Asleep, it is woken by a flag, as by the futex.
            asleep && theirs.header.pending().is_none()
        });
        let put = memory.put(1, b"a");
        let wakes = put == Put::Done { wake: true };
        let sleeps = run.join().unwrap();
        let is_asleep = memory.header.doze.0.load(sync::Ordering::SeqCst) == ASLEEP;
        // Whoever published, and found it awake, is seen by it before it sleeps.
        assert!(!sleeps || wakes || !is_asleep || memory.header.pending().is_none());
        if is_asleep {
            assert!(wakes, "it sleeps, and nobody wakes it");
        }
    });
}

#[test]
fn one_that_waits_for_run_is_seen_before_a_nap() {
    check(|| {
        let memory = Memory::new();
        memory.write(1, b"a");
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.header.lie_down(NAP));
        memory.header.begin_to_wait();
        let roused = memory.header.rouse();
        let naps = run.join().unwrap();
        assert!(!naps || roused, "it naps, and who waits does not know");
    });
}
