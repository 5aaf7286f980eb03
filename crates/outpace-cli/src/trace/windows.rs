//! Short stretches in which threads are sampled closely: is the program itself at work, or the kernel for it?
//!
//! A timer of each thread's own asks where it is, by the kernel's `cpu-clock` event (perf_event_open(2)), which every
//! user may have of his own programs where `kernel.perf_event_paranoid` is 2 or less. Samples in the kernel
//! are not delivered. On the way out of the kernel interrupts are blocked, so that a timer that falls there
//! fires at the first instruction after the system call; this is told by the register in which that call leaves
//! its return address.

use super::exact::sys;
use super::procfs::IoCounters;
use crate::platform::clock;
use std::fs::File;
use std::os::fd::OwnedFd;

/// While a window is open, a thread takes a third longer: a sample costs 13 µs on a virtual machine, wherever it falls, and
/// whenever the thread comes to a processor or leaves it, the timer is set. So the windows are short, and they are spread
/// over the program's time, as what it does for a line changes: its code is compiled, its memory is touched first.
///
/// How long a window is, and how long it is from one to the next: at least so long, and a part of the time since the first.
const WINDOW_NS: u64 = 1_200_000;
const PAUSE_NS: u64 = 20_000_000;
const PAUSE_PART: u64 = 8;
/// Time from one sample to the next.
const PERIOD_NS: u64 = 50_000;
/// Threads sampled in one window.
const MOST_THREADS: usize = 8;
/// Counters and samples that are read with a longer time between them are not of the same window.
const TOGETHER_NS: u64 = 150_000;
/// Samples of the program's own work needed to say how much that is.
const FEWEST_SAMPLES: u64 = 8;

const RING: usize = 16 << 10;
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const SAMPLE_IP: u64 = 1;
const SAMPLE_REGS_USER: u64 = 1 << 12;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
/// The register `cx` in the kernel's numbering (`<asm/perf_regs.h>`): `syscall` leaves its return address there.
const REGISTER_CX: u64 = 1 << 2;

/// A thread that is being sampled.
struct Subject {
    process: i32,
    /// Its counters, and how many writes it had made when the sampling began.
    io: File,
    calls_before: u64,
    _event: OwnedFd,
    ring: sys::Ring,
}

/// Threads that are being sampled.
#[derive(Default)]
pub(crate) struct Window(Vec<Subject>);

/// What was sampled of a thread of a process: samples of the program's own work, and how many writes it made meanwhile.
pub(crate) struct Outcome {
    pub(crate) process: i32,
    pub(crate) samples: u64,
    pub(crate) calls: u64,
    /// The time since the window before.
    pub(crate) stands_for_ns: u64,
}

