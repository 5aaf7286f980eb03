//! The counters, shown on SIGUSR1 as a line on stderr, and with `--stats` in a file.

use super::counts::Counts;
use super::outlet::Outlet;
use super::rate::Rate;
use crate::platform::{procfs, signals};
use crate::user::failure::Failure;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Of all streams together.
pub(super) fn of_all(outlets: &[Arc<Outlet>]) -> Counts {
    outlets.iter().map(|outlet| outlet.counts()).sum()
}

/// Where the counters are shown all along.
pub(super) struct CounterDisplay {
    pub(super) stats: Option<StatsFile>,
    /// As the title of the terminal that stderr is.
    pub(super) title: bool,
}

/// How often.
const INTERVAL: Duration = Duration::from_millis(500);

impl CounterDisplay {
    /// Shows them from now on, on a thread of its own, if that was asked for.
    pub(super) fn start(self: &Arc<Self>, outlets: Vec<Arc<Outlet>>) -> io::Result<()> {
        if self.stats.is_none() && !self.title {
            return Ok(());
        }
        let display = Arc::clone(self);
        let watch = move || {
            let mut rate = Rate::new();
            loop {
                thread::sleep(INTERVAL);
                let counts = of_all(&outlets);
                if display.title {
                    let _ = io::stderr().write_all(rate.title(counts).as_bytes());
                }
                display.store(counts);
            }
        };
        thread::Builder::new()
            .name("outpace-counters".to_owned())
            .spawn(watch)?;
        Ok(())
    }

    /// Puts the counters into the file. A disk that is full, or has gone, must not end the program's output.
    pub(super) fn store(&self, counts: Counts) {
        if let Some(stats) = &self.stats {
            let _ = stats.replace(counts);
        }
    }
}

/// The file of `--stats`.
pub(super) struct StatsFile {
    path: PathBuf,
    /// The next one, which takes its place. One thread at a time makes it.
    next: Mutex<PathBuf>,
}

impl StatsFile {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            Failure::failed(path.display(), error)
                .remedy("give --stats a file in a directory that can be written to")
        };
        let Some(name) = path.file_name() else {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        };
        let mut next = std::ffi::OsString::from(".");
        next.push(name);
        next.push(format!(".{}", std::process::id()));
        let file = Self {
            path: path.to_owned(),
            next: Mutex::new(path.with_file_name(next)),
        };
        file.replace(Counts::default()).map_err(refused)?;
        Ok(file)
    }

    /// Puts a new one in its place: a reader sees the one or the other, never a part.
    pub(super) fn replace(&self, counts: Counts) -> io::Result<()> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced =
            fs::write(&*next, counts.prometheus()).and_then(|()| fs::rename(&*next, &self.path));
        if replaced.is_err() {
            let _ = fs::remove_file(&*next);
        }
        replaced
    }
}

/// SIGUSR1 has come: the counters are shown, and a program that catches it gets it.
pub(super) fn told(outlets: &[Arc<Outlet>], program: Option<i32>) {
    show(outlets);
    if let Some(program) = program.filter(|program| catches(*program, libc::SIGUSR1)) {
        signals::send(program, libc::SIGUSR1);
    }
}

/// Whether a process has a handler for a signal, or waits for it with that blocked (proc(5)).
fn catches(process: i32, signal: i32) -> bool {
    ["SigCgt", "SigBlk"].iter().any(|set| {
        let set = procfs::status(process, set);
        set.and_then(|set| u64::from_str_radix(&set, 16).ok())
            .is_some_and(|set| set & (1 << (signal - 1)) != 0)
    })
}

/// Shows the counters on stderr. On a raw terminal a newline does not return to the first column.
fn show(outlets: &[Arc<Outlet>]) {
    let _ = io::stderr().write_all(format!("{}\r\n", of_all(outlets).line()).as_bytes());
}
