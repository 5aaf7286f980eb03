//! The processes at the other end of a pipe or of a pseudoterminal, and what they use of processors.

use super::clock;
use super::doing::Doing;
use super::procfs::{self, IoCounters, Processor};
use std::collections::HashMap;
use std::time::Duration;

/// How long the processes that hold a pipe may take until one sleeps in a read.
const WHILE_NS: u64 = 50_000_000;
/// A reader that only reads takes no longer for each turn on a processor: to wake up, to read, and to wake the writer. From a terminal that
/// takes 10 to 200 µs in a virtual machine.
const TURN_NS: u64 = 250_000;
/// And sleeps no longer, on average, between them: else it may sleep although there is something to read.
const PROMPT_NS: u64 = 1_000_000;

/// Processes with their names.
pub(crate) type Readers = Vec<(i32, String)>;

/// The end into which a program writes, by its link in `/proc/PID/fd`.
pub(crate) enum End<'a> {
    Terminal(&'a str),
    Pipe(&'a str),
}

impl End<'_> {
    /// If any process may read what is written here, those that do: the terminal emulator that holds the other side of a
    /// pseudoterminal, or of the processes that have the pipe open for reading those that sleep in a read. If none does for a while, as where
    /// they are slow, those that do not wait for another process, as a shell may. Found by looking through the processes of this machine that
    /// this user may look at.
    pub(crate) fn readers(&self) -> Option<Readers> {
        let holders = self.holders();
        let reads_it = |&process: &i32| {
            matches!(self, Self::Terminal(_))
                || Doing::sleeps_in_read(process, |from| self.is_read_through(process, from))
        };
        let until_ns = clock::now_ns() + WHILE_NS;
        while !holders.iter().any(reads_it) && clock::now_ns() < until_ns && !holders.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut readers: Vec<i32> = holders.iter().copied().filter(reads_it).collect();
        if readers.is_empty() {
            let ours = std::process::id() as i32;
            let acts = |process: &&i32| **process != ours && !Doing::waits_for_another(**process);
            readers.extend(holders.iter().filter(acts));
        }
        let named = |process| (process, procfs::name(process).unwrap_or_default());
        (!holders.is_empty()).then(|| readers.into_iter().map(named).collect())
    }

    /// The processes that have the other end open, for reading or as a terminal emulator.
    fn holders(&self) -> Vec<i32> {
        let mut holders = procfs::processes();
        holders.retain(|&process| {
            let mut descriptors = procfs::descriptors(process).into_iter();
            descriptors.any(|descriptor| self.is_read_through(process, descriptor))
        });
        holders
    }

    fn is_read_through(&self, process: i32, descriptor: i32) -> bool {
        let Some(path) = procfs::link(process, descriptor) else {
            return false;
        };
        match self {
            Self::Terminal(of) => {
                let index = of.strip_prefix("/dev/pts/");
                path.ends_with("ptmx")
                    && index.is_some()
                    && procfs::about(process, descriptor, "tty-index").as_deref() == index
            }
            Self::Pipe(of) => {
                path == *of && procfs::access(process, descriptor) != Some(libc::O_WRONLY)
            }
        }
    }
}

/// What the processes at the other end have used from one moment to another.
#[derive(Debug)]
pub(crate) struct Used {
    from_ns: u64,
    to_ns: u64,
    by: HashMap<i32, (Processor, IoCounters)>,
}

impl Used {
    /// From now on.
    pub(crate) fn by(holders: &End) -> Self {
        let with_use = |process| Some((process, Self::until_now(process)?));
        let by = holders.holders().into_iter().filter_map(with_use);
        Self {
            by: by.collect(),
            from_ns: clock::now_ns(),
            to_ns: 0,
        }
    }

    /// Until now.
    pub(crate) fn end(&mut self) {
        self.to_ns = clock::now_ns();
        self.by.retain(|&process, before| {
            let used = Self::until_now(process);
            let has_lived = used.is_some();
            let (processor, io) = used.unwrap_or_default();
            *before = (processor.since(before.0), io.since(before.1));
            has_lived
        });
    }

