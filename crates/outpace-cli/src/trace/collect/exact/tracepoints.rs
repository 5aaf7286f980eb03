//! The cheap mechanism: the kernel's `raw_syscalls` tracepoints through `perf_event_open(2)`, one ring
//! buffer a processor. The program is never stopped; a call costs it one to two microseconds.

use super::Ledger;
use super::tails::Tails;
use crate::platform::clock::{self, Delay};
use crate::platform::ending::Ending;
use crate::platform::procfs::{self, Stat};
use crate::platform::{interrupts, stops};
use crate::trace::kernel::{Call, memory, sys};
use crate::trace::model::Mode;
use perf_event::events::{Event as Kind, Software, Tracepoint};
use perf_event::{Builder, Clock, Counter, SampleFlag, Sampler, data};
use perf_event_open_sys::bindings::PERF_RECORD_MISC_COMM_EXEC as COMM_EXEC;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The largest ring, and the least: the limit on locked memory may be lower than the first.
const LARGEST_RING: usize = 16 << 20;
const LEAST_RING: usize = 128 << 10;
/// How long records may lie in a ring that is not filling, and an end go unnoticed.
const PATIENCE: Duration = Duration::from_millis(10);
/// For threads that were started while others were not watched yet.
const SEARCHES: usize = 4;

/// The tracepoint with this name, where this user may read its number.
pub(super) fn point(name: &str) -> io::Result<Tracepoint> {
    // The whole path: without it, it is looked for in debugfs, which may not be mounted.
    Tracepoint::with_name(format!("/sys/kernel/tracing/events/raw_syscalls/{name}"))
}

/// An event of this thread whose records may go to a ring, not yet enabled.
pub(super) fn event<'a>(event: impl Kind) -> Builder<'a> {
    let mut event = Builder::new(event);
    event.include_kernel().include_hv().sample_period(1);
    event.sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW);
    event.sample_id_all(true).clockid(Clock::MONOTONIC);
    event
}

/// A ring of this size for each processor.
fn of_size(size: usize) -> io::Result<BTreeMap<usize, Sampler>> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online")?;
    let ranges = online.trim().split(',').filter_map(procfs::range);
    let ring = |processor| {
        // Of no thread: poll(2) returns at once when the thread of an event has ended.
        let mut ring = event(Software::DUMMY);
        (ring.any_pid().one_cpu(processor)).wakeup_watermark(LEAST_RING / 4);
        Ok((processor, ring.build()?.sampled(size)?))
    };
    ranges.flatten().map(ring).collect()
}

/// The rings of all processors, and the events that fill them.
pub(crate) struct Rings {
    /// Where calls begin, and where they return.
    points: [Tracepoint; 2],
    /// The calls that are wanted.
    filter: CString,
    /// By processor.
    rings: BTreeMap<usize, Sampler>,
    events: Vec<Counter>,
    tails: Option<Tails>,
    /// What our own writes took before: while any tracepoint is open, each call of every program takes longer.
    alone_ns: u64,
    /// What has arrived, and may be later than what is still to come.
    records: Vec<Record>,
    /// The count of calls that have returned, writes and others.
    calls: u64,
    /// When a thread of the program's process ended last.
    ended_ns: Option<u64>,
}

impl Rings {
    /// Opens them, of one size: the largest of which memory may be locked for all, and watches the threads that there are now.
    pub(crate) fn open(root: i32, launched: bool) -> io::Result<Self> {
        let points = [point("sys_enter")?, point("sys_exit")?];
        let wanted: Vec<String> = Ledger::wanted().map(|call| format!("id=={call}")).collect();
        let alone_ns = writes_ns()?;
        let mut size = LARGEST_RING;
        let rings = loop {
            match of_size(size) {
                Err(_) if size > LEAST_RING => size /= 2,
                rings => break rings?,
            }
        };
        let mut rings = Self {
            points,
            filter: CString::new(wanted.join("||"))?,
            rings,
            events: Vec::new(),
            tails: None,
            alone_ns,
            records: Vec::new(),
            calls: 0,
            ended_ns: None,
        };
        let mut watched = HashSet::new();
        // Those that are not watched yet may start others. Of a call that is seen twice, the second end counts for nothing.
        for _ in 0..SEARCHES {
            let mut threads = procfs::tree_threads(root);
            threads.retain(|&(_, thread)| watched.insert(thread));
            let mut threads = threads.into_iter();
            threads.try_for_each(|(_, thread)| rings.watch(thread, launched))?;
        }
        // Without it everything else is still seen.
        rings.tails = event(points[0]).build().and_then(Tails::begin).ok();
        Ok(rings)
    }

