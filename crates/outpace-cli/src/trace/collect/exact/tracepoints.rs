//! The cheap mechanism: the kernel's `raw_syscalls` tracepoints through `perf_event_open(2)`, one ring
//! buffer a processor. The program is never stopped; a call costs it about half a microsecond.

use super::Ledger;
use super::gate::{self, Gate};
use crate::platform::clock::{self, Delay};
use crate::platform::ending::Ending;
use crate::platform::interrupts;
use crate::trace::collect::tails::Tails;
use crate::trace::kernel::calls::{Call, WRITE_FAMILY, WriteCall};
use crate::trace::kernel::procfs;
use crate::trace::kernel::sys;
use crate::trace::model::findings::Mode;
use crate::trace::model::findings::Recording;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::Command;

/// The tracepoints' numbers.
/// That they were found says that this machine and user allow them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Points {
    enter: u64,
    exit: u64,
}

/// What a call costs a program more because it is watched, on most machines; half of that is inside of the times that
/// are measured.
pub(crate) const CALL_NS: u64 = 500;

const PERF_TYPE_TRACEPOINT: u32 = 2;
const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 10; // PERF_SAMPLE_TID | TIME | RAW
const INHERIT: u64 = 1 << 1;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK_ID: u64 = 1 << 25;

const RECORD_MMAP: u32 = 1;
const RECORD_LOST: u32 = 2;
const RECORD_COMM: u32 = 3;
const RECORD_FORK: u32 = 7;
const MISC_COMM_EXEC: u16 = 1 << 13;

/// Ring sizes to try: the largest that the limit on locked memory allows.
const RING_SIZES: [usize; 4] = [16 << 20, 4 << 20, 1 << 20, 128 << 10];
/// How long records may lie in a ring that is not filling.
const PATIENCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Calls other than writes that change what a descriptor number means.
const BOOKKEEPING: [libc::c_long; 3] = [libc::SYS_close, libc::SYS_dup3, DUP2];
#[cfg(target_arch = "x86_64")]
const DUP2: libc::c_long = libc::SYS_dup2;
#[cfg(not(target_arch = "x86_64"))]
const DUP2: libc::c_long = libc::SYS_dup3;

/// Calls that open a file.
const OPENING: [libc::c_long; 3] = [libc::SYS_openat, libc::SYS_openat2, OPEN];
#[cfg(target_arch = "x86_64")]
const OPEN: libc::c_long = libc::SYS_open;
#[cfg(not(target_arch = "x86_64"))]
const OPEN: libc::c_long = libc::SYS_openat;

impl Points {
    /// Finds the tracepoints and tries one on this very thread.
    pub(crate) fn find() -> io::Result<Self> {
        let mounted = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
            .into_iter()
            .find_map(|at| Self::read(at).ok());
        let points = match mounted {
            Some(points) => points,
            None => {
                let detached = sys::open_tracefs()?;
                Self::read(&format!("/proc/self/fd/{}", detached.as_raw_fd()))?
            }
        };
        aside(points.enter_alone()?);
        Ok(points)
    }

    /// Opens the one at the entry of a call for this thread alone, without records.
    pub(in crate::trace::collect) fn enter_alone(&self) -> io::Result<OwnedFd> {
        let attributes = sys::Attributes {
            flags: sys::DISABLED,
            ..attributes(self.enter, 0)
        };
        sys::open_event(&attributes, 0, -1)
    }

    fn read(tracefs: &str) -> io::Result<Self> {
        let id = |name: &str| {
            let text = fs::read_to_string(format!("{tracefs}/events/raw_syscalls/{name}/id"))?;
            text.trim().parse().map_err(io::Error::other)
        };
        Ok(Self {
            enter: id("sys_enter")?,
            exit: id("sys_exit")?,
        })
    }
}

/// Drops something on another thread: closing an event may take as long as thousands of calls, and
/// nobody needs to wait for it.
pub(in crate::trace::collect) fn aside(value: impl Send + 'static) {
    std::thread::spawn(move || drop(value));
}

fn attributes(tracepoint: u64, more_flags: u64) -> sys::Attributes {
    sys::Attributes {
        kind: PERF_TYPE_TRACEPOINT,
        config: tracepoint,
        sample_period: 1,
        sample_type: SAMPLE,
        flags: sys::DISABLED | INHERIT | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK_ID | more_flags,
        clock: libc::CLOCK_MONOTONIC,
        ..Default::default()
    }
}

