//! Signals: stops, and the ends of processes. They need `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Terminal;

/// Runs `f` with every signal blocked in this thread, and in those that it starts: signals are the application's.
pub(crate) fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(libc::sigset_t);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the set was filled by `pthread_sigmask` below, and a null pointer is allowed for
            // the old set, which is not needed.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
        }
    }
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: `sigfillset` initialises the set it is given; `pthread_sigmask` reads that and fills the
    // other one. Neither fails with valid pointers and SIG_SETMASK.
    let restore = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        Restore(before.assume_init())
    };
    let result = f();
    drop(restore);
    result
}

/// The handler's data, made when stops are caught. It is never freed: a handler may be reading it. But the next
/// session on the same terminal takes it again.
struct Stops {
    /// Never closed either.
    terminal: Terminal,
    modes: libc::termios,
    farewell: &'static str,
}

impl Stops {
    fn is_for(&self, terminal: &Terminal, modes: &libc::termios, farewell: &str) -> bool {
        let flags = |modes: &libc::termios| {
            let libc::termios {
                c_iflag,
                c_oflag,
                c_cflag,
                c_lflag,
                c_cc,
                ..
            } = *modes;
            (c_iflag, c_oflag, c_cflag, c_lflag, c_cc)
        };
        super::is_same_file(&self.terminal, terminal)
            && flags(&self.modes) == flags(modes)
            && self.farewell == farewell
    }
}

/// All [`Stops`] that were ever made.
static MADE: Mutex<Vec<&'static Stops>> = Mutex::new(Vec::new());
static STOPS: AtomicPtr<Stops> = AtomicPtr::new(std::ptr::null_mut());
/// The process whose stops are caught. A child of its forks inherits the handlers, and not the terminal.
static CAUGHT_IN: AtomicU32 = AtomicU32::new(0);
static STOPPED: AtomicBool = AtomicBool::new(false);
/// The handler is about to give the terminal to the shell.
static STOPPING: AtomicBool = AtomicBool::new(false);
/// How many threads are writing to a terminal.
static WRITING: AtomicUsize = AtomicUsize::new(0);
/// How many milliseconds the handler waits for them: a terminal that has stalled is not waited for.
const WRITE_LIMIT: u32 = 50;

/// Says, while it lives, that its thread writes to a terminal.
pub(crate) struct Writing(());

impl Writing {
    /// Waits while the terminal is being given to the shell, so that the write cannot come after that.
    pub(crate) fn begin() -> Self {
        loop {
            // Sequentially consistent, as in the handler: one of both sees the other.
            WRITING.fetch_add(1, Ordering::SeqCst);
            if !STOPPING.load(Ordering::SeqCst) {
                return Self(());
            }
            WRITING.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The address of this thread's `errno`.
///
/// # Safety
/// None but those of the pointer: it is valid in this thread.
unsafe fn errno() -> *mut libc::c_int {
    // SAFETY: neither has preconditions.
    unsafe {
        #[cfg(any(target_os = "macos", target_os = "ios", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(not(any(target_os = "macos", target_os = "ios", target_os = "freebsd")))]
        return libc::__errno_location();
    }
}

/// Whether this is the process that a static names. Async-signal-safe.
fn is_this(process: &AtomicU32) -> bool {
    process.load(Ordering::Acquire) == std::process::id()
}

/// In a child of a fork a signal has its own effect, once its handler has returned; unless that is a handler of the program's, which has called ours.
fn have_its_own_effect(signal: libc::c_int, handler: usize) {
    if replace(signal, handler, libc::SIG_DFL) {
        // SAFETY: async-signal-safe, without preconditions.
        unsafe { libc::raise(signal) };
    }
}

extern "C" fn on_stop(signal: libc::c_int) {
    if !is_this(&CAUGHT_IN) {
        return have_its_own_effect(signal, on_stop_address());
    }
    // SAFETY: the pointer is null or came from `Box::leak`, whose value is never changed or freed. All calls are
    // async-signal-safe; the terminal's descriptor stays open.
    unsafe {
        let saved = *errno();
        if let Some(stops) = STOPS.load(Ordering::Acquire).as_ref() {
            let fd = stops.terminal.as_raw_fd();
            STOPPING.store(true, Ordering::SeqCst);
            for _ in 0..WRITE_LIMIT {
                if WRITING.load(Ordering::SeqCst) == 0 {
                    break;
                }
                let pause = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: 1_000_000,
                };
                libc::nanosleep(&pause, std::ptr::null_mut());
            }
            // A write to a terminal that does not read would not return, and the process not stop: neither one that finds no room, nor
            // one behind a thread that waits in its own. There is no place to report a failure, and the process stops either way.
            let mut room = libc::pollfd {
                fd,
                events: libc::POLLOUT,
                revents: 0,
            };
            let has_room = WRITING.load(Ordering::SeqCst) == 0 && libc::poll(&mut room, 1, 0) == 1;
            if has_room {
                libc::write(fd, stops.farewell.as_ptr().cast(), stops.farewell.len());
            }
            libc::tcsetattr(fd, libc::TCSANOW, &stops.modes);
        }
        stop_by_default();
        STOPPING.store(false, Ordering::SeqCst);
        *errno() = saved;
    }
}

/// Stops as without a handler, and returns when the process has been continued. The kernel stops no process that no
/// shell of its session could continue, such as an application that is the terminal's only one: then the terminal is
/// taken over again at once.
///
/// # Safety
/// Only in the handler of SIGTSTP.
unsafe fn stop_by_default() {
    // SAFETY: the structures are valid when zeroed, and all calls are async-signal-safe. Until it is blocked again,
    // one more SIGTSTP stops the process by the default action.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        let mut ours: libc::sigaction = std::mem::zeroed();
        let mut just_it: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut just_it);
        libc::sigaddset(&mut just_it, libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, &default, &mut ours);
        libc::raise(libc::SIGTSTP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &just_it, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, &just_it, std::ptr::null_mut());
        libc::sigaction(libc::SIGTSTP, &ours, std::ptr::null_mut());
    }
    on_continue(libc::SIGCONT);
}

