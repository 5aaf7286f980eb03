// The ring between a program and `outpace run`: its memory, and the protocol of both sides.
//
// The shim (`shim.rs`), `run` and the model checker compile this same file; each brings its atomics and its capacity as
// `sync`. This file makes no system call: it tells its caller when to wait or to wake.
//
// Where `run` gives the program a pipe and no terminal, that pipe is the ring's "terminal" in all that follows.
//
// The memory belongs to `run`. A family of processes writes, with any number of threads: the program, and those of its
// children that have the shim. `run` reads, and passes on to the terminal what it reads.
//
//     write:   lock := me; if state = OPEN and there is room: copy; head += n, if head is still what it was; lock := 0;
//              if run sleeps: wake it. If head was something else: direct
//     run:     while tail < head (acquire): taken := tail + n; write to the terminal; tail += written (release);
//              wake the waiting threads
//     direct:  if tail < head: wait until tail = head; then the kernel's own write
//     close:   away += 1; state := CLOSED, generation + 1; head := head | REVOKED; wait until tail = head
//     begin:   (`run`) state := OPEN, if it is READY: the program has come, and no process was about to start another
//     open:    (`run`) seen := state; no member is away; and, looked at after that, each process that has the terminal
//              is a member; the lock is free; state := OPEN, if it is still `seen`
//
// Why it is correct:
// - A byte is published after it has been copied, by the change of `head`. A writer that dies before that publishes none.
// - No write is published in a closed ring: one that has begun finds `head` revoked, and goes to the terminal, after
//   what is in the ring. So closing waits for no writer, however long that is preempted or stopped in its copy. Without it
//   such a write would return before its bytes are on the terminal, and a process that is no member could overtake it.
//   REVOKED means the holder of the lock; the next one takes it off. The ring is opened when the lock is free, so the
//   bytes that a late holder still copies are not used.
// - A member that writes past the ring first waits until all that was published is on the terminal. So a write in the
//   ring comes before each write that a member began after it had returned, and after each that had returned before it.
// - A process that is no member does not wait. So the ring is closed, and empty, before there can be one (before exec),
//   and `run` opens it only when it has found none. A member that is about to become one, or to start one, says so
//   (`away`) before it closes the ring: `run` sees that, or its opening fails because the generation is another.
// - The lock names its holder. When that process is dead, its unpublished bytes are discarded, and the lock is taken
//   over. A holder that never lets go (it left a signal handler by `longjmp`) makes the others close the ring and
//   write past it.
// - `taken` is what `run` has begun to pass on. When `run` is killed, the leader of the session delivers what lies behind
//   it: at most once, as it is not known what has become of the rest.

use super::sync::{AtomicU32, AtomicU64, Ordering, fence, fence_after_change};

/// Marks the memory as a ring of this version.
pub const MAGIC: u64 = 0x6f75_7470_6163_6504;

/// Bytes of the ring; a power of two. The model checker's is smaller.
pub use super::sync::CAPACITY;

/// The longest write that goes through the ring. For longer ones the kernel's cost a byte is small.
pub const LONGEST: usize = 16 << 10;

/// The last byte of `state`: no process has come yet, writes go through the ring, writes go to the terminal, `run` has
/// ended, and a process has come for which `run` will open the ring when it reads the first bytes. The bytes above it count how
/// often the ring was closed.
pub const WAITING: u64 = 0;
pub const OPEN: u64 = 1;
pub const CLOSED: u64 = 2;
pub const DEAD: u64 = 3;
pub const READY: u64 = 4;
const STATE: u64 = 0xff;
const GENERATION: u64 = 0x100;

/// In `head`: the holder of the lock must not publish. The other bits count bytes and never reach this one.
const REVOKED: u64 = 1 << 63;

/// The number of a terminal that is a pipe: no device has it.
pub const NO_TERMINAL: u64 = 0;

/// `doze`: `run` looks now, looks again within milliseconds, or has to be woken.
pub const AWAKE: u32 = 0;
pub const NAP: u32 = 1;
pub const ASLEEP: u32 = 2;

/// Why the ring was closed, or does not serve a program.
pub const BY_EXEC: u32 = 1;
pub const BY_LOCK: u32 = 2;
pub const BY_BYPASS: u32 = 3;
pub const BY_TERMINAL: u32 = 4;
/// The program has ended: not reported.
pub const BY_END: u32 = 0;
pub const NO_TEXT: u32 = 6;
pub const NO_LIBRARY: u32 = 7;
pub const OTHER_PROGRAM: u32 = 8;
pub const NO_PLACE: u32 = 9;
/// No process has come.
pub const NEVER_USED: u32 = 10;

