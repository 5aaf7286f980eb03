//! The calls that a macro stands for.
//!
//! `print!("{x}: {:>5}\n", y)` becomes
//!
//! ```text
//! match (&(y), &x) {
//!     (a0, a1) => print((
//!         arg(a1).display(),
//!         ": ",
//!         arg(a0).display_as(Spec::new(' ', Align::Right, …), format_args!("{0:>5}", *a0)),
//!         "\n",
//!     )),
//! }
//! ```
//!
//! with every name but the user's from outpace's private module. The arguments are borrowed once, in
//! std's order, outside of what the macro's own names could disturb.

use crate::input::{Given, bare, split};
use crate::literal::string_value;
use crate::out::Out;
use crate::template::{Argument, Count, Field, Part, parse};
use proc_macro::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};

/// Where the text goes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Target {
    Stdout,
    Stderr,
    String,
    /// The macro's first argument.
    Destination,
}

/// Which macro it is.
pub(crate) struct Expansion {
    pub(crate) target: Target,
    pub(crate) newline: bool,
}

/// A message that was read.
struct Message {
    literal: Span,
    parts: Vec<Part>,
    /// The arguments given, and after them those that the format string captures.
    arguments: Vec<Given>,
}

impl Expansion {
    pub(crate) fn of(&self, input: TokenStream) -> TokenStream {
        let mut input = input.into_iter();
        let root = input.next().expect("the wrapper passes `$crate` first");
        let out = Out::new(root);
        let rest: TokenStream = input.collect();
        match self.target {
            Target::Destination => self.write(&out, rest),
            _ => self.print(&out, rest),
        }
    }

    /// `print!` and the like.
    fn print(&self, out: &Out, input: TokenStream) -> TokenStream {
        let function = match self.target {
            Target::Stdout => "print",
            Target::Stderr => "eprint",
            _ => "format",
        };
        let call = |pieces| out.call(function, pieces);
        match Message::read(split(input.clone()), self.newline) {
            Some(message) => message.bind(out, |out| call(message.pieces(out))),
            None => {
                let mut pieces = vec![out.call("Formatted", out.format_args(input))];
                if self.newline {
                    pieces.push(out.call("Literal", out.string("\n", Span::mixed_site())));
                }
                call(out.tuple(pieces)).into()
            }
        }
    }

    /// `write!` and `writeln!`: always a call of `write_fmt`, which finds the method that std's macros
    /// would find. What is passed to it depends on the destination: see `Destination` in outpace.
    fn write(&self, out: &Out, input: TokenStream) -> TokenStream {
        let mut arguments = split(input.clone());
        if arguments.is_empty() {
            return out.std(if self.newline { "writeln" } else { "write" }, input);
        }
        let destination = arguments.remove(0);
        let format: TokenStream = after_comma(input);
        let form = Form::of(&destination);
        let message = match form {
            Form::Other => None,
            _ => Message::read(arguments, self.newline),
        };
        let Some(message) = message else {
            let arguments = match self.newline {
                false => out.format_args(format),
                true if format.is_empty() => out.format_args(out.string("\n", Span::mixed_site())),
                true => out.format_args(
                    [
                        out.string("{}\n", Span::mixed_site()),
                        out.punct(','),
                        out.format_args(format),
                    ]
                    .into_iter()
                    .collect::<TokenStream>(),
                ),
            };
            return out.method(out.operand(destination), "write_fmt", arguments);
        };
        match form {
            Form::Value => {
                // A new value: bound to a name, it is evaluated once, and before the arguments.
                let name = out.ident("destination", Span::mixed_site());
                let pattern = [out.plain("mut"), name.clone()].into_iter().collect();
                let body = message.write_to(out, name.into());
                out.match_one(destination.into_iter().collect(), pattern, body)
            }
            _ => message.write_to(out, out.operand(destination)),
        }
    }
}

/// What kind of expression a destination is.
enum Form {
    /// A variable, or a field of one, or a borrow of it: may be named twice.
    Place,
    /// A call's result.
    Value,
    Other,
}

