//! Short stretches in which threads are sampled closely: is the program itself at work, or the kernel for it?
//!
//! A timer of each thread's own asks where it is, by the kernel's `cpu-clock` event (perf_event_open(2)), which every
//! user may have of his own programs where `kernel.perf_event_paranoid` is 2 or less. Samples in the kernel
//! are not delivered. On the way out of the kernel interrupts are blocked, so that a timer that falls there
//! fires at the first instruction after the system call; this is told by the register in which that call leaves
//! its return address.

use super::exact::sys;
use super::procfs::IoCounters;
use crate::process::clock;
use std::fs::File;
use std::os::fd::OwnedFd;

/// While a window is open, a thread takes up to twice as long: a sample costs 10 µs on a virtual machine, and whenever
/// the thread comes to a processor or leaves it, the timer is set. So a few short windows with many samples are best.
///
/// How long a window is, and how long it is from one to the next, of the first few and of the later ones.
const WINDOW_NS: u64 = 3_000_000;
const PAUSE_AT_FIRST_NS: u64 = 12_000_000;
const PAUSE_NS: u64 = 200_000_000;
const AT_FIRST: u64 = 3;
/// Time from one sample to the next.
const PERIOD_NS: u64 = 50_000;
/// Threads sampled in one window.
const MOST_THREADS: usize = 8;
/// A window in which the threads hardly had a processor does not count among the first.
const FRUITFUL: u64 = 4;
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
        if let Ok(ring) = sys::Ring::map(&event, RING)
            && let Ok(io) = io.try_clone()
            && sys::enable(&event).is_ok()
            && let Ok(counters) = IoCounters::read(&io)
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

    /// Ends the sampling. What did not fit into its ring is left out as a whole.
    pub(crate) fn close(self) -> Vec<Outcome> {
        // First what was seen of each: to let go of an event takes a while, in which the threads go on.
        let outcome = |subject: &Subject| {
            let mut records = Vec::new();
            let now = IoCounters::read(&subject.io).ok()?;
            subject.ring.take(&mut records);
            let samples = own_samples(&records).filter(|_| records.len() < RING - 64)?;
            let calls = now.write_calls.checked_sub(subject.calls_before)?;
            Some(Outcome {
                process: subject.process,
                samples,
                calls,
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

/// What all windows together gave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampled {
    samples: u64,
    calls: u64,
}

impl Sampled {
    pub(crate) fn add(&mut self, samples: u64, calls: u64) {
        self.samples += samples;
        self.calls += calls;
    }

    /// The program's own time for each write, when taking a sample takes so long; `None` when too few were seen.
    pub(crate) fn own_ns_per_call(&self, sample_ns: f64) -> Option<f64> {
        let own_ns = PERIOD_NS as f64 - sample_ns;
        (self.samples >= FEWEST_SAMPLES && self.calls > 0)
            .then(|| self.samples as f64 * own_ns / self.calls as f64)
    }
}

/// How much of the time from one sample of a program's own work to the next is the sampling's: measured on this
/// thread. A timer that fires in the kernel takes less, as nothing is recorded.
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
        let samples: u64 = window.close().iter().map(|outcome| outcome.samples).sum();
        sampled = sampled.min((took_ns, samples));
    }
    let more_ns = sampled.0.saturating_sub(plain_ns) as f64;
    (more_ns / sampled.1.max(1) as f64).min(PERIOD_NS as f64 / 2.0)
}

/// When to open a window and when to close it.
#[derive(Default)]
pub(crate) struct Schedule {
    /// Windows that had something to show.
    fruitful: u64,
    pub(crate) window: Option<Window>,
    pub(crate) due_ns: u64,
}

impl Schedule {
    /// Begins a window, if there is a thread to look at.
    pub(crate) fn open(&mut self, window: Window, now_ns: u64) {
        if window.is_empty() {
            self.due_ns = now_ns + self.pause_ns();
        } else {
            self.due_ns = now_ns + WINDOW_NS;
            self.window = Some(window);
        }
    }

    /// Ends the window that is open, if one is.
    pub(crate) fn close(&mut self, now_ns: u64) -> Vec<Outcome> {
        let outcomes = self.window.take().map_or_else(Vec::new, Window::close);
        let samples: u64 = outcomes.iter().map(|outcome| outcome.samples).sum();
        self.fruitful += u64::from(samples >= FRUITFUL);
        self.due_ns = now_ns + self.pause_ns();
        outcomes
    }

    fn pause_ns(&self) -> u64 {
        if self.fruitful < AT_FIRST {
            PAUSE_AT_FIRST_NS
        } else {
            PAUSE_NS
        }
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
        sampled.add(FEWEST_SAMPLES - 1, 1000);
        assert_eq!(sampled.own_ns_per_call(0.0), None);
        sampled.add(FEWEST_SAMPLES + 1, 1000);
        let per_call = |sample_ns| sampled.own_ns_per_call(sample_ns).unwrap();
        assert_eq!(per_call(0.0), 2.0 * per_call(PERIOD_NS as f64 / 2.0));
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
        let outcomes = window.close();
        assert!(outcomes.iter().all(|outcome| outcome.samples > 0));
    }
}
