//! The default mode: no privileges, no slowdown. The kernel's own counters say how many calls and
//! bytes; looking at `/proc/PID/task/TID/syscall` now and then says which thread waits in which write; a short
//! [exact look](peek) at a thread that writes much shows how it is buffered. Where a stop could do harm, the kernel notes
//! for a moment [what it writes](Breakpoints), or many looks in a row find some of its writes.

use super::breakpoints::{Breakpoints, CallSite};
use super::peek;
use super::threads::{Reading, Threads};
use crate::platform::clock;
use crate::platform::ending::Ending;
use crate::platform::procfs::{self, IoCounters, Processor, Stat};
use crate::platform::{interrupts, signals};
use crate::trace::kernel::calls::{Call, WriteCall};
use crate::trace::kernel::doing::Doing;
use crate::trace::kernel::memory;
use crate::trace::model::findings::{Mode, Recording};
use crate::trace::model::language::Language;
use crate::trace::model::tally::{Buffering, CallTally};
use crate::trace::model::target::Target;
use crate::trace::model::timeline::{CallSpan, Timeline};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

/// Something done again and again, so seldom that it takes but a small part of a processor: what it
/// watches should not feel it.
struct Rhythm {
    /// The shortest time from one to the next, but for the beginning.
    shortest_ns: u64,
    due_ns: u64,
}

/// One part in so many of a processor goes into it.
const PART: u64 = 200;
const AT_FIRST_NS: u64 = 500_000_000;
/// The start-up of a program is looked at closely, whatever that costs, so that short ones are seen.
const START_NS: u64 = 30_000_000;
/// However much one takes, the next is not later than this; in the beginning, when programs start others
/// and become others, not later than that, and not sooner than in a millisecond.
const LONGEST_NS: u64 = 100_000_000;
const LONGEST_AT_FIRST_NS: u64 = 5_000_000;
const SHORTEST_AT_FIRST_NS: u64 = 1_000_000;

impl Rhythm {
    /// It was done, which took so much processor time, so long after the beginning.
    fn took(&mut self, processor_ns: u64, since_ns: u64, now_ns: u64) {
        let fair_ns = processor_ns * PART;
        self.due_ns = now_ns
            + match since_ns {
                0..START_NS => SHORTEST_AT_FIRST_NS,
                START_NS..AT_FIRST_NS => fair_ns.clamp(SHORTEST_AT_FIRST_NS, LONGEST_AT_FIRST_NS),
                AT_FIRST_NS.. => fair_ns.clamp(self.shortest_ns, LONGEST_NS),
            };
    }
}

/// An exact look at a process is taken again when it has made so many times as many writes, unless looks have shown so many
/// of them already.
const PEEK_AGAIN: u64 = 50;
const FEWEST_PEEKED: usize = 16;
const ENOUGH_LOOKS: u64 = 20;
/// Processes that are not to be stopped are listened to so often at first, for so long, then so seldom that it takes 2 % of a
/// processor.
const MOST_LISTENS: u64 = 24;
const LISTEN_NS: u64 = 2_000_000;
/// On a busy machine it takes longer, as that is processor time, but no longer than this.
const LONGEST_LISTEN_NS: u64 = 10_000_000;
const SILENCE_NS: u64 = 20_000;
const LISTEN_EVERY_NS: u64 = 100_000_000;
/// Fewer large writes are not worth it.
const FEWEST_LARGE: u64 = 64;
/// It is over when the ends of so many writes were seen.
const ENOUGH_ENDS: usize = 48;

/// A program that starts this many threads is sampled in part.
const MOST_THREADS: usize = 256;

struct SampledThread {
    directory: PathBuf,
    call: File,
    /// Its own counters, once it was seen asleep in a write: most threads never are.
    counters: OnceCell<Option<File>>,
    /// The arguments of the call that it was last seen asleep in, and its count of finished writes then: unchanged, it is
    /// still the same call.
    asleep: Option<([u64; 6], u64)>,
}

