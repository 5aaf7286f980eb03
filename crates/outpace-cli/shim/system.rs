//! System calls made without the C library, and questions about descriptors, memory and processes.

use crate::ring::{self, Header};
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use crate::machine::{call, thread};

/// The numbers of system calls.
#[cfg(target_arch = "x86_64")]
mod numbers {
    pub(crate) const WRITE: usize = 1;
    pub(crate) const CLOSE: usize = 3;
    pub(crate) const FSTAT: usize = 5;
    pub(crate) const MMAP: usize = 9;
    pub(crate) const MPROTECT: usize = 10;
    pub(crate) const MUNMAP: usize = 11;
    pub(crate) const BRK: usize = 12;
    pub(crate) const RT_SIGPROCMASK: usize = 14;
    pub(crate) const IOCTL: usize = 16;
    pub(crate) const PREAD: usize = 17;
    pub(crate) const SCHED_YIELD: usize = 24;
    pub(crate) const MREMAP: usize = 25;
    pub(crate) const MADVISE: usize = 28;
    pub(crate) const GETPID: usize = 39;
    pub(crate) const KILL: usize = 62;
    pub(crate) const FCNTL: usize = 72;
    pub(crate) const PRCTL: usize = 157;
    pub(crate) const FGETXATTR: usize = 193;
    pub(crate) const FUTEX: usize = 202;
    pub(crate) const CLOCK_GETTIME: usize = 228;
    pub(crate) const OPENAT: usize = 257;
    pub(crate) const NEWFSTATAT: usize = 262;
    pub(crate) const PPOLL: usize = 271;
    pub(crate) const PRLIMIT: usize = 302;
    pub(crate) const MEMFD_CREATE: usize = 319;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub(crate) const FGETXATTR: usize = 10;
    pub(crate) const FCNTL: usize = 25;
    pub(crate) const IOCTL: usize = 29;
    pub(crate) const OPENAT: usize = 56;
    pub(crate) const CLOSE: usize = 57;
    pub(crate) const WRITE: usize = 64;
    pub(crate) const PREAD: usize = 67;
    pub(crate) const PPOLL: usize = 73;
    pub(crate) const NEWFSTATAT: usize = 79;
    pub(crate) const FSTAT: usize = 80;
    pub(crate) const FUTEX: usize = 98;
    pub(crate) const SCHED_YIELD: usize = 124;
    pub(crate) const CLOCK_GETTIME: usize = 113;
    pub(crate) const KILL: usize = 129;
    pub(crate) const RT_SIGPROCMASK: usize = 135;
    pub(crate) const PRCTL: usize = 167;
    pub(crate) const GETPID: usize = 172;
    pub(crate) const BRK: usize = 214;
    pub(crate) const MUNMAP: usize = 215;
    pub(crate) const MREMAP: usize = 216;
    pub(crate) const MMAP: usize = 222;
    pub(crate) const MPROTECT: usize = 226;
    pub(crate) const MADVISE: usize = 233;
    pub(crate) const PRLIMIT: usize = 261;
    pub(crate) const MEMFD_CREATE: usize = 279;
}
pub(crate) use numbers::*;

pub(crate) const ESRCH: isize = -3;
const EFAULT: isize = -14;
pub(crate) const TIMED_OUT: isize = -110;
const AT_FDCWD: usize = -100_isize as usize;

/// Opens a file for reading, or as `flags` say; returns a negated error if that fails.
///
/// # Safety
///
/// The path ends with a NUL, or cannot be read.
pub(crate) unsafe fn open(path: *const c_char, flags: usize) -> isize {
    const CLOEXEC: usize = 0o2000000;
    // SAFETY: the kernel reads the path, or answers EFAULT.
    unsafe { call(OPENAT, AT_FDCWD, path as usize, flags | CLOEXEC, 0, 0, 0) }
}

