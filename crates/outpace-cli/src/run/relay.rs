//! From what the program writes to where it is to go: one thread a stream, which reads greedily and
//! hands everything to the [`Outlet`]'s queue. Nothing here waits for the destination unless the
//! queue is full.

use super::outlet::Outlet;
use super::tee::Tee;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{SpliceFlags, splice};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One stream on its way.
pub(super) struct Relay {
    pub(super) source: OwnedFd,
    pub(super) outlet: Arc<Outlet>,
    pub(super) tee: Option<Arc<Tee>>,
    /// Readable once the program has ended: then what is there is read, and no more is waited for.
    pub(super) ended: OwnedFd,
    /// Pages may go from pipe to pipe without being copied, while the queue is empty.
    pub(super) may_splice: bool,
}

/// How a relay ended.
#[derive(Debug)]
pub(super) enum End {
    /// Everything the program wrote has been queued.
    Complete,
    /// The destination takes no more.
    Refused(io::Error),
}

/// Read at once.
const CHUNK: usize = 256 << 10;
/// Reads that follow one another this closely are a flood. A program that writes line by line then
/// pays for waking us at every line, so a short nap lets it write many undisturbed.
const FLOOD: Duration = Duration::from_micros(200);
const NAP: Duration = Duration::from_micros(300);
/// A read this large needs no encouragement.
const LARGE_READ: usize = 2 << 10;
/// In a flood for this long before the first nap: an answer to a key never waits for one.
const FLOOD_READS: u32 = 8;

impl Relay {
    /// Reads until the program has closed its side, or has ended and nothing is left.
    pub(super) fn run(&self) -> End {
        match self.pump() {
            Ok(()) => End::Complete,
            Err(error) => End::Refused(error),
        }
    }

    fn pump(&self) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        let (mut last, mut flood) = (Instant::now(), 0);
        loop {
            if !self.wait_for_bytes()? {
                return Ok(());
            }
            if self.may_splice && self.outlet.pending() == 0 && self.splice_through()? {
                continue;
            }
            let read = match rustix::io::read(&self.source, &mut buffer) {
                // A pseudoterminal that nobody has open on the other side answers EIO.
                Ok(0) | Err(Errno::IO) => return Ok(()),
                Ok(read) => read,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            };
            if let Some(tee) = &self.tee {
                tee.write(&buffer[..read]);
            }
            self.outlet.send(&buffer[..read])?;
            let now = Instant::now();
            flood = if now - last < FLOOD + NAP {
                flood + 1
            } else {
                0
            };
            if flood >= FLOOD_READS && read < LARGE_READ {
                std::thread::sleep(NAP);
            }
            last = now;
        }
    }

    /// Waits until there is something to read, or an end; false when the program has ended and
    /// nothing is left.
    fn wait_for_bytes(&self) -> io::Result<bool> {
        let mut both = [
            PollFd::new(&self.source, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
        ];
        loop {
            match poll(&mut both, None) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(!both[0].revents().is_empty())
    }

    /// Moves pages from the program's pipe into the destination's as long as that has room. False
    /// when it has none: then the queue must take what there is.
    fn splice_through(&self) -> io::Result<bool> {
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        match splice(
            &self.source,
            None,
            self.outlet.as_fd(),
            None,
            CHUNK * 4,
            flags,
        ) {
            Ok(0) => Ok(false),
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INVAL) => {
                // Full for the moment: worth a short wait, for the queue costs two copies.
                let mut room = [PollFd::new(&self.outlet, PollFlags::OUT)];
                let waited = poll(&mut room, Some(&SPLICE_PATIENCE)).unwrap_or(0);
                Ok(waited > 0 && room[0].revents().contains(PollFlags::OUT))
            }
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// A destination that is full for longer is slow.
const SPLICE_PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// Whether two descriptors are both pipes.
pub(super) fn is_pipe(descriptor: impl AsFd) -> bool {
    rustix::fs::fstat(descriptor).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    })
}
