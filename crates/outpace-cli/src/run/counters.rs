//! The counters, shown on SIGUSR1 as a line on stderr, and with `--stats` in a file.

use super::counts::Counts;
use super::outlet::Outlet;
use super::rate::Rate;
use super::{are_same, report};
use crate::platform::{procfs, signals};
use crate::user::failure::Failure;
use rustix::fs::{Mode, OFlags};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The sum over all streams.
pub(super) fn of_all(outlets: &[Arc<Outlet>]) -> Counts {
    outlets.iter().map(|outlet| outlet.counts()).sum()
}

/// Where the counters are shown during the run.
pub(super) struct CounterDisplay {
    pub(super) stats: Option<StatsFile>,
    /// In the title of stderr's terminal.
    pub(super) title: bool,
}

/// The interval between updates.
const INTERVAL: Duration = Duration::from_millis(500);

impl CounterDisplay {
    /// Starts a thread that shows the counters, if that was asked for.
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

    /// Lets no other thread write to the file while the result is there.
    pub(super) fn hold(&self) -> Option<MutexGuard<'_, PathBuf>> {
        let stats = self.stats.as_ref()?;
        Some(stats.next.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes the counters to the file. A full or missing disk must not end the program's output.
    pub(super) fn store(&self, counts: Counts) {
        if let Some(stats) = &self.stats {
            let _ = stats.replace(counts);
        }
    }
}

/// The file of `--stats`.
pub(super) struct StatsFile {
    path: PathBuf,
    /// The next file, which takes the other's place. One thread at a time makes it.
    next: Mutex<PathBuf>,
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
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
        // The file that a symbolic link leads to is replaced, not the link.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(refused(io::Error::other("not a regular file")));
        }
        if let Ok(file) = rustix::fs::open(path, OFlags::PATH, Mode::empty()) {
            let (stdout, stderr) = (rustix::stdio::stdout(), rustix::stdio::stderr());
            if are_same(&file, stdout) || are_same(&file, stderr) {
                let shared = io::Error::other("the program's output goes to this file");
                return Err(Failure::failed(path.display(), shared)
                    .remedy("give --stats a file of its own"));
            }
        }
        let file = Self {
            path: path.to_owned(),
            next: Mutex::new(path.with_file_name(next)),
        };
        match file.replace(Counts::default()) {
            // There may be room later, and the program is worth more than its counters.
            Err(error) if is_full(&error) => {
                let path = path.display();
                report(format_args!(
                    "outpace: {path}: {error}: no counters for now"
                ));
            }
            result => result.map_err(refused)?,
        }
        Ok(file)
    }

    /// Replaces the file as a whole: a reader never sees a part.
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

/// Acts on SIGUSR1: shows the counters, and passes the signal to a program that catches it.
pub(super) fn show(outlets: &[Arc<Outlet>], program: Option<i32>) {
    report(of_all(outlets).line());
    if let Some(program) = program.filter(|program| catches(*program, libc::SIGUSR1)) {
        signals::send(program, libc::SIGUSR1);
    }
}

/// Whether a process has a handler for a signal, or blocks it, as sigwait(3) requires (proc(5)).
fn catches(process: i32, signal: i32) -> bool {
    ["SigCgt", "SigBlk"].iter().any(|set| {
        let set = procfs::status(process, set);
        set.and_then(|set| u64::from_str_radix(&set, 16).ok())
            .is_some_and(|set| set & (1 << (signal - 1)) != 0)
    })
}
