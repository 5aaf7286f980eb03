//! A stream: a queue of bytes with a drain.
//!
//! A message comes in by the [hot path](hot) or by [`append`]. The [`policy`] decides the next step. Bytes go out in
//! [`drain`], on the caller's thread or on the [`helper`]'s. Each of these files has the stream's methods of its part.

mod append;
mod buffer;
pub(crate) mod buffering;
pub(crate) mod cursor;
mod drain;
pub(crate) mod engine;
pub(crate) mod gap;
mod helper;
pub(crate) mod hot;
mod join;
pub(crate) mod lifecycle;
mod lines;
mod overflow;
mod parts;
pub(crate) mod patience;
pub(crate) mod policy;
mod queue;
pub(crate) mod registry;
pub(crate) mod segment;
pub(crate) mod settings;
mod sharing;
mod spill;
pub(crate) mod state;
mod state_guard;
pub(crate) mod stats;
#[cfg(feature = "tokio")]
pub(crate) mod tasks;
#[cfg(feature = "tokio")]
mod wakers;
mod worker;
