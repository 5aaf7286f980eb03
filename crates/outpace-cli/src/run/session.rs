//! When stdout is a terminal: the program runs on a pseudoterminal, in a session of its own.

use super::counters::CounterDisplay;
use super::finish::{self, LAST_OUTPUT, Relays};
use super::monitor::{Monitor, News, Standard, Start};
use super::relay::{self, Conversation, Relay, Route};
use super::shim::Shim;
use super::tee::Tee;
use super::terminal::{self, SeenKey, Settings, Terminal};
use super::{Run, are_same, check_descriptors, copy_access, staying};
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
use std::time::{Duration, Instant};

const COLLECTED: [i32; 10] = [
    libc::SIGCHLD,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// The size where there is no terminal to take it from.
const USUAL_SIZE: Winsize = Winsize {
    ws_row: 24,
    ws_col: 80,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// The interval between looks for a program whose end is not reported.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The most keys kept for a program that does not take them; beyond this none are read from the terminal.
const MOST_KEYS: usize = 64 << 10;

pub(super) fn run(run: &Run, tee: Option<Arc<Tee>>, display: CounterDisplay) -> Outcome {
    let failed = |error: io::Error| Failure::failed("terminal", error);
    signals::tell_of_children();
    let refused = |error: io::Error| run.run_without_us("terminal", error);
    let signals =
        Signals::collect_with(&COLLECTED, signals::meant_for_programs()).map_err(refused)?;
    let stdout = rustix::stdio::stdout();
    let (ours, theirs) = crate::platform::pty::open().map_err(refused)?;
    copy_access(stdout, &theirs);
    // Without a terminal to read keys from (another user's, say) the program still runs.
    let mut terminal = termios::isatty(stdout)
        .then(Terminal::open)
        .and_then(Result::ok);
    if !terminal.as_ref().is_some_and(Terminal::is_held_by_another) {
        copy_settings(&theirs).map_err(failed)?;
    }
    let size = size();
    let _ = termios::tcsetwinsize(&ours, size.unwrap_or(USUAL_SIZE));
    let mut relays = Relays::new(display).map_err(refused)?;
    let standard = connect(run, &theirs, &mut relays, tee.as_ref()).map_err(refused)?;
    check_descriptors().map_err(refused)?;
    let keys = terminal.as_ref().map(Terminal::share).transpose();
    let keys = keys.map_err(refused)?;
    let shim = run.shim(&theirs)?;
    // Made raw before the program can change its own terminal.
    let mut settings = None;
    let tell = |before: &Settings, now: &Settings| {
        // A shell may have changed them since they were copied.
        before.lend(&ours);
        settings = Some((before.clone(), now.clone()));
    };
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
    let (monitor, theirs) = Monitor::start(start, &ours, theirs, keys).map_err(|error| {
        if let Some(terminal) = &mut terminal {
            terminal.restore();
        }
        refused(error)
    })?;
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
        hangs_up: !relay::is_named_pipe(stdout),
        is_controlled: termios::tcgetsid(stdout)
            .is_ok_and(|session| rustix::process::getsid(None).is_ok_and(|own| own == session)),
        conversation: Arc::default(),
        relay: Weak::new(),
        lost: None,
        shim: None,
        size,
        is_in_background,
        began: Instant::now(),
        was_in_background: false,
    };
    if let Err(error) = session.begin(tee.as_ref()) {
        session.leave();
        return Err(refused(error));
    }
    let start_shim = |shim: &Arc<Shim>| {
        let done = session.relays.when_ended()?;
        shim.start(theirs, &session.relay, session.monitor.leader(), done)
    };
    let supervised = run.decide_on(shim, start_shim).and_then(|shim| {
        session.shim = shim.as_ref().ok().map(Arc::clone);
        Ok((session.supervise()?, shim))
    });
    let (ending, shim) = match supervised {
        Ok(supervised) => supervised,
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
        // A look at all of the memory takes as long as a small program's part in it.
        Ok(shim) if run.verbose => shim.describe().iter().for_each(|what| run.say(what)),
        Ok(_) => {}
        Err(reason) => run.say(format_args!("no shim: {reason}")),
    }
    let mut finished = finished?;
    staying::stay(&mut finished, || run.buffering());
    Ok(finished.repeat())
}

/// Chooses the program's descriptors: the pseudoterminal in place of our terminal, a pipe in place of
/// one that another process reads, and our own otherwise.
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
    } else if run.relays(stderr) && !termios::isatty(stderr) {
        let (program, relay) = run.pipe_to(stderr, tee, relays.ended())?;
        standard.stderr = Some(program);
        relays.add(relay);
    }
    Ok(standard)
}

