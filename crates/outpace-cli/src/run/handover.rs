//! Handing pages from the program's pipe to the destination's, without copying them.
//!
//! The destination's pipe is the user's, and a reader of gigabytes a second empties it in some 30 µs; waking a process
//! costs as much as copying the pages. So the pages are first taken into a pipe of ours, all at once, which
//! wakes the program once a MiB instead of once a destination's pipeful. In a flood this thread yields and looks
//! again instead of sleeping. The longer the reader has been fast, the longer the program may be made to wait.

use super::LARGEST_PIPE;
use super::outlet::Outlet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The result of handing pages on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// No pages are left for now, or many were handed on.
    All,
    /// The rest has to be read: pages cannot be moved there, the reader is slow or has stopped, or the end is reached.
    NotAll,
}

/// The state of one relay's handing on.
pub(super) struct Handover {
    /// Holds pages taken over and not yet handed on.
    stage: OwnedFd,
    /// The stage's writing side.
    entrance: OwnedFd,
    /// Bytes in the stage.
    held: usize,
    /// Bytes handed on.
    pub(super) passed: u64,
    /// The longest that the program may be made to wait now: no longer than a reader of [`FAST`] would have made it wait.
    credit: Duration,
    /// The longest that this thread may look again and again now, without sleep.
    spin: Duration,
}

/// A reader of this many bytes a second does not hold a program up: copying them takes as long.
const FAST: f64 = 100e6;
/// The longest first wait.
const FIRST_CREDIT: Duration = Duration::from_millis(2);
/// The longest wait. A reader that is ready to run may have to wait for a processor.
const MOST_CREDIT: Duration = Duration::from_millis(30);
/// This thread looks at a stream of this many bytes a second without sleep, and at a slower one for a part of the time.
const FLOOD: f64 = 1e9;
/// The most bytes between two looks whether the program has ended: processes that outlive it may write for ever.
const MOST: usize = 16 << 20;
/// The longest time without sleep.
const MOST_SPIN: Duration = Duration::from_micros(200);

impl Handover {
    pub(super) fn new() -> io::Result<Self> {
        let (stage, entrance) = pipe_with(PipeFlags::CLOEXEC)?;
        // The system limits pipes of users without privileges; a smaller pipe works as well.
        let _ = fcntl_setpipe_size(&stage, LARGEST_PIPE);
        Ok(Self {
            stage,
            entrance,
            held: 0,
            passed: 0,
            credit: FIRST_CREDIT,
            spin: Duration::ZERO,
        })
    }

    /// The stage, if it holds bytes: they come before those in the program's pipe.
    pub(super) fn left(&self) -> Option<BorrowedFd<'_>> {
        (self.held > 0).then(|| self.stage.as_fd())
    }

    /// The numbers of its pipe.
    pub(super) fn descriptors(&self) -> [i32; 2] {
        [self.stage.as_raw_fd(), self.entrance.as_raw_fd()]
    }

    /// Counts bytes read from [`left`](Self::left).
    pub(super) fn read(&mut self, bytes: usize) {
        self.held -= bytes;
    }

    /// Hands pages on until none are left, or [`MOST`] bytes are. Gives up when the destination has no room for longer than a fast
    /// reader needs.
    pub(super) fn hand(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<Handed> {
        let mut taken = 0;
        loop {
            if self.held == 0 {
                if taken >= MOST {
                    return Ok(Handed::All);
                }
                match move_or_look_again(from, self.entrance.as_fd(), &mut self.spin)? {
                    Moved::Bytes(count) => {
                        self.held = count;
                        taken += count;
                    }
                    Moved::None => return Ok(Handed::All),
                    Moved::EndOrNever => return Ok(Handed::NotAll),
                }
            }
            match move_or_look_again(self.stage.as_fd(), to, &mut self.spin)? {
                Moved::Bytes(count) => {
                    self.held -= count;
                    self.passed += count as u64;
                    self.earn(count);
                }
                Moved::None if self.wait_for_room(to)? => {}
                Moved::None | Moved::EndOrNever => return Ok(Handed::NotAll),
            }
        }
    }

    /// Sleeps until `to` has room; false when that took too long.
    fn wait_for_room(&mut self, to: BorrowedFd<'_>) -> io::Result<bool> {
        let began = Instant::now();
        let mut room = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
        let patience = Timespec {
            tv_sec: self.credit.as_secs() as i64,
            tv_nsec: self.credit.subsec_nanos().into(),
        };
        let ready = match poll(&mut room, Some(&patience)) {
            Err(Errno::INTR) => 0,
            ready => ready?,
        };
        self.credit = self.credit.saturating_sub(began.elapsed());
        Ok(ready > 0)
    }

    /// Adds to the two times: the reader has taken this many bytes.
    fn earn(&mut self, bytes: usize) {
        let at = |pace| Duration::from_secs_f64(bytes as f64 / pace);
        self.credit = (self.credit + at(FAST)).min(MOST_CREDIT);
        self.spin = (self.spin + at(FLOOD)).min(MOST_SPIN);
    }
}

/// The result of one attempt to move pages.
enum Moved {
    Bytes(usize),
    /// There are no pages to move, or there is no room.
    None,
    /// The end is reached, or pages cannot be moved there: a read tells which.
    EndOrNever,
}

