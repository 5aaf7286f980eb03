//! What people see: tables, bars, progress, and the same in Markdown and HTML.

pub(crate) mod block;
mod chart;
mod charts;
pub(crate) mod columns;
pub(crate) mod comparison;
mod drawing;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod summary;
pub(crate) mod table;
