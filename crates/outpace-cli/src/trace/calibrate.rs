//! What writing costs on this machine: a few milliseconds of writes to a destination of the same
//! kind, with a reader that never makes the writer wait longer than it must.

use super::target::Kind;
use crate::platform::clock::Delay;
use crate::platform::pty;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What a write costs its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// A call of the size asked about.
    pub(crate) call_ns: f64,
    /// The same when the reader has gone to sleep in between, as it does while the writer works on what to write.
    pub(crate) waking_call_ns: f64,
    /// A byte, when many are written at a time.
    pub(crate) byte_ns: f64,
}

/// What the kernel did for a program besides writing cannot be told from the writing, but by its amount. Where a reader
/// that was woken takes the processor from the writer, a write may cost several times what it costs at best.
const MOST_EXPECTED: f64 = 6.0;

impl Costs {
    /// More than this is not believed of a call.
    pub(crate) fn at_worst_ns(&self) -> f64 {
        (self.call_ns * MOST_EXPECTED).max(self.waking_call_ns * 2.0)
    }
}

/// Time for each of the two measurements, and how often they are taken in turn.
///
/// They are short and many: how a terminal, its writer and its reader share the processors changes every few
/// milliseconds, and with it the time of a byte by a factor of three.
const STRETCH: Duration = Duration::from_micros(2500);
const TURNS: usize = 24;
/// Of the slowest and the fastest turns, so many are left out each.
const EXTREME: usize = 3;
/// Work between two writes in which a reader goes to sleep, and how often it is woken then.
const REST: Duration = Duration::from_micros(15);
const WAKINGS: usize = 100;
/// A quarter of a pipe: of larger writes, one after the other, most of the time is waiting, which a program that makes
/// its text in between need not do.
const LARGE_IN_PIPE: usize = 16 << 10;
/// What a reader reads at a time.
const READ: usize = 64 << 10;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// Bytes in a small write.
    pub(crate) size: usize,
    /// Bytes in a line: a terminal does more for a newline than for another byte.
    pub(crate) line: usize,
    /// Bytes in a large write.
    pub(crate) large: usize,
}

impl Shape {
    /// How many lines so many calls and bytes are; of larger writes, how many of these.
    pub(crate) fn messages(self, calls: u64, bytes: u64) -> u64 {
        (bytes / self.line.max(1) as u64).min(calls)
    }
}

/// Measures small and large writes to a destination of this kind; a file beside `path`.
pub(crate) fn costs(kind: Kind, path: &Path, shape: Shape) -> io::Result<Costs> {
    let large = if kind == Kind::Pipe {
        shape.large.min(LARGE_IN_PIPE)
    } else {
        shape.large
    };
    let shape = Shape {
        size: shape.size.clamp(1, large),
        line: shape.line.clamp(1, large),
        large,
    };
    match kind {
        Kind::Null | Kind::Device | Kind::Other | Kind::Unknown => measure(
            OpenOptions::new().write(true).open("/dev/null")?,
            shape,
            None,
        ),
        Kind::File => measure(unnamed_file(path)?, shape, Some(MOST_IN_FILE)),
        Kind::Pipe => {
            let (reader, writer) = io::pipe()?;
            with_reader(reader, writer, shape)
        }
        Kind::Socket => {
            let (reader, writer) = UnixStream::pair()?;
            with_reader(reader, writer, shape)
        }
        Kind::Terminal => {
            let (terminal, program) = pty::open()?;
            with_reader(File::from(terminal), File::from(program), shape)
        }
    }
}

/// What the way into the kernel and back costs: a call that does next to nothing.
pub(crate) fn entry_ns() -> f64 {
    const CALLS: u32 = 4000;
    const TURNS: usize = 5;
    let turns = (0..TURNS).map(|_| {
        let began = Instant::now();
        for _ in 0..CALLS {
            std::hint::black_box(rustix::process::getppid());
        }
        began.elapsed().as_nanos() as f64 / f64::from(CALLS)
    });
    turns.fold(f64::INFINITY, f64::min)
}

/// How much of a file system's memory a measurement may fill.
const MOST_IN_FILE: usize = 16 << 20;

/// A file without a name in the directory of `path`, or where temporary files go.
fn unnamed_file(path: &Path) -> io::Result<File> {
    let unnamed = |directory: &Path| {
        OpenOptions::new()
            .write(true)
            .custom_flags(libc::O_TMPFILE)
            .mode(0o600)
            .open(directory)
    };
    let beside = path
        .parent()
        .filter(|parent| parent.is_absolute())
        .map(unnamed);
    beside
        .unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
        .or_else(|_| unnamed(&std::env::temp_dir()))
}

