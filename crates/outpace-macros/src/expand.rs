//! The expansion of a macro.
//!
//! `print!("{x}: {:>5} {}\n", y, z)` becomes
//!
//! ```text
//! print(
//!     b"\0\x02: \x01 \x01\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
//!     &[display(&(x)), display_simple(&(y), PackedSpec(0x5_1440_0020)), display(&(z))],
//! )
//! ```
//!
//! with all names except the user's from outpace's private module. If an argument is used twice, or out of order, or
//! one contains an `await`, all are evaluated first, as std does:
//!
//! ```text
//! match (&(y), &(x)) { (__outpace_0, __outpace_1) => print(…) }
//! ```
//!
//! A short message of plain placeholders is `print2(b"…", &(x), &(y))`. Expansions are short, because that saves build time:
//! `examples/build-costs.rs` in outpace measures it. `format_args!`, with the user's own tokens, makes its own errors
//! and lints.

use crate::destination::{Form, after_comma};
use crate::input::{Given, awaits, bare, delimited, split};
use crate::literal::string_value;
use crate::out::Out;
use crate::template::{Argument, Count, Part, Placeholder, parse};
use proc_macro::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};

/// The target of the text.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Target {
    Stdout,
    Stderr,
    String,
    /// The macro's first argument.
    Destination,
}

/// One of the macros.
pub(crate) struct Expansion {
    pub(crate) target: Target,
    pub(crate) newline: bool,
}

/// A parsed message.
struct Message {
    parts: Vec<Part>,
    /// The explicit arguments, then those that the format string captures.
    arguments: Vec<Given>,
    /// Whether the arguments are bound to names first. Not necessary if each is used once, and in the order of
    /// evaluation.
    bound: bool,
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

    /// `print!`, `println!`, `eprint!`, `eprintln!` and `format!`.
    fn print(&self, out: &Out, input: TokenStream) -> TokenStream {
        let function = match self.target {
            Target::Stdout => "print",
            Target::Stderr => "eprint",
            _ => "format",
        };
        let read = match input.is_empty() && !self.newline {
            false => Message::read(split(input.clone()), self.newline),
            true => None,
        };
        let call = match read {
            Some(message) => message.bind(out, |out| message.print(out, function)),
            None => {
                let borrowed = [out.punct('&'), out.format_args(delimited(input))];
                let borrowed = borrowed.into_iter().collect::<TokenStream>();
                let placeholders =
                    borrowed_list(out, std::iter::once(out.call("formatted", borrowed)));
                let newline = if self.newline { "\n" } else { "" };
                let texts = [
                    encoded(&[String::new(), newline.to_string()]),
                    out.punct(','),
                ];
                let parameters = texts.into_iter().chain(placeholders);
                out.call(function, parameters.collect::<TokenStream>())
                    .into()
            }
        };
        match self.target {
            Target::String => out.used(call),
            _ => call,
        }
    }

    /// `write!` and `writeln!`: always a call of `write_fmt`, which finds the same method as in std's macros. Its
    /// argument depends on the destination: see `WriteTarget` in outpace.
    fn write(&self, out: &Out, input: TokenStream) -> TokenStream {
        let mut arguments = split(input.clone());
        if arguments.is_empty() || arguments.len() == 1 && !self.newline {
            return out.std(if self.newline { "writeln" } else { "write" }, input);
        }
        let destination = arguments.remove(0).into_iter().collect();
        let destination: Vec<TokenTree> = delimited(destination).into_iter().collect();
        let format = delimited(after_comma(input));
        let form = Form::of(&destination);
        let message = match form {
            Form::Other => None,
            _ => Message::read(arguments, self.newline),
        };
        let Some(message) = message else {
            let arguments = match self.newline {
                false => out.format_args(format),
                true if format.is_empty() => out.format_args(out.string("\n")),
                true => out.format_args(
                    [out.string("{}\n"), out.punct(','), out.format_args(format)]
                        .into_iter()
                        .collect::<TokenStream>(),
                ),
            };
            return out.method(out.operand(destination), "write_fmt", arguments);
        };
        match form {
            Form::Value => {
                // A new value: bound to a name, it is evaluated once, and before the arguments.
                let name = out.plain("__outpace_destination");
                let pattern = [out.plain("mut"), name.clone()].into_iter().collect();
                let body = message.write_to(out, name.into());
                out.match_one(destination.into_iter().collect(), pattern, body)
            }
            _ => message.write_to(out, out.operand(destination)),
        }
    }
}

