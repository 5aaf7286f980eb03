//! What the kernel tells of other processes, and the system calls that ask it.

pub(crate) mod calls;
pub(crate) mod doing;
pub(crate) mod memory;
pub(crate) mod sys;
