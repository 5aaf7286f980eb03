//! The writes of a thread, seen without stopping it: hardware breakpoints (PERF_TYPE_BREAKPOINT in perf_event_open(2)) where
//! a write begins, and where it returns to. At each the kernel puts the registers into a ring, and the thread goes on. That needs no
//! privileges where `perf_event_paranoid` is 2 or less, and free debug registers.
//!
//! The last byte of a write is read from the thread's memory while the thread is in the call. The thread is in the call if the
//! newest record, before and after the reading, is that of the call's beginning: before it can change the bytes, the thread
//! passes the second breakpoint.

use crate::platform::mappings;
use crate::trace::kernel::{Call, memory, sys};
use perf_event::events::Breakpoint;
use perf_event::{Builder, Counter, SampleFlag, Sampler};
use std::io;

/// The length of `syscall` on x86-64.
const INSTRUCTION: u64 = 2;
/// A record: a word for the kind of the registers; the registers rax, rdx, rsi, rdi, rip, r8, r9, r10 (`asm/perf_regs.h`); the top of
/// the stack between two lengths.
const REGISTERS: u64 = 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 16 | 1 << 17 | 1 << 18;
const STACK_AT: usize = 10;
const RECORD: usize = 8 * (STACK_AT + memory::STACK as usize + 2);
/// Has room for all.
const RING: usize = (2 * MOST * PASSAGES as usize * RECORD).next_power_of_two();
/// Each breakpoint shows so many passages, and then costs nothing: one takes 1 µs, in a virtual machine 11.
const PASSAGES: u16 = 64;
/// The number of breakpoints on x86-64.
const MOST: usize = 4;

/// Where a thread writes.
pub(super) enum CallSite {
    /// By the instruction before this address.
    Before(u64),
    /// By functions that begin there, with the number of the call of each.
    Functions(Vec<(u64, Option<i64>)>),
}

impl CallSite {
    /// Where a process calls the C library.
    pub(super) fn of(process: i32) -> Option<Self> {
        let found = mappings::c_functions(process, ["write", "writev"])?;
        let calls = found.into_iter().zip([libc::SYS_write, libc::SYS_writev]);
        let calls = calls.filter_map(|(at, number)| Some((at?, Some(number))));
        Some(Self::Functions(calls.collect()))
    }
}

/// The breakpoints, until this is dropped.
pub(super) struct Breakpoints {
    thread: (i32, i32),
    /// Where writes begin, and the number of the call, if it is not in a register there. The first has the ring.
    entries: Vec<(u64, Option<i64>)>,
    ring: Sampler,
    others: Vec<Counter>,
    /// How often a beginning was passed, of whatever call.
    passed: u16,
    /// Where they return to, and how many more returns each shows.
    exits: Vec<(u64, Counter, u16)>,
}

fn event(thread: i32, address: u64) -> io::Result<Counter> {
    let mut event = Builder::new(Breakpoint::execute(address));
    event.observe_pid(thread).any_cpu().sample_period(1);
    event.sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER);
    event.sample_regs_user(REGISTERS);
    event.sample_stack_user(8 * memory::STACK);
    event.remove_on_exec(true).build()
}

/// One more breakpoint, with the same ring.
fn joined(thread: i32, address: u64, ring: &Sampler) -> io::Result<Counter> {
    let event = event(thread, address)?;
    sys::send_to(&event, ring.as_counter())?;
    sys::enable_for(&event, PASSAGES)?;
    Ok(event)
}

