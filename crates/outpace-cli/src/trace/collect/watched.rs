//! One process that is watched without privileges and without slowing it down. The kernel's own counters say how many calls
//! and bytes; samples of `/proc/PID/task/TID/syscall` say which thread waits in which write, or in poll(2) and its like until a
//! stream has room for one; a short [exact look](peek) at a
//! thread that writes much shows how it is buffered. Where a stop could do harm, the kernel notes the writes for a moment
//! ([`Breakpoints`]), or many samples in a row find some of them.

use super::breakpoints::{Breakpoints, CallSite};
use super::peek;
use super::threads::{Reading, Thread, Threads};
use crate::platform::clock;
use crate::platform::doing::Doing;
use crate::platform::procfs::{self, IoCounters, Processor, Stat, read_again};
use crate::trace::kernel::Call;
use crate::trace::model::{
    Buffering, CallSpan, CallTally, FEWEST, Kind, Language, Target, Timeline, Unseen,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The writes by which an exact look shows how a process buffers. Short looks follow, which show where it writes.
const FEWEST_PEEKED: usize = 12;
/// A short look is taken when the writes have become more by one part in so many.
const PEEK_AGAIN: u64 = 6;
/// Where nothing is to be learnt of the place, and for listening, so many times the writes are waited for.
const LOOK_AGAIN: u64 = 50;
/// So many of a process's calls may go on between looks: they go where those go that are seen.
pub(crate) fn unseen(calls: u64) -> u64 {
    10_000.max(calls / 3)
}

/// A process that hardly writes is looked at when it has had the kernel for this long, and then for four times as long.
const SILENT_NS: u64 = 5_000_000;
/// A file is opened for each write if it was for so many of those that were seen.
const USUAL: f64 = 0.9;

/// A process that must not be stopped is listened to for this much processor time.
const LISTEN_NS: u64 = 2_000_000;
/// On a busy machine that takes longer, but no longer than this.
const LONGEST_LISTEN_NS: u64 = 10_000_000;
/// After this long without a write, the processor is left to the process.
const SILENCE_NS: u64 = 20_000;
/// A read and the work on what it read, at most.
const MOST_READ_NS: u64 = 20_000;
/// Fewer large writes are not worth an exact look.
const FEWEST_LARGE: u64 = 64;
/// So many writes beside those that were heard are of the moments before and after.
const UNHEARD: u64 = 4;
/// Listening is over when this many writes were seen.
const ENOUGH_HEARD: usize = 48;

/// The writes seen on one descriptor: those in which a thread slept, and those of exact looks.
#[derive(Default)]
pub(crate) struct SampledWrites {
    pub(crate) waiting_ns: u64,
    /// Of that, until a device had the bytes (fsync(2)); and while another thread of the process ran.
    pub(crate) syncing_ns: u64,
    pub(crate) overlapped_ns: u64,
    pub(crate) looks: u64,
    /// Writes of exact looks, and the calls of the process for which these stand.
    pub(crate) peeked: u64,
    pub(crate) credited: f64,
    pub(crate) tally: CallTally,
}

/// One process, as far as it was seen.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) process: i32,
    /// Its parent when it was first seen, which may end before it.
    pub(crate) started_by: i32,
    /// The thread whose descriptors are looked at.
    holder: i32,
    /// The name of its executable file, or else the one that the kernel keeps.
    pub(crate) program: Rc<str>,
    name: Rc<str>,
    executable: Option<PathBuf>,
    pub(crate) language: Language,
    /// Descriptors 0 to 2, and others that were written to.
    pub(crate) targets: BTreeMap<i32, Target>,
    /// Whether it has other descriptors open that writes could have gone to, and another way to write.
    pub(crate) writes_elsewhere: bool,
    unseen: Option<Unseen>,
    /// Its sockets beside its streams, by which it may answer others. A runtime has one for its debugger.
    pub(crate) sockets: BTreeSet<i32>,
    /// Whether it has both ends of a pipe, or an eventfd, by which its threads may wake each other.
    pub(crate) has_own_pipe: bool,
    has_eventfd: bool,
    is_foreign: bool,
    pub(crate) seen: BTreeMap<i32, SampledWrites>,
    /// Which of stdout and stderr has all bytes, as far as the position in a file shows; and whether both have some.
    pub(crate) filled: Option<i32>,
    pub(crate) is_split: bool,
    /// The count of its writes when that was seen.
    filled_at: u64,
    pub(crate) threads: Threads,
    /// How often its threads were given a processor: after each wait. Without those after stops of exact looks.
    pub(crate) turns: u64,
    stops: u64,
    pub(crate) first_ns: u64,
    counters: Option<File>,
    state: Option<File>,
    /// The kernel's counters, which include the children it has waited for: now, and when it began.
    pub(crate) io: IoCounters,
    io_before: IoCounters,
    pub(crate) stat: Stat,
    stat_before: Stat,
    /// Counts of children that it has waited for, as far as they are certain.
    pub(super) inherited: IoCounters,
    /// Writes of its last moments, found in the counts it left to its parent.
    pub(super) last_moments: IoCounters,
    /// Its processor time to the microsecond, known when it is reaped.
    pub(super) reaped: Option<Processor>,
    /// Its reads and writes, and the processor time that they had taken, when it was first seen to have written.
    pub(crate) start: Reading,
    /// The count of exact looks, and whether one has shown enough; and the count of its writes at the last one, and at the last try.
    peeks: u32,
    is_peeked: bool,
    looked_at: u64,
    tried_at: u64,
    /// Other calls between writes, as of a look, and between how many of these; and the file that was opened for each.
    others: ([u64; 3], u64),
    reopened: Option<Target>,
    /// Its writes were listened to, at one place; and one of its streams was seen to lead to several places.
    pub(crate) is_listened_to: bool,
    /// While it was, it also wrote elsewhere, or may have.
    pub(crate) is_half_heard: bool,
    pub(crate) is_redirected: bool,
    /// Where it writes, as the last call shows in which a thread was found asleep.
    writes_at: Option<CallSite>,
    /// Time that exact looks took from it, without waits for a processor, and their processor time.
    pub(super) peeking_ns: u64,
    pub(super) stops_ns: u64,
    /// Samples that found its thread asleep in a write, and elsewhere; for how long in other calls that wait for a file, and for
    /// mapped memory to be stored; and for how long awake.
    pub(crate) asleep: [u64; 2],
    awaiting_files_ns: u64,
    storing_ns: u64,
    running_ns: u64,
    /// When it was last seen, and how long it was stopped until then.
    pub(crate) last_ns: u64,
    pub(super) stopped_ns: u64,
    /// How many searches have found it.
    pub(super) searches: u64,
}

