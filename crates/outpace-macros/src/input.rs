//! Parses the macro's arguments.

use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// Splits tokens at commas. A comma at the end is allowed.
///
/// Commas inside brackets are inside token groups. Two other kinds do not separate: those of generic arguments (`f::<A,
/// B>()`, `<A as B<C, D>>::e`, `p as *const F<A, B>`, `|x| -> F<A, B> { … }`) and those of a closure's parameters.
pub(crate) fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut all = Vec::new();
    let mut current = Vec::new();
    let mut scan = Scan::default();
    for token in tokens {
        if scan.separates(&token) {
            all.push(std::mem::take(&mut current));
        } else {
            current.push(token);
        }
    }
    if !current.is_empty() {
        all.push(current);
    }
    all
}

#[derive(Default)]
struct Scan {
    /// Within a closure's parameters.
    parameters: bool,
    /// Depth of angle brackets of generic arguments.
    angles: usize,
    /// Within a type, where `<` is always a bracket.
    in_type: bool,
    /// The last token ended an operand: `<` and `|` after it are operators.
    after_operand: bool,
    /// The token before, if it was punctuation and joint with the next.
    joint: Option<char>,
    last: Option<char>,
}

impl Scan {
    fn separates(&mut self, token: &TokenTree) -> bool {
        let TokenTree::Punct(punct) = token else {
            self.operand(token);
            return false;
        };
        let c = punct.as_char();
        let before = self.joint;
        let arrow = c == '>' && matches!(before, Some('-' | '='));
        // `as u8 + …`: the type has ended.
        self.in_type &= !self.after_operand || matches!(c, ':' | '<');
        if c == ',' && !self.parameters && self.angles == 0 {
            *self = Scan::default();
            return true;
        }
        if arrow {
            self.in_type = before == Some('-');
        } else if self.angles > 0 {
            match c {
                '<' => self.angles += 1,
                '>' => self.angles -= 1,
                _ => {}
            }
            self.after_operand = self.angles == 0;
            self.note(punct.spacing(), c);
            return false;
        } else if c == '<' && (!self.after_operand || self.in_type || self.last == Some(':')) {
            self.angles = 1;
        } else if c == '|' && self.parameters {
            self.parameters = false;
        } else if c == '|' && !self.after_operand && before != Some('|') {
            self.parameters = true;
        }
        // After `?` the operand goes on; other punctuation begins a new one.
        self.after_operand &= c == '?';
        self.note(punct.spacing(), c);
        false
    }

    fn operand(&mut self, token: &TokenTree) {
        self.after_operand = match token {
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                if word == "as" {
                    self.in_type = true;
                }
                // An operand begins after these.
                ![
                    "as", "return", "break", "move", "mut", "in", "else", "match", "if", "async",
                    "static",
                ]
                .contains(&word.as_str())
            }
            TokenTree::Group(group) => {
                if group.delimiter() == Delimiter::Brace {
                    self.in_type = false;
                }
                true
            }
            _ => true,
        };
        self.joint = None;
        self.last = None;
    }

    fn note(&mut self, spacing: Spacing, c: char) {
        self.joint = (spacing == Spacing::Joint).then_some(c);
        self.last = Some(c);
    }
}

/// An argument after the format string.
pub(crate) struct Given {
    pub(crate) name: Option<String>,
    pub(crate) value: TokenStream,
    /// The spans of its first and its last token.
    pub(crate) span: (Span, Span),
}

impl Given {
    /// `value` or `name = value`. `None` if empty.
    pub(crate) fn read(tokens: Vec<TokenTree>) -> Option<Given> {
        let name = match tokens.as_slice() {
            [TokenTree::Ident(name), TokenTree::Punct(equals), ..]
                if equals.as_char() == '=' && equals.spacing() == Spacing::Alone =>
            {
                Some(plain_name(name))
            }
            // `a = -b`, where `=` and `-` may touch.
            [
                TokenTree::Ident(name),
                TokenTree::Punct(equals),
                TokenTree::Punct(next),
                ..,
            ] if equals.as_char() == '=' && !matches!(next.as_char(), '=' | '>') => {
                Some(plain_name(name))
            }
            _ => None,
        };
        let mut value = tokens.into_iter();
        if name.is_some() {
            value.nth(1);
        }
        let value: Vec<TokenTree> = value.collect();
        let span = (value.first()?.span(), value.last()?.span());
        Some(Given {
            name,
            value: delimited(value.into_iter().collect()),
            span,
        })
    }
}