pub(crate) fn close(descriptor: isize) {
    // SAFETY: a descriptor of our own.
    unsafe { call(CLOSE, descriptor as usize, 0, 0, 0, 0, 0) };
}

/// Reads into the buffer, from this place in the file; returns the length, or a negated error.
pub(crate) fn read_at(descriptor: isize, buffer: &mut [u8], at: usize) -> isize {
    let (start, length) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes within the buffer.
    unsafe { call(PREAD, descriptor as usize, start, length, at, 0, 0) }
}

/// Sets the protection of this memory's pages. Returns whether that could be done.
///
/// # Safety
///
/// As mprotect(2), for whole pages.
pub(crate) unsafe fn protect(start: usize, length: usize, protection: usize) -> bool {
    /// The possible sizes of pages; x86-64 has the first.
    const PAGES: [usize; 3] = [1 << 12, 1 << 14, 1 << 16];
    const EINVAL: isize = -22;
    for page in PAGES {
        let from = start & !(page - 1);
        let to = (start + length).next_multiple_of(page);
        // SAFETY: the caller's.
        let result = unsafe { call(MPROTECT, from, to - from, protection, 0, 0, 0) };
        // EINVAL: pages are larger, and `from` lies within one.
        if result != EINVAL {
            return result == 0;
        }
    }
    false
}

/// Calls the function with all signals blocked.
pub(crate) fn with_signals_blocked<T>(function: impl FnOnce() -> T) -> T {
    const SIG_SETMASK: usize = 2;
    const SIZE: usize = 8;
    let (all, mut before) = (u64::MAX, 0_u64);
    let set = |new: *const u64, old: *mut u64| {
        // SAFETY: the kernel reads one mask, and writes the other if it is given.
        unsafe {
            call(
                RT_SIGPROCMASK,
                SIG_SETMASK,
                new as usize,
                old as usize,
                SIZE,
                0,
                0,
            )
        };
    };
    set(&raw const all, &raw mut before);
    let result = function();
    set(&raw const before, core::ptr::null_mut());
    result
}

/// Nanoseconds since the system was started (clock_gettime(2), CLOCK_BOOTTIME).
pub(crate) fn now() -> u64 {
    const BOOTTIME: usize = 7;
    let mut time = [0_u64; 2];
    // SAFETY: the kernel writes two words.
    unsafe {
        call(
            CLOCK_GETTIME,
            BOOTTIME,
            time.as_mut_ptr() as usize,
            0,
            0,
            0,
            0,
        )
    };
    time[0].wrapping_mul(1_000_000_000).wrapping_add(time[1])
}

pub(crate) fn process() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { call(GETPID, 0, 0, 0, 0, 0, 0) as u32 }
}

#[repr(C)]
pub(crate) struct FileStatus {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    #[cfg(target_arch = "x86_64")]
    pub(crate) links: u64,
    pub(crate) mode: u32,
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) links: u32,
    user: u32,
    group: u32,
    #[cfg(target_arch = "x86_64")]
    padding: u32,
    pub(crate) special: u64,
    rest: [u64; 16],
}

impl FileStatus {
    const EMPTY: Self = Self {
        device: 0,
        inode: 0,
        links: 0,
        mode: 0,
        user: 0,
        group: 0,
        #[cfg(target_arch = "x86_64")]
        padding: 0,
        special: 0,
        rest: [0; 16],
    };

    pub(crate) fn of(descriptor: usize) -> Option<Self> {
        let mut stat = Self::EMPTY;
        // SAFETY: the kernel fills in at most 144 bytes, the size of its structure; this one is larger.
        let result = unsafe { call(FSTAT, descriptor, &raw mut stat as usize, 0, 0, 0, 0) };
        (result == 0).then_some(stat)
    }

    pub(crate) fn at(path: &core::ffi::CStr) -> Option<Self> {
        // SAFETY: the path ends with a NUL.
        unsafe { Self::by_name(path.as_ptr()) }
    }

