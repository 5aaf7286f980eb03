//! `--exact`: every write call of the program and its descendants.
//!
//! Two mechanisms, the cheaper first: the kernel's system call tracepoints, read through
//! `perf_event_open(2)`; and `ptrace(2)` with a seccomp filter that stops the program at the calls of
//! the write family only. Both hand finished calls to a [`Ledger`].

pub(super) mod gate;
mod ledger;
pub(crate) mod ptrace;
pub(super) mod sys;
mod tails;
pub(crate) mod tracepoints;

pub(crate) use ledger::{Entry, Ledger};

use super::findings::Mode;
use crate::platform::ending::Ending;

/// How the watching ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) root: i32,
    pub(crate) mode: Mode,
    pub(crate) ending: Option<Ending>,
    /// From the program's start, or ours if it ran already, to its end.
    pub(crate) wall_ns: u64,
    /// How much of that the root was ready to run and had no processor, as far as the mechanism can tell.
    pub(crate) delayed_ns: u64,
    /// How long threads stood still at calls, because of us, all together.
    pub(crate) stopped_ns: u64,
}
