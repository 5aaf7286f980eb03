//! Signals to this program while a child runs. They are only noted: this program then restores everything and reports.
#![allow(unsafe_code)]

use super::{signals, waker};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A bit for each that has arrived, and one for each that was sent by a process, and not by a terminal to all of its foreground job.
static PENDING: AtomicU64 = AtomicU64::new(0);
static SENT: AtomicU64 = AtomicU64::new(0);
/// The last interruption, taken or not.
static LAST: AtomicI32 = AtomicI32::new(0);

const INTERRUPTIONS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// They are numbered from 1 to 64.
const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

extern "C" fn remember(signal: libc::c_int, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the kernel passes a valid structure to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } <= 0 {
        SENT.fetch_or(bit(signal), Ordering::Relaxed);
    }
    PENDING.fetch_or(bit(signal), Ordering::Release);
    if INTERRUPTIONS.contains(&signal) {
        LAST.store(signal, Ordering::Relaxed);
    }
}

/// From now on SIGINT, SIGQUIT, SIGTERM and SIGHUP are remembered, and interrupt a waiting call. Those that are ignored (by
/// `nohup`, say) stay ignored, and a child gets the default back at its `exec`. If this program has a child, the same is so of others that
/// are [passed on](end_watching) to it, and when the terminal stops both, this program [stops with](stop_with) its child, not before.
pub(crate) fn install(has_child: bool) {
    // `sleep` waits for the blocked SIGCHLD, and a stop ends with a SIGCONT.
    signals::block(&[libc::SIGCHLD, libc::SIGCONT]);
    signals::tell_of_children();
    remember_from_now_on(&INTERRUPTIONS, 0);
    if has_child {
        remember_from_now_on(&[libc::SIGTSTP], 0);
        remember_from_now_on(&signals::passed_on(), 0);
    }
}

/// The same for a program that asks [`came`] now and then: a waiting call goes on.
pub(crate) fn watch() {
    signals::tell_of_children();
    remember_from_now_on(&INTERRUPTIONS, libc::SA_RESTART);
}

/// Lets [`sleep`] hear of children in a program that only [watches](watch), until this is dropped. A child that is started meanwhile
/// needs [`signals::pass_on_to`].
pub(crate) fn hear_of_children() -> signals::Blocked {
    signals::Blocked::begin(&[libc::SIGCHLD])
}

/// Stops this program as its child was stopped, and passes on what came meanwhile. Returns whether the child has to be continued.
pub(crate) fn stop_with(child: i32, signal: i32) -> bool {
    let is_continued = waker::stop_with(child, signal);
    // The kernel, too, drops it when a process is continued.
    PENDING.fetch_and(!bit(libc::SIGTSTP), Ordering::Relaxed);
    remember_from_now_on(&[libc::SIGTSTP], 0);
    end_watching(child, true);
    is_continued
}

fn remember_from_now_on(signals: &[i32], flags: libc::c_int) {
    for &signal in signals {
        // SAFETY: the handler only stores to atomics; the structures are plain numbers for which
        // zeroes are valid.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction != libc::SIG_IGN {
                let mut ours: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = remember as *const () as usize;
                ours.sa_flags = flags | libc::SA_SIGINFO;
                libc::sigaction(signal, &raw const ours, std::ptr::null_mut());
            }
        }
    }
}

/// Whether a signal that has arrived since the last call ends the watching of a process. It does not if the process is a child of ours:
/// the child gets the signal, unless the terminal has sent it to the child as well, and may end by it.
pub(crate) fn end_watching(process: i32, is_child: bool) -> bool {
    let pending = PENDING.swap(0, Ordering::Acquire);
    // Those that arrive from now on have theirs still when they are taken.
    let sent = SENT.fetch_and(!pending, Ordering::Relaxed);
    for signal in (1..=64).filter(|&signal| is_child && pending & bit(signal) != 0) {
        // An alarm that was set before this program was started is for its program, too.
        let is_for_it = matches!(signal, libc::SIGTERM | libc::SIGHUP | libc::SIGALRM);
        if is_for_it || sent & bit(signal) != 0 {
            signals::send(process, signal);
        }
    }
    pending != 0 && !is_child
}

/// Whether one has ever arrived.
pub(crate) fn came() -> bool {
    LAST.load(Ordering::Relaxed) != 0
}

/// Notes one that a child noticed first.
pub(crate) fn note(signal: i32) {
    LAST.store(signal, Ordering::Relaxed);
}

/// The exit status after an interruption, as shells have it: 128 and the signal's number.
pub(crate) fn status() -> ExitCode {
    ExitCode::from(128 + LAST.load(Ordering::Relaxed) as u8)
}

/// Sleeps for a time, or until a signal has arrived; returns whether the whole time has passed. Works in any thread, since
/// the kernel may choose another for the handler.
pub(crate) fn pause(time: Duration) -> bool {
    pause_unless(time, || false)
}

/// The same, or until a condition holds.
pub(crate) fn pause_unless(time: Duration, is_over: impl Fn() -> bool) -> bool {
    const STEP: Duration = Duration::from_millis(2);
    let until = Instant::now() + time;
    while !came() && !is_over() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(STEP));
    }
    false
}

/// Sleeps for a while, or until a child ends or a signal arrives; returns whether a child has ended. Without [`install`] or
/// [`hear_of_children`] it would not hear of any.
pub(crate) fn sleep(pause: Duration) -> bool {
    debug_assert!(signals::is_blocked(libc::SIGCHLD));
    let pause = libc::timespec {
        tv_sec: pause.as_secs() as _,
        tv_nsec: pause.subsec_nanos().into(),
    };
    let child_ended = signals::set_of(&[libc::SIGCHLD]);
    let nothing = std::ptr::null_mut();
    // SAFETY: the structures are valid for the call.
    unsafe {
        libc::sigtimedwait(&raw const child_ended, nothing, &raw const pause) == libc::SIGCHLD
    }
}