/// The rings of all processors, and the events that fill them.
struct Rings {
    rings: Vec<(OwnedFd, sys::Ring)>,
    others: Vec<OwnedFd>,
    tails: Option<Tails>,
}

impl Rings {
    fn open(points: Points, threads: &[i32], launched: bool) -> io::Result<Self> {
        let wanted: Vec<String> = WRITE_FAMILY
            .iter()
            .map(|call| call.number)
            .chain(BOOKKEEPING.into_iter().chain(OPENING))
            .map(|number| format!("id=={number}"))
            .collect();
        let filter = CString::new(wanted.join("||")).map_err(io::Error::other)?;
        let on_exec = if launched { ENABLE_ON_EXEC } else { 0 };
        let mut rings = Self {
            rings: Vec::new(),
            others: Vec::new(),
            tails: None,
        };
        for processor in online_processors()? {
            let mut ring_of: Option<usize> = None;
            for &thread in threads {
                for (tracepoint, flags) in [
                    (points.enter, TASK | MMAP | COMM | COMM_EXEC),
                    (points.exit, 0),
                ] {
                    let mut attributes = attributes(tracepoint, flags | on_exec);
                    attributes.wakeup = (RING_SIZES[RING_SIZES.len() - 1] / 4) as u32;
                    let event = sys::open_event(&attributes, thread, processor)?;
                    sys::set_filter(&event, &filter)?;
                    match ring_of {
                        None => {
                            let ring = map_largest(&event)?;
                            ring_of = Some(rings.rings.len());
                            rings.rings.push((event, ring));
                        }
                        Some(index) => {
                            sys::send_to(&event, &rings.rings[index].0)?;
                            rings.others.push(event);
                        }
                    }
                }
            }
        }
        if !launched {
            let all = rings
                .rings
                .iter()
                .map(|(event, _)| event)
                .chain(&rings.others);
            all.into_iter().try_for_each(sys::enable)?;
        }
        // Without it everything else is still seen.
        rings.tails = points.enter_alone().and_then(Tails::begin).ok();
        Ok(rings)
    }

    /// Adds to the ledger how many writes were seen to end lines.
    fn tell_line_ends(&self, ledger: &mut Ledger) {
        if let Some(tails) = &self.tails {
            ledger.add_line_ends(|process, descriptor| tails.of(process, descriptor));
        }
    }

    /// Waits until a ring is a quarter full or the program has ended, or for a while.
    fn wait(&self, program: Option<&OwnedFd>) {
        let mut waiting: Vec<PollFd<'_>> = self
            .rings
            .iter()
            .map(|(event, _)| event)
            .chain(program)
            .map(|event| PollFd::new(event, PollFlags::IN))
            .collect();
        // An error is an interruption, which the caller looks for anyway.
        let _ = poll(&mut waiting, Some(&PATIENCE));
    }
}

fn map_largest(event: &OwnedFd) -> io::Result<sys::Ring> {
    let mut refused = None;
    for size in RING_SIZES {
        match sys::Ring::map(event, size) {
            Ok(ring) => return Ok(ring),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::ErrorKind::OutOfMemory.into()))
}

fn online_processors() -> io::Result<Vec<i32>> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let ranges = text.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<i32>().ok()?..=last.parse().ok()?)
    });
    Ok(ranges.flatten().collect())
}

/// One record, decoded.
enum Event {
    Enter {
        number: i64,
        arguments: [u64; 6],
    },
    Exit {
        number: i64,
        result: i64,
    },
    Fork {
        parent: i32,
    },
    Exec {
        name: String,
    },
    /// Code of this file is run: of the program first, and then of libraries.
    Mapped {
        file: String,
    },
}

struct Record {
    time_ns: u64,
    process: i32,
    thread: i32,
    event: Event,
}

/// A little reader over native-endian fields.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }
    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }
    /// The end of a record: a text, and the thread and the time that each record has.
    fn name_and_time(&mut self) -> Option<(String, u64)> {
        let (name, sample_id) = self.0.split_at_checked(self.0.len().checked_sub(16)?)?;
        let name = String::from_utf8_lossy(name);
        let time_ns = Fields(sample_id.get(8..)?).long()?;
        Some((name.trim_end_matches('\0').to_owned(), time_ns))
    }
}

