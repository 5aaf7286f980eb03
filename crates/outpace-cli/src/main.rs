//! The `outpace` program: measures, explains and fixes slow output of programs in any language.
//!
//! `commands` holds one module per subcommand, `experiments` what the bench measures, `measure` how,
//! `destination` where the bytes go, `present` how the figures are shown; `run` and
//! `trace` are about other programs, and `process` is what those share. Exit status: 0 done, 1 it
//! ran and something failed, 2 bad usage.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the command-line tool of outpace is for Linux; the crates outpace and outpace-ratatui are for other systems, too"
);

mod commands;
mod destination;
mod experiments;
mod failure;
mod fps;
mod inert;
mod measure;
mod names;
mod present;
mod process;
mod run;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::run(std::env::args_os()) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
