//! The life of a stream and of the process: opening and closing, errors, exit, `fork`, a closed pipe.
#![allow(unsafe_code)]

use super::buffering::Buffering;
use super::engine::Engine;
use super::overflow;
use super::patience::Patience;
use super::registry::{for_each_stream, register};
use super::settings::{LAST_WORDS, report, report_bytes};
use super::state::{Failure, Role};
use crate::sync::thread::thread_id;
use crate::sys::{self, Output};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The state is never locked for so long, unless `exit` was called in a signal handler that interrupted the thread
/// which has it locked: that thread would wait for itself.
const OWN_LOCK: Duration = Duration::from_secs(1);

/// Registers the exit drain, once, at the first use of a stream.
#[inline]
pub(crate) fn install() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);

    #[cold]
    #[inline(never)]
    fn install_now() {
        // Before the store, so that a thread that sees `INSTALLED` can rely on it. Two threads may both register it:
        // the second drain finds no bytes.
        sys::at_exit(at_exit);
        INSTALLED.store(true, Ordering::Release);
    }

    if !INSTALLED.load(Ordering::Acquire) {
        install_now();
    }
}

/// Drains every stream for as long as its reader lives; later messages are written at once.
fn at_exit(status: Option<i32>) {
    let mut broken = false;
    let mut failed = false;
    for_each_stream(&mut |engine| match engine.end() {
        End::Well => {}
        End::Broken => broken = true,
        End::Failed => failed = true,
    });
    if broken {
        sys::end_by_sigpipe();
    }
    if failed && status.unwrap_or(0) == 0 {
        sys::exit_with(1);
    }
}

/// The result of a stream's exit drain.
enum End {
    Well,
    /// The reader has gone, and the process is to end because of it.
    Broken,
    Failed,
}

impl Engine {
    /// A new stream, which the exit drain includes.
    pub(crate) fn shared(output: Output, buffering: Buffering) -> Arc<Self> {
        let engine = Arc::new_cyclic(|this: &Weak<Engine>| Engine {
            this: Some(this.clone()),
            ..Engine::new(Role::Other, output, Some(buffering))
        });
        overflow::link();
        install();
        register(&engine);
        engine
    }

    /// `Ok` if `intact`, else the error that made the stream fail.
    #[inline(always)]
    pub(crate) fn result(&self, intact: bool) -> io::Result<()> {
        match intact {
            true => Ok(()),
            false => Err(self.error().into()),
        }
    }

    /// The error that made the stream fail, for a caller whose message was not accepted. Another thread may have
    /// cleared it since; the message is lost anyway.
    #[cold]
    pub(crate) fn error(&self) -> sys::OsError {
        let mut state = self.lock_state();
        state.report_failure().err().unwrap_or(state.last_error)
    }

    /// Ends the process quietly if the pipe is closed and the stream is set to that: for callers that cannot return an
    /// error. `flush` and the exit report other errors.
    #[cold]
    pub(crate) fn end_if_reader_gone(&self) {
        let ends = self
            .lock_state()
            .failure
            .as_ref()
            .is_some_and(Failure::ends_process);
        if ends {
            end_by_broken_pipe(self);
        }
    }

    /// Drains, then never writes to the descriptor again.
    pub(crate) fn close(&self) -> io::Result<()> {
        let result = self.flush();
        let mut state = self.lock_state();
        state.closed_for_good = true;
        // A drain in progress must not write to another file under the same number.
        while state.drainer != 0 && state.drainer != thread_id() {
            state = self.wait(state, None);
        }
        self.cursor.close();
        self.dismiss_workers(&mut state);
        result
    }

    /// In the child of a fork: the parent writes its pending bytes itself.
    #[cfg(all(unix, not(outpace_portable)))]
    pub(crate) fn reset_after_fork(&self, state: &mut super::state::State) {
        state.forget_closed();
        self.forget_spill_after_fork(state);
        self.pass_over_published(state);
        state.looked = state.tail.drained;
        state.drainer = 0;
        state.joined = 0;
        state.threads_wait = false;
        state.marking = false;
        state.given_up_at = None;
        state.helper.reset_after_fork();
        self.cursor.reset_after_fork();
        self.lock.reset_after_fork(thread_id());
        for condition in [&self.progress, &self.wake, &self.spilled] {
            condition.reset_after_fork();
        }
        #[cfg(feature = "tokio")]
        self.tasks.reset_after_fork();
        super::hot::forget_slot();
    }

    fn end(&self) -> End {
        // Published bytes need no guard: does not wait for one that is held or leaked.
        let Some(mut state) = self.lock_state_within(OWN_LOCK) else {
            // Allocates no memory, because the interrupted code may have been allocating.
            let message: &[u8] = match self.role {
                Role::Stdout => {
                    b"outpace: stdout: not drained: exit was called in the middle of its work\n"
                }
                Role::Stderr => {
                    b"outpace: stderr: not drained: exit was called in the middle of its work\n"
                }
                Role::Other => {
                    b"outpace: stream: not drained: exit was called in the middle of its work\n"
                }
            };
            report_bytes(message);
            return End::Failed;
        };
        // Where messages may be dropped, a stalled reader does not hold up the exit.
        let patience = if state.drops() {
            Patience::Stalled(state.exit_timeout)
        } else {
            Patience::Forever
        };
        for last in [false, true] {
            if last {
                state.exiting = true;
                self.cursor.close_at_once();
            }
            let all = self.accepted(&state);
            state = self.drain(state, all, patience);
        }
        let lost = self.accepted(&state) - state.drained;
        if lost > 0 && state.drops() {
            self.report_lost(&mut state, lost);
        }
        let Some(failure) = state.failure.as_mut().filter(|failure| !failure.reported) else {
            return End::Well;
        };
        failure.reported = true;
        if failure.ends_process() {
            return End::Broken;
        }
        if self.role == Role::Other && failure.error.is_broken_pipe() {
            return End::Well;
        }
        let error = failure.error;
        drop(state);
        report(format_args!("{}: {error}", self.role.name()));
        End::Failed
    }
}

