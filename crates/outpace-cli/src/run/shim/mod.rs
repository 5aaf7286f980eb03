//! A program's writes to its terminal, or its pipe, without the kernel in between: see `shim/shim.rs` and `shim/ring.rs`. As there,
//! "terminal" means the pipe where `run` gives the program a pipe.
//!
//! `run` makes the memory and the shared object, both without a name. One of its threads passes on the bytes in the memory, in large
//! pieces. Bytes of a killed program are still in the memory, and are passed on.
#![allow(unsafe_code)]

// Never compiled here: by this line `cargo fmt` finds the shim's source, too.
#[cfg(any())]
#[path = "../../../shim/shim.rs"]
mod source;

mod code;
mod libraries;
mod processes;
mod program;
#[path = "../../../shim/ring.rs"]
#[allow(dead_code, unreachable_pub, missing_docs)]
mod ring;

/// The atomics and the capacity of the ring.
#[allow(unreachable_pub)]
mod sync {
    pub const CAPACITY: u64 = 1 << 20;
    pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

    pub(super) fn fence_after_change() {
        fence(Ordering::SeqCst);
    }
}

use super::relay::{Forwarded, Relay};
use libraries::Libraries;
use processes::Processes;
pub(crate) use program::reason_against_shim;
use ring::{Header, Member};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::termios::LocalModes;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_void};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The shared object, as the build script has made it; empty where it could not.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/outpace_shim.so"));

/// The time between two looks in a burst.
const NAP: Duration = Duration::from_millis(2);
/// After this many naps without work this thread sleeps until a write wakes it.
const NAPS: u32 = 4;
/// More looks in a row than this that find bytes are a burst.
const BURST: u32 = 8;
/// The most bytes passed on at a time: the kernel's buffer of a terminal is bounded, too.
const PIECE: u64 = 64 << 10;

/// The shim of one program.
pub(super) struct Shim {
    memory: Memory,
    library: OwnedFd,
    ring: OwnedFd,
    /// The program has ended.
    finishing: AtomicBool,
    /// The user's own `LD_PRELOAD`, which may be empty.
    others: Option<OsString>,
    /// Set when the program runs.
    processes: Mutex<Option<Processes>>,
    /// The libraries looked through, and for each process whose writes have to be checked the reason why.
    libraries: Mutex<Libraries>,
    checked: Mutex<BTreeMap<u32, String>>,
    /// Set from the program's start until everything is passed on. The thread that passes on locks it, except while it sleeps.
    way: Mutex<Option<Way>>,
    /// That thread was made.
    is_passing_on: AtomicBool,
}

/// Where the bytes are passed on to.
struct Way {
    /// The program's terminal, or the pipe that it has in its place.
    terminal: OwnedFd,
    /// The relay behind a terminal, if bytes may go around that.
    relay: Weak<Relay>,
    /// Called when all is passed on.
    done: Box<dyn FnOnce() + Send>,
}

/// How long the thread that passes on waits for further bytes.
struct Pace {
    /// Looks without bytes since the last one with bytes.
    idle: u32,
    /// Looks with bytes in a row.
    streak: u32,
    /// The count of keys at the last look.
    keys: u64,
    /// On a pipe: the number of looks that are still followed by sleep, and this number after the next vain nap.
    awake: u32,
    penalty: u32,
}

/// A nap on a pipe is vain if it gathers fewer bytes: the program waits for an answer, or writes seldom.
const LITTLE: u64 = 1 << 10;
/// The fewest and the most looks on a pipe between two vain naps.
const PENALTIES: [u32; 2] = [16, 4096];

impl Pace {
    const fn new() -> Self {
        Self {
            // The first write wakes.
            idle: NAPS,
            streak: 0,
            keys: 0,
            awake: 0,
            penalty: PENALTIES[0],
        }
    }

    /// Called after a look at a pipe that found this many bytes. Has the next write wake this thread, unless the program is likely to
    /// go on writing. The program may wait for its reader's answer: a nap would delay each answer.
    fn after_look_at_pipe(&mut self, found: u64, after_nap: bool) {
        if found >= LITTLE {
            (self.awake, self.penalty) = (0, PENALTIES[0]);
            return;
        }
        if after_nap {
            self.awake = self.penalty;
            self.penalty = (self.penalty * 4).min(PENALTIES[1]);
        }
        if self.awake > 0 {
            self.awake -= u32::from(found > 0);
            self.idle = NAPS;
        }
    }
}

