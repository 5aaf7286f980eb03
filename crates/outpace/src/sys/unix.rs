//! POSIX.
#![allow(unsafe_code)]

use super::{Destination, FileIdentity, Moment, STACK, poll_millis};
use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Puts off the cancellation of this thread by pthread_cancel(3) while it exists, in programs that use the C interface. A thread
/// that is cancelled in a system call leaves it by unwinding, and the frames of Rust on its stack would end the process.
pub(super) struct Uncancelled(Option<c_int>);

impl Uncancelled {
    pub(super) fn begin() -> Self {
        Self(super::serves_c().then(|| set_cancel_state(CANCEL_DISABLE)))
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            set_cancel_state(before);
        }
    }
}

/// Apple's systems count from the other end.
const CANCEL_DISABLE: c_int = !cfg!(target_vendor = "apple") as c_int;

/// Sets whether this thread can be cancelled, and returns what it was.
#[cfg(not(target_os = "android"))]
fn set_cancel_state(state: c_int) -> c_int {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    let mut before = state;
    // SAFETY: POSIX has this function; `before` is writable.
    unsafe { pthread_setcancelstate(state, &raw mut before) };
    before
}

/// Android's threads cannot be cancelled.
#[cfg(target_os = "android")]
fn set_cancel_state(state: c_int) -> c_int {
    state
}

/// A descriptor to write to. Does not own it: the caller of `new` keeps it open.
#[derive(Debug)]
pub(crate) struct Output(RawFd);

impl Output {
    pub(crate) const STDOUT: Output = Output(libc::STDOUT_FILENO);
    pub(crate) const STDERR: Output = Output(libc::STDERR_FILENO);

    /// The caller keeps `fd` open for as long as it is written to.
    pub(crate) fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        Ok(Output(fd.as_raw_fd()))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the caller of `new` keeps it open. The standard descriptors belong to the process; code that closes
        // one must expect other users.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }

    /// One `write(2)`.
    #[inline(never)]
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, OsError> {
        let len = bytes.len().min(MAX_WRITE);
        let _whole = Uncancelled::begin();
        // SAFETY: `bytes` is readable for `len` bytes.
        let written = unsafe { libc::write(self.0, bytes.as_ptr().cast(), len) };
        usize::try_from(written).map_err(|_| OsError::last())
    }

    /// One `write(2)` that does not wait, as far as the system allows: after `poll(2)` another process may have filled
    /// the room, and a terminal has one writer at a time. The descriptor cannot be made non-blocking, because other
    /// processes share it; on Linux the pipe or terminal is opened once more, non-blocking, which takes some 25 µs.
    pub(crate) extern "C" fn write_now(&self, bytes: &[u8]) -> Result<usize, OsError> {
        let destination = self.destination();
        let _whole = Uncancelled::begin();
        #[cfg(target_os = "linux")]
        if let (Destination::Terminal | Destination::Pipe(_), Some(identity)) = destination
            && let Some(own) = super::opened_once_more(self.0, identity)
        {
            let result = Output(own).write(bytes);
            // SAFETY: opened just now, and no other code knows it.
            unsafe { libc::close(own) };
            return result;
        }
        self.write(super::polled(bytes, destination.0 == Destination::Terminal))
    }

    /// Waits until a write would make progress or fail; returns false if `until` comes first.
    pub(crate) extern "C" fn wait_writable(&self, until: Moment) -> bool {
        let mut poll = libc::pollfd {
            fd: self.0,
            events: libc::POLLOUT,
            revents: 0,
        };
        let _whole = Uncancelled::begin();
        loop {
            // SAFETY: `poll` is one valid entry.
            let ready = unsafe { libc::poll(&mut poll, 1, poll_millis(until)) };
            if ready >= 0 || !OsError::last().is_interruption() {
                // The caller's write returns any other error.
                return ready != 0;
            }
        }
    }