    /// # Safety
    ///
    /// The path ends with a NUL, or cannot be read.
    pub(crate) unsafe fn by_name(path: *const c_char) -> Option<Self> {
        let mut stat = Self::EMPTY;
        let (path, place) = (path as usize, &raw mut stat as usize);
        // SAFETY: the kernel reads the path, or refuses it; the structure is as in `of`.
        let result = unsafe { call(NEWFSTATAT, AT_FDCWD, path, place, 0, 0, 0) };
        (result == 0).then_some(stat)
    }
}

/// Where a descriptor leads.
#[derive(PartialEq, Eq)]
pub(crate) enum Leads {
    /// To the ring's terminal or pipe.
    Here,
    /// Perhaps to that terminal, under another name (`/dev/tty`).
    Perhaps,
    Elsewhere,
    /// Nowhere: it is closed.
    Nowhere,
}

const CHARACTER_DEVICE: u32 = 0o020000;
const PIPE: u32 = 0o010000;
const FILE_TYPE: u32 = 0o170000;
const DEV_TTY: u64 = 5 << 8;

impl Leads {
    pub(crate) fn may_be_here(&self) -> bool {
        matches!(self, Self::Here | Self::Perhaps)
    }
}

pub(crate) fn leads(descriptor: c_int, ring: &Header) -> Leads {
    let Some(stat) = FileStatus::of(descriptor as usize) else {
        return Leads::Nowhere;
    };
    let terminal = ring.terminal.load(Ordering::Relaxed);
    let kind = if terminal == ring::NO_TERMINAL {
        PIPE
    } else {
        CHARACTER_DEVICE
    };
    if stat.mode & FILE_TYPE != kind {
        Leads::Elsewhere
    } else if stat.special == terminal
        && stat.device == ring.device.load(Ordering::Relaxed)
        && stat.inode == ring.inode.load(Ordering::Relaxed)
    {
        Leads::Here
    } else if kind == CHARACTER_DEVICE && (stat.special == DEV_TTY || stat.special == terminal) {
        Leads::Perhaps
    } else {
        Leads::Elsewhere
    }
}

/// Whether a descriptor that led to the ring's terminal before leads to one like it. A pipe is asked for anew. Of a terminal only the
/// number is compared, which is cheaper than fstat(2).
pub(crate) fn still_leads(descriptor: c_int, ring: &Header) -> bool {
    match ring.terminal.load(Ordering::Relaxed) {
        ring::NO_TERMINAL => leads(descriptor, ring) == Leads::Here,
        terminal => terminal_of(descriptor) == Some(terminal),
    }
}

const F_GETFL: usize = 3;
const O_ACCMODE: isize = 3;
const O_WRONLY: isize = 1;
const O_RDWR: isize = 2;
pub(crate) const O_NONBLOCK: isize = 0o4000;
const O_PATH: isize = 0o10000000;

pub(crate) fn flags(descriptor: c_int) -> isize {
    // SAFETY: no memory is involved.
    unsafe { call(FCNTL, descriptor as usize, F_GETFL, 0, 0, 0, 0) }
}

/// The number of the terminal to which a descriptor leads (ioctl_tty(2)). It is not unique: each devpts has its own numbers.
fn terminal_of(descriptor: c_int) -> Option<u64> {
    const TIOCGDEV: usize = 0x8004_5432;
    let mut device = 0_u32;
    let place = &raw mut device as usize;
    // SAFETY: the kernel fills in the four bytes, or answers that it is no terminal.
    let result = unsafe { call(IOCTL, descriptor as usize, TIOCGDEV, place, 0, 0, 0) };
    (result == 0).then_some(u64::from(device))
}

