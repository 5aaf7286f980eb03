//! The presenter's thread, which writes, and the state that it shares with the application.
//!
//! Frames wait in a slot, where the next replaces the one before. Commands, and lines that scroll into the scrollback, must not be
//! lost: they wait in order as bytes. The renderer knows the screen as it is after all bytes so far. The thread that
//! locks it may add bytes, so the application never waits for the terminal. Nor does it draw a large frame that a command comes behind:
//! both wait together, and no other frame replaces that one.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::damage::Damage;
use super::fast_path::{self, FastPath};
use super::gate::Gate;
use super::output::{Output, Tempo};
use super::{Failure, Make, Scrolling};
use crate::model::{Screen, Stats};
use crate::render::{Renderer, SHOW_CURSOR};
use crate::sys;

/// So many bytes that must not be lost may wait. Then the application waits, too.
const MOST_WAITING: usize = 16 << 20;
/// With so many bytes waiting, the terminal has stalled: commands go before the frame that waits, so that a newer frame can still
/// replace it.
const STALLED: usize = 64 << 10;
/// The same with so many frames that have commands behind them.
const MOST_SEALED: usize = 4;

/// A frame that waits.
struct PendingFrame {
    screen: Screen,
    damage: Damage,
    /// The terminal was in raw mode when the frame's cells were drawn.
    raw: bool,
}

impl PendingFrame {
    /// Adds the bytes that draw it.
    fn render(&mut self, renderer: &mut Renderer, bytes: &mut Vec<u8>) {
        self.damage.apply(renderer, &self.screen);
        bytes.extend_from_slice(renderer.render(&self.screen));
    }
}

/// Bytes of the application's own, and the frame before them, which waits, or which the presenter's thread draws.
struct Sealed {
    frame: Option<Box<PendingFrame>>,
    then: Vec<u8>,
}

/// The bytes and the frames that wait, and the thread's reports.
#[derive(Default)]
struct Slot {
    /// Bytes that come before the frames. None are added while frames with commands behind them wait.
    bytes: Vec<u8>,
    /// How many of them, the first, are the rest of a frame that was drawn in raw mode.
    rest: usize,
    /// Frames with commands behind them.
    sealed: VecDeque<Sealed>,
    /// The last one.
    frame: Option<Box<PendingFrame>>,
    /// A frame whose memory can be used again.
    spare: Option<Box<PendingFrame>>,
    /// When a thread began to write, or to wait for the terminal. `None`: no thread does.
    busy_since: Option<Instant>,
    /// The presenter's thread was woken and has not been idle since.
    active: bool,
    /// The last frame was large, or its terminal slow: the presenter's thread writes the next one.
    is_heavy: bool,
    tempo: Tempo,
    stats: Stats,
    skipped: u64,
    error: Option<Failure>,
    /// The terminal is about to be given back: output is not taken any more, and what is on its way is still written.
    closing: bool,
    stop: bool,
    stopped: bool,
    /// How many threads wait for `finished`: without one, it is not worth a system call.
    waiting: usize,
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.sealed.is_empty() && self.frame.is_none()
    }

    fn is_idle(&self) -> bool {
        self.is_empty() && self.busy_since.is_none()
    }

    /// How many bytes wait that must not be lost.
    fn waiting_bytes(&self) -> usize {
        let sealed = self.sealed.iter().map(|sealed| sealed.then.len());
        self.bytes.len() + sealed.sum::<usize>()
    }

    /// Adds a command, behind a frame if there is one.
    fn seal(&mut self, frame: Option<Box<PendingFrame>>, command: &[u8]) {
        match self.sealed.back_mut() {
            Some(last) if frame.is_none() => last.then.extend_from_slice(command),
            _ => self.sealed.push_back(Sealed {
                frame,
                then: command.to_vec(),
            }),
        }
    }

    /// Draws a frame into the bytes.
    fn draw(&mut self, renderer: &mut Renderer, mut frame: Box<PendingFrame>) {
        frame.render(renderer, &mut self.bytes);
        self.stats.frames_presented += 1;
        self.spare = Some(frame);
    }

    /// Makes bytes of the frames with commands behind them. `is_seen`: their frames will be.
    fn unseal(&mut self, renderer: &mut Renderer, is_seen: bool) {
        while let Some(Sealed { frame, then }) = self.sealed.pop_front() {
            match frame {
                Some(frame) if is_seen => self.draw(renderer, frame),
                frame => self.skipped += u64::from(frame.is_some()),
            }
            renderer.after_passthrough(None);
            self.bytes.extend_from_slice(&then);
        }
    }

    fn check(&self) -> io::Result<()> {
        self.error
            .as_ref()
            .map_or(Ok(()), |failure| Err(failure.report()))
    }
}

