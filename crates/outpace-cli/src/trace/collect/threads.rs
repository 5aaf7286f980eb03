//! The threads of a process, each with the counters that the kernel keeps for it alone: what it has read and
//! written, without the children that the process has waited for, and its time on a processor.

use crate::platform::clock;
use crate::trace::kernel::procfs::{IoCounters, Usage};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Threads of one process that are read.
const MOST_THREADS: usize = 64;

/// Processor time, and its parts in the program and in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Processor {
    /// To the nanosecond.
    pub(crate) total_ns: u64,
    /// The parts, which the kernel tells apart by clock ticks.
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
}

impl Processor {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            total_ns: self.total_ns + other.total_ns,
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
        }
    }
}

/// The counters of a thread at one moment.
#[derive(Clone, Copy, Default)]
struct Reading {
    io: IoCounters,
    processor: Processor,
    delayed_ns: u64,
}

struct Thread {
    io: File,
    schedule: File,
    usage: File,
    /// Before it was watched, perhaps as another program; and when last read.
    before: Reading,
    now: Reading,
}

impl Thread {
    fn open(process: i32, thread: i32) -> Option<Self> {
        let open = |file: &str| File::open(format!("/proc/{process}/task/{thread}/{file}")).ok();
        Some(Self {
            io: open("io")?,
            schedule: open("schedstat")?,
            usage: open("stat")?,
            before: Reading::default(),
            now: Reading::default(),
        })
    }

    fn reading(&self) -> Option<Reading> {
        let io = IoCounters::read(&self.io).ok()?;
        let mut text = [0; 128];
        let length = self.schedule.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(&text[..length]).ok()?;
        let (total_ns, delayed_ns) = clock::schedule_in(text)?;
        let usage = Usage::read(&self.usage)?;
        let processor = Processor {
            total_ns,
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
        };
        Some(Reading {
            io,
            processor,
            delayed_ns,
        })
    }

    fn own(&self) -> IoCounters {
        self.now.io.since(self.before.io)
    }
}

/// What is known of a process's threads.
#[derive(Default)]
pub(crate) struct Threads {
    threads: BTreeMap<i32, Thread>,
    /// Some of them are not read.
    is_partial: bool,
}

impl Threads {
    /// Does not count what the threads have read and written so far: before the process was watched.
    pub(crate) fn begin(&mut self, process: i32, threads: &[i32]) {
        self.open(process, threads);
        for thread in self.threads.values_mut() {
            thread.before = thread.reading().unwrap_or_default();
            thread.now = thread.before;
        }
    }

    /// Goes on where the program ended that the process ran before, of which the first thread is left.
    pub(crate) fn go_on(&mut self, process: i32, former: &Self) {
        self.open(process, &[process]);
        if let (Some(thread), Some(before)) =
            (self.threads.get_mut(&process), former.threads.get(&process))
        {
            thread.before = before.now;
            thread.now = before.now;
        }
    }

    fn open(&mut self, process: i32, threads: &[i32]) {
        for &thread in threads {
            if self.threads.contains_key(&thread) {
                continue;
            }
            match Thread::open(process, thread) {
                Some(opened) if self.threads.len() < MOST_THREADS => {
                    self.threads.insert(thread, opened);
                }
                _ => self.is_partial = true,
            }
        }
    }

    /// Reads the counters of these threads. Those that have ended keep what they had.
    pub(crate) fn read(&mut self, process: i32, threads: &[i32]) {
        self.open(process, threads);
        for thread in self.threads.values_mut() {
            thread.now = thread.reading().unwrap_or(thread.now);
        }
    }

    /// Gives what the threads were known to have read and written, for [`restore`](Self::restore).
    pub(crate) fn known_io(&self) -> Vec<(i32, IoCounters)> {
        let threads = self.threads.iter();
        threads.map(|(&id, thread)| (id, thread.now.io)).collect()
    }

