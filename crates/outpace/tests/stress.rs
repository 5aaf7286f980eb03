//! Eight threads, a policy that changes all the time and a reader that stalls: every message arrives exactly
//! once, whole, and after the ones before it; or, under policies that may drop it, is counted as dropped, and
//! marked where it is missing.
//!
//! Some seconds of it in `cargo test`. For longer, by time, or by the number of messages under policies that
//! drop:
//!
//! ```sh
//! OUTPACE_STRESS_SECONDS=300 cargo test -p outpace --release --test stress -- --nocapture lossless
//! OUTPACE_STRESS_MESSAGES=100000000 cargo test -p outpace --release --test stress -- --nocapture dropped
//! ```

#![cfg(all(unix, not(outpace_portable), not(loom)))]

mod common;

use common::{LIMIT, Random};
use outpace::{Buffering, GapMarker, Overflow, Stats, Stream};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

const THREADS: usize = 8;
const ROUND: Duration = Duration::from_millis(500);

/// The threads' actions.
#[derive(Clone, Copy)]
enum Mix {
    /// Any policy that loses nothing, switched often; some messages are waited for.
    Lossless,
    /// Policies that drop messages among the others, and more messages between two switches.
    Dropping,
}

struct Author<'a> {
    stream: &'a Stream<OwnedFd>,
    /// The last message of each thread that the reader has seen.
    seen: &'a [AtomicU64; THREADS],
    mix: Mix,
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

fn dropping_buffering(random: &mut Random) -> Buffering {
    let capacity = 1 << (10 + random.below(10));
    let overflow = match random.below(8) {
        0..=2 => Overflow::DropNewest,
        3..=5 => Overflow::DropOldest,
        6 => Overflow::Spill {
            directory: env!("CARGO_TARGET_TMPDIR").into(),
            limit: 1 << (12 + random.below(12)),
        },
        _ => return buffering(random, true),
    };
    Buffering::Background { capacity, overflow }
}

/// Whose it is, which of theirs, how many of the same guard follow at once, and filling that shows a tear.
fn text(number: usize, sequence: u64, follow: usize, author: &mut Author<'_>) -> String {
    let random = &mut author.random;
    let length = match (author.mix, random.below(20)) {
        (Mix::Dropping, _) if random.below(200) > 0 => random.below(30),
        (_, 0) => random.below(20_000),
        (_, 1..=3) => random.below(300),
        _ => random.below(30),
    };
    let filling = (b'a' + (sequence % 26) as u8) as char;
    let filling = String::from_iter(std::iter::repeat_n(filling, length));
    format!("{number} {sequence} {follow} {length} {filling}\n")
}

impl Author<'_> {
    fn next(&mut self, follow: usize) -> String {
        self.sent += 1;
        text(self.number, self.sent, follow, self)
    }

    fn buffering(&mut self, promptly: bool) -> Buffering {
        match self.mix {
            Mix::Lossless => buffering(&mut self.random, promptly),
            Mix::Dropping => dropping_buffering(&mut self.random),
        }
    }

    fn act(&mut self, promptly: bool) {
        if matches!(self.mix, Mix::Dropping) && self.random.below(20) > 0 {
            return self.several(100);
        }
        match self.random.below(1000) {
            0..=9 => {
                let buffering = self.buffering(promptly);
                self.stream.set_buffering(buffering);
            }
            10 => self.stream.flush().unwrap(),
            11 => self.stream.redetect(),
            12..=19 => thread::sleep(Duration::from_micros(self.random.below(10_000) as u64)),
            20..=23 if promptly && matches!(self.mix, Mix::Lossless) => self.wait_for_delivery(),
            24..=300 => self.several(5),
            _ => {
                let text = self.next(0);
                let mut stream = self.stream;
                stream.write_all(text.as_bytes()).unwrap();
            }
        }
    }

    /// Messages by one guard, which no other author's may interrupt.
    fn several(&mut self, at_most: usize) {
        let mut guard = self.stream.lock();
        for follow in (0..self.random.below(at_most)).rev() {
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
            if self.random.below(40 * at_most) == 0 {
                // The guard's holder does not write for a while.
                thread::sleep(Duration::from_micros(self.random.below(3000) as u64));
            }
        }
    }

    /// With a helper, all messages arrive without another call.
    fn wait_for_delivery(&self) {
        let begun = Instant::now();
        while self.seen[self.number].load(Ordering::Acquire) < self.sent {
            assert!(begun.elapsed() < LIMIT, "{:?} left it behind", self.stream);
            thread::sleep(Duration::from_micros(100));
        }
    }
}

/// The messages that arrived.
#[derive(Default)]
struct Arrived {
    messages: u64,
    /// Messages and bytes that markers stand for.
    marked: (u64, u64),
    /// Messages that are missing before those that arrived.
    missing: u64,
}

/// Stands for dropped messages; no message begins like this.
fn marker() -> GapMarker {
    GapMarker::with(|gap| format!("! {} {}", gap.messages, gap.bytes))
}

