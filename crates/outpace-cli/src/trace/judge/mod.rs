//! From what was seen to the answer: which stream was written to, what its writes cost, what would change that.

pub(crate) mod estimate;
pub(crate) mod stacks;
pub(crate) mod streams;
pub(crate) mod verdict;
