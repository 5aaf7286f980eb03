//! The thread that writes a transcript: every line of it, and the live region as often as the terminal has time.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::shared::Shared;
use super::{Failure, Output};
use crate::model::{Screen, Stats};
use crate::render::{Addition, Glyphs, Reflow, TranscriptRenderer};
use crate::sys::{self, Ending};

/// A line that has not been extended for so long is printed: it may be complete.
const PAUSE: Duration = Duration::from_millis(250);
/// Frames follow one another no faster: what comes meanwhile is one frame, as tokens of a fast stream are.
const PACE: Duration = Duration::from_millis(4);
/// The same where a change of size that overtakes a frame misplaces text ([`Reflow::Ahead`], [`Reflow::AboveCursor`]), so that few
/// frames are on their way. A terminal that is a whole read behind would take half a frame.
const SLOW_PACE: Duration = Duration::from_millis(16);

#[derive(Default)]
struct FeedState {
    additions: Vec<Addition>,
    /// The live region to show; a newer one replaces it.
    live: Option<Screen>,
    /// So many callers wait for everything to be written.
    waiting: u32,
    /// Rows of the terminal.
    rows: u16,
    /// Take the live region away.
    farewell: bool,
    reflow: Option<Reflow>,
    /// Others have the terminal.
    suspended: bool,
    /// The terminal has had other output since the last farewell.
    others: bool,
    /// Show the live region again.
    again: bool,
    /// The process is about to end or to stop by a signal: behind the farewell nothing is written.
    is_leaving: bool,
    busy: bool,
    stop: bool,
    stopped: bool,
    drawn: u64,
    presented: u64,
    stats: Stats,
    error: Option<Failure>,
}

impl FeedState {
    fn has_work(&self) -> bool {
        self.farewell || self.is_behind() && !self.is_leaving
    }

    /// The error of the terminal that is gone.
    fn check(&self) -> io::Result<()> {
        match &self.error {
            Some(failure) => Err(failure.report()),
            None => Ok(()),
        }
    }

    /// Whether anything is to be shown.
    fn is_behind(&self) -> bool {
        self.live.is_some() || !self.additions.is_empty() || self.again
    }

    /// Whether there is work that is not to wait for the pace of frames.
    fn has_urgent_work(&self) -> bool {
        let waited_for = self.waiting > 0 || self.stop;
        waited_for && self.has_work() || self.farewell || self.again
    }
}

impl Shared<FeedState> {
    fn change(&self, change: impl FnOnce(&mut FeedState)) -> io::Result<()> {
        let mut state = self.state();
        state.check()?;
        let is_awake = state.has_work();
        change(&mut state);
        let is_news = !is_awake || state.has_urgent_work();
        drop(state);
        if is_news {
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until everything is written, or the limit is over. Says whether it is.
    fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        self.wait_while(
            |state| state.farewell || state.is_behind() || state.busy,
            limit,
        )
    }

    /// Waits as long as this holds, until the limit is over. Says whether that is in time.
    fn wait_while(
        &self,
        holds: impl Fn(&FeedState) -> bool,
        limit: Option<Duration>,
    ) -> io::Result<bool> {
        let end = limit.map(|limit| Instant::now() + limit);
        let mut state = self.state();
        state.waiting += 1;
        self.changed.notify_all();
        let mut in_time = true;
        while in_time && holds(&state) && !state.stopped {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            in_time = left != Some(Duration::ZERO);
            if in_time {
                state = self.wait_for_change(state, left);
            }
        }
        state.waiting -= 1;
        if in_time {
            state.check()?;
        }
        Ok(in_time)
    }

    /// Waits until there is something to do: additions and the live region when they are `due`, an open line after a pause.
    fn wait_for_work(
        &self,
        renderer: &TranscriptRenderer,
        due: Instant,
    ) -> MutexGuard<'_, FeedState> {
        let pause_ends = Instant::now() + PAUSE;
        let mut state = self.state();
        loop {
            let end = match () {
                () if state.has_work() => Some(due),
                () if renderer.is_open() => Some(pause_ends),
                () => None,
            };
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if state.stop || state.has_urgent_work() || left == Some(Duration::ZERO) {
                return state;
            }
            state = self.wait_for_change(state, left);
        }
    }

