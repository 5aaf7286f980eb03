//! The costs of a message for its caller under `Background`, beside tracing-appender: processor time in a burst, write
//! calls, memory and the longest call while a terminal is stalled.
//!
//! ```text
//! cargo run --release -p outpace --example background-costs [-- SECONDS [TERMINAL]]
//! ```
//!
//! Bursts: contestants are interleaved, each is first in turn, and the figures are medians of 16 rounds of the
//! calling thread's own processor time.
//!
//! Stalls: a pseudo-terminal that is not read (or the device TERMINAL, which must be stalled, as by Ctrl-S; the exit
//! then waits until it continues or is closed), and a line of 100 bytes every 10 µs for SECONDS (60); then a gigabyte
//! at full speed. Each call is clocked. Calls that may be the longest are also clocked less their *own* run-queue
//! delay: the time in which this thread was ready to run and had no processor, by the second number of
//! `/proc/thread-self/schedstat`, read before and after the call. The row `nothing` is the same loop with a call that
//! only spins for 100 ns. The kernel also counts how often the caller slept, for a lock or for room.
//!
//! A virtual machine's host takes processors away unnoticed: then a thread is away for milliseconds that the kernel
//! counts as its own. So the same thread, in the same run, is also clocked between the calls, where it only reads the
//! clock: `away` is the longest time between two readings, less run-queue delay. The host interrupts calls and readings
//! alike, so calls have a share of these moments in proportion to their time.

use outpace::{Buffering, Overflow, Stream};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tracing_appender::non_blocking::NonBlockingBuilder;

const MESSAGE: &str = "seventeen bytes..\n";

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(60), |text| {
        let wrong = |_| io::Error::other(format!("{text:?} is not a number of seconds"));
        text.parse::<u64>().map_err(wrong)
    })?;
    let terminal = arguments.next().map(PathBuf::from);
    bursts()?;
    stalls(Duration::from_secs(seconds), terminal.as_deref())
}

/// Processor time of this thread so far, in nanoseconds.
fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn null() -> io::Result<File> {
    File::options().write(true).open("/dev/null")
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn bursts() -> io::Result<()> {
    const MESSAGES: u64 = 200_000;
    const ROUNDS: usize = 16;
    const NAMES: [&str; 4] = [
        "guard.str",
        "write_all",
        "outpace::writeln!",
        "tracing-appender",
    ];
    let stream = Stream::new(null()?, Buffering::background(16 << 20))?;
    let (mut appender, _guard) = NonBlockingBuilder::default()
        .lossy(false)
        .buffered_lines_limit(MESSAGES as usize)
        .finish(null()?);
    let mut burst = |contestant: usize| match NAMES[contestant] {
        "guard.str" => {
            let mut guard = stream.lock();
            for _ in 0..MESSAGES {
                guard.str(MESSAGE);
            }
        }
        "write_all" => {
            for _ in 0..MESSAGES {
                let written = (&stream).write_all(MESSAGE.as_bytes());
                written.expect("it is the null device");
            }
        }
        "outpace::writeln!" => {
            for number in 100_000_000..100_000_000 + MESSAGES {
                let written = outpace::writeln!(&stream, "message {number}");
                written.expect("it is the null device");
            }
        }
        _ => {
            for _ in 0..MESSAGES {
                let written = appender.write_all(MESSAGE.as_bytes());
                written.expect("it reports no errors");
            }
        }
    };
    let mut costs = [const { Vec::new() }; NAMES.len()];
    let before = stream.stats();
    for round in 0..ROUNDS {
        for turn in 0..NAMES.len() {
            let contestant = (round + turn) % NAMES.len();
            let begun = thread_cpu_ns();
            burst(contestant);
            costs[contestant].push((thread_cpu_ns() - begun) / MESSAGES as f64);
        }
        stream.flush()?;
    }
    let after = stream.stats();
    let appender = median(&costs[NAMES.len() - 1]);
    for (name, costs) in NAMES.iter().zip(&costs) {
        let cost = median(costs);
        outpace::println!(
            "{name:<20} {cost:>6.1} ns of the caller's processor time, {:.3} of tracing-appender's",
            cost / appender
        );
    }
    let messages = after.messages_accepted - before.messages_accepted;
    let writes = (after.write_calls - before.write_calls) as f64 * 1e3 / messages as f64;
    outpace::println!("write calls for 1,000 messages: {writes:.2}");
    Ok(())
}

/// A number about the calling thread (proc(5)).
fn status(name: &str) -> io::Result<u64> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let number = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| io::Error::other(format!("no {name} in /proc/thread-self/status")))
}

