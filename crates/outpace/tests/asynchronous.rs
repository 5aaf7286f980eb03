//! Streams as asynchronous writers.

#![cfg(not(loom))]

mod common;

use common::LIMIT;
use outpace::tokio::AsyncWriter;
use outpace::{Buffering, Overflow, Stream};
use std::future::{Future, poll_fn};
use std::io::{IoSlice, PipeReader, PipeWriter, Read, Write, pipe};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// More than a pipe holds.
const MUCH: usize = 1 << 20;

type Shared = Arc<Stream<PipeWriter>>;

/// A stream into a pipe that is not read yet.
fn piped(buffering: Buffering) -> (Shared, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    (Arc::new(Stream::new(writer, buffering).unwrap()), reader)
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_time().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
}

/// Reads to the end, on a thread.
fn read_all(mut reader: PipeReader) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Drops the stream, whose last owner this is, and returns what arrived.
fn arrived(stream: Shared, reading: thread::JoinHandle<Vec<u8>>) -> Vec<u8> {
    drop(Arc::into_inner(stream).expect("the last owner"));
    reading.join().unwrap()
}

fn numbered(length: usize) -> Vec<u8> {
    let lines = (0..).flat_map(|n: u32| format!("{n}\n").into_bytes());
    lines.take(length).collect()
}

#[test]
fn a_task_that_only_writes_lets_others_have_their_turn() {
    let (reader, writer) = pipe().unwrap();
    let buffering = Buffering::Background {
        capacity: 1 << 20,
        overflow: Overflow::DropNewest,
    };
    // Never full for its writers, so that nothing else makes a task wait.
    let stream = Arc::new(Stream::new(writer, buffering).unwrap());
    let reading = read_all(reader);
    current_thread().block_on(async {
        let done = AtomicBool::new(false);
        let mut out = AsyncWriter::new(stream.clone());
        let write = async {
            for _ in 0..1_000_000 {
                if done.load(Ordering::Relaxed) {
                    return true;
                }
                out.write_all(b"0123456789\n").await.unwrap();
            }
            false
        };
        let other = async { done.store(true, Ordering::Relaxed) };
        let (had_its_turn, ()) = tokio::join!(biased; write, other);
        assert!(had_its_turn, "the writer kept the thread");
    });
    arrived(stream, reading);
}

#[test]
fn a_full_queue_makes_a_task_wait_and_no_thread() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(64 << 10));
        let bytes = numbered(MUCH);
        let done = AtomicBool::new(false);
        let mut out = AsyncWriter::new(stream.clone());
        let write = async {
            out.write_all(&bytes).await.unwrap();
            done.store(true, Ordering::Relaxed);
        };
        // The only thread goes on with the other task; and only that one lets the first go on.
        let other = async {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            assert!(!done.load(Ordering::Relaxed));
            read_all(reader)
        };
        let ((), reading) = tokio::join!(write, other);
        drop(out);
        assert!(arrived(stream, reading) == bytes);
    });
}

#[test]
fn a_task_that_waits_for_room_is_not_polled_again_and_again() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(64 << 10));
        let mut out = AsyncWriter::new(stream.clone());
        let bytes = numbered(MUCH);
        let polls = AtomicU32::new(0);
        let mut write = pin!(out.write_all(&bytes));
        let counted = poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            write.as_mut().poll(context)
        });
        let mut counted = pin!(counted);
        // As long as the pipe takes something it has reason to be; then only the timeout's own are left.
        let begun = Instant::now();
        loop {
            let before = polls.load(Ordering::Relaxed);
            let stalls = timeout(Duration::from_millis(50), counted.as_mut());
            assert!(stalls.await.is_err());
            if polls.load(Ordering::Relaxed) <= before + 2 {
                break;
            }
            assert!(begun.elapsed() < LIMIT, "polled all the time");
        }
        let reading = read_all(reader);
        counted.await.unwrap();
        drop(out);
        assert!(arrived(stream, reading) == bytes);
    });
}

