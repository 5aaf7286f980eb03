//! Output that survives panics and signals, for programs that ask for it: a library must not impose it.
//!
//! At `exit` and on return from `main` every stream is drained without any of this. A program calls [`init()`], or the
//! functions of single parts:
//!
//! | part | what it does | in `init()` |
//! |---|---|---|
//! | [`panic_hook`] | output appears before the panic message | yes |
//! | [`signals`] | SIGINT, SIGTERM, SIGHUP, SIGQUIT and others that end a process drain first | yes |
//! | [`broken_pipe`] | a closed pipe is an error of the write, not a fatal SIGPIPE | yes |
//! | [`fatal_faults`] | SIGSEGV, `abort` and their like drain, if the stream allows it | no |
//!
//! [`endings`](crate::endings) lists what arrives at each end, with and without them.
//!
//! ```
//! outpace::init(); // first in `main`
//! ```
//!
//! On Windows only the panic hook exists and the part of the signals, which there are Ctrl-C, Ctrl-Break and the end of the console
//! or of the session; elsewhere outside Unix, only the panic hook. The other functions do nothing there, and return an error if
//! they can.

use crate::stream::patience::Patience;
use crate::stream::registry::standard_streams;
use crate::stream::settings::{LAST_WORDS, report};
use std::io;
use std::sync::Once;
use std::{panic, thread};

/// Installs the [`panic_hook`], the [`signals`] and the [`broken_pipe`] part: see the
/// [module](self). May be called more than once.
///
/// Best called first in `main`: before the program installs handlers of its own, which stay in force, and before it
/// starts threads.
///
/// If the helper thread of the signals cannot be started, that is reported on standard error, and signals end the
/// process as they do without `init`.
pub fn init() {
    panic_hook();
    broken_pipe();
    match signals() {
        Err(error) if error.kind() != io::ErrorKind::Unsupported => {
            report(format_args!("the thread that handles signals: {error}"));
        }
        _ => {}
    }
}

/// Drains standard output and error before a panic message is printed, so that it comes after earlier output. Then
/// calls the previous hook.
///
/// Does not wait for a reader that has taken no bytes for 200 ms. Called by a panicking thread, it does nothing.
///
/// A hook that the program sets later, without a call of this one, takes its place. Then a panic that aborts drains by the signal of
/// `abort` (SIGABRT), on Unix, unless the program handles that.
///
/// ```
/// outpace::init::panic_hook();
/// ```
pub fn panic_hook() {
    static INSTALLED: Once = Once::new();
    if thread::panicking() {
        return;
    }
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            for engine in standard_streams() {
                engine.drain_all(Patience::Stalled(LAST_WORDS));
            }
            previous(panic);
        }));
        imp::panics_that_abort();
    });
}

/// Makes SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU and SIGXFSZ drain every stream before they end
/// the process, as they would have ended it. Signals that the program handles or ignores stay unchanged. If the program
/// installs a handler later, the signal is the program's, also where its handler calls the one that it has replaced.
///
/// The handler only wakes a thread, which drains for as long as the readers take bytes at least every 200 ms; a second
/// signal ends the process at once. Process 1, which the system does not end by a signal, exits with 128 + the signal's
/// number. A forked child does not have the thread: there the handler drains as [`fatal_faults`] does, and ends the
/// process.
///
/// # Errors
///
/// That the thread cannot be started; no signal's action is changed then. [`Unsupported`](io::ErrorKind::Unsupported)
/// where there are no signals.
///
/// ```
/// if let Err(error) = outpace::init::signals() {
///     eprintln!("Ctrl-C may lose output: {error}");
/// }
/// ```
pub fn signals() -> io::Result<()> {
    imp::signals()
}

/// Makes a closed pipe an error of the write, so that outpace can drain the other streams before it ends the process as
/// SIGPIPE would, or return the error. Rust programs start that way; programs with a `main` of C, or that reset
/// SIGPIPE, do not. Leaves SIGPIPE unchanged if the program ignores or handles it. Programs started from here get the
/// default back. Does nothing on systems without SIGPIPE.
///
/// ```
/// outpace::init::broken_pipe();
/// ```
pub fn broken_pipe() {
    imp::broken_pipe();
}

