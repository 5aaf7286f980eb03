//! Parses the format string: <https://doc.rust-lang.org/std/fmt/#syntax>.

/// A piece of a format string.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Placeholder(Placeholder),
}

/// The contents of a pair of braces.
#[derive(Debug, PartialEq)]
pub(crate) struct Placeholder {
    pub(crate) argument: Argument,
    pub(crate) fill: Option<char>,
    /// `<`, `>` or `^`.
    pub(crate) align: Option<char>,
    pub(crate) sign: Option<char>,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: Option<Count>,
    pub(crate) precision: Option<Count>,
    /// The type, at the end: ``, `?`, `x?`, `X?`, `x`, `X`, `o`, `b`, `e`, `E`, `p`.
    pub(crate) kind: String,
}

impl Placeholder {
    /// Whether it has only the argument and the type.
    pub(crate) fn is_plain(&self) -> bool {
        !self.alternate && self.is_plain_or_alternate()
    }

    /// The same, with or without `#`.
    pub(crate) fn is_plain_or_alternate(&self) -> bool {
        self.fill.is_none()
            && self.align.is_none()
            && self.sign.is_none()
            && !self.zero
            && self.width.is_none()
            && self.precision.is_none()
    }

    /// Whether it has at most an alignment with spaces, or a `0`, and a width and a precision.
    pub(crate) fn is_simple(&self) -> bool {
        self.fill.is_none_or(|fill| fill == ' ')
            && self.sign.is_none()
            && !self.alternate
            && !(self.zero && self.align.is_some())
    }

    /// Whether the width or the precision is an argument.
    pub(crate) fn counts_are_arguments(&self) -> bool {
        [&self.width, &self.precision]
            .into_iter()
            .any(|count| matches!(count, Some(Count::Argument(_))))
    }

    /// All arguments that it refers to.
    pub(crate) fn arguments_mut(&mut self) -> impl Iterator<Item = &mut Argument> {
        let counts = [&mut self.width, &mut self.precision].into_iter();
        let in_counts = counts.filter_map(|count| match count {
            Some(Count::Argument(argument)) => Some(argument),
            _ => None,
        });
        in_counts.chain([&mut self.argument])
    }

    /// The text of the placeholder, with the arguments at positions from `position`.
    pub(crate) fn rebuilt(&self, mut position: impl FnMut(usize) -> usize) -> String {
        // `{0}` if empty: in `{0:}` a `<` behind the brace would make the brace a fill.
        let mut text = String::new();
        let argument = position(self.argument.index());
        text.extend(self.fill);
        text.extend(self.align);
        text.extend(self.sign);
        text.extend(self.alternate.then_some('#'));
        text.extend(self.zero.then_some('0'));
        let mut count = |count: &Count| match count {
            Count::Number(number) => number.to_string(),
            Count::Argument(argument) => format!("{}$", position(argument.index())),
        };
        text.extend(self.width.as_ref().map(&mut count));
        text.extend(
            self.precision
                .as_ref()
                .map(|precision| format!(".{}", count(precision))),
        );
        text += &self.kind;
        match text.as_str() {
            "" => format!("{{{argument}}}"),
            _ => format!("{{{argument}:{text}}}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    Position(usize),
    Name(String),
}

impl Argument {
    /// The position, once names have been looked up.
    pub(crate) fn index(&self) -> usize {
        match self {
            Argument::Position(index) => *index,
            Argument::Name(name) => unreachable!("`{name}` has been looked up"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Count {
    Number(u16),
    Argument(Argument),
}

/// Parses a format string. `None` if it is wrong, or so unusual that it is left to the compiler.
pub(crate) fn parse(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut verbatim = String::new();
    let mut next_position = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        verbatim.push_str(&rest[..at]);
        let (brace, after) = (&rest[at..at + 1], &rest[at + 1..]);
        if let Some(after) = after.strip_prefix(brace) {
            verbatim.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return None;
        }
        let mut reader = Reader {
            rest: after,
            next_position,
        };
        let placeholder = reader.placeholder()?;
        next_position = reader.next_position;
        rest = reader.rest;
        if !verbatim.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut verbatim)));
        }
        parts.push(Part::Placeholder(placeholder));
    }
    verbatim.push_str(rest);
    if !verbatim.is_empty() {
        parts.push(Part::Text(verbatim));
    }
    Some(parts)
}

struct Reader<'a> {
    rest: &'a str,
    next_position: usize,
}

impl Reader<'_> {
    /// From after the opening brace to after the closing one.
    fn placeholder(&mut self) -> Option<Placeholder> {
        let explicit = self.argument()?;
        let mut placeholder = Placeholder {
            argument: Argument::Position(0),
            fill: None,
            align: None,
            sign: None,
            alternate: false,
            zero: false,
            width: None,
            precision: None,
            kind: String::new(),
        };
        if self.eat(':') {
            self.specification(&mut placeholder)?;
        }
        // A `*` takes its argument before the placeholder does.
        placeholder.argument = match explicit {
            Some(argument) => argument,
            None => self.next_argument(),
        };
        self.rest = self.rest.trim_start();
        self.eat('}').then_some(placeholder)
    }

