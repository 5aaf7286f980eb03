//! `--exact`: every write call of the program and its descendants.
//!
//! Two mechanisms, the cheaper first: the kernel's system call tracepoints, read through
//! `perf_event_open(2)`; and `ptrace(2)`, which stops the program at every call. Both hand calls to a [`Ledger`].

mod ledger;
pub(crate) mod ptrace;
mod tails;
pub(crate) mod tracepoints;

pub(crate) use ledger::{Ledger, LedgerEntry};