/// Makes SIGABRT (which `abort` raises), SIGSEGV, SIGBUS, SIGFPE and SIGILL write the pending bytes of the standard streams,
/// before their previous action; SIGTRAP and SIGSYS, too, unless the program handles or ignores them.
///
/// The handler writes only when no drain is in progress and the stream is not in mid-update, and gives up on a reader
/// that has taken no bytes for 200 ms: it never hangs. Then the previous action follows, such as Rust's report of a
/// stack overflow. The handler runs once: a program that continues after such a signal continues without it.
///
/// Not part of [`init()`], because a program that has corrupted its memory may write corrupted output.
///
/// # Errors
///
/// That the system refused a handler; [`Unsupported`](io::ErrorKind::Unsupported) where there are no signals.
///
/// ```
/// if let Err(error) = outpace::init::fatal_faults() {
///     eprintln!("a crash may lose output: {error}");
/// }
/// ```
pub fn fatal_faults() -> io::Result<()> {
    imp::fatal_faults()
}

#[cfg(all(unix, not(outpace_portable)))]
mod imp {
    #![allow(unsafe_code)]

    use crate::stream::lifecycle::main_thread;
    use crate::stream::patience::Patience;
    use crate::stream::registry::{for_each_stream, standard_streams};
    use crate::stream::settings::LAST_WORDS;
    use crate::sys::{self, signal};
    use std::cell::UnsafeCell;
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    /// The signals that ask a process to end, or that end one at a limit. The others that do so by default are profilers' (SIGPROF,
    /// SIGVTALRM), and collectors' of memory (SIGPWR): these take a handler of ours for a rival's.
    const ENDING: [c_int; 9] = [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGHUP,
        libc::SIGQUIT,
        libc::SIGALRM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGXCPU,
        libc::SIGXFSZ,
    ];

    /// The first of [`ENDING`] that has come, or 0.
    static CAME: AtomicI32 = AtomicI32::new(0);
    static BELL: signal::Bell = signal::Bell::new();
    /// The process that the helper thread is in, or 0.
    static HELPER_OF: AtomicU32 = AtomicU32::new(0);

    pub(super) fn signals() -> io::Result<()> {
        static STARTING: Mutex<()> = Mutex::new(());
        let starting = STARTING.lock();
        if HELPER_OF.load(Ordering::SeqCst) != signal::process() {
            BELL.prepare()?;
            main_thread::at_end(|| BELL.ring());
            // Before the thread begins, which resets it when it ends. A signal until then rings the bell.
            HELPER_OF.store(signal::process(), Ordering::SeqCst);
            sys::spawn(c"outpace-signals", wait_for_a_signal)
                .inspect_err(|_| HELPER_OF.store(0, Ordering::SeqCst))?;
        }
        for signal in ENDING {
            if signal::Action::of(signal)?.is_default() {
                signal::Action::call(on_ending).install(signal)?;
            }
        }
        drop(starting);
        Ok(())
    }

    extern "C" fn on_ending(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
        signal::keeping_errno(|| {
            // Another handler has been installed since, which calls the one before it (signal-hook, tokio): the end is its decision.
            if signal::Action::of(signal).is_ok_and(|action| !action.calls(on_ending)) {
                return;
            }
            let first = CAME.compare_exchange(0, signal, Ordering::SeqCst, Ordering::Relaxed);
            let helped = HELPER_OF.load(Ordering::SeqCst) == signal::process();
            if helped && signal == libc::SIGXFSZ {
                BELL.ring();
                // Otherwise this thread's write fails, and the program goes on, while the helper drains.
                loop {
                    sys::pause();
                }
            }
            if first.is_ok() && helped {
                return BELL.ring();
            }
            if !helped {
                drain_in_handler();
            }
            signal::end_by(signal);
        });
    }

    fn wait_for_a_signal() {
        // The process must end by the signal that came: neither stop, nor wait for itself in the handler.
        signal::write_without_signals();
        loop {
            let ends = main_thread::has_ended();
            if ends {
                // From now on the handler drains. A signal that came before has rung the bell only, and is seen below.
                HELPER_OF.store(0, Ordering::SeqCst);
            }
            let signal = CAME.load(Ordering::SeqCst);
            if signal != 0 {
                for_each_stream(&mut |engine| engine.drain_all(Patience::Stalled(LAST_WORDS)));
                signal::end_by(signal);
            }
            if ends {
                return;
            }
            BELL.wait();
        }
    }

