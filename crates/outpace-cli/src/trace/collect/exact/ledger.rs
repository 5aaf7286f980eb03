//! The calls that threads make, and the finished writes among them, summed by program and stream.

use crate::platform::doing::Doing;
use crate::platform::{clock, procfs};
use crate::trace::kernel::calls::{Call, WRITE_FAMILY};
use crate::trace::model::{Descriptors, Kind, Language, Recording, Stream, Target, Unseen};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

/// A process, as far as the ledger needs it.
#[derive(Clone, Default)]
struct TracedProcess {
    program: Rc<str>,
    language: Language,
    /// It ended before it was looked at: only its short name is known.
    gone: bool,
    descriptors: HashMap<i32, Rc<Target>>,
}

/// The calls of one stream: of the same descriptor of the same program, on the same destination.
#[derive(Default)]
pub(crate) struct LedgerEntry {
    /// With its calls, and the time in fsync(2).
    pub(crate) stream: Stream,
    pub(crate) threads: BTreeSet<i32>,
    /// How many of its calls came after one of another process or descriptor there.
    pub(crate) turns: u64,
    /// A pipe that another process of those traced has as its input.
    pub(crate) is_read_within: bool,
    /// The processes with the descriptors that they used for it.
    pub(crate) used: BTreeSet<(i32, i32)>,
}

impl TracedProcess {
    fn runs(&mut self, process: i32, file: &Path) {
        let name = file.file_name().unwrap_or(file.as_os_str());
        self.program = name.to_string_lossy().into();
        self.language = Language::of(process, file);
        self.gone = false;
    }
}

type StreamKey = (Rc<str>, i32, (u64, u64));

/// A call that only older programs make.
#[cfg(target_arch = "x86_64")]
const OLDER: libc::c_long = libc::SYS_dup2;
#[cfg(not(target_arch = "x86_64"))]
const OLDER: libc::c_long = libc::SYS_dup3;
/// Calls that give a descriptor another number: their result.
const COPYING: [libc::c_long; 4] = [libc::SYS_dup, libc::SYS_dup3, OLDER, libc::SYS_fcntl];
/// The commands of fcntl(2) that do.
const COPIES: [libc::c_int; 2] = [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC];
/// Calls that close descriptors.
const CLOSING: [libc::c_long; 2] = [libc::SYS_close, libc::SYS_close_range];
/// Another way to write.
const REQUESTING: [libc::c_long; 2] = [libc::SYS_io_uring_setup, libc::SYS_io_submit];

/// All write calls so far.
#[derive(Default)]
pub(crate) struct Ledger {
    processes: HashMap<i32, TracedProcess>,
    /// The call that a thread has entered: its number and arguments, and what it writes, if it does.
    inside: HashMap<i32, (i64, [u64; 6], Option<Call>)>,
    /// By program, descriptor and destination.
    entries: BTreeMap<StreamKey, LedgerEntry>,
    /// The process and descriptor by which each place was written to last.
    last: HashMap<(u64, u64), (i32, i32)>,
    /// The run in which they are made, and whether its program has been started.
    pub(crate) run: Recording,
    pub(crate) started: bool,
}

impl Ledger {
    /// The numbers of the calls that it wants to know of.
    pub(crate) fn wanted() -> impl Iterator<Item = i64> {
        let writes = WRITE_FAMILY.iter().map(|call| call.number);
        writes.chain(COPYING).chain(CLOSING).chain(REQUESTING)
    }

    fn process(&mut self, process: i32) -> &mut TracedProcess {
        let unseen = &mut self.run.unseen;
        self.processes.entry(process).or_insert_with(|| {
            *unseen = (*unseen).max(procfs::is_foreign(process).then_some(Unseen::Foreign));
            let mut known = TracedProcess {
                program: procfs::name(process).as_deref().unwrap_or("?").into(),
                gone: true,
                ..TracedProcess::default()
            };
            if let Some(file) = procfs::executable(process) {
                known.runs(process, &file);
            }
            known
        })
    }

    /// A process was forked: until it is looked at, its descriptors are its parent's.
    pub(crate) fn forked(&mut self, parent: i32, child: i32) {
        if parent != child {
            let copy = self.process(parent).clone();
            self.processes.insert(child, copy);
        }
    }

