//! `log`: how long each log call holds its caller up.
//!
//! Calls come in groups of 20. In the pause between groups a logger's own thread has time to write. Each call is clocked, less
//! the time of reading the clock. A rung's time is the median of its calls.

use std::hint::black_box;
use std::io::{self, Write};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use outpace::{Buffering, Overflow};
use tracing_appender::non_blocking::NonBlockingBuilder;

use super::sources;
use crate::bench::experiment::calls::note_quantiles;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::results::rows::Row;
use crate::bench::toolchain::{Source, SourceLanguage};
use crate::platform::clock::now_ns;
use crate::platform::histogram::Histogram;
use crate::user::quantity::{duration, times};

macro_rules! work {
    (Here $how:ident $case:ident) => {
        |span| $how(span, Variant::$case)
    };
    (Source $how:ident $case:ident) => {
        &$how
    };
}

/// Four rungs for each way to log.
macro_rules! log_rungs {
    ($($origin:ident $name:literal, $about:literal, $kind:ident $how:ident;)*) => {
        rungs! { $(
            $origin $name: $kind(work!($kind $how Hot)), $about .told(&[("CASE", "hot")]);
            $origin {concat!($name, "-cold")}: $kind(work!($kind $how Cold)), {concat!($about, ", after 4 MiB of other memory")}
                .told(&[("CASE", "cold")]).against("println-cold").takes_long();
            $origin {concat!($name, "-time")}: $kind(work!($kind $how Time)), {concat!($about, ", with the time of day")}
                .told(&[("CASE", "time")]).writes(timed).against("println-time").takes_long();
            $origin {concat!($name, "-threads")}: $kind(work!($kind $how Threads)), {concat!($about, ", in 4 threads")}
                .told(&[("CASE", "threads")]).threads(4).against("println-threads").takes_long();
        )* }
    };
}

pub(crate) const LOG: Experiment = Experiment {
    name: "log",
    question: "How long does a log call hold its caller up?",
    published: "Ours. A call is clocked by itself, less what reading the clock takes: the median, and what one in a thousand \
                takes. quill copies the values and has its thread format them; the others format in the call.",
    sources: &[sources::QUILL],
    published_to: &[],
    unit: "call",
    message: plain,
    messages: 20_000,
    to: &["pipe"],
    baseline: "println",
    method: Method::Work,
    rungs: log_rungs! {
        added "println", "std::println!", Here println;
        added "tracing-appender", "tracing-appender's non-blocking writer, which waits when it is full", Here appender;
        added "quill", "quill, the C++ logger", Source QUILL;
        outpace "outpace", "outpace::println! with Prompt", Here prompt;
        outpace "outpace-background", "outpace::println! with Background", Here background;
    },
    conclusion,
};

sources! {
    "log";
    QUILL: Cpp, "quill.cpp";
}

/// The circumstances of the calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    Hot,
    /// The first call of each group is clocked, after other memory has taken the caches.
    Cold,
    /// Lines begin with the time of day.
    Time,
    Threads,
}

fn plain(index: u64, into: &mut Vec<u8>) {
    let text = format!(
        "request {index} of 127.0.0.1: answered 200 in {} us\n",
        index * 7 % 1_000
    );
    into.extend_from_slice(text.as_bytes());
}

/// Zero bytes stand for digits.
fn timed(index: u64, into: &mut Vec<u8>) {
    into.extend_from_slice(b"\0\0:\0\0:\0\0.\0\0\0\0\0\0 ");
    plain(index, into);
}

/// The time of day in UTC, with which a line begins.
struct Clock {
    hours: u64,
    minutes: u64,
    seconds: u64,
    micros: u32,
}

impl Clock {
    fn now() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let seconds = since.as_secs();
        Self {
            hours: seconds / 3_600 % 24,
            minutes: seconds / 60 % 60,
            seconds: seconds % 60,
            micros: since.subsec_micros(),
        }
    }
}

/// One line by a macro with the arguments of std's `println!`, in each case.
macro_rules! print_line {
    ($case:expr, $index:expr, $print:ident!($($into:tt)*)) => {
        if $case == Variant::Time {
            let Clock { hours, minutes, seconds, micros } = Clock::now();
            $print!(
                $($into)*
                "{hours:02}:{minutes:02}:{seconds:02}.{micros:06} request {} of {}: answered {} in {} us",
                $index, black_box("127.0.0.1"), black_box(200), $index * 7 % 1_000
            )
        } else {
            $print!(
                $($into)*
                "request {} of {}: answered {} in {} us",
                $index, black_box("127.0.0.1"), black_box(200), $index * 7 % 1_000
            )
        }
    };
}

fn println(span: &mut Span, case: Variant) -> io::Result<()> {
    log(span, case, || {
        move |index| print_line!(case, index, println!())
    });
    io::stdout().flush()
}

/// As tracing-subscriber uses it: a record is formatted into a reused buffer, and written in one call.
fn appender(span: &mut Span, case: Variant) -> io::Result<()> {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(false)
        .finish(io::stdout());
    log(span, case, || {
        let (mut writer, mut record) = (writer.clone(), Vec::new());
        move |index| {
            record.clear();
            let written = print_line!(case, index, writeln!(record,))
                .and_then(|()| writer.write_all(&record));
            written.expect("it reports no errors");
        }
    });
    drop((writer, guard));
    Ok(())
}

