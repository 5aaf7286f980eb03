//! What the threads of a process that write do between their writes.
//!
//! The kernel tells the program's own time from its own by clock ticks. These are too coarse (250 a second)
//! for a program that keeps a twentieth of its time once its writes are large, and a tick that falls into
//! the way into the kernel and back counts for the program. So the two are measured apart. How long a
//! thread has been at it, and without a processor, is known to the nanosecond; what of that is its own, for each
//! write, is sampled in short [windows](super::windows), so that it costs next to nothing.

use super::procfs::IoCounters;
use super::windows::{Outcome, OwnTime, Sampled, Window};
use crate::platform::clock;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Threads of one process that are read; the others are not looked at for this.
const MOST_THREADS: usize = 64;
/// Writes a millisecond from which on it is worth to look closer.
const BUSY: u64 = 2;
/// Looks that a thread must have been seen in before they say that it slept nowhere but in writes, and the
/// part of them that may say otherwise.
const ENOUGH_LOOKS: u64 = 5;
const SELDOM: u64 = 20;

/// What the kernel knows of a thread at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    at_ns: u64,
    calls: u64,
    processor_ns: u64,
    delayed_ns: u64,
}

struct Thread {
    io: File,
    schedule: File,
    /// Its reads and writes before it was watched, perhaps as another program; and when last read.
    before: IoCounters,
    io_now: IoCounters,
    /// When it was seen to have written for the first time.
    first: Option<Reading>,
    last: Reading,
    /// Processor time, and time ready to run without a processor, of the stretches in which it wrote.
    processor_ns: u64,
    delayed_ns: u64,
    calls: u64,
    is_busy: bool,
    looks: u64,
    /// Looks at which it slept, but in no write.
    elsewhere: u64,
}

impl Thread {
    fn open(process: i32, thread: i32) -> Option<Self> {
        let open = |file: &str| File::open(format!("/proc/{process}/task/{thread}/{file}")).ok();
        Some(Self {
            io: open("io")?,
            schedule: open("schedstat")?,
            before: IoCounters::default(),
            io_now: IoCounters::default(),
            first: None,
            last: Reading::default(),
            processor_ns: 0,
            delayed_ns: 0,
            calls: 0,
            is_busy: false,
            looks: 0,
            elsewhere: 0,
        })
    }

    fn reading(&mut self, at_ns: u64) -> Option<Reading> {
        self.io_now = IoCounters::read(&self.io).ok()?;
        let mut text = [0; 128];
        let length = self.schedule.read_at(&mut text, 0).ok()?;
        let (processor_ns, delayed_ns) =
            clock::schedule_in(std::str::from_utf8(&text[..length]).ok()?)?;
        Some(Reading {
            at_ns,
            calls: self.io_now.write_calls,
            processor_ns,
            delayed_ns,
        })
    }

    fn read(&mut self, at_ns: u64) {
        let Some(now) = self.reading(at_ns) else {
            return;
        };
        let calls = now
            .calls
            .saturating_sub(self.last.calls.max(self.before.write_calls));
        if self.first.is_some() && calls > 0 {
            self.calls += calls;
            self.processor_ns += now.processor_ns.saturating_sub(self.last.processor_ns);
            self.delayed_ns += now.delayed_ns.saturating_sub(self.last.delayed_ns);
        }
        if self.first.is_none() && now.calls > self.before.write_calls {
            self.first = Some(now);
        }
        self.is_busy = calls * 1_000_000 > BUSY * now.at_ns.saturating_sub(self.last.at_ns);
        self.last = now;
    }
}

/// What a process's writes and its own work for them took, from its first write on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spent {
    /// In writes and in what the program does between them, without the time it was ready to run and had
    /// no processor.
    pub(crate) busy_ns: u64,
    /// The program's own part of that, for each write.
    pub(crate) own: OwnTime,
}

/// What is known of a process's writing threads.
#[derive(Default)]
pub(crate) struct Pace {
    threads: BTreeMap<i32, Thread>,
    sampled: Sampled,
    /// What was counted before the first write: reads and page faults.
    before: Option<(u64, u64)>,
    /// Some of its threads are not read.
    is_partial: bool,
}

impl Pace {
    /// Does not count what the threads have read and written so far: before the process was watched.
    pub(crate) fn begin(&mut self, process: i32, threads: &[i32]) {
        self.open(process, threads);
        for thread in self.threads.values_mut() {
            thread.before = IoCounters::read(&thread.io).unwrap_or_default();
            thread.io_now = thread.before;
        }
    }

