//! Waiting for room in the destination's pipe, when pages go there without being copied.
//!
//! That pipe is the user's, and lasts a reader of gigabytes a second some 30 µs, so that every call between two
//! moves is felt. How long the program may be made to wait follows from how fast the reader has been.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// What a wait has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Room,
    /// The program has written nothing more.
    NothingToMove,
    /// The reader is slow, or has stopped reading.
    NoRoom,
}

/// The waits of one relay.
pub(super) struct Handover {
    /// How long the program may be made to wait: by no more than a reader of [`FAST`] would have made it.
    credit: Duration,
}

/// A reader of so many bytes a second is not what a program waits for: copying them takes as long.
pub(super) const FAST: f64 = 100e6;
/// The first wait may last as long.
const FIRST_CREDIT: Duration = Duration::from_millis(2);
/// No wait lasts longer. A reader that is ready to run may have to wait for a processor.
const MOST_CREDIT: Duration = Duration::from_millis(30);

impl Handover {
    pub(super) fn new() -> Self {
        Self {
            credit: FIRST_CREDIT,
        }
    }

    /// So many bytes have been taken.
    pub(super) fn moved(&mut self, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / FAST);
        self.credit = (self.credit + earned).min(MOST_CREDIT);
    }

    /// Waits until `to` has room, unless `from` has nothing for it.
    pub(super) fn wait(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<Found> {
        let mut something = [PollFd::from_borrowed_fd(from, PollFlags::IN)];
        if wait_for(&mut something, Duration::ZERO)? == 0 {
            return Ok(Found::NothingToMove);
        }
        let began = Instant::now();
        let mut room = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
        let ready = wait_for(&mut room, self.credit)?;
        self.credit = self.credit.saturating_sub(began.elapsed());
        Ok(if ready == 0 {
            Found::NoRoom
        } else {
            Found::Room
        })
    }
}

fn wait_for(what: &mut [PollFd<'_>], patience: Duration) -> io::Result<usize> {
    let patience = Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: patience.subsec_nanos().into(),
    };
    match poll(what, Some(&patience)) {
        Err(Errno::INTR) => Ok(0),
        ready => Ok(ready?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::{PipeFlags, pipe_with};
    use std::os::fd::AsFd;

    #[test]
    fn a_wait_says_which_of_the_pipes_it_is_about() {
        let (from, program) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let (reader, to) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let mut handover = Handover::new();
        let wait = |handover: &mut Handover| handover.wait(from.as_fd(), to.as_fd()).unwrap();
        assert_eq!(wait(&mut handover), Found::NothingToMove);
        rustix::io::write(&program, b"x").unwrap();
        assert_eq!(wait(&mut handover), Found::Room);
        while rustix::io::write(&to, &[0; 4096]).is_ok() {}
        assert_eq!(wait(&mut handover), Found::NoRoom);
        assert_eq!(handover.credit, Duration::ZERO, "the reader did not come");
        rustix::io::read(&reader, &mut [0; 8192]).unwrap();
        assert_eq!(wait(&mut handover), Found::Room);
    }

    #[test]
    fn what_a_fast_reader_takes_allows_for_a_longer_wait_up_to_a_limit() {
        let mut handover = Handover::new();
        handover.moved(100_000);
        assert_eq!(handover.credit, FIRST_CREDIT + Duration::from_millis(1));
        handover.moved(1 << 30);
        assert_eq!(handover.credit, MOST_CREDIT);
    }
}
