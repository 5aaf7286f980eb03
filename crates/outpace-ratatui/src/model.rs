//! The grid of cells that is drawn, the sequences that a terminal may be sent for it, and counters of the costs.

mod capabilities;
mod cell;
mod overhang;
mod row;
mod screen;
mod stats;
mod symbols;

pub use capabilities::{Capabilities, Repeat};
pub use cell::{Attributes, Cell, Color, ColorKind, Style};
pub(crate) use cell::{FULL_BLOCK, LOWER_HALF, UPPER_HALF, first_difference, same_cells};
pub(crate) use screen::freed_rows;
pub use screen::{Cursor, Screen};
pub use stats::Stats;
pub(crate) use symbols::{has_only_marks, is_flag, is_narrow, is_placeholder, trusted_width};
