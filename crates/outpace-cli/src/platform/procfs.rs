//! Facts about processes from `/proc` (proc(5)): counters, threads, children, descriptors, names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

/// The kernel's clock tick. At each one it updates the processor time of a running thread, and counts the tick as time in the
/// program or in the kernel.
pub(crate) const TICK_NS: u64 = 4_000_000;
/// The unit in which it reports these two times.
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

            /// The growth since `earlier`.
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
        /// Pages that it touched for the first time.
        faults,
        /// How often they were given a processor.
        turns,
    }
}

impl IoCounters {
    fn parse(text: &str) -> Self {
        let field = |name| value(text, name)?.parse::<u64>().ok();
        let [bytes_read, bytes_written, read_calls, write_calls] =
            ["rchar", "wchar", "syscr", "syscw"].map(|name| field(name).unwrap_or(0));
        Self {
            bytes_read,
            bytes_written,
            read_calls,
            write_calls,
        }
    }

    /// The counters of a process, or of the whole of this one (`self`). An error where the kernel does not count, or does not
    /// let us look.
    pub(crate) fn of(process: impl Display) -> io::Result<Self> {
        text_of(&format!("/proc/{process}/io")).map(|text| Self::parse(&text))
    }

    /// The counters in an open `/proc/PID/io`. Held open it can be read until the process is reaped.
    pub(crate) fn read(file: &fs::File) -> io::Result<Self> {
        read_again(file).map(|text| Self::parse(&text))
    }
}

/// The text of an open file of `/proc`, as it is now. Its lines are short: a read that leaves half of its room empty was the last.
pub(crate) fn read_again(file: &fs::File) -> io::Result<String> {
    let (mut text, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let length = file.read_at(&mut part, text.len() as u64)?;
        text.extend_from_slice(&part[..length]);
        if length < part.len() / 2 {
            return Ok(String::from_utf8_lossy(&text).into_owned());
        }
    }
}

/// The same of a file that is opened for it. `fs::read_to_string` makes two more system calls.
fn text_of(file: &str) -> io::Result<String> {
    read_again(&fs::File::open(file)?)
}

/// A reader that its writer wakes takes the writer's processor for this long, on average, at most. Another program takes it for milliseconds.
const MOST_TAKEN_NS: u64 = 10_000;

impl Processor {
    /// The sum of these parts, without a delay.
    pub(crate) fn of(user_ns: u64, system_ns: u64) -> Self {
        Self {
            total_ns: user_ns + system_ns,
            user_ns,
            system_ns,
            ..Self::default()
        }
    }

    /// The part of the delay that came in short pieces: readers that the thread woke had its processor.
    pub(crate) fn taken_ns(self) -> u64 {
        self.delayed_ns.min(self.turns * MOST_TAKEN_NS)
    }

    /// The rest of the delay.
    pub(crate) fn held_up_ns(self) -> u64 {
        self.delayed_ns - self.taken_ns()
    }

    /// The same parts, with what a thread's `schedstat` (proc(5)) has: to the nanosecond, its time, its delay and its turns.
    pub(crate) fn scheduled(self, schedstat: &str) -> Option<Self> {
        let mut fields = schedstat.split_ascii_whitespace().map(str::parse);
        let mut next = || fields.next()?.ok();
        Some(Self {
            total_ns: next()?,
            delayed_ns: next()?,
            turns: next()?,
            ..self
        })
    }
}

/// The `stat` of a process, without its children, or of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// It, or the first thread of a process, has ended: its own counters do not change any more.
    pub(crate) has_ended: bool,
    /// Stopped, by Ctrl-Z say.
    pub(crate) is_stopped: bool,
    /// Stopped by a process that traces it (ptrace).
    pub(crate) is_held: bool,
    /// Asleep in a way that no signal ends, for another's lock say.
    pub(crate) is_uninterruptible: bool,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// The number of the controlling terminal, and its foreground process group.
    pub(crate) terminal: u32,
    pub(crate) foreground: i32,
    pub(crate) is_of_kernel: bool,
    /// The processor time of children it has waited for.
    pub(crate) children: Processor,
    /// Faults of the children it has waited for: changes when it reaps one.
    pub(crate) children_faults: u64,
    pub(crate) processor: Processor,
    pub(crate) threads: u64,
    /// When it was started, in clock ticks since the machine was.
    pub(crate) start: u64,
}

impl Stat {
    /// Whether the whole process has ended. A first thread that has ended stays a zombie for as long as other threads run.
    pub(crate) fn is_over(self) -> bool {
        self.has_ended && self.threads <= 1
    }