/// Drains the other streams and ends the process as SIGPIPE would.
pub(crate) fn end_by_broken_pipe(broken: &Engine) -> ! {
    for_each_stream(&mut |engine| {
        if !std::ptr::eq(engine, broken) {
            engine.drain_all(Patience::Stalled(LAST_WORDS));
        }
    });
    sys::end_by_sigpipe()
}

/// A program's main thread may end before the others, by pthread_exit(3); the process ends with the last thread. So from then on a
/// thread of ours that has no work ends, too.
#[cfg(all(unix, not(outpace_portable)))]
pub(crate) mod main_thread {
    use crate::stream::registry::for_each_stream;
    use crate::sys;
    use std::ffi::c_void;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    static WAKE: OnceLock<fn()> = OnceLock::new();

    pub(crate) fn has_ended() -> bool {
        HAS_ENDED.load(Ordering::Acquire)
    }

    /// Calls `wake` when the main thread has ended: for a thread that belongs to no stream.
    pub(crate) fn at_end(wake: fn()) {
        let _ = WAKE.set(wake);
    }

    /// Called before `main`, or where the object is loaded later, by any thread.
    pub(super) fn watch() {
        #[cfg(target_os = "linux")]
        if sys::task() != std::process::id() {
            return;
        }
        sys::at_end_of_this_thread(ended);
    }

    /// The thread that has forked is the main thread of the child.
    pub(super) fn watch_after_fork() {
        HAS_ENDED.store(false, Ordering::Release);
        watch();
    }

    unsafe extern "C" fn ended(_: *mut c_void) {
        HAS_ENDED.store(true, Ordering::Release);
        for_each_stream(&mut |engine| {
            // A worker looks at `HAS_ENDED` with the state locked, and then sleeps.
            drop(engine.lock_state());
            engine.wake.notify_all();
            engine.spilled.notify_all();
        });
        if let Some(wake) = WAKE.get() {
            wake();
        }
    }

    /// Before the code of `ended` is unloaded.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_term_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".fini_array"))]
    static AT_UNLOAD: extern "C" fn() = at_unload;

    extern "C" fn at_unload() {
        sys::forget_end_of_thread();
    }
}

/// The forking thread keeps the state of every stream locked across the fork, so that the child finds it consistent.
#[cfg(all(unix, not(outpace_portable)))]
mod fork {
    use crate::stream::engine::Engine;
    use crate::stream::patience::Patience;
    use crate::stream::registry::{for_each_stream, hold_each, release_each};
    use crate::stream::state::Mode;
    use crate::sys;

    /// Registered before `main`: the first use of a stream would be too late for a fork that another thread has begun.
    #[used]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,__mod_init_func")
    )]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static AT_START: extern "C" fn() = at_start;

    extern "C" fn at_start() {
        sys::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
        super::main_thread::watch();
    }

    extern "C" fn before_fork() {
        for_each_stream(&mut Engine::drain_before_fork);
        hold_each(&mut |engine| std::mem::forget(engine.lock_state()));
    }

    impl Engine {
        /// Writes everything printed before a fork. So it comes before the child's output, and is not lost if the
        /// parent calls `_exit`, as in `daemon(3)`.
        fn drain_before_fork(&self) {
            let state = self.lock_state();
            let all = self.accepted(&state);
            // Programs may fork often: after one fork has given up on a reader, others do not wait for it until it has
            // read something.
            let given_up = state.given_up_at == Some(state.drained);
            if given_up && state.drainer != 0 {
                return;
            }
            let mut state = self.drain(state, all, Patience::None);
            // Pending bytes of an unbuffered stream belong to a message that another thread is writing.
            let is_unbuffered = state.mode == Mode::Unbuffered || state.exiting;
            let done = state.drained >= all || state.failure.is_some();
            if done || given_up || is_unbuffered {
                return;
            }
            let patience = Patience::Stalled(state.exit_timeout);
            state = self.drain(state, all, patience);
            state.given_up_at = (state.drained < all).then_some(state.drained);
        }
    }

    extern "C" fn after_fork_in_parent() {
        // SAFETY: locked before the fork, by this thread.
        release_each(&mut |engine| drop(unsafe { engine.locked_state() }));
    }

    extern "C" fn after_fork_in_child() {
        #[cfg(target_os = "linux")]
        crate::sync::barrier::forget_after_fork();
        release_each(&mut |engine| {
            // SAFETY: locked before the fork, by this thread.
            let mut state = unsafe { engine.locked_state() };
            engine.reset_after_fork(&mut state);
        });
        super::main_thread::watch_after_fork();
    }
}