impl Watched {
    /// A process with these threads, as it is now. Its counters go on from those of the program that it ran before, or begin
    /// now where it ran before it was watched. `None` if it has gone.
    pub(super) fn find(
        process: i32,
        threads: &[i32],
        former: Option<&Self>,
        ran_before: bool,
        now_ns: u64,
    ) -> Option<Self> {
        let name: Rc<str> = procfs::name(process)?.into();
        let executable = procfs::executable(process);
        let file = executable.as_deref().and_then(Path::file_name);
        let mut next = Self {
            process,
            holder: process,
            program: file.map_or_else(|| Rc::clone(&name), |file| file.to_string_lossy().into()),
            name,
            executable,
            first_ns: now_ns,
            last_ns: now_ns,
            is_foreign: procfs::is_foreign(process),
            started_by: Stat::of(process).unwrap_or_default().parent,
            counters: File::open(format!("/proc/{process}/io")).ok(),
            state: File::open(format!("/proc/{process}/stat")).ok(),
            ..Self::default()
        };
        if let Some(former) = former {
            next.threads.go_on(process, &former.threads);
            (next.io_before, next.stat_before) = (former.io, former.stat);
            if next.executable.is_none() {
                // It has ended: only the former program's destinations are known.
                next.targets = former.targets.clone();
            }
        } else if ran_before {
            next.threads.begin(process, threads);
            (next.io, next.stat) = next.counted().unwrap_or_default();
            (next.io_before, next.stat_before) = (next.io, next.stat);
        }
        Some(next)
    }

