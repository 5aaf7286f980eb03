//! The system call that a thread is in (`syscall` in proc(5)).

use super::procfs;
use std::fs;

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
        match self {
            Self::InCall {
                number, arguments, ..
            } => Some((number, arguments)),
            _ => None,
        }
    }

    /// The descriptor that it reads by read(2).
    pub(crate) fn read(self) -> Option<i32> {
        let (number, arguments) = self.call()?;
        (number == libc::SYS_read).then_some(arguments[0] as i32)
    }

    /// Whether a thread of a process sleeps in a read from one of these descriptors.
    pub(crate) fn sleeps_in_read(process: i32, is_it: impl Fn(i32) -> bool) -> bool {
        const READS: [i64; 3] = [libc::SYS_read, libc::SYS_readv, libc::SYS_splice];
        let threads = procfs::threads(process).into_iter();
        let mut calls = threads.filter_map(|thread| Self::of(process, thread).call());
        calls.any(|(number, [from, ..])| READS.contains(&number) && is_it(from as i32))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

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
