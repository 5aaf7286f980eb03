//! The background queue: its order, its budget, its drops and its file.

mod common;

use common::{LIMIT, wait_until};
use outpace::{Buffering, GapMarker, Overflow, Stream};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Reads everything, but only after `go`.
fn read_later(mut reader: PipeReader) -> (mpsc::Sender<()>, thread::JoinHandle<Vec<u8>>) {
    let (go, gone) = mpsc::channel();
    let handle = thread::spawn(move || {
        let _ = gone.recv();
        let mut bytes = Vec::new();
        reader
            .read_to_end(&mut bytes)
            .expect("the pipe can be read");
        bytes
    });
    (go, handle)
}

/// A stream into a pipe, whose reader begins when told.
fn piped(
    buffering: Buffering,
) -> (
    Stream<PipeWriter>,
    mpsc::Sender<()>,
    thread::JoinHandle<Vec<u8>>,
) {
    let (reader, writer) = pipe().unwrap();
    let (go, read) = read_later(reader);
    (Stream::new(writer, buffering).unwrap(), go, read)
}

fn background(capacity: usize, overflow: Overflow) -> Buffering {
    Buffering::Background { capacity, overflow }
}

fn spill(limit: u64) -> Overflow {
    Overflow::Spill {
        directory: env!("CARGO_TARGET_TMPDIR").into(),
        limit,
    }
}

/// `message 0\n`, `message 1\n`, …
fn write_numbered(stream: &Stream<PipeWriter>, numbers: std::ops::Range<u32>) {
    for n in numbers {
        writeln!(&*stream, "message {n}").expect("the stream has not failed");
    }
}

fn numbered(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|n| format!("message {n}\n")).collect()
}

/// The numbers of the messages that arrived, and how many are missing by the markers.
fn survivors(bytes: &[u8]) -> (Vec<u32>, u64) {
    let mut numbers = Vec::new();
    let mut missing = 0;
    for line in std::str::from_utf8(bytes).expect("it was text").lines() {
        if let Some(n) = line.strip_prefix("message ") {
            numbers.push(n.parse().expect("a number"));
        } else {
            let count = line
                .strip_prefix("[outpace: ")
                .and_then(|rest| rest.split(' ').next())
                .unwrap_or_else(|| panic!("neither a message nor a marker: {line:?}"));
            missing += count.replace(',', "").parse::<u64>().expect("a number");
        }
    }
    (numbers, missing)
}

#[test]
fn everything_arrives_in_order_from_a_queue_that_blocks() {
    let (stream, go, read) = piped(background(8 << 10, Overflow::Block));
    go.send(()).unwrap();
    write_numbered(&stream, 0..100_000);
    drop(stream.close().unwrap());
    assert_eq!(read.join().unwrap(), numbered(0..100_000).into_bytes());
}

#[test]
fn a_message_larger_than_the_queue_passes_whole_where_nothing_may_be_lost() {
    for overflow in [Overflow::Block, spill(1 << 20)] {
        let (stream, go, read) = piped(background(1000, overflow));
        go.send(()).unwrap();
        let large = "x".repeat(300_000);
        (&stream).write_all(b"before\n").unwrap();
        (&stream).write_all(large.as_bytes()).unwrap();
        (&stream).write_all(b"\nafter\n").unwrap();
        drop(stream.close().unwrap());
        assert_eq!(
            read.join().unwrap(),
            format!("before\n{large}\nafter\n").into_bytes()
        );
    }
}

#[test]
fn the_newest_messages_are_dropped_counted_and_marked_at_the_gap() {
    let (stream, go, read) = piped(background(16 << 10, Overflow::DropNewest));
    write_numbered(&stream, 0..100_000);
    let stats = stream.stats();
    assert!(stats.messages_dropped > 0);
    assert!(stats.bytes_queued <= (16 << 10), "{stats:?}");
    assert_eq!(stats.messages_accepted, 100_000);
    assert_eq!(stats.bytes_accepted, numbered(0..100_000).len() as u64);
    go.send(()).unwrap();
    wait_until("there is room again", || stream.stats().bytes_queued == 0);
    write_numbered(&stream, 100_000..100_010);
    let stats = stream.stats();
    drop(stream.close().unwrap());
    let bytes = read.join().unwrap();
    let (numbers, missing) = survivors(&bytes);
    assert_eq!(missing, stats.messages_dropped);
    assert_eq!(numbers.len() as u64 + missing, 100_010);
    assert!(numbers.is_sorted_by(|a, b| a < b));
    assert!(
        numbers.starts_with(&(0..1000).collect::<Vec<_>>()),
        "the first ones had room"
    );
    assert!(numbers.ends_with(&(100_000..100_010).collect::<Vec<_>>()));
}