/// A write in which a thread was found asleep.
struct SleepingWrite {
    call: &'static WriteCall,
    descriptor: i32,
    /// It was not found in this one before.
    is_new: bool,
}

/// What was seen of one descriptor: writes in which a thread slept, and those of a short exact look.
#[derive(Default)]
pub(crate) struct SampledWrites {
    pub(crate) waiting_ns: u64,
    pub(crate) looks: u64,
    /// Writes of exact looks.
    pub(crate) peeked: u64,
    pub(crate) tally: CallTally,
}

/// One process, as far as it was seen.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) process: i32,
    /// The name of its executable file, or else the one that the kernel keeps.
    pub(crate) program: Rc<str>,
    name: Rc<str>,
    executable: Option<PathBuf>,
    pub(crate) language: Language,
    /// Descriptors 0 to 2, and others that were written to.
    pub(crate) targets: BTreeMap<i32, Target>,
    /// Whether it has other descriptors open that writes could have gone to.
    pub(crate) writes_elsewhere: bool,
    pub(crate) seen: BTreeMap<i32, SampledWrites>,
    tasks: Threads,
    first_ns: u64,
    counters: Option<File>,
    /// The kernel's counters, which include the children it has waited for: now, and when it began.
    io: IoCounters,
    io_before: IoCounters,
    stat: Stat,
    stat_before: Stat,
    /// What children have left to it that it has waited for, as far as that is certain.
    inherited: IoCounters,
    /// Writes of its last moments, found in what it left to its parent, and how long those took at most.
    last_moments: IoCounters,
    last_moments_ns: u64,
    /// Its processor time to the microsecond, known when it is reaped.
    reaped: Option<Processor>,
    /// What it had written, and the processor time that had taken, when it was first seen to have written.
    pub(crate) start: Option<(u64, Processor)>,
    /// How often its writes were looked at exactly, and how many there were then.
    peeks: u32,
    peeked_at: u64,
    /// Where it writes, as the last call shows in which a thread was found asleep.
    writes_at: Option<CallSite>,
    /// Time that it took, without waiting for a processor, and processor time.
    peeking_ns: u64,
    stops_ns: u64,
    /// Looks that found its thread asleep in a write, and elsewhere.
    asleep: (u64, u64),
    /// When it was last seen.
    last_ns: u64,
    /// How many searches have found it.
    searches: u64,
    threads: HashMap<i32, SampledThread>,
}

impl Watched {
    fn new(process: i32, name: Rc<str>, executable: Option<PathBuf>, now_ns: u64) -> Self {
        let file = executable.as_deref().and_then(Path::file_name);
        let language = executable.as_deref();
        let language = language.map(|path| Language::of(process, path));
        Self {
            process,
            program: file.map_or_else(|| Rc::clone(&name), |file| file.to_string_lossy().into()),
            name,
            language: language.unwrap_or_default(),
            executable,
            first_ns: now_ns,
            last_ns: now_ns,
            counters: File::open(format!("/proc/{process}/io")).ok(),
            ..Self::default()
        }
    }

    /// The processor time of its threads that write, while it was watched, without what stops at its calls took.
    pub(crate) fn processor(&self) -> Processor {
        // In `stat` it is rounded to hundredths of a second.
        let with_stops = self.reaped_alone();
        let with_stops = with_stops.unwrap_or_else(|| self.tasks.writers().processor);
        with_stops.since(Processor::of(0, self.stops_ns))
    }

    /// The processor time of a process with one thread, known since it was reaped.
    fn reaped_alone(&self) -> Option<Processor> {
        let reaped = self.reaped.filter(|_| self.tasks.is_one())?;
        Some(reaped.since(self.stat_before.processor))
    }