    /// Reads its counters, and looks for new threads and descriptors, if it runs the same program still.
    pub(super) fn refresh(&mut self, threads: &[i32]) -> bool {
        let process = self.process;
        // The threads' before the whole: a write in between is then no thread's, and no child's either.
        let readings = self.threads.read(process, threads);
        let counted = self.counted();
        // Else they count for the program that it has just become.
        if !self.runs_as_before() {
            return false;
        }
        self.searches += 1;
        let before_ns = std::mem::replace(&mut self.last_ns, clock::now_ns());
        self.threads.take(readings);
        self.turns = (self.threads.writers().processor.turns).saturating_sub(self.stops);
        (self.io, self.stat) = counted.unwrap_or((self.io, self.stat));
        self.stopped_ns += (self.last_ns - before_ns) * u64::from(self.stat.is_stopped);
        // While it is being started, it has no arguments yet.
        if let Some(executable) = &self.executable
            && self.language == Language::default()
            && !procfs::arguments(process).is_empty()
        {
            self.language = Language::of(process, executable);
        }
        let writers = self.threads.writers();
        if self.start.io.write_calls == 0 {
            self.start = writers;
        }
        let written = writers.processor.since(self.start.processor);
        self.threads.sample_after(written);
        if self.stat.has_ended {
            // Perhaps its first thread only.
            let running = procfs::running_threads(process);
            self.holder = running.first().copied().unwrap_or(process);
        }
        let process = self.holder;
        for descriptor in 0..=2 {
            let known = self.targets.get(&descriptor);
            let identity = Target::identity_of(process, descriptor);
            // Without one, it is closed, or the process has ended meanwhile.
            if identity.is_some()
                && identity != known.map(|target| target.identity)
                && let Some(now) = Target::of(process, descriptor)
            {
                let before = known.filter(|_| self.own().write_calls > 0);
                self.is_redirected |= before.is_some() && descriptor > 0;
                let target = before.map_or(now.clone(), |before| before.or(&now));
                self.targets.insert(descriptor, target);
            }
        }
        let (ring, descriptors) = ("anon_inode:[io_uring]", procfs::descriptors(process));
        self.has_eventfd |= procfs::has_one_of("anon_inode:[eventfd]", process, &descriptors);
        let requests = procfs::has_one_of(ring, process, &descriptors)
            || self.targets.values().any(|target| target.path == ring)
            || (self.own().write_calls == 0 && procfs::has_aio(process));
        let is_held = self.stat.is_held.then_some(Unseen::Held);
        self.unseen = (self.unseen.max(is_held)).max(requests.then_some(Unseen::Request));
        // Of a file that was opened for it, the position is at the bytes written there.
        let parts = [1, 2].map(|stream| {
            (self.targets.get(&stream)).filter(|target| target.kind == Kind::File)?;
            let position = procfs::position(process, stream)?;
            Some(position as f64 / self.own().bytes_written as f64)
        });
        if parts != [None; 2] {
            self.filled_at = self.own().write_calls;
            self.filled = match parts {
                [Some(0.95..=1.05), _] | [None, Some(..0.05)] => Some(1),
                [_, Some(0.95..=1.05)] | [Some(..0.05), None] => Some(2),
                _ => None,
            };
            self.is_split =
                self.filled.is_none() && parts.iter().flatten().any(|part| *part < 0.95);
        }
        for descriptor in Target::written_beside_streams(process, &descriptors) {
            let is_socket = |other: &i32| procfs::has_one_of("socket:", process, &[*other]);
            self.sockets.extend(Some(descriptor).filter(is_socket));
            let is_own = procfs::is_read_by_itself(process, descriptor, &descriptors);
            self.has_own_pipe |= is_own;
            let identity = Target::identity_of(process, descriptor);
            let is_elsewhere = !is_own && self.stream_at(identity).is_none();
            self.writes_elsewhere |= is_elsewhere && !procfs::is_ending(process);
        }
        true
    }

    /// It has ended: takes the last readings.
    pub(super) fn end(mut self) -> Self {
        let readings = self.threads.read(self.process, &[]);
        self.threads.take(readings);
        self.threads.end_samples();
        self
    }

    /// How many of its writes are in no reading of processor time, and how much of that is not, at most: that of threads which ended
    /// between two searches; and where the kernel permits no samples, it brings the time up to date at its tick.
    pub(crate) fn unread(&self) -> (u64, u64) {
        let read = self.threads.writers().io.write_calls;
        let calls = self.own().write_calls.saturating_sub(read);
        if calls > read && (read == 0 || !self.threads.is_one()) {
            // Too few were read to tell of the others, or their threads were never seen: the whole process's time does.
            let whole = self.reaped.unwrap_or(self.stat.processor);
            let rounded_ns = 2 * procfs::UNIT_NS * u64::from(self.reaped.is_none());
            let whole_ns = whole.since(self.stat_before.processor).total_ns + rounded_ns;
            let read_ns = self.threads.all().processor.total_ns + self.stops_ns;
            (0, whole_ns.saturating_sub(read_ns))
        } else if self.threads.are_sampled() {
            // Samples go on to a thread's end.
            (calls.saturating_sub(self.last_moments.write_calls), 0)
        } else if self.stat.has_ended && self.threads.is_one() {
            (0, 0)
        } else {
            (calls, procfs::TICK_NS)
        }
    }

    /// The time for which its threads slept in writes. With one thread: the part of its whole sleep that the samples give to writes;
    /// with more: the sampled time.
    pub(crate) fn waiting_ns(&self) -> u64 {
        let seen_ns = self.seen.values().map(|seen| seen.waiting_ns).sum();
        let [in_writes, elsewhere] = self.asleep;
        if !self.threads.is_one() || in_writes == 0 {
            return seen_ns;
        }
        (self.off_ns() as f64 * in_writes as f64 / (in_writes + elsewhere) as f64) as u64
    }

