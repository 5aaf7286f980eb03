//! The answer for people, for programs, and for the Firefox Profiler.

pub(crate) mod json;
pub(crate) mod profile;
pub(crate) mod report;
