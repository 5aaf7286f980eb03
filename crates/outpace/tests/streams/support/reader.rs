//! The other end of a stream: reads what arrives on a thread of its own, and remembers each read.

use super::{LIMIT, show};
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Clone)]
pub(crate) struct Reader(Arc<Shared>);

struct Shared {
    received: Mutex<Received>,
    changed: Condvar,
}

#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    /// How many bytes each read had.
    reads: Vec<usize>,
    ended: bool,
    /// Not reading until told.
    paused: bool,
    /// A pause after each read.
    pace: Duration,
}

impl Reader {
    pub(crate) fn new(file: File) -> Self {
        Self::with(file, Received::default())
    }

    /// One that does not read until [`resume`](Reader::resume).
    pub(crate) fn paused(file: File) -> Self {
        let received = Received {
            paused: true,
            ..Received::default()
        };
        Self::with(file, received)
    }

    /// One that pauses for so long after each read.
    pub(crate) fn slow(file: File, pace: Duration) -> Self {
        let received = Received {
            pace,
            ..Received::default()
        };
        Self::with(file, received)
    }

    fn with(mut file: File, received: Received) -> Self {
        let reader = Reader(Arc::new(Shared {
            received: Mutex::new(received),
            changed: Condvar::new(),
        }));
        let shared = reader.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                let state = shared.lock();
                let state = shared.0.changed.wait_while(state, |state| state.paused);
                let pace = state.expect("no thread panics with it").pace;
                // A terminal whose other end is closed says so with EIO.
                let read = file.read(&mut buffer).unwrap_or(0);
                let mut state = shared.lock();
                state.bytes.extend_from_slice(&buffer[..read]);
                state.reads.push(read);
                state.ended = read == 0;
                shared.0.changed.notify_all();
                if read == 0 {
                    return;
                }
                drop(state);
                if !pace.is_zero() {
                    std::thread::sleep(pace);
                }
            }
        });
        reader
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.received.lock().expect("no thread panics with it")
    }

    pub(crate) fn resume(&self) {
        self.lock().paused = false;
        self.0.changed.notify_all();
    }

    #[track_caller]
    fn wait(&self, what: &str, enough: impl Fn(&Received) -> bool) -> MutexGuard<'_, Received> {
        let begun = Instant::now();
        let mut state = self.lock();
        while !enough(&state) {
            let left = LIMIT.saturating_sub(begun.elapsed());
            let found = show(&state.bytes);
            assert!(!left.is_zero(), "waited for {what}, and have {found}");
            assert!(!state.ended, "{what} did not come, but {found}");
            state = self
                .0
                .changed
                .wait_timeout(state, left)
                .expect("no thread panics with it")
                .0;
        }
        state
    }

    /// Waits until all that has arrived ends in `text`.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: impl AsRef<[u8]>) -> Vec<u8> {
        let text = text.as_ref();
        let what = show(text);
        self.wait(&what, |state| state.bytes.ends_with(text))
            .bytes
            .clone()
    }

    /// Waits for the end and returns everything.
    #[track_caller]
    pub(crate) fn all(&self) -> Vec<u8> {
        self.wait("the end", |state| state.ended).bytes.clone()
    }

    /// The bytes that have arrived so far.
    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    /// The bytes of each read until the end. On a pipe of packets each is a `write(2)` of the program.
    #[track_caller]
    pub(crate) fn reads(&self) -> Vec<Vec<u8>> {
        let state = self.wait("the end", |state| state.ended);
        let mut at = 0;
        let mut piece = |length: &usize| {
            at += length;
            state.bytes[at - length..at].to_vec()
        };
        let reads = state.reads.iter().filter(|&&length| length > 0);
        reads.map(&mut piece).collect()
    }
}