    /// The kind of file that the descriptor is connected to, and its identity if it is open.
    pub(crate) fn destination(&self) -> (Destination, Option<FileIdentity>) {
        let mut status = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: `status` is writable; the call fills it when it returns 0.
        if unsafe { libc::fstat(self.0, status.as_mut_ptr()) } != 0 {
            return (Destination::Null, None);
        }
        // SAFETY: `fstat` returned 0.
        let status = unsafe { status.assume_init() };
        let destination = match status.st_mode & libc::S_IFMT {
            libc::S_IFIFO => Destination::Pipe(super::pipe_capacity(self.0)),
            libc::S_IFSOCK if self.is_byte_stream() => Destination::Socket,
            libc::S_IFCHR if self.is_terminal() => Destination::Terminal,
            libc::S_IFCHR if super::is_null_device(&status) => Destination::Null,
            libc::S_IFREG if !super::is_of_kernel(self.0, &status) => Destination::File,
            libc::S_IFBLK => Destination::File,
            _ => Destination::Messages,
        };
        #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
        let identity = [
            status.st_dev as u64,
            status.st_ino as u64,
            status.st_rdev as u64,
        ];
        (destination, Some(FileIdentity(identity)))
    }

    /// Whether a socket keeps no boundaries between writes.
    fn is_byte_stream(&self) -> bool {
        let mut kind: c_int = 0;
        let mut length = size_of::<c_int>() as libc::socklen_t;
        // SAFETY: `kind` is writable for `length` bytes.
        let asked = unsafe {
            let kind = (&raw mut kind).cast();
            libc::getsockopt(
                self.0,
                libc::SOL_SOCKET,
                libc::SO_TYPE,
                kind,
                &raw mut length,
            )
        };
        asked != 0 || kind == libc::SOCK_STREAM
    }

    pub(crate) fn is_terminal(&self) -> bool {
        // SAFETY: accesses no memory.
        unsafe { libc::isatty(self.0) == 1 }
    }
}

/// The system's number of an error: `Copy`, and without code to drop it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OsError(c_int);

impl OsError {
    /// `write` returned 0, without a reason.
    pub(crate) const WRITE_ZERO: OsError = OsError(0);

    /// Why the last call of this thread failed.
    pub(super) fn last() -> Self {
        // SAFETY: the location belongs to this thread.
        OsError(unsafe { *super::signal::errno() })
    }

    pub(crate) fn is_interruption(self) -> bool {
        self.0 == libc::EINTR
    }

    /// The descriptor is non-blocking, and has no room now.
    pub(crate) fn would_block(self) -> bool {
        self.0 == libc::EAGAIN || self.0 == libc::EWOULDBLOCK
    }

    pub(crate) fn is_broken_pipe(self) -> bool {
        self.0 == libc::EPIPE
    }

    /// There is no such thread or process.
    #[cfg(target_os = "linux")]
    pub(super) fn is_no_such_process(self) -> bool {
        self.0 == libc::ESRCH
    }

    /// The descriptor is not open.
    pub(crate) fn is_closed_descriptor(self) -> bool {
        self.0 == libc::EBADF
    }
}

impl From<OsError> for io::Error {
    fn from(error: OsError) -> Self {
        match error {
            OsError::WRITE_ZERO => io::ErrorKind::WriteZero.into(),
            OsError(code) => io::Error::from_raw_os_error(code),
        }
    }
}