#[test]
fn messages_of_tasks_are_whole_and_in_order() {
    for queue in [1000, 64 << 10, 16 << 20] {
        multi_thread().block_on(async {
            const TASKS: usize = 4;
            const LINES: usize = 5000;
            let (stream, reader) = piped(Buffering::background(queue));
            let reading = read_all(reader);
            let tasks: Vec<_> = (0..TASKS)
                .map(|task| {
                    let mut out = AsyncWriter::new(stream.clone());
                    tokio::spawn(async move {
                        for line in 0..LINES {
                            let text = format!("{task} {line} {}\n", "x".repeat(line % 200));
                            out.write_all(text.as_bytes()).await.unwrap();
                            if line % 1000 == 0 {
                                out.flush().await.unwrap();
                            }
                        }
                    })
                })
                .collect();
            // A thread that is no task prints, too.
            let printer = thread::spawn({
                let stream = stream.clone();
                move || (0..LINES).for_each(|line| writeln!(&*stream, "{TASKS} {line} ").unwrap())
            });
            for task in tasks {
                task.await.unwrap();
            }
            printer.join().unwrap();
            let text = String::from_utf8(arrived(stream, reading)).unwrap();
            let mut next = [0; TASKS + 1];
            for line in text.lines() {
                let parts: Vec<&str> = line.split(' ').collect();
                let [task, number, filling] = parts[..] else {
                    panic!("{line}");
                };
                let (task, number): (usize, usize) =
                    (task.parse().unwrap(), number.parse().unwrap());
                assert_eq!(number, next[task]);
                assert!(task == TASKS || filling.len() == number % 200, "{line}");
                next[task] += 1;
            }
            assert_eq!(next, [LINES; TASKS + 1]);
        });
    }
}

#[test]
fn a_flush_resolves_when_the_kernel_has_everything() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(MUCH));
        let mut out = AsyncWriter::new(stream.clone());
        let bytes = numbered(MUCH / 2);
        out.write_all(&bytes).await.unwrap();
        let mut flush = pin!(out.flush());
        let stalls = timeout(Duration::from_millis(50), flush.as_mut());
        assert!(stalls.await.is_err(), "nothing has been read");
        let reading = read_all(reader);
        timeout(LIMIT, flush).await.unwrap().unwrap();
        assert_eq!(stream.stats().bytes_queued, 0);
        // Again, with nothing to do.
        out.shutdown().await.unwrap();
        drop(out);
        assert!(arrived(stream, reading) == bytes);
    });
}

#[test]
fn a_flush_resolves_under_every_policy() {
    current_thread().block_on(async {
        for buffering in [
            Buffering::Unbuffered,
            Buffering::Line,
            Buffering::block(),
            Buffering::prompt(),
        ] {
            let (stream, reader) = piped(Buffering::background(1000));
            let mut out = AsyncWriter::new(stream.clone());
            stream.set_buffering(buffering);
            for i in 0..100 {
                out.write_all(format!("unfinished {i}, ").as_bytes())
                    .await
                    .unwrap();
            }
            timeout(LIMIT, out.flush()).await.unwrap().unwrap();
            assert_eq!(stream.stats().bytes_queued, 0);
            let two = (out.clone(), out);
            let (mut first, mut second) = two;
            first.write_all(b"again").await.unwrap();
            let (one, other) = tokio::join!(first.flush(), second.flush());
            one.unwrap();
            other.unwrap();
            assert_eq!(stream.stats().bytes_queued, 0);
            drop(reader);
        }
    });
}

#[test]
fn a_guard_of_another_thread_makes_a_task_wait_and_no_thread() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(64 << 10));
        let (locked, is_locked) = std::sync::mpsc::channel();
        let (go_on, may_go_on) = std::sync::mpsc::channel::<()>();
        let holder = thread::spawn({
            let stream = stream.clone();
            move || {
                let mut guard = stream.lock();
                guard.str("first, ");
                locked.send(()).unwrap();
                may_go_on.recv().unwrap();
                guard.str("second, ");
            }
        });
        is_locked.recv().unwrap();
        let mut out = AsyncWriter::new(stream.clone());
        let done = AtomicBool::new(false);
        let write = async {
            out.write_all(b"third").await.unwrap();
            done.store(true, Ordering::Relaxed);
        };
        let other = async {
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            assert!(!done.load(Ordering::Relaxed));
            go_on.send(()).unwrap();
        };
        let both = async { tokio::join!(write, other) };
        timeout(LIMIT, both).await.unwrap();
        holder.join().unwrap();
        drop(out);
        assert_eq!(arrived(stream, read_all(reader)), b"first, second, third");
    });
}

#[test]
fn a_task_whose_own_thread_holds_the_guard_writes_behind_what_that_has() {
    let (stream, reader) = piped(Buffering::background(4000));
    let runtime = current_thread();
    let mut guard = stream.lock();
    guard.str("guard, ");
    let mut out = AsyncWriter::new(stream.clone());
    runtime.block_on(out.write_all(b"task, ")).unwrap();
    guard.str("guard again\n");
    // The pipe is not read, and this thread has the guard: the task waits without a hang.
    let bytes = numbered(MUCH);
    let stalls = async { timeout(Duration::from_millis(50), out.write_all(&bytes)).await };
    assert!(runtime.block_on(stalls).is_err());
    drop(guard);
    drop(out);
    let text = arrived(stream, read_all(reader));
    assert!(text.starts_with(b"guard, task, guard again\n0\n1\n"));
}

