#![doc = "A [ratatui](https://docs.rs/ratatui) backend that draws with the fewest bytes."]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod encode;
mod options;
mod plan;
mod present;
mod probe;
mod renderer;
mod screen;
mod setup;
mod stats;
mod sys;

pub use backend::OutpaceBackend;
pub use options::{Options, Target};
pub use probe::{Capabilities, Repeat};
pub use renderer::Renderer;
pub use screen::{Attributes, Cell, Color, ColorKind, Cursor, Screen, Style};
pub use setup::{
    DefaultTerminal, init, init_with_options, restore, run, suspend, try_init,
    try_init_with_options, try_restore,
};
pub use stats::Stats;
