//! The symbols of more than one `char`, and the columns that a `char` takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_width::UnicodeWidthChar;

use super::cell::{Cell, INTERNED};

/// The symbols of more than one `char` that a screen refers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    pub(super) entries: Vec<Entry>,
    /// No hash table: most screens have no such symbol, and seeding a table takes a system call.
    pub(super) indices: BTreeMap<Arc<str>, u32>,
    /// Whether any of them is opaque.
    has_opaque: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) text: Arc<str>,
    opaque: bool,
    /// The columns in a terminal that draws every `char` on its own, even combining ones.
    widest: u16,
}

impl Symbols {
    /// The most entries. Then the table is rebuilt from the symbols still in use.
    pub(super) const LIMIT: usize = 1 << 16;

    pub(super) fn intern(this: &mut Arc<Self>, text: &str) -> u32 {
        if let Some(&index) = this.indices.get(text) {
            return INTERNED | index;
        }
        let table = Arc::make_mut(this);
        let index = u32::try_from(table.entries.len()).expect("the table is rebuilt long before");
        let shared: Arc<str> = text.into();
        let widest = text.chars().map(|c| c.width().unwrap_or(0).max(1));
        let opaque = text.contains('\x1b');
        table.has_opaque |= opaque;
        table.entries.push(Entry {
            text: shared.clone(),
            opaque,
            widest: widest.sum::<usize>().min(usize::from(u16::MAX)) as u16,
        });
        table.indices.insert(shared, index);
        INTERNED | index
    }

    fn entry(&self, symbol: u32) -> Option<&Entry> {
        if symbol & INTERNED == 0 {
            return None;
        }
        self.entries.get((symbol & !INTERNED) as usize)
    }

    /// The text of an interned symbol.
    pub(crate) fn text(&self, cell: Cell) -> Option<&str> {
        self.entry(cell.symbol()).map(|entry| &*entry.text)
    }

    /// Whether the symbol hides escape sequences (a picture, a link): it is passed on as it is, and
    /// nothing is assumed about its effect.
    pub(crate) fn is_opaque(&self, cell: Cell) -> bool {
        self.entry(cell.symbol()).is_some_and(|entry| entry.opaque)
    }

    /// Whether there is any such symbol. It may have drawn over other cells, too, for example an image.
    pub(crate) const fn has_opaque(&self) -> bool {
        self.has_opaque
    }

    /// The most columns a terminal might use for this cell's symbol.
    pub(crate) fn widest(&self, cell: Cell) -> u16 {
        match cell.as_char() {
            Some(c) => c.width().unwrap_or(0).max(2) as u16,
            None => self.entry(cell.symbol()).map_or(1, |entry| entry.widest),
        }
    }
}

/// Whether a character takes one column for sure: [`trusted_width`], without a call for ASCII, lines and blocks.
#[inline]
pub(crate) fn is_narrow(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{2500}'..='\u{259f}') || trusted_width(c) == 1
}

/// Whether a symbol is a character of one column with combining marks, and nothing else that changes its width or shape.
pub(crate) fn has_only_marks(text: &str) -> bool {
    let changes_shape = |c: char| matches!(c, '\u{1160}'..='\u{11ff}' | '\u{200b}'..='\u{200f}' | '\u{20e3}' | '\u{fe0f}');
    let mut characters = text.chars();
    characters.next().and_then(|first| first.width()) == Some(1)
        && characters.all(|c| c.width() == Some(0) && !changes_shape(c))
}

/// Whether a symbol stands for a cell of an image: the placeholder of kitty's graphics protocol, and marks for its row and column. An application
/// sends it to terminals that know it alone, in which it takes one column.
pub(crate) fn is_placeholder(text: &str) -> bool {
    text.starts_with('\u{10eeee}') && has_only_marks(text)
}

/// Whether a symbol consists of regional indicators, of which two that meet are a flag.
pub(crate) fn is_flag(text: &str) -> bool {
    let is_half = |c| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    !text.is_empty() && text.chars().all(is_half)
}

/// The columns of a character on whose width terminals agree, 0 for all others. Terminals agree on most of the
/// lower planes but for emoji and characters that have an emoji form. Ambiguous widths (lines, blocks) are narrow
/// in every terminal that draws ratatui's borders.
pub(crate) fn trusted_width(c: char) -> usize {
    match c {
        ' '..='~' => 1,
        '\u{2500}'..='\u{25a9}' | '\u{2800}'..='\u{28ff}' => 1,
        '\u{a1}'..='\u{a8}' | '\u{aa}'..='\u{ac}' | '\u{af}'..='\u{2ff}' => 1,
        '\u{370}'..='\u{377}' | '\u{37a}'..='\u{37f}' | '\u{384}'..='\u{38a}' => 1,
        '\u{38e}'..='\u{3a1}' | '\u{3a3}'..='\u{482}' | '\u{48a}'..='\u{52f}' => 1,
        '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{203b}' => 1,
        '\u{2190}'..='\u{2193}' | '\u{219a}'..='\u{21a8}' | '\u{21ab}'..='\u{22ff}' => 1,
        '\u{25b2}'..='\u{25b5}' | '\u{25b7}'..='\u{25bf}' | '\u{25c1}'..='\u{25fa}' => 1,
        '\u{2713}' | '\u{2717}' | '\u{e000}'..='\u{f8ff}' | '\u{1fb00}'..='\u{1fbca}' => 1,
        '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}' | '\u{30a0}'..='\u{30ff}' => 2,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => 2,
        '\u{ff01}'..='\u{ff60}' => 2,
        _ => 0,
    }
}
