//! The default mode: looks at a process and its descendants now and then. It searches for processes and threads, reads their
//! counters, asks each thread which call it is in, and takes exact looks.

use super::threads::Reading;
use super::watched::Watched;
use crate::platform::clock;
use crate::platform::ending::{self, Ending};
use crate::platform::procfs::{self, IoCounters};
use crate::platform::readers::Observed;
use crate::platform::{interrupts, signals, stops};
use crate::trace::model::{Kind, Mode, Recording};
use crate::user::quantity::{counted, grouped};
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

/// Looks take one part in `PART` of a processor: the program must not feel them.
const PART: u64 = 200;
/// The times from one look to the next, whatever the last one took. In the beginning, when programs start others and become others, and
/// short ones end, they are shorter.
const SHORTEST_NS: u64 = 10_000_000;
const LONGEST_NS: u64 = 100_000_000;
const AT_FIRST_NS: u64 = 500_000_000;
const SHORTEST_AT_FIRST_NS: u64 = 1_000_000;
const PART_AT_FIRST: u64 = 16;

/// The time to the next look, `since_ns` after the beginning and after one that took this much processor time.
fn pause_ns(took_ns: u64, since_ns: u64) -> u64 {
    let shortest_ns = [SHORTEST_NS, SHORTEST_AT_FIRST_NS][usize::from(since_ns < AT_FIRST_NS)];
    let longest_ns = (since_ns / PART_AT_FIRST).clamp(SHORTEST_AT_FIRST_NS, LONGEST_NS);
    (took_ns * PART).clamp(shortest_ns, longest_ns)
}

/// Processes that must not be stopped are [listened to](Watched::listen) this often at first, then so rarely that it takes 2 % of a
/// processor.
const MOST_LISTENS: u64 = 12;
const LISTEN_EVERY_NS: u64 = 100_000_000;

#[derive(Default)]
pub(super) struct Watcher {
    run: Recording,
    launched: bool,
    alive: HashMap<i32, Watched>,
    ended: Vec<Watched>,
    last_look_ns: u64,
    /// How often threads were listened to.
    listens: u64,
    /// Writes since the last search before a process became another program, counted for that one.
    disputed: u64,
    /// A child may have ended since the last look for that.
    child_ended: bool,
}

impl Watcher {
    /// Looks at a process for the first time. If it is `launched`, it is a child of ours that has not begun: should it end before it is looked
    /// at again, its streams are known. If not, the user may also interrupt the watching.
    pub(super) fn new(mut run: Recording, root: i32, launched: bool) -> Self {
        (run.root, run.mode) = (root, Mode::Sampled);
        let mut watcher = Self {
            run,
            launched,
            child_ended: true,
            ..Self::default()
        };
        watcher.search(clock::now_ns());
        watcher
    }

    /// Watches it from its beginning until it ends.
    pub(super) fn watch(mut self, began_ns: u64) -> io::Result<(Recording, Vec<Watched>)> {
        let before = IoCounters::of("self").unwrap_or_default();
        self.last_look_ns = began_ns;
        self.until_the_end(began_ns)?;
        self.run.wall_ns = clock::now_ns() - began_ns;
        self.finish(before);
        Ok((self.run, self.ended))
    }

    fn until_the_end(&mut self, began_ns: u64) -> io::Result<()> {
        let mut due_ns = began_ns;
        loop {
            let now_ns = clock::now_ns();
            // What was written since the last look counts, too.
            let is_interrupted = interrupts::end_watching(self.run.root, self.launched);
            if now_ns >= due_ns || is_interrupted {
                let (since_ns, before_ns) = (now_ns - began_ns, clock::thread_ns());
                self.search(now_ns);
                self.sample(now_ns);
                due_ns = now_ns + pause_ns(clock::thread_ns() - before_ns, since_ns);
                self.peek(since_ns);
            }
            if self.launched && std::mem::take(&mut self.child_ended) {
                self.reap()?;
                self.stop();
            }
            let root = self.alive.get(&self.run.root);
            let is_gone = root.is_none_or(|root| root.stat.is_over());
            let over = [is_gone, self.run.ending.is_some()][usize::from(self.launched)];
            if over || is_interrupted {
                return Ok(());
            }
            // Until the next is due, or a signal (a child's end among them) arrives.
            let pause_ns = due_ns.saturating_sub(clock::now_ns());
            self.child_ended |= interrupts::sleep(Duration::from_nanos(pause_ns));
        }
    }

