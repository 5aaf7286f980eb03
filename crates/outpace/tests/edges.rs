//! The corners of the streams that a program meets rarely, and at a bad moment: guards inside guards,
//! failures in the middle, switches while something is pending.

#![cfg(all(unix, not(outpace_portable), not(loom)))]

mod common;

use common::LIMIT;
use outpace::{BrokenPipe, Buffering, Stream};
use std::io::{self, ErrorKind, IoSlice, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A stream into a pipe, and the pipe's other end.
fn piped(buffering: Buffering) -> (Stream<PipeWriter>, PipeReader) {
    let (reader, writer) = io::pipe().unwrap();
    (Stream::new(writer, buffering).unwrap(), reader)
}

/// The bytes that have arrived in the pipe, without waiting.
fn arrived(reader: &mut PipeReader) -> String {
    let mut text = String::new();
    while readable(reader, Duration::ZERO) {
        let mut bytes = [0; 4096];
        let n = reader.read(&mut bytes).unwrap();
        if n == 0 {
            break;
        }
        text.push_str(std::str::from_utf8(&bytes[..n]).unwrap());
    }
    text
}

/// Waits until there is something to read, or the other end is closed.
#[allow(unsafe_code)]
fn readable(reader: &PipeReader, limit: Duration) -> bool {
    use std::os::fd::AsRawFd;
    let mut poll = libc::pollfd {
        fd: reader.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` is one valid entry.
    unsafe { libc::poll(&mut poll, 1, limit.as_millis() as i32) == 1 }
}

fn long_prompt() -> Buffering {
    Buffering::Prompt {
        capacity: 4096,
        max_delay: Duration::from_secs(3000),
    }
}

/// Brings a `Prompt` stream into a burst: the early messages, and one soon after.
fn begin_burst(stream: &mut Stream<PipeWriter>) {
    for _ in 0..20 {
        stream.write_all(b".").unwrap();
    }
}

#[test]
fn an_empty_message_of_an_inner_guard_changes_nothing() {
    for buffering in [
        Buffering::Unbuffered,
        Buffering::block(),
        Buffering::prompt(),
    ] {
        let (stream, mut reader) = piped(buffering.clone());
        let mut outer = stream.lock();
        let mut inner = stream.lock();
        outer.write_all(b"outer, ").unwrap();
        inner.write_all(b"").unwrap();
        inner.str("");
        assert_eq!(stream.stats().bytes_accepted, 7, "{buffering}");
        drop(outer);
        inner.write_all(b"inner").unwrap();
        inner.write_all(b"").unwrap();
        drop(inner);
        assert_eq!(stream.stats().bytes_accepted, 12, "{buffering}");
        drop(stream);
        assert_eq!(arrived(&mut reader), "outer, inner", "{buffering}");
    }
}

#[test]
fn a_switch_before_a_message_that_is_discarded_leaves_nothing_behind() {
    for next in [Buffering::Block { capacity: 40 }, Buffering::background(40)] {
        let (stream, mut reader) = piped(Buffering::Block { capacity: 4096 });
        // Past the first messages, about which a block asks.
        for _ in 0..20 {
            (&stream).write_all(b".").unwrap();
        }
        let mut guard = stream.lock();
        // So that there is room for a small message, and none to build one.
        guard.write_all(&[b'x'; 4066]).unwrap();
        stream.set_buffering(next.clone());
        drop(guard.reserve(1));
        guard.write_all(b"after").unwrap();
        drop(guard);
        assert_eq!(stream.stats().bytes_accepted, 20 + 4066 + 5, "{next}");
        drop(stream);
        let expected = format!("{}{}after", ".".repeat(20), "x".repeat(4066));
        assert_eq!(arrived(&mut reader), expected, "{next}");
    }
}

#[test]
fn a_line_of_an_inner_guard_appears_at_its_newline() {
    let (stream, mut reader) = piped(Buffering::Line);
    let mut outer = stream.lock();
    outer.write_all(b"outer: ").unwrap();
    (&stream).write_all(b"a line\nand ").unwrap();
    assert_eq!(arrived(&mut reader), "outer: a line\n");
    outer.write_all(b"more").unwrap();
    (&stream).write_all(b"!").unwrap();
    assert_eq!(arrived(&mut reader), "");
    (&stream).write_all(b"\n").unwrap();
    assert_eq!(arrived(&mut reader), "and more!\n");
    outer.write_all(b"x\ny").unwrap();
    assert_eq!(arrived(&mut reader), "x\n");
}

#[test]
fn a_message_that_was_refused_does_not_appear_later() {
    for buffering in [
        Buffering::Unbuffered,
        Buffering::Line,
        Buffering::Block { capacity: 8 },
        Buffering::prompt(),
        Buffering::background(64),
    ] {
        let (reader, writer) = io::pipe().unwrap();
        let mut stream = Stream::new(writer, buffering.clone()).unwrap();
        drop(reader);
        let mut guard = stream.lock();
        let deadline = Instant::now() + LIMIT;
        while guard.write_all(b"no reader\n").is_ok() {
            assert!(Instant::now() < deadline, "{buffering}: never failed");
        }
        for text in ["a", "b", "c\n", ""] {
            let _ = guard.write_all(text.as_bytes());
            guard.str("typed ").int(1);
        }
        drop(guard);
        stream.clear_error();
        let stats = stream.stats();
        assert_eq!(stats.bytes_queued, 0, "{buffering}: something was kept");
        // The reader has still gone: exactly what is written now fails.
        let accepted = stats.bytes_accepted;
        let _ = stream.write_all(b"new\n");
        assert_eq!(
            stream.flush().unwrap_err().kind(),
            ErrorKind::BrokenPipe,
            "{buffering}"
        );
        assert_eq!(stream.stats().bytes_accepted, accepted + 4, "{buffering}");
    }
}

#[test]
fn a_switch_to_a_shorter_delay_does_not_wait_for_the_longer_one() {
    let shorter = Buffering::Prompt {
        capacity: 4096,
        max_delay: Duration::from_millis(1),
    };
    for next in [shorter, Buffering::background(1 << 20)] {
        for pending in [true, false] {
            let (mut stream, mut reader) = piped(long_prompt());
            begin_burst(&mut stream);
            if !pending {
                stream.flush().unwrap();
            }
            stream.set_buffering(next.clone());
            arrived(&mut reader);
            stream.write_all(b"after").unwrap();
            assert!(readable(&reader, LIMIT), "{next}, pending: {pending}");
        }
    }
}

#[test]
fn a_helper_lets_a_block_be_a_block() {
    let (mut stream, mut reader) = piped(Buffering::Prompt {
        capacity: 4096,
        max_delay: Duration::from_millis(1),
    });
    begin_burst(&mut stream);
    let writes = stream.stats().write_calls;
    stream.set_buffering(Buffering::Block { capacity: 4096 });
    for _ in 0..40_000 {
        stream.write_all(b".").unwrap();
    }
    // One for each block, and what the helper still has to do about the time before.
    let writes = stream.stats().write_calls - writes;
    assert!(writes <= 10 + 2, "{writes} writes");
    drop(stream);
    assert_eq!(arrived(&mut reader).len(), 40_020);
}

#[test]
fn a_delay_without_end_is_a_delay() {
    let (mut stream, mut reader) = piped(Buffering::Prompt {
        capacity: 4096,
        max_delay: Duration::MAX,
    });
    begin_burst(&mut stream);
    drop(stream);
    assert_eq!(arrived(&mut reader), ".".repeat(20));
}

#[test]
fn parts_are_one_message_and_report_errors() {
    let parts = [
        IoSlice::new(b"one "),
        IoSlice::new(b""),
        IoSlice::new(b"two\n"),
    ];
    let (mut stream, mut reader) = piped(Buffering::Unbuffered);
    // As standard output is.
    stream.broken_pipe(BrokenPipe::End);
    assert_eq!(stream.write_vectored(&parts).unwrap(), 8);
    let outer = stream.lock();
    assert_eq!((&stream).write_vectored(&parts).unwrap(), 8);
    drop(outer);
    assert_eq!(stream.write_vectored(&[]).unwrap(), 0);
    assert_eq!(stream.stats().write_calls, 2);
    assert_eq!(arrived(&mut reader), "one two\none two\n");
    drop(reader);
    let error = stream.write_vectored(&parts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_reader_that_has_gone_can_be_ignored() {
    let (mut stream, reader) = piped(Buffering::Unbuffered);
    stream.broken_pipe(BrokenPipe::Ignore);
    drop(reader);
    stream.write_all(b"no reader").unwrap();
    stream.flush().unwrap();
    stream.close().unwrap();
}

#[test]
#[should_panic(expected = "in place")]
fn room_without_end_is_a_mistake_that_is_told() {
    let (stream, _reader) = piped(Buffering::block());
    stream.lock().str("x").reserve(usize::MAX);
}

#[test]
fn the_smallest_capacities_work() {
    for buffering in [
        Buffering::Block { capacity: 1 },
        Buffering::background(1),
        Buffering::Prompt {
            capacity: 1,
            max_delay: Duration::from_millis(1),
        },
    ] {
        let (mut stream, mut reader) = piped(buffering);
        let mut expected = String::new();
        for i in 0..50 {
            writeln!(stream, "{i}").unwrap();
            stream.lock().str("typed ").int(i).char('\n');
            expected += &format!("{i}\ntyped {i}\n");
        }
        drop(stream);
        assert_eq!(arrived(&mut reader), expected);
    }
}

#[test]
fn forgotten_messages_and_guards_do_no_harm() {
    let (stream, mut reader) = piped(Buffering::block());
    let mut guard = stream.lock();
    std::mem::forget(guard.str("forgotten"));
    std::mem::forget(guard.reserve(10_000));
    guard.str("kept");
    drop(guard.reserve(10));
    std::mem::forget(guard);
    (&stream).write_all(b", too").unwrap();
    drop(stream);
    assert_eq!(arrived(&mut reader), "kept, too");
}

#[test]
fn flush_until_gives_up_at_its_deadline_although_the_reader_goes_on() {
    const PENDING: usize = 16 << 20;
    let (stream, mut reader) = piped(Buffering::Block { capacity: PENDING });
    (&stream).write_all(&vec![b'x'; PENDING]).unwrap();
    let (arrived, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            loop {
                match reader.read(&mut [0; 4096]).unwrap() {
                    0 => break,
                    read => arrived.fetch_add(read, Ordering::Relaxed),
                };
                if !done.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                }
            }
        });
        // Until the reader has made progress during a call: it takes longer than the limit for everything.
        loop {
            let before = arrived.load(Ordering::Relaxed);
            let soon = Instant::now() + Duration::from_millis(50);
            let error = stream.flush_until(soon).expect_err("it reads for long");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            if before > 0 && arrived.load(Ordering::Relaxed) > before {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
        drop(stream);
    });
    assert_eq!(arrived.into_inner(), PENDING);
}

#[test]
fn no_message_that_is_lost_is_reported_as_written_while_errors_are_cleared() {
    let full = std::fs::File::options().write(true).open("/dev/full");
    let stream = Stream::new(full.expect("it is there on Linux"), Buffering::Unbuffered).unwrap();
    let done = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stream.clear_error();
            }
        });
        let tries = 0..200_000;
        let written = tries.filter(|_| (&stream).write_all(b"lost\n").is_ok());
        let written = written.count();
        done.store(true, Ordering::Relaxed);
        written
    });
    assert_eq!(written, 0, "messages that cannot have been written");
}