#[test]
fn the_oldest_messages_are_dropped_counted_and_marked_at_the_gap() {
    let (stream, go, read) = piped(background(64 << 10, Overflow::DropOldest));
    write_numbered(&stream, 0..1);
    stream.flush().unwrap();
    write_numbered(&stream, 1..200_000);
    let stats = stream.stats();
    assert!(stats.messages_dropped > 0);
    assert!(stats.bytes_queued <= (64 << 10), "{stats:?}");
    go.send(()).unwrap();
    drop(stream.close().unwrap());
    let bytes = read.join().unwrap();
    let (numbers, missing) = survivors(&bytes);
    assert_eq!(missing, stats.messages_dropped);
    assert_eq!(numbers.len() as u64 + missing, 200_000);
    assert!(numbers.is_sorted_by(|a, b| a < b));
    assert_eq!(numbers.first(), Some(&0), "what is written stays");
    assert_eq!(numbers.last(), Some(&199_999), "the newest is there");
}

#[test]
fn a_message_larger_than_the_queue_is_dropped_where_messages_may_be() {
    for overflow in [Overflow::DropNewest, Overflow::DropOldest] {
        let (stream, go, read) = piped(background(1000, overflow));
        go.send(()).unwrap();
        (&stream).write_all(b"before\n").unwrap();
        (&stream).write_all(&[b'x'; 1001]).unwrap();
        (&stream).write_all(b"after\n").unwrap();
        drop(stream.close().unwrap());
        let text = String::from_utf8(read.join().unwrap()).unwrap();
        assert_eq!(
            text,
            "before\n[outpace: 1 message (1.0 kB) dropped here]\nafter\n"
        );
    }
}

#[test]
fn a_marker_is_on_a_line_of_its_own_and_can_be_another_text_or_none() {
    for (marker, expected) in [
        (
            GapMarker::Standard,
            "no newline\n[outpace: 1 message (2.0 kB) dropped here]\nafter",
        ),
        (GapMarker::Text("…".into()), "no newline\n…\nafter"),
        (
            GapMarker::with(|gap| format!("{}/{}", gap.messages, gap.bytes)),
            "no newline\n1/2000\nafter",
        ),
        (GapMarker::Off, "no newlineafter"),
    ] {
        let (stream, go, read) = piped(background(1000, Overflow::DropNewest));
        stream.gap_marker(marker);
        go.send(()).unwrap();
        (&stream).write_all(b"no newline").unwrap();
        (&stream).write_all(&[b'x'; 2000]).unwrap();
        (&stream).write_all(b"after").unwrap();
        drop(stream.close().unwrap());
        assert_eq!(String::from_utf8(read.join().unwrap()).unwrap(), expected);
    }
}

#[test]
fn what_does_not_fit_goes_through_a_file_and_arrives_in_order() {
    let (stream, go, read) = piped(background(64 << 10, spill(1 << 30)));
    write_numbered(&stream, 0..300_000);
    let stats = stream.stats();
    assert!(stats.bytes_spilled > 0, "{stats:?}");
    assert_eq!(stats.messages_dropped, 0);
    go.send(()).unwrap();
    write_numbered(&stream, 300_000..600_000);
    drop(stream.close().unwrap());
    assert_eq!(read.join().unwrap(), numbered(0..600_000).into_bytes());
}

#[test]
fn at_the_limit_of_the_file_the_caller_waits() {
    let (stream, go, read) = piped(background(16 << 10, spill(100_000)));
    thread::scope(|scope| {
        scope.spawn(|| write_numbered(&stream, 0..100_000));
        wait_until("the file is at its limit", || {
            stream.stats().bytes_spilled > 80_000
        });
        go.send(()).unwrap();
    });
    drop(stream.close().unwrap());
    assert_eq!(read.join().unwrap(), numbered(0..100_000).into_bytes());
}

#[test]
fn a_file_that_cannot_be_made_makes_the_caller_wait() {
    let overflow = Overflow::Spill {
        directory: "/nonexistent/directory".into(),
        limit: 1 << 30,
    };
    let (stream, go, read) = piped(background(16 << 10, overflow));
    thread::scope(|scope| {
        scope.spawn(|| write_numbered(&stream, 0..50_000));
        go.send(()).unwrap();
    });
    drop(stream.close().unwrap());
    assert_eq!(read.join().unwrap(), numbered(0..50_000).into_bytes());
}

