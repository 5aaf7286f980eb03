//! The choice of a buffering, its form as text, and default capacities.

use crate::sys::Destination;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// When a stream's bytes go to the kernel, and on whose thread.
///
/// Capacities are bytes; [`BY_DESTINATION`](Buffering::BY_DESTINATION) (0) follows the destination.
/// The default of standard output is `Prompt` (with a delay of 4 ms on a terminal, pipe or socket, and of 100 ms in a regular
/// file, so that `tail -f` shows it), `Block` on the null device, and `Line` where each write is a message or a command: datagram
/// sockets, devices, files of `/proc` and `/sys`. That of standard error is `Unbuffered`.
///
/// As text, in `OUTPACE_STDOUT` and `OUTPACE_STDERR` and for [`str::parse`]: `unbuffered`, `line`,
/// `block[:64KiB]`, `prompt[:4ms]`, `background[:16MiB]`.
///
/// ```
/// use outpace::Buffering;
/// use std::time::Duration;
///
/// assert_eq!("line".parse(), Ok(Buffering::Line));
/// assert_eq!("block:8KiB".parse(), Ok(Buffering::Block { capacity: 8192 }));
/// let Ok(Buffering::Prompt { max_delay, .. }) = "prompt:20ms".parse() else { panic!() };
/// assert_eq!(max_delay, Duration::from_millis(20));
/// assert!("sometimes".parse::<Buffering>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Buffering {
    /// One system call a message, by its caller, however many fragments the message has.
    Unbuffered,
    /// The caller drains at the last newline of each message; bytes behind it wait.
    Line,
    /// The caller drains when the buffer is full, up to the last newline there. The only policy with writes to a pipe
    /// of more than `PIPE_BUF` bytes, which are torn where the pipe has no room: see [Several processes, one
    /// output](crate#several-processes-one-output).
    Block {
        /// Bytes buffered at most.
        capacity: usize,
    },
    /// As fast as a block and as timely as a line: the caller drains when the buffer is full, and a helper thread
    /// drains within `max_delay` of the oldest byte, newline or not, whatever the program is doing. The caller writes a
    /// message after a pause at once, except for an unfinished line on a pipe or in a file, which has `max_delay` to be
    /// finished.
    Prompt {
        /// Bytes buffered at most.
        capacity: usize,
        /// How long a byte may wait before it is offered to the kernel.
        max_delay: Duration,
    },
    /// A helper thread does all the writing; the caller makes no system call but to wake it. It gathers
    /// messages for 4 ms, or until a quarter of the queue is full (at most 4 MiB), and keeps as much memory for
    /// the next ones.
    Background {
        /// Bytes queued at most.
        capacity: usize,
        /// The treatment of a message while the queue is full.
        overflow: Overflow,
    },
}

/// How [`Buffering::Background`] treats a message while the queue is full.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overflow {
    /// The caller waits until there is room. No output is lost.
    #[default]
    Block,
    /// The message is dropped.
    DropNewest,
    /// The oldest queued messages are dropped to make room for it.
    DropOldest,
    /// Bytes that do not fit into memory go to a file without a name, and from there to the destination.
    /// No output is lost: at the limit, or when the file cannot take more, the caller waits.
    Spill {
        /// The file's directory.
        directory: PathBuf,
        /// Bytes in the file at most.
        limit: u64,
    },
}

impl Buffering {
    /// As a capacity: as large as is best for the destination.
    pub const BY_DESTINATION: usize = 0;

    /// How long a byte waits at most under [`prompt`](Buffering::prompt).
    pub const DEFAULT_MAX_DELAY: Duration = Duration::from_millis(4);

    /// The queue of `background` where no size is given: 16 MiB.
    pub const DEFAULT_BACKGROUND_CAPACITY: usize = 16 << 20;

    /// `Block`, as large as is best for the destination.
    pub const fn block() -> Self {
        Buffering::Block {
            capacity: Self::BY_DESTINATION,
        }
    }

    /// `Prompt` with the default delay of 4 ms, as large as is best for the destination.
    pub const fn prompt() -> Self {
        Buffering::Prompt {
            capacity: Self::BY_DESTINATION,
            max_delay: Self::DEFAULT_MAX_DELAY,
        }
    }

    /// `Background` with a queue of `capacity` bytes that loses no output: a full queue blocks.
    pub const fn background(capacity: usize) -> Self {
        Buffering::Background {
            capacity,
            overflow: Overflow::Block,
        }
    }