    /// How many of its writes are in no thread's reading, and how much processor time is not, at most: that of threads that
    /// ended between two searches, of last moments, and since the kernel last brought it up to date.
    pub(crate) fn unread(&self) -> (u64, u64) {
        let read = self.tasks.writers().io.write_calls;
        let calls = self.own().write_calls.saturating_sub(read);
        if self.reaped_alone().is_some() || (calls == 0 && self.tasks.are_final()) {
            return (0, 0);
        }
        let unread_ns = if calls > 0 && !self.tasks.is_one() {
            let whole = self.reaped.unwrap_or(self.stat.processor);
            let rounded_ns = 2 * procfs::UNIT_NS * u64::from(self.reaped.is_none());
            let whole_ns = whole.since(self.stat_before.processor).total_ns + rounded_ns;
            whole_ns.saturating_sub(self.tasks.all().processor.total_ns)
        } else {
            procfs::TICK_NS
        };
        (calls, unread_ns + self.last_moments_ns)
    }

    /// How long its threads slept in writes: of a process with one thread, that part of all the time it slept which it
    /// was seen to sleep in writes; else as long as they were seen to.
    pub(crate) fn waiting_ns(&self) -> u64 {
        let seen_ns = self.seen.values().map(|seen| seen.waiting_ns).sum();
        let (in_writes, elsewhere) = self.asleep;
        if !self.tasks.is_one() || in_writes == 0 {
            return seen_ns;
        }
        let watched_ns = self.last_ns - self.first_ns;
        let awake = self.tasks.all().processor;
        let asleep_ns = (watched_ns + self.stops_ns)
            .saturating_sub(awake.total_ns + awake.delayed_ns + self.peeking_ns);
        (asleep_ns as f64 * in_writes as f64 / (in_writes + elsewhere) as f64) as u64
    }

    /// Whether the parts of that time are known in hundredths of a second only.
    pub(crate) fn is_rounded(&self) -> bool {
        self.reaped_alone().is_none()
    }

    /// Page faults while it was watched.
    pub(crate) fn faults(&self) -> u64 {
        let before = self.stat_before.minor_faults;
        self.stat.minor_faults.saturating_sub(before)
    }

    /// The one of stdout and stderr that leads where this does, if it is another name of it (Node.js opens its terminal
    /// once more).
    fn stream_at(&self, identity: Option<(u64, u64)>) -> Option<i32> {
        let leads_there = |stream: &i32| {
            let target = self.targets.get(stream);
            target.is_some_and(|target| identity == Some(target.identity))
        };
        (1..=2).find(leads_there)
    }

    /// Whether it runs the same program still. One that has ended has no executable file, but a name until its parent
    /// has waited for it.
    fn runs_as_before(&self) -> bool {
        match procfs::executable(self.process) {
            Some(executable) => self.executable.as_ref() == Some(&executable),
            None => procfs::name(self.process).is_some_and(|name| *self.name == *name),
        }
    }

    /// Looks up what a descriptor is connected to, if that is not known, and gives its number, or that of the stream that
    /// it is another name of.
    fn identify(&mut self, descriptor: i32) -> i32 {
        if descriptor <= 2 {
            return descriptor;
        }
        if !self.targets.contains_key(&descriptor) {
            let target = Target::of(self.process, descriptor);
            self.targets
                .extend(target.map(|target| (descriptor, target)));
        }
        let identity = self.targets.get(&descriptor).map(|target| target.identity);
        self.stream_at(identity).unwrap_or(descriptor)
    }

    /// The thread whose writes should be looked at exactly: it has made many since the last time, and neither their sums nor
    /// looks show how they are buffered.
    fn worth_a_peek(&self) -> Option<i32> {
        let own = self.own();
        let looks: u64 = self.seen.values().map(|seen| seen.looks).sum();
        let is_unclear = |seen: &SampledWrites| seen.tally.buffering() == Buffering::Small;
        let is_due = self.peeks < peek::MOST
            && own.write_calls >= peek::FROM.max(self.peeked_at * PEEK_AGAIN)
            && (looks < ENOUGH_LOOKS || self.seen.values().any(is_unclear))
            && (self.mean_size() <= peek::LARGEST || own.write_calls >= FEWEST_LARGE)
            && Buffering::of_sums(own.write_calls, own.bytes_written).is_none();
        is_due.then(|| self.tasks.busiest())?
    }

