//! Counters of the costs of drawing, and of the savings.

use std::time::Duration;

/// Counters of a backend since it was made. Copy them, and compare two copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Frames that the application finished.
    pub frames_drawn: u64,
    /// Frames that were written to the terminal. Frames without a change count, too.
    pub frames_presented: u64,
    /// Frames that a newer one replaced before the terminal had time for them.
    pub frames_skipped: u64,
    /// Bytes written to the terminal.
    pub bytes: u64,
    /// `write` calls made. A frame takes one, unless the terminal accepted only a part of it.
    pub writes: u64,
    /// Time that the application spent inside the backend's `flush`.
    pub time_in_draw: Duration,
    /// The longest single `flush`.
    pub longest_draw: Duration,
    /// Time that writing took: as long as it lasts, the terminal is behind.
    pub time_behind: Duration,
    /// Cells looked at and found as they should be.
    pub cells_unchanged: u64,
    /// Cells printed because they changed.
    pub cells_written: u64,
    /// Cells printed although they were right, because that was shorter than moving over them.
    pub cells_rewritten: u64,
    /// Cells made blank by an erasing sequence.
    pub cells_erased: u64,
    /// Cells drawn by repeating the one before (REP).
    pub cells_repeated: u64,
    /// Cells of pictures that were drawn in another order than from left to right, to save colours.
    pub cells_out_of_order: u64,
    /// Scrolled groups of rows.
    pub scrolls: u64,
    /// Rows of which a part was moved left or right.
    pub rows_shifted: u64,
    /// Blocks and half blocks printed as another symbol, to save a colour.
    pub exchanged_blocks: u64,
    /// Frames wrapped in synchronized output.
    pub synchronized: u64,
}