    /// How long its thread neither had a processor nor was ready to run or held.
    fn off_ns(&self) -> u64 {
        let awake = self.threads.all().processor;
        (self.last_ns - self.first_ns)
            .saturating_sub(awake.total_ns + awake.delayed_ns + self.peeking_ns + self.stopped_ns)
    }

    /// The same, if samples found the thread awake only, and for as long as they did: then the host of a virtual machine had that, which
    /// the scheduler counts neither as the thread's time nor as its delay.
    pub(super) fn stolen_ns(&self) -> u64 {
        let is_awake = self.threads.is_one() && self.asleep == [0, 0];
        self.off_ns().min(self.running_ns) * u64::from(is_awake)
    }

    /// Whether its thread was found asleep elsewhere than in writes, and mostly there: then its turns come after waits, and not after those
    /// whom its writes wake.
    pub(crate) fn waits_elsewhere(&self) -> bool {
        self.asleep[1] > self.asleep[0] + 1
    }

    /// Another way in which it wrote, or may have if it had the kernel for so long: with a socket it may have sent, and writes to a stream that is
    /// closed are in no count. Or, beside its writes, calls that wait for files for so long.
    pub(super) fn unseen(&self, long_ns: u64) -> Option<Unseen> {
        let hardly_writes = self.own().write_calls < peek::FROM;
        let mut targets = self.targets.values();
        let closed = !self.targets.is_empty() && self.targets.range(1..=2).count() < 2;
        let sends = closed || !self.sockets.is_empty() || targets.any(|it| it.kind == Kind::Socket);
        let is_sent = sends && hardly_writes && self.threads.all().processor.system_ns >= long_ns;
        let awaits = (self.awaiting_files_ns >= long_ns && self.own().write_calls > 0)
            || self.storing_ns >= long_ns;
        (self.unseen.max(is_sent.then_some(Unseen::Sent))).max(awaits.then_some(Unseen::Files))
    }

    /// The longest processor time of its threads, if it hardly wrote, beside what its reads may take: a reader of small writes has as many.
    pub(super) fn works_alone_ns(&self) -> u64 {
        let hardly_writes = self.own().write_calls < peek::FROM;
        let threads = self.threads.own().filter(|_| hardly_writes);
        let worked_ns = threads.map(|(_, Reading { io, processor })| {
            let reading_ns = io.read_calls * MOST_READ_NS;
            processor.total_ns.saturating_sub(reading_ns)
        });
        worked_ns.max().unwrap_or(0)
    }

    /// Whether other calls between its writes may have gone by uncounted.
    pub(crate) fn hides_other_calls(&self) -> bool {
        self.is_listened_to && self.others.1 == 0
    }

    /// Other calls for each write, as of a look.
    pub(crate) fn other_calls(&self) -> [f64; 3] {
        let (calls, writes) = self.others;
        calls.map(|calls| calls as f64 / writes.max(1) as f64)
    }

    /// The file that it opens once more for each of its writes, or nearly each.
    pub(crate) fn reopened(&self) -> Option<&Target> {
        let is_usual = self.other_calls()[2] >= USUAL;
        self.reopened.as_ref().filter(|_| is_usual)
    }

    /// Stdout or stderr, if it has this destination: then another descriptor with it is another name of that stream (Node.js opens
    /// its terminal once more).
    fn stream_at(&self, identity: Option<(u64, u64)>) -> Option<i32> {
        let of = |stream: &i32| self.targets.get(stream).map(|target| target.identity);
        identity.and_then(|_| (1..=2).find(|stream| of(stream) == identity))
    }

    /// Which of stdout and stderr has all bytes, if few writes have come since that was seen: of a process that has ended, it is not.
    pub(crate) fn filled(&self) -> Option<i32> {
        let calls = self.own().write_calls;
        (self.filled).filter(|_| calls <= self.filled_at + unseen(calls))
    }

    /// Whether many of its writes may have woken its own threads. A write to an eventfd has 8 bytes; runtimes that hardly use theirs have one,
    /// too.
    pub(crate) fn writes_to_itself(&self) -> bool {
        let own = self.own();
        self.has_own_pipe || (self.has_eventfd && own.bytes_written <= 2 * 8 * own.write_calls)
    }

    /// Whether all that it may have written went to one place: stdout and stderr are the same, or the position in a file and all writes
    /// that were seen name one of them.
    pub(crate) fn has_one_place(&self) -> bool {
        let mut places = self.targets.range(1..=2).map(|(_, target)| target.identity);
        let first = places.next();
        let mut peeked = self.seen.iter().filter(|(_, seen)| seen.peeked > 0);
        let is_filled = |of| peeked.all(|(&descriptor, _)| descriptor == of);
        let writes_beside = self.writes_elsewhere || self.writes_to_itself() || self.is_redirected;
        !writes_beside
            && (self.filled().is_some_and(is_filled) || places.all(|place| Some(place) == first))
    }