    /// Waits until a size that has changed is the same for a while: a window that is dragged changes its size again and again, and a frame
    /// that the next change overtakes would be misplaced.
    fn wait_for_steady_size<'a>(
        &self,
        mut state: MutexGuard<'a, FeedState>,
        output: &Output,
        known: &mut Option<(u16, u16)>,
    ) -> MutexGuard<'a, FeedState> {
        loop {
            let now = output.size();
            if now == *known {
                return state;
            }
            *known = now;
            let ends = |state: &mut FeedState| state.farewell || state.stop;
            let waited = self
                .changed
                .wait_timeout_while(state, PAUSE, |state| !ends(state));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if ends(&mut state) {
                return state;
            }
        }
    }

    fn run(&self, mut renderer: TranscriptRenderer, mut output: Output) {
        let _ended = Ended(self);
        let mut live = Screen::new(0, 0);
        let mut due = Instant::now();
        let mut size = output.size();
        loop {
            let state = self.wait_for_work(&renderer, due);
            let mut state = match renderer.is_parked() {
                true => self.wait_for_steady_size(state, &output, &mut size),
                false => {
                    size = output.size();
                    state
                }
            };
            let is_pause = !state.has_work() && !state.stop;
            if !state.has_work() && !is_pause {
                return;
            }
            let additions = std::mem::take(&mut state.additions);
            let mut rows = state.rows;
            let farewell = std::mem::take(&mut state.farewell);
            // A stop that the terminal has not been told of comes before its end.
            let mut shows = !farewell && std::mem::take(&mut state.again);
            if let Some(newest) = state.live.take() {
                live = newest;
                state.presented += 1;
                shows = true;
            }
            let is_vulnerable = renderer.is_vulnerable();
            due = Instant::now() + if is_vulnerable { SLOW_PACE } else { PACE };
            state.busy = true;
            if let Some(reflow) = state.reflow.take() {
                renderer.set_reflow(reflow);
            }
            if std::mem::take(&mut state.others) {
                renderer.expect_others();
            }
            let mut stats = state.stats;
            drop(state);
            renderer.look_at_mode(|| output.is_raw());
            if let Some(size) = output.size() {
                // The newest, so that lines are wrapped as the terminal wraps them.
                rows = size.1;
                fit(&mut live, size);
            }
            let mut bytes = match is_pause {
                true => renderer.print_open_line(&live, rows),
                // It is away already.
                false if !shows && additions.is_empty() && !renderer.has_begun() => &[],
                false => renderer.render(&additions, &live, rows),
            }
            .to_vec();
            if farewell {
                bytes.extend_from_slice(renderer.farewell(live.width()));
            }
            let result = match bytes.is_empty() {
                true => Ok(Duration::ZERO),
                false => output.write(&bytes, &mut stats),
            };
            let mut state = self.state();
            state.stats = stats;
            state.busy = false;
            if let Err(error) = result {
                state.error = Some(Failure::new(&error));
                return;
            }
            drop(state);
            self.changed.notify_all();
        }
    }
}

/// Notes that the thread has ended, by a panic, too, and wakes the threads that wait.
struct Ended<'a>(&'a Shared<FeedState>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.stopped = true;
        if std::thread::panicking() {
            let error = io::Error::other("the thread that writes the transcript panicked");
            state.error = Some(Failure::new(&error));
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

/// Cuts a live region, or makes it wider: until it is drawn anew.
pub(crate) fn fit(live: &mut Screen, (columns, rows): (u16, u16)) {
    let height = live.height().min(rows.saturating_sub(1));
    live.resize(columns, height);
    live.claim(0..columns, 0..height);
}

/// A transcript's thread, as its owner holds it.
pub(crate) struct Feed {
    shared: Arc<Shared<FeedState>>,
    /// The process that has the thread: a child of a fork has not.
    process: u32,
}

/// Others have the terminal.
pub(crate) struct Suspended<'a>(&'a Feed);

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.shared.state();
        state.suspended = false;
        state.others = true;
    }
}

