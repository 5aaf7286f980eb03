//! `outpace bench`: experiments (`experiment`, and all of them in `catalogue`), their measurement (`runner`) at
//! destinations (`destination`), rows of figures (`results`) and tables of them (`view`).

pub(crate) mod catalogue;
pub(crate) mod destination;
pub(crate) mod experiment;
pub(crate) mod results;
pub(crate) mod runner;
pub(crate) mod toolchain;
pub(crate) mod view;