    /// Watches a thread and those that it starts, on every processor.
    fn watch(&mut self, thread: i32, launched: bool) -> io::Result<()> {
        for (&processor, ring) in &self.rings {
            for (tracepoint, is_enter) in self.points.into_iter().zip([true, false]) {
                let mut event = event(tracepoint);
                event.inherit(true).observe_pid(thread).one_cpu(processor);
                event.enabled(!launched).enable_on_exec(launched);
                event.task(is_enter).mmap(is_enter);
                // The records of `mmap` have no time.
                event.mmap2(is_enter).comm(is_enter).comm_exec(is_enter);
                let event = match event.build() {
                    // The thread has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(()),
                    event => event?,
                };
                sys::set_filter(&event, &self.filter)?;
                sys::send_to(&event, ring)?;
                self.events.push(event);
            }
        }
        Ok(())
    }

    /// Waits until a ring is a quarter full, or for a while.
    fn wait(&self) {
        let rings = self.rings.values().map(sys::borrowed);
        let waiting = rings.map(|ring| PollFd::from_borrowed_fd(ring, PollFlags::IN));
        let mut waiting: Vec<PollFd<'_>> = waiting.collect();
        // An error is an interruption, which the caller looks for anyway.
        let _ = poll(&mut waiting, Timespec::try_from(PATIENCE).ok().as_ref());
    }
}

/// One record, decoded.
struct Record {
    time_ns: u64,
    /// The process and the thread.
    of: (i32, i32),
    event: Event,
}

enum Event {
    /// The number and the arguments of a call that begins.
    Enter(i64, [u64; 6]),
    /// The number and the result of one that has returned.
    Exit(i64, i64),
    /// The process forked this one.
    Fork(i32),
    /// It is a program of this name now.
    Exec(String),
    /// Code of this file is run: of the program first, and then of libraries.
    Mapped(String),
    /// The thread ended.
    Ended,
    /// So many records found no room.
    Lost(u64),
}

impl Record {
    /// Decodes those of the kinds above.
    fn of(record: &perf_event::Record<'_>, enter: Tracepoint) -> Option<Self> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = match record.parse_record().ok()? {
            data::Record::Sample(sample) => {
                // The tracepoint, the number of the call, its arguments or its result.
                let [point, number, ref rest @ ..] = memory::words(sample.raw()?)[..] else {
                    return None;
                };
                match point & 0xffff == enter.id() {
                    true => Event::Enter(number as i64, *rest.first_chunk()?),
                    false => Event::Exit(number as i64, *rest.first()? as i64),
                }
            }
            data::Record::Fork(fork) => Event::Fork(fork.pid as i32),
            data::Record::Comm(named) if u32::from(record.misc()) & COMM_EXEC != 0 => {
                Event::Exec(text(&named.comm))
            }
            data::Record::Mmap2(mapped) => Event::Mapped(text(&mapped.filename)),
            data::Record::Exit(_) => Event::Ended,
            data::Record::Lost(lost) => Event::Lost(lost.lost),
            _ => return None,
        };
        // The thread and the time: a sample begins with them, other records end with them.
        let words = memory::words(&record.to_contiguous());
        let (thread, time_ns) = match (&event, &words[..]) {
            (Event::Enter(..) | Event::Exit(..), &[thread, time_ns, ..]) => (thread, time_ns),
            (_, &[.., thread, time_ns]) => (thread, time_ns),
            _ => return None,
        };
        // Two numbers of 32 bits in a word: every machine of ours is little-endian.
        let of = (thread as i32, (thread >> 32) as i32);
        Some(Self { time_ns, of, event })
    }
}

impl Rings {
    /// Takes what has arrived and passes on what is certainly in order: everything up to this moment
    /// (a thread moves between processors, so that its records lie in several rings), or all.
    fn drain(&mut self, ledger: &mut Ledger, until_ns: u64) {
        for ring in self.rings.values_mut() {
            while let Some(record) = ring.next_record() {
                let Some(record) = Record::of(&record, self.points[0]) else {
                    continue;
                };
                let is_later = record.time_ns > until_ns;
                self.records.push(record);
                if is_later {
                    break;
                }
            }
        }
        let ready = (self.records).extract_if(.., |record| record.time_ns <= until_ns);
        let mut ready: Vec<Record> = ready.collect();
        ready.sort_by_key(|record| record.time_ns);
        (ready.into_iter()).for_each(|record| self.apply(record, ledger));
    }

