//! Hands frames to the terminal: on the caller's thread, or on a thread of its own that always takes
//! the newest frame and never makes the application wait.
//!
//! The [`Painter`] owns the renderer, which knows what the terminal shows, and the terminal itself. It
//! belongs to whoever writes. Threaded, the application leaves a copy of its newest screen in a
//! [`Mailbox`]; while the terminal is busy with one frame, the next replaces the one that waits, and the
//! difference is then taken to what was really written.

mod damage;

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{Screen, Stats};
use crate::render::Renderer;
use crate::sys;
pub(crate) use damage::Damage;

/// Where the bytes go.
pub(crate) enum Output {
    /// A descriptor of our own on the terminal.
    Terminal(File),
    /// Anything else, as for tests.
    Writer(Box<dyn Write + Send>),
}

impl Output {
    /// Writes everything; counts the calls. Goes on after a partial write, an interruption, and when
    /// somebody made the terminal non-blocking.
    fn write_all(&mut self, mut bytes: &[u8], stats: &mut Stats) -> io::Result<()> {
        while !bytes.is_empty() {
            stats.writes += 1;
            let written = match self {
                Self::Terminal(file) => file.write(bytes),
                Self::Writer(writer) => writer.write(bytes),
            };
            match written {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    stats.bytes += n as u64;
                    bytes = &bytes[n..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                Err(error) => return Err(error),
            }
        }
        if let Self::Writer(writer) = self {
            writer.flush()?;
        }
        Ok(())
    }

    fn wait(&self) -> io::Result<()> {
        match self {
            Self::Terminal(file) => sys::wait_writable(file, None).map(|_| ()),
            Self::Writer(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// What is done to the terminal apart from showing a screen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Motion {
    AppendLines(u16),
    #[cfg_attr(not(feature = "scrolling-regions"), expect(dead_code))]
    Scroll {
        top: u16,
        bottom: u16,
        by: i32,
    },
}

/// What the terminal takes for a byte, of late.
#[derive(Default)]
struct Tempo {
    ns_per_byte: u64,
}

impl Tempo {
    /// Fewer bytes say more of system calls than of the terminal.
    const TELLING: usize = 4096;
    /// Where a byte takes longer than that, it is worth the processor time that saving it takes: some 60 ns a
    /// cell, of which a third of the bytes go, 9 of 32.
    const SLOW: u64 = 8;

    fn note(&mut self, bytes: usize, took: Duration) {
        if bytes >= Self::TELLING {
            let now = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / bytes as u64;
            // A terminal that reads ahead takes several frames at once, and then none for a while.
            self.ns_per_byte = (self.ns_per_byte * 3 + now.min(1 << 32)) / 4;
        }
    }

    const fn is_slow(&self) -> bool {
        self.ns_per_byte > Self::SLOW
    }
}

pub(crate) struct Painter {
    renderer: Renderer,
    output: Output,
    tempo: Tempo,
    fewest_bytes: bool,
    stats: Stats,
    /// Set when the terminal was given back: from then on nothing is written.
    closed: Arc<AtomicBool>,
}

impl Painter {
    /// `fewest_bytes` says to take the time for that always, not only if the terminal is slow.
    pub(crate) fn new(renderer: Renderer, output: Output, fewest_bytes: bool) -> Self {
        Self {
            renderer,
            output,
            tempo: Tempo::default(),
            fewest_bytes,
            stats: Stats::default(),
            closed: Arc::default(),
        }
    }

    fn paint(&mut self, screen: &Screen, damage: &mut Damage) -> io::Result<()> {
        self.renderer.adopt_size(screen);
        damage.apply(&mut self.renderer);
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let thorough = self.fewest_bytes || self.tempo.is_slow();
        self.renderer.be_thorough(thorough);
        let bytes = self.renderer.render(screen);
        self.stats.frames_presented += 1;
        if bytes.is_empty() {
            return Ok(());
        }
        let took = Self::write(&mut self.output, bytes, &mut self.stats)?;
        self.tempo.note(bytes.len(), took);
        Ok(())
    }

    /// Returns how long it took.
    fn write(output: &mut Output, bytes: &[u8], stats: &mut Stats) -> io::Result<Duration> {
        let start = Instant::now();
        let result = output.write_all(bytes, stats);
        let took = start.elapsed();
        stats.time_behind += took;
        result.map(|()| took)
    }

    fn perform(&mut self, screen: &mut Screen, motion: Motion) -> io::Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        let bytes = match motion {
            Motion::AppendLines(lines) => self.renderer.append_lines(screen, lines),
            Motion::Scroll { top, bottom, by } => {
                self.renderer.scroll_region(screen, top, bottom, by)
            }
        };
        Self::write(&mut self.output, bytes, &mut self.stats).map(|_| ())
    }

    /// Writes bytes of the application's own, which may do anything to pen and cursor.
    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Ok(());
        }
        self.renderer.forget_pen();
        Self::write(&mut self.output, bytes, &mut self.stats).map(|_| ())
    }

    fn close(&mut self) -> io::Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let bytes = self.renderer.farewell();
        Self::write(&mut self.output, bytes, &mut self.stats).map(|_| ())
    }

