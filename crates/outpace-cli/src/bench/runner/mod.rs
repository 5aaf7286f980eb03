//! Measuring: rungs as child processes, their clocks, and what becomes of the times.

mod arrivals;
pub(crate) mod calls;
pub(crate) mod check;
pub(crate) mod child;
pub(crate) mod clock;
pub(crate) mod contestant;
pub(crate) mod figures;
pub(crate) mod frames;
pub(crate) mod histogram;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod pace;
pub(crate) mod requests;
pub(crate) mod rows;
pub(crate) mod series;
mod shown;
pub(crate) mod stats;
pub(crate) mod toolchain;
