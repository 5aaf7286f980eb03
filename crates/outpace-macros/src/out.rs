//! Builds tokens, in the macro's own scope.

use crate::input::Given;
use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

pub(crate) struct Out {
    /// outpace's `$crate`.
    root: TokenTree,
    /// The span of the macro's own names, which keeps them apart from a user's variables. It is that of `$crate`, so that
    /// an expression of the macro has one span, and errors point to a part with another [location](Self::borrowed).
    own: Span,
}

impl Out {
    pub(crate) fn new(root: TokenTree) -> Out {
        Out {
            own: root.span(),
            root,
        }
    }

    fn ident(&self, name: &str, span: Span) -> TokenTree {
        TokenTree::Ident(Ident::new(name, span))
    }

    /// A name or a keyword of the macro's own.
    pub(crate) fn plain(&self, name: &str) -> TokenTree {
        self.ident(name, self.own)
    }

    /// The name to which a reference to an argument is bound, located at the argument. A pattern with a name that a
    /// user's constant might have would match the constant.
    pub(crate) fn argument(&self, index: usize, shown_at: Span) -> TokenTree {
        self.ident(&format!("__outpace_{index}"), self.own.located_at(shown_at))
    }

    pub(crate) fn punct(&self, c: char) -> TokenTree {
        TokenTree::Punct(Punct::new(c, Spacing::Alone))
    }

    /// As [`punct`](Self::punct), located at `shown_at`.
    pub(crate) fn punct_at(&self, c: char, shown_at: Span) -> TokenTree {
        let mut punct = Punct::new(c, Spacing::Alone);
        punct.set_span(self.own.located_at(shown_at));
        TokenTree::Punct(punct)
    }

    /// `&(value)`, located at the value.
    pub(crate) fn borrowed(&self, given: &Given) -> TokenStream {
        let (first, last) = given.span;
        let mut value = Group::new(Delimiter::Parenthesis, given.value.clone());
        value.set_span(self.own.located_at(last));
        [self.punct_at('&', first), TokenTree::Group(value)]
            .into_iter()
            .collect()
    }

    pub(crate) fn string(&self, text: &str) -> TokenTree {
        let mut literal = Literal::string(text);
        literal.set_span(self.own.located_at(Span::mixed_site()));
        TokenTree::Literal(literal)
    }

    pub(crate) fn group(&self, delimiter: Delimiter, tokens: TokenStream) -> TokenTree {
        let mut group = Group::new(delimiter, tokens);
        group.set_span(self.own);
        TokenTree::Group(group)
    }

    pub(crate) fn parentheses(&self, tokens: TokenStream) -> TokenTree {
        self.group(Delimiter::Parenthesis, tokens)
    }

    pub(crate) fn braces(&self, tokens: TokenStream) -> TokenTree {
        self.group(Delimiter::Brace, tokens)
    }

    /// Several tokens as one expression.
    pub(crate) fn grouped(&self, tokens: TokenStream) -> TokenTree {
        self.group(Delimiter::None, tokens)
    }

    /// `…::__private::a::b`
    fn path_tokens(&self, names: &[&str]) -> impl Iterator<Item = TokenTree> {
        let names = ["__private"].into_iter().chain(names.iter().copied());
        let steps = names.flat_map(|name| {
            [
                TokenTree::Punct(Punct::new(':', Spacing::Joint)),
                TokenTree::Punct(Punct::new(':', Spacing::Alone)),
                self.plain(name),
            ]
        });
        std::iter::once(self.root.clone()).chain(steps)
    }

    /// A call of one of outpace's private functions.
    pub(crate) fn call(&self, function: &str, parameters: impl Into<TokenStream>) -> TokenTree {
        let parameters = self.parentheses(parameters.into());
        self.grouped(self.path_tokens(&[function]).chain([parameters]).collect())
    }

    /// `…::format_args!(…)`
    pub(crate) fn format_args(&self, arguments: impl Into<TokenStream>) -> TokenTree {
        let arguments = self.parentheses(arguments.into());
        let call = self
            .path_tokens(&["format_args"])
            .chain([self.punct('!'), arguments]);
        self.grouped(call.collect())
    }

    /// The items, each followed by a comma.
    pub(crate) fn separated(&self, items: impl IntoIterator<Item = TokenStream>) -> TokenStream {
        items
            .into_iter()
            .flat_map(|item| item.into_iter().chain([self.punct(',')]))
            .collect()
    }

    /// A tuple of any arity.
    pub(crate) fn list(&self, items: impl IntoIterator<Item = TokenStream>) -> TokenTree {
        self.parentheses(self.separated(items))
    }

    /// `…::Name { name: value, … }`
    pub(crate) fn structure<const N: usize>(
        &self,
        name: &str,
        fields: [(&str, TokenStream); N],
    ) -> TokenTree {
        let fields = fields.into_iter().map(|(name, value)| {
            [self.plain(name), self.punct(':')]
                .into_iter()
                .chain(value)
                .collect()
        });
        let fields = self.braces(self.separated(fields));
        self.grouped(self.path_tokens(&[name]).chain([fields]).collect())
    }

    /// `match (value) { pattern => body, }`
    pub(crate) fn match_one(
        &self,
        value: TokenStream,
        pattern: TokenStream,
        body: TokenStream,
    ) -> TokenStream {
        let arrow = [
            TokenTree::Punct(Punct::new('=', Spacing::Joint)),
            TokenTree::Punct(Punct::new('>', Spacing::Alone)),
        ];
        let arm = pattern.into_iter().chain(arrow).chain(body).collect();
        [self.plain("match")]
            .into_iter()
            .chain(value)
            .chain([self.braces(arm)])
            .collect()
    }

    /// `receiver.method(parameters)`
    pub(crate) fn method(
        &self,
        receiver: TokenStream,
        method: &str,
        parameters: impl Into<TokenStream>,
    ) -> TokenStream {
        let parameters = self.parentheses(parameters.into());
        receiver
            .into_iter()
            .chain([self.punct('.'), self.plain(method), parameters])
            .collect()
    }

    /// Tokens as an operand of those around them.
    pub(crate) fn operand(&self, tokens: Vec<TokenTree>) -> TokenStream {
        match tokens.as_slice() {
            // A group without delimiters is lost.
            [token] if !matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::None) => {
                token.clone().into()
            }
            _ => self.parentheses(tokens.into_iter().collect()).into(),
        }
    }

    /// A string's expression, whose temporaries end with it: `must_use({ let text = …; text })`.
    pub(crate) fn used(&self, value: TokenStream) -> TokenStream {
        let name = self.plain("__outpace_text");
        let bound = [self.plain("let"), name.clone(), self.punct('=')];
        let block = bound
            .into_iter()
            .chain(value)
            .chain([self.punct(';'), name])
            .collect();
        self.call("must_use", self.braces(block)).into()
    }

    /// std's own macro.
    pub(crate) fn std(&self, name: &str, input: TokenStream) -> TokenStream {
        self.path_tokens(&["std", name])
            .chain([self.punct('!'), self.parentheses(input)])
            .collect()
    }
}
