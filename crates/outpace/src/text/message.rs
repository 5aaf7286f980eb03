//! Messages on their way: where the macros' pieces are put together and handed over.

use super::piece::Piece;
use super::scratch::Scratch;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// `format!`
#[inline]
pub fn format<M: Piece>(message: M) -> String {
    let mut scratch = Scratch::new();
    message.append(&mut scratch);
    scratch.into_string()
}

/// A message for a destination that is not outpace's: all of it is one argument of theirs.
pub struct Parcel<M>(pub M);

impl<M: Piece> fmt::Display for Parcel<M> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut scratch = Scratch::new();
        self.0.append(&mut scratch);
        f.write_str(scratch.as_str())
    }
}

/// The type of what `write!` writes to.
pub struct Destination<T: ?Sized>(AnyDestination<T>);

/// A destination that is not outpace's.
pub struct AnyDestination<T: ?Sized>(PhantomData<fn(*const T)>);

/// The type is found out by [`is`](Destination::is).
#[inline(always)]
pub fn destination<T: ?Sized>() -> Destination<T> {
    Destination(AnyDestination(PhantomData))
}

impl<T: ?Sized> Destination<T> {
    /// Says what the type is.
    #[inline(always)]
    pub fn is(&self, _: &T) {}
}

impl<T: ?Sized> Deref for Destination<T> {
    type Target = AnyDestination<T>;

    #[inline(always)]
    fn deref(&self) -> &AnyDestination<T> {
        &self.0
    }
}

impl<T: ?Sized> AnyDestination<T> {
    /// What is given to the destination's `write_fmt`.
    #[inline(always)]
    pub fn choose<'a, M: Piece>(
        &self,
        _: &'a Parcel<M>,
        parcel: fmt::Arguments<'a>,
        arguments: fmt::Arguments<'a>,
    ) -> fmt::Arguments<'a> {
        if M::FOREIGN { arguments } else { parcel }
    }
}

/// `print!`, until there are streams.
pub fn print<M: Piece>(message: M) {
    let mut scratch = Scratch::new();
    message.append(&mut scratch);
    std::print!("{}", scratch.as_str());
}

/// `eprint!`, until there are streams.
pub fn eprint<M: Piece>(message: M) {
    let mut scratch = Scratch::new();
    message.append(&mut scratch);
    std::eprint!("{}", scratch.as_str());
}
