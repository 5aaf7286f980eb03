//! From the program's output to its destination: one thread a stream, which reads greedily and
//! hands everything to the [`Outlet`]'s queue. It waits for the destination only when the
//! queue is full.

use super::LARGEST_PIPE;
use super::flood::FloodPace;
use super::handover::{CatchingUp, Handed, Handover};
use super::lines::{Lines, Returns};
use super::outlet::Outlet;
use super::rate::{EscapeState, Rate};
use super::stamps::Stamps;
use super::tee::Tee;
use crate::platform::descriptors::has_gone;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// One stream on its way.
pub(super) struct Relay {
    route: Route,
    state: Mutex<RelayState>,
    /// The terminal has gone, and output goes to the file of `--tee` alone.
    has_destination_gone: AtomicBool,
    /// The relay ends when the destination hangs up.
    ends_at_hangup: bool,
    /// Called when bytes have come.
    listener: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl std::ops::Deref for Relay {
    type Target = Route;

    fn deref(&self) -> &Route {
        &self.route
    }
}

/// How the first bytes of a piece are passed on.
pub(super) enum Forwarded {
    /// This many have gone around the pseudo-terminal.
    Around(usize),
    /// This many have to be written to the pseudo-terminal, or to the pipe.
    Through(usize),
}

/// From where to where, and how.
pub(super) struct Route {
    pub(super) source: OwnedFd,
    pub(super) outlet: Arc<Outlet>,
    pub(super) tee: Option<Arc<Tee>>,
    /// Readable once the program has ended: then the relay reads what is there, and waits for no more.
    pub(super) ended: OwnedFd,
    /// Pages may go from pipe to pipe without being copied, while the queue is empty.
    pub(super) may_splice: bool,
    /// Messages must be whole lines, because they may be dropped. Lines up to this length are queued as one message.
    pub(super) whole_lines: Option<usize>,
    /// Each line begins with the time.
    pub(super) timestamps: bool,
    /// The destination is a terminal whose title shows the rate.
    pub(super) title: bool,
    /// For a program on a terminal; `None` on a pipe.
    pub(super) conversation: Option<Arc<Conversation>>,
}

/// State shared by the thread that passes keys on and the one that passes output on.
#[derive(Default)]
pub(super) struct Conversation {
    /// Counts the times that keys, or answers of the terminal, were given to the program.
    keys: AtomicU64,
    /// The destination takes no more output.
    has_ended: AtomicBool,
}

impl Conversation {
    /// Keys were given to the program.
    pub(super) fn typed(&self) {
        self.keys.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn keys(&self) -> u64 {
        self.keys.load(Ordering::Relaxed)
    }

    /// Whether no more of the program's output is passed on.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }
}

/// How often the title changes.
pub(super) const TITLE_EVERY: Duration = Duration::from_millis(500);

/// How a relay ended.
#[derive(Debug)]
pub(super) enum End {
    /// Everything the program wrote has been queued.
    Complete,
    /// The destination takes no more.
    Refused(io::Error),
    /// The destination has not taken all that was queued, although the relay was complete.
    NotFlushed(io::Error),
}

/// The most bytes of one read.
const CHUNK: usize = 256 << 10;
/// As much as a pseudo-terminal or a pipe holds.
const MOST_LEFT: usize = LARGEST_PIPE;
/// The longest time in which a terminal that reads accepts a few bytes.
const AT_ONCE: Duration = Duration::from_micros(100);

/// The cursor's column by a pseudo-terminal's own count, on which tabs and carriage returns depend in some modes. It
/// counts the bytes that it processes, and a line's end resets it to the first column in modes that make CR LF of LF. The
/// bytes that come from it do not show the mode in which they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorColumn {
    /// In the first column.
    First,
    /// Unknown, because bytes came through.
    Unknown,
    /// A line's end was sent through in such a mode, and `missing` bytes of it have not come yet. If more come, other bytes were
    /// written behind it, and the column is unknown.
    Sent { missing: usize },
}

/// A stream's state between two pieces.
struct RelayState {
    buffer: Vec<u8>,
    handover: Option<Handover>,
    lines: Lines,
    returns: Returns,
    stamps: Option<Stamps>,
    title: Option<(Rate, EscapeState, Instant)>,
    /// The conversation's count of keys when it was seen last.
    keys: u64,
    /// Bytes given to the queue.
    queued: u64,
    /// The last byte from a pseudo-terminal was not a line's end.
    is_mid_line: bool,
    column: CursorColumn,
    /// Bytes that go around the pseudo-terminal, processed as by that.
    processed: Vec<u8>,
    /// An error of the destination, for the relay's own thread to return.
    refused: Option<io::Error>,
}

/// A relay that queues no bytes.
pub(super) struct Pause<'a>(MutexGuard<'a, RelayState>);

