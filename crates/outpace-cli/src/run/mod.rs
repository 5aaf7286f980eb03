//! `outpace run`: the program no longer waits for the terminal.
//!
//! The program writes to a pseudoterminal ([`session`]) when our stdout is a terminal, else, and with `--pipe`, to
//! pipes ([`pipes`]); a [`relay`] for each takes what comes at once into a queue of the library's
//! ([`outlet`]), which is written at the destination's pace.

mod counters;
mod counts;
mod finish;
mod flood;
mod handover;
mod lines;
mod memory;
mod monitor;
mod outlet;
mod pipes;
mod rate;
mod relay;
mod session;
mod shim;
mod stamps;
mod staying;
mod tee;
mod terminal;
mod variables;

use crate::platform::signals;
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome};
use crate::user::output;
use crate::user::quantity;
use clap::{Args, ValueEnum};
use counters::{CounterDisplay, StatsFile};
use monitor::Standard;
use outlet::Outlet;
use outpace::{Buffering, Overflow};
use relay::{Relay, Route};
use rustix::fs::{FileType, OFlags};
use shim::Shim;
pub(crate) use shim::reason_against_shim;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::Arc;
use tee::Tee;

/// Run a program so that it does not wait for its output to be read
///
/// Reads the program's output immediately and passes it on at the pace of the terminal, pipe or socket
/// that takes it. The program sees a terminal where there is one: colours, window size, keys,
/// Ctrl-C and Ctrl-Z work as without `run`. Ends with the program's exit status, or by its signal, when
/// all of its output has been passed on; once the program has ended, Ctrl-C skips what is left.
///
/// Regular files and the null device are given to the program directly: writing there waits for no reader.
/// When stdout is not a terminal, a stderr that is one is given directly, too.
///
/// Meanwhile the terminal is raw: lines that another process writes to it (the left side of a pipe on stderr, a job in
/// the background) lack their carriage returns. Start both under one run: outpace run -- sh -c 'left | right'.
///
/// In a container: ENTRYPOINT ["outpace", "run", "--overflow", "drop", "server"]. As process 1 it reaps orphans.
///
/// On a terminal every line costs the program a microsecond or more in the kernel, however fast it is read, and into
/// a pipe a third of one. Programs of glibc or musl on x86-64 are spared that (--shim).
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// What happens to output while the memory is full
    #[arg(long, value_name = "POLICY", default_value = "spill")]
    overflow: Policy,

    /// Keep at most this much unread output in memory
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    memory: u64,

    /// The directory of the spill file, which has no name and vanishes by itself
    #[arg(long, value_name = "DIR")]
    spill_dir: Option<PathBuf>,

    /// Keep at most this much unread output in the spill file; beyond it the program waits
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::parse_bytes)]
    spill_limit: u64,

    /// Write the complete output to this file, too, even where the terminal falls behind
    #[arg(long, value_name = "FILE", value_parser = output::file())]
    tee: Option<PathBuf>,

    /// Give the program a pipe even where our output is a terminal: for programs that need no terminal, such as a server
    /// that logs. Most programs use no colours, buffer their lines and draw no full screens on a pipe
    #[arg(long)]
    pipe: bool,

    /// Take the program's writes to its terminal or pipe through memory, without the kernel in between
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    shim: When,

    /// Report at the end what was done to the program
    #[arg(short, long)]
    verbose: bool,

    /// Give the program a terminal even where our output is none: for programs that write a line at a time, or
    /// in colours, to terminals only
    #[arg(long, conflicts_with = "pipe")]
    terminal: bool,

    /// Keep counters of what is written, queued, spilled and dropped in this file, as Prometheus reads it
    ///
    /// It is replaced as a whole, twice a second and at the end. SIGUSR1 shows the same on stderr, as one line; a
    /// program that catches that signal gets it, too.
    #[arg(long, value_name = "FILE", value_parser = output::file())]
    stats: Option<PathBuf>,

    /// Begin each line with the time at which its first byte came
    #[arg(long)]
    timestamps: bool,

    /// Show bytes written a second and bytes queued as the terminal's title
    #[arg(long)]
    rate: bool,

    /// The command; everything after it is its own
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// `--overflow`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// To a file, as far as --spill-limit allows; then the program waits. Nothing is lost
    Spill,
    /// The program waits. Nothing is lost
    Block,
    /// The oldest whole lines are dropped; a line at the gap says how much. For logs, not for screens
    Drop,
}

