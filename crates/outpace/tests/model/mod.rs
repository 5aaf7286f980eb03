//! Drives a stream with operations that a string of bytes chooses, beside a model of it that is a `Vec`.
//!
//! The model knows nothing of buffers, policies or threads: a message appears where its author ended it, and
//! what arrives at the other end is the messages in that order. `tests/queue.rs` draws the choices from fixed
//! seeds, and the fuzz target `stream` takes them from the fuzzer.

use outpace::{Buffering, GapMarker, Guard, Overflow, Stream};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longer than any of this takes, however busy the machine is.
const GENEROUS: Duration = Duration::from_secs(60);

/// How deep guards and messages in the making are put into each other.
const MAX_DEPTH: u32 = 4;

/// The next actions and their parameters: bytes, and zeros after the last one.
pub(crate) struct Choices<'a>(pub(crate) &'a [u8]);

impl Choices<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    fn below(&mut self, end: u32) -> u32 {
        let wide = u32::from(self.next()) << 8 | u32::from(self.next());
        wide % end
    }

    fn one_in(&mut self, n: u8) -> bool {
        self.next().is_multiple_of(n)
    }

    /// How long a text is: mostly short, sometimes around the sizes where something changes.
    fn length(&mut self) -> usize {
        match self.next() % 16 {
            0 => 0,
            1..=8 => self.below(20) as usize,
            9..=11 => 40 + self.below(60) as usize,
            12..=13 => self.below(1000) as usize,
            14 => 4000 + self.below(300) as usize,
            _ => 1 << self.below(18),
        }
    }

    fn buffering(&mut self) -> Buffering {
        let capacity = match self.next() % 8 {
            0 => Buffering::BY_DESTINATION,
            1 => 1,
            2 => 1 + self.below(70) as usize,
            3 => 63 + self.below(3) as usize,
            4 => 4095 + self.below(3) as usize,
            5 => 1 + self.below(10_000) as usize,
            6 => 65_535 + self.below(3) as usize,
            _ => 1 << self.below(21),
        };
        match self.next() % 8 {
            0 => Buffering::Unbuffered,
            1 => Buffering::Line,
            2 | 3 => Buffering::Block { capacity },
            4 | 5 => Buffering::Prompt {
                capacity,
                max_delay: Duration::from_micros(50 + u64::from(self.below(3000))),
            },
            _ => Buffering::Background {
                capacity: capacity.max(1),
                overflow: self.overflow(),
            },
        }
    }

    fn overflow(&mut self) -> Overflow {
        match self.next() % 8 {
            0..=3 => Overflow::Block,
            4 => Overflow::DropNewest,
            5 => Overflow::DropOldest,
            _ => Overflow::Spill {
                directory: temporary_directory(),
                limit: 1 << self.below(24),
            },
        }
    }
}

/// `OUTPACE_MODEL_TRACE=1` shows each operation, and the state before it.
fn traced() -> bool {
    static TRACED: OnceLock<bool> = OnceLock::new();
    *TRACED.get_or_init(|| std::env::var_os("OUTPACE_MODEL_TRACE").is_some())
}

/// The line that stands for dropped messages: not a text of [`Model::text`].
fn marker() -> GapMarker {
    GapMarker::with(|gap| format!("\x01{}\x02", gap.bytes))
}

/// Whether it drops messages when the queue is full.
fn drops(buffering: &Buffering) -> bool {
    matches!(
        buffering,
        Buffering::Background {
            overflow: Overflow::DropNewest | Overflow::DropOldest,
            ..
        }
    )
}

/// The stream's destination, and how the model sees the bytes that have arrived.
enum Destination {
    /// A pipe or socket, with a reader.
    Read(JoinHandle<Vec<u8>>),
    File(File),
}

/// The expected results.
struct Model<'c, 'b> {
    choices: &'c mut Choices<'b>,
    stream: Rc<Stream<OwnedFd>>,
    destination: Destination,
    log: Log,
    /// Bytes that a failure took away.
    lost: u64,
    messages: u64,
    /// The policy in force, and the one that is at the next message of the outermost guard.
    in_force: Buffering,
    chosen: Option<Buffering>,
    /// Tells the reader to go away.
    reader_gone: Arc<AtomicBool>,
}