    /// A process runs another program now.
    pub(crate) fn executed(&mut self, process: i32, name: &str) {
        self.started = true;
        let before = self.processes.remove(&process).unwrap_or_default();
        self.inside.remove(&process);
        let now = self.process(process);
        // By now it may have opened others; those above 2 may have been closed by the exec.
        now.descriptors = before.descriptors;
        if now.gone {
            // Only its short name is known.
            now.program = name.into();
        } else {
            // What could not be looked up before may be seen now.
            let is_known = |target: &Target| target.kind != Kind::Unknown;
            (now.descriptors).retain(|&descriptor, target| descriptor <= 2 && is_known(target));
        }
        self.look_at(process);
    }

    /// A process maps code of this file: the first one after an exec is the program's.
    pub(crate) fn mapped(&mut self, process: i32, file: &Path) {
        let known = self.processes.get_mut(&process);
        if let Some(known) = known.filter(|known| known.gone) {
            known.runs(process, file);
        }
    }

    /// A thread of a process enters a call.
    pub(crate) fn entered(
        &mut self,
        (process, thread): (i32, i32),
        began_ns: u64,
        number: i64,
        arguments: [u64; 6],
        write: Option<Call>,
    ) {
        if CLOSING.contains(&number)
            && let Some(known) = self.processes.get_mut(&process)
        {
            let [first, last, ..] = arguments.map(|argument| argument as u32);
            let closed = first..=[first, last][usize::from(number == libc::SYS_close_range)];
            (known.descriptors).retain(|&descriptor, _| !closed.contains(&(descriptor as u32)));
        }
        if Self::wanted().any(|wanted| wanted == number) {
            let write = write.map(|write| Call { began_ns, ..write });
            self.inside.insert(thread, (number, arguments, write));
        }
    }

    /// A thread sleeps in a call that it entered before it was watched.
    pub(crate) fn found(&mut self, (process, thread): (i32, i32)) {
        if let Some((number, arguments)) = Doing::of(process, thread).call() {
            let write = Call::begun((process, thread), number, &arguments);
            let now_ns = clock::now_ns();
            self.entered((process, thread), now_ns, number, arguments, write);
        }
    }

    /// It is not seen to leave it, as it has ended, or the watching has: a write has taken until now, and wrote nothing.
    pub(crate) fn cut_off(&mut self, thread: i32, now_ns: u64) {
        if let Some((_, _, Some(mut write))) = self.inside.remove(&thread) {
            write.took_ns = now_ns.saturating_sub(write.began_ns);
            self.add(&write);
        }
    }

    /// The watching ends.
    pub(crate) fn end(&mut self, now_ns: u64) {
        let inside: Vec<i32> = self.inside.keys().copied().collect();
        (inside.into_iter()).for_each(|thread| self.cut_off(thread, now_ns));
    }

    /// It leaves the call, which is the one with this number, if that is known: records may be lost.
    pub(crate) fn left(&mut self, of: (i32, i32), number: Option<i64>, now_ns: u64, result: i64) {
        let (process, thread) = of;
        let entered = self.inside.remove(&thread);
        let is_it = |entered: &(i64, _, _)| number.is_none_or(|number| number == entered.0);
        let Some((number, arguments, write)) = entered.filter(is_it) else {
            return;
        };
        if let Some(mut write) = write {
            write.took_ns = now_ns.saturating_sub(write.began_ns);
            write.result = result;
            self.add(&write);
        } else if REQUESTING.contains(&number) {
            self.run.unseen = Some(Unseen::Request);
        } else if COPYING.contains(&number)
            && result >= 0
            && (number != libc::SYS_fcntl || COPIES.contains(&(arguments[1] as i32)))
        {
            // The first may lead elsewhere by now: where it is not known, the copy is looked up.
            let (copied, copy) = (arguments[0] as i32, result as i32);
            let known = &mut self.process(process).descriptors;
            known.remove(&copy);
            let target = known.get(&copied).cloned();
            known.extend(target.map(|target| (copy, target)));
            self.target(process, copy);
        }
    }

    /// The destination of a descriptor: looked up once, until the process changes it.
    fn target(&mut self, process: i32, descriptor: i32) -> Rc<Target> {
        let known = self.process(process);
        if let Some(target) = known.descriptors.get(&descriptor) {
            return Rc::clone(target);
        }
        let target = Target::of(process, descriptor).or_else(|| {
            // Its first thread may have ended.
            Target::of(*procfs::running_threads(process).first()?, descriptor)
        });
        let target = Rc::new(target.unwrap_or_default());
        known.descriptors.insert(descriptor, Rc::clone(&target));
        target
    }

