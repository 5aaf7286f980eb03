//! The value of a string literal.

/// The value of a string literal; `None` for other literals, and for those left to the compiler.
pub(crate) fn string_value(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let quoted = raw.trim_start_matches('#');
        let hashes = raw.len() - quoted.len();
        let end = quoted.len().checked_sub(hashes)?;
        let inner = quoted.get(..end)?.strip_prefix('"')?.strip_suffix('"')?;
        return (quoted[end..].bytes().all(|byte| byte == b'#'))
            .then(|| inner.replace("\r\n", "\n"));
    }
    unescape(literal.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescape(text: &str) -> Option<String> {
    let mut value = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                // The compiler reads "\r\n" as a newline, and refuses a lone "\r".
                if chars.next()? != '\n' {
                    return None;
                }
                value.push('\n');
            }
            '\\' => match chars.next()? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                '\\' => value.push('\\'),
                '0' => value.push('\0'),
                '\'' => value.push('\''),
                '"' => value.push('"'),
                'x' => {
                    let digits = chars.as_str().get(..2)?;
                    value.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                    chars = chars.as_str()[2..].chars();
                }
                'u' => {
                    let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
                    let digits = digits.replace('_', "");
                    value.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                    chars = rest.chars();
                }
                '\n' | '\r' => {
                    // A line that ends in a backslash continues at the next line's first character.
                    let rest = chars.as_str();
                    chars = rest.trim_start_matches([' ', '\t', '\n', '\r']).chars();
                }
                _ => return None,
            },
            c => value.push(c),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::string_value;

    #[test]
    fn escapes_become_what_they_stand_for() {
        let read = |literal| string_value(literal).unwrap();
        assert_eq!(
            read(r#""a\n\t\r\\\'\"\0\x41\u{1F_600}""#),
            "a\n\t\r\\'\"\0A\u{1f600}"
        );
        assert_eq!(read("\"one \\\n     two\""), "one two");
        assert_eq!(read("\"one\r\ntwo\""), "one\ntwo");
    }

    #[test]
    fn raw_strings_are_taken_as_they_are() {
        assert_eq!(string_value(r####"r"a\n""####).unwrap(), r"a\n");
        assert_eq!(string_value("r##\"a\"#b\"##").unwrap(), "a\"#b");
    }

    #[test]
    fn other_literals_are_left_alone() {
        for literal in [
            "1",
            "'a'",
            "b\"a\"",
            "c\"a\"",
            "br\"a\"",
            "\"\\q\"",
            "\"\\u{110000}\"",
        ] {
            assert_eq!(string_value(literal), None, "{literal}");
        }
    }
}
