//! Handing pages from the program's pipe to the destination's, without copying them.
//!
//! The destination's pipe is the user's, and lasts a reader of gigabytes a second some 30 µs; then waking a process
//! costs as much as the pages. So the pages are first taken over into a pipe of ours, all at once, which
//! wakes the program once a MiB instead of once a destination's pipeful; and in a flood we give way and look
//! again instead of sleeping. How long the program may be made to wait follows from how fast the reader has been.

use super::LARGEST_PIPE;
use super::outlet::Outlet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// What has become of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// There are no more for now.
    All,
    /// The rest has to be read: it cannot go this way, the reader is slow, has stopped reading, or it is the end.
    NotAll,
}

/// The way of one relay's pages.
pub(super) struct Handover {
    /// Taken over and not yet handed on.
    stage: OwnedFd,
    /// The side on which they come in.
    entrance: OwnedFd,
    /// How many bytes are there.
    held: usize,
    /// How many bytes have been handed on.
    pub(super) passed: u64,
    /// How long the program may be made to wait: by no more than a reader of [`FAST`] would have made it.
    credit: Duration,
    /// How long may be spent on looking again.
    vigil: Duration,
}

/// A reader of so many bytes a second is not what a program waits for: copying them takes as long.
const FAST: f64 = 100e6;
/// The first wait may last as long.
const FIRST_CREDIT: Duration = Duration::from_millis(2);
/// No wait lasts longer. A reader that is ready to run may have to wait for a processor.
const MOST_CREDIT: Duration = Duration::from_millis(30);
/// A stream of so many bytes a second keeps us looking instead of sleeping, a slower one for a part of the time.
const FLOOD: f64 = 1e9;
/// For no longer than this at a time.
const MOST_VIGIL: Duration = Duration::from_micros(200);

impl Handover {
    pub(super) fn new() -> io::Result<Self> {
        let (stage, entrance) = pipe_with(PipeFlags::CLOEXEC)?;
        // The system's limit holds for users without privileges; a smaller pipe works as well.
        let _ = fcntl_setpipe_size(&stage, LARGEST_PIPE);
        Ok(Self {
            stage,
            entrance,
            held: 0,
            passed: 0,
            credit: FIRST_CREDIT,
            vigil: Duration::ZERO,
        })
    }

    /// What was taken over and not handed on, if there is something: it comes before what the program's
    /// pipe has.
    pub(super) fn left(&self) -> Option<BorrowedFd<'_>> {
        (self.held > 0).then(|| self.stage.as_fd())
    }

    /// So many bytes of what was [`left`](Self::left) have been read.
    pub(super) fn read(&mut self, bytes: usize) {
        self.held -= bytes;
    }

    /// Hands pages on until there are none left. Gives up when the destination has had no room for longer
    /// than a fast reader needs.
    pub(super) fn hand(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<Handed> {
        loop {
            if self.held == 0 {
                match move_or_look_again(from, self.entrance.as_fd(), &mut self.vigil)? {
                    Moved::Bytes(count) => self.held = count,
                    Moved::Nothing => return Ok(Handed::All),
                    Moved::EndOrNever => return Ok(Handed::NotAll),
                }
            }
            match move_or_look_again(self.stage.as_fd(), to, &mut self.vigil)? {
                Moved::Bytes(count) => {
                    self.held -= count;
                    self.passed += count as u64;
                    self.earn(count);
                }
                Moved::Nothing if self.wait_for_room(to)? => {}
                Moved::Nothing | Moved::EndOrNever => return Ok(Handed::NotAll),
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

    /// So many bytes have been taken.
    fn earn(&mut self, bytes: usize) {
        let at = |pace| Duration::from_secs_f64(bytes as f64 / pace);
        self.credit = (self.credit + at(FAST)).min(MOST_CREDIT);
        self.vigil = (self.vigil + at(FLOOD)).min(MOST_VIGIL);
    }
}

/// What one attempt has moved.
enum Moved {
    Bytes(usize),
    /// There is nothing to move, or no room.
    Nothing,
    /// That was the end, or pages cannot go there: reading says which.
    EndOrNever,
}

/// Moves what there is. If that is nothing, gives way and tries again for as long as the vigil lasts.
fn move_or_look_again(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    vigil: &mut Duration,
) -> io::Result<Moved> {
    let mut began = None;
    loop {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let moved = match splice(from, None, to, None, LARGEST_PIPE, flags) {
            Ok(0) | Err(Errno::INVAL) => Moved::EndOrNever,
            Ok(count) => Moved::Bytes(count),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) if !vigil.is_zero() => {
                let began = *began.get_or_insert_with(Instant::now);
                if began.elapsed() < *vigil {
                    std::thread::yield_now();
                    continue;
                }
                Moved::Nothing
            }
            Err(Errno::AGAIN) => Moved::Nothing,
            Err(error) => return Err(error.into()),
        };
        if let Some(began) = began {
            *vigil = vigil.saturating_sub(began.elapsed());
        }
        return Ok(moved);
    }
}

/// Finding the way back from the queue to moving pages. A reader that paused for a moment has made the
/// queue, and a program that never pauses would keep it full for ever, with two copies of every byte.
/// When the reader is so fast that it needs but a moment for what is queued, that moment is waited for.
pub(super) struct CatchingUp {
    /// When the reader's pace was last looked at, and how much it had taken by then.
    looked: Instant,
    taken: u64,
}

/// How often its pace is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// The longest that a program waits for it.
const LONGEST_MOMENT: f64 = 1.0;

impl CatchingUp {
    pub(super) fn new() -> Self {
        Self {
            looked: Instant::now(),
            taken: 0,
        }
    }

    /// Whether nothing is queued, of so many bytes so far, having waited for that if it is near.
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
        // It may not be as fast as it was.
        outlet.empties_within(Duration::from_secs_f64(2.0 * moment) + LOOK_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe to the relay with the program's side, and one from it with the reader's.
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

    /// What one read brings.
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
        assert_eq!(pipes.hand(&mut handover), Handed::NotAll, "nobody reads");
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
        // The program closes its side.
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
        assert_eq!(handover.vigil, Duration::from_micros(100));
        handover.earn(1 << 30);
        assert_eq!(handover.credit, MOST_CREDIT);
        assert_eq!(handover.vigil, MOST_VIGIL);
    }
}