impl Message {
    /// `None` if it is left to `format_args!`.
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
            let Part::Placeholder(placeholder) = part else {
                continue;
            };
            for argument in placeholder.arguments_mut() {
                let index = match argument {
                    // A named argument used by position: the compiler has a lint for that.
                    Argument::Position(index) if (named..explicit).contains(index) => return None,
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
                // Positions refer to explicit arguments only.
                match used.get_mut(index) {
                    Some(used) => *used = true,
                    None if matches!(argument, Argument::Position(_)) => return None,
                    None => {}
                }
                *argument = Argument::Position(index);
            }
        }
        if !used.into_iter().all(|used| used) {
            return None;
        }
        let mut message = Message {
            parts,
            arguments,
            bound: true,
        };
        let used_once = |(i, placeholder): (usize, &Placeholder)| {
            let is_named_once = match placeholder.kind.as_str() {
                "" => placeholder.is_simple() && !placeholder.counts_are_arguments(),
                "?" => placeholder.is_plain_or_alternate(),
                _ => false,
            };
            placeholder.argument.index() == i && is_named_once
        };
        // A value made from an argument must not live across the `await` in another.
        message.bound = message.placeholders().count() != message.arguments.len()
            || !message.placeholders().enumerate().all(used_once)
            || (message.arguments.iter()).any(|given| awaits(given.value.clone()));
        Some(message)
    }

    /// Evaluates the arguments, and binds references to them to names in `body`.
    fn bind(&self, out: &Out, body: impl FnOnce(&Out) -> TokenTree) -> TokenStream {
        if !self.bound || self.arguments.is_empty() {
            return body(out).into();
        }
        let references = self.arguments.iter().map(|given| out.borrowed(given));
        let names = (0..self.arguments.len()).map(|i| self.name(out, i).into());
        let scrutinee = out.list(references);
        let pattern = out.list(names);
        out.match_one(scrutinee.into(), pattern.into(), body(out).into())
    }

    /// The name to which a reference to an argument is bound, with the argument's span, so that errors point there.
    fn name(&self, out: &Out, index: usize) -> TokenTree {
        out.argument(index, self.arguments[index].span.0)
    }

    /// The argument itself: its name, dereferenced.
    fn place(&self, out: &Out, index: usize) -> TokenTree {
        let place = [
            out.punct_at('*', self.arguments[index].span.0),
            self.name(out, index),
        ];
        out.grouped(place.into_iter().collect())
    }

    /// The texts before, between and behind the placeholders.
    fn texts(&self) -> Vec<String> {
        let mut texts = vec![String::new()];
        for part in &self.parts {
            match part {
                Part::Text(text) => texts.last_mut().expect("there is one").push_str(text),
                Part::Placeholder(_) => texts.push(String::new()),
            }
        }
        texts
    }

    fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Text(_) => None,
        })
    }

    /// Whether the message has few plain placeholders of one kind, between short texts: each kind of these has a function.
    fn is_short(&self, texts: &[String], most: usize, kind: &str) -> bool {
        (1..=most).contains(&(texts.len() - 1))
            && texts.iter().all(|text| text.len() <= TEXT)
            && self
                .placeholders()
                .all(|placeholder| placeholder.is_plain() && placeholder.kind == kind)
    }

    /// The text of a message without placeholders.
    fn only_text(texts: &[String]) -> Option<&String> {
        match texts {
            [text] => Some(text),
            _ => None,
        }
    }

    /// `print2(b"…", &(…), &(…))` or `print(b"…", &[display(&(…)), …])`
    fn print(&self, out: &Out, function: &str) -> TokenTree {
        let texts = self.texts();
        if let Some(text) = Self::only_text(&texts) {
            return print_literal(out, function, text);
        }
        let print = match function {
            "print" if self.is_short(&texts, SHORT, "") => format!("print{}", texts.len() - 1),
            "print" if self.is_short(&texts, 1, "?") => "print_debug1".to_string(),
            _ => return out.call(function, self.texts_and_arguments(out, &texts)),
        };
        let values = self
            .placeholders()
            .map(|placeholder| self.reference(out, placeholder.argument.index()));
        let parameters = std::iter::once(encoded(&texts).into()).chain(values);
        out.call(&print, out.separated(parameters))
    }

    /// `SmallMessage(b"…", (value(a), …))`, or `MessageArgs { texts: b"…", arguments: &[if_display(a), …] }`, or `Literal("…")`
    fn expression(&self, out: &Out) -> TokenTree {
        let texts = self.texts();
        if let Some(text) = Self::only_text(&texts) {
            return out.call("Literal", out.string(text));
        }
        if !self.is_short(&texts, SHORT, "") {
            let placeholders = self
                .placeholders()
                .map(|placeholder| self.placeholder(out, placeholder, true));
            let [texts, arguments] = [encoded(&texts).into(), borrowed_list(out, placeholders)];
            return out.structure("MessageArgs", [("texts", texts), ("arguments", arguments)]);
        }
        let values = self.placeholders().map(|placeholder| {
            let value = self.reference(out, placeholder.argument.index());
            out.call("value", value).into()
        });
        let parameters = [encoded(&texts), out.punct(','), out.list(values)];
        out.call(
            "SmallMessage",
            parameters.into_iter().collect::<TokenStream>(),
        )
    }

    /// `b"…", &[display(&(…)), …]`
    fn texts_and_arguments(&self, out: &Out, texts: &[String]) -> TokenStream {
        [encoded(texts), out.punct(',')]
            .into_iter()
            .chain(borrowed_list(
                out,
                self.placeholders()
                    .map(|placeholder| self.placeholder(out, placeholder, false)),
            ))
            .collect()
    }

    /// A placeholder as a type-erased argument. `std_gets_all`: `format_args!` also gets the whole message, so a fallback
    /// argument need not be formatted alone.
    fn placeholder(&self, out: &Out, placeholder: &Placeholder, std_gets_all: bool) -> TokenTree {
        let function = match placeholder.kind.as_str() {
            "" if placeholder.is_plain() && std_gets_all => "if_display",
            "?" if placeholder.is_plain_or_alternate() && std_gets_all => "if_debug",
            "" if placeholder.is_plain() => "display",
            "?" if placeholder.is_plain() => "debug",
            "?" if placeholder.is_plain_or_alternate() => "pretty",
            "" if placeholder.is_simple() && !std_gets_all => "display_simple",
            "" => "display_as",
            "?" => "debug_as",
            "x" => "lower_hex_as",
            "X" => "upper_hex_as",
            "o" => "octal_as",
            "b" => "binary_as",
            "e" if placeholder.precision.is_none() => "lower_exp_as",
            _ => return self.fallback(out, placeholder, std_gets_all),
        };
        let mut parameters = self.reference(out, placeholder.argument.index());
        if function == "display_simple" || function.ends_with("_as") {
            parameters.extend([out.punct(',')]);
            parameters.extend(self.packed_spec(out, placeholder));
        }
        if function.ends_with("_as") {
            parameters.extend([
                out.punct(','),
                self.fallback(out, placeholder, std_gets_all),
            ]);
        }
        out.call(function, parameters)
    }

    /// `formatted(&format_args!(…))`, or `left_to_std()`.
    fn fallback(&self, out: &Out, placeholder: &Placeholder, std_gets_all: bool) -> TokenTree {
        if std_gets_all {
            return out.call("left_to_std", TokenStream::new());
        }
        let formatted = [out.punct('&'), self.formatted(out, placeholder)];
        out.call("formatted", formatted.into_iter().collect::<TokenStream>())
    }

    /// A reference to an argument: its name, if it is bound to one, or a borrow.
    fn reference(&self, out: &Out, index: usize) -> TokenStream {
        if self.bound {
            return self.name(out, index).into();
        }
        out.borrowed(&self.arguments[index])
    }

    /// `PackedSpec(…)`, in outpace's encoding, with `.width(…)` and `.precision(…)` if these are arguments.
    fn packed_spec(&self, out: &Out, placeholder: &Placeholder) -> TokenStream {
        let align = match placeholder.align {
            None => 0,
            Some('<') => 1,
            Some('>') => 2,
            Some(_) => 3,
        };
        let mut bits = u64::from(placeholder.fill.unwrap_or(' ')) | align << 21;
        bits |= u64::from(placeholder.sign == Some('+')) << 23;
        bits |= u64::from(placeholder.alternate) << 24;
        bits |= u64::from(placeholder.zero) << 25;
        let mut given = Vec::new();
        let counts = [
            (&placeholder.width, "width", 26, 28),
            (&placeholder.precision, "precision", 27, 44),
        ];
        for (count, name, is_there, place) in counts {
            match count {
                None => {}
                Some(Count::Number(number)) => bits |= 1 << is_there | u64::from(*number) << place,
                Some(Count::Argument(argument)) => given.push((name, argument.index())),
            }
        }
        let bits = TokenTree::Literal(Literal::u64_unsuffixed(bits));
        let spec = out.call("PackedSpec", bits).into();
        given.into_iter().fold(spec, |spec, (name, index)| {
            out.method(spec, name, self.place(out, index))
        })
    }

    /// `format_args!` of the placeholder alone.
    fn formatted(&self, out: &Out, placeholder: &Placeholder) -> TokenTree {
        let mut arguments = Vec::new();
        let text = placeholder.rebuilt(|index| {
            arguments.push(self.place(out, index));
            arguments.len() - 1
        });
        arguments.insert(0, out.string(&text));
        out.format_args(out.separated(arguments.into_iter().map(Into::into)))
    }

    /// `format_args!` of the whole message.
    fn all_formatted(&self, out: &Out) -> TokenTree {
        let text = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Part::Placeholder(placeholder) => placeholder.rebuilt(|index| index),
        });
        let text = out.string(&text.collect::<String>());
        let places = (0..self.arguments.len()).map(|index| self.place(out, index));
        out.format_args(out.separated(std::iter::once(text).chain(places).map(Into::into)))
    }

    /// `destination.write_fmt(…)`
    fn write_to(mut self, out: &Out, destination: TokenStream) -> TokenStream {
        // The arguments are named twice.
        self.bound = true;
        self.bind(out, |out| {
            let target = out.plain("__outpace_target");
            let message = out.plain("__outpace_message");
            // `target.__outpace_is(&destination)`, which never runs: it infers the type.
            let borrowed = [out.punct('&'), out.parentheses(destination.clone())];
            let is = out.method(
                target.clone().into(),
                "__outpace_is",
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
            let adapter = out.method(
                message.clone().into(),
                "__outpace_fmt_adapter",
                TokenStream::new(),
            );
            let choice = out.method(
                target.clone().into(),
                "__outpace_choose",
                out.separated([
                    [out.punct('&'), message.clone()].into_iter().collect(),
                    out.format_args(
                        [out.string("{}"), out.punct(',')]
                            .into_iter()
                            .chain(adapter)
                            .collect::<TokenStream>(),
                    )
                    .into(),
                    self.all_formatted(out).into(),
                ]),
            );
            let write = out.method(destination.clone(), "write_fmt", choice);
            let body = out.braces(look.into_iter().chain(write).collect());
            let names = out.list([target.into(), message.into()]);
            let values = out.list([
                out.call("write_target", TokenStream::new()).into(),
                out.call("Opaque", self.expression(out)).into(),
            ]);
            out.grouped(out.match_one(values.into(), names.into(), body.into()))
        })
    }
}