fn with_reader(
    mut reader: impl Read + Send + 'static,
    writer: impl Write,
    shape: Shape,
) -> io::Result<Costs> {
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; READ];
        // The terminal side of a closed pseudoterminal ends with an error, a pipe with 0.
        while reader.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
    let costs = measure(writer, shape, None);
    reading
        .join()
        .map_err(|_| io::Error::other("the reader failed"))?;
    costs
}

fn measure(mut writer: impl Write, shape: Shape, most: Option<usize>) -> io::Result<Costs> {
    let mut line = vec![b'x'; shape.line];
    line[shape.line - 1] = b'\n';
    let block: Vec<u8> = line.iter().copied().cycle().take(shape.large).collect();
    // As it ends when it is the last of its line.
    let mut small = vec![b'x'; shape.size];
    small[shape.size - 1] = b'\n';
    let (mut call_ns, mut block_ns) = ([0.0; TURNS], [0.0; TURNS]);
    let most = most.map_or(usize::MAX, |most| most / (2 * TURNS));
    for (call_ns, block_ns) in call_ns.iter_mut().zip(&mut block_ns) {
        *call_ns = time_of(&mut writer, &small, most)?;
        *block_ns = time_of(&mut writer, &block, most)?;
    }
    let mut waking_ns = [0.0; WAKINGS];
    for waking_ns in &mut waking_ns {
        let rested = Instant::now();
        while rested.elapsed() < REST {}
        let began = Instant::now();
        writer.write_all(&small)?;
        *waking_ns = began.elapsed().as_nanos() as f64;
    }
    Ok(Costs {
        call_ns: usual(call_ns),
        waking_call_ns: median(waking_ns),
        byte_ns: usual(block_ns) / shape.large as f64,
    })
}

/// What something takes in the long run, of several times that were measured: not the best, for a terminal and its
/// writer are rarely at their best together.
fn usual(mut turns: [f64; TURNS]) -> f64 {
    turns.sort_by(f64::total_cmp);
    let kept = &turns[EXTREME..TURNS - EXTREME];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn median<const N: usize>(mut times: [f64; N]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[N / 2]
}

/// How much slower than the machine on which [the costs of printing](super::language::Printing) were measured this
/// one is at a program's own work: writing numbers as text.
pub(crate) fn slowness() -> f64 {
    static SLOWNESS: OnceLock<f64> = OnceLock::new();
    *SLOWNESS.get_or_init(measured_slowness)
}

fn measured_slowness() -> f64 {
    const NUMBERS: u32 = 4000;
    const NUMBER_NS: f64 = 12.0;
    const ROUNDS: usize = 25;
    let mut rounds = [0.0; ROUNDS];
    for round in &mut rounds {
        let mut text = Vec::with_capacity(16 * NUMBERS as usize);
        let began = Instant::now();
        for number in 0..NUMBERS {
            // Writing to memory cannot fail.
            let _ = writeln!(text, "{}", std::hint::black_box(number));
        }
        std::hint::black_box(text);
        *round = began.elapsed().as_nanos() as f64 / f64::from(NUMBERS);
    }
    median(rounds) / NUMBER_NS
}

/// The mean time of one write of these bytes, with a processor whenever it is wanted.
fn time_of(writer: &mut impl Write, bytes: &[u8], most: usize) -> io::Result<f64> {
    let (mut delay, began) = (Delay::of("thread-self"), Instant::now());
    let mut writes = 0_u32;
    while began.elapsed() < STRETCH
        && (writes as usize + 8) * bytes.len() <= most.max(8 * bytes.len())
    {
        for _ in 0..8 {
            writer.write_all(bytes)?;
        }
        writes += 8;
    }
    let elapsed_ns = began.elapsed().as_nanos() as f64;
    Ok((elapsed_ns - delay.look() as f64).max(0.0) / f64::from(writes.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_into_the_kernel_has_a_cost() {
        let entry_ns = entry_ns();
        assert!(entry_ns.is_finite() && entry_ns > 0.0, "{entry_ns}");
    }

    #[test]
    fn a_machine_has_a_speed() {
        let slowness = slowness();
        assert!(slowness.is_finite() && slowness > 0.0, "{slowness}");
    }

    #[test]
    fn every_kind_of_destination_has_a_cost() {
        for kind in [
            Kind::Null,
            Kind::File,
            Kind::Pipe,
            Kind::Socket,
            Kind::Terminal,
        ] {
            let shape = Shape {
                size: 7,
                line: 12,
                large: 8192,
            };
            let costs = costs(kind, Path::new("/nowhere/file"), shape).unwrap();
            assert!(
                costs.call_ns.is_finite() && costs.call_ns > 0.0,
                "{kind:?}: {costs:?}"
            );
            assert!(
                costs.byte_ns.is_finite() && costs.byte_ns > 0.0,
                "{kind:?}: {costs:?}"
            );
        }
    }
}
