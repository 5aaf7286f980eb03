//! Types that can be read as values.

use super::{Error, ErrorKind, Input, Source};

/// Types that [`Input::read`] can read. Implement it for a type of your own by reading its fields.
///
/// ```
/// use outpace::input::{Error, FromInput, Input, Source};
///
/// #[derive(Debug, PartialEq)]
/// struct Point {
///     x: i32,
///     y: i32,
/// }
///
/// impl FromInput for Point {
///     fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
///         let (x, y) = input.read()?;
///         Ok(Point { x, y })
///     }
/// }
///
/// let points: Vec<Point> = Input::of_bytes(b"1 2  3 4").vec(2)?;
/// assert_eq!(points[1], Point { x: 3, y: 4 });
/// # Ok::<(), Error>(())
/// ```
pub trait FromInput: Sized {
    /// Reads one value.
    ///
    /// # Errors
    ///
    /// As [`Input::read`].
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error>;
}

/// An index that counts from 1 in the input and from 0 here.
///
/// ```
/// use outpace::input::{Input, OneBased};
///
/// let mut input = Input::of_bytes(b"1 5\n0");
/// let (OneBased(from), OneBased(to)) = input.read()?;
/// assert_eq!((from, to), (0, 4));
/// let error = input.index().unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 1: expected an index from 1, found \"0\", which is out of range");
/// # Ok::<(), outpace::input::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OneBased(pub usize);

impl FromInput for char {
    #[inline]
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
        if input.is_at_end()? {
            let at = input.at;
            return Err(input.error_at(at, at, ErrorKind::End, "char"));
        }
        input.next_char()
    }
}

impl FromInput for String {
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
        input.word().map(str::to_owned)
    }
}

impl FromInput for Vec<u8> {
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
        input.token().map(<[u8]>::to_vec)
    }
}

impl<T: FromInput, const N: usize> FromInput for [T; N] {
    #[inline]
    fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
        let mut error = None;
        // Stop at the first error.
        let values: [Option<T>; N] = std::array::from_fn(|_| {
            if error.is_some() {
                return None;
            }
            input.read().map_err(|wrong| error = Some(wrong)).ok()
        });
        match error {
            Some(error) => Err(error),
            None => Ok(values.map(|value| value.expect("there was no error"))),
        }
    }
}

macro_rules! tuples {
    ($($first:ident $($rest:ident)*;)*) => {
        $(impl<$first: FromInput, $($rest: FromInput),*> FromInput for ($first, $($rest,)*) {
            #[inline]
            fn from_input<S_: Source>(input: &mut Input<S_>) -> Result<Self, Error> {
                Ok(($first::from_input(input)?, $($rest::from_input(input)?,)*))
            }
        })*
    };
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
