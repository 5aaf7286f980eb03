//! A stream: a queue of bytes with a drain.
//!
//! TOUR

mod append;
pub(crate) mod background;
mod buffer;
pub(crate) mod buffering;
pub(crate) mod cursor;
pub(crate) mod drain;
pub(crate) mod engine;
mod exit;
pub(crate) mod gap;
mod helper;
pub(crate) mod hot;
mod lines;
mod overflow;
pub(crate) mod policy;
pub(crate) mod registry;
pub(crate) mod settings;
mod spill;
mod state_guard;
#[cfg(feature = "tokio")]
pub(crate) mod tasks;
