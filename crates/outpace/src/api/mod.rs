//! The public interface: handles, guards, messages, macros, and optional parts.

pub(crate) mod capture;
pub(crate) mod command;
pub mod endings {
    #![doc = "The output that arrives, for each way in which a process ends."]
    #![doc = ""]
    #![doc = include_str!("../../docs/endings.md")]
}
#[doc(hidden)]
pub mod ffi;
pub(crate) mod guard;
pub(crate) mod handles;
pub mod init;
mod interop;
mod macros;
pub(crate) mod message;
pub(crate) mod print;
pub mod raw;
pub mod sandboxes {
    #![doc = "The system calls that a filter has to allow."]
    #![doc = ""]
    #![doc = include_str!("../../docs/sandboxes.md")]
}
mod send;
pub(crate) mod share;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(feature = "tracing")]
pub mod tracing;
pub(crate) mod unflushed;
pub(crate) mod write;
