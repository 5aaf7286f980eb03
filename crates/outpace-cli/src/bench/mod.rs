//! `outpace bench`: what an experiment is (`experiment`), all there are (`catalogue`), how they are measured
//! (`runner`), where the bytes go (`destination`), what is known afterwards (`results`) and how it is shown (`view`).

pub(crate) mod catalogue;
pub(crate) mod destination;
pub(crate) mod experiment;
pub(crate) mod results;
pub(crate) mod runner;
pub(crate) mod toolchain;
pub(crate) mod view;
