//! Which way an argument of the macros takes: chosen by its type, when the program is compiled.
//!
//! The macros wrap each argument in an [`Arg`] and call a method that is named after the trait in
//! the braces. `Arg` has that method for the types that outpace can write by itself. For all others
//! the compiler goes on looking behind `Arg`'s `Deref`, and finds in [`Described`] one for the types that say
//! by [`Text`] what they are made of, or else in [`Foreign`] a method of the same name that goes through
//! `core::fmt`. So no trait has to be in scope where a macro is used, and what `core::fmt` would not accept
//! fails with its own error.
//!
//! These methods return types without parameters where they can, and elsewhere associated types rather than
//! opaque ones: the compiler spends most of its time for a macro on their types.

#![allow(unsafe_code)]

use super::fields::{Argument, Field};
use super::piece::{Piece, Text};
use super::scratch::Scratch;
use super::spec::{Align, Braces};
use super::ways::{self, In, Own};
use std::fmt;
use std::ops::Deref;

/// An argument: a reference to one to it, because that is one word, whatever the type.
#[repr(transparent)]
pub struct Arg<'a, T: ?Sized>(pub &'a &'a T);

/// An argument of a type that outpace cannot write by itself.
#[repr(transparent)]
pub struct Described<'a, T: ?Sized>(&'a &'a T);

/// An argument of a type that does not say what it is made of, either.
#[repr(transparent)]
pub struct Foreign<'a, T: ?Sized>(&'a &'a T);

macro_rules! leads_to {
    ($($from:ident $to:ident;)*) => {$(
        impl<'a, T: ?Sized> Deref for $from<'a, T> {
            type Target = $to<'a, T>;

            #[inline(always)]
            fn deref(&self) -> &$to<'a, T> {
                // SAFETY: both are the same reference and nothing else.
                unsafe { &*(&raw const *self).cast() }
            }
        }

        impl<T: ?Sized> Clone for $to<'_, T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T: ?Sized> Copy for $to<'_, T> {}
    )*};
}
leads_to! {
    Arg Described;
    Described Foreign;
}

/// An [`Argument`] whose text somebody else appends.
macro_rules! appended {
    (
        $value:expr, $given:expr, $type:ident: $bound:path,
        |$referent:ident, $braces:ident, $scratch:ident| $append:block
    ) => {{
        /// # Safety
        /// `value` is a reference, and nobody else has the scratch.
        unsafe fn append<$type: $bound + ?Sized>(
            value: *const (),
            $braces: Braces,
            scratch: *mut (),
        ) -> usize {
            // SAFETY: as demanded.
            let $referent = unsafe { *value.cast::<&$type>() };
            // SAFETY: as demanded.
            let $scratch = unsafe { &mut *scratch.cast::<Scratch>() };
            $append
            0
        }
        let value = (&raw const *$value).cast();
        // SAFETY: the function is for what the pointer points to.
        unsafe { Argument::foreign(value, $given, append::<$type>) }
    }};
}

impl<'a, T: Own + ?Sized> Arg<'a, T> {
    /// `{}`, in a short message
    #[inline]
    pub fn display(self) -> T::Piece<'a> {
        let value: &'a T = self.0;
        value.own()
    }

    /// `{}`
    #[inline]
    pub fn show(self) -> Argument<'a> {
        let value = T::pointer(self.0);
        // SAFETY: the function is for what the pointer points to, whose piece is the same again.
        unsafe { Argument::new(value, Braces::NONE, T::put_own, Piece::room(&self.0.own())) }
    }
}

impl<'a, T: Text + ?Sized> Described<'a, T> {
    /// `{}`, in a short message
    #[inline]
    pub fn display(self) -> impl Piece + use<'a, T> {
        let value: &'a T = self.0;
        value.pieces()
    }

    /// `{}`
    #[inline]
    pub fn show(self) -> Argument<'a> {
        appended!(self.0, Braces::NONE, T: Text, |value, _braces, scratch| {
            scratch.append_piece(&value.pieces());
        })
    }
}

/// An argument in the way `W`.
#[inline]
fn in_way<'a, W, T: In<W> + ?Sized>(value: &'a &'a T, braces: Braces) -> Argument<'a> {
    /// # Safety
    /// `value` is a reference; there is the room at `dst` that it asks for.
    unsafe fn put<W, T: In<W> + ?Sized>(value: *const (), braces: Braces, dst: *mut ()) -> usize {
        // SAFETY: as demanded.
        unsafe { (*value.cast::<&T>()).put(braces, dst.cast()) }
    }
    let room = ways::room::<W, T>(value, braces);
    // SAFETY: the function is for what the pointer points to.
    unsafe { Argument::new((&raw const *value).cast(), braces, put::<W, T>, room) }
}

impl<'a, T: In<ways::Display> + ?Sized> Arg<'a, T> {
    /// `{:…}` if it is [simple](append_in)
    #[inline]
    pub fn display_in(self, braces: Braces) -> Argument<'a> {
        in_way(self.0, braces)
    }

    /// `{:…}`
    #[inline]
    pub fn display_as(self, braces: Braces, _: &fmt::Arguments<'_>) -> Argument<'a> {
        in_way(self.0, braces)
    }
}

impl<'a, T: In<ways::Debug> + ?Sized> Arg<'a, T> {
    /// `{:?}`
    #[inline]
    pub fn debug(self) -> Argument<'a> {
        in_way(self.0, Braces::NONE)
    }

    /// `{:#?}`, which in no type that outpace writes is any different
    #[inline]
    pub fn pretty(self) -> Argument<'a> {
        in_way(self.0, Braces::NONE)
    }

    /// `{:…?}`
    #[inline]
    pub fn debug_as(self, braces: Braces, _: &fmt::Arguments<'_>) -> Argument<'a> {
        in_way(self.0, braces)
    }
}