/// Passes keys that the user's terminal has seen before it was raw to the program's terminal. Returns those that it cannot be
/// given as seen: they are typed later, and echoed again.
fn keys_of(pty: &OwnedFd, seen: Vec<SeenKey>) -> Vec<u8> {
    let left = terminal::type_seen(pty, &seen);
    if left.is_empty() {
        return Vec::new();
    }
    let end_of_input = termios::tcgetattr(pty)
        .map_or(0, |settings| settings.special_codes[SpecialCodeIndex::VEOF]);
    let keys = left.iter().map(|key| key.unwrap_or(end_of_input));
    keys.collect()
}

/// Gives the user's terminal the settings and the size of the program's, and the keys that the program has not read.
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
    // Keys that could not be given back stay with the program's terminal, in case the program goes on.
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

/// Gives the pseudoterminal the terminal's settings. In a pipeline its lines end as in a pipe.
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

/// The interval at which a job in the background looks whether it has come to the foreground, and whether a program with another stdin
/// than the terminal reads keys; and the shorter one after the start, when most of the latter begin to.
const LOOK_AT_TERMINAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};
const LOOK_SOON: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};
const SOON: Duration = Duration::from_secs(1);

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
    /// The leader was ordered to let the program go on.
    is_continuing: bool,
    /// Keys typed, and not yet taken by the pseudoterminal.
    keys: Vec<u8>,
    /// The user's terminal has gone.
    hung_up: bool,
    /// Not so for a pipe with a name (`--terminal`), which can get another reader.
    hangs_up: bool,
    /// The user's terminal is our controlling one: a signal tells us when it has gone, as it would tell the program.
    is_controlled: bool,
    conversation: Arc<Conversation>,
    /// The relay of the program's terminal.
    relay: Weak<Relay>,
    /// Reported when everything has been passed on.
    lost: Option<Failure>,
    shim: Option<Arc<Shim>>,
    /// The size last given to the program's terminal.
    size: Option<Winsize>,
    /// The program is in the background of its terminal, as we are of ours.
    is_in_background: bool,
    began: Instant,
    /// It was before: a stop that is reported now may be from then.
    was_in_background: bool,
}

