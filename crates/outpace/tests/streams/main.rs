//! Programs that use outpace, seen from outside.
//!
//! A test starts this executable anew as the *program* it is about: a function of this crate, with a
//! `main` of its own, its standard streams on a pipe, a terminal or a file, and nothing of a test
//! harness in it. Each module [lists](support::list) its tests and its programs.

// The programs write in every way there is.
#![allow(clippy::write_literal, clippy::write_with_newline)]

#[cfg(unix)]
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/macros.rs"]
mod macros;
mod support;

#[cfg(unix)]
mod allocators;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(outpace_portable)))]
mod bursts;
#[cfg(unix)]
mod concurrency;
#[cfg(unix)]
mod contest;
#[cfg(all(unix, not(outpace_portable)))]
mod endings;
#[cfg(unix)]
mod exits;
#[cfg(unix)]
mod faults;
#[cfg(all(unix, not(outpace_portable)))]
mod forks;
#[cfg(unix)]
mod formatting;
#[cfg(unix)]
mod guards;
#[cfg(unix)]
mod helpers;
#[cfg(unix)]
mod input;
#[cfg(unix)]
mod order;
#[cfg(unix)]
mod panics;
#[cfg(unix)]
mod printing;
#[cfg(unix)]
mod processes;
#[cfg(unix)]
mod promptness;
#[cfg(unix)]
mod raw;
#[cfg(all(target_os = "linux", not(outpace_portable)))]
mod sandboxes;
#[cfg(unix)]
mod settings;
#[cfg(unix)]
mod sharing;
#[cfg(all(unix, not(outpace_portable)))]
mod signals;
#[cfg(unix)]
mod switching;
#[cfg(unix)]
mod tasks;

#[cfg(unix)]
fn main() {
    let modules = [
        allocators::list(),
        promptness::list(),
        switching::list(),
        settings::list(),
        concurrency::list(),
        order::list(),
        processes::list(),
        guards::list(),
        helpers::list(),
        formatting::list(),
        faults::list(),
        exits::list(),
        panics::list(),
        printing::list(),
        raw::list(),
        sharing::list(),
        input::list(),
        tasks::list(),
        contest::list(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64", not(outpace_portable)))]
        bursts::list(),
        #[cfg(not(outpace_portable))]
        forks::list(),
        #[cfg(all(target_os = "linux", not(outpace_portable)))]
        sandboxes::list(),
        #[cfg(not(outpace_portable))]
        signals::list(),
        #[cfg(not(outpace_portable))]
        endings::list(),
    ];
    if let Some(program) = support::program(&modules) {
        return program();
    }
    support::default_signals();
    let trials = support::trials(modules);
    #[cfg(not(outpace_portable))]
    let trials = trials.into_iter().chain(endings::trials()).collect();
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit();
}

#[cfg(not(unix))]
fn main() {}
