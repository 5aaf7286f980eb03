//! Motions from the anchor to the rows below it, and to the place where the cursor stays between frames.

use super::{DOWN, Glyph, Last, Reflow, TranscriptRenderer};

/// The column of the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    First,
    Second,
    Unknown,
}

impl TranscriptRenderer {
    /// Goes to a row below the anchor: down by vertical tabs, since the row may have to be scrolled in.
    pub(super) fn go_to_row(&mut self, row: u16) {
        if row < self.row {
            self.encoder.csi(self.row - row, b'A');
        } else if row > self.row {
            self.set_plain_pen();
            (self.row..row).for_each(|_| self.encoder.text(DOWN));
        }
        self.row = row;
        self.below = self.below.max(row + 1);
    }

    /// Goes to the first column of the anchor.
    pub(super) fn go_home(&mut self) {
        self.go_to_row(0);
        if self.column != Column::First {
            self.encoder.text("\r");
        }
        self.column = Column::First;
    }

    pub(super) fn go_to_column(&mut self, column: u16) {
        match column {
            0 => self.encoder.text("\r"),
            _ => self.encoder.csi(column + 1, b'G'),
        }
        self.column = Column::Unknown;
    }

    /// Goes to the place where the cursor stays between frames: the second column of the anchor, or of a row below the live region
    /// in terminals that need it.
    pub(super) fn park(&mut self) {
        if self.on_last {
            return;
        }
        let row = match self.reflow {
            Reflow::AboveCursor => self.shown.height().min(self.rows.saturating_sub(1)),
            _ => 0,
        };
        if row < self.row {
            self.go_to_row(row);
        }
        self.set_marked(true);
        match self.column {
            Column::First => self.encoder.text("\x1b[C"),
            Column::Second => {}
            Column::Unknown => self.return_to_second_column(),
        }
        self.column = Column::Second;
        self.go_to_row(row);
    }

    /// Goes to the second column from any other: by printing the first symbol of the open line again, where that takes fewer bytes.
    fn return_to_second_column(&mut self) {
        let open = self
            .last
            .as_ref()
            .filter(|last| last.is_open() && self.row == 0);
        let glyphs = open.map_or(&[][..], |last: &Last| &last.glyphs);
        let stands_alone = glyphs.get(1).is_none_or(|second| !second.joins);
        match glyphs.first() {
            Some(Glyph { text, style, .. })
                if matches!(text.as_bytes(), [b' '..=b'~'])
                    && stands_alone
                    && self.encoder.has_pen(*style) =>
            {
                self.encoder.text("\r");
                self.encoder.text(text);
            }
            _ => self.encoder.text("\x1b[2G"),
        }
    }
}
