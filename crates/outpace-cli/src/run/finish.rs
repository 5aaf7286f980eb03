//! The relays as a set, and the end of a run: the program has ended, and its output is still to be shown.

use super::counters::{self, CounterDisplay};
use super::outlet::Outlet;
use super::relay::{End, Relay};
use super::shim::Shim;
use super::tee::Tee;
use super::terminal::{self, Terminal};
use super::{are_same, report};
use crate::platform::descriptors::has_gone;
use crate::platform::ending::Ending;
use crate::platform::signals::{self, Signals};
use crate::user::failure::Failure;
use crate::user::quantity::{self, grouped};
use crate::user::screen;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::termios::{Action, tcflow};
use std::io::{self, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The relays of a run.
pub(super) struct Relays {
    waiting: Vec<Arc<Relay>>,
    display: Arc<CounterDisplay>,
    /// All of them that are not done.
    relays: Vec<Weak<Relay>>,
    outlets: Vec<Arc<Outlet>>,
    running: usize,
    /// A destination took no more, for another reason than that its reader has gone.
    has_failed: bool,
    ends: (Sender<RelayEnd>, Receiver<RelayEnd>),
    /// Those that are done, and whose pipe processes that outlive the program have.
    left: Vec<Arc<Relay>>,
    /// Tells the relays that the program has ended.
    ended: OwnedFd,
    /// Readable when a relay is done.
    done: Arc<OwnedFd>,
}

/// How a relay ended, and it, if it has more to do.
type RelayEnd = (End, Option<Arc<Relay>>);

fn event() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

fn signal(event: &OwnedFd) {
    // It fails only when it is signalled already.
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

impl Relays {
    pub(super) fn new(display: CounterDisplay) -> io::Result<Self> {
        Ok(Self {
            display: Arc::new(display),
            waiting: Vec::new(),
            relays: Vec::new(),
            left: Vec::new(),
            outlets: Vec::new(),
            running: 0,
            has_failed: false,
            ends: channel(),
            ended: event()?,
            done: Arc::new(event()?),
        })
    }

    pub(super) fn ended(&self) -> &OwnedFd {
        &self.ended
    }

    pub(super) fn done_event(&self) -> &OwnedFd {
        &self.done
    }

    /// Adds a relay, which exists until its source or its destination has ended.
    pub(super) fn add(&mut self, relay: Relay) -> Weak<Relay> {
        self.outlets.push(Arc::clone(&relay.outlet));
        let relay = Arc::new(relay);
        let weak = Arc::downgrade(&relay);
        self.relays.push(Weak::clone(&weak));
        self.waiting.push(relay);
        weak
    }

    /// Starts all threads that the program's output needs. They come after the fork of the program's process, which needs a process with
    /// one thread, and before the program: where the system refuses one, that runs without us.
    pub(super) fn start(&mut self) -> io::Result<()> {
        for relay in std::mem::take(&mut self.waiting) {
            self.start_thread(relay)?;
        }
        self.display.start(self.outlets.clone())
    }

    fn start_thread(&mut self, relay: Arc<Relay>) -> io::Result<()> {
        let thread = thread::Builder::new().name("outpace-relay".to_owned());
        thread.spawn(self.work_of(relay))?;
        self.running += 1;
        Ok(())
    }

    fn work_of(&self, relay: Arc<Relay>) -> impl FnOnce() + Send + use<> {
        let (ends, done) = (self.ends.0.clone(), Arc::clone(&self.done));
        move || {
            let end = relay.run();
            // Otherwise closing the source gives the program its SIGPIPE.
            let is_left = matches!(end, End::Complete) && relay.is_left();
            let left = Some(relay).filter(|_| is_left);
            let _ = ends.send((end, left));
            signal(&done);
        }
    }

    /// Collects the relays that are done.
    pub(super) fn collect(&mut self) {
        let _ = rustix::io::read(&*self.done, &mut [0; 8]);
        while let Ok((end, left)) = self.ends.1.try_recv() {
            self.left.extend(left);
            self.running -= usize::from(!matches!(end, End::NotFlushed(_)));
            let (error, is_new) = match end {
                End::Complete => continue,
                End::Refused(error) => (error, true),
                // A relay may have met the same error.
                End::NotFlushed(error) => (error, !self.has_failed),
            };
            // A reader that has gone is not reported, as without `run`.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.has_failed |= !is_hangup(&error);
                if is_new {
                    report(format_args!("outpace: output: {error}"));
                }
            }
        }
    }

    /// The relays that may have more to do, when all are done for now.
    pub(super) fn take_left(&mut self) -> Vec<Arc<Relay>> {
        let mut left = std::mem::take(&mut self.left);
        let are_done = self.are_done();
        left.retain(|relay| are_done && relay.is_left());
        left
    }

    pub(super) fn display(&self) -> Arc<CounterDisplay> {
        Arc::clone(&self.display)
    }

    /// Passes on what processes that outlive the program write, until none has the pipes any more. In the child of a fork, which has none
    /// of the other threads.
    pub(super) fn pass_on_the_rest(&mut self, mut left: Vec<Arc<Relay>>) {
        for relay in &left {
            // The event is of all of them.
            let _ = rustix::io::read(&relay.ended, &mut [0; 8]);
        }
        // A thread of the parent may have been using the old one.
        std::mem::forget(std::mem::replace(&mut self.ends, channel()));
        // The last needs no other thread. One that gets none waits for its end.
        let mut here: Vec<_> = left.pop().into_iter().collect();
        for relay in left {
            let began = Instant::now();
            while self.start_thread(Arc::clone(&relay)).is_err() {
                // The threads of the parent, and soon the parent, make room for it.
                if began.elapsed() > LAST_READ {
                    here.push(relay);
                    break;
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        // The output does without.
        let _ = self.display.start(self.outlets.clone());
        for relay in here {
            self.running += 1;
            self.work_of(relay)();
        }
        while !self.are_done() {
            let _ = poll(&mut [PollFd::new(&self.done, PollFlags::IN)], None);
            self.collect();
        }
        for outlet in &self.outlets {
            // It fails when the reader has gone.
            let _ = outlet.flush();
        }
        self.display.store(counters::of_all(&self.outlets));
    }

    /// Acts on SIGUSR1.
    pub(super) fn show_counters(&self, program: Option<i32>) {
        counters::show(&self.outlets, program);
    }

    pub(super) fn are_done(&self) -> bool {
        self.running == 0
    }

    /// Waits until the relays are done, unless the file has been given no bytes for `limit`.
    fn complete(&mut self, tee: &Tee, limit: Duration) {
        let (mut last, mut bytes) = (Instant::now(), tee.bytes());
        while !self.are_done() && last.elapsed() < limit {
            if std::mem::replace(&mut bytes, tee.bytes()) != bytes {
                last = Instant::now();
            }
            let _ = poll(
                &mut [PollFd::new(&self.done, PollFlags::IN)],
                Some(&INTERVAL),
            );
            self.collect();
        }
    }

    /// The program has ended: the relays read what is there, and wait for no more.
    pub(super) fn program_ended(&self) {
        signal(&self.ended);
    }

    /// As [`program_ended`](Self::program_ended), for another thread to call.
    pub(super) fn when_ended(&self) -> io::Result<impl FnOnce() + Send + use<>> {
        let ended = self.ended.try_clone()?;
        Ok(move || signal(&ended))
    }

    /// Wakes threads that wait until a terminal takes more: Ctrl-Z has emptied its queue, and the kernel tells no writer.
    fn wake_writers(&self) {
        for outlet in &self.outlets {
            for action in [Action::OOff, Action::OOn] {
                // It fails where the destination is no terminal.
                let _ = tcflow(outlet.as_fd(), action);
            }
        }
    }

    fn pending(&self) -> u64 {
        self.outlets.iter().map(|outlet| outlet.pending()).sum()
    }

    /// Whether an outlet still has a reader.
    fn are_read(&self) -> bool {
        self.outlets.iter().any(|outlet| !has_gone(outlet.as_fd()))
    }

    /// Passes on what the program, which was stopped, has written by now, as far as the reader takes it soon.
    pub(super) fn show_all(&self, shim: Option<&Shim>) {
        if let Some(shim) = shim {
            shim.settle(LAST_OUTPUT);
        }
        for relay in self.relays.iter().filter_map(Weak::upgrade) {
            relay.catch_up(LAST_OUTPUT);
        }
        self.settle(LAST_OUTPUT);
    }

    /// Waits until the queued output is shown, at most for `limit`.
    pub(super) fn settle(&self, limit: Duration) {
        for outlet in &self.outlets {
            // The relay reports an error when it meets it.
            let _ = outlet.empties_within(limit);
        }
    }

    /// Waits until these outlets have passed on what is queued, together at most for `limit`, and keeps those that have not.
    fn flush(&self, left: &mut Vec<Arc<Outlet>>, limit: Duration) {
        let each = limit / left.len().max(1) as u32;
        left.retain(|outlet| match outlet.empties_within(each) {
            Ok(is_empty) => !is_empty,
            // Output that cannot be delivered counts as shown.
            Err(error) => {
                let _ = self.ends.0.send((End::NotFlushed(error), None));
                false
            }
        });
    }
}

/// Whether a terminal has gone. A signal, or its next write, tells the program so.
fn is_hangup(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EIO)
}

/// The longest that `--tee` waits for more of the rest, when that is not shown any more.
const LAST_READ: Duration = Duration::from_secs(2);

/// The longest that Ctrl-Z, or `fg`, waits for earlier output.
pub(super) const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// How often progress is shown.
const INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// The same, where outlets are waited for: also the longest that a key or a signal waits meanwhile.
const SLICE: Duration = Duration::from_millis(100);
/// Progress is shown only after this many intervals.
const PATIENCE: u32 = 10;

/// Reads the remaining output, and shows what is queued. Ctrl-C skips to the end.
/// `all_is_read` closes the sources, and gets the terminal with the keys typed there meanwhile; until then keys that stop output and
/// let it go on are passed to `pty`.
pub(super) fn finish(
    mut relays: Relays,
    ending: Ending,
    mut terminal: Option<&mut Terminal>,
    signals: &Signals,
    tee: Option<&Tee>,
    mut pty: Option<OwnedFd>,
    all_is_read: impl FnOnce(Option<&mut Terminal>, Vec<u8>),
) -> Result<Finished, Failure> {
    // On the terminal that shows the output, progress would be mixed into it.
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let shows_progress =
        io::stderr().is_terminal() && screen::takes_escapes() && !are_same(stdout, stderr);
    let mut all_is_read = Some(all_is_read);
    let (mut typed_ahead, mut has_no_keys) = (Vec::new(), false);
    let (mut left, mut total, mut rounds, mut shown) = (relays.outlets.clone(), 0, 0, false);
    let (mut skipped, mut began) = (None, Instant::now());
    // When the readers have gone, a process that outlives the program gets an error when it writes, as without `run`.
    while !left.is_empty() && skipped.is_none() && (tee.is_some() || relays.are_read()) {
        if relays.are_done()
            && let Some(all_is_read) = all_is_read.take()
        {
            pty = None;
            all_is_read(terminal.as_deref_mut(), std::mem::take(&mut typed_ahead));
            (total, began) = (relays.pending(), Instant::now());
        }
        // After that, keys are for other processes.
        let keys = terminal
            .as_deref()
            .filter(|terminal| terminal.is_raw() && all_is_read.is_some() && !has_no_keys)
            .map(Terminal::as_fd);
        let mut waiting = vec![
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(relays.done.as_fd(), PollFlags::IN),
        ];
        waiting.extend(keys.map(|keys| PollFd::from_borrowed_fd(keys, PollFlags::IN)));
        // The rest is waited for by outlets, each in a part of the interval.
        let at_once = all_is_read.is_none().then(Timespec::default);
        let _ = poll(&mut waiting, at_once.as_ref().or(Some(&INTERVAL)));
        let has_keys = waiting
            .get(2)
            .is_some_and(|keys| !keys.revents().is_empty());
        while let Some(arrived) = signals.next() {
            if matches!(
                arrived.number,
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT
            ) {
                skipped = Some(relays.pending());
            }
            if arrived.number == libc::SIGUSR1 {
                relays.show_counters(None);
            }
            // Ctrl-Z where the terminal has its own settings, or on pipes: the rest is shown when the shell continues the job.
            if arrived.number == libc::SIGTSTP {
                signals::stop_here(libc::SIGTSTP);
                relays.wake_writers();
            }
        }
        if let (true, Some(keys)) = (has_keys, keys) {
            let mut typed = [0; 64];
            match rustix::io::read(keys, &mut typed) {
                // The terminal has gone; output to other places goes on.
                Ok(0) | Err(Errno::IO) => has_no_keys = true,
                Ok(read) if typed[..read].contains(&CTRL_C) => skipped = Some(relays.pending()),
                // The program's terminal would have sent the signal to it, and it would have stopped this job.
                Ok(read)
                    if pty
                        .as_ref()
                        .is_some_and(|pty| terminal::suspends(pty, &typed[..read])) =>
                {
                    if let Some(terminal) = &mut terminal {
                        terminal.restore();
                        signals::stop_job(libc::SIGTSTP);
                        relays.wake_writers();
                        let seen = terminal.make_raw(|_, _| ()).unwrap_or_default();
                        typed_ahead.extend(seen.into_iter().flatten());
                    }
                }
                Ok(read) => {
                    if let Some(pty) = &pty {
                        if let Some(terminal) = &mut terminal {
                            terminal.follow_flow_control(pty, &typed[..read]);
                        }
                        // Output in the shared memory waits for these keys as well.
                        typed_ahead.extend(terminal::type_flow_control(pty, &typed[..read]));
                    }
                }
                // Another process has read the keys.
                Err(_) => {}
            }
        }
        // The total is unknown while a process that outlives the program may write.
        if all_is_read.is_some() {
            relays.collect();
            continue;
        }
        if skipped.is_none() {
            relays.flush(&mut left, SLICE);
        }
        relays.collect();
        rounds += 1;
        if shows_progress && rounds >= PATIENCE && !left.is_empty() && skipped.is_none() {
            let pending = relays.pending();
            let passed_on = total - pending.min(total);
            // CR, the text, EL, which erases the rest of a longer line (ECMA-48).
            let text = left_over(passed_on, pending, began.elapsed());
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
            shown = true;
        }
    }
    if shown {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
    // The signal may have ended the program as well, with nothing left to skip.
    if skipped == Some(0) && !relays.are_done() {
        let _ = poll(
            &mut [PollFd::new(&relays.done, PollFlags::IN)],
            Some(&INTERVAL),
        );
        relays.collect();
        skipped = Some(relays.pending());
    }
    let is_cut = skipped.is_some_and(|bytes| bytes > 0 || !relays.are_done());
    if skipped.is_some() {
        for outlet in &relays.outlets {
            // If that fails, the skipped output comes before what follows.
            let _ = outlet.divert();
        }
    }
    // Otherwise the leader of the session would take us for killed, and show the output in the shared memory.
    if let Some(all_is_read) = all_is_read.take().filter(|_| skipped.is_some()) {
        drop(pty.take());
        all_is_read(terminal.as_deref_mut(), typed_ahead);
    }
    if let Some(terminal) = &mut terminal {
        if is_cut {
            terminal.discard_output(|| relays.pending() == 0);
        }
        terminal.restore();
    }
    if let Some(tee) = tee.filter(|_| skipped.is_some()) {
        relays.complete(tee, LAST_READ);
    }
    relays.display.store(counters::of_all(&relays.outlets));
    // A signal that ends processes that outlive the program is not reported, as without `run`.
    if let Some(bytes) = skipped.filter(|bytes| *bytes > 0) {
        let complete = tee.filter(|_| relays.are_done());
        let whole = complete.map_or_else(String::new, |tee| {
            format!("; all of it is in {}", tee.path().display())
        });
        let _ = writeln!(
            io::stderr(),
            "\noutpace: skipped {} bytes of output{whole}",
            grouped(bytes)
        );
    }
    // Without `run`, the program itself would have met the error.
    let ending = match ending {
        Ending::Exited(0) if relays.has_failed => Ending::Exited(1),
        ending => ending,
    };
    Ok(Finished {
        ending,
        is_skipped: skipped.is_some(),
        relays: ManuallyDrop::new(relays),
    })
}

/// All output is shown or skipped: what remains is to end as the program ended.
#[must_use]
pub(super) struct Finished {
    ending: Ending,
    is_skipped: bool,
    /// The destructors of the outlets would wait for the destinations.
    relays: ManuallyDrop<Relays>,
}

impl Finished {
    /// The relays, unless output was skipped.
    pub(super) fn relays(&mut self) -> Option<&mut Relays> {
        (!self.is_skipped).then_some(&mut *self.relays)
    }

    /// Ends as the program ended. A signal ends this process at once, so reports come before.
    pub(super) fn repeat(self) -> ExitCode {
        if self.is_skipped {
            self.ending.leave();
        }
        self.ending.repeat()
    }
}

/// Text: bytes left, rate, time left.
fn left_over(passed_on: u64, pending: u64, elapsed: Duration) -> String {
    let done = 100 * passed_on / (passed_on + pending).max(1);
    let rate = passed_on as f64 / elapsed.as_secs_f64().max(1e-3);
    let time = match passed_on {
        0 => String::new(),
        _ => format!(
            " at {}/s, {:.0} s left",
            quantity::bytes(rate as u64),
            (pending as f64 / rate).ceil()
        ),
    };
    format!(
        "outpace: the program has ended; {done} % of what was left is passed on, {} bytes to go{time} (Ctrl-C skips)",
        grouped(pending)
    )
}

/// The byte of that key on a raw terminal.
const CTRL_C: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_bytes_a_rate_and_a_time() {
        assert_eq!(
            left_over(2_000_000, 6_000_000, Duration::from_secs(2)),
            "outpace: the program has ended; 25 % of what was left is passed on, 6,000,000 bytes to go \
             at 1MB/s, 6 s left (Ctrl-C skips)"
        );
        assert!(!left_over(0, 5, Duration::ZERO).contains(" at "));
    }
}
