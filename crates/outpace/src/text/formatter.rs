//! A [`Formatter`] without [`fmt::write`].
//!
//! A foreign `Display` is called with a `Formatter`. On stable Rust only `core::fmt` makes one, by reading a template: 60
//! instructions, a third of what a short message costs. A `Formatter` for `{}` holds two things: the sink as a trait
//! object, and eight bytes of options, which are always the same. So the library has `core::fmt` make two, once in a
//! process, and looks at them. If each is its sink followed by the same eight bytes, the library puts the others together
//! itself, with another sink in the sink's place. If not, which no Rust since 1.88 has shown, each foreign field goes
//! through `fmt::write`.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::fmt::{self, Formatter, Write};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a field is formatted into.
pub(super) type Sink<'a> = &'a mut dyn Write;

/// What a [`Formatter`] is, if it is what it looks like.
#[repr(C)]
pub(super) struct Parts<'a> {
    sink: Sink<'a>,
    options: u64,
}

/// Whether it can be: whether these parts leave no room for anything else.
const FITS: bool = size_of::<Formatter<'_>>() == size_of::<Parts<'_>>()
    && align_of::<Formatter<'_>>() == align_of::<Parts<'_>>()
    && size_of::<Parts<'_>>() == size_of::<Sink<'_>>() + size_of::<u64>();

/// The options for `{}`. They are never 0, since a fill is among them; 0 is before [`learn`] has found them, and for ever if
/// it does not.
static OPTIONS: AtomicU64 = AtomicU64::new(0);

impl<'a> Parts<'a> {
    /// The parts of a formatter for `{}` that writes to the sink. `None` if [`learn`] has not found how one is made.
    #[inline(always)]
    pub(super) fn of(sink: Sink<'a>) -> Option<Self> {
        let options = OPTIONS.load(Ordering::Relaxed);
        (FITS && options != 0).then_some(Parts { sink, options })
    }

    #[inline(always)]
    pub(super) fn formatter(&mut self) -> &mut Formatter<'a> {
        // SAFETY: there are options, so `learn` has found that a formatter is these parts, and nothing else.
        unsafe { &mut *(&raw mut *self).cast() }
    }
}

/// Looks at two formatters, so that later ones can be [put together](Parts::of).
#[cold]
pub(super) fn learn() {
    if !FITS || cfg!(outpace_portable) || OPTIONS.load(Ordering::Relaxed) != 0 {
        return;
    }
    if let Some(options) = options_at_depth(0)
        && options_at_depth(3) == Some(options)
    {
        OPTIONS.store(options, Ordering::Relaxed);
    }
}

/// The options of a formatter that `core::fmt` makes, if it is the sink and these. So deep in the stack: a pointer into it
/// would be another each time.
#[inline(never)]
fn options_at_depth(depth: usize) -> Option<u64> {
    if depth > 0 {
        let mut frame = [depth; 32];
        std::hint::black_box(&mut frame);
        return options_at_depth(depth - 1);
    }
    let mut written = Written(0);
    let sink: Sink<'_> = &mut written;
    let found = Found {
        // SAFETY: a reference to a trait object is two words.
        sink: unsafe { mem::transmute::<*mut dyn Write, [usize; 2]>(&raw mut *sink) },
        options: Cell::new(None),
    };
    fmt::write(sink, format_args!("{found}")).ok()?;
    (written.0 == 1).then_some(found.options.get()?)
}

/// A sink that counts.
struct Written(usize);

impl Write for Written {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

/// What a formatter's parts are compared with, and what has been found.
struct Found {
    sink: [usize; 2],
    options: Cell<Option<u64>>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        #[repr(C)]
        struct Bits {
            sink: [usize; 2],
            options: u64,
        }

        // SAFETY: it is as large, and everything in it, whatever that is, is looked at as bits. std has never had padding
        // in it.
        let bits = unsafe { (&raw const *f).cast::<Bits>().read() };
        if bits.sink == self.sink && bits.options != 0 {
            self.options.set(Some(bits.options));
        }
        f.write_str(".")
    }
}

#[cfg(all(test, not(outpace_portable)))]
mod tests {
    use super::{Parts, learn};
    use std::fmt::{self, Debug, Display};

    /// What a formatter says of itself.
    struct Said;

    impl Display for Said {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let flags = [
                f.alternate(),
                f.sign_plus(),
                f.sign_minus(),
                f.sign_aware_zero_pad(),
            ];
            let (fill, align) = (f.fill(), f.align().is_some());
            let counts = (f.width(), f.precision());
            write!(f, "{flags:?} {fill:?} {align} {counts:?} ")?;
            f.pad("padded")?;
            Debug::fmt(&[1.5, 2.0], f)?;
            f.debug_struct("Said").field("text", &"a\n").finish()?;
            write!(f, " {:>8} {:#?}", 'c', Some(1))
        }
    }

    #[test]
    fn a_formatter_that_was_put_together_is_as_std_s() {
        learn();
        for _ in 0..3 {
            let mut text = String::new();
            let mut parts = Parts::of(&mut text).expect("this Rust's formatters are known");
            Said.fmt(parts.formatter()).unwrap();
            assert_eq!(text, format!("{Said}"));
        }
    }
}
