//! The processes at the other end of a pipe or of a pseudoterminal, and what they use of processors.

use super::clock;
use super::doing::Doing;
use super::procfs::{self, IoCounters, Processor, Stat};
use std::collections::HashMap;
use std::time::Duration;

/// How long the processes that hold a pipe may take until one sleeps in a read.
const WHILE_NS: u64 = 50_000_000;
/// A reader that only reads takes no longer for each turn on a processor: to wake up, to read, and to wake the writer. From a terminal that
/// takes 10 to 200 µs in a virtual machine.
const TURN_NS: u64 = 250_000;
/// It sleeps no longer, on average, between them.
const PROMPT_NS: u64 = 500_000;
/// Fewer looks at it show little.
const FEWEST_LOOKS: u64 = 4;

/// Processes with their names.
pub(crate) type Readers = Vec<(i32, String)>;

/// The end into which a program writes, by its link in `/proc/PID/fd`.
#[derive(Clone, Debug)]
pub(crate) enum End {
    Terminal(String),
    Pipe(String),
}

impl End {
    /// If any process may read what is written here, those that do: the terminal emulator that holds the other side of a
    /// pseudoterminal, or of the processes that have the pipe open for reading those that sleep in a read. If none does for a while, as where
    /// they are slow, those that do not wait for another process, as a shell may. Found by looking through the processes of this machine that
    /// this user may look at.
    pub(crate) fn readers(&self) -> Option<Readers> {
        let holders = self.holders();
        let reads_it = |&process: &i32| {
            matches!(self, Self::Terminal(_))
                || Doing::all(process)
                    .any(|doing| doing.sleeps_in_read(|from| self.is_read_through(process, from)))
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

/// What one of the processes at the other end has done since a write was first seen to wait for it.
#[derive(Clone, Copy, Debug, Default)]
struct Reader {
    processor: Processor,
    io: IoCounters,
    /// While a write waited, and otherwise.
    looks: [Looks; 2],
}

/// How often it was looked at; found asleep until there is something to read; and asleep elsewhere.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    all: u64,
    ready: u64,
    asleep: u64,
}

/// The processes at the other end, from one moment to another.
#[derive(Debug)]
pub(crate) struct Observed {
    end: End,
    from_ns: u64,
    to_ns: u64,
    by: HashMap<i32, Reader>,
}

/// What is the doing of readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slow {
    /// Of the time in which writes wait, likely and at most. In the rest of it the kernel hands over to them what was written.
    pub(crate) likely_ns: u64,
    pub(crate) most_ns: u64,
    /// The time in which they sleep elsewhere, whether or not a write waits.
    pub(crate) asleep_ns: u64,
}

/// What is seen of their sleep is an estimate: at least this part of it is real.
const ASLEEP: f64 = 0.75;

impl Slow {
    /// The time that a program cannot go below, whatever it writes: at least, likely and at most. While no write waits, a reader may also sleep
    /// because it has read all.
    pub(crate) fn taken_ns(&self) -> [f64; 3] {
        let [likely, most, asleep] =
            [self.likely_ns, self.most_ns, self.asleep_ns].map(|ns| ns as f64);
        let usual = likely.midpoint(likely.max(asleep));
        [ASLEEP * likely.min(asleep), usual, most.max(asleep)]
    }
}

impl Observed {
    /// From now on.
    pub(crate) fn begin(end: End) -> Self {
        let reader = |process| Some((process, Reader::until_now(process)?));
        let by = end.holders().into_iter().filter_map(reader).collect();
        Self {
            end,
            by,
            from_ns: clock::now_ns(),
            to_ns: 0,
        }
    }

    /// Sees what they do at this moment, in which a write may wait.
    pub(crate) fn look(&mut self, waits: bool) {
        for (&process, reader) in &mut self.by {
            let doing = Vec::from_iter(Doing::all(process));
            if doing.is_empty() {
                continue;
            }
            let is_it = |from| self.end.is_read_through(process, from);
            let is_ready = doing.iter().any(|doing| doing.awaits_input(process, is_it));
            let is_asleep = !is_ready && !doing.contains(&Doing::Running);
            let looks = &mut reader.looks[usize::from(!waits)];
            looks.all += 1;
            looks.ready += u64::from(is_ready);
            looks.asleep += u64::from(is_asleep);
        }
    }

