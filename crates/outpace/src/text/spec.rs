//! A format specification: `[[fill]align][sign]['#']['0'][width]['.' precision]`.

/// The alignment of a text that is shorter than the width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Align {
    /// Not given: numbers are aligned to the right, other text to the left.
    Unknown,
    /// `<`
    Left,
    /// `>`
    Right,
    /// `^`
    Center,
}

/// A format specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spec {
    pub(super) fill: char,
    pub(super) align: Align,
    pub(super) plus: bool,
    pub(super) alternate: bool,
    pub(super) zero: bool,
    pub(super) width: usize,
    pub(super) precision: Option<usize>,
}

impl Spec {
    /// Whether a number is aligned to the right, with a fill of one byte.
    #[inline(always)]
    pub(super) fn is_right_with_ascii(&self) -> bool {
        matches!(self.align, Align::Unknown | Align::Right) && self.fill.is_ascii()
    }
}

/// A format specification as the macros write it: one number, which is cheapest to compile. From the lowest bit: the
/// fill (21 bits), the alignment (2), `+`, `#`, `0`, whether a width is given, whether a precision is given, the width
/// (16), the precision (16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackedSpec(pub u64);

impl PackedSpec {
    /// `{}`
    pub(super) const EMPTY: PackedSpec = PackedSpec(b' ' as u64);
    /// The same for a text, distinguishable from others.
    pub(super) const EMPTY_TEXT: PackedSpec = PackedSpec(Self::EMPTY.0 | 1 << 63);

    const ALIGN: u32 = 21;
    const PLUS: u32 = 23;
    const ALTERNATE: u32 = 24;
    const ZERO: u32 = 25;
    const HAS_WIDTH: u32 = 26;
    const HAS_PRECISION: u32 = 27;
    const WIDTH: u32 = 28;
    const PRECISION: u32 = 44;

    /// With a width known at run time.
    #[inline]
    pub const fn width(self, width: usize) -> PackedSpec {
        PackedSpec(self.0 | 1 << Self::HAS_WIDTH | in_range(width) << Self::WIDTH)
    }

    /// With a precision known at run time.
    #[inline]
    pub const fn precision(self, precision: usize) -> PackedSpec {
        PackedSpec(self.0 | 1 << Self::HAS_PRECISION | in_range(precision) << Self::PRECISION)
    }

    #[inline(always)]
    fn has(self, bit: u32) -> bool {
        self.0 >> bit & 1 == 1
    }

    #[inline(always)]
    pub(super) fn zero(self) -> bool {
        self.has(Self::ZERO)
    }

    #[inline(always)]
    pub(super) fn align(self) -> Align {
        match self.0 >> Self::ALIGN & 3 {
            0 => Align::Unknown,
            1 => Align::Left,
            2 => Align::Right,
            _ => Align::Center,
        }
    }

    #[inline(always)]
    pub(super) fn given_width(self) -> Option<usize> {
        let width = (self.0 >> Self::WIDTH) as u16;
        self.has(Self::HAS_WIDTH).then_some(usize::from(width))
    }

    #[inline(always)]
    pub(super) fn given_precision(self) -> Option<usize> {
        let precision = (self.0 >> Self::PRECISION) as u16;
        self.has(Self::HAS_PRECISION)
            .then_some(usize::from(precision))
    }

    /// An upper bound of the room that it adds. Without a branch: bits that are not given are 0.
    #[inline(always)]
    pub(super) fn room(self) -> usize {
        let width = (self.0 >> Self::WIDTH) as u16;
        let precision = (self.0 >> Self::PRECISION) as u16;
        usize::from(width) * 4 + usize::from(precision) + MOVED
    }

    #[inline]
    pub(super) fn unpack(self) -> Spec {
        let fill = self.0 as u32 & ((1 << Self::ALIGN) - 1);
        Spec {
            fill: char::from_u32(fill).unwrap_or(' '),
            align: self.align(),
            plus: self.has(Self::PLUS),
            alternate: self.has(Self::ALTERNATE),
            zero: self.zero(),
            width: self.given_width().unwrap_or(0),
            precision: self.given_precision(),
        }
    }
}

/// Widths and precisions have 16 bits; std panics, with this message, if one given at run time has more.
#[inline]
const fn in_range(n: usize) -> u64 {
    assert!(n <= u16::MAX as usize, "Formatting argument out of range");
    n as u64
}

/// Padding moves numbers up to this length by one copy, and needs as much more room.
pub(super) const MOVED: usize = 32;
