//! The terms of a trace: streams and their destinations, their writes, the languages of programs, times.

pub(crate) mod findings;
pub(crate) mod interval;
pub(crate) mod language;
pub(crate) mod tally;
pub(crate) mod target;
pub(crate) mod timeline;