    /// Its processor time and that of the children it has waited for.
    pub(crate) fn with_children(self) -> Processor {
        self.processor.plus(self.children)
    }

    /// Reads the text of `/proc/PID/stat` or `/proc/PID/task/TID/stat`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        const PF_KTHREAD: u64 = 0x20_0000;
        // The name, in parentheses, may itself hold spaces and parentheses.
        let fields: Vec<&str> = text[text.rfind(')')? + 1..]
            .split_ascii_whitespace()
            .collect();
        let number = |index: usize| fields.get(index)?.parse::<i64>().ok();
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        let nanoseconds = |index| Some(number(index)? as u64 * (1_000_000_000 / ticks_per_second));
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            is_stopped: *fields.first()? == "T",
            is_held: *fields.first()? == "t",
            is_uninterruptible: *fields.first()? == "D",
            parent: number(1)? as i32,
            group: number(2)? as i32,
            session: number(3)? as i32,
            terminal: number(4)? as u32,
            foreground: number(5)? as i32,
            is_of_kernel: number(6)? as u64 & PF_KTHREAD != 0,
            children_faults: number(8)? as u64,
            processor: Processor {
                faults: number(7)? as u64,
                ..Processor::of(nanoseconds(11)?, nanoseconds(12)?)
            },
            children: Processor::of(nanoseconds(13)?, nanoseconds(14)?),
            threads: number(17)? as u64,
            start: number(19)? as u64,
        })
    }

    /// Whether the terminal of this number is the controlling one.
    pub(crate) fn has_terminal(&self, number: u64) -> bool {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        self.terminal == minor & 0xff | major << 8 | (minor & !0xff) << 12
    }

    pub(crate) fn of(process: i32) -> Option<Self> {
        Self::parse(&text_of(&format!("/proc/{process}/stat")).ok()?)
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

/// The threads of a process that have not ended: its first one may have, before the others.
pub(crate) fn running_threads(process: i32) -> Vec<i32> {
    let mut threads = threads(process);
    threads.retain(|&thread| Stat::of(thread).is_some_and(|stat| !stat.has_ended));
    threads
}

/// The processor time of a whole process, with the delay and the turns of its threads.
pub(crate) fn processor(process: i32) -> Option<Processor> {
    let Processor {
        user_ns, system_ns, ..
    } = Stat::of(process)?.processor;
    let of_thread = |thread| {
        let schedstat = text_of(&format!("/proc/{process}/task/{thread}/schedstat"));
        Processor::default().scheduled(&schedstat.ok()?)
    };
    let all = threads(process).into_iter().filter_map(of_thread);
    let all = all.reduce(Processor::plus)?;
    Some(Processor {
        user_ns,
        system_ns,
        ..all
    })
}

fn numbers_of(file: &fs::File) -> Vec<i32> {
    let text = read_again(file).unwrap_or_default();
    text.split_ascii_whitespace().flat_map(str::parse).collect()
}

/// The children of one thread.
pub(crate) fn children(process: i32, thread: i32) -> Vec<i32> {
    children_file(process, thread).map_or_else(|_| Vec::new(), |file| numbers_of(&file))
}

fn children_file(process: i32, thread: i32) -> io::Result<fs::File> {
    fs::File::open(format!("/proc/{process}/task/{thread}/children"))
}

/// Processes and their descendants, each with its threads, but for this process and its own.
pub(crate) fn tree(mut processes: Vec<i32>) -> BTreeMap<i32, Vec<i32>> {
    let ours = std::process::id() as i32;
    let mut found = BTreeMap::new();
    while let Some(process) = processes.pop() {
        if process == ours || found.contains_key(&process) {
            continue;
        }
        let threads = threads(process);
        if threads.is_empty() {
            continue;
        }
        let children = threads.iter().flat_map(|&thread| children(process, thread));
        processes.extend(children);
        found.insert(process, threads);
    }
    found
}

/// The threads of these processes that have not ended, each with its process.
pub(crate) fn tree_threads(root: i32) -> Vec<(i32, i32)> {
    let of_process = |process| {
        let threads = running_threads(process).into_iter();
        threads.map(move |thread| (process, thread))
    };
    tree(vec![root]).into_keys().flat_map(of_process).collect()
}

/// So many bytes at `address` in the memory of a process, if all of them can be read.
pub(crate) fn peek(process: i32, address: u64, length: u64) -> Option<Vec<u8>> {
    let memory = fs::File::open(format!("/proc/{process}/mem")).ok()?;
    let mut bytes = vec![0; length as usize];
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(bytes)
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

/// The value of this name in a descriptor's `/proc/PID/fdinfo`.
pub(crate) fn about(process: i32, descriptor: i32, name: &str) -> Option<String> {
    let info = text_of(&format!("/proc/{process}/fdinfo/{descriptor}")).ok()?;
    value(&info, name).map(str::to_owned)
}

/// The value of this name in the `/proc/PID/status` of a process or thread.
pub(crate) fn status(process: impl Display, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    value(&status, name).map(str::to_owned)
}

/// The value of a name in a file of `/proc` that has a line for each.
pub(crate) fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

/// The flags with which a descriptor was opened.
pub(crate) fn flags(process: i32, descriptor: i32) -> Option<i32> {
    i32::from_str_radix(&about(process, descriptor, "flags")?, 8).ok()
}

/// How a descriptor was opened: `O_RDONLY`, `O_WRONLY` or `O_RDWR`.
pub(crate) fn access(process: i32, descriptor: i32) -> Option<i32> {
    Some(flags(process, descriptor)? & libc::O_ACCMODE)
}

/// The position of a descriptor in its file.
pub(crate) fn position(process: i32, descriptor: i32) -> Option<u64> {
    about(process, descriptor, "pos")?.parse().ok()
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

/// Our own children, without those that we had when this was first asked: what has become us (exec in a shell) may have started some.
pub(crate) fn own_children() -> Vec<i32> {
    static OURS: OnceLock<Option<(fs::File, Vec<i32>)>> = OnceLock::new();
    let open = || {
        let ours = std::process::id() as i32;
        let file = children_file(ours, ours).ok()?;
        let before = numbers_of(&file);
        Some((file, before))
    };
    let Some((file, before)) = OURS.get_or_init(open) else {
        return Vec::new();
    };
    let mut own = numbers_of(file);
    own.retain(|child| !before.contains(child));
    own
}

/// Every process of the machine.
pub(crate) fn processes() -> Vec<i32> {
    numbers_in("/proc")
}

/// The short name the kernel keeps for a process.
pub(crate) fn name(process: i32) -> Option<String> {
    // The kernel cuts it after 15 bytes, perhaps within a letter.
    let name = text_of(&format!("/proc/{process}/comm")).ok()?;
    Some(name.trim_ascii_end().to_owned())
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

/// The executable file of a process, also one that has been deleted since.
pub(crate) fn executable(process: i32) -> Option<PathBuf> {
    let file = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    let bytes = file.as_os_str().as_bytes();
    Some(match bytes.strip_suffix(b" (deleted)") {
        Some(path) => OsStr::from_bytes(path).into(),
        None => file,
    })
}

/// Whether it has given its memory back, which a process that ends does before it closes its descriptors, one after the other.
pub(crate) fn is_ending(process: i32) -> bool {
    executable(process).is_none()
}

/// Whether a process runs a program for another kind of processor than ours is: a 32-bit one on a 64-bit machine, whose system calls
/// have other numbers.
pub(crate) fn is_foreign(process: i32) -> bool {
    // The class in the head of an ELF file.
    const OURS: u8 = if cfg!(target_pointer_width = "64") {
        2
    } else {
        1
    };
    let mut head = [0; 5];
    let file = fs::File::open(format!("/proc/{process}/exe"));
    let read = file.and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[4] != OURS
}

/// Numbers from the first to the last, as `0-63`, or a single one.
pub(crate) fn range<T: FromStr>(text: &str) -> Option<RangeInclusive<T>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

/// The type of the file system that a process has mounted at a path, or above it.
pub(crate) fn file_system(process: impl Display, path: impl AsRef<Path>) -> Option<String> {
    let mounts = fs::read_to_string(format!("/proc/{process}/mounts")).ok()?;
    file_system_in(&mounts, path.as_ref()).map(str::to_owned)
}

fn file_system_in<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    // As proc_pid_mountinfo(5) and fstab(5) have them.
    let blanks = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\043", "#"),
        ("\\134", "\\"),
    ];
    let plain = |text: &str| {
        blanks
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((plain(fields.next()?), fields.next()?))
    });
    let above = mounts.filter(|(mounted, _)| path.starts_with(mounted));
    let nearest = above.max_by_key(|(mounted, _)| mounted.len());
    nearest.map(|(_, kind)| kind)
}

/// The name of the terminal driver that owns a device number, from `/proc/tty/drivers`.
pub(crate) fn terminal_driver((major, minor): (u32, u32)) -> Option<String> {
    let drivers = fs::read_to_string("/proc/tty/drivers").ok()?;
    drivers.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [name, _, at, minors, ..] = fields[..] else {
            return None;
        };
        let is_it = at.parse() == Ok(major) && range::<u32>(minors)?.contains(&minor);
        is_it.then(|| name.to_owned())
    })
}

