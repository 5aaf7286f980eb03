//! When stdout is a terminal: the program runs on a pseudoterminal, in a session of its own.

use super::counters::CounterDisplay;
use super::finish::{self, Relays};
use super::monitor::{Monitor, News, Standard, Start};
use super::relay::{Conversation, Relay, Route};
use super::shim::Shim;
use super::tee::Tee;
use super::terminal::{self, SeenKey, Settings, Terminal};
use super::{Run, are_same, has_reader};
use crate::platform::descriptors::has_gone;
use crate::platform::ending::Ending;
use crate::platform::signals::{self, Signals};
use crate::user::failure::{Failure, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{DupFlags, Errno};
use rustix::process::Pid;
use rustix::termios::{self, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Winsize};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

const COLLECTED: [i32; 11] = [
    libc::SIGCHLD,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Where no terminal has one.
const USUAL_SIZE: Winsize = Winsize {
    ws_row: 24,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// The longest that Ctrl-Z, or `fg`, waits for what was written before it.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// How often a program is looked for whose end is not reported.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Keys that the program has not taken yet; beyond this none are read from the terminal.
const MOST_KEYS: usize = 64 << 10;

pub(super) fn run(run: &Run, tee: Option<Arc<Tee>>, display: CounterDisplay) -> Outcome {
    let failed = |error: io::Error| Failure::failed("terminal", error);
    signals::tell_of_children();
    let signals = Signals::collect(&COLLECTED).map_err(failed)?;
    let stdout = rustix::stdio::stdout();
    let (ours, theirs) = crate::platform::pty::open().map_err(failed)?;
    copy_settings(&theirs).map_err(failed)?;
    let size = size();
    let _ = termios::tcsetwinsize(&ours, size.unwrap_or(USUAL_SIZE));
    let mut relays = Relays::new(display).map_err(failed)?;
    let standard = connect(run, &theirs, &mut relays, tee.as_ref()).map_err(failed)?;
    // Without a terminal to read keys from (another user's, say) the program still runs.
    let mut terminal = termios::isatty(stdout)
        .then(Terminal::open)
        .and_then(Result::ok);
    let keys = terminal.as_ref().map(Terminal::share).transpose();
    let keys = keys.map_err(failed)?;
    let shim = run.shim(&theirs)?;
    // Before the program can change its own terminal.
    let mut settings = None;
    let tell = |before: &Settings, now: &Settings| settings = Some((before.clone(), now.clone()));
    let typed = terminal
        .as_mut()
        .and_then(|terminal| terminal.make_raw(tell).ok());
    let typed = keys_of(&ours, typed.unwrap_or_default());
    let start = Start {
        words: &run.command,
        standard,
        shim: shim.as_ref().ok().cloned(),
        in_background: terminal.as_ref().is_some_and(Terminal::is_for_others),
        settings,
    };
    let is_in_background = start.in_background;
    let (monitor, theirs) = Monitor::start(start, &ours, theirs, keys).map_err(failed)?;
    let conversation = Arc::new(Conversation::new(terminal::adds_returns(stdout)));
    let relay = Relay::new(Route {
        source: ours.try_clone().map_err(failed)?,
        outlet: run.outlet(stdout).map_err(failed)?,
        tee: tee.clone(),
        ended: relays.ended().try_clone().map_err(failed)?,
        may_splice: false,
        whole_lines: run.whole_lines(),
        timestamps: run.timestamps,
        title: run.rate && termios::isatty(stdout),
        conversation: Some(Arc::clone(&conversation)),
    });
    let relay = relays.add(relay);
    let mut session = Session {
        run,
        signals: &signals,
        pty: ours,
        monitor,
        terminal: terminal.as_mut(),
        relays,
        starting: None,
        program: None,
        is_continuing: false,
        keys: typed,
        hung_up: false,
        conversation,
        relay: Weak::clone(&relay),
        lost: None,
        shim: shim
            .as_ref()
            .ok()
            .map(|shim| (Arc::clone(shim), Some((theirs, relay)))),
        size,
        is_in_background,
        was_in_background: false,
    };
    let ending = match session.supervise() {
        Ok(ending) => ending,
        Err(failure) => {
            session.leave_terminal();
            return Err(failure);
        }
    };
    let Session {
        mut monitor,
        relays,
        pty,
        mut keys,
        lost,
        size,
        ..
    } = session;
    let mut keeper = None;
    let flow = pty.try_clone().ok();
    let all_is_read = |terminal: Option<&mut Terminal>, typed: Vec<u8>| {
        if let Some(terminal) = terminal {
            keys.extend(typed);
            leave_as_the_program_did(terminal, &pty, size, keys, &mut monitor);
        }
        drop(pty);
        keeper = Some(monitor.dismiss());
    };
    let terminal = terminal.as_mut();
    let finished = finish::finish(
        relays,
        ending,
        terminal,
        &signals,
        tee.as_deref(),
        flow,
        all_is_read,
    );
    if let Some(keeper) = keeper {
        keeper.terminal_is_restored();
    }
    if let Some(failure) = lost {
        failure.report_on_terminal();
    }
    match &shim {
        Ok(shim) => shim.describe().iter().for_each(|what| run.say(what)),
        Err(reason) => run.say(format_args!("no shim: {reason}")),
    }
    Ok(finished?.repeat())
}

/// What the program's descriptors lead to: the pseudoterminal for what is our terminal, a pipe for
/// what another process reads, ours for the rest.
fn connect(
    run: &Run,
    theirs: &OwnedFd,
    relays: &mut Relays,
    tee: Option<&Arc<Tee>>,
) -> io::Result<Standard> {
    let stdout = rustix::stdio::stdout();
    let stderr = rustix::stdio::stderr();
    let stdin = rustix::stdio::stdin();
    let mut standard = Standard {
        stdin: None,
        stdout: Some(theirs.try_clone()?),
        stderr: None,
    };
    // In a pipeline another program may read the keys.
    if termios::isatty(stdin) && termios::isatty(stdout) {
        standard.stdin = Some(theirs.try_clone()?);
    }
    if are_same(stdout, stderr) {
        standard.stderr = Some(theirs.try_clone()?);
    } else if has_reader(stderr) && !termios::isatty(stderr) {
        let (program, relay) = run.pipe_to(stderr, tee, relays.ended())?;
        standard.stderr = Some(program);
        relays.add(relay);
    }
    Ok(standard)
}

/// What the user's terminal has seen before it was raw is for the program; returns it as keys that are still to be typed, where
/// the program's terminal cannot be given it as it is: then it is echoed again.
fn keys_of(pty: &OwnedFd, seen: Vec<SeenKey>) -> Vec<u8> {
    if terminal::type_seen(pty, &seen) {
        return Vec::new();
    }
    let end_of_input = termios::tcgetattr(pty)
        .map_or(0, |settings| settings.special_codes[SpecialCodeIndex::VEOF]);
    let keys = seen.into_iter().map(|key| key.unwrap_or(end_of_input));
    keys.collect()
}

/// What the program has made of its terminal, and what it has not read, is what becomes of the user's.
fn leave_as_the_program_did(
    terminal: &mut Terminal,
    pty: &OwnedFd,
    size: Option<Winsize>,
    keys: Vec<u8>,
    monitor: &mut Monitor,
) {
    if !terminal.is_raw() {
        return;
    }
    let unread = terminal::take_unread(pty);
    terminal.adopt_settings(pty);
    let left = terminal.give_keys_back(&unread, keys, |before, now| {
        monitor.terminal_is_set(before, now)
    });
    // For the program, should it go on.
    terminal::type_seen(pty, left);
    if let Ok(left) = termios::tcgetwinsize(pty)
        && size.is_some_and(|size| !is_same_size(size, left))
    {
        let _ = termios::tcsetwinsize(terminal.as_fd(), left);
    }
}

fn is_same_size(one: Winsize, other: Winsize) -> bool {
    let parts = |size: Winsize| (size.ws_row, size.ws_col, size.ws_xpixel, size.ws_ypixel);
    parts(one) == parts(other)
}

/// Gives the pseudoterminal the settings of the terminal; those of a program in a pipeline write lines as a pipe has
/// them.
fn copy_settings(theirs: &OwnedFd) -> io::Result<()> {
    let stdout = rustix::stdio::stdout();
    let settings = if termios::isatty(stdout) {
        termios::tcgetattr(stdout)?
    } else {
        let mut settings = termios::tcgetattr(theirs)?;
        settings.output_modes.remove(OutputModes::OPOST);
        settings.local_modes.remove(LocalModes::ECHO);
        settings
    };
    Ok(termios::tcsetattr(theirs, OptionalActions::Now, &settings)?)
}

/// The size of the terminal, if there is one.
fn size() -> Option<Winsize> {
    let streams = [
        rustix::stdio::stdout(),
        rustix::stdio::stderr(),
        rustix::stdio::stdin(),
    ];
    streams
        .into_iter()
        .find_map(|stream| termios::tcgetwinsize(stream).ok())
}

/// Where the shim passes on what the program writes: its terminal, and the relay of what comes from there.
type Ways = (OwnedFd, Weak<Relay>);

/// How often a job in the background looks whether it has come to the foreground.
const LOOK_AT_TERMINAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

struct Session<'a> {
    run: &'a Run,
    signals: &'a Signals,
    pty: OwnedFd,
    monitor: Monitor,
    terminal: Option<&'a mut Terminal>,
    relays: Relays,
    /// The process that is about to become the program.
    starting: Option<i32>,
    /// The process group, once it runs.
    program: Option<i32>,
    /// The leader was told to let it go on.
    is_continuing: bool,
    /// Typed, and not yet taken by the pseudoterminal.
    keys: Vec<u8>,
    /// The terminal has gone.
    hung_up: bool,
    conversation: Arc<Conversation>,
    /// That of the program's terminal.
    relay: Weak<Relay>,
    /// What is to be said when everything has been passed on.
    lost: Option<Failure>,
    /// The ways are for when the program runs.
    shim: Option<(Arc<Shim>, Option<Ways>)>,
    /// What the program's terminal was given last.
    size: Option<Winsize>,
    /// The program's terminal is for others, as ours is.
    is_in_background: bool,
    /// It was, so that a stop that is told now may be one from then.
    was_in_background: bool,
}

impl Session<'_> {
    /// Passes keys and signals on until the program has ended.
    fn supervise(&mut self) -> Result<Ending, Failure> {
        loop {
            self.wait()
                .map_err(|error| Failure::failed("terminal", error))?;
            self.relays.collect();
            // First, because keys and signals are for the program that is there now.
            if let Some(ending) = self.news()? {
                return Ok(ending);
            }
            if self.program.is_none() || self.is_continuing {
                // Signals and keys wait until there is a program that they can be passed on to, and until it goes on.
                continue;
            }
            self.signals()?;
            if self.waits_for_terminal() {
                // A shell may have made it ours: of a job that runs, no signal tells that.
                self.come_back();
            }
            if !self.is_continuing {
                self.keys();
            }
            // Last: relays that are done with a terminal that has gone wake no thread again.
            if self.hung_up && self.relays.are_done() {
                self.let_go();
            }
        }
    }

    /// What the leader tells of the program, until its end.
    fn news(&mut self) -> Result<Option<Ending>, Failure> {
        loop {
            match self.monitor.next() {
                Ok(Some(News::Starting(process))) => self.starting = Some(process),
                Ok(Some(News::Started(program))) => {
                    self.program = Some(program);
                    // First: what is read is passed on for a raw terminal, or for one that is not.
                    self.take_terminal();
                    let started = self.relays.start().and_then(|()| self.start_shim());
                    started.map_err(|error| Failure::failed("relay", error))?;
                }
                Ok(Some(News::Failed(code))) => {
                    return Err(self.run.cannot_start(&io::Error::from_raw_os_error(code)));
                }
                Ok(Some(News::Continued)) => self.is_continuing = false,
                // Else that was before what is to let it go on.
                Ok(Some(News::Stopped(signal))) if !self.is_continuing => self.stop(signal),
                Ok(Some(News::Stopped(_))) => {}
                Ok(Some(News::Ended(status))) => {
                    self.program_ended();
                    if let Some(ending) = Ending::from_status(status) {
                        return Ok(Some(ending));
                    }
                }
                // Of what is left, nothing is told before it is asked for.
                Ok(Some(News::Left(_)) | None) => return Ok(None),
                Err(error) => return self.without_leader(&error).map(Some),
            }
        }
    }

    /// The leader was killed. The kernel has hung the program up; what it wrote all the same is passed on, to its end.
    fn without_leader(&mut self, error: &io::Error) -> Result<Ending, Failure> {
        let failure = Failure::failed("monitor process", error)
            .remedy("it was killed; run the command again");
        let Some(program) = self.program.or(self.starting) else {
            return Err(failure);
        };
        if self.program.is_none() {
            let started = self.relays.start().and_then(|()| self.start_shim());
            started.map_err(|error| Failure::failed("relay", error))?;
        }
        while signals::is_there(program) {
            thread::sleep(LOOK_AGAIN);
            self.relays.collect();
        }
        self.program_ended();
        self.lost = Some(failure);
        Ok(Ending::Exited(1))
    }

    /// Nothing more is written: what is there is passed on.
    fn program_ended(&self) {
        match &self.shim {
            Some((shim, _)) => shim.finish(),
            None => self.relays.program_ended(),
        }
    }

    /// What the program leaves in memory is passed on before its end is the relays'.
    fn start_shim(&mut self) -> io::Result<()> {
        let Some((shim, way)) = &mut self.shim else {
            return Ok(());
        };
        let Some((terminal, relay)) = way.take() else {
            return Ok(());
        };
        let leader = self.monitor.leader();
        shim.start(terminal, relay, leader, self.relays.when_ended()?)
    }

    fn wait(&self) -> io::Result<()> {
        let mut waiting = vec![PollFd::from_borrowed_fd(
            self.monitor.as_fd(),
            PollFlags::IN,
        )];
        if self.program.is_none() || self.is_continuing {
            let news = poll(&mut waiting, None).map(drop);
            return news.or_else(|error| match error {
                Errno::INTR => Ok(()),
                error => Err(error.into()),
            });
        }
        waiting.push(PollFd::new(self.signals, PollFlags::IN));
        waiting.push(PollFd::new(self.relays.done_event(), PollFlags::IN));
        if let Some(terminal) = self
            .terminal
            .as_deref()
            .filter(|terminal| terminal.is_raw())
            && self.keys.len() < MOST_KEYS
            && !self.hung_up
        {
            waiting.push(PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN));
        }
        if !self.keys.is_empty() {
            waiting.push(PollFd::new(&self.pty, PollFlags::OUT));
        }
        let output = rustix::stdio::stdout();
        if !self.hung_up {
            // That it has gone is told unasked, also where no signal tells it: without a controlling terminal.
            waiting.push(PollFd::from_borrowed_fd(output, PollFlags::empty()));
        }
        let look_again = self.waits_for_terminal().then_some(&LOOK_AT_TERMINAL);
        match poll(&mut waiting, look_again) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is a terminal, whose keys are for others now.
    fn waits_for_terminal(&self) -> bool {
        let terminal = self.terminal.as_deref();
        self.program.is_some()
            && !self.hung_up
            && terminal.is_some_and(|terminal| !terminal.is_raw())
    }

    fn signals(&mut self) -> Result<(), Failure> {
        // One that stops the program waits until that has gone on.
        while !self.is_continuing
            && let Some(arrived) = self.signals.next()
        {
            match arrived.number {
                libc::SIGWINCH => self.follow_size(),
                libc::SIGCONT => self.go_on(),
                libc::SIGHUP => {
                    self.hung_up |= has_gone(rustix::stdio::stdout());
                    self.tell_of_hangup();
                }
                libc::SIGUSR1 => self.relays.show_counters(self.program),
                // Orphans, where we are process 1; the leader is waited for by itself.
                libc::SIGCHLD => self.monitor.reap_others(),
                // Stops the program; that it has stopped then stops us.
                number => {
                    if let Some(program) = self.program {
                        signals::send(program, number);
                    }
                }
            }
        }
        Ok(())
    }

    /// The terminal has gone.
    fn hang_up(&mut self) {
        self.hung_up = true;
        self.tell_of_hangup();
    }

    /// The terminal has gone, or a process says so: the program is told as a terminal would, and the job to which it has given
    /// its own.
    fn tell_of_hangup(&self) {
        let Some(program) = self.program else {
            return;
        };
        let foreground = termios::tcgetpgrp(&self.pty).map_or(program, Pid::as_raw_pid);
        let job = (foreground != program).then_some(foreground);
        for group in [Some(program), job].into_iter().flatten() {
            signals::send(-group, libc::SIGHUP);
            signals::send(-group, libc::SIGCONT);
        }
    }

    /// Output cannot be shown any more: a program that stays is told when it writes, as a terminal that has gone
    /// would tell it.
    fn let_go(&mut self) {
        if let Some((shim, _)) = &self.shim {
            shim.is_dead();
        }
        let nowhere = File::options().read(true).write(true).open("/dev/null");
        if let Ok(nowhere) = nowhere {
            let _ = rustix::io::dup3(&nowhere, &mut self.pty, DupFlags::CLOEXEC);
        }
        self.monitor.hang_up();
    }

    fn keys(&mut self) {
        if !self.hung_up && has_gone(rustix::stdio::stdout()) {
            self.hang_up();
        }
        if let Some(terminal) = self
            .terminal
            .as_deref()
            .filter(|terminal| terminal.is_raw())
        {
            let mut ready = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
            let is_ready = poll(&mut ready, Some(&Default::default())).is_ok_and(|count| count > 0);
            if is_ready && self.keys.len() < MOST_KEYS && !self.hung_up {
                let mut typed = [0; 4096];
                match rustix::io::read(terminal.as_fd(), &mut typed) {
                    Ok(0) | Err(Errno::IO) => self.hang_up(),
                    Ok(read) => self.keys.extend_from_slice(&typed[..read]),
                    Err(_) => {}
                }
            }
        }
        if self.keys.is_empty() {
            return;
        }
        let mut ready = [PollFd::new(&self.pty, PollFlags::OUT)];
        if poll(&mut ready, Some(&Default::default())).is_ok_and(|count| count > 0) {
            match rustix::io::write(&self.pty, &self.keys) {
                Ok(written) => {
                    self.conversation.typed();
                    let typed: Vec<u8> = self.keys.drain(..written).collect();
                    self.interrupt_job(&typed);
                }
                // No process has the pseudoterminal open: keys have no reader.
                Err(Errno::IO) => self.keys.clear(),
                Err(_) => {}
            }
        }
    }

    /// A key that is a signal (Ctrl-C, Ctrl-\) is one for the whole job, of which the program's terminal does not know: a
    /// script that has started us, the other end of a pipe. Unless the program has given its terminal to others, as a shell does.
    fn interrupt_job(&self, typed: &[u8]) {
        let Ok(settings) = termios::tcgetattr(&self.pty) else {
            return;
        };
        let is_program_s = || {
            let foreground = termios::tcgetpgrp(&self.pty).map(Pid::as_raw_pid);
            foreground.ok() == self.program
        };
        if !settings.local_modes.contains(LocalModes::ISIG) {
            return;
        }
        for (key, signal) in [
            (SpecialCodeIndex::VINTR, libc::SIGINT),
            (SpecialCodeIndex::VQUIT, libc::SIGQUIT),
        ] {
            let key = settings.special_codes[key];
            if key != 0 && typed.contains(&key) && is_program_s() {
                signals::send_to_job(signal);
            }
        }
    }

    /// Takes the terminal if it is ours, and its size, which may have changed while it was not.
    fn take_terminal(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            if terminal.is_ours() && !terminal.is_raw() {
                // What is on its way is for one that is not raw.
                self.relays.settle(LAST_OUTPUT);
            }
            // A terminal that refuses shows keys twice, which is no reason to stop.
            let typed = terminal.make_raw(|before, now| self.monitor.terminal_is_set(before, now));
            let typed = keys_of(&self.pty, typed.unwrap_or_default());
            self.keys.extend(typed);
        }
        if self.terminal.as_deref().is_some_and(Terminal::is_raw) {
            self.give_terminal();
        }
        self.follow_size();
        self.look_at_returns();
    }

    /// Gives the pseudoterminal the size of the terminal, if that has changed; the kernel tells the program.
    fn follow_size(&mut self) {
        let (now, before) = (size(), self.size);
        if let Some(now) = now
            && !before.is_some_and(|before| is_same_size(before, now))
        {
            let _ = termios::tcsetwinsize(&self.pty, now);
            self.size = Some(now);
        }
    }

    /// Takes the terminal after it was another's: its settings are those that a shell has given it.
    fn come_back(&mut self) {
        if let Some(terminal) = &self.terminal
            && terminal.is_ours()
            && !terminal.is_raw()
        {
            terminal.lend_settings(&self.pty);
        }
        self.take_terminal();
    }

    /// The program has its own terminal in the foreground, or not, as we have ours.
    fn give_terminal(&mut self) {
        if std::mem::take(&mut self.is_in_background) {
            self.was_in_background = true;
            self.monitor.give_terminal(true);
        }
    }

    /// Whether the terminal adds carriage returns to what is passed on: while it is not ours it is not raw.
    fn look_at_returns(&self) {
        let adds = terminal::adds_returns(rustix::stdio::stdout());
        self.conversation.destination_adds_returns(adds);
    }

    /// The terminal is others', as the program leaves its own.
    fn leave_terminal(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            let keys = std::mem::take(&mut self.keys);
            leave_as_the_program_did(terminal, &self.pty, self.size, keys, &mut self.monitor);
            terminal.restore();
            self.monitor.terminal_is_restored();
        }
    }

    /// The program was stopped: so are we, with the terminal as the program has left its own.
    fn stop(&mut self, signal: i32) {
        // What is on its way is for a raw terminal.
        if let Some((shim, _)) = &self.shim {
            shim.settle(LAST_OUTPUT);
        }
        if let Some(relay) = self.relay.upgrade() {
            relay.catch_up(LAST_OUTPUT);
        }
        self.relays.settle(LAST_OUTPUT);
        self.leave_terminal();
        self.look_at_returns();
        let is_of_background = self.is_in_background | std::mem::take(&mut self.was_in_background);
        if is_of_background && matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
            // It may be ours by now. And where no process could continue us, the program is not stopped for ever, either.
            let is_ours = self.terminal.as_deref().is_some_and(Terminal::is_ours);
            if !is_ours && !signals::stop_here(signal) {
                self.give_terminal();
                self.let_program_go_on();
                return;
            }
        } else {
            signals::stop_here(signal);
        }
        self.go_on();
    }

    /// We were continued: the program goes on, and takes the terminal again if that is ours.
    fn go_on(&mut self) {
        match &self.terminal {
            Some(terminal) if terminal.is_for_others() => {
                if !std::mem::replace(&mut self.is_in_background, true) {
                    self.monitor.give_terminal(false);
                }
            }
            _ => self.come_back(),
        }
        self.look_at_returns();
        self.let_program_go_on();
    }

    fn let_program_go_on(&mut self) {
        if self.program.is_some() {
            self.is_continuing = true;
            self.monitor.go_on();
        }
    }
}
