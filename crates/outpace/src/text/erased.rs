//! Type-erased references.

#![allow(unsafe_code)]

use std::mem::{self, MaybeUninit};
use std::ptr;

/// A type-erased reference: its words.
#[derive(Clone, Copy)]
pub struct ErasedRef {
    address: *const (),
    /// The length of a text, the vtable of a trait object, or uninitialised.
    metadata: MaybeUninit<*const ()>,
}

impl ErasedRef {
    #[inline(always)]
    pub(crate) fn of<T: ?Sized>(value: &T) -> ErasedRef {
        let words = (&raw const value).cast::<*const ()>();
        // SAFETY: a reference is an address, and one more word behind it if it is wide.
        unsafe {
            ErasedRef {
                address: words.read(),
                metadata: match is_wide::<T>() {
                    true => MaybeUninit::new(words.add(1).read()),
                    false => MaybeUninit::uninit(),
                },
            }
        }
    }

    /// # Safety
    /// It was made [of](ErasedRef::of) a value of type `T`, which lives for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn get<'a, T: ?Sized>(self) -> &'a T {
        let words = [MaybeUninit::new(self.address), self.metadata];
        // SAFETY: `of` took the reference apart into these words.
        unsafe { mem::transmute_copy(&words) }
    }

    /// The value, of a type with references of one word.
    ///
    /// # Safety
    /// It refers to a value of type `U`, lifetimes aside, which lives for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn get_sized<'a, U>(self) -> &'a U {
        // SAFETY: the caller's promise.
        unsafe { &*self.address.cast::<U>() }
    }

    /// The target of the inner reference, where the value is a reference itself.
    ///
    /// # Safety
    /// It refers to a reference of one word.
    #[inline(always)]
    pub(super) unsafe fn pointee(self) -> ErasedRef {
        ErasedRef {
            // SAFETY: a reference is an address.
            address: unsafe { self.address.cast::<*const ()>().read() },
            metadata: MaybeUninit::uninit(),
        }
    }

    /// The text behind the inner pointer, where the value is a pointer to a text.
    ///
    /// # Safety
    /// It refers to a `&str`, a `&mut str` or a `Box<str>`, which have the same layout, and the text lives for `'a`.
    #[inline(always)]
    pub(super) unsafe fn text<'a>(self) -> &'a str {
        // SAFETY: the caller's promise.
        unsafe { self.address.cast::<&str>().read() }
    }
}

/// Whether references to `T` have two words.
#[inline(always)]
pub(super) const fn is_wide<T: ?Sized>() -> bool {
    // No reference has more than two.
    size_of::<&T>() > size_of::<usize>()
}

/// A text as the address of its first byte and its length.
#[inline(always)]
pub(crate) fn erase_text(text: &str) -> ErasedRef {
    ErasedRef {
        address: text.as_ptr().cast(),
        metadata: MaybeUninit::new(ptr::without_provenance(text.len())),
    }
}

/// # Safety
/// [`erase_text`] made it of a text, which lives for `'a`.
#[inline(always)]
pub(crate) unsafe fn text_at<'a>(text: ErasedRef) -> &'a str {
    // SAFETY: address and length are those of a text.
    unsafe {
        let length = text.metadata.assume_init().addr();
        str::from_utf8_unchecked(std::slice::from_raw_parts(text.address.cast(), length))
    }
}