impl RelayState {
    fn new(timestamps: bool, title: bool) -> Self {
        Self {
            buffer: vec![0; CHUNK],
            handover: None,
            lines: Lines::default(),
            returns: Returns::default(),
            stamps: timestamps.then(Stamps::default),
            title: title.then(|| (Rate::new(), EscapeState::default(), Instant::now())),
            keys: 0,
            queued: 0,
            is_mid_line: false,
            column: CursorColumn::First,
            processed: Vec::new(),
            refused: None,
        }
    }

    /// Whether pages were taken over and not handed on: they come before the source's.
    fn has_pages(&self) -> bool {
        let handover = self.handover.as_ref();
        handover.is_some_and(|handover| handover.left().is_some())
    }

    fn is_unfinished(&self) -> bool {
        !self.lines.are_whole() || self.returns.is_held()
    }
}

impl Relay {
    pub(super) fn new(route: Route) -> Self {
        let state = Mutex::new(RelayState::new(route.timestamps, route.title));
        let goes_on_in_file = route.conversation.is_some() && route.tee.is_some();
        let ends_at_hangup = !goes_on_in_file && !is_named_pipe(&*route.outlet);
        Self {
            route,
            state,
            has_destination_gone: AtomicBool::new(false),
            ends_at_hangup,
            listener: OnceLock::new(),
        }
    }

