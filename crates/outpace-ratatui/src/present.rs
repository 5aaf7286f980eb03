//! Hands frames to the terminal: on the caller's thread, or on the *presenter's thread* (`worker.rs`), which takes the newest frame and
//! never makes the application wait.

mod damage;
mod fast_path;
mod feed;
mod gate;
mod output;
mod shared;
mod worker;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{Screen, Stats};
use crate::render::{Renderer, overflow};
use crate::sys;
pub(crate) use damage::Damage;
use fast_path::FastPath;
pub(crate) use feed::{Feed, fit};
pub(crate) use gate::Stream;
pub(crate) use output::Output;
use output::Tempo;
use worker::Worker;

/// A scroll that the application asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scrolling {
    AppendLines(u16),
    #[cfg_attr(not(feature = "scrolling-regions"), expect(dead_code))]
    Region {
        top: u16,
        bottom: u16,
        by: i32,
    },
}

impl Scrolling {
    /// The bytes that draw the screen and then scroll it. Scrolls `screen`, too.
    fn apply<'a>(self, renderer: &'a mut Renderer, screen: &mut Screen) -> &'a [u8] {
        self.draw_and_scroll(renderer, screen, None)
    }

    /// The same, but only those rows are drawn that go into the scrollback: the others can be drawn later.
    fn apply_hastily<'a>(self, renderer: &'a mut Renderer, screen: &mut Screen) -> &'a [u8] {
        let leaving = match self {
            Self::AppendLines(lines) => overflow(screen, lines),
            Self::Region { top: 0, by, .. } => by.clamp(0, screen.height().into()) as u16,
            Self::Region { .. } => 0,
        };
        let mut drawn = screen.clone();
        drawn.leave_alone(leaving);
        self.draw_and_scroll(renderer, screen, Some(&drawn))
    }

    fn draw_and_scroll<'a>(
        self,
        renderer: &'a mut Renderer,
        screen: &mut Screen,
        drawn: Option<&Screen>,
    ) -> &'a [u8] {
        match self {
            Self::AppendLines(lines) => renderer.append_lines(screen, drawn, lines),
            Self::Region { top, bottom, by } => {
                renderer.scroll_region(screen, drawn, top, bottom, by)
            }
        }
    }
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

    /// The failure of starting a thread.
    fn starting(error: &io::Error) -> Self {
        Self {
            kind: error.kind(),
            text: format!("the thread that draws could not be started: {error}"),
        }
    }

    pub(crate) fn report(&self) -> io::Error {
        io::Error::new(self.kind, self.text.clone())
    }
}

/// Starts a thread with all signals blocked: they are the application's.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    sys::without_signals(|| std::thread::Builder::new().name(name.into()).spawn(work))?;
    Ok(())
}

/// Adds bytes to be written. No type parameter: a short program runs most code once, and copies of it take longer than a call.
type Make<'a> = &'a mut dyn FnMut(&mut Renderer, &mut Vec<u8>);

/// Draws on the caller's thread.
pub(crate) struct Painter {
    renderer: Renderer,
    output: Output,
    tempo: Tempo,
    fewest_bytes: bool,
    /// The standard stream that is the same terminal.
    shared: Option<Stream>,
    stats: Stats,
    error: Option<Failure>,
    closed: Arc<AtomicBool>,
}

impl Painter {
    /// Writes the bytes of `make`, unless the terminal was given back.
    fn write(&mut self, is_frame: bool, make: Make<'_>) -> io::Result<()> {
        if let Some(failure) = &self.error {
            return Err(failure.report());
        }
        if is_frame {
            if let Some(stream) = self.shared {
                stream.flush()?;
            }
            let thorough = self.fewest_bytes || self.tempo.is_slow();
            self.renderer.be_thorough(thorough);
        }
        let mut bytes = Vec::new();
        make(&mut self.renderer, &mut bytes);
        if self.closed.load(Ordering::Acquire) {
            bytes.clear();
        }
        if !bytes.is_empty() {
            match self.output.write(&bytes, &mut self.stats) {
                Ok(took) if is_frame => self.tempo.note(bytes.len(), took),
                Ok(_) => {}
                Err(error) => return Err(self.error.insert(Failure::new(&error)).report()),
            }
        }
        self.stats.frames_presented += u64::from(is_frame);
        Ok(())
    }
}

