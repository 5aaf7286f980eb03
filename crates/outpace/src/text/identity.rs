//! Which type a parameter is, whatever its lifetimes.
//!
//! A macro's argument is of a type that the compiler may learn only after it has read the call, that may borrow,
//! and that may be a parameter of the function around it. Dispatch by method resolution refuses or misjudges
//! all three. A generic function that compares identities does not, and the comparison is between constants once
//! the function is compiled for a type.

#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;

/// An identity as one number, which the compiler sees through sooner than through what it is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity(u128);

impl Identity {
    /// Whether identities are to be had: whether std's are as large as they have ever been.
    pub(super) const KNOWN: bool = size_of::<TypeId>() == size_of::<u128>();

    /// That of a type without other lifetimes.
    #[inline(always)]
    pub(super) fn of_static<T: ?Sized + 'static>() -> Identity {
        Identity::from(TypeId::of::<T>())
    }

    /// Whether it is that of `T`.
    #[inline(always)]
    pub(super) fn is<T: ?Sized + 'static>(self) -> bool {
        self.0 == Self::of_static::<T>().0
    }
}

impl From<TypeId> for Identity {
    #[inline(always)]
    fn from(id: TypeId) -> Identity {
        /// Not `transmute_copy`, which checks its parameters in debug builds, at each of the many comparisons.
        union Bits {
            id: TypeId,
            bits: u128,
        }

        if !Identity::KNOWN {
            return Identity(0);
        }
        // SAFETY: it has the size, which leaves no room for padding, and any bits are a number. Where all bits are the
        // same, so are the values.
        Identity(unsafe { Bits { id }.bits })
    }
}

/// The identity of `T` with all its lifetimes `'static`: types that differ in lifetimes alone have one identity.
#[inline]
pub(super) fn of<T: ?Sized>() -> Identity {
    trait Typed {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }

    impl<T: ?Sized> Typed for PhantomData<T> {
        #[inline(always)]
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }

    let typed: &dyn Typed = &PhantomData::<T>;
    // SAFETY: the lifetime in a trait object's bound has no representation. The method that the bound guards reads
    // nothing of the object, and returns a constant that outlives everything.
    let typed: &(dyn Typed + 'static) = unsafe { mem::transmute(typed) };
    Identity::from(typed.id())
}

#[cfg(test)]
mod tests {
    use super::{Identity, of};
    use std::borrow::Cow;

    #[test]
    fn types_with_lifetimes_have_the_identity_of_static_ones() {
        fn borrowed<'a>(_: &'a str) -> [Identity; 3] {
            [of::<&'a str>(), of::<&'a &'a u8>(), of::<Cow<'a, str>>()]
        }
        let expected = [
            Identity::of_static::<&'static str>(),
            Identity::of_static::<&'static &'static u8>(),
            Identity::of_static::<Cow<'static, str>>(),
        ];
        assert_eq!(borrowed(&String::from("local")), expected);
        const { assert!(Identity::KNOWN) };
        assert_eq!(of::<str>(), Identity::of_static::<str>());
        assert_eq!(
            of::<dyn std::fmt::Debug>(),
            Identity::of_static::<dyn std::fmt::Debug>()
        );
    }

    #[test]
    fn what_looks_alike_is_told_apart() {
        #[allow(non_camel_case_types)]
        struct u8;
        assert_ne!(of::<u8>(), of::<std::primitive::u8>());
        assert_ne!(of::<&mut i32>(), of::<&i32>());
        assert_ne!(of::<&&i32>(), of::<&i32>());
        assert_ne!(of::<fn(&str)>(), of::<fn(&'static str)>());
    }
}