/// Whether a descriptor leads to a pipe, a socket, or a device other than memory's (the null device, say).
pub(crate) fn has_reader(descriptor: c_int) -> bool {
    const SOCKET: u32 = 0o140000;
    const MEMORY: u64 = 1;
    FileStatus::of(descriptor as usize).is_some_and(|stat| match stat.mode & FILE_TYPE {
        PIPE | SOCKET => true,
        CHARACTER_DEVICE => stat.special >> 8 != MEMORY,
        _ => false,
    })
}

/// Whether the other end of a descriptor has gone (poll(2)). A negative descriptor has none.
pub(crate) fn has_hung_up(descriptor: c_int) -> bool {
    #[repr(C)]
    struct Poll {
        descriptor: c_int,
        wanted: i16,
        happened: i16,
    }
    const POLLERR: i16 = 8;
    const POLLHUP: i16 = 16;
    let mut poll = Poll {
        descriptor,
        wanted: 0,
        happened: 0,
    };
    let (place, at_once) = (&raw mut poll as usize, [0_i64; 2]);
    // SAFETY: the kernel reads and writes one structure, and reads a time of none.
    unsafe { call(PPOLL, place, 1, at_once.as_ptr() as usize, 0, 0, 0) };
    poll.happened & (POLLERR | POLLHUP) != 0
}

/// Whether a descriptor can be written to.
pub(crate) fn is_writable(descriptor: c_int) -> bool {
    let flags = flags(descriptor);
    flags >= 0 && flags & O_PATH == 0 && matches!(flags & O_ACCMODE, O_WRONLY | O_RDWR)
}

/// A cache of pages that can be read, by the last bits of their number.
static READABLE: [AtomicUsize; 16] = [const { AtomicUsize::new(0) }; 16];

/// Forgets the pages: one may have been unmapped.
pub(crate) fn forget_pages() {
    for page in &READABLE {
        page.store(0, Ordering::Relaxed);
    }
}

/// Whether all of these bytes can be read, by a system call that copies eight bytes, and then refuses.
pub(crate) fn can_be_read(start: *const u8, length: usize) -> bool {
    const NO_SUCH_WAY: usize = 77;
    const PAGE: usize = 4096;
    // Aligned words lie in one page.
    let (mut at, last) = (
        start as usize & !7,
        (start as usize).wrapping_add(length - 1) & !7,
    );
    // For this system call a null address means no mask.
    if last < at || at < PAGE {
        return false;
    }
    loop {
        let known = &READABLE[(at >> 12) % READABLE.len()];
        if known.load(Ordering::Relaxed) != at >> 12 {
            // SAFETY: the kernel reads eight bytes, or answers EFAULT; it knows no such way to change a mask, and changes none.
            if unsafe { call(RT_SIGPROCMASK, NO_SUCH_WAY, at, 0, 8, 0, 0) } == EFAULT {
                return false;
            }
            known.store(at >> 12, Ordering::Relaxed);
        }
        if at >> 12 == last >> 12 {
            return true;
        }
        at = ((at >> 12) + 1) << 12;
    }
}

/// Reads `/proc/…/stat` (proc(5)); returns where the fields behind the program's name begin.
fn told(path: &core::ffi::CStr, buffer: &mut [u8; 512]) -> Option<usize> {
    // SAFETY: the path ends with a NUL.
    let file = unsafe { open(path.as_ptr(), 0) };
    if file < 0 {
        return None;
    }
    let read = read_at(file, buffer, 0);
    close(file);
    let text = buffer.get(..usize::try_from(read).ok()?)?;
    Some(text.iter().rposition(|byte| *byte == b')')? + 2)
}

fn decimal(text: &[u8]) -> u64 {
    let digits = text.iter().map(|digit| u64::from(digit.wrapping_sub(b'0')));
    digits.fold(0, |sum, digit| sum.wrapping_mul(10).wrapping_add(digit))
}

/// A field of what proc(5) tells of this process, counted from that behind the name.
fn field(text: &[u8], index: usize) -> Option<u64> {
    text.split(|byte| *byte == b' ').nth(index).map(decimal)
}

