//! System calls that only Linux has.
#![allow(unsafe_code)]

use super::FileIdentity;
use super::unix::Uncancelled;
pub(crate) use super::unix::*;
use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The capacity of a pipe in bytes.
pub(crate) fn pipe_capacity(fd: RawFd) -> Option<usize> {
    // SAFETY: accesses no memory.
    usize::try_from(unsafe { libc::fcntl(fd, libc::F_GETPIPE_SZ) }).ok()
}

/// Whether a regular file is a setting or command of the kernel's, which takes what one write has.
pub(crate) fn is_of_kernel(fd: RawFd, status: &libc::stat) -> bool {
    /// `linux/magic.h`: proc, sys, cgroup, cgroup2, debugfs, tracefs, configfs, securityfs, selinuxfs, smackfs, efivarfs, resctrl,
    /// binfmt_misc.
    const KERNEL: [u32; 13] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x6265_6570,
        0x7363_6673,
        0xf97c_ff8c,
        0x4341_5d53,
        0xde5e_81e4,
        0x0765_5821,
        0x4249_4e4d,
    ];
    // A file system on a disk has that device's number.
    if libc::major(status.st_dev) != 0 {
        return false;
    }
    let mut system = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `system` is writable; the call fills it when it returns 0.
    unsafe {
        libc::fstatfs(fd, system.as_mut_ptr()) == 0
            && KERNEL.contains(&(system.assume_init().f_type as u32))
    }
}

/// Opens the pipe or terminal of a descriptor once more, for non-blocking writes. `None` where it may not be opened, or
/// without `/proc`, or for an emulator's side of a pseudo-terminal: each of these has the device 5:2
/// (`Documentation/admin-guide/devices.txt`), and opening that makes another pseudo-terminal.
pub(crate) fn opened_once_more(fd: RawFd, identity: FileIdentity) -> Option<RawFd> {
    let [_, _, device] = identity.0;
    if device == libc::makedev(5, 2) {
        return None;
    }
    let path = path(format_args!("/proc/thread-self/fd/{fd}"));
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the path ends in NUL.
    let own = unsafe { libc::open(path.as_ptr().cast(), flags) };
    (own >= 0).then_some(own)
}

/// A path of at most 39 bytes, and NUL. Allocates no memory.
fn path(path: fmt::Arguments<'_>) -> [u8; 40] {
    let mut bytes = [0; 40];
    let fits = (&mut bytes[..39]).write_fmt(path);
    debug_assert!(fits.is_ok());
    bytes
}

/// `/dev/null` is character device 1:3 (`Documentation/admin-guide/devices.txt`).
pub(crate) fn is_null_device(status: &libc::stat) -> bool {
    status.st_rdev == libc::makedev(1, 3)
}

/// Sleeps while `word` is `value`, until woken or for `limit`; may wake early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    // The `timespec` of this call is two words, on 32-bit systems with a `time_t` of 64 bits as well.
    let limit = limit.map(|limit| -> [libc::c_long; 2] {
        // Waking early is allowed, so 68 years are enough.
        let seconds = limit.as_secs().min(i32::MAX as u64);
        [seconds as _, limit.subsec_nanos() as _]
    });
    let limit: *const libc::c_long = limit.as_ref().map_or(ptr::null(), |words| words.as_ptr());
    // SAFETY: `word` is a live, aligned 32-bit word; `limit` is null or two words that live until the end.
    unsafe {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, limit);
    }
}

/// Wakes one thread that sleeps on `word`.
pub(crate) fn futex_wake_one(word: &AtomicU32) {
    futex_wake(word, 1);
}

/// Wakes all threads that sleep on `word`.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    futex_wake(word, libc::c_int::MAX);
}

extern "C" fn futex_wake(word: &AtomicU32, threads: libc::c_int) {
    // SAFETY: only the address is used.
    unsafe {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        libc::syscall(libc::SYS_futex, word.as_ptr(), operation, threads);
    }
}

// From linux/membarrier.h.
const MEMBARRIER_CMD_GLOBAL: libc::c_int = 1;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