/// Runs the operations that `choices` choose, and compares. Panics at a difference.
pub(crate) fn run(choices: &mut Choices<'_>) {
    let reader_gone = Arc::new(AtomicBool::new(false));
    let (fd, destination) = open(choices, &reader_gone);
    let in_force = choices.buffering();
    let mut model = Model {
        stream: Rc::new(Stream::new(fd, in_force.clone()).unwrap()),
        choices,
        destination,
        log: Log {
            bytes: Vec::new(),
            ends: Vec::new(),
            dropping: drops(&in_force),
        },
        lost: 0,
        messages: 0,
        in_force,
        chosen: None,
        reader_gone,
    };
    model.stream.gap_marker(marker());
    while !model.choices.0.is_empty() {
        model.step(0);
    }
    model.end();
}

/// A destination: a pipe, small or not, that may have been made non-blocking; a socket; a file.
fn open(choices: &mut Choices<'_>, gone: &Arc<AtomicBool>) -> (OwnedFd, Destination) {
    let kind = choices.next();
    let pause = choices.next();
    let gone = Arc::clone(gone);
    if kind & 3 == 0 {
        let (read, write) = UnixStream::pair().unwrap();
        write.set_nonblocking(kind & 4 != 0).unwrap();
        let reader = thread::spawn(move || read_slowly(read, pause, &gone));
        return (write.into(), Destination::Read(reader));
    }
    if kind & 3 == 1 {
        let file = unnamed_file();
        return (file.try_clone().unwrap().into(), Destination::File(file));
    }
    let (read, write) = io::pipe().unwrap();
    let write = OwnedFd::from(write);
    #[allow(unsafe_code)]
    // SAFETY: changes a descriptor of ours.
    unsafe {
        if kind & 8 != 0 {
            libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, 4096);
        }
        if kind & 16 != 0 {
            libc::fcntl(write.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK);
        }
    }
    let reader = thread::spawn(move || read_slowly(read, pause, &gone));
    (write, Destination::Read(reader))
}

