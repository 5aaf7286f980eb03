//! The `outpace` program: measures, explains and fixes slow output of programs in any language.
//!
//! `commands` holds one module per subcommand. Exit status: 0 done, 1 it ran and something failed,
//! 2 bad usage.

mod commands;
mod failure;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(std::env::args_os()) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
