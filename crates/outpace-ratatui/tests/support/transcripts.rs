//! Transcripts on terminals of every kind.
#![allow(unreachable_pub, reason = "shared by tests")]

use outpace_ratatui::{Reflow, Transcript};
use ratatui::layout::Size;

use crate::wire::Wire;

pub const REFLOWS: [Reflow; 6] = [
    Reflow::All,
    Reflow::AllInPlace,
    Reflow::Ahead,
    Reflow::AboveCursor,
    Reflow::AbovePrompt,
    Reflow::Never,
];

/// A transcript on a terminal of this size and kind.
pub fn transcript(size: Size, reflow: Reflow) -> (Transcript, Wire) {
    let wire = Wire::default();
    let mut transcript = Transcript::writer(wire.clone(), size).unwrap();
    transcript.set_reflow(reflow);
    (transcript, wire)
}