    fn specification(&mut self, placeholder: &mut Placeholder) -> Option<()> {
        let mut chars = self.rest.chars();
        let (first, second) = (chars.next()?, chars.next());
        let is_align = |c: &char| matches!(c, '<' | '>' | '^');
        if let Some(align) = second.filter(is_align) {
            // Braces as fill characters would need escaping in a rebuilt format string.
            if matches!(first, '{' | '}') {
                return None;
            }
            (placeholder.fill, placeholder.align) = (Some(first), Some(align));
            self.rest = chars.as_str();
        } else if is_align(&first) {
            placeholder.align = Some(first);
            self.rest = &self.rest[1..];
        }
        placeholder.sign = ['+', '-'].into_iter().find(|&sign| self.eat(sign));
        placeholder.alternate = self.eat('#');
        // `0$` is a width, `0` a flag.
        if self.rest.starts_with('0') && !self.rest[1..].starts_with('$') {
            placeholder.zero = self.eat('0');
        }
        placeholder.width = self.count()?;
        if self.eat('.') {
            // A point without a number is left to the compiler, which may warn.
            let precision = if self.eat('*') {
                Count::Argument(self.next_argument())
            } else {
                self.count()??
            };
            placeholder.precision = Some(precision);
        }
        let end = self.rest.find(|c: char| c == '}' || c.is_whitespace())?;
        let kind = &self.rest[..end];
        if !["", "?", "x?", "X?", "x", "X", "o", "b", "e", "E", "p"].contains(&kind) {
            return None;
        }
        placeholder.kind = kind.to_string();
        self.rest = &self.rest[end..];
        Some(())
    }

    fn next_argument(&mut self) -> Argument {
        self.next_position += 1;
        Argument::Position(self.next_position - 1)
    }

    /// A number, or an argument with `$` behind it; `Some(None)` if absent, `None` if wrong.
    fn count(&mut self) -> Option<Option<Count>> {
        let start = self.rest;
        match self.argument()? {
            Some(argument) if self.eat('$') => Some(Some(Count::Argument(argument))),
            Some(Argument::Position(number)) => {
                // The compiler refuses larger ones, with a better message.
                let number = u16::try_from(number).ok()?;
                Some(Some(Count::Number(number)))
            }
            // A name without `$` is the type.
            _ => {
                self.rest = start;
                Some(None)
            }
        }
    }

    /// A position or a name; `Some(None)` if absent, `None` if wrong.
    fn argument(&mut self) -> Option<Option<Argument>> {
        let is_name = |c: char| c == '_' || c.is_alphanumeric();
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let argument = match word.chars().next() {
            None => return Some(None),
            Some(digit) if digit.is_ascii_digit() => {
                // `5x`: a width and the kind.
                let digits = word
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(word.len());
                self.rest = &self.rest[digits..];
                return Some(Some(Argument::Position(word[..digits].parse().ok()?)));
            }
            Some(_) if word == "_" => return None,
            Some(_) => Argument::Name(word.to_string()),
        };
        self.rest = rest;
        Some(Some(argument))
    }

