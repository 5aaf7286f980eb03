//! What `/proc` tells about a process: counters, the call a thread is in, threads, children.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The kernel's clock tick, at which it brings the processor time of a running thread up to date and tells its parts apart; and
/// the unit in which it tells those.
pub(crate) const TICK_NS: u64 = 4_000_000;
pub(crate) const UNIT_NS: u64 = 10_000_000;

/// Numbers that grow, with their sums and differences.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) struct $name {
            $($(#[$what])* pub(crate) $field: u64,)*
        }

        impl $name {
            /// Both together.
            pub(crate) fn plus(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }

            /// What was added since `earlier`.
            pub(crate) fn since(self, earlier: Self) -> Self {
                Self { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }
        }
    };
}

counters! {
    /// The kernel's own accounting of a process's reads and writes (`/proc/PID/io`). It covers every
    /// thread, ended ones too, and the children the process has waited for.
    IoCounters {
        bytes_read,
        bytes_written,
        read_calls,
        write_calls,
    }
}

counters! {
    /// Time of threads on a processor, and without one.
    Processor {
        /// To the nanosecond.
        total_ns,
        /// Its parts in the program and in the kernel, which the kernel tells apart by clock ticks.
        user_ns,
        system_ns,
        /// Ready to run without a processor.
        delayed_ns,
    }
}

impl IoCounters {
    fn parse(text: &str) -> Self {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
                .unwrap_or(0)
        };
        Self {
            bytes_read: field("rchar"),
            bytes_written: field("wchar"),
            read_calls: field("syscr"),
            write_calls: field("syscw"),
        }
    }

    /// The counters of a process, or of the whole of this one.
    pub(crate) fn of(process: &str) -> io::Result<Self> {
        fs::read_to_string(format!("/proc/{process}/io")).map(|text| Self::parse(&text))
    }

    /// The counters in an open `/proc/PID/io`. Held open it can be read until the process is reaped.
    pub(crate) fn read(file: &fs::File) -> io::Result<Self> {
        read_again(file).map(|text| Self::parse(&text))
    }
}

/// The text of an open file of `/proc`, as it is now.
pub(crate) fn read_again(file: &fs::File) -> io::Result<String> {
    let mut text = [0; 1024];
    let length = file.read_at(&mut text, 0)?;
    Ok(String::from_utf8_lossy(&text[..length]).into_owned())
}

impl Processor {
    /// Of these parts.
    pub(crate) fn of(user_ns: u64, system_ns: u64) -> Self {
        Self {
            total_ns: user_ns + system_ns,
            user_ns,
            system_ns,
            delayed_ns: 0,
        }
    }
}

/// Processor time and page faults of a process (`/proc/PID/stat`), without its children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// It has ended, and what it has used will not change.
    pub(crate) has_ended: bool,
    pub(crate) parent: i32,
    pub(crate) processor: Processor,
    pub(crate) minor_faults: u64,
    /// Faults of the children it has waited for: changes when it reaps one.
    pub(crate) children_faults: u64,
}

impl Usage {
    /// What `/proc/PID/stat` or `/proc/PID/task/TID/stat` says.
    pub(crate) fn parse(text: &str, ticks_per_second: u64) -> Option<Self> {
        // The name, in parentheses, may itself hold spaces and parentheses.
        let fields: Vec<&str> = text[text.rfind(')')? + 1..]
            .split_ascii_whitespace()
            .collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let nanoseconds = |index| Some(number(index)? * (1_000_000_000 / ticks_per_second));
        let (user_ns, system_ns) = (nanoseconds(11)?, nanoseconds(12)?);
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            minor_faults: number(7)?,
            children_faults: number(8)?,
            processor: Processor::of(user_ns, system_ns),
        })
    }

    pub(crate) fn of(process: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        Self::parse(&text, rustix::param::clock_ticks_per_second())
    }
}

/// What a thread was doing at the moment it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// On a processor, or waiting for one.
    Running,
    /// Asleep inside this system call, which returns to that address.
    InCall {
        number: i64,
        arguments: [u64; 6],
        returns_to: u64,
    },
    /// Asleep, not in a system call (a page fault, a stop).
    Asleep,
    /// The kernel does not let us look, or the thread has ended.
    Hidden,
}

impl Doing {
    pub(crate) fn of(process: i32, thread: i32) -> Self {
        fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall"))
            .map_or(Self::Hidden, |text| Self::parse(&text))
    }

    /// Parses the text of `/proc/PID/task/TID/syscall`.
    pub(crate) fn parse(text: &str) -> Self {
        let mut fields = text.split_ascii_whitespace();
        match fields.next() {
            Some("running") => Self::Running,
            Some("-1") => Self::Asleep,
            Some(number) => {
                let words: Option<Vec<u64>> = fields
                    .map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
                    .collect();
                // The arguments, the stack pointer, the instruction pointer.
                match (number.parse(), words.as_deref()) {
                    (Ok(number), Some(&[a, b, c, d, e, f, _, returns_to])) => Self::InCall {
                        number,
                        arguments: [a, b, c, d, e, f],
                        returns_to,
                    },
                    _ => Self::Hidden,
                }
            }
            None => Self::Hidden,
        }
    }
}

