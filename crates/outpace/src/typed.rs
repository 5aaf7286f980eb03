//! Typed calls for floats, beside those in `guard.rs` and `message.rs`.
#![allow(unsafe_code)]
// Where a function is `extern "C"`, that says to the compiler that it does not unwind.
#![allow(improper_ctypes_definitions)]

use crate::text::float::{self, Layout, ORDINARY_LEN};
use crate::{Guard, Message};

mod sealed {
    pub trait Sealed: Copy {
        /// Whether the number is laid out in the ordinary way.
        fn is_ordinary(self) -> bool;

        /// The bytes that [`put_any`](Self::put_any) needs for this number.
        fn room(self) -> usize;

        /// Writes the text of an ordinary number.
        ///
        /// # Safety
        ///
        /// There is room for `ORDINARY_LEN` bytes, and the number is ordinary.
        unsafe fn put_ordinary(self, dst: *mut u8) -> usize;

        /// Writes the text of any number.
        ///
        /// # Safety
        ///
        /// There is as much room as the number needs.
        unsafe fn put_any(self, dst: *mut u8) -> usize;
    }
}

/// A floating-point number that can be written as text: `f32` and `f64`.
pub trait Float: sealed::Sealed {}

macro_rules! float {
    ($float:ident $ordinary:ident $any:ident) => {
        impl sealed::Sealed for $float {
            #[inline(always)]
            fn is_ordinary(self) -> bool {
                float::is_ordinary(self)
            }

            #[inline(always)]
            fn room(self) -> usize {
                float::room(self, Layout::Display)
            }

            #[inline(always)]
            unsafe fn put_ordinary(self, dst: *mut u8) -> usize {
                // SAFETY: the same is demanded.
                unsafe { $ordinary(self, dst) }
            }

            #[inline(always)]
            unsafe fn put_any(self, dst: *mut u8) -> usize {
                // SAFETY: the same is demanded.
                unsafe { $any(self, dst) }
            }
        }

        impl Float for $float {}

        /// # Safety
        ///
        /// As for the method.
        #[inline(never)]
        unsafe extern "C" fn $ordinary(number: $float, dst: *mut u8) -> usize {
            // SAFETY: the same is demanded.
            unsafe { float::Float::put_ordinary(number, dst) }
        }

        /// # Safety
        ///
        /// As for the method.
        #[cold]
        #[inline(never)]
        unsafe extern "C" fn $any(number: $float, dst: *mut u8) -> usize {
            // SAFETY: the same is demanded.
            unsafe { float::Float::put(number, Layout::Display, dst) }
        }
    };
}
float!(f32 put_ordinary_f32 put_any_f32);
float!(f64 put_ordinary_f64 put_any_f64);

impl Message<'_, '_> {
    /// Adds a floating-point number, as `{}` does: the shortest digits that read back as the same number, never an
    /// exponent.
    #[inline(always)]
    pub fn float<F: Float>(&mut self, x: F) -> &mut Self {
        let length = if x.is_ordinary() {
            let space = self.space(ORDINARY_LEN);
            // SAFETY: `space` made room; the number is ordinary.
            unsafe { x.put_ordinary(space) }
        } else {
            let space = self.space(x.room());
            // SAFETY: `space` made as much room as the number needs.
            unsafe { x.put_any(space) }
        };
        self.filled(length);
        self
    }
}

impl<'a> Guard<'a> {
    /// Begins a message with a floating-point number, as `{}` does.
    ///
    /// ```
    /// let mut out = outpace::stdout().lock();
    /// out.float(0.1 + 0.2).str(" is not ").float(0.3_f32).char('\n');
    /// ```
    #[inline(always)]
    pub fn float<F: Float>(&mut self, x: F) -> Message<'_, 'a> {
        let mut message = self.message();
        message.float(x);
        message
    }
}
