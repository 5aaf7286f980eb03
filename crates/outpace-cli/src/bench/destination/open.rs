//! A destination that is open: it stays so from run to run, and gives a sink for each run.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tempfile::{TempDir, TempPath};

use super::abilities;
use super::emulator::Window;
use super::reader::{Received, Wanted, read_to_end};
use super::size::{Size, open_pty};
use super::{Destination, ReadPace};
use crate::bench::results::rows::TerminalInfo;
use crate::platform::clock::now_ns;
use crate::platform::{answer, interrupts, procfs, scratch};
use crate::user::screen::takes_escapes;

/// A destination, open for any number of runs.
pub(crate) struct OpenDestination {
    sink: Opened,
    size: Size,
    /// The terminal, if it is one.
    pub(crate) terminal: Option<TerminalInfo>,
}

enum Opened {
    Null,
    Pipe(Option<u64>),
    File(TempPath),
    Pty(ReadPace),
    Device(Box<Device>),
}

impl OpenDestination {
    /// Opens a destination; the error is the reason why it is not available on this machine.
    pub(crate) fn open(to: &Destination, size: Size, scratch: &TempDir) -> Result<Self, String> {
        let reason = |error: io::Error| error.to_string();
        let sink = match to {
            Destination::Null => Opened::Null,
            Destination::Pipe { capacity } => {
                // Each run has a pipe of its own. This one shows whether the kernel gives such pipes.
                open_pipe(*capacity).map_err(reason)?;
                Opened::Pipe(*capacity)
            }
            Destination::File => {
                let file = temporary_file(disks(), false);
                Opened::File(file.ok_or("no directory on a disk: set TMPDIR to one")?)
            }
            Destination::Tmpfs => {
                let file = temporary_file(memories(), true);
                Opened::File(file.ok_or(
                    "no file system in memory that we may write to: mount a tmpfs at /dev/shm",
                )?)
            }
            Destination::Pty(pace) => Opened::Pty(*pace),
            Destination::Tty => {
                let device = Device::this_terminal().map_err(|error| no_terminal(&error))?;
                Opened::Device(Box::new(device))
            }
            Destination::Emulator(emulator) => {
                let window = emulator.open(size, scratch)?;
                let device = Device::at(window.device.clone(), Some(window));
                Opened::Device(Box::new(device.map_err(reason)?))
            }
        };
        let terminal = match &sink {
            Opened::Pty(_) => Some(TerminalInfo {
                name: "pty".to_owned(),
                version: None,
                columns: size.columns,
                rows: size.rows,
                supports: Vec::new(),
            }),
            Opened::Device(device) => Some(device.describe(&to.to_string()).map_err(reason)?),
            _ => None,
        };
        Ok(Self {
            sink,
            size,
            terminal,
        })
    }

    /// Opens a destination for a moment; the error is the reason why it is not available. This terminal is not opened, since
    /// that would show its alternate screen.
    pub(crate) fn probe(to: &Destination, size: Size) -> Result<(), String> {
        if *to == Destination::Tty {
            return Device::find_this_terminal().map_err(|error| no_terminal(&error));
        }
        let scratch = scratch().map_err(|error| error.to_string())?;
        Self::open(to, size, &scratch).map(drop)
    }

    /// The destination at which a rung's bytes are verified: the null device and windows cannot be read back.
    pub(crate) fn proof(to: &Destination) -> Destination {
        match to {
            Destination::Null => Destination::Pipe { capacity: None },
            Destination::Tty | Destination::Emulator(_) => Destination::Pty(ReadPace::AtOnce),
            other => other.clone(),
        }
    }

    /// The `TERM` of a program in this terminal; `None` where that is the bench's own.
    pub(crate) fn term(&self) -> Option<&str> {
        match &self.sink {
            Opened::Pty(_) => Some("xterm-256color"),
            Opened::Device(device) => device.window.as_ref().map(|window| window.term.as_str()),
            _ => None,
        }
    }

    /// Asks a real terminal for its abilities.
    pub(crate) fn ask_abilities(&mut self) {
        if let (Opened::Device(device), Some(terminal)) = (&self.sink, &mut self.terminal) {
            // Without an answer no ability is known.
            let answers = device.asked(&abilities::questions()).unwrap_or_default();
            terminal.supports = abilities::of(&answers);
        }
    }

    /// Whether the end of a run shows how long the destination took to read it.
    pub(crate) fn tells_when_read(&self) -> bool {
        !matches!(&self.sink, Opened::Device(device) if !device.answers)
    }

