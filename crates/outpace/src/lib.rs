//! Output that does not slow the program down.

mod append;
mod barrier;
mod buffer;
mod buffering;
mod drain;
mod engine;
mod exit;
mod flow;
mod flusher;
mod guard;
mod lock;
mod macros;
mod message;
mod policy;
pub mod raw;
mod settings;
mod stream;
mod sync;
mod sys;
pub mod text;

pub use buffering::{Buffering, Overflow, ParseBufferingError};
pub use guard::Guard;
pub use message::{Message, Reserved};
pub use stream::{BrokenPipe, Stats, Stderr, Stdout, Stream, stderr, stdout};

/// What the macros' expansions call. Not for use by anyone else: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::text::dispatch::{Formatted, arg};
    pub use crate::text::message::{Parcel, destination, eprint, format, print};
    pub use crate::text::spec::{Align, Spec};
    pub use core::format_args;
    pub use core::option::Option::{None, Some};
    pub use outpace_macros as macros;
    pub use std;
}
