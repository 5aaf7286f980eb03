//! A transcript that is written into a pipe, a file or a dumb terminal: its lines as text, without a live region.

use super::{Addition, Glyphs};

/// The state of the text so far.
#[derive(Debug, Default)]
pub(super) struct Plain {
    in_line: bool,
    /// The last line was added as a whole. It may be extended, but need not wait for that.
    is_whole: bool,
    /// A terminal in raw mode, which does not return to the first column at a line feed.
    is_raw: bool,
}

impl Plain {
    pub(super) const fn set_raw(&mut self, is_raw: bool) {
        self.is_raw = is_raw;
    }

    /// Writes additions to the transcript. The line feed of the last line comes [later](Self::end_line).
    pub(super) fn render(&mut self, additions: &[Addition], out: &mut Vec<u8>) {
        for addition in additions {
            match addition {
                Addition::Line(glyphs) | Addition::Open(glyphs) => {
                    self.end_line(out);
                    self.print(glyphs, out);
                }
                Addition::Extend(glyphs) => self.print(glyphs, out),
            }
            self.is_whole = matches!(addition, Addition::Line(_));
        }
    }

    /// Whether the last line is whole, but for its line feed.
    pub(super) const fn lacks_line_feed(&self) -> bool {
        self.in_line && self.is_whole
    }

    fn print(&mut self, glyphs: &Glyphs, out: &mut Vec<u8>) {
        out.extend_from_slice(glyphs.text().as_bytes());
        self.in_line = true;
    }

    pub(super) fn end_line(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.in_line) {
            let end: &[u8] = if self.is_raw { b"\r\n" } else { b"\n" };
            out.extend_from_slice(end);
        }
    }
}
