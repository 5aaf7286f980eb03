//! The results of a bench: rows of figures, the machine they are of, and what is computed from them.

pub(crate) mod figures;
pub(crate) mod machine;
pub(crate) mod rows;
pub(crate) mod stats;