    fn apply(&mut self, record: Record, ledger: &mut Ledger) {
        let Record { of, time_ns, .. } = record;
        match record.event {
            Event::Fork(child) => ledger.forked(of.0, child),
            Event::Exec(name) => ledger.executed(of.0, &name),
            Event::Lost(records) => ledger.run.lost += records,
            Event::Mapped(file) => ledger.mapped(of.0, Path::new(&file)),
            Event::Enter(number, arguments) => {
                let write = Call::begun(of, number, &arguments);
                ledger.entered(of, time_ns, number, arguments, write);
            }
            Event::Ended => {
                ledger.cut_off(of.1, time_ns);
                if of.0 == ledger.run.root {
                    self.ended_ns = Some(time_ns);
                }
            }
            Event::Exit(number, result) => {
                self.calls += 1;
                ledger.left(of, Some(number), time_ns, result);
            }
        }
    }
}

/// Our own writes whose cost is measured with and without watching.
const ROUNDS: usize = 8;
const WRITES: u64 = 200;
/// Programs lose more than is measured so: their caches hold more than our loop, and we read beside them.
const SLOWER: f64 = 2.0;

/// Nanoseconds that so many of our own writes take.
fn writes_ns() -> io::Result<u64> {
    let mut null = fs::File::options().write(true).open("/dev/null")?;
    let mut round_ns = |_| -> io::Result<u64> {
        let began_ns = clock::now_ns();
        (0..WRITES).try_for_each(|_| null.write_all(b"\n"))?;
        Ok(clock::now_ns() - began_ns)
    };
    // The fastest counts: other work on the machine only adds time.
    Ok((0..ROUNDS).flat_map(&mut round_ns).min().unwrap_or(0))
}

/// Nanoseconds that watching adds to a call on this machine, by what the same writes took when nothing was watched.
fn call_ns(rings: &mut Rings) -> io::Result<f64> {
    let this = rustix::thread::gettid().as_raw_pid();
    rings.watch(this, false)?;
    let added_ns = writes_ns()?.saturating_sub(rings.alone_ns);
    Ok(SLOWER * added_ns as f64 / WRITES as f64)
}

/// Watches a process and its descendants until it has ended, or, if there is no gate, the user interrupts.
pub(crate) fn watch(
    mut rings: Rings,
    gate: Option<UnixStream>,
    ledger: &mut Ledger,
) -> io::Result<()> {
    let (root, launched) = (ledger.run.root, gate.is_some());
    if !launched {
        let threads = procfs::tree_threads(root).into_iter();
        threads.for_each(|of| ledger.found(of));
    }
    let began_ns = clock::now_ns();
    let mut delay = Delay::of(root);
    // Should the program be gone, that is seen next.
    let _ = gate.map(|mut gate| gate.write_all(b"!"));
    let mut stopped_ns = 0;
    loop {
        rings.wait();
        if launched {
            stopped_ns += stops::follow(root);
        }
        delay.look();
        // Another's child may stay a zombie.
        let stat = Stat::of(root);
        let is_over = stat.is_none_or(Stat::is_over);
        ledger.run.last = stat.map_or(ledger.run.last, Stat::with_children);
        rings.drain(ledger, clock::now_ns());
        if launched && ledger.started {
            // One that could not be started is reaped by the thread that has tried to.
            ledger.run.ending = Ending::reap(root)?;
        }
        let is_over = is_over || ledger.run.ending.is_some();
        if is_over || interrupts::end_watching(root, launched) {
            break;
        }
    }
    let now_ns = clock::now_ns();
    rings.drain(ledger, u64::MAX);
    ledger.end(now_ns);
    // On a busy machine the end is noticed later.
    let ended_ns = rings.ended_ns.filter(|_| procfs::name(root).is_none());
    let wall_ns = ended_ns.unwrap_or(now_ns).saturating_sub(began_ns);
    if let Some(tails) = &rings.tails {
        ledger.add_line_ends(|(process, descriptor)| tails.of(process, descriptor));
    }
    // Where that is unknown, it may be all of a call's time.
    let call_ns = call_ns(&mut rings).unwrap_or(f64::INFINITY);
    let run = &mut ledger.run;
    run.mode = Mode::Tracepoints;
    (run.wall_ns, run.call_ns) = (wall_ns, call_ns);
    run.overhead_ns = (rings.calls as f64 * call_ns) as u64;
    run.busiest_ns = (delay.awake_ns() - delay.ns()).saturating_sub(run.overhead_ns);
    run.delayed_ns = delay.ns() + stopped_ns;
    run.asleep_ns = Some(wall_ns.saturating_sub(delay.awake_ns() + stopped_ns));
    // On another thread, if there can be one: closing an event may take as long as thousands of calls.
    let _ = std::thread::Builder::new().spawn(move || drop(rings));
    Ok(())
}