    fn stats(&self) -> Stats {
        Stats {
            frames_presented: self.stats.frames_presented,
            bytes: self.stats.bytes,
            writes: self.stats.writes,
            time_behind: self.stats.time_behind,
            ..self.renderer.stats()
        }
    }
}

/// A frame that waits, and what the presenter thread has to say.
#[derive(Default)]
struct Slot {
    waiting: Option<Box<PendingFrame>>,
    /// A frame whose memory can be used again.
    spare: Option<Box<PendingFrame>>,
    /// When the frame in hand was taken, if one is.
    busy_since: Option<Instant>,
    stats: Stats,
    skipped: u64,
    error: Option<Failure>,
    stop: bool,
    stopped: bool,
}

struct PendingFrame {
    screen: Screen,
    damage: Damage,
}

/// An error that can be reported more than once.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: io::ErrorKind,
    text: String,
}

impl Failure {
    pub(crate) fn new(error: &io::Error) -> Self {
        Self {
            kind: error.kind(),
            text: format!("the terminal is gone: {error}"),
        }
    }

    pub(crate) fn report(&self) -> io::Error {
        io::Error::new(self.kind, self.text.clone())
    }
}

/// What application and presenter thread share. Lock order: the painter, then the slot.
pub(crate) struct Mailbox {
    painter: Mutex<Painter>,
    slot: Mutex<Slot>,
    /// A frame waits, or the thread shall end.
    arrived: Condvar,
    /// The thread has finished a frame, or itself.
    finished: Condvar,
}

impl Mailbox {
    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn painter(&self) -> MutexGuard<'_, Painter> {
        self.painter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let _ended = Ended(self);
        loop {
            let mut slot = self.slot();
            while slot.waiting.is_none() && !slot.stop {
                slot = self
                    .arrived
                    .wait(slot)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let Some(mut frame) = slot.waiting.take() else {
                break;
            };
            slot.busy_since = Some(Instant::now());
            drop(slot);

            let mut painter = self.painter();
            let result = painter.paint(&frame.screen, &mut frame.damage);
            let stats = painter.stats();
            drop(painter);

            let mut slot = self.slot();
            slot.stats = stats;
            slot.busy_since = None;
            slot.spare = Some(frame);
            if let Err(error) = result {
                slot.error = Some(Failure::new(&error));
            }
            self.finished.notify_all();
            if slot.error.is_some() {
                break;
            }
        }
    }