    /// Sums up what was seen. `before`: our own counts before the program began.
    fn finish(&mut self, before: IoCounters) {
        let (run, alive) = (&mut self.run, &mut self.alive);
        if self.launched {
            run.tree = (IoCounters::of("self").ok()).map(|after| after.since(before));
        } else if alive.contains_key(&run.root) {
            // Those that are left have the counts of the children that they have waited for.
            run.tree = (alive.values().map(Watched::with_children)).reduce(IoCounters::plus);
        }
        run.readers.values_mut().for_each(Observed::end);
        self.ended.extend(alive.drain().map(|(_, watched)| watched));
        self.ended.sort_by_key(|process| process.first_ns);
        // The tree was ready to run without a processor, or stopped, while the first thread of the root was, or one that wrote.
        let mut seen = 0;
        for process in &self.ended {
            seen += process.own().write_calls;
            run.overhead_ns += process.peeking_ns;
            run.stops_ns += process.stops_ns;
            run.busiest_other_ns = run.busiest_other_ns.max(process.works_alone_ns());
            run.unseen = run.unseen.max(process.unseen(run.wall_ns / 10));
            if process.process == run.root {
                run.last = process.stat.with_children();
            }
            for (id, Reading { io, processor }) in process.threads.own() {
                run.user_ns += processor.user_ns;
                run.system_ns += processor.system_ns;
                run.busiest_ns = run.busiest_ns.max(processor.total_ns);
                if id == run.root || io.write_calls > 0 {
                    // Those that are ready at the same time have waited as long as the one that waited longest.
                    let delayed_ns = processor.held_up_ns() + process.stopped_ns;
                    run.delayed_ns = run.delayed_ns.max(delayed_ns + process.stolen_ns());
                } else {
                    run.beside_ns += processor.total_ns;
                }
            }
        }
        if self.disputed * 100 > seen {
            let calls = counted(self.disputed, "write call");
            run.notes.push(format!("up to {calls} of a program that became another one (exec) may be counted for the later one"));
        }
        if self.ended.iter().any(Watched::hides_other_calls) {
            run.notes.push("other calls between the writes could not be counted: their time is in that of the writes".to_owned());
        }
        if !self.launched && procfs::name(run.root).is_none() {
            let last = "the counts are those of the last sample before the process ended";
            run.notes.push(last.to_owned());
        }
        if seen == 0 {
            run.notes.push("splice, vmsplice, mapped memory and writes to what is not open are in no count; --exact sees all but mapped memory".to_owned());
        }
        if let Some(tree) = run.tree
            && tree.write_calls > seen + seen / 100 + 1
        {
            run.missed = tree.write_calls - seen;
            let [missed, all] = [run.missed, tree.write_calls].map(grouped);
            run.notes.push(format!("{missed} of {all} write calls were made after the last look at a process, or before the first"));
        }
    }

    /// Looks exactly at a thread that writes much, of each process whose samples do not show how it is buffered.
    fn peek(&mut self, since_ns: u64) {
        let may_listen = self.listens < MOST_LISTENS + since_ns / LISTEN_EVERY_NS;
        let not_to_stop = Vec::from_iter(self.alive.values_mut().filter_map(|watched| {
            let thread = watched.peek().filter(|_| may_listen)?;
            Some((watched, thread))
        }));
        let count = not_to_stop.len() as u64;
        self.listens += count.min(1);
        (not_to_stop.into_iter()).for_each(|(watched, thread)| watched.listen(thread, count));
    }

    /// Looks for new processes and threads, and reads the counters.
    fn search(&mut self, now_ns: u64) {
        let mut roots = vec![self.run.root];
        if self.launched {
            // Orphans of the tree have become our own children.
            roots.extend(procfs::own_children());
        }
        let tree = procfs::tree(roots);
        (tree.iter()).for_each(|(&process, threads)| self.refresh(process, threads, now_ns));
        let first_gone = self.ended.len();
        let gone = (self.alive).extract_if(|process, _| !tree.contains_key(process));
        self.ended.extend(gone.map(|(_, watched)| watched.end()));
        self.settle(first_gone);
    }

