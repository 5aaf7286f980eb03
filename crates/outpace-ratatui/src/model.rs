//! What is drawn: a grid of cells, what a terminal may be sent to show it, and counters of what that took.

mod capabilities;
mod cell;
mod screen;
mod stats;
mod symbols;

pub use capabilities::{Capabilities, Repeat};
pub use cell::{Attributes, Cell, Color, ColorKind, Style};
pub(crate) use cell::{FULL_BLOCK, LOWER_HALF, UPPER_HALF, first_difference, same_cells};
pub use screen::{Cursor, Screen};
pub use stats::Stats;
pub(crate) use symbols::{is_narrow, trusted_width};