    /// Waits until no frame is waiting or in hand, or the limit is over. Says whether it got there.
    fn wait_idle(&self, limit: Option<Duration>) -> io::Result<bool> {
        let idle = |slot: &Slot| {
            slot.error.is_some()
                || slot.stopped
                || (slot.waiting.is_none() && slot.busy_since.is_none())
        };
        let slot = self.wait_until(limit, idle);
        match &slot.error {
            Some(failure) => Err(failure.report()),
            None => Ok(idle(&slot)),
        }
    }

    fn wait_until(
        &self,
        limit: Option<Duration>,
        done: impl Fn(&Slot) -> bool,
    ) -> MutexGuard<'_, Slot> {
        let slot = self.slot();
        let waiting = |slot: &mut Slot| !done(slot);
        match limit {
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
        }
    }
}

/// Tells everybody that the thread has ended, however it did.
struct Ended<'a>(&'a Mailbox);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut slot = self.0.slot();
        slot.stopped = true;
        slot.busy_since = None;
        if std::thread::panicking() {
            let error = io::Error::other("the thread that draws panicked");
            slot.error = Some(Failure::new(&error));
        }
        drop(slot);
        self.0.finished.notify_all();
    }
}

/// How frames get to the terminal.
pub(crate) enum Presenter {
    Direct {
        painter: Box<Painter>,
        error: Option<Failure>,
    },
    Threaded {
        mailbox: Arc<Mailbox>,
        max_lag: Option<Duration>,
    },
}

impl Presenter {
    pub(crate) fn direct(painter: Painter) -> Self {
        Self::Direct {
            painter: Box::new(painter),
            error: None,
        }
    }

    pub(crate) fn threaded(painter: Painter, max_lag: Option<Duration>) -> io::Result<Self> {
        let mailbox = Arc::new(Mailbox {
            painter: Mutex::new(painter),
            slot: Mutex::default(),
            arrived: Condvar::new(),
            finished: Condvar::new(),
        });
        let theirs = mailbox.clone();
        sys::without_signals(|| {
            std::thread::Builder::new()
                .name("outpace-presenter".into())
                .spawn(move || theirs.run())
        })?;
        Ok(Self::Threaded { mailbox, max_lag })
    }

    /// Shows a screen: at once, or as soon as the terminal has time. `damage` is empty afterwards.
    pub(crate) fn present(&mut self, screen: &Screen, damage: &mut Damage) -> io::Result<()> {
        let (mailbox, max_lag) = match self {
            Self::Direct { .. } => {
                return self.with_painter(|painter| painter.paint(screen, damage));
            }
            Self::Threaded { mailbox, max_lag } => (mailbox, *max_lag),
        };
        let mut slot = mailbox.slot();
        if let Some(failure) = &slot.error {
            return Err(failure.report());
        }
        if let (Some(limit), Some(_)) = (max_lag, slot.busy_since) {
            drop(slot);
            slot = mailbox.wait_until(None, |slot| {
                slot.error.is_some() || slot.busy_since.is_none_or(|since| since.elapsed() < limit)
            });
        }
        // An unread frame is replaced, but what it said to forget still holds.
        let mut frame = match slot.waiting.take() {
            Some(unread) => {
                slot.skipped += 1;
                unread
            }
            None => slot.spare.take().unwrap_or_else(|| {
                Box::new(PendingFrame {
                    screen: Screen::untouched(0, 0),
                    damage: Damage::default(),
                })
            }),
        };
        drop(slot);
        frame.screen.copy_from(screen);
        frame.damage.absorb(damage);
        let mut slot = mailbox.slot();
        slot.waiting = Some(frame);
        drop(slot);
        mailbox.arrived.notify_one();
        Ok(())
    }

    /// Does something that must not be skipped; waits for the frames before it.
    pub(crate) fn perform(
        &mut self,
        screen: &mut Screen,
        damage: &mut Damage,
        motion: Motion,
    ) -> io::Result<()> {
        self.with_painter(|painter| {
            painter.renderer.adopt_size(screen);
            damage.apply(&mut painter.renderer);
            painter.perform(screen, motion)
        })
    }

