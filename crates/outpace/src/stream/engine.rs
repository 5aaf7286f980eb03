//! A stream as threads share it: the cursor, the guard's lock, the state, and the conditions to wait for.
//!
//! The guard's holder appends messages to the *tail* buffer and publishes them through the [`cursor`](super::cursor).
//! The tail may have *closed* segments before it. A drain takes published bytes only, oldest first; one drain runs at a
//! time, and none needs the guard. All decisions that not every message needs are made with the [state](super::state)
//! locked. It is never locked across a system call that can wait.
//!
//! Lock order: guard, then state of stdout, then state of stderr, then the registry, then states of other streams.

use super::buffering::Buffering;
use super::cursor::SharedCursor;
use super::state::{Role, State};
#[cfg(feature = "tokio")]
use super::wakers::Tasks;
use crate::sync::lock::Lock;
use crate::sync::mutex::{Condition, Mutex};
use crate::sys::Output;
use std::sync::Weak;

#[repr(C)]
pub(crate) struct Engine {
    // First, and together, because each message touches them.
    pub(crate) cursor: SharedCursor,
    pub(crate) lock: Lock,
    pub(super) state: Mutex<State>,
    /// A drain has made progress, or ended.
    pub(super) progress: Condition,
    /// The helper has work.
    pub(super) wake: Condition,
    /// The thread that spills has work.
    pub(super) spilled: Condition,
    #[cfg(feature = "tokio")]
    pub(super) tasks: Tasks,
    pub(crate) output: Output,
    pub(crate) role: Role,
    /// `None` for the standard streams, which are never dropped.
    pub(super) this: Option<Weak<Engine>>,
}

pub(crate) static STDOUT: Engine = Engine::new(Role::Stdout, Output::STDOUT, None);
pub(crate) static STDERR: Engine = Engine::new(Role::Stderr, Output::STDERR, None);

impl Engine {
    pub(crate) const fn new(role: Role, output: Output, chosen: Option<Buffering>) -> Self {
        Engine {
            cursor: SharedCursor::new(),
            lock: Lock::new(),
            state: Mutex::new(State::new(role, chosen)),
            progress: Condition::new(),
            wake: Condition::new(),
            spilled: Condition::new(),
            #[cfg(feature = "tokio")]
            tasks: Tasks::new(),
            output,
            role,
            this: None,
        }
    }
}