/// Moves the pages that are there. If there are none, yields and tries again for as long as `spin` allows.
fn move_or_look_again(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    spin: &mut Duration,
) -> io::Result<Moved> {
    let mut began = None;
    loop {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = match splice(from, None, to, None, LARGEST_PIPE, flags) {
            // A sandbox may refuse this call, and allow to read and write.
            Ok(0) | Err(Errno::INVAL | Errno::PERM | Errno::NOSYS) => Moved::EndOrNever,
            Ok(count) => Moved::Bytes(count),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if !spin.is_zero() => {
                let began = *began.get_or_insert_with(Instant::now);
                if began.elapsed() < *spin {
                    std::thread::yield_now();
                    continue;
                }
                Moved::None
            }
            Err(Errno::AGAIN) => Moved::None,
            Err(error) => return Err(error.into()),
        };
        if let Some(began) = began {
            *spin = spin.saturating_sub(began.elapsed());
        }
        return Ok(moved);
    }
}

/// Finds the way back from the queue to moving pages. A reader's short pause fills the queue, and a program that never pauses
/// would keep it full for ever, with two copies of every byte. If the reader needs only a moment for the queue, the
/// relay waits for that moment.
pub(super) struct CatchingUp {
    /// When the reader's pace was measured last, and the bytes taken by then.
    looked: Instant,
    taken: u64,
}

/// The interval between measurements of the pace.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The longest wait, in seconds.
const LONGEST_MOMENT: f64 = 1.0;

impl CatchingUp {
    pub(super) fn new() -> Self {
        Self {
            looked: Instant::now(),
            taken: 0,
        }
    }

    /// Whether the queue is empty, after a wait if that is near; `queued`: all bytes queued so far.
    pub(super) fn has_caught_up(&mut self, outlet: &Outlet, queued: u64) -> io::Result<bool> {
        let pending = outlet.pending();
        if pending == 0 {
            return Ok(true);
        }
        let elapsed = self.looked.elapsed();
        if elapsed < LOOK_EVERY {
            return Ok(false);
        }
        let taken = queued.saturating_sub(pending);
        let pace = taken.saturating_sub(self.taken) as f64 / elapsed.as_secs_f64();
        (self.looked, self.taken) = (Instant::now(), taken);
        let moment = pending as f64 / pace.max(1.0);
        if pace < FAST || moment > LONGEST_MOMENT {
            return Ok(false);
        }
        // The reader may be slower than before.
        outlet.empties_within(Duration::from_secs_f64(2.0 * moment) + LOOK_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe from the program to the relay, and one from the relay to the reader.
    struct Pipes {
        program: OwnedFd,
        from: OwnedFd,
        to: OwnedFd,
        reader: OwnedFd,
    }

    impl Pipes {
        fn new() -> Self {
            let (from, program) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let (reader, to) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            Self {
                program,
                from,
                to,
                reader,
            }
        }

        fn hand(&self, handover: &mut Handover) -> Handed {
            handover.hand(self.from.as_fd(), self.to.as_fd()).unwrap()
        }

        fn write(&self, bytes: &[u8]) {
            assert_eq!(rustix::io::write(&self.program, bytes), Ok(bytes.len()));
        }
    }

    /// The bytes of one read.
    fn read(from: impl AsFd) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 20];
        let count = rustix::io::read(from, &mut buffer).unwrap();
        buffer.truncate(count);
        buffer
    }

    #[test]
    fn what_there_is_is_handed_on() {
        let (pipes, mut handover) = (Pipes::new(), Handover::new().unwrap());
        assert_eq!(pipes.hand(&mut handover), Handed::All);
        pipes.write(b"one");
        pipes.write(b"two");
        assert_eq!(pipes.hand(&mut handover), Handed::All);
        assert_eq!(read(&pipes.reader), b"onetwo");
    }

    #[test]
    fn what_was_taken_over_when_the_reader_stopped_is_still_there_and_in_order() {
        let (pipes, mut handover) = (Pipes::new(), Handover::new().unwrap());
        let pipeful = vec![b'a'; 64 << 10];
        pipes.write(&pipeful);
        assert_eq!(pipes.hand(&mut handover), Handed::All);
        pipes.write(b"bc");
        assert_eq!(
            pipes.hand(&mut handover),
            Handed::NotAll,
            "no reader takes bytes"
        );
        assert_eq!(handover.credit, Duration::ZERO, "it was waited for");
        let left = read(handover.left().unwrap());
        assert_eq!(left, b"bc");
        handover.read(left.len());
        assert!(handover.left().is_none());
        assert_eq!(read(&pipes.reader), pipeful);
        pipes.write(b"d");
        assert_eq!(pipes.hand(&mut handover), Handed::All);
        assert_eq!(read(&pipes.reader), b"d");
    }

    #[test]
    fn the_end_is_left_for_reading() {
        let (mut pipes, mut handover) = (Pipes::new(), Handover::new().unwrap());
        pipes.write(b"last");
        // Closes the program's side.
        pipes.program = rustix::stdio::stdin().try_clone_to_owned().unwrap();
        assert_eq!(pipes.hand(&mut handover), Handed::NotAll);
        assert!(handover.left().is_none());
        assert_eq!(read(&pipes.reader), b"last");
        assert_eq!(read(&pipes.from), b"");
    }

    #[test]
    fn what_a_fast_reader_takes_allows_for_longer_waits_up_to_a_limit() {
        let mut handover = Handover::new().unwrap();
        handover.earn(100_000);
        assert_eq!(handover.credit, FIRST_CREDIT + Duration::from_millis(1));
        assert_eq!(handover.spin, Duration::from_micros(100));
        handover.earn(1 << 30);
        assert_eq!(handover.credit, MOST_CREDIT);
        assert_eq!(handover.spin, MOST_SPIN);
    }
}