    /// Writes bytes of the application's own, after the frames before them.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with_painter(|painter| painter.pass(bytes))
    }

    fn with_painter(
        &mut self,
        work: impl FnOnce(&mut Painter) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Self::Direct { painter, error } => {
                if let Some(failure) = error {
                    return Err(failure.report());
                }
                work(painter).map_err(|e| error.insert(Failure::new(&e)).report())
            }
            Self::Threaded { mailbox, .. } => {
                mailbox.wait_idle(None)?;
                let mut painter = mailbox.painter();
                let result = work(&mut painter);
                let stats = painter.stats();
                drop(painter);
                let mut slot = mailbox.slot();
                slot.stats = stats;
                result.map_err(|e| slot.error.insert(Failure::new(&e)).report())
            }
        }
    }

    /// Waits until the terminal has accepted the newest frame. Says whether it did within the limit.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        match self {
            Self::Direct { error, .. } => match error {
                Some(failure) => Err(failure.report()),
                None => Ok(true),
            },
            Self::Threaded { mailbox, .. } => mailbox.wait_idle(limit),
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        match self {
            Self::Direct { painter, .. } => painter.stats(),
            Self::Threaded { mailbox, .. } => {
                let slot = mailbox.slot();
                let behind = slot
                    .busy_since
                    .map_or(Duration::ZERO, |since| since.elapsed());
                let mut stats = Stats {
                    frames_skipped: slot.skipped,
                    ..slot.stats
                };
                stats.time_behind += behind;
                stats
            }
        }
    }

    pub(crate) fn was_written(&self, x: u16, y: u16) -> bool {
        match self {
            Self::Direct { painter, .. } => painter.renderer.was_written(x, y),
            Self::Threaded { .. } => false,
        }
    }

    /// What others use to give the terminal back while this presenter may still be in use.
    pub(crate) fn closer(&self) -> Closer {
        match self {
            Self::Direct { painter, .. } => Closer {
                closed: painter.closed.clone(),
                mailbox: None,
            },
            Self::Threaded { mailbox, .. } => Closer {
                closed: mailbox.painter().closed.clone(),
                mailbox: Some(mailbox.clone()),
            },
        }
    }

    /// Shows what is left to show and says farewell to the terminal; gives up when the terminal does not
    /// read for so long.
    pub(crate) fn close(&mut self, limit: Duration) -> io::Result<()> {
        match self {
            Self::Direct {
                painter,
                error: None,
            } => painter.close(),
            Self::Direct { .. } => Ok(()),
            Self::Threaded { mailbox, .. } => {
                mailbox.slot().stop = true;
                mailbox.arrived.notify_one();
                let stopped = mailbox.wait_until(Some(limit), |slot| slot.stopped);
                let (stopped, failed) = (stopped.stopped, stopped.error.is_some());
                if stopped && !failed {
                    mailbox.painter().close()
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// Silences a presenter that may be in use on another thread, or further up the stack.
#[derive(Clone)]
pub(crate) struct Closer {
    closed: Arc<AtomicBool>,
    mailbox: Option<Arc<Mailbox>>,
}

impl Closer {
    /// Waits until the newest frame is shown, but not for long.
    pub(crate) fn settle(&self, limit: Duration) {
        if let Some(mailbox) = &self.mailbox {
            // An error is for whoever draws.
            let _ = mailbox.wait_idle(Some(limit));
        }
    }

    /// Waits until the newest frame is shown, but not for long. From then on the presenter writes nothing.
    pub(crate) fn close(&self, limit: Duration) {
        let start = Instant::now();
        self.settle(limit);
        self.closed.store(true, Ordering::Release);
        if let Some(mailbox) = &self.mailbox {
            let left = limit.saturating_sub(start.elapsed());
            drop(mailbox.wait_until(Some(left), |slot| slot.stopped || slot.busy_since.is_none()));
        }
    }
}
