//! The results of a bench: rows of figures, their machine, and the statistics of them.

pub(crate) mod figures;
pub(crate) mod machine;
pub(crate) mod rows;
pub(crate) mod stats;