impl Way {
    fn end(way: &mut Option<Self>) {
        if let Some(way) = way.take() {
            // The relay meets the end only after all descriptors of the terminal are closed.
            drop(way.terminal);
            (way.done)();
        }
    }
}

unsafe extern "C" {
    static mut environ: *const *const c_char;
}

/// The environment of this process with other variables.
struct Environment {
    /// Pointers to the variables, and null.
    variables: Vec<*const c_char>,
    /// The other variables, to which some point.
    _others: [CString; 2],
}

// SAFETY: the variables are read only, by the child of a process with one thread.
unsafe impl Send for Environment {}
// SAFETY: the same.
unsafe impl Sync for Environment {}

impl Environment {
    /// Each variable, by its name and `=`, takes the place of one of that name, or is the last.
    fn with(others: [(&[u8], OsString); 2]) -> Self {
        let mut variables = Vec::new();
        // SAFETY: this process has one thread, which does not change its environment meanwhile.
        unsafe {
            let mut at = environ;
            while !at.is_null() && !(*at).is_null() {
                variables.push(*at);
                at = at.add(1);
            }
        }
        let others = others.map(|(name, value)| {
            let text = [name, value.as_encoded_bytes()].concat();
            let text = CString::new(text).expect("the environment has no NUL");
            // SAFETY: a variable ends with a NUL.
            let is_it = |variable: &*const c_char| unsafe {
                CStr::from_ptr(*variable).to_bytes().starts_with(name)
            };
            match variables.iter().position(is_it) {
                Some(place) => variables[place] = text.as_ptr(),
                None => variables.push(text.as_ptr()),
            }
            text
        });
        variables.push(ptr::null());
        Self {
            variables,
            _others: others,
        }
    }

    /// Makes it the environment of this process, which must have one thread, and become another program before it ends.
    fn enter(&self) {
        // SAFETY: the caller's; the variables stay until then.
        unsafe { environ = self.variables.as_ptr() };
    }
}

/// The shared memory, mapped.
struct Memory(NonNull<Header>);

// SAFETY: the shared parts are atomics; the bytes behind them are read by one thread, after they were published.
unsafe impl Send for Memory {}
// SAFETY: the same.
unsafe impl Sync for Memory {}

impl Memory {
    fn new(file: &OwnedFd) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a mapping of our own, at a place that the kernel chooses; the file is as large, and sealed.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                ring::SIZE,
                protection,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        Ok(Self(NonNull::new(start.cast()).expect("not null")))
    }

    fn header(&self) -> &Header {
        // SAFETY: mapped for as long as this is there, aligned to a page, and all of it atomics.
        unsafe { self.0.as_ref() }
    }

    fn members(&self) -> &[Member] {
        // SAFETY: mapped for as long as this is there, behind the header; zeroes are valid for them.
        unsafe {
            let first = self.0.as_ptr().cast::<u8>().add(ring::MEMBERS);
            std::slice::from_raw_parts(first.cast(), ring::MOST_MEMBERS)
        }
    }

    /// Published bytes.
    fn bytes(&self, start: u64, length: u64) -> &[u8] {
        debug_assert!(start + length <= ring::CAPACITY);
        // SAFETY: within the mapping; no program writes there until these bytes are passed on.
        unsafe {
            let data = self.0.as_ptr().cast::<u8>().add(ring::DATA);
            std::slice::from_raw_parts(data.add(start as usize), length as usize)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our mapping, of which no part is borrowed any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast::<c_void>(), ring::SIZE) };
    }
}

impl Shim {
    /// Makes the memory of a program on this terminal or pipe, and of the programs that it starts or becomes. An error is the reason
    /// why they get no shim. The program's process waits for a [decision](Self::decide).
    pub(super) fn reserve(terminal: &OwnedFd) -> Result<Self, String> {
        if LIBRARY.is_empty() {
            return Err("this outpace was built without it".to_owned());
        }
        if stops_writers(terminal) {
            return Err("the terminal stops jobs in the background that write (tostop)".to_owned());
        }
        Self::make(terminal).map_err(|error| error.to_string())
    }

