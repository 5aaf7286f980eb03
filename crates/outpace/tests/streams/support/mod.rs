//! Starting programs, reading what they write, and finding out what they do.

#[allow(unsafe_code)]
mod allocator;
mod process;
mod reader;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(outpace_portable)))]
pub(crate) mod steps;
mod terminal;

pub(crate) use crate::common::{LIMIT, wait_until};
pub(crate) use allocator::{limit_allocations, watch_allocations};
pub(crate) use process::{
    Finished, Program, Running, To, default_signals, exit_at_once, fill_the_pipe,
    spawn_until_it_waits, temporary_file, wait_to_go_on, wait_until_helpers_sleep, write_calls,
};
pub(crate) use reader::Reader;
pub(crate) use terminal::{Terminal, events, pipe, set_nonblocking, socket_pair};

use libtest_mimic::{Completion, Failed, Trial};
use std::env;
use std::panic;
use std::sync::Mutex;

/// The variable that makes this executable a program.
const PROGRAM: &str = "OUTPACE_TEST_PROGRAM";

/// A function and its path, by which another process finds it.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    name: &'static str,
    run: fn(),
}

impl Named {
    pub(crate) fn new<F: Fn() + Copy + 'static>(function: F, run: fn()) -> Self {
        let _ = function;
        Named {
            name: std::any::type_name::<F>(),
            run,
        }
    }
}

/// The tests and the programs of a module.
pub(crate) struct List {
    /// Tests that hold on the portable path, too.
    pub(crate) portable: Vec<Named>,
    /// Tests that need the system's own path.
    pub(crate) native: Vec<Named>,
    pub(crate) programs: Vec<Named>,
}

/// The tests and programs of a module.
macro_rules! list {
    (portable: [$($portable:path),* $(,)?], native: [$($native:path),* $(,)?],
     programs: [$($program:path),* $(,)?] $(,)?) => {
        pub(crate) fn list() -> $crate::support::List {
            use $crate::support::Named;
            $crate::support::List {
                portable: vec![$(Named::new($portable, $portable)),*],
                native: vec![$(Named::new($native, $native)),*],
                programs: vec![$(Named::new($program, $program)),*],
            }
        }
    };
}
pub(crate) use list;

/// Runs the cases of a test in a few threads: for programs that mostly sleep.
pub(crate) fn in_parallel<T: Send>(cases: impl IntoIterator<Item = T>, run: impl Fn(T) + Sync) {
    let cases: Vec<T> = cases.into_iter().collect();
    let cases = Mutex::new(cases.into_iter());
    let next = || cases.lock().expect("no case is taken in a panic").next();
    let work = || {
        while let Some(case) = next() {
            run(case);
        }
    };
    std::thread::scope(|scope| {
        for worker in [(); 6].map(|()| scope.spawn(work)) {
            worker
                .join()
                .unwrap_or_else(|reason| panic::resume_unwind(reason));
        }
    });
}

/// The program that this process is to be, if it is to be one.
pub(crate) fn program(modules: &[List]) -> Option<fn()> {
    let name = env::var(PROGRAM).ok()?;
    let program = modules
        .iter()
        .flat_map(|module| &module.programs)
        .find(|program| program.name == name);
    Some(
        program
            .unwrap_or_else(|| panic!("{name} is not in its module's list"))
            .run,
    )
}

/// The tests of the modules.
pub(crate) fn trials(modules: impl IntoIterator<Item = List>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for module in modules {
        trials.extend(module.portable.into_iter().map(trial));
        trials.extend(module.native.into_iter().map(|test| {
            if cfg!(outpace_portable) {
                let skipped = "the portable path does not have it";
                Trial::ignorable_test(short(test.name), move || {
                    Ok(Completion::ignored_with(skipped))
                })
            } else {
                trial(test)
            }
        }));
    }
    trials
}

/// Why a test cannot be run here.
struct Skipped(String);

/// Ends the test, saying aloud that it was not run.
pub(crate) fn skip(reason: impl Into<String>) -> ! {
    panic::resume_unwind(Box::new(Skipped(reason.into())))
}

fn trial(test: Named) -> Trial {
    Trial::ignorable_test(short(test.name), move || {
        match panic::catch_unwind(test.run) {
            Ok(()) => Ok(Completion::Completed),
            Err(payload) => match payload.downcast::<Skipped>() {
                Ok(skipped) => Ok(Completion::ignored_with(skipped.0)),
                // The hook has told where. The report at the end of a long run shows why once more.
                Err(payload) => Err(match payload.downcast_ref::<String>() {
                    Some(message) => Failed::from(message),
                    None => Failed::from(payload.downcast_ref::<&str>().unwrap_or(&"")),
                }),
            },
        }
    })
}

/// A path without the crate.
fn short(name: &'static str) -> &'static str {
    name.split_once("::").map_or(name, |(_, rest)| rest)
}

/// `bytes` as a message of a failed assertion shows them.
pub(crate) fn show(bytes: &[u8]) -> String {
    const ENDS: usize = 400;
    if bytes.len() <= 2 * ENDS {
        return format!("{:?}", String::from_utf8_lossy(bytes));
    }
    format!(
        "{:?} … {:?} ({} bytes)",
        String::from_utf8_lossy(&bytes[..ENDS]),
        String::from_utf8_lossy(&bytes[bytes.len() - ENDS..]),
        bytes.len()
    )
}

/// Compares long outputs, and shows where they part.
#[track_caller]
pub(crate) fn assert_same(found: &[u8], expected: &[u8]) {
    if found == expected {
        return;
    }
    let parts = found
        .iter()
        .zip(expected)
        .position(|(found, expected)| found != expected)
        .unwrap_or(found.len().min(expected.len()));
    let around = |bytes: &[u8]| {
        show(&bytes[parts.saturating_sub(60).min(bytes.len())..(parts + 60).min(bytes.len())])
    };
    panic!(
        "{} bytes instead of {}, which part at {parts}: {} instead of {}",
        found.len(),
        expected.len(),
        around(found),
        around(expected)
    );
}
