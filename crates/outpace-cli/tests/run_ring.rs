//! The ring between a program and `outpace run`, model-checked: every order in which its threads can go, and every value
//! that the memory model allows them to read, with two switches between threads where none has to wait.
//!
//! ```text
//! OUTPACE_PREEMPTIONS=3 cargo test -p outpace-cli --test run_ring
//! ```
//!
//! looks further, for half a minute a test at most.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;
use ring::{ASLEEP, AWAKE, Author, CacheLine, Head, Header, MEMBER, Member, NAP, OPEN, Put};

/// The atomics and the capacity of the ring.
#[allow(unreachable_pub)]
mod sync {
    pub const CAPACITY: u64 = 4;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    pub(crate) fn fence_after_change() {
        fence(Ordering::SeqCst);
    }
}
#[path = "../shim/ring.rs"]
#[allow(dead_code, unreachable_pub)]
mod ring;

#[path = "../shim/known.rs"]
#[allow(dead_code, unreachable_pub)]
mod known;

/// The memory: the header, and bytes that only the ring's protocol protects.
struct Memory {
    header: Header,
    bytes: [loom::cell::UnsafeCell<u8>; 4],
    /// The bytes on the terminal.
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
                leader: word(2),
                device: long(0),
                inode: long(0),
                terminal: long(0),
                ring: long(0),
                library: long(0),
                namespace: long(0),
                capabilities: long(0),
                reason: word(0),
                wanted: word(0),
                unseen: word(0),
                codes: word(0),
                starting: word(0),
                places: word(0),
                decision: word(ring::UNDECIDED),
                at_once: word(0),
                state: long(OPEN),
                lock: CacheLine(long(0)),
                head: Head(
                    long(0),
                    Author {
                        member: long(0),
                        from: long(0),
                    },
                ),
                tail: CacheLine(long(0)),
                taken: CacheLine(long(0)),
                doze: CacheLine(word(AWAKE)),
                waiting: CacheLine(word(0)),
                drained: CacheLine(word(0)),
            },
            bytes: std::array::from_fn(|_| loom::cell::UnsafeCell::new(0)),
            terminal: loom::sync::Mutex::new(Vec::new()),
        })
    }

    /// Writes through the ring.
    #[allow(unsafe_code)]
    fn put(&self, me: u64, text: &[u8]) -> Put {
        let copy = |at| {
            for (index, byte) in text.iter().enumerate() {
                // SAFETY: loom checks that no other thread uses the byte meanwhile.
                self.bytes[(at as usize + index) % 4].with_mut(|place| unsafe { *place = *byte });
            }
        };
        self.header.put(me, text.len() as u64, copy, || ())
    }

    /// `run`, once: passes on the published bytes. Returns whether there were any.
    #[allow(unsafe_code)]
    fn pass_on(&self) -> bool {
        let Some((start, length)) = self.header.take(ring::CAPACITY) else {
            return false;
        };
        let range = start as usize..(start + length) as usize;
        // SAFETY: loom checks that no thread changes the byte meanwhile.
        let text = self.bytes[range]
            .iter()
            .map(|byte| byte.with(|byte| unsafe { *byte }));
        self.terminal.lock().unwrap().extend(text);
        self.header.passed_on(length);
        true
    }

    /// Writes directly, after the bytes in the ring.
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
    let preemptions = std::env::var("OUTPACE_PREEMPTIONS").ok();
    builder.max_duration = preemptions
        .as_ref()
        .map(|_| std::time::Duration::from_secs(30));
    builder.preemption_bound = Some(preemptions.map_or(2, |text| text.parse().unwrap()));
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
        // Stands for a child: the ring is closed before it exists.
        memory.header.close(ring::BY_EXEC);
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
        let other = thread::spawn(move || {
            theirs.write(2, b"a");
            theirs.write(2, b"b");
        });
        memory.header.close(ring::BY_EXEC);
        assert_eq!(memory.put(1, b"c"), Put::Closed);
        // This thread also plays `run`: a third one would take minutes.
        while !memory.header.is_drained() {
            memory.pass_on();
        }
        memory.terminal.lock().unwrap().push(b'c');
        memory.pass_on_all(3);
        other.join().unwrap();
        let shown = memory.shown();
        assert!(
            shown.find('a') < shown.find('b') && shown.len() == 3,
            "{shown}"
        );
    });
}