/// The transcripts on terminals.
static ON_TERMINALS: Mutex<Vec<Weak<Shared<FeedState>>>> = Mutex::new(Vec::new());

fn on_terminals() -> MutexGuard<'static, Vec<Weak<Shared<FeedState>>>> {
    ON_TERMINALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a process that is ended or stopped by a signal waits for its terminal.
const LAST_LIMIT: Duration = Duration::from_millis(200);

/// Takes the live regions away before the process ends or stops, and shows them again when it goes on. In between nothing is shown.
fn react(ending: Ending) {
    leave_or_return(ending, true);
}

fn leave_or_return(ending: Ending, by_signal: bool) {
    let feeds: Vec<Arc<Shared<FeedState>>> =
        on_terminals().iter().filter_map(Weak::upgrade).collect();
    for feed in &feeds {
        // If the terminal is gone, the transcript's owner gets the error.
        let _ = feed.change(|state| {
            state.is_leaving = by_signal && ending != Ending::Continue;
            match ending {
                _ if state.suspended => {}
                Ending::Continue => (state.others, state.again) = (true, true),
                Ending::Stop | Ending::End => (state.farewell, state.again) = (true, false),
            }
        });
    }
    if ending != Ending::Continue {
        for feed in &feeds {
            let _ = feed.wait_while(|state| state.farewell || state.busy, Some(LAST_LIMIT));
        }
    }
}

impl Feed {
    pub(crate) fn start(renderer: TranscriptRenderer, output: Output) -> io::Result<Self> {
        let shared = Arc::<Shared<FeedState>>::default();
        let theirs = shared.clone();
        super::spawn("outpace-transcript", move || theirs.run(renderer, output))?;
        let process = std::process::id();
        Ok(Self { shared, process })
    }

    /// From now on the live region goes when a signal ends or stops the process, and before the message of a panic.
    pub(crate) fn leave_at_endings(&self) -> io::Result<()> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                leave_or_return(Ending::Stop, false);
                previous(info);
            }));
        });
        let mut all = on_terminals();
        all.push(Arc::downgrade(&self.shared));
        sys::watch_endings(react)
    }

    pub(crate) fn add(&self, additions: impl IntoIterator<Item = Addition>) -> io::Result<()> {
        self.shared.change(|state| {
            for addition in additions {
                match (addition, state.additions.last_mut()) {
                    // Parts of a line that wait together are printed at once.
                    (
                        Addition::Extend(more),
                        Some(Addition::Open(line) | Addition::Extend(line)),
                    ) => line.append(&more),
                    (Addition::Extend(more), Some(last @ Addition::Line(_))) => {
                        if let Addition::Line(mut line) =
                            std::mem::replace(last, Addition::Line(Glyphs::default()))
                        {
                            line.append(&more);
                            *last = Addition::Open(line);
                        }
                    }
                    (addition, _) => state.additions.push(addition),
                }
            }
        })
    }

    pub(crate) fn show(&self, live: Screen, rows: u16) -> io::Result<()> {
        self.shared.change(|state| {
            state.live = Some(live);
            state.rows = rows;
            state.drawn += 1;
        })
    }

    /// An error if the terminal is gone.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.shared.state().check()
    }

    pub(crate) fn set_reflow(&self, reflow: Reflow) {
        self.shared.state().reflow = Some(reflow);
    }

    /// Leaves the terminal to others, once the live region is away, until the value is dropped. Signals find nothing to take away then.
    pub(crate) fn suspend(&self) -> Suspended<'_> {
        self.shared.state().suspended = true;
        Suspended(self)
    }

    pub(crate) fn take_away(&self) -> io::Result<()> {
        self.shared.change(|state| state.farewell = true)
    }

    /// Waits until everything is written, or the limit is over. Says whether it is.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        if self.process != std::process::id() {
            let error = "the transcript is that of the process that has forked";
            return Err(io::Error::other(error));
        }
        self.shared.wait(limit)
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.shared.state();
        Stats {
            frames_drawn: state.drawn,
            frames_presented: state.presented,
            frames_skipped: state.drawn - state.presented - u64::from(state.live.is_some()),
            ..state.stats
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_all();
        let mut all = on_terminals();
        let before = all.len();
        all.retain(|feed| !std::ptr::eq(feed.as_ptr(), Arc::as_ptr(&self.shared)));
        if all.is_empty() && before > 0 {
            sys::ignore_endings();
        }
    }
}