    /// Forgets what they have read and written since.
    pub(crate) fn restore(&mut self, known: &[(i32, IoCounters)]) {
        for (&id, thread) in &mut self.threads {
            let before = known.iter().find(|(known, _)| *known == id);
            thread.now.io = before.map_or(thread.before.io, |(_, io)| *io);
        }
    }

    /// What the threads have read and written, without the children that the process has waited for.
    pub(crate) fn io(&self) -> IoCounters {
        let of_threads = self.threads.values();
        of_threads.fold(IoCounters::default(), |sum, thread| sum.plus(thread.own()))
    }

    /// Whether the process has had one thread, as far as was seen.
    pub(crate) fn is_one(&self) -> bool {
        self.threads.len() == 1 && !self.is_partial
    }

    /// What the only thread has read and written.
    pub(crate) fn io_of_only_thread(&self) -> Option<IoCounters> {
        self.is_one().then(|| self.io())
    }

    /// The thread that has written most, and how often.
    pub(crate) fn busiest(&self) -> Option<(i32, u64)> {
        let threads = self.threads.iter();
        let calls = threads.map(|(&id, thread)| (id, thread.own().write_calls));
        calls.max_by_key(|&(_, calls)| calls)
    }

    /// The time of a thread on a processor, and ready to run without one.
    pub(crate) fn schedule_ns(&self, thread: i32) -> (u64, u64) {
        let reading = self.threads.get(&thread).and_then(Thread::reading);
        reading.map_or((0, 0), |reading| {
            (reading.processor.total_ns, reading.delayed_ns)
        })
    }

    /// The same of all threads, since they were first read.
    pub(crate) fn scheduled_ns(&self) -> u64 {
        let threads = self.threads.values();
        let scheduled = threads.map(|thread| {
            let processor = thread.now.processor.since(thread.before.processor);
            processor.total_ns
                + thread
                    .now
                    .delayed_ns
                    .saturating_sub(thread.before.delayed_ns)
        });
        scheduled.sum()
    }

    /// The processor time of the threads that have written.
    pub(crate) fn of_writers(&self) -> Processor {
        let writers = self.threads.values();
        let writers = writers.filter(|thread| thread.own().write_calls > 0);
        writers.fold(Processor::default(), |sum, thread| {
            sum.plus(thread.now.processor.since(thread.before.processor))
        })
    }

    /// How long the threads that have written, but for one of them, were ready to run without a processor.
    pub(crate) fn delayed_ns(&self, but_for: Option<i32>) -> u64 {
        let others = self.threads.iter();
        let others =
            others.filter(|(id, thread)| Some(**id) != but_for && thread.own().write_calls > 0);
        others
            .map(|(_, thread)| {
                thread
                    .now
                    .delayed_ns
                    .saturating_sub(thread.before.delayed_ns)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_of_this_process_have_written_what_it_has() {
        let ours = std::process::id() as i32;
        let mut threads = Threads::default();
        threads.begin(ours, &crate::trace::kernel::procfs::threads(ours));
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        let null = File::options().write(true).open("/dev/null").unwrap();
        for _ in 0..1000 {
            null.write_at(b"0123456789", 0).unwrap();
        }
        threads.read(ours, &[this]);
        assert!(threads.io().write_calls >= 1000);
        let (busiest, calls) = threads.busiest().unwrap();
        assert!(calls >= 1000, "{busiest}");
        // The kernel brings it up to date at its next tick.
        while threads.of_writers().total_ns == 0 {
            null.write_at(b"0123456789", 0).unwrap();
            threads.read(ours, &[this]);
        }
    }

    #[test]
    fn what_a_former_program_wrote_is_not_the_next_ones() {
        let ours = std::process::id() as i32;
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        let (mut former, mut next) = (Threads::default(), Threads::default());
        former.open(this, &[this]);
        former.read(this, &[this]);
        next.go_on(this, &former);
        assert_eq!(next.io(), IoCounters::default(), "of {ours}");
    }
}
