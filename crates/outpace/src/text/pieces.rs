//! Pieces as an argument of the macros.

use super::argument::Argument;
use super::piece::Piece;
use std::fmt;

/// [Pieces](Piece) as one argument of the macros, for `{}`.
///
/// With it a type of your own takes the macros' fast path instead of its `Display`:
///
/// ```
/// use outpace::text::{Piece, Pieces};
///
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// impl Point {
///     fn pieces(&self) -> impl Piece {
///         ("(", self.x, ", ", self.y, ")")
///     }
/// }
///
/// let point = Point { x: 3, y: -4 };
/// assert_eq!(outpace::format!("at {}", Pieces::of(&point.pieces())), "at (3, -4)");
/// ```
///
/// It implements `Display`, for std's macros and for specifications. A `Display` of your own can call it:
/// `Pieces::of(&self.pieces()).fmt(f)`.
#[derive(Clone, Copy)]
pub struct Pieces<'a>(Argument<'a>);

impl<'a> Pieces<'a> {
    /// The pieces; their texts are written in a row.
    #[inline]
    pub fn of<P: Piece>(pieces: &'a P) -> Pieces<'a> {
        Pieces(Argument::piece(pieces))
    }

    #[inline(always)]
    pub(super) fn argument(&self) -> Argument<'a> {
        self.0
    }
}

impl fmt::Display for Pieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_none() && f.precision().is_none() {
            return self.0.write_to(f);
        }
        let mut text = String::new();
        self.0.write_to(&mut text)?;
        f.pad(&text)
    }
}

impl fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.0.write_to(&mut text)?;
        f.debug_tuple("Pieces").field(&text).finish()
    }
}
