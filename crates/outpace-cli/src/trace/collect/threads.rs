//! The threads of a process, each with the counters that the kernel keeps for it alone: its reads and writes, without those
//! of the children that the process has waited for, and its time on a processor; and with the call that it is in.

use crate::platform::doing::Doing;
use crate::platform::procfs::{self, IoCounters, Processor, Stat, read_again};
use crate::platform::samples::{SAMPLE_NS, Samples};
use std::collections::BTreeMap;
use std::fs::File;

/// Threads of one process that are read.
const MOST_THREADS: usize = 64;

/// The parts of a thread's processor time are [sampled](Samples) for so much time with writes: after that, clock ticks tell enough. A thread that
/// does not write is sampled until all threads have run for so long: samples slow a program down.
const SAMPLED_FOR_NS: u64 = 50_000_000;
/// The kernel sets a timer at each switch to the thread, which takes 1 to 10 µs in a virtual machine: where turns are short, samples end before that.
const MOST_TURNS: u64 = 500;

/// The counters of a thread at one moment, or of several.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reading {
    pub(crate) io: IoCounters,
    pub(crate) processor: Processor,
}

/// A thread, by files of `/proc` that are held open.
pub(crate) struct Thread {
    io: File,
    schedule: File,
    stat: File,
    /// Not every kernel has it.
    call: Option<File>,
    /// Until it has ended, or the kernel's clock ticks tell enough.
    samples: Option<Samples>,
    /// Its time by the last of these, and what its files showed then, which has its parts by clock ticks.
    sampled: Processor,
    ticks: Processor,
    /// Before it was watched, perhaps as another program, with the time in which it was slowed down; and when last read.
    before: Reading,
    now: Reading,
    /// The arguments of the call that it was last seen asleep in, and its count of finished writes then: unchanged, it is
    /// still the same call.
    pub(super) asleep: Option<([u64; 6], u64)>,
}

impl Thread {
    fn open(process: i32, thread: i32) -> Option<Self> {
        let open = |file: &str| File::open(format!("/proc/{process}/task/{thread}/{file}")).ok();
        Some(Self {
            io: open("io")?,
            schedule: open("schedstat")?,
            stat: open("stat")?,
            call: open("syscall"),
            samples: None,
            sampled: Processor::default(),
            ticks: Processor::default(),
            before: Reading::default(),
            now: Reading::default(),
            asleep: None,
        })
    }

    pub(super) fn finished_writes(&self) -> u64 {
        IoCounters::read(&self.io).map_or(0, |io| io.write_calls)
    }

    /// The call that it is in.
    pub(super) fn doing(&self) -> Doing {
        let text = self.call.as_ref().and_then(|call| read_again(call).ok());
        text.map_or(Doing::Hidden, |text| Doing::parse(&text))
    }

    /// What the files of a thread show, until it has gone.
    fn shown(&self) -> Option<(IoCounters, Processor)> {
        let io = IoCounters::read(&self.io).ok()?;
        let stat = Stat::parse(&read_again(&self.stat).ok()?)?;
        let schedule = read_again(&self.schedule).ok()?;
        Some((io, stat.processor.scheduled(&schedule)?))
    }

    /// Its counters at this moment.
    pub(super) fn reading(&mut self) -> Reading {
        let shown = self.shown();
        let has_gone = shown.is_none();
        let (io, ticks) = shown.unwrap_or((self.now.io, self.ticks));
        // Whether a thread that was not seen to write has written since, is not known.
        let is_known = !has_gone || self.own().io.write_calls > 0;
        let samples = self.samples.as_mut().filter(|_| is_known);
        if let Some(sampled) = samples.and_then(|samples| samples.processor(ticks).ok()) {
            (self.sampled, self.ticks) = (sampled, ticks);
        } else if has_gone {
            return self.now;
        }
        Reading {
            io,
            processor: self.sampled.plus(ticks.since(self.ticks)),
        }
    }

    /// The increase while it was watched.
    fn own(&self) -> Reading {
        Reading {
            io: self.now.io.since(self.before.io),
            processor: self.now.processor.since(self.before.processor),
        }
    }
}

