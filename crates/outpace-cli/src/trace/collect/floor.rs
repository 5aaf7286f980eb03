//! The least cost of a write on this machine: times a few hundred of the same size to an empty destination of the same
//! kind that no other process uses. It takes about a millisecond, after the program has ended.

use crate::platform::clock;
use crate::platform::pty;
use crate::trace::model::target::{Kind, Target};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The fastest of so many rounds counts: other work on the machine only adds time.
const ROUNDS: usize = 8;
/// The most writes and bytes of a round: all rounds together find room without a reader.
const WRITES: usize = 200;
const BYTES: usize = 4096;

/// Nanoseconds that a write of this size takes; `None` where no destination of the kind can be opened.
pub(in crate::trace) fn write_ns(target: &Target, size: u64) -> Option<f64> {
    let size = usize::try_from(size).ok()?.clamp(1, BYTES);
    // Keeps the other side open until the end.
    let (_reader, writer): (Option<OwnedFd>, File) = match target.kind {
        Kind::Null => (None, File::options().write(true).open("/dev/null").ok()?),
        Kind::File => (None, beside(target).ok()?),
        Kind::Pipe => {
            let (reader, writer) = io::pipe().ok()?;
            (Some(reader.into()), OwnedFd::from(writer).into())
        }
        Kind::Terminal => {
            let (terminal, program) = pty::open().ok()?;
            (Some(terminal), program.into())
        }
        _ => return None,
    };
    // Where there is less room, the rounds that found room count.
    let flags = fcntl_getfl(&writer).ok()?;
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).ok()?;
    fastest_ns(&writer, size)
}

/// Nanoseconds that a write of this size takes in the fastest round.
pub(super) fn fastest_ns(writer: &File, size: usize) -> Option<f64> {
    let mut line = vec![b'x'; size];
    line[size - 1] = b'\n';
    let writes = (BYTES / size).clamp(1, WRITES);
    (0..ROUNDS)
        .map_while(|_| round_ns(writer, &line, writes).ok())
        .reduce(f64::min)
}

/// Nanoseconds a write, of so many.
fn round_ns(mut writer: &File, line: &[u8], writes: usize) -> io::Result<f64> {
    let began_ns = clock::now_ns();
    for _ in 0..writes {
        writer.write_all(line)?;
    }
    Ok((clock::now_ns() - began_ns) as f64 / writes as f64)
}

/// A file without a name, in the file system of another.
fn beside(target: &Target) -> io::Result<File> {
    let directory = Path::new(&target.path)
        .parent()
        .ok_or(io::ErrorKind::NotFound)?;
    let file = OpenOptions::new()
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(directory)?;
    let is_same = file.metadata()?.dev() == target.identity.0;
    is_same
        .then_some(file)
        .ok_or_else(|| io::ErrorKind::CrossesDevices.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_takes_time_on_every_kind_of_destination() {
        let (reader, pipe) = io::pipe().unwrap();
        let (_terminal, program) = pty::open().unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let null = File::options().write(true).open("/dev/null").unwrap();
        let destinations: [&dyn std::os::fd::AsRawFd; 3] = [&pipe, &program, &null];
        for destination in destinations {
            let target = Target::of(std::process::id() as i32, destination.as_raw_fd()).unwrap();
            for size in [0, 12, 1000, 100_000] {
                let took_ns = write_ns(&target, size);
                assert!(took_ns.is_some_and(|ns| ns > 0.0), "{target:?}");
            }
        }
        drop(reader);
        let target = Target::of(
            std::process::id() as i32,
            std::os::fd::AsRawFd::as_raw_fd(&file),
        )
        .unwrap();
        match write_ns(&target, 12) {
            Some(took_ns) => assert!(took_ns > 0.0),
            None => eprintln!("skipped: no O_TMPFILE beside {}", target.path),
        }
        assert_eq!(
            std::fs::read(file.path()).unwrap(),
            b"",
            "the file itself is left alone"
        );
        assert_eq!(write_ns(&Target::default(), 12), None);
    }
}
