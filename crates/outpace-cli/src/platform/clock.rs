//! The monotonic clock as a number, comparable with the kernel's time stamps.

use super::procfs::{Processor, read_again};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Display;
use std::fs::File;

/// Processor time of the calling thread, in nanoseconds.
pub(crate) fn thread_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Processor time of this process, in nanoseconds.
pub(crate) fn process_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub(crate) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// How long a thread, or the first one of a process, has been ready to run without a processor, from the second
/// field of `/proc/…/schedstat` (proc(5)). `None` where the kernel does not keep it.
pub(crate) fn delay_ns(thread: impl Display) -> Option<u64> {
    let file = File::open(format!("/proc/{thread}/schedstat")).ok()?;
    schedule(&file).map(|schedule| schedule.delayed_ns)
}

fn schedule(file: &File) -> Option<Processor> {
    Processor::default().scheduled(&read_again(file).ok()?)
}

/// The same, of a `schedstat` that has been read.
pub(crate) fn delay_in(stat: &str) -> Option<u64> {
    let schedule = Processor::default().scheduled(stat)?;
    Some(schedule.delayed_ns)
}

/// The growth of a thread's [delay](delay_ns) and of its time on a processor since this was made.
pub(crate) struct Delay {
    file: Option<File>,
    before: Processor,
    last: Processor,
}

impl Delay {
    pub(crate) fn of(thread: i32) -> Self {
        let file = File::open(format!("/proc/{thread}/schedstat")).ok();
        let before = file.as_ref().and_then(schedule).unwrap_or_default();
        Self {
            file,
            before,
            last: before,
        }
    }

    /// Looks at both again, if the thread is still there. Returns the growth of the delay up to the last look.
    pub(crate) fn look(&mut self) -> u64 {
        self.last = self.file.as_ref().and_then(schedule).unwrap_or(self.last);
        self.ns()
    }

    /// The growth of the delay up to the last look. 0 if another thread, which has waited for less, has become the process
    /// since (exec(2)).
    pub(crate) fn ns(&self) -> u64 {
        self.last.since(self.before).delayed_ns
    }

    /// The time up to the last look in which the thread was not asleep.
    pub(crate) fn awake_ns(&self) -> u64 {
        self.last.since(self.before).total_ns + self.ns()
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A time of day where this process is, as `Nov 22 05:46:13`; from seconds since 1970.
#[allow(unsafe_code)]
pub(crate) fn local_time(seconds: u64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    // SAFETY: both structures are valid for the call; zeroes are valid for the second, should it fail.
    let time = unsafe {
        let mut time = std::mem::zeroed();
        libc::localtime_r(&(seconds as libc::time_t), &raw mut time);
        time
    };
    let month = MONTHS[time.tm_mon.clamp(0, 11) as usize];
    let (hour, minute, second) = (time.tm_hour, time.tm_min, time.tm_sec);
    format!(
        "{month} {:02} {hour:02}:{minute:02}:{second:02}",
        time.tm_mday
    )
}

/// The processor time of the children that have been waited for.
#[allow(unsafe_code)]
pub(crate) fn children() -> Processor {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage(2) writes one `rusage` to the pointer, which is valid for that. Zeroes are a value of its integers:
    // it is initialised even if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let nanoseconds = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
    };
    Processor::of(nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime))
}
