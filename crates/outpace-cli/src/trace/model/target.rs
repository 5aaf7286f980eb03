//! The destination of a descriptor, as `ls -l /proc/PID/fd` and `file` would say it.

use crate::platform::procfs;
use crate::platform::readers::End;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// The kinds of destination that behave differently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Terminal,
    Pipe,
    Socket,
    File,
    Null,
    Device,
    Other,
    /// It was gone before it could be looked at.
    #[default]
    Unknown,
}

impl Kind {
    /// The side that a write to it may wait for, where it is known.
    pub(crate) fn awaited(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::File | Self::Null | Self::Device => Some("device"),
            _ => Some("reader"),
        }
    }

    /// The word for it in reports and in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Pipe => "pipe",
            Self::Socket => "socket",
            Self::File => "regular file",
            Self::Null => "null device",
            Self::Device => "device",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

/// The destination of one descriptor. The default stands for a descriptor that was closed, or whose process ended, before
/// it could be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    /// As `readlink /proc/PID/fd/N` shows it.
    pub(crate) path: String,
    /// Major and minor number, for devices.
    pub(crate) device: Option<(u32, u32)>,
    /// The driver of a terminal or of the null device, or the type of a file's file system.
    pub(crate) driver: Option<String>,
    /// A write returns when the device has its bytes (O_SYNC, O_DSYNC).
    pub(crate) is_synced: bool,
    /// Device and inode: equal for two descriptors of the same file.
    pub(crate) identity: (u64, u64),
}

impl Target {
    /// Looks at a descriptor of another process.
    pub(crate) fn of(process: i32, descriptor: i32) -> Option<Self> {
        let link = format!("/proc/{process}/fd/{descriptor}");
        let metadata = fs::metadata(&link).ok()?;
        let path = procfs::link(process, descriptor)?;
        let file_type = metadata.file_type();
        // Other files have no such number.
        let number = Some(metadata.rdev()).filter(|&number| number > 0);
        let device = number.map(|number| (libc::major(number), libc::minor(number)));
        let terminal = device.filter(|_| file_type.is_char_device());
        let terminal = terminal.and_then(procfs::terminal_driver);
        let is_synced = file_type.is_file()
            && procfs::flags(process, descriptor).is_some_and(|flags| flags & libc::O_DSYNC != 0);
        let (kind, driver) = match device {
            _ if terminal.is_some() => (Kind::Terminal, terminal),
            Some((1, 3)) if file_type.is_char_device() => (Kind::Null, Some("mem".to_owned())),
            Some(_) => (Kind::Device, None),
            None if file_type.is_fifo() => (Kind::Pipe, None),
            None if file_type.is_socket() => (Kind::Socket, None),
            // memfd_create(2)
            None if path.starts_with("/memfd:") => (Kind::File, Some("tmpfs".to_owned())),
            None if file_type.is_file() => (Kind::File, procfs::file_system(process, &path)),
            None => (Kind::Other, None),
        };
        Some(Self {
            kind,
            path,
            device,
            driver,
            is_synced,
            identity: identity(&metadata),
        })
    }