#[test]
fn a_program_that_knows_of_a_write_comes_after_it_though_closing_waited_for_no_writer() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(2));
        let returned = Arc::new(AtomicU32::new(0));
        let (theirs, tells) = (Arc::clone(&memory), Arc::clone(&returned));
        let writer = thread::spawn(move || {
            theirs.write(2, b"a");
            tells.store(1, sync::Ordering::SeqCst);
        });
        memory.header.close(ring::BY_EXEC);
        while !memory.header.is_drained() {
            thread::yield_now();
        }
        // Another program now, which does not wait for the ring.
        let knows = returned.load(sync::Ordering::SeqCst) == 1;
        memory.terminal.lock().unwrap().push(b'b');
        writer.join().unwrap();
        run.join().unwrap();
        let shown = memory.shown();
        assert!(["ab", "ba"].contains(&shown.as_str()), "{shown}");
        assert!(!knows || shown == "ab", "{shown}");
    });
}

#[test]
fn what_run_has_not_taken_is_delivered_by_another_when_it_was_killed() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        // Killed after it has taken the bytes, before it marks them as passed on.
        let run = thread::spawn(move || theirs.header.take(ring::CAPACITY));
        let theirs = Arc::clone(&memory);
        let writer = thread::spawn(move || {
            theirs.put(2, b"ab") == Put::Done { wake: false } && theirs.put(2, b"c") != Put::Closed
        });
        let taken = run.join().unwrap().map_or(0, |(_, length)| length);
        memory.header.die();
        let mut left = 0;
        while let Some((start, length)) = memory.header.rest() {
            assert_eq!(start, taken + left);
            left += length;
        }
        let are_written = writer.join().unwrap();
        assert!(!are_written || taken + left == 3, "{taken} and {left}");
        assert!([0, 2, 3].contains(&(taken + left)));
    });
}

/// A process of the family, and the terminal's only other user: a program without the shim.
struct Family {
    memory: Arc<Memory>,
    member: Member,
    /// The other program runs.
    stranger: AtomicU32,
}

impl Family {
    fn new() -> Arc<Self> {
        let (word, long) = (AtomicU32::new, AtomicU64::new);
        Arc::new(Self {
            memory: Memory::new(),
            member: Member {
                standing: word(MEMBER),
                process: word(1),
                registered: long(1),
                away: word(0),
                fitness: word(ring::FIT),
                bytes: long(0),
                name: [long(0), long(0)],
                reason: word(0),
                code: long(0),
                plain: long(0),
                library: long(0),
                loader: long(0),
            },
            stranger: word(0),
        })
    }

    /// `run`, asked for the ring: opens it if all processes are members.
    fn open(&self) -> bool {
        let Some(seen) = self.memory.header.closed() else {
            return false;
        };
        // In this order, as in `Processes::are_members`: a member that has come back had started the other before.
        let is_back = self.member.is(1, 1);
        let is_alone = self.stranger.load(sync::Ordering::SeqCst) == 0;
        is_back && is_alone && self.memory.header.open(seen)
    }

    /// The member starts the other program, as `go_away` and `come_back` do in the shim.
    fn start(&self) {
        self.member.away.fetch_add(1, sync::Ordering::SeqCst);
        self.memory.header.close(ring::BY_EXEC);
        while !self.memory.header.is_drained() {
            thread::yield_now();
        }
        self.stranger.store(1, sync::Ordering::SeqCst);
        self.member.away.fetch_sub(1, sync::Ordering::SeqCst);
    }
}

#[test]
fn the_ring_is_never_open_while_a_program_without_the_shim_runs() {
    check(|| {
        let family = Family::new();
        // Another program was started before, and has ended.
        family.memory.header.close(ring::BY_EXEC);
        let theirs = Arc::clone(&family);
        let run = thread::spawn(move || {
            theirs.open();
            theirs.open();
        });
        family.start();
        assert!(!family.memory.header.is_open(), "open while it runs");
        family.stranger.store(0, sync::Ordering::SeqCst);
        run.join().unwrap();
        assert!(family.memory.header.is_open() || family.open());
    });
}

#[test]
fn what_a_member_writes_comes_before_what_the_program_that_it_starts_writes() {
    check(|| {
        let family = Family::new();
        let theirs = Arc::clone(&family);
        let run = thread::spawn(move || {
            theirs.memory.pass_on_all(2);
            theirs.open();
        });
        family.memory.write(1, b"a");
        family.start();
        // The other program does not wait for the ring.
        family.memory.terminal.lock().unwrap().push(b'b');
        family.stranger.store(0, sync::Ordering::SeqCst);
        run.join().unwrap();
        assert_eq!(family.memory.shown(), "ab");
    });
}

