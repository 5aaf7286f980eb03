//! Compares types, lifetimes aside.
//!
//! The type of a macro's argument may be inferred only after the call, may borrow, and may be a type parameter of the
//! function around it. Dispatch by method resolution rejects or misjudges all three. A generic function that compares
//! type keys handles them, and once it is compiled for a type it compares constants.

#![allow(unsafe_code)]

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem;

/// A `TypeId` as one number, which the compiler folds sooner than the `TypeId` itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TypeKey(u128);

impl TypeKey {
    /// Whether keys differ between types: whether a `TypeId` still has the size of a `u128`.
    pub(super) const KNOWN: bool = size_of::<TypeId>() == size_of::<u128>();

    /// The key of a type whose lifetimes are `'static`.
    #[inline(always)]
    pub(super) fn of_static<T: ?Sized + 'static>() -> TypeKey {
        TypeKey::from(TypeId::of::<T>())
    }

    /// Whether it is the key of `T`.
    #[inline(always)]
    pub(super) fn is<T: ?Sized + 'static>(self) -> bool {
        self.0 == Self::of_static::<T>().0
    }

    /// The key of `T` with all its lifetimes `'static`: types that differ in lifetimes alone have one key.
    #[inline]
    pub(super) fn of<T: ?Sized>() -> TypeKey {
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
        // SAFETY: the lifetime in a trait object's bound has no representation. The method with the bound does not read
        // the object: it returns a constant.
        let typed: &(dyn Typed + 'static) = unsafe { mem::transmute(typed) };
        TypeKey::from(typed.id())
    }
}

impl From<TypeId> for TypeKey {
    #[inline(always)]
    fn from(id: TypeId) -> TypeKey {
        /// Not `transmute_copy`, which in debug builds checks its parameters at each of the many comparisons.
        union Bits {
            id: TypeId,
            bits: u128,
        }

        if !TypeKey::KNOWN {
            return TypeKey(0);
        }
        // SAFETY: both have the same size, and a `TypeId` has no padding; any bits are a `u128`.
        TypeKey(unsafe { Bits { id }.bits })
    }
}

#[cfg(test)]
mod tests {
    use super::TypeKey;
    use std::borrow::Cow;

    #[test]
    fn types_with_lifetimes_have_the_key_of_static_ones() {
        fn borrowed<'a>(_: &'a str) -> [TypeKey; 3] {
            [
                TypeKey::of::<&'a str>(),
                TypeKey::of::<&'a &'a u8>(),
                TypeKey::of::<Cow<'a, str>>(),
            ]
        }
        let expected = [
            TypeKey::of_static::<&'static str>(),
            TypeKey::of_static::<&'static &'static u8>(),
            TypeKey::of_static::<Cow<'static, str>>(),
        ];
        assert_eq!(borrowed(&String::from("local")), expected);
        const { assert!(TypeKey::KNOWN) };
        assert_eq!(TypeKey::of::<str>(), TypeKey::of_static::<str>());
        assert_eq!(
            TypeKey::of::<dyn std::fmt::Debug>(),
            TypeKey::of_static::<dyn std::fmt::Debug>()
        );
    }

    #[test]
    fn what_looks_alike_is_told_apart() {
        #[allow(non_camel_case_types)]
        struct u8;
        assert_ne!(TypeKey::of::<u8>(), TypeKey::of::<std::primitive::u8>());
        assert_ne!(TypeKey::of::<&mut i32>(), TypeKey::of::<&i32>());
        assert_ne!(TypeKey::of::<&&i32>(), TypeKey::of::<&i32>());
        assert_ne!(TypeKey::of::<fn(&str)>(), TypeKey::of::<fn(&'static str)>());
    }
}