#[test]
fn a_task_does_not_wait_for_a_queue_that_drops_or_spills() {
    let directory = std::env::temp_dir();
    let spill = Overflow::Spill {
        directory,
        limit: 1 << 30,
    };
    for overflow in [Overflow::DropNewest, Overflow::DropOldest, spill] {
        current_thread().block_on(async {
            let capacity = 64 << 10;
            let (stream, reader) = piped(Buffering::Background {
                capacity,
                overflow: overflow.clone(),
            });
            let mut out = AsyncWriter::new(stream.clone());
            let bytes = numbered(MUCH);
            let write = async {
                for part in bytes.chunks(100) {
                    out.write_all(part).await.unwrap();
                }
            };
            timeout(LIMIT, write).await.unwrap();
            let dropped = stream.stats().bytes_dropped;
            let spills = matches!(overflow, Overflow::Spill { .. });
            assert_eq!(dropped == 0, spills);
            drop(out);
            let text = arrived(stream, read_all(reader));
            assert!(!spills || text == bytes);
        });
    }
}

#[test]
fn a_reader_that_goes_is_an_error_of_a_task_that_waits() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(64 << 10));
        let mut out = AsyncWriter::new(stream.clone());
        let bytes = numbered(MUCH);
        let leave = async {
            tokio::task::yield_now().await;
            drop(reader);
        };
        let (result, ()) = tokio::join!(timeout(LIMIT, out.write_all(&bytes)), leave);
        let error = result.unwrap().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        assert!(out.flush().await.is_err());
        stream.clear_error();
    });
}

#[test]
fn parts_are_one_message() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(MUCH));
        let mut out = AsyncWriter::new(stream.clone());
        assert!(out.is_write_vectored());
        let large = vec![b'x'; MUCH / 2 + 1];
        let cases: [(&[&[u8]], usize); 6] = [
            (&[], 0),
            (&[b"", b""], 0),
            (&[b"", b"one"], 3),
            (&[b"one, ", b"", b"two, ", b"three"], 15),
            (&[b"one", &large], 3),
            (&[&large, b"one"], MUCH / 2),
        ];
        let mut expected = Vec::new();
        let reading = read_all(reader);
        for (parts, length) in cases {
            let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
            let before = stream.stats().messages_accepted;
            let write = poll_fn(|context| Pin::new(&mut out).poll_write_vectored(context, &slices));
            assert_eq!(timeout(LIMIT, write).await.unwrap().unwrap(), length);
            assert!(stream.stats().messages_accepted <= before + 1);
            expected.extend_from_slice(&parts.concat()[..length]);
        }
        drop(out);
        assert!(arrived(stream, reading) == expected);
    });
}

#[test]
fn a_write_that_is_given_up_has_written_all_or_nothing() {
    current_thread().block_on(async {
        let (stream, reader) = piped(Buffering::background(1000));
        let mut out = AsyncWriter::new(stream.clone());
        let mut expected = Vec::new();
        // Fills the pipe and the queue; gives up the write that does not fit.
        for n in 0.. {
            let line = format!("{n:099}\n");
            let mut write = pin!(out.write(line.as_bytes()));
            let now = poll_fn(|context| Poll::Ready(write.as_mut().poll(context))).await;
            match now {
                Poll::Ready(length) => {
                    assert_eq!(length.unwrap(), 100);
                    expected.extend_from_slice(line.as_bytes());
                }
                Poll::Pending => match timeout(Duration::from_millis(200), write).await {
                    Ok(length) => {
                        assert_eq!(length.unwrap(), 100);
                        expected.extend_from_slice(line.as_bytes());
                    }
                    Err(_) => break,
                },
            }
        }
        drop(out);
        assert!(arrived(stream, read_all(reader)) == expected);
    });
}

#[test]
fn the_buffering_that_a_stream_has_is_kept_if_it_is_a_queue() {
    let (stream, _reader) = piped(Buffering::background(12345));
    AsyncWriter::new(&*stream);
    assert_eq!(stream.buffering(), Buffering::background(12345));
    let (stream, _reader) = piped(Buffering::Line);
    AsyncWriter::new(&*stream);
    let queue = Buffering::background(Buffering::DEFAULT_BACKGROUND_CAPACITY);
    assert_eq!(stream.buffering(), queue);
}