    /// Takes an exact look at a thread, and says what that took of its time.
    fn peek(&mut self, thread: i32) -> io::Result<u64> {
        if self.mean_size() > peek::LARGEST {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let look = peek::at(self.process, thread)?;
        self.stops_ns += look.stops_ns;
        self.peeking_ns += look.took_ns;
        self.peeks += 1;
        // Of less it had no processor, or has just stopped writing: it is worth another try.
        if look.writes.len() >= FEWEST_PEEKED {
            self.peeked_at = self.own().write_calls;
        }
        self.take(look.writes);
        Ok(look.took_ns)
    }

    /// Looks at a thread that was asleep in this, if that is a write. What it writes is sampled once.
    fn find(&mut self, thread: &mut SampledThread, doing: Doing) -> Option<SleepingWrite> {
        let before = thread.asleep.take();
        let Doing::InCall {
            number,
            arguments,
            returns_to,
        } = doing
        else {
            return None;
        };
        WriteCall::with_number(number)?;
        // Before its memory is read, and after that once more.
        let write_calls = thread.finished_writes();
        let write = memory::begun((self.process, 0), 0, number, &arguments)?;
        self.writes_at = Some(CallSite::Before(returns_to));
        thread.asleep = Some((arguments, write_calls));
        let is_new = thread.asleep != before;
        let descriptor = self.identify(write.descriptor);
        // What was read from its memory is what it writes only if it is still in that call.
        if let (true, Some(size)) = (is_new, write.asked)
            && thread.doing() == doing
            && thread.finished_writes() == write_calls
        {
            let before_it = self.read_counters().map_or(0, |io| io.write_calls);
            let seen = self.seen.entry(descriptor).or_default();
            seen.tally.sample(size, write.ends_line);
            if write.ends_line == Some(true) {
                seen.tally.line_end_after(before_it);
            }
        }
        Some(SleepingWrite {
            call: write.kind,
            descriptor,
            is_new,
        })
    }

    /// Sees what a thread writes, without stopping it: by breakpoints, if these are permitted and it is known where it writes,
    /// else by looks as fast as they can be.
    fn listen(&mut self, thread: i32, part: u64) {
        let Some((thread, mut state)) = self.threads.remove_entry(&thread) else {
            return;
        };
        if self.writes_at.is_none() {
            self.writes_at = memory::function_write(self.process).map(CallSite::Function);
        }
        let (began_ns, spent_ns) = (clock::now_ns(), clock::thread_ns());
        let (mut breakpoints, mut ends, mut heard_ns) = (None, 0, began_ns);
        self.count_anew();
        while ends < ENOUGH_ENDS
            && clock::now_ns() - began_ns < LONGEST_LISTEN_NS / part
            && clock::thread_ns() - spent_ns < LISTEN_NS / part
        {
            if let (None, Some(place)) = (&breakpoints, self.writes_at) {
                breakpoints = Some(Breakpoints::at(place, (self.process, thread)));
                self.count_anew();
            }
            if let Some(Ok(breakpoints)) = &mut breakpoints {
                let Ok(writes) = breakpoints.begun() else {
                    break;
                };
                if !writes.is_empty() {
                    heard_ns = clock::now_ns();
                } else if clock::now_ns() - heard_ns > SILENCE_NS {
                    // It has no processor, perhaps, because this thread has it.
                    std::thread::yield_now();
                }
                ends += self.take(writes);
                continue;
            }
            let doing = state.doing();
            if doing == Doing::Hidden {
                break;
            }
            if let Some(found) = self.find(&mut state, doing) {
                let seen = self.seen.entry(found.descriptor).or_default();
                seen.looks += u64::from(found.is_new);
            }
        }
        self.count_anew();
        if ends >= FEWEST_PEEKED {
            self.peeks += 1;
            self.peeked_at = self.own().write_calls;
        }
        self.threads.insert(thread, state);
    }

    /// Writes are counted from another moment on.
    fn count_anew(&mut self) {
        let seen = self.seen.values_mut();
        seen.for_each(|seen| seen.tally.count_anew());
    }

    /// Takes successive writes of a thread into account, and says of how many the end is known.
    fn take(&mut self, writes: Vec<Call>) -> usize {
        let mut ends = 0;
        for write in writes {
            let descriptor = self.identify(write.descriptor);
            let seen = self.seen.entry(descriptor).or_default();
            seen.peeked += 1;
            // Where nothing else says how much was to be written, its result does.
            let written = u64::try_from(write.result).ok();
            if let Some(size) = write.asked.or(written.filter(|&written| written > 0)) {
                seen.tally.sample(size, write.ends_line);
            }
            ends += usize::from(write.ends_line.is_some());
            if write.ends_line == Some(true) {
                seen.tally.line_end_after(seen.peeked);
            }
        }
        ends
    }

    fn mean_size(&self) -> u64 {
        let own = self.own();
        own.bytes_written / own.write_calls.max(1)
    }

    fn read_counters(&self) -> Option<IoCounters> {
        IoCounters::read(self.counters.as_ref()?).ok()
    }

    /// The counters, as they are now.
    fn counted(&self) -> Option<(IoCounters, Stat)> {
        let before = Stat::of(self.process).unwrap_or(self.stat);
        let io = self.read_counters()?;
        // Those of the children may have come in between.
        let after = Stat::of(self.process).unwrap_or(before);
        let stat = Stat {
            children_faults: after.children_faults,
            ..before
        };
        Some((io, stat))
    }

    /// What it has read and written, with the children it has waited for.
    fn with_children(&self) -> IoCounters {
        self.io.since(self.io_before)
    }

    fn has_reaped(&self) -> bool {
        self.stat.children_faults != self.stat_before.children_faults
    }

    /// Its own reads and writes. Once it has waited for a child only what its threads are known to have made, which
    /// is all unless one has ended.
    pub(crate) fn own(&self) -> IoCounters {
        let own = if self.has_reaped() {
            self.tasks.all().io
        } else {
            self.with_children()
        };
        own.plus(self.last_moments)
    }
}

#[derive(Default)]
struct Watcher {
    root: i32,
    launched: bool,
    alive: HashMap<i32, Watched>,
    ended: Vec<Watched>,
    timeline: Timeline,
    looks: u64,
    last_look_ns: u64,
    /// What exact looks took.
    peeking_ns: u64,
    /// How often threads were listened to.
    listens: u64,
    /// A child may have ended since the last look for that.
    child_ended: bool,
}

/// Watches a process, a child of ours that began then until it ends; another, or until the user interrupts.
pub(super) fn watch(
    root: i32,
    launched: bool,
    timeline: Timeline,
    began_ns: u64,
) -> io::Result<(Recording, Vec<Watched>)> {
    let ours_before = IoCounters::of("self").unwrap_or_default();
    let watcher = Watcher {
        root,
        launched,
        timeline,
        last_look_ns: began_ns,
        child_ended: true,
        ..Watcher::default()
    };
    let (mut run, processes) = watcher.watch()?;
    let ours = IoCounters::of("self").ok().filter(|_| launched);
    run.tree = ours.map(|ours| ours.since(ours_before));
    Ok((run, processes))
}

impl Watcher {
    fn watch(mut self) -> io::Result<(Recording, Vec<Watched>)> {
        let began_ns = self.last_look_ns;
        let mut ending = None;
        // New threads, children and programs are looked for; then what each thread is in.
        let [mut searches, mut looks] = [20_000_000, 6_000_000].map(|shortest_ns| Rhythm {
            shortest_ns,
            due_ns: 0,
        });
        let mut spent_ns = clock::thread_ns();
        loop {
            let now_ns = clock::now_ns();
            if now_ns >= searches.due_ns {
                let before_ns = clock::thread_ns();
                self.search(now_ns);
                let took_ns = clock::thread_ns() - before_ns;
                searches.took(took_ns, now_ns - began_ns, now_ns);
                self.peek(now_ns - began_ns);
                spent_ns += clock::thread_ns() - before_ns;
            }
            if now_ns >= looks.due_ns {
                self.look(now_ns);
                // With all that has been done since the last one, waking up among it.
                let before_ns = std::mem::replace(&mut spent_ns, clock::thread_ns());
                looks.took(spent_ns - before_ns, now_ns - began_ns, now_ns);
            }
            if self.launched && std::mem::take(&mut self.child_ended) {
                ending = self.reap()?;
            }
            let over = if self.launched {
                ending.is_some()
            } else {
                !self.alive.contains_key(&self.root)
            };
            let signal = interrupts::take();
            if over || (!self.launched && signal.is_some()) {
                break;
            }
            if let Some(signal) = signal {
                interrupts::pass_on(signal, self.root);
            }
            // Until the next is due, or a signal (a child's end among them) arrives.
            let due_ns = searches.due_ns.min(looks.due_ns);
            let pause_ns = due_ns.saturating_sub(clock::now_ns());
            self.child_ended |= interrupts::sleep(Duration::from_nanos(pause_ns));
        }
        let wall_ns = clock::now_ns() - began_ns;
        self.ended
            .extend(std::mem::take(&mut self.alive).into_values());
        self.ended.sort_by_key(|process| process.first_ns);
        let delayed_ns = self.delayed_ns();
        let run = Recording {
            ending,
            wall_ns,
            overhead_ns: self.peeking_ns,
            delayed_ns,
            timeline: self.timeline,
            ..Recording::of(self.root, Mode::Sampled { looks: self.looks })
        };
        Ok((run, self.ended))
    }