    /// Whether it runs the same program still. A process that has ended has no executable file, but a name until its parent
    /// has waited for it: the last one that it gave itself.
    pub(super) fn runs_as_before(&mut self) -> bool {
        let executable = procfs::executable(self.process);
        let Some(name) = procfs::name(self.process) else {
            return false;
        };
        let is_same = executable.map_or(*self.name == *name, |is| self.executable == Some(is));
        if is_same {
            self.name = name.into();
        }
        is_same
    }

    /// Looks up the destination of a descriptor, if it is not known, and gives the descriptor's number, or that of the stream
    /// that it is another name of.
    fn identify(&mut self, descriptor: i32) -> i32 {
        if descriptor <= 2 {
            return descriptor;
        }
        if let Some(known) = self.targets.get(&descriptor) {
            // It may have been closed since, or be a file of many.
            let now = Target::identity_of(self.holder, descriptor);
            self.is_redirected |= now.is_some_and(|now| now != known.identity);
        } else if let Some(mut target) = Target::of(self.holder, descriptor) {
            let all = procfs::descriptors(self.holder);
            if procfs::is_read_by_itself(self.holder, descriptor, &all) {
                target.kind = Kind::Other;
            }
            self.targets.insert(descriptor, target);
        }
        let target = self.targets.get(&descriptor);
        let stream = self.stream_at(target.map(|target| target.identity));
        // A file that is open only for its writes is in no search.
        self.writes_elsewhere |= stream.is_none() && target.is_none_or(|it| it.kind != Kind::Other);
        stream.unwrap_or(descriptor)
    }

