// The ring between a program and `outpace run`: its memory, and the protocol of both sides.
//
// The shim (`shim.rs`), `run` and the model checker compile this same file; each brings the atomics and the capacity that
// it uses under the name of `sync`. Nothing here makes a system call: where a side has to wait or to wake, it is told.
//
// The memory belongs to `run`. One process writes, with any number of threads; `run` reads, and passes on to the
// terminal what it reads.
//
//     write:   lock := me; if state = OPEN and there is room: copy; head += n (release); lock := 0;
//              if run sleeps: wake it
//     run:     while tail < head (acquire): write to the terminal; tail += written (release); wake those who wait
//     close:   state := CLOSED; wait until tail = head
//     direct:  if tail < head: wait until tail = head; then the kernel's own write
//
// Why it is correct:
// - A byte is published after it has been copied, by the store to `head`. A writer that dies before that leaves nothing.
// - The ring is closed for good. Whoever writes past it first waits until all that was published is on the terminal, so
//   a write that is in the ring comes before each write that began after it had returned.
// - The lock is a convenience. A holder that never lets go (it left a signal handler by `longjmp`) makes the others
//   close the ring and write past it; what it may still publish is only as late as its own write.

use super::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// Says that the memory is a ring of this version.
pub const MAGIC: u64 = 0x6f75_7470_6163_6501;

/// Bytes of the ring; a power of two. The model checker's is smaller.
pub use super::sync::CAPACITY;

/// The longest write that goes through the ring. A longer one costs the kernel little a byte.
pub const LONGEST: usize = 16 << 10;

/// `state`: nobody has come yet, writes go through the ring, writes go to the terminal, `run` is not there.
pub const WAITING: u32 = 0;
pub const OPEN: u32 = 1;
pub const CLOSED: u32 = 2;
pub const DEAD: u32 = 3;

/// `doze`: whether `run` looks, looks again within milliseconds, or has to be woken.
pub const AWAKE: u32 = 0;
pub const NAP: u32 = 1;
pub const ASLEEP: u32 = 2;

/// Why the ring was closed.
pub const BY_CHILD: u32 = 1;
pub const BY_EXEC: u32 = 2;
pub const BY_LOCK: u32 = 3;
pub const BY_BYPASS: u32 = 4;
pub const NO_TEXT: u32 = 5;
pub const NO_LIBRARY: u32 = 6;
pub const OTHER_PROGRAM: u32 = 7;
pub const BY_TERMINAL: u32 = 8;

/// The start of the shared memory; the bytes follow at [`DATA`].
#[repr(C)]
pub struct Header {
    pub magic: AtomicU64,
    /// The process that may use the ring.
    pub program: AtomicU32,
    /// That of `run`.
    pub run: AtomicU32,
    /// The terminal, as fstat(2) shows it.
    pub device: AtomicU64,
    pub inode: AtomicU64,
    pub terminal: AtomicU64,
    pub reason: AtomicU32,
    pub state: AtomicU32,
    // What writers change, apart from what `run` changes.
    pub lock: Line<AtomicU64>,
    pub head: Line<AtomicU64>,
    pub tail: Line<AtomicU64>,
    pub doze: Line<AtomicU32>,
    /// How many wait for `run`, and what it changes to wake them.
    pub waiting: Line<AtomicU32>,
    pub drained: Line<AtomicU32>,
    pub writes: Line<AtomicU64>,
}

/// A cache line of its own.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

/// Where the bytes begin.
pub const DATA: usize = 4096;
/// The whole of the shared memory.
pub const SIZE: usize = DATA + CAPACITY as usize;

const _: () = assert!(CAPACITY.is_power_of_two());
const _: () = assert!(CAPACITY < 1 << 20 || size_of::<Header>() <= DATA);

