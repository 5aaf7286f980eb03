//! The backend on its terminal: ratatui's calls, questions to the terminal, taking it over and giving it back.

mod backend;
mod blanks;
mod cells;
mod lines;
mod options;
mod panic;
mod passthrough;
mod probe;
mod raw_mode;
mod report;
mod session;
mod setup;
mod transcript;

pub use backend::OutpaceBackend;
pub use options::{Options, Target};
pub use setup::{
    DefaultTerminal, init, init_with_options, restore, run, suspend, try_init,
    try_init_with_options, try_restore,
};
pub use transcript::{Live, Transcript};