/// `--shim`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// Where it can be: programs of glibc or musl on x86-64, and those that they start
    Auto,
    /// Where it cannot be, the program is not started, and the reason is shown
    Always,
    /// As any program writes to a terminal or a pipe
    Never,
}

fn size(text: &str) -> Result<u64, String> {
    match quantity::parse_bytes(text)? {
        0 => Err("the queue needs room for at least one byte".to_owned()),
        bytes if bytes > MOST_MEMORY => Err(format!("{text} is more than 1GiB")),
        bytes => Ok(bytes),
    }
}

/// The library's largest queue.
const MOST_MEMORY: u64 = 1 << 30;

impl Action for Run {
    const NAME: &'static str = "run";

    fn run(self) -> Outcome {
        output::distinct(&[("--tee", &self.tee), ("--stats", &self.stats)])?;
        if let (Some(directory), Policy::Spill) = (&self.spill_dir, self.overflow) {
            // Checked now, not when the memory is full.
            let refused = |cause: &dyn std::fmt::Display| {
                let option = format!("--spill-dir {}", directory.display());
                Failure::failed(option, cause)
                    .remedy("name a directory on a file system with room that you may write to")
            };
            if !directory.is_dir() {
                return Err(refused(&"not a directory"));
            }
            tempfile::tempfile_in(directory).map_err(|error| refused(&error))?;
        }
        let tee = self
            .tee
            .as_deref()
            .map(Tee::create)
            .transpose()?
            .map(Arc::new);
        let display = CounterDisplay {
            stats: self.stats.as_deref().map(StatsFile::create).transpose()?,
            title: self.rate && is_terminal_apart(),
        };
        signals::make_file_limit_an_error();
        if self.terminal || rustix::termios::isatty(rustix::stdio::stdout()) && !self.pipe {
            session::run(&self, tee, display)
        } else {
            pipes::run(&self, tee, display)
        }
    }
}

/// Whether stderr is a terminal other than stdout.
fn is_terminal_apart() -> bool {
    let isatty = rustix::termios::isatty::<BorrowedFd<'_>>;
    isatty(rustix::stdio::stderr()) && !isatty(rustix::stdio::stdout())
}

fn no_shim(reason: impl std::fmt::Display) -> Failure {
    Failure::failed("--shim always", reason)
        .remedy("--shim auto uses it where it can be, and runs the program elsewhere, too")
}

impl Run {
    fn buffering(&self) -> Buffering {
        let overflow = match self.overflow {
            Policy::Spill => Overflow::Spill {
                directory: self.spill_dir.clone().unwrap_or_else(std::env::temp_dir),
                limit: self.spill_limit,
            },
            Policy::Block => Overflow::Block,
            Policy::Drop => Overflow::DropOldest,
        };
        let memory = memory::affordable(self.memory);
        Buffering::Background {
            // Bytes on their way into the queue and out of it take memory as well.
            capacity: (memory - memory / 16) as usize,
            overflow,
        }
    }

    /// Whether output may be dropped. It is dropped by messages, which have to be whole lines then.
    fn is_lossy(&self) -> bool {
        matches!(self.overflow, Policy::Drop)
    }

    /// The longest line that is dropped as a whole; `None` if output is not dropped.
    fn whole_lines(&self) -> Option<usize> {
        let memory = || lines::longest_line(memory::affordable(self.memory));
        self.is_lossy().then(memory)
    }