#[test]
fn the_caller_is_not_held_up_while_the_reader_stands_still() {
    for overflow in [Overflow::DropNewest, Overflow::DropOldest, spill(1 << 30)] {
        let (reader, writer) = pipe().unwrap();
        let stream = Stream::new(writer, background(64 << 10, overflow.clone())).unwrap();
        // Returns at all, although the reader has stopped.
        write_numbered(&stream, 0..100_000);
        if !matches!(overflow, Overflow::Spill { .. }) {
            assert_eq!(stream.stats().longest_wait, Duration::ZERO);
        }
        let soon = Instant::now() + Duration::from_millis(20);
        let error = stream
            .flush_until(soon)
            .expect_err("the reader has stopped");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        drop(reader);
    }
}

#[test]
fn flush_until_returns_when_all_has_been_read() {
    let (stream, go, read) = piped(background(1 << 20, Overflow::Block));
    write_numbered(&stream, 0..50_000);
    go.send(()).unwrap();
    stream.flush_until(Instant::now() + LIMIT).unwrap();
    assert_eq!(stream.stats().bytes_queued, 0);
    drop(stream);
    assert_eq!(read.join().unwrap().len(), numbered(0..50_000).len());
}

#[test]
fn a_burst_is_gathered_into_few_writes() {
    let (stream, go, read) = piped(background(16 << 20, Overflow::Block));
    go.send(()).unwrap();
    let begun = Instant::now();
    let mut guard = stream.lock();
    for _ in 0..100_000 {
        guard.str("seventeen bytes..\n");
    }
    drop(guard);
    stream.flush().unwrap();
    let writes = stream.stats().write_calls;
    // Segments of 64 KiB in writes of at most 4 KiB, both of whole lines; and a shorter rest at each look, every 4 ms.
    let (segment, write) = (65_536 / 18 * 18, 4096 / 18 * 18);
    let looks = begun.elapsed().as_millis() as u64 / 4 + 2;
    let most = 1_800_000_u64.div_ceil(segment) * segment.div_ceil(write) + looks;
    assert!(writes <= most, "{writes} writes for 100,000 messages");
    drop(stream);
    assert_eq!(read.join().unwrap().len(), 18 * 100_000);
}

#[test]
fn policies_are_switched_with_messages_pending_in_memory_and_file() {
    let policies = [
        background(4 << 10, Overflow::Block),
        background(4 << 10, spill(1 << 20)),
        Buffering::prompt(),
        Buffering::Line,
        background(1 << 20, Overflow::Block),
        Buffering::Block { capacity: 3000 },
        Buffering::Unbuffered,
        background(2 << 10, spill(10_000)),
    ];
    let (stream, go, read) = piped(Buffering::Line);
    go.send(()).unwrap();
    for round in 0..80 {
        stream.set_buffering(policies[round % policies.len()].clone());
        let round = round as u32;
        write_numbered(&stream, round * 500..(round + 1) * 500);
    }
    drop(stream.close().unwrap());
    assert_eq!(read.join().unwrap(), numbered(0..40_000).into_bytes());
}

#[test]
fn an_inner_guard_prints_in_order_in_the_background() {
    for overflow in [Overflow::Block, spill(1 << 20)] {
        let (stream, go, read) = piped(background(4 << 10, overflow));
        go.send(()).unwrap();
        let mut expected = String::new();
        let mut outer = stream.lock();
        for n in 0..20_000 {
            outer.str("outer ").int(n).char('\n');
            writeln!(&stream, "inner {n}").unwrap();
            expected += &format!("outer {n}\ninner {n}\n");
        }
        drop(outer);
        drop(stream.close().unwrap());
        assert_eq!(String::from_utf8(read.join().unwrap()).unwrap(), expected);
    }
}

#[test]
fn a_message_in_pieces_is_not_dropped_in_part_after_a_switch() {
    let (reader, writer) = pipe().expect("a pipe");
    let stream = Stream::new(writer, background(1 << 20, Overflow::Block)).expect("a stream");
    let (go, arrived) = read_later(reader);
    let large = format!("{}\n", "x".repeat(400_000));
    (&stream)
        .write_all(large.as_bytes())
        .expect("room in the queue");
    stream.set_buffering(background(450_000, Overflow::DropOldest));
    for _ in 0..1000 {
        (&stream)
            .write_all(&[b'y'; 999])
            .expect("the stream has not failed");
    }
    assert!(stream.stats().messages_dropped > 0);
    go.send(()).expect("the reader waits");
    stream.close().expect("nothing failed");
    let arrived = arrived.join().expect("the reader lives");
    let large_bytes = arrived.iter().filter(|&&byte| byte == b'x').count();
    assert!(
        [0, 400_000].contains(&large_bytes),
        "{large_bytes} bytes of it"
    );
}