    /// The default of standard output.
    pub(crate) fn for_destination(destination: Destination) -> &'static Self {
        static PROMPT: Buffering = Buffering::prompt();
        // A file is looked at by people, and by scripts that wait for a line. A million `println!` at once take 12.6 ms of processor
        // time so, 12.1 in blocks (`outpace rung lines/outpace --messages 1000000 >file`, and with `OUTPACE_STDOUT=block`).
        static PATIENT: Buffering = Buffering::Prompt {
            capacity: Buffering::BY_DESTINATION,
            max_delay: Duration::from_millis(100),
        };
        static BLOCK: Buffering = Buffering::block();
        static LINE: Buffering = Buffering::Line;
        match destination {
            Destination::Terminal | Destination::Pipe(_) | Destination::Socket => &PROMPT,
            Destination::File => &PATIENT,
            Destination::Null => &BLOCK,
            Destination::Messages => &LINE,
        }
    }

    /// As [`str::parse`], without an error.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let (name, value) = match text.bytes().position(|byte| byte == b':') {
            Some(colon) => (&text[..colon], Some(&text[colon + 1..])),
            None => (text, None),
        };
        let capacity = |default| value.map_or(Some(default), parse_capacity);
        Some(match name {
            "unbuffered" if value.is_none() => Buffering::Unbuffered,
            "line" if value.is_none() => Buffering::Line,
            "block" => Buffering::Block {
                capacity: capacity(Self::BY_DESTINATION)?,
            },
            "prompt" => Buffering::Prompt {
                capacity: Self::BY_DESTINATION,
                max_delay: value.map_or(Some(Self::DEFAULT_MAX_DELAY), parse_duration)?,
            },
            "background" => Buffering::background(capacity(Self::DEFAULT_BACKGROUND_CAPACITY)?),
            _ => return None,
        })
    }

    /// Parses a value of `_STDBUF_O` or `_STDBUF_E`, which `stdbuf` sets: `L`, `0` or a number of bytes.
    pub(crate) fn from_stdbuf(text: &str) -> Option<Self> {
        match text {
            "L" => Some(Buffering::Line),
            "0" => Some(Buffering::Unbuffered),
            _ => match parse_number(text) {
                (capacity, "") => Some(Buffering::Block {
                    capacity: as_capacity(capacity)?,
                }),
                _ => None,
            },
        }
    }
}

/// The capacity of a buffer that the caller or the helper drains.
///
/// Into a pipe, half of the pipe's capacity: a chunk as large as the pipe makes writer and reader take turns, which
/// takes twice as long. Into a file, 256 KiB: writes end where lines do, so the page at each end is written in two
/// parts, and the kernel's large pages do not fit; at 64 KiB that is a quarter of the cost. Elsewhere 64 KiB: the fixed
/// cost of a system call is small then, and the buffer still fits the second-level cache.
pub(crate) fn capacity_for(destination: Destination) -> usize {
    match destination {
        Destination::Pipe(Some(capacity)) => (capacity / 2).clamp(4 << 10, 64 << 10),
        Destination::Pipe(None) => 16 << 10,
        Destination::File => 256 << 10,
        _ => 64 << 10,
    }
}

/// A buffer's offsets are kept in 32 bits, with room to spare for an encoder's reservation.
pub(crate) const MAX_CAPACITY: usize = 1 << 30;

fn as_capacity(bytes: u64) -> Option<usize> {
    (1..=MAX_CAPACITY as u64)
        .contains(&bytes)
        .then_some(bytes as usize)
}

/// A text that is not a [`Buffering`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseBufferingError {
    text: String,
}

/// The forms that [`Buffering`] accepts as text, for messages.
pub(crate) const FORMS: &str =
    "unbuffered, line, block[:64KiB], prompt[:4ms] or background[:16MiB]";

impl fmt::Display for ParseBufferingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a buffering; use {FORMS}", self.text)
    }
}

impl std::error::Error for ParseBufferingError {}

impl FromStr for Buffering {
    type Err = ParseBufferingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Buffering::from_text(text).ok_or_else(|| ParseBufferingError { text: text.into() })
    }
}

impl fmt::Display for Buffering {
    /// A text that parses to the same policy, as far as a text can express it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sized = |f: &mut fmt::Formatter<'_>, name: &str, capacity: usize| match capacity {
            Self::BY_DESTINATION => f.write_str(name),
            _ if capacity.is_multiple_of(1 << 20) => write!(f, "{name}:{}MiB", capacity >> 20),
            _ if capacity.is_multiple_of(1 << 10) => write!(f, "{name}:{}KiB", capacity >> 10),
            _ => write!(f, "{name}:{capacity}"),
        };
        match self {
            Buffering::Unbuffered => f.write_str("unbuffered"),
            Buffering::Line => f.write_str("line"),
            Buffering::Block { capacity } => sized(f, "block", *capacity),
            Buffering::Prompt { max_delay, .. } if *max_delay == Self::DEFAULT_MAX_DELAY => {
                f.write_str("prompt")
            }
            Buffering::Prompt { max_delay, .. } => write!(f, "prompt:{max_delay:?}"),
            Buffering::Background { capacity, .. } => sized(f, "background", *capacity),
        }
    }
}