/// As a test, that of cargo's; as a fuzz target, which has none, the system's.
fn temporary_directory() -> PathBuf {
    option_env!("CARGO_TARGET_TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from)
}

fn unnamed_file() -> File {
    use std::sync::atomic::AtomicU32;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("outpace-model-{}-{number}", std::process::id());
    let path = temporary_directory().join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

/// Reads in pieces of all sizes, with a pause now and then, until the end or until told to go.
fn read_slowly(mut from: impl Read, pause: u8, gone: &AtomicBool) -> Vec<u8> {
    let mut all = Vec::new();
    let mut piece = vec![0; 1 << 16];
    for round in 0_usize.. {
        if gone.load(Ordering::Relaxed) {
            break;
        }
        let size = 1 << (round * 7 % 17);
        let n = from.read(&mut piece[..size]).unwrap();
        if n == 0 {
            break;
        }
        all.extend_from_slice(&piece[..n]);
        if round % 8 == usize::from(pause) % 64 {
            thread::sleep(Duration::from_micros(u64::from(pause) * 4));
        }
    }
    all
}

impl Model<'_, '_> {
    /// One operation, inside `depth` guards.
    fn step(&mut self, depth: u32) {
        let operation = self.choices.next() % 32;
        if traced() {
            let (stats, length) = (self.stream.stats(), self.log.bytes.len());
            let (now, next) = (&self.in_force, &self.chosen);
            println!("{depth} {operation}: {length} {stats:?} {now:?} {next:?}");
        }
        match operation {
            0..=9 => {
                self.message(depth);
                self.check();
            }
            10..=15 if depth < MAX_DEPTH => self.with_guard(depth),
            16..=19 => {
                let buffering = self.choices.buffering();
                self.log.dropping |= drops(&buffering);
                self.stream.set_buffering(buffering.clone());
                self.chosen = Some(buffering);
                if depth == 0 {
                    self.settled();
                }
                self.check();
            }
            20 => self.stream.set_default_buffering(self.choices.buffering()),
            21 => self.stream.redetect(),
            22..=23 => self.flush(),
            24 => self.stream.clear_error(),
            25 => thread::yield_now(),
            26 => thread::sleep(Duration::from_micros(u64::from(self.choices.next()) * 16)),
            27..=28 => self.wait_for_delivery(),
            29 => self.fail(),
            30 if self.choices.one_in(20) => self.reader_gone.store(true, Ordering::Relaxed),
            _ => self.check_counts(),
        }
    }

    fn settled(&mut self) {
        if let Some(buffering) = self.chosen.take() {
            self.in_force = buffering;
        }
    }

    /// Whether every byte still has to arrive.
    fn intact(&self) -> bool {
        !self.reader_gone.load(Ordering::Relaxed)
    }

    /// Text that says where in the stream it belongs, with newlines here and there but not first.
    fn text(&mut self) -> Vec<u8> {
        let mut length = self.choices.length();
        if let Buffering::Background { capacity: ..64, .. } = self.in_force {
            // A queue so small takes a change of threads for every few bytes.
            length = length.min(500);
        }
        let newlines = [3, 17, 64, usize::MAX][usize::from(self.choices.next() % 4)];
        let from = self.log.bytes.len() + usize::from(self.choices.next());
        (from..from + length)
            .map(|at| match at {
                _ if at > from && at % newlines == newlines - 1 => b'\n',
                _ => b'!' + (at % 89) as u8,
            })
            .collect()
    }

    /// It is the end of a message of `bytes`, by the outermost guard or one inside it.
    fn ended(&mut self, bytes: &[u8]) {
        self.log.bytes.extend_from_slice(bytes);
        self.log.ends.push(self.log.bytes.len());
        self.messages += 1;
    }

    /// A message through the handle.
    fn message(&mut self, depth: u32) {
        let text = self.text();
        let mut stream = &*self.stream;
        let result = match self.choices.next() % 4 {
            0 => stream.write_all(&text),
            1 => stream.write(&text).map(|n| assert_eq!(n, text.len())),
            2 => {
                let (a, b) = text.split_at(text.len() / 3);
                let parts = [a, &[], b].map(IoSlice::new);
                let result = stream.write_vectored(&parts);
                result.map(|n| assert_eq!(n, text.len()))
            }
            _ => write!(stream, "{}", str::from_utf8(&text).unwrap()),
        };
        self.ended(&text);
        if self.intact() {
            result.unwrap();
        }
        if depth == 0 && !text.is_empty() {
            self.settled();
        }
    }

    /// Some messages by a guard, with anything else between and within them.
    fn with_guard(&mut self, depth: u32) {
        let stream = Rc::clone(&self.stream);
        let mut guard = stream.lock();
        for _ in 0..self.choices.next() % 8 {
            if self.choices.one_in(4) {
                self.step(depth + 1);
                continue;
            }
            let length = match self.choices.next() % 3 {
                0 => self.plain(&mut guard),
                1 => self.typed(&mut guard, depth),
                _ => self.reserved(&mut guard, depth),
            };
            if depth == 0 && length > 0 {
                self.settled();
            }
            self.check();
        }
    }

    /// Returns the length of the message.
    fn plain(&mut self, guard: &mut Guard<'_>) -> usize {
        let text = self.text();
        let result = if self.choices.one_in(2) {
            guard.write_all(&text)
        } else {
            write!(guard, "{}", str::from_utf8(&text).unwrap())
        };
        self.ended(&text);
        if self.intact() {
            result.unwrap();
        }
        text.len()
    }

    /// Returns the length of the message.
    fn typed(&mut self, guard: &mut Guard<'_>, depth: u32) -> usize {
        let mut text = self.text();
        let mut message = guard.bytes(&text);
        for _ in 0..self.choices.next() % 6 {
            match self.choices.next() % 6 {
                0 => {
                    let more = self.text();
                    message.str(str::from_utf8(&more).unwrap());
                    text.extend(more);
                }
                1 => {
                    let number = i64::from(self.choices.next()).pow(7) - 1_000_000;
                    message.int(number);
                    text.extend(number.to_string().bytes());
                }
                2 => {
                    let c = ['x', 'é', '€', '𝄞', '\n'][usize::from(self.choices.next() % 5)];
                    let c = if text.is_empty() { 'x' } else { c };
                    message.char(c);
                    text.extend(c.encode_utf8(&mut [0; 4]).bytes());
                }
                3 => {
                    message.reserve(self.choices.length());
                }
                4 => {
                    let spare = message.reserve(10).spare_mut();
                    assert!(spare.len() >= 10);
                    let n = spare.len().min(self.choices.length());
                    for byte in &mut spare[..n] {
                        byte.write(b'~');
                    }
                    // SAFETY: written just now.
                    #[allow(unsafe_code)]
                    unsafe {
                        message.advance(n);
                    }
                    text.extend(std::iter::repeat_n(b'~', n));
                }
                _ => self.step(depth + 1),
            }
            assert_eq!(message.len(), text.len());
        }
        drop(message);
        self.ended(&text);
        text.len()
    }

    /// Returns the length of the message, if it became one.
    fn reserved(&mut self, guard: &mut Guard<'_>, depth: u32) -> usize {
        let mut message = guard.reserve(self.choices.length());
        let mut text = self.text();
        message.bytes(&text);
        if self.choices.one_in(4) {
            self.step(depth + 1);
        }
        let more = self.text();
        message.bytes(&more);
        text.extend(more);
        if self.choices.one_in(2) {
            message.commit();
            self.ended(&text);
            text.len()
        } else {
            drop(message);
            0
        }
    }

    /// Checks pending bytes against the policy in force, where time does not decide.
    fn check(&self) {
        // A switch comes into force with an empty message, too, if that has to ask.
        if !self.intact() || self.chosen.is_some() {
            return;
        }
        // Dropped messages are not written.
        let stats = self.stream.stats();
        let written = stats.bytes_written + stats.bytes_dropped - self.lost;
        assert!(written <= self.log.bytes.len() as u64);
        match self.in_force {
            Buffering::Unbuffered => assert_eq!(written, self.log.bytes.len() as u64),
            Buffering::Line => {
                let lines = self.log.bytes.iter().rposition(|&byte| byte == b'\n');
                assert!(written >= lines.map_or(0, |newline| newline as u64 + 1));
            }
            _ => {}
        }
    }

    fn check_counts(&self) {
        if self.intact() {
            let stats = self.stream.stats();
            assert_eq!(
                stats.bytes_accepted - self.lost,
                self.log.bytes.len() as u64
            );
            assert_eq!(stats.messages_accepted, self.messages);
            let known = stats.bytes_written + stats.bytes_queued + stats.bytes_dropped;
            assert_eq!(known, stats.bytes_accepted);
        }
    }

    fn flush(&mut self) {
        let result = self.stream.flush();
        if !self.intact() {
            return;
        }
        result.unwrap();
        assert_eq!(self.stream.stats().bytes_queued, 0);
        if let Destination::File(file) = &self.destination {
            self.log.compare(&contents(file), true);
        }
    }

    /// Helpers deliver what is pending without being called again.
    fn wait_for_delivery(&self) {
        let helped = matches!(
            self.in_force,
            Buffering::Prompt { .. } | Buffering::Background { .. }
        );
        // A switch may have come into force already, with an empty message.
        let promised = helped && self.chosen.is_none();
        let begun = Instant::now();
        while promised && self.intact() && self.stream.stats().bytes_queued > 0 {
            assert!(
                begun.elapsed() < GENEROUS,
                "{} left it behind",
                self.in_force
            );
            thread::sleep(Duration::from_micros(20));
        }
    }

    /// The disk is full for a while: what arrived is a prefix, and after `clear_error` all is well again.
    fn fail(&mut self) {
        let Destination::File(file) = &self.destination else {
            return;
        };
        if self.log.dropping {
            return;
        }
        let file = file.try_clone().unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        self.redirect(&full);
        let mut failed = false;
        for _ in 0..1 + self.choices.next() % 4 {
            let text = self.text();
            let result = (&*self.stream).write_all(&text);
            self.log.bytes.extend(&text);
            assert!(
                !failed || result.is_err() || text.is_empty(),
                "a failed stream took a message"
            );
            failed |= result.is_err();
        }
        failed |= self.stream.flush().is_err();
        let arrived = contents(&file);
        assert!(self.log.bytes.starts_with(&arrived), "not a prefix");
        assert!(
            failed || arrived == self.log.bytes,
            "a failure was not told"
        );
        self.redirect(&file);
        self.stream.clear_error();
        self.stream.flush().unwrap();
        assert!(contents(&file) == arrived, "what was given up appeared");
        // From here on as if only that much had ever been written.
        let stats = self.stream.stats();
        assert_eq!(stats.bytes_queued, 0);
        self.lost = stats.bytes_accepted - arrived.len() as u64;
        self.messages = stats.messages_accepted;
        // A message of which only a part arrived ends there: a gap may follow.
        self.log.ends.retain(|&end| end < arrived.len());
        self.log.ends.push(arrived.len());
        self.log.bytes = arrived;
    }

    /// Makes the stream's descriptor refer to another file.
    fn redirect(&self, to: &File) {
        // SAFETY: replaces what a descriptor of ours refers to.
        #[allow(unsafe_code)]
        let fd = unsafe { libc::dup2(to.as_raw_fd(), self.stream.get_ref().as_raw_fd()) };
        assert!(fd >= 0);
    }

    /// Closes the stream, and compares.
    fn end(self) {
        let intact = self.intact();
        let stream = Rc::into_inner(self.stream).expect("no guard is left");
        match stream.close() {
            Ok(fd) => drop(fd),
            Err(error) => assert!(!intact, "{error}"),
        }
        let arrived = match self.destination {
            Destination::Read(reader) => reader.join().unwrap(),
            Destination::File(file) => contents(&file),
        };
        self.log.compare(&arrived, intact);
    }
}

/// All the messages so far, but those that a failure took away.
struct Log {
    bytes: Vec<u8>,
    /// The end of each of them.
    ends: Vec<usize>,
    /// Some may have been dropped.
    dropping: bool,
}

impl Log {
    /// Checks that the messages arrived whole and in order, with markers where some were dropped.
    fn compare(&self, arrived: &[u8], all: bool) {
        if !self.dropping {
            assert!(self.bytes.starts_with(arrived), "something else arrived");
            assert!(
                !all || arrived.len() == self.bytes.len(),
                "the end is missing"
            );
            return;
        }
        let (mut at, mut rest) = (0, arrived);
        while let Some((&first, more)) = rest.split_first() {
            let between = at == 0 || self.ends.binary_search(&at).is_ok();
            // A marker is on a line of its own: it may begin with a newline, which no message does.
            let line = rest.strip_prefix(b"\n").unwrap_or(rest);
            if between && line.is_empty() {
                assert!(!all, "half a marker");
                return;
            }
            if between && let Some(marker) = line.strip_prefix(b"\x01") {
                let Some(end) = marker.windows(2).position(|end| end == b"\x02\n") else {
                    assert!(!all, "half a marker");
                    return;
                };
                let bytes = str::from_utf8(&marker[..end]).unwrap();
                at += bytes.parse::<usize>().unwrap();
                let whole = self.ends.binary_search(&at).is_ok();
                assert!(whole, "not whole messages were dropped");
                rest = &marker[end + 2..];
            } else {
                assert_eq!(self.bytes.get(at), Some(&first), "something else arrived");
                (at, rest) = (at + 1, more);
            }
        }
        assert!(!all || at == self.bytes.len(), "the end is missing");
    }
}

fn contents(file: &File) -> Vec<u8> {
    let mut contents = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut contents, 0).unwrap();
    contents
}
