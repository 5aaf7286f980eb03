//! What people see: tables, bars, progress, and the same in Markdown.

pub(crate) mod comparison;
pub(crate) mod markdown;
pub(crate) mod progress;
pub(crate) mod quantity;
pub(crate) mod screen;
pub(crate) mod table;
