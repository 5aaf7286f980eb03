//! Keeps text that a program prints on standard output behind the frames it has drawn before.
//!
//! `execute!(stdout(), LeaveAlternateScreen)` after a draw call must reach the terminal after that frame, though another
//! thread writes the frame. Everything that goes through [`std::io::stdout`] takes its lock; so while frames are on their
//! way, a thread of ours holds that lock. The presenter's thread cannot: the program may hold the lock for as long as it
//! runs, and frames must appear all the same.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::Output;
use super::shared::Shared;
use crate::sys;

/// How long a draw call may wait for the lock to be taken: some 20 µs are the rule.
const LIMIT: Duration = Duration::from_millis(1);
/// How long the presenter's thread then waits for it, once, if the program holds the lock itself. It waits on while the thread that takes
/// the lock waits for a processor.
const PRESENTERS_LIMIT: Duration = Duration::from_millis(100);
/// Text that the program printed before the lock was taken may have been the first half of leaving the screen. The
/// presenter's thread waits this long for the other half, the end of raw mode, after which it does not draw; and on while the thread that
/// drew waits for a processor, until it has had one for [`GRACE_OF_PROCESSOR`].
const GRACE: Duration = Duration::from_millis(100);
const GRACE_OF_PROCESSOR: Duration = Duration::from_millis(20);
/// How often a thread that waits for a processor is looked at.
const STEP: Duration = Duration::from_millis(10);
/// How often the thread that waits to flush checks whether the gate was opened meanwhile.
const FLUSH_STEP: Duration = Duration::from_millis(20);

/// Which lock to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Writes the program's text so far: it comes before the next frame.
    pub(super) fn flush(self) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().flush(),
            Self::Stderr => Ok(()),
        }
    }

    /// Whether a flush would not wait: the stream has no buffer, or the terminal takes bytes within the limit.
    fn wait_writable(self, limit: Duration) -> bool {
        match self {
            Self::Stdout => sys::wait_stdout_writable(limit),
            Self::Stderr => true,
        }
    }
}

#[derive(Default)]
struct GateState {
    /// Frames are on their way.
    closed: bool,
    /// The lock is held.
    held: bool,
    /// The program's text before the frame is written.
    flushed: bool,
    /// The draw call returned before the lock was held, on this thread.
    late: Option<Caller>,
    /// The program held the lock itself the last time: there is no use in waiting until the thread has got it.
    taken_elsewhere: bool,
    /// The program waits for its last frame.
    ending: bool,
    quit: bool,
}

/// The thread of a draw call. `None`: the system does not tell of threads.
struct Caller(Option<sys::Thread>);

impl Caller {
    fn run_time(&self) -> Option<Duration> {
        self.0.as_ref().map(sys::Thread::run_time)
    }

    /// Whether it waits for a processor, and has had one for less than the grace since `start`.
    fn needs_time(&self, start: Option<Duration>) -> bool {
        let is_runnable = self.0.as_ref().is_some_and(sys::Thread::is_runnable);
        // One that has ended has no time any more.
        let ran = self.run_time().zip(start);
        let ran = ran.map(|(now, start)| now.saturating_sub(start));
        is_runnable && ran.is_some_and(|ran| ran < GRACE_OF_PROCESSOR)
    }
}

/// The gate's thread, on its way to the lock.
#[derive(Default)]
struct Taker {
    thread: OnceLock<Option<sys::Thread>>,
    is_locking: AtomicBool,
}

impl Taker {
    /// Whether it sleeps for the lock, which the program holds. Not to be asked while it may wait for something else, the state's lock.
    fn is_refused(&self) -> bool {
        self.is_locking.load(Ordering::Acquire) && !self.is_runnable()
    }

    /// Whether it has come to the lock, and waits for a processor.
    fn is_about_to_hold(&self) -> bool {
        self.is_locking.load(Ordering::Acquire) && self.is_runnable()
    }

    fn is_runnable(&self) -> bool {
        let thread = self.thread.get().and_then(Option::as_ref);
        thread.is_some_and(sys::Thread::is_runnable)
    }
}

