//! `outpace bench`: what is measured (`catalogue`), how (`runner`), where the bytes go (`destination`) and how the
//! figures are shown (`view`).

pub(crate) mod catalogue;
pub(crate) mod destination;
pub(crate) mod runner;
pub(crate) mod view;