    fn until_now(process: i32) -> Option<(Processor, IoCounters)> {
        Some((procfs::processor(process)?, IoCounters::of(process).ok()?))
    }

    /// The time that these readers have worked, beyond what it takes to read: no more of a writer's waits is their doing. In the others the
    /// kernel hands over to them what was written. Not known of readers that sleep for long, or pass on what they read: they may wait for
    /// something else.
    pub(crate) fn worked_ns(&self, readers: &Readers) -> Option<u64> {
        let worked_ns = |&(reader, _): &(i32, String)| {
            let (used, io) = self.by.get(&reader)?;
            let asleep_ns =
                (self.to_ns - self.from_ns).saturating_sub(used.total_ns + used.delayed_ns);
            let is_prompt = asleep_ns <= used.turns * PROMPT_NS;
            let in_program_ns = used.user_ns.saturating_sub(procfs::UNIT_NS);
            let worked_ns = in_program_ns.max(used.total_ns.saturating_sub(used.turns * TURN_NS));
            (is_prompt && io.bytes_written * 2 <= io.bytes_read).then_some(worked_ns)
        };
        let worked_ns = readers.iter().map(worked_ns).sum::<Option<u64>>();
        worked_ns.filter(|_| !readers.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn used(total_ms: u64, user_ms: u64, turns: u64) -> Processor {
        Processor {
            total_ns: total_ms * MS,
            user_ns: user_ms * MS,
            turns,
            ..Processor::default()
        }
    }

    /// What is known of a reader after one second.
    fn worked_ns(processor: Processor, bytes_written: u64) -> Option<u64> {
        let io = IoCounters {
            bytes_read: 1000,
            bytes_written,
            ..IoCounters::default()
        };
        let used = Used {
            from_ns: 0,
            to_ns: 1000 * MS,
            by: HashMap::from([(1, (processor, io))]),
        };
        used.worked_ns(&vec![(1, String::new())])
    }

    #[test]
    fn a_reader_that_only_reads_has_not_worked() {
        assert_eq!(worked_ns(used(300, 10, 1200), 0), Some(0));
    }

    #[test]
    fn a_reader_works_in_its_own_code_or_in_the_kernel() {
        assert_eq!(worked_ns(used(700, 410, 2000), 0), Some(400 * MS));
        assert_eq!(worked_ns(used(700, 10, 1000), 0), Some(450 * MS));
    }

    #[test]
    fn a_reader_that_sleeps_for_long_or_passes_on_may_wait_for_something_else() {
        assert_eq!(worked_ns(used(10, 0, 900), 0), None);
        assert_eq!(worked_ns(used(300, 10, 1200), 400), Some(0));
        assert_eq!(worked_ns(used(300, 10, 1200), 600), None);
    }

    #[test]
    fn what_is_used_after_a_moment_is_known_of_those_that_had_it_open_then() {
        let (reader, writer) = std::io::pipe().unwrap();
        let path = procfs::link(
            std::process::id() as i32,
            std::os::fd::AsRawFd::as_raw_fd(&writer),
        );
        let path = path.unwrap();
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(reader)
            .spawn()
            .unwrap();
        let process = busy.id() as i32;
        let mut used = Used::by(&End::Pipe(&path));
        let before = procfs::processor(process).unwrap();
        let in_program_ns = || procfs::processor(process).unwrap().since(before).user_ns;
        while in_program_ns() < 5 * procfs::UNIT_NS {}
        used.end();
        let readers = vec![(process, String::new())];
        assert!(
            used.worked_ns(&readers) >= Some(4 * procfs::UNIT_NS),
            "{used:?}"
        );
        assert_eq!(used.worked_ns(&vec![(i32::MAX, String::new())]), None);
        assert_eq!(used.worked_ns(&Vec::new()), None);
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
}
