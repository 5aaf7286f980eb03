//! The public interface: handles, guards, messages, macros, and what a program may opt into.

pub(crate) mod capture;
pub(crate) mod command;
pub mod endings {
    #![doc = "What arrives, however the process ends."]
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
    #![doc = "What a filter of system calls has to allow."]
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
