//! A program's writes to its terminal without the kernel in between: see `shim/shim.rs` and `shim/ring.rs`.
//!
//! `run` makes the memory and the shared object, both without a name, and reads: a thread passes on to the terminal what
//! comes, in large pieces. What the program wrote before it was killed is in the memory still, and is passed on.
#![allow(unsafe_code)]

mod code;
mod program;
#[path = "../../../shim/ring.rs"]
#[allow(dead_code, unreachable_pub, missing_docs)]
mod ring;

/// What the ring is made of.
#[allow(unreachable_pub)]
mod sync {
    pub const CAPACITY: u64 = 1 << 20;
    pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}

use ring::Header;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::{OsStr, OsString, c_void};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The shared object, as the build script has made it; empty where it could not.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/outpace_shim.so"));
/// FNV-1a of it, worked out when it was built.
const LIBRARY_HASH: &str = env!("OUTPACE_SHIM_HASH");

/// Between two looks in a burst.
const NAP: Duration = Duration::from_millis(2);
/// So many naps without anything to do, and the next write has to wake.
const NAPS: u32 = 4;
/// Given to the kernel at once: what it makes of a write is bounded, too.
const PIECE: u64 = 64 << 10;

/// The shim of one program.
pub(super) struct Shim {
    memory: Memory,
    library: OwnedFd,
    ring: OwnedFd,
    /// The program has ended.
    finishing: AtomicBool,
}

/// The shared memory, mapped.
struct Memory(NonNull<Header>);

// SAFETY: what is shared are atomics; the bytes behind them are read by one thread, after they have been published.
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

    /// Bytes that have been published.
    fn bytes(&self, start: u64, length: u64) -> &[u8] {
        debug_assert!(start + length <= ring::CAPACITY);
        // SAFETY: in the mapping; nobody writes there until they have been passed on, by whoever asks.
        unsafe {
            let data = self.0.as_ptr().cast::<u8>().add(ring::DATA);
            std::slice::from_raw_parts(data.add(start as usize), length as usize)
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: our mapping, of which nothing is borrowed any more.
        let _ = unsafe { munmap(self.0.as_ptr().cast::<c_void>(), ring::SIZE) };
    }
}

impl Shim {
    /// Makes the shim of a command on this terminal; the program's side of it. An error is why there is none.
    pub(super) fn prepare(command: &OsStr, terminal: &OwnedFd) -> Result<Self, String> {
        if LIBRARY.is_empty() {
            return Err("this outpace was built without it".to_owned());
        }
        if let Some(refusal) = program::refusal(command) {
            return Err(refusal);
        }
        let settings = rustix::termios::tcgetattr(terminal).map_err(|error| error.to_string())?;
        if settings
            .local_modes
            .contains(rustix::termios::LocalModes::TOSTOP)
        {
            return Err("the terminal stops jobs in the background that write (tostop)".to_owned());
        }
        Self::make(terminal).map_err(|error| error.to_string())
    }

