//! A terminal's abilities: the questions, and the meaning of their answers.

/// Private modes, asked for by DECRQM: the answer's second number is 0 where the terminal does not know the mode, and 4 where it is
/// off for good.
const MODES: &[(&str, &str)] = &[
    ("2026", "synchronized output"),
    ("2004", "bracketed paste"),
    ("1006", "SGR mouse"),
    ("2027", "grapheme clusters"),
    ("2031", "colour scheme reports"),
    ("2048", "size reports"),
];

/// All questions. The last is one that every terminal answers (DA1).
pub(super) fn questions() -> String {
    let modes = MODES.iter().map(|(mode, _)| format!("\x1b[?{mode}$p"));
    // Then: kitty's keyboard protocol, and a colour that is set and asked for (DECRQSS).
    let rest = ["\x1b[?u", "\x1b[48:2::1:2:3m\x1bP$qm\x1b\\\x1b[m", "\x1b[c"];
    modes.chain(rest.map(str::to_owned)).collect()
}

/// The abilities, by the answers.
pub(super) fn of(answers: &str) -> Vec<String> {
    let is_known = |mode: &str| {
        let answer = answers.split(&format!("\x1b[?{mode};")).nth(1);
        answer.is_some_and(|answer| matches!(answer.get(..3), Some("1$y" | "2$y" | "3$y")))
    };
    let mut supported: Vec<String> = MODES
        .iter()
        .filter(|(mode, _)| is_known(mode))
        .map(|&(_, name)| name.to_owned())
        .collect();
    // An answer between `prefix` and the first `end` after it, of digits and semicolons.
    let answer = |prefix: &str, end: char| {
        answers.split(prefix).skip(1).find_map(|rest| {
            let (inside, _) = rest.split_once(end)?;
            let plain = inside.chars().all(|c| c.is_ascii_digit() || c == ';');
            plain.then(|| inside.to_owned())
        })
    };
    if answer("\x1b[?", 'u').is_some() {
        supported.push("kitty keyboard".to_owned());
    }
    if ["2::1:2:3", "2:1:2:3", "2;1;2;3"]
        .iter()
        .any(|colour| answers.contains(colour))
    {
        supported.push("true colour".to_owned());
    }
    if answer("\x1b[?", 'c')
        .is_some_and(|classes| classes.split(';').skip(1).any(|class| class == "4"))
    {
        supported.push("Sixel".to_owned());
    }
    supported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_what_is_supported() {
        let answers = "\x1b[?2026;2$y\x1b[?2004;1$y\x1b[?1006;0$y\x1b[?2027;4$y\x1b[?0u\x1bP1$r0;48:2::1:2:3m\x1b\\\x1b[?62;4;22c";
        let expected = [
            "synchronized output",
            "bracketed paste",
            "kitty keyboard",
            "true colour",
            "Sixel",
        ];
        assert_eq!(of(answers), expected);
    }

    #[test]
    fn without_answers_there_are_no_abilities() {
        assert_eq!(of(""), Vec::<String>::new());
        assert_eq!(of("\x1b[?1;2c"), Vec::<String>::new());
    }
}
