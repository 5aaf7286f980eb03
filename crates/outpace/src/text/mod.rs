//! Values to text.
//!
//! Every encoder here writes straight to where the text shall stand: it is given a destination with
//! room for the longest text of its value, and returns how many bytes it used.

pub(crate) mod copy;
pub(crate) mod dispatch;
pub(crate) mod fields;
pub(crate) mod float;
mod formats;
mod identity;
mod integer;
pub(crate) mod known;
pub(crate) mod literal;
pub(crate) mod piece;
mod radix;
pub(crate) mod scratch;
mod shortest;
pub(crate) mod spec;
mod table;
mod word;

pub use float::Float;
pub use integer::Integer;
pub use piece::{Piece, Pieces};