/// The threads of a process.
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
            thread.before = thread.reading();
            thread.now = thread.before;
        }
    }

    /// Goes on where the program ended that the process ran before, of which the first thread is left.
    pub(crate) fn go_on(&mut self, process: i32, former: &Self) {
        self.open(process, &[process]);
        if let (Some(thread), Some(before)) =
            (self.threads.get_mut(&process), former.threads.get(&process))
        {
            (thread.before, thread.now) = (before.now, before.now);
            (thread.sampled, thread.ticks) = (before.sampled, before.ticks);
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

    /// Reads the counters of these threads, for [`take`](Self::take).
    pub(crate) fn read(&mut self, process: i32, threads: &[i32]) -> Vec<Reading> {
        self.open(process, threads);
        self.threads.values_mut().map(Thread::reading).collect()
    }

    /// Stores readings as the current values. Threads that have ended keep their last ones.
    pub(crate) fn take(&mut self, readings: Vec<Reading>) {
        let threads = self.threads.values_mut().zip(readings);
        threads.for_each(|(thread, reading)| thread.now = reading);
    }

    /// Samples as long as it is worth it after so much time with writes.
    pub(crate) fn sample_after(&mut self, written: Processor) {
        let written_ns = written.user_ns + written.system_ns;
        if written_ns >= SAMPLED_FOR_NS || written.turns >= MOST_TURNS {
            return self.end_samples();
        }
        let is_early = self.all().processor.total_ns < SAMPLED_FOR_NS;
        for (&id, thread) in &mut self.threads {
            if !is_early && thread.own().io.write_calls == 0 {
                thread.samples = None;
            } else if thread.samples.is_none() {
                thread.samples = Samples::of(id, thread.now.processor).ok();
            }
        }
    }

    /// Samples no more: the kernel's clock ticks tell the rest.
    pub(crate) fn end_samples(&mut self) {
        (self.threads.values_mut()).for_each(|thread| thread.samples = None);
    }

    /// Does not count so much of a thread's time, in which it was slowed down.
    pub(super) fn leave_out(&mut self, thread: i32, slowed: Processor) {
        (self.threads.entry(thread))
            .and_modify(|Thread { before, .. }| before.processor = before.processor.plus(slowed));
    }

    /// All, with the calls that they are in.
    pub(super) fn doing(&self) -> Vec<(i32, Doing)> {
        let threads = self.threads.iter();
        threads.map(|(&id, thread)| (id, thread.doing())).collect()
    }

    pub(super) fn get_mut(&mut self, thread: i32) -> Option<&mut Thread> {
        self.threads.get_mut(&thread)
    }

    /// The threads, with their increase while they were watched.
    pub(crate) fn own(&self) -> impl Iterator<Item = (i32, Reading)> {
        self.threads.iter().map(|(&id, thread)| (id, thread.own()))
    }

    /// The sum over some of the threads.
    fn sum(&self, wanted: impl Fn(&Reading) -> bool) -> Reading {
        let wanted = self.own().filter(|(_, own)| wanted(own));
        wanted.fold(Reading::default(), |sum, (_, own)| Reading {
            io: sum.io.plus(own.io),
            processor: sum.processor.plus(own.processor),
        })
    }

    /// The sum over all, without the children that the process has waited for.
    pub(crate) fn all(&self) -> Reading {
        self.sum(|_| true)
    }

    /// The sum over those that have written.
    pub(crate) fn writers(&self) -> Reading {
        self.sum(|own| own.io.write_calls > 0)
    }

    /// The processor time of those that do not write, and waited about as often as there are writes: they hand each over to another.
    pub(crate) fn handing_over_ns(&self, calls: u64) -> u64 {
        let hand = |own: &Reading| own.io.write_calls == 0 && own.processor.turns * 2 >= calls;
        self.sum(hand).processor.total_ns
    }

    /// Those that have written.
    pub(crate) fn that_write(&self) -> impl Iterator<Item = &Thread> {
        (self.threads.values()).filter(|thread| thread.own().io.write_calls > 0)
    }

    /// Whether the parts of the time of all that have written are sampled.
    pub(crate) fn are_sampled(&self) -> bool {
        self.that_write().all(|thread| thread.sampled.total_ns > 0)
    }

    /// The mean time between two samples in so much time with writes.
    pub(crate) fn between_samples_ns(&self, written_ns: u64) -> f64 {
        // Since the last sample of each.
        let by_ticks = |thread: &Thread| thread.now.processor.since(thread.sampled).total_ns;
        let by_ticks_ns: u64 = self.that_write().map(by_ticks).sum();
        let sampled = 1.0 - (by_ticks_ns as f64 / written_ns as f64).min(1.0);
        let [sample, tick] = [SAMPLE_NS, procfs::TICK_NS].map(|ns| ns as f64);
        sampled * sample + (1.0 - sampled) * tick
    }

    /// Whether the process has had one thread, as far as was seen.
    pub(crate) fn is_one(&self) -> bool {
        self.threads.len() == 1 && !self.is_partial
    }

    /// The thread that has written most.
    pub(crate) fn busiest(&self) -> Option<i32> {
        let most = |own: &Reading| (own.io.write_calls, own.processor.system_ns);
        (self.own().max_by_key(|(_, own)| most(own))).map(|(id, _)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn the_threads_of_this_process_have_written_what_it_has() {
        let ours = std::process::id() as i32;
        let mut threads = Threads::default();
        threads.begin(ours, &crate::platform::procfs::threads(ours));
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        let null = File::options().write(true).open("/dev/null").unwrap();
        for _ in 0..1000 {
            null.write_at(b"0123456789", 0).unwrap();
        }
        let readings = threads.read(ours, &[this]);
        assert_eq!(threads.all().io, IoCounters::default());
        threads.take(readings);
        assert!(threads.all().io.write_calls >= 1000);
        assert!(threads.busiest().is_some());
        // The kernel brings it up to date at its next tick.
        while threads.writers().processor.total_ns == 0 {
            null.write_at(b"0123456789", 0).unwrap();
            let readings = threads.read(ours, &[this]);
            threads.take(readings);
        }
    }

    #[test]
    fn a_thread_of_short_turns_is_sampled_at_first() {
        use std::io::{Read, Write};
        let ours = std::process::id() as i32;
        let (mut here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            let mut byte = [0];
            // Each waits for the other.
            while there.read(&mut byte).unwrap() > 0 {
                there.write_all(&byte).unwrap();
            }
        });
        let thread = told.recv().unwrap();
        let mut threads = Threads::default();
        threads.begin(ours, &[thread]);
        let mut own = Processor::default();
        threads.sample_after(own);
        while own.user_ns + own.system_ns < 40 * SAMPLE_NS {
            for _ in 0..1000 {
                here.write_all(b"x").unwrap();
                here.read_exact(&mut [0]).unwrap();
            }
            let readings = threads.read(ours, &[thread]);
            threads.take(readings);
            own = threads.all().processor;
        }
        if threads.threads[&thread].samples.is_some() {
            assert!(
                own.system_ns > own.user_ns,
                "it does nothing but call: {own:?}"
            );
        } else {
            eprintln!("skipped: perf_event_open(2) is not permitted");
        }
        let many = Processor {
            turns: MOST_TURNS,
            ..Processor::default()
        };
        threads.sample_after(many);
        assert!(threads.threads[&thread].samples.is_none());
        drop(here);
        other.join().unwrap();
    }

    #[test]
    fn a_thread_that_only_computes_is_sampled_no_more_until_it_writes() {
        use std::io::Write;
        use std::sync::atomic::{AtomicBool, Ordering};
        let ours = std::process::id() as i32;
        let (tell, told) = std::sync::mpsc::channel();
        let [writes, ends] = [(); 2].map(|()| std::sync::Arc::new(AtomicBool::new(false)));
        let [is_to_write, is_to_end] = [&writes, &ends].map(std::sync::Arc::clone);
        let other = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            let mut null = File::create("/dev/null").unwrap();
            while !is_to_end.load(Ordering::Relaxed) {
                if is_to_write.load(Ordering::Relaxed) {
                    null.write_all(b"x").unwrap();
                }
            }
        });
        let thread = told.recv().unwrap();
        let mut threads = Threads::default();
        threads.begin(ours, &[thread]);
        let mut look = || {
            let readings = threads.read(ours, &[thread]);
            threads.take(readings);
            threads.sample_after(Processor::default());
            let (own, is_sampled) = (threads.all(), threads.threads[&thread].samples.is_some());
            (own.io.write_calls, own.processor, is_sampled)
        };
        let permitted = look().2;
        let mut before = loop {
            let (_, processor, is_sampled) = look();
            if processor.total_ns >= SAMPLED_FOR_NS {
                assert!(!is_sampled);
                break processor;
            }
            assert_eq!(is_sampled, permitted);
        };
        writes.store(true, Ordering::Relaxed);
        loop {
            let (calls, processor, is_sampled) = look();
            assert!(processor.total_ns >= before.total_ns && processor.user_ns >= before.user_ns);
            before = processor;
            if calls > 100 {
                assert_eq!(is_sampled, permitted);
                break;
            }
        }
        ends.store(true, Ordering::Relaxed);
        other.join().unwrap();
    }

    #[test]
    fn a_thread_that_waits_for_each_write_of_another_hands_it_over() {
        let ours = std::process::id() as i32;
        let (ask, asked) = std::sync::mpsc::channel();
        let (answer, answered) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            answer.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            asked.iter().for_each(|n: i32| answer.send(n).unwrap());
        });
        let thread = answered.recv().unwrap();
        let mut threads = Threads::default();
        threads.begin(ours, &[thread]);
        while threads.handing_over_ns(100) == 0 {
            ask.send(0).unwrap();
            answered.recv().unwrap();
            let readings = threads.read(ours, &[thread]);
            threads.take(readings);
        }
        assert_eq!(threads.handing_over_ns(1 << 40), 0);
        drop(ask);
        other.join().unwrap();
    }

    #[test]
    fn what_a_former_program_wrote_is_not_the_next_ones() {
        let ours = std::process::id() as i32;
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        let (mut former, mut next) = (Threads::default(), Threads::default());
        former.open(this, &[this]);
        let readings = former.read(this, &[this]);
        former.take(readings);
        next.go_on(this, &former);
        assert_eq!(next.all().io, IoCounters::default(), "of {ours}");
    }
}
