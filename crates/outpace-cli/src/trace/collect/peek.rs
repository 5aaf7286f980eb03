//! A short exact look at one thread that writes much: sixteen of its writes, or two, by ptrace(2), with their sizes and
//! last bytes. The longer one takes a millisecond or two.
//!
//! Stopping a thread in a write that waits for room cuts the write in two, and there are programs that take that for
//! an error. So only a thread that writes little at a time is stopped, while it runs or sleeps in a way that no signal ends, and only where all that its process could
//! write to takes small writes whole: files and pipes (PIPE_BUF in pipe(7)), no terminal, socket or device.
//!
//! The look lets go of the thread at its last stop. Where there are too few stops, it ends with the thread of ours that takes it, as
//! the kernel lets go of whatever a thread traces when that ends, without stopping it once more.

use crate::platform::clock::{self, Delay};
use crate::platform::doing::{self, Doing};
use crate::platform::ending;
use crate::platform::procfs;
use crate::platform::worker::Worker;
use crate::trace::kernel::{Call, calls, memory, sys};
use crate::trace::model::{Kind, Target};
use std::io;
use std::sync::{Mutex, PoisonError};

/// Writes that show how a stream is buffered, and which stream it is.
const ENOUGH: usize = 16;
const FEW: usize = 2;
/// The fewest writes of a process before a look, and the most long looks at it.
pub(super) const FROM: u64 = 16;
pub(super) const MOST_LONG: u32 = 4;
/// The largest mean size of writes at which a thread is stopped: a stop could cut a larger write in two. musl's blocks (1024 bytes and the
/// message that did not fit) are smaller.
pub(super) const LARGEST: u64 = 1152;
/// A look is over after this time. A short one is over, too, when it has taken a quarter of that from the thread.
const LONGEST_NS: u64 = 8_000_000;

/// Some writes of a thread, and the time the look took from it: without waits for a processor, and on a processor.
#[derive(Default)]
pub(super) struct Look {
    pub(super) writes: Vec<Call>,
    /// Calls between these that do something else: those that do work, and slight ones; and writes for which the same file was opened
    /// once more.
    pub(super) others: [u64; 3],
    /// Where these writes went.
    pub(super) reopened: Option<Target>,
    pub(super) took_ns: u64,
    pub(super) stops_ns: u64,
    /// How often it was stopped.
    pub(super) stops: u64,
}

type Looker = Worker<(i32, i32, usize), io::Result<Look>>;

/// The thread that takes looks, as long as it has let go of what it traced.
static LOOKER: Mutex<Option<Looker>> = Mutex::new(None);

/// Sees some of a thread's next writes. An error says that this is not permitted, or not possible now: a thread that a signal could
/// wake is not stopped, because some calls do not resume unchanged.
pub(super) fn at(process: i32, thread: i32, is_short: bool) -> io::Result<Look> {
    if !takes_writes_whole(process) {
        let why = [io::ErrorKind::Unsupported, io::ErrorKind::WouldBlock];
        return Err(why[usize::from(procfs::is_ending(process))].into());
    } else if !Doing::resumes_unchanged(process, thread) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let enough = [ENOUGH, FEW][usize::from(is_short)];
    let mut looker = LOOKER.lock().unwrap_or_else(PoisonError::into_inner);
    let worker = looker.take().map_or_else(|| Worker::start(look), Ok)?;
    let lets_go = |look: &io::Result<Look>| matches!(look, Ok(look) if look.writes.len() == enough);
    let (look, worker) = worker.ask((process, thread, enough), lets_go)?;
    *looker = worker;
    look
}

/// Whether a signal never cuts a small write of this process in two.
fn takes_writes_whole(process: i32) -> bool {
    let is_whole = |descriptor| {
        let target = Target::of(process, descriptor);
        target.is_some_and(|target| matches!(target.kind, Kind::File | Kind::Null | Kind::Pipe))
    };
    // A terminal is open for writing as stdin, too, but not written to by that name.
    let streams = (1..=2).filter(|&stream| procfs::is_written(process, stream));
    let others = Target::written_beside_streams(process, &procfs::descriptors(process));
    streams.chain(others).all(is_whole)
}