    /// How long the tree was ready to run and had no processor: the first thread of the root and those that wrote, or
    /// a process that the root waited for.
    fn delayed_ns(&self) -> u64 {
        let of = |watched: &Watched| {
            let waited_for = |id, own: &Reading| id == self.root || own.io.write_calls > 0;
            watched.tasks.sum(waited_for).processor.delayed_ns
        };
        let (root, others): (Vec<_>, Vec<_>) =
            (self.ended.iter()).partition(|watched| watched.process == self.root);
        let others = others.into_iter().map(of);
        root.into_iter()
            .map(of)
            .sum::<u64>()
            .max(others.max().unwrap_or(0))
    }

    /// Looks exactly at a thread that writes much, of each process of which the looks do not say how it is buffered.
    fn peek(&mut self, since_ns: u64) {
        let may_listen = self.listens < MOST_LISTENS + since_ns / LISTEN_EVERY_NS;
        let mut not_to_stop = Vec::new();
        for watched in self.alive.values_mut() {
            let Some(thread) = watched.worth_a_peek() else {
                continue;
            };
            match watched.peek(thread) {
                Ok(peeking_ns) => self.peeking_ns += peeking_ns,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It could do harm, or is not permitted.
                Err(_) => not_to_stop.extend(may_listen.then_some((watched.process, thread))),
            }
        }
        if !not_to_stop.is_empty() {
            self.listens += 1;
        }
        for (process, thread) in &not_to_stop {
            if let Some(watched) = self.alive.get_mut(process) {
                watched.listen(*thread, not_to_stop.len() as u64);
            }
        }
    }

