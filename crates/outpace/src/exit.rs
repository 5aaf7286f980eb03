//! What happens to pending bytes at the edges of a process's life: at exit, around `fork`, and when
//! nobody reads any more.
#![allow(unsafe_code)]

use crate::background::Size;
use crate::drain::{Failure, Patience};
use crate::engine::{Engine, EngineRef, Role};
use crate::init::LAST_WORDS;
use crate::settings::report;
use crate::stream::{STDERR, STDOUT};
use crate::sys;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// Streams other than the standard ones. Locked before any stream's state.
static STREAMS: Mutex<Vec<Weak<Engine>>> = Mutex::new(Vec::new());

/// The state is never locked for so long. If it is, then by the thread that exits: in a signal handler, which
/// has interrupted it. Waiting for ourselves would be waiting for ever.
const OWN_LOCK: Duration = Duration::from_secs(1);

fn streams() -> MutexGuard<'static, Vec<Weak<Engine>>> {
    STREAMS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Adds a stream to those that are drained at exit.
pub(crate) fn register(engine: &Arc<Engine>) {
    install();
    let mut streams = streams();
    if streams.len() == streams.capacity() {
        streams.retain(|stream| stream.strong_count() > 0);
    }
    streams.push(Arc::downgrade(engine));
}

/// In lock order.
pub(crate) fn standard_streams() -> [&'static Engine; 2] {
    [&STDOUT, &STDERR]
}

pub(crate) fn all_streams() -> Vec<EngineRef> {
    with_standard_streams(&streams())
}

fn with_standard_streams(others: &[Weak<Engine>]) -> Vec<EngineRef> {
    let others = others.iter().filter_map(Weak::upgrade);
    standard_streams()
        .map(EngineRef::Static)
        .into_iter()
        .chain(others.map(EngineRef::Shared))
        .collect()
}

/// Arranges for the exit drain and the care around `fork`, once, at the first use of a stream.
#[inline]
pub(crate) fn install() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if !INSTALLED.load(Ordering::Relaxed) && !INSTALLED.swap(true, Ordering::Relaxed) {
        sys::at_exit(at_exit);
        sys::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

/// Drains every stream for as long as its reader lives; whatever comes later is written at once.
fn at_exit(status: Option<i32>) {
    let mut broken = false;
    let mut failed = false;
    for engine in all_streams() {
        // Published bytes need no guard, so a guard that is held or leaked is not waited for.
        let Some(state) = engine.lock_state_within(OWN_LOCK) else {
            continue;
        };
        // Where messages may be dropped anyway, a reader that stands still does not hold up the end.
        let patience = if state.drops() {
            Patience::Stalled(state.exit_timeout)
        } else {
            Patience::Forever
        };
        let all = engine.accepted(&state);
        let mut state = engine.drain(state, all, patience);
        state.exiting = true;
        engine.flow.close_and_look();
        let all = engine.accepted(&state);
        state = engine.drain(state, all, patience);
        let lost = engine.accepted(&state) - state.drained;
        if lost > 0 && state.drops() {
            let (name, lost) = (engine.role.name(), Size(lost));
            state.put_off.report(format!(
                "{name}: {lost} were not written: the reader stands still"
            ));
        }
        let Some(failure) = state.failure.as_mut().filter(|failure| !failure.told) else {
            continue;
        };
        failure.told = true;
        if failure.ends_process() {
            broken = true;
        } else if engine.role != Role::Other || !is_broken_pipe(failure) {
            failed = true;
            let error = failure.error();
            drop(state);
            report(&format!("{}: {error}", engine.role.name()));
        }
    }
    if broken {
        sys::end_by_sigpipe();
    }
    if failed && status.unwrap_or(0) == 0 {
        sys::exit_with(1);
    }
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure.error().kind() == std::io::ErrorKind::BrokenPipe
}

/// Ends the process as SIGPIPE would, after what other streams have pending.
pub(crate) fn end_by_broken_pipe(broken: &Engine) -> ! {
    for engine in all_streams() {
        if !std::ptr::eq(&*engine, broken) {
            engine.drain_all(Patience::Stalled(LAST_WORDS));
        }
    }
    sys::end_by_sigpipe()
}

#[cfg(all(unix, not(outpace_portable)))]
mod fork {
    use super::{EngineRef, STREAMS, all_streams, streams, with_standard_streams};
    use crate::barrier;
    use crate::drain::Patience;
    use crate::engine::Engine;
    use crate::locked::Locked;
    use std::cell::RefCell;
    use std::mem::{ManuallyDrop, transmute};
    use std::sync::{MutexGuard, Weak};

    /// The locks that the forking thread holds across the fork, so that the child finds everything
    /// in order.
    struct Held {
        states: Vec<(ManuallyDrop<Locked<'static>>, EngineRef)>,
        _streams: MutexGuard<'static, Vec<Weak<Engine>>>,
    }

    impl Drop for Held {
        fn drop(&mut self) {
            for (state, _core) in &mut self.states {
                // SAFETY: dropped here and nowhere else, and before the stream it borrows from.
                unsafe { ManuallyDrop::drop(state) };
            }
        }
    }

    thread_local!(static HELD: RefCell<Option<Held>> = const { RefCell::new(None) });

    pub(super) extern "C" fn before_fork() {
        let all = all_streams();
        // Bytes that can be written without waiting are written now: they then precede what the
        // child prints.
        for engine in &all {
            engine.drain_all(Patience::None);
        }
        drop(all);
        let streams = streams();
        let states = with_standard_streams(&streams)
            .into_iter()
            .map(|engine| {
                let state = engine.lock_state();
                // SAFETY: `engine` keeps the stream alive for as long as the lock, and `Held` drops
                // the lock first.
                let state = unsafe { transmute::<Locked<'_>, Locked<'static>>(state) };
                (ManuallyDrop::new(state), engine)
            })
            .collect();
        let held = Held {
            states,
            _streams: streams,
        };
        // A thread that forks while its thread-local storage is being torn down goes without.
        let _ = HELD.try_with(|cell| cell.replace(Some(held)));
    }

    pub(super) extern "C" fn after_fork_in_parent() {
        let _ = HELD.try_with(|cell| cell.replace(None));
    }

    pub(super) extern "C" fn after_fork_in_child() {
        let held = HELD.try_with(|cell| cell.replace(None)).ok().flatten();
        #[cfg(target_os = "linux")]
        barrier::forget_after_fork();
        if let Some(mut held) = held {
            for (state, engine) in &mut held.states {
                engine.reset_after_fork(state);
            }
        }
        debug_assert!(STREAMS.try_lock().is_ok());
    }
}
#[cfg(all(unix, not(outpace_portable)))]
use fork::{after_fork_in_child, after_fork_in_parent, before_fork};

#[cfg(not(all(unix, not(outpace_portable))))]
mod no_fork {
    pub(super) extern "C" fn before_fork() {}
    pub(super) extern "C" fn after_fork_in_parent() {}
    pub(super) extern "C" fn after_fork_in_child() {}
}
#[cfg(not(all(unix, not(outpace_portable))))]
use no_fork::{after_fork_in_child, after_fork_in_parent, before_fork};