/// Resident memory of this process, in bytes.
fn resident() -> io::Result<u64> {
    Ok(status("VmRSS")? << 10)
}

/// How often this thread has slept.
fn sleeps() -> io::Result<u64> {
    status("voluntary_ctxt_switches")
}

/// The longest of this thread's calls, and the longest less its run-queue delay, which need not be the same.
struct Longest {
    schedstat: File,
    raw: Duration,
    sleeps_before: u64,
    calls: Moments,
    /// Between two readings of the clock, without a call.
    pauses: Moments,
}

/// Stretches of time, all and those that are too long for a call, less run-queue delay.
#[derive(Default)]
struct Moments {
    together: Duration,
    longest: Duration,
    /// Those of [`LONG`] or more.
    long: u32,
}

/// A call should not last as long as this.
const LONG: Duration = Duration::from_millis(1);

impl Moments {
    /// Whether it may be the longest, or a long one: only then a system call reads its delay.
    fn may_matter(&self, took: Duration) -> bool {
        took > self.longest || took >= LONG
    }

    fn add(&mut self, took: Duration, less: Duration) {
        self.together += took;
        self.longest = self.longest.max(less);
        self.long += u32::from(less >= LONG);
    }
}

impl Longest {
    fn new() -> io::Result<Self> {
        Ok(Longest {
            schedstat: File::open("/proc/thread-self/schedstat")?,
            raw: Duration::ZERO,
            sleeps_before: sleeps()?,
            calls: Moments::default(),
            pauses: Moments::default(),
        })
    }

    /// How long this thread has waited for a processor so far.
    fn delay(&self) -> io::Result<Duration> {
        let mut text = [0; 64];
        let length = self.schedstat.read_at(&mut text, 0)?;
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let delay = text.split_whitespace().nth(1);
        delay
            .and_then(|delay| delay.parse().ok())
            .map(Duration::from_nanos)
            .ok_or_else(|| io::Error::other("no delay in /proc/thread-self/schedstat"))
    }

    fn clock(&mut self, call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let delay = self.delay()?;
        let begun = Instant::now();
        call()?;
        let took = begun.elapsed();
        self.raw = self.raw.max(took);
        let less = match self.calls.may_matter(took) {
            true => took.saturating_sub(self.delay()? - delay),
            false => took,
        };
        self.calls.add(took, less);
        Ok(())
    }

    /// Reads the clock until `due`.
    fn wait(&mut self, begun: Instant, due: Duration) -> io::Result<()> {
        let mut last = begun.elapsed();
        if last >= due {
            return Ok(());
        }
        let delay = self.delay()?;
        last = begun.elapsed();
        while last < due {
            let now = begun.elapsed();
            let away = now - last;
            let less = match self.pauses.may_matter(away) {
                true => away.saturating_sub(self.delay()? - delay),
                false => away,
            };
            self.pauses.add(away, less);
            last = now;
        }
        Ok(())
    }
}

/// A pseudo-terminal, and its other end, which is not read.
fn terminal() -> io::Result<(File, File)> {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&screen)?;
    unlockpt(&screen)?;
    let name = ptsname(&screen, Vec::new())?;
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    Ok((open_terminal(path)?, screen.into()))
}