    /// Looks for new processes and threads, and reads the counters.
    fn search(&mut self, now_ns: u64) {
        let mut known = HashSet::new();
        let mut queue = vec![self.root];
        if self.launched {
            // Orphans of the tree have become our own children.
            let ours = std::process::id() as i32;
            queue.extend(procfs::children(ours, ours));
        }
        while let Some(process) = queue.pop() {
            let threads = procfs::threads(process);
            if threads.is_empty() || !known.insert(process) {
                continue;
            }
            for &thread in &threads {
                queue.extend(procfs::children(process, thread));
            }
            self.refresh(process, threads, now_ns);
        }
        let first_gone = self.ended.len();
        let gone = self.alive.extract_if(|process, _| !known.contains(process));
        self.ended.extend(gone.map(|(_, watched)| watched));
        self.settle(first_gone);
    }

    /// Gives each child among `ended[first..]` the writes of its last moments: what it left to its parent beyond what it was last seen
    /// with. That is certain only where the parent's own writes are known and a single child has ended, which wrote, and was seen before
    /// or is the parent's only one: another may have become another program at the last moment.
    fn settle(&mut self, first: usize) {
        // By parent, how many children it has had: what a parent has left may be its children's.
        let mut families: HashMap<i32, usize> = HashMap::new();
        for watched in self.ended.iter().chain(self.alive.values()) {
            *families.entry(watched.stat.parent).or_default() += 1;
        }
        for parent in self.alive.values_mut() {
            if !parent.tasks.is_one() {
                continue;
            }
            let inherited = parent.with_children().since(parent.tasks.all().io);
            let news = inherited.since(std::mem::replace(&mut parent.inherited, inherited));
            let mut children = self.ended[first..]
                .iter_mut()
                .filter(|child| child.stat.parent == parent.process);
            if let (Some(child), None) = (children.next(), children.next())
                && (child.searches > 1 || families[&parent.process] == 1)
                && child.with_children().write_calls > 0
                && !families.contains_key(&child.process)
            {
                child.last_moments = news.since(child.io);
                if child.last_moments.write_calls > 0 {
                    child.last_moments_ns = clock::now_ns() - child.last_ns;
                }
            }
        }
    }