pub const UNDECIDED: u32 = 0;
pub const GIVEN: u32 = 1;
pub const WITHHELD: u32 = 2;
pub const NOT_STARTED: u32 = 3;

/// The start of the shared memory; the bytes follow at [`DATA`].
#[repr(C)]
pub struct Header {
    pub magic: AtomicU64,
    /// The process that opens the ring: the program started by `run`.
    pub program: AtomicU32,
    /// The process of `run`.
    pub run: AtomicU32,
    /// The leader of the session, which ends the use of the ring when `run` was killed; with a pipe there is none, and it is `run`.
    pub leader: AtomicU32,
    /// The device, inode and number of the terminal (fstat(2)); of a pipe, the first two, and [`NO_TERMINAL`].
    pub device: AtomicU64,
    pub inode: AtomicU64,
    pub terminal: AtomicU64,
    /// The inodes of the ring's file, of the shared object's, and of the PID namespace.
    pub ring: AtomicU64,
    pub library: AtomicU64,
    pub namespace: AtomicU64,
    /// What `run` is permitted (capabilities(7)): a process that is permitted less cannot open its files.
    pub capabilities: AtomicU64,
    pub reason: AtomicU32,
    /// A member writes past the closed ring again and again.
    pub wanted: AtomicU32,
    /// A member asks for a look at its code.
    pub unseen: AtomicU32,
    /// Counts the programs that have numbered the versions of their code.
    pub codes: AtomicU32,
    /// Counts the programs that are being started with the shim and have not opened its files yet.
    pub starting: AtomicU32,
    /// Counts the members' places that were ever taken.
    pub places: AtomicU32,
    /// Whether the program is given the shim: [`UNDECIDED`], while it is being started, and then [`GIVEN`], [`WITHHELD`], or
    /// [`NOT_STARTED`].
    pub decision: AtomicU32,
    /// Not 0: the program's first write goes through the ring, however long the search for the C library's calls takes.
    pub at_once: AtomicU32,
    pub state: AtomicU64,
    // Writers change `lock` and `head`; `run` changes the fields behind them.
    pub lock: CacheLine<AtomicU64>,
    pub head: Head,
    pub tail: CacheLine<AtomicU64>,
    pub taken: CacheLine<AtomicU64>,
    pub doze: CacheLine<AtomicU32>,
    /// Not 0: threads wait for `run`, or did so and were killed. `run` changes `drained` to wake them.
    pub waiting: CacheLine<AtomicU32>,
    pub drained: CacheLine<AtomicU32>,
}

/// A registered process of the family.
#[repr(C, align(64))]
pub struct Member {
    /// [`FREE`], [`CLAIMED`] or [`MEMBER`].
    pub standing: AtomicU32,
    pub process: AtomicU32,
    /// When it registered itself, in nanoseconds since the system was started.
    pub registered: AtomicU64,
    /// Counts its threads that are about to start, or to become, another program.
    pub away: AtomicU32,
    /// The result of `run`'s look at its program: [`UNSEEN`], [`FIT`] or [`UNFIT`].
    pub fitness: AtomicU32,
    /// Bytes written through the ring, without those that are not [summed](Head) yet.
    pub bytes: AtomicU64,
    pub name: [AtomicU64; 2],
    /// Why it has given the ring up.
    pub reason: AtomicU32,
    /// `code`: the version of its mapped code at which `run` is asked to look. `plain`: the last version that makes system
    /// calls through the C library only, as `run` has found.
    pub code: AtomicU64,
    pub plain: AtomicU64,
    /// An address in its C library, and one in its loader.
    pub library: AtomicU64,
    pub loader: AtomicU64,
}

pub const FREE: u32 = 0;
pub const CLAIMED: u32 = 1;
pub const MEMBER: u32 = 2;

pub const UNSEEN: u32 = 0;
pub const FIT: u32 = 1;
pub const UNFIT: u32 = 2;

