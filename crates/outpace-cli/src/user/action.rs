//! The trait of every subcommand.

use super::failure::Outcome;
use clap::Args;

/// A subcommand: the type has its arguments, the type's documentation is its help.
pub(crate) trait Action: Args {
    /// The word the user types.
    const NAME: &'static str;

    /// Does the work.
    fn run(self) -> Outcome;
}