/// The decimal number that a text begins with, and the rest of the text. Saturates: callers refuse the largest number.
/// Without digits it is 0, which callers refuse, too.
#[inline(never)]
fn parse_number(text: &str) -> (u64, &str) {
    let mut number: u64 = 0;
    let mut digits = 0;
    while let Some(digit) = text
        .as_bytes()
        .get(digits)
        .map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        number = number.saturating_mul(10).saturating_add(digit.into());
        digits += 1;
    }
    (number, &text[digits..])
}

/// `64`, `64B`, `64K`, `64kB`, `64KiB`, `16M`, `16MB`, `16MiB`, `1G`, `1GiB`: bytes. As in `stdbuf`, a
/// bare letter is binary.
#[inline(never)]
fn parse_capacity(text: &str) -> Option<usize> {
    let (number, unit) = parse_number(text);
    let unit = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    as_capacity(number.saturating_mul(unit))
}

/// `4ms`, `500us`, `500µs`, `1s`, `0.5s`; at least 1 µs and at most an hour. In whole nanoseconds, because
/// floating-point parsing would be most of a small program.
#[inline(never)]
fn parse_duration(text: &str) -> Option<Duration> {
    let (whole, rest) = parse_number(text);
    let ((fraction, unit), decimals) = match rest.strip_prefix('.') {
        Some(rest) => {
            let (fraction, unit) = parse_number(rest);
            ((fraction, unit), rest.len() - unit.len())
        }
        None => ((0, rest), 0),
    };
    let unit: u64 = match unit {
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    // Nine decimals of a second are nanoseconds.
    let decimals = u32::try_from(decimals).ok().filter(|&places| places <= 9)?;
    let nanos = whole
        .saturating_mul(unit)
        .saturating_add(fraction * unit / 10_u64.pow(decimals));
    (1_000..=3600 * 1_000_000_000)
        .contains(&nanos)
        .then_some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_parses() {
        let parse = |text: &str| text.parse::<Buffering>();
        assert_eq!(parse("unbuffered"), Ok(Buffering::Unbuffered));
        assert_eq!(parse("line"), Ok(Buffering::Line));
        assert_eq!(parse("block"), Ok(Buffering::block()));
        assert_eq!(
            parse("block:64KiB"),
            Ok(Buffering::Block { capacity: 65536 })
        );
        assert_eq!(parse("block:1000"), Ok(Buffering::Block { capacity: 1000 }));
        assert_eq!(parse("prompt"), Ok(Buffering::prompt()));
        assert_eq!(
            parse("prompt:0.5ms"),
            Ok(Buffering::Prompt {
                capacity: 0,
                max_delay: Duration::from_micros(500)
            })
        );
        assert_eq!(parse("background"), Ok(Buffering::background(16 << 20)));
        assert_eq!(
            parse("background:1MB"),
            Ok(Buffering::background(1_000_000))
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in [
            "",
            "Line",
            "line:4",
            "unbuffered:0",
            "block:",
            "block:0",
            "block:x",
            "block:64 KiB",
            "block:2GiB",
            "block:-1",
            "block:99999999999999999999G",
            "prompt:",
            "prompt:4",
            "prompt:0ms",
            "prompt:-1ms",
            "prompt:2h",
            "prompt:1e9s",
            "prompt:0.0.5s",
            "prompt:0.0000000001s",
            "block:18446744073709551616",
            "prompt:99999999999999999999s",
            "background:0",
            " line",
        ] {
            let error = text.parse::<Buffering>().expect_err(text);
            assert!(error.to_string().contains("prompt[:4ms]"), "{error}");
        }
    }

    #[test]
    fn text_parses_back() {
        for buffering in [
            Buffering::Unbuffered,
            Buffering::Line,
            Buffering::block(),
            Buffering::Block { capacity: 12345 },
            Buffering::Block { capacity: 8192 },
            Buffering::prompt(),
            Buffering::Prompt {
                capacity: 0,
                max_delay: Duration::from_micros(1500),
            },
            Buffering::background(3 << 20),
        ] {
            assert_eq!(buffering.to_string().parse(), Ok(buffering));
        }
    }

    #[test]
    fn stdbuf_writes_modes_its_own_way() {
        assert_eq!(Buffering::from_stdbuf("L"), Some(Buffering::Line));
        assert_eq!(Buffering::from_stdbuf("0"), Some(Buffering::Unbuffered));
        assert_eq!(
            Buffering::from_stdbuf("4096"),
            Some(Buffering::Block { capacity: 4096 })
        );
        assert_eq!(Buffering::from_stdbuf(""), None);
        assert!(Buffering::from_stdbuf("line").is_none());
    }

    #[test]
    fn a_chunk_is_smaller_than_the_pipe() {
        assert_eq!(capacity_for(Destination::Pipe(Some(65536))), 32768);
        assert_eq!(capacity_for(Destination::Pipe(Some(1 << 20))), 65536);
        assert_eq!(capacity_for(Destination::Pipe(Some(4096))), 4096);
        assert_eq!(capacity_for(Destination::Terminal), 65536);
    }
}
