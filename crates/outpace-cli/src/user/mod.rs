//! Talking with the user, for all commands: words for quantities, errors, the screen, results.

pub(crate) mod action;
pub(crate) mod failure;
pub(crate) mod inert;
pub(crate) mod names;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod screen;
