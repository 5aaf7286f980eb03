//! `outpace completions SHELL`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::command_line;
use crate::user::action::Action;
use crate::user::failure::Outcome;
use crate::user::output::print;

/// Print a completion script for a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell to complete in, such as: outpace completions bash >>~/.bashrc
    shell: Shell,
}

impl Action for Completions {
    const NAME: &'static str = "completions";

    fn run(self) -> Outcome {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command_line(), "outpace", &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(ExitCode::SUCCESS)
    }
}