/// How frames get to the terminal.
pub(crate) enum Presenter {
    Direct(Box<Painter>),
    Threaded {
        worker: Arc<Worker>,
        fast_path: Option<FastPath>,
        max_lag: Option<Duration>,
    },
}

impl Presenter {
    /// `fewest_bytes`: saves bytes at any time, not only while the terminal is slow. `shared` names the standard stream that is the same
    /// terminal.
    pub(crate) fn direct(
        renderer: Renderer,
        output: Output,
        fewest_bytes: bool,
        shared: Option<Stream>,
    ) -> Self {
        Self::Direct(Box::new(Painter {
            renderer,
            output,
            tempo: Tempo::default(),
            fewest_bytes,
            shared,
            stats: Stats::default(),
            error: None,
            closed: Arc::default(),
        }))
    }

    pub(crate) fn threaded(
        renderer: Renderer,
        output: Output,
        fewest_bytes: bool,
        shared: Option<Stream>,
        max_lag: Option<Duration>,
    ) -> Self {
        let fast_path = FastPath::new(&output, shared);
        let gate = shared.map(gate::Gate::new);
        Self::Threaded {
            worker: Worker::new(renderer, output, fewest_bytes, gate),
            fast_path,
            max_lag,
        }
    }

    /// Writes the bytes of `make` on the calling thread: always in direct drawing, else if that can be done without waiting. Returns
    /// whether it was done.
    fn write_now(&mut self, is_frame: bool, make: Make<'_>) -> io::Result<bool> {
        match self {
            Self::Direct(painter) => painter.write(is_frame, make).map(|()| true),
            Self::Threaded {
                worker,
                fast_path: Some(path),
                ..
            } => worker.write_now(path, is_frame, make),
            Self::Threaded { .. } => Ok(false),
        }
    }

    /// Shows a screen: at once, or as soon as the terminal has time. `damage` is empty afterwards. `is_drawn`: not the cursor alone has changed.
    /// `is_raw` says whether the terminal is in raw mode.
    pub(crate) fn present(
        &mut self,
        screen: &Screen,
        damage: &mut Damage,
        is_drawn: bool,
        is_raw: impl FnOnce() -> bool,
    ) -> io::Result<()> {
        let is_large = matches!(self, Self::Threaded { .. }) && damage.is_large(screen);
        let written = !is_large
            && self.write_now(true, &mut |renderer, bytes| {
                damage.apply(renderer, screen);
                bytes.extend_from_slice(renderer.render(screen));
            })?;
        match self {
            Self::Threaded {
                worker, max_lag, ..
            } if !written => worker.present(screen, damage, is_drawn, is_raw(), *max_lag),
            _ => Ok(()),
        }
    }

    /// Scrolls, after the frames before it. This is never skipped.
    pub(crate) fn perform(
        &mut self,
        screen: &mut Screen,
        damage: &mut Damage,
        scrolling: Scrolling,
    ) -> io::Result<()> {
        let written = self.write_now(false, &mut |renderer, bytes| {
            damage.apply(renderer, screen);
            bytes.extend_from_slice(scrolling.apply(renderer, screen));
        })?;
        match self {
            Self::Threaded { worker, .. } if !written => worker.perform(screen, damage, scrolling),
            _ => Ok(()),
        }
    }

    /// Writes bytes of the application's own, after the frames before them. `screen_switch` says whether they turn the
    /// alternate screen on or off.
    pub(crate) fn pass(&mut self, bytes: &[u8], screen_switch: Option<bool>) -> io::Result<()> {
        let written = self.write_now(false, &mut |renderer, out| {
            renderer.after_passthrough(screen_switch);
            out.extend_from_slice(bytes);
        })?;
        match self {
            Self::Threaded { worker, .. } if !written => worker.pass(bytes, screen_switch),
            _ => Ok(()),
        }
    }