impl Shared<GateState> {
    fn wait<'a>(
        &'a self,
        state: MutexGuard<'a, GateState>,
        until: impl Fn(&GateState) -> bool,
    ) -> MutexGuard<'a, GateState> {
        self.changed
            .wait_while(state, |state| !until(state))
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, stream: Stream, taker: &Taker) {
        taker.thread.get_or_init(sys::Thread::current);
        loop {
            let state = self.wait(self.state(), |state| state.closed || state.quit);
            if state.quit {
                return;
            }
            drop(state);
            taker.is_locking.store(true, Ordering::Release);
            match stream {
                Stream::Stdout => self.hold(stream, taker, io::stdout().lock()),
                Stream::Stderr => self.hold(stream, taker, io::stderr().lock()),
            }
        }
    }

    /// Holds the lock until the gate is opened.
    fn hold<L: Write>(&self, stream: Stream, taker: &Taker, mut lock: L) {
        taker.is_locking.store(false, Ordering::Release);
        // Text that the program has printed and not flushed comes before the frame, as through crossterm's backend, which uses the same
        // buffer. A terminal that does not read keeps the frame waiting, too, but no draw call, and no lock once the terminal is given
        // up. (A terminal with room for a part of the text keeps the lock.)
        let mut flush = |limit| {
            let is_ready = stream.wait_writable(limit);
            if is_ready {
                // The presenter's thread finds out whether the terminal is gone.
                let _ = lock.flush();
            }
            is_ready
        };
        let mut flushed = flush(Duration::ZERO);
        let mut state = self.state();
        state.held = true;
        state.flushed = flushed;
        state.taken_elsewhere = false;
        drop(state);
        self.changed.notify_all();
        if !flushed {
            while !flushed && self.is_closed() {
                flushed = flush(FLUSH_STEP);
            }
            self.state().flushed = true;
            self.changed.notify_all();
        }
        let state = self.state();
        let mut state = self.wait(state, |state| !state.closed || state.quit);
        state.held = false;
        drop(state);
        drop(lock);
    }

    fn is_closed(&self) -> bool {
        let state = self.state();
        state.closed && !state.quit
    }
}

/// The gate before a standard stream.
pub(super) struct Gate {
    shared: Arc<Shared<GateState>>,
    stream: Stream,
    started: AtomicBool,
    taker: Arc<Taker>,
}

impl Gate {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            shared: Arc::default(),
            stream,
            started: AtomicBool::new(false),
            taker: Arc::default(),
        }
    }

    /// Starts the thread that holds the lock, unless that has been done: before the gate is closed.
    pub(super) fn start(&self) -> io::Result<()> {
        if !self.started.swap(true, Ordering::Relaxed) {
            let (theirs, stream, taker) = (self.shared.clone(), self.stream, self.taker.clone());
            super::spawn("outpace-gate", move || theirs.run(stream, &taker))?;
        }
        Ok(())
    }

    pub(super) fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether the gate's thread leaves the lock free, for a draw call that writes the frame itself and takes the lock for a moment.
    pub(super) fn is_open(&self) -> bool {
        let state = self.shared.state();
        !state.closed && !state.held
    }

    /// Writes the text of the stream's other writers, and holds them back until the value is dropped: for a draw call that writes the frame
    /// itself. `None`: that was not done within a moment.
    pub(super) fn try_hold(&self) -> io::Result<Option<Held<'_>>> {
        self.start()?;
        let mut state = self.shared.state();
        if state.taken_elsewhere || state.closed {
            return Ok(None);
        }
        state.closed = true;
        self.shared.changed.notify_all();
        let held = Held(self);
        let pending = |state: &mut GateState| !(state.held && state.flushed);
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, LIMIT / 2, pending)
            .unwrap_or_else(PoisonError::into_inner);
        let is_held = state.held && state.flushed;
        drop(state);
        Ok(is_held.then_some(held))
    }

    /// Holds the stream's other writers back from now on, or soon.
    pub(super) fn close(&self) {
        self.shared.state().closed = true;
        self.notify();
    }

    /// Only the gate's thread, and threads that wait for it, wait for a change.
    fn notify(&self) {
        if self.has_started() {
            self.shared.changed.notify_all();
        }
    }

    /// For the draw call, after [`close`](Self::close): waits a moment until they are held back for sure. If they are not, that is left to the
    /// presenter's thread. The lock stays free until then: the program may have printed the first half of leaving the screen, and need it for the
    /// rest.
    pub(super) fn wait_until_held(&self) {
        let state = self.shared.state();
        if !state.taken_elsewhere {
            // Done, too, if the frame has been written by then.
            let mut state = self.wait_for_lock(state, LIMIT);
            if state.closed && !state.held {
                state.closed = false;
                state.late = Some(Caller(sys::Thread::current()));
                drop(state);
                self.notify();
            }
        }
    }

    /// For the presenter's thread, before it writes: waits where the draw call did not, and until the program's text is written.
    pub(super) fn catch_up(&self, output: &Output) {
        let mut state = self.shared.state();
        if state.taken_elsewhere {
            return;
        }
        let mut limit = PRESENTERS_LIMIT;
        loop {
            state = self.wait_for_lock(state, limit);
            if let Some(caller) = state.late.take() {
                drop(state);
                // The program may be in the middle of a write, as long as the terminal takes no bytes.
                output.wait();
                self.give_time(&caller);
                self.close();
                state = self.shared.state();
                continue;
            }
            if !state.closed || state.held || state.ending {
                break;
            }
            drop(state);
            let is_refused = self.taker.is_refused();
            state = self.shared.state();
            if is_refused && state.late.is_none() {
                state.taken_elsewhere = state.closed && !state.held;
                break;
            }
            limit = STEP;
        }
        let printed = |state: &GateState| state.flushed || !state.held || !state.closed;
        drop(self.shared.wait(state, printed));
    }

    /// Gives the thread of a draw call time for the other half of leaving the screen.
    fn give_time(&self, caller: &Caller) {
        let start = caller.run_time();
        let mut time = GRACE;
        loop {
            let state = self.wait_while(self.shared.state(), time, |_| true);
            let (is_held, is_ending) = (state.held, state.ending);
            drop(state);
            // The gate's thread, which came too late, has the lock for a moment.
            let is_held = is_held || self.taker.is_about_to_hold();
            if is_ending || !is_held && !caller.needs_time(start) {
                return;
            }
            time = STEP;
        }
    }

    /// The program has come to its last call, and prints nothing before that returns: no frame waits for its text any more.
    pub(super) fn end(&self) {
        self.shared.state().ending = true;
        self.notify();
    }

    fn wait_for_lock<'a>(
        &'a self,
        state: MutexGuard<'a, GateState>,
        limit: Duration,
    ) -> MutexGuard<'a, GateState> {
        self.wait_while(state, limit, |state| state.closed && !state.held)
    }

    fn wait_while<'a>(
        &'a self,
        state: MutexGuard<'a, GateState>,
        limit: Duration,
        holds: impl Fn(&GateState) -> bool,
    ) -> MutexGuard<'a, GateState> {
        self.shared
            .changed
            .wait_timeout_while(state, limit, |state| holds(state) && !state.ending)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// Lets the stream's other writers write again.
    pub(super) fn open(&self) {
        self.shared.state().closed = false;
        self.notify();
    }
}