    fn make(terminal: &OwnedFd) -> io::Result<Self> {
        let library = sealed_library()?;
        let ring = memory_file("outpace-ring")?;
        ftruncate(&ring, ring::SIZE as u64)?;
        fcntl_add_seals(&ring, SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
        let memory = Memory::new(&ring)?;
        let stat = rustix::fs::fstat(terminal)?;
        let header = memory.header();
        header.run.store(std::process::id(), Ordering::Relaxed);
        header.device.store(stat.st_dev, Ordering::Relaxed);
        header.inode.store(stat.st_ino, Ordering::Relaxed);
        header.terminal.store(stat.st_rdev, Ordering::Relaxed);
        header.magic.store(ring::MAGIC, Ordering::Release);
        let shim = Self {
            memory,
            library,
            ring,
            finishing: AtomicBool::new(false),
        };
        // The loader would complain on the program's stderr.
        File::open(shim.path(&shim.library))?;
        try_to_execute(&shim.library)?;
        Ok(shim)
    }

    fn path(&self, file: &OwnedFd) -> OsString {
        format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
    }

    /// What the program's environment needs; the shim takes it out again.
    pub(super) fn environment(&self) -> [(&'static str, OsString); 2] {
        [
            ("LD_PRELOAD", self.path(&self.library)),
            ("OUTPACE_RING", self.path(&self.ring)),
        ]
    }

    /// The calling process is about to become the program. May be called between fork and exec.
    pub(super) fn is_for_this_process(&self) {
        // SAFETY: no memory is involved.
        let process = unsafe { libc::getpid() };
        self.memory
            .header()
            .program
            .store(process as u32, Ordering::Release);
    }

    /// `outpace` has gone: from now on the terminal answers.
    pub(super) fn is_dead(&self) {
        let header = self.memory.header();
        header.state.store(ring::DEAD, Ordering::SeqCst);
        header.drained.0.fetch_add(1, Ordering::SeqCst);
        wake(&header.drained.0, i32::MAX);
    }

    /// Passes on to the terminal what the program writes, on a thread of its own. When the program has ended and all
    /// is there, calls `done`.
    pub(super) fn start(
        self: &Arc<Self>,
        terminal: OwnedFd,
        done: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let shim = Arc::clone(self);
        let pass_on = move || {
            if shim.pass_on(&terminal).is_err() {
                // The terminal has gone, and says so to those who write to it.
                shim.is_dead();
            }
            // Its reader waits for the last descriptor of it.
            drop(terminal);
            done();
        };
        thread::Builder::new()
            .name("outpace-shim".to_owned())
            .spawn(pass_on)?;
        Ok(())
    }

    fn pass_on(&self, terminal: &OwnedFd) -> io::Result<()> {
        let header = self.memory.header();
        let mut idle = 0;
        loop {
            if let Some((start, length)) = header.pending() {
                idle = 0;
                let bytes = self.memory.bytes(start, length.min(PIECE));
                let written = match rustix::io::write(terminal, bytes) {
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => {
                        // Another has made the terminal one that does not wait; to others it is shared.
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
                return Ok(());
            }
            let (how, limit) = if idle < NAPS {
                (ring::NAP, Some(NAP))
            } else {
                (ring::ASLEEP, None)
            };
            idle += 1;
            if header.lie_down(how) {
                // Once more: whoever finishes looks after that.
                if !self.finishing.load(Ordering::SeqCst) {
                    sleep(&header.doze.0, how, limit);
                }
                header.get_up();
            }
        }
    }

    /// Waits until everything is passed on, but not for long.
    pub(super) fn settle(&self, limit: Duration) {
        let began = std::time::Instant::now();
        while !self.memory.header().is_drained() && began.elapsed() < limit {
            if self.memory.header().rouse() {
                wake(&self.memory.header().doze.0, 1);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The program has ended: what it wrote is passed on, and no more is waited for.
    pub(super) fn finish(&self) {
        self.finishing.store(true, Ordering::SeqCst);
        let header = self.memory.header();
        header.doze.0.store(ring::AWAKE, Ordering::SeqCst);
        wake(&header.doze.0, 1);
    }

    /// What was done, for `-v`.
    pub(super) fn describe(&self) -> String {
        let header = self.memory.header();
        let bytes = header.head.0.load(Ordering::Relaxed);
        let reason = match header.reason.load(Ordering::Relaxed) {
            ring::BY_CHILD => ", until it started another process",
            ring::BY_EXEC => ", until it became another program",
            ring::BY_LOCK => ", until one of its threads was stuck",
            ring::BY_BYPASS => ", until it asked for something behind the C library's back",
            ring::BY_TERMINAL => ", until it changed the terminal's settings",
            ring::NO_TEXT => {
                "; not used: the C library's code cannot be changed, or is of another kind"
            }
            ring::NO_LIBRARY => "; not used: another C library",
            ring::OTHER_PROGRAM => "; not used: the loader started another program first",
            _ if header.state.load(Ordering::Relaxed) == ring::WAITING => {
                "; not used: the loader did not take it"
            }
            _ => "",
        };
        format!("shim: {bytes} bytes through memory{reason}")
    }
}

/// The shared object in a file without a name that nobody can change.
fn sealed_library() -> io::Result<OwnedFd> {
    let file = memory_file("outpace-shim")?;
    let mut file = File::from(file);
    file.write_all(LIBRARY)?;
    let seals = SealFlags::GROW | SealFlags::SHRINK | SealFlags::WRITE | SealFlags::SEAL;
    fcntl_add_seals(&file, seals)?;
    file.rewind()?;
    let mut stored = Vec::with_capacity(LIBRARY.len());
    file.read_to_end(&mut stored)?;
    if hash(&stored) != LIBRARY_HASH {
        return Err(io::Error::other("it is not what was built"));
    }
    Ok(file.into())
}

/// FNV-1a, as the build script has it.
fn hash(bytes: &[u8]) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Whether the loader may map it as code: systems can refuse that (vm.memfd_noexec).
fn try_to_execute(library: &OwnedFd) -> io::Result<()> {
    let protection = ProtFlags::READ | ProtFlags::EXEC;
    // SAFETY: a mapping of our own, at a place that the kernel chooses, which nothing refers to.
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
    Ok(())
}

fn memory_file(name: &str) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Where the system asks for it (vm.memfd_noexec), code has to be announced; older kernels do not know that.
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