/// Opened without becoming our controlling terminal.
fn open_terminal(path: &Path) -> io::Result<File> {
    let flags = OpenptFlags::NOCTTY.bits().cast_signed();
    File::options()
        .read(true)
        .write(true)
        .custom_flags(flags)
        .open(path)
}

fn stalls(time: Duration, device: Option<&Path>) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_micros(10);
    /// As long as a call mostly takes.
    const CALL: Duration = Duration::from_nanos(100);
    const GIGABYTE: u32 = 10_000_000;
    let line = format!("{}\n", "x".repeat(99));
    let mut longest = Longest::new()?;
    paced(time, PAUSE, &mut longest, || {
        let begun = Instant::now();
        while begun.elapsed() < CALL {
            std::hint::spin_loop();
        }
        Ok(())
    })?;
    row("nothing", "a line every 10 µs", &longest, "")?;

    let spill = Overflow::Spill {
        directory: std::env::temp_dir(),
        limit: 64 << 30,
    };
    for overflow in [Overflow::DropNewest, Overflow::DropOldest, spill] {
        let name = format!("{overflow:?}");
        let name = name.split(' ').next().unwrap_or_default();
        for fast in [false, true] {
            let (file, screen) = match device {
                Some(path) => (open_terminal(path)?, None),
                None => terminal().map(|(file, screen)| (file, Some(screen)))?,
            };
            let before = resident()?;
            let capacity = 16 << 20;
            let stream = Stream::new(
                file,
                Buffering::Background {
                    capacity,
                    overflow: overflow.clone(),
                },
            )?;
            let mut longest = Longest::new()?;
            let log = || (&stream).write_all(line.as_bytes());
            if fast {
                for _ in 0..GIGABYTE {
                    longest.clock(log)?;
                }
            } else {
                paced(time, PAUSE, &mut longest, log)?;
            }
            let grown = resident()?.saturating_sub(before) as f64 / f64::from(1 << 20);
            let stats = stream.stats();
            let rest = format!(
                "; {grown:.1} MiB more memory for a queue of {} MiB; {} messages dropped, {} bytes spilled",
                capacity >> 20,
                stats.messages_dropped,
                stats.bytes_spilled
            );
            let load = if fast {
                "1 GB at once"
            } else {
                "a line every 10 µs"
            };
            row(name, load, &longest, &rest)?;
            outpace::stdout().flush()?;
            match screen {
                Some(screen) => {
                    drop(screen);
                    // A closed terminal is expected.
                    let _ = stream.close();
                }
                // The exit waits until the terminal continues or is closed.
                None => std::mem::forget(stream),
            }
        }
    }
    Ok(())
}

/// Calls every `pause` for `time`.
fn paced(
    time: Duration,
    pause: Duration,
    longest: &mut Longest,
    mut call: impl FnMut() -> io::Result<()>,
) -> io::Result<()> {
    let begun = Instant::now();
    let mut due = Duration::ZERO;
    while due < time {
        longest.wait(begun, due)?;
        longest.clock(&mut call)?;
        due = begun.elapsed() + pause;
    }
    Ok(())
}

fn row(name: &str, load: &str, longest: &Longest, rest: &str) -> io::Result<()> {
    let Longest { calls, pauses, .. } = longest;
    let slept = sleeps()? - longest.sleeps_before;
    outpace::println!(
        "{name:<10} stalled terminal, {load:<18}: longest call {:>6} µs, less run-queue delay {:>4} µs, slept {slept} times; \
         {} of 1 ms in {:.1} s of calls{rest}",
        longest.raw.as_micros(),
        calls.longest.as_micros(),
        calls.long,
        calls.together.as_secs_f64(),
    );
    if !pauses.together.is_zero() {
        outpace::println!(
            "{:<10} between calls away for {} µs, {} times 1 ms in {:.1} s",
            "",
            pauses.longest.as_micros(),
            pauses.long,
            pauses.together.as_secs_f64(),
        );
    }
    Ok(())
}