impl Breakpoints {
    /// Sets them for one thread of a process.
    pub(super) fn at(place: &CallSite, thread: (i32, i32)) -> io::Result<Self> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (entries, exit) = match place {
            CallSite::Before(exit) => (vec![(exit.wrapping_sub(INSTRUCTION), None)], Some(*exit)),
            CallSite::Functions(all) => (all.clone(), None),
        };
        let first = entries.first().ok_or(io::ErrorKind::NotFound)?;
        let ring = event(thread.1, first.0)?.sampled(RING)?;
        let others = entries[1..].iter();
        let others = others.map(|it| joined(thread.1, it.0, &ring));
        let others = others.collect::<io::Result<_>>()?;
        let exit = exit.map(|exit| Ok((exit, joined(thread.1, exit, &ring)?, PASSAGES)));
        let exits = exit.into_iter().collect::<io::Result<_>>()?;
        sys::enable_for(ring.as_counter(), PASSAGES)?;
        Ok(Self {
            thread,
            entries,
            ring,
            others,
            passed: 0,
            exits,
        })
    }

    /// Whether all writes at this place were seen so far.
    pub(super) fn shows_all(&self) -> bool {
        self.passed < PASSAGES
    }

    /// The writes begun since the last time. The last byte of the newest one is known if the thread is still in the call.
    pub(super) fn begun(&mut self) -> io::Result<Vec<Call>> {
        let (mut begun, mut inside, mut new_exit) = (Vec::new(), None, None);
        while let Some(record) = self.ring.next_record() {
            let words = memory::words(&record.to_contiguous());
            let [_, number, c, b, a, at, e, f, d, _, top, ..] = words[..] else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let entry = self.entries.iter().find(|entry| entry.0 == at);
            self.passed += u16::from(entry.is_some());
            let of_function = entry.and_then(|entry| entry.1);
            let number = of_function.unwrap_or(number as i64);
            let arguments = [a, b, c, d, e, f];
            let call = Call::begun(self.thread, number, &arguments);
            // Calls that only wait for a device may be made at the same place.
            let call = call.filter(|call| entry.is_some() && !call.kind.is_sync());
            inside = call.is_some().then_some((number, arguments));
            let stack = words[STACK_AT..words.len() - 1].to_vec();
            begun.extend(call.map(|call| Call { stack, ..call }));
            for exit in self.exits.iter_mut().filter(|exit| exit.0 == at) {
                exit.2 = exit.2.saturating_sub(1);
            }
            let is_watched = self.exits.iter().any(|exit| exit.0 == top);
            if of_function.is_some() && inside.is_some() && !is_watched {
                // The return to this caller is not watched yet.
                (inside, new_exit) = (None, Some(top));
            }
        }
        let is_free = self.exits.len() + self.entries.len() < MOST;
        if let Some(address) = new_exit.filter(|_| is_free) {
            let exit = joined(self.thread.1, address, &self.ring)?;
            self.exits.push((address, exit, PASSAGES));
            let mut entries = self.others.iter().chain([self.ring.as_counter()]);
            entries.try_for_each(|entry| sys::enable_for(entry, PASSAGES))?;
        }
        // The thread may have returned to one that shows no more.
        let all_show = self.exits.iter().all(|exit| exit.2 > 0);
        if let Some((number, arguments)) = inside
            && all_show
            && let Some(shown) = memory::begun(self.thread, number, &arguments)
            && let Some(last) = begun.last_mut()
        {
            match self.ring.next_record() {
                None => (last.asked, last.ends_line) = (shown.asked, shown.ends_line),
                // Left in the ring for the next call.
                Some(later) => std::mem::forget(later),
            }
        }
        Ok(begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::doing::Doing;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn writes_are_seen_with_their_ends_while_the_program_goes_on() {
        let script = "while :; do printf 'a b\\n'; printf 'c'; done";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let process = shell.id() as i32;
        // Until the pipe is full.
        let address = loop {
            if let Doing::InCall {
                number: libc::SYS_write,
                returns_to,
                ..
            } = Doing::of(process, process)
            {
                break returns_to;
            }
        };
        let mut reader = shell.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while reader.read(&mut buffer).unwrap() > 0 {}
        });
        let functions = CallSite::of(process).into_iter();
        for place in functions.chain([CallSite::Before(address)]) {
            let mut ends = [0; 2];
            while ends.iter().any(|&seen| seen < 8) {
                let breakpoints = Breakpoints::at(&place, (process, process));
                let mut breakpoints = match breakpoints {
                    Ok(breakpoints) => breakpoints,
                    Err(error) => {
                        eprintln!("skipped: no breakpoints here: {error}");
                        break;
                    }
                };
                let mut heard = 0;
                while heard < usize::from(PASSAGES) / 2 && ends.iter().any(|&seen| seen < 8) {
                    let writes = breakpoints.begun().unwrap();
                    heard += writes.len();
                    for write in writes {
                        assert_eq!(write.descriptor, 1);
                        assert!(matches!(write.asked, Some(1 | 4)), "{write:?}");
                        if let Some(ends_line) = write.ends_line {
                            assert_eq!(ends_line, write.asked == Some(4));
                            ends[usize::from(ends_line)] += 1;
                        }
                    }
                }
            }
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        reader.join().unwrap();
    }

    #[test]
    fn writes_of_several_parts_are_seen_at_their_function() {
        let script = "import os\nwhile os.writev(1, [b'a b', b'\\n']): pass";
        let python = Command::new("python3")
            .args(["-c", script])
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut python) = python else {
            eprintln!("skipped: python3 is not installed");
            return;
        };
        let process = python.id() as i32;
        let mut heard = 0;
        while heard < 8 {
            assert_eq!(python.try_wait().unwrap(), None, "it goes on");
            // Until it has become Python.
            let Some(place) = CallSite::of(process) else {
                continue;
            };
            let mut breakpoints = match Breakpoints::at(&place, (process, process)) {
                Ok(breakpoints) => breakpoints,
                Err(error) => {
                    eprintln!("skipped: no breakpoints here: {error}");
                    break;
                }
            };
            std::thread::sleep(std::time::Duration::from_millis(1));
            let writes = breakpoints.begun().unwrap().into_iter();
            heard += writes.filter(|write| write.kind.name == "writev").count();
        }
        python.kill().unwrap();
        python.wait().unwrap();
    }
}