fn look((process, thread, enough): (i32, i32, usize)) -> io::Result<Look> {
    let until_ns = clock::now_ns() + LONGEST_NS;
    let longest_ns = [LONGEST_NS, LONGEST_NS / 4][usize::from(enough == FEW)];
    sys::seize(thread, libc::PTRACE_O_TRACESYSGOOD)?;
    // Before this and after the last stop, the thread runs undisturbed, however long this one waits for a processor.
    let began_ns = clock::now_ns();
    sys::interrupt(thread)?;
    let (mut look, mut entered, mut between) = (Look::default(), None, [0; 3]);
    let (mut opens, mut opened, mut last, mut delay) = (false, None, None, None);
    let (mut waited_ns, mut resumed) = (0, (began_ns, 0));
    while look.writes.len() < enough
        && look.took_ns < longest_ns
        && let Some(stop) = ending::next_stop(thread, until_ns)?
    {
        // The kernel answers when the thread has left its processor: only then are its times up to date.
        sys::event_message(thread)?;
        let delay = delay.get_or_insert_with(|| Delay::of(thread));
        let (seen_ns, delayed_ns) = (clock::now_ns(), delay.look());
        look.stops += 1;
        let (signal, event) = (stop & 0xff, stop >> 8);
        if signal == sys::AT_CALL {
            match sys::at_call(thread)? {
                sys::AtCall::Entry(number, arguments, stack) => {
                    entered = memory::begun((process, thread), number, &arguments)
                        .filter(|call| !call.kind.is_sync());
                    if let (Some(first), []) = (&mut entered, &*look.writes) {
                        let top = procfs::peek(process, stack, 8 * u64::from(memory::STACK));
                        first.stack = memory::words(&top.unwrap_or_default());
                    }
                    // A call on the descriptor of the last write (lseek, fsync, fstat) counts as part of that write, unless it only asks (isatty).
                    let asks = number == libc::SYS_ioctl;
                    let is_other = |write: &&Call| asks || arguments[0] as i32 != write.descriptor;
                    let before = look.writes.last().filter(is_other);
                    if let Some(kind) = before.and_then(|_| calls::other(number)) {
                        between[kind] += 1;
                    }
                    opens = doing::OPENS.contains(&number);
                }
                sys::AtCall::Exit(result) => {
                    // A call that waits, for a device say, does so without us.
                    let shorter_ns = delayed_ns.saturating_sub(resumed.1) + ending::SOON_NS;
                    waited_ns += seen_ns.saturating_sub(resumed.0 + shorter_ns);
                    let place = |descriptor| Target::identity_of(process, descriptor);
                    if opens {
                        opened = place(result as i32);
                    } else if let Some(call) = entered.take() {
                        let is_it = |file: &_| Some(*file) == place(call.descriptor);
                        let to = opened.take().filter(is_it);
                        if to.is_some() && to == last {
                            between[2] += 1;
                            let of = || Target::of(process, call.descriptor);
                            look.reopened = look.reopened.or_else(of);
                        }
                        // The program may have opened the file of the first write before the look began.
                        last = place(call.descriptor);
                        look.writes.push(Call { result, ..call });
                        look.others = between;
                    }
                }
                sys::AtCall::No => {}
            }
        }
        if event == libc::PTRACE_EVENT_STOP && signal != libc::SIGTRAP {
            // Another process stopped it: it stays stopped.
            sys::resume(thread, libc::PTRACE_LISTEN, 0)?;
            break;
        }
        let passed_on = signal * i32::from(signal != sys::AT_CALL && event == 0);
        let is_last = look.writes.len() == enough;
        let how = [libc::PTRACE_SYSCALL, libc::PTRACE_DETACH][usize::from(is_last)];
        sys::resume(thread, how, passed_on)?;
        resumed = (clock::now_ns(), delayed_ns);
        look.took_ns = (resumed.0 - began_ns).saturating_sub(delayed_ns + waited_ns);
        look.stops_ns = delay.awake_ns() - delayed_ns;
    }
    Ok(look)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn shell(script: &str, stdout: impl Into<Stdio>) -> Child {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdout(stdout);
        shell.stderr(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_look_shows_sizes_and_line_ends_and_leaves_the_program_as_it_was() {
        let mut shell = shell("while :; do echo 12345; done", Stdio::null());
        let process = shell.id() as i32;
        // Until it has become the shell and writes.
        let seen = loop {
            match at(process, process, false) {
                Ok(look) if look.writes.len() == ENOUGH => break Some(look),
                Ok(_) => {}
                // Before that it has what this test has open.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Unsupported
                    ) => {}
                Err(error) => {
                    eprintln!("skipped: ptrace(2) is not permitted: {error}");
                    break None;
                }
            }
        };
        if let Some(look) = seen {
            // It had a processor only while it was held.
            assert!(0 < look.stops_ns && look.stops_ns <= look.took_ns);
            let writes = look.writes;
            let is_line = |write: &Call| {
                (write.descriptor, write.asked, write.ends_line) == (1, Some(6), Some(true))
            };
            assert!(writes.iter().all(is_line), "{:?}", writes);
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            assert!(status.contains("TracerPid:\t0\n"), "{status}");
            assert!(shell.try_wait().unwrap().is_none());
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_file_that_is_opened_for_each_write_is_known_from_one_that_stays_open() {
        for (redirect, is_reopened) in [(" >/dev/null", true), ("", false)] {
            let script = format!("while :; do echo 12345{redirect}; : 3</proc/self/stat; done");
            let mut shell = shell(&script, tempfile::tempfile().unwrap());
            let process = shell.id() as i32;
            // Until it has become the shell and writes, if that is permitted. A slow machine has time for few writes in a look.
            loop {
                match at(process, process, false) {
                    Ok(look) if look.writes.len() > 2 => {
                        let reopened = (look.writes.len() as u64 - 1) * u64::from(is_reopened);
                        assert_eq!(look.others[2], reopened, "{:?}", look.others);
                        assert!(look.others[0] > 0, "{:?}", look.others);
                        break;
                    }
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                    _ => {}
                }
            }
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
    }

    #[test]
    fn a_thread_that_makes_no_calls_is_let_go_when_the_look_is_over() {
        let mut shell = shell("while :; do :; done", Stdio::null());
        let process = shell.id() as i32;
        let mut looks = 0;
        while looks < 8 {
            match at(process, process, true) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                look => looks += u32::from(look.is_ok()),
            }
            assert_eq!(procfs::status(process, "TracerPid").as_deref(), Some("0"));
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_child_that_is_stopped_for_us_has_not_ended() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = sleeper.id() as i32;
        if sys::seize(process, 0).is_ok() {
            sys::interrupt(process).unwrap();
            while !procfs::Stat::of(process).unwrap().is_held {
                std::thread::yield_now();
            }
            assert!(!ending::has_ended(process));
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn a_thread_that_sleeps_is_left_alone() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = sleeper.id() as i32;
        // Until it sleeps.
        while let Ok(look) = at(process, process, false) {
            assert!(look.writes.is_empty(), "{:?}", look.writes);
        }
        assert!(sleeper.try_wait().unwrap().is_none());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