impl Form {
    fn of(destination: &[TokenTree]) -> Form {
        let is_place = |token: &TokenTree| match token {
            TokenTree::Ident(_) | TokenTree::Literal(_) => true,
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
        // `*f()` and `&f()` name what the call refers to; `a + f()` is not ours to judge.
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

/// What follows the first comma of `write!`'s arguments, which `split` has found to be there.
fn after_comma(input: TokenStream) -> TokenStream {
    let first = split(input.clone()).first().map_or(0, Vec::len);
    input.into_iter().skip(first + 1).collect()
}

impl Message {
    /// `None` if the compiler shall read it.
    fn read(arguments: Vec<Vec<TokenTree>>, newline: bool) -> Option<Message> {
        let mut given = arguments.into_iter();
        let (literal, mut parts) = match given.next() {
            Some(format) => {
                let [token] = <[TokenTree; 1]>::try_from(format).ok()?;
                let token = bare(token);
                let TokenTree::Literal(literal) = &token else {
                    return None;
                };
                (literal.span(), parse(&string_value(&literal.to_string())?)?)
            }
            None => (Span::mixed_site(), Vec::new()),
        };
        if newline {
            match parts.last_mut() {
                Some(Part::Text(text)) => text.push('\n'),
                _ => parts.push(Part::Text("\n".to_string())),
            }
        }
        let mut arguments = given.map(Given::read).collect::<Option<Vec<Given>>>()?;
        let explicit = arguments.len();
        let named = arguments
            .iter()
            .position(|given| given.name.is_some())
            .unwrap_or(explicit);
        for (i, argument) in arguments.iter().enumerate().skip(named) {
            let name = argument.name.as_ref()?;
            if arguments[..i]
                .iter()
                .any(|earlier| earlier.name.as_ref() == Some(name))
            {
                return None;
            }
        }
        let mut used = vec![false; explicit];
        for part in &mut parts {
            let Part::Field(field) = part else { continue };
            for argument in field.arguments_mut() {
                let index = match argument {
                    Argument::Position(index) => *index,
                    Argument::Name(name) => {
                        let known = arguments
                            .iter()
                            .position(|given| given.name.as_ref() == Some(name));
                        match known {
                            Some(index) => index,
                            None => {
                                arguments.push(capture(name, literal)?);
                                arguments.len() - 1
                            }
                        }
                    }
                };
                // A position counts only what was given.
                match used.get_mut(index) {
                    Some(used) => *used = true,
                    None if matches!(argument, Argument::Position(_)) => return None,
                    None => {}
                }
                *argument = Argument::Position(index);
            }
        }
        used.into_iter().all(|used| used).then_some(Message {
            literal,
            parts,
            arguments,
        })
    }

    /// Evaluates the arguments, and binds references to them to `a0`, `a1`, … in `body`.
    fn bind(&self, out: &Out, body: impl FnOnce(&Out) -> TokenTree) -> TokenStream {
        if self.arguments.is_empty() {
            return body(out).into();
        }
        let references = self.arguments.iter().map(|given| {
            let value = out.parentheses(given.value.clone());
            [out.punct('&'), value].into_iter().collect::<TokenStream>()
        });
        let names = (0..self.arguments.len()).map(|i| out.argument(i).into());
        let scrutinee = out.list(references);
        let pattern = out.list(names);
        out.match_one(scrutinee.into(), pattern.into(), body(out).into())
    }

    /// What the message is made of, as one expression.
    fn pieces(&self, out: &Out) -> TokenTree {
        let pieces = self.parts.iter().map(|part| match part {
            Part::Text(text) => out.call("Literal", out.string(text, self.literal)),
            Part::Field(field) => self.piece(out, field),
        });
        out.tuple(pieces.collect())
    }

    fn piece(&self, out: &Out, field: &Field) -> TokenTree {
        let index = field.argument.index();
        let plain = field.is_plain();
        let method = match (field.kind.as_str(), plain) {
            ("", true) => "display",
            ("?", true) => "debug",
            ("", false) => "display_as",
            ("?", false) => "debug_as",
            ("x", _) => "lower_hex_as",
            ("X", _) => "upper_hex_as",
            ("o", _) => "octal_as",
            ("b", _) => "binary_as",
            ("e", _) if field.precision.is_none() => "lower_exp_as",
            _ => return out.call("Formatted", self.formatted(out, field)),
        };
        let argument = out.call("arg", out.argument(index));
        let span = Span::mixed_site().located_at(self.arguments[index].span);
        let parameters = if plain && matches!(field.kind.as_str(), "" | "?") {
            TokenStream::new()
        } else {
            [
                self.spec(out, field),
                out.punct(','),
                self.formatted(out, field),
            ]
            .into_iter()
            .collect()
        };
        out.grouped(
            [
                argument,
                out.punct('.'),
                out.ident(method, span),
                out.parentheses(parameters),
            ]
            .into_iter()
            .collect(),
        )
    }

    /// `Spec::new(fill, align, [plus, alternate, zero], width, precision)`
    fn spec(&self, out: &Out, field: &Field) -> TokenTree {
        let align = match field.align {
            None => "Unsaid",
            Some('<') => "Left",
            Some('>') => "Right",
            Some(_) => "Center",
        };
        let flag = |set: bool| out.plain(if set { "true" } else { "false" });
        let flags = [
            flag(field.sign == Some('+')),
            out.punct(','),
            flag(field.alternate),
            out.punct(','),
            flag(field.zero),
        ];
        let flags = out.group(Delimiter::Bracket, flags.into_iter().collect());
        let width = self
            .count(out, field.width.as_ref())
            .unwrap_or_else(|| out.number(0));
        let precision = match self.count(out, field.precision.as_ref()) {
            None => out.path(&["None"]),
            Some(precision) => out.call("Some", precision),
        };
        let fill = TokenTree::Literal(Literal::character(field.fill.unwrap_or(' ')));
        let parameters = [fill, out.path(&["Align", align]), flags, width, precision];
        out.grouped(
            [
                out.path(&["Spec", "new"]),
                out.list(parameters.into_iter().map(Into::into)),
            ]
            .into_iter()
            .collect(),
        )
    }

    fn count(&self, out: &Out, count: Option<&Count>) -> Option<TokenTree> {
        Some(match count? {
            Count::Number(number) => out.number(usize::from(*number)),
            Count::Argument(argument) => out.place(argument.index()),
        })
    }

    /// The field as `format_args!` would be given it alone.
    fn formatted(&self, out: &Out, field: &Field) -> TokenTree {
        let mut arguments = Vec::new();
        let text = field.rebuilt(|index| {
            arguments.push(out.place(index));
            arguments.len() - 1
        });
        arguments.insert(0, out.string(&text, Span::mixed_site()));
        out.format_args(out.separated(arguments.into_iter().map(Into::into)))
    }

    /// The whole message as std's macros would be given it.
    fn all_formatted(&self, out: &Out) -> TokenTree {
        let text = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Part::Field(field) => field.rebuilt(|index| index),
        });
        let text = out.string(&text.collect::<String>(), Span::mixed_site());
        let places = (0..self.arguments.len()).map(|index| out.place(index));
        out.format_args(out.separated(std::iter::once(text).chain(places).map(Into::into)))
    }

    /// `destination.write_fmt(…)`
    fn write_to(&self, out: &Out, destination: TokenStream) -> TokenStream {
        let text = Span::mixed_site();
        self.bind(out, |out| {
            let kind = out.ident("kind", text);
            let parcel = out.ident("parcel", text);
            // kind.is(&destination), never run: it is for the types.
            let borrowed = [out.punct('&'), out.parentheses(destination.clone())];
            let is = out.method(
                kind.clone().into(),
                "is",
                borrowed.into_iter().collect::<TokenStream>(),
            );
            let looped = [out.plain("loop"), out.braces(TokenStream::new())];
            let dead = out.braces(
                is.into_iter()
                    .chain([out.punct(';')])
                    .chain(looped)
                    .collect(),
            );
            let look = [out.plain("if"), out.plain("false"), dead];
            let choice = out.method(
                kind.clone().into(),
                "choose",
                out.separated(
                    [
                        [out.punct('&'), parcel.clone()].into_iter().collect(),
                        out.format_args(
                            [out.string("{}", text), out.punct(','), parcel.clone()]
                                .into_iter()
                                .collect::<TokenStream>(),
                        )
                        .into(),
                        self.all_formatted(out).into(),
                    ]
                    .into_iter(),
                ),
            );
            let write = out.method(destination.clone(), "write_fmt", choice);
            let body = out.braces(look.into_iter().chain(write).collect());
            let names = out.list([kind.into(), parcel.into()].into_iter());
            let values = out.list(
                [
                    out.call("destination", TokenStream::new()).into(),
                    out.call("Parcel", self.pieces(out)).into(),
                ]
                .into_iter(),
            );
            out.grouped(out.match_one(values.into(), names.into(), body.into()))
        })
    }
}

/// A variable that the format string names. `None` if it cannot be one.
fn capture(name: &str, literal: Span) -> Option<Given> {
    const KEYWORDS: [&str; 52] = [
        "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
        "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
        "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv",
        "pub", "ref", "return", "static", "struct", "super", "trait", "true", "try", "type",
        "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "_",
    ];
    if KEYWORDS.contains(&name) {
        return None;
    }
    // The literal's place, so that the name means there what it means to a reader.
    let ident = TokenTree::Ident(Ident::new(name, literal));
    Some(Given {
        name: Some(name.to_string()),
        value: ident.into(),
        span: literal,
    })
}