    /// Takes an exact look at the thread that writes most, if the process has made many writes since the last time, and their sums do not
    /// show how they are buffered. Gives the thread where a stop could do harm, or is not permitted.
    pub(super) fn peek(&mut self) -> Option<i32> {
        let own = self.own();
        if own.write_calls < peek::FROM {
            // What takes the kernel's time without a write may be calls that the kernel does not count.
            let system_ns = self.threads.all().processor.system_ns;
            let is_silent = system_ns >= SILENT_NS << (2 * self.peeks);
            let thread = self.threads.busiest().filter(|_| is_silent)?;
            // It has another look later.
            let _ = self.look_at(thread, true);
            return None;
        }
        let more = self.tried_at + self.tried_at / PEEK_AGAIN + 1;
        let is_rare = self.is_listened_to || (self.is_peeked && self.has_one_place());
        let much_later = self.looked_at * LOOK_AGAIN * u64::from(self.is_peeked);
        let again = [more, much_later][usize::from(is_rare)];
        let is_small = own.bytes_written <= own.write_calls * peek::LARGEST;
        // The numbers and registers of other processors' calls are others.
        let is_due = !self.is_foreign
            && own.write_calls >= again
            && (is_small
                || (own.write_calls >= FEWEST_LARGE
                    && Buffering::of_sums(own.write_calls, own.bytes_written).is_none()));
        let thread = self.threads.busiest().filter(|_| is_due)?;
        if !is_small {
            return Some(thread);
        }
        // With few writes, the thread had no processor, or has just stopped writing: it is worth another try.
        let is_short = self.is_peeked || self.peeks >= peek::MOST_LONG;
        match self.look_at(thread, is_short) {
            // It sleeps: the next search tries again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            looked => {
                self.tried_at = own.write_calls;
                looked.is_err().then_some(thread)
            }
        }
    }

    /// Takes an exact look at a thread.
    fn look_at(&mut self, thread: i32, is_short: bool) -> io::Result<()> {
        let look = peek::at(self.process, thread, is_short)?;
        (self.threads).leave_out(thread, Processor::of(0, look.stops_ns));
        self.stops_ns += look.stops_ns;
        self.stops += look.stops;
        self.peeking_ns += look.took_ns;
        self.peeks += 1;
        // Between the first and the last of them.
        self.others.0 = std::array::from_fn(|kind| self.others.0[kind] + look.others[kind]);
        self.others.1 += (look.writes.len() as u64).saturating_sub(1);
        self.reopened = look.reopened.or(self.reopened.take());
        self.take(look.writes);
        Ok(())
    }

    /// Whether the kernel does not count this write. What a process writes to a stream so is not known.
    fn is_uncounted(&mut self, write: &Call) -> bool {
        let is_uncounted = !write.kind.is_counted();
        let place = || Target::identity_of(self.holder, write.descriptor);
        if is_uncounted && self.stream_at(place()).is_some() {
            self.unseen = self.unseen.max(Some(Unseen::Sent));
        }
        is_uncounted
    }

    /// Samples every thread, for the time since the last sample, and gives the places that writes wait for. `beside_others`: other processes
    /// may go on while it waits.
    pub(super) fn sample(
        &mut self,
        [from_ns, now_ns]: [u64; 2],
        beside_others: bool,
        timeline: &mut Timeline,
    ) -> Vec<Target> {
        let mut threads = self.threads.doing();
        threads.retain(|_| !self.stat.is_stopped);
        let one_runs = threads.iter().any(|thread| thread.1 == Doing::Running) || beside_others;
        let (mut one_polls, mut awaited) = (false, Vec::new());
        for (thread, doing) in threads {
            let Some((call, is_new)) = self.asleep_in(thread, doing) else {
                self.asleep[1] += u64::from(matches!(doing, Doing::InCall { .. } | Doing::Asleep));
                self.running_ns += (now_ns - from_ns) * u64::from(doing == Doing::Running);
                self.awaiting_files_ns += (now_ns - from_ns) * u64::from(doing.awaits_a_file());
                self.storing_ns += (now_ns - from_ns) * u64::from(doing.stores_memory());
                continue;
            };
            let (descriptor, is_sync) = (call.descriptor, call.kind.is_sync());
            // Of several writers of a terminal one waits for its reader, and the others for that one; of several threads that poll each
            // may wait for the same room.
            let target = self.targets.get(&descriptor);
            let is_second = (target.is_some_and(|target| target.kind == Kind::Terminal)
                && Doing::waits_for_writer(self.process, thread))
                || (doing.polls() && std::mem::replace(&mut one_polls, true));
            self.asleep[usize::from(is_second)] += 1;
            let is_synced = is_sync || target.is_some_and(|target| target.is_synced);
            let seen = self.seen.entry(descriptor).or_default();
            let waiting_ns = (now_ns - from_ns) * u64::from(!is_second);
            seen.waiting_ns += waiting_ns;
            seen.syncing_ns += waiting_ns * u64::from(is_synced);
            seen.overlapped_ns += waiting_ns * u64::from(one_runs);
            seen.looks += u64::from(!is_sync);
            let span = CallSpan {
                began_ns: from_ns,
                ended_ns: now_ns,
                call: call.kind.name,
                bytes: None,
                calls: u64::from(is_new),
            };
            let track = [self.process, thread, descriptor];
            timeline.add(track, &self.program, span);
            awaited.extend(self.targets.get(&descriptor).cloned());
        }
        awaited
    }

    /// The write in which a thread is asleep, or the call that waits for a device, and whether it was not in that one before. The size
    /// of each write is sampled once. Its end is not: programs sleep in some of their writes only, perhaps in those that end lines.
    fn asleep_in(&mut self, id: i32, doing: Doing) -> Option<(Call, bool)> {
        let before = self.threads.get_mut(id)?.asleep.take();
        let (number, arguments, returns_to) = doing.call_and_place()?;
        let (number, arguments) = self.polled_for(doing).unwrap_or((number, arguments));
        let write = Call::begun((self.process, id), number, &arguments);
        // As for `listen`.
        let mut write = write.filter(|_| !self.is_foreign)?;
        if !write.kind.is_sync() && !doing.polls() {
            self.writes_at = Some(CallSite::Before(returns_to));
        }
        if self.is_uncounted(&write) {
            return None;
        }
        let thread = self.threads.get_mut(id)?;
        thread.asleep = Some((arguments, thread.finished_writes()));
        let is_new = thread.asleep != before;
        write.descriptor = self.identify(write.descriptor);
        if let (true, Some(size)) = (is_new && !doing.polls(), write.asked) {
            let seen = self.seen.entry(write.descriptor).or_default();
            seen.tally.sample(size, None);
        }
        Some((write, is_new))
    }

    /// The write to stdout or stderr for which a thread waits in another call until there is room.
    fn polled_for(&self, doing: Doing) -> Option<(i64, [u64; 6])> {
        let mut kinds = self.targets.range(1..=2).map(|(_, target)| target.kind);
        // Others always have room.
        kinds.find(|kind| matches!(kind, Kind::Terminal | Kind::Pipe | Kind::Socket))?;
        let identity = |descriptor| Target::identity_of(self.holder, descriptor);
        let is_it = |descriptor| self.stream_at(identity(descriptor)).is_some();
        let stream = doing.awaits_room(self.holder, is_it)?;
        Some((libc::SYS_write, [stream as u64, 0, 0, 0, 0, 0]))
    }

    /// Sees the writes of a thread without stopping it: by breakpoints, if these are permitted and the place where it writes is known,
    /// else by samples in quick succession.
    pub(super) fn listen(&mut self, thread: i32, part: u64) {
        // Until it is known that no writes went by unheard.
        self.is_half_heard |= !self.is_listened_to;
        self.is_listened_to = true;
        if self.writes_at.is_none() {
            self.writes_at = CallSite::of(self.process);
        }
        let at = |place| Breakpoints::at(place, (self.process, thread)).ok();
        let mut breakpoints = self.writes_at.as_ref().and_then(at);
        let before = self.reading(thread);
        // Those that the first count may have are not counted, and the last count comes after all: a gap makes the heard ones fewer, never
        // more.
        let first = breakpoints.as_mut().and_then(|first| first.begun().ok());
        let mut all = first.unwrap_or_default();
        let (began_ns, spent_ns) = (clock::now_ns(), clock::thread_ns());
        let (mut heard, mut heard_ns) = (0, began_ns);
        while heard < ENOUGH_HEARD
            && clock::now_ns() - began_ns < LONGEST_LISTEN_NS / part
            && clock::thread_ns() - spent_ns < LISTEN_NS / part
        {
            if let Some(breakpoints) = &mut breakpoints {
                let Ok(writes) = breakpoints.begun() else {
                    break;
                };
                if !writes.is_empty() {
                    heard_ns = clock::now_ns();
                } else if clock::now_ns() - heard_ns > SILENCE_NS {
                    // The process may lack a processor because this thread has it.
                    std::thread::yield_now();
                }
                heard += writes.len();
                all.extend(writes);
                continue;
            }
            let asked = self.threads.get_mut(thread);
            let doing = asked.map_or(Doing::Hidden, |thread| thread.doing());
            if doing == Doing::Hidden {
                break;
            }
            if let Some((write, is_new)) = self.asleep_in(thread, doing) {
                let seen = self.seen.entry(write.descriptor).or_default();
                seen.looks += u64::from(is_new && !write.kind.is_sync());
            }
        }
        if let Some(breakpoints) = &mut breakpoints
            && let Ok(writes) = breakpoints.begun()
            && breakpoints.shows_all()
            && heard as u64 >= FEWEST
        {
            let heard = (heard + writes.len()) as u64;
            let finished = self.reading(thread).io.since(before.io).write_calls;
            self.is_half_heard = finished > heard + heard / 4 + UNHEARD;
        }
        self.take(all);
        if breakpoints.is_some() {
            let slowed = self.reading(thread).processor.since(before.processor);
            self.threads.leave_out(thread, slowed);
            self.peeking_ns += slowed.total_ns;
        }
    }

    fn reading(&mut self, thread: i32) -> Reading {
        let thread = self.threads.get_mut(thread);
        thread.map_or_else(Reading::default, Thread::reading)
    }

    /// Takes successive writes of a thread into account.
    fn take(&mut self, mut writes: Vec<Call>) {
        writes.retain(|write| !self.is_uncounted(write));
        let Some(first) = writes.first() else {
            return;
        };
        if (1..=2).contains(&self.identify(first.descriptor)) {
            self.language = self.language.of_writer(self.process, &first.stack);
        }
        let calls = self.own().write_calls;
        let since = calls.saturating_sub(std::mem::replace(&mut self.looked_at, calls));
        let each = since.min(unseen(calls)) as f64 / writes.len() as f64;
        let mut ends = 0;
        for write in writes {
            let descriptor = self.identify(write.descriptor);
            let seen = self.seen.entry(descriptor).or_default();
            seen.peeked += 1;
            seen.credited += each;
            ends += usize::from(write.ends_line.is_some());
            // Without a length in the arguments, the result gives the size.
            let size = write.asked.unwrap_or(write.result.unsigned_abs());
            match write.result {
                ..0 => seen.tally.errors += 1,
                0 if write.asked.is_none() => {}
                _ => seen.tally.sample(size, write.ends_line),
            }
        }
        self.is_peeked |= ends >= FEWEST_PEEKED;
    }

    /// The counters, as they are now.
    fn counted(&self) -> Option<(IoCounters, Stat)> {
        let state = || Stat::parse(&read_again(self.state.as_ref()?).ok()?);
        let before = state().unwrap_or(self.stat);
        let io = IoCounters::read(self.counters.as_ref()?).ok()?;
        // Those of the children may have come in between.
        let after = state().unwrap_or(before);
        let stat = Stat {
            children_faults: after.children_faults,
            ..before
        };
        Some((io, stat))
    }

    /// Its reads and writes, with those of the children it has waited for.
    pub(super) fn with_children(&self) -> IoCounters {
        self.io.since(self.io_before)
    }

    pub(super) fn has_reaped(&self) -> bool {
        self.stat.children_faults != self.stat_before.children_faults
    }

    /// Its own reads and writes. Once it has waited for a child, only those its threads are known to have made: all, unless a
    /// thread has ended.
    pub(crate) fn own(&self) -> IoCounters {
        let own = if self.has_reaped() {
            self.threads.all().io
        } else {
            self.with_children()
        };
        own.plus(self.last_moments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Watched {
        /// One that has written this much.
        pub(crate) fn for_test(calls: u64, bytes: u64) -> Self {
            Self {
                program: "program".into(),
                io: IoCounters {
                    write_calls: calls,
                    bytes_written: bytes,
                    ..IoCounters::default()
                },
                ..Self::default()
            }
        }
    }

    #[test]
    fn what_leaves_fewer_verdicts_is_told_first() {
        let mut process = Watched::for_test(1000, 12_000);
        assert_eq!(process.unseen(50), None);
        process.awaiting_files_ns = 50;
        assert_eq!(process.unseen(50), Some(Unseen::Files));
        assert_eq!(process.unseen(51), None);
        process.unseen = Some(Unseen::Request);
        assert_eq!(process.unseen(50), Some(Unseen::Request));
        // Of several processes, too.
        assert!(Unseen::Held > Unseen::Sent && Unseen::Sent > Unseen::Request);
        // One that made no writes has no files that were replaced for them, but it may have written to memory.
        let mut silent = Watched::for_test(0, 0);
        silent.awaiting_files_ns = 50;
        assert_eq!(silent.unseen(50), None);
        silent.storing_ns = 50;
        assert_eq!(silent.unseen(50), Some(Unseen::Files));
    }

    #[test]
    fn a_file_of_many_that_have_one_descriptor_in_turn_is_not_the_one_of_all() {
        let ours = std::process::id() as i32;
        let mut watched = Watched {
            holder: ours,
            ..Watched::for_test(0, 0)
        };
        let mut file = std::os::fd::OwnedFd::from(tempfile::tempfile().unwrap());
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        for _ in 0..2 {
            watched.identify(descriptor);
            assert!(!watched.is_redirected && watched.writes_elsewhere);
        }
        rustix::io::dup2(tempfile::tempfile().unwrap(), &mut file).unwrap();
        watched.identify(descriptor);
        assert!(watched.is_redirected);
    }

    #[test]
    fn the_time_in_which_it_is_stopped_is_known() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "kill -STOP $$"])
            .spawn()
            .unwrap();
        let process = shell.id() as i32;
        let mut watched = Watched::find(process, &[process], None, false, 0).unwrap();
        while watched.stopped_ns == 0 {
            watched.refresh(&[process]);
        }
        assert!(watched.stat.is_stopped);
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn time_in_which_it_neither_ran_nor_slept_was_the_hosts() {
        let mut sleeper = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let process = sleeper.id() as i32;
        let mut watched = Watched::find(process, &[process], None, false, 0).unwrap();
        watched.refresh(&[process]);
        let awake = watched.threads.all().processor;
        let off_ns = watched.last_ns - awake.total_ns - awake.delayed_ns;
        // No sample has shown that it ran.
        assert_eq!(watched.stolen_ns(), 0);
        watched.running_ns = off_ns / 2;
        assert_eq!(watched.stolen_ns(), off_ns / 2);
        watched.running_ns = 2 * off_ns;
        assert_eq!(watched.stolen_ns(), off_ns);
        // Our looks held it for a while.
        watched.peeking_ns = 5;
        assert_eq!(watched.stolen_ns(), off_ns - 5);
        watched.asleep[1] += 1;
        assert_eq!(watched.stolen_ns(), 0);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn the_position_in_a_file_shows_which_stream_is_written_to() {
        for redirect in ["", " >&2"] {
            let file = tempfile::tempfile().unwrap();
            let mut shell = std::process::Command::new("sh")
                .args(["-c", &format!("while :; do echo 12345{redirect}; done")])
                .stdout(std::process::Stdio::null())
                .stderr(file)
                .spawn()
                .unwrap();
            let process = shell.id() as i32;
            let mut watched = Watched::find(process, &[process], None, false, 0).unwrap();
            // Until it has become the shell and writes.
            let expected = Some([1, 2][usize::from(!redirect.is_empty())]);
            while watched.own().write_calls < 1000 || watched.filled != expected {
                watched.refresh(&[process]);
            }
            shell.kill().unwrap();
            shell.wait().unwrap();
        }
    }

    #[test]
    fn two_files_without_the_bytes_say_that_these_went_elsewhere() {
        let mut copy = std::process::Command::new("cp")
            .args(["/dev/zero", "/dev/null"])
            .stdout(tempfile::tempfile().unwrap())
            .stderr(tempfile::tempfile().unwrap())
            .spawn()
            .unwrap();
        let process = copy.id() as i32;
        let mut watched = Watched::find(process, &[process], None, false, 0).unwrap();
        while watched.own().write_calls < 1000 {
            watched.refresh(&[process]);
        }
        assert_eq!((watched.filled, watched.is_split), (None, true));
        copy.kill().unwrap();
        copy.wait().unwrap();
    }
}
