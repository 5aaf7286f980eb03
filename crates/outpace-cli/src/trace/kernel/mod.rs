//! System calls and files that show what other processes do.

pub(crate) mod calls;
pub(crate) mod memory;
pub(crate) mod sys;

pub(crate) use calls::Call;
