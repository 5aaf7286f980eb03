//! What every subcommand is.

use super::failure::Outcome;
use clap::Args;

/// What a subcommand does: its arguments are the type, its help is the type's documentation.
pub(crate) trait Action: Args {
    /// The word the user types.
    const NAME: &'static str;

    /// Does the work.
    fn run(self) -> Outcome;
}