impl From<io::Error> for OsError {
    fn from(error: io::Error) -> Self {
        // Only one error is not the system's: a spill file that has become shorter.
        OsError(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

/// Nanoseconds since some time before the process began.
pub(super) fn monotonic_nanos() -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the call fills it; it cannot fail, because the clock exists and the memory is valid.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, time.as_mut_ptr());
        time.assume_init()
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps for a moment, so that other threads can continue.
pub(crate) fn pause() {
    let _whole = Uncancelled::begin();
    // SAFETY: no entries are passed.
    unsafe { libc::poll(ptr::null_mut(), 0, 1) };
}

/// The largest write that every system takes (macOS refuses 2 GiB).
const MAX_WRITE: usize = 1 << 30;

/// What threads are given that have not taken it yet. With no place left, a leak detector might report it, as above.
static STARTING: [AtomicPtr<c_void>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];

fn exchange_starting(before: *mut c_void, after: *mut c_void) {
    let exchange = |place: &AtomicPtr<_>| place.compare_exchange(before, after, Relaxed, Relaxed);
    let _ = STARTING.iter().any(|place| exchange(place).is_ok());
}

/// Starts a helper thread that receives no signals, so that the program's own threads get them. Except those that a write
/// causes, which have the effect that they would have in the calling thread: SIGTTOU stops a background job that prints
/// (`stty tostop`), and SIGXFSZ ends a program whose file is longer than it may be.
///
/// Not `std::thread`: its code for names, results, panics and joining would be a third of what this library adds to a
/// small program.
///
/// The thread has the closure on its own stack, and no memory on the heap: in the child of a fork, which does not have
/// the thread, leak detectors would report that. Until the thread runs, [`STARTING`] refers to the memory.
pub(crate) fn spawn<F: FnOnce() + Send + 'static>(
    name: &'static CStr,
    run: F,
) -> Result<(), OsError> {
    extern "C" fn main<F: FnOnce()>(start: *mut c_void) -> *mut c_void {
        // SAFETY: `spawn` has given this to this thread alone.
        let (name, run) = *unsafe { Box::from_raw(start.cast::<(&CStr, F)>()) };
        exchange_starting(start, ptr::null_mut());
        super::name_thread(name);
        run();
        ptr::null_mut()
    }

    let start = Box::into_raw(Box::new((name, run)));
    exchange_starting(ptr::null_mut(), start.cast());
    // SAFETY: `main` takes the box at `start`, which is `Send`.
    unsafe { create_thread(main::<F>, start.cast()) }.inspect_err(|_| {
        exchange_starting(start.cast(), ptr::null_mut());
        // SAFETY: no thread was started, so the box is still this function's.
        drop(unsafe { Box::from_raw(start) });
    })
}

/// Starts a thread that calls `main(start)`.
///
/// # Safety
///
/// `main` may be called so in another thread.
unsafe fn create_thread(
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    start: *mut c_void,
) -> Result<(), OsError> {
    /// The stack size if memory is too limited for [`STACK`].
    const SMALL_STACK: usize = 128 << 10;

    super::stay_loaded();
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
    // SAFETY: each call initialises what the next ones read. A started thread owns `start`.
    let error = unsafe {
        libc::sigfillset(blocked.as_mut_ptr());
        for signal in super::signal::OF_WRITES {
            libc::sigdelset(blocked.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, blocked.as_ptr(), before.as_mut_ptr());
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let attributes = attributes.as_mut_ptr();
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        let is_ordinary = super::schedule_ordinarily(attributes);
        let mut create = |stack| {
            libc::pthread_attr_setstacksize(attributes, stack);
            libc::pthread_create(thread.as_mut_ptr(), attributes, main, start)
        };
        let mut error = create(STACK);
        if error == libc::EINVAL {
            // The stack is too small for the thread-local variables of this program.
            error = create(8 * STACK);
        } else if error == libc::EAGAIN {
            error = create(SMALL_STACK);
        }
        if error != 0 && is_ordinary {
            // A sandbox may refuse the policy.
            super::schedule_as_caller(attributes);
            error = create(STACK);
        }
        libc::pthread_attr_destroy(attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        error
    };
    match error {
        0 => Ok(()),
        error => Err(OsError(error)),
    }
}

/// Calls `prepare` before a `fork(2)` of this process, and `parent` and `child` after it.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: extern "C" fn(),
            parent: extern "C" fn(),
            child: extern "C" fn(),
        ) -> libc::c_int;
    }
    // SAFETY: the functions live as long as the process, or the C library removes them when it unloads their object.
    // After a failure (no memory) forked children lack the reset, as after raw `clone`.
    unsafe { pthread_atfork(prepare, parent, child) };
}

/// The key whose value has a destructor in the thread of [`at_end_of_this_thread`], and 1; or 0.
static END_KEY: AtomicUsize = AtomicUsize::new(0);

/// Calls `run` when this thread ends before the process does, by pthread_exit(3). `run` is the same in each call.
pub(crate) fn at_end_of_this_thread(run: unsafe extern "C" fn(*mut c_void)) {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is writable, and read where the call has set it. `forget_end_of_thread` deletes the key before `run` is unloaded.
    unsafe {
        if END_KEY.load(Relaxed) == 0 && libc::pthread_key_create(&raw mut key, Some(run)) == 0 {
            END_KEY.store(key as usize + 1, Relaxed);
        }
        if let Some(key) = END_KEY.load(Relaxed).checked_sub(1) {
            // Without a value there is no call.
            libc::pthread_setspecific(key as libc::pthread_key_t, (&raw const END_KEY).cast());
        }
    }
}