/// Takes zeroes off the end of what proc(5) shows as this process's environment. Where the kernel cannot do that, they stay.
pub(crate) fn cut_environment() -> Option<()> {
    const PR_SET_MM: usize = 35;
    const PR_SET_MM_MAP: usize = 14;
    /// `struct prctl_mm_map`: eleven addresses, and that nothing else is to be changed.
    const SIZE: usize = 13;
    const ENVIRONMENT: usize = 9;
    const BREAK: usize = 5;
    const NO_AUXILIARIES: u64 = 0;
    const NO_FILE: u64 = 0xffff_ffff << 32;
    /// `start_code`, `end_code`, `start_data`, `end_data`, `start_brk`, `brk`, `start_stack`, `arg_start`, `arg_end`, `env_start` and
    /// `env_end`, as they are called there, but for the sixth.
    const FIELDS: [usize; 11] = [23, 24, 42, 43, 44, 44, 25, 45, 46, 47, 48];
    let mut buffer = [0; 512];
    let from = told(c"/proc/self/stat", &mut buffer)?;
    let text = buffer.get(from..)?;
    let mut map = [NO_AUXILIARIES; SIZE];
    for (place, index) in map.iter_mut().zip(FIELDS) {
        *place = field(text, index)?;
    }
    // SAFETY: no memory is involved.
    map[BREAK] = unsafe { call(BRK, 0, 0, 0, 0, 0, 0) } as u64;
    map[SIZE - 1] = NO_FILE;
    let [start, end] = [map[ENVIRONMENT], map[ENVIRONMENT + 1]];
    let mut last = end;
    // SAFETY: between the two addresses lies the environment.
    while last > start && unsafe { ((last - 1) as *const u8).read() } == 0 {
        last -= 1;
    }
    // The NUL of the last variable.
    map[ENVIRONMENT + 1] = end.min(last + 1);
    let (place, size) = (map.as_ptr() as usize, size_of_val(&map));
    // SAFETY: the kernel reads the addresses; only the last one changes, and is within what it was.
    unsafe { call(PRCTL, PR_SET_MM, PR_SET_MM_MAP, place, size, 0, 0) };
    Some(())
}

/// Whether a process has ended, even if its parent has not waited for it.
pub(crate) fn is_dead(process: u32) -> bool {
    // SAFETY: signal 0 is none.
    if unsafe { call(KILL, process as usize, 0, 0, 0, 0, 0) } == ESRCH {
        return true;
    }
    let mut path = *b"/proc/0000000000/stat\0";
    let (mut at, mut rest) = (16, process);
    while at > 6 {
        at -= 1;
        path[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // Moves "/proc/" to the first digit that is not a leading zero.
    while path[at] == b'0' {
        at += 1;
    }
    path.copy_within(0..6, at - 6);
    let Ok(path) = core::ffi::CStr::from_bytes_until_nul(&path[at - 6..]) else {
        return false;
    };
    let mut buffer = [0; 512];
    let Some(from) = told(path, &mut buffer) else {
        return false;
    };
    /// The field, counted from that behind the name.
    const THREADS: usize = 17;
    let mut fields = buffer
        .get(from..)
        .unwrap_or_default()
        .split(|byte| *byte == b' ');
    let has_ended = matches!(fields.next(), Some(b"Z" | b"X"));
    // A first thread that has ended stays a zombie for as long as other threads run.
    has_ended && matches!(fields.nth(THREADS - 1), Some(b"0" | b"1"))
}

/// Whether this process has one thread: the directory of threads has one link for each, and two of its own. An emulator
/// (qemu-user) adds a thread: docs/shim.md.
pub(crate) fn is_alone() -> bool {
    let links = if cfg!(outpace_emulated) { 4 } else { 3 };
    FileStatus::at(c"/proc/self/task").is_some_and(|stat| stat.links == links)
}