fn prompt(span: &mut Span, case: Variant) -> io::Result<()> {
    by_outpace(span, case, Buffering::prompt())
}

fn background(span: &mut Span, case: Variant) -> io::Result<()> {
    let buffering = Buffering::Background {
        capacity: 16 << 20,
        overflow: Overflow::Block,
    };
    by_outpace(span, case, buffering)
}

fn by_outpace(span: &mut Span, case: Variant, buffering: Buffering) -> io::Result<()> {
    use outpace::println;
    outpace::stdout().set_buffering(buffering);
    log(span, case, || {
        move |index| print_line!(case, index, println!())
    });
    outpace::stdout().flush()
}

/// The calls of a group.
const GROUP: u64 = 20;
const PAUSE: Duration = Duration::from_micros(50);
const MORE_THAN_L2: usize = 4 << 20;

type Times = Histogram<6>;

/// Logs all lines and clocks each call. `logger` makes a logger for each thread.
fn log<L: FnMut(u64)>(span: &mut Span, case: Variant, logger: impl Fn() -> L + Sync) {
    let (messages, floor) = (span.messages, clock_takes());
    let work = |thread: u64, threads: u64| {
        let (mut log, mut times) = (logger(), Times::default());
        let mut memory = vec![
            0_u8;
            if case == Variant::Cold {
                MORE_THAN_L2
            } else {
                0
            }
        ];
        for (count, index) in (thread..messages).step_by(threads as usize).enumerate() {
            let is_first = (count as u64).is_multiple_of(GROUP);
            match case {
                Variant::Cold if is_first => touch(&mut memory),
                _ if is_first => sleep(PAUSE),
                _ => {}
            }
            let begun = now_ns();
            log(index);
            let took = now_ns().saturating_sub(begun);
            if is_first || case != Variant::Cold {
                times.add(took.saturating_sub(floor));
            }
        }
        times
    };
    let mut times = Times::default();
    if case == Variant::Threads {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| scope.spawn(move || work(thread, 4)))
                .collect();
            for thread in threads {
                times.merge(&thread.join().expect("a logger does not panic"));
            }
        });
    } else {
        times = work(0, 1);
    }
    span.done_calling();
    note_quantiles(span, &times);
}

/// The median time between two readings of the clock.
fn clock_takes() -> u64 {
    let mut times = Times::default();
    for _ in 0..1_001 {
        let begun = now_ns();
        times.add(now_ns().saturating_sub(begun));
    }
    times.quantile(0.5)
}

/// Brings each line of the memory into the caches, where it displaces other memory.
fn touch(memory: &mut [u8]) {
    for byte in memory.iter_mut().step_by(64) {
        *byte = black_box(byte.wrapping_add(1));
    }
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let cases = [
        ("", ""),
        ("-cold", " with cold caches"),
        ("-time", " with the time of day"),
        ("-threads", " in 4 threads"),
    ];
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        for (ending, what) in cases {
            let name = |way: &str| format!("{way}{ending}");
            let (ours, plain, rival) = (name("outpace-background"), name("println"), name("quill"));
            let Some(row) = figures.row(&ours, to) else {
                continue;
            };
            let Some(time) = row.wall_per_message() else {
                continue;
            };
            let ours = row.rung.clone();
            let mut said = format!(
                "To {to}{what} a log call by Background is done in {}",
                duration(time)
            );
            let late = |row: &Row| {
                let late = row.calls()?.p99_9?;
                Some(format!("one in a thousand after {}", duration(late as f64)))
            };
            if let Some(late) = late(row) {
                said += &format!(", {late}");
            }
            let compared = [&plain, &rival].map(|other| Some((other, figures.row(other, to)?)));
            let mut open = Vec::new();
            for (other, against) in compared.into_iter().flatten() {
                let compared = Compared::of(row, against);
                said += &match compared {
                    Compared::Less(ratio) => format!("; {} of {other}", times(ratio)),
                    Compared::More(ratio) => {
                        format!("; {other} is not beaten: {} of it", times(ratio))
                    }
                    Compared::Same => format!("; as {other}"),
                    Compared::Open(_) => String::new(),
                };
                if let Some(late) = late(against).filter(|_| !matches!(compared, Compared::Open(_)))
                {
                    said += &format!(" ({late})");
                }
                open.extend(compared.unsettled(&ours, other, to));
            }
            sentences.push(said + ".");
            sentences.extend(open);
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_a_time_is_as_long_as_one_that_is_printed() {
        let mut expected = Vec::new();
        timed(3, &mut expected);
        let mut line = Vec::new();
        print_line!(Variant::Time, 3_u64, writeln!(line,)).unwrap();
        assert_eq!(line.len(), expected.len());
        let same = |(expected, found): (&u8, &u8)| {
            expected == found || *expected == 0 && found.is_ascii_digit()
        };
        assert!(
            expected.iter().zip(&line).all(same),
            "{:?}",
            String::from_utf8_lossy(&line)
        );
    }
}