/// The stream's other writers are held back.
pub(super) struct Held<'a>(&'a Gate);

impl Held<'_> {
    /// Holds them back until the gate is opened.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.shared.state().quit = true;
        self.notify();
    }
}

#[cfg(all(test, target_os = "linux", not(outpace_portable)))]
mod tests {
    use std::io::Read;
    use std::sync::{Mutex, mpsc};

    use super::*;
    use crate::present::output::tests::{fill, terminal};

    /// There is one standard output for all tests of the process.
    static ALONE: Mutex<()> = Mutex::new(());

    /// The gate came too late for a draw call, since the lock was taken. The program prints on: it may be leaving the screen.
    fn late_gate() -> Gate {
        let gate = Gate::new(Stream::Stdout);
        gate.start().unwrap();
        let lock = io::stdout().lock();
        gate.close();
        gate.wait_until_held();
        drop(lock);
        gate
    }

    #[test]
    fn a_frame_waits_for_a_program_whose_text_waits_for_the_terminal() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut emulator, terminal) = terminal();
        let full = fill(&terminal);
        let gate = late_gate();
        let reads = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gate.catch_up(&Output::Terminal(terminal));
                gate.open();
                assert!(reads.load(Ordering::Acquire), "it has not waited");
            });
            // Longer than the grace.
            std::thread::sleep(4 * GRACE);
            reads.store(true, Ordering::Release);
            emulator.read_exact(&mut vec![0; full]).unwrap();
        });
    }

    #[test]
    fn a_frame_of_a_thread_that_has_ended_meanwhile_is_written() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (_emulator, terminal) = terminal();
        let (give, given) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let drawing = std::thread::spawn(move || {
            give.send(late_gate()).unwrap();
            ends.recv().unwrap_err();
        });
        let gate = given.recv().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gate.catch_up(&Output::Terminal(terminal));
                gate.open();
            });
            // Within the grace.
            std::thread::sleep(GRACE / 4);
            drop(end);
            drawing.join().unwrap();
        });
    }

    /// `execute!` takes the lock twice: to print, and to flush.
    #[test]
    fn a_program_that_the_gate_came_too_late_for_gets_the_lock_again() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (_emulator, terminal) = terminal();
        let gate = late_gate();
        let has_left = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gate.catch_up(&Output::Terminal(terminal));
                gate.open();
                assert!(has_left.load(Ordering::Acquire), "it was held back");
            });
            for _ in 0..100 {
                drop(io::stdout().lock());
                std::thread::yield_now();
            }
            has_left.store(true, Ordering::Release);
        });
    }
}
