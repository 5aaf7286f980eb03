//! `outpace contest`.

use std::process::ExitCode;

use clap::Args;

use crate::user::action::Action;
use crate::user::failure::Outcome;
use crate::user::output::print;

/// Print the single-file edition for programming contests, to paste above a solution
///
/// `outpace contest > solution.rs`, write `fn main() { let io = &mut io(); }` below it, and compile it with
/// `rustc -O --edition 2021 solution.rs`: Rust 1.78 or newer, and no crate. The first lines of the file show what it reads
/// and prints. License: CC0-1.0.
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