impl Window {
    /// Begins to sample a thread, of which these are the counters, where that is allowed.
    pub(crate) fn add(&mut self, process: i32, thread: i32, io: &File) {
        if self.0.len() >= MOST_THREADS || !cfg!(target_arch = "x86_64") {
            return;
        }
        let attributes = sys::Attributes {
            kind: PERF_TYPE_SOFTWARE,
            config: PERF_COUNT_SW_CPU_CLOCK,
            sample_period: PERIOD_NS,
            sample_type: SAMPLE_IP | SAMPLE_REGS_USER,
            flags: sys::DISABLED | EXCLUDE_KERNEL | EXCLUDE_HV,
            sample_regs_user: REGISTER_CX,
            ..Default::default()
        };
        let Ok(event) = sys::open_event(&attributes, thread, -1) else {
            return;
        };
        let (Ok(ring), Ok(io)) = (sys::Ring::map(&event, RING), io.try_clone()) else {
            return;
        };
        let before_ns = clock::now_ns();
        if sys::enable(&event).is_ok()
            && let Ok(counters) = IoCounters::read(&io)
            && clock::now_ns() - before_ns < TOGETHER_NS
        {
            self.0.push(Subject {
                process,
                io,
                calls_before: counters.write_calls,
                _event: event,
                ring,
            });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ends the sampling, in a window that stands for so long a time. What did not fit into its ring is left out as a whole.
    pub(crate) fn close(self, stands_for_ns: u64) -> Vec<Outcome> {
        // First what was seen of each: to let go of an event takes a while, in which the threads go on.
        let outcome = |subject: &Subject| {
            let mut records = Vec::new();
            let before_ns = clock::now_ns();
            let calls_so_far = IoCounters::read(&subject.io).ok()?.write_calls;
            subject.ring.take(&mut records);
            let is_together = clock::now_ns() - before_ns < TOGETHER_NS;
            let is_complete = is_together && records.len() < RING - 64;
            let samples = own_samples(&records).filter(|_| is_complete)?;
            Some(Outcome {
                process: subject.process,
                samples,
                calls: calls_so_far.checked_sub(subject.calls_before)?,
                stands_for_ns,
            })
        };
        self.0.iter().filter_map(outcome).collect()
    }
}

/// Samples of a program's own work among these records; `None` when there are others, which say that some
/// were lost.
fn own_samples(mut records: &[u8]) -> Option<u64> {
    let mut samples = 0;
    while let Some((header, rest)) = records.split_first_chunk::<8>() {
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let word = |index: usize| {
            let bytes = rest.get(8 * index..)?.first_chunk()?;
            Some(u64::from_ne_bytes(*bytes))
        };
        if kind != sys::RECORD_SAMPLE {
            return None;
        }
        // The instruction, whether there are registers, and the one asked for.
        let (instruction, after_call) = (word(0)?, word(1).filter(|&abi| abi != 0).and(word(2)));
        samples += u64::from(after_call != Some(instruction));
        records = records.get(size.max(8)..)?;
    }
    Some(samples)
}

/// What all windows together gave. Each stands for the time since the one before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampled {
    samples: u64,
    /// Samples and writes, each times what its window stands for, and the sum of the squares of the former.
    weighted: f64,
    squares: f64,
    calls: f64,
}

/// A program's own time for each write, and by how much chance may have made it differ (a standard deviation).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OwnTime {
    pub(crate) per_call_ns: f64,
    pub(crate) error_ns: f64,
}

impl Sampled {
    /// Adds a window.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let (samples, weight) = (outcome.samples as f64, outcome.stands_for_ns as f64);
        self.samples += outcome.samples;
        self.weighted += samples * weight;
        self.squares += samples * weight * weight;
        self.calls += outcome.calls as f64 * weight;
    }

    /// The program's own time, when taking a sample takes so long; `None` when too few were seen.
    pub(crate) fn own(&self, sample_ns: f64) -> Option<OwnTime> {
        let per_sample_ns = (PERIOD_NS as f64 - sample_ns) / self.calls;
        (self.samples >= FEWEST_SAMPLES && self.calls > 0.0).then(|| OwnTime {
            per_call_ns: self.weighted * per_sample_ns,
            error_ns: self.squares.sqrt() * per_sample_ns,
        })
    }
}

/// How much of the time from one sample of a program's own work to the next is the sampling's: measured on this
/// thread. A timer that fires in the kernel takes as long: what costs is the interrupt, and setting the timer.
pub(crate) fn sample_ns() -> f64 {
    const TURNS: usize = 5;
    const STEPS: u64 = 1_000_000;
    let work = || {
        let began_ns = clock::now_ns();
        std::hint::black_box((0..STEPS).map(std::hint::black_box).sum::<u64>());
        clock::now_ns() - began_ns
    };
    let process = std::process::id() as i32;
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let Ok(io) = File::open("/proc/thread-self/io") else {
        return 0.0;
    };
    let (mut plain_ns, mut sampled) = (u64::MAX, (u64::MAX, 0));
    for _ in 0..TURNS {
        plain_ns = plain_ns.min(work());
        let mut window = Window::default();
        window.add(process, thread, &io);
        let took_ns = work();
        let samples: u64 = window.close(1).iter().map(|outcome| outcome.samples).sum();
        sampled = sampled.min((took_ns, samples));
    }
    let more_ns = sampled.0.saturating_sub(plain_ns) as f64;
    (more_ns / sampled.1.max(1) as f64).min(PERIOD_NS as f64 / 2.0)
}

