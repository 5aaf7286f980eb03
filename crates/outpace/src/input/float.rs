//! Floating-point numbers, exactly rounded.
//!
//! If the type holds exactly both the digits without their point and the power of ten that divides them, one division
//! is exactly rounded (W. D. Clinger, "How to read floating point numbers accurately", 1990). Other numbers go to
//! fast-float2, which finds the nearest by Eisel and Lemire's algorithm.

use super::digits::{CHUNK, chunk, non_digits, value, view};
use super::integer::behind;
use super::{Error, ErrorKind, FromInput, Input, Source};

trait ReadFloat: fast_float2::FastFloat {
    const NAME: &'static str;

    /// `digits` divided by ten to the power `places`; `None` unless one division is exactly rounded.
    fn exact(digits: u64, places: usize) -> Option<Self>;
    fn negative(self, negative: bool) -> Self;
}

/// A number without an exponent, of at most 16 digits on either side of the point and 19 in all.
#[inline(always)]
fn plain<T: ReadFloat>(window: &[u8], at: usize) -> Option<(T, usize)> {
    let view = view(window, at)?;
    let negative = view[CHUNK] == b'-';
    let others = non_digits(chunk(view, CHUNK)) | non_digits(chunk(view, 2 * CHUNK)) << CHUNK;
    let others = others & !u32::from(negative);
    let whole_end = others.trailing_zeros() as usize;
    let point = view.get(CHUNK + whole_end) == Some(&b'.');
    // With the bit of the point cleared, the next one ends the number.
    let others = if point { others & (others - 1) } else { others };
    let end = others.trailing_zeros() as usize;
    let whole = whole_end - usize::from(negative);
    let places = end - whole_end - usize::from(point);
    if whole + places == 0 || whole + places > 19 || whole > CHUNK || places > CHUNK || end > 30 {
        return None;
    }
    let next = behind(&view[CHUNK..], end)?;
    let digits =
        value(chunk(view, whole_end), whole) * POWERS[places] + value(chunk(view, end), places);
    Some((T::exact(digits, places)?.negative(negative), at + next))
}

static POWERS: [u64; CHUNK + 1] = {
    let mut powers = [1; CHUNK + 1];
    let mut at = 1;
    while at <= CHUNK {
        powers[at] = 10 * powers[at - 1];
        at += 1;
    }
    powers
};

#[inline(always)]
fn read<T: ReadFloat, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    if let Some((number, next)) = plain(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    read_cold(input)
}

#[inline(never)]
fn read_cold<T: ReadFloat, S: Source>(input: &mut Input<S>) -> Result<T, Error> {
    input.skip_spaces()?;
    if let Some((number, next)) = plain(input.source.window(), input.at) {
        input.at = next;
        return Ok(number);
    }
    let (from, to) = input.next_token(T::NAME)?;
    fast_float2::parse(&input.source.window()[from..to])
        .map_err(|_| input.error_at(from, to, ErrorKind::Invalid, T::NAME))
}

macro_rules! floats {
    ($($type:ident: $places:literal)*) => {
        $(impl ReadFloat for $type {
            const NAME: &'static str = stringify!($type);

            #[inline(always)]
            fn exact(digits: u64, places: usize) -> Option<Self> {
                // Powers of ten that the type holds exactly.
                const _: () = assert!(5_u128.pow($places) < 1 << $type::MANTISSA_DIGITS);
                (digits <= 1 << $type::MANTISSA_DIGITS && places <= $places)
                    .then(|| digits as $type / POWERS[places] as $type)
            }

            #[inline(always)]
            fn negative(self, negative: bool) -> Self {
                if negative { -self } else { self }
            }
        }

        impl FromInput for $type {
            #[inline]
            fn from_input<S: Source>(input: &mut Input<S>) -> Result<Self, Error> {
                read(input)
            }
        })*
    };
}

floats! {
    f32: 10
    f64: 16
}