struct Reader {
    points: Points,
    bytes: Vec<u8>,
    records: Vec<Record>,
    inside: HashMap<i32, (u64, i64, [u64; 6])>,
    /// Descriptors that were opened in the records read last: what they are is asked at once, because
    /// when something is written there the process may have ended.
    opened: BTreeSet<(i32, i32)>,
    /// Whether a program has been started.
    started: bool,
    lost: u64,
}

impl Reader {
    fn new(points: Points) -> Self {
        Self {
            points,
            bytes: Vec::new(),
            records: Vec::new(),
            inside: HashMap::new(),
            opened: BTreeSet::new(),
            started: false,
            lost: 0,
        }
    }

    /// Takes what has arrived and passes on what is certainly in order: everything up to the moment
    /// before the first ring was looked at (a thread moves between processors, so that its records
    /// lie in several rings).
    fn drain(&mut self, rings: &Rings, ledger: &mut Ledger, everything: bool) {
        let until_ns = if everything {
            u64::MAX
        } else {
            clock::now_ns()
        };
        for (_, ring) in &rings.rings {
            self.bytes.clear();
            ring.take(&mut self.bytes);
            let bytes = std::mem::take(&mut self.bytes);
            self.split(&bytes);
            self.bytes = bytes;
        }
        self.records.sort_by_key(|record| record.time_ns);
        let ready = self
            .records
            .partition_point(|record| record.time_ns <= until_ns);
        let later = self.records.split_off(ready);
        for record in std::mem::replace(&mut self.records, later) {
            self.apply(record, ledger);
        }
        for (process, descriptor) in std::mem::take(&mut self.opened) {
            ledger.opened(process, descriptor);
        }
    }

    /// Takes the last records.
    fn finish(mut self, rings: Rings, ledger: &mut Ledger, run: Recording) -> Recording {
        self.drain(&rings, ledger, true);
        rings.tell_line_ends(ledger);
        aside(rings);
        Recording {
            mode: Mode::Tracepoints { lost: self.lost },
            ..run
        }
    }

    fn split(&mut self, mut bytes: &[u8]) {
        while let Some((header, _)) = bytes.split_first_chunk::<8>() {
            let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
            let misc = u16::from_ne_bytes([header[4], header[5]]);
            let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            let Some(body) = bytes.get(8..size) else {
                break;
            };
            if let Some(record) = self.decode(kind, misc, body) {
                self.records.push(record);
            }
            bytes = &bytes[size..];
        }
    }

    fn decode(&mut self, kind: u32, misc: u16, body: &[u8]) -> Option<Record> {
        let mut fields = Fields(body);
        match kind {
            sys::RECORD_SAMPLE => {
                let (process, thread) = (fields.word()? as i32, fields.word()? as i32);
                let time_ns = fields.long()?;
                fields.word()?; // length of the tracepoint's own record, which follows
                let tracepoint = u64::from(u16::from_ne_bytes(fields.take()?));
                fields.take::<6>()?;
                let number = fields.long()? as i64;
                let event = if tracepoint == self.points.enter {
                    let mut arguments = [0; 6];
                    for argument in &mut arguments {
                        *argument = fields.long()?;
                    }
                    Event::Enter { number, arguments }
                } else {
                    Event::Exit {
                        number,
                        result: fields.long()? as i64,
                    }
                };
                Some(Record {
                    time_ns,
                    process,
                    thread,
                    event,
                })
            }
            RECORD_FORK => {
                let (process, parent) = (fields.word()? as i32, fields.word()? as i32);
                let thread = fields.word()? as i32;
                fields.word()?;
                let time_ns = fields.long()?;
                Some(Record {
                    time_ns,
                    process,
                    thread,
                    event: Event::Fork { parent },
                })
            }
            RECORD_COMM if misc & MISC_COMM_EXEC != 0 => {
                let (process, thread) = (fields.word()? as i32, fields.word()? as i32);
                let (name, time_ns) = fields.name_and_time()?;
                Some(Record {
                    time_ns,
                    process,
                    thread,
                    event: Event::Exec { name },
                })
            }
            RECORD_MMAP => {
                let (process, thread) = (fields.word()? as i32, fields.word()? as i32);
                fields.take::<24>()?; // address, length, offset
                let (file, time_ns) = fields.name_and_time()?;
                Some(Record {
                    time_ns,
                    process,
                    thread,
                    event: Event::Mapped { file },
                })
            }
            RECORD_LOST => {
                fields.long()?;
                self.lost += fields.long()?;
                None
            }
            _ => None,
        }
    }