/// When to open a window and when to close it.
#[derive(Default)]
pub(crate) struct Schedule {
    /// When the first window began.
    first_ns: Option<u64>,
    /// When the last one ended.
    closed_ns: Option<u64>,
    pub(crate) window: Option<Window>,
    pub(crate) due_ns: u64,
}

impl Schedule {
    /// Begins a window, if there is a thread to look at.
    pub(crate) fn open(&mut self, window: Window, now_ns: u64) {
        if window.is_empty() {
            self.due_ns = now_ns + PAUSE_NS;
        } else {
            self.first_ns.get_or_insert(now_ns);
            self.due_ns = now_ns + WINDOW_NS;
            self.window = Some(window);
        }
    }

    /// Ends the window that is open, if one is.
    pub(crate) fn close(&mut self, now_ns: u64) -> Vec<Outcome> {
        let since_ns = now_ns - self.first_ns.unwrap_or(now_ns);
        self.due_ns = now_ns + PAUSE_NS.max(since_ns / PAUSE_PART);
        let closed_ns = self.closed_ns.replace(now_ns);
        let stands_for_ns = closed_ns.map_or(PAUSE_NS + WINDOW_NS, |closed_ns| now_ns - closed_ns);
        let window = self.window.take();
        window.map_or_else(Vec::new, |window| window.close(stands_for_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(0_u16.to_ne_bytes());
        bytes.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_sample_at_the_return_of_a_system_call_is_not_the_programs_own() {
        let sample = |words: &[u64]| record(sys::RECORD_SAMPLE, words);
        let records = [
            sample(&[7, 2, 8]),
            sample(&[7, 2, 7]),
            sample(&[9, 0]),
            sample(&[7, 2, 9]),
        ];
        assert_eq!(own_samples(&records.concat()), Some(3));
        assert_eq!(own_samples(&[]), Some(0));
    }

    #[test]
    fn a_window_with_something_missing_says_nothing() {
        let lost = record(2, &[1, 5]);
        assert_eq!(own_samples(&lost), None);
    }

    #[test]
    fn few_samples_say_nothing() {
        let mut sampled = Sampled::default();
        sampled.add(&outcome(FEWEST_SAMPLES - 1, 1000, 1));
        assert_eq!(sampled.own(0.0), None);
        sampled.add(&outcome(FEWEST_SAMPLES + 1, 1000, 1));
        let own = |sample_ns| sampled.own(sample_ns).unwrap();
        let (at_best, half) = (own(0.0), own(PERIOD_NS as f64 / 2.0));
        assert_eq!(at_best.per_call_ns, 2.0 * half.per_call_ns);
        let samples = (2 * FEWEST_SAMPLES) as f64;
        assert_eq!(at_best.error_ns, at_best.per_call_ns / samples.sqrt());
    }

    #[test]
    fn a_window_stands_for_the_time_since_the_one_before() {
        let mut sampled = Sampled::default();
        sampled.add(&outcome(10, 100, 1));
        sampled.add(&outcome(30, 50, 9));
        sampled.add(&outcome(10, 0, 1));
        let own_ns = sampled.own(0.0).unwrap().per_call_ns;
        let per_call = (10.0 + 30.0 * 9.0 + 10.0) / (100.0 + 50.0 * 9.0);
        assert!(
            (own_ns / PERIOD_NS as f64 - per_call).abs() < 1e-9,
            "{own_ns}"
        );
    }

    fn outcome(samples: u64, calls: u64, stands_for_ns: u64) -> Outcome {
        Outcome {
            process: 1,
            samples,
            calls,
            stands_for_ns,
        }
    }

    #[test]
    fn a_thread_that_computes_is_seen_to() {
        let mut window = Window::default();
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        let io = File::open("/proc/thread-self/io").unwrap();
        window.add(std::process::id() as i32, thread, &io);
        if window.is_empty() {
            eprintln!("skipped: perf_event_open(2) is not allowed here");
            return;
        }
        let until = clock::thread_ns() + 2_000_000;
        while clock::thread_ns() < until {
            std::hint::black_box((0..1000).map(std::hint::black_box::<u32>).sum::<u32>());
        }
        let outcomes = window.close(1);
        assert!(!outcomes.is_empty());
        assert!(outcomes.iter().all(|outcome| outcome.samples > 0));
    }
}