/// The state that application and presenter's thread share. Lock order: the renderer, then the slot, then the output or the gate.
pub(crate) struct Worker {
    renderer: Mutex<Renderer>,
    slot: Mutex<Slot>,
    /// Bytes or a frame wait, or the thread shall end.
    arrived: Condvar,
    /// A write is finished, or the thread has ended.
    finished: Condvar,
    gate: Option<Gate>,
    /// The thread's output, until it starts.
    output: Mutex<Option<Output>>,
    /// Set when the terminal was given back: from then on no bytes are written.
    pub(super) closed: Arc<AtomicBool>,
    /// A write was given up while it was in progress.
    stuck: AtomicBool,
    fewest_bytes: bool,
}

impl Worker {
    /// A worker whose threads start when they are first needed.
    pub(super) fn new(
        renderer: Renderer,
        output: Output,
        fewest_bytes: bool,
        gate: Option<Gate>,
    ) -> Arc<Self> {
        Arc::new(Self {
            renderer: Mutex::new(renderer),
            slot: Mutex::default(),
            arrived: Condvar::new(),
            finished: Condvar::new(),
            gate,
            output: Mutex::new(Some(output)),
            closed: Arc::default(),
            stuck: AtomicBool::new(false),
            fewest_bytes,
        })
    }