    /// The shim for a program on a terminal or a pipe, before it is [decided](Self::decide_on) whether the program gets it; or the
    /// reason why not.
    fn shim(&self, terminal: &OwnedFd) -> Result<Result<Arc<Shim>, String>, Failure> {
        self.unless_refused(match self.shim {
            When::Never => Err("--shim never".to_owned()),
            When::Auto if cfg!(target_arch = "aarch64") => {
                Err("on aarch64 it was tried in an emulator only (--shim always)".to_owned())
            }
            When::Auto | When::Always => Shim::reserve(terminal).map(Arc::new),
        })
    }

    /// Decides whether the program, which is being started, gets the shim, and then has that started.
    fn decide_on(
        &self,
        shim: Result<Arc<Shim>, String>,
        start: impl FnOnce(&Arc<Shim>) -> io::Result<()>,
    ) -> Result<Result<Arc<Shim>, String>, Failure> {
        let must = self.shim == When::Always;
        self.unless_refused(shim.and_then(|shim| {
            shim.decide(&self.command[0], must, || start(&shim))?;
            Ok(shim)
        }))
    }

    fn unless_refused<T>(&self, shim: Result<T, String>) -> Result<Result<T, String>, Failure> {
        match shim {
            Err(reason) if self.shim == When::Always => Err(no_shim(reason)),
            shim => Ok(shim),
        }
    }

    /// Reports with `-v` what was done to the program.
    fn say(&self, what: impl std::fmt::Display) {
        if self.verbose {
            let program = self.command[0].display();
            report(format_args!("outpace: {program}: {what}"));
        }
    }

    fn outlet(&self, destination: BorrowedFd<'_>) -> io::Result<Arc<Outlet>> {
        Ok(Arc::new(Outlet::new(
            destination.try_clone_to_owned()?,
            self.buffering(),
        )?))
    }

    /// The program could not be started by us.
    fn not_started(&self, what: &str, error: io::Error) -> Failure {
        match error.raw_os_error() {
            // No process, and none of the descriptors by which its failure would be known.
            Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE) => {
                self.run_without_us(what, error)
            }
            _ => self.cannot_start(&error),
        }
    }

    fn cannot_start(&self, error: &io::Error) -> Failure {
        Failure::cannot_start(&self.command[0], error)
    }

    /// The program takes our place. Returns only if it cannot be started.
    fn become_program(&self) -> Failure {
        let error = monitor::command(&self.command, Standard::OURS).exec();
        self.cannot_start(&error)
    }

    /// The system refuses what it takes to stand between the program and its reader. If no more was asked for than not to wait, the
    /// program runs all the same, in our place.
    fn run_without_us(&self, what: &str, cause: impl std::fmt::Display) -> Failure {
        let failure = Failure::failed(what, cause);
        let asks_for_more = self.terminal
            || self.tee.is_some()
            || self.stats.is_some()
            || self.timestamps
            || self.rate
            || self.is_lossy()
            || self.shim == When::Always;
        if asks_for_more {
            return failure;
        }
        let program = self.command[0].display();
        report(format_args!("{failure}: {program} writes by itself"));
        self.become_program()
    }

    /// Whether the program's output to this descriptor of ours goes through us: a file has no reader to wait for, but may be given
    /// more than the program writes.
    fn relays(&self, descriptor: BorrowedFd<'_>) -> bool {
        has_reader(descriptor) && !needs_own(descriptor) || self.tee.is_some() || self.timestamps
    }

    /// A pipe for the program to write to, and the relay from it to one of our own descriptors.
    fn pipe_to(
        &self,
        destination: BorrowedFd<'_>,
        tee: Option<&Arc<Tee>>,
        ended: &OwnedFd,
    ) -> io::Result<(OwnedFd, Relay)> {
        let (source, program) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        copy_access(destination, &program);
        // Two threads read: one may find that the other has read all.
        rustix::fs::fcntl_setfl(&source, OFlags::NONBLOCK)?;
        // The system limits pipes of users without privileges; a smaller pipe works as well.
        let _ = rustix::pipe::fcntl_setpipe_size(&source, LARGEST_PIPE);
        let relay = Relay::new(Route {
            may_splice: tee.is_none()
                && !self.is_lossy()
                && !self.timestamps
                && relay::is_pipe(destination),
            source,
            outlet: self.outlet(destination)?,
            tee: tee.cloned(),
            ended: ended.try_clone()?,
            whole_lines: self.whole_lines(),
            timestamps: self.timestamps,
            title: self.rate && rustix::termios::isatty(destination),
            conversation: None,
        });
        Ok((program, relay))
    }
}