impl Member {
    /// Whether this process has the shim, and is not about to become another program. `start` is when the process was started,
    /// rounded down to a hundredth of a second. Its number was another process's before, if that has registered itself
    /// earlier: numbers are reused after thousands of processes, which take longer to start.
    pub fn is(&self, process: u32, start: u64) -> bool {
        self.standing.load(Ordering::Acquire) == MEMBER
            && self.process.load(Ordering::Relaxed) == process
            && self.registered.load(Ordering::Relaxed) >= start
            && self.away.load(Ordering::SeqCst) == 0
    }
}

/// The places of the C library's calls that the shim redirects. The first process finds them for all others with the same
/// library.
#[repr(C)]
pub struct CallSites {
    pub standing: AtomicU32,
    pub count: AtomicU32,
    /// The library's build ID, and the length and place of its code.
    pub key: [AtomicU64; 4],
    /// Each place, from the start of the code, with the function that is called there.
    pub list: [AtomicU64; MOST_CALLS],
}

pub const MOST_CALLS: usize = 2000;

/// When programs were given the shim, by the number of the program's file: how often they were lately, as a time.
pub type Starts = [AtomicU64; 128];

/// A cache line of its own.
#[repr(C, align(64))]
pub struct CacheLine<T>(pub T);

/// Counts published bytes, and names the author of the last of them: the member's number, from 1 on, and where its bytes
/// begin. They are summed when another member writes, so a single writer changes no other memory.
#[repr(C, align(64))]
pub struct Head(pub AtomicU64, pub Author);

#[repr(C)]
pub struct Author {
    pub member: AtomicU64,
    pub from: AtomicU64,
}

/// The offset of the members.
pub const MEMBERS: usize = 4096;
pub const MOST_MEMBERS: usize = 256;
/// The offset of the calls.
pub const CALLS: usize = MEMBERS + MOST_MEMBERS * size_of::<Member>();
/// The offset of the starts.
pub const STARTS: usize = (CALLS + size_of::<CallSites>()).next_multiple_of(64);
/// The offset of the bytes.
pub const DATA: usize = 64 << 10;
/// The size of the shared memory.
pub const SIZE: usize = DATA + CAPACITY as usize;

const _: () = assert!(CAPACITY.is_power_of_two());
const _: () = assert!(CAPACITY < 1 << 20 || size_of::<Header>() <= MEMBERS);
const _: () = assert!(CAPACITY < 1 << 20 || STARTS + size_of::<Starts>() <= DATA);

/// The lock's holder: a process, and the address of the thread's own memory.
pub fn holder(process: u32, thread: u64) -> u64 {
    u64::from(process) << THREAD_BITS | (thread >> 6 & ((1 << THREAD_BITS) - 1))
}

/// The process of the lock's holder.
pub fn process_of(holder: u64) -> u32 {
    (holder >> THREAD_BITS) as u32
}

/// Addresses have at most 48 bits, process numbers 22; the memory of two threads lies more than 64 bytes apart.
const THREAD_BITS: u32 = 42;

/// The result of an attempt to write through the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// The bytes are in the ring; `wake`: `run` has to be woken.
    Done { wake: bool },
    /// There is no room at the moment.
    Full,
    /// Another thread writes.
    Busy,
    /// A signal handler has interrupted a write of the same thread.
    Nested,
    /// Writes go to the terminal.
    Closed,
}