    /// Goes on where the program ended that the process ran before, of which the first thread is left.
    pub(crate) fn go_on(&mut self, process: i32, former: &Self) {
        self.open(process, &[process]);
        if let (Some(thread), Some(before)) =
            (self.threads.get_mut(&process), former.threads.get(&process))
        {
            thread.before = before.io_now;
            thread.io_now = before.io_now;
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

    /// Gives back what its threads were known to have read and written, for [`restore`](Self::restore).
    pub(crate) fn known_io(&self) -> Vec<(i32, IoCounters)> {
        let threads = self.threads.iter();
        threads.map(|(&id, thread)| (id, thread.io_now)).collect()
    }

    /// Forgets what they have read and written since.
    pub(crate) fn restore(&mut self, known: &[(i32, IoCounters)]) {
        for (&id, thread) in &mut self.threads {
            let before = known.iter().find(|(known, _)| *known == id);
            thread.io_now = before.map_or(thread.before, |(_, io)| *io);
        }
    }

    /// What its threads have read and written, without the children that the process has waited for: the kernel keeps
    /// that of a thread apart.
    pub(crate) fn io(&self) -> IoCounters {
        let of_threads = self.threads.values();
        of_threads.fold(IoCounters::default(), |sum, thread| {
            sum.plus(thread.io_now.since(thread.before))
        })
    }

    /// The same, if that is all that the process itself has read and written: it has had one thread, as far as was seen.
    pub(crate) fn io_of_only_thread(&self) -> Option<IoCounters> {
        (self.threads.len() == 1 && !self.is_partial).then(|| self.io())
    }

    /// Reads the counters of these threads.
    pub(crate) fn read(&mut self, process: i32, threads: &[i32], at_ns: u64) {
        self.open(process, threads);
        // Those that have ended cannot be read, and keep what they had.
        self.threads
            .values_mut()
            .for_each(|thread| thread.read(at_ns));
    }

    /// Remembers, once it has written, how many reads and page faults it had made before.
    pub(crate) fn note(&mut self, reads: u64, faults: u64) {
        if self.before.is_none() && self.threads.values().any(|thread| thread.first.is_some()) {
            self.before = Some((reads, faults));
        }
    }

    /// Reads and page faults before its first write.
    pub(crate) fn before(&self) -> (u64, u64) {
        self.before.unwrap_or_default()
    }

    /// A thread was looked at, and slept in something that is no write, or did not.
    pub(crate) fn looked(&mut self, thread: i32, elsewhere: bool) {
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.looks += 1;
            thread.elsewhere += u64::from(elsewhere);
        }
    }

    /// Begins to sample the threads that write much.
    pub(crate) fn sample(&self, window: &mut Window, process: i32) {
        for (&id, thread) in &self.threads {
            if thread.is_busy {
                window.add(process, id, &thread.io);
            }
        }
    }

    /// Adds what was sampled of one of its threads.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.sampled.add(outcome);
    }

    fn writers(&self) -> impl Iterator<Item = &Thread> {
        self.threads.values().filter(|thread| thread.calls > 0)
    }

    /// How long its threads, but for one of them, were ready to write and had no processor.
    pub(crate) fn delayed_ns(&self, but_for: Option<i32>) -> u64 {
        let others = self.threads.iter().filter(|(id, _)| Some(**id) != but_for);
        others.map(|(_, thread)| thread.delayed_ns).sum()
    }

    /// What was spent on so many writes, in which threads were seen waiting for so long, when taking a
    /// [sample](super::windows::sample_ns) takes so long; `None` when too little was
    /// seen to tell.
    pub(crate) fn spent(&self, calls: u64, waiting_ns: u64, sample_ns: f64) -> Option<Spent> {
        let own = self.sampled.own(sample_ns)?;
        let watched: u64 = self.writers().map(|thread| thread.calls).sum();
        let mut writers = self.writers();
        let busy_ns = match (writers.next()?, writers.next()) {
            (only, None) if only.never_slept_elsewhere() => only.since_its_first_write_ns()?,
            _ => {
                let processor_ns: u64 = self.writers().map(|thread| thread.processor_ns).sum();
                (processor_ns as f64 / watched.max(1) as f64 * calls as f64) as u64 + waiting_ns
            }
        };
        Some(Spent { busy_ns, own })
    }
}

impl Thread {
    fn never_slept_elsewhere(&self) -> bool {
        self.looks >= ENOUGH_LOOKS && self.elsewhere * SELDOM <= self.looks
    }

    /// How long it has been at it since it began to write, with a processor whenever it wanted one. When it began
    /// follows from what it had written when that was first seen.
    fn since_its_first_write_ns(&self) -> Option<u64> {
        let first = self.first?;
        let seen_ns = self.last.at_ns.checked_sub(first.at_ns)?;
        let delayed_ns = self.last.delayed_ns.saturating_sub(first.delayed_ns);
        let busy_ns = seen_ns.saturating_sub(delayed_ns) as f64;
        let calls = self
            .last
            .calls
            .checked_sub(first.calls)
            .filter(|&calls| calls > 0)?;
        let unseen = (first.calls - self.before.write_calls) as f64 / calls as f64;
        Some((busy_ns * (1.0 + unseen)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(first: Reading, last: Reading) -> Thread {
        let ours = std::process::id() as i32;
        Thread {
            first: Some(first),
            last,
            ..Thread::open(ours, ours).unwrap()
        }
    }

    #[test]
    fn a_thread_has_been_at_it_since_its_first_write_but_while_it_waited_for_a_processor() {
        let reading = |at_ns, calls, delayed_ns| Reading {
            at_ns,
            calls,
            processor_ns: 0,
            delayed_ns,
        };
        let thread = thread(reading(10_000, 100, 500), reading(20_000, 1100, 1500));
        assert_eq!(thread.since_its_first_write_ns(), Some(9900));
        let same = reading(10_000, 100, 0);
        assert_eq!(
            self::thread(same, same).since_its_first_write_ns(),
            None,
            "it wrote no more"
        );
    }

    #[test]
    fn without_samples_nothing_is_told() {
        let mut pace = Pace::default();
        let ours = std::process::id() as i32;
        pace.read(ours, &[ours], 1);
        pace.read(ours, &[ours], 2);
        assert_eq!(pace.spent(1000, 0, 0.0), None);
    }
}