/// The size of a short text, and its longest length: `TEXT` in outpace.
const TEXT: usize = 16;

/// The most placeholders of a short message.
const SHORT: usize = 4;

/// The texts before, between and behind the placeholders, in outpace's encoding.
fn encoded(texts: &[String]) -> TokenTree {
    const LONG: u8 = u8::MAX;
    let mut bytes = Vec::new();
    for text in texts {
        if text.len() <= TEXT {
            bytes.push(text.len() as u8);
            bytes.extend(text.as_bytes());
            bytes.resize(bytes.len() + TEXT - text.len(), 0);
        } else {
            bytes.push(LONG);
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
    }
    TokenTree::Literal(Literal::byte_string(&bytes))
}

/// `print_literal(b"text\0\0…", 4)`, or a call with the unchanged text.
fn print_literal(out: &Out, function: &str, text: &str) -> TokenTree {
    /// As in outpace.
    const SHORT: usize = 32;
    match function {
        "print" if text.len() <= SHORT => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(SHORT, 0);
            let parameters = [
                TokenTree::Literal(Literal::byte_string(&bytes)),
                TokenTree::Literal(Literal::usize_unsuffixed(text.len())),
            ];
            let parameters = parameters.into_iter().map(Into::into);
            out.call("print_literal", out.separated(parameters))
        }
        "print" => out.call("print_long_literal", out.string(text)),
        _ => out.call(&format!("{function}_literal"), out.string(text)),
    }
}

/// `&[item, …]`
fn borrowed_list(out: &Out, placeholders: impl Iterator<Item = TokenTree>) -> TokenStream {
    let placeholders = out.separated(placeholders.map(Into::into));
    [out.punct('&'), out.group(Delimiter::Bracket, placeholders)]
        .into_iter()
        .collect()
}

/// A variable captured by the format string. `None` if the name cannot be a variable's.
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
    // With the literal's span, so that the name is resolved where the literal is.
    let ident = TokenTree::Ident(Ident::new(name, literal));
    Some(Given {
        name: Some(name.to_string()),
        value: ident.into(),
        span: (literal, literal),
    })
}
