//! The `outpace` program: measures, explains and fixes slow output of programs in any language.
//!
//! Folders are layers, and imports point down: `cli` parses the command line and alone knows all others; `bench`
//! measures ways to print; `trace`, `run` and `fps` are about other programs and the terminal; `user` talks with the user for
//! all of them; `platform` wraps the kernel: processes, terminals, signals, clocks. A test reads the imports
//! (`tests/layers.rs`). `user/failure.rs` decides the exit status.

#[cfg(not(target_os = "linux"))]
compile_error!(
    "the command-line tool of outpace is for Linux; the crates outpace and outpace-ratatui are for other systems, too"
);

mod bench;
mod cli;
mod fps;
mod platform;
mod run;
mod trace;
mod user;

use std::process::ExitCode;

fn main() -> ExitCode {
    platform::descriptors::bring_pipes_back();
    match cli::run(std::env::args_os()) {
        Ok(status) => status,
        Err(failure) => failure.report(),
    }
}