/// Whether file systems of a type are in memory.
pub(crate) fn is_in_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs" | "devtmpfs")
}

/// Whether one of these descriptors of a process, beside its streams, leads to a thing of this kind, as its link begins: `socket:`, or
/// `anon_inode:[io_uring]`, by which it may write without a system call for each write.
pub(crate) fn has_one_of(kind: &str, process: i32, descriptors: &[i32]) -> bool {
    let others = descriptors.iter().filter(|&&other| other > 2);
    let mut links = others.filter_map(|&other| link(process, other));
    links.any(|path| path.starts_with(kind))
}

/// Whether a process has a context of io_submit(2): another such way. It takes a look at all of its mappings.
pub(crate) fn has_aio(process: i32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps"));
    maps.is_ok_and(|maps| maps.lines().any(|line| line.contains(" /[aio]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_waits_for_a_processor_are_those_for_readers_that_were_woken() {
        let waits = |delayed_ns, turns| {
            let processor = Processor {
                delayed_ns,
                turns,
                ..Processor::default()
            };
            (processor.taken_ns(), processor.held_up_ns())
        };
        assert_eq!(waits(300_000_000, 90_000), (300_000_000, 0));
        // Other programs take a slice each time.
        assert_eq!(waits(300_000_000, 100), (1_000_000, 299_000_000));
    }

    #[test]
    fn a_file_is_on_the_file_system_that_is_mounted_nearest_above_it() {
        let mounts = "/dev/a / ext4 rw 0 0\nb /mnt tmpfs rw 0 0\n/dev/c /mnt/two\\040words\\134 xfs rw 0 0\n";
        for (path, kind) in [
            ("/etc", "ext4"),
            ("/mnt/two", "tmpfs"),
            ("/mnt/two words\\/x", "xfs"),
            ("/mnts", "ext4"),
        ] {
            assert_eq!(
                file_system_in(mounts, Path::new(path)),
                Some(kind),
                "{path}"
            );
        }
    }

    #[test]
    fn a_process_name_with_parentheses_does_not_shift_the_fields() {
        let text = "12 (a) b) c) S 7 12 12 0 -1 4194560 321 9 0 0 250 50 0 0 20 0 1 0 1 2 3";
        let stat = Stat::parse(text).unwrap();
        assert!(!stat.has_ended);
        assert_eq!((stat.parent, stat.session, stat.threads), (7, 12, 1));
        assert_eq!(stat.processor.user_ns, 5 * stat.processor.system_ns);
        assert_eq!(stat.start, 1);
    }

    #[test]
    fn terminals_are_numbered_as_the_kernel_does() {
        for (number, encoded) in [(5, 136 << 8 | 5), (300, 136 << 8 | 44 | 1 << 20)] {
            let stat = Stat {
                terminal: encoded,
                ..Stat::default()
            };
            assert!(stat.has_terminal(rustix::fs::makedev(136, number)));
            assert!(!stat.has_terminal(rustix::fs::makedev(136, number + 1)));
        }
    }

    #[test]
    fn this_process_is_seen_as_it_is() {
        let stat = Stat::of(std::process::id() as i32).unwrap();
        assert!(!stat.is_of_kernel && !stat.has_ended && stat.threads > 0);
        assert_eq!(stat.parent, std::os::unix::process::parent_id() as i32);
        let known = status("self", "Name");
        assert_eq!(name(std::process::id() as i32), known);
    }

    #[test]
    fn a_name_that_is_cut_within_a_letter_is_a_name() {
        let named = std::thread::spawn(|| {
            rustix::thread::set_name(c"reader \xe3\x83").unwrap();
            name(rustix::thread::gettid().as_raw_pid())
        });
        assert_eq!(named.join().unwrap().as_deref(), Some("reader \u{fffd}"));
    }

    #[test]
    fn a_value_is_that_of_its_whole_name() {
        let text = "SigBlk:\t0000000000010000\nflags:\t02\nrchar: 12\n";
        assert_eq!(value(text, "rchar"), Some("12"));
        assert_eq!(value(text, "SigBlk"), Some("0000000000010000"));
        assert_eq!(value(text, "Sig"), None);
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