/// Gives the program's terminal or pipe the owner and the permissions of the one that it stands for, as far as the system lets us: a
/// program that runs as another user may open `/dev/stdout`.
fn copy_access(of: impl AsFd, to: impl AsFd) {
    use rustix::fs::{Gid, Mode, Uid, fchmod, fchown, fstat};
    let (Ok(of), Ok(before)) = (fstat(of), fstat(&to)) else {
        return;
    };
    let kind = FileType::from_raw_mode(of.st_mode);
    if !matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        return;
    }
    if (of.st_uid, of.st_gid) != (before.st_uid, before.st_gid) {
        let (owner, group) = (Uid::from_raw(of.st_uid), Gid::from_raw(of.st_gid));
        let _ = fchown(&to, Some(owner), Some(group));
    }
    let (mode, before) = (
        Mode::from_raw_mode(of.st_mode),
        Mode::from_raw_mode(before.st_mode),
    );
    if mode != before {
        let _ = fchmod(&to, mode);
    }
}

/// An error if this process may not open as many more descriptors as a run needs at most once its program has been started.
fn check_descriptors() -> io::Result<()> {
    const NEEDED: usize = 12;
    let stdin = rustix::stdio::stdin();
    let spare = std::iter::repeat_with(|| rustix::io::fcntl_dupfd_cloexec(stdin, 0)).take(NEEDED);
    spare.collect::<Result<Vec<OwnedFd>, _>>()?;
    Ok(())
}

/// `/proc/sys/fs/pipe-max-size` by default.
const LARGEST_PIPE: usize = 1 << 20;

/// Writes a line to stderr, which may be a raw terminal: there a newline does not return to the first column.
fn report(line: impl std::fmt::Display) {
    let stderr = rustix::stdio::stderr();
    let is_raw = rustix::termios::isatty(stderr) && !terminal::adds_returns(stderr);
    let end = if is_raw { "\r\n" } else { "\n" };
    // Without stderr there is no place for it.
    let _ = io::stderr().write_all(format!("{line}{end}").as_bytes());
}

/// Whether a descriptor has a reader, which may be slow.
fn has_reader(descriptor: impl AsFd) -> bool {
    rustix::fs::fstat(&descriptor).is_ok_and(|stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => rustix::termios::isatty(&descriptor),
        FileType::Fifo | FileType::Socket => true,
        _ => false,
    })
}

/// Whether the program has to have this very descriptor: it keeps the boundaries of writes (a socket of messages, a pipe with
/// O_DIRECT), is one by which the program also reads, a socket that it may ask for its peer, or takes no output at all.
fn needs_own(descriptor: BorrowedFd<'_>) -> bool {
    use rustix::net::{SocketType, sockopt::socket_type};
    let is_stdin = || are_same(descriptor, rustix::stdio::stdin());
    if let Ok(kind) = socket_type(descriptor) {
        return kind != SocketType::STREAM || is_stdin();
    }
    rustix::fs::fcntl_getfl(descriptor).is_ok_and(|flags| {
        flags.contains(OFlags::DIRECT)
            || match flags & OFlags::RWMODE {
                OFlags::WRONLY => false,
                OFlags::RDWR => relay::is_pipe(descriptor) && is_stdin(),
                _ => true,
            }
    })
}

/// Whether two descriptors lead to the same file or device.
fn are_same(one: impl AsFd, other: impl AsFd) -> bool {
    let identity = |descriptor: BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(descriptor).ok()?;
        let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
        Some(if is_device {
            (u64::MAX, stat.st_rdev)
        } else {
            (stat.st_dev, stat.st_ino)
        })
    };
    identity(one.as_fd()).is_some_and(|one| Some(one) == identity(other.as_fd()))
}
