//! `outpace contest`.

use std::process::ExitCode;

use clap::Args;

use crate::user::action::Action;
use crate::user::failure::Outcome;
use crate::user::output::print;

/// Print the single-file edition for programming contests, to paste above a solution
#[derive(Args)]
pub(crate) struct Contest {}

/// The file itself.
const EDITION: &str = include_str!("../../contest/outpace.rs");

impl Action for Contest {
    const NAME: &'static str = "contest";

    fn run(self) -> Outcome {
        print(EDITION)?;
        Ok(ExitCode::SUCCESS)
    }
}
