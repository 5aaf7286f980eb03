//! The macro's arguments, taken apart.

use proc_macro::{Delimiter, Ident, Spacing, Span, TokenStream, TokenTree};

/// Splits tokens into what stands between the commas. A comma at the end ends the last one.
///
/// Commas inside brackets are inside token groups, so out of sight. Two kinds remain that do not
/// separate: those of generic arguments (`f::<A, B>()`, `<A as B<C, D>>::e`, `p as *const F<A, B>`,
/// `|x| -> F<A, B> { … }`) and those of a closure's parameters.
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
    /// A type is being read, where `<` is always a bracket.
    in_type: bool,
    /// The last token ended an operand: `<` and `|` after it are operators.
    after_operand: bool,
    /// The last character of the token before, if it was punctuation and touches the next.
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
        // `?` ends an operand as it began; all other punctuation is followed by a new one.
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
                // What follows these begins an operand.
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
    pub(crate) span: Span,
}

impl Given {
    /// `value` or `name = value`. `None` if there is nothing.
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
        let span = value.first()?.span();
        Some(Given {
            name,
            value: value.into_iter().collect(),
            span,
        })
    }
}

fn plain_name(name: &Ident) -> String {
    let name = name.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_string)
}

/// The token inside groups without delimiters, which is how `macro_rules` hands on what it matched.
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