    /// Until now.
    pub(crate) fn end(&mut self) {
        self.to_ns = clock::now_ns();
        self.by.retain(|&process, reader| {
            let now = Reader::until_now(process);
            let has_lived = now.is_some();
            let now = now.unwrap_or_default();
            reader.processor = now.processor.since(reader.processor);
            reader.io = now.io.since(reader.io);
            has_lived
        });
    }

    /// What is the doing of these readers, of so much time in which writes waited. Not known of a reader that passes on what it reads and does
    /// not work all the time, as that may wait for another; nor of one that sleeps for long, where it cannot be seen in what.
    pub(crate) fn slow(&self, waiting_ns: u64, readers: &Readers) -> Option<Slow> {
        let all = readers.iter().map(|(process, _)| self.by.get(process));
        let all = all.collect::<Option<Vec<&Reader>>>()?;
        let since_ns = self.to_ns - self.from_ns;
        let passes_on = |reader: &&Reader| reader.io.bytes_written * 2 > reader.io.bytes_read;
        let is_busy = |reader: &Reader| reader.processor.total_ns as f64 >= BUSY * since_ns as f64;
        let may_wait = |it: &&Reader| passes_on(it) && !(writes_by_itself(it.io) && is_busy(it));
        if all.is_empty() || all.iter().any(may_wait) {
            return None;
        }
        let [in_waits, otherwise] = [0, 1].map(|when| {
            let looks = all.iter().map(|reader| reader.looks[when]);
            looks.fold(Looks::default(), Looks::plus)
        });
        let (slept_ns, most_ns) = if in_waits.all >= FEWEST_LOOKS {
            let part = |of| in_waits.part(of, waiting_ns);
            (part(in_waits.asleep), part(in_waits.all - in_waits.ready))
        } else if all.iter().all(|reader| reader.is_prompt(since_ns)) {
            (0, waiting_ns)
        } else {
            return None;
        };
        let worked_ns: u64 = all.iter().map(|reader| reader.worked_ns()).sum();
        let whenever = in_waits.plus(otherwise);
        Some(Slow {
            likely_ns: most_ns.min(slept_ns + worked_ns),
            most_ns,
            asleep_ns: whenever.part(whenever.asleep, since_ns),
        })
    }
}

impl Looks {
    fn plus(self, other: Self) -> Self {
        Self {
            all: self.all + other.all,
            ready: self.ready + other.ready,
            asleep: self.asleep + other.asleep,
        }
    }

    /// The part of a time in which so many of them were.
    fn part(self, of: u64, whole_ns: u64) -> u64 {
        (whole_ns as f64 * of as f64 / self.all.max(1) as f64) as u64
    }
}

impl Reader {
    fn until_now(process: i32) -> Option<Self> {
        Some(Self {
            processor: procfs::processor(process)?,
            io: IoCounters::of(process).ok()?,
            ..Self::default()
        })
    }

    /// The time that it has worked, beyond what it takes to read.
    fn worked_ns(&self) -> u64 {
        let used = self.processor;
        if writes_by_itself(self.io) {
            return used.total_ns;
        }
        let in_program_ns = used.user_ns.saturating_sub(procfs::UNIT_NS);
        in_program_ns.max(used.total_ns.saturating_sub(used.turns * TURN_NS))
    }

