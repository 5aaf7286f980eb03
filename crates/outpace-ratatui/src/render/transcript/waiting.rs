//! Additions to a transcript, as they wait: a slow terminal may be behind by as many lines as the program has had.

use super::Glyph;
use crate::model::Style;

/// Glyphs: their texts one behind the other, and of those alike in all else their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Glyphs {
    text: String,
    runs: Vec<Run>,
}

/// Glyphs that follow one another.
#[derive(Clone, Debug)]
struct Run {
    count: u32,
    /// The bytes of each.
    bytes: u32,
    columns: u16,
    joins: bool,
    style: Style,
}

impl Glyphs {
    pub(crate) fn append(&mut self, more: &Self) {
        self.text.push_str(&more.text);
        self.runs.extend_from_slice(&more.runs);
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn each(&self) -> Vec<Glyph> {
        let mut rest = &*self.text;
        let mut glyphs = Vec::new();
        for run in &self.runs {
            for _ in 0..run.count {
                let (text, behind) = rest.split_at(run.bytes as usize);
                rest = behind;
                glyphs.push(Glyph {
                    text: text.to_owned(),
                    columns: run.columns,
                    style: run.style,
                    joins: run.joins,
                });
            }
        }
        glyphs
    }
}

impl From<&[Glyph]> for Glyphs {
    fn from(glyphs: &[Glyph]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for glyph in glyphs {
            let bytes = glyph.text.len() as u32;
            let is_alike = |run: &&mut Run| {
                run.bytes == bytes
                    && run.columns == glyph.columns
                    && run.joins == glyph.joins
                    && run.style == glyph.style
            };
            match runs.last_mut().filter(is_alike) {
                Some(run) => run.count += 1,
                None => runs.push(Run {
                    count: 1,
                    bytes,
                    columns: glyph.columns,
                    joins: glyph.joins,
                    style: glyph.style,
                }),
            }
        }
        runs.shrink_to_fit();
        let mut text = String::with_capacity(glyphs.iter().map(|glyph| glyph.text.len()).sum());
        text.extend(glyphs.iter().map(|glyph| &*glyph.text));
        Self { text, runs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Color;

    fn glyphs(text: &str, style: Style) -> Vec<Glyph> {
        let glyph = |c: char| Glyph {
            text: c.into(),
            columns: if c == '日' { 2 } else { 1 },
            style,
            joins: c == '\u{301}',
        };
        text.chars().map(glyph).collect()
    }

    #[test]
    fn glyphs_are_what_they_were_before_they_waited() {
        let red = Style {
            fg: Color::indexed(1),
            ..Style::default()
        };
        let (one, other) = (
            glyphs("ab日本e\u{301}x", red),
            glyphs("日é ", Style::default()),
        );
        let mut packed = Glyphs::from(&*one);
        packed.append(&Glyphs::from(&*other));
        assert_eq!(packed.each(), [one, other].concat());
        assert_eq!(packed.text(), "ab日本e\u{301}x日é ");
        assert!(Glyphs::default().each().is_empty());
    }

    #[test]
    fn a_line_that_waits_takes_little_more_than_its_text() {
        let packed = Glyphs::from(&*glyphs(&"x".repeat(72), Style::default()));
        let memory = packed.text.capacity() + packed.runs.capacity() * size_of::<Run>();
        assert!(memory <= 72 + 40, "{memory}");
    }
}
