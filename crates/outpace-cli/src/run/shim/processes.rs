//! Whether each process that can write to the terminal, or to the pipe, has the shim: only then may the ring be used.
//!
//! A process can write to a terminal if it is the process's controlling terminal (`/dev/tty`), or if a descriptor leads to it, and
//! to a pipe if a descriptor leads to that. proc(5) shows both. Processes of other users show their descriptors to the superuser
//! only. Such a process counts as one that can write there, if the program may have started it.

use super::program;
use super::ring::{self, Member};
use super::sync::Ordering;
use crate::platform::procfs::{self, Stat};
use rustix::fs::FileType;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A process that is no member, and the reason.
pub(super) struct Stranger {
    pub(super) name: String,
    pub(super) reason: String,
    /// A member whose program must not have the shim.
    pub(super) is_unfit: bool,
}

/// Where the program's output goes.
enum Served {
    /// A terminal of this number.
    Terminal(u64),
    /// A pipe, by the text of a link to it (proc(5)).
    Pipe(PathBuf),
}

/// The processes that have a terminal or a pipe, as far as they were looked at.
pub(super) struct Processes {
    /// Ours: `outpace`, and the leader of the session. With a pipe there is no leader, and both are `outpace`.
    ours: [i32; 2],
    served: Served,
    /// When the second of ours was started: older processes are not the program's. Set when it is needed first.
    since: Option<u64>,
    /// Programs looked at, by device and inode, and the reason if one is unfit.
    programs: HashMap<(u64, u64), Option<String>>,
    pub(super) strangers: BTreeMap<i32, Stranger>,
    /// The earliest time of the next look.
    next: Instant,
}

/// Looks take at most one part in `SHARE` of the time, and come at most `AT_MOST_EVERY`.
const SHARE: u32 = 50;
const AT_MOST_EVERY: Duration = Duration::from_millis(20);
/// The most strangers kept for the report.
const MOST_STRANGERS: usize = 64;

/// Nanoseconds of a clock tick, as proc(5) counts them.
fn tick() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}

impl Processes {
    pub(super) fn new(leader: i32, terminal: impl AsFd) -> std::io::Result<Self> {
        let stat = rustix::fs::fstat(terminal)?;
        let is_pipe = FileType::from_raw_mode(stat.st_mode) == FileType::Fifo;
        Ok(Self {
            ours: [std::process::id() as i32, leader],
            served: if is_pipe {
                Served::Pipe(format!("pipe:[{}]", stat.st_ino).into())
            } else {
                Served::Terminal(stat.st_rdev)
            },
            since: None,
            programs: HashMap::new(),
            strangers: BTreeMap::new(),
            next: Instant::now(),
        })
    }

    /// Whether all processes that have the terminal or pipe are members; false also if the last look was too short a time ago.
    pub(super) fn are_members(&mut self, members: &[Member]) -> bool {
        let began = Instant::now();
        if began < self.next {
            return false;
        }
        let are_members = self.look(members).unwrap_or(false);
        let now = Instant::now();
        self.next = now + AT_MOST_EVERY.max((now - began) * SHARE);
        are_members
    }

    fn look(&mut self, members: &[Member]) -> Option<bool> {
        if self.since.is_none() {
            self.since = Some(Stat::of(self.ours[1])?.start);
        }
        // The list is read once more after the last process was looked at. A member that had come back by then from starting
        // another program had started it before, so that program is in the list. If a process has started another and ended,
        // one of the two is met.
        let mut seen = HashSet::new();
        loop {
            let all = procfs::processes();
            // Process 1 is missing where other users' processes are hidden (proc(5), hidepid): the list is incomplete.
            if !all.contains(&1) {
                return None;
            }
            let new: Vec<i32> = all
                .into_iter()
                .filter(|process| seen.insert(*process))
                .collect();
            if new.is_empty() {
                return Some(true);
            }
            for process in new {
                if !self.ours.contains(&process) && !self.is_right(process, members) {
                    return Some(false);
                }
            }
        }
    }

