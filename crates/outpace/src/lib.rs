//! Output that does not slow the program down.

pub mod text;