    fn refresh(&mut self, process: i32, threads: Vec<i32>, now_ns: u64) {
        let known = self.alive.get(&process);
        if !known.is_some_and(Watched::runs_as_before) {
            let Some(name) = procfs::name(process) else {
                return;
            };
            let name = name.into();
            let mut next = Watched::new(process, name, procfs::executable(process), now_ns);
            let former = self.alive.remove(&process);
            if let Some(former) = &former {
                // It runs another program now, and the counters go on.
                next.tasks.go_on(process, &former.tasks);
                (next.io_before, next.stat_before) = (former.io, former.stat);
                if next.executable.is_none() {
                    // It has ended, and nothing else says what it wrote to.
                    next.targets = former.targets.clone();
                }
            } else if !self.launched && self.looks == 0 {
                next.tasks.begin(process, &threads);
                (next.io, next.stat) = next.counted().unwrap_or_default();
                (next.io_before, next.stat_before) = (next.io, next.stat);
            }
            self.ended.extend(former);
            self.alive.insert(process, next);
        }
        let Some(watched) = self.alive.get_mut(&process) else {
            return;
        };
        // The threads' before the whole: a write in between is then no thread's, and no child's either.
        let readings = watched.tasks.read(process, &threads);
        let counted = watched.counted();
        watched.searches += 1;
        // Else they count for the program that it has just become, if that is seen.
        if watched.runs_as_before() {
            watched.last_ns = clock::now_ns();
            watched.tasks.take(readings);
            (watched.io, watched.stat) = counted.unwrap_or((watched.io, watched.stat));
        }
        if watched.start.is_none() && watched.own().write_calls > 0 {
            let writers = watched.tasks.writers();
            watched.start = Some((watched.own().write_calls, writers.processor));
        }
        watched.threads.retain(|thread, _| threads.contains(thread));
        for thread in threads {
            if watched.threads.len() < MOST_THREADS && !watched.threads.contains_key(&thread) {
                let found = SampledThread::open(process, thread).map(|state| (thread, state));
                watched.threads.extend(found);
            }
        }
        let descriptors = procfs::descriptors(process);
        for descriptor in (0..=2).filter(|descriptor| descriptors.contains(descriptor)) {
            let known = watched.targets.get(&descriptor);
            if Target::identity_of(process, descriptor) != known.map(|target| target.identity) {
                let target = Target::of(process, descriptor);
                let target = target.map(|target| (descriptor, target));
                watched.targets.extend(target);
            }
        }
        watched.writes_elsewhere |= descriptors
            .iter()
            .filter(|descriptor| **descriptor > 2 && !Target::is_inherited(process, **descriptor))
            .any(|descriptor| {
                procfs::is_written(process, *descriptor)
                    && !procfs::is_read_by_itself(process, *descriptor, &descriptors)
                    && watched
                        .stream_at(Target::identity_of(process, *descriptor))
                        .is_none()
            });
    }