#[test]
fn a_marker_that_panics_is_the_standard_one() {
    let (reader, writer) = pipe().expect("a pipe");
    let stream = Stream::new(writer, background(1000, Overflow::DropNewest)).expect("a stream");
    stream.gap_marker(GapMarker::with(|_| panic!("on purpose")));
    let (go, arrived) = read_later(reader);
    for _ in 0..1000 {
        (&stream)
            .write_all(&[b'y'; 999])
            .expect("the stream has not failed");
    }
    assert!(stream.stats().messages_dropped > 0);
    go.send(()).expect("the reader waits");
    stream.close().expect("nothing failed");
    let text = String::from_utf8(arrived.join().expect("the reader lives")).expect("text");
    assert!(text.contains("dropped here]"), "{text}");
}

#[test]
fn a_gap_stays_before_a_large_message_of_the_next_policy() {
    for large in [10, 100_000] {
        let (reader, writer) = pipe().expect("a pipe");
        let stream = Stream::new(writer, background(100, Overflow::DropNewest)).expect("a stream");
        stream.gap_marker(GapMarker::Text("gap".into()));
        let (go, arrived) = read_later(reader);
        let mut guard = stream.lock();
        guard.str("kept\n");
        guard.bytes(&[b'd'; 200]);
        stream.set_buffering(Buffering::Block { capacity: 4096 });
        go.send(()).expect("the reader waits");
        guard.bytes(&vec![b'x'; large]);
        drop(guard);
        stream.close().expect("nothing failed");
        let text = String::from_utf8(arrived.join().expect("the reader lives")).expect("text");
        let expected = format!("kept\ngap\n{}", "x".repeat(large));
        assert!(text == expected, "{large}: {}", &text[..20]);
    }
}

/// Prints to the stream when it is dropped.
struct Farewell(Arc<OnceLock<Stream<PipeWriter>>>, mpsc::Sender<()>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let stream = self.0.get().expect("it was there first");
        stream.lock().str("farewell\n");
        self.1.send(()).expect("the test waits for it");
    }
}

/// A stream that drops, with a marker that prints when it is dropped, and tells so.
fn with_a_marker_that_prints(
    text: impl Fn() + Send + Sync + 'static,
) -> (
    Arc<OnceLock<Stream<PipeWriter>>>,
    PipeReader,
    mpsc::Receiver<()>,
) {
    let (reader, writer) = pipe().unwrap();
    let stream = Stream::new(writer, background(1000, Overflow::DropNewest)).unwrap();
    let cell = Arc::new(OnceLock::new());
    let (farewell, gone) = mpsc::channel();
    let farewell = Farewell(cell.clone(), farewell);
    stream.gap_marker(GapMarker::with(move |_| {
        let _ = &farewell;
        text();
        "gap".into()
    }));
    assert!(cell.set(stream).is_ok());
    (cell, reader, gone)
}

#[test]
fn a_marker_that_is_replaced_may_print_when_it_is_dropped() {
    let (stream, _reader, gone) = with_a_marker_that_prints(|| {});
    thread::spawn(move || stream.get().unwrap().gap_marker(GapMarker::Off));
    gone.recv_timeout(LIMIT).expect("it waits for itself");
}

#[test]
fn a_marker_that_is_replaced_while_it_runs_may_print_when_it_is_dropped() {
    let (began, begun) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = Mutex::new(goes);
    let (stream, reader, gone) = with_a_marker_that_prints(move || {
        began.send(()).unwrap();
        goes.lock().unwrap().recv().unwrap();
    });
    let (read, _arrived) = read_later(reader);
    read.send(()).unwrap();
    let stream = stream.get().unwrap();
    // Does not fit, so there is a gap.
    let mut large = stream;
    large.write_all(&[b'x'; 1001]).unwrap();
    begun.recv_timeout(LIMIT).expect("the gap is marked");
    stream.gap_marker(GapMarker::Off);
    go.send(()).unwrap();
    gone.recv_timeout(LIMIT).expect("it waits for itself");
}

#[test]
fn a_message_too_large_for_a_queue_that_is_empty_leaves_its_mark_although_nothing_follows() {
    for overflow in [Overflow::DropNewest, Overflow::DropOldest] {
        let (mut reader, writer) = pipe().unwrap();
        let mut stream = Stream::new(writer, background(1000, overflow)).unwrap();
        stream.gap_marker(GapMarker::Text("gap".into()));
        stream.write_all(&[b'x'; 1001]).unwrap();
        let (arrived, arrives) = mpsc::channel();
        thread::spawn(move || {
            let mut text = [0; 4];
            reader.read_exact(&mut text).unwrap();
            arrived.send(text).unwrap();
        });
        assert_eq!(&arrives.recv_timeout(LIMIT).unwrap(), b"gap\n");
    }
}