macro_rules! others {
    ($($way:ident $method:ident $doc:literal;)*) => {
        $(
            impl<'a, T: In<ways::$way> + ?Sized> Arg<'a, T> {
                #[doc = $doc]
                #[inline]
                pub fn $method(self, braces: Braces, _: &fmt::Arguments<'_>) -> Argument<'a> {
                    in_way(self.0, braces)
                }
            }
        )*

        impl<'a, T: ?Sized> Foreign<'a, T> {
            $(
                #[doc = $doc]
                #[inline]
                pub fn $method(self, _: Braces, arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
                    formatted(arguments)
                }
            )*
        }
    };
}
others! {
    LowerHex lower_hex_as "`{:x}`";
    UpperHex upper_hex_as "`{:X}`";
    Octal octal_as "`{:o}`";
    Binary binary_as "`{:b}`";
    LowerExp lower_exp_as "`{:e}`, without precision";
}

impl<'a, T: ?Sized> Foreign<'a, T> {
    /// `{}`, in a short message
    #[inline]
    pub fn display(self) -> ForeignDisplay<'a, T>
    where
        T: fmt::Display,
    {
        ForeignDisplay(self.0)
    }

    /// `{}`
    #[inline]
    pub fn show(self) -> Argument<'a>
    where
        T: fmt::Display,
    {
        appended!(self.0, Braces::NONE, T: fmt::Display, |value, _braces, scratch| {
            scratch.append_formatted(format_args!("{value}"));
        })
    }

    /// `{:?}`
    #[inline]
    pub fn debug(self) -> Argument<'a>
    where
        T: fmt::Debug,
    {
        appended!(self.0, Braces::NONE, T: fmt::Debug, |value, _braces, scratch| {
            scratch.append_formatted(format_args!("{value:?}"));
        })
    }

    /// `{:#?}`
    #[inline]
    pub fn pretty(self) -> Argument<'a>
    where
        T: fmt::Debug,
    {
        appended!(self.0, Braces::NONE, T: fmt::Debug, |value, _braces, scratch| {
            scratch.append_formatted(format_args!("{value:#?}"));
        })
    }

    /// `{:…}` if it is [simple](append_in)
    #[inline]
    pub fn display_in(self, braces: Braces) -> Argument<'a>
    where
        T: fmt::Display,
    {
        appended!(self.0, braces, T: fmt::Display, |value, braces, scratch| {
            append_in(value, braces, scratch);
        })
    }

    /// `{:…}`
    #[inline]
    pub fn display_as(self, _: Braces, arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
        formatted(arguments)
    }

    /// `{:…?}`
    #[inline]
    pub fn debug_as(self, _: Braces, arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
        formatted(arguments)
    }
}

/// Has a value formatted in simple braces, which the macros so need not write out once more: an alignment,
/// or a `0`, and a width and a precision.
fn append_in<T: fmt::Display + ?Sized>(value: &T, braces: Braces, scratch: &mut Scratch<'_>) {
    macro_rules! aligned {
        ($zero:literal $unsaid:literal $left:literal $right:literal $center:literal $($counts:tt)*) => {
            match braces.align() {
                _ if braces.zero() => scratch.append_formatted(format_args!($zero, value $($counts)*)),
                Align::Unsaid => scratch.append_formatted(format_args!($unsaid, value $($counts)*)),
                Align::Left => scratch.append_formatted(format_args!($left, value $($counts)*)),
                Align::Right => scratch.append_formatted(format_args!($right, value $($counts)*)),
                Align::Center => scratch.append_formatted(format_args!($center, value $($counts)*)),
            }
        };
    }
    match (braces.given_width(), braces.given_precision()) {
        (None, None) => aligned!("{:0}" "{}" "{:<}" "{:>}" "{:^}"),
        (Some(w), None) => aligned!("{:0w$}" "{:w$}" "{:<w$}" "{:>w$}" "{:^w$}", w = w),
        (None, Some(p)) => aligned!("{:0.p$}" "{:.p$}" "{:<.p$}" "{:>.p$}" "{:^.p$}", p = p),
        (Some(w), Some(p)) => {
            aligned!(
                "{:0w$.p$}" "{:w$.p$}" "{:<w$.p$}" "{:>w$.p$}" "{:^w$.p$}", w = w, p = p
            );
        }
    }
}

/// Anything that `format_args!` can express.
#[inline]
pub fn formatted<'a>(arguments: &'a fmt::Arguments<'_>) -> Argument<'a> {
    /// # Safety
    /// They are arguments, and nobody else has the scratch.
    unsafe fn append(arguments: *const (), _: Braces, scratch: *mut ()) -> usize {
        // SAFETY: as demanded.
        unsafe {
            let arguments = *arguments.cast::<fmt::Arguments<'_>>();
            (*scratch.cast::<Scratch>()).append_formatted(arguments);
        }
        0
    }
    let arguments = (&raw const *arguments).cast();
    // SAFETY: the function is for what the pointer points to.
    unsafe { Argument::foreign(arguments, Braces::NONE, append) }
}

/// A value of a foreign type, for `{}` in a short message.
pub struct ForeignDisplay<'a, T: ?Sized>(&'a &'a T);

impl<T: ?Sized> Clone for ForeignDisplay<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for ForeignDisplay<'_, T> {}

impl<T: fmt::Display + ?Sized> Field for ForeignDisplay<'_, T> {
    #[inline]
    fn argument(&self) -> Argument<'_> {
        Foreign(self.0).show()
    }
}