pub(crate) fn forget_end_of_thread() {
    if let Some(key) = END_KEY.swap(0, Relaxed).checked_sub(1) {
        // SAFETY: made by `at_end_of_this_thread`.
        unsafe { libc::pthread_key_delete(key as libc::pthread_key_t) };
    }
}

/// Ends the process as an unhandled SIGPIPE would.
#[inline]
pub(crate) fn end_by_sigpipe() -> ! {
    super::signal::end_by(libc::SIGPIPE)
}

#[cfg(not(target_os = "linux"))]
mod other {
    pub(crate) use crate::sys::unlinked_file as unnamed_file;

    /// Does nothing: the space stays allocated until the file is gone.
    pub(crate) fn forget_range(_file: &std::fs::File, _at: u64, _length: u64) {}

    /// Not implemented on this system.
    pub(crate) fn processor_time(_task: u32) -> Option<std::time::Duration> {
        None
    }

    pub(crate) fn is_runnable(_task: u32) -> bool {
        false
    }

    /// Does nothing: these systems' `dlclose(3)` differ. Apple's never unloads an object that has thread-local
    /// variables, and std has some.
    pub(crate) fn stay_loaded() {}

    /// Does nothing: a thread inherits its creator's policy.
    pub(crate) fn schedule_ordinarily(_attributes: *mut libc::pthread_attr_t) -> bool {
        false
    }

    /// Does nothing, as [`schedule_ordinarily`].
    pub(crate) fn schedule_as_caller(_attributes: *mut libc::pthread_attr_t) {}

    /// Whether the process may have rights that its caller does not have: it is set-user-ID or set-group-ID.
    pub(crate) fn is_privileged() -> bool {
        // SAFETY: accesses no memory.
        #[cfg(any(
            target_vendor = "apple",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "dragonfly",
        ))]
        return unsafe { libc::issetugid() != 0 };
        // SAFETY: the same.
        #[cfg(not(any(
            target_vendor = "apple",
            target_os = "freebsd",
            target_os = "netbsd",
            target_os = "openbsd",
            target_os = "dragonfly",
        )))]
        return unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() };
    }

    /// Does nothing: the call differs between systems.
    pub(crate) fn name_thread(_name: &std::ffi::CStr) {}

    /// The capacity of a pipe cannot be asked.
    pub(crate) fn pipe_capacity(_fd: std::os::fd::RawFd) -> Option<usize> {
        None
    }

    pub(crate) fn is_of_kernel(_fd: std::os::fd::RawFd, _status: &libc::stat) -> bool {
        false
    }

    pub(crate) fn is_null_device(status: &libc::stat) -> bool {
        let mut null = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path ends in NUL; the call fills `null` when it returns 0.
        unsafe {
            libc::stat(c"/dev/null".as_ptr(), null.as_mut_ptr()) == 0
                && null.assume_init().st_rdev == status.st_rdev
        }
    }
}
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;

/// Calls `run` at exit with the exit status, where the system tells it.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn at_exit(run: fn(Option<i32>)) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static RUN: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn call() {
        // SAFETY: only `at_exit` stores here, and it stores a `fn(Option<i32>)`.
        let run: fn(Option<i32>) = unsafe { std::mem::transmute(RUN.load(Ordering::Acquire)) };
        run(None);
    }

    super::stay_loaded();
    RUN.store(run as usize, Ordering::Release);
    // SAFETY: `call` lives as long as the process.
    unsafe { libc::atexit(call) };
}

/// Ends a process that is already exiting with another status.
#[inline]
pub(crate) fn exit_with(status: i32) -> ! {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: glibc continues with the handlers that are still to run, C's own flushing among them.
    unsafe {
        libc::exit(status)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    // SAFETY: always sound.
    unsafe {
        libc::_exit(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_closure_on_its_own_stack() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let captured = [7_u8; 24];
        let started = spawn(c"test", move || {
            let local = 0_u8;
            let apart = captured.as_ptr().addr().abs_diff((&raw const local).addr());
            let _ = sender.send(apart);
        });
        assert!(started.is_ok());
        let apart = receiver.recv().unwrap();
        assert!(
            apart < STACK,
            "{apart} bytes from the thread's own variables"
        );
    }
}
