//! Results as people see them: tables and charts, on a screen, in Markdown and in HTML.

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