fn membarrier_command(command: libc::c_int) -> bool {
    // SAFETY: accesses no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// A full fence in every thread of the process, after [`register_membarrier`] has returned true. Returns false if the
/// system refuses it: a sandbox may have been entered since.
pub(crate) fn membarrier() -> bool {
    membarrier_command(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        || membarrier_command(MEMBARRIER_CMD_GLOBAL)
}

/// Registers the process for [`membarrier`]; returns false if the system does not have it.
pub(crate) fn register_membarrier() -> bool {
    membarrier_command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
        && membarrier_command(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

/// Whether the process has one thread now. `/proc/self/task` has a link for each thread, besides `.` and `..`.
pub(crate) fn is_single_threaded() -> bool {
    let mut tasks = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the path ends in NUL; the call fills `tasks` when it returns 0.
    unsafe {
        libc::stat(c"/proc/self/task".as_ptr(), tasks.as_mut_ptr()) == 0
            && tasks.assume_init().st_nlink == 3
    }
}

/// Whether the process has rights that its caller may not have: it is set-user-ID or set-group-ID, or has capabilities
/// from its file (getauxval(3)).
pub(crate) fn is_privileged() -> bool {
    // SAFETY: accesses no memory.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Keeps the shared object with this code, if it is in one, in memory until the process ends, although its host may
/// `dlclose` it. Called before the system gets the address of a function.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
#[cold]
pub(crate) fn stay_loaded() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static DONE: AtomicBool = AtomicBool::new(false);

    struct Search {
        address: usize,
        name: *const libc::c_char,
    }

    unsafe extern "C" fn look(
        object: *mut libc::dl_phdr_info,
        _: usize,
        search: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: both are valid for this call, and the object has as many headers as it says.
        let (object, search) = unsafe { (&*object, &mut *search.cast::<Search>()) };
        // SAFETY: the same.
        let headers =
            unsafe { std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
        let found = headers.iter().any(|header| {
            let offset = search
                .address
                .wrapping_sub(object.dlpi_addr.wrapping_add(header.p_vaddr) as usize);
            header.p_type == libc::PT_LOAD && offset < header.p_memsz as usize
        });
        if found {
            search.name = object.dlpi_name;
        }
        found.into()
    }

    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut search = Search {
        address: (&raw const DONE).addr(),
        name: ptr::null(),
    };
    // SAFETY: `look` is called with `search` before the call returns. A name is valid while its object is loaded, and
    // the object's code is running here; the main program's name is empty. The handle is never closed.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut search).cast());
        if !search.name.is_null() && *search.name != 0 {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
            libc::dlopen(search.name, flags);
        }
    }
}

/// Does nothing: musl never unloads, and a static program has nothing to unload.
#[cfg(not(all(target_env = "gnu", not(target_feature = "crt-static"))))]
pub(crate) fn stay_loaded() {}

unsafe extern "C" {
    fn pthread_attr_setinheritsched(
        attributes: *mut libc::pthread_attr_t,
        inherit: libc::c_int,
    ) -> libc::c_int;
}

/// Gives a new thread the ordinary policy if its creator has a real-time policy: with that it would run only while the
/// creator waits, but the system reserves time for ordinary threads. Returns whether it did.
pub(crate) fn schedule_ordinarily(attributes: *mut libc::pthread_attr_t) -> bool {
    // A new thread's attributes name the ordinary policy, but by default they are ignored. SAFETY: the first call
    // accesses no memory (a system call, because musl does not support the function); the attributes are initialised.
    unsafe {
        let policy = libc::syscall(libc::SYS_sched_getscheduler, 0);
        let policy = policy & !libc::c_long::from(libc::SCHED_RESET_ON_FORK);
        let is_real_time = [libc::SCHED_FIFO, libc::SCHED_RR]
            .map(libc::c_long::from)
            .contains(&policy);
        is_real_time && pthread_attr_setinheritsched(attributes, libc::PTHREAD_EXPLICIT_SCHED) == 0
    }
}

/// Undoes [`schedule_ordinarily`].
pub(crate) fn schedule_as_caller(attributes: *mut libc::pthread_attr_t) {
    // SAFETY: the attributes are initialised.
    unsafe { pthread_attr_setinheritsched(attributes, libc::PTHREAD_INHERIT_SCHED) };
}

/// Names the calling thread, for tools that list threads.
pub(crate) fn name_thread(name: &CStr) {
    // SAFETY: reads up to the end of the name, or 15 bytes of it.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

/// The calling thread's system thread ID.
pub(crate) fn task() -> u32 {
    // SAFETY: always sound.
    (unsafe { libc::syscall(libc::SYS_gettid) }) as u32
}

/// Whether a thread of this process with that ID exists.
#[inline]
pub(crate) fn task_exists(task: u32) -> bool {
    // SAFETY: accesses no memory; signal 0 is not delivered.
    let asked = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), task, 0) };
    // A sandbox may refuse the call.
    asked == 0 || !OsError::last().is_no_such_process()
}

/// The processor time that a thread of this process has had.
pub(crate) fn processor_time(task: u32) -> Option<Duration> {
    // `MAKE_THREAD_CPUCLOCK` of the kernel, as `pthread_getcpuclockid` makes it: a thread's clock of scheduled time.
    const OF_A_THREAD_BY_THE_SCHEDULER: i32 = 4 | 2;
    let clock = !task.cast_signed() << 3 | OF_A_THREAD_BY_THE_SCHEDULER;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills `time` when it returns 0.
    unsafe {
        if libc::clock_gettime(clock, time.as_mut_ptr()) != 0 {
            return None;
        }
        let time = time.assume_init();
        Some(Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

/// Whether a thread of this process runs or waits for a processor. False where that is unknown.
pub(crate) fn is_runnable(task: u32) -> bool {
    let path = path(format_args!("/proc/self/task/{task}/stat"));
    // Its number, its name of at most 15 bytes in brackets, and its state (`proc_pid_stat(5)`).
    let mut start = [0; 64];
    let _whole = Uncancelled::begin();
    // SAFETY: the path ends in NUL; `start` is writable; no other code has the descriptor.
    let read = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let read = libc::read(file, start.as_mut_ptr().cast(), start.len());
        libc::close(file);
        read
    };
    let start = &start[..usize::try_from(read).unwrap_or(0)];
    let name_ends = start.iter().rposition(|&byte| byte == b')');
    name_ends.is_some_and(|end| start[end..].starts_with(b") R"))
}

/// Calls `run` at exit with the exit status.
#[cfg(target_env = "gnu")]
pub(crate) fn at_exit(run: fn(Option<i32>)) {
    unsafe extern "C" {
        fn on_exit(
            function: extern "C" fn(libc::c_int, *mut libc::c_void),
            argument: *mut libc::c_void,
        ) -> libc::c_int;
    }
    extern "C" fn call(status: libc::c_int, run: *mut libc::c_void) {
        // SAFETY: `at_exit` passed a `fn(Option<i32>)` as the argument.
        let run: fn(Option<i32>) = unsafe { std::mem::transmute(run) };
        run(Some(status));
    }
    stay_loaded();
    // SAFETY: `call` lives as long as the process, and takes this argument.
    unsafe { on_exit(call, run as *mut libc::c_void) };
}

/// A file for reading and writing that has no name (`O_TMPFILE`, where the file system has it).
pub(crate) fn unnamed_file(directory: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(0o600)
        .open(directory)
        .or_else(|_| super::unlinked_file(directory))
}

/// Frees the space of bytes that are no longer needed, if the file system supports that.
pub(crate) fn forget_range(file: &File, at: u64, length: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: accesses no memory.
    unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            mode,
            at as libc::off_t,
            length as libc::off_t,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::super::unix::Output;
    use super::*;
    use std::os::fd::{AsFd, FromRawFd, OwnedFd};

    /// Both ends of a pseudo-terminal that no thread reads.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let (mut ours, mut theirs) = (-1, -1);
        let none = ptr::null_mut();
        // SAFETY: the call fills both descriptors, which no other code knows.
        unsafe {
            let opened = libc::openpty(&mut ours, &mut theirs, none, none.cast(), none.cast());
            assert_eq!(opened, 0);
            (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs))
        }
    }

    #[test]
    fn a_thread_runs_or_sleeps() {
        assert!(is_runnable(task()));
        let before = processor_time(task()).unwrap();
        while processor_time(task()).unwrap() == before {}
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            send.send(task()).unwrap();
            ended.recv().unwrap_err();
        });
        let sleeping = receive.recv().unwrap();
        while is_runnable(sleeping) {}
        assert!(processor_time(sleeping).is_some());
        drop(end);
        sleeper.join().unwrap();
        assert!(!is_runnable(u32::MAX));
        assert_eq!(processor_time(1 << 28), None);
    }

    fn would_block(to: &impl AsFd) -> bool {
        let output = Output::new(to.as_fd()).unwrap();
        matches!(output.write_now(b"x"), Err(error) if error.would_block())
    }

    #[test]
    fn a_write_that_does_not_wait_waits_for_no_room_in_a_pipe() {
        let (reader, mut writer) = io::pipe().unwrap();
        assert!(!would_block(&writer));
        writer.write_all(&[b'x'; (64 << 10) - 1]).unwrap();
        assert!(would_block(&writer));
        drop(reader);
    }

    #[test]
    fn a_write_that_does_not_wait_waits_for_no_other_writer_of_a_terminal() {
        let (ours, theirs) = terminal();
        let other = File::from(theirs.try_clone().unwrap());
        let output = Output::new(theirs.as_fd()).unwrap();
        let writer = std::thread::spawn(move || (&other).write_all(&[b'x'; 1 << 20]));
        while !would_block(&theirs) {}
        // The other writer has the terminal locked while it writes.
        assert!(!output.wait_writable(super::super::Moment::now()));
        drop(ours);
        assert!(writer.join().unwrap().is_err());
    }

    #[test]
    fn what_is_written_to_the_emulators_side_of_a_terminal_arrives_at_the_other() {
        let (ours, theirs) = terminal();
        let output = Output::new(ours.as_fd()).unwrap();
        let mut rest = &b"keys\n"[..];
        while !rest.is_empty() {
            rest = &rest[output.write_now(rest).ok().unwrap()..];
        }
        // If the bytes went elsewhere, a read would wait forever.
        let mut poll = libc::pollfd {
            fd: theirs.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: `poll` is one valid entry.
        assert_eq!(unsafe { libc::poll(&mut poll, 1, 60_000) }, 1);
        let mut keys = [0; 5];
        io::Read::read_exact(&mut File::from(theirs), &mut keys).unwrap();
        assert_eq!(&keys, b"keys\n");
    }

    #[test]
    fn a_file_is_written_where_its_offset_is() {
        let mut file = unnamed_file(&std::env::temp_dir()).unwrap();
        file.write_all(b"before ").unwrap();
        let output = Output::new(file.as_fd()).unwrap();
        assert!(matches!(output.write_now(b"behind"), Ok(6)));
        let mut bytes = [0; 13];
        super::super::read_at(&file, &mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"before behind");
    }
}
