//! The destination of `write!`: its first argument.

use crate::input::split;
use proc_macro::{Delimiter, TokenStream, TokenTree};

/// The kind of a destination's expression.
pub(crate) enum Form {
    /// A variable, or a field of one, or a borrow of it: may be named twice.
    Place,
    /// A call's result.
    Value,
    Other,
}

impl Form {
    pub(crate) fn of(destination: &[TokenTree]) -> Form {
        let is_place = |token: &TokenTree| match token {
            // These must be evaluated only once.
            TokenTree::Ident(word) => {
                !["await", "return", "break", "yield", "move"].contains(&word.to_string().as_str())
            }
            TokenTree::Literal(_) => true,
            TokenTree::Punct(punct) => matches!(punct.as_char(), '.' | '&' | '*' | ':'),
            TokenTree::Group(group) => {
                matches!(group.delimiter(), Delimiter::None | Delimiter::Parenthesis)
                    && matches!(
                        Form::of(&group.stream().into_iter().collect::<Vec<_>>()),
                        Form::Place
                    )
            }
        };
        let is_call = match destination {
            [.., TokenTree::Ident(function), TokenTree::Group(group)] => {
                group.delimiter() == Delimiter::Parenthesis && function.to_string() != "mut"
            }
            _ => false,
        };
        // `*f()` and `&f()` are places, and `a + f()` is left to the compiler.
        let is_path = |token: &TokenTree| match token {
            TokenTree::Punct(punct) => matches!(punct.as_char(), '.' | ':'),
            _ => true,
        };
        if is_call {
            if destination.iter().all(is_path) {
                Form::Value
            } else {
                Form::Other
            }
        } else if !destination.is_empty() && destination.iter().all(is_place) {
            Form::Place
        } else {
            Form::Other
        }
    }
}

/// The tokens behind the first comma of `write!`'s arguments, which exists: `split` has found it.
pub(crate) fn after_comma(input: TokenStream) -> TokenStream {
    let first = split(input.clone()).first().map_or(0, Vec::len);
    input.into_iter().skip(first + 1).collect()
}