    /// Whether a process is a member, or cannot write to the terminal or pipe.
    fn is_right(&mut self, process: i32, members: &[Member]) -> bool {
        let Some(stat) = Stat::of(process).filter(|stat| !stat.is_of_kernel && !stat.is_over())
        else {
            return true;
        };
        let member = members
            .iter()
            .find(|member| member.is(process as u32, stat.start * tick()));
        if let Some(member) = member {
            if member.fitness.load(Ordering::Relaxed) == ring::UNSEEN {
                let refusal = self.refusal(process);
                let fitness = if refusal.is_some() {
                    ring::UNFIT
                } else {
                    ring::FIT
                };
                member.fitness.store(fitness, Ordering::Relaxed);
                if let Some(reason) = refusal {
                    self.is_strange(process, reason, true);
                }
            }
            return member.fitness.load(Ordering::Relaxed) == ring::FIT;
        }
        if !self.can_write(process, &stat) {
            return true;
        }
        let reason = self
            .refusal(process)
            .unwrap_or_else(|| "it was started without it".to_owned());
        self.is_strange(process, reason, false);
        false
    }

    fn is_strange(&mut self, process: i32, reason: String, is_unfit: bool) {
        if self.strangers.len() < MOST_STRANGERS {
            let name = procfs::name(process).unwrap_or_default();
            let stranger = Stranger {
                name,
                reason,
                is_unfit,
            };
            self.strangers.insert(process, stranger);
        }
    }

    fn can_write(&self, process: i32, stat: &Stat) -> bool {
        if let Served::Terminal(number) = self.served
            && stat.has_terminal(number)
        {
            return true;
        }
        let directory = format!("/proc/{process}/fd");
        let descriptors = match fs::read_dir(&directory) {
            Ok(descriptors) => descriptors,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return self.may_be_ours(process, stat);
            }
            // The process has ended.
            Err(_) => return false,
        };
        let leads_there = |path: PathBuf| {
            let name = fs::read_link(&path).unwrap_or_default();
            match &self.served {
                Served::Pipe(pipe) => name == *pipe,
                // A file of another process may answer late, so only possible terminals are asked.
                Served::Terminal(number) => {
                    let is_device = name
                        .parent()
                        .is_some_and(|directory| directory.ends_with("pts"))
                        || name.as_os_str().len() <= "/4194304".len();
                    is_device && fs::metadata(&path).is_ok_and(|file| file.rdev() == *number)
                }
            }
        };
        descriptors
            .flatten()
            .any(|descriptor| leads_there(descriptor.path()))
    }

    /// Whether the program may have started a process whose descriptors are not shown.
    fn may_be_ours(&self, process: i32, stat: &Stat) -> bool {
        let leader = self.ours[1];
        let since = self.since.unwrap_or_default();
        if stat.start < since {
            return false;
        }
        // An orphan has process 1 as its parent.
        let (mut parent, mut session) = (stat.parent, stat.session);
        let mut passed = HashSet::from([process]);
        loop {
            if session == leader || parent == leader || parent == 1 {
                return true;
            }
            if parent == 0 || !passed.insert(parent) {
                return false;
            }
            match Stat::of(parent) {
                Some(stat) if stat.start >= since => {
                    (parent, session) = (stat.parent, stat.session)
                }
                Some(_) => return false,
                None => return true,
            }
        }
    }

    /// The reason why the program of a process cannot or must not have the shim.
    fn refusal(&mut self, process: i32) -> Option<String> {
        if procfs::status(process, "TracerPid").is_some_and(|tracer| tracer != "0") {
            return Some("another process traces it".to_owned());
        }
        let path = PathBuf::from(format!("/proc/{process}/exe"));
        let Ok(file) = fs::metadata(&path) else {
            return Some("its program's file cannot be read".to_owned());
        };
        let known = self.programs.entry((file.dev(), file.ino()));
        known
            .or_insert_with(|| program::reason_against_shim(&path))
            .clone()
    }
}