    /// A sink for one run.
    pub(crate) fn sink(&self, wanted: Wanted) -> io::Result<Sink<'_>> {
        let (stdout, end) = match &self.sink {
            Opened::Null => (
                File::options().write(true).open("/dev/null")?.into(),
                SinkEnd::Unseen,
            ),
            Opened::Pipe(capacity) => {
                let (reader, writer) = open_pipe(*capacity)?;
                (writer, SinkEnd::read(reader, ReadPace::AtOnce, wanted)?)
            }
            Opened::File(file) => {
                // As a shell's `>` opens it: for writing only, and empty.
                let writer = File::create(file)?;
                (writer.into(), SinkEnd::File(file, wanted))
            }
            Opened::Pty(pace) => {
                let (terminal, program) = open_pty(self.size)?;
                (program, SinkEnd::read(terminal, *pace, wanted)?)
            }
            Opened::Device(device) => {
                (open_terminal(&device.path)?.into(), SinkEnd::Device(device))
            }
        };
        Ok(Sink { stdout, end })
    }
}

/// A new pipe's reading and writing ends.
fn open_pipe(capacity: Option<u64>) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let (reader, writer) = (OwnedFd::from(reader), OwnedFd::from(writer));
    if let Some(capacity) = capacity {
        let bytes = usize::try_from(capacity).unwrap_or(usize::MAX);
        rustix::pipe::fcntl_setpipe_size(&writer, bytes).map_err(|error| {
            io::Error::other(format!(
                "the kernel refuses such a pipe ({error}); /proc/sys/fs/pipe-max-size is the most"
            ))
        })?;
    }
    Ok((reader, writer))
}

/// Where one run writes.
pub(crate) struct Sink<'a> {
    stdout: OwnedFd,
    end: SinkEnd<'a>,
}

impl<'a> Sink<'a> {
    /// Another writing end, for another writer to the same place.
    pub(crate) fn writer(&self) -> io::Result<File> {
        Ok(self.stdout.try_clone()?.into())
    }

    /// The writing end for the child, and the other end, to be waited for when the child has ended.
    pub(crate) fn split(self) -> (Stdio, SinkEnd<'a>) {
        (self.stdout.into(), self.end)
    }
}

/// The other end of a sink.
pub(crate) enum SinkEnd<'a> {
    Unseen,
    Reader(JoinHandle<io::Result<Received>>),
    File(&'a Path, Wanted),
    Device(&'a Device),
}

impl SinkEnd<'_> {
    fn read(from: OwnedFd, pace: ReadPace, wanted: Wanted) -> io::Result<Self> {
        let reader = std::thread::Builder::new();
        Ok(Self::Reader(
            reader.spawn(move || read_to_end(&from, pace, wanted))?,
        ))
    }

    /// Waits for the last byte, once every writer is gone, and returns what arrived. Ends soon after an interruption.
    pub(crate) fn finish(self) -> io::Result<Received> {
        match self {
            Self::Unseen => Ok(Received::default()),
            Self::Reader(reader) => reader
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("the reader panicked"))),
            Self::File(file, wanted) => received(file, wanted),
            Self::Device(device) => {
                let last_at = device.answered(Duration::from_secs(30))?;
                Ok(Received {
                    last_at,
                    ..Received::default()
                })
            }
        }
    }
}

/// A file in the first of these directories that takes one, and that is in memory or on a disk as wanted. It is removed with
/// the destination.
fn temporary_file(directories: [PathBuf; 3], in_memory: bool) -> Option<TempPath> {
    let file = |directory: PathBuf| {
        tempfile::Builder::new()
            .prefix("outpace-")
            .suffix(".out")
            .tempfile_in(directory)
    };
    directories
        .into_iter()
        .filter(|directory| is_in_memory(directory) == Some(in_memory))
        .find_map(|directory| Some(file(directory).ok()?.into_temp_path()))
}

/// The bytes that arrived in a file.
fn received(path: &Path, wanted: Wanted) -> io::Result<Received> {
    let mut file = File::open(path)?;
    if wanted.check.is_some() || wanted.keep {
        return read_to_end(
            &file.into(),
            ReadPace::AtOnce,
            Wanted {
                arrivals: false,
                ..wanted
            },
        );
    }
    let bytes = file.seek(io::SeekFrom::End(0))?;
    Ok(Received {
        bytes,
        ..Received::default()
    })
}

