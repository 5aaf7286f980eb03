//! Code that is linked only into programs that call a function which needs it.

use std::sync::OnceLock;

/// Pointers to functions. Callers get them here instead of naming the functions: a program has their code only if it
/// also has a call of [`link`](Self::link).
pub(crate) struct Linked<T>(OnceLock<T>);

impl<T> Linked<T> {
    pub(crate) const fn new() -> Self {
        Linked(OnceLock::new())
    }

    pub(crate) fn link(&self, functions: T) {
        self.0.get_or_init(|| functions);
    }

    /// `None` until they are linked.
    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.get()
    }
}