#[test]
fn two_processes_share_the_ring_in_the_order_that_they_know() {
    check(|| {
        let memory = Memory::new();
        let (first, second) = (ring::holder(1, 64), ring::holder(2, 64));
        assert_ne!(first, second);
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.pass_on_all(3));
        memory.write(first, b"a");
        let theirs = Arc::clone(&memory);
        let child = thread::spawn(move || theirs.write(second, b"b"));
        child.join().unwrap();
        memory.write(first, b"c");
        run.join().unwrap();
        assert_eq!(memory.shown(), "abc");
    });
}

#[test]
fn the_lock_of_a_dead_process_is_taken_over_and_its_half_write_is_nothing() {
    check(|| {
        let memory = Memory::new();
        let dead = ring::holder(7, 64);
        assert_eq!(ring::process_of(dead), 7);
        // The holder was killed in the middle of its copy.
        memory.header.lock.0.store(dead, sync::Ordering::SeqCst);
        let write = |memory: Arc<Memory>, me: u64, text: &'static [u8]| {
            move || loop {
                match memory.put(me, text) {
                    Put::Done { .. } => return,
                    Put::Busy => {
                        let holder = memory.header.lock.0.load(sync::Ordering::Acquire);
                        if ring::process_of(holder) == 7 {
                            memory.header.take_over(holder);
                        }
                        thread::yield_now();
                    }
                    put => panic!("{put:?}"),
                }
            }
        };
        let other = thread::spawn(write(Arc::clone(&memory), ring::holder(1, 64), b"a"));
        write(Arc::clone(&memory), ring::holder(2, 64), b"b")();
        other.join().unwrap();
        memory.pass_on_all(2);
        let shown = memory.shown();
        assert!(["ab", "ba"].contains(&shown.as_str()), "{shown}");
    });
}

#[test]
fn a_request_for_the_ring_is_seen_before_run_sleeps() {
    check(|| {
        let memory = Memory::new();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.header.lie_down(ASLEEP));
        memory.header.ask();
        let roused = memory.header.rouse();
        let sleeps = run.join().unwrap();
        assert!(
            !sleeps || roused,
            "it sleeps, and the asking thread does not wake it"
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
        let interrupt = move |_| {
            // In the middle of the copy.
            assert_eq!(inner.put(1, b"b"), Put::Nested);
            inner.directly(b"b");
        };
        let put = memory.header.put(1, 0, interrupt, || ());
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
            // This wakes it as the futex would.
            asleep && theirs.header.is_drained()
        });
        let put = memory.put(1, b"a");
        let wakes = put == Put::Done { wake: true };
        let sleeps = run.join().unwrap();
        let is_asleep = memory.header.doze.0.load(sync::Ordering::SeqCst) == ASLEEP;
        // A thread that published, and found `run` awake, is seen by it before it sleeps.
        assert!(!sleeps || wakes || !is_asleep || memory.header.is_drained());
        if is_asleep {
            assert!(wakes, "it sleeps, and no thread wakes it");
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
        memory.header.about_to_wait();
        let roused = memory.header.rouse();
        let naps = run.join().unwrap();
        assert!(
            !naps || roused,
            "it naps, and the waiting thread does not wake it"
        );
    });
}

/// A sleep that began before a wake-up ends by it, for each of two threads that wait for one byte each.
#[test]
fn each_one_that_waits_for_run_is_woken() {
    check(|| {
        let memory = Memory::new();
        memory.write(1, b"ab");
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || {
            let mut wakes = Vec::new();
            for _ in 0..2 {
                theirs.header.take(1).unwrap();
                wakes.push(theirs.header.passed_on(1));
            }
            wakes
        });
        let waits_for = |tail: u64| {
            let header = &memory.header;
            let drained = header.about_to_wait();
            let holds = header.tail.0.load(sync::Ordering::Acquire) >= tail;
            (!holds).then_some(drained)
        };
        let first = waits_for(1);
        let second = waits_for(2);
        run.join().unwrap();
        let now = memory.header.drained.0.load(sync::Ordering::SeqCst);
        for asleep_at in [first, second].into_iter().flatten() {
            assert_ne!(asleep_at, now, "it sleeps, and `run` does not wake it");
        }
    });
}

#[test]
fn a_thread_that_was_killed_while_it_waited_costs_one_wake_up() {
    check(|| {
        let memory = Memory::new();
        memory.header.about_to_wait();
        memory.write(1, b"ab");
        let wakes = [1, 1].map(|length| {
            memory.header.take(length).unwrap();
            memory.header.passed_on(length)
        });
        assert_eq!(wakes, [true, false]);
    });
}

