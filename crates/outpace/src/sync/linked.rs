//! Code that a program has only if it calls what needs it.

use std::sync::OnceLock;

/// A place for pointers to functions. Callers find them here and do not mention them by name: a program
/// has their code only if it also has a call of [`link`](Self::link).
pub(crate) struct Linked<T>(OnceLock<T>);

impl<T> Linked<T> {
    pub(crate) const fn new() -> Self {
        Linked(OnceLock::new())
    }

    pub(crate) fn link(&self, functions: T) {
        self.0.get_or_init(|| functions);
    }

    /// Nothing until they are linked.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }
}