    fn apply(&mut self, record: Record, ledger: &mut Ledger) {
        let Record {
            time_ns,
            process,
            thread,
            event,
        } = record;
        match event {
            Event::Fork { parent } => {
                if process != parent {
                    ledger.forked(parent, process);
                }
            }
            Event::Exec { name } => {
                self.started = true;
                ledger.executed(process, &name);
                ledger.look_at(process);
            }
            Event::Mapped { file } => ledger.mapped(process, Path::new(&file)),
            Event::Enter { number, arguments } => {
                self.inside.insert(thread, (time_ns, number, arguments));
                if number == libc::SYS_close {
                    let descriptor = arguments[0] as i32;
                    ledger.closed(process, descriptor);
                    self.opened.remove(&(process, descriptor));
                }
            }
            Event::Exit { number, result } => {
                let Some((began_ns, _, arguments)) = self
                    .inside
                    .remove(&thread)
                    .filter(|entered| entered.1 == number)
                else {
                    return;
                };
                if let Some(kind) = WriteCall::with_number(number) {
                    ledger.add(&Call {
                        process,
                        thread,
                        began_ns,
                        took_ns: time_ns.saturating_sub(began_ns),
                        kind,
                        descriptor: kind.target(&arguments),
                        asked: kind.asked(&arguments),
                        result,
                        ends_line: None,
                    });
                } else if OPENING.contains(&number) {
                    if let Ok(descriptor) = i32::try_from(result)
                        && descriptor >= 0
                    {
                        ledger.closed(process, descriptor);
                        self.opened.insert((process, descriptor));
                    }
                } else if number != libc::SYS_close && result >= 0 {
                    ledger.closed(process, arguments[1] as i32);
                    ledger.duplicated(process, arguments[0] as i32, arguments[1] as i32);
                }
            }
        }
    }
}

/// Runs a command and watches it and its descendants until it has ended.
pub(crate) fn run(
    points: Points,
    command: Command,
    ledger: &mut Ledger,
    ready: &mut dyn FnMut(i32),
) -> io::Result<Recording> {
    gate::start(command, None, |root, gate: Gate| {
        let rings = Rings::open(points, &[root], true)?;
        let program = end_of(root);
        ready(root);
        let began_ns = clock::now_ns();
        let mut delay = Delay::of(root);
        gate.open()?;
        let mut reader = Reader::new(points);
        let mut ending = None;
        // A program that could not be started is gone without an ending.
        while ending.is_none() && procfs::name(root).is_some() {
            rings.wait(program.as_ref());
            if reader.started {
                // Before that, the thread that starts the program waits for it.
                delay.look();
                ending = Ending::reap(root)?;
            }
            reader.drain(&rings, ledger, false);
            if let Some(signal) = interrupts::take() {
                interrupts::pass_on(signal, root);
            }
        }
        let wall_ns = clock::now_ns() - began_ns;
        let run = Recording {
            ending,
            wall_ns,
            delayed_ns: delay.ns(),
            asleep_ns: Some(wall_ns.saturating_sub(delay.awake_ns())),
            ..Recording::of(root, Mode::Tracepoints { lost: 0 })
        };
        Ok(reader.finish(rings, ledger, run))
    })
}

/// What is readable once a process has ended.
fn end_of(process: i32) -> Option<OwnedFd> {
    let process = Pid::from_raw(process)?;
    // Without it the end is noticed a little later.
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Watches a process that is running already, until it ends or the user interrupts.
pub(crate) fn attach(points: Points, root: i32, ledger: &mut Ledger) -> io::Result<Recording> {
    let began_ns = clock::now_ns();
    let rings = Rings::open(points, &procfs::threads(root), false)?;
    let program = end_of(root);
    ledger.look_at(root);
    let mut reader = Reader::new(points);
    let mut delay = Delay::of(root);
    while procfs::name(root).is_some() && interrupts::take().is_none() {
        rings.wait(program.as_ref());
        delay.look();
        reader.drain(&rings, ledger, false);
    }
    let wall_ns = clock::now_ns() - began_ns;
    let run = Recording {
        wall_ns,
        delayed_ns: delay.ns(),
        asleep_ns: Some(wall_ns.saturating_sub(delay.awake_ns())),
        ..Recording::of(root, Mode::Tracepoints { lost: 0 })
    };
    Ok(reader.finish(rings, ledger, run))
}
