//! Values to text.
//!
//! Every encoder writes directly to the text's place: it gets a pointer to room for the longest text of its value, and
//! returns the number of bytes used.

pub(crate) mod argument;
mod classify;
pub(crate) mod copy;
pub(crate) mod dispatch;
mod erased;
pub(crate) mod float;
mod formats;
pub(crate) mod integer;
pub(crate) mod message;
mod padded;
mod piece;
mod pieces;
mod radix;
pub(crate) mod scratch;
mod shortest;
pub(crate) mod spec;
mod table;
mod type_key;
pub(crate) mod value;
mod word;

pub use float::Float;
pub use integer::Integer;
pub use piece::Piece;
pub use pieces::Pieces;