    /// Only the identity, for a cheap check whether a descriptor is still what it was.
    pub(crate) fn identity_of(process: i32, descriptor: i32) -> Option<(u64, u64)> {
        let metadata = fs::metadata(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        Some(identity(&metadata))
    }

    /// Those of a process's descriptors above 2 that it may write to, without those that we inherited ourselves and passed on.
    pub(crate) fn written_beside_streams(process: i32, descriptors: &[i32]) -> Vec<i32> {
        let is_inherited = |descriptor| {
            let ours = Self::identity_of(std::process::id() as i32, descriptor);
            ours.is_some() && ours == Self::identity_of(process, descriptor)
        };
        let others = descriptors.iter().copied().filter(|&other| other > 2);
        let is_written = |&other: &i32| !is_inherited(other) && procfs::is_written(process, other);
        others.filter(is_written).collect()
    }

    /// Whether it is memory: a write to it waits for no device.
    pub(crate) fn is_memory(&self) -> bool {
        let driver = self.driver.as_deref();
        self.kind == Kind::Null || driver.is_some_and(procfs::is_in_memory)
    }

    /// Whether it is one of our own streams, which processes outside of the trace may read.
    pub(crate) fn is_ours(&self) -> bool {
        let ours = std::process::id() as i32;
        (0..=2).any(|descriptor| Self::identity_of(ours, descriptor) == Some(self.identity))
    }

    /// This one and another, where it is not known which writes went to which.
    pub(crate) fn or(&self, other: &Self) -> Self {
        if self.path.split(" or ").any(|path| path == other.path) {
            return self.clone();
        }
        Self {
            kind: [Kind::Unknown, self.kind][usize::from(self.kind == other.kind)],
            path: format!("{} or {}", self.path, other.path),
            device: None,
            is_synced: self.is_synced && other.is_synced,
            driver: self.driver.clone().filter(|_| self.driver == other.driver),
            identity: self.identity,
        }
    }

    /// One line: path, numbers, driver.
    pub(crate) fn describe(&self) -> String {
        if self.kind == Kind::Unknown && self.path.is_empty() {
            return "unknown: this could not be seen".to_owned();
        } else if self.kind == Kind::Unknown {
            return format!("{}: which writes went where could not be seen", self.path);
        }
        let mut text = format!("{} ({}", self.path, self.kind.word());
        if let Some((major, minor)) = self.device {
            text += &format!(", {major}:{minor}");
        }
        let what = ["driver", "on"][usize::from(self.kind == Kind::File)];
        if let Some(driver) = &self.driver {
            text += &format!(", {what} {driver}");
        }
        text + ")"
    }

    /// What processes may read at its other end, if it has one.
    pub(crate) fn end(&self) -> Option<End> {
        match self.kind {
            Kind::Terminal => Some(End::Terminal(self.path.clone())),
            Kind::Pipe => Some(End::Pipe(self.path.clone())),
            _ => None,
        }
    }
}

/// A device is the same through whichever node it was opened; a file is its inode.
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    match metadata.rdev() {
        0 => (metadata.dev(), metadata.ino()),
        device => (u64::MAX, device),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    fn of(file: &impl AsRawFd) -> Target {
        Target::of(std::process::id() as i32, file.as_raw_fd()).unwrap()
    }

    #[test]
    fn the_null_device_is_named_with_its_numbers_and_driver() {
        let null = of(&fs::File::open("/dev/null").unwrap());
        assert_eq!((null.kind, null.device), (Kind::Null, Some((1, 3))));
        assert_eq!(null.describe(), "/dev/null (null device, 1:3, driver mem)");
    }

    #[test]
    fn a_pseudoterminal_is_a_terminal_and_its_reader_is_the_process_with_the_other_side() {
        let (_terminal, program) = crate::platform::pty::open().unwrap();
        let target = of(&program);
        assert_eq!(target.kind, Kind::Terminal);
        assert!(target.path.starts_with("/dev/pts/"), "{target:?}");
        assert!(target.driver.is_some());
        let ours = std::process::id() as i32;
        assert!(
            target
                .end()
                .unwrap()
                .readers()
                .unwrap()
                .iter()
                .any(|(process, _)| *process == ours)
        );
    }

    #[test]
    fn a_pipe_names_the_process_that_reads_it_and_no_other_that_has_it_open() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let target = of(&writer);
        assert_eq!(target.kind, Kind::Pipe);
        assert_eq!(target.identity, of(&reader).identity);
        let mut sleeper = Command::new("sleep")
            .arg("1000")
            .stdin(reader.try_clone().unwrap())
            .spawn()
            .unwrap();
        let process = sleeper.id() as i32;
        let is_named = |process| {
            let readers = target.end().unwrap().readers().unwrap_or_default();
            readers.iter().any(|reader| reader.0 == process)
        };
        let ours = std::process::id() as i32;
        // Neither reads, and it does not wait for a third one. We are the tracer.
        while !is_named(process) {}
        assert!(!is_named(ours));
        let reading = std::thread::spawn(move || std::io::Read::read(&mut reader, &mut [0]));
        while !is_named(ours) || is_named(process) {}
        drop(writer);
        reading.join().unwrap().unwrap();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        // Not at once: another test's child holds the pipe, too, until it starts its program.
        while target.end().unwrap().readers().is_some() {}
    }

    #[test]
    fn a_regular_file_names_its_file_system() {
        let file = fs::File::open("/proc/self/exe").unwrap();
        let target = of(&file);
        assert_eq!(target.kind, Kind::File);
        assert!(target.driver.is_some(), "{target:?}");
        assert!(!target.is_memory(), "{target:?}");
    }

    #[test]
    fn a_file_in_memory_has_no_device() {
        let file = rustix::fs::memfd_create("file", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let target = of(&file);
        assert_eq!(target.kind, Kind::File);
        assert!(target.is_memory(), "{target:?}");
    }

    #[test]
    fn of_two_places_both_are_named() {
        let (_reader, pipe) = std::io::pipe().unwrap();
        let (pipe, file) = (of(&pipe), of(&fs::File::open("/proc/self/exe").unwrap()));
        let either = pipe.or(&file);
        assert_eq!(either.kind, Kind::Unknown);
        let both = format!("{} or {}: which", pipe.path, file.path);
        assert!(either.describe().starts_with(&both), "{either:?}");
        assert_eq!(pipe.or(&pipe).kind, Kind::Pipe);
    }
}