/// What became of an attempt to write through the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is in the ring; `run` has to be woken if so.
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
    /// Writes `length` bytes through the ring. `me` is not 0, and no other thread's; `copy` gets the place of the
    /// first byte in the ring, and wraps.
    pub fn put(&self, me: u64, length: u64, copy: impl FnOnce(u64)) -> Put {
        if self.state.load(Ordering::Acquire) != OPEN {
            return Put::Closed;
        }
        let lock = &self.lock.0;
        match lock.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {}
            Err(holder) if holder == me => return Put::Nested,
            Err(_) => return Put::Busy,
        }
        let head = self.head.0.load(Ordering::Relaxed);
        let result = if self.state.load(Ordering::Acquire) != OPEN {
            Put::Closed
        } else if length > CAPACITY - (head - self.tail.0.load(Ordering::Acquire)) {
            Put::Full
        } else {
            copy(head % CAPACITY);
            self.head.0.store(head + length, Ordering::Release);
            Put::Done { wake: false }
        };
        lock.store(0, Ordering::Release);
        if matches!(result, Put::Done { .. }) {
            // What was published is seen by `run`'s last look before it sleeps, or that it sleeps is seen here.
            fence(Ordering::SeqCst);
            let wake = self.doze.0.load(Ordering::Relaxed) == ASLEEP;
            return Put::Done { wake };
        }
        result
    }

    /// Whether everything published is on the terminal.
    pub fn is_drained(&self) -> bool {
        self.head.0.load(Ordering::Acquire) == self.tail.0.load(Ordering::Acquire)
    }

    /// Closes the ring for good, if it is open; the caller then waits until it [is drained](Self::is_drained).
    pub fn close(&self, state: u32, reason: u32) {
        let open = self
            .state
            .compare_exchange(OPEN, state, Ordering::SeqCst, Ordering::Relaxed);
        if open.is_ok() {
            self.reason.store(reason, Ordering::Relaxed);
        }
    }

    /// Before waiting for `run`; what comes back is what `drained` is compared with.
    pub fn begin_to_wait(&self) {
        self.waiting.0.fetch_add(1, Ordering::SeqCst);
        // Either `run` sees that one waits, or that one sees what `run` has passed on.
        fence(Ordering::SeqCst);
    }

    pub fn end_to_wait(&self) {
        self.waiting.0.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether `run` dozes, and has to be woken by one that waits for it.
    pub fn rouse(&self) -> bool {
        self.doze.0.swap(AWAKE, Ordering::SeqCst) != AWAKE
    }

    /// `run`: the bytes that are to be passed on, as a place in the ring and a length up to its end.
    pub fn pending(&self) -> Option<(u64, u64)> {
        let tail = self.tail.0.load(Ordering::Relaxed);
        let length = self.head.0.load(Ordering::Acquire) - tail;
        let start = tail % CAPACITY;
        (length > 0).then(|| (start, length.min(CAPACITY - start)))
    }

    /// `run`: so many of them have been passed on. Returns whether others wait for that, and have to be woken.
    pub fn passed_on(&self, length: u64) -> bool {
        let tail = self.tail.0.load(Ordering::Relaxed);
        self.tail.0.store(tail + length, Ordering::Release);
        fence(Ordering::SeqCst);
        let wake = self.waiting.0.load(Ordering::Relaxed) > 0;
        if wake {
            self.drained.0.fetch_add(1, Ordering::SeqCst);
        }
        wake
    }

    /// `run`: is about to sleep in this way. Returns whether it may.
    pub fn lie_down(&self, how: u32) -> bool {
        self.doze.0.store(how, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let head = self.head.0.load(Ordering::Relaxed);
        let something = head != self.tail.0.load(Ordering::Relaxed);
        let must_look = something && (how == ASLEEP || self.waiting.0.load(Ordering::Relaxed) > 0);
        if must_look {
            self.get_up();
        }
        !must_look
    }

    pub fn get_up(&self) {
        self.doze.0.store(AWAKE, Ordering::Relaxed);
    }
}