/// `run` opens the ring for the program's first bytes, unless the program has closed it to start another one.
#[test]
fn a_ring_that_was_closed_before_it_was_opened_stays_closed() {
    check(|| {
        let memory = Memory::new();
        memory
            .header
            .state
            .store(ring::WAITING, sync::Ordering::SeqCst);
        memory.header.begin();
        let theirs = Arc::clone(&memory);
        let run = thread::spawn(move || theirs.header.open_first());
        memory.header.close(ring::BY_EXEC);
        run.join().unwrap();
        assert_eq!(memory.put(1, b"a"), Put::Closed);
        memory.header.open_first();
        assert_eq!(memory.put(1, b"a"), Put::Closed);
    });
}

/// After the end of `run` the reason still tells whether a program had come.
#[test]
fn a_ring_to_which_no_program_came_is_told_from_one_that_was_used() {
    check(|| {
        for (state, reason) in [(ring::WAITING, ring::NEVER_USED), (OPEN, 0)] {
            let header = &Memory::new().header;
            header.state.store(state, sync::Ordering::SeqCst);
            header.die();
            header.die();
            assert_eq!(header.reason.load(sync::Ordering::SeqCst), reason);
        }
    });
}

/// Where a descriptor leads: to the ring's terminal, elsewhere, or nowhere, as it is closed.
const HERE: u32 = 1;
const ELSEWHERE: u32 = 2;
const NOWHERE: u32 = 3;

/// A process's answers about a descriptor, and where that leads.
struct Descriptor {
    own: known::CallCounter,
    all: known::CallCounter,
    here: known::Known,
    elsewhere: known::Known,
    leads: AtomicU32,
}

impl Descriptor {
    fn new(leads: u32) -> Arc<Self> {
        let long = AtomicU64::new;
        let nothing_known = || known::Known {
            since: long(known::Known::NEVER),
            taken: long(0),
        };
        Arc::new(Self {
            own: known::CallCounter(long(0)),
            all: known::CallCounter(long(0)),
            here: nothing_known(),
            elsewhere: nothing_known(),
            leads: AtomicU32::new(leads),
        })
    }

    /// As `destination` in the shim.
    fn destination(&self) -> u32 {
        let count = self.own.count(&self.all);
        if self.here.is_sure(count, 0) {
            return HERE;
        }
        if self.elsewhere.is_sure(count, 0) {
            return ELSEWHERE;
        }
        let leads = self.leads.load(sync::Ordering::SeqCst);
        match leads {
            HERE => self.here.note(count, true, 0),
            ELSEWHERE => self.elsewhere.note(count, true, 0),
            _ => {}
        }
        leads
    }

    /// A call that is seen.
    fn change(&self, calls: &known::CallCounter, leads: u32) {
        calls.begin();
        self.leads.store(leads, sync::Ordering::SeqCst);
        calls.end();
    }

    /// `open`, which is not seen.
    fn open(&self) {
        self.leads.store(HERE, sync::Ordering::SeqCst);
    }
}

/// In every order of two threads' writes and a change.
#[test]
fn a_write_that_begins_after_a_change_goes_where_the_descriptor_leads_then() {
    for changes_all in [false, true] {
        check(move || {
            let descriptor = Descriptor::new(HERE);
            let returned = Arc::new(AtomicU32::new(0));
            let (theirs, tells) = (Arc::clone(&descriptor), Arc::clone(&returned));
            let changer = thread::spawn(move || {
                let calls = if changes_all {
                    &theirs.all
                } else {
                    &theirs.own
                };
                theirs.change(calls, ELSEWHERE);
                tells.store(1, sync::Ordering::Release);
            });
            let theirs = Arc::clone(&descriptor);
            let writer = thread::spawn(move || theirs.destination());
            let has_returned = returned.load(sync::Ordering::Acquire) == 1;
            assert!(!(descriptor.destination() == HERE && has_returned));
            writer.join().unwrap();
            changer.join().unwrap();
            assert_eq!(descriptor.destination(), ELSEWHERE);
        });
    }
}

/// The same for a number that led elsewhere, is closed, and is given to the terminal by `open`.
#[test]
fn a_write_that_begins_after_an_open_goes_to_the_terminal() {
    check(|| {
        let descriptor = Descriptor::new(ELSEWHERE);
        let returned = Arc::new(AtomicU32::new(0));
        let (theirs, tells) = (Arc::clone(&descriptor), Arc::clone(&returned));
        let changer = thread::spawn(move || {
            theirs.change(&theirs.own, NOWHERE);
            theirs.open();
            tells.store(1, sync::Ordering::Release);
        });
        let theirs = Arc::clone(&descriptor);
        let writer = thread::spawn(move || theirs.destination());
        let has_returned = returned.load(sync::Ordering::Acquire) == 1;
        assert!(!(descriptor.destination() != HERE && has_returned));
        writer.join().unwrap();
        changer.join().unwrap();
        assert_eq!(descriptor.destination(), HERE);
    });
}