impl Session<'_> {
    /// Lets the program be started, when all is in place that its output needs.
    fn begin(&mut self, tee: Option<&Arc<Tee>>) -> io::Result<()> {
        let stdout = rustix::stdio::stdout();
        let relay = Relay::new(Route {
            source: self.pty.try_clone()?,
            outlet: self.run.outlet(stdout)?,
            tee: tee.cloned(),
            ended: self.relays.ended().try_clone()?,
            may_splice: false,
            whole_lines: self.run.whole_lines(),
            timestamps: self.run.timestamps,
            title: self.run.rate && termios::isatty(stdout),
            conversation: Some(Arc::clone(&self.conversation)),
        });
        self.relay = self.relays.add(relay);
        self.relays.start()?;
        self.monitor.begin();
        Ok(())
    }

    /// No program was started: the terminal and the processes are as without us.
    fn leave(&mut self) {
        self.leave_terminal();
        self.monitor.end();
    }

    /// Passes keys and signals on until the program has ended.
    fn supervise(&mut self) -> Result<Ending, Failure> {
        loop {
            self.wait()
                .map_err(|error| Failure::failed("terminal", error))?;
            self.relays.collect();
            // First, because keys and signals go to the program as it is now.
            if let Some(ending) = self.news()? {
                return Ok(ending);
            }
            if self.program.is_none() || self.is_continuing {
                // Signals and keys wait until the program runs, or goes on.
                continue;
            }
            self.signals();
            if self.waits_for_terminal() {
                let both = self.terminal.as_mut().zip(self.program);
                let has_set = both.is_some_and(|(terminal, program)| {
                    terminal.look_for_reader(&self.pty, program)
                });
                // A shell may have moved us to the foreground, and a job that runs gets no signal then; or the program has begun to read
                // keys, with settings of its own.
                self.take_terminal(!has_set);
            }
            if !self.is_continuing {
                self.keys();
            }
            // Last: a relay that is done because the terminal has gone wakes this thread only once.
            if self.conversation.has_ended() {
                if !self.hung_up {
                    self.hang_up();
                }
                self.let_go();
            }
        }
    }

    /// Acts on the leader's reports; returns how the program ended.
    fn news(&mut self) -> Result<Option<Ending>, Failure> {
        loop {
            match self.monitor.next() {
                Ok(Some(News::Starting(process))) => self.starting = Some(process),
                Ok(Some(News::Started(program))) => {
                    self.program = Some(program);
                    self.take_terminal(self.is_in_background);
                }
                Ok(Some(News::Failed(code))) => {
                    self.leave();
                    let error = io::Error::from_raw_os_error(code);
                    return Err(self.run.not_started("terminal", error));
                }
                Ok(Some(News::Continued)) => self.is_continuing = false,
                // Otherwise the stop came before the order to go on.
                Ok(Some(News::Stopped(signal))) if !self.is_continuing => self.stop(signal),
                Ok(Some(News::Stopped(_))) => {}
                Ok(Some(News::Ended(status))) => {
                    self.program_ended();
                    if let Some(ending) = Ending::from_status(status) {
                        return Ok(Some(ending));
                    }
                }
                // `Left` comes only after the dismissal.
                Ok(Some(News::Left(_)) | None) => return Ok(None),
                Err(error) => return self.without_leader(&error).map(Some),
            }
        }
    }

    /// The leader was killed, and the kernel has hung the program up. Its remaining output is passed on, up to its end.
    fn without_leader(&mut self, error: &io::Error) -> Result<Ending, Failure> {
        let failure = Failure::failed("monitor process", error)
            .remedy("it was killed; run the command again");
        let Some(program) = self.program.or(self.starting) else {
            return Err(failure);
        };
        while signals::is_there(program) {
            thread::sleep(LOOK_AGAIN);
            self.relays.collect();
        }
        self.program_ended();
        self.lost = Some(failure);
        Ok(Ending::Exited(1))
    }

    /// The program has ended: has the remaining output passed on.
    fn program_ended(&self) {
        match &self.shim {
            Some(shim) => shim.finish(),
            None => self.relays.program_ended(),
        }
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
        if !self.hung_up && self.hangs_up {
            // poll(2) reports a hangup unasked. Without a controlling terminal no signal does.
            waiting.push(PollFd::from_borrowed_fd(output, PollFlags::empty()));
        }
        let look_again = self.waits_for_terminal().then(|| {
            let is_soon = self.began.elapsed() < SOON;
            if is_soon {
                &LOOK_SOON
            } else {
                &LOOK_AT_TERMINAL
            }
        });
        match poll(&mut waiting, look_again) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is a terminal whose keys are not ours, as it seems.
    fn waits_for_terminal(&self) -> bool {
        let terminal = self.terminal.as_deref();
        self.program.is_some()
            && !self.hung_up
            && terminal.is_some_and(|terminal| !terminal.is_raw())
    }

    fn signals(&mut self) {
        // A signal may stop the program: it waits until an ordered continuation is reported.
        while !self.is_continuing
            && let Some(arrived) = self.signals.next()
        {
            match arrived.number {
                libc::SIGWINCH if !arrived.by_process => self.follow_size(),
                libc::SIGCONT => self.go_on(),
                libc::SIGHUP => {
                    self.hung_up |= self.has_terminal_gone();
                    self.tell_of_hangup();
                }
                libc::SIGUSR1 => self.relays.show_counters(self.program),
                // As process 1 we reap orphans. The leader reports for itself.
                libc::SIGCHLD => self.monitor.reap_others(),
                // They mean the whole job, as its terminal's keys do. When one has stopped the program, the report of that stops us.
                libc::SIGTERM | libc::SIGINT | libc::SIGQUIT | libc::SIGTSTP => {
                    self.tell_group(arrived.number);
                }
                number => {
                    if let Some(program) = self.program {
                        signals::send(program, number);
                    }
                }
            }
        }
    }

    fn has_terminal_gone(&self) -> bool {
        self.hangs_up && has_gone(rustix::stdio::stdout())
    }

    /// The user's terminal has gone, or the pipe or file in its place takes no more.
    fn hang_up(&mut self) {
        self.hung_up = true;
        if !self.is_controlled {
            self.tell_of_hangup();
        }
    }

    /// Sends a signal to the program and its children, as far as they are of one group.
    fn tell_group(&self, number: i32) {
        if let Some(program) = self.program.and_then(Pid::from_raw) {
            let group = rustix::process::getpgid(Some(program)).unwrap_or(program);
            signals::send(-group.as_raw_pid(), number);
        }
    }

    /// The terminal has gone, or a process has sent SIGHUP: the signal goes to the program, and to the job to which the program
    /// has given its own terminal.
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

    /// Output cannot be shown any more: a program that goes on gets the errors of a terminal that has gone.
    fn let_go(&mut self) {
        if let Some(shim) = &self.shim {
            shim.is_dead();
        }
        let nowhere = File::options().read(true).write(true).open("/dev/null");
        if let Ok(nowhere) = nowhere {
            let _ = rustix::io::dup3(&nowhere, &mut self.pty, DupFlags::CLOEXEC);
        }
        self.monitor.hang_up();
    }

    fn keys(&mut self) {
        if !self.hung_up && self.has_terminal_gone() {
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
            if let Some(terminal) = &mut self.terminal {
                terminal.follow_flow_control(&self.pty, &self.keys);
            }
            match rustix::io::write(&self.pty, &self.keys) {
                Ok(written) => {
                    self.conversation.typed();
                    if let Some(shim) = &self.shim {
                        shim.rouse();
                    }
                    let typed: Vec<u8> = self.keys.drain(..written).collect();
                    self.interrupt_job(&typed);
                }
                // No process has the pseudoterminal open, so the keys have no reader.
                Err(Errno::IO) => self.keys.clear(),
                Err(_) => {}
            }
        }
    }

    /// Sends the signal of a key (Ctrl-C, Ctrl-\) to our whole job, which the program's terminal does not know: a script that has
    /// started us, the other end of a pipe. Not if the program has given its terminal to another job, as a shell does.
    fn interrupt_job(&self, typed: &[u8]) {
        let Ok(settings) = termios::tcgetattr(&self.pty) else {
            return;
        };
        let is_in_front = || {
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
            if key != 0 && typed.contains(&key) && is_in_front() {
                signals::send_to_job(signal);
            }
        }
    }

    /// Makes the terminal raw if we are in its foreground, and follows its size, which may have changed meanwhile. `lends` its settings to
    /// the program's terminal: a shell may have changed them.
    fn take_terminal(&mut self, lends: bool) {
        // Asked once for all that follows: we may come to the foreground at any moment.
        if let Some(terminal) = &mut self.terminal
            && terminal.may_be_made_raw()
        {
            // Output on its way has been made for a terminal that is not raw.
            let relay = self.relay.upgrade();
            let pause = relay.as_ref().and_then(|relay| relay.pause(LAST_OUTPUT));
            self.relays.settle(LAST_OUTPUT);
            // A terminal that refuses shows keys twice; the program can run all the same.
            let typed = terminal.make_raw(|before, now| {
                if lends {
                    before.lend(&self.pty);
                }
                self.monitor.terminal_is_set(before, now);
            });
            drop(pause);
            let typed = keys_of(&self.pty, typed.unwrap_or_default());
            self.keys.extend(typed);
        }
        if self.terminal.as_deref().is_some_and(Terminal::is_raw) {
            self.give_terminal();
        }
        self.follow_size();
    }

    /// Gives the pseudoterminal the size of the terminal, if that has changed; the kernel signals the program.
    fn follow_size(&mut self) {
        let (now, before) = (size(), self.size);
        if let Some(now) = now
            && !before.is_some_and(|before| is_same_size(before, now))
        {
            let _ = termios::tcsetwinsize(&self.pty, now);
            self.size = Some(now);
        }
    }

    /// Moves the program to the foreground or background of its terminal, as we are of ours.
    fn give_terminal(&mut self) {
        if std::mem::take(&mut self.is_in_background) {
            self.was_in_background = true;
            self.monitor.give_terminal(true);
        }
    }

    /// Leaves the terminal to other jobs, with the settings of the program's.
    fn leave_terminal(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            let keys = std::mem::take(&mut self.keys);
            leave_as_the_program_did(terminal, &self.pty, self.size, keys, &mut self.monitor);
            terminal.restore();
            self.monitor.terminal_is_restored();
        }
    }

    /// The program was stopped: leaves the terminal, and stops this process.
    fn stop(&mut self, signal: i32) {
        // Output on its way has been made for a raw terminal.
        let shim = self.shim.as_deref();
        self.relays.show_all(shim);
        self.leave_terminal();
        let is_of_background = self.is_in_background | std::mem::take(&mut self.was_in_background);
        if is_of_background && matches!(signal, libc::SIGTTIN | libc::SIGTTOU) {
            // We may be in the foreground by now. And a program whose `run` no process can continue must not stay stopped for ever.
            let is_ours = self.terminal.as_deref().is_some_and(Terminal::is_ours);
            if !is_ours && signals::stop_job(signal).is_none() {
                self.give_terminal();
                self.let_program_go_on();
                return;
            }
        } else {
            let continued_by = signals::stop_job(signal);
            if continued_by == Some(self.monitor.leader()) {
                // Another process has continued the program, which may have been stopped again since.
                self.come_forward();
                return;
            }
        }
        // The program has the signals that came meanwhile before it goes on: `timeout` sends SIGTERM, then SIGCONT.
        self.signals();
        if !self.is_continuing {
            self.go_on();
        }
    }

    /// We were continued: lets the program go on, and takes the terminal again if we are in its foreground.
    fn go_on(&mut self) {
        self.come_forward();
        self.let_program_go_on();
    }

    fn come_forward(&mut self) {
        match &self.terminal {
            Some(terminal) if terminal.is_for_others() => {
                if !std::mem::replace(&mut self.is_in_background, true) {
                    self.monitor.give_terminal(false);
                }
            }
            _ => self.take_terminal(true),
        }
    }

    fn let_program_go_on(&mut self) {
        if self.program.is_some() {
            self.is_continuing = true;
            self.monitor.go_on();
        }
    }
}