/// Whether an expression may await or yield: it contains the keyword, or a macro.
pub(crate) fn awaits(expression: TokenStream) -> bool {
    let mut after_name = false;
    let mut bang = false;
    for token in expression {
        let (name, mark) = match &token {
            TokenTree::Ident(word) => {
                if ["await", "yield"].contains(&word.to_string().as_str()) {
                    return true;
                }
                (true, false)
            }
            TokenTree::Punct(punct) => (false, after_name && punct.as_char() == '!'),
            TokenTree::Group(group) => {
                if bang || awaits(group.stream()) {
                    return true;
                }
                (false, false)
            }
            TokenTree::Literal(_) => (false, false),
        };
        (after_name, bang) = (name, mark);
    }
    false
}

/// Tokens with the same meaning, independent of their surroundings.
///
/// `macro_rules` passes on a `$x:expr` or the like as a group without delimiters, which is lost when a procedural macro
/// writes the tokens: `$x * 2` with `1 + 1` for `$x` would become `1 + 1 * 2`. Such groups get delimiters here, except
/// where they are not needed. Groups inside other groups stay unchanged.
pub(crate) fn delimited(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    if tokens.len() < 2 {
        // It gets parentheses later.
        return tokens.into_iter().collect();
    }
    let mut delimited = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let TokenTree::Group(group) = &token else {
            delimited.push(token);
            continue;
        };
        if group.delimiter() != Delimiter::None || holds_together(group.stream()) {
            delimited.push(token);
            continue;
        }
        let is_path = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint);
        if rest.peek().is_some_and(is_path) {
            // A type, and a name in it.
            let [mut open, mut close] = ['<', '>'].map(|c| Punct::new(c, Spacing::Alone));
            open.set_span(group.span());
            close.set_span(group.span());
            delimited.push(TokenTree::Punct(open));
            delimited.extend(group.stream());
            delimited.push(TokenTree::Punct(close));
        } else {
            let mut parentheses = Group::new(Delimiter::Parenthesis, group.stream());
            parentheses.set_span(group.span().resolved_at(Span::mixed_site()));
            delimited.push(TokenTree::Group(parentheses));
        }
    }
    delimited.into_iter().collect()
}

/// Whether tokens keep their meaning beside others: a single one, a lifetime, a path, or a macro's call.
fn holds_together(tokens: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    if let [only] = tokens.as_slice() {
        return match only {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                holds_together(group.stream())
            }
            _ => true,
        };
    }
    if let [TokenTree::Punct(quote), TokenTree::Ident(_)] = tokens.as_slice()
        && quote.as_char() == '\''
    {
        return true;
    }
    let path = match tokens.as_slice() {
        [path @ .., TokenTree::Punct(bang), TokenTree::Group(_)] if bang.as_char() == '!' => path,
        path => path,
    };
    !path.is_empty()
        && path.iter().all(|token| match token {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(punct) => punct.as_char() == ':',
            _ => false,
        })
        && !path.windows(2).any(|pair| {
            // `a b`, as in `return x`
            matches!(pair, [TokenTree::Ident(_), TokenTree::Ident(_)])
        })
}

fn plain_name(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_string)
}

/// The token inside groups without delimiters, as `macro_rules` passes on its matches.
pub(crate) fn bare(mut token: TokenTree) -> TokenTree {
    while let TokenTree::Group(group) = &token {
        let mut inner = group.stream().into_iter();
        match (group.delimiter(), inner.next(), inner.next()) {
            (Delimiter::None, Some(only), None) => token = only,
            _ => break,
        }
    }
    token
}