extern "C" fn on_continue(_: libc::c_int) {
    if !is_this(&CAUGHT_IN) {
        return;
    }
    STOPPED.store(true, Ordering::Release);
    // SAFETY: async-signal-safe. The application learns of it as of a resize, and draws.
    unsafe { libc::raise(libc::SIGWINCH) };
}

/// Replaces a signal's action if it is `expected`. Returns whether it was.
fn replace(signal: libc::c_int, expected: usize, action: usize) -> bool {
    // SAFETY: `sigaction` reads and writes structures of ours, which are valid when zeroed; the handlers
    // are those of this module, which are async-signal-safe, or SIG_DFL.
    unsafe {
        let mut current: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, std::ptr::null(), &mut current) != 0
            || current.sa_sigaction != expected
        {
            return false;
        }
        let mut wanted: libc::sigaction = std::mem::zeroed();
        wanted.sa_sigaction = action;
        wanted.sa_flags = libc::SA_RESTART;
        libc::sigaction(signal, &wanted, std::ptr::null_mut()) == 0
    }
}

fn on_stop_address() -> usize {
    let handler: extern "C" fn(libc::c_int) = on_stop;
    handler as usize
}

fn handlers() -> [(libc::c_int, usize); 2] {
    let proceed: extern "C" fn(libc::c_int) = on_continue;
    [
        (libc::SIGTSTP, on_stop_address()),
        (libc::SIGCONT, proceed as usize),
    ]
}

/// From now on a stop from outside (SIGTSTP) first writes `farewell` to the terminal and gives it its
/// present modes back. Signals that the application handles itself are left alone.
pub(crate) fn catch_stops(terminal: &Terminal, farewell: &'static str) -> io::Result<()> {
    let mut modes = MaybeUninit::uninit();
    // SAFETY: the descriptor is open, and on success the structure is filled.
    let modes = unsafe {
        if libc::tcgetattr(terminal.as_raw_fd(), modes.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        modes.assume_init()
    };
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = made
        .iter()
        .find(|stops| stops.is_for(terminal, &modes, farewell));
    let stops: &'static Stops = match known {
        Some(stops) => stops,
        None => {
            let stops = Box::leak(Box::new(Stops {
                terminal: terminal.clone(),
                modes,
                farewell,
            }));
            made.push(stops);
            stops
        }
    };
    STOPS.store(std::ptr::from_ref(stops).cast_mut(), Ordering::Release);
    STOPPED.store(false, Ordering::Release);
    CAUGHT_IN.store(std::process::id(), Ordering::Release);
    for (signal, handler) in handlers() {
        replace(signal, libc::SIG_DFL, handler);
    }
    Ok(())
}