fn numbers_in(directory: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The threads of a process.
pub(crate) fn threads(process: i32) -> Vec<i32> {
    numbers_in(&format!("/proc/{process}/task"))
}

/// The children of one thread.
pub(crate) fn children(process: i32, thread: i32) -> Vec<i32> {
    fs::read_to_string(format!("/proc/{process}/task/{thread}/children"))
        .map(|text| text.split_ascii_whitespace().flat_map(str::parse).collect())
        .unwrap_or_default()
}

/// The open descriptors of a process.
pub(crate) fn descriptors(process: i32) -> Vec<i32> {
    numbers_in(&format!("/proc/{process}/fd"))
}

/// Where a descriptor of a process leads, as a text.
pub(crate) fn link(process: i32, descriptor: i32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// What `/proc/PID/fdinfo` says of a descriptor under this name.
pub(crate) fn about(process: i32, descriptor: i32, name: &str) -> Option<String> {
    let info = fs::read_to_string(format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    let mut values = info.lines().filter_map(|line| line.strip_prefix(name));
    values.next().map(|value| value.trim().to_owned())
}

/// How a descriptor was opened: `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
pub(crate) fn access(process: i32, descriptor: i32) -> Option<i32> {
    let flags = about(process, descriptor, "flags:")?;
    Some(i32::from_str_radix(&flags, 8).ok()? & libc::O_ACCMODE)
}

/// Whether a descriptor of a process is open for writing and leads outside of it (not to one of the
/// kernel's notification objects, such as an eventfd).
pub(crate) fn is_written(process: i32, descriptor: i32) -> bool {
    let link = link(process, descriptor);
    !link.is_some_and(|path| path.starts_with("anon_inode:"))
        && access(process, descriptor).is_some_and(|access| access != libc::O_RDONLY)
}

/// Whether a descriptor is the end of a pipe of which the process has the other end, too: how threads
/// of one wake one another.
pub(crate) fn is_read_by_itself(process: i32, descriptor: i32, descriptors: &[i32]) -> bool {
    let pipe = link(process, descriptor).filter(|path| path.starts_with("pipe:"));
    let mut others = descriptors.iter().filter(|&&other| other != descriptor);
    pipe.is_some() && others.any(|&other| link(process, other) == pipe)
}

/// Every process of the machine.
pub(crate) fn processes() -> Vec<i32> {
    numbers_in("/proc")
}

/// The short name the kernel keeps for a process.
pub(crate) fn name(process: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{process}/comm"))
        .ok()
        .map(|name| name.trim_end().to_owned())
}

/// The words of a process's command line, its program's name first.
pub(crate) fn arguments(process: i32) -> Vec<String> {
    words(&format!("/proc/{process}/cmdline"))
}

/// The variables that a process was started with, as `NAME=value`.
pub(crate) fn environment(process: i32) -> Vec<String> {
    words(&format!("/proc/{process}/environ"))
}

fn words(file: &str) -> Vec<String> {
    let text = fs::read(file).unwrap_or_default();
    let words = text
        .split(|&byte| byte == 0)
        .filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The executable file of a process.
pub(crate) fn executable(process: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_a_write_shows_its_arguments() {
        let text = "1 0x2 0x7ffd5e3c 0x1000 0x0 0xffffffffffffffff 0x0 0x7ffd 0x7f12\n";
        let arguments = [2, 0x7ffd_5e3c, 0x1000, 0, u64::MAX, 0];
        assert_eq!(
            Doing::parse(text),
            Doing::InCall {
                number: 1,
                arguments,
                returns_to: 0x7f12
            }
        );
        assert_eq!(Doing::parse("running\n"), Doing::Running);
        assert_eq!(Doing::parse("-1 0x7ffd 0x7f12\n"), Doing::Asleep);
        assert_eq!(Doing::parse(""), Doing::Hidden);
        assert_eq!(Doing::parse("1 0x2\n"), Doing::Hidden);
    }

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let text = "12 (a) b) c) S 7 12 12 0 -1 4194560 321 9 0 0 250 50 0 0 20 0 1 0 1 2 3";
        let usage = Usage::parse(text, 100).unwrap();
        assert!(!usage.has_ended);
        assert_eq!(usage.parent, 7);
        assert_eq!(usage.minor_faults, 321);
        assert_eq!(usage.processor.user_ns, 2_500_000_000);
        assert_eq!(usage.processor.system_ns, 500_000_000);
    }

    #[test]
    fn the_counters_of_this_process_grow_with_its_writes() {
        let before = IoCounters::of("self").unwrap();
        let file = fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        for _ in 0..10 {
            io::Write::write_all(&mut &file, b"0123456789").unwrap();
        }
        let since = IoCounters::of("self").unwrap().since(before);
        assert!(
            since.write_calls >= 10 && since.bytes_written >= 100,
            "{since:?}"
        );
    }
}