    fn output(&self) -> MutexGuard<'_, Option<Output>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_started(&self) -> bool {
        self.output().is_none()
    }

    /// Starts the threads, unless they have been started.
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let Some(output) = self.output().take() else {
            return Ok(());
        };
        let started = self
            .gate
            .as_ref()
            .map_or(Ok(()), Gate::start)
            .and_then(|()| {
                let theirs = self.clone();
                super::spawn("outpace-presenter", move || theirs.run(output))
            });
        if let Err(error) = &started {
            let mut slot = self.slot();
            slot.error = Some(Failure::starting(error));
            slot.stopped = true;
        }
        started
    }

    /// How many threads of the process are this worker's, while they wait for work.
    fn threads(&self) -> u64 {
        let gate = self.gate.as_ref().is_some_and(Gate::has_started);
        u64::from(self.has_started()) + u64::from(gate)
    }

    /// Writes the bytes of `make` on the calling thread, if none are on their way and the terminal takes bytes at once. Leaves to the
    /// presenter's thread the bytes that the terminal does not take within a moment. Returns whether that was done.
    pub(super) fn write_now(
        self: &Arc<Self>,
        path: &mut FastPath,
        is_frame: bool,
        make: Make<'_>,
    ) -> io::Result<bool> {
        let mut slot = self.slot();
        slot.check()?;
        if slot.closing {
            return Ok(true);
        }
        if slot.is_heavy || slot.active || !slot.is_idle() || !path.is_ready() {
            return Ok(false);
        }
        slot.busy_since = Some(Instant::now());
        let thorough = self.fewest_bytes || slot.tempo.is_slow();
        drop(slot);
        let turn = Turn(self);
        let Some(printed) = path.hold_back(self.gate.as_ref(), self.threads())? else {
            return Ok(false);
        };
        // A stop would give the terminal to the shell between drawing and writing.
        let written = sys::without_signals(|| {
            let _writing = sys::Writing::begin();
            path.bytes.clear();
            let mut renderer = self.renderer();
            renderer.be_thorough(thorough);
            make(&mut renderer, &mut path.bytes);
            drop(renderer);
            if self.closed.load(Ordering::Acquire) {
                path.bytes.clear();
            }
            path.write()
        });
        let mut slot = self.slot();
        turn.end(&mut slot);
        slot.stats.frames_presented += u64::from(is_frame);
        let written = match written {
            Ok(written) => written,
            Err(error) => {
                let error = slot.error.insert(Failure::new(&error)).report();
                self.notify_finished(slot);
                return Err(error);
            }
        };
        slot.stats.bytes += written.bytes as u64;
        slot.stats.writes += written.calls;
        slot.stats.time_behind += written.took;
        let left = &path.bytes[written.bytes..];
        slot.is_heavy = !left.is_empty() || !fast_path::suits(written.bytes);
        if left.is_empty() {
            slot.tempo.note(written.bytes, written.took);
            self.notify_finished(slot);
            return Ok(true);
        }
        slot.bytes.extend_from_slice(left);
        slot.rest = if is_frame && path.is_raw() {
            left.len()
        } else {
            0
        };
        drop(slot);
        printed.keep();
        self.start()?;
        self.wake(self.slot());
        Ok(true)
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renderer(&self) -> MutexGuard<'_, Renderer> {
        self.renderer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, output: Output) {
        let _ended = Ended(self);
        // Dropped before `_ended`: closed when the end is noted.
        let mut output = output;
        let mut bytes = Vec::new();
        while self.wait_for_work() {
            if let Some(gate) = &self.gate {
                gate.catch_up(&output);
            }
            // Before the frame is taken: the terminal's mode is looked at then, and has to hold until the frame is written.
            let writing = sys::Writing::begin();
            let mut stats = self.slot().stats;
            let is_frame = self.take_bytes(&mut bytes, &output);
            let result = match self.closed.load(Ordering::Acquire) {
                true => Ok(Duration::ZERO),
                false => output.write(&bytes, &mut stats),
            };
            writing.end();
            let mut slot = self.slot();
            slot.busy_since = None;
            slot.stats = Stats {
                frames_presented: slot.stats.frames_presented,
                ..stats
            };
            match result {
                Ok(took) if is_frame => {
                    slot.tempo.note(bytes.len(), took);
                    slot.is_heavy = !fast_path::suits_after(bytes.len(), took);
                }
                Ok(_) => {}
                Err(error) => slot.error = Some(Failure::new(&error)),
            }
            let failed = slot.error.is_some();
            self.notify_finished(slot);
            if failed {
                return;
            }
        }
        if !self.closed.swap(true, Ordering::AcqRel) {
            let mut stats = self.slot().stats;
            let result = output.write(self.renderer().farewell(), &mut stats);
            let mut slot = self.slot();
            slot.stats = stats;
            slot.error = result.err().map(|error| Failure::new(&error));
        }
    }

    /// Returns `false` when everything is written and the thread shall end.
    fn wait_for_work(&self) -> bool {
        let mut slot = self.slot();
        while slot.is_empty() {
            // Only if it was active. After a spurious wake-up the gate may be closed for a draw call that writes by itself.
            if std::mem::take(&mut slot.active)
                && let Some(gate) = &self.gate
            {
                gate.open();
            }
            if slot.stop {
                return false;
            }
            slot = self
                .arrived
                .wait(slot)
                .unwrap_or_else(PoisonError::into_inner);
        }
        slot.busy_since = Some(Instant::now());
        true
    }

    /// Takes the bytes to be written next: those that wait, or else those of the first frame, and of the commands behind it. Returns whether
    /// it was a frame.
    fn take_bytes(&self, bytes: &mut Vec<u8>, output: &Output) -> bool {
        let mut renderer = self.renderer();
        let mut slot = self.slot();
        bytes.clear();
        if !slot.bytes.is_empty() {
            std::mem::swap(bytes, &mut slot.bytes);
            let rest = std::mem::take(&mut slot.rest);
            drop(slot);
            if rest > 0 && is_left(&renderer, output) {
                bytes.drain(..rest);
                renderer.forget();
            }
            return false;
        }
        let (frame, then) = match slot.sealed.pop_front() {
            Some(Sealed { frame, then }) => (frame, Some(then)),
            None => (slot.frame.take(), None),
        };
        let is_slow = slot.tempo.is_slow();
        drop(slot);
        let is_frame = frame.is_some();
        if let Some(frame) = frame {
            self.draw(frame, &mut renderer, bytes, is_slow, output);
        }
        if let Some(then) = then {
            renderer.after_passthrough(None);
            bytes.extend_from_slice(&then);
        }
        is_frame
    }

    /// Adds the bytes of a frame, unless the application has left its screen.
    fn draw(
        &self,
        mut frame: Box<PendingFrame>,
        renderer: &mut Renderer,
        bytes: &mut Vec<u8>,
        is_slow: bool,
        output: &Output,
    ) {
        let gone = frame.raw && is_left(renderer, output);
        if gone {
            renderer.forget();
            if frame.screen.cursor.visible {
                bytes.extend_from_slice(SHOW_CURSOR.as_bytes());
            }
        } else {
            renderer.be_thorough(self.fewest_bytes || is_slow);
            frame.render(renderer, bytes);
        }
        let mut slot = self.slot();
        slot.stats.frames_presented += u64::from(!gone);
        slot.skipped += u64::from(gone);
        slot.spare = Some(frame);
    }

    /// Wakes the thread. If it was idle, the gate is closed first.
    fn wake(&self, mut slot: MutexGuard<'_, Slot>) {
        let idle = !std::mem::replace(&mut slot.active, true);
        let gate = self.gate.as_ref().filter(|_| idle);
        // While the slot is locked: the thread opens the gate only when it finds the slot empty.
        if let Some(gate) = gate {
            gate.close();
        }
        drop(slot);
        self.arrived.notify_one();
        if let Some(gate) = gate {
            gate.wait_until_held();
        }
    }

    /// Leaves a frame; `damage` is empty afterwards. `is_drawn`: its cells were drawn now, and not the cursor alone, as where the application
    /// shows that when it has left the screen.
    pub(super) fn present(
        self: &Arc<Self>,
        screen: &Screen,
        damage: &mut Damage,
        is_drawn: bool,
        raw: bool,
        max_lag: Option<Duration>,
    ) -> io::Result<()> {
        self.start()?;
        let mut slot = self.slot();
        slot.check()?;
        if let (Some(limit), Some(_)) = (max_lag, slot.busy_since) {
            drop(slot);
            slot = self.wait_until(None, |slot| {
                let recent = |since: Instant| since.elapsed() < limit;
                slot.error.is_some() || slot.busy_since.is_none_or(recent)
            });
        }
        // An unread frame is replaced, but its damage still holds.
        let mut was_raw = false;
        let mut frame = match slot.frame.take() {
            Some(unread) => {
                slot.skipped += 1;
                was_raw = unread.raw;
                unread
            }
            None => slot.spare.take().unwrap_or_else(|| {
                Box::new(PendingFrame {
                    screen: Screen::untouched(0, 0),
                    damage: Damage::default(),
                    raw,
                })
            }),
        };
        drop(slot);
        frame.screen.copy_from(screen);
        frame.damage.absorb(damage);
        frame.raw = raw || was_raw && !is_drawn;
        let mut slot = self.slot();
        if !slot.closing {
            slot.frame = Some(frame);
            self.wake(slot);
        }
        Ok(())
    }

    /// Waits only while far too many bytes wait already that must not be lost.
    fn wait_for_room(self: &Arc<Self>) -> io::Result<()> {
        self.start()?;
        drop(self.wait_until(None, |slot| {
            slot.error.is_some() || slot.stopped || slot.waiting_bytes() < MOST_WAITING
        }));
        Ok(())
    }

    /// Locks renderer and slot to add bytes that must not be lost.
    fn lock_to_add(
        self: &Arc<Self>,
    ) -> io::Result<(MutexGuard<'_, Renderer>, MutexGuard<'_, Slot>)> {
        self.wait_for_room()?;
        let renderer = self.renderer();
        let slot = self.slot();
        slot.check()?;
        Ok((renderer, slot))
    }

    /// Scrolls the screen and the terminal, after the frames before.
    pub(super) fn perform(
        self: &Arc<Self>,
        screen: &mut Screen,
        damage: &mut Damage,
        scrolling: Scrolling,
    ) -> io::Result<()> {
        let (mut renderer, mut slot) = self.lock_to_add()?;
        slot.unseal(&mut renderer, true);
        let mut frame = slot.frame.take();
        if let Some(frame) = &mut frame {
            // `screen` is newer than the frame and shows all of it.
            frame.damage.absorb(damage);
            std::mem::swap(damage, &mut frame.damage);
        }
        damage.apply(&mut renderer, screen);
        match frame {
            // Drawing all of it each time would fill the memory, and in the end the application would wait.
            Some(mut frame) if slot.bytes.len() >= STALLED => {
                slot.bytes
                    .extend_from_slice(scrolling.apply_hastily(&mut renderer, screen));
                frame.screen.copy_from(screen);
                slot.frame = Some(frame);
            }
            frame => {
                slot.stats.frames_presented += u64::from(frame.is_some());
                slot.spare = frame.or(slot.spare.take());
                slot.bytes
                    .extend_from_slice(scrolling.apply(&mut renderer, screen));
            }
        }
        self.wake(slot);
        Ok(())
    }

    /// Adds bytes of the application's own. A large frame before them is not drawn here, nor is one waited for that is being drawn.
    pub(super) fn pass(
        self: &Arc<Self>,
        bytes: &[u8],
        screen_switch: Option<bool>,
    ) -> io::Result<()> {
        if let Some(alternate) = screen_switch {
            return self.switch_screen(bytes, alternate);
        }
        self.wait_for_room()?;
        let renderer = match self.renderer.try_lock() {
            Ok(renderer) => Some(renderer),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let mut slot = self.slot();
        slot.check()?;
        let in_order = slot.bytes.len() < STALLED && slot.sealed.len() < MOST_SEALED;
        let frame = slot.frame.take_if(|_| in_order);
        let is_large = |frame: &PendingFrame| frame.damage.is_large(&frame.screen);
        let is_cheap = slot.sealed.is_empty() && !frame.as_deref().is_some_and(is_large);
        match renderer.filter(|_| is_cheap) {
            Some(mut renderer) => {
                if let Some(frame) = frame {
                    slot.draw(&mut renderer, frame);
                }
                renderer.after_passthrough(None);
                slot.bytes.extend_from_slice(bytes);
            }
            None => slot.seal(frame, bytes),
        }
        self.wake(slot);
        Ok(())
    }

    /// Adds bytes that turn the alternate screen on or off.
    fn switch_screen(self: &Arc<Self>, bytes: &[u8], alternate: bool) -> io::Result<()> {
        let (mut renderer, mut slot) = self.lock_to_add()?;
        // No frame before it would be seen.
        let leaves = !alternate && renderer.capabilities().alternate_screen;
        slot.unseal(&mut renderer, !leaves);
        match slot.frame.take() {
            Some(frame) if leaves => {
                slot.skipped += 1;
                slot.spare = Some(frame);
            }
            Some(frame) => slot.draw(&mut renderer, frame),
            None => {}
        }
        renderer.after_passthrough(Some(alternate));
        slot.bytes.extend_from_slice(bytes);
        self.wake(slot);
        Ok(())
    }

    /// Waits until everything is written, or the limit is over. Returns whether it is.
    pub(super) fn wait_idle(&self, limit: Option<Duration>) -> io::Result<bool> {
        let slot = self.wait_until(limit, |slot| {
            slot.error.is_some() || slot.stopped || slot.is_idle()
        });
        slot.check()?;
        Ok(slot.is_idle())
    }

    /// How long the write in progress has taken so far.
    pub(super) fn busy_for(&self) -> Duration {
        let since = self.slot().busy_since;
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Waits until the slot is as `done` says, or the limit is over.
    fn wait_until(
        &self,
        limit: Option<Duration>,
        done: impl Fn(&Slot) -> bool,
    ) -> MutexGuard<'_, Slot> {
        let mut slot = self.slot();
        slot.waiting += 1;
        let waiting = |slot: &mut Slot| !done(slot);
        let mut slot = match limit {
            None => self
                .finished
                .wait_while(slot, waiting)
                .unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                self.finished
                    .wait_timeout_while(slot, limit, waiting)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
        slot.waiting -= 1;
        slot
    }

    /// Wakes the threads that wait for a write to be finished.
    fn notify_finished(&self, slot: MutexGuard<'_, Slot>) {
        let is_awaited = slot.waiting > 0;
        drop(slot);
        if is_awaited {
            self.finished.notify_all();
        }
    }

    pub(super) fn stats(&self) -> Stats {
        let renderer = self.renderer().stats();
        let behind = self.busy_for();
        let slot = self.slot();
        Stats {
            frames_presented: slot.stats.frames_presented,
            frames_skipped: slot.skipped,
            bytes: slot.stats.bytes,
            writes: slot.stats.writes,
            time_behind: slot.stats.time_behind + behind,
            ..renderer
        }
    }

    /// Has the thread end once everything is written, and waits for that. Gives up when the limit is over.
    pub(super) fn stop(self: &Arc<Self>, limit: Duration) {
        if self.start().is_err() {
            return;
        }
        self.slot().stop = true;
        if let Some(gate) = &self.gate {
            gate.end();
        }
        self.arrived.notify_one();
        if self.stuck.load(Ordering::Acquire) {
            return;
        }
        let stopped = self.wait_until(Some(limit), |slot| slot.stopped).stopped;
        if !stopped {
            self.give_up();
        }
    }

    /// Writes no bytes from now on, and holds no thread back.
    pub(super) fn give_up(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(gate) = &self.gate {
            gate.open();
        }
    }

    /// Takes no more output, so that a program that draws without a pause is idle at last.
    pub(super) fn begin_closing(&self) {
        self.slot().closing = true;
    }

    /// The output that has not been written: whether a frame waits, and how many bytes beside it.
    pub(super) fn left(&self) -> (bool, usize) {
        let slot = self.slot();
        let mut sealed = slot.sealed.iter();
        (
            slot.frame.is_some()
                || slot.busy_since.is_some()
                || sealed.any(|sealed| sealed.frame.is_some()),
            slot.waiting_bytes(),
        )
    }

    /// Waits until no write is in progress, and notes if one still is.
    pub(super) fn wait_for_write(&self, limit: Duration) {
        let done = |slot: &Slot| slot.stopped || slot.busy_since.is_none();
        let slot = self.wait_until(Some(limit), done);
        self.stuck.store(!done(&slot), Ordering::Release);
    }
}

/// Whether the application has left raw mode, and its screen by now or soon: a frame that was drawn in raw mode comes too late.
fn is_left(renderer: &Renderer, output: &Output) -> bool {
    renderer.capabilities().alternate_screen && !output.is_raw()
}

/// The calling thread writes in place of the presenter's.
struct Turn<'a>(&'a Worker);

impl Turn<'_> {
    fn end(self, slot: &mut Slot) {
        slot.busy_since = None;
        std::mem::forget(self);
    }
}

/// After a panic.
impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut slot = self.0.slot();
        slot.busy_since = None;
        self.0.notify_finished(slot);
    }
}

/// Notes that the thread has ended, by a panic, too, and wakes the threads that wait.
struct Ended<'a>(&'a Worker);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if let Some(gate) = &self.0.gate {
            gate.open();
        }
        let mut slot = self.0.slot();
        slot.stopped = true;
        slot.busy_since = None;
        if std::thread::panicking() {
            let error = io::Error::other("the thread that draws panicked");
            slot.error = Some(Failure::new(&error));
        }
        self.0.notify_finished(slot);
    }
}
