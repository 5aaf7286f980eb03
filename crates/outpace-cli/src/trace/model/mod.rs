//! The terms of a trace: streams and their destinations, their writes, the languages of programs, times.

pub(crate) mod findings;
pub(crate) mod interval;
pub(crate) mod language;
pub(crate) mod tally;
pub(crate) mod target;
pub(crate) mod timeline;

pub(crate) use findings::{
    Descriptors, Elsewhere, Findings, Mode, Recording, Stack, Stream, Unseen,
};
pub(crate) use interval::Interval;
pub(crate) use language::Language;
pub(crate) use tally::{Buffering, CallTally, FEWEST, Log2Histogram};
pub(crate) use target::{Kind, Target};
pub(crate) use timeline::{CallSpan, FREQUENCY, Frame, MOST_SPANS, Sample, Timeline};
