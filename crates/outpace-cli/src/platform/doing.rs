//! The system call that a thread is in (`syscall` in proc(5)).

use super::procfs::{self, Stat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::fs;

#[cfg(target_arch = "x86_64")]
const OLDER: [i64; 3] = [libc::SYS_poll, libc::SYS_select, libc::SYS_epoll_wait];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: [i64; 3] = [libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_pwait];
/// The calls that wait for any of several descriptors: of an array, of sets, of an object of the kernel.
pub(crate) const POLLS: [i64; 7] = [
    OLDER[0],
    libc::SYS_ppoll,
    OLDER[1],
    libc::SYS_pselect6,
    OLDER[2],
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
];
/// The calls that open a file. C libraries other than glibc make the older ones, where the processor has them.
pub(crate) const OPENS: &[i64] = &[
    libc::SYS_openat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];
/// More descriptors are not followed.
const MOST: u64 = 1024;

/// The state of a thread when it was sampled.
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

    /// The number and the arguments of the call that it sleeps in.
    pub(crate) fn call(self) -> Option<(i64, [u64; 6])> {
        let (number, arguments, _) = self.call_and_place()?;
        Some((number, arguments))
    }

    /// The same, and where that call returns to.
    pub(crate) fn call_and_place(self) -> Option<(i64, [u64; 6], u64)> {
        match self {
            Self::InCall {
                number,
                arguments,
                returns_to,
            } => Some((number, arguments, returns_to)),
            _ => None,
        }
    }

    /// The descriptor that it reads by read(2).
    pub(crate) fn read(self) -> Option<i32> {
        let (number, arguments) = self.call()?;
        (number == libc::SYS_read).then_some(arguments[0] as i32)
    }

    /// Whether a stop by ptrace(2) changes nothing of what a thread does: it runs, or sleeps in a write(2) in a way that no signal ends, as for
    /// another writer's lock.
    pub(crate) fn resumes_unchanged(process: i32, thread: i32) -> bool {
        match Self::of(process, thread) {
            Self::Running => true,
            Self::InCall { number, .. } => {
                let is_uninterruptible = |stat: Stat| stat.is_uninterruptible;
                number == libc::SYS_write && Stat::of(thread).is_some_and(is_uninterruptible)
            }
            Self::Asleep | Self::Hidden => false,
        }
    }

    /// What the threads of a process do, as far as the kernel lets us look.
    pub(crate) fn all(process: i32) -> impl Iterator<Item = Self> {
        let threads = procfs::threads(process).into_iter();
        let all = threads.map(move |thread| Self::of(process, thread));
        all.filter(|doing| *doing != Self::Hidden)
    }

    /// Whether it sleeps in a read from one of these descriptors.
    pub(crate) fn sleeps_in_read(self, is_it: impl Fn(i32) -> bool) -> bool {
        const READS: [i64; 3] = [libc::SYS_read, libc::SYS_readv, libc::SYS_splice];
        let call = self.call();
        call.is_some_and(|(number, [from, ..])| READS.contains(&number) && is_it(from as i32))
    }

    /// Whether it waits until a file is open for writing, is emptied or has taken the place of another (the kernel may write first what the
    /// file had), or until all files are stored.
    pub(crate) fn awaits_a_file(self) -> bool {
        const WRITES: u64 = (libc::O_WRONLY | libc::O_RDWR | libc::O_TRUNC) as u64;
        self.call().is_some_and(|(number, arguments)| match number {
            libc::SYS_openat => arguments[2] & WRITES != 0,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => arguments[1] & WRITES != 0,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat | libc::SYS_rename | libc::SYS_renameat => true,
            libc::SYS_renameat2 | libc::SYS_truncate | libc::SYS_ftruncate => true,
            libc::SYS_sync | libc::SYS_syncfs => true,
            _ => false,
        })
    }

    /// Whether it waits until what it wrote to mapped memory is stored.
    pub(crate) fn stores_memory(self) -> bool {
        self.call()
            .is_some_and(|(number, _)| number == libc::SYS_msync)
    }

    /// Whether it waits for any of several descriptors.
    pub(crate) fn polls(self) -> bool {
        self.call()
            .is_some_and(|(number, _)| POLLS.contains(&number))
    }

    /// Of these descriptors, the one without room that a thread of a process waits for, perhaps among others, in such a call.
    pub(crate) fn awaits_room(self, process: i32, is_it: impl Fn(i32) -> bool) -> Option<i32> {
        self.awaits(OUT, process, is_it)
    }

    /// Whether a thread of a process sleeps until there is something to read from one of these descriptors, in a read or in such a call.
    pub(crate) fn awaits_input(self, process: i32, is_it: impl Fn(i32) -> bool) -> bool {
        self.sleeps_in_read(&is_it) || self.awaits(IN, process, is_it).is_some()
    }

    /// Of these descriptors, one whose next event a thread of a process waits for, perhaps among others.
    fn awaits(self, event: u32, process: i32, is_it: impl Fn(i32) -> bool) -> Option<i32> {
        let (number, [first, second, written, ..]) = self.call()?;
        let at = POLLS.iter().position(|&polls| polls == number)?;
        match at {
            0..2 => {
                let all = procfs::peek(process, first, 8 * second.min(MOST))?;
                let for_it = all
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .filter(|one| one[4] & event as u8 != 0);
                let mut all = for_it.map(|&[a, b, c, d, ..]| i32::from_ne_bytes([a, b, c, d]));
                all.find(|&descriptor| is_it(descriptor))
            }
            2..4 => {
                let at = [second, written][usize::from(event == OUT)];
                let set = procfs::peek(process, at, first.min(MOST).div_ceil(8))?;
                let is_in = |at: i32| set[at as usize / 8] & 1 << (at % 8) != 0;
                (0..8 * set.len() as i32).find(|&descriptor| is_in(descriptor) && is_it(descriptor))
            }
            _ => {
                let info = format!("/proc/{process}/fdinfo/{}", first as i32);
                let info = fs::read_to_string(info).ok()?;
                let waits = |line: &str| {
                    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
                    let descriptor = words.next()?.parse().ok()?;
                    let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
                    let is_it = events & event != 0 && is_it(descriptor);
                    // Beside room of which it has been told a thread goes to sleep nevertheless.
                    let is_told_once = event == OUT && events & libc::EPOLLET as u32 != 0;
                    let waits = is_it && (!is_told_once || lacks_room(process, descriptor));
                    waits.then_some(descriptor)
                };
                info.lines().find_map(waits)
            }
        }
    }

    /// Whether a process sleeps until another one ends, or tells it to go on.
    pub(crate) fn waits_for_another(process: i32) -> bool {
        const WAITS: [i64; 3] = [libc::SYS_wait4, libc::SYS_waitid, libc::SYS_rt_sigsuspend];
        let call = |&thread: &i32| Self::of(process, thread).call();
        let waits = |thread| call(thread).is_some_and(|(number, _)| WAITS.contains(&number));
        procfs::threads(process).iter().all(waits)
    }

    /// Whether a thread that writes to a terminal sleeps until another one has written there, not until that is read.
    pub(crate) fn waits_for_writer(process: i32, thread: i32) -> bool {
        // The kernel's function that takes the terminal's lock. It waits for the reader in `wait_woken`.
        let function = fs::read_to_string(format!("/proc/{process}/task/{thread}/wchan"));
        function.is_ok_and(|name| name.contains("tty_write"))
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

/// `POLLOUT` and `EPOLLOUT`, `POLLIN` and `EPOLLIN`.
const OUT: u32 = libc::POLLOUT as u32;
const IN: u32 = libc::POLLIN as u32;

/// Whether a descriptor that a process polls has no room. The first poll of a pipe makes each later write to it dearer: no other is asked.
fn lacks_room(process: i32, descriptor: i32) -> bool {
    let asked = || {
        let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
        let ours = pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).ok()?;
        let mut polled = [PollFd::new(&ours, PollFlags::OUT)];
        poll(&mut polled, Some(&Timespec::default())).ok()
    };
    asked() == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::epoll::{self, EventData, EventFlags};
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicI32, Ordering};

    #[test]
    fn a_file_is_awaited_in_opening_it_for_writing_in_renaming_and_in_storing() {
        let call = |number, flags: libc::c_int| Doing::InCall {
            number,
            arguments: [0, 0, flags as u64, 0, 0, 0],
            returns_to: 0,
        };
        let awaits = |number, flags| call(number, flags).awaits_a_file();
        assert!(awaits(libc::SYS_openat, libc::O_WRONLY | libc::O_CREAT));
        assert!(awaits(libc::SYS_openat, libc::O_RDWR | libc::O_TRUNC));
        assert!(!awaits(libc::SYS_openat, libc::O_RDONLY | libc::O_CLOEXEC));
        assert!(awaits(libc::SYS_renameat2, 0));
        assert!(awaits(libc::SYS_sync, 0) && awaits(libc::SYS_syncfs, 0));
        assert!(call(libc::SYS_msync, 0).stores_memory());
        assert!(!call(libc::SYS_sync, 0).stores_memory());
        assert!(!awaits(libc::SYS_read, libc::O_WRONLY));
        assert!(!Doing::Running.awaits_a_file());
    }

    #[test]
    fn a_thread_that_sleeps_in_another_call_may_not_resume_unchanged() {
        let shell = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            let shell = shell
                .args(["-c", script])
                .stdin(std::process::Stdio::piped());
            shell.spawn().unwrap()
        };
        let [mut works, mut reads] = ["while :; do :; done", "read line"].map(shell);
        let [working, reading] = [&works, &reads].map(|shell| shell.id() as i32);
        while !matches!(
            Doing::of(reading, reading),
            Doing::InCall {
                number: libc::SYS_read,
                ..
            }
        ) {
            std::thread::yield_now();
        }
        assert!(!Doing::resumes_unchanged(reading, reading));
        // It waits until it has begun.
        while !Doing::resumes_unchanged(working, working) {
            std::thread::yield_now();
        }
        for shell in [&mut works, &mut reads] {
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
        assert!(!Doing::resumes_unchanged(working, working));
    }

    #[test]
    fn the_descriptor_without_room_is_that_of_each_call_that_waits_for_it() {
        let ours = std::process::id() as i32;
        let (_reader, full) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&full, true).unwrap();
        while rustix::io::write(&full, &[0; 4096]).is_ok() {}
        let (_other, empty) = std::io::pipe().unwrap();
        let [full_at, empty_at] = [&full, &empty].map(AsRawFd::as_raw_fd);
        let waits = |number, arguments| {
            let returns_to = 0;
            let call = Doing::InCall {
                number,
                arguments,
                returns_to,
            };
            call.awaits_room(ours, |_| true)
        };
        let polled = |fd, events| libc::pollfd {
            fd,
            events,
            revents: 0,
        };
        let all = [
            polled(empty_at, libc::POLLIN),
            polled(-1, 0),
            polled(full_at, libc::POLLOUT),
        ];
        let array = [all.as_ptr() as u64, 3, 0, 0, 0, 0];
        assert_eq!(waits(libc::SYS_ppoll, array), Some(full_at));
        assert!(waits(libc::SYS_ppoll, [array[0], 2, 0, 0, 0, 0]).is_none());
        let mut set = [0_u64; 16];
        set[full_at as usize / 64] |= 1 << (full_at % 64);
        let sets = [full_at as u64 + 1, 0, set.as_ptr() as u64, 0, 0, 0];
        assert_eq!(waits(libc::SYS_pselect6, sets), Some(full_at));
        assert!(waits(libc::SYS_pselect6, [sets[0], sets[2], 0, 0, 0, 0]).is_none());
        let object = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let object_call = [object.as_raw_fd() as u64, 0, 0, 0, 0, 0];
        assert!(waits(libc::SYS_epoll_pwait, object_call).is_none());
        let (room, once) = (EventFlags::OUT, EventFlags::OUT | EventFlags::ET);
        for (pipe, flags) in [
            (&full, room),
            (&full, once),
            (&empty, once),
            (&full, EventFlags::ERR),
        ] {
            epoll::add(&object, pipe, EventData::new_u64(0), flags).unwrap();
            let is_awaited = pipe.as_raw_fd() == full_at && flags.contains(room);
            let expected = is_awaited.then_some(full_at);
            assert_eq!(
                waits(libc::SYS_epoll_pwait, object_call),
                expected,
                "{flags:?}"
            );
            epoll::delete(&object, pipe).unwrap();
        }
        assert!(waits(libc::SYS_write, [full_at as u64, 0, 0, 0, 0, 0]).is_none());
    }

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
        assert_eq!(Doing::parse(text).read(), None);
        let read = format!("{} 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f12\n", libc::SYS_read);
        assert_eq!(Doing::parse(&read).read(), Some(3));
        assert_eq!(Doing::parse("running\n"), Doing::Running);
        assert_eq!(Doing::parse("-1 0x7ffd 0x7f12\n"), Doing::Asleep);
        assert_eq!(Doing::parse(""), Doing::Hidden);
        assert_eq!(Doing::parse("1 0x2\n"), Doing::Hidden);
    }

    #[test]
    fn of_two_threads_that_write_to_an_unread_terminal_one_waits_for_the_other() {
        let (terminal, program) = crate::platform::pty::open().unwrap();
        let ours = std::process::id() as i32;
        let threads = [const { AtomicI32::new(0) }; 2];
        std::thread::scope(|scope| {
            for thread in &threads {
                scope.spawn(|| {
                    thread.store(rustix::thread::gettid().as_raw_pid(), Ordering::Release);
                    // Until the terminal has gone.
                    while rustix::io::write(&program, &[b'x'; 1000]).is_ok() {}
                });
            }
            let count = |is_it: &dyn Fn(i32) -> bool| {
                let all = threads.iter().map(|thread| thread.load(Ordering::Acquire));
                all.filter(|&thread| is_it(thread)).count()
            };
            let function = |thread| fs::read_to_string(format!("/proc/{ours}/task/{thread}/wchan"));
            let is_shown = |thread| function(thread).is_ok_and(|name| !matches!(&*name, "" | "0"));
            while count(&|thread| Doing::of(ours, thread).call().is_some()) < 2 {}
            if count(&is_shown) == 2 {
                while count(&|thread| Doing::waits_for_writer(ours, thread)) != 1 {}
            } else {
                eprintln!("skipped: the kernel does not say where a thread sleeps");
            }
            drop(terminal);
        });
    }
}
