//! What a message costs its caller through `Background`, beside tracing-appender: processor time in a burst,
//! write calls, memory and the longest call while the reader stands still.
//!
//! ```text
//! cargo run --release -p outpace --example background-costs
//! ```
//!
//! Contestants are interleaved; the figures are medians of 15 rounds, of the calling thread's own processor
//! time.

use outpace::{Buffering, Overflow, Stream};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::io::{self, Write, pipe};
use std::os::unix::fs::FileExt;
use std::time::Instant;
use tracing_appender::non_blocking::NonBlockingBuilder;

const MESSAGE: &str = "seventeen bytes..\n";
const ROUNDS: usize = 15;

fn main() -> io::Result<()> {
    bursts()?;
    stalled()
}

/// Processor time of this thread so far, in nanoseconds.
fn thread_cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn null() -> io::Result<File> {
    File::options().write(true).open("/dev/null")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn bursts() -> io::Result<()> {
    const MESSAGES: u64 = 200_000;
    let stream = Stream::new(null()?, Buffering::background(16 << 20))?;
    let (mut appender, _guard) = NonBlockingBuilder::default()
        .lossy(false)
        .buffered_lines_limit(MESSAGES as usize)
        .finish(null()?);
    let each = |work: &mut dyn FnMut()| {
        let begun = thread_cpu_ns();
        work();
        (thread_cpu_ns() - begun) / MESSAGES as f64
    };
    let mut costs: [(&str, Vec<f64>); 4] = [
        ("guard.str", Vec::new()),
        ("write_all", Vec::new()),
        ("outpace::writeln!", Vec::new()),
        ("tracing-appender", Vec::new()),
    ];
    let before = stream.stats();
    for _ in 0..ROUNDS {
        costs[0].1.push(each(&mut || {
            let mut guard = stream.lock();
            for _ in 0..MESSAGES {
                guard.str(MESSAGE);
            }
        }));
        costs[1].1.push(each(&mut || {
            for _ in 0..MESSAGES {
                (&stream)
                    .write_all(MESSAGE.as_bytes())
                    .expect("it is the null device");
            }
        }));
        costs[2].1.push(each(&mut || {
            for number in 0..MESSAGES {
                outpace::writeln!(&stream, "message {:>9}", number).expect("it is the null device");
            }
        }));
        stream.flush()?;
        costs[3].1.push(each(&mut || {
            for _ in 0..MESSAGES {
                appender
                    .write_all(MESSAGE.as_bytes())
                    .expect("it reports no errors");
            }
        }));
    }
    let after = stream.stats();
    for (name, costs) in costs {
        outpace::println!(
            "{name:<20} {:>8.1} ns of the caller's processor time",
            median(costs)
        );
    }
    let messages = after.messages_accepted - before.messages_accepted;
    let writes = (after.write_calls - before.write_calls) as f64 * 1e3 / messages as f64;
    outpace::println!("write calls for 1,000 messages: {writes:.2}");
    Ok(())
}

/// Resident memory of this process, in bytes (proc(5)).
fn resident() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib << 10)
        .ok_or_else(|| io::Error::other("no VmRSS in /proc/self/status"))
}

/// A gigabyte to a reader that stands still.
fn stalled() -> io::Result<()> {
    const CAPACITY: usize = 16 << 20;
    let spill = Overflow::Spill {
        directory: std::env::temp_dir(),
        limit: 2 << 30,
    };
    let schedstat = File::open("/proc/thread-self/schedstat")?;
    let delay_ns = || -> io::Result<u64> {
        let mut text = [0; 64];
        let length = schedstat.read_at(&mut text, 0)?;
        let text = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let delay = text.split_whitespace().nth(1);
        delay
            .and_then(|delay| delay.parse().ok())
            .ok_or_else(|| io::Error::other("no delay in /proc/thread-self/schedstat"))
    };
    let line = format!("{}\n", "x".repeat(99));
    for overflow in [Overflow::DropNewest, Overflow::DropOldest, spill] {
        let name = format!("{overflow:?}");
        let name = name.split(' ').next().unwrap_or_default();
        let (reader, writer) = pipe()?;
        let before = resident()?;
        let buffering = Buffering::Background {
            capacity: CAPACITY,
            overflow,
        };
        let stream = Stream::new(writer, buffering)?;
        let (mut longest, mut longest_less_delay) = (0, 0);
        for _ in 0..10_000_000 {
            let delay_before = delay_ns()?;
            let begun = Instant::now();
            (&stream).write_all(line.as_bytes())?;
            let took = begun.elapsed().as_nanos() as u64;
            longest = longest.max(took);
            if took > longest_less_delay {
                let less = took.saturating_sub(delay_ns()? - delay_before);
                longest_less_delay = longest_less_delay.max(less);
            }
        }
        let grown = resident()?.saturating_sub(before) as f64 / f64::from(1 << 20);
        let stats = stream.stats();
        outpace::println!(
            "{name:<10} 1 GB, nobody reads: {grown:.1} MiB more memory for a queue of {} MiB; longest call {} µs, less \
             run-queue delay {} µs; {} messages dropped, {} bytes spilled",
            CAPACITY >> 20,
            longest / 1000,
            longest_less_delay / 1000,
            stats.messages_dropped,
            stats.bytes_spilled
        );
        drop(reader);
        // The reader has gone, which is no news.
        let _ = stream.close();
    }
    Ok(())
}
