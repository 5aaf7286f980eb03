//! Floats for typed calls: a number that is laid out in the ordinary way takes a call, and no more.
#![allow(unsafe_code)]

use super::float::{self, Layout};

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
