//! Output that does not slow the program down.

pub mod text;

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

mod macros;
