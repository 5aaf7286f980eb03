//! Random calls of a macro.

use super::values::{Value, value};
use crate::common::Random;

pub(crate) struct Generator {
    random: Random,
}

/// An argument of the call, and how the format string refers to it.
enum Place {
    /// By order, or by its position.
    Given(usize),
    /// By the name that it is given in the call.
    Named(String),
    /// By the name of a variable.
    Captured(String),
}

/// A call as it grows: variables before it, and its arguments.
#[derive(Default)]
struct Call {
    variables: String,
    given: Vec<String>,
    named: Vec<(String, String)>,
    names: usize,
    /// How many fields have taken their argument by order.
    taken: usize,
}

impl Call {
    fn add(&mut self, source: String, random: &mut Random) -> Place {
        self.names += 1;
        let name = format!("v{}", self.names);
        match random.below(4) {
            0 => {
                self.variables += &format!("let {name} = {source}; ");
                Place::Captured(name)
            }
            1 => {
                self.named.push((name.clone(), source));
                Place::Named(name)
            }
            _ => {
                self.given.push(source);
                Place::Given(self.given.len() - 1)
            }
        }
    }

    /// How a field's argument is referred to.
    fn reference(&mut self, place: &Place) -> String {
        match place {
            Place::Given(position) if *position == self.taken => {
                self.taken += 1;
                String::new()
            }
            Place::Given(position) => position.to_string(),
            Place::Named(name) | Place::Captured(name) => name.clone(),
        }
    }
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator {
            random: Random::new(seed),
        }
    }

    /// A block's statements, with one call of one of the prelude's macros.
    pub(crate) fn case(&mut self) -> String {
        let mut call = Call::default();
        let mut format = String::new();
        for _ in 0..1 + self.random.below(5) {
            format += &self.text();
            format += &self.field(&mut call);
        }
        format += &self.text();
        let mut arguments = vec![literal(&format, &mut self.random)];
        arguments.append(&mut call.given);
        arguments.extend(
            call.named
                .iter()
                .map(|(name, source)| format!("{name} = {source}")),
        );
        let comma = if self.random.chance(8) { "," } else { "" };
        let case =
            ["format_case", "format_case", "string_case", "bytes_case"][self.random.below(4)];
        format!(
            "{}{case}!({}{comma});",
            call.variables,
            arguments.join(", ")
        )
    }

    /// Text between fields, braces doubled.
    fn text(&mut self) -> String {
        let texts = [
            "", "", "", " ", ", ", ": ", "x=", "{{", "}}", "{{}}", "é", "😀", "\n", "\t",
            "a\\b\"c", "\0",
        ];
        texts[self.random.below(texts.len())].to_string()
    }

    fn field(&mut self, call: &mut Call) -> String {
        let Value { source, kinds } = value(&mut self.random);
        let mut specification = String::new();
        let mut star = None;
        if !self.random.chance(3) {
            specification = self.specification(call, &mut star);
        }
        specification += kinds[self.random.below(kinds.len())];
        // The argument of `.*` comes by order, before the field's own.
        let place = match star {
            Some(precision) => {
                call.given.push(precision);
                call.taken += 1;
                call.add(source, &mut self.random)
            }
            None => call.add(source, &mut self.random),
        };
        let reference = call.reference(&place);
        match specification.as_str() {
            "" if self.random.chance(8) => format!("{{{reference}:}}"),
            "" => format!("{{{reference}}}"),
            _ => format!("{{{reference}:{specification}}}"),
        }
    }

    fn specification(&mut self, call: &mut Call, star: &mut Option<String>) -> String {
        let mut text = String::new();
        if self.random.chance(2) {
            if self.random.chance(2) {
                text.push(
                    ['*', ' ', '0', '-', '<', 'é', '日', '😀', '\u{301}', '#']
                        [self.random.below(10)],
                );
            }
            text.push(['<', '>', '^'][self.random.below(3)]);
        }
        if self.random.chance(4) {
            text.push(['+', '-'][self.random.below(2)]);
        }
        if self.random.chance(4) {
            text.push('#');
        }
        if self.random.chance(4) {
            text.push('0');
        }
        match self.random.below(5) {
            0 | 1 => {}
            2 => {
                let place = call.add(format!("{}_usize", self.random.below(40)), &mut self.random);
                text += &count(&place);
            }
            _ => text += &[0, 1, 2, 3, 5, 8, 12, 20, 33, 60][self.random.below(10)].to_string(),
        }
        match self.random.below(8) {
            0 | 1 => {
                text += &format!(
                    ".{}",
                    [0, 1, 2, 3, 4, 6, 9, 16, 17, 20, 40][self.random.below(11)]
                );
            }
            2 => {
                let place = call.add(format!("{}_usize", self.random.below(25)), &mut self.random);
                text += &format!(".{}", count(&place));
            }
            // A point without a number, which has no effect.
            4 => text += ".",
            // By order, which must then be the next in order.
            3 if call.taken == call.given.len() => {
                *star = Some(format!("{}_usize", self.random.below(25)));
                text += ".*";
            }
            _ => {}
        }
        text
    }
}

/// A width or precision by argument.
fn count(place: &Place) -> String {
    match place {
        Place::Given(position) => format!("{position}$"),
        Place::Named(name) | Place::Captured(name) => format!("{name}$"),
    }
}

/// The format string as a literal, of one kind or another.
fn literal(format: &str, random: &mut Random) -> String {
    if random.chance(4) && !format.contains(['\0', '\r']) {
        return format!("r##\"{format}\"##");
    }
    format!("{format:?}")
}