impl Header {
    /// Writes `length` bytes through the ring. `me` is not 0, and unique to the thread; `copy` gets the place of the
    /// first byte in the ring, and wraps; `done` is called with the lock held, after the bytes were published.
    pub fn put(&self, me: u64, length: u64, copy: impl FnOnce(u64), done: impl FnOnce()) -> Put {
        if !self.is_open() {
            return Put::Closed;
        }
        let lock = &self.lock.0;
        let holder = lock.load(Ordering::Relaxed);
        if holder != 0 && holder != me {
            // A load leaves the cache line with the holder; an exchange would take it away.
            return Put::Busy;
        }
        match lock.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {}
            Err(holder) if holder == me => return Put::Nested,
            Err(_) => return Put::Busy,
        }
        let mut head = self.head.0.load(Ordering::Relaxed);
        if head & REVOKED != 0 {
            // An earlier holder was revoked, or the ring is closed: `is_open` below tells.
            head = self.head.0.fetch_and(!REVOKED, Ordering::SeqCst) & !REVOKED;
        }
        let result = if !self.is_open() {
            Put::Closed
        } else if length > CAPACITY - (head - self.tail.0.load(Ordering::Acquire)) {
            Put::Full
        } else {
            copy(head % CAPACITY);
            let (next, order) = (head + length, Ordering::SeqCst);
            let published = self
                .head
                .0
                .compare_exchange(head, next, order, Ordering::Relaxed);
            if published.is_ok() {
                done();
                Put::Done { wake: false }
            } else {
                Put::Closed
            }
        };
        lock.store(0, Ordering::Release);
        if matches!(result, Put::Done { .. }) {
            // Either `run`'s last look before it sleeps sees the bytes, or this load sees that `run` sleeps.
            fence_after_change();
            let wake = self.doze.0.load(Ordering::Relaxed) == ASLEEP;
            return Put::Done { wake };
        }
        result
    }

    /// Whether the ring serves a pipe.
    pub fn is_pipe(&self) -> bool {
        self.terminal.load(Ordering::Relaxed) == NO_TERMINAL
    }

    /// The count of published bytes.
    pub fn published(&self) -> u64 {
        self.head.0.load(Ordering::Acquire) & !REVOKED
    }

    /// Whether all published bytes are on the terminal.
    pub fn is_drained(&self) -> bool {
        self.published() == self.tail.0.load(Ordering::Acquire)
    }

    /// [`WAITING`], [`READY`], [`OPEN`], [`CLOSED`] or [`DEAD`].
    pub fn state(&self) -> u64 {
        self.state.load(Ordering::Acquire) & STATE
    }

    pub fn is_open(&self) -> bool {
        self.state() == OPEN
    }

    /// Closes the ring: from now on no write is published. The caller then waits until the ring
    /// [is drained](Self::is_drained). An [opening](Self::open) that `run` has begun fails.
    pub fn close(&self, reason: u32) {
        let mut seen = self.state.load(Ordering::Relaxed);
        while matches!(seen & STATE, READY | OPEN | CLOSED) {
            let next = (seen & !STATE).wrapping_add(GENERATION) | CLOSED;
            let state = &self.state;
            match state.compare_exchange(seen, next, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => {
                    if reason != BY_END {
                        self.reason.store(reason, Ordering::Relaxed);
                    }
                    break;
                }
                Err(now) => seen = now,
            }
        }
        self.head.0.fetch_or(REVOKED, Ordering::SeqCst);
    }

    /// The program has just begun: opens the ring, or has `run` do so.
    pub fn begin(&self) {
        let is_at_once = self.at_once.load(Ordering::Relaxed) != 0;
        // Fails if `run` has ended.
        self.change_state(WAITING, if is_at_once { OPEN } else { READY });
    }

    /// `run`: opens the ring for a program that has begun.
    pub fn open_first(&self) {
        if self.state.load(Ordering::Relaxed) == READY {
            // Fails if the ring was closed meanwhile.
            self.change_state(READY, OPEN);
        }
    }

    fn change_state(&self, from: u64, to: u64) {
        let (state, order) = (&self.state, Ordering::SeqCst);
        let _ = state.compare_exchange(from, to, order, Ordering::Relaxed);
    }

    /// `run`, before it looks at the processes: the state for [`open`](Self::open); `None` if the ring is not closed.
    pub fn closed(&self) -> Option<u64> {
        let seen = self.state.load(Ordering::SeqCst);
        (seen & STATE == CLOSED).then_some(seen)
    }

    /// `run`, when each process that has the terminal is a member: opens the ring, and returns `true`, unless the ring was
    /// closed again since `seen`.
    pub fn open(&self, seen: u64) -> bool {
        let open = seen & !STATE | OPEN;
        let state = &self.state;
        state
            .compare_exchange(seen, open, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// `run` has ended, or is about to. No more is published.
    pub fn die(&self) {
        if self.state.swap(DEAD, Ordering::SeqCst) & STATE == WAITING {
            let (reason, order) = (&self.reason, Ordering::Relaxed);
            let _ = reason.compare_exchange(0, NEVER_USED, order, order);
        }
        self.head.0.fetch_or(REVOKED, Ordering::SeqCst);
    }

    /// Announces a program that is about to be given the shim; `false` if that is too late, since `run` ends.
    pub fn begin_start(&self) -> bool {
        self.starting.fetch_add(1, Ordering::SeqCst);
        // Either the end of `run` waits for the program, or the caller sees that `run` ends.
        fence(Ordering::SeqCst);
        let goes_on = self.state() != DEAD;
        if !goes_on {
            self.end_start();
        }
        goes_on
    }

    /// The program has opened the files of the shim, or was not started. The start of the first program is not announced.
    pub fn end_start(&self) {
        let (less, order) = (|count: u32| count.checked_sub(1), Ordering::SeqCst);
        let _ = self.starting.fetch_update(order, order, less);
    }

    /// After [`die`](Self::die): whether a program still has to open the files of the shim.
    pub fn is_starting(&self) -> bool {
        fence(Ordering::SeqCst);
        self.starting.load(Ordering::SeqCst) != 0
    }

    /// Frees the lock, whose holder is dead.
    pub fn take_over(&self, holder: u64) {
        // Fails if another thread has done so.
        let _ = self
            .lock
            .0
            .compare_exchange(holder, 0, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// A member asks for the ring. The caller then [rouses](Self::rouse) `run`.
    pub fn ask(&self) {
        self.wanted.store(1, Ordering::Relaxed);
        // Either `run` sees the request before it sleeps, or the caller sees that `run` sleeps.
        fence(Ordering::SeqCst);
    }

    /// `run`: whether a member has asked for the ring.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0 && self.wanted.swap(0, Ordering::SeqCst) != 0
    }

    /// `run`: whether a member has asked for a look at its code.
    pub fn has_unseen(&self) -> bool {
        self.unseen.load(Ordering::Relaxed) != 0 && self.unseen.swap(0, Ordering::Acquire) != 0
    }

    /// Announces a thread that is about to look whether it has to wait for `run`. Returns the value of `drained` for which it then
    /// sleeps. Each wake-up ends the announcement, so the thread repeats it before each sleep.
    pub fn about_to_wait(&self) -> u32 {
        // First: if the announcement ends before the thread sleeps, `drained` is another.
        let drained = self.drained.0.load(Ordering::SeqCst);
        self.waiting.0.store(1, Ordering::SeqCst);
        // Either `run` sees the waiting thread, or that thread sees the bytes that `run` has passed on.
        fence(Ordering::SeqCst);
        drained
    }

    /// Marks `run` as awake; returns whether it dozed, and the caller has to wake it.
    pub fn rouse(&self) -> bool {
        self.doze.0.swap(AWAKE, Ordering::SeqCst) != AWAKE
    }

    /// `run`: the next bytes to pass on, at most `most`, as a place in the ring and a length that ends before the ring does.
    pub fn take(&self, most: u64) -> Option<(u64, u64)> {
        let tail = self.tail.0.load(Ordering::Relaxed);
        let start = tail % CAPACITY;
        let length = (self.published() - tail).min(CAPACITY - start).min(most);
        self.taken.0.store(tail + length, Ordering::Release);
        (length > 0).then_some((start, length))
    }

    /// The leader of the session, when `run` is dead: the bytes not taken by it, in the same way.
    pub fn rest(&self) -> Option<(u64, u64)> {
        let taken = self.taken.0.load(Ordering::Acquire);
        self.tail.0.store(taken, Ordering::Relaxed);
        self.take(CAPACITY)
    }

    /// `run`: marks `length` bytes as passed on. Returns whether threads wait for that, and have to be woken.
    pub fn passed_on(&self, length: u64) -> bool {
        let tail = self.tail.0.load(Ordering::Relaxed);
        self.tail.0.store(tail + length, Ordering::Release);
        fence(Ordering::SeqCst);
        let waiting = &self.waiting.0;
        let wake = waiting.load(Ordering::Relaxed) != 0 && waiting.swap(0, Ordering::SeqCst) != 0;
        if wake {
            self.drained.0.fetch_add(1, Ordering::SeqCst);
        }
        wake
    }

    /// `run`: announces a nap or a sleep. Returns whether `run` may take it.
    pub fn lie_down(&self, how: u32) -> bool {
        self.doze.0.store(how, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let something = self.published() != self.tail.0.load(Ordering::Relaxed);
        let is_wanted = self.wanted.load(Ordering::Relaxed) != 0;
        let must_look = is_wanted
            || something && (how == ASLEEP || self.waiting.0.load(Ordering::Relaxed) != 0);
        if must_look {
            self.get_up();
        }
        !must_look
    }

    pub fn get_up(&self) {
        self.doze.0.store(AWAKE, Ordering::Relaxed);
    }
}
