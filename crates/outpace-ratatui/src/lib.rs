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
mod stats;
mod sys;

pub use backend::OutpaceBackend;
pub use options::Options;
pub use probe::{Capabilities, Repeat};
pub use renderer::Renderer;
pub use screen::{Attributes, Cell, Color, ColorKind, Cursor, Screen, Style};
pub use stats::Stats;