    /// Gives each child among `ended[first..]` the writes of its last moments: the counts it left to its parent beyond those it was last
    /// seen with. They are certain only where the parent's own writes are known and a single child has ended, which wrote, and was seen
    /// before or is the parent's only one: another may have become another program at the last moment.
    fn settle(&mut self, first: usize) {
        // The number of children of each parent.
        let mut families: HashMap<i32, usize> = HashMap::new();
        for watched in self.ended.iter().chain(self.alive.values()) {
            *families.entry(watched.stat.parent).or_default() += 1;
        }
        for parent in self.alive.values_mut() {
            if !parent.threads.is_one() {
                continue;
            }
            let inherited = parent.with_children().since(parent.threads.all().io);
            let news = inherited.since(std::mem::replace(&mut parent.inherited, inherited));
            let ended = self.ended[first..].iter_mut();
            let mut children = ended.filter(|child| child.stat.parent == parent.process);
            if let (Some(child), None) = (children.next(), children.next())
                && (child.searches > 1 || families[&parent.process] == 1)
                && child.with_children().write_calls > 0
                && !families.contains_key(&child.process)
            {
                child.last_moments = news.since(child.io);
            }
        }
    }

    fn refresh(&mut self, process: i32, threads: &[i32], now_ns: u64) {
        let known = self.alive.get_mut(&process);
        if known.is_some_and(|known| known.refresh(threads)) {
            return;
        }
        let known = self.alive.get(&process);
        let ran_before = !self.launched && self.run.looks == 0;
        let Some(mut next) = Watched::find(process, threads, known, ran_before, now_ns) else {
            return;
        };
        next.refresh(threads);
        let written = next.own().write_calls;
        if let Some(mut before) = self.alive.insert(process, next) {
            self.disputed += written * u64::from(before.own().write_calls > 0);
            before.threads.end_samples();
            self.ended.push(before);
        }
    }

    /// Samples every thread.
    fn sample(&mut self, now_ns: u64) {
        let from_ns = std::mem::replace(&mut self.last_look_ns, now_ns);
        self.run.looks += 1;
        // Those that have children wait for them, usually.
        let alive = self.alive.values();
        let parents: HashSet<i32> = alive.map(|process| process.stat.parent).collect();
        let is_last = |process: &&i32| !parents.contains(process);
        let beside_others = self.alive.keys().filter(is_last).count() > 1;
        // A pipe between two that are traced is no matter of output: its reader is not observed.
        let inputs = (self.alive.values()).filter_map(|process| process.targets.get(&0));
        let pipes = inputs.filter(|input| input.kind == Kind::Pipe);
        let within: HashSet<_> = pipes.map(|pipe| pipe.identity).collect();
        let mut awaited = HashSet::new();
        for watched in self.alive.values_mut() {
            let timeline = &mut self.run.timeline;
            for target in watched.sample([from_ns, now_ns], beside_others, timeline) {
                let is_it = !within.contains(&target.identity) && awaited.insert(target.identity);
                if let Some(end) = target.end().filter(|_| is_it) {
                    let readers = self.run.readers.entry(target.identity);
                    readers.or_insert_with(|| Observed::begin(end));
                }
            }
        }
        let places = self.run.readers.iter_mut();
        places.for_each(|(place, readers)| readers.look(awaited.contains(place)));
    }

    /// Stops with the program.
    fn stop(&mut self) {
        let stopped_ns = stops::follow(self.run.root);
        for watched in self.alive.values_mut() {
            watched.stopped_ns += stopped_ns;
            watched.last_ns += stopped_ns;
        }
        self.last_look_ns += stopped_ns;
    }

    /// Reads the final counters of children that have ended, then reaps them.
    fn reap(&mut self) -> io::Result<()> {
        let root = self.run.root;
        let mut ended = signals::ended(procfs::own_children());
        // It is a child of the thread that started it, until that has ended, too; and there may be too few open files to see it.
        if !ended.contains(&root) && ending::has_ended(root) {
            ended.push(root);
        }
        if !ended.is_empty() {
            // They may have become other programs since the last search.
            self.search(clock::now_ns());
        }
        for process in ended {
            let before = clock::children();
            let ending = Ending::of(process)?;
            if let Some(mut watched) = self.alive.remove(&process) {
                // Without children, its addition to our children's time is its own.
                let own = || clock::children().since(before);
                watched.reaped = (!watched.has_reaped()).then(own);
                self.ended.push(watched.end());
            }
            if process == root {
                self.run.ending = ending;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::procfs::Stat;
    use std::process::Command;

    #[test]
    fn a_child_that_another_thread_has_started_is_reaped() {
        // Each test is a thread of its own, beside the first one.
        let mut child = Command::new("true").spawn().unwrap();
        let root = child.id() as i32;
        while !Stat::of(root).is_some_and(Stat::is_over) {
            std::thread::yield_now();
        }
        let watcher = Watcher::new(Recording::default(), root, true);
        let (run, _) = watcher.watch(clock::now_ns()).unwrap();
        assert_eq!(run.ending, Some(Ending::Exited(0)));
        assert!(child.wait().is_err());
    }
}