    fn eat(&mut self, c: char) -> bool {
        self.rest
            .strip_prefix(c)
            .map(|rest| self.rest = rest)
            .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only_placeholder(text: &str) -> Placeholder {
        match parse(text)
            .unwrap_or_else(|| panic!("{text} should be read"))
            .as_mut_slice()
        {
            [Part::Placeholder(_)] => {}
            parts => panic!("{text} is {parts:?}"),
        }
        let Some(Part::Placeholder(placeholder)) = parse(text).unwrap().pop() else {
            unreachable!()
        };
        placeholder
    }

    #[test]
    fn text_and_placeholders_alternate_and_doubled_braces_are_text() {
        let parts = parse("a{{b}}c{}{x}").unwrap();
        assert_eq!(parts[0], Part::Text("a{b}c".into()));
        assert!(matches!(&parts[1], Part::Placeholder(f) if f.argument == Argument::Position(0)));
        assert!(
            matches!(&parts[2], Part::Placeholder(f) if f.argument == Argument::Name("x".into()))
        );
        assert_eq!(parts.len(), 3);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("{{}}").unwrap(), [Part::Text("{}".into())]);
    }

    #[test]
    fn a_specification_has_its_parts_in_order() {
        let placeholder = only_placeholder("{0:*^+#012.34x}");
        assert_eq!(placeholder.argument, Argument::Position(0));
        assert_eq!(
            (placeholder.fill, placeholder.align, placeholder.sign),
            (Some('*'), Some('^'), Some('+'))
        );
        assert!(placeholder.alternate && placeholder.zero);
        assert_eq!(placeholder.width, Some(Count::Number(12)));
        assert_eq!(placeholder.precision, Some(Count::Number(34)));
        assert_eq!(placeholder.kind, "x");
    }

    #[test]
    fn counts_are_numbers_or_arguments() {
        let placeholder = only_placeholder("{:width$.prec$?}");
        assert_eq!(
            placeholder.width,
            Some(Count::Argument(Argument::Name("width".into())))
        );
        assert_eq!(
            placeholder.precision,
            Some(Count::Argument(Argument::Name("prec".into())))
        );
        assert_eq!(placeholder.kind, "?");
        assert_eq!(
            only_placeholder("{:0$}").width,
            Some(Count::Argument(Argument::Position(0)))
        );
        assert!(!only_placeholder("{:0$}").zero);
        assert_eq!(only_placeholder("{:05}").width, Some(Count::Number(5)));
        assert_eq!(only_placeholder("{:.0}").precision, Some(Count::Number(0)));
    }

    #[test]
    fn a_star_takes_its_argument_first() {
        let parts = parse("{}{:.*}{}").unwrap();
        let Part::Placeholder(second) = &parts[1] else {
            panic!()
        };
        assert_eq!(
            second.precision,
            Some(Count::Argument(Argument::Position(1)))
        );
        assert_eq!(second.argument, Argument::Position(2));
        let Part::Placeholder(third) = &parts[2] else {
            panic!()
        };
        assert_eq!(third.argument, Argument::Position(3));
        assert_eq!(
            only_placeholder("{x:.*}").precision,
            Some(Count::Argument(Argument::Position(0)))
        );
    }

    #[test]
    fn the_kind_is_not_taken_for_a_name() {
        for kind in ["x", "X", "o", "b", "e", "E", "p", "?", "x?", "X?"] {
            assert_eq!(only_placeholder(&format!("{{:{kind}}}")).kind, kind);
            assert_eq!(only_placeholder(&format!("{{:#08{kind}}}")).kind, kind);
            assert_eq!(only_placeholder(&format!("{{:w$.p${kind}}}")).kind, kind);
        }
    }

    #[test]
    fn what_is_wrong_or_odd_is_left_to_the_compiler() {
        for text in [
            "{", "}", "{0", "{:", "{:q}", "{ }}", "{a b}", "{:70000}", "{_}", "{:}<5}", "{a.b}",
            "{:.}", "{x:5.?}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
