//! `outpace completions SHELL`.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use super::{Action, command_line};
use crate::failure::{Failure, Outcome};

/// Prints a completion script for a shell
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
        std::io::stdout()
            .write_all(&script)
            .map_err(|error| Failure::failed("stdout", error))?;
        Ok(ExitCode::SUCCESS)
    }
}