    /// Asks every thread what it is doing.
    fn look(&mut self, now_ns: u64) {
        let since_ns = now_ns - self.last_look_ns;
        let from_ns = self.last_look_ns;
        self.last_look_ns = now_ns;
        self.looks += 1;
        for watched in self.alive.values_mut() {
            let mut threads = std::mem::take(&mut watched.threads);
            for (&id, thread) in &mut threads {
                let doing = thread.doing();
                let Some(found) = watched.find(thread, doing) else {
                    let is_asleep = matches!(doing, Doing::InCall { .. } | Doing::Asleep);
                    watched.asleep.1 += u64::from(is_asleep);
                    continue;
                };
                watched.asleep.0 += 1;
                let seen = watched.seen.entry(found.descriptor).or_default();
                seen.waiting_ns += since_ns;
                seen.looks += 1;
                let span = CallSpan {
                    began_ns: from_ns,
                    ended_ns: now_ns,
                    in_calls_ns: since_ns,
                    call: found.call.name,
                    bytes: None,
                    calls: u64::from(found.is_new),
                };
                let track = [watched.process, id, found.descriptor];
                self.timeline.add(track, &watched.program, span);
            }
            watched.threads = threads;
        }
    }

    /// Reads the final counters of children that have ended, then reaps them.
    fn reap(&mut self) -> io::Result<Option<Ending>> {
        let mut root = None;
        let ended = signals::ended_children();
        if !ended.is_empty() {
            // As other programs, if they have become those since the last search.
            self.search(clock::now_ns());
        }
        for process in ended {
            let before = clock::children_ns();
            let ending = Ending::of(process)?;
            let after = clock::children_ns();
            if let Some(watched) = self.alive.get_mut(&process)
                && !watched.has_reaped()
            {
                // What the process adds to ours is its own, as it has no children.
                watched.reaped = Some(Processor::of(after.0 - before.0, after.1 - before.1));
            }
            if process == self.root {
                root = ending;
            }
            self.ended.extend(self.alive.remove(&process));
        }
        Ok(root)
    }
}

impl SampledThread {
    fn open(process: i32, number: i32) -> io::Result<Self> {
        let directory = PathBuf::from(format!("/proc/{process}/task/{number}"));
        Ok(Self {
            call: File::open(directory.join("syscall"))?,
            directory,
            counters: OnceCell::new(),
            asleep: None,
        })
    }

    fn finished_writes(&self) -> u64 {
        let counters = self
            .counters
            .get_or_init(|| File::open(self.directory.join("io")).ok());
        let counters = counters.as_ref().map(IoCounters::read);
        counters.map_or(0, |read| read.map_or(0, |io| io.write_calls))
    }

    fn doing(&self) -> Doing {
        procfs::read_again(&self.call).map_or(Doing::Hidden, |text| Doing::parse(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Watched {
        /// One that has written so much.
        pub(crate) fn for_test(calls: u64, bytes: u64) -> Self {
            let mut watched = Self::new(0, "program".into(), None, 0);
            watched.io.write_calls = calls;
            watched.io.bytes_written = bytes;
            watched
        }
    }
}