    pub(super) fn broken_pipe() {
        extern "C" fn ignore(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {}

        let is_default = signal::Action::of(libc::SIGPIPE).is_ok_and(|action| action.is_default());
        if is_default {
            // A handler and not `SIG_IGN`, which an `exec` would pass on. Cannot fail: SIGPIPE may be handled.
            let _ = signal::Action::call(ignore).install(libc::SIGPIPE);
        }
    }

    /// Makes the `abort` of a panic drain. Any other does not: a program that has corrupted its memory may write corrupted output.
    pub(super) fn panics_that_abort() {
        extern "C" fn on_abort(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
            if std::thread::panicking() {
                drain_in_handler();
            }
            signal::end_by(signal);
        }

        let is_default = signal::Action::of(libc::SIGABRT).is_ok_and(|action| action.is_default());
        if is_default {
            // Cannot fail: SIGABRT may be handled.
            let _ = signal::Action::call(on_abort).install(libc::SIGABRT);
        }
    }

    /// The signals of a process that cannot continue.
    const FATAL: [c_int; 7] = [
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
    ];

    /// Whether the program continues behind the instruction that caused the signal: a breakpoint, or a refused system call. Raised
    /// again, the signal no longer tells of the call, as a handler of the program's may need: so such a handler keeps it.
    fn is_past(signal: c_int) -> bool {
        matches!(signal, libc::SIGTRAP | libc::SIGSYS)
    }

    /// The previous actions of the signals of [`FATAL`].
    struct Previous(UnsafeCell<[Option<signal::Action>; FATAL.len()]>);

    // SAFETY: an entry is written once, before the handler that reads it is installed.
    unsafe impl Sync for Previous {}

    static PREVIOUS: Previous = Previous(UnsafeCell::new([None; FATAL.len()]));

    pub(super) fn fatal_faults() -> io::Result<()> {
        static INSTALLED: Mutex<bool> = Mutex::new(false);
        let mut installed = INSTALLED
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if !*installed {
            for (index, signal) in FATAL.into_iter().enumerate() {
                let before = signal::Action::of(signal)?;
                if is_past(signal) && !before.is_default() {
                    continue;
                }
                // SAFETY: no thread reads the entry before the next line, nor writes it after.
                unsafe { (*PREVIOUS.0.get())[index] = Some(before) };
                signal::Action::call(on_fatal).install(signal)?;
            }
            *installed = true;
        }
        Ok(())
    }

    extern "C" fn on_fatal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        signal::keeping_errno(|| {
            drain_in_handler();
            // All of them: Rust's report of a stack overflow ends in `abort`, and has no stack to spare.
            for (index, signal) in FATAL.into_iter().enumerate() {
                let is_ours = signal::Action::of(signal).is_ok_and(|action| action.calls(on_fatal));
                // SAFETY: written before this handler was installed, and never after.
                let before = unsafe { (*PREVIOUS.0.get())[index] };
                if let (true, Some(before)) = (is_ours, before) {
                    let _ = before.install(signal);
                }
            }
            // SAFETY: the handler's argument.
            let was_sent = unsafe { signal::was_sent(info) };
            // The instruction runs again otherwise, and raises it again.
            if was_sent || is_past(signal) {
                signal::raise(signal);
            }
        });
    }

    /// Writes pending bytes of the standard streams, from a signal handler.
    fn drain_in_handler() {
        for engine in standard_streams() {
            engine.drain_in_handler(LAST_WORDS);
        }
    }
}

#[cfg(not(all(unix, not(outpace_portable))))]
mod imp {
    use std::io;

    #[cfg(windows)]
    pub(super) fn signals() -> io::Result<()> {
        use crate::stream::{patience::Patience, registry::for_each_stream, settings::LAST_WORDS};
        crate::sys::at_console_event(|| {
            for_each_stream(&mut |engine| engine.drain_all(Patience::Stalled(LAST_WORDS)));
        })
    }

    #[cfg(not(windows))]
    pub(super) fn signals() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn broken_pipe() {}

    pub(super) fn panics_that_abort() {}

    pub(super) fn fatal_faults() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