/// Whether the file system at a path is in memory; `None` when there is no such path, or the system does not say.
fn is_in_memory(path: &Path) -> Option<bool> {
    let kind = procfs::file_system("self", path.canonicalize().ok()?)?;
    Some(procfs::is_in_memory(&kind))
}

fn disks() -> [PathBuf; 3] {
    [std::env::temp_dir(), "/var/tmp".into(), ".".into()]
}

fn memories() -> [PathBuf; 3] {
    ["/dev/shm".into(), std::env::temp_dir(), "/run".into()]
}

/// A real terminal, held open; its modes are restored when it is dropped.
pub(crate) struct Device {
    path: PathBuf,
    file: File,
    modes: Termios,
    /// Whether it answers questions. A silent terminal is not waited for after every run.
    answers: bool,
    window: Option<Window>,
}

const ALTERNATE_SCREEN: &str = "\x1b[?1049h\x1b[H";
/// Also resets synchronized output, margins, colours, automatic wrapping and the cursor, as a rung may have been killed.
const MAIN_SCREEN: &str = "\x1b[?2026l\x1b[r\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

fn no_terminal(error: &io::Error) -> String {
    format!("this terminal cannot be opened: {error}")
}

impl Device {
    /// Whether this program runs in a terminal that can be measured.
    fn find_this_terminal() -> io::Result<()> {
        if !takes_escapes() {
            return Err(io::Error::other(
                "by TERM it takes no escape sequence, so it cannot be asked when it has read everything",
            ));
        }
        open_terminal(Path::new("/dev/tty")).map(drop)
    }

    /// The terminal this program runs in, on its alternate screen.
    fn this_terminal() -> io::Result<Self> {
        Self::find_this_terminal()?;
        let device = Self::at(PathBuf::from("/dev/tty"), None)?;
        io::Write::write_all(&mut &device.file, ALTERNATE_SCREEN.as_bytes())?;
        Ok(device)
    }

    fn at(path: PathBuf, window: Option<Window>) -> io::Result<Self> {
        let file = open_terminal(&path)?;
        let modes = tcgetattr(&file)?;
        // The terminal's answers are read as they come and not shown; its output modes and Ctrl-C
        // stay as they are.
        let mut quiet = modes.clone();
        quiet
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&file, OptionalActions::Now, &quiet)?;
        let mut device = Self {
            path,
            file,
            modes,
            answers: true,
            window,
        };
        device.answers = device.answered(Duration::from_secs(2))?.is_some();
        Ok(device)
    }

    fn describe(&self, name: &str) -> io::Result<TerminalInfo> {
        let size = tcgetwinsize(&self.file)?;
        let (name, version) = match &self.window {
            Some(window) => (name.to_owned(), Some(window.version.clone())),
            None => {
                let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
                let program = set("TERM_PROGRAM").or_else(|| set("TERM"));
                (
                    program.unwrap_or_else(|| name.to_owned()),
                    set("TERM_PROGRAM_VERSION"),
                )
            }
        };
        Ok(TerminalInfo {
            name,
            version,
            columns: size.ws_col,
            rows: size.ws_row,
            supports: Vec::new(),
        })
    }

    /// The terminal's answers to these questions. Every terminal answers the last one.
    fn asked(&self, questions: &str) -> io::Result<String> {
        let mut answers = String::new();
        if !self.answers {
            return Ok(answers);
        }
        io::Write::write_all(&mut &self.file, questions.as_bytes())?;
        answer::read_answer(&self.file, Duration::from_secs(2), |bytes| {
            answers += &String::from_utf8_lossy(bytes);
            answers.contains("\x1b[?") && answers.ends_with('c')
        })?;
        Ok(answers)
    }

    /// The time at which the terminal has answered where its cursor is; `None` when it is silent.
    fn answered(&self, limit: Duration) -> io::Result<Option<u64>> {
        let heard = self.answers && answer::has_caught_up(&self.file, limit)?;
        Ok(heard.then(now_ns))
    }
}

/// Opened without becoming our controlling terminal.
fn open_terminal(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY.bits().cast_signed();
    File::options()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

impl Drop for Device {
    fn drop(&mut self) {
        // Best effort: a terminal that is gone needs no restoring.
        if self.window.is_none() {
            let _ = io::Write::write_all(&mut &self.file, MAIN_SCREEN.as_bytes());
        }
        // After an interruption there may be an answer that is not wanted any more.
        let action = if interrupts::came() {
            OptionalActions::Flush
        } else {
            OptionalActions::Drain
        };
        let _ = tcsetattr(&self.file, action, &self.modes);
    }
}