/// Checks each line.
fn read(from: impl Read, seen: &[AtomicU64; THREADS]) -> Arrived {
    let mut lines = BufReader::with_capacity(1 << 16, from);
    let mut line = String::new();
    let mut arrived = Arrived::default();
    // The author that has to be next, and how many of its messages are to follow.
    let mut next: Option<(usize, usize)> = None;
    // The number of marked messages at each thread's last message.
    let mut marked = [0; THREADS];
    while lines.read_line(&mut line).unwrap() > 0 {
        let mut words = line.strip_suffix('\n').expect("a whole line").split(' ');
        let first = words.next().unwrap();
        let mut number = || words.next().unwrap().parse::<u64>().expect(&line);
        if first == "!" {
            arrived.marked.0 += number();
            arrived.marked.1 += number();
            next = None;
            line.clear();
            continue;
        }
        let (author, sequence) = (first.parse::<usize>().expect(&line), number());
        let (follow, length) = (number() as usize, number() as usize);
        let filling = words.next().unwrap();
        assert_eq!(words.next(), None, "torn: {line:?}");
        assert_eq!(filling.len(), length, "torn: {line:?}");
        let letter = b'a' + (sequence % 26) as u8;
        assert!(filling.bytes().all(|byte| byte == letter), "torn: {line:?}");
        let before = seen[author].swap(sequence, Ordering::Release);
        assert!(sequence > before, "doubled or out of order: {line:?}");
        arrived.missing += sequence - before - 1;
        let dropped = arrived.marked.0 > marked[author];
        assert!(sequence == before + 1 || dropped, "lost: before {line:?}");
        assert!(
            arrived.missing <= arrived.marked.0,
            "more are missing than marked before {line:?}"
        );
        marked[author] = arrived.marked.0;
        if let Some(next) = next {
            assert_eq!(
                (author, follow),
                next,
                "another message came between: {line:?}"
            );
        }
        next = follow.checked_sub(1).map(|follow| (author, follow));
        arrived.messages += 1;
        line.clear();
    }
    arrived
}

/// Returns how many messages were sent, until `over` is true of their number and the stream's counters at the end of a
/// round; and what arrived of them.
fn stress(mix: Mix, over: impl Fn(u64, Stats) -> bool + Sync) -> (u64, Arrived, Stats) {
    let (reader, writer) = io::pipe().unwrap();
    let stream = Stream::new(OwnedFd::from(writer), Buffering::prompt()).unwrap();
    stream.gap_marker(marker());
    let seen = Arc::new([const { AtomicU64::new(0) }; THREADS]);
    let seen_by_reader = Arc::clone(&seen);
    let reader = thread::spawn(move || read(Stalling(reader, Random::new(0)), &seen_by_reader));
    let (round, ends) = (Barrier::new(THREADS), AtomicBool::new(false));
    let sent = AtomicU64::new(0);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let mut author = Author {
                stream: &stream,
                seen: &seen,
                mix,
                number,
                random: Random::new(1 + number as u64),
                sent: 0,
            };
            let (stream, round, ends, sent, over) = (&stream, &round, &ends, &sent, &over);
            scope.spawn(move || {
                for rounds in 0.. {
                    // In every other round some helper always looks after the stream.
                    let promptly = rounds % 2 == 1;
                    if round.wait().is_leader() {
                        let over = over(sent.load(Ordering::Relaxed), stream.stats());
                        ends.store(over, Ordering::Relaxed);
                        let buffering = author.buffering(promptly);
                        author.stream.set_buffering(buffering);
                    }
                    round.wait();
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let (begun, before) = (Instant::now(), author.sent);
                    while begun.elapsed() < ROUND {
                        author.act(promptly);
                    }
                    sent.fetch_add(author.sent - before, Ordering::Relaxed);
                }
            });
        }
    });
    let sent = sent.into_inner();
    stream.flush().unwrap();
    let stats = stream.stats();
    stream.close().unwrap();
    let arrived = reader.join().unwrap();
    println!(
        "{sent} messages, {} of them dropped",
        stats.messages_dropped
    );
    (sent, arrived, stats)
}

fn asked_for(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")),
    )
}

/// Whether so many seconds are over.
fn for_seconds(default: u64) -> impl Fn() -> bool {
    let seconds = asked_for("OUTPACE_STRESS_SECONDS").unwrap_or(default);
    let end = Instant::now() + Duration::from_secs(seconds);
    move || Instant::now() >= end
}

#[test]
fn lossless_every_message_of_every_thread_arrives_once_whole_and_in_order() {
    let by_time = for_seconds(2);
    let (sent, arrived, stats) = stress(Mix::Lossless, |sent, _| sent > 0 && by_time());
    assert_eq!((arrived.messages, arrived.marked), (sent, (0, 0)));
    assert_eq!(stats.messages_accepted, sent);
}

#[test]
fn dropped_messages_are_counted_and_marked_and_all_others_arrive_once_whole_and_in_order() {
    let by_time = for_seconds(2);
    let wanted = asked_for("OUTPACE_STRESS_MESSAGES");
    let (sent, arrived, stats) = stress(Mix::Dropping, |sent, stats| match wanted {
        Some(wanted) => sent >= wanted,
        None => stats.messages_dropped > 0 && by_time(),
    });
    assert_eq!(stats.messages_accepted, sent);
    assert_eq!(arrived.messages + stats.messages_dropped, sent);
    assert_eq!(
        arrived.marked,
        (stats.messages_dropped, stats.bytes_dropped)
    );
}
