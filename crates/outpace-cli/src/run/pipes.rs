//! When stdout is not a terminal, or `--pipe` is given: the program runs in our own session and process group, on pipes, so
//! that the shell's job control and the terminal's signals reach it as they reach us. When the program is stopped, we stop, and the other
//! way round when we are continued: our parent sees of the program what it would see without us.

use super::counters::CounterDisplay;
use super::finish::{self, Relays};
use super::monitor::Standard;
use super::relay::Relay;
use super::shim::Shim;
use super::tee::Tee;
use super::{Run, When, are_same, check_descriptors, monitor, no_shim, staying, variables};
use crate::platform::ending::{Change, Ending};
use crate::platform::gate::Held;
use crate::platform::signals::{self, Signals};
use crate::platform::waker;
use crate::user::failure::{Failure, Outcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};

/// Passed on to the program if a process has sent them, as are others [meant for it](signals::meant_for_programs); the terminal's
/// own signals reach both of us. None of them stops us: a program that catches SIGTSTP may go on.
const PASSED_ON: [i32; 9] = [
    libc::SIGCONT,
    libc::SIGTSTP,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

pub(super) fn run(run: &Run, tee: Option<Arc<Tee>>, display: CounterDisplay) -> Outcome {
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let relay_out = run.relays(stdout);
    // A terminal that is both stdout and stderr is served from one pipe.
    let relay_err =
        run.relays(stderr) && (!rustix::termios::isatty(stderr) || are_same(stdout, stderr));
    if !relay_out && !relay_err {
        const NO_PIPE: &str = "the program writes to no terminal or pipe of ours";
        if run.shim == When::Always {
            return Err(no_shim(NO_PIPE));
        }
        run.say(format_args!("no shim: {NO_PIPE}"));
        // Process 1 has to stay, to reap orphans, and so has one that keeps counters.
        if std::process::id() != 1 && display.stats.is_none() {
            // No output passes through us.
            return Err(run.become_program());
        }
    }
    let failed = |error: io::Error| Failure::failed("relay", error);
    signals::tell_of_children();
    let refused = |error: io::Error| run.run_without_us("relay", error);
    let collected = [&PASSED_ON[..], &[libc::SIGCHLD]].concat();
    let signals =
        Signals::collect_with(&collected, signals::meant_for_programs()).map_err(refused)?;
    let mut relays = Relays::new(display).map_err(refused)?;
    let mut standard = Standard::OURS;
    // The pipe that the shim serves: stdout's if there is one.
    let mut served = None;
    (|| -> io::Result<()> {
        if relay_out {
            let (program, relay) = run.pipe_to(stdout, tee.as_ref(), relays.ended())?;
            if relay_err && are_same(stdout, stderr) {
                // One pipe for both keeps their order.
                standard.stderr = Some(program.try_clone()?);
            }
            served = Some((program.try_clone()?, relays.add(relay)));
            standard.stdout = Some(program);
        }
        if relay_err && standard.stderr.is_none() {
            let (program, relay) = run.pipe_to(stderr, tee.as_ref(), relays.ended())?;
            let pipe = (program.try_clone()?, relays.add(relay));
            served.get_or_insert(pipe);
            standard.stderr = Some(program);
        }
        check_descriptors()
    })()
    .map_err(refused)?;
    let shim = served
        .as_ref()
        .map(|(pipe, _)| run.shim(pipe))
        .transpose()?;
    // SAFETY: no thread has been started yet, not even a relay's.
    #[allow(unsafe_code)]
    unsafe {
        variables::name_journal(stdout, &standard.stdout);
        variables::name_journal(stderr, &standard.stderr);
    }
    let mut command = monitor::command(&run.command, standard);
    if let Some(Ok(shim)) = &shim {
        // SAFETY: the same.
        #[allow(unsafe_code)]
        unsafe {
            Arc::clone(shim).give_to(&mut command);
        }
    }
    // SAFETY: the same.
    #[allow(unsafe_code)]
    unsafe {
        variables::name_process(std::process::id() as i32, &mut command);
    }
    // SAFETY: the same. Its copies of the pipes are closed with the command.
    #[allow(unsafe_code)]
    let held = unsafe { Held::fork(command) }.map_err(refused)?;
    if let Err(error) = relays.start() {
        drop(held);
        return Err(refused(error));
    }
    let decide = |(shim, (pipe, relay))| {
        let start = |shim: &Arc<Shim>| {
            let ours = std::process::id() as i32;
            shim.start(pipe, &relay, ours, relays.when_ended()?)
        };
        Ok((run.decide_on(shim, start)?, relay))
    };
    let shim = shim.zip(served).map(decide).transpose()?;
    let program = held.let_go();
    let program = program.map_err(|error| run.not_started("relay", error))?;
    let shim_of_pipe = match &shim {
        Some((Ok(shim), relay)) => Some((shim, relay)),
        _ => None,
    };
    let ending = supervise(program, &signals, &mut relays, &shim_of_pipe).map_err(failed)?;
    match &shim_of_pipe {
        Some((shim, _)) => shim.finish(),
        None => relays.program_ended(),
    }
    let mut finished = finish::finish(
        relays,
        ending,
        None,
        &signals,
        tee.as_deref(),
        None,
        |_, _| (),
    )?;
    staying::stay(&mut finished, || run.buffering());
    if let Some((shim, _)) = shim_of_pipe {
        shim.wait_for_starts();
        if run.verbose {
            shim.describe().iter().for_each(|what| run.say(what));
        }
    }
    if let Some((Err(reason), _)) = &shim {
        run.say(format_args!("no shim: {reason}"));
    }
    Ok(finished.repeat())
}

/// Passes signals on, and stops with the program, until that has ended.
fn supervise(
    program: i32,
    signals: &Signals,
    relays: &mut Relays,
    shim: &Option<(&Arc<Shim>, &Weak<Relay>)>,
) -> io::Result<Ending> {
    // We were stopped with the program, and continued. So is the program.
    let mut is_continued = false;
    loop {
        let done: &OwnedFd = relays.done_event();
        let mut waiting = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(done.as_fd(), PollFlags::IN),
        ];
        let at_once = is_continued.then(Timespec::default);
        match poll(&mut waiting, at_once.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        relays.collect();
        if let Some((shim, relay)) = shim
            && relay.strong_count() == 0
        {
            // The reader has gone. The kernel tells the program so, at its next write to the pipe.
            shim.is_dead();
        }
        let mut is_changed = is_continued;
        while let Some(arrived) = signals.next() {
            if arrived.number == libc::SIGCHLD {
                is_changed = true;
            } else if arrived.number == libc::SIGUSR1 {
                relays.show_counters(Some(program));
            } else if arrived.by_process {
                signals::send(program, arrived.number);
            }
        }
        if !is_changed {
            continue;
        }
        // Last: the program has the signals that came meanwhile before it goes on, and is not stopped after a SIGCONT.
        // Looked at before: of a program that was continued right after it had been stopped, wait(2) may tell nothing for a while.
        let is_waiting = std::mem::take(&mut is_continued) && waker::may_be_stopped(program);
        match Change::reap(program)? {
            Some(Change::Ended(ending)) => return Ok(ending),
            Some(Change::Stopped(signal)) => {
                relays.show_all(shim.as_ref().map(|(shim, _)| &***shim));
                is_continued = waker::stop_with(program, signal);
            }
            Some(Change::Continued) => {}
            // In the same stop still.
            None if is_waiting => signals::continue_job(program),
            None => {}
        }
    }
}