    fn make(terminal: &OwnedFd) -> io::Result<Self> {
        let library = memory_file("outpace-shim")?;
        let ring = memory_file("outpace-ring")?;
        ftruncate(&ring, ring::SIZE as u64)?;
        fcntl_add_seals(&ring, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let memory = Memory::new(&ring)?;
        let stat = rustix::fs::fstat(terminal)?;
        let header = memory.header();
        header.run.store(std::process::id(), Ordering::Relaxed);
        header.leader.store(std::process::id(), Ordering::Relaxed);
        header.device.store(stat.st_dev, Ordering::Relaxed);
        header.inode.store(stat.st_ino, Ordering::Relaxed);
        header.terminal.store(stat.st_rdev, Ordering::Relaxed);
        let inode = |file: &OwnedFd| rustix::fs::fstat(file).map(|stat| stat.st_ino);
        header.ring.store(inode(&ring)?, Ordering::Relaxed);
        header.library.store(inode(&library)?, Ordering::Relaxed);
        header.magic.store(ring::MAGIC, Ordering::Release);
        Ok(Self {
            memory,
            library,
            ring,
            finishing: AtomicBool::new(false),
            others: std::env::var_os("LD_PRELOAD"),
            processes: Mutex::new(None),
            libraries: Mutex::default(),
            checked: Mutex::default(),
            way: Mutex::new(None),
            is_passing_on: AtomicBool::new(false),
        })
    }

    /// Called by the leader of the session: it delivers what is left in memory if `outpace` is killed.
    pub(super) fn has_leader(&self) {
        let leader = &self.memory.header().leader;
        leader.store(std::process::id(), Ordering::Relaxed);
    }

    /// Decides whether this command gets the shim, while the leader of the session begins; an error is the reason why not. If it
    /// `must` have it, it is not started without. Its bytes are then passed on along a way that `start` [starts](Self::start).
    pub(super) fn decide(
        &self,
        command: &OsStr,
        must: bool,
        start: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), String> {
        let header = self.memory.header();
        header.at_once.store(must.into(), Ordering::Relaxed);
        let complete = self.complete(command);
        let result = complete.and_then(|()| start().map_err(|error| error.to_string()));
        let decision = match result {
            Ok(()) => ring::GIVEN,
            Err(_) if must => ring::NOT_STARTED,
            Err(_) => ring::WITHHELD,
        };
        header.decision.store(decision, Ordering::Release);
        wake(&header.decision, 1);
        result
    }

    fn complete(&self, command: &OsStr) -> Result<(), String> {
        if let Some(refusal) = program::refusal(command) {
            return Err(refusal);
        }
        program::check_preloaded(self.others.as_deref().unwrap_or_default())?;
        self.fill_in().map_err(|error| error.to_string())
    }

    fn fill_in(&self) -> io::Result<()> {
        seal_library(&self.library)?;
        let header = self.memory.header();
        let capabilities = rustix::thread::capabilities(None)?.permitted;
        header
            .capabilities
            .store(capabilities.bits(), Ordering::Relaxed);
        let namespace = std::fs::metadata("/proc/self/ns/pid")?;
        header.namespace.store(namespace.ino(), Ordering::Relaxed);
        // If the path cannot be opened, the loader would complain on the program's stderr.
        File::open(self.path(&self.library))?;
        Ok(())
    }

    fn path(&self, file: &OwnedFd) -> OsString {
        format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
    }

    /// The environment of a program that is given the shim, which takes its variables out again.
    fn environment(&self) -> Environment {
        let own = self.path(&self.library);
        let preload = match self.others.clone() {
            Some(mut others) => {
                others.push(":");
                others.push(own);
                others
            }
            None => own,
        };
        Environment::with([
            (b"LD_PRELOAD=", preload),
            (b"OUTPACE_RING=", self.path(&self.ring)),
        ])
    }

    /// Has a command's process wait for the decision before it becomes the program. If that gets the shim, the ring is for this
    /// process, and its environment carries the shim.
    ///
    /// # Safety
    ///
    /// This process has one thread.
    pub(super) unsafe fn give_to(self: Arc<Self>, command: &mut Command) {
        // Made here, because the child would have to copy each page of memory that it changes.
        let environment = self.environment();
        let prepare = move || {
            match self.decision() {
                ring::GIVEN => {}
                ring::NOT_STARTED => return Err(io::ErrorKind::Interrupted.into()),
                _ => return Ok(()),
            }
            environment.enter();
            // SAFETY: no memory is involved.
            let process = unsafe { libc::getpid() };
            let program = &self.memory.header().program;
            program.store(process as u32, Ordering::Release);
            Ok(())
        };
        // SAFETY: the closure stores numbers, and allocates no memory.
        unsafe { command.pre_exec(prepare) };
    }

    /// Whether the program was given it.
    pub(super) fn is_given(&self) -> bool {
        self.memory.header().decision.load(Ordering::Acquire) == ring::GIVEN
    }

    /// Waits for the decision, as long as `outpace` is there.
    fn decision(&self) -> u32 {
        const LOOK: Duration = Duration::from_millis(50);
        let header = self.memory.header();
        loop {
            let decision = header.decision.load(Ordering::Acquire);
            if decision != ring::UNDECIDED {
                return decision;
            }
            if !is_there(header.run.load(Ordering::Relaxed)) {
                return ring::WITHHELD;
            }
            sleep(&header.decision, ring::UNDECIDED, Some(LOOK));
        }
    }

    /// Ends the use of the ring: from now on writes go to the terminal.
    pub(super) fn is_dead(&self) {
        let header = self.memory.header();
        header.die();
        header.drained.0.fetch_add(1, Ordering::SeqCst);
        wake(&header.drained.0, i32::MAX);
    }

    /// Called before the process closes its descriptors by which the loader opens the files of the shim: waits for the programs that
    /// other processes are starting with it, which takes long on a busy machine. Bounded, since such a program may be killed before it
    /// opens them.
    pub(super) fn wait_for_starts(&self) {
        const LONGEST: Duration = Duration::from_secs(1);
        let header = self.memory.header();
        header.die();
        let begun = Instant::now();
        while header.is_starting() && begun.elapsed() < LONGEST {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Called by the leader of the session when `outpace` was killed, after [`is_dead`](Self::is_dead): writes the bytes not taken
    /// by `outpace` to the user's restored terminal, as far as that takes them.
    pub(super) fn deliver_rest(&self, output: &OwnedFd) {
        while let Some((start, length)) = self.memory.header().rest() {
            let mut bytes = self.memory.bytes(start, length);
            while !bytes.is_empty() {
                match rustix::io::write(output, bytes) {
                    Ok(written) => bytes = &bytes[written..],
                    Err(Errno::INTR) => {}
                    // The terminal has gone, or is non-blocking and full.
                    Err(_) => return,
                }
            }
        }
    }

    /// The program is about to begin: its bytes are passed on to its terminal, or around that, by the relay behind it. Bytes of a pipe
    /// never go around it: from there, pages may go on without being copied. `done` is called when the program has ended and all is
    /// passed on.
    pub(super) fn start(
        self: &Arc<Self>,
        terminal: OwnedFd,
        relay: &Weak<Relay>,
        leader: i32,
        done: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        *self.processes() = Some(Processes::new(leader, &terminal)?);
        if let Some(relay) = relay.upgrade() {
            relay.tell(self.when_bytes_come());
        }
        let relay = match self.memory.header().is_pipe() {
            true => Weak::new(),
            false => Weak::clone(relay),
        };
        *self.way() = Some(Way {
            terminal,
            relay,
            done: Box::new(done),
        });
        if self.memory.header().at_once.load(Ordering::Relaxed) != 0 {
            self.pass_on_from_now()?;
        }
        Ok(())
    }

    /// The result is to be called when bytes of the program have come by the kernel. The first of them are followed by bytes in memory: it
    /// makes the thread that passes these on. Small programs, which write nothing, do without it.
    fn when_bytes_come(self: &Arc<Self>) -> impl Fn() + Send + Sync + use<> {
        let shim = Arc::clone(self);
        move || {
            // Without the thread the ring stays closed, and all bytes come by the kernel.
            let _ = shim.pass_on_from_now();
        }
    }

    fn pass_on_from_now(self: &Arc<Self>) -> io::Result<()> {
        if self.is_passing_on.load(Ordering::Relaxed) || self.way().is_none() {
            return Ok(());
        }
        if !self.is_passing_on.swap(true, Ordering::SeqCst) {
            let shim = Arc::clone(self);
            thread::Builder::new()
                .name("outpace-shim".to_owned())
                .spawn(move || shim.pass_on())?;
        }
        Ok(())
    }

    fn pass_on(self: &Arc<Self>) {
        let is_pipe = self.memory.header().is_pipe();
        let (mut pace, mut has_napped) = (Pace::new(), false);
        loop {
            let mut way = self.way();
            let Some(open) = way.as_ref() else {
                return;
            };
            let before = self.memory.header().tail.0.load(Ordering::Relaxed);
            let is_over = match self.pass_on_what_is_there(open, &mut pace) {
                Ok(is_over) => is_over,
                Err(_) => {
                    // The terminal, or the reader of the pipe, has gone: processes that write there get the kernel's errors.
                    self.is_dead();
                    true
                }
            };
            if is_over {
                Way::end(&mut way);
                return;
            }
            let relay = open.relay.upgrade();
            let conversation = relay.as_ref().and_then(|relay| relay.conversation.as_ref());
            let keys = conversation.map_or(0, |conversation| conversation.keys());
            if std::mem::replace(&mut pace.keys, keys) != keys {
                // The program answers keys, or the terminal a query: the next write must not wait for the end of a nap.
                pace.idle = NAPS;
            }
            drop(relay);
            let header = self.memory.header();
            if is_pipe {
                let found = header.tail.0.load(Ordering::Relaxed) - before;
                pace.after_look_at_pipe(found, std::mem::take(&mut has_napped));
            }
            let (how, limit) = if pace.idle < NAPS {
                (ring::NAP, Some(NAP))
            } else {
                (ring::ASLEEP, None)
            };
            pace.idle = pace.idle.saturating_add(1);
            if header.lie_down(how) {
                // `finish` sets this first, and then looks at `doze`.
                if !self.finishing.load(Ordering::SeqCst) {
                    drop(way);
                    has_napped = limit.is_some();
                    sleep(&header.doze.0, how, limit);
                }
                header.get_up();
            }
        }
    }

    /// Returns whether the program has ended, and everything is passed on.
    fn pass_on_what_is_there(self: &Arc<Self>, way: &Way, pace: &mut Pace) -> io::Result<bool> {
        let header = self.memory.header();
        let terminal = &way.terminal;
        let mut closing = false;
        header.open_first();
        loop {
            if header.has_unseen() {
                let shim = Arc::clone(self);
                // Looking through a large library takes longer than the program may wait. If no thread can be made, its writes stay checked.
                let _ = thread::Builder::new()
                    .name("outpace-look".to_owned())
                    .spawn(move || shim.look_at_code());
            }
            if let Some((start, length)) = header.take(PIECE) {
                pace.streak = if pace.idle > 1 { 0 } else { pace.streak + 1 };
                pace.idle = 0;
                let bytes = self.memory.bytes(start, length);
                let part = match way.relay.upgrade() {
                    Some(relay) => relay.go_around(terminal, bytes, pace.streak > BURST),
                    None => Forwarded::Through(bytes.len()),
                };
                let written = match part {
                    Forwarded::Around(length) => Ok(length),
                    Forwarded::Through(length) => rustix::io::write(terminal, &bytes[..length]),
                };
                let written = match written {
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => {
                        // Another process has made the terminal, which it shares with this one, non-blocking.
                        let mut room = [rustix::event::PollFd::new(
                            terminal,
                            rustix::event::PollFlags::OUT,
                        )];
                        let _ = rustix::event::poll(&mut room, None);
                        continue;
                    }
                    written => written?,
                };
                if header.passed_on(written as u64) {
                    wake(&header.drained.0, i32::MAX);
                }
                continue;
            }
            if self.finishing.load(Ordering::SeqCst) {
                if !std::mem::replace(&mut closing, true) {
                    // From now on all writes go to the terminal, including those that have begun.
                    header.close(ring::BY_END);
                    continue;
                }
                self.is_dead();
                return Ok(true);
            }
            if header.is_wanted() && self.may_open(terminal) {
                pace.idle = 0;
            }
            return Ok(false);
        }
    }

    fn way(&self) -> std::sync::MutexGuard<'_, Option<Way>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, Option<Processes>> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn checked(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, String>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the code of members that have asked for it.
    fn look_at_code(&self) {
        let libraries = self.libraries.lock();
        let mut libraries = libraries.unwrap_or_else(PoisonError::into_inner);
        let Ok(shim) = rustix::fs::fstat(&self.library).map(|stat| stat.st_ino) else {
            return;
        };
        for member in self.memory.members() {
            let code = member.code.load(Ordering::Acquire);
            let is_member = member.standing.load(Ordering::Acquire) == ring::MEMBER;
            if !is_member || member.plain.load(Ordering::Relaxed) == code {
                continue;
            }
            let number = member.process.load(Ordering::Relaxed);
            let known = [&member.library, &member.loader];
            let process = libraries::Process {
                number,
                shim,
                known: known.map(|place| place.load(Ordering::Relaxed)),
            };
            match libraries.look(&process) {
                Ok(()) => {
                    self.checked().remove(&number);
                    member.plain.store(code, Ordering::Release);
                }
                Err(reason) if process.is_there() => {
                    self.checked().insert(number, reason);
                }
                Err(_) => {}
            }
        }
    }

    /// Opens the closed ring, if each process that has the terminal has the shim. Returns whether it is open.
    fn may_open(&self, terminal: &OwnedFd) -> bool {
        let header = self.memory.header();
        let Some(seen) = header.closed() else {
            return header.is_open();
        };
        let holder = header.lock.0.load(Ordering::Acquire);
        if holder != 0 && !is_there(ring::process_of(holder)) {
            header.take_over(holder);
        }
        let are_members = self
            .processes()
            .as_mut()
            .is_some_and(|processes| processes.are_members(self.memory.members()));
        are_members
            && !stops_writers(terminal)
            && header.lock.0.load(Ordering::Acquire) == 0
            && header.open(seen)
    }

    /// Waits until everything is passed on, at most for `limit`.
    pub(super) fn settle(&self, limit: Duration) {
        let began = std::time::Instant::now();
        while !self.memory.header().is_drained() && began.elapsed() < limit {
            self.rouse();
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends a nap of the thread that passes on.
    pub(super) fn rouse(&self) {
        let header = self.memory.header();
        if header.rouse() {
            wake(&header.doze.0, 1);
        }
    }

    /// The program has ended: its bytes are passed on, and no more are waited for.
    pub(super) fn finish(&self) {
        self.finishing.store(true, Ordering::SeqCst);
        let header = self.memory.header();
        // When the ring is empty, ending it here is faster than to wake the thread.
        if let Ok(mut way) = self.way.try_lock()
            && way.is_some()
        {
            header.close(ring::BY_END);
            if header.is_drained() {
                self.is_dead();
                Way::end(&mut way);
                return;
            }
        }
        header.doze.0.store(ring::AWAKE, Ordering::SeqCst);
        wake(&header.doze.0, 1);
    }

    /// The report for `-v`: of the program, and of each other process that used or gave up the ring, or has no shim.
    pub(super) fn describe(&self) -> Vec<String> {
        let header = self.memory.header();
        let published = header.published();
        let reason = match header.reason.load(Ordering::Relaxed) {
            ring::NEVER_USED => "; not used: the loader did not take it",
            ring::OTHER_PROGRAM => "; not used: the loader started another program first",
            ring::NO_LIBRARY => "; not used: another C library",
            ring::NO_TEXT => {
                "; not used: the C library's code cannot be changed, or is of another kind"
            }
            ring::NO_PLACE => "; not used: in another namespace of processes, or on an old kernel",
            ring::BY_LOCK => ", until one of its threads was stuck",
            _ => "",
        };
        let checked = |process| {
            let reasons = self.checked();
            let reason = reasons.get(&process);
            reason.map_or(String::new(), |reason| {
                format!("; each of its writes was checked first: {reason}")
            })
        };
        let program = header.program.load(Ordering::Relaxed);
        let mut all = vec![format!(
            "shim: {published} bytes through memory{reason}{}",
            checked(program)
        )];
        let author = &header.head.1;
        let last = author.member.load(Ordering::Relaxed);
        for (number, member) in (1..).zip(self.memory.members()) {
            let process = member.process.load(Ordering::Relaxed);
            let from = author.from.load(Ordering::Relaxed);
            let more = if number == last { published - from } else { 0 };
            let bytes = member.bytes.load(Ordering::Relaxed) + more;
            let gave_up = member.reason.load(Ordering::Relaxed) == ring::BY_BYPASS;
            if process == 0 || (process == program || bytes == 0) && !gave_up {
                continue;
            }
            let name: Vec<u8> = member
                .name
                .iter()
                .flat_map(|part| part.load(Ordering::Relaxed).to_ne_bytes())
                .collect();
            let name = String::from_utf8_lossy(&name)
                .trim_end_matches('\0')
                .to_owned();
            let until = if gave_up {
                ", until it asked for something behind the C library's back"
            } else {
                ""
            };
            all.push(format!(
                "shim of {name} ({process}): {bytes} bytes through memory{until}{}",
                checked(process)
            ));
        }
        if let Some(processes) = &*self.processes() {
            let is_member = |process: i32| {
                let mut members = self.memory.members().iter();
                members.any(|member| member.process.load(Ordering::Relaxed) == process as u32)
            };
            // A process that was met while it was being started may be a member by now.
            let strangers = processes.strangers.iter();
            let strangers =
                strangers.filter(|(process, stranger)| stranger.is_unfit || !is_member(**process));
            all.extend(strangers.map(|(process, stranger)| {
                format!(
                    "no shim for {} ({process}): {}",
                    stranger.name, stranger.reason
                )
            }));
        }
        all
    }
}

/// Whether the kernel stops jobs in the background of a terminal that write to it.
fn stops_writers(terminal: &OwnedFd) -> bool {
    rustix::termios::tcgetattr(terminal)
        .is_ok_and(|settings| settings.local_modes.contains(LocalModes::TOSTOP))
}

fn is_there(process: u32) -> bool {
    crate::platform::signals::is_there(process as i32)
}

/// Makes a file the shared object, and seals it.
fn seal_library(library: &OwnedFd) -> io::Result<()> {
    let mut left = LIBRARY;
    while !left.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(library, left))?;
        left = &left[written..];
    }
    let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::WRITE | SealFlags::SEAL;
    fcntl_add_seals(library, seals)?;
    try_to_execute(library)
}

/// Checks that the loader may map the file as code, which systems can refuse (vm.memfd_noexec), and that it has the library's
/// bytes: another process could have changed it before it was sealed.
fn try_to_execute(library: &OwnedFd) -> io::Result<()> {
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a mapping of our own, at a place that the kernel chooses, which is not read.
    unsafe {
        let start = mmap(
            ptr::null_mut(),
            LIBRARY.len(),
            protection,
            MapFlags::PRIVATE,
            library,
            0,
        )?;
        munmap(start, LIBRARY.len())?;
    }
    let mut is_whole = rustix::fs::fstat(library)?.st_size == LIBRARY.len() as i64;
    // Reading is faster than to look at pages of which each has to be mapped first.
    let mut buffer = [0; 8 << 10];
    for (index, part) in LIBRARY.chunks(buffer.len()).enumerate() {
        let at = (index * buffer.len()) as u64;
        let read = rustix::io::pread(library, &mut buffer, at)?;
        is_whole &= buffer[..read] == *part;
    }
    if !is_whole {
        return Err(io::Error::other("it is not what was built"));
    }
    Ok(())
}

fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Systems may require that code is announced (vm.memfd_noexec); older kernels do not know the flag.
    memfd_create(name, flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create(name, flags))
        .map_err(Into::into)
}

/// futex(2), on memory shared with other processes.
fn wake(word: &sync::AtomicU32, how_many: i32) {
    // SAFETY: the word is mapped.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, how_many) };
}

fn sleep(word: &sync::AtomicU32, expected: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs() as _,
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word is mapped; the time is there for the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            expected,
            limit,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSymbol};

    /// The loader ends a program whose C library lacks a symbol that the shim needs.
    #[test]
    fn the_shim_needs_of_the_c_library_what_each_has_had_all_along() {
        const ALL_ALONG: [&str; 11] = [
            "__errno_location",
            "bcmp",
            "dl_iterate_phdr",
            "environ",
            "getauxval",
            "getenv",
            "memcpy",
            "memmove",
            "memset",
            "memcmp",
            "strlen",
        ];
        if LIBRARY.is_empty() {
            eprintln!("skipped: it was built without the shim");
            return;
        }
        let elf = object::File::parse(LIBRARY).unwrap();
        let needed = elf.dynamic_symbols().filter(|symbol| symbol.is_undefined());
        for symbol in needed {
            let name = symbol.name().unwrap();
            assert!(name.is_empty() || ALL_ALONG.contains(&name), "{name}");
        }
    }
}
