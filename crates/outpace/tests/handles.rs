//! Methods and traits of std's handles, which these have, too.

#![cfg(not(loom))]

use outpace::{Buffering, Guard, Stderr, Stdout, Stream};
use std::fmt::Debug;
use std::fs::File;
use std::io::{Read, Write, pipe};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::Stdio;

/// All that std implements for its handles.
#[cfg(unix)]
trait Descriptor: std::os::fd::AsFd + std::os::fd::AsRawFd {}
#[cfg(unix)]
impl<T: std::os::fd::AsFd + std::os::fd::AsRawFd> Descriptor for T {}
#[cfg(windows)]
trait Descriptor: std::os::windows::io::AsHandle + std::os::windows::io::AsRawHandle {}
#[cfg(windows)]
impl<T: std::os::windows::io::AsHandle + std::os::windows::io::AsRawHandle> Descriptor for T {}

#[test]
fn every_trait_of_stds_handles_is_there() {
    fn handle<T>()
    where
        T: Descriptor + Write + Debug + Send + Sync + UnwindSafe + RefUnwindSafe + Unpin + 'static,
        for<'a> &'a T: Write,
    {
    }
    fn guard<T: Descriptor + Write + Debug + UnwindSafe + RefUnwindSafe + Unpin>() {}
    fn stdio<T: Into<Stdio>>() {}
    handle::<std::io::Stdout>();
    handle::<Stdout>();
    handle::<Stderr>();
    handle::<Stream<File>>();
    guard::<std::io::StdoutLock<'static>>();
    guard::<Guard<'static>>();
    stdio::<Stdout>();
    stdio::<Stderr>();
}

#[cfg(unix)]
#[test]
fn a_descriptor_is_that_of_the_stream() {
    use std::os::fd::{AsFd, AsRawFd};
    assert_eq!(outpace::stdout().as_raw_fd(), 1);
    assert_eq!(outpace::stderr().as_fd().as_raw_fd(), 2);
    assert_eq!(outpace::stderr().lock().as_raw_fd(), 2);
    let (_reader, writer) = pipe().unwrap();
    let fd = writer.as_raw_fd();
    let stream = Stream::new(writer, Buffering::block()).unwrap();
    assert_eq!(stream.as_raw_fd(), fd);
    // The portable path has a duplicate.
    assert_eq!(stream.lock().as_raw_fd() == fd, !cfg!(outpace_portable));
    assert!(!stream.is_terminal());
    assert!(!stream.lock().is_terminal());
}

#[cfg(unix)]
#[test]
fn a_terminal_is_one_by_every_handle() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options()
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let stream = Stream::new(slave, Buffering::block()).unwrap();
    assert!(stream.is_terminal());
    assert!(stream.lock().is_terminal());
}

#[test]
fn a_shared_stream_is_written_by_reference() {
    let (mut reader, writer) = pipe().unwrap();
    let stream = Stream::new(writer, Buffering::block()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| std::io::copy(&mut &b"copied\n"[..], &mut &stream).unwrap());
        }
    });
    let by_trait: &mut dyn Write = &mut &stream;
    writeln!(by_trait, "{:>9}", 1).unwrap();
    drop(stream);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "copied\ncopied\n        1\n");
}

/// Numbers of every size, and of every bit pattern's kind.
fn bits() -> impl Iterator<Item = u64> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let special = [
        0,
        1,
        f64::MAX.to_bits(),
        f64::MIN_POSITIVE.to_bits(),
        f64::NAN.to_bits(),
        f64::INFINITY.to_bits(),
        f64::NEG_INFINITY.to_bits(),
        (-0.0_f64).to_bits(),
        1e16_f64.to_bits(),
        9.5_f64.to_bits(),
        1e-5_f64.to_bits(),
    ];
    special.into_iter().chain((0..20_000).map(move |i| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        match i % 3 {
            0 => random,
            1 => ((random % 1_000_000) as f64 / 100.0).to_bits(),
            _ => (random % 1000) << 52 | random >> 12,
        }
    }))
}

#[test]
fn floats_are_what_std_makes_of_them() {
    let (mut reader, writer) = pipe().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    let stream = Stream::new(writer, Buffering::Block { capacity: 4096 }).unwrap();
    let mut expected = String::new();
    {
        let mut out = stream.lock();
        for bits in bits() {
            let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
            // As the first of a message, and in the middle of a long one, of a nested one, of a reserved one.
            out.float(double).char(' ').float(single).char('\n');
            out.bytes(&[b'.'; 60])
                .float(double)
                .float(single)
                .char('\n');
            expected += &format!("{double} {single}\n");
            expected += &format!("{:.<60}{double}{single}\n", "");
        }
        let mut message = out.reserve(8);
        message.float(1e300).float(-0.5_f32);
        message.commit();
        stream.lock().float(2.5).char('\n');
        expected += &format!("{}-0.52.5\n", 1e300);
    }
    stream.close().unwrap();
    let found = reading.join().unwrap();
    if found != expected {
        let (found, expected) = found
            .lines()
            .zip(expected.lines())
            .find(|(found, expected)| found != expected)
            .unwrap();
        panic!("{found} instead of {expected}");
    }
}
