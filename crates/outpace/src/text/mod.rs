//! Values to text.
//!
//! Every encoder here writes straight to where the text shall stand: it is given a destination with
//! room for the longest text of its type, and returns how many bytes it used.

mod integer;
mod table;

pub use integer::Integer;
