//! What people see: tables, bars, progress, and the same in Markdown and HTML.

pub(crate) mod block;
pub(crate) mod comparison;
mod frames;
pub(crate) mod html;
pub(crate) mod markdown;
mod requests;
pub(crate) mod table;