#[cfg(all(test, target_os = "linux", not(outpace_portable)))]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::model::{Capabilities, Style};
    use crate::present::output::tests::{fill, terminal};
    use crate::render::SHOW_CURSOR;

    /// A reaction is that of all transcripts.
    static ALONE: Mutex<()> = Mutex::new(());

    fn show(feed: &Feed, symbol: &str) {
        let mut live = Screen::new(80, 1);
        live.put_symbol(0, 0, symbol, 1, Style::default());
        feed.show(live, 24).unwrap();
    }

    #[test]
    fn behind_the_farewell_for_a_signal_nothing_is_written_before_the_process_goes_on() {
        let _alone = ALONE.lock();
        let (_emulator, terminal) = terminal();
        let renderer = TranscriptRenderer::new(Reflow::default(), Capabilities::full());
        let feed = Feed::start(renderer, Output::Terminal(terminal)).unwrap();
        on_terminals().push(Arc::downgrade(&feed.shared));
        show(&feed, "#");
        assert!(feed.wait(None).unwrap());
        react(Ending::Stop);
        let written = feed.stats().bytes;
        // The thread that the signal has interrupted goes on.
        show(&feed, "%");
        feed.add([Addition::Line(Glyphs::default())]).unwrap();
        assert!(!feed.wait(Some(Duration::from_millis(50))).unwrap());
        assert_eq!(feed.stats().bytes, written);
        react(Ending::Continue);
        assert!(feed.wait(None).unwrap());
        assert!(feed.stats().bytes > written);
    }

    #[test]
    fn the_live_region_is_there_after_a_stop_that_a_stalled_terminal_was_not_told_of() {
        let _alone = ALONE.lock();
        let (mut emulator, terminal) = terminal();
        let renderer = TranscriptRenderer::new(Reflow::default(), Capabilities::full());
        let feed = Feed::start(renderer, Output::Terminal(terminal.clone())).unwrap();
        show(&feed, "#");
        assert!(feed.wait(None).unwrap());
        fill(&terminal);
        // The thread waits for the terminal.
        show(&feed, "%");
        while feed.shared.state().live.is_some() {
            std::thread::yield_now();
        }
        on_terminals().push(Arc::downgrade(&feed.shared));
        react(Ending::Stop);
        react(Ending::Continue);
        // The terminal reads on.
        let reading = std::thread::spawn(move || {
            let (mut all, mut some) = (Vec::new(), [0; 4096]);
            while let Ok(length) = emulator.read(&mut some) {
                all.extend_from_slice(&some[..length]);
            }
            String::from_utf8_lossy(&all).into_owned()
        });
        assert!(feed.wait(None).unwrap());
        drop((feed, terminal));
        let all = reading.join().unwrap();
        let (_, after) = all.rsplit_once(SHOW_CURSOR).unwrap();
        assert!(after.contains('%'), "{after:?}");
    }
}