    /// Waits until the terminal has accepted the newest frame. Says whether it did within the limit.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        match self {
            Self::Direct(painter) => painter
                .error
                .as_ref()
                .map_or(Ok(true), |failure| Err(failure.report())),
            Self::Threaded { worker, .. } => worker.wait_idle(limit),
        }
    }

    /// The same, less the time that the write in progress has taken so far: a terminal that has stalled is not waited for.
    pub(crate) fn wait_unless_stalled(&self, limit: Duration) -> io::Result<bool> {
        match self {
            Self::Direct(_) => self.wait(None),
            Self::Threaded { worker, .. } => {
                worker.wait_idle(Some(limit.saturating_sub(worker.busy_for())))
            }
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        match self {
            Self::Direct(painter) => Stats {
                frames_presented: painter.stats.frames_presented,
                bytes: painter.stats.bytes,
                writes: painter.stats.writes,
                time_behind: painter.stats.time_behind,
                ..painter.renderer.stats()
            },
            Self::Threaded { worker, .. } => worker.stats(),
        }
    }

    pub(crate) fn was_written(&self, x: u16, y: u16) -> bool {
        match self {
            Self::Direct(painter) => painter.renderer.was_written(x, y),
            Self::Threaded { .. } => false,
        }
    }

    /// Makes a handle that silences this presenter from elsewhere.
    pub(crate) fn closer(&self) -> Closer {
        let (closed, worker) = match self {
            Self::Direct(painter) => (painter.closed.clone(), None),
            Self::Threaded { worker, .. } => (worker.closed.clone(), Some(worker.clone())),
        };
        Closer {
            closed,
            worker,
            reason: Arc::default(),
        }
    }

    /// Shows the last frame and writes the farewell, unless the terminal `is_left` by other bytes that do the same. Gives up on a
    /// terminal that does not read within the limit.
    pub(crate) fn close(&mut self, limit: Duration, is_left: bool) {
        let mut farewell = |renderer: &mut Renderer, bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(renderer.farewell());
        };
        match self {
            Self::Direct(painter) => {
                if painter.output.is_ready(limit) {
                    // An error could be reported to no caller, and only the farewell is lost.
                    let _ = painter.write(false, &mut farewell);
                }
                painter.closed.store(true, Ordering::Release);
            }
            Self::Threaded { worker, .. } => {
                let worker = worker.clone();
                // An error could be reported to no caller. A thread is started for the farewell only where the write has to wait.
                let is_done = !worker.has_started()
                    && (is_left
                        || worker.closed.load(Ordering::Acquire)
                        || self.write_now(false, &mut farewell).unwrap_or(true))
                    && !worker.has_started();
                if is_done {
                    worker.closed.store(true, Ordering::Release);
                } else {
                    worker.stop(limit);
                }
            }
        }
    }
}

/// Silences a presenter that may be in use on another thread, or further up the stack.
#[derive(Clone)]
pub(crate) struct Closer {
    closed: Arc<AtomicBool>,
    worker: Option<Arc<Worker>>,
    reason: Arc<Mutex<Option<String>>>,
}

impl Closer {
    /// Waits until the newest frame is shown, but not for long.
    pub(crate) fn wait_until_shown(&self, limit: Duration) {
        if let Some(worker) = &self.worker {
            // An error is for the thread that draws.
            let _ = worker.wait_idle(Some(limit));
        }
    }

    /// Waits until the newest frame is shown, but not for long. From then on the presenter does not write, and drawing is
    /// an error that names this reason. Returns the output that was given up on a terminal that does not read.
    pub(crate) fn close(&self, limit: Duration, reason: String) -> Option<String> {
        let start = Instant::now();
        if self.closed.load(Ordering::Acquire) {
            return None;
        }
        if let Some(worker) = &self.worker {
            worker.begin_closing();
        }
        self.wait_until_shown(limit);
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
        self.closed.store(true, Ordering::Release);
        let worker = self.worker.as_ref()?;
        let (frame, bytes) = worker.left();
        worker.give_up();
        worker.wait_for_write(limit.saturating_sub(start.elapsed()));
        match (frame, bytes) {
            (false, 0) => None,
            (_, 0) => Some("the last frame".into()),
            (_, bytes) => Some(format!("the last frame and {bytes} bytes before it")),
        }
    }

    /// Whether both silence the same presenter.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.closed, &other.closed)
    }

    /// Why the presenter does not write any more. `None`: it does.
    pub(crate) fn reason(&self) -> Option<String> {
        if !self.closed.load(Ordering::Acquire) {
            return None;
        }
        self.reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