    /// Has the function called whenever bytes have come. It is set once.
    pub(super) fn tell(&self, listener: impl Fn() + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// Whether the program has ended, and processes that outlive it may write more: to a pipe. A terminal is kept by the leader of the
    /// session.
    pub(super) fn is_left(&self) -> bool {
        let mut looked = [
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::new(&self.source, PollFlags::IN),
            PollFd::from_borrowed_fd(self.outlet.as_fd(), PollFlags::empty()),
        ];
        if self.conversation.is_some() || poll(&mut looked, Some(&Timespec::default())).is_err() {
            return false;
        }
        let [ended, source, outlet] = looked.map(|looked| looked.revents());
        let is_read = !self.ends_at_hangup || outlet.is_empty();
        !ended.is_empty() && source != PollFlags::HUP && is_read
    }

    /// The numbers of the descriptors by which it works.
    pub(super) fn descriptors(&self) -> Vec<i32> {
        let mut all = vec![
            self.source.as_raw_fd(),
            self.ended.as_raw_fd(),
            self.outlet.as_fd().as_raw_fd(),
        ];
        all.extend(self.state().handover.iter().flat_map(Handover::descriptors));
        all.extend(self.tee.as_ref().and_then(|tee| tee.descriptor()));
        all
    }

    /// Handles an answer of the destination. When a terminal has gone, a file (`--tee`) still takes the output.
    fn answered<T>(&self, answer: io::Result<T>, of_none: T) -> io::Result<T> {
        let Err(error) = answer else {
            return answer;
        };
        // Writes on their way may fail once more after the diversion.
        if !self.has_destination_gone.load(Ordering::Relaxed) {
            let is_for_file = self.conversation.is_some() && self.tee.is_some();
            if !is_for_file || !has_gone(self.outlet.as_fd()) {
                return Err(error);
            }
            self.outlet.divert()?;
            self.has_destination_gone.store(true, Ordering::Relaxed);
        }
        Ok(of_none)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.answered(self.outlet.send(bytes), ())
    }

    /// Waits until the queue is empty, at most for [`AT_ONCE`].
    fn wait_for_outlet(&self) -> io::Result<()> {
        self.answered(self.outlet.empties_within(AT_ONCE), true)
            .map(drop)
    }

    /// Reads until the program has closed its side, or has ended and all is read.
    pub(super) fn run(&self) -> End {
        let pumped = self.pump();
        if let Some(conversation) = &self.conversation {
            conversation.has_ended.store(true, Ordering::Relaxed);
        }
        match pumped {
            Ok(()) => End::Complete,
            Err(error) => End::Refused(error),
        }
    }

    fn state(&self) -> MutexGuard<'_, RelayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pump(&self) -> io::Result<()> {
        let mut catching_up = CatchingUp::new();
        if self.may_splice && self.state().handover.is_none() {
            self.state().handover = Some(Handover::new()?);
        }
        let mut pace = FloodPace::new(&self.source);
        let (mut is_after_end, mut after_end) = (false, 0);
        loop {
            let (has_pages, is_unfinished) = {
                let state = self.state();
                (state.has_pages(), state.is_unfinished())
            };
            if !has_pages {
                match self.wait_for_bytes(is_unfinished)? {
                    Ready::Bytes => {
                        if let Some(listener) = self.listener.get() {
                            listener();
                        }
                    }
                    // The program's output is there; other processes may go on writing for ever.
                    Ready::LastBytes => {
                        if after_end >= MOST_LEFT {
                            return self.finish(&mut self.state());
                        }
                        is_after_end = true;
                    }
                    // While the reader lags, or as soon as it does, messages may be dropped, and so must be whole lines.
                    Ready::Unfinished
                        if self.whole_lines.is_some()
                            && (self.outlet.pending() > 0
                                || !self.state().lines.may_be_prompt()) =>
                    {
                        std::thread::sleep(LAG);
                        continue;
                    }
                    Ready::Unfinished => {
                        self.finish(&mut self.state())?;
                        continue;
                    }
                    Ready::End => return self.finish(&mut self.state()),
                }
            }
            let state = &mut *self.state();
            if let Some(handover) = &mut state.handover
                && !is_after_end
                && catching_up.has_caught_up(&self.outlet, state.queued)?
            {
                // In a flood, the program and the reader both wait for this thread.
                pace.come_first();
                let handed = handover.hand(self.source.as_fd(), self.outlet.as_fd());
                self.outlet
                    .handed_over(std::mem::take(&mut handover.passed));
                if handed? == Handed::All {
                    continue;
                }
            }
            let read = match self.read(state, CHUNK) {
                // A pseudoterminal whose other side is closed answers EIO.
                Ok(0) | Err(Errno::IO) => return self.finish(state),
                Ok(read) => read,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            };
            if is_after_end && !has_pages {
                after_end += read;
            }
            if self.pass_read(state, read)? {
                pace.answers();
            }
            if !pace.is_flood(read) {
                // In a burst the queue is drained only every few milliseconds, which would delay the answer to a key.
                self.wait_for_outlet()?;
            }
            pace.keep(read);
        }
    }

    /// Reads at most so many bytes into the buffer: first pages taken over and not handed on, then what the program has written. EAGAIN
    /// if there is none.
    fn read(&self, state: &mut RelayState, most: usize) -> Result<usize, Errno> {
        let buffer = &mut state.buffer[..most];
        if let Some(handover) = &mut state.handover
            && let Some(left) = handover.left()
        {
            let read = rustix::io::read(left, buffer)?;
            handover.read(read);
            return Ok(read);
        }
        if self.conversation.is_some() && !self.is_readable() {
            return Err(Errno::AGAIN);
        }
        rustix::io::read(&self.source, buffer)
    }