/// Undoes [`catch_stops`].
pub(crate) fn ignore_stops() {
    for (signal, handler) in handlers() {
        replace(signal, handler, libc::SIG_DFL);
    }
    STOPS.store(std::ptr::null_mut(), Ordering::Release);
}

/// Whether the process was stopped and continued since the last call.
pub(crate) fn was_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed) && STOPPED.swap(false, Ordering::AcqRel)
}

/// Stops the process until another one continues it.
pub(crate) fn stop() {
    // SAFETY: raising a signal has no preconditions. The default action, and ours, is to stop.
    unsafe { libc::raise(libc::SIGTSTP) };
}

/// Called when a signal ends or stops the process.
type Reaction = fn(Ending);

/// The effect of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The process ends, once that returns.
    End,
    /// It stops, once that returns.
    Stop,
    /// It goes on.
    Continue,
}

/// The writing end of a pipe that is never closed. The handler writes the number of its signal there.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// The signals that end a process and let it clean up before.
const ENDS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

extern "C" fn on_ending(signal: libc::c_int) {
    if !is_this(&WATCHED_IN) {
        return have_its_own_effect(signal, on_ending_address());
    }
    // SAFETY: `write` is async-signal-safe, the descriptor is never closed, and `errno` is that of this thread.
    unsafe {
        let saved = *errno();
        let byte = signal as u8;
        libc::write(WAKE.load(Ordering::Acquire), (&raw const byte).cast(), 1);
        *errno() = saved;
    }
}

fn on_ending_address() -> usize {
    let handler: extern "C" fn(libc::c_int) = on_ending;
    handler as usize
}

fn endings() -> impl Iterator<Item = libc::c_int> {
    ENDS.into_iter().chain([libc::SIGTSTP])
}

/// The process that has the thread which reacts: a child of a fork has not.
static WATCHED_IN: AtomicU32 = AtomicU32::new(0);
/// What `exit` calls.
static AT_EXIT: OnceLock<Reaction> = OnceLock::new();

extern "C" fn on_exit() {
    if let Some(react) = AT_EXIT.get()
        && is_this(&WATCHED_IN)
    {
        react(Ending::End);
    }
}

/// From now on `react` is called, on a thread of its own, before a signal ends or stops the process, and after it has been
/// continued, and by `exit`. Signals that the application handles, or ignores, are left alone.
pub(crate) fn watch_endings(react: Reaction) -> io::Result<()> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_this(&WATCHED_IN) {
        let (mut signals, wake) = io::pipe()?;
        WAKE.store(wake.into_raw_fd(), Ordering::Release);
        let work = move || {
            let mut signal = [0];
            while io::Read::read_exact(&mut signals, &mut signal).is_ok() {
                end_or_stop(signal[0].into(), react);
            }
        };
        let named = std::thread::Builder::new().name("outpace-signals".into());
        without_signals(|| named.spawn(work))?;
        if AT_EXIT.set(react).is_ok() {
            // SAFETY: the function is there as long as the process. Without room for it, `exit` does as it did.
            unsafe { libc::atexit(on_exit) };
        }
        WATCHED_IN.store(std::process::id(), Ordering::Release);
    }
    for signal in endings() {
        replace(signal, libc::SIG_DFL, on_ending_address());
    }
    Ok(())
}

/// Undoes [`watch_endings`].
pub(crate) fn ignore_endings() {
    for signal in endings() {
        replace(signal, on_ending_address(), libc::SIG_DFL);
    }
}

/// Calls `react`, then has the signal's own effect. If the application has put a handler of its own in the place of ours, and that
/// has called ours, the signal is the application's.
fn end_or_stop(signal: libc::c_int, react: Reaction) {
    if !replace(signal, on_ending_address(), on_ending_address()) {
        return;
    }
    let stops = signal == libc::SIGTSTP;
    react(if stops { Ending::Stop } else { Ending::End });
    replace(signal, on_ending_address(), libc::SIG_DFL);
    // SAFETY: the set is initialised by `sigemptyset`. The signal is this thread's own, so that it has ended or stopped the
    // process before the call returns that lets it through.
    unsafe {
        let mut just_it: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut just_it);
        libc::sigaddset(&mut just_it, signal);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &just_it, std::ptr::null_mut());
        libc::pthread_sigmask(libc::SIG_BLOCK, &just_it, std::ptr::null_mut());
    }
    replace(signal, libc::SIG_DFL, on_ending_address());
    if stops {
        react(Ending::Continue);
    }
}
