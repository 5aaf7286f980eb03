//! Output that survives panics and signals, for programs that ask for it: a library must not impose it.
//!
//! At `exit` and on return from `main` every stream is drained without any of this. A program asks for all of
//! the parts by [`init()`], or for each by itself:
//!
//! | part | what it does | in `init()` |
//! |---|---|---|
//! | [`panic_hook`] | what was printed appears before the panic message | yes |
//! | [`signals`] | SIGINT, SIGTERM, SIGHUP and SIGQUIT drain before they end the process | yes |
//! | [`broken_pipe`] | a closed pipe is an answer to a write, and not the end before it | yes |
//! | [`fatal_faults`] | SIGSEGV, `abort` and their like drain, if the stream allows it | no |
//!
//! [`endings`](crate::endings) tells what arrives at each end, with and without them.
//!
//! ```
//! outpace::init(); // first in `main`
//! ```
//!
//! Outside Unix, and on the portable path, there is the panic hook alone; the others do nothing there, and
//! say so where they can.

use crate::stream::patience::Patience;
use crate::stream::registry::standard_streams;
use crate::stream::settings::{LAST_WORDS, report};
use std::io;
use std::sync::Once;
use std::{panic, thread};

/// Installs the [`panic_hook`], the [`signals`] and the [`broken_pipe`] part: see the
/// [module](self). May be called more than once.
///
/// It is best called first in `main`: before the program installs handlers of its own, which are then
/// left alone, and before it starts threads.
///
/// If the helper thread of the signals cannot be started, that is reported on standard error, and they
/// end the process as they would without it.
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

/// Drains standard output and error before a panic message is printed, so that it comes after the output
/// that it is about. Then calls the hook that was there before.
///
/// A reader that has not moved for 200 ms is not waited for. Called by a panicking thread, it does
/// nothing.
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
    });
}

/// Has SIGINT, SIGTERM, SIGHUP and SIGQUIT drain every stream before they end the process, as they
/// would have ended it. Those for which the program has a handler, or which it ignores, are left
/// alone.
///
/// The handler only wakes a thread, which drains for as long as the readers take something every
/// 200 ms; a second signal ends the process at once. Process 1, which the system does not end by a
/// signal, exits with 128 + the signal's number. A forked child has no such thread: there these
/// signals drain what they can as [`fatal_faults`] does, and end the process.
///
/// # Errors
///
/// That the thread cannot be started. Nothing is changed then. [`Unsupported`](io::ErrorKind::Unsupported)
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

/// Makes a closed pipe an answer to a write, so that outpace can drain the other streams before it
/// ends the process as SIGPIPE would, or report the error to the caller that wants it. Rust programs start
/// that way; those with a `main` of C, or that reset SIGPIPE, do not. A SIGPIPE that is ignored or
/// handled already is left alone, and programs that are started from here get the default back. Does nothing
/// where there is no SIGPIPE.
///
/// ```
/// outpace::init::broken_pipe();
/// ```
pub fn broken_pipe() {
    imp::broken_pipe();
}

/// Has SIGABRT (which `abort` raises), SIGSEGV, SIGBUS, SIGFPE and SIGILL write what the standard
/// streams have pending, before they do what they would have done.
///
/// The handler writes only when no drain is in progress and the stream is not in mid-update, and gives
/// up on a reader that has not moved for 200 ms: it never hangs. Then the previous reaction to the
/// signal follows, such as Rust's report of a stack overflow. All of this happens once: a program that goes on after such a
/// signal goes on without it.
///
/// A part of its own, because a program that has corrupted its memory may write nonsense, too.
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

    use crate::stream::patience::Patience;
    use crate::stream::registry::{for_each_stream, standard_streams};
    use crate::stream::settings::LAST_WORDS;
    use crate::sys::{self, signal};
    use std::cell::UnsafeCell;
    use std::ffi::{c_int, c_void};
    use std::io;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    /// The signals that ask a process to end.
    const ENDING: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

    /// The first of [`ENDING`] that has come, or 0.
    static CAME: AtomicI32 = AtomicI32::new(0);
    static BELL: signal::Bell = signal::Bell::new();
    /// The process that the helper thread is in, or 0.
    static HELPER_OF: AtomicU32 = AtomicU32::new(0);

    pub(super) fn signals() -> io::Result<()> {
        static STARTING: Mutex<()> = Mutex::new(());
        let starting = STARTING.lock();
        if HELPER_OF.load(Ordering::Acquire) != signal::process() {
            BELL.prepare()?;
            sys::spawn(c"outpace-signals", wait_for_a_signal)?;
            HELPER_OF.store(signal::process(), Ordering::Release);
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
            let first = CAME.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed);
            let helped = HELPER_OF.load(Ordering::Acquire) == signal::process();
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
        // A process that is to end is not stopped instead.
        signal::write_from_background();
        loop {
            BELL.wait();
            let signal = CAME.load(Ordering::Acquire);
            if signal != 0 {
                for_each_stream(&mut |engine| engine.drain_all(Patience::Stalled(LAST_WORDS)));
                signal::end_by(signal);
            }
        }
    }

    pub(super) fn broken_pipe() {
        extern "C" fn nothing(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {}

        let is_default = signal::Action::of(libc::SIGPIPE).is_ok_and(|action| action.is_default());
        if is_default {
            // A handler and not `SIG_IGN`, which an `exec` would pass on. It cannot fail: SIGPIPE is a
            // signal and may be handled.
            let _ = signal::Action::call(nothing).install(libc::SIGPIPE);
        }
    }

    /// The signals of a process that cannot go on.
    const FATAL: [c_int; 5] = [
        libc::SIGABRT,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
    ];

    /// What was done about the signals of [`FATAL`] before.
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
            // Else the instruction is run again, and fails again.
            // SAFETY: what the handler was given.
            if unsafe { signal::was_sent(info) } {
                signal::raise(signal);
            }
        });
    }

    /// Writes what the standard streams have pending, from a signal handler.
    fn drain_in_handler() {
        for engine in standard_streams() {
            engine.drain_in_handler(LAST_WORDS);
        }
    }
}

#[cfg(not(all(unix, not(outpace_portable))))]
mod imp {
    use std::io;

    pub(super) fn signals() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn broken_pipe() {}

    pub(super) fn fatal_faults() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