    /// Whether it slept for short times only, as one that waits for a busy writer does.
    fn is_prompt(&self, since_ns: u64) -> bool {
        let used = self.processor;
        let asleep_ns = since_ns.saturating_sub(used.total_ns + used.delayed_ns);
        asleep_ns <= used.turns * PROMPT_NS
    }
}

/// A reader that has a processor for this part of the time waits for nobody.
const BUSY: f64 = 0.75;

/// Whether a reader writes by its own rule, each line say, and not for each read: whatever the writes are that it reads, it does.
fn writes_by_itself(io: IoCounters) -> bool {
    io.write_calls > 2 * io.read_calls
}

/// A read costs a reader in its own code, at most, most likely and at least: awk and Perl 500 ns, Python 1,100, gzip 2,500. Larger writes spare
/// it such reads. They do not spare it bytes, nor reads of parts of a write, which cost it time in the kernel: at least, likely and at most.
const READ_NS: [f64; 3] = [2_500.0, 800.0, 0.0];
const BYTE_NS: [f64; 3] = [0.0, 0.5, 1.5];
const PART_NS: [f64; 3] = [0.0, 200.0, 400.0];
/// The part of the kernel's time that its own writes have by their number.
const WRITING: [f64; 3] = [0.7, 0.9, 1.0];
/// Hundredths of a second in which a shell starts the parts of a pipeline. What a reader has done before, a longer start among it, is counted
/// as computed for us.
const TOGETHER: u64 = 5;

/// The processor time that a reader takes however large the writes are, at least, most likely and at most: its time in its own code, without
/// that of a read for each write, and that of writes by its own rule. Known of one that was started with us: others may have read much else.
pub(crate) fn computed_ns(reader: i32, writes: u64) -> Option<[f64; 3]> {
    let ours = Stat::of(std::process::id() as i32)?.start;
    let stat = Stat::of(reader).filter(|stat| stat.start + TOGETHER >= ours)?;
    let io = IoCounters::of(reader).ok()?;
    let whole = io.read_calls.min(writes);
    let own_calls = io.write_calls.saturating_sub(whole) as f64;
    let all_calls = (io.read_calls + io.write_calls).max(1) as f64;
    let writing_ns = stat.processor.system_ns as f64 * own_calls / all_calls;
    let writing_ns = writing_ns * f64::from(writes_by_itself(io));
    let part = |at: usize| {
        let read_ns = io.bytes_read as f64 * BYTE_NS[at] - whole as f64 * READ_NS[at];
        let computed_ns = stat.processor.user_ns as f64 + WRITING[at] * writing_ns;
        computed_ns + read_ns + (io.read_calls - whole) as f64 * PART_NS[at]
    };
    Some([0, 1, 2].map(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// One that used a processor for so many milliseconds, of these in its own code, in so many turns.
    fn reader(total_ms: u64, user_ms: u64, turns: u64) -> Reader {
        Reader {
            processor: Processor {
                total_ns: total_ms * MS,
                user_ns: user_ms * MS,
                turns,
                ..Processor::default()
            },
            io: IoCounters {
                bytes_read: 1000,
                ..IoCounters::default()
            },
            ..Reader::default()
        }
    }

    /// What is its doing of 500 of 1,000 milliseconds in which writes waited.
    fn slow_ms(reader: Reader) -> Option<[u64; 3]> {
        let observed = Observed {
            end: End::Pipe(String::new()),
            from_ns: 0,
            to_ns: 1000 * MS,
            by: HashMap::from([(1, reader)]),
        };
        let slow = observed.slow(500 * MS, &vec![(1, String::new())]);
        slow.map(|slow| [slow.likely_ns, slow.most_ns, slow.asleep_ns].map(|ns| ns / MS))
    }

    /// The same of one that was found ready and asleep so often in ten looks while a write waited, and in ten others.
    fn looked_at(reader: Reader, in_waits: [u64; 2], otherwise: [u64; 2]) -> Option<[u64; 3]> {
        let looks = [in_waits, otherwise].map(|[ready, asleep]| Looks {
            all: 10,
            ready,
            asleep,
        });
        slow_ms(Reader { looks, ..reader })
    }

    #[test]
    fn a_reader_that_only_reads_is_not_what_a_write_waits_for() {
        assert_eq!(slow_ms(reader(300, 10, 1400)), Some([0, 500, 0]));
        let ready = looked_at(reader(300, 10, 1400), [8, 0], [10, 0]);
        assert_eq!(ready, Some([0, 100, 0]));
    }

    #[test]
    fn a_reader_that_writes_each_line_and_never_sleeps_is_what_a_write_waits_for() {
        let filter = |total_ms, read_calls| Reader {
            io: IoCounters {
                bytes_read: 1000,
                bytes_written: 1000,
                read_calls,
                write_calls: 100,
            },
            ..reader(total_ms, 10, 2000)
        };
        assert_eq!(slow_ms(filter(900, 10)), Some([500, 500, 0]));
        // It may wait for another; and one with a write for each read gains by larger ones.
        assert_eq!(slow_ms(filter(500, 10)), None);
        assert_eq!(slow_ms(filter(900, 100)), None);
    }

    #[test]
    fn a_reader_works_in_its_own_code_or_in_the_kernel() {
        assert_eq!(slow_ms(reader(700, 410, 2000)), Some([400, 500, 0]));
        assert_eq!(slow_ms(reader(700, 10, 1000)), Some([450, 500, 0]));
    }

    #[test]
    fn a_reader_that_sleeps_elsewhere_is_what_a_write_waits_for() {
        let asleep = looked_at(reader(1, 0, 900), [0, 9], [5, 5]);
        assert_eq!(asleep, Some([450, 500, 700]));
        // Of that, what is sure, also where it may sleep because it has read all.
        let slow = Slow {
            likely_ns: 400,
            most_ns: 500,
            asleep_ns: 800,
        };
        assert_eq!(slow.taken_ns(), [300.0, 600.0, 800.0]);
        // Where it cannot be seen.
        assert_eq!(slow_ms(reader(10, 0, 900)), None);
    }

    #[test]
    fn a_reader_that_passes_on_what_it_reads_may_wait_for_another() {
        let passing = |bytes_written| {
            let mut reader = reader(300, 10, 1400);
            reader.io.bytes_written = bytes_written;
            slow_ms(reader)
        };
        assert_eq!(passing(400), Some([0, 500, 0]));
        assert_eq!(passing(600), None);
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
        let end = End::Pipe(path);
        let mut observed = Observed::begin(end);
        let before = procfs::processor(process).unwrap();
        let in_program_ns = || procfs::processor(process).unwrap().since(before).user_ns;
        while in_program_ns() < 5 * procfs::UNIT_NS {
            observed.look(true);
        }
        observed.end();
        let readers = vec![(process, String::new())];
        let whole_ns = observed.to_ns - observed.from_ns;
        let slow = observed.slow(whole_ns, &readers).unwrap();
        assert!(slow.likely_ns >= 4 * procfs::UNIT_NS, "{observed:?}");
        assert_eq!(
            (slow.most_ns, slow.asleep_ns),
            (whole_ns, 0),
            "{observed:?}"
        );
        assert!(observed.slow(1, &vec![(i32::MAX, String::new())]).is_none());
        assert!(observed.slow(1, &Vec::new()).is_none());
        busy.kill().unwrap();
        busy.wait().unwrap();
    }

    #[test]
    fn a_reader_that_waits_for_input_is_ready_and_one_that_sleeps_is_not() {
        let scripts = [
            ("import os; os.read(0, 1)", true),
            ("import select; select.select([0], [], [])", true),
            (
                "import select; p = select.poll(); p.register(0, 1); p.poll()",
                true,
            ),
            (
                "import select; e = select.epoll(); e.register(0, 1); e.poll()",
                true,
            ),
            ("import time; time.sleep(1000)", false),
            ("import select; select.select([], [], [], 1000)", false),
        ];
        for (script, is_ready) in scripts {
            let (reader, writer) = std::io::pipe().unwrap();
            let ours = std::process::id() as i32;
            let path = procfs::link(ours, std::os::fd::AsRawFd::as_raw_fd(&writer)).unwrap();
            let python = std::process::Command::new("python3")
                .args(["-c", script])
                .stdin(reader)
                .spawn();
            let Ok(mut python) = python else {
                return eprintln!("skipped: no python3");
            };
            let process = python.id() as i32;
            let end = End::Pipe(path);
            let looks = std::iter::repeat_with(|| {
                let mut observed = Observed::begin(end.clone());
                observed.look(true);
                observed.by[&process].looks[0]
            });
            // Until it has begun to sleep there.
            let is_it = |looks: Looks| [looks.asleep, looks.ready][usize::from(is_ready)] > 0;
            let mut in_a_row = 0;
            for looks in looks {
                in_a_row = (in_a_row + 1) * u64::from(is_it(looks));
                if in_a_row == 100 {
                    break;
                }
            }
            python.kill().unwrap();
            python.wait().unwrap();
        }
    }

    #[test]
    fn what_a_reader_has_computed_is_known_if_it_was_started_with_us() {
        let ours = computed_ns(std::process::id() as i32, 0).unwrap();
        assert!(ours.is_sorted(), "{ours:?}");
        assert!(computed_ns(i32::MAX, 0).is_none());
        let first = Stat::of(1).filter(|first| {
            first.start + TOGETHER < Stat::of(std::process::id() as i32).unwrap().start
        });
        assert!(first.is_none() || computed_ns(1, 0).is_none());
    }
}
