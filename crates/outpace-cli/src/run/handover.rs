//! Waiting for room in the destination's pipe, when pages go there without being copied.
//!
//! That pipe is the user's, and so small that a reader of gigabytes a second empties it in less time than it
//! takes to fall asleep and to be woken up again. So a wait begins with asking, for some microseconds, as long as that
//! finds room and nobody else wants the processor.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::{Duration, Instant};

/// What a wait has found.
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
    /// From when on asking is worth a try; never with one processor, which the reader needs.
    ask_from: Option<Instant>,
}

/// A reader of so many bytes a second is not what a program waits for: copying them takes as long.
pub(super) const FAST: f64 = 100e6;
/// The first wait may last as long, and none longer than that: a reader that is ready to run may have to wait
/// for a processor.
const FIRST_CREDIT: Duration = Duration::from_millis(2);
const MOST_CREDIT: Duration = Duration::from_millis(30);
/// As long as a pipe of 64 KiB lasts a reader of 1.3 GB/s.
const ASKING: Duration = Duration::from_micros(50);
/// When that has found no room, the next waits are for sleeping.
const REST: Duration = Duration::from_millis(1);
/// Who takes so long to ask once had to wait for a processor: others can use it better.
const DISTURBANCE: Duration = Duration::from_micros(200);
const RETREAT: Duration = Duration::from_millis(100);

impl Handover {
    pub(super) fn new() -> Self {
        let has_others = thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        Self {
            credit: FIRST_CREDIT,
            ask_from: has_others.then(Instant::now),
        }
    }

    /// So many bytes have been taken.
    pub(super) fn moved(&mut self, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / FAST);
        self.credit = (self.credit + earned).min(MOST_CREDIT);
    }

    /// Waits until `to` has room, unless `from` has nothing for it.
    pub(super) fn wait(&mut self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<Found> {
        let began = Instant::now();
        let found = match self.ask(began, from, to)? {
            Some(found) => found,
            None => sleep_until_room(to, self.credit.saturating_sub(began.elapsed()))?,
        };
        self.credit = self.credit.saturating_sub(began.elapsed());
        Ok(found)
    }

    /// Asks at least once.
    fn ask(
        &mut self,
        began: Instant,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
    ) -> io::Result<Option<Found>> {
        let mut asked = began;
        loop {
            let mut both = [
                PollFd::from_borrowed_fd(to, PollFlags::OUT),
                PollFd::from_borrowed_fd(from, PollFlags::IN),
            ];
            match poll(&mut both, Some(&Timespec::default())) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if both[1].revents().is_empty() {
                return Ok(Some(Found::NothingToMove));
            }
            if !both[0].revents().is_empty() {
                return Ok(Some(Found::Room));
            }
            if self.ask_from.is_none_or(|ask_from| asked < ask_from) {
                return Ok(None);
            }
            // To the program, most likely, which has got room by what was moved.
            thread::yield_now();
            let now = Instant::now();
            if now - asked > DISTURBANCE {
                self.ask_from = Some(now + RETREAT);
            } else if now - began > ASKING {
                self.ask_from = Some(now + REST);
            }
            asked = now;
        }
    }
}

fn sleep_until_room(to: BorrowedFd<'_>, patience: Duration) -> io::Result<Found> {
    let patience = Timespec {
        tv_sec: patience.as_secs() as i64,
        tv_nsec: patience.subsec_nanos().into(),
    };
    let mut room = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    match poll(&mut room, Some(&patience)) {
        Ok(0) | Err(Errno::INTR) => Ok(Found::NoRoom),
        Ok(_) => Ok(Found::Room),
        Err(error) => Err(error.into()),
    }
}