    /// Looks a process's streams up now, while it is certainly alive.
    pub(crate) fn look_at(&mut self, process: i32) {
        (0..=2).for_each(|descriptor| drop(self.target(process, descriptor)));
    }

    /// Adds a finished call; if it waited for a device, that is the time of the writes before it.
    pub(crate) fn add(&mut self, call: &Call) {
        let target = self.target(call.process, call.descriptor);
        let descriptor = self.stream_of(call.process, call.descriptor, &target);
        if call.result == -i64::from(libc::EAGAIN) && descriptor <= 2 {
            self.run.unseen.get_or_insert(Unseen::Polled);
        }
        let process = &self.processes[&call.process];
        let key = (Rc::clone(&process.program), descriptor, target.identity);
        if call.kind.is_sync() {
            let written = self.entries.get_mut(&key);
            if let Some(entry) = written.filter(|entry| !entry.stream.target.is_memory()) {
                entry.stream.syncing_ns += call.took_ns;
            }
            return;
        }
        let entry = self.entries.entry(key).or_insert_with(|| LedgerEntry {
            stream: Stream {
                program: Rc::clone(&process.program),
                language: process.language,
                descriptors: Descriptors::One(descriptor),
                target: (*target).clone(),
                slept_in: (*target).clone(),
                ..Stream::default()
            },
            ..LedgerEntry::default()
        });
        let by = (call.process, descriptor);
        let before = self.last.insert(target.identity, by);
        entry.turns += u64::from(before.is_some_and(|before| before != by));
        entry.threads.insert(call.thread);
        entry.used.insert((call.process, call.descriptor));
        entry.stream.calls += 1;
        entry.stream.bytes += u64::try_from(call.result).unwrap_or(0);
        entry.stream.tally.add(call);
        let timeline = &mut self.run.timeline;
        timeline.call(call, descriptor, &entry.stream.program);
    }

    /// The stream that a call writes to: another descriptor of the same file as stdout or stderr stands
    /// for those (Node.js opens its terminal once more).
    fn stream_of(&mut self, process: i32, descriptor: i32, target: &Target) -> i32 {
        if descriptor <= 2 || target.kind == Kind::Unknown {
            return descriptor;
        }
        let is_it = |&stream: &i32| self.target(process, stream).identity == target.identity;
        (1..=2).find(is_it).unwrap_or(descriptor)
    }

    /// Adds, for every process of every stream, the count of last bytes seen and of those that ended a line.
    pub(crate) fn add_line_ends(&mut self, of: impl Fn((i32, i32)) -> Option<[u64; 2]>) {
        for entry in self.entries.values_mut() {
            let ends = entry.used.iter().filter_map(|&place| of(place));
            let [seen, line_ends] = ends.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
            // What lies in memory that was not read yet is not seen, and may be of another kind.
            if seen * 2 >= entry.stream.tally.sizes.count() {
                (entry.stream.tally.tails_seen, entry.stream.tally.line_ends) = (seen, line_ends);
            }
        }
    }

    /// The streams, by program and descriptor.
    pub(crate) fn into_entries(mut self) -> Vec<LedgerEntry> {
        let input = |process: &TracedProcess| Some(process.descriptors.get(&0)?.identity);
        let inputs: BTreeSet<_> = self.processes.values().filter_map(input).collect();
        for entry in self.entries.values_mut() {
            let target = &entry.stream.target;
            entry.is_read_within = target.kind == Kind::Pipe && inputs.contains(&target.identity);
        }
        self.entries.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_what_is_closed_by_now_is_looked_up_itself() {
        let (mut ledger, ours) = (Ledger::default(), std::process::id() as i32);
        let of = (ours, ours);
        // As of a shell that redirects a program.
        ledger.entered(
            of,
            0,
            libc::SYS_dup3,
            [i32::MAX as u64, 1, 0, 0, 0, 0],
            None,
        );
        ledger.left(of, Some(libc::SYS_dup3), 1, 1);
        assert_ne!(ledger.target(ours, 1).kind, Kind::Unknown);
    }
}
