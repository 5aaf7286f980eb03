//! Eight threads, a policy that changes all the time and a reader that stalls: every message arrives exactly
//! once, whole, and after the ones before it.
//!
//! Two seconds of it in `cargo test`. For longer:
//!
//! ```sh
//! OUTPACE_STRESS_SECONDS=300 cargo test -p outpace --release --test stress -- --nocapture
//! ```

#![cfg(all(unix, not(outpace_portable), not(loom)))]

#[path = "streams/support/random.rs"]
mod random;

use outpace::{Buffering, Stream};
use random::Random;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const ROUND: Duration = Duration::from_millis(500);

/// Longer than any of this takes, however busy the machine is.
const GENEROUS: Duration = Duration::from_secs(60);

/// What the reader has seen of each thread.
static SEEN: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];

struct Author<'a> {
    stream: &'a Stream<OwnedFd>,
    number: usize,
    random: Random,
    sent: u64,
}

/// A pipe's end that stalls now and then, for up to 30 ms.
struct Stalling<R>(R, Random);

impl<R: Read> Read for Stalling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.below(300) == 0 {
            thread::sleep(Duration::from_millis(self.1.below(30) as u64));
        }
        let length = 1 + self.1.below(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}

fn buffering(random: &mut Random, promptly: bool) -> Buffering {
    let capacity = match random.below(4) {
        0 => Buffering::BY_DESTINATION,
        1 => 1 + random.below(100),
        2 => 1 + random.below(10_000),
        _ => 1 << random.below(18),
    };
    let max_delay = Duration::from_micros(100 + random.below(5000) as u64);
    match random.below(if promptly { 4 } else { 8 }) {
        0..=1 => Buffering::Prompt {
            capacity,
            max_delay,
        },
        2..=3 => Buffering::background(capacity.max(100)),
        4 => Buffering::Unbuffered,
        5 => Buffering::Line,
        _ => Buffering::Block { capacity },
    }
}

/// Whose it is, which of theirs, how many of the same guard follow at once, and filling that shows a tear.
fn text(number: usize, sequence: u64, follow: usize, random: &mut Random) -> String {
    let length = match random.below(20) {
        0 => random.below(20_000),
        1..=3 => random.below(300),
        _ => random.below(30),
    };
    let filling = (b'a' + (sequence % 26) as u8) as char;
    let filling = String::from_iter(std::iter::repeat_n(filling, length));
    format!("{number} {sequence} {follow} {length} {filling}\n")
}

impl Author<'_> {
    fn next(&mut self, follow: usize) -> String {
        self.sent += 1;
        text(self.number, self.sent, follow, &mut self.random)
    }

    fn act(&mut self, promptly: bool) {
        match self.random.below(1000) {
            0..=9 => {
                let buffering = buffering(&mut self.random, promptly);
                self.stream.set_buffering(buffering);
            }
            10 => self.stream.flush().unwrap(),
            11 => self.stream.redetect(),
            12..=19 => thread::sleep(Duration::from_micros(self.random.below(10_000) as u64)),
            20..=23 if promptly => self.wait_for_delivery(),
            24..=300 => self.several(),
            _ => {
                let text = self.next(0);
                let mut stream = self.stream;
                stream.write_all(text.as_bytes()).unwrap();
            }
        }
    }

    /// Messages by one guard, among which nobody else's may come.
    fn several(&mut self) {
        let mut guard = self.stream.lock();
        for follow in (0..self.random.below(5)).rev() {
            let text = self.next(follow);
            let (head, tail) = text.split_at(text.len() / 2);
            match self.random.below(5) {
                0 => {
                    guard.str(head).str(tail);
                }
                1 => {
                    let mut message = guard.reserve(self.random.below(500));
                    message.str(head).str(tail);
                    message.commit();
                }
                2 => {
                    let mut inner = self.stream.lock();
                    inner.str(head).str(tail);
                }
                3 => write!(self.stream.lock(), "{head}{tail}").unwrap(),
                _ => guard.write_all(text.as_bytes()).unwrap(),
            }
            if self.random.below(200) == 0 {
                // The guard's holder does not write for a while.
                thread::sleep(Duration::from_micros(self.random.below(3000) as u64));
            }
        }
    }

    /// Where a helper looks after the stream, what was written arrives without another call.
    fn wait_for_delivery(&self) {
        let begun = Instant::now();
        while SEEN[self.number].load(Ordering::Acquire) < self.sent {
            assert!(
                begun.elapsed() < GENEROUS,
                "{:?} left it behind",
                self.stream
            );
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// Checks each line; returns how many there were.
fn read(from: impl Read) -> u64 {
    let mut lines = BufReader::with_capacity(1 << 16, from);
    let (mut line, mut count) = (String::new(), 0);
    // Who has to be next, and how many are to follow then.
    let mut next: Option<(usize, usize)> = None;
    while lines.read_line(&mut line).unwrap() > 0 {
        let mut words = line.strip_suffix('\n').expect("a whole line").split(' ');
        let mut number = || words.next().unwrap().parse::<u64>().expect(&line);
        let (author, sequence) = (number() as usize, number());
        let (follow, length) = (number() as usize, number() as usize);
        let filling = words.next().unwrap();
        assert_eq!(words.next(), None, "torn: {line:?}");
        assert_eq!(filling.len(), length, "torn: {line:?}");
        let letter = b'a' + (sequence % 26) as u8;
        assert!(filling.bytes().all(|byte| byte == letter), "torn: {line:?}");
        let before = SEEN[author].swap(sequence, Ordering::Release);
        assert_eq!(
            sequence,
            before + 1,
            "lost, doubled or out of order: {line:?}"
        );
        if let Some(next) = next {
            assert_eq!(
                (author, follow),
                next,
                "somebody else's came between: {line:?}"
            );
        }
        next = follow.checked_sub(1).map(|follow| (author, follow));
        count += 1;
        line.clear();
    }
    count
}

#[test]
fn every_message_of_every_thread_arrives_once_whole_and_in_order() {
    let seconds = std::env::var("OUTPACE_STRESS_SECONDS")
        .map_or(2, |text| text.parse().expect("OUTPACE_STRESS_SECONDS"));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (reader, writer) = io::pipe().unwrap();
    let stream = Stream::new(OwnedFd::from(writer), Buffering::prompt()).unwrap();
    let reader = thread::spawn(|| read(Stalling(reader, Random::new(0))));
    let (round, over) = (Barrier::new(THREADS), AtomicBool::new(false));
    let sent: u64 = thread::scope(|scope| {
        let authors = [0, 1, 2, 3, 4, 5, 6, 7].map(|number| {
            let mut author = Author {
                stream: &stream,
                number,
                random: Random::new(1 + number as u64),
                sent: 0,
            };
            let (round, over) = (&round, &over);
            scope.spawn(move || {
                for rounds in 0.. {
                    // In every other round some helper always looks after the stream.
                    let promptly = rounds % 2 == 1;
                    if round.wait().is_leader() {
                        over.store(Instant::now() >= end, Ordering::Relaxed);
                        let buffering = buffering(&mut author.random, promptly);
                        author.stream.set_buffering(buffering);
                    }
                    round.wait();
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let begun = Instant::now();
                    while begun.elapsed() < ROUND {
                        author.act(promptly);
                    }
                }
                author.sent
            })
        });
        authors.map(|author| author.join().unwrap()).iter().sum()
    });
    stream.close().unwrap();
    assert_eq!(reader.join().unwrap(), sent);
    println!("{sent} messages");
}
