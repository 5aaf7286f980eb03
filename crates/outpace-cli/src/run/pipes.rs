//! When stdout is not a terminal, or `--pipe` is given: the program runs in our own session and process group, on pipes, so
//! that the shell's job control and the terminal's signals reach it as they reach us.

use super::counters::CounterDisplay;
use super::finish::{self, Relays};
use super::tee::Tee;
use super::{Run, When, are_same, has_reader, monitor, no_shim};
use crate::platform::ending::Ending;
use crate::platform::signals::{self, Signals};
use crate::user::failure::{Failure, Outcome};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::sync::Arc;

/// Passed on to the program if a process has sent them; the terminal's own signals reach both of us.
const PASSED_ON: [i32; 7] = [
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
];

pub(super) fn run(run: &Run, tee: Option<Arc<Tee>>, display: CounterDisplay) -> Outcome {
    const NO_TERMINAL: &str = "the program writes to no terminal of ours";
    if run.shim == When::Always {
        return Err(no_shim(NO_TERMINAL));
    }
    run.say(format_args!("no shim: {NO_TERMINAL}"));
    let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let wants = |descriptor| has_reader(descriptor) || tee.is_some();
    let relay_out = wants(stdout);
    // A terminal that is both stdout and stderr is served from one pipe.
    let relay_err = wants(stderr) && (!rustix::termios::isatty(stderr) || are_same(stdout, stderr));
    let nothing = monitor::Standard {
        stdin: None,
        stdout: None,
        stderr: None,
    };
    // Process 1 has to stay, to reap orphans, and so has one that keeps counters.
    let stays = std::process::id() == 1 || display.stats.is_some();
    if !relay_out && !relay_err && !stays {
        // No output passes through us: the program takes our place.
        let error = monitor::command(&run.command, nothing).exec();
        return Err(run.cannot_start(&error));
    }
    let failed = |error: io::Error| Failure::failed("relay", error);
    signals::tell_of_children();
    let signals = Signals::collect(&[&PASSED_ON[..], &[libc::SIGCHLD]].concat()).map_err(failed)?;
    let mut relays = Relays::new(display).map_err(failed)?;
    let mut standard = nothing;
    (|| -> io::Result<()> {
        if relay_out {
            let (program, relay) = run.pipe_to(stdout, tee.as_ref(), relays.ended())?;
            if relay_err && are_same(stdout, stderr) {
                // One pipe for both keeps their order.
                standard.stderr = Some(program.try_clone()?);
            }
            standard.stdout = Some(program);
            relays.add(relay);
        }
        if relay_err && standard.stderr.is_none() {
            let (program, relay) = run.pipe_to(stderr, tee.as_ref(), relays.ended())?;
            standard.stderr = Some(program);
            relays.add(relay);
        }
        Ok(())
    })()
    .map_err(failed)?;
    // The command is dropped at once: its copies would keep the pipes open.
    let program = monitor::command(&run.command, standard)
        .spawn()
        .map_err(|error| run.cannot_start(&error))?
        .id() as i32;
    relays.start().map_err(failed)?;
    let ending = supervise(program, &signals, &mut relays).map_err(failed)?;
    if std::process::id() == 1 {
        // The kernel ends the others with us: no more is waited for.
        relays.program_ended();
    }
    let finished = finish::finish(
        relays,
        ending,
        None,
        &signals,
        tee.as_deref(),
        None,
        |_, _| (),
    )?;
    Ok(finished.repeat())
}

/// Passes signals on until the program has ended.
fn supervise(program: i32, signals: &Signals, relays: &mut Relays) -> io::Result<Ending> {
    loop {
        let done: &OwnedFd = relays.done_event();
        let mut waiting = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(done.as_fd(), PollFlags::IN),
        ];
        match poll(&mut waiting, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        relays.collect();
        while let Some(arrived) = signals.next() {
            if arrived.number == libc::SIGCHLD {
                if let Some(ending) = Ending::reap(program)? {
                    return Ok(ending);
                }
            } else if arrived.number == libc::SIGUSR1 {
                relays.show_counters(Some(program));
            } else if arrived.by_process {
                signals::send(program, arrived.number);
            }
        }
    }
}
