//! What people see: tables, bars, progress, and the same in Markdown and HTML.

pub(crate) mod block;
pub(crate) mod columns;
pub(crate) mod comparison;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod summary;
pub(crate) mod table;