    /// Whether a read returns at once, with bytes or the end. On a pseudo-terminal, poll(2) answers after all bytes written to it
    /// have come through (`n_tty_poll` in the kernel waits for them).
    fn is_readable(&self) -> bool {
        let mut ready = [PollFd::new(&self.source, PollFlags::IN)];
        poll(&mut ready, Some(&Timespec::default())).is_ok_and(|count| count > 0)
    }

    /// Passes on all bytes written by now, unless the queue has no room within `limit`.
    pub(super) fn catch_up(&self, limit: Duration) {
        let Some(Pause(mut state)) = self.pause(limit) else {
            return;
        };
        let room = || self.outlet.room().min(CHUNK);
        let passed = self.pass_readable(&mut state, room).and_then(|_| {
            let may_drop = self.whole_lines.is_some() && self.outlet.pending() > 0;
            if may_drop {
                Ok(())
            } else {
                self.finish(&mut state)
            }
        });
        state.refused = passed.err();
    }

    /// Lets no bytes be queued while the result is there; `None` if the queue has no room within `limit`.
    pub(super) fn pause(&self, limit: Duration) -> Option<Pause<'_>> {
        let began = Instant::now();
        // The relay's own thread holds the state from its read until the bytes are queued.
        while began.elapsed() < limit {
            if let Ok(state) = self.state.try_lock() {
                return Some(Pause(state));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Passes on the available bytes, at most so many at a time and up to 0; returns false at the end.
    fn pass_readable(&self, state: &mut RelayState, most: impl Fn() -> usize) -> io::Result<bool> {
        loop {
            let most = most();
            if most == 0 {
                return Ok(true);
            }
            match self.read(state, most) {
                Ok(read) if read > 0 => drop(self.pass_read(state, read)?),
                Err(Errno::AGAIN) => return Ok(true),
                Err(Errno::INTR) => {}
                _ => return Ok(false),
            }
        }
    }

    /// Passes on the first `read` bytes of the buffer. Returns whether keys were typed since the last call.
    fn pass_read(&self, state: &mut RelayState, read: usize) -> io::Result<bool> {
        let buffer = std::mem::take(&mut state.buffer);
        state.is_mid_line = buffer[..read].last() != Some(&b'\n');
        state.column = match state.column {
            CursorColumn::Sent { missing } if read <= missing => CursorColumn::Sent {
                missing: missing - read,
            },
            _ => CursorColumn::Unknown,
        };
        let passed = self.pass(state, &buffer[..read]);
        state.buffer = buffer;
        passed
    }

    /// Passes on bytes. Returns whether keys were typed since the last call.
    fn pass(&self, state: &mut RelayState, bytes: &[u8]) -> io::Result<bool> {
        if let Some(error) = state.refused.take() {
            return Err(error);
        }
        if let Some(tee) = &self.tee {
            tee.write(bytes);
        }
        // While another job has the terminal, it makes CR LF of LF, as the pseudo-terminal has already done.
        let adds_returns =
            || super::terminal::adds_returns(self.outlet.as_fd()) && self.makes_returns();
        let is_on_terminal = self.conversation.is_some();
        let bytes = if is_on_terminal && (state.returns.is_held() || adds_returns()) {
            state.returns.without(bytes)
        } else {
            bytes
        };
        let bytes = match &mut state.stamps {
            Some(stamps) => stamps.stamp(bytes),
            None => bytes,
        };
        if let Some(longest) = self.whole_lines {
            state.lines.split(bytes, longest, |line| self.send(line))?;
        } else {
            self.send(bytes)?;
            state.queued += bytes.len() as u64;
        }
        if let Some((rate, place, shown)) = &mut state.title {
            place.follow(bytes);
            if *place == EscapeState::LineStart && shown.elapsed() > TITLE_EVERY {
                self.send(rate.title(self.outlet.counts()).as_bytes())?;
                *shown = Instant::now();
            }
        }
        let Some(conversation) = &self.conversation else {
            return Ok(false);
        };
        let keys = conversation.keys();
        Ok(std::mem::replace(&mut state.keys, keys) != keys)
    }

    /// Passes on bytes for the pseudo-terminal, and processes them here as that would have: possible for whole lines, while the
    /// pseudo-terminal takes output and at most makes CR LF of LF. Bytes written to it before come first. The ends of unfinished
    /// lines go through it, so that its count of the cursor's column stays right.
    pub(super) fn go_around(&self, terminal: &OwnedFd, bytes: &[u8], is_burst: bool) -> Forwarded {
        let state = &mut *self.state();
        match self.try_to_go_around(state, terminal, bytes, is_burst) {
            Ok(part) => part,
            Err(error) => {
                // Bytes that come through wake the relay's own thread, which returns the error.
                state.refused = Some(error);
                Forwarded::Through(bytes.len())
            }
        }
    }

    fn try_to_go_around(
        &self,
        state: &mut RelayState,
        terminal: &OwnedFd,
        bytes: &[u8],
        is_burst: bool,
    ) -> io::Result<Forwarded> {
        if !self.pass_readable(state, || CHUNK)? {
            return Ok(Forwarded::Through(bytes.len()));
        }
        let Some(adds_returns) = super::terminal::only_adds_returns(terminal) else {
            state.column = CursorColumn::Unknown;
            return Ok(Forwarded::Through(bytes.len()));
        };
        if let CursorColumn::Sent { missing } = state.column {
            state.column = match missing {
                0 => CursorColumn::First,
                _ => CursorColumn::Unknown,
            };
        }
        if state.is_mid_line || adds_returns && state.column != CursorColumn::First {
            let end = memchr::memchr(b'\n', bytes);
            let length = end.map_or(bytes.len(), |end| end + 1);
            if end.is_some() && adds_returns {
                // Plus the carriage return.
                let missing = length + 1;
                state.column = CursorColumn::Sent { missing };
            }
            return Ok(Forwarded::Through(length));
        }
        let Some(length) = memchr::memrchr(b'\n', bytes).map(|end| end + 1) else {
            return Ok(Forwarded::Through(bytes.len()));
        };
        // A terminal that is stopped (Ctrl-S, tcflow(3)) or has gone takes no output.
        let mut ready = [PollFd::new(terminal, PollFlags::OUT)];
        let takes = poll(&mut ready, Some(&Timespec::default())).is_ok()
            && ready[0].revents() == PollFlags::OUT;
        if !takes || self.outlet.room() < 2 * length {
            return Ok(Forwarded::Through(bytes.len()));
        }
        let bytes = &bytes[..length];
        let is_answer = if adds_returns {
            let mut processed = std::mem::take(&mut state.processed);
            processed.clear();
            let mut from = 0;
            for end in memchr::memchr_iter(b'\n', bytes) {
                processed.extend_from_slice(&bytes[from..end]);
                processed.extend_from_slice(b"\r\n");
                from = end + 1;
            }
            let passed = self.pass(state, &processed);
            state.processed = processed;
            passed?
        } else {
            self.pass(state, bytes)?
        };
        if is_answer || !is_burst {
            self.wait_for_outlet()?;
        }
        Ok(Forwarded::Around(length))
    }

    /// Passes on bytes held back.
    fn finish(&self, state: &mut RelayState) -> io::Result<()> {
        let held = state.returns.finish();
        state.lines.finish(held, |line| self.send(line))
    }

    /// Whether the pseudo-terminal makes CR LF of LF; its settings are seen from both sides.
    fn makes_returns(&self) -> bool {
        super::terminal::adds_returns(&self.source)
    }

    /// Waits until there are bytes to read, or the program has ended and all is read; with an
    /// unfinished line in hand, at most [`LINE_PATIENCE`], or [`LOSSY_PATIENCE`].
    fn wait_for_bytes(&self, unfinished: bool) -> io::Result<Ready> {
        let mut waiting = [
            PollFd::new(&self.source, PollFlags::IN),
            PollFd::new(&self.ended, PollFlags::IN),
            PollFd::from_borrowed_fd(self.outlet.as_fd(), PollFlags::empty()),
        ];
        // A program that does not write has to see that its terminal, or the reader of its pipe, has gone. Two destinations are not
        // asked. After the end of a terminal, `--tee` still takes the output. A pipe with a name can get another reader: only a
        // write shows that it has none.
        let asked = if self.ends_at_hangup { 3 } else { 2 };
        let patience = match self.whole_lines {
            Some(_) => &LOSSY_PATIENCE,
            None => &LINE_PATIENCE,
        };
        loop {
            match poll(&mut waiting[..asked], unfinished.then_some(patience)) {
                Ok(0) => return Ok(Ready::Unfinished),
                Ok(_) if !waiting[2].revents().is_empty() => return Ok(Ready::End),
                // The source was looked at before the end was: bytes written in between are there now.
                Ok(_) if waiting[0].revents().is_empty() && !self.is_readable() => {
                    return Ok(Ready::End);
                }
                Ok(_) if waiting[1].revents().is_empty() => return Ok(Ready::Bytes),
                Ok(_) => return Ok(Ready::LastBytes),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The result of waiting for bytes.
enum Ready {
    Bytes,
    /// The program has ended.
    LastBytes,
    /// No bytes came in time, and an unfinished line is held.
    Unfinished,
    End,
}

/// An unfinished line is passed on after this time: it may be a prompt.
const LINE_PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};
/// The same where output may be dropped: the rest of a line could be. The program may only have been waiting for a processor.
const LOSSY_PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
/// The interval between looks at a reader that lags, with an unfinished line in hand.
const LAG: Duration = Duration::from_millis(20);

/// Whether a pipe has a name in a file system (fifo(7)). Other pipes are in a file system of the kernel's own.
pub(super) fn is_named_pipe(descriptor: impl AsFd) -> bool {
    const PIPEFS_MAGIC: u64 = 0x5049_5045;
    is_pipe(&descriptor)
        && rustix::fs::fstatfs(descriptor).is_ok_and(|system| system.f_type as u64 != PIPEFS_MAGIC)
}

/// Whether a descriptor leads to a pipe.
pub(super) fn is_pipe(descriptor: impl AsFd) -> bool {
    rustix::fs::fstat(descriptor).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_line_that_another_mode_has_ended_is_noticed_though_both_are_read_at_once() {
        use rustix::termios::{OptionalActions, OutputModes, tcgetattr, tcsetattr};
        let (source, terminal) = crate::platform::pty::open().unwrap();
        let nowhere = std::fs::File::create("/dev/null").unwrap();
        let buffering = outpace::Buffering::Background {
            capacity: 1 << 20,
            overflow: outpace::Overflow::Block,
        };
        let relay = Relay::new(Route {
            source,
            outlet: Arc::new(Outlet::new(nowhere.into(), buffering).unwrap()),
            tee: None,
            ended: rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap(),
            may_splice: false,
            whole_lines: None,
            timestamps: false,
            title: false,
            conversation: Some(Arc::new(Conversation::default())),
        });
        let set = |modes| {
            let mut settings = tcgetattr(&terminal).unwrap();
            settings.output_modes = modes;
            tcsetattr(&terminal, OptionalActions::Now, &settings).unwrap();
        };
        let write = |text: &[u8]| assert_eq!(rustix::io::write(&terminal, text), Ok(text.len()));
        let goes_around = |text: &[u8]| match relay.go_around(&terminal, text, false) {
            Forwarded::Around(length) => (true, length),
            Forwarded::Through(length) => (false, length),
        };
        let cooked = OutputModes::OPOST | OutputModes::ONLCR;
        for ending in [&b"\n"[..], b"\r\n"] {
            set(cooked);
            write(b"abc");
            set(OutputModes::empty());
            write(ending);
            set(cooked);
            // The pseudo-terminal has the cursor in the fourth column until it sees the end of a line.
            assert_eq!(goes_around(b"d\ne\n"), (false, 2));
            write(b"d\n");
            assert_eq!(goes_around(b"e\nf\n"), (true, 4));
        }
    }
}
